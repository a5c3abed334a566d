//! Work that spreads along edges, from a few vertices on, in no order that matters.
//!
//! A task works off some vertices and what it finds beside them; what it has found after a number
//! of edges it hands back, so that all threads have work. A few vertices are one thread's.

use rayon::prelude::*;

use super::steps::Meter;
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Vertices that one task begins with.
const GRAIN: usize = 64;

/// Vertices below which one thread is faster than handing out tasks.
const SERIAL_MAX: usize = 512;

/// Edges after which a task hands back what it has found.
const TASK_EDGES: usize = 1 << 14;

/// Calls `shared(u)` for the neighbours `u` of all waiting vertices and of all for which it is
/// true, which has to happen once; `alone` is the same where no other thread is at work. Runs
/// inside of [`Control::install`].
pub(super) fn spread(
    graph: &Csr,
    mut waiting: Vec<u32>,
    alone: impl Fn(u32) -> bool,
    shared: impl Fn(u32) -> bool + Sync,
    control: &Control<'_>,
) -> Result<()> {
    while !waiting.is_empty() {
        control.check()?;
        if rayon::current_num_threads() == 1 || waiting.len() < SERIAL_MAX {
            waiting = some(graph, waiting, &alone, control)?;
            continue;
        }
        let task = |chunk: &[u32]| {
            control.check()?;
            some(graph, chunk.to_vec(), &shared, control)
        };
        let found: Result<Vec<Vec<u32>>> = waiting.par_chunks(GRAIN).map(task).collect();
        waiting = found?.concat();
    }
    Ok(())
}

/// Works off vertices up to a number of edges; returns those that are left.
fn some(
    graph: &Csr,
    mut waiting: Vec<u32>,
    spreads: &impl Fn(u32) -> bool,
    control: &Control<'_>,
) -> Result<Vec<u32>> {
    let mut meter = Meter::new(control);
    let mut edges = 0;
    while edges < TASK_EDGES
        && let Some(v) = waiting.pop()
    {
        let list = graph.of(v);
        edges += 1 + list.len();
        meter.add(1 + list.len())?;
        waiting.extend(list.iter().filter(|&&u| spreads(u)));
    }
    Ok(waiting)
}
