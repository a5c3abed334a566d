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
//!
//!  value = crc32 u32 of the rest, rest       (see segment.rs and meta.rs)
//! ```
//!
//! A checkpoint at timestamp C is one LMDB transaction. It holds, for every segment written since the
//! last one, what a snapshot at C sees; the other segments' values are still right. While it is being
//! made a snapshot at C is open, so nothing newer settles; writers and readers go on.
//!
//! Crash cases: before the LMDB commit nothing has changed; after it, the log may still hold records up
//! to C, which recovery skips. The log is cut only after the commit.

pub(crate) mod meta;
pub(crate) mod segment;

use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;
use parking_lot::Mutex;
use telar_graph::Direction;

use crate::adjacency::scan::TableView;
use crate::column::{Chunk, ColTable};
use crate::error::Error;
use crate::failpoint;
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

/// Puts a checksum before `body`.
pub(crate) fn seal(body: &mut Vec<u8>) {
    let crc = crc32fast::hash(&body[4..]);
    body[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Checks the checksum and returns what follows it.
pub(crate) fn unseal(value: &[u8]) -> Result<&[u8], &'static str> {
    let (crc, body) = value.split_first_chunk::<4>().ok_or("the value is too short")?;
    if u32::from_le_bytes(*crc) != crc32fast::hash(body) {
        return Err("the checksum does not fit");
    }
    Ok(body)
}


/// State of a database's checkpoints.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Timestamp of the last checkpoint; held while one is made.
    pub(crate) last: Mutex<u64>,
}

impl Progress {
    pub(crate) fn at(last: u64) -> Self {
        Self { last: Mutex::new(last) }
    }
}

/// Writes a checkpoint of what is published now; returns its timestamp.
pub(crate) fn checkpoint(shared: &Shared) -> Result<u64, Error> {
    let Some(durable) = &shared.durable else { return Ok(shared.clock.published()) };
    let mut last = durable.progress.last.lock();
    let registration = Registration::new(Handle::Borrowed(shared))?;
    let at = registration.read_ts;
    if at == *last {
        return Ok(at);
    }
    write(shared, durable, *last, at)?;
    drop(registration);
    *last = at;
    failpoint!("checkpoint::before_truncate");
    durable.wal.rotate()?;
    durable.wal.truncate_before(at)?;
    Ok(at)
}

fn write(shared: &Shared, durable: &Durable, last: u64, at: u64) -> Result<(), Error> {
    let store = &durable.store;
    let mut txn = store.write()?;
    let database = store.database();
    let mut put = |key: [u8; KEY_BYTES], value: &[u8]| {
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
                    put(key(Kind::Adjacency, id.get(), direction as u16, number), &value)?;
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
    meta::encode(shared, at, &mut value);
    put(key(Kind::Meta, 0, 0, 0), &value)?;
    failpoint!("checkpoint::before_commit");
    txn.commit().map_err(|e| store.error(e))?;
    failpoint!("checkpoint::after_commit");
    Ok(())
}

fn put_column<C: Chunk + 'static>(
    column: &ColTable<C>,
    last: u64,
    at: u64,
    value: &mut Vec<u8>,
    encode: fn(&C::Value, &mut Vec<u8>),
    mut put: impl FnMut(u32, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    for number in 0..column.segment_bound() {
        let Some(segment) = column.segment(number) else { continue };
        if segment.last_write.load(Ordering::Relaxed) > last {
            value.clear();
            value.extend_from_slice(&[0; 4]);
            for v in segment.values(at, &epoch::pin()).iter() {
                encode(v, value);
            }
            seal(value);
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
