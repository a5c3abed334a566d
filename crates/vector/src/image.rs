//! A graph as bytes of a file.
//!
//! ```text
//!  image   head · blocks
//!  head    numbers of a vector u32 · metric u8 (1 cosine, 2 Euclidean), three zeros
//!          degree u32 · effort u32 · blocks u32 · CRC-32 of these 20 bytes        24 bytes
//!  block   CRC-32 of what follows, and of the number of the block u32 before it   4 bytes
//!          64 slots
//!  slot    record (record.rs) · links in force u32 · links, room x u32            memory.rs
//! ```
//!
//! Integers are little-endian. Room is one and a half times the degree. A slot has links to slots
//! of the image only, and zeros behind them.

use std::io::{self, Read, Write};

use crate::blocks::{BLOCK_SLOTS, Neighbours};
use crate::record::Metric;
use crate::{Shape, link};

/// Bytes of a head.
const HEAD_BYTES: usize = 24;
const CHECKED_BYTES: usize = 20;
const CRC_BYTES: usize = 4;
const _: () = assert!(CHECKED_BYTES + CRC_BYTES == HEAD_BYTES);

/// Greatest degree and effort that an image may have.
const SHAPE_MAX: u32 = 1 << 16;

/// Reasons why an image cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The system refused to read, or the file ends too early.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes are not those of an image.
    #[error("{0}")]
    Damaged(String),
}

fn damaged(what: impl Into<String>) -> ImageError {
    ImageError::Damaged(what.into())
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn crc_of_block(number: u32, bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&number.to_le_bytes());
    crc.update(bytes);
    crc.finalize()
}

impl Metric {
    /// The number of a metric in images.
    fn number(self) -> u8 {
        match self {
            Self::Cosine => 1,
            Self::Euclidean => 2,
        }
    }
}

/// Head of an image.
struct Head {
    metric: Metric,
    dimensions: u32,
    shape: Shape,
    blocks: u32,
}

impl Head {
    fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        let metric = u32::from(self.metric.number());
        let Shape { degree, effort } = self.shape;
        let words = [self.dimensions, metric, degree, effort, self.blocks];
        for (to, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        let crc = crc32fast::hash(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; HEAD_BYTES]) -> Result<Self, ImageError> {
        if word(bytes, CHECKED_BYTES) != crc32fast::hash(&bytes[..CHECKED_BYTES]) {
            return Err(damaged("the checksum of the head of a graph does not fit"));
        }
        let [dimensions, metric, degree, effort, blocks] =
            [0, 4, 8, 12, 16].map(|at| word(bytes, at));
        let metric = [Metric::Cosine, Metric::Euclidean]
            .into_iter()
            .find(|known| u32::from(known.number()) == metric)
            .ok_or_else(|| damaged(format!("there is no metric {metric}")))?;
        let is_shape = |n: u32| (1..=SHAPE_MAX).contains(&n);
        if !(1..=SHAPE_MAX).contains(&dimensions) || !is_shape(degree) || !is_shape(effort) {
            return Err(damaged("the head of a graph has a number that is out of range"));
        }
        Ok(Self { metric, dimensions, shape: Shape { degree, effort }, blocks })
    }

    fn read(input: &mut dyn Read) -> Result<Self, ImageError> {
        let mut bytes = [0; HEAD_BYTES];
        input.read_exact(&mut bytes)?;
        Self::decode(&bytes)
    }

    /// A graph like this one, without vectors.
    fn empty(&self) -> Neighbours {
        Neighbours::new(self.metric, self.dimensions as usize, self.shape)
    }

    /// Gives every block to `take`: its slots as they stand in the image, and the links of each.
    fn read_blocks(
        &self,
        input: &mut dyn Read,
        like: &Neighbours,
        mut take: impl FnMut(&[u8], &[Vec<u32>]) -> Result<(), ImageError>,
    ) -> Result<(), ImageError> {
        let slots = u64::from(self.blocks) * BLOCK_SLOTS as u64;
        let (fixed, stride) = (like.layout.fixed, like.slot_bytes());
        let mut bytes = vec![0; CRC_BYTES + BLOCK_SLOTS * stride];
        let mut links = vec![Vec::new(); BLOCK_SLOTS];
        for block in 0..self.blocks {
            input.read_exact(&mut bytes)?;
            let (crc, body) = bytes.split_at(CRC_BYTES);
            if word(crc, 0) != crc_of_block(block, body) {
                return Err(damaged(format!("the checksum of block {block} does not fit")));
            }
            for (links, slot) in links.iter_mut().zip(body.chunks_exact(stride)) {
                links.clear();
                let count = word(slot, fixed) as usize;
                let words = slot[fixed + 4..].as_chunks::<4>().0;
                links.extend(words.iter().take(count).map(|word| u32::from_le_bytes(*word)));
                if count > links.len() || links.iter().any(|link| u64::from(*link) >= slots) {
                    return Err(damaged(format!("a link of block {block} leads nowhere")));
                }
            }
            take(body, &links)?;
        }
        Ok(())
    }
}

impl Neighbours {
    /// Bytes of a slot in an image.
    fn slot_bytes(&self) -> usize {
        self.layout.fixed + 4 + 4 * self.layout.room
    }

    fn put_slot(&self, slot: u32, slots: u32, out: &mut Vec<u8>) {
        let Some(found) = self.slot(slot) else { return };
        let end = out.len() + self.slot_bytes();
        out.extend_from_slice(found.record);
        let count_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let _no_changes = self.lock(slot);
        let mut count = 0u32;
        for link in found.links().filter(|link| *link < slots) {
            out.extend_from_slice(&link.to_le_bytes());
            count += 1;
        }
        out[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
        out.resize(end, 0);
    }

    /// Writes the first `slots` slots, a multiple of [`BLOCK_SLOTS`], of which none is just being
    /// added. Others may be added meanwhile, and searches go on.
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// Cost: a copy of the graph, and its checksums.
    pub fn write_image(&self, slots: usize, out: &mut dyn Write) -> io::Result<()> {
        let blocks = (slots.min(self.len()) / BLOCK_SLOTS) as u32;
        let dimensions = self.dimensions() as u32;
        let head = Head { metric: self.metric, dimensions, shape: self.shape, blocks };
        out.write_all(&head.encode())?;
        let slots = blocks * BLOCK_SLOTS as u32;
        let mut bytes = Vec::with_capacity(CRC_BYTES + BLOCK_SLOTS * self.slot_bytes());
        for block in 0..blocks {
            bytes.clear();
            bytes.extend_from_slice(&[0; CRC_BYTES]);
            let first = block * BLOCK_SLOTS as u32;
            (first..first + BLOCK_SLOTS as u32)
                .for_each(|slot| self.put_slot(slot, slots, &mut bytes));
            let crc = crc_of_block(block, &bytes[CRC_BYTES..]);
            bytes[..CRC_BYTES].copy_from_slice(&crc.to_le_bytes());
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Reads a graph that [`write_image`](Self::write_image) wrote.
    ///
    /// # Errors
    /// Those of `input`; [`ImageError::Damaged`].
    ///
    /// Cost: reads the graph, and its checksums.
    pub fn read_image(input: &mut dyn Read) -> Result<Self, ImageError> {
        let head = Head::read(input)?;
        let neighbours = head.empty();
        let fixed = neighbours.layout.fixed;
        let stride = neighbours.slot_bytes();
        head.read_blocks(input, &neighbours, |body, links| {
            let first = neighbours
                .push(|at, record| record.copy_from_slice(&body[at * stride..][..fixed]))
                .ok_or_else(|| damaged("there are more vectors than a graph can have"))?;
            for (slot, links) in (first..).zip(links) {
                link::restore(&neighbours, slot, links);
            }
            neighbours.set_linked(first);
            Ok(())
        })?;
        Ok(neighbours)
    }

    /// Reads a graph as [`read_image`](Self::read_image) does, and keeps none of it.
    ///
    /// # Errors
    /// Those of `input`; [`ImageError::Damaged`].
    pub fn check_image(input: &mut dyn Read) -> Result<(), ImageError> {
        let head = Head::read(input)?;
        head.read_blocks(input, &head.empty(), |_, _| Ok(()))
    }

    /// The numbers that the graph is built by.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Slot;
    use crate::tests::{Random, build};
    use crate::{Found, Scratch};

    fn graph(count: usize) -> (Neighbours, Vec<Vec<f32>>) {
        let mut random = Random(count as u64);
        let vectors: Vec<Vec<f32>> = (0..count)
            .map(|_| (0..33).map(|_| (random.word() >> 40) as f32 / 1e7 - 0.8).collect())
            .collect();
        let neighbours = match count {
            0 => Neighbours::new(Metric::Cosine, 33, Shape::default()),
            _ => build(Metric::Cosine, &vectors),
        };
        (neighbours, vectors)
    }

    fn links_of(neighbours: &Neighbours, slot: u32) -> Vec<u32> {
        neighbours.slot(slot).into_iter().flat_map(Slot::links).collect()
    }

    fn image(neighbours: &Neighbours, slots: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        neighbours.write_image(slots, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        for count in [0, BLOCK_SLOTS, 10 * BLOCK_SLOTS] {
            let (neighbours, vectors) = graph(count);
            let bytes = image(&neighbours, count);
            let read = Neighbours::read_image(&mut &bytes[..]).unwrap();
            assert_eq!((read.len(), read.dimensions()), (count, 33));
            assert_eq!((read.metric(), read.shape()), (Metric::Cosine, Shape::default()));
            for slot in 0..count as u32 {
                assert_eq!(links_of(&read, slot), links_of(&neighbours, slot));
            }
            let mut scratch = Scratch::default();
            for vector in vectors.iter().step_by(50) {
                let found: Vec<Found> = neighbours.search(vector, 20, &mut scratch).collect();
                let again: Vec<Found> = read.search(vector, 20, &mut scratch).collect();
                assert_eq!(found, again);
            }
            assert_eq!(image(&read, count), bytes);
            let mut rest = &bytes[..];
            Neighbours::check_image(&mut rest).unwrap();
            assert!(rest.is_empty());
        }
    }

    /// A part of a graph is a graph: vectors behind it are added once more.
    #[test]
    fn a_part_is_a_graph() {
        let (neighbours, vectors) = graph(10 * BLOCK_SLOTS);
        let bytes = image(&neighbours, 6 * BLOCK_SLOTS);
        let read = Neighbours::read_image(&mut &bytes[..]).unwrap();
        let mut scratch = Scratch::default();
        for (block, some) in vectors.chunks(BLOCK_SLOTS).enumerate().skip(6) {
            let key = |at: usize| (block * BLOCK_SLOTS + at) as u64;
            let some: Vec<(u64, &[f32])> =
                some.iter().enumerate().map(|(at, v)| (key(at), &v[..])).collect();
            assert!(read.add(&some, &mut scratch));
        }
        let finds = |at: &usize| {
            let mut found = read.search(&vectors[*at], 30, &mut scratch);
            found.next().is_some_and(|found| found.key == *at as u64)
        };
        let found = (0..vectors.len()).filter(finds).count();
        assert!(found + 6 >= vectors.len(), "{found} of {}", vectors.len());
    }

    /// No change of a byte, and no cut, gives another graph.
    #[test]
    fn damage_is_told() {
        let (neighbours, _) = graph(2 * BLOCK_SLOTS);
        let bytes = image(&neighbours, 2 * BLOCK_SLOTS);
        for at in (0..bytes.len()).step_by(7).chain(0..HEAD_BYTES) {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0x10;
            assert!(Neighbours::read_image(&mut &wrong[..]).is_err(), "byte {at}");
            assert!(Neighbours::check_image(&mut &wrong[..]).is_err(), "byte {at}");
            assert!(Neighbours::read_image(&mut &bytes[..at]).is_err(), "cut at {at}");
        }
    }

    /// Checksums may be right where numbers are not.
    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let (neighbours, _) = graph(BLOCK_SLOTS);
        let bytes = image(&neighbours, BLOCK_SLOTS);
        let fixed = neighbours.layout.fixed;
        for (at, value) in [(fixed, u32::MAX), (fixed + 4, BLOCK_SLOTS as u32)] {
            let mut wrong = bytes.clone();
            let body = HEAD_BYTES + CRC_BYTES;
            wrong[body + at..][..4].copy_from_slice(&value.to_le_bytes());
            let crc = crc_of_block(0, &wrong[body..]);
            wrong[HEAD_BYTES..body].copy_from_slice(&crc.to_le_bytes());
            let error = Neighbours::read_image(&mut &wrong[..]).unwrap_err();
            assert!(error.to_string().contains("leads nowhere"), "{error}");
        }
        for (at, value) in [(0, 0u32), (4, 3), (8, 0), (12, u32::MAX)] {
            let mut wrong = bytes.clone();
            wrong[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let crc = crc32fast::hash(&wrong[..CHECKED_BYTES]);
            wrong[CHECKED_BYTES..HEAD_BYTES].copy_from_slice(&crc.to_le_bytes());
            assert!(matches!(Neighbours::read_image(&mut &wrong[..]), Err(ImageError::Damaged(_))));
        }
    }
}
