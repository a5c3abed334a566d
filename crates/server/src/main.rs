//! The `telar` program: a graph database on the command line.
//!
//! `cmd` has one file or folder per subcommand, `ui` what they share for talking to people,
//! `allocator` the heap.
//! Results go to standard output; progress and errors go to standard error.

mod allocator;
mod cmd;
mod ui;

use std::io;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = match cmd::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => cmd::usage::explained(error).exit(),
    };
    match cmd::run(cli.command) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {}", message(&error));
            ExitCode::FAILURE
        }
    }
}

/// Whoever read our output had enough (`telar info | head`): nothing to report.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().map(io::Error::kind)
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}

/// The error and its causes on one line; causes that an outer message quotes are not said twice.
fn message(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
