//! Vectors that come and change under a vector index, and what must hold of its answers whenever
//! their writer is stopped.

use std::time::{Duration, Instant};

use telar_db::query::QueryError;
use telar_db::{Database, Session, Value};

use crate::Rng;

/// Numbers of a vector: so many that an index of a few hundred has a graph of neighbours.
const DIMENSIONS: usize = 4096;
/// Vectors that a commit adds.
const ADDED: i64 = 16;
/// Commits between two checkpoints.
const CHECKPOINT_EVERY: i64 = 7;
/// Commits until there are enough vectors for a graph.
pub const ENOUGH: i64 = 20;
/// A graph that has grown by this share is written once more, ...
const GROWTH_SHARE: i64 = 8;
/// ... if so many commits more are made: some vectors wait for others, or changed before they were
/// linked.
const SPARE: i64 = 12;
/// The longest wait for the file of a graph.
const WRITTEN_WITHIN: Duration = Duration::from_secs(600);

const PREPARE: &str = "CREATE VECTOR INDEX near IF NOT EXISTS FOR (n:V) ON n.v \
     OPTIONS {indexConfig: {`vector.dimensions`: 4096, `vector.similarity_function`: 'cosine'}}";
/// Adds some, and changes one that is there.
const WRITE: &str = "MERGE (c:Count) SET c.n = $n \
     WITH c UNWIND range(0, size($new) - 1) AS i CREATE (:V {id: $n * 100 + i, v: $new[i]}) \
     WITH count(*) AS added MATCH (n:V {id: $old}) SET n.v = $changed RETURN added";
const NEAREST: &str = "CALL db.index.vector.queryNodes('near', 10, $v) YIELD node RETURN node.id";
const EXACT: &str = "MATCH (n:V) WITH n.id AS id, vector.similarity.cosine(n.v, $v) AS score \
     ORDER BY score DESC LIMIT 10 RETURN id";

/// A vector near one of some centres.
fn vector(random: &mut Rng) -> Value {
    let centre = random.below(9);
    let mut of_centre = Rng::new(centre + 1);
    let number = |random: &mut Rng| random.below(2001) as f64 / 1000.0 - 1.0;
    Value::list((0..DIMENSIONS).map(|_| number(&mut of_centre) + 0.5 * number(random)))
}

fn ids(session: &Session, text: &str, vector: &Value) -> Result<Vec<i64>, QueryError> {
    let found = session.run(text, &[("v", vector.clone())])?;
    let id = |row: &Vec<Value>| if let Value::Int(id) = row[0] { id } else { -1 };
    Ok(found.rows.iter().map(id).collect())
}

/// The last commit that is there.
fn last(session: &Session) -> Result<i64, QueryError> {
    let found = session.run("MATCH (c:Count) RETURN c.n", &[])?;
    Ok(match found.rows.first().map(|row| &row[0]) {
        Some(Value::Int(n)) => *n,
        _ => 0,
    })
}

/// Writes so many commits, searches between them, and makes checkpoints; without an end if `count`
/// is 0.
///
/// # Errors
/// Of the engine and of queries, as text.
pub fn work(db: &Database, count: i64, acknowledge: impl Fn(i64)) -> Result<(), String> {
    let failed = |e: QueryError| e.to_string();
    let session = Session::new(db);
    session.run(PREPARE, &[]).map_err(failed)?;
    let first = last(&session).map_err(failed)? + 1;
    let end = if count == 0 { i64::MAX } else { first + count };
    for n in first..end {
        let mut random = Rng::new(n as u64);
        let new = Value::list((0..ADDED).map(|_| vector(&mut random)));
        let old = (1 + random.below(n as u64)) as i64 * 100;
        let parameters =
            [("n", n.into()), ("new", new), ("old", old.into()), ("changed", vector(&mut random))];
        session.run(WRITE, &parameters).map_err(failed)?;
        acknowledge(n);
        if n % 2 == 0 {
            ids(&session, NEAREST, &vector(&mut random)).map_err(failed)?;
        }
        if n % CHECKPOINT_EVERY == 0 {
            db.checkpoint().map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

/// Writes so many commits and more, until the file of the graph was written, or could not be, twice
/// since `db` was opened. The background links and writes, so it is waited for.
///
/// # Errors
/// As [`work`]; if no file was written in ten minutes.
pub fn work_until_written(
    db: &Database,
    count: i64,
    acknowledge: impl Fn(i64),
) -> Result<(), String> {
    for (commits, times) in [(count, 1), (0, 2)] {
        let there = last(&Session::new(db)).map_err(|e| e.to_string())?;
        work(db, commits + there / GROWTH_SHARE + SPARE, &acknowledge)?;
        let begun = Instant::now();
        loop {
            let near = db.health().near.unwrap_or_default();
            if near.written + near.failed >= times {
                break;
            }
            if begun.elapsed() > WRITTEN_WITHIN {
                return Err(format!("no file of a graph in {WRITTEN_WITHIN:?}: {near:?}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(())
}

/// Drops the index and makes a checkpoint, which removes its file.
///
/// # Errors
/// Errors of the engine and of queries, as text.
pub fn drop_index(db: &Database) -> Result<(), String> {
    Session::new(db).run("DROP INDEX near IF EXISTS", &[]).map_err(|e| e.to_string())?;
    db.checkpoint().map(drop).map_err(|e| e.to_string())
}

/// Compares what the index finds with a comparison of all vectors. Returns the last commit, and how
/// many files of graphs were read and refused.
///
/// # Errors
/// What is wrong, in words.
pub fn verify(db: &Database) -> Result<[i64; 3], String> {
    let failed = |e: QueryError| e.to_string();
    let session = Session::new(db);
    let last = last(&session).map_err(failed)?;
    if db.find_index("near").is_some() {
        let mut random = Rng::new(last as u64);
        let (mut hits, mut all) = (0, 0);
        for _ in 0..12 {
            let sought = vector(&mut random);
            let expected = ids(&session, EXACT, &sought).map_err(failed)?;
            let found = ids(&session, NEAREST, &sought).map_err(failed)?;
            if found.len() != expected.len() {
                return Err(format!("{} are found, not {}", found.len(), expected.len()));
            }
            hits += expected.iter().filter(|id| found.contains(id)).count();
            all += expected.len();
        }
        if (hits as f64) < 0.97 * all as f64 {
            return Err(format!("{hits} of {all} are found after commit {last}"));
        }
    }
    let near = db.health().near.unwrap_or_default();
    Ok([last, near.read as i64, near.refused as i64])
}
