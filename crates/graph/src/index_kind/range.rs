//! RANGE indexes: every value, in the order of values, on one property or several.

use super::{IndexCapability, IndexPredicate, PROPERTIES_MAX};

pub(super) static CAPABILITY: IndexCapability = IndexCapability {
    name: "RANGE",
    provider: "range-1.0",
    old_providers: &[],
    settings: &[],
    properties_max: PROPERTIES_MAX,
    holds: None,
    predicates: &[
        IndexPredicate::Equals,
        IndexPredicate::In,
        IndexPredicate::Between,
        IndexPredicate::StartsWith,
    ],
    sorted_by_value: true,
};
