//! The meta value of a checkpoint: timestamp, counters, schema.
//!
//! ```text
//!  crc u32 · version · commit timestamp
//!  · other keys stored: number, sum of checksums · next vertex
//!  · label count, names · property key count, names
//!  · edge type count, each: name, flags u8 (1 simple, 2 newest first, 4 may have edges without an
//!    ordinal though it is not simple), [key], next ordinal
//!  · label set count (from number 2), each: label count, labels
//!  · indexes ever made · index count, each: number, definition (index/spec.rs)
//!  · which keys are stored (mapped/ranges.rs)
//!  all integers are varints, a name is its length and its bytes; a number without a name has a
//!  placeholder (catalog/names.rs)
//! ```

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use telar_graph::codec::put_varint;
use telar_graph::name::NameKind;
use telar_graph::{EdgeTypeId, IndexId, LabelId};

use crate::catalog::edge_type::{FLAG_UNNUMBERED, put_edge_type_options};
use crate::catalog::placeholder;
use crate::format::reader::Reader;
use crate::index::{Definition, Index, check_definition};
use crate::mapped::ranges::Inventory;
use crate::shared::Shared;
use crate::store::progress::Totals;

/// Version of the values a checkpoint is written with.
pub(crate) const VERSION: u64 = 3;
/// From here on values are packed as they are now.
pub(crate) const VERSION_PACKED: u64 = 2;
/// Values that are not packed, and no indexes.
const VERSION_1: u64 = 1;

fn put_name(name: &str, out: &mut Vec<u8>) {
    put_varint(name.len() as u64, out);
    out.extend_from_slice(name.as_bytes());
}

/// Names that are new, with their numbers.
pub(crate) type NewNames = Vec<(u16, String)>;

/// What a bulk load adds to schema and counters with the checkpoint it is.
#[derive(Debug, Default)]
pub(crate) struct Additions {
    /// New labels, and new property keys, with their numbers.
    pub(crate) names: [NewNames; 2],
    /// New edge types.
    pub(crate) types: NewNames,
    /// Next ordinals of the edge types that get edges.
    pub(crate) ordinals: HashMap<EdgeTypeId, u32>,
    /// Types that get edges without one though they are not simple.
    pub(crate) unnumbered: HashSet<EdgeTypeId>,
}

/// Names by number, with those that are new.
fn stored_names(shared: &Shared, kind: NameKind, new: &[(u16, String)]) -> Vec<String> {
    let mut names = shared.catalog.stored_names(kind);
    for (number, name) in new {
        while names.len() <= usize::from(*number) {
            names.push(placeholder(names.len() as u16));
        }
        name.clone_into(&mut names[usize::from(*number)]);
    }
    names
}

/// Encodes the meta value of a checkpoint at `at`, with room for the checksum.
pub(crate) fn encode(
    shared: &Shared,
    at: u64,
    totals: &Totals,
    added: &Additions,
    indexes: &[Arc<Index>],
    out: &mut Vec<u8>,
) {
    out.clear();
    out.extend_from_slice(&[0; 4]);
    put_varint(VERSION, out);
    put_varint(at, out);
    put_varint(totals.keys, out);
    put_varint(totals.crcs, out);
    put_varint(shared.next_vertex.load(Ordering::Acquire), out);
    let [labels, keys] = &added.names;
    for (kind, new) in [(NameKind::Label, labels), (NameKind::PropertyKey, keys)] {
        let names = stored_names(shared, kind, new);
        put_varint(names.len() as u64, out);
        names.iter().for_each(|n| put_name(n, out));
    }
    let types = stored_names(shared, NameKind::EdgeType, &added.types);
    put_varint(types.len() as u64, out);
    for (number, name) in types.iter().enumerate() {
        let id = EdgeTypeId::from_raw(number as u16);
        let ty = shared.catalog.edge_type(id).expect("INVARIANT: every number was given out");
        put_name(name, out);
        let flags_at = out.len();
        put_edge_type_options(ty.options, out);
        if ty.has_unnumbered() || added.unnumbered.contains(&id) {
            out[flags_at] |= FLAG_UNNUMBERED;
        }
        let ordinal = added.ordinals.get(&id).copied().unwrap_or(0);
        put_varint(ordinal.max(ty.ordinal_bound()).into(), out);
    }
    let sets = shared.catalog.label_sets.stored();
    put_varint(sets.len() as u64, out);
    for set in sets {
        put_varint(set.len() as u64, out);
        set.iter().for_each(|l| put_varint(l.get().into(), out));
    }
    put_varint(shared.indexes.numbers(), out);
    put_varint(indexes.len() as u64, out);
    for index in indexes {
        put_varint(index.id.get().into(), out);
        index.definition.encode(out);
    }
    totals.inventory.encode(out);
}

/// What a meta value says beside the schema.
#[derive(Debug)]
pub(crate) struct Meta {
    /// Version of the values in the store.
    pub(crate) version: u64,
    /// Timestamp of the checkpoint.
    pub(crate) at: u64,
    /// Number of the other keys, and the sum of their checksums.
    pub(crate) totals: (u64, u64),
    /// Which keys they are; `None` before version 3.
    pub(crate) inventory: Option<Inventory>,
    /// Indexes and constraints.
    pub(crate) indexes: Vec<(IndexId, Definition)>,
}

/// Fills an empty database's schema and counters from `body`; returns the rest.
pub(crate) fn decode(body: &[u8], shared: &Shared) -> Result<Meta, String> {
    let mut r = Reader(body);
    let version = r.varint()?;
    if !(1..=VERSION).contains(&version) {
        return Err(format!("meta version {version} is not known"));
    }
    let at = r.varint()?;
    let totals = (r.varint()?, r.varint()?);
    shared.next_vertex.store(r.varint()?, Ordering::Release);
    for kind in [NameKind::Label, NameKind::PropertyKey] {
        for number in 0..r.number("name count")? {
            shared.catalog.restore(kind, &r.name()?, number)?;
        }
    }
    for number in 0..r.number("edge type count")? {
        let name = r.name()?;
        let (options, flags) = r.edge_type_options(FLAG_UNNUMBERED)?;
        let ty = shared.catalog.restore_edge_type(&name, number, options)?;
        if flags != 0 {
            ty.set_unnumbered();
        }
        ty.raise_ordinal_bound(r.number("edge ordinal")?);
    }
    for number in 0..r.varint()? {
        let count = r.varint()?;
        let labels: Result<Vec<_>, String> =
            (0..count).map(|_| Ok(LabelId::from_raw(r.number("label")?))).collect();
        if u64::from(shared.catalog.label_sets.number(&labels?)) != number + 2 {
            return Err("label sets are not in order".into());
        }
    }
    let mut indexes = Vec::new();
    if version != VERSION_1 {
        shared.indexes.raise_numbers(r.number::<u16>("index count")?.into());
        for _ in 0..r.varint()? {
            let id = IndexId::from_raw(r.number("index")?);
            let definition = Definition::decode(&mut r)?;
            check_definition(&shared.catalog, &definition).map_err(|e| e.to_string())?;
            if indexes.iter().any(|(i, _)| *i == id) {
                return Err(format!("index {id} is there twice"));
            }
            indexes.push((id, definition));
        }
    }
    let inventory = (version >= VERSION).then(|| Inventory::decode(&mut r)).transpose()?;
    r.end()?;
    Ok(Meta { version, at, totals, inventory, indexes })
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;
    use crate::IndexSpec;
    use crate::IndexTarget;
    use crate::settings::Settings;
    use telar_graph::{IndexKind, PropertyKeyId};

    fn schema() -> Shared {
        let shared = Shared::empty(Settings::default());
        shared.catalog.restore(NameKind::Label, "A", 0).unwrap();
        shared.catalog.restore(NameKind::PropertyKey, "k", 0).unwrap();
        shared
    }

    fn index(shared: &Shared) -> Arc<Index> {
        let definition = Definition::of(
            IndexKind::Range,
            IndexSpec {
                name: "i".into(),
                target: IndexTarget::Vertices(LabelId::from_raw(0)),
                properties: vec![PropertyKeyId::from_raw(0)],
            },
        );
        Index::replayed(IndexId::from_raw(3), definition, 1, &shared.catalog).unwrap()
    }

    fn totals() -> Totals {
        let mut totals = Totals::default();
        totals.put(&crate::format::key(crate::format::Kind::States, 0, 0, 0), None, 7);
        totals
    }

    #[test]
    fn indexes_and_their_number_come_back() {
        let shared = schema();
        let index = index(&shared);
        shared.indexes.add(&[Arc::clone(&index)]);
        let mut value = Vec::new();
        let totals = totals();
        encode(&shared, 9, &totals, &Additions::default(), &[Arc::clone(&index)], &mut value);
        let again = Shared::empty(Settings::default());
        let Meta { at, totals: (keys, crcs), inventory, indexes, .. } =
            decode(&value[4..], &again).unwrap();
        assert_eq!((at, keys, crcs), (9, 1, 7));
        assert_eq!(inventory.as_ref(), Some(&*totals.inventory));
        assert_eq!(indexes, [(index.id, index.definition.clone())]);
        assert_eq!(again.indexes.numbers(), 4);
        let both = [Arc::clone(&index), index];
        encode(&shared, 9, &totals, &Additions::default(), &both, &mut value);
        let twice = decode(&value[4..], &Shared::empty(Settings::default()));
        assert!(twice.unwrap_err().contains("twice"));
    }

    /// Values of format version 1 end before the indexes.
    #[test]
    fn version_1_is_read() {
        let mut value = Vec::new();
        encode(&schema(), 9, &totals(), &Additions::default(), &[], &mut value);
        assert_eq!(value[4], VERSION as u8);
        value[4] = VERSION_1 as u8;
        // Number of indexes ever made, of indexes, and one table of one range.
        value.truncate(value.len() - 2 - 7);
        let again = Shared::empty(Settings::default());
        let Meta { at, indexes, .. } = decode(&value[4..], &again).unwrap();
        assert_eq!((at, indexes.len()), (9, 0));
        assert_eq!(again.catalog.find(NameKind::Label, "A"), Some(0));
    }
}
