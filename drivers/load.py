"""Load on a server, and `kill -9` under it.

    python load.py TELAR [--seconds S] [--kills N] [--sessions N] [--store FOLDER]

Starts `TELAR serve`, lets 200 sessions read and write for S seconds, kills the server under load,
starts it again on the same store, and so on; N times in all. What has to hold:

- the only errors before the kill are conflicts, marked retryable;
- what was acknowledged is there after the restart; what was not, is there as a whole or not at all;
- memory is flat: the lowest of the last quarter of the run is near that of the second.

Every writer owns some entries whose `seq` it raises, each time together with a note that takes the
place of the one before: so the amount of data stays the same, and a commit that is there in part would show.
"""

import argparse
import collections
import logging
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import neo4j
from neo4j.exceptions import DriverError, Neo4jError, ServiceUnavailable, SessionExpired

SLOTS = 20
PERSONS = 2000
PROCESSES = 4
logging.getLogger("neo4j").setLevel(logging.CRITICAL)


class Telar:
    """A server process with its store."""

    def __init__(self, binary, store):
        self.binary, self.store = binary, store
        self.process = None

    def start(self):
        """Starts it and returns the seconds until it answered."""
        started = time.monotonic()
        command = [self.binary, "serve", self.store, "--no-auth", "--bolt", "127.0.0.1:0"]
        usage = subprocess.run([self.binary, "serve", "--help"], capture_output=True, text=True, check=True)
        if "--http" in usage.stdout:
            command += ["--http", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if "bolt://" in line:
                self.uri = "bolt://" + line.split("bolt://")[1].split()[0]
                break
        else:
            raise RuntimeError(f"telar serve ended with {self.process.wait()}")
        # Whatever else it says is read, so that it never waits for a reader.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        with neo4j.GraphDatabase.driver(self.uri) as driver:
            driver.verify_connectivity()
        return time.monotonic() - started

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


WRITE = """
MATCH (e:Entry {writer: $writer, slot: $slot})
OPTIONAL MATCH (e)-[:NOTE]->(old:Note)
DETACH DELETE old
SET e.seq = $seq
CREATE (e)-[:NOTE]->(:Note {seq: $seq})
"""
READS = [
    "MATCH (p:Person {id: $id}) RETURN p.name",
    "MATCH (p:Person {id: $id})-[:KNOWS]->(f)-[:KNOWS]->(g) RETURN count(g)",
    "MATCH (p:Person) WHERE p.id > $id RETURN p.id AS id, p.name AS name",
]


class Ledger:
    """What one client process knows: shared by its threads, each of which owns its writers."""

    def __init__(self):
        self.acknowledged = {}  # (writer, slot): seq
        self.attempted = {}
        self.added = 0  # acknowledged additions to the counter that all share
        self.unknown = 0  # additions without an answer
        self.operations = 0
        self.errors = collections.Counter()
        self.lock = threading.Lock()


def client(uri, writers, ledger_in, stop, results):
    """One process of the load: a thread and a session for each of `writers`."""
    ledger = Ledger()
    ledger.acknowledged = ledger_in
    driver = neo4j.GraphDatabase.driver(uri, max_connection_pool_size=len(writers) + 1,
                                        max_transaction_retry_time=5)

    def work(writer):
        chance = random.Random(writer * 1_000_003 + time.monotonic_ns())
        while not stop.is_set():
            adding = False
            try:
                with driver.session() as session:
                    for _ in range(20):
                        adding = False
                        if stop.is_set():
                            break
                        kind = chance.random()
                        if kind < 0.6:
                            query = READS[0] if kind < 0.4 else READS[1] if kind < 0.59 else READS[2]
                            session.run(query, id=chance.randrange(PERSONS)).consume()
                        elif kind < 0.95:
                            slot = chance.randrange(SLOTS)
                            seq = max(ledger.attempted.get((writer, slot), 0),
                                      ledger.acknowledged.get((writer, slot), 0)) + 1
                            ledger.attempted[writer, slot] = seq
                            session.run(WRITE, writer=writer, slot=slot, seq=seq).consume()
                            ledger.acknowledged[writer, slot] = seq
                        else:
                            adding = True
                            add(session)
                            with ledger.lock:
                                ledger.added += 1
                        with ledger.lock:
                            ledger.operations += 1
            except (Neo4jError, DriverError, OSError) as error:
                # A retryable error that comes out of `add` was no commit; a lost connection may be one.
                lost = isinstance(error, (ServiceUnavailable, SessionExpired, OSError))
                marked = isinstance(error, Neo4jError) and error.is_retryable()
                code = error.code if isinstance(error, Neo4jError) else type(error).__name__
                # A connection is lost for a good reason if the kill is announced right then.
                expected = lost and stop.wait(2)
                with ledger.lock:
                    ledger.unknown += adding and lost
                    if not expected:
                        ledger.errors["conflict" if marked else f"{code}: {error}"[:300]] += 1

    def add(session):
        session.execute_write(lambda tx: tx.run(
            "MATCH (c:Counter) SET c.value = c.value + 1").consume())

    threads = [threading.Thread(target=work, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put((ledger.acknowledged, ledger.attempted, ledger.added, ledger.unknown,
                 ledger.operations, ledger.errors))


def prepare(uri, writers):
    with neo4j.GraphDatabase.driver(uri) as driver:
        driver.execute_query("CREATE INDEX FOR (p:Person) ON (p.id)")
        driver.execute_query("CREATE INDEX FOR (e:Entry) ON (e.writer)")
        driver.execute_query("CREATE (:Counter {value: 0})")
        driver.execute_query(
            "UNWIND range(0, $last) AS i CREATE (:Person {id: i, name: 'person ' + i})", last=PERSONS - 1)
        driver.execute_query(
            "MATCH (p:Person) UNWIND [1, 7, 31] AS step MATCH (q:Person {id: (p.id * step + step) % $n}) "
            "CREATE (p)-[:KNOWS]->(q)", n=PERSONS)
        driver.execute_query(
            "UNWIND range(0, $writers - 1) AS w UNWIND range(0, $slots - 1) AS s "
            "CREATE (:Entry {writer: w, slot: s, seq: 0})-[:NOTE]->(:Note {seq: 0})",
            writers=writers, slots=SLOTS)


def check(uri, acknowledged, attempted, added, unknown, writers):
    """The violations of what was promised, and the value of the counter."""
    wrong = []
    with neo4j.GraphDatabase.driver(uri) as driver:
        rows = driver.execute_query(
            "MATCH (e:Entry) OPTIONAL MATCH (e)-[:NOTE]->(n:Note) "
            "RETURN e.writer AS w, e.slot AS s, e.seq AS seq, collect(n.seq) AS notes").records
        notes = driver.execute_query("MATCH (n:Note) RETURN count(n) AS c").records[0]["c"]
        value = driver.execute_query("MATCH (c:Counter) RETURN c.value AS v").records[0]["v"]
    if len(rows) != writers * SLOTS or notes != len(rows):
        wrong.append(f"{len(rows)} entries and {notes} notes, expected {writers * SLOTS} of each")
    for row in rows:
        key = row["w"], row["s"]
        least = acknowledged.get(key, 0)
        most = max(least, attempted.get(key, 0))
        if not least <= row["seq"] <= most:
            wrong.append(f"entry {key} is at {row['seq']}: acknowledged {least}, attempted {most}")
        if row["notes"] != [row["seq"]]:
            wrong.append(f"entry {key} is at {row['seq']} with notes {row['notes']}: half a commit")
        acknowledged[key] = row["seq"]
    if not added <= value <= added + unknown:
        wrong.append(f"the counter is {value}: {added} additions acknowledged, {unknown} without answer")
    return wrong, value


def round_of_load(server, seconds, sessions, acknowledged, samples):
    """Load for some seconds and a kill under it; what the clients know."""
    context = multiprocessing.get_context("fork")
    stop, results = context.Event(), context.Queue()
    clients = []
    for process in range(PROCESSES):
        writers = range(process, sessions, PROCESSES)
        known = {key: seq for key, seq in acknowledged.items() if key[0] in writers}
        clients.append(context.Process(target=client, args=(server.uri, writers, known, stop, results)))
        clients[-1].start()
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.process.poll() is None:
        samples.append(server.resident_mib())
        time.sleep(0.1)
    died = server.process.poll()
    # Some clients still run while the server dies: that is the point.
    threading.Timer(0.05, stop.set).start()
    server.kill()
    answers = [results.get(timeout=120) for _ in clients]
    for running in clients:
        running.join()
    return answers, died


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("telar")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--store", help="where the store is made (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        return run(options, os.path.join(options.store or scratch, "load.telar"))


def run(options, store):
    server = Telar(options.telar, store)
    server.start()
    failures, acknowledged, added, errors, operations = [], {}, 0, collections.Counter(), 0
    try:
        prepare(server.uri, options.sessions)
        for number in range(options.kills):
            samples = []
            answers, died = round_of_load(
                server, options.seconds / options.kills, options.sessions, acknowledged, samples)
            if died is not None:
                failures.append(f"the server ended by itself with {died}")
            attempted, unknown = {}, 0
            for known, tried, more, lost, done, wrong in answers:
                acknowledged.update(known)
                attempted.update(tried)
                added, unknown, operations = added + more, unknown + lost, operations + done
                errors.update(wrong)
            ready = server.start()
            wrong, added = check(server.uri, acknowledged, attempted, added, unknown, options.sessions)
            failures += wrong[:10]
            quarter = len(samples) // 4
            second, last = min(samples[quarter:2 * quarter]), min(samples[-quarter:])
            if last > 1.25 * second + 32:
                failures.append(f"memory grew from {second:.0f} to {last:.0f} MiB")
            print(f"round {number + 1}: {sum(a[4] for a in answers)} operations, {unknown} additions without "
                  f"answer, memory {second:.0f} MiB then {last:.0f} MiB, ready again after {ready:.2f} s")
    finally:
        server.kill()
    conflicts = errors.pop("conflict", 0)
    failures += [f"{count} times: {error}" for error, count in errors.most_common(10)]
    if added == 0 or operations < options.sessions:
        failures.append(f"only {operations} operations and {added} additions were done")
    rate = operations / options.seconds
    print(f"{options.sessions} sessions, {options.kills} kills: {operations} operations, {rate:.0f} per second, "
          f"{conflicts} conflicts told to the client")
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"test result: {'FAILED' if failures else 'ok'}. {0 if failures else 1} passed; {1 if failures else 0} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
