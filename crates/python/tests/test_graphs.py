"""Graphs of NetworkX as nodes and relationships."""

import networkx
import pytest
import telar


def test_a_graph_of_networkx_comes_in(db):
    graph = networkx.MultiDiGraph()
    graph.add_node("Ada", labels=["Person", "Author"], born=1815)
    graph.add_node("Bob", labels="Person")
    graph.add_node(7)
    graph.add_edge("Ada", "Bob", type="KNOWS", since=1840)
    graph.add_edge("Ada", "Bob", type="KNOWS")
    graph.add_edge("Bob", 7, weight=0.5)
    report = telar.from_networkx(db, graph, label="Thing", type="HAS", key="name")
    assert (report["nodes"], report["relationships"]) == (3, 3)
    text = "MATCH (a)-[r]->(b) RETURN a.name, labels(a), type(r), properties(r), b.name, labels(b)"
    rows = sorted((a, sorted(la), t, sorted(p.items()), b, lb) for a, la, t, p, b, lb in db.query(text))
    assert rows == [
        ("Ada", ["Author", "Person"], "KNOWS", [], "Bob", ["Person"]),
        ("Ada", ["Author", "Person"], "KNOWS", [("since", 1840)], "Bob", ["Person"]),
        ("Bob", ["Person"], "HAS", [("weight", 0.5)], 7, ["Thing"]),
    ]
    assert len(db.query("SHOW CONSTRAINTS")) == 3


def test_there_and_back(db):
    db.query("CREATE (a:A {k: 1})-[:R {x: 2}]->(b:B:C {k: 2})-[:S]->(a)")
    graph = db.query("MATCH (a)-[r]->(b) RETURN a, r, b").to_networkx(key="k")
    again = telar.open()
    telar.from_networkx(again, graph, key="k")
    text = "MATCH (a)-[r]->(b) RETURN a.k, size(labels(a)), type(r), properties(r), b.k ORDER BY a.k"
    assert again.query(text).tuples() == db.query(text).tuples()


@pytest.mark.parametrize("graph", [networkx.karate_club_graph(), networkx.petersen_graph()])
def test_graphs_that_networkx_has(db, graph):
    report = telar.from_networkx(db, graph, unique=False)
    assert (report["nodes"], report["relationships"]) == (len(graph), graph.number_of_edges())
    degrees = dict(db.query("MATCH (n) RETURN n.id, COUNT { (n)--() }").tuples())
    assert degrees == dict(graph.degree())


def test_what_cannot_be_changes_nothing(db):
    graph = networkx.Graph()
    graph.add_node(1, id=2)
    with pytest.raises(ValueError, match="name another key"):
        telar.from_networkx(db, graph)
    graph = networkx.Graph([((1, 2), (3, 4))])
    graph.add_node("x", bad=object())
    with pytest.raises(TypeError):
        telar.from_networkx(db, graph)
    assert db.query("MATCH (n) RETURN count(n)").value() == 0
