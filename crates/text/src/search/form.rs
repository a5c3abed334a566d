//! Queries of words only, as sums of terms that a document needs, may have, and must not have.
//!
//! ```text
//!  a b              (a ∨ b)                      one group: a sum
//!  +a +(b c) d -e   (a) ∧ (b ∨ c), d adds, ¬e
//!  a +(b AND c)     (b) ∧ (c), a adds
//!  a (b AND c)      none: "b and c" is neither a sum nor needed
//! ```
//!
//! A clause without words is as if it were not there; a word of a field that the index lacks is one
//! that no document has.

use super::{Search, Source};
use crate::query::{Clause, Node, Occur};

/// A term in a field, and what its scores are multiplied by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    pub(super) field: u8,
    pub(super) text: String,
    pub(super) boost: f32,
}

/// A query as sums of terms.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Form {
    /// A document has a term of each of these.
    pub(super) needed: Vec<Vec<Term>>,
    /// These add to its score.
    pub(super) optional: Vec<Term>,
    /// It has none of these.
    pub(super) without: Vec<Term>,
}

impl<S: Source> Search<'_, S> {
    /// The form of a query; `None` if it has none.
    pub(super) fn form(&self, query: &Clause) -> Option<Form> {
        let mut form = Form::default();
        let is_known = !self.has_words(query) || self.need(query, 1.0, &mut form);
        is_known.then_some(form)
    }

    /// Adds that a clause, which has words, is needed; false if that is no form.
    fn need(&self, clause: &Clause, boost: f32, form: &mut Form) -> bool {
        let Node::Boolean(clauses) = &clause.node else {
            let mut group = Vec::new();
            let is_sum = self.is_sum(clause, boost, &mut group);
            form.needed.push(group);
            return is_sum;
        };
        let boost = boost * clause.boost;
        let with_words = || clauses.iter().filter(|(_, clause)| self.has_words(clause));
        let has_needed = with_words().any(|(occur, _)| matches!(occur, Occur::Must));
        let mut group = Vec::new();
        let is_known = with_words().all(|(occur, clause)| match occur {
            Occur::Must => self.need(clause, boost, form),
            Occur::Should if has_needed => self.is_sum(clause, boost, &mut form.optional),
            Occur::Should => self.is_sum(clause, boost, &mut group),
            Occur::MustNot => self.is_sum(clause, boost, &mut form.without),
        });
        if !has_needed {
            form.needed.push(group);
        }
        is_known
    }

    /// True if the hits of a clause are those of terms, and scores their sums; appends the terms.
    fn is_sum(&self, clause: &Clause, boost: f32, terms: &mut Vec<Term>) -> bool {
        let boost = boost * clause.boost;
        match &clause.node {
            Node::Words(text) => {
                for field in self.fields_of(clause.field.as_deref()) {
                    let tokens = self.analyzer.tokens(&[text]).into_iter();
                    terms.extend(tokens.map(|token| Term { field, text: token.term, boost }));
                }
                true
            }
            Node::Boolean(clauses) => clauses.iter().all(|(occur, clause)| {
                matches!(occur, Occur::Should) && self.is_sum(clause, boost, terms)
            }),
            _ => false,
        }
    }

    /// False if a clause is as if it were not there.
    fn has_words(&self, clause: &Clause) -> bool {
        match &clause.node {
            Node::Words(text) => {
                let is_nowhere = || self.fields_of(clause.field.as_deref()).is_empty();
                !self.analyzer.tokens(&[text]).is_empty() || is_nowhere()
            }
            Node::Boolean(clauses) => clauses.iter().any(|(_, clause)| self.has_words(clause)),
            _ => true,
        }
    }
}
