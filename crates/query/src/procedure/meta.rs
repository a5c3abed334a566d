//! `apoc.meta.data`: what a graph has, in the form that LangChain, neo4j-graphrag and others ask
//! for.
//!
//! A row for each property of a label or relationship type, and one for each pair of a label and a
//! type of relationships that begin at it (or of a type and a label that it begins at), with the
//! labels at their ends. Where values of a property differ in type, the type is that of most. The
//! columns are those of APOC 5; `sample` is null.
//!
//! *Cost*: two passes over the whole graph; nothing is guessed from a sample, whatever the
//! configuration says of one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use telar_graph::{Direction, Expansion, LabelId, Lists, PropertyKeyId, SchemaKind, Value};

use super::schema::{each_edges, each_vertices};
use super::show::Shown;
use super::{CallContext, Field, Procedures, Rows};
use crate::query_error::{ErrorKind, QueryError};
use crate::schema::about;

/// What a configuration may say: how much of the graph to look at. All of it is.
const IGNORED: [&str; 2] = ["sample", "maxRels"];

pub(super) fn add(procedures: &mut Procedures) {
    let columns = [
        ("label", "STRING"),
        ("property", "STRING"),
        ("count", "INTEGER"),
        ("unique", "BOOLEAN"),
        ("index", "BOOLEAN"),
        ("existence", "BOOLEAN"),
        ("type", "STRING"),
        ("array", "BOOLEAN"),
        ("sample", "LIST<ANY>"),
        ("leftCount", "INTEGER"),
        ("rightCount", "INTEGER"),
        ("left", "INTEGER"),
        ("right", "INTEGER"),
        ("other", "LIST<STRING>"),
        ("otherLabels", "LIST<STRING>"),
        ("elementType", "STRING"),
    ];
    let config = Field::new("config", "MAP").or(Value::map::<&str, Value>([]));
    let description = "Labels, relationship types, their properties, and what connects them.";
    let procedure = Shown::new(description, vec![config], &columns, |call, arguments| {
        check_config("apoc.meta.data", arguments)?;
        rows(call)
    });
    procedures.add("apoc.meta.data", Arc::new(procedure));
}

/// The rows of `apoc.meta.data`.
pub(super) fn rows(call: &CallContext<'_>) -> Result<Rows, QueryError> {
    Ok(nodes(call)?.into_iter().chain(relationships(call)?).collect())
}

/// Refuses configurations that say something else.
pub(super) fn check_config(procedure: &str, arguments: &[Value]) -> Result<(), QueryError> {
    if let [Value::Map(config)] = arguments
        && let Some(key) = config.keys().find(|key| !IGNORED.contains(&&***key))
    {
        let message = format!("{procedure} knows no configuration `{key}`");
        let (kind, detail) = (ErrorKind::ProcedureFailed, "ProcedureCallFailed");
        return Err(QueryError::runtime(kind, detail, message));
    }
    Ok(())
}

/// A number of objects as a value.
pub(super) fn count(n: u64) -> Value {
    Value::try_from(n).unwrap_or_default()
}

/// The name of a value's type, as APOC spells it.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "BOOLEAN",
        Value::Int(_) => "INTEGER",
        Value::Float(_) => "FLOAT",
        Value::String(_) => "STRING",
        Value::Bytes(_) => "BYTE_ARRAY",
        Value::Date(_) => "DATE",
        Value::LocalTime(_) => "LOCAL_TIME",
        Value::Time(_) => "TIME",
        Value::LocalDateTime(_) => "LOCAL_DATE_TIME",
        Value::DateTime(_) => "DATE_TIME",
        Value::Duration(_) => "DURATION",
        Value::Point(_) => "POINT",
        Value::Vector(_) => "VECTOR",
        Value::Map(_) => "MAP",
        _ => "LIST",
    }
}

/// How many values of a property are of which type.
type Types = BTreeMap<&'static str, u64>;
/// The properties of a label or type.
type Properties = BTreeMap<PropertyKeyId, Types>;

fn note(seen: &mut Properties, properties: &[(PropertyKeyId, Value)]) {
    for (key, value) in properties {
        *seen.entry(*key).or_default().entry(type_name(value)).or_default() += 1;
    }
}

/// What rules say of properties.
struct Ruled(Vec<(bool, String, Vec<String>, SchemaKind)>);

impl Ruled {
    fn of(call: &CallContext<'_>) -> Self {
        let rule = |rule: telar_graph::SchemaRule| {
            let (nodes, label, keys) = about(&rule, call.graph());
            (nodes, label, keys, rule.kind)
        };
        Self(call.graph().schema_rules().into_iter().map(rule).collect())
    }

    /// Whether a property is unique, in an index, always there.
    fn say(&self, nodes: bool, label: &str, key: &str) -> [bool; 3] {
        let of = |(of_nodes, of_label, keys, _): &&(bool, String, Vec<String>, SchemaKind)| {
            *of_nodes == nodes && of_label == label && keys.iter().any(|k| k == key)
        };
        let rules: Vec<_> = self.0.iter().filter(of).collect();
        [
            rules.iter().any(|(_, _, keys, kind)| kind.is_unique() && keys.len() == 1),
            rules.iter().any(|(.., kind)| kind.has_entries()),
            rules.iter().any(|(.., kind)| kind.needs_values()),
        ]
    }
}

/// The rows of the properties of a label or type.
fn property_rows(
    call: &CallContext<'_>,
    ruled: &Ruled,
    (nodes, label): (bool, &str),
    seen: &Properties,
) -> Rows {
    let keys = call.graph().property_key_names();
    let row = |(key, types): (&PropertyKeyId, &Types)| {
        let key = &keys[usize::from(key.get())];
        let (ty, _) = types.iter().max_by_key(|(_, count)| **count)?;
        let [unique, index, existence] = ruled.say(nodes, label, key);
        let zero = || Value::Int(0);
        Some(vec![
            label.into(),
            key.as_str().into(),
            count(types.values().sum()),
            unique.into(),
            index.into(),
            existence.into(),
            (*ty).into(),
            (*ty == "LIST").into(),
            Value::Null,
            zero(),
            zero(),
            zero(),
            zero(),
            Value::list::<&str>([]),
            Value::list::<&str>([]),
            if nodes { "node" } else { "relationship" }.into(),
        ])
    };
    seen.iter().filter_map(row).collect()
}

/// Relationships of one type at nodes of one label.
#[derive(Debug, Default)]
struct Connected {
    /// Nodes that some begin at.
    nodes: u64,
    /// Relationships that begin at them, and that end there.
    begin: u64,
    end: u64,
    /// Whether more than one begins at a node.
    many: bool,
    /// Labels at the other ends.
    other: BTreeSet<String>,
}

impl Connected {
    fn row(&self, label: &str, property: &str, of: &str) -> Vec<Value> {
        let mean = |all: u64| count(all / self.nodes.max(1));
        vec![
            label.into(),
            property.into(),
            count(self.nodes),
            false.into(),
            false.into(),
            false.into(),
            "RELATIONSHIP".into(),
            self.many.into(),
            Value::Null,
            count(self.begin),
            count(self.end),
            mean(self.begin),
            mean(self.end),
            Value::list(self.other.iter().map(String::as_str)),
            Value::list::<&str>([]),
            of.into(),
        ]
    }
}

/// Names of labels.
pub(super) fn names_of<'n>(
    labels: &[LabelId],
    names: &'n [String],
) -> impl Iterator<Item = &'n String> {
    labels.iter().map(|label| &names[usize::from(label.get())])
}

fn nodes(call: &CallContext<'_>) -> Result<Rows, QueryError> {
    let names = call.graph().label_names();
    let mut seen: BTreeMap<&String, Properties> = BTreeMap::new();
    let (mut labels, mut properties) = (Lists::default(), Lists::default());
    each_vertices(call, |vertices| {
        call.graph().labels(vertices, &mut labels)?;
        call.graph().all_vertex_properties(vertices, &mut properties)?;
        for (labels, properties) in labels.iter().zip(properties.iter()) {
            for label in names_of(labels, &names) {
                note(seen.entry(label).or_default(), properties);
            }
        }
        Ok(())
    })?;
    let ruled = Ruled::of(call);
    let rows = |(label, seen): (&&String, _)| property_rows(call, &ruled, (true, label), seen);
    Ok(seen.iter().flat_map(rows).collect())
}

fn relationships(call: &CallContext<'_>) -> Result<Rows, QueryError> {
    let (labels, types) = (call.graph().label_names(), call.graph().edge_type_names());
    let (ruled, mut rows) = (Ruled::of(call), Rows::new());
    for (number, name) in types.iter().enumerate() {
        let ty = telar_graph::EdgeTypeId::from_raw(number as u16);
        let (mut seen, mut properties) = (Properties::new(), Lists::default());
        each_edges(call, ty, |edges| {
            call.graph().all_edge_properties(edges, &mut properties)?;
            properties.iter().for_each(|properties| note(&mut seen, properties));
            Ok(())
        })?;
        rows.extend(property_rows(call, &ruled, (false, name), &seen));
        let mut connected: BTreeMap<&String, Connected> = BTreeMap::new();
        let (mut out, mut into) = (Expansion::default(), Expansion::default());
        let (mut own, mut others) = (Lists::default(), Lists::default());
        each_vertices(call, |vertices| {
            call.graph().expand(vertices, ty, Direction::Out, &mut out)?;
            call.graph().expand(vertices, ty, Direction::In, &mut into)?;
            call.graph().labels(vertices, &mut own)?;
            for (at, own) in own.iter().enumerate() {
                let ends = out.of(at);
                if ends.is_empty() {
                    continue;
                }
                call.graph().labels(ends, &mut others)?;
                for label in names_of(own, &labels) {
                    let at_label = connected.entry(label).or_default();
                    at_label.nodes += 1;
                    at_label.begin += ends.len() as u64;
                    at_label.end += u64::from(into.offsets[at + 1] - into.offsets[at]);
                    at_label.many |= ends.len() > 1;
                    for other in names_of(&others.items, &labels) {
                        if !at_label.other.contains(other) {
                            at_label.other.insert(other.clone());
                        }
                    }
                }
            }
            Ok(())
        })?;
        for (label, connected) in connected {
            rows.push(connected.row(label, name, "node"));
            rows.push(connected.row(name, label, "relationship"));
        }
    }
    Ok(rows)
}
