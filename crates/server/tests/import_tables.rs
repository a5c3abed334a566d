//! `telar import` of files of rows without typed headers: what is guessed, said, asked and refused.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn telar(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telar"));
        command.args(line.split(' ')).current_dir(self.folder.path()).output().unwrap()
    }

    fn run(&self, line: &str) -> String {
        let output = self.telar(line);
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a command that fails.
    fn fail(&self, line: &str) -> String {
        let output = self.telar(line);
        assert!(!output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn rows(&self, db: &str, query: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telar"));
        command.args(["shell", db, "--import-folder", ".", "--export-folder", ".", "-c", query]);
        let output = command.current_dir(self.folder.path()).output().unwrap();
        assert!(output.status.success(), "{query}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const PEOPLE: &str = "id,name,born,zip\n1,Ada,1815-12-10,007\n2,Bob,,123\n3,Cleo,1990-01-31,\n";
const KNOWS: &str = "since,from,to\n1840,1,2\n2000,2,3\n";

fn people_and_knows(place: &Place) {
    place.write("people.csv", PEOPLE);
    place.write("knows.csv", KNOWS);
}

const ALL: &str = "MATCH (a)-[k:KNOWS]->(b) RETURN a.name, a.born.year AS born, a.zip, k.since, \
                   b.id, keys(k) AS keys ORDER BY k.since";
const FOUND: &str = "a.name,born,a.zip,k.since,b.id,keys\nAda,1815,007,1840,2,['since']\n\
                     Bob,,123,2000,3,['since']\n";

/// One graph in every format, with types guessed or as the file has them.
#[test]
fn every_format_gives_the_same_graph() {
    let place = Place::new();
    people_and_knows(&place);
    let said = place.run("import g --nodes Person=people.csv --relationships KNOWS=knows.csv");
    assert!(said.contains("3 vertices, 2 edges"), "{said}");
    let nodes = "people.csv: nodes :Person by id; id: int, name: string, born: date, zip: string";
    assert!(said.contains(nodes), "{said}");
    let edges = "knows.csv: KNOWS from from (:Person.id) to to (:Person.id); since: int";
    assert!(said.contains(edges), "{said}");
    assert_eq!(place.rows("g", ALL), FOUND);
    for end in ["parquet", "arrow", "jsonl"] {
        let copies = format!(
            "COPY (MATCH (p:Person) RETURN p.id AS id, p.name AS name, p.born AS born, p.zip AS zip \
             ORDER BY id) TO 'people.{end}' (typed = true);
             COPY (MATCH (a)-[k]->(b) RETURN k.since AS since, a.id AS from, b.id AS to) TO \
             'knows.{end}'"
        );
        let copies = if end == "jsonl" { copies } else { copies.replace("(typed = true)", "") };
        place.rows("g", &copies);
        let nodes = format!("--nodes Person=people.{end} --relationships KNOWS=knows.{end}");
        place.run(&format!("import {end}.telar {nodes} --unique Person.id"));
        assert_eq!(place.rows(&format!("{end}.telar"), ALL), FOUND, "{end}");
    }
}

#[test]
fn text_comes_in_whatever_wrote_it() {
    let place = Place::new();
    people_and_knows(&place);
    let utf_16 = |text: &str| {
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    let semicolons = PEOPLE.replace(',', ";").replace('\n', "\r\n");
    place.write("excel.csv", [b"\xEF\xBB\xBF", semicolons.as_bytes()].concat());
    place.write("wide.csv", utf_16(&PEOPLE.replace(',', "\t")));
    place.write("packed.csv.zst", zstd_of(PEOPLE));
    place.write("quoted.csv", PEOPLE.replace("name", "\"name\"").replace("Ada", "\"Ada\""));
    for file in ["excel.csv", "wide.csv", "packed.csv.zst", "quoted.csv"] {
        let db = format!("{file}.telar");
        let nodes = format!("--nodes Person={file} --relationships KNOWS=knows.csv");
        place.run(&format!("import {db} {nodes}"));
        assert_eq!(place.rows(&db, ALL), FOUND, "{file}");
    }
    place.write("na.csv", "id,n\n1,NA\n2,5\n");
    place.run("import na --nodes P=na.csv --null NA,null");
    assert_eq!(
        place.rows("na", "MATCH (p:P) RETURN sum(p.n + 1) AS n, count(p.n) AS c"),
        "n,c\n6,1\n"
    );
}

/// A frame of zstd with the text as it is, which needs no compressor.
fn zstd_of(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    let block = (length << 3) | 1;
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0b1010_0000];
    frame.extend(length.to_le_bytes());
    frame.extend(&block.to_le_bytes()[..3]);
    frame.extend(text.as_bytes());
    frame
}

/// The import asks for columns that the rules leave open, and names the option.
#[test]
fn ambiguous_columns_are_asked_for() {
    let place = Place::new();
    people_and_knows(&place);
    place.write("cities.csv", "name,country\nUlm,DE\n");
    place.write("lives.csv", "person_id,city_id,since\n1,Ulm,1900\n");
    place.write("visits.csv", "who,place,at\n1,Ulm,2024-01-01 10:00\n");
    let both = "--nodes Person=people.csv --nodes City=cities.csv";
    let lives = format!("import g {both} --relationships LIVES=lives.csv");
    let said = place.fail(&lives);
    assert!(said.contains("--id City=COLUMN says which one"), "{said}");
    assert!(!place.path("g").exists());
    place.run(&format!("{lives} --id City=name"));
    let found = place.rows("g", "MATCH (p)-[l:LIVES]->(c:City) RETURN p.name, l.since, c.country");
    assert_eq!(found, "p.name,l.since,c.country\nAda,1900,DE\n");
    let visits = format!("import v {both} --id City=name --relationships VISITS=visits.csv");
    let said = place.fail(&visits);
    assert!(said.contains("visits.csv: no columns are named from and to"), "{said}");
    assert!(said.contains("--from COLUMN and --to COLUMN"), "{said}");
    let said = place.fail(&format!("{visits} --from who --to place"));
    assert!(said.contains("--from who:LABEL says which nodes column 'who' names"), "{said}");
    place.run(&format!("{visits} --from VISITS=who:Person --to place:City.name"));
    let found = place.rows("v", "MATCH (p)-[v:VISITS]->(c) RETURN p.name, v.at.hour AS h, c.name");
    assert_eq!(found, "p.name,h,c.name\nAda,10,Ulm\n");
    let said = place.fail("import x --nodes Person=people.csv --id nummer");
    assert!(said.contains("there is no column 'nummer' for --id; there are id, name"), "{said}");
    place.write("two.csv", "from,to,source,target\n1,2,1,2\n");
    let said = place.fail("import x --nodes Person=people.csv --relationships R=two.csv");
    assert!(
        said.contains("'from' and 'to' look like the ends, 'source' and 'target' too"),
        "{said}"
    );
    let said = place.fail("import x --nodes Person=people.csv --relationships knows.csv");
    assert!(said.contains("--relationships TYPE=knows.csv"), "{said}");
    place.write("typed.csv", ":START_ID,:END_ID\n1,2\n");
    let said = place.fail("import x --nodes Person=people.csv --relationships R=typed.csv");
    assert!(said.contains("typed.csv: has a header as neo4j-admin writes it"), "{said}");
    let said = place.fail("import x --nodes Person=people.csv --quote '");
    assert!(said.contains("--quote is for CSV files with headers as neo4j-admin"), "{said}");
    assert!(!place.path("x").exists());
}

/// A printed mapping does the same; a changed one does as it says.
#[test]
fn a_mapping_file_says_what_is_what() {
    let place = Place::new();
    people_and_knows(&place);
    let all = "--nodes Person=people.csv --relationships KNOWS=knows.csv";
    let mapping = place.run(&format!("import g {all} --dry-run"));
    assert!(!place.path("g").exists());
    place.write("map.json", &mapping);
    place.run("import g --mapping map.json");
    assert_eq!(place.rows("g", ALL), FOUND);
    place.write(
        "map.toml",
        "[[nodes]]\nfiles = ['people.csv']\nlabels = ['Person', 'Human']\n\
         columns.born.property = 'birthday'\ncolumns.zip.type = 'int'\n\
         columns.name.ignore = true\n\
         [[relationships]]\nfiles = ['knows.csv']\ntype = 'KENNT'\n\
         from.column = 'to'\nto.column = 'from'\ncolumns.since.type = 'float'\n",
    );
    let map = place.path("map.toml");
    place.run(&format!("import toml.telar --mapping {}", text(&map)));
    let query = "MATCH (a:Human)-[k:KENNT]->(b) WHERE b.id = 1 RETURN a.id, a.zip, \
                 b.birthday.year AS y, b.name, k.since";
    assert_eq!(
        place.rows("toml.telar", query),
        "a.id,a.zip,y,b.name,k.since\n2,123,1815,,1840.0\n"
    );
    for (name, text, says) in [
        ("a.json", "{\"nodes\": [\n{\"file\": []}]}", "a.json:2:"),
        ("b.json", "{\"nodes\": [{\"files\": []}]}", "no files"),
        ("c.toml", "[[nodes]]\nfiles = 3\n", "line 2"),
        (
            "d.json",
            "{\"nodes\": [{\"files\": [\"people.csv\"], \"columns\": {\"nam\": {}}}]}",
            "there is no column 'nam'; there are id, name, born, zip",
        ),
        (
            "e.json",
            "{\"nodes\": [{\"files\": [\"people.csv\"], \"columns\": {\"name\": {\"type\": \"x\"}}}]}",
            "there is no type 'x'",
        ),
    ] {
        place.write(name, text);
        let said = place.fail(&format!("import bad --mapping {name}"));
        assert!(said.contains(says), "{name}: {said}");
        assert!(!place.path("bad").exists());
    }
}

/// Rows that cannot come in are written with file, line and reason; the others come in.
#[test]
fn rejected_rows_have_their_lines() {
    let place = Place::new();
    let mut people = String::from("id,age\n");
    (0..10_001).for_each(|id| people += &format!("{id},{}\n", id % 90));
    people += "77777,old\n88888\n\"x\n\",1\n99999,5\n";
    place.write("people.csv", &people);
    place.write("knows.jsonl", "{\"from\": 1, \"to\": 2}\n\n{\"from\": 1, \"to\": -5}\n");
    let all = "--nodes P=people.csv --relationships KNOWS=knows.jsonl";
    let said = place.fail(&format!("import g {all}"));
    assert!(said.contains("people.csv:10003: column 'age' is of type int"), "{said}");
    assert!(!place.path("g").exists());
    let said = place.run(&format!("import g {all} --rejects bad.txt"));
    assert!(said.contains("4 rows, see bad.txt"), "{said}");
    assert!(said.contains("10 002 vertices") || said.contains("10,002 vertices"), "{said}");
    let bad = fs::read_to_string(place.path("bad.txt")).unwrap();
    let lines: Vec<&str> = bad.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("people.csv:10003: column 'age'")), "{bad}");
    assert!(lines.iter().any(|line| line.starts_with("people.csv:10004: expected 2 fields")));
    assert!(lines.iter().any(|line| line.starts_with("people.csv:10005: column 'id'")), "{bad}");
    assert!(bad.contains("knows.jsonl:3: no node :P has the id -5"), "{bad}");
    assert_eq!(place.rows("g", "MATCH (p:P {id: 99999}) RETURN p.age"), "p.age\n5\n");
    let said = place.fail(&format!("import h {all} --rejects bad.txt --rejects-max 1"));
    assert!(said.contains("more than 1 rows are bad"), "{said}");
    assert!(!place.path("h").exists());
}

/// Files of one option have the same columns, and the types that hold the values of all.
#[test]
fn several_files_are_one_table() {
    let place = Place::new();
    place.write("a.csv", "id,n,code\n1,1,7\n");
    place.write("b.csv", "id,n,code\n2,2.5,x\n");
    place.run("import g --nodes P=a.csv,b.csv");
    let found = place.rows("g", "MATCH (p:P) RETURN p.id, p.n, p.code ORDER BY p.id");
    assert_eq!(found, "p.id,p.n,p.code\n1,1.0,7\n2,2.5,x\n");
    place.write("c.csv", "id,m\n2,2.5\n");
    let said = place.fail("import h --nodes P=a.csv,c.csv");
    assert!(said.contains("c.csv: the files differ in column 'm'"), "{said}");
    place.write("a.json", "{\"id\": 1, \"x\": \"2024-05-06\"}\n");
    place.write("b.json", "{\"id\": 2, \"y\": [1, 2]}\n");
    place.run("import j --nodes P=a.json,b.json");
    assert_eq!(
        place.rows("j", "MATCH (p:P) RETURN p.id, p.x, p.y ORDER BY p.id"),
        "p.id,p.x,p.y\n1,2024-05-06,\n2,,\"[1, 2]\"\n"
    );
}

/// The import ends before it begins if its reject file cannot be written.
#[test]
fn a_reject_file_that_cannot_be_written_ends_the_import_before_it() {
    let place = Place::new();
    people_and_knows(&place);
    let said = place.fail("import g --nodes P=people.csv --rejects nowhere/bad.txt");
    assert!(said.contains("nowhere/bad.txt"), "{said}");
    assert!(!place.path("g").exists());
    let many: String = (0..40_000).map(|id| format!("{id},{}\n", id % 7)).collect();
    let bad: String = (0..20_000).map(|id| format!("{id},x\n")).collect();
    place.write("half.csv", format!("id,n\n{many}{bad}"));
    let said = place.run("import g --nodes P=half.csv --rejects bad.txt --rejects-max 20000");
    assert!(
        said.contains("40,000 vertices") && said.contains("20,000 rows, see bad.txt"),
        "{said}"
    );
    let bad = fs::read_to_string(place.path("bad.txt")).unwrap();
    assert!(bad.starts_with("half.csv:40002: ") && bad.contains("\nhalf.csv:60001: "));
}
