//! `PROFILE`: operators that are watched, over a graph that counts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

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
    /// What was measured below the operator that runs now.
    below: (Duration, u64),
}

impl Profile {
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

    /// What each operator did, by address of its plan.
    pub(crate) fn measured(&self) -> HashMap<usize, Measured> {
        self.state.lock().measured.clone()
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
        let next = self.operator.next(cx);
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
