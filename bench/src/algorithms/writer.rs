//! A writer at full speed beside the work that is measured.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use telar_generate::Edge;

use crate::container::{Container, Telar, TelarWriter, Writer};
use crate::measure::thread_cpu_s;

/// Commits between two looks at the clock.
const LOOK: u64 = 64;

/// Commits of a writer so far, and the processor time of its thread, in nanoseconds: other work on
/// the machine takes none of it.
#[derive(Debug, Default)]
pub(super) struct Commits {
    count: AtomicU64,
    cpu_ns: AtomicU64,
}

impl Commits {
    fn add(&self) {
        if (self.count.fetch_add(1, Relaxed) + 1).is_multiple_of(LOOK) {
            self.cpu_ns.store((thread_cpu_s() * 1e9) as u64, Relaxed);
        }
    }

    /// Runs `work`; returns its result and the commits per processor second meanwhile, 0 where too
    /// few came for the clock to have moved.
    pub(super) fn during<R>(&self, work: impl FnOnce() -> R) -> (R, f64) {
        let now = || (self.count.load(Relaxed) / LOOK * LOOK, self.cpu_ns.load(Relaxed));
        let (commits, cpu_ns) = now();
        let done = work();
        let (commits, cpu_ns) = (now().0 - commits, now().1 - cpu_ns);
        (done, if cpu_ns == 0 { 0.0 } else { commits as f64 * 1e9 / cpu_ns as f64 })
    }
}

/// Stops the writer when it is dropped, so that a panic of the work ends it, too.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Runs `work` while another thread inserts the edges of `spare` and removes them again, one per
/// transaction, without end. Afterwards none of them is there.
pub(super) fn beside<R>(telar: &Telar, spare: &[Edge], work: impl FnOnce(&Commits) -> R) -> R {
    let (stop, commits) = (AtomicBool::new(false), Commits::default());
    std::thread::scope(|scope| {
        scope.spawn(|| write(&mut telar.writer(), spare, &stop, &commits));
        let _stop = Stop(&stop);
        while !spare.is_empty() && commits.count.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        work(&commits)
    })
}

fn write(writer: &mut TelarWriter<'_>, spare: &[Edge], stop: &AtomicBool, commits: &Commits) {
    while !stop.load(Relaxed) && !spare.is_empty() {
        for inserts in [true, false] {
            let done = spare.iter().take_while(|_| !stop.load(Relaxed)).map(|&(u, v)| {
                if inserts {
                    writer.insert_edge(u, v);
                } else {
                    writer.delete_edge(u, v);
                }
                commits.add();
            });
            if done.count() == spare.len() {
                continue;
            }
            // Not to be counted.
            spare.iter().for_each(|&(u, v)| {
                writer.delete_edge(u, v);
            });
            return;
        }
    }
}

#[test]
fn writer_goes_on_until_the_work_is_done_and_leaves_nothing_behind() {
    let telar = Telar::filled(4, vec![(0, 1)]);
    let commits = beside(&telar, &[(1, 2), (2, 3), (3, 0)], |commits| {
        let ((), rate) = commits.during(|| {
            let begun = commits.count.load(Relaxed);
            while commits.count.load(Relaxed) < begun + 4 * LOOK {
                std::thread::yield_now();
            }
        });
        assert!(rate > 0.0);
        commits.count.load(Relaxed)
    });
    assert!(commits >= 4 * LOOK);
    assert!(telar.search_edge(0, 1));
    for (u, v) in [(1, 2), (2, 3), (3, 0)] {
        assert!(!telar.search_edge(u, v));
    }
}
