//! Write skew and phantoms step by step, and the same raced by two threads.

use std::sync::Barrier;

use telar_engine::{EdgeTypeOptions, Engine, Error, Isolation, Settings, Transaction};
use telar_graph::{Direction, EdgeId, EdgeTypeId, LabelId, PropertyKeyId, Value, VertexId};
use telar_tests::graph::{self, Level};
use telar_tests::history::{Kind, Op, Txn};

/// Two vertices `a` and `b` with an edge each, and one to point to.
struct World {
    db: Engine,
    key: PropertyKeyId,
    label: LabelId,
    simple: EdgeTypeId,
    multi: EdgeTypeId,
    timed: EdgeTypeId,
    ends: [VertexId; 2],
    edges: [EdgeId; 2],
    far: VertexId,
}

impl World {
    fn new(hubs: bool) -> Self {
        let mut settings = Settings::default();
        settings.background_interval_ms = 0;
        settings.hub_entries_min = 4096;
        let db = Engine::in_memory(settings).unwrap();
        let (key, label) = (db.property_key("key").unwrap(), db.label("Doctor").unwrap());
        let simple = db.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap();
        let multi = db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap();
        let timed = db.edge_type("TIMED", EdgeTypeOptions::newest_first(key)).unwrap();
        let far = VertexId::from_raw(0);
        let mut txn = db.begin().unwrap();
        let far = if txn.exists(far) { far } else { txn.create_vertex(&[]).unwrap() };
        let ends = [(); 2].map(|()| txn.create_vertex(&[]).unwrap());
        let edges = ends.map(|v| txn.create_edge(multi, far, v, &[]).unwrap());
        if hubs {
            for _ in 0..5000 {
                let f = txn.create_vertex(&[]).unwrap();
                for v in ends {
                    txn.upsert_edge(simple, v, f).unwrap();
                    txn.upsert_edge(simple, f, v).unwrap();
                    txn.create_edge(multi, v, f, &[]).unwrap();
                    txn.create_edge(multi, f, v, &[]).unwrap();
                }
            }
        }
        txn.commit().unwrap();
        db.settle();
        if hubs {
            assert!(db.settle_state(simple).unwrap().hubs >= 4, "both ends are hubs");
        }
        Self { db, key, label, simple, multi, timed, ends, edges, far }
    }

    /// Removes what a skew added, so that the next one starts the same.
    fn reset(&self) {
        let (_, _) = self
            .db
            .write(Isolation::Snapshot, |txn| -> Result<(), Error> {
                for (v, e) in self.ends.iter().zip(self.edges) {
                    txn.set_vertex_property(*v, self.key, Value::Null)?;
                    txn.set_edge_property(e, self.key, Value::Null)?;
                    txn.remove_label(*v, self.label)?;
                    txn.remove_edge(self.simple, *v, self.far)?;
                    txn.remove_edge(self.simple, self.far, *v)?;
                    for d in Direction::ALL {
                        let new: Vec<EdgeId> = [self.multi, self.timed]
                            .into_iter()
                            .flat_map(|ty| txn.edges(*v, ty, d).unwrap())
                            .filter(|e| e.end(d) == self.far && !self.edges.contains(e))
                            .collect();
                        for e in new {
                            txn.delete_edge(e)?;
                        }
                    }
                }
                for v in txn.scan(Some(self.label))? {
                    txn.delete_vertex(v, true)?;
                }
                Ok(())
            })
            .unwrap();
    }
}

/// "If the other has none, I make one": a read at `other`, a write at `mine`.
type Skew = fn(&World, &mut Transaction<'_>, mine: usize, other: usize) -> Result<(), Error>;

fn degree_of_others(
    w: &World,
    txn: &Transaction<'_>,
    ty: EdgeTypeId,
    v: usize,
    d: Direction,
) -> usize {
    // All edges but those to fillers and the first one.
    let edges = txn.edges(w.ends[v], ty, d).unwrap();
    edges.filter(|e| e.end(d) == w.far && !w.edges.contains(e)).count()
}

const SKEWS: [(&str, Skew); 9] = [
    ("vertex property", |w, txn, mine, other| {
        assert!(txn.vertex_property(w.ends[other], w.key)?.is_null());
        txn.set_vertex_property(w.ends[mine], w.key, Value::Int(1))
    }),
    ("edge property", |w, txn, mine, other| {
        assert!(txn.edge_property(w.edges[other], w.key)?.is_null());
        txn.set_edge_property(w.edges[mine], w.key, Value::Int(1))
    }),
    ("label of a vertex", |w, txn, mine, other| {
        assert!(txn.labels(w.ends[other])?.is_empty());
        txn.add_label(w.ends[mine], w.label).map(|_| ())
    }),
    ("label scan", |w, txn, _, _| {
        assert!(txn.scan(Some(w.label)).unwrap().is_empty());
        txn.create_vertex(&[w.label]).map(|_| ())
    }),
    ("label scan, label added", |w, txn, mine, _| {
        assert!(txn.scan(Some(w.label)).unwrap().is_empty());
        txn.add_label(w.ends[mine], w.label).map(|_| ())
    }),
    ("degree out, multi", |w, txn, mine, other| {
        let all = txn.degree(w.ends[other], w.multi, Direction::Out)?;
        assert!(all == 0 || all == 5000);
        txn.create_edge(w.multi, w.ends[mine], w.far, &[]).map(|_| ())
    }),
    ("neighbours in, multi", |w, txn, mine, other| {
        assert_eq!(degree_of_others(w, txn, w.multi, other, Direction::In), 0);
        txn.create_edge(w.multi, w.far, w.ends[mine], &[]).map(|_| ())
    }),
    ("search, simple", |w, txn, mine, other| {
        assert!(!txn.search_edge(w.simple, w.ends[other], w.far)?);
        txn.upsert_edge(w.simple, w.ends[mine], w.far)
    }),
    ("neighbours in, timed", |w, txn, mine, other| {
        assert_eq!(degree_of_others(w, txn, w.timed, other, Direction::In), 0);
        txn.create_edge(w.timed, w.far, w.ends[mine], &[(w.key, Value::Int(3))]).map(|_| ())
    }),
];

fn step_by_step(w: &World, name: &str, skew: Skew, isolation: Isolation) -> usize {
    let mut first = w.db.begin_with(isolation).unwrap();
    let mut second = w.db.begin_with(isolation).unwrap();
    skew(w, &mut first, 0, 1).unwrap();
    skew(w, &mut second, 1, 0).unwrap();
    first.commit().unwrap_or_else(|e| panic!("{name}: the first commit fails: {e}"));
    let second = second.commit();
    assert!(second.as_ref().err().is_none_or(Error::is_retryable), "{name}: {second:?}");
    w.reset();
    1 + usize::from(second.is_ok())
}

#[test]
fn write_skew_happens_under_snapshot_isolation_only() {
    for hubs in [false, true] {
        let w = World::new(hubs);
        for (name, skew) in SKEWS {
            let name = format!("{name}, hubs {hubs}");
            assert_eq!(step_by_step(&w, &name, skew, Isolation::Snapshot), 2, "{name}");
            assert_eq!(step_by_step(&w, &name, skew, Isolation::Serializable), 1, "{name}");
            // Settled memory must not hide what was written after the snapshot.
            w.db.settle();
            assert_eq!(step_by_step(&w, &name, skew, Isolation::Serializable), 1, "{name}");
        }
    }
}

#[test]
fn raced_write_skew_never_commits_twice_when_serializable() {
    let times = if telar_tests::long() { 20_000 } else { 400 };
    for hubs in [false, true] {
        let w = World::new(hubs);
        for (name, skew) in SKEWS {
            let race = |isolation: Isolation| {
                let start = Barrier::new(2);
                let one = |mine: usize| {
                    start.wait();
                    let mut txn = w.db.begin_with(isolation).unwrap();
                    start.wait();
                    // The other may have committed before this one began; then there is no race.
                    let mine = std::panic::AssertUnwindSafe(|| skew(&w, &mut txn, mine, 1 - mine));
                    mine().unwrap();
                    start.wait();
                    txn.commit().is_ok()
                };
                std::thread::scope(|scope| {
                    let other = scope.spawn(|| one(1));
                    [one(0), other.join().unwrap()]
                })
            };
            for i in 0..times {
                let committed = race(Isolation::Serializable);
                assert_ne!(committed, [true; 2], "{name}, hubs {hubs}, race {i}");
                w.reset();
            }
        }
    }
}

#[test]
fn checker_finds_the_write_skew_of_a_real_history() {
    let w = World::new(false);
    let mut skewed: Vec<Txn> = Vec::new();
    let mut txns: Vec<_> = (0..2).map(|_| w.db.begin().unwrap()).collect();
    let list = |ids: &[i64]| Value::List(ids.iter().map(|i| Value::Int(*i)).collect());
    for (t, txn) in txns.iter_mut().enumerate() {
        let mut ops = Vec::new();
        for v in w.ends {
            assert!(txn.vertex_property(v, w.key).unwrap().is_null());
            ops.push(Op::ReadList { key: v.get(), ids: Vec::new() });
        }
        let id = t as i64 + 1;
        txn.set_vertex_property(w.ends[t], w.key, list(&[id])).unwrap();
        ops.push(Op::Append { key: w.ends[t].get(), id });
        let read_ts = txn.read_ts().get();
        let (begin, end) = (t as u64, 10 + t as u64);
        let counts = (0, 0);
        skewed.push(Txn { thread: t, read_ts, commit_ts: None, begin, end, counts, ops });
    }
    for (txn, record) in txns.into_iter().zip(&mut skewed) {
        record.commit_ts = Some(txn.commit().unwrap().ts.get());
    }
    let reads: Vec<Op> = (w.ends.iter().zip([1, 2]))
        .map(|(v, id)| Op::ReadList { key: v.get(), ids: vec![id] })
        .collect();
    let ts = w.db.published().get();
    let last = Txn {
        thread: 0,
        read_ts: ts,
        commit_ts: Some(ts),
        begin: 20,
        end: 21,
        counts: (0, 0),
        ops: reads,
    };
    skewed.push(last);
    graph::check(&skewed, Level::Snapshot).unwrap();
    assert_eq!(graph::check(&skewed, Level::Serializable).unwrap_err().kind, Kind::G2);
    telar_tests::oracle::check(&skewed, Level::Snapshot).unwrap();
    telar_tests::oracle::check(&skewed, Level::Serializable).unwrap_err();
}
