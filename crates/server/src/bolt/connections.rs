//! The connections there are, and the watcher, who looks at those whose statement takes long.

use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::wire::Wire;

/// How often the watcher looks.
const TICK: Duration = Duration::from_millis(100);

/// The connections there are.
#[derive(Debug)]
pub(crate) struct Connections {
    most: usize,
    live: Mutex<Live>,
    /// Notified when the first one comes, when the last one goes, and at the end.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Live {
    /// How many there ever were.
    number: u64,
    by_number: HashMap<u64, Arc<Wire>>,
    /// There will be no more.
    ended: bool,
}

/// A place among the connections, given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Admitted {
    connections: Arc<Connections>,
    pub(crate) number: u64,
    pub(crate) wire: Arc<Wire>,
}

impl Connections {
    /// None yet, and never more than `most`.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, live: Mutex::default(), changed: Condvar::new() }
    }

    /// A place for a connection, if there is one.
    pub(crate) fn admit(self: &Arc<Self>, tcp: &TcpStream) -> Option<Admitted> {
        let wire = Arc::new(Wire::new(tcp).ok()?);
        let mut live = self.live.lock();
        if live.ended || live.by_number.len() >= self.most {
            return None;
        }
        live.number += 1;
        let number = live.number;
        live.by_number.insert(number, Arc::clone(&wire));
        if live.by_number.len() == 1 {
            self.changed.notify_all();
        }
        Some(Admitted { connections: Arc::clone(self), number, wire })
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

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut live = self.connections.live.lock();
        live.by_number.remove(&self.number);
        if live.by_number.is_empty() {
            self.connections.changed.notify_all();
        }
    }
}
