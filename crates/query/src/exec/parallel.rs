//! Rows that several threads make: each takes a piece of what they are made of, a *morsel*, and
//! runs the operators for it.
//!
//! A morsel is a range of vertex numbers, where the lowest operator scans all nodes, or else some
//! rows of an operator that runs on the query's own thread. If that one has few rows, so the one
//! behind the next expansion does it, and so on: of the friends of friends of one person, a morsel
//! is some friends.
//!
//! Rows go on in the order of their morsels, or go into a state that the thread keeps, such as the
//! groups of an aggregation. A query that is over soon is not shared at all (`share.rs`).

use std::collections::VecDeque;
use std::mem;

use parking_lot::Mutex;

use super::build::{self, Leaf};
use super::memory::Held;
use super::share::{Pace, Work, share};
use super::{Exec, Operator, Ramp, Source};
use crate::batch::{BATCH_ROWS, Batch};
use crate::plan::{self, Plan};
use crate::query_error::QueryError;

/// Vertex numbers of a morsel: whole segments, whose texts are shared within a segment only.
const MORSEL_VERTICES: u64 = 2048;
/// Rows of a morsel, least and most.
const MORSEL_ROWS: (usize, usize) = (16, 1024);
/// Morsels that there should be for each thread, so that all are done at the same time.
const MORSELS_PER_THREAD: usize = 16;
/// Rows that are worth sharing out; if there are fewer, those of the next expansion are.
const ROWS_MIN: usize = 256;
/// Rows that are read to be shared out, most.
const ROWS_MAX: usize = 64 << 10;
/// Morsels that are at work or wait to go on, most.
const LANES_MAX: usize = 64;
/// The same where few rows may be enough, until so many morsels have given none.
const LANES_FEW: usize = 4;
const MORSELS_FEW: usize = 1024;
/// Rows that a morsel has waiting before it is left alone.
const LANE_ROWS: usize = 4 * BATCH_ROWS;

/// What a breaker reads: rows, or what is shared out.
pub(crate) enum Input<'p> {
    Alone(Source<'p>),
    Shared(Morsels<'p>),
}

impl Input<'_> {
    /// Puts all rows into states and those together. `take` adds rows to a state, `merge` what
    /// another state has: if they are `ordered`, of rows that come after its own.
    pub(super) fn fold<S: Send>(
        &mut self,
        ordered: bool,
        new: &(dyn Fn() -> S + Sync),
        take: &(dyn Fn(&mut S, Batch, &mut Exec<'_>) -> Result<(), QueryError> + Sync),
        merge: &mut dyn FnMut(&mut S, S, &mut Exec<'_>) -> Result<(), QueryError>,
        cx: &mut Exec<'_>,
    ) -> Result<S, QueryError> {
        let mut all = new();
        match self {
            Self::Alone(input) => {
                while let Some(rows) = input.next(cx)? {
                    take(&mut all, rows, cx)?;
                }
            }
            Self::Shared(morsels) => {
                let mut pace = Pace::default();
                while let Some(some) = morsels.next(cx)? {
                    let step = |state: &mut S, at: usize, cx: &mut Exec<'_>| {
                        let mut operator = some[at].build(Ramp::FULL, cx);
                        while let Some(rows) = operator.next(cx)? {
                            take(state, rows, cx)?;
                        }
                        Ok(())
                    };
                    let work = Work { tasks: some.len(), ordered, new, step: &step };
                    let mut states = share(work, all, &mut pace, cx)?.into_iter();
                    all = states.next().unwrap_or_else(new);
                    for state in states {
                        merge(&mut all, state, cx)?;
                    }
                }
            }
        }
        Ok(all)
    }
}

/// A piece of work: the plan, from one of its operators on.
struct Morsel<'p> {
    plan: &'p Plan,
    leaf: Leaf<'p>,
    /// The rows of that operator, if they are known.
    rows: Batch,
}

impl<'p> Morsel<'p> {
    fn build(&self, ramp: Ramp, cx: &Exec<'_>) -> Source<'p> {
        build::build_from(self.plan, &self.rows, Some(self.leaf), ramp, cx)
    }
}

/// What is shared out, some at a time.
pub(crate) struct Morsels<'p> {
    plan: &'p plan::Parallel,
    /// Which of the plan's sources they are rows of.
    level: usize,
    /// That source, while it may have more.
    source: Option<Source<'p>>,
    /// Rows to be read next, and how many were at first; vertex numbers were given out if it is 0.
    wanted: usize,
    first: usize,
    /// The rows that were given out last.
    held: Held,
}

impl<'p> Morsels<'p> {
    pub(super) fn new(
        plan: &'p plan::Parallel,
        argument: &Batch,
        ramp: Ramp,
        cx: &Exec<'_>,
    ) -> Self {
        let lowest = plan.source(0);
        let source = (!lowest.is_plain_scan()).then(|| build::build(lowest, argument, ramp, cx));
        let first = ramp.rows();
        Self { plan, level: 0, source, wanted: first, first, held: Held::of("Parallel") }
    }

    /// The next ones; `None` at the end.
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Vec<Morsel<'p>>>, QueryError> {
        self.held.clear();
        if self.wanted == 0 {
            return Ok(None);
        }
        if self.plan.source(0).is_plain_scan() {
            self.wanted = 0;
            return Ok(Some(self.ranges(cx)));
        }
        let forced = cx.threads.and_then(|threads| threads.workers.morsel());
        let few = forced.map_or(ROWS_MIN, |rows| rows + 1);
        let mut found = Vec::new();
        loop {
            let mut rows = 0;
            while let Some(source) = &mut self.source
                && rows < self.wanted
                && !self.held.exceeds(self.held.bytes(), cx)
            {
                match source.next(cx)? {
                    Some(batch) => {
                        // One is on its way, whether there is room for it or not.
                        if rows > 0 {
                            self.held.grow(batch.bytes(), cx)?;
                        }
                        rows += batch.rows();
                        found.push(batch);
                    }
                    None => self.source = None,
                }
            }
            // A source that had more before has not few.
            let few = rows < few && self.source.is_none() && self.wanted == self.first;
            if !few || rows == 0 || self.level + 1 == self.plan.sources.len() {
                break;
            }
            let rows = Batch::concat(mem::take(&mut found));
            let leaf = Leaf::Rows(self.plan.source(self.level));
            self.level += 1;
            let plan = self.plan.source(self.level);
            self.source = Some(build::build_from(plan, &rows, Some(leaf), Ramp::FULL, cx));
        }
        self.wanted = match self.source {
            Some(_) => (self.wanted * 4).min(ROWS_MAX),
            None => 0,
        };
        if found.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.cut(found, cx)))
    }

    /// Ranges of positions of vertices.
    fn ranges(&self, cx: &Exec<'_>) -> Vec<Morsel<'p>> {
        let forced = cx.threads.and_then(|threads| threads.workers.morsel());
        let step = forced.map_or(MORSEL_VERTICES, |rows| rows as u64);
        let (plan, scan) = (&self.plan.input, self.plan.source(0));
        let bound = cx.graph().partitions().positions();
        let range = |at: u64| {
            let leaf = Leaf::Range(scan, at * step, bound.min((at + 1) * step));
            Morsel { plan, leaf, rows: Batch::empty(1) }
        };
        (0..bound.div_ceil(step)).map(range).collect()
    }

    /// Pieces of these rows.
    fn cut(&self, found: Vec<Batch>, cx: &Exec<'_>) -> Vec<Morsel<'p>> {
        let rows: usize = found.iter().map(Batch::rows).sum();
        let workers = cx.threads.map(|threads| threads.workers);
        let size = match workers.and_then(|workers| workers.morsel()) {
            Some(forced) => forced,
            None if rows < ROWS_MIN => ROWS_MIN,
            None => {
                let pieces = workers.map_or(1, |w| w.threads()) * MORSELS_PER_THREAD;
                (rows / pieces).clamp(MORSEL_ROWS.0, MORSEL_ROWS.1)
            }
        };
        let (plan, leaf) = (&self.plan.input, Leaf::Rows(self.plan.source(self.level)));
        let mut morsels = Vec::with_capacity(rows.div_ceil(size));
        let mut add = |rows| morsels.push(Morsel { plan, leaf, rows });
        let (mut parts, mut waiting) = (Vec::new(), 0);
        for batch in found {
            waiting += batch.rows();
            parts.push(batch);
            if waiting < size {
                continue;
            }
            let all = Batch::concat(mem::take(&mut parts));
            let mut from = 0;
            while waiting - from >= 2 * size {
                add(all.slice(from, from + size));
                from += size;
            }
            match from {
                0 => add(all),
                from => add(all.slice(from, waiting)),
            }
            waiting = 0;
        }
        if waiting > 0 {
            add(Batch::concat(parts));
        }
        morsels
    }
}

/// Hands on the rows of all morsels, in their order.
pub(crate) struct Parallel<'p> {
    morsels: Morsels<'p>,
    /// Those that were not begun.
    waiting: VecDeque<Morsel<'p>>,
    lanes: VecDeque<Lane<'p>>,
    /// How many lanes there may be: one at first, as the first rows may be enough.
    width: usize,
    /// How many rows are wanted first. Where these are few, the first morsel is worked off alone,
    /// and lanes make few rows at first.
    ramp: Ramp,
    alone: bool,
    begun: bool,
    /// Rows that a lane makes before it is left alone.
    most: usize,
    /// Morsels that were begun.
    morsels_begun: usize,
    pace: Pace,
}

/// A morsel at work.
struct Lane<'p> {
    morsel: Morsel<'p>,
    ramp: Ramp,
    operator: Option<Source<'p>>,
    /// Rows that wait for those of the morsels before, and as how many bytes they are held.
    ready: VecDeque<(Batch, usize)>,
    rows: usize,
    held: Held,
    /// What comes after them, if that is known.
    end: Option<Result<(), QueryError>>,
}

impl<'p> Lane<'p> {
    fn new(morsel: Morsel<'p>, ramp: Ramp) -> Self {
        let held = Held::of("Parallel");
        Self { morsel, ramp, operator: None, ready: VecDeque::new(), rows: 0, held, end: None }
    }

    /// Goes on until some rows wait.
    fn run(&mut self, rows: usize, cx: &mut Exec<'_>) {
        let operator = self.operator.get_or_insert_with(|| self.morsel.build(self.ramp, cx));
        while self.rows < rows && self.end.is_none() {
            match operator.next(cx) {
                Ok(Some(batch)) => {
                    let bytes = batch.bytes();
                    let fits = !self.held.exceeds(self.held.bytes() + bytes, cx);
                    if fits && let Err(error) = self.held.grow(bytes, cx) {
                        self.end = Some(Err(error));
                    }
                    self.rows += batch.rows();
                    self.ready.push_back((batch, if fits { bytes } else { 0 }));
                    // One batch is on its way, whether there is room for it or not.
                    if !fits {
                        break;
                    }
                }
                Ok(None) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
        if self.end.is_some() {
            self.operator = None;
        }
    }
}

impl<'p> Parallel<'p> {
    pub(super) fn new(
        plan: &'p plan::Parallel,
        argument: &Batch,
        ramp: Ramp,
        cx: &Exec<'_>,
    ) -> Self {
        let morsels = Morsels::new(plan, argument, ramp, cx);
        let (waiting, lanes) = Default::default();
        let (alone, begun, pace) = (!ramp.is_full(), false, Pace::default());
        Self {
            morsels,
            waiting,
            lanes,
            width: 1,
            ramp,
            alone,
            begun,
            most: 1,
            morsels_begun: 0,
            pace,
        }
    }

    /// Lets all lanes go on that have room; false if there is none.
    fn advance(&mut self, cx: &mut Exec<'_>) -> Result<bool, QueryError> {
        self.alone &= !(self.begun && self.lanes.is_empty());
        self.begun = true;
        while self.lanes.len() < self.width {
            match self.waiting.pop_front() {
                Some(morsel) => {
                    self.morsels_begun += 1;
                    self.lanes.push_back(Lane::new(morsel, self.ramp));
                }
                None => match self.morsels.next(cx)? {
                    Some(more) => self.waiting.extend(more),
                    None => break,
                },
            }
        }
        let most = self.most;
        if !self.alone {
            let faster = if self.ramp.is_full() { LANE_ROWS } else { 8 * self.most };
            self.most = faster.min(LANE_ROWS);
            let few = !self.ramp.is_full() && self.morsels_begun < MORSELS_FEW;
            self.width = (self.width * 8).min(if few { LANES_FEW } else { LANES_MAX });
        }
        let has_room = |lane: &Lane<'_>| match lane.ready.back() {
            Some((_, held)) => *held > 0 && lane.rows < most,
            None => true,
        };
        let open = self.lanes.iter_mut().filter(|lane| lane.end.is_none() && has_room(lane));
        // Each is locked by the one thread that has its number.
        let open: Vec<_> = open.map(Mutex::new).collect();
        let step = |(): &mut (), at: usize, cx: &mut Exec<'_>| {
            open[at].lock().run(most, cx);
            Ok(())
        };
        let work = Work { tasks: open.len(), ordered: false, new: &|| (), step: &step };
        share(work, (), &mut self.pace, cx)?;
        Ok(!self.lanes.is_empty())
    }
}

impl Operator for Parallel<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            while let Some(lane) = self.lanes.front_mut() {
                if let Some((batch, held)) = lane.ready.pop_front() {
                    lane.rows -= batch.rows();
                    lane.held.shrink(held);
                    return Ok(Some(batch));
                }
                let Some(end) = lane.end.take() else { break };
                self.lanes.pop_front();
                end?;
            }
            cx.check()?;
            if !self.advance(cx)? {
                return Ok(None);
            }
        }
    }
}
