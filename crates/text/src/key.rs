//! Keys of a full-text index: a posting is a key, and the object that has it.
//!
//! ```text
//!  posting   field+1 · term · 0 · frequency · norm · fingerprint     frequency 1 or 5 bytes
//!  length    field+1 ·        0 · length (4)       · fingerprint     one per field of a document
//! ```
//!
//! Keys compare as bytes: by field, then term. Numbers are little endian: their order is of no use.
//! The *fingerprint* (5 bytes) is a hash of the text. It says which version of the text a posting
//! was made of, so that a posting is checked against the text of a snapshot by one hash, without
//! analysis. The *norm* is the length of the field in one byte, as in Lucene (`score.rs`). An index
//! keeps keys up to 16 bytes in one word.
//!
//! Two texts of one object that share a fingerprint would be taken for each other: a matter of
//! 2^-40 for each posting that is obsolete and not yet dropped.
//!
//! These bytes are in files: see `docs/format.md`.

use std::collections::HashMap;

use crate::analyzer::Analyzer;
use crate::score;

/// Bytes of a fingerprint.
const FINGERPRINT_BYTES: usize = 5;

/// Frequencies from here on take five bytes.
const LONG_FREQUENCY: u8 = u8::MAX;

/// Bytes of a term that are kept; the rest of a longer one is cut off. Lucene refuses longer ones.
pub const TERM_BYTES_MAX: usize = 32_766;

/// A version of the text of a field, in short.
pub type Fingerprint = [u8; FINGERPRINT_BYTES];

/// The fingerprint of the strings of a field: one string, or those of a list.
#[must_use]
pub fn fingerprint<'t>(texts: impl IntoIterator<Item = &'t str>) -> Fingerprint {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = 0x243F_6A88_85A3_08D3_u64;
    let mut step = |word: u64| {
        hash = (hash ^ word).wrapping_mul(FACTOR);
        hash ^= hash >> 29;
    };
    for text in texts {
        let mut chunks = text.as_bytes().chunks_exact(8);
        for chunk in &mut chunks {
            step(u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
        }
        let rest = chunks.remainder().iter().rev();
        step(rest.fold(0, |word, byte| word << 8 | u64::from(*byte)));
        step(text.len() as u64);
    }
    let mut first = [0; FINGERPRINT_BYTES];
    first.copy_from_slice(&hash.to_le_bytes()[8 - FINGERPRINT_BYTES..]);
    first
}

/// The content of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'k> {
    /// A term occurs in a field.
    Posting {
        /// Number of the field.
        field: u8,
        /// The term.
        term: &'k str,
        /// How often it occurs.
        frequency: u32,
        /// Length of the field, in one byte.
        norm: u8,
        /// Version of the text.
        fingerprint: Fingerprint,
    },
    /// A document has a field.
    Length {
        /// Number of the field.
        field: u8,
        /// Number of terms, repeated ones included.
        length: u32,
        /// Version of the text.
        fingerprint: Fingerprint,
    },
}

impl<'k> Entry<'k> {
    /// Reads a key. Zeros at its end may be missing.
    #[must_use]
    pub fn decode(bytes: &'k [u8]) -> Option<Self> {
        let (field, rest) = bytes.split_first()?;
        let field = field.checked_sub(1)?;
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let term = str::from_utf8(&rest[..end]).ok()?;
        let mut after = rest.get(end + 1..).unwrap_or_default().iter().copied();
        let mut byte = || after.next().unwrap_or(0);
        if term.is_empty() {
            let length = u32::from_le_bytes([byte(), byte(), byte(), byte()]);
            let fingerprint = std::array::from_fn(|_| byte());
            return Some(Self::Length { field, length, fingerprint });
        }
        let frequency = match byte() {
            LONG_FREQUENCY => u32::from_le_bytes([byte(), byte(), byte(), byte()]),
            short => short.into(),
        };
        let norm = byte();
        let fingerprint = std::array::from_fn(|_| byte());
        Some(Self::Posting { field, term, frequency, norm, fingerprint })
    }

    /// The field and the version of its text that the key was made of.
    #[must_use]
    pub fn version(&self) -> (u8, Fingerprint) {
        match *self {
            Self::Posting { field, fingerprint, .. } | Self::Length { field, fingerprint, .. } => {
                (field, fingerprint)
            }
        }
    }
}

/// Reads field and fingerprint of a key, given whole, without a look at the term.
#[must_use]
pub fn version(bytes: &[u8]) -> Option<(u8, Fingerprint)> {
    Some(Entry::decode(bytes)?.version())
}

/// Field and term of a posting's key, which the zero before its frequency ends; `None` of a length.
#[must_use]
pub fn beginning(bytes: &[u8]) -> Option<&[u8]> {
    let term = bytes.get(1..)?;
    let end = term.iter().position(|byte| *byte == 0).unwrap_or(term.len());
    (end > 0).then(|| &bytes[..=end])
}

/// Calls `f` with each key of a field of a document, in no order.
pub fn for_each_key(analyzer: Analyzer, field: u8, texts: &[&str], mut f: impl FnMut(&[u8])) {
    let tokens = analyzer.tokens(texts);
    let fingerprint = fingerprint(texts.iter().copied());
    let mut key = vec![field + 1, 0];
    key.extend_from_slice(&(tokens.len() as u32).to_le_bytes());
    key.extend_from_slice(&fingerprint);
    f(&key);
    let norm = score::norm(tokens.len() as u32);
    let mut frequencies: HashMap<&str, u32> = HashMap::with_capacity(tokens.len());
    for token in &tokens {
        *frequencies.entry(&token.term).or_default() += 1;
    }
    for (term, frequency) in frequencies {
        key.clear();
        key.push(field + 1);
        key.extend_from_slice(term.as_bytes());
        key.push(0);
        match u8::try_from(frequency) {
            Ok(short) if short != LONG_FREQUENCY => key.push(short),
            _ => {
                key.push(LONG_FREQUENCY);
                key.extend_from_slice(&frequency.to_le_bytes());
            }
        }
        key.push(norm);
        key.extend_from_slice(&fingerprint);
        f(&key);
    }
}

/// The keys of all lengths of a field: from the first on, and below the second.
#[must_use]
pub fn lengths(field: u8) -> (Vec<u8>, Vec<u8>) {
    (vec![field + 1, 0], vec![field + 1, 1])
}

/// The keys of a term in a field.
#[must_use]
pub fn term(field: u8, term: &str) -> (Vec<u8>, Vec<u8>) {
    postings(&[&[field + 1], term.as_bytes()].concat())
}

/// The keys of the postings that have this [`beginning`].
#[must_use]
pub fn postings(beginning: &[u8]) -> (Vec<u8>, Vec<u8>) {
    ([beginning, &[0]].concat(), [beginning, &[1]].concat())
}

/// The keys of all terms of a field that begin so.
#[must_use]
pub fn prefix(field: u8, beginning: &str) -> (Vec<u8>, Vec<u8>) {
    let mut from = vec![field + 1];
    from.extend_from_slice(beginning.as_bytes());
    let mut to = from.clone();
    if beginning.is_empty() {
        // Behind the lengths.
        from.push(1);
        to = vec![field + 2];
    } else if let Some(last) = to.last_mut() {
        // No byte of a term is 255.
        *last += 1;
    }
    (from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(texts: &[&str]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        for_each_key(Analyzer::default(), 2, texts, |key| found.push(key.to_vec()));
        found.sort();
        found
    }

    /// Golden bytes: a change here is a change of the format.
    #[test]
    fn keys_have_these_bytes() {
        let print = fingerprint(["Ab ab"]);
        assert_eq!(print, [233, 27, 15, 233, 21]);
        let [length, posting] = &keys(&["Ab ab"])[..] else { panic!("two keys") };
        assert_eq!(*length, [&[3, 0, 2, 0, 0, 0][..], &print[..]].concat());
        assert_eq!(*posting, [&[3, b'a', b'b', 0, 2, 2][..], &print[..]].concat());
    }

    #[test]
    fn keys_come_back_and_lie_in_their_ranges() {
        let many = "x ".repeat(300);
        let texts = ["Der schnelle Fuchs", many.as_str(), "fuchs"];
        for key in keys(&texts) {
            assert_eq!(version(&key), Some((2, fingerprint(texts))));
            let ((from, to), all) = match Entry::decode(&key).unwrap() {
                Entry::Posting { term: text, frequency, .. } => {
                    let times = if text == "x" {
                        300
                    } else if text == "fuchs" {
                        2
                    } else {
                        1
                    };
                    assert_eq!(frequency, times, "{text}");
                    (term(2, text), prefix(2, ""))
                }
                Entry::Length { length, .. } => {
                    assert_eq!(length, 304);
                    (lengths(2), lengths(2))
                }
            };
            assert!(from <= key && key < to);
            let is_posting = matches!(Entry::decode(&key), Some(Entry::Posting { .. }));
            assert_eq!(beginning(&key), is_posting.then(|| &from[..from.len() - 1]));
            assert!(all.0 <= key && key < all.1);
        }
        let (from, to) = prefix(2, "f");
        let inside = keys(&texts).into_iter().filter(|key| from <= *key && *key < to);
        assert_eq!(inside.count(), 1);
    }

    #[test]
    fn other_texts_have_other_fingerprints() {
        let texts: [&[&str]; 8] =
            [&[], &[""], &["a"], &["a", ""], &["a", "b"], &["ab"], &["12345678"], &["123456780"]];
        let mut seen: Vec<_> = texts.iter().map(|t| fingerprint(t.iter().copied())).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), texts.len());
    }
}
