//! Analyzers divide text as those of Neo4j do.

use super::*;

fn terms(analyzer: &str, text: &str) -> Vec<String> {
    let tokens = Analyzer::named(analyzer).unwrap().tokens(&[text]);
    tokens.into_iter().map(|token| token.term).collect()
}

#[test]
fn analyzers_divide_text() {
    let text = "The Quick-Brown fox's 3.14 e-mail: Bob@Example.com, a\u{a0}b";
    let cases: [(&str, &[&str]); 9] = [
        (
            "standard-no-stop-words",
            &[
                "the",
                "quick",
                "brown",
                "fox's",
                "3.14",
                "e",
                "mail",
                "bob",
                "example.com",
                "a",
                "b",
            ],
        ),
        ("standard", &["quick", "brown", "fox's", "3.14", "e", "mail", "bob", "example.com", "b"]),
        ("english", &["quick", "brown", "fox", "3.14", "e", "mail", "bob", "example.com", "b"]),
        (
            "simple",
            &["the", "quick", "brown", "fox", "s", "e", "mail", "bob", "example", "com", "a", "b"],
        ),
        ("stop", &["quick", "brown", "fox", "s", "e", "mail", "bob", "example", "com", "b"]),
        (
            "whitespace",
            &["The", "Quick-Brown", "fox's", "3.14", "e-mail:", "Bob@Example.com,", "a\u{a0}b"],
        ),
        (
            "unicode_whitespace",
            &["The", "Quick-Brown", "fox's", "3.14", "e-mail:", "Bob@Example.com,", "a", "b"],
        ),
        ("keyword", &[text]),
        ("url_or_email", &["bob@example.com"]),
    ];
    for (analyzer, expected) in cases {
        assert_eq!(terms(analyzer, text), expected, "{analyzer}");
    }
}

#[test]
fn languages_have_their_letters() {
    assert_eq!(terms("german", "Häuser Haus"), ["haus", "haus"]);
    assert_eq!(terms("english", "running runs"), ["run", "run"]);
    assert_eq!(
        terms("standard-folding", "Crème Straße Ærø Łódź"),
        ["creme", "strasse", "aero", "lodz"]
    );
    assert_eq!(terms("cjk", "日本語 Text 東 ｶﾞ"), ["日本", "本語", "text", "東", "ガ"]);
    assert_eq!(
        terms("url", "see https://Telar.dev/a?b or a.b, 10.0.0.1:80"),
        ["https://telar.dev/a?b", "10.0.0.1:80"]
    );
    assert_eq!(terms("standard", "don’t İstanbul"), ["don’t", "istanbul"]);
}

#[test]
fn words_left_out_and_ends_of_strings_leave_gaps() {
    let tokens = Analyzer::named("standard").unwrap().tokens(&["the cat of it sat", "mat"]);
    let positions: Vec<u32> = tokens.iter().map(|token| token.position).collect();
    assert_eq!(positions, [1, 4, 105]);
}

#[test]
fn names_are_sorted_and_known() {
    assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
    for description in ALL {
        let analyzer = Analyzer::named(description.name).unwrap();
        assert_eq!(analyzer.name(), description.name);
        for text in ["", " ", "\0", "a\0b", &"x".repeat(100_000), "\u{10ffff}\u{301}"] {
            for token in analyzer.tokens(&[text]) {
                assert!(!token.term.is_empty() && !token.term.contains('\0'));
            }
        }
    }
    assert_eq!(Analyzer::named("klingon"), None);
    assert_eq!(Analyzer::default().name(), DEFAULT);
}
