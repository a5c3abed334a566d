//! The replicated log: streams of slots that are written once.
//!
//! ```text
//!  timestamps   1 ........ 17 18 ... 40 41 │ 42
//!  slots        [1, 18)      [18, 41) [41,42) end = 42
//!  trim(20)     └─ removed ─┘└ the trim mark: 18
//! ```
//!
//! Promises of every implementation, checked by `tests/conformance`:
//!
//! - *Write once*: of all that put a slot at one timestamp, one wins; a body never changes.
//! - *The fence outlives trimming*: a slot before the trim mark cannot be won any more. Otherwise a
//!   leader that slept could win a slot that others have long read, applied and trimmed.
//! - *Reads are linearizable*: a read shows every slot that was won before it began. They have no
//!   gaps: a slot begins where the one before it ends.
//! - *There are no gaps*: a slot is won only where the one before it ends, or at the trim mark. A
//!   store that has lost its last slots, or all, takes nothing from who had read or written them.
//! - *What is read is durable*: a slot that was shown once is never gone but by trimming.

use std::fmt;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use super::{Name, StoreError};

/// Time between two looks of the default [`Log::follow`].
const POLL: Duration = Duration::from_millis(5);

/// Bytes that the default [`Log::bytes`] reads at a time.
const SUM_BYTES: usize = 4 << 20;

/// The timestamps of a slot: from `first` to before `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotRange {
    first: u64,
    next: u64,
}

impl SlotRange {
    /// Returns the range from `first` to before `next`.
    ///
    /// # Errors
    /// [`StoreError::Range`] if it is empty or begins at 0.
    pub fn new(first: u64, next: u64) -> Result<Self, StoreError> {
        if first == 0 || next <= first {
            return Err(StoreError::Range { first, next });
        }
        Ok(Self { first, next })
    }

    /// Returns the first timestamp, which names the slot.
    #[must_use]
    pub fn first(self) -> u64 {
        self.first
    }

    /// Returns the timestamp after the last one: where the next slot begins.
    #[must_use]
    pub fn next(self) -> u64 {
        self.next
    }

    /// Returns the mark of a trim to `before`, of which this is the last slot that begins at or
    /// before it: slots are removed whole.
    pub(super) fn trim_mark(self, before: u64) -> u64 {
        if self.next <= before { self.next } else { self.first }
    }
}

/// A slot that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its timestamps.
    pub range: SlotRange,
    /// Its body, as it was put.
    pub body: Vec<u8>,
}

/// The outcome of putting a slot.
#[derive(Debug)]
pub enum Put {
    /// The slot holds this body, for good.
    Won,
    /// The slot holds what is shown here, for good. It may be the caller's own body, if an earlier
    /// attempt had an unknown outcome.
    Lost(Slot),
    /// The slot may hold this body now or *later*: the request may still be under way. That a read
    /// finds the slot empty proves nothing; put the same body again until it is won or lost.
    Unknown(StoreError),
}

/// The name of a part: the slot that it is for, who wrote it, and its place in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartName {
    /// First timestamp of the slot.
    pub slot: u64,
    /// The number by which the slot's body names its parts; no two attempts share it.
    pub nonce: u64,
    /// Place in the body, from 0.
    pub index: u32,
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}-{:016x}-{:08}", self.slot, self.nonce, self.index)
    }
}

impl FromStr for PartName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut fields = text.split('-');
        let mut field = || fields.next().ok_or(());
        let slot = field()?.parse().map_err(drop)?;
        let nonce = u64::from_str_radix(field()?, 16).map_err(drop)?;
        let index = field()?.parse().map_err(drop)?;
        let name = Self { slot, nonce, index };
        // One text for each name.
        if name.to_string() == text { Ok(name) } else { Err(()) }
    }
}

/// Streams of slots that are written once.
pub trait Log: Send + Sync + fmt::Debug {
    /// Returns the longest body of a slot, and of a part, in bytes.
    fn body_bytes_max(&self) -> usize;

    /// Puts a slot of `range` with `body`, unless there is one that begins there. The caller has
    /// read the log up to `range.first()`.
    ///
    /// Cost: one durable write in the store; the first of a process looks for the slot before it.
    ///
    /// # Errors
    /// [`ErrorKind::Request`](super::ErrorKind::Request) for a body over the limit,
    /// [`StoreError::Trimmed`] before the trim mark, [`StoreError::Missing`] if no slot ends where
    /// it begins, and what the store reports as long as the slot cannot come to hold this body.
    fn put_once(&self, stream: &Name, range: SlotRange, body: &[u8]) -> Result<Put, StoreError>;

    /// Returns the slot that holds timestamp `from` and those after it, in order, up to the one
    /// with which their bodies reach `bytes_max`, or fewer. None only at the end of the log.
    ///
    /// # Errors
    /// [`StoreError::Trimmed`] if `from` lies before the trim mark; [`StoreError::Missing`] if no
    /// slot holds it and there are later ones; what the store reports.
    fn read(&self, stream: &Name, from: u64, bytes_max: usize) -> Result<Vec<Slot>, StoreError>;

    /// True if [`read_stale`](Self::read_stale) may answer while [`read`](Self::read) does not.
    fn reads_stale(&self) -> bool {
        false
    }

    /// Returns what [`read`](Self::read) does as one node of the store knows it, which need not
    /// lead. It may lack the last slots, so an empty answer is not the end of the log, and show
    /// slots that were trimmed. What it shows is in every later [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn read_stale(
        &self,
        stream: &Name,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<Slot>, StoreError> {
        self.read(stream, from, bytes_max)
    }

    /// Time between the reads of [`follow`](Self::follow), where the store cannot wake it.
    fn poll_interval(&self) -> Duration {
        POLL
    }

    /// Returns what [`read`](Self::read) does, as soon as there is something, and nothing after
    /// `wait`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn follow(
        &self,
        stream: &Name,
        from: u64,
        bytes_max: usize,
        wait: Duration,
    ) -> Result<Vec<Slot>, StoreError> {
        let end = Instant::now() + wait;
        loop {
            let slots = self.read(stream, from, bytes_max)?;
            let left = end.saturating_duration_since(Instant::now());
            if !slots.is_empty() || left.is_zero() {
                return Ok(slots);
            }
            thread::sleep(self.poll_interval().min(left));
        }
    }

    /// Returns the first timestamp that was not trimmed: 1, or the trim mark.
    ///
    /// # Errors
    /// Failures of the store.
    fn oldest(&self, stream: &Name) -> Result<u64, StoreError> {
        match self.read(stream, 1, 0) {
            Ok(_) => Ok(1),
            Err(StoreError::Trimmed { oldest, .. }) => Ok(oldest),
            Err(cause) => Err(cause),
        }
    }

    /// Returns the bytes of all bodies and parts that the stream has. Beside writers and trimming
    /// it is near to what there was at some moment.
    ///
    /// Cost: where the store cannot sum them up, they are read.
    ///
    /// # Errors
    /// Failures of the store.
    fn bytes(&self, stream: &Name) -> Result<u64, StoreError> {
        let (mut bytes, mut from) = (0, self.oldest(stream)?);
        loop {
            let slots = match self.read(stream, from, SUM_BYTES) {
                Ok(slots) => slots,
                Err(StoreError::Trimmed { oldest, .. }) => {
                    (bytes, from) = (0, oldest);
                    continue;
                }
                Err(cause) => return Err(cause),
            };
            let Some(last) = slots.last() else { break };
            from = last.range.next();
            bytes += slots.iter().map(|slot| slot.body.len() as u64).sum::<u64>();
        }
        for part in self.parts(stream, 0)? {
            bytes += self.read_part(stream, part)?.map_or(0, |part| part.len() as u64);
        }
        Ok(bytes)
    }

    /// Removes the slots that end at or before timestamp `before`, for good; returns the trim mark:
    /// the first timestamp that is left. Trimming less than before does nothing.
    ///
    /// # Errors
    /// What the store reports; some slots may be gone, and trimming again removes the others.
    fn trim(&self, stream: &Name, before: u64) -> Result<u64, StoreError>;

    /// Stores a part, which the body of a slot is about to name. Storing the same part again does
    /// nothing.
    ///
    /// # Errors
    /// As [`put_once`](Self::put_once); the part may be there or not.
    fn put_part(&self, stream: &Name, part: PartName, bytes: &[u8]) -> Result<(), StoreError>;

    /// Returns a part, or `None` if there is none of that name. Parts never change: one that any
    /// node of the store has is the part.
    ///
    /// # Errors
    /// Failures of the store.
    fn read_part(&self, stream: &Name, part: PartName) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns the names of all parts for slots from `from` on, in order, with those that no slot
    /// names.
    ///
    /// Cost: a store may read them to list them, as etcd does.
    ///
    /// # Errors
    /// Failures of the store.
    fn parts(&self, stream: &Name, from: u64) -> Result<Vec<PartName>, StoreError>;

    /// Removes a part; one that is not there is no error.
    ///
    /// # Errors
    /// Failures of the store.
    fn remove_part(&self, stream: &Name, part: PartName) -> Result<(), StoreError>;

    /// Sentences on how the store is set up that an operator should know, if any.
    ///
    /// # Errors
    /// Failures of the store.
    fn concerns(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
}
