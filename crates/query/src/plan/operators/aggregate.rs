//! Aggregation: rows in groups.

use super::prelude::*;
use crate::estimate::distinct_of_draws;

/// One row for each group of rows that have the same keys.
#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub(crate) input: Plan,
    pub(crate) keys: Vec<(Slot, Expr)>,
    pub(crate) aggregates: Vec<(Slot, AggregateCall)>,
    /// Node to group by first: all keys are properties of it.
    pub(crate) by_node: Option<Slot>,
}

/// A call of an aggregating function.
#[derive(Debug, Clone)]
pub(crate) struct AggregateCall {
    /// Name in lower case; `count(*)` is `count` without arguments.
    pub(crate) function: Arc<str>,
    pub(crate) distinct: bool,
    pub(crate) arguments: Vec<Expr>,
}

impl Operator for Aggregate {
    input!(input);
    inner!();
    exprs!(keys, aggregates);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        let keys = self.keys.iter().map(|(slot, _)| *slot);
        keys.chain(self.aggregates.iter().map(|(slot, _)| *slot)).collect()
    }

    fn shape(&self) -> Shape {
        Shape::Gathers
    }

    leaves_graph_alone!();

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        let first = rows.first;
        let groups = counts.group_count(self.keys.iter().map(|(_, key)| key), first, facts);
        for (slot, key) in &self.keys {
            facts.alias(*slot, key);
            let values = counts.distinct_values(key, first, facts);
            facts.cap_distinct(*slot, values);
        }
        for (slot, call) in self.aggregates.iter().filter(|(_, c)| *c.function == *"collect") {
            let (element, each) = (call.arguments.first(), first / groups.max(1.0));
            let length = match element.filter(|_| call.distinct) {
                Some(element) => {
                    distinct_of_draws(each, counts.distinct_values(element, first, facts))
                }
                None => each,
            };
            facts.bind_list(*slot, length, element);
        }
        groups
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let keys = p.assignments(self.keys.iter().map(|(slot, e)| (*slot, e)));
        let calls: Vec<String> = self
            .aggregates
            .iter()
            .map(|(slot, call)| {
                let distinct = if call.distinct { "DISTINCT " } else { "" };
                let arguments = match call.arguments.is_empty() {
                    true => "*".to_owned(),
                    false => p.exprs(&call.arguments),
                };
                let text = format!("{}({distinct}{arguments})", call.function);
                let name = p.slot(*slot);
                if name == text { text } else { format!("{text} AS {name}") }
            })
            .collect();
        let calls = calls.join(", ");
        match keys.is_empty() {
            true => ("Aggregation", calls),
            false => ("GroupedAggregation", format!("{calls} BY {keys}")),
        }
    }
}

impl HasExprs for AggregateCall {
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        self.arguments.exprs(f);
    }

    fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        self.arguments.exprs_mut(f);
    }
}
