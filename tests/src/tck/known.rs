//! Scenarios that are known to fail, with the reason.
//!
//! ```text
//! # comment
//! path/of.feature :: name #example
//!     reason, which may go on
//!     over more lines
//! ```
//!
//! The list only shrinks: a scenario that fails and is not listed fails the run, and so does a
//! listed one that passes, or that does not exist.

use std::collections::{BTreeMap, BTreeSet};

use super::suite::Suite;

/// Reasons by scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known(BTreeMap<String, String>);

impl Known {
    /// Reads the list.
    ///
    /// # Errors
    /// A line that belongs to nothing, a scenario without a reason, or one that stands twice.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reasons: BTreeMap<String, String> = BTreeMap::new();
        let mut current = None;
        for (number, line) in (1..).zip(text.lines()) {
            let content = line.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            if line.starts_with([' ', '\t']) {
                let reason = current.as_ref().and_then(|id: &String| reasons.get_mut(id));
                let reason = reason.ok_or_else(|| format!("line {number}: a reason of nothing"))?;
                reason.push_str(if reason.is_empty() { "" } else { " " });
                reason.push_str(content);
            } else if reasons.insert(content.to_owned(), String::new()).is_some() {
                return Err(format!("line {number}: {content} stands twice"));
            } else {
                current = Some(content.to_owned());
            }
        }
        match reasons.iter().find(|(_, reason)| reason.is_empty()) {
            Some((id, _)) => Err(format!("{id} has no reason")),
            None => Ok(Self(reasons)),
        }
    }

    /// How many are listed.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Checks that every listed scenario exists.
    ///
    /// # Errors
    /// Those that do not.
    pub fn check_names(&self, suite: &Suite) -> Result<(), String> {
        let ids: BTreeSet<&String> = suite.scenarios.iter().map(|s| &s.id).collect();
        let gone: Vec<&str> =
            self.0.keys().filter(|id| !ids.contains(id)).map(String::as_str).collect();
        match gone.is_empty() {
            true => Ok(()),
            false => Err(format!("listed, but no such scenario: {}", gone.join("; "))),
        }
    }

    /// Whether a scenario did what the list says.
    ///
    /// # Errors
    /// It failed and is not listed, or is listed and passed.
    pub fn judge(&self, id: &str, result: &Result<(), String>) -> Result<(), String> {
        match (result, self.0.get(id)) {
            (Ok(()), None) | (Err(_), Some(_)) => Ok(()),
            (Err(problem), None) => Err(problem.clone()),
            (Ok(()), Some(reason)) => {
                Err(format!("passes, but is listed as known to fail ({reason}): remove it"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_must_be_listed_and_what_is_listed_must_fail() {
        let known = Known::parse("# a\n\na.feature :: [1] x #2\n  why\n  and more\n").unwrap();
        assert_eq!(known.count(), 1);
        let (id, other) = ("a.feature :: [1] x #2", "a.feature :: [1] x #1");
        let failed = Err("wrong".to_owned());
        assert_eq!(known.judge(id, &failed), Ok(()));
        assert_eq!(known.judge(other, &Ok(())), Ok(()));
        assert_eq!(known.judge(other, &failed), failed);
        assert!(known.judge(id, &Ok(())).unwrap_err().contains("why and more"));
        assert!(known.check_names(&Suite::default()).is_err());
    }

    #[test]
    fn lists_that_say_nothing_are_refused() {
        for text in ["a", "  why", "a\n b\na\n c", "a\nb\n  why"] {
            assert!(Known::parse(text).is_err(), "{text:?}");
        }
    }
}
