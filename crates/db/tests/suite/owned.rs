//! Sessions and transactions have no lifetime: any thread may have them, and they keep their
//! database open.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use telar_db::query::ErrorKind;
use telar_db::{
    Database, Error, Isolation, QueryTransaction, Session, Value, ValueMap, maintenance,
};

const BOTH: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

/// Runs `f` on a thread of its own.
fn elsewhere<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    thread::spawn(f).join().unwrap()
}

fn count(session: &Session) -> i64 {
    match session.run("MATCH (n) RETURN count(n)", &[]).unwrap().rows[0][0] {
        Value::Int(count) => count,
        ref other => panic!("{other:?}"),
    }
}

fn create(mut transaction: QueryTransaction) -> QueryTransaction {
    transaction.run("CREATE (:A {x: 1})", &ValueMap::new()).unwrap();
    transaction
}

fn is_locked(folder: &Path) -> bool {
    matches!(telar_db::open(folder), Err(Error::Locked { .. }))
}

#[test]
fn sessions_and_transactions_can_be_sent_and_kept() {
    fn kept<T: Send + 'static>() {}
    fn shared<T: Send + Sync + Clone + 'static>() {}
    kept::<QueryTransaction>();
    shared::<Session>();
    shared::<Database>();
}

#[test]
fn a_transaction_goes_from_thread_to_thread() {
    for isolation in BOTH {
        let db = telar_db::open_in_memory().unwrap();
        let session = Session::new(&db).with_isolation(isolation);
        let begun = {
            let session = session.clone();
            elsewhere(move || session.begin().unwrap())
        };
        let written = elsewhere(move || create(begun));
        assert_eq!(count(&session), 0);
        let at = elsewhere(move || written.commit().unwrap());
        assert_eq!((count(&session), db.published()), (1, at));

        // Undone on a thread that has not begun it.
        let dropped = create(session.begin().unwrap());
        elsewhere(move || drop(dropped));
        assert_eq!((count(&session), db.readers().0), (1, 0));
    }
}

#[test]
fn conflicts_are_found_whatever_threads_are_used() {
    let read_one_write_other = |transaction: &mut QueryTransaction, read: i64, write: i64| {
        let text = "MATCH (r:R {id: $r}), (w:R {id: $w}) WITH w, r.v AS v SET w.v = v + 1";
        let ids = [("r".into(), read.into()), ("w".into(), write.into())];
        transaction.run(text, &ids.into_iter().collect::<ValueMap>())
    };
    for isolation in BOTH {
        let db = telar_db::open_in_memory().unwrap();
        let session = Session::new(&db).with_isolation(isolation);
        session.run("CREATE (:R {id: 0, v: 0}), (:R {id: 1, v: 0})", &[]).unwrap();
        let (mut first, mut second) = (session.begin().unwrap(), session.begin().unwrap());
        read_one_write_other(&mut first, 0, 1).unwrap();
        read_one_write_other(&mut second, 1, 0).unwrap();
        elsewhere(move || first.commit().unwrap());
        let outcome = elsewhere(move || second.commit());
        match isolation {
            Isolation::Snapshot => assert!(outcome.is_ok(), "write skew is allowed"),
            Isolation::Serializable => {
                assert_eq!(outcome.unwrap_err().kind, ErrorKind::Conflict);
            }
        }
    }
}

#[test]
fn whoever_waits_for_a_transaction_goes_on_when_another_thread_drops_it() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db).with_write_wait(Duration::from_secs(60));
    session.run("CREATE (:N {x: 0})", &[]).unwrap();
    let mut open = session.begin().unwrap();
    open.run("MATCH (n:N) SET n.x = 1", &ValueMap::new()).unwrap();
    let waits = db.write_waits();
    let waiter = {
        let session = session.clone();
        thread::spawn(move || session.run("MATCH (n:N) SET n.x = n.x + 10", &[]).map(drop))
    };
    while db.write_waits() == waits {
        thread::sleep(Duration::from_millis(1));
    }
    elsewhere(move || drop(open));
    waiter.join().unwrap().unwrap();
    let rows = session.run("MATCH (n:N) RETURN n.x", &[]).unwrap().rows;
    assert_eq!(rows, [[Value::Int(10)]]);
}

#[test]
fn what_is_kept_may_be_dropped_in_any_order() {
    for order in [[0, 1, 2, 3], [3, 1, 0, 2], [2, 0, 3, 1]] {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("db");
        let db = telar_db::open(&folder).unwrap();
        let (mut sessions, mut open) = (HashMap::new(), HashMap::new());
        for id in 0..4 {
            let session = Session::new(&db);
            open.insert(id, create(session.begin().unwrap()));
            sessions.insert(id, session);
        }
        drop(db);
        for (nth, id) in order.into_iter().enumerate() {
            assert!(is_locked(&folder));
            // Its session goes first or last.
            let transaction = open.remove(&id).unwrap();
            match nth % 2 {
                0 => drop(sessions.remove(&id)),
                _ => assert_eq!(count(&sessions[&id]), i64::from(nth > 1)),
            }
            match nth {
                1 => _ = transaction.commit().unwrap(),
                _ => drop(transaction),
            }
            sessions.remove(&id);
        }
        assert_eq!((sessions.len(), open.len()), (0, 0));
        let db = telar_db::open(&folder).unwrap();
        assert_eq!(count(&Session::new(&db)), 1);
        db.close().unwrap();
        assert_eq!(maintenance::check(&folder).unwrap().findings, []);
    }
}

#[test]
fn the_last_of_them_closes_the_database_on_whatever_thread() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("db");
    let session = Session::new(&telar_db::open(&folder).unwrap());
    let transaction = create(session.begin().unwrap());
    drop(session);
    assert!(is_locked(&folder));
    elsewhere(move || transaction.commit().unwrap());
    let session = Session::new(&telar_db::open(&folder).unwrap());
    assert_eq!(count(&session), 1);
    elsewhere(move || drop(session));
    assert!(!is_locked(&folder));
}

#[test]
fn a_closed_database_is_still_read_by_what_was_open() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("db");
    let db = telar_db::open(&folder).unwrap();
    let session = Session::new(&db);
    session.run("CREATE (:A)", &[]).unwrap();
    let open = create(session.begin().unwrap());
    db.close().unwrap();
    assert_eq!(count(&session), 1);
    let refused = open.commit().unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Database, "{refused}");
    let refused = session.run("CREATE (:A)", &[]).unwrap_err();
    assert!(refused.message.contains("the log is closed"), "{refused}");
    assert_eq!(count(&session), 1);
    assert!(is_locked(&folder));
    drop(session);
    let db = telar_db::open(&folder).unwrap();
    assert_eq!(count(&Session::new(&db)), 1);
    db.close().unwrap();
    assert_eq!(maintenance::check(&folder).unwrap().findings, []);
}
