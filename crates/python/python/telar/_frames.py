"""Results as frames, arrays and graphs of other libraries, which are imported when they are asked for."""


def _needed(name, what):
    """A library, or an error that says how to get it."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{what} needs {name}: pip install {name}") from error


def readable(frame):
    """The frame, or a copy that can be read: Polars gives columns of nothing a buffer too many."""
    if not any(hasattr(frame, name) for name in ("columns", "column_names", "schema", "close")):
        # A column, not a table.
        return None
    if not type(frame).__module__.startswith("polars."):
        return frame
    import polars

    return frame.with_columns(polars.selectors.by_dtype(polars.Null).cast(polars.Boolean))


def times(array):
    """An array, or a scalar, of NumPy's dates or durations, with all of its nanoseconds."""
    import numpy

    from . import Duration, Temporal

    def one(value):
        if numpy.isnat(value):
            return None
        if value.dtype.kind == "m":
            nanoseconds = int(value.astype("timedelta64[ns]").astype("int64"))
            return Duration(seconds=nanoseconds // 10**9, nanoseconds=nanoseconds % 10**9)
        plain = value.tolist()
        if not isinstance(plain, int):
            return plain
        text = str(value.astype("datetime64[ns]"))
        return Temporal("LOCAL DATETIME", text)

    if array.ndim == 0:
        return one(numpy.asarray(array)[()])
    return [times(part) if part.ndim else one(part) for part in array]


def settled(at):
    """A time with a zone: one that clocks skip as the moment that it stands for."""
    import datetime

    again = at.astimezone(datetime.timezone.utc).astimezone(at.tzinfo)
    return at if again.replace(tzinfo=None) == at.replace(tzinfo=None) else again


def to_arrow(result):
    pyarrow = _needed("pyarrow", "to_arrow()")
    return pyarrow.RecordBatchReader.from_stream(result).read_all()


def to_polars(result):
    return _needed("polars", "to_polars()").DataFrame(result)


def to_pandas(result, **options):
    _needed("pandas", "to_pandas()")
    return to_arrow(result).to_pandas(**options)


def _array(numpy, result, column):
    """A column as an array, and the rows that are null or None."""
    buffer = result._buffer(column)
    if buffer is None:
        values = result.values(column)
        array = numpy.empty(len(values), dtype=object)
        array[:] = values
        return array, None
    kind, values, present = buffer
    array = numpy.frombuffer(values, dtype=kind)
    return array, None if present is None else numpy.frombuffer(present, dtype=bool) ^ True


def to_numpy(result):
    numpy = _needed("numpy", "to_numpy()")
    arrays = {}
    for column, name in enumerate(result.columns):
        array, nulls = _array(numpy, result, column)
        if nulls is not None:
            if array.dtype == bool:
                array = array.astype(object)
                array[nulls] = None
            else:
                array = array.astype(float)
                array[nulls] = numpy.nan
        arrays[name] = array
    return arrays


def to_networkx(result, key=None):
    networkx = _needed("networkx", "to_networkx()")
    nodes, relationships = result.graph()
    graph = networkx.MultiDiGraph()
    names = {}
    for node in nodes:
        name = node.id if key is None else node.get(key)
        if name is None:
            raise ValueError(f"{node!r} has no property {key!r}")
        if key is not None and name in graph:
            raise ValueError(f"two nodes have {key} = {name!r}")
        names[node.id] = name
        graph.add_node(name, labels=node.labels, **_attributes(node, ("labels",)))
    for relationship in relationships:
        ends = [relationship.start_id, relationship.end_id]
        for end in ends:
            if end not in names:
                # The result has the relationship and not its nodes.
                if key is not None:
                    raise ValueError(f"the result has {relationship!r} and not its nodes: return them")
                names[end] = end
        attributes = _attributes(relationship, ("type",))
        start, end = (names[end] for end in ends)
        graph.add_edge(start, end, relationship.element_id, type=relationship.type, **attributes)
    return graph


def _attributes(thing, taken):
    """Properties as attributes; those whose names are taken have an underscore behind."""
    return {name + "_" * (name in taken): value for name, value in thing.properties.items()}


def to_igraph(result):
    igraph = _needed("igraph", "to_igraph()")
    nodes, relationships = result.graph()
    properties = {node.id: node for node in nodes}
    for relationship in relationships:
        properties.setdefault(relationship.start_id)
        properties.setdefault(relationship.end_id)
    ids = sorted(properties)
    position = {id: at for at, id in enumerate(ids)}
    vertices = [properties[id] for id in ids]
    graph = igraph.Graph(
        n=len(ids),
        edges=[(position[r.start_id], position[r.end_id]) for r in relationships],
        directed=True,
    )
    graph.vs["id"] = ids
    graph.vs["labels"] = [sorted(v.labels) if v is not None else None for v in vertices]
    graph.es["type"] = [relationship.type for relationship in relationships]
    for sequence, things, taken in (
        (graph.vs, [v if v is not None else {} for v in vertices], ("id", "labels")),
        (graph.es, relationships, ("type",)),
    ):
        names = {name for thing in things for name in thing.keys()}
        for name in sorted(names):
            sequence[name + "_" * (name in taken)] = [thing.get(name) for thing in things]
    return graph


def edge_index(result, source=None, target=None, ids=None):
    numpy = _needed("numpy", "edge_index()")
    columns = result.columns
    ends = []
    for at, key in enumerate((source, target)):
        column = at if key is None else key if isinstance(key, int) else columns.index(key)
        array, nulls = _array(numpy, result, column)
        if len(array) == 0:
            array = array.astype("<i8")
        if array.dtype != numpy.dtype("<i8") or nulls is not None:
            raise TypeError(f"column {columns[column]!r} is none of nodes or integers without null")
        ends.append(array)
    if ids is None:
        ids, positions = numpy.unique(numpy.concatenate(ends), return_inverse=True)
        return positions.reshape(2, -1), ids
    ids = numpy.asarray(ids)
    order = numpy.argsort(ids, kind="stable")
    found = [numpy.searchsorted(ids, end, sorter=order) for end in ends]
    index = numpy.stack([order[numpy.minimum(f, len(ids) - 1)] for f in found])
    if not all((ids[row] == end).all() for row, end in zip(index, ends)):
        raise ValueError("an end of a relationship is not among ids")
    return index, ids
