//! Vertex programs beside plain kernels: batched updates and work sharing, each on and off.
//!
//! Source: Grace (`telar_algo::program`), section 4, figure 6 and table 3.

use telar_algo::community::label_propagation::{self as plain_labels, label_propagation};
use telar_algo::control::Control;
use telar_algo::csr::Csr as Packed;
use telar_algo::program::both::Both;
use telar_algo::program::components::Components;
use telar_algo::program::hops::Hops;
use telar_algo::program::labels::Labels;
use telar_algo::program::pagerank::PageRank;
use telar_algo::program::{Settings, run as run_program};
use telar_graph::Topology;

use super::answer::Answer;
use super::kernel::{ITERATIONS, Kernel, Lists};
use super::world::World;
use super::{Clock, Failed, Run, Subject, in_turns, pool};
use crate::container::{Container, Snapshot};
use crate::report::{Table, digits};

/// Iterations of label propagation.
const LABELS: u32 = 5;

/// Steps after which a program ends that should have ended before.
const STEPS_MAX: u32 = 10_000;

/// Batching and sharing of each way to run a program.
const WAYS: [(&str, bool, bool); 4] = [
    ("batched, shared", true, true),
    ("batched", true, false),
    ("shared", false, true),
    ("neither", false, false),
];

#[derive(Debug, Clone, Copy)]
enum Program {
    PageRank,
    Components,
    Hops,
    Labels,
}

impl Program {
    const ALL: [Self; 4] = [Self::PageRank, Self::Components, Self::Hops, Self::Labels];

    fn name(self) -> &'static str {
        match self {
            Self::PageRank => "PageRank",
            Self::Components => "components",
            Self::Hops => "hops",
            Self::Labels => "labels",
        }
    }

    fn run<T: Topology>(
        self,
        lists: &Lists<'_, T>,
        settings: Settings,
        control: &Control<'_>,
    ) -> Result<Answer, Failed> {
        let n = lists.n;
        let steps = |max_iterations| Settings { max_iterations, ..settings.clone() };
        let both = Both(lists.out, lists.incoming);
        Ok(match self {
            Self::PageRank => {
                let program = PageRank::new(n, 0.85, 0.0)?;
                let settings = steps(ITERATIONS + 1);
                Answer::Scores(run_program(&program, lists.out, n, &settings, control)?.vertices)
            }
            Self::Components => {
                let settings = steps(STEPS_MAX);
                Answer::Numbers(run_program(&Components, &both, n, &settings, control)?.vertices)
            }
            Self::Hops => {
                let (program, settings) = (Hops { source: lists.source }, steps(STEPS_MAX));
                Answer::Numbers(run_program(&program, lists.out, n, &settings, control)?.vertices)
            }
            Self::Labels => {
                let (program, settings) = (Labels { iterations: LABELS }, steps(LABELS + 1));
                Answer::Numbers(run_program(&program, &both, n, &settings, control)?.vertices)
            }
        })
    }
}

/// The kernel with the result of a program; `packed` is the graph reversed, and as it is.
fn kernel(
    program: Program,
    world: &World,
    packed: &(Packed, Packed),
    control: &Control<'_>,
) -> Result<Answer, Failed> {
    match program {
        Program::PageRank => Kernel::PageRank.run(&world.flat(), control),
        Program::Components => Kernel::Wcc.run(&world.flat(), control),
        Program::Hops => Kernel::Bfs.run(&world.flat(), control),
        Program::Labels => {
            let settings = plain_labels::Settings { max_iterations: LABELS };
            let (incoming, out) = packed;
            let found = label_propagation(out, Some(incoming), None, &settings, control)?;
            Ok(Answer::Numbers(found.labels))
        }
    }
}

pub(super) fn measure(run: &mut Run<'_>) -> Result<(), Failed> {
    let world = World::directed(run.options.scale);
    let out = Packed::from_edges(world.n, &world.edges);
    let packed = (out.reversed(), out);
    let telar = world.settled();
    let snapshot = telar.snapshot();
    let (out, incoming) = (snapshot.out(), snapshot.in_());
    let in_place = Lists { out: &out, incoming: &incoming, n: world.n, source: world.source };
    let flat = world.flat();
    let mut table = Table::new([
        "program",
        "threads",
        "kernel, ms",
        "batched and shared, ms",
        "batched, ms",
        "shared, ms",
        "neither, ms",
        "batching",
        "sharing",
        "in place",
        "of the kernel",
    ]);
    for program in Program::ALL {
        for &threads in &run.options.threads {
            (run.stage)(&format!("{} as a program, {threads} threads", program.name()));
            let pool = pool(threads)?;
            let control = Control::default().on(&pool);
            let mut subjects: Vec<Subject<'_>> = vec![(
                "kernel".to_owned(),
                Box::new(|| kernel(program, &world, &packed, &control)),
            )];
            for (way, batching, sharing) in WAYS {
                let settings = Settings { batching, sharing, ..Settings::default() };
                let (flat, control) = (&flat, &control);
                let work = move || program.run(flat, settings.clone(), control);
                subjects.push((way.to_owned(), Box::new(work)));
            }
            let work = || program.run(&in_place, Settings::default(), &control);
            subjects.push(("in place".to_owned(), Box::new(work)));
            let samples = in_turns(program.name(), (Clock::Wall, run.options.rounds), &subjects)?;
            let key = |of: &str| format!("programs/{}/{threads}_threads/{of}", program.name());
            let mut row = vec![program.name().to_owned(), threads.to_string()];
            for ((name, _), samples) in subjects.iter().zip(&samples).take(1 + WAYS.len()) {
                row.push(run.ms(key(name), samples));
            }
            let over = |a: usize, b: usize| samples[a].median() / samples[b].median();
            row.push(run.ratio(key("batching_times_as_fast"), over(3, 1), None));
            row.push(run.ratio(key("sharing_times_as_fast"), over(2, 1), None));
            row.push(run.ratio(key("in_place_of_flat_csr"), over(5, 1), None));
            row.push(run.ratio(key("of_the_kernel"), over(1, 0), None));
            table.push(row);
        }
    }
    run.table(
        format!(
            "Vertex programs: batching and sharing are times as fast with it as without ({} \
             iterations of labels)",
            digits(LABELS.into())
        ),
        table,
    );
    Ok(())
}
