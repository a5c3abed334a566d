//! A graph four times as large as the memory the engine may take for it, in a process that the
//! system gives little more.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

/// Address ranges that every edge type reserves, and that the system counts: the heads of 2^22
/// segments in each direction.
const HEADS_KIB: u64 = 64 << 10;
/// Stacks, the allocator's own, what LMDB and the log write from.
const PROCESS_KIB: u64 = 24 << 10;

fn child(dir: &Path, mode: &str, data_kib_max: Option<u64>) -> Output {
    let limit = data_kib_max.map_or("unlimited".to_owned(), |kib| kib.to_string());
    let script = format!("ulimit -d {limit} || exit 77; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_telar-child"), "large"]);
    // What is freed goes back at once, so that the limit is about what is held.
    let malloc = ["ARENA_MAX=1", "MMAP_THRESHOLD_=16384", "TRIM_THRESHOLD_=65536"];
    let malloc = malloc.iter().filter_map(|setting| setting.split_once('='));
    command.envs(malloc.map(|(name, value)| (format!("MALLOC_{name}"), value)));
    command.arg(dir).arg(mode).output().unwrap()
}

fn copy(from: &Path, to: &Path) {
    for folder in ["", "wal", "store"] {
        std::fs::create_dir_all(to.join(folder)).unwrap();
        for entry in std::fs::read_dir(from.join(folder)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), to.join(folder).join(entry.file_name())).unwrap();
            }
        }
    }
}

/// `ulimit -d` makes an allocation fail that would take more than that: what is mapped from the
/// store's file does not count, all else does.
#[test]
fn graph_four_times_the_memory_is_read_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let made = child(&path, "make", None);
    assert!(made.status.success(), "{made:?}");
    let store_kib = std::fs::metadata(path.join("store/data.mdb")).unwrap().len() >> 10;
    let quarter = store_kib / 4;
    // The engine's limit, what writers may be above it, a checkpoint's pages, and what was let go
    // and is not yet free: less than the graph.
    let most = HEADS_KIB + PROCESS_KIB + 3 * quarter;
    let mut copies = 0;
    let mut use_copy = |limit_kib: u64| {
        copies += 1;
        let again = dir.path().join(format!("again-{copies}"));
        copy(&path, &again);
        child(&again, &limit_kib.to_string(), Some(most))
    };
    let has_failed =
        |output: &Output| String::from_utf8_lossy(&output.stderr).contains("memory allocation");
    // A thread that the system stops in the middle of a read keeps what the others let go from
    // being freed: not each time.
    let mut used = use_copy(quarter);
    for _ in 0..2 {
        if has_failed(&used) {
            used = use_copy(quarter);
        }
    }
    assert!(used.status.success(), "{store_kib} KiB in {quarter} KiB: {used:?}");
    // Without the engine's limit the same process does not get through: the limit is a real one.
    let unlimited = use_copy(1 << 30);
    assert!(has_failed(&unlimited), "{most} KiB for {store_kib} KiB: {unlimited:?}");
}
