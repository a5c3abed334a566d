//! Long results go through the pager, where there is a terminal to page on.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use crate::ui::Screen;

/// Lines up to which a result is simply printed.
const LINES_MAX: usize = 40;

/// Shows text: through `$PAGER` (by default `less`, which ends by itself where one screen is
/// enough) if it is long and somebody looks at it.
pub(crate) fn show(text: &str, paging: bool) -> anyhow::Result<()> {
    let long = text.lines().count() > LINES_MAX;
    if paging && long && std::io::stdout().is_terminal() && paged(text) {
        return Ok(());
    }
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
