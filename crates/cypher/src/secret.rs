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

/// Words of commands about users that are no secrets. Whatever else stands behind the name of the
/// user may be one, where a word before it is misspelt.
const WORDS: [&str; 26] = [
    "active",
    "as",
    "auth",
    "change",
    "current",
    "database",
    "encrypted",
    "exists",
    "from",
    "home",
    "id",
    "if",
    "not",
    "or",
    "password",
    "plaintext",
    "provider",
    "remove",
    "replace",
    "required",
    "set",
    "status",
    "suspended",
    "to",
    "user",
    "all",
];

/// Where something may be secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nowhere.
    Nowhere,
    /// Behind the word `PASSWORD`.
    Password,
    /// Behind `CREATE USER`, `ALTER USER`; whether the name has come.
    User { named: bool },
    /// Behind `dbms.security.`.
    Procedure,
}

/// `text` for a log: without strings behind the word `PASSWORD` and what stands where one is
/// missing, without what is written down in commands about users and in calls of procedures
/// `dbms.security`, whether or not the text can be parsed. A text in which nothing is looked for is
/// borrowed.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let has = |wanted: &[u8]| {
        text.as_bytes().windows(wanted.len()).any(|word| word.eq_ignore_ascii_case(wanted))
    };
    let has_password = has(b"password");
    if !has_password && !has(b"user") && !has(b"security") {
        return Cow::Borrowed(text);
    }
    let (mut out, mut copied, mut found) = (String::new(), 0, has_password);
    let (mut place, mut expects) = (Place::Nowhere, false);
    // The words before, the last one first.
    let mut before = ["", ""];
    for token in lex(text, &|| true).tokens {
        let range = token.span.range();
        let word = &text[range.clone()];
        let is = |words: &[&str]| words.iter().any(|w| word.eq_ignore_ascii_case(w));
        let was =
            |at: usize, words: &[&str]| words.iter().any(|w| before[at].eq_ignore_ascii_case(w));
        let text_like = matches!(token.kind, TokenKind::String | TokenKind::Error);
        let number = matches!(token.kind, TokenKind::Integer | TokenKind::Float);
        let written = text_like || number;
        let hidden = match place {
            Place::Nowhere => false,
            Place::Password => {
                let bare = token.kind.is_name() || token.kind == TokenKind::Integer;
                text_like || (expects && bare && !is(&["change", "from"]))
            }
            // A parameter is a word behind a sign, and its name no secret.
            Place::User { named: true } => {
                let odd = token.kind.is_name() && !is(&WORDS) && !was(0, &["database", "$"]);
                written || odd || (expects && token.kind.is_name() && !is(&["change", "from"]))
            }
            Place::User { named: false } => false,
            Place::Procedure => written,
        };
        place = match place {
            _ if token.kind == TokenKind::Semicolon => Place::Nowhere,
            Place::User { named } => {
                let condition = is(&["if", "not", "exists"]);
                Place::User { named: named || !condition }
            }
            Place::Procedure => Place::Procedure,
            _ if is(&["user"])
                && (was(0, &["create", "alter", "replace"])
                    || (was(0, &["current"]) && was(1, &["alter"]))) =>
            {
                // The user at hand has no name there.
                Place::User { named: was(0, &["current"]) }
            }
            _ if is(&["security"]) && was(0, &["."]) && was(1, &["dbms"]) => Place::Procedure,
            _ if is(&["password"]) => Place::Password,
            other => other,
        };
        expects = place != Place::Nowhere && is(&["password", "from", "to"]);
        found |= matches!(place, Place::User { .. } | Place::Procedure);
        before = [word, before[0]];
        if hidden {
            out.push_str(&text[copied..range.start]);
            out.extend(["'", MASK, "'"]);
            copied = range.end;
        }
    }
    if !found {
        return Cow::Borrowed(text);
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
        (
            "CREATE OR REPLACE USER ann SET PASSWRD 'x' CHANGE NOT REQUIRED",
            "CREATE OR REPLACE USER ann SET '******' '******' CHANGE NOT REQUIRED",
        ),
        (
            "alter user `a b` set pasword 'x', \"y\", 12, 1.5 SET HOME DATABASE shop",
            "alter user `a b` set '******' '******', '******', '******', '******' SET HOME DATABASE shop",
        ),
        (
            "CREATE USER ann IF NOT EXISTS SET PASS hunter2",
            "CREATE USER ann IF NOT EXISTS SET '******' '******'",
        ),
        (
            "ALTER CURRENT USER SET PASSWORT FROM 'a' TO 'b'",
            "ALTER CURRENT USER SET '******' FROM '******' TO '******'",
        ),
        ("CREATE USER $u SET PASSWRD $p", "CREATE USER $u SET '******' $p"),
        ("CREATE USER ann 'x; RETURN 1", "CREATE USER ann '******'"),
        (
            "CALL dbms.security.createUser('u', 'x', false); RETURN 'three'",
            "CALL dbms.security.createUser('******', '******', false); RETURN 'three'",
        ),
        ("call DBMS.Security.changePassword(\"x", "call DBMS.Security.changePassword('******'"),
        ("CREATE (:User {name: 'x'})", "CREATE (:User {name: 'x'})"),
        (
            "MATCH (user:User) WHERE user.x = 'y' RETURN user",
            "MATCH (user:User) WHERE user.x = 'y' RETURN user",
        ),
        ("RETURN 'password', 'x'", "RETURN 'password', 'x'"),
        ("MATCH (n {name: 'x'}) RETURN n", "MATCH (n {name: 'x'}) RETURN n"),
    ] {
        assert_eq!(without_secrets(text), shown);
    }
    assert_eq!(format!("{:?}", Secret::new("secret!")), MASK);
}
