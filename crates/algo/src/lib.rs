//! Graph kernels over any [`Topology`](telar_graph::topology::Topology).
//!
//! | module | answers | needs |
//! |---|---|---|
//! | [`pagerank`] | a score per vertex, LDBC Graphalytics definition | in-neighbours, out-degrees |
//! | [`bfs`] | hops from one vertex | out-neighbours |
//! | [`triangles`] | number of triangles | an undirected simple adjacency |
//! | [`wcc`] | weakly connected components | out- and in-neighbours |
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
pub mod pagerank;
pub mod triangles;
pub mod wcc;

#[cfg(test)]
mod graphalytics;
#[cfg(test)]
mod testing;
