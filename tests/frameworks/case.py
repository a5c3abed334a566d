"""What every framework's cases stand on: the list, the runner, the graph under test, and the fakes.

A case is a function decorated with `@case`. It starts with an empty graph without schema, and fails by raising.
`@case(fails=REASON)` marks one that cannot pass on Telar yet: it counts as ignored, and as failed once it passes.
`errors` says what the failure looks like, so that another one is not taken for it. Where FRAMEWORKS_RECORD names a
folder, each case is recorded there (record.py).
"""

import asyncio
import hashlib
import inspect
import logging
import math
import os
import re
import sys
import time
import traceback
import warnings

import neo4j
import record

logging.disable(logging.CRITICAL)
warnings.showwarning = lambda *_, **__: None  # A filter would not do: some set their own.

ADDRESS = os.environ["FRAMEWORKS_BOLT"]
URI = f"bolt://{ADDRESS}"
USER, PASSWORD = "neo4j", os.environ.get("FRAMEWORKS_PASSWORD", "password")
DATABASE = "neo4j"
# "telar" or "neo4j": on the latter every case has to pass.
KIND = os.environ.get("FRAMEWORKS_KIND", "telar")
VECTOR_INDEX = "Telar has no vector index yet (CREATE VECTOR INDEX is refused)"
VECTOR_INDEX_ERROR = r"VECTOR indexes are not supported|db\.index\.vector"

UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

CASES = {}


def case(function=None, *, fails=None, errors=None):
    """Adds a function to the list, under its name."""

    def add(function):
        assert function.__name__ not in CASES, f"two cases named {function.__name__}"
        CASES[function.__name__] = (function, fails if KIND == "telar" else None, errors)
        return function

    return add(function) if function else add


def equal(got, expected, what="value"):
    """Fails unless both are equal."""
    if got != expected:
        raise AssertionError(f"{what}: got {got!r:.1000}, expected {expected!r:.1000}")


def rows(query, **parameters):
    """Runs a statement beside the framework, and returns its rows as lists."""
    with neo4j.GraphDatabase.driver(URI, auth=(USER, PASSWORD)) as driver:
        if KIND == "neo4j" and query.startswith("SHOW"):
            driver.execute_query(record.AWAIT, database_=DATABASE)  # Neo4j makes them in the background.
        return [list(row.values()) for row in driver.execute_query(query, parameters, database_=DATABASE).records]


def value(query, **parameters):
    """The only value of the only row."""
    [[only]] = rows(query, **parameters)
    return only


def counts():
    """The number of nodes by labels, and of relationships by type."""
    nodes = rows("MATCH (n) UNWIND labels(n) AS l WITH n, l ORDER BY l WITH n, collect(l) AS ls "
                 "RETURN ls, count(*) AS c ORDER BY ls")
    relationships = rows("MATCH ()-[r]->() RETURN type(r) AS t, count(*) AS c ORDER BY t")
    return {":".join(labels): count for labels, count in nodes}, dict(relationships)


def empty():
    """An empty graph without schema."""
    with neo4j.GraphDatabase.driver(URI, auth=(USER, PASSWORD)) as driver, driver.session(database=DATABASE) as session:
        for row in session.run("SHOW CONSTRAINTS YIELD name").data():
            session.run(f"DROP CONSTRAINT `{row['name']}`").consume()
        for row in session.run("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'").data():
            session.run(f"DROP INDEX `{row['name']}`").consume()
        session.run("MATCH (n) DETACH DELETE n").consume()


def words(text):
    return re.findall(r"\w+", text.lower())


def embed(text, dimension=64):
    """A unit vector that depends on the words of `text` only: texts that share words are near each other.

    UUIDs are one word, so that vectors are the same in every run.
    """
    text = UUID.sub("uuid", text.lower())
    total = [0.0] * dimension
    for word in words(text) or [""]:
        digest = hashlib.shake_128(word.encode()).digest(2 * dimension)
        for at in range(dimension):
            total[at] += int.from_bytes(digest[2 * at : 2 * at + 2], "big") / 32768 - 1
    length = math.sqrt(sum(part * part for part in total))
    return [part / length for part in total]


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b))


def run(name):
    """Runs the cases whose names hold one of the arguments, or all; ends the process with the exit status."""
    passed, failed, ignored = 0, [], 0
    for title, (function, fails, errors) in CASES.items():
        if sys.argv[1:] and not any(part in title for part in sys.argv[1:]):
            continue
        started, begun = time.monotonic(), None
        short, title = title, f"{name}::{title}"
        try:
            empty()
            if record.FOLDER:
                begun = record.begin()
            if inspect.iscoroutinefunction(function):
                asyncio.run(function())
            else:
                function()
        except Exception as error:
            if fails and re.search(errors or "", f"{error} {error!r} {error.__cause__}", re.S):
                ignored += 1
                print(f"test {title} ... ignored, fails as expected: {fails}", flush=True)
            else:
                failed.append(title)
                print(f"test {title} ... FAILED\n{traceback.format_exc()}", flush=True)
        else:
            if fails:
                failed.append(title)
                print(f"test {title} ... FAILED: passes now; it was expected to fail: {fails}", flush=True)
            else:
                passed += 1
                print(f"test {title} ... ok ({time.monotonic() - started:.2f} s)", flush=True)
        if begun:
            record.end(name, short, begun)
    status = "FAILED" if failed else "ok"
    print(f"{name}: result {status}. {passed} passed; {len(failed)} failed; {ignored} ignored", flush=True)
    # Not sys.exit: what a framework left running in a thread must not keep the gate.
    os._exit(1 if failed else 0)
