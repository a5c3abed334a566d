#!/usr/bin/env python3
"""Graph algorithms of Telar over Bolt against igraph, NetworKit and NetworkX, in one run.

    algorithms.py [--telar BINARY] [--shared FOLDER] [--graphs NAME,...] [--peers NAME,...] [--rounds N]
                  [--threads 1,2] [--only NAME,...] [--here]

Graphs are real ones, from files in `data/graphs` of FOLDER, and `rmat-SCALE`, made here with 16
edges drawn per node. NetworkX is left out of graphs with more than `--networkx-most` edges, which
would not fit into memory.

FOLDER holds `data/graphs`; without it TELAR_SHARED is taken, or `shared` beside the repository. Peers
are installed from the package registry into target/compare/venv, at the versions below; `--here` takes
what this Python has.

Each graph is imported into a store of its own (`telar import`), without loops and with one edge for
each pair, and served. First every answer of a peer is compared with Telar's: ranks to 1e-6, distances
to 1e-9, components and triangles exactly. Then each is asked in turns, after a round that does not
count. A figure is the median of the milliseconds on the wall; of what takes a peer longer than
`--patience` seconds, it is the one that it took.

What is in a figure: for Telar `CALL algo... YIELD ... RETURN sum(...)` from the client, with reading
the graph at the statement's snapshot; for a peer the call on a graph that it has in memory, and the sum
of the result. Ratios are the peer's figure over Telar's with as many threads: above 1 Telar is faster.

PageRank runs 20 iterations, but for igraph, whose method has none: it solves to its own precision.
`--peers GDS` is Neo4j's Graph Data Science library in a Neo4j of its own (gds.py; needs mvn and Java): its
graph is projected once, and its figure is the call over Bolt with the sum of its rows in the query, as Telar's is.

igraph has no count of triangles by itself, so that they are taken from its clustering coefficients.
"""
import argparse, contextlib, itertools, os, statistics, subprocess, sys, tempfile, time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gds import Gds  # noqa: E402
from lsqb import Server  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / 'target' / 'compare' / 'venv'
PACKAGES = ['neo4j==6.4.1', 'igraph==1.0.0', 'networkit==11.3', 'networkx==3.6.1', 'numpy==2.4.6', 'scipy==1.17.1']
GRAPHS = {'wiki-Vote': 'wiki-Vote.csv.zst', 'soc-Epinions1': 'soc-Epinions1.txt.zst', 'cnr-2000': 'cnr-2000.txt.zst'}
RMAT = 'rmat-20'
ALGORITHMS = ['pageRank', 'bfs', 'wcc', 'sssp', 'triangles']

# Rows of numbers that become Python objects at once.
ROWS = 1 << 20


def read(file):
    """Pairs of a list of edges."""
    import numpy as np
    text = subprocess.run(['zstdcat', file], check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = (line for line in text.splitlines() if line and line[0].isdigit())
    return np.array([line.replace(',', ' ').split()[:2] for line in lines], dtype=np.int64)


def rmat(scale, edges_per_node=16, seed=42):
    """Pairs of an RMAT graph with GAP's probabilities, its nodes numbered at random."""
    import numpy as np
    random = np.random.default_rng(seed)
    pairs = np.zeros((edges_per_node << scale, 2), dtype=np.int64)
    for _ in range(scale):
        # Quarters of the matrix: 0.57, 0.19, 0.19, 0.05.
        draw = random.random(len(pairs), dtype=np.float32)
        pairs <<= 1
        pairs[:, 0] += draw >= 0.76
        pairs[:, 1] += ((draw >= 0.57) & (draw < 0.76)) | (draw >= 0.95)
    return random.permutation(1 << scale)[pairs]


def distinct(pairs):
    """Pairs once each, sorted: as one number each, which takes less memory than rows do."""
    import numpy as np
    keys = np.unique(pairs[:, 0] << 32 | pairs[:, 1])
    return np.stack([keys >> 32, keys & 0xffffffff], axis=1)


class Graph:
    """Nodes 0..n, distinct edges without loops in both directions of reading, and weights."""

    def __init__(self, pairs):
        import numpy as np
        pairs = distinct(pairs[pairs[:, 0] != pairs[:, 1]])
        names, pairs = np.unique(pairs, return_inverse=True)
        self.n, self.pairs = len(names), pairs.reshape(-1, 2)
        self.weights = 1.0 + (self.pairs[:, 0] * 31 + self.pairs[:, 1] * 17) % 16
        self.simple = distinct(np.sort(self.pairs, axis=1))
        # The node with most edges out, from which searches start.
        self.source = int(np.bincount(self.pairs[:, 0]).argmax())


class Telar(Server):
    """A server with one graph. Nodes have their number as k."""

    def __init__(self, binary, folder, graph):
        self.binary, self.store, self.log, self.source = binary, folder / 'store', folder / 'log', graph.source
        folder.mkdir()
        nodes, edges = self.files = folder / 'nodes.csv', folder / 'edges.csv'
        with open(nodes, 'w', encoding='ascii') as file:
            file.write('k:ID{id-type:long}\n' + '\n'.join(map(str, range(graph.n))) + '\n')
        with open(edges, 'w', encoding='ascii') as file:
            file.write(':START_ID,:END_ID,w:double\n')
            for at in range(0, len(graph.pairs), ROWS):
                pairs = graph.pairs[at:at + ROWS].tolist()
                weights = graph.weights[at:at + ROWS].tolist()
                file.writelines(f'{u},{v},{w}\n' for (u, v), w in zip(pairs, weights))
        subprocess.run([binary, 'import', self.store, '--nodes', f'V={nodes}', '--relationships', f'E={edges}'],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        super().__enter__()
        self.number, _ = self.ask(f'MATCH (s:V {{k: {self.source}}}) RETURN id(s) AS n')
        return self

    def statement(self, name, threads, columns='', converged=False):
        """An algorithm; its sum, or its columns by node."""
        plain, weighted = "{nodes: 'V', relationships: 'E'}", "{nodes: 'V', relationships: 'E', weight: 'w'}"
        rounds = 'maxIterations: 1000, tolerance: 1e-13' if converged else 'maxIterations: 20, tolerance: 0'
        procedure, graph, settings, column = {
            'pageRank': ('pageRank', plain, rounds, 'score'),
            'bfs': ('bfs', plain, f'sourceNode: {self.number}', 'depth'),
            'wcc': ('wcc', plain, '', 'componentId'),
            'sssp': ('sssp', weighted, f'sourceNode: {self.number}', 'distance'),
            'triangles': ('triangleCount', plain, '', 'triangleCount'),
        }[name]
        settings = ', '.join(filter(None, [settings, f'concurrency: {threads}']))
        returned = columns.format(column) if columns else f'sum({column})'
        return f'CALL algo.{procedure}({graph}, {{{settings}}}) YIELD node, {column} RETURN {returned} AS n'

    def answer(self, name):
        """The result by node, as a list; None where there is none."""
        text = self.statement(name, 1, '[node.k, {}]', converged=True)
        found = dict(record['n'] for record in self.session.run(text))
        return [found.get(k) for k in range(1 + max(found))]

    def run(self, name, threads):
        return self.ask(self.statement(name, threads))[0]


class Igraph:
    threads = [1]

    def __init__(self, graph):
        import igraph
        self.source = graph.source
        # A memory view is read as it is; lists would take ten times as much.
        self.graph = igraph.Graph(graph.n, memoryview(graph.pairs), directed=True)
        self.weights = graph.weights.tolist()
        self.simple = igraph.Graph(graph.n, memoryview(graph.simple))

    def run(self, name, _, converged=False):
        match name:
            case 'pageRank':
                return self.graph.pagerank()
            case 'bfs':
                return self.graph.distances(self.source, mode='out')[0]
            case 'wcc':
                return self.graph.connected_components('weak').membership
            case 'sssp':
                return self.graph.distances(self.source, weights=self.weights, mode='out')[0]
            case 'triangles':
                shares = self.simple.transitivity_local_undirected(mode='zero')
                return [round(share * d * (d - 1) / 2) for share, d in zip(shares, self.simple.degree())]


class Networkit:
    threads = [1, 2]

    def __init__(self, graph):
        import networkit as nk
        self.nk, self.source = nk, graph.source
        from_, to = graph.pairs[:, 0].copy(), graph.pairs[:, 1].copy()
        self.graph = nk.GraphFromCoo((from_, to), n=graph.n, directed=True)
        self.weighted = nk.GraphFromCoo((graph.weights, (from_, to)), n=graph.n, directed=True, weighted=True)
        simple = graph.simple[:, 0].copy(), graph.simple[:, 1].copy()
        self.simple = nk.GraphFromCoo(simple, n=graph.n, edgesIndexed=True)

    def run(self, name, threads, converged=False):
        nk = self.nk
        nk.setNumberOfThreads(threads)
        match name:
            case 'pageRank':
                sinks = nk.centrality.SinkHandling.DistributeSinks
                run = nk.centrality.PageRank(self.graph, 0.85, 1e-12 if converged else 1e-300, distributeSinks=sinks)
                run.maxIterations = 200 if converged else 20
                return run.run().scores()
            case 'bfs':
                return nk.distance.BFS(self.graph, self.source, False).run().getDistances()
            case 'wcc':
                # The one that runs in parallel.
                run = nk.components.ParallelConnectedComponents(self.simple).run()
                return [at for at, part in enumerate(run.getComponents()) for _ in part]
            case 'sssp':
                return nk.distance.Dijkstra(self.weighted, self.source, False).run().getDistances()
            case 'triangles':
                return nk.sparsification.TriangleEdgeScore(self.simple).run().scores()


class Networkx:
    threads = [1]

    def __init__(self, graph):
        import networkx as nx
        self.nx, self.source, self.n = nx, graph.source, graph.n
        self.graph, self.simple = nx.DiGraph(), nx.Graph()
        for of in (self.graph, self.simple):
            of.add_nodes_from(range(graph.n))
        self.graph.add_weighted_edges_from((*pair, w) for pair, w in zip(graph.pairs.tolist(), graph.weights.tolist()))
        self.simple.add_edges_from(graph.simple.tolist())

    def run(self, name, _, converged=False):
        nx = self.nx
        def by_node(found):
            return [found.get(v) for v in range(self.n)]
        match name:
            case 'pageRank' if converged:
                return by_node(nx.pagerank(self.graph, tol=1e-13 / self.n, max_iter=1000, weight=None))
            case 'pageRank':
                try:
                    nx.pagerank(self.graph, tol=0, max_iter=20, weight=None)
                except nx.PowerIterationFailedConvergence:
                    return []  # it throws the scores away
            case 'bfs':
                return by_node(nx.single_source_shortest_path_length(self.graph, self.source))
            case 'wcc':
                return [at for at, part in enumerate(nx.weakly_connected_components(self.graph)) for _ in part]
            case 'sssp':
                return by_node(nx.single_source_dijkstra_path_length(self.graph, self.source))
            case 'triangles':
                return by_node(nx.triangles(self.simple))


PEERS = {'igraph': Igraph, 'NetworKit': Networkit, 'NetworkX': Networkx}
SERVERS = {'GDS': Gds}


def finite(values):
    """Numbers of nodes that are reached: peers say infinity, a huge number or nothing of others."""
    return {v: float(x) for v, x in enumerate(values) if x is not None and x < 1e100}


def difference(name, found, expected):
    """What is wrong with a peer's result, or nothing."""
    if name == 'wcc':
        def sizes(of):
            return sorted(len(list(group)) for _, group in itertools.groupby(sorted(of)))
        return None if sizes(found) == sizes(expected) else 'the sizes of components differ'
    if name == 'triangles':
        return None if sum(found) == sum(expected) else f'{sum(found) / 3} triangles, not {sum(expected) / 3}'
    found, expected = finite(found), finite(expected)
    if len(found) != len(expected):
        return f'{len(found)} nodes, not {len(expected)}'
    if name == 'pageRank':
        worst = max((abs(found[v] - x) / x, v) for v, x in expected.items())
        return None if worst[0] < 1e-6 else f'rank of node {worst[1]} is off by {worst[0]:.1e} of itself'
    wrong = [v for v, x in expected.items() if abs(found[v] - x) > 1e-9]
    return f'{len(wrong)} distances differ' if wrong else None


def timed(run):
    begun = time.perf_counter()
    run()
    return (time.perf_counter() - begun) * 1e3


def measure(runs, rounds, patience_s):
    """Median ms of each, asked in turns; what takes too long is asked once."""
    first = {key: timed(run) for key, run in runs.items()}
    samples = {key: [ms] if ms > patience_s * 1e3 else [] for key, ms in first.items()}
    for _ in range(rounds):
        for key, run in runs.items():
            if first[key] <= patience_s * 1e3:
                samples[key].append(timed(run))
    return {key: statistics.median(of) for key, of in samples.items()}


def compare(name, folder, options):
    if name.startswith('rmat-'):
        graph = Graph(rmat(int(name.removeprefix('rmat-'))))
    else:
        graph = Graph(read(options.shared / 'data' / 'graphs' / GRAPHS[name]))
    label = f'{name} ({graph.n:,} nodes, {len(graph.pairs):,} edges)'
    print(f'   {label}', file=sys.stderr)
    left_out = {'NetworkX'} if len(graph.pairs) > options.networkx_most else set()
    in_memory = {of: None if of in left_out else PEERS[of](graph) for of in options.peers if of in PEERS}
    with contextlib.ExitStack() as stack:
        telar = stack.enter_context(Telar(options.telar, folder, graph))
        servers = [(of, SERVERS[of](graph, *telar.files, folder / of)) for of in options.peers if of in SERVERS]
        for _, server in servers:
            stack.callback(server.close)
        peers = in_memory | dict(servers)
        for name in options.only:
            print(f'   {name}', file=sys.stderr)
            expected, runs, notes = telar.answer(name), {}, {}
            for threads in options.threads:
                runs['Telar', threads] = lambda threads=threads: telar.run(name, threads)
            for of, peer in peers.items():
                is_large = len(graph.pairs) > options.networkx_edges
                is_slow = of == 'NetworkX' and name in ('triangles', 'pageRank') and is_large
                if peer is None or is_slow:
                    notes[of] = 'not run'
                    continue
                found = peer.run(name, 1, converged=True)
                if name == 'triangles' and of == 'NetworKit':
                    # Three edges have each triangle, as three nodes have.
                    found = [int(sum(found))]
                if wrong := difference(name, found, expected):
                    notes[of] = wrong
                    print(f'   {name} of {of}: {wrong}', file=sys.stderr)
                    continue
                for threads in set(peer.threads) & set(options.threads):
                    def run(peer=peer, threads=threads):
                        sum(x for x in peer.run(name, threads) if x is not None)
                    runs[of, threads] = run
            medians = measure(runs, options.rounds, options.patience)
            for threads in options.threads:
                ours = medians['Telar', threads]
                cells = [label, name, str(threads), f'{ours:.1f}']
                for of, peer in peers.items():
                    ms = medians.get((of, threads))
                    cells.append(notes[of] if of in notes else '' if ms is None else f'{ms:.1f} ({ms / ours:.2f})')
                print('| ' + ' | '.join(cells) + ' |', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--telar', type=os.path.realpath, default=ROOT / 'target' / 'release' / 'telar')
    shared = Path(os.environ.get('TELAR_SHARED', ROOT.parent / 'shared'))
    parser.add_argument('--shared', type=Path, default=shared)
    def names(text):
        return text.split(',')
    parser.add_argument('--graphs', type=names, default=[*GRAPHS, RMAT])
    parser.add_argument('--peers', type=names, default=list(PEERS))
    parser.add_argument('--only', type=names, default=ALGORITHMS)
    parser.add_argument('--threads', type=lambda text: [int(n) for n in text.split(',')], default=[1, 2])
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--patience', type=float, default=3, help='seconds beyond which a call is not repeated')
    parser.add_argument('--networkx-edges', type=int, default=1_000_000,
                        help='edges up to which NetworkX counts triangles and ranks')
    parser.add_argument('--networkx-most', type=int, default=4_000_000,
                        help='edges up to which NetworkX runs at all')
    parser.add_argument('--here', action='store_true', help='take the packages of this Python')
    options = parser.parse_args()
    for name in set(options.peers) - {*PEERS, *SERVERS}:
        parser.error(f'{name} is no peer; there are {", ".join([*PEERS, *SERVERS])}')
    for name in options.graphs:
        if name not in GRAPHS and not (name.startswith('rmat-') and name[5:].isdigit()):
            known = ', '.join(GRAPHS)
            parser.error(f'{name} is no graph; there are {known} and rmat-SCALE, as in {RMAT}')
    if not options.here:
        if not VENV.exists():
            subprocess.run([sys.executable, '-m', 'venv', VENV], check=True)
        subprocess.run([VENV / 'bin' / 'pip', 'install', '--quiet', '--disable-pip-version-check', *PACKAGES],
                       check=True)
        os.execv(VENV / 'bin' / 'python', [VENV / 'bin' / 'python', __file__, *sys.argv[1:], '--here'])
    titles = ['graph', 'algorithm', 'threads', 'Telar ms'] + [f'{name} ms (ratio)' for name in options.peers]
    print('| ' + ' | '.join(titles) + ' |\n|---|---|' + '---:|' * (len(titles) - 2), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.graphs:
            compare(name, Path(folder) / name, options)


if __name__ == '__main__':
    main()
