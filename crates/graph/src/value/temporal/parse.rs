//! Scanner for the ISO 8601 forms that openCypher accepts.
//!
//! The scanner only recognises syntax and returns the numbers it read; whether they are on the
//! calendar is for the constructors to say, so that "month 13" is reported as that. Letters are
//! accepted in either case.

use super::TemporalError;
use super::time::{LocalTime, UtcOffset};

/// The rest of a text that is being read.
pub(super) struct Scanner<'a> {
    rest: &'a str,
}

/// Fields of a date, as written.
#[derive(Debug, Clone, Copy)]
pub(super) enum DateFields {
    Calendar { year: i64, month: i64, day: i64 },
    Week { year: i64, week: i64, day: i64 },
    Quarter { year: i64, quarter: i64, day: i64 },
    Ordinal { year: i64, day: i64 },
}

/// Fields of a time of day, as written.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeFields {
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) nanosecond: i64,
}

impl TimeFields {
    /// The time of day that the fields denote.
    pub(super) fn resolve(self) -> Result<LocalTime, TemporalError> {
        LocalTime::new(self.hour, self.minute, self.second, self.nanosecond)
    }
}

/// Fields of an offset from UTC, as written.
#[derive(Debug, Clone, Copy)]
pub(super) struct OffsetFields {
    negative: bool,
    hour: i64,
    minute: i64,
    second: i64,
}

impl OffsetFields {
    /// The offset that the fields denote.
    pub(super) fn resolve(self) -> Result<UtcOffset, TemporalError> {
        super::check("minute of the offset", self.minute, 0, 59)?;
        super::check("second of the offset", self.second, 0, 59)?;
        let seconds = (self.hour * 60 + self.minute) * 60 + self.second;
        UtcOffset::from_seconds(if self.negative { -seconds } else { seconds })
    }
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(super) const fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// What has not been consumed.
    pub(super) const fn rest(&self) -> &'a str {
        self.rest
    }

    /// The next byte in upper case, not consumed.
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.bytes().next().map(|byte| byte.to_ascii_uppercase())
    }

    /// Consumes the ASCII character `wanted`, given in upper case, when it is next.
    pub(super) fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    /// Consumes a sign; whether it was a minus. None when there is no sign.
    pub(super) fn sign(&mut self) -> Option<bool> {
        if self.eat(b'-') { Some(true) } else { self.eat(b'+').then_some(false) }
    }

    /// Consumes the longest run of digits; it may be empty.
    pub(super) fn digits(&mut self) -> &'a str {
        let end = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits
    }

    /// Consumes what stands between `[` and a `]` at the very end.
    pub(super) fn bracketed(&mut self) -> Option<&'a str> {
        let inner = self.rest.strip_prefix('[')?.strip_suffix(']')?;
        self.rest = "";
        Some(inner)
    }

    /// Consumes a run of `min..=max` digits, neither more nor fewer.
    fn number(&mut self, min: usize, max: usize) -> Option<i64> {
        let digits = self.digits();
        if (min..=max).contains(&digits.len()) { digits.parse().ok() } else { None }
    }

    /// Consumes a decimal point or comma and one to nine digits, as nanoseconds; 0 without one.
    fn fraction(&mut self) -> Option<i64> {
        if !self.eat(b'.') && !self.eat(b',') {
            return Some(0);
        }
        let digits = self.digits();
        if !(1..=9).contains(&digits.len()) {
            return None;
        }
        format!("{digits:0<9}").parse().ok()
    }

    /// Consumes a date in any of its forms.
    pub(super) fn date(&mut self) -> Option<DateFields> {
        if let Some(negative) = self.sign() {
            let year = self.number(1, 9)?;
            return self.date_after_year(if negative { -year } else { year });
        }
        let digits = self.digits();
        let year = number_at(digits, 0, 4)?;
        match digits.len() {
            4 if self.eat(b'W') => {
                let digits = self.digits();
                let week = number_at(digits, 0, 2)?;
                let day = if digits.len() == 2 { 1 } else { number_at(digits, 2, 3)? };
                (digits.len() <= 3).then_some(DateFields::Week { year, week, day })
            }
            4 if self.eat(b'Q') => {
                let digits = self.digits();
                let quarter = number_at(digits, 0, 1)?;
                let day = if digits.len() == 1 { 1 } else { number_at(digits, 1, 3)? };
                (digits.len() <= 3).then_some(DateFields::Quarter { year, quarter, day })
            }
            4 => self.date_after_year(year),
            6 => Some(DateFields::Calendar { year, month: number_at(digits, 4, 6)?, day: 1 }),
            7 => Some(DateFields::Ordinal { year, day: number_at(digits, 4, 7)? }),
            8 => {
                let (month, day) = (number_at(digits, 4, 6)?, number_at(digits, 6, 8)?);
                Some(DateFields::Calendar { year, month, day })
            }
            _ => None,
        }
    }

    /// Consumes `YYYY-MM-DD` or `YYYYMMDD`, complete.
    pub(super) fn year_month_day(&mut self) -> Option<(i64, i64, i64)> {
        let digits = self.digits();
        let year = number_at(digits, 0, 4)?;
        if digits.len() == 8 {
            return Some((year, number_at(digits, 4, 6)?, number_at(digits, 6, 8)?));
        }
        let month = self.eat(b'-').then(|| self.number(2, 2))??;
        let day = self.eat(b'-').then(|| self.number(2, 2))??;
        Some((year, month, day))
    }

    /// Consumes what follows the year in the forms with hyphens.
    fn date_after_year(&mut self, year: i64) -> Option<DateFields> {
        if !self.eat(b'-') {
            return Some(DateFields::Calendar { year, month: 1, day: 1 });
        }
        if self.eat(b'W') {
            let week = self.number(1, 2)?;
            let day = if self.eat(b'-') { self.number(1, 1)? } else { 1 };
            return Some(DateFields::Week { year, week, day });
        }
        if self.eat(b'Q') {
            let quarter = self.number(1, 1)?;
            let day = if self.eat(b'-') { self.number(1, 2)? } else { 1 };
            return Some(DateFields::Quarter { year, quarter, day });
        }
        let digits = self.digits();
        match digits.len() {
            1 | 2 => {
                let month = digits.parse().ok()?;
                let day = if self.eat(b'-') { self.number(1, 2)? } else { 1 };
                Some(DateFields::Calendar { year, month, day })
            }
            3 => Some(DateFields::Ordinal { year, day: digits.parse().ok()? }),
            _ => None,
        }
    }

    /// Consumes a time of day in any of its forms.
    pub(super) fn time(&mut self) -> Option<TimeFields> {
        let digits = self.digits();
        let (mut minute, mut second, mut nanosecond) = (0, 0, 0);
        let hour = match digits.len() {
            1 | 2 => {
                if self.eat(b':') {
                    minute = self.number(1, 2)?;
                    if self.eat(b':') {
                        second = self.number(1, 2)?;
                        nanosecond = self.fraction()?;
                    }
                }
                digits.parse().ok()?
            }
            4 | 6 => {
                minute = number_at(digits, 2, 4)?;
                if digits.len() == 6 {
                    second = number_at(digits, 4, 6)?;
                    nanosecond = self.fraction()?;
                }
                number_at(digits, 0, 2)?
            }
            _ => return None,
        };
        Some(TimeFields { hour, minute, second, nanosecond })
    }

    /// Consumes an offset from UTC in any of its forms.
    pub(super) fn offset(&mut self) -> Option<OffsetFields> {
        if self.eat(b'Z') {
            return Some(OffsetFields { negative: false, hour: 0, minute: 0, second: 0 });
        }
        let negative = self.sign()?;
        // An offset without its sign has the forms of a time of day without a fraction.
        let TimeFields { hour, minute, second, nanosecond } = self.time()?;
        (nanosecond == 0).then_some(OffsetFields { negative, hour, minute, second })
    }
}

/// The number that the digits at `start..end` spell; none when there are not so many.
fn number_at(digits: &str, start: usize, end: usize) -> Option<i64> {
    digits.get(start..end)?.parse().ok()
}
