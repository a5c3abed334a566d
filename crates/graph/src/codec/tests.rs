//! Round trips, arbitrary bytes, golden bytes.

use proptest::prelude::*;

use crate::ids::VertexId;

use super::*;
use crate::arbitrary;

fn encoded(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, &mut out).unwrap();
    out
}

/// Equality that also tells `1` from `1.0` and one NaN from another.
fn identical(a: &Value, b: &Value) -> bool {
    encoded(a) == encoded(b)
}

#[test]
fn encoding_has_the_documented_layout() {
    assert_eq!(encoded(&Value::Null), [0x00]);
    assert_eq!(encoded(&Value::Bool(true)), [0x02]);
    assert_eq!(encoded(&Value::Int(-2)), [0x03, 0x03]);
    assert_eq!(encoded(&Value::Float(1.0)), [0x04, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
    assert_eq!(encoded(&Value::from("hi")), [0x05, 2, b'h', b'i']);
    assert_eq!(encoded(&Value::from(vec![7_u8])), [0x06, 1, 7]);
    assert_eq!(encoded(&Value::list([1, 2])), [0x07, 2, 0x03, 2, 0x03, 4]);
    assert_eq!(encoded(&Value::map([("k", true)])), [0x08, 1, 1, b'k', 0x02]);
    assert_eq!(encoded(&Value::Date(Date::EPOCH)), [0x09, 0]);
    let duration = Duration::new(1, -1, 2, 3).unwrap();
    assert_eq!(encoded(&duration.into()), [0x0f, 2, 1, 4, 3]);
    let point = Point::new(Srid::Wgs84, &[0.0, 0.0]).unwrap();
    assert_eq!(encoded(&point.into())[..3], [0x10, 0xe6, 0x10]);
    let vector = |ty| Vector::of_values(ty, &[1.into(), (-2).into()]).unwrap().into();
    assert_eq!(encoded(&vector(CoordinateType::I8)), [0x11, 0, 2, 1, 0xfe]);
    let floats = [0x11, 4, 2, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0];
    assert_eq!(encoded(&vector(CoordinateType::F32)), floats);
    let berlin = DateTime::with_zone(
        LocalDateTime::new(Date::EPOCH, LocalTime::MIDNIGHT),
        UtcOffset::from_seconds(3_600).unwrap(),
        "CET",
    );
    assert_eq!(encoded(&berlin.unwrap().into()), [0x0e, 0, 0, 0xa0, 0x38, 3, b'C', b'E', b'T']);
}

#[test]
fn decode_malformed_says_what_and_where() {
    let decode = |mut bytes: &[u8]| decode(&mut bytes);
    assert_eq!(decode(&[]), Err(DecodeError::Truncated { at: 0 }));
    assert_eq!(decode(&[0x12]), Err(DecodeError::Tag { at: 0, found: 0x12 }));
    assert_eq!(decode(&[0x05, 2, 0xff, 0xff]), Err(DecodeError::Utf8 { at: 2 }));
    assert_eq!(decode(&[0x07, 2, 0x00]), Err(DecodeError::Truncated { at: 2 }));
    assert_eq!(
        decode(&[0x08, 2, 1, b'b', 0x00, 1, b'a', 0x00]),
        Err(DecodeError::KeyOrder { at: 5 })
    );
    assert_eq!(decode(&[0x08, 2, 0, 0x00, 0, 0x00]), Err(DecodeError::KeyOrder { at: 4 }));

    let mut bytes = vec![0x09];
    put_varint_signed(Date::MAX.epoch_days() + 1, &mut bytes);
    assert_eq!(decode(&bytes), Err(DecodeError::Range { at: 0, field: "date" }));
    let mut bytes = vec![0x0a];
    put_varint(u64::MAX, &mut bytes);
    assert_eq!(decode(&bytes), Err(DecodeError::Range { at: 0, field: "time of day" }));
    assert_eq!(decode(&[0x10, 0, 0, 0, 0]), Err(DecodeError::Range { at: 0, field: "SRID" }));
    let mut bytes = vec![0x10, 0xe6, 0x10];
    bytes.extend(181.0_f64.to_bits().to_le_bytes());
    bytes.extend(0.0_f64.to_bits().to_le_bytes());
    assert_eq!(decode(&bytes), Err(DecodeError::Range { at: 0, field: "coordinate" }));

    let no_vector = Err(DecodeError::Range { at: 0, field: "vector" });
    assert_eq!(decode(&[0x11]), Err(DecodeError::Truncated { at: 1 }));
    let no_type = Err(DecodeError::Range { at: 0, field: "coordinate type" });
    assert_eq!(decode(&[0x11, 6, 1, 0]), no_type);
    assert_eq!(decode(&[0x11, 0, 0]), no_vector, "no coordinate");
    assert_eq!(decode(&[0x11, 4, 1, 0, 0, 0xc0]), Err(DecodeError::Truncated { at: 3 }));
    assert_eq!(decode(&[0x11, 4, 1, 0, 0, 0xc0, 0x7f]), no_vector, "NaN");
    let mut bytes = vec![0x11, 0];
    put_varint(4097, &mut bytes);
    bytes.resize(5000, 0);
    assert_eq!(decode(&bytes), no_vector, "too many");
}

#[test]
fn decode_false_count_allocates_nothing() {
    // A list that claims 2^40 elements: the count is checked before room is made for them.
    let mut bytes = vec![0x07];
    put_varint(1 << 40, &mut bytes);
    assert!(matches!(decode(&mut &bytes[..]), Err(DecodeError::Truncated { .. })));
    assert!(matches!(skip(&mut &bytes[..]), Err(DecodeError::Truncated { .. })));
}

#[test]
fn nesting_is_bounded_both_ways() {
    let nest = |levels| (0..levels).fold(Value::Null, |inner, _| Value::list([inner]));
    let deepest = nest(NESTING_MAX);
    let mut bytes = encoded(&deepest);
    assert_eq!(decode(&mut &bytes[..]), Ok(deepest));
    assert_eq!(skip(&mut &bytes[..]), Ok(()));

    let mut out = vec![9];
    assert_eq!(encode(&nest(NESTING_MAX + 1), &mut out), Err(EncodeError::Nesting));
    assert_eq!(out, [9]);

    bytes.splice(0..0, [0x07, 1]);
    let at = 2 * NESTING_MAX as usize;
    assert_eq!(decode(&mut &bytes[..]), Err(DecodeError::Nesting { at }));
    assert_eq!(skip(&mut &bytes[..]), Err(DecodeError::Nesting { at }));
    let bytes = [0x07, 1].repeat(1_000_000);
    assert_eq!(decode(&mut &bytes[..]), Err(DecodeError::Nesting { at }));
}

#[test]
fn what_names_things_of_a_snapshot_is_refused_wherever_it_nests() {
    let mut out = vec![7];
    let vertex = Value::Vertex(VertexId::from_raw(1));
    for value in [vertex.clone(), Value::list([vertex.clone()]), Value::map([("a", vertex)])] {
        assert_eq!(encode(&value, &mut out), Err(EncodeError::NotStorable("NODE")));
        assert!(!value.is_storable());
    }
    assert_eq!(out, [7]);
}

proptest! {
    #[test]
    fn codec_round_trips(
        value in arbitrary::storable(),
        tail in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let mut bytes = encoded(&value);
        let length = bytes.len();
        bytes.extend(&tail);

        let mut input = &bytes[..];
        let decoded = decode(&mut input).unwrap();
        prop_assert!(identical(&decoded, &value));
        prop_assert_eq!(input, &tail[..]);

        let mut input = &bytes[..];
        skip(&mut input).unwrap();
        prop_assert_eq!(input, &tail[..]);

        for end in 0..length {
            prop_assert!(decode(&mut &bytes[..end]).is_err());
            prop_assert!(skip(&mut &bytes[..end]).is_err());
        }
    }

    #[test]
    fn decode_random_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        check_decode(&bytes)?;
    }

    /// Random tags and small numbers get deeper into the decoder than uniform bytes do.
    #[test]
    fn decode_plausible_bytes_never_panics(bytes in prop::collection::vec(0_u8..0x18, 0..64)) {
        check_decode(&bytes)?;
    }

    #[test]
    fn decode_damaged_value_never_panics(
        value in arbitrary::storable(),
        index in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = encoded(&value);
        let at = index.index(bytes.len());
        bytes[at] = byte;
        check_decode(&bytes)?;
    }
}

/// Whatever decodes is the only encoding of its value, and skips to the same place.
fn check_decode(bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut input = bytes;
    let decoded = decode(&mut input);
    let mut skipped = bytes;
    let skip_result = skip(&mut skipped);
    match decoded {
        Ok(value) => {
            let length = bytes.len() - input.len();
            prop_assert_eq!(&encoded(&value)[..], &bytes[..length]);
            prop_assert!(skip_result.is_ok());
            prop_assert_eq!(skipped, input);
        }
        Err(_) => prop_assert_eq!(input, bytes),
    }
    Ok(())
}
