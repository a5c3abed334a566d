"""How long the first row of a large result takes, beside a point read.

    python first_row.py TELAR [--nodes N] [--rounds N]

Starts `TELAR serve`, makes N nodes in a chain, with an index, and asks for one row of each of several
queries that could have N, in turns with a point read by that index. Prints medians of the round trips, and
their shares of the point read's. What has to hold: each answer is one row, and the right one where only one
can be.
"""

import argparse
import os
import statistics
import tempfile
import time

import neo4j

from load import Telar

POINT = "MATCH (n:Node {id: $id}) RETURN n.name"
QUERIES = {
    "nodes of a label": "MATCH (n:Node) RETURN n.name LIMIT 1",
    "all nodes": "MATCH (n) RETURN n.name LIMIT 1",
    "nodes that a condition leaves": "MATCH (n:Node) WHERE n.id % 2 = 1 RETURN n.name LIMIT 1",
    "relationships": "MATCH (a:Node)-[r:NEXT]->(b) RETURN b.name LIMIT 1",
    "paths": "MATCH (a:Node)-[:NEXT*1..3]->(b) RETURN b.name LIMIT 1",
    "rows of a list": "UNWIND range(1, $nodes) AS i RETURN toString(i) LIMIT 1",
    "each with a subquery": "MATCH (a:Node) CALL (a) { MATCH (a)-[:NEXT]->(b) RETURN b } RETURN b.name LIMIT 1",
    "different ones": "MATCH (n:Node) RETURN DISTINCT n.name LIMIT 1",
    "in order of the index": "MATCH (n:Node) WHERE n.id >= 0 RETURN n.name ORDER BY n.id LIMIT 1",
    "one of a union": "CALL () { MATCH (n:Node) RETURN n UNION ALL MATCH (n:Node) RETURN n } RETURN n.name LIMIT 1",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("telar")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="telar-first-row-") as folder:
        server = Telar(options.telar, os.path.join(folder, "store"))
        server.start()
        try:
            measure(server, options)
        finally:
            server.kill()


def measure(server, options):
    nodes = options.nodes
    with neo4j.GraphDatabase.driver(server.uri) as driver, driver.session() as session:
        session.run("CREATE INDEX FOR (n:Node) ON (n.id)").consume()
        session.run("UNWIND range(0, $nodes - 1) AS i CREATE (:Node {id: i, name: 'node ' + i})", nodes=nodes).consume()
        session.run("MATCH (a:Node), (b:Node {id: a.id + 1}) CREATE (a)-[:NEXT]->(b)").consume()
        session.run("CALL db.awaitIndexes()").consume()

        def trip(query):
            begin = time.perf_counter()
            rows = [record[0] for record in session.run(query, id=nodes // 2, nodes=nodes)]
            took = time.perf_counter() - begin
            assert len(rows) == 1, (query, rows)
            if query == POINT:
                assert rows == [f"node {nodes // 2}"], rows
            return took

        for query in [POINT, *QUERIES.values()] * 20:
            trip(query)
        print(f"{'one row of ' + str(nodes):32} {'ms':>8} {'point read, ms':>16} {'share':>7}")
        for name, query in QUERIES.items():
            pairs = [(trip(query), trip(POINT)) for _ in range(options.rounds)]
            of_query, of_point = (statistics.median(times) * 1000 for times in zip(*pairs))
            print(f"{name:32} {of_query:8.3f} {of_point:16.3f} {of_query / of_point:7.2f}", flush=True)


if __name__ == "__main__":
    main()
