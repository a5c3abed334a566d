//! Names of labels, edge types and property keys.
//!
//! A name is any non-empty UTF-8 text of at most [`NAME_BYTES_MAX`] bytes without NUL. The length
//! fits a `u16` on disk; NUL is kept free as a separator for tools that list names.

use std::fmt;

/// Longest name, in bytes: the largest length a `u16` holds.
pub const NAME_BYTES_MAX: usize = 65_535;

/// What a schema name names; part of the error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A vertex label.
    Label,
    /// An edge type.
    EdgeType,
    /// A property key.
    PropertyKey,
    /// An index or constraint.
    Index,
}

impl fmt::Display for NameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Label => "label",
            Self::EdgeType => "edge type",
            Self::PropertyKey => "property key",
            Self::Index => "index",
        })
    }
}

/// Why a schema name is refused. The caller has to choose another name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name has no characters.
    #[error("{kind} name is empty")]
    Empty {
        /// What was to be named.
        kind: NameKind,
    },
    /// The name is longer than [`NAME_BYTES_MAX`].
    #[error("{kind} name has {found} bytes; at most {NAME_BYTES_MAX} are allowed")]
    TooLong {
        /// What was to be named.
        kind: NameKind,
        /// Length of the name in bytes.
        found: usize,
    },
    /// The name contains a NUL character.
    #[error("{kind} name contains NUL at byte {offset}")]
    ContainsNul {
        /// What was to be named.
        kind: NameKind,
        /// Offset of the first NUL in bytes.
        offset: usize,
    },
}

/// Returns the name unchanged when it may name a `kind`.
///
/// # Errors
///
/// [`NameError`] when the name is empty, too long or contains NUL.
pub fn validate_name(kind: NameKind, name: &str) -> Result<&str, NameError> {
    if name.is_empty() {
        return Err(NameError::Empty { kind });
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong { kind, found: name.len() });
    }
    match name.bytes().position(|byte| byte == 0) {
        Some(offset) => Err(NameError::ContainsNul { kind, offset }),
        None => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_spaces_and_unicode_is_accepted() {
        assert_eq!(validate_name(NameKind::Label, "Größe `x`"), Ok("Größe `x`"));
        let longest = "n".repeat(NAME_BYTES_MAX);
        assert!(validate_name(NameKind::PropertyKey, &longest).is_ok());
    }

    #[test]
    fn name_refused_says_why() {
        let message = |kind, name: &str| validate_name(kind, name).unwrap_err().to_string();
        assert_eq!(message(NameKind::EdgeType, ""), "edge type name is empty");
        assert_eq!(message(NameKind::Label, "ab\0"), "label name contains NUL at byte 2");
        assert_eq!(
            message(NameKind::PropertyKey, &"é".repeat(32_768)),
            "property key name has 65536 bytes; at most 65535 are allowed"
        );
    }
}
