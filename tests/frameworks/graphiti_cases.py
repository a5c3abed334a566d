"""graphiti: episodes and facts in, hybrid search out. Its model is a table, its embedder hashes words."""

import os

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
os.environ["EMBEDDING_DIM"] = "64"

import asyncio
import datetime
import json
import re

from case import PASSWORD, URI, USER, case, cosine, counts, embed, equal, rows, run, value
from graphiti_core import Graphiti
from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.edges import EntityEdge
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.llm_client import LLMClient
from graphiti_core.nodes import EntityNode, EpisodeType
from graphiti_core.search import search_config_recipes as recipes
from graphiti_core.search.search_filters import SearchFilters
from graphiti_core.utils.bulk_utils import RawEpisode
from graphiti_core.utils.maintenance.graph_data_operations import clear_data

START = datetime.datetime(2026, 1, 5, 9, 0, tzinfo=datetime.timezone.utc)

# What the model finds in each episode: facts as (source, type, target, fact).
EPISODES = [
    ("Kamala Harris is the Attorney General of California.",
     [("Kamala Harris", "HOLDS_OFFICE", "California", "Kamala Harris is the Attorney General of California")]),
    ("Kamala Harris was the district attorney for San Francisco.",
     [("Kamala Harris", "WAS_ATTORNEY_OF", "San Francisco", "Kamala Harris was district attorney for San Francisco")]),
    ("Gavin Newsom is the governor of California.",
     [("Gavin Newsom", "GOVERNS", "California", "Gavin Newsom is the governor of California")]),
    ("Gavin Newsom was mayor of San Francisco.",
     [("Gavin Newsom", "WAS_MAYOR_OF", "San Francisco", "Gavin Newsom was mayor of San Francisco")]),
    ("Otto Dorn repairs NASA telescopes in Tucson (AZ): lenses & mirrors!",
     [("Otto Dorn", "REPAIRS", "NASA telescopes", "Otto Dorn repairs NASA telescopes"),
      ("Otto Dorn", "WORKS_IN", "Tucson", "Otto Dorn works in Tucson (AZ)")]),
    ("Mira Patel grows vanilla orchids in Oslo.",
     [("Mira Patel", "GROWS", "vanilla orchids", "Mira Patel grows vanilla orchids"),
      ("Mira Patel", "LIVES_IN", "Oslo", "Mira Patel lives in Oslo")]),
    ("Mira Patel visited Otto Dorn in Tucson.",
     [("Mira Patel", "VISITED", "Otto Dorn", "Mira Patel visited Otto Dorn")]),
    ("Otto Dorn sent Mira Patel a brass sextant.",
     [("Otto Dorn", "SENT_GIFT_TO", "Mira Patel", "Otto Dorn sent Mira Patel a brass sextant")]),
    ("The San Francisco harbour exports vanilla orchids.",
     [("San Francisco", "EXPORTS", "vanilla orchids", "San Francisco exports vanilla orchids")]),
    ("Kamala Harris met Gavin Newsom at a bridge.",
     [("Kamala Harris", "MET", "Gavin Newsom", "Kamala Harris met Gavin Newsom at a bridge")]),
]
FACTS = [fact for _, facts in EPISODES for fact in facts]
NAMES = sorted({name for source, _, target, _ in FACTS for name in (source, target)})


def facts_of(text):
    return [(at, facts) for at, (body, facts) in enumerate(EPISODES) if body in text]


class Model(LLMClient):
    """Answers what graphiti asks from the table, as structured output."""

    def __init__(self):
        super().__init__(None)

    async def _generate_response(self, messages, response_model=None, max_tokens=0, model_size=None, **_):
        text = messages[-1].content
        current = re.search(r"<(CURRENT.MESSAGES?|TEXT)>(.*?)</\1>", text, re.S)
        found = facts_of(current[2]) if current else []
        facts = [(0, fact) for _, facts in found for fact in facts]
        entities = {}
        for at, (source, _, target, _) in facts:
            for name in (source, target):
                entities[name] = {"name": name, "entity_type_id": 0, "episode_indices": [at]}
        edges = [{"source_entity_name": source, "target_entity_name": target, "relation_type": kind, "fact": fact,
                  "episode_indices": [at]} for at, (source, kind, target, fact) in facts]
        match response_model.__name__:
            case "ExtractedEntities":
                return {"extracted_entities": list(entities.values())}
            case "ExtractedEdges":
                return {"edges": edges}
            case "CombinedExtraction":
                return {"extracted_entities": list(entities.values()), "edges": edges}
            case "NodeResolutions":
                new = json.loads(re.search(r"<ENTITIES>(.*?)</ENTITIES>", text, re.S)[1])
                old = json.loads(re.search(r"<EXISTING ENTITIES>(.*?)</EXISTING ENTITIES>", text, re.S)[1])
                known = {entity["name"]: entity["candidate_id"] for entity in old}
                return {"entity_resolutions": [
                    {"id": entity["id"], "name": entity["name"],
                     "duplicate_candidate_id": known.get(entity["name"], -1)} for entity in new]}
            case "EdgeDuplicate":
                return {"duplicate_facts": [], "contradicted_facts": []}
            case "EdgeTimestamps":
                return {"valid_at": "2026-01-01T00:00:00Z", "invalid_at": None}
            case "BatchEdgeTimestamps":
                listed = json.loads(re.search(r"<FACTS>(.*?)</FACTS>", text, re.S)[1])
                return {"timestamps": [{"valid_at": "2026-01-01T00:00:00Z", "invalid_at": None} for _ in listed]}
            case "SummarizedEntities":
                return {"summaries": []}
            case "Summary":
                return {"summary": "people and places"}
            case "SummaryDescription":
                return {"description": "people and places"}
            case other:
                raise NotImplementedError(other)


class Embedder(EmbedderClient):
    async def create(self, input_data):
        return embed(input_data if isinstance(input_data, str) else input_data[0])

    async def create_batch(self, input_data_list):
        return [embed(text) for text in input_data_list]


class Ranker(CrossEncoderClient):
    async def rank(self, query, passages):
        scored = [(passage, (1 + cosine(embed(query), embed(passage))) / 2) for passage in passages]
        return sorted(scored, key=lambda pair: -pair[1])


async def opened():
    graphiti = Graphiti(URI, USER, PASSWORD, llm_client=Model(), embedder=Embedder(), cross_encoder=Ranker())
    await graphiti.driver._init_task  # Indexes are made in the background, too.
    await graphiti.build_indices_and_constraints()
    return graphiti


async def with_episodes(group="", saga=None):
    graphiti = await opened()
    for at, (body, _) in enumerate(EPISODES):
        await graphiti.add_episode(
            name=f"episode {at}", episode_body=body, source=EpisodeType.text, source_description="a notebook",
            reference_time=START + datetime.timedelta(days=at), group_id=group, saga=saga)
    return graphiti


async def with_triplets(group="notes", facts=FACTS):
    """Facts, given as they are."""
    graphiti = await opened()
    now = datetime.datetime.now(datetime.timezone.utc)
    names = sorted({name for source, _, target, _ in facts for name in (source, target)})
    nodes = {name: EntityNode(name=name, group_id=group, labels=["Entity"], summary=f"about {name}")
             for name in names}
    for node in nodes.values():
        await node.generate_name_embedding(graphiti.embedder)
        await node.save(graphiti.driver)
    for source, kind, target, fact in facts:
        edge = EntityEdge(group_id=group, source_node_uuid=nodes[source].uuid, target_node_uuid=nodes[target].uuid,
                          name=kind, fact=fact, created_at=now, episodes=[])
        await graphiti.add_triplet(nodes[source], edge, nodes[target])
    return graphiti


def facts_with(*needles):
    return {fact for _, _, _, fact in FACTS if any(needle in fact for needle in needles)}


@case
async def indices_and_constraints():
    graphiti = await opened()
    equal(value("SHOW INDEXES YIELD type WHERE type = 'RANGE' RETURN count(*)"), 27, "range indexes")
    equal(rows("SHOW FULLTEXT INDEXES YIELD name, entityType, labelsOrTypes, properties, state "
               "RETURN name, entityType, labelsOrTypes, properties, state ORDER BY name"), [
        ["community_name", "NODE", ["Community"], ["name", "group_id"], "ONLINE"],
        ["edge_name_and_fact", "RELATIONSHIP", ["RELATES_TO"], ["name", "fact", "group_id"], "ONLINE"],
        ["episode_content", "NODE", ["Episodic"], ["content", "source", "source_description", "group_id"], "ONLINE"],
        ["node_name_and_summary", "NODE", ["Entity"], ["name", "summary", "group_id"], "ONLINE"],
    ])
    # Twice at once: as several workers do when they start.
    await asyncio.gather(*[graphiti.build_indices_and_constraints() for _ in range(3)])
    await graphiti.close()


@case
async def episodes_and_search():
    graphiti = await with_episodes()
    nodes, relationships = counts()
    equal(nodes, {"Entity": len(NAMES), "Episodic": len(EPISODES)}, "nodes")
    mentions = sum(len({name for s, _, t, _ in facts for name in (s, t)}) for _, facts in EPISODES)
    equal(relationships, {"RELATES_TO": len(FACTS), "MENTIONS": mentions}, "relationships")
    equal(rows("MATCH (n:Entity) WHERE size(n.name_embedding) <> 64 RETURN n.name"), [], "embeddings of nodes")
    equal(rows("MATCH ()-[e:RELATES_TO]->() WHERE size(e.fact_embedding) <> 64 RETURN e.fact"), [], "of facts")

    found = await graphiti.search("Who was the California Attorney General?")
    equal(found[0].fact, "Kamala Harris is the Attorney General of California", "best fact")
    found = await graphiti.search("NASA telescopes")
    equal(found[0].fact, "Otto Dorn repairs NASA telescopes", "letters with a backslash")
    found = await graphiti.search("Tucson (AZ): lenses & mirrors!")
    equal(found[0].fact, "Otto Dorn works in Tucson (AZ)", "signs with a backslash")
    centre = value("MATCH (n:Entity {name: 'Mira Patel'}) RETURN n.uuid")
    found = await graphiti.search("Otto Dorn", center_node_uuid=centre, num_results=2)
    equal(found[0].fact, "Mira Patel visited Otto Dorn", "nearest to the centre")
    await graphiti.close()


@case
async def full_text_alone():
    from graphiti_core.search.search_utils import (community_fulltext_search, edge_fulltext_search,
                                                   episode_fulltext_search, node_fulltext_search)
    graphiti = await with_episodes(group="notes")
    driver, anything = graphiti.driver, SearchFilters()
    found = await edge_fulltext_search(driver, "orchids", anything, group_ids=["notes"], limit=10)
    equal({edge.fact for edge in found}, facts_with("orchids"), "facts")
    equal(await edge_fulltext_search(driver, "orchids", anything, group_ids=["other"], limit=10), [], "other group")
    capitals = facts_with("orchids", "Tucson")
    found = await edge_fulltext_search(driver, "ORCHIDS TUCSON", anything, group_ids=["notes"], limit=10)
    equal({edge.fact for edge in found}, capitals, "facts of capitals")
    # `group_id:"a" OR group_id:"b" AND (words)`: as Lucene reads it, the last group and the words are what must be.
    found = await edge_fulltext_search(driver, "ORCHIDS TUCSON", anything, group_ids=["other", "notes"], limit=10)
    equal({edge.fact for edge in found}, capitals, "the last of two groups")
    found = await edge_fulltext_search(driver, "ORCHIDS TUCSON", anything, group_ids=["notes", "other"], limit=10)
    equal(found, [], "the first of two groups")
    found = await node_fulltext_search(driver, "Francisco", anything, group_ids=["notes"], limit=10)
    # Facts are part of the summaries of those they are about.
    equal(sorted(node.name for node in found), [name for [name] in rows(
        "MATCH (n:Entity) WHERE n.name + ' ' + n.summary CONTAINS 'Francisco' RETURN n.name ORDER BY n.name")], "nodes")
    found = await episode_fulltext_search(driver, "sextant", anything, group_ids=["notes"], limit=10)
    equal([episode.content for episode in found], [EPISODES[7][0]], "episodes")
    equal(await community_fulltext_search(driver, "people", group_ids=["notes"], limit=10), [], "communities")
    await graphiti.close()


@case
async def vectors_alone():
    from graphiti_core.search.search_utils import edge_similarity_search, node_similarity_search
    graphiti = await with_triplets()
    question = embed("Otto Dorn repairs NASA telescopes")
    found = await edge_similarity_search(graphiti.driver, question, None, None, SearchFilters(),
                                         group_ids=["notes"], limit=3, min_score=0.6)
    wanted = sorted(FACTS, key=lambda fact: -cosine(question, embed(fact[3])))[:3]
    equal([edge.fact for edge in found], [fact[3] for fact in wanted], "facts by cosine")
    found = await node_similarity_search(graphiti.driver, embed("San Francisco"), SearchFilters(),
                                         group_ids=["notes"], limit=1, min_score=0.9)
    equal([node.name for node in found], ["San Francisco"], "nodes by cosine")
    await graphiti.close()


@case
async def triplets_and_recipes():
    from graphiti_core.search.search_utils import edge_bfs_search, node_bfs_search
    graphiti = await with_triplets()
    equal(counts(), ({"Entity": len(NAMES)}, {"RELATES_TO": len(FACTS)}), "counts")
    for name in ("COMBINED_HYBRID_SEARCH_RRF", "COMBINED_HYBRID_SEARCH_MMR", "COMBINED_HYBRID_SEARCH_CROSS_ENCODER"):
        found = await graphiti.search_("vanilla orchids", config=getattr(recipes, name), group_ids=["notes"])
        equal(facts_with("vanilla orchids") - {edge.fact for edge in found.edges}, set(), f"{name}: facts")
        equal("vanilla orchids" in {node.name for node in found.nodes}, True, f"{name}: nodes")
    for name in ("NODE_HYBRID_SEARCH_EPISODE_MENTIONS", "NODE_HYBRID_SEARCH_RRF", "NODE_HYBRID_SEARCH_MMR"):
        found = await graphiti.search_("Oslo", config=getattr(recipes, name), group_ids=["notes"])
        equal("Oslo" in {node.name for node in found.nodes}, True, name)
    origin = value("MATCH (n:Entity {name: 'Gavin Newsom'}) RETURN n.uuid")
    found = await edge_bfs_search(graphiti.driver, [origin], 3, SearchFilters(), group_ids=["notes"])
    equal({edge.fact for edge in found}, facts_with("Gavin Newsom is", "Gavin Newsom was", "exports"), "breadth first")
    found = await node_bfs_search(graphiti.driver, [origin], SearchFilters(), 3, group_ids=["notes"])
    equal({node.name for node in found}, {"California", "San Francisco", "vanilla orchids"}, "nodes, breadth first")
    filters = SearchFilters(edge_types=["GROWS", "EXPORTS"])
    found = await graphiti.search("orchids", group_ids=["notes"], search_filter=filters)
    equal({edge.fact for edge in found}, facts_with("orchids"), "facts of two types")
    await graphiti.close()


@case
async def bulk_and_saga():
    graphiti = await opened()
    raw = [RawEpisode(name=f"episode {at}", content=body, source=EpisodeType.text, source_description="a notebook",
                      reference_time=START + datetime.timedelta(days=at)) for at, (body, _) in enumerate(EPISODES)]
    await graphiti.add_episode_bulk(raw, group_id="bulk", saga="Notebook", use_combined_extraction=False)
    nodes, relationships = counts()
    equal(nodes, {"Entity": len(NAMES), "Episodic": len(EPISODES), "Saga": 1}, "nodes")
    equal(relationships["RELATES_TO"], len(FACTS), "facts")
    equal(relationships["HAS_EPISODE"], len(EPISODES), "episodes of the saga")
    equal(relationships["NEXT_EPISODE"], len(EPISODES) - 1, "episodes that follow another")
    found = await graphiti.search("brass sextant", group_ids=["bulk"])
    equal(found[0].fact, "Otto Dorn sent Mira Patel a brass sextant", "best fact")
    await graphiti.close()


@case
async def episodes_removed():
    graphiti = await with_episodes(group="notes")
    episodes = await graphiti.retrieve_episodes(START + datetime.timedelta(days=99), last_n=3, group_ids=["notes"])
    equal([episode.name for episode in episodes], ["episode 7", "episode 8", "episode 9"], "the last three")
    uuid = value("MATCH (e:Episodic {name: 'episode 5'}) RETURN e.uuid")
    found = await graphiti.get_nodes_and_edges_by_episode([uuid])
    equal({node.name for node in found.nodes}, {"Mira Patel", "vanilla orchids", "Oslo"}, "nodes of an episode")
    equal({edge.fact for edge in found.edges}, {fact[3] for fact in EPISODES[5][1]}, "facts of an episode")
    await graphiti.remove_episode(uuid)
    nodes, relationships = counts()
    # Oslo is mentioned nowhere else.
    equal(nodes, {"Entity": len(NAMES) - 1, "Episodic": len(EPISODES) - 1}, "nodes")
    equal(relationships["RELATES_TO"], len(FACTS) - 2, "facts")
    found = await graphiti.search("vanilla orchids", group_ids=["notes"])
    equal("Mira Patel grows vanilla orchids" in {edge.fact for edge in found}, False, "found what is gone")
    await clear_data(graphiti.driver, group_ids=["notes"])
    equal(counts(), ({}, {}), "after clear_data")
    await graphiti.close()


@case
async def communities():
    # Triangles and a pair: of two nodes with two facts between them, graphiti's label propagation never ends.
    groups = [("Ada", "Bob", "Cem"), ("Dag", "Eva", "Fay"), ("Gus", "Hal")]
    graphiti = await with_triplets(facts=[(one, "KNOWS", other, f"{one} knows {other}")
                                          for members in groups for one in members for other in members if one < other])
    made, members = await graphiti.build_communities(group_ids=["notes"])
    equal((len(made), len(members)), (3, 8), "communities and members")
    found = rows("MATCH (c:Community)-[:HAS_MEMBER]->(n:Entity) RETURN c.uuid, collect(n.name)")
    equal(sorted(tuple(sorted(names)) for _, names in found), groups, "communities")
    found = await graphiti.search_("people and places", config=recipes.COMMUNITY_HYBRID_SEARCH_RRF,
                                   group_ids=["notes"])
    equal({community.uuid for community in found.communities}, {community.uuid for community in made}, "search")
    made, _ = await graphiti.build_communities(group_ids=["notes"])  # Anew.
    equal(value("MATCH (c:Community) RETURN count(c)"), len(made), "communities that are made anew")
    await graphiti.close()


run("graphiti")
