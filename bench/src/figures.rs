//! Figures, and what they are to reach.

use std::fmt;

use crate::report::{Table, digits};

/// A bound that a figure keeps or misses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The figure is to be this large.
    AtLeast(f64),
    /// The figure is to be this small.
    AtMost(f64),
}

impl Bound {
    /// Whether `value` keeps the bound; what was not measured does not.
    pub fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }

    /// The same, for people.
    pub fn verdict(self, value: f64) -> &'static str {
        if self.is_met(value) { "met" } else { "missed" }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, ">= {bound}"),
            Self::AtMost(bound) => write!(f, "<= {bound}"),
        }
    }
}

/// What a benchmark measured, in order.
#[derive(Clone, Debug, Default)]
pub struct Figures(Vec<(String, f64, Option<Bound>)>);

impl Figures {
    /// Adds a figure, with what it is to reach if anything.
    pub(crate) fn push(
        &mut self,
        what: impl Into<String>,
        value: f64,
        bound: impl Into<Option<Bound>>,
    ) {
        self.0.push((what.into(), value, bound.into()));
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(String, f64, Option<Bound>)> {
        self.0.iter()
    }
}

/// A table.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["measured", "figure", "target", ""]);
        for (what, value, bound) in &self.0 {
            let verdict = bound.map_or("", |bound| bound.verdict(*value));
            let bound = bound.map_or(String::new(), |bound| bound.to_string());
            table.push([what.clone(), digits(*value), bound, verdict.to_owned()]);
        }
        write!(f, "{table}")
    }
}
