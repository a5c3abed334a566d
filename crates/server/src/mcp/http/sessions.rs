//! Sessions by the id that their clients send.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::super::server::Session;

/// Sessions at once: above, the one that was used least lately ends.
const SESSIONS_MAX: usize = 1000;
/// Time without a request after which a session ends.
const IDLE_MAX: Duration = Duration::from_secs(60 * 60);

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Entry>>);

#[derive(Debug)]
struct Entry {
    session: Arc<Session>,
    used: Instant,
}

impl Sessions {
    /// Keeps a session, and returns its id; none without randomness to make one of.
    pub(super) fn add(&self, session: &Arc<Session>) -> Option<String> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let id = format!("{:032x}", u128::from_le_bytes(random));
        let mut all = self.0.lock();
        all.retain(|_, entry| entry.used.elapsed() < IDLE_MAX);
        if all.len() >= SESSIONS_MAX
            && let Some(oldest) = all.iter().min_by_key(|(_, entry)| entry.used)
        {
            let oldest = oldest.0.clone();
            if let Some(entry) = all.remove(&oldest) {
                entry.session.cancel_all();
            }
        }
        let entry = Entry { session: Arc::clone(session), used: Instant::now() };
        all.insert(id.clone(), entry);
        Some(id)
    }

    /// The session with this id.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let mut all = self.0.lock();
        let entry = all.get_mut(id).filter(|entry| entry.used.elapsed() < IDLE_MAX)?;
        entry.used = Instant::now();
        Some(Arc::clone(&entry.session))
    }

    /// Ends a session, and what runs in it; false if there is none.
    pub(super) fn end(&self, id: &str) -> bool {
        let found = self.0.lock().remove(id);
        found.inspect(|entry| entry.session.cancel_all()).is_some()
    }

    /// Ends everything that runs.
    pub(super) fn cancel_all(&self) {
        for entry in self.0.lock().values() {
            entry.session.cancel_all();
        }
    }
}
