//! What is measured: updates of [`Container`](crate::container::Container)s and reads of
//! [`Topology`]s.
//!
//! Every answer is compared with the flat CSR's before it is timed, and every load is compared with
//! it edge by edge afterwards; a wrong answer ends the benchmark ([`WrongAnswer`]). Subjects take
//! turns inside one process, and speeds are medians (see [`measure`](crate::measure)).

mod khop;
mod reads;
mod skew;
mod updates;

pub use khop::{Hops, Reached};
pub use reads::{Kernel, ReadOptions, ReadOutcome, ReadPlan, Subject, run_reads};
pub use skew::Skew;
pub use updates::{
    LoadSample, Update, UpdateOutcome, UpdatePlan, UpdateSubject, insert_latencies,
    insert_parallel, load, run_updates,
};

use telar_generate::csr::Csr;
use telar_graph::topology::Topology;

/// A subject that answered something else than the CSR did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongAnswer {
    /// Who.
    pub subject: String,
    /// What was asked, and how the answers differ.
    pub difference: String,
}

impl std::fmt::Display for WrongAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is wrong: {}", self.subject, self.difference)
    }
}

impl std::error::Error for WrongAnswer {}

/// Compares every neighbour list with the CSR's.
///
/// # Errors
/// The first vertex whose list differs.
pub fn same_adjacency<T: Topology>(
    subject: &str,
    found: &T,
    expected: &Csr,
) -> Result<(), WrongAnswer> {
    let wrong = |difference: String| Err(WrongAnswer { subject: subject.to_owned(), difference });
    let mut scratch = Vec::new();
    for v in 0..expected.vertex_bound() {
        let list = if v < found.vertex_bound() { found.sorted(v, &mut scratch) } else { &[] };
        if list != expected.list(v) {
            let (found, expected) = (list.len(), expected.degree(v));
            return wrong(format!("vertex {v} has other neighbours ({found}, not {expected})"));
        }
    }
    if found.vertex_bound() > expected.vertex_bound() {
        return wrong(format!("{} vertices are too many", found.vertex_bound()));
    }
    Ok(())
}
