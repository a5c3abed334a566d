//! A new database from values and log: what restore and repair have in common.
//!
//! Everything is made in a [`Staging`] folder and opened once, so that the engine itself has read
//! every value and replayed every commit, then closed and renamed.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::checkpoint::meta;
use crate::engine::Engine;
use crate::error::Error;
use crate::failpoint;
use crate::format::{Kind, key, unseal};
use crate::io::folder;
use crate::maintenance::staging::Staging;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::store::{Store, log_files, wal_path};
use crate::wal::inspect;

/// Values are committed to the new store in portions of about this size: LMDB keeps what a
/// transaction wrote in memory.
const PORTION_BYTES: usize = 64 << 20;

/// Says what a repair lost, in the database it made.
pub(crate) const REPAIRED: &str = "REPAIRED";

/// A database that is being put together.
#[derive(Debug)]
pub(crate) struct NewDatabase {
    staging: Staging,
    store: Store,
    portion: Vec<(Vec<u8>, Vec<u8>)>,
    portion_bytes: usize,
    /// Keys put, the sum of their checksums, and the meta value.
    keys: u64,
    crcs: u64,
    /// The same of what is left out, by the checksums that stand there and that ought to.
    left_out: (u64, [u64; 2]),
    meta: Option<Vec<u8>>,
    /// Whether there is a log file.
    has_log: bool,
}

/// What the values of a store say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Timestamp of the checkpoint.
    pub(crate) checkpoint: u64,
    /// Whether number and checksums of the values are those that the meta value names.
    pub(crate) complete: bool,
}

impl NewDatabase {
    /// Begins a database that is to stand at `target`.
    pub(crate) fn begin(target: &Path) -> Result<Self, Error> {
        let staging = Staging::begin(target)?;
        let store = Store::open(staging.folder(), &Settings::default())?;
        // The log is the one that is put.
        for (_, path) in log_files(staging.folder())? {
            fs::remove_file(&path).map_err(Error::file("cannot remove", &path))?;
        }
        let portion = Vec::new();
        let (portion_bytes, keys, crcs, left_out) = (0, 0, 0, (0, [0; 2]));
        Ok(Self {
            staging,
            store,
            portion,
            portion_bytes,
            keys,
            crcs,
            left_out,
            meta: None,
            has_log: false,
        })
    }

    /// Adds a stored value; its checksum is verified.
    pub(crate) fn put(&mut self, key: &[u8], value: Vec<u8>) -> Result<(), Error> {
        let (crc, _) = unseal(key, &value)
            .map_err(|reason| crate::store::damaged(&self.store, key, reason))?;
        if key == self::key(Kind::Meta, 0, 0, 0) {
            self.meta = Some(value.clone());
        } else {
            self.keys += 1;
            self.crcs += u64::from(crc);
        }
        self.portion_bytes += value.len();
        self.portion.push((key.to_vec(), value));
        if self.portion_bytes >= PORTION_BYTES { self.flush() } else { Ok(()) }
    }

    /// Counts a value that is not put, since it is made anew: the checksum on it, and that of its
    /// bytes.
    pub(crate) fn leave_out(&mut self, on_it: u32, of_it: u32) {
        let (keys, [stand, ought]) = &mut self.left_out;
        *keys += 1;
        *stand += u64::from(on_it);
        *ought += u64::from(of_it);
    }

    fn flush(&mut self) -> Result<(), Error> {
        let mut txn = self.store.write()?;
        for (key, value) in self.portion.drain(..) {
            let put = self.store.database().put(&mut txn, &key, &value);
            put.map_err(|e| self.store.error(e))?;
        }
        self.portion_bytes = 0;
        failpoint!("assemble::portion");
        txn.commit().map_err(|e| self.store.error(e))
    }

    /// What the values put so far say together; checkpoint 0 if there are none.
    pub(crate) fn totals(&self) -> Result<Totals, String> {
        let Some(meta) = &self.meta else {
            return Ok(Totals { checkpoint: 0, complete: self.keys == 0 });
        };
        let key = key(Kind::Meta, 0, 0, 0);
        let (_, body) = unseal(&key, meta)?;
        let meta = meta::decode(body, &Shared::empty(Settings::default()))?;
        let (keys, crcs) = self.left_out;
        let with = |crcs| meta.totals == (self.keys + keys, self.crcs + crcs);
        Ok(Totals { checkpoint: meta.at, complete: crcs.into_iter().any(with) })
    }

    /// Adds a log file whose first commit is `first_ts`: header and records.
    pub(crate) fn put_log(&mut self, first_ts: u64, bytes: &[u8]) -> Result<(), Error> {
        self.has_log = true;
        let path = wal_path(self.staging.folder()).join(inspect::file_name(first_ts));
        let write = || folder::create(&path)?.write_all(bytes);
        write().map_err(Error::file("cannot write", &path))
    }

    /// Opens what was put together, which must then be at commit `to`, writes a checkpoint, closes
    /// it and gives it its name. What it lacks of what it was made of is written into it.
    pub(crate) fn finish(mut self, to: u64, lost: &[String]) -> Result<(), Error> {
        self.flush()?;
        if !self.has_log {
            // A database without any has lost it.
            self.put_log(to + 1, &inspect::header_bytes(0, to + 1))?;
        }
        let Self { staging, store, .. } = self;
        drop(store);
        let settings = Settings { background_interval_ms: 0, ..Settings::default() };
        let db = Engine::open(staging.folder(), settings)?;
        let reached = db.published().get();
        if reached != to {
            return Err(Error::Damaged {
                path: staging.folder().into(),
                place: "the log".into(),
                reason: format!("it reaches commit {reached}, not {to}"),
            });
        }
        db.close()?;
        if !lost.is_empty() {
            let path = staging.folder().join(REPAIRED);
            let text = lost.join("\n") + "\n";
            folder::replace(&path, text.as_bytes(), || ())
                .map_err(Error::file("cannot write", &path))?;
        }
        failpoint!("assemble::before_rename");
        staging.publish()?;
        failpoint!("assemble::renamed");
        Ok(())
    }

    /// Removes what was made so far, after a failure.
    pub(crate) fn discard(self) {
        let Self { staging, store, .. } = self;
        drop(store);
        staging.discard();
    }
}
