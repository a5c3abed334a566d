//! Communities: parts of a graph that hold together, and measures of how well they do.
//!
//! | module | answers | needs |
//! |---|---|---|
//! | [`label_propagation`] | a label per vertex, spread by majority | out- and in-neighbours |
//! | [`local_clustering`] | triangles and clustering per vertex | out- and in-neighbours |
//! | [`scc`] | strongly connected components | out-neighbours |
//! | [`wcc`] | weakly connected components, in parallel | out- and in-neighbours |
//! | [`k_core`] | core number per vertex | an undirected graph |
//! | [`k_truss`] | truss number per edge and vertex | an undirected graph |
//! | [`louvain`] | communities of large modularity | an undirected graph |
//! | [`leiden`] | the same, each community connected | an undirected graph |
//! | [`modularity`] | quality of given communities | out-neighbours |
//!
//! Undirected graphs come with every edge in both lists ([`Csr::undirected`]).
//!
//! [`Csr::undirected`]: crate::csr::Csr::undirected

pub mod k_core;
pub mod k_truss;
pub mod label_propagation;
pub mod leiden;
pub mod local_clustering;
pub mod louvain;
pub mod modularity;
pub mod scc;
pub mod wcc;

mod aggregate;
mod levels;
mod moves;
mod refinement;
#[cfg(test)]
pub(crate) mod samples;
mod spreading;
pub(crate) mod steps;

pub use levels::{Communities, Stage};
