//! Dates with a time of day: without a zone, and with an offset from UTC.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::date::Date;
use super::duration::Duration;
use super::parse::{DateFields, OffsetFields, Scanner, TimeFields};
use super::time::{LocalTime, UtcOffset};
use super::{NANOS_PER_SECOND, SECONDS_PER_DAY, TemporalError};

/// Longest name of a time zone; the longest in the IANA database has 32 bytes.
pub const ZONE_NAME_BYTES_MAX: usize = 255;

const OVERFLOW: TemporalError = TemporalError::Overflow { target: "a date and time" };

/// A date and time of day without a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalDateTime {
    date: Date,
    time: LocalTime,
}

impl LocalDateTime {
    /// This time on this date.
    #[must_use]
    pub const fn new(date: Date, time: LocalTime) -> Self {
        Self { date, time }
    }

    /// The date.
    #[must_use]
    pub const fn date(self) -> Date {
        self.date
    }

    /// The time of day.
    #[must_use]
    pub const fn time(self) -> LocalTime {
        self.time
    }

    /// Seconds from 1970-01-01T00:00 to this, both on the same clock, rounded down.
    #[must_use]
    pub fn epoch_second(self) -> i64 {
        self.date.epoch_days() * SECONDS_PER_DAY + i64::from(self.time.second_of_day())
    }

    /// The date and time this long after 1970-01-01T00:00 on the same clock.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when that is outside the range of dates.
    pub fn from_epoch(seconds: i64, nanoseconds: i64) -> Result<Self, TemporalError> {
        Self::new(Date::EPOCH, LocalTime::MIDNIGHT)
            .add_nanos(i128::from(seconds) * i128::from(NANOS_PER_SECOND) + i128::from(nanoseconds))
    }

    /// This later by the duration's months, then its days, then its seconds.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the result is outside the range of dates.
    pub fn checked_add(self, duration: &Duration) -> Result<Self, TemporalError> {
        let date = self.date.checked_add_months(duration.months())?;
        let date = date.checked_add_days(duration.days())?;
        Self { date, ..self }.add_nanos(duration.time_nanos())
    }

    /// This earlier by the duration.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the result is outside the range of dates.
    pub fn checked_sub(self, duration: &Duration) -> Result<Self, TemporalError> {
        self.checked_add(&duration.checked_neg()?)
    }

    pub(super) fn add_nanos(self, nanos: i128) -> Result<Self, TemporalError> {
        let (time, days) = self.time.overflowing_add_nanos(nanos);
        let days = i64::try_from(days).map_err(|_| OVERFLOW)?;
        Ok(Self { date: self.date.checked_add_days(days)?, time })
    }
}

/// Prints the date, `T` and the time of day, with `{:#}` always with seconds.
impl fmt::Display for LocalDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T", self.date)?;
        self.time.fmt(f)
    }
}

/// Accepts any form of a date, then perhaps `T` and any form of a time of day.
impl FromStr for LocalDateTime {
    type Err = TemporalError;

    fn from_str(text: &str) -> Result<Self, TemporalError> {
        let syntax = || TemporalError::syntax("local date and time", text);
        let mut scanner = Scanner::new(text);
        let date = scanner.date().ok_or_else(syntax)?;
        let time = if scanner.eat(b'T') { Some(scanner.time().ok_or_else(syntax)?) } else { None };
        if scanner.at_end() { resolve_local(date, time) } else { Err(syntax()) }
    }
}

fn resolve_local(
    date: DateFields,
    time: Option<TimeFields>,
) -> Result<LocalDateTime, TemporalError> {
    let time = time.map_or(Ok(LocalTime::MIDNIGHT), TimeFields::resolve)?;
    Ok(LocalDateTime::new(date.resolve()?, time))
}

/// A date and time of day with an offset from UTC, and perhaps the name of a time zone.
///
/// The name is carried along; the offset counts. Whoever knows the rules of the zone resolves the
/// offset before making the value, and again after arithmetic ([`DateTime::checked_add`]).
///
/// Ordered by instant, then by offset, then without zone before zones by name; equal only when all
/// of these are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DateTime {
    local: LocalDateTime,
    offset: UtcOffset,
    zone: Option<Arc<str>>,
}

impl DateTime {
    /// What clocks at this offset show as `local`.
    #[must_use]
    pub const fn new(local: LocalDateTime, offset: UtcOffset) -> Self {
        Self { local, offset, zone: None }
    }

    /// What clocks in a zone show as `local` while they are at this offset.
    ///
    /// # Errors
    ///
    /// [`TemporalError::ZoneName`] when the name is empty, longer than [`ZONE_NAME_BYTES_MAX`] or
    /// has characters other than ASCII letters, digits and `_/+-.~`.
    pub fn with_zone(
        local: LocalDateTime,
        offset: UtcOffset,
        zone: impl Into<Arc<str>>,
    ) -> Result<Self, TemporalError> {
        let zone = zone.into();
        check_zone_name(&zone)?;
        Ok(Self { local, offset, zone: Some(zone) })
    }

    /// The instant this long after 1970-01-01T00:00Z, as clocks at this offset show it.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when that is outside the range of dates.
    pub fn from_epoch(
        seconds: i64,
        nanoseconds: i64,
        offset: UtcOffset,
    ) -> Result<Self, TemporalError> {
        let seconds = seconds.checked_add(i64::from(offset.seconds())).ok_or(OVERFLOW)?;
        Ok(Self::new(LocalDateTime::from_epoch(seconds, nanoseconds)?, offset))
    }

    /// What the clock shows.
    #[must_use]
    pub const fn local(&self) -> LocalDateTime {
        self.local
    }

    /// The date that the clock shows.
    #[must_use]
    pub const fn date(&self) -> Date {
        self.local.date
    }

    /// The time of day that the clock shows.
    #[must_use]
    pub const fn time(&self) -> LocalTime {
        self.local.time
    }

    /// The offset from UTC.
    #[must_use]
    pub const fn offset(&self) -> UtcOffset {
        self.offset
    }

    /// Name of the time zone, if one was given.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    /// Seconds from 1970-01-01T00:00Z to this instant, rounded down.
    #[must_use]
    pub fn epoch_second(&self) -> i64 {
        self.local.epoch_second() - i64::from(self.offset.seconds())
    }

    /// Nanoseconds from 1970-01-01T00:00Z to this instant.
    #[must_use]
    pub fn epoch_nanos(&self) -> i128 {
        i128::from(self.epoch_second()) * i128::from(NANOS_PER_SECOND)
            + i128::from(self.local.time.nanosecond())
    }

    /// The same instant as clocks at another offset show it, without a zone name.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the local date leaves the range of dates.
    pub fn with_offset_same_instant(&self, offset: UtcOffset) -> Result<Self, TemporalError> {
        let shift = i128::from(offset.seconds() - self.offset.seconds());
        let local = self.local.add_nanos(shift * i128::from(NANOS_PER_SECOND))?;
        Ok(Self::new(local, offset))
    }

    /// This later by the duration's months and days on the clock, then by its seconds, at the same
    /// offset and with the same zone name.
    ///
    /// Where a zone is named, the offset may have to change. The caller who knows the zone's rules
    /// adds the months and days to [`DateTime::local`], resolves the offset, then adds the seconds.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the result is outside the range of dates.
    pub fn checked_add(&self, duration: &Duration) -> Result<Self, TemporalError> {
        Ok(Self { local: self.local.checked_add(duration)?, ..self.clone() })
    }

    /// This earlier by the duration; as [`DateTime::checked_add`].
    ///
    /// # Errors
    ///
    /// [`TemporalError::Overflow`] when the result is outside the range of dates.
    pub fn checked_sub(&self, duration: &Duration) -> Result<Self, TemporalError> {
        self.checked_add(&duration.checked_neg()?)
    }
}

fn check_zone_name(name: &str) -> Result<(), TemporalError> {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"_/+-.~".contains(&byte);
    if (1..=ZONE_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(valid) {
        Ok(())
    } else {
        let name = name.chars().take(ZONE_NAME_BYTES_MAX).collect();
        Err(TemporalError::ZoneName { name })
    }
}

impl Ord for DateTime {
    fn cmp(&self, other: &Self) -> Ordering {
        self.epoch_nanos()
            .cmp(&other.epoch_nanos())
            .then_with(|| self.offset.cmp(&other.offset))
            .then_with(|| self.zone.cmp(&other.zone))
    }
}

impl PartialOrd for DateTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Prints the local date and time, the offset, and `[zone]` when one is named; with `{:#}` always
/// with seconds.
impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.local.fmt(f)?;
        self.offset.fmt(f)?;
        match &self.zone {
            Some(zone) => write!(f, "[{zone}]"),
            None => Ok(()),
        }
    }
}

/// A date and time as a text spells it, before the rules of a time zone are consulted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedDateTime {
    /// What the clock shows.
    pub local: LocalDateTime,
    /// The offset, if the text gives one.
    pub offset: Option<UtcOffset>,
    /// The name of the time zone, if the text gives one; its form has been checked.
    pub zone: Option<Arc<str>>,
}

/// Accepts any form of a local date and time; then, after a time of day, perhaps an offset; then
/// perhaps the name of a zone in brackets, in which blanks may stand for underscores.
impl FromStr for ParsedDateTime {
    type Err = TemporalError;

    fn from_str(text: &str) -> Result<Self, TemporalError> {
        let syntax = || TemporalError::syntax("date and time", text);
        let mut scanner = Scanner::new(text);
        let date = scanner.date().ok_or_else(syntax)?;
        let time = if scanner.eat(b'T') { Some(scanner.time().ok_or_else(syntax)?) } else { None };
        let offset = match scanner.peek() {
            None | Some(b'[') => None,
            // After a date alone an offset would read like one more part of the date.
            Some(_) if time.is_none() => return Err(syntax()),
            Some(_) => Some(scanner.offset().ok_or_else(syntax)?),
        };
        let zone =
            if scanner.at_end() { None } else { Some(scanner.bracketed().ok_or_else(syntax)?) };
        let zone = zone.map(|zone| zone.replace(' ', "_"));
        zone.as_deref().map_or(Ok(()), check_zone_name)?;
        Ok(Self {
            local: resolve_local(date, time)?,
            offset: offset.map(OffsetFields::resolve).transpose()?,
            zone: zone.map(Into::into),
        })
    }
}

/// Accepts what [`ParsedDateTime`] accepts. Without offset and zone the result is at UTC; a zone
/// without an offset is an error, because no zone rules are known here.
impl FromStr for DateTime {
    type Err = TemporalError;

    fn from_str(text: &str) -> Result<Self, TemporalError> {
        let ParsedDateTime { local, offset, zone } = text.parse()?;
        match (offset, zone) {
            (None, Some(zone)) => Err(TemporalError::ZoneWithoutOffset { name: Box::from(&*zone) }),
            (offset, zone) => Ok(Self { local, offset: offset.unwrap_or_default(), zone }),
        }
    }
}
