//! Plans: what is done to rows, as a tree of operators that pull from their input.
//!
//! The binder makes a *logical* plan, in which a pattern is one operator,
//! [`Match`](operators::Match); the optimiser makes a *physical* one of it, in which operators say
//! how the pattern is found. Both are trees of the same operators, most of which stand in either.
//!
//! - `operator`: what an operator has to say of itself, `operators`: all of them, one per file.
//! - `pattern`: what `MATCH` asks for, `sought`: what an index is asked for, `types`: types and
//!   directions of relationships.
//! - `walk`: walks over plans.
//! - `effects`: what operators read of the graph and change in it.
//! - `explain`: plans for people.

pub(crate) mod effects;
pub(crate) mod explain;
mod operator;
mod operators;
pub(crate) mod pattern;
mod sought;
mod types;
mod walk;

pub(crate) use operator::{HasExprs, Operator, Shape};
pub(crate) use operators::*;
pub(crate) use sought::{NextKey, Sought};
pub(crate) use types::{Types, Way};

/// Declares [`Plan`] with an operator for each variant.
macro_rules! plan {
    ($($logical:ident)*; $($variant:ident)*) => {
        /// An operator and what it reads from.
        #[derive(Debug, Clone)]
        pub(crate) enum Plan {
            /// One row without columns.
            Unit,
            /// The rows of the plan around a subquery.
            Argument,
            $($logical(Box<$logical>),)*
            $($variant(Box<$variant>),)*
        }

        /// Names of all operators that a plan can have when it runs.
        pub const OPERATORS: &[&str] = &["Unit", "Argument", $(stringify!($variant)),*];

        impl Plan {
            /// The name among [`OPERATORS`], for memory errors and tests; what people see is what
            /// [`Operator::explain`] says.
            pub(crate) const fn name(&self) -> &'static str {
                match self {
                    Self::Unit => "Unit",
                    Self::Argument => "Argument",
                    $(Self::$logical(_) => stringify!($logical),)*
                    $(Self::$variant(_) => stringify!($variant),)*
                }
            }

            /// What the operator says of itself.
            pub(crate) fn operator(&self) -> &dyn Operator {
                match self {
                    Self::Unit => &Unit,
                    Self::Argument => &Argument,
                    $(Self::$logical(p) => &**p,)*
                    $(Self::$variant(p) => &**p,)*
                }
            }

            /// The same, to be changed; `None` for those that have nothing to be changed.
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

// Those that only logical plans have, then all others.
plan! {
    Match;
    NodeScan IndexSeek RelationshipSeek NodeById Expand VarExpand ShortestPath Repeat Select Filter
    Extend Keep Prune Aggregate CountStore Distinct Sort Skip Limit Unwind Apply InTransactions
    Union Eager Create Merge Set Delete Foreach Call LoadCsv Parallel Intersect Degrees HashJoin
}
