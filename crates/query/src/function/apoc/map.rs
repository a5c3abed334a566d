//! `apoc.map.*`: maps.

use std::sync::Arc;

use telar_graph::{Value, ValueMap};

use super::{args, flag, list_or_empty, text_or};
use crate::error::EvalError;
use crate::function::{Eval, Function};
use crate::watch;

type Found = Result<Value, EvalError>;

const fn on(
    name: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "Map", arity, signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    on(
        "apoc.map.clean",
        (3, 3),
        "apoc.map.clean(map :: MAP, keys :: LIST<STRING>, values :: LIST<ANY>) :: MAP",
        "The map without these keys, without entries of these values, and without nulls.",
        |args, _| {
            if args[0].is_null() {
                return Ok(Value::Null);
            }
            let name = "apoc.map.clean()";
            let (keys, values) = (keys(name, &args[1])?, list_or_empty(name, args.get(2))?);
            let mut map = args::map(name, &args[0])?.clone();
            map.retain(|key, v| !v.is_null() && !keys.contains(key) && !values.contains(v));
            Ok(Value::map(map))
        },
    )
    .takes_null(),
    on(
        "apoc.map.merge",
        (2, 2),
        "apoc.map.merge(map1 :: MAP, map2 :: MAP) :: MAP",
        "The entries of both maps; those of the second where both have a key.",
        |args, _| merged("apoc.map.merge()", args),
    )
    .takes_null(),
    on(
        "apoc.map.mergeList",
        (1, 1),
        "apoc.map.mergeList(maps :: LIST<MAP>) :: MAP",
        "The entries of all maps; those of the last that has a key.",
        |args, _| merged("apoc.map.mergeList()", args::list("apoc.map.mergeList()", &args[0])?),
    ),
    on(
        "apoc.map.fromPairs",
        (1, 1),
        "apoc.map.fromPairs(pairs :: LIST<LIST<ANY>>) :: MAP",
        "The map of pairs of a key and a value.",
        |args, _| {
            let mut map = ValueMap::new();
            set_pairs("apoc.map.fromPairs()", &mut map, &args[0])?;
            Ok(Value::map(map))
        },
    ),
    on(
        "apoc.map.fromLists",
        (2, 2),
        "apoc.map.fromLists(keys :: LIST<STRING>, values :: LIST<ANY>) :: MAP",
        "The map of keys and the values at the same places.",
        |args, _| {
            let mut map = ValueMap::new();
            set_lists("apoc.map.fromLists()", &mut map, &args[0], &args[1])?;
            Ok(Value::map(map))
        },
    ),
    on(
        "apoc.map.fromValues",
        (1, 1),
        "apoc.map.fromValues(values :: LIST<ANY>) :: MAP",
        "The map of keys and values in turn.",
        |args, _| {
            let name = "apoc.map.fromValues()";
            let mut map = ValueMap::new();
            for pair in args::list(name, &args[0])?.chunks(2) {
                set(&mut map, &pair[0], pair.get(1).cloned().unwrap_or_default());
            }
            Ok(Value::map(map))
        },
    ),
    on(
        "apoc.map.setKey",
        (3, 3),
        "apoc.map.setKey(map :: MAP, key :: STRING, value :: ANY) :: MAP",
        "The map with an entry more, or another value of a key.",
        |args, _| {
            if args[0].is_null() {
                return Ok(Value::Null);
            }
            let mut map = args::map("apoc.map.setKey()", &args[0])?.clone();
            set(&mut map, &args[1], args[2].clone());
            Ok(Value::map(map))
        },
    )
    .takes_null(),
    on(
        "apoc.map.setPairs",
        (2, 2),
        "apoc.map.setPairs(map :: MAP, pairs :: LIST<LIST<ANY>>) :: MAP",
        "The map with pairs of a key and a value set.",
        |args, _| {
            let mut map = args::map("apoc.map.setPairs()", &args[0])?.clone();
            set_pairs("apoc.map.setPairs()", &mut map, &args[1])?;
            Ok(Value::map(map))
        },
    ),
    on(
        "apoc.map.setLists",
        (3, 3),
        "apoc.map.setLists(map :: MAP, keys :: LIST<STRING>, values :: LIST<ANY>) :: MAP",
        "The map with keys set to the values at the same places.",
        |args, _| {
            let mut map = args::map("apoc.map.setLists()", &args[0])?.clone();
            set_lists("apoc.map.setLists()", &mut map, &args[1], &args[2])?;
            Ok(Value::map(map))
        },
    ),
    on(
        "apoc.map.removeKey",
        (2, 3),
        "apoc.map.removeKey(map :: MAP, key :: STRING, config = {} :: MAP) :: MAP",
        "The map without a key; with {recursive: true} in maps within it, too.",
        |args, _| {
            let config = args.get(2);
            removed("apoc.map.removeKey()", &args[0], std::slice::from_ref(&args[1]), config)
        },
    ),
    on(
        "apoc.map.removeKeys",
        (2, 3),
        "apoc.map.removeKeys(map :: MAP, keys :: LIST<STRING>, config = {} :: MAP) :: MAP",
        "The map without keys; with {recursive: true} in maps within it, too.",
        |args, _| {
            let name = "apoc.map.removeKeys()";
            removed(name, &args[0], args::list(name, &args[1])?, args.get(2))
        },
    ),
    on(
        "apoc.map.get",
        (2, 4),
        "apoc.map.get(map :: MAP, key :: STRING, value = null :: ANY, fail = true :: BOOLEAN) :: ANY",
        "The value of a key, or another value; an error if there is neither and it may fail.",
        |args, _| {
            if args[0].is_null() {
                return Ok(Value::Null);
            }
            let name = "apoc.map.get()";
            let key = args::text(name, &args[1])?;
            let default = args.get(2).cloned().unwrap_or_default();
            found(name, args::map(name, &args[0])?, key, default, flag(args.get(3), true))
        },
    )
    .takes_null(),
    on(
        "apoc.map.mget",
        (2, 4),
        "apoc.map.mget(map :: MAP, keys :: LIST<STRING>, values = [] :: LIST<ANY>, \
         fail = true :: BOOLEAN) :: LIST<ANY>",
        "The values of keys, or other values; an error if there is neither and it may fail.",
        |args, _| {
            if args[0].is_null() {
                return Ok(Value::Null);
            }
            Ok(Value::list(pairs("apoc.map.mget()", args)?.into_iter().map(|(_, value)| value)))
        },
    )
    .takes_null(),
    on(
        "apoc.map.submap",
        (2, 4),
        "apoc.map.submap(map :: MAP, keys :: LIST<STRING>, values = [] :: LIST<ANY>, \
         fail = true :: BOOLEAN) :: MAP",
        "The entries of keys, or other values; an error if there is neither and it may fail.",
        |args, _| {
            if args[0].is_null() {
                return Ok(Value::Null);
            }
            Ok(Value::map(pairs("apoc.map.submap()", args)?))
        },
    )
    .takes_null(),
    on(
        "apoc.map.values",
        (1, 3),
        "apoc.map.values(map :: MAP, keys = [] :: LIST<STRING>, addNullsForMissing = false :: \
         BOOLEAN) :: LIST<ANY>",
        "The values of keys that are there; with addNullsForMissing null where one is not.",
        |args, _| {
            let name = "apoc.map.values()";
            let map = args::map(name, &args[0])?;
            let nulls = flag(args.get(2), false);
            let keys = list_or_empty(name, args.get(1))?.iter();
            let value = |key: &Value| {
                let value = map.get(&*super::json::text_of(key)).cloned();
                if nulls { Some(value.unwrap_or_default()) } else { value }
            };
            Ok(Value::list(keys.filter_map(value)))
        },
    ),
    on(
        "apoc.map.sortedProperties",
        (1, 2),
        "apoc.map.sortedProperties(map :: MAP, ignoreCase = true :: BOOLEAN) :: LIST<ANY>",
        "Pairs of keys and values, in the order of keys.",
        |args, _| {
            let map = args::map("apoc.map.sortedProperties()", &args[0])?;
            let fold = flag(args.get(1), true);
            let mut entries: Vec<(&Arc<str>, &Value)> = map.iter().collect();
            let shown = |key: &str| if fold { key.to_lowercase() } else { key.to_owned() };
            entries.sort_by_cached_key(|(key, _)| shown(key));
            let pair = |(key, value): (&Arc<str>, &Value)| {
                Value::list([Value::String(Arc::clone(key)), value.clone()])
            };
            Ok(Value::list(entries.into_iter().map(pair)))
        },
    ),
    on(
        "apoc.map.groupBy",
        (2, 2),
        "apoc.map.groupBy(values :: LIST<ANY>, key :: STRING) :: MAP",
        "Maps by the value of a key; the last where several have one value.",
        |args, _| {
            let mut groups = ValueMap::new();
            for (key, value) in keyed("apoc.map.groupBy()", args)? {
                groups.insert(key, value);
            }
            Ok(Value::map(groups))
        },
    ),
    on(
        "apoc.map.groupByMulti",
        (2, 2),
        "apoc.map.groupByMulti(values :: LIST<ANY>, key :: STRING) :: MAP",
        "Lists of the maps that have one value of a key.",
        |args, _| {
            let mut groups: std::collections::BTreeMap<Arc<str>, Vec<Value>> = Default::default();
            for (key, value) in keyed("apoc.map.groupByMulti()", args)? {
                groups.entry(key).or_default().push(value);
            }
            Ok(Value::map(groups.into_iter().map(|(key, all)| (key, Value::list(all)))))
        },
    ),
    on(
        "apoc.map.flatten",
        (1, 2),
        "apoc.map.flatten(map :: MAP, delimiter = '.' :: STRING) :: MAP",
        "One map of the entries of maps within a map: their keys stand behind each other.",
        |args, _| {
            let name = "apoc.map.flatten()";
            let mut flat = ValueMap::new();
            let delimiter = text_or(name, args.get(1), ".")?;
            flatten(args::map(name, &args[0])?, "", delimiter, &mut flat)?;
            Ok(Value::map(flat))
        },
    ),
];

fn keys(function: &str, value: &Value) -> Result<Vec<Arc<str>>, EvalError> {
    let names = list_or_empty(function, Some(value))?.iter();
    Ok(names.filter(|key| !key.is_null()).map(|key| super::json::text_of(key).into()).collect())
}

/// Sets an entry; a key that is null sets none.
fn set(map: &mut ValueMap, key: &Value, value: Value) {
    if !key.is_null() {
        map.insert(super::json::text_of(key).into(), value);
    }
}

fn set_pairs(function: &str, map: &mut ValueMap, pairs: &Value) -> Result<(), EvalError> {
    for pair in args::list(function, pairs)? {
        match args::list(function, pair)? {
            [key, value] => set(map, key, value.clone()),
            other => {
                let message = format!(
                    "{function} expects pairs of a key and a value, found {} elements",
                    other.len()
                );
                return Err(EvalError::argument_value(message));
            }
        }
    }
    Ok(())
}

fn set_lists(
    function: &str,
    map: &mut ValueMap,
    keys: &Value,
    values: &Value,
) -> Result<(), EvalError> {
    let (keys, values) = (args::list(function, keys)?, args::list(function, values)?);
    if keys.len() != values.len() {
        let message = format!(
            "{function} expects as many values as keys, found {} and {}",
            keys.len(),
            values.len()
        );
        return Err(EvalError::argument_value(message));
    }
    keys.iter().zip(values).for_each(|(key, value)| set(map, key, value.clone()));
    Ok(())
}

fn merged(function: &str, maps: &[Value]) -> Found {
    let mut all = ValueMap::new();
    for map in maps.iter().filter(|map| !map.is_null()) {
        let map = args::map(function, map)?;
        watch::work(map.len())?;
        all.extend(map.iter().map(|(key, value)| (Arc::clone(key), value.clone())));
    }
    Ok(Value::map(all))
}

fn removed(function: &str, map: &Value, keys: &[Value], config: Option<&Value>) -> Found {
    let recursive = match config {
        Some(Value::Map(config)) => flag(config.get("recursive"), false),
        _ => false,
    };
    let names = self::keys(function, &Value::list(keys.to_vec()))?;
    Ok(Value::map(without(args::map(function, map)?, &names, recursive)))
}

fn without(map: &ValueMap, keys: &[Arc<str>], recursive: bool) -> ValueMap {
    let inner = |value: &Value| match value {
        Value::Map(map) if recursive => Value::map(without(map, keys, true)),
        Value::List(all) if recursive => Value::list(all.iter().map(|value| match value {
            Value::Map(map) => Value::map(without(map, keys, true)),
            value => value.clone(),
        })),
        value => value.clone(),
    };
    let left = map.iter().filter(|(key, _)| !keys.contains(key));
    // A map that was emptied by this goes, too.
    let entry = |(key, value): (&Arc<str>, &Value)| {
        let new = inner(value);
        let emptied = matches!(&new, Value::Map(map) if map.is_empty());
        (!(recursive && emptied)).then(|| (Arc::clone(key), new))
    };
    left.filter_map(entry).collect()
}

fn found(function: &str, map: &ValueMap, key: &str, default: Value, fail: bool) -> Found {
    match map.get(key) {
        Some(value) => Ok(value.clone()),
        None if fail && default.is_null() => {
            let keys: Vec<&str> = map.keys().map(|key| &**key).collect();
            let message = format!("{function}: the map has no key `{key}`; it has {keys:?}");
            Err(EvalError::argument_value(message))
        }
        None => Ok(default),
    }
}

/// Keys with their values, or with those of the third argument.
fn pairs(function: &str, arguments: &[Value]) -> Result<Vec<(Arc<str>, Value)>, EvalError> {
    let map = args::map(function, &arguments[0])?;
    let defaults = list_or_empty(function, arguments.get(2))?;
    let fail = flag(arguments.get(3), true);
    let keys = keys(function, &arguments[1])?.into_iter().enumerate();
    keys.map(|(at, key)| {
        let default = defaults.get(at).cloned().unwrap_or_default();
        let value = found(function, map, &key, default, fail)?;
        Ok((key, value))
    })
    .collect()
}

/// The maps of a list, by the text of one of their values; those without it are left out.
fn keyed(function: &str, arguments: &[Value]) -> Result<Vec<(Arc<str>, Value)>, EvalError> {
    let key = args::text(function, &arguments[1])?;
    let mut found = Vec::new();
    for value in args::list(function, &arguments[0])?.iter().filter(|value| !value.is_null()) {
        match args::map(function, value)?.get(key) {
            None | Some(Value::Null) => {}
            Some(of) => found.push((super::json::text_of(of).into(), value.clone())),
        }
    }
    Ok(found)
}

fn flatten(
    map: &ValueMap,
    before: &str,
    delimiter: &str,
    flat: &mut ValueMap,
) -> Result<(), EvalError> {
    watch::work(map.len())?;
    for (key, value) in map {
        let key = format!("{before}{key}");
        match value {
            Value::Map(inner) => flatten(inner, &format!("{key}{delimiter}"), delimiter, flat)?,
            value => {
                flat.insert(key.into(), value.clone());
            }
        }
    }
    Ok(())
}
