//! Typing: history, several lines to a statement, completion from the catalog, colours.

use std::borrow::Cow;
use std::path::PathBuf;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};
use telar_db::query::cypher::{self, token::TokenKind};
use telar_db::query::function;

use super::command::{self, COMMANDS, Next};
use super::state::State;

const KEYWORD: &str = "\x1b[1;34m";
const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// What helps while a line is typed: the names that can stand in it.
struct Assistant {
    names: Vec<String>,
}

impl Assistant {
    /// Keywords, functions, and every name of the catalog.
    fn new(state: &State<'_, '_>) -> Self {
        let mut names: Vec<String> = KEYWORDS.map(str::to_owned).to_vec();
        names.extend(function::all().iter().map(|f| format!("{}(", f.name)));
        names.extend(COMMANDS.iter().map(|(name, ..)| (*name).to_owned()));
        names.extend(state.db.labels());
        names.extend(state.db.edge_types().into_iter().map(|(name, _)| name));
        names.extend(state.db.property_keys());
        names.extend(state.parameters.keys().map(|name| format!("${name}")));
        names.sort_unstable();
        names.dedup();
        Self { names }
    }
}

const KEYWORDS: [&str; 34] = [
    "ALL",
    "AND",
    "AS",
    "ASC",
    "CALL",
    "CASE",
    "CONTAINS",
    "CREATE",
    "DELETE",
    "DESC",
    "DETACH",
    "DISTINCT",
    "ELSE",
    "END",
    "EXISTS",
    "FOREACH",
    "LIMIT",
    "MATCH",
    "MERGE",
    "NOT",
    "NULL",
    "OPTIONAL",
    "ORDER BY",
    "REMOVE",
    "RETURN",
    "SET",
    "SKIP",
    "STARTS WITH",
    "THEN",
    "UNION",
    "UNWIND",
    "WHEN",
    "WHERE",
    "WITH",
];

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | ':');
        let mut start = line[..pos]
            .rfind(|c| !part(c))
            .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
        // A label follows a colon, a property a dot: only a whole command begins with a colon.
        if start > 0 || !line.starts_with(':') {
            let cut = line[start..pos].rfind([':', '.']).map_or(0, |at| at + 1);
            let whole = &line[start..pos];
            let namespace = self.names.iter().any(|n| cut > 0 && n.starts_with(whole));
            start += if namespace { 0 } else { cut };
        }
        let typed = line[start..pos].to_lowercase();
        if typed.is_empty() {
            return Ok((pos, Vec::new()));
        }
        let fits = |name: &&String| name.to_lowercase().starts_with(&typed);
        let pair = |name: &String| Pair { display: name.clone(), replacement: name.clone() };
        Ok((start, self.names.iter().filter(fits).map(pair).collect()))
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if line.starts_with(':') {
            return Cow::Borrowed(line);
        }
        let mut out = String::with_capacity(line.len() * 2);
        let mut at = 0;
        for token in cypher::tokens(line) {
            let colour = match token.kind {
                TokenKind::Keyword(_) => KEYWORD,
                TokenKind::String => STRING,
                TokenKind::Integer | TokenKind::Float => NUMBER,
                _ => continue,
            };
            let range = token.span.range();
            if range.start < at || range.is_empty() {
                continue;
            }
            out.push_str(&line[at..range.start]);
            out.push_str(colour);
            out.push_str(&line[range.clone()]);
            out.push_str(PLAIN);
            at = range.end;
        }
        out.push_str(&line[at..]);
        Cow::Owned(out)
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

impl Validator for Assistant {
    /// A statement goes on until its semicolon; a command is a line.
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = ctx.input();
        Ok(match is_complete(text) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Helper for Assistant {}

/// Whether what was typed is to be run: a command, nothing, or a text that ends with a semicolon
/// outside of strings and comments.
fn is_complete(text: &str) -> bool {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.starts_with(':') {
        return true;
    }
    let last = cypher::tokens(text).into_iter().rfind(|token| !token.span.range().is_empty());
    last.is_some_and(|token| token.span.text(text) == ";")
}

/// Where what was typed is kept.
fn history_file() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    Some(PathBuf::from(home).join(".telar_history"))
}

/// Reads and runs lines until the end.
pub(crate) fn interact(state: &mut State<'_, '_>) -> anyhow::Result<()> {
    let config = Config::builder().auto_add_history(true).max_history_size(10_000)?.build();
    let mut editor: Editor<Assistant, FileHistory> = Editor::with_config(config)?;
    let history = history_file();
    if let Some(file) = &history {
        // The first time there is none.
        let _ = editor.load_history(file);
    }
    eprintln!("Telar {}; :help lists commands, :quit ends.", env!("CARGO_PKG_VERSION"));
    loop {
        // Names may have been added by what was run last.
        editor.set_helper(Some(Assistant::new(state)));
        let prompt = if state.in_transaction() { "telar# " } else { "telar> " };
        match editor.readline(prompt) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => {
                let done = match text.trim().starts_with(':') {
                    true => command::run(&text, state),
                    false => state.run_script(&text).map(|()| Next::GoOn),
                };
                match done {
                    Ok(Next::Quit) => break,
                    Ok(Next::GoOn) => {}
                    Err(error) => eprintln!("error: {error:#}"),
                }
            }
            Err(ReadlineError::Interrupted) => eprintln!("(:quit ends)"),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(file) = &history {
        editor.save_history(file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::DefaultHistory;

    #[test]
    fn statements_go_on_until_a_semicolon_outside_of_strings() {
        assert!(is_complete(":help"));
        assert!(is_complete("RETURN 1;"));
        assert!(is_complete("RETURN 1; // done"));
        assert!(!is_complete("RETURN 1"));
        assert!(!is_complete("RETURN ';"));
        assert!(!is_complete("RETURN 1 // ;"));
    }

    #[test]
    fn completion_knows_labels_after_a_colon_and_functions_by_namespace() {
        let names = ["Person", "PART_OF", "date.truncate(", "MATCH", ":param"].map(str::to_owned);
        let assistant = Assistant { names: names.to_vec() };
        let history = DefaultHistory::new();
        let complete = |line: &str| {
            let context = Context::new(&history);
            let (start, found) = assistant.complete(line, line.len(), &context).unwrap();
            (start, found.into_iter().map(|pair| pair.replacement).collect::<Vec<_>>())
        };
        assert_eq!(complete("MATCH (n:Per"), (9, vec!["Person".to_owned()]));
        assert_eq!(complete("RETURN date.tr"), (7, vec!["date.truncate(".to_owned()]));
        assert_eq!(complete("mat"), (0, vec!["MATCH".to_owned()]));
        assert_eq!(complete(":pa"), (0, vec![":param".to_owned()]));
        assert_eq!(complete("RETURN "), (7, Vec::new()));
    }
}
