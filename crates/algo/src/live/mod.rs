//! Results that follow a changing graph: kernels that are told what changed, and do work in
//! proportion to it.
//!
//! ```text
//!   changes ─► Touched { vertices, pairs } ─► kernel.update(touched, lists after them)
//!                                               │
//!                                               └─► the same result as from scratch
//! ```
//!
//! | module | keeps | after a change |
//! |---|---|---|
//! | [`degree`] | a count per vertex | counts the lists of touched vertices again |
//! | [`pagerank`] | scores and residuals | pushes residuals that are too large |
//! | [`components`] | a label per vertex | joins, or searches from both ends of what was removed |
//! | [`triangles`] | a copy of the lists, a count per vertex | intersects the lists of both ends |
//! | [`k_core`] | a copy of the lists, a core per vertex | walks the vertices of the same core |
//!
//! What is touched is a superset of what changed: a pair may be named that is as it was, and one
//! that came and went. So a kernel works from the lists as they are *after* the changes, and naming
//! a pair twice, or again, does no harm.
//!
//! Vertices are numbers below [`Touched::n`]. A number that is not in use has no neighbours and no
//! result; a number may come into use again in a later batch.

mod adjacency;
pub mod components;
pub mod degree;
pub mod k_core;
pub mod pagerank;
pub mod triangles;

#[cfg(test)]
mod changing;

use telar_graph::topology::Topology;

use crate::control::Result;

/// Direction in which the edges of a list lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// From the vertex to its neighbours.
    Out,
    /// From the neighbours to the vertex.
    In,
}

/// Lists of a graph as it is after a batch of changes.
pub trait Lists {
    /// Calls `each` with the place in `vertices` and a run of neighbours. A vertex can have several
    /// runs, none or empty ones; together they hold each neighbour once for each edge, in any
    /// order.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::control::Error::Stopped) if the lists cannot be read.
    fn visit(
        &self,
        vertices: &[u32],
        side: Side,
        each: &mut dyn FnMut(usize, &[u32]),
    ) -> Result<()>;
}

/// Out-lists and in-lists of the same graph.
impl<T: Topology> Lists for (&T, &T) {
    fn visit(
        &self,
        vertices: &[u32],
        side: Side,
        each: &mut dyn FnMut(usize, &[u32]),
    ) -> Result<()> {
        let topology = match side {
            Side::Out => self.0,
            Side::In => self.1,
        };
        for (place, v) in vertices.iter().enumerate() {
            if *v < topology.vertex_bound() {
                topology.for_each_run(*v, |run| each(place, run));
            }
        }
        Ok(())
    }
}

/// Lists that a batch of changes touched.
#[derive(Debug, Clone, Copy, Default)]
pub struct Touched<'a> {
    /// Vertices are numbers below this one, after the changes.
    pub n: u32,
    /// Vertices that came into use, without edges of before.
    pub came: &'a [u32],
    /// Vertices that are not in use any more. All their edges are among `pairs`.
    pub went: &'a [u32],
    /// Ends of edges that came or went, perhaps: from the first to the second.
    pub pairs: &'a [(u32, u32)],
}

/// Vertices read at once.
const BLOCK: usize = 1024;

/// The numbers without repetition, ascending.
fn distinct(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
