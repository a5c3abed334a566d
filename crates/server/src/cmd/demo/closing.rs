//! The tables at the end: what was done, and what was checked.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use super::{Check, Row};
use crate::ui::Screen;

/// Prints both tables.
pub(super) fn print(screen: Screen, rows: &[Row], checks: &[Check]) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(["step", "what was done", "time", "rate"]);
    for row in rows {
        table.add_row([row.what, &row.amount, &row.time, &row.rate]);
    }
    for column in [2, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    screen.line(&table)?;
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(["check", "found", "result"]);
    for check in checks {
        let result = if check.passed { "ok" } else { "FAILED" };
        table.add_row([check.claim, &check.found, result]);
    }
    let text = table.to_string();
    let text = text.replace("┆ ok ", &format!("┆ {} ", screen.good("ok")));
    screen.line(text.replace("┆ FAILED ", &format!("┆ {} ", screen.bad("FAILED"))))
}
