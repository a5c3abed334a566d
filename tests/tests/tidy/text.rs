//! Rules about the text of a single file.

use crate::Violation;

/// Limits of CONTRIBUTING.md: a file that long hides its structure, a line that long is not read.
const FILE_LINES_MAX: usize = 800;
const LINE_CHARS_MAX: usize = 100;

/// Modules that may hold unsafe code. Each has a safe interface and is reviewed as a whole; a new
/// entry is a decision (docs/decisions).
const UNSAFE_MODULES: [&str; 19] = [
    "crates/engine/src/adjacency/",
    "crates/engine/src/column/",
    // Bytes of the store's file, read in place (docs/decisions/0015).
    "crates/engine/src/mapped/generation.rs",
    "crates/engine/src/mapped/map.rs",
    "crates/engine/src/reclaim.rs",
    "crates/engine/src/store/environment.rs",
    // Buckets of growing arrays (docs/decisions/0059).
    "crates/engine/src/table.rs",
    "crates/engine/src/words.rs",
    "crates/engine/src/lmdb_check/tests.rs",
    // The allocator, which counts (docs/decisions/0031, 0058).
    "crates/cli/src/allocator.rs",
    // What another library hands over (docs/decisions/0081).
    "crates/python/src/frame.rs",
    // A child closes the files of its parent (docs/decisions/0086).
    "crates/python/src/fork.rs",
    "crates/share/src/inherited.rs",
    // Instructions of a processor that has them (docs/decisions/0092).
    "crates/graph/src/vector.rs",
    "crates/vector/src/sums.rs",
    // Slots whose links change beside what does not (docs/decisions/0098).
    "crates/vector/src/memory.rs",
    "crates/generate/src/mem.rs",
    "bench/src/",
    // A counting allocator, to compare with what queries account for.
    "tests/tests/query_memory.rs",
];

/// Hosts of package registries: builds name packages, never where they come from.
const REGISTRY_HOSTS: [&str; 8] = [
    "crates.io",
    "pypi.org",
    "pythonhosted.org",
    "npmjs.",
    "yarnpkg.com",
    "rubygems.org",
    "proxy.golang.org",
    "maven.org",
];

/// Roots of paths that exist on one machine only.
const MACHINE_ROOTS: [&str; 3] = ["/work/", "/root/", "/home/"];

/// Files that must name what they forbid, and the lock file, which Cargo writes.
const EXEMPT: [&str; 2] = ["Cargo.lock", "tests/tests/tidy/"];

fn is_exempt(path: &str) -> bool {
    EXEMPT.iter().any(|exempt| path.starts_with(exempt))
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

/// Source files have at most [`FILE_LINES_MAX`] lines, Rust lines [`LINE_CHARS_MAX`] characters. A
/// line with a string or an address may be longer, since neither can be broken.
pub(crate) fn lengths(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let is_rust = path.ends_with(".rs");
    let lines = text.lines().count();
    if (is_rust || path.ends_with(".py")) && lines > FILE_LINES_MAX {
        let message =
            format!("{lines} lines, above the limit of {FILE_LINES_MAX}: split by concept");
        violations.push(Violation::new(path, 0, message));
    }
    for (number, line) in numbered(text).filter(|_| is_rust) {
        let chars = line.chars().count();
        if chars > LINE_CHARS_MAX && !line.contains('"') && !line.contains("://") {
            let message = format!("{chars} characters, above the limit of {LINE_CHARS_MAX}");
            violations.push(Violation::new(path, number, message));
        }
    }
    violations
}

/// Rust files say first what they are.
pub(crate) fn module_docs(path: &str, text: &str) -> Vec<Violation> {
    if !path.ends_with(".rs") || text.starts_with("//!") {
        return Vec::new();
    }
    vec![Violation::new(path, 1, "begin the file with `//!` and what it is")]
}

/// A promise to come back names its issue; debugging output does not stay.
pub(crate) fn open_ends(path: &str, text: &str) -> Vec<Violation> {
    if is_exempt(path) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (number, line) in numbered(text) {
        for mark in ["TODO", "FIXME"] {
            if has_word(line, mark) && !has_issue_number(line) {
                let message = format!("{mark} without an issue number (#123)");
                violations.push(Violation::new(path, number, message));
            }
        }
        if path.ends_with(".rs") && code_of(line).contains("dbg!(") {
            violations.push(Violation::new(path, number, "dbg! left behind"));
        }
    }
    violations
}

/// Nothing in the repository depends on where a package or a folder lives.
pub(crate) fn machine_details(path: &str, text: &str) -> Vec<Violation> {
    if is_exempt(path) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (number, line) in numbered(text) {
        if let Some(host) = REGISTRY_HOSTS.iter().find(|host| line.contains(**host)) {
            let message = format!("names the registry host {host}");
            violations.push(Violation::new(path, number, message));
        }
        if let Some(root) = MACHINE_ROOTS.iter().find(|root| names_root(line, root)) {
            let message = format!("names a path of one machine below {root}");
            violations.push(Violation::new(path, number, message));
        }
    }
    violations
}

/// Unsafe code stands only in [`UNSAFE_MODULES`].
pub(crate) fn unsafe_code(path: &str, text: &str) -> Vec<Violation> {
    let allowed = UNSAFE_MODULES.iter().any(|module| path.starts_with(module));
    if allowed || !path.ends_with(".rs") || is_exempt(path) {
        return Vec::new();
    }
    let message = "unsafe code outside the modules listed in tests/tests/tidy/text.rs";
    numbered(text)
        .filter(|(_, line)| has_word(&code_of(line), "unsafe"))
        .map(|(number, _)| Violation::new(path, number, message))
        .collect()
}

/// Users find what changed since the last release.
pub(crate) fn changelog(path: &str, text: &str) -> Vec<Violation> {
    let unreleased = text.lines().any(|line| line.trim_end() == "## Unreleased");
    let missing = || Violation::new(path, 0, "no section `## Unreleased`");
    (!unreleased).then(missing).into_iter().collect()
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word_char) && !after.is_some_and(is_word_char)
    })
}

fn has_issue_number(line: &str) -> bool {
    line.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// True where `root` begins a path, not where it stands inside an address or a longer path.
fn names_root(line: &str, root: &str) -> bool {
    let inside = |c: char| is_word_char(c) || matches!(c, '.' | '-' | '}' | ')');
    line.match_indices(root).any(|(at, _)| !line[..at].chars().next_back().is_some_and(inside))
}

/// `line` without its comment and the contents of its strings. Knows one line only: text inside a
/// string of several lines counts as code, which errs towards reporting.
fn code_of(line: &str) -> String {
    let mut code = String::new();
    let mut chars = line.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' if in_string => {
                chars.next();
            }
            // A quote as a character literal does not open a string.
            '"' if !code.ends_with('\'') || in_string => in_string = !in_string,
            _ if in_string => {}
            '/' if chars.peek() == Some(&'/') => break,
            _ => code.push(c),
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_reports_long_files_and_lines() {
        let long_line = format!("let x = {};\n", "1 + ".repeat(30));
        assert_eq!(lengths("a.rs", &long_line).len(), 1);
        assert!(lengths("a.py", &long_line).is_empty());
        assert!(lengths("a.rs", &format!("// https://{}", "x".repeat(100))).is_empty());
        assert!(lengths("a.rs", &format!("f(\"{}\");", "x".repeat(100))).is_empty());
        assert!(lengths("a.rs", &"ä".repeat(100)).is_empty());
        let long_file = "x\n".repeat(801);
        assert_eq!(lengths("a.rs", &long_file).len(), 1);
        assert_eq!(lengths("a.py", &long_file).len(), 1);
        assert!(lengths("a.csv", &long_file).is_empty());
        assert!(lengths("a.rs", &"x\n".repeat(800)).is_empty());
    }

    #[test]
    fn module_docs_reports_a_file_without_description() {
        assert_eq!(module_docs("a.rs", "// Not a doc.\nfn f() {}\n").len(), 1);
        assert_eq!(module_docs("a.rs", "").len(), 1);
        assert!(module_docs("a.rs", "//! What it is.\n").is_empty());
    }

    #[test]
    fn open_ends_reports_marks_without_issue_and_debug_output() {
        let bad = "ok\n// TODO: later\nx // FIXME(me)\ndbg!(x);\n";
        let lines: Vec<_> = open_ends("a.rs", bad).iter().map(|v| v.line).collect();
        assert_eq!(lines, [2, 3, 4]);
        assert_eq!(open_ends("a.md", "TODO # later").len(), 1);
        let good = "// TODO(#12): later\nFIXME #3\nTODOS\n// dbg!(x)\n\"dbg!(x)\"\n";
        assert!(open_ends("a.rs", good).is_empty());
    }

    #[test]
    fn machine_details_reports_hosts_and_paths() {
        let bad = ["see https://crates.io/x", "cd /home/me", "`/work/main`", "PATH=/root/.cargo"];
        for line in bad {
            assert_eq!(machine_details("a.md", line).len(), 1, "{line}");
        }
        let good = ["https://example.org/home/x", "target/work/x", "${BASE}/home/x", "/tmp/x"];
        for line in good {
            assert!(machine_details("a.md", line).is_empty(), "{line}");
        }
        assert!(machine_details("Cargo.lock", bad[0]).is_empty());
    }

    #[test]
    fn unsafe_code_reports_only_code_outside_its_modules() {
        for line in ["unsafe { f() }", "pub unsafe fn f()", "unsafe impl Send for X {}"] {
            assert_eq!(unsafe_code("crates/db/src/lib.rs", line).len(), 1, "{line}");
            assert!(unsafe_code("crates/engine/src/adjacency/tail.rs", line).is_empty());
        }
        let good = ["// unsafe here", "#![deny(unsafe_code)]", "f(\"unsafe\")", "'\"' // unsafe"];
        for line in good {
            assert!(unsafe_code("crates/db/src/lib.rs", line).is_empty(), "{line}");
        }
        assert_eq!(unsafe_code("a.rs", r#"f('"'); unsafe { g() }"#).len(), 1);
    }

    #[test]
    fn changelog_reports_a_missing_section() {
        assert_eq!(changelog("CHANGELOG.md", "# Changelog\n\n## 0.1.0\n").len(), 1);
        assert!(changelog("CHANGELOG.md", "# Changelog\n\n## Unreleased\n").is_empty());
    }
}
