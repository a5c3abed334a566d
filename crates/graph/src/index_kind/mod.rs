//! Kinds of indexes and constraints, and what an index of each kind can answer.
//!
//! This is the one enumeration of them. Everything that is true of a kind wherever it is stored
//! stands in its [`IndexCapability`], one file for each kind: the commands, the planner and the
//! engine ask that, and do not compare kinds. Keys and bytes of a kind are the engine's
//! (`crates/engine/src/index/kind/`). How to add one: docs/extending.md.

mod fulltext;
mod point;
mod range;
mod text;
mod vector;

use crate::PropertyType;

/// Greatest number of properties of an index or a constraint.
pub const PROPERTIES_MAX: usize = 16;

/// Kind of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// Finds objects by their values, one by one or in ranges.
    Range,
    /// Finds objects by a string: itself, its beginning, a part of it, its end. Other values are
    /// not in it.
    Text,
    /// Finds objects by a point: itself, or a box around it. Other values are not in it.
    Point,
    /// Finds objects by the words of strings, and of lists of strings, with a score.
    Fulltext,
    /// Finds objects by a vector that is near theirs, with a score. Other values are not in it.
    Vector,
}

/// Kind of a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConstraintKind {
    /// No two objects have the same values of all the properties. It owns a range index, which can
    /// be read like others. An object that lacks one of the properties is free.
    Unique,
    /// Every object has each of the properties.
    Exists,
    /// Both: every object has each of the properties, and no two the same values of all.
    Key,
    /// Where an object has one of the properties, it is of this type.
    Type(PropertyType),
}

/// Kind of an index or a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaKind {
    /// An index, which finds objects.
    Index(IndexKind),
    /// A constraint, which demands something of objects, and may own an index.
    Constraint(ConstraintKind),
}

/// Predicate on a property that an index can serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexPredicate {
    /// `=`
    Equals,
    /// `IN`, a list of values.
    In,
    /// `<`, `<=`, `>`, `>=`, or two of them.
    Between,
    /// `STARTS WITH`
    StartsWith,
    /// `ENDS WITH`
    EndsWith,
    /// `CONTAINS`
    Contains,
    /// `point.withinBBox`, or an upper bound of `point.distance`.
    Within,
}

impl IndexPredicate {
    /// Every predicate.
    pub const ALL: [Self; 7] = [
        Self::Equals,
        Self::In,
        Self::Between,
        Self::StartsWith,
        Self::EndsWith,
        Self::Contains,
        Self::Within,
    ];
}

/// Setting of an index that commands may give in `indexConfig`: the least or greatest coordinates
/// of points.
#[derive(Debug)]
pub struct IndexSetting {
    /// Name of the setting.
    pub key: &'static str,
    /// Name of the setting of the other side, which this one must fit.
    pub other: &'static str,
    /// Number of coordinates.
    pub axes: usize,
    /// Greatest absolute value of each coordinate.
    pub allowed: [f64; 3],
    /// Coordinates where none are given.
    pub default: [f64; 3],
}

/// Description of a kind of index: all that commands and the planner need to know of it.
#[derive(Debug)]
pub struct IndexCapability {
    /// Word of Cypher for the kind, as in `CREATE TEXT INDEX`; its type in `SHOW INDEXES`.
    pub name: &'static str,
    /// Provider in Neo4j's words.
    pub provider: &'static str,
    /// Providers of earlier versions of Neo4j that commands may name instead.
    pub old_providers: &'static [&'static str],
    /// Settings that commands may give.
    pub settings: &'static [IndexSetting],
    /// Greatest number of properties.
    pub properties_max: usize,
    /// Type of the values that are in the index; `None` if every value is. Predicates that are true
    /// of values of other types, too, are asked of it for values of this type only.
    pub holds: Option<PropertyType>,
    /// Predicates that it serves, on the property after those whose values are given.
    pub predicates: &'static [IndexPredicate],
    /// True if entries come in the order of their values, and each value has a key of its own.
    /// Otherwise values that are not equal may share a key, and a range finds more than it should.
    pub sorted_by_value: bool,
}

impl IndexCapability {
    /// True if the index can serve this predicate.
    #[must_use]
    pub fn serves(&self, predicate: IndexPredicate) -> bool {
        self.predicates.contains(&predicate)
    }
}

impl IndexKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Range, Self::Text, Self::Point, Self::Fulltext, Self::Vector];

    /// The description of the kind.
    #[must_use]
    pub fn capability(self) -> &'static IndexCapability {
        match self {
            Self::Range => &range::CAPABILITY,
            Self::Text => &text::CAPABILITY,
            Self::Point => &point::CAPABILITY,
            Self::Fulltext => &fulltext::CAPABILITY,
            Self::Vector => &vector::CAPABILITY,
        }
    }

    /// The kind with this name in Cypher, in capital letters.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name of the kind in Cypher.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.capability().name
    }

    /// True if every object that has all of the properties is in the index, whatever their values.
    #[must_use]
    pub fn holds_all_values(self) -> bool {
        self.capability().holds.is_none() && !self.has_settings()
    }

    /// True if it has settings ([`IndexOptions`](crate::IndexOptions)), and is asked by procedures:
    /// no predicate of a query uses it.
    #[must_use]
    pub fn has_settings(self) -> bool {
        matches!(self, Self::Fulltext | Self::Vector)
    }
}

impl ConstraintKind {
    /// The kind of the index that the constraint owns.
    #[must_use]
    #[inline]
    pub fn index(self) -> Option<IndexKind> {
        self.is_unique().then_some(IndexKind::Range)
    }

    /// True if no two objects may have the same values.
    #[must_use]
    #[inline]
    pub fn is_unique(self) -> bool {
        matches!(self, Self::Unique | Self::Key)
    }

    /// True if every object needs each of the properties.
    #[must_use]
    pub fn needs_values(self) -> bool {
        matches!(self, Self::Exists | Self::Key)
    }

    /// True if it demands something of each object by itself.
    #[must_use]
    #[inline]
    pub fn checks_values(self) -> bool {
        self != Self::Unique
    }

    /// True if there cannot be both on the same properties of the same objects.
    #[must_use]
    pub fn conflicts_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Type(_), Self::Type(_)) => true,
            _ => self.is_unique() && other.is_unique(),
        }
    }

    /// Greatest number of properties that a command may name.
    #[must_use]
    pub fn properties_max(self) -> usize {
        match self {
            Self::Unique | Self::Key => PROPERTIES_MAX,
            Self::Exists | Self::Type(_) => 1,
        }
    }
}

impl SchemaKind {
    /// The kind of the index that can be read: the index itself, or the one a constraint owns.
    #[must_use]
    #[inline]
    pub fn index(self) -> Option<IndexKind> {
        match self {
            Self::Index(kind) => Some(kind),
            Self::Constraint(kind) => kind.index(),
        }
    }

    /// The kind of the constraint, if it is one.
    #[must_use]
    #[inline]
    pub fn constraint(self) -> Option<ConstraintKind> {
        match self {
            Self::Index(_) => None,
            Self::Constraint(kind) => Some(kind),
        }
    }

    /// True if it demands something, rather than only finds objects.
    #[must_use]
    #[inline]
    pub fn is_constraint(self) -> bool {
        self.constraint().is_some()
    }

    /// True if objects can be looked up in it.
    #[must_use]
    #[inline]
    pub fn has_entries(self) -> bool {
        self.index().is_some()
    }

    /// True if every object needs each of the properties.
    #[must_use]
    pub fn needs_values(self) -> bool {
        self.constraint().is_some_and(ConstraintKind::needs_values)
    }

    /// True if no two objects may have the same values.
    #[must_use]
    #[inline]
    pub fn is_unique(self) -> bool {
        self.constraint().is_some_and(ConstraintKind::is_unique)
    }
}

impl From<IndexKind> for SchemaKind {
    fn from(kind: IndexKind) -> Self {
        Self::Index(kind)
    }
}

impl From<ConstraintKind> for SchemaKind {
    fn from(kind: ConstraintKind) -> Self {
        Self::Constraint(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_index_has_a_name_of_its_own_and_serves_something() {
        for kind in IndexKind::ALL {
            let capability = kind.capability();
            assert_eq!(IndexKind::named(kind.name()), Some(kind));
            assert_eq!(kind.name(), kind.name().to_uppercase());
            assert!((1..=PROPERTIES_MAX).contains(&capability.properties_max), "{kind:?}");
            let is_planned = !kind.has_settings();
            assert_eq!(!capability.predicates.is_empty(), is_planned, "{kind:?}");
            // What is true of strings, or points, is asked of an index that holds them all.
            let held = |predicate, ty| {
                !capability.serves(predicate) || capability.holds.is_none_or(|held| held == ty)
            };
            assert!(held(IndexPredicate::StartsWith, PropertyType::String), "{kind:?}");
            assert!(held(IndexPredicate::EndsWith, PropertyType::String), "{kind:?}");
            assert!(held(IndexPredicate::Contains, PropertyType::String), "{kind:?}");
            assert!(held(IndexPredicate::Within, PropertyType::Point), "{kind:?}");
            // The planner does not see the types of bounds.
            assert!(!capability.serves(IndexPredicate::Between) || kind.holds_all_values());
            for predicate in IndexPredicate::ALL {
                let times = capability.predicates.iter().filter(|p| **p == predicate).count();
                assert!(times <= 1, "{kind:?} lists {predicate:?} twice");
            }
        }
    }

    /// A unique constraint is kept by an index that no value escapes.
    #[test]
    fn every_unique_constraint_owns_an_index_of_all_values() {
        let constraints = [
            ConstraintKind::Unique,
            ConstraintKind::Exists,
            ConstraintKind::Key,
            ConstraintKind::Type(PropertyType::Int),
        ];
        for kind in constraints {
            let index = kind.index();
            assert_eq!(index.is_some(), kind.is_unique());
            assert!(index.is_none_or(IndexKind::holds_all_values), "{kind:?}");
        }
    }
}
