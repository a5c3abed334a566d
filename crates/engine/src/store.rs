//! A database's directory: format mark, lock, log, checkpoint store.
//!
//! ```text
//!  graph.telar/
//!    FORMAT      "telar 3\n": format version, checked before anything else is touched
//!    IDENTITY    which database this is, see store/identity.rs
//!    LOCK        locked while a process has the database open; names the process, or says
//!                how far the log reached when it was closed
//!    archive/    log files kept for backups, see store/archive.rs
//!    wal/        write-ahead log, see wal/mod.rs
//!    store/      LMDB environment with the checkpoint, see checkpoint/mod.rs
//!    near/       graphs of vector indexes, see index/near_file.rs
//!    tmp/        sorted runs of a bulk load that is going on, see bulk/sort.rs
//! ```

pub(crate) mod archive;
pub(crate) mod changes;
pub(crate) mod copy_mark;
mod environment;
mod fresh;
pub(crate) mod identity;
mod lock;
pub(crate) mod progress;

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use heed::types::Bytes;
use heed::{Database, Env, RoTxn, RwTxn, WithoutTls};
use parking_lot::Mutex;

pub(crate) use fresh::{StoreState, log_files, log_is_lost, log_without_store, store_state};
pub(crate) use lock::{Access, Lock, parse_closed_mark};

use crate::error::Error;
use crate::io::folder;
use crate::lmdb_check;
use crate::mapped::Stored;
use crate::settings::Settings;
use crate::wal::Durability;
pub(crate) use copy_mark::COPY_MARK;
use environment::Environment;
use identity::Identity;

/// Newest format this program writes and reads.
pub(crate) const FORMAT_VERSION: u32 = 3;
const FORMAT_NAME: &str = "telar ";

/// Free bytes below which a disk is full.
const FULL_BYTES: u64 = 256 << 10;
/// `EIO`.
const INPUT_OUTPUT_ERROR: i32 = 5;

/// The checkpoint store of an open database, and the lock that makes it ours.
#[derive(Debug)]
pub(crate) struct Store {
    root: PathBuf,
    identity: Identity,
    /// Values, for whoever reads one by one; before `env`, which it has open, too.
    stored: Arc<Stored>,
    env: Env<WithoutTls>,
    database: Database<'static, Bytes, Bytes>,
    /// Whether the structure of the file was looked at as a whole since it was opened.
    verified: Mutex<bool>,
    /// Held for as long as the database is open.
    lock: Lock,
}

/// Directory of the log.
pub(crate) fn wal_path(root: &Path) -> PathBuf {
    root.join("wal")
}

/// The format version of the database in `root`; `None` if there is no format mark.
pub(crate) fn read_format(root: &Path) -> Result<Option<u32>, Error> {
    let path = root.join("FORMAT");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::file("cannot read", &path)(e)),
    };
    let text = String::from_utf8_lossy(&bytes);
    let version = text.strip_prefix(FORMAT_NAME).and_then(|v| v.trim().parse::<u32>().ok());
    match version {
        Some(found) if found > FORMAT_VERSION => {
            Err(Error::NewerFormat { path: root.into(), found, supported: FORMAT_VERSION })
        }
        Some(found @ 1..) => Ok(Some(found)),
        _ => Err(Error::NotADatabase {
            path: root.into(),
            reason: "its FORMAT file is not one of ours".into(),
        }),
    }
}

/// Whether the directory has a format mark, one that this program can work with.
fn check_format(root: &Path) -> Result<bool, Error> {
    match read_format(root)? {
        None => fresh::check(root).map(|()| false),
        Some(FORMAT_VERSION) => Ok(true),
        Some(found) => {
            Err(Error::OlderFormat { path: root.into(), found, supported: FORMAT_VERSION })
        }
    }
}

/// Marks a directory as a database of the current format.
pub(crate) fn create_format(root: &Path) -> Result<(), Error> {
    let path = root.join("FORMAT");
    // Exactly this, so that every older program can read the version.
    let text = format!("{FORMAT_NAME}{FORMAT_VERSION}\n");
    let renaming = || {
        crate::failpoint!("store::format_before_rename");
    };
    folder::replace(&path, text.as_bytes(), renaming)
        .map_err(Error::file("cannot write", &path))?;
    crate::failpoint!("store::format_after_rename");
    Ok(())
}

/// Folder for files of a bulk load; whatever stands in it when a database is opened is left over.
pub(crate) fn temporary_path(root: &Path) -> PathBuf {
    root.join("tmp")
}

fn remove_temporary(root: &Path) -> Result<(), Error> {
    let path = temporary_path(root);
    match fs::remove_dir_all(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("cannot remove", &path)(e))
        }
        _ => Ok(()),
    }
}

/// Looks at the store before LMDB does. One that was never written is made anew.
fn check_store(root: &Path) -> Result<(), Error> {
    let data = root.join("store/data.mdb");
    let damaged = |reason: String| Error::Damaged {
        path: data.clone(),
        place: "its structure".into(),
        reason,
    };
    match store_state(root)? {
        StoreState::Lost(why) => return Err(damaged(why)),
        StoreState::Unwritten => match fs::remove_file(&data) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("cannot remove", &data)(e));
            }
            _ => return Ok(()),
        },
        StoreState::Written => {}
    }
    let file = File::open(&data).map_err(Error::file("cannot open", &data))?;
    // LMDB believes what the meta pages say. Everything else is looked at before it is followed.
    lmdb_check::Snapshot::newest(&file).map(drop).map_err(damaged)
}

/// Free bytes of the disk, if it is full, and that is why `source` came: a write that the system
/// cuts short is an input/output error to LMDB.
fn free_if_full(path: &Path, source: &heed::Error) -> Option<u64> {
    let heed::Error::Io(cause) = source else { return None };
    let disk = rustix::fs::statvfs(path).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let full = match cause.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => true,
        _ => cause.raw_os_error() == Some(INPUT_OUTPUT_ERROR) && free < FULL_BYTES,
    };
    full.then_some(free)
}

impl Store {
    /// Opens or creates the directory: lock first, then format, then store.
    pub(crate) fn open(root: &Path, settings: &Settings) -> Result<Self, Error> {
        // Looked at once before anything is written to a directory that may not be ours, and again
        // once nobody else can be making it.
        if root.exists() {
            check_format(root)?;
        }
        folder::make(root).map_err(Error::file("cannot create directory", root))?;
        let lock = Lock::take(root, settings.shared)?;
        let follows = settings.durability == Durability::Replicated;
        if !follows {
            copy_mark::refuse(root)?;
        }
        let is_new = !check_format(root)?;
        if is_new {
            // Records of another log do not fit this one's.
            let salt = RandomState::new().hash_one(std::process::id());
            fresh::make(root, salt as u32)?;
        } else {
            remove_temporary(root)?;
            check_store(root)?;
        }
        let path = root.join("store");
        folder::make(&path).map_err(Error::file("cannot create directory", &path))?;
        let environment = environment::open(&path, settings, Access::Write)?;
        // What no checkpoint has synced yet, the file itself included: commits are accepted from
        // here on.
        let store = |source| Error::Store { path: path.clone(), source };
        environment.0.force_sync().map_err(store)?;
        folder::sync(&path).map_err(Error::file("cannot sync directory", &path))?;
        crate::failpoint!("store::opened");
        if is_new {
            // The mark comes last: where there is one, there is everything else.
            identity::write(root, Identity::new())?;
            create_format(root)?;
        } else {
            [&path, &wal_path(root), &archive::path(root)]
                .into_iter()
                .for_each(|f| folder::close(f));
            folder::close_files(root);
        }
        if follows {
            copy_mark::set(root)?;
        }
        Self::new(root, settings, environment, lock)
    }

    /// Opens a database that is there, to read it: no file is made, changed or removed.
    pub(crate) fn open_to_read(root: &Path, settings: &Settings) -> Result<Self, Error> {
        if !check_format(root)? {
            let reason = "it has no FORMAT file".into();
            return Err(Error::NotADatabase { path: root.into(), reason });
        }
        let lock = Lock::share(root)?;
        if store_state(root)? == StoreState::Unwritten {
            return Err(Error::Damaged {
                path: root.join("store/data.mdb"),
                place: "the file".into(),
                reason: "it was never written; the next opening that may write makes it from the \
                         log"
                .into(),
            });
        }
        check_store(root)?;
        let environment = environment::open(&root.join("store"), settings, Access::Read)?;
        Self::new(root, settings, environment, lock)
    }

    fn new(
        root: &Path,
        settings: &Settings,
        (env, database): Environment,
        lock: Lock,
    ) -> Result<Self, Error> {
        let path = root.join("store");
        let identity = identity::read(root)?;
        let stored = Arc::new(Stored::open(&path, env.clone(), settings)?);
        let verified = Mutex::new(false);
        Ok(Self { root: root.into(), identity, stored, env, database, verified, lock })
    }

    /// Directory of the database.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Which database this is.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// The lock file.
    pub(crate) fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Copies the store to `path` without its free pages.
    pub(crate) fn copy_compact(&self, path: &Path) -> Result<File, Error> {
        let mut file = folder::create(path).map_err(Error::file("cannot create", path))?;
        let copied = self.env.copy_to_file(&mut file, heed::CompactionOption::Enabled);
        copied.map(|()| file).map_err(|e| self.error(e))
    }

    /// Path of the store, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join("store")
    }

    pub(crate) fn error(&self, source: heed::Error) -> Error {
        let path = self.path();
        match free_if_full(&path, &source) {
            Some(free) => Error::DiskFull { path, free },
            None => Error::Store { path, source },
        }
    }

    /// The store as the source of what is not in memory.
    pub(crate) fn stored(&self) -> &Arc<Stored> {
        &self.stored
    }

    /// Looks at the structure of the whole file, the first time it is called: LMDB follows what it
    /// finds without looking, when it writes more so than when it reads. Nobody writes meanwhile.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        let mut verified = self.verified.lock();
        if !*verified {
            let data = self.path().join("data.mdb");
            if let Err(reason) = lmdb_check::check(&data) {
                self.stored.note("its structure".into(), reason.clone());
                let place = "its structure".into();
                return Err(Error::Damaged { path: data, place, reason });
            }
            *verified = true;
        }
        Ok(())
    }

    pub(crate) fn read(&self) -> Result<RoTxn<'_, WithoutTls>, Error> {
        self.env.read_txn().map_err(|e| self.error(e))
    }

    pub(crate) fn write(&self) -> Result<RwTxn<'_>, Error> {
        self.env.write_txn().map_err(|e| self.error(e))
    }

    pub(crate) fn database(&self) -> Database<'static, Bytes, Bytes> {
        self.database
    }

    /// Bytes of log on disk.
    pub(crate) fn log_bytes(&self) -> u64 {
        let Ok(entries) = fs::read_dir(wal_path(&self.root)) else {
            return 0;
        };
        entries.filter_map(|e| e.ok()?.metadata().ok()).map(|m| m.len()).sum()
    }
}

/// Names a stored value in an error message.
pub(crate) fn damaged(store: &Store, key: &[u8], reason: impl Into<String>) -> Error {
    let hex: String = key.iter().map(|b| format!("{b:02x}")).collect();
    Error::Damaged { path: store.path(), place: format!("key {hex}"), reason: reason.into() }
}
