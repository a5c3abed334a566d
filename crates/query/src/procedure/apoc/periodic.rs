//! `apoc.periodic.*`: statements in transactions of their own, batch by batch.
//!
//! The transactions are begun beside that of the calling statement, and see what others have
//! committed. They do not see what its transaction has changed. Batches run one after the other,
//! also where `parallel` is asked for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use telar_graph::{Value, ValueMap};

use super::args::{self, failed, flag, integer};
use super::cypher::Maps;
use super::merge::stats;
use super::{Entry, Mode};
use crate::expr::print::quoted;
use crate::procedure::{CallContext, Rows};
use crate::query::Prepared;
use crate::query_error::{ErrorKind, QueryError};
use crate::result::Counters;

const W: Mode = Mode::Write;

/// Time between two tries of a batch that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

pub(super) const PROCEDURES: &[Entry] = &[
    (
        "apoc.periodic.iterate",
        W,
        "cypherIterate STRING; cypherAction STRING; config MAP",
        "batches INTEGER; total INTEGER; timeTaken INTEGER; committedOperations INTEGER; \
         failedOperations INTEGER; failedBatches INTEGER; retries INTEGER; errorMessages MAP; \
         batch MAP; operations MAP; wasTerminated BOOLEAN; failedParams MAP; updateStatistics MAP",
        "Runs a statement for the rows of another, so many rows in a transaction of their own.",
        iterate,
    ),
    (
        "apoc.periodic.commit",
        W,
        "statement STRING; params MAP = {}",
        "updates INTEGER; executions INTEGER; runtime INTEGER; batches INTEGER; \
         failedBatches INTEGER; batchErrors MAP; failedCommits INTEGER; commitErrors MAP; \
         wasTerminated BOOLEAN",
        "Runs a statement, each time in a transaction of its own, until it returns 0.",
        commit,
    ),
];

/// The result of the batches so far.
#[derive(Default)]
struct Done {
    batches: i64,
    total: i64,
    failed_batches: i64,
    failed_rows: i64,
    retries: i64,
    errors: BTreeMap<String, i64>,
    failed_params: BTreeMap<String, Value>,
    counters: Counters,
}

impl Done {
    fn errors(&self) -> Value {
        Value::map(self.errors.iter().map(|(text, count)| (text.as_str(), Value::Int(*count))))
    }

    /// `total`, `committed`, `failed` and `errors` of batches or rows.
    fn shares(&self, total: i64, failed: i64) -> Value {
        Value::map([
            ("total", Value::Int(total)),
            ("committed", Value::Int(total - failed)),
            ("failed", Value::Int(failed)),
            ("errors", self.errors()),
        ])
    }
}

/// The statement for a batch, and true if it takes the rows of the batch together as `$_batch`.
fn action(text: &str, columns: &[&str], mode: &str) -> (String, bool) {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    // A statement that names its parameters itself is given them row by row.
    if columns.iter().any(|name| folded.contains(&format!("${} as ", name.to_lowercase()))) {
        return (text.to_owned(), false);
    }
    let mapped = |of: fn(&str) -> String| {
        let items: Vec<String> =
            columns.iter().map(|name| format!("{} AS {}", of(name), quoted(name))).collect();
        match items.is_empty() {
            true => String::new(),
            false => format!("WITH {} ", items.join(", ")),
        }
    };
    match mode {
        "SINGLE" => (format!("{}{text}", mapped(|name| format!("${}", quoted(name)))), false),
        "BATCH_SINGLE" => (text.to_owned(), true),
        _ if folded.contains("unwind $_batch as ") => (text.to_owned(), true),
        _ => {
            let with = mapped(|name| format!("_batch.{}", quoted(name)));
            (format!("UNWIND $_batch AS _batch {with}{text}"), true)
        }
    }
}

fn iterate(call: &mut CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let name = "apoc.periodic.iterate";
    call.needs_transactions(name)?;
    let began = Instant::now();
    let rows_text = args::text(name, "cypherIterate", &arguments[0])?;
    let text = args::text(name, "cypherAction", &arguments[1])?;
    let config = args::map(&arguments[2]);
    let parameters = config.get("params").map(args::map).unwrap_or_default();
    let size = match integer(&config, "batchSize", 10_000) {
        size if size > 0 => usize::try_from(size).unwrap_or(usize::MAX),
        _ => return Err(failed(name, "batchSize must be greater than 0")),
    };
    let mut found = Maps::default();
    call.query(rows_text, &parameters, &mut found).map_err(|e| e.within(rows_text))?;
    let mode = match config.get("batchMode") {
        Some(Value::String(mode)) => mode.to_uppercase(),
        _ if flag(&config, "iterateList", true) => "BATCH".to_owned(),
        _ => "SINGLE".to_owned(),
    };
    let columns: Vec<&str> = found.names.iter().map(|name| &**name).collect();
    let (action, together) = action(text, &columns, &mode);
    let mut done = Done::default();
    let mut plan = None;
    for (number, rows) in found.maps.chunks(size).enumerate() {
        call.check()?;
        let mut given = parameters.clone();
        given.insert("_batch".into(), Value::list(rows.to_vec()));
        given.insert("_count".into(), Value::Int(rows.len() as i64));
        let plan = match &plan {
            Some(plan) => plan,
            None => plan.insert(planned(call, &action, &given, rows)?),
        };
        let sets: Vec<ValueMap> = match together {
            true => vec![given],
            false => rows.iter().map(|row| with_row(&parameters, row)).collect(),
        };
        let run = Batch { plan, sets: &sets, retries: integer(&config, "retries", 0) };
        let Err(error) = run.run(call, &mut done) else {
            done.batches += 1;
            done.total += rows.len() as i64;
            continue;
        };
        done.batches += 1;
        done.total += rows.len() as i64;
        done.failed_batches += 1;
        done.failed_rows += rows.len() as i64;
        *done.errors.entry(error.message).or_default() += 1;
        let kept = integer(&config, "failedParams", -1);
        if kept >= 0 {
            let rows = rows.iter().take(usize::try_from(kept).unwrap_or(0)).cloned();
            done.failed_params.insert(number.to_string(), Value::list(rows));
        }
    }
    let Done { batches, total, failed_batches, failed_rows, retries, .. } = done;
    Ok(vec![vec![
        batches.into(),
        total.into(),
        Value::Int(began.elapsed().as_secs() as i64),
        (total - failed_rows).into(),
        failed_rows.into(),
        failed_batches.into(),
        retries.into(),
        done.errors(),
        done.shares(batches, failed_batches),
        done.shares(total, failed_rows),
        false.into(),
        Value::map(done.failed_params),
        stats(&Counters::default(), &done.counters),
    ]])
}

fn with_row(parameters: &ValueMap, row: &Value) -> ValueMap {
    let mut given = parameters.clone();
    given.extend(args::map(row));
    given
}

/// The plan of an action, which is judged before the first batch runs.
fn planned(
    call: &mut CallContext<'_>,
    text: &str,
    given: &ValueMap,
    rows: &[Value],
) -> Result<std::sync::Arc<Prepared>, QueryError> {
    let mut all = given.clone();
    if let Some(row) = rows.first() {
        all.extend(args::map(row));
    }
    call.planned(text, &all).map_err(|e| e.within(text))
}

/// A plan that runs for sets of parameters in one transaction.
struct Batch<'b> {
    plan: &'b Prepared,
    sets: &'b [ValueMap],
    retries: i64,
}

impl Batch<'_> {
    fn run(&self, call: &mut CallContext<'_>, done: &mut Done) -> Result<(), QueryError> {
        let mut tries = 0;
        loop {
            let mut ignored = Maps::default();
            let error = match call.run_committed(self.plan, self.sets, &mut ignored) {
                Ok(counters) => {
                    done.counters.add(&counters);
                    return Ok(());
                }
                Err(error) => error,
            };
            if matches!(error.kind, ErrorKind::Terminated | ErrorKind::TimedOut) {
                call.check()?;
            }
            if tries >= self.retries {
                return Err(error);
            }
            tries += 1;
            done.retries += 1;
            call.check()?;
            std::thread::sleep(RETRY_PAUSE);
        }
    }
}

fn commit(call: &mut CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let name = "apoc.periodic.commit";
    call.needs_transactions(name)?;
    let began = Instant::now();
    let text = args::text(name, "the statement", &arguments[0])?;
    if !text.to_lowercase().contains("limit") {
        return Err(failed(name, "the statement must contain a LIMIT, or it would never end"));
    }
    let sets = [args::map(&arguments[1])];
    let plan = call.planned(text, &sets[0]).map_err(|e| e.within(text))?;
    let (mut updates, mut executions, mut errors) = (0_i64, 0_i64, BTreeMap::new());
    loop {
        call.check()?;
        let mut found = Maps::default();
        match call.run_committed(&plan, &sets, &mut found) {
            Ok(_) => {}
            Err(error) => {
                errors.insert(error.message, Value::Int(1));
                break;
            }
        }
        executions += 1;
        let first = found.maps.first().and_then(|row| match row {
            Value::Map(row) => row.values().next().cloned(),
            _ => None,
        });
        match first {
            Some(Value::Int(count)) if count > 0 => updates += count,
            _ => break,
        }
    }
    let failed = errors.len() as i64;
    Ok(vec![vec![
        updates.into(),
        executions.into(),
        Value::Int(began.elapsed().as_secs() as i64),
        executions.into(),
        failed.into(),
        Value::map(errors),
        0_i64.into(),
        Value::map::<&str, Value>([]),
        false.into(),
    ]])
}
