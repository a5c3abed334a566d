//! All updates of one container, once, each checked and timed.

use telar_generate::csr::Csr;
use telar_generate::star;

use super::load::insert;
use super::{LoadSample, Update, UpdatePlan};
use crate::container::{Container, Snapshot, Writer};
use crate::measure::{self, Elapsed};
use crate::workload::{WrongAnswer, same_adjacency};

/// Steps of a load, in per cent, after which the clock stops and memory is sampled.
const STEP_PERCENT: usize = 5;

/// Where the last fifth of a load begins.
const LAST_FIFTH_PERCENT: usize = 80;

/// All updates of one container, once.
#[derive(Clone, Debug, Default)]
pub(super) struct Pass {
    /// Processor time and edges of each update.
    pub(super) updates: Vec<(Update, Elapsed, u64)>,
    /// Memory during the load by single edges.
    pub(super) samples: Vec<LoadSample>,
    /// Memory after [`Container::settle`].
    pub(super) settled_bytes: u64,
}

/// Runs one container through all updates, checking the graph after each that changes it.
pub(super) fn pass<C: Container>(
    make: &impl Fn() -> C,
    plan: &UpdatePlan,
) -> Result<Pass, WrongAnswer> {
    let mut pass = Pass::default();
    {
        let container = make();
        let mut writer = container.writer();
        writer.insert_vertices(plan.n);
        single_inserts(&container, &mut writer, plan, &mut pass)?;
        check(&container, &plan.loaded)?;
        let rewrites = [
            (Update::Reinsert, &plan.again, 0),
            (Update::Upsert, &plan.again, 0),
            (Update::Delete, &plan.removed, plan.removed.len()),
        ];
        for (update, edges, expected) in rewrites {
            let (changed, elapsed) = measure::time(|| match update {
                Update::Upsert => edges.iter().filter(|e| writer.upsert_edge(e.0, e.1)).count(),
                Update::Delete => edges.iter().filter(|e| writer.delete_edge(e.0, e.1)).count(),
                _ => edges.iter().filter(|e| writer.insert_edge(e.0, e.1)).count(),
            });
            counted(&container, update, changed as u64, expected as u64)?;
            pass.updates.push((update, elapsed, edges.len() as u64));
        }
        check(&container, &plan.remaining)?;
    }
    {
        let container = make();
        let mut writer = container.writer();
        writer.insert_vertices(plan.n);
        let (added, elapsed) = measure::time(|| insert(&mut writer, &plan.edges, plan.batch));
        counted(&container, Update::InsertBatches, added, plan.edges.len() as u64)?;
        check(&container, &plan.loaded)?;
        pass.updates.push((Update::InsertBatches, elapsed, added));
        container.settle();
        pass.settled_bytes = container.memory_bytes();
        check(&container, &plan.loaded)?;
    }
    if plan.hub_leaves == 0 {
        return Ok(pass);
    }
    let container = make();
    let spokes = star(plan.hub_leaves, 3);
    let mut writer = container.writer();
    writer.insert_vertices(plan.hub_leaves + 1);
    let (added, elapsed) = measure::time(|| insert(&mut writer, &spokes, 1));
    counted(&container, Update::Hub, added, u64::from(plan.hub_leaves))?;
    pass.updates.push((Update::Hub, elapsed, added));
    Ok(pass)
}

/// Loads edge by edge, stopping the clock to sample memory.
fn single_inserts<C: Container>(
    container: &C,
    writer: &mut impl Writer,
    plan: &UpdatePlan,
    pass: &mut Pass,
) -> Result<(), WrongAnswer> {
    let total = plan.edges.len();
    let (mut done, mut added, mut last_edges) = (0, 0, 0);
    let (mut all, mut last) = (Elapsed::default(), Elapsed::default());
    for percent in (STEP_PERCENT..=100).step_by(STEP_PERCENT) {
        let stop = total * percent / 100;
        let (some, elapsed) = measure::time(|| insert(writer, &plan.edges[done..stop], 1));
        all += elapsed;
        if percent > LAST_FIFTH_PERCENT {
            last += elapsed;
            last_edges += (stop - done) as u64;
        }
        done = stop;
        added += some;
        pass.samples.push(LoadSample {
            percent,
            edges: added,
            memory_bytes: container.memory_bytes(),
            reserved_bytes: container.reserved_bytes(),
            seconds: elapsed.cpu_s,
        });
    }
    pass.updates.push((Update::InsertLast, last, last_edges));
    pass.updates.push((Update::Insert, all, total as u64));
    counted(container, Update::Insert, added, total as u64)
}

fn counted<C: Container>(
    container: &C,
    update: Update,
    found: u64,
    expected: u64,
) -> Result<(), WrongAnswer> {
    if found == expected {
        return Ok(());
    }
    let difference = format!("{} counted {found} edges, not {expected}", update.name());
    Err(WrongAnswer { subject: container.name(), difference })
}

pub(super) fn check<C: Container>(container: &C, expected: &(Csr, Csr)) -> Result<(), WrongAnswer> {
    let snapshot = container.snapshot();
    same_adjacency(&container.name(), &snapshot.out(), &expected.0)?;
    same_adjacency(&container.name(), &snapshot.in_(), &expected.1)
}
