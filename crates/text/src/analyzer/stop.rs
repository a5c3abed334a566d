//! Stop words, as Lucene has them.

/// No words.
pub(super) const NONE: &[&str] = &[];

/// `EnglishAnalyzer.ENGLISH_STOP_WORDS_SET`.
pub(super) const ENGLISH: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

/// Stop words of `CJKAnalyzer`.
pub(super) const CJK: &[&str] = &[
    "a", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
    "not", "of", "on", "or", "s", "such", "t", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with", "www",
];
