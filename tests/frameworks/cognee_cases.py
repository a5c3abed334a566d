"""cognee's adapter for Neo4j: data points, edges, provenance, subgraphs, metrics."""

import logging
import os
import tempfile

os.environ.update(TELEMETRY_DISABLED="1", COGNEE_LOG_FILE="false", LITELLM_LOCAL_MODEL_COST_MAP="True",
                  COGNEE_LOGS_DIR=tempfile.mkdtemp(), ENABLE_BACKEND_ACCESS_CONTROL="false")

from uuid import UUID

from case import DATABASE, PASSWORD, URI, USER, case, counts, equal, rows, run, value
from cognee.infrastructure.databases.graph.neo4j_driver.adapter import Neo4jAdapter
from cognee.infrastructure.databases.graph.neo4j_driver.neo4j_metrics_utils import (
    count_self_loops, get_avg_clustering, get_shortest_path_lengths)
from cognee.infrastructure.databases.provenance import EdgeIdentity, make_source_ref_key
from cognee.infrastructure.engine import DataPoint

logging.disable(logging.CRITICAL)


class Person(DataPoint):
    name: str
    age: int = 0
    metadata: dict = {"index_fields": ["name"]}


class City(DataPoint):
    name: str
    metadata: dict = {"index_fields": ["name"]}


class NodeSet(DataPoint):
    name: str


def id_of(at):
    return UUID(int=at)


def ids(*ats):
    return [str(id_of(at)) for at in ats]


ADA, BOB, EVE, OSLO, SET = range(1, 6)


def people():
    return [Person(id=id_of(ADA), name="Ada", age=36), Person(id=id_of(BOB), name="Bob", age=40),
            Person(id=id_of(EVE), name="Eve"), City(id=id_of(OSLO), name="Oslo")]


EDGES = [(*ids(ADA, BOB), "knows",
          {"weights": {"trust": 0.5, "age": 2}, "tags": ["a", "b"], "edge_text": "knows well"}),
         (*ids(BOB, OSLO), "lives_in", {}), (*ids(ADA, OSLO), "born_in", {"year": 1815})]


async def opened():
    adapter = Neo4jAdapter(URI, USER, PASSWORD, DATABASE)
    await adapter.initialize()
    return adapter


async def filled():
    adapter = await opened()
    await adapter.add_nodes(people())
    await adapter.add_edges(EDGES)
    return adapter


def names(nodes):
    return sorted(properties["name"] for _, properties in nodes)


@case
async def nodes_and_edges():
    adapter = await opened()
    equal(await adapter.is_empty(), True, "empty at first")
    await adapter.add_node(people()[0])
    await adapter.add_nodes(people())
    await adapter.add_edge(id_of(ADA), id_of(BOB), "knows", {"since": 1833})
    await adapter.add_edges(EDGES)
    await adapter.add_edges(EDGES)
    equal(await adapter.is_empty(), False, "empty")
    nodes, relationships = counts()
    equal(nodes, {"City:__Node__": 1, "Person:__Node__": 3}, "nodes")
    # add_edge knows no ends; apoc.merge.relationship identifies an edge by them, and makes another one.
    equal(relationships, {"born_in": 1, "knows": 2, "lives_in": 1}, "relationships")
    equal(await adapter.get_graph_counts(), (4, 4), "counts")
    equal(value("MATCH ({name: 'Ada'})-[r:knows]->() WHERE r.since IS NULL "
                "RETURN r {.weight_trust, .weight_age, .tags_json, created: r.created_at <= r.updated_at}"),
          {"weight_trust": 0.5, "weight_age": 2, "tags_json": '["a", "b"]', "created": True}, "properties of an edge")
    equal((await adapter.get_node(ids(ADA)[0]))["name"], "Ada", "a node")
    equal(await adapter.get_node("nobody"), None, "no node")
    equal(sorted(node["name"] for node in await adapter.get_nodes(ids(ADA, OSLO, 99))), ["Ada", "Oslo"], "nodes")
    equal(await adapter.has_node(ids(ADA)[0]), True, "has a node")
    equal(await adapter.has_edge(id_of(ADA), id_of(OSLO), "born_in"), True, "has an edge")
    equal(await adapter.has_edge(id_of(OSLO), id_of(ADA), "born_in"), False, "has no such edge")
    asked = [(*ids(ADA, OSLO), "born_in"), (*ids(EVE, OSLO), "born_in")]
    equal(await adapter.has_edges(asked), asked[:1], "which edges there are")
    await adapter.delete_nodes(ids(BOB, EVE))
    equal(counts(), ({"City:__Node__": 1, "Person:__Node__": 1}, {"born_in": 1}), "after a delete")
    await adapter.delete_graph()
    equal(counts(), ({}, {}), "after delete_graph")
    await adapter.close()


@case
async def sets_that_nodes_belong_to():
    adapter = await opened()
    for tags in (["a"], ["b", "a"], None):
        node = Person(id=id_of(ADA), name="Ada")
        node.belongs_to_set = tags
        await adapter.add_node(node)
    await adapter.add_nodes([NodeSet(id=id_of(SET), name="b")])
    await adapter.add_edges([(*ids(ADA, SET), "belongs_to_set", {})])
    equal(value("MATCH (n:Person) RETURN n.belongs_to_set"), ["a", "b"], "union")
    nodes, edges = await adapter.get_nodeset_subgraph(NodeSet, ["b"])
    equal((names(nodes), [edge[2] for edge in edges]), (["Ada", "b"], ["belongs_to_set"]), "members of a set")
    nodes, edges = await adapter.get_nodeset_subgraph(NodeSet, ["b"], node_name_filter_operator="AND")
    equal(names(nodes), ["Ada", "b"], "members of all sets")
    await adapter.remove_belongs_to_set_tags(["b"])
    equal(value("MATCH (n:Person) RETURN n.belongs_to_set"), ["a"], "what is left")
    equal(counts()[1], {}, "edges")
    await adapter.close()


@case
async def provenance():
    adapter = await opened()
    dataset, first, second, pipeline = (UUID(int=at) for at in (100, 101, 102, 103))
    keys = [make_source_ref_key(dataset, first), make_source_ref_key(dataset, second)]
    for _ in range(2):  # What is there already is not added again.
        await adapter.add_nodes(people(), source_ref_key=keys[0], pipeline_run_id=str(pipeline))
        await adapter.add_edges(EDGES, source_ref_key=keys[0], pipeline_run_id=str(pipeline))
    await adapter.add_nodes(people()[:1], source_ref_key=keys[1], pipeline_run_id=str(pipeline))
    equal(value("MATCH (n {name: 'Ada'}) RETURN [n.source_ref_keys, n.source_dataset_ids, n.source_run_ids, "
                "size(n.source_run_refs)]"), [keys, [str(dataset)], [str(pipeline), str(pipeline)], 2], "of Ada")
    equal(value("MATCH (n {name: 'Bob'}) RETURN [n.source_ref_keys, size(n.source_run_refs)]"), [keys[:1], 1], "of Bob")
    equal(sorted(await adapter.find_nodes_by_source_ref(keys[0])), ids(ADA, BOB, EVE, OSLO), "nodes of a source")
    equal({(edge.source_id, edge.relationship_name) for edge in await adapter.find_edges_by_source_ref(keys[0])},
          {(source, kind) for source, _, kind, _ in EDGES}, "edges of a source")
    equal(len(await adapter.find_node_source_refs_by_dataset(str(dataset))), 4, "nodes of a dataset")
    equal(len(await adapter.find_edge_source_refs_by_pipeline_run(str(pipeline))), 3, "edges of a run")
    await adapter.remove_node_source_refs(ids(ADA), keys[:1])
    equal(await adapter.find_nodes_by_source_ref(keys[1]), ids(ADA), "nodes of the other source")
    edge = EdgeIdentity(source_id=ids(ADA)[0], target_id=ids(BOB)[0], relationship_name="knows")
    equal((await adapter.get_edge_delete_data([edge]))[edge].edge_text, "knows well", "of an edge")
    equal((await adapter.get_node_delete_data(ids(ADA)))[ids(ADA)[0]].indexed_fields, ["name"], "of a node")
    await adapter.delete_edge_triples([edge])
    equal(counts()[1], {"born_in": 1, "lives_in": 1}, "edges")
    await adapter.set_graph_metadata({"version": "1"})
    await adapter.set_graph_metadata({"version": "2"})
    equal(await adapter.get_graph_metadata(), {"version": "2"}, "metadata")
    await adapter.close()


@case
async def subgraphs():
    adapter = await filled()
    nodes, edges = await adapter.get_graph_data()
    equal((names(nodes), sorted(edge[2] for edge in edges)),
          (["Ada", "Bob", "Eve", "Oslo"], ["born_in", "knows", "lives_in"]), "everything")
    nodes, edges = await adapter.get_neighborhood(ids(BOB), depth=1)
    equal((names(nodes), len(edges)), (["Ada", "Bob", "Oslo"], 3), "neighbourhood")
    nodes, edges = await adapter.get_neighborhood(ids(BOB), depth=2, edge_types=["lives_in"])
    equal(names(nodes), ["Bob", "Oslo"], "neighbourhood by one type")
    nodes, edges = await adapter.get_id_filtered_graph_data(ids(BOB))
    equal((names(nodes), sorted(edge[2] for edge in edges)), (["Ada", "Bob", "Oslo"], ["knows", "lives_in"]), "edges")
    nodes, edges = await adapter.get_filtered_graph_data([{"name": ["Ada", "Bob"]}])
    equal((names(nodes), [edge[2] for edge in edges]), (["Ada", "Bob"], ["knows"]), "by an attribute")
    equal(sorted(node["name"] for node in await adapter.get_neighbors(ids(ADA)[0])), ["Bob", "Oslo"], "neighbours")
    equal([node["name"] for node in await adapter.get_successors(ids(BOB)[0], "lives_in")], ["Oslo"], "successors")
    equal(sorted(node["name"] for node in await adapter.get_predecessors(ids(OSLO)[0])), ["Ada", "Bob"], "before")
    equal(len(await adapter.get_edges(ids(ADA)[0])), 2, "edges of a node")
    equal(len(await adapter.get_connections(id_of(ADA))), 2, "connections")
    equal(await adapter.get_top_degree_node_ids(4), ids(ADA, BOB, OSLO, EVE), "by degree")
    triplets = await adapter.get_triplets_batch(1, 2)
    equal([(row["start_node"]["name"], row["end_node"]["name"]) for row in triplets],
          [("Ada", "Oslo"), ("Bob", "Oslo")], "triplets")
    equal(await adapter.get_disconnected_nodes(), [value("MATCH (n {name: 'Eve'}) RETURN id(n)")], "alone")
    await adapter.close()


@case
async def document_subgraph():
    adapter = await opened()
    rows("CREATE (d:TextDocument {id: 'd'})<-[:is_part_of]-(c:DocumentChunk {id: 'c'}), "
         "(c)-[:contains]->(e:Entity {id: 'e'})-[:is_a]->(t:EntityType {id: 't'}), "
         "(c)<-[:made_from]-(:TextSummary {id: 's'}), "
         "(:PdfDocument {id: 'p'})<-[:is_part_of]-(:DocumentChunk {id: 'c2'})-[:contains]->(f:Entity {id: 'f'}), "
         "(c)-[:contains]->(f), (f)-[:is_a]->(t)")
    found = await adapter.get_document_subgraph("d")
    equal({key: sorted(node["id"] for node in nodes) for key, nodes in found.items()}, {
        "document": ["d"], "chunks": ["c"], "orphan_entities": ["e"], "made_from_nodes": ["s"], "orphan_types": []},
        "what only this document has")
    equal(sorted(node["id"] for node in await adapter.get_degree_one_nodes("Entity")), [], "of one edge")
    await adapter.close()


@case
async def weights():
    adapter = await filled()
    await adapter.set_node_feedback_weights({ids(ADA)[0]: 0.25, ids(BOB)[0]: 0.75})
    equal(await adapter.get_node_feedback_weights(ids(ADA, BOB, 99)), dict(zip(ids(ADA, BOB), (0.25, 0.75))), "nodes")
    await adapter.close()


@case
async def metrics():
    adapter = await filled()
    found = await adapter.get_graph_metrics()
    equal({key: found[key] for key in ("num_nodes", "num_edges", "num_connected_components", "mean_degree",
                                       "sizes_of_connected_components")},
          {"num_nodes": 4, "num_edges": 3, "num_connected_components": 2, "mean_degree": 1.5,
           "sizes_of_connected_components": [3, 1]}, "metrics")
    equal(await get_avg_clustering(adapter, "myGraph"), 0.75, "clustering")
    equal(await count_self_loops(adapter), 0, "loops")
    await adapter.drop_graph()
    await adapter.close()


@case
async def all_shortest_paths():
    adapter = await filled()
    await adapter.project_entire_graph()
    try:
        equal(max(await get_shortest_path_lengths(adapter, "myGraph")), 1.0, "diameter")
    finally:
        await adapter.drop_graph()
        await adapter.close()


run("cognee")
