"""Vertex programs: a graph algorithm as what a node does with the messages it got.

::

    step k       gather          apply                      scatter
    messages of  -------> value of the node changed -------> messages to its neighbours,
    a node                                                   which get them in step k + 1

All nodes take part in step 0. Nodes and relationships are those of one snapshot, read once before it; 8
bytes for each relationship and direction, 16 with a weight, are held until the end, and some times as much
while they are read.

Source: Malewicz et al., "Pregel", SIGMOD 2010.
"""

import copy
import operator

from ._frames import _needed

TAKES = ("values", "numpy", "arrow")
# Nodes between two questions whether to stop.
CHECK = 1024


def run(session, graph, apply, *, init, combine, along, empty, reduce, takes, max_iterations, key):
    """Runs a program, and returns the nodes and their values as a frame."""
    from ._telar import _table

    if takes not in TAKES:
        raise ValueError(f"a vertex program takes 'values', 'numpy' or 'arrow', not {takes!r}")
    if max_iterations < 1:
        raise ValueError(f"max_iterations is {max_iterations}; a vertex program takes at least 1 step")
    other = {"relationships", "weight"}.intersection(graph)
    if "pairs" in graph and other:
        raise ValueError(f"`pairs` stand instead of relationships and their weights: leave out {min(other)!r}")
    numpy = _needed("numpy", "a vertex program")
    from ._topology import Lists

    if takes == "values":
        if empty is not None:
            raise TypeError("`empty` is for arrays: a node without messages gets an empty list")
        program = _Values(apply, combine, along, reduce)
    else:
        if reduce is not None:
            raise TypeError("`reduce` is for takes='values': arrays have the values of all nodes")
        program = _Arrays(numpy, takes, apply, combine, along, empty)
    lists = Lists(session, graph, key, program.order)
    values = program.run(lists, init, max_iterations) if lists.count else []
    return _table({"node": lists.list, "value": values})


# --- programs of arrays ---------------------------------------------------------------------------


class _Arrays:
    """A program that is called once in a step, with arrays."""

    order = "target"

    def __init__(self, numpy, takes, apply, combine, along, empty):
        self._numpy, self._apply, self._along, self._empty = numpy, apply, along, empty
        self._pyarrow = _needed("pyarrow", "takes='arrow'") if takes == "arrow" else None
        self._combine = numpy.add if combine is None else combine
        if not hasattr(self._combine, "reduceat"):
            text = "`combine` is a function of NumPy such as numpy.add or numpy.minimum, not"
            raise TypeError(f"{text} {combine!r}")
        known = self._combine.identity is not None or self._combine in (numpy.minimum, numpy.maximum)
        if empty is None and not known:
            raise ValueError(f"`empty`, what a node without messages gets, is needed with {combine!r}")

    def run(self, lists, init, most):
        """The values of all nodes at the end."""
        numpy = self._numpy
        first = self._called(init, lists.names) if callable(init) else init
        # A copy: programs may change values in place.
        values = numpy.array(self._checked(lists, "values", first))
        messages = self._nothing(values.dtype if values.dtype.kind in "iuf" else numpy.dtype(float), lists.count)
        for step in range(most):
            lists.check()
            given = self._called(self._apply, step, values, messages, lists.degrees)
            if given is None or isinstance(given, tuple) and len(given) not in (2, 3):
                text = "not values, (values, sent) or (values, sent, who_sends)"
                raise TypeError(f"the program gave {given!r}, {text}")
            if not isinstance(given, tuple):
                values, messages = self._checked(lists, "values", given), None
            else:
                values = self._checked(lists, "values", given[0])
                messages = self._delivered(lists, *given[1:])
            if messages is None:
                break
        return values if values.dtype.kind in "mM" else values.tolist()

    def _called(self, function, *arguments):
        if self._pyarrow is not None:
            arrays = (self._pyarrow.array(a) if isinstance(a, self._numpy.ndarray) else a for a in arguments)
            return function(*arrays)
        return function(*arguments)

    def _checked(self, lists, what, given):
        given = self._numpy.asarray(given)
        if given.ndim == 0:
            return self._numpy.full(lists.count, given)
        if len(given) != lists.count:
            raise ValueError(f"the program gave {what} for {len(given)} nodes, and there are {lists.count}")
        return given

    def _nothing(self, dtype, *shape):
        """What nodes without messages get: it changes no message that it is combined with."""
        numpy = self._numpy
        if self._empty is not None:
            dtype = numpy.result_type(dtype, numpy.asarray(self._empty).dtype)
            shape = shape if len(shape) > 1 else (*shape, *numpy.shape(self._empty))
            return numpy.full(shape, self._empty, dtype)
        if self._combine.identity is not None:
            return numpy.full(shape, self._combine.identity, dtype)
        if dtype.kind not in "iuf":
            raise ValueError(f"`empty`, what a node without messages gets, is needed for messages of {dtype}")
        least = self._combine is numpy.maximum
        if dtype.kind == "f":
            return numpy.full(shape, -numpy.inf if least else numpy.inf, dtype)
        limits = numpy.iinfo(dtype)
        return numpy.full(shape, limits.min if least else limits.max, dtype)

    def _delivered(self, lists, sent, sends=None):
        """The messages of each node, combined; None if nobody sends."""
        numpy = self._numpy
        if sent is None:
            return None
        message = self._checked(lists, "messages", sent)
        source, target, weight = lists.source, lists.target, lists.weight
        if sends is not None:
            sends = self._checked(lists, "who sends", sends).astype(bool)
            if not sends.any():
                return None
            kept = numpy.flatnonzero(sends[source])
            source, target = source[kept], target[kept]
            weight = None if weight is None else weight[kept]
        message = message[source]
        if self._along is not None:
            weight = numpy.ones(len(source)) if weight is None else weight
            weight = weight.reshape(-1, *(1,) * (message.ndim - 1))
            message = numpy.asarray(self._along(message, weight))
        if len(source) == 0:
            return self._nothing(message.dtype, lists.count, *message.shape[1:])
        first = numpy.flatnonzero(numpy.r_[True, target[1:] != target[:-1]])
        combined = self._combine.reduceat(message, first)
        messages = self._nothing(combined.dtype, lists.count, *combined.shape[1:])
        messages[target[first]] = combined
        return messages


# --- programs of values ---------------------------------------------------------------------------


class Vertex:
    """A node in a step of a vertex program that takes values (``Algorithms.vertex_program``).

    ``value`` is what the program keeps for it; ``node`` its number, or its property ``key``; ``degree``
    the number of relationships that ``scatter`` goes along; ``step`` the number of the step, from 0;
    ``count`` the number of nodes; ``aggregated`` what all nodes aggregated in the step before, or None.
    """

    def __init__(self, run, count):
        self._run = run
        self.node = self.value = self.aggregated = None
        self.step = self.degree = 0
        self.count = count

    def scatter(self, message):
        """Sends a message along each of its relationships: the same object to all."""
        self._scattered.append(message)

    def send(self, node, message):
        """Sends a message to a node, neighbour or not: a ``Node``, or what the program calls it."""
        self._sent.append((self._run.position_of(node), message))

    def aggregate(self, value):
        """Adds to what all nodes see in the next step."""
        self._run.add(value)

    def halt(self):
        """Sleeps until a message comes."""
        self._halted = True


class _Shared:
    """What nodes share in a program of values."""

    def __init__(self, lists, reduce):
        self._lists, self._reduce = lists, reduce
        self._positions = self._numbers = None
        self.partial = ()

    def position_of(self, node):
        """The position of a node among all."""
        from ._telar import Node

        if self._positions is None:
            self._numbers = {number: at for at, number in enumerate(self._lists.ids.tolist())}
            self._positions = {}
            for at, name in enumerate(self._lists.list):
                self._positions.setdefault(name, []).append(at)
        if isinstance(node, Node):
            found = [self._numbers[node.id]] if node.id in self._numbers else []
        else:
            found = self._positions.get(node, [])
        if len(found) != 1:
            raise ValueError(f"{node!r} is {'none' if not found else 'more than one'} of the nodes of the program")
        return found[0]

    def add(self, value):
        """Adds to the aggregate of this step."""
        self.partial = (self._reduce(self.partial[0], value) if self.partial else value,)


class _Values:
    """A program that is called for each node."""

    order = "source"

    def __init__(self, apply, combine, along, reduce):
        self._apply, self._combine, self._along = apply, combine, along
        self._reduce = operator.add if reduce is None else reduce

    def run(self, lists, init, most):
        """The values of all nodes at the end."""
        values = [init(name) if callable(init) else copy.deepcopy(init) for name in lists.list]
        shared = _Shared(lists, self._reduce)
        vertex = Vertex(shared, lists.count)
        degrees = lists.degrees.tolist()
        ends = lists.degrees.cumsum().tolist()
        awake, inboxes = set(range(lists.count)), {}
        for step in range(most):
            if not awake and not inboxes:
                break
            vertex.step, shared.partial, coming = step, (), {}
            for turn, at in enumerate(sorted(awake.union(inboxes))):
                if turn % CHECK == 0:
                    lists.check()
                vertex.node, vertex.value, vertex.degree = lists.list[at], values[at], degrees[at]
                vertex._sent, vertex._scattered, vertex._halted = [], [], False
                if self._apply(vertex, inboxes.get(at, [])) is not None:
                    raise TypeError("a program of values returns nothing, and sets `vertex.value`: see `takes`")
                values[at] = vertex.value
                (awake.discard if vertex._halted else awake.add)(at)
                if vertex._scattered:
                    self._scatter(lists, ends[at] - degrees[at], ends[at], vertex._scattered, coming)
                for to, message in vertex._sent:
                    self._deliver(coming, to, message)
            inboxes = coming
            vertex.aggregated = shared.partial[0] if shared.partial else None
        return values

    def _scatter(self, lists, first, end, messages, coming):
        targets = lists.target[first:end].tolist()
        weights = [1.0] * len(targets) if lists.weight is None else lists.weight[first:end].tolist()
        for message in messages:
            for to, weight in zip(targets, weights):
                self._deliver(coming, to, message if self._along is None else self._along(message, weight))

    def _deliver(self, coming, to, message):
        inbox = coming.setdefault(to, [])
        if self._combine is not None and inbox:
            inbox[0] = self._combine(inbox[0], message)
        else:
            inbox.append(message)
