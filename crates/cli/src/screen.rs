//! Standard output: lines, and colours where a person looks.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Standard output, as a program writes results to it.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    colours: bool,
    terminal: bool,
    /// Says nothing: for tests.
    quiet: bool,
}

impl Screen {
    /// Colours only on a terminal, and not if `NO_COLOR` is set.
    #[expect(clippy::new_without_default, reason = "it looks at the process")]
    pub fn new() -> Self {
        let terminal = io::stdout().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { colours: terminal && wanted, terminal, quiet: false }
    }

    /// A screen that shows nothing, for tests.
    pub fn quiet() -> Self {
        Self { colours: false, terminal: false, quiet: true }
    }

    /// True if standard output is a terminal.
    pub fn is_terminal(self) -> bool {
        self.terminal
    }

    /// Writes a line.
    ///
    /// # Errors
    /// The system's, a closed pipe included.
    pub fn line(self, text: impl Display) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }

    /// Writes an empty line.
    ///
    /// # Errors
    /// As [`line`](Self::line).
    pub fn gap(self) -> io::Result<()> {
        self.line("")
    }

    /// `text` as a heading.
    pub fn bold(self, text: impl Display) -> String {
        self.code("1", text)
    }

    /// `text` as an aside.
    pub fn dim(self, text: impl Display) -> String {
        self.code("2", text)
    }

    /// `text` as good news.
    pub fn good(self, text: impl Display) -> String {
        self.code("1;32", text)
    }

    /// `text` as bad news.
    pub fn bad(self, text: impl Display) -> String {
        self.code("1;31", text)
    }

    fn code(self, code: &str, text: impl Display) -> String {
        match self.colours {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_string(),
        }
    }
}
