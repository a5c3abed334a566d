//! Rows of operators.

use telar_graph::{EdgeEnd, Value};

use super::{Counts, Facts, LIST, drawn};
use crate::batch::Slot;
use crate::expr::{Binary, Expr};
use crate::plan::{Intersect, Leg, Plan, Types, Way};

/// Operators of a side of a join that are looked at for how it found a node.
const REACHED_MAX: usize = 16;

impl Counts<'_> {
    /// Rows of a plan; what it says of its variables is noted.
    pub(crate) fn estimate(&self, plan: &Plan, facts: &mut Facts) -> f64 {
        match plan.input() {
            Some(input) => {
                let rows = self.estimate(input, facts);
                self.above(plan, rows, facts)
            }
            None => {
                // Each part of a union knows what the others do not; any of them says what it is.
                let before = facts.clone();
                let parts = plan.inputs().into_iter().map(|part| {
                    facts.clone_from(&before);
                    self.estimate(part, facts)
                });
                let inputs: Vec<f64> = parts.collect();
                self.rows(plan, &inputs, 1.0, facts)
            }
        }
    }

    /// Rows of a plan of whose input so many are expected; what it says of its variables is noted.
    pub(crate) fn above(&self, plan: &Plan, input: f64, facts: &mut Facts) -> f64 {
        let mut inputs = vec![input];
        for plan in plan.inputs().into_iter().skip(1) {
            inputs.push(facts.inside(|facts| self.estimate(plan, facts)));
        }
        self.rows(plan, &inputs, 1.0, facts)
    }

    /// Rows of an operator, of whose inputs so many are expected; `outer` rows come from outside.
    /// What it says of variables is noted.
    pub(crate) fn rows(&self, plan: &Plan, inputs: &[f64], outer: f64, facts: &mut Facts) -> f64 {
        self.asked.set(self.asked.get() + 1);
        let first = inputs.first().copied().unwrap_or(1.0);
        let second = inputs.get(1).copied().unwrap_or(1.0);
        let rows = self.operator(plan, (first, second), inputs, outer, facts);
        facts.returned(plan, first, rows);
        rows
    }

    fn operator(
        &self,
        plan: &Plan,
        (first, second): (f64, f64),
        inputs: &[f64],
        outer: f64,
        facts: &mut Facts,
    ) -> f64 {
        match plan {
            Plan::Unit => 1.0,
            Plan::Argument => outer,
            // Nothing is known of a pattern before it is known how it is found.
            Plan::Match(_) => first,
            Plan::NodeScan(p) => {
                let Some(label) = &p.label else { return first * self.nodes() };
                if let Some(objects) = self.node_objects(label) {
                    self.is(facts, p.slot, objects);
                }
                first * self.label(label)
            }
            Plan::IndexSeek(p) => {
                let Some(objects) = self.node_objects(&p.label) else { return 0.0 };
                self.is(facts, p.slot, objects);
                facts.has_sought(p.slot, &p.sought);
                first * self.sought(objects, &p.sought, facts)
            }
            Plan::RelationshipSeek(p) => {
                let Some(objects) = self.relationship_objects(&p.ty) else { return 0.0 };
                self.is(facts, p.edge, objects);
                facts.has_sought(p.edge, &p.sought);
                let types = Types::Of(vec![p.ty.clone()]);
                self.leads_to(facts, (p.from, p.to), &types, p.way);
                self.leads_to(facts, (p.to, p.from), &types, p.way.reverse());
                let ways = if p.way == Way::Both { 2.0 } else { 1.0 };
                first * ways * self.sought(objects, &p.sought, facts)
            }
            Plan::Expand(p) => {
                let found = self.expand(facts, (p.from, p.to), &p.types, p.way, p.into);
                self.is_of(p.edge, &p.types, facts);
                let ends = [(p.from, p.to, p.way), (p.to, p.from, p.way.reverse())];
                let each = ends.map(|(node, _, way)| {
                    let (degree, times) = self.degree_of(facts, node, &p.types, way);
                    degree * times
                });
                self.are_behind(facts, (p.from, p.to), each[0]);
                if p.into {
                    self.are_behind(facts, (p.to, p.from), each[1]);
                } else {
                    self.leads_to(facts, (p.from, p.to), &p.types, p.way);
                }
                for (node, _, way) in ends {
                    facts.has(node, self.tables(&p.types, way));
                }
                first * found
            }
            Plan::Intersect(p) => {
                self.legs(p, facts);
                let ends = self.ends(facts, p.to);
                let share = |leg: &Leg| {
                    let (degree, times) = self.degree_of(facts, leg.from, &leg.types, leg.way);
                    degree * times / ends
                };
                // A node that one leads to has more for the others to come by.
                let (to, lead) = (p.to, &p.legs[0]);
                let back = |leg: &Leg| self.tables(&leg.types, leg.way.reverse());
                let others = p.legs.iter().skip(1);
                let more = others.map(|leg| self.skew(facts, to, &back(leg), back(lead)));
                let more: f64 = more.product();
                first * ends * p.legs.iter().map(share).product::<f64>() * more
            }
            Plan::Degrees(p) if p.optional => first,
            Plan::Degrees(p) => {
                let (degree, times) = self.degree_of(facts, p.from, &p.types, p.way);
                first * (degree * times).min(1.0)
            }
            Plan::HashJoin(p) => {
                let share = |(a, b): &(Expr, Expr)| match (a, b) {
                    (Expr::Slot(node), Expr::Slot(other)) => {
                        // Nodes with many relationships are often found on both sides.
                        let here = self.reached_by(&p.input, *node);
                        let there = self.reached_by(&p.build, *other);
                        self.meet(facts, *node, here, &there) / self.ends(facts, *node)
                    }
                    (a, b) => self.comparison(Binary::Equal, a, b, facts),
                };
                first * second * p.keys.iter().map(share).product::<f64>()
            }
            Plan::VarExpand(p) => {
                let (ends, types) = ((p.from, p.to), (&p.types, p.way));
                let found = self.paths(facts, ends, types, (p.min, p.max), p.into, p.once);
                if !p.into && p.min > 0 {
                    self.leads_to(facts, (p.from, p.to), &p.types, p.way);
                    facts.has(p.to, self.tables(&p.types, p.way.reverse()));
                    self.are_behind(facts, (p.from, p.to), found);
                } else if !p.into {
                    let begins = 1.0 / found.max(1.0);
                    self.begins_or_leads_to(facts, ends, types, begins);
                }
                first * found
            }
            Plan::Filter(_, condition) => first * self.share(condition, facts),
            Plan::Extend(_, items) => {
                for (slot, expr) in items {
                    facts.is_same(*slot, expr);
                    let values = self.different(expr, first, facts);
                    facts.has_at_most(*slot, values);
                }
                first
            }
            Plan::Aggregate(p) => {
                let groups = self.groups(p.keys.iter().map(|(_, key)| key), first, facts);
                for (slot, key) in &p.keys {
                    facts.is_same(*slot, key);
                    let values = self.different(key, first, facts);
                    facts.has_at_most(*slot, values);
                }
                for (slot, call) in p.aggregates.iter().filter(|(_, c)| *c.function == *"collect") {
                    let (element, each) = (call.arguments.first(), first / groups.max(1.0));
                    let length = match element.filter(|_| call.distinct) {
                        Some(element) => drawn(each, self.different(element, first, facts)),
                        None => each,
                    };
                    facts.collects(*slot, length, element);
                }
                groups
            }
            Plan::Distinct(_, slots) => {
                let keys: Vec<Expr> = slots.iter().map(|slot| Expr::Slot(*slot)).collect();
                self.groups(keys.iter(), first, facts)
            }
            Plan::CountStore(_) => 1.0,
            Plan::Sort(p) => p.top.as_ref().map_or(first, |top| first.min(constant(top))),
            Plan::Skip(_, count) => {
                let count = constant(count);
                if count.is_finite() { (first - count).max(0.0) } else { first }
            }
            Plan::Limit(_, count) => first.min(constant(count)),
            Plan::Unwind(_, slot, list) => {
                facts.is_element(*slot, list);
                first * facts.length(list, LIST)
            }
            Plan::Apply(p) => match (p.returns, &p.optional) {
                (false, _) => first,
                // And one where there is none.
                (true, Some(_)) => first * (second + (-second).exp()),
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

    /// Notes the type of a relationship, if it can have but one.
    fn is_of(&self, edge: Slot, types: &Types, facts: &mut Facts) {
        if let Types::Of(names) = types
            && let [name] = &names[..]
            && let Some(objects) = self.relationship_objects(name)
        {
            self.is(facts, edge, objects);
        }
    }

    /// Relationships by which the last operators of a plan found a node: those that it has.
    fn reached_by(&self, plan: &Plan, node: Slot) -> Vec<Vec<EdgeEnd>> {
        let chain = std::iter::successors(Some(plan), |plan| plan.input()).take(REACHED_MAX);
        let by = chain.filter_map(|plan| match plan {
            Plan::Expand(p) if p.from == node => Some(self.tables(&p.types, p.way)),
            Plan::Expand(p) if p.to == node => Some(self.tables(&p.types, p.way.reverse())),
            _ => None,
        });
        by.collect()
    }

    /// Notes that there are so many nodes behind each of some.
    fn are_behind(&self, facts: &mut Facts, (from, to): (Slot, Slot), each: f64) {
        if let Some(nodes) = facts.different(from) {
            let nodes = nodes * each;
            facts.has_at_most(to, facts.different(to).map_or(nodes, |known| known.min(nodes)));
        }
    }

    /// Notes what the legs of an intersection say of what they find.
    fn legs(&self, p: &Intersect, facts: &mut Facts) {
        for leg in &p.legs {
            self.is_of(leg.edge, &leg.types, facts);
            self.leads_to(facts, (leg.from, p.to), &leg.types, leg.way);
            let (degree, times) = self.degree_of(facts, leg.from, &leg.types, leg.way);
            self.are_behind(facts, (leg.from, p.to), degree * times);
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
