//! `PROFILE`: operators that are watched, over a graph that counts.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::memory::Used;
use super::{Exec, Operator, Source};
use crate::batch::Batch;
use crate::description::Measured;
use crate::plan::Plan;
use crate::query_error::QueryError;

/// What the operators of a query did so far.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// What the graph was asked for; [`Counted`](super::counted::CountedRead) adds to it.
    pub(crate) hits: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By address of the plan.
    measured: HashMap<usize, Measured>,
    /// What the operators hold, also by address.
    used: Arc<Mutex<HashMap<usize, Arc<Used>>>>,
    /// What was measured below the operator that runs now.
    below: (Duration, u64),
}

impl Profile {
    /// A profile of what another thread does; what operators hold there counts here.
    pub(crate) fn beside(&self) -> Self {
        let used = self.state.lock().used.clone();
        Self { state: Mutex::new(State { used, ..State::default() }), ..Self::default() }
    }

    /// Adds what operators did on another thread.
    pub(crate) fn add(&self, other: &Self) {
        let mut state = self.state.lock();
        for (address, more) in &other.state.lock().measured {
            let measured = state.measured.entry(*address).or_default();
            measured.rows += more.rows;
            measured.hits += more.hits;
            measured.time += more.time;
        }
    }

    /// What the operators of a plan hold. Plans inside of plans run again and again: what they hold
    /// is counted together.
    fn used(&self, address: usize) -> Arc<Used> {
        let used = Arc::clone(&self.state.lock().used);
        Arc::clone(used.lock().entry(address).or_default())
    }

    /// What each operator did, by address of its plan, of a query that held so many bytes at most.
    pub(crate) fn measured(&self, peak: usize) -> HashMap<usize, Measured> {
        let state = self.state.lock();
        let used = state.used.lock();
        let measured = state.measured.iter().map(|(address, measured)| {
            let memory = used.get(address).map_or(0, |used| used.peak()) as u64;
            (*address, Measured { memory, query_memory: peak as u64, ..*measured })
        });
        measured.collect()
    }

    fn hits(&self) -> u64 {
        // ORDERING: relaxed, as it counts and orders nothing.
        self.hits.load(Ordering::Relaxed)
    }
}

/// An operator whose work is noted, by the thread that does it.
pub(crate) struct Watched<'p> {
    operator: Source<'p>,
    address: usize,
}

impl<'p> Watched<'p> {
    pub(crate) fn new(operator: Source<'p>, plan: &Plan) -> Self {
        Self { operator, address: plan.address() }
    }
}

impl Operator for Watched<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let Some(profile) = cx.profile.clone() else { return self.operator.next(cx) };
        let around = std::mem::take(&mut profile.state.lock().below);
        let (begin, hits) = (Instant::now(), profile.hits());
        let used = cx.used.replace(profile.used(self.address));
        let next = self.operator.next(cx);
        cx.used = used;
        let (time, hits) = (begin.elapsed(), profile.hits() - hits);
        let mut state = profile.state.lock();
        let below = std::mem::replace(&mut state.below, (around.0 + time, around.1 + hits));
        let measured = state.measured.entry(self.address).or_default();
        measured.time += time.saturating_sub(below.0);
        measured.hits += hits - below.1;
        if let Ok(Some(batch)) = &next {
            measured.rows += batch.rows() as u64;
        }
        next
    }
}
