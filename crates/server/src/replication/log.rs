//! Records of the log on their way to a follower.
//!
//! ```text
//!  GET /db/NAME/log?after=7&wait=10&identity=5bd1…&follower=a1b2…
//!
//!  answer  "TELARLOG" · version u32 · salt u32 · first u64 · next u64 · newest u64
//!          · bytes of the records u64 · CRC-32 of all that u32 · records
//! ```
//!
//! Numbers are little-endian. The records are those of the commits from `first` up to, and without,
//! `next`, as they stand in a log, each with its own checksum; `newest` is the last commit that the
//! source shows. An answer without records says that none came while it waited.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_db::log::{LogGroup, LogPlace, LogRecords, RECORD_BYTES_MAX};
use telar_db::{CommitTs, Database};

use super::client::Client;
use super::error::Error;

const MAGIC: &[u8; 8] = b"TELARLOG";
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 52;

/// Bytes of records in an answer, unless one is longer.
pub const ANSWER_BYTES: usize = 4 << 20;
/// Longest wait of a source for a commit: shorter than what clients of HTTP wait for an answer.
pub const WAIT_MAX: Duration = Duration::from_secs(5);

/// Time for an answer, beside the time that it waits for a commit.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// Answer of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The records; none if none came.
    pub records: Option<LogRecords>,
    /// The last commit that the source shows.
    pub newest: u64,
}

impl Answer {
    /// Encodes it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let group = match &self.records {
            Some(records) => records.as_group(),
            None => LogGroup { first_ts: 0, next_ts: 0, salt: 0, frames: &[] },
        };
        let mut out = Vec::with_capacity(HEAD_BYTES + group.frames.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&group.salt.to_le_bytes());
        let numbers = [group.first_ts, group.next_ts, self.newest, group.frames.len() as u64];
        numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        out.extend_from_slice(&crc32fast::hash(&out).to_le_bytes());
        out.extend_from_slice(group.frames);
        out
    }

    /// Reads an encoded answer; the records themselves are checked when they are applied.
    ///
    /// # Errors
    /// A fault of the answer, for people.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let Some((head, frames)) = bytes.split_at_checked(HEAD_BYTES) else {
            return Err(format!("an answer of {} bytes is no log", bytes.len()));
        };
        let (head, crc) = head.split_at(HEAD_BYTES - 4);
        if !head.starts_with(MAGIC) {
            return Err("the answer is no log".to_owned());
        }
        let long = |at: usize| {
            head[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let short = |at: usize| (long(at) & u64::from(u32::MAX)) as u32;
        if short(8) != VERSION {
            return Err(format!("the log is of version {}, and {VERSION} is known", short(8)));
        }
        if crc != crc32fast::hash(head).to_le_bytes() {
            return Err("the checksum of the log's head does not fit".to_owned());
        }
        let (first_ts, next_ts, newest) = (long(16), long(24), long(32));
        if long(40) != frames.len() as u64 {
            return Err(format!("{} bytes of records came, not {}", frames.len(), long(40)));
        }
        let none = first_ts == next_ts && frames.is_empty();
        let records = LogRecords { first_ts, next_ts, salt: short(12), frames: frames.to_vec() };
        match none || first_ts < next_ts {
            true => Ok(Self { records: (!none).then_some(records), newest }),
            false => Err(format!("the log goes from {first_ts} to {next_ts}")),
        }
    }
}

/// Places that followers have reached in the log of one opening of a database, so that a request
/// need not search for where the one before it has ended.
#[derive(Debug, Default)]
pub struct Places(Mutex<BTreeMap<String, (Instant, LogPlace)>>);

/// Most places that are kept: each holds a file open.
const PLACES_MAX: usize = 32;

impl Places {
    fn take(&self, follower: &str, after: CommitTs) -> Option<LogPlace> {
        let (_, place) = self.0.lock().remove(follower)?;
        Some(place).filter(|place| place.position() == after)
    }

    fn keep(&self, follower: &str, place: LogPlace) {
        let mut places = self.0.lock();
        while places.len() >= PLACES_MAX {
            let oldest = places.iter().min_by_key(|(_, (at, _))| *at);
            let oldest = oldest.map(|(follower, _)| follower.clone());
            oldest.map(|oldest| places.remove(&oldest));
        }
        places.insert(follower.to_owned(), (Instant::now(), place));
    }
}

/// Reads the records after a commit for a follower that has a name or none; waits for nothing.
///
/// # Errors
/// [`telar_db::Error::NotRetained`] if they are not kept, and what else keeps them from being read.
pub fn read(
    (database, places): (&Database, &Places),
    (follower, after): (Option<&str>, CommitTs),
) -> Result<Answer, telar_db::Error> {
    let place = follower.and_then(|follower| places.take(follower, after));
    let reader = place.map(|place| database.log_at(place));
    let mut reader = reader.map_or_else(|| database.log_after(after), Ok)?;
    let records = reader.next_within(ANSWER_BYTES, Duration::ZERO)?;
    if let Some(follower) = follower {
        places.keep(follower, reader.into_place());
    }
    Ok(Answer { records, newest: database.published().get() })
}

/// Request of a follower.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Name of the database.
    pub name: &'a str,
    /// Identity that it must have.
    pub identity: &'a str,
    /// The last commit that the follower has.
    pub after: CommitTs,
    /// Time to wait for a commit.
    pub wait: Duration,
    /// Name of the follower.
    pub follower: &'a str,
}

/// Asks a source for records.
///
/// # Errors
/// Errors of the request, and [`Error::Broken`] if the answer is none.
pub fn fetch(client: &Client, ask: &Ask<'_>) -> Result<Answer, Error> {
    let Ask { name, identity, after, wait, follower } = ask;
    let (after, wait_time, wait) = (after.get(), wait, wait.as_secs());
    let path =
        format!("/db/{name}/log?after={after}&wait={wait}&identity={identity}&follower={follower}");
    let bytes = client
        .get(&path, *wait_time + ANSWER_TIME)?
        .whole(HEAD_BYTES + ANSWER_BYTES + RECORD_BYTES_MAX)?;
    Answer::decode(&bytes).map_err(|why| Error::Broken(format!("{}: {why}", client.url())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(frames: &[u8]) -> Answer {
        let records = LogRecords { first_ts: 5, next_ts: 8, salt: 77, frames: frames.to_vec() };
        Answer { records: Some(records), newest: 1 << 40 }
    }

    #[test]
    fn answers_come_back_as_they_were() {
        let none = Answer { records: None, newest: 7 };
        for answer in [answer(b"frames"), none] {
            assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
        }
    }

    #[test]
    fn heads_that_are_damaged_and_cuts_are_noticed() {
        let bytes = answer(b"frames").encode();
        for at in 0..bytes.len() {
            assert!(Answer::decode(&bytes[..at]).is_err(), "cut at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            // Records have checksums of their own.
            assert_eq!(Answer::decode(&changed).is_err(), at < HEAD_BYTES, "byte {at}");
        }
        let mut reversed = answer(b"");
        reversed.records.as_mut().unwrap().next_ts = 3;
        assert!(Answer::decode(&reversed.encode()).is_err());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_decoded_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..90),
        ) {
            let _ = Answer::decode(&bytes);
            let mut behind = answer(b"").encode();
            behind.extend_from_slice(&bytes);
            let _ = Answer::decode(&behind);
        }
    }
}
