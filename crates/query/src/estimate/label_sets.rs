//! Label sets that a node may have, each with its probability.
//!
//! Facts about a node narrow the distribution down. A label leaves only the sets that hold it. A
//! relationship makes sets likelier whose nodes have many relationships of that kind. The weights
//! `w(S)` always add up to 1:
//!
//! | Fact | New weight of the set `S` |
//! |---|---|
//! | none | `w(S) = n(S) / n` |
//! | the node has the label `L` | 0 where `S` lacks it |
//! | a relationship leads to the node | `w(S) * d(S)` |
//!
//! `d(S)` is the degree of nodes of `S`: relationships of this type that come from a node like the
//! one at the other end. Two nodes with the same distribution are the same node with probability
//! `sum(w(S)^2 / n(S))`. The inverse is the number of candidates for a variable.

use telar_graph::LabelId;
use telar_graph::update::IndexedObjects;
use telar_graph::{EdgeEnd, LabelSet};

use super::facts::Fact;
use super::{Counts, Facts, FanOut, Hop};
use crate::batch::Slot;

/// Lower bound on the skew of one relationship by another one: the sample may have missed nodes
/// that have both.
const SKEW_MIN: f64 = 0.05;

/// Distribution over the label sets that a node may have.
#[derive(Debug, Clone)]
pub(super) enum LabelSets {
    /// One of these sets; the weights add up to 1.
    Of(Vec<WeightedSet>),
    /// Some set with this label; the sample holds no such node.
    Unseen(LabelId),
}

/// A label set with its probability.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeightedSet {
    /// Place among [`Estimates::sets`](telar_graph::Estimates::sets).
    set: usize,
    weight: f64,
}

impl Counts<'_> {
    /// Distribution of a node without any facts.
    fn all_sets(&self) -> Vec<WeightedSet> {
        let all = self.statistics.sets.iter().map(|set| set.vertices).sum::<f64>().max(1.0);
        let weights = self.statistics.sets.iter().map(|set| set.vertices / all);
        weights.enumerate().map(|(set, weight)| WeightedSet { set, weight }).collect()
    }

    /// Distribution of a node; empty if the sample holds no such node.
    fn sets_of(&self, fact: Option<&Fact>) -> Vec<WeightedSet> {
        match fact.and_then(|fact| fact.labels.as_ref()) {
            Some(LabelSets::Of(sets)) => sets.clone(),
            Some(LabelSets::Unseen(_)) => Vec::new(),
            None => self.all_sets(),
        }
    }

    /// Multiplies the weight of each set by `f`. Returns the sum of the weights before they are
    /// made to add up to 1 again. Changes nothing if that sum is 0.
    fn narrow(&self, fact: &mut Fact, f: impl Fn(&LabelSet) -> f64) -> f64 {
        let mut sets = self.sets_of(Some(fact));
        sets.iter_mut().for_each(|s| s.weight *= f(&self.statistics.sets[s.set]));
        sets.retain(|s| s.weight > 0.0);
        let left: f64 = sets.iter().map(|s| s.weight).sum();
        if left > 0.0 {
            sets.iter_mut().for_each(|s| s.weight /= left);
            fact.labels = Some(LabelSets::Of(sets));
        }
        left
    }

    /// Notes that a node has a label, or a relationship a type. Returns the probability that it had
    /// by the facts before.
    pub(crate) fn narrow_to(&self, facts: &mut Facts, slot: Slot, objects: IndexedObjects) -> f64 {
        let fact = facts.at(slot);
        let label = match objects {
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
        // The facts contradict each other, or the sample holds no such node.
        fact.labels = None;
        if self.narrow(fact, |set| f64::from(u8::from(set.labels.contains(&label)))) == 0.0 {
            fact.labels = Some(LabelSets::Unseen(label));
        }
        (self.object_count(objects) / self.node_count().max(1.0)).min(1.0)
    }

    /// Probability that a node has a label.
    pub(crate) fn label_probability(&self, facts: &Facts, slot: Slot, label: LabelId) -> f64 {
        match facts.get(slot).and_then(|fact| fact.labels.as_ref()) {
            Some(LabelSets::Unseen(unseen)) => f64::from(u8::from(*unseen == label)),
            Some(LabelSets::Of(sets)) => {
                let has = |s: &&WeightedSet| self.statistics.sets[s.set].labels.contains(&label);
                sets.iter().filter(has).map(|s| s.weight).sum()
            }
            None => self.object_count(IndexedObjects::Vertices(label)) / self.node_count().max(1.0),
        }
    }

    /// Notes that a hop leads to its end: narrows down the label sets of the end by those of the
    /// start.
    pub(crate) fn narrow_end(&self, facts: &mut Facts, hop: Hop<'_>) {
        let back = self.edge_ends(hop.types, hop.way.reverse());
        let mut starts = vec![0.0; self.statistics.sets.len()];
        for WeightedSet { set, weight } in self.sets_of(facts.get(hop.from)) {
            starts[set] = weight / self.statistics.sets[set].vertices.max(1.0);
        }
        let one = |set: &LabelSet, end: &EdgeEnd| -> Option<f64> {
            let degree = set.degrees.get(end)?;
            let shares = set.neighbours.get(end)?;
            Some(degree * shares.iter().map(|(set, share)| share * starts[*set]).sum::<f64>())
        };
        let degree = |set: &LabelSet| back.iter().filter_map(|end| one(set, end)).sum();
        // If the sample holds no such relationship, this changes nothing.
        self.narrow(facts.at(hop.to), degree);
    }

    /// Notes that a path leads to its end, where the path may have no relationships. Its end is its
    /// start with the probability `empty`, and the end of a hop otherwise.
    pub(crate) fn narrow_path_end(&self, facts: &mut Facts, hop: Hop<'_>, empty: f64) {
        let mut sets = self.sets_of(facts.get(hop.from));
        sets.iter_mut().for_each(|s| s.weight *= empty);
        self.narrow_end(facts, hop);
        for WeightedSet { set, weight } in self.sets_of(facts.get(hop.to)) {
            let weight = weight * (1.0 - empty);
            match sets.iter_mut().find(|known| known.set == set) {
                Some(known) => known.weight += weight,
                None => sets.push(WeightedSet { set, weight }),
            }
        }
        facts.at(hop.to).labels = Some(LabelSets::Of(sets));
    }

    /// Number of nodes or relationships that a variable may be: the inverse of the probability that
    /// two of them are the same.
    pub(crate) fn candidates(&self, facts: &Facts, slot: Slot) -> f64 {
        let fact = facts.get(slot);
        let candidates = match fact.and_then(|fact| fact.labels.as_ref()) {
            Some(LabelSets::Of(sets)) => {
                let same = |s: &WeightedSet| {
                    s.weight * s.weight / self.statistics.sets[s.set].vertices.max(1.0)
                };
                1.0 / sets.iter().map(same).sum::<f64>().max(1e-18)
            }
            Some(LabelSets::Unseen(label)) => self.object_count(IndexedObjects::Vertices(*label)),
            None => match fact.and_then(|fact| fact.ty) {
                Some(ty) => self.object_count(IndexedObjects::Edges(ty)),
                None => self.node_count(),
            },
        };
        candidates.max(1.0)
    }

    /// Fan-out of a node with these facts.
    pub(super) fn fan_out_of(&self, node: &Fact, ends: &[EdgeEnd]) -> FanOut {
        let (mut mean, mut skewed) = (0.0, 0.0);
        match &node.labels {
            Some(LabelSets::Of(sets)) => {
                for WeightedSet { set, weight } in sets {
                    let set = &self.statistics.sets[*set];
                    for end in ends {
                        let degree = weight * set.degrees.get(end).copied().unwrap_or(0.0);
                        mean += degree;
                        skewed += degree * skew_of(set, node, *end);
                    }
                }
            }
            // All relationships are taken to be those of nodes with this label.
            Some(LabelSets::Unseen(label)) => {
                let all = self.object_count(IndexedObjects::Vertices(*label));
                mean = self.edge_count(ends) / all.max(1.0);
                skewed = mean;
            }
            None => {
                mean = self.edge_count(ends) / self.node_count().max(1.0);
                skewed = mean;
            }
        }
        FanOut { mean, skew: if mean > 0.0 { skewed / mean } else { 1.0 } }
    }

    /// Factor by which a join on `node` finds more rows than independent sides would. Both sides
    /// found the node by relationships, and nodes with many relationships are often found on both
    /// sides. `here` and `there` are those relationships.
    pub(crate) fn join_skew(
        &self,
        facts: &Facts,
        node: Slot,
        here: Vec<Vec<EdgeEnd>>,
        there: &[Vec<EdgeEnd>],
    ) -> f64 {
        if here.is_empty() {
            return 1.0;
        }
        let labels = facts.get(node).and_then(|fact| fact.labels.clone());
        let fact = Fact { labels, reached: here, ..Fact::default() };
        strongest(there.iter().map(|ends| self.fan_out_of(&fact, ends).skew)).unwrap_or(1.0)
    }

    fn edge_count(&self, ends: &[EdgeEnd]) -> f64 {
        ends.iter().map(|(ty, _)| self.object_count(IndexedObjects::Edges(*ty))).sum()
    }
}

/// Skew of one kind of relationship: the degree of a node with these facts, divided by the mean
/// degree of nodes with this label set.
fn skew_of(set: &LabelSet, node: &Fact, end: EdgeEnd) -> f64 {
    let by_entry = |reached: &[EdgeEnd]| {
        // Mean over the types by which the node may have been found, weighted by degree.
        let (mut all, mut sum) = (0.0, 0.0);
        for by in reached {
            let degree = set.degrees.get(by).copied().unwrap_or(0.0);
            all += degree;
            sum += degree * set.skew.get(&(*by, end)).copied().unwrap_or(SKEW_MIN);
        }
        if all > 0.0 { (sum / all).max(SKEW_MIN) } else { 1.0 }
    };
    strongest(node.reached.iter().map(|reached| by_entry(reached))).unwrap_or_else(|| {
        match node.unique {
            // The root of the mean square: more than the mean degree, less than that of a node that
            // was found by one of its relationships.
            true => set.skew.get(&(end, end)).copied().unwrap_or(1.0).sqrt(),
            false => 1.0,
        }
    })
}

/// The factor that is farthest from 1. Several factors about one node say the same more often than
/// not, so they are not multiplied.
pub(crate) fn strongest(factors: impl Iterator<Item = f64>) -> Option<f64> {
    factors.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()))
}
