//! The list of analyzers, and what each is made of.

use rust_stemmers::Algorithm as Of;

use super::Language;
use super::stop::{CJK, ENGLISH, NONE};

/// Name of the analyzer of an index that names none, as in Neo4j.
pub const DEFAULT: &str = "standard-no-stop-words";

/// The way in which text is cut into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tokenizer {
    /// Words as Unicode divides text (UAX #29).
    Words,
    /// Runs of letters.
    Letters,
    /// What stands between white space, as Java sees it.
    JavaWhitespace,
    /// What stands between white space, as Unicode sees it.
    Whitespace,
    /// The text as it is.
    Whole,
    /// Words, and pairs of characters of Chinese, Japanese and Korean.
    Cjk,
    /// Addresses only.
    Links { urls: bool, emails: bool },
}

/// The parts of an analyzer, in the order in which they are applied.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) tokenizer: Tokenizer,
    pub(super) possessive: bool,
    pub(super) lowercase: bool,
    pub(super) stop: &'static [&'static str],
    pub(super) fold: bool,
    pub(super) stemmer: Option<Language>,
}

/// An analyzer as it is listed.
#[derive(Debug)]
pub struct Description {
    /// Its name.
    pub name: &'static str,
    /// A sentence about it.
    pub text: &'static str,
    pub(super) recipe: Recipe,
}

impl Description {
    /// The words that it leaves out.
    #[must_use]
    pub fn stop_words(&self) -> &'static [&'static str] {
        self.recipe.stop
    }
}

const WORDS: Recipe = Recipe {
    tokenizer: Tokenizer::Words,
    possessive: false,
    lowercase: true,
    stop: NONE,
    fold: false,
    stemmer: None,
};

const fn plain(name: &'static str, text: &'static str, recipe: Recipe) -> Description {
    Description { name, text, recipe }
}

const fn stemmed(name: &'static str, text: &'static str, stemmer: Language) -> Description {
    Description { name, text, recipe: Recipe { stemmer: Some(stemmer), ..WORDS } }
}

/// Every analyzer, by name.
pub static ALL: &[Description] = &[
    stemmed("arabic", "Words in lower case, Arabic stems.", Of::Arabic),
    plain(
        "cjk",
        "Words, and each two neighbours of Chinese, Japanese and Korean characters.",
        Recipe { tokenizer: Tokenizer::Cjk, stop: CJK, ..WORDS },
    ),
    stemmed("danish", "Words in lower case, Danish stems.", Of::Danish),
    stemmed("dutch", "Words in lower case, Dutch stems.", Of::Dutch),
    plain(
        "email",
        "E-mail addresses only.",
        Recipe { tokenizer: Tokenizer::Links { urls: false, emails: true }, ..WORDS },
    ),
    plain(
        "english",
        "Words in lower case without English stop words, English stems.",
        Recipe { possessive: true, stop: ENGLISH, stemmer: Some(Of::English), ..WORDS },
    ),
    stemmed("finnish", "Words in lower case, Finnish stems.", Of::Finnish),
    stemmed("french", "Words in lower case, French stems.", Of::French),
    stemmed("german", "Words in lower case, German stems.", Of::German),
    stemmed("greek", "Words in lower case, Greek stems.", Of::Greek),
    stemmed("hungarian", "Words in lower case, Hungarian stems.", Of::Hungarian),
    stemmed("italian", "Words in lower case, Italian stems.", Of::Italian),
    plain(
        "keyword",
        "The whole text as one term, as it is.",
        Recipe { tokenizer: Tokenizer::Whole, lowercase: false, ..WORDS },
    ),
    stemmed("norwegian", "Words in lower case, Norwegian stems.", Of::Norwegian),
    stemmed("portuguese", "Words in lower case, Portuguese stems.", Of::Portuguese),
    stemmed("romanian", "Words in lower case, Romanian stems.", Of::Romanian),
    stemmed("russian", "Words in lower case, Russian stems.", Of::Russian),
    plain(
        "simple",
        "Runs of letters in lower case.",
        Recipe { tokenizer: Tokenizer::Letters, ..WORDS },
    ),
    stemmed("spanish", "Words in lower case, Spanish stems.", Of::Spanish),
    plain(
        "standard",
        "Words in lower case, without English stop words.",
        Recipe { stop: ENGLISH, ..WORDS },
    ),
    plain(
        "standard-folding",
        "Words in lower case, without English stop words and without accents.",
        Recipe { stop: ENGLISH, fold: true, ..WORDS },
    ),
    plain(DEFAULT, "Words in lower case. The default.", WORDS),
    plain(
        "stop",
        "Runs of letters in lower case, without English stop words.",
        Recipe { tokenizer: Tokenizer::Letters, stop: ENGLISH, ..WORDS },
    ),
    stemmed("swedish", "Words in lower case, Swedish stems.", Of::Swedish),
    stemmed("turkish", "Words in lower case, Turkish stems.", Of::Turkish),
    plain(
        "unicode_whitespace",
        "What stands between white space of Unicode, as it is.",
        Recipe { tokenizer: Tokenizer::Whitespace, lowercase: false, ..WORDS },
    ),
    plain(
        "url",
        "Addresses of the web only.",
        Recipe { tokenizer: Tokenizer::Links { urls: true, emails: false }, ..WORDS },
    ),
    plain(
        "url_or_email",
        "Addresses of the web and e-mail addresses only.",
        Recipe { tokenizer: Tokenizer::Links { urls: true, emails: true }, ..WORDS },
    ),
    plain(
        "whitespace",
        "What stands between white space, as it is.",
        Recipe { tokenizer: Tokenizer::JavaWhitespace, lowercase: false, ..WORDS },
    ),
];
