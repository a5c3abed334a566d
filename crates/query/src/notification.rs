//! What a result says beside its rows: things that are no error, and probably no intention either.

use serde::{Deserialize, Serialize};
use telar_graph::Graph;

use crate::query_error::Position;

/// What a notification is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum NotificationKind {
    /// A label that no node ever had.
    UnknownLabel,
    /// A type that no relationship ever had.
    UnknownType,
    /// A property key that nothing ever had.
    UnknownPropertyKey,
    /// `IF NOT EXISTS`, and it does.
    RuleExists,
    /// `IF EXISTS`, and it does not.
    RuleMissing,
}

impl NotificationKind {
    /// The status code that drivers of Neo4j know.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::UnknownLabel => "Neo.ClientNotification.Statement.UnknownLabelWarning",
            Self::UnknownType => "Neo.ClientNotification.Statement.UnknownRelationshipTypeWarning",
            Self::UnknownPropertyKey => {
                "Neo.ClientNotification.Statement.UnknownPropertyKeyWarning"
            }
            Self::RuleExists => "Neo.ClientNotification.Schema.IndexOrConstraintAlreadyExists",
            Self::RuleMissing => "Neo.ClientNotification.Schema.IndexOrConstraintDoesNotExist",
        }
    }

    /// How serious it is: `WARNING` or `INFORMATION`.
    #[must_use]
    pub const fn severity(self) -> &'static str {
        match self {
            Self::RuleExists | Self::RuleMissing => "INFORMATION",
            _ => "WARNING",
        }
    }

    /// Neo4j's name for the class of notifications it belongs to.
    #[must_use]
    pub const fn category(self) -> &'static str {
        match self {
            Self::RuleExists | Self::RuleMissing => "SCHEMA",
            _ => "UNRECOGNIZED",
        }
    }

    /// A headline.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::UnknownLabel => "The label is not in the database.",
            Self::UnknownType => "The relationship type is not in the database.",
            Self::UnknownPropertyKey => "The property key is not in the database.",
            Self::RuleExists => "The index or constraint exists already.",
            Self::RuleMissing => "The index or constraint does not exist.",
        }
    }
}

/// Something that is no error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// What it is about.
    pub kind: NotificationKind,
    /// What it says, for people.
    pub message: String,
    /// Where in the text, if it is about a part of it.
    pub position: Option<Position>,
}

impl Notification {
    pub(crate) fn new(kind: NotificationKind, message: String) -> Self {
        Self { kind, message, position: None }
    }
}

/// A name that the database does not have when the query is prepared, and where the query reads it.
/// It may be there when the query has run.
#[derive(Debug, Clone)]
pub(crate) struct UnknownName {
    pub(crate) kind: NotificationKind,
    pub(crate) name: Box<str>,
    pub(crate) position: Position,
}

impl UnknownName {
    /// Whether the database has the name.
    pub(crate) fn is_known(&self, graph: &dyn Graph) -> bool {
        match self.kind {
            NotificationKind::UnknownLabel => graph.find_label(&self.name).is_some(),
            NotificationKind::UnknownType => graph.find_edge_type(&self.name).is_some(),
            _ => graph.find_property_key(&self.name).is_some(),
        }
    }

    /// What to say, unless the name is there by now.
    pub(crate) fn notification(&self, graph: &dyn Graph) -> Option<Notification> {
        if self.is_known(graph) {
            return None;
        }
        let (what, names) = match self.kind {
            NotificationKind::UnknownLabel => ("label", graph.label_names()),
            NotificationKind::UnknownType => ("relationship type", graph.edge_type_names()),
            _ => ("property key", graph.property_key_names()),
        };
        // A number may have no name.
        let names = names.iter().map(String::as_str).filter(|name| !name.is_empty());
        let near = telar_cypher::suggest::closest(&self.name, names);
        let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let message = format!("there is no {what} `{}` in the database{help}", self.name);
        Some(Notification { kind: self.kind, message, position: Some(self.position) })
    }
}
