//! A thread that takes connections in.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often it looks whether it is to stop.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long it waits when the process has no more files or memory for a connection.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// A thread that takes in whoever connects. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Acceptor {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Acceptor {
    /// Gives each connection that comes to `listener` to `take`, which must not block.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(crate) fn start(
        name: &str,
        listener: TcpListener,
        take: impl Fn(TcpStream, SocketAddr) + Send + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        // ORDERING: relaxed, as nothing else is read because of the flag.
        let run = move || {
            while !stopping.load(Ordering::Relaxed) {
                accept(&listener, &take);
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

/// Takes in what waits, or waits for a tick.
fn accept(listener: &TcpListener, take: &impl Fn(TcpStream, SocketAddr)) {
    match listener.accept() {
        Ok((stream, peer)) => {
            // It inherits this on some systems.
            if stream.set_nonblocking(false).is_ok() {
                take(stream, peer);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            // Whatever is wrong with it, the next `accept` says so.
            let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&TICK));
        }
        // The peer has gone again.
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
        Err(_) => thread::sleep(EXHAUSTED),
    }
}
