//! Constraints, row by row: what a reader of files asks before it adds a row, so that it can say
//! which row is wrong, or leave it out.
//!
//! It looks at the database as it is at that moment. What counts is the check at the end of the
//! load, when nobody else writes (`index.rs`).
//!
//! Cost: a set with the keys of the load, 40 to 80 bytes each, for each unique constraint that is
//! asked about.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use crossbeam_epoch as epoch;
use telar_graph::name::{NameKind, validate_name};
use telar_graph::{ConstraintKind, Value};

use super::{BulkLoad, BulkName, Column};
use crate::error::Error;
use crate::index::key::SortKey;
use crate::index::source::NOW;
use crate::index::{Entries, Index, IndexTarget};
use crate::shared::Shared;

/// What a constraint is about, by name: labels and types of the load may not have a number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Vertices(BulkName),
    Edges(String),
}

/// A constraint as the load sees it.
#[derive(Debug)]
pub(super) struct LoadConstraint {
    pub(super) name: String,
    pub(super) target: Target,
    pub(super) properties: Vec<BulkName>,
    kind: ConstraintKind,
    /// The index of the database; `None` for a constraint that is made with the load.
    index: Option<Arc<Index>>,
    /// Keys of the rows that were taken, and, where there is no index, of what was there before.
    keys: HashSet<SortKey, foldhash::fast::RandomState>,
}

impl LoadConstraint {
    /// Whether the load makes this constraint.
    pub(super) fn is_new(&self) -> bool {
        self.index.is_none()
    }

    /// Whether somebody in the database has this key.
    fn is_taken(&self, key: &SortKey, shared: &Shared) -> bool {
        let Some(index) = self.index.as_ref().filter(|i| shared.indexes.load(i, shared).is_ok())
        else {
            return false;
        };
        let guard = &epoch::pin();
        let objects = index.objects(shared, guard);
        let mut taken = false;
        match (index.entries(), index.front()) {
            (Entries::Vertices(_), Some(front)) => front.find(key, guard, |v| {
                taken = objects.has_key(key, &[v], NOW);
                if taken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }),
            (Entries::Vertices(tree), None) => {
                tree.for_key(key, guard, |item| taken |= objects.has_key(key, &item, NOW));
            }
            (Entries::Edges(tree), _) => {
                tree.for_key(key, guard, |item| taken |= objects.has_key(key, &item, NOW));
            }
            (Entries::None, _) => {}
        }
        taken
    }

    /// What is wrong with a row of these values; the key that it would take.
    fn check(
        &self,
        shared: &Shared,
        names: &[String],
        values: &[Value],
    ) -> Result<Option<SortKey>, String> {
        let constraint = &self.name;
        let of = |i: usize| &names[self.properties[i].0];
        let missing = || values.iter().position(Value::is_null);
        match (self.kind, missing()) {
            (ConstraintKind::Exists | ConstraintKind::Key, Some(i)) => {
                Err(format!("constraint {constraint}: {} is missing", of(i)))
            }
            (ConstraintKind::Exists, None) => Ok(None),
            (ConstraintKind::Unique | ConstraintKind::Key, _) => {
                let Some(key) = SortKey::of(values) else { return Ok(None) };
                if !self.keys.contains(&key) && !self.is_taken(&key, shared) {
                    return Ok(Some(key));
                }
                let named: Vec<String> = values
                    .iter()
                    .enumerate()
                    .map(|(i, v)| format!("{} {}", of(i), shown(v)))
                    .collect();
                Err(format!("constraint {constraint}: {} is taken already", named.join(", ")))
            }
            (ConstraintKind::Type(ty), _) => match values.iter().position(|v| !ty.admits(v)) {
                Some(i) => Err(format!(
                    "constraint {constraint}: {} must be {}, not {}",
                    of(i),
                    ty.name(),
                    values[i].type_name()
                )),
                None => Ok(None),
            },
        }
    }
}

/// A value for people.
fn shown(value: &Value) -> String {
    match value {
        Value::Bool(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::String(v) => format!("{v:?}"),
        value => format!("{value:?}"),
    }
}

/// The constraints of a database and of a load.
#[derive(Debug, Default)]
pub(super) struct LoadConstraints {
    pub(super) all: Vec<LoadConstraint>,
    /// Constraint and key of the row that was checked last.
    checked: Vec<(usize, SortKey)>,
}

impl BulkLoad<'_> {
    /// Finds the constraints of the database.
    pub(super) fn find_constraints(&mut self) {
        let catalog = &self.shared.catalog;
        for index in self.shared.indexes.all() {
            let Some(kind) = index.definition.kind.constraint() else { continue };
            let keys = catalog.all_names(NameKind::PropertyKey);
            let name_of = |number: u16, names: &[String]| names.get(usize::from(number)).cloned();
            let properties: Option<Vec<String>> =
                index.definition.properties.iter().map(|k| name_of(k.get(), &keys)).collect();
            let target = match index.definition.target {
                IndexTarget::Vertices(label) => {
                    let name = name_of(label.get(), &catalog.all_names(NameKind::Label));
                    name.map(|name| Target::Vertices(self.labels.add(&name)))
                }
                IndexTarget::Edges(ty) => {
                    catalog.name(NameKind::EdgeType, ty.get()).map(Target::Edges)
                }
            };
            let (Some(target), Some(properties)) = (target, properties) else { continue };
            self.constraints.all.push(LoadConstraint {
                name: index.definition.name.clone(),
                target,
                properties: properties.iter().map(|k| self.keys.add(k)).collect(),
                kind,
                index: Some(index),
                keys: HashSet::default(),
            });
        }
    }

    /// Makes a unique constraint on vertices with the load: in the same step, or not at all. If
    /// there is one on these properties already, that will do.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::IndexSpec`], [`Error::IndexExists`]; a violation by what is in the
    /// database is found by [`finish`](Self::finish).
    pub fn make_unique(
        &mut self,
        name: &str,
        label: BulkName,
        properties: &[BulkName],
    ) -> Result<(), Error> {
        validate_name(NameKind::Index, name)?;
        let refuse = |reason: &str| {
            Err(Error::IndexSpec { name: name.to_owned(), reason: reason.to_owned() })
        };
        if properties.is_empty() || properties.len() > crate::index::KEYS_MAX {
            return refuse("it needs 1 to 16 properties");
        }
        if properties.iter().enumerate().any(|(i, k)| properties[..i].contains(k)) {
            return refuse("it names a property twice");
        }
        let target = Target::Vertices(label);
        let same = |r: &LoadConstraint| {
            (&r.target, &r.properties[..], r.kind) == (&target, properties, ConstraintKind::Unique)
        };
        if self.constraints.all.iter().any(same) {
            return Ok(());
        }
        let other = self.shared.indexes.all().iter().any(|i| i.definition.name == name);
        if other || self.constraints.all.iter().any(|r| r.name == name) {
            return Err(Error::IndexExists { name: name.to_owned() });
        }
        let mut constraint = LoadConstraint {
            name: name.to_owned(),
            target,
            properties: properties.to_vec(),
            kind: ConstraintKind::Unique,
            index: None,
            keys: HashSet::default(),
        };
        let catalog = &self.shared.catalog;
        let find = |kind, name: &str| catalog.find(kind, name);
        let numbers: Option<Vec<u16>> =
            properties.iter().map(|k| find(NameKind::PropertyKey, &self.keys.0[k.0])).collect();
        if let (Some(label), Some(keys)) = (find(NameKind::Label, &self.labels.0[label.0]), numbers)
        {
            super::index::for_each_key(self.shared, label, &keys, |key| {
                constraint.keys.insert(key);
            });
        }
        self.constraints.all.push(constraint);
        Ok(())
    }

    /// Says what is wrong with a vertex that is to be added, by the constraints of the database and
    /// of this load. The vertices that were taken before count, see
    /// [`keep_checked`](Self::keep_checked).
    ///
    /// # Errors
    /// A text for people.
    #[inline]
    pub fn check_vertex(
        &mut self,
        labels: &[BulkName],
        columns: &[(BulkName, Column)],
        row: usize,
    ) -> Result<(), String> {
        if self.constraints.all.is_empty() {
            return Ok(());
        }
        self.check(
            columns,
            row,
            |target| matches!(target, Target::Vertices(l) if labels.contains(l)),
        )
    }

    /// As [`check_vertex`](Self::check_vertex), of an edge.
    ///
    /// # Errors
    /// A text for people.
    #[inline]
    pub fn check_edge(
        &mut self,
        ty: BulkName,
        columns: &[(BulkName, Column)],
        row: usize,
    ) -> Result<(), String> {
        if self.constraints.all.is_empty() {
            return Ok(());
        }
        let Some(name) = self.types.get(ty.0).map(|t| t.name.clone()) else { return Ok(()) };
        self.check(columns, row, |target| matches!(target, Target::Edges(n) if *n == name))
    }

    fn check(
        &mut self,
        columns: &[(BulkName, Column)],
        row: usize,
        concerns: impl Fn(&Target) -> bool,
    ) -> Result<(), String> {
        self.constraints.checked.clear();
        let mut values = Vec::new();
        for (number, constraint) in
            self.constraints.all.iter().enumerate().filter(|(_, r)| concerns(&r.target))
        {
            values.clear();
            values.extend(constraint.properties.iter().map(|key| {
                let column = columns.iter().find(|(k, _)| k == key);
                column.map_or(Value::Null, |(_, c)| c.get(row))
            }));
            if let Some(key) = constraint.check(self.shared, &self.keys.0, &values)? {
                self.constraints.checked.push((number, key));
            }
        }
        Ok(())
    }

    /// The row that was checked last is taken: others cannot have its unique keys any more.
    #[inline]
    pub fn keep_checked(&mut self) {
        for (constraint, key) in self.constraints.checked.drain(..) {
            self.constraints.all[constraint].keys.insert(key);
        }
    }

    /// Whether there are constraints that rows could break.
    #[must_use]
    pub fn has_constraints(&self) -> bool {
        !self.constraints.all.is_empty()
    }
}
