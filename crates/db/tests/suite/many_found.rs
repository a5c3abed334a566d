//! Many rows that find much in an index each: what is found is handed on before all rows were
//! looked at, in the order of the rows, and none is lost.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::query::Limits;
use telar_db::{Session, Value, ValueMap};

#[test]
fn rows_that_find_much_are_looked_at_in_parts() {
    const ROWS: i64 = 3000;
    const EACH: i64 = 1000;
    let db = telar_db::open_in_memory().unwrap();
    // All that is found at once would take twice as much and more.
    let limits = Limits { memory: Some(24 << 20), ..Limits::default() };
    let session = Session::new(&db).with_limits(limits);
    for text in [
        "CREATE INDEX FOR (n:N) ON (n.k)",
        "CREATE INDEX FOR (n:N) ON (n.same)",
        "CREATE INDEX FOR ()-[r:R]-() ON (r.k)",
        "UNWIND range(1, 1000) AS k CREATE (n:N {k: k, same: 7})-[:R {k: k}]->(:End)",
        "CALL db.awaitIndexes()",
    ] {
        session.run(text, &[]).unwrap();
    }
    for found in ["(n:N) WHERE n.k > 0", "(n:N) WHERE n.same = 7", "()-[n:R]->() WHERE n.k > 0"] {
        let text = format!(
            "UNWIND range(1, {ROWS}) AS i MATCH {found} WITH i, n.k AS k \
             RETURN count(*), sum(i * k), count(DISTINCT i)"
        );
        let result = session.run_with(&text, &ValueMap::new()).unwrap();
        let sum = ROWS * (ROWS + 1) / 2 * (EACH * (EACH + 1) / 2);
        assert_eq!(result.rows, [[ROWS * EACH, sum, ROWS].map(Value::Int)], "{found}");
    }
}
