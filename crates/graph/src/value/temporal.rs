//! Civil temporal types: dates, times of day, their combinations, and durations.
//!
//! The calendar is the proleptic Gregorian one, with years [`YEAR_MIN`]`..=`[`YEAR_MAX`] and days
//! of exactly 86,400 seconds. No time zone rules live here: a [`DateTime`] carries the offset that
//! somebody resolved for it and, for information, the name of the zone.
//!
//! Constructors take `i64` components, as queries deliver them, and check each one.
//!
//! Source: ISO 8601; openCypher CIP2015-08-06 "Date and time" and its TCK, features Temporal1-10.

mod date;
mod datetime;
mod duration;
mod duration_parse;
mod parse;
mod time;

pub use date::{Date, YEAR_MAX, YEAR_MIN};
pub use datetime::{DateTime, LocalDateTime, ParsedDateTime, ZONE_NAME_BYTES_MAX};
pub use duration::Duration;
pub use time::{LocalTime, Time, UtcOffset};

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
const NANOS_PER_DAY: i64 = SECONDS_PER_DAY * NANOS_PER_SECOND;

/// Why a temporal value cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemporalError {
    /// A component is outside its range.
    #[error("{component} must be in {min}..={max}, got {found}")]
    OutOfRange {
        /// The component, in words.
        component: &'static str,
        /// Smallest value allowed.
        min: i64,
        /// Largest value allowed.
        max: i64,
        /// Value given.
        found: i64,
    },
    /// The result of an operation is outside the range of its type.
    #[error("the result is outside the range of {target}")]
    Overflow {
        /// The type of the result, in words.
        target: &'static str,
    },
    /// The text is not in one of the accepted forms.
    #[error("{text:?} is not a valid {expected}")]
    Syntax {
        /// What the text should have been, in words.
        expected: &'static str,
        /// The text.
        text: Box<str>,
    },
    /// The name of a time zone is empty, too long or has a character that no zone name has.
    #[error("{name:?} is not a time zone name")]
    ZoneName {
        /// The name.
        name: Box<str>,
    },
    /// The text names a zone without an offset, and no zone rules are at hand.
    #[error("the offset of time zone {name:?} at that time is not known here")]
    ZoneWithoutOffset {
        /// The name.
        name: Box<str>,
    },
}

impl TemporalError {
    fn syntax(expected: &'static str, text: &str) -> Self {
        // A long text would only be repeated in a log; its start says enough.
        const SHOWN_CHARS_MAX: usize = 80;
        Self::Syntax { expected, text: text.chars().take(SHOWN_CHARS_MAX).collect() }
    }
}

/// Returns `found` when it lies in `min..=max`.
fn check(component: &'static str, found: i64, min: i64, max: i64) -> Result<i64, TemporalError> {
    if (min..=max).contains(&found) {
        Ok(found)
    } else {
        Err(TemporalError::OutOfRange { component, min, max, found })
    }
}

/// Prints `.` and the significant digits of a fraction of a second; nothing for zero.
fn write_fraction(f: &mut std::fmt::Formatter<'_>, nanos: i64) -> std::fmt::Result {
    if nanos == 0 {
        return Ok(());
    }
    let digits = format!("{nanos:09}");
    write!(f, ".{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests;
