//! Analyzers: how text becomes terms. Names and behaviour are those of Neo4j, which are Lucene's.

mod cjk;
mod fold;
mod links;
mod list;
mod stop;

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

pub use list::{ALL, DEFAULT, Description};
use list::{Recipe, Tokenizer};

/// Longest token of a tokenizer that divides words, in characters; longer ones are cut into pieces.
const TOKEN_CHARS_MAX: usize = 255;

/// Gap in positions between the strings of a list: no phrase spans two of them.
const GAP: u32 = 100;

/// An analyzer, one of [`ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Analyzer(u8);

/// A term with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The term as it is indexed.
    pub term: String,
    /// Number of the word in the text. Words that are left out count.
    pub position: u32,
}

impl Default for Analyzer {
    fn default() -> Self {
        Self::named(DEFAULT).unwrap_or(Self(0))
    }
}

impl Analyzer {
    /// The analyzer with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().position(|known| known.name == name).map(|at| Self(at as u8))
    }

    /// Its description.
    #[must_use]
    pub fn description(self) -> &'static Description {
        &ALL[usize::from(self.0)]
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.description().name
    }

    fn recipe(self) -> &'static Recipe {
        &self.description().recipe
    }

    /// The terms of some strings, in order.
    #[must_use]
    pub fn tokens(self, texts: &[&str]) -> Vec<Token> {
        let recipe = self.recipe();
        let stemmer = recipe.stemmer.map(Stemmer::create);
        let mut tokens = Vec::new();
        let mut next = 0;
        for (at, text) in texts.iter().enumerate() {
            if at > 0 {
                next += GAP;
            }
            recipe.each_word(text, &mut |word| {
                if let Some(term) = recipe.term(word, stemmer.as_ref()) {
                    tokens.push(Token { term, position: next });
                }
                next += 1;
            });
        }
        tokens
    }

    /// A part of a term as it stands in a wildcard, a fuzzy term, a range: in the letters of terms,
    /// but neither divided nor stemmed.
    #[must_use]
    pub fn normalized(self, part: &str) -> String {
        let recipe = self.recipe();
        let mut text = Cow::Borrowed(part);
        if recipe.tokenizer == Tokenizer::Cjk {
            text = cjk::width(&text).into();
        }
        if recipe.lowercase {
            text = lowercase(&text).into();
        }
        if recipe.fold {
            text = fold::folded(&text).into();
        }
        without_zeros(&text)
    }
}

/// Lower case, character by character as in Lucene: the length of words does not change.
fn lowercase(text: &str) -> String {
    let lower = |c: char| {
        let mut lower = c.to_lowercase();
        let first = lower.next().unwrap_or(c);
        // `İ` is two characters in lower case; Java's `toLowerCase(int)` takes the first.
        first
    };
    text.chars().map(lower).collect()
}

/// Terms have no zeros: keys end terms with them.
fn without_zeros(text: &str) -> String {
    text.replace('\0', "")
}

impl Recipe {
    /// Calls `f` with each word, in order.
    fn each_word(&self, text: &str, f: &mut dyn FnMut(&str)) {
        let mut pieces = |word: &str| {
            let mut rest = word;
            while let Some((end, _)) = rest.char_indices().nth(TOKEN_CHARS_MAX) {
                f(&rest[..end]);
                rest = &rest[end..];
            }
            if !rest.is_empty() {
                f(rest);
            }
        };
        match self.tokenizer {
            Tokenizer::Words => text.unicode_words().for_each(pieces),
            Tokenizer::Letters => text.split(|c: char| !c.is_alphabetic()).for_each(pieces),
            Tokenizer::JavaWhitespace => text.split(is_java_whitespace).for_each(pieces),
            Tokenizer::Whitespace => text.split(char::is_whitespace).for_each(pieces),
            Tokenizer::Whole if text.is_empty() => {}
            Tokenizer::Whole => f(text),
            Tokenizer::Cjk => cjk::for_each(text, &mut pieces),
            Tokenizer::Links { urls, emails } => links::for_each(text, urls, emails, &mut pieces),
        }
    }

    /// The term of a word; `None` if it is left out.
    fn term(&self, word: &str, stemmer: Option<&Stemmer>) -> Option<String> {
        let mut word = Cow::Borrowed(word);
        if self.possessive
            && let Some(stem) = word.strip_suffix(['s', 'S'])
            && let Some(stem) = stem.strip_suffix(['\'', '\u{2019}', '\u{ff07}'])
        {
            word = stem.to_owned().into();
        }
        if self.lowercase {
            word = lowercase(&word).into();
        }
        if self.stop.contains(&&*word) {
            return None;
        }
        if self.fold {
            word = fold::folded(&word).into();
        }
        if let Some(stemmer) = stemmer {
            word = stemmer.stem(&word).into_owned().into();
        }
        let mut term = without_zeros(&word);
        if term.len() > crate::key::TERM_BYTES_MAX {
            let end = (0..=crate::key::TERM_BYTES_MAX).rev().find(|at| term.is_char_boundary(*at));
            term.truncate(end.unwrap_or(0));
        }
        (!term.is_empty()).then_some(term)
    }
}

/// `Character.isWhitespace` of Java: without the spaces that do not break.
fn is_java_whitespace(c: char) -> bool {
    match c {
        '\u{1c}'..='\u{1f}' => true,
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}' => false,
        c => c.is_whitespace(),
    }
}

/// The stemmer of a language.
type Language = Algorithm;

#[cfg(test)]
mod tests;
