"""LlamaIndex's graph stores for Neo4j: property graphs without and with the vector index, and the older store."""

from case import (DATABASE, PASSWORD, URI, USER, VECTOR_INDEX, VECTOR_INDEX_ERROR, case, counts, embed, equal, rows,
                  run, value)
from llama_index.core import Document, PropertyGraphIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.indices.property_graph import ImplicitPathExtractor, TextToCypherRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.llms.custom import CustomLLM
from llama_index.core.llms import CompletionResponse, LLMMetadata
from llama_index.core.schema import TransformComponent
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery
from llama_index.graph_stores.neo4j import Neo4jGraphStore, Neo4jPropertyGraphStore


class Words(BaseEmbedding):
    def _get_query_embedding(self, query):
        return embed(query)

    async def _aget_query_embedding(self, query):
        return embed(query)

    def _get_text_embedding(self, text):
        return embed(text)


def opened(**settings):
    return Neo4jPropertyGraphStore(username=USER, password=PASSWORD, url=URI, database=DATABASE,
                                   **{"create_indexes": False, **settings})


def entities():
    return [EntityNode(label="PERSON", name="Logan", properties={"age": 28, "triplet_source_id": "chunk"},
                       embedding=embed("Logan")),
            EntityNode(label="ORGANIZATION", name="LlamaIndex", properties={"nothing": None},
                       embedding=embed("LlamaIndex")),
            EntityNode(label="CITY", name="New York", properties={"size": 8.3})]


def filled(**settings):
    store = opened(**settings)
    store.upsert_nodes([ChunkNode(id_="chunk", text="Logan works at LlamaIndex.", properties={"page": 1},
                                  embedding=embed("Logan works at LlamaIndex."))])
    people = entities()
    store.upsert_nodes(people)
    store.upsert_relations([
        Relation(label="WORKS_FOR", source_id=people[0].id, target_id=people[1].id, properties={"since": 2023}),
        Relation(label="IS_IN", source_id=people[1].id, target_id=people[2].id)])
    return store


@case
def property_graph_store():
    store = filled()
    filled()  # Nothing is doubled.
    nodes, relationships = counts()
    equal(nodes, {"CITY:__Entity__:__Node__": 1, "Chunk:__Node__": 1, "ORGANIZATION:__Entity__:__Node__": 1,
                  "PERSON:__Entity__:__Node__": 1}, "nodes")
    equal(relationships, {"IS_IN": 1, "MENTIONS": 1, "WORKS_FOR": 1}, "relationships")
    equal(value("MATCH (n {name: 'LlamaIndex'}) RETURN n.nothing IS NULL AND size(n.embedding) = 64"), True, "node")
    [found] = store.get(ids=["Logan"])
    equal((found.name, found.properties["age"], "embedding" in found.properties), ("Logan", 28, False), "by id")
    [found] = store.get(ids=["chunk"])
    equal((type(found).__name__, found.text, found.properties["page"]), ("ChunkNode", "Logan works at LlamaIndex.", 1),
          "chunk")
    equal([node.name for node in store.get(properties={"age": 28})], ["Logan"], "by a property")
    store.delete(entity_names=["New York"], relation_names=["WORKS_FOR"])
    equal(counts()[1], {"MENTIONS": 1}, "after a delete")
    store.close()


def names(triplets):
    return sorted((source.name, relation.label, target.name) for source, relation, target in triplets)


@case
def triplets():
    store = filled()
    equal(names(store.get_triplets(entity_names=["LlamaIndex"])),
          [("LlamaIndex", "IS_IN", "New York"), ("Logan", "WORKS_FOR", "LlamaIndex")], "of an entity")
    equal(names(store.get_triplets(relation_names=["WORKS_FOR"])), [("Logan", "WORKS_FOR", "LlamaIndex")] * 2,
          "of a type, from both ends")
    equal(names(store.get_triplets(properties={"size": 8.3})), [("LlamaIndex", "IS_IN", "New York")], "by a property")
    [found] = {relation.properties["since"] for _, relation, _ in store.get_triplets(relation_names=["WORKS_FOR"])}
    equal(found, 2023, "properties")
    # Nodes that are mentioned stand in the map with the label of their kind.
    equal(names(store.get_rel_map([entities()[0]], depth=2)),
          [("LlamaIndex", "IS_IN", "New York"), ("Logan", "WORKS_FOR", "LlamaIndex")], "two steps")
    equal(names(store.get_rel_map([entities()[0]], depth=1, ignore_rels=["IS_IN"])),
          [("Logan", "WORKS_FOR", "LlamaIndex")], "one step")
    store.close()


@case
def vectors_with_filters():
    """With a filter it scans with cosine; without one it asks the vector index."""
    store = filled()
    found, scores = store.vector_query(VectorStoreQuery(
        query_embedding=embed("Logan"), similarity_top_k=2,
        filters=MetadataFilters(filters=[MetadataFilter(key="age", value=20, operator=">")])))
    equal([node.name for node in found], ["Logan"], "nearest")
    equal(abs(scores[0] - 1) < 1e-6, True, f"scores {scores}")
    store.close()


@case
def schema():
    filled().close()
    store = opened()
    found = store.get_schema()
    equal(sorted(found["node_props"]), ["CITY", "Chunk", "ORGANIZATION", "PERSON"], "labels")
    equal({entry["property"]: entry["type"] for entry in found["node_props"]["PERSON"]},
          {"age": "INTEGER", "embedding": "LIST", "id": "STRING", "name": "STRING",
           "triplet_source_id": "STRING"}, "properties")
    equal({kind: [(entry["property"], entry["type"]) for entry in properties]
           for kind, properties in found["rel_props"].items()}, {"WORKS_FOR": [("since", "INTEGER")]}, "relationships")
    equal({("PERSON", "WORKS_FOR", "ORGANIZATION"), ("ORGANIZATION", "IS_IN", "CITY")}
          - {(entry["start"], entry["type"], entry["end"]) for entry in found["relationships"]}, set(), "patterns")
    equal("(:PERSON)-[:WORKS_FOR]->(:ORGANIZATION)" in store.get_schema_str(), True, "text")
    [age] = [entry for entry in found["node_props"]["PERSON"] if entry["property"] == "age"]
    equal((age.get("min"), age.get("max"), age.get("distinct_count")), ("28", "28", 1), "values")
    store.close()
    store = opened(enhanced_schema=True, apoc_sample=10)
    equal("Min: 28, Max: 28" in store.get_schema_str() or "28" in store.get_schema_str(), True, "enhanced text")
    store.close()


class Extractor(TransformComponent):
    """Finds what the table has."""

    def __call__(self, nodes, **_):
        for node in nodes:
            people = entities()
            node.metadata["nodes"] = [*node.metadata.get("nodes", []), *people[:2]]
            node.metadata["relations"] = [*node.metadata.get("relations", []), Relation(
                label="WORKS_FOR", source_id=people[0].id, target_id=people[1].id)]
        return nodes


class Cypher(CustomLLM):
    """Says what it is told to."""

    answer: str = ""

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, **_):
        return CompletionResponse(text=self.answer)

    def stream_complete(self, prompt, **_):
        yield self.complete(prompt)


@case
def property_graph_index():
    store = opened()
    index = PropertyGraphIndex.from_documents(
        [Document(text="Logan works at LlamaIndex.", id_="one"), Document(text="New York is a city.", id_="two")],
        property_graph_store=store, kg_extractors=[Extractor(), ImplicitPathExtractor()], embed_model=Words(),
        llm=MockLLM(), show_progress=False)
    # A relationship makes the documents that it leads to, as chunks without a text.
    equal(value("MATCH (c:Chunk) RETURN [count(c), count(c.text)]"), [4, 2], "chunks")
    equal(value("MATCH (:Chunk)-[:MENTIONS]->(e:__Entity__) RETURN count(*)"), 4, "mentions")
    equal(value("MATCH (:Chunk)-[:SOURCE]->(d) RETURN count(DISTINCT d)"), 2, "documents")
    retriever = TextToCypherRetriever(
        index.property_graph_store,
        llm=Cypher(answer="MATCH (p:PERSON)-[:WORKS_FOR]->(o) RETURN p.name AS who, o.name AS where_"))
    [found] = retriever.retrieve("Where does Logan work?")
    equal("{'who': 'Logan', 'where_': 'LlamaIndex'}" in found.text, True, found.text)
    store.close()


@case
def older_store():
    store = Neo4jGraphStore(username=USER, password=PASSWORD, url=URI, database=DATABASE)
    equal(rows("SHOW CONSTRAINTS YIELD labelsOrTypes, properties RETURN labelsOrTypes, properties"),
          [[["Entity"], ["id"]]], "constraint")
    for triplet in (("Ada", "knows", "Bob"), ("Bob", "lives in", "Oslo"), ("Ada", "knows", "Bob")):
        store.upsert_triplet(*triplet)
    equal(counts(), ({"Entity": 3}, {"KNOWS": 1, "LIVES_IN": 1}), "counts")
    equal(store.get("Ada"), [["KNOWS", "Bob"]], "of a subject")
    found = store.get_rel_map(["Ada"], depth=2)
    equal({key: sorted(map(str, paths)) for key, paths in found.items()},
          {"Ada": ["['KNOWS', 'Bob', 'LIVES_IN', 'Oslo']", "['KNOWS', 'Bob']"]}, "map")
    store.delete("Bob", "LIVES_IN", "Oslo")
    # It means to delete nodes without edges, and counts the rows of a count.
    equal(counts(), ({"Entity": 3}, {"KNOWS": 1}), "after a delete")
    equal("Entity" in store.get_schema(refresh=True), True, "schema")
    store.close()


@case
def statement_in_transactions():
    store = opened()
    store.structured_query("UNWIND range(1, 25) AS at CALL (at) { CREATE (:Row {at: at}) } IN TRANSACTIONS OF 10 ROWS")
    equal(counts()[0], {"Row": 25}, "nodes")
    store.close()


@case
def with_indexes():
    filled(create_indexes=True).close()


@case
def vectors_without_filters():
    store = filled(create_indexes=True)
    found, _ = store.vector_query(VectorStoreQuery(query_embedding=embed("Logan"), similarity_top_k=1))
    equal([node.name for node in found], ["Logan"], "nearest")


run("llamaindex")
