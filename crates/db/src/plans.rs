//! Plans that are kept, by text.
//!
//! A full cache makes room by second chance: a hand goes round the places and takes the first plan
//! that was not used since it came by last. A plan that is used again and again stays, whatever
//! passes through once. Texts are compared whole; parameters are no part of them.
//!
//! Both the number of plans and their bytes are bounded. A plan that takes much by itself is not
//! kept: it was made for one use, by a program that writes values into texts.
//!
//! Cost: a look-up hashes the text once and sets a flag.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_query::Prepared;

/// A plan that would take more than one part in so many of all bytes is not kept.
const SHARE_MAX: usize = 64;

/// Plans by text, as long as what they were made for holds.
#[derive(Debug)]
pub(crate) struct Plans {
    /// What they were made for: indexes, and about the size of the graph.
    version: u64,
    /// Most plans kept, and most bytes of all of them.
    max: usize,
    bytes_max: usize,
    /// Bytes of those that are.
    bytes: usize,
    places: Vec<Option<Place>>,
    /// Places without a plan.
    free: Vec<usize>,
    by_text: HashMap<Arc<str>, usize, RandomState>,
    hand: usize,
    uses: PlanUses,
}

#[derive(Debug)]
struct Place {
    plan: Arc<Prepared>,
    bytes: usize,
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
    /// Bytes that they take, about.
    pub bytes: usize,
}

impl Plans {
    /// A cache of at most `max` plans, which take at most so many bytes together.
    pub(crate) fn new(max: usize, bytes_max: usize) -> Self {
        Self {
            version: 0,
            max,
            bytes_max,
            bytes: 0,
            places: Vec::new(),
            free: Vec::new(),
            by_text: HashMap::default(),
            hand: 0,
            uses: PlanUses::default(),
        }
    }

    /// The plan for `text`, if it was made for this version.
    pub(crate) fn find(&mut self, text: &str, version: u64) -> Option<Arc<Prepared>> {
        if self.version != version {
            self.clear();
            self.version = version;
        }
        let kept = self.by_text.get(text).and_then(|at| self.places[*at].as_mut());
        let Some(place) = kept else {
            self.uses.misses += 1;
            return None;
        };
        self.uses.hits += 1;
        place.used = true;
        Some(Arc::clone(&place.plan))
    }

    /// Forgets every plan, and says how many there were.
    pub(crate) fn clear(&mut self) -> usize {
        let kept = self.by_text.len();
        self.places.clear();
        self.free.clear();
        self.by_text.clear();
        (self.hand, self.bytes) = (0, 0);
        kept
    }

    /// Keeps a plan of so many bytes that was made for this version, unless it has passed.
    pub(crate) fn keep(&mut self, plan: &Arc<Prepared>, bytes: usize, version: u64) {
        // Of two sessions that planned it at the same time, the first has kept it.
        let known = self.by_text.contains_key(plan.text());
        if self.version != version || bytes > self.bytes_max / SHARE_MAX || known {
            return;
        }
        while self.by_text.len() >= self.max || self.bytes + bytes > self.bytes_max {
            self.make_room();
        }
        let place = Some(Place { plan: Arc::clone(plan), bytes, used: false });
        let at = self.free.pop().unwrap_or(self.places.len());
        match self.places.get_mut(at) {
            Some(free) => *free = place,
            None => self.places.push(place),
        }
        self.bytes += bytes;
        self.by_text.insert(Arc::clone(plan.text()), at);
    }

    /// Forgets a plan that was not used lately; there is at least one plan.
    fn make_room(&mut self) {
        loop {
            let at = self.hand;
            self.hand = (at + 1) % self.places.len();
            let place = &mut self.places[at];
            let Some(kept) = place else { continue };
            if std::mem::replace(&mut kept.used, false) {
                continue;
            }
            self.by_text.remove(kept.plan.text());
            self.bytes -= kept.bytes;
            self.uses.evicted += 1;
            *place = None;
            self.free.push(at);
            return;
        }
    }

    pub(crate) fn uses(&self) -> PlanUses {
        PlanUses { kept: self.by_text.len(), bytes: self.bytes, ..self.uses }
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
        let mut plans = Plans::new(4, 1 << 20);
        assert!(plans.find("RETURN 0", 1).is_none());
        for n in 0..4 {
            plans.keep(&plan(&format!("RETURN {n}")), 10, 1);
        }
        assert_eq!(texts(&mut plans, 0..4), [true; 4]);
        // All were used: each loses its mark, and the first has to go.
        plans.keep(&plan("RETURN 4"), 10, 1);
        assert_eq!(texts(&mut plans, [0, 2]), [false, true]);
        for n in 5..50 {
            plans.keep(&plan(&format!("RETURN {n}")), 10, 1);
            assert!(plans.find("RETURN 2", 1).is_some(), "{n}");
            assert_eq!(plans.uses().kept, 4);
        }
        assert_eq!(texts(&mut plans, [1, 3, 4, 48, 49]), [false, false, false, true, true]);
        assert_eq!(plans.by_text.len(), 4);
        let uses = plans.uses();
        assert_eq!((uses.hits, uses.misses, uses.evicted), (4 + 1 + 45 + 2, 1 + 1 + 3, 46));
    }

    #[test]
    fn bytes_are_bounded_and_large_plans_are_not_kept() {
        let mut plans = Plans::new(100, 6400);
        assert!(plans.find("RETURN 0", 1).is_none());
        plans.keep(&plan("RETURN 0"), 101, 1);
        assert_eq!(plans.uses().kept, 0);
        for n in 0..1000 {
            plans.keep(&plan(&format!("RETURN {n}")), 100 - n % 7, 1);
            let uses = plans.uses();
            assert!(uses.bytes <= 6400 && (uses.kept >= 64 || n < 64), "{uses:?}");
        }
        // A text makes a plan that takes more: a list, and relationships that must differ.
        let long = format!("RETURN [1{}]", ", 1".repeat(10_000));
        let hops = format!("MATCH (a){} RETURN a", "-->()".repeat(200));
        assert!(plan(&long).bytes() > 10_000 * 16 + long.len());
        assert!(plan(&hops).bytes() > 200 * 200 / 2 * 8);
        assert!(plan("RETURN 1").bytes() < 4096);
    }

    #[test]
    fn plans_of_another_version_are_forgotten_and_not_kept() {
        let mut plans = Plans::new(4, 1 << 20);
        assert!(plans.find("RETURN 1", 1).is_none());
        plans.keep(&plan("RETURN 1"), 10, 1);
        plans.keep(&plan("RETURN 2"), 10, 0);
        assert_eq!(texts(&mut plans, [1, 2]), [true, false]);
        assert!(plans.find("RETURN 1", 2).is_none() && plans.find("RETURN 1", 2).is_none());
        // Planned twice at the same time, it is kept once.
        plans.keep(&plan("RETURN 1"), 10, 2);
        plans.keep(&plan("RETURN 1"), 10, 2);
        assert_eq!(plans.uses().kept, 1);
    }
}
