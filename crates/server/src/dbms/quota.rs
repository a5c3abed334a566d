//! Places of which there are so many: connections, statements, transactions.
//!
//! One user gets a share of them, so that nobody keeps all others out; some beside them are for
//! administrators, so that the server can be administered whatever the others do. Where nobody logs
//! in there is nobody to tell apart.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Failure;

/// Places that are kept for administrators.
pub(crate) const KEPT: usize = 8;

/// Who wants a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The number of the user, if there is one.
    pub(super) user: Option<u64>,
    pub(super) admin: bool,
}

impl Standing {
    /// Somebody where nobody logs in.
    pub(crate) const ANYONE: Self = Self { user: None, admin: false };
    /// Another node of the cluster.
    pub(crate) const NODE: Self = Self { user: None, admin: true };
}

/// Places of one kind.
#[derive(Debug)]
pub(crate) struct Quota {
    most: usize,
    per_user: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    by_user: HashMap<u64, usize>,
}

/// A place, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    quota: Arc<Quota>,
    standing: Standing,
}

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// All are taken.
    All(usize),
    /// The user has as many as one may have.
    User(usize),
}

impl Full {
    /// What to say of it: `what` there are, and which setting says how many.
    pub(crate) fn failure(self, what: &str, setting: &str) -> Failure {
        let message = match self {
            Self::All(most) => {
                format!("there are {most} {what}, as many as there may be ({setting}): try again")
            }
            Self::User(most) => format!(
                "this user has {most} {what}, as many as one user may have (limits.user_share of \
                 {setting}): try again"
            ),
        };
        Failure::new("Neo.TransientError.Request.NoThreadsAvailable", message)
    }
}

impl Held {
    fn of(&self, user: u64) -> usize {
        self.by_user.get(&user).copied().unwrap_or_default()
    }

    fn add(&mut self, standing: Standing) {
        self.all += 1;
        if let Some(user) = standing.user {
            *self.by_user.entry(user).or_default() += 1;
        }
    }

    fn remove(&mut self, standing: Standing) {
        self.all -= 1;
        let Some(user) = standing.user else { return };
        let left = self.of(user) - 1;
        match left {
            0 => self.by_user.remove(&user),
            left => self.by_user.insert(user, left),
        };
    }
}

impl Quota {
    /// `most` places, of which one user has at most so many percent, rounded up.
    pub(crate) fn new(most: usize, user_share: usize) -> Arc<Self> {
        let per_user = most.saturating_mul(user_share.min(100)).div_ceil(100).max(1);
        Arc::new(Self { most, per_user, held: Mutex::default() })
    }

    fn check(&self, held: &Held, Standing { user, admin }: Standing) -> Result<(), Full> {
        if held.all >= self.most + if admin { KEPT } else { 0 } {
            return Err(Full::All(self.most));
        }
        match user.filter(|_| !admin) {
            Some(user) if held.of(user) >= self.per_user => Err(Full::User(self.per_user)),
            _ => Ok(()),
        }
    }

    /// A place.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn take(self: &Arc<Self>, standing: Standing) -> Result<Place, Full> {
        let mut held = self.held.lock();
        self.check(&held, standing)?;
        held.add(standing);
        Ok(Place { quota: Arc::clone(self), standing })
    }
}

impl Place {
    /// Makes it somebody else's.
    ///
    /// # Errors
    /// If that one gets none: it stays whose it was.
    pub(crate) fn pass_to(&mut self, standing: Standing) -> Result<(), Full> {
        let mut held = self.quota.held.lock();
        held.remove(self.standing);
        let checked = self.quota.check(&held, standing);
        if checked.is_ok() {
            self.standing = standing;
        }
        held.add(self.standing);
        checked
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.quota.held.lock().remove(self.standing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(number: u64) -> Standing {
        Standing { user: Some(number), admin: false }
    }

    const ADMIN: Standing = Standing { user: Some(0), admin: true };

    #[test]
    fn one_user_leaves_places_to_others_and_all_leave_some_to_administrators() {
        let quota = Quota::new(10, 75);
        let mut places: Vec<_> = (0..8).map(|_| quota.take(user(1)).unwrap()).collect();
        assert_eq!(quota.take(user(1)).unwrap_err(), Full::User(8));
        places.extend((0..2).map(|_| quota.take(user(2)).unwrap()));
        assert_eq!(quota.take(user(3)).unwrap_err(), Full::All(10));
        assert_eq!(quota.take(Standing::ANYONE).unwrap_err(), Full::All(10));
        let kept: Vec<_> = (0..KEPT).map(|_| quota.take(ADMIN).unwrap()).collect();
        assert_eq!(quota.take(ADMIN).unwrap_err(), Full::All(10));
        drop(kept);
        assert!(quota.take(user(1)).is_err());
        places.remove(0);
        assert!(quota.take(user(1)).is_ok());
        places.clear();
        let held = quota.held.lock();
        assert!(held.all == 0 && held.by_user.is_empty(), "{held:?}");
    }

    #[test]
    fn a_place_that_changes_hands_is_counted_once() {
        let quota = Quota::new(2, 50);
        let mut first = quota.take(user(1)).unwrap();
        let second = quota.take(user(2)).unwrap();
        assert_eq!(first.pass_to(user(2)), Err(Full::User(1)));
        assert_eq!(first.pass_to(user(1)), Ok(()));
        drop(second);
        assert_eq!(first.pass_to(user(2)), Ok(()));
        drop(first);
        assert!(quota.held.lock().by_user.is_empty());
    }

    #[test]
    fn few_places_are_not_made_fewer() {
        for most in 1..=3 {
            let quota = Quota::new(most, 75);
            let all: Vec<_> = (0..most).map(|_| quota.take(user(1)).unwrap()).collect();
            assert_eq!(quota.take(user(1)).unwrap_err(), Full::All(most));
            drop(all);
        }
    }
}
