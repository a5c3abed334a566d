//! Types and directions of relationships.

use std::borrow::Cow;

use telar_graph::{Direction, EdgeTypeId, Graph};

use super::name::TypeNames;
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
    Of(TypeNames),
    /// Types for which an expression holds.
    Where(Labels),
}

impl Types {
    /// Numbers of the types, as far as the graph has them, ascending.
    pub(crate) fn ids(&self, graph: &dyn Graph) -> Cow<'_, [EdgeTypeId]> {
        let labels = match self {
            Self::Of(names) => return names.find(graph),
            Self::Where(labels) => Some(labels),
            Self::Any => None,
        };
        let holds = |name: &str| labels.is_none_or(|labels| type_satisfies(labels, name));
        let names = graph.edge_type_names();
        let found = names.iter().zip(0..).filter(|(name, _)| holds(name));
        found.map(|(_, number)| EdgeTypeId::from_raw(number)).collect()
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
