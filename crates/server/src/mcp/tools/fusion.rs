//! Ranked lists put together by reciprocal rank fusion: a hit has 1 / (60 + rank) of each list.
//!
//! Scores of different indexes, and those of words and of vectors, cannot be compared; ranks can.
//! A single list keeps its own scores.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

/// The constant of the method, as its authors have it (Cormack et al., 2009).
const K: f64 = 60.0;

/// Hits of one search, the best first.
#[derive(Debug)]
pub(super) struct Ranked {
    /// Name of the index or property.
    pub(super) by: String,
    /// Nodes or relationships, with their scores.
    pub(super) hits: Vec<(Json, f64)>,
}

/// A hit of some lists.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) entity: Json,
    score: f64,
    matched: Vec<Json>,
}

impl Hit {
    /// The hit as an answer has it.
    pub(super) fn json(&self) -> Json {
        let kind = if self.entity.get("labels").is_some() { "node" } else { "relationship" };
        json!({ "score": self.score, "matched": self.matched, kind: self.entity })
    }
}

/// The best hits of all lists; those with equal scores in the order of the lists.
pub(super) fn fuse(lists: &[Ranked], most: usize) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for Ranked { by, hits: found } in lists {
        for (at, (entity, score)) in found.iter().enumerate() {
            let id = entity["id"].as_str().unwrap_or_default().to_owned();
            let place = *places.entry(id).or_insert_with(|| {
                hits.push(Hit { entity: entity.clone(), score: 0.0, matched: Vec::new() });
                hits.len() - 1
            });
            let rank = at + 1;
            hits[place].score += match lists.len() {
                1 => *score,
                _ => 1.0 / (K + rank as f64),
            };
            hits[place].matched.push(json!({ "by": by, "rank": rank, "score": score }));
        }
    }
    // The sort is stable.
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(most);
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(by: &str, ids: &[(&str, f64)]) -> Ranked {
        let hit = |(id, score): &(&str, f64)| (json!({ "id": id, "labels": [] }), *score);
        Ranked { by: by.to_owned(), hits: ids.iter().map(hit).collect() }
    }

    fn order(hits: &[Hit]) -> Vec<&str> {
        hits.iter().map(|hit| hit.entity["id"].as_str().unwrap()).collect()
    }

    #[test]
    fn what_both_lists_have_comes_first() {
        let lists = [
            ranked("words", &[("a", 9.0), ("b", 5.0), ("c", 1.0)]),
            ranked("vector", &[("d", 0.9), ("b", 0.8)]),
        ];
        let hits = fuse(&lists, 10);
        assert_eq!(order(&hits), ["b", "a", "d", "c"]);
        assert!((hits[0].score - (1.0 / 62.0 + 1.0 / 62.0)).abs() < 1e-12);
        assert_eq!(
            hits[0].json()["matched"][1],
            json!({ "by": "vector", "rank": 2, "score": 0.8 })
        );
        assert_eq!(order(&fuse(&lists, 2)), ["b", "a"]);
    }

    #[test]
    fn one_list_keeps_its_scores() {
        let hits = fuse(&[ranked("words", &[("a", 9.0), ("b", 5.0)])], 10);
        assert_eq!(hits.iter().map(|hit| hit.score).collect::<Vec<_>>(), [9.0, 5.0]);
    }
}
