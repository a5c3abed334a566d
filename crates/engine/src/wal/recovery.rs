//! Opening a log: from a directory as a crash left it to one that takes appends.
//!
//! ```text
//!  start_after = 950          replayed: 951 …
//!  wal-1   wal-934       wal-1870     wal-2100
//!  skipped read, checked read         read; torn tail cut, last group rewritten, synced
//! ```
//!
//! 1. The first file to read is the last one that begins at or before `start_after + 1`; what lies
//!    before it is not looked at (a checkpoint covers it; its removal may be half done).
//! 2. Every file read must follow the one before it without a gap.
//! 3. Only the last file may end torn; it is cut there.
//! 4. A last file that is no longer than a header and has none was being created: it is removed.
//! 5. The last group is written once more over itself and synced. It may have reached the page
//!    cache and not the disk: the process may have died before the sync, or the sync may have
//!    failed, after which Linux calls the pages clean although they are not on disk. Groups before
//!    it were synced, or there would be no later one.
//!    Of a replicated log's copy no group was synced: a power failure may leave holes in its last
//!    file, which is cut at the first one. The replicated log has what is missing.
//! 6. The directory is synced, for files created or removed just before the crash.
//!
//! Nothing is written unless all of it was read and replayed without error.
//!
//! Cost: one file in memory at a time.
//! Source: for 5, Rebello et al., "Can Applications Recover from fsync Failures?", ATC 2020.

use std::collections::VecDeque;

use super::files::{LogFiles, create_file};
use super::header::{FILE_HEADER_BYTES, FileHeader, file_name, parse_file_name};
use super::reader::{FileBytes, FileEnd, FileScan};
use super::{Damage, Durability, Recovery, Replay, WalError, WalOptions};
use crate::io::{Storage, StorageFile, read_all};
use crate::sync::Arc;

/// A log file that was read.
struct ReadFile {
    file: Box<dyn StorageFile>,
    bytes: Vec<u8>,
    header: FileHeader,
    scan: FileScan,
}

/// Reads the log in `storage`, replays what is after `start_after`, and readies it for appends.
pub(super) fn recover(
    storage: Arc<dyn Storage>,
    options: WalOptions,
    start_after: u64,
    replay: &mut Replay<'_>,
) -> Result<(LogFiles, Recovery), WalError> {
    let replicated = options.durability == Durability::Replicated;
    let mut recovery = Recovery { last_ts: start_after, ..Recovery::default() };
    let names = storage.list()?;
    let mut files: VecDeque<u64> = names.iter().filter_map(|name| parse_file_name(name)).collect();
    let first = first_to_read(&*storage, &files, start_after)?;

    let mut expected_ts = None;
    let mut last = None;
    let mut unfinished = None;
    for index in first..files.len() {
        let is_last = index + 1 == files.len();
        let mut visit = |commit_ts, payload: &[u8]| {
            if commit_ts <= start_after {
                return Ok(());
            }
            recovery.records_replayed += 1;
            replay(commit_ts, payload)
        };
        let end = FileEnd { is_last, replicated };
        match read_file(&*storage, files[index], expected_ts, end, &mut visit)? {
            Some(read) => {
                expected_ts = Some(read.scan.next_ts);
                last = Some(read);
            }
            None => unfinished = files.pop_back(),
        }
    }

    // Everything was read and replayed: from here on the directory is changed.
    if let Some(first_ts) = unfinished {
        storage.remove(&file_name(first_ts))?;
        storage.sync_dir()?;
    }
    let next_ts = expected_ts.unwrap_or(0).max(start_after + 1);
    recovery.last_ts = next_ts - 1;
    let salt = last.as_ref().map_or_else(|| storage.salt(), |read| read.header.salt);
    // With an unfinished file removed, the one before it is complete and durable (rule 4).
    let open = match last {
        Some(read) if unfinished.is_none() => {
            recovery.bytes_cut = (read.bytes.len() - read.scan.end) as u64;
            let (active_ts, continues) = (read.header.first_ts, read.scan.next_ts == next_ts);
            let file = make_durable(&*storage, read)?;
            continues.then_some((file, active_ts))
        }
        _ => None,
    };
    let (active, active_ts) = match open {
        Some(open) => {
            files.pop_back();
            open
        }
        None => (create_file(&*storage, FileHeader { salt, first_ts: next_ts })?, next_ts),
    };
    let written_ts = next_ts - 1;
    let older = files;
    let counters = Arc::default();
    let files = LogFiles {
        storage,
        older,
        active,
        active_ts,
        written_ts,
        salt,
        file_bytes_max: options.file_bytes_max,
        counters,
        sink: None,
        syncs: !replicated,
    };
    Ok((files, recovery))
}

/// Returns the index of the first file that may hold a record after `start_after`.
fn first_to_read(
    storage: &dyn Storage,
    files: &VecDeque<u64>,
    start_after: u64,
) -> Result<usize, WalError> {
    let expected = start_after + 1;
    let at_or_before = files.partition_point(|first_ts| *first_ts <= expected);
    match files.front() {
        Some(&found) if at_or_before == 0 => {
            let path = storage.path_of(&file_name(found));
            Err(WalError::damaged(&path, 0, Damage::Timestamp { expected, found }))
        }
        _ => Ok(at_or_before.saturating_sub(1)),
    }
}

/// Reads a file; returns `None` if it is the last one and was still being created.
fn read_file(
    storage: &dyn Storage,
    named: u64,
    expected_ts: Option<u64>,
    end: FileEnd,
    visit: &mut Replay<'_>,
) -> Result<Option<ReadFile>, WalError> {
    let name = file_name(named);
    let path = storage.path_of(&name);
    if let Some(expected) = expected_ts
        && expected != named
    {
        let what = Damage::Timestamp { expected, found: named };
        return Err(WalError::damaged(&path, 0, what));
    }
    let file = storage.open(&name)?;
    let bytes = read_all(&*file)?;
    let header = match FileHeader::decode(&bytes, &path) {
        Ok(header) => header,
        Err(newer @ WalError::NewerFormat { .. }) => return Err(newer),
        // Records follow only once the header is durable, so nothing is lost with this file.
        Err(_) if end.is_last && bytes.len() <= FILE_HEADER_BYTES => return Ok(None),
        Err(error) => return Err(error),
    };
    if header.first_ts != named {
        let what = Damage::HeaderTimestamp { named, found: header.first_ts };
        return Err(WalError::damaged(&path, 0, what));
    }
    let (first_ts, salt) = (header.first_ts, header.salt);
    let view = FileBytes { path: &path, bytes: &bytes, first_ts, salt, end };
    let scan = view.scan(visit)?;
    Ok(Some(ReadFile { file, bytes, header, scan }))
}

/// Cuts the torn tail off the last file and makes what remains durable.
fn make_durable(storage: &dyn Storage, read: ReadFile) -> Result<Box<dyn StorageFile>, WalError> {
    let ReadFile { mut file, bytes, scan, .. } = read;
    if scan.end < bytes.len() {
        file.truncate(scan.end as u64)?;
    }
    file.overwrite(scan.last_group as u64, &bytes[scan.last_group..scan.end])?;
    file.sync_data()?;
    storage.sync_dir()?;
    Ok(file)
}
