//! Degrees of one edge type in one direction: extremes, median, 99th percentile, histogram.

use serde_json::{Value, json};
use telar_db::{Topology, VertexId};

use crate::ui::{Screen, number};

/// Width of the longest bar, in characters.
const BAR_CHARS_MAX: u64 = 40;

/// Degrees of all vertices. Bucket 0 counts degree 0, bucket `b` the degrees `2^(b-1)..2^b`.
#[derive(Debug, Default)]
pub(super) struct Degrees {
    min: u32,
    median: u32,
    p99: u32,
    max: u32,
    buckets: Vec<u64>,
}

impl Degrees {
    /// The degrees of `vertices` in `topology`.
    pub(super) fn of<T: Topology>(topology: &T, vertices: &[VertexId]) -> Self {
        let degree = |v: &VertexId| u32::try_from(v.get()).map_or(0, |v| topology.degree(v));
        let mut degrees: Vec<u32> = vertices.iter().map(degree).collect();
        degrees.sort_unstable();
        let mut buckets = Vec::new();
        for degree in &degrees {
            let bucket = (u32::BITS - degree.leading_zeros()) as usize;
            if bucket >= buckets.len() {
                buckets.resize(bucket + 1, 0);
            }
            buckets[bucket] += 1;
        }
        let at = |share: f64| {
            let last = degrees.len().saturating_sub(1);
            degrees.get((last as f64 * share).round() as usize).copied().unwrap_or(0)
        };
        Self { min: at(0.0), median: at(0.5), p99: at(0.99), max: at(1.0), buckets }
    }

    /// Smallest and largest degree of a bucket.
    fn range(bucket: usize) -> (u64, u64) {
        match bucket {
            0 => (0, 0),
            b => (1 << (b - 1), (1 << b) - 1),
        }
    }

    pub(super) fn json(&self) -> Value {
        let bucket = |(bucket, vertices): (usize, &u64)| {
            let (from, to) = Self::range(bucket);
            json!({ "from": from, "to": to, "vertices": vertices })
        };
        let histogram: Vec<Value> = self.buckets.iter().enumerate().map(bucket).collect();
        json!({
            "min": self.min,
            "median": self.median,
            "p99": self.p99,
            "max": self.max,
            "histogram": histogram,
        })
    }

    pub(super) fn print(&self, screen: Screen, name: &str) -> std::io::Result<()> {
        let Self { min, median, p99, max, buckets } = self;
        let [min, median, p99, max] = [min, median, p99, max].map(|n| number::count((*n).into()));
        screen
            .line(format!("  {name} degree: min {min}, median {median}, p99 {p99}, max {max}"))?;
        let most = buckets.iter().copied().max().unwrap_or(0).max(1);
        let block = if screen.is_terminal() { "█" } else { "#" };
        for (bucket, vertices) in buckets.iter().enumerate() {
            let (from, to) = Self::range(bucket);
            let range = match from == to {
                true => number::count(from),
                false => format!("{}-{}", number::count(from), number::count(to)),
            };
            // Any vertex at all shows.
            let bar = block.repeat((vertices * BAR_CHARS_MAX).div_ceil(most) as usize);
            screen.line(format!("  {range:>21} {:>12}  {bar}", number::count(*vertices)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use telar_generate::csr::Csr;

    #[test]
    fn degrees_are_counted_in_powers_of_two() {
        let edges: Vec<(u32, u32)> = (0..5).map(|v| (0, v)).chain([(1, 0), (2, 0)]).collect();
        let out = Csr::<u32>::outgoing(6, &edges);
        let vertices: Vec<VertexId> = (0..6).map(VertexId::from_raw).collect();
        let degrees = Degrees::of(&out, &vertices);
        assert_eq!((degrees.min, degrees.p99, degrees.max), (0, 5, 5));
        assert_eq!(degrees.buckets, [3, 2, 0, 1]);
        assert_eq!(degrees.json()["histogram"][3], json!({ "from": 4, "to": 7, "vertices": 1 }));
    }

    #[test]
    fn no_vertices_have_no_degrees() {
        let degrees = Degrees::of(&Csr::<u32>::outgoing(0, &[]), &[]);
        assert_eq!((degrees.max, degrees.buckets.len()), (0, 0));
    }
}
