//! Embeddings: a short vector per vertex, such that vertices near each other in the graph have
//! vectors near each other.
//!
//! | module | method |
//! |---|---|
//! | [`fast_rp`](mod@fast_rp) | random vectors averaged over neighbours, some hops far |

pub mod fast_rp;

pub use fast_rp::fast_rp;

/// A vector per vertex.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// Entries of each vector.
    pub dimension: u32,
    /// The vectors, one after the other.
    pub values: Vec<f32>,
}

impl Embeddings {
    /// Vector of vertex `v`.
    #[must_use]
    pub fn of(&self, v: u32) -> &[f32] {
        let dimension = self.dimension as usize;
        &self.values[v as usize * dimension..][..dimension]
    }

    /// Vectors of all vertices.
    pub fn all(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.dimension.max(1) as usize)
    }
}
