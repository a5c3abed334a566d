//! `LOAD CSV`, `LOAD PARQUET`, `LOAD ARROW`, `LOAD JSON`.

use super::prelude::*;
use crate::estimate::LIST;
use crate::files::FileFormat;

/// Rows of a file, for every row of the input.
#[derive(Debug, Clone)]
pub(crate) struct LoadCsv {
    pub(crate) input: Plan,
    pub(crate) format: FileFormat,
    pub(crate) source: Expr,
    pub(crate) headers: bool,
    /// `None` if it is not one character.
    pub(crate) separator: Option<char>,
    pub(crate) slot: Slot,
    /// Slots of the line that a row begins at, and of its file.
    pub(crate) line: Slot,
    pub(crate) file: Slot,
    /// True if an operator above reads `line` or `file`.
    pub(crate) places: bool,
}

impl Operator for LoadCsv {
    input!(input);
    inner!();
    exprs!(source);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        match self.places {
            true => vec![self.slot, self.line, self.file],
            false => vec![self.slot],
        }
    }

    fn shape(&self) -> Shape {
        Shape::Combines
    }

    fn effects(&self, _: &mut Effects) {}

    fn writes(&self) -> bool {
        false
    }

    fn is_repeatable(&self) -> bool {
        false
    }

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first * LIST
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let format = match self.format {
            FileFormat::Csv => String::new(),
            other => format!("{} ", other.name()),
        };
        ("LoadCsv", format!("{format}{} AS {}", p.expr(&self.source), p.slot(self.slot)))
    }
}
