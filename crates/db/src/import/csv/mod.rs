//! Files of vertices and edges with typed headers, as neo4j-admin reads them.
//!
//! ```text
//!  files ─ blocks.rs ─► blocks of whole records ─ rows.rs, on threads ─► columns, ids
//!           header.rs    record.rs  fields           value.rs  typed values
//!                                                    ids.rs    id in a space → vertex
//!  ─► a bulk load of the engine: sorted, stored and installed as one commit
//! ```
//!
//! Vertices are read first, so that every id is known when edges are. Rows keep the order of the
//! files whatever the number of threads, so the first bad row is the first in the files.
//!
//! The format, options and errors for users: docs/import.md.

mod blocks;
mod checks;
mod error;
mod header;
pub(super) mod ids;
mod record;
mod rejects;
mod rows;
mod value;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use telar_engine::{
    BulkLoad, BulkName, BulkOptions, BulkStep, Column, EdgeTypeOptions, Engine, Error,
};
use telar_graph::{Value, VertexId, View};

pub use error::CsvError;
pub use header::Ids;

use super::outcome::{ImportProgress, ImportStage};
use blocks::{Block, Blocks, in_order};
use header::{FileKind, Role};
use ids::{IdRef, IdSpace};
use record::Dialect;
use rejects::Rejects;
use rows::{Rules, Vertices};

/// Files that share a header and what their rows are.
#[derive(Debug, Clone, Default)]
pub struct CsvGroup {
    /// Labels of the vertices, or the type of the edges, beside what rows say.
    pub names: Vec<String>,
    /// The files, in order. The first record of the first is the header; it may stand in a file of
    /// its own, and later files may repeat it.
    pub files: Vec<PathBuf>,
}

/// Ids of vertices that are in the database already.
#[derive(Debug, Clone)]
pub struct ExistingIds {
    /// The id space, as in `:START_ID(space)`.
    pub space: String,
    /// Label of the vertices.
    pub label: String,
    /// Property whose value is the id; values of another type are passed over.
    pub key: String,
}

/// What becomes of a row that is not what the header says.
#[derive(Debug, Clone, Default)]
pub enum BadRows {
    /// The first one ends the import; nothing is changed.
    #[default]
    Abort,
    /// It is written to a file, with the reason, and left out.
    Skip {
        /// The reject file; made with the first bad row.
        file: PathBuf,
        /// More than so many end the import.
        max: u64,
    },
}

/// What to import, and how to read it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CsvImport {
    /// Files of vertices.
    pub nodes: Vec<CsvGroup>,
    /// Files of edges.
    pub relationships: Vec<CsvGroup>,
    /// Between two fields. Default: a comma.
    pub delimiter: u8,
    /// Between two elements of a list, and two labels. Default: a semicolon.
    pub array_delimiter: u8,
    /// Around fields that hold special characters. Default: a double quote.
    pub quote: u8,
    /// Whether blanks around fields are dropped. Default: false.
    pub trim: bool,
    /// Fields without quotes that say that there is no value, as `NA` does in some files: then
    /// there is no property. Default: only the empty field says so.
    pub null: Vec<String>,
    /// Lines at the beginning of each file that are not read. Where the first of several files of a
    /// group holds the header, it is read whole. Default: 0.
    pub skip_lines: u64,
    /// What ids are, where the header does not say. Default: text.
    pub ids: Ids,
    /// Id spaces that also hold vertices of the database.
    pub existing: Vec<ExistingIds>,
    /// Unique constraints to be made with the import, in the same step; rows that break one are
    /// bad.
    pub unique: Vec<UniqueKey>,
    /// New edge types hold at most one edge per pair and no properties. Default: false.
    pub simple: bool,
    /// What to do about bad rows.
    pub bad_rows: BadRows,
    /// Threads that read; 0 means one per core.
    pub threads: usize,
    /// How the load works.
    pub load: BulkOptions,
}

impl Default for CsvImport {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            relationships: Vec::new(),
            delimiter: b',',
            array_delimiter: b';',
            quote: b'"',
            trim: false,
            null: Vec::new(),
            skip_lines: 0,
            ids: Ids::default(),
            existing: Vec::new(),
            unique: Vec::new(),
            simple: false,
            bad_rows: BadRows::default(),
            threads: 0,
            load: BulkOptions::default(),
        }
    }
}

/// A property that is different for every vertex with a label that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueKey {
    /// The label.
    pub label: String,
    /// The property.
    pub key: String,
}

/// What an import brought in.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CsvReport {
    /// Vertices added.
    pub vertices: u64,
    /// Edges added.
    pub edges: u64,
    /// Property values set.
    pub properties: u64,
    /// Edges of simple types that were there already or came more than once.
    pub duplicates: u64,
    /// Rows written to the reject file.
    pub rejected: u64,
    /// Edges that were sorted in files.
    pub spilled: u64,
    /// Properties of id columns: candidates for unique indexes.
    pub unique_keys: Vec<UniqueKey>,
    /// Seconds spent reading and parsing.
    pub read_s: f64,
    /// Seconds spent sorting, storing and installing.
    pub load_s: f64,
}

/// One group, its header read.
struct Source<'i> {
    group: &'i CsvGroup,
    blocks: Blocks,
    file: Arc<Path>,
    line: u64,
    roles: Vec<Role>,
}

impl Source<'_> {
    fn header_error(&self, reason: String) -> CsvError {
        CsvError::Header { file: self.file.display().to_string(), line: self.line, reason }
    }
}

/// Imports files of vertices and edges into `db`, as one commit that is on disk at the end.
///
/// `progress` is called on this thread, some times per second of work.
///
/// # Errors
/// None of them leaves anything in the database. [`CsvError::Row`] names file and line of the first
/// bad row; the others are told at [`CsvError`].
///
/// # Examples
/// ```
/// use telar_db::import::{CsvGroup, CsvImport, import_csv};
///
/// # let folder = tempfile::tempdir()?;
/// # let file = |name: &str| folder.path().join(name);
/// std::fs::write(file("people.csv"), "id:ID,name,born:date\n1,Ada,1815-12-10\n2,\"B, Bob\",\n")?;
/// std::fs::write(file("knows.csv"), ":START_ID,:END_ID,since:int\n1,2,1840\n")?;
///
/// let mut import = CsvImport::default();
/// let group = |name: &str, path| CsvGroup { names: vec![name.to_owned()], files: vec![path] };
/// import.nodes.push(group("Person", file("people.csv")));
/// import.relationships.push(group("KNOWS", file("knows.csv")));
///
/// let db = telar_db::open_in_memory()?;
/// let report = import_csv(&db, &import, &|_| {})?;
/// assert_eq!((report.vertices, report.edges, report.properties), (2, 1, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import_csv(
    db: &Engine,
    import: &CsvImport,
    progress: &dyn Fn(ImportProgress),
) -> Result<CsvReport, CsvError> {
    let begun = Instant::now();
    check_options(import)?;
    let files = || import.nodes.iter().chain(&import.relationships).flat_map(|g| &g.files);
    let mut total = 0;
    for file in files() {
        total += std::fs::metadata(file).map_err(CsvError::io(file))?.len();
    }
    let count = Arc::new(AtomicU64::new(0));
    let open = |groups, kind| open_groups(import, groups, kind, &count);
    let nodes = open(&import.nodes, FileKind::Nodes)?;
    let relationships = open(&import.relationships, FileKind::Relationships)?;
    let load = db.bulk_load(import.load)?;
    let reading = || {
        let done = count.load(Ordering::Relaxed);
        progress(ImportProgress { stage: ImportStage::Reading, done, total });
    };
    let mut run = Run {
        db,
        import,
        load,
        spaces: spaces(import, &nodes)?,
        rejects: Rejects::new(&import.bad_rows),
        vertices: 0,
        unique_keys: Vec::new(),
        labels: HashSet::new(),
        types: HashMap::new(),
        reading: &reading,
    };
    run.add_existing(&relationships)?;
    run.make_unique(&nodes)?;
    for source in nodes {
        run.read_vertices(source)?;
    }
    run.check_unique()?;
    let first = run.load.first_vertex()?.get() as u32;
    run.spaces.values_mut().for_each(|space| space.seal(first));
    for source in relationships {
        run.read_edges(source)?;
    }
    let rejected = run.rejects.finish()?;
    let read_s = begun.elapsed().as_secs_f64();
    let Run { load, unique_keys, .. } = run;
    let report = load.finish(&|step, done, total| {
        let stage = match step {
            BulkStep::Sorting => ImportStage::Sorting,
            _ => ImportStage::Storing,
        };
        progress(ImportProgress { stage, done, total });
    })?;
    Ok(CsvReport {
        vertices: report.vertices,
        edges: report.edges,
        properties: report.properties,
        duplicates: report.duplicates,
        rejected,
        spilled: report.spilled,
        unique_keys,
        read_s,
        load_s: begun.elapsed().as_secs_f64() - read_s,
    })
}

fn check_options(import: &CsvImport) -> Result<(), CsvError> {
    let refuse = |text: &str| Err(CsvError::Options(text.to_owned()));
    let CsvImport { delimiter, array_delimiter, quote, .. } = *import;
    if delimiter == quote || delimiter == array_delimiter || quote == array_delimiter {
        return refuse(
            "--delimiter, --array-delimiter and --quote must be three different characters",
        );
    }
    if [delimiter, array_delimiter, quote].iter().any(|b| matches!(b, b'\n' | b'\r' | 0x80..)) {
        return refuse("delimiter, array delimiter and quote must be ASCII and no line ends");
    }
    if import.relationships.iter().any(|g| g.names.len() > 1) {
        return refuse("a relationship has one type: give --relationships TYPE=FILE once per type");
    }
    if import.nodes.iter().chain(&import.relationships).any(|g| g.files.is_empty()) {
        return refuse("a group of files has no file");
    }
    if import.nodes.is_empty() && import.relationships.is_empty() {
        return refuse("there is nothing to import: give files of nodes or relationships");
    }
    Ok(())
}

fn rules<'a>(import: &'a CsvImport, roles: &'a [Role]) -> Rules<'a> {
    let (array, null) = (import.array_delimiter, &import.null[..]);
    Rules { roles, dialect: dialect(import), array, null }
}

fn dialect(import: &CsvImport) -> Dialect {
    Dialect { delimiter: import.delimiter, quote: import.quote, trim: import.trim }
}

fn open_groups<'i>(
    import: &CsvImport,
    groups: &'i [CsvGroup],
    kind: FileKind,
    count: &Arc<AtomicU64>,
) -> Result<Vec<Source<'i>>, CsvError> {
    let open = |group: &'i CsvGroup| {
        let mut blocks =
            Blocks::new(&group.files, dialect(import), import.skip_lines, Arc::clone(count));
        let (file, line, record) = blocks.header()?;
        let roles = header::parse(&record, dialect(import), kind);
        let roles = roles.map_err(|reason| CsvError::Header {
            file: file.display().to_string(),
            line,
            reason,
        })?;
        Ok(Source { group, blocks, file, line, roles })
    };
    groups.iter().map(open).collect()
}

/// The id spaces that the headers of vertices and the existing ones name.
fn spaces(import: &CsvImport, nodes: &[Source<'_>]) -> Result<HashMap<String, IdSpace>, CsvError> {
    let mut kinds: HashMap<String, Option<Ids>> =
        import.existing.iter().map(|e| (e.space.clone(), None)).collect();
    for source in nodes {
        for role in &source.roles {
            let Role::Id { space, ids, .. } = role else { continue };
            let known = kinds.entry(space.clone()).or_default();
            if ids.is_some() && known.is_some() && known != ids {
                let reason = format!("the ids of space {space:?} are of another type elsewhere");
                return Err(source.header_error(reason));
            }
            *known = known.or(*ids);
        }
    }
    let space = |(name, kind): (String, Option<Ids>)| {
        let space = IdSpace::new(&name, kind.unwrap_or(import.ids));
        (name, space)
    };
    Ok(kinds.into_iter().map(space).collect())
}

/// The columns that are properties, by key.
fn property_columns(keys: &[Option<BulkName>], columns: Vec<Column>) -> Vec<(BulkName, Column)> {
    keys.iter().zip(columns).filter_map(|(key, column)| Some(((*key)?, column))).collect()
}

/// An import under way.
struct Run<'a> {
    db: &'a Engine,
    import: &'a CsvImport,
    load: BulkLoad<'a>,
    spaces: HashMap<String, IdSpace>,
    rejects: Rejects,
    /// New vertices so far.
    vertices: u32,
    unique_keys: Vec<UniqueKey>,
    /// Labels of the new vertices.
    labels: HashSet<BulkName>,
    types: HashMap<String, BulkName>,
    reading: &'a dyn Fn(),
}

impl Run<'_> {
    fn threads(&self) -> usize {
        match self.import.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Adds the ids of vertices in the database, and checks that edges name spaces there are.
    fn add_existing(&mut self, relationships: &[Source<'_>]) -> Result<(), CsvError> {
        for e in &self.import.existing {
            let unknown = |what, name: &str| {
                CsvError::Options(format!("the database has no {what} {name:?}"))
            };
            let label = self.db.find_label(&e.label).ok_or_else(|| unknown("label", &e.label))?;
            let key = self.db.find_property_key(&e.key);
            let key = key.ok_or_else(|| unknown("property key", &e.key))?;
            let Some(space) = self.spaces.get_mut(&e.space) else { continue };
            let reader = self.db.reader()?;
            let mut found = Vec::new();
            let first = VertexId::from_raw(0);
            reader
                .scan(Some(label), first, reader.vertex_bound(), &mut found)
                .map_err(Error::from)?;
            for v in found {
                let value = reader.vertex_property(v, key);
                let id = match (&value, space.kind) {
                    (Value::Int(n), Ids::Integer) => IdRef::Integer(*n),
                    (Value::String(text), Ids::Text) => IdRef::Text(text.as_bytes()),
                    _ => continue,
                };
                if !space.add(id, v.get() as u32) {
                    return Err(CsvError::Options(format!(
                        "two vertices :{} of the database have the {} {value:?}: it does not tell \
                         them apart",
                        e.label, e.key
                    )));
                }
            }
        }
        self.spaces.values_mut().for_each(IdSpace::end_existing);
        for source in relationships {
            for role in &source.roles {
                let (Role::Start { space } | Role::End { space }) = role else { continue };
                if !self.spaces.contains_key(space) {
                    let mut known: Vec<_> = self.spaces.keys().map(|s| format!("{s:?}")).collect();
                    known.sort();
                    let reason = format!(
                        "no file of nodes has ids in the space {space:?}; there are {}",
                        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
                    );
                    return Err(source.header_error(reason));
                }
            }
        }
        Ok(())
    }

    /// The key of each column that is a property.
    fn keys(&mut self, source: &Source<'_>) -> Result<Vec<Option<BulkName>>, CsvError> {
        let mut keys = Vec::with_capacity(source.roles.len());
        for role in &source.roles {
            keys.push(match role {
                Role::Property { name, .. } => Some(name),
                Role::Id { name, .. } if !name.is_empty() => Some(name),
                _ => None,
            });
        }
        let add = |name: Option<&String>| name.map(|n| self.load.property_key(n)).transpose();
        let keys: Result<Vec<_>, Error> = keys.into_iter().map(add).collect();
        keys.map_err(|e| source.header_error(e.to_string()))
    }

    fn read_vertices(&mut self, mut source: Source<'_>) -> Result<(), CsvError> {
        let keys = self.keys(&source)?;
        let labels: Result<Vec<BulkName>, Error> =
            source.group.names.iter().map(|name| self.load.label(name)).collect();
        let labels = labels?;
        let id = source.roles.iter().find_map(|r| match r {
            Role::Id { space, name, .. } => Some((space.clone(), name.clone())),
            _ => None,
        });
        if let Some((_, key)) = id.as_ref().filter(|(_, key)| !key.is_empty()) {
            for label in &source.group.names {
                let unique = UniqueKey { label: label.clone(), key: key.clone() };
                if !self.unique_keys.contains(&unique) {
                    self.unique_keys.push(unique);
                }
            }
        }
        let mut space = id.and_then(|(space, _)| self.spaces.remove(&space));
        let ids = space.as_ref().map_or(Ids::Text, |s| s.kind);
        let (import, threads) = (self.import, self.threads());
        let roles = std::mem::take(&mut source.roles);
        let rules = rules(import, &roles);
        let work = |block: Block| {
            let rows = rows::vertices(&block, rules, ids);
            (block, rows)
        };
        let done = in_order(&mut source.blocks, threads, work, |(block, rows)| {
            self.add_vertices(&block, rows, space.as_mut(), &labels, &keys)?;
            (self.reading)();
            Ok(())
        });
        if let Some(space) = space {
            self.spaces.insert(space.name.clone(), space);
        }
        done
    }

    fn add_vertices(
        &mut self,
        block: &Block,
        mut rows: Vertices,
        space: Option<&mut IdSpace>,
        labels: &[BulkName],
        keys: &[Option<BulkName>],
    ) -> Result<(), CsvError> {
        let mut sets: Vec<Vec<BulkName>> = Vec::with_capacity(rows.sets.len());
        for names in &rows.sets {
            let mut set = labels.to_vec();
            for name in names {
                set.push(self.load.label(name)?);
            }
            sets.push(set);
        }
        let columns = std::mem::take(&mut rows.columns);
        let mut columns = property_columns(keys, columns);
        let dropped = self.check_vertices(&mut rows, space, &sets, &columns);
        rows.bad.sort_by_key(|bad| bad.start);
        self.rejects.take(block, &rows.bad)?;
        if !dropped.is_empty() {
            columns.iter_mut().for_each(|(_, c)| *c = c.without(&dropped));
            rows.drop_from_runs(&dropped);
        }
        let runs: Vec<(&[BulkName], usize)> =
            rows.runs.iter().map(|(set, n)| (sets[*set].as_slice(), *n)).collect();
        self.labels.extend(runs.iter().flat_map(|(set, _)| *set));
        self.load.add_vertices_of(&runs, &columns)?;
        self.vertices += runs.iter().map(|(_, n)| *n as u32).sum::<u32>();
        Ok(())
    }

    fn read_edges(&mut self, mut source: Source<'_>) -> Result<(), CsvError> {
        let keys = self.keys(&source)?;
        let (import, threads) = (self.import, self.threads());
        let roles = std::mem::take(&mut source.roles);
        let default_type = source.group.names.first().map(String::as_str);
        if default_type.is_none() && !roles.contains(&Role::Type) {
            let reason = "the edges have no type: add a column :TYPE, or give one for the file";
            return Err(source.header_error(reason.to_owned()));
        }
        // Taken out, so that the threads can look at them while the load takes what they made.
        let spaces = std::mem::take(&mut self.spaces);
        let mut ends = [None, None];
        for role in &roles {
            match role {
                Role::Start { space } => ends[0] = spaces.get(space),
                Role::End { space } => ends[1] = spaces.get(space),
                _ => {}
            }
        }
        let [Some(starts), Some(ends)] = ends else {
            unreachable!("INVARIANT: headers and spaces were checked");
        };
        let rules = rules(import, &roles);
        let work = |block: Block| {
            let rows = rows::edges(&block, rules, [starts, ends], default_type);
            (block, rows)
        };
        let done = in_order(&mut source.blocks, threads, work, |(block, mut rows)| {
            let mut checked = Vec::with_capacity(rows.types.len());
            for mut t in rows.types {
                let ty = self.edge_type(&t.name)?;
                let columns = std::mem::take(&mut t.columns);
                let mut columns = property_columns(&keys, columns);
                self.check_edges(ty, &mut t, &mut columns, &mut rows.bad);
                checked.push((ty, t.ends, columns));
            }
            rows.bad.sort_by_key(|bad| bad.start);
            self.rejects.take(&block, &rows.bad)?;
            for (ty, ends, columns) in checked {
                self.load.add_edges(ty, ends, columns)?;
            }
            (self.reading)();
            Ok(())
        });
        self.spaces = spaces;
        done
    }

    /// The type of this name: as it is in the database, or as the options say.
    fn edge_type(&mut self, name: &str) -> Result<BulkName, CsvError> {
        if let Some(known) = self.types.get(name) {
            return Ok(*known);
        }
        let existing = self.db.edge_types().into_iter().find(|(n, _)| n == name);
        let options = match existing {
            Some((_, options)) => options,
            None if self.import.simple => EdgeTypeOptions::simple(),
            None => EdgeTypeOptions::general(),
        };
        let ty = self.load.edge_type(name, options)?;
        self.types.insert(name.to_owned(), ty);
        Ok(ty)
    }
}
