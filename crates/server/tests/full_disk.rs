//! Nodes of a cluster, and a copy of another server, whose disks are full, as operators meet them:
//! processes.
//!
//! A limit on the size of files (`ulimit -f`) makes a write past it fail, as a full disk does. It
//! is set for a node that runs and whose local log is longer already; the slots of small commits
//! are shorter than that. `tests/tests/full_disk.rs` has what can only be had with failpoints.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

mod common;
#[path = "../../../tests/src/process.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod process;
#[path = "common/tool.rs"]
#[allow(dead_code, reason = "of this file only the request is used")]
mod tool;

use common::{said, telar};
use process::Process;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

/// Longest wait for what has to come: machines may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// Bytes that a file of a full disk may have.
const FULL_AT: u64 = 64 << 10;

/// A commit whose record is longer than that, and one that is shorter.
const FILL: &str = "UNWIND range(1, 5000) AS i \
                    CREATE (:Filler {name: 'a name of some length ' + toString(i)}) \
                    WITH count(*) AS filled RETURN 'well done' AS answer";
const MAKE: &str = "CREATE (:Thing) RETURN 'well done' AS answer";

/// A node, open to everybody; killed when it is dropped.
struct Node {
    name: &'static str,
    child: Process,
    bolt: String,
    http: String,
}

impl Node {
    fn start(folder: &Path, name: &'static str, role: &str) -> Self {
        let store = format!("dir:{}", folder.join("store").display());
        let role = format!("cluster.role={role}");
        Self::serve(folder, name, &["--cluster", &store, "--node", name, "--set", &role])
    }

    fn serve(folder: &Path, name: &'static str, arguments: &[&str]) -> Self {
        // SIGXFSZ is ignored, so that a write fails instead of the process.
        let script = "trap '' XFSZ; exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_telar"), "serve"]);
        command.arg(folder.join(name)).args(["--bolt", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
        command.arg("--no-auth").args(arguments);
        command.env_remove("TELAR_CONFIG").stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Process::start(&mut command).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut find = |what: &str| {
            let found = lines.find_map(|line| Some(line.strip_prefix(what)?.to_owned()));
            found.expect("the server starts")
        };
        let (bolt, http) = (find("Bolt at "), find("HTTP at "));
        // A server whose output nobody takes any more ends.
        std::thread::spawn(move || lines.for_each(drop));
        Self { name, child, bolt, http }
    }

    /// Runs a statement over HTTP that must see the commits of `bookmarks`.
    fn query(&self, statement: &str, bookmarks: &Value) -> String {
        let request = json!({ "statement": statement, "bookmarks": bookmarks });
        let address = self.http.trim_start_matches("http://").trim_end_matches('/');
        tool::post(address, "/db/telar/query/v2", &[], &request)
    }

    fn run(&self, statement: &str) -> String {
        said(&telar().args(["shell", &self.bolt, "-c", statement]).output().unwrap())
    }

    /// Fills its disk, or makes room on it.
    fn set_full(&self, full: bool) {
        let usual = getrlimit(Resource::Fsize);
        let current = if full { Some(FULL_AT) } else { usual.current };
        let limit = Rlimit { current, maximum: usual.maximum };
        let id = Pid::from_raw(self.child.id().cast_signed());
        prlimit(id, Resource::Fsize, limit).unwrap();
    }

    /// The number of things that it shows.
    fn things(&self) -> Result<u64, String> {
        let said = self.run("MATCH (t:Thing) RETURN 'things ' + toString(count(t)) AS found");
        let found = said.split("things ").nth(1).unwrap_or_default();
        let digits: String = found.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().map_err(|_| said)
    }

    /// Waits until it shows so many things.
    #[track_caller]
    fn shows(&self, wanted: u64) {
        eventually("the things", || match self.things()? {
            found if found == wanted => Ok(()),
            found => Err(format!("{found} of {wanted} at {}", self.name)),
        });
    }

    /// Waits until it commits.
    #[track_caller]
    fn commits(&self, statement: &str) {
        eventually("a commit", || {
            let said = self.run(statement);
            if said.contains("well done") { Ok(()) } else { Err(said) }
        });
    }

    /// Waits until it says that a node, and no other, is held up, or that none is.
    #[track_caller]
    fn says(&self, held_up: Option<&Self>) {
        eventually("the trouble", || {
            let said = self.run("SHOW SERVERS YIELD name, message");
            let lines: Vec<_> = said.lines().filter(|line| line.contains("held up")).collect();
            let right = match (held_up, &*lines) {
                (None, []) => true,
                // The file that cannot be written is one of it.
                (Some(node), [line]) => line.contains(&format!("/{}/dbms/", node.name)),
                _ => false,
            };
            if right { Ok(()) } else { Err(said) }
        });
    }
}

#[track_caller]
fn eventually<T>(what: &str, mut found: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match found() {
            Ok(found) => return found,
            Err(why) => assert!(begun.elapsed() < PATIENCE, "{what}: {why}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Two nodes that show one thing and whose local logs are long; the first leads.
fn two(folder: &Path, role: &str) -> [Node; 2] {
    let a = Node::start(folder, "a", "voter");
    a.commits(FILL);
    a.commits(MAKE);
    let b = Node::start(folder, "b", role);
    b.shows(a.things().unwrap());
    for node in ["a", "b"] {
        let log = folder.join(node).join("dbms/databases/telar-0/wal");
        let bytes = fs::read_dir(log).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
        assert!(bytes.max() > Some(FULL_AT), "the log of {node} is too short");
    }
    [a, b]
}

#[test]
fn a_follower_whose_disk_is_full_is_read_and_goes_on_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = two(folder.path(), "replica");
    let before = b.things().unwrap();
    b.set_full(true);
    let bookmarks = eventually("a commit over HTTP", || {
        let answer = a.query(MAKE, &json!([]));
        let (_, body) = answer.split_once("\r\n\r\n").ok_or(&*answer)?;
        let body: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
        if body["bookmarks"].is_array() { Ok(body["bookmarks"].clone()) } else { Err(answer) }
    });
    let late = b.query("RETURN 1", &bookmarks);
    assert!(late.contains("DatabaseUnavailable") && late.contains("held up"), "{late}");
    a.says(Some(&b));
    assert_eq!(b.things(), Ok(before));
    let store = format!("dir:{}", folder.path().join("store").display());
    let status = said(&telar().args(["cluster", "status", &store]).output().unwrap());
    assert!(status.contains("b: a copy does not follow, telar-0: held up"), "{status}");
    assert_eq!(b.things(), Ok(before));
    b.set_full(false);
    b.shows(a.things().unwrap());
    a.says(None);
}

#[test]
fn a_leader_whose_disk_is_full_hands_over_and_comes_back_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = two(folder.path(), "voter");
    let before = a.things().unwrap();
    a.set_full(true);
    // Once: its slot is won, and nobody is told so. If b leads already, it is refused.
    a.run(MAKE);
    b.commits(MAKE);
    b.says(Some(&a));
    let after = b.things().unwrap();
    assert!((before + 1..=before + 2).contains(&after), "{after} after {before}");
    a.set_full(false);
    a.shows(after);
    b.says(None);
    // It may lead again.
    let store = format!("dir:{}", folder.path().join("store").display());
    eventually("a commit of it", || {
        let moved = telar().args(["cluster", "transfer", &store, "a", "--from", "b"]).output();
        let answers = said(&moved.unwrap()) + &a.run(MAKE);
        if answers.contains("well done") { Ok(()) } else { Err(answers) }
    });
}

#[test]
fn a_copy_of_another_server_is_read_and_goes_on_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let source = Node::serve(folder.path(), "source", &[]);
    source.commits(MAKE);
    let copy = Node::serve(folder.path(), "copy", &["--follow", &source.http]);
    copy.shows(1);
    // Its own log, not that of the source, has this.
    source.commits(FILL);
    source.commits(MAKE);
    copy.shows(2);
    copy.set_full(true);
    source.commits(MAKE);
    let state = "SHOW DATABASES YIELD name, statusMessage";
    eventually("the trouble", || match copy.run(state) {
        said if said.contains("os error 27") => Ok(()),
        said => Err(said),
    });
    assert_eq!(copy.things(), Ok(2));
    source.commits(MAKE);
    copy.set_full(false);
    copy.shows(4);
    eventually("the end of the trouble", || match copy.run(state) {
        said if said.contains("nothing behind") && !said.contains("os error") => Ok(()),
        said => Err(said),
    });
}
