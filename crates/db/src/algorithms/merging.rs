//! Parallel relationships as one: `aggregation` of a projection.

use telar_graph::{Direction, EdgeTypeId};
use telar_query::QueryError;

use super::config::Config;

/// The weight of one relationship that stands for parallel ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    /// The weight of any of them.
    Single,
    Min,
    Max,
    Sum,
    /// Their number.
    Count,
}

const MERGES: [(&str, Option<Merge>); 7] = [
    ("NONE", None),
    ("DEFAULT", None),
    ("SINGLE", Some(Merge::Single)),
    ("MIN", Some(Merge::Min)),
    ("MAX", Some(Merge::Max)),
    ("SUM", Some(Merge::Sum)),
    ("COUNT", Some(Merge::Count)),
];

impl Merge {
    /// The setting `aggregation`; nothing if parallel relationships stay what they are.
    pub(super) fn of(config: &Config<'_>) -> Result<Option<Self>, QueryError> {
        config.choice("aggregation", &MERGES, None)
    }

    /// Weight of two as one.
    pub(super) fn weight(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Single => a,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Sum | Self::Count => a + b,
        }
    }
}

/// Types and directions whose lists are read together, and merged if they are to be.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) parts: Vec<(EdgeTypeId, Direction)>,
    pub(super) merge: Option<Merge>,
}

/// Puts parts into groups: those that are not merged into one, the others into one for each type,
/// or into one if `all` types are taken for one.
pub(super) fn groups(
    parts: &[(EdgeTypeId, Direction)],
    merge_of: impl Fn(EdgeTypeId) -> Option<Merge>,
    all: bool,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for part in parts {
        let merge = merge_of(part.0);
        let together = |group: &&mut Group| match (group.merge, merge) {
            (None, None) => true,
            (Some(_), Some(_)) => all || group.parts.iter().any(|(ty, _)| *ty == part.0),
            _ => false,
        };
        match groups.iter_mut().find(together) {
            Some(group) => group.parts.push(*part),
            None => groups.push(Group { parts: vec![*part], merge }),
        }
    }
    groups
}
