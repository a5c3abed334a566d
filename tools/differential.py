"""Random queries on random graphs: Telar against Neo4j 5.26.

    TELAR_DIFFERENTIAL_EXPORT=/tmp/cases.jsonl cargo test -p telar-tests --test differential -- --ignored export
    target/drivers/python/bin/python tools/differential.py target/release/telar /tmp/cases.jsonl

Starts both servers (Neo4j as bench/compare/neo4j.sh does, from its Maven artefacts) and runs every
query of the file on both, over Bolt with Neo4j's own driver. Prints each difference with all that is
needed to see it again; ends with 1 if there was any. Rows are compared as bags, in order where the
query orders by all its columns; lists as bags, since `collect` has no order.
"""

import argparse
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import neo4j

ROOT = pathlib.Path(__file__).resolve().parents[1]
PORT = 17751


def plain(value):
    """A value that can be compared and printed: nodes and relationships without ids."""
    if isinstance(value, neo4j.graph.Node):
        return ("node", tuple(sorted(value.labels)), plain(dict(value)))
    if isinstance(value, neo4j.graph.Relationship):
        return ("relationship", value.type, plain(dict(value)))
    if isinstance(value, dict):
        return tuple(sorted((key, plain(element)) for key, element in value.items()))
    if isinstance(value, list):
        return ("list", *sorted(map(plain, value), key=repr))
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    # 1 and 1.0 are different answers, 0.0 and -0.0 are not.
    return (type(value).__name__, value + 0.0 if isinstance(value, float) else value)


def answer(session, query, ordered):
    try:
        rows = [tuple(map(plain, record.values())) for record in session.run(query)]
    except neo4j.exceptions.Neo4jError as error:
        return ("error", error.code)
    return rows if ordered else sorted(rows, key=repr)


def start_telar(binary, folder):
    log = pathlib.Path(folder) / "telar.log"
    with open(log, "w", encoding="utf-8") as out:
        server = subprocess.Popen([binary, "serve", "--memory", "--no-auth", "--no-http", "--bolt", "127.0.0.1:0"],
                                  stdout=out, stderr=out)
    while "bolt://" not in (text := log.read_text("utf-8")):
        if server.poll() is not None:
            raise SystemExit(f"telar serve ended: {text}")
        time.sleep(0.01)
    return server, text.split("bolt://")[1].split()[0]


def compare(cases, sessions):
    count, with_rows, different = 0, 0, 0
    for line in cases:
        seed, create, queries = json.loads(line)
        for session in sessions.values():
            session.run("MATCH (n) DETACH DELETE n").consume()
            session.run(create).consume()
        for query, ordered in queries:
            found = {name: answer(session, query, ordered) for name, session in sessions.items()}
            count += 1
            with_rows += bool(found["telar"])
            if found["telar"] != found["neo4j"]:
                different += 1
                print(f"seed {seed}\n{create}\n\n{query}\n")
                for name, rows in found.items():
                    print(f"{name}: {rows[:20]}")
                print("----", flush=True)
    print(f"{count} queries, {with_rows} with rows, {different} answers differ", file=sys.stderr)
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("telar", type=os.path.realpath)
    parser.add_argument("cases", type=argparse.FileType(encoding="utf-8"))
    options = parser.parse_args()
    script = ROOT / "bench" / "compare" / "neo4j.sh"
    with tempfile.TemporaryDirectory() as folder:
        telar, address = start_telar(options.telar, folder)
        store = os.path.join(folder, "neo4j")
        subprocess.run([script, "start", store, str(PORT)], check=True)
        try:
            addresses = {"telar": address, "neo4j": f"127.0.0.1:{PORT}"}
            drivers = {name: neo4j.GraphDatabase.driver(f"bolt://{at}", notifications_min_severity="OFF")
                       for name, at in addresses.items()}
            different = compare(options.cases, {name: driver.session() for name, driver in drivers.items()})
        finally:
            subprocess.run([script, "stop", store], check=True)
            telar.send_signal(signal.SIGTERM)
            telar.wait()
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
