//! The embedded database as a backend: the engine, with its errors in the words of queries.

use std::collections::HashMap;
use std::path::Path;

use telar_engine::{Engine, Error, Interrupt, Isolation, Transaction, WriteWait};
use telar_graph::{CommitTs, Graph, Schema, Update};
use telar_query::{At, QueryError, schema};

use super::refusal::{constraint_not_made, query_error, terminated};
use super::{Backend, BackendTransaction, SharedGraph};

impl Backend for Engine {
    fn folder(&self) -> Option<&Path> {
        Self::folder(self)
    }

    fn database(&self) -> Option<&Engine> {
        Some(self)
    }

    fn planning_version(&self) -> u64 {
        Self::planning_version(self)
    }

    fn snapshot(&self) -> Result<Box<SharedGraph<'_>>, QueryError> {
        // Borrowed, so that readers write to no counter that others write to. No `Reader`: it may
        // be read for long, and what was read is to leave memory meanwhile.
        let snapshot = Self::snapshot(self).map_err(|e| query_error(self, &e))?;
        Ok(Box::new(snapshot))
    }

    fn snapshot_at(&self, at: &At) -> Result<Box<SharedGraph<'_>>, QueryError> {
        let snapshot = match at {
            At::Commit(ts) => Self::snapshot_at(self, *ts),
            At::Time(ms) => self.snapshot_at_time(*ms),
        };
        Ok(Box::new(snapshot.map_err(|e| query_error(self, &e))?))
    }

    fn begin(&self, isolation: Isolation) -> Result<Box<dyn BackendTransaction>, QueryError> {
        let begun = self.begin_owned(isolation);
        let transaction = begun.map_err(|e| query_error(self, &e))?;
        Ok(Box::new(Embedded { transaction, db: self.clone() }))
    }

    fn committed_once(&self, id: &str) -> Option<CommitTs> {
        Self::committed_once(self, id)
    }

    fn published(&self) -> CommitTs {
        Self::published(self)
    }
}

/// A transaction of the engine.
#[derive(Debug)]
struct Embedded {
    transaction: Transaction<'static>,
    /// Its errors name what it read and wrote.
    db: Engine,
}

impl BackendTransaction for Embedded {
    fn graph(&self) -> &dyn Graph {
        &self.transaction
    }

    fn update(&mut self) -> &mut dyn Update {
        &mut self.transaction
    }

    fn snapshot(&self) -> Option<&SharedGraph<'_>> {
        let snapshot = self.transaction.shared_snapshot()?;
        Some(snapshot)
    }

    fn written_bytes(&self) -> u64 {
        self.transaction.written_bytes()
    }

    fn changes_graph(&self) -> bool {
        self.transaction.changes_graph()
    }

    fn changes_schema(&self) -> bool {
        self.transaction.changes_schema()
    }

    fn wait_for_writers(&mut self, wait: WriteWait) {
        self.transaction.wait_for_writers(wait);
    }

    fn holds_intents(&self) -> bool {
        self.transaction.holds_intents()
    }

    fn release_intents(&mut self) {
        self.transaction.release_intents();
    }

    fn commit_once(&mut self, id: &str) -> Result<(), QueryError> {
        self.transaction.commit_once(id).map_err(|e| query_error(&self.db, &e))
    }

    fn restart(&mut self) -> Result<(), QueryError> {
        self.transaction.restart().map_err(|e| query_error(&self.db, &e))
    }

    fn commit(self: Box<Self>, interrupt: &dyn Interrupt) -> Result<CommitTs, QueryError> {
        let Self { transaction, db } = *self;
        // Asked before: afterwards nobody knows what was to be made.
        let mut made = HashMap::new();
        if transaction.changes_schema() {
            for rule in transaction.schema_rules() {
                made.insert(rule.name.clone(), schema::describe(&rule, &transaction));
            }
        }
        let committed = transaction.commit_unless(interrupt);
        committed.map(|committed| committed.ts).map_err(|error| match &error {
            Error::Interrupted => terminated(),
            Error::ConstraintViolated { constraint, violation } => match made.get(constraint) {
                Some(rule) => constraint_not_made(&db, rule, violation),
                None => query_error(&db, &error),
            },
            error => query_error(&db, error),
        })
    }
}
