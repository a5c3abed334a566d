//! Texts in a file of XML.

/// Writes a text between tags or in quotes, so that it is read as it is.
///
/// A character that XML has no notation for is refused by the caller.
pub(super) fn escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", character as u32)),
            other => out.push(other),
        }
    }
}

/// True if XML can hold a text.
pub(super) fn fits(text: &str) -> bool {
    text.chars().all(|c| {
        matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..) && c != '\u{FFFE}'
    })
}
