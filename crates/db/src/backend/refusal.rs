//! Errors of the engine as queries report them: with names instead of numbers.

use telar_engine::{Engine, Error, IndexTarget, Object, Violation};
use telar_graph::{PropertyKeyId, Value};
use telar_query::{ErrorKind, QueryError, literal};

/// The error of a query that the engine refused.
pub(crate) fn query_error(db: &Engine, error: &Error) -> QueryError {
    let (kind, detail) = match error {
        Error::ConstraintViolated { .. } => (ErrorKind::ConstraintViolation, "ConstraintViolation"),
        Error::StillConnected { .. } => (ErrorKind::ConstraintViolation, "DeleteConnectedNode"),
        Error::IndexSpec { .. }
        | Error::IndexExists { .. }
        | Error::UnknownIndex(_)
        | Error::UnknownIndexName { .. } => (ErrorKind::Argument, "InvalidSchemaRule"),
        Error::Once { .. } => (ErrorKind::InvalidArguments, "Once"),
        Error::MixedChanges => (ErrorKind::TransactionType, "ForbiddenDueToTransactionType"),
        Error::Name(_) | Error::TooManyNames { .. } => (ErrorKind::Argument, "InvalidName"),
        Error::Deadlock => (ErrorKind::Deadlock, "Deadlock"),
        Error::WaitTimedOut => (ErrorKind::TimedOut, "TimedOut"),
        Error::WaitTerminated => (ErrorKind::Terminated, "Terminated"),
        Error::NotLeader { .. } => (ErrorKind::NotALeader, "NotALeader"),
        _ if error.is_retryable() => (ErrorKind::Conflict, "Conflict"),
        _ => (ErrorKind::Database, "DatabaseError"),
    };
    let message = match error {
        Error::ConstraintViolated { constraint, violation } => {
            message(db, violation, Constraint::find(db, constraint).as_ref())
        }
        Error::StillConnected { vertex, .. } => format!(
            "Cannot delete node<{vertex}>, because it still has relationships. To delete this \
             node, you must first delete its relationships."
        ),
        error => error.to_string(),
    };
    QueryError::runtime(kind, detail, message)
}

/// The error of a constraint that was to be made and that what is there breaks.
pub(super) fn constraint_not_made(db: &Engine, made: &str, violation: &Violation) -> QueryError {
    let why = message(db, violation, None);
    let message = format!("Unable to create {made}: {why}");
    let (kind, detail) = (ErrorKind::ConstraintCreation, "ConstraintCreationFailed");
    QueryError::runtime(kind, detail, message)
}

/// The error of a statement or commit that somebody has ended.
pub(crate) fn terminated() -> QueryError {
    let message = "the transaction was terminated";
    QueryError::runtime(ErrorKind::Terminated, "Terminated", message)
}

/// What a constraint is about, in words.
struct Constraint {
    /// `` with label `Person` ``
    label: String,
    properties: Vec<PropertyKeyId>,
    name: String,
}

impl Constraint {
    /// The constraint of this name, unless it is gone, or was never there: then making it failed.
    fn find(db: &Engine, constraint: &str) -> Option<Self> {
        let info = db.indexes().into_iter().find(|info| info.name == constraint)?;
        let label = match info.target {
            IndexTarget::Vertices(label) => {
                format!("with label `{}`", db.labels().get(usize::from(label.get()))?)
            }
            IndexTarget::Edges(ty) => {
                format!("with type `{}`", db.edge_types().get(usize::from(ty.get()))?.0)
            }
        };
        Some(Self { label, properties: info.properties, name: info.name })
    }
}

fn key_name(db: &Engine, key: PropertyKeyId) -> String {
    db.property_keys().get(usize::from(key.get())).cloned().unwrap_or_default()
}

fn object_name(object: &Object) -> String {
    match object {
        Object::Vertex(v) => format!("Node({v})"),
        Object::Edge(e) => format!("Relationship({e})"),
        other => other.to_string(),
    }
}

/// What breaks a constraint, as Neo4j says it.
fn message(db: &Engine, violation: &Violation, constraint: Option<&Constraint>) -> String {
    let label = constraint.map(|c| format!(" {}", c.label)).unwrap_or_default();
    let by = constraint.map(|c| format!(" (constraint `{}`)", c.name)).unwrap_or_default();
    match violation {
        Violation::Duplicate { key, object, existing } => {
            let (object, existing) = (object_name(object), object_name(existing));
            let Some(constraint) = constraint else {
                let key = key.iter().map(literal).collect::<Vec<_>>().join(", ");
                return format!("Both {existing} and {object} have {key}");
            };
            let pair = |(k, value): (&PropertyKeyId, &Value)| {
                format!("`{}` = {}", key_name(db, *k), literal(value))
            };
            let pairs: Vec<String> = constraint.properties.iter().zip(key).map(pair).collect();
            let word = if pairs.len() == 1 { "property" } else { "properties" };
            format!("{existing} already exists{label} and {word} {}{by}", pairs.join(", "))
        }
        Violation::Missing { object, property } => {
            let (object, key) = (object_name(object), key_name(db, *property));
            format!("{object}{label} must have the property `{key}`{by}")
        }
        Violation::WrongType { object, property, expected, found } => {
            let (object, key) = (object_name(object), key_name(db, *property));
            format!(
                "{object}{label} must have the property `{key}` of type {expected}, not {found}{by}"
            )
        }
        other => other.to_string(),
    }
}
