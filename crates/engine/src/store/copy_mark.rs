//! Mark of a copy of a replicated database: one that only its log may change.
//!
//! ```text
//!  COPY   "telar copy 1" newline
//! ```
//!
//! Set when a database is opened to follow, and taken away by a promotion by hand only: a commit
//! that is made in a copy by itself is in no log, and makes it another database than those that it
//! is a copy of. Backups have no mark: what is restored from one is a database of its own.

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::io::folder;

/// Name of the file.
pub(crate) const COPY_MARK: &str = "COPY";

const TEXT: &[u8] = b"telar copy 1\n";

/// Marks the database in `root`.
pub(super) fn set(root: &Path) -> Result<(), Error> {
    let path = root.join(COPY_MARK);
    if path.exists() {
        return Ok(());
    }
    folder::replace(&path, TEXT, || {}).map_err(Error::file("cannot write", &path))
}

/// True if the database in `root` is a copy.
pub(crate) fn is_set(root: &Path) -> bool {
    root.join(COPY_MARK).exists()
}

/// Takes the mark away, durable.
pub(crate) fn clear(root: &Path) -> Result<(), Error> {
    let path = root.join(COPY_MARK);
    match fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("cannot remove", &path)(e))
        }
        _ => folder::sync(root).map_err(Error::file("cannot sync directory", root)),
    }
}

/// Refuses the database in `root` if it is a copy.
pub(super) fn refuse(root: &Path) -> Result<(), Error> {
    match is_set(root) {
        true => Err(Error::IsACopy { path: root.into() }),
        false => Ok(()),
    }
}
