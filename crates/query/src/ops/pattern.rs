//! Regular expressions: the patterns of `=~`.
//!
//! A pattern comes from whoever wrote the statement, and so may the text. Two bounds keep both from
//! holding a thread or the memory of a server:
//!
//! - What a pattern costs before its automaton has a size is bounded by a look at its syntax tree:
//!   `\pL` are three bytes, and 5 KiB and some ten microseconds for whoever compiles them.
//! - A match that may take long goes byte by byte, through an automaton whose states are made
//!   when they are met, and looks whether the statement goes on. The crate `regex` cannot be
//!   interrupted.
//!
//! ```text
//!  states × bytes ≤ STEPS_DIRECT ──► meta::Regex, as the crate `regex` has it
//!                 more           ──► hybrid DFA, in pieces ──(\b beside other than ASCII)──► NFA
//! ```
//!
//! Cost: time linear in the text for any pattern, with the number of states as the factor at worst.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{NFA, State, WhichCaptures};
use regex_automata::{Anchored, Input, meta};
use regex_syntax::ast::{self, Ast};
use telar_graph::Value;

use crate::error::EvalError;
use crate::query_error::ErrorKind;
use crate::watch;

/// Longest pattern. One of literals alone has an automaton of this size from 10 MiB on.
const PATTERN_BYTES_MAX: usize = 512 << 10;

/// Bytes that a syntax tree takes for a byte of the pattern, at most.
const TREE_BYTES: usize = 256;

/// Largest automaton, as in the crate `regex`.
const AUTOMATON_BYTES_MAX: usize = 10 << 20;

/// Most memory for states of the automaton that are made as they are met, as in the crate `regex`.
const CACHE_BYTES: usize = 2 << 20;

/// Most work to make sets of characters, in units of a microsecond or so.
const CLASS_COST_MAX: usize = 1 << 16;

/// States times bytes of a text that may be looked at without a look at the clock.
const STEPS_DIRECT: usize = 1 << 24;

/// Bytes of memory of a state, about.
const STATE_BYTES: usize = 32;

/// Most bytes of a text between two looks at the clock.
const PIECE_BYTES_MAX: usize = 64 << 10;

/// Time between two looks at the clock that is aimed at.
const PIECE_TIME: Duration = Duration::from_millis(1);

/// A pattern of `=~`, compiled once and matched often.
///
/// The syntax is that of the crate `regex`, which is Java's without look-around, back references
/// and possessive quantifiers; in exchange a match takes time linear in the text.
#[derive(Debug, Clone)]
pub struct CompiledRegex {
    regex: meta::Regex,
    /// States of its automata, about.
    states: usize,
    /// The pattern as it was compiled.
    whole: String,
    /// For long matches; made with the first one.
    long: OnceLock<Box<Long>>,
}

/// An automaton that is walked byte by byte.
#[derive(Debug, Clone)]
struct Long {
    nfa: NFA,
    /// With the states that were met so far.
    dfa: Option<(DFA, RefCell<Cache>)>,
}

impl CompiledRegex {
    /// Compiles a pattern that must match the whole text.
    ///
    /// # Errors
    ///
    /// `InvalidArgumentValue` when the pattern is not a regular expression, is longer than 512 KiB,
    /// has too many large sets of characters, or its automaton would be larger than 10 MiB;
    /// `MemoryBudgetExceeded`, `Terminated`, `TimedOut`.
    pub fn new(pattern: &str) -> Result<Self, EvalError> {
        check(pattern)?;
        let whole = |end: &str| compile(format!("\\A(?:{pattern}{end})\\z"));
        let alone = || compile(pattern.to_owned());
        let compiled = match whole("") {
            // A pattern that closes a group may close ours, as `a)(b` does: is it valid alone?
            Ok(regex) if pattern.contains(')') => alone().map(|_| regex),
            Ok(regex) => Ok(regex),
            // A pattern that is valid, but not in a group, ends in a comment of (?x), which a line
            // feed ends.
            Err(_) => alone().and_then(|_| whole("\n")),
        };
        compiled.map_err(|error| invalid(&error))
    }

    /// True if the pattern matches all of `text`; null unless that is a string.
    ///
    /// # Errors
    ///
    /// `Terminated`, `TimedOut`, `MemoryBudgetExceeded`.
    pub fn is_match(&self, text: &Value) -> Result<Value, EvalError> {
        let Value::String(text) = text else { return Ok(Value::Null) };
        if text.len().saturating_mul(self.states) <= STEPS_DIRECT {
            return Ok(Value::Bool(self.regex.is_match(&**text)));
        }
        let long = match self.long.get() {
            Some(long) => long,
            None => {
                watch::room(AUTOMATON_BYTES_MAX)?;
                let long = Long::new(&self.whole).map_err(|error| invalid(&error))?;
                self.long.get_or_init(|| Box::new(long))
            }
        };
        long.is_match(text.as_bytes()).map(Value::Bool)
    }
}

fn invalid(reason: &str) -> EvalError {
    EvalError::argument_value(format!("invalid pattern: {reason}")).of_kind(ErrorKind::Semantic)
}

/// Compiles as the crate `regex` does, with its words for what is wrong.
fn compile(whole: String) -> Result<CompiledRegex, String> {
    let config = meta::Config::new()
        .nfa_size_limit(Some(AUTOMATON_BYTES_MAX))
        .hybrid_cache_capacity(CACHE_BYTES);
    match meta::Builder::new().configure(config).build(&whole) {
        Ok(regex) => {
            let states = regex.memory_usage() / STATE_BYTES + 1;
            Ok(CompiledRegex { regex, states, whole, long: OnceLock::new() })
        }
        Err(error) => Err(match (error.size_limit(), error.syntax_error()) {
            (Some(limit), _) => format!("Compiled regex exceeds size limit of {limit} bytes."),
            (None, Some(error)) => error.to_string(),
            (None, None) => error.to_string(),
        }),
    }
}

/// Refuses what would take long, or much memory, to compile.
fn check(pattern: &str) -> Result<(), EvalError> {
    watch::check()?;
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(invalid(&format!(
            "it has {} bytes, and a regular expression may have {PATTERN_BYTES_MAX}",
            pattern.len()
        )));
    }
    watch::room(pattern.len() * TREE_BYTES)?;
    // What is no pattern is told by whoever compiles it.
    let Ok(tree) = ast::parse::Parser::new().parse(pattern) else { return Ok(()) };
    let cost = Cost { any_case: false, ranges: 0, sets: 0 };
    let Ok(cost) = ast::visit(&tree, cost) else { return Ok(()) };
    if cost > CLASS_COST_MAX {
        let what = "it has too many sets of characters, as \\w and \\p{L}; write less of them, or \
                    without (?i), or give the text to several expressions";
        return Err(invalid(what));
    }
    watch::check()
}

/// Cost of the sets of characters of a pattern.
struct Cost {
    /// Somewhere upper and lower case are the same.
    any_case: bool,
    /// Characters in ranges, added up.
    ranges: usize,
    /// Sets that Unicode defines.
    sets: usize,
}

impl Cost {
    /// Microseconds to make a set, about, and to add the other case of its characters.
    const SET: usize = 32;
    const SET_ANY_CASE: usize = 256;
    /// Characters of a range whose other case is found in a microsecond.
    const CASED: usize = 64;

    fn flags(&mut self, flags: &ast::Flags) {
        self.any_case |= flags.flag_state(ast::Flag::CaseInsensitive) == Some(true);
    }
}

impl ast::Visitor for Cost {
    type Output = usize;
    type Err = ();

    fn finish(self) -> Result<usize, ()> {
        let (set, ranges) = match self.any_case {
            true => (Self::SET_ANY_CASE, self.ranges / Self::CASED),
            false => (Self::SET, 0),
        };
        Ok(self.sets.saturating_mul(set).saturating_add(ranges))
    }

    fn visit_pre(&mut self, tree: &Ast) -> Result<(), ()> {
        match tree {
            Ast::Flags(flags) => self.flags(&flags.flags),
            Ast::Group(group) => {
                if let ast::GroupKind::NonCapturing(flags) = &group.kind {
                    self.flags(flags);
                }
            }
            Ast::ClassUnicode(_) | Ast::ClassPerl(_) => self.sets += 1,
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), ()> {
        match item {
            ast::ClassSetItem::Unicode(_) | ast::ClassSetItem::Perl(_) => self.sets += 1,
            ast::ClassSetItem::Range(range) => {
                let characters = (range.end.c as usize).saturating_sub(range.start.c as usize);
                self.ranges = self.ranges.saturating_add(characters);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Long {
    fn new(whole: &str) -> Result<Self, String> {
        let config = NFA::config()
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(AUTOMATON_BYTES_MAX));
        let nfa = NFA::compiler().configure(config).build(whole).map_err(|e| e.to_string())?;
        let config = DFA::config()
            .unicode_word_boundary(true)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa.clone()).ok();
        let dfa = dfa.map(|dfa| (dfa.clone(), RefCell::new(dfa.create_cache())));
        Ok(Self { nfa, dfa })
    }

    fn is_match(&self, text: &[u8]) -> Result<bool, EvalError> {
        let walked = |(dfa, cache): &(_, RefCell<_>)| walk(dfa, &mut cache.borrow_mut(), text);
        let known = self.dfa.as_ref().map(walked).transpose()?;
        match known.flatten() {
            Some(found) => Ok(found),
            None => simulate(&self.nfa, text),
        }
    }
}

/// True if a deterministic automaton accepts a text; `None` if it cannot tell, as beside `\b` and
/// characters beyond ASCII.
fn walk(dfa: &DFA, cache: &mut Cache, text: &[u8]) -> Result<Option<bool>, EvalError> {
    let input = Input::new(text).anchored(Anchored::Yes);
    let Ok(mut state) = dfa.start_state_forward(cache, &input) else { return Ok(None) };
    let (mut rest, mut piece) = (text, 16);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(piece.min(rest.len()));
        let began = Instant::now();
        let step = |state, byte: &u8| match dfa.next_state(cache, state, *byte) {
            Ok(next) if next.is_dead() => ControlFlow::Break(Some(false)),
            Ok(next) if next.is_quit() => ControlFlow::Break(None),
            Ok(next) => ControlFlow::Continue(next),
            Err(_) => ControlFlow::Break(None),
        };
        match now.iter().try_fold(state, step) {
            ControlFlow::Continue(next) => state = next,
            ControlFlow::Break(found) => return Ok(found),
        }
        // A state that is met for the first time can take as long as a million others.
        piece = match began.elapsed() > PIECE_TIME {
            true => (piece / 4).max(1),
            false => (piece * 2).min(PIECE_BYTES_MAX),
        };
        rest = later;
        watch::check()?;
    }
    Ok(dfa.next_eoi_state(cache, state).ok().map(|last| last.is_match()))
}

/// True if an automaton accepts a text, by the set of states that it can be in.
fn simulate(nfa: &NFA, text: &[u8]) -> Result<bool, EvalError> {
    // One more than the place at which each state was met last.
    let mut met = vec![0_usize; nfa.states().len()];
    let (mut open, mut next) = (vec![nfa.start_anchored()], Vec::new());
    for at in 0..=text.len() {
        let byte = text.get(at);
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut met[id.as_usize()], at + 1) == at + 1 {
                continue;
            }
            watch::work(1)?;
            match nfa.state(id) {
                State::ByteRange { trans } => {
                    next.extend(byte.filter(|b| trans.matches_byte(**b)).map(|_| trans.next));
                }
                State::Sparse(several) => next.extend(byte.and_then(|b| several.matches_byte(*b))),
                State::Dense(all) => next.extend(byte.and_then(|b| all.matches_byte(*b))),
                State::Look { look, next } => {
                    if nfa.look_matcher().matches(*look, text, at) {
                        open.push(*next);
                    }
                }
                State::Union { alternates } => open.extend_from_slice(alternates),
                State::BinaryUnion { alt1, alt2 } => open.extend([*alt1, *alt2]),
                State::Capture { next, .. } => open.push(*next),
                State::Match { .. } if byte.is_none() => return Ok(true),
                State::Match { .. } | State::Fail => {}
            }
        }
        if next.is_empty() {
            return Ok(false);
        }
        std::mem::swap(&mut open, &mut next);
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Detail;
    use crate::watch::Limits;

    #[test]
    fn long_matches_say_what_short_ones_do() {
        let patterns = [
            "a*",
            "(a|b)*abb",
            "a.*b",
            "(?s)a.*b",
            "(?i)AbC.*",
            r"\w+(\s\w+)*",
            r"(\b\w+\b\W*)+",
            r".*\bé\b.*",
            r"[^a]*",
            r"(?m)^a$\n^b$",
            "",
            "a{2,4}(b|$)",
            r"\d+|\pL+",
            r"(a|ab)(c|bcd)",
            "(?x) a b # comment",
        ];
        let texts = [
            "",
            "a",
            "ab",
            "abb",
            "aabb",
            "abc",
            "ABCD",
            "a\nb",
            "été à la plage",
            "é",
            "x é y",
            "12",
            "abcd",
            "aaab",
            "a b c",
            "ß",
        ];
        for pattern in patterns {
            let regex = CompiledRegex::new(pattern).unwrap();
            let long = Long::new(&regex.whole).unwrap();
            for text in texts {
                let want = regex.is_match(&text.into()).unwrap();
                let bytes = text.as_bytes();
                assert_eq!(Value::Bool(long.is_match(bytes).unwrap()), want, "{text} =~ {pattern}");
                let slowly = simulate(&long.nfa, bytes).unwrap();
                assert_eq!(Value::Bool(slowly), want, "{text} =~ {pattern}, by states");
            }
        }
    }

    #[test]
    fn long_match_ends_when_it_is_told() {
        let over = Limits { deadline: Some(Instant::now()), ..Limits::default() };
        let text = Value::from("ab ".repeat(1 << 20));
        for pattern in ["(.*b){50} z", r"(\b\w+\b.)*é", "((a{0,100}|b{0,100}|.){0,20})*z"] {
            let regex = CompiledRegex::new(pattern).unwrap();
            let error = watch::watched(&over, || regex.is_match(&text)).unwrap_err();
            assert_eq!(error.detail, Detail::TimedOut, "{pattern}");
        }
    }

    #[test]
    fn pattern_that_costs_much_to_compile_is_refused() {
        let sets = "too many sets of characters";
        let cases = [
            (r"\pL".repeat(1 << 14), sets),
            (r"[^\w&&\pL]".repeat(1 << 12), sets),
            (format!("(?i){}", r"\w".repeat(300)), sets),
            (format!("a(?i:{})", r"[\x{0}-\x{10FFFF}]".repeat(100)), sets),
            ("x".repeat(1 << 20), "524288"),
        ];
        for (pattern, why) in cases {
            let error = CompiledRegex::new(&pattern).unwrap_err();
            assert!(error.message.contains(why), "{error} of {}", &pattern[..20]);
        }
        // What people write is far from it.
        for pattern in [r"(?i)(\w+[\s,;]*){1,20}\d{4}", r"[\p{Lu}\p{Ll}]{2,}(-\d+)?"] {
            CompiledRegex::new(pattern).unwrap();
        }
        CompiledRegex::new(&vec!["word"; 10_000].join("|")).unwrap();
        CompiledRegex::new(&r"\d-".repeat(1000)).unwrap();
    }
}
