//! Static types: which types the values of an expression may have, as far as the text says.
//!
//! The rules are those of Neo4j 5.26, asked operator by operator and function by function: an
//! operand or argument that cannot have a type that is wanted is a syntax error. A parameter, an
//! entry of a map and `null` may have any type, a property of a node any that can be stored, and an
//! element of a list any of those that the list was written with.

use telar_cypher::ast::{
    ArithmeticLink, ArithmeticOp, Expr, ExprKind, FunctionCall, Literal, SubqueryKind, UnaryOp,
};
use telar_cypher::span::Span;

use super::Binder;
use super::scope::Kind;
use crate::query_error::QueryError;
use crate::{aggregate, function};

/// A set of types, and what the elements of its lists may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeSet {
    own: u32,
    elements: u32,
}

/// Most elements of a list that are looked at: more make it a list of anything.
const ELEMENTS_MAX: usize = 64;

/// TypeSet in the order of their bits, as messages name them.
const NAMES: [&str; 17] = [
    "BOOLEAN",
    "INTEGER",
    "FLOAT",
    "STRING",
    "LIST",
    "MAP",
    "NODE",
    "RELATIONSHIP",
    "PATH",
    "POINT",
    "DURATION",
    "DATE",
    "ZONED TIME",
    "LOCAL TIME",
    "ZONED DATETIME",
    "LOCAL DATETIME",
    "VECTOR",
];

/// The bits of all types.
const ALL: u32 = (1 << NAMES.len()) - 1;

impl TypeSet {
    pub(crate) const BOOL: Self = Self::bit(0);
    pub(crate) const INT: Self = Self::bit(1);
    pub(crate) const FLOAT: Self = Self::bit(2);
    pub(crate) const STRING: Self = Self::bit(3);
    pub(crate) const LIST: Self = Self { own: 1 << 4, elements: ALL };
    pub(crate) const MAP: Self = Self::bit(5);
    pub(crate) const NODE: Self = Self::bit(6);
    pub(crate) const RELATIONSHIP: Self = Self::bit(7);
    pub(crate) const PATH: Self = Self::bit(8);
    const POINT: Self = Self::bit(9);
    pub(crate) const DURATION: Self = Self::bit(10);
    /// Dates and times.
    pub(crate) const INSTANT: Self = Self { own: 0b1_1111 << 11, elements: 0 };
    pub(crate) const VECTOR: Self = Self::bit(16);
    pub(crate) const NUMBER: Self = Self::INT.or(Self::FLOAT);
    pub(crate) const ENTITY: Self = Self::NODE.or(Self::RELATIONSHIP);
    /// Types with entries: maps, nodes and relationships.
    pub(crate) const KEYED: Self = Self::ENTITY.or(Self::MAP);
    pub(crate) const ANY: Self = Self { own: ALL, elements: ALL };
    /// No type: of which a set is begun.
    const NONE: Self = Self { own: 0, elements: 0 };
    /// Types that can be stored.
    const PROPERTY: Self = Self { own: ALL & !(Self::KEYED.own | Self::PATH.own), elements: ALL };

    const fn bit(at: u32) -> Self {
        Self { own: 1 << at, elements: 0 }
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self { own: self.own | other.own, elements: self.elements | other.elements }
    }

    const fn list_of(elements: Self) -> Self {
        Self { own: Self::LIST.own, elements: elements.own }
    }

    /// True if a value of these types may be of one of those.
    pub(crate) const fn may_be(self, wanted: Self) -> bool {
        self.own & wanted.own != 0
    }

    /// The types of the elements of such a value, if it is a list.
    pub(crate) const fn element(self) -> Self {
        // What the lists inside of lists hold is not known.
        let own = if self.elements == 0 { ALL } else { self.elements };
        Self { own, elements: ALL }
    }

    /// The types of the rows that `UNWIND` makes of such a value: anything but a list is a list of
    /// one.
    pub(crate) const fn unwound(self) -> Self {
        let scalar = Self { own: self.own & !Self::LIST.own, elements: 0 };
        if self.may_be(Self::LIST) { scalar.or(self.element()) } else { scalar }
    }

    /// The types of a kind.
    pub(crate) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Any | Kind::Null => Self::ANY,
            Kind::Node => Self::NODE,
            Kind::Relationship => Self::RELATIONSHIP,
            Kind::Relationships => Self::list_of(Self::RELATIONSHIP),
            Kind::Path => Self::PATH,
            Kind::Bool => Self::BOOL,
            Kind::Int => Self::INT,
            Kind::Float => Self::FLOAT,
            Kind::String => Self::STRING,
            Kind::List => Self::LIST,
            Kind::Map => Self::MAP,
            Kind::Other => Self::POINT.or(Self::DURATION).or(Self::INSTANT).or(Self::VECTOR),
        }
    }

    /// The types of several kinds.
    pub(crate) fn of_kinds(kinds: &[Kind]) -> Self {
        kinds.iter().fold(Self::NONE, |all, kind| all.or(Self::of(*kind)))
    }

    /// The types that a signature names: `INTEGER | FLOAT`, `LIST<STRING>`.
    pub(crate) fn named(text: &str) -> Self {
        let mut found = Self::NONE;
        for name in text.split('|').map(str::trim) {
            found = found.or(match name.split_once('<') {
                Some(("LIST", of)) => Self::list_of(Self::named(of.trim_end_matches('>'))),
                Some(_) => return Self::ANY,
                None => match NAMES.iter().position(|known| *known == name) {
                    Some(4) => Self::LIST,
                    Some(at) => Self::bit(at as u32),
                    None => return Self::ANY,
                },
            });
        }
        found
    }

    fn names(self) -> String {
        if self == Self::PROPERTY {
            return "a property".to_owned();
        }
        let known = NAMES.iter().enumerate().filter(|(at, _)| self.own & (1 << at) != 0);
        known.map(|(_, name)| *name).collect::<Vec<_>>().join(" or ")
    }

    /// The union of what values may be; a `null` among them may be of any type.
    fn of_any<'e>(
        values: impl IntoIterator<Item = &'e Expr>,
        mut types: impl FnMut(&'e Expr) -> Self,
    ) -> Self {
        let mut found = Self::NONE;
        for value in values {
            found = found.or(types(value));
            if found.own == ALL {
                break;
            }
        }
        if found.own == 0 { Self::ANY } else { found }
    }

    /// The one type that elements of these types have in common: numbers, types with entries, and
    /// else any, unless there is only one.
    const fn in_common(self) -> Self {
        let alone = self.own.count_ones() == 1
            || self.own & !Self::NUMBER.own == 0
            || self.own & !Self::KEYED.own == 0
            || self.own == Self::PROPERTY.own;
        if alone { self } else { Self::ANY }
    }
}

/// Types that fit on the right of an operator whose left side has one of these.
fn right_of(left: TypeSet, op: ArithmeticOp) -> TypeSet {
    let num = TypeSet::NUMBER;
    // For each type on the left those that go with it.
    let pairs: &[(TypeSet, TypeSet)] = match op {
        ArithmeticOp::Add => &[
            (TypeSet::LIST, TypeSet::ANY),
            (TypeSet::ANY, TypeSet::LIST),
            (num, num.or(TypeSet::STRING)),
            (TypeSet::STRING, num.or(TypeSet::STRING)),
            (TypeSet::INSTANT, TypeSet::DURATION),
            (TypeSet::DURATION, TypeSet::DURATION.or(TypeSet::INSTANT)),
        ],
        ArithmeticOp::Subtract => {
            &[(num, num), (TypeSet::INSTANT.or(TypeSet::DURATION), TypeSet::DURATION)]
        }
        ArithmeticOp::Multiply => &[(num, num.or(TypeSet::DURATION)), (TypeSet::DURATION, num)],
        ArithmeticOp::Divide => &[(num.or(TypeSet::DURATION), num)],
        ArithmeticOp::Modulo | ArithmeticOp::Power => &[(num, num)],
        ArithmeticOp::Concatenate => {
            &[(TypeSet::STRING, TypeSet::STRING), (TypeSet::LIST, TypeSet::LIST)]
        }
    };
    let fitting = pairs.iter().filter(|(wanted, _)| left.may_be(*wanted));
    fitting.fold(TypeSet::NONE, |all, (_, right)| all.or(*right))
}

/// Types that fit on the left of an operator.
fn left_of(op: ArithmeticOp) -> TypeSet {
    match op {
        ArithmeticOp::Add => TypeSet::ANY,
        ArithmeticOp::Subtract => TypeSet::NUMBER.or(TypeSet::INSTANT).or(TypeSet::DURATION),
        ArithmeticOp::Multiply | ArithmeticOp::Divide => TypeSet::NUMBER.or(TypeSet::DURATION),
        ArithmeticOp::Modulo | ArithmeticOp::Power => TypeSet::NUMBER,
        ArithmeticOp::Concatenate => TypeSet::STRING.or(TypeSet::LIST),
    }
}

/// The types of `left op right`.
fn computed(left: TypeSet, op: ArithmeticOp, right: TypeSet) -> TypeSet {
    let only = |types: TypeSet, of: TypeSet| types.own & !of.own == 0;
    if only(left, TypeSet::INT) && only(right, TypeSet::INT) && op != ArithmeticOp::Power {
        return TypeSet::INT;
    }
    if only(left, TypeSet::NUMBER) && only(right, TypeSet::NUMBER) {
        return if op == ArithmeticOp::Power { TypeSet::FLOAT } else { TypeSet::NUMBER };
    }
    let added = matches!(op, ArithmeticOp::Add | ArithmeticOp::Concatenate);
    if added && (only(left, TypeSet::LIST) || only(right, TypeSet::LIST)) {
        let elements = |t: TypeSet| if only(t, TypeSet::LIST) { t.elements } else { t.own };
        let (left, right) = (elements(left), elements(right));
        return TypeSet { elements: if left == right { left } else { ALL }, ..TypeSet::LIST };
    }
    let text = TypeSet::STRING.or(TypeSet::NUMBER);
    if added && only(left, text) && only(right, text) {
        return TypeSet::STRING;
    }
    if only(left, TypeSet::DURATION) && only(right, TypeSet::DURATION.or(TypeSet::NUMBER)) {
        return TypeSet::DURATION;
    }
    if only(left, TypeSet::INSTANT) && only(right, TypeSet::DURATION) {
        return left;
    }
    TypeSet::ANY
}

/// The types that a function takes as its argument number `at`; the name is in lower case.
fn wanted(name: &str, at: usize) -> TypeSet {
    let (num, string) = (TypeSet::NUMBER, TypeSet::STRING);
    match (name, at) {
        (
            "abs"
            | "acos"
            | "asin"
            | "atan"
            | "atan2"
            | "ceil"
            | "ceiling"
            | "cos"
            | "cosh"
            | "cot"
            | "coth"
            | "degrees"
            | "exp"
            | "floor"
            | "haversin"
            | "isnan"
            | "ln"
            | "log"
            | "log10"
            | "radians"
            | "sign"
            | "sin"
            | "sinh"
            | "sqrt"
            | "tan"
            | "tanh"
            | "stdev"
            | "stdevp"
            | "datetime.fromepoch"
            | "datetime.fromepochmillis"
            | "percentilecont"
            | "percentiledisc",
            _,
        )
        | ("round", 0 | 1) => num,
        ("avg" | "sum", _) => num.or(TypeSet::DURATION),
        (
            "btrim" | "char_length" | "character_length" | "lower" | "upper" | "tolower"
            | "toupper" | "trim" | "ltrim" | "rtrim" | "replace" | "normalize",
            _,
        )
        | ("left" | "right" | "substring" | "split", 0)
        | (
            "date.truncate"
            | "time.truncate"
            | "localtime.truncate"
            | "datetime.truncate"
            | "localdatetime.truncate",
            0,
        )
        | ("round", 2) => string,
        (
            "date.truncate"
            | "time.truncate"
            | "localtime.truncate"
            | "datetime.truncate"
            | "localdatetime.truncate",
            2,
        )
        | ("keys" | "properties" | "point", _) => TypeSet::KEYED,
        ("id" | "elementid", _) => TypeSet::ENTITY,
        ("startnode" | "endnode" | "type", _) => TypeSet::RELATIONSHIP,
        ("labels", _) => TypeSet::NODE,
        ("length" | "nodes" | "relationships", _) => TypeSet::PATH,
        ("head" | "last" | "tail" | "tobooleanlist" | "tostringlist", _) => TypeSet::LIST,
        (
            "tofloatlist"
            | "tointegerlist"
            | "vector.similarity.cosine"
            | "vector.similarity.euclidean",
            _,
        ) => TypeSet::LIST.or(TypeSet::VECTOR),
        ("vector", 0) => string.or(TypeSet::LIST),
        ("vector", 1) => TypeSet::INT,
        ("vector_distance", 0 | 1) | ("vector_norm" | "vector_dimension_count", 0) => {
            TypeSet::VECTOR
        }
        ("isempty", _) => string.or(TypeSet::LIST).or(TypeSet::KEYED),
        ("size", _) => string.or(TypeSet::LIST).or(TypeSet::VECTOR),
        ("reverse", _) | ("split", 1) => string.or(TypeSet::LIST),
        // Not `range`: openCypher has it fail when it runs.
        ("left" | "right" | "substring", _) => TypeSet::INT,
        ("toboolean", _) => TypeSet::BOOL.or(TypeSet::INT).or(string),
        ("tofloat", _) => num.or(string),
        ("tointeger", _) => num.or(string).or(TypeSet::BOOL).or(TypeSet::LIST),
        ("tostring", _) => {
            let none = TypeSet::LIST.own | TypeSet::VECTOR.own;
            TypeSet { own: TypeSet::PROPERTY.own & !none, elements: 0 }
        }
        _ => TypeSet::ANY,
    }
}

impl Binder<'_> {
    /// Refuses an expression that can never have one of these types.
    pub(crate) fn expect_types(&self, e: &Expr, wanted: TypeSet) -> Result<(), QueryError> {
        self.fitting(self.types_of(e), wanted, e.span)
    }

    /// As [`expect_types`](Self::expect_types), for a value of which no more is known.
    pub(super) fn fitting(
        &self,
        found: TypeSet,
        wanted: TypeSet,
        span: Span,
    ) -> Result<(), QueryError> {
        if found.may_be(wanted) {
            return Ok(());
        }
        let message = format!("expected {}, found {}", wanted.names(), found.names());
        Err(self.syntax("InvalidArgumentType", message, span))
    }

    /// Refuses what can never be a name that is given as a value, or several of them.
    pub(crate) fn expect_name(&self, e: &Expr, wanted: TypeSet) -> Result<(), QueryError> {
        if let ExprKind::Literal(Literal::Null) = &e.kind {
            return Err(self.syntax("InvalidArgumentType", "null is not a name", e.span));
        }
        self.expect_types(e, wanted)
    }

    /// Refuses operands of a chain of operators that can never go together.
    pub(super) fn check_operands(
        &self,
        first: &Expr,
        rest: &[ArithmeticLink],
    ) -> Result<(), QueryError> {
        let mut left = self.types_of(first);
        let mut span = first.span;
        for ArithmeticLink { op, operand } in rest {
            let right = self.types_of(operand);
            self.fitting(left, left_of(*op), span)?;
            self.fitting(right, right_of(left, *op), operand.span)?;
            left = computed(left, *op, right);
            span = operand.span;
        }
        Ok(())
    }

    /// Refuses arguments that a function can never take.
    pub(super) fn check_arguments(&self, call: &FunctionCall) -> Result<(), QueryError> {
        let name = call.name.dotted().to_ascii_lowercase();
        for (at, argument) in call.arguments.iter().enumerate() {
            let wanted = wanted(&name, at);
            if wanted != TypeSet::ANY {
                self.expect_types(argument, wanted)?;
            }
        }
        Ok(())
    }

    /// Refuses `object[index]` where they can never go together.
    pub(super) fn check_index(&self, object: &Expr, index: &Expr) -> Result<(), QueryError> {
        let of = self.types_of(object);
        if of == TypeSet::PROPERTY {
            return self.expect_types(index, TypeSet::INT);
        }
        let mut wanted = TypeSet::NONE;
        if of.may_be(TypeSet::LIST) {
            wanted = wanted.or(TypeSet::INT);
        }
        let texts = TypeSet::KEYED.or(TypeSet::INSTANT).or(TypeSet::DURATION);
        if of.may_be(texts) {
            wanted = wanted.or(TypeSet::STRING);
        }
        match wanted {
            TypeSet::NONE => self.fitting(of, texts.or(TypeSet::LIST), object.span),
            wanted if of.own == ALL => {
                debug_assert!(wanted.may_be(TypeSet::INT), "anything may be a list");
                Ok(())
            }
            wanted => self.expect_types(index, wanted),
        }
    }

    /// The types that an expression's values may have.
    pub(crate) fn types_of(&self, e: &Expr) -> TypeSet {
        match &e.kind {
            ExprKind::List(items) if items.len() > ELEMENTS_MAX => TypeSet::LIST,
            ExprKind::List(items) => {
                TypeSet::list_of(TypeSet::of_any(items, |item| self.types_of(item)).in_common())
            }
            ExprKind::ListComprehension(c) if c.projection.is_none() => {
                TypeSet { own: TypeSet::LIST.own, ..self.types_of(&c.list) }
            }
            ExprKind::Slice { list, .. } => {
                TypeSet { own: TypeSet::LIST.own, ..self.types_of(list) }
            }
            ExprKind::Variable(name) => {
                self.scope.find(&name.text).map_or(TypeSet::ANY, |v| v.types)
            }
            ExprKind::Property { object, .. } => match self.types_of(object) {
                TypeSet { own, .. } if own & !TypeSet::ENTITY.own == 0 => TypeSet::PROPERTY,
                _ => TypeSet::ANY,
            },
            ExprKind::Index { object, .. } => match self.types_of(object) {
                of if of.own == TypeSet::LIST.own => of.element(),
                _ => TypeSet::ANY,
            },
            ExprKind::Unary { op: UnaryOp::Minus | UnaryOp::Plus, operand } => {
                self.types_of(operand)
            }
            ExprKind::Arithmetic { first, rest } => {
                rest.iter().fold(self.types_of(first), |left, link| {
                    computed(left, link.op, self.types_of(&link.operand))
                })
            }
            ExprKind::Case(case) => {
                let values = case.branches.iter().map(|branch| &branch.value);
                TypeSet::of_any(values.chain(&case.default), |e| self.types_of(e))
            }
            ExprKind::Subquery(subquery) => match subquery.kind {
                SubqueryKind::Exists => TypeSet::BOOL,
                SubqueryKind::Count => TypeSet::INT,
                SubqueryKind::Collect => TypeSet::LIST,
            },
            ExprKind::Function(call) => self.result_types(call),
            _ => TypeSet::of(self.kind_of(e)),
        }
    }

    /// The types that a call of a function may yield.
    fn result_types(&self, call: &FunctionCall) -> TypeSet {
        let name = call.name.dotted().to_ascii_lowercase();
        let arguments = || TypeSet::of_any(&call.arguments, |e| self.types_of(e));
        match name.as_str() {
            "coalesce" | "max" | "min" | "reverse" => arguments(),
            "collect" => TypeSet::list_of(arguments()),
            "head" | "last" => arguments().element(),
            "tail" => TypeSet { own: TypeSet::LIST.own, ..arguments() },
            "startnode" | "endnode" | "gds.util.asnode" => TypeSet::NODE,
            "nodes" => TypeSet::list_of(TypeSet::NODE),
            "relationships" => TypeSet::list_of(TypeSet::RELATIONSHIP),
            "labels" | "keys" => TypeSet::list_of(TypeSet::STRING),
            "type" | "elementid" => TypeSet::STRING,
            "id" => TypeSet::INT,
            "properties" => TypeSet::MAP,
            "exists" => TypeSet::BOOL,
            _ => {
                let signature = function::lookup(&name).map(|f| f.signature).or_else(|| {
                    let mut all = aggregate::all().iter();
                    all.find(|f| f.name.eq_ignore_ascii_case(&name)).map(|f| f.signature)
                });
                let result = signature.and_then(|text| text.rsplit_once(") :: "));
                result.map_or(TypeSet::ANY, |(_, result)| TypeSet::named(result))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_name_types() {
        assert_eq!(TypeSet::named("INTEGER | FLOAT"), TypeSet::NUMBER);
        assert_eq!(TypeSet::named("LIST<STRING>"), TypeSet::list_of(TypeSet::STRING));
        assert_eq!(TypeSet::named("ANY"), TypeSet::ANY);
        assert_eq!(TypeSet::named("LOCAL DATETIME"), TypeSet::bit(15));
        assert_eq!(TypeSet::named("LIST<ANY>").element(), TypeSet::ANY);
    }

    #[test]
    fn elements_are_what_a_list_was_written_with() {
        let list = TypeSet::list_of(TypeSet::BOOL);
        assert!(!list.element().may_be(TypeSet::NUMBER));
        assert!(!list.unwound().may_be(TypeSet::LIST));
        assert!(TypeSet::STRING.unwound().may_be(TypeSet::STRING));
        assert!(TypeSet::PROPERTY.unwound().may_be(TypeSet::STRING));
    }

    #[test]
    fn operators_know_what_goes_together() {
        let add = |left| right_of(left, ArithmeticOp::Add);
        assert!(!add(TypeSet::STRING).may_be(TypeSet::BOOL));
        assert!(
            add(TypeSet::BOOL).may_be(TypeSet::LIST) && !add(TypeSet::BOOL).may_be(TypeSet::STRING)
        );
        assert!(add(TypeSet::PROPERTY).may_be(TypeSet::PATH), "a list may be stored");
        assert_eq!(computed(TypeSet::INT, ArithmeticOp::Power, TypeSet::INT), TypeSet::FLOAT);
    }
}
