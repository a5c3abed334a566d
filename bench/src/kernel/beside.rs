//! Scans beside a writer: each on a new snapshot, while another thread inserts more edges.
//!
//! Two references. The plain CSR of the first 70 %, scanned alone, is what the key relates to; its
//! speed per entry is what scans without any care for writers reach. The contended CSR is the same
//! array scanned while the same writer works on a store that nobody reads: it shows how much of the
//! loss is memory bandwidth, which no store can avoid.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use telar_generate::Edge;
use telar_generate::csr::Csr;
use telar_graph::topology::Topology;

use super::reads::{BATCH, note_state};
use super::{KernelError, Run};
use crate::container::{Container, Snapshot, Telar, Writer};
use crate::measure::{self, Elapsed, median};
use crate::report::{Table, digits};
use crate::workload::{load, same_adjacency};

/// Sums all neighbours in vertex order; returns the number of entries.
pub(super) fn scan<T: Topology>(topology: &T) -> u64 {
    let (mut sum, mut entries) = (0, 0);
    topology.scan(0..topology.vertex_bound(), |_, run| {
        sum += run.iter().map(|&u| u64::from(u)).sum::<u64>();
        entries += run.len() as u64;
    });
    std::hint::black_box(sum);
    entries
}

/// Scans of one kind during a round.
#[derive(Default)]
struct Scans {
    /// Million entries per second of each scan, by the clock on the wall.
    wall: Vec<f64>,
    /// The same by processor time.
    cpu: Vec<f64>,
}

impl Scans {
    fn push(&mut self, entries: u64, elapsed: Elapsed) {
        self.wall.push(entries as f64 / elapsed.wall_s.max(1e-9) / 1e6);
        self.cpu.push(entries as f64 / elapsed.cpu_s.max(1e-9) / 1e6);
    }
}

/// One round: the CSR alone and beside a writer, Telar beside a writer, and how fast that wrote.
struct Round {
    plain: Scans,
    contended: Scans,
    read: Scans,
    /// Of the store that nobody read.
    unread: f64,
    writer: f64,
}

/// Scans again and again while another thread inserts `rest` into `telar`, an edge per transaction;
/// returns the scans that ended before the writer did and the writer's million entries per second.
fn beside(telar: &Telar, rest: &[Edge], mut scan: impl FnMut() -> u64) -> (Scans, f64) {
    let (start, done) = (Barrier::new(2), AtomicBool::new(false));
    let mut scans = Scans::default();
    let speed = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut writer = telar.writer();
            start.wait();
            let ((), elapsed) = measure::time(|| {
                for &(u, v) in rest {
                    writer.insert_edge(u, v);
                }
            });
            done.store(true, Ordering::Release);
            2e-6 * rest.len() as f64 / elapsed.wall_s.max(1e-9)
        });
        start.wait();
        loop {
            let (entries, elapsed) = measure::time(&mut scan);
            let late = done.load(Ordering::Acquire);
            // A tiny graph may be written before it is scanned once; one scan there must be.
            if !late || scans.wall.is_empty() {
                scans.push(entries, elapsed);
            }
            if late {
                break;
            }
        }
        writer.join().expect("an inserting thread")
    });
    (scans, speed)
}

/// Measures and notes everything of this part.
pub(super) fn measure(run: &mut Run<'_>) -> Result<(), KernelError> {
    run.say("reads: beside a writer");
    let (n, all) = (run.input.n, &run.input.edges);
    let (first, rest) = all.split_at(all.len() * 7 / 10);
    let csr = Csr::<u32>::outgoing(n, first);
    let loaded = || {
        let telar = Telar::in_memory();
        load(&telar, n, first, BATCH);
        telar.settle();
        telar
    };
    let mut rounds: Vec<Round> = Vec::new();
    let mut last = None;
    for _ in 0..run.rounds {
        let telar = loaded();
        if rounds.is_empty() {
            same_adjacency("Telar", &telar.snapshot().out(), &csr)?;
        }
        let (read, writer) = beside(&telar, rest, || scan(&telar.snapshot().out()));
        let mut plain = Scans::default();
        for _ in 0..read.wall.len().clamp(5, 50) {
            let (entries, elapsed) = measure::time(|| scan(&csr));
            plain.push(entries, elapsed);
        }
        let (contended, unread) = beside(&loaded(), rest, || scan(&csr));
        rounds.push(Round { plain, contended, read, unread, writer });
        last = Some(telar);
    }
    if let Some(telar) = &last {
        same_adjacency("Telar", &telar.snapshot().out(), &Csr::outgoing(n, all))?;
        note_state(run, "after_scans_beside_a_writer", telar)?;
    }
    let of = |f: &dyn Fn(&Round) -> f64| median(&rounds.iter().map(f).collect::<Vec<_>>());
    let wall = |scans: &Scans| median(&scans.wall);
    let cpu = |scans: &Scans| median(&scans.cpu);
    run.find("scan_with_writer", of(&|r| wall(&r.read) / wall(&r.plain)));
    let figures = [
        ("CSR_plain/M_per_s", of(&|r| wall(&r.plain))),
        ("CSR_contended/M_per_s", of(&|r| wall(&r.contended))),
        ("Telar/M_per_s", of(&|r| wall(&r.read))),
        ("Telar/of_csr_contended", of(&|r| wall(&r.read) / wall(&r.contended))),
        ("Telar/of_csr_plain_cpu", of(&|r| cpu(&r.read) / cpu(&r.plain))),
        ("Telar/scans_per_round", of(&|r| r.read.wall.len() as f64)),
        ("writer/unread_M_entries_per_s", of(&|r| r.unread)),
        ("writer/scanned_M_entries_per_s", of(&|r| r.writer)),
    ];
    let mut table = Table::new(["scan beside a writer", "figure"]);
    for (name, value) in figures {
        table.push([name.to_owned(), digits(value)]);
        run.report.figure(format!("scan_with_writer/{name}"), value);
    }
    run.table("Scans beside a writer (wall clock)", table);
    Ok(())
}
