//! VECTOR indexes: a key names the length of a vector and, by a hash, its numbers.
//!
//! ```text
//!  key   numbers of the vector u16 · fingerprint u64          both big-endian
//! ```
//!
//! The fingerprint is a hash of the numbers as those of 32 bits. It is what a vector is known by in
//! the graph of neighbours (`index/near.rs`), and says which version of a vector an entry was made
//! of. These bytes are in files: see `docs/format.md`.

use telar_graph::value::DIMENSION_MAX;
use telar_graph::{IndexRange, Value};
use telar_vector::Metric;

use super::EntryKind;
use crate::index::key::SortKey;
use crate::index::read::KeyRange;

pub(super) enum Vector {}

impl EntryKind for Vector {
    const TAG: u8 = 9;

    /// None: it depends on settings ([`Vectors::key`]).
    fn key(_: &[Value]) -> Option<SortKey> {
        None
    }

    /// Nothing that other kinds are asked for.
    fn range(_: usize, _: &IndexRange) -> Option<KeyRange> {
        None
    }
}

/// Which vectors are in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vectors {
    pub(crate) metric: Metric,
    /// Numbers of each; `None` if vectors of any length are in the index.
    pub(crate) dimensions: Option<u16>,
}

/// Number of numbers, and fingerprint, of the vector that a key was made of.
pub(crate) fn parts_of(key: &SortKey) -> (u16, u64) {
    ((key.head >> 112) as u16, (key.head >> 48) as u64)
}

/// The key of vectors of this length with this fingerprint.
pub(crate) fn key_of(dimensions: u16, fingerprint: u64) -> SortKey {
    let head = u128::from(dimensions) << 112 | u128::from(fingerprint) << 48;
    SortKey { head, rest: None }
}

fn fingerprint(numbers: &[f32]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = 0x243F_6A88_85A3_08D3_u64;
    for two in numbers.chunks(2) {
        let word = two.iter().fold(0u64, |word, x| word << 32 | u64::from(x.to_bits()));
        hash = (hash ^ word).wrapping_mul(FACTOR);
        hash ^= hash >> 29;
    }
    hash
}

impl Vectors {
    /// The numbers of a value that the index holds: a list or vector of so many numbers, finite as
    /// those of 32 bits, and not all 0 where angles are compared.
    fn numbers(self, value: &Value) -> Option<Vec<f32>> {
        let coordinates;
        let list = match value {
            Value::List(list) => &**list,
            Value::Vector(vector) => {
                coordinates = vector.to_values();
                &coordinates
            }
            _ => return None,
        };
        let wanted = self.dimensions.map_or(1..=DIMENSION_MAX, |n| n.into()..=n.into());
        if !wanted.contains(&list.len()) {
            return None;
        }
        let number = |value: &Value| match value {
            Value::Float(x) => Some(*x as f32),
            Value::Int(x) => Some(*x as f32),
            _ => None,
        };
        let numbers: Vec<f32> = list.iter().map(number).collect::<Option<_>>()?;
        self.metric.admits(&numbers).then_some(numbers)
    }

    /// The key of an object with this value; `None` if it is not in the index.
    pub(crate) fn key(self, value: &Value) -> Option<SortKey> {
        Some(self.with_key(value)?.0)
    }

    /// The key of an object with this value, and the numbers of its vector.
    pub(crate) fn with_key(self, value: &Value) -> Option<(SortKey, Vec<f32>)> {
        let numbers = self.numbers(value)?;
        Some((key_of(numbers.len() as u16, fingerprint(&numbers)), numbers))
    }
}

#[cfg(test)]
mod tests {
    use telar_graph::value::{CoordinateType, Vector};

    use super::*;

    /// A vector has the key of the list of its numbers.
    #[test]
    fn vectors_are_held_as_lists_are() {
        let any = Vectors { metric: Metric::Cosine, dimensions: Some(2) };
        let list = [Value::Int(1), Value::Int(-3)];
        for ty in CoordinateType::ALL {
            let vector = Value::from(Vector::of_values(*ty, &list).unwrap());
            assert_eq!(any.key(&vector), any.key(&Value::list(list.clone())), "{ty}");
            let other = Value::from(Vector::of_values(*ty, &list[..1]).unwrap());
            assert_eq!(any.key(&other), None, "{ty}");
        }
    }

    #[test]
    fn keys_say_which_vector() {
        let any = Vectors { metric: Metric::Cosine, dimensions: None };
        let key = |list: &[f64]| any.key(&Value::list(list.iter().copied()));
        // Bytes of files.
        let first = key(&[1.0, -0.5, 3.0]).unwrap();
        assert_eq!(first.head, 0x0003_11A4_CEA7_3CDF_FCC6_0000_0000_0000);
        assert_eq!(parts_of(&first), (3, (first.head >> 48) as u64));
        assert_eq!(key_of(3, parts_of(&first).1), first);
        assert_ne!(key(&[1.0, -0.5, 3.5]), Some(first.clone()));
        assert_eq!(
            any.key(&Value::list([Value::Int(1), (-0.5).into(), Value::Int(3)])),
            Some(first)
        );
        assert_eq!(key(&[0.0, 0.0]), None);
        assert_eq!(key(&[]), None);
        assert_eq!(key(&[f64::NAN]), None);
        assert_eq!(key(&[1e300]), None);
        assert_eq!(any.key(&Value::list(["a"])), None);
        assert_eq!(any.key(&"a".into()), None);
        let two = Vectors { metric: Metric::Euclidean, dimensions: Some(2) };
        assert!(two.key(&Value::list([0.0, 0.0])).is_some());
        assert_eq!(two.key(&Value::list([1.0])), None);
    }
}
