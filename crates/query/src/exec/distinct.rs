//! `DISTINCT`.
//!
//! Rows go on as they are met first. Where their keys take too much memory, the rows that follow go
//! to a file, apart by a hash of their keys, and are looked at partition by partition in the end.

use std::sync::Arc;

use super::group::Groups;
use super::memory::Held;
use super::spill::{LEVELS_MAX, PARTITIONS, Part, Partitions};
use super::{Exec, Operator, Source};
use crate::batch::{Batch, Column, Slot};
use crate::query_error::QueryError;

/// Each row once, by some of its columns.
pub(crate) struct Distinct<'p> {
    input: Source<'p>,
    slots: &'p [Slot],
    /// The rows of a partition that are looked at, once there are partitions.
    part: Option<Part>,
    seen: Groups,
    /// Rows that were met first among those looked at.
    met: usize,
    held: Held,
    level: u32,
    /// Rows are not looked at now: keys seen, and rows, by partition.
    spilled: Option<(Vec<Seen>, Partitions)>,
    /// Partitions that wait.
    waiting: Vec<(Seen, Part, u32)>,
    numbers: Vec<u32>,
}

/// Keys seen before, column by column.
struct Seen {
    keys: Vec<Column>,
    held: Held,
}

impl<'p> Distinct<'p> {
    pub(crate) fn new(input: Source<'p>, slots: &'p [Slot]) -> Self {
        Self {
            input,
            slots,
            part: None,
            seen: Groups::new(slots.len()),
            met: 0,
            held: Held::of("Distinct"),
            level: 0,
            spilled: None,
            waiting: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Of the rows those that were not met before.
    fn fresh(&mut self, rows: &Batch, keys: &[Arc<Column>]) -> Result<Vec<u32>, QueryError> {
        self.seen.assign(keys, rows.rows(), &mut self.numbers)?;
        let mut fresh = Vec::new();
        for (row, number) in (0..).zip(&self.numbers) {
            if *number as usize == self.met {
                self.met += 1;
                fresh.push(row);
            }
        }
        Ok(fresh)
    }

    /// Puts what was seen into partitions; the rows that follow go there, too.
    fn spill(&mut self, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let parts = self.seen.partitions(self.level);
        let seen = std::mem::replace(&mut self.seen, Groups::new(self.slots.len()));
        let mut keys = seen.into_columns();
        self.held.clear();
        let mut all = Vec::with_capacity(PARTITIONS);
        for part in &parts {
            let keys = Groups::take(&mut keys, part);
            let mut held = Held::of("Distinct");
            held.grow(Groups::bytes_of(&keys), cx)?;
            all.push(Seen { keys, held });
        }
        self.spilled = Some((all, Partitions::new("Distinct", self.level, cx)?));
        Ok(())
    }

    /// Begins with the next partition; whether there is one.
    fn next_part(&mut self, cx: &mut Exec<'_>) -> Result<bool, QueryError> {
        if let Some((seen, partitions)) = self.spilled.take() {
            let level = self.level + 1;
            let parts = seen.into_iter().zip(partitions.into_parts());
            self.waiting.extend(parts.map(|(seen, part)| (seen, part, level)));
        }
        let Some((seen, part, level)) = self.waiting.pop() else { return Ok(false) };
        let Seen { keys, held } = seen;
        (self.part, self.level) = (Some(part), level);
        self.seen = Groups::of(keys);
        self.met = self.seen.len();
        drop(held);
        self.held.set(self.seen.bytes(), cx)?;
        Ok(true)
    }
}

impl Operator for Distinct<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            let rows = match &mut self.part {
                None => self.input.next(cx)?,
                Some(part) => part.next(cx)?,
            };
            let Some(rows) = rows else {
                if self.next_part(cx)? {
                    continue;
                }
                self.held.clear();
                return Ok(None);
            };
            cx.check()?;
            let keys: Vec<_> = self.slots.iter().map(|slot| rows.column(*slot).clone()).collect();
            if let Some((_, partitions)) = &mut self.spilled {
                partitions.add(&keys, &rows, cx)?;
                continue;
            }
            let fresh = self.fresh(&rows, &keys)?;
            let bytes = self.seen.bytes();
            let spills = self.held.exceeds(bytes, cx) && self.met > 1 && self.level < LEVELS_MAX;
            if spills && cx.scratch().is_some() {
                self.spill(cx)?;
            } else {
                self.held.set(bytes, cx)?;
            }
            if fresh.len() == rows.rows() {
                return Ok(Some(rows));
            }
            if !fresh.is_empty() {
                return Ok(Some(rows.gather(&fresh)));
            }
        }
    }
}
