//! `apoc.coll.*`: lists.

use std::collections::{BTreeMap, BTreeSet};

use telar_graph::Value;

use super::{args, flag, int_or};
use crate::error::EvalError;
use crate::function::{Context, Eval, Function};
use crate::watch::{self, sizes};

const L: &str = "List";

type Found = Result<Value, EvalError>;

const fn on(
    name: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, L, arity, signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    on(
        "apoc.coll.toSet",
        (1, 1),
        "apoc.coll.toSet(coll :: LIST<ANY>) :: LIST<ANY>",
        "The different elements, each where it comes first.",
        |args, _| Ok(Value::list(distinct(elements("toSet", args, 0)?)?)),
    ),
    on(
        "apoc.coll.flatten",
        (1, 2),
        "apoc.coll.flatten(coll :: LIST<ANY>, recursive = false :: BOOLEAN) :: LIST<ANY>",
        "The elements of the lists in a list; at any depth if it is recursive.",
        |args, _| {
            let mut found = Vec::new();
            flatten(elements("flatten", args, 0)?, flag(args.get(1), false), true, &mut found)?;
            Ok(Value::list(found))
        },
    ),
    on(
        "apoc.coll.contains",
        (2, 2),
        "apoc.coll.contains(coll :: LIST<ANY>, value :: ANY) :: BOOLEAN",
        "True if the list has the value as an element.",
        |args, _| Ok(position(or_empty("contains", args, 0)?, &args[1])?.is_some().into()),
    )
    .takes_null(),
    on(
        "apoc.coll.containsAll",
        (2, 2),
        "apoc.coll.containsAll(coll1 :: LIST<ANY>, coll2 :: LIST<ANY>) :: BOOLEAN",
        "True if every element of the second list is one of the first.",
        |args, _| {
            let all = set(or_empty("containsAll", args, 0)?)?;
            let Some(sought) = given("containsAll", args, 1)? else { return Ok(false.into()) };
            Ok((!all.is_empty() && sought.iter().all(|v| all.contains(v))).into())
        },
    )
    .takes_null(),
    on(
        "apoc.coll.indexOf",
        (2, 2),
        "apoc.coll.indexOf(coll :: LIST<ANY>, value :: ANY) :: INTEGER",
        "The first position of the value, or -1.",
        |args, _| {
            let at = position(or_empty("indexOf", args, 0)?, &args[1])?;
            Ok(Value::Int(at.map_or(-1, |at| at as i64)))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.sum",
        (1, 1),
        "apoc.coll.sum(coll :: LIST<INTEGER | FLOAT>) :: FLOAT",
        "The sum of the numbers; null if there are none.",
        |args, _| {
            let numbers = numbers("sum", args)?;
            let sum = numbers.iter().sum::<f64>();
            Ok(if numbers.is_empty() { Value::Null } else { sum.into() })
        },
    ),
    on(
        "apoc.coll.avg",
        (1, 1),
        "apoc.coll.avg(coll :: LIST<INTEGER | FLOAT>) :: FLOAT",
        "The mean of the numbers; null if there are none.",
        |args, _| {
            let numbers = numbers("avg", args)?;
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            Ok(if numbers.is_empty() { Value::Null } else { mean.into() })
        },
    ),
    on(
        "apoc.coll.min",
        (1, 1),
        "apoc.coll.min(values :: LIST<ANY>) :: ANY",
        "The least element, as ORDER BY sorts.",
        |args, _| Ok(known(elements("min", args, 0)?).min().cloned().unwrap_or_default()),
    ),
    on(
        "apoc.coll.max",
        (1, 1),
        "apoc.coll.max(values :: LIST<ANY>) :: ANY",
        "The greatest element, as ORDER BY sorts.",
        |args, _| Ok(known(elements("max", args, 0)?).max().cloned().unwrap_or_default()),
    ),
    on(
        "apoc.coll.sort",
        (1, 1),
        "apoc.coll.sort(coll :: LIST<ANY>) :: LIST<ANY>",
        "The elements in the order of ORDER BY.",
        |args, _| {
            let mut sorted = or_empty("sort", args, 0)?.to_vec();
            watch::work(sorted.len())?;
            sorted.sort();
            Ok(Value::list(sorted))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.sortMaps",
        (2, 2),
        "apoc.coll.sortMaps(list :: LIST<MAP>, prop :: STRING) :: LIST<MAP>",
        "Maps by the value of a key, descending; ascending if the key begins with ^.",
        sort_maps,
    )
    .takes_null(),
    on(
        "apoc.coll.union",
        (2, 2),
        "apoc.coll.union(list1 :: LIST<ANY>, list2 :: LIST<ANY>) :: LIST<ANY>",
        "The different elements of both lists.",
        |args, _| {
            if let Some(other) = other_of_null(args) {
                return Ok(other);
            }
            let both = [elements("union", args, 0)?, elements("union", args, 1)?].concat();
            Ok(Value::list(distinct(&both)?))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.unionAll",
        (2, 2),
        "apoc.coll.unionAll(list1 :: LIST<ANY>, list2 :: LIST<ANY>) :: LIST<ANY>",
        "The elements of both lists.",
        |args, _| {
            if let Some(other) = other_of_null(args) {
                return Ok(other);
            }
            let (a, b) = (elements("unionAll", args, 0)?, elements("unionAll", args, 1)?);
            sizes::check_list("the result of apoc.coll.unionAll()", a.len() + b.len())?;
            Ok(Value::list([a, b].concat()))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.intersection",
        (2, 2),
        "apoc.coll.intersection(list1 :: LIST<ANY>, list2 :: LIST<ANY>) :: LIST<ANY>",
        "The different elements that are in both lists.",
        |args, _| chosen("intersection", args, true),
    )
    .takes_null(),
    on(
        "apoc.coll.subtract",
        (2, 2),
        "apoc.coll.subtract(list1 :: LIST<ANY>, list2 :: LIST<ANY>) :: LIST<ANY>",
        "The different elements of the first list that are not in the second.",
        |args, _| match args[0] {
            Value::Null => Ok(Value::Null),
            _ => chosen("subtract", args, false),
        },
    )
    .takes_null(),
    on(
        "apoc.coll.removeAll",
        (2, 2),
        "apoc.coll.removeAll(list1 :: LIST<ANY>, list2 :: LIST<ANY>) :: LIST<ANY>",
        "The elements of the first list that are not in the second.",
        |args, _| {
            let without = set(or_empty("removeAll", args, 1)?)?;
            let Some(all) = given("removeAll", args, 0)? else { return Ok(Value::Null) };
            Ok(Value::list(all.iter().filter(|v| !without.contains(v)).cloned()))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.disjunction",
        (2, 2),
        "apoc.coll.disjunction(list1 :: LIST<ANY>, list2 :: LIST<ANY>) :: LIST<ANY>",
        "The different elements that are in one of the lists alone.",
        |args, _| {
            if let Some(other) = other_of_null(args) {
                return Ok(other);
            }
            let (a, b) = (elements("disjunction", args, 0)?, elements("disjunction", args, 1)?);
            let (in_a, in_b) = (set(a)?, set(b)?);
            let alone = |v: &&Value| in_a.contains(v) != in_b.contains(v);
            let all: Vec<Value> = a.iter().chain(b).filter(alone).cloned().collect();
            Ok(Value::list(distinct(&all)?))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.zip",
        (2, 2),
        "apoc.coll.zip(list1 :: LIST<ANY>, list2 :: LIST<ANY>) :: LIST<ANY>",
        "Pairs of the elements at the same places; null where the second list is shorter.",
        |args, _| {
            let (a, b) = (elements("zip", args, 0)?, elements("zip", args, 1)?);
            let pair = |(at, v): (usize, &Value)| {
                Value::list([v.clone(), b.get(at).cloned().unwrap_or_default()])
            };
            Ok(Value::list(a.iter().enumerate().map(pair)))
        },
    ),
    on(
        "apoc.coll.pairs",
        (1, 1),
        "apoc.coll.pairs(list :: LIST<ANY>) :: LIST<ANY>",
        "Pairs of neighbours; the last with null.",
        |args, _| {
            let list = elements("pairs", args, 0)?;
            let pair = |at: usize| {
                Value::list([list[at].clone(), list.get(at + 1).cloned().unwrap_or_default()])
            };
            Ok(Value::list((0..list.len()).map(pair)))
        },
    ),
    on(
        "apoc.coll.pairsMin",
        (1, 1),
        "apoc.coll.pairsMin(list :: LIST<ANY>) :: LIST<ANY>",
        "Pairs of neighbours.",
        |args, _| {
            let pairs = elements("pairsMin", args, 0)?.windows(2);
            Ok(Value::list(pairs.map(|pair| Value::list(pair.to_vec()))))
        },
    ),
    on(
        "apoc.coll.partition",
        (2, 2),
        "apoc.coll.partition(coll :: LIST<ANY>, batchSize :: INTEGER) :: LIST<ANY>",
        "Parts of a list of so many elements; the last may have fewer.",
        |args, _| {
            let size = int_or("apoc.coll.partition()", args.get(1), 0)?;
            let Some(size) = usize::try_from(size).ok().filter(|size| *size > 0) else {
                let message = "apoc.coll.partition() expects a positive batchSize";
                return Err(EvalError::argument_value(message));
            };
            let parts = or_empty("partition", args, 0)?.chunks(size);
            Ok(Value::list(parts.map(|part| Value::list(part.to_vec()))))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.frequencies",
        (1, 1),
        "apoc.coll.frequencies(coll :: LIST<ANY>) :: LIST<MAP>",
        "Maps of the different elements (item) and how often they occur (count).",
        |args, _| {
            let list = or_empty("frequencies", args, 0)?;
            let counts = counts(list)?;
            let map = |v: Value| {
                let count = counts[&v];
                Value::map([("item", v), ("count", count.into())])
            };
            Ok(Value::list(distinct(list)?.into_iter().map(map)))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.frequenciesAsMap",
        (1, 1),
        "apoc.coll.frequenciesAsMap(coll :: LIST<ANY>) :: MAP",
        "How often each element occurs, by its text.",
        |args, _| {
            let counts = counts(or_empty("frequenciesAsMap", args, 0)?)?;
            let entry = |(v, n): (Value, i64)| (super::json::text_of(&v), Value::Int(n));
            Ok(Value::map(counts.into_iter().map(entry)))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.occurrences",
        (2, 2),
        "apoc.coll.occurrences(coll :: LIST<ANY>, item :: ANY) :: INTEGER",
        "How often an element occurs.",
        |args, _| {
            let list = or_empty("occurrences", args, 0)?;
            Ok(Value::Int(list.iter().filter(|v| **v == args[1]).count() as i64))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.duplicates",
        (1, 1),
        "apoc.coll.duplicates(coll :: LIST<ANY>) :: LIST<ANY>",
        "The different elements that occur more than once.",
        |args, _| {
            let list = or_empty("duplicates", args, 0)?;
            let counts = counts(list)?;
            let twice = distinct(list)?.into_iter().filter(|v| counts[v] > 1);
            Ok(Value::list(twice))
        },
    )
    .takes_null(),
    on(
        "apoc.coll.different",
        (1, 1),
        "apoc.coll.different(coll :: LIST<ANY>) :: BOOLEAN",
        "True if no element occurs twice.",
        |args, _| {
            let Some(list) = given("different", args, 0)? else { return Ok(false.into()) };
            Ok((set(list)?.len() == list.len()).into())
        },
    )
    .takes_null(),
    on(
        "apoc.coll.set",
        (3, 3),
        "apoc.coll.set(coll :: LIST<ANY>, index :: INTEGER, value :: ANY) :: LIST<ANY>",
        "The list with another element at a place.",
        |args, _| spliced("set", args, 1, std::slice::from_ref(&args[2])),
    )
    .takes_null(),
    on(
        "apoc.coll.insert",
        (3, 3),
        "apoc.coll.insert(coll :: LIST<ANY>, index :: INTEGER, value :: ANY) :: LIST<ANY>",
        "The list with an element more at a place.",
        |args, _| spliced("insert", args, 0, std::slice::from_ref(&args[2])),
    )
    .takes_null(),
    on(
        "apoc.coll.insertAll",
        (3, 3),
        "apoc.coll.insertAll(coll :: LIST<ANY>, index :: INTEGER, values :: LIST<ANY>) :: LIST<ANY>",
        "The list with elements more at a place.",
        |args, _| spliced("insertAll", args, 0, elements("insertAll", args, 2)?),
    ),
    on(
        "apoc.coll.remove",
        (2, 3),
        "apoc.coll.remove(coll :: LIST<ANY>, index :: INTEGER, length = 1 :: INTEGER) :: LIST<ANY>",
        "The list without so many elements from a place on.",
        |args, _| {
            let length = int_or("apoc.coll.remove()", args.get(2), 1)?;
            spliced("remove", args, usize::try_from(length).unwrap_or(0), &[])
        },
    ),
];

/// The list that an argument is.
fn elements<'a>(name: &str, arguments: &'a [Value], at: usize) -> Result<&'a [Value], EvalError> {
    let found = args::list(&format!("apoc.coll.{name}()"), &arguments[at])?;
    watch::work(found.len())?;
    Ok(found)
}

/// The list that an argument is; none for null.
fn given<'a>(
    name: &str,
    arguments: &'a [Value],
    at: usize,
) -> Result<Option<&'a [Value]>, EvalError> {
    (!arguments[at].is_null()).then(|| elements(name, arguments, at)).transpose()
}

/// The list that an argument is; no elements for null.
fn or_empty<'a>(name: &str, arguments: &'a [Value], at: usize) -> Result<&'a [Value], EvalError> {
    Ok(given(name, arguments, at)?.unwrap_or_default())
}

/// The other one of two arguments of which one is null.
fn other_of_null(arguments: &[Value]) -> Option<Value> {
    match arguments {
        [Value::Null, other] | [other, Value::Null] => Some(other.clone()),
        _ => None,
    }
}

fn known(list: &[Value]) -> impl Iterator<Item = &Value> {
    list.iter().filter(|value| !value.is_null())
}

fn set(list: &[Value]) -> Result<BTreeSet<&Value>, EvalError> {
    watch::room(size_of_val(list))?;
    Ok(list.iter().collect())
}

fn distinct(list: &[Value]) -> Result<Vec<Value>, EvalError> {
    watch::room(size_of_val(list))?;
    let mut seen = BTreeSet::new();
    Ok(list.iter().filter(|value| seen.insert(*value)).cloned().collect())
}

fn counts(list: &[Value]) -> Result<BTreeMap<Value, i64>, EvalError> {
    watch::room(size_of_val(list))?;
    let mut counts = BTreeMap::new();
    for value in list {
        *counts.entry(value.clone()).or_default() += 1;
    }
    Ok(counts)
}

fn position(list: &[Value], value: &Value) -> Result<Option<usize>, EvalError> {
    watch::work(list.len())?;
    Ok(list.iter().position(|other| other == value))
}

fn numbers(name: &str, arguments: &[Value]) -> Result<Vec<f64>, EvalError> {
    let function = format!("apoc.coll.{name}()");
    known(elements(name, arguments, 0)?).map(|value| args::number(&function, value)).collect()
}

fn flatten(
    list: &[Value],
    recursive: bool,
    first: bool,
    found: &mut Vec<Value>,
) -> Result<(), EvalError> {
    watch::work(list.len())?;
    for value in list {
        match value {
            Value::List(inner) if recursive || first => flatten(inner, recursive, false, found)?,
            value => found.push(value.clone()),
        }
        sizes::check_list("the result of apoc.coll.flatten()", found.len())?;
    }
    Ok(())
}

fn chosen(name: &str, arguments: &[Value], in_both: bool) -> Found {
    let second = set(or_empty(name, arguments, 1)?)?;
    let first = distinct(or_empty(name, arguments, 0)?)?;
    Ok(Value::list(first.into_iter().filter(|value| second.contains(value) == in_both)))
}

fn sort_maps(arguments: &[Value], _: &Context) -> Found {
    let key = args::text("apoc.coll.sortMaps()", &arguments[1])?;
    let (key, ascending) = match key.strip_prefix('^') {
        Some(key) => (key, true),
        None => (key, false),
    };
    let mut maps = or_empty("sortMaps", arguments, 0)?.to_vec();
    let value = |map: &Value| match map {
        Value::Map(entries) => entries.get(key).cloned().unwrap_or_default(),
        _ => Value::Null,
    };
    maps.sort_by(|a, b| {
        // Those without the key come before all others, unlike in ORDER BY.
        let rank = |value: &Value| !value.is_null();
        let (a, b) = (value(a), value(b));
        let order = rank(&a).cmp(&rank(&b)).then_with(|| a.cmp(&b));
        if ascending { order } else { order.reverse() }
    });
    Ok(Value::list(maps))
}

/// The list with `removed` elements from the place in the second argument on replaced by `new`; as
/// it is where there is no such place.
fn spliced(name: &str, arguments: &[Value], removed: usize, new: &[Value]) -> Found {
    // As in APOC: a place or a value that is null changes nothing.
    if arguments[..2].iter().any(Value::is_null) || new == [Value::Null] {
        return Ok(arguments[0].clone());
    }
    let list = elements(name, arguments, 0)?;
    let at = int_or(&format!("apoc.coll.{name}()"), arguments.get(1), 0)?;
    // What replaces elements needs one there.
    let bound = if removed > 0 { list.len() } else { list.len() + 1 };
    let Some(at) = usize::try_from(at).ok().filter(|at| *at < bound) else {
        return Ok(arguments[0].clone());
    };
    sizes::check_list(&format!("the result of apoc.coll.{name}()"), list.len() + new.len())?;
    let end = at.saturating_add(removed).min(list.len());
    Ok(Value::list([&list[..at], new, &list[end..]].concat()))
}
