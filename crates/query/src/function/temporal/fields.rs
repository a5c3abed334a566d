//! Maps of components, such as `{year: 2020, month: 2, timezone: '+01:00'}`.
//!
//! A date is given in one of four ways: by month and day, by week and day of the week, by quarter
//! and day of the quarter, or by day of the year. A smaller component needs the larger ones, unless
//! they come from another value (`{date: other, day: 1}`); a missing smaller one is the first.

use telar_graph::value::{Date, LocalTime};
use telar_graph::{Value, ValueMap};

use super::construct::moment_of_millis;
use super::{Kind, Parts, Zone};
use crate::error::EvalError;
use crate::function::{Moment, args};
use crate::query_error::ErrorKind;

/// Components of a date: numbers that begin with 1.
const DATE_COMPONENTS: [&str; 8] =
    ["year", "month", "day", "week", "dayOfWeek", "quarter", "dayOfQuarter", "ordinalDay"];

/// Components of any type.
const COMPONENTS: [&str; 20] = [
    "year",
    "month",
    "day",
    "week",
    "dayOfWeek",
    "quarter",
    "dayOfQuarter",
    "ordinalDay",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
    "nanosecond",
    "timezone",
    "date",
    "time",
    "datetime",
    "epochSeconds",
    "epochMillis",
];

/// Components of a date.
#[derive(Debug, Default)]
pub(super) struct DateFields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    week: Option<i64>,
    day_of_week: Option<i64>,
    quarter: Option<i64>,
    day_of_quarter: Option<i64>,
    ordinal_day: Option<i64>,
}

/// Components of a time of day.
#[derive(Debug, Default)]
pub(super) struct TimeFields {
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    millisecond: Option<i64>,
    microsecond: Option<i64>,
    nanosecond: Option<i64>,
}

/// What a map says.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) date: DateFields,
    pub(super) time: TimeFields,
    pub(super) zone: Option<Zone>,
    /// The value of the key `date`.
    pub(super) date_source: Option<Parts>,
    /// The value of the key `time`.
    pub(super) time_source: Option<Parts>,
    /// The value of the key `datetime`, for both.
    pub(super) both: Option<Parts>,
    epoch_seconds: Option<i64>,
    epoch_millis: Option<i64>,
    /// How many entries the map has.
    count: usize,
}

impl Fields {
    /// Reads a map for a type; none when its year is null. Any other number that is null is the
    /// first there is.
    pub(super) fn read(kind: Kind, map: &ValueMap) -> Result<Option<Self>, EvalError> {
        let mut fields = Self { count: map.len(), ..Self::default() };
        if map.is_empty() {
            let message = format!("{} needs at least one component", kind.name());
            return Err(EvalError::argument_value(message));
        }
        for (key, value) in map {
            if value.is_null() && &**key == "year" && kind.has_date() {
                return Ok(None);
            }
            fields.set(kind, key, value)?;
        }
        let sources = [&fields.date_source, &fields.time_source].into_iter().flatten().count();
        if fields.both.is_some() && sources > 0 {
            return Err(EvalError::argument_value("datetime cannot stand beside date or time"));
        }
        Ok(Some(fields))
    }

    fn set(&mut self, kind: Kind, key: &str, value: &Value) -> Result<(), EvalError> {
        let name = kind.name();
        let slot = match (key, kind.has_date(), kind.has_time()) {
            ("year", true, _) => &mut self.date.year,
            ("month", true, _) => &mut self.date.month,
            ("day", true, _) => &mut self.date.day,
            ("week", true, _) => &mut self.date.week,
            ("dayOfWeek", true, _) => &mut self.date.day_of_week,
            ("quarter", true, _) => &mut self.date.quarter,
            ("dayOfQuarter", true, _) => &mut self.date.day_of_quarter,
            ("ordinalDay", true, _) => &mut self.date.ordinal_day,
            ("hour", _, true) => &mut self.time.hour,
            ("minute", _, true) => &mut self.time.minute,
            ("second", _, true) => &mut self.time.second,
            ("millisecond", _, true) => &mut self.time.millisecond,
            ("microsecond", _, true) => &mut self.time.microsecond,
            ("nanosecond", _, true) => &mut self.time.nanosecond,
            ("epochSeconds", true, true) if kind.has_zone() => &mut self.epoch_seconds,
            ("epochMillis", true, true) if kind.has_zone() => &mut self.epoch_millis,
            ("timezone", ..) if kind.has_zone() || self.count == 1 => {
                self.zone = Some(Zone::parse(args::text(name, value)?)?);
                return Ok(());
            }
            ("date", true, _) => {
                self.date_source = Some(source(name, value, true, false)?);
                return Ok(());
            }
            ("time", _, true) => {
                self.time_source = Some(source(name, value, false, true)?);
                return Ok(());
            }
            ("datetime", true, true) => {
                self.both = Some(source(name, value, true, true)?);
                return Ok(());
            }
            _ => {
                let message = format!("{name} has no component {key:?}");
                let error = EvalError::argument_value(message);
                // Values of another type have it.
                let known = COMPONENTS.contains(&key);
                return Err(if known { error.of_kind(ErrorKind::Type) } else { error });
            }
        };
        *slot = Some(match value {
            Value::Null if key.starts_with("epoch") => {
                return Err(EvalError::argument_value(format!("{key} of {name} is null")));
            }
            Value::Null => i64::from(DATE_COMPONENTS.contains(&key)),
            value => args::int(name, value)?,
        });
        Ok(())
    }

    /// Whether a component is to be taken from another value, or from the epoch.
    pub(super) const fn has_sources(&self) -> bool {
        self.date_source.is_some()
            || self.time_source.is_some()
            || self.both.is_some()
            || self.epoch_seconds.is_some()
            || self.epoch_millis.is_some()
    }

    /// Whether the time zone is all there is: that asks for now.
    pub(super) const fn is_only_zone(&self) -> bool {
        self.count == 1 && self.zone.is_some()
    }

    /// The moment given by `epochSeconds` or `epochMillis` and fractions of a second.
    pub(super) fn epoch(&self) -> Result<Option<Moment>, EvalError> {
        let moment = match (self.epoch_seconds, self.epoch_millis) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err(EvalError::argument_value(
                    "epochSeconds cannot stand beside epochMillis",
                ));
            }
            (Some(seconds), None) => Moment { seconds, nanos: 0 },
            (None, Some(millis)) => moment_of_millis(millis),
        };
        let TimeFields { millisecond, microsecond, nanosecond, .. } = self.time;
        let fractions = [millisecond, microsecond, nanosecond].into_iter().flatten().count();
        let used = 1 + usize::from(self.zone.is_some()) + fractions;
        if used != self.count {
            let message = "beside epochSeconds and epochMillis only fractions of a second and a \
                           timezone may stand";
            return Err(EvalError::argument_value(message));
        }
        let nanos = i64::from(moment.nanos) + self.time.nanos()?.unwrap_or(0);
        if nanos >= 1_000_000_000 {
            return Err(EvalError::argument_value("the fraction is more than a second"));
        }
        Ok(Some(Moment { nanos: nanos as u32, ..moment }))
    }
}

/// The parts of a value given for `date`, `time` or `datetime`.
fn source(name: &str, value: &Value, date: bool, time: bool) -> Result<Parts, EvalError> {
    if value.is_null() {
        return Err(EvalError::argument_value(format!("{name} cannot be made of null")));
    }
    let parts = Parts::of(value)?;
    let parts = parts.filter(|p| (p.date.is_some() || !date) && (p.time.is_some() || !time));
    let wanted = match (date, time) {
        (true, false) => "a value with a date",
        (false, true) => "a value with a time of day",
        _ => "a value with a date and a time of day",
    };
    parts.ok_or_else(|| EvalError::argument_type(name, wanted, value))
}

fn missing(component: &str) -> EvalError {
    EvalError::argument_value(format!("{component} must be given"))
}

impl DateFields {
    /// The date with these components, the others being those of `base` or else the first.
    pub(super) fn build(&self, base: Option<Date>) -> Result<Date, EvalError> {
        let ways = [
            self.month.or(self.day).is_some(),
            self.week.or(self.day_of_week).is_some(),
            self.quarter.or(self.day_of_quarter).is_some(),
            self.ordinal_day.is_some(),
        ];
        if ways.iter().filter(|way| **way).count() > 1 {
            return Err(EvalError::argument_value(
                "a date is given by month, by week, by quarter or by day of the year, not by two \
                 of them",
            ));
        }
        match base {
            None => self.build_new(ways),
            Some(base) => self.build_from(base, ways),
        }
    }

    fn build_new(&self, [_, by_week, by_quarter, _]: [bool; 4]) -> Result<Date, EvalError> {
        let year = self.year.ok_or_else(|| missing("year"))?;
        // A smaller component without the larger one.
        let second = |larger: Option<i64>, smaller: Option<i64>, name: &str| match (larger, smaller)
        {
            (None, Some(_)) => Err(missing(name)),
            (larger, smaller) => Ok((larger.unwrap_or(1), smaller.unwrap_or(1))),
        };
        Ok(if let Some(day) = self.ordinal_day {
            Date::from_ordinal(year, day)?
        } else if by_week {
            let (week, day) = second(self.week, self.day_of_week, "week")?;
            in_week(year, week, day)?
        } else if by_quarter {
            let (quarter, day) = second(self.quarter, self.day_of_quarter, "quarter")?;
            in_quarter(year, quarter, day)?
        } else {
            let (month, day) = second(self.month, self.day, "month")?;
            Date::new(year, month, day)?
        })
    }

    fn build_from(
        &self,
        base: Date,
        [_, by_week, by_quarter, _]: [bool; 4],
    ) -> Result<Date, EvalError> {
        let (_, month, day) = base.year_month_day();
        let (month, day) = (i64::from(month), i64::from(day));
        let year = self.year.unwrap_or(i64::from(base.year()));
        if let Some(day) = self.ordinal_day {
            return Ok(Date::from_ordinal(year, day)?);
        }
        if by_week {
            let year = self.year.unwrap_or(i64::from(base.week_year()));
            let day = self.day_of_week.unwrap_or(i64::from(base.day_of_week()));
            if let Some(week) = self.week {
                return in_week(year, week, day);
            }
            // Not every year has week 53.
            let week = i64::from(base.week());
            let date = Date::from_week(year, week, day);
            return Ok(date.or_else(|_| Date::from_week(year, week.min(52), day))?);
        }
        if by_quarter {
            let quarter = self.quarter.unwrap_or(i64::from(base.quarter()));
            if let Some(day) = self.day_of_quarter {
                return in_quarter(year, quarter, day);
            }
            // The same month of another quarter.
            Date::from_quarter(year, quarter, 1)?;
            return clamped(year, (quarter - 1) * 3 + (month - 1) % 3 + 1, day);
        }
        let month = self.month.unwrap_or(month);
        match self.day {
            Some(day) => Ok(Date::new(year, month, day)?),
            None => clamped(year, month, day),
        }
    }
}

/// The date in this week: week 53 of a year that has 52 is the first of the next year.
fn in_week(year: i64, week: i64, day: i64) -> Result<Date, EvalError> {
    match Date::from_week(year, week, day) {
        Err(_) if week == 53 => {
            let before = Date::from_week(year, 52, day)?;
            Ok(Date::from_epoch_days(before.epoch_days() + 7)?)
        }
        date => Ok(date?),
    }
}

/// The date on this day of a quarter: what a short quarter does not have are days of the next.
fn in_quarter(year: i64, quarter: i64, day: i64) -> Result<Date, EvalError> {
    match Date::from_quarter(year, quarter, day) {
        Err(_) if (90..=92).contains(&day) => {
            let first = Date::from_quarter(year, quarter, 1)?;
            Ok(Date::from_epoch_days(first.epoch_days() + day - 1)?)
        }
        date => Ok(date?),
    }
}

/// The date, or the last one of a month that is too short.
fn clamped(year: i64, month: i64, day: i64) -> Result<Date, EvalError> {
    let shorter = (28..day).rev().find_map(|day| Date::new(year, month, day).ok());
    match (Date::new(year, month, day), shorter) {
        (Ok(date), _) | (Err(_), Some(date)) => Ok(date),
        (Err(error), None) => Err(error.into()),
    }
}

impl TimeFields {
    /// The time with these components, the others being those of `base` or else zero.
    pub(super) fn build(&self, base: Option<LocalTime>) -> Result<LocalTime, EvalError> {
        let nanos = self.nanos()?;
        if base.is_none() {
            let chain = [
                ("hour", self.hour.is_some()),
                ("minute", self.minute.is_some()),
                ("second", self.second.is_some()),
                ("a fraction", nanos.is_some()),
            ];
            if let Some(pair) = chain.windows(2).find(|pair| !pair[0].1 && pair[1].1) {
                return Err(missing(pair[0].0));
            }
        }
        let base = base.unwrap_or(LocalTime::MIDNIGHT);
        Ok(LocalTime::new(
            self.hour.unwrap_or(i64::from(base.hour())),
            self.minute.unwrap_or(i64::from(base.minute())),
            self.second.unwrap_or(i64::from(base.second())),
            nanos.unwrap_or(i64::from(base.nanosecond())),
        )?)
    }

    /// Where a finer fraction is given than `base` was truncated to, keeps what `base` has of the
    /// coarser: milliseconds, and with `to_micros` also microseconds.
    pub(super) fn keep_fraction(&mut self, base: LocalTime, to_micros: bool) {
        let finer = if to_micros { self.nanosecond } else { self.microsecond.or(self.nanosecond) };
        if finer.is_none() || self.millisecond.is_some() {
            return;
        }
        if to_micros {
            if self.microsecond.is_some() {
                return;
            }
            self.microsecond = Some(i64::from(base.microsecond() % 1_000));
        }
        self.millisecond = Some(i64::from(base.millisecond()));
    }

    /// Nanoseconds of the second, if a fraction is given. A component beside a larger one counts
    /// only what that one leaves: microseconds beside milliseconds are fewer than 1000.
    fn nanos(&self) -> Result<Option<i64>, EvalError> {
        let (milli, micro, nano) = (self.millisecond, self.microsecond, self.nanosecond);
        if milli.or(micro).or(nano).is_none() {
            return Ok(None);
        }
        let micros_max = if milli.is_some() { 999 } else { 999_999 };
        let nanos_max = match (milli, micro) {
            (_, Some(_)) => 999,
            (Some(_), None) => 999_999,
            (None, None) => 999_999_999,
        };
        let parts = [
            ("millisecond", milli, 999, 1_000_000),
            ("microsecond", micro, micros_max, 1_000),
            ("nanosecond", nano, nanos_max, 1),
        ];
        let mut nanos = 0;
        for (name, amount, max, scale) in parts {
            let amount = amount.unwrap_or(0);
            if !(0..=max).contains(&amount) {
                let message = format!("{name} must be in 0..={max}, got {amount}");
                return Err(EvalError::argument_value(message));
            }
            nanos += amount * scale;
        }
        Ok(Some(nanos))
    }
}
