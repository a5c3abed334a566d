//! Descriptions of plans, for `EXPLAIN` and `PROFILE`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{CreateStep, LabelName, Plan, SetItem, Types, Way};
use crate::batch::Slot;
use crate::description::{Measured, PlanDescription};
use crate::estimate::{Counts, Facts};
use crate::expr::Expr;
use crate::expr::print::{self, Printer};

/// Context of a description: names, estimates and measurements.
pub(crate) struct Explainer<'a> {
    /// Names of variables, by slot.
    pub(crate) names: &'a [Arc<str>],
    pub(crate) counts: Counts<'a>,
    /// Measurements of operators, by address; `None` unless the plan ran for them.
    pub(crate) measured: Option<HashMap<usize, Measured>>,
}

impl Explainer<'_> {
    /// Description of a plan.
    pub(crate) fn describe(&self, plan: &Plan) -> PlanDescription {
        let mut live = Vec::new();
        self.node(plan, &mut live, 1.0, &mut Facts::default()).0
    }

    /// Description and estimated rows of a plan. It begins with `outer` rows and the variables in
    /// `live`, which afterwards holds the variables of its rows.
    fn node(
        &self,
        plan: &Plan,
        live: &mut Vec<Slot>,
        outer: f64,
        facts: &mut Facts,
    ) -> (PlanDescription, f64) {
        if let Plan::Prune(p) = plan {
            // An internal operator: it is not shown.
            let described = self.node(&p.input, live, outer, facts);
            let kept: HashSet<Slot> = p.slots.iter().copied().collect();
            live.retain(|slot| kept.contains(slot));
            return described;
        }
        if let Plan::Parallel(p) = plan {
            // Threads are not a part of the description.
            return self.node(&p.input, live, outer, facts);
        }
        let (before, known) = (
            live.clone(),
            match plan {
                Plan::Union(_) => facts.clone(),
                _ => Facts::default(),
            },
        );
        let mut children = Vec::new();
        let mut rows = Vec::new();
        for (at, input) in plan.inputs().into_iter().enumerate() {
            // An inner plan begins with the rows of the input, each part of a union with the same
            // rows, and the build side of a join with none.
            let of_first = live.clone();
            match plan {
                Plan::Union(_) => {
                    live.clone_from(&before);
                    facts.clone_from(&known);
                }
                Plan::HashJoin(_) if at > 0 => live.clear(),
                _ => {}
            }
            let inner = at > 0 && !matches!(plan, Plan::Union(_));
            let outer = if inner { 1.0 } else { outer };
            let (child, expected) = match inner {
                true => facts.in_inner_plan(|facts| self.node(input, live, outer, facts)),
                false => self.node(input, live, outer, facts),
            };
            if let (Plan::HashJoin(_), 1) = (plan, at) {
                live.splice(0..0, of_first);
                let mut seen = HashSet::new();
                live.retain(|slot| seen.insert(*slot));
            }
            children.push(child);
            rows.push(expected);
        }
        match plan {
            Plan::Keep(p) => live.clone_from(&p.slots),
            Plan::Aggregate(_) => *live = plan.bound_slots(),
            _ => live.extend(plan.bound_slots()),
        }
        let mut subplans: Vec<&Plan> = Vec::new();
        plan.subqueries(&mut |inner| subplans.push(inner));
        for inner in subplans {
            let mut facts = facts.clone();
            let inside = |facts: &mut Facts| self.node(inner, &mut live.clone(), 1.0, facts).0;
            children.push(facts.in_inner_plan(inside));
        }
        let expected = self.counts.operator_rows(plan, &rows, outer, facts);
        let (operator, details) = plan.operator().explain(&Printer(self.names));
        let measured = self.measured.as_ref();
        let measured = measured.map(|m| m.get(&plan.address()).copied().unwrap_or_default());
        let estimated_rows = expected;
        let identifiers = self.identifiers(live);
        let description =
            PlanDescription { operator, details, identifiers, estimated_rows, measured, children };
        (description, expected)
    }

    /// Names of live variables that a query can write.
    fn identifiers(&self, live: &[Slot]) -> Vec<Arc<str>> {
        let mut met = HashSet::new();
        let written = |name: &&Arc<str>| !name.starts_with("anon_") && !name.starts_with('\0');
        let names = live.iter().filter_map(|slot| self.names.get(*slot)).filter(written);
        names.filter(|name| met.insert(*name)).cloned().collect()
    }
}

impl Printer<'_> {
    /// The variable and length of a path: `r:T*1..3`.
    pub(super) fn path(&self, edges: Slot, types: &Types, min: u64, max: Option<u64>) -> String {
        let max = max.map(|max| max.to_string()).unwrap_or_default();
        format!("{}{}*{min}..{max}", self.slot(edges), self.types(types))
    }

    /// A key to sort by.
    pub(super) fn sort_key(&self, key: &Expr, descending: bool) -> String {
        self.expr(key) + if descending { " DESC" } else { "" }
    }

    /// Condition on every relationship of a path.
    pub(super) fn each(&self, filter: Option<&(Slot, Expr)>) -> String {
        let text =
            |(slot, e): &(Slot, Expr)| format!(" WHERE EACH {} {}", self.slot(*slot), self.expr(e));
        filter.map(text).unwrap_or_default()
    }

    pub(super) fn types(&self, types: &Types) -> String {
        match types {
            Types::Any => String::new(),
            Types::Of(names) => {
                let names: Vec<String> = names.iter().map(|name| print::name(name)).collect();
                format!(":{}", names.join("|"))
            }
            Types::Where(labels) => format!(":{}", self.labels(labels)),
        }
    }

    pub(super) fn label(&self, label: &LabelName) -> String {
        match label {
            LabelName::Static(label) => format!(":{}", print::name(label)),
            LabelName::Dynamic(e) => format!(":$({})", self.expr(e)),
        }
    }

    pub(super) fn steps(&self, steps: &[CreateStep]) -> String {
        let map = |properties: &Option<Expr>| {
            properties.as_ref().map(|e| format!(" {}", self.expr(e))).unwrap_or_default()
        };
        let step = |step: &CreateStep| match step {
            CreateStep::Node { slot, labels, properties } => {
                let labels: String = labels.iter().map(|label| self.label(label)).collect();
                format!("({}{labels}{})", self.slot(*slot), map(properties))
            }
            CreateStep::Relationship { slot, ty, from, to, properties } => {
                let inner = format!("{}{}{}", self.slot(*slot), self.label(ty), map(properties));
                arrow(&self.slot(*from), &inner, &self.slot(*to), Way::Out)
            }
            CreateStep::Extend(slot, e) => format!("{} = {}", self.slot(*slot), self.expr(e)),
        };
        steps.iter().map(step).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn set(&self, items: &[SetItem]) -> String {
        let labels = |labels: &[LabelName]| -> String {
            labels.iter().map(|label| self.label(label)).collect()
        };
        let property = |object: &Expr, key: &Expr| match key {
            Expr::Const(telar_graph::Value::String(key)) => {
                format!("{}.{}", self.expr(object), print::name(key))
            }
            key => format!("{}[{}]", self.expr(object), self.expr(key)),
        };
        let item = |item: &SetItem| match item {
            SetItem::Property { object, key, value } => {
                format!("{} = {}", property(object, key), self.expr(value))
            }
            SetItem::RemoveProperty { object, key } => {
                format!("REMOVE {}", property(object, key))
            }
            SetItem::Properties { object, value, replace } => {
                let sign = if *replace { "=" } else { "+=" };
                format!("{} {sign} {}", self.expr(object), self.expr(value))
            }
            SetItem::AddLabels { node, labels: names } => {
                format!("{}{}", self.expr(node), labels(names))
            }
            SetItem::RemoveLabels { node, labels: names } => {
                format!("REMOVE {}{}", self.expr(node), labels(names))
            }
        };
        items.iter().map(item).collect::<Vec<_>>().join(", ")
    }
}

/// `(from)-[inner]->(to)`
pub(super) fn arrow(from: &str, inner: &str, to: &str, way: Way) -> String {
    let (left, right) = match way {
        Way::Out => ("-", "->"),
        Way::In => ("<-", "-"),
        Way::Both => ("-", "-"),
    };
    format!("({from}){left}[{inner}]{right}({to})")
}
