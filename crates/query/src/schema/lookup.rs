//! Lookup indexes: nodes by their labels, relationships by their type. They are a part of how a
//! graph is stored, so they are always there: making one finds it made, and none can be dropped.

use telar_graph::Value;

use super::options::check_options;
use super::{Done, refuse};
use crate::expr::Expr;
use crate::notification::NotificationKind;
use crate::query_error::{ErrorKind, QueryError};

/// What makes an index of this kind, in Neo4j's words.
pub(crate) const PROVIDER: &str = "token-lookup-1.0";

/// A lookup index, with the number and the name that it has in a new database of Neo4j.
#[derive(Debug)]
pub(crate) struct Lookup {
    pub(crate) id: i64,
    pub(crate) name: &'static str,
    /// Of nodes; otherwise of relationships.
    pub(crate) nodes: bool,
}

const NODES: Lookup = Lookup { id: 1, name: "index_343aff4e", nodes: true };
const RELATIONSHIPS: Lookup = Lookup { id: 2, name: "index_f7700477", nodes: false };

impl Lookup {
    /// Both of them.
    pub(crate) const ALL: [Self; 2] = [NODES, RELATIONSHIPS];

    /// The one with this name, if it is one's.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lookup| lookup.name == name)
    }

    fn of(nodes: bool) -> Self {
        if nodes { NODES } else { RELATIONSHIPS }
    }

    /// `(n) ON EACH labels(n)`
    pub(crate) fn target(nodes: bool) -> &'static str {
        if nodes { "(n) ON EACH labels(n)" } else { "()-[r]-() ON EACH type(r)" }
    }

    /// The command that would make it.
    pub(crate) fn create_statement(&self) -> String {
        format!("CREATE LOOKUP INDEX `{}` FOR {}", self.name, Self::target(self.nodes))
    }

    fn pattern(&self) -> &'static str {
        if self.nodes { "(:<any-labels>)" } else { "()-[:<any-types>]-()" }
    }

    /// Refuses to drop it.
    pub(super) fn refuse_drop<T>(&self) -> Result<T, QueryError> {
        let (name, what) = (self.name, if self.nodes { "labels" } else { "types" });
        let message = format!("Unable to drop index called `{name}`: {what} are always indexed");
        refuse(ErrorKind::IndexDrop, "IndexDropFailed", message)
    }
}

/// `CREATE LOOKUP INDEX` as bound.
#[derive(Debug, Clone)]
pub(crate) struct CreateLookup {
    pub(crate) name: Option<Expr>,
    pub(crate) if_not_exists: bool,
    pub(crate) nodes: bool,
    pub(crate) options: Option<Expr>,
}

impl CreateLookup {
    /// Says that it is there already.
    pub(super) fn run(
        &self,
        name: Option<&str>,
        options: Option<&Value>,
    ) -> Result<Done, QueryError> {
        let config = options.map(|options| check_options(options, PROVIDER, &[])).transpose()?;
        if let Some(key) = config.flatten().and_then(|config| config.keys().next()) {
            let message = format!("there is no setting `{key}`: such an index has no settings");
            return refuse(ErrorKind::InvalidArguments, "InvalidArgumentValue", message);
        }
        let there = Lookup::of(self.nodes);
        if self.if_not_exists {
            let message = format!("`{}` exists: the command does nothing", there.name);
            return Ok(Done::nothing(NotificationKind::RuleExists, message));
        }
        let pattern = there.pattern();
        if name.is_none_or(|name| name == there.name) {
            let message = format!(
                "An equivalent index already exists, 'Index( name='{}', type='LOOKUP', \
                 schema={pattern} )'.",
                there.name
            );
            let detail = "EquivalentSchemaRuleAlreadyExists";
            return refuse(ErrorKind::EquivalentRule, detail, message);
        }
        let message = format!("There already exists an index {pattern}: `{}`.", there.name);
        refuse(ErrorKind::IndexExists, "IndexAlreadyExists", message)
    }
}
