//! Connection, encrypted or not, with a deadline for reads and writes.
//!
//! ```text
//!  Socket ── WebSocket frames, after an upgrade ── Stream: TLS or none ── Timed: limits on waiting
//! ```

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::websocket::Frames;

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

/// Upper bound on reads at once that may find nothing but control frames.
const READS_MAX: usize = 64;

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
    /// Set once the connection is one of WebSocket.
    shutter: Option<Arc<Shutter>>,
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

/// Interval at which a thread that waits to write looks whether the connection is closed.
const CLOSE_TICK: Duration = Duration::from_millis(250);

/// Handle by which other threads close a connection.
///
/// A connection of WebSocket is closed for reading only, so that its thread wakes and can send a
/// close frame; everything else that the thread would send or wait for fails.
#[derive(Debug)]
pub(crate) struct Shutter {
    tcp: Arc<TcpStream>,
    is_websocket: AtomicBool,
    closed: AtomicBool,
}

// ORDERING: sequentially consistent: a closed connection that becomes one of WebSocket meanwhile is
// shut for both directions, or its thread sees that it is closed.
impl Shutter {
    pub(crate) fn new(tcp: Arc<TcpStream>) -> Self {
        let [is_websocket, closed] = [false; 2].map(AtomicBool::new);
        Self { tcp, is_websocket, closed }
    }

    /// Ends waiting for the peer's next bytes.
    pub(crate) fn close_reading(&self) {
        // If it is closed already, all the better.
        let _ = self.tcp.shutdown(Shutdown::Read);
    }

    /// Closes the connection, whatever its thread does.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if self.is_websocket() {
            self.close_reading();
        } else {
            let _ = self.tcp.shutdown(Shutdown::Both);
        }
    }

    /// True once the connection is one of WebSocket.
    pub(crate) fn is_websocket(&self) -> bool {
        self.is_websocket.load(Ordering::SeqCst)
    }

    /// True once the connection is [closed](Self::close).
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

/// Connection.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    /// Frames in which the bytes lie, if the connection is one of WebSocket.
    frames: Option<Box<Frames>>,
    /// True if the client had to encrypt and did not: it can only be told so.
    must_encrypt: bool,
}

/// Bytes of the operating system, encrypted or not.
#[derive(Debug)]
enum Stream {
    Plain(Timed),
    Encrypted(Box<StreamOwned<ServerConnection, Timed>>),
}

impl Timed {
    fn new(tcp: Arc<TcpStream>, deadline: Instant) -> Self {
        let (limit, idle_report) = (WaitLimit::until(deadline), IdleReport::Off);
        let (idle, shutter) = (Duration::ZERO, None);
        Self { tcp, limit, timeout: None, idle, since: None, idle_report, shutter }
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
        let left = self.limit.left(|| since)?;
        let left = match &self.shutter {
            Some(shutter) if shutter.is_closed() => {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            Some(_) => Some(left.map_or(CLOSE_TICK, |left| left.min(CLOSE_TICK))),
            None => left,
        };
        let left = left.map(Timespec::try_from).transpose();
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

impl Timed {
    /// Writes what the socket takes at once; "would block" if that is nothing.
    fn write_ready(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(&*self.tcp, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }
}

/// Timed without waiting, for writes of TLS.
struct Ready<'t>(&'t Timed);

impl Write for Ready<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_ready(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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

impl Stream {
    fn timed(&mut self) -> &mut Timed {
        match self {
            Self::Plain(timed) => timed,
            Self::Encrypted(stream) => &mut stream.sock,
        }
    }

    /// Reads available data without waiting; `None` if there is none. 0 bytes mean that the
    /// connection has ended.
    fn read_ready(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        if let Self::Encrypted(stream) = self {
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
        match self {
            Self::Plain(timed) => (&*timed.tcp).read(into).map(Some),
            Self::Encrypted(stream) => {
                if stream.conn.read_tls(&mut &*stream.sock.tcp)? == 0 {
                    return Ok(Some(0));
                }
                stream.conn.process_new_packets().map_err(io::Error::other)?;
                decrypted(&mut stream.conn, into)
            }
        }
    }

    /// Writes what the connection takes without waiting; "would block" if that is nothing.
    fn write_ready(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let stream = match self {
            Self::Plain(timed) => return timed.write_ready(bytes),
            Self::Encrypted(stream) => stream,
        };
        let StreamOwned { conn, sock } = &mut **stream;
        while conn.wants_write() {
            conn.write_tls(&mut Ready(sock))?;
        }
        let written = conn.writer().write(bytes)?;
        // They are the connection's now; the next write goes on with what is left.
        while conn.wants_write() && conn.write_tls(&mut Ready(sock)).is_ok() {}
        Ok(written)
    }

    /// Ends the connection for writing.
    fn finish(&mut self) {
        // Errors do not matter: the peer may have closed the connection.
        if let Self::Encrypted(stream) = self {
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

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(timed) => timed.read(into),
            Self::Encrypted(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(timed) => timed.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(timed) => timed.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}

impl Socket {
    /// Opens a connection. The first byte tells whether the client starts a TLS handshake.
    ///
    /// # Errors
    /// If the client sends nothing until the deadline, or does not encrypt where it must, unless it
    /// may be a client of HTTP, which can be [told so](Self::must_encrypt).
    pub(crate) fn open(
        tcp: Arc<TcpStream>,
        encryption: &Encryption,
        deadline: Instant,
    ) -> io::Result<Self> {
        let of = |stream, must_encrypt| Ok(Self { stream, frames: None, must_encrypt });
        let mut timed = Timed::new(tcp, deadline);
        let config = match encryption {
            Encryption::Off => return of(Stream::Plain(timed), false),
            Encryption::Offered(config) | Encryption::Required(config) => config,
        };
        let mut first = [0];
        timed.wait(|tcp| tcp.peek(&mut first))?;
        match encryption {
            _ if first[0] == TLS_HANDSHAKE => {
                let tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                of(Stream::Encrypted(Box::new(StreamOwned::new(tls, timed))), false)
            }
            Encryption::Required(_) if !first[0].is_ascii_uppercase() => {
                Err(io::ErrorKind::ConnectionRefused.into())
            }
            Encryption::Required(_) => of(Stream::Plain(timed), true),
            _ => of(Stream::Plain(timed), false),
        }
    }

    /// True if the client had to encrypt and did not. Such a connection must end with an answer
    /// that says so.
    pub(crate) fn must_encrypt(&self) -> bool {
        self.must_encrypt
    }

    /// Address at which the connection came in.
    ///
    /// # Errors
    /// If the connection has ended.
    pub(crate) fn local_address(&mut self) -> io::Result<SocketAddr> {
        self.stream.timed().tcp.local_addr()
    }

    /// Makes the connection one of WebSocket: sends `answer`, and all that follows in frames.
    pub(crate) fn upgrade(&mut self, answer: &[u8], shutter: &Arc<Shutter>) -> io::Result<()> {
        self.write_all(answer)?;
        self.flush()?;
        shutter.is_websocket.store(true, Ordering::SeqCst);
        self.stream.timed().shutter = Some(Arc::clone(shutter));
        self.frames = Some(Box::new(Frames::new()));
        Ok(())
    }

    /// Sets the limits on waiting for the peer.
    pub(crate) fn set_wait_limit(&mut self, limit: WaitLimit) {
        let timed = self.stream.timed();
        (timed.limit, timed.since) = (limit, None);
    }

    /// Limits on waiting for the peer.
    pub(crate) fn wait_limit(&mut self) -> &WaitLimit {
        &self.stream.timed().limit
    }

    /// Makes a read return "would block" once after [`IDLE_AFTER`] without data, so that the reader
    /// can free memory before it waits on.
    pub(crate) fn report_idle(&mut self) {
        self.stream.timed().idle_report = IdleReport::Armed;
    }

    /// Reads available data without waiting; `None` if there is none. 0 bytes mean that the
    /// connection has ended. Pings are answered, as far as that needs no waiting.
    ///
    /// # Errors
    /// Errors of the connection.
    pub(crate) fn read_ready(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        for _ in 0..READS_MAX {
            let Some(frames) = &mut self.frames else { return self.stream.read_ready(into) };
            if frames.has_ended() {
                return Ok(Some(0));
            }
            let Some(read) = self.stream.read_ready(into)? else { break };
            if read == 0 {
                return Ok(Some(0));
            }
            let decoded = frames.decode(&mut into[..read]);
            self.send_ready()?;
            if decoded > 0 {
                return Ok(Some(decoded));
            }
        }
        Ok(None)
    }

    /// Sends frames that are due, as far as the connection takes them without waiting.
    fn send_ready(&mut self) -> io::Result<()> {
        let Some(frames) = &mut self.frames else { return Ok(()) };
        loop {
            let unsent = frames.unsent();
            if unsent.is_empty() {
                return Ok(());
            }
            match self.stream.write_ready(unsent) {
                Ok(0) => return Ok(()),
                Ok(sent) => frames.sent(sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends frames that are due, within the limits on waiting.
    fn send(stream: &mut Stream, frames: &mut Frames) -> io::Result<()> {
        loop {
            let unsent = frames.unsent();
            if unsent.is_empty() {
                return Ok(());
            }
            match stream.write(unsent) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => frames.sent(sent),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends the connection for writing; over WebSocket with a close frame of this status, if the
    /// connection takes it without waiting.
    pub(crate) fn finish(&mut self, status: u16) {
        if let Some(frames) = &mut self.frames {
            frames.close(status);
            // Errors do not matter: the peer may have closed the connection.
            let _ = self.send_ready();
        }
        self.stream.finish();
    }

    /// True if the peer of a finished connection may still want to read, and be answered by the
    /// system with a reset for what it sends meanwhile: one of WebSocket closes the connection once
    /// it has read the close frame.
    pub(crate) fn should_linger(&self) -> bool {
        self.frames.as_ref().is_some_and(|frames| !frames.is_closed_by_client())
    }

    /// Throws away what still comes in on a finished connection, for a moment: if the system had to
    /// refuse it, the peer might never see the last answers.
    pub(crate) fn linger(&mut self) {
        const MOMENT: Duration = Duration::from_secs(1);
        const BYTES_MAX: usize = 64 << 20;
        self.set_wait_limit(WaitLimit::until(Instant::now() + MOMENT));
        let (mut thrown_away, mut into) = (0, vec![0; 16 << 10]);
        while let Ok(bytes @ 1..) = self.stream.read(&mut into)
            && thrown_away < BYTES_MAX
        {
            thrown_away += bytes;
        }
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(frames) = &mut self.frames else { return self.stream.read(into) };
            if frames.has_ended() {
                return Ok(0);
            }
            Self::send(&mut self.stream, frames)?;
            let read = self.stream.read(into)?;
            let decoded = frames.decode(&mut into[..read]);
            self.send_ready()?;
            if decoded > 0 || read == 0 {
                return Ok(decoded);
            }
        }
    }
}

impl Write for Socket {
    /// Over WebSocket, what is taken is sent with the next write or flush at the latest, even if
    /// waiting ends before.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(frames) = &mut self.frames else { return self.stream.write(bytes) };
        let is_closed = self.stream.timed().shutter.as_ref().is_some_and(|s| s.is_closed());
        if is_closed || frames.is_closing() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Self::send(&mut self.stream, frames)?;
        let taken = frames.pack(bytes);
        // The next call hears of an error: the bytes are taken.
        let _ = Self::send(&mut self.stream, frames);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(frames) = &mut self.frames {
            Self::send(&mut self.stream, frames)?;
        }
        self.stream.flush()
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

        own.limit = WaitLimit::default();
        own.timeout = Some(TICK);
        own.tcp.set_read_timeout(own.timeout).unwrap();
        let read = own.wait(|mut tcp| {
            let read = tcp.read(&mut [0]);
            if read.is_err() {
                peer.write_all(&[1]).unwrap();
            }
            read
        });
        assert_eq!(read.unwrap(), 1);
        assert_eq!(own.timeout, None, "it waited longer than before");
    }
}
