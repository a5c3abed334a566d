//! How many rows an operator may return: rough, from counts of labels and types alone, for people
//! who compare plans with what happened.
//!
//! Where nothing is known, these shares are taken, which are those that Neo4j takes: equality keeps
//! a tenth, a range three tenths, anything else three quarters.

use std::collections::HashMap;

use telar_graph::{Graph, Value};

use super::{Plan, Types, Way};
use crate::expr::{Binary, Expr, Labels};

const EQUAL: f64 = 0.1;
const RANGE: f64 = 0.3;
const OTHER: f64 = 0.75;
/// Elements of a list that is not written down.
const LIST: f64 = 10.0;
/// Steps of a path of any length that are counted.
const STEPS_MAX: u64 = 3;

/// Counts of a graph, by name.
pub(crate) struct Counts {
    nodes: f64,
    labels: HashMap<String, f64>,
    relationships: f64,
    types: HashMap<String, f64>,
}

impl Counts {
    /// Those of a graph as it is now. Cost: that of [`telar_graph::View::statistics`].
    pub(crate) fn of(graph: &dyn Graph) -> Self {
        let found = graph.statistics();
        let by_name = |names: Vec<String>, counts: &[u64]| {
            names.into_iter().zip(counts.iter().map(|n| *n as f64)).collect()
        };
        Self {
            nodes: found.vertices as f64,
            labels: by_name(graph.label_names(), &found.vertices_by_label),
            relationships: found.edges() as f64,
            types: by_name(graph.edge_type_names(), &found.edges_by_type),
        }
    }

    fn label(&self, name: &str) -> f64 {
        self.labels.get(name).copied().unwrap_or(0.0)
    }

    /// Relationships of a node, on average.
    fn degree(&self, types: &Types, way: Way) -> f64 {
        let count = match types {
            Types::Of(names) => {
                names.iter().map(|name| self.types.get(&**name).copied().unwrap_or(0.0)).sum()
            }
            _ => self.relationships,
        };
        let both = if way == Way::Both { 2.0 } else { 1.0 };
        both * count / self.nodes.max(1.0)
    }

    /// The share of rows for which a condition holds.
    fn share(&self, condition: &Expr) -> f64 {
        match condition {
            Expr::And(parts) => parts.iter().map(|part| self.share(part)).product(),
            Expr::Binary(Binary::Equal, ..) => EQUAL,
            Expr::Binary(
                Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual,
                ..,
            ) => RANGE,
            Expr::HasLabels(_, Labels::Name(name)) => self.label(name) / self.nodes.max(1.0),
            Expr::Const(Value::Bool(true)) => 1.0,
            _ => OTHER,
        }
    }

    /// Rows of an operator, of whose inputs so many are expected; `outer` rows come from outside.
    pub(crate) fn rows(&self, plan: &Plan, inputs: &[f64], outer: f64) -> f64 {
        let first = inputs.first().copied().unwrap_or(1.0);
        let second = inputs.get(1).copied().unwrap_or(1.0);
        match plan {
            Plan::Unit => 1.0,
            Plan::Argument => outer,
            Plan::NodeScan(p) => {
                first * p.label.as_ref().map_or(self.nodes, |label| self.label(label))
            }
            Plan::IndexSeek(p) => {
                let range = p.from.is_some() || p.to.is_some();
                let range = if range { RANGE } else { 1.0 };
                let found = self.label(&p.label) * EQUAL.powi(p.prefix.len() as i32) * range;
                first * found.max(1.0)
            }
            Plan::Expand(p) => {
                let into = if p.into { 1.0 / self.nodes.max(1.0) } else { 1.0 };
                first * self.degree(&p.types, p.way) * into
            }
            Plan::VarExpand(p) => {
                let degree = self.degree(&p.types, p.way);
                let max = p.max.unwrap_or(u64::MAX).min(p.min.saturating_add(STEPS_MAX));
                let steps = (p.min..=max).take(STEPS_MAX as usize + 1);
                let found: f64 = steps.map(|n| degree.powi(n.min(1000) as i32)).sum();
                first * if p.into { found / self.nodes.max(1.0) } else { found }
            }
            Plan::Filter(_, condition) => first * self.share(condition),
            Plan::Aggregate(p) => {
                if p.keys.is_empty() {
                    1.0
                } else {
                    first.sqrt()
                }
            }
            Plan::Sort(p) => p.top.as_ref().map_or(first, |top| first.min(constant(top))),
            Plan::Skip(_, count) => {
                let count = constant(count);
                if count.is_finite() { (first - count).max(0.0) } else { first }
            }
            Plan::Limit(_, count) => first.min(constant(count)),
            Plan::Unwind(_, _, list) => {
                first
                    * match list {
                        Expr::List(items) => items.len() as f64,
                        Expr::Const(Value::List(items)) => items.len() as f64,
                        _ => LIST,
                    }
            }
            Plan::Apply(p) => match (p.returns, &p.optional) {
                (false, _) => first,
                (true, Some(_)) => first * second.max(1.0),
                (true, None) => first * second,
            },
            Plan::InTransactions(p) if !p.apply.returns => first,
            Plan::InTransactions(_) => first * second,
            // Of a repetition, one; of a selection, all there are.
            Plan::Repeat(_) | Plan::Select(_) => first * second,
            Plan::Union(_) => inputs.iter().sum(),
            Plan::Call(_) | Plan::LoadCsv(_) => first * LIST,
            _ => first,
        }
    }
}

/// The number that an expression is, if that is known.
fn constant(e: &Expr) -> f64 {
    match e {
        Expr::Const(Value::Int(n)) => *n as f64,
        Expr::Binary(Binary::Add, a, b) => constant(a) + constant(b),
        _ => f64::INFINITY,
    }
}
