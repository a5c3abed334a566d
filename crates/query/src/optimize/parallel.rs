//! Which parts of a plan several threads can run.
//!
//! A [`Plan::Parallel`] stands over a row of operators that make each row of one row of their input
//! and do nothing else: no changes, no random numbers, no procedures. Whether it pays is known when
//! it runs; here only those are left out that cannot be long.

use crate::plan::{Parallel, Plan, Shape};

/// Places [`Plan::Parallel`]s in the plan of a query that only reads, outside of plans that begin
/// with `Argument`: their rows are those of a plan around them, which may be shared out itself.
pub(crate) fn parallelise(plan: &mut Plan) {
    place(plan, Above::Reads);
}

/// What stands above a plan, and takes its rows.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Above {
    /// One after the other.
    Reads,
    /// Each thread its own: groups them, or sorts them.
    Gathers,
    /// The same, but otherwise each time, so that no threads may.
    Varies,
}

fn place(plan: &mut Plan, above: Above) {
    // From the top down, how far below those are that an operator with much to do reads from.
    let mut sources = Vec::new();
    let (mut at, mut depth, mut computes) = (&*plan, 0, false);
    while let Some(below) = at.input()
        && at.makes_rows_of_rows()
        && !below.is_begin()
    {
        depth += 1;
        computes |= !matches!(at, Plan::Keep(_) | Plan::Prune(_));
        if at.has_much_to_do() {
            sources.push(depth);
        }
        at = below;
    }
    let pays = match above {
        Above::Reads => computes && sources.len() + at.many() >= 2,
        Above::Gathers => sources.len() >= 2 || at.many() >= 1,
        Above::Varies => false,
    };
    if sources.last() != Some(&depth) {
        sources.push(depth);
    }
    sources.reverse();
    let mut source = &mut *plan;
    for _ in 0..depth {
        source = source.input_mut().expect("INVARIANT: it was just walked");
    }
    let above = match source {
        Plan::Aggregate(_) | Plan::Sort(_) if source.is_fixed() => Above::Gathers,
        Plan::Aggregate(_) | Plan::Sort(_) => Above::Varies,
        _ => Above::Reads,
    };
    match source {
        Plan::Union(p) => p.parts.iter_mut().for_each(parallelise),
        Plan::HashJoin(p) => {
            place(&mut p.input, above);
            parallelise(&mut p.build);
        }
        source => source.input_mut().into_iter().for_each(|input| place(input, above)),
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

    /// Whether it finds all nodes, once.
    pub(crate) fn is_plain_scan(&self) -> bool {
        matches!(self, Self::NodeScan(p) if matches!(p.input, Self::Unit))
    }

    /// Whether each of its rows is made of one row of its input, whatever rows are beside it, and
    /// it makes the same of it at any time.
    fn makes_rows_of_rows(&self) -> bool {
        let itself = match self {
            Self::Keep(_) => true,
            Self::Apply(p) => p.returns,
            _ => self.is_row_wise(),
        };
        itself && self.is_fixed() && self.inputs().into_iter().skip(1).all(Self::is_fixed_whole)
    }

    /// Whether it makes one row of each, or none.
    fn computes(&self) -> bool {
        matches!(self.operator().shape(), Shape::Computes | Shape::Projects)
    }

    /// Whether it may make many rows of one, or search for long.
    fn has_much_to_do(&self) -> bool {
        !self.computes()
    }

    /// What a source says of the number of its rows: 0, perhaps one; 1, perhaps many; 2, many.
    fn many(&self) -> usize {
        match self {
            Self::NodeScan(_) => 2,
            Self::IndexSeek(p) => usize::from(!p.sought.is_unique() || p.sought.any),
            Self::Unit | Self::Argument | Self::NodeById(_) | Self::CountStore(_) => 0,
            _ => usize::from(!self.computes()),
        }
    }
}
