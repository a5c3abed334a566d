//! Prints what the baselines cost: CSR, sorted vectors and the transactional edge log on an RMAT
//! graph.
//!
//! ```text
//! baselines [scale = 16] [rounds = 3] [folder for report.json and charts]
//! ```
//!
//! Read speeds are relative to the CSR, of which every answer is checked; triangles run on a second
//! load of the same edges, oriented, from one vertex in 16 (the edge log sorts every list it
//! meets).

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::error::Error;
use std::path::Path;
use telar_bench::container::{AdjLst, Container, Locked, Snapshot, Tel};
use telar_bench::generate::{Edge, Rmat, edges, rmat};
use telar_bench::plot::{self, Curve};
use telar_bench::report::{Report, Table, digits};
use telar_bench::workload::{
    Kernel, ReadOptions, ReadOutcome, ReadPlan, Subject, Update, UpdateOutcome, UpdatePlan,
    UpdateSubject, WrongAnswer, insert_latencies, load, run_reads, run_updates,
};

const EDGE_FACTOR: u32 = 16;
const TRIANGLE_SAMPLE: u32 = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let scale = arguments.next().map_or(Ok(16), |text| text.parse())?;
    let rounds = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let folder = arguments.next();

    let parameters = Rmat {
        scale,
        edge_factor: EDGE_FACTOR,
        seed: 42,
    };
    let mut all = rmat(&parameters);
    edges::dedup_undirected(&mut all);
    edges::shuffle(&mut all, 43);
    let n = parameters.vertices();

    let mut report = Report::new("baselines");
    println!("{}", report.machine().line());
    println!(
        "RMAT scale {scale}: {n} vertices, {} edges, two entries each\n",
        all.len()
    );
    report.parameter("scale", scale);
    report.parameter("edges", all.len());
    report.parameter("rounds", rounds);

    let plan = UpdatePlan::new(n, all, 44);
    let mut makers = [
        UpdateSubject::new(Locked::<AdjLst>::new),
        UpdateSubject::new(Locked::<Tel>::new),
    ];
    let updates = run_updates(&plan, &mut makers, rounds)?;
    let directed = reads(&plan, &Kernel::DIRECTED, 1, 2 * rounds + 1)?;

    let mut oriented = plan.edges().to_vec();
    edges::orient(&mut oriented);
    let oriented = UpdatePlan::new(n, oriented, 45);
    let triangles = reads(&oriented, &[Kernel::Triangles], TRIANGLE_SAMPLE, rounds)?;

    print_updates(&plan, &updates, &mut report);
    print_reads(directed.iter().chain(&triangles), &mut report);
    if let Some(folder) = folder {
        std::fs::create_dir_all(&folder)?;
        write(Path::new(&folder), &plan, &updates, &directed, &report)?;
    }
    Ok(())
}

/// Loads each store by single inserts and runs the kernels over them and the CSR.
fn reads(
    plan: &UpdatePlan,
    kernels: &[Kernel],
    triangle_sample: u32,
    rounds: usize,
) -> Result<Vec<Vec<ReadOutcome>>, WrongAnswer> {
    let (out, incoming) = plan.loaded();
    let (adjlst, tel) = (Locked::<AdjLst>::new(), Locked::<Tel>::new());
    load(&adjlst, plan.vertices(), plan.edges(), 1);
    load(&tel, plan.vertices(), plan.edges(), 1);
    let (adjlst_now, tel_now) = (adjlst.snapshot(), tel.snapshot());
    let (adjlst_out, adjlst_in) = (adjlst_now.out(), adjlst_now.in_());
    let (tel_out, tel_in) = (tel_now.out(), tel_now.in_());
    let mut subjects = [
        Subject::new("CSR", out, incoming),
        Subject::new(adjlst.name(), &adjlst_out, &adjlst_in),
        Subject::new(tel.name(), &tel_out, &tel_in),
    ];
    let options = ReadOptions {
        triangle_sample,
        ..ReadOptions::default()
    };
    let reads = ReadPlan::new(out, incoming, &options);
    kernels
        .iter()
        .map(|&kernel| run_reads(&reads, kernel, &mut subjects, rounds))
        .collect()
}

fn print_updates(plan: &UpdatePlan, updates: &[UpdateOutcome], report: &mut Report) {
    let titles = Update::ALL
        .map(Update::name)
        .into_iter()
        .chain(["B/entry", "reserved"]);
    let mut table = Table::new(["M edges/s"].into_iter().chain(titles));
    let (out, incoming) = plan.loaded();
    let csr_bytes = out.memory_bytes() + incoming.memory_bytes();
    let csr_entry = csr_bytes as f64 / (2 * out.edges()) as f64;
    let mut csr_row = vec!["CSR".to_owned()];
    csr_row.resize(Update::ALL.len() + 1, "-".to_owned());
    csr_row.push(digits(csr_entry));
    table.push(csr_row);
    report.figure("memory/CSR/bytes_per_entry", csr_entry);
    for outcome in updates {
        let mut row = vec![outcome.subject.clone()];
        for update in Update::ALL {
            let speed = outcome.millions_per_s(update);
            row.push(digits(speed));
            report.figure(
                format!("{}/{}/M_per_s", update.name(), outcome.subject),
                speed,
            );
        }
        if let Some(full) = outcome.samples.last() {
            row.push(digits(full.bytes_per_entry()));
            row.push(digits(full.reserved_bytes as f64 / (2 * full.edges) as f64));
            let ratio = full.memory_bytes as f64 / csr_bytes as f64;
            report.ratio(format!("memory/{}", outcome.subject), ratio);
            report.figure_of(format!("load/{}", outcome.subject), &outcome.samples);
        }
        table.push(row);
    }
    println!("{table}");
}

fn print_reads<'a>(measured: impl Iterator<Item = &'a Vec<ReadOutcome>>, report: &mut Report) {
    let mut table = Table::new([
        "M units/s (x CSR)",
        "work M",
        "CSR",
        "AdjLst",
        "TEL",
        "spread",
    ]);
    for outcomes in measured {
        let reference = &outcomes[0];
        let kernel = reference.kernel.name();
        let mut row = vec![kernel.to_owned(), digits(reference.work as f64 / 1e6)];
        let mut spread = 0f64;
        for outcome in outcomes {
            let (speed, ratio) = (outcome.millions_per_s(), outcome.speed_ratio(reference));
            row.push(format!("{} ({})", digits(speed), digits(ratio)));
            report.figure(format!("{kernel}/{}/M_per_s", outcome.subject), speed);
            report.ratio(format!("{kernel}/{}", outcome.subject), ratio);
            spread = spread.max(outcome.samples.spread());
        }
        row.push(digits(spread));
        table.push(row);
    }
    println!("{table}");
}

/// Writes the report as JSON, and charts of memory, speed and latency.
fn write(
    folder: &Path,
    plan: &UpdatePlan,
    updates: &[UpdateOutcome],
    reads: &[Vec<ReadOutcome>],
    report: &Report,
) -> Result<(), Box<dyn Error>> {
    let memory: Vec<Curve> = updates
        .iter()
        .map(|outcome| {
            let point = |s: &telar_bench::workload::LoadSample| {
                (s.edges as f64, s.memory_bytes as f64 / (1 << 20) as f64)
            };
            let points = outcome.samples.iter().map(point).collect();
            Curve {
                name: outcome.subject.clone(),
                points,
            }
        })
        .collect();
    let chart = plot::curves("Memory during a load", "edges", "MiB", &memory);
    std::fs::write(folder.join("memory.svg"), chart)?;

    let groups: Vec<String> = reads
        .iter()
        .map(|o| o[0].kernel.name().to_owned())
        .collect();
    let series: Vec<String> = reads[0]
        .iter()
        .map(|outcome| outcome.subject.clone())
        .collect();
    let ratio = |s: usize| reads.iter().map(|o| o[s].speed_ratio(&o[0])).collect();
    let values: Vec<Vec<f64>> = (0..series.len()).map(ratio).collect();
    let chart = plot::bars("Read speed", "x CSR", &groups, &series, &values);
    std::fs::write(folder.join("reads.svg"), chart)?;

    let adjlst = latencies(&Locked::<AdjLst>::new(), plan.vertices(), plan.edges());
    let tel = latencies(&Locked::<Tel>::new(), plan.vertices(), plan.edges());
    let histograms = [("AdjLst".to_owned(), &adjlst), ("TEL".to_owned(), &tel)];
    let chart = plot::cumulative("Latency of single inserts", "ns", &histograms);
    std::fs::write(folder.join("latency.svg"), chart)?;

    let mut report = report.clone();
    for (name, histogram) in &histograms {
        report.figure_of(
            format!("insert/{name}/latency_ns"),
            &histogram.percentiles(),
        );
    }
    let json = serde_json::to_string_pretty(&report.to_json())?;
    std::fs::write(folder.join("report.json"), json)?;
    Ok(())
}

fn latencies<C: Container>(
    container: &C,
    n: u32,
    all: &[Edge],
) -> telar_bench::histogram::Histogram {
    load(container, n, &[], 1);
    insert_latencies(&mut container.writer(), all)
}
