//! Skewed reads: four fifths of them go to a fifth of the vertices.

use telar_generate::rng::Rng;

/// Share of the reads that go to hot vertices, in per cent.
const HOT_READS_PERCENT: u64 = 80;
/// One block in this many is hot.
const HOT_BLOCKS: u64 = 5;

/// An endless stream of vertices to read, seeded.
///
/// Vertices are hot in blocks of neighbouring numbers, which are spread over the whole graph: with
/// blocks of one vertex no two hot vertices need lie close to each other, and a store that keeps
/// pages or segments in memory keeps mostly cold ones with them; with blocks as large as its pages
/// it can keep just what is hot. Takes no memory, whatever the size of the graph.
#[derive(Clone, Debug)]
pub struct Skew {
    vertices: u32,
    block: u32,
    blocks: u64,
    hot: u64,
    /// Block number `i` of the hot-to-cold order is `(i * step + shift) % blocks`.
    step: u64,
    shift: u64,
    rng: Rng,
}

impl Skew {
    /// Returns the stream over vertices below `vertices`, hot in blocks of `block`.
    ///
    /// # Panics
    /// If either number is 0.
    pub fn new(vertices: u32, block: u32, seed: u64) -> Self {
        assert!(vertices > 0 && block > 0, "nothing to read");
        let mut rng = Rng::new(seed);
        let blocks = u64::from(vertices.div_ceil(block));
        let mut step = rng.below(blocks) | 1;
        while common_divisor(step, blocks) != 1 {
            step += 1;
        }
        let shift = rng.below(blocks);
        Self { vertices, block, blocks, hot: blocks.div_ceil(HOT_BLOCKS), step, shift, rng }
    }

    fn block_at(&self, position: u64) -> u64 {
        // Both factors have at most 32 bits: nothing overflows.
        (position * self.step + self.shift) % self.blocks
    }
}

impl Iterator for Skew {
    type Item = u32;

    /// Never `None`.
    fn next(&mut self) -> Option<u32> {
        loop {
            let cold = self.blocks - self.hot;
            let position = if cold == 0 || self.rng.percent(HOT_READS_PERCENT) {
                self.rng.below(self.hot)
            } else {
                self.hot + self.rng.below(cold)
            };
            let first = self.block_at(position) * u64::from(self.block);
            let v = first + self.rng.below(self.block.into());
            // The last block may end behind the last vertex.
            if v < u64::from(self.vertices) {
                return Some(v as u32);
            }
        }
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_fifth_of_the_blocks_gets_four_fifths_of_the_reads() {
        for (vertices, block) in [(1000, 1), (1000, 8), (1001, 10), (1024, 64)] {
            let skew = Skew::new(vertices, block, 7);
            let hot: BTreeSet<u64> = (0..skew.hot).map(|at| skew.block_at(at)).collect();
            assert_eq!(hot.len() as u32, vertices.div_ceil(block).div_ceil(5));
            let reads = 100_000;
            let is_hot = |v: &u32| hot.contains(&u64::from(v / block));
            let hits = skew.clone().take(reads).filter(is_hot).count();
            assert!((78_000..82_000).contains(&hits), "{hits} of {reads}");
            let all: BTreeSet<u32> = skew.take(reads).collect();
            assert_eq!(all.len() as u32, vertices, "every vertex is read now and then");
        }
    }

    #[test]
    fn small_graphs_and_equal_seeds() {
        for vertices in 1..12 {
            for block in [1, 3, 100] {
                assert!(Skew::new(vertices, block, 3).take(200).all(|v| v < vertices));
            }
        }
        let some = |seed| Skew::new(500, 1, seed).take(50).collect::<Vec<_>>();
        assert_eq!(some(1), some(1));
        assert_ne!(some(1), some(2));
    }
}
