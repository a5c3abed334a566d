//! Routes of a cluster: its leader, followers and members.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::members::SeenMember;
use telar_db::CommitTs;
use telar_db::query::{Routes, ShownPlace, ShownServer};

use super::super::SYSTEM;

use super::Cluster;

/// Seconds for which clients may rely on them: leaders change, and refuse what is not for them.
const ROUTES_LAST_S: i64 = 10;

/// Longest wait for a leadership that is about to change. Drivers that are told of the old leader
/// try again after a pause that they double each time; readers whose routes have expired wait, too,
/// and for less than a second.
const CHANGE_WAIT: Duration = Duration::from_millis(900);

/// Time between two looks at it.
const CHANGE_LOOK: Duration = Duration::from_millis(10);

impl Cluster {
    /// Routes of the database in a folder. Of the system database, where `folder` is none,
    /// everybody may do everything.
    pub(in crate::dbms) fn routes(&self, folder: Option<&str>) -> Routes {
        let copy = folder.and_then(|folder| self.copy(folder));
        let until = Instant::now() + CHANGE_WAIT;
        while copy.as_ref().is_some_and(|copy| copy.replica.is_changing()) && Instant::now() < until
        {
            thread::sleep(CHANGE_LOOK);
        }
        let leader = copy.and_then(|copy| copy.replica.leader());
        let mut routes = Routes { seconds: ROUTES_LAST_S, ..Routes::default() };
        let mut troubled = Vec::new();
        for seen in self.members(leader.as_deref()) {
            let leads = leader.as_ref() == Some(&seen.member.node);
            // A leader that has just fallen silent is better than none: the lease decides.
            if !seen.is_live() && !leads {
                continue;
            }
            let member = seen.member;
            routes.route.push(member.bolt.clone());
            let holds = folder.is_none_or(|folder| member.positions.contains_key(folder));
            if leads || folder.is_none() {
                routes.write.push(member.bolt.clone());
            }
            let follows = folder.is_none_or(|folder| member.trouble(folder).is_none());
            if !leads && holds {
                let readers = if follows { &mut routes.read } else { &mut troubled };
                readers.push(member.bolt);
            }
        }
        if routes.read.is_empty() {
            routes.read.clone_from(&routes.write);
        }
        if routes.read.is_empty() {
            // What does not follow may still be read.
            routes.read = troubled;
        }
        routes
    }

    /// All members that are known, by name; `node` among them, if it is one.
    pub(super) fn members(&self, node: Option<&str>) -> Vec<SeenMember> {
        self.members.lock().as_ref().map(|members| members.all_with(node)).unwrap_or_default()
    }

    /// Servers that have the database in a folder; none is the system database, which all have.
    pub(in crate::dbms) fn places(&self, folder: Option<&str>, wanted: bool) -> Vec<ShownPlace> {
        let leader = folder.and_then(|folder| self.copy(folder)?.replica.leader());
        let place = |seen: SeenMember| {
            let (live, member) = (seen.is_live(), seen.member);
            let position = folder.and_then(|folder| member.positions.get(folder));
            ShownPlace {
                writer: folder.is_none() || leader.as_ref() == Some(&member.node),
                address: Some(member.bolt),
                votes: member.votes,
                online: live && wanted && (folder.is_none() || position.is_some()),
                last_commit: position.copied().map(CommitTs::from_raw),
            }
        };
        self.members(leader.as_deref())
            .into_iter()
            .filter(|seen| !seen.member.left)
            .map(place)
            .collect()
    }

    /// The members, as `SHOW SERVERS` shows them; `databases` are names and folders.
    pub(in crate::dbms) fn servers(&self, databases: &[(Arc<str>, String)]) -> Vec<ShownServer> {
        let server = |seen: SeenMember| {
            let (available, member) = (seen.is_live(), seen.member);
            let has = |(_, folder): &&(Arc<str>, String)| member.positions.contains_key(folder);
            let hosting = databases.iter().filter(has).map(|(name, _)| Arc::clone(name));
            ShownServer {
                hosting: hosting.chain([SYSTEM.into()]).collect(),
                name: member.node,
                address: member.bolt,
                http: member.http,
                available,
                id: format!("{:016x}", member.holder),
                votes: member.votes,
                version: member.version,
                message: match member.left {
                    true => "it has ended in order".to_owned(),
                    false => member.troubles.join("; "),
                },
            }
        };
        self.members(None).into_iter().map(server).collect()
    }
}
