//! The clock of a replica: the machine's, or a test's.

use std::time::Instant;

use super::election::Moment;

/// A monotonic clock.
#[derive(Clone, Debug)]
pub(super) enum Clock {
    Machine(Instant),
    #[cfg(test)]
    Simulated(super::simulation::clock::SimulatedClock),
}

impl Clock {
    pub(super) fn machine() -> Self {
        Self::Machine(Instant::now())
    }

    pub(super) fn now(&self) -> Moment {
        match self {
            Self::Machine(start) => Moment::from_start(start.elapsed()),
            #[cfg(test)]
            Self::Simulated(clock) => clock.now(),
        }
    }
}
