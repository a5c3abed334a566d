//! Messages in chunks.
//!
//! ```text
//! message = chunk* 00 00        chunk = length (u16, not 0), bytes
//! ```
//!
//! `00 00` between messages says that the peer is there, and nothing else.
#![expect(clippy::big_endian_bytes, reason = "the protocol is big-endian")]

use telar_db::query::EvalError;
use telar_db::query::budget::{Budget, SMALL_BYTES};

use super::message::{GOODBYE, RESET};
use super::packstream::STRUCTURE;

/// Bytes that a chunk can hold.
const CHUNK_BYTES_MAX: usize = 0xFFFF;
/// Bytes of room that a read is given.
const READ_BYTES: usize = 16 << 10;
/// Bytes that are read ahead while a statement runs, to see whether it is to be ended.
const AHEAD_BYTES_MAX: usize = 1 << 20;

/// A message is larger than it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// What came in and was not used yet.
#[derive(Debug)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of a chunk that are still to come.
    chunk_left: usize,
    /// Of the message that is still to come: what came of it.
    partial: Vec<u8>,
    /// Bytes that came of it.
    came: usize,
    /// What all messages that come in, and all else, may take together.
    budget: Option<&'static Budget>,
    /// Why what comes of this message is not kept.
    refused: Option<EvalError>,
}

/// What a client asks for behind what it asked for before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgent {
    Reset,
    Goodbye,
}

impl Input {
    pub(crate) fn new() -> Self {
        let bytes = vec![0; READ_BYTES];
        let (partial, budget, refused) = (Vec::new(), None, None);
        Self { bytes, start: 0, end: 0, chunk_left: 0, partial, came: 0, budget, refused }
    }

    /// From now on, messages are kept while this has room for them.
    pub(crate) fn set_budget(&mut self, budget: Option<&'static Budget>) {
        self.budget = budget;
    }

    /// Why the message that was taken last is empty, if there was no room for it.
    pub(crate) fn refused(&mut self) -> Option<EvalError> {
        self.refused.take()
    }

    /// Where to read into; then say how much it was with [`came`](Self::came).
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.bytes.truncate(READ_BYTES);
        }
        if self.end == self.bytes.len() && self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.bytes.len() {
            self.bytes.resize(self.end + READ_BYTES, 0);
        }
        &mut self.bytes[self.end..]
    }

    pub(crate) fn came(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// Gives up the room that is not used.
    pub(crate) fn put_away(&mut self) {
        self.partial.shrink_to_fit();
        if self.start == self.end {
            (self.bytes, self.start, self.end) = (Vec::new(), 0, 0);
        }
    }

    /// True while a message has come in part.
    pub(crate) fn is_within_message(&self) -> bool {
        self.came > 0 || self.chunk_left > 0 || self.start < self.end
    }

    /// Whether it has read ahead as far as it should.
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.start >= AHEAD_BYTES_MAX
    }

    /// Puts the next message into `message`, if all of it is there.
    pub(crate) fn take(&mut self, message: &mut Vec<u8>, limit: usize) -> Result<bool, TooLarge> {
        loop {
            let unread = &self.bytes[self.start..self.end];
            if self.chunk_left > 0 {
                let taken = self.chunk_left.min(unread.len());
                if taken == 0 {
                    return Ok(false);
                }
                let came = self.came + taken;
                if came > limit {
                    return Err(TooLarge);
                }
                if came / SMALL_BYTES != self.came / SMALL_BYTES
                    && let Some(budget) = &self.budget
                    && let Err(error) = budget.room(came, SMALL_BYTES)
                {
                    // The rest is read and forgotten, so that the client hears why.
                    self.partial = Vec::new();
                    self.refused.get_or_insert(error);
                }
                if self.refused.is_none() {
                    self.partial.extend_from_slice(&unread[..taken]);
                }
                self.came = came;
                self.start += taken;
                self.chunk_left -= taken;
                continue;
            }
            let Some(header) = unread.first_chunk::<2>() else { return Ok(false) };
            self.chunk_left = usize::from(u16::from_be_bytes(*header));
            self.start += 2;
            if self.chunk_left == 0 && self.came > 0 {
                self.came = 0;
                std::mem::swap(message, &mut self.partial);
                self.partial.clear();
                // A large message's room is not kept for the small ones that follow.
                self.partial.shrink_to(READ_BYTES);
                return Ok(true);
            }
        }
    }

    /// Whether a RESET, or the end, waits behind messages that were not taken yet.
    pub(crate) fn urgent(&self) -> Option<Urgent> {
        let mut head: Vec<u8> = self.partial.iter().take(2).copied().collect();
        let (mut at, mut left) = (self.start, self.chunk_left);
        loop {
            let unread = &self.bytes[at..self.end];
            if left > unread.len() {
                return None;
            }
            head.extend(unread.iter().take(left.min(2 - head.len())));
            if let [marker, tag] = head[..]
                && marker & 0xF0 == STRUCTURE
            {
                match tag {
                    RESET => return Some(Urgent::Reset),
                    GOODBYE => return Some(Urgent::Goodbye),
                    _ => {}
                }
            }
            let header = unread[left..].first_chunk::<2>()?;
            at += left + 2;
            left = usize::from(u16::from_be_bytes(*header));
            if left == 0 {
                head.clear();
            }
        }
    }
}

/// Writes a message that `write` makes.
pub(crate) fn write<R>(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let start = out.len();
    out.extend([0; 2]);
    let result = write(out);
    let len = out.len() - start - 2;
    match u16::try_from(len) {
        Ok(len) => out[start..start + 2].copy_from_slice(&len.to_be_bytes()),
        Err(_) => {
            let message = out.split_off(start + 2);
            out.truncate(start);
            for chunk in message.chunks(CHUNK_BYTES_MAX) {
                out.extend((chunk.len() as u16).to_be_bytes());
                out.extend_from_slice(chunk);
            }
        }
    }
    out.extend([0; 2]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;

    fn feed(input: &mut Input, bytes: &[u8]) {
        let room = input.room();
        room[..bytes.len()].copy_from_slice(bytes);
        input.came(bytes.len());
    }

    fn framed(message: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, |out| out.extend_from_slice(message));
        out
    }

    /// The messages in `bytes`, which come `step` at a time.
    fn messages(bytes: &[u8], step: usize) -> Vec<Vec<u8>> {
        let (mut input, mut found, mut message) = (Input::new(), Vec::new(), Vec::new());
        for piece in bytes.chunks(step) {
            feed(&mut input, piece);
            while input.take(&mut message, LIMIT).unwrap() {
                found.push(message.clone());
            }
        }
        found
    }

    #[test]
    fn messages_come_out_as_they_went_in_however_they_are_cut() {
        let sizes = [1, 2, 700, 65_535, 65_536, 200_000];
        let wanted: Vec<Vec<u8>> = sizes.map(|size| (0..size).map(|i| i as u8).collect()).to_vec();
        let mut bytes = vec![0, 0, 0, 0];
        for message in &wanted {
            bytes.extend(framed(message));
            bytes.extend([0, 0]);
        }
        for step in [1, 2, 3, 1000, READ_BYTES] {
            assert!(messages(&bytes, step) == wanted, "{step} at a time");
        }
    }

    #[test]
    fn room_can_be_put_away_at_any_time() {
        let message: Vec<u8> = (0..100_000_u32).map(|i| i as u8).collect();
        let (bytes, mut input) = (framed(&message), Input::new());
        let mut found = Vec::new();
        for piece in bytes.chunks(1000) {
            feed(&mut input, piece);
            input.put_away();
            let taken = input.take(&mut found, LIMIT).unwrap();
            input.put_away();
            assert!(taken || input.bytes.capacity() == 0, "everything was taken over");
        }
        assert!(found == message);
        assert_eq!((input.bytes.capacity(), input.partial.capacity()), (0, 0));
    }

    #[test]
    fn chunks_may_be_of_any_size() {
        let bytes = [0, 1, b'a', 0, 2, b'b', b'c', 0, 0, 0, 1, b'd', 0, 0];
        assert_eq!(messages(&bytes, 5), [b"abc".to_vec(), b"d".to_vec()]);
    }

    #[test]
    fn a_message_beyond_the_limit_is_refused_before_all_of_it_came() {
        let mut input = Input::new();
        feed(&mut input, &[0, 200]);
        feed(&mut input, &[7; 101]);
        assert_eq!(input.take(&mut Vec::new(), 100), Err(TooLarge));
    }

    #[test]
    fn a_reset_is_seen_behind_other_messages() {
        let run = framed(&[0xB3, 0x10, 0x80, 0xA0, 0xA0]);
        let reset = framed(&[0xB0, 0x0F]);
        let bytes = [&run[..], &[0, 0], &run, &reset].concat();
        for cut in 0..=bytes.len() {
            let mut input = Input::new();
            feed(&mut input, &bytes[..cut]);
            let complete = cut + 2 >= bytes.len();
            assert_eq!(input.urgent(), complete.then_some(Urgent::Reset), "{cut} bytes");
        }
        // A part was taken; the two bytes that tell are in two chunks.
        let mut input = Input::new();
        feed(&mut input, &[0, 3, 0xB3, 0x10, 0x0F]);
        assert_eq!(input.take(&mut Vec::new(), LIMIT), Ok(false));
        assert_eq!(input.urgent(), None);
        feed(&mut input, &[0, 0, 0, 1, 0xB0, 0, 1, 0x02]);
        assert_eq!(input.urgent(), Some(Urgent::Goodbye));
    }

    #[test]
    fn a_message_without_room_is_read_to_its_end_and_forgotten() {
        static FULL: Budget = Budget::new(1);
        let (mut input, mut found) = (Input::new(), Vec::new());
        input.set_budget(Some(&FULL));
        let small = vec![1; SMALL_BYTES - 1];
        let bytes = [framed(&small), framed(&vec![2; SMALL_BYTES]), framed(&[3])].concat();
        let mut messages = Vec::new();
        for piece in bytes.chunks(1000) {
            feed(&mut input, piece);
            while input.take(&mut found, usize::MAX).unwrap() {
                messages.push((found.clone(), input.refused().is_some()));
            }
        }
        assert_eq!(messages, [(small, false), (Vec::new(), true), (vec![3], false)]);
        // Its length is bounded all the same.
        let bytes = framed(&vec![2; 2 * SMALL_BYTES]);
        let taken = bytes.chunks(1000).try_for_each(|piece| {
            feed(&mut input, piece);
            input.take(&mut found, SMALL_BYTES + 5000).map(|_| ())
        });
        assert_eq!(taken, Err(TooLarge));
    }
}
