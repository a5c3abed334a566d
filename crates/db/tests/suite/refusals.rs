//! What is refused as Neo4j 5.26 refuses it, and with its codes. Every row was asked of a Neo4j
//! 5.26.30.

use crate::common;

use common::examples;
use telar_db::query::ErrorKind;
use telar_db::{Session, Value};

/// Runs each statement on its own graph and compares the kind of its error, or that there is none.
fn kinds(setup: &str, table: &[(&str, Option<ErrorKind>)]) {
    let mut wrong = Vec::new();
    for (statement, expected) in table {
        let db = common::database(setup);
        let found = Session::new(&db).run(statement, &[("p", Value::Int(1))]).err();
        if found.as_ref().map(|e| e.kind) != *expected {
            wrong.push(format!("{statement}\nexpected {expected:?}, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

const SETUP: &str = "CREATE (:P {id: 1, list: [1, 2], p: point({x: 1, y: 2}), n: 1, s: 'x',
    g: point({longitude: 1, latitude: 2}), d: localdatetime('2020-01-01T00:00')})";

const SYNTAX: Option<ErrorKind> = Some(ErrorKind::Syntax);
const TYPE: Option<ErrorKind> = Some(ErrorKind::Type);
const ARGUMENT: Option<ErrorKind> = Some(ErrorKind::Argument);

#[test]
fn forms_that_are_not_of_the_language() {
    kinds(
        SETUP,
        &[
            ("RETURN 1 != 2", SYNTAX),
            ("RETURN 1 <> 2", None),
            ("RETURN [1, 2][..]", SYNTAX),
            ("MATCH (n:P) RETURN n.list[ .. ]", SYNTAX),
            ("RETURN [1, 2][1..], [1, 2][..1]", None),
            ("CALL { MATCH (m:P) RETURN m.id } RETURN 1", SYNTAX),
            ("CALL () { MATCH (m:P) RETURN m.id } RETURN 1", SYNTAX),
            ("CALL { RETURN 1 AS a UNION RETURN 2 } RETURN 1", SYNTAX),
            ("CALL { MATCH (m:P) RETURN m {.id} } RETURN m", None),
            ("RETURN COLLECT { MATCH (m:P) RETURN m.id }", None),
            ("RETURN EXISTS { MATCH (m:P) RETURN m.id }", None),
            ("WITH 1 AS a CALL { WITH a + 1 AS b RETURN b } RETURN b", SYNTAX),
            ("WITH 1 AS a CALL { WITH a AS b RETURN b } RETURN b", SYNTAX),
            ("WITH [1] AS l CALL { WITH l WHERE size(l) > 0 RETURN 1 AS x } RETURN x", SYNTAX),
            ("WITH 1 AS a CALL { WITH a LIMIT 1 RETURN 1 AS x } RETURN x", SYNTAX),
            ("WITH 1 AS a CALL { WITH DISTINCT a RETURN 1 AS x } RETURN x", SYNTAX),
            ("WITH 1 AS a CALL { WITH a, 1 AS z RETURN a AS x } RETURN x", SYNTAX),
            ("WITH 1 AS a CALL { WITH * RETURN a AS x } RETURN x", None),
            ("WITH 1 AS a CALL { WITH 1 AS z RETURN z AS x } RETURN x", None),
            ("WITH 1 AS a CALL { WITH a WITH a, 1 AS q RETURN q } RETURN q", None),
            ("MATCH (n)-[:A|:B*]-(m) RETURN count(*)", SYNTAX),
            ("MATCH (n)-[r:A|:B]-(m) RETURN count(*)", SYNTAX),
            ("MATCH (n)-[:A|:B {x: 1}]-(m) RETURN count(*)", SYNTAX),
            ("MATCH (n)-[:A|:B WHERE true]-(m) RETURN count(*)", SYNTAX),
            ("MATCH (n)-[:A|:B]-(m) RETURN count(*)", None),
            ("MATCH (n)-[r:A|B*]-(m) RETURN count(*)", None),
            ("RETURN 1 IS NULL IN [true]", SYNTAX),
            ("MATCH (n:P) RETURN n.id IS NOT NULL IN [true]", SYNTAX),
            ("RETURN 1 IN [1] IS NULL", SYNTAX),
            ("RETURN 1 IN [1] IN [true]", SYNTAX),
            ("RETURN 'a' STARTS WITH 'a' IN [true]", SYNTAX),
            ("RETURN (1 IS NULL) IN [true], 1 + 1 IS NULL, 1 = 1 IS NULL", None),
            ("RETURN 1 IS :: INTEGER NOT NULL | FLOAT", SYNTAX),
            ("RETURN 1 IS :: ANY<INTEGER NOT NULL | FLOAT>", SYNTAX),
            ("RETURN 1 IS :: INTEGER NOT NULL | FLOAT NOT NULL, 1 IS :: INTEGER | FLOAT", None),
        ],
    );
}

#[test]
fn types_that_cannot_be_are_seen_before_the_query_runs() {
    kinds(
        SETUP,
        &[
            ("RETURN CASE WHEN [1] THEN 1 ELSE 2 END", SYNTAX),
            ("RETURN CASE WHEN 1 THEN 1 ELSE 2 END", SYNTAX),
            ("RETURN CASE WHEN 'a' THEN 1 ELSE 2 END", SYNTAX),
            ("RETURN CASE 1 WHEN [1] THEN 1 ELSE 2 END", None),
            ("MATCH (n:P) RETURN CASE WHEN n THEN 1 ELSE 2 END", SYNTAX),
            ("MATCH (n:P) RETURN CASE WHEN n.n = 1 THEN 1 ELSE 2 END", None),
            ("MATCH (n:P) SET n.a.b = 1", SYNTAX),
            ("MATCH (n:P) SET n.a.b.c = 1", None),
            ("MATCH (n:P) REMOVE n.a.b", None),
            ("MATCH (n:P) SET (n).a = 1", None),
            ("MATCH (n:P) WITH {x: n} AS m SET m.x.b = 1", None),
            ("RETURN avg([1, 2])", SYNTAX),
            ("RETURN sum('a')", SYNTAX),
            ("RETURN avg(true)", SYNTAX),
            ("RETURN stDev('a')", SYNTAX),
            ("RETURN percentileCont('a', 0.5)", SYNTAX),
            ("MATCH (n:P) RETURN avg(n.list)", TYPE),
            ("MATCH (n:P) RETURN sum(n.s)", TYPE),
            ("RETURN sum(duration('P1D')), avg(null), max([1]), count('a')", None),
            ("MATCH (n:P) RETURN exists(n.p)", SYNTAX),
            ("MATCH (n:P) RETURN exists((n)-->())", None),
            ("RETURN normalize('a', FOO)", SYNTAX),
        ],
    );
}

#[test]
fn values_that_are_wrong_have_their_codes() {
    kinds(
        SETUP,
        &[
            ("RETURN date('2020-13-01')", SYNTAX),
            ("RETURN date('foo')", SYNTAX),
            ("RETURN time('25:00')", SYNTAX),
            ("RETURN localtime('foo')", SYNTAX),
            ("RETURN localdatetime('2020-01-01T99:00')", SYNTAX),
            ("RETURN datetime('foo')", SYNTAX),
            ("RETURN datetime('2020-01-01T00:00[Foo/Bar]')", SYNTAX),
            ("RETURN datetime({year: 2020, timezone: 'Foo/Bar'})", SYNTAX),
            ("RETURN duration('foo')", SYNTAX),
            ("MATCH (n:P) RETURN date(n.s)", SYNTAX),
            ("RETURN date({year: 2020, month: 13})", ARGUMENT),
            ("RETURN date({month: 1})", ARGUMENT),
            ("RETURN date({year: 2020, foo: 1})", ARGUMENT),
            ("RETURN date({})", ARGUMENT),
            ("RETURN time({hour: 25})", ARGUMENT),
            ("MATCH (n:P) RETURN date(n.n)", Some(ErrorKind::ProcedureFailed)),
            ("MATCH (n:P) RETURN n.d.epochMillis", TYPE),
            ("MATCH (n:P) RETURN n.d.foo", TYPE),
            ("RETURN date('2020-01-01').hour", TYPE),
            ("RETURN time().year", TYPE),
            ("RETURN duration('P1D').foo", TYPE),
            ("MATCH (n:P) RETURN n.p.z", ARGUMENT),
            ("MATCH (n:P) RETURN n.g.height", ARGUMENT),
            ("MATCH (n:P) RETURN n.p.longitude", ARGUMENT),
            ("MATCH (n:P) RETURN n.p.foo", ARGUMENT),
            ("RETURN point({x: 1, y: 2, z: 3}).z, point({longitude: 1, latitude: 2}).x", None),
            ("RETURN range(null, 9)", TYPE),
            ("RETURN range(1, null)", TYPE),
            ("UNWIND range(1, 9, null) AS x RETURN x", TYPE),
            ("MATCH (n:P) RETURN [x IN range(n.absent, 9) | x]", TYPE),
            ("RETURN range(1, 9, 0)", ARGUMENT),
            ("CREATE INDEX FOR (n:P) ON (n.x) OPTIONS {foo: 1}", SYNTAX),
            (
                "CREATE INDEX FOR (n:P) ON (n.x) OPTIONS {indexProvider: 'foo'}",
                Some(ErrorKind::InvalidArguments),
            ),
            (
                "CREATE INDEX FOR (n:P) ON (n.x) OPTIONS {indexConfig: {foo: 1}}",
                Some(ErrorKind::InvalidArguments),
            ),
            (
                "CREATE INDEX FOR (n:P) ON (n.x) OPTIONS {indexProvider: 1}",
                Some(ErrorKind::InvalidArguments),
            ),
            ("CREATE INDEX FOR (n:P) ON (n.x) OPTIONS $p", Some(ErrorKind::InvalidArguments)),
            ("CREATE INDEX FOR (n:P) ON (n.x) OPTIONS {}", None),
            ("CREATE LOOKUP INDEX FOR (n) ON EACH labels(n) OPTIONS {foo: 1}", SYNTAX),
            ("CALL db.resampleIndex('x')", Some(ErrorKind::IndexNotFound)),
            ("CALL nope.nope()", Some(ErrorKind::Procedure)),
        ],
    );
}

#[test]
fn normal_forms_are_words() {
    examples(
        "",
        &[
            (
                "WITH 'e\u{301}' AS s RETURN size(normalize(s)), size(normalize(s, NFC)), \
                 size(normalize(s, nfd)), size(normalize('\u{fb01}', NFKC)), \
                 size(normalize('\u{fb01}', NFKD)), normalize(null, NFC)",
                &["1 | 1 | 2 | 2 | 2 | null"],
            ),
            ("WITH 1 AS NFD RETURN size(normalize('\u{e9}', NFD))", &["2"]),
        ],
    );
}

#[test]
fn columns_that_yield_can_name() {
    examples(
        "CREATE (:P)",
        &[
            (
                "SHOW PROCEDURES YIELD name, argumentDescription, returnDescription, admin, \
                 rolesExecution, rolesBoostedExecution, isDeprecated, deprecatedBy, option \
                 WHERE name = 'db.labels' RETURN admin, rolesExecution, isDeprecated, option, \
                 argumentDescription, [r IN returnDescription | r.name + ' ' + r.type]",
                &["false | null | false | {deprecated: false} | [] | ['label STRING']"],
            ),
            (
                "SHOW FUNCTIONS YIELD name, argumentDescription AS a, returnDescription AS r, \
                 isDeprecated AS d, deprecatedBy, rolesExecution WHERE name IN ['id', 'left'] \
                 RETURN name, [x IN a | x.name + ' ' + x.type], r, d",
                &[
                    "'id' | ['input NODE | RELATIONSHIP'] | 'INTEGER' | true",
                    "'left' | ['original STRING', 'length INTEGER'] | 'STRING' | false",
                ],
            ),
            (
                "SHOW TRANSACTIONS YIELD outerTransactionId, parameters, planner, runtime, \
                 indexes, requestUri, currentQueryStatus, cpuTime, waitTime, idleTime, pageHits, \
                 initializationStackTrace RETURN outerTransactionId, currentQueryStatus, cpuTime",
                &["'' | 'running' | null"],
            ),
            (
                "SHOW PROCEDURES EXECUTABLE BY joe YIELD name WHERE name = 'db.labels'",
                &["'db.labels'"],
            ),
            ("SHOW SETTINGS", &["NotSupported: ..."]),
            ("CALL dbms.listConfig('x')", &["NotSupported: ..."]),
            ("CALL db.resampleOutdatedIndexes()", &[]),
        ],
    );
}

/// The plan may refuse what the parser took: no error shows the text around it either.
#[test]
fn passwords_are_in_no_error() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for text in [
        "CALL dbms.security.changePassword('hunter2')",
        "WITH 1 AS x CALL dbms.security.createUser('ann', 'hunter2') RETURN nothing",
        "CREATE USER ann SET PASSWORD 'hunter2' SET NOTHING",
        "RETURN nothing AS a CALL dbms.security.createUser('ann', \"hunter2\")",
    ] {
        let error = session.run(text, &[]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
    let error = session.run("RETURN nothing", &[]).unwrap_err();
    assert!(error.to_string().contains("RETURN nothing\n       ^^^^^^^"), "{error}");
}
