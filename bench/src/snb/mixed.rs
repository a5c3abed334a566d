//! The mixed run: clients take operations in order, each when what it needs is done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use telar_cli::process_cpu_s;
use telar_db::{Database, Runtime, Session};

use super::reads::Queries;
use super::schedule::Operation;
use crate::histogram::Histogram;

/// What a mixed run found.
#[derive(Debug, Default)]
pub(super) struct Mixed {
    /// Nanoseconds by query.
    pub(super) times: BTreeMap<&'static str, Histogram>,
    /// How long it ran.
    pub(super) wall_s: f64,
    /// Processor time of the whole process.
    pub(super) cpu_s: f64,
}

impl Mixed {
    pub(super) fn operations(&self) -> u64 {
        self.times.values().map(Histogram::count).sum()
    }

    /// All queries whose names begin like this as one.
    pub(super) fn all(&self, prefix: &str) -> Histogram {
        let mut all = Histogram::default();
        self.times.iter().filter(|(n, _)| n.starts_with(prefix)).for_each(|(_, h)| all.merge(h));
        all
    }
}

/// How far the clients are.
#[derive(Default)]
struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// All operations before this one are done.
    done: usize,
    /// Those after it that are done.
    ahead: BTreeSet<usize>,
    /// Nothing more is to begin.
    failed: bool,
}

impl Progress {
    /// Waits until the first `count` operations are done; false if one failed.
    ///
    /// Operations are taken in order and wait only for earlier ones, so the earliest that is not
    /// done never waits.
    fn wait(&self, count: usize) -> bool {
        let mut state = self.state.lock();
        while state.done < count && !state.failed {
            self.changed.wait(&mut state);
        }
        !state.failed
    }

    fn finish(&self, operation: usize) {
        let mut state = self.state.lock();
        state.ahead.insert(operation);
        while let Some(first) = state.ahead.first().copied().filter(|first| *first == state.done) {
            state.ahead.remove(&first);
            state.done += 1;
        }
        self.changed.notify_all();
    }

    fn fail(&self) {
        self.state.lock().failed = true;
        self.changed.notify_all();
    }
}

/// Runs operations for some time, or until there are no more.
///
/// # Errors
/// The first query that failed; a conflict is tried again by the session.
pub(super) fn run(
    db: &Database,
    queries: &Queries,
    operations: &[Operation],
    time: Duration,
    threads: usize,
) -> Result<Mixed, String> {
    let (next, progress, runtime) = (AtomicUsize::new(0), Progress::default(), Arc::default());
    let (begun, cpu_s) = (Instant::now(), process_cpu_s());
    let client = || {
        let run = client(db, &runtime, queries, operations, begun + time, &next, &progress);
        run.inspect_err(|_| progress.fail())
    };
    let found: Vec<_> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..threads).map(|_| scope.spawn(client)).collect();
        clients.into_iter().map(|client| client.join().expect("a client does not panic")).collect()
    });
    let (wall_s, cpu_s) = (begun.elapsed().as_secs_f64(), process_cpu_s() - cpu_s);
    let mut mixed = Mixed { wall_s, cpu_s, ..Mixed::default() };
    for times in found {
        for (query, histogram) in times? {
            mixed.times.entry(query).or_default().merge(&histogram);
        }
    }
    Ok(mixed)
}

fn client(
    db: &Database,
    runtime: &Arc<Runtime>,
    queries: &Queries,
    operations: &[Operation],
    end: Instant,
    next: &AtomicUsize,
    progress: &Progress,
) -> Result<BTreeMap<&'static str, Histogram>, String> {
    let session = Session::with_runtime(db, Arc::clone(runtime));
    let mut times: BTreeMap<_, Histogram> = BTreeMap::new();
    while Instant::now() < end {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(operation) = operations.get(at) else { break };
        if !progress.wait(operation.after) {
            break;
        }
        let (text, begun) = (queries.text(operation.query)?, Instant::now());
        let result = session.run_with(text, &operation.parameters);
        let result = result.map_err(|e| format!("{} {at}: {e}", operation.query))?;
        times.entry(operation.query).or_default().record(begun.elapsed().as_nanos() as u64);
        drop(std::hint::black_box(result));
        progress.finish(at);
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_goes_on_when_all_before_is_done() {
        let progress = Progress::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| progress.wait(3));
            progress.finish(1);
            progress.finish(2);
            assert!(!waits.is_finished());
            progress.finish(0);
            assert!(waits.join().unwrap());
        });
        assert!(progress.wait(0) && progress.wait(3));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| progress.wait(4));
            progress.fail();
            assert!(!waits.join().unwrap());
        });
    }
}
