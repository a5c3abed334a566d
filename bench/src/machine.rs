//! What a figure was measured on.

use serde::Serialize;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// A machine at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Processor model; "unknown" where the system does not say.
    pub cpu: String,
    /// Cores this process may use.
    pub cores: usize,
    /// Memory in MiB; 0 where the system does not say.
    pub memory_mib: u64,
    /// Operating system and kernel release.
    pub kernel: String,
    /// Setting of transparent huge pages; "unknown" where the system does not say.
    pub huge_pages: String,
    /// Target architecture.
    pub architecture: &'static str,
    /// Whether the compiler optimised; figures of others are worth nothing.
    pub optimised: bool,
    /// Day of the measurement, UTC, as `2026-01-31`.
    pub date: String,
}

impl Machine {
    /// Returns a description of this machine now.
    pub fn here() -> Self {
        let unknown = || "unknown".to_owned();
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            cpu: value(&cpuinfo, "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: value(&meminfo, "MemTotal")
                .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
                .map_or(0, |kib| kib / 1024),
            kernel: format!("{} {}", std::env::consts::OS, release.trim()).trim_end().to_owned(),
            huge_pages: huge.ok().and_then(|text| chosen(&text)).unwrap_or_else(unknown),
            architecture: std::env::consts::ARCH,
            optimised: !cfg!(debug_assertions),
            date: today(),
        }
    }

    /// Returns the description on one line.
    pub fn line(&self) -> String {
        format!(
            "{}, {} cores, {} MiB, {} {}, huge pages {}, {}{}",
            self.cpu,
            self.cores,
            self.memory_mib,
            self.kernel,
            self.architecture,
            self.huge_pages,
            self.date,
            if self.optimised { "" } else { ", NOT OPTIMISED" }
        )
    }
}

/// Returns the value of the first `key : value` line.
fn value(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the word in brackets.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil((now.as_secs() / 86_400) as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns year, month and day of a day counted from 1 January 1970 (Hinnant, "chrono-compatible
/// low-level date algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_dates_are_right_around_leap_days() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(11_017), (2000, 3, 1));
        assert_eq!(civil(20_453), (2025, 12, 31));
    }

    #[test]
    fn descriptions_are_parsed() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU\nmodel name\t: Other\n";
        assert_eq!(value(cpuinfo, "model name").as_deref(), Some("Some CPU"));
        assert_eq!(chosen("always [madvise] never\n").as_deref(), Some("madvise"));
        assert!(Machine::here().cores > 0);
    }
}
