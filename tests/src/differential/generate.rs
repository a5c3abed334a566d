//! Random queries in which every expression has a type and every result is determined.

use super::expression::{Expression, Operator, Val};
use super::graph::{LABELS, TEXTS, TYPES, pick};
use super::query::{
    Clause, EdgePattern, Function, Hint, Item, ItemValue, NodePattern, Path, Projection, Query,
    Towards,
};
use crate::Rng;
use crate::tck::value::Float;

/// What a variable or an expression holds, or null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Node,
    Edge,
    /// The edges of a pattern of variable length.
    Edges,
    Bool,
    Int,
    Float,
    Text,
    /// A number of either kind, which nothing is made of.
    Number,
}

const SCALARS: [Type; 4] = [Type::Bool, Type::Int, Type::Float, Type::Text];

/// A query.
pub(super) fn query(rng: &mut Rng) -> Query {
    let mut maker = Maker { rng, scope: Vec::new(), names: 0 };
    if maker.rng.one_in(4) {
        return maker.subgraph();
    }
    let mut clauses = vec![maker.matching(false)];
    while maker.rng.one_in(2) && clauses.len() < 4 {
        let clause = match maker.rng.below(6) {
            0 | 1 => maker.matching(false),
            2 => maker.matching(true),
            3 => maker.unwind(),
            _ => maker.with(),
        };
        clauses.push(clause);
    }
    let result = match maker.rng.below(6) {
        0 => maker.counts(),
        1 => maker.ends(),
        _ => maker.projection(true).0,
    };
    Query { clauses, result }
}

struct Maker<'r> {
    rng: &'r mut Rng,
    scope: Vec<(String, Type)>,
    /// Names given so far.
    names: usize,
}

impl Maker<'_> {
    fn name(&mut self, letter: char) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    /// A variable of this type.
    fn variable(&mut self, ty: Type) -> Option<String> {
        let known: Vec<&String> =
            self.scope.iter().filter(|(_, of)| *of == ty).map(|(name, _)| name).collect();
        (!known.is_empty()).then(|| (*pick(self.rng, &known)).clone())
    }

    fn matching(&mut self, optional: bool) -> Clause {
        let before = self.scope.len();
        let paths: Vec<Path> = match self.rng.below(8) {
            0 => vec![self.cycle()],
            1 => return self.values(optional),
            _ => (0..=self.rng.below(5) / 4).map(|_| self.path(true)).collect(),
        };
        let (hints, filter) = (self.hints(before, &paths), self.filter());
        Clause::Match { optional, paths, hints, filter }
    }

    /// A path that ends where it begins.
    fn cycle(&mut self) -> Path {
        let before = self.scope.len();
        let mut path = self.path(true);
        let name = match &path.start.name {
            Some(name) => name.clone(),
            None => {
                let name = self.name('n');
                self.scope.push((name.clone(), Type::Node));
                path.start.name = Some(name.clone());
                name
            }
        };
        while path.steps.len() < 2 {
            let edge = self.edge(true, before);
            path.steps.push((edge, self.node(true, before)));
        }
        let (edge, name) = (self.edge(true, before), Some(name));
        path.steps.push((edge, NodePattern { name, ..NodePattern::default() }));
        path
    }

    /// Two paths of which a value must be the same.
    fn values(&mut self, optional: bool) -> Clause {
        let mut paths = Vec::new();
        let mut sides = Vec::new();
        for _ in 0..2 {
            let mut path = self.path(true);
            if path.start.name.is_none() {
                let name = self.name('n');
                self.scope.push((name.clone(), Type::Node));
                path.start.name = Some(name);
            }
            sides.extend(path.start.name.clone());
            paths.push(path);
        }
        let ty = *pick(self.rng, &SCALARS);
        // Integers and floats equal each other.
        let other = if ty == Type::Int { Type::Float } else { ty };
        let (left, right) = (sides[0].clone(), sides[1].clone());
        let left = Expression::Property(left, key(ty));
        let right = Expression::Property(right, key(other));
        let filter = Some(Expression::Binary(Operator::Equal, left.into(), right.into()));
        Clause::Match { optional, paths, hints: Vec::new(), filter }
    }

    /// Wishes for the plan, of variables that the paths name.
    fn hints(&mut self, before: usize, paths: &[Path]) -> Vec<Hint> {
        let mut hints = Vec::new();
        for path in paths {
            if !self.rng.one_in(4) {
                continue;
            }
            let mut nodes = vec![&path.start];
            nodes.extend(path.steps.iter().map(|(_, node)| node));
            for node in nodes {
                let Some(name) = node.name.clone() else { continue };
                let is_new = self.scope[before..].iter().any(|(known, _)| *known == name);
                if !is_new || !self.rng.one_in(2) {
                    continue;
                }
                hints.push(match (node.labels.first(), self.rng.below(3)) {
                    (Some(label), 0) => Hint::Index(name, label, "i"),
                    (Some(label), 1) => Hint::Scan(name, label),
                    _ => Hint::Join(name),
                });
            }
        }
        hints
    }

    /// Counts the matches of a subgraph: paths from shared nodes, in one clause or several, perhaps
    /// optional ones at the end, with nodes that must differ or must not be connected.
    fn subgraph(&mut self) -> Query {
        let mut clauses = vec![self.legs(false)];
        while self.rng.one_in(2) && clauses.len() < 3 {
            clauses.push(self.legs(false));
        }
        while self.rng.one_in(3) && clauses.len() < 4 {
            clauses.push(self.legs(true));
        }
        let result = match self.rng.below(8) {
            0 => self.projection(true).0,
            1 => self.ends(),
            2 => {
                // The count goes on, behind it or not.
                let count = self.name('x');
                let items = vec![Item { value: ItemValue::CountRows, name: count.clone() }];
                let projection = Projection { items, ..Projection::default() };
                clauses.push(Clause::With { projection, filter: None });
                let value = ItemValue::Expression(Expression::Variable(count));
                let items = vec![Item { value, name: self.name('c') }];
                Projection { items, ..Projection::default() }
            }
            3 => {
                let node = self.variable(Type::Node).map(Expression::Variable);
                let of = node.unwrap_or(Expression::Literal(Val::Null));
                let value = ItemValue::Aggregate { function: Function::Count, distinct: false, of };
                let items = vec![Item { value, name: self.name('c') }];
                Projection { items, ..Projection::default() }
            }
            _ => self.counts(),
        };
        Query { clauses, result }
    }

    /// A clause of paths of one or two relationships, which begin at nodes that are known if there
    /// are any.
    fn legs(&mut self, optional: bool) -> Clause {
        let mut paths = Vec::new();
        let count = if optional { 1 } else { 1 + self.rng.below(3) };
        for _ in 0..count {
            let start = self.leg_node();
            let steps = (0..1 + self.rng.below(4) / 3).map(|_| {
                let types = TYPES.iter().filter(|_| self.rng.one_in(2)).copied().collect();
                let towards = *pick(self.rng, &[Towards::Right, Towards::Left, Towards::Both]);
                let (name, length, properties) = (None, None, Vec::new());
                let edge = EdgePattern { name, types, towards, length, properties };
                (edge, self.leg_node())
            });
            let steps = steps.collect();
            paths.push(Path { start, steps });
        }
        let mut filter: Option<Expression> = None;
        // Often of one node: that it is none of several others.
        let one = if self.rng.one_in(2) { self.variable(Type::Node) } else { None };
        for _ in 0..self.rng.below(5) {
            let (a, b) = (self.variable(Type::Node), self.variable(Type::Node));
            let (Some(a), Some(b)) = (one.clone().or(a), b) else { break };
            let part = match self.rng.below(4) {
                0 => {
                    let mut path = self.path(false);
                    path.start = NodePattern { name: Some(a), ..NodePattern::default() };
                    path.steps.truncate(1);
                    if let Some((_, end)) = path.steps.last_mut() {
                        *end = NodePattern { name: Some(b), ..NodePattern::default() };
                    }
                    Expression::Not(Expression::Exists(Box::new(path)).into())
                }
                1 => {
                    let label = *pick(self.rng, &LABELS);
                    Expression::HasLabel(a, label)
                }
                _ => {
                    let (a, b) = (Expression::Variable(a), Expression::Variable(b));
                    Expression::Binary(Operator::Unequal, a.into(), b.into())
                }
            };
            filter = Some(match filter {
                None => part,
                Some(first) => Expression::Binary(Operator::And, first.into(), part.into()),
            });
        }
        Clause::Match { optional, paths, hints: Vec::new(), filter }
    }

    /// A node of such a path: known, new, or without a name.
    fn leg_node(&mut self) -> NodePattern {
        let labels = LABELS.iter().filter(|_| self.rng.one_in(8)).copied().take(1).collect();
        let known = if self.rng.one_in(2) { self.variable(Type::Node) } else { None };
        let name = match known {
            Some(name) => Some(name),
            None if self.rng.one_in(2) => {
                let name = self.name('n');
                self.scope.push((name.clone(), Type::Node));
                Some(name)
            }
            None => None,
        };
        NodePattern { name, labels, properties: Vec::new() }
    }

    /// How many rows there are, perhaps for each value of something.
    fn counts(&mut self) -> Projection {
        let mut items = vec![Item { value: ItemValue::CountRows, name: self.name('c') }];
        if self.rng.one_in(2) {
            let value = self.plain().0;
            items.push(Item { value, name: self.name('c') });
        }
        Projection { items, ..Projection::default() }
    }

    /// Nodes, each combination once.
    fn ends(&mut self) -> Projection {
        let nodes: Vec<String> =
            self.scope.iter().filter(|(_, ty)| *ty == Type::Node).map(|(n, _)| n.clone()).collect();
        if nodes.is_empty() {
            return self.counts();
        }
        let mut projection = Projection { distinct: true, ..Projection::default() };
        for _ in 0..=self.rng.below(2) {
            let value = ItemValue::Expression(Expression::Variable(pick(self.rng, &nodes).clone()));
            projection.items.push(Item { value, name: self.name('c') });
        }
        projection
    }

    fn filter(&mut self) -> Option<Expression> {
        self.rng.one_in(2).then(|| self.expression(Type::Bool, 3))
    }

    fn unwind(&mut self) -> Clause {
        let ty = *pick(self.rng, &SCALARS);
        let count = if self.rng.one_in(8) { 0 } else { 1 + self.rng.below(3) };
        let elements = (0..count).map(|_| self.expression(ty, 1)).collect();
        let name = self.name('x');
        self.scope.push((name.clone(), ty));
        Clause::Unwind { elements, name }
    }

    fn with(&mut self) -> Clause {
        let (projection, scope) = self.projection(false);
        self.scope = scope;
        let filter = self.filter();
        Clause::With { projection, filter }
    }

    /// A path. Only in `MATCH` may it name what is new.
    fn path(&mut self, naming: bool) -> Path {
        // Properties are those that were known before: a pattern may not use what it names itself.
        let before = self.scope.len();
        let start = self.node(naming, before);
        let mut steps = Vec::new();
        for _ in 0..self.rng.below(3) {
            let edge = self.edge(naming, before);
            steps.push((edge, self.node(naming, before)));
        }
        Path { start, steps }
    }

    fn node(&mut self, naming: bool, before: usize) -> NodePattern {
        let mut node = NodePattern::default();
        if self.rng.one_in(6) {
            node.labels.push(*pick(self.rng, &LABELS));
        }
        node.properties = self.properties(before);
        let known = if self.rng.one_in(3) { self.variable(Type::Node) } else { None };
        node.name = match known {
            Some(name) => Some(name),
            None if naming && !self.rng.one_in(4) => {
                let name = self.name('n');
                self.scope.push((name.clone(), Type::Node));
                Some(name)
            }
            None => None,
        };
        node
    }

    fn edge(&mut self, naming: bool, before: usize) -> EdgePattern {
        let typed = self.rng.one_in(2);
        let types = TYPES.iter().filter(|_| typed && self.rng.one_in(2)).copied().collect();
        let towards = *pick(self.rng, &[Towards::Right, Towards::Left, Towards::Both]);
        let lengths = [(0, 1), (0, 2), (1, 2), (2, 2)];
        let length = self.rng.one_in(4).then(|| *pick(self.rng, &lengths));
        let properties = self.properties(before);
        let name = (naming && self.rng.one_in(2)).then(|| {
            let name = self.name('r');
            let ty = if length.is_some() { Type::Edges } else { Type::Edge };
            self.scope.push((name.clone(), ty));
            name
        });
        EdgePattern { name, types, towards, length, properties }
    }

    fn properties(&mut self, before: usize) -> Vec<(&'static str, Expression)> {
        if !self.rng.one_in(12) {
            return Vec::new();
        }
        let later = self.scope.split_off(before);
        let property = match self.rng.one_in(2) {
            true => ("i", self.leaf(Type::Int)),
            false => ("s", self.leaf(Type::Text)),
        };
        self.scope.extend(later);
        vec![property]
    }

    /// A projection and the variables after it.
    fn projection(&mut self, last: bool) -> (Projection, Vec<(String, Type)>) {
        let mut projection = Projection::default();
        let mut scope = Vec::new();
        let aggregating = self.rng.one_in(3);
        for _ in 0..=self.rng.below(3) {
            let name = self.name('c');
            let (value, ty) = match aggregating && self.rng.one_in(2) {
                true => self.aggregate(last),
                false => self.plain(),
            };
            projection.items.push(Item { value, name: name.clone() });
            scope.push((name, ty));
        }
        let collects = |item: &Item| {
            matches!(item.value, ItemValue::Aggregate { function: Function::Collect, .. })
        };
        let mixes = scope.iter().any(|(_, ty)| *ty == Type::Number);
        projection.distinct =
            self.rng.one_in(4) && !mixes && !projection.items.iter().any(collects);
        let ordered = scope.iter().all(|(_, ty)| SCALARS.contains(ty))
            && !projection.items.iter().any(collects);
        if ordered && self.rng.one_in(2) {
            let descending = scope.iter().map(|_| self.rng.one_in(2)).collect();
            projection.order = Some(descending);
            projection.skip = self.rng.one_in(3).then(|| self.rng.below(4) as usize);
            projection.limit = self.rng.one_in(2).then(|| self.rng.below(8) as usize);
        }
        (projection, scope)
    }

    /// A column that does not aggregate.
    fn plain(&mut self) -> (ItemValue, Type) {
        let variable = if self.rng.one_in(2) && !self.scope.is_empty() {
            Some(pick(self.rng, &self.scope).clone())
        } else {
            None
        };
        let (expression, ty) = match variable {
            Some((name, ty)) => (Expression::Variable(name), ty),
            None => {
                let ty = *pick(self.rng, &SCALARS);
                (self.expression(ty, 2), ty)
            }
        };
        (ItemValue::Expression(expression), ty)
    }

    fn aggregate(&mut self, last: bool) -> (ItemValue, Type) {
        let of = *pick(self.rng, &SCALARS);
        let number = *pick(self.rng, &[Type::Int, Type::Float]);
        let (function, of, ty) = match self.rng.below(if last { 6 } else { 5 }) {
            0 => return (ItemValue::CountRows, Type::Int),
            1 => (Function::Count, of, Type::Int),
            // The sum of no floats is an integer. Of equal numbers of two types either may stand
            // for both, so no such column is grouped by later.
            2 if last && number == Type::Float => (Function::Sum, number, Type::Number),
            2 => (Function::Sum, Type::Int, Type::Int),
            3 => (Function::Min, of, of),
            4 => (Function::Max, of, of),
            // A list in the order of rows: only where nobody looks at the order.
            _ => (Function::Collect, of, Type::Edges),
        };
        let (distinct, of) = (self.rng.one_in(4), self.expression(of, 1));
        (ItemValue::Aggregate { function, distinct, of }, ty)
    }

    /// An expression of this type, at most `depth` levels deep.
    fn expression(&mut self, ty: Type, depth: usize) -> Expression {
        if depth == 0 || self.rng.one_in(4) {
            return self.leaf(ty);
        }
        let below = depth - 1;
        match self.rng.below(8) {
            0 => {
                let (a, b) = (self.expression(ty, below), self.expression(ty, below));
                Expression::Coalesce(a.into(), b.into())
            }
            1 => {
                let condition = self.expression(Type::Bool, below);
                let (a, b) = (self.expression(ty, below), self.expression(ty, below));
                Expression::Case(Box::new([condition, a, b]))
            }
            _ => match ty {
                Type::Bool => self.condition(below),
                Type::Int | Type::Float => self.number(ty, below),
                _ => self.leaf(ty),
            },
        }
    }

    fn number(&mut self, ty: Type, below: usize) -> Expression {
        if ty == Type::Int && self.rng.one_in(5) {
            return Expression::Count(Box::new(self.path(false)));
        }
        let operators = [Operator::Add, Operator::Subtract, Operator::Multiply, Operator::Modulo];
        let operator = *pick(self.rng, &operators);
        let a = self.expression(ty, below);
        let b = match (operator, ty) {
            (Operator::Modulo, Type::Int) => Expression::Literal(Val::Int(3)),
            (Operator::Modulo, _) => Expression::Literal(Val::Float(Float::new(1.5))),
            _ => self.expression(ty, below),
        };
        Expression::Binary(operator, a.into(), b.into())
    }

    fn condition(&mut self, below: usize) -> Expression {
        use Operator::*;
        match self.rng.below(10) {
            0..=2 => {
                let operator = *pick(self.rng, &[And, Or, Xor]);
                let a = self.expression(Type::Bool, below);
                let b = self.expression(Type::Bool, below);
                Expression::Binary(operator, a.into(), b.into())
            }
            3 => Expression::Not(self.expression(Type::Bool, below).into()),
            4 => {
                let ty = *pick(self.rng, &SCALARS);
                let of = self.expression(ty, below);
                Expression::IsNull(of.into(), self.rng.one_in(2))
            }
            5 => {
                let operator = *pick(self.rng, &[StartsWith, EndsWith, Contains]);
                let a = self.expression(Type::Text, below);
                let b = self.expression(Type::Text, below);
                Expression::Binary(operator, a.into(), b.into())
            }
            6 => {
                let ty = *pick(self.rng, &SCALARS);
                let element = self.expression(ty, below);
                let list = (0..self.rng.below(4)).map(|_| self.leaf(ty)).collect();
                Expression::In(element.into(), list)
            }
            7 if self.rng.one_in(2) => Expression::Exists(Box::new(self.path(false))),
            7 => match (self.variable(Type::Node), self.variable(Type::Node)) {
                (Some(a), Some(b)) => {
                    let operator = *pick(self.rng, &[Equal, Unequal]);
                    let (a, b) = (Expression::Variable(a), Expression::Variable(b));
                    Expression::Binary(operator, a.into(), b.into())
                }
                _ => self.leaf(Type::Bool),
            },
            _ => {
                let orders = [Equal, Unequal, Less, LessEqual, Greater, GreaterEqual];
                let operator = *pick(self.rng, &orders);
                let ty = *pick(self.rng, &SCALARS);
                // Integers and floats compare with each other.
                let other = match ty {
                    Type::Int | Type::Float => *pick(self.rng, &[Type::Int, Type::Float]),
                    ty => ty,
                };
                let (a, b) = (self.expression(ty, below), self.expression(other, below));
                Expression::Binary(operator, a.into(), b.into())
            }
        }
    }

    fn leaf(&mut self, ty: Type) -> Expression {
        for _ in 0..3 {
            let leaf = match self.rng.below(5) {
                0 => self.variable(ty).map(Expression::Variable),
                1 => self.literal(ty),
                2 => match ty {
                    Type::Int => self.variable(Type::Edges).map(Expression::Size),
                    Type::Text => self.variable(Type::Edge).map(Expression::TypeOf),
                    Type::Bool => {
                        let label = *pick(self.rng, &LABELS);
                        let node = self.variable(Type::Node);
                        node.map(|name| Expression::HasLabel(name, label))
                    }
                    _ => None,
                },
                _ => {
                    let of = if self.rng.one_in(3) { Type::Edge } else { Type::Node };
                    self.variable(of).map(|name| Expression::Property(name, key(ty)))
                }
            };
            if let Some(leaf) = leaf {
                return leaf;
            }
        }
        self.literal(ty).unwrap_or(Expression::Literal(Val::Null))
    }

    fn literal(&mut self, ty: Type) -> Option<Expression> {
        if self.rng.one_in(12) {
            return Some(Expression::Literal(Val::Null));
        }
        Some(Expression::Literal(match ty {
            Type::Bool => Val::Bool(self.rng.one_in(2)),
            Type::Int => Val::Int(self.rng.below(4) as i64),
            Type::Float => Val::Float(Float::new(self.rng.below(5) as f64 / 2.0)),
            Type::Text => Val::Text((*pick(self.rng, &TEXTS)).to_owned()),
            Type::Node | Type::Edge | Type::Edges | Type::Number => return None,
        }))
    }
}

/// The property that holds values of this type.
fn key(ty: Type) -> &'static str {
    match ty {
        Type::Int => "i",
        Type::Float => "f",
        Type::Text => "s",
        _ => "b",
    }
}
