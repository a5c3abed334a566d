//! Slow statements of late, for `telar.slowQueries`.
//!
//! Kept in memory only, the newest [`KEPT_MAX`], with passwords masked and without parameters.
//! An entry belongs to the user by number: a later user of the same name does not see it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use telar_db::maintenance::time;
use telar_db::query::cypher::without_secrets;
use telar_db::query::{ShownSlow, query_id};

use super::caller::Identity;

/// Most statements that are kept: with [`TEXT_CHARS_MAX`] 4 MB at the most.
const KEPT_MAX: usize = 100;

/// Most characters that are kept or logged of a text.
pub(crate) const TEXT_CHARS_MAX: usize = 10_000;

/// The beginning of a text, with dots in place of the rest.
pub(crate) fn clipped(text: Cow<'_, str>) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
    }
}

/// A statement that has ended.
pub(super) struct Ended<'a> {
    /// With whose rights it ran.
    pub(super) identity: &'a Identity,
    /// The number by which it was listed.
    pub(super) number: Option<u64>,
    /// Where it ran.
    pub(super) database: &'a Arc<str>,
    /// Its text, passwords and all.
    pub(super) text: &'a str,
    /// How long it took.
    pub(super) took: Duration,
    /// Rows that it returned.
    pub(super) rows: u64,
    /// The code of its error, if it failed.
    pub(super) error: Option<&'static str>,
}

/// Slow statements of late, of all databases.
#[derive(Debug)]
pub(super) struct SlowStatements {
    from: Duration,
    newest_last: Mutex<VecDeque<(Identity, ShownSlow)>>,
}

impl SlowStatements {
    /// Keeps statements that take at least `from`.
    pub(super) fn new(from: Duration) -> Self {
        Self { from, newest_last: Mutex::default() }
    }

    /// Keeps a statement, if it was slow.
    pub(super) fn note(&self, ended: &Ended<'_>) {
        if ended.took < self.from {
            return;
        }
        let ms = u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX);
        let shown = ShownSlow {
            started: time::show(time::now_ms().saturating_sub(ms)),
            database: Arc::clone(ended.database),
            user: ended.identity.name(),
            query: ended.number.map(query_id),
            milliseconds: ms,
            rows: ended.rows,
            error: ended.error,
            text: clipped(without_secrets(ended.text)).into(),
        };
        let mut kept = self.newest_last.lock();
        if kept.len() == KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back((ended.identity.clone(), shown));
    }

    /// The statements of one user, or of all; the newest first.
    pub(super) fn shown(&self, of: Option<&Identity>) -> Vec<ShownSlow> {
        let kept = self.newest_last.lock();
        let wanted = kept.iter().rev().filter(|(by, _)| of.is_none_or(|of| of == by));
        wanted.map(|(_, shown)| shown.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(number: u64) -> Identity {
        Identity::User { name: "ann".into(), number }
    }

    fn note(slow: &SlowStatements, identity: &Identity, text: &str, ms: u64) {
        slow.note(&Ended {
            identity,
            number: None,
            database: &"shop".into(),
            text,
            took: Duration::from_millis(ms),
            rows: 3,
            error: None,
        });
    }

    #[test]
    fn statements_from_the_threshold_on_are_kept_up_to_a_bound() {
        let slow = SlowStatements::new(Duration::from_millis(100));
        assert_eq!(slow.shown(None), []);
        note(&slow, &user(1), "RETURN 0", 99);
        assert_eq!(slow.shown(None), []);
        for number in 0..=KEPT_MAX {
            note(&slow, &user(1), &format!("RETURN {number}"), 100);
        }
        let shown = slow.shown(None);
        assert_eq!(shown.len(), KEPT_MAX);
        assert_eq!(*shown[0].text, *format!("RETURN {KEPT_MAX}"));
        assert_eq!(*shown[KEPT_MAX - 1].text, *"RETURN 1");
        assert_eq!((shown[0].milliseconds, shown[0].rows), (100, 3));
    }

    #[test]
    fn another_user_of_the_same_name_sees_nothing_of_the_old_one() {
        let slow = SlowStatements::new(Duration::ZERO);
        note(&slow, &user(1), "RETURN 1", 0);
        assert_eq!(slow.shown(Some(&user(1))).len(), 1);
        assert_eq!(slow.shown(Some(&user(2))), []);
    }

    #[test]
    fn kept_texts_are_bounded_and_hold_no_passwords() {
        let slow = SlowStatements::new(Duration::ZERO);
        note(&slow, &Identity::Anyone, "CREATE USER ann SET PASSWORD 'hunter22'", 0);
        assert_eq!(*slow.shown(None)[0].text, *"CREATE USER ann SET PASSWORD '******'");
        note(&slow, &Identity::Anyone, &"ä".repeat(TEXT_CHARS_MAX + 1), 0);
        assert_eq!(slow.shown(None)[0].text.chars().count(), TEXT_CHARS_MAX + 3);
    }
}
