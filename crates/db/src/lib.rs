//! The embedded Telar graph database.
