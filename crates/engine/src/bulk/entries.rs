//! Index entries of a load, sorted in bounded memory.
//!
//! ```text
//!  run = blocks until the end of the file
//!  block = entries u32 · length u32 · entries as in a stored partition (index/page.rs)
//! ```
//!
//! Entries collect in memory up to the limit; then they are sorted and written to a file. At the
//! end the runs are merged.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::index::key::Entry;
use crate::index::merge::merge;
use crate::index::page;
use crate::io::folder;

/// Entries of a block: what is read at once of each run while merging.
const BLOCK_ENTRIES: usize = 4096;

/// Entries of one index on their way in.
#[derive(Debug)]
pub(super) struct EntrySorter<'d, const N: usize> {
    entries: Vec<Entry<N>>,
    bytes: usize,
    bytes_max: usize,
    dir: &'d Path,
    runs: Vec<PathBuf>,
}

impl<'d, const N: usize> EntrySorter<'d, N> {
    pub(super) fn new(dir: &'d Path, bytes_max: usize) -> Self {
        Self { entries: Vec::new(), bytes: 0, bytes_max, dir, runs: Vec::new() }
    }

    pub(super) fn add(&mut self, entry: Entry<N>) -> Result<(), Error> {
        self.bytes += size_of::<Entry<N>>() + entry.0.rest.as_ref().map_or(0, |r| r.len() + 16);
        self.entries.push(entry);
        if self.bytes > self.bytes_max { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<(), Error> {
        let path = self.dir.join(format!("entries-{}", self.runs.len()));
        let mut write = || -> std::io::Result<()> {
            if !self.dir.is_dir() {
                folder::make(self.dir)?;
            }
            self.entries.sort_unstable();
            let mut out = BufWriter::with_capacity(1 << 18, folder::create(&path)?);
            let mut block = Vec::new();
            for entries in self.entries.chunks(BLOCK_ENTRIES) {
                block.clear();
                let mut before = Vec::new();
                entries.iter().for_each(|e| page::put_entry(e, &mut before, &mut block));
                out.write_all(&(entries.len() as u32).to_le_bytes())?;
                out.write_all(&(block.len() as u32).to_le_bytes())?;
                out.write_all(&block)?;
            }
            out.into_inner()?;
            Ok(())
        };
        write().map_err(Error::file("cannot write sorted index entries to", &path))?;
        self.runs.push(path);
        self.entries.clear();
        self.bytes = 0;
        crate::failpoint!("bulk::entries_spilled", super::injected);
        Ok(())
    }

    /// Calls `f` with all entries in their order.
    pub(super) fn drain(
        mut self,
        f: impl FnMut(Entry<N>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.runs.is_empty() {
            self.entries.sort_unstable();
            return std::mem::take(&mut self.entries).into_iter().try_for_each(f);
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        let mut runs = Vec::with_capacity(self.runs.len());
        for path in &self.runs {
            runs.push(Run::<N>::open(path)?);
        }
        merge(&mut runs, Run::next, f)
    }
}

impl<const N: usize> Drop for EntrySorter<'_, N> {
    fn drop(&mut self) {
        // The folder goes with the load; this only gives room back earlier.
        self.runs.iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

/// A run being read back.
struct Run<const N: usize> {
    path: PathBuf,
    file: BufReader<File>,
    /// The entries of a block, the next one last.
    block: Vec<Entry<N>>,
}

impl<const N: usize> Run<N> {
    fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::file("cannot open", path))?;
        let file = BufReader::with_capacity(1 << 16, file);
        Ok(Self { path: path.into(), file, block: Vec::new() })
    }

    fn next(&mut self) -> Result<Option<Entry<N>>, Error> {
        if self.block.is_empty() {
            let read = self.read_block();
            read.map_err(Error::file("cannot read sorted index entries from", &self.path))?;
        }
        Ok(self.block.pop())
    }

    fn read_block(&mut self) -> std::io::Result<()> {
        let mut word = [0; 4];
        if self.file.read(&mut word[..1])? == 0 {
            return Ok(());
        }
        self.file.read_exact(&mut word[1..])?;
        let entries = u32::from_le_bytes(word);
        self.file.read_exact(&mut word)?;
        let mut bytes = vec![0; u32::from_le_bytes(word) as usize];
        self.file.read_exact(&mut bytes)?;
        let (mut rest, mut before) = (&bytes[..], Vec::new());
        for _ in 0..entries {
            let entry = page::get_entry(&mut before, &mut rest);
            self.block.push(entry.map_err(std::io::Error::other)?);
        }
        self.block.reverse();
        Ok(())
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;
    use crate::index::key::SortKey;
    use proptest::prelude::*;
    use telar_graph::Value;

    proptest! {
        #[test]
        fn entries_come_out_sorted_however_little_memory_there_is(
            numbers in proptest::collection::vec((-50_i64..50, any::<bool>(), 0_u32..9), 0..400),
            bytes_max in 0_usize..5000,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let mut sorter = EntrySorter::<1>::new(dir.path(), bytes_max);
            let mut expected = Vec::new();
            for (n, long, item) in numbers {
                let text = format!("a text longer than any head {n}");
                let value = if long { Value::from(&*text) } else { Value::Int(n) };
                let entry = (SortKey::of(&[value]).unwrap(), [item]);
                sorter.add(entry.clone()).unwrap();
                expected.push(entry);
            }
            expected.sort_unstable();
            let mut found = Vec::new();
            sorter.drain(|entry| { found.push(entry); Ok(()) }).unwrap();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}
