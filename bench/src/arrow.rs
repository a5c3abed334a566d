//! Results as Arrow record batches: the benchmark behind `telar bench arrow`.
//!
//! The same results are made twice, in turns: from typed columns (`telar_arrow`), and value by
//! value, as a program does that reads rows. Both are compared, value by value, before anything is
//! timed. Queries run on one thread; figures are its processor time.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, LargeStringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use telar_db::query::{QueryError, Rows, Sink};
use telar_db::{Database, Session, Value, ValueMap, Workers};

use crate::figures::{Bound, Figures};
use crate::measure::{Samples, time};
use crate::report::Report;

/// Sizes of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Nodes, each with five properties.
    pub nodes: u64,
    /// Rounds; medians count.
    pub rounds: usize,
}

/// An error, as text.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Results of all nodes, and times faster than value by value that each is to be.
const QUESTIONS: [(&str, &str, Option<f64>); 4] = [
    (
        "five properties",
        "MATCH (p:Person) \
         RETURN p.id AS id, p.age AS age, p.score AS score, p.name AS name, p.city AS city",
        Some(4.0),
    ),
    ("three numbers", "MATCH (p:Person) RETURN p.id AS id, p.age AS age, p.score AS score", None),
    ("two texts", "MATCH (p:Person) RETURN p.name AS name, p.city AS city", None),
    (
        "numbers, half of them null",
        "MATCH (p:Person) RETURN p.id AS id, p.half AS half, p.half * 2 AS twice",
        None,
    ),
];

/// Nodes that are made in one transaction.
const STEP: u64 = 100_000;

fn load(nodes: u64) -> Result<Database, Failed> {
    let db = telar_db::open_in_memory()?;
    let session = Session::new(&db);
    for from in (0..nodes).step_by(STEP as usize) {
        let to = nodes.min(from + STEP) - 1;
        let text = "UNWIND range($from, $to) AS n CREATE (:Person {id: n, age: n % 90, \
                    score: n / 8.0, name: 'name ' + n, city: 'city ' + (n % 500), \
                    half: CASE WHEN n % 2 = 0 THEN n END})";
        let bounds = [("from", Value::Int(from as i64)), ("to", Value::Int(to as i64))];
        session.run(text, &bounds)?;
    }
    db.settle();
    Ok(db)
}

/// Value by value: the rows of each batch as lists of values, and arrays of these.
#[derive(Default)]
struct ByValue {
    columns: usize,
    arrays: Vec<Vec<ArrayRef>>,
}

fn array(values: &[Value]) -> ArrayRef {
    let float = |value: &Value| match value {
        Value::Float(x) => Some(*x),
        _ => None,
    };
    let int = |value: &Value| match value {
        Value::Int(x) => Some(*x),
        _ => None,
    };
    match values.iter().find(|value| !value.is_null()) {
        Some(Value::String(_)) => {
            let mut texts = LargeStringBuilder::new();
            for value in values {
                texts.append_option(match value {
                    Value::String(text) => Some(text),
                    _ => None,
                });
            }
            Arc::new(texts.finish())
        }
        Some(Value::Float(_)) => {
            let mut floats = Float64Builder::new();
            values.iter().for_each(|value| floats.append_option(float(value)));
            Arc::new(floats.finish())
        }
        _ => {
            let mut ints = Int64Builder::new();
            values.iter().for_each(|value| ints.append_option(int(value)));
            Arc::new(ints.finish())
        }
    }
}

impl Sink for ByValue {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.columns = columns.len();
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        let column = |at| (0..rows.len()).map(|row| rows.get(row, at)).collect::<Vec<_>>();
        let values: Vec<Vec<Value>> = (0..self.columns).map(column).collect();
        self.arrays.push(values.iter().map(|values| array(values)).collect());
        Ok(())
    }
}

fn by_value(session: &Session, text: &str) -> Result<Vec<Vec<ArrayRef>>, QueryError> {
    let mut sink = ByValue::default();
    session.stream(text, &ValueMap::new(), &mut sink)?;
    Ok(sink.arrays)
}

/// An error if both ways give different rows.
fn check(batches: &[RecordBatch], by_value: &[Vec<ArrayRef>], nodes: u64) -> Result<(), Failed> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if rows as u64 != nodes {
        return Err(format!("{rows} rows of {nodes} nodes").into());
    }
    let mut parts = by_value.iter();
    for batch in batches {
        let mut at = 0;
        while at < batch.num_rows() {
            let part = parts.next().ok_or("there are fewer rows value by value")?;
            let len = part[0].len();
            if batch.slice(at, len).columns() != &part[..] {
                return Err("both ways give different values".into());
            }
            at += len;
        }
    }
    Ok(())
}

/// Runs the benchmark; `stage` is told what is done next.
///
/// # Errors
/// If both ways give different results, and those of the database.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<(Report, Figures), Failed> {
    stage("making nodes");
    let db = load(options.nodes)?;
    let session = Session::new(&db).with_workers(Arc::new(Workers::new(1)));
    stage("comparing");
    for (_, text, _) in QUESTIONS {
        let (_, batches) = telar_arrow::collect(&session, text, &[])?;
        check(&batches, &by_value(&session, text)?, options.nodes)?;
    }
    let mut samples = vec![[Samples::default(), Samples::default()]; QUESTIONS.len()];
    let mut whole = Samples::default();
    for round in 1..=options.rounds {
        stage(&format!("round {round} of {}", options.rounds));
        for ((_, text, _), [columns, values]) in QUESTIONS.iter().zip(&mut samples) {
            // Each way also comes second, in memory that the other one has used before.
            for second in [false, true] {
                if second == (round % 2 == 0) {
                    let (done, elapsed) = time(|| telar_arrow::collect(&session, text, &[]));
                    done?;
                    columns.push(elapsed.cpu_s);
                } else {
                    let (done, elapsed) = time(|| by_value(&session, text));
                    done?;
                    values.push(elapsed.cpu_s);
                }
            }
        }
    }
    stage("whole nodes, as JSON");
    for _ in 0..options.rounds {
        let text = "MATCH (p:Person) RETURN p";
        let (done, elapsed) = time(|| telar_arrow::collect(&session, text, &[]));
        done?;
        whole.push(elapsed.cpu_s);
    }
    let mut report = Report::new("arrow");
    report.parameter("nodes", options.nodes);
    report.parameter("rounds", options.rounds);
    let mut figures = Figures::default();
    for ((what, _, wanted), [columns, values]) in QUESTIONS.iter().zip(&samples) {
        let (columns, values) = (columns.median(), values.median());
        report.figure(format!("{what}/CPU_s"), columns);
        report.figure(format!("{what}/value_by_value"), values / columns);
        figures.push(format!("{what}, CPU s"), columns, None);
        let ratio = format!("{what}, value by value takes times as long");
        figures.push(ratio, values / columns, wanted.map(Bound::AtLeast));
    }
    report.figure("nodes as JSON/CPU_s", whole.median());
    figures.push("nodes as JSON, CPU s", whole.median(), None);
    Ok((report, figures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree_and_are_measured() {
        let options = Options { nodes: 3_000, rounds: 1 };
        let (_, figures) = run(&options, &mut |_| {}).unwrap();
        assert_eq!(figures.len(), 2 * QUESTIONS.len() + 1);
        assert!(figures.iter().all(|(_, figure, _)| *figure > 0.0));
    }

    #[test]
    fn a_difference_is_seen() {
        let db = load(2_000).unwrap();
        let session = Session::new(&db);
        let ids = "MATCH (p:Person) RETURN p.id AS id";
        let (_, batches) = telar_arrow::collect(&session, ids, &[]).unwrap();
        let others = by_value(&session, "MATCH (p:Person) RETURN p.age AS id").unwrap();
        assert!(check(&batches, &others, 2_000).is_err());
        assert!(check(&batches, &by_value(&session, ids).unwrap(), 2_001).is_err());
    }
}
