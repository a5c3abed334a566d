//! Graph kernels over any [`Topology`](telar_graph::topology::Topology).
//!
//! | module | answers | needs |
//! |---|---|---|
//! | [`pagerank`] | a score per vertex, LDBC Graphalytics definition | in-neighbours, out-degrees |
//! | [`bfs`] | hops from one vertex | out-neighbours |
//! | [`similarity`] | vertices with similar neighbours | out- and in-neighbours |
//! | [`triangles`] | number of triangles | an undirected simple adjacency |
//! | [`paths::sssp`] | weighted distances from one vertex, delta-stepping | out-neighbours |
//! | [`paths::bfs`] | hops from one vertex, direction-optimising | out- and in-neighbours |
//! | [`paths::shortest_path`] | one path, by weight or hops | out- and in-neighbours |
//! | [`paths::astar`] | one path between two positions on the earth | out-neighbours, positions |
//! | [`paths::yens`] | the k shortest paths between two vertices | out-neighbours |
//! | [`paths::bellman_ford`] | distances with negative weights | out-neighbours |
//! | [`paths::all_pairs`] | distances between all pairs, or from some sources | out-neighbours |
//! | [`paths::topological`] | an order along the edges, or a cycle | out-neighbours |
//! | [`paths::longest_path`] | longest paths in a graph without cycles | out-neighbours |
//! | [`paths::cycles`] | simple cycles, by times and amounts | out- and in-neighbours |
//! | [`paths::spanning_tree`] | minimum or maximum spanning trees | an undirected adjacency |
//! | [`paths::bridges`] | bridges, articulation points, blocks | an undirected adjacency |
//! | [`paths::max_flow`] | maximum flow and minimum cut | out- and in-neighbours |
//! | [`paths::random_walk`] | random walks of second order (node2vec) | out-neighbours |
//! | [`embedding`] | a vector per vertex | an undirected adjacency |
//! | [`ordering`] | new vertex numbers, neighbours near each other | an undirected adjacency |
//! | [`partition`] | a part per vertex, few edges between parts | an undirected adjacency |
//! | [`program`] | what a program per vertex computes | out-neighbours |
//! | [`live`] | results that follow a changing graph | lists after each batch of changes |
//! | [`wcc`] | weakly connected components | out- and in-neighbours |
//! | [`centrality`] | scores of importance per vertex | a packed projection |
//! | [`community`] | communities, and measures of them | a packed projection |
//!
//! A kernel sees one edge type at one snapshot and nothing else of storage, so its time over two
//! stores differs by the stores alone. Every file says what it returns, how, at what cost and after
//! whom; its tests hold it to a slow verifier in the same file and, where `shared/data` is present,
//! to the reference outputs of LDBC Graphalytics.
//!
//! A store may be damaged where nobody looked yet; a list that cannot be read comes out empty. So
//! whoever runs a kernel over a database on disk asks its snapshot for an error afterwards
//! (`Snapshot::error` of the engine), before the result is used.
//!
//! Vertex numbers are dense: where a kernel takes a number of vertices `n`, every number below `n`
//! counts as a vertex, with neighbours or without.

pub mod bfs;
pub mod centrality;
pub mod community;
pub mod control;
pub mod csr;
pub mod embedding;
pub mod live;
pub mod ordering;
pub mod pagerank;
pub mod partition;
pub mod paths;
pub mod program;
mod random;
mod scratch;
pub mod similarity;
pub mod triangles;
pub mod wcc;

#[cfg(test)]
mod graphalytics;
#[cfg(test)]
mod testing;
