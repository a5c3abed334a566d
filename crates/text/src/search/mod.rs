//! Hits of a query, with their scores.
//!
//! ```text
//!  words ─► terms needed, added, excluded ─► lists of the snapshot                      form.rs
//!    a sum of terms ─► the best, without a look at most others                          top.rs
//!    several are needed ─► the best of those that have all                              all.rs
//!  clause ─► terms of each field ─► lists or postings ─► hits of the clause             terms.rs
//!  phrase ─► objects with all terms ─► their texts, analyzed ─► moves                   phrase.rs
//!  Boolean ─► hits of its clauses, put together                                         mod.rs
//! ```
//!
//! Nothing is estimated: the number of documents with a term is the length of its list at the
//! snapshot. Hits of a clause are sorted by object. *Cost*: of words, what `top.rs` and `all.rs`
//! say; else all postings of the terms of a query; of a phrase also the texts of the objects that
//! have all of its words; of patterns also the terms that may match.

mod all;
mod cursor;
mod form;
mod pattern;
mod phrase;
mod terms;
#[cfg(test)]
mod tests;
mod top;

use std::cmp::Ordering;
use std::hash::Hash;

use crate::analyzer::Analyzer;
use crate::key::Entry;
use crate::query::{Clause, Node, Occur};
use crate::score::{Scorer, Totals, idf};
use all::{Conjunction, Group};
use cursor::{Cursor, Place};
use form::Form;

/// Bytes of a hit, with those of a copy that is being sorted or put together with others.
const HIT_BYTES: usize = 32;

/// Objects that have a term, ascending, in blocks of 256 at most.
pub trait List {
    /// Object of the index.
    type Object: Copy + Eq + Hash + Ord;

    /// Number of objects.
    fn len(&self) -> usize;

    /// True if no object has the term.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of blocks.
    fn blocks(&self) -> usize;

    /// Objects of a block, which are one or more.
    fn objects(&self, block: usize) -> &[Self::Object];

    /// For each object of a block, the number of its impact.
    fn places(&self, block: usize) -> &[u8];

    /// Impacts of a block: frequency and norm.
    fn impacts(&self, block: usize) -> impl Iterator<Item = (u32, u8)>;

    /// Impacts of a block of which one has its best score, whatever the statistics are.
    fn best(&self, block: usize) -> impl Iterator<Item = (u32, u8)>;
}

/// An index at a snapshot.
pub trait Source {
    /// Object of the index.
    type Id: Copy + Eq + Hash + Ord;
    /// Objects that have a term.
    type List: List<Object = Self::Id>;
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

    /// Calls `f` with each term of which a posting's key is from the first on and below the second:
    /// at least with those that an object has, perhaps more than once. `f` returns the bytes that
    /// it holds so far.
    ///
    /// # Errors
    /// If they cannot be read, or the search is to end, or those bytes are too many.
    fn terms(
        &mut self,
        keys: (&[u8], &[u8]),
        f: &mut dyn FnMut(&str) -> usize,
    ) -> Result<(), Self::Error>;

    /// The objects that have a term in a field: a list for each part of the index, always as many.
    /// No object is in two of them.
    ///
    /// # Errors
    /// If they cannot be read, or the search is to end.
    fn lists(&mut self, field: u8, term: &str) -> Result<Vec<Self::List>, Self::Error>;

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

/// Hits with their scores, sorted, of each object one.
type Hits<I> = Vec<(I, f64)>;

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
    let mut hits = if let Some(form) = search.form(query) {
        search.best(&form, most)?
    } else {
        let hits = search.hits(query)?.unwrap_or_default();
        search.source.check(hits.len() * HIT_BYTES)?;
        hits.into_iter().map(|(id, score)| (id, score as f32)).collect()
    };
    if most < hits.len() {
        if most > 0 {
            hits.select_nth_unstable_by(most - 1, rank);
        }
        hits.truncate(most);
    }
    hits.sort_unstable_by(rank);
    Ok(hits)
}

/// The order of hits: the best first; of equals the one with the smaller number.
fn rank<I: Ord>(a: &(I, f32), b: &(I, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0))
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
                hits.iter_mut().for_each(|(_, score)| *score *= f64::from(clause.boost));
            }
            hits
        }))
    }

    /// The best documents of a query of words, so many at most, in no order.
    fn best(&mut self, form: &Form, most: usize) -> Result<Ranked<S::Id>, Failure<S::Error>> {
        // A group without a term is of words that no document has.
        if most == 0 || form.needed.is_empty() || form.needed.iter().any(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let mut lists: Vec<Vec<S::List>> = Vec::new();
        let mut scorers = Vec::new();
        let counting = form.needed.iter().flatten().chain(&form.optional);
        for term in counting.clone().chain(&form.without) {
            let of_parts = self.source.lists(term.field, &term.text)?;
            let totals = self.totals_of(term.field)?;
            let with_term: usize = of_parts.iter().map(List::len).sum();
            scorers.push(Scorer::new(totals, idf(totals.documents, with_term as u64), term.boost));
            lists.push(of_parts);
        }
        let count = counting.count();
        let parts = lists.iter().map(Vec::len).min().unwrap_or(0);
        let (mut found, source) = (Vec::new(), &mut *self.source);
        for part in 0..parts {
            let mut terms = (0..).zip(&lists).zip(&scorers);
            let mut cursors = |n: usize| -> Vec<Cursor<'_, S::List>> {
                let terms = terms.by_ref().take(n);
                terms.map(|((at, lists), scorer)| Cursor::new(&lists[part], scorer, at)).collect()
            };
            let mut needed: Vec<_> = form.needed.iter().map(|terms| cursors(terms.len())).collect();
            let optional = cursors(form.optional.len());
            let without = lists[count..].iter().map(|lists| Place::new(&lists[part])).collect();
            let before = found.len();
            let check = &mut |held: usize| source.check((before + held) * HIT_BYTES);
            let mut best = match (&mut needed[..], &optional[..]) {
                ([sum], []) => top::top(std::mem::take(sum), without, count, most, check)?,
                _ => {
                    let needed = needed.into_iter().map(Group).collect();
                    Conjunction { needed, optional, without }.best(count, most, check)?
                }
            };
            found.append(&mut best);
        }
        source.check(found.len() * HIT_BYTES)?;
        Ok(found)
    }

    /// Numbers of the field with a name, or of all.
    fn fields_of(&self, field: Option<&str>) -> Vec<u8> {
        match field {
            None => (0..self.fields.len() as u8).collect(),
            Some(name) => {
                let at = self.fields.iter().position(|field| *field == name);
                at.map(|at| at as u8).into_iter().collect()
            }
        }
    }

    /// The sum of a clause over the field that it names, or all.
    fn in_fields(&mut self, node: &Node, field: Option<&str>) -> Found<S> {
        let fields = self.fields_of(field);
        let mut sum: Option<Hits<S::Id>> = None;
        for field in &fields {
            let Some(hits) = self.in_field(node, *field)? else { continue };
            match &mut sum {
                None => sum = Some(hits),
                Some(sum) => add(sum, hits),
            }
            self.source.check(sum.as_ref().map_or(0, Vec::len) * HIT_BYTES)?;
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
            hits.append(&mut self.with_field(field, 0)?);
        }
        Ok(once(hits))
    }

    /// The documents with so many terms in a field, each with the score 1.
    fn with_field(&mut self, field: u8, least: u32) -> Result<Hits<S::Id>, Failure<S::Error>> {
        let mut hits = Hits::new();
        let (from, to) = crate::key::lengths(field);
        self.source.entries((&from, &to), &mut |entry, id| {
            if matches!(entry, Entry::Length { length, .. } if length >= least) {
                hits.push((id, 1.0));
            }
        })?;
        self.source.check(hits.len() * HIT_BYTES)?;
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
            let held = must.iter().chain(&should).chain(&not).map(Vec::len).sum::<usize>();
            self.source.check(held * HIT_BYTES)?;
        }
        if is_empty {
            return Ok(None);
        }
        let mut hits = match (must, should) {
            (Some(mut must), should) => {
                let should = should.unwrap_or_default();
                let mut others = Others(&should);
                must.iter_mut().for_each(|(id, score)| *score += others.get(*id).unwrap_or(0.0));
                must
            }
            (None, should) => should.unwrap_or_default(),
        };
        for not in &not {
            let mut others = Others(not);
            hits.retain(|(id, _)| others.get(*id).is_none());
        }
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

/// Hits in any order as sorted ones, of each object the sum.
fn summed<I: Copy + Ord>(mut hits: Vec<(I, f64)>) -> Hits<I> {
    // Those of a list are in order, mostly: to sort them is to merge.
    hits.sort_by_key(|(id, _)| *id);
    hits.dedup_by(|next, sum| {
        let is_same = next.0 == sum.0;
        if is_same {
            sum.1 += next.1;
        }
        is_same
    });
    hits
}

/// Hits in any order as sorted ones, of each object the first.
fn once<I: Copy + Ord>(mut hits: Vec<(I, f64)>) -> Hits<I> {
    hits.sort_by_key(|(id, _)| *id);
    hits.dedup_by_key(|(id, _)| *id);
    hits
}

fn add<I: Copy + Ord>(sum: &mut Hits<I>, mut hits: Hits<I>) {
    sum.append(&mut hits);
    *sum = summed(std::mem::take(sum));
}

fn intersect<I: Copy + Ord>(of: &mut Hits<I>, hits: &Hits<I>) {
    let mut others = Others(hits);
    of.retain_mut(|(id, score)| match others.get(*id) {
        Some(more) => {
            *score += more;
            true
        }
        None => false,
    });
}

/// Hits that are asked for in ascending order.
struct Others<'h, I, T = f64>(&'h [(I, T)]);

impl<I: Copy + Ord, T: Copy> Others<'_, I, T> {
    /// What there is of an object that is not below the last one that was asked for.
    fn get(&mut self, id: I) -> Option<T> {
        // Galloping: of a short list, a long one is hardly looked at.
        let mut step = 1;
        while self.0.get(step).is_some_and(|(other, _)| *other < id) {
            step *= 2;
        }
        let near = &self.0[..self.0.len().min(step + 1)];
        self.0 = &self.0[near.partition_point(|(other, _)| *other < id)..];
        self.0.first().filter(|(other, _)| *other == id).map(|(_, found)| *found)
    }
}
