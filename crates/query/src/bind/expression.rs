//! Expressions.

use std::sync::Arc;

use telar_cypher::ast::{
    self, ArithmeticLink, ArithmeticOp, BinaryOp, Case, CaseTest, CompareOp, ExprKind,
    FunctionCall, LabelExpr, LabelExprKind, Literal, LogicalOp, MapProjection, MapProjectionItem,
    Name, QuantifierKind, UnaryOp,
};
use telar_cypher::suggest::closest;
use telar_graph::Value;

use super::gds;
use super::projection::Aggregation;
use super::scope::Kind;
use super::types::TypeSet;
use super::{Binder, syntax};
use crate::expr::{
    self, Binary, Expr, GraphFunction, Labels, ListComprehension, Quantifier, Unary,
};
use crate::function;
use crate::function::apoc::graph as apoc;
use crate::notification::NotificationKind;
use crate::ops::NormalForm;
use crate::query_error::{ErrorKind, QueryError};
use crate::user_function::UserCall;
use crate::value_type::ValueType;
use crate::watch;

const LIST: &[Kind] = &[Kind::List];
const BOOL: &[Kind] = &[Kind::Bool];
const ENTITY: &[Kind] = &[Kind::Node, Kind::Relationship];
const KEYED: &[Kind] = &[Kind::Node, Kind::Relationship, Kind::Map, Kind::Other];

impl Binder<'_> {
    /// Binds an expression.
    #[expect(clippy::too_many_lines, reason = "one arm for each kind of expression")]
    pub(crate) fn expression(&mut self, e: &ast::Expr) -> Result<Expr, QueryError> {
        watch::work(1)?;
        if let Some(bound) = self.aggregated(e)? {
            return Ok(bound);
        }
        if let Some(bound) = self.of_object(e)? {
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
                self.check_index(object, index)?;
                let (object, index) = (self.expression(object)?, self.expression(index)?);
                Expr::Index(Box::new(object), Box::new(index))
            }
            ExprKind::Slice { list, from, to } => {
                self.expect(list, LIST, "InvalidArgumentType")?;
                let list = Box::new(self.expression(list)?);
                let mut side = |side: &Option<Box<ast::Expr>>| -> Result<_, QueryError> {
                    side.iter().try_for_each(|e| self.expect_types(e, TypeSet::INT))?;
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
                match op {
                    Unary::Not => self.expect(operand, BOOL, "InvalidArgumentType")?,
                    Unary::Plus | Unary::Minus => self.expect_types(operand, TypeSet::NUMBER)?,
                }
                Expr::Unary(op, Box::new(self.condition_operand(operand)?))
            }
            ExprKind::Arithmetic { first, rest } => self.arithmetic(first, rest)?,
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
        let types = self.types_of(list);
        let slot = self.declare(&variable.text, kind);
        if kind == Kind::Any {
            self.narrow(slot, types.unwound());
        }
        slot
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

    /// A chain of operators of one level.
    fn arithmetic(
        &mut self,
        first: &ast::Expr,
        rest: &[ArithmeticLink],
    ) -> Result<Expr, QueryError> {
        let (mut bound, known) = match self.known_prefix(first, rest) {
            Some((slot, links)) => (Expr::Slot(slot), links),
            None => (self.expression(first)?, 0),
        };
        self.check_operands(first, rest)?;
        let mut links = Vec::with_capacity(rest.len() - known);
        for (at, ArithmeticLink { op, operand }) in rest.iter().enumerate() {
            if at >= known {
                links.push((arithmetic_op(*op), self.expression(operand)?));
            }
        }
        if links.len() == 1
            && let Some((op, mut right)) = links.pop()
        {
            // Neo4j computes literals as IEEE 754 says: `1.0 / 0` is infinite, other divisions of
            // floats by an integer of zero are errors.
            if let (Binary::Divide, Expr::Const(Value::Float(_)), Expr::Const(Value::Int(0))) =
                (op, &bound, &right)
            {
                right = Expr::Const(Value::Float(0.0));
            }
            bound = Expr::Binary(op, Box::new(bound), Box::new(right));
        }
        Ok(if links.is_empty() { bound } else { Expr::Chain(Box::new(bound), links) })
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Expr, QueryError> {
        let op = match op {
            BinaryOp::StartsWith => Binary::StartsWith,
            BinaryOp::EndsWith => Binary::EndsWith,
            BinaryOp::Contains => Binary::Contains,
            BinaryOp::Matches => {
                self.expect_types(left, TypeSet::STRING)?;
                self.expect_types(right, TypeSet::STRING)?;
                Binary::Matches
            }
            BinaryOp::In => {
                self.expect(right, LIST, "InvalidArgumentType")?;
                Binary::In
            }
        };
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
                self.expect_name(names, TypeSet::STRING.or(TypeSet::LIST))?;
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
        if let "gds.util.asnode" | "gds.util.asnodes" = name.as_str() {
            self.arity(&name, call, 1, 1, e)?;
            let function = match name.ends_with('s') {
                true => GraphFunction::NodesOfNumbers,
                false => GraphFunction::NodeOfNumber,
            };
            return Ok(Expr::GraphFunction(function, self.expressions(&call.arguments)?));
        }
        if let Some(at) = apoc::find(&name) {
            return self.apoc_function(at, call, e);
        }
        if let "linenumber" | "file" = name.as_str() {
            self.arity(&name, call, 0, 0, e)?;
            if self.csv.is_some() && matches!(self.aggregation, Aggregation::Collect { .. }) {
                let message = "linenumber() and file() are of one row, not of a group; \
                               put them into WITH before";
                return Err(self.syntax("AmbiguousAggregationExpression", message, e.span));
            }
            let slot = self.csv.map(|at| if name == "file" { at.file } else { at.line });
            return Ok(slot.map_or(Expr::NULL, Expr::Slot));
        }
        if name == "apoc.any.property" {
            self.arity(&name, call, 2, 2, e)?;
            self.expect(&call.arguments[0], KEYED, "InvalidArgumentType")?;
            let mut of = |at: usize| self.expression(&call.arguments[at]).map(Box::new);
            return Ok(Expr::Index(of(0)?, of(1)?));
        }
        if name == "exists" {
            self.arity(&name, call, 1, 1, e)?;
            let message = "exists() takes a pattern; of a property, ask `... IS NOT NULL`";
            return Err(self.syntax("InvalidArgumentType", message, e.span));
        }
        if name == "normalize"
            && let [text, form] = &call.arguments[..]
            && let ExprKind::Variable(form) = &form.kind
        {
            return self.normalized(text, form);
        }
        if name == "gds.graph.exists" {
            self.arity(&name, call, 1, 1, e)?;
            return self.expression(&gds::graph_exists(call, e.span));
        }
        if name == "gds.util.nodeproperty" {
            self.arity(&name, call, 3, 4, e)?;
            return self.expression(&gds::node_property(call, e.span));
        }
        if name == "gds.graph.project" {
            let message = "gds.graph.project() stands alone as an item of RETURN or WITH";
            return Err(self.syntax("InvalidAggregation", message, e.span));
        }
        if let Some((name, function)) = self.procedures.functions.find(&name) {
            return self.user_function(UserCall { name, function }, call, e);
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
        self.check_arguments(call)?;
        Ok(Expr::Function(found, self.expressions(&call.arguments)?))
    }

    /// A call of one of APOC's functions that read the graph.
    fn apoc_function(
        &mut self,
        at: u8,
        call: &FunctionCall,
        e: &ast::Expr,
    ) -> Result<Expr, QueryError> {
        let (min, max) = apoc::function(at).arity;
        self.arity(apoc::function(at).name, call, min, max, e)?;
        let arguments = self.expressions(&call.arguments)?;
        Ok(Expr::GraphFunction(GraphFunction::Apoc(at), arguments))
    }

    /// A call of a function of the program.
    fn user_function(
        &mut self,
        user: UserCall,
        call: &FunctionCall,
        e: &ast::Expr,
    ) -> Result<Expr, QueryError> {
        if call.distinct {
            let message = format!("{}() does not aggregate: it takes no DISTINCT", user.name);
            return Err(self.syntax("InvalidAggregation", message, e.span));
        }
        let takes = user.function.arguments();
        self.arity(&user.name, call, *takes.start(), *takes.end(), e)?;
        Ok(Expr::UserFunction(user, self.expressions(&call.arguments)?))
    }

    /// `normalize(text, NFD)`: the form is a word, whatever variables there are.
    fn normalized(&mut self, text: &ast::Expr, form: &Name) -> Result<Expr, QueryError> {
        if form.text.parse::<NormalForm>().is_err() {
            let message = "there are the normal forms NFC, NFD, NFKC and NFKD";
            return Err(self.syntax("InvalidArgumentValue", message, form.span));
        }
        let function = function::lookup("normalize").expect("INVARIANT: one of the table");
        Ok(Expr::Function(function, vec![self.expression(text)?, Expr::text(&form.text)]))
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
                        (CaseTest::Value(e) | CaseTest::Holds(e), _) => b.condition(e)?,
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

    /// A variable that stands where the grammar has nothing else.
    fn named(&mut self, name: &ast::Name) -> Result<Expr, QueryError> {
        self.expression(&ast::Expr { kind: ExprKind::Variable(name.clone()), span: name.span })
    }

    fn map_projection(&mut self, m: &MapProjection) -> Result<Expr, QueryError> {
        let object = self.named(&m.variable)?;
        if let Some(variable) = self.scope.find(&m.variable.text) {
            let keyed = TypeSet::KEYED.or(TypeSet::INSTANT).or(TypeSet::DURATION);
            self.fitting(variable.types, keyed, m.variable.span)?;
        }
        let (mut all, mut entries) = (false, Vec::new());
        for item in &m.items {
            match item {
                MapProjectionItem::AllProperties => all = true,
                MapProjectionItem::Property(key) => {
                    let key: Arc<str> = key.text.as_ref().into();
                    let value = Expr::Property(Box::new(object.clone()), key.clone().into());
                    entries.push((key, value));
                }
                MapProjectionItem::Entry(entry) => {
                    let value = self.expression(&entry.value)?;
                    entries.push((entry.key.text.as_ref().into(), value));
                }
                MapProjectionItem::Variable(name) => {
                    entries.push((name.text.as_ref().into(), self.named(name)?));
                }
            }
        }
        Ok(Expr::MapProjection(Box::new(expr::MapProjection { object, all, entries })))
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

fn arithmetic_op(op: ArithmeticOp) -> Binary {
    match op {
        ArithmeticOp::Add => Binary::Add,
        ArithmeticOp::Subtract => Binary::Subtract,
        ArithmeticOp::Multiply => Binary::Multiply,
        ArithmeticOp::Divide => Binary::Divide,
        ArithmeticOp::Modulo => Binary::Modulo,
        ArithmeticOp::Power => Binary::Power,
        ArithmeticOp::Concatenate => Binary::Concatenate,
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
