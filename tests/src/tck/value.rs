//! Values as the TCK tells them apart.
//!
//! Vertices and edges have no identity here: a result says only which labels, type and properties
//! they have. Temporal values are their text.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Property values or entries of a map, by key.
pub type Entries = BTreeMap<String, TckValue>;

/// A value of a result, a parameter or a property.
///
/// Equal as the TCK compares: `NaN` with itself, `-0.0` with `0.0`, never an integer with a float.
/// The order means nothing; it serves to compare bags.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TckValue {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1.0`, `NaN`, `Inf`
    Float(Float),
    /// `'text'`; temporal values, too
    String(String),
    /// `[1, 2]`
    List(Vec<TckValue>),
    /// `{a: 1}`
    Map(Entries),
    /// `(:A:B {p: 1})`
    Node(Node),
    /// `[:T {p: 1}]`
    Relationship(Relationship),
    /// `<(:A)-[:T]->(:B)<-[:T]-(:C)>`
    Path(Box<Path>),
}

/// A node without identity.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// Its labels.
    pub labels: BTreeSet<String>,
    /// Its properties.
    pub properties: Entries,
}

/// A relationship without identity.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relationship {
    /// Its type.
    pub ty: String,
    /// Its properties.
    pub properties: Entries,
}

/// A path.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// The first node.
    pub start: Node,
    /// Each further step.
    pub steps: Vec<Hop>,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// Whether the relationship is walked from its start to its end.
    pub forward: bool,
    /// The relationship.
    pub relationship: Relationship,
    /// The node it leads to.
    pub node: Node,
}

/// A float with one NaN and one zero.
#[derive(Debug, Clone, Copy)]
pub struct Float(f64);

impl Float {
    /// The number, of which the sign of zero and the bits of NaN are dropped.
    #[must_use]
    pub fn new(number: f64) -> Self {
        Self(if number.is_nan() { f64::NAN } else { number + 0.0 })
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Ord for Float {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Float {}

impl TckValue {
    /// A float.
    #[must_use]
    pub fn float(number: f64) -> Self {
        Self::Float(Float::new(number))
    }

    /// A text. Zeros that end the fraction of a second are dropped, as the TCK and implementations
    /// differ in how many they write: `12:00:00.100` is `12:00:00.1`.
    #[must_use]
    pub fn string(text: impl Into<String>) -> Self {
        Self::String(without_fraction_zeros(text.into()))
    }

    /// The value with every list sorted, for comparisons that ignore the order of elements.
    #[must_use]
    pub fn with_sorted_lists(self) -> Self {
        let entries = |entries: Entries| -> Entries {
            entries.into_iter().map(|(key, value)| (key, value.with_sorted_lists())).collect()
        };
        let node = |node: Node| Node { properties: entries(node.properties), ..node };
        let relationship =
            |r: Relationship| Relationship { properties: entries(r.properties), ..r };
        match self {
            Self::List(elements) => {
                let mut elements: Vec<_> =
                    elements.into_iter().map(Self::with_sorted_lists).collect();
                elements.sort();
                Self::List(elements)
            }
            Self::Map(map) => Self::Map(entries(map)),
            Self::Node(n) => Self::Node(node(n)),
            Self::Relationship(r) => Self::Relationship(relationship(r)),
            Self::Path(path) => {
                let hop = |hop: Hop| Hop {
                    forward: hop.forward,
                    relationship: relationship(hop.relationship),
                    node: node(hop.node),
                };
                let steps = path.steps.into_iter().map(hop).collect();
                Self::Path(Box::new(Path { start: node(path.start), steps }))
            }
            scalar => scalar,
        }
    }
}

/// Drops zeros at the end of a fraction of a second where the text looks like a date or a time.
fn without_fraction_zeros(text: String) -> String {
    let bytes = text.as_bytes();
    let digits = |from: usize, n: usize| {
        bytes.get(from..from + n).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let date = digits(usize::from(matches!(bytes.first(), Some(b'+' | b'-'))), 4);
    let time = digits(0, 2) && bytes.get(2) == Some(&b':');
    let Some((before, after)) = text.split_once('.').filter(|_| date || time) else { return text };
    let is_second = before.len() > 2
        && before.as_bytes()[before.len() - 3] == b':'
        && before.as_bytes()[before.len() - 2..].iter().all(u8::is_ascii_digit);
    let fraction = after.bytes().take_while(u8::is_ascii_digit).count();
    let (fraction, zone) = after.split_at(fraction);
    if !is_second || !(zone.is_empty() || zone.starts_with(['Z', '+', '-', '['])) {
        return text;
    }
    match fraction.trim_end_matches('0') {
        "" => format!("{before}{zone}"),
        kept => format!("{before}.{kept}{zone}"),
    }
}

impl fmt::Display for TckValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => match value.get() {
                f64::INFINITY => f.write_str("Inf"),
                f64::NEG_INFINITY => f.write_str("-Inf"),
                number => write!(f, "{number:?}"),
            },
            Self::String(text) => {
                write!(f, "'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
            }
            Self::List(elements) => {
                f.write_str("[")?;
                for (i, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Map(entries) => write_entries(f, entries),
            Self::Node(node) => write!(f, "{node}"),
            Self::Relationship(relationship) => write!(f, "{relationship}"),
            Self::Path(path) => {
                write!(f, "<{}", path.start)?;
                for hop in &path.steps {
                    let (left, right) = if hop.forward { ("-", "->") } else { ("<-", "-") };
                    write!(f, "{left}{}{right}{}", hop.relationship, hop.node)?;
                }
                f.write_str(">")
            }
        }
    }
}

/// A key as it stands before a colon: in backticks unless it is a plain name.
struct Key<'k>(&'k str);

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_alphanumeric() || c == '_';
        if self.0.starts_with(|c: char| plain(c) && !c.is_numeric()) && self.0.chars().all(plain) {
            f.write_str(self.0)
        } else {
            write!(f, "`{}`", self.0.replace('`', "``"))
        }
    }
}

fn write_entries(f: &mut fmt::Formatter<'_>, entries: &Entries) -> fmt::Result {
    f.write_str("{")?;
    for (i, (key, value)) in entries.iter().enumerate() {
        write!(f, "{}{}: {value}", if i == 0 { "" } else { ", " }, Key(key))?;
    }
    f.write_str("}")
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        self.labels.iter().try_for_each(|label| write!(f, ":{}", Key(label)))?;
        if !self.properties.is_empty() {
            f.write_str(if self.labels.is_empty() { "" } else { " " })?;
            write_entries(f, &self.properties)?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Relationship {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[:{}", Key(&self.ty))?;
        if !self.properties.is_empty() {
            f.write_str(" ")?;
            write_entries(f, &self.properties)?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_one_nan_and_one_zero_and_are_no_integers() {
        assert_eq!(TckValue::float(f64::NAN), TckValue::float(-f64::NAN));
        assert_eq!(TckValue::float(-0.0), TckValue::float(0.0));
        assert_ne!(TckValue::float(1.0), TckValue::Int(1));
        assert_ne!(TckValue::float(0.1 + 0.2), TckValue::float(0.3));
    }

    #[test]
    fn only_fractions_of_seconds_lose_their_zeros() {
        for (text, expected) in [
            ("12:00:00.100", "12:00:00.1"),
            ("12:00:00.000Z", "12:00:00Z"),
            (
                "-0044-03-15T12:00:01.230+01:00[Europe/Rome]",
                "-0044-03-15T12:00:01.23+01:00[Europe/Rome]",
            ),
            ("1984-10-11T00:00:00.001", "1984-10-11T00:00:00.001"),
            ("1.10", "1.10"),
            ("2020-01-01 1.10", "2020-01-01 1.10"),
            ("12:30.500", "12:30.5"),
            ("12:00:00.10 uhr", "12:00:00.10 uhr"),
        ] {
            assert_eq!(TckValue::string(text), TckValue::String(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn lists_sort_at_every_depth() {
        let list = |n: [i64; 2]| TckValue::List(n.map(TckValue::Int).to_vec());
        let nested = |a, b| TckValue::Map([("k".to_owned(), TckValue::List(vec![a, b]))].into());
        assert_ne!(nested(list([1, 2]), list([4, 3])), nested(list([3, 4]), list([2, 1])));
        assert_eq!(
            nested(list([1, 2]), list([4, 3])).with_sorted_lists(),
            nested(list([3, 4]), list([2, 1])).with_sorted_lists()
        );
    }
}
