//! Temporal functions by example; see `tables` for the others.

use super::calculator::{fails, holds, prints};
use crate::error::Detail;

/// TCK Temporal2, with the zones that the shared part leaves out.
#[test]
fn temporal_values_from_texts() {
    prints(&[
        ("date('2015-W30-2')", "2015-07-21"),
        ("date('2015202')", "2015-07-21"),
        ("date('+999999999-12-31')", "+999999999-12-31"),
        ("localtime('214032.142')", "21:40:32.142"),
        ("time('21:40:32.142+0100')", "21:40:32.142+01:00"),
        ("time('2140')", "21:40Z"),
        ("localdatetime('2015-W30-2T214032.142')", "2015-07-21T21:40:32.142"),
        ("datetime('2015-202T21:40:32+01:00')", "2015-07-21T21:40:32+01:00"),
        ("datetime('2015T214032-0100')", "2015-01-01T21:40:32-01:00"),
        ("datetime('20150721T21:40-01:30')", "2015-07-21T21:40-01:30"),
        (
            "datetime('2015-07-21T21:40:32.142+02:00[Europe/Stockholm]')",
            "2015-07-21T21:40:32.142+02:00[Europe/Stockholm]",
        ),
        (
            "datetime('2015-07-21T21:40:32.142+0845[Australia/Eucla]')",
            "2015-07-21T21:40:32.142+08:45[Australia/Eucla]",
        ),
        (
            "datetime('2015-07-21T21:40:32.142-04[America/New_York]')",
            "2015-07-21T21:40:32.142-04:00[America/New_York]",
        ),
        (
            "datetime('2015-07-21T21:40:32.142[europe/london]')",
            "2015-07-21T21:40:32.142+01:00[Europe/London]",
        ),
        (
            "datetime('1818-07-21T21:40:32.142[Europe/Stockholm]')",
            "1818-07-21T21:40:32.142+00:53:28[Europe/Stockholm]",
        ),
        (
            "datetime('-999999999-01-01[Europe/Stockholm]')",
            "-999999999-01-01T00:00+00:53:28[Europe/Stockholm]",
        ),
        (
            "datetime('+999999999-07-01[Europe/Stockholm]')",
            "+999999999-07-01T00:00+02:00[Europe/Stockholm]",
        ),
        // Clocks skip this hour, and show that one twice.
        (
            "datetime('2017-03-26T02:30[Europe/Stockholm]')",
            "2017-03-26T03:30+02:00[Europe/Stockholm]",
        ),
        (
            "datetime('2017-10-29T02:30[Europe/Stockholm]')",
            "2017-10-29T02:30+02:00[Europe/Stockholm]",
        ),
        (
            "datetime('2017-10-29T02:30+01:00[Europe/Stockholm]')",
            "2017-10-29T02:30+01:00[Europe/Stockholm]",
        ),
        ("duration('P5M1.5D')", "P5M1DT12H"),
        ("duration('P2012-02-02T14:37:21.545')", "P2012Y2M2DT14H37M21.545S"),
    ]);
    fails(&[
        ("date('2015-13-01')", Detail::InvalidArgumentValue),
        ("date('2015-02-29')", Detail::InvalidArgumentValue),
        ("date('yesterday')", Detail::InvalidArgumentValue),
        ("time('25:00')", Detail::InvalidArgumentValue),
        ("datetime('2015-07-21T21:40[Europe/Nowhere]')", Detail::InvalidArgumentValue),
        ("datetime('2015-07-21T21:40+05:00[Europe/Stockholm]')", Detail::InvalidArgumentValue),
        ("datetime('2017-03-26T02:30+01:00[Europe/Stockholm]')", Detail::InvalidArgumentValue),
        ("datetime('+1000000000-01-01')", Detail::InvalidArgumentValue),
        ("duration('1D')", Detail::InvalidArgumentValue),
        ("date(1)", Detail::InvalidArgumentType),
        ("date(time('10:00'))", Detail::InvalidArgumentType),
        ("localtime(date('2020'))", Detail::InvalidArgumentType),
    ]);
}

/// TCK Temporal1 and 3.
#[test]
fn temporal_values_from_maps() {
    prints(&[
        ("date({year: 1984, quarter: 3, dayOfQuarter: 45})", "1984-08-14"),
        ("date({date: date('1984-11-11'), week: 1})", "1984-01-08"),
        ("date({date: date('1984-11-11'), quarter: 3})", "1984-08-11"),
        ("date({date: date('1816-12-31'), year: 1817, week: 2})", "1817-01-07"),
        ("date({date: date('2020-02-29'), year: 2021})", "2021-02-28"),
        ("date({date: date('2020-12-31'), year: 2021, dayOfWeek: 1})", "2021-12-27"),
        (
            "localtime({hour: 12, minute: 31, second: 14, nanosecond: 789, millisecond: 123, \
          microsecond: 456})",
            "12:31:14.123456789",
        ),
        ("time({hour: 12, timezone: '+01:00'})", "12:00+01:00"),
        ("time({hour: 12, timezone: 'Europe/Stockholm'})", "12:00+01:00"),
        (
            "time({time: time('12:31:14.645876+01:00'), second: 42, timezone: '+05:00'})",
            "16:31:42.645876+05:00",
        ),
        ("time({time: localtime('12:31'), timezone: '+05:00'})", "12:31+05:00"),
        ("time(datetime('1984-10-11T12:00+01:00'))", "12:00+01:00"),
        (
            "localdatetime({date: date('1984-10-11'), time: time('12:31+01:00'), day: 28})",
            "1984-10-28T12:31",
        ),
        (
            "datetime({year: 1984, ordinalDay: 202, timezone: 'Europe/Stockholm'})",
            "1984-07-20T00:00+02:00[Europe/Stockholm]",
        ),
        (
            "datetime({date: datetime('1984-10-11T12:00+01:00'), hour: 10, timezone: '+05:00'})",
            "1984-10-11T10:00+05:00",
        ),
        (
            "datetime({datetime: datetime('1984-10-11T12:00[Europe/Stockholm]'), day: 28, second: 42, \
          timezone: 'Pacific/Honolulu'})",
            "1984-10-28T01:00:42-10:00[Pacific/Honolulu]",
        ),
        (
            "datetime({datetime: localdatetime('1984-10-11T12:00'), timezone: '+05:00'})",
            "1984-10-11T12:00+05:00",
        ),
        (
            "datetime({epochSeconds: 416779, nanosecond: 123456789})",
            "1970-01-05T19:46:19.123456789Z",
        ),
        (
            "datetime({epochMillis: 237821673987, timezone: 'Europe/Stockholm'})",
            "1977-07-15T14:34:33.987+01:00[Europe/Stockholm]",
        ),
        ("datetime.fromepoch(416779, 999999999)", "1970-01-05T19:46:19.999999999Z"),
        ("datetime.fromepochmillis(-1)", "1969-12-31T23:59:59.999Z"),
        ("duration({months: 0.75})", "P22DT19H51M49.5S"),
        ("duration({weeks: 2.5})", "P17DT12H"),
        ("duration({quarters: 3, milliseconds: -1, seconds: 2})", "P9MT1.999S"),
        ("duration({nanoseconds: 9223372036854775807})", "PT2562047H47M16.854775807S"),
    ]);
    fails(&[
        ("date({})", Detail::InvalidArgumentValue),
        ("date({month: 3})", Detail::InvalidArgumentValue),
        ("date({year: 1984, day: 3})", Detail::InvalidArgumentValue),
        ("date({year: 1984, month: 2, week: 3})", Detail::InvalidArgumentValue),
        ("date({year: 1984, month: 2, day: 30})", Detail::InvalidArgumentValue),
        ("date({year: 1984, hour: 2})", Detail::InvalidArgumentValue),
        ("date({year: 1984.0})", Detail::InvalidArgumentType),
        ("date({date: localtime('10:00')})", Detail::InvalidArgumentType),
        ("localtime({minute: 3})", Detail::InvalidArgumentValue),
        ("localtime({hour: 3, second: 2})", Detail::InvalidArgumentValue),
        (
            "localtime({hour: 1, minute: 1, second: 1, millisecond: 1, microsecond: 1000})",
            Detail::InvalidArgumentValue,
        ),
        ("datetime({epochSeconds: 1, year: 1984})", Detail::InvalidArgumentValue),
        ("datetime({epochSeconds: 9223372036854775807})", Detail::IntegerOverflow),
        ("duration({})", Detail::InvalidArgumentValue),
        ("duration({eons: 1})", Detail::InvalidArgumentValue),
        ("duration({days: '1'})", Detail::InvalidArgumentType),
        ("duration({days: 1e300})", Detail::IntegerOverflow),
        ("duration({years: 9223372036854775807})", Detail::IntegerOverflow),
    ]);
}

/// TCK Temporal9.
#[test]
fn truncation() {
    let at = "datetime('2017-10-11T12:31:14.645876123+01:00')";
    let local = "localdatetime('1984-01-01T12:31:14.645876123')";
    let cases = [
        ("date", "millennium", at, "{day: 2}", "2000-01-02"),
        ("date", "weekYear", local, "{day: 5}", "1983-01-05"),
        ("date", "week", "date('1984-10-11')", "{dayOfWeek: 2}", "1984-10-09"),
        ("date", "century", "date('-0001-10-11')", "{}", "-0100-01-01"),
        (
            "datetime",
            "millennium",
            at,
            "{timezone: 'Europe/Stockholm'}",
            "2000-01-01T00:00+01:00[Europe/Stockholm]",
        ),
        ("datetime", "year", "date('1984-10-11')", "{}", "1984-01-01T00:00Z"),
        ("datetime", "hour", at, "{nanosecond: 2}", "2017-10-11T12:00:00.000000002+01:00"),
        ("localdatetime", "quarter", at, "{}", "2017-10-01T00:00"),
        ("localdatetime", "millisecond", local, "{nanosecond: 2}", "1984-01-01T12:31:14.645000002"),
        ("localdatetime", "microsecond", local, "{nanosecond: 2}", "1984-01-01T12:31:14.645876002"),
        ("localtime", "day", at, "{}", "00:00"),
        ("localtime", "second", at, "{nanosecond: 2}", "12:31:14.000000002"),
        ("localtime", "millisecond", at, "{}", "12:31:14.645"),
        ("time", "minute", local, "{timezone: '+01:00'}", "12:31+01:00"),
        ("time", "hour", "time('12:31:14-01:00')", "{timezone: '+01:00'}", "12:00+01:00"),
    ];
    for (kind, unit, input, fields, expected) in cases {
        prints(&[(&format!("{kind}.truncate('{unit}', {input}, {fields})"), expected)]);
        prints(&[(
            &format!(
                "{kind}.truncate('{unit}', {kind}.truncate('{unit}', {input}, {fields}), \
                    {fields})"
            ),
            expected,
        )]);
    }
    prints(&[
        ("date.truncate('month')", "1984-10-01"),
        ("datetime.truncate('DAY')", "1984-10-11T00:00Z"),
        ("date.truncate('year', date('2020-05-05'), null)", "2020-01-01"),
    ]);
    // As in Neo4j 5.26: a component that is null is the first, and nothing else may be null.
    holds(&[(
        "date.truncate('year', date('2020-05-05'), {day: null}) = date('2020-01-01')",
        "true",
    )]);
    fails(&[
        ("date.truncate('year', null)", Detail::InvalidArgumentType),
        ("date.truncate(null, date('2020'))", Detail::InvalidArgumentType),
        ("date.truncate('hour', date('2020'))", Detail::InvalidArgumentValue),
        ("datetime.truncate('hour', date('2020'))", Detail::InvalidArgumentValue),
        ("localtime.truncate('year', localtime('10:00'))", Detail::InvalidArgumentValue),
        ("date.truncate('fortnight', date('2020'))", Detail::InvalidArgumentValue),
        ("date.truncate('year', time('10:00'))", Detail::InvalidArgumentType),
        ("date.truncate('year', date('2020'), {date: date('2021')})", Detail::InvalidArgumentValue),
        (
            "datetime.truncate('decade', datetime('-999999999-01-01T00:00Z'))",
            Detail::InvalidArgumentValue,
        ),
    ]);
}

/// TCK Temporal10.
#[test]
fn durations_between() {
    let late = "datetime('2015-07-21T21:40:32.142+0100')";
    let early = "datetime('2014-07-21T21:40:36.143+0200')";
    let local = "localdatetime('2016-07-21T21:45:22.142')";
    let cases = [
        ("between", "date('1984-10-11')", "date('2015-06-24')", "P30Y8M13D"),
        ("between", "date('1984-10-11')", local, "P31Y9M10DT21H45M22.142S"),
        ("between", "date('1984-10-11')", late, "P30Y9M10DT21H40M32.142S"),
        ("between", "date('1984-10-11')", "localtime('16:30')", "PT16H30M"),
        ("between", "localtime('14:30')", "date('2015-06-24')", "PT-14H-30M"),
        ("between", "localtime('14:30')", "time('16:30+0100')", "PT2H"),
        (
            "between",
            "localdatetime('2015-07-21T21:40:32.142')",
            "date('2015-06-24')",
            "P-27DT-21H-40M-32.142S",
        ),
        ("between", "localdatetime('2015-07-21T21:40:32.142')", local, "P1YT4M50S"),
        ("between", early, "date('2015-06-24')", "P11M2DT2H19M23.857S"),
        ("between", early, local, "P2YT4M45.999S"),
        ("between", early, late, "P1YT59M55.999S"),
        ("between", "date('-999999999-01-01')", "date('+999999999-12-31')", "P1999999998Y11M30D"),
        ("inMonths", "date('2018-07-21')", "datetime('2016-07-21T21:40:32.142+0100')", "P-1Y-11M"),
        ("inMonths", "localtime('14:30')", "localtime('16:30')", "PT0S"),
        ("inDays", early, late, "P365D"),
        (
            "inSeconds",
            "localdatetime('-999999999-01-01')",
            "localdatetime('+999999999-12-31T23:59:59')",
            "PT17531639991215H59M59S",
        ),
        // Clocks go back in this night.
        (
            "inSeconds",
            "datetime('2017-10-29T00:00[Europe/Stockholm]')",
            "localdatetime('2017-10-29T04:00')",
            "PT5H",
        ),
        (
            "inSeconds",
            "date('2017-10-29')",
            "datetime('2017-10-29T04:00[Europe/Stockholm]')",
            "PT5H",
        ),
        (
            "inSeconds",
            "datetime('2017-10-29T00:00[Europe/Stockholm]')",
            "date('2017-10-30')",
            "PT25H",
        ),
        (
            "between",
            "datetime('2017-10-28T23:00[Europe/Stockholm]')",
            "datetime('2017-10-29T04:00[Europe/Stockholm]')",
            "PT6H",
        ),
    ];
    for (function, from, to, expected) in cases {
        prints(&[(&format!("duration.{function}({from}, {to})"), expected)]);
    }
    fails(&[
        ("duration.between(1, date('2020'))", Detail::InvalidArgumentType),
        ("duration.inDays(duration('P1D'), date('2020'))", Detail::InvalidArgumentType),
    ]);
}

/// TCK Temporal4, scenario 13, and the clocks of the tests' context.
#[test]
fn clocks() {
    for kind in ["date", "localtime", "time", "localdatetime", "datetime"] {
        for clock in ["", ".statement", ".transaction", ".realtime"] {
            holds(&[(&format!("{kind}{clock}(null)"), "null")]);
        }
        for clock in ["statement", "transaction"] {
            holds(&[(&format!("{kind}() = {kind}.{clock}()"), "true")]);
        }
    }
    prints(&[
        ("datetime()", "1984-10-11T12:31:14.645876123Z"),
        ("date('2020')", "2020-01-01"),
        ("date.statement('Pacific/Auckland')", "1984-10-12"),
        (
            "datetime({timezone: 'Europe/Stockholm'})",
            "1984-10-11T13:31:14.645876123+01:00[Europe/Stockholm]",
        ),
        ("localtime({timezone: '+02:00'})", "14:31:14.645876123"),
        ("time.transaction('-01:00')", "11:31:14.645876123-01:00"),
        ("datetime.realtime({timezone: 'UTC'})", "1984-10-11T12:31:14.645876123Z[UTC]"),
    ]);
    fails(&[
        ("date.realtime('Mars')", Detail::InvalidArgumentValue),
        ("date.realtime({year: 2020})", Detail::InvalidArgumentValue),
        ("date.statement(1)", Detail::InvalidArgumentType),
    ]);
}
