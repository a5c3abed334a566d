//! Definitions of indexes and constraints, and their bytes.

use smallvec::SmallVec;
use telar_graph::codec::put_varint;
use telar_graph::name::{NameKind, validate_name};
use telar_graph::{
    ConstraintKind, EdgeTypeId, IndexId, IndexKind, IndexOptions, IndexState, LabelId,
    PropertyKeyId, PropertyType, SchemaKind, Value,
};
use telar_text::key::Fingerprint;

use super::key::SortKey;
use super::kind::vector::Vectors;
use super::kind::{self, Settings};
use crate::adjacency::ListKind;
use crate::catalog::Catalog;
use crate::error::{Error, Object, Violation};
use crate::format::reader::Reader;

/// Greatest number of properties of one index.
pub(crate) const KEYS_MAX: usize = telar_graph::index_kind::PROPERTIES_MAX;

/// What an index or a constraint is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexTarget {
    /// Vertices with this label.
    Vertices(LabelId),
    /// Edges of this type.
    Edges(EdgeTypeId),
}

/// An index to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its name, unique among indexes and constraints.
    pub name: String,
    /// What is indexed.
    pub target: IndexTarget,
    /// The properties, the first the most significant; an object that lacks one is not in the
    /// index.
    pub properties: Vec<PropertyKeyId>,
}

/// A constraint to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstraintSpec {
    /// Its name, unique among indexes and constraints.
    pub name: String,
    /// What must fulfil it.
    pub target: IndexTarget,
    /// The properties.
    pub properties: Vec<PropertyKeyId>,
    /// What is demanded.
    pub kind: ConstraintKind,
}

/// An index or constraint as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// Its number.
    pub id: IndexId,
    /// Its name.
    pub name: String,
    /// What it is about.
    pub target: IndexTarget,
    /// The properties.
    pub properties: Vec<PropertyKeyId>,
    /// Its kind.
    pub kind: SchemaKind,
    /// Settings of a full-text or vector index.
    pub options: Option<IndexOptions>,
    /// Its state.
    pub state: IndexState,
    /// Entries in memory, obsolete and repeated ones included that are still to be cleared. None
    /// before an index is used for the first time since the database was opened.
    pub entries: u64,
    /// Memory held, in bytes.
    pub bytes: usize,
}

/// What is stored of an index or constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) target: IndexTarget,
    pub(crate) properties: Vec<PropertyKeyId>,
    pub(crate) kind: SchemaKind,
    /// Of a full-text or vector index; no other has any.
    pub(crate) settings: Option<Box<Settings>>,
}

/// The keys of an object.
pub(crate) type Keys = SmallVec<[SortKey; 1]>;

impl From<ConstraintSpec> for Definition {
    fn from(spec: ConstraintSpec) -> Self {
        let ConstraintSpec { name, target, properties, kind } = spec;
        Self { name, target, properties, kind: kind.into(), settings: None }
    }
}

// Tags of constraints; those of indexes stand in `kind/`. None is ever given anew.
const KIND_UNIQUE: u8 = 2;
const KIND_EXISTS: u8 = 3;
const KIND_TYPE: u8 = 4;
const KIND_KEY: u8 = 5;

const TARGET_VERTICES: u8 = 1;
const TARGET_EDGES: u8 = 2;

impl Definition {
    /// True if neither keeps the other from being made, nor makes it needless: other names, and
    /// other properties or other labels or types.
    pub(crate) fn is_apart_from(&self, other: &Self) -> bool {
        let same = self.target == other.target && self.properties == other.properties;
        self.name != other.name && !same
    }

    /// The definition of an index of a kind.
    pub(crate) fn of(kind: IndexKind, spec: IndexSpec) -> Self {
        let IndexSpec { name, target, properties } = spec;
        Self { name, target, properties, kind: kind.into(), settings: None }
    }

    /// With the settings of a full-text or vector index.
    pub(crate) fn with_settings(mut self, options: Option<IndexOptions>) -> Result<Self, Error> {
        let settings = options.map(Settings::new).transpose();
        let settings =
            settings.map_err(|reason| Error::IndexSpec { name: self.name.clone(), reason })?;
        self.settings = settings.map(Box::new);
        Ok(self)
    }

    /// True of a full-text index.
    pub(crate) fn is_fulltext(&self) -> bool {
        self.kind == SchemaKind::Index(IndexKind::Fulltext)
    }

    /// Which vectors a vector index holds.
    pub(crate) fn vectors(&self) -> Option<Vectors> {
        self.settings.as_ref()?.vectors()
    }

    /// Every key of an object that has these values: one at most, but in a full-text index.
    #[inline]
    pub(crate) fn keys(&self, value: impl FnMut(PropertyKeyId) -> Value) -> Keys {
        match &self.settings {
            None => self.key(value).into_iter().collect(),
            Some(settings) => {
                let mut keys = Keys::new();
                settings.for_each_key(&self.properties, value, |key| keys.push(key));
                keys.sort_unstable();
                keys
            }
        }
    }

    /// True if an object that has these values has the key.
    #[inline]
    pub(crate) fn has_key(
        &self,
        value: impl FnMut(PropertyKeyId) -> Value,
        sought: &SortKey,
    ) -> bool {
        match &self.settings {
            None => self.key(value).as_ref() == Some(sought),
            Some(settings) => settings.has_key(&self.properties, value, sought),
        }
    }

    /// True if an object that has these values has this version of the text of a field.
    pub(crate) fn has_version(
        &self,
        value: impl FnMut(PropertyKeyId) -> Value,
        version: (u8, Fingerprint),
    ) -> bool {
        let settings = self.settings.as_ref();
        settings.is_some_and(|settings| settings.has_version(&self.properties, value, version))
    }

    /// Labels whose vertices another index holds.
    pub(crate) fn except(&self) -> &[LabelId] {
        self.settings.as_ref().map_or(&[], |settings| &settings.options.except)
    }

    /// The key of an object that has these values; `None` if it is not in the index.
    #[inline]
    pub(crate) fn key(&self, mut value: impl FnMut(PropertyKeyId) -> Value) -> Option<SortKey> {
        if let [property] = self.properties[..] {
            return self.key_of_values(&[value(property)]);
        }
        let values: SmallVec<[Value; 4]> = self.properties.iter().map(|k| value(*k)).collect();
        self.key_of_values(&values)
    }

    /// The key of these values, one for each property; `None` if they are not in the index.
    #[inline]
    pub(crate) fn key_of_values(&self, values: &[Value]) -> Option<SortKey> {
        kind::key(self.kind.index()?, values)
    }

    /// Appends name, kind, target and properties, as in log records and checkpoints.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(self.name.len() as u64, out);
        out.extend_from_slice(self.name.as_bytes());
        match self.kind {
            SchemaKind::Index(kind) => out.push(kind::tag(kind)),
            SchemaKind::Constraint(ConstraintKind::Unique) => out.push(KIND_UNIQUE),
            SchemaKind::Constraint(ConstraintKind::Exists) => out.push(KIND_EXISTS),
            SchemaKind::Constraint(ConstraintKind::Key) => out.push(KIND_KEY),
            SchemaKind::Constraint(ConstraintKind::Type(ty)) => {
                out.push(KIND_TYPE);
                put_varint(ty.number(), out);
            }
        }
        let (tag, number) = match self.target {
            IndexTarget::Vertices(label) => (TARGET_VERTICES, label.get()),
            IndexTarget::Edges(ty) => (TARGET_EDGES, ty.get()),
        };
        out.push(tag);
        put_varint(number.into(), out);
        put_varint(self.properties.len() as u64, out);
        self.properties.iter().for_each(|k| put_varint(k.get().into(), out));
        if let Some(settings) = &self.settings {
            settings.encode(out);
        }
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, String> {
        let name = r.name()?;
        let kind = match r.byte()? {
            KIND_UNIQUE => ConstraintKind::Unique.into(),
            KIND_EXISTS => ConstraintKind::Exists.into(),
            KIND_KEY => ConstraintKind::Key.into(),
            KIND_TYPE => {
                let number = r.varint()?;
                let ty = PropertyType::from_number(number)
                    .ok_or_else(|| format!("unknown property type {number}"))?;
                ConstraintKind::Type(ty).into()
            }
            tag => {
                kind::with_tag(tag).ok_or_else(|| format!("unknown kind of index {tag}"))?.into()
            }
        };
        let target = match r.byte()? {
            TARGET_VERTICES => IndexTarget::Vertices(LabelId::from_raw(r.number("label")?)),
            TARGET_EDGES => IndexTarget::Edges(EdgeTypeId::from_raw(r.number("edge type")?)),
            tag => return Err(format!("unknown target of an index {tag}")),
        };
        let count: usize = r.number("property count")?;
        if count == 0 || count > KEYS_MAX {
            return Err(format!("an index of {count} properties"));
        }
        let properties: Result<_, String> =
            (0..count).map(|_| Ok(PropertyKeyId::from_raw(r.number("property key")?))).collect();
        let settings = match kind {
            SchemaKind::Index(kind) if kind.has_settings() => {
                Some(Box::new(Settings::decode(kind, r)?))
            }
            _ => None,
        };
        Ok(Self { name, target, properties: properties?, kind, settings })
    }
}

/// Checks that an index can be made like this.
pub(crate) fn check_definition(catalog: &Catalog, definition: &Definition) -> Result<(), Error> {
    check_shape(catalog, definition)?;
    definition.properties.iter().try_for_each(|key| catalog.check_property_key(*key))?;
    match definition.target {
        IndexTarget::Vertices(label) => catalog.check_label(label),
        IndexTarget::Edges(ty) => catalog.check_edge_type(ty),
    }
}

/// As [`check_definition`], but that the names exist.
pub(crate) fn check_shape(catalog: &Catalog, definition: &Definition) -> Result<(), Error> {
    validate_name(NameKind::Index, &definition.name)?;
    let refuse = |reason: &str| {
        Err(Error::IndexSpec { name: definition.name.clone(), reason: reason.to_owned() })
    };
    let properties = &definition.properties;
    if properties.is_empty() || properties.len() > KEYS_MAX {
        return refuse("it needs 1 to 16 properties");
    }
    if let Some(kind) = definition.kind.index()
        && properties.len() > kind.capability().properties_max
    {
        return refuse(&format!("a {} index is of one property", kind.name().to_lowercase()));
    }
    let settings = definition.settings.as_ref().map(|settings| settings.kind());
    let needed = match definition.kind {
        SchemaKind::Index(kind) => Some(kind).filter(|kind| kind.has_settings()),
        SchemaKind::Constraint(_) => None,
    };
    if settings != needed {
        return refuse("fulltext and vector indexes have settings of their own, and no other has");
    }
    if properties.iter().enumerate().any(|(i, k)| properties[..i].contains(k)) {
        return refuse("it names a property twice");
    }
    match definition.target {
        IndexTarget::Edges(ty) if catalog.edge_type(ty)?.kind() == ListKind::Simple => {
            refuse("edges of a `simple` type have no properties")
        }
        _ => Ok(()),
    }
}

/// What is wrong with an object under a constraint on its values alone.
pub(crate) fn violation(
    definition: &Definition,
    object: impl Fn() -> Object,
    value: impl Fn(telar_graph::PropertyKeyId) -> Value,
) -> Option<Violation> {
    let kind = definition.kind.constraint()?;
    definition.properties.iter().find_map(|key| match kind {
        ConstraintKind::Unique => None,
        ConstraintKind::Exists | ConstraintKind::Key => {
            value(*key).is_null().then(|| Violation::Missing { object: object(), property: *key })
        }
        ConstraintKind::Type(ty) => {
            let found = value(*key);
            (!ty.admits(&found)).then(|| Violation::WrongType {
                object: object(),
                property: *key,
                expected: ty.name(),
                found: PropertyType::name_of(&found),
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use telar_graph::{FulltextSettings, IndexSettings, Similarity, VectorSettings};

    use super::*;

    fn definition(kind: impl Into<SchemaKind>, target: IndexTarget) -> Definition {
        let properties = [300, 5].map(PropertyKeyId::from_raw).to_vec();
        let kind = kind.into();
        let of = |settings| {
            let except = vec![LabelId::from_raw(3)];
            let options = IndexOptions { settings, of: "j".to_owned(), part: 1, except };
            Some(Box::new(Settings::new(options).unwrap()))
        };
        let settings = match kind {
            SchemaKind::Index(IndexKind::Fulltext) => {
                of(IndexSettings::Fulltext(FulltextSettings {
                    analyzer: "cjk".to_owned(),
                    eventually_consistent: true,
                }))
            }
            SchemaKind::Index(IndexKind::Vector) => of(IndexSettings::Vector(VectorSettings {
                dimensions: Some(768),
                similarity: Similarity::Euclidean,
                links: 16,
                effort: 100,
                quantized: true,
                filters: vec![PropertyKeyId::from_raw(5)],
            })),
            _ => None,
        };
        Definition { name: "i".into(), target, properties, kind, settings }
    }

    /// Golden bytes: a change here is a change of the format.
    #[test]
    fn definitions_have_these_bytes() {
        let vertices = IndexTarget::Vertices(LabelId::from_raw(4));
        let edges = IndexTarget::Edges(EdgeTypeId::from_raw(2));
        let cases: [(Definition, &[u8]); 9] = [
            (definition(IndexKind::Range, vertices), &[1, b'i', 1, 1, 4, 2, 0xAC, 2, 5]),
            (definition(IndexKind::Text, vertices), &[1, b'i', 6, 1, 4, 2, 0xAC, 2, 5]),
            (definition(IndexKind::Point, edges), &[1, b'i', 7, 2, 2, 2, 0xAC, 2, 5]),
            (
                definition(IndexKind::Fulltext, vertices),
                &[1, b'i', 8, 1, 4, 2, 0xAC, 2, 5, 3, b'c', b'j', b'k', 1, b'j', 1, 1, 1, 3],
            ),
            (
                definition(IndexKind::Vector, vertices),
                &[1, b'i', 9, 1, 4, 2, 0xAC, 2, 5, 1, b'j', 1, 1, 3, 0x80, 6, 1, 16, 100, 1, 1, 5],
            ),
            (definition(ConstraintKind::Unique, edges), &[1, b'i', 2, 2, 2, 2, 0xAC, 2, 5]),
            (definition(ConstraintKind::Exists, vertices), &[1, b'i', 3, 1, 4, 2, 0xAC, 2, 5]),
            (definition(ConstraintKind::Key, vertices), &[1, b'i', 5, 1, 4, 2, 0xAC, 2, 5]),
            (
                definition(ConstraintKind::Type(PropertyType::Number), vertices),
                &[1, b'i', 4, 15, 1, 4, 2, 0xAC, 2, 5],
            ),
        ];
        for (definition, bytes) in cases {
            let mut found = Vec::new();
            definition.encode(&mut found);
            assert_eq!(found, bytes);
            assert_eq!(Definition::decode(&mut Reader(bytes)), Ok(definition));
            for end in 0..bytes.len() {
                assert!(Definition::decode(&mut Reader(&bytes[..end])).is_err());
            }
        }
    }

    #[test]
    fn every_kind_comes_back_from_its_bytes() {
        let of_types = PropertyType::ALL.iter().map(|ty| ConstraintKind::Type(*ty));
        let constraints = [ConstraintKind::Unique, ConstraintKind::Exists, ConstraintKind::Key];
        let constraints = constraints.into_iter().chain(of_types).map(SchemaKind::from);
        let kinds = IndexKind::ALL.into_iter().map(SchemaKind::from).chain(constraints);
        let mut seen = std::collections::HashSet::new();
        for kind in kinds {
            let of_label = definition(kind, IndexTarget::Vertices(LabelId::from_raw(4)));
            let mut bytes = Vec::new();
            of_label.encode(&mut bytes);
            assert_eq!(Definition::decode(&mut Reader(&bytes)), Ok(of_label), "{kind:?}");
            assert!(seen.insert(bytes), "another kind has the bytes of {kind:?}");
        }
        let unknown = Definition::decode(&mut Reader(&[1, b'i', 255, 1, 4, 1, 5]));
        assert_eq!(unknown, Err("unknown kind of index 255".to_owned()));
    }
}
