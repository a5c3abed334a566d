//! Repair: what can be rebuilt without guessing, into a new directory; never in place.
//!
//! What is rebuilt, and what proves the result:
//!
//! | damaged | rebuilt from | proof |
//! |---|---|---|
//! | lists of some segments | the lists of the other direction | checksums |
//! | one of LMDB's meta pages | the other one | checksums; no commit missing after it |
//! | structure of the LMDB file | the values, if all are found | checksums |
//! | parts of indexes | labels, lists and property values | checksums of all the rest |
//! | graphs of vector indexes (`near/`) | left out: built when they are asked for | |
//! | `FORMAT`, `IDENTITY`, change lists | anew: nothing of the graph | |
//! | the end of the log, torn | cut, as every opening does | |
//! | a store without any value | a log from commit 1 on, without bulk loads | |
//!
//! Every edge stands in an out and in an in list, and a segment has one encoding only. So what is
//! rebuilt must fit number and sum of the checksums in the meta value, bit for bit.
//!
//! Everything else is refused, and what would be lost is named. With `lose_commits` a log that is
//! damaged in the middle is cut there, and one that is missing is done without, which keeps a state
//! that a commit produced; the new database says in its file `REPAIRED` what it lacks.
//!
//! The result is opened by the engine before it gets its name, and is a new database.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use telar_graph::{CommitTs, Direction, EdgeTypeId};

use crate::adjacency::base::Base;
use crate::adjacency::list::compare;
use crate::adjacency::{
    Entry, ListKind, SEGMENT_BITS, SEGMENT_VERTICES, local_of, segment_of, stored,
};
use crate::checkpoint::meta;
use crate::error::Error;
use crate::format::{Kind, crc_of, key, parts, seal, unseal};
use crate::lmdb_check;
use crate::maintenance::assemble::NewDatabase;
use crate::maintenance::check::closed_at;
use crate::maintenance::check::graph::entries;
use crate::maintenance::reindex::Damaged;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::store::changes::{self, Key};
use crate::store::progress::Totals;
use crate::store::{StoreState, log_files, log_is_lost, log_without_store, store_state, wal_path};
use crate::wal::inspect;

/// What a repair may do.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct RepairOptions {
    /// Cut a log that is damaged before its end, or do without one that is missing: the commits
    /// from there on are lost.
    pub lose_commits: bool,
}

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// The commit that the new database is at.
    pub to: CommitTs,
    /// Values taken as they were.
    pub values: u64,
    /// Values rebuilt: lists from the other direction, indexes from what they are about.
    pub rebuilt: u64,
    /// Commits replayed.
    pub commits: u64,
    /// What was done, in words.
    pub done: Vec<String>,
    /// What was lost, in words; only with `lose_commits`.
    pub lost: Vec<String>,
}

/// The values that can be read and have a right checksum, by key, and the others.
pub(super) struct Salvage {
    file: File,
    /// Where in the file, and how long.
    pub(super) whole: BTreeMap<Key, (u64, u64)>,
    /// Keys with a wrong checksum: the checksum that stands there, and the one of the bytes.
    pub(super) broken: BTreeMap<Key, (u32, u32)>,
    /// Sum of the checksums of the whole ones.
    crcs: u64,
    /// What is wrong with the structure.
    structure: Vec<String>,
}

impl Salvage {
    fn read(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::file("cannot open", path))?;
        let (mut whole, mut broken, mut structure) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut crcs = 0;
        let walked = lmdb_check::walk(
            path,
            &mut |entry| {
                let Ok(key) = Key::try_from(entry.key) else { return };
                let mut value = vec![0; entry.size as usize];
                let read = file.read_exact_at(&mut value, entry.at);
                if read.is_ok() && unseal(&key, &value).is_ok() {
                    crcs += if is_of_graph(&key) { u64::from(crc_of(&value)) } else { 0 };
                    whole.insert(key, (entry.at, entry.size));
                } else {
                    let stands = crc_of(&value);
                    value.resize(value.len().max(4), 0);
                    broken.insert(key, (stands, seal(&key, &mut value)));
                }
            },
            &mut |what| structure.push(what),
        );
        structure.extend(walked.err());
        Ok(Self { file, whole, broken, crcs, structure })
    }

    /// Whether the values are exactly those that the meta value names.
    pub(super) fn is_whole(&self, totals: (u64, u64)) -> bool {
        let keys = self.whole.keys().filter(|key| is_of_graph(key)).count() as u64;
        self.broken.is_empty() && totals == (keys, self.crcs)
    }

    /// What a whole value holds.
    pub(super) fn body(&self, key: &Key) -> std::io::Result<Option<Cow<'static, [u8]>>> {
        if !self.whole.contains_key(key) {
            return Ok(None);
        }
        Ok(Some(Cow::Owned(self.value(key)?.split_off(4))))
    }

    pub(super) fn value(&self, key: &Key) -> std::io::Result<Vec<u8>> {
        let (at, size) = self.whole.get(key).copied().unwrap_or_default();
        let mut value = vec![0; size as usize];
        self.file.read_exact_at(&mut value, at)?;
        Ok(value)
    }
}

/// Whether a value counts in the sums of the meta value.
fn is_of_graph(key: &Key) -> bool {
    *key != key_of_meta() && !changes::is_list(key)
}

fn key_of_meta() -> Key {
    key(Kind::Meta, 0, 0, 0)
}

pub(super) fn refuse<T>(path: &Path, reason: impl Into<String>) -> Result<T, Error> {
    Err(Error::NotRepairable { path: path.into(), reason: reason.into() })
}

/// The lists of one segment, rebuilt from those of the other direction, encoded.
fn encode_lists(kind: ListKind, number: u32, mut rows: Vec<(u32, Entry)>) -> Vec<u8> {
    rows.sort_unstable_by(|(v, a), (w, b)| v.cmp(w).then_with(|| compare(kind, a, b)));
    let mut words = vec![0u32; SEGMENT_VERTICES + 1];
    for (v, _) in &rows {
        debug_assert_eq!(segment_of(*v), number);
        words[local_of(*v) as usize + 1] += 1;
    }
    for local in 0..SEGMENT_VERTICES {
        words[local + 1] += words[local];
    }
    words.extend(rows.iter().map(|(_, e)| e.nbr));
    for c in 0..kind.columns() {
        words.extend(rows.iter().map(|(_, e)| e.columns[c]));
    }
    let base = Base::from_words(&words, kind.columns()).expect("INVARIANT: offsets count the rows");
    let mut value = Vec::new();
    stored::encode_base(&base, kind.columns(), &mut value);
    value
}

/// Rebuilds the lists of a direction of which at least one value is not there or not whole: every
/// segment of which the other direction knows an edge, and those named.
fn rebuild_direction(
    salvage: &Salvage,
    path: &Path,
    (id, kind): (EdgeTypeId, ListKind),
    direction: Direction,
    named: &[u32],
    version: u64,
) -> Result<BTreeMap<Key, Vec<u8>>, Error> {
    let other = match direction {
        Direction::Out => Direction::In,
        Direction::In => Direction::Out,
    };
    let of = |d: Direction, n: u32| key(Kind::Adjacency, id.get(), d as u16, n);
    let mut rows: BTreeMap<u32, Vec<(u32, Entry)>> =
        named.iter().map(|n| (*n, Vec::new())).collect();
    let range = of(other, 0)..=of(other, u32::MAX >> SEGMENT_BITS);
    for (key, _) in salvage.whole.range(range) {
        let value = salvage.value(key).map_err(Error::file("cannot read", path))?;
        let number = parts(key).map_or(0, |(_, _, _, n)| n);
        let base = match stored::decode_adjacency(&value[4..], kind.columns(), version) {
            Ok(base) => base,
            Err(reason) => return refuse(path, reason),
        };
        for (v, entry) in entries(&base, number) {
            let n = segment_of(entry.nbr);
            // Only what is missing: the rest is there as it was written.
            if named.contains(&n) || !salvage.whole.contains_key(&of(direction, n)) {
                rows.entry(n).or_default().push((entry.nbr, Entry { nbr: v, ..entry }));
            }
        }
    }
    Ok(rows
        .into_iter()
        .map(|(n, rows)| {
            let key = of(direction, n);
            let mut value = encode_lists(kind, n, rows);
            seal(&key, &mut value);
            (key, value)
        })
        .collect())
}

/// Rebuilds what is broken or missing; returns the values to put in its place.
fn rebuild(
    salvage: &Salvage,
    shared: &Shared,
    path: &Path,
    version: u64,
    indexes: &Damaged,
) -> Result<BTreeMap<Key, Vec<u8>>, Error> {
    // By type and direction: segments known to be broken.
    let mut broken: BTreeMap<(u16, u16), Vec<u32>> = BTreeMap::new();
    let is_concerned = |key: &&Key| !changes::is_list(*key) && !indexes.has(key);
    for key in salvage.broken.keys().filter(is_concerned) {
        match parts(key) {
            Some((1, a, b @ (0 | 1), n)) => broken.entry((a, b)).or_default().push(n),
            _ => {
                let hex: String = key.iter().map(|b| format!("{b:02x}")).collect();
                return refuse(
                    path,
                    format!(
                        "the value of key {hex} is damaged and stands nowhere else: labels or \
                         property values of 1024 vertices or edges would be lost; restore a \
                         backup"
                    ),
                );
            }
        }
    }
    let mut values = BTreeMap::new();
    for (id, ty) in shared.catalog.edge_types() {
        let named = |d: u16| broken.get(&(id.get(), d)).map_or(&[][..], |n| n);
        if !named(0).is_empty() && !named(1).is_empty() {
            return refuse(
                path,
                format!(
                    "lists of type {} are damaged in both directions: edges would be lost; \
                     restore a backup",
                    shared.catalog.edge_type_name(id)
                ),
            );
        }
        for direction in Direction::ALL {
            // A direction that lost values cannot tell what the other one had.
            if named(1 - direction as u16).is_empty() {
                let of = (id, ty.kind());
                let named = named(direction as u16);
                values.extend(rebuild_direction(salvage, path, of, direction, named, version)?);
            }
        }
    }
    Ok(values)
}

/// Puts the values of the store into the new database; returns the checkpoint they are of.
fn put_store(root: &Path, new: &mut NewDatabase, report: &mut Repaired) -> Result<u64, Error> {
    let path = root.join("store/data.mdb");
    let replayed = "all commits taken from the log, which begins at commit 1";
    match store_state(root)? {
        StoreState::Written => {}
        StoreState::Unwritten => {
            report.done.push(format!("the store had not been written: {replayed}"));
            return Ok(0);
        }
        StoreState::Lost(why) => return refuse(&path, format!("{why}: restore a backup")),
    }
    let salvage = Salvage::read(&path)?;
    let meta_key = key_of_meta();
    if salvage.whole.is_empty() && salvage.broken.is_empty() {
        if salvage.structure.is_empty() {
            return Ok(0);
        }
        if log_without_store(root)?.is_ok() {
            report.done.push(format!("no value of the store was found: {replayed}"));
            return Ok(0);
        }
    }
    if !salvage.whole.contains_key(&meta_key) {
        let reason = "the meta value of the store is damaged: it has the schema, without which \
                      nothing can be understood; restore a backup";
        return refuse(&path, reason);
    }
    let value = salvage.value(&meta_key).map_err(Error::file("cannot read", &path))?;
    let shared = Shared::empty(Settings::default());
    let meta = match meta::decode(&value[4..], &shared) {
        Ok(found) => found,
        Err(reason) => return refuse(&path, reason),
    };
    new.put(&meta_key, value)?;
    let indexes = Damaged::find(&salvage, &path, &shared, &meta)?;
    let mut totals = Totals::default();
    for key in salvage.whole.keys().filter(|key| is_of_graph(key)) {
        let value = salvage.value(key).map_err(Error::file("cannot read", &path))?;
        let crc = crc_of(&value);
        if indexes.has(key) {
            new.leave_out(crc, crc);
            continue;
        }
        totals.put(key, None, crc);
        new.put(key, value)?;
        report.values += 1;
    }
    for (_, (stands, ought)) in salvage.broken.iter().filter(|(key, _)| indexes.has(key)) {
        new.leave_out(*stands, *ought);
    }
    let is_complete = |new: &NewDatabase| new.totals().is_ok_and(|t| t.complete);
    let mut values = BTreeMap::new();
    if !is_complete(new) {
        values = rebuild(&salvage, &shared, &path, meta.version, &indexes)?;
        for (key, value) in &values {
            totals.put(key, None, crc_of(value));
            new.put(key, value.clone())?;
            report.rebuilt += 1;
        }
        if !is_complete(new) {
            let found = report.values + report.rebuilt;
            return refuse(
                &path,
                format!(
                    "{} of {} values could be found or rebuilt, and they are not what the \
                     checkpoint wrote; restore a backup",
                    found, meta.totals.0
                ),
            );
        }
        let rebuilt = report.rebuilt;
        report.done.push(format!("{rebuilt} values rebuilt from the lists of the other direction"));
    }
    if !indexes.is_empty() {
        let from = (&salvage, &values);
        indexes.make_anew(from, &path, (&shared, &meta), (new, &mut totals), report)?;
    }
    let structure = salvage.structure.len();
    if structure > 0 {
        report.done.push(format!("a new store file; the old one had {structure} faults"));
    }
    Ok(meta.at)
}

/// Puts the log after `checkpoint` into the new database; returns the commit it reaches.
fn put_log(
    root: &Path,
    checkpoint: u64,
    options: RepairOptions,
    new: &mut NewDatabase,
    report: &mut Repaired,
) -> Result<u64, Error> {
    let files = log_files(root)?;
    let mut next = checkpoint + 1;
    let lose = |from: u64, what: String, path: &Path, report: &mut Repaired| {
        if options.lose_commits {
            report.lost.push(format!("the commits from {from} on: {what}"));
            return Ok(());
        }
        let what = format!(
            "{what}: every commit from {from} on would be lost; `--lose-commits` keeps those before"
        );
        refuse(path, what)
    };
    if let Some((after, what)) = log_is_lost(root, checkpoint, closed_at(root))? {
        lose(after + 1, what, &wal_path(root), report)?;
    }
    for (i, (first_ts, path)) in files.iter().enumerate() {
        let is_last = i + 1 == files.len();
        let later = files.get(i + 1).map_or(u64::MAX, |(ts, _)| *ts);
        if later <= next {
            continue;
        }
        if *first_ts > next {
            let what = format!("the commits {next} to {} are missing", first_ts - 1);
            lose(next, what, path, report)?;
            break;
        }
        let bytes = fs::read(path).map_err(Error::file("cannot read", path))?;
        let (mut begin, mut end, mut reached) = (None, 0, next);
        let mut stopped = false;
        let scan = inspect::scan(path, &bytes, *first_ts, &mut |seen| {
            stopped |= seen.ts > reached;
            if seen.ts == reached {
                begin.get_or_insert(seen.offset);
                (end, reached) = (seen.end, reached + 1);
            }
            !stopped
        });
        let scan = match scan {
            Ok(scan) => scan,
            Err(_) if is_last && bytes.len() <= 32 => {
                report
                    .done
                    .push("a log file without a header, which held nothing, left out".into());
                break;
            }
            Err(e) => {
                lose(next, e.to_string(), path, report)?;
                break;
            }
        };
        if let Some(begin) = begin {
            let mut copy = inspect::header_bytes(scan.salt, next);
            copy.extend_from_slice(&bytes[begin..end]);
            new.put_log(next, &copy)?;
            next = reached;
        }
        match scan.faults.first() {
            None => {}
            Some(fault) if is_last && fault.resumed_ts.is_none() => {
                let (offset, name) = (fault.offset, path.display());
                report.done.push(format!("the torn end of {name} cut at offset {offset}"));
            }
            Some(fault) => {
                let what = format!("{} is damaged at offset {}", path.display(), fault.offset);
                lose(next, what, path, report)?;
                break;
            }
        }
    }
    Ok(next - 1)
}

/// Makes a database at `target` of what can be rebuilt of the damaged one in `path`, which is only
/// read and must not be open.
///
/// # Errors
/// [`Error::NotRepairable`] says what would be lost; [`Error::TargetExists`], [`Error::Locked`],
/// [`Error::File`], [`Error::Store`]. Nothing is left at `target`.
pub fn repair(
    path: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: RepairOptions,
) -> Result<Repaired, Error> {
    let root = path.as_ref();
    let _lock = super::check::lock(root)?;
    let (done, lost) = (Vec::new(), Vec::new());
    let to = CommitTs::ZERO;
    let mut report = Repaired { to, values: 0, rebuilt: 0, commits: 0, done, lost };
    let mut new = NewDatabase::begin(target.as_ref())?;
    let put = put_store(root, &mut new, &mut report).and_then(|checkpoint| {
        let to = put_log(root, checkpoint, options, &mut new, &mut report)?;
        report.commits = to - checkpoint;
        Ok(to)
    });
    match put {
        Ok(to) => {
            new.finish(to, &report.lost)?;
            report.to = CommitTs::from_raw(to);
            Ok(report)
        }
        Err(e) => {
            new.discard();
            Err(e)
        }
    }
}
