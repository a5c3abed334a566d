//! Edges of one type, sorted by source and destination, in bounded memory.
//!
//! Edges collect in memory until they take more than the limit; then they are sorted and written to
//! a file as a *run*. At the end the runs are merged, or, where all fitted, the one in memory is
//! used as it is.
//!
//! ```text
//!  run = blocks until the end of the file
//!  block = rows u32 · length u32 · rows x (source u32, destination u32) · columns as values of
//!          telar_graph::codec, column by column
//! ```
//!
//! Edges of one pair keep the order in which they came: rows are numbered within a run, and a
//! merge takes the earlier run first.
//! Cost: in memory, a counting sort by source and a sort of each list; 20 bytes per edge beside
//! those of the caller.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use telar_graph::codec;

use super::column::Column;
use super::lists::{Bases, Numbering, OutLists};
use crate::adjacency::SEGMENT_VERTICES;
use crate::column::PropertyChunk;
use crate::error::Error;
use crate::io::folder;

/// Rows of a block: what is read at once of each run while merging.
const BLOCK_ROWS: usize = 4096;

/// Edges of one type on their way in.
#[derive(Debug)]
pub(super) struct EdgeSorter {
    ends: Vec<(u32, u32)>,
    columns: Vec<Column>,
    runs: Vec<PathBuf>,
    /// Edges in runs.
    spilled: u64,
    number: usize,
}

/// What sorting makes of the edges of a type.
#[derive(Debug)]
pub(super) struct Sorted {
    /// Out lists.
    pub(super) out: Bases,
    /// One past the last ordinal.
    pub(super) next_ordinal: u32,
    /// Edges of a simple type that came more than once.
    pub(super) duplicates: u64,
    /// Column by column, the chunks from the segment of the first ordinal on.
    pub(super) chunks: Vec<Vec<PropertyChunk>>,
    /// Values in the columns.
    pub(super) values: u64,
}

impl EdgeSorter {
    pub(super) fn new(number: usize) -> Self {
        Self { ends: Vec::new(), columns: Vec::new(), runs: Vec::new(), spilled: 0, number }
    }

    /// Adds edges with their columns, by number; a number not seen before is a new column.
    pub(super) fn add(&mut self, mut ends: Vec<(u32, u32)>, columns: Vec<(usize, Column)>) {
        let rows = self.ends.len();
        for (number, column) in columns {
            if number >= self.columns.len() {
                self.columns.resize_with(number + 1, Column::new);
            }
            let to = &mut self.columns[number];
            to.pad(rows);
            to.take(column);
        }
        if self.ends.is_empty() {
            self.ends = ends;
        } else {
            self.ends.append(&mut ends);
        }
        let rows = self.ends.len();
        self.columns.iter_mut().for_each(|c| c.pad(rows));
    }

    /// Edges so far.
    pub(super) fn len(&self) -> u64 {
        self.spilled + self.ends.len() as u64
    }

    /// Edges in runs.
    pub(super) fn spilled(&self) -> u64 {
        self.spilled
    }

    /// Takes the edges out.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.number))
    }

    /// Bytes this takes when it is sorted.
    pub(super) fn bytes(&self) -> usize {
        self.ends.len() * (8 + 12) + self.columns.iter().map(Column::bytes).sum::<usize>()
    }

    /// Largest vertex number among the edges in memory.
    fn vertex_bound(&self) -> usize {
        let largest = self.ends.iter().map(|(u, _)| *u).max();
        largest.map_or(0, |v| v as usize + 1)
    }

    /// Rows in sorted order: for each source, its (destination, row) pairs.
    fn order(&self) -> (Vec<u32>, Vec<u64>) {
        let bound = self.vertex_bound();
        let mut places = vec![0u32; bound + 1];
        self.ends.iter().for_each(|(u, _)| places[*u as usize] += 1);
        let mut sum = 0;
        for count in &mut places {
            sum += std::mem::replace(count, sum);
        }
        let mut order = vec![0u64; self.ends.len()];
        for (row, (u, v)) in self.ends.iter().enumerate() {
            let place = &mut places[*u as usize];
            order[*place as usize] = u64::from(*v) << 32 | row as u64;
            *place += 1;
        }
        // Each place is now the end of its list.
        let mut start = 0;
        for end in &places[..bound] {
            order[start..*end as usize].sort_unstable();
            start = *end as usize;
        }
        (places, order)
    }

    /// Writes what is in memory to a run in `dir`.
    pub(super) fn spill(&mut self, dir: &Path) -> Result<(), Error> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let path = dir.join(format!("run-{}-{}", self.number, self.runs.len()));
        let write = || -> std::io::Result<()> {
            if !dir.is_dir() {
                folder::make(dir)?;
            }
            let (ends, order) = self.order();
            let mut out = BufWriter::with_capacity(1 << 18, folder::create(&path)?);
            let (mut block, mut source, mut at) = (Vec::new(), 0, 0usize);
            for rows in order.chunks(BLOCK_ROWS) {
                block.clear();
                for key in rows {
                    while ends[source] as usize <= at {
                        source += 1;
                    }
                    block.extend_from_slice(&(source as u32).to_le_bytes());
                    block.extend_from_slice(&((key >> 32) as u32).to_le_bytes());
                    at += 1;
                }
                for column in &self.columns {
                    for key in rows {
                        let value = column.get(*key as u32 as usize);
                        codec::encode(&value, &mut block).map_err(std::io::Error::other)?;
                    }
                }
                out.write_all(&(rows.len() as u32).to_le_bytes())?;
                out.write_all(&(block.len() as u32).to_le_bytes())?;
                out.write_all(&block)?;
            }
            out.into_inner()?;
            Ok(())
        };
        write().map_err(Error::file("cannot write sorted edges to", &path))?;
        self.runs.push(path);
        self.spilled += self.ends.len() as u64;
        self.ends = Vec::new();
        self.columns.iter_mut().for_each(Column::clear);
        crate::failpoint!("bulk::spilled", super::injected);
        Ok(())
    }

    /// Sorts all edges into out lists, with ordinals from `first_ordinal` on where they have them.
    pub(super) fn sorted(
        mut self,
        numbering: Numbering,
        first_ordinal: u32,
        dir: &Path,
    ) -> Result<Sorted, Error> {
        if self.runs.is_empty() {
            return Ok(self.sorted_in_memory(numbering, first_ordinal));
        }
        self.spill(dir)?;
        let mut lists = OutLists::new(numbering, first_ordinal);
        let mut runs = Vec::with_capacity(self.runs.len());
        for path in &self.runs {
            runs.push(Run::open(path, self.columns.len())?);
        }
        let mut heap: BinaryHeap<Reverse<((u32, u32), usize)>> =
            runs.iter().enumerate().filter_map(|(i, r)| Some(Reverse((r.head()?, i)))).collect();
        let mut rows = vec![Column::new(); self.columns.len()];
        let mut chunks: Vec<Vec<PropertyChunk>> = Vec::new();
        chunks.resize_with(self.columns.len(), Vec::new);
        let mut values = 0;
        let mut end_chunk = |rows: &mut Vec<Column>| {
            for (chunks, column) in chunks.iter_mut().zip(rows) {
                values += column.count();
                chunks.push(column.chunk(0..column.len()));
                column.clear();
            }
        };
        while let Some(Reverse(((u, v), i))) = heap.pop() {
            lists.push(u, std::iter::once(v));
            let run = &mut runs[i];
            for (to, from) in rows.iter_mut().zip(&run.columns) {
                to.push_from(from, run.at);
            }
            if rows.first().is_some_and(|c| c.len() == SEGMENT_VERTICES) {
                end_chunk(&mut rows);
            }
            run.advance()?;
            if let Some(head) = run.head() {
                heap.push(Reverse((head, i)));
            }
        }
        if rows.first().is_some_and(|c| !c.is_empty()) {
            end_chunk(&mut rows);
        }
        let (out, next_ordinal, duplicates) = lists.finish();
        Ok(Sorted { out, next_ordinal, duplicates, chunks, values })
    }

    fn sorted_in_memory(self, numbering: Numbering, first_ordinal: u32) -> Sorted {
        let (ends, order) = self.order();
        let mut lists = OutLists::new(numbering, first_ordinal);
        let mut start = 0;
        for (source, end) in ends.iter().enumerate() {
            let end = *end as usize;
            if start < end {
                lists.push(source as u32, order[start..end].iter().map(|key| (key >> 32) as u32));
                start = end;
            }
        }
        let chunk = |column: &Column, keys: &[u64]| {
            column.chunk(keys.iter().map(|key| *key as u32 as usize))
        };
        let all = |c: &Column| order.chunks(SEGMENT_VERTICES).map(|k| chunk(c, k)).collect();
        let chunks = self.columns.iter().map(all).collect();
        let values = self.columns.iter().map(Column::count).sum();
        let (out, next_ordinal, duplicates) = lists.finish();
        Sorted { out, next_ordinal, duplicates, chunks, values }
    }
}

/// A run being read back.
#[derive(Debug)]
struct Run {
    path: PathBuf,
    file: BufReader<File>,
    ends: Vec<(u32, u32)>,
    columns: Vec<Column>,
    at: usize,
}

impl Run {
    fn open(path: &Path, columns: usize) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::file("cannot open", path))?;
        let file = BufReader::with_capacity(1 << 16, file);
        let columns = vec![Column::new(); columns];
        let mut run = Self { path: path.into(), file, ends: Vec::new(), columns, at: 0 };
        run.fill()?;
        Ok(run)
    }

    fn head(&self) -> Option<(u32, u32)> {
        self.ends.get(self.at).copied()
    }

    fn advance(&mut self) -> Result<(), Error> {
        self.at += 1;
        if self.at == self.ends.len() { self.fill() } else { Ok(()) }
    }

    fn fill(&mut self) -> Result<(), Error> {
        self.read_block().map_err(Error::file("cannot read sorted edges from", &self.path))
    }

    fn read_block(&mut self) -> std::io::Result<()> {
        let damaged = || std::io::Error::other("the file changed while it was in use");
        self.at = 0;
        self.ends.clear();
        self.columns.iter_mut().for_each(Column::clear);
        let mut word = [0; 4];
        if self.file.read(&mut word[..1])? == 0 {
            return Ok(());
        }
        self.file.read_exact(&mut word[1..])?;
        let rows = u32::from_le_bytes(word) as usize;
        self.file.read_exact(&mut word)?;
        let mut block = vec![0; u32::from_le_bytes(word) as usize];
        self.file.read_exact(&mut block)?;
        let (ends, mut values) = block.split_at_checked(8 * rows).ok_or_else(damaged)?;
        let (words, _) = ends.as_chunks::<4>();
        let word = |i: usize| u32::from_le_bytes(words[i]);
        self.ends.extend((0..rows).map(|i| (word(2 * i), word(2 * i + 1))));
        for column in &mut self.columns {
            // A column that came up after the run was written has nothing in it.
            for _ in 0..rows {
                if values.is_empty() {
                    column.push_null();
                } else {
                    column.push(codec::decode(&mut values).map_err(|_| damaged())?);
                }
            }
        }
        Ok(())
    }
}
