//! Rewrite rule: the first rows by a property come from an index on it, in its order.
//!
//! ```text
//!  Top  p.born DESC LIMIT 3            PartialTop  p.born DESC LIMIT 3
//!    Expand  (p)-[:LIKES]->(q)    ─►     Expand  (p)-[:LIKES]->(q)
//!      NodeByLabelScan  (p:P)              NodeIndexScan  .. ORDER BY p.born DESC
//! ```
//!
//! The operators between have to keep the order of their input. What has no value is not in an
//! index, so that a scan gives way to one only where a condition leaves such nodes out. Where not
//! many more rows are expected than are wanted, several threads read all, in no order.

use telar_graph::Graph;
use telar_graph::update::IndexedObjects;

use super::Planner;
use crate::batch::Slot;
use crate::estimate::{Facts, constant};
use crate::expr::{Binary, Expr, conjuncts};
use crate::plan::{IndexSeek, NextKey, NodeScan, Plan, SeekOrder, Sort, Sought, Types, Way};

/// Rows of a `LIMIT` whose number is not known.
const LIMIT: f64 = 100.0;

/// Least ratio of the rows that are expected to those that are wanted, for an index to be read in
/// order: then one thread reads it.
const TIMES_OF_SEEK: f64 = 2.0;

/// The same instead of a scan: nodes that follow each other in an index lie apart in memory.
const TIMES_OF_SCAN: f64 = 8.0;

/// Makes every sort of which few rows are wanted read an index in order, where it can.
pub(super) fn read_in_order(planner: &Planner<'_>, plan: &mut Plan) {
    if let Plan::Sort(p) = plan
        && let Some(found) = Found::below(p)
    {
        p.in_order = found.read(planner, p);
    }
    plan.inputs_mut(&mut |input| read_in_order(planner, input));
}

/// The operator that finds the objects by whose property a sort orders its rows.
struct Found {
    /// Operators above it, below the sort.
    depth: usize,
    /// The property.
    key: Expr,
    /// True if a condition leaves out rows, and nothing is known of how many.
    guessed: bool,
}

impl Found {
    /// Follows the first key of a sort down to where it comes from.
    fn below(sort: &Sort) -> Option<Self> {
        sort.top.as_ref()?;
        let mut key = sort.keys.first()?.0.clone();
        let (mut at, mut depth) = (&sort.input, 0);
        let (mut never_null, mut guessed) = (false, false);
        loop {
            match at {
                Plan::IndexSeek(_) | Plan::RelationshipSeek(_) | Plan::NodeScan(_) => break,
                Plan::Extend(p) => p.items.iter().rev().for_each(|item| replace(&mut key, item)),
                Plan::Filter(p) => {
                    for condition in conjuncts(p.condition.clone()) {
                        let on_key = excludes_null(&condition, &key);
                        never_null |= on_key;
                        guessed |= !on_key && !is_equality(&condition);
                    }
                }
                at if at.keeps_order() => {}
                _ => return None,
            }
            (at, depth) = (at.input()?, depth + 1);
        }
        let (slot, _) = key.property_of_slot()?;
        if matches!(at, Plan::NodeScan(p) if p.hinted || !never_null) {
            return None;
        }
        let is_its_own = at.bound_slots().first() == Some(&slot);
        let found = Self { depth, key, guessed };
        (is_its_own && at.has_one_row_of_input()).then_some(found)
    }

    /// Makes the operator read an index in order, if there is one and it pays; true if it does.
    fn read(self, planner: &Planner<'_>, sort: &mut Sort) -> bool {
        let (limit, several) = (sort.limit(), sort.keys.len() > 1);
        let descending = sort.keys[0].1;
        let rows = planner.counts().plan_rows(&sort.input, &mut Facts::default());
        let at_any_cost = planner.planning.at_any_cost;
        let pays = |sought: &Sought, times: f64| {
            // All that have the last value are read, for the keys behind it.
            let share = if several { planner.counts().share_of_value(sought) } else { 0.0 };
            at_any_cost || rows > times * (limit + rows * share)
        };
        let mut at = &mut sort.input;
        for _ in 0..self.depth {
            at = at.input_mut().expect("INVARIANT: it was just walked");
        }
        let property = self.key.property_of_slot();
        let key = property.expect("INVARIANT: it was found to be one").1.to_owned();
        let seek_pays = |sought: &Sought| sought.is_ordered_by(&key) && pays(sought, TIMES_OF_SEEK);
        let may_scan = at_any_cost || !self.guessed;
        let order = Some(SeekOrder { key: self.key, descending });
        match at {
            Plan::IndexSeek(p) if seek_pays(&p.sought) => p.sought.order = order,
            Plan::RelationshipSeek(p) if seek_pays(&p.sought) => p.sought.order = order,
            Plan::NodeScan(p) if may_scan => {
                let sought = whole_index(planner.graph, p, &key);
                let sought = sought.filter(|sought| pays(sought, TIMES_OF_SCAN));
                let (Some(sought), Some(label)) = (sought, p.label.clone()) else { return false };
                let (input, slot) = (std::mem::replace(&mut p.input, Plan::Unit), p.slot);
                *at = IndexSeek { input, slot, label, sought: Sought { order, ..sought } }.into();
            }
            _ => return false,
        }
        true
    }
}

impl Sort {
    /// Rows that are wanted, as far as they are known. Those that `SKIP` leaves out do not count,
    /// so that all pages are read in one way: in another, rows with equal keys may come in another
    /// order.
    fn limit(&self) -> f64 {
        let limit = match &self.top {
            Some(Expr::Binary(Binary::Add, _, limit)) => constant(limit),
            Some(top) => constant(top),
            None => f64::INFINITY,
        };
        if limit.is_finite() { limit } else { LIMIT }
    }
}

/// Replaces a key that an operator computes by its expression on the columns below.
fn replace(key: &mut Expr, (slot, by): &(Slot, Expr)) {
    match key {
        Expr::Slot(own) if own == slot => *key = by.clone(),
        Expr::Property(object, _) if object.is_slot(*slot) => **object = by.clone(),
        _ => {}
    }
}

/// True if a condition is not true where `key` is null.
fn excludes_null(condition: &Expr, key: &Expr) -> bool {
    let is_key = |e: &Expr| match (e, key) {
        (Expr::Slot(slot), _) => key.is_slot(*slot),
        _ => e.property_of_slot().is_some() && e.property_of_slot() == key.property_of_slot(),
    };
    match condition {
        Expr::IsNull(e, negated) => *negated && is_key(e),
        Expr::Binary(
            Binary::Equal
            | Binary::Less
            | Binary::LessOrEqual
            | Binary::Greater
            | Binary::GreaterOrEqual
            | Binary::StartsWith
            | Binary::EndsWith
            | Binary::Contains,
            a,
            b,
        ) => is_key(a) || is_key(b),
        _ => false,
    }
}

/// True for a condition whose share of the rows is estimated by more than its kind.
fn is_equality(condition: &Expr) -> bool {
    matches!(condition, Expr::Binary(Binary::Equal | Binary::In, ..) | Expr::HasLabels(..))
}

/// All of an index of every value of a property of the nodes that are scanned.
fn whole_index(graph: &dyn Graph, scan: &NodeScan, key: &str) -> Option<Sought> {
    let nodes = IndexedObjects::Vertices(graph.find_label(scan.label.as_ref()?)?);
    let property = graph.find_property_key(key)?;
    let index = graph.readable_indexes().into_iter().find(|index| {
        (index.objects, &*index.properties) == (nodes, &[property]) && index.kind.holds_all_values()
    })?;
    let sought = Sought {
        index: index.id,
        keys: vec![key.into()],
        kind: index.kind,
        unique: index.unique,
        prefix: Vec::new(),
        any: false,
        next: NextKey::Anything,
        order: None,
        test: Vec::new(),
    };
    sought.is_ordered_by(key).then_some(sought)
}

impl Sought {
    /// True if what is found can come in the order of a property.
    fn is_ordered_by(&self, key: &str) -> bool {
        let next = self.keys.get(self.prefix.len());
        !self.any
            && self.kind.capability().sorted_by_value
            && next.is_some_and(|next| **next == *key)
    }
}

impl Plan {
    /// True if its rows come in the order of its input. Relationships of several types, or of both
    /// directions, come one type and direction after the other.
    fn keeps_order(&self) -> bool {
        match self {
            Self::Keep(_) | Self::Prune(_) | Self::Unwind(_) => true,
            Self::Apply(p) => p.streams(),
            Self::Expand(p) => {
                let is_one = matches!(&p.types, Types::Of(names) if names.len() == 1);
                is_one && p.way != Way::Both && !p.into
            }
            _ => false,
        }
    }

    /// True if its input is one row. That of a subquery is: one that sorts runs for one at a time.
    fn has_one_row_of_input(&self) -> bool {
        match self.input() {
            Some(Self::Unit | Self::Argument) => true,
            Some(input @ Self::Prune(_)) => input.has_one_row_of_input(),
            _ => false,
        }
    }
}
