//! Operators of plans, one per file: their fields, variables, effects, estimates and descriptions.
//!
//! - Only logical plans have `Match`.
//! - Only physical plans have the operators that replace `Match`: `NodeScan`, `IndexSeek`,
//!   `RelationshipSeek`, `NodeById`, `Expand`, `VarExpand`, `ShortestPath`, `Repeat`,
//!   `Select`, `Intersect`, `HashJoin`; and those of other rewrite rules: `Degrees`,
//!   `CountStore`, `Prune`, `Parallel`.
//! - Both have all others.
//!
//! The code that runs an operator is in `exec`, mostly in a file of the same name.

/// Implements `input`: a field, or none.
macro_rules! input {
    () => {
        fn input(&self) -> Option<&Plan> {
            None
        }

        fn input_mut(&mut self) -> Option<&mut Plan> {
            None
        }
    };
    ($($field:ident).+) => {
        fn input(&self) -> Option<&Plan> {
            Some(&self.$($field).+)
        }

        fn input_mut(&mut self) -> Option<&mut Plan> {
            Some(&mut self.$($field).+)
        }
    };
}

/// Implements `inner`: a field, or none.
macro_rules! inner {
    () => {
        fn inner(&self) -> Option<&Plan> {
            None
        }

        fn inner_mut(&mut self) -> Option<&mut Plan> {
            None
        }
    };
    ($($field:ident).+) => {
        fn inner(&self) -> Option<&Plan> {
            Some(&self.$($field).+)
        }

        fn inner_mut(&mut self) -> Option<&mut Plan> {
            Some(&mut self.$($field).+)
        }
    };
}

/// Implements `exprs` with these fields.
macro_rules! exprs {
    ($($field:ident),*) => {
        fn exprs<'p>(&'p self, _f: &mut dyn FnMut(&'p Expr)) {
            $(self.$field.exprs(_f);)*
        }

        fn exprs_mut<'p>(&'p mut self, _f: &mut dyn FnMut(&'p mut Expr)) {
            $(self.$field.exprs_mut(_f);)*
        }
    };
}

/// Implements `writes` and `is_repeatable` of an operator that reads the graph and changes nothing.
macro_rules! only_reads {
    () => {
        fn writes(&self) -> bool {
            false
        }

        fn is_repeatable(&self) -> bool {
            true
        }
    };
}

/// Implements `effects`, `writes` and `is_repeatable` of an operator that, apart from its
/// expressions and its inner plan, neither reads the graph nor changes it.
macro_rules! leaves_graph_alone {
    () => {
        fn effects(&self, _: &mut Effects) {}

        only_reads!();
    };
}

mod aggregate;
mod apply;
mod begin;
mod call;
mod count_store;
mod create;
mod degrees;
mod delete;
mod distinct;
mod eager;
mod expand;
mod extend;
mod filter;
mod foreach;
mod hash_join;
mod in_transactions;
mod index_seek;
mod intersect;
mod keep;
mod limit;
mod load_csv;
mod match_pattern;
mod merge;
mod node_by_id;
mod node_scan;
mod parallel;
mod prune;
mod relationship_by_id;
mod relationship_seek;
mod repeat;
mod select;
mod set;
mod shortest_path;
mod skip;
mod sort;
mod union;
mod unwind;
mod var_expand;

pub(crate) use aggregate::{Aggregate, AggregateCall};
pub(crate) use apply::Apply;
pub(crate) use begin::{Argument, Unit};
pub(crate) use call::Call;
pub(crate) use count_store::{CountStore, Counted};
pub(crate) use create::{Create, CreateStep, LabelName};
pub(crate) use degrees::Degrees;
pub(crate) use delete::Delete;
pub(crate) use distinct::Distinct;
pub(crate) use eager::Eager;
pub(crate) use expand::Expand;
pub(crate) use extend::Extend;
pub(crate) use filter::Filter;
pub(crate) use foreach::Foreach;
pub(crate) use hash_join::HashJoin;
pub(crate) use in_transactions::InTransactions;
pub(crate) use index_seek::IndexSeek;
pub(crate) use intersect::{Intersect, Leg};
pub(crate) use keep::Keep;
pub(crate) use limit::Limit;
pub(crate) use load_csv::LoadCsv;
pub(crate) use match_pattern::Match;
pub(crate) use merge::{Claimed, Merge};
pub(crate) use node_by_id::NodeById;
pub(crate) use node_scan::NodeScan;
pub(crate) use parallel::Parallel;
pub(crate) use prune::Prune;
pub(crate) use relationship_by_id::RelationshipById;
pub(crate) use relationship_seek::RelationshipSeek;
pub(crate) use repeat::Repeat;
pub(crate) use select::{Paths, Select};
pub(crate) use set::{Set, SetItem};
pub(crate) use shortest_path::ShortestPath;
pub(crate) use skip::Skip;
pub(crate) use sort::Sort;
pub(crate) use union::Union;
pub(crate) use unwind::Unwind;
pub(crate) use var_expand::VarExpand;

/// Imports of every operator's file.
mod prelude {
    pub(super) use std::sync::Arc;

    pub(super) use crate::batch::Slot;
    pub(super) use crate::estimate::{Counts, Facts, InputRows};
    pub(super) use crate::expr::Expr;
    pub(super) use crate::expr::print::{self, Printer};
    pub(super) use crate::plan::effects::Effects;
    pub(super) use crate::plan::explain::arrow;
    pub(super) use crate::plan::{HasExprs, Operator, Plan, Shape, Types, Way};
}
