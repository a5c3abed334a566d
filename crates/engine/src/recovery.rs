//! Opening a database: checkpoint, then log, in that order and nowhere else.
//!
//! Cost: that of the log written since the checkpoint, and of the schema; nothing else depends on
//! the size of the graph.

pub(crate) mod follow;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use telar_graph::{Direction, EdgeTypeId, PropertyKeyId};

use crate::adjacency::SEGMENT_BITS;
use crate::catalog::places::{self, Placed};
use crate::checkpoint::{history, meta};
use crate::clock::Clock;
use crate::commit::protocol::{Mode, commit};
use crate::commit::record::{IndexChange, Record, decode};
use crate::commit::write_set::{EdgeOp, WriteSet};
use crate::error::Error;
use crate::failpoint;
use crate::format::subject::is_history;
use crate::format::{Kind, key, unseal};
use crate::graph::Durable;
use crate::index::Index;
use crate::io::{FileStorage, ReadOnlyStorage, Storage, StorageError};
use crate::mapped::ranges::{Ranges, Table};
use crate::once;
use crate::schema::build;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::stop::Stop;
use crate::store::progress::{CheckpointHistory, NearHistory, Progress, Totals};
use crate::store::{Access, Store, changes, damaged, log_is_lost, wal_path};
use crate::wal::{Wal, WalError, WalOptions};

/// Opens the database in `path`.
pub(crate) fn open(path: &Path, settings: Settings, access: Access) -> Result<Shared, Error> {
    let store = match access {
        Access::Write => Store::open(path, &settings)?,
        Access::Read => Store::open_to_read(path, &settings)?,
    };
    let mut shared = Shared::with(settings, Some(Arc::clone(store.stored())));
    let progress = load_checkpoint(&shared, &store)?;
    let checkpoint_ts = progress.last;
    shared.graph.clock = Clock::new(checkpoint_ts);
    let inventory = Arc::clone(&progress.stored.inventory);
    history::attach(&mut shared, &store, settings.retain, checkpoint_ts, &inventory)?;
    if let Some((after, what)) = log_is_lost(path, checkpoint_ts, store.lock().closed_at())? {
        return Err(Error::Damaged {
            path: wal_path(path),
            place: "its files".into(),
            reason: format!(
                "{what}: the commits after {after}, if there were any, are lost; restore a \
                 backup, or keep those before with `telar repair --lose-commits`"
            ),
        });
    }
    failpoint!("recovery::checkpoint_loaded");
    let storage: Arc<dyn Storage> = {
        let path = wal_path(path);
        let failed = |e: StorageError| WalError::from(e);
        match access {
            Access::Write => Arc::new(FileStorage::open(path).map_err(failed)?),
            Access::Read => Arc::new(ReadOnlyStorage::open(&path).map_err(failed)?),
        }
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
    build::finish_recovery(&shared)?;
    shared.check_stored()?;
    if shared.is_replicated() {
        // Which ids are free is looked for when it begins to lead.
        shared.role.follow();
    } else {
        shared.free_vertices.begin_sweep(shared.vertex_bound(), wal.last_ts());
    }
    store.lock().begin_use();
    shared.graph.durable = Some(Durable {
        wal,
        store,
        progress: Mutex::new(progress),
        checkpoint_ts: AtomicU64::new(checkpoint_ts),
        checkpoints: CheckpointHistory::default(),
        near: NearHistory::default(),
        log_wanted: Mutex::default(),
    });
    Ok(shared)
}

/// Reads schema and counters, and which values there are; none of them is looked at.
fn load_checkpoint(shared: &Shared, store: &Store) -> Result<Progress, Error> {
    let mut progress = Progress::default();
    let meta_key = key(Kind::Meta, 0, 0, 0);
    let wrong = |reason: String| damaged(store, &meta_key, reason);
    let Some(body) = store.stored().first_value(&meta_key).map_err(wrong)? else {
        return Ok(progress);
    };
    let meta = meta::decode(&body, shared).map_err(wrong)?;
    progress.stored = match meta.inventory {
        Some(inventory) => {
            let (keys, crcs) = meta.totals;
            if inventory.len() != keys {
                return Err(wrong("the number of values is not that of their keys".into()));
            }
            Totals { keys, crcs, inventory: Arc::new(inventory) }
        }
        None => {
            let found = count_values(store)?;
            if (found.keys, found.crcs) != meta.totals {
                return Err(wrong("values are missing from the store".into()));
            }
            found
        }
    };
    let inventory = Arc::clone(&progress.stored.inventory);
    let label_sets = shared.catalog.label_sets.len();
    store.stored().advance(Arc::clone(&inventory), meta.version, label_sets)?;
    for (table, ranges) in inventory.tables() {
        add_table(shared, table, ranges).map_err(wrong)?;
    }
    for ((_, a, _), ranges) in inventory.tables().filter(|(t, _)| t.0 == Kind::Places as u8) {
        load_places(shared, store, a, ranges)?;
    }
    if inventory.contains(&key(Kind::Once, 0, 0, 0)) {
        load_once_ids(shared, store)?;
    }
    progress.last = meta.at;
    progress.outdated = meta.version < meta::VERSION_PACKED;
    for (id, definition) in meta.indexes {
        let table = shared.catalog.table_number();
        let index = Arc::new(Index::stored(id, definition, table));
        index.valid_from.store(meta.at, Ordering::Relaxed);
        index.set_online(meta.at);
        progress.indexes.insert(id.get());
        shared.indexes.add(&[index]);
    }
    Ok(progress)
}

/// Reads the ids of transactions that commit once.
fn load_once_ids(shared: &Shared, store: &Store) -> Result<(), Error> {
    let key = key(Kind::Once, 0, 0, 0);
    let wrong = |reason: String| damaged(store, &key, reason);
    let body = store.stored().first_value(&key).map_err(wrong)?;
    let body = body.ok_or_else(|| wrong("it is not there".into()))?;
    for (id, ts) in once::decode(&body).map_err(wrong)? {
        shared.once.note(&id, ts);
    }
    Ok(())
}

/// Reads where the properties of edges without an ordinal are.
fn load_places(shared: &Shared, store: &Store, a: u16, ranges: &Ranges) -> Result<(), Error> {
    let ty = shared.catalog.edge_type(EdgeTypeId::from_raw(a))?;
    for number in ranges.iter() {
        let key = key(Kind::Places, a, 0, number);
        let wrong = |reason: String| damaged(store, &key, reason);
        let body = store.stored().first_value(&key).map_err(wrong)?;
        let body = body.ok_or_else(|| wrong("it is not there".into()))?;
        for placed in places::decode(number, &body).map_err(|e| wrong(e.into()))? {
            ty.restore_place(placed).map_err(wrong)?;
        }
    }
    Ok(())
}

/// Which values a store has whose meta value does not say so yet: reads all of it, once.
fn count_values(store: &Store) -> Result<Totals, Error> {
    store.verify()?;
    let mut totals = Totals::default();
    let txn = store.read()?;
    for item in store.database().iter(&txn).map_err(|e| store.error(e))? {
        let (key, value) = item.map_err(|e| store.error(e))?;
        if changes::is_list(key) {
            continue;
        }
        let wrong = |reason: &'static str| damaged(store, key, reason);
        let (crc, _) = unseal(key, value).map_err(wrong)?;
        if key.first() != Some(&(Kind::Meta as u8)) {
            let key = key.try_into().map_err(|_| wrong("a key has the wrong length"))?;
            totals.put(&key, None, crc);
        }
    }
    Ok(totals)
}

/// Makes the table that these keys are of.
fn add_table(shared: &Shared, (kind, a, b): Table, ranges: &Ranges) -> Result<(), String> {
    let bound = ranges.bound();
    if is_history(&[kind]) {
        // Read, and verified, when it is needed.
        return Ok(());
    }
    if kind == Kind::Index as u8 {
        // Its entries are read when the index is first used.
        return Ok(());
    }
    if kind == Kind::Once as u8 {
        // Read once all tables are known.
        return Ok(());
    }
    if bound > 1 << (u32::BITS - SEGMENT_BITS) {
        return Err("a segment number is out of range".into());
    }
    let catalog = &shared.catalog;
    let edge_type = || catalog.edge_type(EdgeTypeId::from_raw(a)).map_err(|e| e.to_string());
    let property = |raw| {
        let key = PropertyKeyId::from_raw(raw);
        catalog.check_property_key(key).map(|()| key).map_err(|e| e.to_string())
    };
    match kind {
        k if k == Kind::Adjacency as u8 => {
            let direction = if b == 0 { Direction::Out } else { Direction::In };
            edge_type()?.table(direction).raise_bound(bound);
        }
        k if k == Kind::States as u8 => shared.states.raise_bound(bound),
        k if k == Kind::VertexProperty as u8 => {
            catalog.vertex_column_for_write(property(a)?).raise_bound(bound);
        }
        // Read once all tables are known.
        k if k == Kind::Places as u8 => drop(edge_type()?),
        k if k == Kind::EdgeProperty as u8 => {
            edge_type()?.column_for_write(property(b)?, catalog).raise_bound(bound);
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
            raise_bounds(shared, &writes, &bad).map_err(|e| match e {
                e @ Error::Damaged { .. } => e,
                e => bad(e.to_string()),
            })?;
            if let Some(id) = &writes.once {
                shared.once.note(id, ts);
            }
            shared.indexes.load_much_replayed(store, shared)?;
            let restart = |ts| {
                shared.clock.restart_at(ts);
                Ok(())
            };
            let mode = Mode::Replay { commit_ts: ts };
            let done = commit(shared, &writes, &[], mode, &Stop::never(), restart);
            // A record that fits the log's checksums but not the state it is replayed on, unless
            // that could not be read.
            done.map_err(|e| shared.check_stored().err().unwrap_or(bad(e.to_string())))?;
        }
        Record::Name { kind, number, name } => {
            shared.catalog.restore(kind, &name, number).map_err(bad)?;
        }
        Record::EdgeType { number, name, options } => {
            shared.catalog.restore_edge_type(&name, number, options).map_err(bad)?;
        }
        Record::Epoch { .. } => {}
        Record::Indexes(changes) => {
            for change in changes {
                match change {
                    IndexChange::Made { id, definition } => {
                        if shared.indexes.find(id).is_some() {
                            return Err(bad(format!("index {id} is made twice")));
                        }
                        let index = Index::replayed(id, definition, ts, &shared.catalog)
                            .map_err(|e| bad(e.to_string()))?;
                        shared.indexes.add(&[index]);
                    }
                    IndexChange::Dropped { id } => shared.indexes.remove(&[id]),
                }
            }
        }
    }
    shared.clock.restart_at(ts);
    Ok(())
}

/// Ids in a replayed commit are taken from now on.
fn raise_bounds(
    shared: &Shared,
    writes: &WriteSet,
    bad: &impl Fn(String) -> Error,
) -> Result<(), Error> {
    for w in writes.states.items() {
        shared.next_vertex.fetch_max(u64::from(w.vertex) + 1, Ordering::Relaxed);
    }
    for w in writes.edges.items() {
        let ty = shared.catalog.edge_type(w.ty)?;
        ty.raise_ordinal_bound(w.ordinal.saturating_add(1));
        if w.ordinal == 0 && w.op == EdgeOp::Create {
            ty.set_unnumbered();
        }
    }
    for w in writes.vertex_properties.items() {
        shared.catalog.check_property_key(w.key)?;
    }
    for w in writes.edge_properties.items() {
        shared.catalog.check_property_key(w.key)?;
        if !w.numbered {
            let ty = shared.catalog.edge_type(w.ty)?;
            ty.restore_place(Placed { src: w.src, dst: w.dst, place: w.place }).map_err(bad)?;
        }
    }
    for w in writes.states.items() {
        for label in shared.catalog.label_sets.labels(w.state).iter() {
            shared.catalog.check_label(*label)?;
        }
    }
    Ok(())
}
