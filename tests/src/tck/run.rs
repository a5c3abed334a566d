//! One scenario against one subject.

use super::compare::compare;
use super::step::{ExpectedError, Step};
use super::subject::{Effects, Failure, Rows, Subject};
use super::suite::{Graphs, Scenario};
use super::value::Entries;

/// What became of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it passed, or what was wrong.
    pub result: Result<(), String>,
    /// For a scenario that expects an error, how far the error was the expected one.
    pub error: Option<ErrorMatch>,
}

/// How far an error was the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorMatch {
    /// There was one.
    pub raised: bool,
    /// It came when it should.
    pub phase: bool,
    /// It is of the right type.
    pub kind: bool,
    /// It has the right detail word.
    pub detail: bool,
}

/// Runs a scenario on a subject whose graph is empty.
pub fn run(scenario: &Scenario, graphs: &Graphs, subject: &mut dyn Subject) -> Outcome {
    let mut run = Run {
        graphs,
        subject,
        parameters: Entries::new(),
        last: None,
        effects: Effects::default(),
        error: None,
    };
    let result = scenario.steps.iter().try_for_each(|step| run.step(step));
    Outcome { result, error: run.error }
}

struct Run<'r> {
    graphs: &'r Graphs,
    subject: &'r mut dyn Subject,
    parameters: Entries,
    /// What the last query gave.
    last: Option<Result<Rows, Failure>>,
    /// What the tested query did.
    effects: Effects,
    error: Option<ErrorMatch>,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::EmptyGraph => Ok(()),
            Step::NamedGraph(name) => {
                let scripts = self.graphs.get(name).ok_or_else(|| format!("no graph {name}"))?;
                scripts.iter().try_for_each(|script| self.prepare(script))
            }
            Step::Execute(query) => self.prepare(query),
            Step::Parameters(parameters) => {
                self.parameters.extend(parameters.clone());
                Ok(())
            }
            Step::Procedure(procedure) => self.subject.register(procedure),
            Step::Query(query) => {
                let before = self.subject.state()?;
                self.last = Some(self.subject.run(query, &self.parameters));
                self.effects = Effects::between(&before, &self.subject.state()?);
                Ok(())
            }
            Step::ControlQuery(query) => {
                self.rows()?;
                self.last = Some(self.subject.run(query, &self.parameters));
                Ok(())
            }
            Step::Rows(expected) => compare(expected, self.rows()?),
            Step::Empty => match self.rows()?.rows.len() {
                0 => Ok(()),
                n => Err(format!("rows: want none, got {n}")),
            },
            Step::Effects(expected) => {
                self.rows()?;
                if *expected == self.effects {
                    return Ok(());
                }
                Err(format!("side effects: want {expected}, got {}", self.effects))
            }
            Step::Error(expected) => self.check_error(expected),
        }
    }

    fn prepare(&mut self, query: &str) -> Result<(), String> {
        let done = self.subject.run(query, &self.parameters);
        done.map(drop).map_err(|failure| format!("preparing the graph failed: {failure}"))
    }

    fn rows(&self) -> Result<&Rows, String> {
        match &self.last {
            Some(Ok(rows)) => Ok(rows),
            Some(Err(failure)) => Err(format!("unexpected {failure}")),
            None => Err("no query was run".to_owned()),
        }
    }

    /// An error in the right phase that left the graph as it was passes; type and detail are noted.
    fn check_error(&mut self, expected: &ExpectedError) -> Result<(), String> {
        let ExpectedError { kind, phase, detail } = expected;
        let when = phase.map_or("any time".to_owned(), |phase| phase.to_string());
        let want = format!("want {kind} at {when}: {detail}");
        let found = self.error.insert(ErrorMatch::default());
        let failure = match &self.last {
            Some(Err(failure)) => failure,
            Some(Ok(rows)) => return Err(format!("no error, {} rows; {want}", rows.rows.len())),
            None => return Err("no query was run".to_owned()),
        };
        *found = ErrorMatch {
            raised: true,
            phase: phase.is_none_or(|phase| phase == failure.phase),
            kind: same_kind(kind, &failure.kind),
            detail: detail == "*" || *detail == failure.detail,
        };
        if !found.phase {
            return Err(format!("{want}; got {failure}"));
        }
        if self.effects != Effects::default() {
            return Err(format!("the failed query had side effects: {}", self.effects));
        }
        Ok(())
    }
}

/// Whether a type of the TCK is what an implementation with Neo4j's codes calls so.
fn same_kind(want: &str, got: &str) -> bool {
    let also: &[&str] = match want {
        "ConstraintVerificationFailed" => &["ConstraintValidationFailed"],
        "ProcedureError" => &["ProcedureNotFound", "ProcedureCallFailed"],
        _ => &[],
    };
    want == got || also.contains(&got)
}
