//! How many rows an operator may return: what the solver chooses by, and what people compare with
//! what happened.
//!
//! From [`Estimates`]: `n`, nodes; `n(L)`, nodes with a label; `r(T)`, relationships of a type;
//! `d(L, T, way)`, relationships of one node with the label; `v(I)`, distinct values in an index.
//!
//! | Found | Rows, for each row before |
//! |---|---|
//! | all nodes; those with a label; one by number | `n`; `n(L)`; 1 |
//! | by an index on all its properties | `n(L) / v(I)`, or `r(T) / v(I)`; 1 if it is unique |
//! | by an index on `p` of `k` properties | `n(L) / v(I)^(p/k)`, `* 0.3` for a range behind them |
//! | by a list | as many times as it has elements, 100 if that is not known |
//! | relationships of a node | the sum of `d(L, T, way)` over types and ways |
//! | of a node of no known label | `r(T) / n` |
//! | those that lead to a given node | divided by `n(L')` of that node |
//! | paths of `i..j` | `d^i + ... + d^j`, at most four terms |
//!
//! Of rows, a condition keeps: equality `1 / v(I)` where an index has the property, or else 0.1; a
//! range or a beginning 0.3; a label `n(L) / n`, or `n(L) / n(K)` of nodes known to have the label
//! `K`; anything else 0.75. The node at the end of a relationship is taken to have the labels that
//! more than half of those nodes have.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use telar_graph::update::{IndexedObjects, ReadableIndex};
use telar_graph::{Direction, EdgeTypeId, Estimates, Graph, LabelId, Value};

use super::{Aggregate, Intersect, Leg, NextKey, Plan, Sought, Types, Way};
use crate::batch::Slot;
use crate::exec::{directions, edge_types};
use crate::expr::{Binary, Expr, Labels, Unary};

const EQUAL: f64 = 0.1;
const RANGE: f64 = 0.3;
const OTHER: f64 = 0.75;
/// Elements of a list that is not written down.
const LIST: f64 = 10.0;
/// The same where an index is asked for each: rather too many, since a start that finds more than
/// was expected makes everything behind it slow.
const SOUGHT_LIST: f64 = 100.0;
/// Steps of a path of any length that are counted.
const STEPS_MAX: u64 = 3;

/// The figures of a graph.
pub(crate) struct Counts<'g> {
    graph: &'g dyn Graph,
    known: Arc<Estimates>,
    indexes: Vec<ReadableIndex>,
    /// Operators that were asked for their rows.
    asked: Cell<usize>,
}

/// What is known of the variables of a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    /// The labels of nodes, the types of relationships.
    objects: HashMap<Slot, Vec<IndexedObjects>>,
    /// Properties that a seek has compared already.
    sought: HashMap<Slot, Vec<Arc<str>>>,
    /// Relationships that nodes are known to have, as they were found by them.
    reached: HashMap<Slot, Vec<(EdgeTypeId, Direction)>>,
    /// How long lists that were collected are.
    lists: HashMap<Slot, f64>,
}

impl Facts {
    /// A node has a label, or a relationship a type.
    pub(crate) fn is(&mut self, slot: Slot, what: IndexedObjects) {
        let known = self.objects.entry(slot).or_default();
        if !known.contains(&what) {
            known.push(what);
        }
    }

    /// A seek has seen to these properties.
    pub(crate) fn has_sought(&mut self, slot: Slot, sought: &Sought) {
        let next = usize::from(!matches!(sought.next, NextKey::Anything));
        let keys = sought.keys.iter().take(sought.prefix.len() + next);
        self.sought.entry(slot).or_default().extend(keys.cloned());
    }

    /// The elements of a list; `unknown` where nothing says.
    fn length(&self, list: &Expr, unknown: f64) -> f64 {
        match list {
            Expr::List(items) => items.len() as f64,
            Expr::Const(Value::List(items)) => items.len() as f64,
            Expr::Slot(slot) => self.lists.get(slot).copied().unwrap_or(unknown),
            _ => unknown,
        }
    }

    /// What is known of some variables.
    pub(crate) fn only(&self, slots: &HashSet<Slot>) -> Self {
        fn some<T: Clone>(all: &HashMap<Slot, T>, slots: &HashSet<Slot>) -> HashMap<Slot, T> {
            slots.iter().filter_map(|slot| Some((*slot, all.get(slot)?.clone()))).collect()
        }
        Self {
            objects: some(&self.objects, slots),
            sought: some(&self.sought, slots),
            reached: some(&self.reached, slots),
            lists: some(&self.lists, slots),
        }
    }

    /// Adds what is known elsewhere; of what both know, that is newer.
    pub(crate) fn absorb(&mut self, newer: Self) {
        self.objects.extend(newer.objects);
        self.sought.extend(newer.sought);
        self.reached.extend(newer.reached);
        self.lists.extend(newer.lists);
    }

    fn of(&self, slot: Slot) -> &[IndexedObjects] {
        self.objects.get(&slot).map_or(&[], |objects| objects)
    }
}

impl<'g> Counts<'g> {
    /// Those of a graph. Cost: that of [`telar_graph::View::estimates`].
    pub(crate) fn of(graph: &'g dyn Graph) -> Self {
        Self { graph, known: graph.estimates(), indexes: graph.readable_indexes(), asked: Cell::new(0) }
    }

    /// How often an operator was asked for its rows.
    pub(crate) fn asked(&self) -> usize {
        self.asked.get()
    }

    // ---- counts ----

    pub(crate) fn nodes(&self) -> f64 {
        self.known.vertices
    }

    fn count(&self, objects: IndexedObjects) -> f64 {
        let of = |counts: &[f64], at: u16| counts.get(usize::from(at)).copied().unwrap_or(0.0);
        match objects {
            IndexedObjects::Vertices(label) => of(&self.known.vertices_by_label, label.get()),
            IndexedObjects::Edges(ty) => of(&self.known.edges_by_type, ty.get()),
        }
    }

    pub(crate) fn label(&self, name: &str) -> f64 {
        self.node_objects(name).map_or(0.0, |objects| self.count(objects))
    }

    pub(crate) fn node_objects(&self, label: &str) -> Option<IndexedObjects> {
        self.graph.find_label(label).map(IndexedObjects::Vertices)
    }

    pub(crate) fn relationship_objects(&self, ty: &str) -> Option<IndexedObjects> {
        self.graph.find_edge_type(ty).map(IndexedObjects::Edges)
    }

    /// Different values in an index.
    fn distinct(&self, index: &ReadableIndex) -> Option<f64> {
        let found = match index.unique {
            true => Some(self.count(index.objects)),
            false => self.known.distinct.get(&index.id).copied(),
        };
        found.map(|values| values.max(1.0))
    }

    /// What a seek finds.
    pub(crate) fn sought(&self, objects: IndexedObjects, sought: &Sought, facts: &Facts) -> f64 {
        let all = self.count(objects);
        let keys: Option<Vec<_>> =
            sought.keys.iter().map(|key| self.graph.find_property_key(key)).collect();
        let index = keys.and_then(|keys| {
            self.indexes.iter().find(|i| i.objects == objects && i.properties == keys)
        });
        let (given, keys) = (sought.prefix.len() as f64, sought.keys.len() as f64);
        let each = match index.and_then(|index| self.distinct(index)) {
            _ if sought.is_unique() => 1.0,
            Some(values) => all / values.powf(given / keys),
            None => all * EQUAL.powf(given),
        };
        let next = if matches!(sought.next, NextKey::Anything) { 1.0 } else { RANGE };
        let times = match sought.prefix.last() {
            Some(list) if sought.any => facts.length(list, SOUGHT_LIST),
            _ => 1.0,
        };
        (each * next * times).min(all).max(1.0)
    }

    // ---- relationships ----

    /// Relationships of one node in a direction; `of` are its labels.
    fn degree_one(&self, of: &[IndexedObjects], ty: EdgeTypeId, direction: Direction) -> f64 {
        let all = self.count(IndexedObjects::Edges(ty));
        let labels = of.iter().filter_map(|objects| match objects {
            IndexedObjects::Vertices(label) => Some(*label),
            IndexedObjects::Edges(_) => None,
        });
        let mean = |label: LabelId| match self.known.degrees.get(&(label, ty, direction)) {
            Some(degree) => *degree,
            // Too few to have been seen: it is they that have them.
            None => all / self.count(IndexedObjects::Vertices(label)).max(1.0),
        };
        labels.map(mean).min_by(f64::total_cmp).unwrap_or(all / self.nodes().max(1.0))
    }

    /// Relationships of a node, on average.
    pub(crate) fn degree_of(&self, facts: &Facts, node: Slot, types: &Types, way: Way) -> f64 {
        self.degree(facts.of(node), types, way)
    }

    fn degree(&self, of: &[IndexedObjects], types: &Types, way: Way) -> f64 {
        let tables = self.tables(types, way).into_iter();
        tables.map(|(ty, direction)| self.degree_one(of, ty, direction)).sum()
    }

    /// Types with the directions of storage that a way goes along.
    pub(crate) fn tables(&self, types: &Types, way: Way) -> Vec<(EdgeTypeId, Direction)> {
        let types = edge_types(types, self.graph);
        let each = types.iter().flat_map(|ty| directions(way).iter().map(move |d| (*ty, *d)));
        each.collect()
    }

    /// How many times more relationships a node has than one with its labels has on average, if it
    /// was found by some that it has: nodes with many are found more often.
    pub(crate) fn skew(
        &self,
        facts: &Facts,
        node: Slot,
        tables: &[(EdgeTypeId, Direction)],
        reached: &[(EdgeTypeId, Direction)],
    ) -> f64 {
        let labels = facts.of(node).iter().filter_map(|objects| match objects {
            IndexedObjects::Vertices(label) => Some(*label),
            IndexedObjects::Edges(_) => None,
        });
        let label = labels.min_by(|a, b| {
            let count = |label| self.count(IndexedObjects::Vertices(label));
            count(*a).total_cmp(&count(*b))
        });
        let Some(label) = label else { return 1.0 };
        let one = |(ty, direction): &(EdgeTypeId, Direction)| {
            let same: Vec<f64> = reached
                .iter()
                .filter(|(of, _)| of == ty)
                .map(|(_, by)| match by == direction {
                    true => self.known.skew.get(&(label, *ty, *direction)).copied().unwrap_or(1.0),
                    false => 1.0,
                })
                .collect();
            if same.is_empty() { 1.0 } else { same.iter().sum::<f64>() / same.len() as f64 }
        };
        tables.iter().map(one).sum::<f64>() / tables.len().max(1) as f64
    }

    /// Rows of an expansion from `from`, for each row before.
    pub(crate) fn expand(
        &self,
        facts: &Facts,
        (from, to): (Slot, Slot),
        types: &Types,
        way: Way,
        into: bool,
    ) -> f64 {
        let mut degree = self.degree(facts.of(from), types, way);
        if let Some(reached) = facts.reached.get(&from) {
            degree *= self.skew(facts, from, &self.tables(types, way), reached);
        }
        if into { degree / self.ends(facts, to) } else { degree }
    }

    /// The same for paths of several relationships.
    pub(crate) fn paths(
        &self,
        facts: &Facts,
        (from, to): (Slot, Slot),
        (types, way): (&Types, Way),
        (min, max): (u64, Option<u64>),
        into: bool,
    ) -> f64 {
        let degree = self.degree(facts.of(from), types, way);
        let max = max.unwrap_or(u64::MAX).min(min.saturating_add(STEPS_MAX));
        let steps = (min..=max).take(STEPS_MAX as usize + 1);
        let found: f64 = steps.map(|n| degree.powi(n.min(1000) as i32)).sum();
        if into { found / self.ends(facts, to) } else { found }
    }

    /// Nodes that a variable may be.
    pub(crate) fn ends(&self, facts: &Facts, slot: Slot) -> f64 {
        let counts = facts.of(slot).iter().map(|objects| self.count(*objects));
        counts.min_by(f64::total_cmp).unwrap_or(self.nodes()).max(1.0)
    }

    /// Notes what relationships of these types say of the node they lead to.
    pub(crate) fn leads_to(&self, facts: &mut Facts, to: Slot, types: &Types, way: Way) {
        let types = edge_types(types, self.graph);
        let back: Vec<_> = types
            .iter()
            .flat_map(|ty| directions(way.reverse()).iter().map(move |d| (*ty, *d)))
            .collect();
        let all: f64 = back.iter().map(|(ty, _)| self.count(IndexedObjects::Edges(*ty))).sum();
        for (at, count) in self.known.vertices_by_label.iter().enumerate() {
            let label = LabelId::from_raw(at as u16);
            let degree = |(ty, d): &(EdgeTypeId, Direction)| {
                self.known.degrees.get(&(label, *ty, *d)).copied().unwrap_or(0.0)
            };
            let ends = count * back.iter().map(degree).sum::<f64>();
            if all > 0.0 && ends > all / 2.0 {
                facts.is(to, IndexedObjects::Vertices(label));
            }
        }
    }

    /// Notes the type of a relationship, if it can have but one.
    fn is_of(&self, edge: Slot, types: &Types, facts: &mut Facts) {
        if let Types::Of(names) = types
            && let [name] = &names[..]
            && let Some(objects) = self.relationship_objects(name)
        {
            facts.is(edge, objects);
        }
    }

    /// Notes what the legs of an intersection say of what they find.
    fn legs(&self, p: &Intersect, facts: &mut Facts) {
        for leg in &p.legs {
            self.is_of(leg.edge, &leg.types, facts);
            self.leads_to(facts, p.to, &leg.types, leg.way);
        }
    }

    // ---- conditions ----

    /// The share of rows for which a condition holds; what it says of labels is noted.
    pub(crate) fn share(&self, condition: &Expr, facts: &mut Facts) -> f64 {
        match condition {
            Expr::And(parts) => parts.iter().map(|part| self.share(part, facts)).product(),
            Expr::Or(parts) => {
                let fails = |part| 1.0 - self.share(part, &mut facts.clone());
                1.0 - parts.iter().map(fails).product::<f64>()
            }
            Expr::Unary(Unary::Not, inner) => 1.0 - self.share(inner, &mut facts.clone()),
            Expr::HasLabels(object, labels) => match **object {
                Expr::Slot(slot) => self.labels(slot, labels, facts),
                _ => OTHER,
            },
            Expr::Binary(op, left, right) => self.comparison(*op, left, right, facts),
            Expr::Const(Value::Bool(true)) => 1.0,
            Expr::Const(_) => 0.0,
            _ => OTHER,
        }
    }

    fn labels(&self, slot: Slot, labels: &Labels, facts: &mut Facts) -> f64 {
        match labels {
            Labels::Name(name) => {
                // Of a relationship it is the type.
                let edge = facts.of(slot).iter().any(|o| matches!(o, IndexedObjects::Edges(_)));
                let objects = if edge { None } else { self.node_objects(name) };
                let Some(objects) = objects else { return if edge { 1.0 } else { 0.0 } };
                if facts.of(slot).contains(&objects) {
                    return 1.0;
                }
                let share = self.count(objects) / self.ends(facts, slot);
                facts.is(slot, objects);
                share.min(1.0)
            }
            Labels::And(parts) => parts.iter().map(|part| self.labels(slot, part, facts)).product(),
            Labels::Or(parts) => {
                let of = |part| self.labels(slot, part, &mut facts.clone());
                parts.iter().map(of).sum::<f64>().min(1.0)
            }
            Labels::Not(inner) => 1.0 - self.labels(slot, inner, &mut facts.clone()),
            Labels::Wildcard | Labels::Dynamic(..) => OTHER,
        }
    }

    fn comparison(&self, op: Binary, left: &Expr, right: &Expr, facts: &Facts) -> f64 {
        let property = [left, right].into_iter().find_map(|side| match side {
            Expr::Property(object, key) => match **object {
                Expr::Slot(slot) => Some((slot, key)),
                _ => None,
            },
            _ => None,
        });
        let sought = |(slot, key)| facts.sought.get(&slot).is_some_and(|keys| keys.contains(key));
        if property.is_some_and(sought) {
            return 1.0;
        }
        let equal = || property.map_or(EQUAL, |(slot, key)| self.equal(slot, key, facts));
        match op {
            Binary::Equal => equal(),
            Binary::NotEqual => 1.0 - equal(),
            Binary::In => (equal() * facts.length(right, LIST)).min(1.0),
            Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => RANGE,
            Binary::StartsWith => RANGE,
            _ => OTHER,
        }
    }

    fn equal(&self, slot: Slot, key: &str, facts: &Facts) -> f64 {
        let key = self.graph.find_property_key(key);
        let values = self.indexes.iter().filter_map(|index| {
            let of_it = facts.of(slot).contains(&index.objects);
            let only = key.is_some_and(|key| index.properties == [key]);
            (of_it && only).then(|| self.distinct(index)).flatten()
        });
        values.max_by(f64::total_cmp).map_or(EQUAL, |values| 1.0 / values)
    }

    /// Groups of so many rows. Of nodes, as many are met as so many draws meet; of values, nobody
    /// knows how many there are.
    fn groups(&self, p: &Aggregate, rows: f64, facts: &Facts) -> f64 {
        if p.keys.is_empty() {
            return 1.0;
        }
        let nodes: HashSet<Slot> = p.keys.iter().filter_map(|(_, key)| slot_of(key)).collect();
        let of_them = |key: &Expr| match key {
            Expr::Slot(_) => true,
            Expr::Property(object, _) => slot_of(object).is_some_and(|node| nodes.contains(&node)),
            _ => false,
        };
        let are_known = nodes.iter().all(|node| !facts.of(*node).is_empty());
        if nodes.is_empty() || !are_known || !p.keys.iter().all(|(_, key)| of_them(key)) {
            return rows.sqrt();
        }
        let all: f64 = nodes.iter().map(|node| self.ends(facts, *node)).product();
        all * (1.0 - (-rows / all).exp())
    }

    // ---- operators ----

    /// Rows of a plan; what it says of its variables is noted.
    pub(crate) fn estimate(&self, plan: &Plan, facts: &mut Facts) -> f64 {
        let inputs: Vec<f64> =
            plan.inputs().into_iter().map(|input| self.estimate(input, facts)).collect();
        self.rows(plan, &inputs, 1.0, facts)
    }

    /// Rows of a plan of whose input so many are expected; what it says of its variables is noted.
    pub(crate) fn above(&self, plan: &Plan, input: f64, facts: &mut Facts) -> f64 {
        let others = plan.inputs().into_iter().skip(1).map(|plan| self.estimate(plan, facts));
        let inputs: Vec<f64> = std::iter::once(input).chain(others).collect();
        self.rows(plan, &inputs, 1.0, facts)
    }

    /// Rows of an operator, of whose inputs so many are expected; `outer` rows come from outside.
    /// What it says of variables is noted.
    pub(crate) fn rows(&self, plan: &Plan, inputs: &[f64], outer: f64, facts: &mut Facts) -> f64 {
        self.asked.set(self.asked.get() + 1);
        let first = inputs.first().copied().unwrap_or(1.0);
        let second = inputs.get(1).copied().unwrap_or(1.0);
        match plan {
            Plan::Unit => 1.0,
            Plan::Argument => outer,
            Plan::NodeScan(p) => {
                let Some(label) = &p.label else { return first * self.nodes() };
                self.node_objects(label).into_iter().for_each(|objects| facts.is(p.slot, objects));
                first * self.label(label)
            }
            Plan::IndexSeek(p) => {
                let Some(objects) = self.node_objects(&p.label) else { return 0.0 };
                facts.is(p.slot, objects);
                facts.has_sought(p.slot, &p.sought);
                first * self.sought(objects, &p.sought, facts)
            }
            Plan::RelationshipSeek(p) => {
                let Some(objects) = self.relationship_objects(&p.ty) else { return 0.0 };
                facts.is(p.edge, objects);
                facts.has_sought(p.edge, &p.sought);
                let types = Types::Of(vec![p.ty.clone()]);
                self.leads_to(facts, p.to, &types, p.way);
                self.leads_to(facts, p.from, &types, p.way.reverse());
                let ways = if p.way == Way::Both { 2.0 } else { 1.0 };
                first * ways * self.sought(objects, &p.sought, facts)
            }
            Plan::Expand(p) => {
                let found = self.expand(facts, (p.from, p.to), &p.types, p.way, p.into);
                self.is_of(p.edge, &p.types, facts);
                if !p.into {
                    self.leads_to(facts, p.to, &p.types, p.way);
                }
                for (node, way) in [(p.from, p.way), (p.to, p.way.reverse())] {
                    facts.reached.entry(node).or_default().extend(self.tables(&p.types, way));
                }
                first * found
            }
            Plan::Intersect(p) => {
                self.legs(p, facts);
                let ends = self.ends(facts, p.to);
                let share = |leg: &Leg| self.degree_of(facts, leg.from, &leg.types, leg.way) / ends;
                first * ends * p.legs.iter().map(share).product::<f64>()
            }
            Plan::Degrees(p) => first * self.degree_of(facts, p.from, &p.types, p.way).min(1.0),
            Plan::HashJoin(p) => {
                let share = |(a, b): &(Expr, Expr)| match (a, b) {
                    (Expr::Slot(node), Expr::Slot(_)) => 1.0 / self.ends(facts, *node),
                    (a, b) => self.comparison(Binary::Equal, a, b, facts),
                };
                first * second * p.keys.iter().map(share).product::<f64>()
            }
            Plan::VarExpand(p) => {
                let (ends, types) = ((p.from, p.to), (&p.types, p.way));
                let found = self.paths(facts, ends, types, (p.min, p.max), p.into);
                if !p.into && p.min > 0 {
                    self.leads_to(facts, p.to, &p.types, p.way);
                }
                first * found
            }
            Plan::Filter(_, condition) => first * self.share(condition, facts),
            Plan::Aggregate(p) => {
                let groups = self.groups(p, first, facts);
                for (slot, _) in p.aggregates.iter().filter(|(_, c)| *c.function == *"collect") {
                    facts.lists.insert(*slot, first / groups.max(1.0));
                }
                groups
            }
            Plan::CountStore(_) => 1.0,
            Plan::Sort(p) => p.top.as_ref().map_or(first, |top| first.min(constant(top))),
            Plan::Skip(_, count) => {
                let count = constant(count);
                if count.is_finite() { (first - count).max(0.0) } else { first }
            }
            Plan::Limit(_, count) => first.min(constant(count)),
            Plan::Unwind(_, _, list) => first * facts.length(list, LIST),
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

/// The variable that an expression is.
fn slot_of(e: &Expr) -> Option<Slot> {
    match e {
        Expr::Slot(slot) => Some(*slot),
        _ => None,
    }
}
