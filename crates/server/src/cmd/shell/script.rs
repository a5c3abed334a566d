//! Scripts: statements and commands, and where in a file each stands.

use std::fmt::Write;

use telar_db::query::QueryError;
use telar_db::query::cypher;
use telar_server::bolt::client;

/// A part of a script.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// A line that begins with a colon.
    Command(&'t str),
    /// A statement without its semicolon.
    Statement(&'t str),
}

/// Cuts a script into statements, which semicolons end, and commands, which stand on lines of
/// their own between statements; each with the byte at which it begins.
pub(crate) fn pieces(text: &str) -> Vec<(usize, Piece<'_>)> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = without_comments(rest);
        if rest.is_empty() {
            return found;
        }
        let begins = text.len() - rest.len();
        if rest.starts_with(':') {
            let end = rest.find('\n').unwrap_or(rest.len());
            found.push((begins, Piece::Command(rest[..end].trim_end())));
            rest = &rest[end..];
            continue;
        }
        // One look at the text for all statements up to the next command.
        let mut end = None;
        for statement in cypher::split(rest) {
            let range = statement.range();
            if rest[range.clone()].starts_with(':') {
                break;
            }
            found.push((begins + range.start, Piece::Statement(&rest[range.clone()])));
            end = Some(range.end);
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

/// Where something begins: in a file, if it has a name, or in what was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place<'f> {
    pub(crate) file: Option<&'f str>,
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
}

impl<'f> Place<'f> {
    /// Where so many bytes of a script have gone by.
    pub(crate) fn of(file: Option<&'f str>, script: &str, bytes: usize) -> Self {
        let before = &script[..bytes];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { file, line, column }
    }

    /// The place that is a line and a column from here on.
    fn then(self, (line, column): (usize, usize)) -> Self {
        let column = if line == 1 { self.column + column - 1 } else { column };
        Self { line: self.line + line - 1, column, ..self }
    }
}

/// Why a statement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// What was wrong, without the place.
    pub(crate) message: String,
    /// Line and column in the statement, if it is about a part of it.
    pub(crate) at: Option<(usize, usize)>,
    /// The line of the statement with a caret below.
    pub(crate) excerpt: Option<String>,
    /// The code that drivers know; empty for what is no error of a server.
    pub(crate) code: String,
}

impl Trouble {
    /// What to say of a statement that begins at `place`.
    pub(crate) fn shown(&self, place: Place<'_>) -> String {
        let at = self.at.map(|at| place.then(at));
        let mut text = match (place.file, at) {
            (None, None) => self.message.clone(),
            (None, Some(at)) => {
                format!("{} (line {}, column {})", self.message, at.line, at.column)
            }
            (Some(file), None) => format!("{file}:{}: {}", place.line, self.message),
            (Some(file), Some(at)) => {
                format!("{file}:{}:{}: {}", at.line, at.column, self.message)
            }
        };
        // Writing to a text cannot fail.
        if let Some(excerpt) = &self.excerpt {
            let _ = write!(text, "\n{excerpt}");
        }
        if !self.code.is_empty() {
            let _ = write!(text, "\n[{}]", self.code);
        }
        text
    }
}

impl From<QueryError> for Trouble {
    fn from(error: QueryError) -> Self {
        Self {
            message: format!("{}: {}", error.detail, error.message),
            at: error.position.map(|position| (position.line, position.column)),
            code: error.code().to_owned(),
            excerpt: error.excerpt,
        }
    }
}

impl From<client::Error> for Trouble {
    /// Servers put the place behind the message, and the excerpt below it.
    fn from(error: client::Error) -> Self {
        let message = error.to_string();
        let (first, rest) = message.split_once('\n').unwrap_or((&message, ""));
        let placed = first.rfind(" (line ").and_then(|at| {
            let numbers = first[at..].split(|c: char| !c.is_ascii_digit());
            let mut numbers = numbers.filter(|part| !part.is_empty()).map(|n| n.parse().ok());
            Some((&first[..at], (numbers.next()??, numbers.next()??)))
        });
        let code = error.code().to_owned();
        match placed {
            Some((message, at)) => {
                let excerpt = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
                Self { message: message.to_owned(), at: Some(at), excerpt, code }
            }
            None => Self { message, at: None, excerpt: None, code },
        }
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
            (0, Piece::Command(":param a => 1")),
            (14, Piece::Statement("RETURN ';' AS x")),
            (39, Piece::Command(":begin")),
            (46, Piece::Statement("CREATE (n)\n  SET n.x = 1")),
            (72, Piece::Statement("RETURN 2")),
        ];
        assert_eq!(pieces(text), expected);
        for (at, piece) in pieces(text) {
            let (Piece::Command(of) | Piece::Statement(of)) = piece;
            assert!(text[at..].starts_with(of), "{at}");
        }
    }

    #[test]
    fn errors_stand_where_they_are_in_the_file() {
        let script = "// one\nRETURN 1; RETURN 2;\n\n  MATCH (ö)\n  RETURN x;";
        let starts: Vec<usize> = pieces(script).into_iter().map(|(at, _)| at).collect();
        let trouble = |at| Trouble {
            message: "Wrong: this".into(),
            at,
            excerpt: Some("  RETURN x\n         ^".into()),
            code: "Neo.X".into(),
        };
        let shown = |piece: usize, at, file| {
            let place = Place::of(file, script, starts[piece]);
            trouble(at).shown(place).lines().next().unwrap().to_owned()
        };
        let file = Some("a.cypher");
        assert_eq!(shown(0, Some((1, 8)), file), "a.cypher:2:8: Wrong: this");
        assert_eq!(shown(1, Some((1, 8)), file), "a.cypher:2:18: Wrong: this");
        assert_eq!(shown(2, Some((2, 10)), file), "a.cypher:5:10: Wrong: this");
        assert_eq!(shown(2, Some((1, 8)), file), "a.cypher:4:10: Wrong: this");
        assert_eq!(shown(2, None, file), "a.cypher:4: Wrong: this");
        assert_eq!(shown(1, Some((1, 8)), None), "Wrong: this (line 2, column 18)");
        let all = trouble(None).shown(Place::of(None, script, 0));
        assert_eq!(all, "Wrong: this\n  RETURN x\n         ^\n[Neo.X]");
    }

    #[test]
    fn places_are_read_from_what_servers_say() {
        let refused = |message: &str| {
            let (code, message) = ("Neo.X".to_owned(), message.to_owned());
            Trouble::from(client::Error::Refused { code, message })
        };
        let own = refused("Undefined: Variable `m` (line 2, column 18)\nRETURN m\n       ^");
        assert_eq!(own.message, "Undefined: Variable `m`");
        assert_eq!((own.at, own.excerpt.as_deref()), (Some((2, 18)), Some("RETURN m\n       ^")));
        let other = refused("Invalid input 'RETRN' (line 1, column 3 (offset: 2))\n\"RETRN\"\n ^");
        assert_eq!((&*other.message, other.at), ("Invalid input 'RETRN'", Some((1, 3))));
        let none = refused("There is (line or so\nand more");
        assert_eq!((&*none.message, none.at), ("There is (line or so\nand more", None));
    }
}
