//! Reads a text as a query of full-text search. What is none says where, within the text.

use telar_text::Analyzer;

/// Takes any bytes, as text: the first says which analyzer divides it, too.
pub(crate) fn lucene(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = telar_text::query::parse(&text) {
        assert!(error.column <= text.chars().count(), "{text}: {error}");
        assert!(!error.message.is_empty());
    }
    let first = bytes.first().copied().unwrap_or(0);
    let all = telar_text::analyzer::ALL;
    let analyzer = Analyzer::named(all[usize::from(first) % all.len()].name);
    let tokens = analyzer.unwrap_or_default().tokens(&[&text]);
    assert!(tokens.windows(2).all(|pair| pair[0].position <= pair[1].position));
    assert!(tokens.iter().all(|token| !token.term.is_empty() && !token.term.contains('\0')));
}
