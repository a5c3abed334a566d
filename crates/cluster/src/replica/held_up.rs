//! A copy whose disk fails, as a full one does: it is read as it is, and opened again later.
//!
//! ```text
//!           a write fails              over, and the disk takes a file
//!  follows ──────────────▶ pause ──────────────────────────────────▶ opened again
//!     ▲                      ▲  read, and not applied to                │     ▲
//!     │                      └───── a write fails: a longer pause ──────┤     │
//!     └──────────────── the log is read, and applied ───────────────────┘     │
//!                           leads ─── a write fails: the lease is given up ───┘
//! ```
//!
//! A log that has failed takes nothing until it is opened again (`telar_engine::wal`). Nothing is
//! lost meanwhile: what the copy lacks is in the replicated log. The node takes no lease before its
//! copy goes on.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use telar_engine::{Error, ErrorKind};

use super::core::{Core, State};
use super::election::{Event, Moment, Role};

/// First and longest pause before a copy is opened again; each is twice as long as the one before.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Bytes that a disk has to take before a copy that is read is closed for another attempt.
const PROBE_BYTES: u64 = 1 << 20;
/// Name of the file in the folder of the copy to which they are written.
const PROBE_FILE: &str = "probe.tmp";

/// A failure that holds a copy up.
#[derive(Debug)]
pub(super) struct HeldUp {
    pub(super) why: String,
    pause: Duration,
    /// End of the pause; none once it is over, until the next failure.
    until: Option<Moment>,
}

/// True of an error that may be gone once the copy is opened again. The others say that copy and
/// log do not fit.
#[must_use]
pub fn may_pass(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Environment | ErrorKind::Reopen)
}

/// Fails if the disk of a folder takes no file of a megabyte; leaves nothing there.
///
/// # Errors
/// What the disk says.
pub fn probe(folder: &Path) -> io::Result<()> {
    let path = folder.join(PROBE_FILE);
    let mut file = File::create(&path)?;
    // It has no name while it is written, so that nothing is left of it.
    fs::remove_file(&path)?;
    io::copy(&mut io::repeat(0).take(PROBE_BYTES), &mut file)?;
    file.sync_data()
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX)
}

impl State {
    /// True while nothing is applied to the copy, as it was held up.
    pub(super) fn is_in_pause(&self) -> bool {
        self.held_up.as_ref().is_some_and(|held_up| held_up.until.is_some())
    }
}

impl Core {
    /// Ends applying until the copy has been opened again, which is tried after a pause, and gives
    /// the lease up.
    pub(super) fn hold_up(&self, why: String) {
        let pause = longer(self.last_pause());
        self.stand_back(HeldUp { why, pause, until: Some(self.clock.now().after(pause)) });
    }

    /// The same for a copy that is about to be closed, since this node led: it is opened again as
    /// soon as it can be.
    pub(super) fn hold_up_leader(&self, why: String) {
        let pause = self.last_pause();
        self.stand_back(HeldUp { why, pause, until: None });
    }

    fn last_pause(&self) -> Duration {
        self.state().held_up.as_ref().map_or(Duration::ZERO, |held_up| held_up.pause)
    }

    fn stand_back(&self, held_up: HeldUp) {
        let mut state = self.state();
        state.held_up = Some(held_up);
        state.election.set_fit(false);
        if state.election.role() != Role::Follower {
            self.step_in(&mut state, Event::Release { to: None });
        }
    }

    /// True if a pause is over.
    pub(super) fn is_pause_over(&self) -> bool {
        let now = self.clock.now();
        let until = self.state().held_up.as_ref().and_then(|held_up| held_up.until);
        until.is_some_and(|until| now >= until)
    }

    /// Lets the copy be opened again, or makes the pause longer.
    pub(super) fn end_pause(&self, disk_takes_writes: bool) {
        let now = self.clock.now();
        let mut state = self.state();
        let Some(held_up) = &mut state.held_up else { return };
        if disk_takes_writes {
            held_up.until = None;
        } else {
            held_up.pause = longer(held_up.pause);
            held_up.until = Some(now.after(held_up.pause));
        }
    }

    /// Notes that the log was read and applied: what had held the copy up is over.
    pub(super) fn goes_on(&self) {
        let mut state = self.state();
        if state.held_up.take().is_some() {
            state.election.set_fit(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let pauses =
            std::iter::successors(Some(longer(Duration::ZERO)), |last| Some(longer(*last)));
        let seconds: Vec<u64> = pauses.take(7).map(|pause| pause.as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn a_probe_leaves_nothing_and_fails_without_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        probe(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(probe(&folder.path().join("gone")).is_err());
    }
}
