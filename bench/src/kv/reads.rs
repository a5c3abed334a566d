//! Reads that are timed: lists, k hops, searches, a scan.

use super::plan::Plan;
use super::subject::Subject;
use super::{KvError, Measured};
use crate::measure;
use crate::workload::{Hops, WrongAnswer};
use telar_graph::topology::Topology;

/// A read that is timed, along the edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvRead {
    /// Lists of random vertices that have edges, one by one.
    Neighbours,
    /// The same, four fifths of the reads on a fifth of the vertices.
    Skewed,
    /// Vertices within two hops of random ones.
    TwoHops,
    /// Within three.
    ThreeHops,
    /// Whether edges exist, half of which do.
    Search,
    /// All lists, in order of vertices.
    Scan,
}

/// What a read found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Sum of neighbours, vertices reached, or edges found.
    sum: u64,
    /// Entries read.
    pub(super) entries: u64,
}

impl KvRead {
    /// All reads, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Neighbours, Self::Skewed, Self::TwoHops, Self::ThreeHops, Self::Search, Self::Scan];

    /// Returns the name that tables and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Neighbours => "neighbours",
            Self::Skewed => "neighbours_80_20",
            Self::TwoHops => "two_hops",
            Self::ThreeHops => "three_hops",
            Self::Search => "search",
            Self::Scan => "scan",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Neighbours | Self::Skewed => "lists",
            Self::TwoHops | Self::ThreeHops | Self::Scan => "entries",
            Self::Search => "searches",
        }
    }
}

/// Returns the answer to a read; `hops` is memory for it.
pub(super) fn answer<T: Topology>(plan: &Plan, read: KvRead, out: &T, hops: &mut Hops) -> Answer {
    let mut found = Answer::default();
    let add = |run: &[u32]| {
        found.entries += run.len() as u64;
        found.sum += run.iter().map(|&u| u64::from(u)).sum::<u64>();
    };
    match read {
        KvRead::Neighbours => lists(out, &plan.sources, add),
        KvRead::Skewed => lists(out, &plan.skewed, add),
        KvRead::Scan => {
            let mut add = add;
            out.scan(0..out.vertex_bound(), |_, run| add(run));
        }
        KvRead::TwoHops | KvRead::ThreeHops => {
            let (sources, far) = match read {
                KvRead::TwoHops => (&plan.two_hops, 2),
                _ => (&plan.three_hops, 3),
            };
            for &source in sources {
                let reached = hops.count(out, source, far);
                found.sum += reached.vertices;
                found.entries += reached.entries;
            }
        }
        KvRead::Search => {
            let hits = plan.searches.iter().filter(|&&(u, v)| out.contains(u, v)).count();
            found.sum = hits as u64;
        }
    }
    found
}

/// Reads lists one by one, as point queries do: nothing is known ahead.
fn lists<T: Topology>(out: &T, sources: &[u32], mut add: impl FnMut(&[u32])) {
    for &v in sources {
        out.for_each_run(v, &mut add);
    }
}

/// Settles every subject and checks its answers, then times them in turns, a snapshot of its own
/// each time.
pub(super) fn measure_reads(
    step: &'static str,
    plan: &Plan,
    subjects: &[Box<dyn Subject + '_>],
    rounds: usize,
) -> Result<Vec<Measured>, KvError> {
    let mut hops = Hops::new(plan.n());
    let mut measured = Vec::new();
    subjects.iter().for_each(|subject| subject.settle());
    for read in KvRead::ALL {
        let expected = answer(plan, read, &plan.out, &mut hops);
        for subject in subjects {
            let found = subject.read(plan, read, &mut hops);
            if found != expected {
                let difference = format!("{step}/{}: {found:?}, not {expected:?}", read.name());
                return Err(WrongAnswer { subject: subject.name(), difference }.into());
            }
        }
        let samples = measure::interleave(subjects.len(), rounds, |subject, _| {
            let read = || subjects[subject].read(plan, read, &mut hops);
            Ok::<_, KvError>(measure::time(read).1.cpu_s)
        })?;
        let (operation, unit) = (read.name(), read.unit());
        let work = plan.work(read, expected);
        measured.push(Measured { step, operation, unit, work, samples });
    }
    Ok(measured)
}
