//! `SHOW`, `TERMINATE`, the procedures that every session has, and notifications.

use std::sync::{Arc, mpsc};
use std::thread;

use telar_db::query::{
    CallContext, ErrorKind, NotificationKind, Procedure, Procedures, QueryError, QueryResult,
    literal,
    procedure::{Field, RowSource},
};
use telar_db::{Database, Runtime, Session, Value, ValueMap};

fn run(db: &Database, text: &str) -> QueryResult {
    Session::new(db).run(text, &[]).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn names(result: &QueryResult) -> Vec<&str> {
    result.columns.iter().map(|name| &**name).collect()
}

/// Rows as text, a line each.
fn rows(db: &Database, text: &str) -> Vec<String> {
    let line = |row: &Vec<Value>| row.iter().map(literal).collect::<Vec<_>>().join(" ");
    run(db, text).rows.iter().map(line).collect()
}

/// A small graph with an index and two constraints.
fn sample() -> Database {
    let db = telar_db::open_in_memory().expect("a database in memory");
    run(&db, "CREATE INDEX by_age FOR (n:Person) ON (n.age, n.name)");
    run(&db, "CREATE INDEX since FOR ()-[r:KNOWS]-() ON (r.since)");
    run(&db, "CREATE CONSTRAINT name FOR (n:Person) REQUIRE n.name IS UNIQUE");
    run(&db, "CREATE CONSTRAINT age FOR (n:Person) REQUIRE n.age IS :: INTEGER");
    run(
        &db,
        "CREATE (a:Person {name: 'Ada', age: 36}), (b:Person {name: 'Bob'}), \
         (a)-[:KNOWS {since: 1833}]->(b), (b)-[:LIVES_IN]->(:City:Place {name: 'Ulm', sights: ['Minster']})",
    );
    db
}

#[test]
fn show_indexes_has_the_columns_of_neo4j() {
    let db = sample();
    let all = run(&db, "SHOW INDEXES");
    let columns = "id name state populationPercent type entityType labelsOrTypes properties \
                   indexProvider owningConstraint lastRead readCount";
    assert_eq!(names(&all).join(" "), columns);
    assert_eq!(
        rows(
            &db,
            "SHOW RANGE INDEXES YIELD name, state, populationPercent, type, entityType, \
                   labelsOrTypes, properties, owningConstraint, createStatement"
        ),
        [
            "'by_age' 'ONLINE' 100.0 'RANGE' 'NODE' ['Person'] ['age', 'name'] NULL \
             'CREATE RANGE INDEX `by_age` FOR (n:`Person`) ON (n.`age`, n.`name`)'",
            "'name' 'ONLINE' 100.0 'RANGE' 'NODE' ['Person'] ['name'] 'name' \
             'CREATE CONSTRAINT `name` FOR (n:`Person`) REQUIRE (n.`name`) IS UNIQUE'",
            "'since' 'ONLINE' 100.0 'RANGE' 'RELATIONSHIP' ['KNOWS'] ['since'] NULL \
             'CREATE RANGE INDEX `since` FOR ()-[r:`KNOWS`]-() ON (r.`since`)'",
        ]
    );
    assert!(run(&db, "SHOW TEXT INDEXES").rows.is_empty());
    assert_eq!(run(&db, "SHOW RANGE INDEXES").rows.len(), 3);
    assert_eq!(run(&db, "SHOW LOOKUP INDEXES").rows.len(), 2);
    assert_eq!(run(&db, "SHOW INDEXES").rows.len(), 5);
}

#[test]
fn statements_that_are_shown_make_the_same_again() {
    let db = sample();
    run(
        &db,
        "CREATE CONSTRAINT `odd name` FOR ()-[r:`of, course`]-() REQUIRE (r.a, r.`b c`) IS KEY",
    );
    run(&db, "CREATE CONSTRAINT list FOR (n:X) REQUIRE n.l IS :: LIST<ANY>");
    let shown = "SHOW CONSTRAINTS YIELD createStatement RETURN createStatement AS s ORDER BY s";
    let statements = run(&db, shown);
    let other = telar_db::open_in_memory().unwrap();
    for row in &statements.rows {
        let Value::String(statement) = &row[0] else { panic!("{row:?}") };
        run(&other, statement);
    }
    assert_eq!(run(&other, shown).rows, statements.rows);
    assert_eq!(statements.rows.len(), 4);
}

#[test]
fn show_constraints_filters_by_kind() {
    let db = sample();
    let columns = "id name type entityType labelsOrTypes properties ownedIndex propertyType";
    assert_eq!(names(&run(&db, "SHOW CONSTRAINTS")).join(" "), columns);
    assert_eq!(
        rows(&db, "SHOW CONSTRAINTS YIELD name, type, ownedIndex, propertyType"),
        ["'age' 'NODE_PROPERTY_TYPE' NULL 'INTEGER'", "'name' 'UNIQUENESS' 'name' NULL"]
    );
    for (kind, count) in [("UNIQUE", 1), ("KEY", 0), ("EXISTENCE", 0), ("PROPERTY TYPE", 1)] {
        let text = format!("SHOW {kind} CONSTRAINTS");
        assert_eq!(run(&db, &text).rows.len(), count, "{text}");
    }
    assert!(run(&db, "SHOW RELATIONSHIP UNIQUE CONSTRAINTS").rows.is_empty());
}

#[test]
fn show_yields_filters_sorts_and_returns() {
    let db = sample();
    assert_eq!(rows(&db, "SHOW INDEXES WHERE entityType = 'RELATIONSHIP'").len(), 2);
    assert_eq!(
        rows(&db, "SHOW INDEXES YIELD name AS n, properties ORDER BY n DESC LIMIT 2"),
        ["'since' ['since']", "'name' ['name']"]
    );
    assert_eq!(
        rows(
            &db,
            "SHOW INDEXES YIELD name, properties WHERE size(properties) = 1 \
                   RETURN count(*) AS n, collect(name) AS names"
        ),
        ["2 ['name', 'since']"]
    );
    assert_eq!(names(&run(&db, "SHOW INDEXES YIELD *")).len(), 16);
    let session = Session::new(&db);
    for text in ["SHOW INDEXES YIELD nothing", "SHOW INDEXES WHERE createStatement = ''"] {
        assert_eq!(session.run(text, &[]).unwrap_err().detail, "UndefinedVariable", "{text}");
    }
    let who = [("who", Value::from("by_age"))];
    assert_eq!(session.run("SHOW INDEXES WHERE name = $who", &who).unwrap().rows.len(), 1);
}

#[test]
fn show_procedures_and_functions_lists_what_can_be_called() {
    let db = sample();
    let shown =
        rows(&db, "SHOW PROCEDURES YIELD name, signature WHERE name STARTS WITH 'db.await'");
    assert_eq!(
        shown,
        [
            "'db.awaitIndex' 'db.awaitIndex(indexName :: STRING, \
             timeOutSeconds = 300 :: INTEGER)'",
            "'db.awaitIndexes' 'db.awaitIndexes(timeOutSeconds = 300 :: INTEGER)'",
        ]
    );
    assert_eq!(
        names(&run(&db, "SHOW PROCEDURES")).join(" "),
        "name description mode worksOnSystem"
    );
    assert_eq!(names(&run(&db, "SHOW FUNCTIONS")).join(" "), "name category description");
    let some = "SHOW BUILT IN FUNCTIONS YIELD name, aggregating WHERE name IN \
                ['count', 'labels', 'date.truncate', 'id'] RETURN name, aggregating";
    assert_eq!(
        rows(&db, some),
        ["'count' TRUE", "'date.truncate' FALSE", "'id' FALSE", "'labels' FALSE"]
    );
    // Each once, and each exists.
    let all = rows(&db, "SHOW FUNCTIONS YIELD name RETURN count(*), count(DISTINCT name)");
    let (all, distinct) = all[0].split_once(' ').unwrap();
    assert_eq!(all, distinct);
    assert!(run(&db, "SHOW USER DEFINED FUNCTIONS").rows.is_empty());
}

#[test]
fn show_databases_has_one() {
    let db = sample();
    assert_eq!(
        rows(&db, "SHOW DATABASES YIELD name, currentStatus, `default`"),
        ["'telar' 'online' TRUE"]
    );
    assert_eq!(run(&db, "SHOW DATABASE telar").rows.len(), 1);
    assert_eq!(run(&db, "SHOW DATABASE other").rows.len(), 0);
    assert_eq!(run(&db, "SHOW DEFAULT DATABASE").rows.len(), 1);
}

#[test]
fn procedures_tell_what_the_graph_has() {
    let db = sample();
    assert_eq!(rows(&db, "CALL db.labels()"), ["'Person'", "'City'", "'Place'"]);
    assert_eq!(rows(&db, "CALL db.relationshipTypes()"), ["'KNOWS'", "'LIVES_IN'"]);
    assert_eq!(
        rows(
            &db,
            "CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey ORDER BY propertyKey"
        ),
        ["'age'", "'name'", "'sights'", "'since'"]
    );
    assert_eq!(
        rows(&db, "CALL db.schema.nodeTypeProperties()"),
        [
            "':`City`:`Place`' ['City', 'Place'] 'name' ['String'] TRUE",
            "':`City`:`Place`' ['City', 'Place'] 'sights' ['StringArray'] TRUE",
            "':`Person`' ['Person'] 'age' ['Long'] FALSE",
            "':`Person`' ['Person'] 'name' ['String'] TRUE",
        ]
    );
    assert_eq!(
        rows(&db, "CALL db.schema.relTypeProperties()"),
        ["':`KNOWS`' 'since' ['Long'] TRUE", "':`LIVES_IN`' NULL NULL FALSE"]
    );
    assert_eq!(
        rows(&db, "CALL db.schema.visualization() YIELD relationships RETURN relationships"),
        ["[{from: 'Person', to: 'Person', type: 'KNOWS'}, \
          {from: 'Person', to: 'City', type: 'LIVES_IN'}, \
          {from: 'Person', to: 'Place', type: 'LIVES_IN'}]"]
    );
    assert_eq!(
        rows(&db, "CALL telar.statistics()"),
        [
            "'nodes' NULL 3",
            "'label' 'Person' 2",
            "'label' 'City' 1",
            "'label' 'Place' 1",
            "'relationships' NULL 2",
            "'type' 'KNOWS' 1",
            "'type' 'LIVES_IN' 1",
        ]
    );
    let version = format!("'Telar' ['{}'] 'community'", env!("CARGO_PKG_VERSION"));
    let served = ["'Neo4j Kernel' ['5.26.0'] 'community'", "'Cypher' ['5'] 'community'"];
    assert_eq!(rows(&db, "CALL dbms.components()"), [served[0], served[1], &version]);
    assert_eq!(rows(&db, "CALL db.ping() YIELD success RETURN success"), ["TRUE"]);
    // In a transaction, what it has not committed is there.
    let session = Session::new(&db);
    let mut transaction = session.begin().unwrap();
    transaction.run("CREATE (:New {x: 1.5})", &ValueMap::new()).unwrap();
    let text = "CALL db.schema.nodeTypeProperties() YIELD nodeType, propertyTypes \
                WHERE nodeType = ':`New`' RETURN propertyTypes";
    let seen = transaction.run(text, &ValueMap::new()).unwrap();
    assert_eq!(seen.rows, [[Value::list(["Double"])]]);
}

#[test]
fn waiting_for_indexes_ends() {
    let db = sample();
    for text in [
        "CALL db.awaitIndexes()",
        "CALL db.awaitIndexes(5)",
        "CALL db.awaitIndex('by_age')",
        "CALL db.awaitIndex('by_age', 5)",
        "CALL db.awaitIndexes",
    ] {
        assert!(run(&db, text).rows.is_empty(), "{text}");
    }
    let session = Session::new(&db);
    let error = session.run("CALL db.awaitIndex('by_agee')", &[]).unwrap_err();
    assert_eq!(error.code(), "Neo.ClientError.Procedure.ProcedureCallFailed");
    let many = session.run("CALL db.awaitIndex('a', 1, 2)", &[]).unwrap_err();
    assert_eq!(many.detail, "InvalidNumberOfArguments");
    let wrong = session.run("CALL db.awaitIndexes('soon')", &[]).unwrap_err();
    assert_eq!(wrong.detail, "InvalidArgumentType");
}

#[test]
fn names_that_nothing_has_are_pointed_out() {
    let db = sample();
    let found = |text: &str| -> Vec<(NotificationKind, String, usize)> {
        let notifications = run(&db, text).notifications.into_iter();
        notifications.map(|n| (n.kind, n.message, n.position.unwrap().column)).collect()
    };
    use NotificationKind::{UnknownLabel, UnknownPropertyKey, UnknownType};
    let person = "there is no label `Persn` in the database; did you mean `Person`?";
    assert_eq!(found("MATCH (n:Persn) RETURN n"), [(UnknownLabel, person.into(), 10)]);
    let all = found("EXPLAIN MATCH (n:Nobody)-[r:KNOW]->({nam: 1}) WHERE r.x = n.age RETURN n.nam");
    let message = |what: &str, name: &str, near: &str| {
        let help =
            if near.is_empty() { String::new() } else { format!("; did you mean `{near}`?") };
        format!("there is no {what} `{name}` in the database{help}")
    };
    assert_eq!(
        all,
        [
            (UnknownLabel, message("label", "Nobody", ""), 18),
            (UnknownType, message("relationship type", "KNOW", "KNOWS"), 29),
            (UnknownPropertyKey, message("property key", "nam", "name"), 38),
            (UnknownPropertyKey, message("property key", "x", ""), 55),
        ]
    );
    // What the query makes itself, and what is only asked of a map, is not unknown.
    for text in [
        "MATCH (n:Person:City) RETURN n.name",
        "CREATE (n:Fresh {fresh: 1})",
        "MERGE (n:Fresher {fresher: 1}) RETURN n.fresher",
        "CREATE (n:Newer {newer: 1}) WITH n MATCH (m:Newer) RETURN m.newer",
        "WITH {a: 1} AS map RETURN map.whatever",
        "MATCH (n:Person) SET n.set = 1",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
    // A plan that is kept does not keep the news.
    let session = Session::new(&db);
    let text = "MATCH (n:Late) RETURN n";
    assert_eq!(session.run(text, &[]).unwrap().notifications.len(), 1);
    session.run("CREATE (:Late)", &[]).unwrap();
    assert!(session.run(text, &[]).unwrap().notifications.is_empty());
    let code = UnknownLabel.code();
    assert_eq!(code, "Neo.ClientNotification.Statement.UnknownLabelWarning");
}

#[test]
fn unknown_procedure_is_refused_with_its_neighbour() {
    let db = sample();
    let error = Session::new(&db).run("CALL db.lables()", &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Procedure);
    assert!(error.message.ends_with("did you mean `db.labels`?"), "{}", error.message);
}

/// A procedure that waits until it is told to go on, or terminated.
struct Waits(mpsc::SyncSender<()>, [Field; 1]);

impl Procedure for Waits {
    fn arguments(&self) -> &[Field] {
        &[]
    }

    fn columns(&self) -> &[Field] {
        &self.1
    }

    fn description(&self) -> &str {
        "Waits to be terminated."
    }

    fn run(
        &self,
        call: &mut CallContext<'_>,
        _: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        self.0.send(()).expect("the test listens");
        loop {
            call.check()?;
            thread::yield_now();
        }
    }
}

#[test]
fn running_query_is_listed_and_terminated() {
    let db = sample();
    let (begun, listen) = mpsc::sync_channel(1);
    let waits = Waits(begun, [Field::new("x", "ANY")]);
    let mut procedures = Procedures::builtin();
    procedures.add("test.wait", Arc::new(waits));
    let runtime = Arc::new(Runtime::new(procedures));
    let session = Session::with_runtime(&db, Arc::clone(&runtime));
    let other = Session::with_runtime(&db, runtime);
    thread::scope(|scope| {
        let query = scope.spawn(|| session.run("CALL test.wait()", &[]));
        listen.recv().unwrap();
        let listed = "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery, status \
                      WHERE currentQuery STARTS WITH 'CALL test' RETURN id, status";
        let found = other.run(listed, &[]).unwrap();
        assert_eq!(found.rows.len(), 1);
        assert_eq!(found.rows[0][1], Value::from("Running"));
        let id = [("id", found.rows[0][0].clone())];
        let one = other.run("SHOW TRANSACTIONS $id", &id).unwrap();
        assert_eq!(one.rows.len(), 1);
        let ended = other.run("TERMINATE TRANSACTIONS $id, 'telar-transaction-999'", &id).unwrap();
        assert_eq!(ended.rows[0][2], Value::from("Transaction terminated."));
        assert_eq!(ended.rows[1][2], Value::from("Transaction not found."));
        assert_eq!(query.join().unwrap().unwrap_err().kind, ErrorKind::Terminated);
        assert!(other.run(listed, &[]).unwrap().rows.is_empty());
    });
    // The query that asks is listed itself.
    assert_eq!(rows(&db, "SHOW TRANSACTIONS").len(), 1);
    let wrong = Session::new(&db).run("TERMINATE TRANSACTIONS 1", &[]).unwrap_err();
    assert_eq!(wrong.kind, ErrorKind::Type);
}

#[test]
fn terminated_transaction_does_not_commit() {
    let db = sample();
    let session = Session::new(&db);
    let mut transaction = session.begin().unwrap();
    transaction.run("CREATE (:Lost)", &ValueMap::new()).unwrap();
    let text = "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery WHERE currentQuery = '' \
                RETURN id";
    let id = [("id", session.run(text, &[]).unwrap().rows[0][0].clone())];
    session.run("TERMINATE TRANSACTION $id", &id).unwrap();
    assert_eq!(transaction.commit().unwrap_err().kind, ErrorKind::Terminated);
    assert!(run(&db, "MATCH (n:Lost) RETURN n").rows.is_empty());
}

#[test]
fn an_embedded_database_has_no_users_and_says_so() {
    let db = sample();
    let session = Session::new(&db);
    for text in [
        "CREATE USER ann SET PASSWORD 'long enough'",
        "ALTER CURRENT USER SET PASSWORD FROM 'long enough' TO 'long enough'",
        "GRANT ROLE reader TO ann",
        "DROP DATABASE shop IF EXISTS",
        "SHOW USERS",
        "SHOW CURRENT USER YIELD user",
        "SHOW ROLES WITH USERS",
    ] {
        let parameters = ValueMap::default();
        let mut transaction = session.begin().unwrap();
        let inside = transaction.run(text, &parameters).unwrap_err();
        for error in [session.run(text, &[]).unwrap_err(), inside] {
            assert_eq!(error.kind, ErrorKind::NotSupported, "{text}");
            assert!(error.message.contains("only on a server"), "{error}");
            assert!(!format!("{error:?}").contains("long enough"), "{error:?}");
        }
    }
    let plan = run(&db, "EXPLAIN CREATE USER $name SET PASSWORD 'long enough'").plan.unwrap();
    assert_eq!(plan.operator, "CreateUser");
    assert_eq!(plan.details, "EXPLAIN CREATE USER $name SET PASSWORD '******'");
    let missing = session.run("DROP USER $name", &[]).unwrap_err();
    assert_eq!(missing.kind, ErrorKind::ParameterMissing);
}

#[test]
fn graph_counts_tell_indexes_of_every_kind_from_constraints() {
    let db = telar_db::open_in_memory().unwrap();
    let mut made = Vec::new();
    for kind in telar_db::IndexKind::ALL {
        let on = if kind == telar_db::IndexKind::Fulltext { "EACH [n.x]" } else { "(n.x)" };
        run(&db, &format!("CREATE {0} INDEX of_{0} FOR (n:A) ON {on}", kind.name()));
        made.push(format!("'of_{}'", kind.name()));
    }
    run(&db, "CREATE CONSTRAINT c FOR (n:A) REQUIRE n.y IS UNIQUE");
    let text = "CALL db.stats.retrieve('GRAPH COUNTS') YIELD data \
                RETURN [i IN data.indexes | i.name] AS i, [c IN data.constraints | c.name] AS c";
    assert_eq!(rows(&db, text), [format!("[{}] ['c']", made.join(", "))]);
}

/// Procedures that write do so in the transaction of their query, and nowhere else.
#[test]
fn names_are_made_by_procedures_where_a_query_may_write() {
    let db = sample();
    let made = |name: &str| {
        let text = format!(
            "CALL db.stats.retrieve('TOKENS') YIELD data RETURN '{name}' IN data.labels + \
             data.relationshipTypes + data.propertyKeys"
        );
        rows(&db, &text) == ["TRUE"]
    };
    run(&db, "UNWIND ['One', 'Two'] AS name CALL db.createLabel(name) RETURN count(*)");
    run(&db, "CALL db.createRelationshipType('THREE') CALL db.createProperty('four')");
    assert!(["One", "Two", "THREE", "four"].into_iter().all(made));
    // Nothing has them yet.
    assert!(!rows(&db, "CALL db.labels()").contains(&"'One'".to_owned()));
    let session = Session::new(&db);
    for (text, detail) in [
        ("AT TIMESTAMP 0 CALL db.createLabel('No')", "InvalidClauseComposition"),
        ("RETURN EXISTS { CALL db.createLabel('No') } AS e", "InvalidClauseComposition"),
        (
            "RETURN COUNT { CALL db.createLabel('No') RETURN 1 AS x } AS e",
            "InvalidClauseComposition",
        ),
        ("CALL db.createLabel('')", "InvalidName"),
        ("CALL db.createLabel(null)", "InvalidName"),
        ("CALL db.createLabel(1)", "InvalidArgumentType"),
    ] {
        assert_eq!(session.run(text, &[]).unwrap_err().detail, detail, "{text}");
    }
    run(&db, "EXPLAIN CALL db.createLabel('No')");
    assert!(!made("No"));
    let shown = "SHOW PROCEDURES YIELD name, mode WHERE mode = 'WRITE' ";
    let named = format!("{shown} AND name STARTS WITH 'db.' RETURN collect(name)");
    assert_eq!(
        rows(&db, &named),
        ["['db.create.setNodeVectorProperty', 'db.create.setRelationshipVectorProperty', \
          'db.createLabel', 'db.createProperty', 'db.createRelationshipType']"]
    );
    // All others are APOC's, and algorithms that write what they found, or keep it up to date, and
    // what is written down about the database.
    let others = format!(
        "{shown} AND NOT name =~ '(db|apoc)[.].*|(algo|gds)[.].+[.]write|algo[.]live[.](create|drop)' RETURN name"
    );
    assert_eq!(rows(&db, &others), ["'telar.keepHistory'"]);
}
