"""LightRAG's graph store: nodes, edges, batches, subgraphs, labels found by full text."""

import os
import tempfile

from case import DATABASE, PASSWORD, URI, USER, case, counts, embed, equal, rows, run, value

os.environ.update(NEO4J_URI=URI, NEO4J_USERNAME=USER, NEO4J_PASSWORD=PASSWORD, NEO4J_DATABASE=DATABASE)

import numpy
from lightrag.kg.neo4j_impl import Neo4JStorage
from lightrag.kg.shared_storage import initialize_share_data
from lightrag.utils import EmbeddingFunc

initialize_share_data()

ENTITIES = ["Alice", "Bob", "Carol", "Acme Corp", "Acme Labs", "New York", "北京大学", "北京", "state-of-the-art"]
EDGES = [("Alice", "Bob", "knows", 1.0), ("Bob", "Carol", "knows", 2.0), ("Alice", "Acme Corp", "works at", 3.0),
         ("Acme Corp", "Acme Labs", "owns", 1.0), ("Acme Corp", "New York", "is in", 1.0),
         ("北京大学", "北京", "位于", 1.0)]


async def embedded(texts):
    return numpy.array([embed(text) for text in texts])


async def opened(workspace="notes"):
    store = Neo4JStorage("chunk_entity_relation", {"max_graph_nodes": 100},
                         EmbeddingFunc(embedding_dim=64, max_token_size=999, func=embedded), workspace=workspace)
    await store.initialize()
    return store


def node(name):
    return {"entity_id": name, "entity_type": "person" if name in ("Alice", "Bob", "Carol") else "thing",
            "description": f"about {name}", "source_id": "chunk-1<SEP>chunk-2", "created_at": 1700000000}


async def filled(workspace="notes"):
    store = await opened(workspace)
    for name in ENTITIES:
        await store.upsert_node(name, node(name))
    for start, end, words, weight in EDGES:
        await store.upsert_edge(start, end, {"weight": weight, "keywords": words, "source_id": "chunk-1"})
    return store


@case
async def set_up():
    store = await opened()
    equal(rows("SHOW FULLTEXT INDEXES YIELD name, labelsOrTypes, properties, options "
               "RETURN name, labelsOrTypes, properties, options.indexConfig['fulltext.analyzer'], "
               "options.indexConfig['fulltext.eventually_consistent']"),
          [["entity_id_fulltext_idx_notes", ["notes"], ["entity_id"], "cjk", True]], "index")
    equal(value("SHOW RANGE INDEXES YIELD labelsOrTypes, properties RETURN [labelsOrTypes, properties]"),
          [["notes"], ["entity_id"]], "range index")
    await store.finalize()
    store = await opened()  # Finds it.
    await store.finalize()


@case
async def nodes_and_edges():
    store = await filled()
    await store.upsert_node("Alice", {**node("Alice"), "description": "changed"})
    equal(counts()[1], {"DIRECTED": len(EDGES)}, "edges")
    equal(value("MATCH (n:notes) RETURN count(n)"), len(ENTITIES), "nodes")
    equal(value("MATCH (n:notes {entity_type: 'person'}) RETURN count(n)"), 3, "people")
    equal((await store.get_node("Alice"))["description"], "changed", "node")
    equal(await store.get_node("Nobody"), None, "no node")
    equal((await store.has_node("Bob"), await store.has_node("Nobody")), (True, False), "has a node")
    equal((await store.has_edge("Bob", "Alice"), await store.has_edge("Bob", "New York")), (True, False), "has an edge")
    equal((await store.node_degree("Alice"), await store.node_degree("state-of-the-art")), (2, 0), "degree")
    equal(await store.edge_degree("Alice", "Acme Corp"), 5, "degree of an edge")
    edge = await store.get_edge("Carol", "Bob")
    equal((edge["weight"], edge["keywords"]), (2.0, "knows"), "edge")
    equal(sorted(await store.get_node_edges("Acme Corp")),
          [("Acme Corp", "Acme Labs"), ("Acme Corp", "Alice"), ("Acme Corp", "New York")], "edges of a node")
    await store.finalize()


@case
async def batches():
    store = await opened()
    await store.upsert_nodes_batch([(name, node(name)) for name in ENTITIES])
    await store.upsert_edges_batch([(start, end, {"weight": weight, "keywords": words})
                                    for start, end, words, weight in EDGES])
    equal(counts()[1], {"DIRECTED": len(EDGES)}, "edges")
    equal(await store.has_nodes_batch(["Alice", "Nobody", "北京"]), {"Alice", "北京"}, "has nodes")
    found = await store.get_nodes_batch(["Alice", "Bob", "Nobody"])
    equal({name: entry["entity_type"] for name, entry in found.items()}, {"Alice": "person", "Bob": "person"}, "nodes")
    equal(await store.node_degrees_batch(["Alice", "Bob", "state-of-the-art"]),
          {"Alice": 2, "Bob": 2, "state-of-the-art": 0}, "degrees")
    equal(await store.edge_degrees_batch([("Alice", "Bob"), ("Bob", "Carol")]),
          {("Alice", "Bob"): 4, ("Bob", "Carol"): 3}, "degrees of edges")
    found = await store.get_edges_batch([{"src": "Alice", "tgt": "Bob"}, {"src": "Acme Corp", "tgt": "Alice"}])
    equal({pair: entry["weight"] for pair, entry in found.items()}, {("Alice", "Bob"): 1.0,
          ("Acme Corp", "Alice"): 3.0}, "edges")
    found = await store.get_nodes_edges_batch(["Bob", "北京"])
    equal({name: sorted(edges) for name, edges in found.items()},
          {"Bob": [("Alice", "Bob"), ("Bob", "Carol")], "北京": [("北京大学", "北京")]}, "edges of nodes")
    equal(len(await store.get_all_nodes()), len(ENTITIES), "all nodes")
    equal({frozenset((edge["source"], edge["target"])) for edge in await store.get_all_edges()},
          {frozenset((start, end)) for start, end, _, _ in EDGES}, "all edges")
    equal(await store.get_all_labels(), sorted(ENTITIES), "labels")
    equal((await store.get_popular_labels(limit=1)), ["Acme Corp"], "the most popular label")
    await store.finalize()


def names(graph):
    return {entry.labels[0] for entry in graph.nodes}


def ends(graph):
    by_id = {entry.id: entry.labels[0] for entry in graph.nodes}
    return {(by_id[edge.source], by_id[edge.target]) for edge in graph.edges}


@case
async def knowledge_graph():
    store, other = await filled(), await filled("other")
    without_apoc, store._robust_fallback = store._robust_fallback, None  # Not taken unseen.
    graph = await store.get_knowledge_graph("Alice", max_depth=1)
    equal((names(graph), graph.is_truncated), ({"Alice", "Bob", "Acme Corp"}, False), "one step")
    equal(ends(graph), {("Alice", "Bob"), ("Alice", "Acme Corp")}, "edges of one step")
    graph = await store.get_knowledge_graph("Alice", max_depth=2)
    equal(names(graph), {"Alice", "Bob", "Carol", "Acme Corp", "Acme Labs", "New York"}, "two steps")
    equal(ends(graph), {(start, end) for start, end, _, _ in EDGES[:5]}, "edges of two steps")
    graph = await store.get_knowledge_graph("Carol", max_depth=3, max_nodes=3)
    equal((names(graph), graph.is_truncated), ({"Carol", "Bob", "Alice"}, True), "cut off, nearest first")
    graph = await store.get_knowledge_graph("*")
    equal((len(graph.nodes), len(graph.edges)), (len(ENTITIES), len(EDGES)), "everything")
    graph = await store.get_knowledge_graph("*", max_nodes=2)
    equal((names(graph), graph.is_truncated), ({"Acme Corp", "Alice"}, True), "the two of highest degree")
    equal(len((await store.get_knowledge_graph("Nobody")).nodes), 0, "nothing")
    graph = await without_apoc("Alice", 2, 100)
    equal(names(graph), {"Alice", "Bob", "Carol", "Acme Corp", "Acme Labs", "New York"}, "without APOC")
    await store.finalize()
    await other.finalize()


@case
async def labels_found():
    store = await filled()
    rows("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    equal(await store.search_labels("acme"), ["Acme Corp", "Acme Labs"], "a word")
    equal(await store.search_labels("Acm"), ["Acme Corp", "Acme Labs"], "a prefix")
    equal((await store.search_labels("acme labs"))[0], "Acme Labs", "the exact one first")
    equal(await store.search_labels("york"), ["New York"], "a second word")
    equal((await store.search_labels("北京"))[0], "北京", "Chinese")
    equal(set(await store.search_labels("北京大学")), {"北京大学", "北京"}, "Chinese of two words")
    equal(await store.search_labels("京大"), ["北京大学"], "two characters in the middle")
    equal(await store.search_labels("state-of-"), ["state-of-the-art"], "signs of the query language")
    equal(await store.search_labels("---"), [], "nothing but signs")
    equal(len(await store.search_labels("acme", limit=1)), 1, "limit")
    await store.finalize()


@case
async def removal():
    store, other = await filled(), await filled("other")
    await store.delete_node("Alice")
    await store.remove_nodes(["Bob", "Nobody"])
    await store.remove_edges([("Acme Corp", "New York"), ("Nobody", "Carol")])
    equal(value("MATCH (n:notes) RETURN count(n)"), len(ENTITIES) - 2, "nodes")
    equal(value("MATCH (:notes)-[r]->(:notes) RETURN count(r)"), 2, "edges")
    equal(await store.search_labels("alice"), [], "found what is gone")
    equal((await store.drop())["status"], "success", "drop")
    equal(value("MATCH (n) RETURN count(n)"), len(ENTITIES), "the other workspace stays")
    await store.finalize()
    await other.finalize()


@case
async def insert_and_query():
    """The whole of LightRAG: a text is cut, read by a model, stored and asked."""
    from lightrag import LightRAG, QueryParam
    from lightrag.utils import Tokenizer

    class Characters:
        def encode(self, text):
            return [ord(character) for character in text]

        def decode(self, tokens):
            return "".join(map(chr, tokens))

    def entity(name, kind):
        return f"entity<|#|>{name}<|#|>{kind}<|#|>{name} is a {kind}"

    extraction = "\n".join([
        entity("Ada Lovelace", "person"), entity("Charles Babbage", "person"), entity("Analytical Engine", "machine"),
        "relation<|#|>Ada Lovelace<|#|>Analytical Engine<|#|>programming<|#|>Ada Lovelace wrote programs for it",
        "relation<|#|>Charles Babbage<|#|>Analytical Engine<|#|>design<|#|>Charles Babbage designed it",
        "<|COMPLETE|>"])
    asked = []

    async def model(prompt, system_prompt=None, history_messages=(), keyword_extraction=False, **settings):
        asked.append((prompt, system_prompt))
        if keyword_extraction or "high_level_keywords" in prompt:
            return '{"high_level_keywords": ["programming"], "low_level_keywords": ["Ada Lovelace"]}'
        if "entity<|#|>" in f"{prompt}{system_prompt}" or "<|COMPLETE|>" in f"{prompt}{system_prompt}":
            return extraction if not history_messages else "<|COMPLETE|>"
        return "She wrote programs."

    with tempfile.TemporaryDirectory() as folder:
        rag = LightRAG(
            working_dir=folder, graph_storage="Neo4JStorage", workspace="whole", llm_model_func=model,
            llm_model_name="table", tokenizer=Tokenizer("characters", Characters()),
            embedding_func=EmbeddingFunc(embedding_dim=64, max_token_size=999, func=embedded))
        await rag.initialize_storages()
        await rag.ainsert("Ada Lovelace wrote programs for the Analytical Engine that Charles Babbage designed.")
        equal(sorted(name for [name] in rows("MATCH (n:whole) RETURN n.entity_id")),
              ["Ada Lovelace", "Analytical Engine", "Charles Babbage"], "entities")
        equal(counts()[1], {"DIRECTED": 2}, "relations")
        answer = await rag.aquery("What did Ada Lovelace do?", param=QueryParam(mode="local"))
        equal(answer, "She wrote programs.", "answer")
        equal("Ada Lovelace wrote programs for it" in f"{asked[-1]}", True, "the graph is in the last prompt")
        graph = await rag.get_knowledge_graph("Ada Lovelace", max_depth=2)
        equal(names(graph), {"Ada Lovelace", "Analytical Engine", "Charles Babbage"}, "graph")
        await rag.adelete_by_entity("Charles Babbage")
        equal(value("MATCH (n:whole) RETURN count(n)"), 2, "after an entity was deleted")
        await rag.finalize_storages()


run("lightrag")
