//! One record of the log.
//!
//! Layout (little-endian; offsets in bytes):
//!
//! ```text
//!  0        4        8                16         16 + len
//!  ├────────┼────────┼────────────────┼──────────┼───────┤
//!  │ crc    │ len    │ stamp          │ payload  │ zeros │ up to a multiple of 8
//!  │ u32    │ u32    │ u64            │ [u8;len] │       │
//!  └────────┴────────┴────────────────┴──────────┴───────┘
//!                     stamp = bit 63: first record of its group · bits 0..63: commit timestamp
//!  crc: CRC-32 seeded with the file's salt, over len, payload, stamp, in this order.
//! ```
//!
//! The stamp comes last in the checksum because it is known last: everything before it is summed
//! before the commit takes the log's mutex, and eight bytes under it.
//!
//! The salt makes records of other logs invalid here: a payload may hold a copy of some log file,
//! and a torn record must not look like a damaged one because of what it carries (see `tail.rs`).
//!
//! Records begin at multiples of 8, so that a sector that was never written takes at least eight
//! bytes of the first record it hits: enough to know it by (see `tail.rs`).
//!
//! Invariants: `len <= PAYLOAD_BYTES_MAX`; timestamps are never 0, so zeros are never a record.
//! Cost: encoding is one CRC and one copy; decoding is one CRC and copies nothing.

use crc32fast::Hasher;

use super::{RecordFault, WalError};

/// Bytes before the payload.
pub(super) const RECORD_HEADER_BYTES: usize = 16;
/// Bytes beside a payload that its record takes at most.
pub const RECORD_ROOM: usize = RECORD_HEADER_BYTES + ALIGNMENT;
const LEN_OFFSET: usize = 4;
const STAMP_OFFSET: usize = 8;
const _: () = assert!(LEN_OFFSET == size_of::<u32>());
const _: () = assert!(STAMP_OFFSET == LEN_OFFSET + size_of::<u32>());
const _: () = assert!(RECORD_HEADER_BYTES == STAMP_OFFSET + size_of::<u64>());

/// Where records may begin.
pub(super) const ALIGNMENT: usize = 8;
const _: () = assert!(RECORD_HEADER_BYTES.is_multiple_of(ALIGNMENT));

/// Longest payload of a record: 256 MiB.
///
/// A commit of four million edges at 64 bytes each; what is larger is an import and takes several
/// commits. A reader holds a whole file in memory, so this also bounds what opening a log needs.
pub const PAYLOAD_BYTES_MAX: usize = 256 << 20;
const _: () = assert!(PAYLOAD_BYTES_MAX <= u32::MAX as usize);

/// Largest commit timestamp: the stamp's top bit is taken.
pub const TIMESTAMP_MAX: u64 = (1 << 63) - 1;
const STARTS_GROUP: u64 = 1 << 63;
const _: () = assert!(TIMESTAMP_MAX & STARTS_GROUP == 0);

/// A record whose checksum lacks only the stamp.
#[derive(Debug)]
pub(super) struct PreparedRecord<'a> {
    payload: &'a [u8],
    len: [u8; 4],
    crc: u32,
}

impl<'a> PreparedRecord<'a> {
    /// Returns the record of `payload`, for files with this salt.
    #[inline]
    pub(super) fn new(salt: u32, payload: &'a [u8]) -> Result<Self, WalError> {
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(WalError::PayloadTooLarge { bytes: payload.len(), max: PAYLOAD_BYTES_MAX });
        }
        let len = u32::try_from(payload.len()).expect("INVARIANT: PAYLOAD_BYTES_MAX fits in u32");
        let len = len.to_le_bytes();
        Ok(Self { payload, len, crc: body_crc(salt, len, payload) })
    }

    /// Returns the bytes the record takes in the log.
    #[inline]
    pub(super) fn size(&self) -> usize {
        size_of_record(self.payload.len())
    }

    /// Appends the record to `group`, whose first record it is if `group` is empty.
    #[inline]
    pub(super) fn append_to(&self, group: &mut Vec<u8>, commit_ts: u64) {
        let header = header(self.crc, self.len, commit_ts, group.is_empty());
        group.reserve(self.size());
        group.extend_from_slice(&header);
        group.extend_from_slice(self.payload);
        group.extend_from_slice(&[0; ALIGNMENT][..padding(self.payload.len())]);
    }
}

/// The bytes before a payload; `crc` is that of length and payload.
#[inline]
fn header(crc: u32, len: [u8; 4], commit_ts: u64, starts_group: bool) -> [u8; RECORD_HEADER_BYTES] {
    debug_assert!((1..=TIMESTAMP_MAX).contains(&commit_ts));
    let flag = if starts_group { STARTS_GROUP } else { 0 };
    let stamp = (commit_ts | flag).to_le_bytes();
    let crc = continue_crc(crc, &stamp);
    let mut header = [0; RECORD_HEADER_BYTES];
    header[..LEN_OFFSET].copy_from_slice(&crc.to_le_bytes());
    header[LEN_OFFSET..STAMP_OFFSET].copy_from_slice(&len);
    header[STAMP_OFFSET..].copy_from_slice(&stamp);
    header
}

/// A record in a buffer of its own, which lacks only the header.
#[derive(Debug)]
pub(super) struct WholeRecord {
    bytes: Vec<u8>,
    len: [u8; 4],
    crc: u32,
}

impl WholeRecord {
    /// Makes the record of `payload` where that lies, if it has [`RECORD_ROOM`] to spare.
    pub(super) fn new(salt: u32, mut payload: Vec<u8>) -> Result<Self, WalError> {
        let PreparedRecord { len, crc, .. } = PreparedRecord::new(salt, &payload)?;
        payload.reserve_exact(RECORD_HEADER_BYTES + padding(payload.len()));
        payload.resize(payload.len() + padding(payload.len()), 0);
        payload.splice(..0, [0; RECORD_HEADER_BYTES]);
        Ok(Self { bytes: payload, len, crc })
    }

    /// Returns the bytes the record takes in the log.
    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the record as a group.
    pub(super) fn into_group(mut self, commit_ts: u64) -> Vec<u8> {
        let header = header(self.crc, self.len, commit_ts, true);
        self.bytes[..RECORD_HEADER_BYTES].copy_from_slice(&header);
        self.bytes
    }
}

/// Bytes of zeros after a payload of `len` bytes.
#[inline]
fn padding(len: usize) -> usize {
    len.next_multiple_of(ALIGNMENT) - len
}

#[inline]
pub(super) fn size_of_record(len: usize) -> usize {
    RECORD_HEADER_BYTES + len + padding(len)
}

#[inline]
fn continue_crc(crc: u32, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(crc);
    hasher.update(bytes);
    hasher.finalize()
}

#[inline]
fn body_crc(salt: u32, len: [u8; 4], payload: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(salt);
    hasher.update(&len);
    hasher.update(payload);
    hasher.finalize()
}

/// A record as it lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) commit_ts: u64,
    pub(super) starts_group: bool,
    pub(super) payload: &'a [u8],
}

impl<'a> Record<'a> {
    /// Returns the record at the start of `bytes`, or what is wrong with it.
    pub(super) fn decode(bytes: &'a [u8], salt: u32) -> Result<Self, RecordFault> {
        let header = RecordHeader::decode(bytes).ok_or(RecordFault::Incomplete)?;
        if header.len > PAYLOAD_BYTES_MAX {
            return Err(RecordFault::TooLong { bytes: header.len as u64 });
        }
        let body = bytes.get(RECORD_HEADER_BYTES..).ok_or(RecordFault::Incomplete)?;
        let (payload, rest) = body.split_at_checked(header.len).ok_or(RecordFault::Incomplete)?;
        let zeros = rest.get(..padding(header.len)).ok_or(RecordFault::Incomplete)?;
        let len = u32::try_from(header.len).map_err(|_| RecordFault::Incomplete)?.to_le_bytes();
        let crc = continue_crc(body_crc(salt, len, payload), &header.stamp.to_le_bytes());
        let padded = zeros.iter().all(|byte| *byte == 0);
        if crc != header.crc || header.commit_ts() == 0 || !padded {
            return Err(RecordFault::Checksum);
        }
        let starts_group = header.stamp & STARTS_GROUP != 0;
        Ok(Self { commit_ts: header.commit_ts(), starts_group, payload })
    }

    /// Returns the bytes the record takes in the log.
    pub(super) fn size(&self) -> usize {
        size_of_record(self.payload.len())
    }
}

/// The bytes before a payload, not verified.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordHeader {
    pub(super) crc: u32,
    pub(super) len: usize,
    stamp: u64,
}

impl RecordHeader {
    /// Returns the header at the start of `bytes`, unless they are too few.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let crc = u32::from_le_bytes(*bytes.first_chunk()?);
        let len = u32::from_le_bytes(*bytes.get(LEN_OFFSET..)?.first_chunk()?);
        let stamp = u64::from_le_bytes(*bytes.get(STAMP_OFFSET..)?.first_chunk()?);
        Some(Self { crc, len: len as usize, stamp })
    }

    /// Returns the commit timestamp that stands there.
    pub(super) fn commit_ts(&self) -> u64 {
        self.stamp & TIMESTAMP_MAX
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;

    const SALT: u32 = 0xDEAD_BEEF;

    fn encoded(payload: &[u8], commit_ts: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        PreparedRecord::new(SALT, payload).unwrap().append_to(&mut bytes, commit_ts);
        bytes
    }

    #[test]
    fn record_round_trips() {
        for payload in [&b""[..], b"x", b"hello", &[7; 1000]] {
            let mut bytes = encoded(payload, 42);
            PreparedRecord::new(SALT, payload).unwrap().append_to(&mut bytes, 43);
            let first = Record::decode(&bytes, SALT).unwrap();
            assert_eq!(first, Record { commit_ts: 42, starts_group: true, payload });
            let second = Record::decode(&bytes[first.size()..], SALT).unwrap();
            assert_eq!(second, Record { commit_ts: 43, starts_group: false, payload });
        }
    }

    #[test]
    fn a_record_made_in_place_has_the_same_bytes() {
        for len in [0, 1, 7, 8, 1000] {
            let mut payload = Vec::with_capacity(len + RECORD_ROOM);
            payload.resize(len, 7);
            let (place, expected) = (payload.as_ptr(), encoded(&payload, 42));
            let record = WholeRecord::new(SALT, payload).unwrap();
            assert_eq!(record.size(), expected.len());
            let group = record.into_group(42);
            assert_eq!(group, expected);
            assert_eq!(group.as_ptr(), place, "nothing was copied elsewhere");
        }
    }

    #[test]
    fn record_bytes_are_pinned() {
        // The format on disk: a change here is a new format version.
        let bytes = encoded(b"telar", 0x0102_0304);
        let expected = crc32fast_of(&[&5_u32.to_le_bytes(), b"telar", &bytes[8..16]]);
        assert_eq!(bytes[..4], expected.to_le_bytes());
        assert_eq!(bytes[4..8], [5, 0, 0, 0]);
        assert_eq!(bytes[8..16], [4, 3, 2, 1, 0, 0, 0, 0x80]);
        assert_eq!(bytes[16..], *b"telar\0\0\0");
    }

    fn crc32fast_of(parts: &[&[u8]]) -> u32 {
        let mut hasher = Hasher::new_with_initial(SALT);
        hasher.update(&parts.concat());
        hasher.finalize()
    }

    #[test]
    fn record_with_any_changed_bit_is_refused() {
        let bytes = encoded(b"some payload", 77);
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::decode(&changed, SALT).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..len], SALT), Err(RecordFault::Incomplete));
        }
        assert_eq!(Record::decode(&bytes, SALT + 1), Err(RecordFault::Checksum));
        assert!(Record::decode(&[0; 64], SALT).is_err());
        let too_long = RecordFault::TooLong { bytes: u64::from(u32::MAX) };
        assert_eq!(Record::decode(&[0xFF; 64], SALT), Err(too_long));
    }
}
