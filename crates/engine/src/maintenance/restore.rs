//! Restore: a new database at one commit, from a full backup and the incremental ones after it.
//!
//! ```text
//!  full          C0 ───── T0
//!  incremental              ──── C1 ──── T1          image: what changed in (C0, C1]
//!  incremental                               ──── C2 ── T2
//!                              ▲
//!                              T: values of C0, then the log of (C0, T]
//! ```
//!
//! The values come from the last backup whose checkpoint is at or before T and those before it, the
//! newest of each key; the log from all backups and the directories given. Checksums of the files,
//! of the values, and of the values together are verified, and the engine opens the result, before
//! it gets its name. It is a new database with an identity of its own.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use telar_graph::CommitTs;

use crate::clock::wall;
use crate::commit::record;
use crate::error::Error;
use crate::format;
use crate::maintenance::assemble::NewDatabase;
use crate::maintenance::image::{ImageFault, read_image};
use crate::maintenance::manifest::Manifest;
use crate::store::changes::Key;
use crate::wal::inspect;

/// To which commit a database is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RestorePoint {
    /// The last one that the last backup, and the further log given, reach without a gap.
    #[default]
    Latest,
    /// This one.
    Commit(CommitTs),
    /// The last one not later than this time, in milliseconds since 1970; see [`wall::parse`].
    Time(u64),
}

/// How a database is restored.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RestoreOptions {
    /// To which commit.
    pub to: RestorePoint,
    /// Further directories with log files: `wal` or `archive` of the database.
    pub logs: Vec<PathBuf>,
}

/// What a restore did.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Restored {
    /// The commit the new database is at.
    pub to: CommitTs,
    /// When that commit was made, if its record says so: milliseconds since 1970.
    pub time_ms: Option<u64>,
    /// The checkpoint its values are from.
    pub checkpoint: CommitTs,
    /// Values written.
    pub values: u64,
    /// Commits replayed.
    pub commits: u64,
}

/// A backup of the chain.
struct Link {
    path: PathBuf,
    manifest: Manifest,
}

/// A piece of log: a file, and where its records are.
struct Piece {
    path: PathBuf,
    first_ts: u64,
    salt: u32,
    /// Of each record: begin and end in the file, and its time.
    records: Vec<(usize, usize, Option<u64>)>,
    /// Commits that stand for a bulk load, whose contents no log has.
    bulk_loads: Vec<u64>,
}

impl Piece {
    /// One past its last commit.
    fn end(&self) -> u64 {
        self.first_ts + self.records.len() as u64
    }
}

fn refuse<T>(path: &Path, reason: impl Into<String>) -> Result<T, Error> {
    Err(Error::Backup { path: path.into(), reason: reason.into() })
}

/// Puts the backups in order and checks that each continues the one before.
fn chain(backups: &[PathBuf]) -> Result<Vec<Link>, Error> {
    let mut links = Vec::new();
    for path in backups {
        links.push(Link { manifest: Manifest::read(path)?, path: path.clone() });
    }
    links.sort_by_key(|l| (l.manifest.base.is_some(), l.manifest.to, l.manifest.time_ms));
    let Some(first) = links.first() else {
        return refuse(Path::new("?"), "no backup was named");
    };
    if first.manifest.base.is_some() {
        let reason = "it continues another backup, and no full backup was named";
        return refuse(&first.path, reason);
    }
    for pair in links.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let path = before.path.display();
        match after.manifest.base {
            None => return refuse(&after.path, format!("it is a full backup, as {path} is")),
            Some(base) if base.id != before.manifest.id => {
                let reason = format!(
                    "it continues backup {}, which is not the one before it ({path}): name every \
                     backup of the chain",
                    base.id
                );
                return refuse(&after.path, reason);
            }
            Some(_) => {}
        }
    }
    Ok(links)
}

fn read_piece(path: &Path, first_ts: u64, crc: Option<(u64, u32)>) -> Result<Piece, Error> {
    let bytes = fs::read(path).map_err(Error::file("cannot read", path))?;
    if let Some((len, crc)) = crc
        && (bytes.len() as u64 != len || crc32fast::hash(&bytes) != crc)
    {
        return refuse(path, "length or checksum differ from what the manifest says: damaged");
    }
    let (mut records, mut bulk_loads) = (Vec::new(), Vec::new());
    let scan = inspect::scan(path, &bytes, first_ts, &mut |seen| {
        if seen.payload == format::EMPTY_COMMIT {
            bulk_loads.push(first_ts + records.len() as u64);
        }
        records.push((seen.offset, seen.end, record::time_ms(seen.payload)));
        true
    })?;
    match scan.faults.first() {
        Some(fault) if crc.is_some() || fault.resumed_ts.is_some() => Err(Error::Damaged {
            path: path.into(),
            place: format!("offset {}", fault.offset),
            reason: fault.what.clone(),
        }),
        // The end of a log that is being written to.
        _ => Ok(Piece { path: path.into(), first_ts, salt: scan.salt, records, bulk_loads }),
    }
}

/// Every piece of log there is, by first commit.
fn pieces(chain: &[Link], logs: &[PathBuf]) -> Result<Vec<Piece>, Error> {
    let mut pieces = Vec::new();
    for link in chain {
        let logs = link.manifest.files.iter().filter(|f| f.name.starts_with("wal/"));
        for file in logs {
            let path = link.path.join(&file.name);
            let first_ts = path.file_name().and_then(|n| n.to_str()).and_then(inspect::first_ts);
            let Some(first_ts) = first_ts else {
                return refuse(&path, "the manifest names a log file that has no such name");
            };
            pieces.push(read_piece(&path, first_ts, Some((file.bytes, file.crc)))?);
        }
    }
    // A log keeps its salt for life.
    let of_backups = pieces.last().map(|p: &Piece| p.salt);
    for directory in logs {
        let files = inspect::list(directory).map_err(Error::file("cannot list", directory))?;
        for (first_ts, path) in files {
            let piece = read_piece(&path, first_ts, None)?;
            if of_backups.is_some_and(|salt: u32| salt != piece.salt) {
                return refuse(&path, "it is the log of another database");
            }
            pieces.push(piece);
        }
    }
    pieces.sort_by_key(|p| p.first_ts);
    Ok(pieces)
}

/// The piece to read commit `next` from: the one that reaches furthest.
fn piece_with(pieces: &[Piece], next: u64) -> Option<&Piece> {
    let with = pieces.iter().filter(|p| p.first_ts <= next && p.end() > next);
    with.max_by_key(|p| p.end())
}

/// The commit that `point` means.
fn resolve(
    point: RestorePoint,
    chain: &[Link],
    pieces: &[Piece],
    path: &Path,
) -> Result<u64, Error> {
    let latest = chain.last().map_or(0, |l| l.manifest.to);
    let first = chain.first().map_or(0, |l| l.manifest.checkpoint);
    let limit = pieces.iter().map(Piece::end).max().map_or(latest, |end| latest.max(end - 1));
    let time_ms = match point {
        RestorePoint::Latest => {
            let mut next = latest + 1;
            while let Some(piece) = piece_with(pieces, next) {
                next = piece.end();
            }
            return Ok(next - 1);
        }
        RestorePoint::Commit(ts) if (first..=limit).contains(&ts.get()) => return Ok(ts.get()),
        RestorePoint::Commit(ts) => {
            return refuse(path, format!("it reaches commits {first} to {limit}, not {ts}"));
        }
        RestorePoint::Time(ms) => ms,
    };
    resolve_time(time_ms, chain, pieces, (first, limit), path)
}

/// The last commit not later than `time_ms`, of those after `first` up to `limit`.
///
/// Where there is no log, commits have no time; but all that a backup holds was committed before it
/// was taken. What that does not settle is refused.
fn resolve_time(
    time_ms: u64,
    chain: &[Link],
    pieces: &[Piece],
    (first, limit): (u64, u64),
    path: &Path,
) -> Result<u64, Error> {
    let taken_after = |ts: u64| {
        let with = chain.iter().filter(|l| l.manifest.to >= ts);
        with.map(|l| l.manifest.time_ms).min().unwrap_or(u64::MAX)
    };
    // Whether anything says that the state before `next` is not later than asked for.
    let mut known = time_ms >= taken_after(first);
    let mut next = first + 1;
    while next <= limit {
        if let Some(piece) = piece_with(pieces, next) {
            for time in piece.records[(next - piece.first_ts) as usize..].iter().map(|r| r.2) {
                match time {
                    Some(time) if time > time_ms && known => return Ok(next - 1),
                    Some(time) if time > time_ms => {
                        let begins = wall::show(time);
                        let reason = format!("its log begins at {begins}: use an earlier backup");
                        return refuse(path, reason);
                    }
                    Some(_) => known = true,
                    None => {}
                }
                next += 1;
            }
            continue;
        }
        let later = pieces.iter().find(|p| p.first_ts > next);
        let last = later.map_or(limit, |p| p.first_ts - 1);
        let time_after = later.and_then(|p| p.records.iter().find_map(|r| r.2));
        if time_ms < taken_after(last).min(time_after.unwrap_or(u64::MAX)) {
            return refuse(
                path,
                format!(
                    "there is no log of the commits {next} to {last}, among which {} may lie: \
                     restore to a commit, or give the directory of the archived log",
                    wall::show(time_ms)
                ),
            );
        }
        (known, next) = (true, last + 1);
    }
    if known || time_ms >= taken_after(limit) {
        return Ok(limit);
    }
    let taken = wall::show(taken_after(limit));
    refuse(path, format!("it was taken at {taken} and has no log from before"))
}

/// Why the values could not be read; becomes an error that names the file.
enum Failed {
    Image(ImageFault),
    Other(Error),
}

impl From<ImageFault> for Failed {
    fn from(fault: ImageFault) -> Self {
        Self::Image(fault)
    }
}

fn put_values(links: &[Link], new: &mut NewDatabase) -> Result<u64, Error> {
    let mut seen: HashSet<Key> = HashSet::new();
    let mut values = 0;
    // Newest first: the first value of a key is the one that holds.
    for link in links.iter().rev() {
        let path = link.path.join("image");
        let read = read_image(&path, |frame| {
            if seen.insert(frame.key)
                && let Some(value) = frame.value
            {
                new.put(&frame.key, value).map_err(Failed::Other)?;
                values += 1;
            }
            Ok(())
        });
        let found = match read {
            Ok(found) => found,
            Err(Failed::Other(e)) => return Err(e),
            Err(Failed::Image(ImageFault::Io(e))) => {
                return Err(Error::file("cannot read", &path)(e));
            }
            Err(Failed::Image(ImageFault::Damaged { offset, what })) => {
                let place = format!("offset {offset}");
                return Err(Error::Damaged { path, place, reason: what });
            }
        };
        let entry = link.manifest.files.iter().find(|f| f.name == "image");
        if entry.is_none_or(|f| (f.bytes, f.crc) != found) {
            return refuse(&path, "length or checksum differ from what the manifest says: damaged");
        }
    }
    Ok(values)
}

/// Writes the commits in `(from, to]` as log files of the new database.
fn put_log(
    pieces: &[Piece],
    (from, to): (u64, u64),
    new: &mut NewDatabase,
    path: &Path,
) -> Result<(), Error> {
    let mut next = from + 1;
    while next <= to {
        let Some(piece) = piece_with(pieces, next) else {
            let until = pieces.iter().map(|p| p.first_ts).find(|ts| *ts > next);
            let until = until.map_or(to, |ts| ts - 1);
            return refuse(
                path,
                format!(
                    "there is no log of the commits {next} to {until}: restore to another commit, \
                     or give the directory of the archived log"
                ),
            );
        };
        let last = to.min(piece.end() - 1);
        if let Some(load) = piece.bulk_loads.iter().find(|ts| (next..=last).contains(ts)) {
            return refuse(
                path,
                format!(
                    "commit {load} is a bulk load, which no log holds: restore to a commit before \
                     it, or name a backup taken after it"
                ),
            );
        }
        let records = &piece.records[(next - piece.first_ts) as usize..];
        let count = (last - next + 1) as usize;
        let (begin, end) = (records[0].0, records[count - 1].1);
        let mut bytes = inspect::header_bytes(piece.salt, next);
        let file = fs::read(&piece.path).map_err(Error::file("cannot read", &piece.path))?;
        let Some(found) = file.get(begin..end) else {
            return refuse(&piece.path, "it has become shorter while it was read");
        };
        bytes.extend_from_slice(found);
        new.put_log(next, &bytes)?;
        next = last + 1;
    }
    Ok(())
}

/// Makes a database at `target` from a full backup and the incremental ones after it, named in any
/// order.
///
/// # Errors
/// [`Error::TargetExists`]; [`Error::Backup`] if a backup is unfinished, damaged, missing from the
/// chain, or does not reach the commit asked for; [`Error::Damaged`]; [`Error::File`],
/// [`Error::Store`]. Nothing is left at `target`.
pub fn restore(
    backups: &[PathBuf],
    target: impl AsRef<Path>,
    options: &RestoreOptions,
) -> Result<Restored, Error> {
    let chain = chain(backups)?;
    let pieces = pieces(&chain, &options.logs)?;
    let last = &chain[chain.len() - 1].path;
    let to = resolve(options.to, &chain, &pieces, last)?;
    let used = chain.iter().rposition(|l| l.manifest.checkpoint <= to).map_or(0, |at| at + 1);
    let Some(newest) = chain[..used].last() else {
        return refuse(last, format!("no backup has values of commit {to} or before"));
    };
    let checkpoint = newest.manifest.checkpoint;
    let mut new = NewDatabase::begin(target.as_ref())?;
    let put = put_values(&chain[..used], &mut new).and_then(|values| {
        let totals = new.totals().or_else(|reason| refuse(&newest.path, reason))?;
        if totals.checkpoint != checkpoint || !totals.complete {
            let reason = "its values are not those of its checkpoint: the chain is damaged";
            return refuse(&newest.path, reason);
        }
        put_log(&pieces, (checkpoint, to), &mut new, last)?;
        Ok(values)
    });
    let values = match put {
        Ok(values) => values,
        Err(e) => {
            new.discard();
            return Err(e);
        }
    };
    new.finish(to, &[])?;
    let of_last = |p: &Piece| p.records[(to - p.first_ts) as usize].2;
    Ok(Restored {
        to: CommitTs::from_raw(to),
        time_ms: piece_with(&pieces, to).and_then(of_last),
        checkpoint: CommitTs::from_raw(checkpoint),
        values,
        commits: to - checkpoint,
    })
}
