//! Hits of a query, with their scores.
//!
//! ```text
//!  clause ─► terms of each field ─► postings of the snapshot ─► hits of the clause      terms.rs
//!  phrase ─► objects with all terms ─► their texts, analyzed ─► moves                   phrase.rs
//!  Boolean ─► hits of its clauses, put together                                         mod.rs
//! ```
//!
//! Nothing is estimated: the number of documents with a term is counted in the postings that hold
//! at the snapshot. *Cost*: all postings of the terms of a query; of a phrase also the texts of the
//! objects that have all of its words.

mod pattern;
mod phrase;
mod terms;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::Hash;

use crate::analyzer::Analyzer;
use crate::key::Entry;
use crate::query::{Clause, Node, Occur};
use crate::score::Totals;

/// Bytes of a hit, with its share of a table that is half full.
const HIT_BYTES: usize = 32;

/// An index at a snapshot.
pub trait Source {
    /// Object of the index.
    type Id: Copy + Eq + Hash + Ord;
    /// Why it cannot be read.
    type Error;

    /// Calls `f` with each posting or length whose key is from the first on and below the second.
    ///
    /// # Errors
    /// If it cannot be read, or the search is to end.
    fn entries(
        &mut self,
        keys: (&[u8], &[u8]),
        f: &mut dyn FnMut(Entry<'_>, Self::Id),
    ) -> Result<(), Self::Error>;

    /// Documents and terms of each field.
    ///
    /// # Errors
    /// If they cannot be read.
    fn totals(&mut self) -> Result<Vec<Totals>, Self::Error>;

    /// The strings of a field of an object.
    ///
    /// # Errors
    /// If they cannot be read.
    fn texts(&mut self, id: Self::Id, field: u8) -> Result<Vec<String>, Self::Error>;

    /// Fails if the search is to end, or so many bytes more are too many.
    ///
    /// # Errors
    /// If so.
    fn check(&mut self, bytes: usize) -> Result<(), Self::Error>;
}

/// Why there is no answer.
#[derive(Debug, PartialEq)]
pub enum Failure<E> {
    /// The source failed.
    Source(E),
    /// The query cannot be answered.
    Query(String),
}

impl<E> From<E> for Failure<E> {
    fn from(error: E) -> Self {
        Self::Source(error)
    }
}

/// Hits with their scores.
type Hits<I> = HashMap<I, f32>;

/// Hits with their scores, in order.
pub type Ranked<I> = Vec<(I, f32)>;

type Found<S> = Result<Option<Hits<<S as Source>::Id>>, Failure<<S as Source>::Error>>;

/// A search: the index, its fields, and how the words of the query are divided.
pub struct Search<'s, S> {
    source: &'s mut S,
    fields: &'s [&'s str],
    analyzer: Analyzer,
    totals: Option<Vec<Totals>>,
}

/// The best hits of a query, so many at most, the best first; of equals the one with the smaller
/// number.
///
/// # Errors
/// If the source fails, or the query has a part that cannot be answered.
pub fn search<S: Source>(
    source: &mut S,
    fields: &[&str],
    analyzer: Analyzer,
    query: &Clause,
    most: usize,
) -> Result<Ranked<S::Id>, Failure<S::Error>> {
    let mut search = Search { source, fields, analyzer, totals: None };
    let hits = search.hits(query)?.unwrap_or_default();
    search.source.check(hits.len() * HIT_BYTES)?;
    let mut hits: Vec<_> = hits.into_iter().collect();
    let order = |a: &(S::Id, f32), b: &(S::Id, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if most < hits.len() {
        if most > 0 {
            hits.select_nth_unstable_by(most - 1, order);
        }
        hits.truncate(most);
    }
    hits.sort_unstable_by(order);
    Ok(hits)
}

impl<S: Source> Search<'_, S> {
    /// The hits of a clause; `None` if it has no words, as if it were not there.
    fn hits(&mut self, clause: &Clause) -> Found<S> {
        let found = match &clause.node {
            Node::Boolean(clauses) => self.boolean(clauses)?,
            Node::All => Some(self.everything()?),
            node => self.in_fields(node, clause.field.as_deref())?,
        };
        Ok(found.map(|mut hits| {
            if clause.boost != 1.0 {
                hits.values_mut().for_each(|score| *score *= clause.boost);
            }
            hits
        }))
    }

    /// The sum of a clause over the field that it names, or all.
    fn in_fields(&mut self, node: &Node, field: Option<&str>) -> Found<S> {
        let fields: Vec<u8> = match field {
            None => (0..self.fields.len() as u8).collect(),
            Some(name) => {
                let at = self.fields.iter().position(|field| *field == name);
                at.map(|at| at as u8).into_iter().collect()
            }
        };
        let mut sum: Option<Hits<S::Id>> = None;
        for field in &fields {
            let Some(hits) = self.in_field(node, *field)? else { continue };
            match &mut sum {
                None => sum = Some(hits),
                Some(sum) => add(sum, hits),
            }
            self.source.check(sum.as_ref().map_or(0, HashMap::len) * HIT_BYTES)?;
        }
        // No document has a field that the index lacks.
        if fields.is_empty() { Ok(Some(Hits::new())) } else { Ok(sum) }
    }

    fn in_field(&mut self, node: &Node, field: u8) -> Found<S> {
        match node {
            Node::Words(text) => self.words(text, field),
            Node::Phrase { text, slop } => self.phrase(text, *slop, field),
            Node::Wildcard(pieces) => self.wildcard(pieces, field).map(Some),
            Node::Fuzzy { term, similarity } => self.fuzzy(term, *similarity, field).map(Some),
            Node::Regex(text) => self.regex(text, field).map(Some),
            Node::Range { from, from_included, to, to_included } => {
                let from = from.as_deref().map(|from| (from, *from_included));
                let to = to.as_deref().map(|to| (to, *to_included));
                self.range(from, to, field).map(Some)
            }
            Node::All | Node::Boolean(_) => {
                unreachable!("INVARIANT: `hits` takes those that are of no field")
            }
        }
    }

    /// Every document, each with the score 1.
    fn everything(&mut self) -> Result<Hits<S::Id>, Failure<S::Error>> {
        let mut hits = Hits::new();
        for field in 0..self.fields.len() as u8 {
            let (from, to) = crate::key::lengths(field);
            self.source.entries((&from, &to), &mut |_, id| {
                hits.insert(id, 1.0);
            })?;
            self.source.check(hits.len() * HIT_BYTES)?;
        }
        Ok(hits)
    }

    fn boolean(&mut self, clauses: &[(Occur, Clause)]) -> Found<S> {
        let (mut must, mut should, mut not) = (None, None, Vec::new());
        let mut is_empty = true;
        for (occur, clause) in clauses {
            let Some(hits) = self.hits(clause)? else { continue };
            is_empty = false;
            match occur {
                Occur::Must => match &mut must {
                    None => must = Some(hits),
                    Some(must) => intersect(must, &hits),
                },
                Occur::Should => match &mut should {
                    None => should = Some(hits),
                    Some(should) => add(should, hits),
                },
                Occur::MustNot => not.push(hits),
            }
            let held = must.iter().chain(&should).chain(&not).map(HashMap::len).sum::<usize>();
            self.source.check(held * HIT_BYTES)?;
        }
        if is_empty {
            return Ok(None);
        }
        let mut hits = match (must, should) {
            (Some(mut must), should) => {
                for (id, score) in &mut must {
                    *score += should.as_ref().and_then(|s| s.get(id)).copied().unwrap_or(0.0);
                }
                must
            }
            (None, should) => should.unwrap_or_default(),
        };
        hits.retain(|id, _| !not.iter().any(|not| not.contains_key(id)));
        Ok(Some(hits))
    }

    fn totals_of(&mut self, field: u8) -> Result<Totals, S::Error> {
        if self.totals.is_none() {
            self.totals = Some(self.source.totals()?);
        }
        let of = self.totals.as_ref().and_then(|totals| totals.get(usize::from(field)));
        Ok(of.copied().unwrap_or_default())
    }
}

fn add<I: Eq + Hash>(sum: &mut Hits<I>, hits: Hits<I>) {
    for (id, score) in hits {
        *sum.entry(id).or_insert(0.0) += score;
    }
}

fn intersect<I: Eq + Hash>(of: &mut Hits<I>, hits: &Hits<I>) {
    of.retain(|id, score| match hits.get(id) {
        Some(more) => {
            *score += more;
            true
        }
        None => false,
    });
}
