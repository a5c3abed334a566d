//! Durations: months, days, seconds and nanoseconds kept apart.
//!
//! A month has no fixed number of days and a day, across a change of clocks, no fixed number of
//! seconds; so a duration keeps the three amounts, and `P1M` is not equal to `P30D`. Where a
//! fraction of a month or day must become something smaller, and where durations are ordered, a
//! month counts as the average Gregorian one, 30.436875 days, and a day as 24 hours.
//!
//! Invariant: `nanos` is in 0..=999,999,999; a duration of -0.1 s is -1 s plus 900,000,000 ns.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::{
    NANOS_PER_DAY, NANOS_PER_SECOND, SECONDS_PER_DAY, TemporalError, duration_parse, write_fraction,
};

/// A twelfth of 365.2425 days.
const SECONDS_PER_MONTH: i64 = 2_629_746;

const NANOS_PER_MONTH: i64 = SECONDS_PER_MONTH * NANOS_PER_SECOND;
const OVERFLOW: TemporalError = TemporalError::Overflow { target: "a duration" };

/// An amount of months, days, seconds and nanoseconds.
///
/// Equal when all four are. Cypher's `<` leaves durations unordered; `Ord` is the order of
/// `ORDER BY`: by average length, then by months, by days and by seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Duration {
    months: i64,
    days: i64,
    seconds: i64,
    nanos: u32,
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self { months: 0, days: 0, seconds: 0, nanos: 0 };

    /// The duration of these amounts; nanoseconds beyond a second carry into the seconds.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the carry overflows the seconds.
    pub fn new(months: i64, days: i64, seconds: i64, nanos: i64) -> Result<Self, TemporalError> {
        let carried = seconds.checked_add(nanos.div_euclid(NANOS_PER_SECOND)).ok_or(OVERFLOW)?;
        let nanos = nanos.rem_euclid(NANOS_PER_SECOND) as u32;
        Ok(Self { months, days, seconds: carried, nanos })
    }

    /// The duration of these amounts, of which nanoseconds may be many.
    pub(super) fn from_wide(
        months: i128,
        days: i128,
        time_nanos: i128,
    ) -> Result<Self, TemporalError> {
        let narrow = |wide: i128| i64::try_from(wide).map_err(|_| OVERFLOW);
        let second = i128::from(NANOS_PER_SECOND);
        Ok(Self {
            months: narrow(months)?,
            days: narrow(days)?,
            seconds: narrow(time_nanos.div_euclid(second))?,
            nanos: time_nanos.rem_euclid(second) as u32,
        })
    }

    /// The duration of these amounts. The fraction of a month becomes days of the average month,
    /// the fraction of a day becomes seconds, and what is left below a nanosecond is dropped: step
    /// by step in floats, as Neo4j does it, so that both drop the same.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when an amount is not finite or does not fit.
    pub fn from_fractional(
        months: f64,
        days: f64,
        seconds: f64,
        nanos: f64,
    ) -> Result<Self, TemporalError> {
        let rest = |amount: f64, whole: i128, nanos: i64| (amount - whole as f64) * nanos as f64;
        let whole_months = whole(months)?;
        let days = days + rest(months, whole_months, NANOS_PER_MONTH) / NANOS_PER_DAY as f64;
        let whole_days = whole(days)?;
        let seconds = seconds + rest(days, whole_days, NANOS_PER_DAY) / NANOS_PER_SECOND as f64;
        let whole_seconds = whole(seconds)?;
        let nanos = whole(nanos + rest(seconds, whole_seconds, NANOS_PER_SECOND))?;
        let time_nanos = whole_seconds * i128::from(NANOS_PER_SECOND) + nanos;
        Self::from_wide(whole_months, whole_days, time_nanos)
    }

    /// Whole months, years included.
    #[must_use]
    pub const fn months(&self) -> i64 {
        self.months
    }

    /// Whole days, weeks included.
    #[must_use]
    pub const fn days(&self) -> i64 {
        self.days
    }

    /// Whole seconds, hours and minutes included, rounded down.
    #[must_use]
    pub const fn seconds(&self) -> i64 {
        self.seconds
    }

    /// Nanoseconds after the whole seconds, in 0..=999,999,999.
    #[must_use]
    pub const fn nanos(&self) -> u32 {
        self.nanos
    }

    /// Seconds and nanoseconds together, in nanoseconds.
    #[must_use]
    pub fn time_nanos(&self) -> i128 {
        i128::from(self.seconds) * i128::from(NANOS_PER_SECOND) + i128::from(self.nanos)
    }

    /// Length in nanoseconds, with average months and days of 24 hours.
    #[must_use]
    pub fn average_nanos(&self) -> i128 {
        i128::from(self.months) * i128::from(NANOS_PER_MONTH)
            + i128::from(self.days) * i128::from(NANOS_PER_DAY)
            + self.time_nanos()
    }

    /// The sum, amount by amount.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when an amount does not fit.
    pub fn checked_add(&self, other: &Self) -> Result<Self, TemporalError> {
        Self::from_wide(
            i128::from(self.months) + i128::from(other.months),
            i128::from(self.days) + i128::from(other.days),
            self.time_nanos() + other.time_nanos(),
        )
    }

    /// The difference, amount by amount.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when an amount does not fit.
    pub fn checked_sub(&self, other: &Self) -> Result<Self, TemporalError> {
        Self::from_wide(
            i128::from(self.months) - i128::from(other.months),
            i128::from(self.days) - i128::from(other.days),
            self.time_nanos() - other.time_nanos(),
        )
    }

    /// The duration with every amount negated.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when an amount does not fit.
    pub fn checked_neg(&self) -> Result<Self, TemporalError> {
        Self::ZERO.checked_sub(self)
    }

    /// Every amount times an integer, exactly.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when an amount does not fit.
    pub fn checked_mul(&self, factor: i64) -> Result<Self, TemporalError> {
        let factor = i128::from(factor);
        Self::from_wide(
            i128::from(self.months) * factor,
            i128::from(self.days) * factor,
            self.time_nanos().checked_mul(factor).ok_or(OVERFLOW)?,
        )
    }

    /// Every amount times a float; fractions as in [`Duration::from_fractional`].
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the factor is not finite or an amount does not fit.
    pub fn checked_mul_f64(&self, factor: f64) -> Result<Self, TemporalError> {
        Self::from_fractional(
            self.months as f64 * factor,
            self.days as f64 * factor,
            self.seconds as f64 * factor,
            f64::from(self.nanos) * factor,
        )
    }

    /// Every amount divided by a number; fractions as in [`Duration::from_fractional`].
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the divisor is zero or NaN or an amount does not fit.
    pub fn checked_div_f64(&self, divisor: f64) -> Result<Self, TemporalError> {
        if divisor == 0.0 {
            return Err(OVERFLOW);
        }
        Self::from_fractional(
            self.months as f64 / divisor,
            self.days as f64 / divisor,
            self.seconds as f64 / divisor,
            f64::from(self.nanos) / divisor,
        )
    }
}

/// The integer part, with the sign of `x`.
fn whole(x: f64) -> Result<i128, TemporalError> {
    // 2^63: what is beyond does not fit an amount anyhow. Also false for NaN.
    if x.abs() <= 9_223_372_036_854_775_808.0 { Ok(x.trunc() as i128) } else { Err(OVERFLOW) }
}

impl Ord for Duration {
    fn cmp(&self, other: &Self) -> Ordering {
        self.average_nanos()
            .cmp(&other.average_nanos())
            .then_with(|| self.months.cmp(&other.months))
            .then_with(|| self.days.cmp(&other.days))
            .then_with(|| self.seconds.cmp(&other.seconds))
            .then_with(|| self.nanos.cmp(&other.nanos))
    }
}

impl PartialOrd for Duration {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Prints the ISO 8601 form with a sign on each negative amount, such as `P1Y-2M3DT-1.5S`; weeks
/// are printed as days, and nothing at all as `PT0S`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ZERO {
            return f.write_str("PT0S");
        }
        f.write_str("P")?;
        for (amount, unit) in [(self.months / 12, 'Y'), (self.months % 12, 'M'), (self.days, 'D')] {
            if amount != 0 {
                write!(f, "{amount}{unit}")?;
            }
        }
        let nanos = self.time_nanos();
        if nanos == 0 {
            return Ok(());
        }
        f.write_str("T")?;
        let whole = nanos / i128::from(NANOS_PER_SECOND);
        for (amount, unit) in [(whole / 3_600, 'H'), (whole / 60 % 60, 'M')] {
            if amount != 0 {
                write!(f, "{amount}{unit}")?;
            }
        }
        let (seconds, fraction) = (whole % 60, nanos % i128::from(NANOS_PER_SECOND));
        if seconds == 0 && fraction == 0 {
            return Ok(());
        }
        // The integer part of -0.5 would lose its sign.
        let sign = if nanos < 0 { "-" } else { "" };
        write!(f, "{sign}{}", seconds.unsigned_abs())?;
        write_fraction(f, fraction.unsigned_abs() as i64)?;
        f.write_str("S")
    }
}

/// Accepts `P1Y2M3W4DT5H6M7.8S`, every amount optional, signed and with decimals if need be, an
/// optional sign before the `P`; and the date form `P2012-02-02T14:37:21.545` or
/// `P20120202T143721`.
impl FromStr for Duration {
    type Err = TemporalError;

    fn from_str(text: &str) -> Result<Self, TemporalError> {
        duration_parse::parse(text).unwrap_or_else(|| Err(TemporalError::syntax("duration", text)))
    }
}

const _: () = assert!(SECONDS_PER_DAY * 146_097 == SECONDS_PER_MONTH * 4_800);
