"""Writes the files of this folder with the programs that users have: NetworkX 3.6, igraph 1.0, rdflib 7.6.

Run in a folder, in an environment that has them; the files replace those that are there.
"""

import igraph
import networkx
from rdflib import RDF, RDFS, XSD, BNode, Graph, Literal, Namespace

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

# RDF, by rdflib 7.6.
EX = Namespace("http://example.org/")
graph = Graph()
graph.bind("ex", EX)
ada, home = EX.ada, BNode()
for value in (EX.Person, EX.Author):
    graph.add((ada, RDF.type, value))
for name, value in {
    "name": Literal('Ada "q"\nline'),
    "age": Literal(36),
    "score": Literal(0.5),
    "price": Literal("1.25", datatype=XSD.decimal),
    "ok": Literal(True),
    "born": Literal("1815-12-10", datatype=XSD.date),
    "at": Literal("2024-02-29T13:05:00+01:00", datatype=XSD.dateTime),
    "seen": Literal("2024-02-29T13:05:00", datatype=XSD.dateTime),
    "wakes": Literal("07:00:00", datatype=XSD.time),
    "took": Literal("P1DT2H", datatype=XSD.duration),
    "odd": Literal("abc", datatype=XSD.integer, normalize=False),
    "custom": Literal("x^2", datatype=EX.formula),
    "knows": EX.bob,
    "address": home,
}.items():
    graph.add((ada, EX[name], value))
for nick in "AB":
    graph.add((ada, EX.nick, Literal(nick)))
for label in (Literal("Ada"), Literal("Ada (en)", lang="en"), Literal("Ada (de)", lang="de")):
    graph.add((ada, RDFS.label, label))
graph.add((home, EX.city, Literal("London")))
graph.serialize("rdflib.ttl", format="turtle")
graph.serialize("rdflib.nt", format="nt")
