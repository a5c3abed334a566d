//! `telar.fuse`: ranked lists put together by reciprocal rank fusion.
//!
//! An item has the score `weight / (k + rank)` of each list that it is in (Cormack et al., 2009).
//! Scores of different searches cannot be compared; ranks can.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::{Value, ValueMap};

use super::show::Shown;
use super::{CallContext, Field, Mode, Procedures, Rows, known};
use crate::query_error::{ErrorKind, QueryError};

const NAME: &str = "telar.fuse";
/// The constant of the method, as its authors have it.
const K: f64 = 60.0;
/// Names that a configuration may have.
const KNOWN: [&str; 3] = ["k", "weights", "limit"];

pub(super) fn add(procedures: &mut Procedures) {
    let config = Field::new("config", "MAP").or(Value::map::<&str, Value>([]));
    let arguments = vec![Field::new("lists", "LIST<ANY>"), config];
    let columns = [("item", "ANY"), ("score", "FLOAT"), ("ranks", "LIST<INTEGER>")];
    let columns = columns.map(|(name, of)| Field::new(name, of)).into();
    let run = |call: &mut CallContext<'_>, arguments: &[Value]| fuse(call, arguments).map(known);
    let description = "Ranked lists as one, by reciprocal rank fusion; the best items first.";
    let shown = Shown::of(Mode::Read, description, arguments, columns, run);
    procedures.add(NAME, Arc::new(shown));
}

fn failed(message: &str) -> QueryError {
    let message = format!("{NAME}: {message}");
    QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", message)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
    .filter(|number| number.is_finite() && *number >= 0.0)
}

/// What a configuration says.
struct Config {
    k: f64,
    weights: Vec<f64>,
    limit: usize,
}

impl Config {
    fn of(config: &ValueMap, lists: usize) -> Result<Self, QueryError> {
        if let Some(key) = config.keys().find(|key| !KNOWN.contains(&&***key)) {
            let message = format!("there is no option '{key}'; it knows {}", KNOWN.join(", "));
            return Err(failed(&message));
        }
        let k = match config.get("k") {
            None | Some(Value::Null) => K,
            Some(k) => number(k).ok_or_else(|| failed("k must be a number, 0 or greater"))?,
        };
        let weights = match config.get("weights") {
            None | Some(Value::Null) => vec![1.0; lists],
            Some(Value::List(weights)) if weights.len() == lists => {
                let weights = weights.iter().map(number).collect::<Option<Vec<_>>>();
                weights.ok_or_else(|| failed("weights must be numbers, 0 or greater"))?
            }
            Some(_) => {
                let message = format!("weights must be a LIST of {lists} numbers, one a list");
                return Err(failed(&message));
            }
        };
        let limit = match config.get("limit") {
            None | Some(Value::Null) => usize::MAX,
            Some(Value::Int(limit)) if *limit >= 0 => usize::try_from(*limit).unwrap_or(usize::MAX),
            Some(_) => return Err(failed("limit must be an INTEGER, 0 or greater")),
        };
        Ok(Self { k, weights, limit })
    }
}

/// An item of some lists.
struct Fused {
    item: Value,
    score: f64,
    /// Its rank in each list, from 1.
    ranks: Vec<Value>,
}

fn fuse(call: &CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let Value::List(lists) = &arguments[0] else { return Ok(Rows::new()) };
    let config = match &arguments[1] {
        Value::Map(config) => Config::of(config, lists.len())?,
        _ => Config::of(&ValueMap::new(), lists.len())?,
    };
    let length = |list: &Value| if let Value::List(items) = list { items.len() } else { 0 };
    let items: usize = lists.iter().map(length).sum();
    let bytes = size_of::<Fused>() + (lists.len() + 3) * size_of::<Value>();
    call.room(items.saturating_mul(bytes), NAME)?;
    let mut fused: Vec<Fused> = Vec::new();
    let mut places: HashMap<&Value, usize, RandomState> = HashMap::default();
    for (at, list) in lists.iter().enumerate() {
        let items = match list {
            Value::List(items) => &items[..],
            Value::Null => &[],
            other => {
                let found = other.type_name();
                return Err(failed(&format!("list {} is no LIST, found {found}", at + 1)));
            }
        };
        call.check()?;
        for (rank, item) in (1..).zip(items).filter(|(_, item)| **item != Value::Null) {
            let place = *places.entry(item).or_insert_with(|| {
                let ranks = vec![Value::Null; lists.len()];
                fused.push(Fused { item: item.clone(), score: 0.0, ranks });
                fused.len() - 1
            });
            let found = &mut fused[place];
            // An item that stands in a list again counts where it stands first.
            if found.ranks[at] == Value::Null {
                found.score += config.weights[at] / (config.k + rank as f64);
                found.ranks[at] = Value::Int(rank);
            }
        }
    }
    // The sort is stable: equal scores stay in the order of the lists.
    fused.sort_by(|a, b| b.score.total_cmp(&a.score));
    fused.truncate(config.limit);
    let row = |found: Fused| vec![found.item, found.score.into(), Value::list(found.ranks)];
    Ok(fused.into_iter().map(row).collect())
}
