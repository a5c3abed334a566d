//! Typing: history, several lines to a statement, completion from the catalog, colours.
//!
//! A line is read at a time: a statement goes on, behind another prompt, until its semicolon.

use std::borrow::Cow;
use std::path::PathBuf;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, History, SearchDirection};
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};
use telar_db::query::cypher::{self, token::TokenKind};
use telar_db::query::function;

use super::backend::Backend;
use super::command::{self, COMMANDS, Next};
use super::state::{State, VERTICAL};
use crate::ui::Screen;

const KEYWORD: &str = "\x1b[1;34m";
const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[33m";
const ASIDE: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// What stands before the second and every further line of a statement.
const GOES_ON: &str = "   ... ";
/// What is said there until something is typed.
const MISSING: &str = "a semicolon ends the statement, Ctrl-C drops it";
/// Entries of the history that are shown unless a number is given.
const HISTORY_SHOWN: usize = 20;

/// What helps while a line is typed: the names that can stand in it.
struct Assistant {
    names: Vec<String>,
    /// Whether a statement goes on that was begun on a line before.
    goes_on: bool,
}

impl Assistant {
    /// Keywords, functions, and every name of the catalog.
    fn new(state: &mut State) -> Self {
        let mut names: Vec<String> = KEYWORDS.map(str::to_owned).to_vec();
        names.extend(function::all().iter().map(|f| format!("{}(", f.name)));
        names.extend(COMMANDS.iter().map(|(name, ..)| (*name).to_owned()));
        names.extend(state.names().into_iter().flatten());
        names.extend(state.parameters.keys().map(|name| format!("${name}")));
        names.sort_unstable();
        names.dedup();
        Self { names, goes_on: false }
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

    /// Whoever has pressed Enter without a semicolon may not know that one is waited for.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        (self.goes_on && line.is_empty()).then(|| MISSING.to_owned())
    }
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

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("{ASIDE}{hint}{PLAIN}"))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

impl Validator for Assistant {}

impl Helper for Assistant {}

/// The command that is meant by a word without its colon.
fn bare_command(text: &str) -> Option<&'static str> {
    match text.trim().trim_end_matches(';').trim_end() {
        word if word.eq_ignore_ascii_case("exit") => Some(":quit"),
        word if word.eq_ignore_ascii_case("quit") => Some(":quit"),
        word if word.eq_ignore_ascii_case("help") => Some(":help"),
        _ => None,
    }
}

/// Whether what was typed is to be run: a command, nothing, or a text that ends with a semicolon,
/// or `\\G`, outside of strings and comments.
fn is_complete(text: &str) -> bool {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.starts_with(':') || bare_command(trimmed).is_some() {
        return true;
    }
    let last =
        |text: &str| cypher::tokens(text).into_iter().rfind(|token| !token.span.range().is_empty());
    if let Some(text) = trimmed.strip_suffix(VERTICAL) {
        // Within a string or comment the text before it ends with what was not closed, or with
        // nothing that counts.
        let ended = format!("{text};");
        return last(&ended).is_some_and(|token| token.span.text(&ended) == ";");
    }
    last(text).is_some_and(|token| token.span.text(text) == ";")
}

/// Where what was typed is kept.
fn history_file() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    Some(PathBuf::from(home).join(".telar_history"))
}

/// What stands before a statement: which database, and whether a transaction is open.
fn prompt(state: &State) -> String {
    let sign = if state.in_transaction() { '#' } else { '>' };
    match &state.backend {
        Backend::Server(client) => format!("{}{sign} ", client.database().unwrap_or("telar")),
        Backend::Embedded { .. } => format!("telar{sign} "),
    }
}

/// Reads lines up to the end of a statement.
fn read(
    editor: &mut Editor<Assistant, FileHistory>,
    state: &mut State,
) -> rustyline::Result<String> {
    // Names may have been added by what was run last.
    editor.set_helper(Some(Assistant::new(state)));
    let mut text = editor.readline(&prompt(state))?;
    while !is_complete(&text) {
        if let Some(assistant) = editor.helper_mut() {
            assistant.goes_on = true;
        }
        text.push('\n');
        text.push_str(&editor.readline(GOES_ON)?);
    }
    Ok(text)
}

/// Shows what was typed last, the oldest first.
fn show_history(history: &FileHistory, argument: &str) -> anyhow::Result<()> {
    let shown = match argument {
        "" => HISTORY_SHOWN,
        count => count.parse().map_err(|_| anyhow::anyhow!(":history takes a number"))?,
    };
    for at in history.len().saturating_sub(shown)..history.len() {
        if let Some(found) = history.get(at, SearchDirection::Forward)? {
            Screen::new().line(format!(
                "{:5}  {}",
                at + 1,
                found.entry.replace('\n', "\n       ")
            ))?;
        }
    }
    Ok(())
}

/// Reads and runs lines until the end.
pub(crate) fn interact(state: &mut State) -> anyhow::Result<()> {
    let config = Config::builder().max_history_size(10_000)?.build();
    let mut editor: Editor<Assistant, FileHistory> = Editor::with_config(config)?;
    let history = history_file();
    if let Some(file) = &history {
        // The first time there is none.
        let _ = editor.load_history(file);
    }
    let version = env!("CARGO_PKG_VERSION");
    let server = match &state.backend {
        Backend::Server(client) => match client.user() {
            "" => format!(" at {}", client.address()),
            user => format!(" at {} as {user}", client.address()),
        },
        Backend::Embedded { .. } => String::new(),
    };
    eprintln!("Telar {version}{server}; :help lists commands, :quit ends.");
    loop {
        match read(&mut editor, state) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => {
                // Passwords are not written down.
                if matches!(cypher::without_secrets(&text), Cow::Borrowed(_)) {
                    editor.add_history_entry(text.trim_end())?;
                }
                let text = bare_command(&text).unwrap_or(&text);
                let done = match text.trim().strip_prefix(":history") {
                    Some(count) => {
                        show_history(editor.history(), count.trim()).map(|()| Next::GoOn)
                    }
                    None if text.trim().starts_with(':') => command::run(text, state),
                    None => state.run_script(text, None).map(|()| Next::GoOn),
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
        assert!(is_complete("RETURN 1\\G"));
        assert!(is_complete("MATCH (n)\n RETURN n \\G  "));
        assert!(!is_complete("RETURN 'a\\G"));
        assert!(!is_complete("RETURN 1 // \\G"));
    }

    #[test]
    fn words_of_other_shells_need_no_colon() {
        for (text, command) in [
            ("exit", Some(":quit")),
            (" QUIT ;", Some(":quit")),
            ("help;", Some(":help")),
            ("RETURN 'help';", None),
            ("exits", None),
        ] {
            assert_eq!(bare_command(text), command, "{text}");
        }
        assert!(is_complete("exit") && is_complete("help;") && !is_complete("helped"));
    }

    #[test]
    fn completion_knows_labels_after_a_colon_and_functions_by_namespace() {
        let names = ["Person", "PART_OF", "date.truncate(", "MATCH", ":param"].map(str::to_owned);
        let assistant = Assistant { names: names.to_vec(), goes_on: false };
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
