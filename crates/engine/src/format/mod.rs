//! What stands in the store and in the log, below what it means: keys, checksums, a reader of
//! bytes.
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
//!   kind 5  index           a = index, segment = partition
//!   kind 6, 7  history      see subject.rs
//!   kind 8  places          a = edge type, segment = that of the source: where the properties of
//!                           edges without an ordinal are
//!   kind 9  once            a = b = segment = 0: ids of transactions that commit once
//!   kind 240  change list   the other 8 bytes: timestamp of a checkpoint
//!
//!  value = crc32 u32 of key and rest, rest   (see adjacency/stored.rs, column/states.rs,
//!          column/property.rs, checkpoint/meta.rs, store/changes.rs, history/stored.rs,
//!          index/page.rs, catalog/places.rs and once.rs)
//! ```

pub(crate) mod reader;
pub(crate) mod subject;

/// Subject of a stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Meta = 0,
    Adjacency = 1,
    States = 2,
    VertexProperty = 3,
    EdgeProperty = 4,
    Index = 5,
    History = 6,
    EdgeHistory = 7,
    Places = 8,
    Once = 9,
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

/// A key's parts: kind, a, b, segment.
pub(crate) fn parts(key: &[u8]) -> Option<(u8, u16, u16, u32)> {
    let key: &[u8; KEY_BYTES] = key.try_into().ok()?;
    let short = |i: usize| u16::from(key[i]) << 8 | u16::from(key[i + 1]);
    Some((key[0], short(1), short(3), u32::from(short(5)) << 16 | u32::from(short(7))))
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

/// The checksum that a value carries, right or wrong.
pub(crate) fn crc_of(value: &[u8]) -> u32 {
    value.first_chunk::<4>().map_or(0, |crc| u32::from_le_bytes(*crc))
}

/// The kind of a record of the log that is a commit (`commit/record.rs`).
pub(crate) const KIND_COMMIT: u8 = 1;

/// The record of a commit that changes nothing.
pub(crate) const EMPTY_COMMIT: &[u8] = &[KIND_COMMIT];
