//! Placement of [`Plan::Parallel`]: parts of a plan that several threads can run.
//!
//! A `Parallel` stands over a chain of row-wise operators that are deterministic and change
//! nothing. Whether threads pay off is decided at run time; this rule leaves out chains that cannot
//! take long.

use crate::plan::{Parallel, Plan, Shape};

/// Places [`Plan::Parallel`]s in the plan of a query that only reads, but not in inner plans, which
/// begin with `Argument`: the plan around them may be parallel itself.
pub(crate) fn parallelise(plan: &mut Plan) {
    place(plan, Consumer::Sequential);
}

/// Operator that reads the rows of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Consumer {
    /// Takes the rows of all threads one after the other.
    Sequential,
    /// Groups or sorts rows: each thread does so for its own rows.
    PerThread,
    /// Groups or sorts rows, but is not deterministic, so that threads may not.
    Nondeterministic,
    /// Reads only the first rows of its input, in their order.
    InOrder,
}

fn place(plan: &mut Plan, consumer: Consumer) {
    // Depths of the operators below those that may take long, from the top down.
    let mut sources = Vec::new();
    let (mut at, mut depth, mut computes) = (&*plan, 0, false);
    while let Some(below) = at.input()
        && at.is_deterministic_row_wise()
        && !below.is_begin()
    {
        depth += 1;
        computes |= !matches!(at, Plan::Keep(_) | Plan::Prune(_));
        if at.may_take_long() {
            sources.push(depth);
        }
        at = below;
    }
    let pays = match consumer {
        Consumer::Sequential => computes && sources.len() + at.size_class() >= 2,
        Consumer::PerThread => sources.len() >= 2 || at.size_class() >= 1,
        Consumer::Nondeterministic | Consumer::InOrder => false,
    };
    if sources.last() != Some(&depth) {
        sources.push(depth);
    }
    sources.reverse();
    let mut source = &mut *plan;
    for _ in 0..depth {
        source = source.input_mut().expect("INVARIANT: it was just walked");
    }
    let consumer = match source {
        Plan::Sort(p) if p.in_order => Consumer::InOrder,
        Plan::Aggregate(_) | Plan::Sort(_) if source.is_fixed() => Consumer::PerThread,
        Plan::Aggregate(_) | Plan::Sort(_) => Consumer::Nondeterministic,
        _ => Consumer::Sequential,
    };
    match source {
        Plan::Union(p) => p.parts.iter_mut().for_each(parallelise),
        Plan::HashJoin(p) => {
            place(&mut p.input, consumer);
            parallelise(&mut p.build);
        }
        source => source.input_mut().into_iter().for_each(|input| place(input, consumer)),
    }
    if pays {
        let input = std::mem::replace(plan, Plan::Unit);
        *plan = Plan::from(Parallel { input, sources });
    }
}

impl Plan {
    fn is_begin(&self) -> bool {
        matches!(self, Self::Unit | Self::Argument)
    }

    /// True for a scan of all nodes that runs once.
    pub(crate) fn is_plain_scan(&self) -> bool {
        matches!(self, Self::NodeScan(p) if matches!(p.input, Self::Unit))
    }

    /// True if each row depends on one row of the input only, and is the same each time.
    fn is_deterministic_row_wise(&self) -> bool {
        let itself = match self {
            Self::Keep(_) => true,
            Self::Apply(p) => p.returns,
            _ => self.is_row_wise(),
        };
        itself && self.is_fixed() && self.inputs().into_iter().skip(1).all(Self::is_fixed_whole)
    }

    /// True if it returns at most one row for each row of the input.
    fn computes(&self) -> bool {
        matches!(self.operator().shape(), Shape::Computes | Shape::Projects)
    }

    /// True if it may return many rows for one row of the input, or search for long.
    fn may_take_long(&self) -> bool {
        !self.computes()
    }

    /// Class of the number of rows of a source: 0 for at most one, 1 for perhaps many, 2 for many.
    fn size_class(&self) -> usize {
        match self {
            Self::NodeScan(_) => 2,
            Self::IndexSeek(p) => usize::from(!p.sought.is_unique() || p.sought.any),
            Self::NodeById(p) => usize::from(p.any),
            Self::RelationshipById(p) => usize::from(p.any),
            Self::Unit | Self::Argument | Self::CountStore(_) => 0,
            _ => usize::from(!self.computes()),
        }
    }
}
