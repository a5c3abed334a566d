//! A server with a password, for tests of its clients.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::process::Process;

/// The password of its first user.
pub(crate) const PASSWORD: &str = "nobody sees it";

/// The program, without settings from the environment of the tests.
pub(crate) fn telar() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar"));
    for name in ["TELAR_CONFIG", "TELAR_USER", "TELAR_PASSWORD", "SSL_CERT_FILE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// A server in memory that asks for a password, and its address.
pub(crate) fn serve(arguments: &[&str]) -> (Process, String) {
    let mut command = telar();
    command.args(["serve", "--memory", "--bolt", "127.0.0.1:0", "--no-http"]).args(arguments);
    command.env("TELAR_AUTH_INITIAL_PASSWORD", PASSWORD);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Process::start(&mut command).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let found = lines.find_map(|line| Some(line.strip_prefix("Bolt at bolt://")?.to_owned()));
    (child, found.expect("the server starts"))
}
