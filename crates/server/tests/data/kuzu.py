"""Writes the folders kuzu-csv and kuzu-parquet into the current one with the real thing.

    python kuzu.py

With kuzu 0.11 of PyPI. With ladybug 0.22, which writes Parquet only, and only types with one pair of
labels, it writes the folder ladybug.
"""

import importlib
import shutil
import sys

name = sys.argv[1] if len(sys.argv) > 1 else "kuzu"
program = importlib.import_module(name)
STATEMENTS = [
    """CREATE NODE TABLE Person(id INT64, name STRING, born DATE, score DOUBLE, ok BOOLEAN,
    tags STRING[], at TIMESTAMP, span INTERVAL, big UINT64, u UUID, m MAP(STRING, INT64),
    s STRUCT(a INT64, b STRING), PRIMARY KEY(id))""",
    # A column of the type SERIAL cannot be read from Parquet: its type there is none of Parquet's.
    "CREATE NODE TABLE City(name STRING, pop INT32, PRIMARY KEY(name))",
    "CREATE REL TABLE Knows(FROM Person TO Person, since INT64)",
    "CREATE REL TABLE LivesIn(FROM Person TO City, FROM Person TO Person, note STRING)",
    """CREATE (:Person {id: 1, name: 'Ada, "q"\nline', born: date('1815-12-10'), score: 0.5,
    ok: true, tags: ['a','b, c'], at: timestamp('2024-02-29 13:05:00.5'),
    span: interval('1 year 2 days 3 hours'), big: 9007199254740993,
    u: uuid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), m: map(['x'],[1]), s: {a: 1, b: 'z'}})""",
    "CREATE (:Person {id: 2, name: 'Bob'})",
    "CREATE (:City {name: 'Ulm', pop: 7})",
    "MATCH (a:Person {id: 1}), (b:Person {id: 2}) CREATE (a)-[:Knows {since: 1840}]->(b)",
    "MATCH (a:Person {id: 1}), (b:City) CREATE (a)-[:LivesIn {note: 'x;y'}]->(b)",
    "MATCH (a:Person {id: 2}), (b:Person {id: 1}) CREATE (a)-[:LivesIn]->(b)",
]
if name == "ladybug":
    STATEMENTS = [text.replace(", FROM Person TO Person, note", ", note") for text in STATEMENTS[:-1]]
    FORMS = [("ladybug", "format='parquet'")]
else:
    FORMS = [("kuzu-csv", "format='csv', header=true"), ("kuzu-parquet", "format='parquet'")]
for form, options in FORMS:
    shutil.rmtree(form, ignore_errors=True)
    connection = program.Connection(program.Database(":memory:"))
    for statement in STATEMENTS:
        if form != "kuzu-csv":
            # Intervals cannot be read from Parquet.
            statement = statement.replace("span INTERVAL, ", "")
            statement = statement.replace("span: interval('1 year 2 days 3 hours'), ", "")
        connection.execute(statement)
    connection.execute(f"EXPORT DATABASE '{form}' ({options})")
