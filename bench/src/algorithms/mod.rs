//! Graph algorithms: the benchmark behind `telar bench algorithms`.
//!
//! | module | measures |
//! |---|---|
//! | `kernels` | kernels in place over flat CSR: settled, 10 % unsettled, beside a writer |
//! | `calls` | the same kernels through `CALL`, rows aggregated in the query |
//! | `scaling` | several threads over one, for every iterative kernel |
//! | `programs` | vertex programs, with and without batched updates and work sharing |
//! | `snapshots` | what a writer costs a running kernel, and a kernel the writer |
//! | `memory` | bytes that kernels allocate beside the graph, and what they estimate |
//! | `kernel`, `answer`, `world`, `writer` | what these share |
//!
//! All answers are compared before anything is timed. Subjects take turns; ratios are ratios of
//! medians. Kernels in place are timed by the processor time of their threads, which neither the
//! writer nor other work on the machine adds to; the rest is wall time.

mod answer;
mod calls;
mod kernel;
mod kernels;
mod memory;
mod programs;
mod scaling;
mod snapshots;
mod world;
mod writer;

use std::str::FromStr;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::figures::Bound;
use crate::measure::{Samples, thread_cpu_s, time};
use crate::report::{Report, Table, digits};
use answer::Answer;

/// An error, as text.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Kernels in place and on flat CSR.
    Kernels,
    /// Kernels through `CALL`.
    Calls,
    /// Several threads and one.
    Scaling,
    /// Vertex programs.
    Programs,
    /// Kernels and a writer side by side.
    Snapshots,
    /// Bytes beside the graph.
    Memory,
}

impl Section {
    /// All sections, in the order in which they run, by name.
    pub const ALL: [(&'static str, Self); 6] = [
        ("kernels", Self::Kernels),
        ("calls", Self::Calls),
        ("scaling", Self::Scaling),
        ("programs", Self::Programs),
        ("snapshots", Self::Snapshots),
        ("memory", Self::Memory),
    ];
}

/// A name that no section has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no such section; there are {}", Section::ALL.map(|(name, _)| name).join(", "))]
pub struct UnknownSection;

impl FromStr for Section {
    type Err = UnknownSection;

    fn from_str(text: &str) -> Result<Self, UnknownSection> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, section)| *section).ok_or(UnknownSection)
    }
}

/// Sizes of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Binary logarithm of the number of vertices; there are 16 times as many edges.
    pub scale: u32,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Rounds; medians count.
    pub rounds: usize,
    /// Sections that run.
    pub sections: Vec<Section>,
}

/// Result of a run.
#[derive(Debug)]
pub struct Found {
    /// All figures.
    pub report: Report,
    /// Tables with their titles.
    pub tables: Vec<(String, Table)>,
}

/// A run in progress.
struct Run<'a> {
    options: &'a Options,
    stage: &'a mut dyn FnMut(&str),
    found: Found,
}

impl Run<'_> {
    fn table(&mut self, title: impl Into<String>, table: Table) {
        self.found.tables.push((title.into(), table));
    }

    /// Notes milliseconds, and returns them for a table.
    fn ms(&mut self, key: String, samples: &Samples) -> String {
        let ms = samples.median() * 1e3;
        self.found.report.figure(key + "_ms", ms);
        digits(ms)
    }

    /// Notes a ratio, and returns it for a table.
    fn ratio(&mut self, key: String, ratio: f64, bound: Option<Bound>) -> String {
        self.found.report.ratio(key, ratio);
        match bound {
            Some(bound) if !bound.is_met(ratio) => format!("{} (missed)", digits(ratio)),
            _ => digits(ratio),
        }
    }
}

/// Runs the benchmark; `stage` is told what is done next.
///
/// # Errors
/// If answers differ, and those of the database.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<Found, Failed> {
    let mut report = Report::new("algorithms");
    report.parameter("scale", options.scale);
    report.parameter("rounds", options.rounds);
    let found = Found { report, tables: Vec::new() };
    let mut run = Run { options, stage, found };
    for (_, section) in Section::ALL {
        if options.sections.contains(&section) {
            match section {
                Section::Kernels => kernels::measure(&mut run)?,
                Section::Calls => calls::measure(&mut run)?,
                Section::Scaling => scaling::measure(&mut run)?,
                Section::Programs => programs::measure(&mut run)?,
                Section::Snapshots => snapshots::measure(&mut run)?,
                Section::Memory => memory::measure(&mut run)?,
            }
        }
    }
    Ok(run.found)
}

fn pool(threads: usize) -> Result<ThreadPool, Failed> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

/// Source of times.
#[derive(Clone, Copy)]
enum Clock<'a> {
    Wall,
    /// Processor time of these threads, added up.
    Threads(&'a ThreadPool),
}

impl Clock<'_> {
    /// Runs `work`; returns its result and how many seconds it took.
    fn time<R>(self, work: impl FnOnce() -> R) -> (R, f64) {
        let now = || match self {
            Self::Wall => 0.0,
            Self::Threads(pool) => pool.broadcast(|_| thread_cpu_s()).iter().sum(),
        };
        let begun = now();
        let (done, elapsed) = time(work);
        match self {
            Self::Wall => (done, elapsed.wall_s),
            Self::Threads(_) => (done, now() - begun),
        }
    }
}

/// One way to compute an answer.
type Subject<'a> = (String, Box<dyn Fn() -> Result<Answer, Failed> + 'a>);

/// Compares the answers of all subjects with that of the first, and then times them in turns.
fn in_turns(
    what: &str,
    (clock, rounds): (Clock<'_>, usize),
    subjects: &[Subject<'_>],
) -> Result<Vec<Samples>, Failed> {
    let Some((_, first)) = subjects.first() else { return Ok(Vec::new()) };
    let expected = first()?;
    for (name, subject) in subjects {
        subject()?.require(&expected).map_err(|wrong| format!("{what}, {name}: {wrong}"))?;
    }
    let mut samples = vec![Samples::default(); subjects.len()];
    for _ in 0..rounds {
        for ((_, subject), samples) in subjects.iter().zip(&mut samples) {
            let (found, seconds) = clock.time(subject);
            found?;
            samples.push(seconds);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_found_by_their_names() {
        for (name, section) in Section::ALL {
            assert_eq!(name.parse(), Ok(section));
        }
        let said = "kernel".parse::<Section>().unwrap_err().to_string();
        assert!(said.ends_with("kernels, calls, scaling, programs, snapshots, memory"), "{said}");
    }

    #[test]
    fn all_sections_agree_on_a_small_graph() {
        let sections = Section::ALL.map(|(_, section)| section).to_vec();
        let options = Options { scale: 8, threads: vec![1, 2], rounds: 1, sections };
        let found = run(&options, &mut |_| {}).unwrap();
        let json = found.report.to_json();
        for group in ["figures", "ratios"] {
            let numbers = json[group].as_object().unwrap();
            assert!(numbers.len() > 20, "{json}");
            for (key, number) in numbers {
                // No allocator counts here, and a tiny kernel may end between two commits.
                let may_be_none = key.starts_with("memory/")
                    || ["commits_per_s", "share", "_of_alone"].iter().any(|end| key.ends_with(end));
                let number = number.as_f64().unwrap();
                assert!(number > 0.0 || may_be_none && number == 0.0, "{key}: {number}");
            }
        }
        assert!(found.tables.len() >= Section::ALL.len());
    }
}
