//! Single questions: one hub, opening a snapshot, inserting vertices.

use std::convert::Infallible;

use telar_generate::{Edge, star};
use telar_graph::topology::Topology;

use super::{KernelError, Run};
use crate::container::{AdjLst, Container, Locked, Snapshot, Tel, Telar, Writer};
use crate::measure::{self, Samples};
use crate::report::{Table, digits};
use crate::workload::{WrongAnswer, insert_parallel};

/// Snapshots opened and closed per sample.
const OPENS: usize = 1000;
/// The hub of a baseline has this share of the leaves: each insert moves half of a sorted vector.
const BASELINE_SHARE: usize = 8;

/// Measures and notes everything of this part.
pub(super) fn measure(run: &mut Run<'_>) -> Result<(), KernelError> {
    run.say("one hub");
    hub(run)?;
    run.say("opening snapshots");
    opening(run)?;
    run.say("inserting vertices");
    vertices(run);
    Ok(())
}

/// A store with `leaves` vertices beside vertex 0, the hub.
fn star_store<C: Container>(store: C, leaves: usize) -> C {
    store.writer().insert_vertices(leaves as u32 + 1);
    store
}

/// Fails unless vertex 0 has these many neighbours.
fn check<C: Container>(store: &C, leaves: usize) -> Result<(), WrongAnswer> {
    let degree = store.snapshot().out().degree(0);
    if degree as usize == leaves {
        return Ok(());
    }
    let difference = format!("the hub has {degree} neighbours, not {leaves}");
    Err(WrongAnswer { subject: store.name(), difference })
}

/// Million entries per second of processor time for `spokes`, inserted one by one.
fn hub_speed<C: Container>(store: C, spokes: &[Edge]) -> Result<f64, WrongAnswer> {
    let store = star_store(store, spokes.len());
    let mut writer = store.writer();
    let ((), elapsed) = measure::time(|| {
        for &(u, v) in spokes {
            writer.insert_edge(u, v);
        }
    });
    check(&store, spokes.len())?;
    Ok(2e-6 * spokes.len() as f64 / elapsed.cpu_s.max(1e-9))
}

/// Million entries per second on the wall for `spokes`, inserted by some threads.
fn hub_parallel(spokes: &[Edge], threads: usize) -> Result<f64, WrongAnswer> {
    let store = star_store(Telar::in_memory(), spokes.len());
    let (_, elapsed) = insert_parallel(&store, spokes, threads, 1);
    check(&store, spokes.len())?;
    Ok(2e-6 * spokes.len() as f64 / elapsed.wall_s.max(1e-9))
}

fn hub(run: &mut Run<'_>) -> Result<(), KernelError> {
    let spokes = star(run.sizes.hub_leaves, run.seed + 5);
    let some: Vec<Edge> = {
        // The first leaves only, so that vertices are dense.
        let few = (spokes.len() / BASELINE_SHARE) as u32;
        spokes.iter().copied().filter(|spoke| spoke.1 <= few).collect()
    };
    let (mut single, mut one, mut two) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=run.rounds {
        let found = hub_speed(Telar::in_memory(), &spokes)?;
        let (alone, together) = (hub_parallel(&spokes, 1)?, hub_parallel(&spokes, 2)?);
        // The first round touches memory for the first time and does not count.
        if round > 0 {
            single.push(found);
            one.push(alone);
            two.push(together);
        }
    }
    let (single, one, two) =
        (measure::median(&single), measure::median(&one), measure::median(&two));
    run.find("hub_insert_mps", single);
    run.find("hub_two_writers", two / one);
    let figures = [
        ("Telar/M_entries_per_s", single),
        ("Telar/one_writer_wall_M_entries_per_s", one),
        ("Telar/two_writers_wall_M_entries_per_s", two),
        ("AdjLst/eighth/M_entries_per_s", hub_speed(Locked::<AdjLst>::new(), &some)?),
        ("TEL/eighth/M_entries_per_s", hub_speed(Locked::<Tel>::new(), &some)?),
    ];
    let mut table = Table::new(["one hub", "figure"]);
    for (name, value) in figures {
        table.push([name.to_owned(), digits(value)]);
        run.report.figure(format!("hub/{name}"), value);
    }
    run.report.parameter("hub_leaves", spokes.len());
    run.table("One hub, one edge per transaction", table);
    Ok(())
}

fn opening(run: &mut Run<'_>) -> Result<(), KernelError> {
    let stores = [run.sizes.few_vertices, run.sizes.many_vertices].map(|n| {
        let store = Telar::in_memory();
        store.writer().insert_vertices(n);
        store
    });
    for store in &stores {
        drop(store.engine().snapshot()?);
    }
    let open = |store: usize, _| {
        let ((), elapsed) = measure::time(|| {
            for _ in 0..OPENS {
                drop(std::hint::black_box(stores[store].engine().snapshot()));
            }
        });
        Ok::<_, Infallible>(elapsed.cpu_s / OPENS as f64)
    };
    let samples = measure::interleave(stores.len(), run.sizes.snapshot_samples, open);
    let samples = samples.unwrap_or_else(|never| match never {});
    let ns: Vec<f64> = samples.iter().map(|store: &Samples| store.median() * 1e9).collect();
    run.find("snapshot_open", ns[1] / ns[0]);
    run.report.figure("snapshot_open/few_vertices/ns", ns[0]);
    run.report.figure("snapshot_open/many_vertices/ns", ns[1]);
    run.report.parameter("few_vertices", run.sizes.few_vertices);
    run.report.parameter("many_vertices", run.sizes.many_vertices);
    let mut table = Table::new(["vertices", "ns to open and close a snapshot"]);
    for (n, ns) in [run.sizes.few_vertices, run.sizes.many_vertices].iter().zip(&ns) {
        table.push([n.to_string(), digits(*ns)]);
    }
    run.table("Snapshots", table);
    Ok(())
}

/// Million vertices per second, one per transaction.
fn vertex_speed<C: Container>(store: &C, count: u32) -> f64 {
    let mut writer = store.writer();
    let ((), elapsed) = measure::time(|| {
        for _ in 0..count {
            writer.insert_vertex();
        }
    });
    1e-6 * f64::from(count) / elapsed.cpu_s.max(1e-9)
}

fn vertices(run: &mut Run<'_>) {
    let count = run.sizes.new_vertices;
    let speeds = [
        f64::NAN,
        vertex_speed(&Locked::<AdjLst>::new(), count),
        vertex_speed(&Locked::<Tel>::new(), count),
        vertex_speed(&Telar::in_memory(), count),
    ];
    run.operations.insert(0, ("InsVtx", speeds));
}
