//! Tables of columns as nodes and relationships: what files of rows, data frames and programs have.
//!
//! ```text
//!  tables ── TableReader ──► batches of columns
//!    few rows      one transaction
//!    many rows     one bulk load: columns move into it, none is looked at row by row
//!                  ends of relationships ── keys.rs ──► vertices
//! ```
//!
//! Both are one commit: everything is there, or nothing. What a bulk load means for others who use
//! the database: docs/import.md. A replicated database takes no bulk loads: there it is one
//! transaction, whatever the number of rows.
//!
//! Cost: the columns of nodes and relationships are held until the end; the keys of the labels at
//! the ends of relationships, once, and a table of them.

mod keys;
mod transaction;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use telar_engine::{
    BulkLoad, BulkName, BulkOptions, Column as BulkColumn, EdgeTypeOptions, IndexInfo, IndexTarget,
};
use telar_engine::{Engine, Error};
use telar_graph::column::Column;
use telar_graph::value::NESTING_MAX;
use telar_graph::{CommitTs, ConstraintKind, Value, ValueMap};
use telar_query::{ErrorKind, QueryError, TableReader, literal, storable};

use super::csv::UniqueKey;
use super::outcome::{ImportProgress, ImportStage};
use crate::backend::query_error;
use keys::{KeyMap, KeyedVertices, SEVERAL};

/// Rows from which on a table is a bulk load, unless it is said.
pub const BULK_ROWS: usize = 10_000;

/// A table in memory.
#[derive(Debug, Clone, Default)]
pub struct Table {
    names: Vec<Arc<str>>,
    batches: VecDeque<Vec<Column>>,
}

impl Table {
    /// A table of columns with these names, in batches of rows.
    #[must_use]
    pub fn new<N: Into<Arc<str>>>(
        names: impl IntoIterator<Item = N>,
        batches: impl IntoIterator<Item = Vec<Column>>,
    ) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self { names, batches: batches.into_iter().collect() }
    }

    /// A table of maps, each a row, with a column for each key that any of them has.
    ///
    /// # Errors
    /// The first value that is no map.
    pub fn of_rows(rows: &[Value]) -> Result<Self, &Value> {
        let mut maps = Vec::with_capacity(rows.len());
        let mut names: Vec<Arc<str>> = Vec::new();
        for row in rows {
            let Value::Map(map) = row else { return Err(row) };
            for key in map.keys() {
                if !names.contains(key) {
                    names.push(Arc::clone(key));
                }
            }
            maps.push(map);
        }
        if rows.is_empty() {
            // No rows do not say which columns there are none of.
            names.push("none".into());
        }
        let cell =
            |map: &Arc<ValueMap>, name: &Arc<str>| map.get(name).cloned().unwrap_or_default();
        let column = |name| Column::of(maps.iter().map(|map| cell(map, name)).collect());
        let columns: Vec<Column> = names.iter().map(column).collect();
        Ok(Self::new(names, [columns]))
    }
}

impl TableReader for Table {
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn next(&mut self) -> Result<Option<Vec<Column>>, QueryError> {
        Ok(self.batches.pop_front())
    }
}

/// A table of nodes. Each column is a property; a null is none.
pub struct NodeTable<'s> {
    /// Labels of all its nodes.
    pub labels: Vec<String>,
    /// The rows.
    pub rows: Box<dyn TableReader + 's>,
}

/// Where relationships of a table begin or end.
///
/// With an empty label: at the nodes of this import, by the column that [`TableImport::ids`] names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The column that names the node; it is no property.
    pub column: String,
    /// Label of the nodes.
    pub label: String,
    /// Their property that has the values of the column.
    pub key: String,
}

/// A table of relationships. Each column beside those of the ends is a property; a null is none.
pub struct RelationshipTable<'s> {
    /// Type of all its relationships.
    pub ty: String,
    /// Where they begin.
    pub from: End,
    /// Where they end.
    pub to: End,
    /// The rows.
    pub rows: Box<dyn TableReader + 's>,
}

/// Tables that come in together.
pub struct TableImport<'s> {
    /// Tables of nodes.
    pub nodes: Vec<NodeTable<'s>>,
    /// Tables of relationships between nodes of these tables and of the database.
    pub relationships: Vec<RelationshipTable<'s>>,
    /// Columns of tables of nodes, by number of the table, that name the nodes for relationships of
    /// this import, and are no properties.
    pub ids: Vec<(usize, String)>,
    /// Unique constraints that are made with the import. Without rows none is made.
    pub unique: Vec<UniqueKey>,
    /// Leave out rows that cannot come in, if they are no more than this: relationships without an
    /// end, values that no property can hold, and, in a bulk load, rows that break a constraint.
    /// Default: the first one ends the import.
    pub bad_rows: Option<u64>,
    /// Take values as the engine does: maps and lists of any values, which queries refuse, too, and
    /// integers in lists beside floats as they are. Default: as queries do.
    pub as_is: bool,
    /// Rows of all tables together from which on they come in by a bulk load.
    pub bulk_rows: usize,
    /// How a bulk load works.
    pub load: BulkOptions,
}

impl Default for TableImport<'_> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            relationships: Vec::new(),
            ids: Vec::new(),
            unique: Vec::new(),
            bad_rows: None,
            as_is: false,
            bulk_rows: BULK_ROWS,
            load: BulkOptions::default(),
        }
    }
}

/// A row that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRow {
    /// Number of the table: those of nodes come first.
    pub table: usize,
    /// Number of the row, from 0.
    pub row: u64,
    /// Where it is, as the table says.
    pub place: String,
    /// Why.
    pub reason: String,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TableReport {
    /// Timestamp of the commit.
    pub ts: CommitTs,
    /// Nodes added.
    pub vertices: u64,
    /// Relationships added.
    pub edges: u64,
    /// Property values set.
    pub properties: u64,
    /// Relationships of simple types that were there already, or came more than once.
    pub duplicates: u64,
    /// Rows that were left out.
    pub rejected: Vec<RejectedRow>,
    /// True if it was a bulk load.
    pub bulk: bool,
}

/// Imports tables into `db`, as one commit that is on disk at the end.
///
/// `progress` is called after each batch of rows, and while a bulk load is stored; an error that it
/// returns before that ends the import.
///
/// # Errors
/// None of them leaves anything behind: a row that cannot come in, with its place, a violated
/// constraint, those of the tables and of `progress`.
///
/// # Examples
/// ```
/// use telar_db::column::Column;
/// use telar_db::import::table::{End, NodeTable, RelationshipTable, Table, TableImport};
/// use telar_db::import::import_tables;
///
/// let ids = Column::from(vec![1, 2, 3]);
/// let people = Table::new(["id", "score"], [vec![ids, Column::from(vec![0.5, 1.0, 1.5])]]);
/// let (from, to) = (Column::from(vec![1, 3]), Column::from(vec![2, 2]));
/// let knows = Table::new(["a", "b", "since"], [vec![from, to, Column::from(vec![2001, 2024])]]);
///
/// let end = |column: &str| End { column: column.into(), label: "Person".into(), key: "id".into() };
/// let mut import = TableImport::default();
/// import.nodes.push(NodeTable { labels: vec!["Person".into()], rows: Box::new(people) });
/// let (ty, rows) = ("KNOWS".into(), Box::new(knows));
/// import.relationships.push(RelationshipTable { ty, from: end("a"), to: end("b"), rows });
///
/// let db = telar_db::open_in_memory()?;
/// let report = import_tables(&db, import, &|_| Ok(()))?;
/// assert_eq!((report.vertices, report.edges, report.properties), (3, 2, 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import_tables(
    db: &Engine,
    import: TableImport<'_>,
    progress: &dyn Fn(ImportProgress) -> Result<(), QueryError>,
) -> Result<TableReport, QueryError> {
    let TableImport { nodes, relationships, ids, unique, bad_rows, as_is, bulk_rows, load } =
        import;
    let mut tables = Tables { nodes: Vec::new(), relationships: Vec::new() };
    for (number, table) in nodes.into_iter().enumerate() {
        let id = ids.iter().find(|(of, _)| *of == number).map(|(_, column)| column.as_str());
        let names = names(table.rows.as_ref(), id.as_slice())?;
        let id = id.and_then(|id| names.iter().position(|name| **name == *id));
        let rows = Buffered::new(table.rows);
        tables.nodes.push(Nodes { labels: table.labels, names, id, rows });
    }
    for RelationshipTable { ty, from, to, rows } in relationships {
        let names = names(rows.as_ref(), &[&from.column, &to.column])?;
        let place = |end: &End| names.iter().position(|name| **name == *end.column);
        let (Some(from_at), Some(to_at)) = (place(&from), place(&to)) else {
            unreachable!("INVARIANT: the names were checked");
        };
        let rows = Buffered::new(rows);
        tables.relationships.push(Relationships {
            ty,
            ends: [from, to],
            at: [from_at, to_at],
            names,
            rows,
        });
    }
    let is_new = |unique: &UniqueKey| !unique_keys(db, &unique.label).contains(&unique.key);
    let unique: Vec<_> = unique.into_iter().filter(is_new).collect();
    let few = tables.buffer(bulk_rows)?;
    let rejects = Rejects { most: bad_rows, rows: Vec::new(), as_is };
    let bulk = match few && bad_rows.is_none() && unique.is_empty() {
        true => None,
        false => match db.bulk_load(load) {
            Ok(bulk) => Some(bulk),
            Err(Error::NotReplicated { .. }) if unique.is_empty() => None,
            Err(e) => return Err(query_error(db, &e)),
        },
    };
    match bulk {
        Some(load) => {
            let run = Bulk { db, load, rejects, progress, rows: 0 };
            run.run(tables, &unique)
        }
        None => {
            tables.buffer(usize::MAX)?;
            transaction::run(db, &tables, rejects, progress)
        }
    }
}

/// The properties that are unique among nodes of a label, or its key, each alone: by which they can
/// be found.
#[must_use]
pub fn unique_keys(db: &Engine, label: &str) -> Vec<String> {
    let Some(label) = db.find_label(label) else { return Vec::new() };
    let keys = db.property_keys();
    let unique = |info: &IndexInfo| {
        let kind = info.kind.constraint();
        info.target == IndexTarget::Vertices(label)
            && matches!(kind, Some(ConstraintKind::Unique | ConstraintKind::Key))
    };
    let indexes = db.indexes().into_iter().filter(unique);
    let mut found: Vec<String> = indexes
        .filter_map(|info| match info.properties[..] {
            [key] => keys.get(usize::from(key.get())).cloned(),
            _ => None,
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

fn refused(detail: &str, message: String) -> QueryError {
    QueryError::runtime(ErrorKind::Argument, detail, message)
}

/// The names of a table, which are different; those that name nodes are among them.
fn names(rows: &dyn TableReader, ends: &[&str]) -> Result<Vec<Arc<str>>, QueryError> {
    let names = rows.names().to_vec();
    if names.is_empty() {
        return Err(refused("TableColumns", "a table needs at least one column".to_owned()));
    }
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            let message = format!("two columns of the table are called '{name}'");
            return Err(refused("TableColumns", message));
        }
    }
    for end in ends {
        if !names.iter().any(|name| **name == **end) {
            let message = format!(
                "the table has no column '{end}' for an end of its relationships; it has {}",
                names.join(", ")
            );
            return Err(refused("TableColumns", message));
        }
    }
    Ok(names)
}

/// Batches of a table, of which some were read ahead.
struct Buffered<'s> {
    rows: Box<dyn TableReader + 's>,
    ahead: VecDeque<Vec<Column>>,
    ended: bool,
}

impl<'s> Buffered<'s> {
    fn new(rows: Box<dyn TableReader + 's>) -> Self {
        Self { rows, ahead: VecDeque::new(), ended: false }
    }

    /// Reads a batch ahead; its number of rows, none after the last.
    fn read_ahead(&mut self) -> Result<Option<usize>, QueryError> {
        if self.ended {
            return Ok(None);
        }
        let Some(columns) = self.rows.next()? else {
            self.ended = true;
            return Ok(None);
        };
        let rows = columns.first().map_or(0, Column::len);
        let names = self.rows.names().len();
        if columns.len() != names || columns.iter().any(|column| column.len() != rows) {
            let message = format!("a batch of the table has not {names} columns of {rows} rows");
            return Err(refused("TableColumns", message));
        }
        self.ahead.push_back(columns);
        Ok(Some(rows))
    }

    fn next(&mut self) -> Result<Option<Vec<Column>>, QueryError> {
        if self.ahead.is_empty() {
            self.read_ahead()?;
        }
        Ok(self.ahead.pop_front())
    }
}

struct Nodes<'s> {
    labels: Vec<String>,
    names: Vec<Arc<str>>,
    /// The column that is no property.
    id: Option<usize>,
    rows: Buffered<'s>,
}

impl Nodes<'_> {
    /// The column by which relationships name these nodes, if that is an end of theirs.
    fn key(&self, end: &End) -> Option<usize> {
        if end.label.is_empty() {
            return self.id;
        }
        let key = || self.names.iter().position(|name| **name == *end.key);
        if self.labels.contains(&end.label) { key() } else { None }
    }
}

struct Relationships<'s> {
    ty: String,
    /// Where they begin and end, and the places of these columns.
    ends: [End; 2],
    at: [usize; 2],
    names: Vec<Arc<str>>,
    rows: Buffered<'s>,
}

struct Tables<'s> {
    nodes: Vec<Nodes<'s>>,
    relationships: Vec<Relationships<'s>>,
}

impl<'s> Tables<'s> {
    /// Reads ahead while there are no more rows than this; true if these are all.
    fn buffer(&mut self, most: usize) -> Result<bool, QueryError> {
        let nodes = self.nodes.iter_mut().map(|table| &mut table.rows);
        let relationships = self.relationships.iter_mut().map(|table| &mut table.rows);
        let mut count = 0;
        for rows in nodes.chain(relationships) {
            while let Some(more) = rows.read_ahead()? {
                count += more;
                if count > most {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Rows that are left out.
struct Rejects {
    most: Option<u64>,
    rows: Vec<RejectedRow>,
    /// True if values are taken as the engine takes them.
    as_is: bool,
}

impl Rejects {
    /// Notes a row that cannot come in; an error if that ends the import.
    fn take(
        &mut self,
        table: usize,
        rows: &dyn TableReader,
        row: u64,
        reason: String,
    ) -> Result<(), QueryError> {
        let place = rows.place(row);
        match self.most {
            None => Err(refused("BadRow", format!("{place}: {reason}"))),
            Some(most) if self.rows.len() as u64 >= most => {
                let message = format!("{place}: {reason}; more than {most} rows are bad");
                Err(refused("BadRow", message))
            }
            Some(_) => {
                self.rows.push(RejectedRow { table, row, place, reason });
                Ok(())
            }
        }
    }
}

/// Why a relationship has no end.
fn missing(end: &End, key: &Value, found: u32) -> String {
    let End { column, label, key: property } = end;
    if label.is_empty() && !key.is_null() {
        return format!("no node of the import, or several, have the id {}", literal(key));
    }
    match (key, found) {
        (Value::Null, _) => format!("'{column}' is null: the relationship has no end"),
        (key, SEVERAL) => {
            format!("several nodes :{label} have the {property} {}", literal(key))
        }
        (key, _) => format!("no node :{label} has the {property} {}", literal(key)),
    }
}

/// Values of a column as properties hold them, and of rows where none can: why.
fn checked(column: Column, name: &str, as_is: bool) -> (Column, BadRows) {
    let mut bad = Vec::new();
    let column = match column {
        column @ (Column::Bools(_)
        | Column::Ints(_)
        | Column::Floats(_)
        | Column::Texts(_)
        | Column::Packed(_)
        | Column::FloatLists(_)) => column,
        other => {
            let kept = |value: Value| match as_is && value.is_storable() {
                true if value.nests_within(NESTING_MAX) => Ok(value),
                _ => storable(value),
            };
            let value = |(row, value)| match kept(value) {
                Ok(value) => value,
                Err(e) => {
                    bad.push((row, format!("column '{name}': {}", e.message)));
                    Value::Null
                }
            };
            Column::Values(other.into_values().into_iter().enumerate().map(value).collect())
        }
    };
    (column, bad)
}

/// Columns of a bulk load, by their keys.
type BulkColumns = Vec<(BulkName, BulkColumn)>;
/// Rows of a batch that cannot come in, and why.
type BadRows = Vec<(usize, String)>;

/// A bulk load of tables.
struct Bulk<'a> {
    db: &'a Engine,
    load: BulkLoad<'a>,
    rejects: Rejects,
    progress: &'a dyn Fn(ImportProgress) -> Result<(), QueryError>,
    /// Nodes so far.
    rows: u32,
}

impl Bulk<'_> {
    fn run(mut self, tables: Tables<'_>, unique: &[UniqueKey]) -> Result<TableReport, QueryError> {
        let db = self.db;
        let error = |e: Error| query_error(db, &e);
        for UniqueKey { label, key } in unique {
            let name = format!("unique_{label}_{key}");
            let label = self.load.label(label).map_err(error)?;
            let key = self.load.property_key(key).map_err(error)?;
            self.load.make_unique(&name, label, &[key]).map_err(error)?;
        }
        let Tables { nodes, relationships } = tables;
        let mut ends: Vec<(End, KeyedVertices)> = Vec::new();
        for end in relationships.iter().flat_map(|table| &table.ends) {
            if !ends.iter().any(|(known, _)| same_nodes(known, end)) {
                let wanted = KeyedVertices::default();
                ends.push((end.clone(), wanted));
            }
        }
        let count = nodes.len();
        for (number, table) in nodes.into_iter().enumerate() {
            self.add_nodes(number, table, &mut ends)?;
        }
        let first = self.load.first_vertex().map_err(error)?.get() as u32;
        let maps = ends.into_iter().map(|(end, new)| {
            let mut all = keys::existing(db, &end, None)?;
            all.add_all(new, first);
            Ok((end, KeyMap::new(&all)))
        });
        let maps = maps.collect::<Result<Vec<_>, QueryError>>()?;
        for (number, table) in relationships.into_iter().enumerate() {
            self.add_relationships(count + number, table, &maps)?;
        }
        let progress = self.progress;
        let report = self.load.finish(&|step, done, total| {
            let stage = match step {
                telar_engine::BulkStep::Sorting => ImportStage::Sorting,
                _ => ImportStage::Storing,
            };
            // What is being stored cannot be ended any more.
            let _ = progress(ImportProgress { stage, done, total });
        });
        let report = report.map_err(error)?;
        Ok(TableReport {
            ts: report.ts,
            vertices: report.vertices,
            edges: report.edges,
            properties: report.properties,
            duplicates: report.duplicates,
            rejected: self.rejects.rows,
            bulk: true,
        })
    }

    /// Columns of a batch as the load takes them, without the rows that no property can hold.
    fn columns(&self, names: &[(BulkName, &str)], columns: Vec<Column>) -> (BulkColumns, BadRows) {
        let mut bad = Vec::new();
        let taken = names.iter().zip(columns).map(|((key, name), column)| {
            let (column, more) = checked(column, name, self.rejects.as_is);
            bad.extend(more);
            (*key, BulkColumn::from(column))
        });
        (taken.collect(), bad)
    }

    fn add_nodes(
        &mut self,
        number: usize,
        mut table: Nodes<'_>,
        ends: &mut [(End, KeyedVertices)],
    ) -> Result<(), QueryError> {
        let db = self.db;
        let error = |e: Error| query_error(db, &e);
        let labels = table.labels.iter().map(|label| self.load.label(label));
        let labels: Vec<BulkName> = labels.collect::<Result<_, _>>().map_err(error)?;
        let names: Vec<Arc<str>> = table.names.clone();
        let mut keys = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate().filter(|(at, _)| Some(*at) != table.id) {
            keys.push((at, (self.load.property_key(name).map_err(error)?, &**name)));
        }
        let (places, keys): (Vec<usize>, Vec<_>) = keys.into_iter().unzip();
        let mut begin = 0;
        while let Some(mut columns) = table.rows.next()? {
            let rows = columns.first().map_or(0, Column::len);
            let mut found = Vec::new();
            for (at, (end, _)) in ends.iter().enumerate() {
                if let Some(key) = table.key(end) {
                    found.push((at, columns[key].clone()));
                }
            }
            let columns = places.iter().map(|at| std::mem::take(&mut columns[*at])).collect();
            let (mut columns, mut bad) = self.columns(&keys, columns);
            if self.rejects.most.is_some() && self.load.has_constraints() {
                let known: HashSet<usize> = bad.iter().map(|(row, _)| *row).collect();
                for row in (0..rows).filter(|row| !known.contains(row)) {
                    match self.load.check_vertex(&labels, &columns, row) {
                        Ok(()) => self.load.keep_checked(),
                        Err(reason) => bad.push((row, reason)),
                    }
                }
            }
            let kept =
                self.drop_bad(number, table.rows.rows.as_ref(), begin, rows, bad, &mut columns)?;
            let count = kept.as_ref().map_or(rows, Vec::len);
            self.load.add_vertices(&labels, count, &columns).map_err(error)?;
            for (at, keys) in found {
                let keys = kept.as_ref().map_or_else(|| keys.clone(), |kept| keys.gather(kept));
                ends[at].1.add(keys, self.rows..self.rows + count as u32);
            }
            self.rows += count as u32;
            begin += rows as u64;
            let (done, total) = (u64::from(self.rows), u64::from(self.rows));
            (self.progress)(ImportProgress { stage: ImportStage::Vertices, done, total })?;
        }
        Ok(())
    }

    /// Takes bad rows out of columns; the rows that are kept, if these are not all.
    fn drop_bad(
        &mut self,
        number: usize,
        rows: &dyn TableReader,
        begin: u64,
        count: usize,
        mut bad: BadRows,
        columns: &mut [(BulkName, BulkColumn)],
    ) -> Result<Option<Vec<u32>>, QueryError> {
        if bad.is_empty() {
            return Ok(None);
        }
        bad.sort_by_key(|(row, _)| *row);
        bad.dedup_by_key(|(row, _)| *row);
        let dropped: Vec<usize> = bad.iter().map(|(row, _)| *row).collect();
        for (row, reason) in bad {
            self.rejects.take(number, rows, begin + row as u64, reason)?;
        }
        columns.iter_mut().for_each(|(_, column)| *column = column.without(&dropped));
        let kept = (0..count).filter(|row| dropped.binary_search(row).is_err());
        Ok(Some(kept.map(|row| row as u32).collect()))
    }

    fn add_relationships(
        &mut self,
        number: usize,
        mut table: Relationships<'_>,
        maps: &[(End, KeyMap)],
    ) -> Result<(), QueryError> {
        let db = self.db;
        let error = |e: Error| query_error(db, &e);
        let options = edge_type_options(db, &table.ty);
        let ty = self.load.edge_type(&table.ty, options).map_err(error)?;
        let mut keys = Vec::new();
        for (at, name) in table.names.iter().enumerate().filter(|(at, _)| !table.at.contains(at)) {
            keys.push((at, self.load.property_key(name).map_err(error)?));
        }
        let names: Vec<_> = keys.iter().map(|(at, key)| (*key, &*table.names[*at])).collect();
        let [from, to] = table.ends.each_ref().map(|end| {
            let map = maps.iter().find(|(known, _)| same_nodes(known, end));
            &map.expect("INVARIANT: there is a map for every end").1
        });
        let (mut begin, mut done) = (0, 0);
        while let Some(mut columns) = table.rows.next()? {
            let rows = columns.first().map_or(0, Column::len);
            let [from_at, to_at] = table.at;
            let (starts, stops) = (from.find_all(&columns[from_at]), to.find_all(&columns[to_at]));
            let mut bad = Vec::new();
            for (at, found, end) in
                [(from_at, &starts, &table.ends[0]), (to_at, &stops, &table.ends[1])]
            {
                // PERF: no branch for each row while all are found.
                if found.iter().copied().max().is_some_and(|most| most >= SEVERAL) {
                    let lost = found.iter().enumerate().filter(|(_, v)| **v >= SEVERAL);
                    bad.extend(lost.map(|(row, v)| (row, missing(end, &columns[at].get(row), *v))));
                }
            }
            let values = keys.iter().map(|(at, _)| std::mem::take(&mut columns[*at])).collect();
            let (mut values, more) = self.columns(&names, values);
            bad.extend(more);
            if self.rejects.most.is_some() && self.load.has_constraints() {
                let known: HashSet<usize> = bad.iter().map(|(row, _)| *row).collect();
                for row in (0..rows).filter(|row| !known.contains(row)) {
                    match self.load.check_edge(ty, &values, row) {
                        Ok(()) => self.load.keep_checked(),
                        Err(reason) => bad.push((row, reason)),
                    }
                }
            }
            let kept =
                self.drop_bad(number, table.rows.rows.as_ref(), begin, rows, bad, &mut values)?;
            let ends: Vec<(u32, u32)> = match kept {
                None => starts.into_iter().zip(stops).collect(),
                Some(kept) => {
                    kept.iter().map(|row| (starts[*row as usize], stops[*row as usize])).collect()
                }
            };
            done += ends.len() as u64;
            begin += rows as u64;
            self.load.add_edges(ty, ends, values).map_err(error)?;
            let stage = ImportStage::Edges;
            (self.progress)(ImportProgress { stage, done, total: done })?;
        }
        Ok(())
    }
}

/// True if both name nodes by the same key.
fn same_nodes(one: &End, other: &End) -> bool {
    (&one.label, &one.key) == (&other.label, &other.key)
}

/// How edges of this type are stored: as they are in the database, in lists of any order else.
fn edge_type_options(db: &Engine, name: &str) -> EdgeTypeOptions {
    let known = db.edge_types().into_iter().find(|(known, _)| known == name);
    known.map_or_else(EdgeTypeOptions::general, |(_, options)| options)
}
