//! N readers x M writers: how fast both are, and how long single inserts take.
//!
//! Every store begins with 70 % of the graph. A cell of the grid lasts until its share of the other
//! edges is inserted, or its time is over; whoever comes first ends it for all of its threads, so
//! that every thread works all the time. More threads than cores are allowed: they share.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use telar_generate::Edge;

use super::beside::scan;
use super::reads::BATCH;
use super::{KernelError, Run};
use crate::container::{AdjLst, Container, Locked, Snapshot, Tel, Telar, Writer};
use crate::histogram::{Histogram, Percentiles};
use crate::plot;
use crate::report::{Table, digits};
use crate::workload::load;

/// Readers and writers of each cell; those without readers come first, for undisturbed latencies.
const CELLS: [(usize, usize); 8] = [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)];
/// How many cells have writers, and so need edges.
const WRITTEN_CELLS: usize = 6;

/// What happened in one cell.
struct Cell {
    readers: usize,
    writers: usize,
    /// Million entries scanned per second, all readers together.
    scans: f64,
    /// Million entries inserted per second, all writers together.
    inserts: f64,
    latency_ns: Histogram,
}

/// A cell in the report.
#[derive(serde::Serialize)]
struct Line {
    readers: usize,
    writers: usize,
    scan_million_entries_per_s: f64,
    insert_million_entries_per_s: f64,
    insert_latency_ns: Percentiles,
}

/// One thread's share of a cell.
struct Work {
    entries: u64,
    seconds: f64,
    latency_ns: Histogram,
}

fn read<C: Container>(container: &C, until: Instant, stop: &AtomicBool) -> Work {
    let start = Instant::now();
    let mut entries = 0;
    while {
        entries += scan(&container.snapshot().out());
        !stop.load(Ordering::Relaxed) && Instant::now() < until
    } {}
    let seconds = start.elapsed().as_secs_f64();
    Work { entries, seconds, latency_ns: Histogram::default() }
}

fn write<C: Container>(container: &C, edges: &[Edge], until: Instant, stop: &AtomicBool) -> Work {
    let mut writer = container.writer();
    let start = Instant::now();
    let (mut now, mut latency_ns) = (start, Histogram::default());
    for &(u, v) in edges {
        writer.insert_edge(u, v);
        let after = Instant::now();
        latency_ns.record((after - now).as_nanos() as u64);
        now = after;
        if stop.load(Ordering::Relaxed) || now >= until {
            break;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let seconds = (now - start).as_secs_f64();
    Work { entries: 2 * latency_ns.count(), seconds, latency_ns }
}

fn cell<C: Container>(
    container: &C,
    (readers, writers): (usize, usize),
    edges: &[Edge],
    time: Duration,
) -> Cell {
    let (stop, start) = (AtomicBool::new(false), Barrier::new(readers + writers));
    let share = edges.len().div_ceil(writers.max(1)).max(1);
    let (read, written) = std::thread::scope(|scope| {
        let (start, stop) = (&start, &stop);
        let begin = move || {
            start.wait();
            Instant::now() + time
        };
        let readers: Vec<_> =
            (0..readers).map(|_| scope.spawn(move || read(container, begin(), stop))).collect();
        let writers: Vec<_> = edges
            .chunks(share)
            .take(writers)
            .map(|part| scope.spawn(move || write(container, part, begin(), stop)))
            .collect();
        let join = |threads: Vec<std::thread::ScopedJoinHandle<'_, Work>>| -> Vec<Work> {
            threads.into_iter().map(|t| t.join().expect("a thread of a cell")).collect()
        };
        (join(readers), join(writers))
    });
    let speed = |work: &[Work]| {
        work.iter().map(|w| w.entries as f64 / w.seconds.max(1e-9) / 1e6).sum::<f64>()
    };
    let mut latency_ns = Histogram::default();
    written.iter().for_each(|work| latency_ns.merge(&work.latency_ns));
    Cell { readers, writers, scans: speed(&read), inserts: speed(&written), latency_ns }
}

fn cells<C: Container>(container: &C, n: u32, all: &[Edge], time: Duration) -> Vec<Cell> {
    let (first, rest) = all.split_at(all.len() * 7 / 10);
    load(container, n, first, BATCH);
    container.settle();
    let mut shares = rest.chunks_exact(rest.len() / WRITTEN_CELLS);
    let edges = |writers: usize| if writers == 0 { None } else { shares.next() };
    let mut edges = edges;
    CELLS
        .iter()
        .map(|&threads| cell(container, threads, edges(threads.1).unwrap_or(&[]), time))
        .collect()
}

/// Measures and notes everything of this part.
pub(super) fn measure(run: &mut Run<'_>) -> Result<(), KernelError> {
    run.say("readers x writers");
    let (n, all, time) = (run.input.n, &run.input.edges, run.sizes.cell);
    let grids = [
        ("AdjLst", cells(&Locked::<AdjLst>::new(), n, all, time)),
        ("TEL", cells(&Locked::<Tel>::new(), n, all, time)),
        ("Telar", cells(&Telar::in_memory(), n, all, time)),
    ];
    let mut table = Table::new([
        "readers x writers",
        "scan M/s",
        "insert M/s",
        "p50 us",
        "p95 us",
        "p99 us",
        "max us",
    ]);
    for (name, cells) in &grids {
        let mut lines = Vec::new();
        for cell in cells {
            let latency = cell.latency_ns.percentiles();
            let us = |ns: u64| match cell.writers {
                0 => "-".to_owned(),
                _ => digits(ns as f64 / 1e3),
            };
            let speed = |threads: usize, speed: f64| match threads {
                0 => "-".to_owned(),
                _ => digits(speed),
            };
            table.push([
                format!("{name} {} x {}", cell.readers, cell.writers),
                speed(cell.readers, cell.scans),
                speed(cell.writers, cell.inserts),
                us(latency.p50),
                us(latency.p95),
                us(latency.p99),
                us(latency.max),
            ]);
            lines.push(Line {
                readers: cell.readers,
                writers: cell.writers,
                scan_million_entries_per_s: cell.scans,
                insert_million_entries_per_s: cell.inserts,
                insert_latency_ns: latency,
            });
        }
        run.report.figure_of(format!("grid/{name}"), &lines);
    }
    run.table("Readers x writers, inserts of one edge per transaction (wall clock)", table);
    charts(run, &grids);
    Ok(())
}

fn charts(run: &mut Run<'_>, grids: &[(&str, Vec<Cell>)]) {
    let histograms: Vec<(String, &Histogram)> =
        grids.iter().map(|(name, cells)| ((*name).to_owned(), &cells[0].latency_ns)).collect();
    let chart = plot::cumulative("Latency of single inserts, one writer", "ns", &histograms);
    run.charts.push(("latency.svg", chart));
    let groups: Vec<String> =
        CELLS.iter().map(|(readers, writers)| format!("{readers} x {writers}")).collect();
    let series: Vec<String> = grids.iter().map(|(name, _)| (*name).to_owned()).collect();
    let bars = |title: &str, pick: fn(&Cell) -> f64| {
        let values: Vec<Vec<f64>> =
            grids.iter().map(|(_, cells)| cells.iter().map(pick).collect()).collect();
        plot::bars(title, "M entries/s", &groups, &series, &values)
    };
    let scans = bars("Scans, readers x writers", |cell| cell.scans);
    let inserts = bars("Inserts, readers x writers", |cell| cell.inserts);
    run.charts.push(("grid_scans.svg", scans));
    run.charts.push(("grid_inserts.svg", inserts));
}
