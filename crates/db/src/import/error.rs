//! What can be wrong with a file, and where.

use std::borrow::Cow;
use std::io;

use thiserror::Error;

/// Longest excerpt of the offending text in a message, in characters: enough to recognise any id,
/// short enough for one terminal line.
const EXCERPT_CHARS_MAX: usize = 40;

/// Why a file could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file could not be opened, read or decompressed.
    #[error("{file}: {source}")]
    Io {
        /// The file, as the caller named it.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// The text is longer than [`super::EdgeListOptions::text_bytes_max`].
    #[error("{file}: the text is longer than the limit of {bytes_max} bytes")]
    TooLarge {
        /// The file, as the caller named it.
        file: String,
        /// The limit.
        bytes_max: u64,
    },
    /// The text is not what its format asks for.
    #[error("{file}:{line}:{column}: {problem}")]
    Text {
        /// The file, as the caller named it.
        file: String,
        /// Line, counted from 1.
        line: u64,
        /// Character within the line, counted from 1.
        column: u64,
        /// What is wrong there.
        problem: Problem,
    },
}

/// What is wrong at a place in the text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// Something else should stand here.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What should stand here.
        expected: Cow<'static, str>,
        /// The text in its place, quoted and shortened.
        found: String,
    },
    /// The record has too many or too few fields.
    #[error("expected {expected} fields, found {found}")]
    FieldCount {
        /// Fields of the header or of the first record; 2 where only the endpoints count.
        expected: usize,
        /// Fields of this record.
        found: usize,
    },
    /// A METIS header that does not agree with its lists.
    #[error(
        "expected {expected} edges, each in the list of both its ends, \
         found {forward} towards larger vertices and {backward} towards smaller ones"
    )]
    EdgeCount {
        /// Edges the header promises.
        expected: u64,
        /// Neighbours larger than their vertex.
        forward: u64,
        /// Neighbours smaller than their vertex.
        backward: u64,
    },
    /// Vertex numbers have 32 bits.
    #[error("expected at most {max} vertices, found more")]
    TooManyVertices {
        /// The most there can be.
        max: u32,
    },
}

/// A problem at a byte offset of the text.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) problem: Problem,
}

impl Fault {
    /// `found` stands at `offset` in place of `expected`.
    pub(super) fn unexpected(
        offset: usize,
        expected: impl Into<Cow<'static, str>>,
        found: &[u8],
    ) -> Self {
        let problem = Problem::Unexpected { expected: expected.into(), found: excerpt(found) };
        Self { offset, problem }
    }

    /// The error a caller sees: the offset in `text` becomes line and column.
    pub(super) fn locate(self, file: &str, text: &[u8]) -> ImportError {
        let before = text.get(..self.offset).unwrap_or(text);
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let lines = before[..line_start].iter().filter(|&&byte| byte == b'\n').count();
        // Continuation bytes of UTF-8 (0b10xxxxxx) do not begin a character.
        let chars = before[line_start..].iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        ImportError::Text {
            file: file.to_owned(),
            line: lines as u64 + 1,
            column: chars as u64 + 1,
            problem: self.problem,
        }
    }
}

/// `bytes` as it may stand in a message: in quotes, control characters escaped, shortened.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    // One character has at most four bytes, so this prefix always holds enough of them.
    let prefix = bytes.get(..4 * (EXCERPT_CHARS_MAX + 1)).unwrap_or(bytes);
    let text = String::from_utf8_lossy(prefix);
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        None => format!("\"{}\"", text.escape_debug()),
        Some((end, _)) => format!("\"{}...\"", text[..end].escape_debug()),
    }
}
