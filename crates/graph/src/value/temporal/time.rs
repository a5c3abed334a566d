//! Times of day, and offsets from UTC.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::duration::Duration;
use super::parse::Scanner;
use super::{NANOS_PER_DAY, NANOS_PER_SECOND, TemporalError, check, write_fraction};

/// A time of day without a time zone, in nanoseconds since midnight.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalTime(i64);

impl LocalTime {
    /// 00:00.
    pub const MIDNIGHT: Self = Self(0);
    /// The last nanosecond of the day.
    pub const MAX: Self = Self(NANOS_PER_DAY - 1);

    /// The time of this hour, minute, second and nanosecond of the second.
    ///
    /// # Errors
    ///
    /// [`TemporalError::OutOfRange`] for the component that is not on the clock.
    pub fn new(
        hour: i64,
        minute: i64,
        second: i64,
        nanosecond: i64,
    ) -> Result<Self, TemporalError> {
        check("hour", hour, 0, 23)?;
        check("minute", minute, 0, 59)?;
        check("second", second, 0, 59)?;
        check("nanosecond", nanosecond, 0, NANOS_PER_SECOND - 1)?;
        Ok(Self(((hour * 60 + minute) * 60 + second) * NANOS_PER_SECOND + nanosecond))
    }

    /// The time this many nanoseconds after midnight.
    ///
    /// # Errors
    ///
    /// [`TemporalError::OutOfRange`] when that is not within the day.
    pub fn from_nanos_of_day(nanos: i64) -> Result<Self, TemporalError> {
        check("nanoseconds of the day", nanos, 0, NANOS_PER_DAY - 1).map(Self)
    }

    /// Nanoseconds since midnight.
    #[inline]
    #[must_use]
    pub const fn nanos_of_day(self) -> i64 {
        self.0
    }

    /// Whole seconds since midnight.
    #[must_use]
    pub const fn second_of_day(self) -> u32 {
        (self.0 / NANOS_PER_SECOND) as u32
    }

    /// The hour, in 0..=23.
    #[must_use]
    pub const fn hour(self) -> u8 {
        (self.second_of_day() / 3_600) as u8
    }

    /// The minute, in 0..=59.
    #[must_use]
    pub const fn minute(self) -> u8 {
        (self.second_of_day() / 60 % 60) as u8
    }

    /// The second, in 0..=59.
    #[must_use]
    pub const fn second(self) -> u8 {
        (self.second_of_day() % 60) as u8
    }

    /// The millisecond of the second, in 0..=999.
    #[must_use]
    pub const fn millisecond(self) -> u32 {
        self.nanosecond() / 1_000_000
    }

    /// The microsecond of the second, in 0..=999,999.
    #[must_use]
    pub const fn microsecond(self) -> u32 {
        self.nanosecond() / 1_000
    }

    /// The nanosecond of the second, in 0..=999,999,999.
    #[must_use]
    pub const fn nanosecond(self) -> u32 {
        (self.0 % NANOS_PER_SECOND) as u32
    }

    /// The time later by the duration's seconds, around the clock; months and days do not matter.
    #[must_use]
    pub fn wrapping_add(self, duration: &Duration) -> Self {
        self.overflowing_add_nanos(duration.time_nanos()).0
    }

    /// The time earlier by the duration's seconds, around the clock.
    #[must_use]
    pub fn wrapping_sub(self, duration: &Duration) -> Self {
        self.overflowing_add_nanos(-duration.time_nanos()).0
    }

    /// The time later by `nanos`, and how many midnights lie between.
    pub(super) fn overflowing_add_nanos(self, nanos: i128) -> (Self, i128) {
        let total = i128::from(self.0) + nanos;
        let day = i128::from(NANOS_PER_DAY);
        (Self(total.rem_euclid(day) as i64), total.div_euclid(day))
    }
}

/// Prints `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fraction`, whichever is the shortest that is exact; with
/// `{:#}` the seconds always stand there, as `toString()` of Cypher has them.
impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.hour(), self.minute())?;
        if f.alternate() || self.second() != 0 || self.nanosecond() != 0 {
            write!(f, ":{:02}", self.second())?;
        }
        write_fraction(f, i64::from(self.nanosecond()))
    }
}

/// Accepts `21:40:32.142`, `21:40`, `21` and `214032.142`, `2140`, each with or without a leading
/// `T`, and a comma for the decimal point.
impl FromStr for LocalTime {
    type Err = TemporalError;

    fn from_str(text: &str) -> Result<Self, TemporalError> {
        let mut scanner = Scanner::new(text);
        scanner.eat(b'T');
        let fields = scanner.time().filter(|_| scanner.at_end());
        fields.ok_or_else(|| TemporalError::syntax("local time", text))?.resolve()
    }
}

/// Offset from UTC in seconds, positive to the east, at most 18 hours either way.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UtcOffset(i32);

impl UtcOffset {
    /// UTC itself.
    pub const UTC: Self = Self(0);

    const SECONDS_MAX: i64 = 18 * 3_600;

    /// The offset of this many seconds.
    ///
    /// # Errors
    ///
    /// [`TemporalError::OutOfRange`] beyond 18 hours.
    pub fn from_seconds(seconds: i64) -> Result<Self, TemporalError> {
        check("offset in seconds", seconds, -Self::SECONDS_MAX, Self::SECONDS_MAX)
            .map(|seconds| Self(seconds as i32))
    }

    /// Seconds east of UTC.
    #[inline]
    #[must_use]
    pub const fn seconds(self) -> i32 {
        self.0
    }

    /// Whole minutes east of UTC, rounded toward zero.
    #[must_use]
    pub const fn minutes(self) -> i32 {
        self.0 / 60
    }
}

/// Prints `Z`, `+HH:MM` or `+HH:MM:SS`.
impl fmt::Display for UtcOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("Z");
        }
        let sign = if self.0 < 0 { '-' } else { '+' };
        let seconds = self.0.unsigned_abs();
        write!(f, "{sign}{:02}:{:02}", seconds / 3_600, seconds / 60 % 60)?;
        if !seconds.is_multiple_of(60) {
            write!(f, ":{:02}", seconds % 60)?;
        }
        Ok(())
    }
}

/// Accepts `Z`, `+HH`, `+HHMM`, `+HHMMSS`, `+HH:MM` and `+HH:MM:SS`, with either sign.
impl FromStr for UtcOffset {
    type Err = TemporalError;

    fn from_str(text: &str) -> Result<Self, TemporalError> {
        let mut scanner = Scanner::new(text);
        let fields = scanner.offset().filter(|_| scanner.at_end());
        fields.ok_or_else(|| TemporalError::syntax("offset from UTC", text))?.resolve()
    }
}

/// A time of day with an offset from UTC.
///
/// Ordered by the moment on the UTC day, then by offset; equal only with equal offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Time {
    local: LocalTime,
    offset: UtcOffset,
}

impl Time {
    /// The time that clocks at this offset show as `local`.
    #[must_use]
    pub const fn new(local: LocalTime, offset: UtcOffset) -> Self {
        Self { local, offset }
    }

    /// What the clock shows.
    #[must_use]
    pub const fn local(self) -> LocalTime {
        self.local
    }

    /// The offset from UTC.
    #[must_use]
    pub const fn offset(self) -> UtcOffset {
        self.offset
    }

    /// Nanoseconds since midnight UTC of the same date; outside the day near midnight.
    #[must_use]
    pub const fn utc_nanos(self) -> i64 {
        self.local.0 - self.offset.0 as i64 * NANOS_PER_SECOND
    }

    /// The same moment as clocks at another offset show it.
    #[must_use]
    pub fn with_offset_same_instant(self, offset: UtcOffset) -> Self {
        let shift = i128::from(offset.0 - self.offset.0) * i128::from(NANOS_PER_SECOND);
        Self { local: self.local.overflowing_add_nanos(shift).0, offset }
    }

    /// The time later by the duration's seconds, around the clock; months and days do not matter.
    #[must_use]
    pub fn wrapping_add(self, duration: &Duration) -> Self {
        Self { local: self.local.wrapping_add(duration), ..self }
    }

    /// The time earlier by the duration's seconds, around the clock.
    #[must_use]
    pub fn wrapping_sub(self, duration: &Duration) -> Self {
        Self { local: self.local.wrapping_sub(duration), ..self }
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        self.utc_nanos().cmp(&other.utc_nanos()).then_with(|| self.offset.cmp(&other.offset))
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Prints the local time followed by the offset.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.local.fmt(f)?;
        self.offset.fmt(f)
    }
}

/// Accepts a local time followed by an offset; without one it is a time at UTC.
impl FromStr for Time {
    type Err = TemporalError;

    fn from_str(text: &str) -> Result<Self, TemporalError> {
        let mut scanner = Scanner::new(text);
        scanner.eat(b'T');
        let syntax = || TemporalError::syntax("time", text);
        let local = scanner.time().ok_or_else(syntax)?;
        let offset = if scanner.at_end() {
            UtcOffset::UTC
        } else {
            scanner.offset().filter(|_| scanner.at_end()).ok_or_else(syntax)?.resolve()?
        };
        Ok(Self::new(local.resolve()?, offset))
    }
}
