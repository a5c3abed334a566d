//! Patterns: their nodes and relationships as things to be found, and conditions on them.

use std::collections::HashSet;
use std::sync::Arc;

use telar_cypher::ast::{
    self, ArrowDirection, LabelExpr, LabelExprKind, NodePattern, PathPart, PathPattern, Quantifier,
    RelationshipPattern,
};

use super::Binder;
use super::group;
use super::scope::{Kind, Variable};
use super::select::Wanted;
use crate::batch::Slot;
use crate::expr::{Binary, Expr, conjuncts};
use crate::notification::NotificationKind;
use crate::plan::pattern::{Length, Pattern, Relationship, Selection, Shortest};
use crate::plan::{Types, Way};
use crate::query_error::{ErrorKind, QueryError};

/// A path whose variables are in scope.
pub(crate) struct Declared<'p> {
    pub(crate) path: &'p PathPattern,
    /// Nodes and what connects them, in turn.
    pub(crate) parts: Vec<(Slot, Part<'p>)>,
    /// Conditions of groups that are not repeated.
    pub(crate) filters: Vec<&'p ast::Expr>,
    /// What is known so far of what has to be found.
    pub(crate) found: Pattern,
}

/// A part of a path.
pub(crate) enum Part<'p> {
    /// A node; between a group and what is no node there is one that is not written down.
    Node(Option<&'p NodePattern>),
    /// A relationship, and how often it is repeated.
    Relationship(&'p RelationshipPattern, Option<&'p Quantifier>),
    /// A group that is repeated, which is bound already.
    Group,
}

/// The parentheses around a whole path of which some are wanted: `SHORTEST 1 (p = (a)--+(b))`. What
/// they hold is a condition on the paths to choose from, and may name them.
fn whole_path(path: &PathPattern) -> Option<&ast::GroupPattern> {
    let [PathPart::Group(group)] = &path.parts[..] else { return None };
    let wanted = path.search != ast::PathSearch::All && group.quantifier.is_none();
    wanted.then_some(group)
}

/// True if a group of the path is repeated.
fn repeats(path: &PathPattern) -> bool {
    path.parts.iter().any(|part| match part {
        PathPart::Group(group) => group.quantifier.is_some() || repeats(&group.path),
        _ => false,
    })
}

impl Binder<'_> {
    /// Binds the patterns of a clause, whose variables come into scope.
    pub(crate) fn pattern(&mut self, patterns: &[PathPattern]) -> Result<Pattern, QueryError> {
        let before: HashSet<Slot> = self.scope.slots().into_iter().collect();
        // Variables first, so that conditions may name those of later parts; nodes first of all, so
        // that those inside of groups may.
        let mut outside = before.clone();
        if patterns.iter().any(repeats) {
            for path in patterns {
                self.declare_nodes(path, &mut outside)?;
            }
        }
        let mut declared = Vec::new();
        for path in patterns {
            declared.push(self.declare_path(path, &before, &outside)?);
        }
        let mut found = Pattern::default();
        for path in declared {
            found.absorb(self.bind_path(path, &before)?);
        }
        Ok(found)
    }

    /// Brings the nodes of a path into scope, but for those that are repeated.
    fn declare_nodes(
        &mut self,
        path: &PathPattern,
        outside: &mut HashSet<Slot>,
    ) -> Result<(), QueryError> {
        for part in &path.parts {
            match part {
                PathPart::Node(node) if node.variable.is_some() => {
                    outside.insert(self.node_slot(node, &mut Pattern::default())?);
                }
                PathPart::Group(group) if group.quantifier.is_none() => {
                    self.declare_nodes(&group.path, outside)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Brings the variables of a path into scope.
    fn declare_path<'p>(
        &mut self,
        path: &'p PathPattern,
        before: &HashSet<Slot>,
        outside: &HashSet<Slot>,
    ) -> Result<Declared<'p>, QueryError> {
        let (parts, filters, found) = Default::default();
        let mut declared = Declared { path, parts, filters, found };
        let whole = whole_path(path);
        match whole {
            Some(group) => {
                self.declare_parts(&group.path, (before, outside), &mut declared)?;
                declared.filters.extend(&group.filter);
            }
            None => self.declare_parts(path, (before, outside), &mut declared)?,
        }
        self.node_between(&mut declared);
        let inner = whole.and_then(|group| group.path.variable.as_ref());
        for variable in path.variable.iter().chain(inner) {
            let slot = self.declare_new(variable, Kind::Path)?;
            let slots = declared.parts.iter().map(|(slot, _)| *slot).collect();
            declared.found.paths.push((slot, Expr::Path(slots)));
        }
        Ok(declared)
    }

    fn declare_parts<'p>(
        &mut self,
        path: &'p PathPattern,
        (before, outside): (&HashSet<Slot>, &HashSet<Slot>),
        declared: &mut Declared<'p>,
    ) -> Result<(), QueryError> {
        for part in &path.parts {
            let after_node = matches!(declared.parts.last(), Some((_, Part::Node(_))));
            let part = match part {
                PathPart::Node(node) if after_node => {
                    let message = "between two nodes there must be a relationship or a path that \
                                   is repeated";
                    return Err(self.syntax("InvalidPathPattern", message, node.span));
                }
                PathPart::Node(node) => {
                    (self.node_slot(node, &mut declared.found)?, Part::Node(Some(node)))
                }
                PathPart::Relationship(r) => {
                    let times = r.quantifier.as_ref();
                    // As of a length: `shortestPath((a)-[r]-(b))` has a list of one.
                    let many = r.length.is_some()
                        || matches!(
                            declared.path.search,
                            ast::PathSearch::ShortestPath | ast::PathSearch::AllShortestPaths
                        );
                    let slot = match times {
                        Some(_) => self.repeated_slot(r)?,
                        None => self.relationship_slot(r, many, before)?,
                    };
                    (slot, Part::Relationship(r, times))
                }
                PathPart::Group(group) => match &group.quantifier {
                    None => {
                        self.declare_inlined(group, (before, outside), declared)?;
                        continue;
                    }
                    Some(times) if let Some(r) = group::only_relationship(group) => {
                        self.node_between(declared);
                        let slot = self.repeated_slot(r)?;
                        (slot, Part::Relationship(r, Some(times)))
                    }
                    Some(times) => {
                        self.node_between(declared);
                        let slot = self.new_slot();
                        let from = declared.parts[declared.parts.len() - 1].0;
                        // The node after it is declared next.
                        let repeated = self.group(group, times, slot, from, outside)?;
                        declared.found.relationships.push(repeated);
                        (slot, Part::Group)
                    }
                },
            };
            if let (Some((_, Part::Group)), (node, Part::Node(_))) = (declared.parts.last(), &part)
                && let Some(group) = declared.found.relationships.last_mut()
            {
                group.to = *node;
            }
            declared.parts.push(part);
        }
        Ok(())
    }

    /// A group that is not repeated is a part of the path as it stands.
    fn declare_inlined<'p>(
        &mut self,
        group: &'p ast::GroupPattern,
        seen: (&HashSet<Slot>, &HashSet<Slot>),
        declared: &mut Declared<'p>,
    ) -> Result<(), QueryError> {
        if group.path.variable.is_some() {
            let message = "a path inside a path cannot have a variable; give it to the whole path";
            return Err(self.syntax("NotSupported", message, group.span));
        }
        self.declare_parts(&group.path, seen, declared)?;
        declared.filters.extend(&group.filter);
        Ok(())
    }

    /// The node that is not written down before or after a group.
    fn node_between(&mut self, declared: &mut Declared<'_>) {
        match declared.parts.last() {
            Some((_, Part::Node(_))) => return,
            Some((_, Part::Relationship(..) | Part::Group)) | None => {}
        }
        let node = self.new_slot();
        if let (Some((_, Part::Group)), Some(group)) =
            (declared.parts.last(), declared.found.relationships.last_mut())
        {
            group.to = node;
        }
        declared.found.nodes.push(node);
        declared.parts.push((node, Part::Node(None)));
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

    fn repeated_slot(&mut self, r: &RelationshipPattern) -> Result<Slot, QueryError> {
        match &r.variable {
            None => Ok(self.new_slot()),
            Some(name) => self.declare_new(name, Kind::Relationships),
        }
    }

    /// The variable of a relationship, or of a list of them if there may be `many`.
    fn relationship_slot(
        &mut self,
        r: &RelationshipPattern,
        many: bool,
        before: &HashSet<Slot>,
    ) -> Result<Slot, QueryError> {
        let Some(name) = &r.variable else { return Ok(self.new_slot()) };
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
        declared: Declared<'_>,
        before: &HashSet<Slot>,
    ) -> Result<Pattern, QueryError> {
        let wanted = self.wanted(&declared)?;
        let shortest = match &wanted {
            Some(Wanted::Simple(shortest)) => Some(*shortest),
            _ => None,
        };
        let Declared { parts, filters, mut found, .. } = declared;
        for (at, (slot, part)) in parts.iter().enumerate() {
            match part {
                Part::Node(Some(node)) => self.bind_node(node, *slot, &mut found)?,
                Part::Relationship(r, times) => {
                    let ends = (parts[at - 1].0, parts[at + 1].0);
                    self.bind_relationship((r, *times), *slot, ends, shortest, before, &mut found)?;
                }
                Part::Node(None) | Part::Group => {}
            }
        }
        for filter in filters {
            found.conditions.extend(conjuncts(self.condition(filter)?));
        }
        Ok(match wanted {
            Some(Wanted::General(paths)) => {
                let slots = parts.iter().map(|(slot, _)| *slot).collect();
                Selection::of(found, slots, paths, before)
            }
            None | Some(Wanted::Simple(_)) => found,
        })
    }

    fn bind_node(
        &mut self,
        node: &NodePattern,
        slot: Slot,
        found: &mut Pattern,
    ) -> Result<(), QueryError> {
        if let Some(labels) = &node.labels {
            let labels = self.labels(labels)?;
            let object = Box::new(Expr::Slot(slot));
            found.conditions.push(Expr::HasLabels(object, labels));
        }
        self.property_conditions(node.properties.as_ref(), slot, found)?;
        if let Some(filter) = &node.filter {
            found.conditions.push(self.condition(filter)?);
        }
        Ok(())
    }

    fn bind_relationship(
        &mut self,
        (r, times): (&RelationshipPattern, Option<&Quantifier>),
        slot: Slot,
        (from, to): (Slot, Slot),
        shortest: Option<Shortest>,
        before: &HashSet<Slot>,
        found: &mut Pattern,
    ) -> Result<(), QueryError> {
        if let (Some(times), Some(_)) = (times, &r.length) {
            let message = "a relationship of variable length cannot be repeated as well";
            return Err(self.syntax("InvalidRelationshipPattern", message, times.span));
        }
        let way = match r.direction {
            ArrowDirection::Right => Way::Out,
            ArrowDirection::Left => Way::In,
            ArrowDirection::Either => Way::Both,
        };
        let (types, named) = match self.types(r.types.as_ref())? {
            // Which names these are is known row by row: the relationships are asked.
            Types::Where(labels) if labels.is_dynamic() => (Types::Any, Some(labels)),
            types => (types, None),
        };
        let named = |slot| named.map(|labels| Expr::HasLabels(Box::new(Expr::Slot(slot)), labels));
        let times = match (&r.length, times) {
            (Some(length), _) => Some((length.min.unwrap_or(1), length.max)),
            // The same as a group around it.
            (None, Some(times)) => Some((times.min, times.max)),
            (None, None) => None,
        };
        let length = match (times, shortest) {
            (None, None) => None,
            (None, Some(shortest)) => Some((1, Some(1), Some(shortest))),
            (Some((min, max)), shortest) => Some((min, max, shortest)),
        };
        let bound = before.contains(&slot);
        let length = match length {
            None => {
                found.conditions.extend(named(slot));
                self.property_conditions(r.properties.as_ref(), slot, found)?;
                if let Some(filter) = &r.filter {
                    found.conditions.push(self.condition(filter)?);
                }
                None
            }
            Some((min, max, shortest)) => {
                let each = self.new_slot();
                let mut conditions = Pattern::default();
                conditions.conditions.extend(named(each));
                self.property_conditions(r.properties.as_ref(), each, &mut conditions)?;
                if let Some(filter) = &r.filter {
                    let name = r.variable.as_ref();
                    let condition = self.inner_scope(|b| {
                        if let Some(name) = name {
                            b.scope.variables.retain(|v| *v.name != *name.text);
                            let text = name.text.as_ref().into();
                            let variable = Variable::new(text, each, Kind::Relationship);
                            b.scope.variables.push(variable);
                        }
                        b.condition(filter)
                    })?;
                    conditions.conditions.push(condition);
                }
                let conditions = conditions.conditions;
                let filter = (!conditions.is_empty()).then(|| (each, Expr::all(conditions)));
                Some(Length { min, max, filter, repeats: false, shortest })
            }
        };
        let distinct = shortest.is_none();
        let group = None;
        let relationship =
            Relationship { slot, from, to, types, way, length, group, bound, distinct, clause: 0 };
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
                    let names = names.iter().map(|name| Arc::from(name.text.as_ref()));
                    Types::Of(names.collect())
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
                    let property = Expr::Property(Box::new(Expr::Slot(slot)), key.into());
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
