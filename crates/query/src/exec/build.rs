//! From a plan to running operators.

use super::parallel::{Input, Morsels, Parallel};
use super::profile::Watched;
use super::{
    Exec, Operator, Ramp, Source, aggregate, apply, by_id, call, count_store, create, degrees,
    delete, distinct, expand, hash_join, in_transactions, index_seek, intersect, limit, load_csv,
    load_file, merge, project, reach, relationship_seek, repeat, scan, select, set, shortest, sort,
    union, unwind, var_expand,
};
use crate::batch::Batch;
use crate::files::FileFormat;
use crate::plan::{Plan, Shape};
use crate::query_error::QueryError;

/// Rows that are there from the start.
struct Rows(Option<Batch>);

impl Operator for Rows {
    fn next(&mut self, _: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        Ok(self.0.take().filter(|rows| rows.rows() > 0))
    }
}

/// Where operators begin that run for a part of what a plan reads.
#[derive(Clone, Copy)]
pub(super) enum Leaf<'p> {
    /// Instead of this plan there are the rows of the argument.
    Rows(&'p Plan),
    /// This scan finds only nodes with these numbers.
    Range(&'p Plan, u64, u64),
}

/// The operators of `plan`; `argument` are the rows that its [`Plan::Argument`] begins with.
/// Where the query is profiled, each is watched. `ramp` says how many rows are wanted first.
pub(crate) fn build<'p>(plan: &'p Plan, argument: &Batch, ramp: Ramp, cx: &Exec<'_>) -> Source<'p> {
    build_from(plan, argument, None, ramp, cx)
}

/// The same, from `leaf` on.
pub(super) fn build_from<'p>(
    plan: &'p Plan,
    argument: &Batch,
    leaf: Option<Leaf<'p>>,
    ramp: Ramp,
    cx: &Exec<'_>,
) -> Source<'p> {
    let operator: Source<'p> = match (leaf, plan) {
        (Some(Leaf::Rows(leaf)), plan) if std::ptr::eq(leaf, plan) => {
            return Box::new(Rows(Some(argument.clone())));
        }
        (Some(Leaf::Range(leaf, from, to)), Plan::NodeScan(p)) if std::ptr::eq(leaf, plan) => {
            let input = Box::new(Rows(Some(Batch::empty(1))));
            Box::new(scan::NodeScan::part(input, p, (from, to), ramp))
        }
        (leaf, Plan::Parallel(p)) => match cx.threads {
            None => return build_from(&p.input, argument, leaf, ramp, cx),
            Some(_) => return Box::new(Parallel::new(p, argument, ramp, cx)),
        },
        (leaf, plan) => operator(plan, argument, leaf, ramp, cx),
    };
    match &cx.profile {
        None => operator,
        Some(_) => Box::new(Watched::new(operator, plan)),
    }
}

fn operator<'p>(
    plan: &'p Plan,
    argument: &Batch,
    leaf: Option<Leaf<'p>>,
    ramp: Ramp,
    cx: &Exec<'_>,
) -> Source<'p> {
    let below = match plan {
        Plan::Limit(_) => Ramp::FEW,
        Plan::Sort(p) if p.in_order => Ramp::FEW,
        // All of it is read.
        plan if plan.operator().shape() == Shape::Gathers => Ramp::FULL,
        _ => ramp,
    };
    let input = |plan: &'p Plan| build_from(plan, argument, leaf, below, cx);
    let whole = |plan: &'p Plan| build_from(plan, argument, leaf, Ramp::FULL, cx);
    let shared = |plan: &'p Plan| match plan {
        Plan::Parallel(p) if cx.threads.is_some() => {
            Input::Shared(Morsels::new(p, argument, Ramp::FULL, cx))
        }
        plan => Input::Alone(whole(plan)),
    };
    match plan {
        Plan::Unit => Box::new(Rows(Some(Batch::empty(1)))),
        Plan::Argument => Box::new(Rows(Some(argument.clone()))),
        Plan::Match(_) => unreachable!("INVARIANT: the optimiser replaces patterns"),
        Plan::NodeScan(p) => Box::new(scan::NodeScan::new(input(&p.input), p, ramp)),
        Plan::IndexSeek(p) => Box::new(index_seek::IndexSeek::new(input(&p.input), p, ramp)),
        Plan::RelationshipSeek(p) => {
            Box::new(relationship_seek::RelationshipSeek::new(input(&p.input), p, ramp))
        }
        Plan::NodeById(p) => Box::new(by_id::ById::new(input(&p.input), &**p)),
        Plan::RelationshipById(p) => Box::new(by_id::ById::new(input(&p.input), &**p)),
        Plan::Expand(p) => Box::new(expand::Expand::new(input(&p.input), p, ramp)),
        Plan::Intersect(p) => Box::new(intersect::Intersect::new(input(&p.input), p)),
        Plan::Degrees(p) => Box::new(degrees::Degrees::new(input(&p.input), p)),
        Plan::HashJoin(p) => {
            Box::new(hash_join::HashJoin::new(input(&p.input), whole(&p.build), p))
        }
        Plan::VarExpand(p) if p.once => Box::new(reach::Reach::new(input(&p.input), p, ramp)),
        Plan::VarExpand(p) => Box::new(var_expand::VarExpand::new(input(&p.input), p, ramp)),
        Plan::ShortestPath(p) => Box::new(shortest::ShortestPath::new(input(&p.input), p)),
        Plan::Repeat(p) => Box::new(repeat::Repeat::new(input(&p.input), p)),
        Plan::Select(p) => Box::new(select::Select::new(input(&p.input), p)),
        Plan::Filter(p) => Box::new(project::Filter::new(input(&p.input), &p.condition)),
        Plan::Extend(p) => Box::new(project::Extend::new(input(&p.input), &p.items)),
        Plan::Keep(p) => Box::new(project::Keep::new(input(&p.input), &p.slots)),
        Plan::Prune(p) => Box::new(project::Prune::new(input(&p.input), &p.slots)),
        Plan::Aggregate(p) => Box::new(aggregate::Aggregate::new(shared(&p.input), p)),
        Plan::CountStore(p) => Box::new(count_store::CountStore::new(p)),
        Plan::Distinct(p) => Box::new(distinct::Distinct::new(input(&p.input), &p.slots)),
        Plan::Sort(p) if p.in_order => Box::new(sort::Sort::new(Input::Alone(input(&p.input)), p)),
        Plan::Sort(p) => Box::new(sort::Sort::new(shared(&p.input), p)),
        Plan::Skip(p) => Box::new(limit::Skip::new(input(&p.input), &p.count)),
        Plan::Limit(p) => Box::new(limit::Limit::new(input(&p.input), &p.count, p.input.writes())),
        Plan::Unwind(p) => Box::new(unwind::Unwind::new(input(&p.input), p.slot, &p.list, ramp)),
        Plan::Apply(p) => Box::new(apply::Apply::new(input(&p.input), p, ramp)),
        Plan::InTransactions(p) => {
            Box::new(in_transactions::InTransactions::new(input(&p.apply.input), p))
        }
        Plan::Union(p) => Box::new(union::Union::new(p.parts.iter().map(input).collect())),
        Plan::Eager(p) => Box::new(project::Eager::new(input(&p.input))),
        Plan::Create(p) => Box::new(create::Create::new(input(&p.input), p)),
        Plan::Merge(p) => Box::new(merge::Merge::new(input(&p.input), p)),
        Plan::Set(p) => Box::new(set::Set::new(input(&p.input), &p.items)),
        Plan::Delete(p) => Box::new(delete::Delete::new(input(&p.input), p)),
        Plan::Foreach(p) => Box::new(apply::Foreach::new(input(&p.input), p)),
        Plan::Call(p) => Box::new(call::Call::new(input(&p.input), p)),
        Plan::LoadCsv(p) if p.format != FileFormat::Csv => {
            Box::new(load_file::LoadFile::new(input(&p.input), p, ramp))
        }
        Plan::LoadCsv(p) => Box::new(load_csv::LoadCsv::new(input(&p.input), p, ramp)),
        Plan::Parallel(p) => input(&p.input),
    }
}

/// Calls `f` with every row of `plan`, begun with these rows.
pub(crate) fn for_each(
    plan: &Plan,
    argument: &Batch,
    cx: &mut Exec<'_>,
    mut f: impl FnMut(Batch, &mut Exec<'_>) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let mut operator = build(plan, argument, Ramp::FULL, cx);
    while let Some(batch) = operator.next(cx)? {
        f(batch, cx)?;
    }
    Ok(())
}
