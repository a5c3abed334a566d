//! Files to blocks of whole records, and blocks to results in their order.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use super::error::CsvError;
use super::record::Dialect;
use crate::import::source::decompressed;

/// Text read at once: large enough that a block costs nothing beside its records.
const BLOCK_BYTES: usize = 1 << 20;
/// Text read at once to find the end of a line that is passed over.
const SKIP_BYTES: usize = 4 << 10;
/// Longest record. A quote that is not closed would else swallow the rest of any file.
const RECORD_BYTES_MAX: usize = 64 << 20;
/// Byte order mark that some programs put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Whole records of one file.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) file: Arc<Path>,
    /// Number of the first line, counted from 1.
    pub(super) line: u64,
    pub(super) text: Vec<u8>,
}

impl Block {
    /// Number of the line at a byte.
    pub(super) fn line_at(&self, at: usize) -> u64 {
        self.line + lines(&self.text[..at.min(self.text.len())])
    }
}

fn lines(text: &[u8]) -> u64 {
    text.iter().filter(|b| **b == b'\n').count() as u64
}

/// Counts the bytes read of a file.
struct Counted {
    file: File,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        // ORDERING: relaxed, a figure for the progress bar.
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Reads the files of a group one after the other.
pub(super) struct Blocks {
    dialect: Dialect,
    first: PathBuf,
    rest: std::vec::IntoIter<PathBuf>,
    now: Option<(Arc<Path>, Box<dyn Read>)>,
    /// Text that was read and not given out.
    held: Vec<u8>,
    line: u64,
    /// Lines at the beginning of the next file that are not read, and of those after it.
    skips: [u64; 2],
    count: Arc<AtomicU64>,
    /// The header record, without its line end.
    header: Option<Vec<u8>>,
    /// What followed the header in its block.
    pending: Option<Block>,
}

impl Blocks {
    /// Does not read so many lines at the beginning of each file; where the first of several has
    /// the header, it is read whole.
    pub(super) fn new(
        files: &[PathBuf],
        dialect: Dialect,
        skip_lines: u64,
        count: Arc<AtomicU64>,
    ) -> Self {
        let rest: Vec<PathBuf> = files.into();
        let skips = [if rest.len() > 1 { 0 } else { skip_lines }, skip_lines];
        Self {
            dialect,
            first: files.first().cloned().unwrap_or_default(),
            rest: rest.into_iter(),
            now: None,
            held: Vec::new(),
            line: 1,
            skips,
            count,
            header: None,
            pending: None,
        }
    }

    /// The first record of the first file, with the place of it.
    pub(super) fn header(&mut self) -> Result<(Arc<Path>, u64, Vec<u8>), CsvError> {
        let Some(mut block) = self.read_block()? else {
            return Err(CsvError::Header {
                file: self.first.display().to_string(),
                line: 1,
                reason: "the file is empty; its first line must name the columns".to_owned(),
            });
        };
        let record = self.take_first(&mut block);
        self.header = Some(record.clone());
        let (file, line) = (Arc::clone(&block.file), block.line);
        block.line += lines(&record) + 1;
        self.pending = Some(block).filter(|b| !b.text.is_empty());
        Ok((file, line, record))
    }

    /// Takes the first record off a block.
    fn take_first(&self, block: &mut Block) -> Vec<u8> {
        let (end, _) = self.dialect.record(&block.text, 0, &mut Vec::new());
        let rest = block.text.split_off(end);
        let mut record = std::mem::replace(&mut block.text, rest);
        while matches!(record.last(), Some(b'\n' | b'\r')) {
            record.pop();
        }
        record
    }

    /// The next block.
    pub(super) fn next(&mut self) -> Result<Option<Block>, CsvError> {
        if let Some(block) = self.pending.take() {
            return Ok(Some(block));
        }
        while let Some(mut block) = self.read_block()? {
            // A part that repeats the header.
            if block.line == 1 + self.skips[1]
                && let Some(header) = &self.header
                && block.text.starts_with(header)
                && matches!(block.text.get(header.len()), Some(b'\n' | b'\r') | None)
            {
                let record = self.take_first(&mut block);
                block.line += lines(&record) + 1;
            }
            if !block.text.is_empty() {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    fn read_block(&mut self) -> Result<Option<Block>, CsvError> {
        loop {
            if self.now.is_none() {
                let Some(path) = self.rest.next() else { return Ok(None) };
                self.open(&path)?;
            }
            let Some((file, source)) = &mut self.now else { return Ok(None) };
            let file = Arc::clone(file);
            let at_end = fill(source, &mut self.held, BLOCK_BYTES).map_err(CsvError::io(&file))?;
            let mut wanted = BLOCK_BYTES;
            let mut ended = at_end;
            let end = loop {
                if ended {
                    break self.held.len();
                }
                match self.dialect.last_end(&self.held) {
                    0 if wanted >= RECORD_BYTES_MAX => {
                        let file = file.display().to_string();
                        return Err(CsvError::Record { file, line: self.line });
                    }
                    0 => {
                        wanted *= 2;
                        ended =
                            fill(source, &mut self.held, wanted).map_err(CsvError::io(&file))?;
                    }
                    end => break end,
                }
            };
            if ended {
                self.now = None;
            }
            let rest = self.held.split_off(end);
            let text = std::mem::replace(&mut self.held, rest);
            let line = self.line;
            self.line += lines(&text);
            if !text.is_empty() {
                return Ok(Some(Block { file, line, text }));
            }
        }
    }

    fn open(&mut self, path: &Path) -> Result<(), CsvError> {
        let open = || {
            let file = File::open(path)?;
            decompressed(Counted { file, count: Arc::clone(&self.count) })
        };
        let mut source = open().map_err(CsvError::io(path))?;
        self.line = 1;
        self.held.clear();
        fill(&mut source, &mut self.held, BYTE_ORDER_MARK.len()).map_err(CsvError::io(path))?;
        if self.held.starts_with(BYTE_ORDER_MARK) {
            self.held.drain(..BYTE_ORDER_MARK.len());
        }
        let skipped = self.skips[0];
        self.skips[0] = self.skips[1];
        for _ in 0..skipped {
            skip_line(&mut source, &mut self.held).map_err(CsvError::io(path))?;
            self.line += 1;
        }
        self.now = Some((path.into(), source));
        Ok(())
    }
}

/// Reads until `held` has `wanted` bytes; true at the end of the file.
fn fill(source: &mut dyn Read, held: &mut Vec<u8>, wanted: usize) -> io::Result<bool> {
    let missing = wanted.saturating_sub(held.len());
    let n = source.take(missing as u64).read_to_end(held)?;
    Ok(n < missing)
}

/// Passes over the first line of what is held and what follows it.
fn skip_line(source: &mut dyn Read, held: &mut Vec<u8>) -> io::Result<()> {
    loop {
        if let Some(end) = held.iter().position(|byte| *byte == b'\n') {
            held.drain(..=end);
            return Ok(());
        }
        held.clear();
        if fill(source, held, SKIP_BYTES)? && held.is_empty() {
            return Ok(());
        }
    }
}

/// Calls `work` with each block on several threads, and `sink` with the results on this thread, in
/// the order of the blocks. The first error, of whichever, ends it.
pub(super) fn in_order<T: Send>(
    blocks: &mut Blocks,
    threads: usize,
    work: impl Fn(Block) -> T + Sync,
    mut sink: impl FnMut(T) -> Result<(), CsvError>,
) -> Result<(), CsvError> {
    if threads <= 1 {
        while let Some(block) = blocks.next()? {
            sink(work(block))?;
        }
        return Ok(());
    }
    let (jobs, queue) = mpsc::channel::<(u64, Block)>();
    let queue = Mutex::new(queue);
    let (results, done) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (queue, work, results) = (&queue, &work, results.clone());
            scope.spawn(move || {
                loop {
                    let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((number, block)) = job else { return };
                    if results.send((number, work(block))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results);
        // Dropped at the end, also after an error: the threads stop.
        let jobs = jobs;
        let (mut sent, mut taken) = (0u64, 0u64);
        let mut waiting: BTreeMap<u64, T> = BTreeMap::new();
        let mut more = true;
        loop {
            while more && sent - taken < 2 * threads as u64 + 1 {
                match blocks.next()? {
                    Some(block) => {
                        // Fails only if every thread has panicked, which the scope reports.
                        drop(jobs.send((sent, block)));
                        sent += 1;
                    }
                    None => more = false,
                }
            }
            if taken == sent {
                return Ok(());
            }
            let Ok((number, result)) = done.recv() else { return Ok(()) };
            waiting.insert(number, result);
            while let Some(result) = waiting.remove(&taken) {
                taken += 1;
                sink(result)?;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: Dialect = Dialect { delimiter: b',', quote: b'"', trim: false };

    fn texts(files: &[PathBuf]) -> (String, Vec<(u64, String)>) {
        let mut blocks = Blocks::new(files, DIALECT, 0, Arc::default());
        let (_, line, header) = blocks.header().unwrap();
        assert_eq!(line, 1);
        let mut found = Vec::new();
        while let Some(block) = blocks.next().unwrap() {
            found.push((block.line, String::from_utf8(block.text).unwrap()));
        }
        (String::from_utf8(header).unwrap(), found)
    }

    #[test]
    fn headers_stand_first_alone_or_in_every_part() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let alone = file("header.csv", "\u{feff}a,\"b\nc\"");
        let part = file("part.csv", "1,2\r\n3,4");
        let same = file("same.csv", "a,\"b\nc\"\n5,6\n");
        let empty = file("empty.csv", "");
        let (header, found) = texts(&[alone, empty.clone(), part, same]);
        assert_eq!(header, "a,\"b\nc\"");
        assert_eq!(found, [(1, "1,2\r\n3,4".to_owned()), (3, "5,6\n".to_owned())]);
        assert!(Blocks::new(&[empty], DIALECT, 0, Arc::default()).header().is_err());
        let whole = file("whole.csv", "a,b\n\n1,\"2\n\"\n");
        let (_, found) = texts(&[whole]);
        assert_eq!(found, [(2, "\n1,\"2\n\"\n".to_owned())]);
    }

    #[test]
    fn long_files_come_in_order_with_their_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long.csv");
        let mut text = "n,t\n".to_owned();
        for i in 0..200_000 {
            text += &format!("{i},\"line {i}{}\"\n", if i % 3 == 0 { "\nmore" } else { "" });
        }
        std::fs::write(&path, &text).unwrap();
        for threads in [1, 3] {
            let mut blocks = Blocks::new(std::slice::from_ref(&path), DIALECT, 0, Arc::default());
            blocks.header().unwrap();
            let (mut all, mut count) = (String::from("n,t\n"), 0);
            in_order(
                &mut blocks,
                threads,
                |b| b,
                |block| {
                    assert_eq!(block.line, 1 + lines(all.as_bytes()));
                    all += std::str::from_utf8(&block.text).unwrap();
                    count += 1;
                    Ok(())
                },
            )
            .unwrap();
            assert!(all == text && count > 3);
        }
    }

    #[test]
    fn lines_are_passed_over_in_every_file_but_one_that_is_only_a_header() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let long = "x".repeat(3 * SKIP_BYTES);
        let read = |files: &[PathBuf], skip: u64| {
            let mut blocks = Blocks::new(files, DIALECT, skip, Arc::default());
            let (_, line, header) = blocks.header().unwrap();
            let mut found = vec![(line, String::from_utf8(header).unwrap())];
            while let Some(block) = blocks.next().unwrap() {
                found.push((block.line, String::from_utf8(block.text).unwrap()));
            }
            found
        };
        let text = |line: u64, text: &str| (line, text.to_owned());
        let one = file("one", &format!("{long}\n\u{feff}\na,b\n1,2\n"));
        assert_eq!(read(&[one], 2), [text(3, "a,b"), text(4, "1,2\n")]);
        let marked = file("marked", "\u{feff}title\na,b\n1,2\n");
        assert_eq!(read(&[marked], 1), [text(2, "a,b"), text(3, "1,2\n")]);
        let parts = [
            file("header", "a:int,b\n"),
            file("first", "a,b\n1,2\n"),
            file("second", "a,b\r\n3,4"),
            file("third", "a,b"),
        ];
        let wanted = [text(1, "a:int,b"), text(2, "1,2\n"), text(2, "3,4")];
        assert_eq!(read(&parts, 1), wanted);
    }
}
