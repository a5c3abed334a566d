//! Tests of the functions.

#[path = "../../../graph/src/arbitrary.rs"]
#[expect(dead_code, reason = "shared with telar-graph, whose own tests use the rest")]
pub(crate) mod arbitrary;
pub(crate) mod calculator;
mod features;
mod laws;
mod list;
mod tables;
mod temporal;
