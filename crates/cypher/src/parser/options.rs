//! What may stand before a statement: `EXPLAIN`, `PROFILE`, and `CYPHER` with options of Neo4j.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::Mode;
use crate::diagnostic::{Code, Detail, Diagnostic};
use crate::span::Span;
use crate::suggest::closest;
use crate::token::{Keyword, TokenKind as T};

/// Versions of the language that are read, all as one.
const VERSIONS: [&str; 2] = ["5", "25"];

/// The options of Neo4j 5 and their values. None changes a result, so all may be given and none
/// does anything.
const OPTIONS: [(&str, &[&str]); 11] = [
    ("connectComponentsPlanner", &["greedy", "idp"]),
    ("eagerAnalyzer", &["lp", "ir"]),
    ("expressionEngine", &["default", "interpreted", "compiled"]),
    ("inferSchemaParts", &["off", "most_selective_label"]),
    ("interpretedPipesFallback", &["default", "disabled", "whitelisted_plans_only", "all"]),
    ("operatorEngine", &["default", "interpreted", "compiled"]),
    ("planner", &["cost", "idp", "dp"]),
    ("replan", &["default", "force", "skip"]),
    ("runtime", &["interpreted", "slotted", "pipelined", "parallel", "legacy"]),
    ("statefulShortestPlanningMode", &["cardinality_heuristic", "all_if_possible", "into_only"]),
    ("updateStrategy", &["default", "eager"]),
];

impl Parser<'_> {
    /// Everything before the statement itself, in any order.
    pub(super) fn prefixes(&mut self) -> Parsed<Mode> {
        let mut mode = Mode::Run;
        loop {
            let (keyword, next) = match self.kind() {
                T::Keyword(Keyword::Explain) => (Keyword::Explain, Mode::Explain),
                T::Keyword(Keyword::Profile) => (Keyword::Profile, Mode::Profile),
                _ if self.is_word("CYPHER") => {
                    self.bump();
                    self.query_options()?;
                    continue;
                }
                _ => {
                    for word in ["EXPLAIN", "PROFILE", "CYPHER"] {
                        self.note(Expected::Hint(word));
                    }
                    return Ok(mode);
                }
            };
            if mode != Mode::Run && mode != next {
                let message = "EXPLAIN and PROFILE cannot be combined";
                return self.refuse(self.span(), message);
            }
            self.eat(keyword);
            mode = next;
        }
    }

    /// The version and options behind `CYPHER`.
    fn query_options(&mut self) -> Parsed<()> {
        let mut given: Vec<(&'static str, String)> = Vec::new();
        loop {
            if matches!(self.kind(), T::Integer | T::Float) {
                let span = self.bump().span;
                let version = span.text(self.source);
                if !VERSIONS.contains(&version) {
                    let message = format!("there is no Cypher {version} here");
                    let help = format!("versions of the language: {}", VERSIONS.join(", "));
                    return Err(invalid(span, message, help));
                }
                continue;
            }
            if !self.kind().is_name() || self.ahead(1) != T::Equal {
                return Ok(());
            }
            let name = self.name("an option")?;
            self.expect(T::Equal)?;
            let value = self.bump().span;
            let Some((option, values)) =
                OPTIONS.iter().find(|(option, _)| option.eq_ignore_ascii_case(&name.text))
            else {
                let message = format!("there is no option {}", name.text);
                let options = OPTIONS.map(|(option, _)| option);
                let help = match closest(&name.text, options) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("options: {}", options.join(", ")),
                };
                return Err(invalid(name.span, message, help));
            };
            let text = value.text(self.source).to_ascii_lowercase();
            if !values.contains(&text.as_str()) {
                let message = format!("{text} is no value of the option {option}");
                return Err(invalid(value, message, format!("values: {}", values.join(", "))));
            }
            if given.iter().any(|(before, other)| before == option && *other != text) {
                let message = format!("the option {option} has two values");
                return Err(invalid(value, message, "give it once".to_owned()));
            }
            given.push((option, text));
        }
    }
}

fn invalid(span: Span, message: String, help: String) -> Box<Diagnostic> {
    let error = Diagnostic::new(Code::ArgumentError, Detail::InvalidOption, span, message);
    Box::new(error.with_help(help))
}
