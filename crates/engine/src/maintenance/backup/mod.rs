//! Online backup: the state at one commit, copied while readers and writers go on.
//!
//! ```text
//!  DIR/
//!    MANIFEST            written last; see manifest.rs
//!    image               values of the checkpoint at C, or those changed since; see image.rs
//!    wal/wal-….log       the commits after C (or after the backup before), up to T
//! ```
//!
//! 1. Hold checkpoints off for a moment: open an LMDB read transaction (the checkpoint at C), make
//!    the log durable up to T, open the log files. An open file stays readable when it is removed.
//! 2. Copy the log, every record checked, up to T.
//! 3. Copy the values: all, or with a predecessor those that checkpoints after its C wrote, which
//!    the change lists name (`store/changes.rs`).
//! 4. Sync, then write the manifest.
//!
//! T is durable before anything is copied, so no crash can take a commit back that a backup holds.
//! Writers never wait for a backup. While it runs the store reuses no page of C, so it grows by
//! what checkpoints write meanwhile.
//!
//! Crash cases: without `MANIFEST` the directory is no backup; the database knows nothing of it.
//!
//! Cost: with a predecessor, proportional to the values and commits since; 9 bytes per changed key
//! in memory.

mod log;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use telar_graph::CommitTs;

use crate::clock::wall::now_ms;
use crate::engine::Engine;
use crate::error::Error;
use crate::failpoint;
use crate::format::{Kind, key};
use crate::graph::Durable;
use crate::io::folder;
use crate::maintenance::image::{Pace, Sink};
use crate::maintenance::manifest::{BasedOn, FileEntry, Manifest};
use crate::store::changes::{self, Key, List, keys_since};
use crate::store::identity::Identity;
use crate::store::{FORMAT_VERSION, Store, damaged};

/// How a backup is taken.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BackupOptions {
    /// The backup to continue: only what changed since is copied. `None` for a full backup.
    pub since: Option<PathBuf>,
    /// Most bytes written per second, 0 for no limit: for disks that writers need, too.
    pub bytes_per_s_max: u64,
}

/// What a backup did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BackupDone {
    /// Its manifest.
    pub manifest: Manifest,
    /// The commit it restores to.
    pub to: CommitTs,
    /// Bytes written.
    pub bytes: u64,
    /// Values copied.
    pub values: u64,
    /// Commits in its log.
    pub commits: u64,
    /// Time it took.
    pub took: Duration,
}

/// What a running backup reads from: one checkpoint and the log after it.
struct Source<'d> {
    store: &'d Store,
    txn: heed::RoTxn<'d, heed::WithoutTls>,
    checkpoint: u64,
    to: u64,
    log: Vec<log::LogFile>,
}

impl<'d> Source<'d> {
    fn open(durable: &'d Durable) -> Result<Self, Error> {
        // Held so that no checkpoint cuts the log between the two looks.
        let progress = durable.progress.lock();
        // LMDB is going to follow every page.
        durable.store.verify()?;
        let txn = durable.store.read()?;
        durable.wal.flush()?;
        let to = durable.wal.durable_ts();
        let log = log::open_files(durable.store.root(), to)?;
        Ok(Self { store: &durable.store, txn, checkpoint: progress.last, to, log })
    }

    fn value(&self, key: &[u8]) -> Result<Option<&[u8]>, Error> {
        self.store.database().get(&self.txn, key).map_err(|e| self.store.error(e))
    }

    fn list(&self, key: &Key) -> Result<Option<List>, Error> {
        let decode = |value| List::decode(key, value).map_err(|e| damaged(self.store, key, e));
        self.value(key)?.map(decode).transpose()
    }

    /// Writes the image; returns how many values it holds.
    fn image(&self, base: Option<BasedOn>, sink: &mut Sink<'_>) -> Result<u64, Error> {
        sink.image_head()?;
        let mut values = 0;
        let store_error = |e| self.store.error(e);
        match base {
            None => {
                let items = self.store.database().iter(&self.txn).map_err(store_error)?;
                for item in items {
                    let (key, value) = item.map_err(store_error)?;
                    if !changes::is_list(key) {
                        sink.frame(key, Some(value))?;
                        failpoint!("backup::value");
                        values += 1;
                    }
                }
            }
            Some(base) if base.checkpoint < self.checkpoint => {
                let read = |key: &Key| self.list(key);
                let Some(mut keys) = keys_since(base.checkpoint, self.checkpoint, read)? else {
                    return Err(Error::Backup {
                        path: sink.directory().into(),
                        reason: format!(
                            "what changed since the checkpoint {} of the backup it is to continue \
                             is no longer known: take a full backup",
                            base.checkpoint
                        ),
                    });
                };
                keys.insert(key(Kind::Meta, 0, 0, 0));
                for key in keys {
                    sink.frame(&key, self.value(&key)?)?;
                    failpoint!("backup::value");
                    values += 1;
                }
            }
            Some(_) => {}
        }
        Ok(values)
    }
}

/// Makes the directory of a backup.
fn make_directory(path: &Path) -> Result<(), Error> {
    if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::TargetExists { path: path.into() });
    }
    for folder in [path, &path.join("wal")] {
        folder::make(folder).map_err(Error::file("cannot create directory", folder))?;
    }
    Ok(())
}

/// Reads the backup to continue and refuses one that this database cannot continue.
fn read_base(since: &Path, database: Identity, source: &Source<'_>) -> Result<BasedOn, Error> {
    let Manifest { id, database: of, checkpoint, to, .. } = Manifest::read(since)?;
    let refuse = |reason: String| Err(Error::Backup { path: since.into(), reason });
    if of != database {
        return refuse(format!(
            "it is of database {of}, this is {database}: take a full backup (a database that was \
             restored or repaired is a new one)"
        ));
    }
    if to > source.to || checkpoint > source.checkpoint {
        return refuse(format!(
            "it reaches commit {to}, but the database has only {}: take a full backup",
            source.to
        ));
    }
    Ok(BasedOn { id, to, checkpoint })
}

impl Engine {
    /// Copies the database as of its newest commit into `directory`, which must not exist or be
    /// empty, while readers and writers go on. Returns once the backup is on disk.
    ///
    /// # Errors
    /// [`Error::TargetExists`]; [`Error::Backup`] if the backup to continue is not one of this
    /// database, or what changed since is no longer known; [`Error::Damaged`] if the log or a value
    /// is; [`Error::File`], [`Error::Store`], [`Error::Log`]. The database is as before, and what
    /// was written is not taken for a backup.
    ///
    /// # Examples
    /// ```
    /// use telar_engine::maintenance::{BackupOptions, RestoreOptions, restore};
    /// use telar_engine::{Engine, Settings};
    ///
    /// # let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    /// # let path = |name: &str| folder.path().join(name);
    /// let db = Engine::open(path("graph.telar"), Settings::default())?;
    /// let person = db.label("Person")?;
    /// db.backup(path("monday"), &BackupOptions::default())?;
    ///
    /// db.write(Default::default(), |txn| txn.create_vertex(&[person]))?;
    /// let mut options = BackupOptions::default();
    /// options.since = Some(path("monday"));
    /// db.backup(path("tuesday"), &options)?;
    ///
    /// let chain = [path("monday"), path("tuesday")];
    /// restore(&chain, path("restored.telar"), &RestoreOptions::default())?;
    /// let restored = Engine::open(path("restored.telar"), Settings::default())?;
    /// assert!(restored.reader()?.exists(telar_graph::VertexId::from_raw(0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(
        &self,
        directory: impl AsRef<Path>,
        options: &BackupOptions,
    ) -> Result<BackupDone, Error> {
        let (directory, begun) = (directory.as_ref(), Instant::now());
        let Some(durable) = &self.shared.durable else {
            let reason = "a database in memory cannot be backed up: it has no checkpoints".into();
            return Err(Error::Backup { path: directory.into(), reason });
        };
        let database = durable.store.identity();
        let source = Source::open(durable)?;
        let since = options.since.as_deref();
        let base = since.map(|since| read_base(since, database, &source)).transpose()?;
        make_directory(directory)?;
        failpoint!("backup::begun");

        let mut pace = Pace::new(options.bytes_per_s_max);
        let wanted_after = base.map_or(source.checkpoint, |base| base.to);
        let (log_after, mut files) =
            log::copy(&source.log, wanted_after, source.to, directory, &mut pace)?;
        if log_after > source.checkpoint.max(base.map_or(0, |base| base.to)) {
            return Err(Error::Damaged {
                path: durable.store.root().join("wal"),
                place: format!("commit {log_after}"),
                reason: "commits between the last checkpoint and this one are missing".into(),
            });
        }
        let mut sink = Sink::create(directory, "image", &mut pace)?;
        let values = source.image(base, &mut sink)?;
        files.insert(0, sink.finish()?);
        let wal = directory.join("wal");
        folder::sync(&wal).map_err(Error::file("cannot sync directory", &wal))?;

        let manifest = Manifest {
            id: Identity::new(),
            database,
            format: FORMAT_VERSION,
            base,
            checkpoint: source.checkpoint,
            log_after,
            to: source.to,
            time_ms: now_ms(),
            files,
        };
        manifest.write(directory)?;
        failpoint!("backup::done");
        let (to, commits) = (CommitTs::from_raw(source.to), source.to.saturating_sub(log_after));
        let (bytes, took) = (pace.bytes(), begun.elapsed());
        Ok(BackupDone { manifest, to, bytes, values, commits, took })
    }
}

/// The line of the manifest of a file of the log.
type LogEntries = Vec<FileEntry>;
