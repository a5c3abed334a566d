//! Patterns: their nodes and relationships as things to be found, and conditions on them.

use std::collections::HashSet;
use std::sync::Arc;

use telar_cypher::ast::{
    self, ArrowDirection, LabelExpr, LabelExprKind, NodePattern, PathPart, PathPattern, PathSearch,
    RelationshipPattern,
};

use super::Binder;
use super::scope::Kind;
use crate::batch::Slot;
use crate::expr::{Binary, Expr};
use crate::notification::NotificationKind;
use crate::plan::{Types, Way};
use crate::query_error::{ErrorKind, QueryError};

/// What `MATCH` has to find.
#[derive(Debug, Default)]
pub(crate) struct Pattern {
    /// Slots of nodes.
    pub(crate) nodes: Vec<Slot>,
    pub(crate) relationships: Vec<Relationship>,
    /// Conditions, each to be tested as soon as all it needs is found.
    pub(crate) conditions: Vec<Expr>,
    /// Variables for paths, computed when all they need is found.
    pub(crate) paths: Vec<(Slot, Expr)>,
}

/// A relationship of a pattern.
#[derive(Debug)]
pub(crate) struct Relationship {
    pub(crate) slot: Slot,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    pub(crate) types: Types,
    pub(crate) way: Way,
    /// Several in a row: the list is in `slot`.
    pub(crate) length: Option<Length>,
    /// The variable was bound before the clause.
    pub(crate) bound: bool,
    /// Which of the other relationships it must differ from.
    pub(crate) distinct: bool,
}

#[derive(Debug)]
pub(crate) struct Length {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// What each one must satisfy.
    pub(crate) filter: Option<(Slot, Expr)>,
    pub(crate) shortest: Option<Shortest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortest {
    One,
    All,
}

impl Binder<'_> {
    /// Binds the patterns of a clause, whose variables come into scope. `own` are the variables
    /// that existed before it.
    pub(crate) fn pattern(&mut self, patterns: &[PathPattern]) -> Result<Pattern, QueryError> {
        let before: HashSet<Slot> = self.scope.slots().into_iter().collect();
        let mut found = Pattern::default();
        // Variables first, so that conditions may name those of later parts.
        let mut ends: Vec<Vec<Slot>> = Vec::new();
        for path in patterns {
            ends.push(self.declare_path(path, &before, &mut found)?);
        }
        for (path, slots) in patterns.iter().zip(&ends) {
            self.bind_path(path, slots, &before, &mut found)?;
        }
        Ok(found)
    }

    /// Brings the variables of a path into scope; the slot of each part.
    fn declare_path(
        &mut self,
        path: &PathPattern,
        before: &HashSet<Slot>,
        found: &mut Pattern,
    ) -> Result<Vec<Slot>, QueryError> {
        let mut slots = Vec::new();
        for part in &path.parts {
            slots.push(match part {
                PathPart::Node(node) => self.node_slot(node, found)?,
                PathPart::Relationship(r) => self.relationship_slot(r, before)?,
                PathPart::Group(group) => {
                    let message = "quantified path patterns are not supported yet";
                    return Err(self.unsupported(message, group.span));
                }
            });
        }
        if let Some(variable) = &path.variable {
            if self.scope.find(&variable.text).is_some() {
                let message = format!("the variable `{}` exists already", variable.text);
                return Err(self.syntax("VariableAlreadyBound", message, variable.span));
            }
            let slot = self.declare(&variable.text, Kind::Path);
            found.paths.push((slot, Expr::Path(slots.clone())));
        }
        Ok(slots)
    }

    pub(crate) fn unsupported(&self, message: &str, span: telar_cypher::span::Span) -> QueryError {
        self.error(ErrorKind::NotSupported, "NotSupported", message, span)
    }

    fn node_slot(&mut self, node: &NodePattern, found: &mut Pattern) -> Result<Slot, QueryError> {
        let slot = match &node.variable {
            None => self.new_slot(),
            Some(name) => match self.scope.find(&name.text) {
                None => self.declare(&name.text, Kind::Node),
                Some(v) if v.kind.may_be(&[Kind::Node]) => v.slot,
                Some(v) => {
                    let message =
                        format!("`{}` is {}; it cannot stand for a node", name.text, v.kind.name());
                    return Err(self.syntax("VariableTypeConflict", message, name.span));
                }
            },
        };
        if !found.nodes.contains(&slot) {
            found.nodes.push(slot);
        }
        Ok(slot)
    }

    fn relationship_slot(
        &mut self,
        r: &RelationshipPattern,
        before: &HashSet<Slot>,
    ) -> Result<Slot, QueryError> {
        let Some(name) = &r.variable else { return Ok(self.new_slot()) };
        let many = r.length.is_some();
        let wanted = if many { Kind::Relationships } else { Kind::Relationship };
        let Some(variable) = self.scope.find(&name.text) else {
            return Ok(self.declare(&name.text, wanted));
        };
        let fits = match many {
            true => variable.kind.may_be(&[Kind::Relationships, Kind::List]),
            false => variable.kind.may_be(&[Kind::Relationship]),
        };
        if !fits {
            let message = format!(
                "`{}` is {}; it cannot stand for {}",
                name.text,
                variable.kind.name(),
                wanted.name()
            );
            return Err(self.syntax("VariableTypeConflict", message, name.span));
        }
        if !before.contains(&variable.slot) {
            let message = format!(
                "the relationship `{}` stands twice in one pattern, which nothing matches",
                name.text
            );
            return Err(self.syntax("RelationshipUniquenessViolation", message, name.span));
        }
        Ok(variable.slot)
    }

    fn bind_path(
        &mut self,
        path: &PathPattern,
        slots: &[Slot],
        before: &HashSet<Slot>,
        found: &mut Pattern,
    ) -> Result<(), QueryError> {
        let shortest = match &path.search {
            PathSearch::All => None,
            PathSearch::ShortestPath => Some(Shortest::One),
            PathSearch::AllShortestPaths | PathSearch::AllShortest => Some(Shortest::All),
            PathSearch::Shortest(ast::Count::Literal(1)) => Some(Shortest::One),
            _ => {
                return Err(self.unsupported("this path selector is not supported yet", path.span));
            }
        };
        for (at, part) in path.parts.iter().enumerate() {
            let slot = slots[at];
            match part {
                PathPart::Node(node) => {
                    if let Some(labels) = &node.labels {
                        let labels = self.labels(labels)?;
                        let object = Box::new(Expr::Slot(slot));
                        found.conditions.push(Expr::HasLabels(object, labels));
                    }
                    self.property_conditions(node.properties.as_ref(), slot, found)?;
                    if let Some(filter) = &node.filter {
                        found.conditions.push(self.condition(filter)?);
                    }
                }
                PathPart::Relationship(r) => {
                    let ends = (slots[at - 1], slots[at + 1]);
                    self.bind_relationship(r, slot, ends, shortest, before, found)?;
                }
                PathPart::Group(_) => {}
            }
        }
        if shortest.is_some() && path.parts.len() != 3 {
            let message = "a shortest path is asked for with one relationship pattern";
            return Err(self.syntax("InvalidPathPattern", message, path.span));
        }
        Ok(())
    }

    fn bind_relationship(
        &mut self,
        r: &RelationshipPattern,
        slot: Slot,
        (from, to): (Slot, Slot),
        shortest: Option<Shortest>,
        before: &HashSet<Slot>,
        found: &mut Pattern,
    ) -> Result<(), QueryError> {
        if r.quantifier.is_some() {
            let message = "quantified relationships are not supported yet; use *min..max";
            return Err(self.unsupported(message, r.span));
        }
        let way = match r.direction {
            ArrowDirection::Right => Way::Out,
            ArrowDirection::Left => Way::In,
            ArrowDirection::Either => Way::Both,
        };
        let types = self.types(r.types.as_ref())?;
        let length = match (&r.length, shortest) {
            (None, None) => None,
            (None, Some(shortest)) => Some((1, Some(1), Some(shortest))),
            (Some(length), shortest) => Some((length.min.unwrap_or(1), length.max, shortest)),
        };
        let bound = before.contains(&slot);
        let length = match length {
            None => {
                self.property_conditions(r.properties.as_ref(), slot, found)?;
                if let Some(filter) = &r.filter {
                    found.conditions.push(self.condition(filter)?);
                }
                None
            }
            Some((min, max, shortest)) => {
                let each = self.new_slot();
                let mut conditions = Pattern::default();
                self.property_conditions(r.properties.as_ref(), each, &mut conditions)?;
                if let Some(filter) = &r.filter {
                    let name = r.variable.as_ref();
                    let condition = self.inner_scope(|b| {
                        if let Some(name) = name {
                            b.scope.variables.retain(|v| *v.name != *name.text);
                            b.scope.variables.push(super::scope::Variable {
                                name: name.text.as_ref().into(),
                                slot: each,
                                kind: Kind::Relationship,
                            });
                        }
                        b.condition(filter)
                    })?;
                    conditions.conditions.push(condition);
                }
                let conditions = conditions.conditions;
                let filter = (!conditions.is_empty()).then(|| (each, Expr::all(conditions)));
                Some(Length { min, max, filter, shortest })
            }
        };
        let distinct = shortest.is_none();
        let relationship = Relationship { slot, from, to, types, way, length, bound, distinct };
        found.relationships.push(relationship);
        Ok(())
    }

    pub(crate) fn types(&mut self, types: Option<&LabelExpr>) -> Result<Types, QueryError> {
        fn names(labels: &LabelExpr) -> Option<Vec<&ast::Name>> {
            match &labels.kind {
                LabelExprKind::Label(name) => Some(vec![name]),
                LabelExprKind::Or(parts) => {
                    let parts: Option<Vec<_>> = parts.iter().map(names).collect();
                    parts.map(|parts| parts.concat())
                }
                _ => None,
            }
        }
        Ok(match types {
            None => Types::Any,
            Some(labels) => match names(labels) {
                Some(names) => {
                    for name in &names {
                        self.reads_name(NotificationKind::UnknownType, name);
                    }
                    Types::Of(names.iter().map(|name| name.text.as_ref().into()).collect())
                }
                None => Types::Where(self.labels(labels)?),
            },
        })
    }

    /// Conditions that a property map in a pattern stands for.
    fn property_conditions(
        &mut self,
        properties: Option<&ast::Expr>,
        slot: Slot,
        found: &mut Pattern,
    ) -> Result<(), QueryError> {
        let Some(properties) = properties else { return Ok(()) };
        match &properties.kind {
            ast::ExprKind::Map(entries) => {
                for entry in entries {
                    self.reads_name(NotificationKind::UnknownPropertyKey, &entry.key);
                    let key: Arc<str> = entry.key.text.as_ref().into();
                    let property = Expr::Property(Box::new(Expr::Slot(slot)), key);
                    let value = self.expression(&entry.value)?;
                    let equal = Expr::Binary(Binary::Equal, Box::new(property), Box::new(value));
                    found.conditions.push(equal);
                }
                Ok(())
            }
            _ => {
                let message = "a parameter cannot stand for all properties in a pattern; \
                               name each: {key: $parameter.key}";
                Err(self.syntax("InvalidParameterUse", message, properties.span))
            }
        }
    }
}
