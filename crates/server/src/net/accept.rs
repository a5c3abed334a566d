//! Thread that accepts connections.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Interval at which it checks whether to stop.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Delay before the next try if a connection can be neither accepted nor refused.
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// Interval between warnings about that.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// Thread that accepts connections. Dropping it stops the thread.
#[derive(Debug)]
pub(crate) struct Acceptor {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Acceptor {
    /// Starts the thread. It gives each connection to `take`, which must not block for long. If the
    /// process has no file left, the connection is closed at once, and `refused` is called.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub(crate) fn start(
        name: &str,
        listener: TcpListener,
        take: impl Fn(TcpStream, SocketAddr) + Send + 'static,
        refused: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let spare = open_spare();
        let mut accepting = AcceptLoop { listener, take, refused, spare, warned: None };
        // ORDERING: relaxed, as nothing else is read because of the flag.
        let run = move || {
            while !stopping.load(Ordering::Relaxed) {
                accepting.accept();
            }
        };
        let thread = thread::Builder::new().name(name.into()).spawn(run)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Stops the thread. The address is free when this returns.
    pub(crate) fn stop(&mut self) {
        // ORDERING: as in `start`.
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its result is of no use, even if it panicked.
            let _ = thread.join();
        }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Spare file, which is closed to accept one more connection when no file is left.
fn open_spare() -> Option<File> {
    File::open("/dev/null").ok()
}

/// State of the thread.
struct AcceptLoop<T, R> {
    listener: TcpListener,
    take: T,
    refused: R,
    spare: Option<File>,
    /// Time of the last warning that connections are refused.
    warned: Option<Instant>,
}

impl<T: Fn(TcpStream, SocketAddr), R: Fn()> AcceptLoop<T, R> {
    /// Accepts a pending connection, or waits for a tick.
    fn accept(&mut self) {
        match self.listener.accept() {
            Ok((stream, peer)) => {
                // The stream inherits this on some systems.
                if stream.set_nonblocking(false).is_ok() {
                    (self.take)(stream, peer);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_pending(&TICK);
            }
            // The peer has gone again.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => self.refuse(&error),
        }
    }

    /// Waits up to `time`. Returns true if a connection is pending.
    fn is_pending(&self, time: &Timespec) -> bool {
        let mut fds = [PollFd::new(&self.listener, PollFlags::IN)];
        // The next `accept` reports any error of the listener.
        poll(&mut fds, Some(time)).is_ok_and(|ready| ready > 0)
    }

    /// Refuses a connection when no file is left: accepts it instead of the spare file and closes
    /// it, so that its peer knows at once and does not wait in the queue of the system.
    fn refuse(&mut self, error: &io::Error) {
        // Linux reports the lack of files even if no connection is pending. The spare file is
        // closed for a pending connection only: another listener of this process could take the
        // file.
        if !self.is_pending(&Timespec::default()) {
            self.is_pending(&TICK);
            return;
        }
        if self.warned.is_none_or(|warned| warned.elapsed() >= WARNING_INTERVAL) {
            tracing::warn!(
                %error,
                "connections are refused: no more files may be open (LimitNOFILE, ulimit -n)"
            );
            self.warned = Some(Instant::now());
        }
        let no_file = [Errno::MFILE, Errno::NFILE].map(|e| Some(e.raw_os_error()));
        let had_spare = self.spare.take().is_some();
        let is_closed =
            had_spare && no_file.contains(&error.raw_os_error()) && self.listener.accept().is_ok();
        self.spare = open_spare();
        if is_closed {
            (self.refused)();
        } else {
            thread::sleep(RETRY_DELAY);
        }
    }
}
