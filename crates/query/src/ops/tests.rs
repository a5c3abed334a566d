//! Operators: examples of the TCK and the manual, and laws.

use proptest::prelude::*;
use telar_graph::Value;
use telar_graph::value::{Date, DateTime, Duration, LocalDateTime};

use super::*;
use crate::error::Detail;
use crate::function::tests::arbitrary;
use crate::function::tests::calculator::{evaluate, fails, holds, shown};

#[test]
fn arithmetic_keeps_integers_apart_from_floats() {
    holds(&[
        ("1 + 2", "3"),
        ("1 + 2.0", "3.0"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("7 / 2.0", "3.5"),
        ("2 ^ 3", "8.0"),
        ("0.0 / 0.0 = 0.0 / 0.0", "false"),
        ("5 % 0.0 <> 5 % 0.0", "true"),
        ("null + 1", "null"),
        ("1 - null", "null"),
        ("null ^ 2", "null"),
        ("-(null)", "null"),
        ("(-9223372036854775807 - 1) % -1", "0"),
    ]);
    fails(&[
        ("9223372036854775807 + 1", Detail::IntegerOverflow),
        ("-9223372036854775807 - 2", Detail::IntegerOverflow),
        ("4611686018427387904 * 2", Detail::IntegerOverflow),
        ("(-9223372036854775807 - 1) / -1", Detail::IntegerOverflow),
        ("-(-9223372036854775807 - 1)", Detail::IntegerOverflow),
        ("1 / 0", Detail::DivisionByZero),
        ("1.0 / 0", Detail::DivisionByZero),
        ("1 % 0", Detail::DivisionByZero),
        ("duration('P1D') / 0", Detail::DivisionByZero),
        ("1 + true", Detail::InvalidArgumentType),
        ("1 - 'a'", Detail::InvalidArgumentType),
        ("{a: 1} + {b: 2}", Detail::InvalidArgumentType),
        ("'a' * 2", Detail::InvalidArgumentType),
        ("-'a'", Detail::InvalidArgumentType),
    ]);
}

#[test]
fn plus_joins_strings_and_lists() {
    holds(&[
        ("'a' + 'b'", "'ab'"),
        ("'a' + 1", "'a1'"),
        ("1.5 + 'a'", "'1.5a'"),
        ("'a' + true", "'atrue'"),
        ("'a' + null", "null"),
        ("'a' + date('2020')", "'a2020-01-01'"),
        ("localtime('12:00') + 'a'", "'12:00:00a'"),
        ("duration('P1D') + 'a'", "'P1Da'"),
        ("[1] + [2, 3]", "[1, 2, 3]"),
        ("[1] + 2", "[1, 2]"),
        ("1 + [2]", "[1, 2]"),
        ("[1] + null", "null"),
        ("[1] + 'a'", "[1, 'a']"),
        ("[[1]] + [2]", "[[1], 2]"),
        ("'a' || 'b'", "'ab'"),
        ("[1] || [2]", "[1, 2]"),
        ("'a' || null", "null"),
    ]);
    fails(&[
        ("'a' || 1", Detail::InvalidArgumentType),
        ("[1] || 2", Detail::InvalidArgumentType),
        ("1 + date('2020')", Detail::InvalidArgumentType),
        ("'a' + {b: 1}", Detail::InvalidArgumentType),
    ]);
}

/// TCK Temporal8.
#[test]
fn temporal_values_move_by_durations() {
    let long = "duration({years: 12, months: 5, days: 14, hours: 16, minutes: 12, seconds: 70, \
                nanoseconds: 2})";
    let mixed = "duration({months: 1, days: -14, hours: 16, minutes: -12, seconds: 70})";
    let halves = "duration({years: 12.5, months: 5.5, days: 14.5, hours: 16.5, minutes: 12.5, \
                  seconds: 70.5, nanoseconds: 3})";
    let cases = [
        ("date('1984-10-11')", long, "1997-03-25", "1972-04-27"),
        ("date('1984-10-11')", mixed, "1984-10-28", "1984-09-25"),
        ("date('1984-10-11')", halves, "1997-10-11", "1971-10-12"),
        ("localtime('12:31:14.000000001')", long, "04:44:24.000000003", "20:18:03.999999999"),
        ("localtime('12:31:14.000000001')", halves, "22:29:27.500000004", "02:33:00.499999998"),
        (
            "time('12:31:14.000000001+0100')",
            mixed,
            "04:20:24.000000001+01:00",
            "20:42:04.000000001+01:00",
        ),
        (
            "localdatetime('1984-10-11T12:31:14.000000001')",
            mixed,
            "1984-10-29T04:20:24.000000001",
            "1984-09-24T20:42:04.000000001",
        ),
        (
            "datetime('1984-10-11T12:31:14.000000001+01:00')",
            halves,
            "1997-10-11T22:29:27.500000004+01:00",
            "1971-10-12T02:33:00.499999998+01:00",
        ),
        ("duration('P1Y')", "duration('P1M')", "P1Y1M", "P11M"),
    ];
    for (at, by, sum, difference) in cases {
        let text = |expression: String| evaluate(&format!("toString({expression})")).unwrap();
        assert_eq!(text(format!("{at} + {by}")), Value::from(sum), "{at} + {by}");
        assert_eq!(text(format!("{at} - {by}")), Value::from(difference), "{at} - {by}");
    }
    holds(&[
        ("duration('P1D') * 2", "duration('P2D')"),
        ("0.5 * duration('P1D')", "duration('PT12H')"),
        ("duration('P12Y5M14DT16H13M10S') / 2", "duration('P6Y2M22DT13H21M8S')"),
        ("-duration('P1DT1S')", "duration('P-1DT-1S')"),
        ("duration('P1D') + date('2020-02-28')", "date('2020-02-29')"),
        ("date('2020-01-31') + duration('P1M')", "date('2020-02-29')"),
    ]);
    fails(&[
        ("date('2020') + 1", Detail::InvalidArgumentType),
        ("date('2020') - date('2019')", Detail::InvalidArgumentType),
        ("date('+999999999-12-31') + duration('P1D')", Detail::IntegerOverflow),
        ("duration({months: 9223372036854775807}) * 2", Detail::IntegerOverflow),
    ]);
}

/// Clocks went forward on 2017-03-26 at 02:00 and back on 2017-10-29 at 03:00 in Stockholm.
#[test]
fn zoned_arithmetic_follows_the_clock_for_days_and_time_for_hours() {
    let cases = [
        ("2017-10-28T12:00[Europe/Stockholm]", "P1D", "2017-10-29T12:00+01:00[Europe/Stockholm]"),
        ("2017-10-28T12:00[Europe/Stockholm]", "PT24H", "2017-10-29T11:00+01:00[Europe/Stockholm]"),
        (
            "2017-10-29T02:30+02:00[Europe/Stockholm]",
            "PT1H",
            "2017-10-29T02:30+01:00[Europe/Stockholm]",
        ),
        (
            "2017-10-29T02:30+01:00[Europe/Stockholm]",
            "P0D",
            "2017-10-29T02:30+01:00[Europe/Stockholm]",
        ),
        ("2017-03-25T02:30[Europe/Stockholm]", "P1D", "2017-03-26T03:30+02:00[Europe/Stockholm]"),
        ("+20170-03-26T12:00+02:00", "P1D", "+20170-03-27T12:00+02:00"),
    ];
    for (at, by, expected) in cases {
        let found = evaluate(&format!("datetime('{at}') + duration('{by}')")).unwrap();
        assert_eq!(shown(&found), expected, "{at} + {by}");
    }
}

#[test]
fn elements_are_found_by_position_and_key() {
    holds(&[
        ("[1, 2, 3][0]", "1"),
        ("[1, 2, 3][-1]", "3"),
        ("[1, 2, 3][3]", "null"),
        ("[1, 2, 3][-4]", "null"),
        ("[1][-9223372036854775807]", "null"),
        ("[1][null]", "null"),
        ("null[0]", "null"),
        ("{a: 1}['a']", "1"),
        ("{a: 1}['b']", "null"),
        ("{a: 1}[null]", "null"),
        ("[1, 2, 3, 4, 5][1..3]", "[2, 3]"),
        ("[1, 2, 3][..-1]", "[1, 2]"),
        ("[1, 2, 3][-2..]", "[2, 3]"),
        ("[1, 2, 3][-9..9]", "[1, 2, 3]"),
        ("[1, 2, 3][3..1]", "[]"),
        ("[1, 2, 3][null..1]", "null"),
        ("[1, 2, 3][1..null]", "null"),
        ("null[1..2]", "null"),
        ("'a'[0..1]", "['a']"),
        ("1[1..]", "[]"),
    ]);
    fails(&[
        ("[1]['a']", Detail::ListElementAccessByNonInteger),
        ("[1][1.0]", Detail::ListElementAccessByNonInteger),
        ("{a: 1}[0]", Detail::MapElementAccessByNonString),
        ("'abc'[0]", Detail::InvalidArgumentType),
        ("1[0]", Detail::InvalidArgumentType),
        ("[1][1.0..2]", Detail::InvalidArgumentType),
        ("true.a", Detail::InvalidArgumentType),
        ("date('2020').hour", Detail::InvalidArgumentValue),
    ]);
}

/// TCK Temporal5, and points.
#[test]
fn components_of_values_are_read_by_name() {
    let at = "datetime({year: 1984, month: 11, day: 11, hour: 12, minute: 31, second: 14, \
              nanosecond: 645876123, timezone: 'Europe/Stockholm'})";
    let components = [
        ("year", "1984"),
        ("quarter", "4"),
        ("month", "11"),
        ("week", "45"),
        ("weekYear", "1984"),
        ("day", "11"),
        ("ordinalDay", "316"),
        ("weekDay", "7"),
        ("dayOfWeek", "7"),
        ("dayOfQuarter", "42"),
        ("hour", "12"),
        ("minute", "31"),
        ("second", "14"),
        ("millisecond", "645"),
        ("microsecond", "645876"),
        ("nanosecond", "645876123"),
        ("timezone", "'Europe/Stockholm'"),
        ("offset", "'+01:00'"),
        ("offsetMinutes", "60"),
        ("offsetSeconds", "3600"),
        ("epochSeconds", "469020674"),
        ("epochMillis", "469020674645"),
    ];
    for (name, expected) in components {
        holds(&[(&format!("{at}.{name}"), expected)]);
    }
    let length = "duration({years: 1, months: 4, days: 10, hours: 1, minutes: 1, seconds: 1, \
                  nanoseconds: 111111111})";
    let components = [
        ("years", "1"),
        ("quarters", "5"),
        ("months", "16"),
        ("weeks", "1"),
        ("days", "10"),
        ("hours", "1"),
        ("minutes", "61"),
        ("seconds", "3661"),
        ("milliseconds", "3661111"),
        ("microseconds", "3661111111"),
        ("nanoseconds", "3661111111111"),
        ("quartersOfYear", "1"),
        ("monthsOfQuarter", "1"),
        ("monthsOfYear", "4"),
        ("daysOfWeek", "3"),
        ("minutesOfHour", "1"),
        ("secondsOfMinute", "1"),
        ("millisecondsOfSecond", "111"),
        ("microsecondsOfSecond", "111111"),
        ("nanosecondsOfSecond", "111111111"),
    ];
    for (name, expected) in components {
        holds(&[(&format!("{length}.{name}"), expected)]);
    }
    holds(&[
        ("date('1984-01-01').weekYear", "1983"),
        ("time('12:31-01:30').offset", "'-01:30'"),
        ("time('12:31Z').timezone", "'Z'"),
        ("point({x: 1, y: 2}).x", "1.0"),
        ("point({x: 1, y: 2, z: 3}).z", "3.0"),
        ("point({x: 1, y: 2}).crs", "'cartesian'"),
        ("point({latitude: 12, longitude: 56, height: 3}).height", "3.0"),
        ("point({latitude: 12, longitude: 56}).latitude", "12.0"),
        ("point({latitude: 12, longitude: 56}).srid", "4326"),
    ]);
    fails(&[
        ("point({x: 1, y: 2}).latitude", Detail::InvalidArgumentValue),
        ("point({x: 1, y: 2}).z", Detail::InvalidArgumentValue),
        ("point({latitude: 12, longitude: 56}).height", Detail::InvalidArgumentValue),
    ]);
}

#[test]
fn membership_and_logic_have_three_values() {
    holds(&[
        ("1 IN [1, null]", "true"),
        ("1 IN [2, null]", "null"),
        ("1 IN null", "null"),
        ("1 IN 1", "true"),
        ("1 IN 'a'", "false"),
        ("null IN []", "false"),
        ("[] IN [1, []]", "true"),
        ("true AND null", "null"),
        ("false AND null", "false"),
        ("true OR null", "true"),
        ("false OR null", "null"),
        ("true XOR null", "null"),
        ("true XOR false", "true"),
        ("NOT null", "null"),
        ("null = null", "null"),
        ("null IS NULL", "true"),
        ("1 IS NOT NULL", "true"),
    ]);
    fails(&[
        ("true AND 1", Detail::InvalidArgumentType),
        ("'a' OR true", Detail::InvalidArgumentType),
        ("NOT 0", Detail::InvalidArgumentType),
    ]);
}

#[test]
fn text_is_searched_and_matched() {
    holds(&[
        ("'abc' STARTS WITH 'ab'", "true"),
        ("'abc' ENDS WITH ''", "true"),
        ("'abc' CONTAINS 'd'", "false"),
        ("'abc' CONTAINS null", "null"),
        ("1 STARTS WITH '1'", "null"),
        ("'abc' =~ 'a.*'", "true"),
        ("'abc' =~ 'b'", "false"),
        ("'abc' =~ 'a|abc'", "true"),
        ("'ABC' =~ '(?i)abc'", "true"),
        ("'a\\nb' =~ 'a.b'", "false"),
        ("'a\\nb' =~ '(?s)a.b'", "true"),
        ("'ab' =~ '(?x) a b # comment'", "true"),
        ("'a' =~ null", "null"),
        ("1 =~ 'a'", "null"),
        ("'Å' IS NORMALIZED", "true"),
    ]);
    fails(&[
        ("'a' =~ '('", Detail::InvalidArgumentValue),
        ("'a' =~ 'a)(b'", Detail::InvalidArgumentValue),
        ("'a' =~ 'a\\\\'", Detail::InvalidArgumentValue),
        ("'a' =~ '(?=a)a'", Detail::InvalidArgumentValue),
        ("'a' =~ 'a{1000}{1000}{1000}'", Detail::InvalidArgumentValue),
    ]);
}

type Binary = fn(&Value, &Value) -> Result<Value, crate::EvalError>;

proptest! {
    /// No operands make an operator panic, and null makes null.
    #[test]
    fn operators_take_any_operands(a in arbitrary::value(), b in arbitrary::value()) {
        let arithmetic: [Binary; 7] =
            [add, subtract, multiply, divide, modulo, power, concatenate];
        for operator in arithmetic {
            let _ = operator(&a, &b);
            prop_assert_eq!(operator(&a, &Value::Null), Ok(Value::Null));
            prop_assert_eq!(operator(&Value::Null, &b), Ok(Value::Null));
        }
        for operator in [and, or, xor, index, regex_match, contains] {
            let _ = operator(&a, &b);
        }
        for operator in [eq, ne, lt, le, gt, ge, starts_with, ends_with] {
            let _ = operator(&a, &b);
        }
        let _ = (negate(&a), positive(&a), not(&a), slice(&a, Some(&b), None));
        let _ = (slice(&a, None, Some(&b)), in_list(&a, &b));
        for name in ["year", "epochMillis", "nanoseconds", "offset", "x", "", "é"] {
            let _ = property(&a, name);
        }
    }

    /// What was added can be taken away, where no end of month lies between.
    #[test]
    fn subtraction_undoes_addition(
        // Not at the ends of time, where one step may leave the range and the other come back.
        date in -1_000_000_000_i64..1_000_000_000,
        time in arbitrary::local_time(),
        offset in arbitrary::offset(),
        days in -1_000_i64..1_000,
        nanos in any::<i64>(),
    ) {
        let date = Date::from_epoch_days(date).unwrap();
        let at = Value::from(DateTime::new(LocalDateTime::new(date, time), offset));
        let by = Duration::new(0, days, 0, nanos).unwrap();
        let later = add(&at, &by.into()).unwrap();
        prop_assert_eq!(subtract(&later, &by.into()), Ok(at));
    }

    /// Integers divide as mathematics says.
    #[test]
    fn quotient_and_remainder_make_the_dividend(a in arbitrary::int(), b in arbitrary::int()) {
        let (x, y) = (Value::Int(a), Value::Int(b));
        if let (Ok(quotient), Ok(remainder)) = (divide(&x, &y), modulo(&x, &y)) {
            let whole = multiply(&quotient, &y).and_then(|whole| add(&whole, &remainder));
            prop_assert_eq!(whole, Ok(x));
        }
    }

    #[test]
    fn patterns_never_panic(pattern in "[a-c(){}|*+?.\\\\\\[\\]^$0-9,#x: ]{0,12}", text in "[a-c]{0,5}") {
        if let Ok(compiled) = CompiledRegex::new(&pattern) {
            let _ = compiled.is_match(&text.into());
        }
    }
}
