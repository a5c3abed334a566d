//! Query syntax: that of Lucene's classic parser, as Neo4j uses it.
//!
//! ```text
//!  text ─► lexer ─► parser ─► Clause, a tree             lexer.rs parser.rs
//! ```
//!
//! A tree says what was written; analyzers, fields and wildcards are applied when it is searched
//! for (`search/`).

mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use std::fmt;

pub use parser::parse;

/// Deepest nesting of parentheses.
pub const DEPTH_MAX: usize = 100;

/// The part that a clause plays among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occur {
    /// It adds to the score.
    Should,
    /// Every hit has it.
    Must,
    /// No hit has it.
    MustNot,
}

/// A part of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// The field that is named before it, or before a parenthesis around it.
    pub field: Option<String>,
    /// Factor of its score.
    pub boost: f32,
    /// What is sought.
    pub node: Node,
}

/// The sought part of a clause.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Words, divided by the analyzer: those of one term, or of several in a row.
    Words(String),
    /// Words one after the other, with so many moves.
    Phrase {
        /// The text between the quotation marks.
        text: String,
        /// Moves of words that are allowed.
        slop: u32,
    },
    /// A term with `*` and `?`.
    Wildcard(Vec<Piece>),
    /// A term that is similar, within so many edits.
    Fuzzy {
        /// The term.
        term: String,
        /// As written behind the `~`: a number of edits, or a similarity below 1.
        similarity: f32,
    },
    /// A regular expression of whole terms.
    Regex(String),
    /// Terms between two; `None` is an open end.
    Range {
        /// The lower end.
        from: Option<String>,
        /// True if the lower end belongs to it.
        from_included: bool,
        /// The upper end.
        to: Option<String>,
        /// True if the upper end belongs to it.
        to_included: bool,
    },
    /// Every document.
    All,
    /// Clauses, each with how it takes part.
    Boolean(Vec<(Occur, Clause)>),
}

/// A part of a term with wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Letters.
    Text(String),
    /// `?`
    One,
    /// `*`
    Any,
}

/// A text that is no query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// Where, in characters from the first, which is 0.
    pub column: usize,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line 1, column {}", self.message, self.column)
    }
}

impl std::error::Error for ParseError {}
