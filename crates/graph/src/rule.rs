//! Indexes and constraints as queries list, make and drop them.

use crate::update::{IndexedObjects, UpdateError};
use crate::{EdgeTypeId, IndexId, LabelId, PropertyKeyId, PropertyType};

/// What an index or constraint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleKind {
    /// An index: finds objects by their values, one by one or in ranges.
    Range,
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
        self != Self::Range
    }

    /// Whether objects can be looked up in it.
    #[must_use]
    pub fn has_entries(self) -> bool {
        matches!(self, Self::Range | Self::Unique | Self::Key)
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

/// A database whose indexes and constraints can be changed. This happens beside transactions: what
/// a call did is there for everybody, and durable, when it returns, and no transaction can undo it.
pub trait SchemaUpdate {
    /// The number of a label, made if there is none.
    ///
    /// # Errors
    /// [`UpdateErrorKind::Name`](crate::update::UpdateErrorKind::Name),
    /// [`UpdateErrorKind::Database`](crate::update::UpdateErrorKind::Database).
    fn label(&self, name: &str) -> Result<LabelId, UpdateError>;

    /// The number of an edge type, made if there is none.
    ///
    /// # Errors
    /// As [`label`](Self::label).
    fn edge_type(&self, name: &str) -> Result<EdgeTypeId, UpdateError>;

    /// The number of a property key, made if there is none.
    ///
    /// # Errors
    /// As [`label`](Self::label).
    fn property_key(&self, name: &str) -> Result<PropertyKeyId, UpdateError>;

    /// Every index and constraint, in the order they were made.
    fn rules(&self) -> Vec<Rule>;

    /// Makes an index or constraint; returns when it can be read and holds.
    ///
    /// # Errors
    /// [`UpdateErrorKind::Constraint`](crate::update::UpdateErrorKind::Constraint) if what is there
    /// breaks the constraint; [`UpdateErrorKind::Rule`](crate::update::UpdateErrorKind::Rule) if it
    /// cannot be made like this, or the name is another's. Nothing was made.
    fn create_rule(
        &self,
        name: &str,
        objects: IndexedObjects,
        properties: &[PropertyKeyId],
        kind: RuleKind,
    ) -> Result<IndexId, UpdateError>;

    /// Drops an index or constraint.
    ///
    /// # Errors
    /// [`UpdateErrorKind::Rule`](crate::update::UpdateErrorKind::Rule) if there is none.
    fn drop_rule(&self, id: IndexId) -> Result<(), UpdateError>;
}
