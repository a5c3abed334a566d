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
fn algorithms_agree_in_every_section() {
    let output = bench(&["algorithms", "--scale", "8", "--rounds", "1"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8(output.stderr).unwrap());
    for title in ["in place", "through CALL", "Several threads", "programs", "writer", "Memory"] {
        assert!(said.contains(title), "no table about {title}: {said}");
    }
    let output = bench(&["algorithms", "--section", "kernel"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("there are kernels, calls"), "{said}");
}

#[test]
fn memory_of_kernels_is_what_the_allocator_counts() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("memory.json");
    // Threads tell of 64 KiB and more: arrays have to be larger.
    let arguments = ["algorithms", "--section", "memory", "--scale", "15", "--threads", "1"];
    let output = bench(&[&arguments[..], &["--json", json.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8(output.stderr).unwrap());
    let found: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    // The score, the contribution and the degree of each vertex.
    let bytes = found["figures"]["memory/PageRank/1_threads/bytes_per_vertex"].as_f64();
    assert!(bytes.is_some_and(|bytes| (18.0..24.0).contains(&bytes)), "{found}");
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
