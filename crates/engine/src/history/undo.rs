//! Undo entries of adjacency: what settling folded that a retained timestamp tells apart.
//!
//! ```text
//!  UndoTable ── one UndoList per segment ── blocks, oldest first, each immutable
//!
//!  block, as in memory so in checkpoints (integers are varints, runs as in packed.rs)
//!   entries n · first ts · last ts - first ts
//!   run n   places within the segment, each less the one before
//!   run n   neighbours
//!   run n   (ts - first ts) * 2 + (1 for a delete)
//!   per column of the table: run n
//! ```
//!
//! Entries of a block stand by list, within a list in commit order. A new block takes the last ones
//! into it while those are short, so that a list is few blocks, each packed well.
//!
//! Cost: 5 to 7 bytes per entry of a simple type in a graph of a million vertices; some 20 ns to
//! write one, twice that with the merging.

use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;
use telar_graph::codec::{get_varint, put_varint};

use crate::adjacency::list::List;
use crate::adjacency::tail::{Block, DELTA_MAX};
use crate::adjacency::{COLUMNS_MAX, Entry, SEGMENT_VERTICES};
use crate::packed::{Run, get_run, put_run};
use crate::table::GrowArray;

/// A block this long is left as it is.
const BLOCK_ENTRIES: usize = 1024;
/// Most entries of a block.
const BLOCK_ENTRIES_MAX: usize = 1 << 16;

const CHECKED: &str = "INVARIANT: packed here, or checked when loaded";

/// An insert or delete that was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Undo {
    pub(crate) ts: u64,
    /// Place of the list in its segment.
    pub(crate) local: u32,
    pub(crate) delete: bool,
    pub(crate) entry: Entry,
}

/// Appends what the first `seen` entries of the list's tail did after `floor`, in commit order.
pub(crate) fn collect(
    list: &List<'_>,
    local: u32,
    seen: usize,
    base_ts: u64,
    floor: u64,
    out: &mut Vec<Undo>,
) {
    let Some(tail) = list.tail else { return };
    let meta = tail.block.meta(seen);
    for (i, meta) in meta.iter().enumerate() {
        let ts = base_ts + u64::from(meta & DELTA_MAX);
        if ts > floor {
            let entry = tail.block.entry(i, list.kind.columns());
            let delete = Block::is_delete(*meta);
            let entry = if delete { list.entry(entry.nbr as usize) } else { entry };
            out.push(Undo { ts, local, delete, entry });
        }
    }
}

/// A packed run of undo entries.
#[derive(Debug)]
pub(crate) struct UndoBlock {
    entries: usize,
    pub(crate) last_ts: u64,
    bytes: Box<[u8]>,
}

impl UndoBlock {
    /// Packs entries that stand by list.
    fn pack(entries: &[Undo], columns: usize) -> Self {
        let first_ts = entries.iter().map(|e| e.ts).min().unwrap_or(0);
        let last_ts = entries.iter().map(|e| e.ts).max().unwrap_or(0);
        let mut bytes = Vec::new();
        put_varint(entries.len() as u64, &mut bytes);
        put_varint(first_ts, &mut bytes);
        put_varint(last_ts - first_ts, &mut bytes);
        let mut run = Vec::with_capacity(entries.len());
        let mut put = |value: &mut dyn FnMut(&Undo) -> i64| {
            run.clear();
            run.extend(entries.iter().map(value));
            put_run(&run, &mut bytes);
        };
        let mut before = 0;
        put(&mut |e| {
            let step = e.local - before;
            before = e.local;
            i64::from(step)
        });
        put(&mut |e| i64::from(e.entry.nbr));
        put(&mut |e| ((e.ts - first_ts) << 1 | u64::from(e.delete)).cast_signed());
        for c in 0..columns {
            put(&mut |e| i64::from(e.entry.columns[c]));
        }
        Self { entries: entries.len(), last_ts, bytes: bytes.into_boxed_slice() }
    }

    /// Takes a block off `bytes`, checking all of it.
    pub(crate) fn take(bytes: &mut &[u8], columns: usize) -> Result<Self, &'static str> {
        let all = *bytes;
        let entries = unpack(bytes, columns)?;
        let mut newest = [0; SEGMENT_VERTICES];
        let mut before = 0;
        for e in &entries {
            if e.local < before {
                return Err("undo entries are not in order");
            }
            before = e.local;
            let newest = &mut newest[e.local as usize];
            if e.ts < *newest {
                return Err("undo entries of a list are not in commit order");
            }
            *newest = e.ts;
        }
        let last_ts = entries.iter().map(|e| e.ts).max().unwrap_or(0);
        let bytes = all[..all.len() - bytes.len()].into();
        Ok(Self { entries: entries.len(), last_ts, bytes })
    }

    /// Packs entries that stand by list.
    pub(crate) fn pack_all(entries: &[Undo], columns: usize) -> Vec<Self> {
        entries.chunks(BLOCK_ENTRIES_MAX).map(|part| Self::pack(part, columns)).collect()
    }

    /// The entries, as they were packed.
    pub(crate) fn entries(&self, columns: usize) -> Vec<Undo> {
        unpack(&mut &*self.bytes, columns).expect(CHECKED)
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// Calls `f` with place, entry, and whether it is a delete, of each entry after `ts`.
    ///
    /// PERF: bench history: nothing is kept per entry, nor checked again.
    #[inline(always)]
    pub(crate) fn for_each_after(
        &self,
        ts: u64,
        columns: usize,
        mut f: impl FnMut(u32, Entry, bool),
    ) {
        let mut bytes = &*self.bytes;
        let head = [(); 3].map(|()| get_varint(&mut bytes).expect(CHECKED));
        let (n, first_ts) = (self.entries, head[1]);
        let mut run = || Run::take(&mut bytes, n).expect(CHECKED);
        let (places, nbrs, words) = (run(), run(), run());
        let columns: SmallVec<[Run<'_>; COLUMNS_MAX]> = (0..columns).map(|_| run()).collect();
        let first = ts.checked_sub(first_ts).map_or(0, |age| (age + 1) << 1);
        let mut local = 0;
        for i in 0..n {
            local += places.get(i) as u32;
            let word = words.get(i).cast_unsigned();
            if word < first {
                continue;
            }
            let mut entry = Entry::simple(nbrs.get(i) as u32);
            for (word, column) in entry.columns.iter_mut().zip(&columns) {
                *word = column.get(i) as u32;
            }
            f(local, entry, word & 1 == 1);
        }
    }

    /// The packed bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn unpack(bytes: &mut &[u8], columns: usize) -> Result<Vec<Undo>, &'static str> {
    let mut varint = || get_varint(bytes).map_err(|_| "a block of undo entries ends early");
    let (n, first_ts, range) = (varint()?, varint()?, varint()?);
    let n = usize::try_from(n).ok().filter(|n| (1..=BLOCK_ENTRIES_MAX).contains(n));
    let n = n.ok_or("a block of undo entries has an impossible length")?;
    let mut out: Vec<Undo> = Vec::new();
    let (mut local, mut fault) = (0u64, None);
    let blank = Undo { ts: 0, local: 0, delete: false, entry: Entry::simple(0) };
    get_run(bytes, n, |step| {
        local = local.saturating_add(u64::try_from(step).unwrap_or(u64::MAX));
        if local >= SEGMENT_VERTICES as u64 {
            fault = Some("an undo entry lies outside its segment");
        }
        out.push(Undo { local: local as u32, ..blank });
    })?;
    let mut at = out.iter_mut();
    get_run(bytes, n, |nbr| {
        if u32::try_from(nbr).is_err() {
            fault = Some("an undo entry leads to no vertex");
        }
        if let Some(e) = at.next() {
            e.entry.nbr = nbr as u32;
        }
    })?;
    let mut at = out.iter_mut();
    get_run(bytes, n, |word| {
        let word = word.cast_unsigned();
        if word >> 1 > range {
            fault = Some("an undo entry is newer than its block");
        }
        if let Some(e) = at.next() {
            (e.ts, e.delete) = (first_ts.saturating_add(word >> 1), word & 1 == 1);
        }
    })?;
    for c in 0..columns.min(COLUMNS_MAX) {
        let mut at = out.iter_mut();
        get_run(bytes, n, |word| {
            if u32::try_from(word).is_err() {
                fault = Some("a column of undo entries holds more than 32 bits");
            }
            if let Some(e) = at.next() {
                e.entry.columns[c] = word as u32;
            }
        })?;
    }
    match fault {
        Some(what) => Err(what),
        None => Ok(out),
    }
}

/// The undo entries of one segment.
#[derive(Debug, Default)]
pub(crate) struct UndoList {
    blocks: Vec<Arc<UndoBlock>>,
}

impl UndoList {
    /// Adds entries that are newer than all here of the same edges.
    fn push(&mut self, mut entries: Vec<Undo>, floor: u64, columns: usize) {
        self.prune(floor);
        while entries.len() < BLOCK_ENTRIES
            && let Some(last) = self.blocks.last()
            && last.entries < BLOCK_ENTRIES
            && last.entries <= 2 * entries.len()
        {
            let mut older = last.entries(columns);
            older.retain(|e| e.ts > floor);
            older.append(&mut entries);
            entries = older;
            self.blocks.pop();
        }
        // Chunks of a hub settle one by one, so that what comes later may be older. Stable: what one
        // commit did to an edge stays in its order.
        if !entries.is_sorted_by_key(|e| (e.local, e.ts)) {
            entries.sort_by_key(|e| (e.local, e.ts));
        }
        self.blocks.extend(UndoBlock::pack_all(&entries, columns).into_iter().map(Arc::new));
    }

    fn prune(&mut self, floor: u64) {
        self.blocks.retain(|b| b.last_ts > floor);
        if self.blocks.is_empty() {
            self.blocks = Vec::new();
        }
    }
}

/// The undo entries of a table, by segment. Empty, and without memory, where no history is kept.
#[derive(Debug, Default)]
pub(crate) struct UndoTable {
    segments: GrowArray<Mutex<UndoList>>,
}

/// Memory and number of undo entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UndoUse {
    pub(crate) entries: u64,
    pub(crate) bytes: usize,
}

impl UndoTable {
    /// Adds entries of one segment, in commit order within each list or chunk of a hub, and newer
    /// than those added before of the same edges. They may be read at once.
    pub(crate) fn push(&self, segment: u32, entries: Vec<Undo>, floor: u64, columns: usize) {
        if !entries.is_empty() {
            self.segments.get_or_grow(segment).lock().push(entries, floor, columns);
        }
    }

    /// Adds blocks from a checkpoint, while nobody reads.
    pub(crate) fn load(&self, segment: u32, blocks: Vec<UndoBlock>) {
        let mut list = self.segments.get_or_grow(segment).lock();
        list.blocks = blocks.into_iter().map(Arc::new).collect();
    }

    /// The blocks of a segment with something after `ts`.
    pub(crate) fn blocks_after(&self, segment: u32, ts: u64) -> Vec<Arc<UndoBlock>> {
        let Some(list) = self.segments.get(segment) else { return Vec::new() };
        let list = list.lock();
        list.blocks.iter().filter(|b| b.last_ts > ts).map(Arc::clone).collect()
    }

    /// Drops what lies at or below the floor, in whole blocks.
    pub(crate) fn prune(&self, floor: u64) {
        for (_, list) in self.segments.iter() {
            list.lock().prune(floor);
        }
    }

    /// What is held.
    pub(crate) fn used(&self) -> UndoUse {
        let mut used = UndoUse::default();
        for (_, list) in self.segments.iter() {
            let list = list.lock();
            used.bytes += size_of::<Mutex<UndoList>>();
            used.bytes += list.blocks.capacity() * size_of::<Arc<UndoBlock>>();
            for block in &list.blocks {
                // With the two counters of the `Arc`.
                used.bytes += size_of::<UndoBlock>() + 16 + block.bytes.len();
                used.entries += block.entries as u64;
            }
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo(local: u32, ts: u64, nbr: u32, delete: bool) -> Undo {
        Undo { ts, local, delete, entry: Entry::timed(nbr, nbr ^ 5, -i64::from(nbr)) }
    }

    /// The entries of a segment after `ts`, by list, in commit order within a list.
    fn after(table: &UndoTable, segment: u32, ts: u64, columns: usize) -> Vec<Undo> {
        let mut found: Vec<Undo> = Vec::new();
        for block in table.blocks_after(segment, ts) {
            let old: Vec<Undo> = block.entries(columns).into_iter().filter(|e| e.ts > ts).collect();
            let mut seen = Vec::new();
            block.for_each_after(ts, columns, |local, entry, delete| {
                seen.push((local, entry, delete));
            });
            let told: Vec<_> = old.iter().map(|e| (e.local, e.entry, e.delete)).collect();
            assert_eq!(seen, told);
            found.extend(old);
        }
        found.sort_by_key(|e| e.local);
        found
    }

    #[test]
    fn packing_gives_back_what_went_in() {
        let entries: Vec<Undo> = (0..3000u32)
            .map(|i| undo(i / 3, 70_000 + u64::from(i % 3) * 900, i * 77, i % 5 == 0))
            .collect();
        let block = UndoBlock::pack(&entries, 3);
        assert_eq!(block.entries(3), entries);
        let mut bytes = block.bytes();
        let again = UndoBlock::take(&mut bytes, 3).unwrap();
        assert!(bytes.is_empty());
        assert_eq!((again.last_ts, again.entries), (71_800, 3000));
        for end in 0..block.bytes().len() {
            assert!(UndoBlock::take(&mut &block.bytes()[..end], 3).is_err());
        }
    }

    #[test]
    fn entries_of_a_hub_whose_chunks_settled_one_after_the_other_come_back() {
        let table = UndoTable::default();
        let chunk =
            |first: u64, nbr: u32| (0..50).map(move |i| undo(7, first + 2 * i, nbr, i % 2 == 1));
        table.push(3, chunk(100, 1).collect(), 0, 3);
        table.push(3, chunk(51, 9000).chain([undo(8, 40, 3, false)]).collect(), 0, 3);
        table.push(3, chunk(200, 1).chain(chunk(151, 9000)).collect(), 0, 3);
        let mut told = Vec::new();
        for block in table.blocks_after(3, 0) {
            let again = UndoBlock::take(&mut block.bytes(), 3).unwrap();
            told.extend(again.entries(3));
        }
        let of_edge = |nbr| told.iter().filter(move |e| e.entry.nbr == nbr).map(|e| e.ts);
        assert!(of_edge(1).eq((100..200).chain(200..300).step_by(2)));
        assert!(of_edge(9000).eq((51..151).chain(151..251).step_by(2)));
        assert_eq!(told.len(), 201);
    }

    #[test]
    fn short_blocks_are_merged_and_old_ones_dropped() {
        let table = UndoTable::default();
        let mut all = Vec::new();
        for ts in 1..=2000u64 {
            let entry = undo((ts * 7 % 13) as u32, ts, ts as u32, ts % 4 == 0);
            table.push(3, vec![entry], 0, 3);
            all.push(entry);
        }
        assert!(table.blocks_after(3, 0).len() < 16, "merged");
        let expect = |after: u64| {
            let mut found: Vec<Undo> = all.iter().filter(|e| e.ts > after).copied().collect();
            found.sort_by_key(|e| e.local);
            found
        };
        for ts in [0, 1, 999, 1999, 2000] {
            assert_eq!(after(&table, 3, ts, 3), expect(ts));
        }
        table.prune(1990);
        assert_eq!(after(&table, 3, 1990, 3), expect(1990));
        table.prune(2000);
        assert_eq!(table.used().entries, 0);
        assert!(after(&table, 4, 0, 3).is_empty());
    }
}
