//! Reads of the past: a statement as `AT TIMESTAMP` has it.

use telar_db::Value;
use telar_db::query::cypher::ast::StatementKind;
use telar_db::query::cypher::parse;
use telar_db::query::{Position, QueryError};

use super::failure::Failure;

/// The parameter that says when; its name has a blank, which other names rarely have.
const PARAMETER: &str = "telar at";

/// A state of the graph in the past.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Past {
    /// As of a commit.
    Commit(i64),
    /// As of a time in the form of ISO 8601.
    Time(String),
}

/// A statement that is to read a state of the past.
#[derive(Debug)]
pub(crate) struct AsOf<'t> {
    /// The statement as it was given.
    given: &'t str,
    /// The statement as it runs.
    pub(crate) text: String,
    /// Bytes before the addition.
    before: usize,
    /// Bytes of the addition.
    added: usize,
}

impl Past {
    /// The parameter that the statement needs.
    pub(crate) fn parameter(&self) -> (&'static str, Value) {
        let value = match self {
            Self::Commit(commit) => (*commit).into(),
            Self::Time(time) => time.as_str().into(),
        };
        (PARAMETER, value)
    }

    /// A statement, as of this state.
    ///
    /// # Errors
    /// If it says when itself, or is a command, which reads the present only.
    pub(crate) fn of<'t>(&self, given: &'t str) -> Result<AsOf<'t>, Failure> {
        let unchanged = || AsOf { given, text: given.to_owned(), before: 0, added: 0 };
        // Syntax errors are told when the statement runs.
        let Ok(statement) = parse(given) else { return Ok(unchanged()) };
        let query = match &statement.kind {
            StatementKind::Query { at: None, query } => query,
            StatementKind::Query { at: Some(_), .. } => {
                return Err(Failure::new("the query says AT TIMESTAMP itself: leave 'at' out"));
            }
            _ => return Err(Failure::new("commands read the present only: leave 'at' out")),
        };
        let before = query.span.range().start;
        // The line break leaves excerpts of the text as they are.
        let addition = match self {
            Self::Commit(_) => format!("AT TIMESTAMP $`{PARAMETER}`\n"),
            Self::Time(_) => format!("AT TIMESTAMP datetime($`{PARAMETER}`)\n"),
        };
        let text = [&given[..before], &addition, &given[before..]].concat();
        Ok(AsOf { given, text, before, added: addition.len() })
    }
}

impl AsOf<'_> {
    /// An error of the statement that ran, with the place that it has in the one that was given.
    pub(crate) fn placed(&self, mut error: QueryError) -> QueryError {
        if let Some(position) = &mut error.position
            && position.offset >= self.before + self.added
        {
            *position = Position::of(self.given, position.offset - self.added);
        }
        error
    }

    /// The same for an error that is text: it ends its first line with its place.
    pub(crate) fn placed_text(&self, message: &mut String) {
        let Some((start, line, column)) = place_in(message) else { return };
        // The line that the addition broke begins behind it.
        let broken = self.given[..self.before].matches('\n').count() + 1;
        let line_start = self.given[..self.before].rfind('\n').map_or(0, |at| at + 1);
        let indent = self.given[line_start..self.before].chars().count();
        if self.added == 0 || line <= broken {
            return;
        }
        let column = if line == broken + 1 { column + indent } else { column };
        let end = message[start..].find(')').map_or(message.len(), |at| start + at + 1);
        message.replace_range(start..end, &format!("(line {}, column {column})", line - 1));
    }
}

/// The place that an error names, and where it names it.
fn place_in(message: &str) -> Option<(usize, usize, usize)> {
    let start = message.find("(line ")?;
    let inside = message[start + 6..].split(')').next()?;
    let (line, column) = inside.split_once(", column ")?;
    Some((start, line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_of(text: &str) -> String {
        Past::Commit(7).of(text).unwrap().text
    }

    #[test]
    fn the_addition_stands_behind_what_must_come_first() {
        assert_eq!(as_of("RETURN 1"), "AT TIMESTAMP $`telar at`\nRETURN 1");
        let explained = as_of("EXPLAIN\n MATCH (n) RETURN n");
        assert_eq!(explained, "EXPLAIN\n AT TIMESTAMP $`telar at`\nMATCH (n) RETURN n");
        assert_eq!(as_of("USE telar RETURN 1"), "AT TIMESTAMP $`telar at`\nUSE telar RETURN 1");
        assert_eq!(as_of("/* MATCH */ RETURN 1"), "/* MATCH */ AT TIMESTAMP $`telar at`\nRETURN 1");
        // Syntax errors are told when the statement runs.
        assert_eq!(as_of("MATCH (n RETURN n"), "MATCH (n RETURN n");
        let timed = Past::Time("2026-11-23".to_owned()).of("RETURN 1").unwrap();
        assert_eq!(timed.text, "AT TIMESTAMP datetime($`telar at`)\nRETURN 1");
        for refused in
            ["AT TIMESTAMP 5 RETURN 1", "SHOW INDEXES", "CREATE INDEX FOR (n:A) ON (n.p)"]
        {
            assert!(Past::Commit(7).of(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn places_of_errors_are_those_of_the_given_text() {
        let past = Past::Commit(7).of("EXPLAIN RETURN\n foo").unwrap();
        let mut message = "x: foo is not defined (line 3, column 2)\n foo".to_owned();
        past.placed_text(&mut message);
        assert_eq!(message, "x: foo is not defined (line 2, column 2)\n foo");
        let past = Past::Commit(7).of("EXPLAIN RETURN foo").unwrap();
        let mut message = "x (line 2, column 8)".to_owned();
        past.placed_text(&mut message);
        assert_eq!(message, "x (line 1, column 16)");
        let mut message = "no place".to_owned();
        past.placed_text(&mut message);
        assert_eq!(message, "no place");
    }
}
