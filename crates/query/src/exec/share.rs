//! Work that threads share: numbered tasks, done by the query's own thread and, where it pays, by
//! helpers beside it.
//!
//! ```text
//! tasks   0  1  2  3  4  5  6  7  8  9 10 11
//!         the query's thread ►│   a helper ►│ ◄ who has nothing left takes the second half of
//!         ╰── one state ──────╯ ╰─ another ─╯   the longest rest, for a state of its own
//! ```
//!
//! Every state is made of tasks that follow each other, unless their order does not matter. So
//! states that are put together in order are what one thread would have made, and of errors the
//! first in order counts: tasks behind one that failed are not begun and soon given up, those
//! before it are done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_graph::{Graph, heap};

use super::counted::CountedRead;
use super::degrees::KnownEnds;
use super::memory::{Memory, Used};
use super::profile::Profile;
use super::{Access, Exec, Inputs};
use crate::batch::Slot;
use crate::query_error::{ErrorKind, QueryError};
use crate::stack::with_stack;
use crate::watch::watched;
use crate::workers::{Place, Threads, stay_awake};

/// How long the rest must take, by what is done so far, for helpers to be asked: waking one takes
/// some ten microseconds.
const WORTH_SHARING: Duration = Duration::from_micros(100);

/// How long a query waits for the last tasks of its helpers before it goes to sleep.
const AWAKE: Duration = Duration::from_micros(100);
/// What the pool takes to notice that a helper has come to its end.
const NOTICE: Duration = Duration::from_micros(3);

/// What the threads of a query have in common.
struct Common {
    memory: Arc<Memory>,
    used: Option<Arc<Used>>,
    ends: Arc<Mutex<KnownEnds>>,
    packed: Option<Arc<[Slot]>>,
    nesting: u8,
}

/// Does one task.
pub(super) type Step<'s, S> =
    &'s (dyn Fn(&mut S, usize, &mut Exec<'_>) -> Result<(), QueryError> + Sync + 's);

/// What is to be done.
pub(super) struct Work<'w, S> {
    pub(super) tasks: usize,
    /// Whether a state is to be made of tasks that follow each other. If not, there are as few
    /// states as threads.
    pub(super) ordered: bool,
    /// What another thread begins with.
    pub(super) new: &'w (dyn Fn() -> S + Sync),
    pub(super) step: Step<'w, S>,
}

/// Does the work, beginning with the state `first`. Returns the states, `first` first and in order
/// of their tasks.
pub(super) fn share<S: Send>(
    work: Work<'_, S>,
    mut first: S,
    pace: &mut Pace,
    cx: &mut Exec<'_>,
) -> Result<Vec<S>, QueryError> {
    let tasks = work.tasks;
    let threads = cx.threads.filter(|_| tasks > 1);
    let mut place = None;
    for task in 0..tasks {
        if let Some(threads) = threads
            && pace.is_worth_it(tasks - task, threads)
        {
            let place = place.get_or_insert_with(|| threads.workers.enter());
            if let Some((pool, helpers)) = place.hire(tasks - task - 1) {
                let team = Team::new(task, work, helpers.len());
                return team.run(first, (pool, helpers), cx);
            }
        }
        let begun = threads.map(|_| Instant::now());
        (work.step)(&mut first, task, cx)?;
        pace.add(begun);
    }
    Ok(vec![first])
}

/// How long the tasks took that were done alone. Who shares out several times keeps it, so that
/// helpers are asked at once if it has paid before.
#[derive(Debug, Default)]
pub(super) struct Pace {
    tasks: u32,
    time: Duration,
}

impl Pace {
    /// One more task, that was begun then.
    fn add(&mut self, begun: Option<Instant>) {
        self.time += begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        self.tasks += u32::from(begun.is_some());
    }

    /// Whether it is time to ask for helpers, with so many tasks left.
    fn is_worth_it(&self, left: usize, threads: Threads<'_>) -> bool {
        if left < 2 || threads.workers.threads() < 2 {
            return false;
        }
        let rest = self.time.as_secs_f64() * left as f64;
        threads.workers.morsel().is_some()
            || rest > WORTH_SHARING.as_secs_f64() * f64::from(self.tasks)
    }
}

/// What tells a thread that its task is of no use any more.
#[derive(Debug, Clone)]
pub(super) struct StopSignal {
    /// The first task that failed.
    failed: Arc<AtomicUsize>,
    task: usize,
}

impl StopSignal {
    /// An error that nobody will see, if a task before this one failed.
    pub(super) fn check(&self) -> Result<(), QueryError> {
        // ORDERING: relaxed, as nothing else is read because of it.
        if self.failed.load(Ordering::Relaxed) < self.task {
            let message = "another thread of the query failed";
            return Err(QueryError::runtime(ErrorKind::Terminated, "Terminated", message));
        }
        Ok(())
    }
}

/// Tasks that follow each other and were given to one thread: those that are left.
struct Run {
    next: usize,
    end: usize,
}

struct Queue {
    runs: Vec<Run>,
    error: Option<QueryError>,
}

struct Team<'t, S> {
    queue: Mutex<Queue>,
    /// States that are done.
    states: Mutex<Vec<Part<S>>>,
    failed: Arc<AtomicUsize>,
    work: Work<'t, S>,
    /// Helpers that have not come to an end.
    helpers: AtomicUsize,
}

impl Queue {
    /// The next task of a thread that is at a run, and the run that it belongs to; of tasks from
    /// `stop` on, none.
    fn next(&mut self, run: Option<usize>, stop: usize) -> Option<(usize, usize)> {
        let left = |run: &Run| run.end.min(stop).saturating_sub(run.next);
        if let Some(at) = run
            && left(&self.runs[at]) > 0
        {
            self.runs[at].next += 1;
            return Some((at, self.runs[at].next - 1));
        }
        let longest = self.runs.iter_mut().max_by_key(|run| left(run))?;
        let left = left(longest);
        if left == 0 {
            return None;
        }
        let task = longest.next + left / 2;
        let end = std::mem::replace(&mut longest.end, task);
        self.runs.push(Run { next: task + 1, end });
        Some((self.runs.len() - 1, task))
    }
}

/// What a thread has made of tasks that follow each other.
struct Part<S> {
    /// The first of them; none for the state that was there before any, and so comes first even if
    /// another thread has taken the first task.
    from: Option<usize>,
    state: S,
}

/// What a thread is at: a run of tasks, and what it makes of them.
struct Hand<S> {
    run: Option<usize>,
    part: Option<Part<S>>,
}

impl<S> Hand<S> {
    /// Of the thread that has done the first tasks, or of a helper.
    fn new(first: Option<S>) -> Self {
        let run = first.is_some().then_some(0);
        Self { run, part: first.map(|state| Part { from: None, state }) }
    }

    /// The state for a task, and the one before if it is not for this task, too.
    fn take(
        &mut self,
        run: usize,
        task: usize,
        ordered: bool,
        new: &dyn Fn() -> S,
    ) -> (Option<Part<S>>, &mut S) {
        let goes_on = self.run == Some(run) || !ordered;
        self.run = Some(run);
        let done = if goes_on { None } else { self.part.take() };
        let fresh = || Part { from: Some(task), state: new() };
        (done, &mut self.part.get_or_insert_with(fresh).state)
    }
}

impl<'t, S: Send> Team<'t, S> {
    fn new(from: usize, work: Work<'t, S>, helpers: usize) -> Self {
        let runs = vec![Run { next: from, end: work.tasks }];
        Self {
            queue: Mutex::new(Queue { runs, error: None }),
            states: Mutex::default(),
            failed: Arc::new(AtomicUsize::new(usize::MAX)),
            work,
            helpers: AtomicUsize::new(helpers),
        }
    }

    /// Works on this thread and on the helpers until everything is done.
    fn run(
        self,
        first: S,
        (pool, helpers): (&rayon::ThreadPool, Vec<Place<'_>>),
        cx: &mut Exec<'_>,
    ) -> Result<Vec<S>, QueryError> {
        // What it shares now it does not share again.
        let threads = cx.threads.take();
        let (inputs, profile, levels) = (cx.inputs(), cx.profile.clone(), cx.levels);
        // A panic of any of them comes out here, when all have come to an end.
        pool.in_place_scope(|scope| {
            for place in helpers {
                let (team, profile) = (&self, profile.as_deref());
                let (memory, used) = (Arc::clone(&cx.memory), cx.used.clone());
                let (packed, nesting) = (cx.packed.clone(), cx.nesting);
                let common = Common { memory, used, ends: cx.ends(), packed, nesting };
                scope.spawn(move |_| {
                    let _end = End(&team.helpers);
                    let mut common = Some(common);
                    let mut work = |graph: &dyn Graph| {
                        let Some(common) = common.take() else { return };
                        team.help(&place, graph, inputs, common, profile);
                    };
                    let snapshot = threads.map(|threads| threads.snapshot);
                    with_stack(levels, || snapshot.into_iter().for_each(|s| s.read(&mut work)));
                    stay_awake();
                });
            }
            self.work(Some(first), None, cx);
            self.wait();
        });
        cx.threads = threads;
        if let Some(error) = self.queue.into_inner().error {
            return Err(error);
        }
        let mut states = self.states.into_inner();
        states.sort_unstable_by_key(|part| part.from);
        Ok(states.into_iter().map(|part| part.state).collect())
    }

    /// Works on a helper's thread.
    fn help(
        &self,
        place: &Place<'_>,
        graph: &dyn Graph,
        inputs: Inputs<'_>,
        common: Common,
        all: Option<&Profile>,
    ) {
        let own = all.map(|all| Arc::new(all.beside()));
        let counted = own.as_ref().map(|own| CountedRead { graph, hits: &own.hits });
        let graph = counted.as_ref().map_or(graph, |counted| counted);
        let mut cx = Exec::new(Access::Read(graph), inputs);
        (cx.memory, cx.used, cx.ends) = (common.memory, common.used, Some(common.ends));
        (cx.packed, cx.nesting) = (common.packed, common.nesting);
        cx.profile.clone_from(&own);
        heap::mark();
        watched(inputs.limits, || self.work(None, Some(place), &mut cx));
        if let (Some(all), Some(own)) = (all, &own) {
            all.add(own);
        }
    }

    /// Does tasks until there are none, or the place is needed more by another query.
    fn work(&self, first: Option<S>, place: Option<&Place<'_>>, cx: &mut Exec<'_>) {
        let _alarm = Alarm(&self.failed);
        let mut hand = Hand::new(first);
        while !place.is_some_and(Place::is_one_too_many) {
            // ORDERING: relaxed, as it changes under the lock.
            let next = || self.queue.lock().next(hand.run, self.failed.load(Ordering::Relaxed));
            let Some((run, task)) = next() else { break };
            let (done, state) = hand.take(run, task, self.work.ordered, self.work.new);
            if let Some(done) = done {
                self.states.lock().push(done);
            }
            cx.stop = Some(StopSignal { failed: Arc::clone(&self.failed), task });
            if let Err(error) = (self.work.step)(state, task, cx) {
                self.fail(task, error);
            }
        }
        self.states.lock().extend(hand.part);
        cx.stop = None;
    }

    /// Stays awake for helpers that are at their last task: to be woken takes longer than most
    /// tasks do.
    fn wait(&self) {
        let spin = |most: Duration, until: &dyn Fn() -> bool| {
            let begun = Instant::now();
            while !until() && begun.elapsed() < most {
                std::hint::spin_loop();
            }
        };
        // ORDERING: relaxed, as what they leave is read behind the end of the scope.
        spin(AWAKE, &|| self.helpers.load(Ordering::Relaxed) == 0);
        spin(NOTICE, &|| false);
    }

    fn fail(&self, task: usize, error: QueryError) {
        let mut queue = self.queue.lock();
        // ORDERING: relaxed, as it changes under the lock.
        if task < self.failed.load(Ordering::Relaxed) {
            self.failed.store(task, Ordering::Relaxed);
            queue.error = Some(error);
        }
    }
}

/// Says that a helper has come to its end.
struct End<'a>(&'a AtomicUsize);

impl Drop for End<'_> {
    fn drop(&mut self) {
        // ORDERING: relaxed, as what it leaves is read behind the end of the scope.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Ends the work of all if a thread panics.
struct Alarm<'a>(&'a AtomicUsize);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // ORDERING: relaxed, as nothing else is read because of it.
            self.0.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_task_is_given_once_and_runs_are_of_tasks_that_follow_each_other(
            from in 0usize..5,
            tasks in 0usize..60,
            turns in proptest::collection::vec((0usize..4, 0usize..40), 0..400),
            fails in proptest::option::of(0usize..65),
            last in 0usize..4,
        ) {
            let all = Run { next: from, end: from + tasks };
            let mut queue = Queue { runs: vec![all], error: None };
            // The first one has done the tasks before.
            let first: Vec<usize> = (0..from).collect();
            let mut threads = [Some(first), None, None, None].map(Hand::new);
            let mut runs: Vec<Vec<usize>> = vec![Vec::new()];
            let mut states = Vec::new();
            // A thread that fails says so at some time; one may leave and come back as another.
            let fails_at = turns.len() / 2;
            let mut turn = |thread: usize, stop| {
                let hand = &mut threads[thread];
                let Some((run, task)) = queue.next(hand.run, stop) else { return false };
                let (done, state) = hand.take(run, task, true, &Vec::new);
                states.extend(done);
                state.push(task);
                runs.resize(runs.len().max(run + 1), Vec::new());
                runs[run].push(task);
                true
            };
            for (at, (thread, _)) in turns.iter().enumerate() {
                let stop = fails.filter(|_| at >= fails_at).unwrap_or(usize::MAX);
                turn(*thread, stop);
            }
            let stop = fails.unwrap_or(usize::MAX);
            while turn(last, stop) {}
            states.extend(threads.into_iter().rev().filter_map(|hand| hand.part));
            states.sort_by_key(|part| part.from);
            let together: Vec<usize> = states.into_iter().flat_map(|part| part.state).collect();
            prop_assert!(together.is_sorted(), "{:?}", together);
            let mut steps = runs.iter().flat_map(|run| run.windows(2));
            prop_assert!(steps.all(|two| two[0] + 1 == two[1]));
            let mut given = runs.concat();
            given.sort_unstable();
            let wanted: Vec<usize> = (from..from + tasks).filter(|task| *task < stop).collect();
            prop_assert!(given.starts_with(&wanted));
            prop_assert!(given.windows(2).all(|two| two[0] < two[1]));
            if stop == usize::MAX {
                prop_assert_eq!(given.len(), tasks);
            }
        }
    }
}
