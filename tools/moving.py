"""Moving from Neo4j 5.26 to Telar and back, with the real thing.

    target/drivers/python/bin/python tools/moving.py target/release/telar

Starts Neo4j as bench/compare/neo4j.sh does, fills it with values of every type that a property can
have, and imports it over Bolt. What Telar serves then is compared with what Neo4j has, by Neo4j's own
driver. Then Telar's export as a script of Cypher runs in Neo4j, emptied, and is compared once more.
Ends with 1 if there is a difference.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import neo4j

ROOT = pathlib.Path(__file__).resolve().parents[1]
PORT = 17761
PASSWORD = "nobody sees it"
FILL = [
    "CREATE CONSTRAINT person_id FOR (p:Person) REQUIRE p.id IS UNIQUE",
    "CREATE INDEX name_idx FOR (p:Person) ON (p.name)",
    "CREATE TEXT INDEX text_idx FOR (p:Person) ON (p.name)",
    "CREATE POINT INDEX point_idx FOR (p:Place) ON (p.at)",
    "CREATE FULLTEXT INDEX full_idx FOR (p:Person) ON EACH [p.name]",
    "CREATE INDEX since_idx FOR ()-[k:KNOWS]-() ON (k.since)",
    """CREATE (a:Person:Author {id: 1, name: 'Ada "q" \\'x\\' \\n', born: date('1815-12-10'), score: 0.5,
    ok: true, big: 9223372036854775807, least: -9223372036854775808, tags: ['math', 'poetry'], nums: [1, 2],
    reals: [1.5, 2.0], none: [], t: time('12:00:00+01:00'), lt: localtime('01:02:03.000000004'),
    ldt: localdatetime('2024-02-29T13:05:00'), dt: datetime('2024-02-29T13:05:00[Europe/Berlin]'),
    odt: datetime('2024-02-29T13:05:00+05:30'), d: duration('P1Y2M3DT4H5M6.007S'),
    days: [date('2000-01-01'), date('2000-01-02')], inf: 1.0 / 0.0, bytes_of_text: 'ä€😀'})
    CREATE (b:Person {id: 2, name: 'Bob'})
    CREATE (p:Place:`odd name` {at: point({longitude: 8.4, latitude: 49.0}), pt3: point({x: 1, y: 2, z: 3})})
    CREATE (a)-[:KNOWS {since: date('1840-01-01'), w: 2.5}]->(b) CREATE (a)-[:KNOWS]->(b)
    CREATE (b)-[:`LIVES IN`]->(p) CREATE (b)-[:KNOWS]->(b) CREATE ({odd: 'no label'})""",
    "UNWIND range(10, 20000) AS n CREATE (:Person {id: n, name: 'p' + n})-[:AT {n: n}]->(:Spot {n: n})",
]
ALL = """MATCH (n) OPTIONAL MATCH (n)-[r]->(m)
RETURN labels(n) AS l, properties(n) AS p, type(r) AS t, properties(r) AS q, properties(m) AS m"""
RULES = """SHOW INDEXES YIELD type, entityType, labelsOrTypes, properties, owningConstraint AS o
WHERE NOT type IN ['LOOKUP', 'FULLTEXT'] RETURN type, entityType, labelsOrTypes, properties, o"""


def all_of(session):
    def plain(value):
        if isinstance(value, dict):
            return sorted((key, plain(element)) for key, element in value.items())
        return value.iso_format() if hasattr(value, "iso_format") else repr(value)

    rows = [[sorted(r["l"]), plain(r["p"]), r["t"], plain(r["q"]), plain(r["m"])] for r in session.run(ALL)]
    return sorted(map(repr, rows)), sorted(map(repr, session.run(RULES).values()))


def compare(what, one, other):
    names = ("rows", "indexes")
    same = [left == right for left, right in zip(one, other)]
    print(what, ", ".join(f"{len(left)} {name} {'equal' if ok else 'DIFFER'}"
                          for left, name, ok in zip(one, names, same)))
    for left, right in zip(one, other):
        print(*[f"- {row}" for row in left if row not in right][:5], sep="\n", end="")
        print(*[f"+ {row}" for row in right if row not in left][:5], sep="\n", end="")
    return all(same)


def served(telar, database, query):
    """Answer of `query(session)` on a database that Telar serves."""
    log = pathlib.Path(database).with_suffix(".log")
    with open(log, "w", encoding="utf-8") as out:
        server = subprocess.Popen([telar, "serve", database, "--no-auth", "--no-http", "--bolt", "127.0.0.1:0"],
                                  stdout=out, stderr=out)
    try:
        while "bolt://" not in (text := log.read_text("utf-8")):
            if server.poll() is not None:
                raise SystemExit(f"telar serve ended: {text}")
            time.sleep(0.01)
        address = text.split("bolt://")[1].split()[0]
        with neo4j.GraphDatabase.driver(f"bolt://{address}") as driver, driver.session() as session:
            return query(session)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("telar", type=os.path.realpath)
    telar = parser.parse_args().telar
    script = ROOT / "bench" / "compare" / "neo4j.sh"
    with tempfile.TemporaryDirectory() as folder:
        store, database = os.path.join(folder, "neo4j"), os.path.join(folder, "moved.telar")
        subprocess.run([script, "start", store, str(PORT), PASSWORD], check=True)
        try:
            address = f"bolt://127.0.0.1:{PORT}"
            with neo4j.GraphDatabase.driver(address, auth=("neo4j", PASSWORD)) as driver, driver.session() as session:
                for statement in FILL:
                    session.run(statement).consume()
                before = all_of(session)
                subprocess.run([telar, "import", database, f"bolt://neo4j@127.0.0.1:{PORT}"],
                               env={**os.environ, "TELAR_PASSWORD": PASSWORD}, check=True)
                same = compare("over Bolt:", before, served(telar, database, all_of))
                cypher = os.path.join(folder, "moved.cypher")
                subprocess.run([telar, "export", database, cypher], check=True)
                session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS").consume()
                for kind, rules in ("CONSTRAINT", "SHOW CONSTRAINTS"), ("INDEX", "SHOW INDEXES"):
                    names = session.run(f"{rules} YIELD name, type WHERE type <> 'LOOKUP' RETURN name").value()
                    for name in names:
                        session.run(f"DROP {kind} `{name}`").consume()
                text = pathlib.Path(cypher).read_text("utf-8")
                for statement in re.split(r";\n", text):
                    if statement.strip():
                        session.run(statement).consume()
                same &= compare("as a script:", before, all_of(session))
        finally:
            subprocess.run([script, "stop", store], check=True)
    sys.exit(not same)


if __name__ == "__main__":
    main()
