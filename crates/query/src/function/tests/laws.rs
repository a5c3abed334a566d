//! Laws of functions, and what no argument may do to them.

use proptest::prelude::*;
use telar_graph::Value;
use telar_graph::value::{Date, DateTime, Duration};

use super::arbitrary;
use super::calculator::context;
use crate::aggregate::value_bytes;
use crate::function::{Function, Range, all, lookup};
use crate::ops::zone::Zone;
use crate::watch::sizes;
use crate::{aggregate, ops};

fn call(name: &str, args: &[Value]) -> Result<Value, crate::EvalError> {
    lookup(name).unwrap().call(args, &context())
}

/// Values that functions look at closely: names of units and zones, dates as texts, maps of
/// components, huge and negative numbers.
fn pointed() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec![
        "year",
        "weekYear",
        "microsecond",
        "HALF_UP",
        "NFKD",
        "BOTH",
        "x",
        "",
        "2015-W30-2",
        "2017-10-29T02:30+01:00[Europe/Stockholm]",
        "21:40:32.142+0100",
        "P1Y2M3DT4.5S",
        "true",
        "-1e400",
        "Europe/Stockholm",
        "+18:00",
        "\u{fdfa}\u{fdfa}\u{10ffff}",
    ]);
    let number = prop::sample::select(vec![0, 1, 2, 12, 53, 366, -1, i64::MAX, i64::MIN, 1 << 40]);
    let key = prop::sample::select(vec![
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
        "years",
        "days",
        "x",
        "y",
        "z",
        "longitude",
        "latitude",
        "height",
        "crs",
        "srid",
    ]);
    let scalar = prop_oneof![
        text.prop_map(Value::from),
        number.clone().prop_map(Value::Int),
        number.prop_map(|x| Value::Float(x as f64 * 1.5)),
        arbitrary::value(),
    ]
    .boxed();
    let map = prop::collection::btree_map(key, scalar.clone(), 0..5).prop_map(Value::map);
    prop_oneof![3 => scalar, 2 => map]
}

/// The most that a result may take: the longest list, or the longest string.
const RESULT_BYTES_MAX: usize = sizes::LIST_LEN_MAX * 24 + sizes::STRING_BYTES_MAX;

fn check_any_arguments(function: &Function, args: &[Value]) -> Result<(), TestCaseError> {
    let most = function.args_max.min(args.len());
    for count in function.args_min..=most {
        let args = &args[..count];
        let found = (function.eval)(args, &context());
        if let Ok(value) = &found {
            prop_assert!(value_bytes(value) <= RESULT_BYTES_MAX, "{}", function.name);
        }
        if function.deterministic {
            prop_assert_eq!(&found, &(function.eval)(args, &context()), "{}", function.name);
        }
        if function.null_in_null_out && count > 0 {
            let mut args = args.to_vec();
            args[count - 1] = Value::Null;
            prop_assert_eq!(function.call(&args, &context()), Ok(Value::Null));
        }
    }
    prop_assert!(function.args_min == 0 || function.call(&[], &context()).is_err());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// No arguments make a function panic or take all memory, and what is said of it holds.
    #[test]
    fn functions_take_any_arguments(args in prop::collection::vec(pointed(), 3)) {
        for function in all() {
            check_any_arguments(function, &args)?;
        }
    }

    /// A text reads back as what wrote it.
    #[test]
    fn temporal_values_read_back_from_their_texts(value in arbitrary::value()) {
        let reader = match &value {
            Value::Date(_) => "date",
            Value::LocalTime(_) => "localtime",
            Value::Time(_) => "time",
            Value::LocalDateTime(_) => "localdatetime",
            Value::Duration(_) => "duration",
            Value::Int(_) => "toInteger",
            Value::Float(_) => "toFloat",
            Value::Bool(_) => "toBoolean",
            _ => return Ok(()),
        };
        let text = call("toString", std::slice::from_ref(&value)).unwrap();
        prop_assert_eq!(call(reader, &[text]), Ok(value));
    }

    #[test]
    fn zoned_values_read_back_from_their_texts(seconds in -100_000_000_000_i64..100_000_000_000) {
        for zone in ["Europe/Stockholm", "America/New_York", "Australia/Lord_Howe", "UTC"] {
            let at = Value::from(Zone::parse(zone).unwrap().at_instant(seconds, 5).unwrap());
            let text = call("toString", std::slice::from_ref(&at)).unwrap();
            prop_assert_eq!(call("datetime", &[text]), Ok(at));
        }
    }

    /// A zone finds the same offset for a moment and for what clocks show then.
    #[test]
    fn zones_agree_with_themselves(at in arbitrary::local_date_time()) {
        for zone in ["Europe/Stockholm", "America/New_York", "Australia/Lord_Howe", "+01:30"] {
            let zone = Zone::parse(zone).unwrap();
            let Ok(resolved) = zone.resolve(at, None) else { continue };
            let nanos = i64::from(resolved.time().nanosecond());
            if let Ok(again) = zone.at_instant(resolved.epoch_second(), nanos) {
                prop_assert_eq!(&again, &resolved);
                prop_assert_eq!(zone.resolve(again.local(), Some(again.offset())), Ok(resolved));
            }
        }
    }

    /// What lies between two moments leads from one to the other.
    #[test]
    fn the_duration_between_leads_there(
        from in arbitrary::local_date_time(),
        to in arbitrary::local_date_time(),
        offsets in [arbitrary::offset(), arbitrary::offset()],
    ) {
        let zoned = |local, at: usize| Value::from(DateTime::new(local, offsets[at]));
        let pairs = [
            (Value::from(from), Value::from(to)),
            (from.date().into(), to.date().into()),
            (zoned(from, 0), zoned(to, 0)),
        ];
        for (from, to) in pairs {
            let between = call("duration.between", &[from.clone(), to.clone()]).unwrap();
            prop_assert_eq!(ops::add(&from, &between), Ok(to.clone()));
            let seconds = call("duration.inSeconds", &[from.clone(), to.clone()]).unwrap();
            prop_assert_eq!(ops::add(&from, &seconds), Ok(to));
        }
        // With two offsets the result is the same moment.
        let (from, to) = (zoned(from, 0), zoned(to, 1));
        let seconds = call("duration.inSeconds", &[from.clone(), to.clone()]).unwrap();
        if let (Ok(Value::DateTime(found)), Value::DateTime(to)) = (ops::add(&from, &seconds), to) {
            prop_assert_eq!(found.epoch_nanos(), to.epoch_nanos());
        }
    }

    /// Truncating twice changes nothing more, and never leads forward.
    #[test]
    fn truncation_is_idempotent(at in arbitrary::local_date_time(), offset in arbitrary::offset()) {
        let units = [
            "millennium", "century", "decade", "year", "weekYear", "quarter", "month", "week", "day",
            "hour", "minute", "second", "millisecond", "microsecond",
        ];
        for (kind, at) in [
            ("date", Value::from(at.date())),
            ("localdatetime", at.into()),
            ("datetime", DateTime::new(at, offset).into()),
            ("localtime", at.time().into()),
        ] {
            for unit in units {
                let truncate = |at: &Value| {
                    call(&format!("{kind}.truncate"), &[unit.into(), at.clone()])
                };
                let Ok(truncated) = truncate(&at) else { continue };
                prop_assert!(truncated <= at, "{unit} of {at:?}");
                prop_assert_eq!(truncate(&truncated), Ok(truncated));
            }
        }
    }

    /// The components of a date make the date again, in each of the four ways.
    #[test]
    fn dates_are_made_of_their_components(date in arbitrary::date()) {
        let value = Value::from(date);
        for names in [
            &["year", "month", "day"][..],
            &["year", "ordinalDay"],
            &["year", "quarter", "dayOfQuarter"],
            &["weekYear", "week", "dayOfWeek"],
        ] {
            let component = |name: &str| ops::property(&value, name).unwrap();
            let entries = names.iter().map(|name| {
                (if *name == "weekYear" { "year" } else { name }, component(name))
            });
            let made = call("date", &[Value::map(entries)]);
            let in_range = i64::from(date.week_year()).abs() <= 999_999_999;
            if in_range || names[0] == "year" {
                prop_assert_eq!(made, Ok(value.clone()));
            }
        }
        let same = Value::map([("date", value.clone())]);
        prop_assert_eq!(call("date", &[same]), Ok(value));
    }

    #[test]
    fn ranges_have_the_length_they_say(
        start in arbitrary::int(), steps in 0_i64..20, step in arbitrary::int(),
    ) {
        let step = if step == 0 { 1 } else { step };
        let Some(end) = step.checked_mul(steps).and_then(|far| start.checked_add(far)) else {
            return Ok(());
        };
        let range = Range::new(&[start.into(), end.into(), step.into()]).unwrap();
        prop_assert_eq!(range.remaining(), steps as u128 + 1);
        let numbers: Vec<i64> = range.collect();
        prop_assert_eq!(numbers.len() as i64, steps + 1);
        prop_assert_eq!(numbers.first(), Some(&start));
        prop_assert_eq!(numbers.last(), Some(&end));
    }

    #[test]
    fn parts_of_a_string_make_it_again(text in "[a-c,\u{e9}]{0,12}", at in 0_i64..15) {
        let whole = Value::from(text.as_str());
        let size = call("size", std::slice::from_ref(&whole)).unwrap();
        let left = call("left", &[whole.clone(), at.into()]).unwrap();
        let rest = call("substring", &[whole.clone(), at.into()]).unwrap();
        prop_assert_eq!(ops::add(&left, &rest), Ok(whole.clone()));
        let Ok(Value::List(parts)) = call("split", &[whole.clone(), ",".into()]) else {
            return Err(TestCaseError::fail("no list"));
        };
        let parts: Vec<&str> = parts.iter().map(|part| part.try_into().unwrap()).collect();
        prop_assert_eq!(Value::from(parts.join(",")), whole.clone());
        let twice = call("reverse", &[call("reverse", std::slice::from_ref(&whole)).unwrap()]);
        prop_assert_eq!(twice, Ok(whole.clone()));
        let padded = call("lpad", &[whole.clone(), 20.into(), "xy".into()]).unwrap();
        prop_assert_eq!(call("size", &[padded]), Ok(20.into()));
        let right = call("right", &[whole.clone(), size]);
        prop_assert_eq!(right, Ok(whole));
    }
}

#[test]
fn names_are_found_in_any_case_and_once() {
    let names: Vec<String> = all().iter().map(|f| f.name.to_ascii_lowercase()).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    for function in all() {
        let found = lookup(&function.name.to_uppercase()).unwrap();
        assert_eq!(found.name, function.name);
        assert!(function.args_min <= function.args_max);
        assert!(function.signature.starts_with(&format!("{}(", function.name)));
        assert!(function.description.ends_with('.'), "{}", function.description);
        assert!(function.deterministic || function.reads_context);
        assert!(aggregate::lookup(function.name).is_none());
    }
    assert!(lookup("labels").is_none() && lookup("").is_none());
}

/// Random numbers are in their range, differ, and repeat with their seed.
#[test]
fn random_numbers_come_from_the_seed() {
    let (a, b) = (context(), context());
    let rand = lookup("rand").unwrap();
    let numbers = |context| (0..1_000).map(|_| rand.call(&[], context).unwrap()).collect();
    let first: Vec<Value> = numbers(&a);
    assert_eq!(first, numbers(&b) as Vec<Value>);
    assert!(first.iter().all(|x| *x >= 0.0.into() && *x < 1.0.into()));
    let distinct: std::collections::BTreeSet<&Value> = first.iter().collect();
    assert_eq!(distinct.len(), first.len());
}

/// The ends of time.
#[test]
fn the_first_and_last_dates_are_handled() {
    for date in [Date::MIN, Date::MAX] {
        for zone in ["Europe/Stockholm", "America/New_York"] {
            let fields = Value::map([("date", Value::from(date)), ("timezone", zone.into())]);
            let at = call("datetime", &[fields]).unwrap();
            let same = ops::add(&at, &Duration::ZERO.into());
            assert_eq!(same, Ok(at));
        }
    }
}
