//! Long results go through the pager, where there is a terminal to page on.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use crate::ui::Screen;

/// Lines up to which a result is simply printed.
const LINES_MAX: usize = 40;

/// Whether a text is long, and somebody looks who wants it page by page.
pub(crate) fn is_wanted(text: &str, paging: bool) -> bool {
    paging && text.lines().nth(LINES_MAX).is_some() && std::io::stdout().is_terminal()
}

/// Shows text through `$PAGER`: by default `less`, which ends by itself where one screen is enough.
pub(crate) fn show(text: &str) -> anyhow::Result<()> {
    if paged(text) { Ok(()) } else { print(text) }
}

/// Prints it as it is.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let screen = Screen::new();
    for line in text.lines() {
        screen.line(line)?;
    }
    Ok(())
}

/// Whether a pager could show it.
fn paged(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less -FRSX".into());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else { return false };
    let child = Command::new(program).args(words).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return false };
    if let Some(mut input) = child.stdin.take() {
        // Who leaves the pager early has seen enough.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok()
}
