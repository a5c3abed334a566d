//! Parser of durations.
//!
//! Amounts are read as integers scaled by 10^18, so that `PT0.1S` comes out exactly; decimals
//! beyond the eighteenth are dropped. A fraction of anything but seconds is carried on in floats,
//! by [`Duration::from_fractional`].

use super::duration::Duration;
use super::parse::Scanner;
use super::{NANOS_PER_SECOND, TemporalError};

/// One, scaled.
const ONE: i128 = 1_000_000_000_000_000_000;
/// Decimals of a scaled amount.
const DECIMALS: usize = 18;
/// Digits before the decimal point: enough for any `i64`.
const DIGITS_MAX: usize = 19;
/// What one nanosecond is of a second, scaled.
const NANO: i128 = ONE / NANOS_PER_SECOND as i128;

const OVERFLOW: TemporalError = TemporalError::Overflow { target: "a duration" };

/// Sums of the amounts read: scaled; and as floats, seconds without their fraction.
#[derive(Default)]
struct Amounts {
    months: i128,
    days: i128,
    seconds: i128,
    floats: [f64; 3],
    /// The fraction of the seconds.
    nanos: i128,
    /// Whether a larger amount than seconds has a fraction.
    fractional: bool,
}

/// A decimal number, scaled and as a float.
struct Amount {
    scaled: i128,
    float: f64,
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
        let (sum, float, scale) = match (unit, in_time) {
            (b'Y', _) => (&mut amounts.months, 0, 12),
            (b'M', false) => (&mut amounts.months, 0, 1),
            (b'W', _) => (&mut amounts.days, 1, 7),
            (b'D', _) => (&mut amounts.days, 1, 1),
            (b'H', _) => (&mut amounts.seconds, 2, 3_600),
            (b'M', true) => (&mut amounts.seconds, 2, 60),
            _ => (&mut amounts.seconds, 2, 1),
        };
        let seconds = float == 2 && scale == 1;
        let added = amount.as_ref().and_then(|a| a.scaled.checked_mul(scale));
        match (amount, added.and_then(|added| sum.checked_add(added))) {
            (Some(amount), Some(added)) => {
                *sum = added;
                let whole = if seconds { amount.float.trunc() } else { amount.float };
                amounts.floats[float] += whole * scale as f64;
                amounts.fractional |= !seconds && amount.scaled % ONE != 0;
                if seconds {
                    amounts.nanos += amount.scaled % ONE / NANO;
                }
            }
            _ => fits = None,
        }
        if scanner.at_end() {
            return Some(fits.map(|()| amounts).ok_or(OVERFLOW));
        }
    }
}

/// Reads a signed decimal number. The outer option is none on a syntax error, the inner one when
/// the number has too many digits before the point.
fn read_amount(scanner: &mut Scanner<'_>) -> Option<Option<Amount>> {
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
    let float: f64 = format!("0{whole}.{decimals}0").parse().ok()?;
    Some(Some(match negative {
        true => Amount { scaled: -scaled, float: -float },
        false => Amount { scaled, float },
    }))
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
        if self.fractional {
            let [months, days, seconds] = self.floats;
            return Duration::from_fractional(months, days, seconds, self.nanos as f64);
        }
        Duration::from_wide(self.months / ONE, self.days / ONE, self.seconds / NANO)
    }
}
