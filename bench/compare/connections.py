"""What a Bolt connection costs a server in memory: idle, used, after something large, closed.

    python bench/compare/connections.py TELAR [--connections N]

Needs the official Python driver (tools/drivers.sh installs it). KiB for each connection are what the process
takes more than before there were any, by /proc: what it gave back of that beforehand makes them fewer.
"""

import argparse
import re
import subprocess
import time

import neo4j


def resident_kib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def in_transactions(sessions, query, parameters=lambda number: {}):
    """Runs a query in a transaction of each session, all of them open at the same time."""
    transactions = []
    for number, session in enumerate(sessions):
        transactions.append(session.begin_transaction())
        transactions[-1].run(query, **parameters(number)).consume()
    for transaction in transactions:
        transaction.commit()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("telar")
    parser.add_argument("--connections", type=int, default=200)
    options = parser.parse_args()
    command = [options.telar, "serve", "--memory", "--no-auth", "--no-http", "--bolt", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        measure("bolt://" + process.stdout.readline().split("bolt://")[1].split()[0], process, options.connections)
    finally:
        process.kill()
        process.wait()


def measure(uri, process, count):
    by_id = "MATCH (p:Person {id: $id})"
    with neo4j.GraphDatabase.driver(uri) as driver:
        driver.execute_query("CREATE INDEX FOR (p:Person) ON (p.id)")
        driver.execute_query("UNWIND range(0, 9999) AS i CREATE (:Person {id: i, name: 'person ' + i})")
        driver.execute_query(f"{by_id} SET p.age = 1 RETURN p", id=0)
    time.sleep(4)
    before = resident_kib(process)

    def show(what):
        now = resident_kib(process)
        print(f"| {what} | {(now - before) / count:,.0f} | {now / 1024:,.0f} |", flush=True)

    print("| connections | KiB each | process MiB |")
    print("|---|---|---|")
    print(f"| none | | {before / 1024:,.0f} |")
    driver = neo4j.GraphDatabase.driver(uri, max_connection_pool_size=count + 1)
    sessions = [driver.session() for _ in range(count)]
    in_transactions(sessions, f"{by_id} RETURN p.name", lambda number: {"id": number})
    show("after a read each")
    in_transactions(sessions, f"{by_id} SET p.age = 1 RETURN p", lambda number: {"id": number})
    show("after a write each")
    numbers = list(range(100_000))
    in_transactions(sessions, "UNWIND $numbers AS n RETURN n", lambda number: {"numbers": numbers})
    show("after 100,000 numbers there and back each")
    time.sleep(6)
    show("6 s later")
    driver.close()
    time.sleep(6)
    print(f"| closed, 6 s later | | {resident_kib(process) / 1024:,.0f} |")


if __name__ == "__main__":
    main()
