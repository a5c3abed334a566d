"""Sessions that write the same, on a server of its own.

    python contention.py TELAR [--seconds S] [--sessions N] [--store FOLDER]

Starts `TELAR serve`, lets 16 sessions do one kind of work for S seconds, then the next, and prints
for each how many units were done per second, the most and the fewest that one session did, and how
long a unit took; each kind as statements by themselves (`auto`) and in managed transactions
(`managed`), whose rate is also given as a share of the other. In the first kind each session has a
node of its own: its share is what a managed transaction costs beside a statement where nobody
waits. What has to hold, whatever the figures:

- the sums come out exactly: no unit is lost, none is done twice;
- no session gets an error that the driver does not deal with.
"""

import argparse
import logging
import multiprocessing
import tempfile
import time

import neo4j

from load import Telar

logging.getLogger("neo4j").setLevel(logging.CRITICAL)
PROCESSES = 4

# What it does; how it begins; what is counted at the end, which grows by one with each unit.
WORK = {
    "a node each": (
        "MATCH (c:Own {id: $own}) SET c.n = c.n + 1",
        ["UNWIND range(0, 255) AS i CREATE (:Own {id: i, n: 0})"],
        "MATCH (c:Own) RETURN sum(c.n) AS n",
    ),
    "one node": (
        "MATCH (c:Counter {id: 0}) SET c.n = c.n + 1",
        ["CREATE (:Counter {id: 0, n: 0})"],
        "MATCH (c:Counter) RETURN c.n AS n",
    ),
    "one relationship": (
        "MATCH (:End {id: 0})-[r:COUNTS]->(:End {id: 1}) SET r.n = r.n + 1",
        ["CREATE (:End {id: 0})-[:COUNTS {n: 0}]->(:End {id: 1})"],
        "MATCH (:End)-[r:COUNTS]->(:End) RETURN r.n AS n",
    ),
    "transfers, 8 accounts": (
        "MATCH (a:Account {id: $x % 8}), (b:Account {id: ($x + 1 + $y % 7) % 8}) "
        "SET a.n = a.n - 1 SET b.n = b.n + 1 SET a.moves = a.moves + 1",
        ["UNWIND range(0, 7) AS i CREATE (:Account {id: i, n: 1000, moves: 0})"],
        "MATCH (a:Account) RETURN sum(a.n) - 8000 + sum(a.moves) AS n",
    ),
    "delete and make anew": (
        "MATCH (c:Gone) WITH c, c.n AS n DELETE c CREATE (:Gone {n: n + 1})",
        ["CREATE (:Gone {n: 0})"],
        "MATCH (c:Gone) RETURN sum(c.n) AS n",
    ),
    "MERGE relationship, 16 nodes": (
        "MATCH (a:Node {id: $x % 16}), (b:Node {id: $y % 16}) MERGE (a)-[r:TO]->(b) "
        "ON CREATE SET r.n = 1 ON MATCH SET r.n = r.n + 1",
        ["UNWIND range(0, 15) AS i CREATE (:Node {id: i})"],
        # A pair with two relationships would be far off.
        "MATCH (a:Node)-[r:TO]->(b:Node) WITH a, b, count(r) AS c, sum(r.n) AS n "
        "RETURN sum(n) + 1000000 * sum(c - 1) AS n",
    ),
}


def one(driver, text):
    with driver.session() as session:
        return session.run(text).single()["n"]


def client(uri, numbers, text, managed, until, results):
    """A thread and a session for each of `numbers`; puts the times of the units of each."""
    import random
    import threading

    driver = neo4j.GraphDatabase.driver(uri, max_connection_pool_size=len(numbers) + 1)
    driver.verify_connectivity()

    def work(number):
        chance, took = random.Random(number), []
        with driver.session() as session:
            while time.time() < until:
                given = {"x": chance.randrange(1 << 30), "y": chance.randrange(1 << 30),
                         "own": number % 256}
                begun = time.perf_counter()
                if managed:
                    session.execute_write(lambda tx: tx.run(text, given).consume())
                else:
                    session.run(text, given).consume()
                took.append(time.perf_counter() - begun)
        results.put(took)

    threads = [threading.Thread(target=work, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    driver.close()


def measure(uri, text, managed, sessions, seconds):
    results, until = multiprocessing.Queue(), time.time() + seconds + 1
    processes = [
        multiprocessing.Process(
            target=client, args=(uri, range(at, sessions, PROCESSES), text, managed, until, results))
        for at in range(PROCESSES)
    ]
    begun = time.time()
    for process in processes:
        process.start()
    units = [results.get(timeout=seconds + 120) for _ in range(sessions)]
    for process in processes:
        process.join()
        assert process.exitcode == 0, "a session got an error: see above"
    return units, time.time() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("telar")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--sessions", type=int, default=16)
    parser.add_argument("--store", help="folder for the store; default: a temporary one")
    options = parser.parse_args()
    server = Telar(options.telar, options.store or tempfile.mkdtemp(prefix="telar-contention-"))
    server.start()
    try:
        with neo4j.GraphDatabase.driver(server.uri) as driver:
            print(f"{'work':30} {'mode':8} {'per s':>8} {'most':>6} {'fewest':>6} {'p50 ms':>7} {'p99 ms':>7} {'max ms':>7} {'share':>6}")
            for name, (text, setup, total) in WORK.items():
                for statement in setup:
                    driver.execute_query(statement)
                rates = []
                for managed in (False, True):
                    before = one(driver, total) or 0
                    units, took = measure(server.uri, text, managed, options.sessions, options.seconds)
                    every = sorted(time for session in units for time in session)
                    done = one(driver, total) - before
                    assert done == len(every), f"{name}: {len(every)} units done, {done} found"
                    at = [1000 * every[int(len(every) * part)] for part in (0.5, 0.99)] + [1000 * every[-1]]
                    counts = [len(session) for session in units]
                    rates.append(len(every) / took)
                    share = f"{rates[1] / rates[0]:6.2f}" if managed else ""
                    print(f"{name:30} {'managed' if managed else 'auto':8} {len(every) / took:8.0f} {max(counts):6} "
                          f"{min(counts):6} {at[0]:7.1f} {at[1]:7.1f} {at[2]:7.1f} {share}", flush=True)
    finally:
        server.kill()


if __name__ == "__main__":
    main()
