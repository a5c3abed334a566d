//! Generating or reading the graph, and importing it into a new database.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use telar_db::import::{
    EdgeList, EdgeListOptions, EdgeListSource, GraphSource, ImportOptions, ImportProgress,
    ImportStage, LoadOptions, load,
};
use telar_db::{Database, EdgeTypeId, EdgeTypeOptions, Isolation, LabelId};
use telar_generate::{Person, SocialNetwork, social};

use super::facts::{DONE_KEY, Facts, LIKES_KEY, SINCE_KEY, WRITER_LABEL, number_of};
use super::social::SocialSource;
use super::{Options, Row};
use crate::ui::{Progress, Screen, number};

/// Where the graph came from.
#[derive(Debug)]
pub(super) enum Source {
    /// Generated.
    Social(SocialSource),
    /// Read from a file.
    File(EdgeListSource),
}

/// The graph, imported, with all of it that later checks need.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) source: Source,
    pub(super) facts: Facts,
    pub(super) label: &'static str,
    pub(super) edge_type: &'static str,
    /// Engine number of each vertex of the source.
    pub(super) numbers: Vec<u32>,
    /// Engine number of each writer's vertex.
    pub(super) writers: Vec<u32>,
}

/// Makes the database in `path` and imports the graph that `options` ask for.
pub(super) fn import(
    options: &Options,
    path: &Path,
    screen: Screen,
    rows: &mut Vec<Row>,
) -> anyhow::Result<Graph> {
    let mut told = |row: Row| {
        row.tell(screen)?;
        rows.push(row);
        std::io::Result::Ok(())
    };
    let progress = Progress::new();
    let raw = Raw::obtain(options, &progress);
    progress.finish();
    let (raw, row) = raw?;
    told(row)?;

    let db = telar_db::open(path)?;
    let mut graph = raw.into_graph(&db)?;
    let ids = graph.ids(&db)?;
    let mut load_options = LoadOptions::new(ids.0, ids.1);
    load_options.threads = options.threads.map_or(0, usize::from);
    let progress = Progress::new();
    let show = |p: ImportProgress| progress.update(p);
    let loaded = load(&db, graph.source(), &load_options, &show);
    progress.finish();
    let loaded = loaded?;
    let vertices = loaded.vertices.len() as u64;
    let rate = number::rate(vertices, loaded.vertices_s, "vertices");
    let amount = format!("{} with properties", number::counted(vertices, "vertex", "vertices"));
    told(Row::new("Import", amount, loaded.vertices_s, rate))?;
    let rate = number::rate(loaded.edges + loaded.duplicates, loaded.edges_s, "edges");
    let mut amount = number::counted(loaded.edges, "edge", "edges");
    if !graph.facts.simple {
        amount += " with properties";
    }
    if loaded.duplicates > 0 {
        let duplicates = number::counted(loaded.duplicates, "duplicate", "duplicates");
        amount = format!("{amount}, {duplicates} dropped");
    }
    told(Row::new("Import", amount, loaded.edges_s, rate))?;

    graph.numbers = loaded.vertices.iter().map(|v| number_of(*v)).collect();
    graph.facts = graph.read_facts();
    graph.writers = add_writers(&db, options.writers)?;
    let begun = Instant::now();
    db.close()?;
    let amount = "everything, into the store".to_owned();
    told(Row::new("Checkpoint", amount, begun.elapsed().as_secs_f64(), String::new()))?;
    Ok(graph)
}

/// One vertex per writer, and the property keys the writers use.
fn add_writers(db: &Database, writers: u16) -> Result<Vec<u32>, telar_db::Error> {
    let label = db.label(WRITER_LABEL)?;
    let done = db.property_key(DONE_KEY)?;
    for key in [LIKES_KEY, SINCE_KEY] {
        db.property_key(key)?;
    }
    let (mut vertices, _) = db.write(Isolation::Snapshot, |txn| {
        let mut vertices = Vec::new();
        for _ in 0..writers {
            let vertex = txn.create_vertex(&[label])?;
            txn.set_vertex_property(vertex, done, 0.into())?;
            vertices.push(number_of(vertex));
        }
        Ok::<_, telar_db::Error>(vertices)
    })?;
    vertices.sort_unstable();
    Ok(vertices)
}

/// The graph before the database knows it.
enum Raw {
    Social(SocialNetwork),
    File(EdgeList),
}

impl Raw {
    fn obtain(options: &Options, progress: &Progress) -> anyhow::Result<(Self, Row)> {
        let begun = Instant::now();
        let Some(file) = &options.file else {
            let network = social(options.vertices, options.seed);
            let amount = format!(
                "{} and {}",
                number::counted(network.persons.len() as u64, "person", "persons"),
                number::counted(network.knows.len() as u64, "friendship", "friendships"),
            );
            let seconds = begun.elapsed().as_secs_f64();
            return Ok((
                Self::Social(network),
                Row::new("Generate", amount, seconds, String::new()),
            ));
        };
        let mut read = EdgeListOptions::default();
        read.threads = options.threads.map_or(0, usize::from);
        let list = EdgeList::read(file, &read, &|p| {
            let (done, total) = (p.bytes_done, p.bytes_total);
            progress.update(ImportProgress { stage: ImportStage::Reading, done, total });
        })?;
        if list.vertex_count == 0 {
            bail!("{}: there are no edges in it", file.display());
        }
        let seconds = begun.elapsed().as_secs_f64();
        let name = file.file_name().context("the file has no name")?.to_string_lossy();
        let records = list.edges.len() as u64;
        let amount = format!("{name}, {}", number::counted(records, "record", "records"));
        let row = Row::new("Read", amount, seconds, number::rate(records, seconds, "records"));
        Ok((Self::File(list), row))
    }

    /// Makes the schema names. Edges of a file without further columns are simple.
    fn into_graph(self, db: &Database) -> Result<Graph, telar_db::Error> {
        let (source, label, edge_type) = match self {
            Self::Social(network) => {
                db.label("Person")?;
                db.edge_type("KNOWS", EdgeTypeOptions::general())?;
                (Source::Social(SocialSource::prepare(db, network)?), "Person", "KNOWS")
            }
            Self::File(list) => {
                let mut options = ImportOptions::default();
                options.simple = list.columns.is_empty();
                (Source::File(EdgeListSource::prepare(db, list, &options)?), "Vertex", "LINK")
            }
        };
        let (undirected, simple) = match &source {
            Source::Social(_) => (true, false),
            Source::File(file) => (file.list().undirected, file.list().columns.is_empty()),
        };
        let facts = Facts { vertices: Vec::new(), edges: Vec::new(), undirected, simple };
        let (numbers, writers) = (Vec::new(), Vec::new());
        Ok(Graph { source, facts, label, edge_type, numbers, writers })
    }
}

impl Graph {
    /// What was loaded.
    pub(super) fn source(&self) -> &dyn GraphSource {
        match &self.source {
            Source::Social(social) => social,
            Source::File(file) => file,
        }
    }

    /// Numbers of label and edge type.
    pub(super) fn ids(&self, db: &Database) -> anyhow::Result<(LabelId, EdgeTypeId)> {
        let label = db.find_label(self.label).context("the label is missing")?;
        Ok((label, db.find_edge_type(self.edge_type).context("the edge type is missing")?))
    }

    /// The facts, from the source and not from the database.
    fn read_facts(&self) -> Facts {
        let source = self.source();
        let mut vertices = self.numbers.clone();
        vertices.sort_unstable();
        let number = |v: u32| self.numbers[v as usize];
        let edge = |i| source.edge(i);
        let mut edges: Vec<_> =
            (0..source.edge_count()).map(edge).map(|(u, v)| (number(u), number(v))).collect();
        edges.sort_unstable();
        if self.facts.simple {
            edges.dedup();
        }
        Facts { vertices, edges, ..self.facts }
    }

    /// A vertex as people know it.
    pub(super) fn name(&self, vertex: u32) -> String {
        // Numbers ascend in the order of the source.
        let name = self.numbers.binary_search(&vertex).ok().and_then(|at| match &self.source {
            Source::Social(social) => social.person(at as u32).map(Person::name),
            Source::File(file) => file.list().original_id(at as u32).map(|id| id.to_string()),
        });
        name.unwrap_or_else(|| format!("vertex {vertex}"))
    }
}
