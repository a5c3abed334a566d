//! An operator's request that another node leads: `telar cluster transfer`, and its answer.
//!
//! Both sides meet in the store (`telar_cluster::transfer`), as for every command of
//! `telar cluster`: whoever reaches the store may do it.

use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::keys::Keys;
use telar_cluster::replica::election::Lease;
use telar_cluster::store::{Name, PutIf, StoreError, Stores, Version};
use telar_cluster::transfer::{TransferRequest, obstacle};
use telar_db::query::{ErrorKind, QueryError};

use super::super::Failure;
use super::super::failure::{invalid, server_error};
use super::{Cluster, DatabaseReport, LocalCopy, Report, StoreUrls, store_failed};

/// Longest wait for a leader to answer, and for the next one to take over. A leader looks every two
/// seconds.
const ANSWER_WAIT: Duration = Duration::from_secs(20);

/// Time between two looks at what has become of a request.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Cluster {
    /// Carries out or refuses what an operator asks for a database that this node leads; true if
    /// this node gives it up.
    pub(super) fn answer_transfer(
        &self,
        folder: &str,
        copy: &LocalCopy,
    ) -> Result<bool, StoreError> {
        let key = self.keys.transfer(folder)?;
        let Some(entry) = self.stores.coordination.get(&key)? else { return Ok(false) };
        let request = TransferRequest::decode(&entry.value);
        let epoch = copy.replica.epoch();
        let asks = |request: &TransferRequest| request.refused.is_none() && request.epoch == epoch;
        let Some(mut request) = request.filter(asks) else { return Ok(false) };
        let to = request.to.clone();
        let last = copy.replica.position().map_or(0, telar_db::CommitTs::get);
        request.refused = obstacle(&self.members(Some(&to)), &to, folder, last);
        let answer = match request.refused {
            Some(_) => request.encode()?,
            None => Vec::new(),
        };
        match self.stores.coordination.put_if(&key, entry.version, &answer)? {
            PutIf::Won(_) => {}
            // It was withdrawn, or is another one now.
            PutIf::Lost(_) => return Ok(false),
            PutIf::Unknown(error) => return Err(error),
        }
        if let Some(why) = request.refused {
            tracing::warn!("{folder} is not handed over, as an operator asks: {why}");
            return Ok(false);
        }
        tracing::info!("{folder} is handed over to '{to}', as an operator asks");
        copy.replica.release_to(&to);
        Ok(true)
    }
}

/// Databases that are to be handed over.
#[derive(Debug)]
pub enum Chosen {
    /// The database of this name.
    Database(String),
    /// All databases that the node of this name leads.
    LedBy(String),
}

/// A change of leaders that an operator asks for.
#[derive(Debug)]
pub struct Handover {
    stores: Stores,
    keys: Keys,
    report: Report,
    to: String,
}

impl Handover {
    /// Looks at the cluster `name` in the store at `urls`, or in the two, where the node `to` is to
    /// lead; takes two and a half seconds, as [`Report::read`].
    ///
    /// # Errors
    /// If there is no such cluster or no such node, or the store cannot be read.
    pub fn new(urls: impl Into<StoreUrls>, name: &str, to: &str) -> Result<Self, Failure> {
        let urls = urls.into();
        let report = Report::read(urls.clone(), name)?;
        let keys = Keys::new(name).map_err(|e| wrong(&e))?;
        let stores = urls.open(|_, error| wrong(&error))?.stores;
        let handover = Self { stores, keys, report, to: to.to_owned() };
        handover.check_node(to)?;
        Ok(handover)
    }

    fn check_node(&self, node: &str) -> Result<(), QueryError> {
        let mut known = self.report.members.iter().map(|seen| &*seen.member.node);
        if known.any(|known| known == node) {
            return Ok(());
        }
        let cluster = self.keys.cluster();
        let known: Vec<_> = self.report.members.iter().map(|seen| &*seen.member.node).collect();
        let known = known.join(", ");
        Err(invalid(format!("the cluster '{cluster}' has no node '{node}', but {known}")))
    }

    /// Hands the databases over, one after the other; `done` is told the name of each, and of the
    /// node that led it: none if it is led by the right node already. They are looked at first, all
    /// of them: if one of them cannot be handed over, none is.
    ///
    /// # Errors
    /// If there is none to hand over, the node cannot lead one of them, or its leader does not
    /// answer.
    pub fn carry_out(
        &self,
        chosen: &Chosen,
        mut done: impl FnMut(&str, Option<&str>),
    ) -> Result<(), Failure> {
        let databases = self.choose(chosen)?;
        for database in &databases {
            self.check(database)?;
        }
        for database in databases {
            let before = database.leader.as_ref().filter(|leader| **leader != self.to);
            if let Some(leader) = before {
                self.hand_over(database, leader)?;
            }
            done(&database.name, before.map(String::as_str));
        }
        Ok(())
    }

    fn choose(&self, chosen: &Chosen) -> Result<Vec<&DatabaseReport>, QueryError> {
        let all = &self.report.databases;
        match chosen {
            Chosen::Database(name) => match all.iter().find(|database| database.name == *name) {
                Some(found) => Ok(vec![found]),
                None => {
                    let known: Vec<_> = all.iter().map(|database| &*database.name).collect();
                    let known = known.join(", ");
                    Err(invalid(format!("there is no database '{name}', but {known}")))
                }
            },
            Chosen::LedBy(node) if *node == self.to => {
                Err(invalid(format!("'{node}' cannot hand over to itself")))
            }
            Chosen::LedBy(node) => {
                self.check_node(node)?;
                let led = |database: &&DatabaseReport| database.leader.as_ref() == Some(node);
                let found: Vec<_> = all.iter().filter(led).collect();
                match found.is_empty() {
                    true => Err(invalid(format!("the node '{node}' leads no database"))),
                    false => Ok(found),
                }
            }
        }
    }

    /// Fails if a database cannot be handed over, as far as its leader is not needed to tell.
    fn check(&self, database: &DatabaseReport) -> Result<(), QueryError> {
        let name = &database.name;
        let Some(leader) = &database.leader else {
            let message = format!("the database '{name}' has no leader at the moment: try again");
            return Err(unavailable(message));
        };
        if *leader == self.to {
            return Ok(());
        }
        let members = &self.report.members;
        if !members.iter().any(|seen| seen.member.node == *leader && seen.is_live()) {
            return Err(unavailable(format!(
                "the node '{leader}', which leads the database '{name}', is silent: if it stays so, \
                 another one takes over by itself"
            )));
        }
        match obstacle(members, &self.to, &database.folder, database.last()) {
            Some(why) => Err(unavailable(format!("cannot hand over the database '{name}': {why}"))),
            None => Ok(()),
        }
    }

    /// Asks the leader of a database, and waits until the other node holds the lease.
    fn hand_over(&self, database: &DatabaseReport, leader: &str) -> Result<(), QueryError> {
        let (name, to) = (&database.name, &self.to);
        let key = self.keys.transfer(&database.folder).map_err(|e| wrong(&e))?;
        let stream = self.keys.database(&database.folder).map_err(|e| wrong(&e))?;
        let version = self.ask(&key, database.epoch)?;
        let until = Instant::now() + ANSWER_WAIT;
        loop {
            let lease = self.stores.coordination.get(&stream).map_err(|e| wrong(&e))?;
            let lease = lease.and_then(|entry| Lease::decode(&entry.value));
            let taken = lease.filter(|lease| lease.epoch > database.epoch && !lease.released);
            match taken {
                Some(lease) if lease.node == *to => return Ok(()),
                Some(lease) => {
                    let node = lease.node;
                    let message = format!("the node '{node}' leads the database '{name}' by now");
                    return Err(unavailable(message));
                }
                None => {}
            }
            if let Some(why) = self.refusal(&key)? {
                let message = format!("'{leader}' does not hand over the database '{name}': {why}");
                return Err(unavailable(message));
            }
            if Instant::now() >= until {
                break;
            }
            thread::sleep(LOOK_EVERY);
        }
        // What is withdrawn is not carried out.
        let seconds = ANSWER_WAIT.as_secs();
        let withdrawn = self.stores.coordination.put_if(&key, version, b"");
        let message = match withdrawn.map_err(|e| wrong(&e))? {
            PutIf::Won(_) => format!(
                "the node '{leader}' leads the database '{name}' and has not answered within \
                 {seconds} s: is its program of this version, and does it reach the store?"
            ),
            _ => format!(
                "the node '{leader}' has given up the database '{name}', and '{to}' has not taken \
                 over within {seconds} s: see `telar cluster status`"
            ),
        };
        Err(unavailable(message))
    }

    /// Writes the request in place of what is there, which is of no leadership that goes on, or of
    /// an operator who was there before.
    fn ask(&self, key: &Name, epoch: u64) -> Result<Version, QueryError> {
        let request = TransferRequest::new(epoch, &*self.to).encode().map_err(|e| wrong(&e))?;
        let coordination = &self.stores.coordination;
        let before = coordination.get(key).map_err(|e| wrong(&e))?;
        let before = before.map_or(Version::ABSENT, |entry| entry.version);
        match coordination.put_if(key, before, &request).map_err(|e| wrong(&e))? {
            PutIf::Won(version) => Ok(version),
            PutIf::Lost(_) => {
                Err(unavailable("somebody else asks for the same database: try again".to_owned()))
            }
            PutIf::Unknown(error) => Err(wrong(&error)),
        }
    }

    /// Reason for which the leader has refused, if it has.
    fn refusal(&self, key: &Name) -> Result<Option<String>, QueryError> {
        let entry = self.stores.coordination.get(key).map_err(|e| wrong(&e))?;
        Ok(entry.and_then(|entry| TransferRequest::decode(&entry.value)?.refused))
    }
}

fn wrong(error: &StoreError) -> QueryError {
    store_failed("hand over a database", error)
}

fn unavailable(message: String) -> QueryError {
    server_error(ErrorKind::DatabaseUnavailable, message)
}
