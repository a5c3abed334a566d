//! Commands that make and drop indexes and constraints, as they run.
//!
//! A command says to its transaction what is to come and go, judged by what is there and what the
//! transaction did before; it happens when that commits. Names that are not given are made of what
//! the index or constraint is about, so that the same command makes the same name anywhere.

mod fulltext;
mod lookup;
mod options;
mod parts;
mod vector;

use std::sync::Arc;

pub(crate) use fulltext::analyzer;
pub(crate) use lookup::{CreateLookup, Lookup, PROVIDER as LOOKUP_PROVIDER};
pub(crate) use options::{index_config, index_provider};
pub(crate) use parts::{CreateParts, is_later_part, parts};

use telar_graph::update::IndexedObjects;
use telar_graph::{ConstraintKind, Schema, SchemaKind, SchemaRule, Update, Value};

use crate::batch::Batch;
use crate::description::PlanDescription;
use crate::exec::Exec;
use crate::exec::eval::eval;
use crate::expr::Expr;
use crate::expr::print::{self, Printer};
use crate::notification::{Notification, NotificationKind};
use crate::query_error::{ErrorKind, QueryError};
use crate::result::Counters;

/// A command as bound: names and options are expressions over parameters.
#[derive(Debug, Clone)]
pub(crate) enum SchemaCommand {
    Create(CreateRule),
    CreateParts(CreateParts),
    CreateLookup(CreateLookup),
    Drop(DropRule),
}

#[derive(Debug, Clone)]
pub(crate) struct CreateRule {
    pub(crate) name: Option<Expr>,
    pub(crate) if_not_exists: bool,
    /// On nodes; otherwise on relationships.
    pub(crate) nodes: bool,
    pub(crate) label: Arc<str>,
    pub(crate) keys: Vec<Arc<str>>,
    pub(crate) kind: SchemaKind,
    pub(crate) options: Option<Expr>,
}

#[derive(Debug, Clone)]
pub(crate) struct DropRule {
    /// Of a constraint; otherwise of an index.
    pub(crate) constraint: bool,
    pub(crate) name: Expr,
    pub(crate) if_exists: bool,
}

impl SchemaCommand {
    /// What `EXPLAIN` shows.
    pub(crate) fn describe(&self) -> PlanDescription {
        let name = |e: &Expr| match e {
            Expr::Const(Value::String(text)) => print::name(text),
            e => Printer(&[]).expr(e),
        };
        let (operator, details) = match self {
            Self::Create(c) => {
                let named = c.name.as_ref().map(|e| format!("{} ", name(e))).unwrap_or_default();
                let described = c.described();
                let ty = type_name(c.kind, c.nodes);
                let operator =
                    if c.kind.is_constraint() { "CreateConstraint" } else { "CreateIndex" };
                (operator, format!("{named}{ty} {}", described.pattern()))
            }
            Self::CreateParts(c) => {
                let named = c.name.as_ref().map(|e| format!("{} ", name(e))).unwrap_or_default();
                ("CreateIndex", format!("{named}{} {}", c.kind.name(), c.pattern()))
            }
            Self::CreateLookup(c) => {
                let named = c.name.as_ref().map(|e| format!("{} ", name(e))).unwrap_or_default();
                ("CreateIndex", format!("{named}LOOKUP {}", Lookup::target(c.nodes)))
            }
            Self::Drop(c) if c.constraint => ("DropConstraint", name(&c.name)),
            Self::Drop(c) => ("DropIndex", name(&c.name)),
        };
        PlanDescription { operator, details, ..PlanDescription::default() }
    }
}

/// What a command did to its transaction.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) counters: Counters,
    pub(crate) notifications: Vec<Notification>,
}

impl Done {
    fn nothing(kind: NotificationKind, message: String) -> Self {
        let notifications = vec![Notification::new(kind, message)];
        Self { notifications, ..Self::default() }
    }
}

impl SchemaCommand {
    /// Does it, in the transaction of `cx`.
    pub(crate) fn run(&self, cx: &mut Exec<'_>) -> Result<Done, QueryError> {
        let row = Batch::empty(1);
        let name = match self {
            Self::Create(c) => c.name.as_ref(),
            Self::CreateParts(c) => c.name.as_ref(),
            Self::CreateLookup(c) => c.name.as_ref(),
            Self::Drop(c) => Some(&c.name),
        };
        let name = match name.map(|name| eval(name, &row, cx)).transpose()?.map(|v| v.get(0)) {
            None => None,
            Some(Value::String(name)) => Some(name.to_string()),
            Some(other) => {
                return Err(QueryError::wrong_type("STRING", &other, "the name"));
            }
        };
        let options = match self {
            Self::Create(c) => c.options.as_ref(),
            Self::CreateParts(c) => c.options.as_ref(),
            Self::CreateLookup(c) => c.options.as_ref(),
            Self::Drop(_) => None,
        };
        let options = options.map(|options| eval(options, &row, cx)).transpose()?.map(|v| v.get(0));
        match self {
            Self::Create(c) => {
                options.map_or(Ok(()), |options| options::check(&options, c.kind))?;
                c.run(name.as_deref(), cx.update()?)
            }
            Self::CreateParts(c) => c.run(name.as_deref(), options.as_ref(), cx.update()?),
            Self::CreateLookup(c) => c.run(name.as_deref(), options.as_ref()),
            Self::Drop(c) => c.run(name.as_deref().unwrap_or_default(), cx.update()?),
        }
    }
}

/// An index or constraint as messages name it: `Constraint( name='x', type='UNIQUENESS', ... )`.
#[must_use]
pub fn describe(rule: &SchemaRule, names: &dyn Schema) -> String {
    let (nodes, label, keys) = about(rule, names);
    let keys: Vec<Arc<str>> = keys.into_iter().map(Arc::from).collect();
    Described { nodes, label: &label, keys: &keys, kind: rule.kind }.text(&rule.name)
}

/// Whether a rule is about nodes, the name of its label or type, and those of its properties.
pub(crate) fn about(rule: &SchemaRule, names: &dyn Schema) -> (bool, String, Vec<String>) {
    let name = |names: Vec<String>, at: u16| names.into_iter().nth(at.into()).unwrap_or_default();
    let (nodes, label) = match rule.objects {
        IndexedObjects::Vertices(label) => (true, name(names.label_names(), label.get())),
        IndexedObjects::Edges(ty) => (false, name(names.edge_type_names(), ty.get())),
    };
    let names = names.property_key_names();
    let key = |key: &telar_graph::PropertyKeyId| names[usize::from(key.get())].clone();
    (nodes, label, rule.properties.iter().map(key).collect())
}

/// What a rule is called and about, as `Constraint( name='x', type='UNIQUENESS', schema=(...) )`.
struct Described<'a> {
    nodes: bool,
    label: &'a str,
    keys: &'a [Arc<str>],
    kind: SchemaKind,
}

impl Described<'_> {
    /// `(:Label {a, b})`, `()-[:TYPE {a}]-()`
    fn pattern(&self) -> String {
        let keys = self.keys.join(", ");
        let label = self.label;
        if self.nodes {
            format!("(:{label} {{{keys}}})")
        } else {
            format!("()-[:{label} {{{keys}}}]-()")
        }
    }

    fn text(&self, name: &str) -> String {
        let what = if self.kind.is_constraint() { "Constraint" } else { "Index" };
        let ty = type_name(self.kind, self.nodes);
        format!("{what}( name='{name}', type='{ty}', schema={} )", self.pattern())
    }

    /// A name made of what it is about: FNV-1a of the description, which no version may change.
    fn generated(&self, salt: u32) -> String {
        let what = if self.kind.is_constraint() { "constraint" } else { "index" };
        generated(what, &self.text(""), salt)
    }
}

/// The name that a command without one gives to a rule on nodes; `is_taken` tells of others.
pub(crate) fn generated_name(
    (label, keys): (&str, &[Arc<str>]),
    kind: SchemaKind,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let described = Described { nodes: true, label, keys, kind };
    let names = (0..).map(|salt| described.generated(salt));
    names.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
}

/// A name made of a description.
fn generated(what: &str, text: &str, salt: u32) -> String {
    let text = format!("{text}{}", if salt == 0 { String::new() } else { salt.to_string() });
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{what}_{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
}

/// The name of a kind in `SHOW INDEXES` and `SHOW CONSTRAINTS`.
pub(crate) fn type_name(kind: SchemaKind, nodes: bool) -> &'static str {
    let kind = match kind {
        SchemaKind::Index(kind) => return kind.name(),
        SchemaKind::Constraint(kind) => kind,
    };
    match (kind, nodes) {
        (ConstraintKind::Unique, true) => "UNIQUENESS",
        (ConstraintKind::Unique, false) => "RELATIONSHIP_UNIQUENESS",
        (ConstraintKind::Key, true) => "NODE_KEY",
        (ConstraintKind::Key, false) => "RELATIONSHIP_KEY",
        (ConstraintKind::Exists, true) => "NODE_PROPERTY_EXISTENCE",
        (ConstraintKind::Exists, false) => "RELATIONSHIP_PROPERTY_EXISTENCE",
        (ConstraintKind::Type(_), true) => "NODE_PROPERTY_TYPE",
        (ConstraintKind::Type(_), false) => "RELATIONSHIP_PROPERTY_TYPE",
    }
}

fn refuse<T>(kind: ErrorKind, detail: &str, message: String) -> Result<T, QueryError> {
    Err(QueryError::runtime(kind, detail, message))
}

impl CreateRule {
    fn run(&self, name: Option<&str>, graph: &mut dyn Update) -> Result<Done, QueryError> {
        let objects = if self.nodes {
            IndexedObjects::Vertices(graph.label(&self.label)?)
        } else {
            IndexedObjects::Edges(graph.edge_type(&self.label)?)
        };
        let keys: Result<Vec<_>, _> = self.keys.iter().map(|key| graph.property_key(key)).collect();
        let keys = keys?;
        let rules = graph.schema_rules_to_change()?;
        let same = |r: &&SchemaRule| r.objects == objects && r.properties == keys;
        let about: Vec<&SchemaRule> = rules.iter().filter(same).collect();
        if let Some(there) = self.clash(name, &about, &rules)? {
            let message = format!("`{}` exists: the command does nothing", there.name);
            return Ok(Done::nothing(NotificationKind::RuleExists, message));
        }
        if let Some(there) = name.and_then(Lookup::named) {
            if self.if_not_exists && !self.kind.is_constraint() {
                let message = format!("`{}` exists: the command does nothing", there.name);
                return Ok(Done::nothing(NotificationKind::RuleExists, message));
            }
            let message = format!("There already exists an index called '{}'.", there.name);
            return refuse(ErrorKind::IndexNameTaken, "IndexWithNameAlreadyExists", message);
        }
        let described = self.described();
        let name = match name {
            Some(name) => name.to_owned(),
            None => (0..)
                .map(|salt| described.generated(salt))
                .find(|name| rules.iter().all(|r| r.name != *name))
                .unwrap_or_default(),
        };
        graph.create_rule(&name, objects, &keys, self.kind, None).map_err(|e| {
            let mut error = QueryError::from(e);
            error.message =
                format!("Unable to create {}: {}", described.text(&name), error.message);
            error
        })?;
        let mut done = Done::default();
        match self.kind.is_constraint() {
            true => done.counters.constraints_added = 1,
            false => done.counters.indexes_added = 1,
        }
        Ok(done)
    }

    fn described(&self) -> Described<'_> {
        Described { nodes: self.nodes, label: &self.label, keys: &self.keys, kind: self.kind }
    }

    /// What is in the way. `Ok(Some)`: something for which `IF NOT EXISTS` lets it be.
    fn clash<'r>(
        &self,
        name: Option<&str>,
        about: &[&'r SchemaRule],
        all: &'r [SchemaRule],
    ) -> Result<Option<&'r SchemaRule>, QueryError> {
        let constraint = self.kind.is_constraint();
        let pattern = self.described().pattern();
        let named = name.and_then(|name| all.iter().find(|r| r.name == name));
        // An index belongs to a unique constraint or a key, and has its name.
        let same_class = |r: &SchemaRule| match constraint {
            true => r.kind.is_constraint(),
            false => r.kind.has_entries(),
        };
        let equal = about.iter().copied().find(|r| match self.kind {
            // That of a constraint is one like this, too.
            SchemaKind::Index(kind) => r.kind.index() == Some(kind),
            SchemaKind::Constraint(_) => r.kind == self.kind,
        });
        if self.if_not_exists
            && let Some(there) = equal.or(named.filter(|r| same_class(r)))
        {
            return Ok(Some(there));
        }
        let equivalent = equal.filter(|r| r.kind == self.kind && name.is_none_or(|n| n == r.name));
        if let Some(there) = equivalent {
            let what = if constraint { "constraint" } else { "index" };
            let text = self.described().text(&there.name);
            let detail = "EquivalentSchemaRuleAlreadyExists";
            let message = format!("An equivalent {what} already exists, '{text}'.");
            return refuse(ErrorKind::EquivalentRule, detail, message);
        }
        if let Some(there) = equal {
            if !there.kind.is_constraint() {
                let message = format!("There already exists an index {pattern}: `{}`.", there.name);
                return refuse(ErrorKind::IndexExists, "IndexAlreadyExists", message);
            }
            let message = format!("There is a constraint on {pattern} already: `{}`.", there.name);
            return refuse(ErrorKind::ConstraintExists, "ConstraintAlreadyExists", message);
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
        for there in about {
            let name = &there.name;
            match (self.kind, there.kind) {
                (SchemaKind::Constraint(kind), SchemaKind::Index(index))
                    if kind.index() == Some(index) =>
                {
                    let message = format!(
                        "There already exists an index {pattern}: `{name}`. A constraint cannot \
                         be created until it has been dropped."
                    );
                    return refuse(ErrorKind::IndexExists, "IndexAlreadyExists", message);
                }
                (SchemaKind::Constraint(kind), SchemaKind::Constraint(there))
                    if kind.conflicts_with(there) =>
                {
                    let message =
                        format!("The constraint `{name}` on {pattern} conflicts with it.");
                    let detail = "ConstraintAlreadyExists";
                    return refuse(ErrorKind::ConstraintExists, detail, message);
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

impl DropRule {
    fn run(&self, name: &str, graph: &mut dyn Update) -> Result<Done, QueryError> {
        let rules = graph.schema_rules_to_change()?;
        let found = rules.iter().find(|r| r.name == name && !is_later_part(r));
        let found = match found {
            Some(rule) if !self.constraint && rule.kind.is_constraint() => {
                if rule.kind.has_entries() {
                    let message = format!(
                        "Unable to drop index called `{name}`. It belongs to the constraint \
                         `{name}`: drop that."
                    );
                    return refuse(ErrorKind::IndexDrop, "IndexDropFailed", message);
                }
                None
            }
            Some(rule) if self.constraint && !rule.kind.is_constraint() => None,
            found => found,
        };
        if let (None, false, Some(lookup)) = (found, self.constraint, Lookup::named(name)) {
            return lookup.refuse_drop();
        }
        if found.is_none() {
            let what = if self.constraint { "constraint" } else { "index" };
            let message = format!("there is no {what} called `{name}`");
            if self.if_exists {
                let message = format!("{message}: the command does nothing");
                return Ok(Done::nothing(NotificationKind::RuleMissing, message));
            }
            let same_kind = |r: &&SchemaRule| r.kind.is_constraint() == self.constraint;
            let names = rules.iter().filter(same_kind).map(|r| r.name.as_str());
            let help = telar_cypher::suggest::closest(name, names);
            let help = help.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let message = format!("Unable to drop {what} called `{name}`: {message}{help}");
            return match self.constraint {
                true => refuse(ErrorKind::ConstraintDrop, "ConstraintDropFailed", message),
                false => refuse(ErrorKind::IndexDrop, "IndexDropFailed", message),
            };
        }
        graph.drop_rule(name)?;
        for part in parts(&rules, name).iter().filter(|part| is_later_part(part)) {
            graph.drop_rule(&part.name)?;
        }
        let mut done = Done::default();
        match self.constraint {
            true => done.counters.constraints_removed = 1,
            false => done.counters.indexes_removed = 1,
        }
        Ok(done)
    }
}

#[test]
fn generated_names_stay_the_same() {
    use telar_graph::IndexKind;
    let keys = ["name".into(), "age".into()];
    let of = |nodes, kind| Described { nodes, label: "Person", keys: &keys, kind }.generated(0);
    assert_eq!(of(true, IndexKind::Range.into()), "index_63e1b403");
    assert_eq!(of(false, ConstraintKind::Key.into()), "constraint_ba8f3cd9");
}
