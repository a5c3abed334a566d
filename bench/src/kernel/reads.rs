//! Reads: settled, with a tenth unsettled, with deletes unsettled; triangles.

use telar_engine::SettleState;
use telar_generate::csr::Csr;
use telar_generate::{Edge, edges};

use super::{KernelError, Run};
use crate::container::{AdjLst, Container, Locked, Snapshot, Tel, Telar, Writer};
use crate::plot;
use crate::report::{Table, digits};
use crate::workload::{Kernel, ReadOptions, ReadOutcome, ReadPlan, Subject, load, run_reads};

/// Edges per transaction of loads that are not timed.
pub(super) const BATCH: usize = 64;
/// Edges whose triangles are counted at most; of larger graphs, one vertex in some is a root.
const TRIANGLE_EDGES_MAX: usize = 1 << 20;
/// One vertex in this many is a root where baselines count, which sort lists again and again.
const TRIANGLE_SAMPLE_BASELINES: u32 = 16;

/// Kernels of the settled part.
const SETTLED: [Kernel; 7] = [
    Kernel::Scan,
    Kernel::RandomScan,
    Kernel::Search,
    Kernel::PageRank,
    Kernel::Bfs,
    Kernel::SearchVertex,
    Kernel::ScanVertices,
];

/// Measures and notes everything of this part.
pub(super) fn measure(run: &mut Run<'_>) -> Result<(), KernelError> {
    run.say("reads: settled");
    settled(run)?;
    run.say("reads: 10 % unsettled");
    unsettled(run)?;
    run.say("reads: triangles");
    triangles(run)
}

fn options(run: &Run<'_>) -> ReadOptions {
    ReadOptions { searches: run.sizes.searches, seed: run.seed + 3, ..ReadOptions::default() }
}

/// Notes how much of a store is settled.
pub(super) fn note_state(run: &mut Run<'_>, at: &str, telar: &Telar) -> Result<(), KernelError> {
    let SettleState { settled, unsettled, .. } = telar.engine().settle_state(telar.edge_type())?;
    let share = unsettled as f64 / (settled + unsettled).max(1) as f64;
    run.report.figure(format!("unsettled_share/{at}"), share);
    Ok(())
}

fn settled(run: &mut Run<'_>) -> Result<(), KernelError> {
    let (n, all) = (run.input.n, &run.input.edges);
    let (out, incoming) = (Csr::outgoing(n, all), Csr::incoming(n, all));
    let (adjlst, tel, telar) = (Locked::<AdjLst>::new(), Locked::<Tel>::new(), Telar::in_memory());
    load(&adjlst, n, all, BATCH);
    load(&tel, n, all, BATCH);
    load(&telar, n, all, BATCH);
    telar.settle();
    note_state(run, "settled", &telar)?;
    let plan = ReadPlan::new(&out, &incoming, &options(run));
    {
        let (adjlst, tel, telar) = (adjlst.snapshot(), tel.snapshot(), telar.snapshot());
        let (adjlst_out, adjlst_in) = (adjlst.out(), adjlst.in_());
        let (tel_out, tel_in) = (tel.out(), tel.in_());
        let (telar_out, telar_in) = (telar.out(), telar.in_());
        let mut subjects = [
            Subject::new("CSR", &out, &incoming),
            Subject::new("AdjLst", &adjlst_out, &adjlst_in),
            Subject::new("TEL", &tel_out, &tel_in),
            Subject::new("Telar", &telar_out, &telar_in),
        ];
        let rounds = run.read_rounds();
        let measured: Result<Vec<_>, _> =
            SETTLED.iter().map(|&kernel| run_reads(&plan, kernel, &mut subjects, rounds)).collect();
        note_settled(run, &measured?);
    }
    drop((adjlst, tel));
    run.say("reads: 8 % deleted");
    deleted(run, &telar)
}

fn note_settled(run: &mut Run<'_>, measured: &[Vec<ReadOutcome>]) {
    let of = |kernel: Kernel| measured.iter().find(|found| found[0].kernel == kernel);
    let speed = |kernel| of(kernel).map_or(f64::NAN, |found| found[3].speed_ratio(&found[0]));
    run.find("scan_settled", speed(Kernel::Scan));
    run.find("scan_random_order", speed(Kernel::RandomScan));
    run.find("search", speed(Kernel::Search));
    run.find("pagerank_time", 1.0 / speed(Kernel::PageRank));
    run.find("bfs_time", 1.0 / speed(Kernel::Bfs));
    let operations = [
        ("SearchVtx", Kernel::SearchVertex),
        ("SearchEdge", Kernel::Search),
        ("ScanVtx", Kernel::ScanVertices),
        ("ScanNbr", Kernel::RandomScan),
    ];
    for (name, kernel) in operations {
        if let Some(found) = of(kernel) {
            run.operations.push((name, std::array::from_fn(|s| found[s].millions_per_s())));
        }
    }
    table(run, "Reads, settled: M units/s (x CSR)", "settled", measured);
    let groups: Vec<String> = measured.iter().map(|o| o[0].kernel.name().to_owned()).collect();
    let series: Vec<String> = measured[0].iter().map(|o| o.subject.clone()).collect();
    let ratios = |s: usize| measured.iter().map(|o| o[s].speed_ratio(&o[0])).collect();
    let values: Vec<Vec<f64>> = (0..series.len()).map(ratios).collect();
    run.charts.push(("reads.svg", plot::bars("Read speed", "x CSR", &groups, &series, &values)));
}

/// Adds a table with one row per kernel and notes its figures under `part`.
fn table(run: &mut Run<'_>, title: &str, part: &str, measured: &[Vec<ReadOutcome>]) {
    let names = measured[0].iter().map(|outcome| outcome.subject.clone());
    let titles = ["kernel".to_owned(), "M units".to_owned()].into_iter().chain(names);
    let mut table = Table::new(titles.chain(["spread".to_owned()]));
    for outcomes in measured {
        let reference = &outcomes[0];
        let kernel = reference.kernel.name();
        let mut row = vec![kernel.to_owned(), digits(reference.work as f64 / 1e6)];
        let mut spread = 0f64;
        for outcome in outcomes {
            let (speed, ratio) = (outcome.millions_per_s(), outcome.speed_ratio(reference));
            row.push(format!("{} ({})", digits(speed), digits(ratio)));
            let key = format!("{part}/{kernel}/{}", outcome.subject);
            run.report.figure(format!("{key}/M_per_s"), speed);
            run.report.figure(format!("{key}/of_csr_speed"), ratio);
            spread = spread.max(outcome.samples.spread());
        }
        row.push(digits(spread));
        table.push(row);
    }
    run.table(title, table);
}

/// Deletes 8 % beside an open snapshot and scans through a newer one.
fn deleted(run: &mut Run<'_>, telar: &Telar) -> Result<(), KernelError> {
    let hold = telar.snapshot();
    let share = run.input.edges.len() * 8 / 100;
    let (removed, rest) = run.input.edges.split_at(share);
    let mut writer = telar.writer();
    for &(u, v) in removed {
        writer.delete_edge(u, v);
    }
    let found = against_csr(run, telar, rest, &[Kernel::Scan])?;
    note_state(run, "deleted_8pct", telar)?;
    drop(hold);
    run.find("scan_deleted_8pct", found[0][1].speed_ratio(&found[0][0]));
    table(run, "Reads, 8 % deleted and unsettled: M units/s (x CSR)", "deleted_8pct", &found);
    Ok(())
}

/// Loads and settles nine tenths, inserts the last beside an open snapshot and reads through a
/// newer one.
fn unsettled(run: &mut Run<'_>) -> Result<(), KernelError> {
    let all = &run.input.edges;
    let (first, last) = all.split_at(all.len() * 9 / 10);
    let telar = Telar::in_memory();
    load(&telar, run.input.n, first, BATCH);
    telar.settle();
    let hold = telar.snapshot();
    let mut writer = telar.writer();
    for &(u, v) in last {
        writer.insert_edge(u, v);
    }
    let found = against_csr(run, &telar, all, &Kernel::DIRECTED)?;
    note_state(run, "unsettled_10pct", &telar)?;
    drop(hold);
    let speed = |kernel: Kernel| {
        let outcomes = found.iter().find(|found| found[0].kernel == kernel);
        outcomes.map_or(f64::NAN, |found| found[1].speed_ratio(&found[0]))
    };
    run.find("scan_unsettled_10pct", speed(Kernel::Scan));
    run.find("search_unsettled_10pct", speed(Kernel::Search));
    run.find("pagerank_time_unsettled_10pct", 1.0 / speed(Kernel::PageRank));
    run.find("bfs_time_unsettled_10pct", 1.0 / speed(Kernel::Bfs));
    table(run, "Reads, 10 % unsettled: M units/s (x CSR)", "unsettled_10pct", &found);
    Ok(())
}

/// Runs kernels over a CSR of `expected` and a new snapshot of `telar`, which must hold the same.
fn against_csr(
    run: &Run<'_>,
    telar: &Telar,
    expected: &[Edge],
    kernels: &[Kernel],
) -> Result<Vec<Vec<ReadOutcome>>, KernelError> {
    let n = run.input.n;
    let (out, incoming) = (Csr::outgoing(n, expected), Csr::incoming(n, expected));
    let plan = ReadPlan::new(&out, &incoming, &options(run));
    let snapshot = telar.snapshot();
    let (telar_out, telar_in) = (snapshot.out(), snapshot.in_());
    let mut subjects =
        [Subject::new("CSR", &out, &incoming), Subject::new("Telar", &telar_out, &telar_in)];
    let rounds = run.read_rounds();
    let found = kernels.iter().map(|&kernel| run_reads(&plan, kernel, &mut subjects, rounds));
    Ok(found.collect::<Result<_, _>>()?)
}

/// Counts triangles of the oriented simple graph: all of them in the CSR and Telar, some in the
/// baselines.
fn triangles(run: &mut Run<'_>) -> Result<(), KernelError> {
    let n = run.input.n;
    let mut oriented = run.input.edges.clone();
    edges::dedup_undirected(&mut oriented);
    edges::orient(&mut oriented);
    edges::shuffle(&mut oriented, run.seed + 4);
    let (out, incoming) = (Csr::outgoing(n, &oriented), Csr::incoming(n, &oriented));
    let (adjlst, tel, telar) = (Locked::<AdjLst>::new(), Locked::<Tel>::new(), Telar::in_memory());
    load(&adjlst, n, &oriented, BATCH);
    load(&tel, n, &oriented, BATCH);
    load(&telar, n, &oriented, BATCH);
    telar.settle();
    let (adjlst, tel, telar) = (adjlst.snapshot(), tel.snapshot(), telar.snapshot());
    let (adjlst_out, adjlst_in) = (adjlst.out(), adjlst.in_());
    let (tel_out, tel_in) = (tel.out(), tel.in_());
    let (telar_out, telar_in) = (telar.out(), telar.in_());
    let rounds = run.rounds;
    let count = |sample: u32, rounds, subjects: &mut [Subject<'_>]| {
        let options = ReadOptions { triangle_sample: sample, searches: 1, ..options(run) };
        run_reads(&ReadPlan::new(&out, &incoming, &options), Kernel::Triangles, subjects, rounds)
    };
    let sample = oriented.len().div_ceil(TRIANGLE_EDGES_MAX) as u32;
    let csr = || Subject::new("CSR", &out, &incoming);
    let whole = count(sample, rounds, &mut [csr(), Subject::new("Telar", &telar_out, &telar_in)])?;
    let mut all = [
        csr(),
        Subject::new("AdjLst", &adjlst_out, &adjlst_in),
        Subject::new("TEL", &tel_out, &tel_in),
        Subject::new("Telar", &telar_out, &telar_in),
    ];
    let sampled = count(TRIANGLE_SAMPLE_BASELINES * sample, 1, &mut all)?;
    run.report.parameter("triangle_sample", sample);
    run.find("triangles_time", 1.0 / whole[1].speed_ratio(&whole[0]));
    table(run, "Triangles: M units/s (x CSR)", "triangles", &[whole]);
    table(run, "Triangles, one root in 16: M units/s (x CSR)", "triangles_sampled", &[sampled]);
    Ok(())
}
