//! Clients that commit and read at all nodes, and record what they see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use telar_db::{Isolation, Value, ValueMap};
use telar_server::bolt::client::{Address, Client, Error, Login};

use crate::history::{Op, Set};
use crate::outcomes::{Outcome, Recorded};

/// Nodes of the graph with lists.
const KEYS: u64 = 5;
pub(crate) const CLIENTS: usize = 6;

/// Pause after each transaction: a history of some thousand is checked at once.
const PAUSE: Duration = Duration::from_millis(10);

/// Longest wait for a leader.
const PATIENCE: Duration = Duration::from_secs(60);

/// Shared state of the clients.
#[derive(Debug)]
pub(crate) struct World {
    addresses: Vec<String>,
    tick: AtomicU64,
    next_id: AtomicU64,
    acknowledged: AtomicUsize,
    /// The node that a client has committed at last.
    leader: AtomicUsize,
    begun: Instant,
    /// Milliseconds after the beginning at which the last commit was acknowledged.
    last: AtomicU64,
    /// Milliseconds without a commit, at most, since it was set to zero.
    pub(crate) longest_gap: AtomicU64,
    ended: AtomicBool,
}

/// Tells the clients to end, also when the thread that has it panics: they would never be joined.
#[derive(Debug)]
pub(crate) struct EndWhenDropped<'w>(pub(crate) &'w World);

impl Drop for EndWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn parameters(entries: &[(&str, u64)]) -> ValueMap {
    let int = |n: u64| Value::Int(i64::try_from(n).unwrap());
    entries.iter().map(|(name, value)| ((*name).into(), int(*value))).collect()
}

fn int(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        other => panic!("{other:?} is no integer"),
    }
}

/// True if the server says that nothing was committed: it does not lead, or another one won.
fn is_refused(error: &Error) -> bool {
    let code = error.code();
    code == "Neo.ClientError.Cluster.NotALeader"
        || code.starts_with("Neo.TransientError.Transaction.")
}

impl World {
    pub(crate) fn new(addresses: [&str; 3]) -> Self {
        Self {
            addresses: addresses.map(|address| format!("bolt://{address}:7687")).into(),
            tick: AtomicU64::new(0),
            next_id: AtomicU64::new(1),
            acknowledged: AtomicUsize::new(0),
            leader: AtomicUsize::new(0),
            begun: Instant::now(),
            last: AtomicU64::new(0),
            longest_gap: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }
    }

    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::Relaxed)
    }

    pub(crate) fn leader(&self) -> usize {
        self.leader.load(Ordering::Relaxed)
    }

    /// Waits until so many commits have been acknowledged.
    pub(crate) fn await_commits(&self, wanted: usize, patience: Duration) {
        let begun = Instant::now();
        while self.acknowledged() < wanted {
            assert!(begun.elapsed() < patience, "no commits for {patience:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    fn tick(&self) -> u64 {
        self.tick.fetch_add(1, Ordering::SeqCst)
    }

    fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn client(&self, node: usize) -> Result<Client, Error> {
        let address: Address = self.addresses[node].parse().unwrap();
        let interrupted = Arc::new(AtomicBool::new(false));
        let mut client = Client::connect(address, Login::default(), None, interrupted)?;
        client.set_isolation(Some(Isolation::Snapshot));
        Ok(client)
    }

    /// Does something at one node after the other until it succeeds.
    fn anywhere<T>(&self, mut what: impl FnMut(&mut Client) -> Result<T, Error>) -> T {
        let begun = Instant::now();
        let mut node = 0;
        loop {
            match self.client(node).and_then(|mut client| what(&mut client)) {
                Ok(done) => return done,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
            node = (node + 1) % self.addresses.len();
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Makes the nodes of the graph.
    pub(crate) fn prepare(&self) {
        let keys = parameters(&[("n", KEYS)]);
        self.anywhere(|client| {
            client.run("UNWIND range(0, $n - 1) AS i MERGE (:Key {id: i})", &keys).map(drop)
        });
    }

    /// Everything, where all commits are read.
    pub(crate) fn last_reads(&self) -> Recorded {
        let begin = self.tick();
        let ops = self.anywhere(|client| {
            client.begin()?;
            let mut ops = Vec::new();
            for key in 0..KEYS {
                ops.push(read_list(client, key)?);
            }
            ops.push(read_marked(client)?);
            client.commit().map(|()| ops)
        });
        self.recorded(CLIENTS, begin, ops, Outcome::Acknowledged)
    }

    fn recorded(&self, thread: usize, begin: u64, ops: Vec<Op>, outcome: Outcome) -> Recorded {
        Recorded::new(thread, (begin, self.tick()), ops, outcome)
    }

    /// Runs transactions until it is told to end. Every other client runs them at the node that
    /// leads, and looks for another one when it fails: a node that is cut off and makes its clients
    /// wait does not hold all of them up. The others run some at any node, where they may read.
    pub(crate) fn go_on(&self, thread: usize) -> Vec<Recorded> {
        let mut history = Vec::new();
        let mut clients: Vec<Option<Client>> = self.addresses.iter().map(|_| None).collect();
        let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(thread as u64 + 1);
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut failed = false;
        while !self.ended.load(Ordering::Relaxed) {
            let any = usize::try_from(random(self.addresses.len() as u64)).unwrap();
            let looks_around = if thread.is_multiple_of(2) { failed } else { random(3) == 0 };
            let node = if looks_around { any } else { self.leader() };
            let slot = &mut clients[node];
            if slot.is_none() {
                *slot = self.client(node).ok();
            }
            let Some(client) = slot else { continue };
            let (begin, mut ops) = (self.tick(), Vec::new());
            let writes = random(3) > 0;
            let outcome = transaction(self, client, writes, &mut random, &mut ops);
            if outcome == Outcome::Acknowledged && writes {
                self.note_commit(node);
            }
            failed = outcome != Outcome::Acknowledged;
            if failed {
                *slot = None;
            }
            // An anomaly is understood by who led: the node stands in the record.
            history.push(self.recorded(10 * thread + node, begin, ops, outcome));
            thread::sleep(PAUSE);
        }
        history
    }

    fn note_commit(&self, node: usize) {
        self.leader.store(node, Ordering::Relaxed);
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap();
        let before = self.last.fetch_max(now, Ordering::Relaxed);
        self.longest_gap.fetch_max(now.saturating_sub(before), Ordering::Relaxed);
    }
}

fn read_list(client: &mut Client, key: u64) -> Result<Op, Error> {
    let text = "MATCH (k:Key {id: $key}) RETURN k.list";
    let answer = client.run(text, &parameters(&[("key", key)]))?;
    let ids = match &answer.rows[0][0] {
        Value::Null => Vec::new(),
        Value::List(list) => list.iter().map(int).collect(),
        other => panic!("{other:?} is no list"),
    };
    Ok(Op::ReadList { key, ids })
}

fn read_marked(client: &mut Client) -> Result<Op, Error> {
    let rows = client.run("MATCH (m:Marked) RETURN m.item AS i", &ValueMap::new())?.rows;
    let mut members: Vec<u64> =
        rows.iter().map(|row| u64::try_from(int(&row[0])).unwrap()).collect();
    members.sort_unstable();
    Ok(Op::ReadSet { set: Set::Label, members })
}

fn transaction(
    world: &World,
    client: &mut Client,
    writes: bool,
    random: &mut impl FnMut(u64) -> u64,
    ops: &mut Vec<Op>,
) -> Outcome {
    let mut steps = |client: &mut Client| {
        client.begin()?;
        for _ in 0..=random(3) {
            let key = random(KEYS);
            if random(6) == 0 {
                ops.push(read_marked(client)?);
                if writes {
                    let item = world.new_id();
                    // Before it is known: nothing of what was tried may be seen.
                    ops.push(Op::Insert { item, sets: vec![Set::Label] });
                    client.run("CREATE (:Marked {item: $i})", &parameters(&[("i", item)]))?;
                }
                continue;
            }
            ops.push(read_list(client, key)?);
            if writes {
                let id = world.new_id();
                ops.push(Op::Append { key, id: id.try_into().unwrap() });
                let text = "MATCH (k:Key {id: $key}) SET k.list = coalesce(k.list, []) + $id";
                client.run(text, &parameters(&[("key", key), ("id", id)]))?;
            }
        }
        Ok(())
    };
    let stepped: Result<(), Error> = steps(client);
    if stepped.is_err() {
        // A transaction that is not committed is undone, whatever its error was.
        drop(client.rollback());
        return Outcome::Refused;
    }
    match client.commit() {
        Ok(()) => Outcome::Acknowledged,
        Err(error) if is_refused(&error) => Outcome::Refused,
        Err(_) => Outcome::Unknown,
    }
}
