"""Calls of Neo4j's Graph Data Science library through its own client, `graphdatascience`.

    python gds_client.py bolt://127.0.0.1:7687

Every algorithm that Telar has under `gds.` runs as stream, stats and estimate, some as write; the
catalogue answers what the client's objects ask. Ends with a sum in the form of `cargo test`.
"""

import sys
import warnings

from graphdatascience import GraphDataScience

warnings.simplefilter("ignore")

# A name below `gds`, and its settings.
ALGORITHMS = {
    "pageRank": {},
    "articleRank": {},
    "eigenvector": {},
    "hits": {"hitsIterations": 20},
    "degree": {},
    "betweenness": {},
    "closeness": {},
    "wcc": {},
    "scc": {},
    "labelPropagation": {},
    "louvain": {},
    "leiden": {},
    "triangleCount": {},
    "localClusteringCoefficient": {},
    "kcore": {},
    "articulationPoints": {},
    "bridges": {},
    "fastRP": {"embeddingDimension": 8},
    "knn": {"nodeProperties": ["i"], "topK": 2},
    "nodeSimilarity": {},
    "spanningTree": {"sourceNode": 0},
    "allShortestPaths.delta": {"sourceNode": 0},
    "allShortestPaths.dijkstra": {"sourceNode": 0, "relationshipWeightProperty": "w"},
    "shortestPath.dijkstra": {"sourceNode": 0, "targetNode": 5},
    "shortestPath.yens": {"sourceNode": 0, "targetNode": 5, "k": 2},
    "bfs": {"sourceNode": 0},
    "dfs": {"sourceNode": 0},
    "bellmanFord": {"sourceNode": 0},
    "maxFlow": {"sourceNodes": [0], "targetNodes": [5]},
    "randomWalk": {"walkLength": 4, "walksPerNode": 1},
}

GRAPH = """
UNWIND range(0, 9) AS i CREATE (:P {i: i}) WITH count(*) AS all
MATCH (a:P), (b:P) WHERE b.i = (a.i * 3 + 1) % 10 OR b.i = a.i + 1
CREATE (a)-[:K {w: a.i}]->(b)
"""


def of(gds, name):
    found = gds
    for part in name.split("."):
        found = getattr(found, part)
    return found


def checks(gds):
    gds.run_cypher(GRAPH)
    graph, projected = gds.graph.project("g", "P", {"K": {"properties": "w"}})
    assert projected["nodeCount"] == 10, projected
    yield "project"
    assert gds.version() and gds.graph.exists("g")["exists"]
    assert graph.node_count() == 10 and graph.relationship_count() == 17
    assert graph.node_labels() == ["P"] and graph.relationship_types() == ["K"]
    assert graph.relationship_properties("K") == ["w"]
    assert graph.density() > 0 and graph.degree_distribution()["max"] == 2
    assert len(gds.graph.list()) == 1
    yield "catalogue"
    for name, settings in ALGORITHMS.items():
        algorithm = of(gds, name)
        assert algorithm.stream(graph, **settings) is not None
        if hasattr(algorithm, "stats"):
            assert algorithm.stats(graph, **settings)["computeMillis"] >= 0
        assert algorithm.stream.estimate(graph, **settings)["bytesMax"] > 0
        yield name
    assert gds.pageRank.write(graph, writeProperty="rank")["nodePropertiesWritten"] == 10
    ranks = gds.run_cypher("MATCH (p:P) RETURN sum(p.rank) AS sum")
    assert abs(ranks["sum"][0] - 1) < 1e-9
    ranks = gds.pageRank.stream(graph)
    assert abs(ranks["score"].sum() - 1) < 1e-9 and len(ranks) == 10
    written = gds.articulationPoints.write(graph, writeProperty="cut")
    assert written["nodePropertiesWritten"] == 10
    yield "write"
    paths = gds.shortestPath.dijkstra.stream(graph, sourceNode=0, targetNode=5)
    assert len(paths["path"][0].relationships) == len(paths["nodeIds"][0]) - 1
    yield "paths"
    yield from held(gds, graph)
    node = gds.find_node_id(["P"], {"i": 3})
    assert gds.util.asNode(node)["i"] == 3 and len(gds.util.asNodes([node, 0])) == 2
    yield "nodes"
    graph.drop()
    assert not gds.graph.exists("g")["exists"]
    yield "drop"


def held(gds, graph):
    """What a graph keeps beside the database."""
    result = gds.fastRP.mutate(graph, mutateProperty="vector", embeddingDimension=8, randomSeed=1)
    assert result["nodePropertiesWritten"] == 10
    result = gds.knn.mutate(
        graph,
        nodeProperties=["vector"],
        topK=2,
        mutateRelationshipType="NEAR",
        mutateProperty="score",
    )
    assert result["relationshipsWritten"] == 20, result
    assert sorted(graph.relationship_types()) == ["K", "NEAR"]
    assert graph.node_properties("P") == ["vector"]
    vectors = gds.graph.nodeProperty.stream(graph, "vector")
    assert len(vectors) == 10 and len(vectors["propertyValue"][0]) == 8
    both = gds.graph.nodeProperties.stream(graph, ["vector", "i"], separate_property_columns=True)
    assert sorted(both["i"]) == list(range(10))
    near = gds.graph.relationshipProperty.stream(graph, "score", ["NEAR"])
    assert len(near) == 20 and (near["propertyValue"] <= 1).all()
    assert len(gds.graph.relationships.stream(graph, ["K"])) == 17
    yield "mutate"
    written = gds.graph.nodeProperties.write(graph, ["vector"])
    assert written["propertiesWritten"] == 10
    written = gds.graph.relationship.write(graph, "NEAR", "score")
    assert written["relationshipsWritten"] == 20
    counted = gds.run_cypher("MATCH (p:P)-[r:NEAR]->() RETURN count(r.score) AS n, size(p.vector) AS s")
    assert counted["n"].sum() == 20 and (counted["s"] == 8).all()
    assert gds.graph.relationships.drop(graph, "NEAR")["deletedRelationships"] == 20
    gds.graph.nodeProperties.drop(graph, ["vector"])
    yield "properties"
    query = """
        MATCH (a:P)-[r:K]->(b:P) WHERE a.i < 5
        RETURN gds.graph.project($name, a, b, {relationshipProperties: {w: r.w}})
    """
    made = gds.graph.cypher.project(query, name="of query")[0]
    assert made.node_count() > 5 and made.relationship_properties() is not None
    assert gds.degree.stream(made, relationshipWeightProperty="w")["score"].sum() > 0
    made.drop()
    yield "cypher projection"
    nodes = "MATCH (p:P) WHERE p.i < $most RETURN id(p) AS id, labels(p) AS labels, p.i AS i"
    relationships = """
        MATCH (a:P)-[r:K]->(b:P) RETURN id(a) AS source, id(b) AS target, type(r) AS type, r.w AS w
    """
    made = gds.graph.project.cypher(
        "of texts", nodes, relationships, parameters={"most": 5}, validateRelationships=False
    )[0]
    assert made.node_count() == 5 and made.relationship_types() == ["K"]
    assert gds.util.nodeProperty(made, gds.find_node_id(["P"], {"i": 3}), "i") == 3
    yield "legacy cypher projection"
    part, _ = gds.graph.filter("part", made, "n:P AND n.i > 0", "r.w >= 1 OR r:K")
    assert part.node_count() == 4 and part.relationship_properties("K") == ["w"]
    part.drop()
    made.drop()
    yield "filter"


def main():
    passed = 0
    try:
        for name in checks(GraphDataScience(sys.argv[1], auth=None)):
            print(f"test gds::{name} ... ok", flush=True)
            passed += 1
    except Exception:
        print(f"test result: FAILED. {passed} passed; 1 failed")
        raise
    print(f"test result: ok. {passed} passed; 0 failed")


if __name__ == "__main__":
    main()
