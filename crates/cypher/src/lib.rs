//! The front end of Telar's query language, openCypher: from text to tree and back.
//!
//! - [`span`]: where in the text something stands.
//! - [`ast`]: the syntax tree.

pub mod ast;
pub mod span;

pub use span::Span;
