//! The examples in docs/cypher.md and docs/algorithms.md run, section by section, and return what
//! the page says.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Command;

/// Printed between two examples, to tell their results apart.
const MARK: &str = "a line that no example prints";

/// Queries of a section with what they should return, where the page says so.
fn examples(section: &str) -> Vec<(String, Option<String>)> {
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    let mut rest = section;
    while let Some((_, block)) = rest.split_once("```") {
        let (block, after) = block.split_once("```").unwrap();
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            "cypher" => found.push((text.to_owned(), None)),
            "text" => found.last_mut().unwrap().1 = Some(text.to_owned()),
            other => panic!("what is a block of {other:?}?"),
        }
        rest = after;
    }
    found
}

#[test]
fn examples_of_cypher_return_what_the_page_says() {
    let page = std::fs::read_to_string("../../docs/cypher.md").unwrap();
    let run = check(page.split("\n## ").skip(1));
    assert!(run > 25, "only {run} examples were found");
}

#[test]
fn examples_of_algorithms_return_what_the_page_says() {
    let page = std::fs::read_to_string("../../docs/algorithms.md").unwrap();
    let run = check([page.as_str()].into_iter());
    assert!(run > 8, "only {run} examples were found");
}

/// Runs the examples of each section, which begins with an empty database. Returns their number.
fn check<'p>(sections: impl Iterator<Item = &'p str>) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut run = 0;
    for section in sections {
        let examples = examples(section);
        let mark = format!("RETURN '{MARK}' AS x;\n");
        let script: String =
            examples.iter().map(|(query, _)| format!("{query};\n{mark}")).collect();
        let file = folder.path().join("script.cypher");
        std::fs::write(&file, script).unwrap();
        let mut shell = Command::new(env!("CARGO_BIN_EXE_telar"));
        shell.args(["shell", "--memory", "--format", "csv", "-f"]).arg(&file);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{section}\n{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).unwrap();
        let results = said.split(&format!("x\n{MARK}\n")).map(str::to_owned).collect::<Vec<_>>();
        for ((query, expected), found) in examples.iter().zip(results) {
            run += 1;
            assert_eq!(found, expected.clone().unwrap_or_default(), "{query}");
        }
    }
    run
}
