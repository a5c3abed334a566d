//! Members of a cluster: each process writes a record about itself, and reads those of the others.
//!
//! ```text
//!  every second:  describe() ──► put_if NAME/members/NODE      own record, next beat
//!                                list   NAME/members/          records of all
//!                                  └──► changed since when, by the own clock
//! ```
//!
//! A member is live if its record has changed within [`LIVE_FOR`] on the clock of the one that
//! looks; clocks of different machines are never compared. While the store does not take that one's
//! own beats, it takes those of others as little: such time does not count. Records decide nothing
//! but what people and drivers are shown: who leads is the lease's business.
//!
//! Of two processes that call themselves by one name the later one has the record; the earlier one
//! is *displaced*, says so, and writes it no more.

mod record;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use record::Member;

use crate::keys::Keys;
use crate::store::{Coordination, Name, PutIf, StoreError, Version, random};

/// Time between two beats.
pub const BEAT_EVERY: Duration = Duration::from_secs(1);

/// Time after its last beat for which a member is thought to be there.
pub const LIVE_FOR: Duration = Duration::from_secs(5);

/// A member as this process sees it.
#[derive(Clone, Debug)]
pub struct SeenMember {
    /// Its record.
    pub member: Member,
    /// Time since the record was seen to change, without that in which the store took no beats.
    pub silent_for: Duration,
}

impl SeenMember {
    /// True if it is thought to be there.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !self.member.left && self.silent_for < LIVE_FOR
    }
}

#[derive(Debug)]
struct Seen {
    member: Member,
    version: Version,
    since: Instant,
}

#[derive(Debug, Default)]
struct State {
    seen: Vec<Seen>,
    /// Version of the own record, once it is there.
    own: Option<Version>,
    beat: u64,
    displaced: bool,
    /// End of the last beat that the store took.
    taken: Option<Instant>,
    /// Why the last beat failed, if it did.
    error: Option<String>,
    stopped: bool,
}

impl State {
    /// Time in which the store took no beats, since the last one.
    fn outage(&self, now: Instant) -> Duration {
        let since = self.taken.map_or(Duration::ZERO, |taken| now.duration_since(taken));
        since.saturating_sub(2 * BEAT_EVERY)
    }
}

/// Time for which [`observe`] looks: two beats, and room.
const OBSERVE_FOR: Duration = Duration::from_millis(2500);

/// Members of a cluster as one that is none sees them: it looks twice, some time apart, and calls
/// silent those that wrote nothing meanwhile.
///
/// # Errors
/// Failures of the store.
pub fn observe(
    coordination: &dyn Coordination,
    keys: &Keys,
) -> Result<Vec<SeenMember>, StoreError> {
    let before = coordination.list(&keys.members())?;
    if before.is_empty() {
        return Ok(Vec::new());
    }
    thread::sleep(OBSERVE_FOR);
    let after = coordination.list(&keys.members())?;
    let seen = after.into_iter().filter_map(|entry| {
        let member = Member::decode(&entry.value).filter(|member| !member.removed)?;
        let silent_for = if before.contains(&entry) { LIVE_FOR } else { Duration::ZERO };
        Some(SeenMember { member, silent_for })
    });
    Ok(seen.collect())
}

/// Removes a member that is not there any more: nobody waits for it, or is shown it. One that
/// starts again under this name is a member again. False if there is none of this name.
///
/// # Errors
/// [`StoreError::Name`]; failures of the store, and [`StoreError::Unavailable`] if it writes
/// meanwhile: it is there.
pub fn remove(
    coordination: &dyn Coordination,
    keys: &Keys,
    node: &str,
) -> Result<bool, StoreError> {
    let key = keys.member(node)?;
    let Some(entry) = coordination.get(&key)? else { return Ok(false) };
    let Some(mut member) = Member::decode(&entry.value).filter(|member| !member.removed) else {
        return Ok(false);
    };
    member.removed = true;
    let wrong = |cause: serde_json::Error| StoreError::damaged(key.as_str(), cause.to_string());
    let value = member.encode().map_err(wrong)?;
    match coordination.put_if(&key, entry.version, &value)? {
        PutIf::Won(_) => Ok(true),
        PutIf::Lost(_) => Err(StoreError::Unavailable {
            store: format!("the record of {node}"),
            why: "it was written meanwhile: that node is there".into(),
        }),
        PutIf::Unknown(cause) => Err(cause),
    }
}

/// Source of what a member says of itself.
type Describe = dyn Fn() -> Member + Send + Sync;

struct Shared {
    coordination: Arc<dyn Coordination>,
    keys: Keys,
    key: Name,
    describe: Box<Describe>,
    state: Mutex<State>,
    changed: Condvar,
}

/// The membership of this process; it ends when this is dropped.
pub struct Members {
    shared: Arc<Shared>,
    holder: u64,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members").field("key", &self.shared.key).finish_non_exhaustive()
    }
}

impl Members {
    /// Joins as `node`, and writes what `describe` returns, once now and then each
    /// [`BEAT_EVERY`], in a thread of its own. The number that is handed to `describe` is the
    /// process's; the number of the beat is set here.
    ///
    /// # Errors
    /// [`StoreError::Name`]; what the store reports of the first beat.
    pub fn join(
        coordination: &Arc<dyn Coordination>,
        keys: &Keys,
        node: &str,
        describe: impl Fn(u64) -> Member + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        let (key, holder) = (keys.member(node)?, random()?);
        let shared = Arc::new(Shared {
            coordination: Arc::clone(coordination),
            keys: keys.clone(),
            key,
            describe: Box::new(move || describe(holder)),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        shared.beat(false)?;
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("telar-members".into());
        let thread = thread.spawn(move || of_thread.go_on()).map_err(|cause| {
            let (store, why) = ("a thread for the members".into(), cause.to_string());
            StoreError::Unavailable { store, why }
        })?;
        Ok(Self { shared, holder, thread: Some(thread) })
    }

    /// Random number of this process.
    #[must_use]
    pub fn holder(&self) -> u64 {
        self.holder
    }

    /// All members that have ever been, by name.
    #[must_use]
    pub fn all(&self) -> Vec<SeenMember> {
        let (state, now) = (self.shared.state(), Instant::now());
        let outage = state.outage(now);
        let seen = state.seen.iter().map(|seen| SeenMember {
            member: seen.member.clone(),
            silent_for: now.duration_since(seen.since).saturating_sub(outage),
        });
        seen.collect()
    }

    /// As [`all`](Self::all); the store is read before, if `node` is none of them: it may have
    /// joined since the last beat.
    #[must_use]
    pub fn all_with(&self, node: Option<&str>) -> Vec<SeenMember> {
        let known = |node| self.shared.state().seen.iter().any(|seen| seen.member.node == node);
        if node.is_some_and(|node| !known(node)) {
            // What cannot be read is not known.
            let _ = self.shared.look();
        }
        self.all()
    }

    /// True if another process has taken this one's name.
    #[must_use]
    pub fn is_displaced(&self) -> bool {
        self.shared.state().displaced
    }

    /// Reason for which the last beat failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        self.shared.state().error.clone()
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.shared.state().stopped = true;
        self.shared.changed.notify_all();
        // One that panicked has nothing to hand over.
        drop(self.thread.take().map(JoinHandle::join));
        // Others find out by its silence, too.
        drop(self.shared.beat(true));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn go_on(&self) {
        loop {
            let state = self.state();
            let waited = self.changed.wait_timeout_while(state, BEAT_EVERY, |s| !s.stopped);
            if waited.unwrap_or_else(PoisonError::into_inner).0.stopped {
                return;
            }
            let error = self.beat(false).err().map(|error| error.to_string());
            self.state().error = error;
        }
    }

    /// Writes the own record and reads all.
    fn beat(&self, left: bool) -> Result<(), StoreError> {
        if !self.state().displaced {
            self.write(left)?;
        }
        self.look()?;
        let (mut state, now) = (self.state(), Instant::now());
        let outage = state.outage(now);
        for seen in &mut state.seen {
            seen.since = (seen.since + outage).min(now);
        }
        state.taken = Some(now);
        Ok(())
    }

    /// Reads the records of all.
    fn look(&self) -> Result<(), StoreError> {
        let found = self.coordination.list(&self.keys.members())?;
        let mut state = self.state();
        let before = std::mem::take(&mut state.seen);
        for entry in found {
            // A record of a newer program is nobody's that this one could do anything with.
            let Some(member) = Member::decode(&entry.value) else { continue };
            if member.removed {
                continue;
            }
            let same = before.iter().find(|seen| seen.member.node == member.node);
            let same = same.filter(|seen| seen.version == entry.version);
            let since = same.map_or_else(Instant::now, |seen| seen.since);
            state.seen.push(Seen { member, version: entry.version, since });
        }
        Ok(())
    }

    fn write(&self, left: bool) -> Result<(), StoreError> {
        let mut member = (self.describe)();
        let (own, beat) = {
            let mut state = self.state();
            state.beat += 1;
            (state.own, state.beat)
        };
        (member.beat, member.left) = (beat, left);
        let wrong = |cause: serde_json::Error| StoreError::damaged("own record", cause.to_string());
        let value = member.encode().map_err(wrong)?;
        let mut expected = match own {
            Some(version) => version,
            None => self.coordination.get(&self.key)?.map_or(Version::ABSENT, |e| e.version),
        };
        loop {
            match self.coordination.put_if(&self.key, expected, &value)? {
                PutIf::Won(version) => {
                    self.state().own = Some(version);
                    return Ok(());
                }
                PutIf::Lost(found) => {
                    let holder = found.as_ref().and_then(|e| Member::decode(&e.value));
                    let by_other = holder.is_some_and(|found| found.holder != member.holder);
                    if own.is_some() && by_other {
                        self.state().displaced = true;
                        return Ok(());
                    }
                    // A write of this process whose outcome was not known, or somebody's last one.
                    expected = found.map_or(Version::ABSENT, |entry| entry.version);
                }
                PutIf::Unknown(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests;
