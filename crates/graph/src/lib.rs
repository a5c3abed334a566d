//! Ids, values, schema names and the read traits of the Telar graph database.
//!
//! - [`ids`]: newtypes for everything that is numbered.
//! - [`value`]: property values and the civil temporal types.
//! - [`index_kind`]: kinds of indexes and constraints, and what each can answer.
//! - [`order`]: Cypher's three-valued comparison and the total order of `ORDER BY`.
//! - [`sortkey`]: bytes that compare as values do, for indexes.
//! - [`spatial`]: boxes of points, and codes of points, for POINT indexes.
//! - [`codec`]: the binary form of a value in the log and in checkpoints.
//! - [`mod@column`]: values of many rows, typed.
//! - [`counts`]: counts and estimates of a graph.
//! - [`index_range`]: which entries of an index to read.
//! - [`lists`]: lists of a batch, flat.
//! - [`partitions`]: where ids can be.
//! - [`name`]: which names a label, an edge type and a property key may have.
//! - [`postings`]: objects that have a term, in blocks.
//! - [`topology`]: adjacency as the graph kernels read it.
//! - [`update`]: names, and changes in a transaction.
//! - [`vector`]: sums over two vectors.
//! - [`view`]: batched reads at one snapshot, all that queries know of storage.

pub mod codec;
pub mod column;
pub mod counts;
pub mod heap;
pub mod ids;
pub mod index_kind;
pub mod index_range;
pub mod lists;
pub mod name;
pub mod order;
pub mod partitions;
pub mod postings;
mod property_type;
pub mod schema_rule;
pub mod sortkey;
pub mod spatial;
pub mod topology;
pub mod update;
pub mod value;
pub mod vector;
pub mod view;

// `arbitrary.rs` names this crate as the tests of others do.
#[cfg(test)]
extern crate self as telar_graph;

#[cfg(test)]
mod arbitrary;

pub use column::Column;
pub use counts::{Counts, EdgeEnd, Estimates, LabelSet, Statistics};
pub use ids::{CommitTs, Direction, EdgeId, EdgeTypeId, IndexId, LabelId, PropertyKeyId, VertexId};
pub use index_kind::{ConstraintKind, IndexKind, SchemaKind};
pub use index_range::{EntryFilter, IndexRange, IndexUnavailable, Stop};
pub use lists::{Expansion, Lists};
pub use partitions::Partitions;
pub use property_type::PropertyType;
pub use schema_rule::{
    FulltextSettings, IndexOptions, IndexSettings, IndexState, SchemaRule, Similarity,
    VectorSettings,
};
pub use topology::Topology;
pub use update::{Graph, Schema, Update};
pub use value::{Value, ValueMap};
pub use view::{ReadError, Run, View};
