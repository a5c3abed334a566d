"""Programs written for the ``neo4j`` driver on a database in this process.

>>> from telar.neo4j import GraphDatabase
>>> with GraphDatabase.driver("telar://") as driver:
...     with driver.session() as session:
...         session.run("CREATE (:Person {name: $name})", name="Ada").consume().counters.nodes_created
...         session.run("MATCH (p:Person) RETURN p.name AS name").single()["name"]
1
'Ada'

``telar:///path/of/the.telar`` is a database in a folder, ``telar://`` one in memory. Other addresses go to
the package ``neo4j``, if it is installed; then its exceptions, and its dates, times, durations and
points, are those of this module, too. ``register()`` makes ``neo4j.GraphDatabase`` itself take such
addresses, so that a program changes nothing but its address.
"""

# mypy: ignore-errors

from . import exceptions
from ._driver import Driver, GraphDatabase, register
from ._graph import Graph, Node, Path, Relationship
from ._record import Record
from ._result import EagerResult, Result, ResultSummary, SummaryCounters
from ._session import READ_ACCESS, WRITE_ACCESS, ManagedTransaction, Query, Session, Transaction, unit_of_work

__all__ = [
    "READ_ACCESS",
    "WRITE_ACCESS",
    "Driver",
    "EagerResult",
    "Graph",
    "GraphDatabase",
    "ManagedTransaction",
    "Node",
    "Path",
    "Query",
    "Record",
    "Relationship",
    "Result",
    "ResultSummary",
    "Session",
    "SummaryCounters",
    "Transaction",
    "exceptions",
    "register",
    "unit_of_work",
]
