"""Telar and Neo4j over HTTP: same machine, same client, same data, in one run.

    python bench/compare/http_api.py TELAR [--folder FOLDER] [--workloads NAME ...] [--seconds S] [--rounds N]

As bench/compare/bolt.py, whose stores it can use (`--folder`, loaded over Bolt) and which says what it
needs. Telar is asked by its Query API, Neo4j by its HTTP API (`/db/neo4j/tx/commit`): the
Maven artefacts have no Query API. Both answer plain JSON; each statement is a transaction. Answers are
compared before anything is timed. The client is bench/compare/http_api (Go).
"""

import json
import os
import urllib.request

import bolt

HTTP = {"Telar": bolt.TELAR_PORT + 1, "Neo4j": bolt.NEO4J_PORT + 1}


def ask(server, statement, **parameters):
    """The rows of a statement over HTTP."""
    body = {"statement": statement, "parameters": parameters}
    if server.name == "Telar":
        address = f"http://127.0.0.1:{HTTP[server.name]}/db/telar/query/v2"
    else:
        address, body = f"http://127.0.0.1:{HTTP[server.name]}/db/neo4j/tx/commit", {"statements": [body]}
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        said = json.load(answer)
    if server.name == "Telar":
        return said["data"]["values"]
    if said["errors"]:
        raise RuntimeError(said["errors"])
    return [row["row"] for row in said["results"][0]["data"]]


def over_http(options, folder):
    program = bolt.build("http_api", folder)
    http = ("--http", f"127.0.0.1:{HTTP['Telar']}")
    servers = [bolt.Telar(options.telar, os.path.join(folder, "telar"), bolt.TELAR_PORT, http),
               bolt.Neo4j(os.path.join(folder, "neo4j"), bolt.NEO4J_PORT)]

    def client(server):
        return [program, "-kind", server.name.lower(), "-address", f"127.0.0.1:{HTTP[server.name]}"]

    bolt.compare(options, folder, servers, client, ask)


if __name__ == "__main__":
    bolt.within(bolt.arguments(__doc__).parse_args(), over_http)
