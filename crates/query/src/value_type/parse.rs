//! Parser of types.
//!
//! ```text
//! type        = alternative { "|" alternative }
//! alternative = ( list | any | vector | name ) { ["NOT" "NULL" | "!"] ( "LIST" | "ARRAY" ) } [ not null ]
//! list        = ( "LIST" | "ARRAY" ) "<" type ">"
//! vector      = "VECTOR" [ "<" coordinates [ not null ] ">" ] [ "(" dimension ")" ]
//! any         = "ANY" [ "VALUE" ] "<" type ">"
//! ```

use std::str::FromStr;

use telar_graph::value::{CoordinateType, NESTING_MAX, Vector};

use super::{Alternative, Kind, ValueType, VectorType};
use crate::error::EvalError;

/// Longest text of a type: lists 64 deep, and at the bottom more names than there are types.
const TEXT_BYTES_MAX: usize = 4_096;

/// Names of types, each as its words, the longer before those that begin alike.
const NAMES: &[(&str, Kind)] = &[
    ("NOTHING", Kind::Nothing),
    ("NULL", Kind::Null),
    ("BOOLEAN", Kind::Boolean),
    ("BOOL", Kind::Boolean),
    ("STRING", Kind::String),
    ("VARCHAR", Kind::String),
    ("INTEGER", Kind::Integer),
    ("INT", Kind::Integer),
    ("SIGNED INTEGER", Kind::Integer),
    ("FLOAT", Kind::Float),
    ("BYTES", Kind::Bytes),
    ("DATE", Kind::Date),
    ("LOCAL TIME", Kind::LocalTime),
    ("TIME WITHOUT TIME ZONE", Kind::LocalTime),
    ("TIME WITHOUT TIMEZONE", Kind::LocalTime),
    ("ZONED TIME", Kind::ZonedTime),
    ("TIME WITH TIME ZONE", Kind::ZonedTime),
    ("TIME WITH TIMEZONE", Kind::ZonedTime),
    ("LOCAL DATETIME", Kind::LocalDateTime),
    ("TIMESTAMP WITHOUT TIME ZONE", Kind::LocalDateTime),
    ("TIMESTAMP WITHOUT TIMEZONE", Kind::LocalDateTime),
    ("ZONED DATETIME", Kind::ZonedDateTime),
    ("TIMESTAMP WITH TIME ZONE", Kind::ZonedDateTime),
    ("TIMESTAMP WITH TIMEZONE", Kind::ZonedDateTime),
    ("DURATION", Kind::Duration),
    ("POINT", Kind::Point),
    ("ANY NODE", Kind::Node),
    ("ANY VERTEX", Kind::Node),
    ("NODE", Kind::Node),
    ("VERTEX", Kind::Node),
    ("ANY RELATIONSHIP", Kind::Relationship),
    ("ANY EDGE", Kind::Relationship),
    ("RELATIONSHIP", Kind::Relationship),
    ("EDGE", Kind::Relationship),
    ("ANY MAP", Kind::Map),
    ("MAP", Kind::Map),
    ("ANY PATH", Kind::Path),
    ("PATH", Kind::Path),
    ("ANY PROPERTY VALUE", Kind::PropertyValue),
    ("PROPERTY VALUE", Kind::PropertyValue),
    ("ANY VALUE", Kind::Any),
    ("ANY", Kind::Any),
];

/// Reads a type in any case, with the synonyms of the manual: `INT`, `LIST<STRING NOT NULL>`,
/// `INTEGER | FLOAT`, `ANY<BOOLEAN | STRING>`, `INTEGER!`, `TIME WITH TIME ZONE`.
impl FromStr for ValueType {
    type Err = EvalError;

    fn from_str(text: &str) -> Result<Self, EvalError> {
        let invalid = || {
            let shown: String = text.chars().take(80).collect();
            EvalError::argument_value(format!("{shown:?} is not a type"))
        };
        if text.len() > TEXT_BYTES_MAX {
            return Err(invalid());
        }
        let mut parser =
            Parser { tokens: tokens(text).ok_or_else(invalid)?, at: 0, levels: NESTING_MAX };
        let parsed = parser.union().filter(|_| parser.at == parser.tokens.len());
        parsed.filter(Self::nests_within_bounds).ok_or_else(invalid)
    }
}

/// Words in upper case, and single marks; none when there is another character.
fn tokens(text: &str) -> Option<Vec<String>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '<' | '>' | '|' | '!' | '(' | ')' => 1,
            c if c.is_ascii_alphanumeric() => {
                rest.bytes().take_while(u8::is_ascii_alphanumeric).count()
            }
            _ => return None,
        };
        tokens.push(rest[..length].to_ascii_uppercase());
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

struct Parser {
    tokens: Vec<String>,
    at: usize,
    /// How much deeper types may nest.
    levels: u32,
}

impl Parser {
    /// Consumes these tokens when they are next.
    fn eat(&mut self, wanted: &[&str]) -> bool {
        let next = self.tokens.iter().skip(self.at).map(String::as_str);
        let found = next.take(wanted.len()).eq(wanted.iter().copied());
        if found {
            self.at += wanted.len();
        }
        found
    }

    fn union(&mut self) -> Option<ValueType> {
        let mut alternatives = self.alternative()?;
        while self.eat(&["|"]) {
            alternatives.append(&mut self.alternative()?);
        }
        Some(ValueType::union(alternatives))
    }

    /// A type in angle brackets.
    fn inner(&mut self) -> Option<ValueType> {
        self.levels = self.levels.checked_sub(1)?;
        let inner = self.union()?;
        self.levels += 1;
        self.eat(&[">"]).then_some(inner)
    }

    /// What stands behind `VECTOR`.
    fn vector(&mut self) -> Option<VectorType> {
        let mut ty = VectorType { coordinates: None, dimension: None };
        if self.eat(&["<"]) {
            let signed = self.eat(&["SIGNED"]);
            let word = self.tokens.get(self.at)?;
            let whole = word == "INTEGER" || word == "INT";
            ty.coordinates = CoordinateType::from_name(word).filter(|_| !signed || whole);
            ty.coordinates?;
            self.at += 1;
            self.not_null();
            self.eat(&[">"]).then_some(())?;
        }
        if self.eat(&["("]) {
            let dimension: u16 = self.tokens.get(self.at)?.parse().ok()?;
            Vector::check_dimension(dimension.into()).ok()?;
            ty.dimension = Some(dimension);
            self.at += 1;
            self.eat(&[")"]).then_some(())?;
        }
        Some(ty)
    }

    fn not_null(&mut self) -> bool {
        self.eat(&["NOT", "NULL"]) || self.eat(&["!"])
    }

    fn alternative(&mut self) -> Option<Vec<Alternative>> {
        let mut found = if self.eat(&["LIST", "<"]) || self.eat(&["ARRAY", "<"]) {
            ValueType::one(Kind::List(self.inner()?), false).alternatives
        } else if self.eat(&["VECTOR"]) {
            ValueType::one(Kind::Vector(self.vector()?), false).alternatives
        } else if self.eat(&["ANY", "<"]) || self.eat(&["ANY", "VALUE", "<"]) {
            self.inner()?.alternatives
        } else {
            let next = self.tokens.get(self.at)?.clone();
            let mut names = NAMES.iter().filter(|(name, _)| name.starts_with(&next));
            let (_, kind) = names.find(|(name, _)| {
                let words: Vec<&str> = name.split(' ').collect();
                self.eat(&words)
            })?;
            ValueType::one(kind.clone(), *kind == Kind::Nothing).alternatives
        };
        loop {
            if self.not_null() {
                for alternative in &mut found {
                    alternative.not_null = true;
                    if alternative.kind == Kind::Null {
                        alternative.kind = Kind::Nothing;
                    }
                }
            }
            if !self.eat(&["LIST"]) && !self.eat(&["ARRAY"]) {
                return Some(found);
            }
            found = ValueType::one(Kind::List(ValueType::union(found)), false).alternatives;
        }
    }
}
