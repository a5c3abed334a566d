//! A mapping: what rows of files are, and what their columns mean.
//!
//! As a file it is JSON or TOML with these names; what is left out is guessed.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use telar_db::query::QueryError;

use crate::failed;

/// Files of nodes and of relationships.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// Files of nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeFiles>,
    /// Files of relationships.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relationships: Vec<RelationshipFiles>,
}

/// Files whose rows are nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeFiles {
    /// The files, with the same columns.
    pub files: Vec<String>,
    /// Labels of all nodes.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The column by which relationships name the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Options for reading the files.
    #[serde(flatten)]
    pub options: Options,
    /// Columns that are not taken as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, ColumnMapping>,
}

/// Files whose rows are relationships.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelationshipFiles {
    /// The files, with the same columns.
    pub files: Vec<String>,
    /// Type of all relationships.
    #[serde(rename = "type")]
    pub ty: String,
    /// Start of the relationships.
    #[serde(default)]
    pub from: EndMapping,
    /// End of the relationships.
    #[serde(default)]
    pub to: EndMapping,
    /// Options for reading the files.
    #[serde(flatten)]
    pub options: Options,
    /// Columns that are not taken as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, ColumnMapping>,
}

/// One end of relationships.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndMapping {
    /// The column that names the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Label of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Their property that has the values of the column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Options for reading files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// `csv`, `parquet`, `arrow` or `json`; by name and first bytes if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// CSV: what stands between fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// CSV: whether the first record names the columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// CSV: fields that are no value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub null: Vec<String>,
}

/// The meaning of a column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnMapping {
    /// The property that it becomes; its own name if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// Type of its values: `int`, `date`, ...
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub ty: Option<String>,
    /// True if it is not read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore: bool,
}

impl Mapping {
    /// Reads a mapping file. Names of files in it are relative to its folder.
    ///
    /// # Errors
    /// If it is no JSON or TOML of this form, with line and column.
    pub fn read(path: &Path) -> Result<Self, QueryError> {
        let place = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|e| failed(&place, e))?;
        let is_toml = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
        let mut mapping: Self = match is_toml {
            true => toml::from_str(&text).map_err(|e| failed(&place, e.to_string().trim_end()))?,
            false => serde_json::from_str(&text).map_err(|e| {
                let at = format!("{place}:{}:{}", e.line(), e.column());
                let text = e.to_string();
                failed(&at, text.split(" at line ").next().unwrap_or_default())
            })?,
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let nodes = mapping.nodes.iter_mut().map(|files| &mut files.files);
        let relationships = mapping.relationships.iter_mut().map(|files| &mut files.files);
        for file in nodes.chain(relationships).flatten() {
            *file = folder.join(&*file).display().to_string();
        }
        Ok(mapping)
    }

    /// The mapping as a file of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
