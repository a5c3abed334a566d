//! Files of rows whose columns are guessed, or which a mapping file describes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use clap::Args;
use telar_cli::process_cpu_s;
use telar_db::import::import_tables;
use telar_db::import::table::TableReport;
use telar_db::{Database, EdgeTypeOptions, Settings};
use telar_exchange::kuzu;
use telar_exchange::tables::{
    self, Columns, EndMapping, Mapping, NodeFiles, Options as FileOptions, RelationshipFiles,
};
use telar_files::Rejected;

use crate::ui::{Progress, Screen, number};

/// Options of tables.
#[derive(Debug, Args)]
#[command(next_help_heading = "Parquet, Arrow, JSON lines, CSV without typed headers")]
pub(super) struct TableArgs {
    /// Column that is the id of nodes [default: id, or LABEL_id]
    #[arg(long, value_name = "[LABEL=]COLUMN")]
    id: Vec<Named<String>>,
    /// Column that names where relationships begin, and the nodes that it names [default: from,
    /// source, start and the like]
    #[arg(long, value_name = "[TYPE=]COLUMN[:LABEL[.KEY]]")]
    from: Vec<Named<Column>>,
    /// Column that names where relationships end
    #[arg(long, value_name = "[TYPE=]COLUMN[:LABEL[.KEY]]")]
    to: Vec<Named<Column>>,
    /// A file of JSON or TOML that says what files and columns are
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nodes", "relationships", "file"])]
    pub(super) mapping: Option<PathBuf>,
    /// Print what files and columns are taken for, as a mapping file, and import nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// Something for one label or type, or for all.
#[derive(Debug, Clone)]
struct Named<T> {
    of: Option<String>,
    what: T,
}

impl<T: FromStr<Err: std::fmt::Display>> FromStr for Named<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (of, what) = match text.split_once('=') {
            Some((of, what)) => (Some(of.to_owned()), what),
            None => (None, text),
        };
        what.parse().map(|what| Self { of, what }).map_err(|why: T::Err| why.to_string())
    }
}

impl Named<String> {
    fn pair(&self) -> (Option<String>, String) {
        (self.of.clone(), self.what.clone())
    }
}

/// A column, and the nodes that it names.
#[derive(Debug, Clone)]
struct Column(EndMapping);

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (column, nodes) = match text.rsplit_once(':') {
            Some((column, nodes)) if !column.is_empty() => (column, Some(nodes)),
            _ => (text, None),
        };
        let (label, key) = match nodes.map(|nodes| nodes.rsplit_once('.').ok_or(nodes)) {
            None => (None, None),
            Some(Ok((label, key))) => (Some(label.to_owned()), Some(key.to_owned())),
            Some(Err(label)) => (Some(label.to_owned()), None),
        };
        Ok(Self(EndMapping { column: Some(column.to_owned()), label, key }))
    }
}

/// True if the files are not CSV with headers as neo4j-admin writes them.
pub(super) fn are_meant(options: &super::Options) -> anyhow::Result<bool> {
    if options.tables.mapping.is_some() {
        return Ok(true);
    }
    let csv = &options.csv;
    let mut plain = Vec::new();
    let mut typed = Vec::new();
    for group in csv.groups() {
        // A header may stand in a file of its own, before files of rows.
        let first = group.files[0].display().to_string();
        match tables::is_neo4j_admin(&first)? {
            true => typed.push(first),
            false => plain.push(first),
        }
    }
    if let (Some(plain), Some(typed)) = (plain.first(), typed.first()) {
        bail!(
            "{typed}: has a header as neo4j-admin writes it, and {plain} has not: import them one \
             after the other, the second with --existing"
        );
    }
    Ok(!plain.is_empty())
}

/// The mapping as far as options say it.
fn mapping_of(options: &super::Options) -> anyhow::Result<Mapping> {
    if let Some(file) = &options.tables.mapping {
        return Ok(Mapping::read(file)?);
    }
    let csv = &options.csv;
    let reading = FileOptions {
        delimiter: csv.delimiter.map(|character| char::from(character.0)),
        null: csv.null.clone(),
        ..FileOptions::default()
    };
    let files = |files: &[PathBuf]| files.iter().map(|file| file.display().to_string()).collect();
    let nodes = csv.nodes.iter().map(|group| NodeFiles {
        files: files(&group.0.files),
        labels: group.0.names.clone(),
        options: reading.clone(),
        ..NodeFiles::default()
    });
    let mut mapping = Mapping { nodes: nodes.collect(), relationships: Vec::new() };
    for group in &csv.relationships {
        let first = group.0.files[0].display();
        let [ty] = &group.0.names[..] else {
            bail!("{first}: the relationships need one type: --relationships TYPE={first}");
        };
        mapping.relationships.push(RelationshipFiles {
            files: files(&group.0.files),
            ty: ty.clone(),
            options: reading.clone(),
            ..RelationshipFiles::default()
        });
    }
    Ok(mapping)
}

fn columns_of(options: &super::Options) -> Columns {
    let ends = |given: &[Named<Column>]| {
        given.iter().map(|named| (named.of.clone(), named.what.0.clone())).collect()
    };
    let existing =
        options.csv.existing.iter().map(|known| (known.0.label.clone(), known.0.key.clone()));
    Columns {
        id: options.tables.id.iter().map(Named::pair).collect(),
        from: ends(&options.tables.from),
        to: ends(&options.tables.to),
        existing: existing.collect(),
    }
}

/// Prints the mapping that an import would use; the database is not changed, nor made.
pub(super) fn dry_run(options: &super::Options) -> anyhow::Result<()> {
    let db = match options.db.join("FORMAT").is_file() {
        true => Database::open_to_read(&options.db, Settings::default())?,
        false => telar_db::open_in_memory()?,
    };
    let mapping = tables::guess(&db, &mapping_of(options)?, &columns_of(options), true)?;
    Screen::new().line(mapping.to_json())?;
    Ok(())
}

/// Imports the files into `db` and closes it.
pub(super) fn run(options: &super::Options, db: Database) -> anyhow::Result<()> {
    if let Some(flag) = options.csv.only_for_typed_headers() {
        bail!("{flag} is for CSV files with headers as neo4j-admin writes them (docs/import.md)");
    }
    let mapping = tables::guess(&db, &mapping_of(options)?, &columns_of(options), false)?;
    take(options, db, kuzu::Export { mapping, ..kuzu::Export::default() })
}

/// Imports the folder of Kuzu's or Ladybug's `EXPORT DATABASE` into `db` and closes it.
pub(super) fn run_kuzu(
    options: &super::Options,
    folder: &Path,
    db: Database,
) -> anyhow::Result<()> {
    take(options, db, kuzu::read(folder)?)
}

fn take(options: &super::Options, db: Database, export: kuzu::Export) -> anyhow::Result<()> {
    let before = process_cpu_s();
    let kuzu::Export { mapping, unique, notes } = export;
    let csv = &options.csv;
    let rejected = csv.rejects.as_ref().map(|_| Rejected::new(csv.rejects_max));
    let mut opened = tables::open(&mapping, rejected.as_ref())?;
    opened.import.bad_rows = csv.rejects.as_ref().map(|_| csv.rejects_max);
    opened.import.unique = csv.unique.iter().map(|unique| unique.0.clone()).collect();
    // Programs that have maps as values keep them.
    opened.import.as_is = !unique.is_empty();
    opened.import.unique.extend(unique);
    csv.limit(&mut opened.import.load);
    if options.simple {
        for table in &opened.import.relationships {
            db.edge_type(&table.ty, EdgeTypeOptions::simple())?;
        }
    }
    if let Some(file) = &csv.rejects {
        // A name that cannot be written ends the import before it begins; what is there stays.
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)
            .with_context(|| file.display().to_string())?;
    }
    let progress = Progress::new();
    let report = import_tables(&db, opened.import, &|p| {
        progress.update(p);
        Ok(())
    });
    progress.finish();
    let report = report?;
    let screen = Screen::new();
    summary(screen, options, &report)?;
    for line in &opened.taken {
        screen.line(format!("  {:<11}{line}", "read"))?;
    }
    for note in notes {
        screen.line(format!("  {:<11}{note}", "note"))?;
    }
    if let Some(file) = &csv.rejects {
        let read = rejected.iter().flat_map(Rejected::records).map(|row| (row.place, row.reason));
        let found = report.rejected.into_iter().map(|row| (row.place, row.reason));
        reject(screen, file, read.chain(found))?;
    }
    super::finish(screen, options, db, process_cpu_s() - before)
}

/// Writes rows that were left out, each with its place and the reason.
fn reject(
    screen: Screen,
    file: &Path,
    rows: impl Iterator<Item = (String, String)>,
) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    let mut count = 0;
    for (place, reason) in rows {
        writeln!(out, "{place}: {reason}")?;
        count += 1;
    }
    out.flush()?;
    if count > 0 {
        let rows = number::counted(count, "row", "rows");
        screen.line(format!("  {:<11}{rows}, see {}", "rejected", file.display()))?;
    }
    Ok(())
}

/// The first lines of what an import did.
pub(super) fn summary(
    screen: Screen,
    options: &super::Options,
    report: &TableReport,
) -> std::io::Result<()> {
    let TableReport { vertices, edges, properties, duplicates, .. } = *report;
    super::counts(screen, options, [vertices, edges, properties, duplicates])
}
