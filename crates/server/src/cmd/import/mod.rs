//! `telar import`: files and servers into a database.
//!
//! - `edge_list`: edges; `csv`: CSV files with typed headers; `tables`: other files of rows.
//! - `folder`: the folder of an export, Telar's own or Kuzu's.
//! - `graph_file`: GraphML, GEXF, RDF; `script`: Cypher.
//! - `bolt`: a server that runs.

#[cfg(feature = "files")]
mod bolt;
mod csv;
mod edge_list;
#[cfg(feature = "files")]
mod folder;
#[cfg(feature = "files")]
mod graph_file;
#[cfg(feature = "files")]
mod script;
#[cfg(feature = "files")]
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use telar_db::algo::ordering::Method;
use telar_db::reorder::{ReorderOptions, reorder};
use telar_db::{Database, Settings};
#[cfg(feature = "files")]
use telar_server::bolt::client::Address;

use super::folder_bytes;
use crate::ui::{Progress, Screen, number};

/// Interval of asynchronous commits, in milliseconds: the most an import can lose in a crash, and
/// long enough that the disk does not hold it up.
const ASYNC_INTERVAL_MS: u64 = 100;

/// Read files, or all of a running server, into a database.
///
/// An edge list: every id in the file becomes a new vertex with the property `id`, every record an
/// edge from the first id to the second. Further numeric columns become properties of the edges.
/// Comment lines begin with # or %.
///
/// CSV files say in their first record what each column is, as neo4j-admin's do: name:TYPE, :ID,
/// :LABEL, :START_ID, :END_ID, :TYPE. docs/import.md has all of it.
///
/// Parquet, Arrow, JSON lines and CSV without such a record come in by the same options; columns
/// are guessed, named by --id, --from and --to, or described by a --mapping file.
///
/// A file of GraphML, GEXF, RDF (Turtle, N-Triples) or Cypher, the folder of telar export or of
/// Kuzu's EXPORT DATABASE, and bolt://user@host are whole graphs. docs/moving.md has all of it.
///
/// Files may be compressed with gzip or zstd. Everything comes in as one commit; if anything is
/// wrong, nothing is changed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar import web.telar cnr-2000.txt.zst --simple
  telar import trust.telar ratings.csv --label User --type TRUSTS
  telar import people.telar --nodes Person=persons.csv --relationships KNOWS=knows.csv
  telar import people.telar --nodes Person=header.csv,part1.csv.gz,part2.csv.gz \\
      --relationships knows.csv --delimiter TAB --rejects rejects.tsv
  telar import people.telar --existing P=Person.id --relationships KNOWS=more.csv
  telar import web.telar cnr-2000.txt.zst --simple --order rcm
  telar import people.telar --nodes Person=p.parquet --relationships KNOWS=k.parquet
  telar import copy.telar graph-export
  telar import copy.telar graph.graphml
  telar import copy.telar bolt://neo4j@127.0.0.1:7687")]
pub(crate) struct Options {
    /// Directory of the database; made if there is none
    db: PathBuf,
    /// File of edges or of a graph, folder of an export, or address of a server
    #[cfg_attr(feature = "files",
               arg(required_unless_present_any = ["nodes", "relationships", "mapping"]))]
    #[cfg_attr(not(feature = "files"),
               arg(required_unless_present_any = ["nodes", "relationships"]))]
    #[arg(
          conflicts_with_all = ["nodes", "relationships"])]
    #[arg(value_name = "FILE|FOLDER|ADDRESS")]
    file: Option<PathBuf>,
    #[command(flatten)]
    edge_list: edge_list::EdgeListArgs,
    #[command(flatten)]
    csv: csv::CsvArgs,
    #[cfg(feature = "files")]
    #[command(flatten)]
    tables: tables::TableArgs,
    #[cfg(feature = "files")]
    #[command(flatten)]
    graph: graph_file::GraphArgs,
    /// At most one edge per pair and no edge properties, at half the memory
    #[arg(long)]
    simple: bool,
    /// Give vertices their places in this order, with neighbours near each other: degree, bfs, rcm,
    /// community, spectral, gorder or random. CSV files then need a new database, and are loaded
    /// twice [default: the order of the files]
    #[arg(long, value_name = "ORDER")]
    order: Option<Method>,
    /// Threads that read [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// Runs `telar import`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    #[cfg(feature = "files")]
    if options.tables.dry_run {
        if options.file.is_some() {
            bail!("--dry-run is for --nodes, --relationships and --mapping");
        }
        tables::dry_run(options)?;
        return Ok(ExitCode::SUCCESS);
    }
    let new = New::at(&options.db)?;
    let mut settings = match options.edge_list.asynchronous {
        true => Settings::asynchronous(ASYNC_INTERVAL_MS),
        false => Settings::default(),
    };
    // What a load installs is settled; nothing else is done to this database meanwhile.
    settings.background_interval_ms = 0;
    #[cfg(feature = "files")]
    if let Some(address) = options.file.as_deref().and_then(Path::to_str)
        && Address::is_meant(address)
    {
        bolt::run(options, address, settings)?;
        new.keep();
        return Ok(ExitCode::SUCCESS);
    }
    #[cfg(feature = "files")]
    if let Some(folder) = options.file.as_deref().filter(|file| file.is_dir()) {
        folder::run(options, folder, telar_db::open_with(&options.db, settings)?)?;
        new.keep();
        return Ok(ExitCode::SUCCESS);
    }
    #[cfg(feature = "files")]
    if let Some(file) = options.file.as_deref()
        && let Some(format) = graph_file::format(options, file)?
    {
        graph_file::run(options, file, format, settings)?;
        new.keep();
        return Ok(ExitCode::SUCCESS);
    }
    match (&options.file, options.order) {
        (Some(file), _) => {
            edge_list::run(options, file, telar_db::open_with(&options.db, settings)?)?;
        }
        (None, None) => rows(options, telar_db::open_with(&options.db, settings)?)?,
        (None, Some(order)) => ordered(options, order, settings)?,
    }
    new.keep();
    Ok(ExitCode::SUCCESS)
}

/// Imports files of rows.
fn rows(options: &Options, db: Database) -> anyhow::Result<()> {
    #[cfg(feature = "files")]
    if tables::are_meant(options)? {
        return tables::run(options, db);
    }
    csv::run(options, db)
}

/// Imports CSV files into a database beside the one that is to be, and that into this one in order.
fn ordered(options: &Options, order: Method, settings: Settings) -> anyhow::Result<()> {
    if options.db.exists() {
        bail!(
            "{}: is there already; --order gives places to the vertices of a new database, and \
             telar reorder to those of one that is there",
            options.db.display()
        );
    }
    let mut name = options.db.file_name().unwrap_or_default().to_owned();
    name.push(".unordered");
    let path = options.db.with_file_name(name);
    if path.exists() {
        bail!("{}: is there, of an import that was interrupted: remove it", path.display());
    }
    let beside = New::at(&path)?;
    rows(options, telar_db::open_with(&path, settings)?)?;
    let progress = Progress::new();
    let how = ReorderOptions::new(order);
    let done = reorder(&path, &options.db, &how, &|p| progress.update(p));
    progress.finish();
    done?;
    // Removed as one that failed is.
    drop(beside);
    Screen::new().line(format!("  {:<11}by {order}", "ordered"))?;
    Ok(())
}

impl Options {
    fn thread_count(&self) -> usize {
        self.threads.map_or(0, usize::from)
    }
}

/// Removes a database that was not there before, unless it is kept.
struct New<'p>(Option<&'p Path>);

impl<'p> New<'p> {
    fn at(path: &'p Path) -> anyhow::Result<Self> {
        if path.is_file() {
            bail!("{}: is a file; a database is a directory", path.display());
        }
        Ok(Self((!path.exists()).then_some(path)))
    }

    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            // The import has failed and says why; that something stays behind is the lesser evil.
            drop(fs::remove_dir_all(path));
        }
    }
}

/// Closes the database and says what it took.
fn finish(screen: Screen, options: &Options, db: Database, cpu_s: f64) -> anyhow::Result<()> {
    let folder = db.folder().unwrap_or(&options.db).to_owned();
    db.close()?;
    let bytes = folder_bytes(&folder.join("store")) + folder_bytes(&folder.join("wal"));
    screen.line(format!("  {:<11}{}", "CPU time", number::seconds(cpu_s)))?;
    screen.line(format!("  {:<11}{}", "on disk", number::bytes(bytes)))?;
    Ok(())
}

/// The lines that count vertices, edges and properties, and edges that were there already.
fn counts(
    screen: Screen,
    options: &Options,
    [vertices, edges, properties, duplicates]: [u64; 4],
) -> std::io::Result<()> {
    screen.line(screen.bold(options.db.display().to_string()))?;
    let row = |name: &str, text: String| screen.line(format!("  {name:<11}{text}"));
    let vertices = number::counted(vertices, "vertex", "vertices");
    let edges = number::counted(edges, "edge", "edges");
    row("imported", format!("{vertices}, {edges}"))?;
    row("properties", number::count(properties))?;
    if duplicates > 0 {
        row("duplicates", format!("{}  (not added again)", number::count(duplicates)))?;
    }
    Ok(())
}
