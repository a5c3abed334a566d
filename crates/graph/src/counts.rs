//! Counts and estimates: what plans are made with, and what people ask for.

use std::collections::HashMap;
use std::sync::Arc;

use crate::view::ReadError;
use crate::{Direction, EdgeTypeId, IndexId, LabelId};

/// Counts for planning and for people, exact at the view's snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Vertices in all.
    pub vertices: u64,
    /// Vertices per label, by label number.
    pub vertices_by_label: Vec<u64>,
    /// Edges per type, by type number.
    pub edges_by_type: Vec<u64>,
}

impl Statistics {
    /// Edges in all.
    #[must_use]
    pub fn edges(&self) -> u64 {
        self.edges_by_type.iter().sum()
    }
}

/// Edges of a type, as seen from those of their ends that they leave, or arrive at.
pub type EdgeEnd = (EdgeTypeId, Direction);

/// What planning wants to know of a graph: about right, of some state near the present, and cheap
/// to ask for again and again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Estimates {
    /// Vertices in all.
    pub vertices: f64,
    /// Vertices per label, by label number.
    pub vertices_by_label: Vec<f64>,
    /// Edges per type, by type number.
    pub edges_by_type: Vec<f64>,
    /// Vertices by all the labels that they have. Sets of labels of which no vertex was seen are
    /// not among them.
    pub sets: Vec<LabelSet>,
    /// Distinct values of each index's properties together.
    pub distinct: HashMap<IndexId, f64>,
}

/// Vertices that have the same labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LabelSet {
    /// Their labels: these and no others.
    pub labels: Vec<LabelId>,
    /// How many they are.
    pub vertices: f64,
    /// Edges that one of them has on average; none where nothing is said.
    pub degrees: HashMap<EdgeEnd, f64>,
    /// How many times more edges of a kind those have that are met at an edge of one kind: by what
    /// they are met, and what they have. Of one and the same kind it is the mean of the degrees'
    /// squares over the square of their mean, at least 1. Nothing where nobody has both.
    pub skew: HashMap<(EdgeEnd, EdgeEnd), f64>,
    /// Where those edges lead: places in [`Estimates::sets`], and the share of each.
    pub neighbours: HashMap<EdgeEnd, Vec<(usize, f64)>>,
}

impl From<&Statistics> for Estimates {
    fn from(exact: &Statistics) -> Self {
        let numbers = |counts: &[u64]| counts.iter().map(|n| *n as f64).collect();
        Self {
            vertices: exact.vertices as f64,
            vertices_by_label: numbers(&exact.vertices_by_label),
            edges_by_type: numbers(&exact.edges_by_type),
            ..Self::default()
        }
    }
}

/// Counts and estimates of a graph.
///
/// Counts are exact at the snapshot of the view; where a view cannot count without looking at each
/// vertex or edge it says so, and the caller looks.
pub trait Counts {
    /// Counts at this snapshot; changes of a transaction are not in them. Cost: a pass over segment
    /// headers and tails, not over edges.
    ///
    /// # Errors
    /// [`ReadError::Storage`].
    fn statistics(&self) -> Result<Statistics, ReadError>;

    /// Number of vertices with `label` (all, if `None`) that the view shows; `None` where only
    /// looking at each of them tells. Cost: a pass over segment headers and tails of vertices.
    ///
    /// # Errors
    /// [`ReadError::Storage`].
    fn count_vertices(&self, label: Option<LabelId>) -> Result<Option<u64>, ReadError>;

    /// Number of edges of a type that the view shows; `None` where only looking at each vertex
    /// tells. Cost: a pass over segment headers and tails of the type.
    ///
    /// # Errors
    /// [`ReadError::Storage`].
    fn count_edges(&self, ty: EdgeTypeId) -> Result<Option<u64>, ReadError>;

    /// Estimates to plan with: of some state near the present, and kept, so that it costs next to
    /// nothing to ask for them.
    fn estimates(&self) -> Arc<Estimates>;
}
