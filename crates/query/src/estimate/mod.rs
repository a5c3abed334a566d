//! How many rows an operator may return: what the solver chooses by, and what people compare with
//! what happened.
//!
//! From [`Estimates`]: `n`, nodes; `n(L)`, nodes with a label; `r(T)`, relationships of a type;
//! `v(I)`, distinct values in an index; and for each set of labels that nodes have, relationships
//! of one of them, `d(T, way)`, how uneven those are, and where they lead.
//!
//! | Found | Rows, for each row before |
//! |---|---|
//! | all nodes; those with a label; one by number | `n`; `n(L)`; 1 |
//! | by an index on all its properties | `n(L) / v(I)`, or `r(T) / v(I)`; 1 if it is unique |
//! | by an index on `p` of `k` properties | `n(L) / v(I)^(p/k)`, `* 0.3` for a range behind them |
//! | by a string's part, beginning or end; by a point's place | `n(L) * 0.3`; `n(L) * 0.1` |
//! | by a list | as many times as it has elements, 100 if that is not known |
//! | relationships of a node | `d(T, way)` of what it may be (`kind`), over types and ways |
//! | of a node of which nothing is known | `r(T) / n` |
//! | of one that others led to | times as many more as such nodes have |
//! | of one that a unique value led to | the root of the mean square instead of the mean |
//! | those that lead to a given node | divided by the number of nodes it may be |
//! | paths of `i..j` | `d` for one step, for each more that of its beginning; at most four terms |
//! | groups; different rows | as many as so many draws out of all combinations meet |
//!
//! Of rows, a condition keeps: equality `1 / v(I)` where an index has the property, or else 0.1;
//! that two nodes are the same, one of those it may be; a range or a beginning 0.3; the
//! place of a point 0.1; a label the likelihood that the node has it; a pattern that exists
//! `1 - e^-rows`; anything else 0.75.
//!
//! What is known of variables follows them (`facts`): through other names, groups, and lists that
//! are collected and taken apart again.

mod condition;
mod facts;
mod kind;
mod operator;

use std::cell::Cell;
use std::sync::Arc;

use telar_graph::update::{IndexedObjects, ReadableIndex};
use telar_graph::{EdgeEnd, Estimates, Graph};

use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{NextKey, Sought, Types, Way};
use facts::Fact;
pub(crate) use facts::Facts;
pub(crate) use operator::{InputRows, constant};

const EQUAL: f64 = 0.1;
const RANGE: f64 = 0.3;
const OTHER: f64 = 0.75;
/// A point lies in a box, or near another.
const AREA: f64 = 0.1;
/// Elements of a list that is not written down.
pub(crate) const LIST: f64 = 10.0;
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

impl<'g> Counts<'g> {
    /// Those of a graph. Cost: that of [`telar_graph::View::estimates`].
    pub(crate) fn of(graph: &'g dyn Graph) -> Self {
        Self {
            graph,
            known: graph.estimates(),
            indexes: graph.readable_indexes(),
            asked: Cell::new(0),
        }
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
        let index = self.indexes.iter().find(|index| index.id == sought.index);
        let (given, keys) = (sought.prefix.len() as f64, sought.keys.len() as f64);
        let each = match index.and_then(|index| self.distinct(index)) {
            _ if sought.is_unique() => 1.0,
            Some(values) => all / values.powf(given / keys),
            None => all * EQUAL.powf(given),
        };
        let next = match sought.next {
            NextKey::Anything => 1.0,
            NextKey::In(_) => AREA,
            _ => RANGE,
        };
        let times = match sought.prefix.last() {
            Some(list) if sought.any => facts.length(list, SOUGHT_LIST),
            _ => 1.0,
        };
        (each * next * times).min(all).max(1.0)
    }

    // ---- relationships ----

    /// Relationships of a node, on average, and how many times more it has than others with its
    /// labels: those that were found by relationships that they have, or asked for, have more.
    pub(crate) fn degree_of(
        &self,
        facts: &Facts,
        node: Slot,
        types: &Types,
        way: Way,
    ) -> (f64, f64) {
        let unknown = Fact::default();
        let node = facts.get(node).unwrap_or(&unknown);
        let (mean, met) = self.degree(node, &self.tables(types, way));
        (mean, if mean > 0.0 { met / mean } else { 1.0 })
    }

    /// Types with the directions of storage that a way goes along.
    pub(crate) fn tables(&self, types: &Types, way: Way) -> Vec<EdgeEnd> {
        let types = types.ids(self.graph);
        let each = types.iter().flat_map(|ty| way.directions().iter().map(move |d| (*ty, *d)));
        each.collect()
    }

    /// How many times more relationships a node has than one with its labels has on average, if it
    /// was found by some that it has: nodes with many are found more often.
    pub(crate) fn skew(
        &self,
        facts: &Facts,
        node: Slot,
        tables: &[EdgeEnd],
        reached: Vec<EdgeEnd>,
    ) -> f64 {
        let kind = facts.get(node).and_then(|fact| fact.kind.clone());
        let (mean, met) =
            self.degree(&Fact { kind, reached: vec![reached], ..Fact::default() }, tables);
        if mean > 0.0 { met / mean } else { 1.0 }
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
        let (degree, times) = self.degree_of(facts, from, types, way);
        let found = degree * times;
        if !into {
            return found;
        }
        // That they meet is the likelier the more relationships the other has.
        let (_, times) = self.degree_of(facts, to, types, way.reverse());
        found * times / self.ends(facts, to)
    }

    /// The same for paths of several relationships; if each end is found `once`, no more than there
    /// are.
    pub(crate) fn paths(
        &self,
        facts: &Facts,
        (from, to): (Slot, Slot),
        (types, way): (&Types, Way),
        (min, max): (u64, Option<u64>),
        into: bool,
        once: bool,
    ) -> f64 {
        let (degree, times) = self.degree_of(facts, from, types, way);
        let first = degree * times;
        // From a node that it leads to, by other relationships than the one that led there.
        let mut after = facts.kind_of(from);
        self.leads_to(&mut after, (from, to), types, way);
        after.has(to, self.tables(types, way.reverse()));
        let (degree, times) = self.degree_of(&after, to, types, way);
        let back = if way == Way::Both { 1.0 } else { 0.0 };
        let next = (degree * times - back).max(degree.min(1.0));
        let max = max.unwrap_or(u64::MAX).min(min.saturating_add(STEPS_MAX));
        let steps = (min..=max).take(STEPS_MAX as usize + 1);
        let of = |n: u64| match n {
            0 => 1.0,
            n => first * next.powi((n - 1).min(1000) as i32),
        };
        let found: f64 = steps.map(of).sum();
        let found = if once { drawn(found, self.ends(&after, to)) } else { found };
        if into { found / self.ends(facts, to) } else { found }
    }
}

/// How many different ones are met by so many draws out of `all`.
pub(crate) fn drawn(draws: f64, all: f64) -> f64 {
    all * -(-draws / all).exp_m1()
}

/// The variable that an expression is.
fn slot_of(e: &Expr) -> Option<Slot> {
    match e {
        Expr::Slot(slot) => Some(*slot),
        _ => None,
    }
}
