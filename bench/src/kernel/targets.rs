//! What is to be reached: the numbers that the design promised before there was code.

pub use crate::figures::Bound;

/// A figure and its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Key in the report's `ratios`.
    pub key: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// Unit, for people.
    pub unit: &'static str,
    /// What is to be reached.
    pub bound: Bound,
}

const fn least(key: &'static str, bound: f64, unit: &'static str, what: &'static str) -> Target {
    Target { key, what, unit, bound: Bound::AtLeast(bound) }
}

const fn most(key: &'static str, bound: f64, unit: &'static str, what: &'static str) -> Target {
    Target { key, what, unit, bound: Bound::AtMost(bound) }
}

/// Unit of speed ratios.
const SPEED: &str = "x CSR speed";
/// Unit of time ratios.
const TIME: &str = "x CSR time";
/// Unit of memory ratios.
const BYTES: &str = "x CSR bytes";
/// Unit of rates.
const RATE: &str = "M entries/s";

/// Every key of the report's `ratios`, in order.
pub const TARGETS: [Target; 23] = [
    least("scan_settled", 0.95, SPEED, "full scan, settled"),
    least("scan_with_writer", 0.65, SPEED, "full scan beside a writer"),
    least("scan_random_order", 0.92, SPEED, "scan in random order, settled"),
    least("search", 0.95, SPEED, "search edge, settled"),
    most("pagerank_time", 1.08, TIME, "PageRank, settled"),
    most("bfs_time", 1.08, TIME, "BFS, settled"),
    most("triangles_time", 1.1, TIME, "triangles, settled"),
    most("bytes_per_entry_settled", 1.05, BYTES, "topology, settled"),
    most("bytes_per_entry_peak", 1.7, BYTES, "topology, peak of a load from 25 % on"),
    least("insert_single_mps", 2.0, RATE, "insert, one edge per transaction"),
    least("insert_batch64_mps", 4.0, RATE, "insert, 64 edges per transaction"),
    least("upsert_mps", 2.0, RATE, "upsert of existing edges"),
    least("delete_mps", 1.5, RATE, "delete"),
    least("scan_deleted_8pct", 0.5, SPEED, "full scan, 8 % deleted, unsettled"),
    least("hub_insert_mps", 2.0, RATE, "insert at one hub"),
    least("hub_two_writers", 1.5, "x one writer", "two writers on one hub"),
    most("snapshot_open", 1.25, "x time at 10^3", "open a snapshot at 10^7 vertices"),
    least("durable_64_over_1", 20.0, "x one writer", "durable commits, 64 writers"),
    least("scan_unsettled_10pct", 0.65, SPEED, "full scan, 10 % unsettled"),
    most("pagerank_time_unsettled_10pct", 1.4, TIME, "PageRank, 10 % unsettled"),
    most("bfs_time_unsettled_10pct", 1.4, TIME, "BFS, 10 % unsettled"),
    least("search_unsettled_10pct", 0.7, SPEED, "search edge, 10 % unsettled"),
    least("durable_64_share_of_raw", 0.8, "x group x raw", "the same / group size x raw syncs"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_kept_or_missed() {
        assert!(Bound::AtLeast(2.0).is_met(2.0) && !Bound::AtLeast(2.0).is_met(1.9));
        assert!(Bound::AtMost(1.1).is_met(1.0) && !Bound::AtMost(1.1).is_met(1.2));
        assert!(!Bound::AtLeast(0.0).is_met(f64::NAN) && !Bound::AtMost(9.0).is_met(f64::NAN));
        assert_eq!(Bound::AtMost(1.05).to_string(), "<= 1.05");
    }
}
