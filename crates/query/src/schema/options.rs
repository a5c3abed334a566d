//! `OPTIONS {indexProvider: .., indexConfig: {..}}` of commands that make indexes and constraints.
//!
//! The settings of a kind of index are those of its capability. They are checked, so that a mistake
//! is seen here as in Neo4j, and not kept.

use telar_graph::index_kind::IndexSetting;
use telar_graph::{IndexKind, IndexSettings, SchemaKind, SchemaRule, Value, ValueMap};

use super::{fulltext, refuse, vector};
use crate::error::describe;
use crate::query_error::{ErrorKind, QueryError};

/// The kind of the index that options are about. Constraints that own none take those of a range
/// index, and nothing comes of it.
fn index_of(kind: SchemaKind) -> IndexKind {
    kind.index().unwrap_or(IndexKind::Range)
}

/// The provider of the index, in Neo4j's words.
pub(crate) fn index_provider(kind: SchemaKind) -> &'static str {
    index_of(kind).capability().provider
}

/// The settings of an index, as `SHOW INDEXES` lists them.
pub(crate) fn index_config(rule: &SchemaRule) -> Value {
    let kind = match &rule.options {
        None => rule.kind,
        Some(options) => {
            return match &options.settings {
                IndexSettings::Fulltext(settings) => fulltext::config(settings),
                IndexSettings::Vector(settings) => vector::config(settings),
            };
        }
    };
    let value = |bound: &IndexSetting| Value::list(bound.default[..bound.axes].iter().copied());
    Value::map(index_of(kind).capability().settings.iter().map(|bound| (bound.key, value(bound))))
}

fn refused<T>(kind: ErrorKind, message: String) -> Result<T, QueryError> {
    refuse(kind, "InvalidArgumentValue", message)
}

/// Refuses options that an index or constraint of this kind does not have.
pub(super) fn check(options: &Value, kind: SchemaKind) -> Result<(), QueryError> {
    let capability = index_of(kind).capability();
    let config = check_options(options, capability.provider, capability.old_providers)?;
    check_bounds(config.unwrap_or(&ValueMap::default()), capability.settings)
}

/// Refuses options that an index of this provider, which may have had other names, does not have;
/// its settings, if there are any.
pub(super) fn check_options<'o>(
    options: &'o Value,
    provider: &str,
    old_providers: &[&str],
) -> Result<Option<&'o ValueMap>, QueryError> {
    let Value::Map(options) = options else {
        let message = format!("OPTIONS needs a map, found {}", describe(options));
        return refused(ErrorKind::InvalidArguments, message);
    };
    let mut found = None;
    for (key, value) in options.iter() {
        let wanted = match (&**key, value) {
            ("indexProvider", Value::String(asked))
                if **asked == *provider || old_providers.contains(&&**asked) =>
            {
                continue;
            }
            ("indexConfig", Value::Map(config)) => {
                found = Some(&**config);
                continue;
            }
            ("indexProvider", _) => format!("such an index has the provider {provider}"),
            ("indexConfig", _) => "settings are a map".to_owned(),
            _ => {
                let message = format!(
                    "there is no option `{key}`: the options are `indexProvider` and `indexConfig`"
                );
                return refused(ErrorKind::Syntax, message);
            }
        };
        let message = format!("the option `{key}` cannot be {}: {wanted}", describe(value));
        return refused(ErrorKind::InvalidArguments, message);
    }
    Ok(found)
}

/// The coordinates that a setting gives.
fn coordinates(bound: &IndexSetting, value: &Value) -> Result<[f64; 3], QueryError> {
    let fails = || {
        let message = format!(
            "the setting `{}` cannot be {}: it is a list of {} numbers on the axes",
            bound.key,
            describe(value),
            bound.axes
        );
        refused(ErrorKind::InvalidArguments, message)
    };
    let Value::List(items) = value else { return fails() };
    if items.len() != bound.axes {
        return fails();
    }
    let mut found = [0.0; 3];
    for ((at, item), most) in found.iter_mut().zip(items.iter()).zip(bound.allowed) {
        *at = match item {
            Value::Float(x) => *x,
            Value::Int(x) => *x as f64,
            _ => return fails(),
        };
        if !at.is_finite() || at.abs() > most {
            return fails();
        }
    }
    Ok(found)
}

fn check_bounds(config: &ValueMap, bounds: &[IndexSetting]) -> Result<(), QueryError> {
    for (key, value) in config {
        let Some(bound) = bounds.iter().find(|bound| *bound.key == **key) else {
            let keys: Vec<&str> = bounds.iter().map(|bound| bound.key).collect();
            let known = match &keys[..] {
                [] => "such an index has no settings".to_owned(),
                keys => format!("there are {}", keys.join(", ")),
            };
            let message = format!("there is no setting `{key}`: {known}");
            return refused(ErrorKind::InvalidArguments, message);
        };
        let here = coordinates(bound, value)?;
        let other = bounds.iter().find(|other| other.key == bound.other);
        let Some(other) = other else { continue };
        let there = match config.get(other.key) {
            Some(value) => coordinates(other, value)?,
            None => other.default,
        };
        let (low, high) = if key.ends_with(".min") { (here, there) } else { (there, here) };
        if (0..bound.axes).any(|axis| low[axis] >= high[axis]) {
            let message =
                format!("the setting `{key}` does not fit: minima must be below their maxima");
            return refused(ErrorKind::InvalidArguments, message);
        }
    }
    Ok(())
}
