//! The operators of Cypher on values.
//!
//! Free functions on references, one per operator. What can fail returns a `Result` with the detail
//! word of the TCK; comparisons cannot fail and return a [`Value`](telar_graph::Value), which is
//! null where the answer is unknown.
//!
//! Null: every operator yields null when an operand is null, but `AND`, `OR` and `IS NULL`.
//!
//! Cost: constant, but for text, lists and maps: linear in what is copied or compared.

mod access;
mod arithmetic;
mod compare;
mod component;
mod datetime;
pub(crate) mod display;
mod logic;
mod pattern;
pub(crate) mod pieces;
mod text;
pub(crate) mod zone;

#[cfg(test)]
mod tests;

pub use access::{index, property, slice};
pub use arithmetic::{
    add, concatenate, divide, modulo, multiply, negate, positive, power, subtract,
};
pub use compare::{eq, equal, ge, gt, in_list, is_not_null, is_null, le, lt, ne, order, ordered};
pub use logic::{and, not, or, truth, xor};
pub use pattern::CompiledRegex;
pub use text::{
    NormalForm, contains, ends_with, is_normalized, normalize, regex_match, starts_with,
};

pub(crate) use datetime::add_to_zoned;
