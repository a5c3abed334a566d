//! A model of the caches of one core, fed with the addresses that PageRank reads.
//!
//! ```text
//!  line of 64 bytes ─► L1 ─miss─► L2 ─miss─► L3 ─miss─► memory
//!  page of 4 KiB    ─► first TLB ─miss─► second TLB ─miss─► page walk
//! ```
//!
//! Every level is set-associative with replacement of the least recently used entry. Nothing is
//! prefetched, no other core interferes, and arrays have no huge pages: so the counts are those of
//! the access pattern alone, the same on every machine, and those of cachegrind where it has the
//! level.

use telar_algo::csr::Csr;

/// Logarithm of the bytes of a line.
const LINE_SHIFT: u32 = 6;
/// Logarithm of the bytes of a page.
const PAGE_SHIFT: u32 = 12;

/// One level: entries by set, the most recently used first.
struct Level {
    ways: usize,
    sets: usize,
    tags: Vec<u64>,
    misses: u64,
}

impl Level {
    fn new(entries: usize, ways: usize) -> Self {
        Self { ways, sets: entries / ways, tags: vec![u64::MAX; entries], misses: 0 }
    }

    /// True if `tag` is there; it is afterwards in any case.
    #[inline]
    fn touch(&mut self, tag: u64) -> bool {
        let first = tag as usize % self.sets * self.ways;
        let set = &mut self.tags[first..first + self.ways];
        let found = set.iter().position(|known| *known == tag);
        self.misses += u64::from(found.is_none());
        set[..=found.unwrap_or(self.ways - 1)].rotate_right(1);
        set[0] = tag;
        found.is_some()
    }
}

/// Misses of one iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Misses {
    /// Misses of the cache of 32 KiB with 8 ways.
    pub l1: u64,
    /// Misses of the cache of 512 KiB with 8 ways.
    pub l2: u64,
    /// Misses of the cache of 32 MiB with 16 ways.
    pub l3: u64,
    /// Misses of the first TLB: 64 entries, fully associative.
    pub tlb1: u64,
    /// Misses of the second TLB: 2048 entries with 16 ways.
    pub tlb2: u64,
}

/// Caches and TLBs of one core of AMD's Zen 3.
struct Core {
    caches: [Level; 3],
    tlbs: [Level; 2],
    line: u64,
    page: u64,
}

impl Core {
    fn new() -> Self {
        Self {
            caches: [Level::new(512, 8), Level::new(8192, 8), Level::new(1 << 19, 16)],
            tlbs: [Level::new(64, 64), Level::new(2048, 16)],
            line: u64::MAX,
            page: u64::MAX,
        }
    }

    #[inline]
    fn read(&mut self, address: u64) {
        let page = address >> PAGE_SHIFT;
        if page != self.page {
            self.page = page;
            let _ = self.tlbs.iter_mut().any(|level| level.touch(page));
        }
        let line = address >> LINE_SHIFT;
        if line != self.line {
            self.line = line;
            let _ = self.caches.iter_mut().any(|level| level.touch(line));
        }
    }

    fn misses(&self) -> Misses {
        let [l1, l2, l3] = self.caches.each_ref().map(|level| level.misses);
        let [tlb1, tlb2] = self.tlbs.each_ref().map(|level| level.misses);
        Misses { l1, l2, l3, tlb1, tlb2 }
    }
}

/// Where arrays begin: far from each other.
const OFFSETS: u64 = 1 << 40;
const NEIGHBOURS: u64 = 2 << 40;
const CONTRIBUTIONS: u64 = 3 << 40;
const SCORES: u64 = 4 << 40;
const DEGREES: u64 = 5 << 40;
const PLACES: u64 = 6 << 40;

/// Misses of one iteration of PageRank on the lists of in-neighbours, after one that fills the
/// caches. With `places`, each neighbour is looked up there before its contribution is read.
pub(super) fn misses(incoming: &Csr, places: Option<&[u32]>) -> Misses {
    let mut core = Core::new();
    iteration(&mut core, incoming, places);
    let before = core.misses();
    iteration(&mut core, incoming, places);
    let after = core.misses();
    Misses {
        l1: after.l1 - before.l1,
        l2: after.l2 - before.l2,
        l3: after.l3 - before.l3,
        tlb1: after.tlb1 - before.tlb1,
        tlb2: after.tlb2 - before.tlb2,
    }
}

fn iteration(core: &mut Core, incoming: &Csr, places: Option<&[u32]>) {
    let n = incoming.vertices();
    for v in 0..u64::from(n) {
        core.read(SCORES + 8 * v);
        core.read(DEGREES + 4 * v);
        core.read(CONTRIBUTIONS + 8 * v);
    }
    for v in 0..n {
        core.read(OFFSETS + 8 * u64::from(v));
        for (at, &u) in (incoming.first_edge(v)..).zip(incoming.of(v)) {
            core.read(NEIGHBOURS + 4 * at);
            let place = match places {
                None => u,
                Some(places) => {
                    core.read(PLACES + 4 * u64::from(u));
                    places[u as usize]
                }
            };
            core.read(CONTRIBUTIONS + 8 * u64::from(place));
        }
        core.read(SCORES + 8 * u64::from(v));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_replace_the_least_recently_used() {
        let mut level = Level::new(4, 2);
        let hits = [0, 2, 0, 4, 2, 0, 1].map(|tag| level.touch(tag));
        assert_eq!(hits, [false, false, true, false, false, false, false]);
        assert_eq!(level.misses, 6);
    }

    #[test]
    fn a_small_graph_stays_in_the_caches_and_a_large_random_one_does_not() {
        let ring: Vec<_> = (0..100).map(|v| (v, (v + 1) % 100)).collect();
        assert_eq!(misses(&Csr::from_edges(100, &ring), None), Misses::default());
        let n = 1 << 17;
        let places = telar_generate::edges::permutation(n, 7);
        let near: Vec<_> = (0..n).map(|v| (v, (v + 1) % n)).collect();
        let far: Vec<_> =
            near.iter().map(|&(u, v)| (places[u as usize], places[v as usize])).collect();
        let (near, far) = (Csr::from_edges(n, &near), Csr::from_edges(n, &far));
        let (a, b) = (misses(&near, None), misses(&far, None));
        assert!(b.l2 > a.l2 + u64::from(n) / 3 && b.tlb1 > 10 * a.tlb1, "{a:?} {b:?}");
        assert!(misses(&near, Some(&places)).l1 > a.l1 + u64::from(n) / 2);
    }
}
