//! Cycles whose relationships follow each other in time and amount: money that comes back.

use std::sync::Arc;

use telar_algo::csr::Csr;
use telar_algo::paths::cycles::{self, TimeOrder};
use telar_graph::{Column, Direction, EdgeId, Expansion, PropertyKeyId, Value, VertexId};
use telar_query::QueryError;

use super::{PLAIN, failed};
use crate::algorithms::algorithm::{Algorithm, ColumnOf, Input, Kind};
use crate::algorithms::config::{Config, wrong};
use crate::algorithms::cycle_lists::CycleLists;
use crate::algorithms::output::{Data, Output, count};

/// Nodes whose relationships are read at once.
const BATCH: usize = 2048;
/// Most cycles that are reported, unless the caller says otherwise.
const LIMIT: u64 = 10_000;

const ORDERS: [(&str, TimeOrder); 3] = [
    ("ANY", TimeOrder::Any),
    ("ASCENDING", TimeOrder::Ascending),
    ("NOT_DESCENDING", TimeOrder::NotDescending),
];

pub(super) const LIST: &[Algorithm] = &[Algorithm {
    name: "cycles",
    about: "Cycles, with conditions on the times and amounts of their relationships.",
    columns: &[
        ColumnOf("nodeIds", Kind::Nodes),
        ColumnOf("relationships", Kind::Relationships),
        ColumnOf("length", Kind::Integer),
    ],
    figures: &[("cycleCount", "INTEGER"), ("isLimited", "BOOLEAN")],
    settings: &[
        "minLength",
        "maxLength",
        "startNodes",
        "timeProperty",
        "timeOrder",
        "window",
        "amountProperty",
        "amountRatioMin",
        "amountRatioMax",
        "limit",
    ],
    reverses: true,
    bytes: |n, m, config| {
        let settings = settings(config)?;
        let threads = config.threads()?;
        // Relationships with their ends, numbers and properties, sorted.
        Ok(cycles::bytes(n, m, &settings, threads).saturating_add(96 * m))
    },
    run: find,
    ..PLAIN
}];

/// Settings but for what is read from the graph.
fn settings(config: &Config<'_>) -> Result<cycles::Settings<'static>, QueryError> {
    let defaults = cycles::Settings::default();
    let amount_ratio = match (config.get("amountRatioMin"), config.get("amountRatioMax")) {
        (None, None) => None,
        _ => {
            let least = config.float("amountRatioMin", 0.0)?;
            Some(least..=config.float("amountRatioMax", f64::MAX)?)
        }
    };
    let window = match config.get("window") {
        None => None,
        Some(Value::Duration(span)) => Some(seconds(span)?),
        Some(_) => Some(config.float("window", 0.0)?),
    };
    Ok(cycles::Settings {
        min_length: config.count("minLength", defaults.min_length)?,
        max_length: config.count("maxLength", defaults.max_length)?,
        order: config.choice("timeOrder", &ORDERS, TimeOrder::Any)?,
        window,
        amount_ratio,
        limit: config.count("limit", LIMIT)?,
        ..defaults
    })
}

fn seconds(span: &telar_graph::value::Duration) -> Result<f64, QueryError> {
    const DAY: f64 = 86_400.0;
    if span.months() != 0 {
        return Err(wrong("window is a duration of days and less: months differ in length"));
    }
    Ok(span.days() as f64 * DAY + span.seconds() as f64 + f64::from(span.nanos()) * 1e-9)
}

/// A relationship between chosen nodes.
struct Edge {
    ends: (u32, u32),
    id: EdgeId,
    time: f64,
    amount: f64,
}

fn find(input: &Input<'_>) -> Result<Output, QueryError> {
    let config = input.config;
    let mut settings = settings(config)?;
    if input.parts.is_empty() && input.lists().edges() > 0 {
        return Err(wrong(format!("{} finds relationships, and pairs are none", config.of)));
    }
    settings.starts = input.vertices("startNodes")?;
    let (time, amount) = (key(input, "timeProperty")?, key(input, "amountProperty")?);
    let mut edges = read(input, (time, amount))?;
    // As lists of the projection are: ascending, parallel ones in the order of their reading.
    edges.sort_by_key(|edge| edge.ends);
    let ends: Vec<(u32, u32)> = edges.iter().map(|edge| edge.ends).collect();
    let graph = Csr::from_edges(input.lists().vertices(), &ends);
    let times: Vec<f64> = edges.iter().map(|edge| edge.time).collect();
    let amounts: Vec<f64> = edges.iter().map(|edge| edge.amount).collect();
    let settings = cycles::Settings {
        times: time.is_some().then_some(&*times),
        amounts: amount.is_some().then_some(&*amounts),
        ..settings
    };
    let found = cycles::cycles(&graph, &graph.reversed(), &settings, input.control);
    let found = found.map_err(failed)?;
    let figures = vec![count(found.len() as u64), found.limited.into()];
    let lengths = found.iter().map(|cycle| cycle.edges.len() as u32).collect();
    let ids = edges.into_iter().map(|edge| edge.id).collect();
    let found = Arc::new(CycleLists { found, ids });
    let nodes = Data::CycleNodes(Arc::clone(&found));
    let columns = vec![nodes, Data::CycleRelationships(found), Data::Counts(lengths)];
    Ok(Output { columns, figures })
}

/// The number of a property that a setting names, if it does.
fn key(input: &Input<'_>, setting: &str) -> Result<Option<PropertyKeyId>, QueryError> {
    let Some(name) = input.config.text(setting)? else { return Ok(None) };
    let key = input.view.find_property_key(name);
    key.map(Some).ok_or_else(|| wrong(format!("{setting}: no relationship has a property {name}")))
}

/// The relationships between chosen nodes, with their times and amounts.
fn read(
    input: &Input<'_>,
    (time, amount): (Option<PropertyKeyId>, Option<PropertyKeyId>),
) -> Result<Vec<Edge>, QueryError> {
    let mut edges = Vec::with_capacity(input.lists().edges() as usize);
    let mut expansion = Expansion::default();
    for nodes in input.graph.nodes.chunks(BATCH) {
        for (ty, direction) in input.parts {
            input.control.check().map_err(failed)?;
            input.view.expand(nodes, *ty, *direction, &mut expansion)?;
            let from = edges.len();
            let Expansion { offsets, neighbours, ordinals } = &expansion;
            for (place, node) in nodes.iter().enumerate() {
                for at in offsets[place] as usize..offsets[place + 1] as usize {
                    let ends = (*node, neighbours[at]);
                    let (src, dst) = match direction {
                        Direction::Out => ends,
                        Direction::In => (ends.1, ends.0),
                    };
                    let id = EdgeId { ty: *ty, src, dst, ordinal: ordinals[at] };
                    if let Some(ends) = numbers(input, ends) {
                        edges.push(Edge { ends, id, time: 0.0, amount: 0.0 });
                    }
                }
            }
            let ids: Vec<EdgeId> = edges[from..].iter().map(|edge| edge.id).collect();
            for (key, is_time) in [(time, true), (amount, false)] {
                let Some(key) = key else { continue };
                let mut values = Column::default();
                input.view.edge_properties(&ids, key, &mut values)?;
                for (edge, at) in edges[from..].iter_mut().zip(0..) {
                    let number = number(&values.get(at), is_time)?;
                    if is_time { edge.time = number } else { edge.amount = number }
                }
            }
        }
    }
    Ok(edges)
}

fn numbers(input: &Input<'_>, (from, to): (VertexId, VertexId)) -> Option<(u32, u32)> {
    Some((input.graph.find(from)?, input.graph.find(to)?))
}

/// A number, or a time in seconds since 1970.
fn number(value: &Value, is_time: bool) -> Result<f64, QueryError> {
    const NANOS: f64 = 1e-9;
    Ok(match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        Value::DateTime(time) if is_time => time.epoch_nanos() as f64 * NANOS,
        Value::LocalDateTime(time) if is_time => {
            time.epoch_second() as f64 + f64::from(time.time().nanosecond()) * NANOS
        }
        Value::Date(date) if is_time => date.epoch_days() as f64 * 86_400.0,
        other => {
            let found = telar_query::literal(other);
            let (what, wanted) = match is_time {
                true => ("timeProperty", "a number, a date or a time with a date"),
                false => ("amountProperty", "a number"),
            };
            return Err(wrong(format!("{what} is {wanted}, and a relationship has {found}")));
        }
    })
}
