"""Neo4j's Graph Data Science library as a peer of algorithms.py: the open part, in Neo4j community.

The graph is imported into a store of its own and projected once; a figure is the call on the graph
that is held then, and the sum of its rows in the query.
"""
import os, shutil, socket, subprocess
from pathlib import Path

NEO4J = Path(__file__).resolve().parent / 'neo4j.sh'


def free_port():
    with socket.socket() as found:
        found.bind(('127.0.0.1', 0))
        return found.getsockname()[1]


class Gds:
    threads = [1, 2]

    def __init__(self, graph, nodes, edges, folder):
        from neo4j import GraphDatabase
        self.folder, port = folder, free_port()
        environment = {**os.environ, 'GDS': '1'}
        def neo4j(*arguments):
            subprocess.run([NEO4J, *map(str, arguments)], check=True, env=environment, stdout=subprocess.DEVNULL)
        neo4j('import', folder, port, f'--nodes=V={nodes}', f'--relationships=E={edges}')
        neo4j('start', folder, port)
        self.driver = GraphDatabase.driver(f'bolt://127.0.0.1:{port}')
        self.session = self.driver.session()
        self.session.run("CALL gds.graph.project('g', 'V', {E: {properties: 'w'}})").consume()
        self.session.run("CALL gds.graph.project('u', 'V', {E: {orientation: 'UNDIRECTED', aggregation: 'SINGLE'}})").consume()
        found = self.session.run('MATCH (s:V {k: $k}) RETURN id(s) AS n', k=graph.source)
        self.source = found.single()['n']

    def statement(self, name, threads, returned, converged=False):
        rounds = 'maxIterations: 1000, tolerance: 1e-13' if converged else 'maxIterations: 20, tolerance: 0'
        search = f'sourceNode: {self.source}'
        graph, procedure, settings, column = {
            'pageRank': ('g', 'pageRank', rounds, 'score'),
            # bfs of the library yields one path without depths.
            'bfs': ('g', 'allShortestPaths.delta', search + ', delta: 1.0', 'totalCost'),
            'wcc': ('g', 'wcc', '', 'componentId'),
            'sssp': ('g', 'allShortestPaths.delta', search + ", relationshipWeightProperty: 'w'", 'totalCost'),
            'triangles': ('u', 'triangleCount', '', 'triangleCount'),
        }[name]
        node = 'targetNode' if column == 'totalCost' else 'nodeId'
        settings = ', '.join(filter(None, [settings, f'concurrency: {threads}']))
        returned = returned.format(node=node, value=column)
        return f"CALL gds.{procedure}.stream('{graph}', {{{settings}}}) YIELD {node}, {column} RETURN {returned} AS n"

    def run(self, name, threads, converged=False):
        if not converged:
            return [self.session.run(self.statement(name, threads, 'sum({value})')).single()['n']]
        text = self.statement(name, threads, '[gds.util.asNode({node}).k, {value}]', converged=True)
        found = dict(record['n'] for record in self.session.run(text))
        if name == 'pageRank':
            # There a walk begins at each node with 1; here it begins somewhere with 1 in all.
            total = sum(found.values())
            found = {k: score / total for k, score in found.items()}
        return [found.get(k) for k in range(1 + max(found))]

    def close(self):
        self.driver.close()
        subprocess.run([NEO4J, 'stop', self.folder], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
