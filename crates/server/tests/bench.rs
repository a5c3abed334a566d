//! `telar bench`, which runs another program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// `telar` in a folder of its own, without `telar-bench`.
fn alone() -> (TempDir, Command) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("telar");
    fs::hard_link(env!("CARGO_BIN_EXE_telar"), &program).unwrap();
    let mut command = Command::new(program);
    command.arg("bench").env("PATH", "");
    (folder, command)
}

/// Makes the shell `telar-bench` in a folder: `telar bench -c SCRIPT` says how it was called.
fn put_shell(folder: &Path) {
    symlink("/bin/sh", folder.join("telar-bench")).unwrap();
}

#[test]
fn bench_passes_arguments_and_exit_status_of_the_program_beside_it() {
    let (folder, mut telar) = alone();
    put_shell(folder.path());
    let script = r#"printf '%s|' "$@"; exit 7"#;
    let arguments = ["-c", script, "sh", "kernel", "--help", "-V", "a b", "", "--", "--quick"];
    let output = telar.args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "kernel|--help|-V|a b||--|--quick|");
    assert_eq!(output.stderr, b"");
}

#[test]
fn bench_gets_the_signals_of_the_process_that_was_started() {
    let (folder, mut telar) = alone();
    put_shell(folder.path());
    telar.args(["-c", "echo $$; kill -TERM $$"]).stdout(Stdio::piped());
    let telar = telar.spawn().unwrap();
    let process = telar.id();
    let output = telar.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{process}\n"));
    assert_eq!(output.status.signal(), Some(15));
}

#[test]
fn bench_looks_into_path_if_nothing_is_beside_it() {
    let (folder, mut telar) = alone();
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    put_shell(elsewhere.path());
    telar.args(["-c", "echo $0"]).env("PATH", elsewhere.path());
    let from_path = telar.output().unwrap();
    assert_eq!(String::from_utf8(from_path.stdout).unwrap(), "telar-bench\n");

    put_shell(folder.path());
    let beside = String::from_utf8(telar.output().unwrap().stdout).unwrap();
    assert_eq!(Path::new(beside.trim_end()), folder.path().join("telar-bench"));
}

#[test]
fn bench_without_its_program_says_how_to_build_it() {
    for arguments in [&["kernel"][..], &["--help"], &[]] {
        let (_folder, mut telar) = alone();
        let output = telar.args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: the program telar-bench is neither"), "{said}");
        assert!(said.contains("cargo build --release -p telar-bench"), "{said}");
    }
}

#[test]
fn bench_that_cannot_be_run_is_an_error_of_its_own() {
    let (folder, mut telar) = alone();
    fs::create_dir(folder.path().join("telar-bench")).unwrap();
    let output = telar.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: running ") && said.contains("Permission denied"), "{said}");
}

#[test]
fn bench_stands_in_the_list_of_commands() {
    let output = Command::new(env!("CARGO_BIN_EXE_telar")).arg("--help").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("  bench "), "{said}");
}
