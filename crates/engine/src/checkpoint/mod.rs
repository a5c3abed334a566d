//! Checkpoints: the state at one commit timestamp, in the key-value store.
//!
//! ```text
//!  key (big-endian, so that a table's segments are neighbours)
//!   0      1          3          5            9
//!   ├──────┼──────────┼──────────┼────────────┤
//!   │ kind │ a: u16   │ b: u16   │ segment u32│
//!   └──────┴──────────┴──────────┴────────────┘
//!   kind 0  meta            a = b = segment = 0
//!   kind 1  adjacency       a = edge type, b = 0 out, 1 in
//!   kind 2  vertex states
//!   kind 3  vertex property a = property key
//!   kind 4  edge property   a = edge type, b = property key
//!   kind 240  change list   the other 8 bytes: timestamp of a checkpoint
//!
//!  value = crc32 u32 of key and rest, rest   (see segment.rs, meta.rs and changes.rs)
//! ```
//!
//! A checkpoint at timestamp C is one LMDB transaction. It holds, for every segment written since
//! the last one, what a snapshot at C sees; the other segments' values are still right. While it is
//! being made a snapshot at C is open, so nothing newer settles; writers and readers go on.
//!
//! Crash cases: before the LMDB commit nothing has changed; after it, the log may still hold
//! records up to C, which recovery skips. The log is cut only after the commit.

pub(crate) mod changes;
pub(crate) mod meta;
pub(crate) mod segment;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crossbeam_epoch as epoch;
use telar_graph::Direction;

use crate::adjacency::scan::TableView;
use crate::column::{Chunk, ColTable};
use crate::error::Error;
use crate::failpoint;
use crate::ops::archive;
use crate::shared::{Durable, Shared};
use crate::snapshot::{Handle, Registration};
use crate::store::Store;

/// What a stored value describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Meta = 0,
    Adjacency = 1,
    States = 2,
    VertexProperty = 3,
    EdgeProperty = 4,
}

/// Length of a key.
pub(crate) const KEY_BYTES: usize = 9;

/// Key of a stored value. Big-endian, so that keys sort by table and segment.
pub(crate) fn key(kind: Kind, a: u16, b: u16, segment: u32) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[0] = kind as u8;
    for (i, word) in [a >> 8, a, b >> 8, b].into_iter().enumerate() {
        key[1 + i] = word as u8;
    }
    for i in 0..4 {
        key[5 + i] = (segment >> (24 - 8 * i)) as u8;
    }
    key
}

fn checksum(key: &[u8], body: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(key);
    crc.update(body);
    crc.finalize()
}

/// Fills in the checksum at the start of `value`, which covers the key, too; returns it.
pub(crate) fn seal(key: &[u8], value: &mut [u8]) -> u32 {
    let crc = checksum(key, &value[4..]);
    value[..4].copy_from_slice(&crc.to_le_bytes());
    crc
}

/// Checks the checksum; returns it and what follows it.
pub(crate) fn unseal<'v>(key: &[u8], value: &'v [u8]) -> Result<(u32, &'v [u8]), &'static str> {
    let (crc, body) = value.split_first_chunk::<4>().ok_or("the value is too short")?;
    let crc = u32::from_le_bytes(*crc);
    if crc != checksum(key, body) {
        return Err("the checksum does not fit key and value");
    }
    Ok((crc, body))
}

/// What the store holds: checksums by key. Their number and sum stand in the meta value, so that a
/// key that got lost is noticed.
#[derive(Debug, Default)]
pub(crate) struct Inventory(HashMap<[u8; KEY_BYTES], u32>);

impl Inventory {
    /// Notes that `key` now holds a value with this checksum.
    pub(crate) fn put(&mut self, key: [u8; KEY_BYTES], crc: u32) {
        self.0.insert(key, crc);
    }

    /// Number of keys, and the sum of their checksums.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.0.len() as u64, self.0.values().map(|crc| u64::from(*crc)).sum())
    }
}

/// How far a database's checkpoints are.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Timestamp of the last checkpoint.
    pub(crate) last: u64,
    pub(crate) stored: Inventory,
    /// Which keys the last checkpoints wrote.
    pub(crate) changes: changes::Lists,
}

/// Writes a checkpoint of what is published now; returns its timestamp.
pub(crate) fn checkpoint(shared: &Shared) -> Result<u64, Error> {
    let Some(durable) = &shared.durable else {
        return Ok(shared.clock.published());
    };
    let mut progress = durable.progress.lock();
    // A name is logged first and added after that: without this lock a checkpoint could be later
    // than the record and still lack the name.
    let making = shared.catalog.making.lock();
    let registration = Registration::new(Handle::Borrowed(shared))?;
    drop(making);
    let at = registration.read_ts;
    if at == progress.last {
        return Ok(at);
    }
    let begun = Instant::now();
    let done = write(shared, durable, &mut progress, at).and_then(|()| {
        drop(registration);
        failpoint!("checkpoint::before_truncate");
        durable.wal.rotate()?;
        archive::keep(durable.store.root(), shared.settings.log_archive_bytes_max, at)?;
        durable.wal.truncate_before(at)?;
        Ok(at)
    });
    durable.checkpoints.note(&done, begun);
    done
}

fn write(
    shared: &Shared,
    durable: &Durable,
    progress: &mut Progress,
    at: u64,
) -> Result<(), Error> {
    let last = progress.last;
    let store = &durable.store;
    let mut txn = store.write()?;
    let database = store.database();
    let stored = &mut progress.stored;
    let mut written: Vec<[u8; KEY_BYTES]> = Vec::new();
    let mut put = |key: [u8; KEY_BYTES], value: &mut [u8]| {
        stored.put(key, seal(&key, value));
        written.push(key);
        database.put(&mut txn, &key, value).map_err(|e| store.error(e))
    };
    let mut value = Vec::new();
    for (id, ty) in shared.catalog.edge_types() {
        for direction in Direction::ALL {
            let table = ty.table(direction);
            for number in 0..table.segment_bound() {
                let written = |s: crate::adjacency::SegmentRef<'_>| {
                    s.last_write.load(Ordering::Relaxed) > last
                };
                if table.segment(number).is_some_and(written) {
                    let guard = &epoch::pin();
                    let view = TableView { table, guard, read_ts: at };
                    segment::encode_adjacency(&view, number, &mut value);
                    put(key(Kind::Adjacency, id.get(), direction as u16, number), &mut value)?;
                    failpoint!("checkpoint::segment");
                }
            }
        }
        for (property, column) in ty.columns() {
            put_column(column, last, at, &mut value, segment::put_property, |n, v| {
                put(key(Kind::EdgeProperty, id.get(), property.get(), n), v)
            })?;
        }
    }
    put_column(&shared.states, last, at, &mut value, segment::put_state, |n, v| {
        put(key(Kind::States, 0, 0, n), v)
    })?;
    for (property, column) in shared.catalog.vertex_columns() {
        put_column(column, last, at, &mut value, segment::put_property, |n, v| {
            put(key(Kind::VertexProperty, property.get(), 0, n), v)
        })?;
    }
    meta::encode(shared, at, progress.stored.totals(), &mut value);
    let meta_key = key(Kind::Meta, 0, 0, 0);
    seal(&meta_key, &mut value);
    database.put(&mut txn, &meta_key, &value).map_err(|e| store.error(e))?;
    let keys_stored = progress.stored.totals().0;
    let mut changes = progress.changes.clone();
    changes
        .add(at, last, &written, keys_stored, |key, list| match list {
            Some(list) => database.put(&mut txn, key, list),
            None => database.delete(&mut txn, key).map(drop),
        })
        .map_err(|e| store.error(e))?;
    failpoint!("checkpoint::before_commit");
    txn.commit().map_err(|e| store.error(e))?;
    progress.last = at;
    progress.changes = changes;
    durable.checkpoint_ts.store(at, Ordering::Release);
    failpoint!("checkpoint::after_commit");
    Ok(())
}

fn put_column<C: Chunk + 'static>(
    column: &ColTable<C>,
    last: u64,
    at: u64,
    value: &mut Vec<u8>,
    encode: fn(&C::Value, &mut Vec<u8>),
    mut put: impl FnMut(u32, &mut [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    for number in 0..column.segment_bound() {
        let Some(segment) = column.segment(number) else {
            continue;
        };
        if segment.last_write.load(Ordering::Relaxed) > last {
            value.clear();
            value.extend_from_slice(&[0; 4]);
            for v in segment.values(at, &epoch::pin()).iter() {
                encode(v, value);
            }
            put(number, value)?;
        }
    }
    Ok(())
}

/// Names a stored value in an error message.
pub(crate) fn damaged(store: &Store, key: &[u8], reason: impl Into<String>) -> Error {
    let hex: String = key.iter().map(|b| format!("{b:02x}")).collect();
    Error::Damaged { path: store.path(), place: format!("key {hex}"), reason: reason.into() }
}
