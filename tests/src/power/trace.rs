//! The calls of a program that change files, as `strace` tells them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::Said;
use super::disk::{Change, Disk, Inode};

/// Every call that changes files, names or descriptors.
const CALLS: &str = "open,openat,creat,close,dup,dup2,dup3,fcntl,write,pwrite64,writev,pwritev,\
                     pwritev2,lseek,ftruncate,truncate,fallocate,fsync,fdatasync,syncfs,rename,\
                     renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,\
                     copy_file_range,sendfile";
const TEXT_BYTES_MAX: &str = "67108864";

/// What programs did below a folder, in order.
#[derive(Debug, Default)]
pub struct Recording {
    pub(super) steps: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Step {
    Change(Change),
    Said(Said),
}

/// A call that has returned.
#[derive(Debug)]
struct Call<'t> {
    name: &'t str,
    arguments: Vec<&'t str>,
    result: i64,
    /// How many steps there were when it began: what a sync is about.
    begun: usize,
}

/// An open file of the program.
#[derive(Debug, Clone, Copy)]
struct Open {
    inode: Inode,
    at: u64,
    append: bool,
    /// Each write is synced (`O_DSYNC`).
    synced: bool,
}

impl Recording {
    /// How many steps there are: changes, and what was said.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing was done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// What is synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synced {
    /// Folders.
    Folders,
    /// Files.
    Files,
}

impl Recording {
    /// The same programs, had they not synced files, or folders.
    #[must_use]
    pub fn without_syncs(&self, of: Synced) -> Self {
        let made = self.steps.iter().filter_map(|step| match step {
            Step::Change(Change::Make { inode, folder: true, .. }) => Some(*inode),
            _ => None,
        });
        let folders: HashSet<Inode> = made.chain([Disk::ROOT]).collect();
        let steps = self.steps.iter().map(|step| match step {
            // Steps keep their numbers, which syncs refer to.
            Step::Change(Change::Sync { inode, .. })
                if folders.contains(inode) == (of == Synced::Folders) =>
            {
                Step::Change(Change::Sync { inode: *inode, begun: 0 })
            }
            Step::Change(Change::Write { inode, at, bytes, .. }) if of == Synced::Files => {
                let (inode, at, bytes) = (*inode, *at, Arc::clone(bytes));
                Step::Change(Change::Write { inode, at, bytes, synced: false })
            }
            Step::Change(change) => Step::Change(change.clone()),
            Step::Said(said) => Step::Said(said.clone()),
        });
        Self { steps: steps.collect() }
    }
}

/// Runs a program to its end and adds what it does below `folder`, which begins empty, to the
/// recording of all that was done there before.
///
/// # Panics
/// If the program fails, or does what a recording cannot tell.
pub fn record(recording: &mut Recording, folder: &Path, program: &Command) {
    let log = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-xx", "-e", "signal=none", "-s", TEXT_BYTES_MAX]);
    traced.args(["-e", &format!("trace={CALLS}"), "-o"]).arg(log.path());
    traced.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        if let Some(value) = value {
            traced.env(name, value);
        }
    }
    let output = traced.output().expect("strace is installed");
    assert!(output.status.success(), "{program:?}: {output:?}");
    let text = fs::read_to_string(log.path()).expect("strace writes text");
    let mut reader = Reader::new(recording, folder);
    let mut unfinished: HashMap<&str, (&str, usize)> = HashMap::new();
    for line in text.lines() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        let begun = reader.recording.steps.len();
        if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            unfinished.insert(process, (begin, begun));
        } else if rest.starts_with("<... ") {
            let end = rest.split_once(" resumed>").expect("a call that goes on").1;
            let (begin, begun) = unfinished.remove(process).expect("a call that had begun");
            reader.take(&format!("{begin}{end}"), begun);
        } else {
            reader.take(rest, begun);
        }
    }
    recording.steps.push(Step::Said(Said::Ended));
}

/// A call as it is written: `name(arguments) = result`.
fn parse(text: &str, begun: usize) -> Option<Call<'_>> {
    let (name, rest) = text.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let result = result.split(' ').next()?.parse().ok()?;
    let arguments = arguments.trim_end().strip_suffix(')')?;
    let (mut found, mut depth, mut quoted, mut from) = (Vec::new(), 0, false, 0);
    for (at, byte) in arguments.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth -= 1,
            b',' if !quoted && depth == 0 => {
                found.push(arguments[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(arguments[from..].trim());
    Some(Call { name, arguments: found, result, begun })
}

/// The bytes of all texts in an argument.
fn bytes(argument: &str) -> Vec<u8> {
    assert!(!argument.contains("\"..."), "strace cut a text");
    let digits = argument.split('"').skip(1).step_by(2).flat_map(|text| text.split("\\x").skip(1));
    digits.map(|digits| u8::from_str_radix(digits, 16).expect("two digits")).collect()
}

/// Makes steps of calls.
struct Reader<'r> {
    recording: &'r mut Recording,
    folder: PathBuf,
    disk: Disk,
    open: HashMap<i64, Open>,
    said: Vec<u8>,
}

/// Where a path leads: the folder, the name in it, and what bears the name.
struct Place {
    parent: Inode,
    name: String,
    found: Option<Inode>,
}

impl<'r> Reader<'r> {
    fn new(recording: &'r mut Recording, folder: &Path) -> Self {
        let disk = Disk::at(recording, recording.steps.len()).0;
        let folder = fs::canonicalize(folder).expect("the folder is there");
        Self { recording, folder, disk, open: HashMap::new(), said: Vec::new() }
    }

    fn change(&mut self, change: Change) {
        self.disk.apply(self.recording.steps.len(), &change);
        self.recording.steps.push(Step::Change(change));
    }

    /// Where `path`, from the open folder `base` on, leads below our folder; `None` elsewhere.
    fn place(&self, base: &str, path: &str) -> Option<Place> {
        let path = String::from_utf8(bytes(path)).ok()?;
        let (start, path) = match Path::new(&path).strip_prefix(&self.folder) {
            Ok(below) => (Disk::ROOT, below.to_owned()),
            Err(_) if path.starts_with('/') => return None,
            Err(_) => (self.open.get(&base.parse().ok()?)?.inode, PathBuf::from(path)),
        };
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        let names: Vec<&str> = names.collect();
        let Some((last, before)) = names.split_last() else {
            let place = Place { parent: start, name: String::new(), found: Some(start) };
            return Some(place);
        };
        let step = |at: Inode, name: &&str| self.disk.find(at, name);
        let parent = before.iter().try_fold(start, step)?;
        let found = self.disk.find(parent, last);
        Some(Place { parent, name: (*last).to_owned(), found })
    }

    fn opened(&mut self, call: &Call<'_>, base: &str, path: &str, flags: &str) {
        self.open.remove(&call.result);
        let Some(Place { parent, name, found }) = self.place(base, path) else { return };
        let has = |flag| flags.split('|').any(|set| set == flag);
        if has("O_TMPFILE") {
            return;
        }
        let inode = found.unwrap_or_else(|| {
            let inode = self.disk.next();
            self.change(Change::Make { parent, name, inode, folder: false });
            inode
        });
        if has("O_TRUNC") {
            self.change(Change::Cut { inode, len: 0 });
        }
        let synced = has("O_DSYNC") || has("O_SYNC");
        let open = Open { inode, at: 0, append: has("O_APPEND"), synced };
        self.open.insert(call.result, open);
    }

    /// Bytes written to a descriptor, at its own place if none is named.
    fn wrote(&mut self, call: &Call<'_>, mut bytes: Vec<u8>, at: Option<u64>) {
        let descriptor: i64 = call.arguments[0].parse().unwrap_or(-1);
        bytes.truncate(usize::try_from(call.result).unwrap_or(0));
        let Some(open) = self.open.get(&descriptor).copied() else {
            if descriptor == 1 {
                self.said.extend(bytes);
                while let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.said.drain(..=end).collect();
                    let line = String::from_utf8_lossy(&line[..end]).into_owned();
                    self.recording.steps.push(Step::Said(Said::Line(line)));
                }
            }
            return;
        };
        let end = self.disk.len(open.inode);
        let from = at.unwrap_or(if open.append { end } else { open.at });
        let to = from + bytes.len() as u64;
        self.change(Change::Write {
            inode: open.inode,
            at: from,
            bytes: bytes.into(),
            synced: open.synced,
        });
        if let (None, Some(open)) = (at, self.open.get_mut(&descriptor)) {
            open.at = to;
        }
    }

    fn copied(&mut self, call: &Call<'_>, from: &str, to: &str) {
        let find = |open: &HashMap<i64, Open>, descriptor: &str| {
            descriptor.parse().ok().and_then(|descriptor: i64| open.get(&descriptor).copied())
        };
        let (Some(from_open), Some(open)) = (find(&self.open, from), find(&self.open, to)) else {
            return;
        };
        let (at, count) = (from_open.at as usize, call.result as usize);
        let bytes = self.disk.content(from_open.inode)[at..at + count].to_vec();
        let change =
            Change::Write { inode: open.inode, at: open.at, bytes: bytes.into(), synced: false };
        self.change(change);
        for descriptor in [from, to] {
            let open = descriptor.parse().ok().and_then(|d: i64| self.open.get_mut(&d));
            open.into_iter().for_each(|open| open.at += count as u64);
        }
    }

    fn renamed(&mut self, from: Option<Place>, to: Option<Place>) {
        let (Some(from), Some(to)) = (from, to) else { return };
        let inode = from.found.expect("what was renamed was there");
        let (from, to) = ((from.parent, from.name), (to.parent, to.name));
        self.change(Change::Rename { from, to, inode });
    }

    fn take(&mut self, text: &str, begun: usize) {
        let Some(call) = parse(text, begun) else { return };
        if call.result < 0 {
            return;
        }
        let arguments = call.arguments.clone();
        let descriptor = || arguments[0].parse::<i64>().unwrap_or(-1);
        let number = |at: usize| arguments[at].parse::<u64>().expect("a number");
        let at_once = "AT_FDCWD";
        match (call.name, &*arguments) {
            ("open", [path, flags, ..]) => self.opened(&call, at_once, path, flags),
            ("openat", [base, path, flags, ..]) => self.opened(&call, base, path, flags),
            ("creat", [path, _]) => self.opened(&call, at_once, path, "O_CREAT|O_TRUNC"),
            ("close", _) => drop(self.open.remove(&descriptor())),
            ("fcntl", [_, what, ..]) if !what.starts_with("F_DUPFD") => {}
            ("dup" | "dup2" | "dup3" | "fcntl", _) => {
                match self.open.get(&descriptor()).copied() {
                    Some(open) => self.open.insert(call.result, open),
                    None => self.open.remove(&call.result),
                };
            }
            ("write", [_, text, _]) => self.wrote(&call, bytes(text), None),
            ("writev", [_, texts, _]) => self.wrote(&call, bytes(texts), None),
            ("pwrite64", [_, text, ..]) => self.wrote(&call, bytes(text), Some(number(3))),
            ("pwritev" | "pwritev2", [_, texts, ..]) => {
                self.wrote(&call, bytes(texts), Some(number(3)));
            }
            ("lseek", _) => {
                if let Some(open) = self.open.get_mut(&descriptor()) {
                    open.at = call.result as u64;
                }
            }
            ("ftruncate", _) => {
                if let Some(inode) = self.open.get(&descriptor()).map(|open| open.inode) {
                    self.change(Change::Cut { inode, len: number(1) });
                }
            }
            ("fsync" | "fdatasync", _) => {
                if let Some(inode) = self.open.get(&descriptor()).map(|open| open.inode) {
                    self.change(Change::Sync { inode, begun: call.begun });
                }
            }
            ("rename", [from, to]) => {
                self.renamed(self.place(at_once, from), self.place(at_once, to));
            }
            ("renameat" | "renameat2", [base, from, other, to, ..]) => {
                self.renamed(self.place(base, from), self.place(other, to));
            }
            ("unlink" | "rmdir", [path]) => self.removed(at_once, path),
            ("unlinkat", [base, path, _]) => self.removed(base, path),
            ("mkdir", [path, _]) => self.made(at_once, path),
            ("mkdirat", [base, path, _]) => self.made(base, path),
            ("link", [from, to]) => {
                self.linked(self.place(at_once, from), self.place(at_once, to));
            }
            ("linkat", [base, from, other, to, _]) => {
                self.linked(self.place(base, from), self.place(other, to));
            }
            ("copy_file_range", [from, "NULL", to, "NULL", ..]) => self.copied(&call, from, to),
            ("sendfile", [to, from, "NULL", _]) => self.copied(&call, from, to),
            _ => panic!("a call that cannot be recorded: {text}"),
        }
    }

    fn removed(&mut self, base: &str, path: &str) {
        if let Some(Place { parent, name, .. }) = self.place(base, path) {
            self.change(Change::Remove { parent, name });
        }
    }

    fn made(&mut self, base: &str, path: &str) {
        if let Some(Place { parent, name, .. }) = self.place(base, path) {
            let inode = self.disk.next();
            self.change(Change::Make { parent, name, inode, folder: true });
        }
    }

    fn linked(&mut self, from: Option<Place>, to: Option<Place>) {
        if let (Some(from), Some(to)) = (from, to) {
            let inode = from.found.expect("what was linked was there");
            self.change(Change::Link { parent: to.parent, name: to.name, inode });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_as_strace_writes_them() {
        let text =
            r#"writev(5, [{iov_base="\x61\x2c", iov_len=2}, {iov_base="\x28", iov_len=1}], 2) = 3"#;
        let call = parse(text, 7).unwrap();
        assert_eq!((call.name, call.arguments.len(), call.result, call.begun), ("writev", 3, 3, 7));
        assert_eq!(bytes(call.arguments[1]), b"a,(");
        let failed = parse(r#"open("\x61", O_RDONLY) = -1 ENOENT (No such file or directory)"#, 0);
        assert_eq!(failed.unwrap().result, -1);
        assert!(parse("exit_group(0) = ?", 0).is_none());
    }

    #[test]
    fn every_change_of_a_program_is_recorded() {
        super::super::expect_strace();
        let dir = super::super::scratch();
        let script = "cd \"$0\"; mkdir a; echo one > a/x; echo two >> a/x; ln a/x a/z; mv a/x a/y; \
                      echo gone > b; rm b; sync a/y; echo said";
        let mut program = Command::new("sh");
        // A shell's paths are relative to its folder; so the recording is told nothing of them.
        program.args([
            "-c",
            &script.replace("cd \"$0\"; ", "").replace(" a", " $0/a").replace(" b", " $0/b"),
        ]);
        program.arg(fs::canonicalize(dir.path()).unwrap());
        let mut recording = Recording::default();
        record(&mut recording, dir.path(), &program);
        let (disk, said) = Disk::at(&recording, recording.steps.len());
        assert_eq!(said, [Said::Line("said".into()), Said::Ended]);
        let a = disk.find(Disk::ROOT, "a").unwrap();
        assert_eq!((disk.find(Disk::ROOT, "b"), disk.find(a, "x")), (None, None));
        assert_eq!(disk.find(a, "y"), disk.find(a, "z"));
        assert_eq!(disk.content(disk.find(a, "y").unwrap()), b"one\ntwo\n");
    }
}
