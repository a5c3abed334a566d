//! The files of the repository, and what Cargo says about its packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Violation;
use crate::links::Entry;

/// Largest file Git may hold. Data belongs into generators or the shared folder.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Files that may be larger, each with a reason in the commit that adds it here.
const LARGE_FILES: [&str; 0] = [];

/// The working tree that this test was built from.
pub(crate) struct Repository {
    root: PathBuf,
    paths: Vec<String>,
}

impl Repository {
    pub(crate) fn open() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let paths = listed_by_git(&root).unwrap_or_else(|| {
            // A source archive has no Git folder.
            let mut paths = Vec::new();
            walk(&root, "", &mut paths);
            paths
        });
        assert!(paths.iter().any(|path| path == "Cargo.toml"), "not the root: {}", root.display());
        Self { root, paths }
    }

    /// Files from the root, with `/` between folders.
    pub(crate) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The file's text, `None` if it is not UTF-8 or not there.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path)).ok()
    }

    pub(crate) fn size(&self, path: &str) -> u64 {
        self.root.join(path).metadata().map_or(0, |metadata| metadata.len())
    }

    /// What stands at `path`, `None` if nothing does.
    pub(crate) fn entry(&self, path: &str) -> Option<Entry> {
        if self.root.join(path).is_dir() {
            return Some(Entry::Folder);
        }
        self.root.join(path).exists().then(|| match path.ends_with(".md") {
            true => Entry::Document(self.text(path).unwrap_or_default()),
            false => Entry::File,
        })
    }

    /// `cargo metadata` of the workspace.
    pub(crate) fn metadata(&self) -> Value {
        let run = |network: &[&str]| {
            Command::new(env!("CARGO"))
                .args(["metadata", "--format-version", "1", "--locked"])
                .args(network)
                .current_dir(&self.root)
                .output()
                .expect("cargo runs")
        };
        let mut output = run(&["--offline"]);
        if !output.status.success() {
            // Crates for other platforms may not have been fetched yet; nothing else needs them.
            output = run(&[]);
        }
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo metadata failed: {error}");
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
    }
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let names = String::from_utf8(output.stdout).ok()?;
    let exists = |name: &&str| root.join(name).is_file();
    let mut paths: Vec<String> =
        names.split_terminator('\0').filter(exists).map(String::from).collect();
    paths.sort();
    paths.dedup();
    (!paths.is_empty()).then_some(paths)
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) {
    for entry in std::fs::read_dir(root.join(folder)).expect("folder is readable").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        match entry.path().is_dir() {
            true if name == "target" || name == ".git" => {}
            true => walk(root, &path, paths),
            false => paths.push(path),
        }
    }
}

/// No file above [`FILE_BYTES_MAX`].
pub(crate) fn sizes<'a>(files: impl Iterator<Item = (&'a str, u64)>) -> Vec<Violation> {
    let large =
        |(path, bytes): &(&str, u64)| *bytes > FILE_BYTES_MAX && !LARGE_FILES.contains(path);
    let message = |bytes| format!("{bytes} bytes, above the limit of {FILE_BYTES_MAX}");
    files.filter(large).map(|(path, bytes)| Violation::new(path, 0, message(bytes))).collect()
}

#[test]
fn sizes_reports_a_file_above_the_limit() {
    let files = [("small", FILE_BYTES_MAX), ("large", FILE_BYTES_MAX + 1)];
    let violations = sizes(files.into_iter());
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].path, "large");
}
