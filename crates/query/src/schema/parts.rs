//! `CREATE FULLTEXT INDEX`, `CREATE VECTOR INDEX`: over several labels or types, with settings.
//!
//! An index over several labels or types is one rule for each, its parts, which come and go
//! together (`telar_graph::IndexOptions`).

use std::sync::Arc;

use telar_graph::update::IndexedObjects;
use telar_graph::{
    IndexKind, IndexOptions, IndexSettings, PropertyKeyId, SchemaRule, Update, Value,
};

use super::{Done, Lookup, fulltext, generated, refuse, vector};
use crate::expr::Expr;
use crate::notification::NotificationKind;
use crate::query_error::{ErrorKind, QueryError};

/// The command as bound.
#[derive(Debug, Clone)]
pub(crate) struct CreateParts {
    /// A kind that has settings.
    pub(crate) kind: IndexKind,
    pub(crate) name: Option<Expr>,
    pub(crate) if_not_exists: bool,
    /// On nodes; otherwise on relationships.
    pub(crate) nodes: bool,
    pub(crate) labels: Vec<Arc<str>>,
    pub(crate) keys: Vec<Arc<str>>,
    /// Properties that filters of a vector index will ask for.
    pub(crate) filters: Vec<Arc<str>>,
    pub(crate) options: Option<Expr>,
}

/// The parts of the full-text or vector index with this name, the first one first.
pub(crate) fn parts<'r>(rules: &'r [SchemaRule], name: &str) -> Vec<&'r SchemaRule> {
    let of = |rule: &&SchemaRule| rule.options.as_ref().is_some_and(|options| options.of == name);
    let mut parts: Vec<&SchemaRule> = rules.iter().filter(of).collect();
    parts.sort_by_key(|rule| rule.options.as_ref().map(|options| options.part));
    parts
}

/// True if a rule is a part that is not the first: its index is listed by that one.
pub(crate) fn is_later_part(rule: &SchemaRule) -> bool {
    rule.options.as_ref().is_some_and(|options| options.part > 0)
}

impl CreateParts {
    /// `(:A|B {a, b})`, `()-[:T|U {a}]-()`
    pub(crate) fn pattern(&self) -> String {
        let (labels, keys) = (self.labels.join("|"), self.keys.join(", "));
        match self.nodes {
            true => format!("(:{labels} {{{keys}}})"),
            false => format!("()-[:{labels} {{{keys}}}]-()"),
        }
    }

    fn text(&self, name: &str) -> String {
        let (kind, pattern) = (self.kind.name(), self.pattern());
        format!("Index( name='{name}', type='{kind}', schema={pattern} )")
    }

    fn settings(
        &self,
        options: Option<&Value>,
        graph: &mut dyn Update,
    ) -> Result<IndexSettings, QueryError> {
        Ok(match self.kind {
            IndexKind::Vector => {
                let mut settings = vector::settings(options)?;
                for key in &self.filters {
                    settings.filters.push(graph.property_key(key)?);
                }
                IndexSettings::Vector(settings)
            }
            _ => IndexSettings::Fulltext(fulltext::settings(options)?),
        })
    }

    pub(crate) fn run(
        &self,
        name: Option<&str>,
        options: Option<&Value>,
        graph: &mut dyn Update,
    ) -> Result<Done, QueryError> {
        let mut objects = Vec::new();
        for label in &self.labels {
            objects.push(match self.nodes {
                true => IndexedObjects::Vertices(graph.label(label)?),
                false => IndexedObjects::Edges(graph.edge_type(label)?),
            });
        }
        let keys: Result<Vec<_>, _> = self.keys.iter().map(|key| graph.property_key(key)).collect();
        let keys = keys?;
        let settings = self.settings(options, graph)?;
        let rules = graph.schema_rules_to_change()?;
        if let Some(there) = self.clash(name, &objects, &keys, &rules)? {
            let message = format!("`{there}` exists: the command does nothing");
            return Ok(Done::nothing(NotificationKind::RuleExists, message));
        }
        let name = match name {
            Some(name) => name.to_owned(),
            None => (0..)
                .map(|salt| generated("index", &self.text(""), salt))
                .find(|name| rules.iter().all(|rule| rule.name != *name))
                .unwrap_or_default(),
        };
        let mut except = Vec::new();
        for (part, of) in objects.into_iter().enumerate() {
            let part = part as u16;
            let (of_index, except_now) = (name.clone(), except.clone());
            let settings = settings.clone();
            let options = IndexOptions { settings, of: of_index, part, except: except_now };
            if let IndexedObjects::Vertices(label) = of {
                except.push(label);
            }
            let part_name = IndexOptions::part_name(&name, part);
            let kind = self.kind.into();
            graph.create_rule(&part_name, of, &keys, kind, Some(&options)).map_err(|e| {
                let mut error = QueryError::from(e);
                error.message = format!("Unable to create {}: {}", self.text(&name), error.message);
                error
            })?;
        }
        let mut done = Done::default();
        done.counters.indexes_added = 1;
        Ok(done)
    }

    /// What is in the way. `Ok(Some)`: the name of an index for which `IF NOT EXISTS` lets it be.
    fn clash(
        &self,
        name: Option<&str>,
        objects: &[IndexedObjects],
        keys: &[PropertyKeyId],
        rules: &[SchemaRule],
    ) -> Result<Option<String>, QueryError> {
        let is_same = |first: &&SchemaRule| {
            let is_kind = first.kind == self.kind.into();
            let Some(options) = first.options.as_ref().filter(|o| is_kind && o.part == 0) else {
                return false;
            };
            let parts = parts(rules, &options.of);
            let same_keys = first.properties.len() == keys.len()
                && first.properties.iter().all(|key| keys.contains(key));
            same_keys
                && parts.len() == objects.len()
                && parts.iter().all(|part| objects.contains(&part.objects))
        };
        let equal = rules.iter().find(is_same);
        let named = name.and_then(|name| rules.iter().find(|rule| rule.name == name));
        let lookup = name.and_then(Lookup::named);
        if self.if_not_exists {
            let is_index = |rule: &&SchemaRule| rule.kind.has_entries();
            if let Some(there) = equal.or(named.filter(is_index)) {
                return Ok(Some(there.name.clone()));
            }
            if let Some(lookup) = lookup {
                return Ok(Some(lookup.name.to_owned()));
            }
        }
        if let Some(there) = equal {
            if name.is_none_or(|name| name == there.name) {
                let text = self.text(&there.name);
                let message = format!("An equivalent index already exists, '{text}'.");
                let detail = "EquivalentSchemaRuleAlreadyExists";
                return refuse(ErrorKind::EquivalentRule, detail, message);
            }
            let pattern = self.pattern();
            let message = format!("There already exists an index {pattern}: `{}`.", there.name);
            return refuse(ErrorKind::IndexExists, "IndexAlreadyExists", message);
        }
        if let Some(there) = named {
            let (kind, detail, what) = match there.kind.is_constraint() {
                true => {
                    let detail = "ConstraintWithNameAlreadyExists";
                    (ErrorKind::ConstraintNameTaken, detail, "a constraint")
                }
                false => (ErrorKind::IndexNameTaken, "IndexWithNameAlreadyExists", "an index"),
            };
            let message = format!("There already exists {what} called '{}'.", there.name);
            return refuse(kind, detail, message);
        }
        if let Some(lookup) = lookup {
            let message = format!("There already exists an index called '{}'.", lookup.name);
            return refuse(ErrorKind::IndexNameTaken, "IndexWithNameAlreadyExists", message);
        }
        Ok(None)
    }
}
