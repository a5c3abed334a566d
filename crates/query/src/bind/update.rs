//! Clauses that change the graph.

use std::borrow::Cow;
use std::sync::Arc;

use telar_cypher::ast::{
    self, ArrowDirection, Clause, Create, Delete, Foreach, LabelExpr, LabelExprKind, LabelRef,
    Merge, NodePattern, PathPart, PathPattern, RelationshipPattern, Remove, RemoveItemKind, Set,
    SetItemKind,
};
use telar_cypher::span::Span;

use super::Binder;
use super::scope::Kind;
use super::types::TypeSet;
use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{self, Claimed, CreateStep, Extend, LabelName, Match, Plan, SetItem};
use crate::query_error::QueryError;

/// What a pattern that is created is made of.
struct Made {
    steps: Vec<CreateStep>,
    /// Property maps, for `MERGE` to test.
    properties: Vec<Expr>,
}

/// What a `MERGE` claims: its relationships, in the order in which the steps make them.
fn claims(pattern: &PathPattern, steps: &[CreateStep], before: &[Slot]) -> Vec<Claimed> {
    let ways = pattern.parts.iter().filter_map(|part| match part {
        PathPart::Relationship(r) => Some(r.direction == ArrowDirection::Either),
        _ => None,
    });
    let made = steps.iter().filter_map(|step| match step {
        CreateStep::Relationship { slot, from, to, .. } => {
            Some((*slot, before.contains(from) && before.contains(to)))
        }
        _ => None,
    });
    let claimed = |((slot, bound), either_way)| Claimed { slot, bound, either_way };
    made.zip(ways).map(claimed).collect()
}

/// A path without the parentheses around it: `MERGE ((a)-[:T]->(b))`.
fn unwrapped(path: &PathPattern) -> Cow<'_, PathPattern> {
    let mut path = Cow::Borrowed(path);
    while let [PathPart::Group(group)] = &path.parts[..] {
        let mut inner = PathPattern::clone(&group.path);
        inner.variable = inner.variable.or_else(|| path.variable.clone());
        path = Cow::Owned(inner);
    }
    path
}

impl Binder<'_> {
    pub(crate) fn create(&mut self, clause: &Create, input: Plan) -> Result<Plan, QueryError> {
        let mut made = Made { steps: Vec::new(), properties: Vec::new() };
        for path in &clause.patterns {
            self.created_path(path, true, &mut made)?;
        }
        let items = self.computed_before(&mut made.steps);
        let input = match items.is_empty() {
            true => input,
            false => Plan::from(Extend { input, items }),
        };
        // One clause after the other does the same as all of it in one: scripts of thousands of
        // them become one operator.
        if let Plan::Create(mut before) = input {
            before.steps.append(&mut made.steps);
            return Ok(Plan::Create(before));
        }
        Ok(Plan::from(plan::Create { input, steps: made.steps }))
    }

    fn created_path(
        &mut self,
        path: &PathPattern,
        create: bool,
        made: &mut Made,
    ) -> Result<(), QueryError> {
        let single = path.parts.len() == 1;
        let mut slots: Vec<Slot> = Vec::new();
        let mut relationships: Vec<(usize, &RelationshipPattern)> = Vec::new();
        for (at, part) in path.parts.iter().enumerate() {
            slots.push(match part {
                PathPart::Node(node) => self.created_node(node, single && create, made)?,
                PathPart::Relationship(r) => {
                    relationships.push((at, r));
                    // Filled in below, when both nodes are there.
                    usize::MAX
                }
                PathPart::Group(group) => {
                    let message = "a quantified pattern cannot be created";
                    return Err(self.syntax("CreatingVarLength", message, group.span));
                }
            });
        }
        for (at, r) in relationships {
            slots[at] =
                self.created_relationship(r, (slots[at - 1], slots[at + 1]), create, made)?;
        }
        if let Some(variable) = &path.variable {
            let slot = self.declare_new(variable, Kind::Path)?;
            made.steps.push(CreateStep::Extend(slot, Expr::Path(slots)));
        }
        Ok(())
    }

    fn created_node(
        &mut self,
        node: &NodePattern,
        alone: bool,
        made: &mut Made,
    ) -> Result<Slot, QueryError> {
        if let Some(filter) = &node.filter {
            let message = "WHERE cannot stand in a pattern that is created";
            return Err(self.syntax("UnexpectedSyntax", message, filter.span));
        }
        let plain = node.labels.is_none() && node.properties.is_none();
        if let Some(name) = &node.variable
            && let Some(variable) = self.scope.find(&name.text)
        {
            if !plain || alone {
                let message = format!("the variable `{}` exists already", name.text);
                return Err(self.syntax("VariableAlreadyBound", message, name.span));
            }
            if !variable.kind.may_be(&[Kind::Node]) {
                let message = format!("`{}` is {}, not a node", name.text, variable.kind.name());
                return Err(self.syntax("VariableTypeConflict", message, name.span));
            }
            return Ok(variable.slot);
        }
        let labels = self.label_list(node.labels.as_ref())?;
        let properties = self.created_properties(node.properties.as_ref(), made)?;
        let slot = match &node.variable {
            Some(name) => self.declare(&name.text, Kind::Node),
            None => self.new_slot(),
        };
        made.steps.push(CreateStep::Node { slot, labels, properties });
        Ok(slot)
    }

    fn created_relationship(
        &mut self,
        r: &RelationshipPattern,
        (left, right): (Slot, Slot),
        create: bool,
        made: &mut Made,
    ) -> Result<Slot, QueryError> {
        if r.length.is_some() || r.quantifier.is_some() {
            let message = "a relationship of variable length cannot be created";
            return Err(self.syntax("CreatingVarLength", message, r.span));
        }
        if let Some(name) = &r.variable
            && self.scope.find(&name.text).is_some()
        {
            let message = format!("the variable `{}` exists already", name.text);
            return Err(self.syntax("VariableAlreadyBound", message, name.span));
        }
        let one = match r.types.as_ref().map(|types| &types.kind) {
            Some(LabelExprKind::Label(name)) => Some(LabelName::Static(name.text.as_ref().into())),
            Some(LabelExprKind::Dynamic { names, .. }) => {
                self.expect_name(names, TypeSet::STRING.or(TypeSet::LIST))?;
                Some(LabelName::Dynamic(self.expression(names)?))
            }
            _ => None,
        };
        let Some(ty) = one else {
            let message = "a relationship is created with exactly one type";
            return Err(self.syntax("NoSingleRelationshipType", message, r.span));
        };
        let (from, to) = match r.direction {
            ArrowDirection::Right => (left, right),
            ArrowDirection::Left => (right, left),
            ArrowDirection::Either if create => {
                let message = "a relationship that is created needs a direction";
                return Err(self.syntax("RequiresDirectedRelationship", message, r.span));
            }
            ArrowDirection::Either => (left, right),
        };
        let properties = self.created_properties(r.properties.as_ref(), made)?;
        let slot = match &r.variable {
            Some(name) => self.declare_new(name, Kind::Relationship)?,
            None => self.new_slot(),
        };
        made.steps.push(CreateStep::Relationship { slot, ty, from, to, properties });
        Ok(slot)
    }

    fn created_properties(
        &mut self,
        properties: Option<&ast::Expr>,
        made: &mut Made,
    ) -> Result<Option<Expr>, QueryError> {
        let Some(properties) = properties else { return Ok(None) };
        let bound = self.expression(properties)?;
        made.properties.push(bound.clone());
        Ok(Some(bound))
    }

    /// Labels that are written one after the other.
    fn label_list(&mut self, labels: Option<&LabelExpr>) -> Result<Vec<LabelName>, QueryError> {
        let Some(labels) = labels else { return Ok(Vec::new()) };
        match &labels.kind {
            LabelExprKind::Label(name) => Ok(vec![LabelName::Static(name.text.as_ref().into())]),
            LabelExprKind::Dynamic { names, .. } => {
                self.expect_name(names, TypeSet::STRING.or(TypeSet::LIST))?;
                Ok(vec![LabelName::Dynamic(self.expression(names)?)])
            }
            LabelExprKind::And(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.label_list(Some(part))?);
                }
                Ok(all)
            }
            _ => {
                let message = "a node is created with plain labels only";
                Err(self.syntax("UnexpectedSyntax", message, labels.span))
            }
        }
    }

    pub(crate) fn merge(&mut self, clause: &Merge, input: Plan) -> Result<Plan, QueryError> {
        let before = self.scope.clone();
        let path = unwrapped(&clause.pattern);
        for part in &path.parts {
            if let PathPart::Node(NodePattern { properties: Some(p), .. })
            | PathPart::Relationship(RelationshipPattern { properties: Some(p), .. }) = part
                && matches!(p.kind, ast::ExprKind::Parameter(_))
            {
                let message = "a parameter cannot stand for all properties in MERGE";
                return Err(self.syntax("InvalidParameterUse", message, p.span));
            }
        }
        // What creates it is bound first: it finds variables that are used twice.
        let mut made = Made { steps: Vec::new(), properties: Vec::new() };
        let single = path.parts.len() == 1;
        if single
            && let PathPart::Node(node) = &path.parts[0]
            && let Some(name) = &node.variable
            && before.find(&name.text).is_some()
        {
            let message = format!("the variable `{}` exists already", name.text);
            return Err(self.syntax("VariableAlreadyBound", message, name.span));
        }
        self.created_path(&path, false, &mut made)?;
        let claims = claims(&path, &made.steps, &before.slots());
        let after = self.scope.clone();
        self.scope = before.clone();
        // What it does not find it makes: names may well be new.
        let unknown = self.unknown.len();
        let pattern = self.pattern(std::slice::from_ref(&*path))?;
        self.unknown.truncate(unknown);
        let matching = Plan::from(Match::new(Plan::Argument, before.slots(), pattern));
        // Both ways lead to the same slots: those of the creation.
        let mut moves = Vec::new();
        let mut slots = Vec::new();
        for variable in &after.variables {
            if before.find(&variable.name).is_none() {
                slots.push(variable.slot);
                if let Some(matched) = self.scope.find(&variable.name) {
                    moves.push((variable.slot, Expr::Slot(matched.slot)));
                }
            }
        }
        let matching = match moves.is_empty() {
            true => matching,
            false => Plan::from(Extend { input: matching, items: moves }),
        };
        self.scope = after;
        let (mut on_create, mut on_match) = (Vec::new(), Vec::new());
        for action in &clause.actions {
            let items = self.set_items(&action.items)?;
            if action.on_create { on_create.extend(items) } else { on_match.extend(items) }
        }
        Ok(Plan::from(plan::Merge {
            input,
            matching,
            steps: made.steps,
            slots,
            on_create,
            on_match,
            properties: made.properties,
            claims,
        }))
    }

    pub(crate) fn set(&mut self, clause: &Set, input: Plan) -> Result<Plan, QueryError> {
        let items = self.set_items(&clause.items)?;
        Ok(Plan::from(plan::Set { input, items }))
    }

    fn object(&mut self, e: &ast::Expr) -> Result<Expr, QueryError> {
        self.expect(e, &[Kind::Node, Kind::Relationship], "InvalidArgumentType")?;
        self.expression(e)
    }

    /// As [`object`](Self::object), to remove a property of it: of a property of something, too, as
    /// in Neo4j, which then fails when it runs unless it is null.
    fn object_left(&mut self, e: &ast::Expr) -> Result<Expr, QueryError> {
        let kinds = [Kind::Node, Kind::Relationship];
        self.expect_kind(self.kind_of(e), &kinds, "InvalidArgumentType", e.span)?;
        self.expression(e)
    }

    fn set_items(&mut self, items: &[ast::SetItem]) -> Result<Vec<SetItem>, QueryError> {
        let mut bound = Vec::new();
        for item in items {
            bound.push(match &item.kind {
                SetItemKind::Property { object, key, value } => {
                    let object = self.object(object)?;
                    SetItem::Property {
                        object,
                        key: Expr::text(&key.text),
                        value: self.expression(value)?,
                    }
                }
                SetItemKind::DynamicProperty { object, key, value } => {
                    let object = self.object(object)?;
                    self.expect_name(key, TypeSet::STRING)?;
                    let key = self.expression(key)?;
                    SetItem::Property { object, key, value: self.expression(value)? }
                }
                SetItemKind::Replace { variable, value }
                | SetItemKind::Merge { variable, value } => {
                    self.expect_types(value, TypeSet::KEYED)?;
                    let replace = matches!(item.kind, SetItemKind::Replace { .. });
                    let object = Expr::Slot(self.variable(variable)?.slot);
                    SetItem::Properties { object, value: self.expression(value)?, replace }
                }
                SetItemKind::Labels { variable, labels } => {
                    let (node, labels) = self.labels_of_item(variable, labels)?;
                    SetItem::AddLabels { node, labels }
                }
            });
        }
        Ok(bound)
    }

    fn labels_of_item(
        &mut self,
        variable: &ast::Name,
        labels: &[LabelRef],
    ) -> Result<(Expr, Vec<LabelName>), QueryError> {
        let found = self.variable(variable)?;
        let slot = found.slot;
        if !found.kind.may_be(&[Kind::Node]) {
            let message = format!("`{}` is {}, not a node", variable.text, found.kind.name());
            return Err(self.syntax("InvalidArgumentType", message, variable.span));
        }
        let mut names = Vec::new();
        for label in labels {
            names.push(match label {
                LabelRef::Static(name) => LabelName::Static(Arc::from(&*name.text)),
                LabelRef::Dynamic(e) => {
                    self.expect_name(e, TypeSet::STRING.or(TypeSet::LIST))?;
                    LabelName::Dynamic(self.expression(e)?)
                }
            });
        }
        Ok((Expr::Slot(slot), names))
    }

    pub(crate) fn remove(&mut self, clause: &Remove, input: Plan) -> Result<Plan, QueryError> {
        let mut items = Vec::new();
        for item in &clause.items {
            items.push(match &item.kind {
                RemoveItemKind::Property { object, key } => {
                    let object = self.object_left(object)?;
                    SetItem::RemoveProperty { object, key: Expr::text(&key.text) }
                }
                RemoveItemKind::DynamicProperty { object, key } => {
                    let object = self.object_left(object)?;
                    self.expect_name(key, TypeSet::STRING)?;
                    SetItem::RemoveProperty { object, key: self.expression(key)? }
                }
                RemoveItemKind::Labels { variable, labels } => {
                    let (node, labels) = self.labels_of_item(variable, labels)?;
                    SetItem::RemoveLabels { node, labels }
                }
            });
        }
        Ok(Plan::from(plan::Set { input, items }))
    }

    pub(crate) fn delete(&mut self, clause: &Delete, input: Plan) -> Result<Plan, QueryError> {
        let mut targets = Vec::new();
        for target in &clause.targets {
            let refuse =
                |b: &Self, span: Span, message: &str| Err(b.syntax("InvalidDelete", message, span));
            if let ast::ExprKind::HasLabels { .. } = target.kind {
                return refuse(self, target.span, "DELETE removes no labels; use REMOVE");
            }
            let kinds = &[Kind::Node, Kind::Relationship, Kind::Path];
            self.expect(target, kinds, "InvalidArgumentType")?;
            if matches!(
                target.kind,
                ast::ExprKind::Binary { .. }
                    | ast::ExprKind::Arithmetic { .. }
                    | ast::ExprKind::Comparison { .. }
            ) {
                let message = "DELETE needs a node, relationship or path";
                return Err(self.syntax("InvalidArgumentType", message, target.span));
            }
            targets.push(self.expression(target)?);
        }
        let detach = clause.detach;
        Ok(Plan::from(plan::Delete { input, targets, detach }))
    }

    pub(crate) fn foreach(&mut self, clause: &Foreach, input: Plan) -> Result<Plan, QueryError> {
        let list = self.expression(&clause.list)?;
        let (variable, inner) = self.inner_scope(|b| {
            // It hides a variable of the same name, as that of a list comprehension does.
            let variable = b.declare(&clause.variable.text, Kind::Any);
            let mut plan = Plan::Argument;
            for update in &clause.updates {
                plan = match update {
                    Clause::Create(c) => b.create(c, plan)?,
                    Clause::Merge(c) => b.merge(c, plan)?,
                    Clause::Set(c) => b.set(c, plan)?,
                    Clause::Remove(c) => b.remove(c, plan)?,
                    Clause::Delete(c) => b.delete(c, plan)?,
                    Clause::Foreach(c) => b.foreach(c, plan)?,
                    other => {
                        let message = "only clauses that change the graph can stand in FOREACH";
                        return Err(b.syntax("InvalidClauseComposition", message, other.span()));
                    }
                };
            }
            Ok((variable, plan))
        })?;
        Ok(Plan::from(plan::Foreach { input, variable, list, inner }))
    }
}
