//! What a live algorithm computes, and of which part of the graph; as a value and as JSON.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use telar_algo::live::pagerank;
use telar_graph::{Graph, Value, ValueMap};
use telar_query::QueryError;
use telar_query::cypher::suggest::closest;

use crate::algorithms::config::{Config, wrong};
use crate::algorithms::selection::{Orientation, Resolved, Selection};

/// Algorithms that can be kept up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    PageRank,
    Components,
    Degree,
    Triangles,
    Cores,
}

/// Names, as those of the procedures that compute the same from scratch.
const NAMES: [(&str, Algorithm); 5] = [
    ("pageRank", Algorithm::PageRank),
    ("wcc", Algorithm::Components),
    ("degree", Algorithm::Degree),
    ("triangleCount", Algorithm::Triangles),
    ("kcore", Algorithm::Cores),
];

impl Algorithm {
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, of)| *of == self).map_or("", |(name, _)| name)
    }

    fn find(of: &str, name: &str) -> Result<Self, QueryError> {
        let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, algorithm)| *algorithm).ok_or_else(|| {
            let names = NAMES.map(|(name, _)| name);
            let near = closest(name, names);
            let hint = near.map_or_else(
                || format!("those that can be live are {}", names.join(", ")),
                |near| format!("did you mean {near}?"),
            );
            wrong(format!("{of} has no algorithm {name}; {hint}"))
        })
    }

    /// True if relationships are followed in both directions, whatever was chosen.
    pub(super) fn follows_both(self) -> bool {
        matches!(self, Self::Components | Self::Triangles | Self::Cores)
    }
}

/// A live algorithm as it was asked for.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) name: Arc<str>,
    /// Number of its file, which is given once.
    pub(super) number: u64,
    pub(super) algorithm: Algorithm,
    pub(super) selection: Selection,
    /// Settings of PageRank; the others have none.
    pub(super) settings: pagerank::Settings,
}

/// Settings that choose the graph.
const GRAPH: [&str; 3] = ["nodes", "relationships", "orientation"];
/// Settings of PageRank.
const RANKING: [&str; 2] = ["dampingFactor", "tolerance"];
/// Settings that other algorithms know, and live ones refuse.
const REFUSED: [&str; 6] =
    ["weight", "defaultWeight", "pairs", "relationshipWeightProperty", "sourceNodes", "graph"];

impl Definition {
    /// The definition that the arguments of `algo.live.create` make.
    pub(super) fn new(
        of: &str,
        name: &Arc<str>,
        algorithm: &str,
        settings: &ValueMap,
    ) -> Result<Self, QueryError> {
        if name.trim().is_empty() {
            return Err(wrong(format!("the name of {of} is empty")));
        }
        let algorithm = Algorithm::find(of, algorithm)?;
        if let Some(key) = REFUSED.iter().find(|key| settings.contains_key(**key)) {
            let message = format!("{of} does not support {key}: live algorithms have no weights");
            let of_graph = format!("{of} takes nodes, relationships and orientation, not {key}");
            return Err(wrong(if key.contains("eight") { message } else { of_graph }));
        }
        let own: &[&'static str] = if algorithm == Algorithm::PageRank { &RANKING } else { &[] };
        let config = Config::new(of, settings, &[&GRAPH, own, &["concurrency"]])?;
        let graph = settings.iter().filter(|(key, _)| GRAPH.contains(&&***key));
        let graph: ValueMap = graph.map(|(k, v)| (Arc::clone(k), v.clone())).collect();
        let selection = Selection::of_map(of, &graph)?;
        if !selection.merged.is_empty() {
            return Err(wrong(format!("{of} does not support aggregation of relationships")));
        }
        let has_weight = |settings: &Value| matches!(settings, Value::Map(settings) if settings.contains_key("properties"));
        if matches!(settings.get("relationships"), Some(Value::Map(types))
            if types.values().any(has_weight))
        {
            return Err(wrong(format!("{of} does not support weights of relationships")));
        }
        let default = pagerank::Settings::default();
        let settings = pagerank::Settings {
            damping: config.float("dampingFactor", default.damping)?,
            tolerance: config.float("tolerance", default.tolerance)?,
        };
        settings.check().map_err(|error| {
            let message = error.to_string().replace("damping ", "dampingFactor ");
            wrong(format!("{of}: {message}"))
        })?;
        Ok(Self { name: Arc::clone(name), number: 0, algorithm, selection, settings })
    }

    /// Numbers for the names of labels and types.
    pub(super) fn resolve(&self, graph: &dyn Graph) -> Result<Resolved, QueryError> {
        self.selection.resolve(graph, self.algorithm.follows_both())
    }

    /// The settings, as they are shown.
    pub(super) fn configuration(&self) -> Value {
        let text = |text: &Arc<str>| Value::String(Arc::clone(text));
        let all = |texts: Vec<Value>| match texts.is_empty() {
            true => "*".into(),
            false => Value::list(texts),
        };
        let orientation = |own: Option<Orientation>| {
            own.or(self.selection.orientation).unwrap_or(Orientation::Natural)
        };
        let types = self
            .selection
            .types
            .iter()
            .map(|(ty, own)| (Arc::clone(ty), Value::from(orientation(*own).name())));
        let types: ValueMap = types.collect();
        let mut map = ValueMap::from([
            ("nodes".into(), all(self.selection.labels.iter().map(text).collect())),
            ("orientation".into(), orientation(None).name().into()),
        ]);
        let relationships = match types.is_empty() {
            true => "*".into(),
            false => Value::Map(Arc::new(types)),
        };
        map.insert("relationships".into(), relationships);
        if self.algorithm == Algorithm::PageRank {
            map.insert("dampingFactor".into(), Value::Float(self.settings.damping));
            map.insert("tolerance".into(), Value::Float(self.settings.tolerance));
        }
        Value::Map(Arc::new(map))
    }

    /// The definition as JSON. Numbers with a fraction are texts, so that none is rounded.
    pub(super) fn json(&self) -> Json {
        let name = |orientation: Option<Orientation>| orientation.map(Orientation::name);
        let types = self.selection.types.iter().map(|(ty, own)| json!([&**ty, name(*own)]));
        json!({
            "name": &*self.name,
            "number": self.number,
            "algorithm": self.algorithm.name(),
            "nodes": self.selection.labels.iter().map(|label| &**label).collect::<Vec<_>>(),
            "relationships": types.collect::<Vec<_>>(),
            "orientation": name(self.selection.orientation),
            "damping": format!("{:?}", self.settings.damping),
            "tolerance": format!("{:?}", self.settings.tolerance),
        })
    }

    /// The definition that JSON says; nothing if that is none.
    pub(super) fn of_json(json: &Json) -> Option<Self> {
        let orientation = |json: &Json| match json {
            Json::Null => Some(None),
            Json::String(name) => Orientation::find(name).map(Some),
            _ => None,
        };
        let float = |key: &str| json.get(key)?.as_str()?.parse::<f64>().ok();
        let labels = json.get("nodes")?.as_array()?.iter();
        let types = json.get("relationships")?.as_array()?.iter();
        let types = types.map(|ty| Some((ty.get(0)?.as_str()?.into(), orientation(ty.get(1)?)?)));
        let selection = Selection {
            labels: labels.map(|label| label.as_str().map(Arc::from)).collect::<Option<_>>()?,
            types: types.collect::<Option<_>>()?,
            orientation: orientation(json.get("orientation")?)?,
            ..Selection::default()
        };
        Some(Self {
            name: json.get("name")?.as_str()?.into(),
            number: json.get("number")?.as_u64()?,
            algorithm: Algorithm::find("", json.get("algorithm")?.as_str()?).ok()?,
            selection,
            settings: pagerank::Settings {
                damping: float("damping")?,
                tolerance: float("tolerance")?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_the_same_after_json() {
        let types =
            ValueMap::from([("K".into(), "UNDIRECTED".into()), ("L".into(), "NATURAL".into())]);
        let settings = ValueMap::from([
            ("nodes".into(), Value::list(["A", "B"])),
            ("relationships".into(), Value::Map(Arc::new(types))),
            ("orientation".into(), "REVERSE".into()),
            ("dampingFactor".into(), Value::Float(0.1 + 0.2)),
        ]);
        let made = Definition::new("x", &"ranks".into(), "PAGERANK", &settings);
        let made = made.map_err(|error| error.to_string());
        match made {
            Ok(made) => {
                let text = made.json().to_string();
                let read = serde_json::from_str(&text).ok().and_then(|j| Definition::of_json(&j));
                assert_eq!(read.map(|read| read.json().to_string()), Some(text));
            }
            Err(error) => panic!("{error}"),
        }
    }
}
