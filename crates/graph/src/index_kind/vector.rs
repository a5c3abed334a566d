//! VECTOR indexes: vectors that are near. No predicate of a query uses one: procedures do.

use super::IndexCapability;

pub(super) static CAPABILITY: IndexCapability = IndexCapability {
    name: "VECTOR",
    provider: "vector-2.0",
    old_providers: &["vector-1.0"],
    settings: &[],
    properties_max: 1,
    holds: None,
    predicates: &[],
    sorted_by_value: false,
};
