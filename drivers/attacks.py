"""Attacks on a server by those who may log in, and what others notice of them.

    python attacks.py TELAR [--memory SIZE] [--part N] [--seconds S] [--strict] [ATTACK]...

Starts `TELAR serve` with its default settings on a store of its own, sends one kind of attack after
the other (all, unless some are named), and meanwhile reads single nodes from another process. What
has to hold:

- the server lives, and serves others: no point read fails;
- every attack ends, with an answer or an error that names what was too much;
- the memory of the process stays within `limits.memory` (with `--memory` set to SIZE, as where the
  machine is not ours alone), but for moments: half of it on top;
- `--strict`: nothing on top; 99 of 100 point reads take 50 ms at most, what is told to end does so
  within a second.

`--part N` makes attacks a N-th as large: for a build that is slow, with less memory. The numbers of
the attacks are those of the report they come from. A line for each says how long it
took, the errors by code, the slowest of 100 reads, and the most memory.
"""

import argparse
import base64
import collections
import concurrent.futures
import json
import logging
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

logging.getLogger("neo4j").setLevel(logging.CRITICAL)
PASSWORD = "attacks-password"
PART, STRICT = 1, False
NODES = 10_000
ATTACKS = {}


class Server:
    def __init__(self, binary, folder, settings):
        self.folder = folder
        command = [binary, "serve", os.path.join(folder, "store"), "--bolt", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        for setting in settings:
            command += ["--set", setting]
        environment = {**os.environ, "TELAR_AUTH_INITIAL_PASSWORD": PASSWORD}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.uri = self.http = None
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            for word in line.split():
                if word.startswith("bolt://"):
                    self.uri = word
                if word.startswith("http://") and not self.http:
                    self.http = word.rstrip("/")
            if self.uri and self.http:
                break
        else:
            raise RuntimeError("telar serve ended:\n" + "".join(self.said))
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            self.said.append(line)
            del self.said[:-50]

    def driver(self, user="neo4j", **settings):
        return neo4j.GraphDatabase.driver(self.uri, auth=(user, PASSWORD), max_transaction_retry_time=0, **settings)

    def lives(self):
        return self.process.poll() is None

    def memory(self):
        """Bytes of the process that are not pages of files."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
        return 0


def attack(name):
    def register(function):
        ATTACKS[name] = function
        return function
    return register


def n(number):
    """A size, or the part of it that was asked for."""
    return max(1, number // PART)


def outcome(function, *arguments, **named):
    """What came of a request: `ok`, or the code of its error."""
    try:
        function(*arguments, **named)
        return "ok"
    except Neo4jError as error:
        return error.code.removeprefix("Neo.")
    except OSError as error:
        return str(error)
    except DriverError as error:
        return type(error).__name__


def statement(server, user, text, database=None, parameters=None, timeout=None, fetch=1000):
    """Runs a statement of its own connection and forgets its rows."""
    with server.driver(user, fetch_size=fetch) as driver, driver.session(database=database) as session:
        query = neo4j.Query(text, timeout=timeout) if timeout else text
        for _ in session.run(query, parameters or {}):
            pass


def at_once(jobs, seconds):
    """Runs jobs beside each other; says what came of each, after `seconds` at most."""
    pool = concurrent.futures.ThreadPoolExecutor(max(1, len(jobs)))
    futures = [pool.submit(outcome, *job) for job in jobs]
    done, waiting = concurrent.futures.wait(futures, timeout=seconds)
    pool.shutdown(wait=False, cancel_futures=True)
    found = collections.Counter(future.result() for future in done)
    if waiting:
        found["no end"] += len(waiting)
    return found


# ---------------------------------------------------------------------------------------------------


@attack("1 deep plans")
def deep_plans(server, seconds):
    chain = "WITH 1 AS x " * 14_003 + "RETURN x"
    levels = "RETURN " + "(" * 100_000 + "1" + ")" * 100_000
    calls = "CALL () { " * 3_000 + "RETURN 1 AS x" + " } RETURN 1 AS y" * 3_000
    jobs = [(statement, server, user, text, database)
            for text in (chain, "EXPLAIN " + chain, levels, calls, "RETURN " + "NOT " * 200_000 + "true",
                         "MATCH (n) WHERE " + " OR ".join(f"n.x = {i}" for i in range(20_000)) + " RETURN n")
            for user, database in (("nobody", "system"), ("reader", None))]
    return at_once(jobs, seconds)


@attack("2 values that share their parts")
def shared_values(server, seconds):
    value = "reduce(s = [1], i IN range(1, 60) | [s, s])"
    wide = "reduce(s = [1], i IN range(1, 24) | [s, s])"
    texts = [f"RETURN {v}" for v in (value, wide)]
    texts += [f"WITH {wide} AS a, {wide} AS b RETURN a = b", f"UNWIND [{wide}, {wide}] AS a RETURN DISTINCT a",
              f"UNWIND [{wide}, {wide}] AS a RETURN a ORDER BY a",
              "RETURN reduce(s = 'ab', i IN range(1, 40) | s + s)",
              "UNWIND range(1, 1000) AS i RETURN range(1, 1000000)",
              "UNWIND range(1, 100000) AS i RETURN size([x IN range(1, 1000000) | [x, x]])",
             "WITH range(1, 8000000) AS l UNWIND range(1, 100000) AS i RETURN sum(size(l[1..]))"]
    jobs = [(statement, server, "reader", text, None, None, 5) for text in texts]
    entries = {"m": {f"key{i}": i for i in range(n(200_000))}}
    for text in ("WITH $m AS m UNWIND range(1, 100000) AS i RETURN sum(size(keys(m {.*, i: i})))",
                 "UNWIND range(1, 100000) AS i RETURN sum(size(keys(properties($m))))"):
        jobs.append((statement, server, "reader", text, None, entries, 5))
    return at_once(jobs, seconds)


@attack("5 plans that are kept")
def kept_plans(server, seconds):
    end = time.monotonic() + seconds / 2
    found = collections.Counter()
    with server.driver("reader") as driver, driver.session() as session:
        for i in range(200):
            if time.monotonic() > end:
                break
            text = f"RETURN '{'x' * n(1_000_000)}' AS x, {i} AS i"
            found[outcome(lambda: session.run(text).consume())] += 1
    for i in range(8):
        text = f"RETURN {i} /* {'x' * n(60_000_000)} */"
        found[outcome(statement, server, "nobody", text, "system")] += 1
        found[outcome(statement, server, "reader", text)] += 1
        if time.monotonic() > end:
            break
    return found


class Raw:
    """A connection without a driver: what is sent costs the client nothing."""

    def __init__(self, server, user):
        host, port = server.uri.removeprefix("bolt://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self.socket.sendall(bytes.fromhex("6060B017 00000404 00000000 00000000 00000000"))
        self.read(4)
        login = {"user_agent": "attacks/1", "scheme": "basic", "principal": user, "credentials": PASSWORD}
        self.send(b"\xb1\x01" + packed(login))
        self.answer()

    def send(self, message):
        chunks = [message[at:at + 0xFFFF] for at in range(0, len(message), 0xFFFF)]
        self.socket.sendall(b"".join(len(c).to_bytes(2, "big") + c for c in chunks) + b"\0\0")

    def read(self, count):
        found = b""
        while len(found) < count:
            more = self.socket.recv(count - len(found))
            if not more:
                raise OSError("the server hung up")
            found += more
        return found

    def answer(self):
        """The next message: `ok`, or what it says."""
        message = b""
        while True:
            size = int.from_bytes(self.read(2), "big")
            if size == 0:
                if message:
                    break
                continue
            message += self.read(size)
        if message[1] != 0x7F:
            return "ok"
        code = re.search(rb"Neo\.([A-Za-z.]+)", message)
        raise OSError(code[1].decode() if code else repr(message[:60]))


def packed(value):
    """PackStream of short strings and small maps."""
    if isinstance(value, str):
        return b"\xd0" + bytes([len(value)]) + value.encode()
    return bytes([0xA0 + len(value)]) + b"".join(packed(k) + packed(v) for k, v in value.items())


@attack("6 parameters")
def parameters(server, seconds):
    # 20 MB on the wire, small numbers of a byte each.
    numbers = b"\xd6" + n(20_000_000).to_bytes(4, "big") + bytes(n(20_000_000))
    run = b"\xb3\x10" + packed("RETURN size($n)") + b"\xa1" + packed("n") + numbers + b"\xa0"

    def ask():
        raw = Raw(server, "reader")
        raw.socket.settimeout(seconds)
        raw.send(run)
        raw.answer()
        # The parameters are held until the next request.
        time.sleep(2)
        raw.socket.close()
    return at_once([(ask,)] * 12, seconds)


@attack("6 statements that hold much")
def held(server, seconds):
    texts = [f"UNWIND range(1, {n(50_000_000)}) AS i RETURN size(collect(i))",
             f"UNWIND range(1, {n(50_000_000)}) AS i RETURN size(collect({{a: i, b: toString(i)}}))",
             f"UNWIND range(1, {n(30_000)}) AS i RETURN size(collect(toString(i) + '" + "x" * 100_000 + "'))",
             f"UNWIND range(1, {n(10_000_000)}) AS i WITH toString(i) AS t ORDER BY t RETURN count(*)",
             f"UNWIND range(1, {n(10_000_000)}) AS i WITH i, count(*) AS c RETURN max(c)",
             f"WITH range(1, {n(16_000_000)}) AS a UNWIND range(1, 100) AS i RETURN size(a + i)",
             f"RETURN [x IN range(1, {n(16_000_000)}) | {{a: x, b: [x]}}]"]
    return at_once([(statement, server, "reader", text, None, None, seconds / 2) for text in texts * 3], seconds)


@attack("6 transactions that stay open")
def open_writes(server, seconds):
    end = time.monotonic() + seconds / 2

    def write():
        with server.driver("writer") as driver, driver.session() as session, session.begin_transaction() as tx:
            while time.monotonic() < end:
                # Each statement by itself is small.
                tx.run("UNWIND range(1, 2000) AS i CREATE (:Held {x: i, t: 'some text of a node'})").consume()
            tx.rollback()
    return at_once([(write,)] * 16, seconds)


@attack("6 bodies over HTTP")
def bodies(server, seconds):
    body = json.dumps({"statement": "RETURN size($n)", "parameters": {"n": [1] * n(5_000_000)}}).encode()
    login = "Basic " + base64.b64encode(f"reader:{PASSWORD}".encode()).decode()
    headers = {"Authorization": login, "Content-Type": "application/json"}

    def post():
        request = urllib.request.Request(server.http + "/db/telar/query/v2", body, headers)
        try:
            urllib.request.urlopen(request, timeout=seconds).read()
        except urllib.error.HTTPError as error:
            code = json.load(error)["errors"][0]["code"]
            if error.code >= 500 and "Transient" not in code:
                raise OSError(code) from error
    return at_once([(post,)] * 12, seconds)


@attack("6 results that nobody reads")
def unread(server, seconds):
    text = "UNWIND range(1, 100000000) AS i RETURN i, 'some text that takes room'"
    long = "UNWIND range(1, 100) AS i RETURN range(1, 10000000)"

    def ask(text):
        raw = Raw(server, "reader")
        raw.send(b"\xb3\x10" + packed(text) + b"\xa0\xa0")
        raw.answer()
        # All of them, please.
        raw.send(b"\xb1\x3f\xa1" + packed("n") + b"\xff")
        time.sleep(5)
        raw.socket.close()
    return at_once([(ask, text), (ask, long)] * 8, seconds)


@attack("7 planning")
def planning(server, seconds):
    texts = ["MATCH (a)" + "-->()" * 1000 + " RETURN count(*)",
             "MATCH (n:" + "|".join(f"A{i}" for i in range(20_000)) + ") RETURN count(n)",
             "MATCH (n) WHERE " + " OR ".join(f"n.p{i} = 1" for i in range(5_000)) + " RETURN count(n)",
             "WITH 1 AS a RETURN " + ", ".join(f"a AS a{i}" for i in range(50_000)),
             "MATCH " + ", ".join(f"(a{i})-->(b{i})" for i in range(300)) + " RETURN count(*)"]
    return at_once([(statement, server, "reader", text, None, None, 1) for text in texts], seconds)


@attack("12 long work inside of a batch")
def long_work(server, seconds):
    texts = ["UNWIND range(1, 10000) AS i RETURN count('x' =~ ('(a{1,900}){1,9}' + toString(i)))",
             f"WITH range(1, {n(16_000_000)}) AS l, range(1, {n(16_000_000)}) AS k RETURN l = k",
             f"WITH range(1, {n(16_000_000)}) AS l UNWIND range(1, {100 * PART}) AS x RETURN -x IN l",
             f"WITH reduce(s = 'abcdefgh', i IN range(1, {25 - PART.bit_length()}) | s + s) AS t "
             f"UNWIND range(1, {50 * PART}) AS i "
             "RETURN size(toUpper(t))",
             "MATCH (a:Person), (b:Person), (c:Person) RETURN count(*) AS c, sum(a.id * b.id * c.id)",
             "UNWIND range(1, 1000000000) AS i RETURN sum(i)",
             # One call each, that looks at everything for each of many.
             "WITH reduce(s = 'abcdefgh', i IN range(1, 20) | s + s) AS t "
             "RETURN size(split(t, [i IN range(1, 10000) | 'z' + i]))",
             "WITH reduce(s = 'z', i IN range(1, 24) | s + s) AS t, reduce(s = 'ab', i IN range(1, 20) | s + s) AS d "
             "RETURN size(btrim(t, d + 'z'))",
             "WITH range(1, 8000000) AS l UNWIND range(1, 1000) AS i RETURN count(l IS :: LIST<INTEGER>)",
             "MATCH (p:Person) WHERE " + " XOR ".join(f"p.id = {i}" for i in range(30_000)) + " RETURN count(p)",
             # What a pattern costs before it has a size.
             "WITH reduce(s = '\\\\pL', i IN range(1, 22) | s + s) AS p RETURN 'x' =~ p",
             "WITH reduce(s = '(?i)[^\\\\pL\\\\pN&&\\\\w]', i IN range(1, 12) | s + s) AS p RETURN 'x' =~ p",
             "WITH reduce(s = 'abcdefgh', i IN range(1, 24) | s + s) AS t "
             "RETURN t =~ '((a{0,100}|b{0,100}|.){0,20})*z'"]
    return at_once([(statement, server, "reader", text, None, None, 1) for text in texts], seconds)


@attack("13 logins without a password")
def logins(server, seconds):
    found = collections.Counter()
    end = time.monotonic() + seconds / 2

    def guess(number):
        auth = (f"stranger{number}", "wrong-password")
        while time.monotonic() < end:
            try:
                with neo4j.GraphDatabase.driver(server.uri, auth=auth) as driver:
                    driver.verify_connectivity()
            except (Neo4jError, DriverError):
                pass
    threads = [threading.Thread(target=guess, args=(n,), daemon=True) for n in range(60)]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 8)
    # One who has not logged in since the start.
    found[outcome(statement, server, "fresh", "RETURN 1")] += 1
    for thread in threads:
        thread.join()
    if found["ok"] != 1:
        raise AssertionError(f"who has not logged in before could not: {found}")
    return found


@attack("14 one user holds all places")
def places(server, seconds):
    drivers, found = [], collections.Counter()
    try:
        for _ in range(1100):
            driver = server.driver("nobody")
            drivers.append(driver)
            result = outcome(driver.verify_connectivity)
            found[result] += 1
            if result != "ok":
                break
        for user in ("neo4j", "reader"):
            if outcome(statement, server, user, "RETURN 1") != "ok":
                raise AssertionError(f"{user} is kept out: {found}")
    finally:
        for driver in drivers:
            driver.close()
    return found


@attack("15 names")
def names(server, seconds):
    found = collections.Counter()
    end = time.monotonic() + seconds / 2
    with server.driver("writer") as driver, driver.session() as session:
        for block in range(20):
            if time.monotonic() > end:
                break
            keys = ", ".join(f"key{block * 1000 + i}: 1" for i in range(1000))
            found[outcome(lambda: session.run(f"CREATE (:Named {{{keys}}})").consume())] += 1
        found[outcome(lambda: session.run("MATCH (n:Named) DETACH DELETE n").consume())] += 1
    return found


@attack("18 a quote that never ends")
def open_quote(server, seconds):
    folder = os.path.join(server.folder, "import")
    with open(os.path.join(folder, "quote.csv"), "wb") as file:
        file.write(b'a,b\n1,"')
        for _ in range(n(200)):
            file.write(b"x" * 1_000_000)
    os.mkfifo(os.path.join(folder, "fifo.csv"))
    texts = [f"LOAD CSV FROM 'file:///{name}' AS row RETURN count(row)" for name in ("quote.csv", "fifo.csv")]
    return at_once([(statement, server, "reader", text) for text in texts * 4], seconds)


@attack("M2 a large transaction")
def large_transaction(server, seconds):
    text = f"UNWIND range(1, {n(2_000_000)}) AS i CREATE (:P {{id: i, x: i % 97}})"
    return at_once([(statement, server, "writer", text)] * 2, seconds)


@attack("ended")
def ended(server, seconds):
    """What is told to end does, whatever it is at; says how long the slowest took."""
    texts = ["UNWIND range(1, 100000000000) AS i RETURN sum(i)",
             "MATCH (a)" + "-->()" * 1000 + " RETURN count(*)",
             "UNWIND range(1, 50000000) AS i WITH toString(i) AS t ORDER BY t RETURN count(*)",
             f"UNWIND range(1, {n(3_000_000)}) AS i CREATE (:Ended {{id: i}})",
             "MATCH (a:Person), (b:Person), (c:Person) RETURN sum(a.id * b.id * c.id)",
             "UNWIND range(1, 1000) AS i WITH range(1, 10000000) AS l, range(1, 10000000) AS k, i RETURN count(l = k)",
             "UNWIND range(1, 100000000) AS i RETURN i, range(1, 100)"]
    found, took = collections.Counter(), []
    for text in texts:
        for wait in (0.05, 0.4, 1.5):
            ends = []

            def run():
                outcome(statement, server, "writer", text)
                ends.append(time.monotonic())
            thread = threading.Thread(target=run)
            thread.start()
            with server.driver() as driver, driver.session(database="system") as session:
                def listed():
                    return session.run("SHOW TRANSACTIONS YIELD transactionId, username "
                                       "WHERE username = 'writer' RETURN transactionId").values()
                end = time.monotonic() + seconds
                while thread.is_alive() and not listed() and time.monotonic() < end:
                    time.sleep(0.01)
                time.sleep(wait)
                rows = listed()
                told = time.monotonic()
                for (number,) in rows:
                    session.run(f"TERMINATE TRANSACTIONS '{number}'").consume()
            thread.join(seconds)
            if thread.is_alive():
                found[f"no end: {text[:40]}"] += 1
                continue
            took.append(ends[0] - told)
            found["ended"] += 1
    found[f"slowest {max(took) * 1000:.0f} ms"] = 1
    if STRICT and max(took) > 1:
        raise AssertionError(f"a statement took {max(took):.2f} s to end")
    return found


# ---------------------------------------------------------------------------------------------------


def reads(uri, began, stop, times):
    """A process of its own: reads one node after the other; puts how long each took, or an error."""
    took = []
    with neo4j.GraphDatabase.driver(uri, auth=("reader", PASSWORD)) as driver, driver.session() as session:
        i = 0
        while not stop.is_set():
            i += 1
            begun = time.perf_counter()
            try:
                found = session.run("MATCH (p:Person {id: $id}) RETURN p.name AS name", id=i % NODES).single()
                if found["name"] != f"person {i % NODES}":
                    times.put(f"a wrong answer: {found}")
                    return
            except (Neo4jError, DriverError) as error:
                times.put(f"{type(error).__name__}: {error}")
                return
            took.append(time.perf_counter() - begun)
            began.set()
            time.sleep(0.002)
    times.put(took)


def watched(server, function, seconds):
    """Runs an attack with somebody beside it who reads; what came of it, the times, the memory."""
    context = multiprocessing.get_context("spawn")
    began, stop, times = context.Event(), context.Event(), context.Queue()
    reader = context.Process(target=reads, args=(server.uri, began, stop, times), daemon=True)
    reader.start()
    began.wait(30)
    peak, over = [server.memory()], threading.Event()

    def look():
        while not over.wait(0.01) and server.lives():
            peak[0] = max(peak[0], server.memory())
    looking = threading.Thread(target=look)
    looking.start()
    begun = time.monotonic()
    try:
        found = function(server, seconds)
    finally:
        over.set()
        looking.join()
        stop.set()
    elapsed = time.monotonic() - begun
    took = times.get(timeout=60)
    reader.join()
    return found, elapsed, took, peak[0]


def settle(server, most):
    """Waits until what the attack before has freed went back to the system, for a while."""
    end = time.monotonic() + 10
    while time.monotonic() < end and server.lives() and server.memory() > most / 2:
        time.sleep(0.1)


def prepare(server):
    with server.driver() as driver, driver.session() as session:
        session.run("CREATE INDEX person FOR (p:Person) ON (p.id)").consume()
        session.run("UNWIND range(0, $n - 1) AS i CREATE (:Person {id: i, name: 'person ' + i})", n=NODES).consume()
        session.run("CALL db.awaitIndexes()").consume()
        for user, roles in (("nobody", ""), ("reader", "reader"), ("writer", "writer"), ("fresh", "reader")):
            session.run(f"CREATE USER {user} SET PASSWORD $p CHANGE NOT REQUIRED", p=PASSWORD).consume()
            if roles:
                session.run(f"GRANT ROLE {roles} TO {user}").consume()


def budget(server):
    request = urllib.request.Request(server.http + "/metrics")
    request.add_header("Authorization", "Basic " + base64.b64encode(f"neo4j:{PASSWORD}".encode()).decode())
    with urllib.request.urlopen(request) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("telar_heap_max_bytes "):
                return int(float(line.split()[1]))
    raise RuntimeError("the server does not say what it may hold")


def main():
    global PART, STRICT
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("telar")
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help="numbers or names; all, if none is given")
    parser.add_argument("--memory", help="limits.memory of the server; its default if not given")
    parser.add_argument("--part", type=int, default=1, metavar="N", help="make them a N-th as large")
    parser.add_argument("--seconds", type=float, default=60, help="that an attack may take")
    parser.add_argument("--strict", action="store_true", help="times have to hold, too")
    options = parser.parse_intermixed_args()
    PART, STRICT = options.part, options.strict
    wanted = [name for name in ATTACKS
              if not options.attacks or any(name.startswith(want) for want in options.attacks)]
    if not wanted:
        parser.error(f"no such attack; there are: {', '.join(ATTACKS)}")
    failures = 0
    with tempfile.TemporaryDirectory(prefix="telar-attacks-") as folder:
        os.mkdir(os.path.join(folder, "import"))
        settings = ["import.folder=" + os.path.join(folder, "import")]
        settings += [f"limits.memory={options.memory}"] if options.memory else []
        server = Server(options.telar, folder, settings)
        try:
            prepare(server)
            most = budget(server)
            print(f"limits.memory: {most / 2**20:.0f} MiB")
            for name in wanted:
                wrong = []
                settle(server, most)
                try:
                    found, elapsed, took, peak = watched(server, ATTACKS[name], options.seconds)
                except AssertionError as error:
                    found, elapsed, took, peak = {}, 0, [0], 0
                    wrong.append(str(error))
                if not server.lives():
                    wrong.append("the server ended:\n" + "".join(server.said[-20:]))
                if isinstance(took, str):
                    wrong.append(f"a point read beside it: {took}")
                    took = [0]
                # With little memory, what lives for moments is a larger part of it.
                if peak > (most if options.strict else most * 3 // 2):
                    wrong.append("more memory than limits.memory")
                if any(key.startswith("no end") for key in found):
                    wrong.append("no end")
                if any(key.startswith("DatabaseError") for key in found):
                    wrong.append("a fault of the server, in its own words")
                p99 = sorted(took)[len(took) * 99 // 100]
                if options.strict and p99 > 0.05:
                    wrong.append("others wait for more than 50 ms")
                codes = ", ".join(f"{count} {code}" for code, count in sorted(found.items()))
                print(f"{name}: {elapsed:.1f} s; {codes}; {len(took)} reads, p99 {p99 * 1000:.1f} ms, "
                      f"max {max(took) * 1000:.0f} ms; peak {peak / 2**20:.0f} MiB"
                      + "".join(f"\n  FAILED: {why}" for why in wrong), flush=True)
                failures += bool(wrong)
                if not server.lives():
                    break
            if server.lives():
                time.sleep(2)
                print(f"memory 2 s after the last: {server.memory() / 2**20:.0f} MiB")
                server.process.send_signal(signal.SIGTERM)
                begun = time.monotonic()
                code = server.process.wait(60)
                print(f"stopped in {time.monotonic() - begun:.1f} s with {code}")
                failures += code != 0
        finally:
            if server.lives():
                server.process.kill()
    # In the form of `cargo test`.
    print(f"test result: {'FAILED' if failures else 'ok'}. {len(wanted) - failures} passed; {failures} failed")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
