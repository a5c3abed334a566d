//! Long texts, piece by piece, so that a statement can be ended while one is worked on.

use crate::error::EvalError;
use crate::watch;

/// Bytes between two looks at whether the statement goes on.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Bytes in which another text is looked for at once.
const WINDOW_BYTES: usize = 1 << 20;

/// Calls `f` with a text, from its start to its end.
///
/// # Errors
/// As [`watch::check`], and those of `f`.
pub(crate) fn forward<'t>(
    text: &'t str,
    mut f: impl FnMut(&'t str) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    let mut rest = text;
    while rest.len() > PIECE_BYTES {
        let (piece, later) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        f(piece)?;
        watch::check()?;
        rest = later;
    }
    f(rest)
}

/// The number of characters.
///
/// # Errors
/// As [`watch::check`].
pub(crate) fn characters(text: &str) -> Result<usize, EvalError> {
    let mut count = 0;
    forward(text, |piece| {
        count += piece.chars().count();
        Ok(())
    })?;
    Ok(count)
}

/// Where the character with this number starts; the end when there are fewer.
///
/// # Errors
/// As [`watch::check`].
pub(crate) fn byte_of(text: &str, character: usize) -> Result<usize, EvalError> {
    let (mut before, mut at, mut found) = (0, 0, None);
    // A character has a byte at least: what is behind is of no use.
    let near = text.floor_char_boundary(character.saturating_mul(4).min(text.len()));
    forward(&text[..near], |piece| {
        if found.is_none() {
            let count = piece.chars().count();
            if before + count > character {
                found = piece.char_indices().nth(character - before).map(|(i, _)| at + i);
            }
            before += count;
            at += piece.len();
        }
        Ok(())
    })?;
    Ok(found.unwrap_or(if before < character { text.len() } else { near }))
}

/// Calls `f` with each place of `search`, which is not empty, in a text, from left to right and
/// without overlaps, as [`str::match_indices`] finds them.
///
/// # Errors
/// As [`watch::check`], and those of `f`, at which it ends.
pub(crate) fn each_match(
    text: &str,
    search: &str,
    mut f: impl FnMut(usize) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    let window = WINDOW_BYTES.max(search.len());
    let mut at = 0;
    while text.len() - at >= search.len().max(1) {
        let mut next = text.ceil_char_boundary(at.saturating_add(window).min(text.len()));
        let end = text.ceil_char_boundary(next.saturating_add(search.len()).min(text.len()));
        for (place, _) in text[at..end].match_indices(search) {
            let place = at + place;
            if place >= next {
                break;
            }
            f(place)?;
            next = next.max(place + search.len());
        }
        at = next;
        watch::check()?;
    }
    Ok(())
}

/// True if a text contains another one.
///
/// # Errors
/// As [`watch::check`].
pub(crate) fn contains(text: &str, search: &str) -> Result<bool, EvalError> {
    if text.len() <= WINDOW_BYTES || search.is_empty() {
        return Ok(text.contains(search));
    }
    let window = WINDOW_BYTES.max(search.len());
    let mut at = 0;
    while text.len() - at >= search.len() {
        let end = at.saturating_add(window).saturating_add(search.len()).min(text.len());
        if text[at..text.ceil_char_boundary(end)].contains(search) {
            return Ok(true);
        }
        at = text.ceil_char_boundary(at.saturating_add(window).min(text.len()));
        watch::check()?;
    }
    Ok(false)
}

/// The text in lower case. The letter sigma has two of them, by what is around it.
///
/// # Errors
/// As [`watch::check`].
pub(crate) fn lower(text: &str) -> Result<String, EvalError> {
    /// Bytes around a piece that are looked at.
    const AROUND: usize = 256;
    if text.len() <= PIECE_BYTES {
        return Ok(text.to_lowercase());
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    forward(text, |piece| {
        let end = at + piece.len();
        let first = text.floor_char_boundary(at.saturating_sub(AROUND));
        let last = text.ceil_char_boundary((end + AROUND).min(text.len()));
        let whole = text[first..last].to_lowercase();
        // Both forms have two bytes, so what is around takes as much by itself.
        let (before, after) = (text[first..at].to_lowercase(), text[end..last].to_lowercase());
        out.push_str(&whole[before.len()..whole.len() - after.len()]);
        at = end;
        watch::room(out.len())
    })?;
    Ok(out)
}

/// The text in upper case.
///
/// # Errors
/// As [`watch::check`].
pub(crate) fn upper(text: &str) -> Result<String, EvalError> {
    if text.len() <= PIECE_BYTES {
        return Ok(text.to_uppercase());
    }
    let mut out = String::with_capacity(text.len());
    forward(text, |piece| {
        out.push_str(&piece.to_uppercase());
        watch::room(out.len())
    })?;
    Ok(out)
}

/// The characters in the opposite order.
///
/// # Errors
/// As [`watch::check`].
pub(crate) fn reversed(text: &str) -> Result<String, EvalError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while rest.len() > PIECE_BYTES {
        let (first, last) = rest.split_at(rest.ceil_char_boundary(rest.len() - PIECE_BYTES));
        out.extend(last.chars().rev());
        watch::check()?;
        rest = first;
    }
    out.extend(rest.chars().rev());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Vec<String> {
        let mixed = "aé漢🦀 ΣΑΣ ΟΔΟΣ ς İß\u{300}x.";
        vec![
            String::new(),
            "abc".to_owned(),
            mixed.repeat(20_000),
            "Σ".repeat(100_001),
            format!("{}Σ", "ΑΣ".repeat(70_000)),
            "ab".repeat(1_100_000),
        ]
    }

    #[test]
    fn pieces_make_what_the_whole_does() {
        for text in texts() {
            assert_eq!(characters(&text).unwrap(), text.chars().count());
            assert_eq!(lower(&text).unwrap(), text.to_lowercase());
            assert_eq!(upper(&text).unwrap(), text.to_uppercase());
            assert_eq!(reversed(&text).unwrap(), text.chars().rev().collect::<String>());
            for at in [0, 1, 2, 3, 4, 70_000, 99_999, 320_000, 2_199_999, 2_200_000, usize::MAX] {
                let want = text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
                assert_eq!(byte_of(&text, at).unwrap(), want, "{at}");
            }
        }
    }

    #[test]
    fn matches_are_found_across_pieces() {
        let across = |at: usize| format!("{}needle{}", "x".repeat(at), "é".repeat(700_000));
        let mut all = texts();
        all.extend([WINDOW_BYTES - 3, WINDOW_BYTES, 2 * WINDOW_BYTES - 1].map(across));
        for text in all {
            for search in ["needle", "a", "ab", "abab", "Σ", "漢🦀", "nothing", "aa"] {
                let want: Vec<usize> = text.match_indices(search).map(|(at, _)| at).collect();
                let mut found = Vec::new();
                each_match(&text, search, |at| {
                    found.push(at);
                    Ok(())
                })
                .unwrap();
                assert_eq!(found, want, "{search}");
                assert_eq!(contains(&text, search).unwrap(), text.contains(search), "{search}");
            }
            let long = "ab".repeat(1_000_000);
            assert_eq!(contains(&text, &long).unwrap(), text.contains(&long));
        }
    }
}
