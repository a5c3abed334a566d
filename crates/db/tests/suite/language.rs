//! What Neo4j 5 added to the language, and texts of unusual length.

use crate::common;

use common::{examples, fresh_examples, rows};
use telar_db::query::ErrorKind;
use telar_db::{Session, Value};

#[test]
fn chains_of_operators_have_no_limit() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let one = |text: &str| session.run(text, &[]).unwrap().rows.remove(0).remove(0);
    let times = 10_000;
    let chain = |first: &str, part: &str| format!("{first}{}", part.repeat(times));
    for (first, part, expected) in [
        ("0", " + 1", Value::Int(10_000)),
        ("0", " - 1 + 3", Value::Int(20_000)),
        ("1", " * -1", Value::Int(1)),
        ("7", " * 3 / 3", Value::Int(7)),
        ("''", " + 'a'", Value::from("a".repeat(times))),
        ("''", " || 'ab'", Value::from("ab".repeat(times))),
        ("1.0", " ^ 1", Value::Float(1.0)),
        ("0", " + (2 - 1)", Value::Int(10_000)),
    ] {
        let text = chain(first, part);
        assert_eq!(one(&format!("RETURN {text} AS x")), expected, "{first}{part}...");
        assert_eq!(one(&format!("WITH {text} AS x WHERE x = {text} RETURN x")), expected);
        assert_eq!(one(&format!("EXPLAIN RETURN {text}").replace("EXPLAIN ", "")), expected);
    }
    // Plans print it, and find it again.
    let sum = chain("x", " + x");
    let sorts = format!("UNWIND [1, 2] AS x RETURN {sum} AS s ORDER BY {sum} - 1 DESC");
    let groups = format!("UNWIND [2, 1] AS x RETURN {sum} AS s, count(*) AS c ORDER BY s DESC");
    for text in [sorts, groups] {
        let result = session.run(&format!("PROFILE {text}"), &[]).unwrap();
        assert_eq!(result.rows[0][0], Value::Int(20_002));
        assert!(result.plan.unwrap().to_string().contains("x + x + x"));
    }
    // An error shows the place, not the whole line.
    let error = session.run(&format!("RETURN {sum}"), &[]).unwrap_err();
    assert!(error.excerpt.unwrap().len() < 250);
}

#[test]
fn chains_are_worked_off_from_the_left() {
    examples(
        "",
        &[
            ("RETURN 10 - 3 - 2, 10 - (3 - 2)", &["5 | 9"]),
            ("RETURN 100 / 10 / 2 * 3 % 4, 2 ^ 3 ^ 2, 2 ^ (3 ^ 2)", &["3 | 64.0 | 512.0"]),
            ("RETURN 1 + 2 + 'a' + 1 + 2, [1] + 2 + [3]", &["'3a12' | [1, 2, 3]"]),
            ("RETURN 'a' || 'b' + 'c', 1 + 2 * 3 + 4", &["'abc' | 11"]),
            ("RETURN 1 + null + 2, 9223372036854775807 - 1 + 1", &["null | 9223372036854775807"]),
            ("RETURN 9223372036854775807 + 1 - 1", &["IntegerOverflow: ..."]),
            ("RETURN 1 * 'a' * 2", &["InvalidArgumentType: ..."]),
            ("RETURN true * 2 * 2", &["InvalidArgumentType: ..."]),
            (
                "UNWIND [3, 1] AS a WITH a, a + 1 AS b ORDER BY a + 1 + 1 RETURN collect(b)",
                &["[2, 4]"],
            ),
            ("UNWIND [3, 1] AS a RETURN DISTINCT a + 1 AS b ORDER BY a + 1 - 5", &["2", "4"]),
            ("UNWIND [1, 1] AS a RETURN a + 1 AS b, a + 1 + count(*) AS c", &["AmbiguousAgg..."]),
            ("UNWIND [1, 1] AS a RETURN a AS b, a + 1 + count(*) AS c", &["1 | 4"]),
        ],
    );
}

#[test]
fn trim_with_sides_and_characters() {
    examples(
        "",
        &[
            ("RETURN trim(BOTH 'x' FROM 'xxaxx'), trim('x' FROM 'xax')", &["'a' | 'a'"]),
            (
                "RETURN trim(LEADING 'x' FROM 'xax'), trim(TRAILING 'x' FROM 'xax')",
                &["'ax' | 'xa'"],
            ),
            ("RETURN trim(LEADING FROM ' a '), trim(FROM ' a ')", &["'a ' | 'a'"]),
            ("RETURN trim(BOTH null FROM 'a'), trim(BOTH 'a' FROM null)", &["null | null"]),
            ("RETURN trim(BOTH 'xy' FROM 'a')", &["InvalidArgumentValue: ..."]),
            (
                "RETURN btrim('xyaxy', 'yx'), ltrim('xxa', 'x'), rtrim('axx', 'x')",
                &["'a' | 'a' | 'a'"],
            ),
            (
                "WITH ' a' AS from, 'b' AS both RETURN trim(from), trim(both + from)",
                &["'a' | 'b a'"],
            ),
        ],
    );
}

#[test]
fn clauses_of_their_own() {
    let setup = "UNWIND range(1, 6) AS n CREATE (:N {n: n})";
    examples(
        setup,
        &[
            ("MATCH (n:N) ORDER BY n.n DESC SKIP 1 LIMIT 2 RETURN collect(n.n)", &["[5, 4]"]),
            ("MATCH (n:N) ORDER BY n.n OFFSET 4 RETURN n.n", &["5", "6"]),
            ("MATCH (n:N) LIMIT 3 RETURN count(*)", &["3"]),
            ("UNWIND [2, 1] AS a WITH a ORDER BY a LIMIT 2 LIMIT 1 RETURN a", &["1"]),
            (
                "MATCH (n:N) LET x = n.n * 2, y = -n.n FILTER x > 8 RETURN n.n, x, y",
                &["5 | 10 | -5", "6 | 12 | -6"],
            ),
            ("MATCH (n:N) FILTER WHERE n.n = 1 RETURN n.n", &["1"]),
            ("LET a = 1 LET b = a + 1 RETURN a, b", &["1 | 2"]),
            ("LET a = 1, b = a RETURN b", &["UndefinedVariable: ..."]),
            ("LET a = 1 LET a = 2 RETURN a", &["VariableAlreadyBound: ..."]),
            ("UNWIND [1] AS a LET b = count(*) RETURN b", &["InvalidAggregation: ..."]),
            ("UNWIND [1, 1] AS x RETURN ALL x", &["1", "1"]),
            ("CYPHER 5 runtime=pipelined MATCH (n:N) RETURN count(*)", &["6"]),
            ("CYPHER runtime=fast RETURN 1", &["InvalidOption: ..."]),
        ],
    );
    fresh_examples(
        "",
        &[
            (
                "INSERT (:A {x: 1})-[:R]->(:B); MATCH (a:A)-->(b) RETURN a.x, labels(b)",
                &["1 | ['B']"],
            ),
            ("CREATE (:A); MATCH (a:A) NODETACH DELETE a; MATCH (a) RETURN count(*)", &["0"]),
            ("CREATE (:A)-[:R]->(); MATCH (a:A) NODETACH DELETE a", &["DeleteConnectedNode: ..."]),
            ("CREATE (a:A) SET a['x'] = 1, a:$('B') RETURN a.x, labels(a)", &["1 | ['A', 'B']"]),
        ],
    );
}

#[test]
fn repeatable_elements_come_again() {
    let setup = "CREATE (:A {n: 1})-[:R]->(:A {n: 2})";
    examples(
        setup,
        &[
            ("MATCH (a)-[r]-(b)-[s]-(c) RETURN count(*)", &["0"]),
            ("MATCH DIFFERENT RELATIONSHIPS (a)-[r]-(b)-[s]-(c) RETURN count(*)", &["0"]),
            (
                "MATCH REPEATABLE ELEMENTS (a)-[r]-(b)-[s]-(c) RETURN a.n, b.n, c.n",
                &["1 | 2 | 1", "2 | 1 | 2"],
            ),
            ("MATCH REPEATABLE ELEMENTS (a)-[r]->(b), (c)-[s]->(d) RETURN count(*)", &["1"]),
            (
                "MATCH REPEATABLE ELEMENTS p = (a)-[:R]-{1,4}(b) RETURN length(p), count(*)",
                &["1 | 2", "2 | 2", "3 | 2", "4 | 2"],
            ),
            ("MATCH REPEATABLE ELEMENTS p = (a)-[:R*1..3]-(b) RETURN count(*)", &["6"]),
            (
                "MATCH REPEATABLE ELEMENTS p = ((x)-[:R]-(y) WHERE x.n < 3){2,3} RETURN length(p), count(*)",
                &["2 | 2", "3 | 2"],
            ),
            (
                "MATCH REPEATABLE ELEMENTS p = (a)-[:R]->(b) (()-[:R]-(){1,2}) RETURN length(p)",
                &["..."],
            ),
            ("MATCH REPEATABLE ELEMENTS (a)-[:R]-+(b) RETURN 1", &["InvalidPathPattern: ..."]),
            ("MATCH REPEATABLE ELEMENTS (a)-[:R*]-(b) RETURN 1", &["InvalidPathPattern: ..."]),
            (
                "MATCH REPEATABLE ELEMENTS p = SHORTEST 1 (a)-[:R]-+(b) RETURN 1",
                &["NotSupported: ..."],
            ),
        ],
    );
}

#[test]
fn hints_are_about_variables_that_exist() {
    examples(
        "CREATE (:A {n: 1})",
        &[
            ("MATCH (a:A) USING INDEX a:A(n) WHERE a.n = 1 RETURN a.n", &["1"]),
            (
                "MATCH (a:A) USING INDEX b:A(n) WHERE a.n = 1 RETURN a.n",
                &["UndefinedVariable: ..."],
            ),
            ("MATCH (a:A) USING SCAN b:A RETURN a.n", &["UndefinedVariable: ..."]),
            ("MATCH (a:A) USING JOIN ON a, b RETURN a.n", &["UndefinedVariable: ..."]),
        ],
    );
}

#[test]
fn use_names_the_database_of_the_session() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for (text, expected) in [
        ("USE telar RETURN 1 AS x", &["1"][..]),
        ("USE TELAR RETURN 1 AS x UNION RETURN 2 AS x", &["1", "2"]),
        ("USE telar CALL db.labels()", &[]),
        ("USE telar SHOW RANGE INDEXES YIELD name", &[]),
        ("RETURN 1 AS x UNION USE telar RETURN 2 AS x", &["1", "2"]),
        ("CALL () { USE telar RETURN 3 AS x } RETURN x", &["3"]),
        ("WITH 4 AS x CALL { USE telar WITH x RETURN x + 1 AS y } RETURN y", &["5"]),
    ] {
        assert_eq!(rows(&session, text), expected, "{text}");
    }
    for (text, kind) in [
        ("USE other RETURN 1", ErrorKind::EntityNotFound),
        ("USE a.b RETURN 1", ErrorKind::EntityNotFound),
        ("USE other CREATE (n)", ErrorKind::EntityNotFound),
        ("USE other CREATE INDEX FOR (n:A) ON (n.x)", ErrorKind::EntityNotFound),
        ("EXPLAIN USE other RETURN 1", ErrorKind::EntityNotFound),
        ("USE other RETURN 1 AS x UNION USE telar RETURN 1 AS x", ErrorKind::NotSupported),
        ("USE other RETURN 1 AS x UNION RETURN 1 AS x", ErrorKind::NotSupported),
        ("CALL () { USE other RETURN 3 AS x } RETURN x", ErrorKind::NotSupported),
        ("USE graph.byName('telar') RETURN 1", ErrorKind::NotSupported),
        ("RETURN 1 AS x USE telar RETURN 2 AS x", ErrorKind::Syntax),
    ] {
        assert_eq!(session.run(text, &[]).map_err(|e| e.kind).unwrap_err(), kind, "{text}");
    }
    let error = session.run("USE other RETURN 1", &[]).unwrap_err();
    assert_eq!(error.code(), "Neo.ClientError.Statement.EntityNotFound");
    // A server asks before it chooses a session.
    for (text, expected) in [
        ("USE Other RETURN 1", Some("other")),
        ("USE `my-db` SHOW INDEXES", Some("my-db")),
        ("USE a.b MATCH (n) DETACH DELETE n", Some("a.b")),
        ("RETURN 1", None),
    ] {
        assert_eq!(session.database_of(text).unwrap().as_deref(), expected, "{text}");
    }
    let mut transaction = session.begin().unwrap();
    let refused = transaction.run("USE other RETURN 1", &Default::default()).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::EntityNotFound);
}

#[test]
fn scripts_run_statement_by_statement_and_say_where_they_stop() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let parameters = [("x".into(), Value::Int(7))].into_iter().collect();
    let script =
        "// set up\nCREATE (:A {x: $x});;\n\nMATCH (a:A)\nRETURN a.x AS x; RETURN ';' AS y";
    let results = session.run_script(script, &parameters).unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!(results[0].counters.nodes_created, 1);
    assert_eq!(
        (&results[1].rows, &results[2].rows),
        (&vec![vec![Value::Int(7)]], &vec![vec![";".into()]])
    );
    assert!(session.run_script(" ; // nothing", &parameters).unwrap().is_empty());

    let script = "CREATE (:B);\n  CREATE (:B) RETURN\n    nope;\nCREATE (:C)";
    let failed = session.run_script(script, &parameters).unwrap_err();
    assert_eq!((failed.statement, failed.at.line, failed.at.column), (2, 2, 3));
    let place = failed.error.position.unwrap();
    assert_eq!((place.line, place.column), (3, 5));
    assert_eq!(&script[place.offset..place.offset + 4], "nope");
    assert_eq!(failed.error.excerpt.as_deref(), Some("    nope;\n    ^^^^"));
    assert_eq!(failed.done.len(), 1);
    assert!(failed.to_string().starts_with("statement 2, which begins at line 2, column 3: "));
    // What came before is committed, what failed and what comes after is not there.
    assert_eq!(rows(&session, "MATCH (n) RETURN labels(n)[0], count(*)"), ["'A' | 1", "'B' | 1"]);

    let failed = session.run_script("RETURN 1; RETURN 1 / 0;", &parameters).unwrap_err();
    assert_eq!((failed.statement, failed.at.column), (2, 11));
    assert_eq!(failed.error.kind, ErrorKind::Arithmetic);
    // Notifications are about places in the script, too.
    let results = session.run_script("RETURN 1;\nMATCH (n:Nope) RETURN n", &parameters).unwrap();
    let place = results[1].notifications[0].position.unwrap();
    assert_eq!((place.line, place.column), (2, 10));
}

/// The functions that Neo4j 5 lists, without those of composite databases.
#[test]
fn functions_of_neo4j_are_known() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let result = session.run("SHOW FUNCTIONS YIELD name", &[]).unwrap();
    let names: Vec<String> = result.rows.iter().map(|row| common::show(&row[0])).collect();
    for name in
        "abs acos asin atan atan2 avg btrim ceil ceiling char_length character_length coalesce \
        collect cos cosh cot coth count date date.realtime date.statement date.transaction \
        date.truncate datetime datetime.fromepoch datetime.fromepochmillis datetime.realtime \
        datetime.statement datetime.transaction datetime.truncate degrees duration \
        duration.between duration.inDays duration.inMonths duration.inSeconds e elementId \
        endNode exists exp file floor haversin head id isEmpty isNaN keys labels last left length \
        linenumber ln localdatetime localdatetime.realtime localdatetime.statement \
        localdatetime.transaction localdatetime.truncate localtime localtime.realtime \
        localtime.statement localtime.transaction localtime.truncate log log10 lower lpad ltrim \
        max min nodes normalize nullIf percentileCont percentileDisc pi point point.distance \
        point.withinBBox properties radians rand randomUUID range relationships replace reverse \
        right round rpad rtrim sign sin sinh size split sqrt startNode stDev stDevP substring sum \
        tail tan tanh time time.realtime time.statement time.transaction time.truncate timestamp \
        toBoolean toBooleanList toBooleanOrNull toFloat toFloatList toFloatOrNull toInteger \
        toIntegerList toIntegerOrNull toLower toString toStringList toStringOrNull toUpper trim \
        type upper valueType vector.similarity.cosine vector.similarity.euclidean"
            .split_whitespace()
    {
        assert!(names.contains(&format!("'{name}'")), "{name}");
    }
}
