//! How much sooner long queries answer with several threads than with one: wall clock, in turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use telar_db::{Database, Session, Value, ValueMap, Workers};

use super::question::{Asked, Question};
use super::world::World;
use super::{check, failed};
use crate::figures::Bound;
use crate::import::BenchError;
use crate::measure::Samples;

/// Questions that are too short to be shared.
const SHORT: [&str; 4] = ["point", "one_hop", "two_hops", "shortest"];

/// Milliseconds of one question, with one thread and with several.
pub(super) struct Compared {
    pub(super) key: &'static str,
    pub(super) what: &'static str,
    pub(super) one_ms: f64,
    pub(super) several_ms: f64,
}

impl Compared {
    pub(super) fn ratio(&self) -> f64 {
        self.one_ms / self.several_ms
    }

    /// What the ratio is to be: two threads are to be worth 1.7.
    pub(super) fn bound(&self, threads: usize) -> Option<Bound> {
        (threads == 2).then_some(Bound::AtLeast(1.7))
    }
}

/// Those whose name is `name` and who are old: every person is looked at, few are returned.
pub(super) fn scan(world: &World) -> Question {
    let name = "1";
    let persons = (0i64..).zip(&world.graph.persons);
    let found = persons.filter(|(_, person)| person.age >= 70 && person.name.ends_with(name));
    let rows = found.map(|(id, person)| vec![Value::Int(id), Value::from(person.name.as_str())]);
    Question {
        key: "scan",
        what: "scan with a filter",
        text: "MATCH (p:Person) WHERE p.age >= 70 AND p.name ENDS WITH $name RETURN p.id, p.name",
        bound_ms: f64::INFINITY,
        asked: vec![Asked { parameters: vec![("name", name.into())], rows: rows.collect() }],
        ordered: true,
    }
}

/// Asks every long question with one thread and with `threads`, for `turn` each, `rounds` times.
pub(super) fn compare(
    db: &Database,
    questions: &[Question],
    threads: usize,
    (rounds, turn): (usize, Duration),
) -> Result<Vec<Compared>, BenchError> {
    let session = |threads| Session::new(db).with_workers(Arc::new(Workers::new(threads)));
    let (one, several) = (session(1), session(threads));
    let mut all = Vec::new();
    for question in questions.iter().filter(|q| !SHORT.contains(&q.key)) {
        check(&several, question)?;
        let mut samples = [Samples::default(), Samples::default()];
        for _ in 0..rounds {
            for (session, samples) in [&one, &several].into_iter().zip(&mut samples) {
                samples.push(wall_s(session, question, turn)? * 1e3);
            }
        }
        let [one_ms, several_ms] = samples.map(|samples| samples.median());
        all.push(Compared { key: question.key, what: question.what, one_ms, several_ms });
    }
    Ok(all)
}

/// Asks a question for some time; seconds of one query.
fn wall_s(session: &Session, question: &Question, time: Duration) -> Result<f64, BenchError> {
    let parameters: Vec<ValueMap> = question.asked.iter().map(Asked::map).collect();
    let (begun, mut queries) = (Instant::now(), 0u32);
    while begun.elapsed() < time {
        for parameters in &parameters {
            std::hint::black_box(session.run_with(question.text, parameters).map_err(failed)?);
        }
        queries += parameters.len() as u32;
    }
    Ok(begun.elapsed().as_secs_f64() / f64::from(queries.max(1)))
}
