//! Versions of the protocol, and how two sides agree on one.
//!
//! ```text
//! client  60 60 B0 17, then four proposals of 4 bytes:  00, range, minor, major
//! server  the version:  00 00 minor major;  nothing in common: 00 00 00 00, and the end
//! ```
//!
//! A proposal means `range` minor versions below its own, too. The proposal 00 00 01 FF asks for
//! the manifest instead:
//!
//! ```text
//! server  00 00 01 FF, number of offers (varint), the offers like proposals, capabilities (varint)
//! client  the version it chose, its capabilities (varint)
//! ```

use std::io::{self, Read, Write};
use std::ops::RangeInclusive;

/// First bytes of every connection.
pub(crate) const MAGIC: [u8; 4] = [0x60, 0x60, 0xB0, 0x17];
/// The proposal, and the answer, that stands for the manifest.
const MANIFEST: [u8; 4] = [0, 0, 1, 0xFF];
/// Bytes that a number of 64 bits takes at most, 7 bits in each.
const VARINT_BYTES_MAX: usize = 10;

/// What is spoken: major versions, and the minor ones of each.
const SPOKEN: [(u8, RangeInclusive<u8>); 3] = [(6, 0..=0), (5, 0..=8), (4, 3..=4)];

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// What breaks clients.
    pub major: u8,
    /// What does not.
    pub minor: u8,
}

impl Version {
    /// A version.
    #[must_use]
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// Every version that is spoken, the newest first.
    pub fn spoken() -> impl Iterator<Item = Self> {
        SPOKEN
            .into_iter()
            .flat_map(|(major, minors)| minors.rev().map(move |minor| Self { major, minor }))
    }

    fn is_spoken(self) -> bool {
        SPOKEN.iter().any(|(major, minors)| *major == self.major && minors.contains(&self.minor))
    }

    /// The newest version that is spoken and that a proposal means.
    fn of_proposal([_, range, minor, major]: [u8; 4]) -> Option<Self> {
        let meant = (minor.saturating_sub(range)..=minor).rev();
        meant.map(|minor| Self { major, minor }).find(|version| version.is_spoken())
    }
}

/// Agrees with a client, whose first bytes were [`MAGIC`], on a version; `None` if there is none
/// that both speak.
///
/// # Errors
/// Those of the connection.
pub(crate) fn agree(stream: &mut (impl Read + Write)) -> io::Result<Option<Version>> {
    let mut proposals = [[0; 4]; 4];
    stream.read_exact(proposals.as_flattened_mut())?;
    for proposal in proposals {
        if proposal == MANIFEST {
            return by_manifest(stream);
        }
        if let Some(version) = Version::of_proposal(proposal) {
            stream.write_all(&[0, 0, version.minor, version.major])?;
            stream.flush()?;
            return Ok(Some(version));
        }
    }
    stream.write_all(&[0; 4])?;
    stream.flush()?;
    Ok(None)
}

fn by_manifest(stream: &mut (impl Read + Write)) -> io::Result<Option<Version>> {
    let mut offers = MANIFEST.to_vec();
    offers.push(SPOKEN.len() as u8);
    for (major, minors) in SPOKEN {
        offers.extend([0, minors.end() - minors.start(), *minors.end(), major]);
    }
    // No capabilities.
    offers.push(0);
    stream.write_all(&offers)?;
    stream.flush()?;
    let mut chosen = [0; 4];
    stream.read_exact(&mut chosen)?;
    let mut byte = [0x80];
    for _ in 0..VARINT_BYTES_MAX {
        if byte[0] & 0x80 != 0 {
            stream.read_exact(&mut byte)?;
        }
    }
    let version = Version { major: chosen[3], minor: chosen[2] };
    let sane = chosen[..2] == [0, 0] && byte[0] & 0x80 == 0;
    Ok(Some(version).filter(|version| sane && version.is_spoken()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was said to the server, and what it said.
    struct Talk(io::Cursor<Vec<u8>>, Vec<u8>);

    impl Read for Talk {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(into)
        }
    }

    impl Write for Talk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn answer(said: &[[u8; 4]], rest: &[u8]) -> (io::Result<Option<Version>>, Vec<u8>) {
        let mut talk = Talk(io::Cursor::new([said.as_flattened(), rest].concat()), Vec::new());
        (agree(&mut talk), talk.1)
    }

    fn chosen(proposals: [[u8; 4]; 4]) -> Option<(u8, u8)> {
        let (version, answered) = answer(&proposals, &[]);
        let version = version.unwrap().map(|v| (v.major, v.minor));
        let (major, minor) = version.unwrap_or_default();
        assert_eq!(answered, [0, 0, minor, major]);
        version
    }

    #[test]
    fn the_first_proposal_that_can_be_met_is() {
        let none = [0; 4];
        assert_eq!(chosen([[0, 8, 8, 5], [0, 2, 4, 4], [0, 0, 0, 3], none]), Some((5, 8)));
        assert_eq!(chosen([[0, 0, 3, 5], none, none, none]), Some((5, 3)));
        assert_eq!(chosen([[0, 2, 4, 4], [0, 8, 8, 5], none, none]), Some((4, 4)));
        assert_eq!(chosen([[0, 4, 11, 5], none, none, none]), Some((5, 8)), "newer than ours");
        assert_eq!(chosen([[0, 1, 11, 5], [0, 0, 4, 4], none, none]), Some((4, 4)));
        assert_eq!(chosen([[0, 9, 1, 5], none, none, none]), Some((5, 1)), "a range below zero");
        assert_eq!(chosen([[0, 0, 0, 6], none, none, none]), Some((6, 0)));
        assert_eq!(chosen([[0, 3, 3, 4], [0, 0, 0, 3], none, none]), Some((4, 3)));
        assert_eq!(chosen([[0, 2, 2, 4], [0, 0, 0, 3], none, none]), None);
        assert_eq!(chosen([none; 4]), None);
    }

    #[test]
    fn the_manifest_lists_what_is_spoken() {
        let said = [MANIFEST, [0, 8, 8, 5], [0, 2, 4, 4], [0; 4]];
        let (version, answered) = answer(&said, &[0, 0, 7, 5, 0]);
        assert_eq!(version.unwrap(), Some(Version::new(5, 7)));
        let offers = [[0, 0, 0, 6], [0, 8, 8, 5], [0, 1, 4, 4]];
        assert_eq!(answered, [&MANIFEST[..], &[3], offers.as_flattened(), &[0]].concat());
        // Capabilities of two bytes; ones that never end; versions that are not spoken.
        let chosen = |rest: &[u8]| answer(&said, rest).0.unwrap();
        assert_eq!(chosen(&[0, 0, 4, 4, 0x81, 1]), Some(Version::new(4, 4)));
        assert_eq!(chosen(&[[0, 0, 4, 4, 0x81, 0x80].as_slice(), &[0x80; 20]].concat()), None);
        assert_eq!(chosen(&[0, 0, 9, 5, 0]), None);
        assert_eq!(chosen(&[0, 1, 8, 5, 0]), None);
        assert_eq!(chosen(&[0, 0, 0, 0, 0]), None);
        assert!(answer(&said, &[0, 0]).0.is_err(), "a client that hung up");
    }

    #[test]
    fn proposals_are_four() {
        assert!(answer(&[[0, 0, 0, 5]], &[]).0.is_err());
    }

    #[test]
    fn every_version_is_listed_once() {
        let spoken: Vec<_> = Version::spoken().map(|v| (v.major, v.minor)).collect();
        assert_eq!(spoken.len(), 12);
        assert_eq!((spoken[0], spoken[1], spoken[11]), ((6, 0), (5, 8), (4, 3)));
    }
}
