//! Admission control: limits on the connections of a protocol.
//!
//! ```text
//!            admitted                       logs in
//! accept ──► unauthenticated connection ──► authenticated connection ──► closed
//!            above the limit, the
//!            oldest one is evicted
//! ```
//!
//! INVARIANT: an unauthenticated connection never takes a slot of the authenticated ones. Peers
//! that connect and stay silent evict each other only. A client that logs in has a slot long before
//! its connection is the oldest.
//!
//! INVARIANT: there are never more connections than both limits allow together, with the slots that
//! are reserved for administrators (`dbms/quota.rs`), and [`EVICTED_MAX`] evicted connections that
//! have not ended yet. So the number of open files is bounded, too.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::dbms::{Place, Quota, Standing};

/// Upper bound on evicted connections that have not ended yet. Above it, the next connection waits.
const EVICTED_MAX: usize = 8;
/// Grace period for that wait; after it, the connection is refused.
const EVICTION_GRACE: Duration = Duration::from_millis(100);

/// Connection limits of a protocol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    /// Upper bound on authenticated connections.
    pub(crate) authenticated: usize,
    /// Percent of these that one user may have.
    pub(crate) user_share: usize,
    /// Upper bound on unauthenticated connections.
    pub(crate) unauthenticated: usize,
}

/// Handle of a connection, by which other threads can close it.
pub(crate) trait Close: Clone {
    /// Makes the connection end soon; must not block.
    fn close(&self);
}

/// Admission control with the open connections of a protocol.
#[derive(Debug)]
pub(crate) struct Admission<C: Close> {
    limits: ConnectionLimits,
    /// Slots of authenticated connections.
    slots: Arc<Quota>,
    open: Mutex<Open<C>>,
    /// Notified when the first connection is admitted, when the last one ends, and at the end.
    changed: Condvar,
    /// Notified when a connection ends.
    ended: Condvar,
}

/// Open connections, evicted ones that have not ended yet included.
#[derive(Debug)]
struct Open<C> {
    /// Number of the last connection.
    number: u64,
    by_number: HashMap<u64, C>,
    /// Number of authenticated connections.
    authenticated: usize,
    /// Unauthenticated connections, the oldest first.
    unauthenticated: BTreeMap<u64, LoginState>,
    /// True once no more connections are admitted.
    closed: bool,
}

/// State of an unauthenticated connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoginState {
    /// The client has not sent its credentials.
    Waiting,
    /// The password is being compared. Closing the connection would not stop that.
    Authenticating,
}

/// Admitted connection. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Admitted<C: Close> {
    admission: Arc<Admission<C>>,
    pub(crate) number: u64,
    pub(crate) connection: C,
    /// Slot of the connection, once it is authenticated.
    slot: Mutex<Option<Place>>,
}

/// Outcome of an admission.
#[derive(Debug)]
pub(crate) struct Outcome<C: Close> {
    /// `None` if the connection is refused.
    pub(crate) admitted: Option<Admitted<C>>,
    /// True if another connection was evicted.
    pub(crate) evicted: bool,
}

impl<C: Close> Admission<C> {
    /// Admission control without connections.
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        let open = Open {
            number: 0,
            by_number: HashMap::new(),
            authenticated: 0,
            unauthenticated: BTreeMap::new(),
            closed: false,
        };
        let slots = Quota::new(limits.authenticated, limits.user_share);
        Self {
            limits,
            slots,
            open: Mutex::new(open),
            changed: Condvar::new(),
            ended: Condvar::new(),
        }
    }

    /// Admits a connection. At the limit, evicts the oldest unauthenticated connection; refuses the
    /// new one if all of them are being authenticated. Waits up to [`EVICTION_GRACE`] if many
    /// evicted connections have not ended yet.
    pub(crate) fn admit(self: &Arc<Self>, connection: C) -> Outcome<C> {
        let mut open = self.open.lock();
        let deadline = Instant::now() + EVICTION_GRACE;
        while open.ending() >= EVICTED_MAX && !open.closed {
            if self.ended.wait_until(&mut open, deadline).timed_out() {
                return Outcome { admitted: None, evicted: false };
            }
        }
        let full = open.unauthenticated.len() >= self.limits.unauthenticated;
        let evicted = full && open.evict_oldest();
        if open.closed || (full && !evicted) {
            return Outcome { admitted: None, evicted };
        }
        open.number += 1;
        let number = open.number;
        open.by_number.insert(number, connection.clone());
        open.unauthenticated.insert(number, LoginState::Waiting);
        if open.by_number.len() == 1 {
            self.changed.notify_all();
        }
        let slot = Mutex::default();
        let admission = Arc::clone(self);
        let admitted = Admitted { admission, number, connection, slot };
        Outcome { admitted: Some(admitted), evicted }
    }

    /// Number of open connections.
    pub(crate) fn len(&self) -> usize {
        self.open.lock().by_number.len()
    }

    /// Handles of all open connections.
    pub(crate) fn all(&self) -> Vec<C> {
        self.open.lock().by_number.values().cloned().collect()
    }

    /// Waits for `tick`, and while there are no connections. Returns those for which `wanted` is
    /// true; `None` once this is [closed](Self::close).
    pub(crate) fn after_tick(&self, tick: Duration, wanted: impl Fn(&C) -> bool) -> Option<Vec<C>> {
        let mut open = self.open.lock();
        while open.by_number.is_empty() && !open.closed {
            self.changed.wait(&mut open);
        }
        if !open.closed {
            self.changed.wait_for(&mut open, tick);
        }
        let found = || open.by_number.values().filter(|c| wanted(c)).cloned().collect();
        (!open.closed).then(found)
    }

    /// Waits until all connections have ended, for a grace period at most. Returns true if they
    /// have.
    pub(crate) fn wait_until_empty(&self, grace: Duration) -> bool {
        let deadline = Instant::now() + grace;
        let mut open = self.open.lock();
        while !open.by_number.is_empty() {
            if self.changed.wait_until(&mut open, deadline).timed_out() {
                return open.by_number.is_empty();
            }
        }
        true
    }

    /// Admits no more connections, and wakes threads in [`after_tick`](Self::after_tick).
    pub(crate) fn close(&self) {
        self.open.lock().closed = true;
        self.changed.notify_all();
    }
}

impl<C: Close> Open<C> {
    /// Number of evicted connections that have not ended yet.
    fn ending(&self) -> usize {
        self.by_number.len() - self.authenticated - self.unauthenticated.len()
    }

    /// Closes the oldest unauthenticated connection that is not being authenticated. Returns false
    /// if there is none.
    fn evict_oldest(&mut self) -> bool {
        let mut waiting =
            self.unauthenticated.iter().filter(|(_, state)| **state == LoginState::Waiting);
        let Some((number, _)) = waiting.next() else { return false };
        let number = *number;
        self.unauthenticated.remove(&number);
        if let Some(connection) = self.by_number.get(&number) {
            connection.close();
        }
        true
    }
}

impl<C: Close> Admitted<C> {
    /// Logs a client in, and gives its connection a slot. The connection keeps the slot until it
    /// ends, or until another user logs in on it. Returns false if no slot is free.
    pub(crate) fn log_in<E>(
        &self,
        log_in: impl FnOnce() -> Result<Standing, E>,
    ) -> Result<bool, E> {
        let mut slot = self.slot.lock();
        if let Some(slot) = &mut *slot {
            return log_in().map(|standing| slot.pass_to(standing).is_ok());
        }
        match self.admission.open.lock().unauthenticated.get_mut(&self.number) {
            Some(state) => *state = LoginState::Authenticating,
            // It was evicted: its connection is closed, so an answer would not arrive.
            None => return Ok(false),
        }
        let logged_in = log_in();
        let mut open = self.admission.open.lock();
        open.unauthenticated.insert(self.number, LoginState::Waiting);
        let Ok(taken) = self.admission.slots.take(logged_in?) else { return Ok(false) };
        open.authenticated += 1;
        open.unauthenticated.remove(&self.number);
        *slot = Some(taken);
        Ok(true)
    }
}

impl<C: Close> Drop for Admitted<C> {
    fn drop(&mut self) {
        let mut open = self.admission.open.lock();
        open.by_number.remove(&self.number);
        open.unauthenticated.remove(&self.number);
        open.authenticated -= usize::from(self.slot.get_mut().take().is_some());
        self.admission.ended.notify_one();
        if open.by_number.is_empty() {
            self.admission.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const LIMITS: ConnectionLimits =
        ConnectionLimits { authenticated: 2, user_share: 100, unauthenticated: 2 };

    /// A connection that remembers that it was closed.
    #[derive(Debug, Clone, Default)]
    struct Flag(Arc<AtomicBool>);

    impl Close for Flag {
        fn close(&self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn is_closed(admitted: &Admitted<Flag>) -> bool {
        admitted.connection.0.load(Ordering::Relaxed)
    }

    #[test]
    fn a_connection_that_is_being_authenticated_is_not_evicted() {
        let all = Arc::new(Admission::new(LIMITS));
        let admit = || {
            let Outcome { admitted, evicted } = all.admit(Flag::default());
            (admitted, evicted)
        };
        let (first, _) = admit();
        let (second, evicted) = admit();
        assert!(!evicted);
        let (first, second) = (first.unwrap(), second.unwrap());
        let mut third = None;
        let in_time = first.log_in(|| {
            // The oldest is being authenticated: the next one is evicted, and then no other can be.
            let (newer, evicted) = admit();
            assert!(evicted && is_closed(&second));
            let newer = newer.unwrap();
            let placed = newer.log_in(|| {
                let (newest, evicted) = admit();
                assert!(newest.is_none() && !evicted);
                Ok::<_, ()>(Standing::ANYONE)
            });
            assert_eq!(placed, Ok(true));
            third = Some(newer);
            Ok::<_, ()>(Standing::ANYONE)
        });
        assert_eq!(in_time, Ok(true));
        assert_eq!(
            second.log_in(|| Err(())),
            Ok(false),
            "it is evicted: no password is compared for it"
        );
        // A login that fails takes no slot, nor does one above the limit; the next one may.
        let (fourth, _) = admit();
        let fourth = fourth.unwrap();
        assert_eq!(fourth.log_in(|| Err(1)), Err(1));
        assert_eq!(fourth.log_in(|| Ok::<_, ()>(Standing::ANYONE)), Ok(false));
        drop(third);
        assert_eq!(fourth.log_in(|| Ok::<_, ()>(Standing::ANYONE)), Ok(true));
        assert_eq!(
            first.log_in(|| Ok::<_, ()>(Standing::ANYONE)),
            Ok(true),
            "a connection keeps its slot"
        );
        assert!(!is_closed(&first) && !is_closed(&fourth));
        assert_eq!((all.len(), all.open.lock().authenticated), (3, 2));
        drop((first, second, fourth));
        assert_eq!((all.len(), all.open.lock().authenticated), (0, 0));
        assert!(all.open.lock().unauthenticated.is_empty());
    }

    #[test]
    fn evicted_connections_end_before_others_are_admitted() {
        let all = Arc::new(Admission::new(LIMITS));
        let admit = || all.admit(Flag::default()).admitted;
        let mut closed: Vec<_> = (0..EVICTED_MAX).map(|_| admit().unwrap()).collect();
        let last = [admit().unwrap(), admit().unwrap()];
        assert!(closed.iter().all(is_closed) && !last.iter().any(is_closed));
        assert!(admit().is_none(), "none of them has ended");
        assert_eq!(all.len(), EVICTED_MAX + 2);
        let gone = closed.pop();
        std::thread::scope(|scope| {
            let begun = Instant::now();
            // It may be admitted before or after the other has ended, and be refused before.
            let waits = scope.spawn(move || {
                let tries = std::iter::repeat_with(admit);
                tries.take_while(|_| begun.elapsed() < Duration::from_secs(60)).flatten().next()
            });
            drop(gone);
            assert!(waits.join().unwrap().is_some());
        });
        assert!(is_closed(&last[0]));
    }
}
