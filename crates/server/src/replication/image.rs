//! Image of a database: a full backup that one server sends and another restores.
//!
//! ```text
//!  take: backup into tmp/ ─► files opened ─► their folder removed ─► write: one stream of frames
//!  fetch: stream ─► NAME.fetching ─► restore ─► NAME.unfinished ─► rename ─► NAME
//! ```
//!
//! The files have no names any more while they are sent, so the space is free again whatever
//! happens to the process or to the client. The folder that is fetched into is there whole or not
//! at all; what an interrupted attempt left is removed by the next one.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use telar_db::maintenance::{BackupOptions, Identity, Manifest, RestoreOptions, restore};
use telar_db::{CommitTs, Database};

use super::client::Client;
use super::error::Error;
use super::frame::{Packer, unpack};
use crate::dbms::{beside, make_private};

/// Name of the file that says what a backup holds.
const MANIFEST: &str = "MANIFEST";

/// Longest wait for the first byte: the source copies the whole database before.
const TAKING_TIME: Duration = Duration::from_secs(3600);

/// A database as of one commit, ready to be sent.
#[derive(Debug)]
pub struct Image {
    /// The commit.
    pub commit: CommitTs,
    /// Identity of the database.
    pub database: Identity,
    files: Vec<(String, u64, File)>,
}

impl Image {
    /// Copies the newest commit of a database into files, while readers and writers go on.
    ///
    /// # Errors
    /// Errors of a backup: a database in memory has none.
    pub fn take(database: &Database) -> Result<Self, telar_db::Error> {
        let failed = |action: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| telar_db::Error::File { action, path, source }
        };
        // Without a folder, the backup itself says why there is none.
        let below = database.folder().map_or_else(std::env::temp_dir, |root| root.join("tmp"));
        make_private(&below).map_err(failed("cannot create directory", &below))?;
        let folder = tempfile::Builder::new().prefix("image-").tempdir_in(&below);
        let folder = folder.map_err(failed("cannot create directory in", &below))?;
        let done = database.backup(folder.path(), &BackupOptions::default())?;
        let names = done.manifest.files.iter().map(|file| file.name.as_str());
        let mut files = Vec::new();
        for name in [MANIFEST].into_iter().chain(names) {
            let path = folder.path().join(name);
            let file = File::open(&path).map_err(failed("cannot open", &path))?;
            let bytes = file.metadata().map_err(failed("cannot examine", &path))?.len();
            files.push((name.to_owned(), bytes, file));
        }
        let (path, closed) = (folder.path().to_owned(), folder.close());
        closed.map_err(failed("cannot remove", &path))?;
        Ok(Self { commit: done.to, database: done.manifest.database, files })
    }

    /// Writes the stream.
    ///
    /// # Errors
    /// If `out` takes no more, or a file cannot be read.
    pub fn write(self, out: impl Write) -> io::Result<()> {
        let mut packer = Packer::begin(out)?;
        for (name, bytes, file) in self.files {
            packer.file(&name, bytes, file)?;
        }
        packer.end().map(drop)
    }
}

/// A database that was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetched {
    /// The commit that it is at.
    pub commit: CommitTs,
    /// Identity of the database that it is a copy of; the copy has one of its own.
    pub source: Identity,
    /// Bytes that came.
    pub bytes: u64,
}

/// Removes what an interrupted [`fetch`] into `target` has left.
///
/// # Errors
/// If it cannot be removed.
pub fn remove_leftovers(target: &Path) -> Result<(), Error> {
    for suffix in [".fetching", ".unfinished"] {
        let path = beside(target, suffix);
        match fs::remove_dir_all(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Error::File(format!("cannot remove {}: {e}", path.display())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Fetches the database `name` of a server into the folder `target`, which must not exist or be
/// empty; its folder must exist. The database there is closed and durable. For a `follower`, the
/// source keeps its log from there on.
///
/// # Errors
/// If the source does not send a whole image, or it cannot be written: nothing is at `target`.
pub fn fetch(
    client: &Client,
    name: &str,
    target: &Path,
    follower: Option<&str>,
) -> Result<Fetched, Error> {
    let query = follower.map(|follower| format!("?follower={follower}")).unwrap_or_default();
    fetch_at(client, &format!("/db/{name}/image{query}"), target)
}

/// As [`fetch`], of what a server has at a path.
///
/// # Errors
/// As [`fetch`].
pub fn fetch_at(client: &Client, at: &str, target: &Path) -> Result<Fetched, Error> {
    receive(client.get(at, TAKING_TIME)?, target)
}

/// Reads an image into the folder `target`, as [`fetch`] does.
///
/// # Errors
/// If it is not whole, or cannot be written: nothing is at `target`.
pub fn receive(body: impl Read, target: &Path) -> Result<Fetched, Error> {
    remove_leftovers(target)?;
    let folder = beside(target, ".fetching");
    let done = receive_into(body, target, &folder);
    // A failure is found by the next attempt, and the copy does not depend on it.
    let _ = fs::remove_dir_all(&folder);
    done
}

fn receive_into(body: impl Read, target: &Path, folder: &Path) -> Result<Fetched, Error> {
    make_private(folder)
        .map_err(|e| Error::File(format!("cannot make {}: {e}", folder.display())))?;
    let unpacked = unpack(body, folder)?;
    let manifest = Manifest::read(folder)?;
    let restored = restore(&[folder.to_owned()], target, &RestoreOptions::default())?;
    Ok(Fetched { commit: restored.to, source: manifest.database, bytes: unpacked.bytes })
}
