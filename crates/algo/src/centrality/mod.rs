//! Centrality: scores that say how important each vertex is.
//!
//! | module | answers | needs |
//! |---|---|---|
//! | [`degree`] | edges of each vertex and their weight | out-neighbours, or both sides |
//! | [`pagerank`] | where a random surfer is, also personalised | out- and in-neighbours |
//! | [`article_rank`] | PageRank in which few edges weigh less | out- and in-neighbours |
//! | [`eigenvector`] | important is who is pointed to by important ones | in-neighbours |
//! | [`hits`] | hubs and authorities | out- and in-neighbours |
//! | [`betweenness`] | share of shortest paths through a vertex | out-neighbours |
//! | [`closeness`] | nearness to all others, also harmonic | out-neighbours |
//!
//! Scores do not depend on the number of threads, to the last bit.

pub mod article_rank;
pub mod betweenness;
pub mod closeness;
pub mod degree;
pub mod eigenvector;
pub mod hits;
pub mod pagerank;

mod pull;

/// Scores of a kernel that iterates.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// Score per vertex.
    pub scores: Vec<f64>,
    /// Iterations done.
    pub iterations: u32,
    /// Sum of absolute changes in the last iteration; infinite if there was none.
    pub change: f64,
    /// True if the last change was below the tolerance. An empty graph converges at once.
    pub converged: bool,
}
