//! A script of Cypher that makes a new database: what `telar export --format cypher`, APOC and
//! others write.
//!
//! The database is there when all of the script has run, or not at all. Commands of shells are
//! those that such scripts have: `:begin`, `:commit`, `:rollback`, `:schema`.

use std::io::Read;
use std::path::Path;

use anyhow::{anyhow, bail};
use telar_cli::process_cpu_s;
use telar_db::query::QueryError;
use telar_db::{QueryTransaction, Session, Settings, ValueMap};

use super::ASYNC_INTERVAL_MS;
use crate::cmd::shell::script::{Piece, Place, Trouble, pieces};
use crate::ui::{Screen, number};

/// Runs a script in a database that is made for it.
pub(super) fn run(options: &super::Options, file: &Path, settings: Settings) -> anyhow::Result<()> {
    let db_path = options.db.display();
    if options.db.exists() {
        bail!(
            "{db_path}: is there already, and a script makes a new database; telar shell {db_path} \
             -f {} runs it in this one, statement by statement",
            file.display()
        );
    }
    let before = process_cpu_s();
    let name = file.display().to_string();
    let mut text = String::new();
    let source = std::fs::File::open(file).and_then(telar_files::open_text);
    let read = source.and_then(|mut source| source.read_to_string(&mut text));
    read.map_err(|error| anyhow!("{name}: {error}"))?;
    // Nothing of it is kept unless all is: only the end needs the disk.
    let mut settings = settings;
    settings.durability = Settings::asynchronous(ASYNC_INTERVAL_MS).durability;
    settings.background_interval_ms = Settings::default().background_interval_ms;
    let db = telar_db::open_with(&options.db, settings)?;
    let session = Session::new(&db);
    let mut counts = Counts::default();
    let mut transaction = None;
    for (at, piece) in pieces(&text) {
        let done = step(&session, &mut transaction, &piece, &mut counts);
        done.map_err(|trouble| anyhow!("{}", trouble.shown(Place::of(Some(&name), &text, at))))?;
    }
    if transaction.is_some() {
        bail!("{name}: a transaction was begun and never committed: :commit is missing at the end");
    }
    drop(session);
    let screen = Screen::new();
    screen.line(screen.bold(db_path.to_string()))?;
    let vertices = number::counted(counts.nodes, "vertex", "vertices");
    let edges = number::counted(counts.relationships, "edge", "edges");
    screen.line(format!("  {:<11}{vertices}, {edges}", "made"))?;
    let statements = number::counted(counts.statements, "statement", "statements");
    screen.line(format!("  {:<11}{statements}", "run"))?;
    super::finish(screen, options, db, process_cpu_s() - before)
}

#[derive(Default)]
struct Counts {
    statements: u64,
    nodes: u64,
    relationships: u64,
}

fn trouble(message: String) -> Trouble {
    Trouble { message, at: None, excerpt: None, code: String::new() }
}

/// Runs a statement or a command.
fn step(
    session: &Session,
    transaction: &mut Option<QueryTransaction>,
    piece: &Piece<'_>,
    counts: &mut Counts,
) -> Result<(), Trouble> {
    match piece {
        Piece::Statement(text) => {
            let result = match transaction {
                Some(open) => open.run(text, &ValueMap::new()),
                None => session.run_with(text, &ValueMap::new()),
            };
            let counters = result.map_err(|e: QueryError| Trouble::from(e))?.counters;
            counts.statements += 1;
            counts.nodes += counters.nodes_created;
            counts.relationships += counters.relationships_created;
        }
        Piece::Command(text) => {
            let command = text.split_whitespace().next().unwrap_or_default();
            match command.trim_end_matches(';').to_ascii_lowercase().as_str() {
                ":begin" if transaction.is_some() => {
                    return Err(trouble("a transaction is open already".to_owned()));
                }
                ":begin" => *transaction = Some(session.begin()?),
                ":commit" => {
                    transaction.take().map_or(Ok(()), |open| open.commit().map(drop))?;
                }
                ":rollback" => drop(transaction.take()),
                // Indexes are there when the statement has run that makes them.
                ":schema" => {}
                other => {
                    return Err(trouble(format!(
                        "{other} is a command for people: telar shell runs it"
                    )));
                }
            }
        }
    }
    Ok(())
}
