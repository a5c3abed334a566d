//! Results as tables for people: as wide as the terminal, or a line per value.

use std::fmt::Write;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use telar_server::bolt::client::Answer;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::text;

/// A column that would have to be narrower than this says nothing any more.
const COLUMN_MIN: usize = 8;
/// What stands for the end of a text that was cut.
const CUT: char = '…';

/// A result for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// Whether cells were cut to fit.
    pub(crate) cut: bool,
}

/// A table that is not wider than `width`, if there is one; cells are cut where they have to be. If
/// its columns would be too narrow, each value gets a line.
pub(crate) fn fitted(answer: &Answer, width: Option<usize>) -> Shown {
    if answer.columns.is_empty() {
        return Shown { text: String::new(), cut: false };
    }
    let mut rows: Vec<Vec<String>> = Vec::with_capacity(answer.rows.len() + 1);
    rows.push(answer.columns.iter().map(|name| text::one_line(name)).collect());
    for row in &answer.rows {
        rows.push(row.iter().map(|value| text::show(value, &answer.entities)).collect());
    }
    let columns = answer.columns.len();
    let widest = |at: usize| rows.iter().map(|row| row[at].width()).max().unwrap_or(0);
    let natural: Vec<usize> = (0..columns).map(widest).collect();
    // Each column has a blank on both sides, and a line before and behind it.
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(3 * columns + 1));
    let Some(widths) = share(&natural, room) else {
        return Shown { text: vertical(answer), cut: false };
    };
    let cut = widths != natural;
    if cut {
        for row in &mut rows {
            for (cell, width) in row.iter_mut().zip(&widths) {
                clip(cell, *width);
            }
        }
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let mut rows = rows.into_iter();
    table.set_header(rows.next().unwrap_or_default());
    rows.for_each(|row| _ = table.add_row(row));
    Shown { text: format!("{table}\n"), cut }
}

/// The widths of columns that take no more than `room`: the widest ones give. None if that makes
/// them too narrow.
fn share(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    if natural.iter().try_fold(0_usize, |sum, width| sum.checked_add(*width))? <= room {
        return Some(natural.to_vec());
    }
    let mut sorted = natural.to_vec();
    sorted.sort_unstable();
    // The most that a column can have, if those that want less get what they want.
    let (mut left, mut most) = (room, 0);
    for (at, width) in sorted.iter().enumerate() {
        most = left / (sorted.len() - at);
        if *width > most {
            break;
        }
        left -= width;
    }
    (most >= COLUMN_MIN).then(|| natural.iter().map(|width| *width.min(&most)).collect())
}

/// Cuts a text that is wider than so many columns of the terminal.
fn clip(text: &mut String, width: usize) {
    // PERF: most cells fit; bytes are never fewer than columns.
    if text.len() <= width || text.width() <= width {
        return;
    }
    let (mut taken, mut end) = (0, 0);
    for (at, c) in text.char_indices() {
        // Signs that belong to the one before take no room of their own.
        let wide = c.width().unwrap_or(0);
        if taken + wide >= width {
            break;
        }
        taken += wide;
        end = at + c.len_utf8();
    }
    text.truncate(end);
    text.push(CUT);
}

/// Each value on a line of its own, behind the name of its column.
pub(crate) fn vertical(answer: &Answer) -> String {
    let names: Vec<String> = answer.columns.iter().map(|name| text::one_line(name)).collect();
    let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let mut out = String::new();
    for (number, row) in answer.rows.iter().enumerate() {
        // Writing to a text cannot fail.
        let _ = writeln!(out, "──── row {} ────", number + 1);
        for (name, value) in names.iter().zip(row) {
            let blanks = " ".repeat(width - name.width());
            let _ = writeln!(out, "{name}{blanks} │ {}", text::show(value, &answer.entities));
        }
    }
    out
}

/// How many columns the terminal has on which results are shown; none without a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    let out = std::io::stdout();
    if !std::io::IsTerminal::is_terminal(&out) {
        return None;
    }
    let columns = rustix::termios::tcgetwinsize(&out).ok()?.ws_col;
    (columns > 0).then(|| usize::from(columns))
}

#[cfg(test)]
mod tests {
    use telar_db::Value;

    use super::*;

    fn answer(columns: &[&str], rows: &[&[&str]]) -> Answer {
        Answer {
            columns: columns.iter().map(|name| (*name).into()).collect(),
            rows: rows
                .iter()
                .map(|row| row.iter().map(|text| Value::from(*text)).collect())
                .collect(),
            ..Answer::default()
        }
    }

    #[test]
    fn tables_fit_whatever_the_width_and_say_if_they_were_cut() {
        let long = "x".repeat(150);
        let wide = "漢字".repeat(40);
        let combined = "e\u{301}".repeat(60);
        let mixed = answer(
            &["id", "a name that is long", "text"],
            &[&["1", "Ada", &long], &["2", &wide, ""], &["3", "Bob", &combined]],
        );
        for width in 35..400 {
            let Shown { text, cut } = fitted(&mixed, Some(width));
            for line in text.lines() {
                assert!(line.width() <= width, "{width}:\n{text}");
            }
            let first = text.lines().next().unwrap().width();
            assert!(text.lines().all(|line| line.width() == first), "{width}:\n{text}");
            assert_eq!(cut, text.contains(CUT), "{width}:\n{text}");
            assert!(text.contains("'1'") && text.contains("'Ada'"), "narrow cells stay whole");
        }
        let whole = fitted(&mixed, None);
        assert!(!whole.cut && whole.text.contains(&long) && whole.text.contains(&wide));
        assert_eq!(whole, fitted(&mixed, Some(1000)));
    }

    #[test]
    fn where_a_table_would_be_too_narrow_each_value_has_a_line() {
        let long = "y".repeat(50);
        let names: Vec<String> = (0..12).map(|n| format!("column {n}")).collect();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let many = answer(&names, &[&[&*long; 12], &["'"; 12]]);
        let Shown { text, cut } = fitted(&many, Some(80));
        assert!(!cut && text.contains(&long), "{text}");
        assert_eq!(text, vertical(&many));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 26);
        assert_eq!(lines[0], "──── row 1 ────");
        assert_eq!(lines[14], "column 0  │ '\\''");
        assert_eq!(lines[24], "column 10 │ '\\''");
        assert_eq!(fitted(&answer(&[], &[]), Some(80)).text, "");
    }

    #[test]
    fn what_controls_a_terminal_is_shown_and_not_sent() {
        let odd = answer(&["a\u{1b}[2Jb\nc"], &[&["\u{1b}]0;title\u{7}\r\n\u{9b}"]]);
        for text in [fitted(&odd, Some(60)).text, vertical(&odd)] {
            let harmless = |c: char| c == '\n' || !c.is_control();
            assert!(text.chars().all(harmless), "{text:?}");
        }
    }
}
