//! Time that passes only where somebody waits.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::replica::election::Moment;

/// Events while somebody waits.
type Meanwhile = Rc<dyn Fn(Duration)>;

thread_local! {
    static MEANWHILE: RefCell<Option<Meanwhile>> = const { RefCell::new(None) };
}

/// Sets what happens in this thread while somebody waits.
pub(super) fn set_meanwhile(meanwhile: Option<Meanwhile>) {
    MEANWHILE.with(|place| *place.borrow_mut() = meanwhile);
}

/// The clock of one node: begins somewhere, and runs a little fast or slow.
#[derive(Clone, Debug)]
pub(in crate::replica) struct SimulatedClock {
    pub(super) world_us: Arc<AtomicU64>,
    pub(super) offset_us: u64,
    /// Millionths of the world's speed.
    pub(super) rate: u64,
}

impl SimulatedClock {
    pub(in crate::replica) fn now(&self) -> Moment {
        let world = self.world_us.load(Ordering::Relaxed);
        let local = u128::from(world) * u128::from(self.rate) / 1_000_000;
        let local = self.offset_us + u64::try_from(local).unwrap();
        Moment::from_start(Duration::from_micros(local))
    }

    /// Lets time pass, and the other nodes act.
    pub(in crate::replica) fn pass(&self, time: Duration) {
        let meanwhile = MEANWHILE.with(|place| place.borrow().clone());
        match meanwhile {
            Some(meanwhile) => meanwhile(time),
            None => advance(&self.world_us, time),
        }
    }
}

pub(super) fn advance(world_us: &AtomicU64, time: Duration) {
    let us = u64::try_from(time.as_micros()).unwrap();
    world_us.fetch_add(us, Ordering::Relaxed);
}
