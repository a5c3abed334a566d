//! Commands about TEXT and POINT indexes: made, listed, refused, in transactions, opened again.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::query::{ErrorKind, NotificationKind, QueryError, QueryResult, literal};
use telar_db::{Database, Session, Value, ValueMap, maintenance};

fn run(db: &Database, text: &str) -> QueryResult {
    Session::new(db).run(text, &[]).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn refused(db: &Database, text: &str) -> QueryError {
    Session::new(db).run(text, &[]).expect_err(text)
}

fn shown(db: &Database, text: &str) -> Vec<String> {
    let line = |row: &Vec<Value>| row.iter().map(literal).collect::<Vec<_>>().join(" ");
    run(db, text).rows.iter().map(line).collect()
}

const MAKE: [&str; 4] = [
    "CREATE TEXT INDEX t FOR (n:A) ON (n.x)",
    "CREATE TEXT INDEX rt FOR ()-[r:R]-() ON (r.x) OPTIONS {indexProvider: 'text-2.0'}",
    "CREATE POINT INDEX p FOR (n:A) ON (n.x)",
    "CREATE POINT INDEX rp FOR ()-[r:R]->() ON (r.x) \
     OPTIONS {indexProvider: 'point-1.0', indexConfig: {`spatial.wgs-84.min`: [-100.0, -80.0]}}",
];

#[test]
fn each_kind_is_listed_with_its_provider() {
    let db = telar_db::open_in_memory().unwrap();
    for text in MAKE {
        assert_eq!(run(&db, text).counters.indexes_added, 1, "{text}");
    }
    run(&db, "CREATE INDEX range FOR (n:A) ON (n.x)");
    let columns = "YIELD name, type, entityType, labelsOrTypes, properties, indexProvider, state, \
                   populationPercent, owningConstraint, createStatement";
    assert_eq!(
        shown(&db, &format!("SHOW TEXT INDEXES {columns}")),
        [
            "'rt' 'TEXT' 'RELATIONSHIP' ['R'] ['x'] 'text-2.0' 'ONLINE' 100.0 NULL \
             'CREATE TEXT INDEX `rt` FOR ()-[r:`R`]-() ON (r.`x`)'",
            "'t' 'TEXT' 'NODE' ['A'] ['x'] 'text-2.0' 'ONLINE' 100.0 NULL \
             'CREATE TEXT INDEX `t` FOR (n:`A`) ON (n.`x`)'",
        ]
    );
    let points = shown(&db, &format!("SHOW POINT INDEXES {columns}"));
    let (points, settings): (Vec<&str>, Vec<&str>) =
        points.iter().map(|row| row.split_once(" OPTIONS ").unwrap()).unzip();
    assert_eq!(
        points,
        [
            "'p' 'POINT' 'NODE' ['A'] ['x'] 'point-1.0' 'ONLINE' 100.0 NULL \
             'CREATE POINT INDEX `p` FOR (n:`A`) ON (n.`x`)",
            "'rp' 'POINT' 'RELATIONSHIP' ['R'] ['x'] 'point-1.0' 'ONLINE' 100.0 NULL \
             'CREATE POINT INDEX `rp` FOR ()-[r:`R`]-() ON (r.`x`)",
        ]
    );
    for settings in settings {
        let first = "{indexConfig: {`spatial.cartesian-3d.max`: [1000000.0, 1000000.0, 1000000.0],";
        assert!(settings.starts_with(first), "{settings}");
    }
    assert_eq!(shown(&db, "SHOW RANGE INDEXES YIELD name"), ["'range'"]);
    assert_eq!(shown(&db, "SHOW INDEXES YIELD name WHERE NOT name STARTS WITH 'index_'").len(), 5);
    let config = "SHOW POINT INDEXES YIELD name, options WHERE name = 'p' \
                  RETURN options.indexConfig['spatial.wgs-84.max'], size(keys(options.indexConfig))";
    assert_eq!(shown(&db, config), ["[180.0, 90.0] 8"]);
    // What is shown makes the same.
    let statements = shown(
        &db,
        "SHOW INDEXES YIELD type, createStatement WHERE type <> 'LOOKUP' \
                                 RETURN createStatement",
    );
    let other = telar_db::open_in_memory().unwrap();
    for statement in &statements {
        run(&other, statement.trim_matches('\''));
    }
    let names = "SHOW INDEXES YIELD name, type, properties";
    assert_eq!(shown(&other, names), shown(&db, names));
    for name in ["t", "rt", "p", "rp", "range"] {
        assert_eq!(run(&db, &format!("DROP INDEX {name}")).counters.indexes_removed, 1);
    }
    assert_eq!(shown(&db, "SHOW INDEXES YIELD name").len(), 2);
}

#[test]
fn kinds_stand_side_by_side_and_each_is_there_once() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "CREATE CONSTRAINT c FOR (n:A) REQUIRE n.x IS UNIQUE");
    MAKE.iter().for_each(|text| drop(run(&db, text)));
    for (text, detail) in [
        ("CREATE TEXT INDEX t FOR (n:A) ON (n.x)", "EquivalentSchemaRuleAlreadyExists"),
        ("CREATE TEXT INDEX FOR (n:A) ON (n.x)", "EquivalentSchemaRuleAlreadyExists"),
        ("CREATE TEXT INDEX u FOR (n:A) ON (n.x)", "IndexAlreadyExists"),
        ("CREATE POINT INDEX p FOR (n:A) ON (n.x)", "EquivalentSchemaRuleAlreadyExists"),
        ("CREATE POINT INDEX u FOR ()-[r:R]-() ON (r.x)", "IndexAlreadyExists"),
        ("CREATE POINT INDEX t FOR (n:A) ON (n.y)", "IndexWithNameAlreadyExists"),
        ("CREATE TEXT INDEX c FOR (n:A) ON (n.y)", "ConstraintWithNameAlreadyExists"),
        ("CREATE INDEX FOR (n:A) ON (n.x)", "ConstraintAlreadyExists"),
    ] {
        assert_eq!(refused(&db, text).detail, detail, "{text}");
    }
    for text in [
        "CREATE TEXT INDEX u IF NOT EXISTS FOR (n:A) ON (n.x)",
        "CREATE TEXT INDEX p IF NOT EXISTS FOR (n:B) ON (n.x)",
        "CREATE POINT INDEX IF NOT EXISTS FOR ()-[r:R]-() ON (r.x)",
    ] {
        let result = run(&db, text);
        assert_eq!(result.counters.indexes_added, 0, "{text}");
        assert_eq!(result.notifications[0].kind, NotificationKind::RuleExists, "{text}");
    }
    // An index of strings or points is no index of a constraint.
    run(&db, "DROP CONSTRAINT c");
    run(&db, "CREATE CONSTRAINT k FOR (n:A) REQUIRE n.x IS NODE KEY");
    let names = shown(&db, "SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name");
    assert_eq!(names, ["'k'", "'p'", "'rp'", "'rt'", "'t'"]);
    // A generated name tells kinds apart.
    run(&db, "CREATE TEXT INDEX FOR (n:C) ON (n.x)");
    run(&db, "CREATE POINT INDEX FOR (n:C) ON (n.x)");
    run(&db, "CREATE INDEX FOR (n:C) ON (n.x)");
}

#[test]
fn what_neo4j_refuses_is_refused() {
    let db = telar_db::open_in_memory().unwrap();
    for (text, message) in [
        ("CREATE TEXT INDEX FOR (n:A) ON (n.x, n.y)", "Only single property text indexes"),
        ("CREATE POINT INDEX FOR ()-[r:A]-() ON (r.x, r.y)", "Only single property point indexes"),
        ("CREATE TEXT INDEX FOR (n:A|B) ON (n.x)", "one label"),
    ] {
        let error = refused(&db, text);
        assert_eq!(error.kind, ErrorKind::Syntax, "{text}");
        assert!(error.message.contains(message), "{text}\n{error}");
    }
    let point = "CREATE POINT INDEX FOR (n:A) ON (n.x) OPTIONS ";
    let text = "CREATE TEXT INDEX FOR (n:A) ON (n.x) OPTIONS ";
    for (command, options) in [
        (text, "{indexProvider: 'range-1.0'}"),
        (text, "{indexProvider: 2}"),
        (text, "{indexConfig: {`spatial.wgs-84.min`: [-100.0, -80.0]}}"),
        (point, "{indexProvider: 'text-2.0'}"),
        (point, "{indexProvider: 'spatial-1.0'}"),
        (point, "{indexConfig: {speed: 9}}"),
        (point, "{indexConfig: 7}"),
        (point, "{indexConfig: {`spatial.wgs-84.min`: [-100.0]}}"),
        (point, "{indexConfig: {`spatial.wgs-84.min`: [-100.0, -91.0]}}"),
        (point, "{indexConfig: {`spatial.wgs-84.min`: -100.0}}"),
        (point, "{indexConfig: {`spatial.cartesian.min`: ['a', 'b']}}"),
        (
            point,
            "{indexConfig: {`spatial.cartesian.min`: [0, 0], `spatial.cartesian.max`: [1, 0]}}",
        ),
    ] {
        let error = refused(&db, &format!("{command}{options}"));
        assert_eq!(error.detail, "InvalidArgumentValue", "{command}{options}");
        assert_eq!(error.kind, ErrorKind::InvalidArguments, "{command}{options}");
    }
    assert_eq!(shown(&db, "SHOW INDEXES YIELD name").len(), 2);
    for command in [
        "CREATE TEXT INDEX FOR (n:A) ON (n.x) OPTIONS {indexProvider: 'text-1.0', indexConfig: {}}",
        "CREATE POINT INDEX FOR (n:A) ON (n.x) OPTIONS {indexConfig: \
         {`spatial.cartesian.min`: [-100, -100.5], `spatial.cartesian-3d.max`: [1.0, 2.0, 3.0]}}",
    ] {
        run(&db, command);
    }
}

#[test]
fn transactions_make_both_or_neither() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "CREATE (:A {x: 'abc'}), (:A {x: point({x: 1, y: 2})})");
    let session = Session::new(&db);
    for commit in [false, true] {
        let mut txn = session.begin().unwrap();
        for text in [MAKE[0], MAKE[2]] {
            txn.run(text, &ValueMap::new()).unwrap();
        }
        let pending = txn.run("SHOW TEXT INDEXES YIELD state", &ValueMap::new()).unwrap();
        assert_eq!(pending.rows, [[Value::from("POPULATING")]]);
        match commit {
            true => drop(txn.commit().unwrap()),
            false => txn.rollback(),
        }
        let there = shown(&db, "SHOW INDEXES YIELD type, state WHERE type <> 'LOOKUP' RETURN type");
        assert_eq!(there.len(), if commit { 2 } else { 0 });
    }
    let found = run(&db, "MATCH (n:A) WHERE n.x CONTAINS 'b' RETURN n.x");
    assert_eq!(found.rows, [[Value::from("abc")]]);
}

#[test]
fn both_are_there_after_a_restart_from_the_log_and_from_a_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let questions = [
        "MATCH (n:A) WHERE n.x CONTAINS '7' RETURN count(*)",
        "MATCH (n:A) WHERE n.x ENDS WITH '9' RETURN count(*)",
        "MATCH (n:A) WHERE point.distance(n.x, point({x: 40, y: 0})) < 10.5 RETURN count(*)",
        "MATCH ()-[r:R]->() WHERE point.withinBBox(r.x, point({x: 10, y: 0}), point({x: 20, y: 0})) \
         RETURN count(*)",
    ];
    let answers = |db: &Database| -> Vec<Value> {
        let one = |text: &&str| {
            let plan = run(db, &format!("EXPLAIN {text}")).plan.unwrap().to_string();
            assert!(plan.contains("TEXT INDEX") || plan.contains("POINT INDEX"), "{plan}");
            run(db, text).rows[0][0].clone()
        };
        questions.iter().map(one).collect()
    };
    let mut db = telar_db::open(dir.path()).unwrap();
    MAKE.iter().for_each(|text| drop(run(&db, text)));
    let mut expected = [0, 0, 0, 0];
    for round in 0..3 {
        run(
            &db,
            "UNWIND range(1, 100) AS i CREATE (:A {x: 'text ' + i}), \
             (:A {x: point({x: i, y: 0})})-[:R {x: point({x: i, y: 0})}]->(:A {x: i})",
        );
        for (sum, each) in expected.iter_mut().zip([19, 10, 21, 11]) {
            *sum += each;
        }
        assert_eq!(answers(&db), expected.map(Value::Int));
        match round {
            0 => drop(db),
            1 => {
                db.checkpoint().unwrap();
                drop(db);
            }
            _ => db.close().unwrap(),
        }
        db = telar_db::open(dir.path()).unwrap();
        assert_eq!(answers(&db), expected.map(Value::Int), "after round {round}");
    }
    db.close().unwrap();
    assert_eq!(maintenance::check(dir.path()).unwrap().findings, []);
}
