"""Results of statements."""

# mypy: ignore-errors

import collections
import warnings

import telar

from . import exceptions
from ._graph import Graph
from ._record import Record

_COUNTERS = (
    "nodes_created nodes_deleted relationships_created relationships_deleted properties_set labels_added "
    "labels_removed indexes_added indexes_removed constraints_added constraints_removed system_updates"
).split()
_KINDS = {"read": "r", "write": "w", "read write": "rw", "schema": "s"}

EagerResult = collections.namedtuple("EagerResult", ("records", "summary", "keys"))
EagerResult.__doc__ = "All of a result."


class SummaryCounters:
    """Counts of changes."""

    def __init__(self, counters):
        for name in _COUNTERS:
            setattr(self, name, counters.get(name, 0))

    @property
    def contains_updates(self):
        """True if the graph or its schema was changed."""
        return any(getattr(self, name) for name in _COUNTERS[:-1])

    @property
    def contains_system_updates(self):
        """True if users or databases were changed."""
        return bool(self.system_updates)

    def __repr__(self):
        return repr({name: getattr(self, name) for name in _COUNTERS if getattr(self, name)})


class ResultSummary:
    """Facts about a statement beside its rows."""

    def __init__(self, result, query, parameters, database):
        self.query, self.parameters, self.database = query, parameters, database
        self.counters = SummaryCounters(result.counters)
        self.query_type = _KINDS[result.kind]
        self.plan = self.profile = None
        self.plan_text = result.plan
        self.notifications = [{"description": text, "severity": "WARNING"} for text in result.notifications] or None
        self.summary_notifications = []
        self.result_available_after = self.result_consumed_after = 0
        self.server = ServerInfo()


class ServerInfo:
    """Description in place of a server's."""

    address = ("telar", 0)
    agent = f"Telar/{telar.__version__}"
    protocol_version = (5, 8)
    connection_id = "telar"


class Result:
    """The rows of a statement, each of which is read once."""

    def __init__(self, result, query, parameters, database):
        self._graph = Graph()
        self._keys = tuple(result.columns)
        self._rows = collections.deque(result.tuples())
        self._summary = ResultSummary(result, query, parameters, database)
        self._over = None

    def _end(self, why):
        """Nothing more can be read."""
        self._over = self._over or why

    def _check(self):
        if self._over:
            raise exceptions.ResultConsumedError(self, self._over)

    def _take(self):
        return Record(zip(self._keys, map(self._graph.value, self._rows.popleft())))

    def keys(self):
        """Names of the columns."""
        return list(self._keys)

    def closed(self):
        """True if nothing more can be read."""
        return bool(self._over)

    def __iter__(self):
        self._check()
        while self._rows:
            yield self._take()
            self._check()

    def __next__(self):
        self._check()
        if not self._rows:
            raise StopIteration
        return self._take()

    def peek(self):
        """The next row, which stays; None after the last."""
        self._check()
        return Record(zip(self._keys, map(self._graph.value, self._rows[0]))) if self._rows else None

    def single(self, strict=False):
        """The only row."""
        self._check()
        count = len(self._rows)
        if strict and count != 1:
            self._rows.clear()
            text = f"Expected a result with a single record, but found {'multiple' if count else 'none'}."
            raise exceptions.ResultNotSingleError(self, text)
        if count > 1:
            warnings.warn("Expected a result with a single record, but found multiple.", stacklevel=2)
        first = self._take() if count else None
        self._rows.clear()
        return first

    def fetch(self, n):
        """Up to so many rows."""
        self._check()
        return [self._take() for _ in range(min(n, len(self._rows)))]

    def consume(self):
        """Gives up what is left, and returns the summary."""
        self._rows.clear()
        self._end("The result has been consumed. Fetch all needed records before calling Result.consume().")
        return self._summary

    def value(self, key=0, default=None):
        """One value of each row."""
        return [record.value(key, default) for record in self]

    def values(self, *keys):
        """The values of each row."""
        return [record.values(*keys) for record in self]

    def data(self, *keys):
        """Each row as a dict, without identities."""
        return [record.data(*keys) for record in self]

    def graph(self):
        """All nodes and relationships of what is left."""
        for _ in self:
            pass
        return self._graph

    def to_eager_result(self):
        """All rows, with the summary and the names."""
        records = list(self)
        return EagerResult(records, self.consume(), list(self._keys))

    def to_df(self, expand=False, parse_dates=False):
        """The rows as a ``pandas.DataFrame``."""
        import pandas

        if expand:
            raise NotImplementedError("to_df(expand=True) is not here: return the properties that you want")
        frame = pandas.DataFrame(self.values(), columns=list(self._keys))
        if parse_dates:
            for name in frame.columns:
                values = frame[name].dropna()
                if len(values) and all(hasattr(value, "to_native") and hasattr(value, "year") for value in values):
                    frame[name] = frame[name].map(lambda value: value.to_native() if value is not None else None)
                    frame[name] = pandas.to_datetime(frame[name])
        return frame

    def __repr__(self):
        return f"<telar.neo4j.Result of {', '.join(self._keys)}>"


def failing(work, *arguments):
    """Does something, with errors as the driver has them."""
    try:
        return work(*arguments)
    except telar.Error as error:
        raise exceptions.of_telar(error) from error
