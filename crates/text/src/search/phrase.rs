//! Phrases: objects that have all words, and how often one after the other.

use std::collections::HashMap;

use super::{Found, HIT_BYTES, Hits, Others, Search, Source};
use crate::analyzer::Token;
use crate::score::{Scorer, idf};

impl<S: Source> Search<'_, S> {
    pub(super) fn phrase(&mut self, text: &str, slop: u32, field: u8) -> Found<S> {
        let tokens = self.analyzer.tokens(&[text]);
        match &tokens[..] {
            [] => return Ok(None),
            [_] => return self.words(text, field),
            _ => {}
        }
        let totals = self.totals_of(field)?;
        let mut weight = 0.0;
        let mut all: Option<Vec<(S::Id, u8)>> = None;
        let mut known: HashMap<&str, usize> = HashMap::new();
        for token in &tokens {
            if let Some(df) = known.get(&*token.term) {
                weight += idf(totals.documents, *df as u64);
                continue;
            }
            let postings = self.postings(&token.term, field)?;
            known.insert(&token.term, postings.len());
            weight += idf(totals.documents, postings.len() as u64);
            let with_term = postings.into_iter().map(|(id, _, norm)| (id, norm));
            all = Some(match all {
                None => with_term.collect(),
                Some(before) => {
                    let mut before = Others(&before);
                    with_term.filter(|(id, _)| before.get(*id).is_some()).collect()
                }
            });
        }
        let scorer = Scorer::new(totals, weight, 1.0);
        let mut hits = Hits::new();
        for (id, norm) in all.unwrap_or_default() {
            self.source.check(hits.len() * HIT_BYTES)?;
            let texts = self.source.texts(id, field)?;
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let frequency = frequency(&tokens, &self.analyzer.tokens(&texts), slop);
            if frequency > 0.0 {
                hits.push((id, scorer.score(frequency, norm).into()));
            }
        }
        Ok(Some(hits))
    }
}

/// How often the words of a phrase stand together in a text: whole for places where they stand as
/// in the phrase, less for each move.
pub(super) fn frequency(phrase: &[Token], text: &[Token], slop: u32) -> f32 {
    let mut places: HashMap<&str, Vec<i64>> = HashMap::new();
    for token in text {
        places.entry(&token.term).or_default().push(token.position.into());
    }
    // Where the phrase would begin, by each place of each word.
    let mut words: Vec<Word<'_>> = Vec::with_capacity(phrase.len());
    let first = phrase.first().map_or(0, |token| token.position);
    for token in phrase {
        let Some(places) = places.get(&*token.term) else { return 0.0 };
        let offset = i64::from(token.position - first);
        words.push(Word { term: &token.term, places, at: 0, offset });
    }
    if slop == 0 {
        let (lead, rest) = words.split_at(1);
        let begins = lead[0].places.iter();
        let stands = |begin: &&i64| {
            rest.iter().all(|word| word.places.binary_search(&(**begin + word.offset)).is_ok())
        };
        return begins.filter(stands).count() as f32;
    }
    moved(&mut words, slop.into())
}

/// A word of a phrase on its way through a text.
struct Word<'t> {
    term: &'t str,
    places: &'t [i64],
    at: usize,
    offset: i64,
}

impl Word<'_> {
    /// Where the phrase would begin.
    fn begin(&self) -> i64 {
        self.places[self.at] - self.offset
    }
}

/// The words move to the right, always the one that is furthest behind, as in Lucene; each stretch
/// that is short enough counts.
fn moved(words: &mut [Word<'_>], slop: i64) -> f32 {
    let mut sum = 0.0;
    loop {
        let end = words.iter().map(Word::begin).max().unwrap_or(0);
        let Some(behind) = (0..words.len()).min_by_key(|at| (words[*at].begin(), *at)) else {
            return sum;
        };
        let others = (0..words.len()).filter(|at| *at != behind);
        let next = others.map(|at| words[at].begin()).min().unwrap_or(i64::MAX);
        // As far as it can go before another one is behind: the shortest stretch.
        let mut moves = None;
        let mut is_last = false;
        loop {
            let begin = words[behind].begin();
            if moves.is_some() && begin > next {
                break;
            }
            if stand_apart(words) {
                let length = end.max(begin) - begin;
                moves = Some(moves.map_or(length, |moves: i64| moves.min(length)));
            } else {
                moves = moves.or(Some(i64::MAX));
            }
            if words[behind].at + 1 == words[behind].places.len() {
                is_last = true;
                break;
            }
            words[behind].at += 1;
        }
        if let Some(moves) = moves.filter(|moves| *moves <= slop) {
            sum += 1.0 / (1.0 + moves as f32);
        }
        if is_last {
            return sum;
        }
    }
}

/// True if no two words that are the same stand in one place.
fn stand_apart(words: &[Word<'_>]) -> bool {
    let place = |word: &Word<'_>| word.places[word.at];
    words.iter().enumerate().all(|(at, word)| {
        words[..at].iter().all(|other| other.term != word.term || place(other) != place(word))
    })
}
