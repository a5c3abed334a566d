//! Code of a feature that the ordinary build lacks is tested with it: otherwise its tests would
//! never run, and nobody would see.

use crate::Violation;

/// The script that runs the gate.
pub(crate) const SCRIPT: &str = "tools/test.sh";
/// The package of tests of the whole workspace, which is compiled with the features that it asks
/// for.
pub(crate) const MANIFEST: &str = "tests/Cargo.toml";
/// Features that are for tests only.
pub(crate) const FEATURES: [&str; 2] = ["failpoints", "shuttle"];

/// The command by which the script tests the whole workspace, and targets that it has to name.
const WHOLE: &str = "cargo test --workspace ";
const WHOLE_TARGETS: [&str; 2] = ["--lib", "--tests"];

/// Reports files of crates that have code for `feature`, where neither the whole workspace is
/// tested with it, as `manifest` asks for it, nor a line of `script` tests the crate.
pub(crate) fn check(
    script: &str,
    manifest: &str,
    feature: &str,
    files: &[(&str, String)],
) -> Vec<Violation> {
    let condition = format!("feature = \"{feature}\"");
    let left_out = format!("not({condition})");
    let asked = format!("\"{feature}\"");
    let commands = || script.lines().filter(|line| !line.trim_start().starts_with('#'));
    let has_whole = commands()
        .any(|line| line.contains(WHOLE) && WHOLE_TARGETS.iter().all(|of| line.contains(of)));
    let is_tested = |package: &str, path: &str| {
        let dependency = format!("{package} = ");
        let is_asked = |line: &str| line.starts_with(&dependency) && line.contains(&asked);
        // Of what is in `tests/`, `--lib` runs nothing.
        let words = format!("-p {package} --features {feature} ");
        let is_run = |line: &str| {
            line.contains(&words) && (path.contains("/src/") || !line.contains("--lib"))
        };
        (has_whole && manifest.lines().any(is_asked)) || commands().any(is_run)
    };
    files
        .iter()
        // What the feature leaves out is tested without it.
        .filter(|(_, text)| text.replace(&left_out, "").contains(&condition))
        .filter(|(path, _)| !package(path).is_some_and(|package| is_tested(&package, path)))
        .map(|(path, _)| {
            let message = format!(
                "has code for the feature {feature}, and the gate ({SCRIPT}, {MANIFEST}) does not \
                 test the package with it"
            );
            Violation::new(path, 0, message)
        })
        .collect()
}

/// The package that a file belongs to; `None` of those without features for tests.
fn package(path: &str) -> Option<String> {
    let (folder, _) = path.strip_prefix("crates/")?.split_once('/')?;
    Some(format!("telar-{folder}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_reports_crates_that_are_not_tested_with_the_feature() {
        let script = "cargo test --workspace --lib --tests\n\
                      \"-p telar-one --features slow --lib\"\n\
                      # \"-p telar-two --features slow --lib\"";
        let manifest = "telar-three = { workspace = true, features = [\"slow\"] }\ntelar-four = {}";
        let with = "#[cfg(feature = \"slow\")]".to_owned();
        let paths =
            ["one/src/a.rs", "one/tests/a.rs", "two/src/a.rs", "three/tests/a.rs", "four/src/a.rs"];
        let paths = paths.map(|path| format!("crates/{path}"));
        let mut files: Vec<_> = paths.iter().map(|path| (path.as_str(), with.clone())).collect();
        files.push(("tests/tests/a.rs", with));
        files.push(("crates/five/src/a.rs", String::new()));
        files.push(("crates/one/tests/b.rs", "#![cfg(not(feature = \"slow\"))]".to_owned()));
        let paths = |found: &[Violation]| {
            found.iter().map(|violation| violation.path.clone()).collect::<Vec<_>>()
        };
        let found = paths(&check(script, manifest, "slow", &files));
        let expected = [
            "crates/one/tests/a.rs",
            "crates/two/src/a.rs",
            "crates/four/src/a.rs",
            "tests/tests/a.rs",
        ];
        assert_eq!(found, expected);
        let narrow = script.replace(" --tests", "");
        let found = paths(&check(&narrow, manifest, "slow", &files));
        assert!(found.contains(&"crates/three/tests/a.rs".to_owned()), "{found:?}");
        assert!(check(script, manifest, "other", &files).is_empty());
    }
}
