//! A thread that takes connections in.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How often it looks whether it is to stop.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long it waits when nothing can be taken in, and not even refused.
const EXHAUSTED: Duration = Duration::from_millis(50);
/// How often it says so.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// A thread that takes in whoever connects. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Acceptor {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Acceptor {
    /// Gives each connection that comes to `listener` to `take`, which must not block for long. One
    /// for which the process has no file is closed at once, and `refused` is told.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(crate) fn start(
        name: &str,
        listener: TcpListener,
        take: impl Fn(TcpStream, SocketAddr) + Send + 'static,
        refused: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let mut door = Door { listener, take, refused, spare: spare(), said: None };
        // ORDERING: relaxed, as nothing else is read because of the flag.
        let run = move || {
            while !stopping.load(Ordering::Relaxed) {
                door.accept();
            }
        };
        let thread = thread::Builder::new().name(name.into()).spawn(run)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Ends it; the address is free when this returns.
    pub(crate) fn stop(&mut self) {
        // ORDERING: as in `start`.
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to say, even if it panicked.
            let _ = thread.join();
        }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A file that is open for nothing but to be closed when there are no others.
fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

/// Where connections come in.
struct Door<T, R> {
    listener: TcpListener,
    take: T,
    refused: R,
    spare: Option<File>,
    /// When it was said last that connections cannot be taken in.
    said: Option<Instant>,
}

impl<T: Fn(TcpStream, SocketAddr), R: Fn()> Door<T, R> {
    /// Takes in what waits, or waits for a tick.
    fn accept(&mut self) {
        match self.listener.accept() {
            Ok((stream, peer)) => {
                // It inherits this on some systems.
                if stream.set_nonblocking(false).is_ok() {
                    (self.take)(stream, peer);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.knocks(&TICK);
            }
            // The peer has gone again.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => self.refuse(&error),
        }
    }

    /// Whether somebody knocks before so much time is over.
    fn knocks(&self, time: &Timespec) -> bool {
        let mut door = [PollFd::new(&self.listener, PollFlags::IN)];
        // Whatever is wrong with it, the next `accept` says so.
        poll(&mut door, Some(time)).is_ok_and(|ready| ready > 0)
    }

    /// Closes the connection that cannot be taken in, in the place of the spare file: its peer is
    /// to know at once, and not to wait in a queue that nobody looks at.
    fn refuse(&mut self, error: &io::Error) {
        // Linux says that there are no files before it looks whether anybody knocks. The spare file
        // is given up only for somebody: another listener of this process would take its place.
        if !self.knocks(&Timespec::default()) {
            self.knocks(&TICK);
            return;
        }
        if self.said.is_none_or(|said| said.elapsed() >= SAY_EVERY) {
            tracing::warn!(
                %error,
                "connections are refused: no more files may be open (LimitNOFILE, ulimit -n)"
            );
            self.said = Some(Instant::now());
        }
        let no_file = [Errno::MFILE, Errno::NFILE].map(|e| Some(e.raw_os_error()));
        let had_spare = self.spare.take().is_some();
        let is_closed =
            had_spare && no_file.contains(&error.raw_os_error()) && self.listener.accept().is_ok();
        self.spare = spare();
        if is_closed {
            (self.refused)();
        } else {
            thread::sleep(EXHAUSTED);
        }
    }
}
