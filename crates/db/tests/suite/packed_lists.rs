//! Lists of floats and vectors give the same answers packed and not: settled, in the tail, in a
//! transaction, after a restart, in the past; of nodes and of relationships; whatever is mixed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use std::path::Path;

use common::show;
use proptest::prelude::*;
use proptest::sample::select;
use telar_db::value::{CoordinateType, Vector};
use telar_db::{Database, Retention, Session, Settings, Value, ValueMap};

fn vector(ty: CoordinateType, numbers: &[f64]) -> Value {
    let numbers: Vec<Value> = numbers.iter().map(|x| Value::Float(*x)).collect();
    Vector::of_values(ty, &numbers).unwrap().into()
}

/// A vector, most often of three floats of 32 bits.
fn typed() -> impl Strategy<Value = Value> {
    let numbers = |length| proptest::collection::vec(-99.0f64..99.0, length);
    prop_oneof![
        6 => numbers(3).prop_map(|all| vector(CoordinateType::F32, &all)),
        1 => numbers(3).prop_map(|all| vector(CoordinateType::F64, &all)),
        1 => (1usize..9).prop_flat_map(numbers).prop_map(|all| vector(CoordinateType::F32, &all)),
        1 => (select(CoordinateType::ALL), numbers(3)).prop_map(|(ty, all)| vector(ty, &all)),
    ]
}

/// A list or vector that is set, or another value.
fn embedding() -> impl Strategy<Value = Value> {
    let floats = |length: usize| proptest::collection::vec(-1e3f64..1e3, length);
    let narrow = |all: Vec<f64>| Value::list(all.into_iter().map(|x| f64::from(x as f32)));
    prop_oneof![
        3 => typed(),
        6 => floats(3).prop_map(narrow),
        3 => floats(3).prop_map(Value::list),
        1 => (0usize..40).prop_flat_map(floats).prop_map(Value::list),
        1 => select(vec![f64::NAN, -0.0, f64::INFINITY]).prop_map(|x| Value::list([x, x, 1.0])),
        1 => Just(Value::list([1i64, 2, 3])),
        1 => select(vec![Value::Null, Value::Int(7), Value::from("text"), Value::list([true])]),
    ]
}

const THINGS: [&str; 2] = ["MATCH (t:T)", "MATCH ()-[t:R]->()"];

/// Reads of the lists. Those of `size(t.e) = 3` measure only what can be.
const READS: [&str; 9] = [
    "RETURN t.i AS i, t.e AS x",
    "RETURN t.i AS i, size(t.e) AS x",
    "WHERE t.e IS NOT NULL RETURN t.i AS i, t.e[0] AS x",
    "WHERE size(t.e) = 3 AND abs(t.e[0]) < 1e9 \
     RETURN t.i AS i, vector.similarity.euclidean(t.e, $v) AS x",
    "WHERE size(t.e) = 3 RETURN t.i AS i, gds.similarity.euclideanDistance($v, t.e) AS x",
    "WHERE size(t.e) = 3 RETURN t.i AS i, gds.similarity.cosine(t.e, $v) AS x",
    "WHERE size(t.e) = 3 RETURN t.i AS i, gds.similarity.pearson(t.e, t.e) AS x",
    "WHERE t.e IN [$v] OR t.i = 3 RETURN t.i AS i, [t.e, t.i] AS x",
    "WITH t.e AS e, collect(t.i) AS all RETURN all[0] AS i, size(all) AS x",
];

/// Reads of the vectors.
const VECTOR_READS: [&str; 8] = [
    "RETURN t.i AS i, t.e AS x",
    "RETURN t.i AS i, [size(t.e), valueType(t.e), toIntegerList(t.e)] AS x",
    "WHERE size(t.e) = 3 RETURN t.i AS i, vector.similarity.euclidean(t.e, $v) AS x",
    "WHERE size(t.e) = 3 \
     RETURN t.i AS i, vector_distance(t.e, vector($v, 3, FLOAT), EUCLIDEAN) AS x",
    "WHERE size(t.e) = 3 RETURN t.i AS i, vector_distance(t.e, t.e, MANHATTAN) AS x",
    "WHERE size(t.e) = 3 \
     RETURN t.i AS i, vector_distance(vector([1, 2, 3], 3, INT8), t.e, DOT) AS x",
    "WHERE t.e = vector($v, 3, FLOAT32) OR t.i = 3 RETURN t.i AS i, [t.e, t.i] AS x",
    "WITH t.e AS e, collect(t.i) AS all RETURN all[0] AS i, size(all) AS x",
];

/// Runs a query with a vector as its parameter.
type Run<'r> = dyn FnMut(&str, Value) -> Result<Vec<Vec<Value>>, String> + 'r;

/// Answers of all reads, as texts that tell every bit, sorted.
fn answers(run: &mut Run<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for things in THINGS {
        let lists = READS.map(|read| ("LIST<ANY>", read));
        for (ty, read) in lists.into_iter().chain(VECTOR_READS.map(|read| ("VECTOR", read))) {
            let query = format!("{things} WHERE t.e IS :: {ty} WITH t {read}");
            let rows = run(&query, Value::list([0.25, -3.0, 1.5]));
            let mut texts: Vec<Vec<String>> = match rows {
                Ok(rows) => rows.iter().map(|row| row.iter().map(show).collect()).collect(),
                Err(e) => vec![vec![e]],
            };
            texts.sort();
            all.push(format!("{query}: {texts:?}"));
        }
    }
    all
}

fn of_session(session: &Session, at: Option<u64>) -> Vec<String> {
    let mut all = answers(&mut |query, v| {
        let query = at.map_or(query.to_owned(), |at| format!("AT TIMESTAMP {at} {query}"));
        let rows = session.run(&query, &[("v", v)]);
        rows.map(|result| result.rows).map_err(|e| e.message)
    });
    all.sort();
    all
}

const SET: &str = "UNWIND $all AS x MATCH (t:T {i: x[0]})-[r:R]->() SET t.e = x[1], r.e = x[1]";

fn open(path: &Path) -> Database {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(1000);
    Database::open(path, settings).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn reads_answer_the_same_in_every_state(
        steps in proptest::collection::vec(
            proptest::collection::vec((0i64..60, embedding()), 1..80), 1..5),
        uniform in select(vec![None, Some(false), Some(true)]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g");
        let mut db = open(&path);
        let plain = telar_db::open_in_memory().unwrap();
        let make = "UNWIND range(0, 59) AS i CREATE (t:T {i: i})-[:R {i: i}]->(t)";
        for db in [&db, &plain] {
            Session::new(db).run(make, &[]).unwrap();
        }
        let mut past: Vec<(u64, Vec<String>)> = Vec::new();
        for step in steps {
            let all: Vec<Value> = step.into_iter().map(|(i, e)| {
                let all = [i as f64, 0.5, 1.0 / (i as f64 + 1.0)];
                let e = match uniform.filter(|_| !e.is_null()) {
                    Some(true) => vector(CoordinateType::F32, &all),
                    Some(false) => Value::list(all),
                    None => e,
                };
                Value::list([Value::Int(i), e])
            }).collect();
            let all = Value::list(all);
            // One that never settles and has each step in its tails.
            Session::new(&plain).run(SET, &[("all", all.clone())]).unwrap();
            let wanted = of_session(&Session::new(&plain), None);

            let session = Session::new(&db);
            let mut transaction = session.begin().unwrap();
            let parameters = |name: &str, value| ValueMap::from([(name.into(), value)]);
            transaction.run(SET, &parameters("all", all.clone())).unwrap();
            let mut own = answers(&mut |query, v| {
                let rows = transaction.run(query, &parameters("v", v));
                rows.map(|result| result.rows).map_err(|e| e.message)
            });
            own.sort();
            prop_assert_eq!(&own, &wanted);
            transaction.rollback();
            let now = session.run(SET, &[("all", all)]).unwrap().at.get();
            prop_assert_eq!(&of_session(&session, None), &wanted);
            db.settle();
            prop_assert_eq!(&of_session(&session, None), &wanted);
            past.push((now, wanted.clone()));
            for (at, answered) in &past {
                prop_assert_eq!(&of_session(&session, Some(*at)), answered);
            }
            if past.len().is_multiple_of(2) {
                db.checkpoint().unwrap();
            }
            drop(session);
            drop(db);
            db = open(&path);
            prop_assert_eq!(&of_session(&Session::new(&db), None), &wanted);
        }
    }
}
