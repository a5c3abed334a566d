//! What is wrong with a text, in a form that programs and people can use.

use std::error::Error;
use std::fmt;

use crate::span::Span;

/// One thing that is wrong.
///
/// It is made for every stage that reads a query, not only the parser: names that are not found,
/// types that do not fit, values that are out of range.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The class, as drivers know it.
    pub code: Code,
    /// The detail, as the openCypher TCK names it.
    pub detail: Detail,
    /// One sentence without a full stop, in small letters.
    pub message: String,
    /// Where.
    pub span: Span,
    /// Other places that matter, and why.
    pub notes: Vec<(Span, String)>,
    /// What to do, one sentence.
    pub help: Option<String>,
}

/// Longest part of a line that an excerpt shows, in characters.
const EXCERPT_CHARS_MAX: usize = 100;

impl Diagnostic {
    /// A syntax error.
    pub fn syntax(detail: Detail, span: Span, message: impl Into<String>) -> Self {
        Self::new(Code::SyntaxError, detail, span, message)
    }

    /// An error of any class.
    pub fn new(code: Code, detail: Detail, span: Span, message: impl Into<String>) -> Self {
        Self { code, detail, message: message.into(), span, notes: Vec::new(), help: None }
    }

    /// With a sentence about what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With another place that matters.
    #[must_use]
    pub fn with_note(mut self, span: Span, note: impl Into<String>) -> Self {
        self.notes.push((span, note.into()));
        self
    }

    /// Message, place, excerpt with carets, notes and help, for people: several lines.
    ///
    /// *Cost*: linear in `source`.
    pub fn render(&self, source: &str) -> String {
        let mut text = format!("{}: {}\n", self.detail, self.message);
        excerpt(&mut text, source, self.span);
        for (span, note) in &self.notes {
            text.push_str(&format!("note: {note}\n"));
            excerpt(&mut text, source, *span);
        }
        if let Some(help) = &self.help {
            text.push_str(&format!("help: {help}\n"));
        }
        text
    }
}

/// `Detail: message`, without a place, which only the source can tell.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.detail, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl Error for Diagnostic {}

/// A place as people count: both numbers begin at 1, columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl Position {
    /// Where byte `offset` of `source` is, or the character it is in; the end beyond the end.
    ///
    /// *Cost*: linear in `offset`.
    pub fn of(source: &str, offset: u32) -> Position {
        let before = &source[..source.floor_char_boundary(offset as usize)];
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position { line, column: before[start..].chars().count() + 1 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The line of `span` with carets below it. Of a long line, the part around the span.
fn excerpt(text: &mut String, source: &str, span: Span) {
    let position = Position::of(source, span.start());
    let offset = source.floor_char_boundary(span.start() as usize);
    let start = source[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let line = source[start..].lines().next().unwrap_or_default();
    let chars: Vec<char> = line.chars().collect();
    let first = (position.column - 1).min(chars.len());
    let width = span.text(source).lines().next().map_or(0, |part| part.chars().count()).max(1);

    let from = if first < EXCERPT_CHARS_MAX { 0 } else { first - EXCERPT_CHARS_MAX / 2 };
    let to = (from + EXCERPT_CHARS_MAX).min(chars.len());
    let (head, tail) =
        (if from > 0 { "..." } else { "" }, if to < chars.len() { "..." } else { "" });
    let shown: String = chars[from..to].iter().collect();
    // Tabs stay tabs, so that the carets stand where the terminal puts the text.
    let blank = |c: &char| if *c == '\t' { '\t' } else { ' ' };
    let indent: String =
        head.chars().map(|_| ' ').chain(chars[from..first].iter().map(blank)).collect();
    let carets = "^".repeat(width.min((to + 1).saturating_sub(first).max(1)));

    let number = position.line.to_string();
    let margin = " ".repeat(number.len());
    text.push_str(&format!("{margin} --> {position}\n"));
    text.push_str(format!("{number} | {head}{shown}{tail}").trim_end());
    text.push('\n');
    text.push_str(&format!("{margin} | {indent}{carets}\n"));
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident $text:literal,)+) => {
        /// Classes of errors, as drivers know them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// The code with its category, such as `Neo.ClientError.Statement.SyntaxError`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => concat!("Neo.ClientError.", $text),)+ }
            }
        }
    };
}

codes! {
    /// The text is no query, or its names and types do not fit; found before it runs.
    SyntaxError "Statement.SyntaxError",
    /// The query asks for what cannot be.
    SemanticError "Statement.SemanticError",
    /// A value has the wrong type.
    TypeError "Statement.TypeError",
    /// A value has the right type and is not allowed.
    ArgumentError "Statement.ArgumentError",
    /// A result has no value: division by zero, overflow.
    ArithmeticError "Statement.ArithmeticError",
    /// A parameter was not given.
    ParameterMissing "Statement.ParameterMissing",
    /// Something was deleted, or never there.
    EntityNotFound "Statement.EntityNotFound",
    /// There is no such procedure.
    ProcedureNotFound "Procedure.ProcedureNotFound",
    /// A procedure failed.
    ProcedureCallFailed "Procedure.ProcedureCallFailed",
    /// A constraint of the schema, or of the graph itself, would be broken.
    ConstraintValidationFailed "Schema.ConstraintValidationFailed",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! details {
    ($($name:ident,)+) => {
        /// Details of errors, as the openCypher TCK names them.
        #[expect(missing_docs, reason = "the TCK's own words say what they mean")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Detail {
            $($name,)+
        }

        impl Detail {
            /// The TCK's word.
            pub fn as_str(self) -> &'static str {
                match self { $(Detail::$name => stringify!($name),)+ }
            }
        }
    };
}

details! {
    AmbiguousAggregationExpression,
    ColumnNameConflict,
    CreatingVarLength,
    DeleteConnectedNode,
    DeletedEntityAccess,
    DifferentColumnsInUnion,
    FloatingPointOverflow,
    IntegerOverflow,
    InvalidAggregation,
    InvalidArgumentExpression,
    InvalidArgumentPassingMode,
    InvalidArgumentType,
    InvalidArgumentValue,
    InvalidClauseComposition,
    InvalidDelete,
    InvalidNumberLiteral,
    InvalidNumberOfArguments,
    InvalidOption,
    InvalidParameterUse,
    InvalidPropertyType,
    InvalidRelationshipPattern,
    InvalidUnicodeCharacter,
    InvalidUnicodeLiteral,
    ListElementAccessByNonInteger,
    MapElementAccessByNonString,
    MergeReadOwnWrites,
    MissingParameter,
    NegativeIntegerArgument,
    NestedAggregation,
    NoExpressionAlias,
    NoSingleRelationshipType,
    NoVariablesInScope,
    NonConstantExpression,
    NumberOutOfRange,
    ProcedureNotFound,
    RelationshipUniquenessViolation,
    RequiresDirectedRelationship,
    UndefinedVariable,
    UnexpectedSyntax,
    UnknownFunction,
    VariableAlreadyBound,
    VariableTypeConflict,
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// All that is wrong with one statement: at least one [`Diagnostic`], in the order of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// The errors in `rest`, after `first`.
    pub fn new(first: Diagnostic, rest: impl IntoIterator<Item = Diagnostic>) -> Self {
        let mut all: Vec<Diagnostic> = std::iter::once(first).chain(rest).collect();
        all.sort_by_key(|diagnostic| diagnostic.span.start());
        Self(all)
    }

    /// The first one in the text: the others may follow from it.
    pub fn first(&self) -> &Diagnostic {
        self.0.first().expect("INVARIANT: `new` puts at least one in")
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }

    /// All of them, rendered one below the other.
    pub fn render(&self, source: &str) -> String {
        let parts: Vec<String> = self.iter().map(|diagnostic| diagnostic.render(source)).collect();
        parts.join("\n")
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first())?;
        match self.0.len() - 1 {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}

impl Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        let source = "äb\ncd\n";
        for (offset, line, column) in [(0, 1, 1), (2, 1, 2), (4, 2, 1), (7, 3, 1), (99, 3, 1)] {
            assert_eq!(Position::of(source, offset), Position { line, column });
        }
    }

    #[test]
    fn excerpts_of_long_lines_show_the_part_around_the_span() {
        let source = format!("{}here{}", "x".repeat(5000), "y".repeat(5000));
        let diagnostic =
            Diagnostic::syntax(Detail::UnexpectedSyntax, Span::new(5000, 5004), "there")
                .with_note(Span::new(0, 1), "the beginning")
                .with_help("shorten it");
        let (half, most) = ("x".repeat(50), "x".repeat(100));
        let expected = [
            "UnexpectedSyntax: there".to_owned(),
            "  --> line 1, column 5001".to_owned(),
            format!("1 | ...{half}here{}...", "y".repeat(46)),
            format!("  | {}^^^^", " ".repeat(53)),
            "note: the beginning".to_owned(),
            "  --> line 1, column 1".to_owned(),
            format!("1 | {most}..."),
            "  | ^".to_owned(),
            "help: shorten it\n".to_owned(),
        ];
        assert_eq!(diagnostic.render(&source), expected.join("\n"));
    }

    #[test]
    fn excerpts_survive_spans_of_another_text() {
        for (start, end) in [(0, 0), (1, 2), (2, 9), (700, 800)] {
            let span = Span::new(start, end);
            Diagnostic::syntax(Detail::UnexpectedSyntax, span, "x").render("ä\n\tb");
            Diagnostic::syntax(Detail::UnexpectedSyntax, span, "x").render("");
        }
    }
}
