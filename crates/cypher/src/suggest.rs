//! Did you mean: the nearest of some names.

/// Longest word that is compared, in characters: nobody misspells a longer one by two letters.
const WORD_CHARS_MAX: usize = 64;

/// The candidate that `word` is most likely a misspelling of, if there is a likely one: at most a
/// third of its letters differ, regardless of case. The first of equally near ones.
///
/// *Cost*: product of the lengths for each candidate of nearly the same length.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| -> Vec<char> { text.chars().flat_map(char::to_lowercase).collect() };
    let word = fold(word);
    if word.len() > WORD_CHARS_MAX {
        return None;
    }
    let limit = word.len().div_ceil(3).min(3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let other = fold(candidate);
        if other.len().abs_diff(word.len()) > limit {
            continue;
        }
        let distance = distance(&word, &other);
        // A word with nothing in common is no misspelling, however short it is.
        let likely = distance <= limit && distance < word.len().max(other.len()).div_ceil(2).max(2);
        if likely && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Letters to insert, delete, replace or swap with their neighbour to make `a` into `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    // Rows of the usual table: two letters ago, one letter ago, now.
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut now = last.clone();
    for i in 0..a.len() {
        now[0] = i + 1;
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            now[j + 1] = replaced.min(last[j + 1] + 1).min(now[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                now[j + 1] = now[j + 1].min(before[j - 1] + 1);
            }
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut now);
    }
    last[b.len()]
}

#[test]
fn closest_finds_misspellings_and_nothing_else() {
    let keywords = ["MATCH", "RETURN", "WHERE", "WITH", "AS", "IN", "IS"];
    for (word, expected) in [
        ("retrun", Some("RETURN")),
        ("MTCH", Some("MATCH")),
        ("WERE", Some("WHERE")),
        ("wiht", Some("WITH")),
        ("person", None),
        ("x", None),
        ("", None),
    ] {
        assert_eq!(closest(word, keywords), expected, "{word}");
    }
    assert_eq!(closest(&"a".repeat(1000), keywords), None);
    assert_eq!(distance(&['a', 'b'], &['b', 'a']), 1);
    assert_eq!(distance(&[], &['b', 'a']), 2);
}
