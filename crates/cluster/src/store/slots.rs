//! Groups of any size over a [`Log`]: the writer's side, the reader's, and the sweep of orphans.
//!
//! ```text
//!  Appender                         Log                        Reader
//!  group ─ fits ───────────────►  slot: header + payload  ───►  group, checked
//!        ─ does not ─► parts ──►  part 0, part 1, ...           ▲
//!                      then  ──►  slot: header ─────────────────┘ names them
//! ```
//!
//! A slot that names parts is put after them, so whoever reads it finds them. Parts of an attempt
//! that did not win are orphans; [`Sweeper`] removes them.

use std::thread;
use std::time::{Duration, Instant};

use super::body::{self, BODY_BYTES_MAX, Body, HEADER_BYTES, Identity};
use super::{ErrorKind, Log, Name, Put, Slot, SlotRange, StoreError};

/// Time between two attempts to learn the outcome of a put.
const AGAIN: Duration = Duration::from_millis(20);

/// Time for which [`begin_at`] tries to learn whether the stream begins.
const BEGIN_PATIENCE: Duration = Duration::from_secs(10);

/// A group of commits, as it is in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its timestamps.
    pub range: SlotRange,
    /// The epoch of the leader that wrote it.
    pub epoch: u64,
    /// What tells it from all others.
    pub identity: Identity,
    /// The salt of its log records.
    pub salt: u32,
    /// The log records.
    pub payload: Vec<u8>,
}

/// The outcome of [`Appender::append`].
#[derive(Debug)]
pub enum Append {
    /// The group is in the log.
    Won,
    /// Another group is in its place: whoever wrote it leads.
    Lost(Box<Group>),
    /// The group may be in the log now or later.
    Unknown(StoreError),
}

/// Writes groups of one process into one stream.
#[derive(Debug)]
pub struct Appender<'a> {
    log: &'a dyn Log,
    stream: Name,
    writer: u64,
}

impl<'a> Appender<'a> {
    /// Returns a writer with a random number of its own.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the system has no randomness.
    pub fn new(log: &'a dyn Log, stream: Name) -> Result<Self, StoreError> {
        Ok(Self { log, stream, writer: random()? })
    }

    /// Returns the number by which slots name this writer.
    #[must_use]
    pub fn writer(&self) -> u64 {
        self.writer
    }

    /// Appends a group; the caller has read the log up to its beginning.
    ///
    /// An unknown outcome is resolved by putting the same body again and looking at who wrote what
    /// is there, for `patience` at most.
    ///
    /// Cost: one put; above the store's limit one more for each part.
    ///
    /// # Errors
    /// As [`Log::put_once`]; the group is not in the log, and never will be.
    pub fn append(
        &self,
        range: SlotRange,
        epoch: u64,
        salt: u32,
        payload: &[u8],
        patience: Duration,
    ) -> Result<Append, StoreError> {
        let origin = Origin { epoch, writer: self.writer, nonce: random()?, salt };
        let (body, bytes) = prepare(self.log, &self.stream, range.first(), origin, payload)?;
        let end = Instant::now() + patience;
        let mut unknown = false;
        loop {
            match self.log.put_once(&self.stream, range, &bytes) {
                Ok(Put::Won) => return Ok(Append::Won),
                Ok(Put::Lost(slot)) => return self.lost(slot, &body),
                Ok(Put::Unknown(cause)) => {
                    unknown = true;
                    if Instant::now() >= end {
                        return Ok(Append::Unknown(cause));
                    }
                }
                // The attempt before may still succeed, or has, and all of it was trimmed since.
                Err(cause) if unknown => {
                    if Instant::now() >= end || cause.kind() != ErrorKind::Unavailable {
                        return Ok(Append::Unknown(cause));
                    }
                }
                Err(cause) => return Err(cause),
            }
            thread::sleep(AGAIN);
        }
    }

    fn lost(&self, slot: Slot, own: &Body) -> Result<Append, StoreError> {
        let place = || body::place(&self.stream, slot.range.first());
        let (found, _) =
            Body::decode(&slot.body).map_err(|why| StoreError::damaged(place(), why))?;
        if found.identity == own.identity {
            return Ok(Append::Won);
        }
        Ok(Append::Lost(Box::new(assemble(self.log, &self.stream, slot)?)))
    }
}

/// Origin of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) epoch: u64,
    pub(crate) writer: u64,
    /// No two bodies of one slot have the same.
    pub(crate) nonce: u64,
    pub(crate) salt: u32,
}

/// Stores the parts of a payload that is too long for the slot that begins at `first`; returns the
/// slot's body, and its bytes.
pub(crate) fn prepare(
    log: &dyn Log,
    stream: &Name,
    first: u64,
    origin: Origin,
    payload: &[u8],
) -> Result<(Body, Vec<u8>), StoreError> {
    let max = log.body_bytes_max();
    let inline = payload.len() <= max.saturating_sub(HEADER_BYTES);
    let parts = if inline { 0 } else { payload.len().div_ceil(max) };
    let Origin { epoch, writer, nonce, salt } = origin;
    let body = Body::new(epoch, writer, nonce, salt, parts, payload)?;
    let mut bytes = body.header().to_vec();
    if inline {
        bytes.extend_from_slice(payload);
    } else {
        for (index, part) in (0..).zip(payload.chunks(max)) {
            log.put_part(stream, body.part(first, index), part)?;
        }
    }
    Ok((body, bytes))
}

/// Returns the groups that hold timestamp `from` and those after it, as many as there are now, up
/// to the one with which they reach `bytes_max`, parts included. None only where the log ends.
///
/// # Errors
/// As [`Reader::read`].
pub(crate) fn read_groups(
    log: &dyn Log,
    stream: &Name,
    from: u64,
    bytes_max: usize,
) -> Result<Vec<Group>, StoreError> {
    assemble_all(log, stream, log.read(stream, from, bytes_max)?, bytes_max)
}

/// As [`read_groups`], by [`Log::read_stale`].
///
/// # Errors
/// As [`Reader::read`].
pub(crate) fn read_stale_groups(
    log: &dyn Log,
    stream: &Name,
    from: u64,
    bytes_max: usize,
) -> Result<Vec<Group>, StoreError> {
    assemble_all(log, stream, log.read_stale(stream, from, bytes_max)?, bytes_max)
}

/// The groups of slots, up to the one with which they reach `bytes_max`.
fn assemble_all(
    log: &dyn Log,
    stream: &Name,
    slots: Vec<Slot>,
    bytes_max: usize,
) -> Result<Vec<Group>, StoreError> {
    let (mut groups, mut bytes) = (Vec::new(), 0);
    for slot in slots {
        let group = assemble(log, stream, slot)?;
        bytes += group.payload.len();
        groups.push(group);
        if bytes >= bytes_max {
            break;
        }
    }
    Ok(groups)
}

/// Reads one stream, group by group.
#[derive(Debug)]
pub struct Reader<'a> {
    log: &'a dyn Log,
    stream: Name,
    next: u64,
}

impl<'a> Reader<'a> {
    /// Begins with the group that holds timestamp `from`.
    pub fn new(log: &'a dyn Log, stream: Name, from: u64) -> Self {
        Self { log, stream, next: from }
    }

    /// Returns the timestamp that is read next.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the groups that follow, up to the one with which they reach `bytes_max`, parts
    /// included; waits for the first of them, at most `wait`. None after that: this is the end.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] for bodies that nobody wrote, and as [`Log::read`].
    pub fn read(&mut self, bytes_max: usize, wait: Duration) -> Result<Vec<Group>, StoreError> {
        let slots = self.log.follow(&self.stream, self.next, bytes_max, wait)?;
        let (mut groups, mut bytes) = (Vec::new(), 0);
        for slot in slots {
            if bytes >= bytes_max && !groups.is_empty() {
                break;
            }
            match assemble(self.log, &self.stream, slot) {
                Ok(group) => {
                    self.next = group.range.next();
                    bytes += group.payload.len();
                    groups.push(group);
                }
                // The next call meets it again.
                Err(_) if !groups.is_empty() => break,
                Err(cause) => return Err(cause),
            }
        }
        Ok(groups)
    }
}

/// The group of a slot, with its parts.
fn assemble(log: &dyn Log, stream: &Name, slot: Slot) -> Result<Group, StoreError> {
    let first = slot.range.first();
    let damaged = |why: String| StoreError::damaged(body::place(stream, first), why);
    let (found, inline) = Body::decode(&slot.body).map_err(damaged)?;
    let mut payload = inline.to_vec();
    for index in 0..found.parts {
        let name = found.part(first, index);
        let Some(part) = log.read_part(stream, name)? else {
            // It is gone, or was trimmed a moment ago: reading says which.
            log.read(stream, first, 0)?;
            return Err(damaged(format!("part {index} of {} is missing", found.parts)));
        };
        if payload.len() + part.len() > BODY_BYTES_MAX {
            return Err(damaged("its parts are longer than it says".into()));
        }
        payload.extend_from_slice(&part);
    }
    if !found.fits(&payload) {
        return Err(damaged("its checksum is wrong".into()));
    }
    let Body { epoch, identity, salt, .. } = found;
    Ok(Group { range: slot.range, epoch, identity, salt, payload })
}

/// Removes the parts that no slot names and that none will name: those of attempts that lost their
/// slot. One sweeper belongs to one stream.
#[derive(Debug, Clone, Default)]
pub struct Sweeper {
    /// Slots before this one are written, and were looked at.
    from: u64,
}

impl Sweeper {
    /// Looks at the parts for slots that were not written at the last call; returns how many it
    /// has removed. May run beside writers. A part that a sleeper stores for a slot that was looked
    /// at stays until the slot is trimmed.
    ///
    /// Cost: a list of these parts, one read for each slot that has some.
    ///
    /// # Errors
    /// Failures of the store; sweeping again removes the others.
    pub fn sweep(&mut self, log: &dyn Log, stream: &Name) -> Result<usize, StoreError> {
        let (mut removed, mut from) = (0, self.from);
        let mut known: Option<(u64, Holder)> = None;
        for part in log.parts(stream, from)? {
            let holder = match known {
                Some((slot, holder)) if slot == part.slot => holder,
                _ => Holder::of(log, stream, part.slot)?,
            };
            known = Some((part.slot, holder));
            let named = match holder {
                // The slot is not written: its writer may be about to.
                Holder::Nobody => true,
                Holder::Body { nonce, parts } => nonce == part.nonce && part.index < parts,
                Holder::Gone => false,
            };
            if !named {
                log.remove_part(stream, part)?;
                removed += 1;
            }
            if !matches!(holder, Holder::Nobody) {
                from = part.slot;
            }
        }
        self.from = from;
        Ok(removed)
    }
}

/// Finding at the place where a slot would begin.
#[derive(Clone, Copy, Debug)]
enum Holder {
    Nobody,
    Body {
        nonce: u64,
        parts: u32,
    },
    /// No slot begins there, and none ever will.
    Gone,
}

impl Holder {
    fn of(log: &dyn Log, stream: &Name, slot: u64) -> Result<Self, StoreError> {
        let found = match log.read(stream, slot, 0) {
            Ok(slots) => slots,
            Err(StoreError::Trimmed { .. }) => return Ok(Self::Gone),
            Err(cause) => return Err(cause),
        };
        let Some(found) = found.first() else { return Ok(Self::Nobody) };
        if found.range.first() != slot {
            return Ok(Self::Gone);
        }
        let (body, _) = Body::decode(&found.body)
            .map_err(|why| StoreError::damaged(body::place(stream, slot), why))?;
        Ok(Self::Body { nonce: body.identity.nonce, parts: body.parts })
    }
}

/// A number that nobody else has.
///
/// # Errors
/// [`StoreError::Unavailable`] if the system has no randomness.
pub fn random() -> Result<u64, StoreError> {
    getrandom::u64().map_err(|cause| StoreError::Unavailable {
        store: "the system's source of randomness".into(),
        why: cause.to_string(),
    })
}

/// Makes a stream that has no slots begin at timestamp `next`: what comes before it is in the
/// copies that begin the stream, and cannot be written or read. Doing it again does nothing.
///
/// # Errors
/// [`StoreError::Taken`] if there are slots, or it begins later; what the store reports: it may
/// begin there or not, and can be told again.
pub fn begin_at(log: &dyn Log, stream: &Name, next: u64) -> Result<(), StoreError> {
    let oldest = log.oldest(stream)?;
    let found = read_groups(log, stream, oldest, 0)?;
    // A run that was interrupted before it trimmed has left this.
    let is_beginning = |group: &Group| group.epoch == 0 && group.payload.is_empty();
    if oldest > next || found.first().is_some_and(|group| !is_beginning(group)) {
        return Err(StoreError::Taken { stream: stream.clone(), oldest });
    }
    let mut begins = found.last().map_or(oldest, |group| group.range.next());
    if begins < next {
        let range = SlotRange::new(begins, next)?;
        match Appender::new(log, stream.clone())?.append(range, 0, 0, &[], BEGIN_PATIENCE)? {
            Append::Won => begins = next,
            Append::Lost(_) => {}
            Append::Unknown(cause) => return Err(cause),
        }
    }
    if begins != next {
        return Err(StoreError::Taken { stream: stream.clone(), oldest });
    }
    log.trim(stream, next).map(drop)
}
