//! Hits of terms: one, or those that a pattern finds.

use std::collections::BTreeMap;

use super::pattern::{Regex, Wildcard, edits};
use super::{Failure, Found, HIT_BYTES, Hits, List, Search, Source, once, summed};
use crate::key;
use crate::query::Piece;
use crate::score::{Scorer, idf};

/// Terms that a fuzzy term stands for, at most: those most like it, as in Lucene.
const FUZZY_TERMS_MAX: usize = 50;

/// Bytes of a term in a set of them, beside its letters.
const TERM_BYTES: usize = 48;

/// Most edits of a fuzzy term.
const EDITS_MAX: f32 = 2.0;

/// Documents that have a term, ascending: how often, and the norm of the field.
pub(super) type Postings<I> = Vec<(I, u32, u8)>;

impl<S: Source> Search<'_, S> {
    pub(super) fn postings(
        &mut self,
        term: &str,
        field: u8,
    ) -> Result<Postings<S::Id>, Failure<S::Error>> {
        let lists = self.source.lists(field, term)?;
        let len: usize = lists.iter().map(List::len).sum();
        self.source.check(len * HIT_BYTES)?;
        let mut found = Vec::with_capacity(len);
        for list in &lists {
            for block in 0..list.blocks() {
                let impacts: Vec<(u32, u8)> = list.impacts(block).collect();
                let places = list.places(block).iter().map(|place| impacts[usize::from(*place)]);
                let objects = list.objects(block).iter().zip(places);
                found.extend(objects.map(|(id, (frequency, norm))| (*id, frequency, norm)));
            }
        }
        if lists.len() > 1 {
            found.sort_by_key(|(id, ..)| *id);
        }
        Ok(found)
    }

    /// The sum of the terms of a text.
    pub(super) fn words(&mut self, text: &str, field: u8) -> Found<S> {
        let tokens = self.analyzer.tokens(&[text]);
        if tokens.is_empty() {
            return Ok(None);
        }
        let totals = self.totals_of(field)?;
        let mut hits = Hits::new();
        for token in tokens {
            let postings = self.postings(&token.term, field)?;
            let df = postings.len() as u64;
            let scorer = Scorer::new(totals, idf(totals.documents, df), 1.0);
            for (id, frequency, norm) in postings {
                hits.push((id, scorer.of(frequency, norm).into()));
            }
            self.source.check(hits.len() * HIT_BYTES)?;
        }
        Ok(Some(summed(hits)))
    }

    /// The terms in a range of keys that pass, in order, each with what was found of it.
    fn passing<T>(
        &mut self,
        (from, to): (&[u8], &[u8]),
        mut passes: impl FnMut(&str) -> Option<T>,
    ) -> Result<BTreeMap<String, T>, Failure<S::Error>> {
        let (mut passing, mut bytes) = (BTreeMap::new(), 0);
        self.source.terms((from, to), &mut |term| {
            if let Some(found) = passes(term)
                && passing.insert(term.to_owned(), found).is_none()
            {
                bytes += term.len() + TERM_BYTES;
            }
            bytes
        })?;
        self.source.check(bytes)?;
        Ok(passing)
    }

    /// Every document with a term in a range of keys that passes, each with the score 1.
    fn matching(
        &mut self,
        field: u8,
        keys: (&[u8], &[u8]),
        mut passes: impl FnMut(&str) -> bool,
    ) -> Result<Hits<S::Id>, Failure<S::Error>> {
        let mut hits = Hits::new();
        for term in self.passing(keys, |term| passes(term).then_some(()))?.into_keys() {
            for list in self.source.lists(field, &term)? {
                let objects = (0..list.blocks()).flat_map(|block| list.objects(block));
                hits.extend(objects.map(|id| (*id, 1.0)));
            }
            self.source.check(hits.len() * HIT_BYTES)?;
        }
        Ok(once(hits))
    }

    pub(super) fn wildcard(
        &mut self,
        pieces: &[Piece],
        field: u8,
    ) -> Result<Hits<S::Id>, Failure<S::Error>> {
        let pieces = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => Piece::Text(self.analyzer.normalized(text)),
            other => other.clone(),
        });
        let pattern = Wildcard::new(pieces);
        if pattern.is_anything() {
            return Ok(once(self.with_field(field, 1)?));
        }
        let (from, to) = key::prefix(field, pattern.beginning());
        self.matching(field, (&from, &to), |term| pattern.matches(term))
    }

    pub(super) fn regex(
        &mut self,
        text: &str,
        field: u8,
    ) -> Result<Hits<S::Id>, Failure<S::Error>> {
        let regex = Regex::new(&self.analyzer.normalized(text)).map_err(Failure::Query)?;
        let (from, to) = key::prefix(field, "");
        self.matching(field, (&from, &to), |term| regex.matches(term))
    }

    /// Terms between two ends, each with whether it belongs to the range.
    pub(super) fn range(
        &mut self,
        from: Option<(&str, bool)>,
        to: Option<(&str, bool)>,
        field: u8,
    ) -> Result<Hits<S::Id>, Failure<S::Error>> {
        let end = |end: Option<(&str, bool)>| {
            end.map(|(text, is_included)| (self.analyzer.normalized(text), is_included))
        };
        let (from, to) = (end(from), end(to));
        let (mut first, mut last) = key::prefix(field, "");
        if let Some((from, _)) = &from {
            first = first.max(key::term(field, from).0);
        }
        if let Some((to, _)) = &to {
            last = last.min(key::term(field, to).1);
        }
        self.matching(field, (&first, &last), |term| {
            from.as_ref().is_none_or(|(from, is_in)| *from != *term || *is_in)
                && to.as_ref().is_none_or(|(to, is_in)| *to != *term || *is_in)
        })
    }

    /// The terms most like one, each scored by its likeness, as rare as it is itself: as in Neo4j,
    /// where Lucene by itself takes them all to be as rare as the most frequent.
    pub(super) fn fuzzy(
        &mut self,
        term: &str,
        similarity: f32,
        field: u8,
    ) -> Result<Hits<S::Id>, Failure<S::Error>> {
        let term = self.analyzer.normalized(term);
        let sought: Vec<char> = term.chars().collect();
        let allowed = match similarity {
            s if s >= 1.0 => s.min(EDITS_MAX),
            0.0 => 0.0,
            s => ((1.0 - s) * sought.len() as f32).min(EDITS_MAX),
        } as usize;
        let (from, to) = match allowed {
            0 => key::term(field, &term),
            _ => key::prefix(field, ""),
        };
        let mut near = Vec::new();
        for (found, distance) in self.passing((&from, &to), |term| edits(&sought, term, allowed))? {
            let shorter = found.chars().count().min(sought.len()).max(1);
            let like = if distance == 0 { 1.0 } else { 1.0 - distance as f32 / shorter as f32 };
            near.push((like, found));
        }
        // Stable: of terms that are as like, the first in order.
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut nearest, mut held) = (Vec::new(), 0);
        for (like, term) in near {
            let found = self.postings(&term, field)?;
            if found.is_empty() {
                continue;
            }
            held += found.len();
            self.source.check(held * HIT_BYTES)?;
            nearest.push((like, found));
            if nearest.len() == FUZZY_TERMS_MAX {
                break;
            }
        }
        let totals = self.totals_of(field)?;
        let mut hits = Hits::new();
        for (like, postings) in nearest {
            let df = postings.len() as u64;
            let scorer = Scorer::new(totals, idf(totals.documents, df), like.max(0.0));
            for (id, frequency, norm) in postings {
                hits.push((id, scorer.of(frequency, norm).into()));
            }
        }
        Ok(summed(hits))
    }
}
