//! The `telar-bench` program as its users meet it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_telar-bench")).args(arguments).output().unwrap()
}

#[test]
fn benchmark_prints_its_table_and_tells_progress_on_standard_error() {
    let output = bench(&["index", "--keys", "2000", "--rounds", "1"]);
    let (out, err) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    let (out, err) = (out.unwrap(), err.unwrap());
    assert!(output.status.success(), "{err}");
    assert!(out.contains("2000 keys") && out.contains("| "), "{out}");
    assert!(!err.is_empty());
}

#[test]
fn help_calls_the_program_as_users_do() {
    let output = bench(&["kernel", "--help"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Usage: telar bench kernel [OPTIONS]"), "{said}");
}

#[test]
fn wrong_usage_and_failures_have_exit_codes_of_their_own() {
    for arguments in [&[][..], &["nothing"], &["kernel", "--rounds", "0"]] {
        assert_eq!(bench(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let output = bench(&["snb", "--data", "/nonexistent/archive.tar.zst"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("error: "));
}
