//! The front end of Telar's query language, openCypher: from text to tree and back.
//!
//! ```
//! let tree = telar_cypher::parse("MATCH (n:Person) WHERE n.age>42 RETURN n.name")?;
//! assert_eq!(tree.to_string(), "MATCH (n:Person) WHERE n.age > 42 RETURN n.name");
//!
//! let text = "MATCH (n) RETRUN n";
//! let errors = telar_cypher::parse(text).unwrap_err();
//! assert_eq!(errors.first().help.as_deref(), Some("did you mean RETURN?"));
//! # Ok::<(), telar_cypher::Diagnostics>(())
//! ```
//!
//! - [`span`]: where in the text something stands.
//! - [`token`]: tokens and keywords; the lexer makes them.
//! - [`ast`]: the syntax tree.
//! - [`parser`]: from tokens to the tree; after it, `check` knows which clause may follow which.
//! - [`printer`]: back to text, so that `parse(print(tree)) == tree`.
//! - [`diagnostic`]: errors with codes, places and help, for all stages of a query.
//! - [`suggest`]: did you mean.
//! - [`secret`]: passwords in commands, and texts without them.

pub mod ast;
mod check;
pub mod diagnostic;
#[cfg(test)]
mod generate;
mod lexer;
mod literal;
pub mod parser;
pub mod printer;
pub mod secret;
pub mod span;
pub mod suggest;
pub mod token;

pub use diagnostic::{Code, Detail, Diagnostic, Diagnostics, Position};
pub use parser::{parse, parse_all, parse_expression, parse_while, split};
pub use secret::{Secret, without_secrets};
pub use span::Span;

/// The tokens of a text, whether or not it can be parsed: for colours, and for knowing where it
/// ends. The last one is [`token::TokenKind::End`], empty, at the end of the text.
pub fn tokens(source: &str) -> Vec<token::Token> {
    lexer::lex(source, &|| true).tokens
}
