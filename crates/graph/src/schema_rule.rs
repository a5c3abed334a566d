//! Indexes and constraints as queries list them.

use crate::index_kind::SchemaKind;
use crate::update::IndexedObjects;
use crate::{IndexId, LabelId, PropertyKeyId};

/// State of an index or constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// What was there before is being added or checked; commits keep to it already.
    Building {
        /// Vertices, or sources of edges, looked at so far.
        done: u64,
        /// How many there are.
        total: u64,
    },
    /// It can be read, and holds.
    Online,
    /// It is made when the transaction that asks commits; nobody else knows of it.
    Pending,
}

/// Settings of a full-text index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FulltextSettings {
    /// Name of the analyzer.
    pub analyzer: String,
    /// As the command said. Nothing depends on it: the index is right at every commit.
    pub eventually_consistent: bool,
}

/// Measure that a vector index ranks by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Similarity {
    /// The angle between two vectors.
    #[default]
    Cosine,
    /// The distance of their ends.
    Euclidean,
}

/// Settings of a vector index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorSettings {
    /// Numbers of a vector; others are not in the index. `None`: any, and vectors of one length are
    /// found by a vector of that length.
    pub dimensions: Option<u16>,
    /// Measure that it ranks by.
    pub similarity: Similarity,
    /// Half the links of a vector to its neighbours, as Neo4j counts them.
    pub links: u16,
    /// Vectors that are kept in sight while links of a new one are sought.
    pub effort: u16,
    /// As the command said. Nothing depends on it: searches use bytes, ranks what was set.
    pub quantized: bool,
    /// Properties that the command named for filters. Nothing depends on them: any property will
    /// do.
    pub filters: Vec<PropertyKeyId>,
}

/// Settings of kinds of indexes that have some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexSettings {
    /// Of a full-text index.
    Fulltext(FulltextSettings),
    /// Of a vector index.
    Vector(VectorSettings),
}

/// Settings of a full-text or vector index, and its place in an index over several labels or types.
///
/// An index over several labels or types is kept as one *part* for each, a rule of its own. An
/// object that has several of the labels is in the first part that it fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexOptions {
    /// The settings, the same of each part.
    pub settings: IndexSettings,
    /// Name of the index that it is a part of; the rule's own name for the first part.
    pub of: String,
    /// Number of the part, 0 for the first.
    pub part: u16,
    /// Labels of earlier parts: nodes that have one are not in this part.
    pub except: Vec<LabelId>,
}

impl IndexOptions {
    /// The name of the rule that is part `part` of the index called `of`. No name that a command
    /// gives to another index is likely to be the same.
    #[must_use]
    pub fn part_name(of: &str, part: u16) -> String {
        if part == 0 { of.to_owned() } else { format!("{of}\u{1f}{part}") }
    }

    /// The settings of a full-text index.
    #[must_use]
    pub fn fulltext(&self) -> Option<&FulltextSettings> {
        match &self.settings {
            IndexSettings::Fulltext(settings) => Some(settings),
            IndexSettings::Vector(_) => None,
        }
    }

    /// The settings of a vector index.
    #[must_use]
    pub fn vector(&self) -> Option<&VectorSettings> {
        match &self.settings {
            IndexSettings::Vector(settings) => Some(settings),
            IndexSettings::Fulltext(_) => None,
        }
    }
}

/// An index or constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaRule {
    /// Its number.
    pub id: IndexId,
    /// Its name, which no other index or constraint has.
    pub name: String,
    /// What it is about.
    pub objects: IndexedObjects,
    /// The properties, in its order.
    pub properties: Vec<PropertyKeyId>,
    /// Its kind.
    pub kind: SchemaKind,
    /// Settings of a full-text or vector index.
    pub options: Option<IndexOptions>,
    /// Its state.
    pub state: IndexState,
}
