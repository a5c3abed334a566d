//! Reading adjacency at a snapshot: the hot loops.
//!
//! [`TableView`] is a table, an epoch pin and a read timestamp. A vertex without unsettled entries
//! is read as one slice of its segment's base; the loop over a clean segment is the loop CSR runs.
//! PERF: `telar bench kernel`, rows scan_settled, scan_random_order, search.

use std::ops::{Deref, Range};

use crossbeam_epoch::Guard;

use super::base::BaseRef;
use super::deleted::LiveRows;
use super::head::{Head, PinnedHeads};
use super::list::{List, Visible};
use super::ordinals::Ordinals;
use super::runs::Rest;
use super::search::find_sorted;
use super::segment::{Scanned, SegVersion, Slot};
use super::tail::DELTA_MAX;
use super::{AdjTable, COL_ORDINAL, ListKind, PREFETCH_AHEAD, SEGMENT_BITS, SEGMENT_VERTICES};
use super::{local_of, segment_of};
use crate::mapped::map;
use crate::words::prefetch;

/// A table at a snapshot, without the pin: can be sent to other threads.
///
/// PERF: search: heads and kind are copied out of the table, so that a loop over many lists keeps
/// them in registers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnpinnedView<'g> {
    table: &'g AdjTable,
    heads: PinnedHeads<'g>,
    kind: ListKind,
    read_ts: u64,
}

/// A table at a snapshot, under an epoch pin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableView<'g> {
    unpinned: UnpinnedView<'g>,
    guard: &'g Guard,
}

impl<'g> Deref for TableView<'g> {
    type Target = UnpinnedView<'g>;

    #[inline(always)]
    fn deref(&self) -> &UnpinnedView<'g> {
        &self.unpinned
    }
}

/// Fewer lists are read one by one.
const LISTS_TAKEN_MIN: usize = 4;

/// What a scan of written segments needs room for.
#[derive(Debug, Default)]
struct Scratch {
    live: Vec<u32>,
    live_rows: LiveRows,
}

/// The loop CSR runs. A function of its own, called once per segment: inlined into its callers, it
/// runs out of registers. It takes `f` and gives it back, so that what `f` holds is in registers,
/// too.
#[inline(never)]
fn scan_settled<F>(base: BaseRef<'_>, first: u32, locals: Range<usize>, mut f: F) -> F
where
    F: FnMut(u32, &[u32]),
{
    let offsets = base.offsets();
    let mut start = offsets[locals.start.min(SEGMENT_VERTICES)];
    for i in locals {
        let end = offsets[i + 1];
        prefetch(base.row_addr(offsets[(i + PREFETCH_AHEAD).min(SEGMENT_VERTICES)]));
        f(first + i as u32, base.rows(start, end));
        start = end;
    }
    f
}

/// A vertex's settled rows, found ahead of its turn in `visit`; `None` if something is unsettled,
/// the list is a hub, or its segment is not loaded: it is looked up again at its turn.
type Place<'g> = Option<&'g [u32]>;

/// Finds the list of `v` and hints that its rows will be read.
#[inline(always)]
fn find<'g>(heads: PinnedHeads<'g>, v: u32) -> Place<'g> {
    let (head, local) = (heads.of(v), local_of(v));
    if let Some(base) = head.settled() {
        let rows = base.list(local);
        prefetch(rows.as_ptr());
        return Some(rows);
    }
    let ver = head.written()?;
    let rows = ver.settled(local);
    prefetch(rows.as_ptr());
    let word = ver.slot_word(local);
    if word == 0 {
        return Some(rows);
    }
    ver.prefetch_tail(word, local);
    None
}

/// Hints that [`find`] will look for `v`.
#[inline(always)]
fn hint(heads: PinnedHeads<'_>, v: u32) {
    let (head, local) = (heads.of(v), local_of(v));
    if let Some(base) = head.settled() {
        prefetch(base.offset_addr(local));
    } else if let Some(ver) = head.written() {
        prefetch(ver.rows().offset_addr(local));
        prefetch(ver.slot_addr(local));
    }
}

impl<'g> UnpinnedView<'g> {
    /// The view, under a pin that protects what was reachable when `self` was made.
    #[inline(always)]
    pub(crate) fn pinned_by(&self, guard: &'g Guard) -> TableView<'g> {
        TableView { unpinned: *self, guard }
    }
}

impl<'g> TableView<'g> {
    #[inline(always)]
    pub(crate) fn new(table: &'g AdjTable, read_ts: u64, guard: &'g Guard) -> Self {
        let heads = table.heads(guard);
        UnpinnedView { table, heads, kind: table.kind, read_ts }.pinned_by(guard)
    }

    /// A table as it was at `at`, by heads that lead to nothing but settled segments.
    pub(crate) fn past(
        table: &'g AdjTable,
        heads: PinnedHeads<'g>,
        at: u64,
        guard: &'g Guard,
    ) -> Self {
        UnpinnedView { table, heads, kind: table.kind, read_ts: at }.pinned_by(guard)
    }

    /// The same without the pin. Whoever reads through it keeps the guard of `self` alive.
    pub(crate) fn unpinned(&self) -> UnpinnedView<'g> {
        self.unpinned
    }

    pub(crate) fn kind(&self) -> ListKind {
        self.kind
    }

    #[inline(always)]
    fn head(&self, v: u32) -> Head<'g> {
        self.heads.of(v)
    }

    /// Whether the heads are the table's own, and not those of the table as it was, where a null
    /// one is an empty segment.
    fn is_present(&self) -> bool {
        self.table.has_heads(self.heads)
    }

    /// Where the head of `v` is null: looks for the segment in the store. Returns whether it was
    /// loaded, so that reading has to begin anew.
    ///
    /// PERF: search: asked only once a head was found not to be settled, so that settled lists are
    /// found as if everything were in memory.
    #[cold]
    #[inline(never)]
    fn fetched(&self, v: u32) -> bool {
        self.is_present() && self.table.fetch(segment_of(v), self.guard)
    }

    // Functions of their own, so that their callers do not call themselves and can be inlined.

    #[cold]
    #[inline(never)]
    fn fetched_degree(&self, v: u32) -> usize {
        if self.fetched(v) { self.degree(v) } else { 0 }
    }

    #[cold]
    #[inline(never)]
    fn fetched_contains(&self, u: u32, v: u32) -> bool {
        self.fetched(u) && self.contains(u, v)
    }

    /// Calls `f` with each run of `v`'s neighbours.
    #[inline]
    pub(crate) fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, mut f: F) {
        let local = local_of(v);
        let head = self.head(v);
        if let Some(base) = head.settled() {
            return f(base.list(local));
        }
        let Some(ver) = head.written() else {
            if self.fetched(v) {
                self.for_each_run(v, f);
            }
            return;
        };
        let mut scratch = Vec::new();
        let (mut run, mut rest) = self.first_run(ver, local, &mut scratch);
        loop {
            f(run);
            match rest.next(self.read_ts, self.guard, &mut scratch) {
                Some(next) => run = next,
                None => return,
            }
        }
    }

    /// The first run of a list, and what is left then.
    #[inline(always)]
    fn first_run<'s>(
        &self,
        ver: &'g SegVersion,
        local: u32,
        scratch: &'s mut Vec<u32>,
    ) -> (&'s [u32], Rest<'g>)
    where
        'g: 's,
    {
        let (settled, word) = (ver.settled(local), ver.slot_word(local));
        match ver.decode(word) {
            Slot::Clean => (settled, Rest::NONE),
            Slot::Block(block) => {
                let delta = ver.delta(self.read_ts);
                if let Some(deleted) = ver.deleted(word)
                    && deleted.live(ver.first_row(local), settled, delta, scratch)
                {
                    return (scratch, Rest::NONE);
                }
                Rest::of_list(settled, Visible::at(block, delta), scratch)
            }
            Slot::Hub(hub) => Rest::of_hub(hub, self.guard),
        }
    }

    /// Calls `f(v, run)` for the vertices of `range` in order; vertices without a segment are
    /// skipped.
    #[inline]
    pub(crate) fn scan<F: FnMut(u32, &[u32])>(&self, range: Range<u32>, mut f: F) {
        if range.is_empty() {
            return;
        }
        let (mut scratch, mut copy) = (Scratch::default(), map::Scratch::default());
        let last = segment_of(range.end - 1).min(self.table.segment_bound().saturating_sub(1));
        let in_place = self.table.reads_in_place() && self.is_present();
        for segment in segment_of(range.start)..=last {
            if let Some(next) = self.head((segment + 1).min(last) << SEGMENT_BITS).base() {
                prefetch(next.offset_addr(0));
                prefetch(next.offset_addr(16));
                prefetch(next.row_addr(0));
            }
            let first = u64::from(segment) << SEGMENT_BITS;
            let lo = u64::from(range.start).saturating_sub(first) as usize;
            let hi = (u64::from(range.end) - first).min(SEGMENT_VERTICES as u64) as usize;
            let (first, head) = (first as u32, self.head(first as u32));
            let mut settled = head.settled();
            let mut written = head.written();
            if in_place || (head.is_null() && self.is_present()) {
                let found = self.table.for_scan(segment, &mut copy, self.guard);
                (settled, written) = match found {
                    Scanned::Settled(base) => (Some(base), None),
                    Scanned::Written(version) => (None, Some(version)),
                    Scanned::Nothing => (None, None),
                };
            }
            if let Some(base) = settled {
                f = scan_settled(base, first, lo..hi, f);
            } else if let Some(ver) = written {
                self.scan_written(ver, first, lo..hi, &mut scratch, &mut f);
            }
        }
    }

    #[inline(never)]
    fn scan_written<F>(
        &self,
        ver: &'g SegVersion,
        first: u32,
        locals: Range<usize>,
        scratch: &mut Scratch,
        f: &mut F,
    ) where
        F: FnMut(u32, &[u32]),
    {
        let mut left = locals.start as u32..locals.end as u32;
        while !left.is_empty() {
            let (lists, taken) = self.take_live(ver, left.clone(), &mut scratch.live_rows);
            left.start = lists.end;
            if taken {
                let live_rows = &mut scratch.live_rows;
                live_rows.for_each_list(ver.rows(), lists, |local, run| f(first + local, run));
                continue;
            }
            for local in lists {
                let ahead = (local + PREFETCH_AHEAD as u32).min(SEGMENT_VERTICES as u32 - 1);
                ver.prefetch_tail(ver.slot_word(ahead), ahead);
                let (mut run, mut rest) = self.first_run(ver, local, &mut scratch.live);
                loop {
                    f(first + local, run);
                    match rest.next(self.read_ts, self.guard, &mut scratch.live) {
                        Some(next) => run = next,
                        None => break,
                    }
                }
            }
        }
    }

    /// Which of the lists `locals`, from the first on, to read in the same way; at least one. True
    /// if `out` has their live rows: they lost rows and nothing else, and the snapshot is not older
    /// than some delete.
    fn take_live(
        &self,
        ver: &SegVersion,
        locals: Range<u32>,
        out: &mut LiveRows,
    ) -> (Range<u32>, bool) {
        let Some(deleted) = ver.deleted_rows() else { return (locals, false) };
        let mut marked = 0;
        let lost_rows = |local: &u32| {
            let word = ver.slot_word(*local);
            let masked = ver.deleted(word).is_some();
            marked += u32::from(masked);
            masked || word == 0
        };
        let count = locals.clone().take_while(lost_rows).count();
        let lists = locals.start..locals.start + count.max(1) as u32;
        if marked == 0 || count < LISTS_TAKEN_MIN {
            return (lists, false);
        }
        let taken = out.take(deleted, ver.rows(), lists.clone(), ver.delta(self.read_ts));
        (lists, taken)
    }

    /// Calls `f(v, run)` for each listed vertex in the order given.
    ///
    /// Every vertex is looked up once, eight places before its turn: where its rows are is kept
    /// until then, and their first cache line is on its way.
    #[inline]
    pub(crate) fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        self.visit_places(vertices, |place, run| f(vertices[place], run));
    }

    /// As [`visit`](Self::visit), with the place of the vertex among those listed: `f` is called at
    /// least once for each, perhaps with an empty run.
    #[inline]
    pub(crate) fn visit_places<F: FnMut(usize, &[u32])>(&self, vertices: &[u32], mut f: F) {
        let heads = self.heads;
        let mut scratch = Vec::new();
        let Some(last) = vertices.len().checked_sub(1) else { return };
        let mut places: [Place<'g>; PREFETCH_AHEAD] = [None; PREFETCH_AHEAD];
        for (place, &v) in places.iter_mut().zip(vertices) {
            *place = find(heads, v);
        }
        for (i, &v) in vertices.iter().enumerate() {
            hint(heads, vertices[(i + 2 * PREFETCH_AHEAD).min(last)]);
            let place = &mut places[i % PREFETCH_AHEAD];
            let ahead = vertices[(i + PREFETCH_AHEAD).min(last)];
            if let Some(rows) = std::mem::replace(place, find(heads, ahead)) {
                f(i, rows);
                continue;
            }
            let (mut run, mut rest) = self.first_run_of(v, &mut scratch);
            loop {
                f(i, run);
                match rest.next(self.read_ts, self.guard, &mut scratch) {
                    Some(next) => run = next,
                    None => break,
                }
            }
        }
    }

    #[inline(never)]
    fn first_run_of<'s>(&self, v: u32, scratch: &'s mut Vec<u32>) -> (&'s [u32], Rest<'g>)
    where
        'g: 's,
    {
        let (head, local) = (self.head(v), local_of(v));
        if let Some(base) = head.settled() {
            return (base.list(local), Rest::NONE);
        }
        let Some(ver) = head.written() else {
            let fetched = self.fetched(v);
            return if fetched { self.first_run_of(v, scratch) } else { (&[], Rest::NONE) };
        };
        self.first_run(ver, local, scratch)
    }

    /// Hints that `v`'s neighbours will be read soon.
    #[inline(always)]
    pub(crate) fn prefetch_rows(&self, v: u32) {
        let local = local_of(v);
        let head = self.head(v);
        if let Some(base) = head.settled() {
            prefetch(base.row_addr(base.offsets()[local as usize]));
        } else if let Some(ver) = head.written() {
            prefetch(ver.rows().row_addr(ver.rows().offsets()[local as usize]));
            ver.prefetch_tail(ver.slot_word(local), local);
        }
    }

    /// Number of neighbours of `v`.
    #[inline]
    pub(crate) fn degree(&self, v: u32) -> usize {
        let local = local_of(v);
        let head = self.head(v);
        if let Some(base) = head.settled() {
            return base.list(local).len();
        }
        let Some(ver) = head.written() else {
            return self.fetched_degree(v);
        };
        match ver.decode(ver.slot_word(local)) {
            Slot::Clean => ver.settled(local).len(),
            Slot::Block(block) => {
                let tail = Visible::at(block, ver.delta(self.read_ts));
                ver.settled(local).len().wrapping_add_signed(tail.growth())
            }
            Slot::Hub(hub) => hub.degree(self.read_ts, self.guard),
        }
    }

    /// Whether an edge from `u` to `v` exists.
    #[inline]
    pub(crate) fn contains(&self, u: u32, v: u32) -> bool {
        let local = local_of(u);
        let head = self.head(u);
        if self.kind != ListKind::Simple {
            // By the neighbours alone: the past that kernels read has no columns.
            return match (head.settled(), self.kind) {
                (Some(base), ListKind::Timed) => base.list(local).contains(&v),
                (Some(base), _) => find_sorted(base.list(local), v).is_some(),
                (None, _) => self.with_list_of(u, v, |list| list.find(v).is_some()),
            };
        }
        if let Some(base) = head.settled() {
            return find_sorted(base.list(local), v).is_some();
        }
        let Some(ver) = head.written() else { return self.fetched_contains(u, v) };
        let word = ver.slot_word(local);
        match ver.decode(word) {
            Slot::Clean => find_sorted(ver.settled(local), v).is_some(),
            Slot::Block(block) => {
                let delta = ver.delta(self.read_ts);
                if let Some(deleted) = ver.deleted(word) {
                    let Some(at) = find_sorted(ver.settled(local), v) else { return false };
                    let row = ver.first_row(local) + at as u32;
                    if let Some(gone) = deleted.contains(row, delta) {
                        return !gone;
                    }
                }
                let tail = Visible::at(block, delta);
                if tail.has_deletes {
                    return self.with_list_of(u, v, |list| list.find(v).is_some());
                }
                find_sorted(ver.settled(local), v).is_some() || tail.find(v).is_some()
            }
            Slot::Hub(hub) => hub.contains(v, self.read_ts, self.guard),
        }
    }

    /// Calls `f` with the list, or hub chunk, of `u` that holds the edges to `v`.
    pub(crate) fn with_list_of<R>(&self, u: u32, v: u32, f: impl FnOnce(List<'_>) -> R) -> R
    where
        R: Default,
    {
        let local = local_of(u);
        let head = self.head(u);
        if let Some(base) = head.settled() {
            return f(List::settled(base, local, self.kind));
        }
        let Some(ver) = head.written() else {
            return if self.fetched(u) { self.with_list_of(u, v, f) } else { R::default() };
        };
        match ver.decode(ver.slot_word(local)) {
            Slot::Hub(hub) => {
                let chunk = hub.chunk(v, self.guard).version(self.guard);
                f(chunk.list(chunk.delta(self.read_ts), self.kind))
            }
            _ => match ver.list(local, ver.delta(self.read_ts), self.kind) {
                Some(list) => f(list),
                // The slot became a hub between the two reads: impossible within one version.
                None => R::default(),
            },
        }
    }

    /// Calls `f` with the same list as everybody sees it by now, and how long after its tail began
    /// `since` is.
    pub(crate) fn with_latest_list_of<R: Default>(
        &self,
        u: u32,
        v: u32,
        since: u64,
        f: impl FnOnce(&List<'_>, u32) -> R,
    ) -> R {
        let local = local_of(u);
        let head = self.head(u);
        if let Some(base) = head.settled() {
            return f(&List::settled(base, local, self.kind), 0);
        }
        let Some(ver) = head.written() else {
            let fetched = self.fetched(u);
            return if fetched { self.with_latest_list_of(u, v, since, f) } else { R::default() };
        };
        match ver.decode(ver.slot_word(local)) {
            Slot::Hub(hub) => {
                let chunk = hub.chunk(v, self.guard).version(self.guard);
                f(&chunk.list(DELTA_MAX, self.kind), chunk.delta(since))
            }
            _ => match ver.list(local, DELTA_MAX, self.kind) {
                Some(list) => f(&list, ver.delta(since)),
                // As above.
                None => R::default(),
            },
        }
    }

    /// True if no edge without an ordinal to `nbr` can be added to the list of `v`: there is one,
    /// or one came or went after `since`. The view is of what everybody sees by now.
    ///
    /// PERF: `telar bench kernel`, insert_single_mps: nothing is put together where nothing was
    /// deleted, as in most lists; there, whatever came after `since` is still there.
    #[inline]
    pub(crate) fn is_taken(&self, v: u32, nbr: u32, since: u64) -> bool {
        let (head, local) = (self.head(v), local_of(v));
        // Of parallel ones, that without an ordinal comes first.
        let in_base = |base: BaseRef<'_>| {
            let found = find_sorted(base.list(local), nbr);
            found.is_some_and(|at| base.ordinals(local).get(at) == 0)
        };
        if let Some(base) = head.settled() {
            return in_base(base);
        }
        if let Some(ver) = head.written().filter(|ver| ver.base.is_whole()) {
            match ver.decode(ver.slot_word(local)) {
                Slot::Clean => return in_base(ver.rows()),
                Slot::Block(block) => {
                    let tail = Visible::at(block, DELTA_MAX);
                    if !tail.has_deletes && !block.has_columns() {
                        return tail.find(nbr).is_some() || in_base(ver.rows());
                    }
                }
                Slot::Hub(_) => {}
            }
        }
        self.with_latest_list_of(v, nbr, since, |list, delta| {
            let changed = list.changed_at_all(delta) && list.changed_since(delta, nbr, Some(0));
            changed || list.has_unnumbered(nbr)
        })
    }

    /// Calls `f` with rows of `v`'s list, and their ordinals.
    #[inline]
    pub(crate) fn for_each_numbered(&self, v: u32, mut f: impl FnMut(&[u32], Ordinals<'_>)) {
        let (head, local) = (self.head(v), local_of(v));
        // Lists of a written segment that nothing was written to are read as settled ones.
        let clean = |ver: &&'g SegVersion| ver.base.is_whole() && ver.slot_word(local) == 0;
        let written = || head.written().filter(clean).map(SegVersion::rows);
        if let Some(base) = head.settled().or_else(written) {
            let ordinals = match self.kind {
                ListKind::Simple => Ordinals::Zero,
                ListKind::Multi => base.ordinals(local),
                ListKind::Timed => Ordinals::Each(base.column(COL_ORDINAL, local)),
            };
            return f(base.list(local), ordinals);
        }
        self.for_each_list(v, |list| list.for_each_numbered(&mut f));
    }

    /// Number of settled neighbours of `v`; that of a hub is above any other.
    pub(crate) fn settled_len(&self, v: u32) -> usize {
        let (head, local) = (self.head(v), local_of(v));
        match (head.settled(), head.written()) {
            (Some(base), _) => base.list(local).len(),
            (None, Some(ver)) if matches!(ver.decode(ver.slot_word(local)), Slot::Hub(_)) => {
                usize::MAX
            }
            (None, Some(ver)) => ver.settled(local).len(),
            (None, None) if self.fetched(v) => self.settled_len(v),
            (None, None) => 0,
        }
    }

    /// Calls `f` with every list that makes up `v`'s neighbours: one, or each chunk of a hub.
    pub(crate) fn for_each_list(&self, v: u32, mut f: impl FnMut(List<'_>)) {
        let local = local_of(v);
        let head = self.head(v);
        if let Some(base) = head.settled() {
            return f(List::settled(base, local, self.kind));
        }
        let Some(ver) = head.written() else {
            if self.fetched(v) {
                self.for_each_list(v, f);
            }
            return;
        };
        if let Slot::Hub(hub) = ver.decode(ver.slot_word(local)) {
            for chunk in hub.chunks(self.guard) {
                let chunk = chunk.version(self.guard);
                f(chunk.list(chunk.delta(self.read_ts), self.kind));
            }
        } else if let Some(list) = ver.list(local, ver.delta(self.read_ts), self.kind) {
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
        if self.kind != ListKind::Timed {
            let (head, local) = (self.head(v), local_of(v));
            if let Some(base) = head.settled() {
                return base.list(local);
            }
            if let Some(ver) = head.written().filter(|ver| ver.slot_word(local) == 0) {
                return ver.settled(local);
            }
        }
        scratch.clear();
        self.for_each_run(v, |run| scratch.extend_from_slice(run));
        scratch.sort_unstable();
        scratch
    }

    /// Number of live entries in all lists. Cost: a pass over segments; lists are counted one by
    /// one only in segments that hold something unsettled.
    pub(crate) fn entries(&self) -> u64 {
        (0..self.table.segment_bound()).map(|number| self.entries_of(number)).sum()
    }

    /// Entries of one segment's lists.
    pub(crate) fn entries_of(&self, number: u32) -> u64 {
        let first = number << SEGMENT_BITS;
        let mut head = self.head(first);
        if head.is_null() && self.fetched(first) {
            head = self.head(first);
        }
        if let Some(base) = head.settled() {
            return base.entries() as u64;
        }
        let degree = |local| self.degree(first | local) as u64;
        let written = head.written().is_some();
        if written { (0..SEGMENT_VERTICES as u32).map(degree).sum() } else { 0 }
    }
}
