//! Requests that another member is to lead a database.
//!
//! ```text
//!  operator  put NAME/transfers/FOLDER: epoch, to ──►  leader of that epoch, at its next look
//!                                                        ├─ refuses: puts the reason there
//!                                                        └─ empties the key, ends the groups under
//!                                                           way, releases the lease to `to`
//!  operator  sees the lease: `to` holds it ◄───────────  `to` takes it
//! ```
//!
//! A request is for one leadership: nobody carries it out later. Nothing rests on it but who takes
//! a released lease first.

use serde::{Deserialize, Serialize};

use crate::members::SeenMember;
use crate::store::StoreError;

/// Most commits that a member may be behind to be handed a leadership: it applies them while nobody
/// takes commits. Members tell where they are once a second, so a busy log has some in any case.
pub const LAG_MAX: u64 = 10_000;

/// Version of the form; a newer one is not carried out.
const FORMAT: u32 = 1;

/// A request to the leader of a database: one JSON object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferRequest {
    format: u32,
    /// The leadership that is to end.
    pub epoch: u64,
    /// The member that is to lead.
    pub to: String,
    /// Reason for which the leader refuses, once it does.
    #[serde(default)]
    pub refused: Option<String>,
}

impl TransferRequest {
    /// A request to the leader of `epoch`.
    #[must_use]
    pub fn new(epoch: u64, to: impl Into<String>) -> Self {
        Self { format: FORMAT, epoch, to: to.into(), refused: None }
    }

    /// Its bytes.
    ///
    /// # Errors
    /// None: all of it is text and numbers.
    pub fn encode(&self) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(self).map_err(|e| StoreError::damaged("a request", e.to_string()))
    }

    /// The request of these bytes; none if they are empty, damaged, or of a newer program.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().filter(|found: &Self| found.format <= FORMAT)
    }
}

/// Reason for which the member `to` cannot be handed a database, if there is one: of `members`,
/// those that are known, it is none, never leads, is not there, has no copy that follows, or is far
/// behind. The copy is in `folder`; its leader is at the commit `last`.
#[must_use]
pub fn obstacle(members: &[SeenMember], to: &str, folder: &str, last: u64) -> Option<String> {
    let Some(seen) = members.iter().find(|seen| seen.member.node == to) else {
        let known: Vec<_> = members.iter().map(|seen| &*seen.member.node).collect();
        return Some(format!("there is no node '{to}', but {}", known.join(", ")));
    };
    let member = &seen.member;
    if !member.votes {
        return Some(format!("the node '{to}' is a replica (cluster.role): it never leads"));
    }
    if !seen.is_live() {
        let state = if member.left { "has ended" } else { "is silent" };
        return Some(format!("the node '{to}' {state}: start it first"));
    }
    if let Some(why) = member.trouble(folder) {
        return Some(format!("the copy of the node '{to}' does not follow: {why}"));
    }
    let Some(position) = member.positions.get(folder) else {
        return Some(format!("the node '{to}' has no copy of it yet"));
    };
    let lag = last.saturating_sub(*position);
    let far = format!("the node '{to}' is {lag} commits behind, of {LAG_MAX} at most: wait for it");
    (lag > LAG_MAX).then_some(far)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::members::{LIVE_FOR, Member};

    #[test]
    fn requests_are_read_as_they_are_written() {
        let mut request = TransferRequest::new(3, "b");
        request.refused = Some("why".into());
        assert_eq!(TransferRequest::decode(&request.encode().unwrap()), Some(request.clone()));
        request.format = FORMAT + 1;
        assert_eq!(TransferRequest::decode(&request.encode().unwrap()), None);
        for bad in [&b""[..], b"{}", b"\xff"] {
            assert_eq!(TransferRequest::decode(bad), None);
        }
    }

    #[test]
    fn what_keeps_a_member_from_leading_is_named() {
        let mut member = Member::new("b", 1, "127.0.0.1:7687");
        member.positions.insert("telar-0".into(), 50);
        let good = SeenMember { member, silent_for: Duration::ZERO };
        let found = |change: fn(&mut SeenMember), last| {
            let mut changed = good.clone();
            change(&mut changed);
            obstacle(&[changed], "b", "telar-0", last).unwrap_or_default()
        };
        assert_eq!(found(|_| {}, 50 + LAG_MAX), "");
        assert_eq!(found(|_| {}, 0), "");
        let replica = found(|seen| seen.member.votes = false, 50);
        assert!(replica.contains("'b' is a replica"), "{replica}");
        let ended = found(|seen| seen.member.left = true, 50);
        assert!(ended.contains("'b' has ended"), "{ended}");
        let silent = found(|seen| seen.silent_for = LIVE_FOR, 50);
        assert!(silent.contains("'b' is silent"), "{silent}");
        let none = found(|seen| seen.member.positions.clear(), 50);
        assert!(none.contains("has no copy"), "{none}");
        let stopped = found(|seen| seen.member.troubles.push("telar-0: disk".into()), 50);
        assert!(stopped.contains("does not follow: disk"), "{stopped}");
        assert_eq!(found(|seen| seen.member.troubles.push("shop-1: disk".into()), 50), "");
        let behind = found(|_| {}, 51 + LAG_MAX);
        assert!(behind.contains("10001 commits behind"), "{behind}");
        let nobody = obstacle(&[good], "x", "telar-0", 50).unwrap();
        assert!(nobody.contains("no node 'x', but b"), "{nobody}");
    }
}
