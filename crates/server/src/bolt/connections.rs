//! The connections there are, and the watcher, who looks at those whose statement takes long.
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

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::wire::Wire;

/// How often the watcher looks.
const TICK: Duration = Duration::from_millis(100);

/// How many there may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// That have logged in.
    pub(crate) clients: usize,
    /// That have not.
    pub(crate) newcomers: usize,
}

/// The connections there are.
#[derive(Debug)]
pub(crate) struct Connections {
    most: Most,
    live: Mutex<Live>,
    /// Notified when the first one comes, when the last one goes, and at the end.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Live {
    /// How many there ever were.
    number: u64,
    by_number: HashMap<u64, Arc<Wire>>,
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
pub(crate) struct Admitted {
    connections: Arc<Connections>,
    pub(crate) number: u64,
    pub(crate) wire: Arc<Wire>,
    /// It has logged in.
    client: Cell<bool>,
}

/// Who came, and whether somebody had to go for that.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) admitted: Option<Admitted>,
    pub(crate) pushed_out: bool,
}

impl Connections {
    /// None yet, and never more than `most`.
    pub(crate) fn new(most: Most) -> Self {
        Self { most, live: Mutex::default(), changed: Condvar::new() }
    }

    /// A place for a connection, that of the oldest that has not logged in, if there is no other.
    /// None if all who might go are just logging in.
    pub(crate) fn admit(self: &Arc<Self>, tcp: &Arc<TcpStream>) -> Came {
        let mut live = self.live.lock();
        let full = live.newcomers.len() >= self.most.newcomers;
        let pushed_out = full && live.push_out();
        if live.ended || (full && !pushed_out) {
            return Came { admitted: None, pushed_out };
        }
        live.number += 1;
        let number = live.number;
        let wire = Arc::new(Wire::new(tcp));
        live.by_number.insert(number, Arc::clone(&wire));
        live.newcomers.insert(number, Newcomer::Silent);
        if live.by_number.len() == 1 {
            self.changed.notify_all();
        }
        let admitted =
            Admitted { connections: Arc::clone(self), number, wire, client: Cell::new(false) };
        Came { admitted: Some(admitted), pushed_out }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.live.lock().by_number.len()
    }

    fn wires(&self) -> Vec<Arc<Wire>> {
        self.live.lock().by_number.values().cloned().collect()
    }

    /// What the watcher does, until [`end`](Self::end).
    pub(crate) fn watch(&self) {
        let mut live = self.live.lock();
        while !live.ended {
            if live.by_number.is_empty() {
                self.changed.wait(&mut live);
                continue;
            }
            self.changed.wait_for(&mut live, TICK);
            let long: Vec<_> =
                live.by_number.values().filter(|wire| wire.is_running_long()).cloned().collect();
            parking_lot::MutexGuard::unlocked(&mut live, || {
                long.iter().for_each(|wire| wire.look());
            });
        }
    }

    /// Closes what is idle, waits until `patience` is over for the rest, and then ends that, too.
    /// Whether everything has ended.
    pub(crate) fn drain(&self, patience: Duration, last: Duration) -> bool {
        self.wires().iter().for_each(|wire| wire.close_idle());
        if self.wait_until_empty(patience) {
            return true;
        }
        self.wires().iter().for_each(|wire| wire.close());
        self.wait_until_empty(last)
    }

    fn wait_until_empty(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut live = self.live.lock();
        while !live.by_number.is_empty() {
            if self.changed.wait_until(&mut live, deadline).timed_out() {
                return live.by_number.is_empty();
            }
        }
        true
    }

    /// Lets nobody in any more, and ends the watcher.
    pub(crate) fn end(&self) {
        self.live.lock().ended = true;
        self.changed.notify_all();
    }
}

impl Live {
    /// Closes the oldest that has not logged in and is not about to. Whether there is one.
    fn push_out(&mut self) -> bool {
        let mut waiting = self.newcomers.iter().filter(|(_, what)| **what == Newcomer::Silent);
        let Some((number, _)) = waiting.next() else { return false };
        let number = *number;
        self.newcomers.remove(&number);
        if let Some(wire) = self.by_number.get(&number) {
            wire.close();
        }
        true
    }
}

impl Admitted {
    /// Lets a client log in, and gives its connection a place among those that have. Whoever has
    /// one keeps it until the connection ends. Whether there was a place.
    pub(crate) fn log_in<E>(&self, log_in: impl FnOnce() -> Result<(), E>) -> Result<bool, E> {
        if self.client.get() {
            return log_in().map(|()| true);
        }
        match self.connections.live.lock().newcomers.get_mut(&self.number) {
            Some(newcomer) => *newcomer = Newcomer::LogsIn,
            // It was pushed out: its connection is closed, and nobody hears what is said.
            None => return Ok(false),
        }
        let logged_in = log_in();
        let mut live = self.connections.live.lock();
        live.newcomers.insert(self.number, Newcomer::Silent);
        logged_in?;
        if live.clients >= self.connections.most.clients {
            return Ok(false);
        }
        live.clients += 1;
        live.newcomers.remove(&self.number);
        self.client.set(true);
        Ok(true)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut live = self.connections.live.lock();
        live.by_number.remove(&self.number);
        live.newcomers.remove(&self.number);
        live.clients -= usize::from(self.client.get());
        if live.by_number.is_empty() {
            self.connections.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Both ends of a connection.
    fn connection(listener: &TcpListener) -> (Arc<TcpStream>, TcpStream) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Arc::new(listener.accept().unwrap().0), client)
    }

    #[test]
    fn who_is_about_to_log_in_is_not_pushed_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let all = Arc::new(Connections::new(Most { clients: 2, newcomers: 2 }));
        let mut ends = Vec::new();
        let mut admit = || {
            let (ours, theirs) = connection(&listener);
            ends.push(theirs);
            let Came { admitted, pushed_out } = all.admit(&ours);
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
            assert!(pushed_out);
            let newer = newer.unwrap();
            let placed = newer.log_in(|| {
                let (newest, pushed_out) = admit();
                assert!(newest.is_none() && !pushed_out);
                Ok::<_, ()>(())
            });
            assert_eq!(placed, Ok(true));
            third = Some(newer);
            Ok::<_, ()>(())
        });
        assert_eq!(in_time, Ok(true));
        assert_eq!(second.log_in(|| Err(())), Ok(false), "it is gone: nothing is compared for it");
        // A login that fails takes no place, nor does one too many; the next one may.
        let (fourth, _) = admit();
        let fourth = fourth.unwrap();
        assert_eq!(fourth.log_in(|| Err(1)), Err(1));
        assert_eq!(fourth.log_in(|| Ok::<_, ()>(())), Ok(false));
        drop(third);
        assert_eq!(fourth.log_in(|| Ok::<_, ()>(())), Ok(true));
        assert_eq!(first.log_in(|| Ok::<_, ()>(())), Ok(true), "who has a place keeps it");
        assert_eq!((all.len(), all.live.lock().clients), (3, 2));
        drop((first, second, fourth));
        assert_eq!((all.len(), all.live.lock().clients), (0, 0));
        assert!(all.live.lock().newcomers.is_empty());
    }
}
