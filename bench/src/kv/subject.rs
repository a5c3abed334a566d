//! A store under measurement, whatever its type.

use super::KvError;
use super::plan::{BATCH, Plan, READS_PER_INSERT};
use super::reads::{Answer, KvRead, answer};
use crate::container::{Container, Snapshot, Writer};
use crate::workload::{Hops, WrongAnswer, load, same_adjacency};
use std::io;
use telar_cli::process_cpu_s;
use telar_generate::csr::Csr;
use telar_graph::topology::Topology;

/// An update that is timed, one transaction per edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Update {
    /// New edges.
    Insert,
    /// The same edges, removed.
    Delete,
    /// New edges with reads of lists between them, each in a snapshot of its own.
    Mixed,
}

impl Update {
    pub(super) const ALL: [Self; 3] = [Self::Insert, Self::Delete, Self::Mixed];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Mixed => "mixed_20_to_1",
        }
    }

    /// Returns the number of transactions.
    pub(super) fn work(self, plan: &Plan) -> usize {
        match self {
            Self::Insert | Self::Delete => plan.extra.len(),
            Self::Mixed => plan.extra.len() * (1 + READS_PER_INSERT),
        }
    }
}

/// A store and the graph in it.
pub(super) trait Subject {
    fn name(&self) -> String;

    /// Loads a new graph in random order, settles it, and returns the seconds of both.
    fn load(&mut self, plan: &Plan) -> Result<f64, KvError>;

    /// Fills a new graph from edges in random order that are there at once; returns the seconds.
    fn fill(&mut self, plan: &Plan) -> Result<f64, KvError>;

    /// Does an update and undoes it; returns the seconds of the update.
    fn update(&mut self, update: Update, plan: &Plan) -> Result<f64, KvError>;

    /// Does what the store does in the background, so that reads meet what it comes to.
    fn settle(&self);

    /// Answers a read from a new snapshot.
    fn read(&self, plan: &Plan, read: KvRead, hops: &mut Hops) -> Answer;

    /// Returns the bytes of the graph.
    fn bytes(&self) -> u64;
}

/// A kind of container, and the last one that was made.
pub(super) struct Held<C, M, F> {
    make: M,
    fill: F,
    container: C,
}

impl<C, M, F> Held<C, M, F>
where
    C: Container,
    M: Fn() -> io::Result<C>,
    F: Fn(&Plan) -> io::Result<C>,
{
    /// Returns the subject whose containers are made empty by `make` and full by `fill`.
    pub(super) fn new(make: M, fill: F) -> io::Result<Self> {
        Ok(Self { container: make()?, make, fill })
    }

    fn check(&self, expected: (&Csr, &Csr)) -> Result<(), KvError> {
        let (name, snapshot) = (self.container.name(), self.container.snapshot());
        same_adjacency(&name, &snapshot.out(), expected.0)?;
        same_adjacency(&name, &snapshot.in_(), expected.1)?;
        Ok(())
    }

    fn counted(&self, found: usize, expected: usize) -> Result<(), KvError> {
        if found == expected {
            return Ok(());
        }
        let difference = format!("{found} edges changed, not {expected}");
        Err(WrongAnswer { subject: self.container.name(), difference }.into())
    }

    fn insert(&self, plan: &Plan) -> usize {
        let mut writer = self.container.writer();
        plan.extra.iter().filter(|&&(u, v)| writer.insert_edge(u, v)).count()
    }

    fn delete(&self, plan: &Plan) -> usize {
        let mut writer = self.container.writer();
        plan.extra.iter().filter(|&&(u, v)| writer.delete_edge(u, v)).count()
    }

    /// Inserts with reads between them; the sum keeps the reads from being optimised away.
    fn mix(&self, plan: &Plan) -> usize {
        let mut writer = self.container.writer();
        let mut sources = plan.sources.iter().cycle();
        let (mut added, mut sum) = (0, 0u64);
        for &(u, v) in &plan.extra {
            added += usize::from(writer.insert_edge(u, v));
            for &source in sources.by_ref().take(READS_PER_INSERT) {
                let snapshot = self.container.snapshot();
                let add = |run: &[u32]| sum += run.iter().map(|&u| u64::from(u)).sum::<u64>();
                snapshot.out().for_each_run(source, add);
            }
        }
        std::hint::black_box(sum);
        added
    }
}

/// Runs `work` and returns its result and the processor seconds of the process.
fn process_time<R>(work: impl FnOnce() -> R) -> (R, f64) {
    let begun = process_cpu_s();
    let result = work();
    (result, process_cpu_s() - begun)
}

impl<C, M, F> Subject for Held<C, M, F>
where
    C: Container,
    M: Fn() -> io::Result<C>,
    F: Fn(&Plan) -> io::Result<C>,
{
    fn name(&self) -> String {
        self.container.name()
    }

    fn load(&mut self, plan: &Plan) -> Result<f64, KvError> {
        self.container = (self.make)()?;
        let (added, seconds) = process_time(|| {
            let added = load(&self.container, plan.n(), &plan.loaded, BATCH);
            self.container.settle();
            added
        });
        self.counted(added as usize, plan.loaded.len())?;
        self.check((&plan.out, &plan.incoming))?;
        Ok(seconds)
    }

    fn fill(&mut self, plan: &Plan) -> Result<f64, KvError> {
        // What is replaced goes first: two graphs at a time would be twice the memory.
        self.container = (self.make)()?;
        let (container, seconds) = process_time(|| (self.fill)(plan));
        self.container = container?;
        self.check((&plan.out, &plan.incoming))?;
        Ok(seconds)
    }

    fn update(&mut self, update: Update, plan: &Plan) -> Result<f64, KvError> {
        let all = plan.extra.len();
        if update == Update::Delete {
            self.counted(self.insert(plan), all)?;
        }
        let (changed, seconds) = process_time(|| match update {
            Update::Insert => self.insert(plan),
            Update::Delete => self.delete(plan),
            Update::Mixed => self.mix(plan),
        });
        self.counted(changed, all)?;
        if update != Update::Delete {
            self.check((&plan.whole.0, &plan.whole.1))?;
            self.counted(self.delete(plan), all)?;
        }
        self.check((&plan.out, &plan.incoming))?;
        Ok(seconds)
    }

    fn settle(&self) {
        self.container.settle();
    }

    fn read(&self, plan: &Plan, read: KvRead, hops: &mut Hops) -> Answer {
        let snapshot = self.container.snapshot();
        answer(plan, read, &snapshot.out(), hops)
    }

    fn bytes(&self) -> u64 {
        self.container.memory_bytes()
    }
}
