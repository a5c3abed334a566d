//! BM25 as Lucene computes it: k1 = 1.2, b = 0.75, lengths in one byte, sums in single precision.

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Statistics of a field at a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Documents that have a term in the field.
    pub documents: u64,
    /// Terms of all of them, repeated ones included.
    pub terms: u64,
}

/// The length of a field in one byte (`SmallFloat.intToByte4` of Lucene): exact up to 39, with four
/// significant bits above.
#[must_use]
pub fn norm(length: u32) -> u8 {
    const EXACT: u32 = 24;
    if length < EXACT {
        return length as u8;
    }
    let above = length - EXACT;
    let bits = u32::BITS - above.leading_zeros();
    if bits < 4 {
        return (EXACT + above) as u8;
    }
    let shift = bits - 4;
    // The leading one is not stored.
    (EXACT + (above >> shift & 7 | (shift + 1) << 3)) as u8
}

/// The length that a norm stands for.
#[must_use]
pub fn length(norm: u8) -> u32 {
    const EXACT: u32 = 24;
    let norm = u32::from(norm);
    if norm < EXACT {
        return norm;
    }
    let (bits, shift) = ((norm - EXACT) & 7, (norm - EXACT) >> 3);
    let above = match shift.checked_sub(1) {
        None => bits,
        Some(shift) => (bits | 8).checked_shl(shift).unwrap_or(u32::MAX),
    };
    above.saturating_add(EXACT)
}

/// The weight of a term, by the documents that have it.
#[must_use]
pub fn idf(documents: u64, with_term: u64) -> f32 {
    let (n, df) = (documents as f64, with_term as f64);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
}

/// Scores of a term, or a phrase, in a field.
#[derive(Debug, Clone)]
pub struct Scorer {
    weight: f32,
    /// By norm.
    inverse: Box<[f32; 256]>,
}

impl Scorer {
    /// A scorer with a sum of [`idf`]s.
    #[must_use]
    pub fn new(totals: Totals, idf: f32, boost: f32) -> Self {
        let average = (totals.terms as f64 / totals.documents.max(1) as f64) as f32;
        let inverse = std::array::from_fn(|norm| {
            let length = length(norm as u8) as f32;
            1.0 / (K1 * ((1.0 - B) + B * length / average))
        });
        Self { weight: boost * idf, inverse: Box::new(inverse) }
    }

    /// The score of a document in which the term occurs so often.
    #[must_use]
    pub fn of(&self, frequency: u32, norm: u8) -> f32 {
        self.score(frequency as f32, norm)
    }

    /// The score of a document.
    #[must_use]
    pub fn score(&self, frequency: f32, norm: u8) -> f32 {
        self.weight - self.weight / (1.0 + frequency * self.inverse[usize::from(norm)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_are_lucenes() {
        for exact in 0..40 {
            assert_eq!(length(norm(exact)), exact);
        }
        // Steps of `SmallFloat.byte4ToInt`.
        for (given, kept) in [(40, 40), (41, 40), (42, 42), (57, 56), (1000, 984), (1016, 984)] {
            assert_eq!(length(norm(given)), kept, "{given}");
        }
        assert!((0..u8::MAX).all(|n| length(n) <= length(n + 1)));
        assert!((0..=100_000).all(|n| length(norm(n)) <= n));
        let _ = norm(u32::MAX);
    }

    /// By hand: N = 2, df = 1, tf = 1, length 2 of average 3.
    #[test]
    fn a_score_by_hand() {
        let totals = Totals { documents: 2, terms: 6 };
        let idf = idf(2, 1);
        assert!((idf - 2.0_f32.ln()).abs() < 1e-6);
        let score = Scorer::new(totals, idf, 1.0).score(1.0, norm(2));
        let by_hand = 2.0_f32.ln() / (1.0 + 1.2 * (0.25 + 0.75 * 2.0 / 3.0));
        assert!((score - by_hand).abs() < 1e-6, "{score} {by_hand}");
    }
}
