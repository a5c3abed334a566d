//! `telar cluster transfer` as operators meet it: processes over a folder.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

mod common;
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
        let mut command = telar();
        command.arg("serve").arg(folder.join(name)).args(["--bolt", "127.0.0.1:0"]);
        command.args(["--http", "127.0.0.1:0", "--set", "mcp.allow_writes=true"]);
        command.args(["--no-auth", "--cluster", &store, "--node", name, "--set", &role]);
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
        let arguments = ["shell", &self.bolt, "--database", database, "-c", statement];
        said(&telar().args(arguments).output().unwrap())
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
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

/// Whether `telar cluster transfer` succeeds, and all that it says.
fn transfer(folder: &Path, to: &str, chosen: &[&str]) -> (bool, String) {
    let store = format!("dir:{}", folder.join("store").display());
    let output = telar().args(["cluster", "transfer", &store, to]).args(chosen).output().unwrap();
    (output.status.success(), said(&output))
}

/// As [`transfer`], until it succeeds: a node may not have its copy yet.
#[track_caller]
fn transferred(folder: &Path, to: &str, chosen: &[&str]) -> String {
    eventually("a transfer", || match transfer(folder, to, chosen) {
        (true, said) => Ok(said),
        (false, said) => Err(said),
    })
}

/// Waits until a node commits to a database.
#[track_caller]
fn commits(node: &Node, database: &str) {
    eventually("a commit", || {
        let said = node.run(database, "CREATE (:Thing) RETURN 'made' AS done");
        if said.contains("made") { Ok(()) } else { Err(said) }
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

    // One database, then all of a node; `telar` first, so that one of the two may be there already.
    let said = transferred(path, "b", &["--database", "telar"]);
    assert!(said.contains("b leads telar, as a did"), "{said}");
    commits(&b, "telar");
    eventually("the refusal of a", || {
        let said = a.run("telar", "CREATE (:Thing)");
        if said.contains("the node 'b' at") { Ok(()) } else { Err(said) }
    });
    let said = transferred(path, "b", &["--database", "telar"]);
    assert!(said.contains("b leads telar already"), "{said}");
    transferred(path, "b", &["--database", "shop"]);
    let said = transferred(path, "a", &["--from", "b"]);
    assert!(all.iter().all(|name| said.contains(&format!("a leads {name}, as b did"))), "{said}");
    all.iter().for_each(|name| commits(&a, name));

    // What cannot be is refused, and nothing changes.
    let refused = |to: &str, chosen: &[&str], wanted: &str| {
        let (done, said) = transfer(path, to, chosen);
        assert!(!done && said.contains(wanted), "{to} {chosen:?}: {said}");
    };
    refused("x", &["--from", "a"], "the cluster 'telar' has no node 'x', but a, b, c");
    refused("b", &["--from", "x"], "the cluster 'telar' has no node 'x', but a, b, c");
    refused("b", &["--database", "x"], "there is no database 'x', but shop, telar");
    refused("a", &["--from", "b"], "the node 'b' leads no database");
    refused("a", &["--from", "a"], "'a' cannot hand over to itself");
    refused("c", &["--from", "a"], "the node 'c' is a replica (cluster.role): it never leads");
    refused("b", &["--from", "a", "--name", "x"], "there is no cluster 'x' in this store");
    refused("b", &[], "required");
    refused("b", &["--from", "a", "--database", "telar"], "cannot be used with");
    b.signal("-STOP");
    // Seen as silent by who looks now, and for some seconds not by the leader.
    refused("b", &["--from", "a"], "the node 'b' is silent: start it first");
    b.signal("-CONT");
    all.iter().for_each(|name| commits(&a, name));
    assert_eq!(a.name, "a");
    drop(c);
    drop((a, b));
}

#[test]
fn tools_at_a_node_that_follows_read_and_say_who_leads() {
    let folder = tempfile::tempdir().unwrap();
    let a = Node::start(folder.path(), "a", "voter");
    commits(&a, "telar");
    let b = Node::start(folder.path(), "b", "voter");
    let query = |node: &Node, tool: &str, text: &str| {
        tool::call(&node.http, tool, json!({ "query": text }))
    };
    let count = "MATCH (t:Thing) RETURN 'things ' + toString(count(t))";
    eventually("the copy of b", || {
        let said = query(&b, "read_query", count);
        if said.contains("things 1") { Ok(()) } else { Err(said) }
    });
    let refused = query(&b, "write_query", "CREATE (:Thing)");
    assert!(refused.contains("Neo.ClientError.Cluster.NotALeader"), "{refused}");
    assert!(refused.contains("the node 'a' at"), "{refused}");
    let written = query(&a, "write_query", "CREATE (:Thing)");
    assert!(written.contains("nodes_created"), "{written}");
    eventually("the commit at b", || {
        let said = query(&b, "read_query", count);
        if said.contains("things 2") { Ok(()) } else { Err(said) }
    });
    // Tools of several statements, one of which is a command, read there, too.
    let schema = tool::call(&b.http, "schema", json!({}));
    assert!(schema.contains("Thing"), "{schema}");
    let changes = tool::call(&b.http, "changes", json!({}));
    assert!(changes.contains("cursor"), "{changes}");
}
