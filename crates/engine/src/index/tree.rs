//! Trees: ordered entries in partitions, read without a latch, written under a short lock each.
//!
//! ```text
//!  directory ─► partition 0 ──next──► partition 7 ──next──► partition 2 ─► ...
//!               [low, end)            [low, end)
//!               version: run (sorted, immutable) · tail (in order of arrival)
//!               stale: entries that some commit made obsolete, with its timestamp
//! ```
//!
//! A B-link tree of one level below a directory: each version of a partition knows where it ends
//! and what follows, so that whoever comes through an old directory, or reads an old version, moves
//! on to the right until it is there.
//!
//! Invariants
//! 1. An entry, once added, is found by every reader that starts later, until it is dropped.
//! 2. An entry is dropped only when [`Upkeep::is_gone`] says that no reader can want it any more.
//! 3. The bounds of the partitions, by their links, cover every key exactly once at any moment:
//!    right parts of a split are whole before the left part is replaced by one store.
//!
//! Cost: a lookup is a search in the directory, one in a run, and a look at a tail of at most 64
//! entries; adding writes one slot, and one in 64 times merges some hundred entries.
//! Source: P. Lehman, S. Yao, "Efficient locking for concurrent operations on B-trees", TODS 1981.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};

use super::directory::Directory;
use super::key::{Entry, Item, SortKey};
use super::packed::Held;
use super::partition::{Partition, Stale, Writing};
use super::run::Run;
use super::tail::Tail;
use crate::reclaim::EpochCell;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard, lock};
use crate::table::GrowArray;
use crate::words::prefetch;

use smallvec::SmallVec;

pub(crate) use super::partition::Version;

/// Entries of a run from which on it is cut; few where models are to split partitions.
const RUN_MAX: usize = if cfg!(feature = "shuttle") { 6 } else { 256 };
/// Entries of the runs that a larger one is cut into, at most.
pub(crate) const RUN_CUT: usize = if cfg!(feature = "shuttle") { 4 } else { 192 };
/// Stale entries that are looked at again only once this many have come.
const STALE_MIN: usize = if cfg!(feature = "shuttle") { 2 } else { 64 };

/// A tail that nothing was added to is packed with its run when it is settled for this many times:
/// it takes as much memory as two hundred packed entries.
const IDLE_SETTLES: u16 = 32;

/// What a tree asks about its entries when it makes room.
pub(crate) trait Upkeep<const N: usize> {
    /// The oldest timestamp a live or future reader can read at.
    fn watermark(&self) -> u64;

    /// A timestamp no smaller than any taken so far.
    fn last_ts(&self) -> u64;

    /// Whether no reader at or after `watermark` wants the entry; `None` if that cannot be told
    /// yet.
    fn is_gone(&self, key: &SortKey, item: &Item<N>, watermark: u64) -> Option<bool>;

    /// The entry is being dropped. Whoever adds it anew waits until that is done.
    fn dropped(&self, key: &SortKey, item: &Item<N>);
}

/// Ordered entries.
#[derive(Debug)]
pub(crate) struct Tree<const N: usize> {
    directory: EpochCell<Directory<N>>,
    partitions: GrowArray<Partition<N>>,
    count: AtomicU32,
    /// Held while partitions are added.
    growing: Mutex<()>,
    /// True if runs are packed.
    packs: bool,
}

/// One contiguous piece of a tree, as stored.
#[derive(Debug)]
pub(crate) struct Piece<const N: usize> {
    pub(crate) number: u32,
    /// Where the partition to the right begins, and its number.
    pub(crate) next: Option<(Entry<N>, u32)>,
    pub(crate) entries: Run<N>,
}

impl<const N: usize> Tree<N> {
    const LOWEST: Entry<N> = (SortKey::MIN, [0; N]);

    /// A tree without entries, whose runs are packed or not.
    pub(crate) fn new(packs: bool) -> Self {
        let tree = Self {
            directory: EpochCell::default(),
            partitions: GrowArray::default(),
            count: AtomicU32::new(1),
            growing: Mutex::new(()),
            packs,
        };
        let guard = &epoch::pin();
        let run = Held::new(Run::default(), packs);
        let whole = Version { low: Self::LOWEST, next: None, run, tail: None };
        let first = tree.partitions.get_or_grow(0);
        first.put(&mut lock(&first.writing), whole, guard);
        tree.directory.put(Directory::new(&[(Self::LOWEST, 0)]), guard);
        tree
    }

    /// A place where another thread may run in a model.
    #[inline(always)]
    fn step(&self) {
        if cfg!(feature = "shuttle") {
            self.count.load(Ordering::Relaxed);
        }
    }

    fn directory<'g>(&self, guard: &'g Guard) -> &'g Directory<N> {
        self.step();
        self.directory.get(guard).expect("INVARIANT: a tree is made with a directory")
    }

    fn partition(&self, number: u32) -> &Partition<N> {
        self.partitions.get(number).expect("INVARIANT: links lead to partitions")
    }

    fn version<'g>(&self, number: u32, guard: &'g Guard) -> &'g Version<N> {
        self.step();
        let version = self.partition(number).version.get(guard);
        version.expect("INVARIANT: a partition is whole before a link leads to it")
    }

    /// The partition that `key` and `item` belong to.
    #[inline]
    fn locate<'g>(&self, key: &SortKey, item: &Item<N>, guard: &'g Guard) -> (u32, &'g Version<N>) {
        let mut number = self.directory(guard).find(key, item);
        loop {
            let version = self.version(number, guard);
            match version.beyond(key, item) {
                Some(next) => number = next,
                None => return (number, version),
            }
        }
    }

    // ---- reading ----

    /// Calls `f` with every item that has this key. An item may come twice.
    #[inline]
    pub(crate) fn for_key(&self, key: &SortKey, guard: &Guard, mut f: impl FnMut(Item<N>)) {
        let (_, mut version) = self.locate(key, &[0; N], guard);
        loop {
            let run = version.run.run();
            for i in (run.lower(key, &[0; N])..run.len()).take_while(|i| run.has_key(*i, key)) {
                f(run.item(i));
            }
            if let Some(tail) = &version.tail {
                tail.for_key(key, &mut f);
            }
            // Equal keys may go on to the right.
            match &version.next {
                Some(((end, _), next)) if end == key => version = self.version(*next, guard),
                _ => return,
            }
        }
    }

    /// Calls `f` with every entry from `from` to below `to`, in order, until it breaks.
    pub(crate) fn for_range(
        &self,
        from: &SortKey,
        to: Option<&SortKey>,
        descending: bool,
        guard: &Guard,
        mut f: impl FnMut(&SortKey, Item<N>) -> ControlFlow<()>,
    ) {
        // A bound to the left of the other is an empty range.
        if to.is_some_and(|to| to <= from) {
            return;
        }
        // Whoever breaks has seen enough.
        let _ = if descending {
            self.descend(from, to, guard, &mut f)
        } else {
            self.ascend(from, to, guard, &mut f)
        };
    }

    fn ascend(
        &self,
        from: &SortKey,
        to: Option<&SortKey>,
        guard: &Guard,
        f: &mut impl FnMut(&SortKey, Item<N>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (_, mut version) = self.locate(from, &[0; N], guard);
        loop {
            for_each_within(version, from, to, false, f)?;
            match &version.next {
                Some(((end, _), next)) if to.is_none_or(|to| end < to) => {
                    version = self.version(*next, guard);
                }
                _ => return ControlFlow::Continue(()),
            }
        }
    }

    /// Calls `f` with the bytes of keys from `from` to below `to`, how many of them it is known to
    /// share with the key before, and the item, until it breaks. What was added lately comes out of
    /// order, and what is added meanwhile may be missing or come twice.
    pub(crate) fn for_bytes(
        &self,
        from: &SortKey,
        to: Option<&SortKey>,
        guard: &Guard,
        mut f: impl FnMut(&[u8], usize, Item<N>) -> ControlFlow<()>,
    ) {
        let (first, end) = (from.to_bytes(), to.map(SortKey::to_bytes));
        if end.as_ref().is_some_and(|end| *end <= first) {
            return;
        }
        let is_in = |key: &[u8]| end.as_ref().is_none_or(|end| *key < end[..]);
        let (_, mut version) = self.locate(from, &[0; N], guard);
        loop {
            // First: who breaks in the run goes on behind it.
            if let Some(tail) = &version.tail {
                let added = tail.sorted();
                let end = to.map_or(added.len(), |to| added.lower(to, &[0; N]));
                for i in added.lower(from, &[0; N])..end {
                    if f(&added.key(i).to_bytes(), 0, added.item(i)).is_break() {
                        return;
                    }
                }
            }
            let mut is_before = true;
            let flow = version.run.for_each(|key, shared, item| {
                if is_before && *key < first[..] {
                    return ControlFlow::Continue(());
                }
                if !is_in(key) {
                    return ControlFlow::Break(());
                }
                // The key before was not shown.
                let shared = if is_before { 0 } else { shared };
                is_before = false;
                f(key, shared, item)
            });
            match &version.next {
                Some(((end, _), next)) if flow.is_continue() && to.is_none_or(|to| end < to) => {
                    version = self.version(*next, guard);
                }
                _ => return,
            }
        }
    }

    fn descend(
        &self,
        from: &SortKey,
        to: Option<&SortKey>,
        guard: &Guard,
        f: &mut impl FnMut(&SortKey, Item<N>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // What is still to come lies below this.
        let mut bound: Option<Entry<N>> = to.map(|key| (key.clone(), [0; N]));
        loop {
            let below = bound.as_ref().map(|(key, item)| (key, item));
            let mut version = self.version(self.directory(guard).find_below(below), guard);
            while let Some((end, next)) = &version.next
                && bound.as_ref().is_none_or(|bound| end < bound)
            {
                version = self.version(*next, guard);
            }
            match &bound {
                // Splitting may have moved the bound into the middle of an older version's range.
                Some(bound) => {
                    let entries = version.entries();
                    let end = entries.lower(&bound.0, &bound.1);
                    for i in (entries.lower(from, &[0; N])..end).rev() {
                        f(&entries.key(i), entries.item(i))?;
                    }
                }
                None => for_each_within(version, from, None, true, f)?,
            }
            if version.low <= (from.clone(), [0; N]) {
                return ControlFlow::Continue(());
            }
            bound = Some(version.low.clone());
        }
    }

    // ---- writing ----

    /// Appends the partition of each entry, or one to the left of it, and brings the memory that
    /// adding them will touch closer.
    ///
    /// PERF: the misses of a commit's entries overlap instead of queueing up.
    pub(crate) fn find_all(
        &self,
        entries: &[(&SortKey, Item<N>)],
        numbers: &mut SmallVec<[u32; 64]>,
        guard: &Guard,
    ) {
        let before = numbers.len();
        self.directory(guard).find_all(entries, numbers);
        let numbers = &numbers[before..];
        if numbers.first() != numbers.last() {
            numbers.iter().for_each(|number| prefetch(self.partition(*number)));
            for number in numbers {
                let next_slot = self.partition(*number).next_slot.load(Ordering::Relaxed);
                prefetch(std::ptr::without_provenance::<u8>(next_slot));
            }
        }
    }

    /// Adds entries for the commit `ts`, some of which may be there already; `numbers` as
    /// [`find_all`](Self::find_all) told them.
    pub(crate) fn add_all(
        &self,
        entries: &[(&SortKey, Item<N>)],
        numbers: &[u32],
        ts: u64,
        upkeep: &dyn Upkeep<N>,
        guard: &Guard,
    ) {
        let mut held: Option<(u32, MutexGuard<'_, Writing<N>>)> = None;
        for ((key, item), number) in entries.iter().zip(numbers) {
            let mut number = *number;
            loop {
                let mut writing = match held.take() {
                    Some((there, writing)) if there == number => writing,
                    // One partition at a time: nobody waits for a lock while holding another.
                    other => {
                        drop(other);
                        lock(&self.partition(number).writing)
                    }
                };
                let is_here = key.high() < writing.end_high;
                let beyond = || self.version(number, guard).beyond(key, item);
                let right = if is_here { None } else { beyond() };
                if right.is_none() {
                    self.add(number, &mut writing, (key, item), ts, upkeep, guard);
                }
                held = Some((number, writing));
                match right {
                    Some(right) => number = right,
                    None => break,
                }
            }
        }
    }

    /// Adds an entry that belongs to this partition.
    fn add(
        &self,
        number: u32,
        writing: &mut Writing<N>,
        (key, item): (&SortKey, &Item<N>),
        ts: u64,
        upkeep: &dyn Upkeep<N>,
        guard: &Guard,
    ) {
        let partition = self.partition(number);
        partition.wrote(ts);
        if partition.push(writing, key, item) {
            return;
        }
        if writing.tail.is_some() {
            let more = [(key.clone(), *item)];
            return self.fold(number, writing, &more, true, upkeep, guard);
        }
        let old = self.version(number, guard);
        let (low, next, run) = (old.low.clone(), old.next.clone(), old.run.clone());
        let tail = Some(Arc::new(Tail::new()));
        partition.put(writing, Version { low, next, run, tail }, guard);
        partition.push(writing, key, item);
    }

    /// Notes that the commit `ts` made an entry obsolete.
    pub(crate) fn mark_stale(
        &self,
        key: &SortKey,
        item: &Item<N>,
        ts: u64,
        upkeep: &dyn Upkeep<N>,
        guard: &Guard,
    ) {
        loop {
            let (number, _) = self.locate(key, item, guard);
            let partition = self.partition(number);
            let mut writing = lock(&partition.writing);
            if self.version(number, guard).beyond(key, item).is_some() {
                continue;
            }
            partition.wrote(ts);
            let stale = writing.stale();
            stale.entries.push(Stale { entry: (key.clone(), *item), ts });
            if stale.entries.len() >= stale.look_at.max(STALE_MIN) {
                self.fold(number, &mut writing, &[], false, upkeep, guard);
            }
            return;
        }
    }

    /// Adds entries that are sorted and without repeats, as by a commit at `ts`.
    pub(crate) fn add_sorted(
        &self,
        mut entries: &[Entry<N>],
        ts: u64,
        upkeep: &dyn Upkeep<N>,
        guard: &Guard,
    ) {
        while let Some((key, item)) = entries.first() {
            let (number, _) = self.locate(key, item, guard);
            let partition = self.partition(number);
            let mut writing = lock(&partition.writing);
            let version = self.version(number, guard);
            if version.beyond(key, item).is_some() {
                continue;
            }
            let here = version
                .next
                .as_ref()
                .map_or(entries.len(), |(end, _)| entries.partition_point(|e| e < end));
            partition.wrote(ts);
            self.fold(number, &mut writing, &entries[..here], false, upkeep, guard);
            entries = &entries[here..];
        }
    }

    /// Drops what no reader wants any more.
    pub(crate) fn settle(&self, upkeep: &dyn Upkeep<N>) {
        let guard = &epoch::pin();
        for number in 0..self.count.load(Ordering::Acquire) {
            let Some(partition) = self.partitions.get(number) else { return };
            let mut writing = lock(&partition.writing);
            let Some(old) = partition.version.get(guard) else { continue };
            if writing.stale.is_some() {
                self.fold(number, &mut writing, &[], false, upkeep, guard);
            } else if self.packs && writing.settles_idle(IDLE_SETTLES) {
                let (low, next) = (old.low.clone(), old.next.clone());
                let run = Held::new(old.entries(), true);
                partition.put(&mut writing, Version { low, next, run, tail: None }, guard);
            }
        }
    }

    /// Takes out every entry of these items, which no reader wants.
    pub(crate) fn take_back(&self, items: &Range<u32>, upkeep: &dyn Upkeep<N>, guard: &Guard) {
        for number in 0..self.count.load(Ordering::Acquire) {
            let Some(partition) = self.partitions.get(number) else { return };
            let mut writing = lock(&partition.writing);
            let Some(old) = partition.version.get(guard) else { return };
            let entries = old.entries();
            let all = (0..entries.len()).map(|i| entries.get(i));
            let (gone, kept): (Vec<_>, Vec<_>) = all.partition(|e| items.contains(&e.1[0]));
            if gone.is_empty() {
                continue;
            }
            gone.iter().for_each(|(key, item)| upkeep.dropped(key, item));
            partition.wrote(upkeep.last_ts() + 1);
            let (low, next) = (old.low.clone(), old.next.clone());
            let run = Held::new(Run::from(&kept[..]), self.packs);
            partition.put(&mut writing, Version { low, next, run, tail: None }, guard);
        }
    }

    /// Takes out of `writing` what can be dropped, sorted.
    fn droppable(writing: &mut Writing<N>, upkeep: &dyn Upkeep<N>) -> Vec<Entry<N>> {
        let mut dropped = Vec::new();
        let Some(stale) = &mut writing.stale else { return dropped };
        let watermark = upkeep.watermark();
        stale.entries.retain(|stale| {
            let (key, item) = &stale.entry;
            if stale.ts > watermark {
                return true;
            }
            match upkeep.is_gone(key, item, watermark) {
                None => return true,
                Some(true) => {
                    upkeep.dropped(key, item);
                    dropped.push(stale.entry.clone());
                }
                // Set to the same value again since.
                Some(false) => {}
            }
            false
        });
        stale.look_at = 2 * stale.entries.len();
        if stale.entries.is_empty() {
            writing.stale = None;
        }
        dropped.sort_unstable();
        dropped.dedup();
        dropped
    }

    /// Merges run, tail and `more` into new runs without what can be dropped. With
    /// `expects_more` a tail is made, too. The caller holds the lock of the partition.
    fn fold(
        &self,
        number: u32,
        writing: &mut Writing<N>,
        more: &[Entry<N>],
        expects_more: bool,
        upkeep: &dyn Upkeep<N>,
        guard: &Guard,
    ) {
        let dropped = Self::droppable(writing, upkeep);
        let old = self.version(number, guard);
        if dropped.is_empty() && more.is_empty() {
            return;
        }
        let mut added = old.tail.as_ref().map_or(Run::default(), |t| t.sorted());
        if !more.is_empty() {
            added = added.merged(&more.into(), &[]);
        }
        if !dropped.is_empty() {
            added = added.merged(&Run::default(), &dropped);
        }
        let run = old.run.run();
        let held = |run| Held::new(run, self.packs);
        let last = run.len().checked_sub(1).map(|i| run.get(i));
        let appends = last.is_some_and(|last| added.len() > 0 && last < added.get(0));
        let tail = || expects_more.then(|| Arc::new(Tail::new()));
        if appends
            && dropped.is_empty()
            && old.next.is_none()
            && run.len() >= RUN_CUT
            && added.len() <= RUN_CUT
        {
            // Keys that only grow fill their runs and never copy them.
            let parts = vec![(old.run.clone(), None), (held(added), tail())];
            self.replace(number, old, writing, parts, upkeep, guard);
            return;
        }
        let whole = run.merged(&added, &dropped);
        let parts = if whole.len() <= RUN_MAX {
            vec![(held(whole), tail())]
        } else {
            let pieces = whole.len().div_ceil(RUN_CUT);
            let cut = |i: usize| whole.len() * i / pieces;
            let part = |i: usize| held(whole.slice(cut(i)..cut(i + 1)));
            (0..pieces).map(|i| (part(i), tail())).collect()
        };
        self.replace(number, old, writing, parts, upkeep, guard);
    }

    /// Replaces a partition by the first part and, to the right of it, new ones by the others.
    fn replace(
        &self,
        number: u32,
        old: &Version<N>,
        writing: &mut Writing<N>,
        parts: Vec<(Held<N>, Option<Arc<Tail<N>>>)>,
        upkeep: &dyn Upkeep<N>,
        guard: &Guard,
    ) {
        let partition = self.partition(number);
        let mut parts = parts.into_iter();
        let Some((run, tail)) = parts.next() else { return };
        let low = old.low.clone();
        if parts.len() == 0 {
            let next = old.next.clone();
            return partition.put(writing, Version { low, next, run, tail }, guard);
        }
        // Nobody can reach, and split, the new partitions before the directory has them all.
        let _growing = lock(&self.growing);
        // Later than every checkpoint that knows the partition whole: the next one stores both.
        let last_write = upkeep.last_ts() + 1;
        partition.wrote(last_write);
        let first = self.count.load(Ordering::Relaxed);
        let right: Vec<_> = parts.collect();
        let lows: Vec<(Entry<N>, u32)> =
            right.iter().zip(first..).map(|((run, _), n)| (run.first(), n)).collect();
        let nexts: Vec<_> = lows[1..].iter().cloned().map(Some).chain([old.next.clone()]).collect();
        for (((run, tail), next), (low, n)) in right.into_iter().zip(nexts).zip(&lows).rev() {
            let new = self.partitions.get_or_grow(*n);
            new.wrote(last_write);
            let mut there = lock(&new.writing);
            if let Some(stale) = &mut writing.stale {
                let (keep, moved) =
                    std::mem::take(&mut stale.entries).into_iter().partition(|s| s.entry < *low);
                stale.entries = keep;
                there.stale().entries = moved;
            }
            new.put(&mut there, Version { low: low.clone(), next, run, tail }, guard);
        }
        self.count.store(first + lows.len() as u32, Ordering::Release);
        let next = Some(lows[0].clone());
        partition.put(writing, Version { low, next, run, tail }, guard);
        self.directory.put(self.directory(guard).with(&lows), guard);
    }

    // ---- storing ----

    /// Calls `f` with each partition from left to right: its number, the timestamp of its last
    /// change, and a way to read it.
    pub(crate) fn for_each_partition<E>(
        &self,
        mut f: impl FnMut(u32, u64, &Version<N>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut number = 0;
        loop {
            let guard = &epoch::pin();
            // Read before the version: a change in between is noticed the next time.
            let last_write = self.partition(number).last_write.load(Ordering::Acquire);
            let version = self.version(number, guard);
            f(number, last_write, version)?;
            match &version.next {
                Some((_, next)) => number = *next,
                None => return Ok(()),
            }
        }
    }

    /// A tree of stored pieces, in any order, whose runs are packed or not.
    pub(crate) fn from_pieces(pieces: Vec<Piece<N>>, packs: bool) -> Result<Self, &'static str> {
        let tree = Self::new(packs);
        let guard = &epoch::pin();
        let stored = pieces.len();
        let mut by_number: Vec<Option<Piece<N>>> = (0..stored).map(|_| None).collect();
        for piece in pieces {
            // Every partition ever made is still there, so that numbers are dense.
            let place = by_number.get_mut(piece.number as usize);
            *place.ok_or("a part of the index is missing")? = Some(piece);
        }
        let (mut number, mut low, mut partitions) = (0, Self::LOWEST, Vec::new());
        loop {
            let piece = by_number.get_mut(number as usize).and_then(Option::take);
            let Piece { next, entries, .. } = piece.ok_or("a part of the index is missing")?;
            let ends = next.as_ref().map(|(end, _)| end);
            let inside =
                |i: usize| low <= entries.get(i) && ends.is_none_or(|e| entries.get(i) < *e);
            let sorted = (1..entries.len()).all(|i| entries.get(i - 1) < entries.get(i));
            if !sorted || (0..entries.len()).any(|i| !inside(i)) || ends.is_some_and(|e| *e <= low)
            {
                return Err("a part of the index is out of order");
            }
            partitions.push((low.clone(), number));
            let link = next.clone();
            let run = Held::new(entries, packs);
            let version = Version { low: low.clone(), next, run, tail: None };
            let partition = tree.partitions.get_or_grow(number);
            partition.put(&mut lock(&partition.writing), version, guard);
            match link {
                Some((end, next)) => (low, number) = (end, next),
                None => break,
            }
        }
        if partitions.len() != stored {
            return Err("parts of the index lie beside it");
        }
        tree.count.store(stored as u32, Ordering::Release);
        tree.directory.put(Directory::new(&partitions), guard);
        Ok(tree)
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self, guard: &Guard) -> usize {
        let partitions = (0..self.count.load(Ordering::Acquire)).filter_map(|n| {
            Some((self.partitions.get(n)?, self.partitions.get(n)?.version.get(guard)?))
        });
        let each = partitions.map(|(_, v)| {
            size_of::<Partition<N>>()
                + size_of::<Version<N>>()
                + v.run.bytes()
                + v.tail.as_ref().map_or(0, |tail| tail.bytes())
        });
        self.directory(guard).bytes() + each.sum::<usize>()
    }

    /// About how many different keys there are: of some partitions, the places where a key differs
    /// from the one before it, scaled up. What spans several partitions is seen too seldom.
    pub(crate) fn distinct(&self, guard: &Guard) -> f64 {
        const PARTITIONS: u32 = 16;
        let all = self.count.load(Ordering::Acquire);
        let looked = all.min(PARTITIONS);
        let mut changes = 0;
        for i in 0..looked {
            let number = (u64::from(i) * u64::from(all) / u64::from(looked)) as u32;
            let Some(version) = self.partitions.get(number).and_then(|p| p.version.get(guard))
            else {
                continue;
            };
            let run = version.entries();
            changes += (1..run.len()).filter(|at| !run.has_key(*at, &run.key(at - 1))).count();
        }
        1.0 + changes as f64 * f64::from(all) / f64::from(looked.max(1))
    }

    /// Entries, obsolete ones included.
    pub(crate) fn len(&self, guard: &Guard) -> u64 {
        (0..self.count.load(Ordering::Acquire))
            .filter_map(|n| self.partitions.get(n)?.version.get(guard))
            .map(|v| (v.run.len() + v.tail.as_ref().map_or(0, |tail| tail.len())) as u64)
            .sum()
    }
}

/// Calls `f` with the entries of one version from `from` to below `to`, in order, until it breaks.
fn for_each_within<const N: usize>(
    version: &Version<N>,
    from: &SortKey,
    to: Option<&SortKey>,
    descending: bool,
    f: &mut impl FnMut(&SortKey, Item<N>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let run = version.run.run();
    let first = run.lower(from, &[0; N]);
    let end = to.map_or(run.len(), |to| run.lower(to, &[0; N]));
    let added = version.tail.as_ref().map_or(Run::default(), |tail| tail.sorted());
    let bound = |key: &SortKey| added.lower(key, &[0; N]);
    let added = added.slice(bound(from)..to.map_or(added.len(), bound));
    if added.len() == 0 {
        for i in 0..end.saturating_sub(first) {
            let i = if descending { end - 1 - i } else { first + i };
            f(&run.key(i), run.item(i))?;
        }
        return ControlFlow::Continue(());
    }
    let all = run.slice(first..end).merged(&added, &[]);
    for i in 0..all.len() {
        let i = if descending { all.len() - 1 - i } else { i };
        f(&all.key(i), all.item(i))?;
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
#[path = "tree_tests.rs"]
mod tests;
