//! Concurrent histories over Bolt, at both levels of isolation, recorded and checked afterwards.
//!
//! Clients run transactions of several statements, managed by themselves, and statements that are
//! transactions of their own, which the server tries again behind their backs. Lists say which
//! appends a read saw, and every relationship and marked node is a new one, so that the checker
//! finds cycles of dependencies (`telar_tests::graph`). It knows nothing of the timestamps of the
//! server.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use telar_db::{Isolation, Value, ValueMap};
use telar_server::bolt;
use telar_server::bolt::client::{Address, Client, Error, Login};
use telar_server::dbms::{Dbms, DbmsSettings, Security};
use telar_server::metrics::Metrics;
use telar_server::server::{Server, Settings};
use telar_tests::graph::{self, Level};
use telar_tests::history::{Op, Set, Txn};
use telar_tests::{PrintSeed, Rng};

/// Nodes with lists and relationships between them.
const KEYS: u64 = 5;
const CLIENTS: usize = 4;
/// Transactions of one client in one round.
const TXNS: usize = 60;

struct World {
    address: String,
    isolation: Isolation,
    tick: AtomicU64,
    next_id: AtomicI64,
}

fn parameters(entries: &[(&str, u64)]) -> ValueMap {
    let int = |n: u64| Value::Int(i64::try_from(n).unwrap());
    entries.iter().map(|(name, value)| ((*name).into(), int(*value))).collect()
}

fn ints(value: &Value) -> Vec<i64> {
    let int = |value: &Value| match value {
        Value::Int(n) => *n,
        other => panic!("{other:?} is no integer"),
    };
    match value {
        Value::Null => Vec::new(),
        Value::List(list) => list.iter().map(int).collect(),
        other => panic!("{other:?} is no list"),
    }
}

/// True if it lost against another transaction: nothing of it may be seen.
fn is_lost(error: &Error) -> bool {
    error.code().starts_with("Neo.TransientError.Transaction.")
}

impl World {
    fn client(&self) -> Client {
        let address: Address = self.address.parse().unwrap();
        let mut client =
            Client::connect(address, Login::default(), None, Arc::new(AtomicBool::new(false)))
                .unwrap();
        client.set_isolation(Some(self.isolation));
        client
    }

    fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed).try_into().unwrap()
    }

    fn read_list(&self, client: &mut Client, key: u64) -> Result<Op, Error> {
        let text = "MATCH (k:Key {id: $key}) RETURN k.list";
        let answer = client.run(text, &parameters(&[("key", key)]))?;
        Ok(Op::ReadList { key, ids: ints(&answer.rows[0][0]) })
    }

    fn read_set(&self, client: &mut Client, set: Set) -> Result<Op, Error> {
        let (text, key) = match set {
            Set::Out(key) => ("MATCH (:Key {id: $key})-[r:MULTI]->(:Key) RETURN r.item AS i", key),
            Set::In(key) => ("MATCH (:Key {id: $key})<-[r:MULTI]-(:Key) RETURN r.item AS i", key),
            Set::Label => ("MATCH (m:Marked) RETURN m.item AS i", 0),
        };
        let rows = client.run(text, &parameters(&[("key", key)]))?.rows;
        let members = rows.iter().map(|row| match row[0] {
            Value::Int(item) => u64::try_from(item).unwrap(),
            ref other => panic!("{other:?} is no item"),
        });
        let mut members: Vec<u64> = members.collect();
        members.sort_unstable();
        Ok(Op::ReadSet { set, members })
    }

    fn step(&self, client: &mut Client, rng: &mut Rng, ops: &mut Vec<Op>) -> Result<(), Error> {
        let (a, b) = (rng.below(KEYS), rng.below(KEYS));
        match rng.below(16) {
            0..=3 => ops.push(self.read_list(client, a)?),
            4..=7 => {
                ops.push(self.read_list(client, a)?);
                let id = self.new_id();
                let text = "MATCH (k:Key {id: $key}) SET k.list = coalesce(k.list, []) + $id";
                client.run(text, &parameters(&[("key", a), ("id", id)]))?;
                ops.push(Op::Append { key: a, id: id.try_into().unwrap() });
            }
            8..=9 => ops.push(self.read_set(client, Set::Out(a))?),
            10..=11 => ops.push(self.read_set(client, Set::In(a))?),
            12..=13 => {
                let item = self.new_id();
                let text = "MATCH (a:Key {id: $a}), (b:Key {id: $b}) CREATE (a)-[:MULTI {item: \
                            $item}]->(b)";
                client.run(text, &parameters(&[("a", a), ("b", b), ("item", item)]))?;
                ops.push(Op::Insert { item, sets: vec![Set::Out(a), Set::In(b)] });
            }
            14 => ops.push(self.read_set(client, Set::Label)?),
            _ => {
                ops.push(self.read_set(client, Set::Label)?);
                let item = self.new_id();
                client.run("CREATE (:Marked {item: $item})", &parameters(&[("item", item)]))?;
                ops.push(Op::Insert { item, sets: vec![Set::Label] });
            }
        }
        Ok(())
    }

    /// A transaction of several statements; whether it was committed.
    fn several(
        &self,
        client: &mut Client,
        rng: &mut Rng,
        ops: &mut Vec<Op>,
    ) -> Result<bool, Error> {
        client.begin()?;
        for _ in 0..=rng.below(4) {
            if let Err(error) = self.step(client, rng, ops) {
                client.rollback().unwrap();
                return Err(error);
            }
        }
        if rng.one_in(20) {
            client.rollback()?;
            return Ok(false);
        }
        client.commit().map(|()| true)
    }

    /// A statement that reads and writes, as a transaction of its own.
    fn alone(&self, client: &mut Client, rng: &mut Rng, ops: &mut Vec<Op>) -> Result<bool, Error> {
        let (key, id) = (rng.below(KEYS), self.new_id());
        let text = "MATCH (k:Key {id: $key}) WITH k, k.list AS seen \
                    SET k.list = coalesce(seen, []) + $id RETURN seen";
        // What it read before it lost is nobody's business: the server tries again.
        let answer = client.run(text, &parameters(&[("key", key), ("id", id)]))?;
        ops.push(Op::ReadList { key, ids: ints(&answer.rows[0][0]) });
        ops.push(Op::Append { key, id: id.try_into().unwrap() });
        Ok(true)
    }

    fn transaction(&self, thread: usize, client: &mut Client, rng: &mut Rng) -> Txn {
        let begin = self.tick.fetch_add(1, Ordering::SeqCst);
        let mut ops = Vec::new();
        let done = match rng.one_in(4) {
            true => self.alone(client, rng, &mut ops),
            false => self.several(client, rng, &mut ops),
        };
        let committed = done.unwrap_or_else(|error| {
            assert!(is_lost(&error), "{}: {error}", error.code());
            false
        });
        let end = self.tick.fetch_add(1, Ordering::SeqCst);
        // Whether there is one is all that the checker wants of it, as nothing is removed.
        let commit_ts = committed.then_some(end);
        Txn { thread, read_ts: begin, commit_ts, begin, end, counts: (0, 0), ops }
    }

    /// Everything, read after all others.
    fn last_reads(&self, client: &mut Client) -> Txn {
        let begin = self.tick.fetch_add(1, Ordering::SeqCst);
        client.begin().unwrap();
        let mut ops = Vec::new();
        for key in 0..KEYS {
            ops.push(self.read_list(client, key).unwrap());
            ops.push(self.read_set(client, Set::Out(key)).unwrap());
            ops.push(self.read_set(client, Set::In(key)).unwrap());
        }
        ops.push(self.read_set(client, Set::Label).unwrap());
        client.commit().unwrap();
        let end = self.tick.fetch_add(1, Ordering::SeqCst);
        let (thread, counts) = (CLIENTS, (0, 0));
        Txn { thread, read_ts: begin, commit_ts: Some(end), begin, end, counts, ops }
    }
}

/// One round on a new server.
fn run(isolation: Isolation, seed: u64) -> Vec<Txn> {
    let security = Security { enabled: false, ..Security::default() };
    let settings = DbmsSettings { security, ..DbmsSettings::default() };
    let dbms = Arc::new(Dbms::open(None, settings).unwrap());
    let local = "127.0.0.1:0".parse().unwrap();
    let bolt = bolt::Settings { address: local, ..bolt::Settings::default() };
    let metrics = Arc::new(Metrics::new());
    let server = Server::start(dbms, &Settings { bolt, http: None }, &metrics).unwrap();
    let address = format!("bolt://{}", server.bolt_address());
    let (tick, next_id) = (AtomicU64::new(0), AtomicI64::new(1));
    let world = World { address, isolation, tick, next_id };
    let mut client = world.client();
    let keys = parameters(&[("n", KEYS)]);
    client.run("UNWIND range(0, $n - 1) AS i CREATE (:Key {id: i})", &keys).unwrap();
    let mut history: Vec<Txn> = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let world = &world;
            move || {
                let mut rng = Rng::new(seed.wrapping_mul(31).wrapping_add(thread as u64));
                let mut client = world.client();
                let one = |_| world.transaction(thread, &mut client, &mut rng);
                (0..TXNS).map(one).collect::<Vec<_>>()
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|thread| scope.spawn(work(thread))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    history.push(world.last_reads(&mut client));
    history
}

fn histories(isolation: Isolation, level: Level, rounds: u64) {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let rounds = if telar_tests::long() { rounds * 20 } else { rounds };
    let (mut committed, mut lost, mut rw) = (0, 0, 0);
    for round in 0..rounds {
        let history = run(isolation, seed.wrapping_add(round));
        let found = graph::check(&history, level)
            .unwrap_or_else(|e| panic!("round {round}: {:?}: {}", e.kind, e.text));
        let done = history.iter().filter(|t| t.commit_ts.is_some()).count();
        committed += done;
        lost += history.len() - done;
        rw += found.rw;
    }
    println!("{isolation:?}: {committed} committed, {lost} lost, {rw} anti-dependencies");
    // A test that never meets a conflict tests nothing.
    assert!(lost > 0 && rw > committed / 20, "{committed} committed, {lost} lost, {rw}");
}

#[test]
fn snapshot_histories_over_bolt_have_no_anomaly_but_write_skew() {
    histories(Isolation::Snapshot, Level::Snapshot, 6);
}

#[test]
fn serializable_histories_over_bolt_have_no_anomaly() {
    histories(Isolation::Serializable, Level::Serializable, 6);
}

#[test]
fn snapshot_histories_over_bolt_show_write_skew() {
    // The workload is able to show what serializable histories must not have.
    let skewed = (0..20).any(|round| {
        let history = run(Isolation::Snapshot, telar_tests::seed().wrapping_add(round));
        graph::check(&history, Level::Serializable).is_err()
    });
    assert!(skewed, "20 rounds under snapshot isolation without a write skew");
}
