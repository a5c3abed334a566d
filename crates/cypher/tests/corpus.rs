//! Every query of the openCypher TCK and of LDBC SNB parses, and prints to text that parses to an
//! equal tree. Skipped where the shared data folder is missing (docs/testing.md).

mod common;

use std::collections::BTreeMap;

use common::{Query, files, queries, shared};
use telar_cypher::parse;

/// Details of which every scenario at hand breaks a rule of the syntax alone.
const SYNTACTIC: [&str; 9] = [
    "CreatingVarLength",
    "IntegerOverflow",
    "InvalidClauseComposition",
    "InvalidDelete",
    "InvalidNumberLiteral",
    "InvalidParameterUse",
    "InvalidRelationshipPattern",
    "RequiresDirectedRelationship",
    "UnexpectedSyntax",
];

/// Parses `text`, prints the tree, parses that, and compares. The error of the first step is the
/// result; one of the later steps is a panic.
fn round_trip(place: &str, text: &str) -> Result<(), telar_cypher::Diagnostics> {
    let tree = parse(text)?;
    let printed = tree.to_string();
    match parse(&printed) {
        Ok(again) => assert_eq!(again, tree, "{place}\n{text}\n{printed}"),
        Err(errors) => panic!("{place}\n{text}\n{printed}\n{}", errors.render(&printed)),
    }
    Ok(())
}

#[test]
fn tck_queries_parse_and_print_and_broken_ones_are_refused() {
    let Some(folder) = shared("tck/features") else { return };
    let mut all: Vec<Query> = Vec::new();
    for file in files(&folder, "feature") {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&folder).unwrap().display().to_string();
        all.extend(queries(&name, &text));
    }
    assert!(all.len() > 2500, "only {} queries found", all.len());

    let mut wrong = Vec::new();
    // Per detail: refused by the parser, and left to the binder.
    let mut errors: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for query in &all {
        let result = round_trip(&query.place, &query.text);
        match (&query.error, result) {
            (None, Ok(())) => {}
            (None, Err(found)) => {
                wrong.push(format!("{}\n{}", query.place, found.render(&query.text)));
            }
            (Some(detail), Ok(())) => errors.entry(detail).or_default().1 += 1,
            (Some(detail), Err(found)) => {
                errors.entry(detail).or_default().0 += 1;
                if found.first().detail.as_str() != detail {
                    let found = found.render(&query.text);
                    wrong.push(format!("{}: expected {detail}\n{found}", query.place));
                }
            }
        }
    }
    println!("{} queries; of those that must fail, by detail:", all.len());
    for (detail, (refused, left)) in &errors {
        println!("{detail:32} {refused:3} refused by the parser, {left:3} left to the binder");
    }
    for detail in SYNTACTIC {
        let (refused, left) = errors.get(detail).copied().unwrap_or_default();
        assert!(refused > 0 && left == 0, "{detail}: {refused} refused, {left} accepted");
    }
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
}

#[test]
fn snb_queries_parse_and_print() {
    let Some(folder) = shared("data/snb/queries") else { return };
    let files = files(&folder, "cypher");
    assert_eq!(files.len(), 29);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let place = file.display().to_string();
        if let Err(errors) = round_trip(&place, &text) {
            panic!("{place}\n{}", errors.render(&text));
        }
    }
}
