//! From sorted lists to bases: out lists as they come, in lists by turning the out lists around.

use crate::adjacency::base::{Base, OFFSET_WORDS};
use crate::adjacency::{SEGMENT_VERTICES, local_of, segment_of};

/// Bases by segment number, ascending.
pub(super) type Bases = Vec<(u32, Base)>;

/// Edges of a load that get ordinals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbering {
    /// An edge is kept once per pair, and has no ordinal.
    Simple,
    /// All: their properties stand in that order.
    All,
    /// Parallel ones but the first, and those between two vertices below this, which may have
    /// edges already.
    Parallel { new_vertices: u32 },
}

/// Builds the bases of one direction from lists given in ascending order of their vertices.
#[derive(Debug)]
pub(super) struct OutLists {
    numbering: Numbering,
    /// Ordinal of the next edge that gets one.
    next: u32,
    bases: Bases,
    number: u32,
    offsets: Vec<u32>,
    nbrs: Vec<u32>,
    /// Beside the neighbours, unless the type is simple.
    ordinals: Vec<u32>,
    pub(super) duplicates: u64,
}

impl OutLists {
    pub(super) fn new(numbering: Numbering, first_ordinal: u32) -> Self {
        Self {
            numbering,
            next: first_ordinal,
            bases: Vec::new(),
            number: 0,
            offsets: vec![0],
            nbrs: Vec::new(),
            ordinals: Vec::new(),
            duplicates: 0,
        }
    }

    /// Adds the sorted list of `vertex`, or more of it.
    pub(super) fn push(&mut self, vertex: u32, list: impl Iterator<Item = u32>) {
        if segment_of(vertex) != self.number {
            self.end_segment(segment_of(vertex));
        }
        let filled = self.nbrs.len() as u32;
        self.offsets.resize(local_of(vertex) as usize + 1, filled);
        let start = self.offsets.last().map_or(0, |o| *o as usize);
        for nbr in list {
            let is_parallel = self.nbrs.len() > start && self.nbrs.last() == Some(&nbr);
            let is_numbered = match self.numbering {
                Numbering::Simple if is_parallel => {
                    self.duplicates += 1;
                    continue;
                }
                Numbering::Simple => false,
                Numbering::All => true,
                Numbering::Parallel { new_vertices } => {
                    is_parallel || vertex.max(nbr) < new_vertices
                }
            };
            self.nbrs.push(nbr);
            if self.numbering != Numbering::Simple {
                self.ordinals.push(if is_numbered { self.next } else { 0 });
                self.next += u32::from(is_numbered);
            }
        }
    }

    fn end_segment(&mut self, next: u32) {
        if !self.nbrs.is_empty() {
            let mut words = std::mem::take(&mut self.offsets);
            words.resize(OFFSET_WORDS, self.nbrs.len() as u32);
            words.reserve_exact(self.nbrs.len() + self.ordinals.len());
            words.append(&mut self.nbrs);
            words.append(&mut self.ordinals);
            let simple = self.numbering == Numbering::Simple;
            self.bases.push((self.number, base(&words, simple)));
        }
        self.number = next;
        self.offsets.clear();
        self.offsets.push(0);
    }

    /// The bases, the ordinal after the last, and how many edges were there more than once.
    pub(super) fn finish(mut self) -> (Bases, u32, u64) {
        self.end_segment(0);
        (self.bases, self.next, self.duplicates)
    }
}

fn base(words: &[u32], simple: bool) -> Base {
    Base::from_words(words, usize::from(!simple)).expect("INVARIANT: built with its own offsets")
}

/// The in lists of these out lists.
///
/// Counts the edges of each destination, then puts every edge in its place. Sources come in
/// ascending order, so every list comes out sorted.
pub(super) fn turned(out: &Bases, simple: bool) -> Bases {
    let bound = out.iter().flat_map(|(_, b)| b.neighbours()).max().map_or(0, |v| *v as usize + 1);
    let mut places = vec![0u32; bound];
    for (_, base) in out {
        base.neighbours().iter().for_each(|v| places[*v as usize] += 1);
    }
    // Counts become places within the segment.
    let mut sizes = Vec::with_capacity(bound.div_ceil(SEGMENT_VERTICES));
    for counts in places.chunks_mut(SEGMENT_VERTICES) {
        let mut sum = 0;
        for count in counts {
            sum += std::mem::replace(count, sum);
        }
        sizes.push(sum as usize);
    }
    let columns = usize::from(!simple);
    let words_of = |size: &usize| match size {
        0 => Vec::new(),
        n => vec![0u32; OFFSET_WORDS + n * (1 + columns)],
    };
    let mut segments: Vec<Vec<u32>> = sizes.iter().map(words_of).collect();
    for (segment, offsets) in segments.iter_mut().zip(places.chunks(SEGMENT_VERTICES)) {
        if let Some((head, _)) = segment.split_at_mut_checked(OFFSET_WORDS) {
            head[..offsets.len()].copy_from_slice(offsets);
        }
    }
    for (number, base) in out {
        let ordinals = base.ordinals();
        for local in 0..SEGMENT_VERTICES {
            let src = number * SEGMENT_VERTICES as u32 + local as u32;
            for at in base.range(local) {
                let dst = base.neighbours()[at];
                let segment = &mut segments[segment_of(dst) as usize];
                let place = OFFSET_WORDS + places[dst as usize] as usize;
                places[dst as usize] += 1;
                segment[place] = src;
                if !simple {
                    segment[place + sizes[segment_of(dst) as usize]] = ordinals.get(at);
                }
            }
        }
    }
    let filled = segments.into_iter().zip(sizes).enumerate().filter(|(_, (_, size))| *size > 0);
    let base = |(number, (mut words, size)): (usize, (Vec<u32>, usize))| {
        let known = (bound - number * SEGMENT_VERTICES).min(SEGMENT_VERTICES);
        words[known..OFFSET_WORDS].fill(size as u32);
        (number as u32, base(&words, simple))
    };
    filled.map(base).collect()
}
