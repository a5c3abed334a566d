//! Expressions.

use std::sync::Arc;

use telar_cypher::ast::{
    self, BinaryOp, Case, CaseTest, CompareOp, ExprKind, FunctionCall, LabelExpr, LabelExprKind,
    Literal, LogicalOp, MapProjection, MapProjectionItem, Name, QuantifierKind, UnaryOp,
};
use telar_cypher::suggest::closest;
use telar_graph::Value;

use super::projection::Aggregation;
use super::scope::Kind;
use super::{Binder, syntax};
use crate::expr::{
    self, Binary, Expr, GraphFunction, Labels, ListComprehension, Quantifier, Unary,
};
use crate::function;
use crate::notification::NotificationKind;
use crate::ops::NormalForm;
use crate::query_error::{ErrorKind, QueryError};
use crate::value_type::ValueType;

const LIST: &[Kind] = &[Kind::List];
const BOOL: &[Kind] = &[Kind::Bool];
const ENTITY: &[Kind] = &[Kind::Node, Kind::Relationship];
const KEYED: &[Kind] = &[Kind::Node, Kind::Relationship, Kind::Map, Kind::Other];

impl Binder<'_> {
    /// Binds an expression.
    pub(crate) fn expression(&mut self, e: &ast::Expr) -> Result<Expr, QueryError> {
        if let Some(bound) = self.aggregated(e)? {
            return Ok(bound);
        }
        Ok(match &e.kind {
            ExprKind::Literal(literal) => Expr::Const(literal_value(literal)),
            ExprKind::List(items) => Expr::List(self.expressions(items)?),
            ExprKind::Map(entries) => {
                let mut bound: Vec<(Arc<str>, Expr)> = Vec::new();
                for entry in entries {
                    bound.push((entry.key.text.as_ref().into(), self.expression(&entry.value)?));
                }
                Expr::Map(bound)
            }
            ExprKind::Parameter(name) => self.parameter(&name.text),
            ExprKind::Variable(name) => self.variable_value(name)?,
            ExprKind::Property { object, key } => {
                self.expect(object, KEYED, "InvalidArgumentType")
                    .map_err(|e| QueryError { kind: ErrorKind::Type, ..e })?;
                if matches!(self.kind_of(object), Kind::Node | Kind::Relationship) {
                    self.reads_name(NotificationKind::UnknownPropertyKey, key);
                }
                let object = self.expression(object)?;
                Expr::Property(Box::new(object), key.text.as_ref().into())
            }
            ExprKind::Index { object, index } => {
                let kinds = &[Kind::List, Kind::Map, Kind::Node, Kind::Relationship];
                self.expect(object, kinds, "InvalidArgumentType")?;
                let (object, index) = (self.expression(object)?, self.expression(index)?);
                Expr::Index(Box::new(object), Box::new(index))
            }
            ExprKind::Slice { list, from, to } => {
                self.expect(list, LIST, "InvalidArgumentType")?;
                let list = Box::new(self.expression(list)?);
                let mut side = |side: &Option<Box<ast::Expr>>| -> Result<_, QueryError> {
                    side.as_ref().map(|e| Ok(Box::new(self.expression(e)?))).transpose()
                };
                let (from, to) = (side(from)?, side(to)?);
                Expr::Slice(list, from, to)
            }
            ExprKind::Unary { op, operand } => {
                let op = match op {
                    UnaryOp::Not => Unary::Not,
                    UnaryOp::Plus => Unary::Plus,
                    UnaryOp::Minus => Unary::Minus,
                };
                if op == Unary::Not {
                    self.expect(operand, BOOL, "InvalidArgumentType")?;
                }
                Expr::Unary(op, Box::new(self.condition_operand(operand)?))
            }
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right)?,
            ExprKind::Logical { op, operands } => {
                let mut bound = Vec::with_capacity(operands.len());
                for operand in operands {
                    self.expect(operand, BOOL, "InvalidArgumentType")?;
                    bound.push(self.condition_operand(operand)?);
                }
                match op {
                    LogicalOp::And => Expr::And(bound),
                    LogicalOp::Or => Expr::Or(bound),
                    LogicalOp::Xor => Expr::Xor(bound),
                }
            }
            ExprKind::Comparison { first, rest } => {
                let mut left = self.expression(first)?;
                let mut conjuncts = Vec::with_capacity(rest.len());
                for link in rest {
                    let right = self.expression(&link.operand)?;
                    let op = compare_op(link.op);
                    let next = right.clone();
                    conjuncts.push(Expr::Binary(op, Box::new(left), Box::new(right)));
                    left = next;
                }
                Expr::all(conjuncts)
            }
            ExprKind::IsNull { operand, negated } => {
                Expr::IsNull(Box::new(self.expression(operand)?), *negated)
            }
            ExprKind::IsTyped { operand, negated, of } => {
                let ty: ValueType = of
                    .span
                    .text(self.source)
                    .parse()
                    .map_err(|e| self.syntax("InvalidType", format!("{e}"), of.span))?;
                Expr::IsTyped(Box::new(self.expression(operand)?), ty, *negated)
            }
            ExprKind::IsNormalized { operand, negated, form } => {
                let form = match form {
                    ast::NormalForm::Nfc => NormalForm::Nfc,
                    ast::NormalForm::Nfd => NormalForm::Nfd,
                    ast::NormalForm::Nfkc => NormalForm::Nfkc,
                    ast::NormalForm::Nfkd => NormalForm::Nfkd,
                };
                Expr::IsNormalized(Box::new(self.expression(operand)?), form, *negated)
            }
            ExprKind::HasLabels { operand, labels } => {
                self.expect(operand, ENTITY, "InvalidArgumentType")?;
                let operand = self.expression(operand)?;
                Expr::HasLabels(Box::new(operand), self.labels(labels)?)
            }
            ExprKind::CountStar => return Err(self.misplaced_aggregate(e)),
            ExprKind::Function(call) => self.function(call, e)?,
            ExprKind::Case(case) => self.case(case)?,
            ExprKind::CaseOperand => {
                let slot = self.scope.find(CASE_OPERAND).map(|v| v.slot);
                Expr::Slot(slot.expect("INVARIANT: stands in a CASE with an operand only"))
            }
            ExprKind::ListComprehension(c) => {
                self.expect(&c.list, LIST, "InvalidArgumentType")?;
                let list = self.expression(&c.list)?;
                self.list_scope(|b| {
                    let variable = b.element(&c.variable, &c.list);
                    let filter = c.filter.as_ref().map(|e| b.condition(e)).transpose()?;
                    let projection = c.projection.as_ref().map(|e| b.expression(e)).transpose()?;
                    let c = ListComprehension { variable, list, filter, projection };
                    Ok(Expr::ListComprehension(Box::new(c)))
                })?
            }
            ExprKind::Quantifier(q) => {
                self.expect(&q.list, LIST, "InvalidArgumentType")?;
                let list = self.expression(&q.list)?;
                let kind = match q.kind {
                    QuantifierKind::All => Quantifier::All,
                    QuantifierKind::Any => Quantifier::Any,
                    QuantifierKind::None => Quantifier::None,
                    QuantifierKind::Single => Quantifier::Single,
                };
                self.list_scope(|b| {
                    let variable = b.element(&q.variable, &q.list);
                    let filter = Some(b.condition(&q.filter)?);
                    let c = ListComprehension { variable, list, filter, projection: None };
                    Ok(Expr::Quantifier(kind, Box::new(c)))
                })?
            }
            ExprKind::Reduce(r) => {
                self.expect(&r.list, LIST, "InvalidArgumentType")?;
                let (initial, list) = (self.expression(&r.initial)?, self.expression(&r.list)?);
                self.list_scope(|b| {
                    let accumulator = b.declare(&r.accumulator.text, Kind::Any);
                    let variable = b.element(&r.variable, &r.list);
                    let step = b.expression(&r.step)?;
                    let r = expr::Reduce { accumulator, initial, variable, list, step };
                    Ok(Expr::Reduce(Box::new(r)))
                })?
            }
            ExprKind::MapProjection(m) => self.map_projection(m)?,
            ExprKind::Subquery(subquery) => self.subquery(subquery, e.span)?,
            ExprKind::PatternComprehension(c) => self.pattern_comprehension(c)?,
            ExprKind::Pattern(pattern) => {
                if pattern.search == ast::PathSearch::All {
                    let message = "a pattern can only be used as a condition here; \
                                   use a pattern comprehension for its paths";
                    return Err(self.syntax("UnexpectedSyntax", message, e.span));
                }
                self.pattern_value(pattern)?
            }
        })
    }

    pub(crate) fn expressions(&mut self, items: &[ast::Expr]) -> Result<Vec<Expr>, QueryError> {
        items.iter().map(|e| self.expression(e)).collect()
    }

    /// Binds an expression that is a condition: patterns may be, too.
    pub(crate) fn condition(&mut self, e: &ast::Expr) -> Result<Expr, QueryError> {
        self.expect(e, BOOL, "InvalidArgumentType")?;
        self.condition_operand(e)
    }

    fn condition_operand(&mut self, e: &ast::Expr) -> Result<Expr, QueryError> {
        match &e.kind {
            ExprKind::Pattern(pattern) if pattern.search == ast::PathSearch::All => {
                self.pattern_exists(pattern)
            }
            _ => self.expression(e),
        }
    }

    /// Runs `f` with variables that go again afterwards.
    pub(crate) fn inner_scope<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let outer = self.scope.clone();
        let result = f(self);
        self.scope = outer;
        result
    }

    /// As [`inner_scope`](Self::inner_scope), for expressions that go over a list.
    fn list_scope<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let set = |b: &mut Self, now: bool| match &mut b.aggregation {
            Aggregation::Collect { in_list, .. } => std::mem::replace(in_list, now),
            _ => false,
        };
        let before = set(self, true);
        let result = self.inner_scope(f);
        set(self, before);
        result
    }

    fn element(&mut self, variable: &Name, list: &ast::Expr) -> crate::batch::Slot {
        let kind = match self.kind_of(list) {
            Kind::Relationships => Kind::Relationship,
            _ => match &list.kind {
                ExprKind::Function(call) => match &*call.name.dotted().to_ascii_lowercase() {
                    "nodes" => Kind::Node,
                    "relationships" => Kind::Relationship,
                    _ => Kind::Any,
                },
                ExprKind::List(items) => {
                    let kinds: Vec<Kind> = items.iter().map(|item| self.kind_of(item)).collect();
                    match kinds.first() {
                        Some(first) if kinds.iter().all(|kind| kind == first) => *first,
                        _ => Kind::Any,
                    }
                }
                _ => Kind::Any,
            },
        };
        self.declare(&variable.text, kind)
    }

    fn variable_value(&self, name: &Name) -> Result<Expr, QueryError> {
        match self.scope.find(&name.text) {
            Some(variable) => Ok(Expr::Slot(variable.slot)),
            None => match &*name.text.to_ascii_uppercase() {
                "NAN" => Ok(Expr::Const(Value::Float(f64::NAN))),
                "INF" | "INFINITY" => Ok(Expr::Const(Value::Float(f64::INFINITY))),
                _ => self.variable(name).map(|v| Expr::Slot(v.slot)),
            },
        }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Expr, QueryError> {
        let op = match op {
            BinaryOp::Add => Binary::Add,
            BinaryOp::Subtract => Binary::Subtract,
            BinaryOp::Multiply => Binary::Multiply,
            BinaryOp::Divide => Binary::Divide,
            BinaryOp::Modulo => Binary::Modulo,
            BinaryOp::Power => Binary::Power,
            BinaryOp::Concatenate => Binary::Concatenate,
            BinaryOp::StartsWith => Binary::StartsWith,
            BinaryOp::EndsWith => Binary::EndsWith,
            BinaryOp::Contains => Binary::Contains,
            BinaryOp::Matches => Binary::Matches,
            BinaryOp::In => {
                self.expect(right, LIST, "InvalidArgumentType")?;
                Binary::In
            }
        };
        if matches!(op, Binary::Multiply | Binary::Divide | Binary::Modulo | Binary::Power) {
            for side in [left, right] {
                self.expect(side, &[Kind::Int, Kind::Float, Kind::Other], "InvalidArgumentType")?;
            }
        }
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        Ok(Expr::Binary(op, Box::new(left), Box::new(right)))
    }

    pub(crate) fn labels(&mut self, labels: &LabelExpr) -> Result<Labels, QueryError> {
        let all = |b: &mut Self, parts: &[LabelExpr]| {
            parts.iter().map(|part| b.labels(part)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match &labels.kind {
            LabelExprKind::Label(name) => {
                self.reads_name(NotificationKind::UnknownLabel, name);
                Labels::Name(name.text.as_ref().into())
            }
            LabelExprKind::Dynamic { names, any } => {
                Labels::Dynamic(Box::new(self.expression(names)?), *any)
            }
            LabelExprKind::Wildcard => Labels::Wildcard,
            LabelExprKind::Not(inner) => Labels::Not(Box::new(self.labels(inner)?)),
            LabelExprKind::And(parts) => Labels::And(all(self, parts)?),
            LabelExprKind::Or(parts) => Labels::Or(all(self, parts)?),
        })
    }

    fn function(&mut self, call: &FunctionCall, e: &ast::Expr) -> Result<Expr, QueryError> {
        let name = call.name.dotted().to_ascii_lowercase();
        if syntax::aggregate_name(e).is_some() {
            return Err(self.misplaced_aggregate(e));
        }
        if let [ast::Expr { kind: ExprKind::Pattern(pattern), .. }] = &call.arguments[..]
            && pattern.search == ast::PathSearch::All
        {
            match name.as_str() {
                "exists" => return self.pattern_exists(pattern),
                "size" => {
                    let message = "size() takes no pattern; use COUNT { } or a comprehension";
                    return Err(self.syntax("UnexpectedSyntax", message, e.span));
                }
                _ => {}
            }
        }
        let graph = match name.as_str() {
            "id" => Some((GraphFunction::Id, ENTITY)),
            "elementid" => Some((GraphFunction::ElementId, ENTITY)),
            "labels" => Some((GraphFunction::Labels, &[Kind::Node][..])),
            "type" => Some((GraphFunction::Type, &[Kind::Relationship][..])),
            "properties" => Some((GraphFunction::Properties, &KEYED[..3])),
            "keys" => Some((GraphFunction::Keys, &KEYED[..3])),
            "startnode" => Some((GraphFunction::StartNode, &[Kind::Relationship][..])),
            "endnode" => Some((GraphFunction::EndNode, &[Kind::Relationship][..])),
            _ => None,
        };
        if let Some((graph, kinds)) = graph {
            self.arity(&name, call, 1, 1, e)?;
            self.expect(&call.arguments[0], kinds, "InvalidArgumentType")?;
            return Ok(Expr::GraphFunction(graph, self.expressions(&call.arguments)?));
        }
        if name == "exists" {
            self.arity(&name, call, 1, 1, e)?;
            return Ok(Expr::IsNull(Box::new(self.expression(&call.arguments[0])?), true));
        }
        let Some(found) = function::lookup(&name) else {
            let near = closest(&name, function::all().iter().map(|f| f.name));
            let hint = near.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            let message = format!("there is no function `{}`{hint}", call.name.dotted());
            return Err(self.syntax("UnknownFunction", message, call.name.span));
        };
        if call.distinct {
            let message = format!("{}() does not aggregate: it takes no DISTINCT", found.name);
            return Err(self.syntax("InvalidAggregation", message, e.span));
        }
        self.arity(found.name, call, found.args_min, found.args_max, e)?;
        let kinds: &[Kind] = match &*name {
            "size" | "char_length" | "character_length" => &[Kind::List, Kind::String],
            "length" | "nodes" | "relationships" => &[Kind::Path],
            "head" | "last" | "tail" => LIST,
            _ => &[],
        };
        if !kinds.is_empty() {
            self.expect(&call.arguments[0], kinds, "InvalidArgumentType")?;
        }
        Ok(Expr::Function(found, self.expressions(&call.arguments)?))
    }

    fn arity(
        &self,
        name: &str,
        call: &FunctionCall,
        min: usize,
        max: usize,
        e: &ast::Expr,
    ) -> Result<(), QueryError> {
        let found = call.arguments.len();
        if (min..=max).contains(&found) {
            return Ok(());
        }
        let message = format!("{name}() cannot be called with {found} arguments");
        Err(self.syntax("InvalidNumberOfArguments", message, e.span))
    }

    fn case(&mut self, case: &Case) -> Result<Expr, QueryError> {
        let operand = case.operand.as_ref().map(|e| self.expression(e)).transpose()?;
        self.inner_scope(|b| {
            let operand = operand.map(|e| (b.declare(CASE_OPERAND, Kind::Any), e));
            let mut branches = Vec::new();
            for branch in &case.branches {
                let mut tests = Vec::new();
                for test in &branch.tests {
                    tests.push(match (test, &operand) {
                        (CaseTest::Value(e), Some((slot, _))) => {
                            let value = b.expression(e)?;
                            let slot = Box::new(Expr::Slot(*slot));
                            Expr::Binary(Binary::Equal, slot, Box::new(value))
                        }
                        (CaseTest::Value(e) | CaseTest::Holds(e), _) => b.condition_operand(e)?,
                    });
                }
                let test = if tests.len() == 1 { tests.remove(0) } else { Expr::Or(tests) };
                branches.push((test, b.condition_operand(&branch.value)?));
            }
            let default = case.default.as_ref().map(|e| b.condition_operand(e)).transpose()?;
            let default = default.unwrap_or(Expr::NULL);
            Ok(Expr::Case(Box::new(expr::Case { branches, default, operand })))
        })
    }

    fn map_projection(&mut self, m: &MapProjection) -> Result<Expr, QueryError> {
        let object = self.variable_value(&m.variable)?;
        let (mut all, mut entries) = (false, Vec::new());
        for item in &m.items {
            match item {
                MapProjectionItem::AllProperties => all = true,
                MapProjectionItem::Property(key) => {
                    let key: Arc<str> = key.text.as_ref().into();
                    let value = Expr::Property(Box::new(object.clone()), key.clone());
                    entries.push((key, value));
                }
                MapProjectionItem::Entry(entry) => {
                    let value = self.expression(&entry.value)?;
                    entries.push((entry.key.text.as_ref().into(), value));
                }
                MapProjectionItem::Variable(name) => {
                    entries.push((name.text.as_ref().into(), self.variable_value(name)?));
                }
            }
        }
        Ok(Expr::MapProjection(Box::new(expr::MapProjection { object, all, entries })))
    }

    /// Refuses an expression that can never be of one of these kinds.
    pub(crate) fn expect(
        &self,
        e: &ast::Expr,
        kinds: &[Kind],
        detail: &str,
    ) -> Result<(), QueryError> {
        let kind = self.kind_of(e);
        if kind.may_be(kinds) {
            return Ok(());
        }
        let wanted: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let message = format!("expected {}, found {}", wanted.join(" or "), kind.name());
        Err(self.syntax(detail, message, e.span))
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
            | ExprKind::IsNull { .. }
            | ExprKind::IsTyped { .. }
            | ExprKind::HasLabels { .. }
            | ExprKind::Quantifier(_) => Kind::Bool,
            ExprKind::Binary { op, left, right } => match op {
                BinaryOp::StartsWith
                | BinaryOp::EndsWith
                | BinaryOp::Contains
                | BinaryOp::Matches
                | BinaryOp::In => Kind::Bool,
                BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => {
                    match (self.kind_of(left), self.kind_of(right)) {
                        (Kind::Int, Kind::Int) => Kind::Int,
                        (Kind::Float, Kind::Int | Kind::Float) | (Kind::Int, Kind::Float) => {
                            Kind::Float
                        }
                        (Kind::List, _) | (_, Kind::List) if *op == BinaryOp::Add => Kind::List,
                        _ => Kind::Any,
                    }
                }
                _ => Kind::Any,
            },
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

    fn misplaced_aggregate(&self, e: &ast::Expr) -> QueryError {
        let (detail, message) = match self.aggregation {
            Aggregation::Inside => {
                ("NestedAggregation", "an aggregating function cannot stand inside another one")
            }
            _ => ("InvalidAggregation", "an aggregating function cannot stand here"),
        };
        self.syntax(detail, message, e.span)
    }
}

/// Name of the variable that holds the operand of a `CASE`; no text can name it.
const CASE_OPERAND: &str = "\0case";

pub(crate) fn literal_value(literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(b) => Value::Bool(*b),
        Literal::Int(n) => Value::Int(*n),
        Literal::Float(x) => Value::Float(*x),
        Literal::String(text) => Value::from(&**text),
    }
}

fn compare_op(op: CompareOp) -> Binary {
    match op {
        CompareOp::Equal => Binary::Equal,
        CompareOp::NotEqual => Binary::NotEqual,
        CompareOp::Less => Binary::Less,
        CompareOp::LessOrEqual => Binary::LessOrEqual,
        CompareOp::Greater => Binary::Greater,
        CompareOp::GreaterOrEqual => Binary::GreaterOrEqual,
    }
}
