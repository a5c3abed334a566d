//! Plans: trees of operators that pull rows from their input.
//!
//! The binder makes a *logical* plan, in which a pattern is one operator,
//! [`Match`]. The optimiser makes a *physical* plan of it, whose operators find
//! the pattern step by step. Most operators occur in both.
//!
//! - `operator`: the trait of operators; `operators`: all of them, one per file.
//! - `pattern`: patterns of `MATCH`; `sought`: keys of an index seek; `types`: types and directions
//!   of relationships.
//! - `name`: names with their numbers.
//! - `walk`: walks over plans.
//! - `effects`: reads and writes of operators.
//! - `explain`: descriptions of plans.
//!
//! Words: docs/query.md, "Words of the planner".

pub(crate) mod effects;
pub(crate) mod explain;
mod name;
mod operator;
mod operators;
pub(crate) mod pattern;
mod sought;
mod types;
mod walk;

pub(crate) use name::Name;
pub(crate) use operator::{HasExprs, Operator, Shape};
pub(crate) use operators::*;
pub(crate) use sought::{NextKey, SeekOrder, Sought};
pub(crate) use types::{Types, Way};

/// Declares [`Plan`] with an operator for each variant.
macro_rules! plan {
    ($($logical:ident)*; $($variant:ident)*) => {
        /// Plan: an operator with the plans that it reads from.
        #[derive(Debug, Clone)]
        pub(crate) enum Plan {
            /// One row without columns.
            Unit,
            /// The rows of the plan around a subquery.
            Argument,
            $($logical(Box<$logical>),)*
            $($variant(Box<$variant>),)*
        }

        /// Names of all operators of physical plans.
        pub const OPERATORS: &[&str] = &["Unit", "Argument", $(stringify!($variant)),*];

        impl Plan {
            /// Name among [`OPERATORS`], for memory errors and tests. `EXPLAIN` shows
            /// [`Operator::explain`].
            pub(crate) const fn name(&self) -> &'static str {
                match self {
                    Self::Unit => "Unit",
                    Self::Argument => "Argument",
                    $(Self::$logical(_) => stringify!($logical),)*
                    $(Self::$variant(_) => stringify!($variant),)*
                }
            }

            /// Operator at the top.
            pub(crate) fn operator(&self) -> &dyn Operator {
                match self {
                    Self::Unit => &Unit,
                    Self::Argument => &Argument,
                    $(Self::$logical(p) => &**p,)*
                    $(Self::$variant(p) => &**p,)*
                }
            }

            /// Operator at the top, mutable; `None` for one without fields.
            fn operator_mut(&mut self) -> Option<&mut dyn Operator> {
                match self {
                    Self::Unit | Self::Argument => None,
                    $(Self::$logical(p) => Some(&mut **p),)*
                    $(Self::$variant(p) => Some(&mut **p),)*
                }
            }
        }

        $(impl From<$logical> for Plan {
            fn from(operator: $logical) -> Self {
                Self::$logical(Box::new(operator))
            }
        })*
        $(impl From<$variant> for Plan {
            fn from(operator: $variant) -> Self {
                Self::$variant(Box::new(operator))
            }
        })*
    };
}

// Operators of logical plans only, then all others.
plan! {
    Match;
    NodeScan IndexSeek RelationshipSeek NodeById RelationshipById Expand VarExpand ShortestPath
    Repeat Select Filter Extend Keep Prune Aggregate CountStore Distinct Sort Skip Limit Unwind
    Apply InTransactions Union Eager Create Merge Set Delete Foreach Call LoadCsv Parallel Intersect
    Degrees HashJoin
}
