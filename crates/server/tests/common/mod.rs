//! The program, as a test runs it.

use std::process::{Command, Output, Stdio};

/// The program, without settings from the environment of the tests.
pub(crate) fn telar() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar"));
    for name in ["TELAR_CONFIG", "TELAR_USER", "TELAR_PASSWORD"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Everything that it has printed.
pub(crate) fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}
