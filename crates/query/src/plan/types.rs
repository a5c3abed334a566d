//! Types and directions of relationships.

use std::sync::Arc;

use crate::expr::Labels;

/// Direction of a relationship, seen from the node that is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    In,
    Both,
}

impl Way {
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
