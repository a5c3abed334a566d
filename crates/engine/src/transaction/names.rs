//! Names in a transaction: those that are made, and its own.
//!
//! A name that is not made yet has a number from the first write under it on. It is made when the
//! transaction commits, and given back if it does not (`catalog/names.rs`).
//!
//! A serializable transaction remembers that it did not find a name, as everything that it reads.

use std::collections::{HashMap, HashSet};

use telar_graph::name::NameKind;
use telar_graph::update::ReadableIndex;
use telar_graph::{EdgeTypeId, LabelId, PropertyKeyId, Schema, SchemaRule};

use super::Transaction;
use crate::catalog::{Catalog, EdgeTypeOptions};
use crate::commit::write_set::Read;
use crate::error::{Error, Object};
use crate::schema::rule;
use crate::shared::Shared;
use crate::stop::Stop;

/// Names that a transaction holds: numbers by name.
#[derive(Debug, Default)]
pub(super) struct OwnNames {
    labels: HashMap<String, u16>,
    edge_types: HashMap<String, u16>,
    property_keys: HashMap<String, u16>,
    numbers: HashSet<(NameKind, u16)>,
}

impl OwnNames {
    fn of(&self, kind: NameKind) -> &HashMap<String, u16> {
        match kind {
            NameKind::Label => &self.labels,
            NameKind::EdgeType => &self.edge_types,
            NameKind::PropertyKey => &self.property_keys,
            NameKind::Index => unreachable!("INVARIANT: indexes have a table of their own"),
        }
    }

    fn add(&mut self, kind: NameKind, name: &str, number: u16) {
        let of_kind = match kind {
            NameKind::Label => &mut self.labels,
            NameKind::EdgeType => &mut self.edge_types,
            NameKind::PropertyKey => &mut self.property_keys,
            NameKind::Index => unreachable!("INVARIANT: indexes have a table of their own"),
        };
        of_kind.insert(name.to_owned(), number);
        self.numbers.insert((kind, number));
    }

    /// Each name with its number, in ascending order of numbers.
    fn sorted(&self) -> Vec<(NameKind, u16, &str)> {
        let kinds = [NameKind::Label, NameKind::EdgeType, NameKind::PropertyKey];
        let of = |kind| self.of(kind).iter().map(move |(name, n)| (kind, *n, name.as_str()));
        let mut all: Vec<_> = kinds.into_iter().flat_map(of).collect();
        all.sort_by_key(|(kind, number, _)| (*kind as u8, *number));
        all
    }

    /// Heap bytes.
    pub(super) fn bytes(&self) -> usize {
        let entry = size_of::<(String, u16)>() + 1;
        let maps = [&self.labels, &self.edge_types, &self.property_keys];
        let names = maps.iter().flat_map(|map| map.keys()).map(String::capacity).sum::<usize>();
        let numbers = self.numbers.capacity() * (size_of::<(NameKind, u16)>() + 1);
        maps.iter().map(|map| map.capacity() * entry).sum::<usize>() + names + numbers
    }

    pub(super) fn release(&self, catalog: &Catalog) {
        self.sorted().into_iter().for_each(|(kind, _, name)| catalog.release(kind, name));
    }
}

impl Transaction<'_> {
    /// Number of a name that is made or this transaction's own.
    fn find_own(&self, kind: NameKind, name: &str) -> Option<u16> {
        let own = || self.names.as_ref()?.of(kind).get(name).copied();
        self.shared().catalog.find(kind, name).or_else(own)
    }

    /// The number of a name under which something is about to be written.
    pub(super) fn name_to_write(&mut self, kind: NameKind, name: &str) -> Result<u16, Error> {
        if let Some(number) = self.find_own(kind, name) {
            return Ok(number);
        }
        self.shared().check_leads()?;
        let catalog = &self.shared().catalog;
        let (number, held) = match kind {
            // A type that a bulk load or a program made has the options it was made with.
            NameKind::EdgeType => catalog.hold_edge_type(name, EdgeTypeOptions::general())?,
            kind => catalog.hold(kind, name)?,
        };
        if held {
            self.names.get_or_insert_default().add(kind, name, number);
        }
        Ok(number)
    }

    /// `made`, unless the number is of a name of this transaction's own.
    fn or_own(&self, made: Result<(), Error>, kind: NameKind, number: u16) -> Result<(), Error> {
        let is_own = |own: &OwnNames| own.numbers.contains(&(kind, number));
        made.or_else(|e| if self.names.as_deref().is_some_and(is_own) { Ok(()) } else { Err(e) })
    }

    pub(super) fn check_label(&self, label: LabelId) -> Result<(), Error> {
        let made = self.shared().catalog.check_label(label);
        self.or_own(made, NameKind::Label, label.get())
    }

    pub(super) fn check_property_key(&self, key: PropertyKeyId) -> Result<(), Error> {
        let made = self.shared().catalog.check_property_key(key);
        self.or_own(made, NameKind::PropertyKey, key.get())
    }

    pub(super) fn check_edge_type(&self, ty: EdgeTypeId) -> Result<(), Error> {
        let made = self.shared().catalog.check_edge_type(ty);
        self.or_own(made, NameKind::EdgeType, ty.get())
    }

    /// Makes the transaction's own names: it commits. No latch is held.
    pub(super) fn make_names(&self, stop: &Stop<'_>) -> Result<(), Error> {
        let Some(own) = &self.names else { return Ok(()) };
        let shared: &Shared = self.shared();
        shared.check_takes(self.registration.read_ts)?;
        // Who installs a bulk load holds this, and waits for transactions to end.
        let is_shut = || match shared.gate.is_shut() {
            true => Err(Error::Conflict { object: Object::BulkLoad }),
            false => Ok(()),
        };
        let _making = shared.catalog.hold_making(stop, is_shut)?;
        let names = own.sorted();
        names.into_iter().try_for_each(|(kind, number, name)| shared.make_name(kind, name, number))
    }

    /// Looks at names of a kind. Unless what is looked for was found, that neither it nor any later
    /// name is made is remembered for validation.
    pub(super) fn look_for<T>(
        &self,
        kind: NameKind,
        look: impl FnOnce(&Catalog) -> T,
        was_found: impl FnOnce(&T) -> bool,
    ) -> T {
        let catalog = &self.shared().catalog;
        // Before the look: a name that is made meanwhile must not be taken for one that was seen.
        let made = self.reads.is_some().then(|| catalog.made(kind));
        let found = look(catalog);
        if let Some(made) = made
            && !was_found(&found)
        {
            self.note(Read::Unmade(kind, made));
        }
        found
    }

    fn find(&self, kind: NameKind, name: &str) -> Option<u16> {
        self.look_for(kind, |_| self.find_own(kind, name), Option::is_some)
    }

    fn all_names(&self, kind: NameKind) -> Vec<String> {
        let mut all = self.look_for(kind, |catalog| catalog.all_names(kind), |_| false);
        for (name, number) in self.names.iter().flat_map(|own| own.of(kind)) {
            let place = usize::from(*number);
            all.resize(all.len().max(place + 1), String::new());
            name.clone_into(&mut all[place]);
        }
        all
    }
}

impl Schema for Transaction<'_> {
    fn find_label(&self, name: &str) -> Option<LabelId> {
        self.find(NameKind::Label, name).map(LabelId::from_raw)
    }

    fn find_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.find(NameKind::EdgeType, name).map(EdgeTypeId::from_raw)
    }

    fn find_property_key(&self, name: &str) -> Option<PropertyKeyId> {
        self.find(NameKind::PropertyKey, name).map(PropertyKeyId::from_raw)
    }

    fn has_only_committed_names(&self) -> bool {
        self.names.is_none()
    }

    fn label_names(&self) -> Vec<String> {
        self.all_names(NameKind::Label)
    }

    fn edge_type_names(&self) -> Vec<String> {
        self.all_names(NameKind::EdgeType)
    }

    fn property_key_names(&self) -> Vec<String> {
        self.all_names(NameKind::PropertyKey)
    }

    fn readable_indexes(&self) -> Vec<ReadableIndex> {
        self.shared().readable_indexes(self.read_ts().get())
    }

    fn schema_rules(&self) -> Vec<SchemaRule> {
        self.outlines().into_iter().map(rule).collect()
    }
}
