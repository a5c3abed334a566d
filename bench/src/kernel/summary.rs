//! What a run found: tables for people, charts, JSON.

use std::fmt;
use std::io;
use std::path::Path;

use super::Run;
use super::targets::{TARGETS, Target};
use crate::report::{Report, Table, digits};

/// The result of a run.
pub struct Outcome {
    report: Report,
    /// Targets with what was measured; NaN where nothing was.
    figures: Vec<(Target, f64)>,
    tables: Vec<(String, Table)>,
    charts: Vec<(&'static str, String)>,
    title: String,
}

/// Closes a run: the targets become its ratios.
pub(super) fn finish(mut run: Run<'_>) -> Outcome {
    let figures: Vec<(Target, f64)> = TARGETS
        .iter()
        .map(|target| (*target, run.found.get(target.key).copied().unwrap_or(f64::NAN)))
        .collect();
    for (target, value) in &figures {
        run.report.ratio(target.key, *value);
    }
    let mut table = Table::new(["M/s", "CSR", "AdjLst", "TEL", "Telar"]);
    for (name, speeds) in &run.operations {
        table.push([(*name).to_owned()].into_iter().chain(speeds.map(digits)));
        for (subject, speed) in ["CSR", "AdjLst", "TEL", "Telar"].iter().zip(speeds) {
            if speed.is_finite() {
                run.report.figure(format!("operations/{name}/{subject}/M_per_s"), *speed);
            }
        }
    }
    run.tables.insert(0, ("The study's six operations, one thread, settled".to_owned(), table));
    let edges = run.input.edges.len();
    let title = format!("{} vertices, {edges} edges, {} entries", run.input.n, 2 * edges);
    Outcome { report: run.report, figures, tables: run.tables, charts: run.charts, title }
}

impl Outcome {
    /// Returns everything measured.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns how many targets were met, and how many there are.
    pub fn met(&self) -> (usize, usize) {
        let met = self.figures.iter().filter(|(target, value)| target.bound.is_met(*value));
        (met.count(), self.figures.len())
    }

    /// Returns the charts: file name and SVG.
    pub fn charts(&self) -> &[(&'static str, String)] {
        &self.charts
    }

    /// Writes the charts into a folder, which is made if there is none.
    ///
    /// # Errors
    /// The system's.
    pub fn write_charts(&self, folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        for (file, svg) in &self.charts {
            std::fs::write(folder.join(file), svg)?;
        }
        Ok(())
    }

    /// Writes the report as JSON.
    ///
    /// # Errors
    /// The system's.
    pub fn write_json(&self, path: &Path) -> io::Result<()> {
        self.report.write_json(path)
    }
}

/// The targets first, then the figures behind them.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.report.machine().line())?;
        writeln!(f, "{}\n", self.title)?;
        let mut table = Table::new(["measured", "figure", "target", "", "unit", "key"]);
        for (target, value) in &self.figures {
            let verdict = target.bound.verdict(*value);
            table.push([
                target.what.to_owned(),
                digits(*value),
                target.bound.to_string(),
                verdict.to_owned(),
                target.unit.to_owned(),
                target.key.to_owned(),
            ]);
        }
        write!(f, "{table}")?;
        let (met, all) = self.met();
        writeln!(f, "\n{met} of {all} targets met")?;
        for (title, table) in &self.tables {
            writeln!(f, "\n## {title}\n")?;
            write!(f, "{table}")?;
        }
        Ok(())
    }
}
