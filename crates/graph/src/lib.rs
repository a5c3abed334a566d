//! Ids, values, schema names and the read traits of the Telar graph database.

pub mod topology;

pub use topology::Topology;
