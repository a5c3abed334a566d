//! How much memory values take.

use std::sync::Arc;

use super::Value;

/// Reference counts of an `Arc`.
const SHARED_BYTES: usize = 16;

/// Most elements of a value that are looked at: what a query holds is measured row by row, and
/// parts that a value shares stand in it again and again.
const LOOKED_AT_MAX: usize = 1 << 12;

/// Bytes of a value: its own 24, and what it owns or shares on the heap, counted in full. Of a
/// value of many elements the last ones count as much as those before them do on average.
///
/// Cost: linear in the number of values nested, up to some thousands; recursion once per level.
#[must_use]
pub fn value_bytes(value: &Value) -> usize {
    bytes(value, &mut { LOOKED_AT_MAX })
}

/// Bytes of a value beside its own place.
#[must_use]
pub fn heap_bytes(value: &Value) -> usize {
    value_bytes(value) - size_of::<Value>()
}

/// Bytes of values beside their own places; what a value shares with the one before it counts once.
#[must_use]
pub fn heap_bytes_of(values: &[Value]) -> usize {
    let (mut bytes, mut before) = (0, &Value::Null);
    for value in values {
        let shared = match (before, value) {
            (Value::String(a), Value::String(b)) => Arc::ptr_eq(a, b),
            (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b),
            (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(a, b),
            (Value::Vector(a), Value::Vector(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        if !shared {
            bytes += heap_bytes(value);
        }
        before = value;
    }
    bytes
}

/// The same of a value in another one, of which so many elements may still be looked at.
fn bytes(value: &Value, left: &mut usize) -> usize {
    // A node of a B-tree is about three quarters full.
    const MAP_ENTRY_BYTES: usize = (16 + size_of::<Value>()) * 4 / 3;
    let shared = match value {
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Date(_)
        | Value::LocalTime(_)
        | Value::Time(_)
        | Value::LocalDateTime(_)
        | Value::Vertex(_) => return size_of::<Value>(),
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(elements) => total(elements.len(), elements.iter(), left, bytes),
        Value::Map(entries) => {
            let entry = |(key, value): (&Arc<str>, &Value), left: &mut usize| {
                MAP_ENTRY_BYTES + SHARED_BYTES + key.len() + bytes(value, left) - size_of::<Value>()
            };
            size_of_val(&**entries) + total(entries.len(), entries.iter(), left, entry)
        }
        Value::DateTime(at) => size_of_val(&**at) + at.zone().map_or(0, str::len),
        Value::Duration(duration) => size_of_val(&**duration),
        Value::Point(point) => size_of_val(&**point),
        Value::Vector(vector) => size_of_val(&**vector) + vector.bytes(),
        Value::Edge(edge) => size_of_val(&**edge),
        Value::Path(path) => {
            size_of_val(&**path) + size_of_val(path.vertices()) + size_of_val(path.edges())
        }
    };
    size_of::<Value>() + SHARED_BYTES + shared
}

/// Bytes of so many elements.
fn total<T>(
    len: usize,
    elements: impl Iterator<Item = T>,
    left: &mut usize,
    bytes: impl Fn(T, &mut usize) -> usize,
) -> usize {
    let mut sum = 0_usize;
    for (at, element) in elements.enumerate() {
        if *left == 0 {
            let each = if at == 0 { size_of::<Value>() } else { sum.div_ceil(at) };
            return sum.saturating_add(each.saturating_mul(len - at));
        }
        *left -= 1;
        sum = sum.saturating_add(bytes(element, left));
    }
    sum
}

#[test]
fn large_values_are_measured_by_their_first_elements() {
    let ints = Value::from((0..1_000_000).map(Value::Int).collect::<Vec<_>>());
    let outside = size_of::<Value>() + SHARED_BYTES;
    assert_eq!(value_bytes(&ints), outside + 1_000_000 * size_of::<Value>());
    // As many as are written out, of which few are looked at.
    let mut shared = Value::from(vec![Value::Int(1)]);
    for _ in 0..40 {
        shared = Value::from(vec![shared.clone(), shared]);
    }
    let leaf = outside + size_of::<Value>();
    let counted = value_bytes(&shared);
    assert!((leaf << 40..leaf << 42).contains(&counted), "{counted}");
    let texts = Value::from((0..100_000).map(|_| Value::from("some text")).collect::<Vec<_>>());
    assert_eq!(value_bytes(&texts), outside + 100_000 * (outside + "some text".len()));
}
