//! What a run found: tables for people, JSON.

use std::fmt;
use std::io;
use std::path::Path;

use super::plan::Plan;
use super::{Measured, Sizes};
use crate::report::{Report, Table, digits};

/// What Telar is to reach against a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// First word of the stores' names.
    pub store: &'static str,
    /// Operations it is about.
    pub operations: &'static [&'static str],
    /// Speed of Telar over the store's.
    pub at_least: f64,
}

/// Reads of lists and k hops.
const LISTS: &[&str] = &["neighbours", "neighbours_80_20", "two_hops", "three_hops"];

/// What was promised before there was code.
pub const TARGETS: [Target; 2] = [
    Target { store: "LMDB", operations: LISTS, at_least: 5.0 },
    Target { store: "RocksDB", operations: LISTS, at_least: 15.0 },
];

/// The result of a run.
pub struct Outcome {
    report: Report,
    title: String,
    tables: Vec<(String, Table)>,
    met: (usize, usize),
}

fn target_of(store: &str, operation: &str) -> Option<f64> {
    let fits = |target: &&Target| {
        store.starts_with(target.store) && target.operations.contains(&operation)
    };
    TARGETS.iter().find(fits).map(|target| target.at_least)
}

/// Puts tables and report together; the first subject is Telar.
pub(super) fn finish(
    mut report: Report,
    plan: &Plan,
    names: Vec<String>,
    measured: &[Measured],
    sizes: &[Sizes],
) -> Outcome {
    let mut met = (0, 0);
    let mut speeds = Table::new(speed_titles(&names));
    let mut targets = Table::new(["Telar over", "read", "ratio", "target", ""]);
    for found in measured {
        let key = format!("{}/{}", found.step, found.operation);
        let telar = found.millions_per_s(0);
        let spread = found.samples.iter().map(|s| s.spread()).fold(0.0, f64::max);
        let mut row = vec![key.clone(), format!("M {}", found.unit)];
        for (subject, name) in names.iter().enumerate() {
            let speed = found.millions_per_s(subject);
            report.figure(format!("{key}/{name}/M_{}_per_s", found.unit), speed);
            row.push(match subject {
                0 => digits(speed),
                _ => format!("{} ({})", digits(speed), digits(telar / speed)),
            });
            if subject == 0 {
                continue;
            }
            report.ratio(format!("{key}/{name}"), telar / speed);
            if let Some(bound) = target_of(name, found.operation) {
                let is_met = telar / speed >= bound;
                met = (met.0 + usize::from(is_met), met.1 + 1);
                targets.push([
                    name.clone(),
                    key.clone(),
                    digits(telar / speed),
                    format!(">= {bound}"),
                    if is_met { "met" } else { "missed" }.to_owned(),
                ]);
            }
        }
        row.push(digits(spread));
        speeds.push(row);
    }
    let edges = 2 * plan.loaded.len() as u64;
    let mut bytes = Table::new(["bytes per entry".to_owned()].into_iter().chain(names.clone()));
    for size in sizes {
        let of = |subject: usize| size.bytes[subject] as f64 / edges as f64;
        let cell = |subject: usize| match subject {
            0 => digits(of(0)),
            _ => format!("{} ({})", digits(of(subject)), digits(of(subject) / of(0))),
        };
        let cells = (0..names.len()).map(cell);
        bytes.push([size.step.to_owned()].into_iter().chain(cells));
        for (subject, name) in names.iter().enumerate() {
            report.figure(format!("{}/{name}/bytes_per_entry", size.step), of(subject));
            if subject > 0 {
                report.ratio(format!("{}/bytes/{name}", size.step), of(subject) / of(0));
            }
        }
    }
    let tables = vec![
        ("Telar against the stores".to_owned(), targets),
        ("Speeds, M/s (Telar is so many times faster)".to_owned(), speeds),
        ("Size, both directions (multiple of Telar's)".to_owned(), bytes),
        ("The stores among themselves".to_owned(), among(&mut report, &names, measured, sizes)),
    ];
    let n = plan.n();
    let title = format!("{n} vertices, {} edges and {} updates", edges / 2, plan.extra.len());
    Outcome { report, title, tables, met }
}

fn speed_titles(names: &[String]) -> Vec<String> {
    let mut titles = vec!["step/operation".to_owned(), "unit".to_owned()];
    titles.extend(names.iter().cloned());
    titles.push("spread".to_owned());
    titles
}

/// Compares packings within a store, and stores within a packing.
fn among(report: &mut Report, names: &[String], measured: &[Measured], sizes: &[Sizes]) -> Table {
    let at = |name: &str| names.iter().position(|known| known == name);
    let pairs = [
        ("packing/LMDB", "LMDB compact", "LMDB edge keys"),
        ("packing/RocksDB", "RocksDB compact", "RocksDB edge keys"),
        ("store/compact", "LMDB compact", "RocksDB compact"),
        ("store/edge keys", "LMDB edge keys", "RocksDB edge keys"),
    ];
    let pairs: Vec<(&str, &str, &str, usize, usize)> = pairs
        .iter()
        .filter_map(|&(key, one, other)| Some((key, one, other, at(one)?, at(other)?)))
        .collect();
    let title = |(_, one, other, ..): &(&str, &str, &str, usize, usize)| format!("{one} / {other}");
    let titles = ["speed, or bytes".to_owned()].into_iter();
    let mut table = Table::new(titles.chain(pairs.iter().map(title)));
    for found in measured {
        let name = format!("{}/{}", found.step, found.operation);
        let mut row = vec![name.clone()];
        for &(key, _, _, one, other) in &pairs {
            let ratio = found.millions_per_s(one) / found.millions_per_s(other);
            report.ratio(format!("{key}/{name}"), ratio);
            row.push(digits(ratio));
        }
        table.push(row);
    }
    for size in sizes {
        let name = format!("{}/bytes", size.step);
        let mut row = vec![name.clone()];
        for &(key, _, _, one, other) in &pairs {
            let ratio = size.bytes[one] as f64 / size.bytes[other] as f64;
            report.ratio(format!("{key}/{name}"), ratio);
            row.push(digits(ratio));
        }
        table.push(row);
    }
    table
}

impl Outcome {
    /// Returns everything measured.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns how many cells with a target met it, and how many there are.
    pub fn met(&self) -> (usize, usize) {
        self.met
    }

    /// Writes the report as JSON.
    ///
    /// # Errors
    /// The system's.
    pub fn write_json(&self, path: &Path) -> io::Result<()> {
        self.report.write_json(path)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.report.machine().line())?;
        writeln!(f, "{}", self.title)?;
        writeln!(f, "{} of {} cells with a target met it", self.met.0, self.met.1)?;
        for (title, table) in &self.tables {
            writeln!(f, "\n## {title}\n")?;
            write!(f, "{table}")?;
        }
        Ok(())
    }
}
