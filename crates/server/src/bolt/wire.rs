//! What the thread of a connection shares with the watcher and with whoever shuts the server down.
//!
//! ```text
//!             connection's thread            watcher                    shutdown
//! io          locked to read and to write    tried, while a statement   -
//!                                            runs; reads ahead
//! activity    says what it does              sees what runs, since      sees what is idle
//!                                            when, ends it
//! shutter     -                              -                          closes the socket
//! ```
//!
//! INVARIANT: the connection's thread does not hold `io` while a statement computes; whoever finds
//! it locked knows that the thread reads or writes by itself.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::chunk::{Input, Urgent};
use crate::net::{Shutter, Socket};

/// How long a statement runs before the watcher looks at its connection.
const LONG: Duration = Duration::from_millis(100);

/// Bytes of room for answers that are kept for the next ones.
const OUT_BYTES_KEPT: usize = 128 << 10;

/// The two ends that a connection's threads hold.
#[derive(Debug)]
pub(crate) struct Wire {
    shutter: Arc<Shutter>,
    io: OnceLock<Mutex<Io>>,
    activity: Mutex<Activity>,
    /// True once the server, which stops, has ended reading.
    drained: AtomicBool,
}

/// The connection itself.
#[derive(Debug)]
pub(crate) struct Io {
    pub(crate) socket: Socket,
    pub(crate) input: Input,
    /// The client has hung up.
    pub(crate) ended: bool,
    /// A RESET was seen: what was asked for before it is not done any more.
    pub(crate) interrupted: bool,
}

/// What the connection's thread does.
#[derive(Debug, Default)]
enum Activity {
    /// It waits for something to do.
    #[default]
    Idle,
    /// It has a transaction, or a statement that is one.
    Busy {
        /// Set to give it up.
        cancelled: Arc<AtomicBool>,
        /// Since when a statement computes.
        running: Option<Instant>,
    },
}

impl Wire {
    pub(crate) fn new(tcp: &Arc<TcpStream>) -> Self {
        let shutter = Arc::new(Shutter::new(Arc::clone(tcp)));
        let (activity, drained) = (Mutex::default(), AtomicBool::new(false));
        Self { shutter, io: OnceLock::new(), activity, drained }
    }

    /// Now there is something to read from and to write to.
    pub(crate) fn open(&self, mut socket: Socket) {
        socket.report_idle();
        let io = Io { socket, input: Input::new(), ended: false, interrupted: false };
        let opened = self.io.set(Mutex::new(io));
        debug_assert!(opened.is_ok(), "a connection is opened once");
    }

    pub(crate) fn shutter(&self) -> &Arc<Shutter> {
        &self.shutter
    }

    /// # Panics
    /// If the connection is not [open](Self::open).
    pub(crate) fn io(&self) -> &Mutex<Io> {
        self.io.get().expect("INVARIANT: messages are exchanged after the wire was opened")
    }

    /// A statement or transaction begins that `cancelled` ends.
    pub(crate) fn begin(&self, cancelled: &Arc<AtomicBool>) {
        let cancelled = Arc::clone(cancelled);
        *self.activity.lock() = Activity::Busy { cancelled, running: None };
    }

    /// It has ended.
    pub(crate) fn end(&self) {
        *self.activity.lock() = Activity::Idle;
    }

    /// Whether a statement of it computes now.
    pub(crate) fn set_running(&self, runs: bool) {
        if let Activity::Busy { running, .. } = &mut *self.activity.lock() {
            *running = runs.then(Instant::now);
        }
    }

    /// Whether a statement has been running for so long that somebody should look.
    pub(crate) fn is_running_long(&self) -> bool {
        let activity = self.activity.lock();
        let Activity::Busy { running: Some(since), .. } = &*activity else { return false };
        since.elapsed() >= LONG
    }

    /// Gives up what is done at the moment.
    pub(crate) fn cancel(&self) {
        if let Activity::Busy { cancelled, .. } = &*self.activity.lock() {
            // ORDERING: relaxed, as nothing else is read because of the flag.
            cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Reads ahead, and gives up the statement that runs if the client wants it or has hung up.
    pub(crate) fn look(&self) {
        let Some(mut io) = self.io.get().and_then(Mutex::try_lock) else { return };
        let Io { socket, input, ended, interrupted } = &mut *io;
        while !input.is_full() && !*ended {
            match socket.read_ready(input.room()) {
                Ok(None) => break,
                // A statement that came just before this side has ended reading may end.
                Ok(Some(0)) if self.is_drained() => break,
                Ok(Some(0)) => *ended = true,
                Ok(Some(bytes)) => input.came(bytes),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => *ended = true,
            }
        }
        let urgent = input.urgent();
        if *ended || urgent.is_some() {
            *interrupted |= urgent == Some(Urgent::Reset);
            self.cancel();
        }
    }

    /// Ends a connection that does nothing.
    pub(crate) fn close_idle(&self) {
        if matches!(&*self.activity.lock(), Activity::Idle) {
            // ORDERING: sequentially consistent: whoever reads the end that follows sees the flag.
            self.drained.store(true, Ordering::SeqCst);
            self.shutter.close_reading();
        }
    }

    /// True if the end of what is read is this side's, and the connection is not closed yet.
    fn is_drained(&self) -> bool {
        // ORDERING: as in `close_idle`.
        self.drained.load(Ordering::SeqCst) && !self.shutter.is_closed()
    }

    /// Ends a connection, whatever it does.
    pub(crate) fn close(&self) {
        self.cancel();
        self.shutter.close();
    }
}

impl Io {
    /// Writes all of `out`, and empties it. After an error it holds what was not written, no more
    /// and no less: the client is in the middle of it, and can be sent nothing else.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let mut written = 0;
        let done = loop {
            if written == out.len() {
                break Ok(());
            }
            match self.socket.write(&out[written..]) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => written += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        out.drain(..written);
        done?;
        out.shrink_to(OUT_BYTES_KEPT);
        self.socket.flush()
    }

    /// Waits for more to come in; "would block" once if nothing does for a while.
    pub(crate) fn read(&mut self) -> io::Result<()> {
        match self.socket.read(self.input.room()) {
            Ok(0) => self.ended = true,
            Ok(bytes) => self.input.came(bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::net::Encryption;

    #[test]
    fn a_statement_that_comes_while_the_server_stops_may_end() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let tcp = Arc::new(listener.accept().unwrap().0);
        let wire = Wire::new(&tcp);
        let deadline = Instant::now() + Duration::from_secs(60);
        wire.open(Socket::open(tcp, &Encryption::Off, deadline).unwrap());
        wire.close_idle();
        let cancelled: Arc<AtomicBool> = Arc::default();
        wire.begin(&cancelled);
        wire.look();
        assert!(!cancelled.load(Ordering::Relaxed));
        // Until the time that it was given is over.
        wire.shutter.close();
        wire.look();
        assert!(cancelled.load(Ordering::Relaxed));
    }
}
