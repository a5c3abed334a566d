//! Completing a mapping: which columns name nodes, and nodes of which label relationships join.
//!
//! Few rules, in this order, so that a user can foresee them; docs/import.md lists them.

use std::sync::Arc;

use telar_db::Database;
use telar_db::import::table::unique_keys;
use telar_db::query::QueryError;

use super::mapping::{ColumnMapping, EndMapping, Mapping, NodeFiles, RelationshipFiles};
use super::source::Source;
use super::unclear;

/// Columns that options name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// The column of ids, of the nodes of a label or of all.
    pub id: Vec<(Option<String>, String)>,
    /// Start column of the relationships of a type, or of all.
    pub from: Vec<(Option<String>, EndMapping)>,
    /// End column of the relationships of a type, or of all.
    pub to: Vec<(Option<String>, EndMapping)>,
    /// Labels of nodes of the database that relationships may join, and their keys.
    pub existing: Vec<(String, String)>,
}

/// Pairs of columns that are taken for the ends of relationships.
const ENDS: [(&str, &str); 12] = [
    ("from", "to"),
    ("src", "dst"),
    ("source", "target"),
    ("start", "end"),
    ("from_id", "to_id"),
    ("src_id", "dst_id"),
    ("source_id", "target_id"),
    ("start_id", "end_id"),
    (":START_ID", ":END_ID"),
    ("_start", "_end"),
    ("subject", "object"),
    ("head", "tail"),
];
/// Names of columns that are taken for ids, whatever the label is.
const IDS: [&str; 4] = ["id", "_id", ":ID", "node_id"];

/// A name without what differs between ways of writing: `personId` is `person_id`.
fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_' && *c != ' ').flat_map(char::to_lowercase).collect()
}

fn find<'n>(names: &'n [Arc<str>], wanted: &str) -> Option<&'n Arc<str>> {
    let exact = names.iter().find(|name| ***name == *wanted);
    exact.or_else(|| names.iter().find(|name| plain(name) == plain(wanted)))
}

fn listed(names: &[Arc<str>]) -> String {
    names.join(", ")
}

/// Sources of all files of a mapping: of nodes, then of relationships.
pub(super) type Sources = (Vec<Vec<Source>>, Vec<Vec<Source>>);

/// Says of each file what the mapping leaves open. With `types`, also of which type each column is.
///
/// # Errors
/// If a file cannot be read, or the rules say nothing of it: then with what to give.
pub fn guess(
    db: &Database,
    mapping: &Mapping,
    columns: &Columns,
    types: bool,
) -> Result<Mapping, QueryError> {
    let mut mapping = mapping.clone();
    let (nodes, relationships) = sources(&mapping)?;
    for (of, sources) in mapping.nodes.iter_mut().zip(&nodes) {
        if of.id.is_none() {
            of.id = id(of, &sources[0], columns)?;
        }
        settle_types(sources, &mut of.columns, types);
    }
    let known = known_nodes(db, &mapping.nodes, columns);
    for (of, sources) in mapping.relationships.iter_mut().zip(&relationships) {
        ends(db, of, &sources[0], &known, columns)?;
        settle_types(sources, &mut of.columns, types);
    }
    Ok(mapping)
}

/// Looks at all files of a mapping.
pub(super) fn sources(mapping: &Mapping) -> Result<Sources, QueryError> {
    let look = |files: &[String], options| {
        if files.is_empty() {
            return Err(unclear("an entry of the mapping has no files".to_owned()));
        }
        files.iter().map(|file| Source::look(file, options)).collect::<Result<Vec<_>, _>>()
    };
    let nodes = mapping.nodes.iter().map(|of| look(&of.files, &of.options));
    let relationships = mapping.relationships.iter().map(|of| look(&of.files, &of.options));
    Ok((nodes.collect::<Result<_, _>>()?, relationships.collect::<Result<_, _>>()?))
}

/// Gives columns the type that holds those of all files, where these differ or it is wished.
fn settle_types(
    sources: &[Source],
    columns: &mut std::collections::BTreeMap<String, ColumnMapping>,
    all: bool,
) {
    for (at, name) in sources[0].names.iter().enumerate() {
        let own = |source: &Source| {
            let place = source.names.iter().position(|other| other == name)?;
            source.types[place]
        };
        let Some(first) = sources[0].types[at] else { continue };
        let join = |one: &'static str, other: &'static str| match (one, other) {
            (one, other) if one == other => one,
            ("int" | "float", "int" | "float") => "float",
            _ => "string",
        };
        let joined = sources.iter().filter_map(own).fold(first, join);
        let differ = sources.iter().filter_map(own).any(|ty| ty != joined);
        if all || differ {
            let entry = columns.entry(name.to_string()).or_default();
            if entry.ty.is_none() && !entry.ignore {
                entry.ty = Some(joined.to_owned());
            }
        }
    }
}

/// The column of ids of files of nodes.
fn id(of: &NodeFiles, source: &Source, columns: &Columns) -> Result<Option<String>, QueryError> {
    let names = &source.names;
    let given = columns.id.iter().rev().find(|(label, _)| match label {
        Some(label) => of.labels.contains(label),
        None => true,
    });
    if let Some((_, name)) = given {
        let found = names.iter().find(|known| ***known == **name);
        return found.map(|name| Some(name.to_string())).ok_or_else(|| {
            let (path, has) = (&source.path, listed(names));
            unclear(format!("{path}: there is no column '{name}' for --id; there are {has}"))
        });
    }
    if let Some(name) = IDS.iter().find_map(|id| names.iter().find(|name| plain(name) == plain(id)))
    {
        return Ok(Some(name.to_string()));
    }
    let own = |label: &String| find(names, &format!("{label}_id"));
    Ok(of.labels.iter().find_map(own).map(ToString::to_string))
}

/// Nodes that relationships may join: a label, and the property by which they are found.
struct Known {
    label: String,
    key: Option<String>,
}

fn known_nodes(db: &Database, nodes: &[NodeFiles], columns: &Columns) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    for of in nodes {
        for label in of.labels.iter().take(1) {
            if !known.iter().any(|other| other.label == *label) {
                let key = of.id.as_ref().map(|id| property(of, id));
                known.push(Known { label: label.clone(), key });
            }
        }
    }
    for (label, key) in &columns.existing {
        if !known.iter().any(|other| other.label == *label) {
            known.push(Known { label: label.clone(), key: Some(key.clone()) });
        }
    }
    if known.is_empty() {
        // Relationships alone: between nodes of the database that a key tells apart.
        for label in db.labels().into_iter().filter(|label| !label.is_empty()) {
            if let [key] = &unique_keys(db, &label)[..] {
                known.push(Known { label, key: Some(key.clone()) });
            }
        }
    }
    known
}

/// The property that a column of nodes becomes.
fn property(of: &NodeFiles, column: &str) -> String {
    let mapped = of.columns.get(column).and_then(|column| column.property.clone());
    mapped.unwrap_or_else(|| column.to_owned())
}

fn merge(into: &mut EndMapping, from: &EndMapping) {
    let EndMapping { column, label, key } = from.clone();
    into.column = into.column.take().or(column);
    into.label = into.label.take().or(label);
    into.key = into.key.take().or(key);
}

/// The ends of relationships: their columns, labels and keys.
fn ends(
    db: &Database,
    of: &mut RelationshipFiles,
    source: &Source,
    known: &[Known],
    columns: &Columns,
) -> Result<(), QueryError> {
    for (end, given) in [(&mut of.from, &columns.from), (&mut of.to, &columns.to)] {
        let own = given.iter().rev().filter(|(ty, _)| ty.as_ref().is_none_or(|ty| *ty == of.ty));
        own.for_each(|(_, given)| merge(end, given));
    }
    let names = &source.names;
    let (path, has) = (&source.path, listed(names));
    if of.from.column.is_none() || of.to.column.is_none() {
        let [from, to] = pair(names, known, [&of.from, &of.to]).map_err(|why| {
            let which = "--from COLUMN and --to COLUMN say which columns name the ends";
            unclear(format!("{path}: {why}: {which} of the relationships; there are {has}"))
        })?;
        merge(&mut of.from, &from);
        merge(&mut of.to, &to);
    }
    for (end, option) in [(&mut of.from, "from"), (&mut of.to, "to")] {
        let column = end.column.clone().unwrap_or_default();
        if !names.iter().any(|name| **name == *column) {
            let text = format!("{path}: there is no column '{column}' for --{option}");
            return Err(unclear(format!("{text}; there are {has}")));
        }
        if end.label.is_none() {
            end.label = Some(label(&column, known).map_err(|why| {
                unclear(format!(
                    "{path}: {why}: --{option} {column}:LABEL says which nodes column '{column}' \
                     names"
                ))
            })?);
        }
        let label = end.label.clone().unwrap_or_default();
        if end.key.is_none() {
            let imported = known.iter().find(|known| known.label == label);
            end.key = match imported {
                Some(known) => known.key.clone(),
                None => match &unique_keys(db, &label)[..] {
                    [key] => Some(key.clone()),
                    _ => None,
                },
            };
        }
        if end.key.is_none() {
            return Err(unclear(format!(
                "{path}: no column of the nodes :{label} is known to be their id: --id \
                 {label}=COLUMN says which one, or --{option} {column}:{label}.KEY"
            )));
        }
    }
    Ok(())
}

/// The columns of both ends, as their names say.
fn pair(
    names: &[Arc<str>],
    known: &[Known],
    given: [&EndMapping; 2],
) -> Result<[EndMapping; 2], String> {
    let end = |column: &str, label: Option<&str>| EndMapping {
        column: Some(column.to_owned()),
        label: label.map(str::to_owned),
        key: None,
    };
    let named = ENDS.iter().filter_map(|(from, to)| {
        let find = |wanted: &str| names.iter().find(|name| plain(name) == plain(wanted));
        Some((find(from)?, find(to)?))
    });
    let mut named: Vec<_> = named.collect();
    named.dedup();
    match &named[..] {
        [(from, to)] => return Ok([end(from, None), end(to, None)]),
        [] => {}
        [(a, b), (c, d), ..] => {
            return Err(format!("columns '{a}' and '{b}' look like the ends, '{c}' and '{d}' too"));
        }
    }
    if let [Some(from), None] | [None, Some(from)] = given.map(|end| end.column.as_ref())
        && let [one, other] = names
    {
        let rest = if **one == **from { other } else { one };
        return Ok([end(rest, None), end(rest, None)]);
    }
    // A column named after each label: person_id, city_id.
    let labelled = names.iter().filter_map(|name| {
        let own = |known: &&Known| plain(name) == plain(&format!("{}_id", known.label));
        known.iter().find(own).map(|known| (name, &known.label))
    });
    let labelled: Vec<_> = labelled.collect();
    if let [(from, one), (to, other)] = &labelled[..] {
        return Ok([end(from, Some(one)), end(to, Some(other))]);
    }
    match names {
        [from, to] => Ok([end(from, None), end(to, None)]),
        _ => Err("no columns are named from and to, source and target or the like".to_owned()),
    }
}

/// The label of the nodes that a column names.
fn label(column: &str, known: &[Known]) -> Result<String, String> {
    let named = |known: &&Known| {
        [known.label.clone(), format!("{}_id", known.label)]
            .iter()
            .any(|n| plain(n) == plain(column))
    };
    match known {
        [only] => Ok(only.label.clone()),
        [] => Err("no nodes come in, and none of the database have a key".to_owned()),
        several => several.iter().find(named).map(|known| known.label.clone()).ok_or_else(|| {
            let labels: Vec<&str> = several.iter().map(|known| known.label.as_str()).collect();
            format!("the nodes may be :{}", labels.join(" or :"))
        }),
    }
}
