//! Types, as `IS ::` and constraints name them.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::{CoordinateName, TypeExpr, TypeKind};
use crate::token::{Keyword as K, TokenKind as T};

/// Types of one word.
const SIMPLE: [(&str, TypeKind); 19] = [
    ("BOOLEAN", TypeKind::Boolean),
    ("BOOL", TypeKind::Boolean),
    ("STRING", TypeKind::String),
    ("VARCHAR", TypeKind::String),
    ("INTEGER", TypeKind::Integer),
    ("INT", TypeKind::Integer),
    ("FLOAT", TypeKind::Float),
    ("DATE", TypeKind::Date),
    ("DURATION", TypeKind::Duration),
    ("POINT", TypeKind::Point),
    ("NODE", TypeKind::Node),
    ("VERTEX", TypeKind::Node),
    ("RELATIONSHIP", TypeKind::Relationship),
    ("EDGE", TypeKind::Relationship),
    ("MAP", TypeKind::Map),
    ("PATH", TypeKind::Path),
    ("PATHS", TypeKind::Path),
    ("NULL", TypeKind::Null),
    ("NOTHING", TypeKind::Nothing),
];

/// Most coordinates of a vector.
const VECTOR_DIMENSION_MAX: u16 = 4096;

impl Parser<'_> {
    /// `INTEGER NOT NULL`, `LIST<STRING | FLOAT>`
    pub(super) fn type_expr(&mut self) -> Parsed<TypeExpr> {
        let bars = !self.bar_ends;
        self.nested(|parser| parser.type_union(bars))
    }

    fn type_union(&mut self, bars: bool) -> Parsed<TypeExpr> {
        let start = self.span();
        let first = self.type_list()?;
        if !bars || self.kind() != T::Bar {
            return Ok(first);
        }
        let mut types = vec![first];
        while self.eat(T::Bar) {
            types.push(self.type_list()?);
        }
        self.grow()?;
        let span = self.since(start);
        if let Some(other) = types.iter().find(|ty| ty.not_null != types[0].not_null) {
            let message = "NOT NULL belongs to all types of a union or to none";
            return self.refuse(other.span, message);
        }
        Ok(TypeExpr { kind: TypeKind::Union(types), not_null: false, span })
    }

    /// A type, and `LIST` any number of times behind it.
    fn type_list(&mut self) -> Parsed<TypeExpr> {
        let start = self.span();
        let kind = self.type_kind()?;
        let not_null = self.not_null()?;
        let mut of = TypeExpr { kind, not_null, span: self.since(start) };
        while self.takes("LIST") || self.takes("ARRAY") {
            self.grow()?;
            let kind = TypeKind::List(Box::new(of));
            let not_null = self.not_null()?;
            of = TypeExpr { kind, not_null, span: self.since(start) };
        }
        Ok(of)
    }

    fn not_null(&mut self) -> Parsed<bool> {
        if self.eat(T::Exclamation) {
            return Ok(true);
        }
        let not = self.eat(K::Not);
        if not {
            self.expect(K::Null)?;
        }
        Ok(not)
    }

    fn type_kind(&mut self) -> Parsed<TypeKind> {
        if self.takes("LIST") || self.takes("ARRAY") {
            self.expect(T::Less)?;
            let of = self.nested(|parser| parser.type_union(true))?;
            self.expect(T::Greater)?;
            return Ok(TypeKind::List(Box::new(of)));
        }
        if self.takes("VECTOR") {
            return self.vector_type();
        }
        if self.takes("ANY") {
            return self.any_type();
        }
        if self.takes("PROPERTY") {
            self.expect_word("VALUE")?;
            return Ok(TypeKind::PropertyValue);
        }
        for (word, time, datetime) in [
            ("LOCAL", TypeKind::LocalTime, TypeKind::LocalDateTime),
            ("ZONED", TypeKind::ZonedTime, TypeKind::ZonedDateTime),
        ] {
            if self.takes(word) {
                if self.eat_word("TIME") {
                    return Ok(time);
                }
                self.expect_word("DATETIME")?;
                return Ok(datetime);
            }
        }
        for (word, zoned, local) in [
            ("TIME", TypeKind::ZonedTime, TypeKind::LocalTime),
            ("TIMESTAMP", TypeKind::ZonedDateTime, TypeKind::LocalDateTime),
        ] {
            if self.takes(word) {
                return Ok(if self.with_time_zone()? { zoned } else { local });
            }
        }
        if self.is_word("SIGNED") && self.is_word_at(1, "INTEGER") {
            self.bump();
        }
        for (word, kind) in SIMPLE {
            if self.takes(word) {
                return Ok(kind);
            }
        }
        self.note(Expected::Text("a type"));
        for word in ["LIST", "VECTOR", "ANY", "PROPERTY", "LOCAL", "ZONED", "TIME", "TIMESTAMP"] {
            self.note(Expected::Hint(word));
        }
        for (word, _) in SIMPLE {
            self.note(Expected::Hint(word));
        }
        self.fail()
    }

    /// Takes the next token if it is this word, which messages do not list.
    fn takes(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        if is {
            self.bump();
        }
        is
    }

    /// `WITH TIME ZONE` or `WITHOUT TIMEZONE`
    fn with_time_zone(&mut self) -> Parsed<bool> {
        let without = self.eat_word("WITHOUT");
        if !without {
            self.expect(K::With)?;
        }
        if !self.eat_word("TIMEZONE") {
            self.expect_word("TIME")?;
            self.expect_word("ZONE")?;
        }
        Ok(!without)
    }

    /// `VECTOR<FLOAT32 NOT NULL>(3)`, with or without each part; the word has been taken.
    fn vector_type(&mut self) -> Parsed<TypeKind> {
        let mut coordinates = None;
        if self.eat(T::Less) {
            coordinates = Some(self.coordinate_name()?);
            self.not_null()?;
            self.expect(T::Greater)?;
        }
        let mut dimension = None;
        if self.eat(T::LeftParen) {
            let start = self.span();
            let number = start.text(self.source).parse::<u16>();
            self.expect(T::Integer)?;
            match number {
                Ok(number @ 1..=VECTOR_DIMENSION_MAX) => dimension = Some(number),
                _ => {
                    let message = "the dimension of a vector type is between 1 and 4096";
                    return self.refuse(start, message);
                }
            }
            self.expect(T::RightParen)?;
        }
        Ok(TypeKind::Vector { coordinates, dimension })
    }

    /// `FLOAT32`, `INT8`, `SIGNED INTEGER`
    fn coordinate_name(&mut self) -> Parsed<CoordinateName> {
        if let Some(name) = self.coordinate_name_ahead() {
            return Ok(name);
        }
        self.note(Expected::Text("the type of the coordinates of a vector"));
        for name in CoordinateName::ALL {
            self.note(Expected::Hint(name.name()));
        }
        self.fail()
    }

    /// The type of coordinates that comes next, which is taken, if one does.
    pub(super) fn coordinate_name_ahead(&mut self) -> Option<CoordinateName> {
        let signed = self.is_word("SIGNED");
        let word = self.text_at(self.at + usize::from(signed));
        let name = CoordinateName::of_word(word)?;
        if signed {
            if !word.eq_ignore_ascii_case("INTEGER") && !word.eq_ignore_ascii_case("INT") {
                return None;
            }
            self.bump();
        }
        self.bump();
        Some(name)
    }

    /// `ANY`, `ANY VALUE`, `ANY<A | B>`, `ANY NODE`; the word has been taken.
    fn any_type(&mut self) -> Parsed<TypeKind> {
        if self.takes("PROPERTY") {
            self.expect_word("VALUE")?;
            return Ok(TypeKind::PropertyValue);
        }
        for (word, kind) in SIMPLE {
            let thing = matches!(kind, TypeKind::Node | TypeKind::Relationship | TypeKind::Map);
            if thing && self.takes(word) {
                return Ok(kind);
            }
        }
        self.takes("VALUE");
        if !self.eat(T::Less) {
            return Ok(TypeKind::Any);
        }
        let of = self.nested(|parser| parser.type_union(true))?;
        self.expect(T::Greater)?;
        Ok(match of {
            TypeExpr { kind, not_null: false, .. } => kind,
            of => TypeKind::Union(vec![of]),
        })
    }
}
