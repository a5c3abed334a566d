//! The runs of a written list, one after the other.
//!
//! A loop over runs, and not a callback per run, so that readers have a single place where they
//! hand out neighbours: the reader's own loop is inlined there, once, and keeps its state in
//! registers. PERF: `telar bench kernel`, bfs_time, scan_random_order.

use std::sync::Arc;

use crossbeam_epoch::Guard;

use super::hub::{Chunk, Hub};
use super::list::Visible;
use super::mask::live_ids;

/// What is left of a list after its first run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rest<'g> {
    tail: &'g [u32],
    chunks: &'g [Arc<Chunk>],
}

impl<'g> Rest<'g> {
    /// Nothing.
    pub(crate) const NONE: Self = Self { tail: &[], chunks: &[] };

    /// The first run of a list, and what is left then. Where entries are deleted, the others are
    /// gathered in `scratch`.
    #[inline(always)]
    pub(crate) fn of_list<'s>(
        base: &'g [u32],
        tail: Visible<'g>,
        scratch: &'s mut Vec<u32>,
    ) -> (&'s [u32], Self)
    where
        'g: 's,
    {
        if tail.has_deletes {
            live_ids(base, tail, scratch);
            return (scratch, Self::NONE);
        }
        (base, Self { tail: tail.block.dst(tail.len), chunks: &[] })
    }

    /// The first run of a hub, and what is left then.
    pub(crate) fn of_hub(hub: &'g Hub, guard: &'g Guard) -> (&'g [u32], Self) {
        (&[], Self { tail: &[], chunks: hub.chunks(guard) })
    }

    /// Takes the next run, as seen at `read_ts`.
    #[inline(always)]
    pub(crate) fn next<'s>(
        &mut self,
        read_ts: u64,
        guard: &'g Guard,
        scratch: &'s mut Vec<u32>,
    ) -> Option<&'s [u32]>
    where
        'g: 's,
    {
        if !self.tail.is_empty() {
            return Some(std::mem::take(&mut self.tail));
        }
        if self.chunks.is_empty() {
            return None;
        }
        Some(self.next_chunk(read_ts, guard, scratch))
    }

    #[cold]
    fn next_chunk<'s>(
        &mut self,
        read_ts: u64,
        guard: &'g Guard,
        scratch: &'s mut Vec<u32>,
    ) -> &'s [u32]
    where
        'g: 's,
    {
        let Some((chunk, left)) = self.chunks.split_first() else { return &[] };
        let version = chunk.version(guard);
        let tail = Visible::at(version.block(), version.delta(read_ts));
        let (run, rest) = Self::of_list(version.neighbours(), tail, scratch);
        *self = Self { chunks: left, ..rest };
        run
    }
}
