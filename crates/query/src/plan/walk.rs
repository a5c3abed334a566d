//! Walks over plans: what an operator reads, binds and does.

use std::collections::BTreeSet;

use super::{CreateStep, LabelName, Leg, NextKey, Plan, SetItem, Sought};
use crate::batch::Slot;
use crate::expr::Expr;
use crate::expr::area::Area;
use crate::procedure::Mode;

/// The plan that an operator reads its rows from, borrowed one way or the other.
macro_rules! input {
    ($plan:expr $(, $mut:tt)?) => {
        Some(match $plan {
            Plan::Unit | Plan::Argument | Plan::Union(_) | Plan::CountStore(_) => return None,
            Plan::Match(p) => &$($mut)? p.input,
            Plan::NodeScan(p) => &$($mut)? p.input,
            Plan::IndexSeek(p) => &$($mut)? p.input,
            Plan::RelationshipSeek(p) => &$($mut)? p.input,
            Plan::NodeById(p) => &$($mut)? p.input,
            Plan::Expand(p) => &$($mut)? p.input,
            Plan::Intersect(p) => &$($mut)? p.input,
            Plan::Degrees(p) => &$($mut)? p.input,
            Plan::HashJoin(p) => &$($mut)? p.input,
            Plan::VarExpand(p) => &$($mut)? p.input,
            Plan::ShortestPath(p) => &$($mut)? p.input,
            Plan::Repeat(p) => &$($mut)? p.input,
            Plan::Select(p) => &$($mut)? p.input,
            Plan::Filter(input, _)
            | Plan::Extend(input, _)
            | Plan::Keep(input, _)
            | Plan::Prune(input, _)
            | Plan::Distinct(input, _)
            | Plan::Skip(input, _)
            | Plan::Limit(input, _)
            | Plan::Unwind(input, ..)
            | Plan::Eager(input)
            | Plan::Set(input, _) => input,
            Plan::Aggregate(p) => &$($mut)? p.input,
            Plan::Sort(p) => &$($mut)? p.input,
            Plan::Apply(p) => &$($mut)? p.input,
            Plan::InTransactions(p) => &$($mut)? p.apply.input,
            Plan::Create(p) => &$($mut)? p.input,
            Plan::Merge(p) => &$($mut)? p.input,
            Plan::Delete(p) => &$($mut)? p.input,
            Plan::Foreach(p) => &$($mut)? p.input,
            Plan::Call(p) => &$($mut)? p.input,
            Plan::LoadCsv(p) => &$($mut)? p.input,
            Plan::Parallel(p) => &$($mut)? p.input,
        })
    };
}

/// Walks over an operator's own expressions, borrowed one way or the other.
macro_rules! exprs {
    ($plan:expr, $f:ident, $iter:ident, $exprs:ident $(, $mut:tt)?) => {
        match $plan {
            Self::Match(p) => p.pattern.$exprs($f),
            Self::IndexSeek(p) => p.sought.$exprs($f),
            Self::RelationshipSeek(p) => p.sought.$exprs($f),
            Self::NodeById(p) => $f(&$($mut)? p.id),
            Self::VarExpand(p) => p.filter.$iter().for_each(|(_, e)| $f(e)),
            Self::ShortestPath(p) => p.filter.$iter().for_each(|(_, e)| $f(e)),
            Self::HashJoin(p) => p.keys.$iter().flat_map(|(a, b)| [a, b]).for_each($f),
            Self::Select(p) => $f(&$($mut)? p.paths.count),
            Self::InTransactions(p) => $f(&$($mut)? p.rows),
            Self::Filter(_, e) | Self::Skip(_, e) | Self::Limit(_, e) | Self::Unwind(_, _, e) => {
                $f(e);
            }
            Self::Extend(_, items) => items.$iter().for_each(|(_, e)| $f(e)),
            Self::Aggregate(p) => {
                p.keys.$iter().for_each(|(_, e)| $f(e));
                p.aggregates.$iter().flat_map(|(_, call)| call.arguments.$iter()).for_each($f);
            }
            Self::Sort(p) => {
                p.keys.$iter().for_each(|(e, _)| $f(e));
                p.top.$iter().for_each($f);
            }
            Self::Create(p) => p.steps.$iter().for_each(|step| step.$exprs($f)),
            Self::Merge(p) => {
                p.steps.$iter().for_each(|step| step.$exprs($f));
                p.on_create.$iter().for_each(|item| item.$exprs($f));
                p.on_match.$iter().for_each(|item| item.$exprs($f));
            }
            Self::Set(_, items) => items.$iter().for_each(|item| item.$exprs($f)),
            Self::Delete(p) => p.targets.$iter().for_each($f),
            Self::Foreach(p) => $f(&$($mut)? p.list),
            Self::Call(p) => p.arguments.$iter().for_each($f),
            Self::LoadCsv(p) => $f(&$($mut)? p.source),
            _ => {}
        }
    };
}

impl Plan {
    /// The plan it reads its rows from, if there is exactly one.
    pub(crate) fn input(&self) -> Option<&Self> {
        input!(self)
    }

    /// The same, to be changed.
    pub(crate) fn input_mut(&mut self) -> Option<&mut Self> {
        input!(self, mut)
    }

    /// Columns that are added above every operator that keeps rows or looks at them: whoever takes
    /// the plan's rows is the first to read these.
    pub(crate) fn last_columns(&self) -> Vec<Slot> {
        let (mut slots, mut at) = (Vec::new(), self);
        loop {
            at = match at {
                Self::Extend(input, items) => {
                    slots.extend(items.iter().map(|(slot, _)| *slot));
                    input
                }
                Self::Keep(input, _) | Self::Prune(input, _) => input,
                Self::Parallel(parallel) => &parallel.input,
                _ => return slots,
            };
        }
    }

    /// The plan that begins with `Argument`, if it has one.
    pub(crate) fn inner(&self) -> Option<&Self> {
        Some(match self {
            Self::Repeat(p) => &p.inner,
            Self::Select(p) => &p.inner,
            Self::Apply(p) => &p.inner,
            Self::InTransactions(p) => &p.apply.inner,
            Self::Merge(p) => &p.matching,
            Self::Foreach(p) => &p.inner,
            _ => return None,
        })
    }

    /// Calls `f` with each of the plans it reads from, to be changed.
    pub(crate) fn inputs_mut(&mut self, f: &mut dyn FnMut(&mut Self)) {
        match self {
            Self::Union(parts) => parts.iter_mut().for_each(f),
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

    /// Whether a query stands in one of the operator's own expressions.
    pub(crate) fn has_subqueries(&self) -> bool {
        let mut found = false;
        self.subqueries(&mut |_| found = true);
        found
    }

    /// The plans it reads from, but [`input`](Self::input).
    pub(crate) fn beside(&self) -> impl Iterator<Item = &Self> {
        let (parts, build) = match self {
            Self::Union(parts) => (&parts[..], None),
            Self::HashJoin(p) => (&[][..], Some(&p.build)),
            _ => (&[][..], None),
        };
        parts.iter().chain(build).chain(self.inner())
    }

    /// Whether something holds for an operator of the plan. Its own loop follows what operators
    /// read from: plans are long, not branched.
    fn any(&self, holds: &dyn Fn(&Self) -> bool) -> bool {
        let mut chain = std::iter::successors(Some(self), |plan| plan.input());
        chain.any(|at| holds(at) || at.beside().any(|plan| plan.any(holds)))
    }

    /// The plans it reads from; inner plans, which begin with `Argument`, come last.
    pub(crate) fn inputs(&self) -> Vec<&Self> {
        match self {
            Self::Union(parts) => parts.iter().collect(),
            Self::HashJoin(p) => vec![&p.input, &p.build],
            _ => self.input().into_iter().chain(self.inner()).collect(),
        }
    }

    /// Calls `f` with each of the operator's own expressions.
    pub(crate) fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        exprs!(self, f, iter, exprs);
    }

    /// The same, to be changed.
    pub(crate) fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        exprs!(self, f, iter_mut, exprs_mut, mut);
    }

    /// The plan that begins with `Argument`, if it has one, to be changed.
    pub(crate) fn inner_mut(&mut self) -> Option<&mut Self> {
        Some(match self {
            Self::Repeat(p) => &mut p.inner,
            Self::Select(p) => &mut p.inner,
            Self::Apply(p) => &mut p.inner,
            Self::InTransactions(p) => &mut p.apply.inner,
            Self::Merge(p) => &mut p.matching,
            Self::Foreach(p) => &mut p.inner,
            _ => return None,
        })
    }

    /// Calls `f` with the plan of every subquery in the operator's own expressions.
    pub(crate) fn subqueries<'p>(&'p self, f: &mut dyn FnMut(&'p Self)) {
        self.exprs(&mut |e| e.subqueries(f));
    }

    /// What tells this operator apart from all others of a plan.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Slots that the operator reads beside those of its expressions.
    pub(crate) fn read_slots(&self) -> Vec<Slot> {
        match self {
            Self::Match(p) => p.bound.iter().copied().collect(),
            Self::Expand(p) => {
                let mut slots = vec![p.from];
                slots.extend(p.into.then_some(p.to));
                slots.extend(&p.distinct_from);
                slots
            }
            Self::VarExpand(p) => {
                let mut slots = vec![p.from];
                slots.extend(p.into.then_some(p.to));
                slots.extend(p.bound.then_some(p.edges));
                slots.extend(&p.distinct_from);
                slots
            }
            Self::Intersect(p) => {
                let reads = |leg: &Leg| [&[leg.from], &leg.distinct_from[..]].concat();
                let own: Vec<Slot> = p.legs.iter().map(|leg| leg.edge).collect();
                let slots = p.legs.iter().flat_map(reads);
                slots.filter(|slot| !own.contains(slot)).collect()
            }
            Self::Degrees(p) => {
                let mut slots = [&[p.from], &p.distinct_from[..], &p.except[..]].concat();
                slots.extend(p.times);
                slots
            }
            Self::RelationshipSeek(p) => p.distinct_from.clone(),
            Self::ShortestPath(p) => vec![p.from, p.to],
            Self::Repeat(p) => {
                let mut slots = vec![p.from];
                slots.extend(p.into.then_some(p.to));
                slots
            }
            Self::Select(p) => p.slots.clone(),
            Self::Keep(_, slots) | Self::Distinct(_, slots) => slots.clone(),
            Self::Create(p) => create_ends(&p.steps),
            Self::Merge(p) => create_ends(&p.steps),
            _ => Vec::new(),
        }
    }

    /// Slots that the operator itself binds.
    pub(crate) fn bound_slots(&self) -> Vec<Slot> {
        match self {
            Self::Match(p) => {
                let mut slots = Vec::new();
                p.new_slots(&mut |slot| slots.push(slot));
                slots
            }
            Self::NodeScan(p) => vec![p.slot],
            Self::IndexSeek(p) => vec![p.slot],
            Self::RelationshipSeek(p) => {
                let mut slots = vec![p.edge, p.from];
                slots.extend((p.to != p.from).then_some(p.to));
                slots
            }
            Self::NodeById(p) => vec![p.slot],
            Self::Expand(p) => {
                if p.into {
                    vec![p.edge]
                } else {
                    vec![p.edge, p.to]
                }
            }
            Self::Intersect(p) => {
                std::iter::once(p.to).chain(p.legs.iter().map(|leg| leg.edge)).collect()
            }
            Self::Degrees(p) => vec![p.count],
            Self::VarExpand(p) => {
                let mut slots = vec![p.edges];
                slots.extend((!p.into).then_some(p.to));
                slots.extend(p.filter.iter().map(|(slot, _)| *slot));
                slots
            }
            Self::ShortestPath(p) => {
                let filter = p.filter.iter().map(|(slot, _)| *slot);
                std::iter::once(p.edges).chain(filter).collect()
            }
            Self::Repeat(p) => {
                let mut slots = vec![p.row, p.first, p.edges];
                slots.extend((!p.into).then_some(p.to));
                slots.extend(p.lists.iter().map(|(_, list)| *list));
                slots
            }
            Self::Extend(_, items) => items.iter().map(|(slot, _)| *slot).collect(),
            Self::Aggregate(p) => {
                let keys = p.keys.iter().map(|(slot, _)| *slot);
                keys.chain(p.aggregates.iter().map(|(slot, _)| *slot)).collect()
            }
            Self::CountStore(p) => p.slots.clone(),
            Self::Unwind(_, slot, _) => vec![*slot],
            // Its rows are some of those of the plan inside.
            Self::Select(p) => {
                let mut slots = Vec::new();
                p.inner.own_slots(&mut slots);
                slots
            }
            Self::InTransactions(p) => {
                let mut slots = vec![p.apply.row];
                slots.extend(p.apply.columns.iter().chain(&p.status));
                slots
            }
            Self::Apply(p) => {
                std::iter::once(p.row).chain(p.optional.iter().flatten().copied()).collect()
            }
            Self::Create(p) => create_slots(&p.steps),
            Self::Merge(p) => create_slots(&p.steps),
            Self::Foreach(p) => vec![p.variable],
            Self::Call(p) => p.yields.iter().map(|(_, slot)| *slot).collect(),
            Self::LoadCsv(p) if p.places => vec![p.slot, p.line, p.file],
            Self::LoadCsv(p) => vec![p.slot],
            _ => Vec::new(),
        }
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

    /// Levels of operators and expressions, the deepest way down: what a stack must hold.
    pub(crate) fn height(&self) -> usize {
        let mut deepest = 0;
        self.exprs(&mut |e| deepest = deepest.max(e.height()));
        let below = self.inputs().into_iter().map(Self::height).max().unwrap_or(0);
        deepest.max(below).saturating_add(1)
    }

    /// Bytes that the plan takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let chain = std::iter::successors(Some(self), |plan| plan.input());
        chain.map(|at| at.own_bytes() + at.beside().map(Self::bytes).sum::<usize>()).sum()
    }

    fn own_bytes(&self) -> usize {
        /// The largest operator, with what the system adds.
        const OPERATOR: usize = 256;
        let mut bytes = OPERATOR;
        // A relationship has a list of all that it must differ from.
        bytes += (self.read_slots().len() + self.bound_slots().len()) * size_of::<Slot>();
        self.exprs(&mut |e| bytes += e.bytes());
        bytes
    }

    /// Levels of operators that a description of the plan has.
    pub(crate) fn shown_levels(&self) -> usize {
        let mut below = 0;
        self.subqueries(&mut |plan| below = below.max(plan.shown_levels()));
        let below = self.inputs().into_iter().map(Self::shown_levels).fold(below, usize::max);
        below + usize::from(!matches!(self, Self::Prune(..) | Self::Parallel(_)))
    }

    /// Whether each row that comes out was made of one row that went in and carries its columns, so
    /// that the plan can run for many outer rows at once.
    pub(crate) fn keeps_rows_apart(&self) -> bool {
        let itself = match self {
            Self::Argument | Self::Union(_) => true,
            Self::Apply(p) => p.returns && !p.inner.writes(),
            _ => self.is_row_wise(),
        };
        itself && self.inputs().into_iter().all(Self::keeps_rows_apart)
    }

    /// Whether the operator makes each of its rows of one row of its input, whose columns it keeps,
    /// and does nothing else.
    pub(crate) fn is_row_wise(&self) -> bool {
        matches!(
            self,
            Self::Match(_)
                | Self::NodeScan(_)
                | Self::IndexSeek(_)
                | Self::RelationshipSeek(_)
                | Self::NodeById(_)
                | Self::Expand(_)
                | Self::Intersect(_)
                | Self::Degrees(_)
                | Self::VarExpand(_)
                | Self::ShortestPath(_)
                | Self::Repeat(_)
                | Self::Select(_)
                | Self::Filter(..)
                | Self::Extend(..)
                | Self::Prune(..)
                | Self::Unwind(..)
        )
    }

    /// Whether the plan changes the graph.
    pub(crate) fn writes(&self) -> bool {
        self.any(&Self::changes_graph)
    }

    /// Whether the operator itself changes the graph.
    pub(crate) fn changes_graph(&self) -> bool {
        match self {
            Self::Create(_)
            | Self::Merge(_)
            | Self::Set(..)
            | Self::Delete(_)
            | Self::Foreach(_) => true,
            Self::Call(call) => call.procedure.0.mode().changes(),
            _ => false,
        }
    }

    /// True if it calls a procedure that changes indexes or constraints.
    pub(crate) fn changes_schema(&self) -> bool {
        self.any(&|plan| matches!(plan, Self::Call(c) if c.procedure.0.mode() == Mode::Schema))
    }

    /// Whether `CALL { } IN TRANSACTIONS` stands in the plan.
    pub(crate) fn runs_in_transactions(&self) -> bool {
        self.any(&|plan| matches!(plan, Self::InTransactions(_)))
    }

    /// Whether `CALL { } IN TRANSACTIONS` stands in the plan, or what forbids it there.
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

/// The expressions of a part of operators: the same walk, borrowed one way or the other.
macro_rules! walks {
    ($($part:ty => $walk:ident),*) => {$(
        impl $part {
            /// Calls `f` with each of its expressions.
            pub(crate) fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
                $walk!(self, f, iter, exprs);
            }

            /// The same, to be changed.
            pub(crate) fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
                $walk!(self, f, iter_mut, exprs_mut);
            }
        }
    )*};
}

macro_rules! sought {
    ($of:expr, $f:ident, $iter:ident, $exprs:ident) => {{
        $of.prefix.$iter().for_each(&mut *$f);
        $of.next.$exprs($f);
        $of.test.$iter().for_each($f);
    }};
}

macro_rules! next_key {
    ($of:expr, $f:ident, $iter:ident, $exprs:ident) => {
        match $of {
            NextKey::Anything => {}
            NextKey::Between(from, to) => {
                from.$iter().chain(to.$iter()).for_each(|(e, _)| $f(e));
            }
            NextKey::StartsWith(e) | NextKey::EndsWith(e) | NextKey::Contains(e) => $f(e),
            NextKey::In(Area::Box(a, b)) => {
                $f(a);
                $f(b);
            }
            NextKey::In(Area::Circle { center, radius, .. }) => {
                $f(center);
                $f(radius);
            }
        }
    };
}

macro_rules! create_step {
    ($of:expr, $f:ident, $iter:ident, $exprs:ident) => {
        match $of {
            CreateStep::Node { labels, properties, .. } => {
                labels.$iter().for_each(|label| label.$exprs($f));
                properties.$iter().for_each($f);
            }
            CreateStep::Relationship { ty, properties, .. } => {
                ty.$exprs($f);
                properties.$iter().for_each($f);
            }
            CreateStep::Extend(_, e) => $f(e),
        }
    };
}

macro_rules! label_name {
    ($of:expr, $f:ident, $iter:ident, $exprs:ident) => {
        match $of {
            LabelName::Static(_) => {}
            LabelName::Dynamic(e) => $f(e),
        }
    };
}

macro_rules! set_item {
    ($of:expr, $f:ident, $iter:ident, $exprs:ident) => {
        match $of {
            SetItem::Property { object, key, value } => {
                $f(object);
                $f(key);
                $f(value);
            }
            SetItem::Properties { object, value, .. } => {
                $f(object);
                $f(value);
            }
            SetItem::AddLabels { node, labels } | SetItem::RemoveLabels { node, labels } => {
                $f(node);
                labels.$iter().for_each(|label| label.$exprs($f));
            }
        }
    };
}

walks!(
    Sought => sought,
    NextKey => next_key,
    CreateStep => create_step,
    LabelName => label_name,
    SetItem => set_item
);

fn create_ends(steps: &[CreateStep]) -> Vec<Slot> {
    let ends = |step: &CreateStep| match step {
        CreateStep::Relationship { from, to, .. } => vec![*from, *to],
        _ => Vec::new(),
    };
    steps.iter().flat_map(ends).collect()
}

fn create_slots(steps: &[CreateStep]) -> Vec<Slot> {
    let slot = |step: &CreateStep| match step {
        CreateStep::Node { slot, .. }
        | CreateStep::Relationship { slot, .. }
        | CreateStep::Extend(slot, _) => *slot,
    };
    steps.iter().map(slot).collect()
}
