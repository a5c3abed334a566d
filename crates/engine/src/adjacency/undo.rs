//! Undo entries of adjacency: what settling folded that a retained timestamp tells apart.
//!
//! ```text
//!  UndoTable ── one UndoList per segment ── blocks (undo_block.rs), oldest first, each immutable
//! ```
//!
//! Of one edge, entries come in the order of commits, from block to block and within each. A new
//! block takes the last ones into it while those are short, so that a list is few blocks, each
//! packed well.
//!
//! Cost: bench history.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Entry;
use super::list::List;
use super::tail::{Block, DELTA_MAX};
use super::undo_block::UndoBlock;
use crate::mapped::lazy::Lazy;
use crate::table::SparseArray;

/// A block this long is left as it is.
const BLOCK_ENTRIES: usize = 1024;
/// A block is packed anew once one in so many of its entries, by their timestamps, is not retained.
const STALE_SHARE: u64 = 8;

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

/// The undo entries of one segment.
#[derive(Debug, Default)]
pub(crate) struct UndoList {
    blocks: Vec<Arc<UndoBlock>>,
    /// Whether what the store has is among them.
    is_read: bool,
}

impl UndoList {
    /// Adds entries that are newer than all here of the same edges.
    fn push(&mut self, mut entries: Vec<Undo>, floor: u64, columns: usize) {
        self.blocks.retain(|b| b.last_ts > floor);
        while entries.len() < BLOCK_ENTRIES
            && let Some(last) = self.blocks.last()
            && last.len() < BLOCK_ENTRIES
            && last.len() <= 2 * entries.len()
        {
            // Older ones first: what one commit did to an edge stays in its order.
            let mut older = last.entries(columns);
            older.retain(|e| e.ts > floor);
            older.append(&mut entries);
            entries = older;
            self.blocks.pop();
        }
        self.blocks.extend(UndoBlock::pack_all(entries, columns).into_iter().map(Arc::new));
    }

    /// Drops what lies at or below the floor: whole blocks, and parts of blocks that lost a share.
    fn prune(&mut self, floor: u64, columns: usize) {
        self.blocks.retain(|b| b.last_ts > floor);
        let is_stale = |b: &Arc<UndoBlock>| {
            let (gone, all) = (floor.saturating_sub(b.first_ts), b.last_ts - b.first_ts);
            gone.saturating_mul(STALE_SHARE) > all
        };
        if self.blocks.iter().any(is_stale) {
            let mut blocks = Vec::with_capacity(self.blocks.len());
            for block in self.blocks.drain(..) {
                if is_stale(&block) {
                    let mut left = block.entries(columns);
                    left.retain(|e| e.ts > floor);
                    blocks.extend(UndoBlock::pack_all(left, columns).into_iter().map(Arc::new));
                } else {
                    blocks.push(block);
                }
            }
            self.blocks = blocks;
        }
        if self.blocks.is_empty() {
            self.blocks = Vec::new();
        }
    }
}

/// The undo entries of a table, by segment. Empty, and without memory, where no history is kept.
#[derive(Debug, Default)]
pub(crate) struct UndoTable {
    segments: SparseArray<Mutex<UndoList>>,
    pub(crate) stored: Lazy<Vec<UndoBlock>>,
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

    /// The blocks of a segment with something after `ts`, those in the store included.
    pub(crate) fn blocks_after(&self, segment: u32, ts: u64) -> Vec<Arc<UndoBlock>> {
        if self.segments.get(segment).is_none() && !self.stored.is_attached() {
            return Vec::new();
        }
        let mut list = self.segments.get_or_grow(segment).lock();
        let UndoList { blocks, is_read } = &mut *list;
        self.stored.read(segment, is_read, |older| {
            blocks.splice(..0, older.into_iter().map(Arc::new));
        });
        blocks.iter().filter(|b| b.last_ts > ts).map(Arc::clone).collect()
    }

    /// Drops what lies at or below the floor, by and by.
    pub(crate) fn prune(&self, floor: u64, columns: usize) {
        for (_, list) in self.segments.iter() {
            list.lock().prune(floor, columns);
        }
    }

    /// What is in memory.
    pub(crate) fn used(&self) -> UndoUse {
        let mut used = UndoUse::default();
        for (_, list) in self.segments.iter() {
            let list = list.lock();
            used.bytes += size_of::<Mutex<UndoList>>();
            used.bytes += list.blocks.capacity() * size_of::<Arc<UndoBlock>>();
            for block in &list.blocks {
                // With the two counters of the `Arc`.
                used.bytes += size_of::<UndoBlock>() + 16 + block.bytes().len();
                used.entries += block.len() as u64;
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
        let blocks = table.blocks_after(segment, ts);
        let all = blocks.iter().flat_map(|b| b.entries(columns));
        let mut found: Vec<Undo> = all.filter(|e| e.ts > ts).collect();
        found.sort_by_key(|e| (e.local, e.ts));
        found
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
            told.extend(again.iter().flat_map(|b| b.entries(3)));
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
            found.sort_by_key(|e| (e.local, e.ts));
            found
        };
        for ts in [0, 1, 999, 1999, 2000] {
            assert_eq!(after(&table, 3, ts, 3), expect(ts));
        }
        table.prune(1000, 3);
        assert_eq!(after(&table, 3, 1000, 3), expect(1000));
        let used = table.used().entries;
        assert!((1000..=1000 + 1000 / (STALE_SHARE - 1)).contains(&used), "{used} are left");
        table.prune(1990, 3);
        assert_eq!(after(&table, 3, 1990, 3), expect(1990));
        table.prune(2000, 3);
        assert_eq!(table.used().entries, 0);
        assert!(after(&table, 4, 0, 3).is_empty());
    }
}
