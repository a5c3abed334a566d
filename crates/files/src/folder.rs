//! A whole database as a folder of files, and back.
//!
//! ```text
//!  folder/ schema.json      the files: label sets, types and how their edges are stored
//!          schema.cypher    constraints and indexes, as statements
//!          nodes-1.parquet          a file for each set of labels
//!          relationships-1.parquet  a file for each type
//! ```
//!
//! A column of nodes is a property; one more has a number for each node, by which the files of
//! relationships name their ends. Types of columns are those that hold all values of a property
//! exactly, so that the database that is made of the folder is the same: nodes with labels and
//! properties, relationships with types and properties, constraints, indexes, names.
//!
//! Cost: of a type or a set of labels each property is read twice, once for its type.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use telar_arrow::exact::Shape;
use telar_db::column::Column;
use telar_db::import::import_tables;
use telar_db::import::table::{End, NodeTable, RelationshipTable, TableImport};
use telar_db::query::files::SCHEMA_TEXTS;
use telar_db::query::{FileFormat, FileOptions, Files, QueryError, TableWriter};
use telar_db::{
    Database, Direction, EdgeId, EdgeOrder, EdgeTypeId, EdgeTypeOptions, Expansion, LabelId, Lists,
    PropertyKeyId, Reader, Session, Value, VertexId, View,
};

use crate::shaped::ShapedWriter;
use crate::{Formats, failed, wrong_option};

/// Vertices that are read at once.
const PIECE: usize = 1 << 14;
/// The layout of the folder.
const VERSION: u64 = 1;
const LAYOUT: &str = "schema.json";
const SCHEMA: &str = "schema.cypher";

/// What is in a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contents {
    /// Nodes.
    pub vertices: u64,
    /// Relationships.
    pub edges: u64,
    /// Values of properties.
    pub properties: u64,
    /// Files of nodes and relationships.
    pub files: u64,
    /// Constraints and indexes.
    pub rules: u64,
}

fn storage(error: impl std::fmt::Display) -> QueryError {
    use telar_db::query::ErrorKind;
    QueryError::runtime(ErrorKind::Database, "DatabaseError", error.to_string())
}

/// A name that no property has.
fn free(name: &str, keys: &[(PropertyKeyId, String)]) -> String {
    let mut name = name.to_owned();
    while keys.iter().any(|(_, key)| *key == name) {
        name.push('_');
    }
    name
}

/// Rows that are written, piece by piece, as often as they are asked for.
trait Pieces {
    /// Calls `each` with the fixed columns of each piece and a way to read a property of it.
    fn each(&self, each: &mut Each<'_>) -> Result<(), QueryError>;
}

/// Reads a property of the rows of a piece.
type Read<'p> = dyn Fn(PropertyKeyId) -> Result<Column, QueryError> + 'p;
type Each<'e> = dyn FnMut(Vec<Column>, &Read<'_>) -> Result<(), QueryError> + 'e;

/// Nodes of one set of labels.
struct NodesOf<'a> {
    reader: &'a Reader<'a>,
    vertices: Vec<VertexId>,
}

impl Pieces for NodesOf<'_> {
    fn each(&self, each: &mut Each<'_>) -> Result<(), QueryError> {
        for vertices in self.vertices.chunks(PIECE) {
            let numbers: Vec<i64> = vertices.iter().map(|vertex| vertex.get() as i64).collect();
            each(vec![Column::from(numbers)], &|key| {
                let mut column = Column::packed();
                self.reader.vertex_properties(vertices, key, &mut column)?;
                Ok(column)
            })?;
        }
        Ok(())
    }
}

/// Relationships of one type.
struct EdgesOf<'a> {
    reader: &'a Reader<'a>,
    sources: &'a [VertexId],
    ty: EdgeTypeId,
}

impl Pieces for EdgesOf<'_> {
    fn each(&self, each: &mut Each<'_>) -> Result<(), QueryError> {
        let mut found = Expansion::default();
        for sources in self.sources.chunks(PIECE) {
            self.reader.expand(sources, self.ty, Direction::Out, &mut found)?;
            let mut edges = Vec::with_capacity(found.neighbours.len());
            for (place, src) in sources.iter().enumerate() {
                for at in found.offsets[place] as usize..found.offsets[place + 1] as usize {
                    let (dst, ordinal) = (found.neighbours[at], found.ordinals[at]);
                    edges.push(EdgeId { ty: self.ty, src: *src, dst, ordinal });
                }
            }
            if edges.is_empty() {
                continue;
            }
            let ends = |end: fn(&EdgeId) -> VertexId| {
                Column::from(edges.iter().map(|edge| end(edge).get() as i64).collect::<Vec<_>>())
            };
            each(vec![ends(|edge| edge.src), ends(|edge| edge.dst)], &|key| {
                let mut column = Column::packed();
                self.reader.edge_properties(&edges, key, &mut column)?;
                Ok(column)
            })?;
        }
        Ok(())
    }
}

/// A folder that is being written.
struct Export<'a> {
    folder: &'a Path,
    format: FileFormat,
    keys: Vec<(PropertyKeyId, String)>,
    done: Contents,
}

impl Export<'_> {
    /// Writes a file of rows, of which `fixed` names the first columns; the number of rows.
    fn file(&mut self, name: &str, fixed: &[&str], rows: &dyn Pieces) -> Result<u64, QueryError> {
        let mut shapes: Vec<Shape> = self.keys.iter().map(|_| Shape::Nothing).collect();
        rows.each(&mut |_, read| {
            for ((key, _), shape) in self.keys.iter().zip(&mut shapes) {
                let before = std::mem::replace(shape, Shape::Nothing);
                *shape = before.join(Shape::of_column(&read(*key)?));
            }
            Ok(())
        })?;
        let used = self.keys.iter().zip(&shapes).filter(|(_, shape)| **shape != Shape::Nothing);
        let (used, own): (Vec<&(PropertyKeyId, String)>, Vec<Shape>) =
            used.map(|(key, shape)| (key, shape.clone())).unzip();
        let names = fixed.iter().copied().chain(used.iter().map(|(_, name)| name.as_str()));
        let names: Vec<Arc<str>> = names.map(Arc::from).collect();
        let shapes: Vec<Shape> = fixed.iter().map(|_| Shape::Int).chain(own).collect();
        let path = self.folder.join(name);
        let file = File::create_new(&path).map_err(|e| failed(name, e))?;
        let options = FileOptions { typed: true, ..FileOptions::new(self.format) };
        let mut writer: Box<dyn TableWriter> = match self.format {
            FileFormat::Parquet | FileFormat::Arrow => {
                let writer = ShapedWriter::new(file, name, &names, &options)?;
                Box::new(writer.with_shapes(shapes)?)
            }
            _ => Formats.write(file, name, &names, &options)?,
        };
        let (mut count, mut values) = (0, 0);
        rows.each(&mut |mut columns, read| {
            for (key, _) in &used {
                columns.push(read(*key)?);
            }
            let rows = columns.first().map_or(0, Column::len);
            for column in &columns[fixed.len()..] {
                values += match column.may_have_nulls() {
                    true => (0..rows).filter(|row| !column.is_null(*row)).count(),
                    false => rows,
                };
            }
            count += rows as u64;
            writer.write(&columns.iter().collect::<Vec<_>>(), None)
        })?;
        writer.finish()?;
        self.done.properties += values as u64;
        self.done.files += 1;
        Ok(count)
    }
}

/// Writes a database to a folder, which is made; `progress` is told the nodes and relationships so
/// far.
///
/// # Errors
/// If there is such a folder already, or it cannot be written. What was written of it stays.
pub fn export(
    db: &Database,
    folder: &Path,
    format: FileFormat,
    progress: &dyn Fn(u64),
) -> Result<Contents, QueryError> {
    let place = folder.display().to_string();
    std::fs::create_dir(folder).map_err(|e| failed(&place, e))?;
    let reader = db.reader().map_err(storage)?;
    let keys: Vec<(PropertyKeyId, String)> = db
        .property_keys()
        .into_iter()
        .filter_map(|name| Some((db.find_property_key(&name)?, name)))
        .collect();
    let fixed = [":ID", ":START_ID", ":END_ID"].map(|name| free(name, &keys));
    let mut vertices = Vec::new();
    reader.scan(None, VertexId::from_raw(0), reader.vertex_bound(), &mut vertices)?;
    let mut sets: BTreeMap<Vec<LabelId>, Vec<VertexId>> = BTreeMap::new();
    let mut labels = Lists::default();
    for piece in vertices.chunks(PIECE) {
        View::labels(&reader, piece, &mut labels)?;
        for (vertex, set) in piece.iter().zip(labels.iter()) {
            match sets.get_mut(set) {
                Some(all) => all.push(*vertex),
                None => _ = sets.insert(set.to_vec(), vec![*vertex]),
            }
        }
    }
    let names = db.labels();
    let mut export = Export { folder, format, keys, done: Contents::default() };
    let mut tables = Vec::new();
    for (number, (set, vertices)) in (1..).zip(sets) {
        let name = format!("nodes-{number}.{}", format.name());
        let own: Vec<&String> =
            set.iter().filter_map(|label| names.get(usize::from(label.get()))).collect();
        let rows = export.file(&name, &[&fixed[0]], &NodesOf { reader: &reader, vertices })?;
        export.done.vertices += rows;
        progress(export.done.vertices);
        tables.push(json!({ "file": name, "labels": own, "rows": rows }));
    }
    let mut types = Vec::new();
    for (number, (ty, options)) in (1..).zip(db.edge_types()) {
        let Some(id) = db.find_edge_type(&ty) else { continue };
        let name = format!("relationships-{number}.{}", format.name());
        let all = EdgesOf { reader: &reader, sources: &vertices, ty: id };
        let rows = export.file(&name, &[&fixed[1], &fixed[2]], &all)?;
        export.done.edges += rows;
        progress(export.done.vertices + export.done.edges);
        let order = match options.order {
            EdgeOrder::NewestFirst(key) => {
                export.keys.iter().find(|(id, _)| *id == key).map(|(_, name)| name.clone())
            }
            _ => None,
        };
        types.push(json!({
            "file": name, "type": ty, "rows": rows, "simple": options.simple, "newestFirst": order,
        }));
    }
    let statements = schema(db)?;
    export.done.rules = statements.len() as u64;
    let text: String = statements.iter().map(|statement| format!("{statement};\n")).collect();
    write(folder, SCHEMA, &text)?;
    let keys: Vec<&String> = export.keys.iter().map(|(_, name)| name).collect();
    let layout = json!({
        "telar": VERSION,
        "format": format.name(),
        "id": fixed[0], "start": fixed[1], "end": fixed[2],
        "labels": names, "keys": keys,
        "nodes": tables, "relationships": types,
    });
    write(folder, LAYOUT, &format!("{layout:#}\n"))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| failed(&place, e))?;
    Ok(export.done)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), QueryError> {
    use std::io::Write;
    let written = File::create_new(folder.join(name)).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|e| failed(name, e))
}

/// Statements that make the constraints and indexes of a database.
///
/// # Errors
/// If they cannot be read.
pub fn schema(db: &Database) -> Result<Vec<String>, QueryError> {
    let session = Session::new(db);
    let mut all = Vec::new();
    for text in SCHEMA_TEXTS {
        for row in session.run(text, &[])?.rows {
            if let Some(Value::String(statement)) = row.first() {
                all.push(statement.to_string());
            }
        }
    }
    Ok(all)
}

/// True if a folder is one that [`export`] has made.
#[must_use]
pub fn is_export(folder: &Path) -> bool {
    folder.join(LAYOUT).is_file()
}

/// Brings the folder of an export into a database without nodes: as one commit, and then its
/// constraints and indexes.
///
/// # Errors
/// If the database has nodes, or a file is missing or not as the export has made it. Before the
/// commit nothing is changed, but for names.
pub fn import(
    db: &Database,
    folder: &Path,
    progress: &dyn Fn(u64),
) -> Result<Contents, QueryError> {
    let place = folder.display().to_string();
    let damaged = |what: &str| failed(LAYOUT, format!("{place} is no export: {what}"));
    let text = std::fs::read(folder.join(LAYOUT)).map_err(|e| failed(LAYOUT, e))?;
    let layout: Json = serde_json::from_slice(&text).map_err(|e| damaged(&e.to_string()))?;
    if layout["telar"].as_u64() != Some(VERSION) {
        return Err(damaged("it is of another version"));
    }
    let format = layout["format"].as_str().and_then(FileFormat::of_name);
    let format = format.ok_or_else(|| damaged("format"))?;
    if format == FileFormat::Csv {
        let what =
            "an export as CSV is for other programs: it does not say which types values have";
        return Err(wrong_option(&place, what));
    }
    let text = |json: &Json, name: &str| {
        json[name].as_str().map(str::to_owned).ok_or_else(|| damaged(name))
    };
    let list = |name: &str| layout[name].as_array().ok_or_else(|| damaged(name));
    let reader = db.reader().map_err(storage)?;
    let mut some = Vec::new();
    reader.scan(None, VertexId::from_raw(0), reader.vertex_bound(), &mut some)?;
    drop(reader);
    if !some.is_empty() {
        return Err(wrong_option(&place, "an export goes into a database without nodes"));
    }
    for name in list("labels")?.iter().filter_map(Json::as_str) {
        db.label(name).map_err(storage)?;
    }
    for name in list("keys")?.iter().filter_map(Json::as_str) {
        db.property_key(name).map_err(storage)?;
    }
    let open = |table: &Json| {
        let name = text(table, "file")?;
        if name.contains(['/', '\\']) {
            return Err(damaged("a file is elsewhere"));
        }
        let file = File::open(folder.join(&name)).map_err(|e| failed(&name, e))?;
        Formats.read(file, &name, &FileOptions::new(format))
    };
    let (id, start, end) = (text(&layout, "id")?, text(&layout, "start")?, text(&layout, "end")?);
    let mut import = TableImport { as_is: true, ..TableImport::default() };
    let mut done = Contents::default();
    let empty = |table: &Json| table["rows"].as_u64() == Some(0);
    for table in list("nodes")?.iter().filter(|table| !empty(table)) {
        let labels = table["labels"].as_array().ok_or_else(|| damaged("labels"))?;
        let labels = labels.iter().filter_map(Json::as_str).map(str::to_owned).collect();
        import.ids.push((import.nodes.len(), id.clone()));
        import.nodes.push(NodeTable { labels, rows: open(table)? });
        done.files += 1;
    }
    for table in list("relationships")? {
        let ty = text(table, "type")?;
        let options = match (table["simple"].as_bool(), table["newestFirst"].as_str()) {
            (_, Some(key)) => {
                // Such types take transactions only.
                import.bulk_rows = usize::MAX;
                EdgeTypeOptions::newest_first(db.property_key(key).map_err(storage)?)
            }
            (Some(true), None) => EdgeTypeOptions::simple(),
            _ => EdgeTypeOptions::general(),
        };
        db.edge_type(&ty, options).map_err(storage)?;
        if empty(table) {
            continue;
        }
        let own = |column: &str| End {
            column: column.to_owned(),
            label: String::new(),
            key: String::new(),
        };
        let (from, to) = (own(&start), own(&end));
        import.relationships.push(RelationshipTable { ty, from, to, rows: open(table)? });
        done.files += 1;
    }
    let report = import_tables(db, import, &|step| {
        progress(step.done);
        Ok(())
    })?;
    (done.vertices, done.edges) = (report.vertices, report.edges);
    done.properties = report.properties;
    let statements = std::fs::read_to_string(folder.join(SCHEMA)).map_err(|e| failed(SCHEMA, e))?;
    let session = Session::new(db);
    for statement in statements.lines().map(|line| line.trim_end_matches(';')) {
        if !statement.is_empty() {
            session.run(statement, &[]).map_err(|e| failed(SCHEMA, e))?;
            done.rules += 1;
        }
    }
    Ok(done)
}
