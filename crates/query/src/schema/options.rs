//! `OPTIONS {indexProvider: .., indexConfig: {..}}` of commands that make indexes and constraints.
//!
//! Neo4j's settings of a POINT index bound the space that its curve divides; here the curve covers
//! all of it. They are checked, so that a mistake is seen here as there, and not kept.

use telar_graph::{RuleKind, Value, ValueMap};

use super::refuse;
use crate::error::describe;
use crate::query_error::{ErrorKind, QueryError};

const RANGE_PROVIDER: &str = "range-1.0";
const TEXT_PROVIDER: &str = "text-2.0";
/// The same in older commands.
const OLD_TEXT_PROVIDER: &str = "text-1.0";
const POINT_PROVIDER: &str = "point-1.0";

/// What makes an index on properties, in Neo4j's words.
pub(crate) fn index_provider(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Text => TEXT_PROVIDER,
        RuleKind::Point => POINT_PROVIDER,
        _ => RANGE_PROVIDER,
    }
}

/// A setting of a POINT index: the least or greatest coordinates, and what they are by default.
struct Bound {
    key: &'static str,
    /// The setting of the other side.
    other: &'static str,
    /// What each coordinate lies between.
    allowed: [f64; 3],
    default: [f64; 3],
    axes: usize,
}

const fn bound(
    key: &'static str,
    other: &'static str,
    axes: usize,
    allowed: [f64; 3],
    default: [f64; 3],
) -> Bound {
    Bound { key, other, allowed, default, axes }
}

const ANYWHERE: [f64; 3] = [f64::MAX; 3];
const GLOBE: [f64; 3] = [180.0, 90.0, f64::MAX];
const MILLION: f64 = 1_000_000.0;

/// Every setting, as Neo4j has them.
static BOUNDS: [Bound; 8] = [
    bound("spatial.cartesian-3d.max", "spatial.cartesian-3d.min", 3, ANYWHERE, [MILLION; 3]),
    bound("spatial.cartesian-3d.min", "spatial.cartesian-3d.max", 3, ANYWHERE, [-MILLION; 3]),
    bound("spatial.cartesian.max", "spatial.cartesian.min", 2, ANYWHERE, [MILLION; 3]),
    bound("spatial.cartesian.min", "spatial.cartesian.max", 2, ANYWHERE, [-MILLION; 3]),
    bound("spatial.wgs-84-3d.max", "spatial.wgs-84-3d.min", 3, GLOBE, [180.0, 90.0, MILLION]),
    bound("spatial.wgs-84-3d.min", "spatial.wgs-84-3d.max", 3, GLOBE, [-180.0, -90.0, -MILLION]),
    bound("spatial.wgs-84.max", "spatial.wgs-84.min", 2, GLOBE, [180.0, 90.0, 0.0]),
    bound("spatial.wgs-84.min", "spatial.wgs-84.max", 2, GLOBE, [-180.0, -90.0, 0.0]),
];

/// The settings of an index, as `SHOW INDEXES` lists them.
pub(crate) fn index_config(kind: RuleKind) -> Value {
    let bounds: &[Bound] = if kind == RuleKind::Point { &BOUNDS } else { &[] };
    let value = |bound: &Bound| Value::list(bound.default[..bound.axes].iter().copied());
    Value::map(bounds.iter().map(|bound| (bound.key, value(bound))))
}

fn refused<T>(kind: ErrorKind, message: String) -> Result<T, QueryError> {
    refuse(kind, "InvalidArgumentValue", message)
}

/// Refuses options that an index or constraint of this kind does not have.
pub(super) fn check(options: &Value, kind: RuleKind) -> Result<(), QueryError> {
    let config = check_options(options, index_provider(kind))?;
    let Some(config) = config else { return Ok(()) };
    if kind == RuleKind::Point {
        return check_bounds(config);
    }
    let Some(key) = config.keys().next() else { return Ok(()) };
    let message = format!("there is no setting `{key}`: such an index has no settings");
    refused(ErrorKind::InvalidArguments, message)
}

/// Refuses options that an index of this provider does not have; its settings, if there are any.
pub(super) fn check_options<'o>(
    options: &'o Value,
    provider: &str,
) -> Result<Option<&'o ValueMap>, QueryError> {
    let Value::Map(options) = options else {
        let message = format!("OPTIONS needs a map, found {}", describe(options));
        return refused(ErrorKind::InvalidArguments, message);
    };
    let mut found = None;
    for (key, value) in options.iter() {
        let wanted = match (&**key, value) {
            ("indexProvider", Value::String(asked)) if is_provider(asked, provider) => continue,
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

fn is_provider(asked: &str, provider: &str) -> bool {
    asked == provider || provider == TEXT_PROVIDER && asked == OLD_TEXT_PROVIDER
}

/// The coordinates that a setting gives.
fn coordinates(bound: &Bound, value: &Value) -> Result<[f64; 3], QueryError> {
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

fn check_bounds(config: &ValueMap) -> Result<(), QueryError> {
    for (key, value) in config {
        let Some(bound) = BOUNDS.iter().find(|bound| *bound.key == **key) else {
            let keys: Vec<&str> = BOUNDS.iter().map(|bound| bound.key).collect();
            let message = format!("there is no setting `{key}`: there are {}", keys.join(", "));
            return refused(ErrorKind::InvalidArguments, message);
        };
        let here = coordinates(bound, value)?;
        let other = BOUNDS.iter().find(|other| other.key == bound.other);
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
