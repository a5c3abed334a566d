"""What schemathesis has to be told of the HTTP interface, beside its OpenAPI document."""

import json

import schemathesis

STATEMENTS = [
    "RETURN 1 AS one, 'two' AS two, [3.0, null] AS three",
    "CREATE (n:Person {name: 'Ada'})-[r:KNOWS]->(m) RETURN n, r, m",
    "MATCH p = (n)-[r]->(m) RETURN p LIMIT 10",
    "MATCH (n:Nowhere) RETURN n.nothing AS nothing",
    "UNWIND range(1, 5000) AS x RETURN x, x / 2.0 AS half, date({year: 2000 + x % 9}) AS day",
    "UNWIND range(1, 200000) AS x RETURN 10 / (150000 - x)",
    "EXPLAIN MATCH (n) RETURN n",
    "PROFILE UNWIND [1, 2] AS x RETURN x",
    "MATCH (n:Person) SET n.seen = coalesce(n.seen, 0) + 1",
    "MATCH (n) DETACH DELETE n",
    "RETURN 1 / 0",
]


@schemathesis.hook
def map_body(context, body):
    """For the document a statement is any text; half of them are Cypher."""
    if isinstance(body, dict):
        text = body.get("statement")
        if isinstance(text, str) and text.strip() and len(text) % 2:
            body["statement"] = STATEMENTS[sum(text.encode(errors="replace")) % len(STATEMENTS)]
    return body


@schemathesis.deserializer(
    "application/vnd.neo4j.query",
    "application/vnd.neo4j.query.v1.0",
    "application/vnd.neo4j.query.v1.1",
)
def typed(context, response):
    """Typed JSON is JSON."""
    return json.loads(response.content)


@schemathesis.deserializer(
    "application/jsonl",
    "application/vnd.neo4j.query.v1.0+jsonl",
    "application/vnd.neo4j.query.v1.1+jsonl",
)
def lines(context, response):
    """One line is what it is, such as an error; more are a text."""
    found = response.content.decode().splitlines()
    values = [json.loads(line) for line in found]
    return values[0] if len(values) == 1 and response.status_code >= 400 else response.text
