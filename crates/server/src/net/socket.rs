//! Connection, encrypted or not, with a deadline for reads and writes.

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

/// Encryption of connections.
#[derive(Debug, Clone, Default)]
pub(crate) enum Encryption {
    /// Never.
    #[default]
    Off,
    /// If the client starts a TLS handshake.
    Offered(Arc<ServerConfig>),
    /// Always.
    Required(Arc<ServerConfig>),
}

/// Time without data after which a read reports that the connection is idle.
pub(crate) const IDLE_AFTER: Duration = Duration::from_secs(1);
/// Interval at which a waiting thread checks whether its wait was cancelled.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Limits on waiting for the peer.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitLimit {
    /// Time at which every wait ends.
    pub(crate) deadline: Option<Instant>,
    /// Upper bound on the wait of one read or write.
    pub(crate) per_call: Option<Duration>,
    /// Flag that cancels the wait.
    pub(crate) cancelled: Option<Arc<AtomicBool>>,
}

/// Reason why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    /// The deadline has passed.
    TimedOut,
    /// The wait was cancelled.
    Cancelled,
}

impl WaitLimit {
    /// Limit by a deadline.
    pub(crate) fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// Limit for each read or write, if there is one.
    pub(crate) fn per_call(per_call: Option<Duration>) -> Self {
        Self { per_call, ..Self::default() }
    }

    fn is_cancelled(&self) -> bool {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.cancelled.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Reason to wait no more, if there is one.
    pub(crate) fn ended(&self) -> Option<WaitEnd> {
        match self.deadline {
            _ if self.is_cancelled() => Some(WaitEnd::Cancelled),
            Some(deadline) if Instant::now() >= deadline => Some(WaitEnd::TimedOut),
            _ => None,
        }
    }

    /// Time that a wait, which began at `since`, may go on before the next check; `None` for no
    /// limit.
    fn left(&self, since: impl FnOnce() -> Instant) -> io::Result<Option<Duration>> {
        if self.is_cancelled() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let tick = self.cancelled.as_ref().map(|_| TICK);
        // PERF: bolt.py, point read: no look at the clock where no time is limited.
        if self.deadline.is_none() && self.per_call.is_none() {
            return Ok(tick);
        }
        let ends = [self.deadline, self.per_call.and_then(|limit| since().checked_add(limit))];
        let Some(end) = ends.into_iter().flatten().min() else { return Ok(tick) };
        match end.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(tick.map_or(left, |tick| tick.min(left)))),
        }
    }
}

/// TCP connection with limits on waiting.
///
/// Reads block in the operating system, with a timeout. The timeout is set only when it becomes
/// shorter, or when a read has timed out before its limit. So a message costs one call, and the
/// timeout is not set twice for each transaction, in which waits are shorter than outside. The
/// clock of the system is coarse, so the limit is checked again after a timeout.
#[derive(Debug)]
struct Timed {
    tcp: Arc<TcpStream>,
    limit: WaitLimit,
    /// Read timeout that was set last.
    timeout: Option<Duration>,
    /// Time without data, summed over reads that timed out.
    idle: Duration,
    /// Start of the current wait. A read that reported an idle connection keeps it for the next.
    since: Option<Instant>,
    idle_report: IdleReport,
}

/// Report of an idle connection to its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdleReport {
    /// Off: an idle connection is not reported.
    Off,
    /// On: a read returns "would block" after [`IDLE_AFTER`].
    Armed,
    /// Reported: armed again once data has come.
    Reported,
}

/// Connection.
#[derive(Debug)]
pub(crate) struct Socket(Kind);

#[derive(Debug)]
enum Kind {
    Plain(Timed),
    Encrypted(Box<StreamOwned<ServerConnection, Timed>>),
}

impl Timed {
    fn new(tcp: Arc<TcpStream>, deadline: Instant) -> Self {
        let (limit, idle_report) = (WaitLimit::until(deadline), IdleReport::Off);
        Self { tcp, limit, timeout: None, idle: Duration::ZERO, since: None, idle_report }
    }

    /// Sets the read timeout, if it must become shorter, or if this read has timed out before.
    fn set_timeout(&mut self, again: bool) -> io::Result<()> {
        let since = &mut self.since;
        let limit = self.limit.left(|| *since.get_or_insert_with(Instant::now))?;
        let limit = match self.idle_report {
            IdleReport::Armed => Some(limit.map_or(IDLE_AFTER, |limit| limit.min(IDLE_AFTER))),
            IdleReport::Off | IdleReport::Reported => limit,
        };
        let is_shorter =
            limit.is_some_and(|limit| self.timeout.is_none_or(|timeout| limit < timeout));
        if is_shorter || (again && limit != self.timeout) {
            self.tcp.set_read_timeout(limit)?;
            self.timeout = limit;
            #[cfg(test)]
            TIMEOUTS_SET.set(TIMEOUTS_SET.get() + 1);
        }
        Ok(())
    }

    /// Reads, and waits until the limits end the wait.
    fn wait(&mut self, mut read: impl FnMut(&TcpStream) -> io::Result<usize>) -> io::Result<usize> {
        let mut again = false;
        loop {
            self.set_timeout(again)?;
            again = true;
            match read(&self.tcp) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.idle += self.timeout.unwrap_or_default();
                    if self.idle_report == IdleReport::Armed && self.idle >= IDLE_AFTER {
                        self.idle_report = IdleReport::Reported;
                        return Err(error);
                    }
                }
                done => {
                    (self.since, self.idle) = (None, Duration::ZERO);
                    if self.idle_report == IdleReport::Reported {
                        self.idle_report = IdleReport::Armed;
                    }
                    return done;
                }
            }
        }
    }

    /// Waits until the socket can be written, or until the next check of the limits.
    fn wait_for_room(&self, since: Instant) -> io::Result<()> {
        let left = self.limit.left(|| since)?.map(Timespec::try_from).transpose();
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
    /// Writes what the socket takes at once, even after the deadline: the deadline limits waiting
    /// only, and the peer must still get the error about it.
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
    /// Opens a connection. The first byte tells whether the client starts a TLS handshake.
    ///
    /// # Errors
    /// If the client sends nothing until the deadline, or does not encrypt where it must.
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

    /// Sets the limits on waiting for the peer.
    pub(crate) fn set_wait_limit(&mut self, limit: WaitLimit) {
        let timed = self.timed();
        (timed.limit, timed.since) = (limit, None);
    }

    /// Limits on waiting for the peer.
    pub(crate) fn wait_limit(&mut self) -> &WaitLimit {
        &self.timed().limit
    }

    /// Makes a read return "would block" once after [`IDLE_AFTER`] without data, so that the reader
    /// can free memory before it waits on.
    pub(crate) fn report_idle(&mut self) {
        self.timed().idle_report = IdleReport::Armed;
    }

    /// Reads available data without waiting; `None` if there is none. 0 bytes mean that the
    /// connection has ended.
    ///
    /// # Errors
    /// Errors of the connection.
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

    /// Ends the connection for writing.
    pub(crate) fn finish(&mut self) {
        // Errors do not matter: the peer may have closed the connection.
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
    /// Number of times that the read timeout was set.
    static TIMEOUTS_SET: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
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
        own.idle_report = IdleReport::Armed;
        (peer, own)
    }

    #[test]
    fn limits_that_take_turns_set_the_timeout_once() {
        const TURNS: usize = 10;
        let (mut peer, mut own) = pair();
        peer.write_all(&[1; 2 * TURNS]).unwrap();
        TIMEOUTS_SET.set(0);
        let inside = WaitLimit { cancelled: Some(Arc::default()), ..WaitLimit::default() };
        for _ in 0..TURNS {
            for limit in [WaitLimit::default(), inside.clone()] {
                own.limit = limit;
                assert_eq!(own.read(&mut [0]).unwrap(), 1);
            }
        }
        assert_eq!(TIMEOUTS_SET.get(), 2, "one second, then a tick");
    }

    #[test]
    fn a_read_waits_as_long_as_it_may_after_shorter_limits() {
        let (mut peer, mut own) = pair();
        peer.write_all(&[1]).unwrap();
        own.limit = WaitLimit { cancelled: Some(Arc::default()), ..WaitLimit::default() };
        assert_eq!(own.read(&mut [0]).unwrap(), 1);
        assert_eq!(own.timeout, Some(TICK));

        let (limit, begun) = (6 * TICK, Instant::now());
        own.idle_report = IdleReport::Off;
        own.limit = WaitLimit::until(begun + limit);
        assert_eq!(own.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= limit, "{:?}", begun.elapsed());

        let late = std::thread::spawn(move || {
            std::thread::sleep(4 * TICK);
            peer.write_all(&[1]).unwrap();
            peer
        });
        own.limit = WaitLimit::default();
        own.timeout = Some(TICK);
        own.tcp.set_read_timeout(own.timeout).unwrap();
        assert_eq!(own.read(&mut [0]).unwrap(), 1);
        assert_eq!(own.timeout, None, "it waited longer than before");
        drop(late.join().unwrap());
    }
}
