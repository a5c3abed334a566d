"""Transactions whose histories are checked for anomalies: what each read, wrote, and was told.

Clients append to lists and add members to a set, in transactions at the leader, until they are told to end; what is
read says which writes it saw. The file is for `check-history` (tests/src/recording.rs has its form).
"""

import itertools
import json
import random
import threading
import time

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

KEYS = 5
CLIENTS = 4
# Seconds between two transactions of a client, of so many and of later ones: lists are read as a whole, and a history of
# some thousand is checked at once.
PAUSE, RECORDS, PAUSE_LATER = 0.01, 5000, 1
SECONDS_TO_READ_MAX = 60


class Histories:
    """The clients of a driver, which it closes in the end; `is_refused` says of an error of a commit that nothing was made."""

    def __init__(self, driver, is_refused):
        self.driver, self.is_refused = driver, is_refused
        # One step of the interpreter: no two clients get the same.
        self.ticks, self.ids = itertools.count(), itertools.count(1)
        self.records, self.surprises, self.ended = [], [], threading.Event()
        self.anywhere(lambda t: t.run("UNWIND range(0, $n - 1) AS i MERGE (:Key {id: i})", n=KEYS).consume())
        self.threads = [threading.Thread(target=self.go_on, args=(at,), daemon=True) for at in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def session(self):
        """A session of its own each time: it has no bookmarks to wait for, and only the leader takes it."""
        return self.driver.session(database="telar", default_access_mode=neo4j.WRITE_ACCESS)

    def anywhere(self, work):
        """Does something in a transaction, again and again until it is done."""
        end = time.monotonic() + SECONDS_TO_READ_MAX
        while True:
            try:
                with self.session() as session, session.begin_transaction() as transaction:
                    found = work(transaction)
                    transaction.commit()
                    return found
            except (DriverError, Neo4jError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def record(self, thread, begin, outcome, ops):
        # A list takes one more in one step of the interpreter.
        self.records.append({"thread": thread, "begin": begin, "end": next(self.ticks), "outcome": outcome, "ops": ops})

    def go_on(self, thread):
        choice = random.Random(thread)
        while not self.ended.is_set():
            begin, ops = next(self.ticks), []
            self.record(thread, begin, self.transaction(choice, ops), ops)
            self.ended.wait(PAUSE if len(self.records) < RECORDS else PAUSE_LATER)

    def transaction(self, choice, ops):
        """Runs one, with what it does in `ops`; returns what its client was told."""
        outcome, writes = "refused", choice.random() < 2 / 3
        try:
            with self.session() as session, session.begin_transaction() as transaction:
                for _ in range(choice.randint(1, 3)):
                    self.step(transaction, choice, writes, ops)
                outcome = "unknown"
                transaction.commit()
                outcome = "acknowledged"
        except (DriverError, Neo4jError) as error:
            if outcome == "unknown" and self.is_refused(error):
                outcome = "refused"
        except Exception as error:  # It may have been made, and its reads are part of the history.
            self.surprises.append(repr(error))
        return outcome

    def step(self, transaction, choice, writes, ops):
        if choice.random() < 1 / 6:
            ops.append(marked(transaction))
            if writes:
                item = next(self.ids)
                # Before it is known: nothing of what was tried may be seen.
                ops.append(["mark", item])
                transaction.run("CREATE (:Marked {item: $i})", i=item).consume()
            return
        key = choice.randrange(KEYS)
        ops.append(read(transaction, key))
        if writes:
            new = next(self.ids)
            ops.append(["append", key, new])
            query = "MATCH (k:Key {id: $key}) SET k.list = coalesce(k.list, []) + $id"
            transaction.run(query, key=key, id=new).consume()

    def end(self, file):
        """Ends the clients, reads everything, and writes the file; returns how many were told which outcome, and what
        no client expects."""
        self.ended.set()
        for thread in self.threads:
            thread.join()
        begin = next(self.ticks)
        ops = self.anywhere(lambda t: [read(t, key) for key in range(KEYS)] + [marked(t)])
        self.record(CLIENTS, begin, "acknowledged", ops)
        self.driver.close()
        with open(file, "w", encoding="utf-8") as out:
            out.writelines(json.dumps(record) + "\n" for record in self.records)
        outcomes = [record["outcome"] for record in self.records]
        told = {outcome: outcomes.count(outcome) for outcome in ("acknowledged", "refused", "unknown")}
        return told, self.surprises


def read(transaction, key):
    found = transaction.run("MATCH (k:Key {id: $key}) RETURN k.list", key=key).single().value()
    return ["read", key, found or []]


def marked(transaction):
    return ["marked", transaction.run("MATCH (m:Marked) RETURN m.item").value()]
