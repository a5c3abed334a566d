//! `apoc.date.*`: moments as numbers, and texts by Java's patterns (`yyyy-MM-dd HH:mm:ss`).

use std::fmt::Write;

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use telar_graph::Value;

use super::{args, text_or};
use crate::error::EvalError;
use crate::function::{Eval, Function};

/// The pattern of texts that name none.
const PATTERN: &str = "yyyy-MM-dd HH:mm:ss";
const ISO: &str = "yyyy-MM-dd'T'HH:mm:ss.SSSX";

/// The pattern that a name of Elasticsearch's stands for; anything else is a pattern.
fn pattern_of(text: &str) -> &str {
    match text {
        "basic_date" => "yyyyMMdd",
        "basic_date_time" => "yyyyMMdd'T'HHmmss.SSSX",
        "basic_date_time_no_millis" => "yyyyMMdd'T'HHmmssX",
        "date" | "year_month_day" | "iso_date" | "iso_local_date" => "yyyy-MM-dd",
        "date_hour" => "yyyy-MM-dd'T'HH",
        "date_hour_minute" => "yyyy-MM-dd'T'HH:mm",
        "date_hour_minute_second" | "iso_local_date_time" => "yyyy-MM-dd'T'HH:mm:ss",
        "date_hour_minute_second_fraction" | "date_hour_minute_second_millis" => {
            "yyyy-MM-dd'T'HH:mm:ss.SSS"
        }
        "date_time" => "yyyy-MM-dd'T'HH:mm:ss.SSSX",
        "date_time_no_millis" => "yyyy-MM-dd'T'HH:mm:ssX",
        "year_month" => "yyyy-MM",
        "year" => "yyyy",
        pattern => pattern,
    }
}

const fn on(
    name: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "Temporal", arity, signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    on(
        "apoc.date.currentTimestamp",
        (0, 0),
        "apoc.date.currentTimestamp() :: INTEGER",
        "The present, in milliseconds since 1970-01-01T00:00Z.",
        |_, context| Ok(Value::Int(context.clock.now().millis())),
    )
    .volatile(),
    on(
        "apoc.date.format",
        (1, 4),
        "apoc.date.format(time :: INTEGER, unit = 'ms' :: STRING, format = 'yyyy-MM-dd \
         HH:mm:ss' :: STRING, timezone = '' :: STRING) :: STRING",
        "A moment since 1970 as text.",
        |args, _| {
            let name = "apoc.date.format()";
            let unit = unit(name, args.get(1))?;
            let zone = zone(name, text_or(name, args.get(3), "")?)?;
            let moment = moment(name, args::int(name, &args[0])?, unit)?;
            Ok(format(&moment.to_zoned(zone), text_or(name, args.get(2), PATTERN)?)?.into())
        },
    ),
    on(
        "apoc.date.parse",
        (1, 4),
        "apoc.date.parse(time :: STRING, unit = 'ms' :: STRING, format = 'yyyy-MM-dd HH:mm:ss' \
         :: STRING, timezone = '' :: STRING) :: INTEGER",
        "The moment since 1970 that a text is.",
        |args, _| {
            let name = "apoc.date.parse()";
            let unit = unit(name, args.get(1))?;
            let zone = zone(name, text_or(name, args.get(3), "")?)?;
            let text = args::text(name, &args[0])?;
            let moment = parse(text, text_or(name, args.get(2), PATTERN)?, &zone)?;
            Ok(Value::Int(moment.as_millisecond().div_euclid(unit)))
        },
    ),
    on(
        "apoc.date.toISO8601",
        (1, 2),
        "apoc.date.toISO8601(time :: INTEGER, unit = 'ms' :: STRING) :: STRING",
        "A moment since 1970 as 2021-01-01T00:00:00.000Z.",
        |args, _| {
            let name = "apoc.date.toISO8601()";
            let moment = moment(name, args::int(name, &args[0])?, unit(name, args.get(1))?)?;
            Ok(format(&moment.to_zoned(TimeZone::UTC), ISO)?.into())
        },
    ),
    on(
        "apoc.date.fromISO8601",
        (1, 1),
        "apoc.date.fromISO8601(time :: STRING) :: INTEGER",
        "The milliseconds since 1970 of a text such as 2021-01-01T00:00:00.000Z.",
        |args, _| {
            let text = args::text("apoc.date.fromISO8601()", &args[0])?;
            match text.parse::<Timestamp>() {
                Ok(moment) => Ok(Value::Int(moment.as_millisecond())),
                Err(e) => Err(invalid(&format!("`{text}` is no time of ISO 8601: {e}"))),
            }
        },
    ),
    on(
        "apoc.date.convert",
        (3, 3),
        "apoc.date.convert(time :: INTEGER, unit :: STRING, toUnit :: STRING) :: INTEGER",
        "A number of one unit in another.",
        |args, _| {
            let name = "apoc.date.convert()";
            let (from, to) = (unit(name, args.get(1))?, unit(name, args.get(2))?);
            let whole = i128::from(args::int(name, &args[0])?) * i128::from(from) / i128::from(to);
            i64::try_from(whole).map(Value::Int).map_err(|_| invalid("the number is too large"))
        },
    ),
    on(
        "apoc.date.convertFormat",
        (2, 3),
        "apoc.date.convertFormat(temporal :: STRING, currentFormat :: STRING, convertTo = \
         'yyyy-MM-dd' :: STRING) :: STRING",
        "A time of one pattern as text of another.",
        |args, _| {
            let name = "apoc.date.convertFormat()";
            let (text, from) = (args::text(name, &args[0])?, args::text(name, &args[1])?);
            let to = pattern_of(text_or(name, args.get(2), "yyyy-MM-dd")?);
            let moment = parse(text, pattern_of(from), &TimeZone::UTC)?.to_zoned(TimeZone::UTC);
            Ok(format(&moment, to)?.into())
        },
    ),
    on(
        "apoc.date.add",
        (4, 4),
        "apoc.date.add(time :: INTEGER, unit :: STRING, addValue :: INTEGER, addUnit :: STRING) \
         :: INTEGER",
        "A moment so many units later.",
        |args, _| {
            let name = "apoc.date.add()";
            let (of, added) = (unit(name, args.get(1))?, unit(name, args.get(3))?);
            let more = i128::from(args::int(name, &args[2])?) * i128::from(added) / i128::from(of);
            let sum = i128::from(args::int(name, &args[0])?) + more;
            i64::try_from(sum).map(Value::Int).map_err(|_| invalid("the number is too large"))
        },
    ),
    on(
        "apoc.date.field",
        (1, 4),
        "apoc.date.field(time :: INTEGER, unit = 'd' :: STRING, timezone = 'UTC' :: STRING) :: \
         INTEGER",
        "A part of a moment in milliseconds since 1970.",
        |args, _| {
            let name = "apoc.date.field()";
            let zone = zone(name, text_or(name, args.get(2), "UTC")?)?;
            let at = moment(name, args::int(name, &args[0])?, 1)?.to_zoned(zone);
            let part: i64 = match text_or(name, args.get(1), "d")? {
                "years" | "year" => at.year().into(),
                "months" | "month" => at.month().into(),
                "d" | "day" | "days" => at.day().into(),
                "weekday" | "w" => at.weekday().to_monday_one_offset().into(),
                "h" | "hour" | "hours" => at.hour().into(),
                "m" | "minute" | "minutes" => at.minute().into(),
                "s" | "second" | "seconds" => at.second().into(),
                "ms" | "milli" | "millis" | "milliseconds" => at.millisecond().into(),
                other => return Err(invalid(&format!("{name} knows no unit `{other}`"))),
            };
            Ok(Value::Int(part))
        },
    ),
];

fn invalid(message: &str) -> EvalError {
    EvalError::argument_value(message.to_owned())
}

/// The milliseconds of a unit.
fn unit(function: &str, value: Option<&Value>) -> Result<i64, EvalError> {
    Ok(match text_or(function, value, "ms")?.to_lowercase().as_str() {
        "ms" | "milli" | "millis" | "milliseconds" => 1,
        "s" | "second" | "seconds" => 1000,
        "m" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        other => return Err(invalid(&format!("{function} knows no unit `{other}`"))),
    })
}

fn moment(function: &str, number: i64, unit: i64) -> Result<Timestamp, EvalError> {
    let found = number.checked_mul(unit).map(Timestamp::from_millisecond);
    match found {
        Some(Ok(moment)) => Ok(moment),
        _ => Err(invalid(&format!("{function}: {number} is beyond the years that there are"))),
    }
}

fn zone(function: &str, name: &str) -> Result<TimeZone, EvalError> {
    let fixed = || {
        let name = name.trim_start_matches("GMT").trim_start_matches("UTC");
        offset(name).map(TimeZone::fixed)
    };
    match name {
        "" | "UTC" | "GMT" | "Z" => Ok(TimeZone::UTC),
        name => match TimeZone::get(name) {
            Ok(zone) => Ok(zone),
            Err(_) => {
                fixed().ok_or_else(|| invalid(&format!("{function} knows no time zone `{name}`")))
            }
        },
    }
}

/// An offset such as `+01:00` or `+0100`.
fn offset(text: &str) -> Option<Offset> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    let hours: i32 = digits.get(..2)?.parse().ok()?;
    let minutes: i32 = digits.get(2..4).map_or(Ok(0), str::parse).ok()?;
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

/// A part of a pattern: a letter so many times, or text that stands for itself.
enum Part {
    Letters(char, usize),
    Text(String),
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\'' {
            let mut text = String::new();
            if chars.next_if_eq(&'\'').is_some() {
                text.push('\'');
            } else {
                while let Some(c) = chars.next() {
                    if c == '\'' && chars.next_if_eq(&'\'').is_none() {
                        break;
                    }
                    text.push(c);
                }
            }
            parts.push(Part::Text(text));
        } else if c.is_ascii_alphabetic() {
            let mut count = 1;
            while chars.next_if_eq(&c).is_some() {
                count += 1;
            }
            parts.push(Part::Letters(c, count));
        } else {
            parts.push(Part::Text(c.to_string()));
        }
    }
    parts
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// A name, whole or its first three letters.
fn name(names: &[&'static str], at: i8, letters: usize) -> &'static str {
    let name = names[usize::try_from(at - 1).unwrap_or(0)];
    if letters > 3 { name } else { &name[..3] }
}

fn format(at: &Zoned, pattern: &str) -> Result<String, EvalError> {
    let mut out = String::new();
    for part in parts(pattern) {
        let (letter, count) = match part {
            Part::Text(text) => {
                out.push_str(&text);
                continue;
            }
            Part::Letters(letter, count) => (letter, count),
        };
        let number: i64 = match letter {
            'y' | 'u' if count == 2 => i64::from(at.year()).rem_euclid(100),
            'y' | 'u' => at.year().into(),
            'M' | 'L' if count > 2 => {
                out.push_str(name(&MONTHS, at.month(), count));
                continue;
            }
            'M' | 'L' => at.month().into(),
            'd' => at.day().into(),
            'D' => at.day_of_year().into(),
            'H' => at.hour().into(),
            'k' => i64::from(if at.hour() == 0 { 24 } else { at.hour() }),
            'K' => i64::from(at.hour() % 12),
            'h' => i64::from((at.hour() + 11) % 12 + 1),
            'm' => at.minute().into(),
            's' => at.second().into(),
            'S' => {
                let digits = format!("{:09}", at.subsec_nanosecond());
                out.push_str(&digits[..count.min(9)]);
                continue;
            }
            other => {
                out.push_str(&word(at, other, count)?);
                continue;
            }
        };
        let _ = write!(out, "{number:0count$}");
    }
    Ok(out)
}

/// What is no number in a text of a pattern.
fn word(at: &Zoned, letter: char, count: usize) -> Result<String, EvalError> {
    let seconds = at.offset().seconds();
    let signed = |colon: &str| {
        let sign = if seconds < 0 { '-' } else { '+' };
        let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
        format!("{sign}{hours:02}{colon}{minutes:02}")
    };
    Ok(match letter {
        'a' => if at.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        'E' => name(&DAYS, at.weekday().to_monday_one_offset(), count).to_owned(),
        'e' => at.weekday().to_monday_one_offset().to_string(),
        'X' if seconds == 0 => "Z".to_owned(),
        'X' | 'x' => signed(if count > 2 { ":" } else { "" }),
        'Z' => signed(if count > 3 { ":" } else { "" }),
        'z' | 'V' => at.time_zone().iana_name().map_or_else(|| signed(":"), str::to_owned),
        'G' => "AD".to_owned(),
        other => return Err(invalid(&format!("a pattern of times knows no letter `{other}`"))),
    })
}

/// The parts of a time that a text has.
#[derive(Default)]
struct Read {
    year: Option<i16>,
    month: i8,
    day: i8,
    hour: i8,
    minute: i8,
    second: i8,
    nanos: i32,
    afternoon: Option<bool>,
    zone: Option<TimeZone>,
}

fn parse(text: &str, pattern: &str, zone: &TimeZone) -> Result<Timestamp, EvalError> {
    let wrong = || invalid(&format!("`{text}` is no time of the pattern `{pattern}`"));
    let mut read = Read { month: 1, day: 1, ..Read::default() };
    let mut rest = text;
    let parts = parts(pattern);
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::Text(text) => rest = rest.strip_prefix(&**text).ok_or_else(wrong)?,
            Part::Letters(letter, count) => {
                // Numbers that touch have as many digits as letters.
                let touches = matches!(parts.get(at + 1), Some(Part::Letters(..)));
                rest = read.part(*letter, *count, touches, rest).ok_or_else(wrong)?;
            }
        }
    }
    let hour = match read.afternoon {
        Some(afternoon) => read.hour % 12 + if afternoon { 12 } else { 0 },
        None => read.hour % 24,
    };
    let year = read.year.unwrap_or(1970);
    let Read { month, day, minute, second, nanos, .. } = read;
    let civil =
        DateTime::new(year, month, day, hour, minute, second, nanos).map_err(|_| wrong())?;
    let zone = read.zone.unwrap_or_else(|| zone.clone());
    zone.to_timestamp(civil).map_err(|_| wrong())
}

impl Read {
    /// Reads one part of a text, and returns the rest of it.
    fn part<'t>(
        &mut self,
        letter: char,
        count: usize,
        touches: bool,
        text: &'t str,
    ) -> Option<&'t str> {
        match letter {
            'M' | 'L' if count > 2 => {
                let at = MONTHS.iter().position(|name| begins(text, &name[..3]))?;
                self.month = at as i8 + 1;
                let whole = begins(text, MONTHS[at]);
                return Some(&text[if whole { MONTHS[at].len() } else { 3 }..]);
            }
            'E' => {
                let at = DAYS.iter().position(|name| begins(text, &name[..3]))?;
                return Some(&text[if begins(text, DAYS[at]) { DAYS[at].len() } else { 3 }..]);
            }
            'a' => {
                self.afternoon = Some(begins(text, "PM"));
                return (begins(text, "AM") || begins(text, "PM")).then(|| &text[2..]);
            }
            'X' | 'x' | 'Z' | 'z' | 'V' => {
                let end = text.find(' ').unwrap_or(text.len());
                self.zone = Some(zone("", &text[..end]).ok()?);
                return Some(&text[end..]);
            }
            _ => {}
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let digits = if touches || letter == 'S' { digits.min(count) } else { digits };
        let (number, rest) = text.split_at(digits);
        let value: i32 = number.parse().ok()?;
        let small = i8::try_from(value).ok();
        match letter {
            'y' | 'u' if count == 2 && digits == 2 => self.year = Some(2000 + value as i16),
            'y' | 'u' => self.year = Some(i16::try_from(value).ok()?),
            'M' | 'L' => self.month = small?,
            'd' => self.day = small?,
            'H' | 'k' | 'K' | 'h' => self.hour = small?,
            'm' => self.minute = small?,
            's' => self.second = small?,
            'S' if digits <= 9 => self.nanos = value.checked_mul(10_i32.pow(9 - digits as u32))?,
            _ => return None,
        }
        Some(rest)
    }
}

/// True if a text begins with a word, in any case.
fn begins(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}
