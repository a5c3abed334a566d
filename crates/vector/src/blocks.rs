//! Slots in blocks, which are filled before anybody sees them.
//!
//! ```text
//!  directory ─► 1024 pages ─► 1024 blocks ─► 64 slots
//!
//!  block   records   64 records (record.rs)
//!          keys      64 u64
//!          counts    64 u32: links in force
//!          links     64 x room u32: slots
//! ```
//!
//! Invariants
//! 1. Records and keys of a block never change once it is in the directory.
//! 2. A link names a slot whose block is in the directory. A reader may see some links of a slot
//!    from before a change and some from after it: each of them was right at some time, and a slot
//!    that it cannot see yet is passed over.
//! 3. Whoever changes links of a slot holds the block's lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::record::{Metric, encode, stride};
use crate::search::Scratch;
use crate::{Found, Shape, link, search};

/// Slots of a block: so many vectors are added at once.
pub const BLOCK_SLOTS: usize = 64;

const PAGES: usize = 1024;
const PAGE_BLOCKS: usize = 1024;

/// A block.
#[derive(Debug)]
pub(crate) struct Block {
    records: Box<[u8]>,
    keys: Box<[u64]>,
    counts: Box<[AtomicU32]>,
    links: Box<[AtomicU32]>,
    /// Held to change links.
    pub(crate) linking: Mutex<()>,
}

impl Block {
    fn bytes(&self) -> usize {
        self.records.len() + 8 * self.keys.len() + 4 * (self.counts.len() + self.links.len())
    }
}

type Page = Box<[OnceLock<Box<Block>>]>;

/// Vectors, each with links to some that are near.
#[derive(Debug)]
pub struct Neighbours {
    pub(crate) metric: Metric,
    dimensions: usize,
    pub(crate) shape: Shape,
    pages: Box<[OnceLock<Page>]>,
    /// Blocks whose slots all have their links, or nearly: some before the last may lack them.
    linked: AtomicU32,
    /// Number of blocks; held while one is added.
    blocks: Mutex<u32>,
}

/// A slot's block and its place in it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) block: &'a Block,
    at: usize,
    stride: usize,
    room: usize,
}

impl<'a> Place<'a> {
    pub(crate) fn record(self) -> &'a [u8] {
        &self.block.records[self.at * self.stride..][..self.stride]
    }

    pub(crate) fn key(self) -> u64 {
        self.block.keys[self.at]
    }

    /// The links in force.
    #[inline]
    pub(crate) fn links(self) -> impl Iterator<Item = u32> + 'a {
        // ORDERING: acquire pairs with the release in `set_count`: that many were written.
        let count = self.block.counts[self.at].load(Ordering::Acquire) as usize;
        let links = &self.block.links[self.at * self.room..][..count.min(self.room)];
        links.iter().map(|link| link.load(Ordering::Relaxed))
    }

    fn set_count(self, count: usize) {
        self.block.counts[self.at].store(count as u32, Ordering::Release);
    }

    /// Replaces the links. The caller holds the block's lock.
    pub(crate) fn set_links(self, links: &[u32]) {
        let room = &self.block.links[self.at * self.room..][..self.room];
        room.iter().zip(links).for_each(|(to, link)| to.store(*link, Ordering::Relaxed));
        self.set_count(links.len().min(self.room));
    }

    /// Adds a link if there is room. The caller holds the block's lock.
    pub(crate) fn push_link(self, link: u32) -> bool {
        let count = self.block.counts[self.at].load(Ordering::Relaxed) as usize;
        if count == self.room {
            return false;
        }
        self.block.links[self.at * self.room + count].store(link, Ordering::Relaxed);
        self.set_count(count + 1);
        true
    }
}

impl Neighbours {
    /// Without vectors.
    #[must_use]
    pub fn new(metric: Metric, dimensions: usize, shape: Shape) -> Self {
        Self {
            metric,
            dimensions,
            shape,
            pages: (0..PAGES).map(|_| OnceLock::new()).collect(),
            linked: AtomicU32::new(0),
            blocks: Mutex::new(0),
        }
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        *self.blocks.lock() as usize * BLOCK_SLOTS
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers of a vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Heap bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let blocks = *self.blocks.lock() as usize;
        let first = self.place(0).map_or(0, |place| place.block.bytes());
        let page = size_of::<OnceLock<Box<Block>>>() * PAGE_BLOCKS;
        PAGES * size_of::<OnceLock<Page>>()
            + blocks * (first + size_of::<Block>())
            + blocks.div_ceil(PAGE_BLOCKS) * page
    }

    /// Room for links of a slot.
    fn room(&self) -> usize {
        (self.shape.degree + self.shape.degree / 2) as usize
    }

    /// The block of a slot, if it is there.
    #[inline]
    pub(crate) fn place(&self, slot: u32) -> Option<Place<'_>> {
        let (block, at) = (slot as usize / BLOCK_SLOTS, slot as usize % BLOCK_SLOTS);
        let page = self.pages.get(block / PAGE_BLOCKS)?.get()?;
        let block = page[block % PAGE_BLOCKS].get()?;
        Some(Place { block, at, stride: stride(self.dimensions), room: self.room() })
    }

    /// The first slot with links from `slot` on in its block; the very first slot if it is `slot`.
    pub(crate) fn first_linked(&self, slot: u32) -> Option<u32> {
        let block = self.place(slot)?.block;
        let from = slot as usize % BLOCK_SLOTS;
        let counts = block.counts[from..].iter();
        let ahead = counts.take_while(|count| count.load(Ordering::Relaxed) == 0).count();
        match slot {
            0 => Some(if ahead < BLOCK_SLOTS { ahead as u32 } else { 0 }),
            _ => (from + ahead < BLOCK_SLOTS).then_some(slot + ahead as u32),
        }
    }

    /// Number of slots that searches may begin at.
    pub(crate) fn linked(&self) -> u32 {
        self.linked.load(Ordering::Relaxed) * BLOCK_SLOTS as u32
    }

    /// Adds [`BLOCK_SLOTS`] vectors, each with its key. Every vector is admitted by the metric
    /// ([`Metric::admits`]). A vector that is there already, with the same key, gets no links, and
    /// is found by the one that has them.
    ///
    /// Returns false, and adds nothing, if there is no room: there can be 2^26 vectors.
    ///
    /// Cost: for each vector about as much as ten searches.
    ///
    /// # Panics
    /// If there is another number of vectors, or one has another number of numbers.
    pub fn add(&self, vectors: &[(u64, &[f32])], scratch: &mut Scratch) -> bool {
        assert_eq!(vectors.len(), BLOCK_SLOTS, "whole blocks are added");
        let stride = stride(self.dimensions);
        let mut records = vec![0; BLOCK_SLOTS * stride];
        for ((_, vector), record) in vectors.iter().zip(records.chunks_mut(stride)) {
            assert_eq!(vector.len(), self.dimensions, "all vectors have one length");
            encode(self.metric, vector, record);
        }
        let block = Block {
            records: records.into(),
            keys: vectors.iter().map(|(key, _)| *key).collect(),
            counts: (0..BLOCK_SLOTS).map(|_| AtomicU32::new(0)).collect(),
            links: (0..BLOCK_SLOTS * self.room()).map(|_| AtomicU32::new(0)).collect(),
            linking: Mutex::new(()),
        };
        let Some(number) = self.push(block) else { return false };
        let first = number * BLOCK_SLOTS as u32;
        (first..first + BLOCK_SLOTS as u32).for_each(|slot| link::add(self, slot, scratch));
        self.linked.fetch_max(number + 1, Ordering::Relaxed);
        true
    }

    fn push(&self, block: Block) -> Option<u32> {
        let mut blocks = self.blocks.lock();
        let number = *blocks as usize;
        let page = self.pages.get(number / PAGE_BLOCKS)?;
        let page = page.get_or_init(|| (0..PAGE_BLOCKS).map(|_| OnceLock::new()).collect());
        let set = page[number % PAGE_BLOCKS].set(Box::new(block));
        assert!(set.is_ok(), "INVARIANT: the number of blocks counts those that are set");
        *blocks += 1;
        Some(number as u32)
    }

    /// Finds up to `effort` vectors near `vector`, the nearest first as far as records of a byte a
    /// number tell. The more effort, the more of the nearest ones are among them; a search looks
    /// at some twenty vectors for each.
    ///
    /// # Panics
    /// If the vector has another number of numbers.
    pub fn search<'s>(
        &self,
        vector: &[f32],
        effort: usize,
        scratch: &'s mut Scratch,
    ) -> impl Iterator<Item = Found> + use<'s> {
        assert_eq!(vector.len(), self.dimensions, "all vectors have one length");
        scratch.sought.set(self.metric, vector);
        search::run(self, effort, scratch, None);
        scratch.found()
    }
}
