//! How far what plans expect is from what happens, and how long planning takes.
//!
//! ```text
//! cargo test --release -p telar-tests --test snb -- --ignored --nocapture estimates
//! ```
//!
//! Each read is profiled with its first sets of parameters. Of operators that find more than 100
//! rows, or were expected to, those are shown whose expectation is off by more than ten times.

use telar_bench::measure::{Samples, time};
use telar_bench::snb::{ANSWERS, Expected, READS};
use telar_db::Session;
use telar_db::query::{PlanDescription, prepare};

/// Sets of parameters that are profiled.
const SETS: usize = 3;
/// Rows below which nobody minds.
const ROWS_MIN: f64 = 100.0;
/// What counts as far off.
const TIMES: f64 = 10.0;
/// How often each text is planned.
const PLANS: usize = 31;

/// What was seen so far.
#[derive(Default)]
struct Seen {
    operators: usize,
    off: Vec<String>,
}

impl Seen {
    /// Looks at a plan that was run `outer` times.
    fn take(&mut self, name: &str, plan: &PlanDescription, outer: f64) {
        let found = rows(plan);
        let expected = plan.estimated_rows * outer;
        if found.max(expected) > ROWS_MIN && plan.operator != "Argument" {
            self.operators += 1;
            let times = found.max(1.0) / expected.max(1.0);
            if !(1.0 / TIMES..=TIMES).contains(&times) {
                let (operator, details) = (plan.operator, &plan.details);
                let details: String = details.chars().take(60).collect();
                let line = format!("{name:<11} {expected:>10.0} {found:>10}  {operator} {details}");
                self.off.push(line);
            }
        }
        for (at, child) in plan.children.iter().enumerate() {
            // A plan inside runs for each row that its beginning hands on.
            let runs = if at == 0 { None } else { argument(child) };
            self.take(name, child, runs.unwrap_or(outer));
        }
    }
}

fn rows(plan: &PlanDescription) -> f64 {
    plan.measured.map_or(0, |m| m.rows) as f64
}

/// The rows from outside that a plan begins with, if it does with those.
fn argument(plan: &PlanDescription) -> Option<f64> {
    match plan.children.first() {
        Some(first) => argument(first),
        None => (plan.operator == "Argument").then(|| rows(plan)),
    }
}

#[test]
#[ignore = "reports; run it in a release build"]
fn estimates() {
    let Some((archive, db)) = super::loaded("sf0.1-gen") else { return };
    let queries = super::queries();
    let expected = Expected::read(&archive, ANSWERS).unwrap();
    let session = Session::new(&db);
    let mut seen = Seen::default();
    let mut slowest = (0.0, "");
    for (name, _) in READS {
        let text = queries.text(name).unwrap();
        for parameters in expected.parameters(name).unwrap().iter().take(SETS) {
            let profile = format!("PROFILE {text}");
            let result = session.run_with(&profile, parameters).unwrap();
            seen.take(name, &result.plan.unwrap(), 1.0);
        }
        let reader = db.reader().unwrap();
        let mut samples = Samples::default();
        for _ in 0..PLANS {
            let (plan, elapsed) = time(|| prepare(text, &reader, session.runtime().procedures()));
            plan.unwrap();
            samples.push(elapsed.cpu_s);
        }
        println!("{name:<11} planned in {:>8.3} ms", samples.median() * 1e3);
        if samples.median() > slowest.0 {
            slowest = (samples.median(), name);
        }
    }
    println!("query         expected      found  operator");
    seen.off.iter().for_each(|line| println!("{line}"));
    println!("{} of {} operators are off by more than {TIMES}", seen.off.len(), seen.operators);
    println!("slowest to plan: {} in {:.3} ms", slowest.1, slowest.0 * 1e3);
}
