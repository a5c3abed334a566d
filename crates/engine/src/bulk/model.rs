//! The pause of readers under shuttle: random interleavings of a load that installs, and readers.
//!
//! Run with `cargo test -p telar-engine --features shuttle --lib bulk::`. [`Clock`] and [`Readers`]
//! are the code that ships; what is installed is a stand-in. Seen to fail with the two looks in
//! `Readers::open` swapped, and with `Broken`'s steps.

use std::panic::catch_unwind;

use crate::clock::Clock;
use crate::clock::readers::Readers;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, thread};

const ITERATIONS: usize = 1_500;

/// Steps of the protocol done wrong on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// Readers are not made to wait.
    NoPause,
    /// Readers that are there are not waited for.
    NoWait,
    /// The pause ends before the load is published.
    ResumeBeforePublish,
}

/// A snapshot at 0 never sees what is installed at 1, and one at 1 always does.
fn model(broken: Broken) {
    let (clock, readers) = (Arc::new(Clock::new(0)), Arc::new(Readers::new()));
    let installed = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for _ in 0..2 {
        let (clock, readers) = (Arc::clone(&clock), Arc::clone(&readers));
        let installed = Arc::clone(&installed);
        threads.push(thread::spawn(move || {
            let (slot, ts) = readers.open(&clock).expect("there are slots enough");
            for _ in 0..2 {
                assert_eq!(installed.load(Ordering::SeqCst), ts == 1, "a snapshot at {ts}");
                thread::yield_now();
            }
            readers.close(slot);
        }));
    }
    let ts = clock.next();
    if broken != Broken::NoPause {
        readers.pause();
    }
    while broken != Broken::NoWait && readers.live().0 > 0 {
        thread::yield_now();
    }
    installed.store(true, Ordering::SeqCst);
    if broken == Broken::ResumeBeforePublish {
        readers.resume();
    }
    clock.mark_applied(ts);
    clock.advance(ts);
    readers.resume();
    for t in threads {
        t.join().expect("a reader saw what it must not see");
    }
    assert_eq!(readers.live().0, 0);
}

#[test]
fn model_readers_never_see_a_load_before_its_timestamp() {
    shuttle::check_random(|| model(Broken::Nothing), ITERATIONS);
    shuttle::check_pct(|| model(Broken::Nothing), ITERATIONS, 3);
}

#[test]
fn model_notices_broken_steps_of_the_pause() {
    for broken in [Broken::NoPause, Broken::NoWait, Broken::ResumeBeforePublish] {
        let failed = (0..10)
            .any(|_| catch_unwind(|| shuttle::check_random(move || model(broken), 3_000)).is_err());
        assert!(failed, "the protocol passed with {broken:?}");
    }
}
