//! Tests of the functions.

pub(crate) mod arbitrary;
