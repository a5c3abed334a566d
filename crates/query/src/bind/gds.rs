//! Functions of Neo4j's Graph Data Science library that are other expressions in disguise.

use telar_cypher::Span;
use telar_cypher::ast::{
    Call, Clause, Expr, ExprKind, FunctionCall, Literal, Name, Projection, ProjectionItem,
    QualifiedName, Query, Return, SingleQuery, Subquery, SubqueryBody, SubqueryKind, Yield,
    YieldItem,
};

use super::Binder;
use super::clause::Columns;
use crate::plan::Plan;
use crate::query_error::QueryError;

/// Numbers of arguments of `gds.graph.project` as a function.
const PROJECT: std::ops::RangeInclusive<usize> = 3..=5;

/// `gds.graph.exists(name)` is the procedure of this name as an expression:
/// `EXISTS { CALL gds.graph.exists(name) YIELD exists WHERE exists }`.
pub(super) fn graph_exists(call: &FunctionCall, span: Span) -> Expr {
    let column = || Name { text: "exists".into(), span };
    let filter = Expr { kind: ExprKind::Variable(column()), span };
    let yields = Yield {
        star: false,
        items: vec![YieldItem { column: column(), alias: None }],
        filter: Some(filter),
        span,
    };
    let call = Call {
        optional: false,
        procedure: call.name.clone(),
        arguments: Some(call.arguments.clone()),
        yields: Some(yields),
        span,
    };
    let first = SingleQuery { clauses: vec![Clause::Call(call)], span };
    let body = SubqueryBody::Query(Query { first, unions: Vec::new(), span });
    let subquery = Subquery { kind: SubqueryKind::Exists, body };
    Expr { kind: ExprKind::Subquery(Box::new(subquery)), span }
}

/// `gds.util.nodeProperty(graph, node, property, label)` is the procedure of this name as an
/// expression: `COLLECT { CALL gds.util.nodeProperty(...) YIELD value RETURN value }[0]`.
pub(super) fn node_property(call: &FunctionCall, span: Span) -> Expr {
    const VALUE: &str = "value";
    let parts = ["gds", "util", "nodeProperty"].map(|part| named(part, span)).into();
    let called = Call {
        optional: false,
        procedure: QualifiedName { parts, span },
        arguments: Some(call.arguments.clone()),
        yields: Some(Yield {
            star: false,
            items: vec![YieldItem { column: named(VALUE, span), alias: Some(named(HIDDEN, span)) }],
            filter: None,
            span,
        }),
        span,
    };
    let projection = Projection {
        distinct: false,
        star: false,
        items: vec![item(variable(HIDDEN, span), VALUE)],
        order_by: Vec::new(),
        skip: None,
        limit: None,
        span,
    };
    let returns = Clause::Return(Return { projection, span });
    let first = SingleQuery { clauses: vec![Clause::Call(called), returns], span };
    let body = SubqueryBody::Query(Query { first, unions: Vec::new(), span });
    let subquery = Subquery { kind: SubqueryKind::Collect, body };
    let all = Expr { kind: ExprKind::Subquery(Box::new(subquery)), span };
    let first = Expr { kind: ExprKind::Literal(Literal::Int(0)), span };
    Expr { kind: ExprKind::Index { object: Box::new(all), index: Box::new(first) }, span }
}

/// The call of `gds.graph.project` that an item of a projection is.
fn projected(item: &ProjectionItem) -> Option<&FunctionCall> {
    match &item.expr.kind {
        ExprKind::Function(call)
            if call.name.dotted().eq_ignore_ascii_case("gds.graph.project") =>
        {
            Some(call)
        }
        _ => None,
    }
}

/// The first item of a projection that names a graph.
pub(super) fn graph_item(p: &Projection) -> Option<(usize, &FunctionCall)> {
    p.items.iter().enumerate().find_map(|(at, item)| Some((at, projected(item)?)))
}

fn named(text: impl Into<Box<str>>, span: Span) -> Name {
    Name { text: text.into(), span }
}

fn variable(text: &str, span: Span) -> Expr {
    Expr { kind: ExprKind::Variable(named(text, span)), span }
}

fn function(name: &str, distinct: bool, argument: Expr) -> Expr {
    let span = argument.span;
    let name = QualifiedName { parts: vec![named(name, span)], span };
    let call = FunctionCall { name, distinct, arguments: vec![argument] };
    Expr { kind: ExprKind::Function(Box::new(call)), span }
}

fn item(expr: Expr, alias: &str) -> ProjectionItem {
    let span = expr.span;
    ProjectionItem { alias: Some(named(alias, span)), expr, span }
}

/// Names that no query can write.
const GRAPH: &str = "\0graph";
const NAME: &str = "\0name";
const PAIRS: &str = "\0pairs";
const SETTINGS: &str = "\0settings";
const HIDDEN: &str = "\0value";

impl Binder<'_> {
    /// Binds a projection one of whose items is `gds.graph.project(name, source, target, ...)`,
    /// which names a graph of the pairs that all rows of a group make:
    ///
    /// ```text
    /// RETURN a, gds.graph.project(name, s, t, of, settings) AS g
    ///
    /// WITH a, max(name) AS n, collect([s, t, of]) AS pairs, head(collect(DISTINCT settings)) AS c
    /// CALL gds.graph.project.pairs(n, pairs, c) YIELD graph
    /// RETURN a, graph AS g
    /// ```
    ///
    /// `call` is the item `at` of the projection.
    pub(super) fn graph_projection(
        &mut self,
        (at, call): (usize, &FunctionCall),
        (p, filter, with): (&Projection, Option<&Expr>, bool),
        input: Plan,
    ) -> Result<(Plan, Columns), QueryError> {
        let span = p.items[at].expr.span;
        let (Some((name, pair)), false) = (call.arguments.split_first(), call.distinct) else {
            return Err(self.graph_arity(span));
        };
        if !PROJECT.contains(&call.arguments.len()) {
            return Err(self.graph_arity(span));
        }
        if let Some(second) = p.items[at + 1..].iter().find(|item| projected(item).is_some()) {
            let message = "one gds.graph.project() at a time: put the other one into a WITH";
            return Err(self.syntax("InvalidAggregation", message, second.span));
        }
        // Columns of the whole, and what its groups are by.
        let columns = self.items(p, with)?;
        let mut grouped = Vec::new();
        let mut kept = Vec::new();
        for (number, (name, expr)) in columns.into_iter().enumerate() {
            let is_graph = matches!(&expr.kind, ExprKind::Function(of) if **of == *call);
            let hidden = if is_graph { GRAPH.to_owned() } else { format!("\0{number}") };
            kept.push(item(variable(&hidden, expr.span), &name));
            if !is_graph {
                grouped.push(item(expr, &hidden));
            }
        }
        let (pair, settings) = pair.split_at(pair.len().min(3));
        let pair = Expr { kind: ExprKind::List(pair.to_vec()), span };
        grouped.push(item(function("max", false, name.clone()), NAME));
        grouped.push(item(function("collect", false, pair), PAIRS));
        let mut arguments = vec![variable(NAME, span), variable(PAIRS, span)];
        if let [settings] = settings {
            let all = function("collect", true, settings.clone());
            grouped.push(item(function("head", false, all), SETTINGS));
            arguments.push(variable(SETTINGS, span));
        }
        let of_groups = Projection {
            distinct: false,
            star: false,
            items: grouped,
            order_by: Vec::new(),
            skip: None,
            limit: None,
            span,
        };
        let (plan, _) = self.projection(&of_groups, None, true, input)?;
        let parts = ["gds", "graph", "project", "pairs"].map(|part| named(part, span)).into();
        let column = YieldItem { column: named("graph", span), alias: Some(named(GRAPH, span)) };
        let call = Call {
            optional: false,
            procedure: QualifiedName { parts, span },
            arguments: Some(arguments),
            yields: Some(Yield { star: false, items: vec![column], filter: None, span }),
            span,
        };
        let (plan, _) = self.call(&call, plan, false)?;
        let whole = Projection { star: false, items: kept, ..p.clone() };
        self.projection(&whole, filter, with, plan)
    }

    fn graph_arity(&self, span: Span) -> QueryError {
        let message = "gds.graph.project() of a query takes a name, a source, a target and, if \
                       wanted, what is known of the pair and a configuration";
        self.syntax("InvalidNumberOfArguments", message, span)
    }
}
