//! Kernels through `CALL`, with their rows aggregated in the query, over the same on flat CSR.

use telar_algo::control::Control;
use telar_db::Session;
use telar_graph::Value;

use super::answer::Answer;
use super::kernel::Kernel;
use super::world::World;
use super::{Clock, Failed, Run, in_turns, pool};
use crate::container::Telar;
use crate::figures::Bound;
use crate::report::Table;

/// Kernels and statements that give the sum of the same answer. `$settings{` is the beginning of
/// the settings, `$source` where searches begin.
const STATEMENTS: [(Kernel, &str); 3] = [
    (
        Kernel::PageRank,
        "CALL algo.pageRank({relationships: 'EDGE'}, $settings{maxIterations: 20, tolerance: 0}) \
         YIELD score RETURN sum(score * score)",
    ),
    (
        Kernel::Bfs,
        "CALL algo.bfs({relationships: 'EDGE'}, $settings{sourceNode: $source}) \
         YIELD depth RETURN sum(depth)",
    ),
    (
        Kernel::Wcc,
        "CALL algo.wcc({relationships: 'EDGE'}, $settings{}) \
         YIELD componentId RETURN sum(componentId)",
    ),
];

const CALLED: Bound = Bound::AtMost(1.15);

fn call(telar: &Telar, statement: &str) -> Result<Answer, Failed> {
    let session = Session::new(telar.engine());
    match session.run(statement, &[])?.rows.first().and_then(|row| row.first()) {
        Some(Value::Float(sum)) => Ok(Answer::Total(*sum)),
        Some(Value::Int(sum)) => Ok(Answer::Total(*sum as f64)),
        other => Err(format!("{statement} gave {other:?}").into()),
    }
}

pub(super) fn measure(run: &mut Run<'_>) -> Result<(), Failed> {
    let world = World::directed(run.options.scale);
    let (telar, flat) = (world.settled(), world.flat());
    let called = format!("CALL ({CALLED} for PageRank)");
    let mut table =
        Table::new(["kernel", "threads", "flat CSR, ms", called.as_str(), "CALL, packed"]);
    for (kernel, statement) in STATEMENTS {
        for &threads in &run.options.threads {
            (run.stage)(&format!("{} through CALL, {threads} threads", kernel.name()));
            let pool = pool(threads)?;
            let control = Control::default().on(&pool);
            let text = |packed: bool| {
                let settings = format!("{{packed: {packed}, concurrency: {threads}, ");
                let text = statement.replace("$settings{", &settings).replace(", }", "}");
                text.replace("$source", &world.source.to_string())
            };
            let (in_place, packed) = (text(false), text(true));
            let summed = || Ok(Answer::Total(kernel.run(&flat, &control)?.sum()));
            let samples = in_turns(
                kernel.name(),
                (Clock::Wall, run.options.rounds),
                &[
                    ("flat CSR".to_owned(), Box::new(summed)),
                    ("CALL".to_owned(), Box::new(|| call(&telar, &in_place))),
                    ("CALL, packed".to_owned(), Box::new(|| call(&telar, &packed))),
                ],
            )?;
            let key = |figure: &str| format!("calls/{}/{threads}_threads/{figure}", kernel.name());
            let bound = (kernel == Kernel::PageRank).then_some(CALLED);
            let ratio = |at: usize| samples[at].median() / samples[0].median();
            table.push([
                kernel.name().to_owned(),
                threads.to_string(),
                run.ms(key("flat_csr"), &samples[0]),
                run.ratio(key("call"), ratio(1), bound),
                run.ratio(key("call_packed"), ratio(2), None),
            ]);
        }
    }
    run.table("Kernels through CALL: time as a multiple of the kernel on flat CSR", table);
    Ok(())
}
