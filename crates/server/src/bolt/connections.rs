//! The connections there are, and the watcher, who looks at those whose statement takes long.

use std::sync::Arc;
use std::time::Duration;

use super::wire::Wire;
use crate::net::places::{self, Close, Places};

/// How often the watcher looks.
const TICK: Duration = Duration::from_millis(100);

/// The connections there are.
pub(crate) type Connections = Places<Arc<Wire>>;
/// A place among them.
pub(crate) type Admitted = places::Admitted<Arc<Wire>>;

impl Close for Arc<Wire> {
    fn close(&self) {
        Wire::close(self);
    }
}

/// What the watcher does, until the end of the connections.
pub(crate) fn watch(connections: &Connections) {
    while let Some(long) = connections.after(TICK, |wire| wire.is_running_long()) {
        long.iter().for_each(|wire| wire.look());
    }
}

/// Closes what is idle, waits until `patience` is over for the rest, and then ends that, too.
/// Whether everything has ended.
pub(crate) fn drain(connections: &Connections, patience: Duration, last: Duration) -> bool {
    connections.all().iter().for_each(|wire| wire.close_idle());
    if connections.wait_until_empty(patience) {
        return true;
    }
    connections.all().iter().for_each(|wire| wire.close());
    connections.wait_until_empty(last)
}
