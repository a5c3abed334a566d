//! What a node may be: sets of labels, and how likely each is.
//!
//! What is known of a node narrows that down: it has a label; it has a relationship, so that sets
//! whose nodes have many of those are likelier than others. `w(S)` adds up to 1:
//!
//! | Known | Makes of it |
//! |---|---|
//! | nothing | `w(S) = n(S) / n` |
//! | it has the label `L` | 0 where `S` lacks it |
//! | a relationship leads to it | `w(S) * d(S)`, what nodes of `S` have of those that come from |
//! | | nodes of the kind where it begins |
//!
//! Two nodes of one kind are the same in one of `1 / sum(w(S)^2 / n(S))` cases, which is how many
//! such nodes there are, as far as that matters.

use telar_graph::LabelId;
use telar_graph::update::IndexedObjects;
use telar_graph::{EdgeEnd, LabelSet};

use super::facts::Fact;
use super::{Counts, Facts};
use crate::batch::Slot;
use crate::plan::{Types, Way};

/// Sets of labels, by their place among the estimates, and how likely each is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// One of these.
    Of(Vec<(usize, f64)>),
    /// It has a label of which no node was seen.
    Unseen(LabelId),
}

impl Counts<'_> {
    /// Every kind of node there is.
    fn any(&self) -> Vec<(usize, f64)> {
        let all = self.known.sets.iter().map(|set| set.vertices).sum::<f64>().max(1.0);
        self.known.sets.iter().map(|set| set.vertices / all).enumerate().collect()
    }

    /// What a node may be.
    fn kind(&self, fact: Option<&Fact>) -> Vec<(usize, f64)> {
        match fact.and_then(|fact| fact.kind.as_ref()) {
            Some(Kind::Of(sets)) => sets.clone(),
            Some(Kind::Unseen(_)) => Vec::new(),
            None => self.any(),
        }
    }

    /// Narrows down what a node may be. Returns how much is left: the mean of what `f` says.
    fn narrow(&self, fact: &mut Fact, f: impl Fn(&LabelSet) -> f64) -> f64 {
        let mut sets = self.kind(Some(fact));
        sets.iter_mut().for_each(|(set, weight)| *weight *= f(&self.known.sets[*set]));
        sets.retain(|(_, weight)| *weight > 0.0);
        let left: f64 = sets.iter().map(|(_, weight)| weight).sum();
        if left > 0.0 {
            sets.iter_mut().for_each(|(_, weight)| *weight /= left);
            fact.kind = Some(Kind::Of(sets));
        }
        left
    }

    /// A node has a label, or a relationship a type. Returns how likely that was.
    pub(crate) fn is(&self, facts: &mut Facts, slot: Slot, what: IndexedObjects) -> f64 {
        let fact = facts.at(slot);
        let label = match what {
            IndexedObjects::Vertices(label) => label,
            IndexedObjects::Edges(ty) => {
                fact.ty = Some(ty);
                return 1.0;
            }
        };
        let left = self.narrow(fact, |set| f64::from(u8::from(set.labels.contains(&label))));
        if left > 0.0 {
            return left;
        }
        // What was known is not so, or was not seen.
        fact.kind = None;
        if self.narrow(fact, |set| f64::from(u8::from(set.labels.contains(&label)))) == 0.0 {
            fact.kind = Some(Kind::Unseen(label));
        }
        (self.count(what) / self.nodes().max(1.0)).min(1.0)
    }

    /// How likely a node has a label.
    pub(crate) fn has_label(&self, facts: &Facts, slot: Slot, label: LabelId) -> f64 {
        match facts.get(slot).and_then(|fact| fact.kind.as_ref()) {
            Some(Kind::Unseen(unseen)) => f64::from(u8::from(*unseen == label)),
            Some(Kind::Of(sets)) => {
                let has = |(set, _): &&(usize, f64)| self.known.sets[*set].labels.contains(&label);
                sets.iter().filter(has).map(|(_, weight)| weight).sum()
            }
            None => self.count(IndexedObjects::Vertices(label)) / self.nodes().max(1.0),
        }
    }

    /// Notes what relationships of these types say of the node they lead to, of those between
    /// nodes of these kinds.
    pub(crate) fn leads_to(
        &self,
        facts: &mut Facts,
        (from, to): (Slot, Slot),
        types: &Types,
        way: Way,
    ) {
        let back = self.tables(types, way.reverse());
        let mut begins = vec![0.0; self.known.sets.len()];
        for (set, weight) in self.kind(facts.get(from)) {
            begins[set] = weight / self.known.sets[set].vertices.max(1.0);
        }
        let one = |set: &LabelSet, table: &EdgeEnd| -> Option<f64> {
            let degree = set.degrees.get(table)?;
            let shares = set.neighbours.get(table)?;
            Some(degree * shares.iter().map(|(set, share)| share * begins[*set]).sum::<f64>())
        };
        let degree = |set: &LabelSet| back.iter().filter_map(|table| one(set, table)).sum();
        // Where nobody was seen to have any, it says nothing.
        self.narrow(facts.at(to), degree);
    }

    /// The end of a path is its beginning with this likelihood, and else what these relationships
    /// lead to.
    pub(crate) fn begins_or_leads_to(
        &self,
        facts: &mut Facts,
        (from, to): (Slot, Slot),
        (types, way): (&Types, Way),
        begins: f64,
    ) {
        let mut sets = self.kind(facts.get(from));
        sets.iter_mut().for_each(|(_, weight)| *weight *= begins);
        self.leads_to(facts, (from, to), types, way);
        for (set, weight) in self.kind(facts.get(to)) {
            let weight = weight * (1.0 - begins);
            match sets.iter_mut().find(|(known, _)| *known == set) {
                Some((_, known)) => *known += weight,
                None => sets.push((set, weight)),
            }
        }
        facts.at(to).kind = Some(Kind::Of(sets));
    }

    /// Nodes that a variable may be, or relationships.
    pub(crate) fn ends(&self, facts: &Facts, slot: Slot) -> f64 {
        let fact = facts.get(slot);
        let ends = match fact.and_then(|fact| fact.kind.as_ref()) {
            Some(Kind::Of(sets)) => {
                let same = |(set, weight): &(usize, f64)| {
                    weight * weight / self.known.sets[*set].vertices.max(1.0)
                };
                1.0 / sets.iter().map(same).sum::<f64>().max(1e-18)
            }
            Some(Kind::Unseen(label)) => self.count(IndexedObjects::Vertices(*label)),
            None => match fact.and_then(|fact| fact.ty) {
                Some(ty) => self.count(IndexedObjects::Edges(ty)),
                None => self.nodes(),
            },
        };
        ends.max(1.0)
    }

    /// Relationships of a node, and of one that is known as this one is: those that were found by
    /// relationships that they have, or asked for, have more than others.
    pub(super) fn degree(&self, node: &Fact, tables: &[EdgeEnd]) -> (f64, f64) {
        let (mut mean, mut met) = (0.0, 0.0);
        match &node.kind {
            Some(Kind::Of(sets)) => {
                for (set, weight) in sets {
                    let set = &self.known.sets[*set];
                    for table in tables {
                        let degree = weight * set.degrees.get(table).copied().unwrap_or(0.0);
                        mean += degree;
                        met += degree * times(set, node, *table);
                    }
                }
            }
            // Too few to have been seen: it is they that have them.
            Some(Kind::Unseen(label)) => {
                let all = self.count(IndexedObjects::Vertices(*label));
                mean = self.edges(tables) / all.max(1.0);
                met = mean;
            }
            None => {
                mean = self.edges(tables) / self.nodes().max(1.0);
                met = mean;
            }
        }
        (mean, met)
    }

    /// How many times likelier two sides are to find the same node, where they found it by
    /// relationships that it has.
    pub(crate) fn meet(
        &self,
        facts: &Facts,
        node: Slot,
        here: Vec<Vec<EdgeEnd>>,
        there: &[Vec<EdgeEnd>],
    ) -> f64 {
        if here.is_empty() {
            return 1.0;
        }
        let kind = facts.get(node).and_then(|fact| fact.kind.clone());
        let fact = Fact { kind, reached: here, ..Fact::default() };
        let times = there.iter().map(|tables| match self.degree(&fact, tables) {
            (mean, met) if mean > 0.0 => met / mean,
            _ => 1.0,
        });
        times.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs())).unwrap_or(1.0)
    }

    fn edges(&self, tables: &[EdgeEnd]) -> f64 {
        tables.iter().map(|(ty, _)| self.count(IndexedObjects::Edges(*ty))).sum()
    }
}

/// Of a node's relationships, those that it has at least if it has others: what a sample did not
/// see may be there.
const LEAST: f64 = 0.05;

/// How many times more relationships of one kind a node has than others with its labels.
fn times(set: &LabelSet, node: &Fact, table: EdgeEnd) -> f64 {
    let met = |reached: &[EdgeEnd]| {
        // By which of them it was found: the more there are, the likelier.
        let (mut all, mut sum) = (0.0, 0.0);
        for by in reached {
            let degree = set.degrees.get(by).copied().unwrap_or(0.0);
            all += degree;
            sum += degree * set.skew.get(&(*by, table)).copied().unwrap_or(LEAST);
        }
        if all > 0.0 { (sum / all).max(LEAST) } else { 1.0 }
    };
    let by = node.reached.iter().map(|reached| met(reached));
    // What says the most: several say the same of a node more often than not.
    let by = by.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()));
    by.unwrap_or_else(|| match node.asked_for {
        // The root of the mean square: more than the mean, less than what is met by chance.
        true => set.skew.get(&(table, table)).copied().unwrap_or(1.0).sqrt(),
        false => 1.0,
    })
}
