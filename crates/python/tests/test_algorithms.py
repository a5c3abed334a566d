"""Graph algorithms as methods."""

import pytest
import telar


@pytest.fixture
def roads(db):
    db.query(
        """CREATE (a:City {name: 'a'})-[:ROAD {km: 1.0}]->(b:City {name: 'b'})-[:ROAD {km: 2.0}]->(c:City {name: 'c'}),
                  (a)-[:ROAD {km: 9.0}]->(c), (:Island {name: 'd'})"""
    )
    return db


def test_values_of_nodes(roads):
    ranks = roads.algo.page_rank(nodes="City", relationships="ROAD", damping_factor=0.5)
    same = roads.algo.pageRank(nodes="City", relationships="ROAD", dampingFactor=0.5)
    assert ranks.columns == ["node", "score"] and ranks.tuples() == same.tuples() and len(ranks) == 3
    named = roads.algo.page_rank(nodes="City", relationships="ROAD", damping_factor=0.5, key="name")
    assert dict(named.tuples())["c"] == max(ranks.values("score"))
    assert named.to_polars().shape == (3, 2)


def test_paths_and_groups_of_algorithms(roads):
    ids = dict(roads.query("MATCH (n) RETURN n.name, id(n)").tuples())
    a = roads.query("MATCH (n {name: 'a'}) RETURN n").value()
    for source in (a, ids["a"]):
        path = roads.algo.shortest_path.dijkstra(
            relationships="ROAD", weight="km", source_node=source, target_node=ids["c"]
        ).one()
        assert path["totalCost"] == 3.0 and path["nodes"] == [ids["a"], ids["b"], ids["c"]]
    named = roads.algo.shortestPath.dijkstra(
        relationships="ROAD", weight="km", sourceNode=a, targetNode=ids["c"], key="name"
    )
    assert named.one()["nodes"] == ["a", "b", "c"]


def test_modes(roads):
    assert roads.algo.wcc.stats().one()["componentCount"] == 2
    assert roads.algo.wcc.write(write_property="part").one()["nodePropertiesWritten"] == 4
    assert len(set(roads.query("MATCH (n) RETURN n.part").values())) == 2
    assert roads.algo.wcc.estimate().one()["bytesMin"] > 0
    with pytest.raises(telar.ReadOnlyError):
        roads.session(read_only=True).algo.wcc.write(write_property="part")


def test_what_is_no_algorithm_is_refused(roads):
    assert "pageRank" in dir(roads.algo) and "dijkstra" in dir(roads.algo.shortest_path)
    with pytest.raises(AttributeError, match="algo.nothing"):
        roads.algo.nothing
    with pytest.raises(AttributeError, match="algo.live"):
        roads.algo.live
    with pytest.raises(TypeError, match="group of algorithms"):
        roads.algo.dag()
    with pytest.raises(telar.StatementError, match="damping"):
        roads.algo.page_rank(dampingfactor=0.5)
