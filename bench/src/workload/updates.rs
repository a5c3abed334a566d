//! Updates: loads, repeated and removed edges, a hub, and the memory they leave behind.

mod load;
mod pass;

pub use load::{insert_latencies, insert_parallel, load};

use super::WrongAnswer;
use crate::container::Container;
use crate::measure::Samples;
use pass::Pass;
use telar_generate::csr::Csr;
use telar_generate::{Edge, edges};

/// An update that is timed; every one is one transaction per edge but
/// [`InsertBatches`](Self::InsertBatches).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Update {
    /// New edges in random order.
    Insert,
    /// The last fifth of them: the graph is large by then.
    InsertLast,
    /// New edges in random order, several per transaction.
    InsertBatches,
    /// Edges that exist already, which changes nothing.
    Reinsert,
    /// New versions of edges that exist.
    Upsert,
    /// Edges that exist, removed.
    Delete,
    /// New edges of a single vertex.
    Hub,
}

impl Update {
    /// All updates, in the order of a pass.
    pub const ALL: [Self; 7] = [
        Self::Insert,
        Self::InsertLast,
        Self::Reinsert,
        Self::Upsert,
        Self::Delete,
        Self::InsertBatches,
        Self::Hub,
    ];

    /// Returns the name that tables and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::InsertLast => "insert_last_fifth",
            Self::InsertBatches => "insert_batches",
            Self::Reinsert => "reinsert",
            Self::Upsert => "upsert",
            Self::Delete => "delete",
            Self::Hub => "hub_insert",
        }
    }
}

/// The edges of the updates, and what the graph must look like.
pub struct UpdatePlan {
    n: u32,
    edges: Vec<Edge>,
    /// Edges that are inserted and written again.
    again: Vec<Edge>,
    /// Edges of the load that are removed.
    removed: Vec<Edge>,
    batch: usize,
    hub_leaves: u32,
    loaded: (Csr, Csr),
    remaining: (Csr, Csr),
}

impl UpdatePlan {
    /// Returns the plan for `edges` over `n` vertices, which must be distinct and are loaded in the
    /// order given; a fifth is written again, a tenth removed. Batches have 64 edges, the hub 2^17.
    pub fn new(n: u32, edges: Vec<Edge>, seed: u64) -> Self {
        let mut mixed = edges.clone();
        edges::shuffle(&mut mixed, seed);
        let again = mixed[..mixed.len() / 5].to_vec();
        let remaining = mixed.split_off(mixed.len() / 10);
        Self {
            n,
            loaded: (Csr::outgoing(n, &edges), Csr::incoming(n, &edges)),
            remaining: (Csr::outgoing(n, &remaining), Csr::incoming(n, &remaining)),
            edges,
            again,
            removed: mixed,
            batch: 64,
            hub_leaves: 1 << 17,
        }
    }

    /// Sets the edges per transaction of [`Update::InsertBatches`].
    #[must_use]
    pub fn batch(mut self, edges: usize) -> Self {
        self.batch = edges.max(1);
        self
    }

    /// Sets the edges of [`Update::Hub`]; 0 leaves it out.
    #[must_use]
    pub fn hub_leaves(mut self, leaves: u32) -> Self {
        self.hub_leaves = leaves;
        self
    }

    /// Returns the loaded graph: out-lists and in-lists.
    pub fn loaded(&self) -> (&Csr, &Csr) {
        (&self.loaded.0, &self.loaded.1)
    }

    /// Returns the edges of the load, in order.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the number of vertices.
    pub fn vertices(&self) -> u32 {
        self.n
    }
}

/// The state of a load at some point.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LoadSample {
    /// Share of the edges loaded, in per cent.
    pub percent: usize,
    /// Edges loaded; each is two entries.
    pub edges: u64,
    /// [`Container::memory_bytes`].
    pub memory_bytes: u64,
    /// [`Container::reserved_bytes`].
    pub reserved_bytes: u64,
    /// Processor seconds of inserting since the sample before.
    pub seconds: f64,
}

impl LoadSample {
    /// Returns the bytes per entry.
    pub fn bytes_per_entry(&self) -> f64 {
        self.memory_bytes as f64 / (2 * self.edges.max(1)) as f64
    }
}

type PassFn<'a> = dyn FnMut(&UpdatePlan) -> Result<Pass, WrongAnswer> + 'a;

/// One kind of container among those compared.
pub struct UpdateSubject<'a> {
    name: String,
    once: bool,
    pass: Box<PassFn<'a>>,
}

impl<'a> UpdateSubject<'a> {
    /// Returns the subject whose containers `make` makes, empty ones.
    pub fn new<C: Container>(make: impl Fn() -> C + 'a) -> Self {
        let name = make().name();
        Self { name, once: false, pass: Box::new(move |plan| pass::pass(&make, plan)) }
    }

    /// Lets the subject pass a single time, in the last round and without warming up: enough for a
    /// baseline that no ratio refers to.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.once = true;
        self
    }
}

/// How fast one kind of container did all updates.
#[derive(Clone, Debug)]
pub struct UpdateOutcome {
    /// Who.
    pub subject: String,
    /// Processor seconds per pass, and edges per pass, of each update.
    pub updates: Vec<(Update, Samples, u64)>,
    /// Memory during the last pass's load.
    pub samples: Vec<LoadSample>,
    /// Memory of the last pass's load after [`Container::settle`].
    pub settled_bytes: u64,
}

impl UpdateOutcome {
    /// Returns millions of edges per second in the median pass; NaN if `update` was not run.
    pub fn millions_per_s(&self, update: Update) -> f64 {
        let found = self.updates.iter().find(|(measured, _, _)| *measured == update);
        found.map_or(f64::NAN, |(_, samples, edges)| *edges as f64 / samples.median() / 1e6)
    }
}

/// Lets the subjects pass through all updates in turns, after one pass of each that does not count:
/// on a virtual machine the first touch of memory costs more than the insert behind it.
///
/// # Errors
/// The first wrong answer.
pub fn run_updates(
    plan: &UpdatePlan,
    subjects: &mut [UpdateSubject<'_>],
    rounds: usize,
) -> Result<Vec<UpdateOutcome>, WrongAnswer> {
    let mut passes: Vec<Vec<Pass>> = vec![Vec::new(); subjects.len()];
    for round in 0..=rounds {
        let turns = subjects.iter_mut().zip(&mut passes);
        for (subject, passes) in turns.filter(|(subject, _)| !subject.once || round == rounds) {
            let pass = (subject.pass)(plan)?;
            if round > 0 || subject.once {
                passes.push(pass);
            }
        }
    }
    Ok(subjects.iter().zip(passes).map(|(subject, passes)| summary(subject, passes)).collect())
}

fn summary(subject: &UpdateSubject<'_>, mut passes: Vec<Pass>) -> UpdateOutcome {
    let mut updates = Vec::new();
    for update in Update::ALL {
        let (mut samples, mut edges) = (Samples::default(), 0);
        let all = passes.iter().flat_map(|pass| &pass.updates);
        for (_, elapsed, count) in all.filter(|(measured, _, _)| *measured == update) {
            samples.push(elapsed.cpu_s);
            edges = *count;
        }
        updates.push((update, samples, edges));
    }
    let last = passes.pop().unwrap_or_default();
    UpdateOutcome {
        subject: subject.name.clone(),
        updates,
        samples: last.samples,
        settled_bytes: last.settled_bytes,
    }
}

#[cfg(test)]
mod tests;
