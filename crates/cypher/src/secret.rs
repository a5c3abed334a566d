//! Texts that nobody is to see: passwords in commands.

use std::borrow::Cow;
use std::fmt;

use crate::lexer::lex;
use crate::token::TokenKind;

/// What is shown in place of a secret, whatever its length.
pub const MASK: &str = "******";

/// A text that is neither printed nor compared: two of them are equal, as two spans are, so that a
/// tree is equal to what its text is read as.
#[derive(Clone)]
pub struct Secret(Box<str>);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl PartialEq for Secret {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// `text` for a log: strings behind the word `PASSWORD` are masked, and what stands where one is
/// missing, whether or not the text can be parsed. Without that word it costs one look for it.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    const WORD: &[u8] = b"password";
    if !text.as_bytes().windows(WORD.len()).any(|word| word.eq_ignore_ascii_case(WORD)) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut copied) = (String::new(), 0);
    // Whether the word has come, and whether the next token should be a string.
    let (mut hides, mut expects) = (false, false);
    for token in lex(text).tokens {
        let range = token.span.range();
        let is = |words: &[&str]| words.iter().any(|w| text[range.clone()].eq_ignore_ascii_case(w));
        let text_like = matches!(token.kind, TokenKind::String | TokenKind::Error);
        let instead = expects
            && (token.kind.is_name() || token.kind == TokenKind::Integer)
            && !is(&["change", "from"]);
        hides = (hides && token.kind != TokenKind::Semicolon) || is(&["password"]);
        expects = hides && is(&["password", "from", "to"]);
        if hides && (text_like || instead) {
            out.push_str(&text[copied..range.start]);
            out.extend(["'", MASK, "'"]);
            copied = range.end;
        }
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

#[test]
fn texts_for_logs_hold_no_passwords() {
    for (text, shown) in [
        ("CREATE USER a SET PASSWORD 'secret!'", "CREATE USER a SET PASSWORD '******'"),
        (
            "alter current user set password from \"one'\" to 'two' ; RETURN 'three'",
            "alter current user set password from '******' to '******' ; RETURN 'three'",
        ),
        ("CREATE USER a SET PASSWORD 'never closed", "CREATE USER a SET PASSWORD '******'"),
        ("ALTER USER a SET PLAINTEXT PASSWORD $p", "ALTER USER a SET PLAINTEXT PASSWORD $p"),
        (
            "CREATE USER a SET PASSWORD secret SET PASSWORD CHANGE REQUIRED",
            "CREATE USER a SET PASSWORD '******' SET PASSWORD CHANGE REQUIRED",
        ),
        (
            "ALTER CURRENT USER SET PASSWORD FROM old TO 123",
            "ALTER CURRENT USER SET PASSWORD FROM '******' TO '******'",
        ),
        ("RETURN 'password', 'x'", "RETURN 'password', 'x'"),
        ("MATCH (n {name: 'x'}) RETURN n", "MATCH (n {name: 'x'}) RETURN n"),
    ] {
        assert_eq!(without_secrets(text), shown);
    }
    assert_eq!(format!("{:?}", Secret::new("secret!")), MASK);
}
