"""Random graphs for `algorithms_peers.py`, as a server, NetworkX and igraph have them."""

import collections
import itertools
import math
import random

import igraph
import networkx as nx

KINDS = ["sparse", "multi", "dense", "dag", "parts", "ring", "tree", "groups", "sparse", "multi",
         "large", "no edges", "one node", "no nodes"]
Edge = collections.namedtuple("Edge", "source target weight signed time amount")


class Difference(Exception):
    """A result that is not what the peer says."""


def demand(truth, *what):
    if not truth:
        raise Difference(" ".join(map(str, what)))


def near(a, b, tolerance=1e-7):
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def same(what, found, expected, tolerance=1e-7):
    """Fails unless two dictionaries have the same keys and numbers."""
    demand(len(found) == len(expected), what, f"has {len(found)} rows, expected {len(expected)}:",
           sorted(set(found) ^ set(expected))[:5])
    for key, value in expected.items():
        demand(key in found, what, "lacks", key)
        demand(near(found[key], value, tolerance), what, f"of {key} is {found[key]}, expected {value}")


def same_groups(what, found, expected):
    """Fails unless a dictionary of group names makes these sets."""
    demand({frozenset(group) for group in groups_of(found)} == {frozenset(group) for group in expected},
           what, "are", groups_of(found)[:5], "expected", list(expected)[:5])


def groups_of(names):
    groups = collections.defaultdict(set)
    for node, name in names.items():
        groups[name].add(node)
    return list(groups.values())


class Graph:
    """A random graph. Nodes are 0..n by their property k; `arcs` are the edges as they are followed."""

    def __init__(self, seed, number):
        self.random = chance = random.Random(seed * 1_000_003 + number)
        self.kind = KINDS[number % len(KINDS)]
        sizes = {"no nodes": 0, "one node": 1, "dense": chance.randint(2, 14), "large": 300}
        self.n = sizes.get(self.kind, chance.randint(2, 40))
        self.orientation = chance.choice(["NATURAL", "NATURAL", "UNDIRECTED", "UNDIRECTED", "REVERSE"])
        self.is_alone = self.n == 0 or chance.random() < 0.4
        self.concurrency = chance.choice([1, 2])
        self.weighted = chance.random() < 0.5
        # Edges without the property have this weight.
        self.default = chance.choice([None, None, 2.5])
        loops = chance.random() < 0.4
        pairs = [pair for pair in self.pairs() if loops or pair[0] != pair[1]]
        if self.kind == "one node":
            pairs = [(0, 0)] * chance.randint(0, 2)
        self.edges = [self.edge(*pair) for pair in pairs]
        self.weighted &= any(edge.weight is not None for edge in self.edges)
        self.arcs = self.followed(lambda edge: self.weight(edge))

    def pairs(self):
        chance, n = self.random, self.n
        def any_pairs(count, among):
            return [(chance.choice(among), chance.choice(among)) for _ in range(count)]
        nodes = list(range(n))
        if self.kind in ("no nodes", "no edges", "one node"):
            return []
        if self.kind == "multi":
            return any_pairs(chance.randint(1, 2 * n), nodes) * 2 + any_pairs(n // 2, nodes)
        if self.kind == "dense":
            return [pair for pair in itertools.product(nodes, nodes) if chance.random() < 0.4]
        if self.kind == "dag":
            return [(min(pair), max(pair)) for pair in any_pairs(2 * n, nodes) if pair[0] != pair[1]]
        if self.kind == "parts":
            cut = max(n // 2, 1)
            return any_pairs(n, nodes[:cut]) + (any_pairs(n, nodes[cut:]) if cut < n else [])
        if self.kind == "ring":
            return [(v, (v + 1) % n) for v in nodes] + any_pairs(n // 4, nodes)
        if self.kind == "tree":
            return [(chance.randrange(v), v) for v in nodes[1:]]
        if self.kind == "groups":
            return [(u, v) for u in nodes for v in nodes
                    if u < v and chance.random() < (0.6 if u % 3 == v % 3 else 0.05)]
        return any_pairs(chance.randint(n // 2, 3 * n), nodes)

    def edge(self, source, target):
        chance = self.random
        weight = None if chance.random() < 0.1 else chance.randint(1, 36) / 4
        signed = chance.randint(-1, 12)
        return Edge(source, target, weight, float(signed), chance.randint(0, 20), float(chance.randint(1, 8)))

    def weight(self, edge):
        if not self.weighted:
            return 1.0
        return edge.weight if edge.weight is not None else self.default or 1.0

    def followed(self, weight):
        there = [(edge.source, edge.target, weight(edge)) for edge in self.edges]
        back = [(v, u, w) for u, v, w in there]
        return {"NATURAL": there, "REVERSE": back, "UNDIRECTED": there + back}[self.orientation]

    # The graph as the peers want it.

    def multi(self):
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(range(self.n))
        graph.add_weighted_edges_from(self.arcs)
        return graph

    def lightest(self, arcs=None, best=min, loops=False):
        """One edge for each pair, the lightest."""
        weights = {}
        for u, v, w in self.arcs if arcs is None else arcs:
            if u != v or loops:
                weights[u, v] = best(w, weights.get((u, v), w))
        graph = nx.DiGraph()
        graph.add_nodes_from(range(self.n))
        graph.add_weighted_edges_from((u, v, w) for (u, v), w in weights.items())
        return graph

    def undirected(self, loops=False):
        """Direction ignored, weights of parallel edges added."""
        graph = nx.Graph()
        graph.add_nodes_from(range(self.n))
        for edge in self.edges:
            if edge.source != edge.target or loops:
                before = graph.get_edge_data(edge.source, edge.target, {"weight": 0.0})["weight"]
                graph.add_edge(edge.source, edge.target, weight=before + self.weight(edge))
        return graph

    def igraph(self):
        """Parallel edges stay; an undirected graph is one there too."""
        if self.orientation == "UNDIRECTED":
            edges = [(edge.source, edge.target) for edge in self.edges]
            return igraph.Graph(self.n, edges), [self.weight(edge) for edge in self.edges]
        graph = igraph.Graph(self.n, [(u, v) for u, v, _ in self.arcs], directed=True)
        return graph, [w for _, _, w in self.arcs]

    # The graph in the store.

    def load(self, session):
        chance = self.random
        self.session = session
        rows = [{"k": k, "c": k % 3, "v": [chance.gauss(0, 1) for _ in range(4)]} for k in range(self.n)]
        others = [] if self.is_alone else [{"k": -1 - k, "c": 0, "v": []} for k in range(10)]
        rows += others
        if others:
            chance.shuffle(rows)
        session.run("UNWIND $rows AS row CREATE (x:N) SET x = row", rows=rows).consume()
        edges = [edge._asdict() for edge in self.edges]
        if others:
            edges += [{"source": -1 - k, "target": chance.randrange(self.n), "weight": 7.0} for k in range(10)]
            edges += [{"source": e["target"], "target": e["source"], "weight": 5.0} for e in edges[-10:]]
            chance.shuffle(edges)
        session.run("UNWIND $edges AS e MATCH (a:N {k: e.source}), (b:N {k: e.target}) "
                    "CREATE (a)-[:R {w: e.weight, x: e.signed, t: e.time, a: e.amount}]->(b)",
                    edges=edges).consume()
        if others:
            session.run("MATCH (x:N) WHERE x.k < -5 DETACH DELETE x").consume()
            session.run("MATCH (x:N) WHERE x.k < 0 REMOVE x:N SET x:M").consume()
            session.run("MATCH (a:N {k: 0}), (b:N) CREATE (a)-[:S {w: 3.0}]->(b)").consume()
        found = session.run("MATCH (x:N) RETURN x.k AS k, id(x) AS id ORDER BY id")
        self.ids = {record["k"]: record["id"] for record in found}
        self.nodes = list(self.ids)
        demand(len(self.ids) == self.n, "the store has", len(self.ids), "nodes, expected", self.n)
        self.map = {"orientation": self.orientation}
        if self.n:
            self.map["nodes"] = "N"
        if self.edges or others:
            self.map["relationships"] = "R"
        if self.weighted:
            self.map["weight"] = "w"
            if self.default:
                self.map["defaultWeight"] = self.default

    def call(self, name, columns, config=None, graph=None):
        """Rows of a call: nodes by their k."""
        names = [column.strip() for column in columns.split(",")]
        returned = []
        for column in names:
            plain = column in ("node", "node1", "node2", "sourceNode", "targetNode", "from", "to",
                               "source", "target", "parentId")
            returned.append(f"{column}.k AS {column}" if plain else
                            f"[x IN nodes | x.k] AS {column}" if column in ("nodes", "nodeIds") else column)
        text = f"CALL algo.{name}($graph, $config) YIELD {', '.join(names)} RETURN {', '.join(returned)}"
        config = {"concurrency": self.concurrency, **(config or {})}
        found = self.session.run(text, graph=self.map | (graph or {}), config=config)
        return [tuple(record.values()) for record in found]

    def by_node(self, name, column, config=None):
        rows = self.call(name, f"node, {column}", config)
        found = dict(rows)
        demand(len(rows) == len(found), name, "names a node twice")
        return found

    def figures(self, name, columns, config=None):
        [row] = self.call(f"{name}.stats", columns, config)
        return row

    def some(self, count=1):
        return self.random.sample(range(self.n), min(count, self.n))

    def ends(self):
        """Two nodes, the second most often one that the first reaches."""
        [source, target] = self.random.choices(range(self.n), k=2)
        reached = sorted(nx.descendants(self.multi(), source))
        return source, self.random.choice(reached) if reached and self.random.random() < 0.8 else target

    def __str__(self):
        weights = f"weighted (default {self.default})" if self.weighted else "unweighted"
        alone = "alone in its store" if self.is_alone else "with holes and other things beside it"
        edges = [(e.source, e.target, self.weight(e)) for e in self.edges]
        return (f"{self.kind}, {self.n} nodes, {len(edges)} edges, {self.orientation}, {weights}, {alone}, "
                f"concurrency {self.concurrency}" + (f"\n  edges {edges}" if len(edges) < 80 else ""))
