//! What is tested, as the harness sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::gherkin::Table;
use super::step::Procedure;
use super::value::{Entries, Node, Relationship, TckValue};

/// Something that runs queries. Each scenario gets a new one with an empty graph.
pub trait Subject {
    /// Runs one query in a transaction of its own.
    ///
    /// # Errors
    /// How the query failed; the graph is then as it was.
    fn run(&mut self, query: &str, parameters: &Entries) -> Result<Rows, Failure>;

    /// The whole graph, read without the query language.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn state(&mut self) -> Result<GraphState, String>;

    /// Makes a procedure known to later queries: for a call it yields the outputs of the rows whose
    /// inputs equal the arguments.
    ///
    /// # Errors
    /// Why it cannot be.
    fn register(&mut self, procedure: &Procedure) -> Result<(), String>;
}

/// A subject whose panics are failures of type `Panic`, for checks in which every failure is wrong.
#[derive(Debug)]
pub struct PanicsFail<S>(pub S);

impl<S: Subject> Subject for PanicsFail<S> {
    fn run(&mut self, query: &str, parameters: &Entries) -> Result<Rows, Failure> {
        let run = AssertUnwindSafe(|| self.0.run(query, parameters));
        catch_unwind(run).unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            let message = text.unwrap_or("of another type").to_owned();
            let (kind, detail) = ("Panic".to_owned(), String::new());
            Err(Failure { phase: Phase::Runtime, kind, detail, message })
        })
    }

    fn state(&mut self) -> Result<GraphState, String> {
        self.0.state()
    }

    fn register(&mut self, procedure: &Procedure) -> Result<(), String> {
        self.0.register(procedure)
    }
}

/// What a query gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// One value per column.
    pub rows: Vec<Vec<TckValue>>,
}

/// When a query failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before it ran, whatever is in the graph.
    Compile,
    /// While it ran.
    Runtime,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compile => "compile time",
            Self::Runtime => "runtime",
        })
    }
}

/// How a query failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// When.
    pub phase: Phase,
    /// The last word of the code, such as `SyntaxError`.
    pub kind: String,
    /// The detail word of the TCK, such as `UndefinedVariable`.
    pub detail: String,
    /// For people.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { phase, kind, detail, message } = self;
        write!(f, "{kind} at {phase}: {detail}: {message}")
    }
}

/// A graph, its entities told apart by whatever identifies them in the subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphState {
    /// Nodes by identity.
    pub nodes: BTreeMap<u64, Node>,
    /// Relationships by identity.
    pub relationships: BTreeMap<[u64; 4], Relationship>,
}

/// Whose a property is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Entity {
    Node(u64),
    Relationship([u64; 4]),
}

impl GraphState {
    /// Names of all labels that some node has.
    fn labels(&self) -> BTreeSet<&String> {
        self.nodes.values().flat_map(|node| &node.labels).collect()
    }

    /// Every property: whose it is, key, value.
    fn properties(&self) -> BTreeSet<(Entity, &String, &TckValue)> {
        let of_nodes = self.nodes.iter().flat_map(|(id, node)| {
            node.properties.iter().map(|(key, value)| (Entity::Node(*id), key, value))
        });
        let of_relationships = self.relationships.iter().flat_map(|(id, relationship)| {
            relationship
                .properties
                .iter()
                .map(|(key, value)| (Entity::Relationship(*id), key, value))
        });
        of_nodes.chain(of_relationships).collect()
    }
}

/// What a query did to the graph, as counts by name: `+nodes` to `-properties`. Zeros are left out.
///
/// Nodes and relationships count by identity; labels count names that no node had before, or has
/// afterwards; properties count triples of entity, key and value, so that a changed value is one
/// more and one less.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects(pub BTreeMap<String, u64>);

impl Effects {
    const KINDS: [&str; 4] = ["nodes", "relationships", "labels", "properties"];

    /// Reads a table of names and counts.
    ///
    /// # Errors
    /// What is not understood.
    pub fn parse(table: &Table) -> Result<Self, String> {
        let mut effects = Self::default();
        for row in table {
            let [name, count] = row.as_slice() else {
                return Err("a side effect needs a name and a count".to_owned());
            };
            let kind = name.strip_prefix(['+', '-']).unwrap_or_default();
            let count: u64 = count.parse().map_err(|_| format!("not a count: {count}"))?;
            if !Self::KINDS.contains(&kind) {
                return Err(format!("unknown side effect: {name}"));
            }
            effects.add(name, count);
        }
        Ok(effects)
    }

    /// What leads from one state to the other.
    #[must_use]
    pub fn between(before: &GraphState, after: &GraphState) -> Self {
        let mut effects = Self::default();
        let mut count = |kind: &str, (gone, new): (usize, usize)| {
            effects.add(&format!("-{kind}"), gone as u64);
            effects.add(&format!("+{kind}"), new as u64);
        };
        let keys = |state: &GraphState| {
            let nodes: BTreeSet<u64> = state.nodes.keys().copied().collect();
            let relationships: BTreeSet<[u64; 4]> = state.relationships.keys().copied().collect();
            (nodes, relationships)
        };
        let ((nodes, relationships), (new_nodes, new_relationships)) = (keys(before), keys(after));
        count("nodes", changed(&nodes, &new_nodes));
        count("relationships", changed(&relationships, &new_relationships));
        count("labels", changed(&before.labels(), &after.labels()));
        count("properties", changed(&before.properties(), &after.properties()));
        effects
    }

    fn add(&mut self, name: &str, count: u64) {
        if count > 0 {
            *self.0.entry(name.to_owned()).or_default() += count;
        }
    }
}

/// How many elements are gone, and how many are new.
fn changed<T: Ord>(before: &BTreeSet<T>, after: &BTreeSet<T>) -> (usize, usize) {
    (before.difference(after).count(), after.difference(before).count())
}

impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (i, (name, count)) in self.0.iter().enumerate() {
            write!(f, "{}{name} {count}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(labels: &[&str], properties: &[(&str, i64)]) -> Node {
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        let properties =
            properties.iter().map(|&(key, n)| (key.to_owned(), TckValue::Int(n))).collect();
        Node { labels, properties }
    }

    #[test]
    fn effects_count_identities_names_and_triples() {
        let rel = |n| Relationship {
            ty: "T".to_owned(),
            properties: [("p".to_owned(), TckValue::Int(n))].into(),
        };
        let before = GraphState {
            nodes: [(1, node(&["A", "B"], &[("p", 1), ("q", 1)])), (2, node(&["A"], &[]))].into(),
            relationships: [([0, 1, 2, 0], rel(1))].into(),
        };
        let after = GraphState {
            // B is gone with its last node, C is new, p changed, q stayed; node 2 is another one.
            nodes: [(1, node(&["A", "C"], &[("p", 2), ("q", 1)])), (3, node(&["A"], &[]))].into(),
            relationships: [([0, 1, 3, 0], rel(1)), ([0, 1, 3, 1], rel(1))].into(),
        };
        let expected = [
            ("+labels", 1),
            ("+nodes", 1),
            ("+properties", 3),
            ("+relationships", 2),
            ("-labels", 1),
            ("-nodes", 1),
            ("-properties", 2),
            ("-relationships", 1),
        ];
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(Effects::between(&before, &after).0, expected.into());
        assert_eq!(Effects::between(&after, &after), Effects::default());
    }

    #[test]
    fn tables_of_effects_drop_zeros_and_refuse_nonsense() {
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        let found = Effects::parse(&vec![row("+nodes", "2"), row("-labels", "0")]).unwrap();
        assert_eq!(found.to_string(), "+nodes 2");
        for bad in [row("nodes", "1"), row("+edges", "1"), row("+nodes", "x"), vec![]] {
            assert!(Effects::parse(&vec![bad]).is_err());
        }
    }
}
