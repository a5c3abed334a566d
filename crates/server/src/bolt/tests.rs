//! Values there and back, and bytes that may be anything.

use std::sync::Arc;

use proptest::prelude::*;
use telar_db::value::{
    CoordinateType, Date, DateTime, Duration, LocalDateTime, LocalTime, NESTING_MAX, Point, Srid,
    Time, UtcOffset, Vector,
};
use telar_db::{Value, ValueMap};

use super::encode::Encoder;
use super::message::{Demand, Request};
use super::packstream::encode as put;
use super::structure::{Decoder, Dialect, Refusal};
use super::version::Version;

#[path = "../../../graph/src/arbitrary.rs"]
#[expect(dead_code, reason = "other crates use the rest")]
mod arbitrary;

const UTC: Dialect = Dialect::of(Version::new(6, 0));
const CLOCK: Dialect = Dialect::of(Version::new(4, 3));
const FIVE: Dialect = Dialect::of(Version::new(5, 8));
const MEMORY: usize = 1 << 20;

fn encoded(value: &Value, dialect: Dialect) -> Vec<u8> {
    let mut out = Vec::new();
    Encoder { dialect, rows: None, begin: 0 }.value(&mut out, value).unwrap();
    out
}

fn decoded(bytes: &[u8], dialect: Dialect) -> Result<Value, Refusal> {
    let mut decoder = Decoder::new(bytes, dialect, MEMORY);
    let value = decoder.value(NESTING_MAX)?;
    assert!(decoder.reader.is_at_end());
    Ok(value)
}

/// The code and text of what is understood and refused.
fn refused(bytes: &[u8]) -> (&'static str, String) {
    match decoded(bytes, UTC) {
        Err(Refusal::Unacceptable(failure)) => (failure.code, failure.message),
        other => panic!("{other:?}"),
    }
}

fn request(bytes: &[u8]) -> Result<Request, String> {
    Request::read(bytes, Version::new(5, 8), UTC, MEMORY).map_err(|failure| failure.message)
}

proptest! {
    #[test]
    fn values_come_back_as_they_went(value in arbitrary::storable()) {
        let bytes = encoded(&value, UTC);
        match decoded(&bytes, UTC) {
            // The offset of a named zone is not sent: it comes back as the zone's rules have it.
            Ok(back) => prop_assert_eq!(encoded(&back, UTC), bytes),
            Err(Refusal::Unacceptable(failure)) => {
                // A day at the end of time that begins before it elsewhere.
                prop_assert_eq!(failure.code, "Neo.ClientError.Statement.ArgumentError");
                let dated = format!("{value:?}").contains("DateTime");
                prop_assert!(dated);
            }
            Err(refusal) => prop_assert!(false, "{:?}", refusal),
        }
    }

    #[test]
    fn dates_and_times_by_the_clock_come_back(at in arbitrary::date_time()) {
        let at = Value::from(DateTime::new(at.local(), at.offset()));
        prop_assert_eq!(decoded(&encoded(&at, CLOCK), CLOCK).unwrap(), at);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        super::fuzzing::message(&bytes);
    }
}

#[test]
fn values_have_the_bytes_that_drivers_expect() {
    let date = Date::new(1970, 1, 3).unwrap();
    let time = LocalTime::new(0, 0, 1, 5).unwrap();
    let (local, offset) = (LocalDateTime::new(date, time), UtcOffset::from_seconds(3600).unwrap());
    let second = 2 * 86_400 + 1;
    let cases: [(Value, &[i64], u8); 6] = [
        (Value::Date(date), &[2], b'D'),
        (Value::LocalTime(time), &[1_000_000_005], b't'),
        (Value::Time(Time::new(time, offset)), &[1_000_000_005, 3600], b'T'),
        (Value::LocalDateTime(local), &[second, 5], b'd'),
        (DateTime::new(local, offset).into(), &[second - 3600, 5, 3600], b'I'),
        (Duration::new(1, 2, -3, 4).unwrap().into(), &[1, 2, -3, 4], b'E'),
    ];
    for (value, fields, tag) in cases {
        let mut bytes = Vec::new();
        put::structure(&mut bytes, tag, fields.len() as u8);
        fields.iter().for_each(|field| put::int(&mut bytes, *field));
        assert_eq!(encoded(&value, UTC), bytes, "{value:?}");
    }
    let clock = encoded(&DateTime::new(local, offset).into(), CLOCK);
    assert_eq!(clock[..2], [0xB3, b'F']);
    let zone = Value::from(DateTime::with_zone(local, offset, "Europe/Berlin").unwrap());
    let bytes = encoded(&zone, UTC);
    assert_eq!((&bytes[..2], decoded(&bytes, UTC).unwrap()), (&[0xB3, b'i'][..], zone.clone()));
    let bytes = encoded(&zone, CLOCK);
    assert_eq!((&bytes[..2], decoded(&bytes, CLOCK).unwrap()), (&[0xB3, b'f'][..], zone));
    let point = Point::new(Srid::Wgs84_3d, &[1.0, 2.0, 3.0]).unwrap();
    assert_eq!(encoded(&point.into(), UTC)[..5], [0xB4, b'Y', 0xC9, 0x13, 0x73]);
}

#[test]
fn vectors_have_a_structure_since_bolt_6() {
    let vector = |ty, numbers: &[i64]| {
        let numbers: Vec<Value> = numbers.iter().map(|x| Value::Int(*x)).collect();
        Value::from(Vector::of_values(ty, &numbers).unwrap())
    };
    let cases: [(CoordinateType, u8, &[u8]); 6] = [
        (CoordinateType::I8, 0xC8, &[1, 0xFE]),
        (CoordinateType::I16, 0xC9, &[0, 1, 0xFF, 0xFE]),
        (CoordinateType::I32, 0xCA, &[0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFE]),
        (
            CoordinateType::I64,
            0xCB,
            &[0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 254],
        ),
        (CoordinateType::F32, 0xC6, &[0x3F, 0x80, 0, 0, 0xC0, 0, 0, 0]),
        (CoordinateType::F64, 0xC1, &[0x3F, 0xF0, 0, 0, 0, 0, 0, 0, 0xC0, 0, 0, 0, 0, 0, 0, 0]),
    ];
    let structure = |marker: &[u8], data: &[u8]| {
        let mut bytes = Vec::new();
        put::structure(&mut bytes, b'V', 2);
        put::bytes(&mut bytes, marker);
        put::bytes(&mut bytes, data);
        bytes
    };
    for (ty, marker, data) in cases {
        let value = vector(ty, &[1, -2]);
        let bytes = structure(&[marker], data);
        assert_eq!(encoded(&value, UTC), bytes, "{ty}");
        assert_eq!(decoded(&bytes, UTC), Ok(value.clone()));
        // A list before.
        let Value::Vector(of) = &value else { panic!("a vector") };
        assert_eq!(encoded(&value, FIVE), encoded(&Value::from(of.to_values()), FIVE));
        assert!(matches!(decoded(&bytes, FIVE), Err(Refusal::Unacceptable(_))));
    }
    for (marker, data) in [
        (&[0xC6][..], &[][..]),
        (&[0xC6], &[0x3F, 0x80, 0]),
        (&[0xC6], &[0x7F, 0xC0, 0, 0]),
        (&[0xC7], &[1]),
        (&[], &[1]),
        (&[0xC8, 0xC8], &[1]),
        (&[0xC8], &[1; 4097]),
    ] {
        let found = decoded(&structure(marker, data), UTC);
        assert!(matches!(found, Err(Refusal::Unacceptable(_))), "{marker:?} {found:?}");
    }
}

#[test]
fn the_ends_of_time_can_be_sent() {
    for date in [Date::MIN, Date::MAX] {
        for time in [LocalTime::MIDNIGHT, LocalTime::MAX] {
            for seconds in [-64_800, 0, 64_800] {
                let offset = UtcOffset::from_seconds(seconds).unwrap();
                let at = Value::from(DateTime::new(LocalDateTime::new(date, time), offset));
                assert_eq!(decoded(&encoded(&at, UTC), UTC), Ok(at));
            }
        }
    }
}

#[test]
fn what_is_no_value_is_refused_and_the_message_understood() {
    let argument = "Neo.ClientError.Statement.ArgumentError";
    let structure = |tag, fields: &[i64]| {
        let mut bytes = Vec::new();
        put::structure(&mut bytes, tag, fields.len() as u8);
        fields.iter().for_each(|field| put::int(&mut bytes, *field));
        bytes
    };
    for bytes in [
        structure(b'D', &[i64::MAX]),
        structure(b't', &[-1]),
        structure(b'T', &[0, 100_000]),
        structure(b'd', &[i64::MAX, i64::MAX]),
        structure(b'I', &[i64::MIN, i64::MIN, -64_800]),
        structure(b'E', &[0, 0, i64::MAX, 1_000_000_000]),
        structure(b'X', &[7, 0, 0]),
    ] {
        assert_eq!(refused(&bytes).0, argument, "{bytes:02X?}");
    }
    let mut zone = structure(b'i', &[0, 0, 0]);
    zone.pop();
    put::string(&mut zone, "Mars/Olympus");
    let (code, message) = refused(&zone);
    assert!(code == argument && message.contains("\"Mars/Olympus\" is not a known time zone"));

    let of_type = "Neo.ClientError.Statement.TypeError";
    for (tag, name) in [(b'N', "Node"), (b'R', "Relationship"), (b'P', "Path")] {
        let message = format!("{name} values cannot be used as parameters");
        assert_eq!(refused(&structure(tag, &[1])), (of_type, message));
    }
    let twice = [0xA2, 0x81, b'a', 1, 0x81, b'a', 2];
    assert!(refused(&twice).1.contains("stands twice"));
    // Dates of a version that is not spoken here.
    assert!(refused(&structure(b'F', &[0, 0, 0])).1.contains("0x46"));
    // Another number of fields than there should be cannot be skipped.
    for bytes in [structure(b'D', &[1, 2]), structure(b'E', &[1]), vec![0xB1, b'D', 0xC0]] {
        assert!(matches!(decoded(&bytes, UTC), Err(Refusal::Malformed(_))), "{bytes:02X?}");
    }
}

#[test]
fn values_nest_and_grow_only_so_far() {
    let nested = |levels: usize| [vec![0x91; levels], vec![0x01]].concat();
    let most = NESTING_MAX as usize;
    let value = decoded(&nested(most), UTC).unwrap();
    assert!(value.nests_within(NESTING_MAX) && !value.nests_within(NESTING_MAX - 1));
    assert!(refused(&nested(most + 1)).1.contains("nest more than"));
    assert!(refused(&nested(100_000)).1.contains("nest more than"));
    // A byte each, and each a value of many bytes.
    let mut flat = Vec::new();
    put::list(&mut flat, 100_000);
    flat.resize(flat.len() + 100_000, 0x90);
    assert!(refused(&flat).1.contains("more memory"));
    let maps = [&[0xD5, 0x30, 0x00][..], &[0xA0; 0x3000]].concat();
    assert!(refused(&maps).1.contains("more memory"));
}

#[test]
fn requests_are_read() {
    let run = [0xB3, 0x10, 0x81, b'q', 0xA1, 0x81, b'x', 7, 0xA0];
    let Ok(Request::Run(run)) = request(&run) else { panic!("no RUN") };
    let parameters = ValueMap::from([(Arc::from("x"), Value::Int(7))]);
    assert_eq!((&*run.text, run.parameters, run.extra), ("q", parameters, ValueMap::new()));
    let demand = |bytes: &[u8]| match request(bytes) {
        Ok(Request::Demand(demand)) => Ok(demand),
        Ok(Request::Unacceptable(failure)) => Err(failure.message),
        other => panic!("{other:?}"),
    };
    let all = Demand { discard: false, rows: None, qid: None };
    assert_eq!(demand(&[0xB1, 0x3F, 0xA0]), Ok(all));
    assert_eq!(demand(&[0xB1, 0x3F, 0xA1, 0x81, b'n', 0xFF]), Ok(all));
    let some = [0xB1, 0x2F, 0xA2, 0x81, b'n', 5, 0x83, b'q', b'i', b'd', 2];
    assert_eq!(demand(&some), Ok(Demand { discard: true, rows: Some(5), qid: Some(2) }));
    assert!(demand(&[0xB1, 0x3F, 0xA1, 0x81, b'n', 0]).unwrap_err().contains("at least 1"));
    assert!(demand(&[0xB1, 0x3F, 0xA1, 0x81, b'n', 0xC3]).unwrap_err().contains("BOOLEAN"));
    assert_eq!(request(&[0xB0, 0x0F]), Ok(Request::Reset));
    for bytes in [
        &[][..],
        &[0x01],
        &[0xB0],
        &[0xB0, 0x99],
        &[0xB1, 0x0F, 1],
        &[0xB0, 0x0F, 0],
        &[0xB1, 0x3F, 1],
        &[0xB3, 0x10, 1, 0xA0, 0xA0],
        &[0xB1, 0x11, 0xA1, 1, 1],
    ] {
        assert!(request(bytes).is_err(), "{bytes:02X?}");
    }
    // What a version does not know is as if it did not exist.
    let logoff = [0xB0, 0x6B];
    let of = |version| Request::read(&logoff, version, UTC, MEMORY);
    assert!(of(Version::new(5, 1)).is_ok() && of(Version::new(5, 0)).is_err());
}
