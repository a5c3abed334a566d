//! Names of streams, keys and images.

use std::fmt;

use super::StoreError;

/// Longest name in bytes: with what a store adds, it fits in a file name of 255 bytes.
pub const NAME_BYTES_MAX: usize = 200;

/// A name that every store takes: segments of ASCII letters, digits, `_`, `-` and `.`, separated by
/// `/`. A segment is not empty and does not begin with a dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// Returns `name`, checked.
    ///
    /// # Errors
    /// [`StoreError::Name`] if it is empty, too long or has other characters.
    pub fn new(name: impl Into<String>) -> Result<Self, StoreError> {
        let name = name.into();
        let wrong = |why| Err(StoreError::Name { name: name.clone(), why });
        if name.is_empty() {
            return wrong("it is empty");
        }
        if name.len() > NAME_BYTES_MAX {
            return wrong("it is longer than 200 bytes");
        }
        for segment in name.split('/') {
            if segment.is_empty() || segment.starts_with('.') {
                return wrong("a segment is empty or begins with a dot");
            }
            if !segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)) {
                return wrong(
                    "only ASCII letters, digits, \"_\", \"-\", \".\" and \"/\" may be used",
                );
            }
        }
        Ok(Self(name))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["a", "graph-1", "a/b/c", "A.b_c", &"x".repeat(NAME_BYTES_MAX)] {
            assert_eq!(Name::new(good).unwrap().as_str(), good);
        }
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for bad in
            ["", "/", "a/", "/a", "a//b", ".", "..", "a/../b", ".a", "a b", "ä", "a%b", &long]
        {
            assert!(Name::new(bad).is_err(), "{bad}");
        }
    }
}
