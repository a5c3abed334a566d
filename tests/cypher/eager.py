#!/usr/bin/env python3
"""Compares statements that read what they write, each over many rows: Telar against Neo4j.

    eager.py --neo4j bolt://127.0.0.1:17687 --telar bolt://127.0.0.1:27687 [--rows 1100] [SHAPE]...

Every pair of a clause that writes and an expression that reads, in each shape: one before the other, in
subqueries, as a condition. With more rows than a batch has (1,024), an answer that hangs on batches shows.
Needs servers whose data may be deleted. Prints what differs; ends with 1 if anything does.

Known differences: Neo4j's OPTIONAL MATCH from a node that the statement has deleted returns no row, and it
may read a property of such a node where Telar, in another order, does not get that far.
"""

import argparse
import itertools
import sys

import neo4j

GRAPH = [
    "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS",
    "UNWIND range(1, $rows) AS i CREATE (:N {id: i, g: i % 5})",
    "MATCH (n:N) WHERE n.id % 3 = 0 SET n:X",
    "MATCH (n:N), (m:N) WHERE m.id = n.id + 1 AND n.id % 2 = 0 CREATE (n)-[:T {w: n.id % 4}]->(m)",
]
READS = {
    "count": "COUNT { (:X) }",
    "count of a group": "COUNT { (:X {g: n.g}) }",
    "exists": "EXISTS { (:X {g: 7}) }",
    "collect": "size(COLLECT { MATCH (q:X) WHERE q.g = 7 RETURN q.id })",
    "comprehension": "size([(n)-[:T]->(m) | m])",
    "comprehension over all": "size([(q:X)-[:T]->() | 1])",
    "pattern": "exists((n)-[:T]-())",
    "degree": "COUNT { (n)--() }",
    "properties of relationships": "reduce(s = 0, w IN [(n)-[t:T]->() | t.w] | s + w)",
    "property": "n.g",
    "label": "n:X",
    "labels": "size(labels(n))",
    "keys": "size(keys(n))",
}
WRITES = {
    "create": "CREATE (:X {g: i % 5})",
    "create others": "CREATE (:X {g: 7})",
    "merge": "MERGE (z:X {g: i % 7})",
    "merge and set": "MERGE (z:X {g: i % 7}) ON CREATE SET z.c = 1 ON MATCH SET z.c = z.c + 1",
    "set label": "SET n:X",
    "remove label": "REMOVE n:X",
    "set": "SET n.g = 7",
    "set from itself": "SET n.g = n.g + 1",
    "set map": "SET n += {g: 7, h: 1}",
    "remove": "REMOVE n.g",
    "relationship": "CREATE (n)-[:T {w: 1}]->(n)",
    "relationship and node": "CREATE (n)-[:T {w: 1}]->(:X)",
    "merge relationship": "MERGE (n)-[:T]->(n)",
    "foreach create": "FOREACH (k IN [1, 2] | CREATE (:X {g: 7}))",
    "foreach set": "FOREACH (k IN [1] | SET n.g = 7 SET n:X)",
    "delete relationships": "WITH * OPTIONAL MATCH (n)-[t:T]->() DELETE t",
    "set others": "WITH * MATCH (q:X) WHERE q.g = n.g AND q.id <= 20 SET q.g = 7",
}
# After a deletion, nothing of what may be gone is read.
DELETES = {"delete nodes": "WITH * OPTIONAL MATCH (q:X {id: i}) DETACH DELETE q"}
OF_NO_NODE = ("count", "exists", "collect", "comprehension over all")
ROWS = "UNWIND range(1, $rows) AS i MATCH (n:N {id: i})"
READ = "count({r}) AS c, count(DISTINCT {r}) AS d, min({r}) AS a, max({r}) AS b"
VALUE = "count(v) AS c, count(DISTINCT v) AS d, min(v) AS a, max(v) AS b"
SHAPES = {
    "write, read": f"{ROWS} {{w}} WITH i, n RETURN {READ}",
    "read, write": f"{ROWS} WITH i, n, {{r}} AS v {{w}} RETURN {VALUE}",
    "scan, write, read": f"MATCH (n:N) WITH n.id AS i, n {{w}} RETURN {READ}",
    "write in a subquery": f"{ROWS} CALL (i, n) {{{{ {{w}} }}}} RETURN {READ}",
    "read in a subquery": f"{ROWS} {{w}} WITH i, n CALL (n) {{{{ RETURN {{r}} AS v }}}} RETURN {VALUE}",
    "condition": f"{ROWS} {{w}} WITH i, n WHERE coalesce(toInteger(toString({{r}})), 0) % 2 = 0 RETURN count(*) AS c",
    "write, read, write": f"{ROWS} {{w}} WITH i, n SET n.v = {{r}} RETURN count(DISTINCT n.v) AS d, min(n.v) AS a",
    "match": f"{ROWS} {{w}} WITH i, n MATCH (y:X) WHERE y.g = n.g AND y.id < 30 RETURN count(*) AS c",
    "optional match": f"{ROWS} {{w}} WITH i, n OPTIONAL MATCH (n)-[t:T]->(y) RETURN count(*) AS c, sum(t.w) AS s",
}


def ask(driver, statement, rows):
    with driver.session() as session:
        for step in GRAPH:
            session.run(step, rows=rows).consume()
        try:
            result = session.run(neo4j.Query(statement, timeout=60), rows=rows)
            answer = [record.values() for record in result]
            counters = vars(result.consume().counters)
        except neo4j.exceptions.Neo4jError as error:
            return error.code
        return answer, {k: v for k, v in counters.items() if v and not k.startswith("_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--neo4j", required=True)
    parser.add_argument("--telar", required=True)
    parser.add_argument("--rows", type=int, default=1100)
    parser.add_argument("shapes", nargs="*", default=[], help=", ".join(SHAPES))
    options = parser.parse_args()
    drivers = [neo4j.GraphDatabase.driver(address, notifications_min_severity="OFF")
               for address in (options.neo4j, options.telar)]
    asked = differ = 0
    for name in options.shapes or SHAPES:
        shape = SHAPES[name]
        reads = READS if "{r}" in shape else {"": ""}
        for (what, write), (of, read) in itertools.product((WRITES | DELETES).items(), reads.items()):
            if what in DELETES and of not in OF_NO_NODE:
                continue
            statement = shape.format(w=write, r=read)
            neo, telar = (ask(driver, statement, options.rows) for driver in drivers)
            asked += 1
            if neo != telar:
                differ += 1
                print(f"{name}: {what}, {of}\n    {statement}\n    neo4j: {neo}\n    telar: {telar}", flush=True)
        print(f"{name}: {asked} asked, {differ} differ so far", file=sys.stderr)
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
