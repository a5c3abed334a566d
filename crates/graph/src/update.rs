//! What a query may ask of a graph besides reading it: names, and changes in a transaction.

use crate::index_kind::{IndexKind, SchemaKind};
use crate::schema_rule::{IndexOptions, SchemaRule};
use crate::{Counts, EdgeId, EdgeTypeId, IndexId, LabelId, PropertyKeyId, Value, VertexId, View};

/// What an index is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexedObjects {
    /// Vertices with this label.
    Vertices(LabelId),
    /// Edges of this type.
    Edges(EdgeTypeId),
}

/// An index that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableIndex {
    /// Its number, for the lookups of [`View`].
    pub id: IndexId,
    /// What it is on.
    pub objects: IndexedObjects,
    /// The properties whose values it is sorted by, the most significant first.
    pub properties: Vec<PropertyKeyId>,
    /// Its kind; that of the index which a constraint owns.
    pub kind: IndexKind,
    /// True if a constraint owns it, so that no two objects have the same values.
    pub unique: bool,
}

/// Names of labels, edge types and property keys, and which indexes there are.
///
/// A name that was committed is never removed, and keeps its number. In a transaction that has
/// written under new names, these are names, too, and their numbers are theirs until it ends.
pub trait Schema {
    /// The number of a label, if it was ever made.
    fn find_label(&self, name: &str) -> Option<LabelId>;

    /// The number of an edge type, if it was ever made.
    fn find_edge_type(&self, name: &str) -> Option<EdgeTypeId>;

    /// The number of a property key, if it was ever made.
    fn find_property_key(&self, name: &str) -> Option<PropertyKeyId>;

    /// True if every name that is found was committed, so that its number holds for any later
    /// reader of the same graph; false in a transaction that has written under new names.
    fn has_only_committed_names(&self) -> bool;

    /// Every label's name, by number; empty where a number has no name.
    fn label_names(&self) -> Vec<String>;

    /// Every edge type's name, by number; empty where a number has no name.
    fn edge_type_names(&self) -> Vec<String>;

    /// Every property key's name, by number; empty where a number has no name.
    fn property_key_names(&self) -> Vec<String>;

    /// Every index that can be read now, constraints with entries included.
    fn readable_indexes(&self) -> Vec<ReadableIndex>;

    /// Every index and constraint there is now, in the order they were made; in a transaction, as
    /// it has changed them.
    fn schema_rules(&self) -> Vec<SchemaRule>;
}

/// A graph as a read-only query sees it.
pub trait Graph: View + Counts + Schema {}

impl<T: View + Counts + Schema + ?Sized> Graph for T {}

/// What kind of thing went wrong in a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UpdateErrorKind {
    /// The vertex or edge does not exist: it was deleted, in this transaction or before.
    NotFound,
    /// A vertex that still has edges was to be deleted.
    StillConnected,
    /// The value cannot be a property, or not of this edge type.
    Value,
    /// The name cannot be a label, edge type or property key, or there are too many.
    Name,
    /// A constraint forbids it.
    Constraint,
    /// An index or constraint cannot be made like this, or does not exist.
    SchemaRule,
    /// A transaction that changes vertices or edges was to change indexes or constraints.
    Mixed,
    /// Another transaction was first; the same transaction may succeed if it is run again.
    Conflict,
    /// Transactions wait for each other; the same one may succeed if it is run again.
    Deadlock,
    /// It waited for another transaction until its time was over.
    TimedOut,
    /// It waited for another transaction until somebody ended that.
    Terminated,
    /// The database cannot do it now: a limit was reached, the log failed, data is damaged.
    Database,
}

/// Why a change was refused. The transaction is as it was before the call.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct UpdateError {
    /// The kind.
    pub kind: UpdateErrorKind,
    /// What the storage says.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// A graph in a transaction: reads through [`View`] see the transaction's own changes.
pub trait Update: Graph {
    /// Bytes of memory that the changes made so far take until the transaction ends.
    ///
    /// *Cost*: some additions; it can be asked for every row.
    fn written_bytes(&self) -> u64;

    /// The number of a label, made if there is none.
    ///
    /// # Errors
    /// [`UpdateErrorKind::Name`], [`UpdateErrorKind::Database`].
    fn label(&mut self, name: &str) -> Result<LabelId, UpdateError>;

    /// The number of an edge type; if there is none, one is made whose edges may be parallel and
    /// have properties.
    ///
    /// # Errors
    /// [`UpdateErrorKind::Name`], [`UpdateErrorKind::Database`].
    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId, UpdateError>;

    /// The number of a property key, made if there is none.
    ///
    /// # Errors
    /// [`UpdateErrorKind::Name`], [`UpdateErrorKind::Database`].
    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId, UpdateError>;

    /// Creates a vertex with these labels.
    ///
    /// # Errors
    /// [`UpdateErrorKind::Database`].
    fn create_vertex(&mut self, labels: &[LabelId]) -> Result<VertexId, UpdateError>;

    /// Creates an edge with these properties; nulls are left out.
    ///
    /// # Errors
    /// [`UpdateErrorKind::NotFound`] if an end does not exist; [`UpdateErrorKind::Value`];
    /// [`UpdateErrorKind::Constraint`] if the type holds one edge per pair and there is one.
    fn create_edge(
        &mut self,
        ty: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
        properties: &[(PropertyKeyId, Value)],
    ) -> Result<EdgeId, UpdateError>;

    /// Says that an edge was made because none like it was found: if another transaction commits
    /// one first, this one does not commit. `bound`: both its ends were given before it was looked
    /// for; `either_way`: it was looked for in both directions.
    ///
    /// # Errors
    /// [`UpdateErrorKind::NotFound`] if this transaction has not made it.
    fn claim_edge(
        &mut self,
        edge: EdgeId,
        bound: bool,
        either_way: bool,
    ) -> Result<(), UpdateError>;

    /// Adds a label. Whether the vertex did not have it.
    ///
    /// # Errors
    /// [`UpdateErrorKind::NotFound`].
    fn add_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, UpdateError>;

    /// Removes a label. Whether the vertex had it.
    ///
    /// # Errors
    /// [`UpdateErrorKind::NotFound`].
    fn remove_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, UpdateError>;

    /// Sets a vertex property; null removes it.
    ///
    /// # Errors
    /// [`UpdateErrorKind::NotFound`], [`UpdateErrorKind::Value`].
    fn set_vertex_property(
        &mut self,
        vertex: VertexId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), UpdateError>;

    /// Sets an edge property; null removes it.
    ///
    /// # Errors
    /// [`UpdateErrorKind::NotFound`], [`UpdateErrorKind::Value`].
    fn set_edge_property(
        &mut self,
        edge: EdgeId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), UpdateError>;

    /// Deletes an edge. Whether there was one.
    ///
    /// # Errors
    /// [`UpdateErrorKind::Database`].
    fn delete_edge(&mut self, edge: EdgeId) -> Result<bool, UpdateError>;

    /// Appends every edge at a vertex, of whatever type and direction; one that leads from the
    /// vertex to itself twice.
    ///
    /// *Cost*: that of the edges, and of the types that vertices with ids close to it have edges
    /// of.
    ///
    /// # Errors
    /// [`UpdateErrorKind::Database`].
    fn edges_at(&self, vertex: VertexId, out: &mut Vec<EdgeId>) -> Result<(), UpdateError>;

    /// Deletes a vertex. With `detach` its edges go with it; without, the transaction does not
    /// commit unless they are deleted, too, before or after the vertex.
    ///
    /// # Errors
    /// [`UpdateErrorKind::NotFound`].
    fn delete_vertex(&mut self, vertex: VertexId, detach: bool) -> Result<(), UpdateError>;

    /// Every index and constraint as the transaction has changed them, for somebody who is about to
    /// change them: if another transaction changes them first, this one does not commit.
    ///
    /// # Errors
    /// [`UpdateErrorKind::Conflict`] if that has happened already.
    fn schema_rules_to_change(&mut self) -> Result<Vec<SchemaRule>, UpdateError>;

    /// Makes an index or constraint when the transaction commits; `options` are the settings of a
    /// full-text or vector index, and of no other. What is there is checked then, and nothing is
    /// committed if it breaks a constraint.
    ///
    /// # Errors
    /// [`UpdateErrorKind::SchemaRule`] if it cannot be made like this, or the name is another's;
    /// [`UpdateErrorKind::Name`], [`UpdateErrorKind::Mixed`], [`UpdateErrorKind::Conflict`].
    fn create_rule(
        &mut self,
        name: &str,
        objects: IndexedObjects,
        properties: &[PropertyKeyId],
        kind: SchemaKind,
        options: Option<&IndexOptions>,
    ) -> Result<(), UpdateError>;

    /// Drops the index or constraint of this name when the transaction commits.
    ///
    /// # Errors
    /// [`UpdateErrorKind::SchemaRule`] if there is none; [`UpdateErrorKind::Mixed`],
    /// [`UpdateErrorKind::Conflict`].
    fn drop_rule(&mut self, name: &str) -> Result<(), UpdateError>;
}
