"""mcp-neo4j-memory and mcp-neo4j-cypher: their tools, called through an MCP client in this process."""

import json

import neo4j
from case import DATABASE, PASSWORD, URI, USER, case, counts, equal, rows, run, value
from fastmcp import Client
from mcp_neo4j_cypher.server import create_mcp_server as cypher_server
from mcp_neo4j_memory.neo4j_memory import Neo4jMemory
from mcp_neo4j_memory.server import create_mcp_server as memory_server

ENTITIES = [
    {"name": "Ada Lovelace", "type": "person", "observations": ["Wrote the first program", "Born in London"]},
    {"name": "Charles Babbage", "type": "person", "observations": ["Designed the analytical engine"]},
    {"name": "London", "type": "location", "observations": ["Lies on the Thames"]},
]
RELATIONS = [
    {"source": "Ada Lovelace", "target": "Charles Babbage", "relationType": "KNOWS"},
    {"source": "Ada Lovelace", "target": "London", "relationType": "LIVES_IN"},
]


def driver():
    return neo4j.AsyncGraphDatabase.driver(URI, auth=(USER, PASSWORD))


def answer(result):
    """What a tool said, as JSON."""
    return json.loads(result.content[0].text)


def names(graph):
    return sorted(entity["name"] for entity in graph["entities"])


def relations(graph):
    return sorted((found["source"], found["relationType"], found["target"]) for found in graph["relations"])


@case
async def memory_tools():
    async with driver() as connected:
        memory = Neo4jMemory(connected)
        await memory.create_fulltext_index()
        index = rows("SHOW FULLTEXT INDEXES YIELD name, labelsOrTypes AS of, properties RETURN name, of, properties")
        equal(index, [["search", ["Memory"], ["name", "type", "observations"]]], "index")
        async with Client(memory_server(memory)) as client:
            async def call(tool, **arguments):
                return answer(await client.call_tool(tool, arguments))

            await call("create_entities", entities=ENTITIES)
            await call("create_relations", relations=RELATIONS)
            equal(counts(), ({"Memory:location": 1, "Memory:person": 2}, {"KNOWS": 1, "LIVES_IN": 1}), "counts")

            graph = await call("read_graph")  # A lone `*`.
            equal(names(graph), ["Ada Lovelace", "Charles Babbage", "London"], "everything")
            equal(relations(graph), [("Ada Lovelace", "KNOWS", "Charles Babbage"),
                                     ("Ada Lovelace", "LIVES_IN", "London")], "all relations")

            # `London` is a name, and in an observation; that is an element of a list.
            equal(names(await call("search_memories", query="london")), ["Ada Lovelace", "London"], "a word")
            equal(names(await call("search_memories", query="program engine")), ["Ada Lovelace", "Charles Babbage"],
                  "either of two words")
            equal(names(await call("search_memories", query='"analytical engine"')), ["Charles Babbage"], "a phrase")
            equal(names(await call("search_memories", query="type:location")), ["London"], "a word of a field")
            equal(names(await call("search_memories", query="lovel* OR tames~")), ["Ada Lovelace", "London"], "prefix")

            await call("add_observations", observations=[
                {"entityName": "Charles Babbage", "observations": ["Held a chair in Cambridge"]}])
            equal(names(await call("search_memories", query="cambridge")), ["Charles Babbage"], "what was added")
            await client.call_tool("delete_observations", {"deletions": [
                {"entityName": "Charles Babbage", "observations": ["Held a chair in Cambridge"]}]})
            equal(names(await call("search_memories", query="cambridge")), [], "what was taken away")

            found = await call("find_memories_by_name", names=["London"])
            equal((names(found), relations(found)), (["London"], [("Ada Lovelace", "LIVES_IN", "London")]), "by name")
            await client.call_tool("delete_relations", {"relations": RELATIONS[:1]})
            await client.call_tool("delete_entities", {"entityNames": ["London"]})
            graph = await call("read_graph")
            equal((names(graph), relations(graph)), (["Ada Lovelace", "Charles Babbage"], []), "what is left")


@case
async def cypher_tools():
    async with driver() as connected, Client(cypher_server(connected, DATABASE)) as client:
        written = answer(await client.call_tool("write_neo4j_cypher", {
            "query": "UNWIND $people AS p MERGE (n:Person {name: p.name}) SET n += p WITH n WHERE n.name <> 'Ada' "
                     "MATCH (a:Person {name: 'Ada'}) MERGE (a)-[:KNOWS {since: 1833}]->(n)",
            "params": {"people": [{"name": "Ada", "born": 1815}, {"name": "Charles", "born": 1791}]}}))
        equal({key: written[key] for key in ("nodes_created", "relationships_created", "properties_set")},
              {"nodes_created": 2, "relationships_created": 1, "properties_set": 7}, "counters")
        read = answer(await client.call_tool("read_neo4j_cypher", {
            "query": "MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.name AS a, k.since AS since, b AS b"}))
        equal(read, [{"a": "Ada", "since": 1833, "b": {"name": "Charles", "born": 1791}}], "rows")


@case
async def cypher_tools_tell_reads_from_writes():
    async with driver() as connected, Client(cypher_server(connected, DATABASE)) as client:
        for query in ("CREATE (n:Person)", "MATCH (n) SET n.x = 1", "MATCH (n) DETACH DELETE n",
                      "CALL apoc.create.node(['A'], {}) YIELD node RETURN node",
                      "MATCH (n) CALL (n) { CREATE (m) RETURN m } RETURN m"):
            result = await client.call_tool("read_neo4j_cypher", {"query": query}, raise_on_error=False)
            equal(result.is_error, True, f"{query} as a read")
        for query in ("MATCH (n) RETURN n", "CALL db.labels() YIELD label RETURN label", "SHOW INDEXES"):
            result = await client.call_tool("write_neo4j_cypher", {"query": query}, raise_on_error=False)
            equal(result.is_error, True, f"{query} as a write")
        equal(counts(), ({}, {}), "counts")
        result = await client.call_tool("read_neo4j_cypher", {"query": "MATCH (n RETURN n"}, raise_on_error=False)
        equal("Neo.ClientError.Statement.SyntaxError" in result.content[0].text, True, f"error: {result.content}")


@case
async def cypher_schema():
    rows("CREATE INDEX FOR (p:Person) ON (p.name)")
    rows("CREATE (:Person {name: 'Ada', born: 1815, at: date()})-[:KNOWS {since: 1833}]->(:Person {name: 'Charles'}), "
         "(:Person:Author {name: 'Mary', tags: ['a']})-[:WROTE]->(:Book {title: 'Frankenstein'})")
    async with driver() as connected, Client(cypher_server(connected, DATABASE)) as client:
        found = answer(await client.call_tool("get_neo4j_schema", {"sample_size": -1}))
    equal(sorted(found), ["Author", "Book", "KNOWS", "Person", "WROTE"], "names")
    person = found["Person"]
    equal((person["type"], person["count"]), ("node", 3), "labels")
    equal({name: (entry["type"], entry["indexed"]) for name, entry in person["properties"].items()}, {
        "at": ("DATE", False), "born": ("INTEGER", False), "name": ("STRING", True), "tags": ("LIST", False),
    }, "properties")
    equal({kind: (entry["direction"], sorted(set(entry["labels"]))) for kind, entry in person["relationships"].items()},
          {"KNOWS": ("out", ["Person"]), "WROTE": ("out", ["Book"])}, "relationships")
    equal((found["KNOWS"]["type"], found["KNOWS"]["count"]), ("relationship", 1), "types")
    equal(found["KNOWS"]["properties"]["since"]["type"], "INTEGER", "a property of a type")


@case
async def cypher_schema_of_relationships():
    rows("CREATE (:Person)-[:KNOWS {since: 1833}]->(:Person)")
    async with driver() as connected, Client(cypher_server(connected, DATABASE)) as client:
        found = answer(await client.call_tool("get_neo4j_schema", {"sample_size": -1}))
    equal(found["KNOWS"]["properties"]["since"], {"type": "INTEGER", "indexed": False}, "a property of a type")


@case
async def cypher_read_only_server():
    value("CREATE (n:Person {name: 'Ada'}) RETURN count(n)")
    async with driver() as connected, Client(cypher_server(connected, DATABASE, read_only=True)) as client:
        equal(sorted(tool.name for tool in await client.list_tools()), ["get_neo4j_schema", "read_neo4j_cypher"],
              "tools")


run("mcp")
