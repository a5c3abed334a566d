//! Threads that run random transactions over few objects and record what they see.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use telar_engine::{
    EdgeTypeOptions, Engine, Error, Isolation, Retention, Settings, Transaction, WriteWait,
};
use telar_graph::{Direction, EdgeId, EdgeTypeId, LabelId, PropertyKeyId, Value, VertexId};
use telar_tests::Rng;
use telar_tests::history::{Op, Set, Txn};

/// Vertices with lists and edges between them.
const KEYS: u64 = 6;
/// Transactions of one thread in one round.
const TXNS: usize = 200;
/// Mark of ends of edges without an ordinal, beside those of simple ones in histories.
const PLAIN: u64 = 1 << 50;
/// Vertices at the other ends of edges that make a list a hub; never recorded.
const FILLERS: u64 = 4200;

struct World {
    db: Engine,
    list: PropertyKeyId,
    marked: LabelId,
    multi: EdgeTypeId,
    simple: EdgeTypeId,
    /// Its edges are made without properties.
    plain: EdgeTypeId,
    keys: Vec<VertexId>,
    filler_from: u64,
    isolation: Isolation,
    /// Some transactions wait for others, as those of sessions do.
    waits: bool,
    tick: AtomicU64,
    next_id: AtomicI64,
}

fn item_of(edge: EdgeId) -> u64 {
    assert_ne!(edge.ordinal, 0, "an edge with a property has an ordinal of its own");
    edge.ordinal.into()
}

/// Property that gives an edge an ordinal. Those without come again under the same id,
/// as simple ones do.
fn numbered(key: PropertyKeyId) -> [(PropertyKeyId, Value); 1] {
    [(key, Value::Int(0))]
}

fn vertex_item(v: VertexId) -> u64 {
    v.get() | 1 << 40
}

/// Ids in a list property.
fn ids(value: &Value) -> Vec<i64> {
    match value {
        Value::Null => Vec::new(),
        Value::List(items) => items
            .iter()
            .map(|i| match i {
                Value::Int(n) => *n,
                other => panic!("{other:?} in a list of ids"),
            })
            .collect(),
        other => panic!("{other:?} is no list"),
    }
}

impl World {
    fn new(isolation: Isolation, round: u64) -> Self {
        let mut settings = Settings::default();
        // The checker tells vertices apart by their ids: none may come back. Settling goes on.
        settings.retain = Retention::commits(u64::MAX);
        settings.background_interval_ms = 1 + round % 5;
        let db = Engine::in_memory(settings).unwrap();
        let (list, marked) = (db.property_key("list").unwrap(), db.label("Marked").unwrap());
        let multi = db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap();
        let simple = db.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap();
        let plain = db.edge_type("PLAIN", EdgeTypeOptions::general()).unwrap();
        let mut txn = db.begin().unwrap();
        let keys: Vec<VertexId> = (0..KEYS).map(|_| txn.create_vertex(&[]).unwrap()).collect();
        let filler_from = keys[KEYS as usize - 1].get() + 1;
        if round % 8 == 3 {
            // The first vertex is a hub in both directions and types.
            for _ in 0..FILLERS {
                let f = txn.create_vertex(&[]).unwrap();
                txn.create_edge(multi, keys[0], f, &numbered(list)).unwrap();
                txn.create_edge(multi, f, keys[0], &numbered(list)).unwrap();
                txn.upsert_edge(simple, keys[0], f).unwrap();
                txn.upsert_edge(simple, f, keys[0]).unwrap();
                txn.create_edge(plain, keys[0], f, &[]).unwrap();
                txn.create_edge(plain, f, keys[0], &[]).unwrap();
            }
        }
        txn.commit().unwrap();
        db.settle();
        let (tick, next_id) = (AtomicU64::new(0), AtomicI64::new(1));
        let waits = round % 2 == 1;
        Self {
            db,
            list,
            marked,
            multi,
            simple,
            plain,
            keys,
            filler_from,
            isolation,
            waits,
            tick,
            next_id,
        }
    }

    fn is_key(&self, v: VertexId) -> bool {
        v.get() < self.filler_from
    }

    /// The recorded edges of a list; fillers are only counted on.
    fn edges(&self, txn: &Transaction<'_>, v: VertexId, d: Direction) -> Vec<EdgeId> {
        let all: Vec<EdgeId> = txn.edges(v, self.multi, d).unwrap().collect();
        assert_eq!(all.len(), txn.degree(v, self.multi, d).unwrap(), "degree of {v}");
        all.into_iter().filter(|e| self.is_key(e.src) && self.is_key(e.dst)).collect()
    }

    fn read_list(&self, txn: &Transaction<'_>, key: VertexId, ops: &mut Vec<Op>) -> Value {
        let value = txn.vertex_property(key, self.list).unwrap();
        ops.push(Op::ReadList { key: key.get(), ids: ids(&value) });
        value
    }

    /// Looks whether there is an edge without an ordinal. Of these there is one for a pair of ends,
    /// as of simple edges, so it is one in histories.
    fn read_plain(
        &self,
        txn: &Transaction<'_>,
        (u, v): (VertexId, VertexId),
        ops: &mut Vec<Op>,
    ) -> Option<EdgeId> {
        let mut all = txn.edges(u, self.plain, Direction::Out).unwrap();
        let found = all.find(|edge| edge.dst == v && edge.ordinal == 0);
        let edge = (u.get() | PLAIN, v.get());
        ops.push(Op::ReadSimple { edge, there: found.is_some() });
        found
    }

    /// Deletes the edge without an ordinal between two ends, or makes it.
    fn turn_plain(
        &self,
        txn: &mut Transaction<'_>,
        (u, v): (VertexId, VertexId),
        ops: &mut Vec<Op>,
    ) -> Result<(), Error> {
        let edge = (u.get() | PLAIN, v.get());
        if let Some(found) = self.read_plain(txn, (u, v), ops) {
            txn.delete_edge(found)?;
            ops.push(Op::PutSimple { edge, there: false });
            return Ok(());
        }
        let made = txn.create_edge(self.plain, u, v, &[])?;
        if made.ordinal == 0 {
            ops.push(Op::PutSimple { edge, there: true });
        } else {
            // Another transaction makes the one without, or has made it since.
            txn.delete_edge(made)?;
        }
        Ok(())
    }

    fn step(
        &self,
        txn: &mut Transaction<'_>,
        rng: &mut Rng,
        ops: &mut Vec<Op>,
    ) -> Result<(), Error> {
        let v = self.keys[rng.below(KEYS) as usize];
        let u = self.keys[rng.below(KEYS) as usize];
        match rng.below(23) {
            0..=4 => drop(self.read_list(txn, v, ops)),
            5..=8 => {
                let mut items = match self.read_list(txn, v, ops) {
                    Value::List(items) => items.to_vec(),
                    _ => Vec::new(),
                };
                let id = self.next_id.fetch_add(1, Ordering::Relaxed);
                items.push(Value::Int(id));
                txn.set_vertex_property(v, self.list, Value::List(items.into()))?;
                ops.push(Op::Append { key: v.get(), id });
            }
            9..=11 => {
                let (d, set) = match rng.one_in(2) {
                    true => (Direction::Out, Set::Out(v.get())),
                    false => (Direction::In, Set::In(v.get())),
                };
                let mut members: Vec<u64> =
                    self.edges(txn, v, d).into_iter().map(item_of).collect();
                members.sort_unstable();
                ops.push(Op::ReadSet { set, members });
            }
            12..=13 => {
                let edge = txn.create_edge(self.multi, u, v, &numbered(self.list))?;
                let sets = vec![Set::Out(u.get()), Set::In(v.get())];
                ops.push(Op::Insert { item: item_of(edge), sets });
            }
            14 => {
                let edges = self.edges(txn, v, Direction::Out);
                let mut members: Vec<u64> = edges.iter().copied().map(item_of).collect();
                members.sort_unstable();
                ops.push(Op::ReadSet { set: Set::Out(v.get()), members });
                if let Some(edge) = edges.get(rng.below(edges.len() as u64) as usize) {
                    txn.delete_edge(*edge)?;
                    ops.push(Op::Remove { item: item_of(*edge) });
                }
            }
            15..=16 => {
                let there = txn.search_edge(self.simple, u, v)?;
                ops.push(Op::ReadSimple { edge: (u.get(), v.get()), there });
            }
            17..=18 => {
                let there = rng.one_in(2);
                match there {
                    true => txn.upsert_edge(self.simple, u, v)?,
                    false => txn.remove_edge(self.simple, u, v)?,
                }
                ops.push(Op::PutSimple { edge: (u.get(), v.get()), there });
            }
            19 => drop(self.read_plain(txn, (u, v), ops)),
            20..=21 => self.turn_plain(txn, (u, v), ops)?,
            _ => {
                let found = txn.scan(Some(self.marked))?;
                let members = found.iter().copied().map(vertex_item).collect();
                ops.push(Op::ReadSet { set: Set::Label, members });
                if let Some(gone) = found.first().filter(|_| found.len() > 4) {
                    txn.delete_vertex(*gone, false)?;
                    ops.push(Op::Remove { item: vertex_item(*gone) });
                } else if rng.one_in(2) {
                    let made = txn.create_vertex(&[self.marked])?;
                    ops.push(Op::Insert { item: vertex_item(made), sets: vec![Set::Label] });
                }
            }
        }
        Ok(())
    }

    fn transaction(&self, thread: usize, rng: &mut Rng) -> Txn {
        let begin = self.tick.fetch_add(1, Ordering::SeqCst);
        let mut txn = self.db.begin_with(self.isolation).unwrap();
        let mut ops = Vec::new();
        let waits = self.waits && !rng.one_in(4);
        if waits {
            let longest = Duration::from_millis(rng.below(3));
            txn.wait_for_writers(WriteWait { longest, restarts: true, ..WriteWait::default() });
        }
        let mut lost = false;
        for _ in 0..=rng.below(5) {
            if let Err(e) = self.step(&mut txn, rng, &mut ops) {
                assert!(waits && e.is_retryable(), "{e}");
                lost = rng.one_in(8);
                if lost {
                    break;
                }
                // Nobody has heard of it: what follows is all there is.
                while let Err(e) = txn.restart() {
                    assert!(e.is_retryable(), "{e}");
                }
                ops.clear();
            }
            if rng.one_in(3) {
                std::thread::yield_now();
            }
        }
        let mut counts = (0, 0);
        let read_ts = txn.read_ts().get();
        let commit_ts = if lost || rng.one_in(20) {
            txn.abort();
            None
        } else {
            match txn.commit() {
                Ok(done) => {
                    counts = (done.edges_added, done.edges_removed);
                    Some(done.ts.get())
                }
                Err(e) => {
                    assert!(e.is_retryable(), "{e}");
                    None
                }
            }
        };
        let end = self.tick.fetch_add(1, Ordering::SeqCst);
        Txn { thread, read_ts, commit_ts, begin, end, counts, ops }
    }

    /// Everything, read by one transaction after all others.
    fn last_reads(&self, thread: usize) -> Txn {
        let begin = self.tick.fetch_add(1, Ordering::SeqCst);
        let txn = self.db.begin().unwrap();
        let read_ts = txn.read_ts().get();
        let mut ops = Vec::new();
        for v in &self.keys {
            self.read_list(&txn, *v, &mut ops);
            for (d, set) in [(Direction::Out, Set::Out(v.get())), (Direction::In, Set::In(v.get()))]
            {
                let mut members: Vec<u64> =
                    self.edges(&txn, *v, d).into_iter().map(item_of).collect();
                members.sort_unstable();
                ops.push(Op::ReadSet { set, members });
            }
            for u in &self.keys {
                let there = txn.search_edge(self.simple, *u, *v).unwrap();
                ops.push(Op::ReadSimple { edge: (u.get(), v.get()), there });
                self.read_plain(&txn, (*u, *v), &mut ops);
            }
        }
        let commit_ts = Some(txn.commit().unwrap().ts.get());
        let end = self.tick.fetch_add(1, Ordering::SeqCst);
        Txn { thread, read_ts, commit_ts, begin, end, counts: (0, 0), ops }
    }
}

/// Runs one round on a new database and returns its history.
pub(crate) fn run(isolation: Isolation, seed: u64, round: u64) -> Vec<Txn> {
    let world = World::new(isolation, round);
    let threads = 2 + (round % 3) as usize;
    let mut history: Vec<Txn> = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let world = &world;
            move || {
                let mut rng = Rng::new(seed.wrapping_mul(31).wrapping_add(thread as u64));
                let mut held = None;
                let mut done = Vec::new();
                for _ in 0..TXNS {
                    done.push(world.transaction(thread, &mut rng));
                    match rng.below(40) {
                        // Old snapshots keep versions from settling.
                        0 => held = Some(world.db.snapshot().unwrap()),
                        1 => held = None,
                        2 => world.db.settle(),
                        _ => {}
                    }
                }
                drop(held);
                done
            }
        };
        let handles: Vec<_> = (0..threads).map(|t| scope.spawn(work(t))).collect();
        handles.into_iter().flat_map(|h| h.join().unwrap()).collect()
    });
    history.push(world.last_reads(threads));
    history
}
