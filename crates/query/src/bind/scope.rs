//! Which variables can be seen, and what is known of them before the query runs.

use std::collections::HashSet;
use std::sync::Arc;

use telar_cypher::ast::Name;
use telar_cypher::suggest::closest;

use super::Binder;
use super::types::TypeSet;
use crate::batch::Slot;
use crate::query_error::QueryError;

/// What is known of a value before the query runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    Node,
    Relationship,
    /// The relationships of a variable length.
    Relationships,
    Path,
    Bool,
    Int,
    Float,
    String,
    List,
    Map,
    /// A date, time, duration or point.
    Other,
    Null,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "a value",
            Self::Node => "a node",
            Self::Relationship => "a relationship",
            Self::Relationships => "a list of relationships",
            Self::Path => "a path",
            Self::Bool => "BOOLEAN",
            Self::Int => "INTEGER",
            Self::Float => "FLOAT",
            Self::String => "STRING",
            Self::List => "LIST",
            Self::Map => "MAP",
            Self::Other => "a temporal or spatial value",
            Self::Null => "NULL",
        }
    }

    /// Whether a value of this kind may be one of these.
    pub(crate) fn may_be(self, kinds: &[Self]) -> bool {
        matches!(self, Self::Any | Self::Null)
            || kinds.contains(&self)
            || (self == Self::Relationships && kinds.contains(&Self::List))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: Arc<str>,
    pub(crate) slot: Slot,
    pub(crate) kind: Kind,
    /// The types that its values may have.
    pub(crate) types: TypeSet,
}

impl Variable {
    /// A variable of a kind, of which no more is known.
    pub(crate) fn new(name: Arc<str>, slot: Slot, kind: Kind) -> Self {
        Self { name, slot, kind, types: TypeSet::of(kind) }
    }
}

/// The variables that can be seen, in the order they came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    pub(crate) variables: Vec<Variable>,
}

impl Scope {
    pub(crate) fn find(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().rev().find(|v| *v.name == *name)
    }

    pub(crate) fn slots(&self) -> Vec<Slot> {
        self.variables.iter().map(|v| v.slot).collect()
    }
}

impl Binder<'_> {
    /// The scope behind a projection: its items, and what a subquery sees in all of it.
    /// No two items have the same name.
    pub(crate) fn scope_behind(&self, items: impl IntoIterator<Item = Variable>) -> Scope {
        let items: Vec<Variable> = items.into_iter().collect();
        let hidden: HashSet<&Arc<str>> = items.iter().map(|v| &v.name).collect();
        let seen = self.constants.iter().filter(|v| !hidden.contains(&v.name)).cloned();
        let variables: Vec<Variable> = seen.collect();
        Scope { variables: [variables, items].concat() }
    }

    /// Runs `f` for a subquery of which `constants` are seen everywhere; `in_groups`, if its `WITH`
    /// may have them beside aggregating functions.
    pub(crate) fn with_constants<T>(
        &mut self,
        constants: Vec<Variable>,
        in_groups: bool,
        f: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let around = std::mem::replace(&mut self.constants, constants);
        let groups_around = std::mem::replace(&mut self.constants_in_groups, in_groups);
        let result = f(self);
        self.constants_in_groups = groups_around;
        self.constants = around;
        result
    }

    /// Whether a variable belongs to the query around this subquery.
    pub(crate) fn is_constant(&self, name: &str) -> bool {
        self.constants.iter().any(|v| *v.name == *name)
    }

    /// Makes a variable; one of the same name is hidden.
    pub(crate) fn declare(&mut self, name: &str, kind: Kind) -> Slot {
        let slot = self.new_slot();
        self.name_slot(slot, name);
        self.scope.variables.retain(|v| *v.name != *name);
        self.scope.variables.push(Variable::new(name.into(), slot, kind));
        slot
    }

    /// Says which types the values of a variable may have.
    pub(crate) fn narrow(&mut self, slot: Slot, types: TypeSet) {
        if let Some(variable) = self.scope.variables.iter_mut().find(|v| v.slot == slot) {
            variable.types = types;
        }
    }

    /// Makes a variable that must not exist yet.
    pub(crate) fn declare_new(&mut self, name: &Name, kind: Kind) -> Result<Slot, QueryError> {
        if self.scope.find(&name.text).is_some() {
            let message = format!("the variable `{}` exists already", name.text);
            return Err(self.syntax("VariableAlreadyBound", message, name.span));
        }
        Ok(self.declare(&name.text, kind))
    }

    pub(crate) fn variable(&self, name: &Name) -> Result<&Variable, QueryError> {
        self.scope.find(&name.text).ok_or_else(|| {
            let mut message = format!("the variable `{}` is not defined", name.text);
            let names = self.scope.variables.iter().map(|v| &*v.name);
            if let Some(near) = closest(&name.text, names) {
                message.push_str(&format!("; did you mean `{near}`?"));
            }
            self.syntax("UndefinedVariable", message, name.span)
        })
    }
}
