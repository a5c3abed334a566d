"""Records what each case sends through the driver for Python, what it gets, and the graph that it leaves.

case.py switches this on where FRAMEWORKS_RECORD names a folder; compare.py reads two such folders. A case is one file
of JSON lines: the case, its statements in the order they were sent, then the nodes, relationships, indexes and
constraints. Private parts of the driver are wrapped, as they are the only place that every statement passes; versions of
the driver are pinned.
"""

import datetime
import json
import math
import os
import re
import threading
import time
from pathlib import Path

import neo4j
from neo4j._async.work.result import AsyncResult
from neo4j._sync.work.result import Result
from neo4j.graph import Node, Path as GraphPath, Relationship

FOLDER = os.environ.get("FRAMEWORKS_RECORD")
URI, AUTH = f"bolt://{os.environ['FRAMEWORKS_BOLT']}", ("neo4j", os.environ.get("FRAMEWORKS_PASSWORD", "password"))
# The statements of the case that runs; None between cases.
statements = None

# A ranking by a score that is not returned.
RANKING = re.compile(r"(?is)^(.*\breturn\b(?:(?!\breturn\b).)*?)(\s+order by\s+(\w*score|\w*similarity)\b.*)$")
RETURNED = re.compile(r"(?is)\breturn\b.*(score|similarity)\b")
WRITES = re.compile(r"(?i)\b(create|merge|set|delete|remove|foreach|drop|load)\b")
# Marks threads that ask beside the framework.
beside = threading.local()
# Not recorded.
AWAIT = "CALL db.awaitIndexes(60)"
DUMP = {
    "node": "MATCH (n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties",
    "relationship": "MATCH (a)-[r]->(b) RETURN elementId(r) AS id, type(r) AS type, elementId(a) AS start, "
                    "elementId(b) AS end, properties(r) AS properties",
    "index": "SHOW INDEXES YIELD name, type, entityType, labelsOrTypes AS of, properties, state, options "
             "WHERE type <> 'LOOKUP' RETURN name, type, entityType, of, properties, state, "
             "options.indexConfig['fulltext.analyzer'] AS analyzer, "
             "options.indexConfig['fulltext.eventually_consistent'] AS eventually_consistent, "
             "options.indexConfig['vector.dimensions'] AS dimensions, "
             "options.indexConfig['vector.similarity_function'] AS similarity",
    "constraint": "SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes AS of, properties "
                  "RETURN name, type, entityType, of, properties",
}


def encoded(value):
    """`value` as JSON; what JSON lacks is a map with the name of its type under `$`."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$": "float", "value": str(value)}
    if isinstance(value, Node):
        return {"$": "node", "id": value.element_id, "labels": sorted(value.labels),
                "properties": encoded(dict(value))}
    if isinstance(value, Relationship):
        start, end = (node.element_id for node in value.nodes)
        return {"$": "relationship", "id": value.element_id, "type": value.type, "start": start, "end": end,
                "properties": encoded(dict(value))}
    if isinstance(value, GraphPath):
        return {"$": "path", "nodes": encoded(list(value.nodes)),
                "relationships": encoded(list(value.relationships))}
    if isinstance(value, dict):
        return {str(key): encoded(part) for key, part in value.items()}
    if hasattr(value, "srid"):  # A point is a tuple.
        return {"$": "point", "srid": value.srid, "value": list(map(float, value))}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encoded(part) for part in value]
    if isinstance(value, (bytes, bytearray)):
        return {"$": "bytes", "value": bytes(value).hex()}
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return {"$": type(value).__name__.lower(), "value": value.isoformat()}
    if hasattr(value, "iso_format"):
        return {"$": type(value).__name__.lower(), "value": value.iso_format()}
    if hasattr(value, "raw_data"):  # A time in a zone that this machine does not know: seconds, nanoseconds, zone.
        seconds, _, zone = value.raw_data.fields
        at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        return {"$": "datetime", "value": f"{at.isoformat()}[{zone}]"}
    if hasattr(value, "tolist"):  # Of NumPy.
        return encoded(value.tolist())
    return {"$": type(value).__name__, "value": str(value)}


class Noting:
    """A connection as a result sees it, that notes rows, counters and failures of one statement."""

    def __init__(self, connection, entry):
        self.__dict__.update(connection=connection, entry=entry)

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def __setattr__(self, name, value):
        setattr(self.connection, name, value)

    def _noted(self, settings, *names):
        for name in names:
            settings[name] = self._beside(settings[name], getattr(self, f"_{name}"))
        return settings

    @staticmethod
    def _beside(told, note):
        def both(value, *rest):
            note(value)
            return told(value, *rest)  # Of the asynchronous driver some are coroutines.
        return both

    def _on_records(self, records):
        self.entry["rows"].extend([encoded(value) for value in row] for row in records)

    def _on_success(self, metadata):
        if "fields" in metadata:
            self.entry["columns"] = list(metadata["fields"])
        if not metadata.get("has_more"):
            self.entry["counters"] = dict(metadata.get("stats") or {})

    def _on_failure(self, metadata):
        self.entry["failure"] = metadata.get("neo4j_code") or metadata.get("code")

    def run(self, *arguments, **settings):
        return self.connection.run(*arguments, **self._noted(settings, "on_success", "on_failure"))

    def pull(self, *arguments, **settings):
        return self.connection.pull(*arguments, **self._noted(settings, "on_records", "on_success", "on_failure"))

    def discard(self, *arguments, **settings):
        return self.connection.discard(*arguments, **self._noted(settings, "on_success", "on_failure"))


def install():
    """Wraps the step with which results of both drivers begin."""
    for result in (Result, AsyncResult):
        def _run(self, query, parameters, *rest, began=result._run):
            if statements is not None and query != AWAIT and not getattr(beside, "asks", False):
                ask_scores(str(query), parameters or {})
                entry = {"kind": "statement", "text": str(query), "parameters": encoded(parameters or {}),
                         "columns": [], "rows": [], "counters": {}, "failure": None}
                statements.append(entry)
                self._connection = Noting(self._connection, entry)
            return began(self, query, parameters, *rest)
        result._run = _run


def ask_scores(query, parameters):
    """Asks for a ranking with its scores, beside the framework that asks for it without."""
    ranking = RANKING.match(query)
    if not ranking or RETURNED.search(ranking[1]) or WRITES.search(query):
        return
    entry = {"kind": "statement", "text": f"{ranking[1]}, {ranking[3]} AS score_beside{ranking[2]}",
             "parameters": encoded(parameters), "columns": [], "rows": [], "counters": {}, "failure": None}
    beside.asks = True
    try:
        with neo4j.GraphDatabase.driver(URI, auth=AUTH) as driver:
            records, _, entry["columns"] = driver.execute_query(entry["text"], parameters, database_="neo4j",
                                                                routing_="r")
        # Not as a record iterates: that raises for a time in a zone that is not known.
        entry["rows"] = [[encoded(value) for value in tuple.__iter__(row)] for row in records]
    except neo4j.exceptions.Neo4jError as error:
        entry["failure"] = error.code
    finally:
        beside.asks = False
    statements.append(entry)


def begin():
    """Starts a case."""
    global statements
    statements = []
    return time.time()


def end(framework, case, started):
    """Ends a case: dumps the graph, and writes the file."""
    global statements
    sent, statements = statements, None
    lines = [{"kind": "case", "framework": framework, "case": case, "started": started, "ended": time.time()}, *sent]
    with neo4j.GraphDatabase.driver(URI, auth=AUTH) as driver:
        driver.execute_query(AWAIT, database_="neo4j")
        for kind, query in DUMP.items():
            for row in driver.execute_query(query, database_="neo4j").records:
                lines.append({"kind": kind, **encoded(row.data())})
    folder = Path(FOLDER, framework)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{case}.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


if FOLDER:
    install()
