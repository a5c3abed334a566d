//! The folder in which a new database is put together, beside the place it is to stand at.
//!
//! ```text
//!  NAME.unfinished ── everything is made here, opened, closed ── rename ──► NAME
//! ```
//!
//! So the target is there whole or not at all, and nothing is ever overwritten. A crash leaves the
//! folder, which the next attempt names instead of using it: somebody may be at work there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::io::folder;

/// A place for a new database.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    folder: PathBuf,
}

impl Staging {
    /// Returns the staging folder of `target`. Neither may hold anything; nothing is made yet.
    ///
    /// # Errors
    /// [`Error::TargetExists`].
    pub fn begin(target: &Path) -> Result<Self, Error> {
        let taken = match fs::read_dir(target) {
            Ok(mut entries) => entries.next().is_some(),
            Err(e) => e.kind() != std::io::ErrorKind::NotFound,
        };
        if taken {
            return Err(Error::TargetExists { path: target.into() });
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(".unfinished");
        let folder = target.with_file_name(name);
        if folder.exists() {
            // Of a run that was interrupted, or of one that is at work.
            return Err(Error::TargetExists { path: folder });
        }
        Ok(Self { target: target.to_owned(), folder })
    }

    /// The folder to work in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives the folder, which holds a closed database, the name of the target.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn publish(self) -> Result<(), Error> {
        let Self { target, folder } = self;
        fs::rename(&folder, &target)
            .and_then(|()| folder::sync_name(&target))
            .map_err(Error::file("cannot give its name to", &target))
    }

    /// Removes what was made so far, after a failure.
    pub fn discard(self) {
        // What cannot be removed is reported by the next attempt.
        let _ = fs::remove_dir_all(self.folder);
    }
}
