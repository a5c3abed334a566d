"""Telar and Neo4j over HTTP: same machine, same client, same data, in one run.

    python bench/compare/http_api.py TELAR [--folder FOLDER] [--workloads NAME ...] [--seconds S] [--rounds N]

As bench/compare/bolt.py, whose stores it can use (`--folder`, loaded over Bolt) and which says what it
needs. Telar is asked by its Query API, Neo4j by its HTTP API (`/db/neo4j/tx/commit`): the
Maven artefacts have no Query API. Both answer plain JSON; each statement is a transaction. Answers are
compared before anything is timed. The client is bench/compare/http_api (Go).
"""

import argparse
import contextlib
import json
import os
import subprocess
import tempfile
import urllib.request

import bolt

HERE = os.path.dirname(os.path.realpath(__file__))
TELAR_HTTP, NEO4J_BOLT = 17712, 17721


def ask(server, statement, **parameters):
    """The rows of a statement."""
    body = {"statement": statement, "parameters": parameters}
    if server.name == "Telar":
        address = f"http://127.0.0.1:{TELAR_HTTP}/db/telar/query/v2"
    else:
        address, body = f"http://127.0.0.1:{NEO4J_BOLT + 1}/db/neo4j/tx/commit", {"statements": [body]}
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        said = json.load(answer)
    if server.name == "Telar":
        return said["data"]["values"]
    if said["errors"]:
        raise RuntimeError(said["errors"])
    return [row["row"] for row in said["results"][0]["data"]]


def answers(server, persons):
    """What has to be equal between the two before anything is timed."""
    ids = list(range(0, persons, max(1, persons // 500)))
    return [
        ask(server, "MATCH (p:Person) RETURN count(p), sum(p.id)"),
        ask(server, "MATCH (:Person)-[k:KNOWS]->() RETURN count(k)"),
        ask(server, "UNWIND $ids AS id MATCH (p:Person {id: id})-[:KNOWS]->(f) RETURN id, f.id, f.name ORDER BY id, f.id",
            ids=ids),
        *[ask(server, "MATCH (p:Person {id: $id}) RETURN p.name AS name", id=id) for id in ids[:50]],
    ]


def compare(options, folder):
    client = os.path.join(folder, "http-client")
    subprocess.run(["go", "build", "-o", client, "."], cwd=os.path.join(HERE, "http_api"), check=True)
    telar = bolt.Telar(options.telar, os.path.join(folder, "telar"), 17711, ("--http", f"127.0.0.1:{TELAR_HTTP}"))
    servers = [telar, bolt.Neo4j(os.path.join(folder, "neo4j"), NEO4J_BOLT)]
    ports = {"Telar": TELAR_HTTP, "Neo4j": NEO4J_BOLT + 1}

    def measure(server, workload, connections, seconds):
        command = [client, "-kind", server.name.lower()]
        address = f"127.0.0.1:{ports[server.name]}"
        return bolt.measure(command, server, workload, connections, seconds, options.persons, address)

    results = {}
    with contextlib.ExitStack() as stack:
        for server in servers:
            new = not os.path.exists(server.folder)
            server.start()
            stack.callback(server.stop)
            if new:
                bolt.load(server.address, options.persons)
        first, second = (answers(server, options.persons) for server in servers)
        if first != second:
            raise SystemExit("the answers differ: nothing was measured")
        if options.prepare:
            return
        for server in servers:
            for workload in options.workloads:
                measure(server, workload, 32, options.warm)
                measure(server, workload, 1, options.warm / 4)
        for _ in range(options.rounds):
            for workload in options.workloads:
                for connections in (1, 32):
                    for server in servers:
                        result = measure(server, workload, connections, options.seconds)
                        results.setdefault((server.name, workload, connections), []).append(result)
    bolt.table(results, (1, 32), options.workloads)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("telar", type=os.path.realpath)
    parser.add_argument("--folder", help="keeps the stores here for the next run (default: a temporary folder)")
    parser.add_argument("--prepare", action="store_true", help="load and compare, measure nothing")
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--warm", type=float, default=8, help="seconds of warming up per workload")
    parser.add_argument("--rounds", type=int, default=3)
    every = [workload for workload, _ in bolt.WORKLOADS]
    parser.add_argument("--workloads", nargs="+", choices=every, default=every)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.realpath(options.folder or scratch)
        os.makedirs(folder, exist_ok=True)
        compare(options, folder)


if __name__ == "__main__":
    main()
