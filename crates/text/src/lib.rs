//! Full-text search: analyzers, postings as keys, Lucene's query syntax, BM25.
//!
//! ```text
//!  text of a property ─► analyzer ─► terms ─► keys of an index     analyzer/  key.rs
//!  query text ─► parser ─► clauses over fields                      query/
//!  clauses + postings of a snapshot ─► objects with scores           search/  score.rs
//! ```
//!
//! The crate knows no graph. The engine asks it for the keys of a document; the procedures of
//! queries ask it for hits, and give it postings to read ([`search::Source`]).

pub mod analyzer;
pub mod key;
pub mod query;
pub mod score;
pub mod search;

pub use analyzer::{Analyzer, Token};
