//! Ids in the file to dense vertex numbers.
//!
//! Numbers keep their order, texts are numbered in order of first appearance; neither depends on
//! how the text was cut into pieces. Numeric ids take one of three ways, by what they look like:
//!
//! | Ids | Way | Cost per endpoint |
//! |---|---|---|
//! | 0..n without gaps | kept | one bit set, to find out |
//! | largest below 64 x edges | bitmap with ranks | one popcount |
//! | sparse | sorted list of the distinct ids | one binary search |

use std::borrow::Cow;
use std::collections::HashMap;

use super::edge_list::OriginalIds;
use super::options::Numbering;
use super::parallel::for_each;

/// More distinct vertices than 32 bits can number.
#[derive(Debug)]
pub(super) struct TooManyVertices;

/// Edges over dense numbers.
pub(super) struct Numbered {
    pub(super) edges: Vec<(u32, u32)>,
    pub(super) vertex_count: u32,
    pub(super) original_ids: Option<OriginalIds>,
}

/// Numeric endpoints of one piece of text; 64 bits wide only once an id needs it.
#[derive(Debug)]
pub(super) enum NumberPairs {
    Narrow(Vec<(u32, u32)>),
    Wide(Vec<(u64, u64)>),
}

impl Default for NumberPairs {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl NumberPairs {
    pub(super) fn push(&mut self, from: u64, to: u64) {
        match self {
            Self::Narrow(edges) => match (u32::try_from(from), u32::try_from(to)) {
                (Ok(from), Ok(to)) => edges.push((from, to)),
                _ => {
                    let widened = edges.iter().map(|&(a, b)| (u64::from(a), u64::from(b)));
                    *self = Self::Wide(widened.chain([(from, to)]).collect());
                }
            },
            Self::Wide(edges) => edges.push((from, to)),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Narrow(edges) => edges.len(),
            Self::Wide(edges) => edges.len(),
        }
    }

    fn for_each(&self, mut f: impl FnMut(u64, u64)) {
        match self {
            Self::Narrow(edges) => edges.iter().for_each(|&(a, b)| f(a.into(), b.into())),
            Self::Wide(edges) => edges.iter().for_each(|&(a, b)| f(a, b)),
        }
    }
}

/// Endpoints of one piece of text as indexes into its distinct `texts`.
#[derive(Debug, Default)]
pub(super) struct TextPairs<'a> {
    pub(super) edges: Vec<(u32, u32)>,
    pub(super) texts: Vec<Cow<'a, str>>,
}

/// Ids per bit of the bitmap: with at most 64 ids per edge it takes at most 8 bytes per edge, as
/// much as the edges themselves. The floor lets small files take the cheap way too.
const BITMAP_IDS_PER_EDGE: usize = 64;
const BITMAP_IDS_MIN: usize = 1 << 16;

/// Numbers the endpoints of all pieces.
pub(super) fn from_numbers(
    parts: Vec<NumberPairs>,
    numbering: Numbering,
    threads: usize,
) -> Result<Numbered, TooManyVertices> {
    let edge_count: usize = parts.iter().map(NumberPairs::len).sum();
    if edge_count == 0 {
        return Ok(Numbered { edges: Vec::new(), vertex_count: 0, original_ids: None });
    }
    let mut id_max = 0;
    for part in &parts {
        part.for_each(|from, to| id_max = id_max.max(from).max(to));
    }
    if numbering == Numbering::Keep {
        let vertex_count = vertex_count(id_max.saturating_add(1))?;
        let edges = renumber(parts, threads, |id| id as u32);
        return Ok(Numbered { edges, vertex_count, original_ids: None });
    }
    let bitmap_ids = edge_count.saturating_mul(BITMAP_IDS_PER_EDGE).max(BITMAP_IDS_MIN);
    if id_max < bitmap_ids as u64 {
        let ranks = Ranks::new(&parts, id_max);
        let vertex_count = vertex_count(ranks.count)?;
        if ranks.count == id_max + 1 {
            let edges = renumber(parts, threads, |id| id as u32);
            return Ok(Numbered { edges, vertex_count, original_ids: None });
        }
        let edges = renumber(parts, threads, |id| ranks.rank(id));
        let original_ids = Some(OriginalIds::Numbers(ranks.ids()));
        return Ok(Numbered { edges, vertex_count, original_ids });
    }
    let distinct = distinct(&parts, threads);
    let vertex_count = vertex_count(distinct.len() as u64)?;
    // Every id is in the list it was collected into; either arm holds its place.
    let place = |id: u64| distinct.binary_search(&id).unwrap_or_else(|place| place) as u32;
    let edges = renumber(parts, threads, place);
    Ok(Numbered { edges, vertex_count, original_ids: Some(OriginalIds::Numbers(distinct)) })
}

/// Numbers the endpoints of all pieces.
pub(super) fn from_texts(
    parts: Vec<TextPairs<'_>>,
    threads: usize,
) -> Result<Numbered, TooManyVertices> {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut originals: Vec<Box<str>> = Vec::new();
    let mut maps: Vec<Vec<u32>> = Vec::with_capacity(parts.len());
    // In the order of the text, so the first appearance in a piece is the first of all if no
    // earlier piece has the text.
    for part in &parts {
        let mut map = Vec::with_capacity(part.texts.len());
        for text in &part.texts {
            let next = u32::try_from(originals.len()).map_err(|_| TooManyVertices)?;
            let number = *numbers.entry(text).or_insert(next);
            if number == next {
                originals.push(text.as_ref().into());
            }
            map.push(number);
        }
        maps.push(map);
    }
    let vertex_count = vertex_count(originals.len() as u64)?;
    let edge_count = parts.iter().map(|part| part.edges.len()).sum();
    let mut edges = vec![(0, 0); edge_count];
    let mut rest = edges.as_mut_slice();
    let mut jobs = Vec::with_capacity(parts.len());
    for (part, map) in parts.iter().zip(&maps) {
        let (target, tail) = rest.split_at_mut(part.edges.len());
        rest = tail;
        jobs.push((target, part, map));
    }
    for_each(jobs, threads, |(target, part, map)| {
        for (edge, &(from, to)) in target.iter_mut().zip(&part.edges) {
            *edge = (map[from as usize], map[to as usize]);
        }
    });
    Ok(Numbered { edges, vertex_count, original_ids: Some(OriginalIds::Texts(originals)) })
}

fn vertex_count(count: u64) -> Result<u32, TooManyVertices> {
    u32::try_from(count).map_err(|_| TooManyVertices)
}

/// All edges in one list, each endpoint passed through `number`.
fn renumber(
    parts: Vec<NumberPairs>,
    threads: usize,
    number: impl Fn(u64) -> u32 + Sync,
) -> Vec<(u32, u32)> {
    let mut edges = vec![(0, 0); parts.iter().map(NumberPairs::len).sum()];
    let mut rest = edges.as_mut_slice();
    let mut jobs = Vec::with_capacity(parts.len());
    for part in parts {
        let (target, tail) = rest.split_at_mut(part.len());
        rest = tail;
        jobs.push((target, part));
    }
    for_each(jobs, threads, |(target, part)| {
        let mut target = target.iter_mut();
        part.for_each(|from, to| {
            if let Some(edge) = target.next() {
                *edge = (number(from), number(to));
            }
        });
    });
    edges
}

/// The distinct ids, ascending.
fn distinct(parts: &[NumberPairs], threads: usize) -> Vec<u64> {
    let mut lists: Vec<Vec<u64>> = parts.iter().map(|_| Vec::new()).collect();
    for_each(lists.iter_mut().zip(parts).collect(), threads, |(list, part)| {
        part.for_each(|from, to| list.extend([from, to]));
        list.sort_unstable();
        list.dedup();
    });
    let mut ids = lists.concat();
    // Stable on purpose: it finds the sorted runs and merges them.
    ids.sort();
    ids.dedup();
    ids
}

/// A set of ids that answers how many of its members are smaller than a given one.
struct Ranks {
    /// One bit per id.
    words: Vec<u64>,
    /// Members in all words before this one.
    before: Vec<u64>,
    count: u64,
}

impl Ranks {
    fn new(parts: &[NumberPairs], id_max: u64) -> Self {
        let mut words = vec![0_u64; (id_max / 64) as usize + 1];
        for part in parts {
            part.for_each(|from, to| {
                words[(from / 64) as usize] |= 1 << (from % 64);
                words[(to / 64) as usize] |= 1 << (to % 64);
            });
        }
        let mut count = 0;
        let before = words
            .iter()
            .map(|word| {
                let before = count;
                count += u64::from(word.count_ones());
                before
            })
            .collect();
        Self { words, before, count }
    }

    /// Members smaller than `id`, which is at most the `id_max` the set was made with.
    fn rank(&self, id: u64) -> u32 {
        let (index, bit) = ((id / 64) as usize, id % 64);
        let below = self.words[index] & ((1 << bit) - 1);
        // INVARIANT: fits, because `count` was checked to and a rank is smaller.
        (self.before[index] + u64::from(below.count_ones())) as u32
    }

    /// The members, ascending.
    fn ids(&self) -> Vec<u64> {
        let mut ids = Vec::with_capacity(self.count as usize);
        for (index, &word) in self.words.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                ids.push(index as u64 * 64 + u64::from(word.trailing_zeros()));
                word &= word - 1;
            }
        }
        ids
    }
}
