//! A state as bytes, with a checksum.
//!
//! ```text
//!   "telar live 1\n" | text | as of | edges | ids of slots | kernel | CRC-32 of all before
//!                      identity of the database and definition: bytes of another do not fit
//! ```
//!
//! Integers are little-endian; an array is its length as `u64` and its values.

use std::io::{self, Write};

use flate2::Crc;
use telar_algo::live::components::LiveComponents;
use telar_algo::live::degree::LiveDegrees;
use telar_algo::live::k_core::LiveCores;
use telar_algo::live::pagerank::LivePageRank;
use telar_algo::live::triangles::LiveTriangles;

use super::definition::{Algorithm, Definition};
use super::kernel::Kernel;
use super::slots::Slots;
use super::state::State;

const MAGIC: &[u8] = b"telar live 1\n";

/// Values of which an array can be.
trait Word: Copy {
    const BYTES: usize;
    fn put(self, out: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! words {
    ($($word:ty),*) => {$(
        impl Word for $word {
            const BYTES: usize = size_of::<$word>();
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut word = [0; size_of::<$word>()];
                word.copy_from_slice(bytes);
                Self::from_le_bytes(word)
            }
        }
    )*};
}

words!(u8, u32, u64, f64);

/// Values written at once.
const PIECE: usize = 1 << 14;

struct Out<W> {
    to: W,
    crc: Crc,
    buffer: Vec<u8>,
}

impl<W: Write> Out<W> {
    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.to.write_all(bytes)
    }

    fn array<T: Word>(&mut self, words: &[T]) -> io::Result<()> {
        self.raw(&(words.len() as u64).to_le_bytes())?;
        for piece in words.chunks(PIECE) {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            piece.iter().for_each(|word| word.put(&mut buffer));
            let written = self.raw(&buffer);
            self.buffer = buffer;
            written?;
        }
        Ok(())
    }

    fn lists<'l>(&mut self, lists: impl ExactSizeIterator<Item = &'l [u32]>) -> io::Result<()> {
        self.raw(&(lists.len() as u64).to_le_bytes())?;
        lists.into_iter().try_for_each(|list| self.array(list))
    }
}

/// Writes a state of the database `identity`.
pub(super) fn write(
    to: impl Write,
    identity: &str,
    definition: &Definition,
    state: &mut State,
) -> io::Result<()> {
    let mut out = Out { to, crc: Crc::new(), buffer: Vec::new() };
    out.raw(MAGIC)?;
    out.array(text(identity, definition).as_bytes())?;
    out.array(&[state.as_of, state.edges])?;
    out.array(state.slots.ids())?;
    match &mut state.kernel {
        Kernel::PageRank(live) => {
            let (estimates, residuals, degrees) = live.parts();
            out.array(estimates)?;
            out.array(residuals)?;
            out.array(degrees)?;
        }
        Kernel::Components(live) => out.array(live.labels())?,
        Kernel::Degrees(live) => out.array(&live.counts)?,
        Kernel::Triangles(live) => {
            out.array(live.counts())?;
            out.lists(live.lists())?;
        }
        Kernel::Cores(live) => {
            out.array(live.cores())?;
            out.lists(live.lists())?;
        }
    }
    let sum = out.crc.sum();
    out.to.write_all(&sum.to_le_bytes())?;
    out.to.flush()
}

fn text(identity: &str, definition: &Definition) -> String {
    format!("{identity}\n{}", definition.json())
}

/// Bytes that are yet to be read.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn raw(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<T: Word>(&mut self) -> Option<Vec<T>> {
        let len = usize::try_from(u64::get(self.raw(8)?)).ok()?;
        let bytes = self.raw(len.checked_mul(T::BYTES)?)?;
        Some(bytes.chunks_exact(T::BYTES).map(T::get).collect())
    }

    /// As many lists as there are slots.
    fn lists(&mut self, slots: usize) -> Option<Vec<Vec<u32>>> {
        let count = u64::get(self.raw(8)?);
        (count == slots as u64).then(|| (0..slots).map(|_| self.array()).collect())?
    }
}

/// The state that was written for this database and definition; why not, otherwise.
pub(super) fn read(
    bytes: &[u8],
    identity: &str,
    definition: &Definition,
) -> Result<State, &'static str> {
    let Some((body, sum)) = bytes.split_last_chunk::<4>() else { return Err("it is too short") };
    let mut crc = Crc::new();
    crc.update(body);
    if crc.sum() != u32::from_le_bytes(*sum) {
        return Err("its checksum does not fit");
    }
    let Some(body) = body.strip_prefix(MAGIC) else { return Err("it is of another version") };
    let mut rest = In(body);
    if rest.array::<u8>().as_deref() != Some(text(identity, definition).as_bytes()) {
        return Err("it is of another database or definition");
    }
    let state = decode(rest, definition);
    state.ok_or("its arrays do not fit each other")
}

fn decode(mut rest: In<'_>, definition: &Definition) -> Option<State> {
    let about: [u64; 2] = rest.array()?.try_into().ok()?;
    let [as_of, edges] = about;
    let slots = Slots::of_ids(rest.array()?);
    let n = slots.len();
    let fits = |len: usize| (len == n).then_some(());
    let kernel = match definition.algorithm {
        Algorithm::PageRank => {
            let (estimates, residuals, degrees) = (rest.array()?, rest.array()?, rest.array()?);
            fits(estimates.len())?;
            let parts =
                LivePageRank::from_parts(definition.settings, estimates, residuals, degrees);
            Kernel::PageRank(parts.ok()?)
        }
        Algorithm::Components => {
            let labels: Vec<u32> = rest.array()?;
            fits(labels.len())?;
            Kernel::Components(LiveComponents::new(labels))
        }
        Algorithm::Degree => {
            let counts: Vec<u32> = rest.array()?;
            fits(counts.len())?;
            Kernel::Degrees(LiveDegrees::new(counts))
        }
        Algorithm::Triangles => {
            let counts: Vec<u64> = rest.array()?;
            fits(counts.len())?;
            Kernel::Triangles(LiveTriangles::from_lists(rest.lists(n)?, counts))
        }
        Algorithm::Cores => {
            let cores: Vec<u32> = rest.array()?;
            fits(cores.len())?;
            Kernel::Cores(LiveCores::from_lists(rest.lists(n)?, cores))
        }
    };
    rest.0.is_empty().then_some(State { as_of, edges, slots, kernel })
}
