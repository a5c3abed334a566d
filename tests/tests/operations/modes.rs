//! Whatever the umask says, folders are 0700 and files 0600; what earlier versions left open is
//! closed.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::open;

/// Everything below a folder that group or others may touch, with its mode.
fn touchable(root: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let about = entry.metadata().unwrap();
            let mode = about.mode() & 0o7777;
            let wanted = if about.is_dir() { 0o700 } else { 0o600 };
            if mode != wanted {
                found.push((entry.path(), mode));
            }
            if about.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn everything_that_is_made_is_its_owners_alone() {
    for umask in ["0", "022", "077"] {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).into_os_string().into_string().unwrap();
        let child = |arguments: &[&str]| {
            let script = format!("umask {umask}; exec \"$@\"");
            let mut command = Command::new("sh");
            command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_telar-child")]);
            let output = command.args(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {output:?}");
        };
        let (graph, full, more) = (at("deep/graph"), at("backups/full"), at("backups/more"));
        child(&["run", &graph, "1", "full", "0", "45"]);
        child(&["load", &at("loaded")]);
        child(&["backup", &graph, &full, "full", "-"]);
        child(&["run", &graph, "1", "full", "0", "45"]);
        child(&["backup", &graph, &more, "full", &full]);
        child(&["restore", &at("restored"), &full]);
        child(&["repair", &at("repaired"), &graph]);
        child(&["compact", &graph]);
        child(&["close", &graph, "1"]);
        assert!(dir.path().join("deep/graph/archive").is_dir(), "an archive is kept");
        assert_eq!(touchable(dir.path()), [], "umask {umask}");
    }
}

#[test]
fn what_was_left_open_is_closed_when_its_owner_opens_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    open(&path).close().unwrap();
    let wide = |path: PathBuf, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for folder in ["wal", "store", ""] {
        for entry in fs::read_dir(path.join(folder)).unwrap().map(Result::unwrap) {
            let is_dir = entry.file_type().unwrap().is_dir();
            wide(entry.path(), if is_dir { 0o755 } else { 0o644 });
        }
    }
    // The folder itself may be one that its owner made for others to look into.
    wide(path.clone(), 0o750);
    drop(open(&path));
    assert_eq!(touchable(dir.path()), [(path, 0o750)]);
}
