//! The small files of a database, and whether everything is there.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use super::{CheckReport, Severity};
use crate::error::Error;
use crate::maintenance::assemble::REPAIRED;
use crate::store::{COPY_MARK, FORMAT_VERSION, identity, parse_closed_mark, read_format};

/// What may be in the directory of a database.
const KNOWN: [&str; 10] =
    ["FORMAT", "IDENTITY", "LOCK", "wal", "store", "archive", "tmp", "live", "near", COPY_MARK];
/// What a crash may leave.
const LEFT_OVER: [&str; 3] = ["FORMAT.new", "IDENTITY.new", "COPY.new"];
const REPAIR: &str = "`telar repair` writes it anew";

/// Holds the lock of a database that is being checked, where there is one.
#[derive(Debug)]
pub(crate) struct Held(Option<File>);

impl Drop for Held {
    fn drop(&mut self) {
        // Closing the file would do, but a child process being started may hold a copy of it for a
        // moment. Nothing can be done about a failure.
        let _ = self.0.as_ref().map(File::unlock);
    }
}

/// Takes the lock without writing into it: what stands there is looked at, too.
pub(crate) fn lock(root: &Path) -> Result<Held, Error> {
    let path = root.join("LOCK");
    let Ok(file) = File::open(&path) else {
        return Ok(Held(None));
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Held(Some(file))),
        Err(TryLockError::WouldBlock) => {
            let holder = fs::read_to_string(&path).unwrap_or_default();
            Err(Error::Locked { path, holder: holder.trim().to_owned(), shares: false })
        }
        Err(TryLockError::Error(source)) => {
            Err(Error::File { action: "cannot lock", path, source })
        }
    }
}

/// Checks the small files. Returns `None` if the rest is not for this program to judge.
pub(super) fn check(root: &Path, report: &mut CheckReport) -> Result<Option<Held>, Error> {
    let names: Vec<String> = fs::read_dir(root)
        .map_err(Error::file("cannot list", root))?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    let has = |name: &str| names.iter().any(|n| n == name);
    if !has("FORMAT") && !has("IDENTITY") && !has("store") && !has("wal") {
        let reason = "it has none of a database's files, and no MANIFEST of a backup".into();
        return Err(Error::NotADatabase { path: root.into(), reason });
    }
    let held = lock(root)?;
    match read_format(root) {
        Ok(Some(FORMAT_VERSION)) => {
            let bytes = fs::read(root.join("FORMAT")).unwrap_or_default();
            if bytes != format!("telar {FORMAT_VERSION}\n").as_bytes() {
                report.damage("FORMAT", "its text", "there is more in it than a version", REPAIR);
            }
        }
        Ok(Some(older)) => {
            let what = format!("it is of format version {older}");
            report.add(Severity::Note, "FORMAT", "its text", what, "run `telar upgrade`");
        }
        Ok(None) => report.damage("FORMAT", "the file", "it is missing", REPAIR),
        Err(Error::NewerFormat { found, supported, .. }) => {
            report.newer("FORMAT", found, supported);
            return Ok(None);
        }
        Err(Error::NotADatabase { reason, .. }) => {
            report.damage("FORMAT", "its text", reason, REPAIR);
        }
        Err(e) => return Err(e),
    }
    let older = matches!(read_format(root), Ok(Some(v)) if v < FORMAT_VERSION);
    match identity::read(root) {
        Ok(_) => {}
        Err(_) if older => {}
        Err(Error::Damaged { reason, .. }) => {
            report.damage("IDENTITY", "its text", reason, REPAIR);
        }
        Err(e) => report.damage("IDENTITY", "the file", e, REPAIR),
    }
    check_lock_text(root, report);
    for name in &names {
        let advice = "if you did not put it there, find out who did";
        match name.as_str() {
            known if KNOWN.contains(&known) => {}
            left if LEFT_OVER.contains(&left) => {
                let what = "a crash while the database was being made left it";
                report.add(Severity::Note, left, "the file", what, "nothing: it is not used");
            }
            REPAIRED => {
                let text = fs::read_to_string(root.join(REPAIRED)).unwrap_or_default();
                let what = format!("`telar repair` made the database and lost {}", text.trim());
                let advice = "nothing: what is here is whole; remove the file once you know";
                report.add(Severity::Note, REPAIRED, "its text", what, advice);
            }
            "dbms" => check_server(&root.join("dbms"), report),
            other => report.add(Severity::Note, other, "the file", "it is not ours", advice),
        }
    }
    Ok(Some(held))
}

/// The folder of a server beside its default database: the other databases are checked by
/// themselves.
fn check_server(folder: &Path, report: &mut CheckReport) {
    for entry in fs::read_dir(folder.join("databases")).into_iter().flatten().flatten() {
        let name = Path::new("dbms/databases").join(entry.file_name());
        let what = "a server has another database here, which this check does not look at";
        report.add(Severity::Note, name, "the folder", what, "check it by its own path, too");
    }
}

/// The timestamp at which the database was closed, if its lock file says so.
pub(crate) fn closed_at(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("LOCK")).ok()?;
    parse_closed_mark(&text)
}

fn check_lock_text(root: &Path, report: &mut CheckReport) {
    let bytes = match fs::read(root.join("LOCK")) {
        Ok(bytes) => bytes,
        Err(_) => {
            let advice = "nothing: the next opening makes it";
            report.add(Severity::Note, "LOCK", "the file", "it is missing", advice);
            return;
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let process = text.strip_prefix("process ").is_some_and(|n| n.parse::<u32>().is_ok());
    if process || text.is_empty() {
        // An opening that was refused leaves an empty file where there was none.
        let what = "the database was not closed; opening it replays its log";
        report.add(Severity::Note, "LOCK", "its text", what, "nothing");
    } else if closed_at(root).is_none() {
        let advice = "nothing: the next opening writes it anew";
        report.add(Severity::Suspect, "LOCK", "its text", "it is not one of ours", advice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that is being started has copies of all descriptors until it runs its program.
    #[test]
    fn a_copy_of_its_descriptor_does_not_keep_a_database_locked() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("LOCK"), "closed").unwrap();
        let held = lock(folder.path()).unwrap();
        let copy = held.0.as_ref().unwrap().try_clone().unwrap();
        let other = File::open(folder.path().join("LOCK")).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        other.try_lock().unwrap();
        drop(copy);
    }
}
