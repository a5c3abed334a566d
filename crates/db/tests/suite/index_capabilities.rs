//! Every kind of index does what its capability says: commands know it by its name, the planner
//! uses it for the predicates that it claims to serve and for no others, plans with it find what
//! plans without find, and it is the same when the database is opened again.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::index_kind::{IndexKind, IndexPredicate, PROPERTIES_MAX};
use telar_db::query::QueryResult;
use telar_db::{Database, PropertyType, Session, Value};

fn run(db: &Database, text: &str) -> QueryResult {
    Session::new(db).run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn rows(db: &Database, text: &str, p: &Value) -> Vec<Vec<Value>> {
    let run = Session::new(db).run(text, &[("p", p.clone())]);
    let mut rows = run.unwrap_or_else(|e| panic!("{text}: {e}")).rows;
    rows.sort();
    rows
}

fn plan(db: &Database, query: &str) -> String {
    run(db, &format!("EXPLAIN {query}")).plan.unwrap().to_string()
}

/// Values of three types, each an expression of Cypher: numbers, strings, points.
const VALUES: [(PropertyType, [&str; 3]); 3] = [
    (PropertyType::Int, ["1", "7", "9"]),
    (PropertyType::String, ["'ab'", "'b'", "'bab'"]),
    (PropertyType::Point, ["point({x: 0, y: 0})", "point({x: 1, y: 2})", "point({x: 5, y: 5})"]),
];

/// Nodes `P` and relationships `T` that indexes are made on, `Q` and `U` with the same values.
fn fill(db: &Database) {
    let values = VALUES.map(|(_, values)| values.join(", ")).join(", ");
    run(
        db,
        &format!(
            "UNWIND [{values}, 2.5, true, [1], date('2020-01-01'), null] AS x UNWIND [1, 2] AS id \
             CREATE (n:P:Q {{id: id, x: x}}) CREATE (n)-[:T {{id: id, x: x}}]->(n), \
                    (n)-[:U {{id: id, x: x}}]->(n)"
        ),
    );
}

fn make(db: &Database, kind: IndexKind) {
    let name = kind.name();
    run(db, &format!("CREATE {name} INDEX nodes FOR (n:P) ON (n.x)"));
    run(db, &format!("CREATE {name} INDEX edges FOR ()-[r:T]-() ON (r.x)"));
}

/// Conditions that are one predicate each, on values of a type.
fn conditions(predicate: IndexPredicate, [low, middle, high]: [&str; 3]) -> Vec<String> {
    match predicate {
        IndexPredicate::Equals => vec![format!("n.x = {middle}")],
        IndexPredicate::In => vec![format!("n.x IN [{low}, {high}]")],
        IndexPredicate::Between => {
            vec![
                format!("n.x < {high}"),
                format!("n.x >= {middle}"),
                format!("{low} < n.x <= {high}"),
            ]
        }
        IndexPredicate::StartsWith => vec![format!("n.x STARTS WITH {middle}")],
        IndexPredicate::EndsWith => vec![format!("n.x ENDS WITH {middle}")],
        IndexPredicate::Contains => vec![format!("n.x CONTAINS {middle}")],
        IndexPredicate::Within => vec![
            format!("point.withinBBox(n.x, {low}, {middle})"),
            format!("point.distance(n.x, {low}) <= 3.0"),
        ],
    }
}

/// The type of values that a predicate asks for, if it is one.
fn asks_for(predicate: IndexPredicate) -> Option<PropertyType> {
    match predicate {
        IndexPredicate::Equals | IndexPredicate::In | IndexPredicate::Between => None,
        IndexPredicate::StartsWith | IndexPredicate::EndsWith | IndexPredicate::Contains => {
            Some(PropertyType::String)
        }
        IndexPredicate::Within => Some(PropertyType::Point),
    }
}

/// Kinds that the planner uses. Procedures ask the others: `fulltext.rs`.
fn kinds() -> impl Iterator<Item = IndexKind> {
    IndexKind::ALL.into_iter().filter(|kind| !kind.capability().predicates.is_empty())
}

const PATTERNS: [(&str, &str); 2] =
    [("MATCH (n:P)", "MATCH (n:Q) WITH n"), ("MATCH ()-[n:T]->()", "MATCH ()-[n:U]->()")];

#[test]
fn the_planner_uses_each_kind_for_what_it_serves_and_nothing_else() {
    for kind in kinds() {
        let capability = kind.capability();
        let db = telar_db::open_in_memory().unwrap();
        fill(&db);
        make(&db, kind);
        let mut used = 0;
        for predicate in IndexPredicate::ALL {
            for (ty, values) in VALUES {
                if asks_for(predicate).is_some_and(|asked| asked != ty) {
                    continue;
                }
                let served =
                    capability.serves(predicate) && capability.holds.is_none_or(|held| held == ty);
                for condition in conditions(predicate, values) {
                    for (indexed, plain) in PATTERNS {
                        let [query, plain] = [indexed, plain]
                            .map(|pattern| format!("{pattern} WHERE {condition} RETURN n.id, n.x"));
                        let plan = plan(&db, &query);
                        let index = format!("{} INDEX", kind.name());
                        assert_eq!(plan.contains(&index), served, "{query}\n{plan}");
                        let none = Value::Null;
                        assert_eq!(rows(&db, &query, &none), rows(&db, &plain, &none), "{query}");
                        used += usize::from(served);
                    }
                }
            }
        }
        assert!(used >= 2 * capability.predicates.len(), "{kind:?}: {used} plans");
    }
}

/// What a parameter is, is seen when a statement runs.
#[test]
fn each_kind_finds_what_a_scan_finds_whatever_a_parameter_is() {
    for kind in kinds() {
        let db = telar_db::open_in_memory().unwrap();
        fill(&db);
        make(&db, kind);
        let values = run(&db, "MATCH (n:Q) WHERE n.id = 1 RETURN n.x").rows;
        let values: Vec<Value> = values.into_iter().flatten().collect();
        let all = Value::list(values.clone());
        for (condition, parameters) in [("n.x = $p", values), ("n.x IN $p", vec![all])] {
            for (indexed, plain) in PATTERNS {
                let [query, plain] = [indexed, plain]
                    .map(|pattern| format!("{pattern} WHERE {condition} RETURN n.id, n.x"));
                assert!(plan(&db, &query).contains(&format!("{} INDEX", kind.name())), "{query}");
                for p in &parameters {
                    assert_eq!(rows(&db, &query, p), rows(&db, &plain, p), "{query} {p:?}");
                }
            }
        }
    }
}

#[test]
fn commands_know_each_kind_and_it_is_the_same_after_it_is_opened_again() {
    for kind in kinds() {
        let capability = kind.capability();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let columns = "YIELD name, type, indexProvider, properties, labelsOrTypes, options, \
                       createStatement, state";
        let shown = {
            let db = telar_db::open(&path).unwrap();
            fill(&db);
            make(&db, kind);
            let keys = (0..capability.properties_max).map(|at| format!("n.k{at}"));
            let keys = keys.collect::<Vec<_>>().join(", ");
            run(&db, &format!("CREATE {} INDEX most FOR (n:R) ON ({keys})", kind.name()));
            let one_more = format!("CREATE {} INDEX FOR (n:R) ON ({keys}, n.other)", kind.name());
            let refused = Session::new(&db).run(&one_more, &[]).expect_err(&one_more);
            let single = refused.message.contains("Only single property");
            assert_eq!(single, capability.properties_max < PROPERTIES_MAX, "{refused}");
            run(&db, &format!("SHOW {} INDEXES {columns}", kind.name())).rows
        };
        let names: Vec<_> = shown.iter().map(|row| row[0].clone()).collect();
        assert_eq!(names, ["edges", "most", "nodes"].map(Value::from), "{kind:?}");
        for row in &shown {
            assert_eq!(row[1], kind.name().into(), "{kind:?}");
            assert_eq!(row[2], capability.provider.into(), "{kind:?}");
        }
        let db = telar_db::open(&path).unwrap();
        assert_eq!(run(&db, &format!("SHOW {} INDEXES {columns}", kind.name())).rows, shown);
        for other in IndexKind::ALL.into_iter().filter(|other| *other != kind) {
            let found = run(&db, &format!("SHOW {} INDEXES YIELD name", other.name())).rows;
            assert!(found.is_empty(), "{other:?}: {found:?}");
        }
        // What is shown makes the same, with any provider that the kind has had.
        let statement = run(&db, "SHOW INDEXES YIELD name, createStatement WHERE name = 'nodes'");
        let [_, Value::String(statement)] = &statement.rows[0][..] else { panic!("{statement:?}") };
        run(&db, "DROP INDEX nodes");
        run(&db, statement);
        let command = statement.split(" OPTIONS ").next().unwrap();
        for provider in [&[capability.provider], capability.old_providers].concat() {
            run(&db, "DROP INDEX nodes");
            run(&db, &format!("{command} OPTIONS {{indexProvider: '{provider}'}}"));
        }
        let strange = format!("CREATE {} INDEX FOR (n:S) ON (n.x)", kind.name());
        let strange = format!("{strange} OPTIONS {{indexProvider: 'strange-1.0'}}");
        assert!(Session::new(&db).run(&strange, &[]).is_err(), "{strange}");
    }
}

#[test]
fn hints_name_each_kind() {
    for kind in kinds() {
        let db = telar_db::open_in_memory().unwrap();
        fill(&db);
        for kind in kinds() {
            run(&db, &format!("CREATE {0} INDEX of_{0} FOR (n:P) ON (n.x)", kind.name()));
        }
        let query =
            format!("MATCH (n:P) USING {} INDEX n:P(x) WHERE n.x = $p RETURN n", kind.name());
        let plan = plan(&db, &query);
        assert!(plan.contains(&format!("{} INDEX", kind.name())), "{query}\n{plan}");
    }
}
