//! TEXT indexes: strings, and parts of them.

use super::{IndexCapability, IndexPredicate};
use crate::PropertyType;

pub(super) static CAPABILITY: IndexCapability = IndexCapability {
    name: "TEXT",
    provider: "text-2.0",
    old_providers: &["text-1.0"],
    settings: &[],
    properties_max: 1,
    holds: Some(PropertyType::String),
    predicates: &[
        IndexPredicate::Equals,
        IndexPredicate::In,
        IndexPredicate::StartsWith,
        IndexPredicate::EndsWith,
        IndexPredicate::Contains,
    ],
    sorted_by_value: true,
};
