//! A database's directory: format mark, lock, log, checkpoint store.
//!
//! ```text
//!  graph.telar/
//!    FORMAT      "telar 3\n": format version, checked before anything else is touched
//!    IDENTITY    which database this is, see ops/identity.rs
//!    LOCK        locked while a process has the database open; names the process, or says
//!                how far the log reached when it was closed
//!    archive/    log files kept for backups, see ops/archive.rs
//!    wal/        write-ahead log, see wal/mod.rs
//!    store/      LMDB environment with the checkpoint, see checkpoint/mod.rs
//!    tmp/        sorted runs of a bulk load that is going on, see bulk/sort.rs
//! ```
#![expect(unsafe_code, reason = "opening an LMDB environment maps a file")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, RoTxn, RwTxn, WithoutTls};
use parking_lot::Mutex;

use crate::error::Error;
use crate::lmdb_check;
use crate::mapped::Stored;
use crate::ops::identity::{self, Identity};
use crate::settings::Settings;

/// Newest format this program writes and reads.
pub(crate) const FORMAT_VERSION: u32 = 3;
const FORMAT_NAME: &str = "telar ";
/// Most generations of the store that readers hold at a time: LMDB's reader slots.
const GENERATIONS_MAX: u32 = 4096;

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

/// The lock file of a database, locked.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file would do, but a child process being started may hold a copy of it for a
        // moment. Nothing can be done about a failure.
        let _ = self.0.unlock();
    }
}

/// Directory of the log.
pub(crate) fn wal_path(root: &Path) -> PathBuf {
    root.join("wal")
}

/// Takes the lock of the database in `root` and says so in it.
pub(crate) fn take_lock(root: &Path) -> Result<File, Error> {
    let path = root.join("LOCK");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(Error::file("cannot open lock file", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Who holds it is a courtesy; not being able to read it changes nothing.
            let _ = file.read_to_string(&mut holder);
            let holder = if holder.is_empty() { "unknown process".into() } else { holder };
            return Err(Error::Locked { path, holder: holder.trim().to_owned() });
        }
        Err(TryLockError::Error(source)) => {
            return Err(Error::File { action: "cannot lock", path, source });
        }
    }
    let write = |file: &mut File| {
        file.set_len(0)?;
        write!(file, "process {}", std::process::id())
    };
    write(&mut file).map_err(Error::file("cannot write lock file", &path))?;
    Ok(file)
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
        None => check_fresh(root).map(|()| false),
        Some(FORMAT_VERSION) => Ok(true),
        Some(found) => {
            Err(Error::OlderFormat { path: root.into(), found, supported: FORMAT_VERSION })
        }
    }
}

/// A directory without a format mark may hold our own half-made files and nothing else.
fn check_fresh(root: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(root).map_err(Error::file("cannot list", root))?;
    for entry in entries {
        let name = entry.map_err(Error::file("cannot list", root))?.file_name();
        if !["LOCK", "FORMAT.new", "IDENTITY", "IDENTITY.new"].iter().any(|ours| name == **ours) {
            let reason = format!("it holds {name:?} and no FORMAT file");
            return Err(Error::NotADatabase { path: root.into(), reason });
        }
    }
    Ok(())
}

/// Marks a directory as a database of the current format.
pub(crate) fn create_format(root: &Path) -> Result<(), Error> {
    let path = root.join("FORMAT");
    let new = root.join("FORMAT.new");
    let write = || {
        let mut file = File::create(&new)?;
        // Exactly this, so that every older program can read the version.
        writeln!(file, "{FORMAT_NAME}{FORMAT_VERSION}")?;
        crate::failpoint!("store::format_unsynced");
        file.sync_all()?;
        crate::failpoint!("store::format_before_rename");
        fs::rename(&new, &path)?;
        crate::failpoint!("store::format_after_rename");
        File::open(root)?.sync_all()
    };
    write().map_err(Error::file("cannot write", &path))
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

/// The store is made before the first log file: a log without a store has lost it.
fn check_store(path: &Path, wal: &Path) -> Result<(), Error> {
    let data = path.join("data.mdb");
    let damaged = |reason: String| Error::Damaged {
        path: data.clone(),
        place: "its structure".into(),
        reason,
    };
    let mut logs = fs::read_dir(wal).map_err(Error::file("cannot list", wal))?;
    match (fs::metadata(&data).map(|m| m.len()), logs.next()) {
        (Err(_), None) => return Ok(()),
        (Err(_), Some(_)) => {
            return Err(damaged("the file is missing, but there is a log".into()));
        }
        // The very first opening did not get as far as both of LMDB's meta pages, let alone a log.
        (Ok(len), None) if len < 8192 => {
            return fs::remove_file(&data).map_err(Error::file("cannot remove", &data));
        }
        (Ok(_), _) => {}
    }
    let file = File::open(&data).map_err(Error::file("cannot open", &data))?;
    // LMDB believes what the meta pages say. Everything else is looked at before it is followed.
    lmdb_check::Snapshot::newest(&file).map(drop).map_err(damaged)
}

/// What the lock file of a closed database says: how far its log is on disk, under a checksum.
fn closed_mark(last_ts: u64) -> String {
    let text = format!("closed at {last_ts}");
    let crc = crc32fast::hash(text.as_bytes());
    format!("{text} {crc:08x}\n")
}

/// The timestamp in a [`closed_mark`].
pub(crate) fn parse_closed_mark(text: &str) -> Option<u64> {
    let last_ts = text.strip_prefix("closed at ")?.split(' ').next()?.parse().ok()?;
    (text == closed_mark(last_ts)).then_some(last_ts)
}

impl Store {
    /// Opens or creates the directory: lock first, then format, then store.
    pub(crate) fn open(root: &Path, settings: &Settings) -> Result<Self, Error> {
        fs::create_dir_all(root).map_err(Error::file("cannot create directory", root))?;
        // Looked at once before anything is written to a directory that may not be ours, and again
        // once nobody else can be making it.
        check_format(root)?;
        let lock = Lock(take_lock(root)?);
        if !check_format(root)? {
            // The mark comes last: where there is one, there is an identity.
            identity::write(root, Identity::new())?;
            create_format(root)?;
        }
        let identity = identity::read(root)?;
        remove_temporary(root)?;
        let path = root.join("store");
        fs::create_dir_all(&path).map_err(Error::file("cannot create directory", &path))?;
        let wal = wal_path(root);
        fs::create_dir_all(&wal).map_err(Error::file("cannot create directory", &wal))?;
        check_store(&path, &wal)?;
        File::open(root)
            .and_then(|d| d.sync_all())
            .map_err(Error::file("cannot sync directory", root))?;
        crate::failpoint!("store::directories_made");
        let store = |source| Error::Store { path: path.clone(), source };
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        let bytes_max = usize::try_from(settings.store_bytes_max).unwrap_or(usize::MAX);
        options.map_size(bytes_max & !0xFFFF).max_readers(GENERATIONS_MAX);
        // SAFETY: the file is only changed through LMDB; our lock keeps other processes, and other
        // handles of this one, away from it.
        let env = unsafe { options.open(&path) }.map_err(store)?;
        let txn = env.write_txn().map_err(store)?;
        let database = env
            .create_databases_and_commit(txn, |dbo, txn| {
                dbo.create_database(txn, None).map(CommitOrAbort::<_, ()>::Commit)
            })
            .map_err(store)?
            .unwrap_commit();
        crate::failpoint!("store::opened");
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

    /// Says in the lock file that the database was closed with its log on disk up to `last_ts`, so
    /// that a check can tell a log that lost its end. A courtesy: a failure changes nothing.
    pub(crate) fn mark_closed(&self, last_ts: u64) {
        let text = closed_mark(last_ts);
        let mut file = &self.lock.0;
        let _ = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
        let _ = file.write_all(text.as_bytes());
    }

    /// Copies the store to `path` without its free pages.
    pub(crate) fn copy_compact(&self, path: &Path) -> Result<File, Error> {
        self.env.copy_to_path(path, heed::CompactionOption::Enabled).map_err(|e| self.error(e))
    }

    /// Path of the store, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join("store")
    }

    pub(crate) fn error(&self, source: heed::Error) -> Error {
        Error::Store { path: self.path(), source }
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
