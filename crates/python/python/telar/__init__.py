"""Telar: a transactional property graph database with openCypher, in your process.

>>> import telar
>>> db = telar.open()
>>> _ = db.query("CREATE (:Person {name: 'Ada', born: 1815})")
>>> db.query("MATCH (p:Person) RETURN p.name AS name, p.born AS born").dicts()
[{'name': 'Ada', 'born': 1815}]

``telar.open("social.telar")`` keeps the database in a folder. What a statement returns is a sequence
of rows, and becomes a frame: ``to_arrow()``, ``to_polars()``, ``to_pandas()``, ``to_numpy()``,
``to_networkx()``.
"""

import atexit as _atexit
import os as _os

from . import _telar
from ._algorithms import Algorithms
from ._graphs import from_networkx
from ._programs import Vertex
from ._telar import (
    ClosedError,
    ConflictError,
    ConstraintError,
    CypherSyntaxError,
    Database,
    Duration,
    Error,
    ForkedError,
    InterruptedError,
    Load,
    LockedError,
    MemoryLimitError,
    Node,
    Path,
    Point,
    ReadOnlyError,
    Relationship,
    Result,
    ResultLostError,
    Row,
    Session,
    StatementError,
    StorageError,
    Stream,
    Temporal,
    TimeLimitError,
    Token,
    Transaction,
    UnknownOutcomeError,
    Vector,
    __version__,
    open,
)

__all__ = [
    "Algorithms",
    "ClosedError",
    "ConflictError",
    "ConstraintError",
    "CypherSyntaxError",
    "Database",
    "Duration",
    "Error",
    "ForkedError",
    "InterruptedError",
    "Load",
    "LockedError",
    "MemoryLimitError",
    "Node",
    "Path",
    "Point",
    "ReadOnlyError",
    "Relationship",
    "Result",
    "ResultLostError",
    "Row",
    "Session",
    "StatementError",
    "StorageError",
    "Stream",
    "Temporal",
    "TimeLimitError",
    "Token",
    "Transaction",
    "UnknownOutcomeError",
    "Vector",
    "Vertex",
    "__version__",
    "from_networkx",
    "open",
]


def _point(coordinates, srid):
    """A point that was pickled."""
    return Point(*coordinates, srid=srid)


# A child of this process must not use what its parent has opened, and the end of the program closes
# what is open.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(
        before=_telar.forking, after_in_parent=_telar.went_on, after_in_child=_telar.forked
    )
_atexit.register(_telar.close_all)
