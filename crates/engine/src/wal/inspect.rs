//! Log files as backups and checks look at them: record by record, past damage, changing nothing.
//!
//! Opening a log stops at the first thing that is wrong (`reader.rs`). Here every fault is told,
//! and reading goes on with the next record that is whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::header::{FILE_HEADER_BYTES, FileHeader, parse_file_name};
use super::record::{ALIGNMENT, Record};
use super::tail::next_valid;
use super::{WalError, header};

/// The log files in a directory, by first timestamp, oldest first. Other files are passed over.
pub(crate) fn list(directory: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if let Some(first_ts) = entry.file_name().to_str().and_then(parse_file_name) {
            files.push((first_ts, entry.path()));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Name of the log file whose first record is `first_ts`.
pub(crate) fn file_name(first_ts: u64) -> String {
    header::file_name(first_ts)
}

/// The bytes before the first record of a file.
pub(crate) fn header_bytes(salt: u32, first_ts: u64) -> Vec<u8> {
    FileHeader { salt, first_ts }.encode().to_vec()
}

/// A whole record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) ts: u64,
    /// Where it begins and ends in the file.
    pub(crate) offset: usize,
    pub(crate) end: usize,
    pub(crate) payload: &'a [u8],
}

/// Something wrong in a log file.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) what: String,
    /// The commit that should be there.
    pub(crate) expected_ts: u64,
    /// The commit that reading went on with; `None` if nothing whole follows.
    pub(crate) resumed_ts: Option<u64>,
}

/// What a log file holds.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) salt: u32,
    /// The timestamp that would follow.
    pub(crate) next_ts: u64,
    pub(crate) records: u64,
    pub(crate) faults: Vec<Fault>,
}

/// Gives every whole record of a file to `visit`, until that says to stop by returning false.
///
/// # Errors
/// If the header is not one of a log file, or says another first timestamp than `named`.
pub(crate) fn scan(
    path: &Path,
    bytes: &[u8],
    named: u64,
    visit: &mut dyn FnMut(Seen<'_>) -> bool,
) -> Result<Scan, WalError> {
    let FileHeader { salt, first_ts } = FileHeader::decode(bytes, path)?;
    if first_ts != named {
        let what = super::Damage::HeaderTimestamp { named, found: first_ts };
        return Err(WalError::damaged(path, 0, what));
    }
    let mut scan = Scan { salt, next_ts: first_ts, records: 0, faults: Vec::new() };
    let mut offset = FILE_HEADER_BYTES;
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let mut fault = |what: String, resumed_ts| {
            let expected_ts = scan.next_ts;
            scan.faults.push(Fault { offset, what, expected_ts, resumed_ts });
        };
        let record = match Record::decode(rest, salt) {
            Ok(record) if record.commit_ts >= scan.next_ts => {
                if record.commit_ts > scan.next_ts {
                    let what = format!("commit {} stands here", record.commit_ts);
                    fault(what, Some(record.commit_ts));
                }
                record
            }
            bad => {
                let what = match bad {
                    Ok(record) => format!("commit {} is here once more", record.commit_ts),
                    Err(e) => e.to_string(),
                };
                // Records with a right checksum and an impossible timestamp are passed over.
                let Some((found, record)) =
                    next_valid(bytes, offset + ALIGNMENT, scan.next_ts - 1, salt)
                else {
                    fault(what, None);
                    break;
                };
                fault(what, Some(record.commit_ts));
                (offset, scan.next_ts) = (found, record.commit_ts);
                continue;
            }
        };
        let end = offset + record.size();
        scan.next_ts = record.commit_ts + 1;
        scan.records += 1;
        if !visit(Seen { ts: record.commit_ts, offset, end, payload: record.payload }) {
            break;
        }
        offset = end;
    }
    Ok(scan)
}

/// The first timestamp that the name of a log file tells; `None` if it is not one.
pub(crate) fn first_ts(name: &str) -> Option<u64> {
    parse_file_name(name)
}
