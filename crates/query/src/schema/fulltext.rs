//! `CREATE FULLTEXT INDEX`: over several labels or types and several properties, with an analyzer.
//!
//! An index over several labels or types is one rule for each, its parts, which come and go
//! together (`telar_graph::FulltextOptions`).

use std::sync::Arc;

use telar_graph::update::IndexedObjects;
use telar_graph::{FulltextOptions, IndexKind, PropertyKeyId, SchemaRule, Update, Value};
use telar_text::Analyzer;

use super::options::check_options;
use super::{Done, Lookup, generated, refuse};
use crate::error::describe;
use crate::expr::Expr;
use crate::notification::NotificationKind;
use crate::query_error::{ErrorKind, QueryError};

/// Setting: name of the analyzer.
const ANALYZER: &str = "fulltext.analyzer";

/// Setting: true if the index may lag behind. Here none does.
const EVENTUALLY_CONSISTENT: &str = "fulltext.eventually_consistent";

/// The command as bound.
#[derive(Debug, Clone)]
pub(crate) struct CreateFulltext {
    pub(crate) name: Option<Expr>,
    pub(crate) if_not_exists: bool,
    /// On nodes; otherwise on relationships.
    pub(crate) nodes: bool,
    pub(crate) labels: Vec<Arc<str>>,
    pub(crate) keys: Vec<Arc<str>>,
    pub(crate) options: Option<Expr>,
}

/// The options of a call.
#[derive(Debug, Default)]
struct Config {
    analyzer: Analyzer,
    eventually_consistent: bool,
}

impl Config {
    fn of(options: Option<&Value>) -> Result<Self, QueryError> {
        let mut config = Self::default();
        let Some(options) = options else { return Ok(config) };
        let provider = IndexKind::Fulltext.capability().provider;
        let Some(settings) = check_options(options, provider, &[])? else { return Ok(config) };
        for (key, value) in settings {
            match (&**key, value) {
                (ANALYZER, Value::String(name)) => {
                    config.analyzer = analyzer(name)?;
                }
                (EVENTUALLY_CONSISTENT, Value::Bool(is)) => config.eventually_consistent = *is,
                (ANALYZER, other) => return wrong(ANALYZER, "a STRING", other),
                (EVENTUALLY_CONSISTENT, other) => {
                    return wrong(EVENTUALLY_CONSISTENT, "a BOOLEAN", other);
                }
                _ => {
                    let message = format!(
                        "there is no setting `{key}`: there are {ANALYZER}, \
                         {EVENTUALLY_CONSISTENT}"
                    );
                    return invalid(message);
                }
            }
        }
        Ok(config)
    }
}

/// The analyzer with this name.
pub(crate) fn analyzer(name: &str) -> Result<Analyzer, QueryError> {
    if let Some(analyzer) = Analyzer::named(name) {
        return Ok(analyzer);
    }
    let known: Vec<&str> = telar_text::analyzer::ALL.iter().map(|known| known.name).collect();
    let near = telar_cypher::suggest::closest(name, known.iter().copied());
    let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    let known = known.join(", ");
    invalid(format!("there is no analyzer `{name}`{near}: there are {known}"))
}

fn invalid<T>(message: String) -> Result<T, QueryError> {
    refuse(ErrorKind::InvalidArguments, "InvalidArgumentValue", message)
}

fn wrong<T>(key: &str, wanted: &str, found: &Value) -> Result<T, QueryError> {
    invalid(format!("the setting `{key}` cannot be {}: it is {wanted}", describe(found)))
}

/// The settings of a full-text index, as `SHOW INDEXES` lists them.
pub(crate) fn config(options: &FulltextOptions) -> Value {
    Value::map([
        (ANALYZER, Value::from(options.analyzer.as_str())),
        (EVENTUALLY_CONSISTENT, options.eventually_consistent.into()),
    ])
}

/// The parts of the full-text index with this name, the first one first.
pub(crate) fn parts<'r>(rules: &'r [SchemaRule], name: &str) -> Vec<&'r SchemaRule> {
    let of = |rule: &&SchemaRule| rule.fulltext.as_ref().is_some_and(|options| options.of == name);
    let mut parts: Vec<&SchemaRule> = rules.iter().filter(of).collect();
    parts.sort_by_key(|rule| rule.fulltext.as_ref().map(|options| options.part));
    parts
}

/// True if a rule is a part that is not the first: its index is listed by that one.
pub(crate) fn is_later_part(rule: &SchemaRule) -> bool {
    rule.fulltext.as_ref().is_some_and(|options| options.part > 0)
}

impl CreateFulltext {
    /// `(:A|B {a, b})`, `()-[:T|U {a}]-()`
    pub(crate) fn pattern(&self) -> String {
        let (labels, keys) = (self.labels.join("|"), self.keys.join(", "));
        match self.nodes {
            true => format!("(:{labels} {{{keys}}})"),
            false => format!("()-[:{labels} {{{keys}}}]-()"),
        }
    }

    fn text(&self, name: &str) -> String {
        format!("Index( name='{name}', type='FULLTEXT', schema={} )", self.pattern())
    }

    pub(super) fn run(
        &self,
        name: Option<&str>,
        options: Option<&Value>,
        graph: &mut dyn Update,
    ) -> Result<Done, QueryError> {
        let config = Config::of(options)?;
        let mut objects = Vec::new();
        for label in &self.labels {
            objects.push(match self.nodes {
                true => IndexedObjects::Vertices(graph.label(label)?),
                false => IndexedObjects::Edges(graph.edge_type(label)?),
            });
        }
        let keys: Result<Vec<_>, _> = self.keys.iter().map(|key| graph.property_key(key)).collect();
        let keys = keys?;
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
            let options = FulltextOptions {
                analyzer: config.analyzer.name().to_owned(),
                eventually_consistent: config.eventually_consistent,
                of: name.clone(),
                part,
                except: except.clone(),
            };
            if let IndexedObjects::Vertices(label) = of {
                except.push(label);
            }
            let part_name = FulltextOptions::part_name(&name, part);
            let kind = IndexKind::Fulltext.into();
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
            let Some(options) = first.fulltext.as_ref().filter(|o| o.part == 0) else {
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
