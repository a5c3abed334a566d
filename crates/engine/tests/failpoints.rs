//! The engine while one of its steps fails or takes long.
//!
//! Failpoints are the process's: each test of this program holds [`Armed`], and no test that arms
//! one may be in another program of the engine's.
#![cfg(all(feature = "failpoints", not(feature = "shuttle")))]

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use telar_engine::failpoint::{self, Action};
use telar_engine::{Change, EdgeTypeOptions, Engine, Error, Isolation, Retention, Settings};
use telar_graph::CommitTs;

use common::{no_background, v, with_vertices};

/// Failpoints that are set until it is dropped; one at a time.
struct Armed(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Armed {
    fn new(points: &[(&str, Action)]) -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        points.iter().for_each(|(name, action)| failpoint::set(name, *action));
        Self(turn)
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        failpoint::clear();
    }
}

#[test]
fn failpoint_fires_on_the_nth_hit_and_counts() {
    fn guarded() -> Result<u32, std::io::Error> {
        telar_engine::failpoint!("test::guarded", Err);
        Ok(7)
    }
    let name = "test::guarded";
    let _armed = Armed::new(&[]);
    assert_eq!(guarded().unwrap(), 7);
    failpoint::set_nth(name, Action::Error, 2);
    assert!(!failpoint::is_set(name));
    assert_eq!(guarded().unwrap(), 7);
    assert!(failpoint::names_hit().contains(&name.to_owned()));
    assert!(failpoint::is_set(name));
    assert!(guarded().unwrap_err().to_string().contains(name));
    assert_eq!(guarded().unwrap(), 7);
    failpoint::set(name, Action::SleepMs(1));
    assert_eq!(guarded().unwrap(), 7);
}

/// After the log failed, a write that meets an applied, unpublished commit must fail, not retry for
/// ever.
#[test]
fn poisoned_log_and_retries() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.background_interval_ms = 0;
    settings.hub_entries_min = 4096;
    settings.store_bytes_max = 1 << 26;
    let db = Engine::open(dir.path(), settings).unwrap();
    let key = db.property_key("k").unwrap();
    with_vertices(&db, 2);
    let _armed = Armed::new(&[("wal::before_sync", Action::Error)]);
    let set = |n: i64| {
        let mut tries = 0;
        let r = db.write(Isolation::Snapshot, |txn| {
            tries += 1;
            if tries > 50 {
                return Err(Error::SimpleEdgeType { name: "fifty tries".into() });
            }
            txn.set_vertex_property(v(0), key, n.into())
        });
        (tries, r.map(|_| ()))
    };
    assert_eq!(set(1).0, 1);
    assert_eq!(set(2).0, 1);
}

/// The commit of a new name was delivered before the name could be looked up: whoever followed
/// changes saw numbers without names. The step between is made long here.
#[test]
fn a_name_is_there_when_its_commit_is_delivered() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = no_background();
    settings.retain = Retention::commits(100);
    settings.store_bytes_max = 1 << 26;
    let slow = Action::SleepMs(30);
    let _armed = Armed::new(&[("schema::logged", slow), ("schema::durable", slow)]);
    let databases =
        [Engine::open(dir.path(), settings).unwrap(), Engine::in_memory(settings).unwrap()];
    for db in &databases {
        std::thread::scope(|scope| {
            let names = scope.spawn(|| {
                let mut stream = db.changes_since(CommitTs::from_raw(0)).unwrap();
                let wait = Duration::from_secs(60);
                let mut named = Vec::new();
                while named.len() < 3 {
                    for change in stream.next_within(wait).unwrap().expect("a name").changes {
                        named.push(match change {
                            Change::LabelMade { label, .. } => {
                                db.labels().get(usize::from(label.get())).cloned()
                            }
                            Change::PropertyKeyMade { key, .. } => {
                                db.property_keys().get(usize::from(key.get())).cloned()
                            }
                            Change::EdgeTypeMade { ty, .. } => {
                                db.edge_types().get(usize::from(ty.get())).map(|t| t.0.clone())
                            }
                            other => panic!("{other:?}"),
                        });
                    }
                }
                named
            });
            db.label("L").unwrap();
            db.property_key("k").unwrap();
            db.edge_type("T", EdgeTypeOptions::general()).unwrap();
            assert_eq!(names.join().unwrap(), ["L", "k", "T"].map(|n| Some(n.to_owned())));
        });
    }
}
