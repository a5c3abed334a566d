//! Settings of vector indexes.

use telar_graph::value::DIMENSION_MAX;
use telar_graph::{IndexKind, Similarity, Value, VectorSettings};

use super::fulltext::{invalid, wrong};
use super::options::check_options;
use crate::error::describe;
use crate::query_error::QueryError;

/// Setting: numbers of a vector.
const DIMENSIONS: &str = "vector.dimensions";

/// Setting: what is ranked by.
const SIMILARITY: &str = "vector.similarity_function";

/// Setting: true if the index may be smaller than the vectors. Here it is, in any case.
const QUANTIZED: &str = "vector.quantization.enabled";

/// Setting: links of a vector.
const LINKS: &str = "vector.hnsw.m";

/// Setting: vectors that are kept in sight while links are sought.
const EFFORT: &str = "vector.hnsw.ef_construction";

const DIMENSIONS_MAX: u16 = DIMENSION_MAX as u16;
const LINKS_MAX: u16 = 512;
const EFFORT_MAX: u16 = 3200;

/// A whole number from 1 to `most`.
fn number(key: &str, value: &Value, most: u16) -> Result<u16, QueryError> {
    let found = match value {
        Value::Int(n) => u16::try_from(*n).ok(),
        // Every number of a client in JavaScript is one.
        Value::Float(n) if n.fract() == 0.0 && (0.0..65536.0).contains(n) => Some(*n as u16),
        other => return wrong(key, &format!("an INTEGER from 1 to {most}"), other),
    };
    match found.filter(|n| (1..=most).contains(n)) {
        Some(n) => Ok(n),
        None => invalid(format!(
            "the setting `{key}` cannot be {}: it is an INTEGER from 1 to {most}",
            describe(value)
        )),
    }
}

fn similarity(name: &str) -> Result<Similarity, QueryError> {
    match name.to_ascii_lowercase().as_str() {
        "cosine" => Ok(Similarity::Cosine),
        "euclidean" => Ok(Similarity::Euclidean),
        _ => invalid(format!(
            "there is no similarity function `{name}`: there are cosine, euclidean"
        )),
    }
}

/// The settings that options ask for.
pub(super) fn settings(options: Option<&Value>) -> Result<VectorSettings, QueryError> {
    let mut found = VectorSettings {
        dimensions: None,
        similarity: Similarity::Cosine,
        links: 16,
        effort: 100,
        quantized: true,
        filters: Vec::new(),
    };
    let Some(options) = options else { return Ok(found) };
    let capability = IndexKind::Vector.capability();
    let config = check_options(options, capability.provider, capability.old_providers)?;
    for (key, value) in config.into_iter().flatten() {
        match (&**key, value) {
            (DIMENSIONS, n) => found.dimensions = Some(number(DIMENSIONS, n, DIMENSIONS_MAX)?),
            (SIMILARITY, Value::String(name)) => found.similarity = similarity(name)?,
            (SIMILARITY, other) => return wrong(SIMILARITY, "a STRING", other),
            (QUANTIZED, Value::Bool(is)) => found.quantized = *is,
            (QUANTIZED, other) => return wrong(QUANTIZED, "a BOOLEAN", other),
            (LINKS, n) => found.links = number(LINKS, n, LINKS_MAX)?,
            (EFFORT, n) => found.effort = number(EFFORT, n, EFFORT_MAX)?,
            _ => {
                return invalid(format!(
                    "there is no setting `{key}`: there are {DIMENSIONS}, {SIMILARITY}, \
                     {QUANTIZED}, {LINKS}, {EFFORT}"
                ));
            }
        }
    }
    Ok(found)
}

/// The settings of a vector index, as `SHOW INDEXES` lists them.
pub(super) fn config(settings: &VectorSettings) -> Value {
    let similarity = match settings.similarity {
        Similarity::Cosine => "COSINE",
        Similarity::Euclidean => "EUCLIDEAN",
    };
    let mut config = vec![
        (SIMILARITY, Value::from(similarity)),
        (QUANTIZED, settings.quantized.into()),
        (LINKS, i64::from(settings.links).into()),
        (EFFORT, i64::from(settings.effort).into()),
    ];
    config.extend(settings.dimensions.map(|n| (DIMENSIONS, i64::from(n).into())));
    Value::map(config)
}
