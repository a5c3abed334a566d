//! Random and nearly valid bytes, the same in every run: what `cargo test` feeds the entry points.

/// xorshift.
pub(crate) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn bytes(&mut self, max: usize) -> Vec<u8> {
        let len = self.below(max + 1);
        // Small numbers are lengths and tags: as frequent as any byte.
        (0..len).map(|_| (self.next() >> if self.0 & 1 == 0 { 8 } else { 61 }) as u8).collect()
    }

    /// `valid` with a few bytes changed, cut, doubled or put in.
    fn mutated(&mut self, valid: &[u8]) -> Vec<u8> {
        let mut bytes = valid.to_vec();
        for _ in 0..self.below(4) {
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, self.next() as u8),
                2 => bytes.extend_from_within(at..),
                3 if at < bytes.len() => drop(bytes.remove(at)),
                _ if at < bytes.len() => bytes[at] = self.next() as u8,
                _ => {}
            }
        }
        bytes
    }
}

/// Feeds `f` with `count` random inputs of up to `max` bytes and as many made of `valid` ones;
/// fifty times as many with `TELAR_LONG`.
pub(crate) fn run(seed: u64, count: usize, max: usize, valid: &[Vec<u8>], f: fn(&[u8])) {
    let mut random = Random(seed);
    let times = if std::env::var_os("TELAR_LONG").is_some() { 50 } else { 1 };
    for _ in 0..times * count {
        f(&random.bytes(max));
        if !valid.is_empty() {
            let pick = random.below(valid.len());
            f(&random.mutated(&valid[pick]));
        }
    }
    valid.iter().for_each(|v| f(v));
}
