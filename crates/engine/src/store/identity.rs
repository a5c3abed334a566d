//! Which database this is: 128 random bits, so that backups of two databases are never mixed up.
//!
//! ```text
//!  IDENTITY   32 hexadecimal digits · space · their CRC-32, 8 digits · newline
//! ```
//!
//! Written once, when a database is made, restored, repaired or upgraded. A restored database gets
//! a new one: from its last commit on it is another database, and its backups form a chain of
//! their own.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::str::FromStr;
use std::{fmt, fs};

use crate::error::Error;
use crate::io::folder;

/// 128 random bits that name a database or a backup. Shown as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity(u128);

impl Identity {
    /// A new one.
    pub(crate) fn new() -> Self {
        // std seeds its hash tables from the system's randomness; time and process make up for a
        // system that gives the same twice.
        let half = |n: u8| {
            let seen = (n, std::time::SystemTime::now(), std::process::id());
            u128::from(RandomState::new().hash_one(seen))
        };
        Self(half(0) << 64 | half(1))
    }

    /// The bits, for files that say which database they are of.
    pub(crate) fn to_le_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Identity {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() != 32 || !text.bytes().all(digits) {
            return Err("an identity has 32 hexadecimal digits");
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| "not a hexadecimal number")
    }
}

fn encode(identity: Identity) -> String {
    let digits = identity.to_string();
    format!("{digits} {:08x}\n", crc32fast::hash(digits.as_bytes()))
}

/// Reads the content of an `IDENTITY` file.
pub(crate) fn decode(bytes: &[u8]) -> Result<Identity, &'static str> {
    let digits = bytes.get(..32).and_then(|d| std::str::from_utf8(d).ok());
    let identity: Identity = digits.ok_or("the file is too short")?.parse()?;
    if bytes != encode(identity).as_bytes() {
        return Err("the checksum does not fit");
    }
    Ok(identity)
}

/// Writes `root/IDENTITY`, durable.
pub(crate) fn write(root: &Path, identity: Identity) -> Result<(), Error> {
    let path = root.join("IDENTITY");
    let renaming = || {
        crate::failpoint!("store::identity_before_rename");
    };
    folder::replace(&path, encode(identity).as_bytes(), renaming)
        .map_err(Error::file("cannot write", &path))
}

/// Reads `root/IDENTITY`.
pub(crate) fn read(root: &Path) -> Result<Identity, Error> {
    let path = root.join("IDENTITY");
    let damaged = |reason: &str| Error::Damaged {
        path: path.clone(),
        place: "its text".into(),
        reason: reason.into(),
    };
    match fs::read(&path) {
        Ok(bytes) => decode(&bytes).map_err(damaged),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(damaged("the file is missing")),
        Err(e) => Err(Error::file("cannot read", &path)(e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_differ_and_come_back_as_written() {
        let (one, other) = (Identity::new(), Identity::new());
        assert_ne!(one, other);
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), one).unwrap();
        assert_eq!(read(dir.path()).unwrap(), one);
        assert_eq!(one.to_string().parse(), Ok(one));
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let text = encode(Identity(0x0123_4567_89AB_CDEF << 64 | 7)).into_bytes();
        assert_eq!(text.len(), 42);
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut changed = text.clone();
                changed[at] ^= 1 << bit;
                assert!(decode(&changed).is_err(), "bit {bit} of byte {at}");
            }
            assert!(decode(&text[..at]).is_err());
        }
    }
}
