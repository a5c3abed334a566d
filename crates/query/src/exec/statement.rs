//! The running statement as procedures see it, and changes as they make them: those of the clauses,
//! one by one.

use std::path::PathBuf;
use std::sync::Arc;

use telar_graph::update::IndexedObjects;
use telar_graph::{EdgeId, Graph, PropertyKeyId, SchemaKind, Update, Value, ValueMap, VertexId};

use super::{Access, Exec, Inputs, Transactions, create, delete, set};
use crate::host::Host;
use crate::procedure::{Procedures, Statement};
use crate::query::Prepared;
use crate::query_error::QueryError;
use crate::result::Counters;
use crate::running::Entry;
use crate::schema::CreateParts;
use crate::sink::Sink;
use crate::watch::{self, Limits};
use crate::workers::SharedSnapshot;

impl Statement for Exec<'_> {
    fn graph(&self) -> &dyn Graph {
        Exec::graph(self)
    }

    fn update(&mut self) -> Result<&mut dyn Update, QueryError> {
        Exec::update(self)
    }

    fn check(&self) -> Result<(), QueryError> {
        self.check_now()
    }

    fn room(&self, bytes: usize, who: &str) -> Result<(), QueryError> {
        self.memory.room(bytes, who)?;
        Ok(watch::room(bytes)?)
    }

    fn limits(&self) -> &Limits {
        Exec::limits(self)
    }

    fn snapshot(&self) -> Option<&dyn SharedSnapshot> {
        self.threads.map(|threads| threads.snapshot)
    }

    fn procedures(&self) -> &Procedures {
        self.procedures
    }

    fn host(&self) -> Option<&dyn Host> {
        self.host
    }

    fn entry(&self) -> Option<Arc<Entry>> {
        // By the flag that tells it to end: no other transaction has it.
        let ended = self.limits().terminated.as_ref()?;
        let all = self.procedures.running.all().into_iter();
        all.map(|(_, entry)| entry).find(|entry| Arc::ptr_eq(&entry.ended, ended))
    }

    fn nested<'a>(&'a self, parameters: &'a ValueMap) -> Exec<'a> {
        let inputs = Inputs { parameters, tables: None, threads: self.threads, ..self.inputs() };
        let mut inner = Exec::new(Access::Read(Exec::graph(self)), inputs);
        inner.memory = Arc::clone(&self.memory);
        inner.deleted_vertices.clone_from(&self.deleted_vertices);
        inner.deleted_edges.clone_from(&self.deleted_edges);
        inner.stop.clone_from(&self.stop);
        inner.nesting = self.nesting + 1;
        inner
    }

    fn nested_plan(
        &mut self,
        text: &str,
        parameters: &ValueMap,
    ) -> Result<Arc<Prepared>, QueryError> {
        Exec::nested_plan(self, text, parameters)
    }

    fn run_nested(
        &mut self,
        plan: &Prepared,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
    ) -> Result<(), QueryError> {
        let inputs = Inputs { parameters, tables: None, ..self.inputs() };
        let graph = match &mut self.graph {
            Access::Read(graph) => Access::Read(*graph),
            Access::Write(graph) => Access::Write(&mut **graph),
            Access::Own(transaction) => Access::Write(transaction.update()),
        };
        let mut inner = Exec::new(graph, inputs);
        inner.memory = Arc::clone(&self.memory);
        inner.deleted_vertices = std::mem::take(&mut self.deleted_vertices);
        inner.deleted_edges = std::mem::take(&mut self.deleted_edges);
        inner.stop.clone_from(&self.stop);
        inner.nesting = self.nesting + 1;
        // The bytes that the transaction has written count once.
        std::mem::swap(&mut inner.written, &mut self.written);
        let done = plan.drive_nested(&mut inner, sink);
        let Exec { counters, deleted_vertices, deleted_edges, written, .. } = inner;
        self.counters.add(&counters);
        self.deleted_vertices = deleted_vertices;
        self.deleted_edges = deleted_edges;
        self.written = written;
        done
    }

    fn run_committed(
        &self,
        plan: &Prepared,
        sets: &[ValueMap],
        sink: &mut dyn Sink,
    ) -> Result<Counters, QueryError> {
        let transactions = self.transactions.ok_or_else(|| {
            QueryError::needs_implicit_transaction("A procedure with transactions of its own")
        })?;
        let mut lost = 0;
        loop {
            match self.try_committed(transactions, plan, sets, sink) {
                Err(e) if e.is_retryable() && transactions.wait_for_next_try(lost) => lost += 1,
                done => return done,
            }
        }
    }

    fn begins_transactions(&self) -> bool {
        self.transactions.is_some()
    }

    fn is_deleted(&self, object: &Value) -> bool {
        Exec::is_deleted(self, object)
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn import_path(&self, address: &str) -> Result<PathBuf, String> {
        Exec::import_path(self, address)
    }

    fn create_node(
        &mut self,
        labels: &[&str],
        properties: ValueMap,
    ) -> Result<VertexId, QueryError> {
        let labels: Vec<Arc<str>> = labels.iter().map(|label| Arc::from(*label)).collect();
        let properties = create::properties(&Value::Map(Arc::new(properties)), self)?;
        create::create_node(&labels, properties, self)
    }

    fn create_relationship(
        &mut self,
        ty: &str,
        (from, to): (VertexId, VertexId),
        properties: ValueMap,
    ) -> Result<EdgeId, QueryError> {
        let properties = create::properties(&Value::Map(Arc::new(properties)), self)?;
        create::create_relationship(&[ty.into()], (Some(from), Some(to)), &properties, self)
    }

    fn set_property(&mut self, object: &Value, key: &str, value: Value) -> Result<(), QueryError> {
        set::set_property(object, key, value, self)
    }

    fn add_label(&mut self, node: VertexId, name: &str) -> Result<bool, QueryError> {
        set::add_label(node, name, self)
    }

    fn remove_label(&mut self, node: VertexId, name: &str) -> Result<bool, QueryError> {
        set::remove_label(node, name, self)
    }

    fn delete(&mut self, object: &Value, detach: bool) -> Result<(), QueryError> {
        delete::delete_one(object, detach, self)
    }

    fn create_rule(
        &mut self,
        name: &str,
        objects: IndexedObjects,
        properties: &[PropertyKeyId],
        kind: SchemaKind,
    ) -> Result<(), QueryError> {
        let rules = self.update()?.schema_rules_to_change()?.len();
        let graph = self.update()?;
        graph.create_rule(name, objects, properties, kind, None)?;
        let made = (graph.schema_rules().len() - rules) as u64;
        match kind.is_constraint() {
            true => self.counters.constraints_added += made,
            false => self.counters.indexes_added += made,
        }
        Ok(())
    }

    fn create_parts(
        &mut self,
        create: &CreateParts,
        name: &str,
        options: &Value,
    ) -> Result<(), QueryError> {
        let done = create.run(Some(name), Some(options), self.update()?)?;
        self.counters.indexes_added += done.counters.indexes_added;
        Ok(())
    }

    fn drop_rule(&mut self, name: &str) -> Result<(), QueryError> {
        let rules = self.update()?.schema_rules_to_change()?;
        self.update()?.drop_rule(name)?;
        match rules.iter().any(|rule| rule.name == name && rule.kind.is_constraint()) {
            true => self.counters.constraints_removed += 1,
            false => self.counters.indexes_removed += 1,
        }
        Ok(())
    }
}

impl Exec<'_> {
    fn try_committed(
        &self,
        transactions: &dyn Transactions,
        plan: &Prepared,
        sets: &[ValueMap],
        sink: &mut dyn Sink,
    ) -> Result<Counters, QueryError> {
        let mut own = transactions.begin()?;
        let mut all = Counters::default();
        for parameters in sets {
            let inputs = Inputs { parameters, tables: None, ..self.inputs() };
            let mut inner = Exec::new(Access::Write(own.update()), inputs);
            inner.memory = Arc::clone(&self.memory);
            inner.stop.clone_from(&self.stop);
            inner.nesting = self.nesting + 1;
            plan.drive_nested(&mut inner, sink)?;
            all.add(&inner.counters);
        }
        own.commit()?;
        Ok(all)
    }
}
