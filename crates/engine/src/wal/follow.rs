//! Reading a log while it is written: record by record, from any commit on, in order.
//!
//! The caller asks only for commits that are on disk. Each is in one file of the log, or of the
//! archive, or in none any more. A file that is removed while it is read stays readable to the end.
//!
//! Cost: reads of 256 KiB, one search for the file at the beginning and one per file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::header::{FILE_HEADER_BYTES, FileHeader};
use super::inspect;
use super::record::{PAYLOAD_BYTES_MAX, Record, RecordHeader, size_of_record};
use super::{Damage, RecordFault, WalError};

/// Bytes read at a time, unless a record is longer.
const READ_BYTES: usize = 256 << 10;
/// How often a file may vanish between being listed and being opened: it moved to the archive.
const VANISH_MAX: u32 = 8;

/// What follows.
#[derive(Debug)]
pub(crate) enum Followed {
    /// The record of the next commit.
    Record(Vec<u8>),
    /// It is not kept any more: the log goes on after commit `oldest`, if at all.
    Missing { oldest: Option<u64> },
}

/// A place in a log.
#[derive(Debug)]
pub(crate) struct Follower {
    directories: [PathBuf; 2],
    /// The commit to read next.
    next_ts: u64,
    open: Option<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    first_ts: u64,
    path: PathBuf,
    file: File,
    salt: u32,
    /// Where in the file the buffer begins, and where in the buffer the next record.
    offset: u64,
    at: usize,
    buffer: Vec<u8>,
}

impl OpenFile {
    fn open(first_ts: u64, path: PathBuf) -> io::Result<Result<Self, WalError>> {
        let file = File::open(&path)?;
        let mut header = vec![0; FILE_HEADER_BYTES];
        let read = read_up_to(&file, 0, &mut header)?;
        header.truncate(read);
        Ok(FileHeader::decode(&header, &path).map(|FileHeader { salt, .. }| {
            let offset = FILE_HEADER_BYTES as u64;
            Self { first_ts, path, file, salt, offset, at: 0, buffer: Vec::new() }
        }))
    }

    /// The next record as far as it is there; what is wrong with it otherwise.
    fn next(&mut self) -> io::Result<Result<(u64, Vec<u8>), RecordFault>> {
        let mut wanted = READ_BYTES;
        loop {
            let rest = &self.buffer[self.at..];
            let fault = match Record::decode(rest, self.salt) {
                Ok(record) => {
                    let found = (record.commit_ts, record.payload.to_vec());
                    self.at += record.size();
                    return Ok(Ok(found));
                }
                Err(fault) => fault,
            };
            // Read before it was whole, or not to its end.
            let header = RecordHeader::decode(rest).filter(|h| h.len <= PAYLOAD_BYTES_MAX);
            let whole = header.map_or(READ_BYTES, |h| READ_BYTES.max(size_of_record(h.len)));
            if wanted == 0 {
                return Ok(Err(fault));
            }
            self.offset += self.at as u64;
            self.at = 0;
            self.buffer.resize(wanted.max(whole), 0);
            let read = read_up_to(&self.file, self.offset, &mut self.buffer)?;
            self.buffer.truncate(read);
            // Once more if the length of the record is only known now.
            let header = RecordHeader::decode(&self.buffer).filter(|h| h.len <= PAYLOAD_BYTES_MAX);
            let long = header.is_some_and(|h| size_of_record(h.len) > wanted.max(whole));
            wanted = if long { wanted.max(whole) } else { 0 };
        }
    }
}

fn read_up_to(file: &File, mut offset: u64, mut out: &mut [u8]) -> io::Result<usize> {
    let mut total = 0;
    while !out.is_empty() {
        match file.read_at(out, offset) {
            Ok(0) => break,
            Ok(n) => {
                (total, offset) = (total + n, offset + n as u64);
                out = &mut out[n..];
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(total)
}

fn files_in(directories: &[PathBuf]) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for directory in directories {
        match inspect::list(directory) {
            Ok(found) => files.extend(found),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    // Stable: of two copies the one in the directory named first.
    files.sort_by_key(|(first_ts, _)| *first_ts);
    files.dedup_by_key(|(first_ts, _)| *first_ts);
    Ok(files)
}

impl Follower {
    /// Begins after commit `after`; looks into `log` first and `archive` second.
    pub(crate) fn new(log: PathBuf, archive: PathBuf, after: u64) -> Self {
        Self { directories: [log, archive], next_ts: after.saturating_add(1), open: None }
    }

    /// The commit that is read next.
    pub(crate) fn next_ts(&self) -> u64 {
        self.next_ts
    }

    /// Every file there is, by first commit; of two copies the log's own.
    pub(crate) fn files(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        files_in(&self.directories)
    }

    /// The record of the next commit, which the caller knows to be on disk.
    pub(crate) fn next(&mut self) -> io::Result<Result<Followed, WalError>> {
        let mut vanished = 0;
        loop {
            if let Some(open) = &mut self.open {
                match open.next()? {
                    Ok((ts, _)) if ts < self.next_ts => continue,
                    Ok((ts, payload)) if ts == self.next_ts => {
                        self.next_ts += 1;
                        return Ok(Ok(Followed::Record(payload)));
                    }
                    Ok((ts, _)) => return Ok(Ok(Followed::Missing { oldest: Some(ts - 1) })),
                    Err(fault) => {
                        let files = files_in(&self.directories)?;
                        let (ended, offset) = (open.first_ts, open.offset + open.at as u64);
                        let later = files.iter().find(|(first_ts, _)| *first_ts > ended);
                        match later {
                            // The file ends here, and another follows: the usual case.
                            Some((first_ts, _)) if *first_ts <= self.next_ts => {}
                            Some((first_ts, _)) => {
                                let oldest = Some(first_ts - 1);
                                return Ok(Ok(Followed::Missing { oldest }));
                            }
                            None => {
                                let what = Damage::RecordBeforeFile { fault };
                                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                                return Ok(Err(WalError::damaged(&open.path, offset, what)));
                            }
                        }
                        self.open = None;
                    }
                }
            }
            let files = self.files()?;
            let here = files.partition_point(|(first_ts, _)| *first_ts <= self.next_ts);
            let Some((first_ts, path)) = here.checked_sub(1).map(|at| files[at].clone()) else {
                let oldest = files.first().map(|(first_ts, _)| first_ts - 1);
                return Ok(Ok(Followed::Missing { oldest }));
            };
            match OpenFile::open(first_ts, path) {
                Ok(Ok(open)) => self.open = Some(open),
                Ok(Err(e)) => return Ok(Err(e)),
                Err(e) if e.kind() == io::ErrorKind::NotFound && vanished < VANISH_MAX => {
                    vanished += 1;
                }
                Err(e) => return Err(e),
            }
        }
    }
}
