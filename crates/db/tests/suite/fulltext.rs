//! Full-text indexes: commands, procedures, and hits as a user asks for them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::{database, rows};
use telar_db::query::{ErrorKind, QueryError, QueryResult};
use telar_db::{Database, Isolation, Session, Value, ValueMap};

fn run(db: &Database, text: &str) -> QueryResult {
    Session::new(db).run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn fails(db: &Database, text: &str) -> QueryError {
    match Session::new(db).run(text, &[]) {
        Ok(_) => panic!("{text} was run"),
        Err(error) => error,
    }
}

fn string(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => panic!("{other:?} is no string"),
    }
}

/// Names of what a query finds, the best first.
fn names(session: &Session, index: &str, query: &str) -> Vec<String> {
    let text = "CALL db.index.fulltext.queryNodes($index, $query) YIELD node, score \
                RETURN node.name ORDER BY score DESC, node.name";
    let parameters = [("index", Value::from(index)), ("query", Value::from(query))];
    let found = session.run(text, &parameters).unwrap_or_else(|e| panic!("{query}: {e}"));
    found.rows.into_iter().map(|row| string(&row[0])).collect()
}

fn found(db: &Database, index: &str, query: &str) -> Vec<String> {
    names(&Session::new(db), index, query)
}

fn fill(db: &Database) {
    run(
        db,
        "CREATE (:Film {name: 'a', title: 'The Matrix', text: 'Welcome to the real world'}), \
                (:Film {name: 'b', title: 'Matrix Reloaded', text: ['Free', 'your mind']}), \
                (:Book:Film {name: 'c', title: 'Real World Haskell'}), \
                (:Book {name: 'd', title: 42, text: 'mind games'}), \
                (:Other {name: 'e', title: 'Matrix'})",
    );
}

const CREATE: &str = "CREATE FULLTEXT INDEX works FOR (n:Film|Book) ON EACH [n.title, n.text]";

#[test]
fn documents_are_found_by_words_of_all_labels_and_properties() {
    let db = telar_db::open_in_memory().unwrap();
    fill(&db);
    let made = run(&db, CREATE);
    assert_eq!(made.counters.indexes_added, 1);
    let cases: [(&str, &[&str]); 14] = [
        ("matrix", &["a", "b"]),
        ("title:real", &["c"]),
        ("real", &["c", "a"]),
        ("mind", &["d", "b"]),
        ("\"your mind\"", &["b"]),
        ("\"free your\"", &[]),
        ("matrix AND NOT reloaded", &["a"]),
        ("*", &["a", "b", "c", "d"]),
        ("42", &[]),
        ("re*", &["a", "b", "c"]),
        ("matricx~", &["a", "b"]),
        ("text:[games TO mind]", &["b", "d"]),
        ("/ma.*x/", &["a", "b"]),
        ("name:a", &[]),
    ];
    for (query, expected) in cases {
        let mut found = found(&db, "works", query);
        if !matches!(query, "matrix" | "real" | "mind") {
            found.sort();
        }
        assert_eq!(found, expected, "{query}");
    }
    // A label more or less, and the document comes or goes.
    run(&db, "MATCH (n:Other) SET n:Book");
    run(&db, "MATCH (n {name: 'c'}) REMOVE n:Book");
    run(&db, "MATCH (n {name: 'a'}) REMOVE n:Film");
    assert_eq!(found(&db, "works", "matrix"), ["e", "b"]);
    assert_eq!(found(&db, "works", "real"), ["c"]);
    run(&db, "MATCH (n {name: 'e'}) DELETE n");
    run(&db, "MATCH (n {name: 'b'}) SET n.title = null");
    assert_eq!(found(&db, "works", "matrix"), [""; 0]);
    assert_eq!(run(&db, "DROP INDEX works").counters.indexes_removed, 1);
    assert!(run(&db, "SHOW FULLTEXT INDEXES").rows.is_empty());
    let error = fails(&db, "CALL db.index.fulltext.queryNodes('works', 'a')");
    assert!(error.message.contains("no such fulltext schema index: works"), "{error}");
}

#[test]
fn relationships_are_found() {
    let db = telar_db::open_in_memory().unwrap();
    run(
        &db,
        "CREATE (a)-[:SAYS {fact: 'Ada knows Grace'}]->(b), (a)-[:SAYS {fact: 'Bob'}]->(b), \
                (a)-[:KNOWS {fact: 'since Ada'}]->(b), (a)-[:OTHER {fact: 'Ada'}]->(b), \
                (a)-[:SAYS]->(b)",
    );
    run(&db, "CREATE FULLTEXT INDEX facts FOR ()-[r:SAYS|KNOWS]-() ON EACH [r.fact]");
    let facts = |query: &str| -> Vec<String> {
        let text = format!(
            "CALL db.index.fulltext.queryRelationships('facts', '{query}', {{limit: 10}}) \
             YIELD relationship AS r, score RETURN type(r) + ' ' + r.fact"
        );
        run(&db, &text).rows.iter().map(|row| string(&row[0])).collect()
    };
    assert_eq!(facts("ada"), ["KNOWS since Ada", "SAYS Ada knows Grace"]);
    run(&db, "MATCH ()-[r:KNOWS]->() SET r.fact = 'Grace'");
    assert_eq!(facts("grace"), ["KNOWS Grace", "SAYS Ada knows Grace"]);
    run(&db, "MATCH ()-[r:SAYS {fact: 'Ada knows Grace'}]->() DELETE r");
    assert_eq!(facts("grace ada"), ["KNOWS Grace"]);
    let error = fails(&db, "CALL db.index.fulltext.queryNodes('facts', 'a')");
    assert!(error.message.contains("an index on relationships"), "{error}");
}

/// Lists of terms that were searched, of relationships: what commits and transactions change in
/// them, and what older transactions see.
#[test]
fn words_of_relationships_are_found_again_after_changes() {
    let db = telar_db::open_in_memory().unwrap();
    run(
        &db,
        "UNWIND range(0, 699) AS i CREATE (:P {id: i})-[:SAYS {id: i, fact:          'all ' + CASE i % 7 WHEN 0 THEN 'seven' ELSE 'other' END}]->(:P)",
    );
    run(&db, "CREATE FULLTEXT INDEX facts FOR ()-[r:SAYS]-() ON EACH [r.fact]");
    let call = "CALL db.index.fulltext.queryRelationships('facts', $query, {limit: 300}) \
                YIELD relationship AS r RETURN r.id ORDER BY r.id";
    let ids = |rows: Vec<Vec<Value>>| -> Vec<i64> {
        let id =
            |row: &Vec<Value>| if let Value::Int(id) = row[0] { id } else { panic!("{row:?}") };
        rows.iter().map(id).collect()
    };
    let found =
        |query: &str| ids(Session::new(&db).run(call, &[("query", query.into())]).unwrap().rows);
    let sevens: Vec<i64> = (0..700).step_by(7).collect();
    assert_eq!(found("seven"), sevens);
    let session = Session::new(&db);
    let mut old = session.begin().unwrap();
    let in_old = |old: &mut telar_db::QueryTransaction, query: &str| {
        let mut parameters = ValueMap::new();
        parameters.insert("query".into(), query.into());
        ids(old.run(call, &parameters).unwrap().rows)
    };
    assert_eq!(in_old(&mut old, "seven"), sevens);
    run(&db, "MATCH ()-[r:SAYS]->() WHERE r.id < 70 AND r.id % 7 = 0 SET r.fact = 'none'");
    run(&db, "MATCH ()-[r:SAYS {id: 70}]->() DELETE r");
    run(&db, "MATCH ()-[r:SAYS {id: 1}]->() SET r.fact = 'seven seven'");
    run(
        &db,
        "MATCH (a:P {id: 0}), (b:P {id: 1}) CREATE (a)-[:SAYS {id: 1000, fact: 'seven'}]->(b)",
    );
    let mut now: Vec<i64> = sevens.iter().copied().filter(|id| *id > 70).collect();
    now.insert(0, 1);
    now.push(1000);
    assert_eq!(found("seven"), now);
    assert_eq!(found("none"), (0..70).step_by(7).collect::<Vec<_>>());
    assert_eq!(in_old(&mut old, "seven"), sevens);
    assert_eq!(in_old(&mut old, "none"), Vec::<i64>::new());
    // Its own writes.
    old.run("MATCH ()-[r:SAYS {id: 2}]->() SET r.fact = 'seven'", &ValueMap::new()).unwrap();
    old.run("MATCH ()-[r:SAYS {id: 693}]->() DELETE r", &ValueMap::new()).unwrap();
    let mut own = sevens[..99].to_vec();
    own.insert(1, 2);
    assert_eq!(in_old(&mut old, "seven"), own);
    assert_eq!(found("seven"), now);
    old.commit().unwrap();
    now.retain(|id| *id != 693);
    now.insert(1, 2);
    assert_eq!(found("seven"), now);
}

#[test]
fn commands_say_what_there_is_and_what_is_wrong() {
    let db = telar_db::open_in_memory().unwrap();
    run(
        &db,
        "CREATE FULLTEXT INDEX $`x` IF NOT EXISTS FOR (n:A|`B c`) ON EACH [n.p, n.`q r`] OPTIONS \
         {indexConfig: {`fulltext.analyzer`: 'cjk', `fulltext.eventually_consistent`: true}}"
            .replace("$`x`", "works")
            .as_str(),
    );
    let shown = run(
        &db,
        "SHOW FULLTEXT INDEXES YIELD name, state, type, entityType, labelsOrTypes, properties, \
         indexProvider, options, createStatement",
    );
    let [row] = &shown.rows[..] else { panic!("{:?}", shown.rows) };
    let texts: Vec<String> =
        row.iter().map(|value| telar_db::query::literal(value).replace('\'', "\"")).collect();
    assert_eq!(
        texts[..7].join(" "),
        "\"works\" \"ONLINE\" \"FULLTEXT\" \"NODE\" [\"A\", \"B c\"] \
         [\"p\", \"q r\"] \"fulltext-1.0\""
            .replace("         ", "")
    );
    let Value::String(statement) = &row[8] else { panic!("{row:?}") };
    run(&db, "DROP INDEX works");
    run(&db, statement);
    let again = run(
        &db,
        "SHOW INDEXES YIELD name, type, options, createStatement WHERE \
                          type = 'FULLTEXT' RETURN options, createStatement",
    );
    assert_eq!(again.rows, [vec![row[7].clone(), row[8].clone()]]);
    assert_eq!(run(&db, "SHOW INDEXES WHERE name = 'works'").rows.len(), 1);
    let same = "CREATE FULLTEXT INDEX FOR (n:A|`B c`) ON EACH [n.p, n.`q r`]";
    let if_not = same.replace("INDEX", "INDEX w2 IF NOT EXISTS");
    assert_eq!(run(&db, &if_not).notifications.len(), 1);
    let cases: [(&str, ErrorKind, &str); 9] = [
        (same, ErrorKind::EquivalentRule, "type='FULLTEXT', schema=(:A|B c {p, q r})"),
        (&same.replace("INDEX", "INDEX w2"), ErrorKind::IndexExists, "`works`"),
        (
            "CREATE FULLTEXT INDEX works FOR (n:X) ON EACH [n.p]",
            ErrorKind::IndexNameTaken,
            "an index called 'works'",
        ),
        ("CREATE INDEX works FOR (n:X) ON (n.p)", ErrorKind::IndexNameTaken, "'works'"),
        (
            "CREATE FULLTEXT INDEX FOR (n:X) ON EACH [n.p] OPTIONS {indexConfig: \
             {`fulltext.analyzer`: 'engish'}}",
            ErrorKind::InvalidArguments,
            "no analyzer `engish` (did you mean `english`?): there are arabic, cjk",
        ),
        (
            "CREATE FULLTEXT INDEX FOR (n:X) ON EACH [n.p] OPTIONS {indexConfig: \
             {`fulltext.eventually_consistent`: 'yes'}}",
            ErrorKind::InvalidArguments,
            "it is a BOOLEAN",
        ),
        (
            "CREATE FULLTEXT INDEX FOR (n:X) ON EACH [n.p] OPTIONS {indexConfig: {a: 1}}",
            ErrorKind::InvalidArguments,
            "no setting `a`: there are fulltext.analyzer, fulltext.eventually_consistent",
        ),
        ("CREATE FULLTEXT INDEX FOR (n:X) ON EACH [n.p, n.p]", ErrorKind::Syntax, "named twice"),
        ("CREATE FULLTEXT INDEX FOR (n:X|X) ON EACH [n.p]", ErrorKind::Syntax, "named twice"),
    ];
    for (text, kind, message) in cases {
        let error = fails(&db, text);
        assert!(error.kind == kind && error.message.contains(message), "{text}: {error:?}");
    }
    let analyzers = run(
        &db,
        "CALL db.index.fulltext.listAvailableAnalyzers() YIELD analyzer, \
                              description, stopwords WHERE analyzer = 'english'",
    );
    assert_eq!(analyzers.rows.len(), 1);
    run(&db, "CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()");
    run(&db, "CALL db.awaitIndex('works')");
}

/// Scores are those of Neo4j 5.26.30 (`tools/lucene`): each term is as rare as it is itself.
#[test]
fn terms_that_are_like_one_count_by_how_rare_they_are() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "CREATE FULLTEXT INDEX i FOR (n:A) ON EACH [n.name]");
    run(&db, "UNWIND ['graph', 'grape', 'graph x'] AS name CREATE (:A {name: name})");
    let text = "CALL db.index.fulltext.queryNodes('i', 'graph~') YIELD node, score \
                RETURN node.name, round(score * 10000)";
    let expected = [("grape", 3973.0), ("graph", 2380.0), ("graph x", 1774.0)];
    let expected = expected.map(|(name, score)| vec![Value::from(name), Value::Float(score)]);
    assert_eq!(run(&db, text).rows, expected);
    // No more than fifty, those most like it first: what is nearer than a word of two other
    // letters is among them, though neither scores.
    run(&db, "MATCH (n:A) DELETE n");
    let letters = "UNWIND split('abcdefghijklmnopqrstuvwxyz', '') AS letter ";
    run(&db, &format!("{letters} UNWIND ['a', 'b'] AS first CREATE (:A {{name: first + letter}})"));
    run(&db, "CREATE (:A {name: 'z'}), (:A {name: 'x'})");
    let found = found(&db, "i", "x~");
    assert_eq!((found.len(), found[0].as_str()), (50, "x"));
    assert!(found.iter().any(|name| name == "z"), "{found:?}");
}

#[test]
fn options_of_a_query() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "CREATE FULLTEXT INDEX i FOR (n:A) ON EACH [n.p]");
    run(&db, "UNWIND range(1, 3000) AS i CREATE (:A {p: 'Word ' + i})");
    let count = |options: &str, query: &str| {
        let text = format!(
            "CALL db.index.fulltext.queryNodes('i', '{query}'{options}) YIELD score \
             RETURN count(*)"
        );
        run(&db, &text).rows[0][0].clone()
    };
    assert_eq!(count("", "word"), Value::Int(3000));
    assert_eq!(count(", {limit: 7}", "word"), Value::Int(7));
    assert_eq!(count(", {skip: 2995, limit: 7}", "word"), Value::Int(5));
    assert_eq!(count(", {skip: 4000}", "word"), Value::Int(0));
    assert_eq!(count(", {limit: 0}", "word"), Value::Int(0));
    assert_eq!(count(", {skip: 2995.0, limit: 7.0}", "word"), Value::Int(5));
    assert_eq!(count(", {analyzer: 'whitespace'}", "Word"), Value::Int(0));
    assert_eq!(count(", {analyzer: null}", "Word"), Value::Int(3000));
    for (options, message) in [
        ("{limit: -1}", "0 or more"),
        ("{limit: 1.5}", "0 or more"),
        ("{analyzer: 'x'}", "no analyzer `x`"),
        ("{top: 1}", "there are skip, limit, analyzer"),
    ] {
        let error = fails(&db, &format!("CALL db.index.fulltext.queryNodes('i', 'a', {options})"));
        assert!(error.message.contains(message), "{error}");
    }
    let error = fails(&db, "CALL db.index.fulltext.queryNodes('i', 'word AND (')");
    assert_eq!(error.kind, ErrorKind::ProcedureFailed);
    assert!(error.message.contains("Cannot parse 'word AND ('"), "{error}");
    assert!(error.message.contains("line 1, column 10"), "{error}");
}

#[test]
fn a_transaction_finds_its_own_writes_and_nobody_else_does() {
    let db = telar_db::open_in_memory().unwrap();
    fill(&db);
    run(&db, CREATE);
    let session = Session::new(&db);
    let mut txn = session.begin().unwrap();
    drop(
        txn.run("CREATE (:Film {name: 'f', title: 'matrix matrix'})", &ValueMap::default())
            .unwrap(),
    );
    drop(txn.run("MATCH (n {name: 'a'}) SET n.title = 'Other'", &ValueMap::default()).unwrap());
    drop(txn.run("MATCH (n {name: 'b'}) DELETE n", &ValueMap::default()).unwrap());
    let text = "CALL db.index.fulltext.queryNodes('works', 'matrix') YIELD node \
                RETURN node.name";
    assert_eq!(txn.run(text, &ValueMap::default()).unwrap().rows, [[Value::from("f")]]);
    assert_eq!(found(&db, "works", "matrix"), ["a", "b"]);
    txn.commit().unwrap();
    assert_eq!(found(&db, "works", "matrix"), ["f"]);
}

/// Two transactions look for what neither finds and then make what the other one looked for: one of
/// them has to come first. The word is new to the index, whatever way it is looked for.
#[test]
fn serializable_searches_conflict_with_words_that_would_be_found() {
    for query in
        ["zebra", "zeb*", "*bra", "zebru~1", "/z.bra/", "title:[y TO zz]", "zebra AND real"]
    {
        let db = telar_db::open_in_memory().unwrap();
        fill(&db);
        run(&db, CREATE);
        let session = Session::new(&db).with_isolation(Isolation::Serializable);
        let none = ValueMap::default();
        let search = format!(
            "CALL db.index.fulltext.queryNodes('works', '{query}') YIELD node RETURN node.name"
        );
        let mut both = [session.begin().unwrap(), session.begin().unwrap()];
        for txn in &mut both {
            assert_eq!(txn.run(&search, &none).unwrap().rows.len(), 0, "{query}");
            drop(txn.run("CREATE (:Film {title: 'real zebra'})", &none).unwrap());
            // It finds its own, too.
            assert_eq!(txn.run(&search, &none).unwrap().rows.len(), 1, "{query}");
        }
        let [one, other] = both.map(|txn| txn.commit().is_ok());
        assert!(one && !other, "{query}: {one} {other}");
    }
}

#[test]
fn an_index_is_there_when_the_database_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let open = || telar_db::open(dir.path()).unwrap();
    let db = open();
    fill(&db);
    run(&db, CREATE);
    run(&db, "CREATE FULLTEXT INDEX facts FOR ()-[r:T|U]-() ON EACH [r.fact]");
    drop(db);
    let db = open();
    assert_eq!(found(&db, "works", "matrix"), ["a", "b"]);
    run(&db, "MATCH (n {name: 'a'}) SET n.title = 'Other'");
    db.checkpoint().unwrap();
    run(&db, "MATCH (n {name: 'b'}) SET n.text = 'matrix'");
    drop(db);
    let db = open();
    // Read where it is stored, before it is in memory.
    for (query, expected) in [
        ("matr*x", &["b"][..]),
        ("?orld", &["a", "c"]),
        ("wurld~1", &["c", "a"]),
        ("/mat.*/", &["b"]),
        ("matrix AND reloaded", &["b"]),
    ] {
        assert_eq!(found(&db, "works", query), expected, "{query}");
    }
    assert_eq!(found(&db, "works", "matrix"), ["b"]);
    assert_eq!(found(&db, "works", "world"), ["c", "a"]);
    assert_eq!(run(&db, "SHOW FULLTEXT INDEXES").rows.len(), 2);
}

#[test]
fn an_index_of_several_labels_is_one_to_all_who_list_it() {
    let db = database("CREATE (:Doc {t: 'one'}), (:Other {tags: ['two']})");
    let session = Session::new(&db);
    let create = "CREATE FULLTEXT INDEX ft FOR (n:Doc|Other) ON EACH [n.t, n.tags]";
    session.run(create, &[]).unwrap();
    session.run("CALL db.awaitIndex('ft', 60)", &[]).unwrap();
    let listed = "CALL apoc.schema.nodes() YIELD name, label, properties, type, userDescription \
                  RETURN name, label, properties, type, userDescription";
    let wanted = "':[Doc, Other],(t,tags)' | ['Doc', 'Other'] | ['t', 'tags'] | 'FULLTEXT' | 'ft'";
    let found = rows(&session, listed);
    assert_eq!(found, [wanted]);
    let one = "CREATE FULLTEXT INDEX single FOR (n:Doc) ON EACH [n.t]";
    session.run(one, &[]).unwrap();
    let found = rows(&session, "CALL apoc.schema.nodes() YIELD name, label RETURN name, label");
    assert_eq!(found, ["':Doc(t)' | 'Doc'", "':[Doc, Other],(t,tags)' | ['Doc', 'Other']"]);
}
