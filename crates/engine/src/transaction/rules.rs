//! Indexes and constraints that a transaction makes and drops: a list until it commits.
//!
//! Nobody else sees anything of them before, and no writer keeps to them; `schema/build.rs` makes
//! all of the list or nothing.
//! Why like this: docs/decisions/0028-schema-commands-in-transactions.md.

use telar_graph::{CommitTs, IndexId, IndexKind, IndexState};

use super::{Committed, Transaction};
use crate::error::{Error, Object};
use crate::index::{
    self, ConstraintSpec, Definition, Index, IndexInfo, IndexSpec, IndexTarget, List,
};
use crate::schema::{PendingRules, build};
use crate::shared::Shared;
use crate::stop::Stop;

impl PendingRules {
    pub(crate) fn are_changes(&self) -> bool {
        !self.dropped.is_empty() || !self.made.is_empty()
    }

    /// True if the changes mean the same with what is there now: others have dropped nothing that
    /// is dropped here, and made nothing that has the name of something made here, or is about the
    /// same properties. Then the order of the changes makes no difference.
    pub(crate) fn commute_with(&self, there: &List) -> bool {
        let is_there = |id: &IndexId| there.iter().any(|index| index.id == *id);
        let new = || there.iter().filter(|index| !self.seen.contains(&index.id));
        let apart = |made: &Definition| new().all(|index| made.is_apart_from(&index.definition));
        self.dropped.iter().all(is_there) && self.made.iter().all(apart)
    }

    /// What was there, without what is dropped, and then what is made.
    fn over(
        &self,
        there: &List,
        shared: &Shared,
        info: impl Fn(&Index) -> IndexInfo,
    ) -> Vec<IndexInfo> {
        let kept = there.iter().filter(|index| !self.dropped.contains(&index.id));
        let mut infos: Vec<IndexInfo> = kept.map(|index| info(index)).collect();
        // The numbers they get if nobody is faster.
        let numbers = shared.indexes.numbers()..;
        infos.extend(numbers.zip(&self.made).map(|(number, definition)| IndexInfo {
            id: IndexId::from_raw(number as u16),
            name: definition.name.clone(),
            target: definition.target,
            properties: definition.properties.clone(),
            kind: definition.kind,
            options: definition.settings.as_ref().map(|settings| settings.options.clone()),
            state: IndexState::Pending,
            entries: 0,
            bytes: 0,
        }));
        infos
    }
}

impl Transaction<'_> {
    /// Makes a range index when the transaction commits. If one of this name and definition is
    /// there, nothing happens.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::IndexSpec`], [`Error::IndexExists`], and those of unknown labels,
    /// edge types and property keys; [`Error::MixedChanges`] if the transaction has changed the
    /// graph; [`Error::Conflict`] if another one has changed the schema since this one did. The
    /// transaction is as it was.
    pub fn create_index(&mut self, spec: IndexSpec) -> Result<(), Error> {
        self.create_index_of(IndexKind::Range, spec)
    }

    /// As [`create_index`](Self::create_index), of an index of a kind.
    ///
    /// # Errors
    /// As [`create_index`](Self::create_index).
    pub fn create_index_of(&mut self, kind: IndexKind, spec: IndexSpec) -> Result<(), Error> {
        self.make_rule(Definition::of(kind, spec))
    }

    /// Makes a constraint when the transaction commits, and then checks what is there.
    ///
    /// # Errors
    /// As [`create_index`](Self::create_index).
    pub fn create_constraint(&mut self, spec: ConstraintSpec) -> Result<(), Error> {
        self.make_rule(spec.into())
    }

    /// Drops the index or constraint of this name when the transaction commits.
    ///
    /// # Errors
    /// [`Error::UnknownIndexName`]; [`Error::MixedChanges`] and [`Error::Conflict`] as
    /// [`create_index`](Self::create_index). The transaction is as it was.
    pub fn drop_index(&mut self, name: &str) -> Result<(), Error> {
        let there = self.rules_as_seen()?;
        self.refuse_mixing()?;
        let pending = self.rules.as_mut().expect("INVARIANT: it has looked");
        if let Some(at) = pending.made.iter().position(|made| made.name == name) {
            pending.made.remove(at);
            return Ok(());
        }
        let found = there
            .iter()
            .find(|index| index.definition.name == name && !pending.dropped.contains(&index.id));
        let found = found.ok_or_else(|| Error::UnknownIndexName { name: name.to_owned() })?;
        pending.dropped.push(found.id);
        Ok(())
    }

    /// Every index and constraint as they will be if the transaction commits: those it makes last,
    /// with the numbers they will have unless another one is faster.
    #[must_use]
    pub fn indexes(&self) -> Vec<IndexInfo> {
        let shared = self.shared();
        match &self.rules {
            Some(pending) => pending.over(&shared.indexes.all(), shared, Index::info),
            None => shared.indexes.infos(),
        }
    }

    /// The list of [`indexes`](Self::indexes), without numbers of entries and bytes.
    pub(super) fn outlines(&self) -> Vec<IndexInfo> {
        let shared = self.shared();
        match &self.rules {
            Some(pending) => pending.over(&shared.indexes.all(), shared, Index::outline),
            None => shared.indexes.outlines(),
        }
    }

    /// As [`indexes`](Self::indexes), by somebody who will change them depending on that: if
    /// another transaction changes them first, this one does not commit.
    ///
    /// # Errors
    /// [`Error::Conflict`] if that has happened already.
    pub fn indexes_to_change(&mut self) -> Result<Vec<IndexInfo>, Error> {
        let there = self.look_at_rules()?;
        let pending = self.rules.as_ref().expect("INVARIANT: it has looked");
        Ok(pending.over(&there, self.shared(), Index::info))
    }

    /// Whether it makes or drops indexes or constraints.
    #[must_use]
    pub fn changes_schema(&self) -> bool {
        self.rules.as_ref().is_some_and(|pending| pending.are_changes())
    }

    /// Whether it changes vertices or edges.
    #[must_use]
    pub fn changes_graph(&self) -> bool {
        !self.writes.is_empty()
    }

    /// What is there now, if the transaction has changed nothing yet, or its changes commute with
    /// what others have changed.
    fn look_at_rules(&mut self) -> Result<List, Error> {
        let there = self.shared().indexes.all();
        let ids: Vec<IndexId> = there.iter().map(|index| index.id).collect();
        match &mut self.rules {
            Some(pending) if !pending.commute_with(&there) => {
                return Err(Error::Conflict { object: Object::Schema });
            }
            Some(pending) => pending.seen = ids,
            rules => {
                let (dropped, made) = (Vec::new(), Vec::new());
                *rules = Some(Box::new(PendingRules { seen: ids, dropped, made }));
            }
        }
        Ok(there)
    }

    /// What is there now, to change it: what was there when the transaction last looked, since what
    /// it changes may depend on that.
    fn rules_as_seen(&mut self) -> Result<List, Error> {
        let Some(pending) = &self.rules else { return self.look_at_rules() };
        let there = self.shared().indexes.all();
        if !there.iter().map(|index| index.id).eq(pending.seen.iter().copied()) {
            return Err(Error::Conflict { object: Object::Schema });
        }
        Ok(there)
    }

    /// What is there now, to make one more: what others have made since the transaction last looked
    /// has nothing to do with it.
    fn rules_to_add(&mut self, definition: &Definition) -> Result<List, Error> {
        if let Some(pending) = &self.rules {
            let there = self.shared().indexes.all();
            let mut new = there.iter().filter(|index| !pending.seen.contains(&index.id));
            let gone = pending.seen.iter().any(|id| there.iter().all(|index| index.id != *id));
            if gone || !new.all(|index| definition.is_apart_from(&index.definition)) {
                return self.rules_as_seen();
            }
        }
        self.look_at_rules()
    }

    fn refuse_mixing(&self) -> Result<(), Error> {
        if self.changes_graph() { Err(Error::MixedChanges) } else { Ok(()) }
    }

    pub(super) fn make_rule(&mut self, definition: Definition) -> Result<(), Error> {
        index::check_shape(&self.shared().catalog, &definition)?;
        definition.properties.iter().try_for_each(|key| self.check_property_key(*key))?;
        match definition.target {
            IndexTarget::Vertices(label) => self.check_label(label)?,
            IndexTarget::Edges(ty) => self.check_edge_type(ty)?,
        }
        let there = self.rules_to_add(&definition)?;
        self.refuse_mixing()?;
        let pending = self.rules.as_mut().expect("INVARIANT: it has looked");
        // What is dropped and made again as it was stays.
        let again = there.iter().find(|index| index.definition == definition);
        if let Some(index) = again
            && let Some(at) = pending.dropped.iter().position(|id| *id == index.id)
        {
            pending.dropped.remove(at);
            return Ok(());
        }
        let kept = there.iter().filter(|index| !pending.dropped.contains(&index.id));
        let mut all = kept.map(|index| &index.definition).chain(&pending.made);
        match all.find(|other| other.name == definition.name) {
            Some(other) if *other == definition => Ok(()),
            Some(_) => Err(Error::IndexExists { name: definition.name }),
            None => {
                pending.made.push(definition);
                Ok(())
            }
        }
    }

    /// Commits changes of the schema, of which there are some.
    pub(super) fn commit_rules(
        self,
        rules: PendingRules,
        stop: &Stop<'_>,
    ) -> Result<Committed, Error> {
        self.refuse_mixing()?;
        // Nothing is read any more: what others do while indexes are built need not be kept.
        self.registration.close();
        let ts = build::change(self.shared(), rules, stop)?;
        Ok(Committed::nothing(CommitTs::from_raw(ts)))
    }
}
