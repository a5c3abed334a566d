//! The examples in docs/import.md run, in order and in one folder, and do what the page says.

use std::path::Path;
use std::process::Command;

/// The blocks of shell code of a page.
fn blocks(page: &str) -> Vec<String> {
    let mut parts = page.split("```sh\n");
    parts.next();
    parts.filter_map(|part| Some(part.split_once("```")?.0.to_owned())).collect()
}

#[test]
fn examples_of_the_page_run() {
    let page = std::fs::read_to_string("../../docs/import.md").unwrap();
    let blocks = blocks(&page);
    assert_eq!(blocks.len(), 4);
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_telar")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut said = Vec::new();
    for block in &blocks {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", block]).current_dir(folder.path()).env("PATH", &path);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{block}{output:?}");
        said.push(String::from_utf8(output.stdout).unwrap());
    }
    assert!(said[0].contains("3 vertices :Crossing, 3 edges :ROAD"), "{}", said[0]);
    assert!(said[1].contains("3 vertices, 2 edges"), "{}", said[1]);
    assert!(said[2].contains("3 vertices, 1 edge") && said[2].contains("2 rows"), "{}", said[2]);
    assert!(said[2].contains("more.csv:3: :END_ID: no vertex has the id \"9\""), "{}", said[2]);
    assert!(said[3].contains("0 vertices, 1 edge"), "{}", said[3]);
}
