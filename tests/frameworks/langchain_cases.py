"""langchain-neo4j: graph documents in both label modes, the schema, chains, histories and checkpoints."""

import os

os.environ["LANGSMITH_TRACING"] = "false"

from case import (DATABASE, PASSWORD, URI, USER, VECTOR_INDEX, VECTOR_INDEX_ERROR, case, counts, embed, equal, rows,
                  run, value)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_neo4j import (GraphCypherQAChain, Neo4jChatMessageHistory, Neo4jGraph, Neo4jVector)
from langchain_neo4j.graphs.graph_document import GraphDocument, Node, Relationship


class Words(Embeddings):
    def embed_query(self, text):
        return embed(text)

    def embed_documents(self, texts):
        return [embed(text) for text in texts]


def opened(**settings):
    return Neo4jGraph(url=URI, username=USER, password=PASSWORD, database=DATABASE, **settings)


def documents():
    """Two texts that share an entity, with properties and a type that needs quoting."""
    marie = Node(id="Marie Curie", type="Person", properties={"born": 1867, "tags": ["physics", "chemistry"]})
    pierre = Node(id="Pierre Curie", type="Person", properties={"born": 1859})
    paris = Node(id="University of Paris", type="Higher `Education`", properties={"city": "Paris"})
    radium = Node(id="radium", type="Element", properties={})
    first = GraphDocument(
        nodes=[marie, pierre, paris],
        relationships=[Relationship(source=marie, target=pierre, type="married to", properties={"year": 1895}),
                       Relationship(source=marie, target=paris, type="works at", properties={})],
        source=Document(page_content="Marie Curie married Pierre in 1895 and worked in Paris.",
                        metadata={"id": "first", "page": 1}))
    second = GraphDocument(
        nodes=[Node(id="Marie Curie", type="Person", properties={"nobel": 2}), radium],
        relationships=[Relationship(source=marie, target=radium, type="discovered", properties={"year": 1898})],
        source=Document(page_content="Marie Curie discovered radium in 1898.", metadata={"page": 2}))
    return [first, second]


def imported(graph, **settings):
    graph.add_graph_documents(documents(), **settings)
    graph.add_graph_documents(documents(), **settings)  # Nothing is doubled.


RELATIONSHIPS = [["Marie Curie", "DISCOVERED", {"year": 1898}, "radium"],
                 ["Marie Curie", "MARRIED_TO", {"year": 1895}, "Pierre Curie"],
                 ["Marie Curie", "WORKS_AT", {}, "University of Paris"]]


def check_relationships():
    equal(rows("MATCH (a)-[r]->(b) WHERE NOT a:Document RETURN a.id, type(r), properties(r), b.id "
               "ORDER BY type(r)"), RELATIONSHIPS, "relationships")


@case
def graph_documents():
    graph = opened()
    imported(graph)
    equal(counts()[0], {"Element": 1, "Higher Education": 1, "Person": 2}, "nodes")
    check_relationships()
    # apoc.merge.node sets properties where it creates only, so the second document's are not there.
    equal(value("MATCH (n:Person {id: 'Marie Curie'}) RETURN properties(n)"),
          {"id": "Marie Curie", "born": 1867, "tags": ["physics", "chemistry"]}, "properties")


@case
def graph_documents_with_source():
    graph = opened()
    imported(graph, include_source=True)
    nodes, relationships = counts()
    equal(nodes, {"Document": 2, "Element": 1, "Higher Education": 1, "Person": 2}, "nodes")
    equal(relationships, {"DISCOVERED": 1, "MARRIED_TO": 1, "MENTIONS": 5, "WORKS_AT": 1}, "relationships")
    equal(value("MATCH (d:Document {id: 'first'}) RETURN d {.text, .page}"),
          {"text": "Marie Curie married Pierre in 1895 and worked in Paris.", "page": 1}, "source")


@case
def graph_documents_with_base_label():
    graph = opened()
    imported(graph, baseEntityLabel=True)
    equal(counts()[0], {"Element:__Entity__": 1, "Higher Education:__Entity__": 1, "Person:__Entity__": 2}, "nodes")
    check_relationships()
    equal(value("MATCH (n:Person {id: 'Marie Curie'}) RETURN n.born + n.nobel"), 1869, "properties of both")
    equal(rows("SHOW CONSTRAINTS YIELD labelsOrTypes, properties, type RETURN labelsOrTypes, properties, type"),
          [[["__Entity__"], ["id"], "UNIQUENESS"]], "constraint")
    equal([entry["labelsOrTypes"] for entry in graph.structured_schema["metadata"]["constraint"]],
          [["__Entity__"]], "constraint in the schema")


@case
def graph_documents_with_base_label_and_source():
    graph = opened()
    imported(graph, baseEntityLabel=True, include_source=True)
    nodes, relationships = counts()
    equal(nodes, {"Document": 2, "Element:__Entity__": 1, "Higher Education:__Entity__": 1, "Person:__Entity__": 2},
          "nodes")
    equal(relationships, {"DISCOVERED": 1, "MARRIED_TO": 1, "MENTIONS": 5, "WORKS_AT": 1}, "relationships")
    check_relationships()


@case
def schema():
    graph = opened()
    imported(graph)
    graph.refresh_schema()
    found = graph.structured_schema
    equal({label: sorted((entry["property"], entry["type"]) for entry in properties)
           for label, properties in found["node_props"].items()}, {
        "Element": [("id", "STRING")],
        "Higher Education": [("city", "STRING"), ("id", "STRING")],
        "Person": [("born", "INTEGER"), ("id", "STRING"), ("tags", "LIST")],
    }, "properties of nodes")
    equal({kind: sorted((entry["property"], entry["type"]) for entry in properties)
           for kind, properties in found["rel_props"].items()},
          {"DISCOVERED": [("year", "INTEGER")], "MARRIED_TO": [("year", "INTEGER")]}, "properties of relationships")
    equal(sorted((entry["start"], entry["type"], entry["end"]) for entry in found["relationships"]), [
        ("Person", "DISCOVERED", "Element"), ("Person", "MARRIED_TO", "Person"),
        ("Person", "WORKS_AT", "Higher Education")], "relationships")
    equal("(:Person)-[:DISCOVERED]->(:Element)" in graph.get_schema, True, "text")


@case
def enhanced_schema():
    imported(opened())
    graph = opened(enhanced_schema=True)
    text = graph.get_schema
    for part in ("`born`: INTEGER", "Min: 1859, Max: 1867", "`city`: STRING", "Paris"):
        equal(part in text, True, f"{part} in {text}")


@case
def question_answering_chain():
    graph = opened()
    imported(graph)
    graph.refresh_schema()  # What the model writes is compared with it.
    # The wrong way round; the chain turns it.
    query = "```\nMATCH (p:Person)<-[:DISCOVERED]-(e:Element) RETURN e.id AS element\n```"
    chain = GraphCypherQAChain.from_llm(
        cypher_llm=FakeListChatModel(responses=[query]), qa_llm=FakeListChatModel(responses=["Radium."]), graph=graph,
        allow_dangerous_requests=True, validate_cypher=True, return_intermediate_steps=True)
    answer = chain.invoke({"query": "What did Marie Curie discover?"})
    equal(answer["result"], "Radium.", "answer")
    equal(answer["intermediate_steps"][1], {"context": [{"element": "radium"}]}, "context")


@case
def chat_history():
    history = Neo4jChatMessageHistory(session_id="one", url=URI, username=USER, password=PASSWORD, window=2)
    for at in range(3):
        history.add_user_message(f"question {at}")
        history.add_ai_message(f"answer {at}")
    equal([message.content for message in history.messages],
          ["answer 0", "question 1", "answer 1", "question 2", "answer 2"], "the last messages")
    equal(value("MATCH p = (:Session {id: 'one'})-[:LAST_MESSAGE]->()<-[:NEXT*5]-() RETURN count(p)"), 1, "a chain")
    history.clear()
    equal(history.messages, [], "after clear")


@case
def statement_in_transactions():
    """`CALL {} IN TRANSACTIONS` fails in execute_query; langchain then sends it again outside of a transaction."""
    graph = opened()
    graph.query("UNWIND $rows AS row CALL (row) { CREATE (:Row {at: row}) } IN TRANSACTIONS OF 10 ROWS",
                params={"rows": list(range(25))})
    equal(counts()[0], {"Row": 25}, "nodes")


def texts():
    return [f"{adjective} {noun}" for adjective in ("red", "green", "brass") for noun in ("lantern", "sextant")]


def store(**settings):
    return Neo4jVector.from_texts(texts(), Words(), url=URI, username=USER, password=PASSWORD, database=DATABASE,
                                  pre_delete_collection=True, **settings)


@case
def vector_store():
    found = store().similarity_search("brass sextant", k=3)
    equal(found[0].page_content, "brass sextant", "nearest")


@case
def hybrid_vector_store():
    found = store(search_type="hybrid").similarity_search("brass", k=2)
    equal({document.page_content for document in found}, {"brass sextant", "brass lantern"}, "nearest")


@case
def relationship_vector_store():
    value("CREATE (:A)-[r:SAYS {text: 'brass sextant'}]->(:B) WITH r "
          "CALL db.create.setRelationshipVectorProperty(r, 'embedding', $v) RETURN count(*)", v=embed("brass sextant"))
    rows("CREATE VECTOR INDEX says FOR ()-[r:SAYS]-() ON (r.embedding) "
         "OPTIONS {indexConfig: {`vector.dimensions`: 64, `vector.similarity_function`: 'cosine'}}")
    found = Neo4jVector.from_existing_relationship_index(Words(), "says", url=URI, username=USER, password=PASSWORD)
    equal(found.similarity_search("sextant", k=1)[0].page_content, "brass sextant", "nearest")


run("langchain")
