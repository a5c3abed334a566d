//! `telar admin`: what an administrator does while no server runs.

use std::io::BufRead;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand};
use telar_server::dbms::{Dbms, DbmsSettings};

/// Administer the users of a server while it does not run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Set a user's password, read from the first line of standard input
    ///
    /// The user may then log in with it, also if suspended before. On a folder that was not served
    /// yet it sets the password of the first start.
    #[command(after_help = "Example:
  telar admin set-password graph.telar neo4j < password.txt")]
    SetPassword {
        /// Directory of the server's default database
        path: PathBuf,
        /// Who
        user: String,
    },
}

/// Runs `telar admin`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let Command::SetPassword { path, user } = &options.command;
    super::expect_database(path)?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("cannot read standard input")?;
    let password = line.trim_end_matches(['\n', '\r']);
    let mut settings = DbmsSettings::default();
    settings.engine.background_interval_ms = 0;
    let dbms = Dbms::open(Some(path), settings)?;
    dbms.set_password(user, password)?;
    dbms.close()?;
    eprintln!("   the password of {user} is set");
    Ok(ExitCode::SUCCESS)
}
