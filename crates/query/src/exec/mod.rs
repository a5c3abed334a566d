//! Runs plans: operators pull batches of rows from each other.
//!
//! Contract of an [`Operator`]: [`next`](Operator::next) returns the next rows, never an empty
//! batch, and `None` from the end on. Rows carry every variable that was live below. Every loop
//! that can be long calls [`Exec::check`], so that a deadline or a cancellation is seen soon.
//! Whatever is kept from one call to the next is accounted for (`memory.rs`); an operator that
//! keeps rows puts them into a file when they are too many (`spill`).

mod aggregate;
mod apply;
mod branches;
mod build;
mod by_id;
mod call;
mod collected;
mod count_store;
pub(crate) mod counted;
mod create;
mod degrees;
mod delete;
mod distinct;
pub(crate) mod eval;
mod expand;
mod feed;
mod group;
pub(crate) mod growth;
mod hash_join;
mod in_transactions;
mod index_seek;
mod intersect;
mod limit;
mod load_csv;
mod load_file;
pub(crate) mod memory;
mod merge;
mod parallel;
pub(crate) mod profile;
mod project;
mod ramp;
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
mod spill;
mod state;
mod statement;
mod totals;
mod union;
mod unwind;
mod var_expand;

pub(crate) use build::{build, for_each};
pub use create::storable;
pub(crate) use ramp::Ramp;
pub(crate) use state::Exec;
pub use state::{Access, Inputs, OpenTransaction, Transactions};

use crate::batch::Batch;
use crate::query_error::QueryError;

/// A running operator of a plan. Another thread may go on with it.
pub(crate) trait Operator: Send {
    /// The next rows; `None` at the end.
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError>;
}

/// An operator with what it reads from.
pub(crate) type Source<'p> = Box<dyn Operator + 'p>;
