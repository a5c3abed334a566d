//! Random expressions.

use super::{DEPTH_MAX, Generator};
use crate::ast::*;
use crate::parser::{Level, TRIM_SIDES};
use crate::span::Span;

const QUANTIFIERS: [QuantifierKind; 4] =
    [QuantifierKind::All, QuantifierKind::Any, QuantifierKind::None, QuantifierKind::Single];
const FORMS: [NormalForm; 4] =
    [NormalForm::Nfc, NormalForm::Nfd, NormalForm::Nfkc, NormalForm::Nfkd];
const SUMS: [ArithmeticOp; 3] =
    [ArithmeticOp::Add, ArithmeticOp::Subtract, ArithmeticOp::Concatenate];
const PRODUCTS: [ArithmeticOp; 3] =
    [ArithmeticOp::Multiply, ArithmeticOp::Divide, ArithmeticOp::Modulo];
const POWERS: [ArithmeticOp; 1] = [ArithmeticOp::Power];
const PREDICATES: [BinaryOp; 5] =
    [BinaryOp::In, BinaryOp::StartsWith, BinaryOp::EndsWith, BinaryOp::Contains, BinaryOp::Matches];
const COMPARISONS: [CompareOp; 6] = [
    CompareOp::Equal,
    CompareOp::NotEqual,
    CompareOp::Less,
    CompareOp::LessOrEqual,
    CompareOp::Greater,
    CompareOp::GreaterOrEqual,
];

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

impl Generator<'_> {
    pub(super) fn expr(&mut self) -> Expr {
        let leaf = self.depth >= DEPTH_MAX;
        let kind = self.deeper(|g| match g.pick(if leaf { 5 } else { 32 }) {
            0 | 1 => ExprKind::Variable(g.name()),
            2 | 3 => ExprKind::Literal(g.literal()),
            4 => ExprKind::Parameter(g.name()),
            n => g.inner(n),
        });
        expr(kind)
    }

    fn boxed(&mut self) -> Box<Expr> {
        Box::new(self.expr())
    }

    fn exprs(&mut self, least: usize) -> Vec<Expr> {
        self.some(least, Self::expr)
    }

    fn literal(&mut self) -> Literal {
        match self.pick(5) {
            0 => Literal::Null,
            1 => Literal::Bool(self.chance()),
            2 => Literal::Int(self.one_of(&[0, 1, -1, 42, i64::MAX, i64::MIN])),
            3 => {
                let floats = [1.0, -0.5, 0.1, 1e300, -1e-300, 5e-324, f64::MAX, 1e16, -0.0];
                Literal::Float(self.one_of(&floats))
            }
            _ => {
                let texts =
                    ["", "a", "it's", "\"\\", "\n\t\r\u{0}\u{7f}", "ä😀\u{feff}", "\\u0041"];
                Literal::String(self.one_of(&texts).into())
            }
        }
    }

    fn inner(&mut self, choice: usize) -> ExprKind {
        match choice {
            5 => ExprKind::List(self.exprs(0)),
            6 => ExprKind::Map(self.entries()),
            7 | 8 => ExprKind::Property { object: self.boxed(), key: self.name() },
            9 => ExprKind::Index { object: self.boxed(), index: self.boxed() },
            10 => {
                let list = self.boxed();
                let from = self.maybe(Self::boxed);
                let to = match from {
                    Some(_) => self.maybe(Self::boxed),
                    None => Some(self.boxed()),
                };
                ExprKind::Slice { list, from, to }
            }
            11 | 12 => {
                let op = self.one_of(&[UnaryOp::Not, UnaryOp::Minus, UnaryOp::Plus]);
                ExprKind::Unary { op, operand: self.boxed() }
            }
            13 | 14 => self.arithmetic(),
            15 | 16 => {
                let op = self.one_of(&[LogicalOp::And, LogicalOp::Or, LogicalOp::Xor]);
                ExprKind::Logical { op, operands: self.exprs(2) }
            }
            17 => ExprKind::CountStar,
            18 if self.pick(4) == 3 => ExprKind::Function(Box::new(self.trim())),
            18 => ExprKind::Function(Box::new(self.call_expr())),
            19 => ExprKind::Case(Box::new(self.case())),
            20 => ExprKind::ListComprehension(Box::new(ListComprehension {
                variable: self.name(),
                list: self.expr(),
                filter: self.maybe(Self::expr),
                projection: self.maybe(Self::expr),
            })),
            21 => {
                let mut pattern = self.chain();
                pattern.variable = self.maybe(Self::name);
                let filter = self.maybe(Self::expr);
                let projection = self.expr();
                let comprehension = PatternComprehension { pattern, filter, projection };
                ExprKind::PatternComprehension(Box::new(comprehension))
            }
            22 => ExprKind::Quantifier(Box::new(QuantifierExpr {
                kind: self.one_of(&QUANTIFIERS),
                variable: self.name(),
                list: self.expr(),
                filter: self.expr(),
            })),
            23 => ExprKind::Reduce(Box::new(Reduce {
                accumulator: self.name(),
                initial: self.expr(),
                variable: self.name(),
                list: self.expr(),
                step: self.expr(),
            })),
            24 => ExprKind::MapProjection(Box::new(MapProjection {
                variable: self.name(),
                items: self.some(0, Self::projection_item),
            })),
            25 => ExprKind::Subquery(Box::new(self.subquery())),
            26 | 27 => {
                let mut pattern = self.chain();
                pattern.search = self.one_of(&[
                    PathSearch::All,
                    PathSearch::ShortestPath,
                    PathSearch::AllShortestPaths,
                ]);
                ExprKind::Pattern(Box::new(pattern))
            }
            _ => {
                let operand = self.expr();
                self.predicate(operand)
            }
        }
    }

    fn arithmetic(&mut self) -> ExprKind {
        let ops = self.one_of(&[&SUMS[..], &PRODUCTS, &POWERS]);
        let first = self.expr();
        let rest = self.some(1, |g| ArithmeticLink { op: g.one_of(ops), operand: g.expr() });
        // A chain that begins with one of its own level goes on with it.
        match first.kind {
            ExprKind::Arithmetic { first, rest: mut before }
                if Level::of_chain(&before) == Level::of_chain(&rest) =>
            {
                before.extend(rest);
                ExprKind::Arithmetic { first, rest: before }
            }
            kind => ExprKind::Arithmetic { first: Box::new(expr(kind)), rest },
        }
    }

    /// A predicate about `operand`.
    fn predicate(&mut self, operand: Expr) -> ExprKind {
        let operand = Box::new(operand);
        match self.pick(6) {
            0 => ExprKind::IsNull { operand, negated: self.chance() },
            1 => {
                let op = self.one_of(&PREDICATES);
                ExprKind::Binary { op, left: operand, right: self.boxed() }
            }
            2 => {
                let rest = self.some(1, |g| {
                    let op = g.one_of(&COMPARISONS);
                    ComparisonLink { op, operand: g.expr() }
                });
                ExprKind::Comparison { first: operand, rest }
            }
            3 => ExprKind::IsTyped { operand, negated: self.chance(), of: self.type_expr() },
            4 => {
                let form = self.one_of(&FORMS);
                ExprKind::IsNormalized { operand, negated: self.chance(), form }
            }
            _ => ExprKind::HasLabels { operand, labels: self.labels() },
        }
    }

    pub(super) fn entries(&mut self) -> Vec<MapEntry> {
        self.some(0, |g| MapEntry { key: g.name(), value: g.expr() })
    }

    pub(super) fn call_expr(&mut self) -> FunctionCall {
        let name = self.qualified_name();
        let arguments = self.exprs(0);
        let distinct = !arguments.is_empty() && self.chance();
        FunctionCall { name, distinct, arguments }
    }

    /// `trim(LEADING x FROM y)`, or one with arguments.
    fn trim(&mut self) -> FunctionCall {
        let name = Name { text: "trim".into(), span: Span::default() };
        let name = QualifiedName { parts: vec![name], span: Span::default() };
        let mut arguments = self.exprs(0);
        if self.chance() {
            let side = self.one_of(&TRIM_SIDES).into();
            arguments.truncate(2);
            arguments.insert(0, expr(ExprKind::Literal(Literal::String(side))));
        }
        FunctionCall { name, distinct: false, arguments }
    }

    fn case(&mut self) -> Case {
        let operand = self.maybe(Self::expr);
        let branches = self.some(1, |g| {
            let tests = match operand {
                None => vec![CaseTest::Value(g.expr())],
                Some(_) => g.some(1, Self::case_test),
            };
            CaseBranch { tests, value: g.expr() }
        });
        Case { operand, branches, default: self.maybe(Self::expr) }
    }

    fn case_test(&mut self) -> CaseTest {
        if self.chance() {
            return CaseTest::Value(self.expr());
        }
        CaseTest::Holds(expr(self.predicate(expr(ExprKind::CaseOperand))))
    }

    fn projection_item(&mut self) -> MapProjectionItem {
        match self.pick(4) {
            0 => MapProjectionItem::AllProperties,
            1 => MapProjectionItem::Property(self.name()),
            2 => MapProjectionItem::Variable(self.name()),
            _ => {
                let entry = MapEntry { key: self.name(), value: self.expr() };
                MapProjectionItem::Entry(entry)
            }
        }
    }

    fn subquery(&mut self) -> Subquery {
        let kinds = [SubqueryKind::Exists, SubqueryKind::Count, SubqueryKind::Collect];
        let kind = self.one_of(&kinds);
        if kind == SubqueryKind::Collect || self.chance() {
            return Subquery { kind, body: SubqueryBody::Query(self.query()) };
        }
        let patterns = self.some(1, Self::path);
        let body = SubqueryBody::Pattern { patterns, filter: self.maybe(Self::expr) };
        Subquery { kind, body }
    }

    pub(super) fn type_expr(&mut self) -> TypeExpr {
        let simple = [
            TypeKind::Integer,
            TypeKind::Any,
            TypeKind::Null,
            TypeKind::LocalDateTime,
            TypeKind::ZonedTime,
            TypeKind::PropertyValue,
            TypeKind::Node,
            TypeKind::Nothing,
        ];
        let leaf = self.depth >= DEPTH_MAX;
        let kind = self.deeper(|g| match g.pick(if leaf { 9 } else { 12 }) {
            8 => TypeKind::Vector {
                coordinates: g.maybe(|g| CoordinateName::ALL[g.pick(6)]),
                dimension: g.maybe(|g| [1, 3, 4096][g.pick(3)]),
            },
            9 | 10 => TypeKind::List(Box::new(g.type_expr())),
            11 => {
                let mut types = g.some(2, Self::type_expr);
                let not_null = types[0].not_null;
                types.iter_mut().for_each(|ty| ty.not_null = not_null);
                TypeKind::Union(types)
            }
            n => simple[n].clone(),
        });
        TypeExpr { kind, not_null: self.chance(), span: Span::default() }
    }
}
