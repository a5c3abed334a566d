//! Ids of transactions that commit once, however often a client sends them.
//!
//! ```text
//!              claim                     stamped at ts
//!   unknown ──────────▶ claimed by one ─────────────────▶ committed at ts ──▶ forgotten
//!      ▲                    │ failed                            ▲      window, or too many
//!      └────────────────────┘                 record of the log ┘
//! ```
//!
//! - A commit with an id *claims* it before it takes a latch. Of two with the same id the second
//!   waits until the first is stamped or has failed; then it learns the first one's timestamp, or
//!   claims the id itself. Whoever waits holds no latch, and whoever holds a claim waits for
//!   nothing but what commits wait for anyway, so there is no circle.
//! - The id stands in the commit's record (kind 10), so that it is in the log exactly if the commit
//!   is. Recovery and followers note it from there. What a checkpoint cuts off the log, it keeps as
//!   a value of its own:
//!
//! ```text
//!   count varint · each, by timestamp: timestamp varint, id (length varint, bytes)
//! ```
//!
//! - An id is forgotten once this process has known it for longer than the window, or when
//!   [`IDS_MAX`] newer ones came. No clocks of different machines are compared: an opening, and a
//!   follower, begin the window anew, which only makes it longer.
//!
//! Cost: a commit without an id pays one comparison. One with an id takes a lock three times.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use telar_graph::codec::put_varint;

use crate::error::Error;
use crate::format::reader::Reader;
use crate::stop::Stop;
use crate::sync::{Arc, Condvar, Mutex, lock, wait_timeout};

/// Bytes of an id at most.
pub const ONCE_ID_BYTES_MAX: usize = 128;
/// Ids that are known at most.
const IDS_MAX: usize = 1 << 17;
/// Time after which a waiting commit looks whether it is to be given up.
const LOOK: Duration = Duration::from_millis(10);

/// True for an id that can be stored.
pub(crate) fn is_id(id: &str) -> bool {
    (1..=ONCE_ID_BYTES_MAX).contains(&id.len())
}

/// State of an id that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// A commit is under way.
    Claimed,
    /// It was stamped with this timestamp.
    Committed(u64),
}

/// A committed id, in the order in which they are forgotten.
#[derive(Debug)]
struct Kept {
    since: Instant,
    id: Arc<str>,
    ts: u64,
}

#[derive(Debug, Default)]
struct Ids {
    entries: HashMap<Arc<str>, Entry, RandomState>,
    kept: VecDeque<Kept>,
    /// Commits that were told of an earlier one.
    repeated: u64,
}

impl Ids {
    /// Forgets ids that are too old or too many.
    fn prune(&mut self, window: Duration, now: Instant) {
        while let Some(first) = self.kept.front() {
            let is_old = now.saturating_duration_since(first.since) > window;
            if !is_old && self.kept.len() <= IDS_MAX {
                break;
            }
            // Another commit may have the id since.
            if self.entries.get(&first.id) == Some(&Entry::Committed(first.ts)) {
                self.entries.remove(&first.id);
            }
            self.kept.pop_front();
        }
    }
}

/// State of the ids of transactions that commit once
/// ([`Transaction::commit_once`](crate::Transaction::commit_once)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnceHealth {
    /// Ids of commits that are known.
    pub known: u64,
    /// Commits since the database was opened that changed nothing, as their id was known.
    pub repeated: u64,
}

/// The ids that a database knows.
#[derive(Debug)]
pub(crate) struct OnceIds {
    window: Duration,
    ids: Mutex<Ids>,
    settled: Condvar,
}

/// Answer to a claim.
pub(crate) enum Claim {
    /// The commit may go on; the id is free again when this is dropped before it is stamped.
    Own(Held),
    /// A commit with the id has this timestamp. It may not be published yet.
    Earlier(u64),
}

/// A claimed id.
#[derive(Debug)]
pub(crate) struct Held {
    ids: Arc<OnceIds>,
    id: Arc<str>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut ids = lock(&self.ids.ids);
        if ids.entries.get(&self.id) == Some(&Entry::Claimed) {
            ids.entries.remove(&self.id);
        }
        drop(ids);
        self.ids.settled.notify_all();
    }
}

impl OnceIds {
    /// Knows no id; keeps those to come for `window`.
    pub(crate) fn new(window: Duration) -> Arc<Self> {
        Arc::new(Self { window, ids: Mutex::default(), settled: Condvar::default() })
    }

    /// Timestamp of the commit with this id, if one is known.
    pub(crate) fn find(&self, id: &str) -> Option<u64> {
        match lock(&self.ids).entries.get(id) {
            Some(Entry::Committed(ts)) => Some(*ts),
            _ => None,
        }
    }

    /// Committed ids that are known, and commits that were told of an earlier one.
    pub(crate) fn health(&self) -> OnceHealth {
        let mut ids = lock(&self.ids);
        ids.prune(self.window, Instant::now());
        OnceHealth { known: ids.kept.len() as u64, repeated: ids.repeated }
    }

    /// Number of committed ids that are known.
    #[cfg(all(test, not(feature = "shuttle")))]
    pub(crate) fn len(&self) -> usize {
        lock(&self.ids).kept.len()
    }

    /// Claims an id; waits for a commit that has claimed it, unless `stop` ends that.
    pub(crate) fn claim(self: &Arc<Self>, id: &Arc<str>, stop: &Stop<'_>) -> Result<Claim, Error> {
        let mut ids = lock(&self.ids);
        loop {
            match ids.entries.get(id) {
                Some(Entry::Committed(ts)) => {
                    let ts = *ts;
                    ids.repeated += 1;
                    return Ok(Claim::Earlier(ts));
                }
                Some(Entry::Claimed) => {
                    ids = wait_timeout(&self.settled, ids, LOOK);
                    stop.check()?;
                }
                None => {
                    ids.entries.insert(Arc::clone(id), Entry::Claimed);
                    return Ok(Claim::Own(Held { ids: Arc::clone(self), id: Arc::clone(id) }));
                }
            }
        }
    }

    /// Notes that the commit at `ts` has this id. Called before it can be published, so that a
    /// checkpoint that is later than the commit has the id.
    pub(crate) fn note(&self, id: &Arc<str>, ts: u64) {
        let now = Instant::now();
        let mut ids = lock(&self.ids);
        let before = ids.entries.insert(Arc::clone(id), Entry::Committed(ts));
        // A record may be applied again after an error.
        if before != Some(Entry::Committed(ts)) {
            ids.kept.push_back(Kept { since: now, id: Arc::clone(id), ts });
        }
        ids.prune(self.window, now);
        drop(ids);
        self.settled.notify_all();
    }

    /// Appends the value that a checkpoint at `at` keeps; nothing if it keeps no id.
    pub(crate) fn encode(&self, at: u64, out: &mut Vec<u8>) {
        let mut ids = lock(&self.ids);
        ids.prune(self.window, Instant::now());
        let mut kept: Vec<_> = ids.kept.iter().filter(|kept| kept.ts <= at).collect();
        if kept.is_empty() {
            return;
        }
        kept.sort_unstable_by_key(|kept| kept.ts);
        put_varint(kept.len() as u64, out);
        for Kept { id, ts, .. } in kept {
            put_varint(*ts, out);
            put_varint(id.len() as u64, out);
            out.extend_from_slice(id.as_bytes());
        }
    }
}

/// Ids and timestamps of a value that [`OnceIds::encode`] wrote.
pub(crate) fn decode(body: &[u8]) -> Result<Vec<(Arc<str>, u64)>, String> {
    let mut r = Reader(body);
    let count = r.varint()?;
    // Two bytes each at least: nothing is reserved for what is not there.
    if count == 0 || count > body.len() as u64 / 2 {
        return Err("the number of ids is not right".into());
    }
    let mut found = Vec::with_capacity(count as usize);
    let mut before = 0;
    for _ in 0..count {
        let (ts, id) = (r.varint()?, r.name()?);
        if ts <= before || !is_id(&id) {
            return Err("an id is not right".into());
        }
        before = ts;
        found.push((id.into(), ts));
    }
    r.end()?;
    Ok(found)
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests;
