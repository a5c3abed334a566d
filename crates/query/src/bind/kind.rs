//! What is known of the values of expressions before the query runs, and refusing what cannot be.

use telar_cypher::ast::{self, ArithmeticLink, ArithmeticOp, ExprKind, Literal, UnaryOp};
use telar_cypher::span::Span;

use super::Binder;
use super::scope::Kind;
use super::types::TypeSet;
use crate::query_error::QueryError;

impl Binder<'_> {
    /// Refuses an expression that can never be of one of these kinds.
    pub(crate) fn expect(
        &self,
        e: &ast::Expr,
        kinds: &[Kind],
        detail: &str,
    ) -> Result<(), QueryError> {
        self.expect_kind(self.kind_of(e), kinds, detail, e.span)?;
        self.expect_types(e, TypeSet::of_kinds(kinds))
    }

    /// As [`expect`](Self::expect), for a value of which no more is known than `kind`.
    pub(super) fn expect_kind(
        &self,
        kind: Kind,
        kinds: &[Kind],
        detail: &str,
        span: Span,
    ) -> Result<(), QueryError> {
        if kind.may_be(kinds) {
            return Ok(());
        }
        let wanted: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let message = format!("expected {}, found {}", wanted.join(" or "), kind.name());
        Err(self.syntax(detail, message, span))
    }

    /// What is known of an expression's value without running the query.
    pub(crate) fn kind_of(&self, e: &ast::Expr) -> Kind {
        match &e.kind {
            ExprKind::Literal(literal) => match literal {
                Literal::Null => Kind::Null,
                Literal::Bool(_) => Kind::Bool,
                Literal::Int(_) => Kind::Int,
                Literal::Float(_) => Kind::Float,
                Literal::String(_) => Kind::String,
            },
            ExprKind::List(_)
            | ExprKind::ListComprehension(_)
            | ExprKind::PatternComprehension(_)
            | ExprKind::Slice { .. } => Kind::List,
            ExprKind::Map(_) | ExprKind::MapProjection(_) => Kind::Map,
            ExprKind::Variable(name) => self.scope.find(&name.text).map_or(Kind::Any, |v| v.kind),
            ExprKind::Unary { op: UnaryOp::Not, .. }
            | ExprKind::Logical { .. }
            | ExprKind::Comparison { .. }
            | ExprKind::Binary { .. }
            | ExprKind::IsNull { .. }
            | ExprKind::IsTyped { .. }
            | ExprKind::HasLabels { .. }
            | ExprKind::Quantifier(_) => Kind::Bool,
            ExprKind::Arithmetic { first, rest } => {
                rest.iter().fold(self.kind_of(first), |kind, ArithmeticLink { op, operand }| {
                    computed_kind(kind, *op, self.kind_of(operand))
                })
            }
            ExprKind::CountStar => Kind::Int,
            ExprKind::Function(call) => match &*call.name.dotted().to_ascii_lowercase() {
                "startnode" | "endnode" => Kind::Node,
                "collect" | "nodes" | "relationships" | "labels" | "keys" | "range" => Kind::List,
                "type" => Kind::String,
                "count" | "size" | "length" => Kind::Int,
                _ => Kind::Any,
            },
            _ => Kind::Any,
        }
    }
}

/// What is known of `left op right`.
fn computed_kind(left: Kind, op: ArithmeticOp, right: Kind) -> Kind {
    match (op, left, right) {
        (ArithmeticOp::Add | ArithmeticOp::Subtract | ArithmeticOp::Multiply, left, right) => {
            match (left, right) {
                (Kind::Int, Kind::Int) => Kind::Int,
                (Kind::Float, Kind::Int | Kind::Float) | (Kind::Int, Kind::Float) => Kind::Float,
                (Kind::List, _) | (_, Kind::List) if op == ArithmeticOp::Add => Kind::List,
                _ => Kind::Any,
            }
        }
        _ => Kind::Any,
    }
}
