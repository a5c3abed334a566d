//! Indexes and constraints as queries list them.

use crate::index_kind::SchemaKind;
use crate::update::IndexedObjects;
use crate::{IndexId, PropertyKeyId};

/// State of an index or constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// What was there before is being added or checked; commits keep to it already.
    Building {
        /// Vertices, or sources of edges, looked at so far.
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
pub struct SchemaRule {
    /// Its number.
    pub id: IndexId,
    /// Its name, which no other index or constraint has.
    pub name: String,
    /// What it is about.
    pub objects: IndexedObjects,
    /// The properties, in its order.
    pub properties: Vec<PropertyKeyId>,
    /// Its kind.
    pub kind: SchemaKind,
    /// Its state.
    pub state: IndexState,
}
