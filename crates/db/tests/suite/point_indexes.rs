//! POINT indexes: plans with them find what a scan finds, in boxes and circles of all systems.
//!
//! Every node has the labels `P`, which has an index, and `Q`, which has none; every pair of them
//! relationships of the types `T` and `U`, likewise.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use telar_db::query::QueryResult;
use telar_db::value::{Point, Srid};
use telar_db::{
    Database, Isolation, QueryTransaction, Retention, Session, Settings, Value, ValueMap,
    maintenance,
};

fn run(db: &Database, text: &str) -> QueryResult {
    Session::new(db).run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn plan(db: &Database, query: &str) -> String {
    run(db, &format!("EXPLAIN {query}")).plan.unwrap().to_string()
}

const INDEXES: [&str; 2] = [
    "CREATE POINT INDEX np IF NOT EXISTS FOR (n:P) ON (n.p)",
    "CREATE POINT INDEX rp IF NOT EXISTS FOR ()-[r:T]-() ON (r.p)",
];

// ---- against a scan ----

fn srid() -> impl Strategy<Value = Srid> {
    prop::sample::select(vec![Srid::Wgs84, Srid::Wgs84_3d, Srid::Cartesian, Srid::Cartesian3d])
}

/// Coordinates that meet, and that are extreme.
fn coordinate() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-4_i8..5).prop_map(|x| f64::from(x) * 45.0),
        4 => -180.0..180.0_f64,
        2 => (-3_i8..4).prop_map(|x| f64::from(x) / 1e4),
        1 => prop::sample::select(vec![179.999_999, -179.999_999, 1e-12, 1e-200, 3e6, 1e200]),
    ]
}

fn point_of(srid: Srid) -> impl Strategy<Value = Point> {
    [coordinate(), coordinate(), coordinate()].prop_map(move |mut at| {
        if srid.is_geographic() {
            at[0] %= 360.0;
            at[1] %= 90.5;
            at[1] = at[1].clamp(-90.0, 90.0);
        }
        Point::new(srid, &at[..srid.dimensions()]).unwrap()
    })
}

fn point() -> impl Strategy<Value = Point> {
    srid().prop_flat_map(point_of)
}

#[derive(Debug, Clone)]
enum Step {
    /// A node, and relationships from it to itself.
    Create(Value),
    Set(usize, Value),
    Delete(usize),
    Unlabel(usize),
    Ask(Question),
}

#[derive(Debug, Clone)]
struct Question {
    condition: usize,
    /// Two of one system and one of any.
    a: Point,
    b: Point,
    other: Value,
    distance: Value,
}

/// Conditions on `x.p`.
const CONDITIONS: [&str; 10] = [
    "point.withinBBox(x.p, $a, $b)",
    "point.withinBBox(x.p, $b, $a)",
    "point.withinBBox(x.p, $a, $other)",
    "point.distance(x.p, $a) < $distance",
    "point.distance($b, x.p) <= $distance",
    "$distance >= point.distance(x.p, $b)",
    "$distance > point.distance($a, x.p)",
    "x.p = $a",
    "x.p IN [$a, $b, $other, null]",
    "point.distance(x.p, $a) < $distance AND point.withinBBox(x.p, $a, $b)",
];

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => point().prop_map(Value::from),
        1 => Just(Value::Null),
    ]
}

fn question() -> impl Strategy<Value = Question> {
    let points = srid().prop_flat_map(|srid| (point_of(srid), point_of(srid)));
    let distance = prop_oneof![
        2 => (0.0..200.0_f64).prop_map(Value::from),
        4 => (0.0..2.1e7_f64).prop_map(Value::from),
        1 => (-1_i64..3).prop_map(Value::from),
        1 => prop::sample::select(vec![
            Value::Float(f64::INFINITY), Value::Float(f64::NAN), Value::Null, Value::Float(1e-9),
            Value::Float(2.0037e7), Value::Float(4e7),
        ]),
    ];
    (0..CONDITIONS.len(), points, value(), distance).prop_map(
        |(condition, (a, b), other, distance)| Question { condition, a, b, other, distance },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => value().prop_map(Step::Create),
        4 => (0_usize..50, value()).prop_map(|(n, value)| Step::Set(n, value)),
        1 => (0_usize..50).prop_map(Step::Delete),
        1 => (0_usize..50).prop_map(Step::Unlabel),
        8 => question().prop_map(Step::Ask),
    ]
}

/// Statements in a transaction.
struct Within(QueryTransaction);

impl Within {
    fn run(&mut self, text: &str, parameters: &[(&str, Value)]) -> Vec<Vec<Value>> {
        let parameters: ValueMap =
            parameters.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        let mut rows = self.0.run(text, &parameters).unwrap_or_else(|e| panic!("{text}: {e}")).rows;
        rows.sort();
        rows
    }

    fn ask(&mut self, question: &Question) {
        let condition = CONDITIONS[question.condition];
        let parameters = [
            ("a", question.a.into()),
            ("b", question.b.into()),
            ("other", question.other.clone()),
            ("distance", question.distance.clone()),
        ];
        for (indexed, plain) in [
            ("MATCH (x:P)", "MATCH (x:Q) WHERE x:P WITH x"),
            ("MATCH ()-[x:T]->()", "MATCH ()-[x:U]->()"),
            ("MATCH ()-[x:T]-()", "MATCH ()-[x:U]-()"),
        ] {
            let [indexed, plain] = [indexed, plain].map(|pattern| {
                self.run(&format!("{pattern} WHERE {condition} RETURN x.id"), &parameters)
            });
            assert_eq!(indexed, plain, "{condition} {question:?}");
        }
    }

    fn apply(&mut self, step: &Step, id: &mut i64) {
        match step {
            Step::Create(value) => {
                let parameters = [("id", Value::Int(*id)), ("p", value.clone())];
                self.run(
                    "CREATE (n:P:Q {id: $id, p: $p}) \
                     CREATE (n)-[:T {id: $id, p: $p}]->(n), (n)-[:U {id: $id, p: $p}]->(n)",
                    &parameters,
                );
                *id += 1;
            }
            Step::Set(n, value) => {
                let parameters = [("id", Value::Int(*n as i64)), ("p", value.clone())];
                self.run(
                    "MATCH (n:Q {id: $id}) SET n.p = $p WITH n MATCH (n)-[r:T|U]->(n) SET r.p = $p",
                    &parameters,
                );
            }
            Step::Delete(n) => {
                let parameters = [("id", Value::Int(*n as i64))];
                self.run("MATCH (n:Q {id: $id}) DETACH DELETE n", &parameters);
            }
            Step::Unlabel(n) => {
                let parameters = [("id", Value::Int(*n as i64))];
                self.run("MATCH (n:Q {id: $id}) REMOVE n:P", &parameters);
            }
            Step::Ask(question) => self.ask(question),
        }
    }
}

/// Transactions, each with whether it is committed.
fn transactions() -> impl Strategy<Value = Vec<(Vec<Step>, bool)>> {
    prop::collection::vec((prop::collection::vec(step(), 1..12), prop::bool::weighted(0.8)), 1..8)
}

fn run_all(db: &Database, all: &[(Vec<Step>, bool)], indexes_at: usize) {
    let session = Session::new(db);
    let mut id = run(db, "MATCH (n:Q) RETURN coalesce(max(n.id) + 1, 0)").rows[0][0].clone();
    let Value::Int(id) = &mut id else { panic!("a number") };
    for (at, (steps, commit)) in all.iter().enumerate() {
        if at == indexes_at {
            INDEXES.iter().for_each(|text| drop(run(db, text)));
        }
        let mut txn = Within(session.begin().unwrap());
        steps.iter().for_each(|step| txn.apply(step, id));
        match commit {
            true => drop(txn.0.commit().unwrap()),
            false => txn.0.rollback(),
        }
        let mut txn = Within(session.begin().unwrap());
        for step in steps {
            if let Step::Ask(question) = step {
                txn.ask(question);
            }
        }
        txn.0.rollback();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn seeks_find_what_scans_find(all in transactions(), indexes_at in 0_usize..3) {
        run_all(&telar_db::open_in_memory().unwrap(), &all, indexes_at);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn reopened_indexes_find_what_scans_find(
        first in transactions(), second in transactions(), checkpoint in any::<bool>(),
        close in any::<bool>(), questions in prop::collection::vec(question(), 12),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::asynchronous(1);
        settings.store_bytes_max = 1 << 28;
        let open = || telar_db::open_with(dir.path(), settings).unwrap();
        let mut db = open();
        for all in [&first, &second] {
            run_all(&db, all, 0);
            if checkpoint {
                db.checkpoint().unwrap();
            }
            if close {
                db.close().unwrap();
                prop_assert_eq!(&maintenance::check(dir.path()).unwrap().findings, &[]);
            } else {
                drop(db);
            }
            db = open();
            let session = Session::new(&db);
            let mut txn = Within(session.begin().unwrap());
            questions.iter().for_each(|question| txn.ask(question));
            txn.0.rollback();
        }
    }
}

// ---- many points ----

/// Points of a grid, each one of ten thousand.
fn grid(db: &Database) {
    run(
        db,
        "UNWIND range(0, 9999) AS i \
         CREATE (:P:Q {id: i, p: point({x: (i % 100) - 50.0, y: (i / 100) - 50.0}), \
                       g: point({longitude: (i % 100) * 3.6 - 180, latitude: (i / 100) * 1.8 - 90})})",
    );
}

#[test]
fn boxes_and_circles_in_a_large_index_read_a_part_of_it() {
    let db = telar_db::open_in_memory().unwrap();
    grid(&db);
    for text in ["CREATE POINT INDEX FOR (n:P) ON (n.p)", "CREATE POINT INDEX FOR (n:P) ON (n.g)"] {
        run(&db, text);
    }
    for condition in [
        "point.withinBBox(x.p, point({x: -1, y: -30}), point({x: 1.5, y: 40}))",
        "point.withinBBox(x.p, point({x: -50, y: 3}), point({x: 50, y: 3}))",
        "point.distance(x.p, point({x: 0.2, y: 0})) <= 3.5",
        "point.distance(x.g, point({longitude: 179.9, latitude: 10})) < 1000000",
        "point.distance(x.g, point({longitude: 20, latitude: 89})) < 1000000",
        "point.withinBBox(x.g, point({longitude: 170, latitude: -20}), \
         point({longitude: -160, latitude: 30}))",
        "point.withinBBox(x.g, point({longitude: 170, latitude: 20}), \
         point({longitude: -160, latitude: -30}))",
        "x.p = point({x: 3, y: 4})",
        "x.p IN [point({x: 3, y: 4}), point({x: 30, y: 4}), point({x: 0.5, y: 4})]",
    ] {
        let of =
            |label: &str| format!("MATCH (x:{label}) WHERE {condition} RETURN x.id ORDER BY x.id");
        let (indexed, plain) = (of("P"), of("Q"));
        assert_eq!(run(&db, &indexed).rows, run(&db, &plain).rows, "{condition}");
        let name =
            if condition.starts_with("x.p") { "NodeIndexSeek" } else { "NodeIndexSeekByRange" };
        let plan = plan(&db, &indexed);
        assert!(plan.contains(name) && plan.contains("POINT INDEX (x:P("), "{plan}");
    }
}

#[test]
fn what_an_index_of_points_cannot_tell_is_found_by_a_scan() {
    let db = telar_db::open_in_memory().unwrap();
    run(
        &db,
        "UNWIND [point({x: 1, y: 2}), 'text', 7, null] AS p CREATE (:P {p: p})-[:T {p: p}]->()",
    );
    INDEXES.iter().for_each(|text| drop(run(&db, text)));
    let session = Session::new(&db);
    let count = |text: &str, p: Value| session.run(text, &[("p", p)]).unwrap().rows[0][0].clone();
    for (value, expected) in [
        (Value::from("text"), 1),
        (Value::Int(7), 1),
        (Value::Null, 0),
        (Point::new(Srid::Cartesian, &[1.0, 2.0]).unwrap().into(), 1),
        (Point::new(Srid::Wgs84, &[1.0, 2.0]).unwrap().into(), 0),
    ] {
        let list = Value::list([value.clone(), value.clone(), Value::Bool(true)]);
        for pattern in ["(x:P)", "()-[x:T]->()"] {
            let equal = format!("MATCH {pattern} WHERE x.p = $p RETURN count(*)");
            assert!(plan(&db, &equal.replace("$p", "point({x: 1, y: 1})")).contains("POINT INDEX"));
            assert_eq!(count(&equal, value.clone()), Value::Int(expected), "{pattern} {value:?}");
            let one_of = format!("MATCH {pattern} WHERE x.p IN $p RETURN count(*)");
            assert_eq!(count(&one_of, list.clone()), Value::Int(expected), "{pattern} {list:?}");
        }
    }
    // What may be true of other values is not asked of it.
    for condition in ["x.p = 'text'", "x.p = $x.p", "x.p > point({x: 0, y: 0})", "x.p IS NOT NULL"]
    {
        let plan = plan(&db, &format!("MATCH (x:P) WHERE {condition} RETURN x"));
        assert!(!plan.contains("POINT INDEX"), "{condition}\n{plan}");
    }
    // Nor are boxes of an index of any values.
    run(&db, "DROP INDEX np");
    run(&db, "CREATE INDEX FOR (n:P) ON (n.p)");
    let boxed = "MATCH (x:P) WHERE point.withinBBox(x.p, $a, $b) RETURN x";
    assert!(plan(&db, boxed).contains("NodeByLabelScan"));
}

#[test]
fn plans_name_the_index_and_what_is_asked_of_it() {
    let db = telar_db::open_in_memory().unwrap();
    run(
        &db,
        "UNWIND range(1, 50) AS i CREATE (:P {p: point({x: i, y: i})})-[:T {p: point({x: i, y: 0})}]->()",
    );
    INDEXES.iter().for_each(|text| drop(run(&db, text)));
    for (query, expected) in [
        (
            "MATCH (n:P) WHERE point.distance(n.p, $c) < 5 RETURN n",
            "NodeIndexSeekByRange | POINT INDEX (n:P(p)) WHERE point.distance(n.p, $c) < 5",
        ),
        (
            "MATCH (n:P) WHERE 5 >= point.distance($c, n.p) RETURN n",
            "NodeIndexSeekByRange | POINT INDEX (n:P(p)) WHERE point.distance(n.p, $c) <= 5",
        ),
        (
            "MATCH (n:P) WHERE point.withinBBox(n.p, $a, $b) RETURN n",
            "NodeIndexSeekByRange | POINT INDEX (n:P(p)) WHERE point.withinBBox(n.p, $a, $b)",
        ),
        (
            "MATCH ()-[r:T]->() WHERE point.withinBBox(r.p, $a, $b) RETURN r",
            "DirectedRelationshipIndexSeekByRange | POINT INDEX",
        ),
        (
            "MATCH ()-[r:T]-() USING POINT INDEX r:T(p) WHERE r.p = $a RETURN r",
            "UndirectedRelationshipIndexSeek | POINT INDEX",
        ),
        (
            "MATCH (a:P), (b:P) WHERE a.id = 1 AND point.distance(a.p, b.p) < 2 RETURN b",
            "POINT INDEX (b:P(p)) WHERE point.distance(b.p, a.p) < 2",
        ),
    ] {
        let plan = plan(&db, query);
        let words = plan.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_there = expected.split(" | ").all(|part| words.contains(part));
        assert!(is_there, "{query}\n{plan}");
    }
}

#[test]
fn the_past_is_found_where_points_were() {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(100);
    let db = Database::in_memory(settings).unwrap();
    INDEXES.iter().for_each(|text| drop(run(&db, text)));
    let moments = [
        "UNWIND range(0, 399) AS i CREATE (n:P:Q {id: i, p: point({x: i % 20, y: i / 20})}) \
         CREATE (n)-[:T {id: i, p: n.p}]->(n), (n)-[:U {id: i, p: n.p}]->(n)",
        "MATCH (n:Q)-[r:T|U]->(n) WHERE n.id % 3 = 0 \
         SET n.p = point({x: n.p.x + 5, y: n.p.y}), r.p = point({x: r.p.x, y: -r.p.y})",
        "MATCH (n:Q) WHERE n.id % 5 = 0 DETACH DELETE n",
        "MATCH (n:Q) WHERE n.id % 7 = 0 SET n.p = null",
        "MATCH (n:Q) WHERE n.id % 7 = 1 REMOVE n:P",
    ]
    .map(|text| {
        let at = run(&db, text).at;
        db.settle();
        at
    });
    for at in moments {
        for condition in [
            "point.withinBBox(x.p, point({x: 3, y: 3}), point({x: 11, y: 9}))",
            "point.distance(x.p, point({x: 10, y: 5})) < 4.5",
            "x.p = point({x: 6, y: 7})",
            "x.p IN [point({x: 6, y: 7}), point({x: 5, y: 0}), point({x: 6, y: 7.0000000001})]",
        ] {
            for (indexed, plain) in [
                ("MATCH (x:P)", "MATCH (x:Q) WHERE x:P WITH x"),
                ("MATCH ()-[x:T]->()", "MATCH ()-[x:U]->()"),
            ] {
                let [indexed, plain] = [indexed, plain].map(|pattern| {
                    run(&db, &format!(
                        "AT TIMESTAMP {at} {pattern} WHERE {condition} RETURN x.id ORDER BY x.id"
                    ))
                    .rows
                });
                assert_eq!(indexed, plain, "{at} {condition}");
            }
        }
    }
}

#[test]
fn serializable_transactions_conflict_in_the_box_they_read_and_not_beside_it() {
    let db = telar_db::open_in_memory().unwrap();
    INDEXES.iter().for_each(|text| drop(run(&db, text)));
    run(&db, "UNWIND range(0, 99) AS i CREATE (:P {p: point({x: i % 10, y: i / 10})})");
    let count = "MATCH (x:P) WHERE point.withinBBox(x.p, point({x: 2, y: 2}), point({x: 4, y: 6})) \
                 RETURN count(*)";
    for (written, conflicts) in
        [("x: 3, y: 3.5", true), ("x: 5, y: 3", false), ("x: 1, y: 4", false)]
    {
        let session = Session::new(&db).with_isolation(Isolation::Serializable);
        let mut txn = session.begin().unwrap();
        txn.run(count, &ValueMap::new()).unwrap();
        run(&db, &format!("CREATE (:P {{p: point({{{written}}})}})"));
        txn.run("CREATE (:Counted)", &ValueMap::new()).unwrap();
        assert_eq!(txn.commit().is_err(), conflicts, "{written}");
    }
}
