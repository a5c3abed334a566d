//! Intents under shuttle: random interleavings of takers, waiters and ends.
//!
//! Run with `cargo test -p telar-engine --features shuttle --lib intents::`. Shuttle reports a
//! thread that waits for ever; it knows no time, so no wait ends by the clock.
//!
//! Mutations of the source, made in a copy, and the model each makes fail: `release` without
//! `grant` (`model_no_hand_over_is_lost`); `enter` that looks before it enters itself in
//! the graph, or that looks at holders only (`model_circles_end`); `admits` that does not look at
//! the queue lets a waiter starve, which shuttle's fair scheduler does not show.

use std::time::Duration;

use super::{Holder, Intent, Intents, Part, Refused, Thing, WriteWait};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Arc, thread};

const ITERATIONS: usize = 1_000;
/// Preemptions that the PCT scheduler places in one execution.
const PCT_DEPTH: usize = 3;

fn check(model: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(model, ITERATIONS);
    shuttle::check_pct(model, ITERATIONS, PCT_DEPTH);
}

fn wait() -> WriteWait {
    WriteWait { longest: Duration::from_secs(3600), restarts: true, ..WriteWait::default() }
}

fn whole(v: u32) -> Intent {
    (Thing::Vertex(v), Part::Whole)
}

/// Nobody else is inside while this one is.
fn alone(inside: &AtomicU32) {
    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two hold what conflicts");
    thread::yield_now();
    inside.fetch_sub(1, Ordering::SeqCst);
}

#[test]
fn model_no_hand_over_is_lost() {
    check(|| {
        let intents = Arc::new(Intents::default());
        let inside = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (intents, inside) = (Arc::clone(&intents), Arc::clone(&inside));
                thread::spawn(move || {
                    for _ in 0..2 {
                        let mut holder = Holder::new(&intents, wait());
                        holder.acquire(&intents, whole(1)).unwrap();
                        alone(&inside);
                        holder.release(&intents);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert!(intents.are_free());
    });
}

#[test]
fn model_circles_end() {
    check(|| {
        let intents = Arc::new(Intents::default());
        let inside: Arc<[AtomicU32; 3]> = Arc::default();
        let threads: Vec<_> = (0..3u32)
            .map(|n| {
                let (intents, inside) = (Arc::clone(&intents), Arc::clone(&inside));
                thread::spawn(move || {
                    let mut holder = Holder::new(&intents, wait());
                    let wanted = [n, (n + 1) % 3];
                    let mut take = |first: bool| -> Result<(), Refused> {
                        if !first {
                            holder.take_in_order(&intents)?;
                        }
                        wanted
                            .iter()
                            .try_for_each(|v| holder.acquire(&intents, whole(*v)).map(drop))
                    };
                    let mut taken = take(true);
                    while taken == Err(Refused::Deadlock) {
                        taken = take(false);
                    }
                    assert_eq!(taken, Ok(()));
                    wanted.iter().for_each(|v| alone(&inside[*v as usize]));
                    holder.release(&intents);
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert!(intents.are_free());
    });
}
