//! Indexes in a repair: what is damaged is left out and made anew from the values.
//!
//! An index holds nothing that the values do not say, so none of it can be lost. What a part of it
//! held counts in the sum of checksums nevertheless: that the rest of the store is what the
//! checkpoint wrote is proven with the checksums that stand on the damaged parts, or with those
//! that they ought to have where the checksums themselves were hit.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use telar_graph::IndexId;

use super::assemble::NewDatabase;
use super::repair::{Repaired, Salvage, refuse};
use crate::checkpoint::meta::{self, Meta};
use crate::error::Error;
use crate::format::{Kind, key, parts, seal};
use crate::index::page::{Pieces, encode_all};
use crate::index::stored::Stored;
use crate::index::{Definition, Index, is_unique_violated};
use crate::shared::Shared;
use crate::store::changes::Key;
use crate::store::progress::Totals;

/// Indexes that are made anew, and why.
#[derive(Debug, Default)]
pub(super) struct Damaged(BTreeMap<u16, String>);

fn index_of(key: &Key) -> Option<(u16, u32)> {
    let (kind, a, _, number) = parts(key)?;
    (kind == Kind::Index as u8).then_some((a, number))
}

impl Damaged {
    /// Whether a value is part of an index that is made anew.
    pub(super) fn has(&self, key: &Key) -> bool {
        index_of(key).is_some_and(|(index, _)| self.0.contains_key(&index))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Finds the indexes with a damaged part; in a store that is whole, those that contradict the
    /// values.
    pub(super) fn find(
        salvage: &Salvage,
        path: &Path,
        shared: &Shared,
        meta: &Meta,
    ) -> Result<Self, Error> {
        let mut damaged = Self::default();
        for (index, number) in salvage.broken.keys().filter_map(index_of) {
            damaged.0.entry(index).or_insert(format!("part {number} was damaged"));
        }
        if !salvage.is_whole(meta.totals) {
            return Ok(damaged);
        }
        let value = |key: &Key| salvage.body(key).map_err(|e| e.to_string());
        let stored = Stored { graph: shared, version: meta.version, value: &value };
        for (id, definition) in &meta.indexes {
            let wrong = entries_of(salvage, path, *id, definition)?
                .and_then(|entries| stored.contradictions(definition, &entries));
            if let Some(what) = wrong.map_or_else(Some, |found| found.into_iter().next()) {
                damaged.0.insert(id.get(), what);
            }
        }
        Ok(damaged)
    }

    /// Puts the indexes, made of the values in the store and those rebuilt, into the new database,
    /// and the meta value that knows them.
    pub(super) fn make_anew(
        &self,
        (salvage, rebuilt): (&Salvage, &BTreeMap<Key, Vec<u8>>),
        path: &Path,
        (shared, meta): (&Shared, &Meta),
        (new, totals): (&mut NewDatabase, &mut Totals),
        report: &mut Repaired,
    ) -> Result<(), Error> {
        let value = |key: &Key| match rebuilt.get(key) {
            Some(value) => Ok(Some(Cow::Borrowed(&value[4..]))),
            None => salvage.body(key).map_err(|e| e.to_string()),
        };
        let stored = Stored { graph: shared, version: meta.version, value: &value };
        for (id, definition) in &meta.indexes {
            let Some(why) = self.0.get(&id.get()) else { continue };
            let name = &definition.name;
            let entries = match stored.entries(definition) {
                Ok(entries) => entries,
                Err(reason) => return refuse(path, format!("index {name}: {reason}")),
            };
            if is_unique_violated(definition, &entries) {
                let reason = format!("two objects share a key of {name}, which must be unique");
                return refuse(path, reason);
            }
            for (number, mut value) in encode_all(definition, &entries) {
                let key = key(Kind::Index, id.get(), 0, number);
                totals.put(&key, None, seal(&key, &mut value));
                new.put(&key, value)?;
                report.rebuilt += 1;
            }
            let entries = entries.len();
            report.done.push(format!("index {name} made anew with {entries} entries: {why}"));
        }
        let indexes: Vec<Arc<Index>> = meta
            .indexes
            .iter()
            .map(|(id, definition)| Arc::new(Index::stored(*id, definition.clone(), 0)))
            .collect();
        let (key, mut value) = (key(Kind::Meta, 0, 0, 0), Vec::new());
        meta::encode(shared, meta.at, totals, &meta::Additions::default(), &indexes, &mut value);
        seal(&key, &mut value);
        new.put(&key, value)
    }
}

/// The entries of an index as they are stored, or what is wrong with them.
fn entries_of(
    salvage: &Salvage,
    path: &Path,
    id: IndexId,
    definition: &Definition,
) -> Result<Result<crate::index::Entries, String>, Error> {
    let mut pieces = Pieces::new(definition);
    let of = |number| key(Kind::Index, id.get(), 0, number);
    for (key, _) in salvage.whole.range(of(0)..=of(u32::MAX)) {
        let value = salvage.value(key).map_err(Error::file("cannot read", path))?;
        let number = index_of(key).map_or(0, |(_, number)| number);
        if let Err(what) = pieces.add(number, &value[4..]) {
            return Ok(Err(what));
        }
    }
    Ok(pieces.into_entries(false).map_err(str::to_owned))
}
