//! Changes as queries ask for them.

use telar_graph::name::NameKind;
use telar_graph::update::{IndexedObjects, Update, UpdateError, UpdateErrorKind};
use telar_graph::{
    EdgeId, EdgeTypeId, IndexOptions, LabelId, PropertyKeyId, SchemaKind, SchemaRule, Value,
    VertexId,
};

use super::Transaction;
use crate::adjacency::ListKind;
use crate::error::{Error, ErrorKind, Object};
use crate::index::{Definition, IndexTarget};
use crate::schema::rule;

impl From<Error> for UpdateError {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::NotFound(_) => UpdateErrorKind::NotFound,
            Error::StillConnected { .. } => UpdateErrorKind::StillConnected,
            Error::TooDeep { .. }
            | Error::NotStorable
            | Error::SimpleEdgeType { .. }
            | Error::SortProperty { .. }
            | Error::SortPropertyFixed { .. } => UpdateErrorKind::Value,
            Error::Name(_) | Error::TooManyNames { .. } => UpdateErrorKind::Name,
            Error::IndexSpec { .. }
            | Error::IndexExists { .. }
            | Error::UnknownIndex(_)
            | Error::UnknownIndexName { .. } => UpdateErrorKind::SchemaRule,
            Error::MixedChanges => UpdateErrorKind::Mixed,
            Error::ConstraintViolated { .. } | Error::EdgeExists { .. } => {
                UpdateErrorKind::Constraint
            }
            Error::Deadlock => UpdateErrorKind::Deadlock,
            Error::WaitTimedOut => UpdateErrorKind::TimedOut,
            Error::WaitTerminated => UpdateErrorKind::Terminated,
            _ if error.kind() == ErrorKind::Retry => UpdateErrorKind::Conflict,
            _ => UpdateErrorKind::Database,
        };
        Self { kind, source: Box::new(error) }
    }
}

impl Update for Transaction<'_> {
    fn written_bytes(&self) -> u64 {
        Transaction::written_bytes(self)
    }

    fn label(&mut self, name: &str) -> Result<LabelId, UpdateError> {
        Ok(self.name_to_write(NameKind::Label, name).map(LabelId::from_raw)?)
    }

    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId, UpdateError> {
        Ok(self.name_to_write(NameKind::EdgeType, name).map(EdgeTypeId::from_raw)?)
    }

    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId, UpdateError> {
        Ok(self.name_to_write(NameKind::PropertyKey, name).map(PropertyKeyId::from_raw)?)
    }

    fn create_vertex(&mut self, labels: &[LabelId]) -> Result<VertexId, UpdateError> {
        Ok(Transaction::create_vertex(self, labels)?)
    }

    fn create_edge(
        &mut self,
        ty: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
        properties: &[(PropertyKeyId, Value)],
    ) -> Result<EdgeId, UpdateError> {
        let edge_type = self.shared().catalog.edge_type(ty)?;
        if edge_type.kind() != ListKind::Simple {
            return Ok(Transaction::create_edge(self, ty, src, dst, properties)?);
        }
        let name = self.shared().catalog.edge_type_name(ty);
        if properties.iter().any(|(_, value)| !value.is_null()) {
            return Err(Error::SimpleEdgeType { name }.into());
        }
        for end in [src, dst] {
            self.existing(end)?;
        }
        let edge = EdgeId { ty, src, dst, ordinal: 0 };
        if self.search_edge(ty, src, dst)? {
            return Err(Error::EdgeExists { name, edge }.into());
        }
        self.upsert_edge(ty, src, dst)?;
        Ok(edge)
    }

    fn claim_edge(
        &mut self,
        edge: EdgeId,
        bound: bool,
        either_way: bool,
    ) -> Result<(), UpdateError> {
        Ok(Transaction::claim_edge(self, edge, bound, either_way)?)
    }

    fn add_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, UpdateError> {
        Ok(Transaction::add_label(self, vertex, label)?)
    }

    fn remove_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, UpdateError> {
        Ok(Transaction::remove_label(self, vertex, label)?)
    }

    fn set_vertex_property(
        &mut self,
        vertex: VertexId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), UpdateError> {
        Ok(Transaction::set_vertex_property(self, vertex, key, value)?)
    }

    fn set_edge_property(
        &mut self,
        edge: EdgeId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), UpdateError> {
        Ok(Transaction::set_edge_property(self, edge, key, value)?)
    }

    fn delete_edge(&mut self, edge: EdgeId) -> Result<bool, UpdateError> {
        let existed = self.edge_exists(edge);
        Transaction::delete_edge(self, edge)?;
        Ok(existed)
    }

    fn edges_at(&self, vertex: VertexId, out: &mut Vec<EdgeId>) -> Result<(), UpdateError> {
        Ok(self.all_edges(vertex, out)?)
    }

    fn delete_vertex(&mut self, vertex: VertexId, detach: bool) -> Result<(), UpdateError> {
        let done = match detach {
            true => Transaction::delete_vertex(self, vertex, true),
            false => self.delete_vertex_deferred(vertex),
        };
        match done {
            // Deleted by a row before: the query's intent is met.
            Err(Error::NotFound(Object::Vertex(_))) => Ok(()),
            done => Ok(done?),
        }
    }

    fn schema_rules_to_change(&mut self) -> Result<Vec<SchemaRule>, UpdateError> {
        Ok(self.indexes_to_change()?.into_iter().map(rule).collect())
    }

    fn create_rule(
        &mut self,
        name: &str,
        objects: IndexedObjects,
        properties: &[PropertyKeyId],
        kind: SchemaKind,
        options: Option<&IndexOptions>,
    ) -> Result<(), UpdateError> {
        let target = match objects {
            IndexedObjects::Vertices(label) => IndexTarget::Vertices(label),
            IndexedObjects::Edges(ty) => IndexTarget::Edges(ty),
        };
        let (name, properties) = (name.to_owned(), properties.to_vec());
        let definition = Definition { name, target, properties, kind, settings: None };
        let definition = definition.with_settings(options.cloned())?;
        Ok(self.make_rule(definition)?)
    }

    fn drop_rule(&mut self, name: &str) -> Result<(), UpdateError> {
        Ok(self.drop_index(name)?)
    }
}
