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
        return sorted({n[len(prefix) :].split(".")[0] for n in names if n.startswith(prefix)})

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
