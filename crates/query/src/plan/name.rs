//! Names of labels, relationship types and property keys in plans, and their numbers.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use telar_graph::{EdgeTypeId, Graph, LabelId, PropertyKeyId, Schema};

/// Number of a name of one kind.
pub(crate) trait Number: Copy {
    /// Number of a name, if there is such a name.
    fn find(name: &str, schema: &dyn Schema) -> Option<Self>;
}

impl Number for LabelId {
    fn find(name: &str, schema: &dyn Schema) -> Option<Self> {
        schema.find_label(name)
    }
}

impl Number for EdgeTypeId {
    fn find(name: &str, schema: &dyn Schema) -> Option<Self> {
        schema.find_edge_type(name)
    }
}

impl Number for PropertyKeyId {
    fn find(name: &str, schema: &dyn Schema) -> Option<Self> {
        schema.find_property_key(name)
    }
}

/// A name in a plan. Its number is looked up once for the plan, as far as it can be known: a name
/// that was committed keeps its number, and a plan belongs to one database. A name that is not
/// there yet, or that only the running transaction has, is looked up again.
#[derive(Debug, Clone)]
pub(crate) struct Name<N> {
    text: Arc<str>,
    number: OnceLock<N>,
}

impl<N> Name<N> {
    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl<N: Number> Name<N> {
    /// Number of the name, if the graph has it.
    pub(crate) fn find(&self, graph: &dyn Graph) -> Option<N> {
        // PERF: `telar bench cypher`, point read and 1 hop: no lock, no hash.
        if let Some(number) = self.number.get() {
            return Some(*number);
        }
        let number = N::find(&self.text, graph)?;
        if graph.has_only_committed_names() {
            // Another thread may have kept it meanwhile: the same number.
            let _ = self.number.set(number);
        }
        Some(number)
    }
}

impl<N> Deref for Name<N> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<N> From<Arc<str>> for Name<N> {
    fn from(text: Arc<str>) -> Self {
        Self { text, number: OnceLock::new() }
    }
}

impl<N> From<&str> for Name<N> {
    fn from(text: &str) -> Self {
        Arc::<str>::from(text).into()
    }
}

/// Types by name. Their numbers are kept as those of a [`Name`].
#[derive(Debug, Clone)]
pub(crate) struct TypeNames {
    names: Vec<Arc<str>>,
    numbers: OnceLock<Vec<EdgeTypeId>>,
}

impl TypeNames {
    /// Numbers of the names that the graph has, ascending, each once.
    pub(crate) fn find<'n>(&'n self, graph: &dyn Graph) -> Cow<'n, [EdgeTypeId]> {
        if let Some(numbers) = self.numbers.get() {
            return numbers.into();
        }
        let found = self.names.iter().filter_map(|name| graph.find_edge_type(name));
        let mut found: Vec<EdgeTypeId> = found.collect();
        let complete = found.len() == self.names.len();
        found.sort_unstable();
        found.dedup();
        match complete && graph.has_only_committed_names() {
            true => self.numbers.get_or_init(|| found).into(),
            false => found.into(),
        }
    }
}

impl Deref for TypeNames {
    type Target = [Arc<str>];

    fn deref(&self) -> &[Arc<str>] {
        &self.names
    }
}

impl FromIterator<Arc<str>> for TypeNames {
    fn from_iter<I: IntoIterator<Item = Arc<str>>>(names: I) -> Self {
        Self { names: names.into_iter().collect(), numbers: OnceLock::new() }
    }
}
