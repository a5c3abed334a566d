//! `telar serve` as a process: what it says, and that it keeps what it was given.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use crate::client::Client;
use crate::process::Process;

/// `telar serve` with some arguments, and where it is.
pub(crate) fn start(arguments: &[&str]) -> (Process, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar"));
    command.arg("serve").args(arguments).args(["--no-http", "--bolt", "127.0.0.1:0"]);
    let mut child = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped())).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("Bolt at bolt://").unwrap().parse().unwrap();
    (child, address)
}

/// A client that has logged in.
pub(crate) fn logged_in(address: SocketAddr) -> Client {
    let mut client = Client::silent(address);
    client.shake_hands([0, 0, 8, 5]);
    client.log_in(true);
    client
}

fn signal(child: &Process, name: &str) {
    let done = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

#[test]
fn a_server_that_is_stopped_or_killed_keeps_what_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let arguments = [path.to_str().unwrap(), "--no-auth"];
    for (number, how) in ["-TERM", "-INT", "-KILL", "-TERM"].iter().enumerate() {
        let (mut child, address) = start(&arguments);
        let mut client = logged_in(address);
        assert_eq!(client.int("MATCH (n:N) RETURN count(n)"), number as i64);
        client.rows("CREATE (:N)");
        client.begin().success();
        client.rows("CREATE (:N)");
        signal(&child, how);
        if *how == "-INT" {
            // It waits for the transaction; a second signal says not to.
            let mut said = BufReader::new(child.stderr.as_mut().unwrap()).lines();
            assert!(said.any(|line| line.unwrap().contains("once more")));
            signal(&child, how);
        } else if *how == "-TERM" {
            client.reset().success();
            client.expect_end();
        }
        let code = child.wait().unwrap().code();
        let expected = match *how {
            "-TERM" => Some(0),
            "-INT" => Some(130),
            _ => None,
        };
        assert_eq!(code, expected, "{how}");
    }
}

#[test]
fn a_server_says_why_it_does_not_start() {
    let refused = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telar"));
        let output = command.args(["serve", "--no-http"]).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let open = refused(&["--memory", "--no-auth", "--bolt", "0.0.0.0:0"]);
    assert!(open.contains("--allow-remote-without-auth"), "{open}");
    let (mut child, address) = start(&["--memory", "--no-auth"]);
    let taken = address.to_string();
    let again = refused(&["--memory", "--no-auth", "--bolt", &taken]);
    assert!(again.contains(&taken), "{again}");
    child.kill().unwrap();
    child.wait().unwrap();
    let tls = ["--tls-cert", "no.pem", "--tls-key", "no.key"];
    assert!(refused(&[&["--memory", "--no-auth"][..], &tls].concat()).contains("no.pem"));
    let mut rest = String::new();
    child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "it says no more than where it is");
}
