//! Latency histogram with logarithmic buckets.
//!
//! ```text
//!  value   0..64 exact │ 64..128 in 32 steps of 2 │ 128..256 in 32 steps of 4 │ ...
//! ```
//!
//! Every bucket above 64 is 1/32 of its octave wide, so a percentile is at most 3.2 % too high.
//! Cost: 15 KiB, and a few instructions per value.

/// Binary logarithm of the buckets per octave.
const STEP_BITS: u32 = 5;
/// Buckets for all 64-bit values.
const BUCKETS: usize = (64 - STEP_BITS as usize + 1) << STEP_BITS;

/// Counts of values, usually nanoseconds.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: u128,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, sum: 0, max: 0 }
    }
}

/// The percentiles that tables print.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Percentiles {
    /// Half of the values are at most this.
    pub p50: u64,
    /// 95 % of the values are at most this.
    pub p95: u64,
    /// 99 % of the values are at most this.
    pub p99: u64,
    /// The largest value, exact.
    pub max: u64,
    /// The arithmetic mean, exact.
    pub mean: f64,
    /// How many values.
    pub count: u64,
}

fn bucket(value: u64) -> usize {
    let octave = value.checked_ilog2().unwrap_or(0).saturating_sub(STEP_BITS);
    ((octave as usize) << STEP_BITS) + (value >> octave) as usize
}

/// Returns the largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let octave = (bucket >> STEP_BITS).saturating_sub(1) as u32;
    let step = (bucket - ((octave as usize) << STEP_BITS)) as u64;
    (step << octave) + ((1 << octave) - 1)
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Returns a value that `share` (0 to 1) of all values do not exceed; 0 without values.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = ((share * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper(bucket).min(self.max);
            }
        }
        self.max
    }

    /// Returns what tables print.
    pub fn percentiles(&self) -> Percentiles {
        Percentiles {
            p50: self.quantile(0.50),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            max: self.max,
            mean: self.sum as f64 / self.total.max(1) as f64,
            count: self.total,
        }
    }

    /// Returns `(value, share of values up to it)` for each bucket in use: a cumulative
    /// distribution.
    pub fn cumulative(&self) -> Vec<(u64, f64)> {
        let mut seen = 0;
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(bucket, count)| {
            seen += count;
            (upper(bucket).min(self.max), seen as f64 / self.total as f64)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use telar_generate::rng::Rng;

    use super::*;

    #[test]
    fn buckets_ascend_without_gaps() {
        for number in 0..BUCKETS - 1 {
            assert_eq!(bucket(upper(number)), number);
            assert_eq!(bucket(upper(number) + 1), number + 1);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(upper(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn percentiles_are_close_to_the_sorted_values() {
        let mut rng = Rng::new(5);
        let mut values: Vec<u64> =
            (0..20_000).map(|_| rng.below(1 << 20) * rng.below(50)).collect();
        let (mut left, mut right) = (Histogram::default(), Histogram::default());
        for (i, &value) in values.iter().enumerate() {
            if i % 3 == 0 { left.record(value) } else { right.record(value) }
        }
        left.merge(&right);
        values.sort_unstable();
        for share in [0.01, 0.5, 0.95, 0.99, 1.0] {
            let exact = values[(share * 20_000.0) as usize - 1];
            let found = left.quantile(share);
            assert!(found >= exact && found as f64 <= exact as f64 * 1.033, "{found} for {exact}");
        }
        let percentiles = left.percentiles();
        assert_eq!((percentiles.max, percentiles.count), (values[19_999], 20_000));
        assert_eq!(left.cumulative().last(), Some(&(values[19_999], 1.0)));
    }

    #[test]
    fn empty_histogram_answers_zero() {
        let empty = Histogram::default();
        assert_eq!((empty.quantile(0.5), empty.count()), (0, 0));
        assert!(empty.cumulative().is_empty());
    }
}
