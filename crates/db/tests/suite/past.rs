//! Statements of the past inside of transactions, and the change stream as a procedure.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use telar_db::query::ErrorKind;
use telar_db::{Database, Retention, Session, Settings, Value, ValueMap};

fn database() -> Database {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(100);
    Database::in_memory(settings).unwrap()
}

fn rows(session: &Session, text: &str) -> Vec<Vec<Value>> {
    session.run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}")).rows
}

#[test]
fn a_transaction_reads_the_past_whatever_it_has_written() {
    let db = database();
    let session = Session::new(&db);
    let before = session.run("CREATE (:Tea {price: 3})", &[]).unwrap().at;
    session.run("MATCH (t:Tea) SET t.price = 4", &[]).unwrap();
    let (none, price) = (ValueMap::new(), "MATCH (t:Tea) RETURN t.price");
    let past = format!("AT TIMESTAMP {} {price}", before.get());
    let mut transaction = session.begin().unwrap();
    let now = transaction.run(price, &none).unwrap();
    assert_eq!(now.rows, [[Value::from(4)]]);
    let then = transaction.run(&past, &none).unwrap();
    assert_eq!((then.rows, then.at), (vec![vec![Value::from(3)]], before));
    transaction.run("MATCH (t:Tea) SET t.price = 5", &none).unwrap();
    assert_eq!(transaction.run(&past, &none).unwrap().rows, [[Value::from(3)]]);
    assert_eq!(transaction.run(price, &none).unwrap().rows, [[Value::from(5)]]);
    // A commit that is not there is an error of the statement.
    let gone = transaction.run(&past.replace(&before.get().to_string(), "99"), &none);
    assert!(gone.is_err(), "{gone:?}");
    transaction.rollback();
    assert_eq!(rows(&session, price), [[Value::from(4)]]);
}

#[test]
fn changes_are_read_commit_by_commit() {
    let db = database();
    let session = Session::new(&db);
    session.run("CREATE (:Tea {price: 3})-[:NEAR]->(:Cup)", &[]).unwrap();
    let at = session.run("MATCH (t:Tea) SET t.price = 4", &[]).unwrap().at.get();
    let events = "CALL telar.changes(0) YIELD changes UNWIND changes AS c \
                  WITH c WHERE c.event ENDS WITH 'Created' RETURN c.event, c.labels, c.type";
    let created = |event: &str, label: Value, ty: Value| vec![event.into(), label, ty];
    let label = |name: &str| Value::list([name]);
    assert_eq!(
        rows(&session, events),
        [
            created("nodeCreated", label("Tea"), Value::Null),
            created("nodeCreated", label("Cup"), Value::Null),
            created("relationshipCreated", Value::Null, "NEAR".into()),
        ]
    );
    let last = format!(
        "CALL telar.changes({}, 5) YIELD commit, changes RETURN commit, changes[0].value",
        at - 1
    );
    assert_eq!(rows(&session, &last), [[Value::try_from(at).unwrap(), Value::from(4)]]);
    assert_eq!(rows(&session, &last.replace(&(at - 1).to_string(), &at.to_string())).len(), 0);
    for (wrong, kind) in [
        ("CALL telar.changes(-1)", ErrorKind::InvalidArguments),
        ("CALL telar.changes(1000)", ErrorKind::ProcedureFailed),
    ] {
        assert_eq!(session.run(wrong, &[]).unwrap_err().kind, kind, "{wrong}");
    }
}

#[test]
fn history_is_switched_on() {
    let folder = tempfile::tempdir().unwrap();
    let db = telar_db::open(folder.path().join("g")).unwrap();
    let session = Session::new(&db);
    session.run("CREATE (:Tea {price: 3})", &[]).unwrap();
    assert!(rows(&session, "CALL telar.history()").is_empty());
    for wrong in ["'P1D'", "null", "duration('P1M')", "duration('-P1D')", "duration('PT0S')"] {
        let called = session.run(&format!("CALL telar.keepHistory({wrong})"), &[]);
        assert!(called.is_err(), "{wrong}");
    }
    assert!(rows(&session, "CALL telar.history()").is_empty());
    let keep = "CALL telar.keepHistory(duration('PT1H'))";
    assert!(Session::new(&db).read_only().run(keep, &[]).is_err(), "it is written down");
    let oldest = rows(&session, keep).remove(0).remove(0);
    // By the clock, too, though nothing was committed since.
    let now = "AT TIMESTAMP datetime() MATCH (t:Tea) RETURN t.price";
    assert_eq!(rows(&session, now), [[Value::from(3)]]);
    session.run("MATCH (t:Tea) SET t.price = 4", &[]).unwrap();
    session.run("MATCH (t:Tea) DELETE t", &[]).unwrap();
    db.settle();
    let Value::Int(at) = oldest else { panic!("{oldest:?}") };
    let past = format!("AT TIMESTAMP {at} MATCH (t:Tea) RETURN t.price");
    assert_eq!(rows(&session, &past), [[Value::from(3)]]);
    drop(session);
    db.close().unwrap();
    // What it was told it remembers.
    let db = telar_db::open(folder.path().join("g")).unwrap();
    let session = Session::new(&db);
    assert_eq!(rows(&session, "CALL telar.history() YIELD oldest"), [[oldest]]);
    assert_eq!(rows(&session, &past), [[Value::from(3)]]);
}
