//! The log: every file, every record, their order, and what they say.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CheckReport, RESTORE, Severity};
use crate::catalog::LabelSets;
use crate::commit::record;
use crate::error::Error;
use crate::store::{archive, log_files, log_is_lost};
use crate::wal::WalError;
use crate::wal::inspect::{self, Fault};

const LOST: &str = "commits are lost from here on: restore a backup to the commit before, or with \
                    `telar repair --lose-commits` keep those before it";
const LOST_LOG: &str = "restore a backup, or keep the commits of the checkpoint with `telar repair \
                        --lose-commits`";
const CLOSED: &str = "the database was closed, and the checkpoint has every commit: the next opening \
                      makes a new log";
const TORN: &str = "if the program or the machine died, nothing: the next opening cuts what was \
                    never acknowledged; if not, the last commits are lost";

const GAP: &str = "the checkpoint has these commits, so nothing is lost; a crash of a database with \
                   asynchronous commits, or an archive that was not kept for a while, leaves this";

/// Checks the log after `checkpoint`, `None` if that is not known; `closed_at` is the commit that
/// a closed database's log reached.
pub(super) fn check(
    root: &Path,
    checkpoint: Option<u64>,
    closed_at: Option<u64>,
    report: &mut CheckReport,
) -> Result<(), Error> {
    let files = log_files(root)?;
    let mut reached = checkpoint.unwrap_or(0);
    let mut next = None;
    for (i, (first_ts, path)) in files.iter().enumerate() {
        let name = name_of("wal", path);
        let expected = match (next, checkpoint) {
            (Some(next), _) => Some(next),
            (None, Some(checkpoint)) if *first_ts > checkpoint + 1 => Some(checkpoint + 1),
            (None, _) => None,
        };
        if let Some(expected) = expected.filter(|expected| expected != first_ts) {
            let what = format!("commits {expected} to {} are missing", first_ts.wrapping_sub(1));
            let place = "the file before it";
            match checkpoint.is_some_and(|c| *first_ts <= c + 1) {
                true => report.add(Severity::Suspect, &name, place, what, GAP),
                false => report.damage(&name, place, what, LOST),
            }
        }
        let is_last = i + 1 == files.len();
        let end = check_file(path, &name, *first_ts, is_last, report)?;
        next = Some(end.unwrap_or(*first_ts));
        reached = reached.max(end.map_or(0, |end| end - 1));
    }
    if files.is_empty() {
        let lost = log_is_lost(root, checkpoint.unwrap_or(0), closed_at)?;
        let (what, advice) =
            lost.map_or(("there is no log file".into(), CLOSED), |(after, what)| {
                (format!("{what}: commits after {after}, if there were any, are lost"), LOST_LOG)
            });
        report.damage("wal", "the folder", what, advice);
    }
    report.last = reached;
    if let Some(closed_at) = closed_at.filter(|closed_at| *closed_at > reached) {
        let what = format!("the database was closed at commit {closed_at}, but ends at {reached}");
        report.damage("wal", "its end", what, RESTORE);
    }
    let archived = archive::path(root);
    if archived.is_dir() {
        let kept = inspect::list(&archived).map_err(Error::file("cannot list", &archived))?;
        let later = kept.iter().skip(1).map(|(ts, _)| *ts).chain(files.first().map(|(ts, _)| *ts));
        for ((first_ts, path), later) in kept.iter().zip(later.chain([u64::MAX])) {
            let name = name_of("archive", path);
            let end = check_file(path, &name, *first_ts, false, report)?;
            if let Some(end) = end.filter(|end| *end < later && later != u64::MAX) {
                let what = format!("commits {end} to {} are missing", later - 1);
                report.add(Severity::Suspect, &name, "its end", what, GAP);
            }
        }
    }
    Ok(())
}

fn name_of(folder: &str, path: &Path) -> PathBuf {
    Path::new(folder).join(path.file_name().unwrap_or_default())
}

/// Checks a file; returns the timestamp that would follow its last record.
pub(super) fn check_file(
    path: &Path,
    name: &Path,
    first_ts: u64,
    is_last: bool,
    report: &mut CheckReport,
) -> Result<Option<u64>, Error> {
    let bytes = fs::read(path).map_err(Error::file("cannot read", path))?;
    report.bytes += bytes.len() as u64;
    // Numbers of label sets mean nothing here; only whether the record can be read.
    let sets = LabelSets::new();
    let mut unreadable = Vec::new();
    let scan = inspect::scan(path, &bytes, first_ts, &mut |seen| {
        if let Err(e) = record::decode(seen.payload, &sets) {
            unreadable.push((seen.offset, seen.ts, e));
        }
        true
    });
    let scan = match scan {
        Ok(scan) => scan,
        Err(WalError::NewerFormat { found, supported, .. }) => {
            report.newer(name, found, supported);
            return Ok(None);
        }
        Err(e) => {
            let (severity, advice) = match is_last && bytes.len() <= 32 {
                true => (Severity::Suspect, TORN),
                false => (Severity::Damage, LOST),
            };
            report.add(severity, name, "its header", e, advice);
            return Ok(None);
        }
    };
    report.records += scan.records;
    for (offset, ts, e) in unreadable {
        let what = format!("commit {ts} cannot be read: {e}");
        report.damage(name, format_args!("offset {offset}"), what, LOST);
    }
    for Fault { offset, what, expected_ts, resumed_ts } in scan.faults {
        let place = format!("offset {offset}");
        match resumed_ts {
            Some(found) if found == expected_ts => {
                report.damage(name, place, format!("{what}, before commit {found}"), LOST);
            }
            Some(found) => {
                let lost = match found - expected_ts {
                    1 => format!("commit {expected_ts} is lost"),
                    _ => format!("commits {expected_ts} to {} are lost", found - 1),
                };
                report.damage(name, place, format!("{what}; {lost}"), LOST);
            }
            None if is_last => {
                let left = bytes.len() - offset;
                let what = format!("{what}: {left} bytes after commit {}", expected_ts - 1);
                report.add(Severity::Suspect, name, place, what, TORN);
            }
            None => report.damage(name, place, format!("{what}, and later files follow"), LOST),
        }
    }
    Ok(Some(scan.next_ts))
}
