//! Files and folders as the kernel shows them, and what of them a power failure leaves.
//!
//! ```text
//!  file    durable bytes · writes and cuts since the last sync, each with the step it came at
//!  folder  durable names · creations, renamings and removals since the last sync
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Said;
use super::trace::{Recording, Step};
use crate::Rng;

/// What a disk writes as a whole.
const SECTOR_BYTES: u64 = 512;

/// A file or folder, whatever its name.
pub(super) type Inode = usize;

/// Something done to files.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Make {
        parent: Inode,
        name: String,
        inode: Inode,
        folder: bool,
    },
    Link {
        parent: Inode,
        name: String,
        inode: Inode,
    },
    Rename {
        from: (Inode, String),
        to: (Inode, String),
        inode: Inode,
    },
    Remove {
        parent: Inode,
        name: String,
    },
    Write {
        inode: Inode,
        at: u64,
        bytes: Arc<[u8]>,
        synced: bool,
    },
    Cut {
        inode: Inode,
        len: u64,
    },
    /// Of what came before step `begun`.
    Sync {
        inode: Inode,
        begun: usize,
    },
}

#[derive(Debug, Clone)]
enum Name {
    Set(String, Inode),
    Gone(String),
    Moved(String, String, Inode),
}

#[derive(Debug, Clone)]
enum Data {
    /// `kept`: synced by itself, so that no crash takes it.
    Write {
        at: u64,
        bytes: Arc<[u8]>,
        kept: bool,
    },
    Cut(u64),
}

type Names = BTreeMap<String, Inode>;

#[derive(Debug, Clone)]
enum Node {
    Folder { durable: Names, current: Names, unsynced: Vec<(usize, Name)> },
    File { durable: Vec<u8>, len: u64, unsynced: Vec<(usize, Data)> },
}

/// What becomes of what is not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing of it is there.
    Lost,
    /// All of it is there.
    Kept,
    /// Some of it, as chance has it.
    Torn,
}

impl Fate {
    /// Every one there is.
    pub const ALL: [Self; 3] = [Self::Lost, Self::Kept, Self::Torn];
}

/// The files below a folder.
#[derive(Debug, Clone)]
pub struct Disk {
    nodes: Vec<Node>,
}

fn set(names: &mut Names, change: &Name) {
    match change {
        Name::Set(name, inode) => drop(names.insert(name.clone(), *inode)),
        Name::Gone(name) => drop(names.remove(name)),
        Name::Moved(from, to, inode) => {
            names.remove(from);
            names.insert(to.clone(), *inode);
        }
    }
}

fn put(bytes: &mut Vec<u8>, at: u64, new: &[u8]) {
    let (at, end) = (at as usize, at as usize + new.len());
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(new);
}

fn put_all(bytes: &mut Vec<u8>, data: &Data) {
    match data {
        Data::Write { at, bytes: new, .. } => put(bytes, *at, new),
        Data::Cut(len) => bytes.resize(*len as usize, 0),
    }
}

impl Default for Disk {
    fn default() -> Self {
        let names = Names::new();
        let root = Node::Folder { durable: names.clone(), current: names, unsynced: Vec::new() };
        Self { nodes: vec![root] }
    }
}

impl Disk {
    pub(super) const ROOT: Inode = 0;

    /// The disk after so many steps of a recording, and what the programs had said by then.
    #[must_use]
    pub fn at(recording: &Recording, steps: usize) -> (Self, Vec<Said>) {
        let (mut disk, mut said) = (Self::default(), Vec::new());
        disk.advance(recording, 0..steps, &mut said);
        (disk, said)
    }

    /// Does further steps.
    pub fn advance(
        &mut self,
        recording: &Recording,
        steps: std::ops::Range<usize>,
        said: &mut Vec<Said>,
    ) {
        for at in steps {
            match &recording.steps[at] {
                Step::Change(change) => self.apply(at, change),
                Step::Said(what) => said.push(what.clone()),
            }
        }
    }

    pub(super) fn next(&self) -> Inode {
        self.nodes.len()
    }

    fn name(&mut self, step: usize, parent: Inode, change: Name) {
        let Node::Folder { current, unsynced, .. } = &mut self.nodes[parent] else {
            panic!("a name in a file");
        };
        set(current, &change);
        unsynced.push((step, change));
    }

    pub(super) fn apply(&mut self, step: usize, change: &Change) {
        match change {
            Change::Make { parent, name, inode, folder } => {
                assert_eq!(*inode, self.nodes.len());
                self.nodes.push(match folder {
                    true => Self::default().nodes.remove(0),
                    false => Node::File { durable: Vec::new(), len: 0, unsynced: Vec::new() },
                });
                self.name(step, *parent, Name::Set(name.clone(), *inode));
            }
            Change::Link { parent, name, inode } => {
                self.name(step, *parent, Name::Set(name.clone(), *inode));
            }
            Change::Remove { parent, name } => self.name(step, *parent, Name::Gone(name.clone())),
            Change::Rename { from: (parent, from), to: (target, to), inode } => {
                if parent == target {
                    self.name(step, *parent, Name::Moved(from.clone(), to.clone(), *inode));
                } else {
                    self.name(step, *target, Name::Set(to.clone(), *inode));
                    self.name(step, *parent, Name::Gone(from.clone()));
                }
            }
            Change::Write { inode, at, bytes, synced } => {
                let Node::File { len, unsynced, .. } = &mut self.nodes[*inode] else { return };
                *len = (*len).max(at + bytes.len() as u64);
                let bytes = Arc::clone(bytes);
                unsynced.push((step, Data::Write { at: *at, bytes, kept: *synced }));
            }
            Change::Cut { inode, len: cut } => {
                let Node::File { len, unsynced, .. } = &mut self.nodes[*inode] else { return };
                *len = *cut;
                unsynced.push((step, Data::Cut(*cut)));
            }
            Change::Sync { inode, begun } => match &mut self.nodes[*inode] {
                Node::Folder { durable, unsynced, .. } => {
                    let covered = unsynced.partition_point(|(step, _)| step < begun);
                    unsynced.drain(..covered).for_each(|(_, change)| set(durable, &change));
                }
                Node::File { durable, unsynced, .. } => {
                    let covered = unsynced.partition_point(|(step, _)| step < begun);
                    unsynced.drain(..covered).for_each(|(_, data)| put_all(durable, &data));
                }
            },
        }
    }

    /// What bears a name in a folder.
    pub(super) fn find(&self, parent: Inode, name: &str) -> Option<Inode> {
        match &self.nodes[parent] {
            Node::Folder { current, .. } => current.get(name).copied(),
            Node::File { .. } => None,
        }
    }

    pub(super) fn len(&self, file: Inode) -> u64 {
        match &self.nodes[file] {
            Node::File { len, .. } => *len,
            Node::Folder { .. } => 0,
        }
    }

    /// The bytes of a file as programs see them.
    pub(super) fn content(&self, file: Inode) -> Vec<u8> {
        let Node::File { durable, unsynced, .. } = &self.nodes[file] else { return Vec::new() };
        let mut bytes = durable.clone();
        unsynced.iter().for_each(|(_, data)| put_all(&mut bytes, data));
        bytes
    }

    /// Writes into `target` what a power failure now could leave.
    ///
    /// # Errors
    /// Of the file system.
    pub fn crash(
        &self,
        (names, data): (Fate, Fate),
        rng: &mut Rng,
        target: &Path,
    ) -> io::Result<()> {
        let mut files = HashMap::new();
        let mut folders: Vec<(Inode, PathBuf)> = vec![(Self::ROOT, target.to_owned())];
        while let Some((inode, path)) = folders.pop() {
            let Node::Folder { durable, unsynced, .. } = &self.nodes[inode] else { continue };
            fs::create_dir_all(&path)?;
            let mut left = durable.clone();
            for (_, change) in unsynced {
                let happened = match names {
                    Fate::Lost => false,
                    Fate::Kept => true,
                    Fate::Torn => rng.one_in(2),
                };
                if happened {
                    set(&mut left, change);
                }
            }
            for (name, inode) in left {
                let path = path.join(name);
                match &self.nodes[inode] {
                    Node::Folder { .. } => folders.push((inode, path)),
                    // One file of two names has the same bytes under both.
                    file @ Node::File { .. } => {
                        let bytes = files.entry(inode).or_insert_with(|| left_of(file, data, rng));
                        fs::write(path, bytes)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What a power failure leaves of the bytes of a file.
fn left_of(file: &Node, fate: Fate, rng: &mut Rng) -> Vec<u8> {
    let Node::File { durable, len, unsynced } = file else { return Vec::new() };
    let mut bytes = durable.clone();
    // Files meet their own fates: one is written back, another not yet.
    let torn = fate == Fate::Torn;
    let (lost, whole) = match fate {
        Fate::Lost => (true, false),
        Fate::Kept => (false, true),
        Fate::Torn => (rng.one_in(4), rng.one_in(4)),
    };
    let first_lost = rng.below(unsynced.len() as u64 + 1) as usize;
    let in_order = rng.one_in(2);
    for (number, (_, data)) in unsynced.iter().enumerate() {
        match data {
            Data::Write { kept: true, .. } => put_all(&mut bytes, data),
            _ if lost => {}
            _ if whole || (in_order && number < first_lost) => put_all(&mut bytes, data),
            _ if in_order && number > first_lost => {}
            Data::Cut(_) if rng.one_in(2) => put_all(&mut bytes, data),
            Data::Cut(_) => {}
            Data::Write { at, bytes: new, .. } => {
                let (mut from, end) = (*at, at + new.len() as u64);
                while from < end {
                    let to = ((from / SECTOR_BYTES + 1) * SECTOR_BYTES).min(end);
                    if rng.one_in(2) {
                        let piece = (from - at) as usize..(to - at) as usize;
                        put(&mut bytes, from, &new[piece]);
                    }
                    from = to;
                }
            }
        }
    }
    if torn && rng.one_in(3) && bytes.len() < *len as usize {
        // The length came, the bytes did not.
        bytes.resize(*len as usize, 0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn write(inode: Inode, at: u64, byte: u8, len: usize) -> Change {
        Change::Write { inode, at, bytes: vec![byte; len].into(), synced: false }
    }

    fn made(parent: Inode, name: &str, inode: Inode, folder: bool) -> Change {
        Change::Make { parent, name: name.into(), inode, folder }
    }

    /// Everything that crashes leave of a file: its bytes, or nothing.
    fn states(
        changes: &[Change],
        path: &str,
        names: Fate,
        data: Fate,
    ) -> BTreeSet<Option<Vec<u8>>> {
        let mut disk = Disk::default();
        changes.iter().enumerate().for_each(|(step, change)| disk.apply(step, change));
        let mut rng = Rng::new(1);
        let state = |_| {
            let dir = super::super::scratch();
            disk.crash((names, data), &mut rng, dir.path()).unwrap();
            fs::read(dir.path().join(path)).ok()
        };
        (0..60).map(state).collect()
    }

    #[test]
    fn synced_bytes_without_a_synced_name_can_be_lost() {
        let sync = |inode, begun| Change::Sync { inode, begun };
        let steps = [
            made(0, "a", 1, true),
            made(1, "f", 2, false),
            write(2, 0, 7, 3),
            sync(2, 3),
            sync(1, 4),
        ];
        let there = Some(vec![7; 3]);
        assert_eq!(
            states(&steps, "a/f", Fate::Lost, Fate::Lost),
            [None].into(),
            "the folder's name"
        );
        assert_eq!(states(&steps, "a/f", Fate::Kept, Fate::Lost), [there.clone()].into());
        let whole = [&steps[..], &[sync(0, 5)]].concat();
        assert_eq!(states(&whole, "a/f", Fate::Lost, Fate::Lost), [there.clone()].into());
        // Bytes that were not synced before the name was: a name with length 0.
        let early = [&steps[..2], &[write(2, 0, 7, 3), sync(1, 3), sync(0, 4)]].concat();
        assert_eq!(states(&early, "a/f", Fate::Lost, Fate::Lost), [Some(vec![])].into());
        let torn = states(&early, "a/f", Fate::Lost, Fate::Torn);
        assert_eq!(torn, [Some(vec![]), Some(vec![0; 3]), there].into());
    }

    #[test]
    fn a_sync_covers_what_came_before_it_began() {
        let begun =
            [made(0, "f", 1, false), Change::Sync { inode: 0, begun: 1 }, write(1, 0, 1, 9)];
        let late = [&begun[..], &[Change::Sync { inode: 1, begun: 2 }]].concat();
        assert_eq!(states(&late, "f", Fate::Lost, Fate::Lost), [Some(vec![])].into());
        let synced = [&begun[..], &[Change::Sync { inode: 1, begun: 3 }]].concat();
        assert_eq!(states(&synced, "f", Fate::Lost, Fate::Lost), [Some(vec![1; 9])].into());
    }

    #[test]
    fn writes_are_torn_at_sectors_and_kept_where_each_is_synced() {
        let file = [made(0, "f", 1, false), Change::Sync { inode: 0, begun: 1 }];
        let torn = [&file[..], &[write(1, 0, 1, 1536)]].concat();
        let found = states(&torn, "f", Fate::Lost, Fate::Torn);
        assert!(found.len() > 4, "{}", found.len());
        for bytes in found.into_iter().flatten() {
            assert!(bytes.chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
        }
        let each = Change::Write { inode: 1, at: 0, bytes: vec![2; 4].into(), synced: true };
        let kept = [&torn[..], &[each]].concat();
        for bytes in states(&kept, "f", Fate::Lost, Fate::Torn) {
            assert_eq!(bytes.unwrap()[..4], [2; 4]);
        }
    }
}
