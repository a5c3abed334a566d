//! Sessions that all merge relationships among the same nodes, and what must hold of them whenever
//! they are stopped.

use std::sync::atomic::{AtomicBool, Ordering};

use telar_db::query::QueryError;
use telar_db::{Database, Session, Value, ValueMap};

use crate::Rng;

const NODES: u64 = 16;

/// Counts a merge in the relationship and, with the same commit, for the session.
const ONE_WAY: &str = "MATCH (s:Session {id: $session}), (a:Node {id: $a}), (b:Node {id: $b}) \
     MERGE (a)-[r:TO]->(b) ON CREATE SET r.n = 1 ON MATCH SET r.n = r.n + 1 \
     SET s.n = s.n + 1 RETURN s.n";
const EITHER_WAY: &str = "MATCH (s:Session {id: $session}), (a:Node {id: $a}), (b:Node {id: $b}) \
     MERGE (a)-[r:EITHER]-(b) ON CREATE SET r.n = 1 ON MATCH SET r.n = r.n + 1 \
     SET s.n = s.n + 1 RETURN s.n";
/// The other end is made with the relationship.
const NEW_NODE: &str = "MATCH (s:Session {id: $session}), (a:Node {id: $a}) \
     MERGE (a)-[r:HAS]->(t:Tag {id: $b % 3}) ON CREATE SET r.n = 1 ON MATCH SET r.n = r.n + 1 \
     SET s.n = s.n + 1 RETURN s.n";
/// Takes one away, and what it counted with it.
const DELETE: &str = "MATCH (s:Session {id: $session}), (a:Node {id: $a})-[r:TO|EITHER]->(b:Node) \
     WITH s, r, r.n AS n LIMIT 1 DELETE r SET s.gone = s.gone + n RETURN s.n";

/// What is wrong, if a line comes out.
const WRONG: [(&str, &str); 5] = [
    (
        "two one way",
        "MATCH (a)-[r:TO]->(b) WITH a, b, count(r) AS c WHERE c > 1 RETURN a.id, b.id, c",
    ),
    (
        "two either way",
        "MATCH (a)-[r:EITHER]->(b) WITH CASE WHEN a.id < b.id THEN [a.id, b.id] ELSE [b.id, a.id] END AS pair, \
         count(r) AS c WHERE c > 1 RETURN pair, c",
    ),
    (
        "two new nodes",
        "MATCH (a)-[:HAS]->(t) WITH a, t.id AS t, count(*) AS c WHERE c > 1 RETURN a.id, t, c",
    ),
    (
        "a new node without its relationship",
        "MATCH (t:Tag) WHERE NOT EXISTS { (t)<-[:HAS]-() } RETURN t.id",
    ),
    (
        "sums that differ",
        "MATCH (s:Session) WITH sum(s.n) AS units, sum(s.gone) AS gone \
         OPTIONAL MATCH ()-[r]->() WITH units, gone, sum(r.n) AS there \
         WHERE units <> gone + there RETURN units, gone, there",
    ),
];

/// Makes the nodes if there are none.
fn prepare(session: &Session, sessions: usize) -> Result<(), QueryError> {
    let nodes = format!(
        "OPTIONAL MATCH (n:Node) WITH count(n) AS there WHERE there = 0 \
         FOREACH (i IN range(0, {NODES} - 1) | CREATE (:Node {{id: i}})) \
         FOREACH (i IN range(0, {sessions} - 1) | CREATE (:Session {{id: i, n: 0, gone: 0}}))"
    );
    session.run(&nodes, &[]).map(drop)
}

/// One unit, in one of the three ways in which programs do it; the session's own count after it.
fn unit(
    session: &Session,
    text: &str,
    given: &ValueMap,
    way: usize,
) -> Result<Option<i64>, QueryError> {
    let rows = match way % 3 {
        0 => session.run_with(text, given)?.rows,
        1 => {
            let mut transaction = session.begin()?;
            let rows = transaction.run(text, given)?.rows;
            transaction.commit()?;
            rows
        }
        _ => {
            let mut transaction = session.begin()?;
            transaction.run("MATCH (a:Node {id: $a}) RETURN a.id", given)?;
            let rows = transaction.run(text, given)?.rows;
            transaction.commit()?;
            rows
        }
    };
    Ok(rows.first().and_then(|row| match row.first() {
        Some(Value::Int(n)) => Some(*n),
        _ => None,
    }))
}

/// Merges until it is killed, or something fails that is not a conflict. `acknowledge` hears of
/// each session's count.
///
/// # Errors
/// What failed.
pub fn work(
    db: &Database,
    sessions: usize,
    seed: u64,
    acknowledge: impl Fn(usize, i64) + Sync,
) -> Result<(), QueryError> {
    let session = Session::new(db);
    prepare(&session, sessions)?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions)
            .map(|number| {
                let (session, stop, acknowledge) = (&session, &stop, &acknowledge);
                scope.spawn(move || {
                    let mut rng = Rng::new(seed ^ (number as u64) << 32);
                    while !stop.load(Ordering::Relaxed) {
                        let text = match rng.below(8) {
                            0 => DELETE,
                            1 | 2 => EITHER_WAY,
                            3 => NEW_NODE,
                            _ => ONE_WAY,
                        };
                        let mut value = || Value::Int(rng.below(NODES) as i64);
                        let given = [
                            ("a", value()),
                            ("b", value()),
                            ("session", Value::Int(number as i64)),
                        ];
                        let given =
                            given.map(|(key, value)| (key.into(), value)).into_iter().collect();
                        match unit(session, text, &given, number) {
                            Ok(count) => count.into_iter().for_each(|n| acknowledge(number, n)),
                            Err(e) if e.is_retryable() => {}
                            Err(e) => {
                                stop.store(true, Ordering::Relaxed);
                                return Err(e);
                            }
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// What each session has counted.
///
/// # Errors
/// What must not be, in words.
pub fn verify(db: &Database, sessions: usize) -> Result<Vec<i64>, String> {
    let session = Session::new(db);
    let rows = |text: &str| {
        let ran = session.run(text, &[]).map_err(|e| format!("{text}: {e}"));
        ran.map(|result| result.rows)
    };
    for (what, text) in WRONG {
        let found = rows(text)?;
        if !found.is_empty() {
            return Err(format!("{what}: {found:?}"));
        }
    }
    let mut counts = vec![0; sessions];
    for row in rows("MATCH (s:Session) RETURN s.id, s.n")? {
        match row[..] {
            [Value::Int(id), Value::Int(n)] => counts[id as usize] = n,
            ref other => return Err(format!("a session is {other:?}")),
        }
    }
    Ok(counts)
}
