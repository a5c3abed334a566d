//! Indexes and constraints through openCypher: what they make, what they refuse, and how.

use telar_db::query::{ErrorKind, NotificationKind, Phase, QueryError, QueryResult};
use telar_db::{Database, Session, Value, ValueMap};

fn run(db: &Database, text: &str) -> QueryResult {
    Session::new(db).run(text, &[]).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn refused(db: &Database, text: &str) -> QueryError {
    Session::new(db).run(text, &[]).expect_err(text)
}

/// One column of a result, as text.
fn column(db: &Database, text: &str) -> Vec<String> {
    let result = run(db, text);
    result.rows.iter().map(|row| telar_db::query::literal(&row[0])).collect()
}

#[test]
fn index_is_made_used_and_dropped() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let person = "MATCH (n:Person {name: 'Ada'}) RETURN n.age";
    session.run("UNWIND range(1, 50) AS i CREATE (:Person {name: 'p' + i, age: i})", &[]).unwrap();
    session.run("CREATE (:Person {name: 'Ada', age: 36})", &[]).unwrap();
    let plan = |session: &Session| {
        session.run(&format!("EXPLAIN {person}"), &[]).unwrap().plan.unwrap().to_string()
    };
    assert!(plan(&session).contains("NodeByLabelScan"));
    assert_eq!(session.run(person, &[]).unwrap().rows, [[Value::from(36)]]);

    let made = session.run("CREATE INDEX by_name FOR (n:Person) ON (n.name)", &[]).unwrap();
    assert_eq!(made.counters.indexes_added, 1);
    assert!(made.counters.any() && made.rows.is_empty() && made.columns.is_empty());
    // Plans that were kept are made again.
    assert!(plan(&session).contains("NodeIndexSeek"), "{}", plan(&session));
    assert_eq!(session.run(person, &[]).unwrap().rows, [[Value::from(36)]]);

    let dropped = session.run("DROP INDEX by_name", &[]).unwrap();
    assert_eq!(dropped.counters.indexes_removed, 1);
    assert!(plan(&session).contains("NodeByLabelScan"));
}

#[test]
fn generated_names_tell_what_they_are_of() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "CREATE INDEX FOR (n:A) ON (n.x, n.y)");
    run(&db, "CREATE INDEX FOR ()-[r:A]-() ON (r.x)");
    run(&db, "CREATE CONSTRAINT FOR (n:A) REQUIRE n.z IS NOT NULL");
    let names = column(&db, "SHOW RANGE INDEXES YIELD name");
    assert_eq!(names.len(), 2);
    assert!(names.iter().all(|name| name.starts_with("'index_") && name.len() == 16), "{names:?}");
    let names = column(&db, "SHOW CONSTRAINTS YIELD name");
    assert!(names[0].starts_with("'constraint_"));
    // The same command names the same anywhere.
    let other = telar_db::open_in_memory().unwrap();
    run(&other, "CREATE CONSTRAINT FOR (n:A) REQUIRE n.z IS NOT NULL");
    assert_eq!(column(&other, "SHOW CONSTRAINTS YIELD name"), names);
}

#[test]
fn names_may_be_parameters() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let name = [("name", Value::from("my index"))];
    session.run("CREATE INDEX $name FOR (n:A) ON (n.x)", &name).unwrap();
    assert_eq!(column(&db, "SHOW RANGE INDEXES YIELD name"), ["'my index'"]);
    let missing = session.run("DROP INDEX $name", &[]).unwrap_err();
    assert_eq!(missing.kind, ErrorKind::ParameterMissing);
    let number = [("name", Value::from(1))];
    let wrong = session.run("DROP INDEX $name", &number).unwrap_err();
    assert_eq!(wrong.kind, ErrorKind::Type);
    session.run("DROP INDEX $name", &name).unwrap();
}

#[test]
fn what_exists_is_refused_with_the_codes_of_neo4j() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "CREATE INDEX by_x FOR (n:A) ON (n.x)");
    run(&db, "CREATE CONSTRAINT u FOR (n:A) REQUIRE n.u IS UNIQUE");
    run(&db, "CREATE CONSTRAINT t FOR (n:A) REQUIRE n.t IS :: INTEGER");
    let cases = [
        ("CREATE INDEX by_x FOR (n:A) ON (n.x)", "EquivalentSchemaRuleAlreadyExists"),
        ("CREATE INDEX FOR (n:A) ON (n.x)", "EquivalentSchemaRuleAlreadyExists"),
        ("CREATE INDEX other FOR (n:A) ON (n.x)", "IndexAlreadyExists"),
        ("CREATE INDEX by_x FOR (n:B) ON (n.x)", "IndexWithNameAlreadyExists"),
        ("CREATE INDEX u FOR (n:B) ON (n.x)", "ConstraintWithNameAlreadyExists"),
        ("CREATE INDEX FOR (n:A) ON (n.u)", "ConstraintAlreadyExists"),
        (
            "CREATE CONSTRAINT u FOR (n:A) REQUIRE n.u IS UNIQUE",
            "EquivalentSchemaRuleAlreadyExists",
        ),
        ("CREATE CONSTRAINT v FOR (n:A) REQUIRE n.u IS UNIQUE", "ConstraintAlreadyExists"),
        ("CREATE CONSTRAINT v FOR (n:A) REQUIRE n.u IS NODE KEY", "ConstraintAlreadyExists"),
        ("CREATE CONSTRAINT v FOR (n:A) REQUIRE n.t IS :: STRING", "ConstraintAlreadyExists"),
        ("CREATE CONSTRAINT v FOR (n:A) REQUIRE n.x IS UNIQUE", "IndexAlreadyExists"),
        ("CREATE CONSTRAINT by_x FOR (n:B) REQUIRE n.y IS UNIQUE", "IndexWithNameAlreadyExists"),
        ("CREATE CONSTRAINT u FOR (n:B) REQUIRE n.y IS UNIQUE", "ConstraintWithNameAlreadyExists"),
        ("DROP INDEX u", "IndexDropFailed"),
        ("DROP INDEX t", "IndexDropFailed"),
        ("DROP INDEX by_z", "IndexDropFailed"),
        ("DROP CONSTRAINT by_x", "ConstraintDropFailed"),
    ];
    for (text, code) in cases {
        let error = refused(&db, text);
        assert_eq!(error.code().rsplit('.').next(), Some(code), "{text}: {error}");
        assert_eq!(error.detail, code, "{text}");
        assert_eq!(error.phase, Phase::Runtime, "{text}");
    }
    assert_eq!(column(&db, "SHOW RANGE INDEXES YIELD name"), ["'by_x'", "'u'"]);
    assert_eq!(column(&db, "SHOW CONSTRAINTS YIELD name"), ["'t'", "'u'"]);
    let near = refused(&db, "DROP INDEX by_z").message;
    assert!(near.ends_with("there is no index called `by_z`; did you mean `by_x`?"), "{near}");
    // The reverse is no conflict: what a property must be, and that there is one.
    run(&db, "CREATE CONSTRAINT FOR (n:A) REQUIRE n.t IS NOT NULL");
    run(&db, "CREATE CONSTRAINT FOR (n:A) REQUIRE n.t IS UNIQUE");
}

#[test]
fn if_exists_and_if_not_exists_do_nothing_and_say_so() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "CREATE INDEX by_x FOR (n:A) ON (n.x)");
    run(&db, "CREATE CONSTRAINT u FOR (n:A) REQUIRE n.u IS UNIQUE");
    for text in [
        "CREATE INDEX by_x IF NOT EXISTS FOR (n:A) ON (n.x)",
        "CREATE INDEX other IF NOT EXISTS FOR (n:A) ON (n.x)",
        "CREATE INDEX by_x IF NOT EXISTS FOR (n:B) ON (n.x)",
        "CREATE INDEX IF NOT EXISTS FOR (n:A) ON (n.u)",
        "CREATE CONSTRAINT v IF NOT EXISTS FOR (n:A) REQUIRE n.u IS UNIQUE",
        "CREATE CONSTRAINT u IF NOT EXISTS FOR (n:B) REQUIRE n.u IS UNIQUE",
    ] {
        let result = run(&db, text);
        assert!(!result.counters.any(), "{text}");
        assert_eq!(result.notifications[0].kind, NotificationKind::RuleExists, "{text}");
    }
    for text in ["DROP INDEX gone IF EXISTS", "DROP CONSTRAINT by_x IF EXISTS"] {
        let result = run(&db, text);
        assert!(!result.counters.any(), "{text}");
        assert_eq!(result.notifications[0].kind, NotificationKind::RuleMissing, "{text}");
    }
    assert_eq!(refused(&db, "DROP INDEX u IF EXISTS").detail, "IndexDropFailed");
    assert_eq!(run(&db, "DROP CONSTRAINT u IF EXISTS").counters.constraints_removed, 1);
}

#[test]
fn constraints_hold_for_what_commits() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "CREATE CONSTRAINT mail FOR (n:Person) REQUIRE n.mail IS UNIQUE");
    run(&db, "CREATE CONSTRAINT place FOR (n:City) REQUIRE (n.country, n.name) IS NODE KEY");
    run(&db, "CREATE CONSTRAINT named FOR (n:Person) REQUIRE n.name IS NOT NULL");
    run(&db, "CREATE CONSTRAINT age FOR (n:Person) REQUIRE n.age IS :: INTEGER");
    run(&db, "CREATE CONSTRAINT id FOR ()-[r:OWNS]-() REQUIRE r.id IS RELATIONSHIP KEY");
    run(&db, "CREATE (:Person {name: 'Ada', mail: 'a@x'}), (:City {country: 'de', name: 'Ulm'})");
    run(&db, "CREATE ()-[:OWNS {id: 1}]->()");
    let cases = [
        (
            "CREATE (:Person {name: 'Bob', mail: 'a@x'})",
            "Node(0) already exists with label `Person` and property `mail` = 'a@x' \
             (constraint `mail`)",
        ),
        (
            "CREATE (:City {name: 'Ulm', country: 'de'})",
            "Node(1) already exists with label `City` and properties `country` = 'de', \
             `name` = 'Ulm' (constraint `place`)",
        ),
        (
            "MATCH (n:City) REMOVE n.name",
            "Node(1) with label `City` must have the property `name` (constraint `place`)",
        ),
        (
            "MATCH (n:Person) SET n.name = null",
            "Node(0) with label `Person` must have the property `name` (constraint `named`)",
        ),
        ("MATCH (n:City) SET n:Person", ""),
        (
            "MATCH (n:Person) SET n.age = 'old'",
            "Node(0) with label `Person` must have the property `age` of type INTEGER, not STRING \
             (constraint `age`)",
        ),
        ("MATCH (a:Person), (b:City) CREATE (a)-[:OWNS]->(b)", "must have the property `id`"),
        ("MATCH (a:Person), (b:City) CREATE (a)-[:OWNS {id: 1}]->(b)", "and property `id` = 1"),
        ("UNWIND [1, 1] AS i CREATE ()-[:OWNS {id: i + 1}]->()", "and property `id` = 2"),
    ];
    for (text, message) in cases {
        if message.is_empty() {
            // It has a name: only the other way round is a violation.
            run(&db, text);
            run(&db, "MATCH (n:City) REMOVE n:Person");
            continue;
        }
        let error = refused(&db, text);
        assert_eq!(error.kind, ErrorKind::ConstraintViolation, "{text}: {error}");
        assert_eq!(error.code(), "Neo.ClientError.Schema.ConstraintValidationFailed");
        assert!(error.message.contains(message), "{text}\n{}", error.message);
    }
    assert_eq!(run(&db, "MATCH (n) RETURN n").rows.len(), 4);
    // At the commit of a transaction, too, and then nothing of it is there.
    let session = Session::new(&db);
    let mut transaction = session.begin().unwrap();
    transaction.run("CREATE (:Person {name: 'Bob', mail: 'a@x'})", &ValueMap::new()).unwrap();
    assert_eq!(transaction.commit().unwrap_err().kind, ErrorKind::ConstraintViolation);
    assert_eq!(run(&db, "MATCH (n:Person) RETURN n").rows.len(), 1);
    // A key that moves in one transaction is no violation.
    run(&db, "MATCH (n:Person) SET n.mail = null CREATE (:Person {name: 'Bob', mail: 'a@x'})");
}

#[test]
fn constraint_that_does_not_hold_is_not_made() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "UNWIND [1, 1, 2] AS x CREATE (:A {x: x})-[:R {w: x}]->(:B {x: 'text'})");
    let cases = [
        (
            "CREATE CONSTRAINT c FOR (n:A) REQUIRE n.x IS UNIQUE",
            "Unable to create Constraint( name='c', type='UNIQUENESS', schema=(:A {x}) ): \
             Both Node(0) and Node(1) have 1",
        ),
        (
            "CREATE CONSTRAINT c FOR (n:A) REQUIRE n.y IS NOT NULL",
            "Unable to create Constraint( name='c', type='NODE_PROPERTY_EXISTENCE', \
             schema=(:A {y}) ): Node(0) must have the property `y`",
        ),
        (
            "CREATE CONSTRAINT c FOR (n:A) REQUIRE n.y IS NODE KEY",
            "type='NODE_KEY', schema=(:A {y}) ): Node(0) must have the property `y`",
        ),
        ("CREATE CONSTRAINT c FOR (n:A) REQUIRE n.x IS NODE KEY", "have 1"),
        (
            "CREATE CONSTRAINT c FOR (n:B) REQUIRE n.x IS :: INTEGER",
            "must have the property `x` of type INTEGER, not STRING",
        ),
        (
            "CREATE CONSTRAINT c FOR ()-[r:R]-() REQUIRE r.w IS UNIQUE",
            "type='RELATIONSHIP_UNIQUENESS', schema=()-[:R {w}]-() ): Both Relationship(",
        ),
    ];
    for (text, message) in cases {
        let error = refused(&db, text);
        assert_eq!(error.code(), "Neo.DatabaseError.Schema.ConstraintCreationFailed", "{text}");
        assert!(error.message.contains(message), "{text}\n{}", error.message);
    }
    assert!(run(&db, "SHOW CONSTRAINTS").rows.is_empty());
    run(&db, "CREATE (:A {x: 1})");
    run(&db, "CREATE CONSTRAINT c FOR (n:A) REQUIRE n.x IS NOT NULL");
}

#[test]
fn what_is_not_supported_says_what_is() {
    let db = telar_db::open_in_memory().unwrap();
    let text = "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS :: LIST<STRING NOT NULL>";
    assert_eq!(refused(&db, text).kind, ErrorKind::NotSupported, "{text}");
    for (text, detail) in [
        ("CREATE INDEX FOR (n:A) ON (n.x, n.x)", "RepeatedPropertyInCompositeSchema"),
        ("CREATE CONSTRAINT FOR (n:A) REQUIRE (n.x, n.y) IS NOT NULL", "UnexpectedSyntax"),
        ("CREATE INDEX FOR (n:A) ON (n.x) OPTIONS {speed: 9}", "InvalidArgumentValue"),
    ] {
        assert_eq!(refused(&db, text).detail, detail, "{text}");
    }
    run(&db, "CREATE INDEX FOR (n:A) ON (n.x) OPTIONS {indexProvider: 'range-1.0'}");
}

#[test]
fn lookup_indexes_are_always_there() {
    let db = telar_db::open_in_memory().unwrap();
    let shown = run(
        &db,
        "SHOW LOOKUP INDEXES YIELD id, name, state, type, entityType, labelsOrTypes, properties, \
         indexProvider, createStatement",
    );
    let row = |id: i64, name: &str, entity: &str, target: &str| {
        let statement = format!("CREATE LOOKUP INDEX `{name}` FOR {target}");
        let [name, state, kind, entity] = [name, "ONLINE", "LOOKUP", entity].map(Value::from);
        let none = Value::Null;
        let provider = "token-lookup-1.0".into();
        [id.into(), name, state, kind, entity, none.clone(), none, provider, statement.into()]
    };
    let nodes = row(1, "index_343aff4e", "NODE", "(n) ON EACH labels(n)");
    let relationships = row(2, "index_f7700477", "RELATIONSHIP", "()-[r]-() ON EACH type(r)");
    assert_eq!(shown.rows, [nodes, relationships]);
    run(&db, "CREATE INDEX index_5 FOR (n:A) ON (n.x)");
    let names = column(&db, "SHOW INDEXES YIELD name");
    assert_eq!(names, ["'index_343aff4e'", "'index_5'", "'index_f7700477'"]);
    assert_eq!(column(&db, "SHOW RANGE INDEXES YIELD id"), ["3"]);
    for (text, detail) in [
        ("CREATE LOOKUP INDEX FOR (n) ON EACH labels(n)", "EquivalentSchemaRuleAlreadyExists"),
        (
            "CREATE LOOKUP INDEX `index_f7700477` FOR ()-[r]-() ON EACH type(r)",
            "EquivalentSchemaRuleAlreadyExists",
        ),
        ("CREATE LOOKUP INDEX mine FOR (n) ON EACH labels(n)", "IndexAlreadyExists"),
        ("CREATE INDEX index_343aff4e FOR (n:A) ON (n.y)", "IndexWithNameAlreadyExists"),
        (
            "CREATE CONSTRAINT index_343aff4e IF NOT EXISTS FOR (n:A) REQUIRE n.y IS UNIQUE",
            "IndexWithNameAlreadyExists",
        ),
        ("DROP INDEX index_f7700477", "IndexDropFailed"),
        ("DROP INDEX index_f7700477 IF EXISTS", "IndexDropFailed"),
        ("DROP CONSTRAINT index_f7700477", "ConstraintDropFailed"),
        (
            "CREATE LOOKUP INDEX IF NOT EXISTS FOR (n) ON EACH labels(n) \
             OPTIONS {indexProvider: 'range-1.0'}",
            "InvalidArgumentValue",
        ),
    ] {
        assert_eq!(refused(&db, text).detail, detail, "{text}");
    }
    for text in [
        "CREATE LOOKUP INDEX IF NOT EXISTS FOR (n) ON EACH labels(n)",
        "CREATE LOOKUP INDEX mine IF NOT EXISTS FOR ()-[r]-() ON EACH type(r) \
         OPTIONS {indexProvider: 'token-lookup-1.0'}",
        "CREATE INDEX index_343aff4e IF NOT EXISTS FOR (n:A) ON (n.y)",
    ] {
        let result = run(&db, text);
        assert!(!result.counters.any(), "{text}");
        assert_eq!(result.notifications[0].kind, NotificationKind::RuleExists, "{text}");
    }
    run(&db, "CALL db.awaitIndex('index_343aff4e')");
    let explained = run(&db, "EXPLAIN CREATE LOOKUP INDEX FOR (n) ON EACH labels(n)");
    assert_eq!(explained.plan.unwrap().details, "LOOKUP (n) ON EACH labels(n)");
    assert_eq!(run(&db, "SHOW INDEXES").rows.len(), 3);
}

#[test]
fn explained_commands_do_nothing() {
    let db = telar_db::open_in_memory().unwrap();
    let explained = run(&db, "EXPLAIN CREATE INDEX FOR (n:A) ON (n.x)");
    assert_eq!(explained.plan.unwrap().operator, "CreateIndex");
    assert!(run(&db, "SHOW RANGE INDEXES").rows.is_empty());
    let profiled = run(&db, "PROFILE CREATE INDEX FOR (n:A) ON (n.x)");
    assert_eq!(profiled.plan.unwrap().operator, "CreateIndex");
    assert_eq!(run(&db, "SHOW RANGE INDEXES").rows.len(), 1);
}

#[test]
fn key_constraints_are_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.telar");
    let make = "CREATE CONSTRAINT k FOR (n:A) REQUIRE (n.x, n.y) IS NODE KEY";
    let db = telar_db::open(&path).unwrap();
    run(&db, make);
    run(&db, "CREATE (:A {x: 1, y: 1})");
    let check = |db: &Database| {
        let shown = run(db, "SHOW CONSTRAINTS YIELD type, createStatement");
        let statement = "CREATE CONSTRAINT `k` FOR (n:`A`) REQUIRE (n.`x`, n.`y`) IS NODE KEY";
        assert_eq!(shown.rows, [[Value::from("NODE_KEY"), statement.into()]]);
        for text in ["CREATE (:A {x: 1})", "CREATE (:A {x: 1, y: 1})", "MATCH (n:A) SET n.x = null"]
        {
            assert_eq!(refused(db, text).kind, ErrorKind::ConstraintViolation, "{text}");
        }
    };
    check(&db);
    drop(db);
    // From the log, and from a checkpoint, where the entries are read when first used.
    let db = telar_db::open(&path).unwrap();
    check(&db);
    db.close().unwrap();
    let db = telar_db::open(&path).unwrap();
    check(&db);
    drop(db);
}
