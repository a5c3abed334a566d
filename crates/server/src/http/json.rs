//! Cypher values as JSON, in the two notations of Neo4j's Query API.
//!
//! | | plain | typed |
//! |---|---|---|
//! | media type | `application/json` | `application/vnd.neo4j.query` |
//! | 42 | `42` | `{"$type": "Integer", "_value": "42"}` |
//! | a date | `"2026-08-21"` | `{"$type": "Date", "_value": "2026-08-21"}` |
//!
//! Plain JSON is what people and scripts read; typed JSON brings every value back as what it was.
//! Values are written and read by [`telar_db::json`].

pub use telar_db::json::{Notation, read_parameters};
pub(crate) use telar_db::json::{Writer, write_string};
