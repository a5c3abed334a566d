//! Similarity of vertices, by the neighbours that they share or by vectors.
//!
//! | module | answers |
//! |---|---|
//! | [`node_similarity`](mod@node_similarity) | the most similar vertices of each, by neighbours |
//! | [`pairs`](mod@pairs) | the similarity of given pairs, by neighbours |
//! | [`knn`](mod@knn) | the most similar vertices of each, by vectors |
//! | [`metric`] | the measures by neighbours: Jaccard, overlap, cosine, Adamic-Adar and others |

mod descent;
pub mod knn;
pub mod metric;
pub mod node_similarity;
pub mod pairs;

pub use knn::knn;
pub use metric::Metric;
pub use node_similarity::node_similarity;
pub use pairs::pairs;
