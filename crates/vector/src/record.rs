//! Vectors of one byte a number.
//!
//! ```text
//!  record   codes: a byte a number, padded with zeros to 32 · scale f32 · square f32 · key u64
//! ```
//!
//! A number is its code times the scale of its vector, whose greatest number has the code 127.
//! `square` is the sum of the squares of all numbers, as decoded; the key is what the caller knows
//! the vector by. Numbers are little-endian. Files have records as they are here (`image.rs`).
//! Invariant: the greatest error of a number is half a scale, a 254th of the greatest number.

use crate::sums::{self, LANES};

/// Measure by which two vectors are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The angle between them: their lengths do not matter.
    Cosine,
    /// The distance of their ends.
    Euclidean,
}

impl Metric {
    /// True if vectors like this one can be compared: every number is finite, and, for angles, the
    /// length is finite and not 0.
    #[must_use]
    pub fn admits(self, vector: &[f32]) -> bool {
        let square: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        match self {
            Self::Cosine => square > 0.0 && (square as f32).is_finite(),
            Self::Euclidean => square.is_finite() && vector.iter().all(|x| x.is_finite()),
        }
    }

    /// The factor that makes of a vector what is compared: for angles, the vector of length 1 in
    /// the same direction.
    fn factor(self, vector: &[f32]) -> f32 {
        match self {
            Self::Cosine => {
                let square: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
                (1.0 / square.sqrt()) as f32
            }
            Self::Euclidean => 1.0,
        }
    }
}

/// Bytes behind the codes: scale, square and key.
pub(crate) const HEAD: usize = 16;
const CODE_MAX: f32 = 127.0;
/// Greatest number of a vector that is sought: sums of 4,096 products fit 32 bits.
const SOUGHT_MAX: f32 = 2047.0;

/// Bytes of the codes of so many numbers.
pub(crate) fn codes(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES)
}

/// The codes and the head of a record.
#[inline]
fn parts(record: &[u8]) -> (&[u8], &[u8; HEAD]) {
    let parts = record.split_last_chunk::<HEAD>();
    parts.expect("INVARIANT: a record has a head")
}

/// The key of a record.
#[inline]
pub(crate) fn key(record: &[u8]) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = *parts(record).1;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

fn greatest(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0, |greatest, x| x.abs().max(greatest))
}

/// Writes the record of a vector with a key. `out` is as long as a record, all zeros.
pub(crate) fn encode(metric: Metric, (key, vector): (u64, &[f32]), out: &mut [u8]) {
    let factor = metric.factor(vector);
    let scale = greatest(vector) * factor / CODE_MAX;
    // Zeros, or next to it.
    let per = if scale.is_normal() { factor / scale } else { 0.0 };
    let mut square = 0u64;
    let (codes, head) = out.split_at_mut(out.len() - HEAD);
    for (code, x) in codes.iter_mut().zip(vector) {
        let number = (x * per).round().clamp(-CODE_MAX, CODE_MAX) as i8;
        square += u64::from(number.unsigned_abs()) * u64::from(number.unsigned_abs());
        *code = number.cast_unsigned();
    }
    head[..4].copy_from_slice(&scale.to_le_bytes());
    head[4..8].copy_from_slice(&(scale * scale * square as f32).to_le_bytes());
    head[8..].copy_from_slice(&key.to_le_bytes());
}

#[inline]
fn float(head: &[u8; HEAD], at: usize) -> f32 {
    f32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

/// A vector whose distances from records are asked for.
#[derive(Debug, Default, Clone)]
pub(crate) struct Sought {
    numbers: Vec<i16>,
    scale: f32,
    square: f32,
}

impl Sought {
    /// Becomes this vector.
    pub(crate) fn set(&mut self, metric: Metric, vector: &[f32]) {
        let factor = metric.factor(vector);
        self.scale = greatest(vector) * factor / SOUGHT_MAX;
        let per = if self.scale.is_normal() { factor / self.scale } else { 0.0 };
        self.numbers.clear();
        self.numbers.extend(vector.iter().map(|x| (x * per).round() as i16));
        self.numbers.resize(vector.len().next_multiple_of(LANES), 0);
        let square = |x: &i16| i64::from(*x) * i64::from(*x);
        let squares: i64 = self.numbers.iter().map(square).sum();
        self.square = self.scale * self.scale * squares as f32;
    }

    /// Becomes the vector of a record.
    pub(crate) fn set_record(&mut self, record: &[u8]) {
        let (codes, head) = parts(record);
        (self.scale, self.square) = (float(head, 0), float(head, 4));
        self.numbers.clear();
        self.numbers.extend(codes.iter().map(|code| i16::from(code.cast_signed())));
    }

    /// The square of the distance from a record.
    #[inline]
    pub(crate) fn distance(&self, record: &[u8]) -> f32 {
        let (codes, head) = parts(record);
        let product = sums::product(&self.numbers, codes) as f32;
        let both = self.square + float(head, 4);
        let distance = both - 2.0 * self.scale * float(head, 0) * product;
        // Of numbers so great that their squares are not finite, none is near.
        if distance.is_nan() { f32::MAX } else { distance.clamp(0.0, f32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(metric: Metric, vector: &[f32]) -> Vec<u8> {
        let mut record = vec![0; codes(vector.len()) + HEAD];
        encode(metric, (7 << 40, vector), &mut record);
        assert_eq!(key(&record), 7 << 40);
        record
    }

    proptest! {
        #[test]
        fn distances_are_nearly_those_of_the_vectors(
            pairs in proptest::collection::vec((-1e3f32..1e3, -1e3f32..1e3), 1..200)
        ) {
            let a: Vec<f32> = pairs.iter().map(|(a, _)| *a).collect();
            let b: Vec<f32> = pairs.iter().map(|(_, b)| *b).collect();
            let mut sought = Sought::default();
            let exact = |a: &[f32], b: &[f32]| -> f32 {
                a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
            };
            sought.set(Metric::Euclidean, &a);
            let found = sought.distance(&record(Metric::Euclidean, &b)).sqrt();
            // Half a step of each number of each vector.
            let steps = greatest(&b) / CODE_MAX + greatest(&a) / SOUGHT_MAX;
            let slack = steps * (pairs.len() as f32).sqrt() + 1e-3 * (1.0 + found);
            prop_assert!((found - exact(&a, &b).sqrt()).abs() <= slack);
            // One record from the other.
            sought.set_record(&record(Metric::Euclidean, &a));
            let found = sought.distance(&record(Metric::Euclidean, &b)).sqrt();
            let steps = (greatest(&b) + greatest(&a)) / CODE_MAX;
            let slack = steps * (pairs.len() as f32).sqrt() + 1e-3 * (1.0 + found);
            prop_assert!((found - exact(&a, &b).sqrt()).abs() <= slack);
        }
    }

    #[test]
    fn angles_do_not_ask_for_lengths() {
        let a = [3.0, 4.0, 0.0];
        let mut sought = Sought::default();
        sought.set(Metric::Cosine, &a);
        assert!(sought.distance(&record(Metric::Cosine, &[0.3, 0.4, 0.0])) < 1e-3);
        let opposite = sought.distance(&record(Metric::Cosine, &[-30.0, -40.0, 0.0]));
        assert!((opposite - 4.0).abs() < 1e-2, "{opposite}");
    }

    #[test]
    fn zeros_and_what_is_not_finite() {
        assert!(!Metric::Cosine.admits(&[0.0, 0.0]));
        assert!(Metric::Euclidean.admits(&[0.0, 0.0]));
        for metric in [Metric::Cosine, Metric::Euclidean] {
            assert!(metric.admits(&[1.0, -2.0]));
            assert!(!metric.admits(&[1.0, f32::NAN]));
            assert!(!metric.admits(&[f32::INFINITY, 1.0]));
        }
        let mut sought = Sought::default();
        sought.set(Metric::Euclidean, &[0.0, 0.0]);
        assert_eq!(sought.distance(&record(Metric::Euclidean, &[0.0, 0.0])), 0.0);
        let far = sought.distance(&record(Metric::Euclidean, &[3.0, 4.0]));
        assert!((far - 25.0).abs() < 0.2, "{far}");
    }
}
