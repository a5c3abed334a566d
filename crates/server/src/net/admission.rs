//! Places for connections: how many there may be, and who has to go for another.
//!
//! ```text
//!            takes a place                logs in, takes a place
//! accept ──► among those that may ──────► among those that did ──► until it is closed
//!            still log in: above
//!            `newcomers`, the oldest
//!            of them is closed
//! ```
//!
//! INVARIANT: whoever has not logged in takes no place of those that have. However many connect and
//! say nothing, they push out each other, and a client that logs in takes its next place long
//! before it is the oldest.
//!
//! INVARIANT: there are never more than `clients` and `newcomers` together, some that are kept for
//! administrators (`dbms/quota.rs`), and [`LEAVING_MAX`] more, which have been closed and have not
//! noticed yet. So the files they need are bounded, too.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::dbms::{Place, Quota, Standing};

/// Connections that have been closed for others and have not ended yet: at so many the next one
/// waits.
const LEAVING_MAX: usize = 8;
/// For how long; then it is refused.
const LEAVING_PATIENCE: Duration = Duration::from_millis(100);

/// How many there may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// That have logged in.
    pub(crate) clients: usize,
    /// Percent of these that one user may have.
    pub(crate) user_share: usize,
    /// That have not.
    pub(crate) newcomers: usize,
}

/// What a protocol keeps of a connection, for others than those who serve it.
pub(crate) trait Close: Clone {
    /// Ends the connection soon, whatever it does; must not wait.
    fn close(&self);
}

/// The connections there are.
#[derive(Debug)]
pub(crate) struct Places<C: Close> {
    most: Most,
    /// Places of those that have logged in.
    clients: Arc<Quota>,
    live: Mutex<Live<C>>,
    /// Notified when the first one comes, when the last one goes, and at the end.
    changed: Condvar,
    /// Notified when one of them goes.
    gone: Condvar,
}

#[derive(Debug)]
struct Live<C> {
    /// How many there ever were.
    number: u64,
    by_number: HashMap<u64, C>,
    /// How many of them have logged in.
    clients: usize,
    /// Those that have not, the oldest first.
    newcomers: BTreeMap<u64, Newcomer>,
    /// There will be no more.
    ended: bool,
}

/// What somebody does who has not logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Newcomer {
    /// It is waited for.
    Silent,
    /// Its password is compared: closing its connection would not end that.
    LogsIn,
}

/// A place among the connections, given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Admitted<C: Close> {
    places: Arc<Places<C>>,
    pub(crate) number: u64,
    pub(crate) connection: C,
    /// Its place among those that have logged in, once it has.
    client: Mutex<Option<Place>>,
}

/// Who came, and whether somebody had to go for that.
#[derive(Debug)]
pub(crate) struct Came<C: Close> {
    pub(crate) admitted: Option<Admitted<C>>,
    pub(crate) pushed_out: bool,
}

impl<C: Close> Places<C> {
    /// Nobody yet, and never more than `most`.
    pub(crate) fn new(most: Most) -> Self {
        let live = Live {
            number: 0,
            by_number: HashMap::new(),
            clients: 0,
            newcomers: BTreeMap::new(),
            ended: false,
        };
        let clients = Quota::new(most.clients, most.user_share);
        Self {
            most,
            clients,
            live: Mutex::new(live),
            changed: Condvar::new(),
            gone: Condvar::new(),
        }
    }

    /// A place for a connection, that of the oldest that has not logged in, if there is no other.
    /// None if all who might go are just logging in. Waits for a moment if many who had to go have
    /// not noticed yet.
    pub(crate) fn admit(self: &Arc<Self>, connection: C) -> Came<C> {
        let mut live = self.live.lock();
        let patience = Instant::now() + LEAVING_PATIENCE;
        while live.leaving() >= LEAVING_MAX && !live.ended {
            if self.gone.wait_until(&mut live, patience).timed_out() {
                return Came { admitted: None, pushed_out: false };
            }
        }
        let full = live.newcomers.len() >= self.most.newcomers;
        let pushed_out = full && live.push_out();
        if live.ended || (full && !pushed_out) {
            return Came { admitted: None, pushed_out };
        }
        live.number += 1;
        let number = live.number;
        live.by_number.insert(number, connection.clone());
        live.newcomers.insert(number, Newcomer::Silent);
        if live.by_number.len() == 1 {
            self.changed.notify_all();
        }
        let client = Mutex::default();
        let admitted = Admitted { places: Arc::clone(self), number, connection, client };
        Came { admitted: Some(admitted), pushed_out }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.live.lock().by_number.len()
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<C> {
        self.live.lock().by_number.values().cloned().collect()
    }

    /// Waits for `tick`, and as long as there is nobody: then those for whom `wanted` is true, or
    /// none at the [end](Self::end).
    pub(crate) fn after(&self, tick: Duration, wanted: impl Fn(&C) -> bool) -> Option<Vec<C>> {
        let mut live = self.live.lock();
        while live.by_number.is_empty() && !live.ended {
            self.changed.wait(&mut live);
        }
        if !live.ended {
            self.changed.wait_for(&mut live, tick);
        }
        let found = || live.by_number.values().filter(|c| wanted(c)).cloned().collect();
        (!live.ended).then(found)
    }

    /// Waits until nobody is left. Whether that was within `patience`.
    pub(crate) fn wait_until_empty(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut live = self.live.lock();
        while !live.by_number.is_empty() {
            if self.changed.wait_until(&mut live, deadline).timed_out() {
                return live.by_number.is_empty();
            }
        }
        true
    }

    /// Lets nobody in any more, and wakes who waits in [`after`](Self::after).
    pub(crate) fn end(&self) {
        self.live.lock().ended = true;
        self.changed.notify_all();
    }
}

impl<C: Close> Live<C> {
    /// How many have been closed and not ended yet.
    fn leaving(&self) -> usize {
        self.by_number.len() - self.clients - self.newcomers.len()
    }

    /// Closes the oldest that has not logged in and is not about to. Whether there is one.
    fn push_out(&mut self) -> bool {
        let mut waiting = self.newcomers.iter().filter(|(_, what)| **what == Newcomer::Silent);
        let Some((number, _)) = waiting.next() else { return false };
        let number = *number;
        self.newcomers.remove(&number);
        if let Some(connection) = self.by_number.get(&number) {
            connection.close();
        }
        true
    }
}

impl<C: Close> Admitted<C> {
    /// Lets a client log in, which says who it is, and gives its connection a place among those
    /// that have. Whoever has one keeps it until the connection ends, or somebody else logs in on
    /// it. Whether there was a place.
    pub(crate) fn log_in<E>(
        &self,
        log_in: impl FnOnce() -> Result<Standing, E>,
    ) -> Result<bool, E> {
        let mut client = self.client.lock();
        if let Some(place) = &mut *client {
            return log_in().map(|standing| place.pass_to(standing).is_ok());
        }
        match self.places.live.lock().newcomers.get_mut(&self.number) {
            Some(newcomer) => *newcomer = Newcomer::LogsIn,
            // It was pushed out: its connection is closed, and nobody hears what is said.
            None => return Ok(false),
        }
        let logged_in = log_in();
        let mut live = self.places.live.lock();
        live.newcomers.insert(self.number, Newcomer::Silent);
        let Ok(place) = self.places.clients.take(logged_in?) else { return Ok(false) };
        live.clients += 1;
        live.newcomers.remove(&self.number);
        *client = Some(place);
        Ok(true)
    }
}

impl<C: Close> Drop for Admitted<C> {
    fn drop(&mut self) {
        let mut live = self.places.live.lock();
        live.by_number.remove(&self.number);
        live.newcomers.remove(&self.number);
        live.clients -= usize::from(self.client.get_mut().take().is_some());
        self.places.gone.notify_one();
        if live.by_number.is_empty() {
            self.places.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A connection that remembers that it was closed.
    #[derive(Debug, Clone, Default)]
    struct Flag(Arc<AtomicBool>);

    impl Close for Flag {
        fn close(&self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn is_closed(place: &Admitted<Flag>) -> bool {
        place.connection.0.load(Ordering::Relaxed)
    }

    #[test]
    fn who_is_about_to_log_in_is_not_pushed_out() {
        let all = Arc::new(Places::new(Most { clients: 2, user_share: 100, newcomers: 2 }));
        let admit = || {
            let Came { admitted, pushed_out } = all.admit(Flag::default());
            (admitted, pushed_out)
        };
        let (first, _) = admit();
        let (second, pushed_out) = admit();
        assert!(!pushed_out);
        let (first, second) = (first.unwrap(), second.unwrap());
        let mut third = None;
        let in_time = first.log_in(|| {
            // The oldest is busy: the next one goes, and then nobody can.
            let (newer, pushed_out) = admit();
            assert!(pushed_out && is_closed(&second));
            let newer = newer.unwrap();
            let placed = newer.log_in(|| {
                let (newest, pushed_out) = admit();
                assert!(newest.is_none() && !pushed_out);
                Ok::<_, ()>(Standing::ANYONE)
            });
            assert_eq!(placed, Ok(true));
            third = Some(newer);
            Ok::<_, ()>(Standing::ANYONE)
        });
        assert_eq!(in_time, Ok(true));
        assert_eq!(second.log_in(|| Err(())), Ok(false), "it is gone: nothing is compared for it");
        // A login that fails takes no place, nor does one too many; the next one may.
        let (fourth, _) = admit();
        let fourth = fourth.unwrap();
        assert_eq!(fourth.log_in(|| Err(1)), Err(1));
        assert_eq!(fourth.log_in(|| Ok::<_, ()>(Standing::ANYONE)), Ok(false));
        drop(third);
        assert_eq!(fourth.log_in(|| Ok::<_, ()>(Standing::ANYONE)), Ok(true));
        assert_eq!(
            first.log_in(|| Ok::<_, ()>(Standing::ANYONE)),
            Ok(true),
            "who has a place keeps it"
        );
        assert!(!is_closed(&first) && !is_closed(&fourth));
        assert_eq!((all.len(), all.live.lock().clients), (3, 2));
        drop((first, second, fourth));
        assert_eq!((all.len(), all.live.lock().clients), (0, 0));
        assert!(all.live.lock().newcomers.is_empty());
    }

    #[test]
    fn those_who_were_closed_have_to_go_before_others_come() {
        let all = Arc::new(Places::new(Most { clients: 2, user_share: 100, newcomers: 2 }));
        let admit = || all.admit(Flag::default()).admitted;
        let mut closed: Vec<_> = (0..LEAVING_MAX).map(|_| admit().unwrap()).collect();
        let last = [admit().unwrap(), admit().unwrap()];
        assert!(closed.iter().all(is_closed) && !last.iter().any(is_closed));
        assert!(admit().is_none(), "none of them has ended");
        assert_eq!(all.len(), LEAVING_MAX + 2);
        let gone = closed.pop();
        std::thread::scope(|scope| {
            let waits = scope.spawn(admit);
            drop(gone);
            // It may come before or after the other has gone.
            assert!(waits.join().unwrap().is_some());
        });
        assert!(is_closed(&last[0]));
    }
}
