//! Frames on a socket.
//!
//! ```text
//!   u64 length of what follows │ u32 length of the head │ head (postcard) │ body
//! ```
//!
//! Numbers are little-endian. The head is a message; the body, which may be empty, its values
//! (`codec`). Both ends are of one version of this crate: the first frame of each says so.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::inherited::Inherited;

/// Bytes of frames that are kept for the next one.
const KEPT_BYTES: usize = 1 << 20;
/// Bytes that are asked of a socket at once.
const CHUNK_BYTES: usize = 1 << 18;
/// Time after which a read that waits looks whether it is to go on.
const LOOK: Duration = Duration::from_millis(50);

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Wire {
    // Dropped first: the number of the file is free afterwards.
    _inherited: Inherited,
    stream: UnixStream,
    /// Bytes that came: frames from `at` on.
    input: Vec<u8>,
    at: usize,
    /// Frames that are not sent yet.
    output: Vec<u8>,
}

/// A frame that came.
pub(crate) struct Frame<T> {
    pub(crate) head: T,
    pub(crate) body: Vec<u8>,
}

/// Empties a buffer, and gives its memory back if it is large.
fn emptied(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > KEPT_BYTES {
        *buffer = Vec::new();
    }
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("a frame that is none: {text}"))
}

impl Wire {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        let inherited = Inherited::new(stream.as_raw_fd());
        let (input, output) = (Vec::new(), Vec::new());
        Ok(Self { _inherited: inherited, stream, input, at: 0, output })
    }

    /// The socket, for another thread.
    pub(crate) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Adds a frame to what is sent with [`flush`](Self::flush); `body` writes its values.
    pub(crate) fn put<T: Serialize, E: From<io::Error>>(
        &mut self,
        head: &T,
        body: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = self.output.len();
        self.output.extend([0; 12]);
        let done = self.put_parts(begin, head, body);
        if done.is_err() {
            self.output.truncate(begin);
        }
        done
    }

    fn put_parts<T: Serialize, E: From<io::Error>>(
        &mut self,
        begin: usize,
        head: &T,
        body: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let output = std::mem::take(&mut self.output);
        let failed = |e: postcard::Error| io::Error::other(format!("a message is too large: {e}"));
        self.output = postcard::to_extend(head, output).map_err(failed)?;
        let head = self.output.len() - begin - 12;
        body(&mut self.output)?;
        let all = self.output.len() - begin - 8;
        self.output[begin..begin + 8].copy_from_slice(&(all as u64).to_le_bytes());
        self.output[begin + 8..begin + 12].copy_from_slice(&(head as u32).to_le_bytes());
        Ok(())
    }

    /// Sends what was put. `look` is called again and again while the other end does not read; an
    /// error that it returns ends the sending, and the connection is of no use any more.
    pub(crate) fn flush(&mut self, look: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let mut sent = 0;
        let mut done = Ok(());
        while done.is_ok() && sent < self.output.len() {
            match self.stream.write(&self.output[sent..]) {
                Ok(0) => done = Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => sent += bytes,
                Err(e) if is_pause(&e) => done = look(),
                Err(e) => done = Err(e),
            }
        }
        emptied(&mut self.output);
        done
    }

    /// Sends a frame without a body.
    pub(crate) fn send<T: Serialize>(
        &mut self,
        head: &T,
        look: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        self.put(head, |_| Ok::<(), io::Error>(()))?;
        self.flush(look)
    }

    /// The next frame. `look` is called again and again while there is none; an error that it
    /// returns ends the waiting.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`] once the other end has closed.
    pub(crate) fn receive<T: DeserializeOwned>(
        &mut self,
        look: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<Frame<T>> {
        self.fill(12, look)?;
        let at = self.at;
        let number = |range: std::ops::Range<usize>| {
            let bytes = self.input[range].iter().rev();
            bytes.fold(0u64, |all, byte| all << 8 | u64::from(*byte))
        };
        let (all, head) = (number(at..at + 8), number(at + 8..at + 12) as usize);
        let all = usize::try_from(all).map_err(|_| invalid("it is too long"))?;
        let end = all.checked_add(8).ok_or_else(|| invalid("it is too long"))?;
        if all.checked_sub(4).is_none_or(|rest| rest < head) {
            return Err(invalid("its head is longer than itself"));
        }
        self.fill(end, look)?;
        let frame = &self.input[self.at..self.at + end];
        let (head, body) = frame[12..].split_at(head);
        let head = postcard::from_bytes(head).map_err(|e| invalid(&e.to_string()))?;
        let frame = Frame { head, body: body.to_vec() };
        self.at += end;
        if self.at == self.input.len() {
            emptied(&mut self.input);
            self.at = 0;
        }
        Ok(frame)
    }

    /// Reads until so many bytes of the next frame are there.
    fn fill(&mut self, wanted: usize, look: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        while self.input.len() - self.at < wanted {
            if self.at > 0 {
                self.input.drain(..self.at);
                self.at = 0;
            }
            let have = self.input.len();
            // Little at a time, so that a length that lies costs nothing.
            self.input.resize(have + (wanted - have).clamp(4096, CHUNK_BYTES), 0);
            let read = self.stream.read(&mut self.input[have..]);
            self.input.truncate(have + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    look()?
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// True if a socket was waited for as long as [`LOOK`], or a signal came.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Waits, however long it takes.
pub(crate) fn forever() -> io::Result<()> {
    Ok(())
}

/// Waits as long as nobody has set the flag.
pub(crate) fn until(flag: &AtomicBool) -> impl FnMut() -> io::Result<()> {
    // ORDERING: relaxed: it is asked again and again.
    move || match flag.load(Ordering::Relaxed) {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_as_they_were_sent() {
        let (a, b) = UnixStream::pair().unwrap();
        let (mut a, mut b) = (Wire::new(a).unwrap(), Wire::new(b).unwrap());
        let long = vec![7; 3_000_000];
        let sender = std::thread::spawn(move || {
            a.put(&"one", |body| {
                body.extend([1, 2, 3]);
                Ok::<(), io::Error>(())
            })
            .unwrap();
            let failed = a.put(&"never", |_| Err(io::Error::other("no")));
            assert!(failed.is_err());
            a.put(&"two", |body| {
                body.extend(&long);
                Ok::<(), io::Error>(())
            })
            .unwrap();
            a.flush(&mut forever).unwrap();
            a.send(&"three", &mut forever).unwrap();
        });
        let mut next = || b.receive::<String>(&mut forever).unwrap();
        let (one, two, three) = (next(), next(), next());
        assert_eq!((one.head.as_str(), one.body), ("one", vec![1, 2, 3]));
        assert_eq!((two.head.as_str(), two.body.len()), ("two", 3_000_000));
        assert_eq!((three.head.as_str(), three.body.len()), ("three", 0));
        sender.join().unwrap();
        let end = b.receive::<String>(&mut forever).map(|_| ());
        assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn bytes_that_are_no_frame_are_refused_and_take_no_memory() {
        let lengths = [(u64::MAX, 0u32), (1 << 60, 4), (8, 9), (4, 1), (0, 0)];
        for (all, head) in lengths {
            let (mut a, b) = UnixStream::pair().unwrap();
            a.write_all(&all.to_le_bytes()).unwrap();
            a.write_all(&head.to_le_bytes()).unwrap();
            a.write_all(&[1; 64]).unwrap();
            drop(a);
            let mut wire = Wire::new(b).unwrap();
            assert!(wire.receive::<String>(&mut forever).is_err(), "{all} {head}");
            assert!(wire.input.capacity() < 1 << 20);
        }
    }

    #[test]
    fn sending_to_one_who_does_not_read_ends_when_it_is_not_wanted_any_more() {
        let (a, _b) = UnixStream::pair().unwrap();
        let mut a = Wire::new(a).unwrap();
        a.put(&"long", |body| {
            body.extend(vec![0; 8 << 20]);
            Ok::<(), io::Error>(())
        })
        .unwrap();
        let flag = AtomicBool::new(true);
        assert_eq!(a.flush(&mut until(&flag)).unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn waiting_ends_when_it_is_not_wanted_any_more() {
        let (_a, b) = UnixStream::pair().unwrap();
        let flag = AtomicBool::new(true);
        let got = Wire::new(b).unwrap().receive::<String>(&mut until(&flag));
        assert_eq!(got.map(|_| ()).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
