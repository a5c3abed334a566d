//! Types of values, as `IS ::` tests them and `valueType()` names them.
//!
//! A type is a union of alternatives, each with or without null. `INTEGER` has null in it,
//! `INTEGER NOT NULL` has not.
//!
//! ```
//! use telar_graph::{PropertyType, Value};
//! use telar_query::value_type::ValueType;
//!
//! let numbers: ValueType = "LIST<INT | FLOAT NOT NULL>".parse().unwrap();
//! assert_eq!(numbers.to_string(), "LIST<INTEGER | FLOAT NOT NULL>");
//! assert!(numbers.contains(&Value::list([1, 2])));
//! ```
//!
//! Source: Neo4j Cypher manual, "Types, type predicate expressions and type normalization"; ISO/IEC
//! 39075 (GQL), 18.9.

mod parse;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;

use telar_graph::value::{CoordinateType, NESTING_MAX, Vector};
use telar_graph::{PropertyType, Value};

/// A union of types.
///
/// Invariant: alternatives are in the order of their kinds, and none is contained in another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueType {
    alternatives: Vec<Alternative>,
}

/// One type of a union.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Alternative {
    kind: Kind,
    not_null: bool,
}

/// What a value is, apart from null.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Nothing,
    Null,
    Boolean,
    String,
    Integer,
    Float,
    Bytes,
    Date,
    LocalTime,
    ZonedTime,
    LocalDateTime,
    ZonedDateTime,
    Duration,
    Point,
    Vector(VectorType),
    Node,
    Relationship,
    Map,
    List(ValueType),
    Path,
    PropertyValue,
    Any,
}

/// Types of vectors: of all, of those of one coordinate type, of one dimension, or of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct VectorType {
    coordinates: Option<CoordinateType>,
    dimension: Option<u16>,
}

impl VectorType {
    fn of(vector: &Vector) -> Self {
        Self {
            coordinates: Some(vector.coordinate_type()),
            dimension: Some(vector.dimension() as u16),
        }
    }

    /// True if every vector of `other` is also one of this.
    fn includes(self, other: Self) -> bool {
        let all = |ours: bool, same: bool| ours || same;
        all(self.coordinates.is_none(), self.coordinates == other.coordinates)
            && all(self.dimension.is_none(), self.dimension == other.dimension)
    }
}

/// Wider types first, those of a coordinate type before those of a dimension.
impl Ord for VectorType {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |ty: &Self| {
            let given = (ty.dimension.is_some(), ty.coordinates.is_some());
            (given, ty.coordinates, ty.dimension)
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for VectorType {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ValueType {
    /// The union of these, in order and without what another contains.
    fn union(alternatives: Vec<Alternative>) -> Self {
        let mut kept: Vec<Alternative> = Vec::with_capacity(alternatives.len());
        for new in alternatives {
            if !kept.iter().any(|old| old.includes(&new)) {
                kept.retain(|old| !new.includes(old));
                kept.push(new);
            }
        }
        kept.sort();
        Self { alternatives: kept }
    }

    fn one(kind: Kind, not_null: bool) -> Self {
        Self { alternatives: vec![Alternative { kind, not_null }] }
    }

    /// The narrowest type that has the value in it.
    ///
    /// Cost: linear in the number of values nested; recursion once per level.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        let kind = match value {
            Value::Null => return Self::one(Kind::Null, false),
            Value::Bool(_) => Kind::Boolean,
            Value::Int(_) => Kind::Integer,
            Value::Float(_) => Kind::Float,
            Value::String(_) => Kind::String,
            Value::Bytes(_) => Kind::Bytes,
            Value::Map(_) => Kind::Map,
            Value::Date(_) => Kind::Date,
            Value::LocalTime(_) => Kind::LocalTime,
            Value::Time(_) => Kind::ZonedTime,
            Value::LocalDateTime(_) => Kind::LocalDateTime,
            Value::DateTime(_) => Kind::ZonedDateTime,
            Value::Duration(_) => Kind::Duration,
            Value::Point(_) => Kind::Point,
            Value::Vector(vector) => Kind::Vector(VectorType::of(vector)),
            Value::Vertex(_) => Kind::Node,
            Value::Edge(_) => Kind::Relationship,
            Value::Path(_) => Kind::Path,
            Value::List(elements) => Kind::List(Self::of_elements(elements)),
        };
        Self::one(kind, true)
    }

    fn of_elements(elements: &[Value]) -> Self {
        let mut alternatives: Vec<Alternative> = Vec::new();
        for element in elements.iter().filter(|element| !element.is_null()) {
            for new in Self::of(element).alternatives {
                if !alternatives.contains(&new) {
                    alternatives.push(new);
                }
            }
        }
        let with_null = elements.iter().any(Value::is_null);
        if alternatives.is_empty() {
            let kind = if with_null { Kind::Null } else { Kind::Nothing };
            return Self::one(kind, !with_null);
        }
        for alternative in &mut alternatives {
            alternative.not_null = !with_null;
        }
        Self::union(alternatives)
    }

    /// Whether the value is of this type: what `value IS :: type` yields.
    ///
    /// Cost: linear in the number of values nested, times the number of alternatives.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        self.alternatives.iter().any(|alternative| alternative.contains(value))
    }

    /// Whether every value of `other` is of this type.
    fn includes(&self, other: &Self) -> bool {
        other.alternatives.iter().all(|theirs| self.alternatives.iter().any(|a| a.includes(theirs)))
    }

    /// The type of a property that this is, if it is one of vectors of one type and dimension.
    #[must_use]
    pub fn of_vectors(&self) -> Option<PropertyType> {
        let [Alternative { kind: Kind::Vector(ty), not_null: false }] = &self.alternatives[..]
        else {
            return None;
        };
        Some(PropertyType::Vector(ty.coordinates?, ty.dimension?))
    }

    /// How deep lists nest in the type.
    fn depth(&self) -> u32 {
        let depths = self.alternatives.iter().map(|alternative| match &alternative.kind {
            Kind::List(inner) => 1 + inner.depth(),
            _ => 0,
        });
        depths.max().unwrap_or(0)
    }

    /// Whether lists nest no deeper in the type than they may in a value.
    fn nests_within_bounds(&self) -> bool {
        self.depth() <= NESTING_MAX
    }
}

impl Alternative {
    fn contains(&self, value: &Value) -> bool {
        if value.is_null() {
            return !self.not_null && self.kind != Kind::Nothing;
        }
        match (&self.kind, value) {
            (Kind::Any, _)
            | (Kind::Boolean, Value::Bool(_))
            | (Kind::String, Value::String(_))
            | (Kind::Integer, Value::Int(_))
            | (Kind::Float, Value::Float(_))
            | (Kind::Bytes, Value::Bytes(_))
            | (Kind::Date, Value::Date(_))
            | (Kind::LocalTime, Value::LocalTime(_))
            | (Kind::ZonedTime, Value::Time(_))
            | (Kind::LocalDateTime, Value::LocalDateTime(_))
            | (Kind::ZonedDateTime, Value::DateTime(_))
            | (Kind::Duration, Value::Duration(_))
            | (Kind::Point, Value::Point(_))
            | (Kind::Node, Value::Vertex(_))
            | (Kind::Relationship, Value::Edge(_))
            | (Kind::Map, Value::Map(_))
            | (Kind::Path, Value::Path(_)) => true,
            (Kind::List(inner), Value::List(elements)) => {
                elements.iter().all(|element| inner.contains(element))
            }
            (Kind::Vector(ty), Value::Vector(vector)) => ty.includes(VectorType::of(vector)),
            (Kind::PropertyValue, value) => is_property_value(value),
            _ => false,
        }
    }

    /// Whether every value of `other` is also one of this.
    fn includes(&self, other: &Self) -> bool {
        let other_has_null = !other.not_null && other.kind != Kind::Nothing;
        if other_has_null && self.not_null {
            return false;
        }
        match (&self.kind, &other.kind) {
            (_, Kind::Nothing | Kind::Null) | (Kind::Any, _) => true,
            (Kind::List(ours), Kind::List(theirs)) => ours.includes(theirs),
            (Kind::Vector(ours), Kind::Vector(theirs)) => ours.includes(*theirs),
            (Kind::PropertyValue, Kind::List(theirs)) => match theirs.alternatives.as_slice() {
                [one] => {
                    let in_lists = !matches!(one.kind, Kind::PropertyValue | Kind::Vector(_));
                    one.not_null && in_lists && is_property_kind(&one.kind)
                }
                _ => false,
            },
            (Kind::PropertyValue, kind) => is_property_kind(kind),
            (ours, theirs) => ours == theirs,
        }
    }
}

/// Scalars that a property can hold; lists of them too, see [`is_property_value`].
const fn is_property_kind(kind: &Kind) -> bool {
    !matches!(
        kind,
        Kind::Nothing
            | Kind::Null
            | Kind::Node
            | Kind::Relationship
            | Kind::Map
            | Kind::List(_)
            | Kind::Path
            | Kind::Any
    )
}

/// A scalar, or a list of scalars of one type without nulls.
fn is_property_value(value: &Value) -> bool {
    let scalar = |value: &Value| {
        !matches!(value, Value::List(_) | Value::Map(_) | Value::Null) && value.is_storable()
    };
    let in_list = |value: &Value| scalar(value) && !matches!(value, Value::Vector(_));
    match value {
        Value::List(elements) => {
            let first = elements.first().map(Value::type_name);
            elements.iter().all(|element| in_list(element) && Some(element.type_name()) == first)
        }
        value => scalar(value),
    }
}

/// Prints the normal form: the names of the manual, alternatives in its order.
impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, alternative) in self.alternatives.iter().enumerate() {
            if at > 0 {
                f.write_str(" | ")?;
            }
            write!(f, "{}", alternative.kind)?;
            if alternative.not_null && alternative.kind != Kind::Nothing {
                f.write_str(" NOT NULL")?;
            }
        }
        Ok(())
    }
}

/// `VECTOR<FLOAT32 NOT NULL>(3)`, with what is given.
impl fmt::Display for VectorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VECTOR")?;
        if let Some(coordinates) = self.coordinates {
            write!(f, "<{coordinates} NOT NULL>")?;
        }
        match self.dimension {
            Some(dimension) => write!(f, "({dimension})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "NOTHING",
            Self::Null => "NULL",
            Self::Boolean => "BOOLEAN",
            Self::String => "STRING",
            Self::Integer => "INTEGER",
            Self::Float => "FLOAT",
            Self::Bytes => "BYTES",
            Self::Date => "DATE",
            Self::LocalTime => "LOCAL TIME",
            Self::ZonedTime => "ZONED TIME",
            Self::LocalDateTime => "LOCAL DATETIME",
            Self::ZonedDateTime => "ZONED DATETIME",
            Self::Duration => "DURATION",
            Self::Point => "POINT",
            Self::Vector(ty) => return write!(f, "{ty}"),
            Self::Node => "NODE",
            Self::Relationship => "RELATIONSHIP",
            Self::Map => "MAP",
            Self::List(inner) => return write!(f, "LIST<{inner}>"),
            Self::Path => "PATH",
            Self::PropertyValue => "PROPERTY VALUE",
            Self::Any => "ANY",
        })
    }
}
