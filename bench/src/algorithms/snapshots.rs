//! Cost of a writer to a running kernel, and of snapshots and kernels to the writer.
//!
//! The kernel is PageRank. Times are processor times of the kernel's threads and of the writer's:
//! they show what the two lose to each other in caches and memory, not the processors that they
//! share. On flat arrays, which no writer touches, PageRank shows how much of the loss is the
//! machine, whatever the store does.
//!
//! Source: Grace (`telar_algo::program`), section 5 and figure 7.

use std::time::{Duration, Instant};

use rayon::ThreadPool;
use telar_algo::control::Control;

use super::kernel::{Kernel, Lists};
use super::world::{World, copied, unsettled_share};
use super::writer::{Commits, beside};
use super::{Clock, Failed, Run, pool};
use crate::container::{Container, Snapshot, Telar};
use crate::measure::{Samples, time};
use crate::report::{Table, digits};

/// Least time for which a rate of commits is measured.
const TURN: Duration = Duration::from_millis(200);

/// Snapshots taken at a time.
const SNAPSHOTS: u32 = 1000;

/// Figures of one number of threads.
#[derive(Default)]
struct Sides {
    flat: Samples,
    flat_beside: Samples,
    in_place: Samples,
    in_place_beside: Samples,
    /// Times of the kernel on the lists that the writer left, after it ended.
    left: Samples,
    /// Commits per processor second of the writer's thread.
    writer: Samples,
    writer_snapshot: Samples,
    writer_flat: Samples,
    writer_in_place: Samples,
    share: Samples,
}

/// Runs `work` again and again for at least [`TURN`], and returns the commits per
/// processor second.
fn turn(
    commits: &Commits,
    (clock, samples): (Clock<'_>, &mut Samples),
    work: impl Fn() -> Result<(), Failed>,
) -> Result<f64, Failed> {
    let begun = Instant::now();
    let (done, rate) = commits.during(|| {
        loop {
            let (done, seconds) = clock.time(&work);
            samples.push(seconds);
            if done.is_err() || begun.elapsed() >= TURN {
                return done;
            }
        }
    });
    done.map(|()| rate)
}

impl Sides {
    /// One round, which leaves `telar` settled.
    fn round(&mut self, world: &World, telar: &Telar, pool: &ThreadPool) -> Result<(), Failed> {
        let (control, clock) = (&Control::default().on(pool), Clock::Threads(pool));
        let flat = || Kernel::PageRank.run(&world.flat(), control).map(drop);
        let in_place = || {
            let snapshot = telar.snapshot();
            let (out, incoming) = (snapshot.out(), snapshot.in_());
            let lists = Lists { out: &out, incoming: &incoming, n: world.n, source: world.source };
            Kernel::PageRank.run(&lists, control).map(drop)
        };
        let sleep = || {
            std::thread::sleep(TURN);
            Ok(())
        };
        let idle = Commits::default();
        turn(&idle, (clock, &mut self.flat), flat)?;
        turn(&idle, (clock, &mut self.in_place), in_place)?;
        beside(telar, &world.spare, |commits| {
            let mut slept = Samples::default();
            self.writer.push(turn(commits, (Clock::Wall, &mut slept), sleep)?);
            {
                let _open = telar.snapshot();
                self.writer_snapshot.push(turn(commits, (Clock::Wall, &mut slept), sleep)?);
            }
            self.writer_flat.push(turn(commits, (clock, &mut self.flat_beside), flat)?);
            self.writer_in_place.push(turn(commits, (clock, &mut self.in_place_beside), in_place)?);
            self.share.push(unsettled_share(telar)?);
            Ok::<_, Failed>(())
        })?;
        turn(&idle, (clock, &mut self.left), in_place)?;
        telar.settle();
        Ok(())
    }
}

/// Compares the kernel at a snapshot that the writer runs past with that on a copy of the snapshot.
fn require_same(world: &World, telar: &Telar, control: &Control<'_>) -> Result<(), Failed> {
    let (n, source) = (world.n, world.source);
    beside(telar, &world.spare, |_| {
        let snapshot = telar.snapshot();
        let (out, incoming) = copied(&snapshot, n);
        let lists = Lists { out: &out, incoming: &incoming, n, source };
        let expected = Kernel::PageRank.run(&lists, control)?;
        let (out, incoming) = (snapshot.out(), snapshot.in_());
        let lists = Lists { out: &out, incoming: &incoming, n, source };
        let found = Kernel::PageRank.run(&lists, control)?.require(&expected);
        Ok(found.map_err(|wrong| format!("PageRank beside a writer: {wrong}"))?)
    })
}

/// Seconds that a snapshot takes, opened and closed.
fn snapshot_s(telar: &Telar) -> f64 {
    let take = || (0..SNAPSHOTS).for_each(|_| drop(std::hint::black_box(telar.snapshot())));
    time(take).1.wall_s / f64::from(SNAPSHOTS)
}

pub(super) fn measure(run: &mut Run<'_>) -> Result<(), Failed> {
    let world = World::directed(run.options.scale);
    let telar = world.settled();
    let mut kernels = Table::new([
        "PageRank",
        "threads",
        "alone, CPU ms",
        "beside a writer",
        "after it",
        "unsettled beside it",
    ]);
    let mut writers = Table::new([
        "the writer beside",
        "threads of the kernel",
        "commits/CPU s alone",
        "an open snapshot",
        "PageRank on flat CSR",
        "PageRank in place",
    ]);
    for &threads in &run.options.threads {
        (run.stage)(&format!("PageRank and a writer, {threads} threads"));
        let pool = pool(threads)?;
        let control = Control::default().on(&pool);
        require_same(&world, &telar, &control)?;
        telar.settle();
        let mut sides = Sides::default();
        for _ in 0..run.options.rounds {
            sides.round(&world, &telar, &pool)?;
        }
        let key = |figure: &str| format!("snapshots/{threads}_threads/{figure}");
        let over = |a: &Samples, b: &Samples| a.median() / b.median();
        let ratio = over(&sides.flat_beside, &sides.flat);
        kernels.push([
            "on flat CSR".to_owned(),
            threads.to_string(),
            run.ms(key("flat_csr_alone"), &sides.flat),
            run.ratio(key("flat_csr_beside_of_alone"), ratio, None),
        ]);
        let beside = over(&sides.in_place_beside, &sides.in_place);
        let left = over(&sides.left, &sides.in_place);
        let share = sides.share.median();
        run.found.report.figure(key("unsettled_share"), share);
        kernels.push([
            "in place".to_owned(),
            threads.to_string(),
            run.ms(key("in_place_alone"), &sides.in_place),
            run.ratio(key("in_place_beside_of_alone"), beside, None),
            run.ratio(key("in_place_after_of_alone"), left, None),
            digits(share),
        ]);
        let commits = sides.writer.median();
        run.found.report.figure(key("writer_commits_per_s"), commits);
        let mut of =
            |name: &str, samples: &Samples| run.ratio(key(name), samples.median() / commits, None);
        writers.push([
            "of alone".to_owned(),
            threads.to_string(),
            format!("{commits:.0}"),
            of("writer_with_snapshot_of_alone", &sides.writer_snapshot),
            of("writer_beside_flat_csr_of_alone", &sides.writer_flat),
            of("writer_beside_in_place_of_alone", &sides.writer_in_place),
        ]);
    }
    let us = snapshot_s(&telar) * 1e6;
    run.found.report.figure("snapshots/open_and_close_us", us);
    run.table("A kernel beside a writer: time as a multiple of that alone", kernels);
    run.table(
        format!(
            "The writer: commits as a share of those alone (a snapshot takes {} µs)",
            digits(us)
        ),
        writers,
    );
    Ok(())
}
