//! From a file of edges into a database, in one call.

use std::path::Path;
use std::time::Instant;

use telar_algo::ordering::Method;
use telar_engine::{BulkOptions, BulkStep, Column, EdgeTypeOptions, Engine, Error};
use telar_graph::{EdgeTypeId, LabelId, PropertyKeyId, Value};

use super::column::ColumnValues;
use super::edge_list::{EdgeList, OriginalId};
use super::graph_source::{GraphSource, LoadOptions, Properties};
use super::load::load;
use super::options::{Columns, EdgeListOptions, Progress};
use super::outcome::{ImportProgress, ImportStage, LoadError, Loaded};

/// How to import a file of edges.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ImportOptions {
    /// Label of every vertex. Default: `Vertex`.
    pub label: String,
    /// Type of every edge. Default: `LINK`.
    pub edge_type: String,
    /// At most one edge per pair and no properties, at half the memory. Default: false, every
    /// record becomes an edge and further columns become its properties.
    pub simple: bool,
    /// Property that keeps the id a vertex has in the file; `None` keeps none. Default: `id`.
    pub id_property: Option<String>,
    /// Threads for reading and for writing; 0 means one per core.
    pub threads: usize,
    /// Vertices or edges per transaction; 0 means the default.
    pub batch: usize,
    /// Write by ordinary transactions, batch by batch, instead of a bulk load that comes in as a
    /// whole. Default: false; done in any case while snapshots or transactions are open, which a
    /// bulk load would have to wait for.
    pub transactions: bool,
    /// Order in which vertices are made, so that their ids follow it; `None` keeps that of the
    /// file. Default: `None`.
    pub order: Option<Method>,
    /// How to read the file. Its `threads` are set from those above; columns are skipped if
    /// `simple`.
    pub file: EdgeListOptions,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            label: "Vertex".to_owned(),
            edge_type: "LINK".to_owned(),
            simple: false,
            id_property: Some("id".to_owned()),
            threads: 0,
            batch: 0,
            transactions: false,
            order: None,
            file: EdgeListOptions::default(),
        }
    }
}

/// What an import brought in.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ImportReport {
    /// Vertices added.
    pub vertices: u64,
    /// Edges added.
    pub edges: u64,
    /// Records of a simple type that named an edge which was there already.
    pub duplicates: u64,
    /// Edge properties, by the names of the file's columns.
    pub properties: Vec<String>,
    /// Whether the format says that edges hold in both directions; each is stored once, and reading
    /// both directions of a vertex finds it.
    pub undirected: bool,
    /// Transactions committed; a bulk load is one.
    pub transactions: u64,
    /// Seconds spent reading and parsing.
    pub read_s: f64,
    /// Seconds spent writing vertices, all commits included.
    pub vertices_s: f64,
    /// Seconds spent writing edges, all commits included; of a bulk load, all of it.
    pub edges_s: f64,
}

/// Reads the edges in the file at `path` into `db`: one new vertex per id in the file, one edge per
/// record. A simple edge type keeps one edge per pair. Nothing that was in the database is touched,
/// and no vertex of it is used again.
///
/// `progress` is called on this thread, some times per second of work.
///
/// # Errors
/// [`LoadError::File`] (with line and column, nothing written), [`LoadError::Schema`] (say, the
/// edge type exists with other options), [`LoadError::Write`] (says how much was committed; of a
/// bulk load, nothing).
///
/// # Examples
/// ```
/// use telar_db::{Value, View, import};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ratings.csv");
/// std::fs::write(&path, "from,to,rating\n7,9,5\n9,12,-2\n7,12,4\n")?;
/// let db = telar_db::open_in_memory()?;
/// let report = import::import_edge_list(&db, &path, &Default::default(), &|_| {})?;
/// assert_eq!((report.vertices, report.edges), (3, 3));
/// assert_eq!(report.properties, ["rating"]);
///
/// let id = db.find_property_key("id").expect("made by the import");
/// let reader = db.reader()?;
/// assert_eq!(reader.vertex_property(telar_db::VertexId::from_raw(2), id), Value::Int(12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import_edge_list(
    db: &Engine,
    path: impl AsRef<Path>,
    options: &ImportOptions,
    progress: &dyn Fn(ImportProgress),
) -> Result<ImportReport, LoadError> {
    let begun = Instant::now();
    let mut file = options.file.clone();
    file.threads = options.threads;
    if options.simple {
        file.columns = Columns::Ignore;
    }
    let mut list = EdgeList::read(path, &file, &|p: Progress| {
        let stage = ImportStage::Reading;
        progress(ImportProgress { stage, done: p.bytes_done, total: p.bytes_total });
    })?;
    let read_s = begun.elapsed().as_secs_f64();
    if let Some(method) = options.order {
        let total = list.vertex_count.into();
        let ordering = |done| {
            progress(ImportProgress { stage: ImportStage::Ordering, done, total });
        };
        ordering(0);
        list.renumber(method, 0)?;
        ordering(total);
    }
    if !options.transactions && db.readers().0 == 0 {
        return bulk(db, list, options, read_s, progress);
    }
    let source = EdgeListSource::prepare(db, list, options)?;
    let loaded = source.load(db, options, progress)?;
    Ok(ImportReport {
        vertices: loaded.vertices.len() as u64,
        edges: loaded.edges,
        duplicates: loaded.duplicates,
        properties: source.property_names(),
        undirected: source.list.undirected,
        transactions: loaded.transactions,
        read_s,
        vertices_s: loaded.vertices_s,
        edges_s: loaded.edges_s,
    })
}

/// Loads the edges as one commit.
fn bulk(
    db: &Engine,
    list: EdgeList,
    options: &ImportOptions,
    read_s: f64,
    progress: &dyn Fn(ImportProgress),
) -> Result<ImportReport, LoadError> {
    let begun = Instant::now();
    let kind = match options.simple {
        true => EdgeTypeOptions::simple(),
        false => EdgeTypeOptions::general(),
    };
    let mut load = db.bulk_load(BulkOptions::default())?;
    let label = load.label(&options.label)?;
    let ty = load.edge_type(&options.edge_type, kind)?;
    let ids = match &options.id_property {
        Some(name) => vec![(load.property_key(name)?, original_ids(&list))],
        None => Vec::new(),
    };
    load.add_vertices(&[label], list.vertex_count as usize, &ids)?;
    drop(ids);
    let first = load.first_vertex()?.get() as u32;
    let EdgeList { mut edges, columns, undirected, .. } = list;
    if first != 0 {
        edges.iter_mut().for_each(|(u, v)| (*u, *v) = (*u + first, *v + first));
    }
    let (mut properties, mut values) = (Vec::new(), Vec::new());
    if !options.simple {
        for column in columns {
            values.push((
                load.property_key(&column.name)?,
                match column.values {
                    ColumnValues::Integers(values) => Column::from(values),
                    ColumnValues::Floats(values) => Column::from(values),
                },
            ));
            properties.push(column.name);
        }
    }
    load.add_edges(ty, edges, values)?;
    let finished = load.finish(&|step, done, total| {
        let stage = match step {
            BulkStep::Sorting => ImportStage::Sorting,
            _ => ImportStage::Storing,
        };
        progress(ImportProgress { stage, done, total });
    });
    let report = finished.map_err(|e| LoadError::Write { vertices: 0, edges: 0, source: e })?;
    Ok(ImportReport {
        vertices: report.vertices,
        edges: report.edges,
        duplicates: report.duplicates,
        properties,
        undirected,
        transactions: 1,
        read_s,
        vertices_s: 0.0,
        edges_s: begun.elapsed().as_secs_f64(),
    })
}

/// The ids of the file, one per vertex.
fn original_ids(list: &EdgeList) -> Column {
    match &list.original_ids {
        None => Column::from((0..i64::from(list.vertex_count)).collect::<Vec<i64>>()),
        Some(_) => {
            let mut column = Column::new();
            for vertex in 0..list.vertex_count {
                match list.original_id(vertex) {
                    Some(OriginalId::Text(text)) => column.push_text(text),
                    Some(OriginalId::Number(number)) => column.push(number_value(number)),
                    None => column.push_null(),
                }
            }
            column
        }
    }
}

/// An id beyond the largest integer is kept as text, digit for digit.
fn number_value(number: u64) -> Value {
    i64::try_from(number).map_or_else(|_| number.to_string().into(), Value::from)
}

/// An [`EdgeList`] with the schema names it is loaded under.
#[derive(Debug)]
pub struct EdgeListSource {
    list: EdgeList,
    label: LabelId,
    edge_type: EdgeTypeId,
    id: Option<PropertyKeyId>,
    /// Property key of each column that becomes a property.
    columns: Vec<PropertyKeyId>,
}

impl EdgeListSource {
    /// Makes the schema names that `options` ask for; nothing else is written.
    ///
    /// # Errors
    /// As [`Engine::label`], [`Engine::edge_type`] and [`Engine::property_key`].
    pub fn prepare(db: &Engine, list: EdgeList, options: &ImportOptions) -> Result<Self, Error> {
        let kind = match options.simple {
            true => EdgeTypeOptions::simple(),
            false => EdgeTypeOptions::general(),
        };
        let columns = if options.simple { &[] } else { list.columns.as_slice() };
        let columns = columns.iter().map(|c| db.property_key(&c.name)).collect::<Result<_, _>>()?;
        Ok(Self {
            label: db.label(&options.label)?,
            edge_type: db.edge_type(&options.edge_type, kind)?,
            id: options.id_property.as_deref().map(|name| db.property_key(name)).transpose()?,
            columns,
            list,
        })
    }

    /// Loads the edges into the database the names were made in.
    ///
    /// # Errors
    /// As [`load`].
    pub fn load(
        &self,
        db: &Engine,
        options: &ImportOptions,
        progress: &dyn Fn(ImportProgress),
    ) -> Result<Loaded, LoadError> {
        let mut load_options = LoadOptions::new(self.label, self.edge_type);
        load_options.threads = options.threads;
        load_options.batch = options.batch;
        load(db, self, &load_options, progress)
    }

    /// The edges.
    #[must_use]
    pub fn list(&self) -> &EdgeList {
        &self.list
    }

    /// The label of the vertices.
    #[must_use]
    pub fn label(&self) -> LabelId {
        self.label
    }

    /// The type of the edges.
    #[must_use]
    pub fn edge_type(&self) -> EdgeTypeId {
        self.edge_type
    }

    fn property_names(&self) -> Vec<String> {
        let columns = self.list.columns.iter().take(self.columns.len());
        columns.map(|column| column.name.clone()).collect()
    }
}

impl GraphSource for EdgeListSource {
    fn vertex_count(&self) -> u32 {
        self.list.vertex_count
    }

    fn edge_count(&self) -> usize {
        self.list.edges.len()
    }

    fn edge(&self, edge: usize) -> (u32, u32) {
        self.list.edges[edge]
    }

    fn vertex_properties(&self, vertex: u32, out: &mut Properties) {
        let Some(key) = self.id else { return };
        let value = match self.list.original_id(vertex) {
            None => return,
            Some(OriginalId::Text(text)) => Value::from(text),
            Some(OriginalId::Number(number)) => number_value(number),
        };
        out.push((key, value));
    }

    fn edge_properties(&self, edge: usize, out: &mut Properties) {
        for (key, column) in self.columns.iter().zip(&self.list.columns) {
            let value = match &column.values {
                ColumnValues::Integers(values) => values.get(edge).copied().map(Value::from),
                ColumnValues::Floats(values) => values.get(edge).copied().map(Value::from),
            };
            out.extend(value.map(|value| (*key, value)));
        }
    }
}
