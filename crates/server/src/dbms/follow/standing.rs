//! Lag and troubles of a copy.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// State of following one database, as its worker tells it and others ask for it.
#[derive(Debug, Default)]
pub(super) struct Standing(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    /// The last commit of the source that is known.
    newest: u64,
    /// The last commit here.
    own: u64,
    /// The last moment at which the source had no commit that was not here.
    caught_up: Instant,
    connected: bool,
    trouble: Option<String>,
    /// True while an image is fetched.
    fetching: bool,
    images: u64,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            newest: 0,
            own: 0,
            caught_up: Instant::now(),
            connected: false,
            trouble: None,
            fetching: false,
            images: 0,
        }
    }
}

/// Lag and troubles of a copy at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Commits that the source is known to have and the copy has not.
    pub(crate) commits_behind: u64,
    /// Time since the copy had all commits that the source was known to have.
    pub(crate) behind: Duration,
    /// True if the source answered the last request.
    pub(crate) connected: bool,
    /// Images that were fetched since the server was started.
    pub(crate) images: u64,
    /// The trouble that it is in, or what it waits for; empty if all is well.
    pub(crate) message: String,
}

impl Standing {
    /// Notes an answer: the source is at `newest`, the copy at `own`. True if a trouble is over.
    pub(super) fn answered(&self, newest: u64, own: u64) -> bool {
        let mut inner = self.0.lock();
        (inner.newest, inner.own, inner.connected) = (newest, own, true);
        if own >= newest {
            inner.caught_up = Instant::now();
        }
        inner.trouble.take().is_some()
    }

    /// Notes a trouble. True if it is another one than before.
    pub(super) fn failed(&self, why: &str, connected: bool) -> bool {
        let mut inner = self.0.lock();
        (inner.connected, inner.fetching) = (connected, false);
        let new = inner.trouble.as_deref() != Some(why);
        inner.trouble = Some(why.to_owned());
        new
    }

    /// Notes that an image is fetched.
    pub(super) fn begins_image(&self) {
        self.0.lock().fetching = true;
    }

    /// Notes that an image has come whole.
    pub(super) fn has_image(&self) {
        let mut inner = self.0.lock();
        (inner.fetching, inner.connected, inner.trouble) = (false, true, None);
        inner.images += 1;
    }

    /// The state at this moment.
    pub(super) fn seen(&self) -> Seen {
        let inner = self.0.lock();
        let commits_behind = inner.newest.saturating_sub(inner.own);
        let held_up = !inner.connected || inner.fetching || inner.trouble.is_some();
        let is_behind = commits_behind > 0 || held_up;
        let message = match &inner.trouble {
            Some(trouble) => trouble.clone(),
            None if inner.fetching => "a whole copy is being fetched".to_owned(),
            None => String::new(),
        };
        Seen {
            commits_behind,
            behind: if is_behind { inner.caught_up.elapsed() } else { Duration::ZERO },
            connected: inner.connected,
            images: inner.images,
            message,
        }
    }
}

impl Seen {
    /// The state in a sentence, for lists of databases.
    pub(in crate::dbms) fn sentence(&self, address: &str) -> String {
        let lag = match (self.commits_behind, self.behind.as_secs()) {
            (0, 0) => "nothing behind".to_owned(),
            (0, seconds) => format!("{seconds} s behind"),
            (commits, seconds) => format!("{commits} commits, {seconds} s behind"),
        };
        let message = &self.message;
        let more = if message.is_empty() { String::new() } else { format!("; {message}") };
        format!("copy of {address}, {lag}{more}")
    }
}

#[test]
fn lag_is_that_of_commits_and_of_time() {
    let standing = Standing::default();
    assert!(!standing.seen().connected);
    assert!(!standing.answered(5, 5));
    assert_eq!(standing.seen().behind, Duration::ZERO);
    standing.answered(9, 6);
    std::thread::sleep(Duration::from_millis(2));
    let seen = standing.seen();
    assert!(seen.commits_behind == 3 && seen.behind >= Duration::from_millis(2), "{seen:?}");
    assert!(standing.failed("no", false) && !standing.failed("no", false));
    let late = Seen { behind: Duration::from_millis(7900), ..standing.seen() };
    assert_eq!(late.sentence("http://a"), "copy of http://a, 3 commits, 7 s behind; no");
    assert!(standing.answered(9, 9));
    assert_eq!(standing.seen().sentence("http://a"), "copy of http://a, nothing behind");
}
