//! Making of a node's copy from an image, where the log does not reach back to it any more.
//!
//! ```text
//!  a peer, over HTTP ──┐
//!  the store's images ─┴─► FOLDER.new, restored ─► in place of FOLDER ─► follows the log
//! ```
//!
//! The image is of a commit from which the log goes on. Nobody trims the log while a member has no
//! copy yet (`telar_cluster::upkeep`), until it is nearly full. If it was trimmed past the image
//! all the same, another one is asked for.
//!
//! A thread for each copy that is made. It tries until it succeeds: peers first, those that follow
//! before the one that leads, then the newest image of the store, which the leader is asked for if
//! there is none (`upkeep.rs`). The folder is there whole or not at all; what an attempt that was
//! interrupted has left, the next one removes.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use telar_cluster::keys::Keys;
use telar_cluster::members::SeenMember;
use telar_cluster::replica::election::Lease;
use telar_cluster::store::{Name, PutIf, StoreError, Stores, Version};
use telar_db::query::cypher::Secret;

use super::super::store::beside;
use super::SharedMembers;
use crate::replication::client::Asking;
use crate::replication::{Credentials, SourceUrl, image};

/// Time between two attempts.
const AGAIN: Duration = Duration::from_secs(1);

/// Longest wait at a time, so that the end of the server is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Name of a node, and how it is asked.
type Peer = (String, Asking);

/// Everything that is needed to make a copy.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) stores: Stores,
    pub(super) keys: Keys,
    pub(super) members: SharedMembers,
    /// Name of this node.
    pub(super) node: String,
    /// Secret of the cluster, by which peers know each other.
    pub(super) secret: Secret,
    /// Authorities that vouch for peers that encrypt HTTP.
    pub(super) ca: Option<PathBuf>,
    pub(super) database: String,
    pub(super) folder: String,
    pub(super) path: PathBuf,
}

/// A copy that is being made.
#[derive(Debug)]
pub(super) struct Making {
    progress: Arc<Mutex<String>>,
    stopped: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Making {
    /// Begins.
    pub(super) fn begin(plan: Plan) -> io::Result<Self> {
        let progress = Arc::new(Mutex::new("an image is looked for".to_owned()));
        let stopped = Arc::<AtomicBool>::default();
        let (shown, stop) = (Arc::clone(&progress), Arc::clone(&stopped));
        let thread = thread::Builder::new().name("telar-make-copy".into());
        let thread = thread.spawn(move || plan.carry_out(&shown, &stop))?;
        Ok(Self { progress, stopped, thread })
    }

    /// State of it, for people; none once it is done.
    pub(super) fn state(&self) -> Option<String> {
        let progress = self.progress.lock().clone();
        let state = format!("this node's copy of it is being made: {progress}");
        (!self.thread.is_finished()).then_some(state)
    }

    /// Tells it to end; it installs nothing any more. Bytes that come are not waited for, a restore
    /// that goes on is.
    pub(super) fn stop(&self) {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends it, done or not.
    pub(super) fn end(self) {
        self.stop();
        // One that panicked has nothing to hand over.
        drop(self.thread.join());
    }
}

/// An image from the store, as long as it is wanted.
struct UntilStopped<'s, R> {
    body: R,
    stopped: &'s AtomicBool,
}

impl<R: Read> Read for UntilStopped<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        match self.stopped.load(Ordering::Relaxed) {
            true => Err(io::Error::other("it was ended")),
            false => self.body.read(out),
        }
    }
}

/// Removes what a copy that was made in `path` has left beside it.
pub(super) fn clear_leftovers(path: &Path) {
    for suffix in [".old", ".new"] {
        let left = beside(path, suffix);
        // What stays takes room, and the next attempt says why.
        let _ = image::remove_leftovers(&left);
        if let Err(why) = remove(&left) {
            tracing::warn!("{why}");
        }
    }
}

fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {e}", path.display()))
        }
        _ => Ok(()),
    }
}

impl Plan {
    fn carry_out(&self, progress: &Mutex<String>, stopped: &Arc<AtomicBool>) {
        let name = &self.database;
        tracing::info!("the copy of the database {name} is made from an image");
        let mut said = String::new();
        // ORDERING: relaxed, as nothing else is read because of the flag.
        while !stopped.load(Ordering::Relaxed) {
            match self.attempt(progress, stopped) {
                Ok(commit) => {
                    tracing::info!(
                        "the copy of the database {name} is made, as of commit {commit}"
                    );
                    return;
                }
                Err(why) if why == said => {}
                Err(why) => {
                    tracing::warn!("the copy of the database {name} is not made yet: {why}");
                    progress.lock().clone_from(&why);
                    said = why;
                }
            }
            let mut waited = Duration::ZERO;
            while waited < AGAIN && !stopped.load(Ordering::Relaxed) {
                thread::sleep(LOOK_EVERY);
                waited += LOOK_EVERY;
            }
        }
    }

    /// Makes the copy; returns the commit that it is at.
    fn attempt(&self, progress: &Mutex<String>, stopped: &Arc<AtomicBool>) -> Result<u64, String> {
        let of_store = |error: StoreError| error.to_string();
        let stream = self.keys.database(&self.folder).map_err(of_store)?;
        let oldest = self.stores.log.oldest(&stream).map_err(of_store)?;
        let new = beside(&self.path, ".new");
        remove(&new)?;
        // Before this node has joined, it knows none; the leader need not be asked for that.
        let peers = self.peers(&stream, oldest).map_err(of_store)?;
        let peers = peers.ok_or("this node has not joined the cluster yet")?;
        let mut why = Vec::new();
        for (node, asking) in peers {
            *progress.lock() = format!("from the node '{node}'");
            let client = asking.client(Arc::clone(stopped))?;
            match image::fetch_at(&client, &format!("/cluster/images/{}", self.folder), &new) {
                Ok(fetched) => return self.install(&new, fetched.commit.get(), oldest, stopped),
                Err(error) => why.push(format!("the node '{node}': {error}")),
            }
        }
        let Some(images) = &self.stores.images else {
            why.push("no other node that has it is there, or has its HTTP on".to_owned());
            return Err(why.join("; "));
        };
        let all = images.list(&self.keys.images(&self.folder)).map_err(of_store)?;
        let commit = |name: &Name| self.keys.image_commit(&self.folder, name);
        let newest = all
            .into_iter()
            .filter_map(|info| Some((commit(&info.name)?, info)))
            .max_by_key(|(commit, _)| *commit);
        if let Some((_, info)) = newest.filter(|(commit, _)| commit + 1 >= oldest) {
            *progress.lock() = format!("from an image of {} MB in the store", info.bytes >> 20);
            let body = images.get(&info.name).map_err(of_store)?;
            let body = body.ok_or("the image was removed meanwhile")?;
            let body = UntilStopped { body, stopped };
            let fetched = image::receive(body, &new).map_err(|error| error.to_string())?;
            return self.install(&new, fetched.commit.get(), oldest, stopped);
        }
        self.ask_for_image().map_err(of_store)?;
        why.push("the leader is asked for an image".to_owned());
        Err(why.join("; "))
    }

    /// Peers that have a copy from which the log goes on, those first that do not lead; none before
    /// this node has joined.
    fn peers(&self, stream: &Name, oldest: u64) -> Result<Option<Vec<Peer>>, StoreError> {
        let Some(members) = self.members.lock().as_ref().map(|members| members.all()) else {
            return Ok(None);
        };
        let lease = self.stores.coordination.get(stream)?;
        let leader = lease.and_then(|entry| Lease::decode(&entry.value)).map(|lease| lease.node);
        let reaches = |seen: &SeenMember| {
            let position = seen.member.positions.get(&self.folder);
            position.is_some_and(|position| position + 1 >= oldest)
        };
        let mut peers: Vec<_> = members
            .into_iter()
            .filter(|seen| seen.is_live() && seen.member.node != self.node && reaches(seen))
            .filter_map(|seen| {
                let scheme = if seen.member.https { "https" } else { "http" };
                let url: SourceUrl = format!("{scheme}://{}", seen.member.http?).parse().ok()?;
                let credentials = Credentials::Bearer(self.secret.clone());
                Some((seen.member.node, Asking { url, credentials, ca: self.ca.clone() }))
            })
            .collect();
        peers.sort_by_key(|(node, _)| Some(node) == leader.as_ref());
        Ok(Some(peers))
    }

    /// Puts the new copy in place of the old one, if the log goes on from it.
    fn install(
        &self,
        new: &Path,
        commit: u64,
        oldest: u64,
        stopped: &AtomicBool,
    ) -> Result<u64, String> {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        if stopped.load(Ordering::Relaxed) {
            remove(new)?;
            return Err("it was ended".to_owned());
        }
        if commit + 1 < oldest {
            remove(new)?;
            return Err(format!("an image is of commit {commit}, and the log begins at {oldest}"));
        }
        let old = beside(&self.path, ".old");
        remove(&old)?;
        let rename = |from: &Path, to: &Path| match fs::rename(from, to) {
            Err(e) => Err(format!("cannot rename {}: {e}", from.display())),
            Ok(()) => Ok(()),
        };
        if self.path.exists() {
            rename(&self.path, &old)?;
        }
        rename(new, &self.path)?;
        // The names are durable before the log is trimmed by what this copy has.
        if let Some(above) = self.path.parent() {
            let synced = fs::File::open(above).and_then(|folder| folder.sync_all());
            synced.map_err(|e| format!("cannot sync {}: {e}", above.display()))?;
        }
        remove(&old)?;
        Ok(commit)
    }

    /// Asks whoever leads for an image, unless somebody has asked already.
    fn ask_for_image(&self) -> Result<(), StoreError> {
        let key = self.keys.wanted(&self.folder)?;
        let before = self.stores.coordination.get(&key)?;
        if before.as_ref().is_some_and(|entry| !entry.value.is_empty()) {
            return Ok(());
        }
        let version = before.map_or(Version::ABSENT, |entry| entry.version);
        match self.stores.coordination.put_if(&key, version, self.node.as_bytes())? {
            PutIf::Won(_) | PutIf::Lost(_) => Ok(()),
            PutIf::Unknown(cause) => Err(cause),
        }
    }
}
