//! Sessions by the id that their clients send.
//!
//! A session belongs to whoever began it, at the database where it was begun: for others it is not
//! there. When there are too many, one of the holder who has most of them ends, so that nobody can
//! end those of others by beginning many.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::dbms::Owner;
use crate::mcp::Settings;
use crate::mcp::server::Session;

/// Holder of sessions: a user, at a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) owner: Owner,
    pub(crate) database: Arc<str>,
}

/// All sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    by_id: Mutex<HashMap<String, Entry>>,
    /// Sessions at once.
    most: usize,
    /// Time without a request or a running call after which a session ends.
    idle: Duration,
}

#[derive(Debug)]
struct Entry {
    session: Arc<Session>,
    holder: Holder,
    used: Instant,
}

impl Entry {
    fn is_over(&self, idle: Duration) -> bool {
        self.used.elapsed() >= idle && !self.session.is_busy()
    }
}

impl Sessions {
    pub(super) fn new(settings: &Settings) -> Self {
        let (most, idle) = (settings.sessions_max, settings.session_idle);
        Self { by_id: Mutex::default(), most, idle }
    }

    /// Keeps a session, and returns its id; none without randomness to make one of.
    pub(super) fn add(&self, session: &Arc<Session>, holder: Holder) -> Option<String> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let id = format!("{:032x}", u128::from_le_bytes(random));
        let mut all = self.by_id.lock();
        all.retain(|_, entry| !entry.is_over(self.idle));
        let entry = Entry { session: Arc::clone(session), holder, used: Instant::now() };
        all.insert(id.clone(), entry);
        if all.len() > self.most
            && let Some(ended) = surplus(&all, &id)
            && let Some(entry) = all.remove(&ended)
        {
            entry.session.cancel_all();
        }
        Some(id)
    }

    /// The session with this id, if it is the holder's.
    pub(super) fn find(&self, id: &str, holder: &Holder) -> Option<Arc<Session>> {
        let mut all = self.by_id.lock();
        let entry = all.get_mut(id).filter(|entry| entry.holder == *holder)?;
        if entry.is_over(self.idle) {
            all.remove(id);
            return None;
        }
        entry.used = Instant::now();
        Some(Arc::clone(&entry.session))
    }

    /// Ends a session, and what runs in it.
    pub(super) fn end(&self, id: &str) {
        let found = self.by_id.lock().remove(id);
        if let Some(entry) = found {
            entry.session.cancel_all();
        }
    }

    /// Ends everything that runs.
    pub(super) fn cancel_all(&self) {
        for entry in self.by_id.lock().values() {
            entry.session.cancel_all();
        }
    }
}

/// The session that makes room, other than `newest`: the one that was used least lately of the
/// owner who has most.
fn surplus(all: &HashMap<String, Entry>, newest: &str) -> Option<String> {
    let mut counts: HashMap<&Owner, usize> = HashMap::new();
    for entry in all.values() {
        *counts.entry(&entry.holder.owner).or_default() += 1;
    }
    let most = counts.values().max().copied()?;
    let of_most = |(_, entry): &(&String, &Entry)| counts[&entry.holder.owner] == most;
    let others = all.iter().filter(|(id, _)| *id != newest);
    let oldest = others.filter(of_most).min_by_key(|(_, entry)| entry.used);
    // With one session each there is nobody but the newest to choose.
    oldest.map(|(id, _)| id.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::mcp::Server;
    use crate::mcp::server::Step;

    fn holder(user: u64, database: &str) -> Holder {
        Holder { owner: Owner::User(user), database: database.into() }
    }

    fn sessions(most: usize, idle: Duration) -> (Sessions, Arc<Server>) {
        let settings = Settings { sessions_max: most, session_idle: idle, ..Settings::default() };
        (Sessions::new(&settings), Server::new(settings))
    }

    #[test]
    fn a_session_is_its_holders_only() {
        let (sessions, server) = sessions(10, Duration::from_secs(3600));
        let id = sessions.add(&Session::new(&server), holder(1, "a")).unwrap();
        assert!(sessions.find(&id, &holder(1, "a")).is_some());
        assert!(sessions.find(&id, &holder(2, "a")).is_none());
        assert!(sessions.find(&id, &holder(1, "b")).is_none());
        sessions.end(&id);
        assert!(sessions.find(&id, &holder(1, "a")).is_none());
    }

    #[test]
    fn who_begins_many_ends_sessions_of_his_own() {
        let (sessions, server) = sessions(3, Duration::from_secs(3600));
        let add = |user| sessions.add(&Session::new(&server), holder(user, "a")).unwrap();
        let is_there = |id: &str, user| sessions.find(id, &holder(user, "a")).is_some();
        let other = add(1);
        let mine: Vec<String> = (0..5).map(|_| add(2)).collect();
        assert!(is_there(&other, 1));
        let left: Vec<bool> = mine.iter().map(|id| is_there(id, 2)).collect();
        assert_eq!(left, [false, false, false, true, true]);
        // A session that was used lately stays before one that was begun later.
        assert!(is_there(&mine[3], 2));
        let newest = add(2);
        assert!(is_there(&mine[3], 2) && !is_there(&mine[4], 2) && is_there(&newest, 2));
        // A new user gets room, too.
        let third = add(3);
        assert!(is_there(&third, 3) && is_there(&other, 1));
    }

    #[test]
    fn a_new_session_has_room_where_each_user_has_one() {
        let (sessions, server) = sessions(1, Duration::from_secs(3600));
        let first = sessions.add(&Session::new(&server), holder(1, "a")).unwrap();
        let second = sessions.add(&Session::new(&server), holder(2, "a")).unwrap();
        assert!(sessions.find(&first, &holder(1, "a")).is_none());
        assert!(sessions.find(&second, &holder(2, "a")).is_some());
    }

    #[test]
    fn a_session_with_a_call_is_not_idle() {
        let (sessions, server) = sessions(10, Duration::ZERO);
        let session = Session::new(&server);
        let hello = json!({ "protocolVersion": "2025-11-25" });
        let ask = |id: i64, method: &str, params: Json| {
            session
                .receive(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
        };
        assert!(matches!(ask(1, "initialize", hello), Step::Done(Some(_))));
        let id = sessions.add(&session, holder(1, "a")).unwrap();
        let running = ask(2, "tools/call", json!({ "name": "schema" }));
        assert!(matches!(running, Step::Run(_)));
        assert!(sessions.find(&id, &holder(1, "a")).is_some());
        drop(running);
        assert!(sessions.find(&id, &holder(1, "a")).is_none());
    }

    #[test]
    fn an_idle_session_ends() {
        let (sessions, server) = sessions(10, Duration::ZERO);
        let id = sessions.add(&Session::new(&server), holder(1, "a")).unwrap();
        assert!(sessions.find(&id, &holder(1, "a")).is_none());
        assert!(sessions.by_id.lock().is_empty());
    }
}
