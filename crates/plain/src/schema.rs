//! Names, and which indexes there are.

use telar_graph::update::ReadableIndex;
use telar_graph::{EdgeTypeId, IndexState, LabelId, PropertyKeyId, Schema, SchemaRule};

use crate::PlainGraph;

fn find(names: &[String], name: &str) -> Option<u16> {
    names.iter().position(|known| known == name).map(|at| at as u16)
}

impl Schema for PlainGraph {
    fn find_label(&self, name: &str) -> Option<LabelId> {
        find(&self.labels, name).map(LabelId::from_raw)
    }

    fn find_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        find(&self.types, name).map(EdgeTypeId::from_raw)
    }

    fn find_property_key(&self, name: &str) -> Option<PropertyKeyId> {
        find(&self.keys, name).map(PropertyKeyId::from_raw)
    }

    fn has_only_committed_names(&self) -> bool {
        true
    }

    fn label_names(&self) -> Vec<String> {
        self.labels.clone()
    }

    fn edge_type_names(&self) -> Vec<String> {
        self.types.clone()
    }

    fn property_key_names(&self) -> Vec<String> {
        self.keys.clone()
    }

    fn readable_indexes(&self) -> Vec<ReadableIndex> {
        let index = |rule: &SchemaRule| {
            let kind = rule.kind.index().filter(|_| rule.state == IndexState::Online)?;
            let properties = rule.properties.clone();
            let SchemaRule { id, objects, .. } = *rule;
            Some(ReadableIndex { id, objects, properties, kind, unique: rule.kind.is_unique() })
        };
        self.schema_rules.iter().filter_map(index).collect()
    }

    fn schema_rules(&self) -> Vec<SchemaRule> {
        self.schema_rules.clone()
    }
}
