//! VECTOR values in Cypher: made, stored, compared, grouped, demanded by constraints, indexed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::{examples, fresh_examples, rows, rows_with};
use telar_db::value::{CoordinateType, Vector};
use telar_db::{Session, Value};

#[test]
fn coordinate_types_and_metrics_are_words() {
    examples(
        "",
        &[
            ("RETURN vector([1, 2, 3], 3, INTEGER) AS v", &["vector([1, 2, 3], 3, INTEGER)"]),
            (
                "RETURN vector('[1.05000e+00, 0.123, 5]', 3, FLOAT)",
                &["vector([1.05, 0.123, 5.0], 3, FLOAT)"],
            ),
            (
                "RETURN valueType(vector([1], 1, SIGNED INTEGER))",
                &["'VECTOR<INTEGER NOT NULL>(1) NOT NULL'"],
            ),
            // A word, whatever variables there are, and in a group.
            (
                "WITH 1 AS float32, 2 AS dot RETURN vector([float32], 1, FLOAT32)",
                &["vector([1.0], 1, FLOAT32)"],
            ),
            (
                "UNWIND [1, 2] AS x RETURN vector(collect(x), 2, INT8)",
                &["vector([1, 2], 2, INTEGER8)"],
            ),
            (
                "WITH vector([1, 2], 2, INT8) AS a, vector([3, 4], 2, INT8) AS b \
                 RETURN vector_distance(a, b, EUCLIDEAN_SQUARED), vector_norm(b, euclidean)",
                &["8.0 | 5.0"],
            ),
            ("WITH 'FLOAT32' AS ty RETURN vector([1], 1, ty)", &["vector([1.0], 1, FLOAT32)"]),
            ("RETURN vector([1], 1, FLOAT16)", &["UndefinedVariable: ..."]),
            ("RETURN vector([1, 2], 3, INT8)", &["InvalidArgumentValue: ..."]),
            ("RETURN vector([300], 1, INT8)", &["NumberOutOfRange: ..."]),
            ("RETURN vector([1], 1, INT8) + 1", &["InvalidArgumentType: ..."]),
            ("RETURN vector_distance([1], [2], DOT)", &["InvalidArgumentType: ..."]),
            ("RETURN vector([1], 1, INT8)[0]", &["InvalidArgumentType: ..."]),
        ],
    );
}

#[test]
fn types_of_vectors_are_told_apart() {
    let of = "WITH vector([1, 2, 3], 3, FLOAT32) AS v RETURN v IS ::";
    for (ty, is) in [
        ("VECTOR", true),
        ("VECTOR<FLOAT32>", true),
        ("VECTOR(3)", true),
        ("VECTOR<FLOAT32 NOT NULL>(3) NOT NULL", true),
        ("VECTOR<FLOAT>(3)", false),
        ("VECTOR<FLOAT32>(2)", false),
        ("VECTOR<INT8>(3) | VECTOR(3)", true),
        ("LIST<ANY>", false),
        ("PROPERTY VALUE", true),
        ("ANY", true),
    ] {
        let db = common::database("");
        let found = rows(&Session::new(&db), &format!("{of} {ty}"));
        assert_eq!(found, [is.to_string()], "{ty}");
    }
    examples(
        "",
        &[
            ("RETURN null IS :: VECTOR<INT8>(3), null IS :: VECTOR NOT NULL", &["true | false"]),
            ("RETURN 1 IS :: VECTOR(0)", &["UnexpectedSyntax: ..."]),
            ("RETURN 1 IS :: VECTOR<STRING>", &["UnexpectedSyntax: ..."]),
            (
                "RETURN valueType([vector([1], 1, INT8), vector([1], 1, FLOAT32), 1])",
                &["'LIST<INTEGER NOT NULL | VECTOR<INTEGER8 NOT NULL>(1) NOT NULL | \
                   VECTOR<FLOAT32 NOT NULL>(1) NOT NULL> NOT NULL'"],
            ),
        ],
    );
}

#[test]
fn vectors_are_ordered_and_grouped() {
    let all = "UNWIND [vector([2], 1, FLOAT), vector([1], 1, FLOAT32), vector([1, 1], 2, INT8), \
               vector([7], 1, INT8), point({x: 1, y: 2}), [1], 'a', vector([1], 1, FLOAT32)] AS x";
    let db = common::database("");
    let session = Session::new(&db);
    let ordered = format!("{all} WITH x ORDER BY x RETURN collect(x) AS all");
    let found = rows(&session, &ordered);
    assert!(found[0].starts_with(
        "[[1], vector([7], 1, INTEGER8), vector([1, 1], 2, INTEGER8), vector([1.0], 1, FLOAT32), \
         vector([1.0], 1, FLOAT32), vector([2.0], 1, FLOAT), Point"
    ), "{found:?}");
    examples(
        "",
        &[
            (
                "UNWIND [vector([0.0], 1, FLOAT32), vector([-0.0], 1, FLOAT32), \
                 vector([0], 1, FLOAT)] AS x RETURN count(*), valueType(x)",
                &[
                    "2 | 'VECTOR<FLOAT32 NOT NULL>(1) NOT NULL'",
                    "1 | 'VECTOR<FLOAT NOT NULL>(1) NOT NULL'",
                ],
            ),
            (
                "UNWIND [vector([1], 1, INT8), vector([1], 1, INT8)] AS x \
                 RETURN count(DISTINCT x), max(x)",
                &["1 | vector([1], 1, INTEGER8)"],
            ),
            (
                "WITH vector([1], 1, INT8) AS a, vector([2], 1, INT8) AS b \
                 RETURN a = b, a <> b, a < b, a <= a, a IN [b, a]",
                &["false | true | null | true | true"],
            ),
        ],
    );
}

#[test]
fn vectors_are_stored() {
    fresh_examples(
        "CREATE (:N {v: vector([1, 2], 2, FLOAT32)})",
        &[
            ("MATCH (n:N) RETURN n.v, size(n.v)", &["vector([1.0, 2.0], 2, FLOAT32) | 2"]),
            ("MATCH (n:N {v: vector([1, 2], 2, FLOAT32)}) RETURN 1", &["1"]),
            ("MATCH (n:N {v: vector([1, 2], 2, FLOAT)}) RETURN 1", &[]),
            ("CREATE (n:M {v: [vector([1], 1, INT8)]})", &["InvalidPropertyType: ..."]),
            (
                "MATCH (n:N) CALL db.create.setNodeVectorProperty(n, 'w', vector([1], 1, INT8)); \
                 MATCH (n:N) RETURN n.w",
                &["[1.0]"],
            ),
            ("MERGE (n:N {v: vector([1, 2], 2, FLOAT32)}) RETURN count(*)", &["1"]),
            ("MATCH (n:N) SET n.v = null RETURN n.v", &["null"]),
        ],
    );
}

#[test]
fn a_constraint_demands_a_type_of_vectors() {
    fresh_examples(
        "",
        &[
            (
                "CREATE CONSTRAINT c FOR (n:N) REQUIRE n.v IS :: VECTOR<FLOAT32>(2); \
                 SHOW CONSTRAINTS YIELD propertyType, createStatement \
                 RETURN propertyType, createStatement",
                &["'VECTOR<FLOAT32 NOT NULL>(2)' | 'CREATE CONSTRAINT `c` FOR (n:`N`) REQUIRE \
                   (n.`v`) IS :: VECTOR<FLOAT32 NOT NULL>(2)'"],
            ),
            (
                "CREATE CONSTRAINT FOR (n:N) REQUIRE n.v IS :: VECTOR<FLOAT32>(2); \
                 CREATE (n:N {v: vector([1, 2], 2, FLOAT32)}) RETURN 1",
                &["1"],
            ),
            (
                "CREATE CONSTRAINT FOR (n:N) REQUIRE n.v IS :: VECTOR<FLOAT32>(2); \
                 CREATE (n:N {v: vector([1, 2], 2, FLOAT)})",
                &["ConstraintViolation: ..."],
            ),
            (
                "CREATE CONSTRAINT FOR (n:N) REQUIRE n.v IS :: VECTOR<FLOAT32>(2); \
                 CREATE (n:N {v: [1.0, 2.0]})",
                &["ConstraintViolation: ..."],
            ),
            (
                "CREATE CONSTRAINT FOR (n:N) REQUIRE n.v IS :: VECTOR<FLOAT32>",
                &["InvalidType: ..."],
            ),
            ("CREATE CONSTRAINT FOR (n:N) REQUIRE n.v IS :: VECTOR(4)", &["InvalidType: ..."]),
        ],
    );
}

/// A RANGE index holds vectors: what is equal is found by it, and what is unique stays so.
#[test]
fn indexes_hold_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g");
    let vector = |i: i64| {
        let ty = CoordinateType::ALL[i as usize % 6];
        Value::from(Vector::of_values(ty, &[i.into(), (-i).into()]).unwrap())
    };
    let open = || telar_db::Database::open(&path, telar_db::Settings::default()).unwrap();
    let mut db = open();
    let session = Session::new(&db);
    session.run("CREATE CONSTRAINT FOR (n:N) REQUIRE n.v IS UNIQUE", &[]).unwrap();
    session.run("CREATE INDEX FOR (n:N) ON (n.w)", &[]).unwrap();
    let all = Value::list((0..60).map(|i| Value::list([Value::Int(i), vector(i)])));
    let make = "UNWIND $all AS x CREATE (:N {i: x[0], v: x[1], w: x[1]})";
    session.run(make, &[("all", all)]).unwrap();
    session.run("CREATE (:N {i: -1, w: point({x: 1, y: 2})})", &[]).unwrap();
    drop(session);
    for round in 0..2 {
        let session = Session::new(&db);
        for i in 0..60 {
            let by =
                rows_with(&session, "MATCH (n:N) WHERE n.w = $v RETURN n.i", &[("v", vector(i))]);
            assert_eq!(by, [i.to_string()], "round {round}");
            let by = rows_with(&session, "MATCH (n:N {v: $v}) RETURN n.i", &[("v", vector(i))]);
            assert_eq!(by, [i.to_string()], "round {round}");
        }
        let twice = session.run("CREATE (:N {v: $v})", &[("v", vector(7))]);
        assert!(twice.is_err());
        let point = "MATCH (n:N) WHERE n.w >= point({x: 1, y: 2}) RETURN n.i";
        assert_eq!(rows(&session, point), ["-1"]);
        let from = "MATCH (n:N) WHERE n.w >= $v RETURN n.i";
        assert_eq!(rows_with(&session, from, &[("v", vector(5))]), ["5"]);
        drop(session);
        db.checkpoint().unwrap();
        drop(db);
        db = open();
    }
}

/// A vector index holds VECTOR values and lists alike, and is asked with either.
#[test]
fn vector_indexes_hold_vectors() {
    let db = common::database("");
    let session = Session::new(&db);
    let make = "CREATE VECTOR INDEX e FOR (n:N) ON n.e OPTIONS {indexConfig: \
                {`vector.dimensions`: 2, `vector.similarity_function`: 'euclidean'}}";
    session.run(make, &[]).unwrap();
    let set = "UNWIND range(0, 8) AS i CREATE (:N {i: i, e: CASE i % 3 \
               WHEN 0 THEN vector([i, 1], 2, FLOAT32) WHEN 1 THEN [i, 1.0] \
               ELSE vector([i, 1], 2, INT8) END})";
    session.run(set, &[]).unwrap();
    for sought in ["[4.1, 1]", "vector([4.1, 1], 2, FLOAT)"] {
        let query = format!(
            "CALL db.index.vector.queryNodes('e', 3, {sought}) YIELD node, score \
             RETURN collect(node.i) AS all"
        );
        assert_eq!(rows(&session, &query), ["[4, 5, 3]"], "{sought}");
        let query = format!(
            "MATCH (n:N) SEARCH n IN (VECTOR INDEX e FOR {sought} LIMIT 2) \
             RETURN collect(n.i) AS all"
        );
        assert_eq!(rows(&session, &query), ["[4, 5]"], "{sought}");
    }
}
