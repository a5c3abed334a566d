//! Checkpoints: the state at one commit timestamp, in the key-value store. Keys and values:
//! `format/mod.rs`.
//!
//! A checkpoint at timestamp C is one LMDB transaction. It holds, for every segment written since
//! the last one, what a snapshot at C sees; the other segments' values are still right. While it is
//! being made a snapshot at C is open, so nothing newer settles; writers and readers go on.
//!
//! Crash cases: before the LMDB commit nothing has changed; after it, the log may still hold
//! records up to C, which recovery skips. The log is cut only after the commit.

pub(crate) mod history;
pub(crate) mod meta;
pub(crate) mod relief;

use std::collections::BTreeSet;
use std::ops::{Bound, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crossbeam_epoch as epoch;
use heed::RwTxn;
use telar_graph::{Direction, EdgeTypeId, IndexId, Value};

use crate::adjacency::scan::TableView;
use crate::adjacency::{SEGMENT_VERTICES, stored};
use crate::catalog::{EdgeType, places};
use crate::column::{Chunk, ColTable, PropertyChunk, property, states};
use crate::error::Error;
use crate::failpoint;
use crate::format::subject::is_history;
use crate::format::{KEY_BYTES, Kind, crc_of, key, seal};
use crate::graph::Durable;
use crate::index::{self, Index, near_file};
use crate::shared::Shared;
use crate::snapshot::{Handle, Registration};
use crate::store::progress::{Progress, Totals};
use crate::store::{Store, archive, changes, damaged};

/// Writes a checkpoint of what is published now; returns its timestamp.
pub(crate) fn checkpoint(shared: &Shared) -> Result<u64, Error> {
    let Some(durable) = &shared.durable else {
        return Ok(shared.clock.published());
    };
    checkpoint_with(shared, durable, &mut durable.progress.lock())
}

/// The same, for whoever sees to it that no other is written.
pub(crate) fn checkpoint_with(
    shared: &Shared,
    durable: &Durable,
    progress: &mut Progress,
) -> Result<u64, Error> {
    // A name is logged first and added after that: without this lock a checkpoint could be later
    // than the record and still lack the name.
    let making = shared.catalog.making.lock();
    let registration = Registration::new(Handle::Borrowed(shared))?;
    drop(making);
    let at = registration.read_ts;
    shared.check_stored()?;
    if at == progress.last && !progress.outdated && shared.history.is_stored() {
        // Vectors are linked when nothing is committed, too.
        put_near(shared, durable);
        return Ok(at);
    }
    if shared.history.is_kept() {
        // Under `async` a checkpoint must not get ahead of the log: the change stream would lack
        // what lies between after a crash.
        durable.wal.flush()?;
    }
    let begun = Instant::now();
    let done = write(shared, durable, progress, at).and_then(|()| {
        drop(registration);
        failpoint!("checkpoint::before_truncate");
        cut_log(shared, durable, at)?;
        put_near(shared, durable);
        Ok(at)
    });
    durable.checkpoints.note(&done, begun);
    done
}

fn put_near(shared: &Shared, durable: &Durable) {
    let indexes = shared.indexes.all();
    near_file::save(&indexes, durable);
    near_file::tidy(&indexes, durable);
}

/// Writes the graphs of vector indexes that have grown, unless a checkpoint is being made.
pub(crate) fn save_near(shared: &Shared) {
    if let Some(durable) = &shared.durable
        && let Some(_no_checkpoint) = durable.progress.try_lock()
    {
        near_file::save(&shared.indexes.all(), durable);
    }
}

/// Starts a new log file and lets go of those that only have records up to the checkpoint at `at`;
/// the archive keeps them if there is one.
pub(crate) fn cut_log(shared: &Shared, durable: &Durable, at: u64) -> Result<(), Error> {
    durable.wal.rotate()?;
    let followed = durable.log_wanted.lock().filter(|wanted| Instant::now() < wanted.until);
    let wanted = archive::Wanted {
        bytes_max: shared.settings.log_archive_bytes_max,
        floor: shared.history.log_floor_at(at),
        followers: followed.map(|wanted| (wanted.after, wanted.bytes_max)),
    };
    archive::keep(durable.store.root(), at, wanted)?;
    durable.wal.truncate_before(at)?;
    Ok(())
}

fn write(
    shared: &Shared,
    durable: &Durable,
    progress: &mut Progress,
    at: u64,
) -> Result<(), Error> {
    let mut changes = Changes::begin(&durable.store, progress)?;
    changes.put_written(shared, at, &|_| false)?;
    history::put(&mut changes, shared, at)?;
    changes.put_once_ids(shared, at)?;
    changes.put_indexes(shared, at, &|_| 0..0, &[])?;
    changes.put_meta(shared, at, &meta::Additions::default())?;
    if shared.is_replicated() {
        // Names are readable before their records are durable, and one that the replicated log
        // does not take must not stay in the store: another leader gives its number to another.
        durable.wal.flush()?;
    }
    failpoint!("checkpoint::before_commit");
    *progress = changes.commit(at)?;
    shared.history.set_stored();
    durable.checkpoint_ts.store(at, Ordering::Release);
    failpoint!("checkpoint::after_commit");
    Ok(())
}

/// A checkpoint being written: nothing of it counts before [`Changes::commit`].
pub(crate) struct Changes<'s> {
    store: &'s Store,
    txn: RwTxn<'s>,
    stored: Totals,
    lists: changes::Lists,
    /// The keys put so far.
    written: Vec<[u8; KEY_BYTES]>,
    /// Timestamp of the checkpoint before this.
    previous: u64,
    /// Whether the store is right up to there.
    is_current: bool,
    value: Vec<u8>,
    /// Indexes that have values in the store.
    stored_indexes: BTreeSet<u16>,
    /// Indexes of the checkpoint.
    indexes: Vec<Arc<Index>>,
    /// Label sets of the checkpoint.
    label_sets: usize,
}

impl<'s> Changes<'s> {
    /// Begins to write beside what `progress` says is stored.
    pub(crate) fn begin(store: &'s Store, progress: &Progress) -> Result<Self, Error> {
        store.verify()?;
        let txn = store.write()?;
        let lists = match &progress.changes {
            Some(lists) => lists.clone(),
            None => read_lists(store, &txn)?,
        };
        Ok(Self {
            store,
            txn,
            stored: progress.stored.clone(),
            lists,
            written: Vec::new(),
            previous: progress.last,
            is_current: !progress.outdated,
            value: Vec::new(),
            stored_indexes: progress.indexes.clone(),
            indexes: Vec::new(),
            label_sets: 0,
        })
    }

    /// Puts a value that leaves room for its checksum.
    pub(crate) fn put(&mut self, key: [u8; KEY_BYTES], value: &mut [u8]) -> Result<(), Error> {
        // A value made of something that could not be read would hide the damage.
        self.store.stored().check()?;
        let old = self.crc(&key)?;
        self.stored.put(&key, old, seal(&key, value));
        self.written.push(key);
        self.store.database().put(&mut self.txn, &key, value).map_err(|e| self.store.error(e))
    }

    /// Puts a value, or removes it if nothing stands behind the room for its checksum.
    pub(crate) fn put_or_remove(
        &mut self,
        key: [u8; KEY_BYTES],
        value: &mut [u8],
    ) -> Result<(), Error> {
        // What could not be read is no reason to remove it.
        self.store.stored().check()?;
        if value.len() > 4 { self.put(key, value) } else { self.remove(key).map(drop) }
    }

    /// Removes every value of history that `unwanted` names.
    pub(crate) fn remove_history(
        &mut self,
        unwanted: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Result<(), Error> {
        let from = [Kind::History as u8];
        let mut keys = Vec::new();
        let range = (Bound::Included(&from[..]), Bound::Unbounded);
        let items = self.store.database().range(&self.txn, &range);
        for item in items.map_err(|e| self.store.error(e))? {
            let (key, value) = item.map_err(|e| self.store.error(e))?;
            if !is_history(key) {
                break;
            }
            if unwanted(key, value) {
                keys.extend(<[u8; KEY_BYTES]>::try_from(key));
            }
        }
        keys.into_iter().try_for_each(|key| self.remove(key).map(drop))
    }

    /// The checksum of the value that stands under `key` now.
    fn crc(&self, key: &[u8; KEY_BYTES]) -> Result<Option<u32>, Error> {
        let value = self.store.database().get(&self.txn, key).map_err(|e| self.store.error(e))?;
        if value.is_some() != self.stored.inventory.contains(key) {
            return Err(damaged(self.store, key, "it is not where the meta value says"));
        }
        Ok(value.map(crc_of))
    }

    fn remove(&mut self, key: [u8; KEY_BYTES]) -> Result<bool, Error> {
        let Some(old) = self.crc(&key)? else { return Ok(false) };
        self.stored.remove(&key, old);
        self.written.push(key);
        let deleted = self.store.database().delete(&mut self.txn, &key);
        deleted.map_err(|e| self.store.error(e))
    }

    /// Whether a segment last written to at `last_write` has to be put.
    pub(crate) fn is_new(&self, last_write: Option<&AtomicU64>, key: &[u8; KEY_BYTES]) -> bool {
        last_write.is_some_and(|ts| ts.load(Ordering::Relaxed) > self.previous)
            || (!self.is_current && self.stored.inventory.contains(key))
    }

    /// Puts every segment written since the last checkpoint, as a snapshot at `at` sees it, except
    /// those with a key that `skip` names.
    pub(crate) fn put_written(
        &mut self,
        shared: &Shared,
        at: u64,
        skip: &dyn Fn(&[u8; KEY_BYTES]) -> bool,
    ) -> Result<(), Error> {
        let mut value = std::mem::take(&mut self.value);
        for (id, ty) in shared.catalog.edge_types() {
            for direction in Direction::ALL {
                let table = ty.table(direction);
                for number in 0..table.segment_bound() {
                    let key = key(Kind::Adjacency, id.get(), direction as u16, number);
                    let segment = table.segment(number);
                    let last_write = segment.as_ref().map(|s| &s.segment.last_write);
                    if self.is_new(last_write, &key) && !skip(&key) {
                        let guard = &epoch::pin();
                        let view = TableView::new(table, at, guard);
                        stored::encode_adjacency(&view, number, &mut value);
                        self.put(key, &mut value)?;
                        failpoint!("checkpoint::segment");
                    }
                }
            }
            self.put_places(id, ty, &mut value)?;
            for (property, column) in ty.columns() {
                let key = |n| key(Kind::EdgeProperty, id.get(), property.get(), n);
                self.put_column(column, at, &mut value, put_properties, key, skip)?;
            }
        }
        let key_of_states = |n| key(Kind::States, 0, 0, n);
        self.put_column(&shared.states, at, &mut value, states::encode, key_of_states, skip)?;
        for (property, column) in shared.catalog.vertex_columns() {
            let key = |n| key(Kind::VertexProperty, property.get(), 0, n);
            self.put_column(column, at, &mut value, put_properties, key, skip)?;
        }
        self.value = value;
        Ok(())
    }

    /// Puts the places of segments in which one was written to since the last checkpoint: with them
    /// come others that may be of no use yet.
    fn put_places(
        &mut self,
        id: EdgeTypeId,
        ty: &EdgeType,
        value: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let key = |n| key(Kind::Places, id.get(), 0, n);
        let bound = ty.places.segment_bound();
        let is_new = |n: u32| self.is_new(ty.places.last_write(n), &key(n));
        if !(0..bound).any(is_new) {
            return Ok(());
        }
        for (number, placed) in ty.places.by_segment(is_new, &epoch::pin()) {
            value.clear();
            value.extend_from_slice(&[0; 4]);
            places::encode(&placed, value);
            self.put(key(number), value)?;
        }
        Ok(())
    }

    /// Puts the ids of transactions that commit once, which the log is about to lose.
    pub(crate) fn put_once_ids(&mut self, shared: &Shared, at: u64) -> Result<(), Error> {
        let mut value = vec![0; 4];
        shared.once.encode(at, &mut value);
        self.put_or_remove(key(Kind::Once, 0, 0, 0), &mut value)
    }

    /// Puts the indexes as they are at `at`, with the items that `loaded` names, which a bulk load
    /// is adding; and those of `made`, which come with it.
    pub(crate) fn put_indexes(
        &mut self,
        shared: &Shared,
        at: u64,
        loaded: &dyn Fn(IndexId) -> Range<u32>,
        made: &[Arc<Index>],
    ) -> Result<(), Error> {
        let mut value = std::mem::take(&mut self.value);
        self.indexes = shared.indexes.stored_at(at);
        self.indexes.extend_from_slice(made);
        let mut kept = BTreeSet::new();
        for index in &self.indexes.clone() {
            let id = index.id.get();
            let since = self.stored_indexes.contains(&id).then_some(self.previous);
            // Nothing was written to another: its values are still right.
            if index.is_loaded() || index.was_replayed_to() {
                shared.indexes.load(index, shared)?;
                index::page::store(
                    index,
                    shared,
                    (since, at),
                    &loaded(index.id),
                    &mut value,
                    |n, value| self.put(key(Kind::Index, id, 0, n), value),
                )?;
            }
            kept.insert(id);
        }
        let gone: Vec<u16> = self.stored_indexes.difference(&kept).copied().collect();
        for id in gone {
            // Partitions are numbered without gaps.
            let mut number = 0;
            while self.remove(key(Kind::Index, id, 0, number))? {
                number += 1;
            }
        }
        self.stored_indexes = kept;
        self.value = value;
        Ok(())
    }

    fn put_column<C: Chunk + 'static>(
        &mut self,
        column: &ColTable<C>,
        at: u64,
        value: &mut Vec<u8>,
        encode: fn(&[C::Value; SEGMENT_VERTICES], &mut Vec<u8>),
        key: impl Fn(u32) -> [u8; KEY_BYTES],
        skip: &dyn Fn(&[u8; KEY_BYTES]) -> bool,
    ) -> Result<(), Error> {
        for number in 0..column.segment_bound() {
            let key = key(number);
            let last_write = column.segment(number).map(|s| &s.last_write);
            if self.is_new(last_write, &key) && !skip(&key) {
                value.clear();
                value.extend_from_slice(&[0; 4]);
                encode(&column.values(number, at, &epoch::pin()), value);
                self.put(key, value)?;
            }
        }
        Ok(())
    }

    /// Puts the meta value: timestamp, counters, schema.
    pub(crate) fn put_meta(
        &mut self,
        shared: &Shared,
        at: u64,
        added: &meta::Additions,
    ) -> Result<(), Error> {
        let mut value = Vec::new();
        meta::encode(shared, at, &self.stored, added, &self.indexes, &mut value);
        self.label_sets = shared.catalog.label_sets.len();
        let key = key(Kind::Meta, 0, 0, 0);
        seal(&key, &mut value);
        let put = self.store.database().put(&mut self.txn, &key, &value);
        put.map_err(|e| self.store.error(e))
    }

    /// Makes all of it durable in one step, as the checkpoint at `at`; returns how far the
    /// checkpoints are then.
    pub(crate) fn commit(mut self, at: u64) -> Result<Progress, Error> {
        let (store, database) = (self.store, self.store.database());
        let keys_stored = self.stored.keys;
        self.lists
            .add(at, self.previous, &self.written, keys_stored, |key, list| match list {
                Some(list) => database.put(&mut self.txn, key, list),
                None => database.delete(&mut self.txn, key).map(drop),
            })
            .map_err(|e| store.error(e))?;
        self.txn.commit().map_err(|e| store.error(e))?;
        let inventory = Arc::clone(&self.stored.inventory);
        store.stored().advance(inventory, meta::VERSION, self.label_sets)?;
        Ok(Progress {
            last: at,
            stored: self.stored,
            indexes: self.stored_indexes,
            outdated: false,
            changes: Some(self.lists),
        })
    }
}

fn read_lists(store: &Store, txn: &RwTxn<'_>) -> Result<changes::Lists, Error> {
    let mut lists = changes::Lists::default();
    let items = store.database().prefix_iter(txn, &changes::PREFIX).map_err(|e| store.error(e))?;
    for item in items {
        let (key, value) = item.map_err(|e| store.error(e))?;
        let key = key.try_into().map_err(|_| damaged(store, key, "it has the wrong length"))?;
        lists.load(key, value);
    }
    Ok(lists)
}

fn put_properties(values: &[Value; SEGMENT_VERTICES], out: &mut Vec<u8>) {
    property::encode(&PropertyChunk::build(values), out);
}
