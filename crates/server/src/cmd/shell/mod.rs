//! `telar shell`: queries typed by a person, or read from a file.
//!
//! - `line`: editing, completion, colours.
//! - `command`: what begins with a colon.
//! - `state`: the session, parameters, the open transaction; runs what was typed.
//! - `output`: results as a table, CSV, JSON or graph.
//! - `text`: values as Cypher writes them.
//! - `pager`: long results, page by page.

mod command;
mod line;
mod output;
mod pager;
mod state;
mod text;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use telar_db::{Database, Retention, Session, Settings, Workers};

use output::Format;
use state::State;

/// Run openCypher on a database, typed or from a file.
///
/// Statements end with a semicolon and may span lines; each is a transaction of its own unless one
/// was begun with :begin. The database is made if there is none, and must not be open elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar shell social.telar
  telar shell social.telar -c \"MATCH (n) RETURN labels(n), count(*)\" --format csv
  telar shell social.telar -f schema.cypher -P 'since=>date(\"2026-01-01\")'
  echo 'RETURN 1 AS one;' | telar shell --memory

In the shell, :help lists its commands.")]
pub(crate) struct Options {
    /// Directory of the database
    #[arg(required_unless_present = "memory")]
    db: Option<PathBuf>,
    /// Begin with an empty database in memory, gone at the end
    #[arg(long, conflicts_with = "db")]
    memory: bool,
    /// Run these statements and end
    #[arg(short = 'c', long = "command", value_name = "QUERY", conflicts_with = "file")]
    command: Option<String>,
    /// Run the statements of this file and end
    #[arg(short = 'f', long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// How results are shown; a table on a terminal, CSV otherwise
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// A parameter: NAME=>EXPRESSION, where the expression is Cypher
    #[arg(short = 'P', long = "param", value_name = "NAME=>EXPRESSION")]
    params: Vec<String>,
    /// Keep what the last so many commits replaced, for AT TIMESTAMP; stays set for this database
    #[arg(long, value_name = "COMMITS")]
    retain: Option<u64>,
    /// Folder below which LOAD CSV may read files
    #[arg(long, value_name = "FOLDER")]
    import_folder: Option<PathBuf>,
    /// Threads that a long query may use [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// Runs `telar shell`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let mut settings = Settings::default();
    if let Some(commits) = options.retain {
        settings.retain = Retention::commits(commits);
    }
    let db = match &options.db {
        Some(path) => telar_db::open_with(path, settings)?,
        None => Database::in_memory(settings)?,
    };
    let limits = telar_db::query::Limits {
        import_folder: options.import_folder.clone(),
        ..telar_db::query::Limits::default()
    };
    let mut session = Session::new(&db).with_limits(limits);
    if let Some(threads) = options.threads {
        session = session.with_workers(Arc::new(Workers::new(threads.into())));
    }
    let terminal = std::io::stdout().is_terminal();
    let format = options.format.unwrap_or(if terminal { Format::Table } else { Format::Csv });
    let mut state = State::new(&db, &session, format);
    for param in &options.params {
        state.set_parameter(param)?;
    }
    let script = match (&options.command, &options.file) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(file)) => Some(
            std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?,
        ),
        (None, None) if std::io::stdin().is_terminal() => None,
        (None, None) => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("reading standard input")?;
            Some(text)
        }
    };
    match script {
        Some(text) => state.run_script(&text)?,
        None => line::interact(&mut state)?,
    }
    if state.in_transaction() {
        bail!("a transaction was left open and is undone: end it with :commit");
    }
    drop(state);
    drop(session);
    db.close()?;
    Ok(ExitCode::SUCCESS)
}
