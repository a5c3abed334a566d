//! Opening a database: checkpoint, then log, in that order and nowhere else.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_epoch::{self as epoch, Guard};
use parking_lot::Mutex;
use telar_graph::{Direction, EdgeTypeId, PropertyKeyId};

use crate::checkpoint::{KEY_BYTES, Kind, Progress, changes, damaged, key};
use crate::checkpoint::{meta, property, segment, unseal};
use crate::column::{Chunk, StateChunk};
use crate::error::Error;
use crate::failpoint;
use crate::history::stored;
use crate::index::{self, Index};
use crate::io::{FileStorage, Storage, StorageError};
use crate::ops::health::CheckpointHistory;
use crate::settings::Settings;
use crate::shared::{Durable, Shared};
use crate::store::{Store, wal_path};
use crate::txn::clock::Clock;
use crate::txn::commit::{Mode, commit};
use crate::txn::record::{Record, decode};
use crate::txn::write_set::WriteSet;
use crate::wal::{Wal, WalError, WalOptions};

/// Opens the database in `path`.
pub(crate) fn open(path: &Path, settings: Settings) -> Result<Shared, Error> {
    let store = Store::open(path, settings.store_bytes_max)?;
    let mut shared = Shared::empty(settings);
    let progress = load_checkpoint(&shared, &store)?;
    let checkpoint_ts = progress.last;
    shared.clock = Clock::new(checkpoint_ts);
    stored::load(&mut shared, &store, settings.retain, checkpoint_ts)?;
    failpoint!("recovery::checkpoint_loaded");
    let storage: Arc<dyn Storage> = {
        let path = wal_path(path);
        let open = FileStorage::open(path).map_err(|e: StorageError| WalError::from(e))?;
        Arc::new(open)
    };
    let options =
        WalOptions { file_bytes_max: settings.wal_file_bytes, durability: settings.durability };
    let mut failed = None;
    let wal = Wal::open(storage, options, checkpoint_ts, &mut |ts, payload| {
        failpoint!("recovery::replay");
        replay(&shared, &store, ts, payload).map_err(|e| {
            let text = e.to_string();
            failed = Some(e);
            WalError::replay(ts, text)
        })
    });
    let wal = match (wal, failed) {
        (Err(_), Some(cause)) => return Err(cause),
        (wal, _) => wal?,
    };
    crate::failpoint!("recovery::replayed");
    // An async checkpoint may be ahead of the log; the log goes on after it.
    shared.clock.restart_at(wal.last_ts());
    index::finish_recovery(&shared)?;
    shared.free_vertices.begin_sweep(shared.vertex_bound(), wal.last_ts());
    shared.durable = Some(Durable {
        wal,
        store,
        progress: Mutex::new(progress),
        checkpoint_ts: AtomicU64::new(checkpoint_ts),
        checkpoints: CheckpointHistory::default(),
    });
    Ok(shared)
}

fn load_checkpoint(shared: &Shared, store: &Store) -> Result<Progress, Error> {
    let mut progress = Progress::default();
    let txn = store.read()?;
    let database = store.database();
    let meta_key = key(Kind::Meta, 0, 0, 0);
    let Some(value) = database.get(&txn, &meta_key).map_err(|e| store.error(e))? else {
        return Ok(progress);
    };
    let (_, body) = unseal(&meta_key, value).map_err(|e| damaged(store, &meta_key, e))?;
    let meta = meta::decode(body, shared).map_err(|e| damaged(store, &meta_key, e))?;
    let guard = &epoch::pin();
    for item in database.iter(&txn).map_err(|e| store.error(e))? {
        let (stored_key, value) = item.map_err(|e| store.error(e))?;
        if changes::is_list(stored_key) {
            progress.changes.load(stored_key, value).map_err(|e| damaged(store, stored_key, e))?;
        } else if stored_key != meta_key {
            load_segment(shared, stored_key, value, meta.version, guard, &mut progress)
                .map_err(|reason| damaged(store, stored_key, reason))?;
        }
    }
    if progress.stored.totals() != meta.totals {
        return Err(damaged(store, &meta_key, "values are missing from the store"));
    }
    progress.last = meta.at;
    progress.outdated = meta.version < meta::VERSION;
    for (id, definition) in meta.indexes {
        let table = shared.catalog.table_number();
        let index = Arc::new(Index::stored(id, definition, table));
        index.valid_from.store(meta.at, Ordering::Relaxed);
        index.set_online(meta.at);
        progress.indexes.insert(id.get());
        shared.indexes.add(index);
    }
    Ok(progress)
}

fn load_segment(
    shared: &Shared,
    key: &[u8],
    value: &[u8],
    version: u64,
    guard: &Guard,
    progress: &mut Progress,
) -> Result<(), String> {
    let key: &[u8; KEY_BYTES] = key.try_into().map_err(|_| "a key has the wrong length")?;
    let short = |i: usize| u16::from(key[i]) << 8 | u16::from(key[i + 1]);
    let (a, b) = (short(1), short(3));
    let number = u32::from(short(5)) << 16 | u32::from(short(7));
    if stored::is_history(key) {
        // Read, and verified, once it is known whether any is wanted.
        let crc = value.first_chunk().ok_or("the value is too short")?;
        progress.stored.put(*key, u32::from_le_bytes(*crc));
        return Ok(());
    }
    let (crc, body) = unseal(key, value)?;
    progress.stored.put(*key, crc);
    if key[0] == Kind::Index as u8 {
        // Its entries are read when the index is first used.
        return Ok(());
    }
    let catalog = &shared.catalog;
    let edge_type = || catalog.edge_type(EdgeTypeId::from_raw(a)).map_err(|e| e.to_string());
    let property = |raw| {
        let key = PropertyKeyId::from_raw(raw);
        catalog.check_property_key(key).map(|()| key).map_err(|e| e.to_string())
    };
    let first = number
        .checked_shl(crate::adjacency::SEGMENT_BITS)
        .filter(|f| f >> crate::adjacency::SEGMENT_BITS == number)
        .ok_or("a segment number is out of range")?;
    match key[0] {
        k if k == Kind::Adjacency as u8 => {
            let direction = if b == 0 { Direction::Out } else { Direction::In };
            let table = edge_type()?.table(direction);
            let base = segment::decode_adjacency(body, table.kind.columns(), version)?;
            table.load(number, base, guard)?;
        }
        k if k == Kind::States as u8 => {
            let sets = catalog.label_sets.len();
            let states = segment::decode_states(body, sets, version)?;
            let chunk = StateChunk::build(&states);
            shared.states.segment_for_write(first).install_settled(chunk, 0, guard);
        }
        k if k == Kind::VertexProperty as u8 => {
            let column = catalog.vertex_column_for_write(property(a)?);
            let chunk = property::decode(body, version)?;
            column.segment_for_write(first).install_settled(chunk, 0, guard);
        }
        k if k == Kind::EdgeProperty as u8 => {
            let column = edge_type()?.column_for_write(property(b)?, catalog);
            let chunk = property::decode(body, version)?;
            column.segment_for_write(first).install_settled(chunk, 0, guard);
        }
        kind => return Err(format!("unknown kind of value {kind}")),
    }
    Ok(())
}

fn replay(shared: &Shared, store: &Store, ts: u64, payload: &[u8]) -> Result<(), Error> {
    let bad = |reason: String| Error::Damaged {
        path: "write-ahead log".into(),
        place: format!("commit {ts}"),
        reason,
    };
    match decode(payload, &shared.catalog.label_sets).map_err(bad)? {
        Record::Commit(writes) => {
            raise_bounds(shared, &writes).map_err(|e| bad(e.to_string()))?;
            index::load_concerned(shared, store, &writes)?;
            let restart = |ts| {
                shared.clock.restart_at(ts);
                Ok(())
            };
            // A record that fits the log's checksums but not the state it is replayed on.
            commit(shared, &writes, &[], Mode::Replay { commit_ts: ts }, restart)
                .map_err(|e| bad(e.to_string()))?;
        }
        Record::Name { kind, number, name } => {
            expect_number(shared.catalog.add(kind, &name), number).map_err(bad)?;
        }
        Record::EdgeType { number, name, options } => {
            let id = shared.catalog.add_edge_type(&name, options);
            expect_number(id.get(), number).map_err(bad)?;
        }
        Record::Index { id, definition } => {
            if shared.indexes.find(id).is_some() {
                return Err(bad(format!("index {id} is made twice")));
            }
            let index =
                index::replayed(id, definition, ts, shared).map_err(|e| bad(e.to_string()))?;
            shared.indexes.add(index);
        }
        Record::DropIndex { id } => shared.indexes.remove(id),
    }
    shared.clock.restart_at(ts);
    Ok(())
}

fn expect_number(got: u16, wanted: u16) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("name {wanted} came out as number {got}")) }
}

/// Ids in a replayed commit are taken from now on.
fn raise_bounds(shared: &Shared, writes: &WriteSet) -> Result<(), Error> {
    for w in writes.states.items() {
        shared.next_vertex.fetch_max(u64::from(w.vertex) + 1, Ordering::Relaxed);
    }
    for w in writes.edges.items() {
        shared.catalog.edge_type(w.ty)?.raise_ordinal_bound(w.ordinal.saturating_add(1));
    }
    for w in writes.vertex_properties.items() {
        shared.catalog.check_property_key(w.key)?;
    }
    for w in writes.edge_properties.items() {
        shared.catalog.check_property_key(w.key)?;
    }
    for w in writes.states.items() {
        for label in shared.catalog.label_sets.labels(w.state).iter() {
            shared.catalog.check_label(*label)?;
        }
    }
    Ok(())
}
