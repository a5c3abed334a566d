"""Graph algorithms as methods: `db.algo.page_rank(nodes="Account", relationships="PAYS")`."""

GRAPH = ("nodes", "relationships", "orientation", "weight", "defaultWeight", "pairs")


def _camel(name):
    """`page_rank` as `pageRank`."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _plain(value):
    """A setting: nodes are given by their number."""
    from . import Node

    if isinstance(value, Node):
        return value.id
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


class Algorithms:
    """The algorithms of `CALL algo.list('')`, or of one of their groups.

    Keyword arguments are the settings of the procedure, `dampingFactor` or `damping_factor`; those
    that choose the graph are `nodes`, `relationships`, `orientation`, `weight`, `default_weight` and
    `pairs`. The result is a frame; nodes are their numbers, or the property `key`.

    >>> import telar
    >>> db = telar.open()
    >>> _ = db.query("CREATE (a:P {name: 'a'})-[:TO]->(b:P {name: 'b'})<-[:TO]-(:P {name: 'c'})")
    >>> ranks = db.algo.page_rank(nodes="P", relationships="TO", key="name")
    >>> ranks.columns, max(ranks.tuples(), key=lambda row: row[1])[0]
    (['node', 'score'], 'b')
    >>> db.algo.wcc.stats(relationships="TO").one()["componentCount"]
    1
    """

    def __init__(self, session, path=()):
        self._session = session
        self._path = path

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        path = (*self._path, _camel(name))
        known = _procedures(self._session)
        full = "algo." + ".".join(path)
        if not any(other == full or other.startswith(full + ".") for other in known):
            raise AttributeError(f"there is no algorithm {full}; `CALL algo.list('')` lists them")
        return Algorithms(self._session, path)

    def __dir__(self):
        prefix = ".".join(("algo", *self._path)) + "."
        names = _procedures(self._session)
        own = set() if self._path else {"vertex_program"}
        return sorted(own | {n[len(prefix) :].split(".")[0] for n in names if n.startswith(prefix)})

    def __call__(self, *, key=None, **settings):
        name = ".".join(("algo", *self._path))
        columns = _procedures(self._session).get(name)
        if columns is None:
            raise TypeError(f"{name} is a group of algorithms: {', '.join(dir(self))}")
        settings = {_camel(name): _plain(value) for name, value in settings.items()}
        graph = {name: settings.pop(name) for name in GRAPH if name in settings}
        shown = ", ".join(_shown(column, of, key) for column, of in columns)
        names = ", ".join(f"`{column}`" for column, _ in columns)
        text = f"CALL {name}($graph, $settings) YIELD {names} RETURN {shown}"
        return self._session.query(text, graph=graph, settings=settings, key=key)

    def vertex_program(
        self,
        apply,
        *,
        init,
        combine=None,
        along=None,
        empty=None,
        reduce=None,
        takes="values",
        max_iterations=100,
        key=None,
        **graph,
    ):
        """Runs an algorithm of your own: what a node does, in each step, with the messages it got.

        The graph is chosen as for the others, and read before the first step, within the limits of the session.
        ``init`` is the value of each node before that, or a function of the node (its number, or its property
        ``key``). The result is a frame of ``node`` and ``value``. ``max_iterations`` steps are the most.

        ``takes="values"``: ``apply(vertex, messages)`` is called for each node that is awake or has messages. It
        sets ``vertex.value``, and may ``scatter(message)`` along its relationships, ``send(node, message)``,
        ``aggregate(value)`` for ``vertex.aggregated`` of the next step (added up, or by ``reduce``), and
        ``halt()`` until a message comes; see ``Vertex``. The run ends when all sleep. With ``combine``, a function
        of two messages, a node gets one.

        ``takes="numpy"`` or ``"arrow"``: ``apply(step, values, messages, degrees)`` is called once in a step
        with an array for all nodes, and returns ``(values, sent)`` or ``(values, sent, who_sends)``; the run ends
        when nobody sends, or with only the values. Messages to one node become one by ``combine``, a function of
        NumPy (``numpy.add``, ``numpy.minimum``). Nodes without messages, all in step 0, get ``empty``, or what is
        neutral to it: for the minimum infinity, of integers the greatest.

        ``along(message, weight)`` changes messages on their way.

        >>> import telar, numpy
        >>> db = telar.open()
        >>> _ = db.query("CREATE (:P {name: 'a'})-[:TO {km: 2}]->(:P {name: 'b'})-[:TO {km: 3}]->(:P {name: 'c'})")
        >>> def nearer(step, far, told, degrees):
        ...     near = numpy.minimum(far, told)
        ...     return near, near, (near < far) | (step == 0)
        >>> far = db.algo.vertex_program(
        ...     nearer, takes="numpy", init=lambda name: numpy.where(name == "a", 0.0, numpy.inf),
        ...     combine=numpy.minimum, along=numpy.add, relationships="TO", weight="km", key="name")
        >>> far.tuples()
        [('a', 0.0), ('b', 2.0), ('c', 5.0)]
        """
        from . import _programs

        if self._path:
            raise TypeError("`vertex_program` is a method of `algo` itself")
        graph = {_camel(name): value for name, value in graph.items()}
        unknown = sorted(set(graph).difference(GRAPH))
        if unknown:
            raise TypeError(f"{unknown[0]!r} is none of what chooses a graph: {', '.join(GRAPH)}")
        settings = {"combine": combine, "along": along, "empty": empty, "reduce": reduce}
        return _programs.run(
            self._session,
            {name: value for name, value in graph.items() if value is not None},
            apply,
            init=init,
            takes=takes,
            max_iterations=max_iterations,
            key=key,
            **settings,
        )

    def __repr__(self):
        return f"<Algorithms {'.'.join(('algo', *self._path))}: {', '.join(dir(self))}>"


def _shown(column, of, key):
    """A column of a procedure in the result."""
    node = "id({})" if key is None else "{}[$key]"
    if of == "NODE":
        return f"{node.format(f'`{column}`')} AS `{column}`"
    if of == "LIST<NODE>":
        return f"[n IN `{column}` | {node.format('n')}] AS `{column}`"
    return f"`{column}`"


_KNOWN = {}


def _procedures(session):
    """Columns of the algorithms: names and types, by the algorithm's name."""
    if not _KNOWN:
        # `algo.list` and those of `algo.live` are no algorithms: they have other arguments.
        text = """SHOW PROCEDURES YIELD name, argumentDescription AS given, returnDescription AS columns
                  WHERE name STARTS WITH 'algo.' AND [a IN given | a.name] = ['graph', 'configuration']
                  RETURN name, columns"""
        for name, columns in session.query(text):
            _KNOWN[name] = [(column["name"], column["type"]) for column in columns]
    return _KNOWN
