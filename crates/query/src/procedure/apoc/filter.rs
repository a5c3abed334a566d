//! Conditions of `apoc.path.*`: relationship filters, label filters, and kinds of uniqueness.
//!
//! A filter is a sequence of steps with commas between them, which begins anew at its end. A step
//! has alternatives with `|` between them:
//!
//! ```text
//! relationships:  TYPE>   <TYPE   TYPE   >   <
//! labels:         +A or A: may be passed    -A: may not    /A: ends there    >A: is returned
//! ```

use telar_graph::{Direction, Graph, LabelId, VertexId};

use super::args::failed;
use crate::query_error::QueryError;

/// One step of a relationship filter: types, all for `None`, with their directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Types(pub(super) Vec<(Option<String>, Vec<Direction>)>);

impl Types {
    fn new(step: &str) -> Self {
        let alternative = |text: &str| {
            let text = text.trim();
            let (to, from) = (text.ends_with('>'), text.starts_with('<'));
            let name = text.trim_start_matches('<').trim_end_matches('>');
            let directions = match (to, from) {
                (true, false) => vec![Direction::Out],
                (false, true) => vec![Direction::In],
                _ => vec![Direction::Out, Direction::In],
            };
            ((!name.is_empty()).then(|| name.to_owned()), directions)
        };
        Self(step.split('|').map(alternative).collect())
    }
}

/// What a label filter says of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) returned: bool,
    pub(super) passed: bool,
}

/// One step of a label filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LabelStep {
    allowed: Vec<String>,
    refused: Vec<String>,
    ends: Vec<String>,
    returned: Vec<String>,
}

impl LabelStep {
    fn new(step: &str) -> Self {
        let mut parts = Self::default();
        for text in step.split('|').map(str::trim).filter(|text| !text.is_empty()) {
            let (list, name) = match text.split_at(1) {
                ("+", name) => (&mut parts.allowed, name),
                ("-", name) => (&mut parts.refused, name),
                ("/", name) => (&mut parts.ends, name),
                (">", name) => (&mut parts.returned, name),
                _ => (&mut parts.allowed, text),
            };
            list.push(name.trim_start_matches(':').to_owned());
        }
        parts
    }

    /// True if only some nodes are results.
    fn chooses(&self) -> bool {
        !self.ends.is_empty() || !self.returned.is_empty()
    }

    fn verdict(&self, graph: &dyn Graph, labels: &[LabelId], only_chosen: bool) -> Verdict {
        let has = |names: &[String]| {
            names.iter().any(|name| {
                name == "*" || graph.find_label(name).is_some_and(|label| labels.contains(&label))
            })
        };
        if has(&self.refused) {
            return Verdict { returned: false, passed: false };
        }
        if has(&self.ends) {
            return Verdict { returned: true, passed: false };
        }
        if has(&self.returned) {
            return Verdict { returned: true, passed: true };
        }
        let passed = self.allowed.is_empty() || has(&self.allowed);
        Verdict { returned: passed && !only_chosen, passed }
    }
}

/// Both filters of an expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) types: Vec<Types>,
    labels: Vec<LabelStep>,
    /// True if the sequence of labels begins at the start node, and not behind it.
    pub(super) begins_at_start: bool,
    /// True if the label filter holds for the start node, too.
    pub(super) of_start: bool,
}

impl Filter {
    /// Filters of two texts.
    pub(super) fn new(types: &str, labels: &str) -> Self {
        let types = types.trim();
        let steps = |text: &str| -> Vec<LabelStep> {
            let text = text.trim();
            match text.is_empty() {
                true => Vec::new(),
                false => text.split(',').map(LabelStep::new).collect(),
            }
        };
        Self {
            types: types.split(',').map(Types::new).collect(),
            labels: steps(labels),
            begins_at_start: true,
            of_start: true,
        }
    }

    /// Filters of one text with labels and types in turn, `labels, types, labels ...`; if the
    /// sequence does not begin at the start, its first entry is the types that leave the start.
    pub(super) fn of_sequence(text: &str, begins_at_start: bool) -> Result<Self, QueryError> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let (lead, parts) = match begins_at_start {
            true => (None, &parts[..]),
            false => (parts.first(), &parts[1..]),
        };
        if parts.len() % 2 != 0 || parts.is_empty() {
            let message = "a sequence must have labels and relationship types in turn";
            return Err(failed("apoc.path", message));
        }
        let labels = parts.iter().step_by(2).map(|text| LabelStep::new(text)).collect();
        let types = parts.iter().skip(1).step_by(2).map(|text| Types::new(text));
        let types = lead.map(|text| Types::new(text)).into_iter().chain(types).collect();
        Ok(Self { types, labels, begins_at_start, of_start: begins_at_start })
    }

    /// The types that lead away from a node so many steps behind the start. The first step of a
    /// sequence that does not begin at the start is taken once.
    pub(super) fn types_at(&self, depth: usize) -> &Types {
        match (self.begins_at_start, depth) {
            (true, _) | (false, 0) => &self.types[depth % self.types.len()],
            (false, _) if self.types.len() == 1 => &self.types[0],
            (false, _) => &self.types[1 + (depth - 1) % (self.types.len() - 1)],
        }
    }

    /// What the label filter says of a node so many steps behind the start.
    pub(super) fn verdict(&self, graph: &dyn Graph, labels: &[LabelId], depth: usize) -> Verdict {
        let only_chosen = self.labels.iter().any(LabelStep::chooses);
        if depth == 0 && !self.of_start {
            return Verdict { returned: !only_chosen, passed: true };
        }
        if self.labels.is_empty() || (depth == 0 && !self.begins_at_start) {
            return Verdict { returned: !only_chosen, passed: true };
        }
        let at = depth - usize::from(!self.begins_at_start);
        self.labels[at % self.labels.len()].verdict(graph, labels, only_chosen)
    }
}

/// What may not occur twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uniqueness {
    RelationshipPath,
    NodePath,
    NodeGlobal,
    RelationshipGlobal,
    NodeLevel,
    RelationshipLevel,
    NodeRecent,
    RelationshipRecent,
    None,
}

impl Uniqueness {
    pub(super) fn new(procedure: &str, text: &str) -> Result<Self, QueryError> {
        Ok(match text.to_uppercase().as_str() {
            "RELATIONSHIP_PATH" => Self::RelationshipPath,
            "NODE_PATH" => Self::NodePath,
            "NODE_GLOBAL" => Self::NodeGlobal,
            "RELATIONSHIP_GLOBAL" => Self::RelationshipGlobal,
            "NODE_LEVEL" => Self::NodeLevel,
            "RELATIONSHIP_LEVEL" => Self::RelationshipLevel,
            "NODE_RECENT" => Self::NodeRecent,
            "RELATIONSHIP_RECENT" => Self::RelationshipRecent,
            "NONE" => Self::None,
            _ => return Err(failed(procedure, &format!("there is no uniqueness `{text}`"))),
        })
    }
}

/// Nodes that results end at.
#[derive(Debug, Clone, Default)]
pub(super) struct Ends {
    pub(super) ends: Vec<VertexId>,
    pub(super) terminators: Vec<VertexId>,
    pub(super) allowed: Vec<VertexId>,
    pub(super) denied: Vec<VertexId>,
}

impl Ends {
    /// What the lists of nodes say of a node, which the label filter has looked at.
    pub(super) fn verdict(&self, node: VertexId, found: Verdict) -> Verdict {
        let Verdict { returned, passed } = found;
        if self.denied.contains(&node) || !(self.allowed.is_empty() || self.allowed.contains(&node))
        {
            return Verdict { returned: false, passed: false };
        }
        self.verdict_of_start(node, Verdict { returned, passed })
    }

    /// The same of a start that is not filtered: only what ends a path counts.
    pub(super) fn verdict_of_start(&self, node: VertexId, found: Verdict) -> Verdict {
        let Verdict { mut returned, mut passed } = found;
        if !self.ends.is_empty() || !self.terminators.is_empty() {
            returned &= self.ends.contains(&node) || self.terminators.contains(&node);
        }
        passed &= !self.terminators.contains(&node);
        Verdict { returned, passed }
    }
}
