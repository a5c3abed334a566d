//! Promotion of a copy by hand: from a copy of a log to a database of its own.
//!
//! ```text
//!  COPY there ── opened to follow ── closed with a checkpoint ── COPY removed
//! ```
//!
//! Crash cases: until the mark is gone it is a copy, and promotion can be run again.

use std::path::Path;

use telar_graph::CommitTs;

use crate::engine::Engine;
use crate::error::Error;
use crate::settings::Settings;
use crate::store::{copy_mark, read_format};

/// Makes the copy in the folder `path` a database of its own, which takes commits once it is
/// opened; returns the last commit that it has. One that is no copy stays as it is.
///
/// # Errors
/// [`Error::NotADatabase`] if there is none; [`Error::Locked`] and others of
/// [`Engine::open_to_follow`]: the copy stays one.
pub fn promote_copy(path: impl AsRef<Path>, settings: Settings) -> Result<CommitTs, Error> {
    let path = path.as_ref();
    if read_format(path)?.is_none() {
        return Err(Error::NotADatabase {
            path: path.into(),
            reason: "it has no FORMAT file".into(),
        });
    }
    let db = match copy_mark::is_set(path) {
        true => Engine::open_to_follow(path, settings)?,
        false => Engine::open(path, settings)?,
    };
    let at = db.published();
    db.close()?;
    copy_mark::clear(path)?;
    Ok(at)
}
