//! Torn or damaged: what a bad record in the last log file means.
//!
//! ```text
//!   ─ group 7, synced ─┬─ group 8, synced ─┬─ group 9, being written at the crash ─┐
//!   rec rec rec rec    │ rec rec rec       │ rec  rec  ▒▒▒  rec  rec  ▒▒▒▒▒▒▒▒▒▒▒▒ │ end of file
//!                                                     └ bad
//! ```
//!
//! Group 9 was written with one append and never synced, so a crash may leave any part of it: a
//! prefix, a prefix with zeros or garbage behind it, or sectors missing in the middle with good
//! records after them. None of it was acknowledged. The bad record and what follows are cut.
//!
//! Groups 7 and 8 were synced and acknowledged. Nothing but damage can make a record of theirs bad,
//! and cutting there would lose commits. The rules, for a bad record at `bad`:
//!
//! 1. No valid record after it: torn. (Damage to the very last record of a log is the same bytes;
//!    the two cannot be told apart.)
//! 2. A valid record after it that is the *first of its group*: damaged. That group was written
//!    only after the sync of all before it had returned.
//! 3. Valid records after it, none the first of a group: they belong to one group with the bad one.
//!    Torn if the bad bytes include a missing piece, that is zeros up to a sector's end from its
//!    start (or from `bad`, where the group begins within the sector), since log files grow into
//!    fresh blocks and an unwritten one reads as zeros. Otherwise damaged: a bit that flipped in
//!    the last group must not take acknowledged commits with it.
//!
//! A valid record has a right checksum, a timestamp above the expected one, and not so far above
//! that the bytes between could not hold the records between. Chance makes one of random bytes
//! less than once in 2^60 offsets; a copy of another log within a payload has another salt.
//!
//! Cost: one look at a header per eight bytes after `bad`; nothing when the log ends cleanly.
//! Source: etcd's `wal/decoder.go` (`isTornEntry`) for the zeroed sector.

use super::record::{ALIGNMENT, RECORD_HEADER_BYTES, Record, RecordHeader};

/// What a disk writes as a whole; 4096-byte disks write multiples of it.
const SECTOR_BYTES: usize = 512;

// A missing piece takes at least the checksum and the length of the record it begins in, and one
// changed byte cannot make these zero.
const _: () = assert!(SECTOR_BYTES.is_multiple_of(ALIGNMENT) && ALIGNMENT >= 8);

/// What a bad record in the last file means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// The rest was never acknowledged.
    Torn,
    /// Acknowledged records follow; the next valid one is at `next_offset`.
    Damaged { next_offset: usize },
}

/// Returns what the bad record at `bad`, where commit `expected_ts` should be, means.
pub(super) fn classify(bytes: &[u8], bad: usize, expected_ts: u64, salt: u32) -> Tail {
    let mut first_valid = None;
    let mut offset = bad + ALIGNMENT;
    while let Some((found, record)) = next_valid(bytes, offset, expected_ts, salt) {
        let next_offset = *first_valid.get_or_insert(found);
        if record.starts_group {
            return Tail::Damaged { next_offset };
        }
        offset = found + record.size();
    }
    match first_valid {
        Some(next_offset) if !has_hole(bytes, bad, next_offset) => Tail::Damaged { next_offset },
        _ => Tail::Torn,
    }
}

/// Returns the first valid record at or after `from` of a commit after `expected_ts`.
pub(super) fn next_valid(
    bytes: &[u8],
    from: usize,
    expected_ts: u64,
    salt: u32,
) -> Option<(usize, Record<'_>)> {
    let records_max = (bytes.len() / RECORD_HEADER_BYTES) as u64;
    let possible = expected_ts + 1..=expected_ts + records_max;
    for offset in (from..bytes.len()).step_by(ALIGNMENT) {
        let rest = bytes.get(offset..)?;
        let header = RecordHeader::decode(rest)?;
        if !possible.contains(&header.commit_ts()) || header.len > rest.len() {
            continue;
        }
        if let Ok(record) = Record::decode(rest, salt) {
            return Some((offset, record));
        }
    }
    None
}

/// Returns whether a piece that was never written lies in `bad..end`.
fn has_hole(bytes: &[u8], bad: usize, end: usize) -> bool {
    let mut sector_end = (bad / SECTOR_BYTES + 1) * SECTOR_BYTES;
    while sector_end <= end {
        let start = (sector_end - SECTOR_BYTES).max(bad);
        let piece = bytes.get(start..sector_end).unwrap_or_default();
        if !piece.is_empty() && piece.iter().all(|byte| *byte == 0) {
            return true;
        }
        sector_end += SECTOR_BYTES;
    }
    false
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;
    use crate::wal::record::PreparedRecord;

    const SALT: u32 = 5;

    /// Groups of records with 104-byte payloads (120 bytes each), from commit 1 on.
    fn log(groups: &[usize]) -> Vec<u8> {
        let (mut bytes, mut commit_ts) = (Vec::new(), 0);
        for records in groups {
            let mut group = Vec::new();
            for _ in 0..*records {
                commit_ts += 1;
                let payload = [0xA5; 104];
                PreparedRecord::new(SALT, &payload).unwrap().append_to(&mut group, commit_ts);
            }
            bytes.extend_from_slice(&group);
        }
        bytes
    }

    #[test]
    fn last_record_bad_is_torn() {
        let mut bytes = log(&[1, 1, 1]);
        bytes[250] ^= 1;
        assert_eq!(classify(&bytes, 240, 3, SALT), Tail::Torn);
        bytes.truncate(300);
        bytes.resize(5000, 0);
        assert_eq!(classify(&bytes, 240, 3, SALT), Tail::Torn);
    }

    #[test]
    fn bad_record_before_a_later_group_is_damage_even_with_a_hole() {
        let mut bytes = log(&[10, 10]);
        bytes[130] ^= 1;
        assert_eq!(classify(&bytes, 120, 2, SALT), Tail::Damaged { next_offset: 240 });
        let mut bytes = log(&[10, 10]);
        bytes[512..1024].fill(0);
        assert_eq!(classify(&bytes, 480, 5, SALT), Tail::Damaged { next_offset: 9 * 120 });
    }

    #[test]
    fn hole_in_the_last_group_is_torn_and_a_changed_byte_is_damage() {
        let mut bytes = log(&[1, 20]);
        bytes[512..1024].fill(0);
        assert_eq!(classify(&bytes, 480, 5, SALT), Tail::Torn);
        let mut bytes = log(&[1, 20]);
        bytes[120..512].fill(0);
        assert_eq!(classify(&bytes, 120, 2, SALT), Tail::Torn, "from the group's start");
        let mut bytes = log(&[1, 20]);
        bytes[610] = 0;
        assert_eq!(classify(&bytes, 600, 6, SALT), Tail::Damaged { next_offset: 720 });
    }

    #[test]
    fn copies_of_logs_in_a_payload_are_no_records() {
        // A torn record whose payload holds records of another log, and of this one's past.
        let mut other = Vec::new();
        PreparedRecord::new(SALT + 1, b"other log").unwrap().append_to(&mut other, 10);
        let mut old = Vec::new();
        PreparedRecord::new(SALT, b"this log, long ago").unwrap().append_to(&mut old, 3);
        let mut bytes = Vec::new();
        let payload = [other, old, vec![1; 50]].concat();
        PreparedRecord::new(SALT, &payload).unwrap().append_to(&mut bytes, 9);
        bytes.truncate(bytes.len() - 1);
        assert_eq!(classify(&bytes, 0, 9, SALT), Tail::Torn);
    }
}
