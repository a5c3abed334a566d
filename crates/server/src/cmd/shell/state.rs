//! What the shell knows between two statements, and how it runs one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use telar_db::ValueMap;
use telar_server::bolt::client::Answer;

use super::backend::Backend;
use super::command;
use super::interrupt::Interrupt;
use super::output::{self, Format, Layout};
use super::pager;
use super::script::{Piece, Place, Trouble, pieces};
use super::table;

/// What ends a statement that is to be shown with a line per value.
pub(crate) const VERTICAL: &str = "\\G";

/// The shell between two statements.
pub(crate) struct State {
    pub(crate) backend: Backend,
    pub(crate) parameters: ValueMap,
    pub(crate) format: Format,
    pub(crate) layout: Layout,
    pub(crate) timing: bool,
    pub(crate) paging: bool,
    interrupt: Interrupt,
    /// Names that can stand in a query, for completion; none if they may have changed.
    names: Option<[Vec<String>; 3]>,
}

impl State {
    pub(crate) fn new(backend: Backend, format: Format, interrupt: Interrupt) -> Self {
        let (parameters, layout, timing, paging) = (ValueMap::new(), Layout::Auto, true, true);
        Self { backend, parameters, format, layout, timing, paging, interrupt, names: None }
    }

    pub(crate) fn in_transaction(&self) -> bool {
        self.backend.in_transaction()
    }

    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        if self.in_transaction() {
            bail!("a transaction is open already");
        }
        told(self.backend.begin())
    }

    pub(crate) fn commit(&mut self) -> anyhow::Result<()> {
        self.expect_transaction()?;
        self.names = None;
        let Self { interrupt, backend, .. } = self;
        told(interrupt.during(|| backend.commit()))
    }

    pub(crate) fn rollback(&mut self) -> anyhow::Result<()> {
        self.expect_transaction()?;
        told(self.backend.rollback())
    }

    fn expect_transaction(&self) -> anyhow::Result<()> {
        if self.in_transaction() { Ok(()) } else { bail!("no transaction is open") }
    }

    /// Runs a statement; Ctrl-C ends it.
    pub(crate) fn query(&mut self, text: &str) -> Result<Answer, Trouble> {
        let Self { interrupt, backend, parameters, .. } = self;
        let answer = interrupt.during(|| backend.run(text, parameters))?;
        if answer.counters.any() {
            self.names = None;
        }
        Ok(answer)
    }

    /// The names of labels, relationship types and property keys; none while they cannot be had.
    pub(crate) fn names(&mut self) -> [Vec<String>; 3] {
        // On a server that would be statements of the transaction, and a failure would end it.
        if self.names.is_none() && !self.in_transaction() {
            let Self { interrupt, backend, .. } = self;
            self.names = interrupt.during(|| backend.names()).ok();
        }
        self.names.clone().unwrap_or_default()
    }

    /// Asks for the names again when they are needed next.
    pub(crate) fn forget_names(&mut self) {
        self.names = None;
    }

    /// Sets a parameter from `name=>expression`, or as `:param` writes it, `name => expression`.
    pub(crate) fn set_parameter(&mut self, text: &str) -> anyhow::Result<()> {
        let form = || anyhow!("a parameter is given as NAME=>EXPRESSION, not {text:?}");
        let (name, expression) = text.split_once("=>").ok_or_else(form)?;
        let name = name.trim().trim_start_matches('$').trim_matches('`');
        if name.is_empty() {
            return Err(form());
        }
        let query = format!("RETURN {} AS value", expression.trim().trim_end_matches(';'));
        let answer = told(self.query(&query))?;
        let value = answer.rows.into_iter().flatten().next().unwrap_or_default();
        self.parameters.insert(Arc::from(name), value);
        Ok(())
    }

    /// Runs statements and commands of a file, or of what was typed, and stops at the first that
    /// fails.
    pub(crate) fn run_script(&mut self, text: &str, file: Option<&str>) -> anyhow::Result<()> {
        for (begins, piece) in pieces(text) {
            let place = Place::of(file, text, begins);
            match piece {
                Piece::Command(line) => {
                    let done = command::run(line, self).map_err(|error| match file {
                        Some(file) => anyhow!("{file}:{}: {error:#}", place.line),
                        None => error,
                    });
                    if done? == command::Next::Quit {
                        return Ok(());
                    }
                }
                Piece::Statement(text) => self.run_statement(text, place)?,
            }
        }
        Ok(())
    }

    /// Runs one statement, which begins at `place`, and shows its result.
    pub(crate) fn run_statement(&mut self, text: &str, place: Place<'_>) -> anyhow::Result<()> {
        let (text, layout) = match text.trim_end().strip_suffix(VERTICAL) {
            Some(text) => (text, Layout::Vertical),
            None => (text, self.layout),
        };
        let begun = Instant::now();
        let answer = self.query(text).map_err(|trouble| anyhow!("{}", trouble.shown(place)))?;
        let took = begun.elapsed();
        let shown = output::render(&answer, self.format, layout, table::terminal_width())?;
        if pager::is_wanted(&shown.text, self.paging) {
            // Who ends the pager does not want to end the shell.
            self.interrupt.elsewhere(|| pager::show(&shown.text))?;
        } else {
            pager::print(&shown.text)?;
        }
        if let Some(plan) = &answer.plan
            && !answer.rows.is_empty()
        {
            // Rows may be for a program; what PROFILE measured is for people.
            eprintln!("{plan}");
        }
        for remark in &answer.remarks {
            eprintln!("{}: {}", remark.severity.to_lowercase(), remark.message);
        }
        if self.timing && self.format == Format::Table {
            let cut = if shown.cut { "; cut to fit: end with \\G to see all" } else { "" };
            eprintln!("{}{cut}", summary(&answer, took));
        }
        Ok(())
    }
}

/// What came of something that has no place in a script.
fn told<T>(done: Result<T, Trouble>) -> anyhow::Result<T> {
    done.map_err(|trouble| {
        let place = Place { file: None, line: 1, column: 1 };
        anyhow!("{}", trouble.shown(place))
    })
}

/// `3 rows, 2 nodes created, in 1.2 ms`
fn summary(answer: &Answer, took: Duration) -> String {
    let c = &answer.counters;
    let counts = [
        (c.nodes_created, "node created", "nodes created"),
        (c.nodes_deleted, "node deleted", "nodes deleted"),
        (c.relationships_created, "relationship created", "relationships created"),
        (c.relationships_deleted, "relationship deleted", "relationships deleted"),
        (c.properties_set, "property set", "properties set"),
        (c.labels_added, "label added", "labels added"),
        (c.labels_removed, "label removed", "labels removed"),
        (c.indexes_added, "index created", "indexes created"),
        (c.indexes_removed, "index dropped", "indexes dropped"),
        (c.constraints_added, "constraint created", "constraints created"),
        (c.constraints_removed, "constraint dropped", "constraints dropped"),
        (c.system_updates, "change of the server", "changes of the server"),
    ];
    let counted =
        |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let mut parts: Vec<String> = counts
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| counted(n, one, many))
        .collect();
    if !answer.columns.is_empty() || parts.is_empty() {
        parts.insert(0, counted(answer.rows.len() as u64, "row", "rows"));
    }
    format!("{}, in {:.1} ms", parts.join(", "), took.as_secs_f64() * 1e3)
}

#[test]
fn what_there_is_one_of_is_said_in_the_singular() {
    let mut answer = Answer::default();
    let c = &mut answer.counters;
    (c.nodes_created, c.relationships_created, c.properties_set) = (1, 1, 2);
    (c.labels_added, c.indexes_added) = (1, 1);
    let said = summary(&answer, Duration::from_micros(1200));
    let expected = "1 node created, 1 relationship created, 2 properties set, 1 label added, \
                    1 index created, in 1.2 ms";
    assert_eq!(said, expected);
    answer.columns = vec!["x".into()];
    answer.rows = vec![Vec::new()];
    assert!(summary(&answer, Duration::ZERO).starts_with("1 row, 1 node"), "and rows");
}
