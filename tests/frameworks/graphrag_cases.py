"""neo4j-graphrag: knowledge graphs from text, entity resolution, schema, full-text, retrievers."""

import json

import neo4j
from case import (DATABASE, PASSWORD, URI, USER, VECTOR_INDEX, VECTOR_INDEX_ERROR, case, counts, embed, equal, rows,
                  run, value)
from neo4j_graphrag.components.kg_writer import Neo4jWriter
from neo4j_graphrag.components.neo4j_reader import Neo4jChunkReader
from neo4j_graphrag.components.resolver import FuzzyMatchResolver, SinglePropertyExactMatchResolver
from neo4j_graphrag.components.types import Neo4jGraph, Neo4jNode, Neo4jRelationship
from neo4j_graphrag.embeddings import Embedder
from neo4j_graphrag.exceptions import Text2CypherRetrievalError
from neo4j_graphrag.experimental.pipeline.kg_builder import SimpleKGPipeline
from neo4j_graphrag.generation import GraphRAG
from neo4j_graphrag.indexes import (create_fulltext_index, create_vector_index, drop_index_if_exists,
                                    retrieve_fulltext_index_info, retrieve_vector_index_info, upsert_vectors)
from neo4j_graphrag.llm import LLMInterface, LLMResponse
from neo4j_graphrag.message_history import Neo4jMessageHistory
from neo4j_graphrag.neo4j_queries import FULL_TEXT_SEARCH_QUERY
from neo4j_graphrag.retrievers import (HybridCypherRetriever, HybridRetriever, Text2CypherRetriever,
                                       VectorCypherRetriever, VectorRetriever)
from neo4j_graphrag.schema import get_schema, get_structured_schema
from neo4j_graphrag.types import EntityType, LLMMessage

TEXT = ("The son of Duke Leto Atreides and the Lady Jessica, Paul is the heir of House Atreides, "
        "an aristocratic family that rules the planet Caladan.")


def entity(name, label, at, **properties):
    return {"id": str(at), "label": label, "properties": {"name": name, **properties}}


def edge(kind, start, end, **properties):
    return {"type": kind, "start_node_id": str(start), "end_node_id": str(end), "properties": properties}


EXTRACTED = {
    "nodes": [entity("Leto Atreides", "Person", 0, title="Duke"), entity("Jessica", "Person", 1),
              entity("Paul", "Person", 2), entity("House Atreides", "House", 3), entity("Caladan", "Planet", 4),
              # Found twice: what the resolver merges.
              entity("Paul", "Person", 5, age=15), entity("Caladan", "Planet", 6)],
    "relationships": [edge("PARENT_OF", 0, 2), edge("PARENT_OF", 1, 2), edge("PARENT_OF", 0, 5),
                      edge("HEIR_OF", 2, 3, certain=True), edge("RULES", 3, 4), edge("RULES", 3, 6, since=0)],
}
SCHEMA = {
    "node_types": ["Person", "House", "Planet"],
    "relationship_types": ["PARENT_OF", "HEIR_OF", "RULES"],
    "patterns": [("Person", "PARENT_OF", "Person"), ("Person", "HEIR_OF", "House"), ("House", "RULES", "Planet")],
}


class Model(LLMInterface):
    """Says what it is told to."""

    def __init__(self, answer):
        super().__init__("table")
        self.answer = answer if isinstance(answer, str) else json.dumps(answer)

    def invoke(self, input, message_history=None, system_instruction=None):
        return LLMResponse(content=self.answer)

    async def ainvoke(self, input, message_history=None, system_instruction=None):
        return self.invoke(input)


class Words(Embedder):
    def embed_query(self, text):
        return embed(text)


def driver():
    return neo4j.GraphDatabase.driver(URI, auth=(USER, PASSWORD))


async def built(connected, **settings):
    pipeline = SimpleKGPipeline(llm=Model(EXTRACTED), driver=connected, embedder=Words(), schema=SCHEMA,
                                from_file=False, on_error="RAISE", neo4j_database=DATABASE, **settings)
    return await pipeline.run_async(text=TEXT)


@case
async def knowledge_graph_pipeline():
    with driver() as connected:
        result = await built(connected)
    equal(result.result["resolver"]["number_of_nodes_to_resolve"], 7, "nodes to resolve")
    nodes, relationships = counts()
    equal(nodes, {"Chunk:__KGBuilder__": 1, "Document:__KGBuilder__": 1, "House:__Entity__:__KGBuilder__": 1,
                  "Person:__Entity__:__KGBuilder__": 3, "Planet:__Entity__:__KGBuilder__": 1}, "nodes")
    equal(relationships, {"FROM_CHUNK": 5, "FROM_DOCUMENT": 1, "HEIR_OF": 1, "PARENT_OF": 2, "RULES": 1}, "edges")
    equal(rows("MATCH (a:__Entity__)-[r]->(b:__Entity__) RETURN a.name, type(r), properties(r), b.name "
               "ORDER BY a.name, type(r)"), [
        ["House Atreides", "RULES", {"since": 0}, "Caladan"], ["Jessica", "PARENT_OF", {}, "Paul"],
        ["Leto Atreides", "PARENT_OF", {}, "Paul"], ["Paul", "HEIR_OF", {"certain": True}, "House Atreides"],
    ], "facts")
    equal(value("MATCH (p:Person {name: 'Paul'}) RETURN p.age"), 15, "a property of the second Paul")
    equal(value("MATCH (c:Chunk) RETURN [c.text, c.index]"), [TEXT, 0], "chunk")
    equal(value("MATCH (c:Chunk) RETURN vector.similarity.cosine(c.embedding, $v) > 0.9999", v=embed(TEXT)), True,
          "embedding of the chunk")
    equal(value("MATCH (n) WHERE n.__tmp_internal_id IS NOT NULL RETURN count(n)"), 0, "ids that are cleaned")
    equal(value("SHOW INDEXES YIELD name WHERE name = '__entity__tmp_internal_id' RETURN count(*)"), 1, "index")


@case
async def pipeline_without_resolution():
    with driver() as connected:
        await built(connected, perform_entity_resolution=False)
        nodes, relationships = counts()
        equal(nodes["Person:__Entity__:__KGBuilder__"], 4, "people")
        equal(relationships, {"FROM_CHUNK": 7, "FROM_DOCUMENT": 1, "HEIR_OF": 1, "PARENT_OF": 3, "RULES": 2}, "edges")
        chunks = await Neo4jChunkReader(connected, neo4j_database=DATABASE, fetch_embeddings=True).run()
    equal([(chunk.text, chunk.index, len(chunk.metadata["embedding"])) for chunk in chunks.chunks], [(TEXT, 0, 64)],
          "chunks that are read")


@case
async def writer_with_embeddings():
    graph = Neo4jGraph(
        nodes=[Neo4jNode(id="a", label="Person", properties={"name": "Ada"},
                         embedding_properties={"v": embed("Ada"), "w": embed("ada", 8)}),
               Neo4jNode(id="b", label="Engine", properties={"name": "Analytical Engine"})],
        relationships=[Neo4jRelationship(start_node_id="a", end_node_id="b", type="PROGRAMS",
                                         properties={"year": 1843}, embedding_properties={"v": embed("programs")})])
    with driver() as connected:
        result = await Neo4jWriter(connected, neo4j_database=DATABASE).run(graph)
        equal(result.status, "SUCCESS", f"{result.metadata}")
        # Again: nodes are made anew, relationships between them, too.
        equal((await Neo4jWriter(connected, neo4j_database=DATABASE).run(graph)).status, "SUCCESS", "again")
    equal(counts(), ({"Engine:__Entity__:__KGBuilder__": 2, "Person:__Entity__:__KGBuilder__": 2}, {"PROGRAMS": 2}),
          "counts")
    equal(rows("MATCH (a)-[r]->(b) RETURN DISTINCT size(a.v), size(a.w), size(r.v), b.v, r.year"),
          [[64, 8, 64, None, 1843]], "sizes")


@case
async def resolvers():
    rows("CREATE (:__Entity__:Person {name: 'Ada Lovelace', born: 1815})-[:WROTE {year: 1843}]->(p:Program {id: 1}) "
         "CREATE (:__Entity__:Person {name: 'Ada Lovelace', born: 1, died: 1852})-[:WROTE {pages: 20}]->(p) "
         "CREATE (:__Entity__:Person {name: 'Ada  Lovelace.'})-[:KNOWS]->(:__Entity__:Person {name: 'Babbage'}) "
         "CREATE (:__Entity__:Ship {name: 'Ada Lovelace'}), (:__Entity__:Ship {flag: 'UK'})")
    with driver() as connected:
        result = await SinglePropertyExactMatchResolver(connected, neo4j_database=DATABASE).run()
        equal((result.number_of_nodes_to_resolve, result.number_of_created_nodes), (6, 4), "exact")
        equal(rows("MATCH (p:Person {name: 'Ada Lovelace'}) RETURN p.born, p.died"), [[1815, 1852]], "properties")
        equal(rows("MATCH (p:Person {name: 'Ada Lovelace'})-[w:WROTE]->() RETURN properties(w)"),
              [[{"year": 1843, "pages": 20}]], "relationships")
        result = await FuzzyMatchResolver(connected, similarity_threshold=0.8, neo4j_database=DATABASE).run()
        equal(result.number_of_created_nodes, 1, "fuzzy")
        equal(rows("MATCH (p:Person)-[r]->() RETURN p.died, collect(type(r)) AS types"), [[1852, ["WROTE", "KNOWS"]]]
              if value("MATCH (p:Person)-[r]->() RETURN collect(type(r))[0]") == "WROTE"
              else [[1852, ["KNOWS", "WROTE"]]], "relationships of both")


def shelf():
    """Books, and a full-text index over them."""
    rows("UNWIND $books AS book CREATE (b:Book {title: book[0], plot: book[1], at: book[2]}) "
         "WITH b, book CALL db.create.setNodeVectorProperty(b, 'embedding', book[3]) RETURN count(*)",
         books=[[title, plot, at, embed(f"{title} {plot}")] for at, (title, plot) in enumerate(BOOKS)])


BOOKS = [("Dune", "A desert planet, and the spice that everybody wants"),
         ("Emma", "A young woman finds husbands for others"),
         ("Solaris", "An ocean that thinks covers a planet"),
         ("The Spice Route", "Merchants sail to the islands of nutmeg")]


@case
def full_text_indexes():
    shelf()
    with driver() as connected:
        create_fulltext_index(connected, "books", "Book", ["title", "plot"], neo4j_database=DATABASE)
        create_fulltext_index(connected, "books", "Book", ["title", "plot"], neo4j_database=DATABASE)  # IF NOT EXISTS
        info = retrieve_fulltext_index_info(connected, "books", "Book", ["title", "plot"])
        equal(info and (info["name"], info["entityType"], info["labelsOrTypes"], sorted(info["properties"])),
              ("books", "NODE", ["Book"], ["plot", "title"]), "info")

        def search(text, top_k=10):
            records = connected.execute_query(
                FULL_TEXT_SEARCH_QUERY + " RETURN node.title AS title, score", database_=DATABASE,
                parameters_={"fulltext_index_name": "books", "query_text": text, "top_k": top_k}).records
            scores = [record["score"] for record in records]
            equal(scores, sorted(scores, reverse=True), "order of scores")
            return [record["title"] for record in records]

        equal(set(search("spice")), {"Dune", "The Spice Route"}, "a word")
        equal(len(search("planet OR spice", top_k=2)), 2, "the best two")
        equal(search("+planet -spice"), ["Solaris"], "must and must not")
        equal(search('"desert planet"'), ["Dune"], "phrase")
        equal(search("title:spice"), ["The Spice Route"], "field")
        equal(set(search("solar* emm?")), {"Solaris", "Emma"}, "wildcards")
        equal(search("nutmgh~"), ["The Spice Route"], "fuzzy")
        drop_index_if_exists(connected, "books", neo4j_database=DATABASE)
        drop_index_if_exists(connected, "books", neo4j_database=DATABASE)
        equal(retrieve_fulltext_index_info(connected, "books", "Book", ["title", "plot"]), None, "after the drop")


@case
def upserted_vectors():
    shelf()
    with driver() as connected:
        ids = [id for [id] in rows("MATCH (b:Book) RETURN elementId(b) ORDER BY b.at")]
        upsert_vectors(connected, ids, "other", [embed(title, 16) for title, _ in BOOKS], neo4j_database=DATABASE)
        equal(rows("MATCH (b:Book) RETURN b.title ORDER BY vector.similarity.cosine(b.other, $v) DESC LIMIT 1",
                   v=embed("Emma", 16)), [["Emma"]], "nearest")
        rows("MATCH (a:Book {at: 0}), (b:Book {at: 1}) CREATE (a)-[:BEFORE]->(b)")
        ids = [id for [id] in rows("MATCH ()-[r:BEFORE]->() RETURN elementId(r)")]
        upsert_vectors(connected, ids, "v", [embed("before")], DATABASE, EntityType.RELATIONSHIP)
        equal(value("MATCH ()-[r:BEFORE]->() RETURN size(r.v)"), 64, "of a relationship")


@case
def schema():
    rows("CREATE (:Person {name: 'Ada', born: date('1815-12-10')})-[:KNOWS {since: 1833}]->(:Person {name: 'Charles'})"
         "-[:BUILT]->(:Engine {weight: 2.5, parts: ['a', 'b'], at: point({x: 1, y: 2})})")
    rows("CREATE CONSTRAINT person_name FOR (p:Person) REQUIRE p.name IS UNIQUE")
    with driver() as connected:
        text = get_schema(connected, database=DATABASE)
        for line in ("Person {name: STRING, born: DATE}", "Engine {", "KNOWS {since: INTEGER}",
                     "(:Person)-[:KNOWS]->(:Person)", "(:Person)-[:BUILT]->(:Engine)"):
            alternative = line.replace("{name: STRING, born: DATE}", "{born: DATE, name: STRING}")
            equal(line in text or alternative in text, True, f"{line!r} in {text!r}")
        found = get_structured_schema(connected, is_enhanced=True, database=DATABASE)
        equal({entry["property"]: entry["type"] for entry in found["node_props"]["Engine"]},
              {"at": "POINT", "parts": "LIST", "weight": "FLOAT"}, "types")
        [name] = [entry for entry in found["node_props"]["Person"] if entry["property"] == "name"]
        equal((sorted(name["values"]), name["distinct_count"]), (["Ada", "Charles"], 2), "values")
        equal([entry["labelsOrTypes"] for entry in found["metadata"]["constraint"]], [["Person"]], "constraints")
        equal([entry["label"] for entry in found["metadata"]["index"]], ["Person"], "indexes")


@case
def text_to_cypher():
    shelf()
    with driver() as connected:
        query = "MATCH (b:Book) WHERE b.plot CONTAINS 'planet' RETURN b.title AS title ORDER BY title"
        retriever = Text2CypherRetriever(connected, Model(f"```cypher\n{query}\n```"), neo4j_database=DATABASE)
        found = retriever.search(query_text="Which books are about planets?")
        equal([item.content for item in found.items], ["<Record title='Dune'>", "<Record title='Solaris'>"], "items")
        equal(found.metadata["cypher"].strip(), query, "query")
        answer = GraphRAG(retriever=retriever, llm=Model("Dune and Solaris.")).search(query_text="Which?")
        equal(answer.answer, "Dune and Solaris.", "answer")
        for query in ("MATCH (b:Book) DETACH DELETE b", "CREATE (:Book)", "CREATE INDEX x FOR (b:Book) ON (b.title)"):
            try:
                Text2CypherRetriever(connected, Model(query), neo4j_database=DATABASE).search(query_text="Delete all")
            except Text2CypherRetrievalError as error:
                equal("Refusing to execute non-read-only Cypher" in str(error), True, f"{error}")
            else:
                raise AssertionError(f"{query} was run")
        try:
            Text2CypherRetriever(connected, Model("MATCH (b:Book RETURN b"), neo4j_database=DATABASE).search(
                query_text="Wrong")
        except Text2CypherRetrievalError as error:
            equal("Failed to get search result" in str(error), True, f"{error}")
        else:
            raise AssertionError("a statement that is wrong was run")
    equal(counts()[0], {"Book": 4}, "books")


@case
def message_history():
    with driver() as connected:
        history = Neo4jMessageHistory(session_id="one", driver=connected, window=2)
        for at in range(4):
            history.add_message(LLMMessage(role="user", content=f"question {at}"))
        equal([message["content"] for message in history.messages],
              ["question 2", "question 3"], "window")
        history.clear(delete_session_node=True)
    equal(counts(), ({}, {}), "after clear")


def vector_indexes(connected):
    shelf()
    create_vector_index(connected, "vectors", "Book", "embedding", 64, "cosine", neo4j_database=DATABASE)
    create_fulltext_index(connected, "books", "Book", ["title", "plot"], neo4j_database=DATABASE)


@case
def vector_index():
    with driver() as connected:
        vector_indexes(connected)
        info = retrieve_vector_index_info(connected, "vectors", "Book", "embedding")
        equal(info["options"]["indexConfig"]["vector.dimensions"], 64, "dimensions")


@case
def vector_retrievers():
    with driver() as connected:
        vector_indexes(connected)
        retriever = VectorRetriever(connected, "vectors", Words(), ["title"], neo4j_database=DATABASE)
        found = retriever.search(query_text="A young woman finds husbands for others", top_k=1)
        equal(found.items[0].content, "{'title': 'Emma'}", "nearest")
        found = retriever.search(query_text="planet", top_k=1, filters={"at": {"$gte": 1}})
        equal(found.items[0].content, "{'title': 'Solaris'}", "nearest of those that pass a filter")
        retriever = VectorCypherRetriever(connected, "vectors", "RETURN node.title AS title", Words(),
                                          neo4j_database=DATABASE)
        equal(retriever.search(query_text="Emma", top_k=1).items[0].content, "<Record title='Emma'>", "query")


@case
def hybrid_retrievers():
    with driver() as connected:
        vector_indexes(connected)
        retriever = HybridRetriever(connected, "vectors", "books", Words(), ["title"], neo4j_database=DATABASE)
        for settings in ({}, {"ranker": "linear", "alpha": 0.5}):
            found = retriever.search(query_text="spice planet", top_k=2, **settings)
            equal(found.items[0].content, "{'title': 'Dune'}", "best")
        retriever = HybridCypherRetriever(connected, "vectors", "books", "RETURN node.title AS title", Words(),
                                          neo4j_database=DATABASE)
        equal(retriever.search(query_text="spice planet", top_k=1).items[0].content, "<Record title='Dune'>", "query")


run("graphrag")
