//! Changes, seen at once.

use telar_graph::update::{IndexedObjects, UpdateError, UpdateErrorKind};
use telar_graph::{
    EdgeId, EdgeTypeId, IndexId, IndexOptions, IndexState, LabelId, PropertyKeyId, SchemaKind,
    SchemaRule, Update, Value, VertexId,
};

use crate::{PlainGraph, PlainVertex, Properties};

fn refuse<T>(kind: UpdateErrorKind, what: impl Into<String>) -> Result<T, UpdateError> {
    Err(UpdateError { kind, source: what.into().into() })
}

fn number_of(names: &mut Vec<String>, name: &str) -> u16 {
    let known = names.iter().position(|known| known == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }) as u16
}

fn set(properties: &mut Properties, key: PropertyKeyId, value: Value) {
    match value.is_null() {
        true => _ = properties.remove(&key),
        false => _ = properties.insert(key, value),
    }
}

impl PlainGraph {
    fn vertex_mut(&mut self, id: VertexId) -> Result<&mut PlainVertex, UpdateError> {
        match self.vertices.get_mut(&id) {
            Some(vertex) => Ok(vertex),
            None => refuse(UpdateErrorKind::NotFound, format!("there is no vertex {id}")),
        }
    }
}

impl Update for PlainGraph {
    fn written_bytes(&self) -> u64 {
        0
    }

    fn label(&mut self, name: &str) -> Result<LabelId, UpdateError> {
        Ok(LabelId::from_raw(number_of(&mut self.labels, name)))
    }

    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId, UpdateError> {
        Ok(EdgeTypeId::from_raw(number_of(&mut self.types, name)))
    }

    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId, UpdateError> {
        Ok(PropertyKeyId::from_raw(number_of(&mut self.keys, name)))
    }

    fn create_vertex(&mut self, labels: &[LabelId]) -> Result<VertexId, UpdateError> {
        let id = self.next_vertex();
        let labels = labels.iter().copied().collect();
        self.vertices.insert(id, PlainVertex { labels, ..PlainVertex::default() });
        Ok(id)
    }

    fn create_edge(
        &mut self,
        ty: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
        properties: &[(PropertyKeyId, Value)],
    ) -> Result<EdgeId, UpdateError> {
        self.vertex_mut(src)?;
        self.vertex_mut(dst)?;
        let ordinals = self.edges.keys().filter(|edge| edge.ty == ty).map(|edge| edge.ordinal);
        let edge = EdgeId { ty, src, dst, ordinal: ordinals.max().unwrap_or(0) + 1 };
        let mut all = Properties::new();
        properties.iter().for_each(|(key, value)| set(&mut all, *key, value.clone()));
        self.edges.insert(edge, all);
        Ok(edge)
    }

    fn claim_edge(&mut self, edge: EdgeId, _: bool, _: bool) -> Result<(), UpdateError> {
        match self.edges.contains_key(&edge) {
            true => Ok(()),
            false => refuse(UpdateErrorKind::NotFound, format!("there is no edge {edge}")),
        }
    }

    fn add_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, UpdateError> {
        Ok(self.vertex_mut(vertex)?.labels.insert(label))
    }

    fn remove_label(&mut self, vertex: VertexId, label: LabelId) -> Result<bool, UpdateError> {
        Ok(self.vertex_mut(vertex)?.labels.remove(&label))
    }

    fn set_vertex_property(
        &mut self,
        vertex: VertexId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), UpdateError> {
        set(&mut self.vertex_mut(vertex)?.properties, key, value);
        Ok(())
    }

    fn set_edge_property(
        &mut self,
        edge: EdgeId,
        key: PropertyKeyId,
        value: Value,
    ) -> Result<(), UpdateError> {
        match self.edges.get_mut(&edge) {
            Some(properties) => {
                set(properties, key, value);
                Ok(())
            }
            None => refuse(UpdateErrorKind::NotFound, format!("there is no edge {edge}")),
        }
    }

    fn delete_edge(&mut self, edge: EdgeId) -> Result<bool, UpdateError> {
        Ok(self.edges.remove(&edge).is_some())
    }

    fn edges_at(&self, vertex: VertexId, out: &mut Vec<EdgeId>) -> Result<(), UpdateError> {
        out.extend(self.edges.keys().filter(|edge| edge.src == vertex));
        out.extend(self.edges.keys().filter(|edge| edge.dst == vertex));
        Ok(())
    }

    fn delete_vertex(&mut self, vertex: VertexId, detach: bool) -> Result<(), UpdateError> {
        self.vertex_mut(vertex)?;
        self.vertices.remove(&vertex);
        if detach {
            self.edges.retain(|edge, _| edge.src != vertex && edge.dst != vertex);
        } else if self.edges.keys().any(|edge| edge.src == vertex || edge.dst == vertex) {
            self.deleted_connected.insert(vertex);
        }
        Ok(())
    }

    fn schema_rules_to_change(&mut self) -> Result<Vec<SchemaRule>, UpdateError> {
        Ok(self.schema_rules.clone())
    }

    fn create_rule(
        &mut self,
        name: &str,
        objects: IndexedObjects,
        properties: &[PropertyKeyId],
        kind: SchemaKind,
        options: Option<&IndexOptions>,
    ) -> Result<(), UpdateError> {
        if self.schema_rules.iter().any(|rule| rule.name == name) {
            return refuse(
                UpdateErrorKind::SchemaRule,
                format!("there is an index {name} already"),
            );
        }
        let last = self.schema_rules.iter().map(|rule| rule.id.get()).max();
        self.schema_rules.push(SchemaRule {
            id: IndexId::from_raw(last.map_or(0, |last| last + 1)),
            name: name.to_owned(),
            objects,
            properties: properties.to_vec(),
            kind,
            options: options.cloned(),
            state: IndexState::Online,
        });
        Ok(())
    }

    fn drop_rule(&mut self, name: &str) -> Result<(), UpdateError> {
        let before = self.schema_rules.len();
        self.schema_rules.retain(|rule| rule.name != name);
        match self.schema_rules.len() < before {
            true => Ok(()),
            false => refuse(UpdateErrorKind::SchemaRule, format!("there is no index {name}")),
        }
    }
}
