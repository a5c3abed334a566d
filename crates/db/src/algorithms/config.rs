//! Settings of one call: a map with values of known names and types.

use std::fmt::Display;
use std::thread::available_parallelism;

use telar_graph::{Value, ValueMap, VertexId};
use telar_query::cypher::suggest::closest;
use telar_query::{ErrorKind, QueryError};

/// Error about an argument of an algorithm.
pub(super) fn wrong(message: impl Into<String>) -> QueryError {
    QueryError::runtime(ErrorKind::Argument, "InvalidArgumentValue", message)
}

fn wrong_type(of: &str, key: &str, expected: &str, found: &Value) -> QueryError {
    let found = telar_query::literal(found);
    wrong(format!("{key} of {of} is {expected}, and {found} was given"))
}

/// One text, or a list of them, that `of` is given as `key`.
pub(super) fn texts<'a>(of: &str, key: &str, value: &'a Value) -> Result<Vec<&'a str>, QueryError> {
    let text = |value: &'a Value| match value {
        Value::String(text) => Ok(&**text),
        other => Err(wrong_type(of, key, "a string or a list of strings", other)),
    };
    match value {
        Value::List(texts) => texts.iter().map(text).collect(),
        one => Ok(vec![text(one)?]),
    }
}

/// Settings of one call.
#[derive(Debug)]
pub(super) struct Config<'a> {
    /// Name of the procedure, for errors.
    pub(super) of: &'a str,
    map: &'a ValueMap,
}

impl<'a> Config<'a> {
    /// Settings in `map`, all of which must be among `known`.
    pub(super) fn new(
        of: &'a str,
        map: &'a ValueMap,
        known: &[&[&'static str]],
    ) -> Result<Self, QueryError> {
        let known = || known.iter().copied().flatten().copied();
        for key in map.keys() {
            if known().any(|name| *name == **key) {
                continue;
            }
            let near = closest(key, known());
            let hint = near.map_or_else(
                || format!("it has {}", known().collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean {near}?"),
            );
            return Err(wrong(format!("{of} has no setting {key}; {hint}")));
        }
        Ok(Self { of, map })
    }

    /// All of them.
    pub(super) fn map(&self) -> &'a ValueMap {
        self.map
    }

    /// Value of a setting that was given and is not null.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// The value of a setting as `read` takes it, if the setting was given.
    pub(super) fn given<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Self, &str) -> Result<T, QueryError>,
    ) -> Result<Option<T>, QueryError> {
        self.get(key).map(|_| read(self, key)).transpose()
    }

    fn wrong_type(&self, key: &str, expected: &str, found: &Value) -> QueryError {
        wrong_type(self.of, key, expected, found)
    }

    /// Error about the value of a setting.
    pub(super) fn out_of_range(&self, key: &str, allowed: &str, found: impl Display) -> QueryError {
        wrong(format!("{key} of {} is {allowed}, and {found} was given", self.of))
    }

    /// A number.
    pub(super) fn float(&self, key: &str, default: f64) -> Result<f64, QueryError> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Float(number)) => Ok(*number),
            Some(Value::Int(number)) => Ok(*number as f64),
            Some(other) => Err(self.wrong_type(key, "a number", other)),
        }
    }

    /// An integer that is not negative and fits in `T`.
    pub(super) fn count<T: TryFrom<i64> + Into<u64>>(
        &self,
        key: &str,
        default: T,
    ) -> Result<T, QueryError> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Int(number)) => T::try_from(*number)
                .map_err(|_| self.out_of_range(key, "a count that is not negative", number)),
            Some(other) => Err(self.wrong_type(key, "an integer", other)),
        }
    }

    /// Number of threads: one for each processor at most, and unless fewer are asked for.
    pub(super) fn threads(&self) -> Result<usize, QueryError> {
        let all = available_parallelism().map_or(1, usize::from);
        let wanted = self.count::<u64>("concurrency", all as u64)?;
        Ok(usize::try_from(wanted).unwrap_or(all).min(all))
    }

    /// A truth value.
    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, QueryError> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong_type(key, "a boolean", other)),
        }
    }

    /// A text, if there is one.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, QueryError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_type(key, "a string", other)),
        }
    }

    /// One of some words, in any case.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        choices: &[(&str, T)],
        default: T,
    ) -> Result<T, QueryError> {
        let Some(text) = self.text(key)? else { return Ok(default) };
        let found = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            self.out_of_range(key, &format!("one of {}", words.join(", ")), text)
        })
    }

    /// One text, or a list of them.
    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<&'a str>>, QueryError> {
        self.get(key).map(|value| texts(self.of, key, value)).transpose()
    }

    /// A map.
    pub(super) fn entries(&self, key: &str) -> Result<Option<&'a ValueMap>, QueryError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Map(map)) => Ok(Some(map)),
            Some(other) => Err(self.wrong_type(key, "a map", other)),
        }
    }

    /// Nodes, or numbers of nodes; one of them, or a list.
    pub(super) fn nodes(&self, key: &str) -> Result<Option<Vec<VertexId>>, QueryError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let nodes = match value {
            Value::List(nodes) => nodes.iter().map(|node| self.node_of(key, node)).collect(),
            one => self.node_of(key, one).map(|node| vec![node]),
        };
        nodes.map(Some)
    }

    fn node_of(&self, key: &str, value: &Value) -> Result<VertexId, QueryError> {
        match value {
            Value::Vertex(node) => Ok(*node),
            Value::Int(number) if *number >= 0 => Ok(VertexId::from_raw(*number as u64)),
            other => Err(self.wrong_type(key, "a node, or the number of one", other)),
        }
    }

    /// A node that must be given.
    pub(super) fn node(&self, key: &str) -> Result<VertexId, QueryError> {
        match self.get(key) {
            Some(value) => self.node_of(key, value),
            None => Err(wrong(format!("{} needs {key}: a node, or the number of one", self.of))),
        }
    }
}
