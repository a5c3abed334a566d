//! `apoc.meta.schema`, `apoc.meta.subGraph`, `apoc.meta.stats`: what a graph has, as maps.
//!
//! The maps are made of the rows of `apoc.meta.data` and of the pairs of labels that relationships
//! connect; the whole graph is read, whatever the configuration says of a sample.

use std::collections::{BTreeMap, BTreeSet};

use telar_graph::{Value, ValueMap};

use super::{Entry, Mode, args};
use crate::procedure::{CallContext, Rows, counts, meta, schema};
use crate::query_error::QueryError;

const R: Mode = Mode::Read;

pub(super) const PROCEDURES: &[Entry] = &[
    (
        "apoc.meta.schema",
        R,
        "config MAP = {}",
        "value MAP",
        "Labels and relationship types with their properties, and what connects them, as a map.",
        |call, arguments| Ok(vec![vec![schema_map(call, &Filter::of(&arguments[0]))?]]),
    ),
    (
        "apoc.meta.subGraph",
        R,
        "config MAP = {}",
        "nodes LIST<MAP>; relationships LIST<MAP>",
        "Some labels, and which types of relationships connect them, with counts, as maps.",
        sub_graph,
    ),
    (
        "apoc.meta.nodeTypeProperties",
        R,
        "config MAP = {}",
        "nodeType STRING; nodeLabels LIST<STRING>; propertyName STRING; propertyTypes \
         LIST<STRING>; mandatory BOOLEAN; propertyObservations INTEGER; totalObservations INTEGER",
        "For each set of labels, the properties of its nodes, their types, and how many have them.",
        |call, arguments| {
            let wanted = Filter::of(&arguments[0]);
            schema::node_observations(call, &|labels| wanted.labels(labels))
        },
    ),
    (
        "apoc.meta.relTypeProperties",
        R,
        "config MAP = {}",
        "relType STRING; sourceNodeLabels LIST<STRING>; targetNodeLabels LIST<STRING>; \
         propertyName STRING; propertyTypes LIST<STRING>; mandatory BOOLEAN; \
         propertyObservations INTEGER; totalObservations INTEGER",
        "For each type and labels of its ends, the properties, their types, and how many have them.",
        |call, arguments| {
            let wanted = Filter::of(&arguments[0]);
            schema::relationship_observations(call, &|ty, start, end| {
                wanted.ty(ty) && wanted.labels(start) && wanted.labels(end)
            })
        },
    ),
    (
        "apoc.meta.stats",
        R,
        "",
        "labelCount INTEGER; relTypeCount INTEGER; propertyKeyCount INTEGER; nodeCount INTEGER; \
         relCount INTEGER; labels MAP; relTypes MAP; relTypesCount MAP; stats MAP",
        "Numbers of nodes and relationships, by label and type.",
        stats,
    ),
];

/// Places of the columns of `apoc.meta.data` that are read here.
const LABEL: usize = 0;
const PROPERTY: usize = 1;
const UNIQUE: usize = 3;
const INDEX: usize = 4;
const EXISTENCE: usize = 5;
const TYPE: usize = 6;
const ARRAY: usize = 7;
const ELEMENT_TYPE: usize = 15;

/// Descriptions of properties, by the name of a label or type.
type Described = BTreeMap<String, ValueMap>;

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        _ => String::new(),
    }
}

/// The properties of all labels, and of all types.
fn properties(call: &CallContext<'_>) -> Result<[Described; 2], QueryError> {
    let mut found = <[Described; 2]>::default();
    for row in meta::rows(call)? {
        if row[TYPE] == Value::from("RELATIONSHIP") {
            continue;
        }
        let of_node = row[ELEMENT_TYPE] == Value::from("node");
        let mut described = vec![
            ("type", row[TYPE].clone()),
            ("existence", row[EXISTENCE].clone()),
            ("unique", row[UNIQUE].clone()),
            ("indexed", row[INDEX].clone()),
        ];
        if !of_node {
            described.push(("array", row[ARRAY].clone()));
        }
        let owner = found[usize::from(!of_node)].entry(text(&row[LABEL])).or_default();
        owner.insert(text(&row[PROPERTY]).into(), Value::map(described));
    }
    Ok(found)
}

/// What is known of the relationships of one type at the nodes of one label.
struct Connected {
    direction: &'static str,
    count: i64,
    labels: BTreeSet<String>,
}

/// The relationships at each label, by type: those that begin there, if there are any.
fn connections(
    relationships: &Value,
    patterns: &BTreeMap<String, i64>,
) -> BTreeMap<String, BTreeMap<String, Connected>> {
    let mut found: BTreeMap<String, BTreeMap<String, Connected>> = BTreeMap::new();
    for (direction, here, there) in [("out", "from", "to"), ("in", "to", "from")] {
        for entry in maps(relationships) {
            let name = |key: &str| entry.get(key).map(text).unwrap_or_default();
            let pattern = match direction {
                "out" => format!("(:{})-[:{}]->()", name(here), name("type")),
                _ => format!("()-[:{}]->(:{})", name("type"), name(here)),
            };
            let count = patterns.get(&pattern).copied().unwrap_or(0);
            let new = || Connected { direction, count, labels: BTreeSet::new() };
            let at = found.entry(name(here)).or_default().entry(name("type")).or_insert_with(new);
            if at.direction == direction {
                at.labels.insert(name(there));
            }
        }
    }
    found
}

fn maps(list: &Value) -> impl Iterator<Item = &ValueMap> {
    let elements = match list {
        Value::List(elements) => &elements[..],
        _ => &[],
    };
    elements.iter().filter_map(|value| match value {
        Value::Map(entries) => Some(&**entries),
        _ => None,
    })
}

fn schema_map(call: &CallContext<'_>, wanted: &Filter) -> Result<Value, QueryError> {
    let [mut of_labels, mut of_types] = properties(call)?;
    let (nodes, relationships) = (counts::nodes(call)?, counts::relationships(call)?);
    let mut connected = connections(&relationships, &counts::half_patterns(call)?);
    let mut beside = counts::labels_beside(call)?;
    let mut value = ValueMap::new();
    for (name, count) in counts::types(call)?.into_iter().filter(|(name, _)| wanted.ty(name)) {
        let of = of_types.get(&name).cloned().unwrap_or_default();
        let entries = [("type", Value::from("relationship")), ("count", count.into())];
        let entries = entries.into_iter().chain([("properties", Value::map(of))]);
        value.insert(name.into(), Value::map(entries));
    }
    for node in maps(&nodes) {
        let name = node.get("name").map(text).unwrap_or_default();
        if !wanted.label(&name) {
            continue;
        }
        let relationships = connected.remove(&name).unwrap_or_default().into_iter();
        let relationships = relationships.filter(|(ty, _)| wanted.ty(ty));
        let relationships = relationships.map(|(ty, of)| {
            let entries = [
                ("direction", Value::from(of.direction)),
                ("count", of.count.into()),
                ("labels", Value::list(of.labels)),
                ("properties", Value::map(of_types.entry(ty.clone()).or_default().clone())),
            ];
            (ty, Value::map(entries))
        });
        let entries = [
            ("type", Value::from("node")),
            ("count", node.get("count").cloned().unwrap_or_default()),
            ("labels", Value::list(beside.remove(&name).unwrap_or_default())),
            ("relationships", Value::map(relationships.collect::<Vec<_>>())),
            ("properties", Value::map(of_labels.remove(&name).unwrap_or_default())),
        ];
        value.insert(name.into(), Value::map(entries));
    }
    Ok(Value::map(value))
}

/// Names of a list in a configuration; none if there is no such list.
fn list_of(config: &ValueMap, keys: &[&str]) -> Option<BTreeSet<String>> {
    let found = keys.iter().find_map(|key| config.get(*key))?;
    match found {
        Value::List(names) if !names.is_empty() => Some(names.iter().map(text).collect()),
        _ => None,
    }
}

/// The labels and relationship types that a configuration asks for.
struct Filter {
    labels: Option<BTreeSet<String>>,
    types: Option<BTreeSet<String>>,
    excluded_labels: BTreeSet<String>,
    excluded_types: BTreeSet<String>,
}

impl Filter {
    fn of(config: &Value) -> Self {
        let config = args::map(config);
        let excluded = |keys: &[&str]| list_of(&config, keys).unwrap_or_default();
        Self {
            labels: list_of(&config, &["includeLabels", "labels"]),
            types: list_of(&config, &["includeRels", "rels"]),
            excluded_labels: excluded(&["excludeLabels", "excludes"]),
            excluded_types: excluded(&["excludeRels"]),
        }
    }

    fn label(&self, name: &str) -> bool {
        let included = self.labels.as_ref().is_none_or(|all| all.contains(name));
        included && !self.excluded_labels.contains(name)
    }

    /// True for nodes with these labels: one of them is asked for, and none is excluded.
    fn labels(&self, names: &[String]) -> bool {
        let included =
            self.labels.as_ref().is_none_or(|all| names.iter().any(|name| all.contains(name)));
        included && !names.iter().any(|name| self.excluded_labels.contains(name))
    }

    fn ty(&self, name: &str) -> bool {
        let included = self.types.as_ref().is_none_or(|all| all.contains(name));
        included && !self.excluded_types.contains(name)
    }
}

fn sub_graph(call: &mut CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let wanted = Filter::of(&arguments[0]);
    let (label, ty) = (|name: &str| wanted.label(name), |name: &str| wanted.ty(name));
    let (nodes, relationships) = (counts::nodes(call)?, counts::relationships(call)?);
    let name = |of: &ValueMap, key: &str| of.get(key).map(text).unwrap_or_default();
    let nodes = maps(&nodes).filter(|of| label(&name(of, "name")));
    let relationships = maps(&relationships)
        .filter(|of| label(&name(of, "from")) && label(&name(of, "to")) && ty(&name(of, "type")));
    let list = |all: Vec<ValueMap>| Value::list(all.into_iter().map(Value::map));
    Ok(vec![vec![list(nodes.cloned().collect()), list(relationships.cloned().collect())]])
}

fn stats(call: &mut CallContext<'_>, _: &[Value]) -> Result<Rows, QueryError> {
    let labels: ValueMap = maps(&counts::nodes(call)?)
        .map(|of| (text(&of["name"]).into(), of["count"].clone()))
        .collect();
    let types: ValueMap =
        counts::types(call)?.into_iter().map(|(name, count)| (name.into(), count.into())).collect();
    // `()-[:T]->()`, `(:A)-[:T]->()` and `()-[:T]->(:A)`: each relationship counts at each label.
    let mut patterns: BTreeMap<String, Value> =
        types.iter().map(|(name, count)| (format!("()-[:{name}]->()"), count.clone())).collect();
    for (pattern, count) in counts::half_patterns(call)? {
        patterns.insert(pattern, count.into());
    }
    let relationships: i64 = counts::types(call)?.iter().map(|(_, count)| count).sum();
    let number = |n: u64| Value::try_from(n).unwrap_or_default();
    let keys = call.graph().property_key_names().iter().filter(|name| !name.is_empty()).count();
    let values = [
        ("labelCount", Value::Int(labels.len() as i64)),
        ("relTypeCount", Value::Int(types.len() as i64)),
        ("propertyKeyCount", Value::Int(keys as i64)),
        ("nodeCount", number(counts::all_nodes(call)?)),
        ("relCount", relationships.into()),
        ("labels", Value::map(labels)),
        ("relTypes", Value::map(patterns)),
        ("relTypesCount", Value::map(types)),
    ];
    let mut row: Vec<Value> = values.iter().map(|(_, value)| value.clone()).collect();
    row.push(Value::map(values));
    Ok(vec![row])
}
