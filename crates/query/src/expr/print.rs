//! Bound expressions as text, for people who read plans.

use std::sync::Arc;

use telar_cypher::parser::Level;
use telar_graph::Value;

use super::{
    Binary, Expr, GraphFunction, Labels, ListComprehension, Quantifier, SubqueryKind, Unary,
};
use crate::batch::Slot;
use crate::function::apoc::graph as apoc;
use crate::ops::NormalForm;

/// Elements of a list or map that are written out; a plan is no place for thousands.
const ELEMENTS_MAX: usize = 8;

/// A value as it would be written in a query; of long lists and maps the beginning.
#[must_use]
pub fn literal(value: &Value) -> String {
    let call = |name: &str, text: String| format!("{name}('{text}')");
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(true) => "TRUE".into(),
        Value::Bool(false) => "FALSE".into(),
        Value::Int(n) => n.to_string(),
        Value::Float(n) => format!("{n:?}"),
        Value::String(text) => {
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
        }
        Value::List(items) => list(items.iter().map(literal), items.len()),
        Value::Map(map) => {
            let entries = map.iter().map(|(key, v)| format!("{}: {}", name(key), literal(v)));
            let inner = list(entries, map.len());
            format!("{{{}}}", &inner[1..inner.len() - 1])
        }
        Value::Date(v) => call("date", v.to_string()),
        Value::LocalTime(v) => call("localtime", v.to_string()),
        Value::Time(v) => call("time", v.to_string()),
        Value::LocalDateTime(v) => call("localdatetime", v.to_string()),
        Value::DateTime(v) => call("datetime", v.to_string()),
        Value::Duration(v) => call("duration", v.to_string()),
        Value::Point(v) => v.to_string(),
        Value::Vector(v) if v.dimension() <= ELEMENTS_MAX => v.to_string(),
        Value::Vector(v) => {
            format!("<VECTOR<{}>({})>", v.coordinate_type(), v.dimension())
        }
        Value::Bytes(bytes) => format!("<{} bytes>", bytes.len()),
        Value::Vertex(_) | Value::Edge(_) | Value::Path(_) => format!("<{}>", value.type_name()),
    }
}

fn list(items: impl Iterator<Item = String>, len: usize) -> String {
    let mut shown: Vec<String> = items.take(ELEMENTS_MAX).collect();
    if len > ELEMENTS_MAX {
        shown.push(format!("... {} more", len - ELEMENTS_MAX));
    }
    format!("[{}]", shown.join(", "))
}

/// A name, in backticks where a query needs them.
pub(crate) fn name(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    match name.chars().all(plain) && name.chars().next().is_some_and(|c| !c.is_numeric()) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A name in backticks.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Names of a query's variables, by slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer<'a>(pub(crate) &'a [Arc<str>]);

impl Printer<'_> {
    /// The name of a variable.
    pub(crate) fn slot(&self, slot: Slot) -> String {
        self.0.get(slot).map_or_else(|| format!("anon_{slot}"), |text| variable(text))
    }

    /// Names of variables, with commas.
    pub(crate) fn slots(&self, slots: impl IntoIterator<Item = Slot>) -> String {
        slots.into_iter().map(|slot| self.slot(slot)).collect::<Vec<_>>().join(", ")
    }

    /// An expression.
    pub(crate) fn expr(&self, e: &Expr) -> String {
        self.within(e, Level::Or)
    }

    /// Expressions, with commas.
    pub(crate) fn exprs<'e>(&self, items: impl IntoIterator<Item = &'e Expr>) -> String {
        items.into_iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ")
    }

    /// `name = expression` for columns that are computed; `name` for what is only passed on.
    pub(crate) fn assignments<'e>(
        &self,
        items: impl IntoIterator<Item = (Slot, &'e Expr)>,
    ) -> String {
        let one = |(slot, e): (Slot, &Expr)| {
            let (to, from) = (self.slot(slot), self.expr(e));
            // A column without a name of its own is called by its text.
            let same = to == from || self.0.get(slot).is_some_and(|name| **name == *from);
            if same { from } else { format!("{from} AS {to}") }
        };
        items.into_iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn within(&self, e: &Expr, least: Level) -> String {
        let text = self.text(e);
        if level(e) < least { format!("({text})") } else { text }
    }

    fn joined(&self, parts: &[Expr], word: &str, least: Level) -> String {
        parts.iter().map(|e| self.within(e, least)).collect::<Vec<_>>().join(word)
    }

    fn text(&self, e: &Expr) -> String {
        let access = |e: &Expr| self.within(e, Level::Access);
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match e {
            Expr::Const(value) => literal(value),
            Expr::Param(name) => format!("${name}"),
            Expr::Slot(slot) => self.slot(*slot),
            Expr::List(items) => format!("[{}]", self.exprs(items)),
            Expr::Map(entries) => format!("{{{}}}", self.entries(entries)),
            Expr::Property(object, key) => format!("{}.{}", access(object), name(key)),
            Expr::Index(object, index) => format!("{}[{}]", access(object), self.expr(index)),
            Expr::Slice(list, from, to) => {
                let side = |e: &Option<Box<Expr>>| e.as_ref().map(|e| self.expr(e));
                let (from, to) = (side(from).unwrap_or_default(), side(to).unwrap_or_default());
                format!("{}[{from}..{to}]", access(list))
            }
            Expr::Unary(Unary::Not, e) => format!("NOT {}", self.within(e, Level::Not)),
            Expr::Unary(Unary::Minus, e) => format!("-{}", self.within(e, Level::Access)),
            Expr::Unary(Unary::Plus, e) => format!("+{}", self.within(e, Level::Access)),
            Expr::Binary(op, left, right) => {
                let (level, word) = binary(*op);
                let right = self.within(right, level.tighter());
                let left = match level {
                    // `a < b < c` is another thing than `(a < b) < c`.
                    Level::Compare => self.within(left, level.tighter()),
                    _ => self.within(left, level),
                };
                format!("{left} {word} {right}")
            }
            Expr::Chain(first, rest) => {
                let mut text = self.within(first, level(e).tighter());
                for (op, operand) in rest {
                    let (level, word) = binary(*op);
                    text.push_str(&format!(" {word} {}", self.within(operand, level.tighter())));
                }
                text
            }
            Expr::And(parts) => self.joined(parts, " AND ", Level::Not),
            Expr::Or(parts) => self.joined(parts, " OR ", Level::Xor),
            Expr::Xor(parts) => self.joined(parts, " XOR ", Level::And),
            Expr::IsNull(e, negated) => {
                format!("{} IS {}NULL", self.within(e, Level::Add), not(negated))
            }
            Expr::IsTyped(e, ty, negated) => {
                format!("{} IS {}:: {ty}", self.within(e, Level::Add), not(negated))
            }
            Expr::IsNormalized(e, form, negated) => {
                let form = match form {
                    NormalForm::Nfc => "NFC",
                    NormalForm::Nfd => "NFD",
                    NormalForm::Nfkc => "NFKC",
                    NormalForm::Nfkd => "NFKD",
                };
                format!("{} IS {}{form} NORMALIZED", self.within(e, Level::Add), not(negated))
            }
            Expr::HasLabels(e, labels) => format!("{}:{}", access(e), self.labels(labels)),
            Expr::Function(f, arguments) => format!("{}({})", f.name, self.exprs(arguments)),
            Expr::UserFunction(f, arguments) => format!("{}({})", f.name, self.exprs(arguments)),
            Expr::GraphFunction(f, arguments) => {
                format!("{}({})", graph_function(*f), self.exprs(arguments))
            }
            Expr::Case(case) => self.case(case),
            Expr::ListComprehension(c) => {
                let projection = c.projection.as_ref().map(|e| format!(" | {}", self.expr(e)));
                format!("[{}{}]", self.element(c), projection.unwrap_or_default())
            }
            Expr::Quantifier(quantifier, c) => {
                let word = match quantifier {
                    Quantifier::All => "all",
                    Quantifier::Any => "any",
                    Quantifier::None => "none",
                    Quantifier::Single => "single",
                };
                format!("{word}({})", self.element(c))
            }
            Expr::Reduce(r) => format!(
                "reduce({} = {}, {} IN {} | {})",
                self.slot(r.accumulator),
                self.expr(&r.initial),
                self.slot(r.variable),
                self.expr(&r.list),
                self.expr(&r.step)
            ),
            Expr::MapProjection(m) => {
                let all = m.all.then(|| ".*".to_owned());
                let entries = (!m.entries.is_empty()).then(|| self.entries(&m.entries));
                let items: Vec<String> = all.into_iter().chain(entries).collect();
                format!("{}{{{}}}", access(&m.object), items.join(", "))
            }
            Expr::Path(slots) => format!("path({})", self.slots(slots.iter().copied())),
            // What it does is a plan of its own, shown below the operator.
            Expr::Subquery(subquery) => match subquery.kind {
                SubqueryKind::Exists => "EXISTS { ... }".into(),
                SubqueryKind::Count | SubqueryKind::Sum(_) => "COUNT { ... }".into(),
                SubqueryKind::Collect(_) => "COLLECT { ... }".into(),
                SubqueryKind::First(_) => "head(COLLECT { ... })".into(),
            },
        }
    }

    fn entries(&self, entries: &[(Arc<str>, Expr)]) -> String {
        let entry = |(key, e): &(Arc<str>, Expr)| format!("{}: {}", name(key), self.expr(e));
        entries.iter().map(entry).collect::<Vec<_>>().join(", ")
    }

    /// `variable IN list WHERE filter`
    fn element(&self, c: &ListComprehension) -> String {
        let filter = c.filter.as_ref().map(|e| format!(" WHERE {}", self.expr(e)));
        let (variable, list) = (self.slot(c.variable), self.expr(&c.list));
        format!("{variable} IN {list}{}", filter.unwrap_or_default())
    }

    fn case(&self, case: &super::Case) -> String {
        let operand = case.operand.as_ref();
        let mut text = "CASE".to_owned();
        if let Some((_, e)) = operand {
            text.push_str(&format!(" {}", self.expr(e)));
        }
        for (condition, value) in &case.branches {
            // `operand = value` was written as the value alone.
            let condition = match (condition, operand) {
                (Expr::Binary(Binary::Equal, left, right), Some((slot, _)))
                    if left.is_slot(*slot) =>
                {
                    self.expr(right)
                }
                _ => self.expr(condition),
            };
            text.push_str(&format!(" WHEN {condition} THEN {}", self.expr(value)));
        }
        if !matches!(case.default, Expr::Const(Value::Null)) {
            text.push_str(&format!(" ELSE {}", self.expr(&case.default)));
        }
        text + " END"
    }

    /// A condition on labels or types, as after a colon.
    pub(crate) fn labels(&self, labels: &Labels) -> String {
        let inner = |part: &Labels| match part {
            Labels::And(_) | Labels::Or(_) => format!("({})", self.labels(part)),
            _ => self.labels(part),
        };
        let joined =
            |parts: &[Labels], sign: &str| parts.iter().map(inner).collect::<Vec<_>>().join(sign);
        match labels {
            Labels::Name(label) => name(label),
            Labels::Dynamic(e, any) => {
                format!("${}({})", if *any { "any" } else { "all" }, self.expr(e))
            }
            Labels::Wildcard => "%".into(),
            Labels::Not(part) => format!("!{}", inner(part)),
            Labels::And(parts) => joined(parts, "&"),
            Labels::Or(parts) => joined(parts, "|"),
        }
    }
}

/// The name of a variable: what the binder made up is shown as it is.
fn variable(text: &str) -> String {
    if text.contains(['(', '@']) { text.to_owned() } else { name(text) }
}

fn level(e: &Expr) -> Level {
    match e {
        Expr::Or(_) => Level::Or,
        Expr::Xor(_) => Level::Xor,
        Expr::And(_) => Level::And,
        Expr::Unary(Unary::Not, _) => Level::Not,
        Expr::Binary(op, ..) => binary(*op).0,
        Expr::Chain(_, rest) => rest.first().map_or(Level::Access, |(op, _)| binary(*op).0),
        Expr::IsNull(..) | Expr::IsTyped(..) | Expr::IsNormalized(..) => Level::Predicate,
        Expr::Unary(..) => Level::Unary,
        Expr::Const(Value::Int(n)) if *n < 0 => Level::Unary,
        Expr::Const(Value::Float(n)) if n.is_sign_negative() => Level::Unary,
        _ => Level::Access,
    }
}

fn binary(op: Binary) -> (Level, &'static str) {
    match op {
        Binary::Add => (Level::Add, "+"),
        Binary::Subtract => (Level::Add, "-"),
        Binary::Concatenate => (Level::Add, "||"),
        Binary::Multiply => (Level::Multiply, "*"),
        Binary::Divide => (Level::Multiply, "/"),
        Binary::Modulo => (Level::Multiply, "%"),
        Binary::Power => (Level::Power, "^"),
        Binary::StartsWith => (Level::Predicate, "STARTS WITH"),
        Binary::EndsWith => (Level::Predicate, "ENDS WITH"),
        Binary::Contains => (Level::Predicate, "CONTAINS"),
        Binary::Matches => (Level::Predicate, "=~"),
        Binary::In => (Level::Predicate, "IN"),
        Binary::Equal => (Level::Compare, "="),
        Binary::NotEqual => (Level::Compare, "<>"),
        Binary::Less => (Level::Compare, "<"),
        Binary::LessOrEqual => (Level::Compare, "<="),
        Binary::Greater => (Level::Compare, ">"),
        Binary::GreaterOrEqual => (Level::Compare, ">="),
    }
}

fn graph_function(f: GraphFunction) -> &'static str {
    match f {
        GraphFunction::Id => "id",
        GraphFunction::ElementId => "elementId",
        GraphFunction::Labels => "labels",
        GraphFunction::Type => "type",
        GraphFunction::Properties => "properties",
        GraphFunction::Keys => "keys",
        GraphFunction::StartNode => "startNode",
        GraphFunction::EndNode => "endNode",
        GraphFunction::NodeOfNumber => "gds.util.asNode",
        GraphFunction::NodesOfNumbers => "gds.util.asNodes",
        GraphFunction::Apoc(at) => apoc::function(at).name,
    }
}
