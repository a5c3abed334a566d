//! `telar shell`: queries typed by a person, or read from a file.
//!
//! - `line`: editing, completion, colours; `login`: passwords; `interrupt`: Ctrl-C.
//! - `command`: what begins with a colon; `script`: statements and where they stand.
//! - `backend`: a database that is opened, or a server.
//! - `state`: parameters, the open transaction; runs what was typed.
//! - `output`: results as a table, CSV, JSON or graph; `table`: as wide as the terminal.
//! - `text`: values as Cypher writes them.
//! - `pager`: long results, page by page.

mod backend;
mod command;
mod interrupt;
mod line;
pub(crate) mod login;
mod output;
mod pager;
pub(crate) mod script;
mod state;
mod table;
mod text;

use std::io::{IsTerminal, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use telar_db::{Isolation, Retention, Settings};
use telar_share::{Opening, Shared};

use backend::{Backend, Embedded};
use interrupt::Interrupt;
use output::Format;
use state::State;
use telar_server::bolt::client::Address;

/// Run openCypher on a database or a server, typed or from a file.
///
/// Statements end with a semicolon and may span lines; each is a transaction of its own unless one
/// was begun with :begin. A database is made if there is none, and must not be open elsewhere; one
/// that a server has open is reached by the server's address.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar shell social.telar
  telar shell social.telar -c \"MATCH (n) RETURN labels(n), count(*)\" --format csv
  telar shell social.telar -f schema.cypher -P 'since=>date(\"2026-01-01\")'
  telar shell bolt://127.0.0.1:7687 -u neo4j
  echo 'RETURN 1 AS one;' | telar shell --memory

In the shell, :help lists its commands.")]
pub(crate) struct Options {
    /// Directory of the database, or address of a server: bolt://host:port; bolt+s:// encrypts,
    /// bolt+ssc:// whatever the certificate is
    #[arg(required_unless_present = "memory", value_name = "DB|ADDRESS")]
    db: Option<PathBuf>,
    /// Who logs in at a server; the password is asked for, or taken from TELAR_PASSWORD
    #[arg(short, long, value_name = "NAME", env = "TELAR_USER")]
    user: Option<String>,
    /// The database of a server [default: the user's own]
    #[arg(short, long, value_name = "NAME")]
    database: Option<String>,
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
    /// Folder below which LOAD and COPY FROM may read files
    #[arg(long, value_name = "FOLDER")]
    import_folder: Option<PathBuf>,
    /// Folder below which COPY TO may make files
    #[arg(long, value_name = "FOLDER")]
    export_folder: Option<PathBuf>,
    /// How transactions are isolated: serializable prevents write skew, too [default: snapshot, or
    /// what the server says]
    #[arg(long, value_enum)]
    isolation: Option<Level>,
    /// Threads that a long query may use [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// A level of isolation: docs/transactions.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Level {
    Snapshot,
    Serializable,
}

impl From<Level> for Isolation {
    fn from(level: Level) -> Self {
        match level {
            Level::Snapshot => Self::Snapshot,
            Level::Serializable => Self::Serializable,
        }
    }
}

impl Options {
    /// The server that is meant, if one is.
    fn server(&self) -> anyhow::Result<Option<Address>> {
        let named = self.db.as_deref().and_then(Path::to_str).filter(|db| Address::is_meant(db));
        let Some(address) = named else {
            if self.database.is_some() {
                bail!("--database goes with the address of a server: telar shell bolt://...");
            }
            return Ok(None);
        };
        for (flag, given) in [
            ("--retain", self.retain.is_some()),
            ("--import-folder", self.import_folder.is_some()),
            ("--export-folder", self.export_folder.is_some()),
            ("--threads", self.threads.is_some()),
        ] {
            if given {
                bail!("{flag} is for a database that the shell opens: a server has its settings");
            }
        }
        address.parse().map(Some).map_err(anyhow::Error::msg)
    }

    /// Runs what is to be run.
    fn work(&self, backend: Backend, interrupt: Interrupt) -> anyhow::Result<()> {
        let terminal = std::io::stdout().is_terminal();
        let format = self.format.unwrap_or(if terminal { Format::Table } else { Format::Csv });
        let mut state = State::new(backend, format, interrupt);
        for param in &self.params {
            state.set_parameter(param)?;
        }
        match (&self.command, &self.file) {
            (Some(text), _) => state.run_script(text, None)?,
            (None, Some(file)) => {
                let name = file.display().to_string();
                let text = std::fs::read_to_string(file);
                state.run_script(&text.with_context(|| format!("reading {name}"))?, Some(&name))?;
            }
            (None, None) if std::io::stdin().is_terminal() => line::interact(&mut state)?,
            (None, None) => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).context("reading standard input")?;
                state.run_script(&text, None)?;
            }
        }
        if state.in_transaction() {
            bail!("a transaction was left open and is undone: end it with :commit");
        }
        Ok(())
    }
}

/// Runs `telar shell`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    if let Some(address) = options.server()? {
        let (user, database) = (options.user.as_deref(), options.database.as_deref());
        let mut client = login::connect(&address, user, database, &interrupt.flag())?;
        client.set_isolation(options.isolation.map(Isolation::from));
        options.work(Backend::Server(Box::new(client)), interrupt)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut settings = Settings::default();
    if let Some(commits) = options.retain {
        settings.retain = Retention::commits(commits);
    }
    let opening = Opening {
        path: options.db.clone(),
        settings,
        #[cfg(feature = "files")]
        files: Some(telar_files::formats()),
        #[cfg(not(feature = "files"))]
        files: None,
        shared: options.db.is_some(),
    };
    let db = Shared::open_until(opening, Some(&interrupt.flag()))?;
    // Another process, which may be the one that reads them, has another current folder.
    let whole = |folder: &PathBuf| std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
    let session = db.session(telar_share::Options {
        import_folder: options.import_folder.as_ref().map(whole),
        export_folder: options.export_folder.as_ref().map(whole),
        serializable: options.isolation.map(Isolation::from) == Some(Isolation::Serializable),
        threads: options.threads.and_then(|threads| NonZeroUsize::new(threads.into())),
        ..telar_share::Options::default()
    });
    let session = session.with_cancelled(&interrupt.flag());
    let embedded = Embedded { session, transaction: None };
    options.work(Backend::Embedded(Box::new(embedded)), interrupt)?;
    db.close()?;
    Ok(ExitCode::SUCCESS)
}
