//! The checkpoint store: structure of the file, checksum and content of every value.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::graph::Graph;
use super::{CheckReport, REPAIR_OR_RESTORE, RESTORE, Severity};
use crate::checkpoint::meta;
use crate::error::Error;
use crate::format::{Kind, key, unseal};
use crate::lmdb_check;
use crate::mapped::ranges::Inventory;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::store::changes::{self, List};
use crate::store::progress::Totals;
use crate::store::{StoreState, read_format, store_state};

/// Below what is checked.
const FILE: &str = "store/data.mdb";
const UNWRITTEN: &str = "after a power failure of a new database, nothing: the next opening makes it \
                         anew; if the database was used for long, find out who removed it";
const NO_BACKUPS: &str = "the graph is whole; the next backup must be a full one (the next \
                          checkpoint drops the list)";

/// Checks the values of a store or an image as they come, in the order of their keys, and what must
/// hold between them at the end.
#[derive(Debug)]
pub(super) struct Values<'f> {
    file: &'f str,
    graph: Option<Graph>,
    checkpoint: Option<u64>,
    /// What the meta value says about the others, and what they are.
    totals: Option<(u64, u64)>,
    found: Totals,
    /// Version of the meta value.
    version: Option<u64>,
    /// Which keys the meta value says there are.
    inventory: Option<Inventory>,
    /// Whether a value is not as it was written, so that comparing values would only repeat it.
    broken: bool,
}

/// A key, for people.
pub(super) fn name_of(key: &[u8]) -> String {
    let hex: String = key.iter().map(|b| format!("{b:02x}")).collect();
    format!("key {hex}")
}

impl<'f> Values<'f> {
    pub(super) fn new(file: &'f str) -> Self {
        let (graph, checkpoint, totals) = (None, None, None);
        let (found, version, inventory) = (Totals::default(), None, None);
        Self { file, graph, checkpoint, totals, found, version, inventory, broken: false }
    }

    /// Takes the next value; the meta value comes first, since its key is the smallest.
    pub(super) fn value(&mut self, key: &[u8], value: &[u8], report: &mut CheckReport) {
        report.values += 1;
        report.bytes += value.len() as u64;
        let is_list = changes::is_list(key);
        let (crc, body) = match unseal(key, value) {
            Ok(found) => found,
            Err(what) => {
                let advice = if is_list { NO_BACKUPS } else { REPAIR_OR_RESTORE };
                report.damage(self.file, self.describe(key), what, advice);
                self.broken |= !is_list;
                return;
            }
        };
        if is_list {
            if let Err(what) = List::decode(key, value) {
                report.damage(self.file, name_of(key), what, NO_BACKUPS);
            }
            return;
        }
        if key == self::key(Kind::Meta, 0, 0, 0) {
            let shared = Shared::empty(Settings::default());
            match meta::decode(body, &shared) {
                Ok(meta) => {
                    (self.checkpoint, self.totals) = (Some(meta.at), Some(meta.totals));
                    (self.version, self.inventory) = (Some(meta.version), meta.inventory);
                    self.graph = Some(Graph::new(shared, meta.version, meta.indexes));
                }
                Err(what) => {
                    report.damage(self.file, "the meta value", what, RESTORE);
                    self.broken = true;
                }
            }
            return;
        }
        match key.try_into() {
            Ok(key) => self.found.put(key, None, crc),
            Err(_) => {
                report.damage(self.file, name_of(key), "it has the wrong length", RESTORE);
                self.broken = true;
                return;
            }
        }
        if let Some(graph) = &mut self.graph
            && let Err(what) = graph.value(key, body)
        {
            report.damage(self.file, self.describe(key), what, REPAIR_OR_RESTORE);
            self.broken = true;
        }
    }

    fn describe(&self, key: &[u8]) -> String {
        let name = self.graph.as_ref().and_then(|graph| graph.describe(key));
        name.map_or_else(|| name_of(key), |name| format!("{}: {name}", name_of(key)))
    }

    /// Looks at what must hold between all values; returns the checkpoint they are of.
    pub(super) fn finish(self, report: &mut CheckReport) -> Option<u64> {
        let Some(mut graph) = self.graph else {
            if self.found.keys > 0 || self.broken {
                let what = "it is missing or damaged; without it no value can be understood";
                report.damage(self.file, "the meta value", what, RESTORE);
            }
            return self.checkpoint;
        };
        let found = (self.found.keys, self.found.crcs);
        let named = self.inventory.as_ref().is_none_or(|named| *named == *self.found.inventory);
        let complete = named && self.totals == Some(found);
        if let Some((keys, _)) = self.totals.filter(|_| !complete)
            && !self.broken
        {
            let what = format!(
                "the checkpoint wrote {keys} values, {} are here, or some are older ones",
                found.0
            );
            report.damage(self.file, "all values", what, REPAIR_OR_RESTORE);
        }
        (report.vertices, report.edges) = graph.counts();
        if complete {
            for (place, what) in graph.contradictions() {
                report.damage(self.file, place, what, REPAIR_OR_RESTORE);
            }
        }
        self.checkpoint
    }
}

/// Checks the store; returns the timestamp of its checkpoint, 0 if there is none yet, `None` if it
/// cannot be told.
pub(super) fn check(root: &Path, report: &mut CheckReport) -> Result<Option<u64>, Error> {
    let path = root.join(FILE);
    match store_state(root)? {
        StoreState::Written => {}
        StoreState::Unwritten => {
            let what = "it was never written, or not as far as the disk; all there is stands in \
                        the log, which begins at commit 1";
            report.add(Severity::Suspect, FILE, "the file", what, UNWRITTEN);
            return Ok(Some(0));
        }
        StoreState::Lost(what) => {
            report.damage(FILE, "the file", what, RESTORE);
            return Ok(None);
        }
    }
    let file = File::open(&path).map_err(Error::file("cannot open", &path))?;
    let mut values = Values::new(FILE);
    let mut wrong = Vec::new();
    let mut unreadable = Vec::new();
    let mut empty = true;
    let walked = lmdb_check::walk(
        &path,
        &mut |entry| {
            empty = false;
            let mut value = vec![0; entry.size as usize];
            match file.read_exact_at(&mut value, entry.at) {
                Ok(()) => values.value(entry.key, &value, report),
                Err(e) => unreadable.push((entry.key.to_vec(), e)),
            }
        },
        &mut |what| wrong.push(what),
    );
    wrong.extend(walked.err());
    let sound = wrong.is_empty() && unreadable.is_empty();
    for (key, e) in unreadable {
        let what = format!("cannot be read: {e}");
        report.damage(FILE, name_of(&key), what, REPAIR_OR_RESTORE);
    }
    for what in wrong {
        let (page, what) = what.split_once(": ").unwrap_or(("the file", &what));
        report.damage(FILE, page, what, REPAIR_OR_RESTORE);
    }
    let written_by = values.version;
    let checkpoint = values.finish(report);
    if let (Some(version), Ok(Some(format))) = (written_by, read_format(root))
        && version > format.into()
    {
        let what = format!("it says version {format}, but the store was written by {version}");
        report.damage("FORMAT", "its version", what, REPAIR_OR_RESTORE);
    }
    Ok(if empty && sound { Some(0) } else { checkpoint })
}
