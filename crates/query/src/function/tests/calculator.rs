//! A calculator of Cypher expressions for tests: just enough syntax to write examples as the TCK
//! and the manual write them, evaluated by nothing but the operators and functions tested.

use std::collections::HashMap;
use std::sync::Arc;

use telar_graph::Value;

use crate::error::{Detail, EvalError};
use crate::function::{Context, Moment, lookup};
use crate::ops::{self, NormalForm};

/// Why there is no value.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The text, from here on, is not an expression that the calculator knows.
    #[expect(dead_code, reason = "printed by tests that fail")]
    Syntax(String),
    /// The evaluation failed.
    Eval(EvalError),
}

impl From<EvalError> for Failure {
    fn from(error: EvalError) -> Self {
        Self::Eval(error)
    }
}

type Outcome = Result<Value, Failure>;

/// Variables and what they hold.
pub(crate) type Scope = HashMap<String, Value>;

/// The context of tests: 1984-10-11T12:31:14.645876123Z.
pub(crate) fn context() -> Context {
    Context::fixed(Moment { seconds: 466_345_874, nanos: 645_876_123 }, 7)
}

/// The value of an expression without variables.
pub(crate) fn evaluate(text: &str) -> Outcome {
    evaluate_in(text, &Scope::new())
}

/// The value of an expression.
pub(crate) fn evaluate_in(text: &str, scope: &Scope) -> Outcome {
    let context = context();
    let mut calculator = Calculator { rest: text.trim(), scope, context: &context };
    let value = calculator.binary(0)?;
    if calculator.rest.is_empty() { Ok(value) } else { Err(calculator.syntax()) }
}

struct Calculator<'a> {
    rest: &'a str,
    scope: &'a Scope,
    context: &'a Context,
}

type Binary = fn(&Value, &Value) -> Result<Value, EvalError>;

/// Binary operators by level, from the loosest; words are followed by a space.
const LEVELS: &[&[(&str, Binary)]] = &[
    &[("OR", ops::or)],
    &[("XOR", ops::xor)],
    &[("AND", ops::and)],
    // NOT stands here.
    &[],
    &[
        ("=~", ops::regex_match),
        ("=", |a, b| Ok(ops::eq(a, b))),
        ("<>", |a, b| Ok(ops::ne(a, b))),
        ("<=", |a, b| Ok(ops::le(a, b))),
        (">=", |a, b| Ok(ops::ge(a, b))),
        ("<", |a, b| Ok(ops::lt(a, b))),
        (">", |a, b| Ok(ops::gt(a, b))),
        ("STARTS WITH", |a, b| Ok(ops::starts_with(a, b))),
        ("ENDS WITH", |a, b| Ok(ops::ends_with(a, b))),
        ("CONTAINS", |a, b| ops::contains(a, b)),
        ("IN", ops::in_list),
    ],
    // IS NULL stands here.
    &[],
    &[("||", ops::concatenate), ("+", ops::add), ("-", ops::subtract)],
    &[("*", ops::multiply), ("/", ops::divide), ("%", ops::modulo)],
    &[("^", ops::power)],
];

impl<'a> Calculator<'a> {
    fn syntax(&self) -> Failure {
        Failure::Syntax(self.rest.chars().take(40).collect())
    }

    /// Consumes a mark, or a word in any case, and the space after it.
    fn eat(&mut self, wanted: &str) -> bool {
        let word = wanted.starts_with(char::is_alphabetic);
        let Some(found) = self.rest.get(..wanted.len()) else { return false };
        let after = &self.rest[wanted.len()..];
        let whole = !word || !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let eaten = found.eq_ignore_ascii_case(wanted) && whole;
        if eaten {
            self.rest = after.trim_start();
        }
        eaten
    }

    fn expect(&mut self, wanted: &str) -> Result<(), Failure> {
        if self.eat(wanted) { Ok(()) } else { Err(self.syntax()) }
    }

    fn binary(&mut self, level: usize) -> Outcome {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        if level == 3 {
            if self.eat("NOT") {
                return Ok(ops::not(&self.binary(level)?)?);
            }
            return self.binary(level + 1);
        }
        if level == 5 {
            return self.predicates(level + 1);
        }
        let mut left = self.binary(level + 1)?;
        let mut compared = false;
        loop {
            let found = operators.iter().find(|(sign, _)| self.eat(sign));
            let Some((_, operator)) = found else { return Ok(left) };
            // A chain of comparisons is not known here.
            if level == 4 && compared {
                return Err(self.syntax());
            }
            compared = true;
            let right = self.binary(level + 1)?;
            left = operator(&left, &right)?;
        }
    }

    /// `IS NULL` and its kin, after an operand.
    fn predicates(&mut self, operand: usize) -> Outcome {
        let mut value = self.binary(operand)?;
        loop {
            if self.eat("IS NOT NULL") {
                value = ops::is_not_null(&value);
            } else if self.eat("IS NULL") {
                value = ops::is_null(&value);
            } else if self.eat("IS NORMALIZED") {
                value = ops::is_normalized(&value, NormalForm::Nfc).unwrap();
            } else {
                return Ok(value);
            }
        }
    }

    fn unary(&mut self) -> Outcome {
        if self.rest.starts_with('-') {
            let digits = self.rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.');
            if digits {
                return self.postfix();
            }
            self.eat("-");
            return Ok(ops::negate(&self.unary()?)?);
        }
        if self.eat("+") {
            return Ok(ops::positive(&self.unary()?)?);
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Outcome {
        let mut value = self.primary()?;
        loop {
            if self.eat("[") {
                value = self.bracket(&value)?;
            } else if self.rest.starts_with('.') && !self.rest.starts_with("..") {
                self.eat(".");
                let name = self.name()?;
                value = ops::property(&value, &name)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// What follows `value[`.
    fn bracket(&mut self, value: &Value) -> Outcome {
        let from = if self.rest.starts_with("..") { None } else { Some(self.binary(0)?) };
        if self.eat("..") {
            let to = if self.rest.starts_with(']') { None } else { Some(self.binary(0)?) };
            self.expect("]")?;
            return Ok(ops::slice(value, from.as_ref(), to.as_ref())?);
        }
        self.expect("]")?;
        Ok(ops::index(value, &from.unwrap_or_default())?)
    }

    fn name(&mut self) -> Result<String, Failure> {
        if let Some(quoted) = self.rest.strip_prefix('`') {
            let (name, rest) = quoted.split_once('`').ok_or_else(|| self.syntax())?;
            self.rest = rest.trim_start();
            return Ok(name.to_owned());
        }
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if name.is_empty() {
            return Err(self.syntax());
        }
        self.rest = rest.trim_start();
        Ok(name.to_owned())
    }

    fn primary(&mut self) -> Outcome {
        match self.rest.chars().next() {
            Some('(') => {
                self.eat("(");
                let value = self.binary(0)?;
                self.expect(")")?;
                Ok(value)
            }
            Some('[') => {
                self.eat("[");
                Ok(Value::from(self.items("]")?))
            }
            Some('{') => self.map(),
            Some(quote @ ('\'' | '"')) => self.string(quote),
            Some('0'..='9' | '-' | '.') => self.number(),
            _ => self.named(),
        }
    }

    /// Expressions between commas.
    fn items(&mut self, end: &str) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        if self.eat(end) {
            return Ok(items);
        }
        loop {
            items.push(self.binary(0)?);
            if !self.eat(",") {
                self.expect(end)?;
                return Ok(items);
            }
        }
    }

    fn map(&mut self) -> Outcome {
        self.expect("{")?;
        let mut entries = Vec::new();
        while !self.eat("}") {
            let key = self.name()?;
            self.expect(":")?;
            entries.push((key, self.binary(0)?));
            if !self.eat(",") && !self.rest.starts_with('}') {
                return Err(self.syntax());
            }
        }
        Ok(Value::map(entries))
    }

    fn string(&mut self, quote: char) -> Outcome {
        let mut text = String::new();
        let mut chars = self.rest[1..].chars();
        loop {
            match chars.next().ok_or_else(|| self.syntax())? {
                c if c == quote => break,
                '\\' => text.push(match chars.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some(c @ ('\\' | '\'' | '"')) => c,
                    _ => return Err(self.syntax()),
                }),
                c => text.push(c),
            }
        }
        self.rest = chars.as_str().trim_start();
        Ok(Value::String(Arc::from(text)))
    }

    fn number(&mut self) -> Outcome {
        let bytes = self.rest.as_bytes();
        let mut end = usize::from(bytes[0] == b'-');
        while let Some(byte) = bytes.get(end) {
            let exponent_sign = matches!(bytes[end - usize::from(end > 0)], b'e' | b'E');
            let goes_on = byte.is_ascii_digit()
                || matches!(byte, b'e' | b'E')
                || *byte == b'.' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit)
                || matches!(byte, b'-' | b'+') && end > 0 && exponent_sign;
            if !goes_on {
                break;
            }
            end += 1;
        }
        let (digits, rest) = self.rest.split_at(end);
        let float = digits.contains(['.', 'e', 'E']);
        let value = if float {
            digits.parse().ok().map(Value::Float)
        } else {
            digits.parse().ok().map(Value::Int)
        };
        let value = value.ok_or_else(|| self.syntax())?;
        self.rest = rest.trim_start();
        Ok(value)
    }

    /// A constant, a variable or a call.
    fn named(&mut self) -> Outcome {
        let start = self.rest;
        let mut name = self.name()?;
        match name.to_ascii_lowercase().as_str() {
            "null" => return Ok(Value::Null),
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "nan" => return Ok(Value::Float(f64::NAN)),
            _ => {}
        }
        if let Some(value) = self.scope.get(&name) {
            return Ok(value.clone());
        }
        while self.eat(".") {
            name = format!("{name}.{}", self.name()?);
        }
        let function = lookup(&name).filter(|_| self.rest.starts_with('('));
        let Some(function) = function else {
            self.rest = start;
            return Err(self.syntax());
        };
        self.eat("(");
        let args = self.items(")")?;
        Ok(function.call(&args, self.context)?)
    }
}

/// Each expression has the value, and the type, of the other.
#[track_caller]
pub(crate) fn holds(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        let found = evaluate(expression).unwrap_or_else(|error| panic!("{expression}: {error:?}"));
        let expected = evaluate(expected).unwrap();
        assert_eq!(found, expected, "{expression}");
        assert_eq!(found.type_name(), expected.type_name(), "{expression}");
    }
}

/// Each expression fails so.
#[track_caller]
pub(crate) fn fails(cases: &[(&str, Detail)]) {
    for (expression, detail) in cases {
        match evaluate(expression) {
            Err(Failure::Eval(error)) => assert_eq!(error.detail, *detail, "{expression}: {error}"),
            other => panic!("{expression} is {other:?}, not {detail}"),
        }
    }
}

/// Each expression yields a value that is written so.
#[track_caller]
pub(crate) fn prints(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        let found = evaluate(expression).unwrap_or_else(|e| panic!("{expression}: {e:?}"));
        assert_eq!(shown(&found), *expected, "{expression}");
    }
}

/// A value as results show it, with the shortest text of times.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::LocalTime(x) => x.to_string(),
        Value::Time(x) => x.to_string(),
        Value::LocalDateTime(x) => x.to_string(),
        Value::DateTime(x) => x.to_string(),
        other => crate::ops::display::text_of(other).unwrap_or_default(),
    }
}
