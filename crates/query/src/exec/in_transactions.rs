//! `CALL { } IN TRANSACTIONS OF n ROWS`: a subquery that commits as it goes.
//!
//! ```text
//! input, which sees the graph as it was ─► n rows ─► transaction: the subquery for each ─► commit
//!                                                                                           │
//! what stands behind, which sees every commit so far ◄──────────────────────────────────────┘
//! ```
//!
//! So an input that reads what the subquery changes neither runs forever nor misses anything. A
//! transaction that loses a conflict is run again. What was committed stays, whatever comes later.

use std::sync::Arc;

use telar_cypher::ast::OnError;
use telar_graph::{CommitTs, Value, ValueMap};

use super::memory::Held;
use super::{Access, Exec, Operator, Ramp, Source, Transactions, apply};
use crate::batch::{Batch, Column};
use crate::exec::eval::eval;
use crate::plan;
use crate::query_error::{ErrorKind, QueryError};

pub(crate) struct InTransactions<'p> {
    plan: &'p plan::InTransactions,
    apply: apply::Apply<'p>,
    /// What became of the transaction whose rows go out.
    status: Option<Value>,
    /// Rows of the input, of which so many are done.
    waiting: Option<(Batch, usize)>,
    /// A transaction failed, and no further one is to begin.
    stopped: bool,
    /// The rows of a transaction.
    held: Held,
}

/// What became of a transaction.
enum Outcome {
    Committed(CommitTs),
    Failed(QueryError),
    NotStarted,
}

impl Outcome {
    fn status(&self) -> Value {
        let (id, error) = match self {
            Self::Committed(ts) => (Value::from(ts.get().to_string().as_str()), Value::Null),
            Self::Failed(e) => (Value::Null, Value::from(e.message.as_str())),
            Self::NotStarted => (Value::Null, Value::Null),
        };
        let entries = [
            ("started", Value::Bool(!matches!(self, Self::NotStarted))),
            ("committed", Value::Bool(matches!(self, Self::Committed(_)))),
            ("transactionId", id),
            ("errorMessage", error),
        ];
        Value::map(entries.into_iter().map(|(k, v)| (k.into(), v)).collect::<ValueMap>())
    }
}

impl<'p> InTransactions<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::InTransactions) -> Self {
        let apply = apply::Apply::new(input, &plan.apply, Ramp::FULL);
        let held = Held::of("InTransactions");
        Self { plan, apply, status: None, waiting: None, stopped: false, held }
    }

    /// The rows of the next transaction.
    fn rows(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let wanted = match eval(&self.plan.rows, &Batch::empty(1), cx)?.get(0) {
            Value::Int(rows) if rows > 0 => usize::try_from(rows).unwrap_or(usize::MAX),
            other => {
                let expected = "a number of rows, at least 1";
                return Err(QueryError::wrong_type(expected, &other, "IN TRANSACTIONS OF"));
            }
        };
        self.held.clear();
        let mut parts = Vec::new();
        let mut found = 0;
        while found < wanted {
            let (batch, from) = match self.waiting.take() {
                Some(waiting) => waiting,
                None => match self.apply.input.next(cx)? {
                    Some(batch) => (batch, 0),
                    None => break,
                },
            };
            let to = batch.rows().min(from.saturating_add(wanted - found));
            let part = batch.slice(from, to);
            self.held.grow(part.bytes(), cx)?;
            parts.push(part);
            found += to - from;
            if to < batch.rows() {
                self.waiting = Some((batch, to));
            }
        }
        Ok((found > 0).then(|| Batch::concat(parts)))
    }

    /// Runs the subquery for these rows in a transaction of their own.
    fn run(
        &mut self,
        rows: &Batch,
        transactions: &dyn Transactions,
        cx: &mut Exec<'_>,
    ) -> Result<CommitTs, QueryError> {
        // What the subquery needs of the query around it outlives neither.
        let mut inner = Exec::new(Access::Own(transactions.begin()?), cx.inputs());
        inner.memory = Arc::clone(&cx.memory);
        inner.nesting = cx.nesting;
        inner.deleted_vertices = cx.deleted_vertices.clone();
        inner.deleted_edges = cx.deleted_edges.clone();
        for row in 0..rows.rows() {
            inner.check()?;
            self.apply.run(rows.slice(row, row + 1), &mut inner)?;
        }
        let Exec { graph, counters, deleted_vertices, deleted_edges, .. } = inner;
        let Access::Own(transaction) = graph else {
            unreachable!("INVARIANT: the graph it began with")
        };
        let ts = transaction.commit()?;
        cx.counters.add(&counters);
        cx.deleted_vertices = deleted_vertices;
        cx.deleted_edges = deleted_edges;
        Ok(ts)
    }

    /// As [`run`](Self::run), again after conflicts.
    fn attempt(&mut self, rows: &Batch, cx: &mut Exec<'_>) -> Result<Outcome, QueryError> {
        let Some(transactions) = cx.transactions else {
            return Err(QueryError::needs_implicit_transaction(QueryError::IN_TRANSACTIONS));
        };
        let mut lost = 0;
        loop {
            match self.run(rows, transactions, cx) {
                Ok(ts) => return Ok(Outcome::Committed(ts)),
                Err(e) if e.is_retryable() && transactions.wait_for_next_try(lost) => lost += 1,
                Err(e) => {
                    let given_up = matches!(e.kind, ErrorKind::Terminated | ErrorKind::TimedOut);
                    if given_up || self.plan.on_error == OnError::Fail {
                        return Err(e);
                    }
                    self.apply.ready.clear();
                    return Ok(Outcome::Failed(e));
                }
            }
            self.apply.ready.clear();
        }
    }

    /// The rows without anything that the subquery returns.
    fn unanswered(&self, mut rows: Batch) -> Batch {
        let p = &self.plan.apply;
        let null = |rows: &Batch| Column::Same(Value::Null, rows.rows());
        for slot in p.columns.iter().chain([&p.row]) {
            rows.set(*slot, null(&rows));
        }
        rows
    }
}

impl Operator for InTransactions<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let number = self.plan.apply.row;
        loop {
            if let Some(mut batch) = self.apply.ready.pop(cx)? {
                if let (Some(slot), Some(status)) = (self.plan.status, &self.status) {
                    batch.set(slot, Column::Same(status.clone(), batch.rows()));
                }
                return Ok(Some(batch));
            }
            cx.swap_view(number);
            let rows = self.rows(cx)?;
            cx.swap_view(number);
            let Some(rows) = rows else { return Ok(None) };
            let outcome = match self.stopped {
                true => Outcome::NotStarted,
                false => self.attempt(&rows, cx)?,
            };
            let status = outcome.status();
            match outcome {
                Outcome::Committed(_) => cx.renew_view(number)?,
                Outcome::Failed(_) | Outcome::NotStarted => {
                    self.stopped |= self.plan.on_error == OnError::Break;
                    let rows = self.unanswered(rows);
                    self.apply.ready.push(rows, cx)?;
                }
            }
            self.status = self.plan.status.map(|_| status);
        }
    }
}
