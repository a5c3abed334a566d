//! Conditions on one object, given as texts of their own: `n:Person AND n.age > 3`.
//!
//! The object is no value: only its properties and labels are read, and each becomes a variable.
//! So the condition can be tested on what is no node or relationship of the database.

use std::collections::BTreeSet;
use std::sync::Arc;

use telar_cypher::ast::{self, ExprKind, LabelExpr, LabelExprKind};
use telar_graph::Graph;

use super::{Binder, syntax};
use crate::batch::Slot;
use crate::expr::{Expr, Unary};
use crate::procedure::Procedures;
use crate::query_error::QueryError;

/// Part of its object that a condition reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// The value of a property.
    Property(Arc<str>),
    /// True if the object has the label, or is of the type.
    Label(Arc<str>),
    /// True if the object has any label, or a type.
    AnyLabel,
}

/// The object of a condition.
pub(crate) struct Object {
    variable: Arc<str>,
    /// Parts that are read, and their slots.
    reads: Vec<(Read, Slot)>,
}

/// A condition that was bound.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) expr: Expr,
    pub(crate) reads: Vec<(Read, Slot)>,
    /// Names of the parameters it needs.
    pub(crate) parameters: BTreeSet<Arc<str>>,
}

/// Binds a condition on `variable`; `source` is the text its spans are of.
pub(crate) fn bind_condition(
    condition: &ast::Expr,
    (source, variable): (&str, &str),
    graph: &dyn Graph,
    procedures: &Procedures,
) -> Result<Condition, QueryError> {
    let mut binder = Binder::new(source, graph, procedures);
    binder.object = Some(Object { variable: variable.into(), reads: Vec::new() });
    binder.refuse_patterns(condition)?;
    let expr = binder.condition(condition)?;
    let reads = binder.object.map(|object| object.reads).unwrap_or_default();
    Ok(Condition { expr, reads, parameters: binder.parameters })
}

impl Binder<'_> {
    /// Refuses patterns and subqueries: the graph around the object is not that of the database.
    fn refuse_patterns(&self, e: &ast::Expr) -> Result<(), QueryError> {
        if let ExprKind::Pattern(_) | ExprKind::PatternComprehension(_) | ExprKind::Subquery(_) =
            &e.kind
        {
            let message = "a filter knows one node or relationship: it has no patterns and no \
                           subqueries";
            return Err(self.syntax("UnexpectedSyntax", message, e.span));
        }
        let mut result = Ok(());
        syntax::parts(e, &mut |part| {
            if result.is_ok() {
                result = self.refuse_patterns(part);
            }
        });
        result
    }

    /// True if a name stands for the object, and for nothing nearer.
    fn is_object(&self, e: &ast::Expr) -> bool {
        match (&self.object, &e.kind) {
            (Some(object), ExprKind::Variable(name)) => {
                *name.text == *object.variable && self.scope.find(&name.text).is_none()
            }
            _ => false,
        }
    }

    /// Binds what an expression reads of the object, if it is about it.
    pub(super) fn of_object(&mut self, e: &ast::Expr) -> Result<Option<Expr>, QueryError> {
        match &e.kind {
            _ if self.object.is_none() => Ok(None),
            ExprKind::Property { object, key } if self.is_object(object) => {
                Ok(Some(self.read(Read::Property(key.text.as_ref().into()))))
            }
            ExprKind::HasLabels { operand, labels } if self.is_object(operand) => {
                self.labels_of_object(labels).map(Some)
            }
            ExprKind::Variable(name) if self.is_object(e) => {
                let name = &name.text;
                let message = format!(
                    "a filter knows {name} by its properties and labels ({name}.key, \
                     {name}:Name), not as a whole"
                );
                Err(self.syntax("UnexpectedSyntax", message, e.span))
            }
            _ => Ok(None),
        }
    }

    fn read(&mut self, read: Read) -> Expr {
        let slot = self.new_slot();
        let Some(object) = &mut self.object else { return Expr::NULL };
        if let Some((_, known)) = object.reads.iter().find(|(known, _)| *known == read) {
            return Expr::Slot(*known);
        }
        object.reads.push((read, slot));
        Expr::Slot(slot)
    }

    fn labels_of_object(&mut self, labels: &LabelExpr) -> Result<Expr, QueryError> {
        let all = |b: &mut Self, parts: &[LabelExpr]| {
            parts.iter().map(|part| b.labels_of_object(part)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match &labels.kind {
            LabelExprKind::Label(name) => self.read(Read::Label(name.text.as_ref().into())),
            LabelExprKind::Wildcard => self.read(Read::AnyLabel),
            LabelExprKind::Not(inner) => {
                Expr::Unary(Unary::Not, Box::new(self.labels_of_object(inner)?))
            }
            LabelExprKind::And(parts) => Expr::And(all(self, parts)?),
            LabelExprKind::Or(parts) => Expr::Or(all(self, parts)?),
            LabelExprKind::Dynamic { .. } => {
                let message = "a filter names its labels and types: $(...) is not possible here";
                return Err(self.syntax("UnexpectedSyntax", message, labels.span));
            }
        })
    }
}
