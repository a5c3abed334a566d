//! `apoc.schema.assert`: the indexes and constraints that are to be, and no others.

use std::collections::BTreeSet;
use std::sync::Arc;

use telar_graph::update::IndexedObjects;
use telar_graph::{ConstraintKind, IndexKind, SchemaKind, SchemaRule, Value};

use super::args::failed;
use super::{Entry, Mode};
use crate::procedure::{CallContext, Rows};
use crate::query_error::QueryError;
use crate::schema::{about, generated_name};

const NAME: &str = "apoc.schema.assert";

pub(super) const PROCEDURES: &[Entry] = &[(
    NAME,
    Mode::Schema,
    "indexes MAP; constraints MAP; dropExisting BOOLEAN = true",
    "label ANY; key STRING; keys LIST<STRING>; unique BOOLEAN; action STRING",
    "Makes the indexes and unique constraints of labels that lack, and drops others.",
    assert,
)];

/// A label with keys, and true for a constraint.
type Wanted = (bool, Arc<str>, Vec<Arc<str>>);

/// Adds what a map of labels with keys asks for; several keys are in a list of their own.
fn wanted(of: &Value, is_constraint: bool, all: &mut BTreeSet<Wanted>) -> Result<(), QueryError> {
    let labels = match of {
        Value::Null => return Ok(()),
        Value::Map(labels) => labels,
        _ => return Err(failed(NAME, "indexes and constraints must be MAPs of labels")),
    };
    let wrong = || failed(NAME, "a label must have a LIST of keys, or of LISTs of keys");
    let key = |value: &Value| match value {
        Value::String(key) => Ok(Arc::clone(key)),
        _ => Err(wrong()),
    };
    for (label, entries) in labels.iter() {
        let Value::List(entries) = entries else { return Err(wrong()) };
        for entry in entries.iter() {
            let keys = match entry {
                Value::List(keys) => keys.iter().map(key).collect::<Result<_, _>>()?,
                entry => vec![key(entry)?],
            };
            all.insert((is_constraint, Arc::clone(label), keys));
        }
    }
    Ok(())
}

/// True for a rule that such a map can ask for: on a label, by range or unique.
fn can_be_wanted(rule: &SchemaRule) -> bool {
    let kinds: [SchemaKind; 2] = [IndexKind::Range.into(), ConstraintKind::Unique.into()];
    matches!(rule.objects, IndexedObjects::Vertices(_)) && kinds.contains(&rule.kind)
}

/// True for a rule that is never dropped: it has settings, which a map cannot ask for.
fn stays(rule: &SchemaRule) -> bool {
    matches!(rule.kind.index(), Some(IndexKind::Fulltext | IndexKind::Vector))
}

fn row(label: &str, keys: &[Arc<str>], is_constraint: bool, action: &str) -> Vec<Value> {
    let key = keys.first().map_or(Value::Null, |key| Value::String(Arc::clone(key)));
    let keys = Value::list(keys.iter().map(|key| Value::String(Arc::clone(key))));
    vec![label.into(), key, keys, is_constraint.into(), action.into()]
}

fn assert(call: &mut CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let mut missing = BTreeSet::new();
    wanted(&arguments[0], false, &mut missing)?;
    wanted(&arguments[1], true, &mut missing)?;
    let drops = arguments[2] != Value::Bool(false);
    let mut rules = call.graph().schema_rules();
    rules.sort_by(|a, b| a.name.cmp(&b.name));
    let mut rows = Rows::new();
    for rule in &rules {
        let (_, label, keys) = about(rule, call.graph());
        let keys: Vec<Arc<str>> = keys.into_iter().map(Arc::from).collect();
        let is_constraint = rule.kind.is_constraint();
        let sought = (is_constraint, Arc::from(label.as_str()), keys);
        let action = match can_be_wanted(rule) && missing.remove(&sought) {
            true => "KEPT",
            false if drops && !stays(rule) => {
                call.changes()?.drop_rule(&rule.name)?;
                "DROPPED"
            }
            false => continue,
        };
        rows.push(row(&label, &sought.2, is_constraint, action));
    }
    let mut taken: BTreeSet<String> = rules.into_iter().map(|rule| rule.name).collect();
    for (is_constraint, label, keys) in missing {
        let kind: SchemaKind = match is_constraint {
            true => ConstraintKind::Unique.into(),
            false => IndexKind::Range.into(),
        };
        let name = generated_name((&label, &keys), kind, |name| taken.contains(name));
        let mut changes = call.changes()?;
        let objects = IndexedObjects::Vertices(changes.label(&label)?);
        let numbers = keys.iter().map(|key| changes.property_key(key));
        let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        changes.create_rule(&name, objects, &numbers, kind)?;
        taken.insert(name);
        rows.push(row(&label, &keys, is_constraint, "CREATED"));
    }
    Ok(rows)
}
