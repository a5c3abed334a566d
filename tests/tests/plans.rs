//! Plans of LDBC's social network, of counts of subgraphs in it, and of `telar bench cypher`, as
//! reviewed texts.
//!
//! `tests/snapshots/plans` holds what EXPLAIN says of each query: operators, and the rows that are
//! expected of them. The graphs are small and the same each time, so their estimates are counts and
//! do not change by themselves. A plan that changed fails here, to be looked at:
//!
//! ```text
//! TELAR_BLESS=1 cargo test -p telar-tests --test plans
//! git diff tests/snapshots
//! ```
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "it says what it skipped")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use telar_bench::cypher;
use telar_bench::snb::{Archive, Queries, load};
use telar_db::Session;

/// Persons of the graph that the queries of `telar bench cypher` are planned on.
const PERSONS: u32 = 2_000;

/// Compares plans with those in a folder, or replaces these.
fn compare(folder: &str, plans: &BTreeMap<String, String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots/plans").join(folder);
    let bless = std::env::var("TELAR_BLESS").is_ok_and(|value| value == "1");
    let file = |name: &str| folder.join(name).with_extension("txt");
    let mut problems = Vec::new();
    std::fs::create_dir_all(&folder).unwrap();
    for (name, plan) in plans {
        let kept = std::fs::read_to_string(file(name)).unwrap_or_default();
        if bless {
            std::fs::write(file(name), plan).unwrap();
        } else if kept != *plan {
            problems.push(format!("{name} was\n{kept}\nand is\n{plan}"));
        }
    }
    for kept in std::fs::read_dir(&folder).unwrap() {
        let path: PathBuf = kept.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        match plans.contains_key(&name) {
            true => {}
            false if bless => std::fs::remove_file(path).unwrap(),
            false => problems.push(format!("{} is of no query", path.display())),
        }
    }
    let advice = "if these plans are better: TELAR_BLESS=1 cargo test -p telar-tests --test plans";
    assert!(problems.is_empty(), "{}\n\n{advice}", problems.join("\n\n"));
}

fn explain(session: &Session, text: &str) -> String {
    let plan = session.run(&format!("EXPLAIN {text}"), &[]).unwrap().plan.unwrap();
    lines(&plan.to_string())
}

/// Ends with one line end.
fn lines(plan: &str) -> String {
    format!("{}\n", plan.trim_end())
}

#[test]
fn plans_of_the_social_network_are_the_reviewed_ones() {
    let (Some(data), Some(queries)) =
        (telar_tests::shared("data/snb/tiny.tar.zst"), telar_tests::shared("data/snb/queries"))
    else {
        return;
    };
    let (archive, queries) = (Archive::read(&data).unwrap(), Queries::read(&queries).unwrap());
    let db = telar_db::open_in_memory().unwrap();
    load(&archive, &db).unwrap();
    let session = Session::new(&db);
    let plans = queries.all().map(|(name, text)| (name.to_owned(), explain(&session, text)));
    compare("snb", &plans.collect());
}

/// Patterns of which the matches are counted, as in `bench/compare/lsqb.py`.
const SUBGRAPHS: [(&str, &str); 9] = [
    (
        "q1",
        "MATCH (:Country)<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(:Person)<-[:HAS_MEMBER]-(:Forum)\
         -[:CONTAINER_OF]->(:Post)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(:Tag)\
         -[:HAS_TYPE]->(:TagClass)",
    ),
    (
        "q2",
        "MATCH (a:Person)-[:KNOWS]-(b:Person), \
         (a)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post)-[:HAS_CREATOR]->(b)",
    ),
    (
        "q3",
        "MATCH (country:Country) \
         MATCH (a:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country) \
         MATCH (b:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country) \
         MATCH (c:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country) \
         MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c)-[:KNOWS]-(a)",
    ),
    (
        "q4",
        "MATCH (:Tag)<-[:HAS_TAG]-(m:Message)-[:HAS_CREATOR]->(:Person), \
         (m)<-[:LIKES]-(:Person), (m)<-[:REPLY_OF]-(:Comment)",
    ),
    (
        "q5",
        "MATCH (t:Tag)<-[:HAS_TAG]-(:Message)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(u:Tag) \
         WHERE t <> u",
    ),
    (
        "q6",
        "MATCH (a:Person)-[:KNOWS]-(:Person)-[:KNOWS]-(c:Person)-[:HAS_INTEREST]->(:Tag) \
         WHERE a <> c",
    ),
    (
        "q7",
        "MATCH (:Tag)<-[:HAS_TAG]-(m:Message)-[:HAS_CREATOR]->(:Person) \
         OPTIONAL MATCH (m)<-[:LIKES]-(:Person) OPTIONAL MATCH (m)<-[:REPLY_OF]-(:Comment)",
    ),
    (
        "q8",
        "MATCH (t:Tag)<-[:HAS_TAG]-(:Message)<-[:REPLY_OF]-(c:Comment)-[:HAS_TAG]->(u:Tag) \
         WHERE t <> u AND NOT (c)-[:HAS_TAG]->(t)",
    ),
    (
        "q9",
        "MATCH (a:Person)-[:KNOWS]-(:Person)-[:KNOWS]-(c:Person)-[:HAS_INTEREST]->(:Tag) \
         WHERE a <> c AND NOT (a)-[:KNOWS]-(c)",
    ),
];

#[test]
fn plans_of_counted_subgraphs_are_the_reviewed_ones() {
    let Some(data) = telar_tests::shared("data/snb/tiny.tar.zst") else { return };
    let db = telar_db::open_in_memory().unwrap();
    load(&Archive::read(&data).unwrap(), &db).unwrap();
    let session = Session::new(&db);
    let plan = |text: &str| explain(&session, &format!("{text} RETURN count(*) AS n"));
    let plans = SUBGRAPHS.iter().map(|(name, text)| ((*name).to_owned(), plan(text)));
    compare("subgraphs", &plans.collect());
}

#[test]
fn plans_of_the_comparison_are_the_reviewed_ones() {
    let plans = cypher::plans(PERSONS, 42).unwrap().into_iter();
    compare("cypher", &plans.map(|(name, plan)| (name.to_owned(), lines(&plan))).collect());
}
