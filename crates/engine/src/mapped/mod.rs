//! Settled segments that are not in memory: found in the store when they are first touched.
//!
//! ```text
//!  reader or writer ──► head / version is null ──► fetch ──► Stored::load ──► generation
//!                       (not looked at yet)          │        key there? place, checksum
//!                                                    ▼
//!            base: offsets and neighbours in place, in the map; columns unpacked when asked for
//!            states and properties: decoded to the heap
//! ```
//!
//! Nothing per segment is read when a database is opened. A *fetch* looks the value up, verifies
//! its checksum and what memory safety rests on, and installs it; it takes no latch, so a commit
//! may fetch with latches held. Memory that is needed elsewhere is taken back by *dropping*
//! segments that the store holds as they are (`mapped/memory.rs`): their head is null again.
//!
//! Invariants
//! 1. A segment that is not loaded has nothing newer than the last checkpoint or than the low
//!    watermark: its value is what every live or future reader sees, and no commit conflicts with
//!    anything in it.
//! 2. Null becomes a version only under the table's `loading` lock, and a version null only under
//!    that lock and every stripe of the segment. `Loading` counts the latter, so that what was read
//!    before a segment was written, stored and dropped is never installed after it.
//! 3. A base with a tail is never in the map (`mapped/generation.rs` needs that).
//! 4. What cannot be read is damage: it is noted once and for all, the read comes out empty, and
//!    every later begin, commit, snapshot and checkpoint fails with it (decisions/0016).

pub(crate) mod generation;
pub(crate) mod lazy;
pub(crate) mod machine;
pub(crate) mod map;
pub(crate) mod memory;
pub(crate) mod ranges;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crossbeam_epoch as epoch;
use heed::{Env, WithoutTls};
use parking_lot::{Mutex, MutexGuard};

use crate::error::Error;
use crate::format::{Kind, key, unseal};
use crate::settings::Settings;
use generation::{Generation, Generations, Refused};
use map::{Files, Map, Scratch};
use memory::Memory;
use ranges::Inventory;

/// A value, verified against its checksum.
pub(crate) struct Value<'v> {
    /// What follows the checksum, as it was read.
    pub(crate) body: &'v [u8],
    /// The same bytes where they are stored.
    pub(crate) in_place: &'v [u8],
    /// Version of the values in the store.
    pub(crate) version: u64,
    /// The map that `in_place` lies in.
    pub(crate) map: &'v Arc<Map>,
    /// Label sets there are, at least those that values name.
    pub(crate) label_sets: usize,
}

/// What a fetch came to.
pub(crate) enum Found<T> {
    There(T),
    /// The store has no value under this key.
    Absent,
    /// It has one that cannot be read, which is noted.
    Damaged,
}

/// What was found damaged first.
#[derive(Debug, Clone)]
struct Damage {
    path: PathBuf,
    place: String,
    reason: String,
}

/// The store of an open database, as the source of what is not in memory.
#[derive(Debug)]
pub(crate) struct Stored {
    path: PathBuf,
    pub(crate) generations: Generations,
    damage: OnceLock<Damage>,
    label_sets: AtomicUsize,
    pub(crate) memory: Memory,
}

impl Stored {
    /// The store in `path`, whose data file LMDB has opened.
    pub(crate) fn open(
        path: &Path,
        env: Env<WithoutTls>,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let data = path.join("data.mdb");
        let open = || std::fs::File::open(&data).map_err(Error::file("cannot open", &data));
        let files = Files { values: open()?, pages: open()? };
        let generations =
            Generations::open(files, env).map_err(|refused| refusal(path, refused))?;
        Ok(Self {
            path: path.into(),
            generations,
            damage: OnceLock::new(),
            label_sets: AtomicUsize::new(0),
            memory: Memory::new(settings),
        })
    }

    /// Makes what was committed to the store the current generation. Only while nobody writes to
    /// it. A failure is noted: what is in memory may not be dropped, since it would come back as it
    /// was before.
    pub(crate) fn advance(
        &self,
        inventory: Arc<Inventory>,
        version: u64,
        label_sets: usize,
    ) -> Result<(), Error> {
        self.label_sets.fetch_max(label_sets, Ordering::Relaxed);
        self.generations.advance(inventory, version).map_err(|refused| {
            let error = refusal(&self.path, refused);
            self.note("the checkpoint just written".into(), error.to_string());
            error
        })
    }

    /// Fails if anything was found damaged since the database was opened.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.damage.get() {
            None => Ok(()),
            Some(Damage { path, place, reason }) => Err(Error::Damaged {
                path: path.clone(),
                place: place.clone(),
                reason: reason.clone(),
            }),
        }
    }

    /// Notes that something is damaged; the first time counts.
    pub(crate) fn note(&self, place: String, reason: String) {
        let _ = self.damage.set(Damage { path: self.path.clone(), place, reason });
    }

    /// What follows the checksum of the value of `key`, before it is known which keys there are.
    pub(crate) fn first_value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let generation = self.generations.current();
        if generation.snapshot.find(self.generations.file(), key)?.is_none() {
            return Ok(None);
        }
        let body = |value: &Value<'_>| Ok(value.body.to_vec());
        self.with_value(&generation, key, &mut Scratch::default(), body).map(Some)
    }

    /// Calls `f` with the value of a key, verified against its checksum.
    fn with_value<T>(
        &self,
        generation: &Generation,
        key: &[u8],
        scratch: &mut Scratch,
        f: impl FnOnce(&Value<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let place = generation.snapshot.find(self.generations.file(), key)?;
        let place = place.ok_or("the checkpoint wrote a value, which is not there")?;
        let len = place.head as u64 + place.size;
        if place.at.checked_add(len).is_none_or(|end| end > generation.bytes) {
            return Err("the value is past the file's end".into());
        }
        let (version, map) = (generation.version, &generation.map);
        let label_sets = self.label_sets.load(Ordering::Relaxed);
        let bytes = map.read(place.at, len as usize, scratch);
        let bytes = bytes.map_err(|e| format!("the value cannot be read: {e}"))?;
        let value = generation.snapshot.value_of(&place, bytes)?;
        let (_, body) = unseal(key, value)?;
        let at = bytes.len() - body.len();
        let in_place = &generation.bytes_at(place)[at..];
        let made = f(&Value { body, in_place, version, map, label_sets })?;
        scratch.value_begins_at(at);
        Ok(made)
    }

    /// Whether the system can keep in memory what is read in place, beside the heap.
    pub(crate) fn fits(&self) -> bool {
        self.memory.has_room_for(self.generations.bytes_in_place() as u64)
    }

    /// Reads the value of `key`, if there is one, as [`load`](Self::load) does; what is wrong with
    /// it is the caller's to report.
    pub(crate) fn read<T>(
        &self,
        key: &[u8; crate::format::KEY_BYTES],
        scratch: &mut Scratch,
        decode: impl FnOnce(&Value<'_>) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        // The transaction of the generation ends through the epoch.
        let _pinned = epoch::pin();
        let generation = self.generations.current();
        if !generation.inventory.contains(key) {
            return Ok(None);
        }
        self.with_value(&generation, key, scratch, decode).map(Some)
    }

    /// One past the largest number of a value that a table has.
    pub(crate) fn bound(&self, table: ranges::Table) -> u32 {
        self.generations.current().inventory.bound(table)
    }

    /// Notes that a scan is done with the value in `scratch`.
    pub(crate) fn scanned(&self, scratch: &Scratch) {
        if !self.fits() {
            self.generations.files().pass(scratch);
        }
    }

    /// Reads the value of `key`, if there is one, into `scratch`. What `decode` makes of it may
    /// keep slices of the map only as long as the caller is pinned, or as invariant 2 of
    /// `mapped/generation.rs` says.
    pub(crate) fn load<T>(
        &self,
        key: &[u8; crate::format::KEY_BYTES],
        scratch: &mut Scratch,
        decode: impl FnOnce(&Value<'_>) -> Result<T, String>,
    ) -> Found<T> {
        // The transaction of the generation ends through the epoch.
        let _pinned = epoch::pin();
        let generation = self.generations.current();
        if !generation.inventory.contains(key) {
            return Found::Absent;
        }
        if self.damage.get().is_some() {
            return Found::Damaged;
        }
        match self.with_value(&generation, key, scratch, decode) {
            Ok(found) => Found::There(found),
            Err(reason) => {
                let hex: String = key.iter().map(|b| format!("{b:02x}")).collect();
                self.note(format!("key {hex}"), reason);
                Found::Damaged
            }
        }
    }
}

fn refusal(path: &Path, refused: Refused) -> Error {
    match refused {
        Refused::Store(source) => Error::Store { path: path.into(), source },
        Refused::Structure(reason) => {
            Error::Damaged { path: path.join("data.mdb"), place: "its structure".into(), reason }
        }
    }
}

/// Where the segments of a table come from, and who may install them.
#[derive(Debug, Default)]
pub(crate) struct Source {
    stored: Option<(Arc<Stored>, Kind, u16, u16)>,
    lock: Mutex<()>,
    /// Segments dropped so far.
    drops: AtomicU64,
}

/// The right to turn null into a version, or a version into null.
pub(crate) struct Loading<'s> {
    source: &'s Source,
    _held: MutexGuard<'s, ()>,
}

impl Source {
    /// Segments under keys of this kind; none where there is no store.
    pub(crate) fn new(stored: Option<&Arc<Stored>>, kind: Kind, a: u16, b: u16) -> Self {
        let stored = stored.map(|s| (Arc::clone(s), kind, a, b));
        Self { stored, ..Self::default() }
    }

    /// Whether there is a store.
    pub(crate) fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// Fails if anything in the store was found damaged.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.stored().map_or(Ok(()), Stored::check)
    }

    /// Whether the store has a value for segment `number`.
    pub(crate) fn holds(&self, number: u32) -> bool {
        self.stored.as_ref().is_some_and(|(stored, kind, a, b)| {
            stored.generations.current().inventory.contains(&key(*kind, *a, *b, number))
        })
    }

    /// The store.
    pub(crate) fn stored(&self) -> Option<&Stored> {
        self.stored.as_ref().map(|(stored, ..)| &**stored)
    }

    /// Reads segment `number` and installs what `decode` makes of it, unless it is there already.
    ///
    /// `is_there` and `install` are called with the right to install; `install` gets `None` where
    /// the store has no value, and returns the heap bytes it took. Returns whether the segment is
    /// loaded now: not if it is damaged, or if there is no store. What was installed is the value
    /// in `scratch`, too.
    pub(crate) fn fetch<T>(
        &self,
        number: u32,
        scratch: &mut Scratch,
        decode: impl Fn(&Value<'_>) -> Result<T, String>,
        is_there: impl Fn() -> bool,
        install: impl Fn(Option<T>) -> usize,
    ) -> bool {
        let Some((stored, kind, a, b)) = &self.stored else { return false };
        // Until installed: what lies in the map is one of the newest generation by then.
        let _pinned = epoch::pin();
        loop {
            // ORDERING: acquire pairs with the release in `Loading::dropped`: whoever saw no drop
            // read a generation from before any.
            let drops = self.drops.load(Ordering::Acquire);
            let key = key(*kind, *a, *b, number);
            let found = match stored.load(&key, scratch, &decode) {
                Found::There(found) => Some(found),
                Found::Absent => None,
                Found::Damaged => return false,
            };
            crate::failpoint!("mapped::before_install");
            let loading = self.loading();
            if is_there() {
                return true;
            }
            if self.drops.load(Ordering::Relaxed) == drops {
                let bytes = install(found);
                drop(loading);
                stored.memory.loaded(bytes);
                return true;
            }
        }
    }

    /// Takes the right to install and to drop. Whoever drops holds every stripe of the segment.
    pub(crate) fn loading(&self) -> Loading<'_> {
        Loading { source: self, _held: self.lock.lock() }
    }
}

impl Loading<'_> {
    /// Notes that a segment was dropped.
    pub(crate) fn dropped(&self) {
        // ORDERING: release pairs with the acquire in `Source::fetch`.
        self.source.drops.fetch_add(1, Ordering::Release);
    }
}
