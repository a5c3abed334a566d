//! Tells a service manager how the server is: a word to the socket that `NOTIFY_SOCKET` names, as
//! sd_notify(3) describes it. Without one, nobody wants to know.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Clients can connect.
pub(super) fn ready() {
    tell("READY=1");
}

/// The server is about to end.
pub(super) fn stopping() {
    tell("STOPPING=1");
}

fn tell(word: &str) {
    if let Ok(name) = std::env::var("NOTIFY_SOCKET")
        && let Err(error) = send(&name, word)
    {
        tracing::warn!(%error, "cannot tell the service manager: {word}");
    }
}

/// A name that begins with `@` is not in the file system.
fn send(name: &str, word: &str) -> std::io::Result<()> {
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.send(word.as_bytes()).map(drop)
}

#[test]
fn words_arrive_at_both_kinds_of_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let name = format!("telar-test-{}", std::process::id());
    let places = [
        (path.display().to_string(), UnixDatagram::bind(&path).unwrap()),
        (format!("@{name}"), {
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap()
        }),
    ];
    for (name, socket) in places {
        send(&name, "READY=1").unwrap();
        let mut bytes = [0; 16];
        let length = socket.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"READY=1");
    }
}
