"""The graph of a vertex program: read at one snapshot, as the algorithms of the engine choose it."""

import numpy

from ._telar import ConflictError, InterruptedError

ORIENTATIONS = ("NATURAL", "REVERSE", "UNDIRECTED")
# How often the graph is read, if the process that has the database ends meanwhile.
TRIES = 3


class Lists:
    """Nodes, and the relationships that messages go along, by their positions among the nodes.

    ``names`` are what the program calls the nodes, as an array; ``list`` the same as values. ``source``,
    ``target`` and ``weight`` (None without one) are in the order of one of the ends.
    """

    def __init__(self, session, graph, key, order):
        self._token = getattr(session, "token", None)
        for left in reversed(range(TRIES)):
            try:
                # The transaction makes both reads see one snapshot; it has nothing to commit.
                with session.transaction() as tx:
                    ends = self._read(tx, graph, key)
                break
            except ConflictError:
                # Another process takes over from the one that had the database.
                if not left:
                    raise
        self.source, self.target = (_joined(ends, end) for end in (0, 1))
        self.weight = _joined(ends, 2) if "pairs" in graph or "weight" in graph else None
        by = numpy.argsort(self.source if order == "source" else self.target, kind="stable")
        self.source, self.target = self.source[by], self.target[by]
        if self.weight is not None:
            self.weight = self.weight[by]
            self.weight.flags.writeable = False
        self.degrees = numpy.bincount(self.source, minlength=self.count)
        self.degrees.flags.writeable = False

    def check(self):
        """Ends a program whose task was cancelled."""
        if self._token is not None and self._token.cancelled:
            raise InterruptedError("the vertex program was cancelled")

    def _read(self, tx, graph, key):
        # Whether labels, types, properties and orientations are those of the database.
        known = {name: value for name, value in graph.items() if name != "pairs"}
        tx.query("CALL algo.degree.estimate($graph, {}) YIELD nodeCount RETURN nodeCount", graph=known)
        shown = "" if key is None else ", n[$key] AS name"
        text = f"MATCH (n{_labels(graph)}) RETURN id(n) AS id{shown} ORDER BY id"
        found = tx.query(text, key=key)
        arrays = found.to_numpy()
        self.ids = arrays["id"].astype("int64")
        self.count = len(self.ids)
        if key is None:
            self.list, self.names = self.ids.tolist(), self.ids
        else:
            self.list, self.names = found.values("name"), arrays["name"]
            if any(name is None for name in self.list):
                # As they are: NumPy has no integers that are missing.
                self.names = numpy.array([*self.list, None], dtype=object)[:-1]
        self.names.flags.writeable = False
        if "pairs" in graph:
            a, b, weight = _of_pairs(graph["pairs"])
            chosen = numpy.isin(a, self.ids) & numpy.isin(b, self.ids)
            way = _way(graph.get("orientation"))
            return [self._positions(a[chosen], b[chosen], weight[chosen], way)]
        return [self._positions(*_of_type(tx, graph, name), way) for name, way in _types(graph)]

    def _positions(self, a, b, weight, way):
        """Both ends of relationships between the nodes, in the direction of messages."""
        small = "int32" if self.count < 2**31 else "int64"
        a, b = (numpy.searchsorted(self.ids, end).astype(small) for end in (a, b))
        if way == "REVERSE":
            return b, a, weight
        if way == "UNDIRECTED":
            twice = None if weight is None else numpy.tile(weight, 2)
            return numpy.concatenate([a, b]), numpy.concatenate([b, a]), twice
        return a, b, weight


def _joined(parts, column):
    return parts[0][column] if len(parts) == 1 else numpy.concatenate([part[column] for part in parts])


def _way(given, otherwise="NATURAL"):
    way = (given or otherwise).upper()
    if way not in ORIENTATIONS:
        raise ValueError(f"orientation is NATURAL, REVERSE or UNDIRECTED, not {way!r}")
    return way


def _quoted(name):
    return "`" + name.replace("`", "``") + "`"


def _listed(names):
    return [names] if isinstance(names, str) else list(names)


def _labels(graph):
    """The labels of which a node has one, as a pattern has them."""
    labels = _listed(graph.get("nodes", "*"))
    return "" if "*" in labels or not labels else ":" + "|".join(map(_quoted, labels))


def _types(graph):
    """Types, empty for all, each with the direction of messages."""
    given, way = graph.get("relationships", "*"), _way(graph.get("orientation"))
    if not isinstance(given, dict):
        names = _listed(given)
        return [("", way)] if "*" in names or not names else [(name, way) for name in names]
    types = []
    for name, own in given.items():
        own = {"orientation": own} if isinstance(own, str) or own is None else own
        other = sorted(set(own).difference(("type", "orientation")))
        if other:
            raise ValueError(f"a vertex program knows no {other[0]!r} of relationships: type and orientation")
        types.append((own.get("type", name), own.get("orientation")))
    # That of all types is the orientation of those that have none.
    way = next((_way(own, way) for name, own in types if name == "*"), way)
    named = [(name, _way(own, way)) for name, own in types if name != "*"]
    return named or [("", way)]


def _of_type(tx, graph, name):
    """Both ends and the weight of the relationships of a type."""
    weight = graph.get("weight")
    node, of = _labels(graph), f":{_quoted(name)}" if name else ""
    shown = "" if weight is None else f", coalesce(r.{_quoted(weight)}, $default) AS weight"
    text = f"MATCH (a{node})-[r{of}]->(b{node}) RETURN id(a) AS a, id(b) AS b{shown}"
    found = tx.query(text, default=graph.get("defaultWeight", 1.0)).to_numpy()
    a, b = (found[end].astype("int64") for end in "ab")
    return a, b, None if weight is None else _numbers(found["weight"], f"the weight {weight!r}")


def _numbers(values, what):
    if values.dtype.kind not in "if":
        for value in values.tolist():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"{what} is to be a number, and is {value!r}")
    return values.astype("float64")


def _of_pairs(pairs):
    """Pairs ``[from, to]`` or ``[from, to, weight]``; nodes, or their numbers."""
    rows = []
    for pair in pairs:
        row = [getattr(part, "id", part) for part in pair]
        if len(row) not in (2, 3) or not all(type(end) is int for end in row[:2]):
            raise ValueError(f"pairs are [from, to] or [from, to, weight], with nodes or their numbers, not {pair!r}")
        rows.append((*row, 1.0)[:3])
    ends = [numpy.array([row[end] for row in rows], dtype="int64") for end in (0, 1)]
    weights = numpy.array([*(row[2] for row in rows), None], dtype=object)[:-1]
    return *ends, _numbers(weights, "the weight of a pair")
