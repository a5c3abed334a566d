//! A segment of property values as stored, by type.
//!
//! ```text
//!  kind u8, then by kind (after presence, only values that are there count: n of them)
//!   0  no values     -
//!   1  truth values  presence · run of 0 and 1
//!   2  integers      presence · run
//!   3  floats        presence · form u8 · 255: n x IEEE bits, 8 bytes each
//!                                         0..=9: run of integers, value = integer / 10^form
//!   4  dates         presence · run of days since 1970-01-01
//!   5  strings       presence · distinct u32 varint · run of their lengths · their bytes
//!                    · run of n numbers of distinct strings
//!   6  anything      2^k values as in telar_graph::codec, null where there is none
//!   7  float lists   presence · length varint · bytes of a number u8, 4 or 8
//!                    · n x length x IEEE bits
//!   8  vectors       as 7: of FLOAT32, or of FLOAT if a number has 8 bytes
//!
//!  presence = 0: all there; 1: 2^k bits follow, lowest first      run: packed.rs
//! ```
//!
//! Floats that are short decimals, as money and ratings are, are stored as the integers they are
//! written with: dividing gives back the same bits, which is checked value by value.

use std::collections::HashMap;
use std::sync::Arc;

use telar_graph::Value;
use telar_graph::codec::{self, get_varint, put_varint};
use telar_graph::column::{FloatBlock, Floats};
use telar_graph::value::Date;

use super::Chunk;
use super::chunk::{BITMAP_WORDS, NO_LIST, Presence, PropertyChunk, collect_bits, numbers_of};
use crate::adjacency::SEGMENT_VERTICES;
use crate::packed::{get_run, put_run};

const ABSENT: u8 = 0;
const BOOL: u8 = 1;
const INT: u8 = 2;
const FLOAT: u8 = 3;
const DATE: u8 = 4;
const TEXT: u8 = 5;
const MIXED: u8 = 6;
const FLOAT_LISTS: u8 = 7;
const FLOAT_VECTORS: u8 = 8;

/// Form of floats that are not all short decimals.
const FLOAT_BITS: u8 = 255;
/// Powers of ten that divide exactly enough: up to 10^9 each is a float.
const POWERS: [f64; 10] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

fn is_set(bits: &[u64; BITMAP_WORDS], i: usize) -> bool {
    bits[i / 64] >> (i % 64) & 1 == 1
}

fn put_presence(some: &[u64; BITMAP_WORDS], out: &mut Vec<u8>) {
    if some.iter().all(|w| *w == u64::MAX) {
        return out.push(0);
    }
    out.push(1);
    some.iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
}

/// The values that are there.
fn present<'a, T>(
    some: &'a [u64; BITMAP_WORDS],
    values: &'a [T; SEGMENT_VERTICES],
) -> impl Iterator<Item = &'a T> {
    values.iter().enumerate().filter(|(i, _)| is_set(some, *i)).map(|(_, v)| v)
}

/// Appends the encoding of a segment of values.
pub(crate) fn encode(chunk: &PropertyChunk, out: &mut Vec<u8>) {
    match chunk {
        PropertyChunk::Absent => out.push(ABSENT),
        // How many there are is no matter of the format.
        PropertyChunk::Few(_) => encode(&PropertyChunk::wide(&chunk.values()), out),
        PropertyChunk::Bool(some, values) => {
            out.push(BOOL);
            put_presence(some, out);
            let all = (0..SEGMENT_VERTICES).filter(|i| is_set(some, *i));
            let bits: Vec<i64> = all.map(|i| i64::from(is_set(values, i))).collect();
            put_run(&bits, out);
        }
        PropertyChunk::Int(some, values) => {
            out.push(INT);
            put_presence(some, out);
            if some.iter().all(|w| *w == u64::MAX) {
                return put_run(&values[..], out);
            }
            let values: Vec<i64> = present(some, values).copied().collect();
            put_run(&values, out);
        }
        PropertyChunk::Float(some, values) => {
            out.push(FLOAT);
            put_presence(some, out);
            let values: Vec<f64> = present(some, values).copied().collect();
            put_floats(&values, out);
        }
        PropertyChunk::Text(values) => {
            out.push(TEXT);
            put_presence(&collect_bits(|i| values[i].is_some()), out);
            put_texts(values.iter().flatten(), out);
        }
        PropertyChunk::FloatLists(numbers, block) => {
            out.push(if block.is_of_vectors() { FLOAT_VECTORS } else { FLOAT_LISTS });
            put_presence(&collect_bits(|i| numbers[i] != NO_LIST), out);
            put_float_lists(block, out);
        }
        PropertyChunk::Mixed(values) => put_mixed(values, out),
    }
}

/// The integers that `values` are at `digits` decimals; false if one is not.
fn decimals(values: &[f64], digits: usize, out: &mut Vec<i64>) -> bool {
    /// Below this every integer is a float.
    const EXACT: f64 = (1u64 << 53) as f64;
    let power = POWERS[digits];
    out.clear();
    for v in values {
        let scaled = v * power;
        let rounded = (scaled + 0.5f64.copysign(scaled)) as i64;
        let back = rounded as f64 / power;
        if scaled.abs() >= EXACT || back.to_bits() != v.to_bits() {
            return false;
        }
        out.push(rounded);
    }
    true
}

fn put_floats(values: &[f64], out: &mut Vec<u8>) {
    let mut integers = Vec::with_capacity(values.len());
    for digits in 0..POWERS.len() {
        // One value that needs more digits rules a form out at once.
        if decimals(values, digits, &mut integers) {
            let start = out.len();
            out.push(digits as u8);
            put_run(&integers, out);
            if out.len() - start <= 8 * values.len() {
                return;
            }
            out.truncate(start);
            break;
        }
    }
    out.push(FLOAT_BITS);
    values.iter().for_each(|v| out.extend_from_slice(&v.to_bits().to_le_bytes()));
}

fn put_texts<'a>(texts: impl Iterator<Item = &'a Arc<str>>, out: &mut Vec<u8>) {
    let mut numbers: HashMap<&str, i64, foldhash::fast::RandomState> = HashMap::default();
    let mut distinct: Vec<&str> = Vec::new();
    let mut indexes = Vec::new();
    for text in texts {
        let number = *numbers.entry(text).or_insert_with(|| {
            distinct.push(text);
            distinct.len() as i64 - 1
        });
        indexes.push(number);
    }
    put_varint(distinct.len() as u64, out);
    let lengths: Vec<i64> = distinct.iter().map(|t| t.len() as i64).collect();
    put_run(&lengths, out);
    distinct.iter().for_each(|t| out.extend_from_slice(t.as_bytes()));
    put_run(&indexes, out);
}

fn put_float_lists(block: &FloatBlock, out: &mut Vec<u8>) {
    put_varint(block.length() as u64, out);
    match block.numbers() {
        Floats::F32(all) => {
            out.push(4);
            out.extend(all.iter().flat_map(|x| x.to_bits().to_le_bytes()));
        }
        Floats::F64(all) => {
            out.push(8);
            out.extend(all.iter().flat_map(|x| x.to_bits().to_le_bytes()));
        }
    }
}

fn put_mixed(values: &[Value; SEGMENT_VERTICES], out: &mut Vec<u8>) {
    let is_date = |v: &Value| matches!(v, Value::Null | Value::Date(_));
    if values.iter().all(is_date) {
        out.push(DATE);
        put_presence(&collect_bits(|i| !values[i].is_null()), out);
        let days = values.iter().filter_map(|v| match v {
            Value::Date(date) => Some(date.epoch_days()),
            _ => None,
        });
        return put_run(&days.collect::<Vec<_>>(), out);
    }
    out.push(MIXED);
    for v in values {
        codec::encode(v, out).expect("INVARIANT: nesting was checked when the value was set");
    }
}

fn get_byte(input: &mut &[u8]) -> Result<u8, String> {
    let (byte, rest) = input.split_first().ok_or("a segment of values ends early")?;
    *input = rest;
    Ok(*byte)
}

/// Which values are there, and how many.
fn get_presence(input: &mut &[u8]) -> Result<(Presence, usize), String> {
    let mut some = Box::new([u64::MAX; BITMAP_WORDS]);
    match get_byte(input)? {
        0 => {}
        1 => {
            let (bits, rest) =
                input.split_at_checked(8 * BITMAP_WORDS).ok_or("a bitmap ends early")?;
            *input = rest;
            for (word, bytes) in some.iter_mut().zip(bits.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
        form => return Err(format!("unknown form of presence {form}")),
    }
    let count = some.iter().map(|w| w.count_ones() as usize).sum();
    Ok((some, count))
}

/// Places of the values that are there.
fn places(some: &[u64; BITMAP_WORDS]) -> impl Iterator<Item = usize> {
    (0..SEGMENT_VERTICES).filter(|i| is_set(some, *i))
}

fn get_ints(input: &mut &[u8], count: usize) -> Result<Vec<i64>, String> {
    let mut values = Vec::with_capacity(count);
    get_run(input, count, |v| values.push(v))?;
    Ok(values)
}

fn get_floats(input: &mut &[u8], count: usize) -> Result<Vec<f64>, String> {
    match get_byte(input)? {
        FLOAT_BITS => {
            let (bits, rest) = input.split_at_checked(8 * count).ok_or("floats end early")?;
            *input = rest;
            Ok(bits.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect())
        }
        form => {
            let power = POWERS.get(usize::from(form)).ok_or("unknown form of floats")?;
            Ok(get_ints(input, count)?.into_iter().map(|i| i as f64 / power).collect())
        }
    }
}

fn get_texts(input: &mut &[u8], count: usize) -> Result<Vec<Arc<str>>, String> {
    let distinct = get_varint(input).map_err(|e| e.to_string())?;
    // Each of the distinct strings is there at least once.
    let distinct = usize::try_from(distinct).ok().filter(|d| *d <= count);
    let distinct = distinct.ok_or("more distinct strings than strings")?;
    let mut texts: Vec<Arc<str>> = Vec::with_capacity(distinct);
    for length in get_ints(input, distinct)? {
        let length = usize::try_from(length).map_err(|_| "a string has a negative length")?;
        let (bytes, rest) = input.split_at_checked(length).ok_or("strings end early")?;
        *input = rest;
        texts.push(std::str::from_utf8(bytes).map_err(|_| "a string is not UTF-8")?.into());
    }
    let text = |i: i64| usize::try_from(i).ok().and_then(|i| texts.get(i)).cloned();
    let indexes = get_ints(input, count)?;
    let found: Option<Vec<Arc<str>>> = indexes.into_iter().map(text).collect();
    found.ok_or_else(|| "a string's number is out of range".to_owned())
}

fn get_float_lists(input: &mut &[u8], count: usize) -> Result<FloatBlock, String> {
    let length = get_varint(input).map_err(|e| e.to_string())?;
    let width = get_byte(input)?;
    let length = usize::try_from(length).ok().filter(|length| *length > 0);
    let length = length.ok_or("lists of floats have no length")?;
    let bytes = count.checked_mul(length).and_then(|n| n.checked_mul(width.into()));
    let cut = bytes.and_then(|bytes| input.split_at_checked(bytes));
    let (bits, rest) = cut.ok_or("lists of floats end early")?;
    *input = rest;
    let block = match width {
        4 => {
            let all = bits.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
            FloatBlock::of_f32(length, all.collect())
        }
        8 => {
            let all = bits.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b));
            FloatBlock::of_f64(length, all.collect())
        }
        width => return Err(format!("floats of {width} bytes")),
    };
    block.ok_or_else(|| "lists of floats are of several lengths".to_owned())
}

fn get_mixed(input: &mut &[u8]) -> Result<PropertyChunk, String> {
    let mut values = Vec::with_capacity(SEGMENT_VERTICES);
    for _ in 0..SEGMENT_VERTICES {
        values.push(codec::decode(input).map_err(|e| e.to_string())?);
    }
    let values: Result<Box<[Value; SEGMENT_VERTICES]>, _> = values.into_boxed_slice().try_into();
    Ok(PropertyChunk::build(&*values.map_err(|_| "wrong number of values")?))
}

fn dense<T: Copy + Default>(
    some: &[u64; BITMAP_WORDS],
    values: Vec<T>,
) -> Box<[T; SEGMENT_VERTICES]> {
    let mut all = Box::new([T::default(); SEGMENT_VERTICES]);
    for (place, v) in places(some).zip(values) {
        all[place] = v;
    }
    all
}

/// Decodes a segment of values, written by this or an earlier version: any bytes give one, or a
/// reason.
pub(crate) fn decode(body: &[u8], version: u64) -> Result<PropertyChunk, String> {
    let input = &mut &*body;
    // Version 1 had one form and did not say so.
    let kind = if version == 1 { MIXED } else { get_byte(input)? };
    let chunk = match kind {
        ABSENT => PropertyChunk::Absent,
        MIXED => get_mixed(input)?,
        BOOL | INT | FLOAT | DATE | TEXT | FLOAT_LISTS | FLOAT_VECTORS => {
            let (some, count) = get_presence(input)?;
            match kind {
                BOOL => {
                    let values = dense(&some, get_ints(input, count)?);
                    if values.iter().any(|v| !(0..=1).contains(v)) {
                        return Err("a truth value is neither 0 nor 1".into());
                    }
                    PropertyChunk::Bool(some, collect_bits(|i| values[i] == 1))
                }
                INT => {
                    let values = get_ints(input, count)?;
                    let values = dense(&some, values);
                    PropertyChunk::Int(some, values)
                }
                FLOAT => {
                    let values = get_floats(input, count)?;
                    let values = dense(&some, values);
                    PropertyChunk::Float(some, values)
                }
                DATE => {
                    let mut values = Box::new([const { Value::Null }; SEGMENT_VERTICES]);
                    for (place, days) in places(&some).zip(get_ints(input, count)?) {
                        let date = Date::from_epoch_days(days).map_err(|e| e.to_string())?;
                        values[place] = Value::Date(date);
                    }
                    PropertyChunk::Mixed(values)
                }
                FLOAT_LISTS | FLOAT_VECTORS => {
                    let mut block = get_float_lists(input, count)?;
                    if kind == FLOAT_VECTORS {
                        block = block.into_vectors().ok_or("a vector is not valid")?;
                    }
                    let numbers = numbers_of(|local| is_set(&some, local));
                    PropertyChunk::FloatLists(numbers, Arc::new(block))
                }
                _ => {
                    let mut values = Box::new([const { None }; SEGMENT_VERTICES]);
                    for (place, text) in places(&some).zip(get_texts(input, count)?) {
                        values[place] = Some(text);
                    }
                    PropertyChunk::Text(values)
                }
            }
        }
        kind => return Err(format!("unknown kind of values {kind}")),
    };
    if input.is_empty() { Ok(chunk.tight()) } else { Err("bytes after the last value".into()) }
}

#[cfg(test)]
mod tests {
    use telar_graph::value::{CoordinateType, Vector};

    use super::*;

    fn chunk(f: impl Fn(usize) -> Value) -> PropertyChunk {
        let values: Vec<Value> = (0..SEGMENT_VERTICES).map(f).collect();
        PropertyChunk::build(values[..].try_into().unwrap())
    }

    fn bytes(f: impl Fn(usize) -> Value) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&chunk(f), &mut out);
        out
    }

    fn date(days: i64) -> Value {
        Value::Date(Date::from_epoch_days(days).unwrap())
    }

    fn vector(ty: CoordinateType, numbers: &[f64]) -> Value {
        let numbers: Vec<Value> = numbers.iter().map(|x| Value::Float(*x)).collect();
        Vector::of_values(ty, &numbers).unwrap().into()
    }

    fn makers() -> Vec<fn(usize) -> Value> {
        vec![
            |_| Value::Null,
            |i| Value::Bool(i % 3 == 0),
            |i| if i % 3 == 0 { Value::Null } else { Value::Bool(i % 2 == 0) },
            |i| Value::Int(i as i64 * 7 - 5),
            |i| if i % 100 == 0 { Value::Int(i64::MIN) } else { Value::Null },
            |i| Value::Float(i as f64 / 100.0),
            |i| Value::Float(if i == 500 { f64::NAN } else { i as f64 / 4.0 }),
            |i| Value::Float(if i == 500 { -0.0 } else { 1.5 }),
            |i| Value::Float((i as f64).sqrt() * 1e300),
            |i| if i % 2 == 0 { date(i as i64 - 300) } else { Value::Null },
            |i| format!("name {}", i % 9).as_str().into(),
            |i| if i % 5 == 0 { format!("{i}").as_str().into() } else { Value::Null },
            |i| if i % 2 == 0 { "x".into() } else { Value::Int(3) },
            |i| Value::list([i as i64]),
            |i| Value::list([i as f64, 0.5]),
            |i| if i % 9 == 0 { Value::list([i as f64 / 7.0]) } else { Value::Null },
            |i| Value::list((0..i % 2).map(|x| x as f64)),
            |i| vector(CoordinateType::F32, &[i as f64, 0.1]),
            |i| if i % 7 == 0 { vector(CoordinateType::F64, &[i as f64]) } else { Value::Null },
            |i| vector(CoordinateType::I16, &[i as f64]),
            |i| vector(CoordinateType::ALL[i % 6], &vec![0.5; 1 + i % 2]),
        ]
    }

    #[test]
    fn every_kind_of_segment_comes_back_and_no_cut_of_it_does() {
        for (n, make) in makers().into_iter().enumerate() {
            let encoded = bytes(make);
            let back = decode(&encoded, 2).unwrap();
            for i in 0..SEGMENT_VERTICES {
                let (got, want) = (back.get(i), make(i));
                assert_eq!(got, want, "maker {n} place {i}");
                if let (Value::Float(a), Value::Float(b)) = (got, want) {
                    assert_eq!(a.to_bits(), b.to_bits());
                }
            }
            // Every cut near the ends, and some of those between.
            let len = encoded.len();
            let near = (0..len.min(150)).chain((150..len).step_by(61)).chain(len - 1..len);
            for end in near {
                assert!(decode(&encoded[..end], 2).is_err(), "maker {n} cut at {end}");
            }
            assert!(decode(&[&encoded[..], &[0]].concat(), 2).is_err());
        }
    }

    #[test]
    fn damaged_segments_are_errors_or_other_values_but_never_panics() {
        for make in makers() {
            let encoded = bytes(make);
            for at in 0..encoded.len().min(300) {
                for bit in [1u8, 0x80, 0xff] {
                    let mut damaged = encoded.clone();
                    damaged[at] ^= bit;
                    let _ = decode(&damaged, 2);
                }
            }
        }
    }

    #[test]
    fn segments_are_small() {
        assert_eq!(bytes(|_| Value::Int(2024)).len(), 5);
        // Ten bits each: 0.00 to 10.23.
        assert_eq!(bytes(|i| Value::Float(i as f64 * 7.0 % 1024.0 / 100.0)).len(), 1285);
        assert!(bytes(|i| date(19_000 + i as i64 % 365)).len() < 1024 * 9 / 8 + 8);
    }

    /// Golden bytes: format version 2. A change here is a change of the format.
    #[test]
    fn segments_have_these_bytes() {
        assert_eq!(bytes(|_| Value::Null), [0]);
        assert_eq!(bytes(|_| Value::Bool(true)), [1, 0, 0, 2]);
        assert_eq!(bytes(|_| Value::Int(-3)), [2, 0, 0, 5]);
        assert_eq!(bytes(|_| Value::Float(1.5)), [3, 0, 1, 0, 30]);
        assert_eq!(bytes(|_| date(10)), [4, 0, 0, 20]);
        assert_eq!(bytes(|_| "ab".into()), [5, 0, 1, 0, 4, b'a', b'b', 0, 0]);
        let one = bytes(|i| if i == 3 { Value::Float(1e300) } else { Value::Null });
        let mut wanted = vec![3, 1, 8];
        wanted.resize(2 + 128, 0);
        wanted.push(255);
        wanted.extend_from_slice(&1e300f64.to_bits().to_le_bytes());
        assert_eq!(one, wanted);
        let lists = bytes(|_| Value::list([1.0, -2.0]));
        assert_eq!(lists[..12], [7, 0, 2, 4, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
        assert_eq!(bytes(|_| Value::list([0.1]))[..4], [7, 0, 1, 8]);
        let vectors = bytes(|_| vector(CoordinateType::F32, &[1.0, -2.0]));
        assert_eq!(vectors[..12], [8, 0, 2, 4, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
        assert_eq!(bytes(|_| vector(CoordinateType::F64, &[1.0]))[..4], [8, 0, 1, 8]);
        let mixed = bytes(|i| if i == 0 { Value::Int(1) } else { true.into() });
        assert_eq!(mixed[..4], [6, 3, 2, 2]);
    }
}
