//! `telar cluster` as operators meet it: processes over a folder. Here `transfer`, and what tools
//! say at a node that follows; `commands`: the other commands, `dev`: nodes by one command.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[path = "cluster/commands.rs"]
mod commands;
mod common;
#[path = "cluster/dev.rs"]
mod dev;
#[path = "../../../tests/src/process.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod process;
#[path = "common/tool.rs"]
mod tool;

use common::{said, telar};
use process::Process;
use serde_json::json;

/// Longest wait for what has to come: machines may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A node, open to everybody; killed when it is dropped.
struct Node {
    name: &'static str,
    child: Process,
    bolt: String,
    /// Host and port of HTTP.
    http: String,
}

impl Node {
    fn start(folder: &Path, name: &'static str, role: &str) -> Self {
        let store = format!("dir:{}", folder.join("store").display());
        let role = format!("cluster.role={role}");
        Self::with(folder, name, &["--cluster", &store, "--set", &role])
    }

    /// A node of the stores that these flags name.
    fn with(folder: &Path, name: &'static str, flags: &[&str]) -> Self {
        let mut command = telar();
        command.arg("serve").arg(folder.join(name)).args(["--bolt", "127.0.0.1:0"]);
        command.args(["--http", "127.0.0.1:0", "--set", "mcp.allow_writes=true"]);
        command.args(["--no-auth", "--node", name]).args(flags);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Process::start(&mut command).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut find = |what: &str| {
            let found = lines.find_map(|line| Some(line.strip_prefix(what)?.to_owned()));
            found.expect("the node starts")
        };
        let (bolt, http) = (find("Bolt at "), find("HTTP at http://"));
        Self { name, child, bolt, http }
    }

    fn run(&self, database: &str, statement: &str) -> String {
        run(&self.bolt, database, statement)
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

/// Everything that the shell says of a statement at a server.
fn run(bolt: &str, database: &str, statement: &str) -> String {
    let arguments = ["shell", bolt, "--database", database, "-c", statement];
    said(&telar().args(arguments).output().unwrap())
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

/// Whether `telar cluster transfer` succeeds, and all that it says.
fn transfer(folder: &Path, to: &str, chosen: &[&str]) -> (bool, String) {
    let store = format!("dir:{}", folder.join("store").display());
    let output = telar().args(["cluster", "transfer", &store, to]).args(chosen).output().unwrap();
    (output.status.success(), said(&output))
}

/// Waits until a transfer succeeds, or is refused, and says all of `wanted`. Before it is tried
/// again, `restore` brings back who led: a node may not have its copy yet, and one whose disk
/// stalls for some seconds seems silent, or loses what it leads.
#[track_caller]
fn transfers(
    folder: &Path,
    (to, chosen): (&str, &[&str]),
    (succeeds, wanted): (bool, &[&str]),
    restore: impl Fn(),
) {
    eventually("a transfer", || {
        let (done, said) = transfer(folder, to, chosen);
        if done == succeeds && wanted.iter().all(|part| said.contains(*part)) {
            return Ok(());
        }
        restore();
        Err(format!("{to} {chosen:?}: {said}"))
    });
}

/// A statement that only a leader runs.
const MAKE: &str = "CREATE (:Thing) RETURN 'made' AS done";

/// Waits until a node commits to a database.
#[track_caller]
fn commits(node: &Node, database: &str) {
    eventually("a commit", || {
        let said = node.run(database, MAKE);
        if said.contains("made") { Ok(()) } else { Err(said) }
    });
}

/// The same for a node that was made leader. If another one leads by now, it hands over once more.
#[track_caller]
fn leads(folder: &Path, node: &Node, database: &str) {
    eventually("a commit of the new leader", || {
        let said = node.run(database, MAKE);
        if said.contains("made") {
            return Ok(());
        }
        let (_, moved) = transfer(folder, node.name, &["--database", database]);
        Err(said + &moved)
    });
}

#[test]
fn an_operator_chooses_who_leads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // The first voter leads what there is.
    let a = Node::start(path, "a", "voter");
    commits(&a, "telar");
    let b = Node::start(path, "b", "voter");
    let c = Node::start(path, "c", "replica");
    a.run("system", "CREATE DATABASE shop");
    eventually("a leader of shop", || {
        let said = |node: &Node| node.run("shop", "CREATE (:Item) RETURN 'made' AS done");
        let found = [&a, &b].map(said);
        if found.iter().any(|said| said.contains("made")) { Ok(()) } else { Err(found.concat()) }
    });
    let all = ["telar", "shop"];
    let to_a = || _ = transfer(path, "a", &["--from", "b"]);
    let to_b = || all.iter().for_each(|name| _ = transfer(path, "b", &["--database", name]));

    // One database, then all of a node; `telar` first, so that one of the two may be there already.
    let telar: (&str, &[&str]) = ("b", &["--database", "telar"]);
    transfers(path, telar, (true, &["b leads telar, as a did"]), to_a);
    leads(path, &b, "telar");
    eventually("the refusal of a", || {
        let said = a.run("telar", MAKE);
        if said.contains("the node 'b' at") {
            return Ok(());
        }
        if said.contains("made") {
            to_b();
        }
        Err(said)
    });
    transfers(path, telar, (true, &["b leads telar already"]), || {});
    to_b();
    let both = all.map(|name| format!("a leads {name}, as b did"));
    transfers(path, ("a", &["--from", "b"]), (true, &both.each_ref().map(|text| &**text)), to_b);
    all.iter().for_each(|name| leads(path, &a, name));

    // What cannot be is refused, and nothing changes.
    let refused = |to: &str, chosen: &[&str], wanted: &str| {
        transfers(path, (to, chosen), (false, &[wanted]), to_a);
    };
    refused("x", &["--from", "a"], "the cluster 'telar' has no node 'x', but a, b, c");
    refused("b", &["--from", "x"], "the cluster 'telar' has no node 'x', but a, b, c");
    refused("b", &["--database", "x"], "there is no database 'x', but shop, telar");
    refused("a", &["--from", "a"], "'a' cannot hand over to itself");
    refused("c", &["--from", "a"], "the node 'c' is a replica (cluster.role): it never leads");
    refused("b", &["--from", "a", "--name", "x"], "there is no cluster 'x' in this store");
    refused("b", &[], "required");
    refused("b", &["--from", "a", "--database", "telar"], "cannot be used with");
    refused("a", &["--from", "b"], "the node 'b' leads no database");
    b.signal("-STOP");
    // Seen as silent by who looks now, and for some seconds not by the leader.
    refused("b", &["--from", "a"], "the node 'b' is silent: start it first");
    b.signal("-CONT");
    all.iter().for_each(|name| commits(&a, name));
    drop(c);
    drop((a, b));
}

#[test]
fn tools_at_a_node_that_follows_read_and_say_who_leads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let a = Node::start(path, "a", "voter");
    commits(&a, "telar");
    let b = Node::start(path, "b", "voter");
    let query = |node: &Node, tool: &str, text: &str| {
        tool::call(&node.http, tool, json!({ "query": text }))
    };
    let things = |node: &Node| -> Result<u64, String> {
        let count = "MATCH (t:Thing) RETURN 'things ' + toString(count(t)) AS found";
        let said = query(node, "read_query", count);
        let found = said.split("things ").nth(1).unwrap_or_default();
        let digits: String = found.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().map_err(|_| said)
    };
    // Waits for an answer to a write. If the disk of a stalls, b may lead: it hands back.
    let writes = |node: &Node, wanted: &[&str]| {
        eventually("an answer to a write", || {
            let said = query(node, "write_query", "CREATE (:Thing)");
            if wanted.iter().all(|part| said.contains(*part)) {
                return Ok(());
            }
            let (_, moved) = transfer(path, "a", &["--database", "telar"]);
            Err(said + &moved)
        });
    };
    let at_least = |wanted: u64| {
        eventually("commits at b", || match things(&b)? {
            found if found >= wanted => Ok(()),
            found => Err(format!("{found} of {wanted}")),
        });
    };
    at_least(1);
    writes(&b, &["Neo.ClientError.Cluster.NotALeader", "the node 'a' at"]);
    let before = eventually("what is there", || things(&a));
    writes(&a, &["nodes_created"]);
    at_least(before + 1);
    // Tools of several statements, one of which is a command, read there, too.
    let schema = tool::call(&b.http, "schema", json!({}));
    assert!(schema.contains("Thing"), "{schema}");
    let changes = tool::call(&b.http, "changes", json!({}));
    assert!(changes.contains("cursor"), "{changes}");
}
