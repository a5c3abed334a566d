//! Kernels in place over the same kernels on flat CSR, in three states of the database.
//!
//! Settled and unsettled lists are read through one snapshot, and subjects take turns. Beside a
//! writer each run takes a snapshot of its own, as a statement does; afterwards that snapshot is
//! copied into flat arrays, on which the same kernel runs while the writer goes on, and both
//! answers are compared. Triangles run on a smaller graph, as their work grows faster than it.

use rayon::ThreadPool;
use telar_algo::control::Control;

use super::kernel::{DIRECTED, Kernel, Lists};
use super::world::{World, copied, unsettled_share};
use super::writer::beside;
use super::{Clock, Failed, Run, in_turns, pool};
use crate::container::{Container, Snapshot, Telar};
use crate::figures::Bound;
use crate::measure::Samples;
use crate::report::{Table, digits};

/// Largest scale of the graph whose triangles are counted.
const TRIANGLES_SCALE_MAX: u32 = 16;

const SETTLED: Bound = Bound::AtMost(1.1);
const UNSETTLED: Bound = Bound::AtMost(1.4);

/// A kernel on some threads.
struct Case {
    kernel: Kernel,
    threads: usize,
    pool: ThreadPool,
    row: Vec<String>,
}

impl Case {
    fn key(&self, figure: &str) -> String {
        format!("kernels/{}/{}_threads/{figure}", self.kernel.name(), self.threads)
    }

    fn stage(&self, run: &mut Run<'_>, state: &str) {
        let threads = self.threads;
        (run.stage)(&format!("{} {state}, {threads} threads", self.kernel.name()));
    }
}

pub(super) fn measure(run: &mut Run<'_>) -> Result<(), Failed> {
    let mut table = Table::new([
        "kernel",
        "threads",
        "flat CSR, CPU ms",
        &format!("settled ({SETTLED})"),
        &format!("10 % unsettled ({UNSETTLED})"),
        &format!("and a writer ({UNSETTLED})"),
        "unsettled beside the writer",
    ]);
    (run.stage)("making the graph");
    measure_on(run, &World::directed(run.options.scale), DIRECTED, &mut table)?;
    let oriented = World::oriented(run.options.scale.min(TRIANGLES_SCALE_MAX));
    measure_on(run, &oriented, &[Kernel::Triangles], &mut table)?;
    run.table("Kernels in place: time as a multiple of the kernel on flat CSR", table);
    Ok(())
}

fn measure_on(
    run: &mut Run<'_>,
    world: &World,
    kernels: &[Kernel],
    table: &mut Table,
) -> Result<(), Failed> {
    let mut cases = Vec::new();
    for kernel in kernels {
        for &threads in &run.options.threads {
            let row = vec![kernel.name().to_owned(), threads.to_string()];
            cases.push(Case { kernel: *kernel, threads, pool: pool(threads)?, row });
        }
    }
    let telar = world.settled();
    for case in &mut cases {
        case.stage(run, "settled");
        let (flat, ratio) = still(run, world, &telar, case)?;
        case.row.push(run.ms(case.key("flat_csr"), &flat));
        case.row.push(run.ratio(case.key("settled"), ratio, Some(SETTLED)));
    }
    drop(telar);
    world.unsettled(|telar| {
        let share = unsettled_share(telar)?;
        run.found.report.figure(format!("kernels/{}/unsettled_share", kernels[0].name()), share);
        for case in &mut cases {
            case.stage(run, "10 % unsettled");
            let (_, ratio) = still(run, world, telar, case)?;
            case.row.push(run.ratio(case.key("unsettled"), ratio, Some(UNSETTLED)));
        }
        for case in &mut cases {
            case.stage(run, "beside a writer");
            let rounds = Rounds::beside_writer(world, telar, case, run.options.rounds)?;
            let ratio = rounds.in_place.median() / rounds.flat.median();
            case.row.push(run.ratio(case.key("beside_writer"), ratio, Some(UNSETTLED)));
            run.found.report.figure(case.key("writer_commits_per_s"), rounds.commits.median());
            let share = rounds.share.median();
            run.found.report.figure(case.key("beside_writer_unsettled_share"), share);
            case.row.push(digits(share));
        }
        Ok::<_, Failed>(())
    })?;
    cases.into_iter().for_each(|case| table.push(case.row));
    Ok(())
}

/// Times a kernel while nobody writes: on flat arrays, and how many times as long it takes in
/// place.
fn still(
    run: &Run<'_>,
    world: &World,
    telar: &Telar,
    case: &Case,
) -> Result<(Samples, f64), Failed> {
    let snapshot = telar.snapshot();
    let (out, incoming) = (snapshot.out(), snapshot.in_());
    let control = Control::default().on(&case.pool);
    let lists = Lists { out: &out, incoming: &incoming, n: world.n, source: world.source };
    let flat = world.flat();
    let samples = in_turns(
        case.kernel.name(),
        (Clock::Threads(&case.pool), run.options.rounds),
        &[
            ("flat CSR".to_owned(), Box::new(|| case.kernel.run(&flat, &control))),
            ("in place".to_owned(), Box::new(|| case.kernel.run(&lists, &control))),
        ],
    )?;
    let ratio = samples[1].median() / samples[0].median();
    Ok((samples[0].clone(), ratio))
}

/// Figures beside a writer.
#[derive(Default)]
struct Rounds {
    in_place: Samples,
    flat: Samples,
    /// Commits per second while the kernel ran in place.
    commits: Samples,
    /// Share of the entries that were not settled when the kernel began.
    share: Samples,
}

impl Rounds {
    fn beside_writer(
        world: &World,
        telar: &Telar,
        case: &Case,
        rounds: usize,
    ) -> Result<Self, Failed> {
        let control = Control::default().on(&case.pool);
        let (n, source, kernel) = (world.n, world.source, case.kernel);
        let (mut found, clock) = (Self::default(), Clock::Threads(&case.pool));
        beside(telar, &world.spare, |commits| {
            for _ in 0..rounds {
                found.share.push(unsettled_share(telar)?);
                let snapshot = telar.snapshot();
                let ((answer, seconds), rate) = commits.during(|| {
                    let (out, incoming) = (snapshot.out(), snapshot.in_());
                    let lists = Lists { out: &out, incoming: &incoming, n, source };
                    clock.time(|| kernel.run(&lists, &control))
                });
                found.in_place.push(seconds);
                found.commits.push(rate);
                let (out, incoming) = copied(&snapshot, n);
                let lists = Lists { out: &out, incoming: &incoming, n, source };
                let (expected, seconds) = clock.time(|| kernel.run(&lists, &control));
                found.flat.push(seconds);
                let same = answer?.require(&expected?);
                same.map_err(|wrong| format!("{}, beside a writer: {wrong}", kernel.name()))?;
            }
            Ok(found)
        })
    }
}
