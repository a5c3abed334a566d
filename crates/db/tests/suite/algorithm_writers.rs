//! Algorithms beside writers that keep an invariant: money goes round one ring of all accounts.
//!
//! A transaction lets two accounts that follow each other change places and moves an amount from
//! one payment to another, some in two statements between which the ring is broken, some undone in
//! that state. At each snapshot there is one ring and the same sum.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telar_db::query::{ErrorKind, QueryError};
use telar_db::{Database, Runtime, Session, Value, ValueMap};

const NODES: u64 = 40;
const SUM: f64 = 4000.0;

/// Queries with one row, and the row that each snapshot has.
fn invariants() -> Vec<(String, Vec<Value>)> {
    let (n, sum) = (NODES as i64, Value::Float(SUM));
    let ring = "{relationships: 'PAYS'}";
    let weighted = "{nodes: 'Account', relationships: 'PAYS', weight: 'amount'}";
    let both_ways = "{relationships: 'PAYS', orientation: 'UNDIRECTED'}";
    let equal = |algorithm: &str, graph: &str, column: &str| {
        let text = format!(
            "CALL algo.{algorithm}({graph}) YIELD {column} AS x \
             RETURN count(*), max(x) - min(x) < 1e-9"
        );
        (text, vec![Value::Int(n), Value::Bool(true)])
    };
    let mut wanted = vec![
        equal("pageRank", ring, "score"),
        equal("articleRank", ring, "score"),
        equal("eigenvector", ring, "score"),
        equal("closeness", ring, "score"),
        equal("betweenness", both_ways, "score"),
        equal("degree", ring, "score"),
        equal("wcc", ring, "componentId"),
        equal("scc", ring, "componentId"),
    ];
    let one = |text: String, value: Value| (text, vec![value]);
    for packed in ["false", "true"] {
        let settings = format!("{{packed: {packed}}}");
        let text = format!(
            "CALL algo.pageRank({ring}, {settings}) YIELD score RETURN round(sum(score), 9)"
        );
        wanted.push(one(text, Value::Float(1.0)));
        let text = format!(
            "MATCH (a:Account {{i: 0}}) CALL algo.bfs({ring}, {{sourceNode: a, packed: {packed}}})
             YIELD depth RETURN count(DISTINCT depth), max(depth)"
        );
        wanted.push((text, vec![Value::Int(n), Value::Int(n - 1)]));
        let text = format!("CALL algo.wcc.stats({ring}, {settings}) YIELD componentCount");
        wanted.push(one(format!("{text} RETURN componentCount"), Value::Int(1)));
    }
    let text = format!(
        "CALL algo.degree({weighted}) YIELD score WITH sum(score) AS of_algorithm
         MATCH ()-[p:PAYS]->() RETURN of_algorithm, toFloat(sum(p.amount)), count(*)"
    );
    wanted.push((text, vec![sum.clone(), sum.clone(), Value::Int(n)]));
    // All the way round.
    let text = format!(
        "MATCH (a:Account {{i: 7}}) CALL algo.sssp({weighted}, {{sourceNode: a}})
         YIELD node AS last, distance WITH a, last, distance ORDER BY distance DESC LIMIT 1
         MATCH (last)-[p:PAYS]->(a) RETURN distance + p.amount"
    );
    wanted.push(one(text, sum.clone()));
    let text =
        format!("CALL algo.spanningTree.stats({both_ways}) YIELD treeCount RETURN treeCount");
    wanted.push(one(text, Value::Int(1)));
    let text = format!("CALL algo.kcore({both_ways}) YIELD coreValue RETURN avg(coreValue)");
    wanted.push(one(text, Value::Float(2.0)));
    let text = format!("CALL algo.bridges({both_ways}) YIELD from RETURN count(*)");
    wanted.push(one(text, Value::Int(0)));
    let text = format!("CALL algo.allShortestPaths.pairs({ring}) YIELD distance RETURN count(*)");
    wanted.push(one(text, Value::Int(n * (n - 1))));
    let text = "MATCH (x:Account)-[p:PAYS]->(y) WITH collect([x, y, p.amount]) AS pairs
                CALL algo.degree({pairs: pairs}) YIELD score RETURN sum(score)";
    wanted.push(one(text.to_owned(), sum.clone()));
    let text = "CALL gds.degree.stream('ring', {relationshipWeightProperty: 'amount'})
                YIELD score RETURN sum(score)";
    wanted.push(one(text.to_owned(), sum));
    wanted
}

fn ring(session: &Session) {
    let text = "UNWIND range(0, $n - 1) AS i CREATE (:Account {i: i})
                WITH count(*) AS all UNWIND range(0, $n - 1) AS i
                MATCH (a:Account {i: i}), (b:Account {i: (i + 1) % $n})
                CREATE (a)-[:PAYS {amount: 100}]->(b)";
    session.run(text, &[("n", Value::Int(NODES as i64))]).unwrap();
    let text = "CALL gds.graph.project('ring', 'Account', {PAYS: {properties: 'amount'}})";
    session.run(text, &[]).unwrap();
}

/// Swaps the second and the third of four in a row; returns whether it was committed.
fn swap(session: &Session, at: u64, way: u64) -> bool {
    let at = ("at", Value::Int((at % NODES) as i64));
    let way = way % 4;
    if way < 2 {
        let text = "MATCH (w:Account {i: $at})-[a:PAYS]->(x)-[b:PAYS]->(y)-[c:PAYS]->(z)
                    WITH w, x, y, z, a, b, c, a.amount AS first, b.amount AS second,
                         c.amount AS third, CASE WHEN b.amount > 1 THEN 1 ELSE 0 END AS moved
                    DELETE a, b, c
                    CREATE (w)-[:PAYS {amount: first + moved}]->(y),
                           (y)-[:PAYS {amount: second - moved}]->(x),
                           (x)-[:PAYS {amount: third}]->(z)";
        return session.run(text, &[at]).map(drop).map_err(expect_conflict).is_ok();
    }
    let mut transaction = session.begin().unwrap();
    let text = "MATCH (:Account {i: $at})-[a:PAYS]->(x)-[b:PAYS]->(y)-[c:PAYS]->(z)
                SET y.before = x.i, x.before = z.i
                WITH a, b, c, y, x, a.amount + b.amount + c.amount AS sum
                DELETE a, b, c RETURN sum, x.i AS x, y.i AS y, x.before AS z";
    let broken = match transaction.run(text, &parameters([at.clone()])) {
        Ok(done) => done.rows.into_iter().next().unwrap(),
        Err(error) => {
            expect_conflict(error);
            return false;
        }
    };
    if way == 2 {
        transaction.rollback();
        return false;
    }
    let text = "MATCH (w:Account {i: $at}), (x:Account {i: $x}), (y:Account {i: $y}),
                      (z:Account {i: $z})
                CREATE (w)-[:PAYS {amount: $sum - 2}]->(y)-[:PAYS {amount: 1}]->(x)
                       -[:PAYS {amount: 1}]->(z)";
    let named = ["sum", "x", "y", "z"].into_iter().zip(broken);
    let done = transaction.run(text, &parameters(named.chain([at]))).map(drop);
    done.and_then(|()| transaction.commit().map(drop)).map_err(expect_conflict).is_ok()
}

fn parameters(named: impl IntoIterator<Item = (&'static str, Value)>) -> ValueMap {
    named.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

fn expect_conflict(error: QueryError) {
    assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
}

fn beside_writers(db: &Database, checkpoints: bool) {
    // With one runtime: the graph with a name is one for all of them.
    let runtime = &Arc::new(Runtime::default());
    ring(&Session::with_runtime(db, Arc::clone(runtime)));
    let (stop, committed) = (&AtomicBool::new(false), &AtomicU64::new(0));
    std::thread::scope(|scope| {
        for writer in 0..2 {
            scope.spawn(move || {
                let session = Session::with_runtime(db, Arc::clone(runtime));
                let mut random: u64 = 17 + writer;
                while !stop.load(Ordering::Relaxed) {
                    let next = random.wrapping_mul(6_364_136_223_846_793_005);
                    random = next.wrapping_add(1_442_695_040_888_963_407);
                    if swap(&session, random >> 40, random >> 33) {
                        committed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        // Stops the writers also if a check fails.
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let session = Session::with_runtime(db, Arc::clone(runtime));
            let invariants = invariants();
            let (begun, mut rounds) = (Instant::now(), 0);
            let none = || committed.load(Ordering::Relaxed) == 0;
            while rounds < 3 || begun.elapsed() < Duration::from_secs(2) || none() {
                for (text, wanted) in &invariants {
                    let found = session.run(text, &[]);
                    let rows = found.unwrap_or_else(|error| panic!("{text}: {error}")).rows;
                    assert_eq!(rows, std::slice::from_ref(wanted), "{text}");
                }
                if checkpoints {
                    db.checkpoint().unwrap();
                }
                rounds += 1;
            }
        }));
        stop.store(true, Ordering::Relaxed);
        checked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

#[test]
fn every_result_shows_the_invariant_that_writers_keep() {
    beside_writers(&telar_db::open_in_memory().unwrap(), false);
}

#[test]
fn checkpoints_beside_writers_and_algorithms_show_it_too() {
    let folder = tempfile::tempdir().unwrap();
    beside_writers(&telar_db::open(folder.path().join("ring.telar")).unwrap(), true);
}
