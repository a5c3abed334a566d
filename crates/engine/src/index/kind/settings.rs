//! Settings of kinds of indexes that have some: what they make of values, and their bytes.
//!
//! ```text
//!  fulltext   analyzer · index · eventually consistent u8 · part · labels of earlier parts
//!  vector     index · part · labels of earlier parts · dimensions (0: any) · similarity u8
//!             · links · effort · quantized u8 · properties of filters
//!  a text is its length and bytes; lists are their length and members; integers are varints
//! ```

use telar_graph::codec::put_varint;
use telar_graph::{
    FulltextSettings, IndexKind, IndexOptions, IndexSettings, LabelId, PropertyKeyId, Similarity,
    Value, VectorSettings,
};
use telar_text::Analyzer;
use telar_text::key::Fingerprint;
use telar_vector::{Metric, Shape};

use super::fulltext;
use super::vector::Vectors;
use crate::format::reader::Reader;
use crate::index::key::SortKey;

/// Settings of an index, ready to make keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) options: IndexOptions,
    maker: Maker,
}

/// The way in which keys are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Words(Analyzer),
    Vectors(Vectors),
}

const COSINE: u8 = 0;
const EUCLIDEAN: u8 = 1;

impl Settings {
    /// With these options, or what is wrong with them.
    pub(crate) fn new(options: IndexOptions) -> Result<Self, String> {
        let maker = match &options.settings {
            IndexSettings::Fulltext(FulltextSettings { analyzer, .. }) => {
                let found = Analyzer::named(analyzer);
                Maker::Words(found.ok_or_else(|| format!("there is no analyzer `{analyzer}`"))?)
            }
            IndexSettings::Vector(settings) => {
                if settings.links == 0 || settings.effort == 0 {
                    return Err("a vector has at least one link, found with some effort".into());
                }
                let metric = match settings.similarity {
                    Similarity::Cosine => Metric::Cosine,
                    Similarity::Euclidean => Metric::Euclidean,
                };
                Maker::Vectors(Vectors { metric, dimensions: settings.dimensions })
            }
        };
        Ok(Self { options, maker })
    }

    /// The kind of the index.
    pub(crate) fn kind(&self) -> IndexKind {
        match self.maker {
            Maker::Words(_) => IndexKind::Fulltext,
            Maker::Vectors(_) => IndexKind::Vector,
        }
    }

    /// Of a vector index, which vectors it holds.
    pub(crate) fn vectors(&self) -> Option<Vectors> {
        match self.maker {
            Maker::Words(_) => None,
            Maker::Vectors(vectors) => Some(vectors),
        }
    }

    /// Of a vector index, how its graph of neighbours is built.
    pub(crate) fn shape(&self) -> Shape {
        self.options.vector().map_or_else(Shape::default, |settings| Shape {
            degree: 2 * u32::from(settings.links),
            effort: settings.effort.into(),
        })
    }

    /// Calls `f` with each key of an object that has these values.
    pub(crate) fn for_each_key(
        &self,
        properties: &[PropertyKeyId],
        mut value: impl FnMut(PropertyKeyId) -> Value,
        mut f: impl FnMut(SortKey),
    ) {
        match self.maker {
            Maker::Words(analyzer) => fulltext::for_each_key(analyzer, properties, value, f),
            Maker::Vectors(vectors) => {
                let values = properties.iter().map(|property| value(*property));
                values.filter_map(|value| vectors.key(&value)).for_each(&mut f);
            }
        }
    }

    /// True if an object that has these values has the key.
    pub(crate) fn has_key(
        &self,
        properties: &[PropertyKeyId],
        mut value: impl FnMut(PropertyKeyId) -> Value,
        sought: &SortKey,
    ) -> bool {
        match self.maker {
            Maker::Words(_) => fulltext::has_key(properties, value, sought),
            Maker::Vectors(vectors) => properties
                .iter()
                .any(|property| vectors.key(&value(*property)).as_ref() == Some(sought)),
        }
    }

    /// True if an object that has these values has this version of the text of a field.
    pub(crate) fn has_version(
        &self,
        properties: &[PropertyKeyId],
        value: impl FnMut(PropertyKeyId) -> Value,
        version: (u8, Fingerprint),
    ) -> bool {
        matches!(self.maker, Maker::Words(_)) && fulltext::has_version(properties, value, version)
    }

    /// Appends the options.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let IndexOptions { settings, of, part, except } = &self.options;
        match settings {
            IndexSettings::Fulltext(FulltextSettings { analyzer, eventually_consistent }) => {
                put_text(analyzer, out);
                put_text(of, out);
                out.push(u8::from(*eventually_consistent));
                put_place(*part, except, out);
            }
            IndexSettings::Vector(settings) => {
                put_text(of, out);
                put_place(*part, except, out);
                put_varint(settings.dimensions.unwrap_or(0).into(), out);
                out.push(match settings.similarity {
                    Similarity::Cosine => COSINE,
                    Similarity::Euclidean => EUCLIDEAN,
                });
                put_varint(settings.links.into(), out);
                put_varint(settings.effort.into(), out);
                out.push(u8::from(settings.quantized));
                put_varint(settings.filters.len() as u64, out);
                settings.filters.iter().for_each(|key| put_varint(key.get().into(), out));
            }
        }
    }

    /// Reads what [`encode`](Self::encode) wrote, of an index of this kind.
    pub(crate) fn decode(kind: IndexKind, r: &mut Reader<'_>) -> Result<Self, String> {
        let options = match kind {
            IndexKind::Fulltext => {
                let (analyzer, of) = (r.name()?, r.name()?);
                let eventually_consistent = r.byte()? != 0;
                let (part, except) = place(r)?;
                let settings = FulltextSettings { analyzer, eventually_consistent };
                IndexOptions { settings: IndexSettings::Fulltext(settings), of, part, except }
            }
            _ => {
                let of = r.name()?;
                let (part, except) = place(r)?;
                let dimensions = Some(r.number("dimension count")?).filter(|n| *n != 0);
                let similarity = match r.byte()? {
                    COSINE => Similarity::Cosine,
                    EUCLIDEAN => Similarity::Euclidean,
                    other => return Err(format!("unknown similarity {other}")),
                };
                let (links, effort) = (r.number("link count")?, r.number("effort")?);
                let quantized = r.byte()? != 0;
                let count: usize = r.number("property count")?;
                let filters: Result<_, String> = (0..count)
                    .map(|_| Ok(PropertyKeyId::from_raw(r.number("property key")?)))
                    .collect();
                let filters = filters?;
                let settings =
                    VectorSettings { dimensions, similarity, links, effort, quantized, filters };
                IndexOptions { settings: IndexSettings::Vector(settings), of, part, except }
            }
        };
        Self::new(options)
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_varint(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

fn put_place(part: u16, except: &[LabelId], out: &mut Vec<u8>) {
    put_varint(part.into(), out);
    put_varint(except.len() as u64, out);
    except.iter().for_each(|label| put_varint(label.get().into(), out));
}

fn place(r: &mut Reader<'_>) -> Result<(u16, Vec<LabelId>), String> {
    let part = r.number("part of an index")?;
    let count: usize = r.number("label count")?;
    let except: Result<_, String> =
        (0..count).map(|_| Ok(LabelId::from_raw(r.number("label")?))).collect();
    Ok((part, except?))
}
