//! Cardinality estimates: how many rows an operator may return. The planner compares plans by them,
//! and `EXPLAIN` shows them beside the rows that there were.
//!
//! From [`Estimates`]: `n`, nodes; `n(L)`, nodes with a label; `r(T)`, relationships of a type;
//! `v(I)`, distinct values in an index. For each label set: relationships per node `d(T, way)`, the
//! skew of their distribution, and the label sets of their other ends.
//!
//! | Operator finds | Rows, for each row of the input |
//! |---|---|
//! | all nodes; nodes with a label; a node by its number | `n`; `n(L)`; 1 |
//! | by an index on all its properties | `n(L) / v(I)`, or `r(T) / v(I)`; 1 if it is unique |
//! | by an index on `p` of `k` properties | `n(L) / v(I)^(p/k)`, `* 0.3` for a range behind them |
//! | by a prefix, suffix or part of a text; by the place of a point | `n(L) * 0.3`; `n(L) * 0.1` |
//! | by a list of keys | the same for each element; 100 elements if the length is unknown |
//! | relationships of a node | `d(T, way)`, the mean over its label sets (`label_sets`) |
//! | of a node without facts | `r(T) / n` |
//! | of a node that was found by a relationship | the same, times the skew |
//! | of a node that was found by a unique value | the root of the mean square of the degrees |
//! | relationships to a node that is bound | divided by the candidates for that node |
//! | paths of `i..j` relationships | `d` for the first, then `d` of its end; at most four terms |
//! | groups; distinct rows | distinct combinations that so many random draws would meet |
//!
//! Selectivity of a condition: equality `1 / v(I)` where an index holds the property, else 0.1;
//! that two nodes are the same, one of the candidates; a range or a prefix 0.3; the place of a
//! point 0.1; a label the probability that the node has it; a pattern that exists `1 - e^-rows`;
//! any other condition 0.75.
//!
//! Facts about variables follow them (`facts`) through aliases, groups, and lists that are
//! collected and unwound.

mod condition;
mod facts;
mod label_sets;
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
pub(crate) use label_sets::strongest;
pub(crate) use operator::{InputRows, constant};

/// Selectivity of an equality without statistics.
const EQUAL: f64 = 0.1;
/// Selectivity of a range.
const RANGE: f64 = 0.3;
/// Selectivity of a point in an area.
const AREA: f64 = 0.1;
/// Selectivity of any other condition.
const OTHER: f64 = 0.75;
/// Length of a list that is not a constant.
pub(crate) const LIST: f64 = 10.0;
/// The same for a list of keys of an index seek. Rather too long: a seek that finds more than was
/// estimated makes every operator above it slow.
const SEEK_LIST: f64 = 100.0;
/// Upper bound on the relationships of a path, beyond the first, that an estimate counts.
const STEPS_MAX: u64 = 3;

/// Estimator of rows, with the statistics of one graph.
pub(crate) struct Counts<'g> {
    graph: &'g dyn Graph,
    statistics: Arc<Estimates>,
    indexes: Vec<ReadableIndex>,
    /// Number of estimates of an operator so far.
    estimates: Cell<usize>,
}

/// Relationships that a pattern asks for between two variables, followed in one direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hop<'t> {
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    pub(crate) types: &'t Types,
    pub(crate) way: Way,
}

impl Hop<'_> {
    /// The same relationships, followed in the other direction.
    pub(crate) fn reverse(self) -> Self {
        Self { from: self.to, to: self.from, way: self.way.reverse(), ..self }
    }
}

/// Bounds on the number of relationships in a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathLength {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
}

/// Ends of paths that are rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathEnds {
    /// True if the end is bound already.
    pub(crate) into: bool,
    /// True if each end is one row, however many paths lead to it.
    pub(crate) once: bool,
}

/// Relationships of one node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FanOut {
    /// Mean over all nodes with the same label sets.
    pub(crate) mean: f64,
    /// Factor of this node. A node that was found by one of its relationships, or by a unique
    /// value, has more relationships than the mean.
    pub(crate) skew: f64,
}

impl FanOut {
    /// Relationships of this node.
    pub(crate) fn rows(self) -> f64 {
        self.mean * self.skew
    }
}

impl<'g> Counts<'g> {
    /// Estimator for a graph. Cost: that of [`telar_graph::Counts::estimates`].
    pub(crate) fn of(graph: &'g dyn Graph) -> Self {
        Self {
            graph,
            statistics: graph.estimates(),
            indexes: graph.readable_indexes(),
            estimates: Cell::new(0),
        }
    }

    /// Number of estimates of an operator so far.
    pub(crate) fn estimates(&self) -> usize {
        self.estimates.get()
    }

    // ---- counts ----

    /// Nodes of the graph.
    pub(crate) fn node_count(&self) -> f64 {
        self.statistics.vertices
    }

    /// Nodes with a label, or relationships of a type.
    fn object_count(&self, objects: IndexedObjects) -> f64 {
        let of = |counts: &[f64], at: u16| counts.get(usize::from(at)).copied().unwrap_or(0.0);
        match objects {
            IndexedObjects::Vertices(label) => of(&self.statistics.vertices_by_label, label.get()),
            IndexedObjects::Edges(ty) => of(&self.statistics.edges_by_type, ty.get()),
        }
    }

    /// Nodes with a label.
    pub(crate) fn label_count(&self, name: &str) -> f64 {
        self.node_objects(name).map_or(0.0, |objects| self.object_count(objects))
    }

    pub(crate) fn node_objects(&self, label: &str) -> Option<IndexedObjects> {
        self.graph.find_label(label).map(IndexedObjects::Vertices)
    }

    pub(crate) fn relationship_objects(&self, ty: &str) -> Option<IndexedObjects> {
        self.graph.find_edge_type(ty).map(IndexedObjects::Edges)
    }

    /// Distinct keys of an index, if they are known.
    fn distinct_keys(&self, index: &ReadableIndex) -> Option<f64> {
        let found = match index.unique {
            true => Some(self.object_count(index.objects)),
            false => self.statistics.distinct.get(&index.id).copied(),
        };
        found.map(|values| values.max(1.0))
    }

    /// Objects that an index seek finds, for each row of the input.
    pub(crate) fn seek_rows(&self, objects: IndexedObjects, sought: &Sought, facts: &Facts) -> f64 {
        let all = self.object_count(objects);
        let index = self.indexes.iter().find(|index| index.id == sought.index);
        let (given, keys) = (sought.prefix.len() as f64, sought.keys.len() as f64);
        let each = match index.and_then(|index| self.distinct_keys(index)) {
            _ if sought.is_unique() => 1.0,
            Some(values) => all / values.powf(given / keys),
            None => all * EQUAL.powf(given),
        };
        let next = match sought.next {
            NextKey::Anything => 1.0,
            NextKey::In(_) => AREA,
            _ => RANGE,
        };
        let seeks = match sought.prefix.last() {
            Some(list) if sought.any => facts.list_length(list, SEEK_LIST),
            _ => 1.0,
        };
        (each * next * seeks).min(all).max(1.0)
    }

    /// Share of what an index has that one value of a key has, if each has as much.
    pub(crate) fn share_of_value(&self, sought: &Sought) -> f64 {
        let index = self.indexes.iter().find(|index| index.id == sought.index);
        let distinct = index.and_then(|index| self.distinct_keys(index));
        distinct.map_or(EQUAL, |values| values.powf(-1.0 / sought.keys.len() as f64))
    }

    // ---- relationships ----

    /// Fan-out of a node.
    pub(crate) fn fan_out(&self, facts: &Facts, node: Slot, types: &Types, way: Way) -> FanOut {
        let unknown = Fact::default();
        let node = facts.get(node).unwrap_or(&unknown);
        self.fan_out_of(node, &self.edge_ends(types, way))
    }

    /// Each type with each direction of storage that `way` stands for.
    pub(crate) fn edge_ends(&self, types: &Types, way: Way) -> Vec<EdgeEnd> {
        let types = types.ids(self.graph);
        let each = types.iter().flat_map(|ty| way.directions().iter().map(move |d| (*ty, *d)));
        each.collect()
    }

    /// Skew of the fan-out of a node that was found by a relationship with one of the types and
    /// directions `reached`.
    pub(crate) fn skew(
        &self,
        facts: &Facts,
        node: Slot,
        ends: &[EdgeEnd],
        reached: Vec<EdgeEnd>,
    ) -> f64 {
        let labels = facts.get(node).and_then(|fact| fact.labels.clone());
        let fact = Fact { labels, reached: vec![reached], ..Fact::default() };
        self.fan_out_of(&fact, ends).skew
    }

    /// Rows of an expansion along a hop, for each row of the input; `into` a node that is bound.
    pub(crate) fn expand_rows(&self, facts: &Facts, hop: Hop<'_>, into: bool) -> f64 {
        let found = self.fan_out(facts, hop.from, hop.types, hop.way).rows();
        if !into {
            return found;
        }
        // The more relationships the other node has, the likelier one of them meets.
        let skew = self.fan_out(facts, hop.to, hop.types, hop.way.reverse()).skew;
        found * skew / self.candidates(facts, hop.to)
    }

    /// Rows of an expansion along paths, for each row of the input.
    pub(crate) fn path_rows(
        &self,
        facts: &Facts,
        hop: Hop<'_>,
        length: PathLength,
        ends: PathEnds,
    ) -> f64 {
        let Hop { from, to, types, way } = hop;
        let first = self.fan_out(facts, from, types, way).rows();
        // From the end of the first relationship, by other relationships than the first.
        let mut after = facts.only_labels(from);
        self.narrow_end(&mut after, hop);
        after.note_reached(to, self.edge_ends(types, way.reverse()));
        let fan_out = self.fan_out(&after, to, types, way);
        let back = if way == Way::Both { 1.0 } else { 0.0 };
        let next = (fan_out.rows() - back).max(fan_out.mean.min(1.0));
        let PathLength { min, max } = length;
        let max = max.unwrap_or(u64::MAX).min(min.saturating_add(STEPS_MAX));
        let lengths = (min..=max).take(STEPS_MAX as usize + 1);
        let of = |n: u64| match n {
            0 => 1.0,
            n => first * next.powi((n - 1).min(1000) as i32),
        };
        let found: f64 = lengths.map(of).sum();
        let found = match ends.once {
            true => distinct_of_draws(found, self.candidates(&after, to)),
            false => found,
        };
        if ends.into { found / self.candidates(facts, to) } else { found }
    }
}

/// Distinct values that `draws` random draws out of `all` values meet.
pub(crate) fn distinct_of_draws(draws: f64, all: f64) -> f64 {
    all * -(-draws / all).exp_m1()
}

/// Slot of an expression that is a variable.
fn slot_of(e: &Expr) -> Option<Slot> {
    match e {
        Expr::Slot(slot) => Some(*slot),
        _ => None,
    }
}
