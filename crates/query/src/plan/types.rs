//! Types and directions of relationships.

use std::sync::Arc;

use telar_graph::{Direction, EdgeTypeId, Graph};

use crate::expr::Labels;

/// Direction of a relationship, seen from the node that is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    In,
    Both,
}

impl Way {
    /// Directions of storage that it goes along.
    pub(crate) fn directions(self) -> &'static [Direction] {
        match self {
            Self::Out => &[Direction::Out],
            Self::In => &[Direction::In],
            Self::Both => &Direction::ALL,
        }
    }

    /// The same, seen from the other end.
    pub(crate) fn reverse(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
            Self::Both => Self::Both,
        }
    }
}

/// Types that a relationship may have.
#[derive(Debug, Clone)]
pub(crate) enum Types {
    Any,
    /// One of these.
    Of(Vec<Arc<str>>),
    /// Types for which an expression holds.
    Where(Labels),
}

impl Types {
    /// Numbers of the types, as far as the graph has them, ascending.
    pub(crate) fn ids(&self, graph: &dyn Graph) -> Vec<EdgeTypeId> {
        let mut found: Vec<EdgeTypeId> = match self {
            Self::Of(names) => names.iter().filter_map(|name| graph.find_edge_type(name)).collect(),
            Self::Any | Self::Where(_) => graph
                .edge_type_names()
                .iter()
                .enumerate()
                .filter(|(_, name)| match self {
                    Self::Where(labels) => type_satisfies(labels, name),
                    _ => true,
                })
                .map(|(id, _)| EdgeTypeId::from_raw(id as u16))
                .collect(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// True if a relationship of this type satisfies the expression.
fn type_satisfies(labels: &Labels, name: &str) -> bool {
    match labels {
        Labels::Name(wanted) => **wanted == *name,
        Labels::Wildcard => true,
        Labels::Dynamic(..) => unreachable!("INVARIANT: a condition of its own"),
        Labels::Not(inner) => !type_satisfies(inner, name),
        Labels::And(parts) => parts.iter().all(|part| type_satisfies(part, name)),
        Labels::Or(parts) => parts.iter().any(|part| type_satisfies(part, name)),
    }
}
