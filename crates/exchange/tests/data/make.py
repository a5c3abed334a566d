"""Writes the files of this folder with the programs that users have: NetworkX 3.6 and igraph 1.0.

Run in a folder, in an environment that has both; the files replace those that are there.
"""

import igraph
import networkx

graph = networkx.Graph()
graph.add_node(1, name='Ada <&> "q"', born=1815, score=0.5, so=True)
graph.add_node(2, name="Bob\n2")
graph.add_edge(1, 2, since=1840, weight=2.5)
graph.add_edge(2, 3)
networkx.write_graphml(graph, "networkx.graphml")

graph = networkx.DiGraph()
graph.add_node(1, label="one", born=1815, score=0.5, so=True)
graph.add_edge(1, 2, since=1840, weight=2.5)
networkx.write_gexf(graph, "networkx.gexf")

graph = igraph.Graph(directed=True)
graph.add_vertices(2, {"name": ["a", "b"], "x": [1, 2]})
graph.add_edges([(0, 1)], {"w": [1.5]})
graph.write_graphml("igraph.graphml")
