//! Names, indexes and constraints as queries ask for them, and how a new name is made.

use telar_graph::name::NameKind;
use telar_graph::rule::{Rule, RuleKind, RuleState};
use telar_graph::update::{IndexedObjects, ReadableIndex};
use telar_graph::{EdgeTypeId, LabelId, PropertyKeyId, Schema};

use crate::catalog::{Catalog, EdgeOrder, EdgeTypeOptions};
use crate::error::Error;
use crate::index::{ConstraintKind, IndexInfo, IndexKind, IndexState, IndexTarget};
use crate::shared::Shared;
use crate::snapshot::Reader;
use crate::transaction::Transaction;
use crate::txn::record;

impl Shared {
    /// The number of a label or property key, made and logged if there is none. It is on disk no
    /// later than any commit that uses it.
    pub(crate) fn add_name(&self, kind: NameKind, name: &str) -> Result<u16, Error> {
        let catalog = &self.catalog;
        if let Some(id) = catalog.find(kind, name) {
            return Ok(id);
        }
        let _making = catalog.making.lock();
        if let Some(id) = catalog.find(kind, name) {
            return Ok(id);
        }
        let number = catalog.check_new(kind, name)?;
        self.log_name(&record::encode_name(kind, number, name), || catalog.add(kind, name))
    }

    /// The number of an edge type, made with these options and logged if there is none.
    pub(crate) fn add_edge_type(
        &self,
        name: &str,
        options: EdgeTypeOptions,
    ) -> Result<EdgeTypeId, Error> {
        let catalog = &self.catalog;
        let existing = |id: EdgeTypeId| match catalog.edge_type(id)?.options == options {
            true => Ok(id),
            false => Err(Error::EdgeTypeExists { name: name.to_owned() }),
        };
        if let Some(id) = catalog.find_edge_type(name) {
            return existing(id);
        }
        let _making = catalog.making.lock();
        if let Some(id) = catalog.find_edge_type(name) {
            return existing(id);
        }
        let number = catalog.check_new_edge_type(name)?;
        if let EdgeOrder::NewestFirst(key) = options.order {
            catalog.check_property_key(key)?;
        }
        // Before the timestamp is taken: a commit that deletes may wait for that of others.
        let changing = catalog.change_lists();
        let add = || catalog.add_edge_type_while(&changing, name, options);
        self.log_name(&record::encode_edge_type(number, name, options), add)
    }

    /// Every index and constraint.
    fn rules(&self) -> Vec<Rule> {
        self.indexes.infos().into_iter().map(rule).collect()
    }

    /// The number of an edge type; if there is none, one is made for any edges.
    pub(crate) fn some_edge_type(&self, name: &str) -> Result<EdgeTypeId, Error> {
        // A type that a bulk load or a program made has the options it was made with.
        match self.catalog.find_edge_type(name) {
            Some(ty) => Ok(ty),
            None => match self.add_edge_type(name, EdgeTypeOptions::general()) {
                Err(Error::EdgeTypeExists { .. }) => self.some_edge_type(name),
                made => made,
            },
        }
    }

    /// Indexes with entries that a snapshot at `read_ts` can read.
    fn readable_indexes(&self, read_ts: u64) -> Vec<ReadableIndex> {
        let guard = crossbeam_epoch::pin();
        let readable = |id| self.indexes.readable(id, read_ts, &guard).is_ok();
        // Every query asks this: no counting of entries, as `infos` does.
        let all = self.indexes.all();
        all.iter()
            .filter(|index| index.definition.kind.has_entries() && readable(index.id))
            .map(|index| ReadableIndex {
                id: index.id,
                objects: objects(index.definition.target),
                properties: index.definition.properties.clone(),
                kind: rule_kind(index.definition.kind),
            })
            .collect()
    }
}

fn objects(target: IndexTarget) -> IndexedObjects {
    match target {
        IndexTarget::Vertices(label) => IndexedObjects::Vertices(label),
        IndexTarget::Edges(ty) => IndexedObjects::Edges(ty),
    }
}

fn rule_kind(kind: IndexKind) -> RuleKind {
    match kind {
        IndexKind::Range => RuleKind::Range,
        IndexKind::Text => RuleKind::Text,
        IndexKind::Point => RuleKind::Point,
        IndexKind::Constraint(ConstraintKind::Unique) => RuleKind::Unique,
        IndexKind::Constraint(ConstraintKind::Key) => RuleKind::Key,
        IndexKind::Constraint(ConstraintKind::Exists) => RuleKind::Exists,
        IndexKind::Constraint(ConstraintKind::Type(ty)) => RuleKind::Typed(ty),
    }
}

/// An index or constraint as queries list it.
pub(crate) fn rule(info: IndexInfo) -> Rule {
    Rule {
        id: info.id,
        name: info.name,
        objects: objects(info.target),
        properties: info.properties,
        kind: rule_kind(info.kind),
        state: match info.state {
            IndexState::Building { done, total } => RuleState::Building { done, total },
            IndexState::Online => RuleState::Online,
            IndexState::Pending => RuleState::Pending,
        },
    }
}

impl Schema for Reader<'_> {
    fn find_label(&self, name: &str) -> Option<LabelId> {
        self.shared.catalog.find(NameKind::Label, name).map(LabelId::from_raw)
    }

    fn find_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.shared.catalog.find_edge_type(name)
    }

    fn find_property_key(&self, name: &str) -> Option<PropertyKeyId> {
        self.shared.catalog.find(NameKind::PropertyKey, name).map(PropertyKeyId::from_raw)
    }

    fn label_names(&self) -> Vec<String> {
        self.shared.catalog.all_names(NameKind::Label)
    }

    fn edge_type_names(&self) -> Vec<String> {
        self.shared.catalog.edge_type_names()
    }

    fn property_key_names(&self) -> Vec<String> {
        self.shared.catalog.all_names(NameKind::PropertyKey)
    }

    fn readable_indexes(&self) -> Vec<ReadableIndex> {
        self.shared.readable_indexes(self.read_ts)
    }

    fn rules(&self) -> Vec<Rule> {
        self.shared.rules()
    }
}

/// Names that do not exist are remembered by a serializable transaction, as all that it reads.
impl Schema for Transaction<'_> {
    fn find_label(&self, name: &str) -> Option<LabelId> {
        let find = |catalog: &Catalog| catalog.find(NameKind::Label, name);
        self.look_for(NameKind::Label, find, Option::is_some).map(LabelId::from_raw)
    }

    fn find_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        let find = |catalog: &Catalog| catalog.find_edge_type(name);
        self.look_for(NameKind::EdgeType, find, Option::is_some)
    }

    fn find_property_key(&self, name: &str) -> Option<PropertyKeyId> {
        let find = |catalog: &Catalog| catalog.find(NameKind::PropertyKey, name);
        self.look_for(NameKind::PropertyKey, find, Option::is_some).map(PropertyKeyId::from_raw)
    }

    fn label_names(&self) -> Vec<String> {
        let all = |catalog: &Catalog| catalog.all_names(NameKind::Label);
        self.look_for(NameKind::Label, all, |_| false)
    }

    fn edge_type_names(&self) -> Vec<String> {
        self.look_for(NameKind::EdgeType, Catalog::edge_type_names, |_| false)
    }

    fn property_key_names(&self) -> Vec<String> {
        let all = |catalog: &Catalog| catalog.all_names(NameKind::PropertyKey);
        self.look_for(NameKind::PropertyKey, all, |_| false)
    }

    fn readable_indexes(&self) -> Vec<ReadableIndex> {
        self.shared().readable_indexes(self.read_ts().get())
    }

    fn rules(&self) -> Vec<Rule> {
        self.indexes().into_iter().map(rule).collect()
    }
}
