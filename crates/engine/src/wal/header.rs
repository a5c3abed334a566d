//! Name and header of a log file.
//!
//! Name: `wal-` + the first record's commit timestamp, 20 decimal digits + `.log`, so that the
//! order of the names is the order of the records.
//!
//! Header (little-endian; offsets in bytes):
//!
//! ```text
//!  0                8        12       16               24       28       32
//!  ├────────────────┼────────┼────────┼────────────────┼────────┼────────┤
//!  │ "TELARWAL"     │ version│ salt   │ first_ts       │ zero   │ crc    │  records …
//!  │ [u8;8]         │ u32    │ u32    │ u64            │ u32    │ u32    │
//!  └────────────────┴────────┴────────┴────────────────┴────────┴────────┘
//!  crc: CRC-32 over bytes 0..28. salt: seeds the checksum of every record in the file.
//! ```
//!
//! Invariant: magic, version and crc keep their places in every later format, so that this code can
//! tell a newer file from a damaged one.

use super::{Damage, WalError};
use std::path::Path;

/// Bytes before the first record.
pub(super) const FILE_HEADER_BYTES: usize = 32;
/// The format this code writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"TELARWAL";
const VERSION_OFFSET: usize = 8;
const SALT_OFFSET: usize = 12;
const FIRST_TS_OFFSET: usize = 16;
const ZERO_OFFSET: usize = 24;
const CRC_OFFSET: usize = 28;
const _: () = assert!(VERSION_OFFSET == MAGIC.len());
const _: () = assert!(SALT_OFFSET == VERSION_OFFSET + size_of::<u32>());
const _: () = assert!(FIRST_TS_OFFSET == SALT_OFFSET + size_of::<u32>());
const _: () = assert!(ZERO_OFFSET == FIRST_TS_OFFSET + size_of::<u64>());
const _: () = assert!(CRC_OFFSET == ZERO_OFFSET + size_of::<u32>());
const _: () = assert!(FILE_HEADER_BYTES == CRC_OFFSET + size_of::<u32>());

const PREFIX: &str = "wal-";
const SUFFIX: &str = ".log";
const DIGITS: usize = 20;
// 20 digits hold every u64, so names sort as numbers do.
const _: () = assert!(u64::MAX.ilog10() as usize + 1 == DIGITS);

/// Returns the name of the file that begins with the record `first_ts`.
pub(super) fn file_name(first_ts: u64) -> String {
    format!("{PREFIX}{first_ts:0DIGITS$}{SUFFIX}")
}

/// Returns the first timestamp that the name tells, or `None` if it is not a log file's.
pub(super) fn parse_file_name(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    if digits.len() != DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|first_ts| (1..=super::TIMESTAMP_MAX).contains(first_ts))
}

/// The header of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    pub(super) salt: u32,
    pub(super) first_ts: u64,
}

impl FileHeader {
    pub(super) fn encode(&self) -> [u8; FILE_HEADER_BYTES] {
        let mut bytes = [0; FILE_HEADER_BYTES];
        bytes[..VERSION_OFFSET].copy_from_slice(&MAGIC);
        bytes[VERSION_OFFSET..SALT_OFFSET].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[SALT_OFFSET..FIRST_TS_OFFSET].copy_from_slice(&self.salt.to_le_bytes());
        bytes[FIRST_TS_OFFSET..ZERO_OFFSET].copy_from_slice(&self.first_ts.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..CRC_OFFSET]);
        bytes[CRC_OFFSET..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Returns the header at the start of `file`, or why there is none.
    pub(super) fn decode(file: &[u8], path: &Path) -> Result<Self, WalError> {
        let damaged = |offset: usize, what| WalError::damaged(path, offset, what);
        let Some(bytes) = file.first_chunk::<FILE_HEADER_BYTES>() else {
            return Err(damaged(file.len(), Damage::HeaderIncomplete));
        };
        if bytes[..VERSION_OFFSET] != MAGIC {
            return Err(WalError::WrongMagic { file: path.to_owned() });
        }
        if crc32fast::hash(&bytes[..CRC_OFFSET]) != u32_at(bytes, CRC_OFFSET) {
            return Err(damaged(CRC_OFFSET, Damage::HeaderChecksum));
        }
        let version = u32_at(bytes, VERSION_OFFSET);
        if version > FORMAT_VERSION {
            let (file, supported) = (path.to_owned(), FORMAT_VERSION);
            return Err(WalError::NewerFormat { file, found: version, supported });
        }
        if version != FORMAT_VERSION {
            return Err(damaged(VERSION_OFFSET, Damage::HeaderVersion { found: version }));
        }
        let mut first_ts = [0; size_of::<u64>()];
        first_ts.copy_from_slice(&bytes[FIRST_TS_OFFSET..ZERO_OFFSET]);
        let salt = u32_at(bytes, SALT_OFFSET);
        Ok(Self { salt, first_ts: u64::from_le_bytes(first_ts) })
    }
}

fn u32_at(bytes: &[u8; FILE_HEADER_BYTES], offset: usize) -> u32 {
    let mut word = [0; size_of::<u32>()];
    word.copy_from_slice(&bytes[offset..offset + size_of::<u32>()]);
    u32::from_le_bytes(word)
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_sort_as_numbers() {
        assert_eq!(file_name(17), "wal-00000000000000000017.log");
        for first_ts in [1, 9, 10, 1 << 40, super::super::TIMESTAMP_MAX] {
            assert_eq!(parse_file_name(&file_name(first_ts)), Some(first_ts));
        }
        assert!(file_name(9) < file_name(10) && file_name(10) < file_name(1 << 60));
        let others = ["wal-1.log", "wal-00000000000000000000.log", "wal-0000000000000000001x.log"];
        assert!(others.into_iter().chain(["data.mdb", ""]).all(|n| parse_file_name(n).is_none()));
    }

    #[test]
    fn header_round_trips_and_any_changed_byte_is_refused() {
        let header = FileHeader { salt: 99, first_ts: 12345 };
        let bytes = header.encode();
        let path = Path::new("log");
        assert_eq!(FileHeader::decode(&bytes, path).unwrap(), header);
        for index in 0..bytes.len() {
            let mut changed = bytes;
            changed[index] ^= 0x10;
            let error = FileHeader::decode(&changed, path).unwrap_err();
            match error {
                WalError::WrongMagic { .. } => assert!(index < 8),
                WalError::Damaged { what, .. } => assert_eq!(what, Damage::HeaderChecksum),
                other => panic!("{other}"),
            }
            let error = FileHeader::decode(&bytes[..index], path).unwrap_err();
            assert!(error.to_string().contains("incomplete"), "{error}");
        }
    }

    #[test]
    fn header_of_a_newer_format_is_refused_clearly() {
        let mut bytes = FileHeader { salt: 1, first_ts: 1 }.encode();
        bytes[8] = 7;
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        let error = FileHeader::decode(&bytes, Path::new("log")).unwrap_err();
        assert!(matches!(error, WalError::NewerFormat { found: 7, supported: 1, .. }));
        assert!(error.to_string().contains("format version 7"), "{error}");
        bytes[8] = 0;
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        assert!(FileHeader::decode(&bytes, Path::new("log")).is_err());
    }
}
