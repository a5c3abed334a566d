//! A workload whose state at every commit is known exactly: transfers between accounts.
//!
//! Every transaction moves an amount from one account to another, makes an edge between them that
//! says so, and writes its own number at the vertex of its writer. So the sum of all balances never
//! changes, the number of edges is the number of transactions, and with the commit timestamps that
//! the engine returned, the numbers at the writers tell which state it is.

use std::collections::BTreeMap;
use std::sync::Mutex;

use telar_engine::{EdgeTypeOptions, Engine, Error};
use telar_graph::{Direction, EdgeTypeId, PropertyKeyId, Value, VertexId};

use crate::Rng;

/// What every account holds at first.
const AT_FIRST: i64 = 1000;

/// Vertices and names of the workload, and what was committed when.
#[derive(Debug)]
pub struct Ledger {
    accounts: Vec<VertexId>,
    writers: Vec<VertexId>,
    balance: PropertyKeyId,
    number: PropertyKeyId,
    sent: EdgeTypeId,
    knows: EdgeTypeId,
    /// Commit timestamp to writer and number.
    history: Mutex<BTreeMap<u64, (usize, i64)>>,
}

impl Ledger {
    /// Makes everything in an empty database.
    ///
    /// # Errors
    /// Of the engine.
    pub fn new(db: &Engine, accounts: usize, writers: usize) -> Result<Self, Error> {
        let (label, balance) = (db.label("Account")?, db.property_key("balance")?);
        let number = db.property_key("number")?;
        let sent = db.edge_type("SENT", EdgeTypeOptions::general())?;
        let knows = db.edge_type("KNOWS", EdgeTypeOptions::simple())?;
        let mut txn = db.begin()?;
        let mut make = |count: usize, key, value: i64| -> Result<Vec<VertexId>, Error> {
            (0..count)
                .map(|_| {
                    let v = txn.create_vertex(&[label])?;
                    txn.set_vertex_property(v, key, Value::Int(value))?;
                    Ok(v)
                })
                .collect()
        };
        let accounts = make(accounts, balance, AT_FIRST)?;
        let writers = make(writers, number, 0)?;
        txn.commit()?;
        let history = Mutex::default();
        Ok(Self { accounts, writers, balance, number, sent, knows, history })
    }

    /// Transaction number `number` of a writer, run until it commits; returns its timestamp.
    ///
    /// # Errors
    /// Of the engine, but no conflicts.
    pub fn transfer(
        &self,
        db: &Engine,
        writer: usize,
        number: i64,
        rng: &mut Rng,
    ) -> Result<u64, Error> {
        let pick = |rng: &mut Rng| self.accounts[rng.below(self.accounts.len() as u64) as usize];
        let (from, to, amount) = (pick(rng), pick(rng), rng.below(50) as i64);
        let (_, done) = db.write(Default::default(), |txn| {
            for (account, change) in [(from, -amount), (to, amount)] {
                if let Value::Int(had) = txn.vertex_property(account, self.balance)? {
                    txn.set_vertex_property(account, self.balance, Value::Int(had + change))?;
                }
            }
            txn.create_edge(self.sent, from, to, &[(self.number, Value::Int(amount))])?;
            txn.upsert_edge(self.knows, from, to)?;
            txn.set_vertex_property(self.writers[writer], self.number, Value::Int(number))?;
            Ok::<(), Error>(())
        })?;
        let ts = done.ts.get();
        self.history.lock().expect("no writer panicked").insert(ts, (writer, number));
        Ok(ts)
    }

    /// The timestamps committed so far.
    #[must_use]
    pub fn timestamps(&self) -> Vec<u64> {
        self.history.lock().expect("no writer panicked").keys().copied().collect()
    }

    /// Whether `db` is in exactly the state that the commits up to `to` left.
    ///
    /// # Errors
    /// Says what differs.
    pub fn check(&self, db: &Engine, to: u64) -> Result<(), String> {
        let reader = db.reader().map_err(|e| e.to_string())?;
        let int = |v: VertexId, key| match reader.vertex_property(v, key) {
            Value::Int(n) => Ok(n),
            other => Err(format!("vertex {v} holds {other:?}")),
        };
        let history = self.history.lock().expect("no writer panicked");
        let mut wanted = vec![0; self.writers.len()];
        history.range(..=to).for_each(|(_, (writer, number))| wanted[*writer] = *number);
        for (writer, wanted) in self.writers.iter().zip(&wanted) {
            let found = int(*writer, self.number)?;
            if found != *wanted {
                return Err(format!("at {to} a writer is at {found}, not {wanted}"));
            }
        }
        let sum: i64 = self.accounts.iter().map(|a| int(*a, self.balance)).sum::<Result<_, _>>()?;
        if sum != AT_FIRST * self.accounts.len() as i64 {
            return Err(format!("at {to} the balances add up to {sum}"));
        }
        for direction in Direction::ALL {
            let degree = |v: &VertexId| reader.degree(*v, self.sent, direction);
            let edges: usize = self.accounts.iter().map(degree).sum();
            let committed = history.range(..=to).count();
            if edges != committed {
                return Err(format!("at {to} there are {edges} edges, not {committed}"));
            }
        }
        let bound = (self.accounts.len() + self.writers.len()) as u64;
        if reader.vertex_bound() != VertexId::from_raw(bound) {
            return Err(format!("the vertices end at {}", reader.vertex_bound()));
        }
        Ok(())
    }
}
