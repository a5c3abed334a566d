//! Loads, upserts and deletes on processor time, and the memory that a load takes.

use super::{KernelError, Run};
use crate::container::{AdjLst, Locked, Tel, Telar};
use crate::plot::{self, Curve};
use crate::report::{Table, digits};
use crate::workload::{LoadSample, Update, UpdateOutcome, UpdatePlan, UpdateSubject, run_updates};

/// Samples of a load count from here on, in per cent: before, a graph is too small for shares.
const PEAK_FROM_PERCENT: usize = 25;
/// Where curves of memory begin, in per cent.
const CURVE_FROM_PERCENT: usize = 10;
/// The updates of this part, in the order of its table.
const UPDATES: [Update; 6] = [
    Update::Insert,
    Update::InsertLast,
    Update::InsertBatches,
    Update::Reinsert,
    Update::Upsert,
    Update::Delete,
];

/// Bytes per entry of a flat CSR with 32-bit offsets, both directions, at this many edges.
fn csr_bytes_per_entry(n: u32, edges: u64) -> f64 {
    4.0 + 4.0 * (f64::from(n) + 1.0) / edges.max(1) as f64
}

/// Measures and notes everything of this part.
pub(super) fn measure(run: &mut Run<'_>) -> Result<(), KernelError> {
    run.say("updates: loads, upserts, deletes, memory");
    let plan = UpdatePlan::new(run.input.n, run.input.edges.clone(), run.seed + 2).hub_leaves(0);
    let mut subjects = [
        UpdateSubject::new(Locked::<AdjLst>::new).once(),
        UpdateSubject::new(Locked::<Tel>::new).once(),
        UpdateSubject::new(Telar::in_memory),
    ];
    let outcomes = run_updates(&plan, &mut subjects, run.rounds)?;
    let [_, _, telar] = &outcomes[..] else {
        unreachable!("three subjects give three outcomes");
    };
    let mps = |update| 2.0 * telar.millions_per_s(update);
    run.find("insert_single_mps", mps(Update::Insert));
    run.find("insert_batch64_mps", mps(Update::InsertBatches));
    run.find("upsert_mps", mps(Update::Upsert));
    run.find("delete_mps", mps(Update::Delete));
    memory(run, telar);

    let speeds = |update| outcomes.iter().map(move |o| 2.0 * o.millions_per_s(update));
    let mut insert = [f64::NAN; 4];
    insert.iter_mut().skip(1).zip(speeds(Update::Insert)).for_each(|(to, from)| *to = from);
    run.operations.push(("InsEdge", insert));

    let names = outcomes.iter().map(|outcome| outcome.subject.as_str());
    let mut table = Table::new(["M entries/s"].into_iter().chain(names));
    for update in UPDATES {
        let row = speeds(update).map(digits);
        table.push([update.name().to_owned()].into_iter().chain(row));
        for (outcome, speed) in outcomes.iter().zip(speeds(update)) {
            let key = format!("{}/{}/M_entries_per_s", update.name(), outcome.subject);
            run.report.figure(key, speed);
        }
    }
    run.table("Updates", table);
    table_of_memory(run, &outcomes);
    chart(run, &outcomes);
    Ok(())
}

/// What each sample of a load says, for the report.
#[derive(serde::Serialize)]
struct Point {
    percent: usize,
    bytes_per_entry: f64,
    /// Relative to a CSR of the edges loaded so far.
    of_csr_so_far: f64,
    /// Relative to the CSR of the whole graph.
    of_csr_whole: f64,
    /// Speed of the inserts since the sample before.
    million_entries_per_s: f64,
}

fn points(n: u32, samples: &[LoadSample]) -> Vec<Point> {
    let whole = csr_bytes_per_entry(n, samples.last().map_or(1, |sample| sample.edges));
    let mut before = 0;
    let point = |sample: &LoadSample| {
        let added = sample.edges - std::mem::replace(&mut before, sample.edges);
        let bytes = sample.bytes_per_entry();
        Point {
            percent: sample.percent,
            bytes_per_entry: bytes,
            of_csr_so_far: bytes / csr_bytes_per_entry(n, sample.edges),
            of_csr_whole: bytes / whole,
            million_entries_per_s: 2e-6 * added as f64 / sample.seconds.max(1e-9),
        }
    };
    samples.iter().map(point).collect()
}

/// The two memory keys, and the samples behind them.
fn memory(run: &mut Run<'_>, telar: &UpdateOutcome) {
    let entries = 2.0 * run.input.edges.len() as f64;
    let whole = csr_bytes_per_entry(run.input.n, run.input.edges.len() as u64);
    run.find("bytes_per_entry_settled", telar.settled_bytes as f64 / entries / whole);
    let points = points(run.input.n, &telar.samples);
    let late = || points.iter().filter(|point| point.percent >= PEAK_FROM_PERCENT);
    let peak = late().map(|point| point.bytes_per_entry).fold(0.0, f64::max);
    let so_far = late().map(|point| point.of_csr_so_far).fold(0.0, f64::max);
    run.find("bytes_per_entry_peak", peak / whole);
    run.report.figure("memory/CSR/bytes_per_entry", whole);
    run.report.figure("memory/Telar/peak_of_csr_so_far", so_far);
}

fn table_of_memory(run: &mut Run<'_>, outcomes: &[UpdateOutcome]) {
    let n = run.input.n;
    let mut table = Table::new([
        "bytes per entry",
        "settled",
        "peak",
        "at 25 %",
        "at 50 %",
        "at 100 %",
        "peak / CSR so far",
    ]);
    let whole = csr_bytes_per_entry(n, run.input.edges.len() as u64);
    table.push(["CSR".to_owned(), digits(whole)]);
    for outcome in outcomes {
        let points = points(n, &outcome.samples);
        let at = |percent| {
            let found = points.iter().find(|point| point.percent == percent);
            found.map_or(f64::NAN, |point| point.bytes_per_entry)
        };
        let late = || points.iter().filter(|point| point.percent >= PEAK_FROM_PERCENT);
        let peak = late().map(|point| point.bytes_per_entry).fold(0.0, f64::max);
        let so_far = late().map(|point| point.of_csr_so_far).fold(0.0, f64::max);
        let settled = outcome.settled_bytes as f64 / (2 * run.input.edges.len()) as f64;
        let numbers = [settled, peak, at(25), at(50), at(100), so_far].map(digits);
        table.push([outcome.subject.clone()].into_iter().chain(numbers));
        let name = &outcome.subject;
        run.report.figure(format!("memory/{name}/bytes_per_entry_settled"), settled);
        run.report.figure(format!("memory/{name}/bytes_per_entry_peak"), peak);
        let curve = points.iter().filter(|point| point.percent >= CURVE_FROM_PERCENT);
        run.report.figure_of(format!("load/{name}"), &curve.collect::<Vec<_>>());
    }
    run.table("Memory of a load by single inserts", table);
}

fn chart(run: &mut Run<'_>, outcomes: &[UpdateOutcome]) {
    let n = run.input.n;
    let late = |samples: &[LoadSample]| -> Vec<LoadSample> {
        let late = samples.iter().filter(|sample| sample.percent >= CURVE_FROM_PERCENT);
        late.copied().collect()
    };
    let mut curves: Vec<Curve> = outcomes
        .iter()
        .map(|outcome| {
            let samples = late(&outcome.samples);
            let point = |s: &LoadSample| (s.percent as f64, s.bytes_per_entry());
            Curve { name: outcome.subject.clone(), points: samples.iter().map(point).collect() }
        })
        .collect();
    let samples = outcomes.last().map_or_else(Vec::new, |outcome| late(&outcome.samples));
    let point = |s: &LoadSample| (s.percent as f64, csr_bytes_per_entry(n, s.edges));
    let points = samples.iter().map(point).collect();
    curves.push(Curve { name: "CSR so far".to_owned(), points });
    let chart = plot::curves("Memory during a load", "% loaded", "bytes per entry", &curves);
    run.charts.push(("memory.svg", chart));
}
