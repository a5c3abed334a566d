//! Upkeep of a node: its copies are synced, and the logs that it leads are kept short.
//!
//! Each pass of a thread of its own, whatever the store does meanwhile:
//!
//! - Each copy is synced; the member's record says how far (`Member::kept`).
//! - Each copy's log is looked at: whether the store still has what the copy has.
//! - Each log that this node leads is trimmed by what all members have said
//!   (`telar_cluster::upkeep`); images that the log does not reach back to go with it. Where too
//!   few copies have what is in a long log, an image becomes one more.
//! - A node that asks for an image gets one; an operator's request for another leader is answered.
//! - Who leads the default database removes the logs of databases that were dropped.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_cluster::keys::Keys;
use telar_cluster::store::{ImageInfo, Images, Name, StoreError, Stores, Sweeper, Version};
use telar_cluster::upkeep::{LogState, MemberCopy, Upkeep, decide};

use super::super::Dbms;
use super::{Cluster, LocalCopy};
use crate::replication::image::Image;

/// Time between two passes.
pub(super) const EVERY: Duration = Duration::from_secs(2);

/// Share of the time in which a log is measured, at most: one in so many. The bytes of a long one
/// may have to be read.
const MEASURE_SHARE: u32 = 20;

/// Time until an image that failed is tried again.
const IMAGE_AGAIN: Duration = Duration::from_secs(10);

/// Findings about a log at the last passes.
#[derive(Debug)]
struct Seen {
    /// End of the last measurement, and the time that it took.
    measured: Instant,
    took: Duration,
    bytes: u64,
    /// Commit of the newest image.
    image: Option<u64>,
    /// True while people have been told that the log is long.
    warned: bool,
}

impl Seen {
    /// Measures a log.
    fn measure(
        stores: &Stores,
        keys: &Keys,
        folder: &str,
        warned: bool,
    ) -> Result<Self, StoreError> {
        let begun = Instant::now();
        let bytes = stores.log.bytes(&keys.database(folder)?)?;
        let image = newest_image(stores, keys, folder)?;
        Ok(Self { measured: Instant::now(), took: begun.elapsed(), bytes, image, warned })
    }

    /// True if it is time to measure again.
    fn is_due(&self) -> bool {
        self.measured.elapsed() >= self.took * MEASURE_SHARE
    }
}

/// State of the upkeep between passes.
#[derive(Debug, Default)]
pub(super) struct State {
    logs: HashMap<String, Seen>,
    sweepers: HashMap<String, Sweeper>,
    /// Streams of dropped databases that were removed, and the version of the shared state for
    /// which that was done.
    removed: HashSet<Name>,
    removed_for: Option<Version>,
    /// True while an image is made: one at a time.
    imaging: Arc<AtomicBool>,
    /// Folders of the databases of which one was made since their logs were measured.
    imaged: Arc<Mutex<HashSet<String>>>,
    /// Last trouble that was told of.
    trouble: Option<String>,
}

impl State {
    /// One pass.
    pub(super) fn pass(&mut self, dbms: &Dbms) {
        let Some(cluster) = &dbms.cluster else { return };
        let copies: Vec<_> =
            cluster.copies.lock().iter().map(|(name, copy)| (name.clone(), copy.clone())).collect();
        let mut trouble = None;
        for (folder, copy) in &copies {
            if let Err(error) = copy.replica.keep() {
                trouble = Some(format!("the copy in {folder} cannot be synced: {error}"));
            }
        }
        for (folder, copy) in copies {
            copy.replica.check_log();
            if !copy.leads() {
                // Another one that leads later has seen nothing of what comes meanwhile.
                self.logs.remove(&folder);
                self.sweepers.remove(&folder);
                copy.log.set(0, false);
                continue;
            }
            if let Err(error) = self.look_after(cluster, &folder, &copy) {
                trouble = Some(format!("the log of {folder} is not looked after: {error}"));
            }
        }
        if let Err(error) = self.remove_dropped(dbms, cluster) {
            trouble = Some(format!("logs of dropped databases are not removed: {error}"));
        }
        if let Some(trouble) = trouble.as_ref().filter(|now| Some(*now) != self.trouble.as_ref()) {
            tracing::warn!("{trouble}");
        }
        self.trouble = trouble;
    }

    /// Looks after a log that this node leads.
    fn look_after(
        &mut self,
        cluster: &Cluster,
        folder: &str,
        copy: &LocalCopy,
    ) -> Result<(), StoreError> {
        let (stores, keys) = (&cluster.stores, &cluster.keys);
        if cluster.answer_transfer(folder, copy)? {
            return Ok(());
        }
        let limits = &cluster.settings.limits;
        let stream = keys.database(folder)?;
        let mut seen = match self.logs.remove(folder) {
            Some(seen) if !seen.is_due() && !self.imaged.lock().remove(folder) => seen,
            before => Seen::measure(stores, keys, folder, before.is_some_and(|seen| seen.warned))?,
        };
        let oldest = stores.log.oldest(&stream)?;
        let members = cluster.members(None);
        let members: Vec<_> = members
            .iter()
            .map(|seen| MemberCopy {
                kept: seen.member.kept.get(folder).copied(),
                silent_for: seen.silent_for,
            })
            .collect();
        let log = LogState { oldest, bytes: seen.bytes, image: seen.image };
        let mut wants_image = false;
        match decide(&log, &members, limits) {
            Upkeep::Wait => {}
            Upkeep::Trim(before) => {
                let mark = stores.log.trim(&stream, before)?;
                if mark > oldest {
                    let sweeper = self.sweepers.entry(folder.to_owned()).or_default();
                    sweeper.sweep(&*stores.log, &stream)?;
                    if seen.image.is_some_and(|commit| commit < mark - 1) {
                        remove_images(stores, keys, folder, mark - 1)?;
                    }
                    // Less than it was is good to know at once where commits wait for it.
                    if seen.is_due() || limits.is_full(seen.bytes) {
                        seen = Seen::measure(stores, keys, folder, seen.warned)?;
                    }
                }
            }
            Upkeep::Image => wants_image = true,
        }
        copy.log.set(seen.bytes, limits.is_full(seen.bytes));
        if limits.is_long(seen.bytes) != seen.warned {
            seen.warned = !seen.warned;
            warn(folder, &seen, limits.bytes_max, stores.images.is_some());
        }
        let key = keys.wanted(folder)?;
        let wanted = stores.coordination.get(&key)?;
        let wanted = wanted.filter(|entry| !entry.value.is_empty());
        if (wants_image || wanted.is_some())
            && let Some(images) = &stores.images
            && let Ok(engine) = copy.replica.engine()
            // ORDERING: relaxed, as only this thread sets it, and nothing is read because of it.
            && !self.imaging.swap(true, Ordering::Relaxed)
        {
            let request = wanted.map(|entry| (key, entry.version));
            let making = MakeImage {
                stores: stores.clone(),
                images: Arc::clone(images),
                keys: keys.clone(),
                folder: folder.to_owned(),
                request,
            };
            let (imaging, imaged) = (Arc::clone(&self.imaging), Arc::clone(&self.imaged));
            let made = thread::Builder::new().name("telar-image".into()).spawn(move || {
                let made = making.carry_out(engine);
                let folder = &making.folder;
                match made {
                    Ok(commit) => {
                        tracing::info!("the store has an image of {folder}, as of commit {commit}");
                    }
                    Err(why) => {
                        tracing::error!("no image of {folder} can be put into the store: {why}");
                        thread::sleep(IMAGE_AGAIN);
                    }
                }
                imaged.lock().insert(making.folder);
                imaging.store(false, Ordering::Relaxed);
            });
            if made.is_err() {
                self.imaging.store(false, Ordering::Relaxed);
            }
        }
        self.logs.insert(folder.to_owned(), seen);
        Ok(())
    }

    /// Removes the logs and images of dropped databases, if this node leads the default one.
    fn remove_dropped(&mut self, dbms: &Dbms, cluster: &Cluster) -> Result<(), StoreError> {
        let default = Cluster::default_folder(dbms.default_name());
        if !cluster.copy(&default).is_some_and(|copy| copy.leads()) {
            return Ok(());
        }
        // What was dropped is found once for each change of the shared state.
        let installed = cluster.installed();
        if self.removed_for == Some(installed) {
            return Ok(());
        }
        // Streams before the state: a database that is made meanwhile is in the state.
        let prefix = cluster.keys.databases();
        let streams = cluster.stores.coordination.list(&prefix)?;
        let Ok(Some((state, _))) = cluster.load() else { return Ok(()) };
        let kept: HashSet<_> = state.databases.values().map(|entry| &*entry.folder).collect();
        for stream in streams.into_iter().map(|entry| entry.key) {
            let folder = stream.as_str().strip_prefix(&prefix).unwrap_or_default().to_owned();
            if folder == default || kept.contains(&*folder) || self.removed.contains(&stream) {
                continue;
            }
            cluster.stores.log.trim(&stream, u64::MAX)?;
            remove_images(&cluster.stores, &cluster.keys, &folder, u64::MAX)?;
            self.removed.insert(stream);
        }
        self.removed_for = Some(installed);
        Ok(())
    }
}

fn warn(folder: &str, seen: &Seen, bytes_max: u64, has_images: bool) {
    if !seen.warned {
        return tracing::info!("the log of {folder} is short again");
    }
    let (bytes, most) = (seen.bytes >> 20, bytes_max >> 20);
    let why = match has_images {
        true => "an image is put into the store in place of copies that are missing",
        false => "too few nodes have what is in it (cluster.copies), and the store keeps no images",
    };
    tracing::warn!(
        "the log of {folder} has {bytes} MB of {most} (cluster.log_bytes); at the limit no commits \
         are taken: {why}"
    );
}

/// Images of a database with their commits, by commit.
fn images(stores: &Stores, keys: &Keys, folder: &str) -> Result<Vec<(u64, ImageInfo)>, StoreError> {
    let Some(images) = &stores.images else { return Ok(Vec::new()) };
    let all = images.list(&keys.images(folder))?.into_iter();
    Ok(all.filter_map(|info| Some((keys.image_commit(folder, &info.name)?, info))).collect())
}

/// Commit of the newest image of a database.
pub(super) fn newest_image(
    stores: &Stores,
    keys: &Keys,
    folder: &str,
) -> Result<Option<u64>, StoreError> {
    Ok(images(stores, keys, folder)?.last().map(|(commit, _)| *commit))
}

/// Removes the images of commits before `before`: the log does not go on from them, or there is a
/// newer one.
fn remove_images(
    stores: &Stores,
    keys: &Keys,
    folder: &str,
    before: u64,
) -> Result<(), StoreError> {
    let Some(store) = &stores.images else { return Ok(()) };
    for (_, info) in images(stores, keys, folder)?.into_iter().filter(|(at, _)| *at < before) {
        store.delete(&info.name)?;
    }
    Ok(())
}

/// An image on its way into the store.
struct MakeImage {
    stores: Stores,
    images: Arc<dyn Images>,
    keys: Keys,
    folder: String,
    /// The request that it answers: key and version.
    request: Option<(Name, Version)>,
}

impl MakeImage {
    /// Makes it; returns its commit.
    fn carry_out(&self, engine: telar_db::Database) -> Result<u64, String> {
        let image = Image::take(&engine).map_err(|error| error.to_string())?;
        // The image's files are open: nobody waits for the rest who would open the copy anew.
        drop(engine);
        let commit = image.commit.get();
        let name = self.keys.image(&self.folder, commit).map_err(|error| error.to_string())?;
        let put = piped(image, |content| self.images.put(&name, content));
        put.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let cleared = remove_images(&self.stores, &self.keys, &self.folder, commit);
        cleared.map_err(|error| error.to_string())?;
        if let Some((key, version)) = &self.request {
            // Somebody may have asked again.
            let answered = self.stores.coordination.put_if(key, *version, b"");
            answered.map_err(|error| error.to_string())?;
        }
        Ok(commit)
    }
}

/// Hands an image to `take` as something to read, which fails where writing it did.
fn piped<T>(image: Image, take: impl FnOnce(&mut dyn Read) -> T) -> io::Result<T> {
    let (reader, writer) = io::pipe()?;
    let (said, outcome) = mpsc::channel();
    thread::scope(|scope| {
        let write = move || {
            // Whoever reads may have gone.
            let _ = said.send(image.write(writer));
        };
        thread::Builder::new().name("telar-image-write".into()).spawn_scoped(scope, write)?;
        Ok(take(&mut Piped { reader, outcome }))
    })
}

/// Reading end of a pipe whose writer says how it ended.
struct Piped {
    reader: io::PipeReader,
    outcome: mpsc::Receiver<io::Result<()>>,
}

impl Read for Piped {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.reader.read(out)? {
            0 if !out.is_empty() => match self.outcome.recv() {
                Ok(outcome) => outcome.map(|()| 0),
                // It was told of at the last read.
                Err(mpsc::RecvError) => Ok(0),
            },
            bytes => Ok(bytes),
        }
    }
}
