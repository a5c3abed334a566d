//! Queries that are asked twice, as they are written and so that a short cut cannot be taken.

use telar_db::{Database, Session, Value};

/// The rows of a query, sorted.
pub fn rows(db: &Database, query: &str) -> Vec<Vec<Value>> {
    let found = Session::new(db).run(query, &[]);
    let mut rows = found.unwrap_or_else(|e| panic!("{query}: {e}")).rows;
    rows.sort();
    rows
}

/// The plan of a query, as `EXPLAIN` shows it.
pub fn plan(db: &Database, query: &str) -> String {
    Session::new(db).run(&format!("EXPLAIN {query}"), &[]).unwrap().plan.unwrap().to_string()
}

/// A database that these statements make.
pub fn database(statements: &[&str]) -> Database {
    let db = telar_db::open_in_memory().unwrap();
    for statement in statements {
        rows(&db, statement);
    }
    db
}

/// Adds many relationships between the nodes `:P {id: 0}` to `:P {id: 11}`, loops and parallel ones
/// among them: so many of type `K`, 25 of type `L`.
pub fn tangle_edges(db: &Database, seed: i64, count_of_k: u32) {
    for (ty, count) in [("K", count_of_k), ("L", 25)] {
        let edges = format!(
            "UNWIND range(1, {count}) AS i \
             WITH i, (i * i * {seed} + i * 7) % 12 AS x, (i * 5 + i / 4 * {seed}) % 12 AS y \
             MATCH (a:P {{id: x}}), (b:P {{id: y}}) CREATE (a)-[:{ty} {{w: i}}]->(b)"
        );
        rows(db, &edges);
    }
    // Some unsettled deletes as well.
    rows(db, "MATCH ()-[r:K]->() WHERE r.w % 13 = 0 DELETE r");
}
