//! The openCypher TCK's feature files, as far as the parser's tests need them.

use std::path::PathBuf;

/// A query of a scenario.
#[derive(Debug)]
pub(crate) struct Query {
    /// File, scenario and example.
    pub(crate) place: String,
    /// The text.
    pub(crate) text: String,
    /// The detail of the error that it must raise at compile time.
    pub(crate) error: Option<String>,
}

#[path = "../../../../tests/src/test_data.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod test_data;

pub(crate) use test_data::shared;

/// All files below `folder` with that extension, sorted.
pub(crate) fn files(folder: &std::path::Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files.extend(self::files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// A scenario while it is read.
#[derive(Default)]
struct Scenario {
    name: String,
    /// Query texts; true for the one whose result is tested.
    queries: Vec<(bool, String)>,
    error: Option<String>,
    /// Header and rows.
    examples: Vec<Vec<Vec<String>>>,
}

/// The queries of a feature file, outlines with each of their examples.
pub(crate) fn queries(file: &str, text: &str) -> Vec<Query> {
    let mut found = Vec::new();
    let mut scenario = Scenario::default();
    let mut lines = text.lines().peekable();
    let mut tested = false;
    let mut in_examples = false;
    while let Some(line) = lines.next() {
        let step = line.trim();
        if step.starts_with('#') || step.starts_with('@') {
            continue;
        }
        if let Some((_, name)) = step.split_once("Scenario").filter(|(head, _)| head.is_empty()) {
            finish(file, std::mem::take(&mut scenario), &mut found);
            scenario.name = name.to_owned();
            in_examples = false;
        } else if step == "\"\"\"" {
            let indent = line.len() - line.trim_start().len();
            let mut body = String::new();
            for line in lines.by_ref().take_while(|line| line.trim() != "\"\"\"") {
                // The indentation of the quotes is not part of the text.
                let cut = line.char_indices().take(indent).take_while(|(_, c)| c.is_whitespace());
                let cut = cut.map(|(at, char)| at + char.len_utf8()).last().unwrap_or(0);
                body.push_str(&line[cut..]);
                body.push('\n');
            }
            scenario.queries.push((tested, body));
        } else if step.starts_with("Examples:") {
            in_examples = true;
            scenario.examples.push(Vec::new());
        } else if in_examples && step.starts_with('|') {
            if let Some(table) = scenario.examples.last_mut() {
                table.push(cells(step));
            }
        } else if let Some((_, detail)) = step.split_once("should be raised at compile time: ") {
            scenario.error = Some(detail.trim().to_owned());
        } else if !step.is_empty() && !step.starts_with('|') {
            tested = step.contains("executing query");
        }
    }
    finish(file, scenario, &mut found);
    found
}

fn finish(file: &str, scenario: Scenario, found: &mut Vec<Query>) {
    let mut examples: Vec<Vec<(String, String)>> = Vec::new();
    for table in &scenario.examples {
        let Some((header, rows)) = table.split_first() else { continue };
        for row in rows {
            examples.push(header.iter().cloned().zip(row.iter().cloned()).collect());
        }
    }
    if examples.is_empty() {
        examples.push(Vec::new());
    }
    for (number, example) in examples.iter().enumerate() {
        let fill = |text: &str| {
            let mut text = text.to_owned();
            for (key, value) in example {
                text = text.replace(&format!("<{key}>"), value);
            }
            text
        };
        for (tested, text) in &scenario.queries {
            found.push(Query {
                place: format!("{file}{} #{number}", scenario.name),
                text: fill(text),
                error: scenario.error.as_deref().filter(|_| *tested).map(fill),
            });
        }
    }
}

/// The cells of a table row, in which `\|`, `\\` and `\n` are escapes.
fn cells(row: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut chars = row.trim().trim_start_matches('|').chars().peekable();
    while let Some(char) = chars.next() {
        match (char, chars.peek()) {
            ('\\', Some('|')) => cell.extend(chars.next()),
            ('\\', Some('\\')) => cell.extend(chars.next()),
            ('\\', Some('n')) => {
                chars.next();
                cell.push('\n');
            }
            ('|', _) => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            (char, _) => cell.push(char),
        }
    }
    cells
}

#[test]
fn outlines_are_filled_in_from_every_example() {
    let text = "
        Scenario Outline: [1] a
          When executing query:
            \"\"\"
            RETURN <x>
              AS y
            \"\"\"
          Then a SyntaxError should be raised at compile time: <e>
          Examples:
            | x      | e |
            | 'a\\|b' | E |
            | 2      | F |
        Scenario: [2] b
          Given having executed:
            \"\"\"
            CREATE ()
            \"\"\"
    ";
    let found: Vec<(String, Option<String>)> =
        queries("f", text).into_iter().map(|query| (query.text, query.error)).collect();
    let expected = [
        ("RETURN 'a|b'\n  AS y\n".to_owned(), Some("E".to_owned())),
        ("RETURN 2\n  AS y\n".to_owned(), Some("F".to_owned())),
        ("CREATE ()\n".to_owned(), None),
    ];
    assert_eq!(found, expected);
}
