//! `telar bench`: runs the program `telar-bench`, which is built and installed by itself.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::anyhow;
use clap::Args;

/// Name of the program.
const PROGRAM: &str = "telar-bench";

/// The exit code of wrong usage: the program is not there.
const MISSING: u8 = 2;

/// Measure the engine next to flat arrays and other stores.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
#[command(
    after_help = "Runs the program telar-bench that lies beside this one, or else the first in \
    PATH. It lists the benchmarks: telar bench --help"
)]
pub(crate) struct Options {
    /// Arguments of telar-bench; --help lists them
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs `telar bench`. The process becomes the other program, which so gets the signals of this one
/// and ends with an exit status of its own; this returns only if there is none.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    for program in programs() {
        let error = Command::new(&program).args(&options.arguments).exec();
        if error.kind() != io::ErrorKind::NotFound {
            return Err(anyhow!(error).context(format!("running {}", program.display())));
        }
    }
    eprintln!(
        "error: the program {PROGRAM} is neither beside this one nor in PATH\n\n\
         It is built from Telar's sources by: cargo build --release -p {PROGRAM}"
    );
    Ok(ExitCode::from(MISSING))
}

/// The program beside this one, and the one that the system finds in PATH.
fn programs() -> impl Iterator<Item = PathBuf> {
    let beside = env::current_exe().ok().and_then(|this| Some(this.parent()?.join(PROGRAM)));
    beside.into_iter().chain([PathBuf::from(PROGRAM)])
}
