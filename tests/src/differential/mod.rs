//! Random queries on random graphs, against an evaluator that is too simple to be wrong.
//!
//! ```text
//!  seed ─► graph.rs ── CREATE text ──────────► a Subject ──┐
//!    └───► generate.rs ─► query.rs ── text ──► the same    ├─ compared as the TCK compares
//!                            └─► evaluate.rs: every assignment of the pattern's variables ─┘
//! ```
//!
//! Queries are made as trees in which every expression has a type and every result is determined:
//! what is cut by `LIMIT` is ordered by all its columns first. So a difference is a bug, of the
//! subject or of the evaluator, and no run needs a second database.

mod evaluate;
mod expression;
mod generate;
mod graph;
mod matching;
mod query;
#[cfg(test)]
mod tests;

use crate::Rng;
use crate::tck::compare::compare;
use crate::tck::step::ExpectedRows;

use crate::tck::subject::{Rows, Subject};
use crate::tck::value::Entries;

pub use graph::RandomGraph;
pub use query::Query;

/// Makes the graph of `seed` in `subject`, which is empty, and runs `queries` queries on it.
/// Returns how many had rows.
///
/// # Errors
/// The first answer that differs, with all that is needed to see it again.
pub fn check(seed: u64, queries: usize, subject: &mut dyn Subject) -> Result<usize, String> {
    let mut rng = Rng::new(seed);
    let graph = RandomGraph::new(&mut rng);
    let create = graph.create();
    let mut with_rows = 0;
    let mut run = |text: &str| subject.run(text, &Entries::new()).map_err(|e| e.to_string());
    run(&create).map_err(|problem| format!("seed {seed}\n{create}\n{problem}"))?;
    for _ in 0..queries {
        let (query, expected) = case(&mut rng, &graph);
        let text = query.to_string();
        let answer = run(&text).and_then(|rows| compare(&expected, &rows));
        answer.map_err(|problem| format!("seed {seed}\n{create}\n\n{text}\n\n{problem}"))?;
        with_rows += usize::from(!expected.rows.is_empty());
    }
    Ok(with_rows)
}

/// Graphs for which no answer is worked out: so many vertices and edges at most.
const LARGER: (u64, u64) = (8, 14);

/// The graph of `seed`, larger than those of [`check`], as the query that makes it, and queries on
/// it, each with whether its rows have an order.
#[must_use]
pub fn cases(seed: u64, queries: usize) -> (String, Vec<(String, bool)>) {
    let mut rng = Rng::new(seed);
    let graph = RandomGraph::of(&mut rng, LARGER.0, LARGER.1);
    let query = |_| {
        let query = generate::query(&mut rng);
        (query.to_string(), query.result.order.is_some())
    };
    (graph.create(), (0..queries).map(query).collect())
}

/// Compares the answers of two subjects that hold the same graph. Returns whether there were rows,
/// or nothing if one was given up since it takes too long.
///
/// # Errors
/// How they differ.
pub fn agree(
    (text, in_order): &(String, bool),
    one: &mut dyn Subject,
    other: &mut dyn Subject,
) -> Result<Option<bool>, String> {
    let nothing = Entries::new();
    let answers = [one.run(text, &nothing), other.run(text, &nothing)];
    if answers.iter().any(|a| a.as_ref().is_err_and(|e| e.kind == "TransactionTimedOut")) {
        return Ok(None);
    }
    let [Ok(one), Ok(other)] = answers else {
        return Err(format!("{text}\n\n{answers:?}"));
    };
    let Rows { columns, rows } = other;
    let expected = ExpectedRows { columns, rows, in_order: *in_order, any_list_order: true };
    let difference = |problem| format!("{text}\n\n{problem}");
    compare(&expected, &one).map(|()| Some(!one.rows.is_empty())).map_err(difference)
}

/// A query and its answer. Queries whose answer would be very large are passed over, and so are
/// most without rows, which tell less.
fn case(rng: &mut Rng, graph: &RandomGraph) -> (Query, ExpectedRows) {
    loop {
        let query = generate::query(rng);
        match evaluate::evaluate(&query, graph) {
            Some(expected) if !expected.rows.is_empty() || rng.one_in(4) => {
                return (query, expected);
            }
            _ => {}
        }
    }
}
