"""Compares the procedures `algo.*` of a server with NetworkX and igraph, on random graphs.

    python algorithms_peers.py TELAR [--seed N] [--graphs N] [--first N] [--only PART] [--verbose]

Needs the packages neo4j, networkx, igraph, numpy and scipy. Each graph has a server and a store of
its own: TELAR serves it on a free port of the loopback, and is killed at the end. Graph I of seed N
is the same in every run: `--seed N --first I --graphs 1` repeats it. `--only` takes the checks whose
name contains PART. Every check runs on every graph that it makes sense for; the first difference
ends the run with status 1.

The graphs are directed or followed against or in both directions, weighted or not, with parallel
edges, loops, several components, without edges, with one node or none. Some stores hold nothing
else, so that kernels read them in place; in others, deleted nodes leave holes in the ids, and nodes,
types and edges that were not chosen stand beside the graph.

Where a result is not unique (communities, paths of equal cost, parts, walks) the check is a
property: a cost, a quality, that every step is an edge.
"""

import argparse
import collections
import itertools
import math
import pathlib
import random
import sys
import tempfile
import time

import igraph
import neo4j
import networkx as nx
import numpy as np
from neo4j.exceptions import ClientError, DriverError, Neo4jError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from algorithms_graphs import Difference, Graph, demand, groups_of, near, same, same_groups  # noqa: E402
from load import Telar  # noqa: E402

CHECKS = []


def check(function):
    """Adds `function`, which takes a graph and raises `Difference`, to the list."""
    CHECKS.append(function)
    return function


# Centrality.

@check
def degree(g):
    expected = dict.fromkeys(range(g.n), 0.0)
    for u, _, w in g.arcs:
        expected[u] += w
    same("degree", g.by_node("degree", "score"), expected)


@check
def page_rank(g):
    config = {"maxIterations": 1000, "tolerance": 1e-14}
    weight = "weight" if g.weighted else None
    graph = g.multi()
    def expected(**more):
        return nx.pagerank(graph, tol=1e-13, max_iter=2000, weight=weight, **more) if g.n else {}
    same("pageRank", g.by_node("pageRank", "score", config), expected())
    same("pageRank, packed", g.by_node("pageRank", "score", config | {"packed": True}), expected())
    if g.n:
        sources = g.some(2)
        found = g.by_node("pageRank", "score", config | {"sourceNodes": [g.ids[v] for v in sources]})
        same(f"pageRank from {sources}", found, expected(personalization=dict.fromkeys(sources, 1)))
        found = g.by_node("pageRank", "score", config | {"dampingFactor": 0.5})
        same("pageRank with damping 0.5", found, expected(alpha=0.5))


@check
def betweenness(g):
    graph, weights = g.igraph()
    expected = graph.betweenness(directed=graph.is_directed(), weights=weights if g.weighted else None)
    same("betweenness", g.by_node("betweenness", "score"), dict(enumerate(expected)))
    arcs = [arc[:2] for arc in g.arcs]
    if not g.weighted and len(arcs) == len(set(arcs)) and g.orientation != "UNDIRECTED":
        expected = nx.betweenness_centrality(nx.DiGraph(g.multi()), normalized=False)
        same("betweenness (NetworkX)", g.by_node("betweenness", "score"), expected)


@check
def closeness(g):
    graph = g.multi()
    for improved in (False, True):
        expected = nx.closeness_centrality(graph, wf_improved=improved)
        same("closeness", g.by_node("closeness", "score", {"useWassermanFaust": improved}), expected)
    expected = {v: sum_ / max(g.n - 1, 1) for v, sum_ in nx.harmonic_centrality(graph).items()}
    same("harmonic closeness", g.by_node("closeness.harmonic", "score"), expected)


@check
def eigenvector(g):
    graph = g.multi()
    if g.n < 2 or not g.edges or not nx.is_strongly_connected(graph):
        return
    values, vectors = np.linalg.eig(nx.to_numpy_array(graph, nodelist=range(g.n)).T)
    order = np.argsort(-values.real)
    vector = np.abs(vectors[:, order[0]].real)
    found = g.by_node("eigenvector", "score", {"maxIterations": 100_000, "tolerance": 1e-13})
    same("eigenvector", found, dict(enumerate(vector / np.linalg.norm(vector))), 1e-5)


@check
def hits(g):
    if g.n < 2 or not g.edges:
        return
    left, values, right = np.linalg.svd(nx.to_numpy_array(g.multi(), nodelist=range(g.n)))
    if values[1] > 0.98 * values[0]:
        return  # the vectors are not unique, or take long to be found
    rows = g.call("hits", "node, auth, hub", {"maxIterations": 10_000, "tolerance": 1e-14})
    same("hubs", {v: hub for v, _, hub in rows}, dict(enumerate(np.abs(left[:, 0]))), 1e-5)
    same("authorities", {v: auth for v, auth, _ in rows}, dict(enumerate(np.abs(right[0]))), 1e-5)


# Communities.

@check
def components(g):
    expected = list(nx.weakly_connected_components(g.multi()))
    for packed in (False, True):
        same_groups("wcc", g.by_node("wcc", "componentId", {"packed": packed}), expected)
    demand(g.figures("wcc", "componentCount") == (len(expected),), "wcc counts", len(expected))
    expected = list(nx.strongly_connected_components(g.multi()))
    same_groups("scc", g.by_node("scc", "componentId"), expected)
    demand(g.figures("scc", "componentCount") == (len(expected),), "scc counts", len(expected))


@check
def triangles(g):
    graph = g.undirected()
    expected = nx.triangles(graph)
    same("triangleCount", g.by_node("triangleCount", "triangleCount"), expected)
    total = g.figures("triangleCount", "globalTriangleCount")
    demand(total == (sum(expected.values()) // 3,), "globalTriangleCount is", total)
    name = "localClusteringCoefficient"
    same(name, g.by_node(name, name), nx.clustering(graph))
    if g.n:
        [average] = g.figures(name, "averageClusteringCoefficient")
        demand(near(average, nx.average_clustering(graph)), "averageClusteringCoefficient is", average)


@check
def cores(g):
    graph = g.undirected()
    same("kcore", g.by_node("kcore", "coreValue"), nx.core_number(graph))
    same("coreness (igraph)", g.by_node("kcore", "coreValue"),
         dict(enumerate(igraph.Graph(g.n, list(graph.edges)).coreness())))
    expected, k = dict.fromkeys(range(g.n), 0), 2
    while (truss := nx.k_truss(graph, k)).number_of_edges():
        expected |= {v: k for v in truss if truss.degree(v)}
        k += 1
    same("ktruss", g.by_node("ktruss", "trussValue"), expected)


@check
def optimised_communities(g):
    graph = g.undirected(loops=True)
    if graph.number_of_edges() == 0:
        g.call("louvain", "node, communityId")
        g.call("leiden", "node, communityId")
        return
    plain = igraph.Graph(g.n, list(graph.edges))
    weights = [w for _, _, w in graph.edges(data="weight")]
    best = [nx.community.modularity(graph, nx.community.louvain_communities(graph, seed=seed)) for seed in range(5)]
    best.append(plain.community_multilevel(weights=weights).modularity)
    expected = sum(best) / len(best)
    for name in ("louvain", "leiden"):
        communities = groups_of(g.by_node(name, "communityId"))
        demand(sum(map(len, communities)) == g.n, name, "leaves nodes out")
        quality = nx.community.modularity(graph, communities)
        demand(quality >= 0.95 * expected - 0.03, name, "has modularity", quality, "expected about", expected)
        count, said = g.figures(name, "communityCount, modularity")
        demand(count == len(communities), name, "counts", count, "communities, expected", len(communities))
        demand(near(said, quality), name, "says modularity", said, "expected", quality)
        if name == "leiden":
            demand(all(nx.is_connected(graph.subgraph(c)) for c in communities), name, "is not connected")


@check
def modularity(g):
    graph = g.undirected(loops=True)
    if graph.number_of_edges() == 0:
        return
    expected = nx.community.modularity(graph, groups_of({v: v % 3 for v in range(g.n)}))
    [found] = g.figures("modularity", "modularity", {"communityProperty": "c"})
    demand(near(found, expected), "modularity is", found, "expected", expected)


@check
def label_propagation(g):
    """By the definition: synchronous steps, the smallest of the labels with most weight."""
    number = {k: at for at, k in enumerate(g.nodes)}
    labels = dict(number)
    lists = collections.defaultdict(list)
    for u, v, w in g.arcs:
        lists[u].append((v, w))
        if g.orientation != "UNDIRECTED":
            lists[v].append((u, w))
    for _ in range(10):
        after = dict(labels)
        for v, others in lists.items():
            sums = collections.Counter()
            for u, w in others:
                sums[labels[u]] += w
            after[v] = min(sums, key=lambda label: (-sums[label], label))
        labels = after
    same("labelPropagation", g.by_node("labelPropagation", "communityId"), labels)


# Paths.

def require_paths(g, what, rows, source, expected, arcs=None, best=min):
    """Rows (sourceNode, targetNode, totalCost, nodes, costs): ways along edges, of these costs."""
    graph = g.lightest(arcs, best, loops=True)
    same(what, {target: cost for _, target, cost, _, _ in rows}, expected)
    for start, target, cost, nodes, costs in rows:
        demand((start, nodes[0], nodes[-1]) == (source, source, target) or source is None, what, "leads", nodes)
        demand(len(set(nodes)) == len(nodes), what, "meets a node twice:", nodes)
        sums = 0.0
        for at, (u, v) in enumerate(zip(nodes, nodes[1:])):
            demand(graph.has_edge(u, v), what, "takes the missing edge", (u, v))
            sums += graph[u][v]["weight"]
            demand(near(costs[at + 1], sums), what, "says costs", costs, "along", nodes)
        demand(costs[0] == 0 and near(costs[-1], cost), what, "says costs", costs, "and in all", cost)


PATH = "sourceNode, targetNode, totalCost, nodes, costs"


@check
def breadth_first(g):
    for source in g.some(2):
        config = {"sourceNode": g.ids[source]}
        for depth in (None, 2):
            expected = nx.single_source_shortest_path_length(g.multi(), source, depth)
            for packed in (False, True):
                rows = g.call("bfs", "node, depth", config | {"maxDepth": depth, "packed": packed})
                demand([d for _, d in rows] == sorted(d for _, d in rows), "bfs is not in order of depths")
                same(f"bfs from {source} to depth {depth}", dict(rows), expected)


@check
def shortest_path(g):
    for source, target in [g.ends() for _ in range(4 if g.n else 0)]:
        config = {"sourceNode": g.ids[source], "targetNode": g.ids[target]}
        graph = g.lightest()
        ones = [(u, v, 1.0) for u, v, _ in g.arcs]
        for name, weight, arcs in (("shortestPath", None, ones), ("shortestPath.dijkstra", "weight", None)):
            expected = {}
            if nx.has_path(graph, source, target):
                expected = {target: nx.shortest_path_length(graph, source, target, weight)}
            require_paths(g, f"{name} from {source} to {target}", g.call(name, PATH, config), source, expected, arcs)


@check
def yens(g):
    if g.n < 2:
        return
    source, target = g.ends()
    if source == target:
        return
    graph, k = g.lightest(), g.random.choice([1, 3, 10])
    expected = []
    if nx.has_path(graph, source, target):
        found = nx.shortest_simple_paths(graph, source, target, "weight")
        expected = [nx.path_weight(graph, path, "weight") for path in itertools.islice(found, k)]
    what = f"yens from {source} to {target}, k {k}"
    config = {"sourceNode": g.ids[source], "targetNode": g.ids[target], "k": k}
    rows = g.call("shortestPath.yens", PATH, config)
    same(what, {at: row[2] for at, row in enumerate(rows)}, dict(enumerate(expected)))
    demand(len({tuple(row[3]) for row in rows}) == len(rows), what, "has a path twice")
    for row in rows:
        require_paths(g, what, [row], source, {target: row[2]})


@check
def paths_from_one(g):
    for source in g.some(1):
        config = {"sourceNode": g.ids[source]}
        expected = nx.single_source_dijkstra_path_length(g.lightest(), source)
        for name, more in (("dijkstra", {}), ("delta", {}), ("delta", {"delta": 0.5}), ("delta", {"delta": 100.0})):
            rows = g.call(f"allShortestPaths.{name}", PATH, config | more)
            require_paths(g, f"allShortestPaths.{name} from {source} {more}", rows, source, expected)
        found = g.by_node("sssp", "distance", config)
        demand(len(found) == g.n, "sssp has", len(found), "rows")
        same(f"sssp from {source}", {v: d for v, d in found.items() if d is not None}, expected)


@check
def all_pairs(g):
    weight = "weight" if g.weighted else None
    expected = {(u, v): d for u, row in nx.all_pairs_dijkstra_path_length(g.lightest(), weight=weight)
                for v, d in row.items() if u != v}
    rows = g.call("allShortestPaths.pairs", "sourceNode, targetNode, distance")
    demand(len(rows) == len(expected), "allShortestPaths.pairs has", len(rows), "rows, expected", len(expected))
    same("allShortestPaths.pairs", {(u, v): d for u, v, d in rows}, expected)


@check
def bellman_ford(g):
    if not g.edges:
        return
    arcs = g.followed(lambda edge: edge.signed)
    graph = g.lightest(arcs, loops=True)
    [source] = g.some(1)
    what, config = f"bellmanFord from {source}", {"sourceNode": g.ids[source]}
    rows = g.call("bellmanFord", PATH + ", isNegativeCycle", config, {"weight": "x"})
    try:
        expected = nx.single_source_bellman_ford_path_length(graph, source)
    except nx.NetworkXUnbounded:
        demand(len(rows) == 1 and rows[0][-1], what, "finds no negative cycle")
        _, _, cost, nodes, _, _ = rows[0]
        demand(nodes[0] == nodes[-1] and len(set(nodes)) == len(nodes) - 1, what, "says a cycle is", nodes)
        demand(all(graph.has_edge(u, v) for u, v in zip(nodes, nodes[1:])), what, "says a cycle is", nodes)
        weight = nx.path_weight(graph, nodes, "weight")
        demand(weight < 0 and near(weight, cost), what, "finds a cycle of", cost, "which has", weight)
        return
    demand(not any(row[-1] for row in rows), what, "finds a negative cycle", rows)
    require_paths(g, what, [row[:-1] for row in rows], source, expected, arcs)


@check
def spanning_tree(g):
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(g.n))
    graph.add_weighted_edges_from((e.source, e.target, g.weight(e)) for e in g.edges)
    for objective, tree in (("minimum", nx.minimum_spanning_tree), ("maximum", nx.maximum_spanning_tree)):
        expected = tree(graph).size("weight")
        rows = g.call("spanningTree", "node, parentId, weight", {"objective": objective})
        total, trees = g.figures("spanningTree", "totalWeight, treeCount", {"objective": objective})
        what = f"spanningTree, {objective}"
        demand(near(total, expected) and near(sum(w for _, _, w in rows), expected), what, "weighs", total,
               "expected", expected)
        demand(trees == nx.number_connected_components(graph), what, "has trees:", trees)
        found = nx.Graph((v, parent) for v, parent, _ in rows)
        demand(found.number_of_edges() == len(rows) == g.n - trees, what, "has edges:", len(rows))
        demand(not rows or nx.is_forest(found), what, "is no forest")
        for v, parent, w in rows:
            weights = [data["weight"] for data in (graph.get_edge_data(v, parent) or {}).values()]
            demand(w in weights, what, "takes the missing edge", (v, parent, w))
    for source in g.some(1):
        part = graph.subgraph(nx.node_connected_component(graph, source))
        rows = g.call("spanningTree", "node, parentId, weight", {"sourceNode": g.ids[source]})
        demand(near(sum(w for _, _, w in rows), nx.minimum_spanning_tree(part).size("weight")) and
               {v for v, _, _ in rows} == set(part) - {source}, "spanningTree of", source, "is", rows)


@check
def dags(g):
    graph = g.multi()
    if not nx.is_directed_acyclic_graph(graph):
        for name in ("topologicalSort", "longestPath"):
            try:
                g.call(f"dag.{name}", "index" if name == "longestPath" else "node")
            except ClientError as error:
                demand("wants no cycles" in str(error), f"dag.{name} fails:", error)
            else:
                raise Difference(f"dag.{name} takes a graph with cycles")
        return
    levels, costs = dict.fromkeys(range(g.n), 0), dict.fromkeys(range(g.n), 0.0)
    for v in nx.topological_sort(graph):
        for u, _, w in graph.in_edges(v, "weight"):
            levels[v] = max(levels[v], levels[u] + 1)
            costs[v] = max(costs[v], costs[u] + w)
    rows = g.call("dag.topologicalSort", "node, maxDistanceFromSource")
    same("dag.topologicalSort", dict(rows), levels)
    place = {v: at for at, (v, _) in enumerate(rows)}
    demand(all(place[u] < place[v] for u, v, _ in g.arcs), "dag.topologicalSort is no order")
    rows = g.call("dag.longestPath", PATH)
    require_paths(g, "dag.longestPath", rows, None, costs, best=max)
    if g.n and g.edges:
        longest = nx.dag_longest_path_length(g.lightest(best=max))
        demand(near(max(row[2] for row in rows), longest), "dag.longestPath is not", longest)


@check
def cut_points(g):
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(g.n))
    graph.add_edges_from((e.source, e.target) for e in g.edges if e.source != e.target)
    found = collections.Counter(frozenset(row) for row in g.call("bridges", "from, to"))
    expected = collections.Counter(frozenset(bridge) for bridge in nx.bridges(graph))
    demand(found == expected, "bridges are", found, "expected", expected)
    found = sorted(v for (v,) in g.call("articulationPoints", "node"))
    expected = sorted(nx.articulation_points(nx.Graph(graph)))
    demand(found == expected, "articulationPoints are", found, "expected", expected)


@check
def max_flow(g):
    if g.n < 4:
        return
    ends = g.some(4)
    for sources, targets in ((ends[:1], ends[1:2]), (ends[:2], ends[2:])):
        graph = nx.DiGraph()
        graph.add_nodes_from([*range(g.n), "source", "target"])
        for u, v, w in g.arcs:
            if u != v:
                before = graph.get_edge_data(u, v, {"capacity": 0.0})["capacity"]
                graph.add_edge(u, v, capacity=before + w)
        graph.add_edges_from([("source", v) for v in sources] + [(v, "target") for v in targets])
        expected = nx.maximum_flow_value(graph, "source", "target")
        config = {"sourceNodes": [g.ids[v] for v in sources], "targetNodes": [g.ids[v] for v in targets]}
        what = f"maxFlow from {sources} to {targets}"
        [total] = g.figures("maxFlow", "totalFlow", config)
        rows = g.call("maxFlow", "source, target, flow, isCut", config)
        demand(near(total, expected), what, "is", total, "expected", expected)
        cut = sum(flow for _, _, flow, is_cut in rows if is_cut)
        demand(near(cut, expected), what, "has a cut of", cut, "expected", expected)
        flows, excess = collections.Counter(), collections.Counter()
        for u, v, flow, _ in rows:
            flows[u, v] += flow
            excess[u] -= flow
            excess[v] += flow
        for (u, v), flow in flows.items():
            demand(graph.has_edge(u, v) and flow <= graph[u][v]["capacity"] + 1e-9, what, "sends", flow, "over", (u, v))
        for v, value in excess.items():
            demand(v in sources or v in targets or near(value, 0.0), what, "leaves", value, "at", v)
        demand(near(sum(excess[v] for v in targets), expected), what, "arrives with", excess)
        graph.remove_edges_from([(u, v) for u, v, _, is_cut in rows if is_cut])
        demand(not nx.has_path(graph, "source", "target"), what, "has a cut that does not cut")


def turned(cycle):
    at = cycle.index(min(cycle))
    return tuple(cycle[at:] + cycle[:at])


@check
def cycles(g):
    """Every cycle of nodes, once for each choice among parallel edges; then those in order of time."""
    if g.kind == "large":
        return
    parallel = collections.defaultdict(list)
    for edge in g.edges:
        ends = edge.source, edge.target
        for way in {"NATURAL": [ends], "REVERSE": [ends[::-1]], "UNDIRECTED": [ends, ends[::-1]]}[g.orientation]:
            parallel[way].append(edge)
    graph = nx.DiGraph(list(parallel))
    all_, timed, limit = collections.Counter(), collections.Counter(), 30_000
    longest = 3 if len(g.edges) > 60 else 5
    for cycle in nx.simple_cycles(graph, length_bound=longest):
        choices = [parallel[u, v] for u, v in zip(cycle, cycle[1:] + cycle[:1])]
        all_[turned(cycle)] += math.prod(map(len, choices))
        limit -= math.prod(map(len, choices))
        if limit < 0:
            return
        for edges in itertools.product(*choices):
            times = [edge.time for edge in edges]
            timed[turned(cycle)] += max(times) - min(times) <= 12 and any(
                all(a.time < b.time and 0.5 <= b.amount / a.amount <= 2.0 for a, b in zip(turn, turn[1:]))
                for turn in (edges[at:] + edges[:at] for at in range(len(edges))))
    config = {"minLength": 1, "maxLength": longest, "limit": 100_000}
    conditions = {"timeProperty": "t", "timeOrder": "ASCENDING", "window": 12, "amountProperty": "a",
                  "amountRatioMin": 0.5, "amountRatioMax": 2.0}
    rows = g.call("cycles", "nodes, length", config)
    demand(all(len(nodes) == length for nodes, length in rows), "cycles has other lengths than it says")
    found = collections.Counter(turned(nodes) for nodes, _ in rows)
    demand(found == all_, "cycles differ:", sorted((found - all_).items())[:3], "too many,",
           sorted((all_ - found).items())[:3], "missing")
    if g.edges:
        rows = g.call("cycles", "nodes, length", config | conditions)
        found = collections.Counter(turned(nodes) for nodes, _ in rows)
        timed = +timed
        demand(found == timed, "cycles in time differ:", sorted((found - timed).items())[:3], "too many,",
               sorted((timed - found).items())[:3], "missing")


@check
def random_walk(g):
    if not g.edges:
        return
    arcs = {(u, v) for u, v, _ in g.arcs}
    leaving = {u for u, _ in arcs}
    config = {"walkLength": 6, "walksPerNode": 3, "randomSeed": 7, "inOutFactor": 0.5, "returnFactor": 2.0}
    walks = [nodes for (nodes,) in g.call("randomWalk", "nodes", config)]
    starts = collections.Counter(walk[0] for walk in walks)
    demand(starts == dict.fromkeys(leaving, 3), "randomWalk starts at", starts, "expected 3 of each", leaving)
    for walk in walks:
        demand(all(step in arcs for step in zip(walk, walk[1:])), "randomWalk takes a missing edge:", walk)
        demand(len(walk) == 6 or walk[-1] not in leaving, "randomWalk stops early:", walk)
    again = [nodes for (nodes,) in g.call("randomWalk", "nodes", config | {"concurrency": 3 - g.concurrency})]
    demand(walks == again, "randomWalk differs with the number of threads")


# Similarity, vectors, orders.

def similarity(a, b, metric, weighted):
    common = set(a) & set(b)
    if not weighted:
        a, b = dict.fromkeys(a, 1.0), dict.fromkeys(b, 1.0)
    least = sum(min(a[x], b[x]) for x in common)
    if metric == "JACCARD":
        return least / (sum(a.values()) + sum(b.values()) - least)
    if metric == "OVERLAP":
        return least / min(sum(a.values()), sum(b.values()))
    return sum(a[x] * b[x] for x in common) / math.sqrt(
        sum(w * w for w in a.values()) * sum(w * w for w in b.values()))


@check
def node_similarity(g):
    lists = collections.defaultdict(lambda: collections.defaultdict(float))
    for u, v, w in g.arcs:
        lists[u][v] += w
    for metric in ("JACCARD", "OVERLAP", "COSINE"):
        expected = {(u, v): similarity(lists[u], lists[v], metric, g.weighted)
                    for u in list(lists) for v in list(lists) if u != v and lists[u].keys() & lists[v].keys()}
        config = {"similarityMetric": metric, "topK": max(g.n, 1)}
        rows = g.call("nodeSimilarity", "node1, node2, similarity", config)
        same(f"nodeSimilarity, {metric}", {(u, v): s for u, v, s in rows}, expected)
        best = {(u, at): s for u in lists for at, s in enumerate(
            sorted((s for (a, _), s in expected.items() if a == u), reverse=True)[:2])}
        found = collections.defaultdict(list)
        for u, _, s in g.call("nodeSimilarity", "node1, node2, similarity", config | {"topK": 2}):
            found[u].append(s)
        same(f"nodeSimilarity, {metric}, topK 2", {(u, at): s for u, of in found.items() for at, s in enumerate(of)},
             best)
    if not g.weighted and g.edges:
        graph, _ = g.igraph()
        jaccard = graph.similarity_jaccard(mode="out", loops=False)
        rows = g.call("nodeSimilarity", "node1, node2, similarity", {"topK": g.n})
        if len({arc[:2] for arc in g.arcs}) == len(g.arcs) and all(u != v for u, v, _ in g.arcs):
            for u, v, s in rows:
                demand(near(s, jaccard[u][v]), "nodeSimilarity of", (u, v), "is", s, "igraph says", jaccard[u][v])


@check
def nearest_neighbours(g):
    if g.n < 2:
        return
    rows = g.session.run("MATCH (x:N) RETURN x.k AS k, x.v AS v")
    vectors = {record["k"]: np.array(record["v"]) for record in rows}
    for metric in ("COSINE", "EUCLIDEAN"):
        def alike(a, b, metric=metric):
            if metric == "COSINE":
                return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
            return float(1 / (1 + np.linalg.norm(a - b)))
        expected = {}
        for u, a in vectors.items():
            found = sorted((alike(a, b) for v, b in vectors.items() if u != v), reverse=True)[:5]
            expected |= {(u, at): s for at, s in enumerate(found)}
        found = collections.defaultdict(list)
        config = {"nodeProperties": "v", "topK": 5, "similarityMetric": metric, "similarityCutoff": -1.0}
        for u, v, s in g.call("knn", "node1, node2, similarity", config):
            demand(near(s, alike(vectors[u], vectors[v]), 1e-5), "knn says", s, "of", (u, v))
            found[u].append(s)
        same(f"knn, {metric}", {(u, at): s for u, of in found.items() for at, s in enumerate(of)}, expected, 1e-5)


@check
def fast_rp(g):
    config = {"embeddingDimension": 16, "randomSeed": 3}
    found = dict(g.call("fastRP", "node, embedding", config))
    demand(len(found) == g.n and all(len(row) == 16 for row in found.values()), "fastRP has other dimensions")
    demand(all(map(math.isfinite, itertools.chain(*found.values()))), "fastRP has values that are no numbers")
    again = dict(g.call("fastRP", "node, embedding", config | {"concurrency": 3 - g.concurrency}))
    demand(found == again, "fastRP differs with the number of threads")
    other = dict(g.call("fastRP", "node, embedding", config | {"randomSeed": 4}))
    # The first of the vectors that count are those of nodes two steps away.
    leaving = {u for u, _, _ in g.arcs}
    demand(found != other or not any(v in leaving for _, v, _ in g.arcs), "fastRP is the same for another seed")


@check
def partition(g):
    pairs = [(e.source, e.target) for e in g.edges if e.source != e.target]
    for method in ("HASH", "LDG", "FENNEL", "LABEL_PROPAGATION", "FEWEST_NON_NEIGHBOURS", "SPECTRAL"):
        parts = g.random.choice([1, 2, 3, 5])
        config = {"method": method, "parts": parts, "randomSeed": 1}
        found = g.by_node("partition", "part", config)
        what = f"partition by {method} into {parts}"
        demand(len(found) == g.n and all(0 <= part < parts for part in found.values()), what, "is", found)
        sizes = collections.Counter(found.values())
        most = max(sizes.values(), default=0)
        slack = max(math.ceil(g.n / parts), int(g.n / parts * 1.1))
        demand(method in ("HASH", "FEWEST_NON_NEIGHBOURS") or most <= slack, what, "has sizes", sizes)
        cut, balance = g.figures("partition", "edgeCut, balance", config)
        expected = sum(found[u] != found[v] for u, v in pairs) / max(len(pairs), 1)
        demand(near(cut, expected), what, "says edgeCut", cut, "expected", expected)
        demand(near(balance, most * parts / g.n if g.n else 1.0), what, "says balance", balance, "of", sizes)


@check
def ordering(g):
    pairs = [(e.source, e.target) for e in g.edges]
    for method in ("DEGREE", "BFS", "RCM", "COMMUNITY", "SPECTRAL", "GORDER", "RANDOM"):
        config = {"method": method, "randomSeed": 1}
        found = g.by_node("ordering", "position", config)
        demand(sorted(found.values()) == list(range(g.n)), "ordering by", method, "is no permutation")
        [bandwidth] = g.figures("ordering", "bandwidth", config)
        expected = max((abs(found[u] - found[v]) for u, v in pairs), default=0)
        demand(bandwidth == expected, "ordering by", method, "says bandwidth", bandwidth, "expected", expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("telar")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true", help="say the time of each check")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    checks = [each for each in CHECKS if options.only in each.__name__]
    begun, times, differ = time.monotonic(), collections.Counter(), 0
    for number in range(options.first, options.first + options.graphs):
        graph = Graph(options.seed, number)
        with tempfile.TemporaryDirectory() as folder:
            server = Telar(options.telar, f"{folder}/store")
            try:
                server.start()
                with neo4j.GraphDatabase.driver(server.uri) as driver, driver.session() as session:
                    graph.load(session)
                    for each in checks:
                        # A check draws the same numbers, whichever others run.
                        graph.random = random.Random(f"{options.seed} {number} {each.__name__}")
                        at = time.monotonic()
                        try:
                            each(graph)
                        except Exception as error:  # whatever is thrown, the graph belongs to it
                            print(f"graph {number} of seed {options.seed}: {graph}\n  {each.__name__}: "
                                  f"{type(error).__name__}: {error}")
                            if not isinstance(error, (Difference, Neo4jError, DriverError)):
                                raise
                            differ += 1
                            break
                        times[each.__name__] += time.monotonic() - at
            finally:
                if server.process is not None:
                    server.kill()
        if differ:
            return 1
    if options.verbose:
        for name, seconds in times.most_common():
            print(f"{seconds:7.2f} s  {name}")
    print(f"{options.graphs} graphs, {len(checks)} checks each: no difference, in {time.monotonic() - begun:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
