"""A cluster of three servers under the official driver: routes, bookmarks, commands, failover.

    cluster.py TELAR FOLDER [KILLS] [--freeze SECONDS] [--freezes TIMES] [--strict] [--store URL] [--disturb CMD]
               [--history FILE]

Starts three nodes over a store in FOLDER, or over the empty one at URL. One writer, by managed transactions over
neo4j://, counts and adds nodes, each with an id (telar_once) by which it is sent again when its outcome is not known.
One reader follows it with bookmarks. Another reads at the leader, without bookmarks and in a new session each time: a
read has to show at least the commits that were acknowledged before it began, and no fewer than an earlier one.

The node that leads is killed with SIGKILL, KILLS times (3), and started again. Then its process is stopped with
SIGSTOP for SECONDS (5), TIMES times (1), and goes on: another node leads meanwhile, and the one that was stopped shows
nothing old to clients that are connected to it. CMD, which disturbs the store, such as a kill of its own leader, is run
by the shell as often as a leader is killed, under the same load. With FILE other clients run transactions of several
reads and writes meanwhile, and write what they saw into it, for a check of isolation (histories.py). Then each node is handed the leadership by command,
and each is restarted; a node hangs until the log goes on without it, and the disk of another is lost. In the end every
node has every acknowledged commit once, and none that was refused. A leader that the machine lets wait for longer than
its lease is replaced, too: each change of the leader that nobody asked for may break the transaction that is under way.
With --strict writes have to be back in time, too: for a machine where nobody else is at work.

Prints one line per check, figures, and the sum; the exit code says whether all held.
"""

import argparse
import itertools
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import neo4j
from neo4j import GraphDatabase, unit_of_work
from neo4j.exceptions import DriverError, Neo4jError

from histories import Histories

PASSWORD = "correct horse"
NODES = ("a", "b", "c")
# Neo4j's words for a node that leads not.
NOT_A_LEADER = "Neo.ClientError.Cluster.NotALeader"
# The word for a copy that is being made.
UNAVAILABLE = "Neo.TransientError.General.DatabaseUnavailable"
SECONDS_TO_WRITE_MAX = 8
# For how long the log waits for a node that is silent.
SECONDS_KEPT = 8
# Begins what is said of a read that failed.
READ = "read: "
# Clients that read at a node while it is stopped, and when it goes on.
WITNESSES = 4
# A read that changes nothing. It could, so a node that does not lead refuses it.
STRICT_READ = """MATCH (e:Event) WITH count(e) AS n
    FOREACH (_ IN CASE WHEN n < 0 THEN [1] ELSE [] END | CREATE (:Event)) RETURN n"""


class Node:
    """One server; its ports stay when it is started again, as those of machines do."""

    def __init__(self, telar: str, folder: Path, name: str, store: str):
        self.telar, self.folder, self.name, self.store = telar, folder, name, store
        self.bolt = "127.0.0.1:0"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.http = "{}:{}".format(*free.getsockname())
        self.process = None
        self.start()

    def start(self):
        log = self.folder / f"{self.name}.log"
        before = log.stat().st_size if log.exists() else 0
        command = [self.telar, "serve", str(self.folder / self.name), "--bolt", self.bolt]
        # A store without images: nodes ask each other for their copies.
        asked = self.store.startswith("etcd")
        command += ["--http", self.http, "--set", f"http.advertised={self.http}"] if asked else ["--no-http"]
        command += ["--cluster", self.store, "--node", self.name]
        command += ["--set", f"auth.initial_password={PASSWORD}", "--set", f"cluster.keep={SECONDS_KEPT}s"]
        self.process = subprocess.Popen(command, stdout=log.open("ab"), stderr=subprocess.STDOUT)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            text = log.read_bytes()[before:].decode()
            if "bolt://" in text:
                self.bolt = text.split("bolt://")[1].split()[0]
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"node {self.name} did not start:\n{log.read_text()}")

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()

    def driver(self):
        """A driver of this node alone."""
        return GraphDatabase.driver(f"bolt://{self.bolt}", auth=("neo4j", PASSWORD))


passed, failures = 0, 0


def check(what: str, holds: bool, found=""):
    global passed, failures
    passed += holds
    failures += not holds
    print(f"{'ok' if holds else 'FAILED'}: {what}{'' if holds else f': {found}'}", flush=True)


def until(what: str, probe, seconds=60):
    """What `probe` returns, once that is true."""
    end = time.monotonic() + seconds
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > end:
            raise SystemExit(f"FAILED: {what} took more than {seconds} s")
        time.sleep(0.05)


def routes(node: Node, database=None):
    """Addresses by role, as the node says; none where it cannot know whether it leads."""
    try:
        with node.driver() as driver, driver.session() as session:
            query = "CALL dbms.routing.getRoutingTable({}, $db)"
            row = session.run(query, db=database).single()
            return {server["role"]: sorted(server["addresses"]) for server in row["servers"]}
    except (DriverError, Neo4jError) as error:
        if not refusal(error):
            raise
        return {}


def leader_of(nodes, database=None):
    """The node that the others say leads; none while they say nothing or differ."""
    live = [node for node in nodes if node.process.poll() is None]
    said = {tuple(routes(node, database).get("WRITE", [])) for node in live}
    if len(said) != 1 or not next(iter(said)):
        return None
    found = [node for node in live if node.bolt == next(iter(said))[0]]
    return found[0] if found else None


def is_back(node, nodes):
    """True once a node that was started again knows of all, and has its copy: one that was away for longer than the
    log is kept gets a new one first."""
    try:
        return len(routes(node).get("ROUTE", [])) == len(nodes)
    except Neo4jError as error:
        if error.code != UNAVAILABLE:
            raise
        return False


def refusal(error):
    """What a node said that does not lead, if that is why: over bolt:// the driver wraps it."""
    while error is not None:
        if getattr(error, "code", None) == NOT_A_LEADER:
            return error.message
        error = error.__cause__ or error.__context__
    return None


def nothing_was_made(error):
    """True if a commit failed and the server says that nothing was committed: it does not lead, or another one won."""
    return bool(refusal(error)) or str(getattr(error, "code", "")).startswith("Neo.TransientError.Transaction.")


def basics(nodes):
    leader = until("a first leader", lambda: leader_of(nodes))
    follower = next(node for node in nodes if node is not leader)
    every = sorted(node.bolt for node in nodes)
    table = until("routes to all", lambda: routes(follower).get("ROUTE") == every and routes(follower))
    check("the leader writes", table["WRITE"] == [leader.bolt], table)
    check("followers read", table["READ"] == sorted(set(every) - {leader.bolt}), table)
    system = routes(follower, "system")
    check("everybody takes commands", system["WRITE"] == every, system)
    with follower.driver() as driver, driver.session() as session:
        try:
            session.run("CREATE (:Refused)").consume()
            check("a follower refuses writes", False)
        except (DriverError, Neo4jError) as error:
            said = refusal(error)
            check("a follower refuses writes", said and f"'{leader.name}'" in said, error)
        # What no node has is read there without a word.
        count = session.run("MATCH (n:Refused {key: 1}) RETURN count(n)").single().value()
        check("nothing of it was made", count == 0, count)
        with session.begin_transaction() as transaction:
            check("a transaction reads", transaction.run("RETURN 1").single().value() == 1)
            try:
                transaction.run("MERGE (:Refused)").consume()
                check("and does not write", False)
            except (DriverError, Neo4jError) as error:
                check("and does not write", bool(refusal(error)), error)
            transaction.close()


def commands(nodes):
    """Users and databases are those of the cluster, whichever node is asked."""
    leader = until("a leader", lambda: leader_of(nodes))
    follower = next(node for node in nodes if node is not leader)
    with follower.driver() as driver:
        driver.execute_query("CREATE USER ann SET PASSWORD 'a password' CHANGE NOT REQUIRED", database_="system")
        driver.execute_query("GRANT ROLE reader TO ann", database_="system")
        driver.execute_query("CREATE DATABASE shop", database_="system")
    for node in nodes:
        def logs_in():
            try:
                with GraphDatabase.driver(f"bolt://{node.bolt}", auth=("ann", "a password")) as driver:
                    return driver.execute_query("RETURN 1").records[0].value() == 1
            except Neo4jError:
                return False
        check(f"a new user is known at {node.name}", until("the user", logs_in))
    until("a leader of the new database", lambda: leader_of(nodes, "shop"))
    with GraphDatabase.driver(f"neo4j://{nodes[0].bolt}", auth=("neo4j", PASSWORD)) as driver:
        with driver.session(database="shop") as session:
            session.execute_write(lambda t: t.run("CREATE (:Item {name: 'loom'})").consume())
            found = session.execute_read(lambda t: t.run("MATCH (n:Item) RETURN n.name").value())
            check("a new database takes commits", found == ["loom"], found)
        driver.execute_query("DROP DATABASE shop", database_="system")
    for node in nodes:
        def is_gone():
            with node.driver() as driver:
                names = driver.execute_query("SHOW DATABASES YIELD name", database_="system").records
                return "shop" not in [row["name"] for row in names]
        check(f"a dropped one is gone at {node.name}", until("its end", is_gone))


def standing(node):
    """What the store shows of the database, by the names of the columns."""
    shown = subprocess.run([node.telar, "cluster", "status", node.store], capture_output=True, text=True).stdout
    rows = [[cell.strip() for cell in line.strip("│").split("┆")] for line in shown.splitlines() if "┆" in line]
    header = next(row for row in rows if row[0] == "database")
    return dict(zip(header, next(row for row in rows if row[0] == "telar")))


def leaderships(node):
    """How many there have been so far."""
    return int(standing(node)["epoch"])


def strict_read(driver):
    """How many events the leader shows in a new session, which has no bookmarks that make it wait for anything."""
    with driver.session(database="telar", default_access_mode=neo4j.WRITE_ACCESS) as session:
        return session.run(STRICT_READ).single().value()


def cluster_driver(nodes, **limits):
    def resolve(address):
        """All nodes for the cluster's name, as a name server would: without a database's name these are asked."""
        return [neo4j.Address.parse(node.bolt) for node in nodes] if address.host == "cluster" else [address]

    return GraphDatabase.driver("neo4j://cluster:7687", auth=("neo4j", PASSWORD), resolver=resolve,
                                max_transaction_retry_time=60, **limits)


class Record:
    """What the clients of one load were told: acknowledged commits, and what strict reads have shown."""

    def __init__(self, before):
        """`before`: the number of events that are there already."""
        self.before, self.shown = before, before
        self.loads, self.numbers = [], itertools.count(1)
        self.strict_reads, self.stale = 0, []
        self.lock = threading.Lock()

    def least(self):
        """The fewest events that a strict read may show if it begins after this call."""
        return max(self.shown, self.before + sum(len(load.acknowledged) for load in self.loads))

    def read_strictly(self, driver):
        """A strict read; returns how many of the events are missing that it has to show."""
        least = self.least()
        found = strict_read(driver)
        with self.lock:
            self.strict_reads += 1
            self.shown = max(self.shown, found)
            if found < least:
                self.stale.append(f"{found} of {least}")
        return max(0, least - found)

    def acknowledged(self):
        return {number for load in self.loads for number in load.acknowledged}

    def unknown(self):
        return {number for load in self.loads for number in load.unknown}


class Load:
    """A writer and two readers over neo4j://, until they are told to end; with `once`, a name for the ids of
    its transactions, what is not known is sent again. A load `beside` another one shares its record."""

    def __init__(self, nodes, once=None, beside=None):
        self.nodes, self.once, self.resent = nodes, once, 0
        # The other load may wait for a node that accepts connections and never answers: this one gives up soon.
        limits = {"connection_timeout": 3, "connection_acquisition_timeout": 5} if beside else {}
        # Strict reads have routes of their own: they do not find a new leader for the other two.
        self.driver, self.strict_driver = cluster_driver(nodes, **limits), cluster_driver(nodes, **limits)
        self.record = beside.record if beside else Record(self.events_before())
        self.first = beside.first if beside else leaderships(nodes[0])
        self.acknowledged, self.times, self.unknown, self.longest = [], [], [], 0.0
        self.stale, self.pause, self.strict_pause, self.errors = 0, 0.0, 0.0, []
        self.record.loads.append(self)
        self.ended = threading.Event()
        self.bookmarks = None
        # What fails elsewhere ends the program, whatever they do.
        works = (self.write, self.read, self.read_strictly)
        self.threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in self.threads:
            thread.start()

    def events_before(self):
        def found():
            try:
                return [strict_read(self.strict_driver)]
            except (DriverError, Neo4jError):
                return None
        return until("the first read", found)[0]

    def write(self):
        while not self.ended.is_set():
            number = next(self.record.numbers)

            def work(transaction):
                transaction.run("MERGE (c:Counter) SET c.n = coalesce(c.n, 0) + 1").consume()
                transaction.run("CREATE (:Event {number: $number})", number=number).consume()

            if self.once:
                work = unit_of_work(metadata={"telar_once": f"{self.once} {number}"})(work)
            begun = time.monotonic()
            while not self.sent(number, work) and self.once:
                self.resent += 1
            self.longest = max(self.longest, time.monotonic() - begun)

    def sent(self, number, work):
        """Sends a transaction; false if nobody knows whether it was made: the connection broke under the commit."""
        try:
            with self.driver.session() as session:
                session.execute_write(work)
                self.bookmarks = session.last_bookmarks()
        except (DriverError, Neo4jError) as error:
            if not self.once:
                self.unknown.append(number)
            self.errors.append(repr(error))
            return False
        self.acknowledged.append(number)
        self.times.append(time.monotonic())
        return True

    def longest_gap(self, since):
        """The longest time without an acknowledgement."""
        times = [since] + [at for at in self.times if at > since]
        return max(after - before for before, after in zip(times, times[1:]))

    def read(self):
        while not self.ended.is_set():
            known, bookmarks = len(self.acknowledged), self.bookmarks
            begun = time.monotonic()
            try:
                with self.driver.session(database="telar", bookmarks=bookmarks) as session:
                    query = "MATCH (e:Event) RETURN count(e)"
                    found = session.execute_read(lambda t: t.run(query).single().value())
                # The bookmark is of the last of these commits, or of a later one.
                self.stale += known > 0 and found < self.record.before + known
            except (DriverError, Neo4jError) as error:
                self.errors.append(f"{READ}{error!r}")
            self.pause = max(self.pause, time.monotonic() - begun)
            time.sleep(0.01)

    def read_strictly(self):
        while not self.ended.is_set():
            begun = time.monotonic()
            while not self.ended.is_set():
                try:
                    self.record.read_strictly(self.strict_driver)
                    break
                except (DriverError, Neo4jError):
                    # Nobody leads, or another node than before.
                    time.sleep(0.05)
            self.strict_pause = max(self.strict_pause, time.monotonic() - begun)
            time.sleep(0.01)

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        self.driver.close()
        self.strict_driver.close()

    def end(self):
        """Stops all three; returns how often the leader has changed."""
        self.stop()
        return leaderships(self.nodes[0]) - self.first


class Witness:
    """A client of one node that reads strictly, over a connection that it has before the node is stopped."""

    def __init__(self, node, record):
        self.record, self.driver = record, node.driver()
        self.driver.verify_connectivity()
        self.refused, self.shown, self.stale = 0, 0, []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.read, daemon=True)

    def read(self):
        while not self.ended.is_set():
            try:
                missing = self.record.read_strictly(self.driver)
                self.shown += 1
                if missing:
                    self.stale.append(missing)
            except (DriverError, Neo4jError):
                self.refused += 1
            time.sleep(0.005)

    def stop(self):
        self.ended.set()
        self.thread.join()
        self.driver.close()


def failovers(nodes, kills, strict):
    def fault(load):
        leader = until("a leader", lambda: leader_of(nodes))
        before, begun = len(load.acknowledged), time.monotonic()
        leader.kill()
        until("writes", lambda: len(load.acknowledged) > before + 1)
        took = time.monotonic() - begun
        until("more writes", lambda: len(load.acknowledged) > before + 10)
        leader.start()
        until("the node is back", lambda: is_back(leader, nodes))
        return took
    under_load(nodes, "kills", kills, fault, strict)


def frozen(nodes, seconds, times, strict):
    """The leader's process is stopped for a while, and goes on as if it had not been."""
    def fault(load):
        leader = until("a leader", lambda: leader_of(nodes))
        others = [node for node in nodes if node is not leader]
        witnesses = [Witness(leader, load.record) for _ in range(WITNESSES)]
        leader.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        until("another leader", lambda: leader_of(others))
        # The load itself may have to wait: a driver puts no limit on the answer to what it has sent.
        beside = Load(others, once=load.once, beside=load)
        until("writes at another node", lambda: beside.acknowledged)
        took = time.monotonic() - begun
        check(f"another node takes writes while {leader.name} is stopped", True)
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
        # What they ask first waits for the node to go on.
        for witness in witnesses:
            witness.thread.start()
        leader.process.send_signal(signal.SIGCONT)
        before, before_beside = len(load.acknowledged), len(beside.acknowledged)
        until("more writes", lambda: len(load.acknowledged) > before + 10)
        until("more writes beside", lambda: len(beside.acknowledged) > before_beside + 10)
        until("the node is back", lambda: is_back(leader, nodes))
        for client in [beside, *witnesses]:
            client.stop()
        shown, refused = (sum(getattr(each, what) for each in witnesses) for what in ("shown", "refused"))
        print(f"reads at {leader.name} when it went on: refused: {refused}, answered: {shown}", flush=True)
        stale = [missing for witness in witnesses for missing in witness.stale]
        check(f"{leader.name} shows nothing old when it goes on", shown + refused > 0 and not stale, stale)
        return took
    under_load(nodes, "freezes", times, fault, strict)


def disturbed(nodes, command, times, strict):
    """The store itself fails for a while."""
    def fault(load):
        begun = time.monotonic()
        subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
        after = len(load.acknowledged)
        until("more writes", lambda: len(load.acknowledged) > after + 10)
        until("all nodes", lambda: all(is_back(node, nodes) for node in nodes))
        return load.longest_gap(begun)
    changes = under_load(nodes, "faults of the store", times, fault, strict)
    if strict:
        check("the store's faults hardly cost a leadership", changes <= max(1, times // 4), changes)


def under_load(nodes, what, times, fault, strict):
    """A fault, so many times; it says for how long no transaction was acknowledged. Returns how often the leader has
    changed."""
    leader = until("a leader", lambda: leader_of(nodes))
    with leader.driver() as driver:
        # Those of the load before have the same numbers.
        driver.execute_query("MATCH (n:Event|Counter) DELETE n")
    load = Load(nodes, once=what)
    until("the first commits", lambda: len(load.acknowledged) > 20)
    took = [fault(load) for _ in range(times)]
    changes, record = load.end(), load.record
    resent = sum(each.resent for each in record.loads)
    took.sort()
    print(f"{what}: {times}, changes of the leader: {changes}, commits: {len(record.acknowledged())}, "
          f"sent again: {resent}, seconds to the next commit: median {took[len(took) // 2]:.1f}, "
          f"most {', '.join(f'{each:.1f}' for each in took[-5:])}; longest read {load.pause:.1f} s, "
          f"longest of {record.strict_reads} strict reads {load.strict_pause:.1f} s", flush=True)
    if strict:
        check("writes come back in time", took[-1] <= SECONDS_TO_WRITE_MAX, took)
    behind = sum(each.stale for each in record.loads)
    check("a bookmark's reader sees what it names", behind == 0, behind)
    strict_reads_hold(record)
    errors = [error for each in record.loads for error in each.errors]
    check("each change of the leader breaks the transaction under way at most", resent <= changes, errors)
    same_everywhere(nodes, record)
    return changes


def strict_reads_hold(record):
    check("no strict read is stale", record.strict_reads > 0 and not record.stale,
          f"{len(record.stale)} of {record.strict_reads}: {', '.join(record.stale[:5])}")


def same_everywhere(nodes, record):
    acknowledged, possible = record.acknowledged(), record.acknowledged() | record.unknown()
    pictures = set()
    for node in nodes:
        def picture():
            with node.driver() as driver, driver.session() as session:
                row = session.run("MATCH (c:Counter) RETURN c.n").single()
                numbers = session.run("MATCH (e:Event) RETURN e.number ORDER BY e.number").value()
                return (row and row.value(), tuple(numbers))
        found = until("all commits", lambda: (lambda p: p if acknowledged <= set(p[1]) else None)(picture()))
        pictures.add(found)
        numbers = found[1]
        check(f"each commit once at {node.name}", len(numbers) == len(set(numbers)))
        check(f"nothing else at {node.name}", set(numbers) <= possible, set(numbers) - possible)
        check(f"the count at {node.name}", found[0] == len(numbers), (found[0], len(numbers)))
    check("all nodes show the same", len(pictures) == 1)


def handed_over(nodes):
    """A node that is told to stop hands over: no managed transaction fails, and writes hardly pause."""
    load = Load(nodes)
    until("the first commits", lambda: len(load.acknowledged) > 20)
    for _ in range(len(nodes)):
        leader = until("a leader", lambda: leader_of(nodes))
        before = len(load.acknowledged)
        leader.kill(signal.SIGTERM)
        check(f"{leader.name} ends in order", leader.process.returncode == 0, leader.process.returncode)
        leader.start()
        until("writes", lambda: len(load.acknowledged) > before + 10)
        until("the node is back", lambda: is_back(leader, nodes))
    unasked = max(0, load.end() - len(nodes))
    print(f"restarts: {len(nodes)}, commits: {len(load.acknowledged)}, longest write {load.longest:.1f} s", flush=True)
    check("no transaction fails in a rolling restart", len(load.errors) <= unasked, load.errors)
    strict_reads_hold(load.record)


def handed_over_by_command(nodes):
    """`telar cluster transfer` under load: each node leads in turn, and no managed transaction fails."""
    load = Load(nodes)
    until("the first commits", lambda: len(load.acknowledged) > 20)
    leader, asked = until("a leader", lambda: leader_of(nodes)), 0
    for node in [node for node in nodes if node is not leader] + [leader]:
        before = len(load.acknowledged)
        command = [node.telar, "cluster", "transfer", node.store, node.name, "--database", "telar"]
        done = subprocess.run(command, capture_output=True, text=True)
        check(f"{node.name} is handed the leadership", done.returncode == 0, done.stdout + done.stderr)
        asked += "already" not in done.stdout
        until(f"the leader {node.name}", lambda: leader_of(nodes) is node)
        until("writes", lambda: len(load.acknowledged) > before + 10)
    unasked = max(0, load.end() - asked)
    print(f"transfers: {len(nodes)}, commits: {len(load.acknowledged)}, longest write {load.longest:.1f} s", flush=True)
    check("no transaction fails in a transfer", len(load.errors) <= unasked, load.errors)
    strict_reads_hold(load.record)


def log_begins(node):
    """The commit at which the log begins, and the last one of a node, as the store shows them."""
    row = standing(node)
    at = row[f"at {node.name}"].split()[0]
    return int(row["log from"]), 0 if at == "-" else int(at)


def events(node):
    try:
        with node.driver() as driver, driver.session() as session:
            return session.run("MATCH (e:Event) RETURN count(e)").single().value()
    except (DriverError, Neo4jError):
        # Its copy is being made.
        return -1


def left_behind(nodes):
    """A node that hangs for long, and one whose disk is lost, begin with an image of the database."""
    load = Load(nodes)
    until("the first commits", lambda: len(load.acknowledged) > 20)
    leader = until("a leader", lambda: leader_of(nodes))
    hangs, lost = (node for node in nodes if node is not leader)
    hangs.process.send_signal(signal.SIGSTOP)

    def is_behind():
        begins, at = log_begins(hangs)
        return begins > at + 1
    until("the log goes on without it", is_behind)
    hangs.process.send_signal(signal.SIGCONT)
    before = len(load.acknowledged)
    until("more commits", lambda: len(load.acknowledged) > before + 20)
    until(f"{hangs.name} is back", lambda: events(hangs) > 0)
    lost.kill()
    shutil.rmtree(lost.folder / lost.name)
    before = len(load.acknowledged)
    until("more commits", lambda: len(load.acknowledged) > before + 20)
    lost.start()
    changes = load.end()
    check("the log was trimmed", log_begins(leader)[0] > 1)
    leader = until("a leader", lambda: is_back(lost, nodes) and leader_of(nodes))
    expected = events(leader)
    for node in nodes:
        until(f"all commits at {node.name}", lambda: events(node) == expected)
        check(f"{node.name} has every commit", True)
    # What the kill cut off may be the end of a read there, which the driver does not run again.
    writes = [error for error in load.errors if not error.startswith(f"{READ}IncompleteCommit")]
    check("no transaction fails meanwhile", len(writes) <= changes and len(load.errors) <= len(writes) + 1, load.errors)
    strict_reads_hold(load.record)


def main():
    parser = argparse.ArgumentParser(description="A cluster of three servers under the official driver.")
    parser.add_argument("telar", help="the binary")
    parser.add_argument("folder", type=Path, help="for nodes and their logs")
    parser.add_argument("kills", type=int, nargs="?", default=3, help="how often a leader is killed")
    parser.add_argument("--freeze", metavar="SECONDS", type=float, default=5, help="how long a leader is stopped (5)")
    parser.add_argument("--freezes", metavar="TIMES", type=int, default=1, help="how often (1)")
    parser.add_argument("--strict", action="store_true", help="writes must be back in time, too")
    parser.add_argument("--store", metavar="URL", help="an empty store (a folder in FOLDER)")
    parser.add_argument("--history", metavar="FILE", help="transactions beside the load, for check-history")
    parser.add_argument("--disturb", metavar="CMD", help="disturbs the store as often as a leader is killed")
    options = parser.parse_args()
    folder = options.folder
    store = options.store or f"dir:{folder / 'store'}"
    print(f"neo4j driver {neo4j.__version__}")
    # It tells of each connection that breaks, and here they are broken on purpose.
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)
    folder.mkdir(parents=True, exist_ok=True)
    nodes = []
    try:
        for name in NODES:
            nodes.append(Node(os.path.abspath(options.telar), folder, name, store))
        basics(nodes)
        commands(nodes)
        histories = Histories(cluster_driver(nodes), nothing_was_made) if options.history else None
        failovers(nodes, options.kills, options.strict)
        if options.freezes:
            frozen(nodes, options.freeze, options.freezes, options.strict)
        if options.disturb:
            disturbed(nodes, options.disturb, options.kills, options.strict)
        if histories:
            outcomes, surprises = histories.end(options.history)
            print(f"transactions of the history: {outcomes}", flush=True)
            check("the history has something to tell", outcomes["acknowledged"] > 100, outcomes)
            check("its clients met what they know of", not surprises, surprises[:5])
        handed_over_by_command(nodes)
        handed_over(nodes)
        left_behind(nodes)
    finally:
        for node in nodes:
            if node.process.poll() is None:
                node.kill()
    print(f"test result: {'FAILED' if failures else 'ok'}. {passed} passed; {failures} failed")
    sys.exit(1 if failures else 0)


main()
