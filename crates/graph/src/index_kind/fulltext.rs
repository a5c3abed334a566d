//! FULLTEXT indexes: words of strings. No predicate of a query uses one: procedures do.

use super::{IndexCapability, PROPERTIES_MAX};

pub(super) static CAPABILITY: IndexCapability = IndexCapability {
    name: "FULLTEXT",
    provider: "fulltext-1.0",
    old_providers: &[],
    settings: &[],
    properties_max: PROPERTIES_MAX,
    holds: None,
    predicates: &[],
    sorted_by_value: false,
};
