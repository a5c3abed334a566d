"""Graphs of other libraries as nodes and relationships."""


def from_networkx(db, graph, *, label="Node", type="EDGE", key="id", unique=True):
    """Brings a graph of NetworkX into a database, as one commit; what a load reports is returned.

    A node gets the labels in its attribute ``labels`` (one or several) or ``label``, an edge the type in its
    attribute ``type`` or that of this name, as ``to_networkx()`` writes them; the other attributes are
    properties. The property ``key`` is what NetworkX calls the node. An undirected edge is stored once.

    >>> import telar, networkx
    >>> db = telar.open()
    >>> graph = networkx.path_graph(3)
    >>> graph.nodes[0]["name"] = "Ada"
    >>> report = telar.from_networkx(db, graph, label="Person", type="KNOWS")
    >>> report["nodes"], report["relationships"]
    (3, 2)
    >>> db.query("MATCH (:Person {name: 'Ada'})-[:KNOWS]-(b) RETURN b.id").value()
    1
    """
    first, nodes, edges = {}, {}, {}
    for name, attributes in graph.nodes(data=True):
        own = dict(attributes)
        labels = own.pop("labels", None) or label
        labels = (labels,) if isinstance(labels, str) else tuple(sorted(labels))
        if own.setdefault(key, name) != name:
            raise ValueError(f"the node {name!r} has the attribute {key} = {own[key]!r}: name another key")
        first[name] = labels[0]
        nodes.setdefault(labels, []).append(own)
    for start, end, attributes in graph.edges(data=True):
        own = dict(attributes)
        kind = own.pop("type", None) or type
        row = {" start": start, " end": end, **own}
        edges.setdefault((kind, first[start], first[end]), []).append(row)
    keys = [f"{of}.{key}" for of in sorted(set(first.values()))] if unique else []
    with db.load(unique=keys) as load:
        for labels, rows in nodes.items():
            load.nodes(list(labels), rows)
        for (kind, start, end), rows in edges.items():
            ends = {"src_label": start, "src_key": key, "dst_label": end, "dst_key": key}
            load.relationships(kind, rows, src=" start", dst=" end", **ends)
    return load.report
