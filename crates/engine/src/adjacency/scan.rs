//! Reading adjacency at a snapshot: the hot loops.
//!
//! [`TableView`] is a table, an epoch pin and a read timestamp. A vertex without unsettled entries
//! is read as one slice of its segment's base; the loop over a clean segment is the loop CSR runs.
//! PERF: `telar bench kernel`, rows scan_settled, scan_random_order, search.

use std::ops::Range;

use crossbeam_epoch::Guard;

use super::list::{List, Visible, find_in, runs};
use super::segment::{PinnedVersions, SegVersion, Slot};
use super::{AdjTable, ListKind, PREFETCH_AHEAD, SEGMENT_BITS, SEGMENT_VERTICES};
use super::{local_of, segment_of};
use crate::words::prefetch;

/// A table at a snapshot, under an epoch pin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableView<'g> {
    pub(crate) table: &'g AdjTable,
    pub(crate) guard: &'g Guard,
    pub(crate) read_ts: u64,
}

/// The loop CSR runs.
#[inline(always)]
fn scan_settled<F>(ver: &SegVersion, first: u32, locals: Range<usize>, f: &mut F)
where
    F: FnMut(u32, &[u32]),
{
    let offsets = ver.offsets();
    let mut start = offsets[locals.start.min(SEGMENT_VERTICES)];
    for i in locals {
        let end = offsets[i + 1];
        prefetch(ver.row_addr(offsets[(i + PREFETCH_AHEAD).min(SEGMENT_VERTICES)]));
        f(first + i as u32, ver.nbrs(start, end));
        start = end;
    }
}

/// Where a vertex's list is, found out ahead of its turn in `visit`.
#[derive(Clone, Copy)]
enum Place<'g> {
    Settled(&'g [u32]),
    Written(&'g SegVersion, u32),
}

impl<'g> Place<'g> {
    const NOWHERE: Self = Self::Settled(&[]);

    #[inline(always)]
    fn find(versions: PinnedVersions<'g>, v: u32) -> Self {
        let Some(ver) = versions.of(v) else { return Self::NOWHERE };
        let rows = ver.settled(local_of(v));
        prefetch(rows.as_ptr());
        let word = ver.slot_word(local_of(v));
        if word == 0 {
            return Self::Settled(rows);
        }
        prefetch(ver.block_addr(word));
        Self::Written(ver, word)
    }
}

impl<'g> TableView<'g> {
    #[inline(always)]
    fn version(&self, v: u32) -> Option<&'g SegVersion> {
        self.table.version_of(v, self.guard)
    }

    /// Calls `f` with each run of `v`'s neighbours.
    #[inline]
    pub(crate) fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, mut f: F) {
        let Some(version) = self.version(v) else {
            return;
        };
        let local = local_of(v);
        let word = version.slot_word(local);
        if word == 0 {
            f(version.settled(local));
        } else {
            self.written_runs(version, local, word, f);
        }
    }

    #[inline]
    fn written_runs<F: FnMut(&[u32])>(&self, ver: &SegVersion, local: u32, word: u32, f: F) {
        match ver.decode(word) {
            Slot::Clean => {}
            Slot::Block(block) => {
                runs(ver.settled(local), Visible::at(block, ver.delta(self.read_ts)), f);
            }
            Slot::Hub(hub) => hub.for_each_run(self.read_ts, self.guard, f),
        }
    }

    /// Calls `f(v, run)` for the vertices of `range` in order; vertices without a segment are
    /// skipped.
    #[inline]
    pub(crate) fn scan<F: FnMut(u32, &[u32])>(&self, range: Range<u32>, mut f: F) {
        if range.is_empty() {
            return;
        }
        let last = segment_of(range.end - 1).min(self.table.segment_bound().saturating_sub(1));
        for segment in segment_of(range.start)..=last {
            let Some(ver) = self.version(segment << SEGMENT_BITS) else {
                continue;
            };
            if let Some(next) = self.version((segment + 1).min(last) << SEGMENT_BITS) {
                prefetch(next.offset_addr(0));
                prefetch(next.offset_addr(16));
                prefetch(next.row_addr(0));
            }
            let first = u64::from(segment) << SEGMENT_BITS;
            let lo = u64::from(range.start).saturating_sub(first) as usize;
            let hi = (u64::from(range.end) - first).min(SEGMENT_VERTICES as u64) as usize;
            self.scan_segment(ver, first as u32, lo..hi, &mut f);
        }
    }

    #[inline(always)]
    fn scan_segment<F>(&self, ver: &SegVersion, first: u32, locals: Range<usize>, f: &mut F)
    where
        F: FnMut(u32, &[u32]),
    {
        if ver.is_clean() {
            return scan_settled(ver, first, locals, f);
        }
        if let Some(hubs) = ver.only_hubs() {
            let mut at = locals.start;
            for &local in hubs.iter().filter(|l| locals.contains(&(**l as usize))) {
                scan_settled(ver, first, at..local as usize, f);
                self.written_runs(ver, local, ver.slot_word(local), |run| f(first + local, run));
                at = local as usize + 1;
            }
            return scan_settled(ver, first, at..locals.end, f);
        }
        let offsets = ver.offsets();
        let mut start = offsets[locals.start];
        let delta = ver.delta(self.read_ts);
        for i in locals {
            let end = offsets[i + 1];
            let settled = ver.nbrs(start, end);
            start = end;
            let v = first + i as u32;
            let ahead = ver.slot_word((i + PREFETCH_AHEAD).min(SEGMENT_VERTICES - 1) as u32);
            prefetch(ver.block_addr(ahead));
            match ver.decode(ver.slot_word(i as u32)) {
                Slot::Clean => f(v, settled),
                Slot::Block(block) => runs(settled, Visible::at(block, delta), |run| f(v, run)),
                Slot::Hub(hub) => {
                    hub.for_each_run(self.read_ts, self.guard, |run| f(v, run));
                }
            }
        }
    }

    /// Calls `f(v, run)` for each listed vertex in the order given.
    ///
    /// Every vertex is looked up once, eight places before its turn: where its rows are is kept
    /// until then, and their first cache line is on its way.
    #[inline]
    pub(crate) fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        let versions = self.table.versions(self.guard);
        let mut places = [Place::NOWHERE; PREFETCH_AHEAD];
        for (place, &v) in places.iter_mut().zip(vertices) {
            *place = Place::find(versions, v);
        }
        for (i, &v) in vertices.iter().enumerate() {
            let place = places[i % PREFETCH_AHEAD];
            if let Some(&ahead) = vertices.get(i + PREFETCH_AHEAD) {
                places[i % PREFETCH_AHEAD] = Place::find(versions, ahead);
            }
            match place {
                Place::Settled(rows) => f(v, rows),
                Place::Written(ver, word) => {
                    self.written_runs(ver, local_of(v), word, |run| f(v, run));
                }
            }
        }
    }

    /// Hints that `v`'s neighbours will be read soon.
    #[inline(always)]
    pub(crate) fn prefetch_rows(&self, v: u32) {
        if let Some(ver) = self.version(v) {
            let local = local_of(v);
            prefetch(ver.row_addr(ver.offsets()[local as usize]));
            if !ver.is_clean() {
                prefetch(ver.block_addr(ver.slot_word(local)));
            }
        }
    }

    /// Number of neighbours of `v`.
    #[inline]
    pub(crate) fn degree(&self, v: u32) -> usize {
        let Some(ver) = self.version(v) else { return 0 };
        let local = local_of(v);
        match ver.decode(ver.slot_word(local)) {
            Slot::Clean => ver.settled(local).len(),
            Slot::Block(block) => {
                let mut n = 0;
                runs(ver.settled(local), Visible::at(block, ver.delta(self.read_ts)), |run| {
                    n += run.len();
                });
                n
            }
            Slot::Hub(hub) => hub.degree(self.read_ts, self.guard),
        }
    }

    /// Whether an edge from `u` to `v` exists.
    #[inline]
    pub(crate) fn contains(&self, u: u32, v: u32) -> bool {
        let Some(ver) = self.version(u) else {
            return false;
        };
        let local = local_of(u);
        let word = ver.slot_word(local);
        if word == 0 && self.table.kind == ListKind::Simple {
            return ver.settled(local).binary_search(&v).is_ok();
        }
        if self.table.kind != ListKind::Simple {
            return self.with_list_of(u, v, |list| list.find(v).is_some());
        }
        match ver.decode(word) {
            Slot::Clean => false,
            Slot::Block(block) => {
                let tail = Visible::at(block, ver.delta(self.read_ts));
                if tail.has_deletes {
                    return self.with_list_of(u, v, |list| list.find(v).is_some());
                }
                ver.settled(local).binary_search(&v).is_ok()
                    || find_in(tail.block.dst(tail.len), v).is_some()
            }
            Slot::Hub(hub) => hub.contains(v, self.read_ts, self.guard),
        }
    }

    /// Calls `f` with the list, or hub chunk, of `u` that holds the edges to `v`.
    pub(crate) fn with_list_of<R>(&self, u: u32, v: u32, f: impl FnOnce(List<'_>) -> R) -> R
    where
        R: Default,
    {
        let Some(ver) = self.version(u) else {
            return R::default();
        };
        let local = local_of(u);
        match ver.decode(ver.slot_word(local)) {
            Slot::Hub(hub) => {
                let chunk = hub.chunk(v, self.guard).version(self.guard);
                f(chunk.list(chunk.delta(self.read_ts), self.table.kind))
            }
            _ => match ver.list(local, ver.delta(self.read_ts), self.table.kind) {
                Some(list) => f(list),
                // The slot became a hub between the two reads: impossible within one version.
                None => R::default(),
            },
        }
    }

    /// Calls `f` with every list that makes up `v`'s neighbours: one, or each chunk of a hub.
    pub(crate) fn for_each_list(&self, v: u32, mut f: impl FnMut(List<'_>)) {
        let Some(ver) = self.version(v) else { return };
        let local = local_of(v);
        if let Slot::Hub(hub) = ver.decode(ver.slot_word(local)) {
            for chunk in hub.chunks(self.guard) {
                let chunk = chunk.version(self.guard);
                f(chunk.list(chunk.delta(self.read_ts), self.table.kind));
            }
        } else if let Some(list) = ver.list(local, ver.delta(self.read_ts), self.table.kind) {
            f(list);
        }
    }

    /// `v`'s neighbours sorted by id: the base slice itself where nothing is unsettled, else
    /// `scratch`.
    #[inline]
    pub(crate) fn sorted<'a>(&self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32]
    where
        'g: 'a,
    {
        if self.table.kind != ListKind::Timed
            && let Some(ver) = self.version(v)
            && ver.slot_word(local_of(v)) == 0
        {
            return ver.settled(local_of(v));
        }
        scratch.clear();
        self.for_each_run(v, |run| scratch.extend_from_slice(run));
        scratch.sort_unstable();
        scratch
    }

    /// Number of live entries in all lists. Cost: a pass over segments; lists are counted one by
    /// one only in segments that hold something unsettled.
    pub(crate) fn entries(&self) -> u64 {
        let mut total = 0;
        for number in 0..self.table.segment_bound() {
            match self.version(number << SEGMENT_BITS) {
                None => {}
                Some(v) if v.is_clean() => total += v.base.entries() as u64,
                Some(_) => {
                    let first = number << SEGMENT_BITS;
                    let locals = 0..SEGMENT_VERTICES as u32;
                    total += locals.map(|l| self.degree(first | l) as u64).sum::<u64>();
                }
            }
        }
        total
    }
}
