//! Tokens and keywords.

use crate::span::Span;

/// The smallest piece of text that means something: what stands at `span`.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
}

macro_rules! tokens {
    ($($(#[doc = $doc:literal])+ $name:ident $text:literal,)+) => {
        /// The kinds of tokens.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum TokenKind {
            /// A name that is no keyword.
            Word,
            /// A word that the grammar uses. It is also a name wherever a name may stand.
            Keyword(Keyword),
            $($(#[doc = $doc])+ $name,)+
        }

        impl TokenKind {
            /// How messages call it.
            pub fn describe(self) -> &'static str {
                match self {
                    TokenKind::Word => "a name",
                    TokenKind::Keyword(keyword) => keyword.text(),
                    $(TokenKind::$name => $text,)+
                }
            }
        }
    };
}

tokens! {
    /// A name in backticks.
    Quoted "a name",
    /// Digits, with a prefix or underscores.
    Integer "an integer",
    /// A number with a fraction or an exponent.
    Float "a number",
    /// What begins like a number and is none: `0x`, `12ab`.
    BadNumber "a malformed number",
    /// Text in single or double quotes.
    String "a string",
    /// What the lexer has reported as an error.
    Error "an error",
    /// `(`
    LeftParen "'('",
    /// `)`
    RightParen "')'",
    /// `[`
    LeftBracket "'['",
    /// `]`
    RightBracket "']'",
    /// `{`
    LeftBrace "'{'",
    /// `}`
    RightBrace "'}'",
    /// `,`
    Comma "','",
    /// `;`
    Semicolon "';'",
    /// `.`
    Dot "'.'",
    /// `..`
    DotDot "'..'",
    /// `:`
    Colon "':'",
    /// `::`
    ColonColon "'::'",
    /// `$`
    Dollar "'$'",
    /// `=`
    Equal "'='",
    /// `=~`
    Matches "'=~'",
    /// `<>` or `!=`
    NotEqual "'<>'",
    /// `<`
    Less "'<'",
    /// `<=`
    LessOrEqual "'<='",
    /// `>`
    Greater "'>'",
    /// `>=`
    GreaterOrEqual "'>='",
    /// `+`
    Plus "'+'",
    /// `+=`
    PlusEqual "'+='",
    /// `-`
    Minus "'-'",
    /// `*`
    Star "'*'",
    /// `/`
    Slash "'/'",
    /// `%`
    Percent "'%'",
    /// `^`
    Caret "'^'",
    /// `|`
    Bar "'|'",
    /// `||`
    BarBar "'||'",
    /// `&`
    Ampersand "'&'",
    /// `!`
    Exclamation "'!'",
    /// The end of the text.
    End "end of text",
}

impl TokenKind {
    /// Whether it can be a name.
    pub fn is_name(self) -> bool {
        matches!(self, TokenKind::Word | TokenKind::Keyword(_) | TokenKind::Quoted)
    }
}

impl From<Keyword> for TokenKind {
    fn from(keyword: Keyword) -> Self {
        TokenKind::Keyword(keyword)
    }
}

macro_rules! keywords {
    ($($name:ident $text:literal,)+) => {
        /// Words that the grammar uses at more than one place. None of them is reserved.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Keyword {
            $(#[doc = concat!("`", $text, "`")] $name,)+
        }

        /// All keywords, sorted by text.
        const KEYWORDS: &[(&str, Keyword)] = &[$(($text, Keyword::$name),)+];

        impl Keyword {
            /// The keyword in capital letters.
            pub fn text(self) -> &'static str {
                match self { $(Keyword::$name => $text,)+ }
            }
        }
    };
}

keywords! {
    All "ALL",
    AllShortestPaths "ALLSHORTESTPATHS",
    And "AND",
    Any "ANY",
    As "AS",
    Asc "ASC",
    Ascending "ASCENDING",
    At "AT",
    By "BY",
    Call "CALL",
    Case "CASE",
    Collect "COLLECT",
    Concurrent "CONCURRENT",
    Constraint "CONSTRAINT",
    Contains "CONTAINS",
    Count "COUNT",
    Create "CREATE",
    Csv "CSV",
    Delete "DELETE",
    Desc "DESC",
    Descending "DESCENDING",
    Detach "DETACH",
    Distinct "DISTINCT",
    Drop "DROP",
    Each "EACH",
    Else "ELSE",
    EndKeyword "END",
    Ends "ENDS",
    Exists "EXISTS",
    Explain "EXPLAIN",
    False "FALSE",
    Fieldterminator "FIELDTERMINATOR",
    Filter "FILTER",
    Finish "FINISH",
    For "FOR",
    Foreach "FOREACH",
    From "FROM",
    Groups "GROUPS",
    Headers "HEADERS",
    If "IF",
    In "IN",
    Index "INDEX",
    Insert "INSERT",
    Is "IS",
    Join "JOIN",
    Let "LET",
    Limit "LIMIT",
    Load "LOAD",
    Match "MATCH",
    Merge "MERGE",
    Nodetach "NODETACH",
    None "NONE",
    Not "NOT",
    Null "NULL",
    Offset "OFFSET",
    On "ON",
    Optional "OPTIONAL",
    Options "OPTIONS",
    Or "OR",
    Order "ORDER",
    Profile "PROFILE",
    Reduce "REDUCE",
    Remove "REMOVE",
    Require "REQUIRE",
    Return "RETURN",
    Rows "ROWS",
    Scan "SCAN",
    Set "SET",
    Shortest "SHORTEST",
    ShortestPath "SHORTESTPATH",
    Show "SHOW",
    Single "SINGLE",
    Skip "SKIP",
    Starts "STARTS",
    Terminate "TERMINATE",
    Then "THEN",
    Timestamp "TIMESTAMP",
    Transactions "TRANSACTIONS",
    True "TRUE",
    Typed "TYPED",
    Union "UNION",
    Unwind "UNWIND",
    Use "USE",
    Using "USING",
    When "WHEN",
    Where "WHERE",
    With "WITH",
    Xor "XOR",
    Yield "YIELD",
}

/// Length of the longest keyword, in bytes.
const KEYWORD_BYTES_MAX: usize = 16;

impl Keyword {
    /// The keyword that `word` is, in whatever case.
    pub fn of(word: &str) -> Option<Keyword> {
        let mut upper = [0; KEYWORD_BYTES_MAX];
        let upper = upper.get_mut(..word.len())?;
        upper.copy_from_slice(word.as_bytes());
        upper.make_ascii_uppercase();
        let place = KEYWORDS.binary_search_by(|(text, _)| text.as_bytes().cmp(&*upper)).ok()?;
        Some(KEYWORDS[place].1)
    }

    /// All keywords.
    pub fn all() -> impl Iterator<Item = Keyword> {
        KEYWORDS.iter().map(|(_, keyword)| *keyword)
    }

    /// Whether a clause begins with it.
    pub fn begins_clause(self) -> bool {
        CLAUSES.contains(&self)
    }
}

/// The words with which a clause begins.
pub const CLAUSES: [Keyword; 20] = [
    Keyword::Match,
    Keyword::Optional,
    Keyword::Unwind,
    Keyword::Let,
    Keyword::Filter,
    Keyword::With,
    Keyword::Return,
    Keyword::Create,
    Keyword::Insert,
    Keyword::Merge,
    Keyword::Set,
    Keyword::Remove,
    Keyword::Delete,
    Keyword::Detach,
    Keyword::Nodetach,
    Keyword::Foreach,
    Keyword::Call,
    Keyword::Load,
    Keyword::Use,
    Keyword::Finish,
];

/// The words that the page of the server colours and completes; a build without the repository
/// around it has none.
#[test]
fn the_page_knows_every_keyword() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../page/src/editor/keywords.ts");
    let Ok(words) = std::fs::read_to_string(page) else { return };
    for (text, _) in KEYWORDS {
        assert!(words.contains(&format!("'{text}'")), "{text} is missing in {page}");
    }
}

#[test]
fn keywords_are_sorted_and_found_in_any_case() {
    assert!(KEYWORDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    for (text, keyword) in KEYWORDS {
        assert!(text.len() <= KEYWORD_BYTES_MAX);
        assert_eq!(Keyword::of(&text.to_lowercase()), Some(*keyword));
        assert_eq!(keyword.text(), *text);
    }
    assert_eq!(Keyword::of("MATCHES"), None);
    assert_eq!(Keyword::of(""), None);
    assert_eq!(Keyword::of("ſet"), None, "only ASCII case is folded");
}
