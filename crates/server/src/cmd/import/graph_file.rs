//! A file that holds a whole graph: GraphML, GEXF, RDF, a script of Cypher.

use std::path::Path;

use anyhow::bail;
use clap::{Args, ValueEnum};
use telar_cli::process_cpu_s;
use telar_db::import::import_tables;
use telar_db::{Database, EdgeTypeOptions, Session, Settings};
use telar_exchange::rdf::{self, Iris};
use telar_exchange::{GraphFormat, Names, Read, gexf, graphml};

use super::{script, tables};
use crate::ui::{Progress, Screen};

/// Options of files that hold a graph.
#[derive(Debug, Args)]
#[command(next_help_heading = "Graphs of other programs")]
pub(super) struct GraphArgs {
    /// Database of a server [default: the user's own]
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// Names that IRIs of RDF become: labels, types, properties
    #[arg(long, value_enum, default_value_t = IriNames::Local)]
    iris: IriNames,
}

impl GraphArgs {
    /// The database of a server.
    pub(super) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }
}

/// Names of IRIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum IriNames {
    /// The part behind the last # or /
    Local,
    /// All of it
    Full,
}

/// The format of a file that holds a graph; none if it is one of edges.
pub(super) fn format(options: &super::Options, file: &Path) -> anyhow::Result<Option<GraphFormat>> {
    if options.edge_list.format_is_given() || !file.is_file() {
        return Ok(None);
    }
    Ok(GraphFormat::of_file(file)?)
}

/// Imports a file of this format.
pub(super) fn run(
    options: &super::Options,
    file: &Path,
    format: GraphFormat,
    settings: Settings,
) -> anyhow::Result<()> {
    refuse(options)?;
    let names =
        Names { label: options.edge_list.label.clone(), ty: options.edge_list.edge_type.clone() };
    let before = process_cpu_s();
    let read = match format {
        GraphFormat::Graphml => graphml::read(file, &names)?,
        GraphFormat::Gexf => gexf::read(file, &names)?,
        GraphFormat::Turtle | GraphFormat::Ntriples => {
            let iris = match options.graph.iris {
                IriNames::Local => Iris::Local,
                IriNames::Full => Iris::Full,
            };
            rdf::read(file, format == GraphFormat::Ntriples, iris)?
        }
        GraphFormat::Cypher => return script::run(options, file, settings),
    };
    let db = telar_db::open_with(&options.db, settings)?;
    take(options, db, read, before)
}

/// Refuses options that say something of other files.
pub(super) fn refuse(options: &super::Options) -> anyhow::Result<()> {
    let given = [
        (options.order.is_some(), "--order"),
        (options.csv.rejects.is_some(), "--rejects"),
        (options.edge_list.transactions, "--transactions"),
    ];
    if let Some((_, flag)) = given.iter().find(|(given, _)| *given) {
        bail!("{flag} is for files of edges and rows");
    }
    Ok(())
}

/// Imports a graph that was read, then makes its constraints and indexes, and closes `db`.
pub(super) fn take(
    options: &super::Options,
    db: Database,
    read: Read,
    cpu_s: f64,
) -> anyhow::Result<()> {
    let Read { mut import, schema, mut notes } = read;
    import.unique.extend(options.csv.unique.iter().map(|unique| unique.0.clone()));
    options.csv.limit(&mut import.load);
    if options.simple {
        for table in &import.relationships {
            db.edge_type(&table.ty, EdgeTypeOptions::simple())?;
        }
    }
    let progress = Progress::new();
    let report = import_tables(&db, import, &|p| {
        progress.update(p);
        Ok(())
    });
    progress.finish();
    let report = report?;
    let session = Session::new(&db);
    let (mut made, mut refused) = (0, Vec::new());
    for statement in &schema {
        match session.run(statement, &[]) {
            Ok(_) => made += 1,
            Err(error) => refused.push(format!("{statement}: {}", error.message)),
        }
    }
    drop(session);
    let screen = Screen::new();
    tables::summary(screen, options, &report)?;
    if made > 0 {
        screen.line(format!("  {:<11}{made} constraints and indexes", "made"))?;
    }
    notes.extend(refused.into_iter().map(|text| format!("not made: {text}")));
    for note in notes {
        screen.line(format!("  {:<11}{note}", "note"))?;
    }
    super::finish(screen, options, db, process_cpu_s() - cpu_s)
}
