"""mem0's graph memory, through langchain's graph: facts that come, are asked for, and are taken back."""

import os

os.environ["MEM0_TELEMETRY"] = "false"

from types import SimpleNamespace

from case import DATABASE, PASSWORD, URI, USER, case, counts, embed, equal, rows, run, value
from mem0.graphs.configs import GraphStoreConfig
from mem0.memory import graph_memory

# What the model reads in each text: entities with their types, facts, and facts that are no longer true.
TEXTS = {
    "Alice works at Acme and knows Bob": (
        {"Alice": "person", "Acme": "company", "Bob": "person"},
        [("Alice", "works at", "Acme"), ("Alice", "knows", "Bob")], []),
    "Bob lives in New York": ({"Bob": "person", "New York": "place"}, [("Bob", "lives in", "New York")], []),
    "Bob moved to Paris": (
        {"Bob": "person", "Paris": "place"}, [("Bob", "lives in", "Paris")], [("bob", "lives_in", "new_york")]),
    "Carol founded Dune Ltd.": (
        {"Carol": "person", "Dune Ltd.": "company"}, [("Carol", "founded (alone)", "Dune Ltd.")], []),
    "Where does Bob live?": ({"Bob": "person"}, [], []),
    "Who is Nobody?": ({"Nobody": "person"}, [], []),
}


def facts(triples):
    return [{"source": source, "relationship": kind, "destination": target} for source, kind, target in triples]


class Model:
    def generate_response(self, messages, tools, **_):
        text = messages[-1]["content"]
        name = tools[0]["function"]["name"]
        [(entities, added, gone)] = [entry for key, entry in TEXTS.items() if key in text]
        match name:
            case "extract_entities":
                found = [{"entity": entity, "entity_type": kind} for entity, kind in entities.items()]
                return {"tool_calls": [{"name": name, "arguments": {"entities": found}}]}
            case "establish_relationships" | "establish_relations":
                return {"tool_calls": [{"name": name, "arguments": {"entities": facts(added)}}]}
            case "delete_graph_memory":
                return {"tool_calls": [{"name": name, "arguments": fact} for fact in facts(gone)]}
            case other:
                raise NotImplementedError(other)


class Words:
    def embed(self, text, *_):
        return embed(text.replace("_", " "))


graph_memory.LlmFactory = SimpleNamespace(create=lambda *_: Model())
graph_memory.EmbedderFactory = SimpleNamespace(create=lambda *_: Words())


def opened(base_label):
    store = GraphStoreConfig(provider="neo4j", config={
        "url": URI, "username": USER, "password": PASSWORD, "database": DATABASE, "base_label": base_label})
    provider = SimpleNamespace(provider="table", config={})
    return graph_memory.MemoryGraph(SimpleNamespace(
        graph_store=store, embedder=provider, vector_store=provider, llm=provider))


def triples(found, target="target"):
    return sorted((fact["source"], fact["relationship"], fact[target]) for fact in found)


def remembered(base_label):
    memory = opened(base_label)
    alice = {"user_id": "alice"}
    for text in list(TEXTS)[:2]:
        memory.add(text, alice)
    equal(triples(memory.get_all(alice)), [
        ("alice", "knows", "bob"), ("alice", "works_at", "acme"), ("bob", "lives_in", "new_york")], "all facts")
    equal(rows("MATCH (n {name: 'bob'}) RETURN n.mentions, n.user_id, size(n.embedding)"), [[2, "alice", 64]], "bob")
    nodes, relationships = counts()
    label = ":__Entity__" if base_label else ""
    ordered = {":".join(sorted(f"{kind}{label}".strip(":").split(":"))): count
               for kind, count in {"company": 1, "person": 2, "place": 1}.items()}
    equal({":".join(sorted(labels.split(":"))): count for labels, count in nodes.items()}, ordered, "nodes")
    equal(relationships, {"knows": 1, "lives_in": 1, "works_at": 1}, "relationships")

    # The same again changes counters only.
    memory.add("Alice works at Acme and knows Bob", alice)
    equal(counts(), (nodes, relationships), "after the same text")
    equal(value("MATCH ()-[r:knows]->() RETURN r.mentions"), 2, "mentions")

    changed = memory.add("Bob moved to Paris", alice)
    equal(triples(changed["deleted_entities"][0]), [("bob", "lives_in", "new_york")], "what is no longer true")
    found = memory.search("Where does Bob live?", alice)
    equal(("bob", "lives_in", "paris") in triples(found, "destination"), True, f"found {found}")
    equal(("bob", "lives_in", "new_york") in triples(found, "destination"), False, f"found {found}")
    equal(memory.search("Who is Nobody?", alice), [], "nobody")

    # Another user, and an agent and a run of hers.
    carol = {"user_id": "carol", "agent_id": "scout", "run_id": "7"}
    memory.add("Carol founded Dune Ltd.", carol)
    equal(triples(memory.get_all(carol)), [("carol", "founded_lparen_alone_rparen", "dune_ltd.")], "facts of carol")
    equal(memory.get_all({**carol, "run_id": "8"}), [], "facts of another run")
    equal(len(memory.get_all(alice)), 3, "facts of alice")
    memory.delete_all(carol)
    equal(memory.get_all(carol), [], "after delete_all")
    memory.reset()
    equal(counts(), ({}, {}), "after reset")


@case
def with_base_label():
    remembered(True)
    equal([name for [name] in rows("SHOW INDEXES YIELD name, type WHERE type = 'RANGE' RETURN name ORDER BY name")],
          ["entity_composite", "entity_single"], "indexes")


@case
def with_labels_of_types():
    remembered(False)


run("mem0")
