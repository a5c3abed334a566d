//! Seeded random numbers: xoshiro256++, seeded by SplitMix64.
//!
//! The same seed gives the same numbers on every machine and in every version of Telar; generators
//! and workloads draw from nothing else.
//!
//! Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", TOMS 2021;
//! bounded numbers after Lemire, "Fast random integer generation in an interval", TOMACS 2019.

/// A stream of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// Returns the stream of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut split = seed;
        Self { state: std::array::from_fn(|_| split_mix(&mut split)) }
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns a number below `bound`, every one equally likely but for a bias below 2^-32.
    ///
    /// # Panics
    /// If `bound` is 0 or above 2^32.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0 && bound <= 1 << 32, "bound {bound} outside 1..=2^32");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns an index into something of length `len`.
    ///
    /// # Panics
    /// If `len` is 0 or above 2^32.
    #[inline]
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns a number in (0, 1], exact in binary and so alike on every machine.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Returns `true` in `percent` of 100 calls.
    #[inline]
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.index(end + 1));
        }
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_the_published_sequence() {
        let mut state = 1_234_567;
        assert_eq!(split_mix(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(split_mix(&mut state), 3_203_168_211_198_807_973);
    }

    #[test]
    fn xoshiro_gives_the_reference_sequence() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let drawn: Vec<u64> = (0..4).map(|_| rng.bits()).collect();
        assert_eq!(drawn, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn bounded_numbers_stay_below_and_reach_everything() {
        let mut rng = Rng::new(1);
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[rng.index(7)] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
        assert!((0..1000).all(|_| (0.0..=1.0).contains(&rng.unit())));
    }

    #[test]
    fn shuffle_keeps_everything() {
        let mut items: Vec<u32> = (0..1000).collect();
        Rng::new(2).shuffle(&mut items);
        assert!(items.windows(2).any(|pair| pair[0] > pair[1]));
        items.sort_unstable();
        assert!(items.into_iter().eq(0..1000));
    }
}
