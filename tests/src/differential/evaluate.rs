//! Queries, clause by clause, over all rows.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::expression::{Row, Val};
use super::graph::RandomGraph;
use super::matching::{self, ROWS_MAX};
use super::query::{Clause, Function, Item, ItemValue, Projection, Query};
use crate::tck::step::ExpectedRows;
use crate::tck::value::Float;

/// The answer to a query; `None` if it grows too large on the way.
pub(super) fn evaluate(query: &Query, graph: &RandomGraph) -> Option<ExpectedRows> {
    let mut rows = vec![Row::new()];
    for clause in &query.clauses {
        rows = run(clause, rows, graph)?;
        if rows.len() > ROWS_MAX {
            return None;
        }
    }
    let columns: Vec<String> = query.result.items.iter().map(|item| item.name.clone()).collect();
    let rows = project(&query.result, &rows, graph).into_iter();
    let shown = |row: Vec<Val>| row.iter().map(|value| value.shown(graph)).collect();
    let in_order = query.result.order.is_some();
    Some(ExpectedRows { columns, rows: rows.map(shown).collect(), in_order, any_list_order: true })
}

fn run(clause: &Clause, rows: Vec<Row>, graph: &RandomGraph) -> Option<Vec<Row>> {
    let mut next = Vec::new();
    match clause {
        Clause::Match { optional, paths, filter, .. } => {
            for mut row in rows {
                let mut found = matching::matches(paths, &row, graph)?;
                found.retain(|row| is_true(filter, row, graph));
                if found.is_empty() && *optional {
                    for name in paths.iter().flat_map(|path| path.names()) {
                        row.entry(name.clone()).or_insert(Val::Null);
                    }
                    found.push(row);
                }
                next.extend(found);
                if next.len() > ROWS_MAX {
                    return None;
                }
            }
        }
        Clause::Unwind { elements, name } => {
            for row in rows {
                for element in elements {
                    let mut row = row.clone();
                    row.insert(name.clone(), element.value(&row, graph));
                    next.push(row);
                }
            }
        }
        Clause::With { projection, filter } => {
            let names = || projection.items.iter().map(|item| item.name.clone());
            let rows = project(projection, &rows, graph).into_iter();
            next.extend(rows.map(|values| names().zip(values).collect::<Row>()));
            next.retain(|row| is_true(filter, row, graph));
        }
    }
    Some(next)
}

fn is_true(filter: &Option<super::expression::Expression>, row: &Row, graph: &RandomGraph) -> bool {
    filter.as_ref().is_none_or(|filter| filter.value(row, graph) == Val::Bool(true))
}

fn project(projection: &Projection, rows: &[Row], graph: &RandomGraph) -> Vec<Vec<Val>> {
    let aggregates = |item: &Item| !matches!(item.value, ItemValue::Expression(_));
    let mut found: Vec<Vec<Val>> = if projection.items.iter().any(aggregates) {
        grouped(&projection.items, rows, graph)
    } else {
        let values = |row| projection.items.iter().map(|item| item.plain(row, graph)).collect();
        rows.iter().map(values).collect()
    };
    if projection.distinct {
        found.sort();
        found.dedup();
    }
    if let Some(descending) = &projection.order {
        found.sort_by(|a, b| {
            let keys = a
                .iter()
                .zip(b)
                .zip(descending)
                .map(|((a, b), descending)| if *descending { b.order(a) } else { a.order(b) });
            keys.fold(Ordering::Equal, Ordering::then)
        });
    }
    let skip = projection.skip.unwrap_or(0);
    found.into_iter().skip(skip).take(projection.limit.unwrap_or(usize::MAX)).collect()
}

impl Item {
    /// The value of an item that does not aggregate.
    fn plain(&self, row: &Row, graph: &RandomGraph) -> Val {
        match &self.value {
            ItemValue::Expression(expression) => expression.value(row, graph),
            _ => Val::Null,
        }
    }

    /// The value for a group of rows.
    fn of(&self, group: &[&Row], graph: &RandomGraph) -> Val {
        let (function, distinct, of) = match &self.value {
            ItemValue::Expression(_) => {
                return group.first().map_or(Val::Null, |row| self.plain(row, graph));
            }
            ItemValue::CountRows => return Val::Int(group.len() as i64),
            ItemValue::Aggregate { function, distinct, of } => (function, distinct, of),
        };
        let values = group.iter().map(|row| of.value(row, graph));
        let mut values: Vec<Val> = values.filter(|value| *value != Val::Null).collect();
        if *distinct {
            values.sort();
            values.dedup();
        }
        match function {
            Function::Count => Val::Int(values.len() as i64),
            Function::Collect => Val::List(values),
            Function::Min => values.into_iter().min().unwrap_or(Val::Null),
            Function::Max => values.into_iter().max().unwrap_or(Val::Null),
            Function::Sum => {
                values.into_iter().fold(Val::Int(0), |sum, value| match (sum, value) {
                    (Val::Int(a), Val::Int(b)) => Val::Int(a + b),
                    (Val::Int(a), Val::Float(b)) => Val::Float(Float::new(a as f64 + b.get())),
                    (Val::Float(a), Val::Float(b)) => Val::Float(Float::new(a.get() + b.get())),
                    (sum, _) => sum,
                })
            }
        }
    }
}

/// One row per combination of the values that do not aggregate; one at least, if all do.
fn grouped(items: &[Item], rows: &[Row], graph: &RandomGraph) -> Vec<Vec<Val>> {
    let mut groups: BTreeMap<Vec<Val>, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let key = items.iter().map(|item| item.plain(row, graph)).collect();
        groups.entry(key).or_default().push(row);
    }
    if items.iter().all(|item| !matches!(item.value, ItemValue::Expression(_))) {
        groups.entry(vec![Val::Null; items.len()]).or_default();
    }
    groups.values().map(|group| items.iter().map(|item| item.of(group, graph)).collect()).collect()
}
