//! Parser of durations.
//!
//! Amounts are read as integers scaled by 10^18, so that `P0.75M` and `PT0.1S` come out exactly;
//! decimals beyond the eighteenth are dropped.

use super::duration::{Duration, SECONDS_PER_MONTH};
use super::parse::Scanner;
use super::{NANOS_PER_SECOND, SECONDS_PER_DAY, TemporalError};

/// One, scaled.
const ONE: i128 = 1_000_000_000_000_000_000;
/// Decimals of a scaled amount.
const DECIMALS: usize = 18;
/// Digits before the decimal point: enough for any `i64`.
const DIGITS_MAX: usize = 19;
/// What one nanosecond is of a second, scaled.
const NANO: i128 = ONE / NANOS_PER_SECOND as i128;

const OVERFLOW: TemporalError = TemporalError::Overflow { target: "a duration" };

/// Scaled sums of the amounts read.
#[derive(Default)]
struct Amounts {
    months: i128,
    days: i128,
    seconds: i128,
}

/// None on a syntax error; some error when an amount does not fit.
pub(super) fn parse(text: &str) -> Option<Result<Duration, TemporalError>> {
    let mut scanner = Scanner::new(text);
    let negative = scanner.sign().unwrap_or(false);
    if !scanner.eat(b'P') {
        return None;
    }
    // The date form starts with a four-digit year and a hyphen, or eight digits and perhaps `T`.
    let body = scanner.rest();
    let year_digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let after_year = body.as_bytes().get(year_digits).map(u8::to_ascii_uppercase);
    let parsed = match (year_digits, after_year) {
        (4, Some(b'-')) | (8, None | Some(b'T')) => parse_date_form(&mut scanner)?,
        _ => parse_units(&mut scanner)?.and_then(Amounts::into_duration),
    };
    if !scanner.at_end() {
        return None;
    }
    Some(parsed.and_then(|d| if negative { d.checked_neg() } else { Ok(d) }))
}

/// Reads `1Y2M3W4DT5H6M7S`, in that order, at least one amount and at least one after the `T`.
fn parse_units(scanner: &mut Scanner<'_>) -> Option<Result<Amounts, TemporalError>> {
    let mut amounts = Amounts::default();
    let mut fits = Some(());
    let mut units = b"YMWD".iter();
    let mut in_time = false;
    loop {
        if !in_time && scanner.eat(b'T') {
            in_time = true;
            units = b"HMS".iter();
        }
        let amount = read_amount(scanner)?;
        // Each unit at most once and none after a smaller one.
        let unit = *units.find(|unit| scanner.eat(**unit))?;
        let (sum, scale) = match (unit, in_time) {
            (b'Y', _) => (&mut amounts.months, 12),
            (b'M', false) => (&mut amounts.months, 1),
            (b'W', _) => (&mut amounts.days, 7),
            (b'D', _) => (&mut amounts.days, 1),
            (b'H', _) => (&mut amounts.seconds, 3_600),
            (b'M', true) => (&mut amounts.seconds, 60),
            _ => (&mut amounts.seconds, 1),
        };
        let added = amount.and_then(|a| a.checked_mul(scale)).and_then(|a| sum.checked_add(a));
        match added {
            Some(added) => *sum = added,
            None => fits = None,
        }
        if scanner.at_end() {
            return Some(fits.map(|()| amounts).ok_or(OVERFLOW));
        }
    }
}

/// Reads a signed decimal number. The outer option is none on a syntax error, the inner one when
/// the number has too many digits before the point.
fn read_amount(scanner: &mut Scanner<'_>) -> Option<Option<i128>> {
    let negative = scanner.sign().unwrap_or(false);
    let whole = scanner.digits();
    let decimals = if scanner.eat(b'.') || scanner.eat(b',') {
        Some(scanner.digits()).filter(|digits| !digits.is_empty())?
    } else {
        ""
    };
    if whole.is_empty() {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    if whole.len() > DIGITS_MAX {
        return Some(None);
    }
    let decimals = &decimals[..decimals.len().min(DECIMALS)];
    let scaled: i128 = format!("{whole}{decimals:0<DECIMALS$}").parse().ok()?;
    Some(Some(if negative { -scaled } else { scaled }))
}

/// Reads a date and perhaps a time of day, each field an amount.
fn parse_date_form(scanner: &mut Scanner<'_>) -> Option<Result<Duration, TemporalError>> {
    let (years, months, days) = scanner.year_month_day()?;
    let (seconds, nanos) = if scanner.eat(b'T') {
        let time = scanner.time()?;
        ((time.hour * 60 + time.minute) * 60 + time.second, time.nanosecond)
    } else {
        (0, 0)
    };
    Some(Duration::new(years * 12 + months, days, seconds, nanos))
}

impl Amounts {
    /// Carries fractions of months into days and fractions of days into time.
    fn into_duration(self) -> Result<Duration, TemporalError> {
        let nanos_of =
            |fraction: i128, unit_seconds: i64| fraction * i128::from(unit_seconds) / NANO;
        let day = i128::from(SECONDS_PER_DAY * NANOS_PER_SECOND);
        let day_nanos = (self.days / ONE) * day
            + nanos_of(self.days % ONE, SECONDS_PER_DAY)
            + nanos_of(self.months % ONE, SECONDS_PER_MONTH);
        let time_nanos = self.seconds / NANO + day_nanos % day;
        Duration::from_wide(self.months / ONE, day_nanos / day, time_nanos)
    }
}
