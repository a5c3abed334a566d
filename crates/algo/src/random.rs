//! Pseudo-random numbers that are the same on every machine and for any number of threads: a kernel
//! gives each vertex, or each sample, a stream of its own.
//!
//! Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014
//! (SplitMix64).

/// A stream of numbers, determined by its seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of this number among those of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0. Its bias is below 2^-32.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// A number in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[test]
fn numbers_are_below_their_bound_and_streams_differ() {
    let mut counts = [0; 5];
    let mut random = Random::new(1, 0);
    (0..5000).for_each(|_| counts[random.below(5) as usize] += 1);
    assert!(counts.iter().all(|&count| (800..1200).contains(&count)), "{counts:?}");
    assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
    assert_ne!(Random::new(1, 1).next(), Random::new(1, 2).next());
}
