//! A commit as a line of JSON, with names instead of numbers.

use std::io::Write;

use telar_db::query::result::{element_id_of_edge, element_id_of_vertex};
use telar_db::value::LocalDateTime;
use telar_db::{
    Change, CommitChanges, Database, EdgeId, EdgeTypeId, LabelId, PropertyKeyId, Value,
};
use telar_graph::Schema;

use crate::http::json::{Notation, Writer, write_string};

/// Schema names by number, read again when one is not known yet.
#[derive(Debug)]
pub(super) struct Names<'d> {
    engine: &'d Database,
    labels: Vec<String>,
    types: Vec<String>,
    keys: Vec<String>,
}

/// An object that is written.
struct Object<'o> {
    out: &'o mut Vec<u8>,
    notation: Notation,
}

impl Object<'_> {
    fn name(&mut self, name: &str) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        write_string(self.out, name);
        self.out.push(b':');
    }

    fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        write_string(self.out, text);
    }

    fn texts<'t>(&mut self, name: &str, texts: impl Iterator<Item = &'t str>) {
        self.name(name);
        self.out.push(b'[');
        for (at, text) in texts.enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            write_string(self.out, text);
        }
        self.out.push(b']');
    }

    fn value(&mut self, value: &Value) {
        self.name("value");
        Writer { notation: self.notation, rows: None }.value(self.out, value);
    }
}

/// When a commit was made, in UTC.
fn time(ms: u64) -> Option<String> {
    let (seconds, nanos) = (i64::try_from(ms / 1000).ok()?, (ms % 1000) as i64 * 1_000_000);
    let at = LocalDateTime::from_epoch(seconds, nanos).ok()?;
    Some(format!("{at}Z"))
}

impl<'d> Names<'d> {
    pub(super) fn new(engine: &'d Database) -> Self {
        Self { engine, labels: Vec::new(), types: Vec::new(), keys: Vec::new() }
    }

    fn read(&mut self) {
        if let Ok(reader) = self.engine.reader() {
            self.labels = reader.label_names();
            self.types = reader.edge_type_names();
            self.keys = reader.property_key_names();
        }
    }

    fn find(&mut self, list: fn(&Self) -> &Vec<String>, number: u16) -> String {
        if list(self).len() <= usize::from(number) {
            self.read();
        }
        list(self).get(usize::from(number)).cloned().unwrap_or_default()
    }

    fn label(&mut self, label: LabelId) -> String {
        self.find(|names| &names.labels, label.get())
    }

    fn edge_type(&mut self, ty: EdgeTypeId) -> String {
        self.find(|names| &names.types, ty.get())
    }

    fn key(&mut self, key: PropertyKeyId) -> String {
        self.find(|names| &names.keys, key.get())
    }

    /// Appends the line of a commit.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, notation: Notation, commit: &CommitChanges) {
        write!(out, "{{\"ts\":{}", commit.ts.get()).expect("INVARIANT: memory takes bytes");
        if let Some(time) = commit.time_ms.and_then(time) {
            Object { out, notation }.text("time", &time);
        }
        out.extend_from_slice(b",\"changes\":[");
        for (at, change) in commit.changes.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.push(b'{');
            self.change(&mut Object { out, notation }, change);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}\n");
    }

    fn labels(&mut self, object: &mut Object<'_>, labels: &[LabelId]) {
        let names: Vec<String> = labels.iter().map(|label| self.label(*label)).collect();
        object.texts("labels", names.iter().map(String::as_str));
    }

    fn edge(&mut self, object: &mut Object<'_>, edge: &EdgeId) {
        object.text("relationship", &element_id_of_edge(edge));
        object.text("type", &self.edge_type(edge.ty));
        object.text("start", &element_id_of_vertex(edge.src));
        object.text("end", &element_id_of_vertex(edge.dst));
    }

    fn change(&mut self, object: &mut Object<'_>, change: &Change) {
        match change {
            Change::VertexCreated { vertex, labels } => {
                object.text("change", "NodeCreated");
                object.text("node", &element_id_of_vertex(*vertex));
                self.labels(object, labels);
            }
            Change::LabelsSet { vertex, labels } => {
                object.text("change", "LabelsSet");
                object.text("node", &element_id_of_vertex(*vertex));
                self.labels(object, labels);
            }
            Change::VertexDeleted { vertex } => {
                object.text("change", "NodeDeleted");
                object.text("node", &element_id_of_vertex(*vertex));
            }
            Change::VertexPropertySet { vertex, key, value } => {
                object.text("change", "NodePropertySet");
                object.text("node", &element_id_of_vertex(*vertex));
                object.text("property", &self.key(*key));
                object.value(value);
            }
            Change::EdgeCreated { edge, .. } | Change::EdgeEnsured { edge } => {
                object.text("change", "RelationshipCreated");
                self.edge(object, edge);
            }
            Change::EdgeDeleted { edge } => {
                object.text("change", "RelationshipDeleted");
                self.edge(object, edge);
            }
            Change::EdgePropertySet { edge, key, value } => {
                object.text("change", "RelationshipPropertySet");
                self.edge(object, edge);
                object.text("property", &self.key(*key));
                object.value(value);
            }
            Change::LabelMade { name, .. } => {
                object.text("change", "LabelMade");
                object.text("name", name);
            }
            Change::PropertyKeyMade { name, .. } => {
                object.text("change", "PropertyKeyMade");
                object.text("name", name);
            }
            Change::EdgeTypeMade { name, .. } => {
                object.text("change", "RelationshipTypeMade");
                object.text("name", name);
            }
            Change::IndexMade { name, .. } => {
                object.text("change", "IndexMade");
                object.text("name", name);
            }
            Change::IndexDropped { index } => {
                object.text("change", "IndexDropped");
                object.text("index", &index.get().to_string());
            }
            Change::BulkLoaded => object.text("change", "BulkLoaded"),
            // A change of a later engine: said to be there rather than left out.
            _ => object.text("change", "Other"),
        }
    }
}
