//! Sorted runs in files, merged.
//!
//! ```text
//!  rows ─► sorted run ─► file ┐
//!  rows ─► sorted run ─► file ├─► Merge: the smallest of the first rows, again and again
//!  rows ─► sorted run ─► file ┘
//! ```
//!
//! The keys of a row stand behind its columns, from slot `width` on. Rows with equal keys come in
//! the order of their runs. A merge holds a frame of each run; where there are more runs than fit,
//! some are merged to longer ones first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use telar_graph::Value;

use super::{Extent, SpillFile};
use crate::batch::{BATCH_ROWS, Batch};
use crate::exec::Exec;
use crate::exec::memory::Held;
use crate::query_error::QueryError;

/// Bytes of a frame, about: a merge holds one of each run.
const FRAME_BYTES: usize = 32 << 10;
/// Most runs that are merged at once: more keys cost more comparisons than a pass over the file.
const RUNS_MAX: usize = 256;

/// The value of a key, and which way it is sorted.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Ascending(Value),
    Descending(Reverse<Value>),
}

/// Frames of rows in order, and the number of their file.
type Run = (usize, Vec<Extent>);

/// Runs, and what is merged of them.
#[derive(Debug)]
pub(in crate::exec) struct Merge {
    descending: Vec<bool>,
    /// Columns of the rows are below this slot, keys from it on.
    width: usize,
    /// What is written goes to the first.
    files: Vec<SpillFile>,
    runs: Vec<Run>,
    held: Held,
    cursors: Vec<Cursor>,
    heap: BinaryHeap<Reverse<(Vec<Key>, usize)>>,
}

/// Where the merge is in a run.
#[derive(Debug)]
struct Cursor {
    file: usize,
    run: std::vec::IntoIter<Extent>,
    frame: Batch,
    bytes: usize,
    row: usize,
}

impl Merge {
    /// No runs yet, sorted by keys of which some are descending.
    pub(in crate::exec) fn new(
        who: &'static str,
        width: usize,
        descending: Vec<bool>,
        cx: &Exec<'_>,
    ) -> Result<Self, QueryError> {
        Ok(Self {
            descending,
            width,
            files: vec![SpillFile::new(who, cx)?],
            runs: Vec::new(),
            held: Held::of(who),
            cursors: Vec::new(),
            heap: BinaryHeap::new(),
        })
    }

    /// Columns of the rows are below this slot, keys from it on.
    pub(in crate::exec) fn width(&self) -> usize {
        self.width
    }

    /// Begins a run.
    pub(in crate::exec) fn begin_run(&mut self) {
        self.runs.push((0, Vec::new()));
    }

    /// Rows that a frame should have, where so many rows take so many bytes.
    pub(in crate::exec) fn frame_rows(rows: usize, bytes: usize) -> usize {
        (FRAME_BYTES * rows / bytes.max(1)).clamp(1, BATCH_ROWS)
    }

    /// Adds rows, which are in order, with their keys, to the run begun last.
    pub(in crate::exec) fn push(
        &mut self,
        rows: &Batch,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        let extent = self.files[0].write(rows, cx)?;
        if let Some((_, run)) = self.runs.last_mut() {
            run.push(extent);
        }
        Ok(())
    }

    /// Takes the runs of another one, which come behind these.
    pub(in crate::exec) fn absorb(&mut self, other: Self) {
        let before = self.files.len();
        self.files.extend(other.files);
        self.runs.extend(other.runs.into_iter().map(|(file, run)| (before + file, run)));
    }

    /// Begins to merge all runs: call it once, after the last [`push`](Self::push).
    pub(in crate::exec) fn finish(&mut self, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let most = (self.held.share(cx) / FRAME_BYTES / 2).clamp(2, RUNS_MAX);
        while self.runs.len() > most {
            let mut longer = SpillFile::new(self.held.who(), cx)?;
            let mut runs = Vec::new();
            let mut all = std::mem::take(&mut self.runs).into_iter();
            while all.len() > 0 {
                self.open(all.by_ref().take(most), cx)?;
                let mut run = Vec::new();
                // Frames stay as small as they are.
                let rows = self.cursors.iter().map(|cursor| cursor.frame.rows()).max();
                while let Some(rows) = self.rows(rows.unwrap_or(1), cx)? {
                    run.push(longer.write(&rows, cx)?);
                }
                runs.push((0, run));
            }
            self.files = vec![longer];
            self.runs = runs;
        }
        let runs = std::mem::take(&mut self.runs);
        self.open(runs.into_iter(), cx)
    }

    /// The next rows in order, without their keys; at most so many.
    pub(in crate::exec) fn next(
        &mut self,
        most: usize,
        cx: &mut Exec<'_>,
    ) -> Result<Option<Batch>, QueryError> {
        let Some(rows) = self.rows(most.min(BATCH_ROWS), cx)? else { return Ok(None) };
        let slots: Vec<usize> = rows.slots().filter(|slot| *slot < self.width).collect();
        Ok(Some(rows.keep(&slots)))
    }

    fn open(
        &mut self,
        runs: impl Iterator<Item = Run>,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        self.cursors.clear();
        self.held.clear();
        for run in runs {
            let (file, run) = (run.0, run.1.into_iter());
            let mut run = run;
            let Some(first) = run.next() else { continue };
            let frame = self.files[file].read(first, cx)?;
            let bytes = frame.bytes();
            self.held.grow(bytes, cx)?;
            self.cursors.push(Cursor { file, run, frame, bytes, row: 0 });
            let at = self.cursors.len() - 1;
            self.heap.push(Reverse((self.key(at), at)));
        }
        Ok(())
    }

    /// The keys of the row that a cursor is at.
    fn key(&self, at: usize) -> Vec<Key> {
        let cursor = &self.cursors[at];
        let key = |(slot, descending): (usize, &bool)| {
            let value = cursor.frame.column(slot).get(cursor.row);
            if *descending { Key::Descending(Reverse(value)) } else { Key::Ascending(value) }
        };
        (self.width..).zip(&self.descending).map(key).collect()
    }

    /// The next rows in order, with their keys; at most so many.
    fn rows(&mut self, most: usize, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let mut frames: Vec<Batch> = self.cursors.iter().map(|c| c.frame.clone()).collect();
        let mut place: Vec<u32> = (0..frames.len() as u32).collect();
        let mut picks = Vec::new();
        while picks.len() < most
            && let Some(Reverse((_, at))) = self.heap.pop()
        {
            let cursor = &mut self.cursors[at];
            picks.push((place[at], cursor.row as u32));
            cursor.row += 1;
            if cursor.row == cursor.frame.rows() {
                let Some(next) = cursor.run.next() else { continue };
                cursor.frame = self.files[cursor.file].read(next, cx)?;
                cursor.row = 0;
                let bytes = cursor.frame.bytes();
                self.held.shrink(std::mem::replace(&mut cursor.bytes, bytes));
                self.held.grow(bytes, cx)?;
                place[at] = frames.len() as u32;
                frames.push(cursor.frame.clone());
            }
            self.heap.push(Reverse((self.key(at), at)));
        }
        Ok((!picks.is_empty()).then(|| Batch::pick(&frames, &picks)))
    }
}
