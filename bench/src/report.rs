//! Tables for people, JSON for everything else.
//!
//! A [`Report`] keeps absolute figures, which belong to one machine, apart from ratios, which are
//! what a later run on another machine may be held to. Keys are paths, `measure/subject`, and keep
//! the order in which they were set.

use crate::machine::Machine;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::{fmt, io};

/// Rows of text in aligned columns: the first to the left, numbers to the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table with these column titles.
    pub fn new<S: Into<String>>(titles: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![titles.into_iter().map(Into::into).collect()] }
    }

    /// Adds a row; columns it lacks stay empty.
    pub fn push<S: Into<String>>(&mut self, row: impl IntoIterator<Item = S>) {
        self.rows.push(row.into_iter().map(Into::into).collect());
    }
}

/// As a Markdown table.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let lengths = self.rows.iter().map(|row| cell(row, column).chars().count());
                lengths.max().unwrap_or(0).max(3)
            })
            .collect();
        for (number, row) in self.rows.iter().enumerate() {
            for (column, &width) in widths.iter().enumerate() {
                let text = cell(row, column);
                match column {
                    0 => write!(f, "| {text:<width$} ")?,
                    _ => write!(f, "| {text:>width$} ")?,
                }
            }
            writeln!(f, "|")?;
            if number == 0 {
                for (column, &width) in widths.iter().enumerate() {
                    let dashes = "-".repeat(width);
                    match column {
                        0 => write!(f, "| {dashes} ")?,
                        _ => write!(f, "| {}: ", &dashes[1..])?,
                    }
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

/// Returns a number with three significant digits, as tables print it.
pub fn digits(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "-".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 || size == 0.0 => format!("{value:.2}"),
        size if size >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// What one run of a benchmark found.
#[derive(Clone, Debug)]
pub struct Report {
    name: String,
    machine: Machine,
    parameters: Map<String, Value>,
    figures: Map<String, Value>,
    ratios: Map<String, Value>,
}

impl Report {
    /// Returns an empty report about this machine.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            machine: Machine::here(),
            parameters: Map::new(),
            figures: Map::new(),
            ratios: Map::new(),
        }
    }

    /// Notes what was measured: a size, a seed, a number of repetitions.
    pub fn parameter(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.parameters.insert(key.into(), value.into());
    }

    /// Notes an absolute figure; its key names the unit (`scan/TEL/M_per_s`).
    pub fn figure(&mut self, key: impl Into<String>, value: f64) {
        self.figures.insert(key.into(), rounded(value));
    }

    /// Notes a structured figure, such as percentiles.
    ///
    /// # Panics
    /// If `value` cannot be JSON.
    pub fn figure_of(&mut self, key: impl Into<String>, value: &impl serde::Serialize) {
        let value = serde_json::to_value(value).expect("a figure serialises");
        self.figures.insert(key.into(), value);
    }

    /// Notes a ratio between two medians of one process.
    pub fn ratio(&mut self, key: impl Into<String>, value: f64) {
        self.ratios.insert(key.into(), rounded(value));
    }

    /// Returns the machine the report is about.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the report as a JSON object: `name`, `machine`, `parameters`, `ratios`, `figures`.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "machine": self.machine,
            "parameters": self.parameters,
            "ratios": self.ratios,
            "figures": self.figures,
        })
    }

    /// Writes the report to a file, as JSON.
    ///
    /// # Errors
    /// The system's.
    pub fn write_json(&self, path: &Path) -> io::Result<()> {
        let mut json = serde_json::to_string_pretty(&self.to_json())?;
        json.push('\n');
        std::fs::write(path, json)
    }
}

/// Returns a number with five significant digits: more is noise.
fn rounded(value: f64) -> Value {
    let text = format!("{value:.4e}");
    text.parse::<f64>().map_or(Value::Null, |short| json!(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_aligns_columns() {
        let mut table = Table::new(["store", "M/s"]);
        table.push(["CSR", "1500"]);
        table.push(["Größe"]);
        let expected = "| store |  M/s |\n| ----- | ---: |\n| CSR   | 1500 |\n| Größe |      |\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn digits_are_three() {
        let texts = [1234.4, 99.94, 1.234, 0.1234, 0.01234, f64::NAN].map(digits);
        assert_eq!(texts, ["1234", "99.9", "1.23", "0.123", "0.0123", "-"]);
    }

    #[test]
    fn report_keeps_ratios_apart() {
        let mut report = Report::new("kernel");
        report.parameter("scale", 18);
        report.figure("scan/TEL/M_per_s", 123.456_789);
        report.ratio("scan/TEL", 0.25);
        report.ratio("scan/none", f64::NAN);
        let json = report.to_json();
        assert_eq!(json["ratios"], json!({ "scan/TEL": 0.25, "scan/none": null }));
        assert_eq!(json["figures"]["scan/TEL/M_per_s"], 123.46);
        assert_eq!(json["parameters"]["scale"], 18);
        assert!(json["machine"]["cores"].as_u64().is_some_and(|cores| cores > 0));
    }
}
