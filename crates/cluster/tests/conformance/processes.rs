//! Several processes on one `dir:`, killed at any moment.
//!
//! A child process is this test binary again, told by the environment to be the test [`child`]
//! alone. It appends groups, counts, and replaces an image until it is killed; each thing that it
//! was told to be done goes as a line into a file of its own. After all kills the store is whole
//! and has all of these.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::store::{Append, Appender, PutIf, Reader, Stores, Sweeper, Version};
use tempfile::TempDir;

use crate::{LIMIT, name, open_folder, range};

const STORE: &str = "TELAR_CLUSTER_TEST_STORE";
const DONE: &str = "TELAR_CLUSTER_TEST_DONE";
const IMAGE_BYTES: usize = 3 << 16;
/// Kills, and things of each kind that have been acknowledged meanwhile, at least.
const KILLS: u64 = 40;
const DONE_MIN: usize = 21;
/// Longest wait for them: machines may be busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// A child process; killed when it is dropped, by a test that fails as well.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(store: &Path, done: &Path) -> Killed {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::child"]).env(STORE, store).env(DONE, done);
    Killed(command.stdout(Stdio::null()).spawn().unwrap())
}

#[test]
fn child() {
    let (Some(store), Some(done)) = (std::env::var_os(STORE), std::env::var_os(DONE)) else {
        return;
    };
    let stores = open_folder(store.as_ref());
    work(&stores, File::create(done).unwrap());
}

/// Works until the process is killed, or a minute at most: its parent may have been killed.
fn work(stores: &Stores, mut done: File) {
    let (stream, key) = (name("graph"), name("counter"));
    let appender = Appender::new(&*stores.log, stream.clone()).unwrap();
    let mut reader = Reader::new(&*stores.log, stream.clone(), 1);
    while !reader.read(usize::MAX, Duration::ZERO).unwrap().is_empty() {}
    let mut next = reader.next();
    let images = stores.images.as_ref().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let mut sweeper = Sweeper::default();
    for turn in 0_u64.. {
        if Instant::now() > end {
            return;
        }
        let text = format!("{:016x}.{turn};", appender.writer());
        // Every fourth in parts.
        let times = if turn % 4 == 0 { 3 * LIMIT / text.len() } else { 1 };
        let range = range(next, next + 1 + turn % 3);
        let patience = Duration::from_secs(10);
        match appender.append(range, 1, 0, text.repeat(times).as_bytes(), patience).unwrap() {
            Append::Won => {
                writeln!(done, "group {next} {text}").unwrap();
                next = range.next();
            }
            Append::Lost(group) => next = group.range.next(),
            Append::Unknown(cause) => panic!("{cause}"),
        }
        let found = stores.coordination.get(&key).unwrap();
        let (version, mut value) =
            found.map_or((Version::ABSENT, Vec::new()), |found| (found.version, found.value));
        value.extend_from_slice(text.as_bytes());
        if let PutIf::Won(_) = stores.coordination.put_if(&key, version, &value).unwrap() {
            writeln!(done, "count 0 {text}").unwrap();
        }
        if turn % 8 == 0 {
            let content = vec![turn as u8; IMAGE_BYTES];
            images.put(&name("image"), &mut Cursor::new(content)).unwrap();
        }
        if turn % 16 == 7 {
            sweeper.sweep(&*stores.log, &stream).unwrap();
        }
    }
}

/// Whole lines in the files of the children: one that a kill broke off was not acknowledged.
fn lines(done: &[PathBuf]) -> Vec<String> {
    let mut lines = Vec::new();
    for text in done.iter().filter_map(|file| fs::read_to_string(file).ok()) {
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        lines.extend(whole.lines().map(str::to_owned));
    }
    lines
}

/// Groups and counts among the lines.
fn count(lines: &[String]) -> [usize; 2] {
    ["group ", "count "].map(|kind| lines.iter().filter(|line| line.starts_with(kind)).count())
}

/// The log as it is: the text of each group by its slot. Checks that it has no gap and no damage.
fn read_log(stores: &Stores) -> BTreeMap<u64, String> {
    let mut reader = Reader::new(&*stores.log, name("graph"), 1);
    let (mut groups, mut next) = (BTreeMap::new(), 1);
    loop {
        let found = reader.read(usize::MAX, Duration::ZERO).unwrap();
        if found.is_empty() {
            return groups;
        }
        for group in found {
            assert_eq!(group.range.first(), next);
            next = group.range.next();
            let payload = String::from_utf8(group.payload).unwrap();
            let text = payload.split_inclusive(';').next().unwrap();
            assert!(payload.len().is_multiple_of(text.len()) && payload.starts_with(text));
            groups.insert(group.range.first(), text.to_owned());
        }
    }
}

#[test]
fn killed_processes_leave_a_whole_store_with_all_that_was_acknowledged() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store");
    let mut done: Vec<_> = (0..3).map(|at| folder.path().join(format!("done-{at}"))).collect();
    let mut children: Vec<Killed> = done.iter().map(|file| start(&path, file)).collect();
    let stores = open_folder(&path);
    let (mut before, mut random) = (BTreeMap::new(), 12345_u64);
    let begun = Instant::now();
    for kill in 0_u64.. {
        let acknowledged = count(&lines(&done));
        if kill >= KILLS && acknowledged.iter().all(|count| *count >= DONE_MIN) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "after {kill} kills: {acknowledged:?}");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Where disks are slow, children live longer in the end.
        let longest = 60 + 10 * kill.saturating_sub(KILLS);
        thread::sleep(Duration::from_millis(5 + (random >> 33) % longest));
        let file = folder.path().join(format!("done-{}", 3 + kill));
        // The old one is killed first.
        drop(children.swap_remove(usize::try_from((random >> 40) % 3).unwrap()));
        children.push(start(&path, &file));
        done.push(file);
        let now = read_log(&stores);
        assert!(before.iter().all(|(slot, text)| now.get(slot) == Some(text)), "changed");
        before = now;
    }
    drop(children);
    let groups = read_log(&stores);
    let counter = stores.coordination.get(&name("counter")).unwrap();
    let counted = String::from_utf8(counter.map(|found| found.value).unwrap_or_default()).unwrap();
    let marks: Vec<&str> = counted.split_inclusive(';').collect();
    let counted: BTreeSet<&str> = marks.iter().copied().collect();
    assert_eq!(counted.len(), marks.len(), "something was counted twice");
    let lines = lines(&done);
    for line in &lines {
        let [kind, slot, text] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if kind == "group" {
            assert_eq!(groups.get(&slot.parse().unwrap()).map(String::as_str), Some(text));
        } else {
            assert!(counted.contains(text), "{text} was counted, and is not there");
        }
    }
    let mut image = Vec::new();
    if let Some(mut found) = stores.images.as_ref().unwrap().get(&name("image")).unwrap() {
        found.read_to_end(&mut image).unwrap();
        assert_eq!(image.len(), IMAGE_BYTES);
        assert!(image.iter().all(|byte| *byte == image[0]));
    }
    Sweeper::default().sweep(&*stores.log, &name("graph")).unwrap();
    assert_eq!(Sweeper::default().sweep(&*stores.log, &name("graph")).unwrap(), 0);
    assert_eq!(read_log(&stores), groups);
    println!("{} groups, acknowledged {:?}", groups.len(), count(&lines));
}
