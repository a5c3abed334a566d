//! Settings of Neo4j's Graph Data Science library that calls under `gds.` may give although nothing
//! here depends on them: its clients send every setting with its default.
//!
//! A setting that only says how the library goes about its work is taken and left. One that would
//! change the result is taken with the one value that asks for what is done here, and refused with
//! any other.

use std::borrow::Cow;

use telar_graph::{Value, ValueMap};
use telar_query::QueryError;

use super::config::wrong;

/// Values that a setting may have.
#[derive(Debug, Clone, Copy)]
enum Only {
    /// Any: it is about the library's work.
    Any,
    /// This number.
    Number(f64),
    /// This text, in capitals or not.
    Text(&'static str),
    /// `false`.
    No,
}

const CENTRALITIES: &[&str] = &["pageRank", "articleRank", "eigenvector"];
const COMMUNITIES: &[&str] = &["wcc", "scc", "labelPropagation", "louvain", "leiden"];

const SETTINGS: &[(&[&str], &str, Only)] = &[
    (CENTRALITIES, "scaler", Only::Text("NONE")),
    (COMMUNITIES, "consecutiveIds", Only::No),
    (&["wcc"], "threshold", Only::Number(0.0)),
    (&["hits"], "partitioning", Only::Any),
    (&["hits"], "authProperty", Only::Text("auth")),
    (&["hits"], "hubProperty", Only::Text("hub")),
    (&["degree"], "orientation", Only::Text("NATURAL")),
    (&["bfs", "dfs"], "maxDepth", Only::Number(-1.0)),
    (&["fastRP"], "propertyRatio", Only::Number(0.0)),
    (&["randomWalk"], "walkBufferSize", Only::Any),
    (&["dag.topologicalSort"], "computeMaxDistanceFromSource", Only::Any),
    (&["nodeSimilarity"], "bottomK", Only::Number(10.0)),
    (&["nodeSimilarity"], "bottomN", Only::Number(0.0)),
    (&["nodeSimilarity"], "topN", Only::Number(0.0)),
    (&["nodeSimilarity"], "upperDegreeCutoff", Only::Number(2_147_483_647.0)),
    (&["nodeSimilarity"], "useComponents", Only::Any),
    (&["knn"], "perturbationRate", Only::Number(0.0)),
    (&["knn"], "initialSampler", Only::Any),
];

/// Settings that have another name here.
const NAMES: &[(&str, &str, &str)] = &[("hits", "hitsIterations", "maxIterations")];

impl Only {
    fn allows(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any, _) | (_, Value::Null) => true,
            (Self::Number(wanted), Value::Int(number)) => *number as f64 == wanted,
            (Self::Number(wanted), Value::Float(number)) => *number == wanted,
            (Self::Text(wanted), Value::String(text)) => wanted.eq_ignore_ascii_case(text),
            (Self::No, Value::Bool(flag)) => !flag,
            _ => false,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Any => "anything".to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("'{text}'"),
            Self::No => "false".to_owned(),
        }
    }
}

/// The settings of a call of `algorithm` in terms of those that it has, which are `own`.
pub(super) fn translated<'a>(
    of: &str,
    algorithm: &str,
    own: &[&str],
    settings: &'a ValueMap,
) -> Result<Cow<'a, ValueMap>, QueryError> {
    let mut translated = Cow::Borrowed(settings);
    for (algorithms, key, only) in SETTINGS {
        let Some(value) = settings.get(*key).filter(|_| algorithms.contains(&algorithm)) else {
            continue;
        };
        if only.allows(value) {
            translated.to_mut().remove(*key);
        } else if !own.contains(key) {
            let found = telar_query::literal(value);
            return Err(wrong(format!("{key} of {of} can only be {}, not {found}", only.text())));
        }
    }
    for (_, from, to) in NAMES.iter().filter(|(of, ..)| *of == algorithm) {
        if let Some(value) = settings.get(*from) {
            translated.to_mut().remove(*from);
            translated.to_mut().insert((*to).into(), value.clone());
        }
    }
    Ok(translated)
}
