//! Rows of two plans that agree on nodes or values.
//!
//! One side, the *build* side, is read whole and kept in a table by its keys; the rows of the
//! other, the *input*, are then looked up one after the other. Both sides know a shared node by
//! the same slot. Without keys every row meets every other.
//!
//! ```text
//!  key ──► group ──► members[offsets[group]..offsets[group + 1]]: rows of the build side
//! ```
//!
//! Equality is that of `=`: null and NaN equal nothing, so rows that hold them are not kept; what
//! equals itself otherwise is found by the order of values, in which `1` and `1.0` are the same.
//!
//! Where the build side takes too much memory, both sides go to files, apart by a hash of their
//! keys, and the partitions are joined one after the other. One whose build side is still too large
//! is split again. Without keys there is nothing to split by.
//!
//! Cost: time, both sides and the rows that come out; memory, the build side, or a part of it.
//! Source: M. Kitsuregawa et al., "Application of hash to data base machine", 1983.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::{Value, VertexId, order};

use super::memory::Held;
use super::spill::{LEVELS_MAX, Part, Partitions};
use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::exec::eval::eval;
use crate::plan;
use crate::query_error::QueryError;

/// Bytes that a row takes in the table, beside its columns.
const ROW_BYTES: usize = 48;
/// The group of rows that can equal nothing.
const NONE: u32 = u32::MAX;

pub(crate) struct HashJoin<'p> {
    input: Side<'p>,
    build: Side<'p>,
    plan: &'p plan::HashJoin,
    table: Option<Table>,
    probed: Option<Probed>,
    /// Splits so far of what is joined now.
    level: u32,
    /// Partitions that wait: of the input, of the build side, and how often they were split.
    waiting: Vec<(Part, Part, u32)>,
}

/// Where the rows of a side come from.
enum Side<'p> {
    Plan(Source<'p>),
    Part(Part),
}

impl Side<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        match self {
            Self::Plan(source) => source.next(cx),
            Self::Part(part) => part.next(cx),
        }
    }
}

/// What the build side came to.
enum Built {
    Table(Table),
    /// It does not fit.
    Split(Partitions),
}

/// The rows of the build side, by key.
struct Table {
    rows: Batch,
    groups: Groups,
    offsets: Vec<u32>,
    members: Vec<u32>,
    #[expect(dead_code, reason = "given back with the table")]
    held: Held,
}

/// Numbers of the groups of rows that have the same keys.
enum Groups {
    /// There are no keys: all rows are one group.
    All,
    Vertices(HashMap<VertexId, u32, RandomState>),
    Values(HashMap<Value, u32, RandomState>),
    Rows(HashMap<Box<[Value]>, u32, RandomState>),
}

/// Rows of the input that are being looked up: which one, and up to where in its group.
struct Probed {
    rows: Batch,
    groups: Vec<u32>,
    row: usize,
    place: usize,
}

impl Groups {
    /// A table for keys like those in `keys`.
    fn for_keys(keys: &[Arc<Column>]) -> Self {
        match keys {
            [] => Self::All,
            [key] => match &**key {
                Column::Vertices(_) => Self::Vertices(HashMap::default()),
                _ => Self::Values(HashMap::default()),
            },
            _ => Self::Rows(HashMap::default()),
        }
    }

    /// The group of a row, a new one if its keys were not met; `NONE` if they equal nothing.
    fn assign(&mut self, keys: &[Arc<Column>], row: usize) -> u32 {
        fn add<K: Eq + std::hash::Hash>(all: &mut HashMap<K, u32, RandomState>, key: K) -> u32 {
            let next = all.len() as u32;
            *all.entry(key).or_insert(next)
        }
        let equals_itself = |value: &Value| order::cypher_eq(value, value) == Some(true);
        match self {
            Self::All => 0,
            Self::Vertices(all) => keys[0].vertex(row).map_or(NONE, |vertex| add(all, vertex)),
            Self::Values(all) => {
                let key = keys[0].get(row);
                if equals_itself(&key) { add(all, key) } else { NONE }
            }
            Self::Rows(all) => {
                let key: Box<[Value]> = keys.iter().map(|column| column.get(row)).collect();
                if key.iter().all(equals_itself) { add(all, key) } else { NONE }
            }
        }
    }

    /// The group of a row; `NONE` if there is none.
    fn find(&self, keys: &[Arc<Column>], row: usize, scratch: &mut Vec<Value>) -> u32 {
        let found = match self {
            Self::All => Some(&0),
            Self::Vertices(all) => keys[0].vertex(row).and_then(|vertex| all.get(&vertex)),
            Self::Values(all) => all.get(&keys[0].get(row)),
            Self::Rows(all) => {
                scratch.clear();
                scratch.extend(keys.iter().map(|column| column.get(row)));
                all.get(&scratch[..])
            }
        };
        found.copied().unwrap_or(NONE)
    }

    fn len(&self) -> usize {
        match self {
            Self::All => 1,
            Self::Vertices(all) => all.len(),
            Self::Values(all) => all.len(),
            Self::Rows(all) => all.len(),
        }
    }
}

impl Table {
    /// Of rows and the columns of their keys.
    fn new(rows: Batch, keys: &[Arc<Column>], held: Held) -> Self {
        let mut groups = Groups::for_keys(keys);
        let of_rows: Vec<u32> = (0..rows.rows()).map(|row| groups.assign(keys, row)).collect();
        let mut offsets = vec![0_u32; groups.len() + 1];
        for group in of_rows.iter().filter(|group| **group != NONE) {
            offsets[*group as usize + 1] += 1;
        }
        for group in 1..offsets.len() {
            offsets[group] += offsets[group - 1];
        }
        let mut next = offsets.clone();
        let mut members = vec![0; offsets[groups.len()] as usize];
        for (row, group) in (0..).zip(&of_rows).filter(|(_, group)| **group != NONE) {
            let place = &mut next[*group as usize];
            members[*place as usize] = row;
            *place += 1;
        }
        Self { rows, groups, offsets, members, held }
    }

    fn members_of(&self, group: u32) -> &[u32] {
        match group {
            NONE => &[],
            group => {
                let group = group as usize;
                &self.members[self.offsets[group] as usize..self.offsets[group + 1] as usize]
            }
        }
    }
}

impl<'p> HashJoin<'p> {
    pub(crate) fn new(input: Source<'p>, build: Source<'p>, plan: &'p plan::HashJoin) -> Self {
        let (input, build) = (Side::Plan(input), Side::Plan(build));
        Self { input, build, plan, table: None, probed: None, level: 0, waiting: Vec::new() }
    }

    /// The keys of rows of the input.
    fn input_keys(&self, rows: &Batch, cx: &mut Exec<'_>) -> Result<Vec<Arc<Column>>, QueryError> {
        self.plan.keys.iter().map(|(key, _)| eval(key, rows, cx)).collect()
    }

    /// The keys of rows of the build side.
    fn build_keys(&self, rows: &Batch, cx: &mut Exec<'_>) -> Result<Vec<Arc<Column>>, QueryError> {
        self.plan.keys.iter().map(|(_, key)| eval(key, rows, cx)).collect()
    }

    /// Reads the build side.
    fn read(&mut self, cx: &mut Exec<'_>) -> Result<Built, QueryError> {
        let (mut batches, mut held) = (Vec::new(), Held::of("HashJoin"));
        let splits =
            !self.plan.keys.is_empty() && self.level < LEVELS_MAX && cx.scratch().is_some();
        while let Some(batch) = self.build.next(cx)? {
            cx.check()?;
            let more = batch.bytes() + batch.rows() * ROW_BYTES;
            let is_one = batches.is_empty() && batch.rows() == 1;
            if splits && !is_one && held.exceeds(held.bytes() + more, cx) {
                batches.push(batch);
                drop(held);
                return self.split_build(batches, cx).map(Built::Split);
            }
            held.grow(more, cx)?;
            batches.push(batch);
        }
        let rows = Batch::concat(batches);
        let keys = match rows.rows() {
            0 => Vec::new(),
            _ => self.build_keys(&rows, cx)?,
        };
        Ok(Built::Table(Table::new(rows, &keys, held)))
    }

    /// Puts the build side into partitions: what was read, and what follows.
    fn split_build(
        &mut self,
        batches: Vec<Batch>,
        cx: &mut Exec<'_>,
    ) -> Result<Partitions, QueryError> {
        let mut partitions = Partitions::new("HashJoin", self.level, cx)?;
        for rows in batches {
            partitions.add(&self.build_keys(&rows, cx)?, &rows, cx)?;
        }
        while let Some(rows) = self.build.next(cx)? {
            partitions.add(&self.build_keys(&rows, cx)?, &rows, cx)?;
        }
        Ok(partitions)
    }

    /// Puts the input into partitions, `rows` first, to be joined with those of the build side.
    fn split_input(
        &mut self,
        rows: Batch,
        build: Partitions,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        let mut partitions = Partitions::new("HashJoin", self.level, cx)?;
        let mut next = Some(rows);
        while let Some(rows) = next {
            partitions.add(&self.input_keys(&rows, cx)?, &rows, cx)?;
            next = self.input.next(cx)?;
        }
        let (parts, level) = (partitions.into_parts().zip(build.into_parts()), self.level + 1);
        let some = parts.filter(|(input, build)| !input.is_empty() && !build.is_empty());
        self.waiting.extend(some.map(|(input, build)| (input, build, level)));
        Ok(())
    }

    /// Goes on with the next partition, if there is one.
    fn next_part(&mut self) -> bool {
        let Some((input, build, level)) = self.waiting.pop() else { return false };
        (self.input, self.build, self.level) = (Side::Part(input), Side::Part(build), level);
        true
    }

    /// Finds the groups of these rows.
    fn probe(&self, rows: Batch, table: &Table, cx: &mut Exec<'_>) -> Result<Probed, QueryError> {
        let keys = self.input_keys(&rows, cx)?;
        let mut scratch = Vec::new();
        let find = |row| table.groups.find(&keys, row, &mut scratch);
        let groups = (0..rows.rows()).map(find).collect();
        Ok(Probed { rows, groups, row: 0, place: 0 })
    }
}

impl Probed {
    /// The next pairs of rows, up to so many; none when all were found.
    fn pairs(&mut self, table: &Table) -> (Vec<u32>, Vec<u32>) {
        let (mut probed, mut built) = (Vec::new(), Vec::new());
        while self.row < self.groups.len() && built.len() < BATCH_ROWS {
            let members = &table.members_of(self.groups[self.row])[self.place..];
            let part = &members[..members.len().min(BATCH_ROWS - built.len())];
            built.extend_from_slice(part);
            probed.resize(built.len(), self.row as u32);
            if part.len() == members.len() {
                (self.row, self.place) = (self.row + 1, 0);
            } else {
                self.place += part.len();
            }
        }
        (probed, built)
    }

    /// The rows of both sides, side by side.
    fn joined(&self, table: &Table, probed: &[u32], built: &[u32]) -> Batch {
        let mut out = self.rows.gather(probed);
        for slot in table.rows.slots().filter(|slot| !self.rows.has(*slot)) {
            out.set(slot, table.rows.column(slot).gather(built));
        }
        out
    }
}

impl Operator for HashJoin<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            cx.check()?;
            if let (Some(probed), Some(table)) = (&mut self.probed, &self.table) {
                let (rows, built) = probed.pairs(table);
                if !built.is_empty() {
                    return Ok(Some(probed.joined(table, &rows, &built)));
                }
                self.probed = None;
            }
            let Some(rows) = self.input.next(cx)? else {
                // Nothing more is looked up in it.
                self.table = None;
                if self.next_part() {
                    continue;
                }
                return Ok(None);
            };
            // Only now: what the input writes is written before its first row, and seen here.
            let table = match self.table.take() {
                Some(table) => table,
                None => match self.read(cx)? {
                    Built::Table(table) => table,
                    Built::Split(build) => {
                        self.split_input(rows, build, cx)?;
                        continue;
                    }
                },
            };
            if table.members.is_empty() {
                if self.next_part() {
                    continue;
                }
                return Ok(None);
            }
            self.probed = Some(self.probe(rows, &table, cx)?);
            self.table = Some(table);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: &[Value]) -> Arc<Column> {
        Arc::new(Column::of(values.to_vec()))
    }

    #[test]
    fn keys_are_equal_as_in_a_condition() {
        let nan = Value::Float(f64::NAN);
        let list = |v: Value| Value::list([v]);
        let build = values(&[
            1.into(),
            Value::Null,
            nan.clone(),
            1.0.into(),
            "x".into(),
            list(Value::Null),
            list(2.into()),
        ]);
        let table = Table::new(Batch::empty(7), std::slice::from_ref(&build), Held::of("HashJoin"));
        let probe = values(&[
            1.0.into(),
            Value::Null,
            nan,
            "y".into(),
            list(Value::Null),
            list(2.0.into()),
        ]);
        let found = |row| {
            let keys = std::slice::from_ref(&probe);
            table.members_of(table.groups.find(keys, row, &mut Vec::new())).to_vec()
        };
        let found: Vec<Vec<u32>> = (0..6).map(found).collect();
        assert_eq!(found, [vec![0, 3], vec![], vec![], vec![], vec![], vec![6]]);
    }

    #[test]
    fn without_keys_all_rows_meet_in_parts() {
        let table = Table::new(Batch::empty(700), &[], Held::of("HashJoin"));
        let (rows, groups) = (Batch::empty(3), vec![0; 3]);
        let mut probed = Probed { rows, groups, row: 0, place: 0 };
        let mut pairs = Vec::new();
        loop {
            let (rows, built) = probed.pairs(&table);
            if built.is_empty() {
                break;
            }
            assert!(built.len() <= BATCH_ROWS);
            pairs.extend(rows.into_iter().zip(built));
        }
        let want: Vec<(u32, u32)> = (0..3).flat_map(|a| (0..700).map(move |b| (a, b))).collect();
        assert_eq!(pairs, want);
    }
}
