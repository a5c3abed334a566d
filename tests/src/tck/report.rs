//! Counts by folder, and how well errors match.

use std::collections::BTreeMap;
use std::fmt;

use super::run::{ErrorMatch, Outcome};
use super::suite::Scenario;

/// Outcomes, added up.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Scenarios and how many passed, by folder.
    folders: BTreeMap<String, (u64, u64)>,
    errors: Vec<ErrorMatch>,
}

impl Report {
    /// Adds a scenario.
    pub fn add(&mut self, scenario: &Scenario, outcome: &Outcome) {
        let (total, passed) = self.folders.entry(scenario.folder.clone()).or_default();
        *total += 1;
        *passed += u64::from(outcome.result.is_ok());
        self.errors.extend(outcome.error);
    }
}

/// Percent, rounded down, so that 100 means all.
fn percent(part: u64, whole: u64) -> f64 {
    (1000 * part).checked_div(whole).map_or(100.0, |per_mille| per_mille as f64 / 10.0)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, total: u64, passed: u64| {
            let failed = total - passed;
            writeln!(
                f,
                "{name:<36} {total:>6} {passed:>6} {failed:>6} {:>6.1}",
                percent(passed, total)
            )
        };
        let (mut all, mut good) = (0, 0);
        for (folder, (total, passed)) in &self.folders {
            line(folder, *total, *passed)?;
            all += total;
            good += passed;
        }
        line("all", all, good)?;
        let count = |holds: &dyn Fn(&ErrorMatch) -> bool| {
            self.errors.iter().filter(|e| holds(e)).count() as u64
        };
        let (raised, phase) = (count(&|e| e.raised), count(&|e| e.phase));
        let (kind, detail) = (count(&|e| e.phase && e.kind), count(&|e| e.phase && e.detail));
        let errors = self.errors.len() as u64;
        writeln!(
            f,
            "error scenarios {errors}: raised {raised}, right phase {phase} ({:.1} %), and right type \
             {kind} ({:.1} %), and right detail {detail} ({:.1} %)",
            percent(phase, errors),
            percent(kind, errors),
            percent(detail, errors)
        )
    }
}

/// What the columns of a report are.
pub const HEADER: &str = "folder                                scenarios passed failed      %";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_percent_round_down() {
        let mut report = Report::default();
        let scenario = |folder: &str| Scenario {
            id: String::new(),
            folder: folder.to_owned(),
            steps: Vec::new(),
        };
        let error = |phase, detail| Some(ErrorMatch { raised: true, phase, kind: phase, detail });
        let wrong = || Err("wrong".to_owned());
        report.add(&scenario("a"), &Outcome { result: Ok(()), error: error(true, false) });
        report.add(&scenario("a"), &Outcome { result: wrong(), error: error(false, true) });
        report.add(&scenario("b"), &Outcome { result: Ok(()), error: error(true, true) });
        let text = report.to_string();
        assert!(text.contains(&format!("{:<36}      2      1      1   50.0", "a")), "{text}");
        assert!(text.contains(&format!("{:<36}      3      2      1   66.6", "all")), "{text}");
        assert!(text.contains("raised 3, right phase 2 (66.6 %)"), "{text}");
        assert!(text.contains("right detail 1 (33.3 %)"), "{text}");
    }
}
