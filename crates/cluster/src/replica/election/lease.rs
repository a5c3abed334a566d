//! The lease, as it is in the coordination.
//!
//! Layout (little-endian; offsets in bytes):
//!
//! ```text
//!  0        4        8         16        24         32          33
//!  ├────────┼────────┼─────────┼─────────┼──────────┼───────────┼──────┬────────────────┐
//!  │ crc    │ format │ epoch   │ holder  │ counter  │ released  │ node │ NUL, successor │
//!  │ u32    │ u32    │ u64     │ u64     │ u64      │ u8, 0 | 1 │ text │ text           │
//!  └────────┴────────┴─────────┴─────────┴──────────┴───────────┴──────┴────────────────┘
//!  crc: CRC-32 over everything after it. NUL and successor only where there is one; programs that
//!  do not know of it take both for a part of the name, which nobody looks at in a released lease.
//! ```

const FORMAT: u32 = 1;
const HEADER_BYTES: usize = 33;
/// Longest encoded lease: a node's name has 255 bytes at most.
pub const LEASE_BYTES_MAX: usize = HEADER_BYTES + 255 + 1 + 255;
/// Byte between the holder's name and the successor's: names have none.
const SEPARATOR: char = '\0';

/// What the register says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The epoch that the holder leads, or will.
    pub epoch: u64,
    /// The process that holds it: a random number per start.
    pub holder: u64,
    /// Different in each write of this holder.
    pub counter: u64,
    /// True once the holder has given it up: nobody needs to wait.
    pub released: bool,
    /// The holder's name, for routes.
    pub node: String,
    /// Of a released lease, the node that is to take it: others leave it alone for a TTL.
    pub successor: Option<String>,
}

impl Lease {
    /// Returns the bytes of the lease.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        out.extend_from_slice(&FORMAT.to_le_bytes());
        for number in [self.epoch, self.holder, self.counter] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.push(self.released.into());
        out.extend_from_slice(self.node.as_bytes());
        if let Some(successor) = &self.successor {
            out.push(SEPARATOR as u8);
            out.extend_from_slice(successor.as_bytes());
        }
        let crc = crc32fast::hash(&out[4..]);
        out[..4].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Returns the lease that `bytes` are, or `None` if they are none that this program knows.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (header, node) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let u32_at = |at| header.get(at..)?.first_chunk().copied().map(u32::from_le_bytes);
        let u64_at = |at| header.get(at..)?.first_chunk().copied().map(u64::from_le_bytes);
        if u32_at(0)? != crc32fast::hash(&bytes[4..]) || u32_at(4)? != FORMAT {
            return None;
        }
        let released = match header[HEADER_BYTES - 1] {
            0 => false,
            1 => true,
            _ => return None,
        };
        let names = std::str::from_utf8(node).ok()?;
        let (node, successor) = match names.split_once(SEPARATOR) {
            Some((node, successor)) => (node.to_owned(), Some(successor.to_owned())),
            None => (names.to_owned(), None),
        };
        let [epoch, holder, counter] = [u64_at(8)?, u64_at(16)?, u64_at(24)?];
        Some(Self { epoch, holder, counter, released, node, successor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_come_back_and_damage_is_noticed() {
        let mut lease = Lease {
            epoch: 3,
            holder: 0xABCD,
            counter: 7,
            released: true,
            node: "a".into(),
            successor: None,
        };
        let bytes = lease.encode();
        assert_eq!(bytes[4..8], [1, 0, 0, 0]);
        assert_eq!(bytes.len(), HEADER_BYTES + 1);
        assert_eq!(Lease::decode(&bytes), Some(lease.clone()));
        lease.successor = Some("node-b".into());
        let bytes = lease.encode();
        assert_eq!(bytes[HEADER_BYTES..], *b"a\0node-b");
        assert_eq!(Lease::decode(&bytes), Some(lease));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(Lease::decode(&changed), None, "byte {at}");
            assert_eq!(Lease::decode(&bytes[..at]), None);
        }
    }
}
