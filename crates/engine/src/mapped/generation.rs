//! Generations: what the store holds between two checkpoints, and what keeps it readable.
//!
//! ```text
//!  checkpoint k         checkpoint k+1
//!      │  generation k      │  generation k+1           a generation: a read transaction of LMDB,
//!      ├────────────────────┼───────────────────►        where its tree begins, which keys it has,
//!      └ its transaction ───┴── ends once nobody         a map of the file
//!                               pinned before is left
//! ```
//!
//! Why a value may be read in place, for as long as it is (decisions/0015):
//!
//! 1. LMDB never writes to a page that a live read transaction can see, and values that are read in
//!    place have pages of their own, which do not move while the value stays as it is.
//! 2. A base in the map is installed only in a segment that nothing was written to since its value
//!    was stored: whoever writes first copies it to the heap. So every installed base is a value of
//!    the newest generation.
//! 3. A reader that still has an older one is pinned since before it was replaced. The transaction
//!    of a generation ends through the epoch, after the next generation became current, so after
//!    every such reader has unpinned.
//!
//! A thread that stays pinned makes the file grow, since what is replaced meanwhile keeps its
//! pages; it holds up no checkpoint.
#![expect(unsafe_code, reason = "slices of values that a transaction holds")]

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crossbeam_epoch as epoch;
use heed::{Env, RoTxn, WithoutTls};
use parking_lot::{Mutex, RwLock};

use super::map::{Files, Map};
use super::ranges::Inventory;
use crate::lmdb_check::{Place, Snapshot};

/// What the store holds between two checkpoints.
#[derive(Debug)]
pub(crate) struct Generation {
    number: u64,
    pub(super) snapshot: Snapshot,
    pub(super) map: Arc<Map>,
    /// Length of the file.
    pub(super) bytes: u64,
    /// Version of the values.
    pub(super) version: u64,
    pub(super) inventory: Arc<Inventory>,
}

impl Generation {
    /// The bytes at a place of its snapshot, within the file.
    pub(super) fn bytes_at(&self, place: Place) -> &[u8] {
        // SAFETY: pages of this snapshot, which nobody writes to while its transaction lives; it
        // does at least as long as whoever got `self` from `current` stays pinned, and longer for
        // what is installed, as this module's page says.
        unsafe { self.map.slice(place.at, place.head as u64 + place.size) }
    }
}

/// The transactions of the generations that somebody may still read.
#[derive(Default)]
struct Transactions(Mutex<BTreeMap<u64, RoTxn<'static, WithoutTls>>>);

impl std::fmt::Debug for Transactions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transactions({:?})", self.0.lock().keys())
    }
}

/// The current generation and those before it.
#[derive(Debug)]
pub(crate) struct Generations {
    files: Arc<Files>,
    env: Env<WithoutTls>,
    transactions: Arc<Transactions>,
    current: RwLock<Arc<Generation>>,
    /// Bytes of bases that are read in place.
    in_place: Arc<AtomicUsize>,
}

/// Why there is no next generation.
#[derive(Debug)]
pub(crate) enum Refused {
    Store(heed::Error),
    Structure(String),
}

impl Generations {
    /// The first generation of an opened store, with no keys known yet. Nobody writes meanwhile.
    pub(crate) fn open(files: Files, env: Env<WithoutTls>) -> Result<Self, Refused> {
        let files = Arc::new(files);
        let transactions = Arc::new(Transactions::default());
        let in_place = Arc::new(AtomicUsize::new(0));
        let map = |bytes| Map::of(&files, bytes, Arc::clone(&in_place)).map(Arc::new);
        let first = generation(&files.pages, &env, &transactions, 0, map)?;
        let first = Generation { inventory: Arc::default(), version: 0, ..first };
        let current = RwLock::new(Arc::new(first));
        Ok(Self { files, env, transactions, current, in_place })
    }

    /// The current one. Whoever uses slices of it is pinned since before this call.
    pub(crate) fn current(&self) -> Arc<Generation> {
        Arc::clone(&self.current.read())
    }

    /// Bytes of bases that are read in place.
    pub(crate) fn bytes_in_place(&self) -> usize {
        self.in_place.load(Ordering::Relaxed)
    }

    pub(super) fn file(&self) -> &File {
        &self.files.pages
    }

    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    /// Makes what LMDB committed last the current generation. Nobody else writes to the store
    /// meanwhile.
    pub(crate) fn advance(&self, inventory: Arc<Inventory>, version: u64) -> Result<(), Refused> {
        let old = self.current();
        let map = |bytes| match old.map.holds(bytes) {
            true => Ok(Arc::clone(&old.map)),
            false => Map::of(&self.files, bytes, Arc::clone(&self.in_place)).map(Arc::new),
        };
        let next =
            generation(&self.files.pages, &self.env, &self.transactions, old.number + 1, map)?;
        crate::failpoint!("generation::before_switch");
        *self.current.write() = Arc::new(Generation { inventory, version, ..next });
        crate::failpoint!("generation::after_switch");
        // Weak: what the epoch has not got round to must not keep a closed store open.
        let (transactions, number) = (Arc::downgrade(&self.transactions), old.number);
        let guard = epoch::pin();
        guard.defer(move || end(&transactions, number));
        guard.flush();
        Ok(())
    }

    /// Generations that somebody may still read, the current one among them.
    pub(crate) fn live(&self) -> usize {
        self.transactions.0.lock().len()
    }
}

fn end(transactions: &Weak<Transactions>, number: u64) {
    if let Some(transactions) = transactions.upgrade() {
        let ended = transactions.0.lock().remove(&number);
        drop(ended);
    }
}

fn generation(
    file: &File,
    env: &Env<WithoutTls>,
    transactions: &Transactions,
    number: u64,
    map: impl FnOnce(u64) -> std::io::Result<Arc<Map>>,
) -> Result<Generation, Refused> {
    let io = |e: std::io::Error| Refused::Structure(format!("cannot be examined: {e}"));
    let transaction = env.clone().static_read_txn().map_err(Refused::Store)?;
    // The same as the transaction's: LMDB, too, takes the newer of the two.
    let snapshot = Snapshot::newest(file).map_err(Refused::Structure)?;
    let bytes = file.metadata().map_err(io)?.len();
    let map = map(bytes).map_err(io)?;
    transactions.0.lock().insert(number, transaction);
    let (inventory, version) = (Arc::default(), 0);
    Ok(Generation { number, snapshot, map, bytes, version, inventory })
}
