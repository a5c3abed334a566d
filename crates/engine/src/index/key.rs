//! Keys of entries: the sort key of the values, its first sixteen bytes in one word.
//!
//! Numbers, dates, truth values, points in time and text of up to thirteen bytes fit the word, so
//! that comparing them touches nothing else. The sort key is padded with zeros: no encoding is a
//! prefix of another, so padding makes no two keys equal. Keys of a POINT index are codes of
//! points: the word, and nothing else.

use std::sync::Arc;

use smallvec::SmallVec;
use telar_graph::order::OrderRank;
use telar_graph::value::Point;
use telar_graph::{Value, sortkey, spatial};

/// Bytes of the head.
const HEAD_BYTES: usize = 16;

/// The sort key of an entry, or a bound between entries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SortKey {
    pub(crate) head: u128,
    /// What does not fit the head.
    pub(crate) rest: Option<Arc<[u8]>>,
}

/// What the values of an entry belong to: `[vertex]`, or `[ordinal, source, destination]`.
pub(crate) type Item<const N: usize> = [u32; N];

/// A key and what it belongs to. Entries are ordered by both.
pub(crate) type Entry<const N: usize> = (SortKey, Item<N>);

impl SortKey {
    /// Below every key.
    pub(crate) const MIN: Self = Self { head: 0, rest: None };

    /// The key of these values; `None` if one is null, since then there is no entry.
    #[inline]
    pub(crate) fn of(values: &[Value]) -> Option<Self> {
        if let [value] = values
            && let Some((float, above)) = sortkey::number_words(value)
        {
            const TAG: u128 = (sortkey::tag(OrderRank::Number) as u128) << 120;
            let head = TAG | u128::from(float) << 56 | u128::from(above) << 40;
            return Some(Self { head, rest: None });
        }
        if values.iter().any(Value::is_null) {
            return None;
        }
        let mut bytes = Vec::with_capacity(32);
        values.iter().for_each(|v| sortkey::encode(v, &mut bytes));
        Some(Self::from_bytes(&bytes))
    }

    /// The key of a point in a POINT index: its code.
    pub(crate) fn of_point(point: &Point) -> Self {
        Self { head: spatial::code(point), rest: None }
    }

    /// The key with these bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES));
        let head = first.iter().fold(0u128, |word, b| word << 8 | u128::from(*b));
        let missing = 8 * (HEAD_BYTES - first.len()) as u32;
        Self {
            head: head.checked_shl(missing).unwrap_or(0),
            rest: (!rest.is_empty()).then(|| rest.into()),
        }
    }

    /// The bytes; of a key that fits the head without the zeros that end it.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> {
        let rest = self.rest.as_deref().unwrap_or_default();
        let zeros = if rest.is_empty() { self.head.trailing_zeros() as usize / 8 } else { 0 };
        self.head_bytes().into_iter().take(HEAD_BYTES - zeros).chain(rest.iter().copied())
    }

    /// Its [`bytes`](Self::bytes), on the stack unless they are many.
    pub(crate) fn to_bytes(&self) -> SmallVec<[u8; 64]> {
        self.bytes().collect()
    }

    /// The bytes of the head, the zeros that pad it included.
    #[inline]
    pub(crate) fn head_bytes(&self) -> [u8; HEAD_BYTES] {
        std::array::from_fn(|i| (self.head >> (8 * (HEAD_BYTES - 1 - i))) as u8)
    }

    /// The first word of the head: it decides most comparisons.
    #[inline]
    pub(crate) fn high(&self) -> u64 {
        (self.head >> 64) as u64
    }

    /// A number spread evenly over keys.
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        let mut word = (self.head >> 64) as u64 ^ (self.head as u64).rotate_left(29);
        for chunk in self.rest.as_deref().unwrap_or_default().chunks(8) {
            let bytes = chunk.iter().fold(0u64, |w, b| w << 8 | u64::from(*b));
            word = (word ^ bytes).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        }
        // The high bits of a product depend on every bit of the word.
        (word ^ word >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(values: &[Value]) -> Vec<u8> {
        let mut bytes = Vec::new();
        values.iter().for_each(|v| sortkey::encode(v, &mut bytes));
        bytes
    }

    #[test]
    fn keys_are_the_padded_bytes() {
        for values in [
            vec![Value::Int(-3)],
            vec![Value::Float(0.5)],
            vec!["short".into()],
            vec!["rather longer than sixteen bytes".into()],
            vec![Value::Int(i64::MAX), "x".into()],
        ] {
            let bytes = bytes_of(&values);
            let key = SortKey::of(&values).unwrap();
            assert_eq!(key, SortKey::from_bytes(&bytes));
            let short: Vec<u8> = key.bytes().collect();
            assert!(bytes.starts_with(&short));
            assert!(bytes[short.len()..].iter().all(|b| *b == 0));
            assert_eq!(SortKey::from_bytes(&short), key);
        }
        assert_eq!(SortKey::of(&[Value::Int(1), Value::Null]), None);
        assert_eq!(SortKey::from_bytes(&[]), SortKey::MIN);
    }

    #[test]
    fn equal_heads_are_told_apart_by_the_rest() {
        let key = |text: &str| SortKey::of(&[text.into()]).unwrap();
        let long = "a long common beginning, then ";
        assert!(key(long) < key(&format!("{long}a")));
        assert!(key(&format!("{long}a")) < key(&format!("{long}b")));
        assert!(key("a") < key(long));
    }
}
