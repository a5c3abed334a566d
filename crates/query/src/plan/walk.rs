//! Walks over plans, which combine the answers of their operators.

use std::collections::BTreeSet;

use super::{Plan, Shape};
use crate::batch::Slot;
use crate::expr::Expr;
use crate::procedure::Mode;

impl Plan {
    /// Plan that it reads its rows from, if there is exactly one.
    pub(crate) fn input(&self) -> Option<&Self> {
        self.operator().input()
    }

    /// Mutable [`input`](Self::input).
    pub(crate) fn input_mut(&mut self) -> Option<&mut Self> {
        self.operator_mut()?.input_mut()
    }

    /// Inner plan, which begins with `Argument`, if it has one.
    pub(crate) fn inner(&self) -> Option<&Self> {
        self.operator().inner()
    }

    /// Mutable [`inner`](Self::inner).
    pub(crate) fn inner_mut(&mut self) -> Option<&mut Self> {
        self.operator_mut()?.inner_mut()
    }

    /// Calls `f` with each of the operator's own expressions.
    pub(crate) fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        self.operator().exprs(f);
    }

    /// Mutable [`exprs`](Self::exprs).
    pub(crate) fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        if let Some(operator) = self.operator_mut() {
            operator.exprs_mut(f);
        }
    }

    /// Variables that the operator binds.
    pub(crate) fn bound_slots(&self) -> Vec<Slot> {
        self.operator().binds()
    }

    /// Variables that the operator reads, without those of its expressions.
    pub(crate) fn read_slots(&self) -> Vec<Slot> {
        self.operator().reads()
    }

    /// True if the operator itself changes the graph.
    pub(crate) fn changes_graph(&self) -> bool {
        self.operator().writes()
    }

    /// Calls `f` with each plan it reads from, mutable.
    pub(crate) fn inputs_mut(&mut self, f: &mut dyn FnMut(&mut Self)) {
        match self {
            Self::Union(p) => p.parts.iter_mut().for_each(f),
            Self::HashJoin(p) => {
                f(&mut p.input);
                f(&mut p.build);
            }
            _ => {
                self.input_mut().into_iter().for_each(&mut *f);
                self.inner_mut().into_iter().for_each(f);
            }
        }
    }

    /// Plans it reads from, without [`input`](Self::input).
    pub(crate) fn beside(&self) -> impl Iterator<Item = &Self> {
        let (parts, build) = match self {
            Self::Union(p) => (&p.parts[..], None),
            Self::HashJoin(p) => (&[][..], Some(&p.build)),
            _ => (&[][..], None),
        };
        parts.iter().chain(build).chain(self.inner())
    }

    /// Plans it reads from; the inner plan comes last.
    pub(crate) fn inputs(&self) -> Vec<&Self> {
        self.input().into_iter().chain(self.beside()).collect()
    }

    /// Columns that no operator of the plan reads: they are added above all operators that read or
    /// keep rows.
    pub(crate) fn last_columns(&self) -> Vec<Slot> {
        let (mut slots, mut at) = (Vec::new(), self);
        loop {
            at = match at {
                Self::Extend(p) => {
                    slots.extend(p.items.iter().map(|(slot, _)| *slot));
                    &p.input
                }
                Self::Keep(p) => &p.input,
                Self::Prune(p) => &p.input,
                Self::Parallel(p) => &p.input,
                _ => return slots,
            };
        }
    }

    /// True if `holds` is true for an operator of the plan. A loop follows the inputs, since plans
    /// are long and have few branches.
    fn any(&self, holds: &dyn Fn(&Self) -> bool) -> bool {
        let mut chain = std::iter::successors(Some(self), |plan| plan.input());
        chain.any(|at| holds(at) || at.beside().any(|plan| plan.any(holds)))
    }

    /// True if one of the operator's own expressions has a subquery.
    pub(crate) fn has_subqueries(&self) -> bool {
        let mut found = false;
        self.subqueries(&mut |_| found = true);
        found
    }

    /// Calls `f` with the plan of every subquery in the operator's own expressions.
    pub(crate) fn subqueries<'p>(&'p self, f: &mut dyn FnMut(&'p Self)) {
        self.exprs(&mut |e| e.subqueries(f));
    }

    /// Address, which identifies an operator of a plan.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Calls `f` with every slot read anywhere in the plan.
    pub(crate) fn slots(&self, f: &mut dyn FnMut(Slot)) {
        self.read_slots().into_iter().for_each(&mut *f);
        self.exprs(&mut |e| e.slots(f));
        self.inputs().into_iter().for_each(|input| input.slots(f));
    }

    /// Collects every slot that is bound inside the plan.
    pub(crate) fn own_slots(&self, own: &mut Vec<Slot>) {
        own.extend(self.bound_slots());
        self.exprs(&mut |e| own.extend(e.own_slots()));
        self.inputs().into_iter().for_each(|input| input.own_slots(own));
    }

    /// Adds the names of the operators, those of the subqueries in expressions included.
    pub(crate) fn operators(&self, names: &mut BTreeSet<&'static str>) {
        for at in std::iter::successors(Some(self), |plan| plan.input()) {
            names.insert(at.name());
            at.beside().for_each(|plan| plan.operators(names));
            at.subqueries(&mut |plan| plan.operators(names));
        }
    }

    /// Depth of operators and expressions: the frames that a stack must hold.
    pub(crate) fn height(&self) -> usize {
        let mut deepest = 0;
        self.exprs(&mut |e| deepest = deepest.max(e.height()));
        let below = self.inputs().into_iter().map(Self::height).max().unwrap_or(0);
        deepest.max(below).saturating_add(1)
    }

    /// Approximate bytes of the plan.
    pub(crate) fn bytes(&self) -> usize {
        let chain = std::iter::successors(Some(self), |plan| plan.input());
        chain.map(|at| at.own_bytes() + at.beside().map(Self::bytes).sum::<usize>()).sum()
    }

    fn own_bytes(&self) -> usize {
        /// Bytes of the largest operator, with the overhead of its allocation.
        const OPERATOR: usize = 256;
        let mut bytes = OPERATOR;
        // A relationship has a list of all that it must differ from.
        bytes += (self.read_slots().len() + self.bound_slots().len()) * size_of::<Slot>();
        self.exprs(&mut |e| bytes += e.bytes());
        bytes
    }

    /// Depth of operators in the description of the plan.
    pub(crate) fn shown_levels(&self) -> usize {
        let mut below = 0;
        self.subqueries(&mut |plan| below = below.max(plan.shown_levels()));
        let below = self.inputs().into_iter().map(Self::shown_levels).fold(below, usize::max);
        below + usize::from(!matches!(self, Self::Prune(..) | Self::Parallel(_)))
    }

    /// True if each row of the plan comes from one outer row and has its columns, so that the plan
    /// can run for many outer rows at once.
    pub(crate) fn keeps_rows_apart(&self) -> bool {
        let itself = match self {
            Self::Argument | Self::Union(_) => true,
            Self::Apply(p) => p.returns && !p.inner.writes(),
            _ => self.is_row_wise(),
        };
        itself && self.inputs().into_iter().all(Self::keeps_rows_apart)
    }

    /// True if the operator is row-wise: each of its rows comes from one row of its input and has
    /// its columns, and the operator changes nothing.
    pub(crate) fn is_row_wise(&self) -> bool {
        matches!(self.operator().shape(), Shape::Finds | Shape::Computes)
    }

    /// True if the operator and its expressions are deterministic for one state of the graph.
    pub(crate) fn is_fixed(&self) -> bool {
        let mut fixed = self.operator().is_repeatable();
        self.exprs(&mut |e| fixed &= e.is_fixed());
        fixed
    }

    /// True if the whole plan is deterministic for one state of the graph.
    pub(crate) fn is_fixed_whole(&self) -> bool {
        self.is_fixed() && self.inputs().into_iter().all(Self::is_fixed_whole)
    }

    /// True if the plan changes the graph.
    pub(crate) fn writes(&self) -> bool {
        self.any(&Self::changes_graph)
    }

    /// True if it calls a procedure that changes indexes or constraints.
    pub(crate) fn changes_schema(&self) -> bool {
        self.any(&|plan| matches!(plan, Self::Call(c) if c.procedure.0.mode() == Mode::Schema))
    }

    /// True if the plan has a `CALL { } IN TRANSACTIONS`.
    pub(crate) fn runs_in_transactions(&self) -> bool {
        self.any(&|plan| matches!(plan, Self::InTransactions(_)))
    }

    /// True if the plan has a `CALL { } IN TRANSACTIONS`.
    ///
    /// # Errors
    /// The reason why it may not stand there.
    pub(crate) fn in_transactions(&self) -> Result<bool, &'static str> {
        fn count(plan: &Plan) -> usize {
            let itself = usize::from(matches!(plan, Plan::InTransactions(_)));
            itself + plan.inputs().into_iter().map(count).sum::<usize>()
        }
        let all = count(self);
        if all == 0 {
            return Ok(false);
        }
        let (mut at, mut outermost) = (self, 0);
        while !matches!(at, Self::Union(_)) {
            let mut inputs = at.inputs().into_iter();
            let Some(next) = inputs.next() else { break };
            if matches!(at, Self::InTransactions(_)) {
                outermost += 1;
            } else if at.changes_graph() || inputs.any(Self::writes) {
                return Err("beside CALL { } IN TRANSACTIONS nothing may change the graph");
            }
            at = next;
        }
        match outermost == all {
            true => Ok(true),
            false => {
                Err("CALL { } IN TRANSACTIONS stands neither in another subquery nor in UNION")
            }
        }
    }
}
