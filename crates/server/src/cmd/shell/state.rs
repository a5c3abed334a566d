//! What the shell knows between two statements, and how it runs one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use telar_db::query::{QueryError, QueryResult, cypher};
use telar_db::{Database, QueryTransaction, Session, ValueMap};

use super::command;
use super::output::{self, Format};
use super::pager;

/// The shell between two statements.
pub(crate) struct State<'s, 'd> {
    pub(crate) db: &'d Database,
    session: &'s Session<'d>,
    transaction: Option<QueryTransaction<'s, 'd>>,
    pub(crate) parameters: ValueMap,
    pub(crate) format: Format,
    pub(crate) timing: bool,
    pub(crate) paging: bool,
}

impl<'s, 'd> State<'s, 'd> {
    pub(crate) fn new(db: &'d Database, session: &'s Session<'d>, format: Format) -> Self {
        let (parameters, timing, paging) = (ValueMap::new(), true, true);
        Self { db, session, transaction: None, parameters, format, timing, paging }
    }

    pub(crate) fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        if self.in_transaction() {
            bail!("a transaction is open already");
        }
        self.transaction = Some(self.session.begin()?);
        Ok(())
    }

    pub(crate) fn commit(&mut self) -> anyhow::Result<()> {
        let transaction = self.transaction.take().context("no transaction is open")?;
        transaction.commit()?;
        Ok(())
    }

    pub(crate) fn rollback(&mut self) -> anyhow::Result<()> {
        let transaction = self.transaction.take().context("no transaction is open")?;
        transaction.rollback();
        Ok(())
    }

    fn query(&mut self, text: &str) -> Result<QueryResult, QueryError> {
        match &mut self.transaction {
            Some(transaction) => transaction.run(text, &self.parameters),
            None => self.session.run_with(text, &self.parameters),
        }
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
        let result = self.session.run_with(&query, &self.parameters)?;
        let value = result.rows.into_iter().flatten().next().unwrap_or_default();
        self.parameters.insert(Arc::from(name), value);
        Ok(())
    }

    /// Runs statements and commands, and stops at the first that fails.
    pub(crate) fn run_script(&mut self, text: &str) -> anyhow::Result<()> {
        for piece in pieces(text) {
            match piece {
                Piece::Command(line) => {
                    if command::run(line, self)? == command::Next::Quit {
                        return Ok(());
                    }
                }
                Piece::Statement(text) => self.run_statement(text)?,
            }
        }
        Ok(())
    }

    /// Runs one statement and shows its result.
    pub(crate) fn run_statement(&mut self, text: &str) -> anyhow::Result<()> {
        let begun = Instant::now();
        let result = self.query(text).map_err(|e| anyhow!("{}", describe(&e)))?;
        let took = begun.elapsed();
        let shown = output::render(&result, self.format)?;
        pager::show(&shown, self.paging)?;
        if let Some(plan) = &result.plan
            && !result.rows.is_empty()
        {
            // Rows may be for a program; what PROFILE measured is for people.
            eprintln!("{plan}");
        }
        for notification in &result.notifications {
            eprintln!("{}: {}", notification.kind.severity().to_lowercase(), notification.message);
        }
        if self.timing && self.format == Format::Table {
            eprintln!("{}", summary(&result, took));
        }
        Ok(())
    }
}

/// An error with its code, place and excerpt, on several lines.
fn describe(error: &QueryError) -> String {
    format!("{error}\n[{}]", error.code())
}

/// `3 rows, 2 nodes created, in 1.2 ms`
fn summary(result: &QueryResult, took: Duration) -> String {
    let mut parts = Vec::new();
    let mut count = |n: u64, what: &str| {
        if n > 0 {
            parts.push(format!("{n} {what}"));
        }
    };
    let c = &result.counters;
    count(c.nodes_created, "nodes created");
    count(c.nodes_deleted, "nodes deleted");
    count(c.relationships_created, "relationships created");
    count(c.relationships_deleted, "relationships deleted");
    count(c.properties_set, "properties set");
    count(c.labels_added, "labels added");
    count(c.labels_removed, "labels removed");
    count(c.indexes_added, "indexes created");
    count(c.indexes_removed, "indexes dropped");
    count(c.constraints_added, "constraints created");
    count(c.constraints_removed, "constraints dropped");
    let rows = result.rows.len();
    if !result.columns.is_empty() || parts.is_empty() {
        parts.insert(0, format!("{rows} row{}", if rows == 1 { "" } else { "s" }));
    }
    format!("{}, in {:.1} ms", parts.join(", "), took.as_secs_f64() * 1e3)
}

/// A part of a script.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'t> {
    /// A line that begins with a colon.
    Command(&'t str),
    /// A statement without its semicolon.
    Statement(&'t str),
}

/// Cuts a script into statements, which semicolons end, and commands, which stand on lines of
/// their own between statements.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = without_comments(rest);
        if rest.is_empty() {
            return found;
        }
        if rest.starts_with(':') {
            let end = rest.find('\n').unwrap_or(rest.len());
            found.push(Piece::Command(rest[..end].trim_end()));
            rest = &rest[end..];
            continue;
        }
        // One look at the text for all statements up to the next command.
        let mut end = None;
        for statement in cypher::split(rest) {
            let text = &rest[statement.range()];
            if text.starts_with(':') {
                break;
            }
            found.push(Piece::Statement(text));
            end = Some(statement.range().end);
        }
        let Some(end) = end else { return found };
        rest = rest[end..].find(';').map_or("", |at| &rest[end + at + 1..]);
    }
}

/// The text from its first word on.
fn without_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let end = match text.get(..2) {
            Some("//") => text.find('\n'),
            Some("/*") => text.find("*/").map(|at| at + 2),
            _ => return text,
        };
        text = &text[end.unwrap_or(text.len())..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_cut_at_semicolons_and_commands_at_lines() {
        let text =
            ":param a => 1\nRETURN ';' AS x; // end;\n:begin\nCREATE (n)\n  SET n.x = 1;\nRETURN 2";
        let expected = [
            Piece::Command(":param a => 1"),
            Piece::Statement("RETURN ';' AS x"),
            Piece::Command(":begin"),
            Piece::Statement("CREATE (n)\n  SET n.x = 1"),
            Piece::Statement("RETURN 2"),
        ];
        let found = pieces(text);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert_eq!(found[0], expected[0]);
        assert_eq!(found[1], expected[1]);
        assert_eq!(found[4], expected[4]);
    }
}
