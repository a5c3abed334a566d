//! Order-preserving binary form of values: bytes that compare as the values do.
//!
//! ```text
//!  key = one encoding per value of the tuple, one after the other
//!
//!  tag                      payload, big-endian
//!  ├─ by type ┤
//!  Map                      count u64 │ count × text key │ count × value
//!  Vertex                   number u64
//!  Edge                     type u16 │ source u64 │ destination u64 │ ordinal u32
//!  List                     elements │ 0x00
//!  Path                     vertex │ edges × (1 │ edge │ vertex) │ 0
//!  Bytes, String            bytes, 0x00 as 0x00 0xff │ 0x00 0x00
//!  Vector                   tag of Point │ coordinate type, 0 to 5 │ dimension u16
//!                           │ coordinates of 1 to 8 bytes: signed integers, or floats
//!  Point                    SRID u16 │ 2 or 3 × float
//!  DateTime                 instant i128 │ offset i32 │ 0, or 1 and zone as text
//!  LocalDateTime            days i64 │ nanoseconds of the day, 6 bytes
//!  Date                     days i64
//!  Time                     instant i64 │ offset i32
//!  LocalTime                nanoseconds of the day, 6 bytes
//!  Duration                 average length i128 │ months i64 │ days i64 │ seconds i64 │ nanos u32
//!  Bool                     0 or 1
//!  Number                   largest float not above it │ what is above that float, u16
//!  Null                     -
//!
//!  float = bits, all flipped if negative, else the sign flipped; signed integers have the sign
//!  flipped. A Vector is below each Point, as no SRID begins with a byte below 16.
//! ```
//!
//! Invariants: for tuples of equally many values, bytes compare as the tuples do by the total order
//! of [`crate::order`], and are equal exactly if the tuples are. No encoding is a proper prefix of
//! another, so that a tuple may be followed by anything.
//!
//! An integer is exact although a float has fewer digits: between two neighbouring floats within
//! the range of `i64` lie at most 1,023 integers, and the distance from the lower one is the `u16`.
//!
//! ```
//! use telar_graph::{Value, sortkey};
//!
//! let key = |v: Value| {
//!     let mut bytes = Vec::new();
//!     sortkey::encode(&v, &mut bytes);
//!     bytes
//! };
//! assert!(key(Value::Int(1)) < key(Value::Float(1.5)));
//! assert_eq!(key(Value::Int(1)), key(Value::Float(1.0)));
//! ```

use crate::ids::EdgeId;
use crate::order::OrderRank;
use crate::value::{Value, Vector};

/// First byte of the encoding of a value of this rank; those of higher ranks are larger, but those
/// of vectors and points are one.
#[must_use]
pub const fn tag(rank: OrderRank) -> u8 {
    // Vectors came when keys with the other tags were stored already.
    let number = rank as u8;
    if number <= OrderRank::Vector as u8 { number + 1 } else { number }
}

/// Second byte, and those above it, of points; vectors have one below it.
const FIRST_OF_POINT: u8 = 16;

/// The smallest bytes of an encoding of a value of this rank, or below those.
#[must_use]
pub fn first(rank: OrderRank) -> Vec<u8> {
    match rank {
        OrderRank::Point => vec![tag(rank), FIRST_OF_POINT],
        _ => vec![tag(rank)],
    }
}

/// The smallest bytes above every encoding of a value of this rank.
#[must_use]
pub fn end(rank: OrderRank) -> Vec<u8> {
    match rank {
        OrderRank::Vector => first(OrderRank::Point),
        _ => vec![tag(rank) + 1],
    }
}

/// Big-endian bytes, lowest `N` of eight.
fn put_word<const N: usize>(word: u64, out: &mut Vec<u8>) {
    for i in (0..N).rev() {
        out.push((word >> (8 * i)) as u8);
    }
}

fn put_i64(x: i64, out: &mut Vec<u8>) {
    put_word::<8>(x.cast_unsigned() ^ (1 << 63), out);
}

fn put_i32(x: i32, out: &mut Vec<u8>) {
    put_word::<4>(u64::from(x.cast_unsigned() ^ (1 << 31)), out);
}

fn put_i128(x: i128, out: &mut Vec<u8>) {
    let bits = x.cast_unsigned() ^ (1 << 127);
    put_word::<8>((bits >> 64) as u64, out);
    put_word::<8>(bits as u64, out);
}

/// The bits of a float, in an order that is the numbers'; zeros are one, NaNs are one.
fn ordered_bits(x: f64) -> u64 {
    let bits = if x.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { (x + 0.0).to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Float and remainder of an integer: the largest float not above it, and the distance from there.
fn split_int(x: i64) -> (u64, u16) {
    let near = x as f64;
    if x.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS {
        return (ordered_bits(near), 0);
    }
    // Rounding may go up, at the top even out of the range.
    let floor = if near as i128 > i128::from(x) { near.next_down() } else { near };
    (ordered_bits(floor), (i128::from(x) - floor as i128) as u16)
}

/// The two words of a number: one float and what an integer has above it; `None` for other values.
///
/// Numbers compare as these pairs do.
#[must_use]
pub fn number_words(value: &Value) -> Option<(u64, u16)> {
    match value {
        Value::Int(x) => Some(split_int(*x)),
        Value::Float(x) => Some((ordered_bits(*x), 0)),
        _ => None,
    }
}

fn put_text(bytes: &[u8], out: &mut Vec<u8>) {
    for &b in bytes {
        out.push(b);
        if b == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn put_edge(edge: &EdgeId, out: &mut Vec<u8>) {
    put_word::<2>(edge.ty.get().into(), out);
    put_word::<8>(edge.src.get(), out);
    put_word::<8>(edge.dst.get(), out);
    put_word::<4>(edge.ordinal.into(), out);
}

/// Coordinates take as many bytes as they do in memory.
fn put_vector(vector: &Vector, out: &mut Vec<u8>) {
    out.push(vector.coordinate_type().number());
    put_word::<2>(vector.dimension() as u64, out);
    let lowest = vector.coordinate_type().bytes();
    for bits in vector.ordered() {
        out.extend((0..lowest).rev().map(|at| (bits >> (8 * at)) as u8));
    }
}

/// Appends the encoding of `value` to `out`.
///
/// Recurses once per level of nesting. Cost: linear in the encoded length.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    out.push(tag(OrderRank::of(value)));
    match value {
        Value::Null => {}
        Value::Bool(x) => out.push(u8::from(*x)),
        Value::Int(_) | Value::Float(_) => {
            let (float, above) = number_words(value).unwrap_or_default();
            put_word::<8>(float, out);
            put_word::<2>(above.into(), out);
        }
        Value::String(x) => put_text(x.as_bytes(), out),
        Value::Bytes(x) => put_text(x, out),
        Value::List(x) => {
            x.iter().for_each(|element| encode(element, out));
            out.push(0);
        }
        Value::Map(x) => {
            put_word::<8>(x.len() as u64, out);
            x.keys().for_each(|key| put_text(key.as_bytes(), out));
            x.values().for_each(|element| encode(element, out));
        }
        Value::Date(x) => put_i64(x.epoch_days(), out),
        Value::LocalTime(x) => put_word::<6>(x.nanos_of_day().cast_unsigned(), out),
        Value::Time(x) => {
            put_i64(x.utc_nanos(), out);
            put_i32(x.offset().seconds(), out);
        }
        Value::LocalDateTime(x) => {
            put_i64(x.date().epoch_days(), out);
            put_word::<6>(x.time().nanos_of_day().cast_unsigned(), out);
        }
        Value::DateTime(x) => {
            put_i128(x.epoch_nanos(), out);
            put_i32(x.offset().seconds(), out);
            match x.zone() {
                None => out.push(0),
                Some(zone) => {
                    out.push(1);
                    put_text(zone.as_bytes(), out);
                }
            }
        }
        Value::Duration(x) => {
            put_i128(x.average_nanos(), out);
            put_i64(x.months(), out);
            put_i64(x.days(), out);
            put_i64(x.seconds(), out);
            put_word::<4>(x.nanos().into(), out);
        }
        Value::Point(x) => {
            put_word::<2>(x.srid().get().into(), out);
            x.coordinates().iter().for_each(|c| put_word::<8>(ordered_bits(*c), out));
        }
        Value::Vector(x) => put_vector(x, out),
        Value::Vertex(x) => put_word::<8>(x.get(), out),
        Value::Edge(x) => put_edge(x, out),
        Value::Path(x) => {
            put_word::<8>(x.vertices()[0].get(), out);
            for (edge, vertex) in x.edges().iter().zip(&x.vertices()[1..]) {
                out.push(1);
                put_edge(edge, out);
                put_word::<8>(vertex.get(), out);
            }
            out.push(0);
        }
    }
}

/// The smallest bytes above every encoding that begins with `prefix`; `None` if there are none.
#[must_use]
pub fn after_prefix(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < 0xff {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::value;
    use proptest::prelude::*;

    fn key(values: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        values.iter().for_each(|v| encode(v, &mut out));
        out
    }

    fn one(value: &Value) -> Vec<u8> {
        key(std::slice::from_ref(value))
    }

    /// Numbers where floats and integers meet: around powers of two and the ends of the range.
    fn number() -> impl Strategy<Value = Value> {
        let near = (0_u32..64, -3_i64..4, any::<bool>()).prop_map(|(shift, d, negative)| {
            let x = (1_i64.wrapping_shl(shift)).wrapping_add(d);
            if negative { x.wrapping_neg() } else { x }
        });
        prop_oneof![
            near.clone().prop_map(Value::Int),
            near.prop_map(|x| Value::Float(x as f64)),
            any::<i64>().prop_map(Value::Int),
            any::<f64>().prop_map(Value::Float),
            any::<i64>().prop_map(|x| Value::Float(x as f64)),
            prop::sample::select(vec![f64::NAN, -f64::NAN, -0.0, 0.0, f64::INFINITY, 0.5])
                .prop_map(Value::Float),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn bytes_compare_as_values(a in value(), b in value()) {
            prop_assert_eq!(one(&a).cmp(&one(&b)), a.cmp(&b));
        }

        #[test]
        fn bytes_compare_as_numbers(a in number(), b in number()) {
            prop_assert_eq!(one(&a).cmp(&one(&b)), a.cmp(&b));
            prop_assert_eq!(number_words(&a).cmp(&number_words(&b)), a.cmp(&b));
        }

        #[test]
        fn bytes_compare_as_tuples(
            a in proptest::collection::vec(value(), 2),
            b in proptest::collection::vec(value(), 2),
            same in any::<bool>(),
        ) {
            let mut b = b;
            if same {
                b[0] = a[0].clone();
            }
            prop_assert_eq!(key(&a).cmp(&key(&b)), a.cmp(&b));
        }

        #[test]
        fn no_encoding_is_a_prefix_of_another(a in value(), b in value()) {
            let (x, y) = (key(&[a]), key(&[b]));
            prop_assert!(x == y || !y.starts_with(&x));
        }

        #[test]
        fn what_follows_a_prefix_is_above_it(a in value(), b in value(), c in value()) {
            let prefix = key(std::slice::from_ref(&a));
            let after = after_prefix(prefix.clone()).unwrap();
            let (with, other) = (key(&[a.clone(), b.clone()]), key(&[c.clone(), b]));
            prop_assert!(prefix <= with && with < after);
            prop_assert_eq!(other < after, c <= a);
        }
    }

    #[test]
    fn encodings_have_these_bytes() {
        assert_eq!(key(&[Value::Int(1)]), [16, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(key(&[Value::Float(-0.0)]), [16, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let most = key(&[Value::Int(i64::MAX)]);
        assert_eq!(most, [16, 0xc3, 0xdf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 3, 0xff]);
        assert_eq!(key(&["a\0b".into()]), [14, b'a', 0, 0xff, b'b', 0, 0]);
        assert_eq!(key(&[true.into(), Value::Null]), [15, 1, 17]);
        assert_eq!(key(&[Value::list([false])]), [4, 15, 0, 0]);
        assert_eq!(after_prefix(vec![3, 0xff, 0xff]), Some(vec![4]));
        assert_eq!(after_prefix(vec![0xff]), None);
    }
}
