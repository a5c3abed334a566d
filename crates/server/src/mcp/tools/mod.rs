//! The tools, one file each, with its schemas beside its code.
//!
//! - `schema`: labels, types, properties, patterns, indexes.
//! - `query`: statements that read, and those that write.
//! - `search`: by words, by a vector, by both; `fusion` puts ranked lists together.
//! - `neighbourhood`: what is near a node; `expand` is the walk, which searches use, too.
//! - `changes`: commits since a cursor.

mod changes;
mod expand;
mod fusion;
mod neighbourhood;
mod query;
mod schema;
mod search;

use serde_json::{Map, Value as Json, json};

use super::Settings;
use super::arguments::Arguments;
use super::failure::Failure;
use super::gather::Room;
use super::graph::{Flag, Graph, Reading};
use super::past::Past;

/// Environment of a call.
pub(crate) struct Context<'c> {
    pub(crate) graph: &'c Graph,
    pub(crate) settings: &'c Settings,
    /// Set to end the call.
    pub(crate) flag: &'c Flag,
}

impl Context<'_> {
    fn read(&self, past: Option<Past>) -> Result<Reading<'_>, Failure> {
        self.graph.read(self.settings, self.flag, past)
    }

    /// Room for what a tool reads for itself, of which it shows a part.
    fn inner_room(&self) -> Room {
        let rows = self.settings.rows_max.max(1000);
        Room { rows: 10 * rows, bytes: 100 * self.settings.chars_max.max(40_000) }
    }

    /// Room for rows of an answer.
    fn room(&self) -> Room {
        Room { rows: self.settings.rows_max, bytes: self.settings.chars_max }
    }
}

/// A tool.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Its arguments: their schemas by name, and which of them are required.
    arguments: fn(&Settings) -> (Json, &'static [&'static str]),
    /// The schema of what it returns.
    output: fn() -> Json,
    /// True for a tool that is there if writes are allowed only.
    writes: bool,
    run: fn(&Context<'_>, Arguments) -> Result<Json, Failure>,
}

/// All tools.
static TOOLS: [Tool; 6] =
    [schema::TOOL, query::READ, query::WRITE, search::TOOL, neighbourhood::TOOL, changes::TOOL];

impl Tool {
    /// The tools that there are under some settings.
    pub(crate) fn all(settings: &Settings) -> impl Iterator<Item = &'static Self> + use<> {
        let allow_writes = settings.allow_writes;
        TOOLS.iter().filter(move |tool| allow_writes || !tool.writes)
    }

    pub(crate) fn find(settings: &Settings, name: &str) -> Option<&'static Self> {
        Self::all(settings).find(|tool| tool.name == name)
    }

    /// The tool as a client lists it.
    pub(crate) fn json(&self, settings: &Settings) -> Json {
        let (properties, required) = (self.arguments)(settings);
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
            "outputSchema": (self.output)(),
            "annotations": {
                "title": self.title,
                "readOnlyHint": !self.writes,
                "destructiveHint": self.writes,
                "idempotentHint": !self.writes,
                "openWorldHint": false,
            },
        })
    }

    /// The result of a call, in which errors of the tool are results, too.
    pub(crate) fn call(&self, context: &Context<'_>, arguments: Map<String, Json>) -> Json {
        match (self.run)(context, Arguments::new(arguments)) {
            Ok(structured) => json!({
                "content": [{ "type": "text", "text": structured.to_string() }],
                "structuredContent": structured,
                "isError": false,
            }),
            Err(failure) => json!({
                "content": [{ "type": "text", "text": failure.to_string() }],
                "isError": true,
            }),
        }
    }
}

/// The schema of the graph, for the resource of it.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn schema_of(context: &Context<'_>) -> Result<Json, Failure> {
    (schema::TOOL.run)(context, Arguments::new(Map::new()))
}

/// The schema of the argument that says when.
fn at_schema() -> Json {
    json!({
        "type": ["integer", "string"],
        "description": "Read the graph as it was: at a commit (the 'at' of an earlier answer), or \
            at a time, such as \"2026-11-23T09:00:00Z\". Only what the database retains can be read.",
    })
}

/// The schemas of what several tools return.
mod parts {
    use serde_json::{Value as Json, json};

    pub(super) fn at() -> Json {
        json!({ "type": "integer", "description": "The commit that was read or made" })
    }

    pub(super) fn truncated() -> Json {
        json!({ "type": "string", "description": "What was left out, and how to get it" })
    }

    pub(super) fn node() -> Json {
        json!({
            "type": "object",
            "properties": {
                "id": { "type": "string" },
                "labels": { "type": "array", "items": { "type": "string" } },
                "properties": { "type": "object" },
            },
            "required": ["id", "labels", "properties"],
        })
    }

    pub(super) fn relationship() -> Json {
        json!({
            "type": "object",
            "properties": {
                "id": { "type": "string" },
                "type": { "type": "string" },
                "from": { "type": "string" },
                "to": { "type": "string" },
                "properties": { "type": "object" },
            },
            "required": ["id", "type", "from", "to", "properties"],
        })
    }

    pub(super) fn subgraph() -> Json {
        json!({
            "type": "object",
            "properties": {
                "nodes": { "type": "array", "items": node() },
                "relationships": { "type": "array", "items": relationship() },
                "truncated": truncated(),
            },
            "required": ["nodes", "relationships"],
        })
    }
}

/// A name as Cypher writes it, whatever is in it.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Sets fields that are known.
fn set(object: &mut Json, name: &str, value: Option<impl Into<Json>>) {
    if let Some(value) = value {
        object[name] = value.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_described() {
        let settings = Settings { allow_writes: true, ..Settings::default() };
        assert_eq!(Tool::all(&settings).count(), 6);
        for tool in Tool::all(&settings) {
            let listed = tool.json(&settings);
            let properties = listed["inputSchema"]["properties"].as_object().unwrap();
            for (name, schema) in properties {
                assert!(schema["description"].is_string(), "{} {name}", tool.name);
                assert!(!schema["type"].is_null() || tool.name == "neighbourhood", "{name}");
            }
            for name in listed["inputSchema"]["required"].as_array().unwrap() {
                assert!(properties.contains_key(name.as_str().unwrap()), "{name}");
            }
            assert_eq!(listed["outputSchema"]["type"], "object");
        }
        let read_only = Settings::default();
        assert!(Tool::find(&read_only, "write_query").is_none());
        assert_eq!(Tool::all(&read_only).count(), 5);
        assert_eq!(quoted("a`b"), "`a``b`");
    }
}
