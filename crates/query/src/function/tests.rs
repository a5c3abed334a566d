//! Tests of the functions.

pub(crate) mod arbitrary;
pub(crate) mod calculator;
mod features;
mod laws;
mod list;
mod tables;
mod temporal;
