//! Vector indexes: commands, procedures, and hits as a user asks for them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::{database, rows, show};
use telar_db::query::{QueryError, QueryResult};
use telar_db::{Database, Retention, Session, Settings, Value, ValueMap};

fn run(db: &Database, text: &str) -> QueryResult {
    Session::new(db).run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn fails(db: &Database, text: &str) -> QueryError {
    match Session::new(db).run(text, &[]) {
        Ok(_) => panic!("{text} was run"),
        Err(error) => error,
    }
}

const CREATE: &str = "CREATE VECTOR INDEX v FOR (n:Chunk) ON n.embedding OPTIONS {indexConfig: \
                      {`vector.dimensions`: 2, `vector.similarity_function`: 'cosine'}}";

fn query(index: &str, wanted: usize, vector: &str) -> String {
    format!(
        "CALL db.index.vector.queryNodes('{index}', {wanted}, {vector}) YIELD node, score \
         RETURN node.name, round(score, 4)"
    )
}

fn found(db: &Database, index: &str, wanted: usize, vector: &str) -> Vec<String> {
    in_order(db, &query(index, wanted, vector))
}

/// Rows in the order that they come in.
fn in_order(db: &Database, text: &str) -> Vec<String> {
    let row = |row: &Vec<Value>| row.iter().map(show).collect::<Vec<_>>().join(" | ");
    run(db, text).rows.iter().map(row).collect()
}

fn chunks() -> Database {
    database(
        "CREATE (:Chunk {name: 'a', embedding: [1.0, 0.0]}), \
                (:Chunk {name: 'b', embedding: [1, 1]}), \
                (:Chunk:Page {name: 'c', embedding: [0.0, 2.0]}), \
                (:Chunk {name: 'd', embedding: [1.0, 2.0, 3.0]}), \
                (:Chunk {name: 'e', embedding: 'none'}), \
                (:Chunk {name: 'f', embedding: [0.0, 0.0]}), \
                (:Page {name: 'g', embedding: [-1.0, 0.0]}), \
                (:Chunk {name: 'h'})",
    )
}

#[test]
fn the_nearest_are_found_with_the_scores_of_neo4j() {
    let db = chunks();
    let made = run(&db, CREATE);
    assert_eq!(made.counters.indexes_added, 1);
    assert_eq!(found(&db, "v", 2, "[1.0, 0.1]"), ["'a' | 0.9975", "'b' | 0.887"]);
    let all = ["'a' | 1.0", "'b' | 0.8536", "'c' | 0.5"];
    assert_eq!(found(&db, "v", 10, "[3, 0]"), all);
}

#[test]
fn euclidean_similarity_and_vectors_of_any_length() {
    let db = chunks();
    run(
        &db,
        "CREATE VECTOR INDEX e FOR (n:Chunk) ON (n.embedding) OPTIONS {indexConfig: \
         {`vector.similarity_function`: 'EUCLIDEAN'}}",
    );
    let all = ["'f' | 1.0", "'a' | 0.5", "'b' | 0.3333", "'c' | 0.2"];
    assert_eq!(found(&db, "e", 10, "[0.0, 0.0]"), all);
    assert_eq!(found(&db, "e", 10, "[1.0, 2.0, 3.0]"), ["'d' | 1.0"]);
    assert!(found(&db, "e", 10, "[1.0]").is_empty());
}

#[test]
fn an_index_is_made_in_every_form_that_tools_use() {
    let db = chunks();
    let session = Session::new(&db);
    let parameters = [
        ("name", Value::from("p")),
        ("dims", Value::from(2i64)),
        ("similarity", Value::from("euclidean")),
    ];
    let text = "CREATE VECTOR INDEX $name IF NOT EXISTS FOR (n:Chunk) ON n.embedding \
                WITH [n.name, n.page] OPTIONS {indexConfig: {`vector.dimensions`: \
                toInteger($dims), `vector.similarity_function`: $similarity}}";
    assert_eq!(session.run(text, &parameters).unwrap().counters.indexes_added, 1);
    assert_eq!(session.run(text, &parameters).unwrap().counters.indexes_added, 0);
    run(&db, "CREATE VECTOR INDEX entity IF NOT EXISTS FOR (m:__Entity__) ON m.embedding");
    run(&db, "CREATE VECTOR INDEX FOR ()-[r:SAYS|KNOWS]-() ON (r.vector)");
    run(&db, "CALL db.index.vector.createNodeIndex('made', 'Page', 'embedding', 2, 'cosine')");
    run(
        &db,
        "CALL db.index.vector.createRelationshipIndex('rel', 'T', 'x', toInteger(3), 'EUCLIDEAN')",
    );
    let listed = "SHOW VECTOR INDEXES YIELD name, entityType, labelsOrTypes, properties, options \
                  WHERE name <> 'x' RETURN name, entityType, labelsOrTypes, properties, \
                  options.indexConfig['vector.dimensions'], \
                  options.indexConfig['vector.similarity_function'] ORDER BY name";
    let found = rows(&session, listed);
    assert_eq!(
        found,
        [
            "'entity' | 'NODE' | ['__Entity__'] | ['embedding'] | null | 'COSINE'",
            &found[1],
            "'made' | 'NODE' | ['Page'] | ['embedding'] | 2 | 'COSINE'",
            "'p' | 'NODE' | ['Chunk'] | ['embedding'] | 2 | 'EUCLIDEAN'",
            "'rel' | 'RELATIONSHIP' | ['T'] | ['x'] | 3 | 'EUCLIDEAN'",
        ]
    );
    assert!(
        found[1].ends_with("'RELATIONSHIP' | ['SAYS', 'KNOWS'] | ['vector'] | null | 'COSINE'")
    );
    let options = rows(
        &session,
        "SHOW INDEXES YIELD name, type, options, indexProvider WHERE name \
                                  = 'made' RETURN type, indexProvider, options",
    );
    assert_eq!(
        options,
        ["'VECTOR' | 'vector-2.0' | {indexConfig: {vector.dimensions: 2, \
          vector.hnsw.ef_construction: 100, vector.hnsw.m: 16, vector.quantization.enabled: true, \
          vector.similarity_function: 'COSINE'}, indexProvider: 'vector-2.0'}"]
    );
    // The command that it shows makes it again.
    let statements = "SHOW VECTOR INDEXES YIELD name, createStatement, options \
                      RETURN name, createStatement, options ORDER BY name";
    let before = run(&db, statements).rows;
    for row in &before {
        let [Value::String(name), Value::String(statement), _] = &row[..] else { panic!() };
        run(&db, &format!("DROP INDEX `{name}`"));
        run(&db, statement);
    }
    assert_eq!(run(&db, statements).rows, before);
}

#[test]
fn mistakes_are_explained() {
    let db = chunks();
    let config = |config: &str| {
        format!("CREATE VECTOR INDEX x FOR (n:A) ON n.p OPTIONS {{indexConfig: {{{config}}}}}")
    };
    for (text, why) in [
        (config("`vector.dimensions`: 0"), "from 1 to 4096"),
        (config("`vector.dimensions`: 5000"), "from 1 to 4096"),
        (config("`vector.dimensions`: 'a'"), "from 1 to 4096"),
        (config("`vector.similarity_function`: 'dot'"), "cosine, euclidean"),
        (config("`vector.similarity_function`: 1"), "STRING"),
        (config("`vector.hnsw.m`: 513"), "from 1 to 512"),
        (config("`vector.quantization.enabled`: 1"), "BOOLEAN"),
        (config("`vector.size`: 1"), "there is no setting `vector.size`"),
        ("CREATE VECTOR INDEX x FOR (n:A) ON (n.p, n.q)".into(), "single property"),
        ("CREATE VECTOR INDEX x FOR (n:A|A) ON (n.p)".into(), "named twice"),
        ("CREATE INDEX x FOR (n:A) ON (n.p) WITH [n.q]".into(), "WITH"),
    ] {
        let error = fails(&db, &text);
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
    run(&db, CREATE);
    run(&db, "CREATE VECTOR INDEX r FOR ()-[r:T]-() ON r.p");
    run(&db, "CREATE FULLTEXT INDEX full FOR (n:Chunk) ON EACH [n.name]");
    for (arguments, why) in [
        ("'v', 1, [1.0]", "has 1 dimensions, but indexed vectors have 2"),
        ("'v', 1, [0.0, 0.0]", "positive, finite length"),
        ("'v', 1, [1e300, 1.0]", "finite"),
        ("'v', 1, ['a', 'b']", "list of numbers"),
        ("'v', 1, 'a'", "list of numbers"),
        ("'v', 0, [1.0, 0.0]", "must be positive"),
        ("'v', null, [1.0, 0.0]", "must not be null"),
        ("'w', 1, [1.0, 0.0]", "There is no such vector schema index: w (did you mean `v`?)"),
        ("'full', 1, [1.0, 0.0]", "There is no such vector schema index: full"),
        ("'r', 1, [1.0, 0.0]", "is an index on relationships"),
        ("'v', 1, [1.0, 0.0], {efort: 1}", "there is no option `efort`"),
        ("'v', 1, [1.0, 0.0], {effort: 0}", "1 or more"),
    ] {
        let error = fails(&db, &format!("CALL db.index.vector.queryNodes({arguments})"));
        assert!(error.message.contains(why), "{arguments}: {error}");
    }
    let error = fails(&db, "CALL db.index.vector.createNodeIndex('v', 'L', 'p', 2, 'cosine')");
    assert!(error.message.contains("already exists an index called 'v'"), "{error}");
    let error = fails(&db, "CALL db.index.fulltext.queryNodes('v', 'a')");
    assert!(error.message.contains("no such fulltext schema index"), "{error}");
}

#[test]
fn relationships_and_several_labels() {
    let db = database(
        "CREATE (a {name: 'a'})-[:SAYS {v: [1.0, 0.0], n: 1}]->(b {name: 'b'}), \
         (a)-[:SAYS {v: [0.0, 1.0], n: 2}]->(b), (b)-[:KNOWS {v: [0.7, 0.7], n: 3}]->(a), \
         (b)-[:SAYS]->(b), (b)-[:OTHER {v: [1.0, 0.0], n: 4}]->(b)",
    );
    run(&db, "CREATE VECTOR INDEX r FOR ()-[r:SAYS|KNOWS]-() ON r.v");
    let text = "CALL db.index.vector.queryRelationships('r', 3, [1.0, 0.2]) \
                YIELD relationship AS r, score RETURN r.n, type(r), startNode(r).name";
    assert_eq!(in_order(&db, text), ["1 | 'SAYS' | 'a'", "3 | 'KNOWS' | 'b'", "2 | 'SAYS' | 'a'"]);
    run(&db, "MATCH ()-[r {n: 1}]->() DELETE r");
    run(&db, "MATCH ()-[r {n: 2}]->() SET r.v = [1.0, 0.0]");
    assert_eq!(in_order(&db, text), ["2 | 'SAYS' | 'a'", "3 | 'KNOWS' | 'b'"]);
    let error = fails(&db, "CALL db.index.vector.queryNodes('r', 3, [1.0, 0.2])");
    assert!(error.message.contains("cannot be queried for nodes"), "{error}");

    let db = chunks();
    run(&db, "CREATE VECTOR INDEX v FOR (n:Chunk|Page) ON n.embedding");
    // One node with both labels is found once.
    let all = ["'g' | 1.0", "'c' | 0.5", "'b' | 0.1464", "'a' | 0.0"];
    assert_eq!(found(&db, "v", 10, "[-1.0, 0.0]"), all);
    assert_eq!(run(&db, "SHOW VECTOR INDEXES").rows.len(), 1);
    run(&db, "DROP INDEX v");
    assert_eq!(run(&db, "SHOW VECTOR INDEXES").rows.len(), 0);
}

#[test]
fn a_transaction_finds_its_own_writes_and_nobody_else_does() {
    let db = chunks();
    run(&db, CREATE);
    let session = Session::new(&db);
    let mut txn = session.begin().unwrap();
    for text in [
        "CREATE (:Chunk {name: 'new', embedding: [1.0, 0.05]})",
        "MATCH (n {name: 'a'}) SET n.embedding = [0.0, 1.0]",
        "MATCH (n {name: 'b'}) DELETE n",
        "MATCH (n {name: 'c'}) REMOVE n:Chunk",
        "MATCH (n {name: 'g'}) SET n:Chunk",
    ] {
        drop(txn.run(text, &ValueMap::default()).unwrap());
    }
    let text = query("v", 10, "[1.0, 0.0]");
    let found_now = txn.run(&text, &ValueMap::default()).unwrap().rows;
    let names: Vec<Value> = found_now.into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(names, ["new", "a", "g"].map(Value::from));
    let before = ["'a' | 1.0", "'b' | 0.8536", "'c' | 0.5"];
    assert_eq!(found(&db, "v", 10, "[1.0, 0.0]"), before);
    txn.commit().unwrap();
    let after = ["'new' | 0.9994", "'a' | 0.5", "'g' | 0.0"];
    assert_eq!(found(&db, "v", 10, "[1.0, 0.0]"), after);
}

#[test]
fn an_index_made_by_the_transaction_is_read_as_objects() {
    let db = chunks();
    let session = Session::new(&db);
    let mut txn = session.begin().unwrap();
    drop(txn.run(CREATE, &ValueMap::default()).unwrap());
    let found = txn.run(&query("v", 1, "[1.0, 0.0]"), &ValueMap::default()).unwrap().rows;
    assert_eq!(found[0][0], Value::from("a"));
}

#[test]
fn search_in_match() {
    let db = chunks();
    run(&db, CREATE);
    run(
        &db,
        "MATCH (n {name: 'a'}) SET n.year = 1 WITH n MATCH (b {name: 'b'}) SET b.year = 2 \
         WITH n, b MATCH (c {name: 'c'}) SET c.year = 3 CREATE (b)-[:OF {v: [1.0, 0.0]}]->(n), \
         (c)-[:OF {v: [0.0, 1.0]}]->(n)",
    );
    run(&db, "CREATE VECTOR INDEX r FOR ()-[r:OF]-() ON r.v");
    let session = Session::new(&db);
    let search = "SEARCH n IN (VECTOR INDEX v FOR [1.0, 0.0]";
    let cases: [(String, &[&str]); 11] = [
        (
            format!("MATCH (n) {search} LIMIT 2) SCORE AS s RETURN n.name, s"),
            &["'a' | 1.0", "'b' | 0.8535533905932737"],
        ),
        (format!("MATCH (n:Page) {search} LIMIT 5) RETURN n.name"), &["'c'"]),
        // What the search gives is counted before the pattern is asked for.
        (format!("MATCH (n:Page) {search} LIMIT 2) RETURN n.name"), &[]),
        (
            format!("OPTIONAL MATCH (n:Page) {search} LIMIT 2) SCORE AS s RETURN n.name, s"),
            &["null | null"],
        ),
        (
            format!("MATCH (n)-[:OF]->(m) {search} LIMIT 5) SCORE AS s RETURN n.name, m.name"),
            &["'b' | 'a'", "'c' | 'a'"],
        ),
        (format!("MATCH (n) {search} WHERE n.year >= 2 LIMIT 1) RETURN n.name"), &["'b'"]),
        (
            format!("MATCH (n) {search} WHERE 2 < n.year AND n.name = 'c' LIMIT 1) RETURN n.name"),
            &["'c'"],
        ),
        (format!("MATCH (n) {search} WHERE 1 < n.year < 3 LIMIT 9) RETURN n.name"), &["'b'"]),
        (format!("MATCH (n) {search} LIMIT 9) SCORE AS s WHERE s < 0.6 RETURN n.name"), &["'c'"]),
        (
            "UNWIND [[1.0, 0.0], [0.0, 1.0]] AS q MATCH (n) SEARCH n IN (VECTOR INDEX v FOR q \
             LIMIT 1) RETURN n.name"
                .into(),
            &["'a'", "'c'"],
        ),
        (
            "MATCH (a)-[n:OF]->(b) SEARCH n IN (VECTOR INDEX r FOR [1.0, 0.1] LIMIT 1) \
             SCORE AS s RETURN a.name, b.name, round(s, 3)"
                .into(),
            &["'b' | 'a' | 0.998"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(rows(&session, &text), expected, "{text}");
    }
    let parameters =
        [("i", Value::from("v")), ("v", Value::list([1.0, 0.0])), ("k", Value::from(1i64))];
    let text = "MATCH (n) SEARCH n IN (VECTOR INDEX $i FOR $v LIMIT $k) RETURN n.name";
    assert_eq!(session.run(text, &parameters).unwrap().rows, [[Value::from("a")]]);
    for (text, why) in [
        (format!("MATCH (m) {search} LIMIT 1) RETURN m"), "is no node or relationship"),
        (format!("MATCH (n) {search} WHERE n.a <> 1 LIMIT 1) RETURN n"), "comparisons of prop"),
        (format!("MATCH (n) {search} WHERE n.a = n.b LIMIT 1) RETURN n"), "comparisons of prop"),
        (format!("MATCH (n) {search} WHERE NOT n.a LIMIT 1) RETURN n"), "comparisons of prop"),
        (format!("MATCH (n) {search} LIMIT 0) RETURN n"), "must be positive"),
        (format!("MATCH (n) {search}) RETURN n"), "LIMIT"),
    ] {
        let error = fails(&db, &text);
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
}

// ---- many vectors: with a graph of neighbours ----

const DIMENSIONS: usize = 256;

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Near one of some centres.
    fn vector(&mut self) -> Vec<f64> {
        let mut centre = Random(self.word() % 97);
        let unit = |random: &mut Random| (random.word() >> 40) as f64 / (1u64 << 23) as f64 - 1.0;
        (0..DIMENSIONS).map(|_| f64::from((unit(&mut centre) + 0.5 * unit(self)) as f32)).collect()
    }
}

fn create_many(session: &Session, from: i64, count: i64, random: &mut Random) {
    for first in (from..from + count).step_by(500) {
        let mut row =
            |id: i64| Value::map([("id", Value::from(id)), ("v", Value::list(random.vector()))]);
        let batch: Vec<Value> = (first..(first + 500).min(from + count)).map(&mut row).collect();
        let text = "UNWIND $rows AS row CREATE (:Doc {id: row.id, v: row.v})";
        session.run(text, &[("rows", Value::list(batch))]).unwrap();
    }
}

/// The rows of a query text that asks for `$v`, in a session or a transaction.
type Rows<'r> = dyn FnMut(&str, &Value) -> Vec<Vec<Value>> + 'r;

fn in_session(session: &Session) -> impl FnMut(&str, &Value) -> Vec<Vec<Value>> + '_ {
    |text, vector| {
        let found = session.run(text, &[("v", vector.clone())]);
        found.unwrap_or_else(|e| panic!("{text}: {e}")).rows
    }
}

/// The nodes that the index finds, and the nearest ones.
fn both(rows: &mut Rows<'_>, past: &str, vector: &Value) -> [Vec<Value>; 2] {
    let mut ids = |text: &str| -> Vec<Value> {
        rows(&format!("{past} {text}"), vector).into_iter().map(|row| row[0].clone()).collect()
    };
    let found = ids(
        "CALL db.index.vector.queryNodes('docs', 10, $v) YIELD node, score RETURN node.id, score",
    );
    let nearest = ids(
        "MATCH (n:Doc) WHERE size(n.v) = 256 WITH n, vector.similarity.cosine(n.v, $v) AS score \
         RETURN n.id ORDER BY score DESC LIMIT 10",
    );
    [found, nearest]
}

/// The part of the nearest that is found, over some vectors.
fn recall(rows: &mut Rows<'_>, past: &str, random: &mut Random) -> f64 {
    const SEARCHES: usize = 20;
    let mut hits = 0;
    for _ in 0..SEARCHES {
        let [found, nearest] = both(rows, past, &Value::list(random.vector()));
        assert_eq!(found.len(), 10);
        hits += nearest.iter().filter(|id| found.contains(id)).count();
    }
    hits as f64 / (10 * SEARCHES) as f64
}

const CREATE_DOCS: &str = "CREATE VECTOR INDEX docs FOR (n:Doc) ON n.v OPTIONS {indexConfig: \
                           {`vector.dimensions`: 256}}";

/// Gives vectors to every second of the nodes up to `end`, and deletes every fifth.
fn change_half(session: &Session, end: i64, random: &mut Random) {
    let ids: Vec<i64> = (0..end).filter(|id| id % 2 == 0).collect();
    for some in ids.chunks(500) {
        let mut row =
            |id: &i64| Value::map([("id", Value::from(*id)), ("v", Value::list(random.vector()))]);
        let batch: Vec<Value> = some.iter().map(&mut row).collect();
        let text = "UNWIND $rows AS row MATCH (n:Doc {id: row.id}) SET n.v = row.v";
        session.run(text, &[("rows", Value::list(batch))]).unwrap();
    }
    session.run("MATCH (n:Doc) WHERE n.id % 5 = 1 DELETE n", &[]).unwrap();
}

#[test]
fn many_vectors_stay_findable_while_they_change() {
    let dir = tempfile::tempdir().unwrap();
    let open = || telar_db::open(dir.path()).unwrap();
    let db = open();
    let session = Session::new(&db);
    run(&db, "CREATE INDEX FOR (n:Doc) ON (n.id)");
    let mut random = Random(1);
    create_many(&session, 0, 4000, &mut random);
    run(&db, CREATE_DOCS);
    assert!(recall(&mut in_session(&session), "", &mut random) >= 0.95);
    // What comes after the index was made is found as soon as it is committed.
    create_many(&session, 4000, 1500, &mut random);
    assert!(recall(&mut in_session(&session), "", &mut random) >= 0.95);
    let mine = Value::list(random.vector());
    session.run("CREATE (:Doc {id: -1, v: $v})", &[("v", mine.clone())]).unwrap();
    let first = both(&mut in_session(&session), "", &mine)[0][0].clone();
    assert_eq!(first, Value::from(-1i64));
    // A snapshot from before a change finds what was there.
    let other = Session::new(&db);
    let mut before = other.begin().unwrap();
    drop(before.run("MATCH (n:Doc {id: -1}) RETURN n.id", &ValueMap::default()).unwrap());
    change_half(&session, 5500, &mut random);
    run(&db, "MATCH (n:Doc {id: -1}) SET n.v = [1.0]");
    assert!(recall(&mut in_session(&session), "", &mut random) >= 0.95);
    assert!(!both(&mut in_session(&session), "", &mine)[0].contains(&first));
    let mut in_before = |text: &str, vector: &Value| {
        let parameters: ValueMap = ValueMap::from_iter([("v".into(), vector.clone())]);
        before.run(text, &parameters).unwrap_or_else(|e| panic!("{text}: {e}")).rows
    };
    assert!(recall(&mut in_before, "", &mut random) >= 0.95);
    assert_eq!(both(&mut in_before, "", &mine)[0][0], first);
    before.commit().unwrap();
    db.checkpoint().unwrap();
    create_many(&session, 6000, 100, &mut random);
    drop((session, other));
    drop(db);
    let db = open();
    let session = Session::new(&db);
    for _ in 0..3 {
        assert!(recall(&mut in_session(&session), "", &mut random) >= 0.95);
    }
}

#[test]
fn the_past_has_its_own_neighbours() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.retain = Retention::commits(1000);
    let db = telar_db::open_with(dir.path(), settings).unwrap();
    let session = Session::new(&db);
    let mut random = Random(9);
    create_many(&session, 0, 3400, &mut random);
    run(&db, CREATE_DOCS);
    let vector = Value::list(random.vector());
    let then = both(&mut in_session(&session), "", &vector)[1].clone();
    let ts = run(&db, "RETURN 1").at.get();
    change_half(&session, 3400, &mut random);
    let past = format!("AT TIMESTAMP {ts}");
    let [found, nearest] = both(&mut in_session(&session), &past, &vector);
    assert_eq!((&found, &nearest), (&then, &then));
    assert_ne!(both(&mut in_session(&session), "", &vector)[1], then);
}

#[test]
fn searches_and_writers_beside_each_other() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let mut random = Random(2);
    create_many(&session, 0, 3500, &mut random);
    run(&db, CREATE_DOCS);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (db, done) = (&db, &done);
        scope.spawn(move || {
            let session = Session::new(db);
            let mut random = Random(3);
            while !done.load(Ordering::Relaxed) {
                let vector = random.vector();
                let text = "CREATE (n:Doc {id: -2, v: $v}) RETURN n.id";
                session.run(text, &[("v", Value::list(vector.clone()))]).unwrap();
                // Its own commit is what it sees first.
                let text = "CALL db.index.vector.queryNodes('docs', 1, $v) YIELD node \
                            RETURN node.v = $v";
                let found = session.run(text, &[("v", Value::list(vector))]).unwrap();
                assert_eq!(found.rows, [[Value::from(true)]]);
            }
        });
        let _stop = common::StopAtEnd(done);
        let mut random = Random(4);
        for _ in 0..4 {
            let session = Session::new(db);
            let found = recall(&mut in_session(&session), "", &mut random);
            // What is added between the two searches makes them differ a little.
            assert!(found >= 0.9, "{found}");
        }
    });
}
