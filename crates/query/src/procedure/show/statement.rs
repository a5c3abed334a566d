//! Commands that make indexes and constraints, as `SHOW` lists them.

use std::sync::Arc;

use telar_graph::{
    ConstraintKind, Graph, PropertyKeyId, PropertyType, SchemaKind, SchemaRule, Value,
};

use super::all_labels;
use crate::expr::print;
use crate::schema::{about, index_config};

/// The command that makes a rule.
pub(super) fn create_statement(rule: &SchemaRule, graph: &dyn Graph) -> String {
    let (nodes, label, keys) = about(rule, graph);
    let (label, name) = (print::quoted(&label), print::quoted(&rule.name));
    let (variable, pattern) = match nodes {
        true => ("n", format!("(n:{label})")),
        false => ("r", format!("()-[r:{label}]-()")),
    };
    let keys: Vec<String> =
        keys.iter().map(|key| format!("{variable}.{}", print::quoted(key))).collect();
    let keys = keys.join(", ");
    let kind = match rule.kind {
        SchemaKind::Index(kind) if kind.has_settings() => return create_parts(rule, graph),
        SchemaKind::Index(kind) => {
            let settings = options_of(rule);
            return format!(
                "CREATE {} INDEX {name} FOR {pattern} ON ({keys}){settings}",
                kind.name()
            );
        }
        SchemaKind::Constraint(kind) => kind,
    };
    let required = match (kind, nodes) {
        (ConstraintKind::Unique, _) => "UNIQUE".into(),
        (ConstraintKind::Key, true) => "NODE KEY".into(),
        (ConstraintKind::Key, false) => "RELATIONSHIP KEY".into(),
        (ConstraintKind::Exists, _) => "NOT NULL".into(),
        (ConstraintKind::Type(PropertyType::List), _) => ":: LIST<ANY>".into(),
        (ConstraintKind::Type(ty), _) => format!(":: {}", ty.name()),
    };
    format!("CREATE CONSTRAINT {name} FOR {pattern} REQUIRE ({keys}) IS {required}")
}

/// The command that makes a full-text or vector index.
fn create_parts(rule: &SchemaRule, graph: &dyn Graph) -> String {
    let Some(options) = &rule.options else { return String::new() };
    let (nodes, _, keys) = about(rule, graph);
    let labels = all_labels(rule, graph);
    let labels: Vec<String> = labels.iter().map(|label| print::quoted(label)).collect();
    let (name, labels) = (print::quoted(&options.of), labels.join("|"));
    let (variable, pattern) = match nodes {
        true => ("n", format!("(n:{labels})")),
        false => ("r", format!("()-[r:{labels}]-()")),
    };
    let listed = |keys: &[String]| {
        let key = |key: &String| format!("{variable}.{}", print::quoted(key));
        keys.iter().map(key).collect::<Vec<_>>().join(", ")
    };
    let (keys, settings) = (listed(&keys), options_of(rule));
    let Some(vector) = options.vector() else {
        return format!("CREATE FULLTEXT INDEX {name} FOR {pattern} ON EACH [{keys}]{settings}");
    };
    let names = graph.property_key_names();
    let named = |key: &PropertyKeyId| names.get(usize::from(key.get())).cloned();
    let filters: Vec<String> = vector.filters.iter().filter_map(named).collect();
    let with = match &filters[..] {
        [] => String::new(),
        filters => format!(" WITH [{}]", listed(filters)),
    };
    format!("CREATE VECTOR INDEX {name} FOR {pattern} ON ({keys}){with}{settings}")
}

/// The settings of an index as the end of the command that makes it, written as Neo4j does.
fn options_of(rule: &SchemaRule) -> String {
    let Value::Map(config) = index_config(rule) else { return String::new() };
    let setting = |(key, value): (&Arc<str>, &Value)| match value {
        Value::Bool(is) => format!("{}: {is}", print::quoted(key)),
        value => format!("{}: {}", print::quoted(key), print::literal(value)),
    };
    let settings: Vec<String> = config.iter().map(setting).collect();
    if settings.is_empty() {
        return String::new();
    }
    format!(" OPTIONS {{indexConfig: {{{}}}}}", settings.join(","))
}
