//! Aggregate pushdown: expansions become counts of relationships where only the number of rows
//! matters.
//!
//! An expansion to a node that no other operator reads becomes [`Degrees`]. The row stays one row
//! and carries a count, and the counts of several expansions are multiplied. The number of rows is
//! the sum of the last count:
//!
//! ```text
//!  count(*)                          sum(n2)
//!  Filter    c:Tag AND a <> c        ExpandCount  (b)-->(:Tag) <> a * n1 AS n2
//!  Expand    (b)-->(c)               OptionalExpandCount  (b)<--() AS n1
//!  Optional  (b)<--(d)               Expand  (a)-->(b)
//!  Expand    (a)-->(b)
//! ```
//!
//! The conditions on such a node may be one label, and that it differs from other nodes of the row
//! (`a <> c`). Each is removed from its filter, and the count stands where the last of them was
//! tested. A condition that is not deterministic, such as `rand() < 0.5`, must be evaluated for
//! every row, so no expansion below it is counted.
//!
//! Relationships stay distinct: those that an expansion must differ from are not counted, and an
//! expansion whose relationship a later one must differ from is not replaced.
//!
//! Source: D. Olteanu, M. Schleich, "Factorized databases", SIGMOD Record 2016.

use std::sync::Arc;

use crate::batch::Slot;
use crate::expr::{Binary, Expr, Labels};
use crate::plan::{Degrees, Expand, Plan};

/// Upper bound on the operators above an expansion that is counted: each of them is checked.
const ABOVE_MAX: usize = 128;

/// Replaces expansions by counts in a plan of which only the variables in `reads` are read. Returns
/// the variable whose sum is the number of rows; `None` if no expansion is replaced. `slot` makes
/// new variables.
pub(crate) fn count_by_degrees(
    plan: &mut Plan,
    reads: &dyn Fn(Slot) -> bool,
    slot: &mut dyn FnMut() -> Slot,
) -> Option<Slot> {
    let mut chain = Chain::of(std::mem::replace(plan, Plan::Unit));
    let (mut at, mut counts) = (0, Vec::new());
    while at < chain.operators.len().min(ABOVE_MAX) {
        match chain.find(at, reads) {
            Some(mut found) => {
                found.degrees.count = slot();
                counts.push(found.degrees.count);
                at = chain.replace(at, found);
            }
            None => at += 1,
        }
    }
    let product = chain.multiply(&counts);
    *plan = chain.into_plan();
    product
}

/// Expansion that can be replaced by a count.
struct Countable {
    /// Position of the filter below which the count goes; `None` for that of the expansion.
    filter: Option<usize>,
    /// Node at its end, which no operator reads.
    node: Option<Slot>,
    degrees: Degrees,
}

/// Row-wise operators, the topmost first, each without its input.
struct Chain {
    operators: Vec<Plan>,
    begin: Plan,
}

impl Chain {
    fn of(mut plan: Plan) -> Self {
        let mut operators = Vec::new();
        while plan.is_row_wise() || optional(&plan).is_some() {
            let Some(input) = plan.input_mut() else { break };
            let input = std::mem::replace(input, Plan::Unit);
            operators.push(std::mem::replace(&mut plan, input));
        }
        Self { operators, begin: plan }
    }

    fn into_plan(self) -> Plan {
        let Self { operators, begin } = self;
        operators.into_iter().rev().fold(begin, |below, mut operator| {
            *operator.input_mut().expect("INVARIANT: it had an input") = below;
            operator
        })
    }

    /// Expansion at a position, if it can be replaced.
    fn find(&self, at: usize, reads: &dyn Fn(Slot) -> bool) -> Option<Countable> {
        let (new, mut degrees) = match &self.operators[at] {
            Plan::Expand(p) if !p.into => (vec![p.to, p.edge], degrees(p)),
            plan @ Plan::Apply(p) => {
                let new = p.optional.iter().flatten().copied().chain([p.row]).collect();
                (new, optional(plan)?)
            }
            _ => return None,
        };
        if new.iter().any(|slot| reads(*slot)) {
            return None;
        }
        let node = (!degrees.optional).then(|| new[0]);
        let mut filter = None;
        for (place, operator) in self.operators[..at].iter().enumerate().rev() {
            if !is_fixed(operator) {
                return None;
            }
            let mut is_read = false;
            operator.slots(&mut |slot| is_read |= new.contains(&slot));
            if !is_read {
                continue;
            }
            // No other operator may read the node. A node that may be null has no conditions.
            let (Plan::Filter(p), Some(node)) = (operator, node) else { return None };
            for part in parts(&p.condition).iter().filter(|part| reads_any(part, &new)) {
                match condition_on(part, node)? {
                    NodeCondition::Label(label) if degrees.label.is_none() => {
                        degrees.label = Some(label.into())
                    }
                    NodeCondition::Label(_) => return None,
                    NodeCondition::Other(other) if new.contains(&other) => return None,
                    NodeCondition::Other(other) => {
                        degrees.except.push(other);
                        filter = Some(place);
                    }
                }
            }
        }
        if let Some(filter) = filter {
            // Operators between now see rows that the expansion would have dropped.
            let between = &self.operators[filter + 1..at];
            if !between.iter().all(|operator| all_exprs(operator, &Expr::never_fails)) {
                return None;
            }
            degrees.kept = None;
        }
        Some(Countable { filter, node, degrees })
    }

    /// Replaces the expansion at a position. Returns the position of the operator that was below
    /// it.
    fn replace(&mut self, at: usize, found: Countable) -> usize {
        let Countable { filter, node, degrees } = found;
        let place = filter.map_or(at, |filter| filter + 1);
        // Operators between may drop columns that the count reads.
        let read: Vec<Slot> =
            [&[degrees.from], &degrees.distinct_from[..], &degrees.except[..]].concat();
        self.operators[place..at].iter_mut().for_each(|operator| keep(operator, &read));
        self.operators.remove(at);
        self.operators.insert(place, Plan::Degrees(Box::new(degrees)));
        let Some(node) = node else { return at + 1 };
        let before = self.operators.len();
        let mut number = 0;
        self.operators.retain_mut(|operator| {
            number += 1;
            let Plan::Filter(p) = operator else { return true };
            let condition = &mut p.condition;
            if number > at + 1 || !reads_any(condition, &[node]) {
                return true;
            }
            let mut left = parts(condition).to_vec();
            left.retain(|part| !reads_any(part, &[node]));
            let is_left = !left.is_empty();
            *condition = Expr::all(left);
            is_left
        });
        at + 1 - (before - self.operators.len())
    }

    /// Makes each count multiply the one below it. Returns the topmost, which is their product.
    fn multiply(&mut self, counts: &[Slot]) -> Option<Slot> {
        let mut product = None;
        for operator in self.operators.iter_mut().rev() {
            if let Some(product) = product {
                keep(operator, &[product]);
            }
            if let Plan::Degrees(p) = operator
                && counts.contains(&p.count)
            {
                p.times = product;
                product = Some(p.count);
            }
        }
        product
    }
}

/// Count that replaces an expansion.
fn degrees(p: &Expand) -> Degrees {
    Degrees {
        input: Plan::Unit,
        from: p.from,
        types: p.types.clone(),
        way: p.way,
        label: None,
        distinct_from: p.distinct_from.clone(),
        except: Vec::new(),
        optional: false,
        kept: p.kept.clone(),
        times: None,
        // Set when the expansion is replaced.
        count: 0,
        scans: p.scans,
    }
}

/// Count that replaces an `OPTIONAL MATCH` of one expansion.
fn optional(plan: &Plan) -> Option<Degrees> {
    let Plan::Apply(p) = plan else { return None };
    if !p.returns || p.optional.is_none() || p.by_row {
        return None;
    }
    let is_part = |plan: &Plan| matches!(plan, Plan::Expand(_) | Plan::Filter(_) | Plan::Prune(_));
    let chain = || std::iter::successors(Some(&p.inner), |plan| plan.input());
    let is_expand = |plan: &&Plan| matches!(plan, Plan::Expand(_));
    if !chain().all(|plan| is_part(plan) || matches!(plan, Plan::Argument))
        || chain().filter(is_expand).count() != 1
    {
        return None;
    }
    let mut inner = Chain::of(p.inner.clone());
    let at = inner.operators.iter().position(|plan| is_expand(&plan))?;
    let found = inner.find(at, &|_| false)?;
    let degrees = Degrees { optional: true, kept: None, ..found.degrees.clone() };
    inner.replace(at, found);
    inner.operators.iter().all(|plan| !matches!(plan, Plan::Filter(_))).then_some(degrees)
}

/// Makes an operator keep these columns.
fn keep(operator: &mut Plan, slots: &[Slot]) {
    let kept = match operator {
        Plan::Prune(p) => Some(&mut p.slots),
        Plan::Expand(p) => p.kept.as_mut(),
        Plan::Intersect(p) => p.kept.as_mut(),
        Plan::Degrees(p) => p.kept.as_mut(),
        Plan::Apply(p) => {
            let mut inner = Some(&mut p.inner);
            while let Some(plan) = inner {
                keep(plan, slots);
                inner = plan.input_mut();
            }
            None
        }
        _ => None,
    };
    if let Some(kept) = kept {
        kept.extend(slots);
        kept.sort_unstable();
        kept.dedup();
    }
}

/// Condition on a node that a count can test.
enum NodeCondition {
    Label(Arc<str>),
    /// The node differs from this one.
    Other(Slot),
}

fn condition_on(condition: &Expr, node: Slot) -> Option<NodeCondition> {
    let slot = |e: &Expr| match e {
        Expr::Slot(slot) => Some(*slot),
        _ => None,
    };
    match condition {
        Expr::HasLabels(of, Labels::Name(label)) if slot(of) == Some(node) => {
            Some(NodeCondition::Label(label.text().clone()))
        }
        Expr::Binary(Binary::NotEqual, a, b) if slot(a) == Some(node) => {
            slot(b).map(NodeCondition::Other)
        }
        Expr::Binary(Binary::NotEqual, a, b) if slot(b) == Some(node) => {
            slot(a).map(NodeCondition::Other)
        }
        _ => None,
    }
}

/// Parts of a conjunction.
fn parts(condition: &Expr) -> &[Expr] {
    match condition {
        Expr::And(parts) => parts,
        other => std::slice::from_ref(other),
    }
}

fn reads_any(e: &Expr, slots: &[Slot]) -> bool {
    let mut reads = false;
    e.slots(&mut |slot| reads |= slots.contains(&slot));
    reads
}

fn all_exprs(plan: &Plan, holds: &dyn Fn(&Expr) -> bool) -> bool {
    let mut all = true;
    plan.exprs(&mut |e| all &= holds(e));
    all
}

/// True if the operator is deterministic.
fn is_fixed(plan: &Plan) -> bool {
    match plan {
        Plan::Apply(p) => p.inner.is_fixed_whole(),
        plan => all_exprs(plan, &Expr::is_fixed),
    }
}
