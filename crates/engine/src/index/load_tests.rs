//! Indexes that are still in the store: when they are read, and what becomes of damage.

use telar_graph::{IndexId, IndexUnavailable, LabelId, PropertyKeyId, Value};

use crate::error::{Error, ErrorKind};
use crate::format::{Kind, key};
use crate::{ConstraintKind, ConstraintSpec, Engine, IndexTarget, Settings};

struct World {
    dir: tempfile::TempDir,
    db: Option<Engine>,
    labels: [LabelId; 2],
    key: PropertyKeyId,
    id: IndexId,
}

fn open(dir: &tempfile::TempDir) -> Engine {
    let (background_interval_ms, store_bytes_max) = (0, 1 << 28);
    let settings = Settings { background_interval_ms, store_bytes_max, ..Settings::default() };
    Engine::open(dir.path(), settings).unwrap()
}

impl World {
    /// A thousand vertices with a unique key, in several partitions, closed and opened again.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let db = open(&dir);
        let labels = ["Kept", "Other"].map(|l| db.label(l).unwrap());
        let key = db.property_key("id").unwrap();
        let id = db
            .create_constraint(ConstraintSpec {
                name: "ids".to_owned(),
                target: IndexTarget::Vertices(labels[0]),
                properties: vec![key],
                kind: ConstraintKind::Unique,
            })
            .unwrap();
        let mut w = Self { dir, db: Some(db), labels, key, id };
        for from in (0..1000).step_by(100) {
            w.insert(0, from..from + 100).unwrap();
        }
        w.reopen(true);
        w
    }

    fn db(&self) -> &Engine {
        self.db.as_ref().unwrap()
    }

    fn insert(&self, label: usize, keys: std::ops::Range<i64>) -> Result<(), Error> {
        let mut txn = self.db().begin()?;
        for n in keys {
            let v = txn.create_vertex(&[self.labels[label]])?;
            txn.set_vertex_property(v, self.key, Value::Int(n))?;
        }
        txn.commit().map(drop)
    }

    fn reopen(&mut self, close: bool) {
        let db = self.db.take().unwrap();
        if close {
            db.close().unwrap()
        } else {
            drop(db)
        }
        self.db = Some(open(&self.dir));
    }

    fn find(&self, n: i64) -> Result<bool, IndexUnavailable> {
        self.db().reader().unwrap().index_find(self.id, &[Value::Int(n)]).map(|v| v.is_some())
    }

    fn is_loaded(&self) -> bool {
        self.db().shared.indexes.find(self.id).unwrap().is_loaded()
    }
}

#[test]
fn entries_stay_in_the_store_until_somebody_needs_them() {
    let mut w = World::new();
    assert!(!w.is_loaded());
    assert_eq!((w.db().indexes()[0].entries, w.db().memory().indexes), (0, 0));
    // Neither other writes nor what goes on in the background are a reason.
    w.insert(1, 0..10).unwrap();
    w.db().settle();
    w.db().checkpoint().unwrap();
    w.insert(1, 10..20).unwrap();
    w.reopen(false);
    assert!(!w.is_loaded(), "nor is replaying them");
    assert_eq!(w.find(999), Ok(true));
    assert!(!w.is_loaded(), "a read finds its partition");
    let distinct = |w: &World| {
        telar_graph::Counts::estimates(&w.db().reader().unwrap())
            .distinct
            .get(&w.id)
            .map(|keys| keys.round())
    };
    assert_eq!(distinct(&w), None);
    let version = w.db().planning_version();
    w.db().shared.indexes.load_wanted(&w.db().shared);
    assert!(w.is_loaded(), "the background thread is told");
    // Queries that were planned without knowing how many keys there are will be planned anew.
    assert_ne!(w.db().planning_version(), version);
    assert!(distinct(&w).is_some_and(|keys| keys > 900.0), "{:?}", distinct(&w));
    assert_eq!((w.find(999), w.find(1000)), (Ok(true), Ok(false)));
    w.insert(0, 1000..1001).unwrap();
    w.reopen(false);
    assert!(!w.is_loaded(), "what the log changes is kept beside it");
    assert_eq!((w.find(999), w.find(1000)), (Ok(true), Ok(true)));
    w.reopen(false);
    (0..100).for_each(|n| assert_eq!(w.find(n), Ok(true)));
    assert!(w.is_loaded(), "many reads pay for loading");
    assert_eq!((w.find(999), w.find(1000)), (Ok(true), Ok(true)));
    w.reopen(true);
    assert!(!w.is_loaded());
    let refused = w.insert(0, 500..501).unwrap_err();
    assert!(matches!(refused, Error::ConstraintViolated { .. }), "{refused}");
    assert!(w.is_loaded(), "a commit needs it, too");
    w.insert(0, 1001..1002).unwrap();
    w.reopen(true);
    let reader = w.db().reader().unwrap();
    assert_eq!(reader.index_range(w.id, &Default::default()).unwrap().len(), 1002);
}

#[test]
fn dropping_one_that_was_never_read_clears_the_store() {
    let mut w = World::new();
    w.db().drop_index(w.id).unwrap();
    w.reopen(true);
    assert!(w.db().indexes().is_empty());
    let store = &w.db().shared.durable.as_ref().unwrap().store;
    let txn = store.read().unwrap();
    let first = key(Kind::Index, w.id.get(), 0, 0);
    assert_eq!(store.database().prefix_iter(&txn, &first[..5]).unwrap().count(), 0);
}

/// What is changed in the store behind our back is noticed by whoever needs it, and by nobody else.
#[test]
fn damage_is_found_at_first_use() {
    let break_it: [fn(&mut Vec<u8>); 2] = [|value| value[20] ^= 1, |value| value.truncate(3)];
    for change in break_it {
        let w = World::new();
        let store = &w.db().shared.durable.as_ref().unwrap().store;
        let at = key(Kind::Index, w.id.get(), 0, 2);
        let mut txn = store.write().unwrap();
        let mut value = store.database().get(&txn, &at).unwrap().unwrap().to_vec();
        let whole = value.clone();
        change(&mut value);
        store.database().put(&mut txn, &at, &value).unwrap();
        txn.commit().unwrap();
        let found = || w.db().reader().unwrap().index_range(w.id, &Default::default());
        assert_eq!(found(), Err(IndexUnavailable::Damaged(w.id)));
        let error = w.insert(0, 2000..2001).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert_eq!(Error::from(found().unwrap_err()).kind(), ErrorKind::Damaged);
        w.insert(1, 2000..2001).unwrap();
        // Mended, it is read.
        let mut txn = store.write().unwrap();
        store.database().put(&mut txn, &at, &whole).unwrap();
        txn.commit().unwrap();
        assert_eq!(w.find(1), Ok(true));
        assert_eq!(w.find(2000), Ok(false));
    }
}
