//! POINT indexes: points, and the areas that they lie in.

use super::{IndexCapability, IndexPredicate, IndexSetting};
use crate::PropertyType;

pub(super) static CAPABILITY: IndexCapability = IndexCapability {
    name: "POINT",
    provider: "point-1.0",
    old_providers: &[],
    settings: &SETTINGS,
    properties_max: 1,
    holds: Some(PropertyType::Point),
    predicates: &[IndexPredicate::Equals, IndexPredicate::In, IndexPredicate::Within],
    // Points that are very close share a code (`spatial.rs`).
    sorted_by_value: false,
};

const ANYWHERE: [f64; 3] = [f64::MAX; 3];
const GLOBE: [f64; 3] = [180.0, 90.0, f64::MAX];
const MILLION: f64 = 1_000_000.0;

/// Every setting, as Neo4j has them. There they bound the space that its curve divides; here the
/// curve covers all of it.
static SETTINGS: [IndexSetting; 8] = [
    setting("spatial.cartesian-3d.max", "spatial.cartesian-3d.min", 3, ANYWHERE, [MILLION; 3]),
    setting("spatial.cartesian-3d.min", "spatial.cartesian-3d.max", 3, ANYWHERE, [-MILLION; 3]),
    setting("spatial.cartesian.max", "spatial.cartesian.min", 2, ANYWHERE, [MILLION; 3]),
    setting("spatial.cartesian.min", "spatial.cartesian.max", 2, ANYWHERE, [-MILLION; 3]),
    setting("spatial.wgs-84-3d.max", "spatial.wgs-84-3d.min", 3, GLOBE, [180.0, 90.0, MILLION]),
    setting("spatial.wgs-84-3d.min", "spatial.wgs-84-3d.max", 3, GLOBE, [-180.0, -90.0, -MILLION]),
    setting("spatial.wgs-84.max", "spatial.wgs-84.min", 2, GLOBE, [180.0, 90.0, 0.0]),
    setting("spatial.wgs-84.min", "spatial.wgs-84.max", 2, GLOBE, [-180.0, -90.0, 0.0]),
];

const fn setting(
    key: &'static str,
    other: &'static str,
    axes: usize,
    allowed: [f64; 3],
    default: [f64; 3],
) -> IndexSetting {
    IndexSetting { key, other, axes, allowed, default }
}
