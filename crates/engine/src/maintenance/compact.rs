//! Compaction: the store file without the pages that nothing uses any more.
//!
//! LMDB keeps freed pages for later checkpoints and never shortens its file. A compacted copy is
//! written beside it, synced, checked and renamed over it: a crash leaves one or the other.

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::failpoint;
use crate::io::folder;
use crate::lmdb_check;
use crate::settings::Settings;
use crate::store::{Store, read_format};

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Length of the store file before.
    pub bytes_before: u64,
    /// And after.
    pub bytes_after: u64,
}

/// Rewrites the store file of the database in `path`, which must not be open, without free pages.
/// Needs as much free disk space as the result takes.
///
/// # Errors
/// [`Error::NotADatabase`], [`Error::Locked`], [`Error::Damaged`], [`Error::Store`],
/// [`Error::File`]. The database is as before.
pub fn compact(path: impl AsRef<Path>) -> Result<Compacted, Error> {
    let path = path.as_ref();
    expect_database(path)?;
    let store = Store::open(path, &Settings::default())?;
    store.verify()?;
    let (data, new) = (store.path().join("data.mdb"), store.path().join("data.mdb.new"));
    let len = |file: &Path| -> Result<u64, Error> {
        Ok(fs::metadata(file).map_err(Error::file("cannot examine", file))?.len())
    };
    let bytes_before = len(&data)?;
    let copy = store.copy_compact(&new)?;
    failpoint!("compact::copied");
    let damaged =
        |reason| Error::Damaged { path: new.clone(), place: "its structure".into(), reason };
    copy.sync_all().map_err(Error::file("cannot sync", &new))?;
    lmdb_check::check(&new).map_err(damaged)?;
    let bytes_after = len(&new)?;
    failpoint!("compact::before_rename");
    // The environment has the old file open; nothing is written to it from here on.
    fs::rename(&new, &data)
        .and_then(|()| folder::sync(&store.path()))
        .map_err(Error::file("cannot replace", &data))?;
    failpoint!("compact::renamed");
    Ok(Compacted { bytes_before, bytes_after })
}

/// Fails if there is no database in `path`, which opening its store would make.
pub(crate) fn expect_database(path: &Path) -> Result<(), Error> {
    match read_format(path)? {
        Some(_) => Ok(()),
        None => {
            Err(Error::NotADatabase { path: path.into(), reason: "it has no FORMAT file".into() })
        }
    }
}
