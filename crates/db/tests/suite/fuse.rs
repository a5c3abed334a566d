//! `telar.fuse`: ranked lists as one, alone and in hybrid searches.

use crate::common;

use common::{database, show};
use telar_db::{Session, Value};

fn rows(session: &Session, text: &str, parameters: &[(&str, Value)]) -> Vec<String> {
    let result = session.run(text, parameters).unwrap_or_else(|e| panic!("{text}: {e}"));
    let row = |row: &Vec<Value>| row.iter().map(show).collect::<Vec<_>>().join(", ");
    result.rows.iter().map(row).collect()
}

#[test]
fn items_are_ordered_by_the_sum_of_their_reciprocal_ranks() {
    let db = database("");
    let session = Session::new(&db);
    let fuse = |of: &str| {
        let text = format!("CALL telar.fuse({of}) YIELD item, score, ranks RETURN item, ranks");
        rows(&session, &text, &[])
    };
    // What both lists have comes first; equal scores stay in the order of the lists.
    let both = fuse("[['a', 'b', 'c'], ['d', 'b']]");
    assert_eq!(both, ["'b', [2, 2]", "'a', [1, null]", "'d', [null, 1]", "'c', [3, null]"]);
    assert_eq!(fuse("[['a', 'b'], ['b', 'a']], {weights: [1, 2.5]}")[0], "'b', [2, 1]");
    assert_eq!(fuse("[['a', 'b'], ['c']], {limit: 1}"), ["'a', [1, null]"]);
    assert_eq!(
        fuse("[['a', 'a', null, 'b'], null, []]"),
        ["'a', [1, null, null]", "'b', [4, null, null]"]
    );
    assert_eq!(fuse("[[1, 1.0], [{x: 1}]]"), ["1, [1, null]", "{x: 1}, [null, 1]"]);
    assert_eq!(fuse("[]"), [""; 0]);
    assert_eq!(fuse("null"), [""; 0]);
    let score = "CALL telar.fuse([['a'], ['b', 'a']], {k: 10, weights: [1, 2]}) YIELD item, score \
                 WHERE item = 'a' RETURN score = 1.0 / 11 + 2.0 / 12";
    assert_eq!(rows(&session, score, &[]), ["true"]);
}

#[test]
fn what_a_configuration_cannot_be_is_said() {
    let db = database("");
    let session = Session::new(&db);
    for (of, words) in [
        ("[['a']], {weights: [1, 2]}", "weights must be a LIST of 1 numbers"),
        ("[['a']], {weights: [-1]}", "weights must be numbers"),
        ("[['a']], {k: 'x'}", "k must be a number"),
        ("[['a']], {limit: -1}", "limit must be an INTEGER"),
        ("[['a']], {top: 1}", "there is no option 'top'; it knows k, weights, limit"),
        ("['a']", "list 1 is no LIST, found STRING"),
    ] {
        let text = format!("CALL telar.fuse({of}) YIELD item RETURN item");
        let error = session.run(&text, &[]).expect_err(&text);
        assert!(error.message.contains(words), "{text}: {error}");
    }
}

/// The example of docs/search.md.
const HYBRID: &str = "\
CALL telar.fuse([
  COLLECT { CALL db.index.fulltext.queryNodes('words', $words, {limit: 50})
            YIELD node RETURN node },
  COLLECT { CALL db.index.vector.queryNodes('chunks', 50, $vector) YIELD node RETURN node }
], {weights: [1, 2], limit: 10}) YIELD item AS chunk, score, ranks
MATCH (chunk)-[:OF]->(d:Document)
RETURN d.title, chunk.text, score, ranks ORDER BY score DESC";

#[test]
fn a_hybrid_search_is_one_query_also_where_a_list_is_empty() {
    let page = include_str!("../../../../docs/search.md");
    assert!(page.contains(HYBRID), "docs/search.md has another example");
    let db = database("");
    let session = Session::new(&db);
    let run = |text: &str| _ = session.run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
    run("CREATE FULLTEXT INDEX words FOR (c:Chunk) ON EACH [c.text]");
    run("CREATE VECTOR INDEX chunks FOR (c:Chunk) ON c.embedding \
         OPTIONS {indexConfig: {`vector.dimensions`: 2, `vector.similarity_function`: 'cosine'}}");
    run("CREATE (d:Document {title: 'Graphs'}) \
         CREATE (:Chunk {text: 'trees and graphs', embedding: [1.0, 0.0]})-[:OF]->(d), \
                (:Chunk {text: 'graphs', embedding: [0.0, 1.0]})-[:OF]->(d), \
                (:Chunk {text: 'rivers', embedding: [0.9, 0.1]})-[:OF]->(d)");
    let search = |words: &str| {
        let vector = Value::list([Value::Float(1.0), Value::Float(0.0)]);
        let text = HYBRID
            .replace("RETURN d.title, chunk.text, score, ranks", "RETURN chunk.text, ranks, score");
        rows(&session, &text, &[("words", words.into()), ("vector", vector)])
            .iter()
            .map(|row| row.rsplit_once(", ").unwrap().0.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        search("trees"),
        ["'trees and graphs', [1, 1]", "'rivers', [null, 2]", "'graphs', [null, 3]"]
    );
    assert_eq!(search("nothing")[0], "'trees and graphs', [null, 1]");
}
