"""neo4j-haystack: documents without the vector index, and with it; components that run Cypher."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from case import (DATABASE, PASSWORD, URI, USER, VECTOR_INDEX, VECTOR_INDEX_ERROR, case, counts, embed, equal, run,
                  value)
from haystack import Document, Pipeline
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from neo4j_haystack import Neo4jDocumentStore, Neo4jDynamicDocumentRetriever, Neo4jEmbeddingRetriever
from neo4j_haystack.client import Neo4jClientConfig
from neo4j_haystack.components import Neo4jQueryReader, Neo4jQueryWriter

TEXTS = ["red lantern", "green lantern", "brass sextant", "red sextant"]


def settings():
    return Neo4jClientConfig(URI, database=DATABASE, username=USER, password=PASSWORD)


def opened(**more):
    return Neo4jDocumentStore(client_config=settings(), embedding_dim=64,
                              **{"create_index_if_missing": False, **more})


def documents():
    return [Document(id=str(at), content=text, embedding=embed(text) if at else None,
                     meta={"colour": text.split()[0], "at": at, "tags": ["a", "b"], "deep": {"er": at}})
            for at, text in enumerate(TEXTS)]


def contents(found):
    return sorted(document.content for document in found)


@case
def documents_written_and_found():
    store = opened()
    equal(store.write_documents(documents()), 4, "written")
    equal((store.count_documents(), counts()[0]), (4, {"Document": 4}), "count")
    equal(value("MATCH (d:Document) WHERE d.embedding IS NOT NULL RETURN [count(d), max(size(d.embedding))]"), [3, 64],
          "embeddings")
    filters = {"operator": "AND", "conditions": [
        {"field": "colour", "operator": "in", "value": ["red", "brass"]},
        {"field": "at", "operator": ">=", "value": 1}]}
    equal(contents(store.filter_documents(filters)), ["brass sextant", "red sextant"], "by a filter")
    equal(store.count_documents_with_filter({"field": "colour", "operator": "!=", "value": "red"}), 2, "count")
    filters = {"operator": "NOT", "conditions": [{"field": "tags", "operator": "in", "value": ["b", "c"]}]}
    equal(store.filter_documents(filters), [], "by a filter of a list")
    [found] = store.get_documents_by_id(["2"])
    equal((found.content, found.meta["at"], found.meta["tags"]), ("brass sextant", 2, ["a", "b"]), "by id")
    equal(max(abs(a - b) for a, b in zip(found.embedding, embed(TEXTS[2]))) < 1e-6, True, "embedding")
    equal(store.get_document_by_id("nothing"), None, "no document")
    equal(contents(store.get_all_documents_generator()), sorted(TEXTS), "all")


@case
def duplicates():
    store = opened()
    store.write_documents(documents())
    equal(store.write_documents(documents(), policy=DuplicatePolicy.SKIP), 0, "skipped")
    try:
        store.write_documents(documents(), policy=DuplicatePolicy.FAIL)
    except DuplicateDocumentError:
        pass
    else:
        raise AssertionError("documents were written twice")
    changed = Document(id="1", content="blue lantern", meta={"colour": "blue"})
    store.write_documents([changed], policy=DuplicatePolicy.OVERWRITE)
    equal(value("MATCH (d:Document {id: '1'}) RETURN [d.content, d.colour, d.embedding IS NULL]"),
          ["blue lantern", "blue", True], "overwritten")
    store.update_document_meta("2", {"colour": "steel"})
    equal(store.get_document_by_id("2").meta["colour"], "steel", "changed")

    store.update_embeddings([Document(id="1", embedding=embed("blue lantern"))])
    equal(value("MATCH (d:Document) RETURN [count(d), count(d.embedding)]"), [4, 3], "embeddings")
    store.delete_documents(["1", "2"])
    equal(store.count_documents(), 2, "after a delete")
    store.delete_all_documents()
    equal(counts(), ({}, {}), "after all were deleted")


@case
def components():
    writer = Neo4jQueryWriter(client_config=settings(), runtime_parameters=["items"])
    written = writer.run(query="UNWIND $items AS item MERGE (i:Item {name: item}) RETURN count(i)", items=["a", "b"])
    equal(written["query_status"], "success", f"{written}")
    reader = Neo4jQueryReader(client_config=settings(), runtime_parameters=["least"])
    found = reader.run(query="MATCH (i:Item) WHERE i.name >= $least RETURN i.name AS name ORDER BY name", least="b")
    equal(found["records"], [{"name": "b"}], "rows")
    reader = Neo4jQueryReader(client_config=settings(), runtime_parameters=["least"], raise_on_failure=False)
    found = reader.run(query="MATCH (i:Item RETURN i", least="b")
    equal((found.get("records"), "SyntaxError" in found["error_message"]), (None, True), f"{found}")
    opened().write_documents(documents())
    pipeline = Pipeline()
    pipeline.add_component("retriever", Neo4jDynamicDocumentRetriever(
        client_config=settings(), runtime_parameters=["colour"], doc_node_name="d", verify_connectivity=True))
    found = pipeline.run({"retriever": {"query": "MATCH (d:Document {colour: $colour}) RETURN d", "colour": "red"}})
    equal(contents(found["retriever"]["documents"]), ["red lantern", "red sextant"], "a query of one's own")


@case
def vector_index():
    opened(create_index_if_missing=True)


@case
def embedding_retriever():
    store = opened(recreate_index=True)
    store.write_documents(documents())
    found = Neo4jEmbeddingRetriever(document_store=store, top_k=1).run(query_embedding=embed("brass sextant"))
    equal(contents(found["documents"]), ["brass sextant"], "nearest")


run("haystack")
