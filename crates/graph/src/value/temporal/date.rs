//! Calendar dates.
//!
//! A date is a count of days since 1970-01-01, so comparing and adding days cost one instruction;
//! year, month and day are computed on demand.
//!
//! Source: Howard Hinnant, "chrono-compatible low-level date algorithms" (days and civil dates).

use std::fmt;
use std::str::FromStr;

use super::duration::Duration;
use super::parse::{DateFields, Scanner};
use super::{NANOS_PER_DAY, TemporalError, check};

/// Earliest year of a date.
pub const YEAR_MIN: i32 = -999_999_999;
/// Latest year of a date.
pub const YEAR_MAX: i32 = 999_999_999;

const DAYS_MIN: i64 = days_from_civil(YEAR_MIN as i64, 1, 1);
const DAYS_MAX: i64 = days_from_civil(YEAR_MAX as i64, 12, 31);

/// Days in the 400-year cycle of the Gregorian calendar.
const DAYS_PER_CYCLE: i64 = 146_097;
/// Days from 0000-03-01, where the cycles of the algorithm start, to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;

/// A calendar date without a time zone.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i64);

impl Date {
    /// 1970-01-01.
    pub const EPOCH: Self = Self(0);
    /// The earliest date.
    pub const MIN: Self = Self(DAYS_MIN);
    /// The latest date.
    pub const MAX: Self = Self(DAYS_MAX);

    /// The date of this year, month and day of the month.
    ///
    /// # Errors
    ///
    /// [`TemporalError::OutOfRange`] for the component that is not in the calendar.
    pub fn new(year: i64, month: i64, day: i64) -> Result<Self, TemporalError> {
        check_year(year)?;
        check("month", month, 1, 12)?;
        check("day of the month", day, 1, month_length(year, month))?;
        Ok(Self(days_from_civil(year, month, day)))
    }

    /// The date in this ISO week: week 1 has the year's first Thursday, day 1 is Monday.
    ///
    /// # Errors
    ///
    /// [`TemporalError::OutOfRange`] for the component that is not in the calendar.
    pub fn from_week(year: i64, week: i64, day_of_week: i64) -> Result<Self, TemporalError> {
        check_year(year)?;
        // The fourth of January is always in week 1.
        let fourth = days_from_civil(year, 1, 4);
        let first_monday = fourth - (weekday(fourth) - 1);
        let next_fourth = days_from_civil(year + 1, 1, 4);
        let next_first_monday = next_fourth - (weekday(next_fourth) - 1);
        check("week", week, 1, (next_first_monday - first_monday) / 7)?;
        check("day of the week", day_of_week, 1, 7)?;
        Self::from_epoch_days(first_monday + (week - 1) * 7 + (day_of_week - 1))
    }

    /// The `day`th day of this year.
    ///
    /// # Errors
    ///
    /// [`TemporalError::OutOfRange`] for the component that is not in the calendar.
    pub fn from_ordinal(year: i64, day: i64) -> Result<Self, TemporalError> {
        check_year(year)?;
        check("day of the year", day, 1, if is_leap_year(year) { 366 } else { 365 })?;
        Ok(Self(days_from_civil(year, 1, 1) + day - 1))
    }

    /// The `day`th day of this quarter of this year.
    ///
    /// # Errors
    ///
    /// [`TemporalError::OutOfRange`] for the component that is not in the calendar.
    pub fn from_quarter(year: i64, quarter: i64, day: i64) -> Result<Self, TemporalError> {
        check_year(year)?;
        check("quarter", quarter, 1, 4)?;
        let first_month = quarter * 3 - 2;
        let length = (first_month..first_month + 3).map(|month| month_length(year, month)).sum();
        check("day of the quarter", day, 1, length)?;
        Ok(Self(days_from_civil(year, first_month, 1) + day - 1))
    }

    /// The date this many days after 1970-01-01.
    ///
    /// # Errors
    ///
    /// [`TemporalError::OutOfRange`] when the year would be outside `YEAR_MIN..=YEAR_MAX`.
    pub fn from_epoch_days(days: i64) -> Result<Self, TemporalError> {
        check("days since 1970-01-01", days, DAYS_MIN, DAYS_MAX).map(Self)
    }

    /// Days since 1970-01-01.
    #[inline]
    #[must_use]
    pub const fn epoch_days(self) -> i64 {
        self.0
    }

    /// The year, the month in 1..=12 and the day of the month in 1..=31.
    #[must_use]
    pub const fn year_month_day(self) -> (i32, u8, u8) {
        let (year, month, day) = civil_from_days(self.0);
        (year as i32, month as u8, day as u8)
    }

    /// The year.
    #[must_use]
    pub const fn year(self) -> i32 {
        self.year_month_day().0
    }

    /// The month, in 1..=12.
    #[must_use]
    pub const fn month(self) -> u8 {
        self.year_month_day().1
    }

    /// The day of the month, in 1..=31.
    #[must_use]
    pub const fn day(self) -> u8 {
        self.year_month_day().2
    }

    /// The quarter of the year, in 1..=4.
    #[must_use]
    pub const fn quarter(self) -> u8 {
        (self.month() - 1) / 3 + 1
    }

    /// The day of the quarter, in 1..=92.
    #[must_use]
    pub const fn day_of_quarter(self) -> u8 {
        let (year, month, _) = civil_from_days(self.0);
        (self.0 - days_from_civil(year, (month - 1) / 3 * 3 + 1, 1) + 1) as u8
    }

    /// The day of the year, in 1..=366.
    #[must_use]
    pub const fn day_of_year(self) -> u16 {
        (self.0 - days_from_civil(self.year() as i64, 1, 1) + 1) as u16
    }

    /// The day of the week, from Monday, 1, to Sunday, 7.
    #[must_use]
    pub const fn day_of_week(self) -> u8 {
        weekday(self.0) as u8
    }

    /// The ISO week of the week year, in 1..=53.
    #[must_use]
    pub const fn week(self) -> u8 {
        let thursday = self.thursday_of_week();
        let (year, ..) = civil_from_days(thursday);
        ((thursday - days_from_civil(year, 1, 1)) / 7 + 1) as u8
    }

    /// The year that the ISO week belongs to; near New Year it may differ from the year by one.
    #[must_use]
    pub const fn week_year(self) -> i32 {
        civil_from_days(self.thursday_of_week()).0 as i32
    }

    const fn thursday_of_week(self) -> i64 {
        self.0 - weekday(self.0) + 4
    }

    /// The date `months` later. A day beyond the end of the month becomes its last day.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the result is outside the range of dates.
    pub fn checked_add_months(self, months: i64) -> Result<Self, TemporalError> {
        let (year, month, day) = civil_from_days(self.0);
        let total = (year * 12 + month - 1).checked_add(months).ok_or(OVERFLOW)?;
        let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
        check_year(year).map_err(|_| OVERFLOW)?;
        Ok(Self(days_from_civil(year, month, day.min(month_length(year, month)))))
    }

    /// The date `days` later.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the result is outside the range of dates.
    pub fn checked_add_days(self, days: i64) -> Result<Self, TemporalError> {
        let days = self.0.checked_add(days).ok_or(OVERFLOW)?;
        Self::from_epoch_days(days).map_err(|_| OVERFLOW)
    }

    /// The date later by the duration's months, then its days, then the whole days in its seconds.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the result is outside the range of dates.
    pub fn checked_add(self, duration: &Duration) -> Result<Self, TemporalError> {
        let whole_days = duration.time_nanos() / i128::from(NANOS_PER_DAY);
        self.checked_add_months(duration.months())?
            .checked_add_days(duration.days())?
            .checked_add_days(i64::try_from(whole_days).map_err(|_| OVERFLOW)?)
    }

    /// The date earlier by the duration.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the result is outside the range of dates.
    pub fn checked_sub(self, duration: &Duration) -> Result<Self, TemporalError> {
        self.checked_add(&duration.checked_neg()?)
    }
}

const OVERFLOW: TemporalError = TemporalError::Overflow { target: "a date" };

/// Prints `YYYY-MM-DD`; years before 0 and after 9999 have a sign.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.year_month_day();
        let sign = match year {
            ..0 => "-",
            0..=9999 => "",
            _ => "+",
        };
        write!(f, "{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
    }
}

/// Accepts calendar (`2015-07-21`, `20150721`, `2015-07`, `201507`, `2015`), week (`2015-W30-2`,
/// `2015W302`, `2015-W30`), quarter (`2015-Q2-60`, `2015Q260`, `2015-Q2`) and ordinal dates
/// (`2015-202`, `2015202`). A signed year may have one to nine digits and needs the hyphens.
impl FromStr for Date {
    type Err = TemporalError;

    fn from_str(text: &str) -> Result<Self, TemporalError> {
        let mut scanner = Scanner::new(text);
        let fields = scanner.date().filter(|_| scanner.at_end());
        fields.ok_or_else(|| TemporalError::syntax("date", text))?.resolve()
    }
}

impl DateFields {
    /// The date that the fields read from a text denote.
    pub(super) fn resolve(self) -> Result<Date, TemporalError> {
        match self {
            Self::Calendar { year, month, day } => Date::new(year, month, day),
            Self::Week { year, week, day } => Date::from_week(year, week, day),
            Self::Quarter { year, quarter, day } => Date::from_quarter(year, quarter, day),
            Self::Ordinal { year, day } => Date::from_ordinal(year, day),
        }
    }
}

fn check_year(year: i64) -> Result<i64, TemporalError> {
    check("year", year, i64::from(YEAR_MIN), i64::from(YEAR_MAX))
}

const fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Monday, 1, to Sunday, 7. 1970-01-01 was a Thursday.
const fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// Days since 1970-01-01. The year is counted from March so that leap days come last.
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * DAYS_PER_CYCLE + day_of_cycle - DAYS_TO_EPOCH
}

/// Year, month and day of a count of days since 1970-01-01.
const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_EPOCH;
    let cycle = days.div_euclid(DAYS_PER_CYCLE);
    let day_of_cycle = days.rem_euclid(DAYS_PER_CYCLE);
    let leap_free = day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524
        - day_of_cycle / (DAYS_PER_CYCLE - 1);
    let year_of_cycle = leap_free / 365;
    let day_of_year =
        day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = cycle * 400 + year_of_cycle + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}
