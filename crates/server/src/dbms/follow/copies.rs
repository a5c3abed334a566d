//! The file of a follower: which copies it has, and of what.
//!
//! ```text
//! PATH/dbms/
//! ├─ follow.json     source, copies: replaced as a whole
//! └─ follow.lock     locked while a server or `telar promote` is at work
//! ```
//!
//! A folder of no copy is removed at the next start: it is of an image that did not come whole, or
//! of a copy that another one has replaced.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use telar_db::query::QueryError;

use super::super::failure::{invalid, storage};
use super::super::state::Entry;
use super::super::store::{make_private, write_json};

const FILE: &str = "follow.json";
const LOCK: &str = "follow.lock";
const FORMAT: u32 = 1;
/// File that every database has.
const DATABASE_MARK: &str = "FORMAT";

/// Copy of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CopyEntry {
    /// Its folder below `dbms/databases`.
    pub(super) folder: String,
    /// Identity of the database that it is a copy of.
    pub(super) source: String,
}

impl CopyEntry {
    /// The copy as a database of the server's state.
    pub(super) fn entry(&self) -> Entry {
        Entry { folder: self.folder.clone(), online: true }
    }
}

/// Content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Copies {
    /// Version of the form.
    format: u32,
    /// Random name of this follower at its source.
    pub(super) follower: String,
    /// Identity of the source's default database, once it is known.
    pub(super) source: Option<String>,
    /// Copies by name of the database.
    pub(super) databases: BTreeMap<String, CopyEntry>,
    /// True while a promotion moves files.
    #[serde(default)]
    pub(super) promoting: bool,
    #[serde(skip)]
    path: PathBuf,
}

/// The lock of a follower's folder.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file would do, but a child process being started may hold a copy of it for a
        // moment. Nothing can be done about a failure.
        let _ = self.file.unlock();
    }
}

fn folder(path: &Path) -> PathBuf {
    path.join("dbms")
}

/// True if the server's folder `path` is one of a follower.
pub(super) fn is_follower(path: &Path) -> bool {
    folder(path).join(FILE).exists()
}

/// The error of a folder whose promotion was interrupted.
pub(super) fn interrupted(path: &Path) -> QueryError {
    let path = path.display();
    invalid(format!("{path}: a promotion was interrupted: run `telar promote {path}` again"))
}

/// Refuses a server's folder whose databases are copies, for a server that follows nobody.
pub(in crate::dbms) fn refuse_copies(path: &Path) -> Result<(), QueryError> {
    if !is_follower(path) {
        return Ok(());
    }
    let path = path.display();
    Err(invalid(format!(
        "{path} holds copies of another server's databases: set follow.address (--follow), or end \
         following with `telar promote {path}`"
    )))
}

/// Makes the folder of a follower, and locks it.
pub(super) fn begin(path: &Path) -> Result<Lock, QueryError> {
    let folder = folder(path);
    let own = [path.join(DATABASE_MARK), folder.join("system.json"), folder.join("cluster.json")];
    if !is_follower(path) && own.iter().any(|file| file.exists()) {
        return Err(invalid(format!(
            "{} holds a server's own databases: a server that follows needs a folder of its own \
             (store.path)",
            path.display()
        )));
    }
    let make = || {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        make_private(path)?;
        make_private(&folder)
    };
    make().map_err(|e| storage(&format!("cannot make {}", folder.display()), e))?;
    lock(path)
}

/// Locks the folder of a follower.
pub(super) fn lock(path: &Path) -> Result<Lock, QueryError> {
    let path = folder(path).join(LOCK);
    let wrong = |e: io::Error| storage(&format!("cannot lock {}", path.display()), e);
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.write(true).create(true).truncate(false).open(&path).map_err(wrong)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock { file }),
        Err(fs::TryLockError::WouldBlock) => {
            Err(invalid(format!("{} is locked: a server runs there", path.display())))
        }
        Err(fs::TryLockError::Error(e)) => Err(wrong(e)),
    }
}

impl Copies {
    /// Reads the file.
    pub(super) fn load(path: &Path) -> Result<Option<Self>, QueryError> {
        let path = folder(path).join(FILE);
        let wrong =
            |e: &dyn std::fmt::Display| storage(&format!("cannot read {}", path.display()), e);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(wrong(&e)),
        };
        let copies: Self = serde_json::from_slice(&bytes).map_err(|e| wrong(&e))?;
        match copies.format {
            FORMAT => Ok(Some(Self { path, ..copies })),
            format => Err(wrong(&format!("its format is {format}, of a newer program"))),
        }
    }

    /// Reads the file, or makes one without copies.
    pub(super) fn load_or_make(path: &Path) -> Result<Self, QueryError> {
        if let Some(copies) = Self::load(path)? {
            return Ok(copies);
        }
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|e| storage("no randomness", e))?;
        let copies = Self {
            format: FORMAT,
            follower: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            source: None,
            databases: BTreeMap::new(),
            promoting: false,
            path: folder(path).join(FILE),
        };
        copies.save()?;
        Ok(copies)
    }

    /// Replaces the file.
    pub(super) fn save(&self) -> Result<(), QueryError> {
        let write = || {
            let new = self.path.with_extension("json.new");
            write_json(&new, self)?;
            fs::rename(&new, &self.path)?;
            self.sync()
        };
        write().map_err(|e| storage(&format!("cannot write {}", self.path.display()), e))
    }

    /// Removes the file: the folder is no follower's any more.
    pub(super) fn remove(self) -> Result<(), QueryError> {
        let removed = fs::remove_file(&self.path).and_then(|()| self.sync());
        removed.map_err(|e| storage(&format!("cannot remove {}", self.path.display()), e))
    }

    fn sync(&self) -> io::Result<()> {
        self.path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}
