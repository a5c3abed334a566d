//! The log part of a backup: the commits after one timestamp up to another, each record checked.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::LogEntries;
use crate::error::Error;
use crate::maintenance::image::{Pace, Sink};
use crate::store::{archive, wal_path};
use crate::wal::inspect;

/// A log file, opened while it was there.
#[derive(Debug)]
pub(super) struct LogFile {
    first_ts: u64,
    path: PathBuf,
    file: File,
    len: u64,
}

/// Opens the log files with commits up to `to`, archived ones included, oldest first.
pub(super) fn open_files(root: &Path, to: u64) -> Result<Vec<LogFile>, Error> {
    let mut files: Vec<LogFile> = Vec::new();
    for directory in [archive::path(root), wal_path(root)] {
        let found = match inspect::list(&directory) {
            Ok(found) => found,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => return Err(Error::file("cannot list", &directory)(e)),
        };
        for (first_ts, path) in found.into_iter().filter(|(first_ts, _)| *first_ts <= to) {
            if files.iter().any(|f| f.first_ts == first_ts) {
                continue;
            }
            let file = File::open(&path).map_err(Error::file("cannot open", &path))?;
            let len = file.metadata().map_err(Error::file("cannot examine", &path))?.len();
            files.push(LogFile { first_ts, path, file, len });
        }
    }
    files.sort_unstable_by_key(|f| f.first_ts);
    Ok(files)
}

/// Copies the commits after `after`, or as many before `to` as there are without a gap. Returns
/// after which commit the copy begins, and the files written.
pub(super) fn copy(
    files: &[LogFile],
    after: u64,
    to: u64,
    directory: &Path,
    pace: &mut Pace,
) -> Result<(u64, LogEntries), Error> {
    let mut entries = LogEntries::new();
    let mut begins_after = after;
    // The timestamp up to which what was copied follows without a gap.
    let mut next = after + 1;
    for (i, log) in files.iter().enumerate() {
        let ends_before = files.get(i + 1).map_or(to, |later| later.first_ts - 1);
        if ends_before < next || next > to {
            continue;
        }
        if log.first_ts > next {
            // What was copied so far leads nowhere; recovery allows such a gap below a checkpoint.
            for entry in entries.drain(..) {
                let path = directory.join(entry.name);
                std::fs::remove_file(&path).map_err(Error::file("cannot remove", &path))?;
            }
            (begins_after, next) = (log.first_ts - 1, log.first_ts);
        }
        let mut bytes = vec![0; log.len as usize];
        log.file.read_exact_at(&mut bytes, 0).map_err(Error::file("cannot read", &log.path))?;
        let (mut begin, mut end, mut last) = (None, 0, next - 1);
        let scan = inspect::scan(&log.path, &bytes, log.first_ts, &mut |seen| {
            if seen.ts >= next && seen.ts <= to {
                begin.get_or_insert(seen.offset);
                (end, last) = (seen.end, seen.ts);
            }
            seen.ts < to
        })?;
        if let Some(fault) = scan.faults.first()
            && fault.expected_ts <= to.min(ends_before)
        {
            return Err(Error::Damaged {
                path: log.path.clone(),
                place: format!("offset {}", fault.offset),
                reason: format!("{}; run `telar check`", fault.what),
            });
        }
        let Some(begin) = begin else { continue };
        let name = format!("wal/{}", inspect::file_name(next));
        let mut sink = Sink::create(directory, &name, pace)?;
        sink.write(&inspect::header_bytes(scan.salt, next))?;
        sink.write(&bytes[begin..end])?;
        entries.push(sink.finish()?);
        crate::failpoint!("backup::log_file");
        next = last + 1;
    }
    // An async checkpoint can be later than the end of the log: then there is nothing to copy.
    if entries.is_empty() {
        begins_after = to;
    }
    Ok((begins_after, entries))
}
