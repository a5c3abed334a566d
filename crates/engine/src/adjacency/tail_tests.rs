//! Blocks of one tail never overlap, whoever asks for them at once.
//!
//! Found by review: a number added first and taken back when it did not fit let two vertices be
//! given the same words.

use std::sync::atomic::Ordering;
use std::sync::{Barrier, RwLock};

use super::{Tail, block_words, filter};
use crate::adjacency::{Entry, SEGMENT_VERTICES};

const THREADS: u32 = 6;
const ROUNDS: usize = 20_000;

/// Thread 0 asks for ever larger blocks that soon do not fit; the others for small ones. Every
/// thread goes on after a failure, as the next commit on another stripe does.
fn fill(tail: &Tail, thread: u32) {
    for i in 0..40u32 {
        let local = thread + 32 * (i % 16);
        for _ in 0..if thread == 0 { 40 } else { 3 } {
            if !tail.reserve(local, 0) {
                break;
            }
            let block = tail.block_of(local).expect("room was reserved in it");
            block.append(&Entry::simple(local), 1, false, 0);
        }
    }
}

#[test]
fn blocks_of_a_tail_do_not_overlap() {
    let tail = RwLock::new(Tail::new(600, 0, Vec::new()));
    let barrier = Barrier::new(THREADS as usize + 1);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (tail, barrier) = (&tail, &barrier);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    barrier.wait();
                    fill(&tail.read().unwrap(), thread);
                    barrier.wait();
                }
            });
        }
        let mut overlap = None;
        for _ in 0..ROUNDS {
            *tail.write().unwrap() = Tail::new(600, 0, Vec::new());
            barrier.wait();
            barrier.wait();
            let tail = tail.read().unwrap();
            let mut spans: Vec<(usize, usize)> = (0..SEGMENT_VERTICES as u32)
                .filter_map(|local| Some((tail.block_of(local)?, local)))
                .map(|(block, local)| {
                    let header = tail.slot(local).load(Ordering::Relaxed) as usize;
                    let at = header - filter::words(block.class());
                    (at, at + block_words(block.class(), 0))
                })
                .collect();
            spans.sort_unstable();
            overlap = overlap.or(spans.windows(2).find(|w| w[0].1 > w[1].0).map(<[_]>::to_vec));
        }
        assert_eq!(overlap, None);
    });
}
