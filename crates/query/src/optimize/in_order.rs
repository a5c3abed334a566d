//! Rewrite rule: the first rows by a property come from an index on it, in its order.
//!
//! ```text
//!  Top  p.born DESC LIMIT 3            PartialTop  p.born DESC LIMIT 3
//!    Expand  (p)-[:LIKES]->(q)    ─►     Expand  (p)-[:LIKES]->(q)
//!      NodeByLabelScan  (p:P)              NodeIndexScan  .. ORDER BY p.born DESC
//! ```
//!
//! The operators between have to keep the order of their input. What has no value is not in an
//! index, so that a scan gives way to one only where a condition leaves such nodes out. Where no
//! more rows are expected than are wanted, all are read: in no order, several threads may do so.

use telar_graph::Graph;
use telar_graph::update::IndexedObjects;

use super::Planner;
use crate::batch::Slot;
use crate::estimate::{Facts, constant};
use crate::expr::{Binary, Expr};
use crate::plan::{IndexSeek, NextKey, NodeScan, Plan, SeekOrder, Sort, Sought, Types, Way};

/// Rows of a `LIMIT` whose number is not known.
const LIMIT: f64 = 100.0;

/// Cost of a row that an index finds, in rows of a scan: nodes that follow each other there lie
/// apart in memory.
const ROW_OF_INDEX: f64 = 8.0;

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
    /// True if rows without a value do not reach the sort.
    never_null: bool,
}

impl Found {
    /// Follows the first key of a sort down to where it comes from.
    fn below(sort: &Sort) -> Option<Self> {
        sort.top.as_ref()?;
        let mut key = sort.keys.first()?.0.clone();
        let (mut at, mut depth, mut never_null) = (&sort.input, 0, false);
        loop {
            match at {
                Plan::IndexSeek(_) | Plan::RelationshipSeek(_) | Plan::NodeScan(_) => break,
                Plan::Extend(p) => p.items.iter().rev().for_each(|item| replace(&mut key, item)),
                Plan::Filter(p) => never_null |= excludes_null(&p.condition, &key),
                at if at.keeps_order() => {}
                _ => return None,
            }
            (at, depth) = (at.input()?, depth + 1);
        }
        let (slot, _) = property(&key)?;
        let is_its_own = at.bound_slots().first() == Some(&slot);
        (is_its_own && at.runs_once()).then_some(Self { depth, key, never_null })
    }

    /// Makes the operator read an index in order, if there is one and it pays; true if it does.
    fn read(self, planner: &Planner<'_>, sort: &mut Sort) -> bool {
        let descending = sort.keys[0].1;
        let top = sort.top.as_ref().map(constant).filter(|top| top.is_finite()).unwrap_or(LIMIT);
        let rows = planner.counts().plan_rows(&sort.input, &mut Facts::default());
        if rows <= top {
            return false;
        }
        let mut at = &mut sort.input;
        for _ in 0..self.depth {
            at = at.input_mut().expect("INVARIANT: it was just walked");
        }
        let key = property(&self.key).expect("INVARIANT: it was found to be one").1.to_owned();
        let order = Some(SeekOrder { key: self.key, descending });
        match at {
            Plan::IndexSeek(p) if p.sought.is_ordered_by(&key) => p.sought.order = order,
            Plan::RelationshipSeek(p) if p.sought.is_ordered_by(&key) => p.sought.order = order,
            Plan::NodeScan(p) if self.never_null && !p.hinted && rows > ROW_OF_INDEX * top => {
                let Some(sought) = whole_index(planner.graph, p, &key) else { return false };
                let (Some(label), slot) = (p.label.clone(), p.slot) else { return false };
                let input = std::mem::replace(&mut p.input, Plan::Unit);
                *at = IndexSeek { input, slot, label, sought: Sought { order, ..sought } }.into();
            }
            _ => return false,
        }
        true
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

/// The variable and the name of a property.
fn property(key: &Expr) -> Option<(Slot, &str)> {
    match key {
        Expr::Property(object, name) => match **object {
            Expr::Slot(slot) => Some((slot, &**name)),
            _ => None,
        },
        _ => None,
    }
}

/// True if a condition is not true where `key` is null.
fn excludes_null(condition: &Expr, key: &Expr) -> bool {
    let is_key = |e: &Expr| match (e, key) {
        (Expr::Slot(slot), _) => key.is_slot(*slot),
        _ => property(e).is_some() && property(e) == property(key),
    };
    match condition {
        Expr::And(parts) => parts.iter().any(|part| excludes_null(part, key)),
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
    fn runs_once(&self) -> bool {
        match self.input() {
            Some(Self::Unit | Self::Argument) => true,
            Some(input @ Self::Prune(_)) => input.runs_once(),
            _ => false,
        }
    }
}
