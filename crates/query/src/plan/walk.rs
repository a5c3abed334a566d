//! Walks over plans: what an operator reads, binds and does.

use std::collections::BTreeSet;

use super::{CreateStep, LabelName, Leg, Plan, SetItem, Sought};
use crate::batch::Slot;
use crate::expr::Expr;
use crate::procedure::Mode;

/// The plan that an operator reads its rows from, borrowed one way or the other.
macro_rules! input {
    ($plan:expr $(, $mut:tt)?) => {
        Some(match $plan {
            Plan::Unit | Plan::Argument | Plan::Union(_) | Plan::CountStore(_) => return None,
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
    fn inner(&self) -> Option<&Self> {
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
    pub(super) fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        match self {
            Self::IndexSeek(p) => sought_exprs(&p.sought, f),
            Self::RelationshipSeek(p) => sought_exprs(&p.sought, f),
            Self::NodeById(p) => f(&p.id),
            Self::VarExpand(p) => p.filter.iter().for_each(|(_, e)| f(e)),
            Self::ShortestPath(p) => p.filter.iter().for_each(|(_, e)| f(e)),
            Self::HashJoin(p) => p.keys.iter().flat_map(|(a, b)| [a, b]).for_each(f),
            Self::Select(p) => f(&p.paths.count),
            Self::InTransactions(p) => f(&p.rows),
            Self::Filter(_, e) | Self::Skip(_, e) | Self::Limit(_, e) | Self::Unwind(_, _, e) => {
                f(e);
            }
            Self::Extend(_, items) => items.iter().for_each(|(_, e)| f(e)),
            Self::Aggregate(p) => {
                p.keys.iter().for_each(|(_, e)| f(e));
                p.aggregates.iter().flat_map(|(_, call)| &call.arguments).for_each(f);
            }
            Self::Sort(p) => {
                p.keys.iter().for_each(|(e, _)| f(e));
                p.top.iter().for_each(f);
            }
            Self::Create(p) => create_exprs(&p.steps, f),
            Self::Merge(p) => {
                create_exprs(&p.steps, f);
                set_exprs(&p.on_create, f);
                set_exprs(&p.on_match, f);
            }
            Self::Set(_, items) => set_exprs(items, f),
            Self::Delete(p) => p.targets.iter().for_each(f),
            Self::Foreach(p) => f(&p.list),
            Self::Call(p) => p.arguments.iter().for_each(f),
            Self::LoadCsv(p) => f(&p.source),
            _ => {}
        }
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
    pub(super) fn read_slots(&self) -> Vec<Slot> {
        match self {
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
                slots.extend(p.apply.by_row.iter().flatten().chain(&p.status));
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
    pub(super) fn is_row_wise(&self) -> bool {
        matches!(
            self,
            Self::NodeScan(_)
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

fn sought_exprs<'p>(sought: &'p Sought, f: &mut dyn FnMut(&'p Expr)) {
    sought.prefix.iter().chain(sought.next.exprs()).chain(&sought.test).for_each(f);
}

fn create_exprs<'p>(steps: &'p [CreateStep], f: &mut dyn FnMut(&'p Expr)) {
    for step in steps {
        match step {
            CreateStep::Node { labels, properties, .. } => {
                label_exprs(labels, f);
                properties.iter().for_each(&mut *f);
            }
            CreateStep::Relationship { ty, properties, .. } => {
                label_exprs(std::slice::from_ref(ty), f);
                properties.iter().for_each(&mut *f);
            }
            CreateStep::Extend(_, e) => f(e),
        }
    }
}

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

fn label_exprs<'p>(labels: &'p [LabelName], f: &mut dyn FnMut(&'p Expr)) {
    for label in labels {
        if let LabelName::Dynamic(e) = label {
            f(e);
        }
    }
}

fn set_exprs<'p>(items: &'p [SetItem], f: &mut dyn FnMut(&'p Expr)) {
    for item in items {
        match item {
            SetItem::Property { object, key, value } => {
                [object, key, value].into_iter().for_each(&mut *f)
            }
            SetItem::Properties { object, value, .. } => {
                [object, value].into_iter().for_each(&mut *f)
            }
            SetItem::AddLabels { node, labels } | SetItem::RemoveLabels { node, labels } => {
                f(node);
                label_exprs(labels, f);
            }
        }
    }
}
