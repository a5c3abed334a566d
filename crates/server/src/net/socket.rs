//! A connection, encrypted or not, whose reads and writes end at a deadline.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
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

/// A TCP connection that knows how long it may take.
#[derive(Debug)]
struct Timed {
    tcp: TcpStream,
    /// When reading and writing end, whatever was done until then.
    deadline: Option<Instant>,
    /// How long one read or write may take.
    patience: Option<Duration>,
    /// What the operating system was told last.
    told: Option<Duration>,
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
    /// Tells the operating system how long the next read or write may take.
    fn limit(&mut self) -> io::Result<()> {
        let left = match self.deadline {
            None => None,
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Some(left)
            }
        };
        let limit = left.into_iter().chain(self.patience).min();
        if limit != self.told {
            self.tcp.set_read_timeout(limit)?;
            self.tcp.set_write_timeout(limit)?;
            self.told = limit;
        }
        Ok(())
    }
}

/// What the operating system calls "would block" has taken too long here.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.limit()?;
        self.tcp.read(into).map_err(timed_out)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.limit()?;
        self.tcp.write(bytes).map_err(timed_out)
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
        tcp: TcpStream,
        encryption: &Encryption,
        deadline: Instant,
    ) -> io::Result<Self> {
        let mut timed = Timed { tcp, deadline: Some(deadline), patience: None, told: None };
        let config = match encryption {
            Encryption::Off => return Ok(Self(Kind::Plain(timed))),
            Encryption::Offered(config) | Encryption::Required(config) => config,
        };
        timed.limit()?;
        let mut first = [0];
        timed.tcp.peek(&mut first).map_err(timed_out)?;
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

    /// From now on, everything ends at `deadline` and nothing takes longer than `patience`.
    pub(crate) fn set_limits(&mut self, deadline: Option<Instant>, patience: Option<Duration>) {
        let timed = self.timed();
        (timed.deadline, timed.patience) = (deadline, patience);
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
            Kind::Plain(timed) => timed.tcp.read(into).map(Some),
            Kind::Encrypted(stream) => {
                if stream.conn.read_tls(&mut stream.sock.tcp)? == 0 {
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
