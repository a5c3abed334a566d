//! The body of a slot: a group of commits with its origin and checksum.
//!
//! Layout (little-endian; offsets in bytes):
//!
//! ```text
//!  0        8        12     16      24       32     36      40      48      56
//!  ├────────┼────────┼──────┼───────┼────────┼──────┼───────┼───────┼───────┤
//!  │ magic  │ format │ crc  │ epoch │ writer │ salt │ parts │ bytes │ nonce │
//!  │ [u8;8] │ u32    │ u32  │ u64   │ u64    │ u32  │ u32   │ u64   │ u64   │
//!  └────────┴────────┴──────┴───────┴────────┴──────┴───────┴───────┴───────┘
//!  then, if parts is 0, the payload: `bytes` bytes.
//!  crc: CRC-32 over bytes 16..56 and the whole payload, wherever it is.
//! ```
//!
//! `writer` and `nonce` are random: one for the process that leads, one for each body. With the
//! checksum they tell an attempt of one's own from anybody else's ([`Identity`]). `salt` is that of
//! the payload's log records. A payload that does not fit into a slot is stored before it as parts,
//! which are named by slot, nonce and index; the slot then has the header alone.

use super::{Name, PartName, StoreError};

const MAGIC: [u8; 8] = *b"TELARSLT";
const FORMAT: u32 = 1;
const FORMAT_OFFSET: usize = 8;
const CRC_OFFSET: usize = FORMAT_OFFSET + 4;
const EPOCH_OFFSET: usize = CRC_OFFSET + 4;
const WRITER_OFFSET: usize = EPOCH_OFFSET + 8;
const SALT_OFFSET: usize = WRITER_OFFSET + 8;
const PARTS_OFFSET: usize = SALT_OFFSET + 4;
const BYTES_OFFSET: usize = PARTS_OFFSET + 4;
const NONCE_OFFSET: usize = BYTES_OFFSET + 8;
/// Bytes before the payload.
pub const HEADER_BYTES: usize = NONCE_OFFSET + 8;
const _: () = assert!(HEADER_BYTES == 56);

/// Longest payload: 512 MiB. The engine's log records have 256 MiB at most.
pub const BODY_BYTES_MAX: usize = 512 << 20;
/// Most parts of a payload: the longest, in parts of 64 KiB.
pub const PARTS_MAX: u32 = 8192;

/// Identity of a body among all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The process that wrote it.
    pub writer: u64,
    /// The number of this body; no two have the same.
    pub nonce: u64,
    /// The checksum of header and payload.
    pub crc: u32,
}

/// A body without its payload's place: what the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The epoch of the leader that wrote it.
    pub epoch: u64,
    /// What tells it from others.
    pub identity: Identity,
    /// The salt of the payload's log records.
    pub salt: u32,
    /// Number of parts; 0 if the payload stands behind the header.
    pub parts: u32,
    /// Length of the payload in bytes.
    pub bytes: u64,
}

impl Body {
    /// Returns the header of `payload`, in `parts` parts.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] above [`BODY_BYTES_MAX`] or [`PARTS_MAX`].
    pub(crate) fn new(
        epoch: u64,
        writer: u64,
        nonce: u64,
        salt: u32,
        parts: usize,
        payload: &[u8],
    ) -> Result<Self, StoreError> {
        super::error::check_size(payload.len(), BODY_BYTES_MAX)?;
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        if parts > PARTS_MAX {
            let max = payload.len() / parts as usize * PARTS_MAX as usize;
            return Err(StoreError::TooLarge { bytes: payload.len(), max });
        }
        let identity = Identity { writer, nonce, crc: 0 };
        let mut body = Self { epoch, identity, salt, parts, bytes: payload.len() as u64 };
        body.identity.crc = body.crc_with(payload);
        Ok(body)
    }

    /// The header, to be followed by the payload or by nothing.
    pub(crate) fn header(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        let mut put = |offset: usize, bytes: &[u8]| {
            out[offset..offset + bytes.len()].copy_from_slice(bytes);
        };
        put(0, &MAGIC);
        put(FORMAT_OFFSET, &FORMAT.to_le_bytes());
        put(CRC_OFFSET, &self.identity.crc.to_le_bytes());
        put(EPOCH_OFFSET, &self.epoch.to_le_bytes());
        put(WRITER_OFFSET, &self.identity.writer.to_le_bytes());
        put(SALT_OFFSET, &self.salt.to_le_bytes());
        put(PARTS_OFFSET, &self.parts.to_le_bytes());
        put(BYTES_OFFSET, &self.bytes.to_le_bytes());
        put(NONCE_OFFSET, &self.identity.nonce.to_le_bytes());
        out
    }

    /// Returns the header of a slot's bytes and what follows it. The payload is not checked yet.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), String> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(format!("{} bytes are too few for a header", bytes.len()));
        };
        if header[..FORMAT_OFFSET] != MAGIC {
            return Err("it does not begin with \"TELARSLT\"".into());
        }
        let format = u32_at(header, FORMAT_OFFSET);
        if format != FORMAT {
            return Err(format!("it has format {format}, and this program knows {FORMAT} only"));
        }
        let body = Self {
            epoch: u64_at(header, EPOCH_OFFSET),
            identity: Identity {
                writer: u64_at(header, WRITER_OFFSET),
                nonce: u64_at(header, NONCE_OFFSET),
                crc: u32_at(header, CRC_OFFSET),
            },
            salt: u32_at(header, SALT_OFFSET),
            parts: u32_at(header, PARTS_OFFSET),
            bytes: u64_at(header, BYTES_OFFSET),
        };
        if body.parts > PARTS_MAX || body.bytes > BODY_BYTES_MAX as u64 {
            return Err(format!("{} parts of {} bytes are too many", body.parts, body.bytes));
        }
        let inline = if body.parts == 0 { body.bytes } else { 0 };
        if rest.len() as u64 != inline {
            return Err(format!("{} bytes follow the header, not {inline}", rest.len()));
        }
        Ok((body, rest))
    }

    /// Whether header and payload are what was written.
    pub(crate) fn fits(&self, payload: &[u8]) -> bool {
        self.bytes == payload.len() as u64 && self.crc_with(payload) == self.identity.crc
    }

    /// The name of part `index` of the body in the slot that begins at `slot`.
    pub(crate) fn part(&self, slot: u64, index: u32) -> PartName {
        PartName { slot, nonce: self.identity.nonce, index }
    }

    fn crc_with(&self, payload: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.header()[EPOCH_OFFSET..]);
        hasher.update(payload);
        hasher.finalize()
    }
}

/// How messages name a slot.
pub(crate) fn place(stream: &Name, slot: u64) -> String {
    format!("slot {slot} of {stream}")
}

fn u32_at(header: &[u8; HEADER_BYTES], offset: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[offset..offset + 4]);
    u32::from_le_bytes(bytes)
}

fn u64_at(header: &[u8; HEADER_BYTES], offset: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&header[offset..offset + 8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_has_its_golden_bytes_and_comes_back() {
        let body = Body::new(7, 0x1122, 0x3344, 0x55, 0, b"payload").unwrap();
        let mut bytes = body.header().to_vec();
        let golden = "54454c4152534c54010000000d76550807000000000000002211000000000000\
                      550000000000000007000000000000004433000000000000";
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, golden);
        bytes.extend_from_slice(b"payload");
        let (found, payload) = Body::decode(&bytes).unwrap();
        assert_eq!((&found, payload), (&body, &b"payload"[..]));
        assert!(found.fits(payload));
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let mut bytes = Body::new(1, 2, 3, 4, 0, b"some bytes").unwrap().header().to_vec();
        bytes.extend_from_slice(b"some bytes");
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            let whole = Body::decode(&changed).is_ok_and(|(body, payload)| body.fits(payload));
            assert!(!whole, "byte {at}");
            assert!(Body::decode(&bytes[..at]).is_err());
        }
    }

    #[test]
    fn payloads_over_the_limits_are_refused() {
        assert!(Body::new(1, 2, 3, 4, PARTS_MAX as usize, b"x").is_ok());
        assert!(Body::new(1, 2, 3, 4, PARTS_MAX as usize + 1, b"x").is_err());
    }
}
