//! `telar serve --follow` and `telar promote` as operators meet them: processes, one of which is
//! killed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

mod common;
#[path = "../../../tests/src/process.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod process;

use common::{said, telar};
use process::Process;

/// Longest wait for what has to come: machines may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

struct Server {
    child: Process,
    bolt: String,
    http: String,
}

impl Server {
    fn start(path: &Path, arguments: &[&str]) -> Self {
        let mut command = telar();
        command.arg("serve").arg(path).args(["--bolt", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
        command.arg("--no-auth").args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Process::start(&mut command).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut find = |what: &str| {
            let found = lines.find_map(|line| Some(line.strip_prefix(what)?.to_owned()));
            found.expect("the server starts")
        };
        let (bolt, http) = (find("Bolt at "), find("HTTP at "));
        Self { child, bolt, http }
    }

    fn run(&self, statement: &str) -> String {
        said(&telar().args(["shell", &self.bolt, "-c", statement]).output().unwrap())
    }

    #[track_caller]
    fn eventually(&self, statement: &str, wanted: &str) {
        let begun = Instant::now();
        loop {
            let found = self.run(statement);
            if found.contains(wanted) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{statement}: {found}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Tells it to stop, and waits.
    fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

const COUNT: &str = "MATCH (n:Node) RETURN 'nodes ' + toString(count(n)) AS nodes";

#[test]
fn a_follower_that_is_killed_goes_on_and_is_promoted_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let (original, copy) = (folder.path().join("a.telar"), folder.path().join("b.telar"));
    let source = Server::start(&original, &[]);
    source
        .run("UNWIND range(1, 50000) AS id CREATE (:Node {id: id, text: 'text ' + toString(id)})");
    // Killed while it fetches, and again while it follows.
    for wait in [30, 120, 400] {
        let follower = Server::start(&copy, &["--follow", &source.http]);
        std::thread::sleep(Duration::from_millis(wait));
        drop(follower);
    }
    let follower = Server::start(&copy, &["--follow", &source.http]);
    follower.eventually(COUNT, "nodes 50000");
    source.run("CREATE (:Node)");
    follower.eventually(COUNT, "nodes 50001");
    assert!(follower.run("CREATE (:Node)").contains("telar promote"));
    drop(follower);
    let follower = Server::start(&copy, &["--follow", &source.http]);
    source.run("CREATE (:Node)");
    follower.eventually(COUNT, "nodes 50002");

    let promote = || said(&telar().arg("promote").arg(&copy).output().unwrap());
    assert!(promote().contains("a server runs there"));
    follower.stop();
    source.stop();
    let refused = telar().arg("serve").arg(&copy).output().unwrap();
    assert!(!refused.status.success() && said(&refused).contains("telar promote"));
    let promoted = promote();
    assert!(promoted.contains("telar at commit"), "{promoted}");
    let server = Server::start(&copy, &[]);
    server.run("CREATE (:Node)");
    server.eventually(COUNT, "nodes 50003");
    server.stop();
    let checked = telar().arg("check").arg(&copy).output().unwrap();
    assert!(checked.status.success(), "{}", said(&checked));
}
