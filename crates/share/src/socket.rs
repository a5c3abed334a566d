//! The socket beside the files of a database.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Its name in the folder.
pub(crate) const NAME: &str = "share.sock";
/// Longest path that a socket has on every system.
const PATH_BYTES_MAX: usize = 100;

/// Opens the socket of a folder, whose path may be longer than those of sockets are.
pub(crate) fn at<T>(folder: &Path, open: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = folder.join(NAME);
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        return open(&path);
    }
    let held = File::open(folder)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    open(&short.join(NAME))
}

/// Removes the socket of a process that has ended.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(NAME)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Whether the other end is a process of this user. One of the administrator is not: what it wrote
/// as the next owner would be the administrator's.
pub(crate) fn is_of(stream: &UnixStream, user: u32) -> bool {
    #[cfg(target_os = "linux")]
    {
        let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else { return false };
        peer.uid.as_raw() == user
    }
    // Elsewhere the permissions of the socket have to do.
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (stream, user);
        true
    }
}
