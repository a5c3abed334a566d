//! `apoc.meta.graph`, `apoc.schema.nodes`, `apoc.schema.properties.distinct`: how often things
//! occur, as the "enhanced" schemas of tools around language models ask for it.
//!
//! Columns and words are those of APOC 5; nodes and relationships that exist in no graph are maps,
//! as in `db.schema.visualization`.
//!
//! *Cost*: passes over all edges, over each index on nodes, over the nodes of a label; nothing is
//! guessed from a sample.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use telar_graph::update::IndexedObjects;
use telar_graph::{
    Column, EdgeTypeId, IndexRange, IndexState, LabelId, Lists, PropertyKeyId, SchemaRule, Value,
    VertexId,
};

use super::meta::{check_config, count, names_of};
use super::schema::{each_edges, each_vertices, labels_at_ends};
use super::show::Shown;
use super::{CallContext, Field, Procedures, Rows};
use crate::query_error::QueryError;
use crate::schema::{about, is_later_part, parts, type_name};

/// Entries of an index looked at between two questions whether to go on.
const STEP: usize = 1024;

pub(super) fn add(procedures: &mut Procedures) {
    let mut add = |name: &str, procedure: Shown| procedures.add(name, Arc::new(procedure));
    let config = || Field::new("config", "MAP").or(Value::map::<&str, Value>([]));
    add(
        "apoc.meta.graph",
        Shown::new(
            "Labels, and which types of relationships connect them, with counts, as maps.",
            vec![config()],
            &[("nodes", "LIST<MAP>"), ("relationships", "LIST<MAP>")],
            |call, arguments| {
                check_config("apoc.meta.graph", arguments)?;
                Ok(vec![vec![nodes(call)?, relationships(call)?]])
            },
        ),
    );
    let columns = [
        ("name", "STRING"),
        ("label", "ANY"),
        ("properties", "LIST<STRING>"),
        ("status", "STRING"),
        ("type", "STRING"),
        ("failure", "STRING"),
        ("populationProgress", "FLOAT"),
        ("size", "INTEGER"),
        ("valuesSelectivity", "FLOAT"),
        ("userDescription", "STRING"),
    ];
    add(
        "apoc.schema.nodes",
        Shown::new(
            "Indexes and constraints on nodes: entries, and different values per entry.",
            Vec::new(),
            &columns,
            |call, _| schema_nodes(call),
        ),
    );
    add(
        "apoc.schema.relationships",
        Shown::new(
            "Indexes and constraints on relationships.",
            Vec::new(),
            &[
                ("name", "STRING"),
                ("type", "STRING"),
                ("properties", "LIST<STRING>"),
                ("status", "STRING"),
                ("relationshipType", "ANY"),
            ],
            |call, _| Ok(schema_relationships(call)),
        ),
    );
    add(
        "apoc.schema.properties.distinct",
        Shown::new(
            "The values that a property has at the nodes of a label, or at any for ''.",
            vec![Field::new("label", "STRING"), Field::new("key", "STRING")],
            &[("value", "LIST<ANY>")],
            |call, arguments| match arguments {
                [Value::String(label), Value::String(key)] => distinct_values(call, label, key),
                _ => Ok(Rows::new()),
            },
        ),
    );
}

/// How many nodes each label has, of those that have any.
pub(super) fn nodes(call: &CallContext<'_>) -> Result<Value, QueryError> {
    let names = call.graph().label_names();
    let mut counts: BTreeMap<&String, u64> = BTreeMap::new();
    let mut labels = Lists::default();
    each_vertices(call, |vertices| {
        call.graph().labels(vertices, &mut labels)?;
        names_of(&labels.items, &names).for_each(|name| *counts.entry(name).or_default() += 1);
        Ok(())
    })?;
    let node = |(name, found): (&String, u64)| {
        Value::map([("name", Value::from(name.as_str())), ("count", count(found))])
    };
    Ok(Value::list(counts.into_iter().map(node)))
}

/// How many relationships of each type lead from each label to each.
pub(super) fn relationships(call: &CallContext<'_>) -> Result<Value, QueryError> {
    let (labels, types) = (call.graph().label_names(), call.graph().edge_type_names());
    let mut rows = Vec::new();
    for (number, ty) in types.iter().enumerate() {
        let mut counts: BTreeMap<(&String, &String), u64> = BTreeMap::new();
        each_edges(call, EdgeTypeId::from_raw(number as u16), |edges| {
            let [starts, ends] = labels_at_ends(call, edges)?;
            for (from, to) in starts.iter().zip(ends.iter()) {
                for from in names_of(from, &labels) {
                    for to in names_of(to, &labels) {
                        *counts.entry((from, to)).or_default() += 1;
                    }
                }
            }
            Ok(())
        })?;
        rows.extend(counts.into_iter().map(|((from, to), found)| {
            let text = |text: &String| Value::from(text.as_str());
            Value::map([
                ("type", text(ty)),
                ("from", text(from)),
                ("to", text(to)),
                ("count", count(found)),
            ])
        }));
    }
    Ok(Value::list(rows))
}

/// How many relationships each type has, of those that have any.
pub(super) fn types(call: &CallContext<'_>) -> Result<Vec<(String, i64)>, QueryError> {
    let mut found = Vec::new();
    for (number, ty) in call.graph().edge_type_names().into_iter().enumerate() {
        let mut count = 0;
        each_edges(call, EdgeTypeId::from_raw(number as u16), |edges| {
            count += edges.len() as i64;
            Ok(())
        })?;
        if count > 0 {
            found.push((ty, count));
        }
    }
    Ok(found)
}

/// How many relationships of each type lead from each label, and to each label, as patterns.
pub(super) fn half_patterns(call: &CallContext<'_>) -> Result<BTreeMap<String, i64>, QueryError> {
    let labels = call.graph().label_names();
    let mut counts = BTreeMap::new();
    for (number, ty) in call.graph().edge_type_names().iter().enumerate() {
        each_edges(call, EdgeTypeId::from_raw(number as u16), |edges| {
            let [starts, ends] = labels_at_ends(call, edges)?;
            for name in starts.iter().flat_map(|of| names_of(of, &labels)) {
                *counts.entry(format!("(:{name})-[:{ty}]->()")).or_default() += 1;
            }
            for name in ends.iter().flat_map(|of| names_of(of, &labels)) {
                *counts.entry(format!("()-[:{ty}]->(:{name})")).or_default() += 1;
            }
            Ok(())
        })?;
    }
    Ok(counts)
}

/// The number of nodes.
pub(super) fn all_nodes(call: &CallContext<'_>) -> Result<u64, QueryError> {
    let mut count = 0;
    each_vertices(call, |vertices| {
        count += vertices.len() as u64;
        Ok(())
    })?;
    Ok(count)
}

/// Other labels of the nodes of each label.
pub(super) fn labels_beside(
    call: &CallContext<'_>,
) -> Result<BTreeMap<String, BTreeSet<String>>, QueryError> {
    let names = call.graph().label_names();
    let mut beside: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut labels = Lists::default();
    each_vertices(call, |vertices| {
        call.graph().labels(vertices, &mut labels)?;
        for of in labels.iter().filter(|of| of.len() > 1) {
            for name in names_of(of, &names) {
                let others = names_of(of, &names).filter(|other| *other != name).cloned();
                beside.entry(name.clone()).or_default().extend(others);
            }
        }
        Ok(())
    })?;
    Ok(beside)
}

fn schema_nodes(call: &CallContext<'_>) -> Result<Rows, QueryError> {
    let mut rules = call.graph().schema_rules();
    rules.retain(|rule| matches!(rule.objects, IndexedObjects::Vertices(_)));
    rules.sort_by(|a, b| a.name.cmp(&b.name));
    let mut rows = Rows::new();
    for rule in rules.iter().filter(|rule| !is_later_part(rule)) {
        let (_, label, keys) = about(rule, call.graph());
        let labels: Vec<String> =
            parts(&rules, &rule.name).into_iter().map(|part| about(part, call.graph()).1).collect();
        let keys_shown = keys.join(",");
        let (label, shown) = match labels.len() {
            0 | 1 => (Value::from(label.as_str()), format!(":{label}({keys_shown})")),
            _ => {
                let shown = format!(":[{}],({keys_shown})", labels.join(", "));
                (Value::list(labels), shown)
            }
        };
        let mut row = |status: &str, of: &str, progress: f64, [size, distinct]: [u64; 2]| {
            let share = if size == 0 { 0.0 } else { distinct as f64 / size as f64 };
            rows.push(vec![
                shown.as_str().into(),
                label.clone(),
                Value::list(keys.iter().map(String::as_str)),
                status.into(),
                of.into(),
                "NO FAILURE".into(),
                progress.into(),
                count(size),
                share.into(),
                rule.name.as_str().into(),
            ]);
        };
        if let Some(kind) = rule.kind.index() {
            let of = kind.name();
            match rule.state {
                IndexState::Online => row("ONLINE", of, 100.0, entries(call, rule)?),
                IndexState::Pending => row("POPULATING", of, 0.0, [0, 0]),
                IndexState::Building { done, total } => {
                    let progress = 100.0 * done as f64 / total.max(1) as f64;
                    row("POPULATING", of, progress, [0, 0]);
                }
            }
        }
        if rule.kind.is_constraint() {
            row("", type_name(rule.kind, true), 0.0, [0, 0]);
        }
    }
    Ok(rows)
}

fn schema_relationships(call: &CallContext<'_>) -> Rows {
    let mut rules = call.graph().schema_rules();
    rules.retain(|rule| !matches!(rule.objects, IndexedObjects::Vertices(_)));
    rules.sort_by(|a, b| a.name.cmp(&b.name));
    let mut rows = Rows::new();
    for rule in rules.iter().filter(|rule| !is_later_part(rule)) {
        let (_, first, keys) = about(rule, call.graph());
        let types: Vec<String> =
            parts(&rules, &rule.name).into_iter().map(|part| about(part, call.graph()).1).collect();
        let shown = format!(":{first}({})", keys.join(","));
        let of = if types.len() > 1 { Value::list(types) } else { first.as_str().into() };
        let mut row = |kind: &str, status: &str| {
            let keys = Value::list(keys.iter().map(String::as_str));
            rows.push(vec![shown.as_str().into(), kind.into(), keys, status.into(), of.clone()]);
        };
        if let Some(kind) = rule.kind.index() {
            let is_online = matches!(rule.state, IndexState::Online);
            row(kind.name(), if is_online { "ONLINE" } else { "POPULATING" });
        }
        if rule.kind.is_constraint() {
            row(type_name(rule.kind, false), "");
        }
    }
    rows
}

/// How many nodes are in an index, and how many different values they have there.
fn entries(call: &CallContext<'_>, rule: &SchemaRule) -> Result<[u64; 2], QueryError> {
    let mut found: Vec<VertexId> = Vec::new();
    if call.graph().index_vertices(rule.id, &IndexRange::default(), &mut found).is_err() {
        // It was dropped meanwhile, or is damaged, which `telar check` reports.
        return Ok([0, 0]);
    }
    let (mut last, mut distinct) = (Vec::new(), 0);
    let mut unsorted = BTreeSet::new();
    for some in found.chunks(STEP) {
        call.check()?;
        let column = |key: &PropertyKeyId| {
            let mut column = Column::default();
            call.graph().vertex_properties(some, *key, &mut column)?;
            Ok(column.into_values())
        };
        let columns: Vec<Vec<Value>> =
            rule.properties.iter().map(column).collect::<Result<_, QueryError>>()?;
        if rule.kind.index().is_some_and(|kind| !kind.capability().sorted_by_value) {
            // Equal values may have others between them.
            unsorted.extend(columns.into_iter().flatten());
            continue;
        }
        for at in 0..some.len() {
            // Entries come in the order of their values.
            let same = columns.iter().map(|column| &column[at]).eq(&last);
            if !same {
                distinct += 1;
                last = columns.iter().map(|column| column[at].clone()).collect();
            }
        }
    }
    Ok([found.len() as u64, distinct + unsorted.len() as u64])
}

fn distinct_values(call: &CallContext<'_>, label: &str, key: &str) -> Result<Rows, QueryError> {
    let place = |names: Vec<String>, name: &str| names.iter().position(|found| found == name);
    let number = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    let mut values = BTreeSet::new();
    let known = match label {
        "" => Some(None),
        _ => place(call.graph().label_names(), label).map(|at| Some(LabelId::from_raw(number(at)))),
    };
    let key =
        place(call.graph().property_key_names(), key).map(|at| PropertyKeyId::from_raw(number(at)));
    if let (Some(label), Some(key)) = (known, key) {
        let mut has = Vec::new();
        each_vertices(call, |vertices| {
            let mut wanted = vertices.to_vec();
            if let Some(label) = label {
                has.clear();
                call.graph().have_label(vertices, label, &mut has)?;
                let mut at = has.iter();
                wanted.retain(|_| at.next() == Some(&true));
            }
            let mut column = Column::default();
            call.graph().vertex_properties(&wanted, key, &mut column)?;
            values.extend(column.into_values().into_iter().filter(|value| !value.is_null()));
            Ok(())
        })?;
    }
    Ok(vec![vec![Value::list(values)]])
}
