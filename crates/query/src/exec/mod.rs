//! Runs plans: operators pull batches of rows from each other.
//!
//! Contract of an [`Operator`]: [`next`](Operator::next) returns the next rows, never an empty
//! batch, and `None` from the end on. Rows carry every variable that was live below. Every loop
//! that can be long calls [`Exec::check`], so that a deadline or a cancellation is seen soon.

mod aggregate;
mod apply;
mod build;
mod call;
mod count_store;
pub(crate) mod counted;
mod create;
mod degrees;
mod delete;
mod expand;
mod group;
mod hash_join;
mod held;
mod in_transactions;
mod index_seek;
mod intersect;
mod load_csv;
mod merge;
mod parallel;
pub(crate) mod profile;
mod project;
mod reach;
mod relationship_seek;
mod repeat;
mod scan;
mod seek;
mod select;
mod set;
mod share;
mod shortest;
mod sort;
mod state;
mod union;
mod unwind;
mod var_expand;

pub(crate) use build::{build, drain};
pub(crate) use expand::{directions, edge_types};
pub(crate) use state::Exec;
pub use state::{Access, Inputs, Limits, OpenTransaction, Transactions};

use crate::batch::Batch;
use crate::query_error::QueryError;

/// A running operator of a plan. Another thread may go on with it.
pub(crate) trait Operator: Send {
    /// The next rows; `None` at the end.
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError>;
}

/// An operator with what it reads from.
pub(crate) type Source<'p> = Box<dyn Operator + 'p>;
