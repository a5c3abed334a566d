//! The examples in docs/import.md and docs/from-neo4j.md run, in order and in one folder, and do
//! what the pages say.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::process::Command;

/// The blocks of shell code of a page.
fn blocks(page: &str) -> Vec<String> {
    let mut parts = page.split("```sh\n");
    parts.next();
    parts.filter_map(|part| Some(part.split_once("```")?.0.to_owned())).collect()
}

/// What the blocks of a page print, each run in the same folder.
fn run(name: &str) -> Vec<String> {
    let page = std::fs::read_to_string(format!("../../docs/{name}")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_telar")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut said = Vec::new();
    for block in &blocks(&page) {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", block]).current_dir(folder.path()).env("PATH", &path);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{block}{output:?}");
        said.push(String::from_utf8(output.stdout).unwrap());
    }
    said
}

#[test]
fn examples_of_the_page_run() {
    let said = run("import.md");
    assert_eq!(said.len(), 9);
    assert!(said[0].contains("3 vertices :Crossing, 3 edges :ROAD"), "{}", said[0]);
    assert!(said[1].contains("3 vertices, 2 edges"), "{}", said[1]);
    assert!(
        said[2].contains("cities.csv: nodes :City by id; id: int, name: string, founded: date")
    );
    assert!(said[2].contains("2 vertices, 1 edge"), "{}", said[2]);
    assert!(
        said[3].contains("VISITED from who (:Person.name) to place (:City.name)"),
        "{}",
        said[3]
    );
    assert!(
        said[4].contains("id: int, since: date") && said[4].contains("\"property\": \"since\"")
    );
    assert!(said[5].contains("3 vertices, 2 edges, 1 constraint or index in"), "{}", said[5]);
    assert!(said[5].contains("CREATE CONSTRAINT `unique_Person_id`"), "{}", said[5]);
    assert!(said[6].contains("3 vertices, 1 edge") && said[6].contains("2 rows"), "{}", said[6]);
    assert!(said[6].contains("more.csv:3: :END_ID: no vertex has the id \"9\""), "{}", said[6]);
    assert!(said[7].contains("0 vertices, 1 edge"), "{}", said[7]);
    assert!(said[8].contains("3 vertices, 2 edges") && said[8].contains("by bfs"), "{}", said[8]);
}

/// Files as neo4j-admin reads and APOC writes them come in whole.
#[test]
fn files_of_neo4j_come_in_as_the_page_says() {
    let said = run("from-neo4j.md");
    assert_eq!(said.len(), 3);
    let ends = |at: usize, rows: &str| assert!(said[at].ends_with(rows), "{}", said[at]);
    let labels = "\"['Person', 'Author', 'Programmer']\"";
    ends(0, &format!("a.name,k.since,b.name,labels\nAda,2001,Bob,{labels}\n"));
    ends(1, "a.name,a.tags,k.since,b.born\nAda,\"['math', 'poetry']\",2001,1990\n");
    let labels = "\"['Person', 'Author']\"";
    let bob = "\"{born: 1990, name: 'Bob'}\"";
    ends(2, &format!("labels,a.name,a.born,k.since,b\n{labels},Ada,1815,2001,{bob}\n"));
}

/// Other formats go there and come back as the page says, and a server is read.
#[test]
fn moving_in_and_out_works_as_the_page_says() {
    let said = run("moving.md");
    assert_eq!(said.len(), 4);
    assert!(
        said[0].contains("2 vertices, 1 edge") && said[0].contains("1 constraint"),
        "{}",
        said[0]
    );
    assert!(said[1].ends_with("a.name,b.name\nAda,Bob\n"), "{}", said[1]);
    assert!(said[2].ends_with("a.name,b.name\nAda,Bob\n"), "{}", said[2]);
    let rdf = "a.uri,a.name,born,a.nick,title,b.uri\nhttp://example.org/ada,Ada,1815,\
               \"['A', 'Countess']\",Gräfin,http://example.org/bob\n";
    assert!(said[3].ends_with(rdf), "{}", said[3]);
}
