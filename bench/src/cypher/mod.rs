//! Queries, one client, warm: the benchmark behind `telar bench cypher`.
//!
//! The graph is [`knows`](telar_generate::knows), imported from CSV into a durable database. Every
//! answer is compared with one worked out in plain Rust before anything is timed. A figure is the
//! processor time of the whole process per query, all threads, in milliseconds: the median over
//! rounds, in each of which every query runs for some time, with all of its parameters in turn.
//! Queries run on one thread; how much sooner several have the answer is measured beside it.
//!
//! `export` keeps the files, with the questions and their answers as JSON, for other engines
//! (`bench/compare/cypher.py`).

mod question;
mod threads;
mod world;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use telar_cli::process_cpu_s;
use telar_db::query::QueryError;
use telar_db::{Database, Session, Value, ValueMap, Workers};
use telar_generate::rng::Rng;

use crate::figures::{Bound, Figures};
use crate::import::BenchError;
use crate::measure::Samples;
use crate::report::Report;
use question::{Asked, Question};
use world::World;

/// The question that is none: what creating a person costs.
const INSERT: &str = "insert";
const CREATE: &str = "CREATE (:Person {id: $id, name: $name, age: $age, city: $city})";

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Persons; there are 20 times as many relationships.
    pub persons: u32,
    /// Persons, or pairs of them, that each query is asked about.
    pub asked: usize,
    /// Rounds; medians count.
    pub rounds: usize,
    /// How long each query runs in a round, at least.
    pub turn: Duration,
    /// Seed of everything.
    pub seed: u64,
    /// Where the database goes; the folder for temporary files if there is none.
    pub folder: Option<PathBuf>,
    /// Where files, questions and answers are to be kept.
    pub export: Option<PathBuf>,
    /// The questions to ask, by key; all, if there are none.
    pub only: Vec<String>,
    /// Threads to compare one with, by the wall clock; nothing is compared with 1.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            persons: 100_000,
            asked: 100,
            rounds: 5,
            turn: Duration::from_millis(300),
            seed: 42,
            folder: None,
            export: None,
            only: Vec::new(),
            threads: 1,
        }
    }
}

/// What a run found.
#[derive(Debug)]
pub struct Outcome {
    report: Report,
    figures: Figures,
    title: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.report.machine().line())?;
        writeln!(f, "{}\n", self.title)?;
        self.figures.fmt(f)
    }
}

impl Outcome {
    /// All figures as JSON.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }
}

/// Runs the benchmark; `stage` is told what is done next.
///
/// # Errors
/// [`BenchError::Wrong`] if a query answers wrongly.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<Outcome, BenchError> {
    let temporary = match &options.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    stage("making the graph");
    let world = World::new(options.persons, options.seed);
    world.write_csv(temporary.path())?;
    stage("importing it");
    let db = world.load(temporary.path())?;
    stage("working out the answers");
    let mut rng = Rng::new(options.seed ^ 1);
    let mut questions = question::reads(&world, options.asked, &mut rng);
    let asked_for = |key: &str| options.only.is_empty() || options.only.iter().any(|k| k == key);
    questions.retain(|question| asked_for(question.key));
    if let Some(folder) = &options.export {
        export(&world, &questions, folder)?;
    }
    stage("comparing answers");
    // Processor time is that of one thread.
    let session = Session::new(&db).with_workers(Arc::new(Workers::new(1)));
    for question in &questions {
        check(&session, question)?;
    }
    let mut samples = vec![Samples::default(); questions.len() + 1];
    for round in 1..=options.rounds {
        stage(&format!("round {round} of {}", options.rounds));
        for (question, samples) in questions.iter().zip(&mut samples) {
            samples.push(turn(&session, question, options.turn)? * 1e3);
        }
        if asked_for(INSERT) {
            samples[questions.len()].push(inserts(&db, &world, round, options.turn)? * 1e3);
        }
    }
    let mut report = Report::new("cypher");
    report.parameter("persons", options.persons);
    report.parameter("relationships", world.graph.knows.len());
    report.parameter("asked", options.asked);
    report.parameter("rounds", options.rounds);
    report.parameter("seed", options.seed);
    report.parameter("threads", options.threads);
    let mut figures = Figures::default();
    for (question, samples) in questions.iter().zip(&samples) {
        report.figure(format!("{}/CPU_ms", question.key), samples.median());
        figures.push(question.what, samples.median(), question.bound());
    }
    if asked_for(INSERT) {
        let insert = samples[questions.len()].median();
        report.figure(format!("{INSERT}/CPU_ms"), insert);
        figures.push("durable single insert", insert, Bound::AtMost(0.08));
    }
    if options.threads > 1 {
        stage(&format!("one thread and {}, in turns", options.threads));
        questions.extend(asked_for("scan").then(|| threads::scan(&world)));
        let turns = (options.rounds, options.turn);
        for compared in threads::compare(&db, &questions, options.threads, turns)? {
            let (key, what) = (compared.key, compared.what);
            report.figure(format!("{key}/one_thread_ms"), compared.one_ms);
            report.figure(format!("{key}/threads_ms"), compared.several_ms);
            figures.push(format!("{what}: wall ms, 1 thread"), compared.one_ms, None);
            let by = format!("{what}: times as fast with {}", options.threads);
            figures.push(by, compared.ratio(), compared.bound(options.threads));
        }
    }
    let relationships = world.graph.knows.len();
    let title = format!(
        "{} persons, {relationships} relationships; CPU milliseconds per query, one client",
        options.persons
    );
    Ok(Outcome { report, figures, title })
}

/// The plans of all queries, by key, on a graph of so many persons.
///
/// # Errors
/// The graph cannot be made.
pub fn plans(persons: u32, seed: u64) -> Result<Vec<(&'static str, String)>, BenchError> {
    let folder = tempfile::tempdir()?;
    let world = World::new(persons, seed);
    world.write_csv(folder.path())?;
    let db = world.load(folder.path())?;
    let session = Session::new(&db);
    let questions = question::reads(&world, 1, &mut Rng::new(seed));
    let texts = questions.iter().map(|question| (question.key, question.text));
    let plan = |(key, text)| {
        let plan = session.run(&format!("EXPLAIN {text}"), &[]).map_err(failed)?.plan;
        Ok((key, plan.map_or_else(String::new, |plan| plan.to_string())))
    };
    texts.chain([(INSERT, CREATE)]).map(plan).collect()
}

/// Keeps the files, the questions and their answers.
fn export(world: &World, questions: &[Question], folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    world.write_csv(folder)?;
    let questions: Vec<_> = questions.iter().map(Question::to_json).collect();
    let text = serde_json::to_string(&json!({ "questions": questions }))?;
    std::fs::write(folder.join("questions.json"), text)
}

fn wrong(question: &Question, asked: &Asked, what: &dyn fmt::Display) -> BenchError {
    BenchError::Wrong(format!("{} with {:?}: {what}", question.text, asked.parameters))
}

fn failed(error: QueryError) -> BenchError {
    BenchError::Wrong(error.to_string())
}

fn check(session: &Session, question: &Question) -> Result<(), BenchError> {
    for asked in &question.asked {
        let result = session.run(question.text, &asked.parameters).map_err(failed)?;
        let (mut found, mut expected) = (result.rows, asked.rows.clone());
        if !question.ordered {
            found.sort_by_key(|row| format!("{row:?}"));
            expected.sort_by_key(|row| format!("{row:?}"));
        }
        let alike = |(a, b): (&Value, &Value)| match (a, b) {
            (Value::Float(a), Value::Float(b)) => (a - b).abs() <= b.abs() * 1e-12,
            (a, b) => a == b,
        };
        let rows_alike =
            |(a, b): (&Vec<Value>, &Vec<Value>)| a.len() == b.len() && a.iter().zip(b).all(alike);
        if found.len() != expected.len() || !found.iter().zip(&expected).all(rows_alike) {
            return Err(wrong(question, asked, &format!("{found:?}, expected {expected:?}")));
        }
    }
    Ok(())
}

/// Asks a question for some time; processor seconds of one query.
fn turn(session: &Session, question: &Question, time: Duration) -> Result<f64, BenchError> {
    let parameters: Vec<ValueMap> = question.asked.iter().map(Asked::map).collect();
    let (begun, cpu_s, mut queries) = (Instant::now(), process_cpu_s(), 0u32);
    while begun.elapsed() < time {
        for parameters in &parameters {
            let result = session.run_with(question.text, parameters).map_err(failed)?;
            std::hint::black_box(result);
        }
        queries += parameters.len() as u32;
    }
    Ok((process_cpu_s() - cpu_s) / f64::from(queries.max(1)))
}

/// Creates persons one by one, each on disk before the next, and removes them again; processor
/// seconds of one creation.
fn inserts(db: &Database, world: &World, round: usize, time: Duration) -> Result<f64, BenchError> {
    let session = Session::new(db);
    let first = 1_000_000_000 * round as i64;
    let mut parameters: ValueMap = [("name", "New"), ("city", "Oslo")]
        .into_iter()
        .map(|(key, value)| (key.into(), Value::from(value)))
        .collect();
    parameters.insert("age".into(), Value::Int(30));
    let (begun, cpu_s, mut created) = (Instant::now(), process_cpu_s(), 0);
    while begun.elapsed() < time {
        parameters.insert("id".into(), Value::Int(first + created));
        session.run_with(CREATE, &parameters).map_err(failed)?;
        created += 1;
    }
    let seconds = (process_cpu_s() - cpu_s) / created.max(1) as f64;
    let range = [("first", Value::Int(first))];
    let count = "MATCH (p:Person) WHERE p.id >= $first DELETE p RETURN count(*)";
    let removed = session.run(count, &range).map_err(failed)?.rows;
    if removed != [[Value::Int(created)]] {
        let message = format!("{created} persons created, {removed:?} found");
        return Err(BenchError::Wrong(message));
    }
    let count = session.run("MATCH (p:Person) RETURN count(*)", &[]).map_err(failed)?.rows;
    if count != [[Value::Int(world.graph.persons.len() as i64)]] {
        return Err(BenchError::Wrong(format!("{count:?} persons left")));
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_checks_its_answers_and_reports_every_figure() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            persons: 300,
            asked: 10,
            rounds: 1,
            turn: Duration::from_millis(1),
            export: Some(folder.path().to_owned()),
            threads: 2,
            ..Options::default()
        };
        let outcome = run(&options, &mut |_| {}).unwrap();
        // Nine, and of three hops, three aggregations and a scan the time and the ratio.
        assert_eq!(outcome.figures.len(), 9 + 2 * 5);
        assert!(outcome.figures.iter().all(|(_, value, _)| *value > 0.0));
        let text = std::fs::read_to_string(folder.path().join("questions.json")).unwrap();
        let questions: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(questions["questions"].as_array().map(Vec::len), Some(8));
        assert!(folder.path().join("knows.csv").is_file());
    }
}
