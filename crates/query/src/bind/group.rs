//! Quantified path patterns: `((a)-[r:T]->(b) WHERE ...){1,3}`.
//!
//! A group is a pattern of its own. It sees the variables from before the clause, the nodes outside
//! of groups in the clause, which must be found before it, and its own variables, each of which
//! stands for one node or relationship inside and for the list of them outside.

use std::collections::HashSet;

use telar_cypher::ast::{
    GroupPattern, Name, NodePattern, PathPart, Quantifier, RelationshipPattern,
};

use super::Binder;
use super::scope::Kind;
use crate::batch::Slot;
use crate::expr::conjuncts;
use crate::plan::pattern::{Group, Relationship};
use crate::plan::{Types, Way};
use crate::query_error::QueryError;

/// The relationship of a group that says nothing else: `(()-[r]->())+` is `-[r]->+`.
pub(crate) fn only_relationship(group: &GroupPattern) -> Option<&RelationshipPattern> {
    fn plain(node: &NodePattern) -> bool {
        let NodePattern { variable, labels, properties, filter, span: _ } = node;
        variable.is_none() && labels.is_none() && properties.is_none() && filter.is_none()
    }
    let [PathPart::Node(a), PathPart::Relationship(r), PathPart::Node(b)] = &group.path.parts[..]
    else {
        return None;
    };
    let single = r.quantifier.is_none() && r.length.is_none() && group.path.variable.is_none();
    (plain(a) && plain(b) && single && group.filter.is_none()).then_some(r)
}

impl Binder<'_> {
    /// Binds a group that begins at node `from`, and brings its lists into scope. Where it ends the
    /// caller says; `slot` is for the list of all its relationships. It sees what is `outside`.
    pub(crate) fn group(
        &mut self,
        group: &GroupPattern,
        times: &Quantifier,
        slot: Slot,
        from: Slot,
        outside: &HashSet<Slot>,
    ) -> Result<Relationship, QueryError> {
        self.check_group(group)?;
        let (pattern, variables) = self.inner_scope(|b| {
            b.scope.variables.retain(|v| outside.contains(&v.slot));
            let mut pattern = b.pattern(std::slice::from_ref(&group.path))?;
            if let Some(filter) = &group.filter {
                pattern.filter(conjuncts(b.condition(filter)?));
            }
            let mut variables = b.scope.variables.clone();
            variables.retain(|v| !outside.contains(&v.slot));
            Ok((pattern, variables))
        })?;
        let mut lists = Vec::new();
        for variable in variables {
            let kind = match variable.kind {
                Kind::Relationship => Kind::Relationships,
                _ => Kind::List,
            };
            lists.push((variable.slot, self.declare(&variable.name, kind)));
        }
        let (first, last) = match &pattern.relationships[..] {
            [only] => (only.from, only.to),
            [first, .., last] => (first.from, last.to),
            [] => unreachable!("INVARIANT: a group has relationships"),
        };
        let relationships = pattern.relationships.iter().map(|r| r.slot).collect();
        let (min, max) = (times.min, times.max);
        let group = Group { pattern, first, last, relationships, lists, min, max, shortest: None };
        Ok(Relationship {
            slot,
            from,
            to: from,
            types: Types::Any,
            way: Way::Out,
            length: None,
            group: Some(Box::new(group)),
            bound: false,
            distinct: true,
            clause: 0,
        })
    }

    /// What cannot be inside of a group.
    fn check_group(&self, group: &GroupPattern) -> Result<(), QueryError> {
        let refuse = |message: &str, span| Err(self.syntax("InvalidPathPattern", message, span));
        if group.path.variable.is_some() {
            let message = "a path that is repeated cannot have a variable; give it to the whole \
                           path";
            return refuse(message, group.span);
        }
        let mut relationships = 0;
        for part in &group.path.parts {
            match part {
                PathPart::Node(node) => self.check_inner_name(node.variable.as_ref())?,
                PathPart::Relationship(r) => {
                    relationships += 1;
                    self.check_inner_name(r.variable.as_ref())?;
                    if r.length.is_some() || r.quantifier.is_some() {
                        let message = "inside a path that is repeated nothing else can be";
                        return refuse(message, r.span);
                    }
                }
                PathPart::Group(inner) => {
                    let message = "a path that is repeated cannot hold another path in parentheses";
                    return refuse(message, inner.span);
                }
            }
        }
        if relationships == 0 {
            let message = "a path that is repeated needs a relationship";
            return refuse(message, group.span);
        }
        Ok(())
    }

    fn check_inner_name(&self, name: Option<&Name>) -> Result<(), QueryError> {
        let Some(name) = name.filter(|name| self.scope.find(&name.text).is_some()) else {
            return Ok(());
        };
        let message = format!(
            "the variable `{}` stands inside and outside a path that is repeated, where it would \
             mean a list; rename one",
            name.text
        );
        Err(self.syntax("VariableAlreadyBound", message, name.span))
    }
}
