//! Indexes and constraints as queries list them.

use crate::update::IndexedObjects;
use crate::{IndexId, PropertyKeyId, PropertyType};

/// What an index or constraint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleKind {
    /// An index: finds objects by their values, one by one or in ranges.
    Range,
    /// An index of strings: finds objects by the string that a property is, begins with, contains
    /// or ends with. What is no string is not in it.
    Text,
    /// An index of points: finds objects by the point that a property is, or the box that it lies
    /// in. What is no point is not in it.
    Point,
    /// No two objects have the same values.
    Unique,
    /// Every object has each of the properties, and no two the same values.
    Key,
    /// Every object has each of the properties.
    Exists,
    /// A property, where there is one, is of this type.
    Typed(PropertyType),
}

impl RuleKind {
    /// Whether it demands something, rather than only finds objects.
    #[must_use]
    pub fn is_constraint(self) -> bool {
        !matches!(self, Self::Range | Self::Text | Self::Point)
    }

    /// Whether objects can be looked up in it.
    #[must_use]
    pub fn has_entries(self) -> bool {
        matches!(self, Self::Range | Self::Text | Self::Point | Self::Unique | Self::Key)
    }

    /// Whether every object that has all of the properties is in it, whatever their values.
    #[must_use]
    pub fn holds_all_values(self) -> bool {
        self.has_entries() && !matches!(self, Self::Text | Self::Point)
    }
}

/// How far an index or constraint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleState {
    /// What was there before is being looked at; commits keep to it already.
    Building {
        /// Objects looked at so far.
        done: u64,
        /// How many there are.
        total: u64,
    },
    /// It can be read, and holds.
    Online,
    /// It is made when the transaction that asks commits; nobody else knows of it.
    Pending,
}

/// An index or constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its number.
    pub id: IndexId,
    /// Its name, which no other index or constraint has.
    pub name: String,
    /// What it is about.
    pub objects: IndexedObjects,
    /// The properties, in its order.
    pub properties: Vec<PropertyKeyId>,
    /// What it does.
    pub kind: RuleKind,
    /// How far it is.
    pub state: RuleState,
}
