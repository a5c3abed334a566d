//! Changes that procedures make: what the clauses of a query do, counted as theirs are.

use std::fmt;

use telar_graph::update::IndexedObjects;
use telar_graph::{
    EdgeId, EdgeTypeId, LabelId, PropertyKeyId, SchemaKind, Value, ValueMap, VertexId,
};

use super::call::Statement;
use crate::query_error::QueryError;
use crate::schema::CreateParts;

/// Changes in the transaction of the statement that calls a procedure.
pub struct Changes<'a> {
    pub(super) statement: &'a mut dyn Statement,
}

impl fmt::Debug for Changes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}

/// Each fails if the transaction has lost against another one, or has written more than the
/// statement may hold: the statement fails with that, too.
impl Changes<'_> {
    /// Creates a node. Properties that are null are left out.
    ///
    /// # Errors
    /// If a value cannot be a property, or a name cannot be one.
    pub fn create_node(
        &mut self,
        labels: &[&str],
        properties: ValueMap,
    ) -> Result<VertexId, QueryError> {
        self.statement.create_node(labels, properties)
    }

    /// Creates a relationship.
    ///
    /// # Errors
    /// If one of the nodes does not exist; as [`create_node`](Self::create_node).
    pub fn create_relationship(
        &mut self,
        ty: &str,
        from: VertexId,
        to: VertexId,
        properties: ValueMap,
    ) -> Result<EdgeId, QueryError> {
        self.statement.create_relationship(ty, (from, to), properties)
    }

    /// Sets a property of a node or relationship, or removes it if the value is null. Nothing
    /// happens to what the statement has deleted.
    ///
    /// # Errors
    /// If there is no such object, or the value cannot be a property.
    pub fn set_property(
        &mut self,
        object: &Value,
        key: &str,
        value: Value,
    ) -> Result<(), QueryError> {
        self.statement.set_property(object, key, value)
    }

    /// Adds a label to a node; false if the node had it.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn add_label(&mut self, node: VertexId, label: &str) -> Result<bool, QueryError> {
        self.statement.add_label(node, label)
    }

    /// Removes a label from a node; false if the node did not have it.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn remove_label(&mut self, node: VertexId, label: &str) -> Result<bool, QueryError> {
        self.statement.remove_label(node, label)
    }

    /// Every relationship at a node, of whatever type and direction, once.
    ///
    /// # Errors
    /// If the graph cannot be read.
    pub fn relationships_at(&mut self, node: VertexId) -> Result<Vec<EdgeId>, QueryError> {
        let mut found = Vec::new();
        self.statement.update()?.edges_at(node, &mut found)?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Deletes a node, a relationship, or all of a path; with `detach` the relationships of a node
    /// go with it.
    ///
    /// # Errors
    /// If a node keeps relationships.
    pub fn delete(&mut self, object: &Value, detach: bool) -> Result<(), QueryError> {
        self.statement.delete(object, detach)
    }

    /// The number of a label, made when the transaction commits if there is none.
    ///
    /// # Errors
    /// If it cannot be a name, or there are too many.
    pub fn label(&mut self, name: &str) -> Result<LabelId, QueryError> {
        Ok(self.statement.update()?.label(name)?)
    }

    /// The number of a relationship type, made when the transaction commits if there is none.
    ///
    /// # Errors
    /// As [`label`](Self::label).
    pub fn relationship_type(&mut self, name: &str) -> Result<EdgeTypeId, QueryError> {
        Ok(self.statement.update()?.edge_type(name)?)
    }

    /// The number of a property key, made when the transaction commits if there is none.
    ///
    /// # Errors
    /// As [`label`](Self::label).
    pub fn property_key(&mut self, name: &str) -> Result<PropertyKeyId, QueryError> {
        Ok(self.statement.update()?.property_key(name)?)
    }

    /// Creates an index or constraint. One that is there as it is to be stays.
    ///
    /// # Errors
    /// If another one has the name, or the transaction has changed the graph.
    pub fn create_rule(
        &mut self,
        name: &str,
        objects: IndexedObjects,
        properties: &[PropertyKeyId],
        kind: SchemaKind,
    ) -> Result<(), QueryError> {
        self.statement.create_rule(name, objects, properties, kind)
    }

    /// Drops an index or constraint.
    ///
    /// # Errors
    /// If there is none of this name, or the transaction has changed the graph.
    pub fn drop_rule(&mut self, name: &str) -> Result<(), QueryError> {
        self.statement.drop_rule(name)
    }

    /// Makes an index of a kind that has settings, unless there is one like it.
    pub(crate) fn create_parts(
        &mut self,
        create: &CreateParts,
        name: &str,
        options: &Value,
    ) -> Result<(), QueryError> {
        self.statement.create_parts(create, name, options)
    }
}
