//! Names, indexes and constraints as queries ask for them, and how a new name is made. Those of a
//! transaction: `transaction/names.rs`.

pub(crate) mod build;
mod sorter;

use telar_graph::name::NameKind;
use telar_graph::schema_rule::SchemaRule;
use telar_graph::update::{IndexedObjects, ReadableIndex};
use telar_graph::{EdgeTypeId, IndexId, LabelId, PropertyKeyId, Schema};

use crate::catalog::{EdgeOrder, EdgeTypeOptions, placeholder};
use crate::commit::record;
use crate::error::Error;
use crate::index::{Definition, IndexInfo, IndexTarget};
use crate::shared::Shared;
use crate::snapshot::Reader;

/// What becomes of indexes and constraints when a transaction commits.
#[derive(Debug)]
pub(crate) struct PendingRules {
    /// Those there were when it last looked.
    pub(crate) seen: Vec<IndexId>,
    /// Those of them that it drops.
    pub(crate) dropped: Vec<IndexId>,
    /// What it makes.
    pub(crate) made: Vec<Definition>,
}

impl Shared {
    /// The number of a label or property key, made and logged if there is none. It is on disk no
    /// later than any commit that uses it.
    pub(crate) fn add_name(&self, kind: NameKind, name: &str) -> Result<u16, Error> {
        self.check_may_name(kind, name)?;
        let (number, held) = self.catalog.hold(kind, name)?;
        self.make_or_release(kind, name, number, held)?;
        Ok(number)
    }

    /// The number of an edge type, made with these options and logged if there is none.
    pub(crate) fn add_edge_type(
        &self,
        name: &str,
        options: EdgeTypeOptions,
    ) -> Result<EdgeTypeId, Error> {
        let catalog = &self.catalog;
        if let EdgeOrder::NewestFirst(key) = options.order
            && catalog.find_edge_type(name).is_none()
        {
            catalog.check_property_key(key)?;
        }
        self.check_may_name(NameKind::EdgeType, name)?;
        let (number, held) = catalog.hold_edge_type(name, options)?;
        let id = EdgeTypeId::from_raw(number);
        if catalog.edge_type(id)?.options != options {
            if held {
                catalog.release(NameKind::EdgeType, name);
            }
            return Err(Error::EdgeTypeExists { name: name.to_owned() });
        }
        self.make_or_release(NameKind::EdgeType, name, number, held)?;
        Ok(id)
    }

    /// Fails if the name would be a new one and names come from a replicated log: its number would
    /// be another name's, of the leader.
    pub(crate) fn check_may_name(&self, kind: NameKind, name: &str) -> Result<(), Error> {
        match self.catalog.find(kind, name) {
            Some(_) => Ok(()),
            None => self.check_leads(),
        }
    }

    fn make_or_release(
        &self,
        kind: NameKind,
        name: &str,
        number: u16,
        held: bool,
    ) -> Result<(), Error> {
        if !held {
            return Ok(());
        }
        let _making = self.catalog.making.lock();
        let made = self.make_name(kind, name, number);
        if made.is_err() {
            self.catalog.release(kind, name);
        }
        made
    }

    /// Makes a name that the caller holds, and logs it. The caller holds `making`, too.
    pub(crate) fn make_name(&self, kind: NameKind, name: &str, number: u16) -> Result<(), Error> {
        let catalog = &self.catalog;
        if catalog.find(kind, name).is_some() {
            return Ok(());
        }
        let record = |name: &str, number: u16| match kind {
            NameKind::EdgeType => {
                let options = catalog.edge_type(EdgeTypeId::from_raw(number))?.options;
                Ok(record::encode_edge_type(number, name, options))
            }
            kind => Ok::<_, Error>(record::encode_name(kind, number, name)),
        };
        // Numbers on disk have no gaps.
        for gap in catalog.stored_len(kind)..usize::from(number) {
            let gap = gap as u16;
            let name = placeholder(gap);
            let restore = || catalog.restore(kind, &name, gap);
            self.log_name(&record(&name, gap)?, restore)?.expect("INVARIANT: it comes next");
        }
        self.log_name(&record(name, number)?, || catalog.make(kind, name, number))
    }

    /// Every index and constraint.
    fn schema_rules(&self) -> Vec<SchemaRule> {
        self.indexes.outlines().into_iter().map(rule).collect()
    }

    /// Indexes with entries that a snapshot at `read_ts` can read.
    pub(crate) fn readable_indexes(&self, read_ts: u64) -> Vec<ReadableIndex> {
        let guard = crossbeam_epoch::pin();
        let readable = |id| self.indexes.readable(id, read_ts, &guard).is_ok();
        // Every query asks this: no counting of entries, as `infos` does.
        let all = self.indexes.all();
        all.iter()
            .filter_map(|index| {
                let definition = &index.definition;
                let kind = definition.kind.index().filter(|_| readable(index.id))?;
                // No predicate asks for it: procedures do.
                if kind.capability().predicates.is_empty() {
                    return None;
                }
                Some(ReadableIndex {
                    id: index.id,
                    objects: objects(definition.target),
                    properties: definition.properties.clone(),
                    kind,
                    unique: definition.kind.is_unique(),
                })
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

/// An index or constraint as queries list it.
pub(crate) fn rule(info: IndexInfo) -> SchemaRule {
    SchemaRule {
        id: info.id,
        name: info.name,
        objects: objects(info.target),
        properties: info.properties,
        kind: info.kind,
        options: info.options,
        state: info.state,
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

    fn has_only_committed_names(&self) -> bool {
        true
    }

    fn label_names(&self) -> Vec<String> {
        self.shared.catalog.all_names(NameKind::Label)
    }

    fn edge_type_names(&self) -> Vec<String> {
        self.shared.catalog.all_names(NameKind::EdgeType)
    }

    fn property_key_names(&self) -> Vec<String> {
        self.shared.catalog.all_names(NameKind::PropertyKey)
    }

    fn readable_indexes(&self) -> Vec<ReadableIndex> {
        self.shared.readable_indexes(self.read_ts)
    }

    fn schema_rules(&self) -> Vec<SchemaRule> {
        self.shared.schema_rules()
    }
}
