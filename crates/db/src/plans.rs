//! Plans that are kept, by text.
//!
//! A full cache makes room by second chance: a hand goes round the places and takes the first plan
//! that was not used since it came by last. A plan that is used again and again stays, whatever
//! passes through once. Texts are compared whole; parameters are no part of them.
//!
//! Cost: a look-up hashes the text once and sets a flag.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_query::Prepared;

/// Plans by text, as long as what they were made for holds.
#[derive(Debug)]
pub(crate) struct Plans {
    /// What they were made for: indexes, and about the size of the graph.
    version: u64,
    /// Most plans kept.
    max: usize,
    places: Vec<Place>,
    by_text: HashMap<Arc<str>, usize, RandomState>,
    hand: usize,
    uses: PlanUses,
}

#[derive(Debug)]
struct Place {
    plan: Arc<Prepared>,
    /// Since the hand came by.
    used: bool,
}

/// How well plans that are kept serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PlanUses {
    /// Statements whose plan was there.
    pub hits: u64,
    /// Statements that had to be planned, those that were refused included.
    pub misses: u64,
    /// Plans that made room for others.
    pub evicted: u64,
    /// Plans kept now.
    pub kept: usize,
}

impl Plans {
    /// A cache of at most `max` plans.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            version: 0,
            max,
            places: Vec::new(),
            by_text: HashMap::default(),
            hand: 0,
            uses: PlanUses::default(),
        }
    }

    /// The plan for `text`, if it was made for this version.
    pub(crate) fn find(&mut self, text: &str, version: u64) -> Option<Arc<Prepared>> {
        if self.version != version {
            self.places.clear();
            self.by_text.clear();
            self.hand = 0;
            self.version = version;
        }
        let Some(at) = self.by_text.get(text) else {
            self.uses.misses += 1;
            return None;
        };
        self.uses.hits += 1;
        let place = &mut self.places[*at];
        place.used = true;
        Some(Arc::clone(&place.plan))
    }

    /// Keeps a plan that was made for this version, unless it has passed.
    pub(crate) fn keep(&mut self, plan: &Arc<Prepared>, version: u64) {
        if self.version != version {
            return;
        }
        let new = Place { plan: Arc::clone(plan), used: false };
        let at = match self.by_text.get(plan.text()) {
            // Two sessions planned it at the same time.
            Some(at) => *at,
            None if self.places.len() < self.max => self.places.len(),
            None => self.make_room(),
        };
        match self.places.get_mut(at) {
            Some(place) => *place = new,
            None => self.places.push(new),
        }
        self.by_text.insert(Arc::clone(plan.text()), at);
    }

    /// A place whose plan was not used lately; it is forgotten.
    fn make_room(&mut self) -> usize {
        loop {
            let at = self.hand;
            self.hand = (at + 1) % self.places.len();
            let place = &mut self.places[at];
            if !std::mem::replace(&mut place.used, false) {
                self.by_text.remove(place.plan.text());
                self.uses.evicted += 1;
                return at;
            }
        }
    }

    pub(crate) fn uses(&self) -> PlanUses {
        PlanUses { kept: self.places.len(), ..self.uses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use telar_query::{Procedures, prepare};

    fn plan(text: &str) -> Arc<Prepared> {
        let db = crate::open_in_memory().unwrap();
        let reader = db.reader().unwrap();
        Arc::new(prepare(text, &reader, &Procedures::builtin()).unwrap())
    }

    fn texts(plans: &mut Plans, numbers: impl IntoIterator<Item = u32>) -> Vec<bool> {
        let found = |n| plans.find(&format!("RETURN {n}"), 1).is_some();
        numbers.into_iter().map(found).collect()
    }

    #[test]
    fn what_is_used_stays_and_what_passes_through_goes() {
        let mut plans = Plans::new(4);
        assert!(plans.find("RETURN 0", 1).is_none());
        for n in 0..4 {
            plans.keep(&plan(&format!("RETURN {n}")), 1);
        }
        assert_eq!(texts(&mut plans, 0..4), [true; 4]);
        // All were used: each loses its mark, and the first has to go.
        plans.keep(&plan("RETURN 4"), 1);
        assert_eq!(texts(&mut plans, [0, 2]), [false, true]);
        for n in 5..50 {
            plans.keep(&plan(&format!("RETURN {n}")), 1);
            assert!(plans.find("RETURN 2", 1).is_some(), "{n}");
            assert_eq!(plans.uses().kept, 4);
        }
        assert_eq!(texts(&mut plans, [1, 3, 4, 48, 49]), [false, false, false, true, true]);
        assert_eq!(plans.by_text.len(), 4);
        let uses = plans.uses();
        assert_eq!((uses.hits, uses.misses, uses.evicted), (4 + 1 + 45 + 2, 1 + 1 + 3, 46));
    }

    #[test]
    fn plans_of_another_version_are_forgotten_and_not_kept() {
        let mut plans = Plans::new(4);
        assert!(plans.find("RETURN 1", 1).is_none());
        plans.keep(&plan("RETURN 1"), 1);
        plans.keep(&plan("RETURN 2"), 0);
        assert_eq!(texts(&mut plans, [1, 2]), [true, false]);
        assert!(plans.find("RETURN 1", 2).is_none() && plans.find("RETURN 1", 2).is_none());
        // Planned twice at the same time, it is kept once.
        plans.keep(&plan("RETURN 1"), 2);
        plans.keep(&plan("RETURN 1"), 2);
        assert_eq!(plans.uses().kept, 1);
    }
}
