//! Open connections, and the watcher thread, which looks at those whose statement takes long.

use std::sync::Arc;
use std::time::Duration;

use super::wire::Wire;
use crate::net::admission::{self, Admission, Close};

/// Interval at which the watcher looks.
const TICK: Duration = Duration::from_millis(100);

/// Open connections, with their limits.
pub(crate) type Connections = Admission<Arc<Wire>>;
/// Admitted connection.
pub(crate) type Admitted = admission::Admitted<Arc<Wire>>;

impl Close for Arc<Wire> {
    fn close(&self) {
        Wire::close(self);
    }
}

/// Loop of the watcher thread, until the connections are closed.
pub(crate) fn watch(connections: &Connections) {
    while let Some(long) = connections.after_tick(TICK, |wire| wire.is_running_long()) {
        long.iter().for_each(|wire| wire.look());
    }
}

/// Closes idle connections, waits for the others for a grace period, and then closes these, too.
/// Returns true if all have ended.
pub(crate) fn drain(connections: &Connections, grace: Duration, last: Duration) -> bool {
    connections.all().iter().for_each(|wire| wire.close_idle());
    if connections.wait_until_empty(grace) {
        return true;
    }
    connections.all().iter().for_each(|wire| wire.close());
    connections.wait_until_empty(last)
}
