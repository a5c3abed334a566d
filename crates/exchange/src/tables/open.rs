//! A complete mapping as an import.

use std::collections::BTreeMap;
use std::sync::Arc;

use telar_db::import::table::{End, NodeTable, RelationshipTable, TableImport};
use telar_db::query::{FileFormat, QueryError, TableReader};
use telar_files::Rejected;

use super::guess::sources;
use super::mapping::{ColumnMapping, EndMapping, Mapping};
use super::rows::{File, Rows, Type};
use super::source::Source;
use super::unclear;

/// An import, and what it does with which files.
pub struct Opened {
    /// The tables.
    pub import: TableImport<'static>,
    /// A line for each table: what its rows and columns were taken for.
    pub taken: Vec<String>,
}

/// Opens the files of a mapping that says all. Records that are not as their columns want them go
/// to `rejected`, or end the import.
///
/// # Errors
/// If a file cannot be read, or has not the columns that the mapping names.
pub fn open(mapping: &Mapping, rejected: Option<&Rejected>) -> Result<Opened, QueryError> {
    let (nodes, relationships) = sources(mapping)?;
    let mut opened = Opened { import: TableImport::default(), taken: Vec::new() };
    for (of, sources) in mapping.nodes.iter().zip(nodes) {
        let named = of.id.iter().map(|id| ("id", id));
        let (rows, names) = rows(&sources, &of.columns, named, rejected)?;
        let labels: String = of.labels.iter().map(|label| format!(":{label}")).collect();
        let id = of.id.as_ref().map_or(String::new(), |id| format!(" by {id}"));
        let files = of.files.join(", ");
        opened.taken.push(format!("{files}: nodes {labels}{id}; {names}"));
        opened.import.nodes.push(NodeTable { labels: of.labels.clone(), rows });
    }
    for (of, sources) in mapping.relationships.iter().zip(relationships) {
        let end = |end: &EndMapping, option: &str| match end.clone() {
            EndMapping { column: Some(column), label: Some(label), key: Some(key) } => {
                Ok(End { column, label, key })
            }
            _ => Err(unclear(format!("{}: '{option}' lacks column, label or key", of.files[0]))),
        };
        let (mut from, mut to) = (end(&of.from, "from")?, end(&of.to, "to")?);
        let named = [("from", &from.column), ("to", &to.column)];
        let (rows, names) = rows(&sources, &of.columns, named, rejected)?;
        let (files, ty) = (of.files.join(", "), &of.ty);
        let said = |end: &End| format!("{} (:{}.{})", end.column, end.label, end.key);
        let (begin, finish) = (said(&from), said(&to));
        opened.taken.push(format!("{files}: {ty} from {begin} to {finish}; {names}"));
        // Columns may be renamed: the table has the new names.
        for end in [&mut from, &mut to] {
            end.column = renamed(&of.columns, &end.column).to_string();
        }
        let ty = of.ty.clone();
        opened.import.relationships.push(RelationshipTable { ty, from, to, rows });
    }
    Ok(opened)
}

/// The name that a column gets.
fn renamed(columns: &BTreeMap<String, ColumnMapping>, name: &str) -> Arc<str> {
    let mapped = columns.get(name).and_then(|column| column.property.as_deref());
    Arc::from(mapped.unwrap_or(name))
}

/// A column that is kept: its name in the files, the one it gets, and its type if one was given.
struct Kept {
    column: Arc<str>,
    name: Arc<str>,
    ty: Option<Type>,
}

fn kept_of(
    sources: &[Source],
    columns: &BTreeMap<String, ColumnMapping>,
) -> Result<Vec<Kept>, QueryError> {
    let first = &sources[0];
    let is_json = |source: &Source| source.reading.options.format == FileFormat::Json;
    let mut all = first.names.clone();
    for source in &sources[1..] {
        let more: Vec<_> =
            source.names.iter().filter(|name| !all.contains(name)).cloned().collect();
        let fewer = all.iter().find(|name| !source.names.contains(name));
        if let Some(name) = more.first().or(fewer).filter(|_| !is_json(source)) {
            let (one, other) = (&first.path, &source.path);
            let text = format!("{other}: the files differ in column '{name}', and {one} says what");
            return Err(unclear(format!(
                "{text} columns there are: give files of other columns their own option"
            )));
        }
        all.extend(more);
    }
    if let Some(name) = columns.keys().find(|name| !all.iter().any(|known| **known == ***name)) {
        let has = all.join(", ");
        let path = &first.path;
        return Err(unclear(format!("{path}: there is no column '{name}'; there are {has}")));
    }
    let kept = all.into_iter().filter_map(|column| {
        let of = columns.get(&*column);
        if of.is_some_and(|of| of.ignore) {
            return None;
        }
        let ty = of.and_then(|of| of.ty.as_deref()).map(|name| {
            Type::of_name(name).ok_or_else(|| {
                unclear(format!("column '{column}': there is no type '{name}' (docs/files.md)"))
            })
        });
        let name = renamed(columns, &column);
        Some(ty.transpose().map(|ty| Kept { column, name, ty }))
    });
    kept.collect()
}

/// The rows of files, and their columns in words.
fn rows<'n>(
    sources: &[Source],
    columns: &BTreeMap<String, ColumnMapping>,
    named: impl IntoIterator<Item = (&'n str, &'n String)>,
    rejected: Option<&Rejected>,
) -> Result<(Box<dyn TableReader>, String), QueryError> {
    let kept = kept_of(sources, columns)?;
    for (role, column) in named {
        if !kept.iter().any(|kept| *kept.column == **column) {
            let text = format!("column '{column}' is the {role}, and is missing or ignored");
            return Err(unclear(format!("{}: {text}", sources[0].path)));
        }
    }
    let mut files = Vec::with_capacity(sources.len());
    for source in sources {
        let is_csv = source.reading.options.format == FileFormat::Csv;
        let given = kept.iter().filter_map(|kept| {
            let known = source.names.contains(&kept.column);
            let ty = kept.ty.filter(|_| known)?.of_csv();
            Some((kept.column.to_string(), ty.name().to_owned()))
        });
        let rows = source.read(given.collect(), rejected)?;
        let place = |kept: &Kept| {
            let place = source.names.iter().position(|name| *name == kept.column);
            (place, kept.ty.filter(|ty| !is_csv || !matches!(ty, Type::Plain(_))))
        };
        let kept = kept.iter().map(place).collect();
        files.push(File { path: source.path.clone(), rows, kept });
    }
    let of = |columns: &BTreeMap<String, ColumnMapping>, kept: &Kept| {
        columns.get(&*kept.column)?.ty.clone()
    };
    let said = kept.iter().map(|kept| {
        let at = sources[0].names.iter().position(|name| *name == kept.column);
        let guessed = at.and_then(|at| sources[0].types[at]).map(str::to_owned);
        let own = of(columns, kept);
        match own.or(guessed) {
            Some(ty) => format!("{}: {ty}", kept.name),
            None => kept.name.to_string(),
        }
    });
    let said = said.collect::<Vec<_>>().join(", ");
    let names = kept.into_iter().map(|kept| kept.name).collect();
    Ok((Box::new(Rows::new(files, names)), said))
}
