//! A connection, encrypted or not, whose reads and writes end at a deadline.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// First byte of a TLS connection: a record with a handshake in it.
const TLS_HANDSHAKE: u8 = 0x16;

/// Whether connections are encrypted.
#[derive(Debug, Clone, Default)]
pub(crate) enum Encryption {
    /// Never.
    #[default]
    Off,
    /// If the client wants it.
    Offered(Arc<ServerConfig>),
    /// Always.
    Required(Arc<ServerConfig>),
}

/// How long nothing comes before a reader that wants to know hears of it.
pub(crate) const QUIET: Duration = Duration::from_secs(1);
/// How often somebody who waits looks whether that was ended from outside.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// For how long the peer is waited for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patience {
    /// When waiting ends, whatever was done until then.
    pub(crate) deadline: Option<Instant>,
    /// How long one read or write may wait.
    pub(crate) each: Option<Duration>,
    /// Set from outside to end it.
    pub(crate) ended: Option<Arc<AtomicBool>>,
}

/// Why nobody waits any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// The deadline has passed.
    Late,
    /// It was ended from outside.
    Ended,
}

impl Patience {
    /// Until then.
    pub(crate) fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// So long for each read or write, if there is a limit.
    pub(crate) fn each(each: Option<Duration>) -> Self {
        Self { each, ..Self::default() }
    }

    fn is_ended(&self) -> bool {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.ended.as_ref().is_some_and(|ended| ended.load(Ordering::Relaxed))
    }

    /// Whether, and why, nothing is to be waited for any more.
    pub(crate) fn over(&self) -> Option<Over> {
        match self.deadline {
            _ if self.is_ended() => Some(Over::Ended),
            Some(deadline) if Instant::now() >= deadline => Some(Over::Late),
            _ => None,
        }
    }

    /// How long somebody who has waited since then may still wait, and looks again after.
    fn left(&self, since: impl FnOnce() -> Instant) -> io::Result<Option<Duration>> {
        if self.is_ended() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let tick = self.ended.as_ref().map(|_| TICK);
        // PERF: bolt.py, point read: no look at the clock where no time is limited.
        if self.deadline.is_none() && self.each.is_none() {
            return Ok(tick);
        }
        let ends = [self.deadline, self.each.and_then(|each| since().checked_add(each))];
        let Some(end) = ends.into_iter().flatten().min() else { return Ok(tick) };
        match end.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(tick.map_or(left, |tick| tick.min(left)))),
        }
    }
}

/// A TCP connection that knows how long it may take.
///
/// Reads wait in the operating system, which is told how long when that becomes shorter, or when a
/// wait was shorter than it might have been: not for each read, so that a message costs one call,
/// and not twice for each transaction, inside of which waits are shorter than outside. Its clock is
/// coarse, so what it calls too long is looked at again here.
#[derive(Debug)]
struct Timed {
    tcp: Arc<TcpStream>,
    patience: Patience,
    /// How long the operating system was told last to wait for something to read.
    told: Option<Duration>,
    /// How long nothing has come, in waits of the operating system.
    silent: Duration,
    /// Since when a read waits whose reader heard that it is quiet, and tried again.
    since: Option<Instant>,
    quiet: Quiet,
}

/// What a reader hears of silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quiet {
    /// Nothing.
    Untold,
    /// "Would block", after [`QUIET`].
    ToBeTold,
    /// It has heard that; more once something has come.
    Told,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Socket(Kind);

#[derive(Debug)]
enum Kind {
    Plain(Timed),
    Encrypted(Box<StreamOwned<ServerConnection, Timed>>),
}

impl Timed {
    fn new(tcp: Arc<TcpStream>, deadline: Instant) -> Self {
        let (patience, quiet) = (Patience::until(deadline), Quiet::Untold);
        Self { tcp, patience, told: None, silent: Duration::ZERO, since: None, quiet }
    }

    /// Tells the operating system how long the next read may wait, if it would wait longer, or has
    /// waited for this read before.
    fn limit(&mut self, again: bool) -> io::Result<()> {
        let since = &mut self.since;
        let limit = self.patience.left(|| *since.get_or_insert_with(Instant::now))?;
        let limit = match self.quiet {
            Quiet::ToBeTold => Some(limit.map_or(QUIET, |limit| limit.min(QUIET))),
            Quiet::Untold | Quiet::Told => limit,
        };
        let is_shorter = limit.is_some_and(|limit| self.told.is_none_or(|told| limit < told));
        if is_shorter || (again && limit != self.told) {
            self.tcp.set_read_timeout(limit)?;
            self.told = limit;
            #[cfg(test)]
            TOLD.set(TOLD.get() + 1);
        }
        Ok(())
    }

    /// Reads, with as many waits as the limits allow.
    fn wait(&mut self, mut read: impl FnMut(&TcpStream) -> io::Result<usize>) -> io::Result<usize> {
        let mut again = false;
        loop {
            self.limit(again)?;
            again = true;
            match read(&self.tcp) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.silent += self.told.unwrap_or_default();
                    if self.quiet == Quiet::ToBeTold && self.silent >= QUIET {
                        self.quiet = Quiet::Told;
                        return Err(error);
                    }
                }
                done => {
                    (self.since, self.silent) = (None, Duration::ZERO);
                    if self.quiet == Quiet::Told {
                        self.quiet = Quiet::ToBeTold;
                    }
                    return done;
                }
            }
        }
    }

    /// Waits until something can be written, or it is time to look again.
    fn wait_for_room(&self, since: Instant) -> io::Result<()> {
        let left = self.patience.left(|| since)?.map(Timespec::try_from).transpose();
        let left = left.map_err(io::Error::other)?;
        poll(&mut [PollFd::new(&*self.tcp, PollFlags::OUT)], left.as_ref())?;
        Ok(())
    }
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.wait(|mut tcp| tcp.read(into))
    }
}

impl Write for Timed {
    /// Writes what there is room for at once, even after the deadline: it limits waiting, and what
    /// a peer is told about it must come through.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut since = None;
        loop {
            match send(&*self.tcp, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(written) => return Ok(written),
                Err(Errno::AGAIN) => {
                    self.wait_for_room(*since.get_or_insert_with(Instant::now))?;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket {
    /// Looks at the first byte to see whether the client wants encryption.
    ///
    /// # Errors
    /// If the client does not say anything until the deadline, or wants what is not to be had.
    pub(crate) fn open(
        tcp: Arc<TcpStream>,
        encryption: &Encryption,
        deadline: Instant,
    ) -> io::Result<Self> {
        let mut timed = Timed::new(tcp, deadline);
        let config = match encryption {
            Encryption::Off => return Ok(Self(Kind::Plain(timed))),
            Encryption::Offered(config) | Encryption::Required(config) => config,
        };
        let mut first = [0];
        timed.wait(|tcp| tcp.peek(&mut first))?;
        match encryption {
            _ if first[0] == TLS_HANDSHAKE => {
                let tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                Ok(Self(Kind::Encrypted(Box::new(StreamOwned::new(tls, timed)))))
            }
            Encryption::Required(_) => Err(io::ErrorKind::ConnectionRefused.into()),
            _ => Ok(Self(Kind::Plain(timed))),
        }
    }

    fn timed(&mut self) -> &mut Timed {
        match &mut self.0 {
            Kind::Plain(timed) => timed,
            Kind::Encrypted(stream) => &mut stream.sock,
        }
    }

    /// How long the peer is waited for from now on.
    pub(crate) fn set_patience(&mut self, patience: Patience) {
        let timed = self.timed();
        (timed.patience, timed.since) = (patience, None);
    }

    /// How long it is.
    pub(crate) fn patience(&mut self) -> &Patience {
        &self.timed().patience
    }

    /// From now on, a read during which nothing comes for [`QUIET`] says once "would block", so
    /// that its reader can put things away before it waits on.
    pub(crate) fn tell_quiet(&mut self) {
        self.timed().quiet = Quiet::ToBeTold;
    }

    /// Reads what is there without waiting; `None` if there is nothing.
    ///
    /// # Errors
    /// Those of the connection; 0 bytes mean that it has ended.
    pub(crate) fn read_ready(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        if let Kind::Encrypted(stream) = &mut self.0 {
            // Some may have been decrypted already.
            if let Some(read) = decrypted(&mut stream.conn, into)? {
                return Ok(Some(read));
            }
        }
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ready = |tcp: &TcpStream| poll(&mut [PollFd::new(tcp, PollFlags::IN)], Some(&now));
        if ready(&self.timed().tcp)? == 0 {
            return Ok(None);
        }
        match &mut self.0 {
            Kind::Plain(timed) => (&*timed.tcp).read(into).map(Some),
            Kind::Encrypted(stream) => {
                if stream.conn.read_tls(&mut &*stream.sock.tcp)? == 0 {
                    return Ok(Some(0));
                }
                stream.conn.process_new_packets().map_err(io::Error::other)?;
                decrypted(&mut stream.conn, into)
            }
        }
    }

    /// Says that nothing more will be said.
    pub(crate) fn finish(&mut self) {
        // The peer may be gone, and then there is nobody to tell.
        if let Kind::Encrypted(stream) = &mut self.0 {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
        let _ = self.timed().tcp.shutdown(Shutdown::Write);
    }
}

fn decrypted(tls: &mut ServerConnection, into: &mut [u8]) -> io::Result<Option<usize>> {
    match tls.reader().read(into) {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Plain(timed) => timed.read(into),
            Kind::Encrypted(stream) => stream.read(into),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Plain(timed) => timed.write(bytes),
            Kind::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Plain(timed) => timed.flush(),
            Kind::Encrypted(stream) => stream.flush(),
        }
    }
}

#[cfg(test)]
thread_local! {
    /// Times that the operating system was told how long to wait.
    static TOLD: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (TcpStream, Timed) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (tcp, _) = listener.accept().unwrap();
        let mut own = Timed::new(Arc::new(tcp), Instant::now() + Duration::from_secs(60));
        own.quiet = Quiet::ToBeTold;
        (peer, own)
    }

    #[test]
    fn limits_that_take_turns_are_told_to_the_system_once() {
        const TURNS: usize = 10;
        let (mut peer, mut own) = pair();
        peer.write_all(&[1; 2 * TURNS]).unwrap();
        TOLD.set(0);
        let inside = Patience { ended: Some(Arc::default()), ..Patience::default() };
        for _ in 0..TURNS {
            for patience in [Patience::default(), inside.clone()] {
                own.patience = patience;
                assert_eq!(own.read(&mut [0]).unwrap(), 1);
            }
        }
        assert_eq!(TOLD.get(), 2, "one second, then a tick");
    }

    #[test]
    fn a_read_waits_as_long_as_it_may_after_shorter_limits() {
        let (mut peer, mut own) = pair();
        peer.write_all(&[1]).unwrap();
        own.patience = Patience { ended: Some(Arc::default()), ..Patience::default() };
        assert_eq!(own.read(&mut [0]).unwrap(), 1);
        assert_eq!(own.told, Some(TICK));

        let (limit, begun) = (6 * TICK, Instant::now());
        own.quiet = Quiet::Untold;
        own.patience = Patience::until(begun + limit);
        assert_eq!(own.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= limit, "{:?}", begun.elapsed());

        let late = std::thread::spawn(move || {
            std::thread::sleep(4 * TICK);
            peer.write_all(&[1]).unwrap();
            peer
        });
        own.patience = Patience::default();
        own.told = Some(TICK);
        own.tcp.set_read_timeout(own.told).unwrap();
        assert_eq!(own.read(&mut [0]).unwrap(), 1);
        assert_eq!(own.told, None, "it waited longer than before");
        drop(late.join().unwrap());
    }
}
