//! Values of earlier format versions are read once the database is upgraded.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::path::Path;
use std::process::Command;

/// The store of a database of 72 transactions (`telar-child run DIR 1 full 0 72`), written by the
/// last program whose format was version 1.
const VERSION_1: &[u8] = include_bytes!("../data/format-1.mdb.gz");

const EMPTY_LOG: &[u8; 32] =
    b"TELARWAL\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\xed\x27\xeb\xea";

fn child(arguments: &[&str], dir: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
    let output = command.arg(arguments[0]).arg(dir).args(&arguments[1..]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn values_of_version_1_are_read_after_an_upgrade_and_written_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    std::fs::create_dir_all(path.join("store")).unwrap();
    std::fs::write(path.join("FORMAT"), "telar 1\n").unwrap();
    let mut store = Vec::new();
    flate2::read::GzDecoder::new(VERSION_1).read_to_end(&mut store).unwrap();
    std::fs::write(path.join("store/data.mdb"), store).unwrap();
    // A database has a log file from its making on: a header and nothing else.
    std::fs::create_dir(path.join("wal")).unwrap();
    std::fs::write(path.join("wal/wal-00000000000000000001.log"), EMPTY_LOG).unwrap();
    assert_eq!(telar_engine::maintenance::upgrade(&path).unwrap().to, 3);
    // Opened without a checkpoint, the values stay as they were: in a database of the new version,
    // read as the old.
    for _ in 0..2 {
        assert!(child(&["open", "1"], &path).contains("state 72"));
        assert_eq!(std::fs::read_to_string(path.join("FORMAT")).unwrap(), "telar 3\n");
    }
    assert!(child(&["close", "1"], &path).contains("state 72"));
    assert!(child(&["open", "1"], &path).contains("state 72"));
    child(&["run", "1", "full", "0", "40"], &path);
    assert!(child(&["close", "1"], &path).contains("state 112"));
    assert!(child(&["open", "1"], &path).contains("state 112"));
}
