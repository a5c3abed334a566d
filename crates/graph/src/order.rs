//! The two comparisons of Cypher.
//!
//! **Total order.** `Value: Eq + Ord + Hash` is openCypher's *orderability* and *equivalence*, used
//! by `ORDER BY`, `DISTINCT`, grouping and index keys. Every value has a place in it; types come in
//! the order of [`OrderRank`], and within a type:
//!
//! | Type | Order |
//! |---|---|
//! | Vertex | by number |
//! | Edge | by type, source, destination, ordinal |
//! | Path | vertex by edge by vertex; a path comes after its own beginnings |
//! | Map | by number of entries, then the keys in order, then the values in key order |
//! | List | element by element; a list comes after its own prefix |
//! | Bytes | byte by byte; a byte string comes after its own prefix |
//! | Vector | by coordinate type, then by dimension, then by each coordinate |
//! | Point | by reference system number, then by each coordinate |
//! | zoned DateTime, Time | by instant, then by offset, then without zone before zones by name |
//! | Date, local types | by time |
//! | Duration | by length (a month is 30.436875 days), then by months, days, seconds |
//! | String | by code point |
//! | Boolean | false, true |
//! | Number | integers and floats together, compared exactly; NaN after infinity |
//!
//! So null equals null, NaN equals NaN, `-0.0` equals `0.0`, and `1` equals `1.0`, while 2^53 + 1
//! as an integer and 2^53 as a float differ. Equal values hash alike.
//!
//! **Three-valued comparison.** [`cypher_eq`] is what `=` yields and [`cypher_lt`] and its siblings
//! what `<`, `<=`, `>` and `>=` yield: null (`None`) when an operand is or contains a null that
//! matters, or when the types cannot be compared.
//!
//! Where the sources leave a choice, Neo4j is followed: vectors and points come between paths and
//! temporal values; durations, vectors, points and byte strings are not comparable with `<`, but
//! `<=` and `>=` hold of equal ones; maps, nodes, relationships and paths compare as they are
//! ordered. Bytes, which no source places, come before vectors.
//!
//! ```
//! use telar_graph::{Value, order};
//!
//! assert_eq!(order::cypher_eq(&Value::Null, &Value::Null), None);
//! assert_eq!(Value::Null, Value::Null);
//! assert!(Value::from("text") < Value::from(1) && Value::from(1) < Value::Null);
//! ```
//!
//! Cost: recursion once per level of nesting; linear in the common prefix.
//! Source: openCypher CIP2016-06-14 "Comparability, equality, orderability, equivalence"; TCK
//! features Comparison1-2 and Temporal7; Neo4j Cypher manual, "Equality, ordering, and comparison".

mod number;
mod ternary;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

pub use ternary::{cypher_cmp, cypher_eq, cypher_ge, cypher_gt, cypher_le, cypher_lt};

use crate::value::Value;

/// Place of each type in the total order, ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each rank is the type of its name")]
#[repr(u8)]
pub enum OrderRank {
    Map,
    Vertex,
    Edge,
    List,
    Path,
    Bytes,
    Vector,
    Point,
    DateTime,
    LocalDateTime,
    Date,
    Time,
    LocalTime,
    Duration,
    String,
    Bool,
    Number,
    Null,
}

impl OrderRank {
    /// The rank of the value's type.
    #[inline]
    #[must_use]
    pub const fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Int(_) | Value::Float(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Bytes(_) => Self::Bytes,
            Value::List(_) => Self::List,
            Value::Map(_) => Self::Map,
            Value::Date(_) => Self::Date,
            Value::LocalTime(_) => Self::LocalTime,
            Value::Time(_) => Self::Time,
            Value::LocalDateTime(_) => Self::LocalDateTime,
            Value::DateTime(_) => Self::DateTime,
            Value::Duration(_) => Self::Duration,
            Value::Vector(_) => Self::Vector,
            Value::Point(_) => Self::Point,
            Value::Vertex(_) => Self::Vertex,
            Value::Edge(_) => Self::Edge,
            Value::Path(_) => Self::Path,
        }
    }
}

/// The total order of `ORDER BY`; see the [module documentation](crate::order).
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Int(a), Self::Float(b)) => number::cmp_int_float(*a, *b),
            (Self::Float(a), Self::Int(b)) => number::cmp_int_float(*b, *a).reverse(),
            (Self::Float(a), Self::Float(b)) => number::cmp_floats(*a, *b),
            (Self::String(a), Self::String(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Date(a), Self::Date(b)) => a.cmp(b),
            (Self::LocalTime(a), Self::LocalTime(b)) => a.cmp(b),
            (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (Self::LocalDateTime(a), Self::LocalDateTime(b)) => a.cmp(b),
            (Self::DateTime(a), Self::DateTime(b)) => a.cmp(b),
            (Self::Duration(a), Self::Duration(b)) => a.cmp(b),
            (Self::Vector(a), Self::Vector(b)) => a.cmp(b),
            (Self::Point(a), Self::Point(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::Vertex(a), Self::Vertex(b)) => a.cmp(b),
            (Self::Edge(a), Self::Edge(b)) => a.cmp(b),
            (Self::Path(a), Self::Path(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => a.cmp(b),
            (Self::Map(a), Self::Map(b)) => a
                .len()
                .cmp(&b.len())
                .then_with(|| a.keys().cmp(b.keys()))
                .then_with(|| a.values().cmp(b.values())),
            // What is left are pairs of nulls and of different types.
            _ => OrderRank::of(self).cmp(&OrderRank::of(other)),
        }
    }
}

impl PartialOrd for Value {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Equivalence: the same place in the total order. Not what `=` means in a query.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // Unequal lengths decide at once, where the order would have to look at the elements.
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Vector(a), Self::Vector(b)) => a == b,
            _ => self.cmp(other).is_eq(),
        }
    }
}

impl Eq for Value {}

/// Consistent with equivalence: an integer and a float of the same number hash alike.
impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        OrderRank::of(self).hash(state);
        match self {
            Self::Null => {}
            Self::Bool(x) => x.hash(state),
            Self::Int(x) => number::hash_int(*x, state),
            Self::Float(x) => number::hash_float(*x, state),
            Self::String(x) => x.hash(state),
            Self::Bytes(x) => x.hash(state),
            Self::List(x) => x.hash(state),
            Self::Map(x) => x.hash(state),
            Self::Date(x) => x.hash(state),
            Self::LocalTime(x) => x.hash(state),
            Self::Time(x) => x.hash(state),
            Self::LocalDateTime(x) => x.hash(state),
            Self::DateTime(x) => x.hash(state),
            Self::Duration(x) => x.hash(state),
            Self::Vector(x) => x.hash(state),
            Self::Point(x) => x.hash(state),
            Self::Vertex(x) => x.hash(state),
            Self::Edge(x) => x.hash(state),
            Self::Path(x) => x.hash(state),
        }
    }
}

#[cfg(test)]
mod tests;
