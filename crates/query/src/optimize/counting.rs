//! Rows that nobody looks at are counted instead of made.
//!
//! Where only the number of rows is wanted, an expansion to a node that nothing else reads becomes
//! [`Degrees`]: the row stays one row and carries a count, and the counts of several expansions are
//! multiplied. The number of rows is the sum of the last count:
//!
//! ```text
//!  count(*)                          sum(n2)
//!  Filter    c:Tag AND a <> c        ExpandCount  (b)-->(:Tag) <> a * n1 AS n2
//!  Expand    (b)-->(c)               OptionalExpandCount  (b)<--() AS n1
//!  Optional  (b)<--(d)               Expand  (a)-->(b)
//!  Expand    (a)-->(b)
//! ```
//!
//! The conditions on such a node may be one label, and that it is none of other nodes of the row
//! (`a <> c`). Each is taken out of its filter; the count stands where the last of them was tested.
//! A condition that may answer otherwise each time, such as `rand() < 0.5`, is asked for every row,
//! so nothing below it is counted.
//!
//! Relationships stay distinct: what an expansion may not find again is not counted, and an
//! expansion whose relationship a later one must differ from is not counted itself.
//!
//! Source: D. Olteanu, M. Schleich, "Factorized databases", SIGMOD Record 2016.

use std::sync::Arc;

use crate::batch::Slot;
use crate::expr::{Binary, Expr, Labels};
use crate::plan::{Degrees, Expand, Plan};

/// Operators that may stand above an expansion that is counted: all of them are looked through.
const ABOVE_MAX: usize = 128;

/// The number of rows of a plan of which nothing is read but what `reads` says, as the sum of a
/// variable that is added here; `None` if no expansion is counted. `slot` makes new variables.
pub(crate) fn counted(
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

/// An expansion that can be counted.
struct Counted {
    /// The filter under which the count goes, if not where the expansion stands.
    filter: Option<usize>,
    /// The node that nobody reads.
    node: Option<Slot>,
    degrees: Degrees,
}

/// Operators that make each row of one row, the topmost first, each without its input.
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

    /// The expansion at a place, if it can be counted.
    fn find(&self, at: usize, reads: &dyn Fn(Slot) -> bool) -> Option<Counted> {
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
            // A node that may be null can be asked for in more ways.
            let (Plan::Filter(p), Some(node)) = (operator, node) else { return None };
            for part in parts(&p.condition).iter().filter(|part| reads_any(part, &new)) {
                match condition_on(part, node)? {
                    On::Label(label) if degrees.label.is_none() => degrees.label = Some(label),
                    On::Label(_) => return None,
                    On::Other(other) if new.contains(&other) => return None,
                    On::Other(other) => {
                        degrees.except.push(other);
                        filter = Some(place);
                    }
                }
            }
        }
        if let Some(filter) = filter {
            // Those between are now asked for rows that the expansion would have dropped.
            let between = &self.operators[filter + 1..at];
            if !between.iter().all(|operator| all_exprs(operator, &Expr::never_fails)) {
                return None;
            }
            degrees.kept = None;
        }
        Some(Counted { filter, node, degrees })
    }

    /// Replaces the expansion at a place. Returns the place of what was below it.
    fn replace(&mut self, at: usize, found: Counted) -> usize {
        let Counted { filter, node, degrees } = found;
        let place = filter.map_or(at, |filter| filter + 1);
        // What the last of several filters does not read may be dropped before it.
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

    /// Lets each count multiply the one below it, and keeps it as long as it is read. Returns the
    /// topmost, which is their product.
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

/// The count of an expansion.
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
        // It has a variable once it is certain that there is a count.
        count: 0,
        scans: p.scans,
    }
}

/// The count of an `OPTIONAL MATCH` that makes one expansion and nothing else.
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

/// Lets an operator hand these columns on.
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

/// Meaning of a condition for a node.
enum On {
    Label(Arc<str>),
    /// The node is none of these.
    Other(Slot),
}

fn condition_on(condition: &Expr, node: Slot) -> Option<On> {
    let slot = |e: &Expr| match e {
        Expr::Slot(slot) => Some(*slot),
        _ => None,
    };
    match condition {
        Expr::HasLabels(of, Labels::Name(label)) if slot(of) == Some(node) => {
            Some(On::Label(Arc::clone(label)))
        }
        Expr::Binary(Binary::NotEqual, a, b) if slot(a) == Some(node) => slot(b).map(On::Other),
        Expr::Binary(Binary::NotEqual, a, b) if slot(b) == Some(node) => slot(a).map(On::Other),
        _ => None,
    }
}

/// The parts of a conjunction.
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

/// True if the operator makes the same of the same row at any time.
fn is_fixed(plan: &Plan) -> bool {
    match plan {
        Plan::Apply(p) => p.inner.is_fixed_whole(),
        plan => all_exprs(plan, &Expr::is_fixed),
    }
}
