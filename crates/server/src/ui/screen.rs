//! Standard output: lines, and colours where a person looks.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Standard output and whether it is a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    colours: bool,
    terminal: bool,
    /// Says nothing: for tests.
    quiet: bool,
}

impl Screen {
    /// Colours only on a terminal, and not if `NO_COLOR` is set.
    pub(crate) fn new() -> Self {
        let terminal = io::stdout().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { colours: terminal && wanted, terminal, quiet: false }
    }

    /// A screen that shows nothing.
    #[cfg(test)]
    pub(crate) fn quiet() -> Self {
        Self { colours: false, terminal: false, quiet: true }
    }

    /// Whether a person looks.
    pub(crate) fn is_terminal(self) -> bool {
        self.terminal
    }

    /// Writes a line.
    pub(crate) fn line(self, text: impl Display) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }

    /// Writes an empty line.
    pub(crate) fn gap(self) -> io::Result<()> {
        self.line("")
    }

    /// `text` as a heading.
    pub(crate) fn bold(self, text: impl Display) -> String {
        self.code("1", text)
    }

    /// `text` as an aside.
    pub(crate) fn dim(self, text: impl Display) -> String {
        self.code("2", text)
    }

    /// `text` as good news.
    pub(crate) fn good(self, text: impl Display) -> String {
        self.code("1;32", text)
    }

    /// `text` as bad news.
    pub(crate) fn bad(self, text: impl Display) -> String {
        self.code("1;31", text)
    }

    fn code(self, code: &str, text: impl Display) -> String {
        match self.colours {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_string(),
        }
    }
}
