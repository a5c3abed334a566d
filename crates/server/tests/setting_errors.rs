//! Errors that a setting causes name it, so that whoever meets one knows what to change.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
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

/// Settings that cause no error that anybody could be told: figures that change how fast or how
/// much, peers that are hung up on without a word, places that are named by themselves.
const SILENT: [&str; 31] = [
    "store.path",
    "store.durability",
    "store.memory_limit",
    "store.huge_pages",
    "store.log_archive",
    "store.once_window",
    "store.isolation",
    "bolt.advertised",
    "http.advertised",
    "bolt.newcomers",
    "bolt.login_timeout",
    "bolt.idle_timeout",
    "http.enabled",
    "http.newcomers",
    "http.header_timeout",
    "http.stall_timeout",
    "http.open_metrics",
    "limits.threads",
    "limits.write_wait",
    "mcp.answer_rows",
    "log.level",
    "log.format",
    "log.queries",
    "log.slow",
    "log.parameters",
    "shutdown.grace",
    "tls.required",
    "cluster.role",
    "follow.keep",
    "cluster.keep",
    "cluster.follower_reads",
];

const FOREVER: &str = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b WITH a, b \
                       WHERE a + b < 0 RETURN count(*) AS n";

/// A server in memory whose settings are at their defaults but for some.
struct Server {
    _child: Process,
    bolt: String,
    http: String,
}

impl Server {
    fn start(settings: &[&str]) -> Self {
        let mut command = telar();
        command.args(["serve", "--memory", "--bolt", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
        if !settings.iter().any(|setting| setting.starts_with("auth.")) {
            command.arg("--no-auth");
        }
        settings.iter().for_each(|setting| _ = command.args(["--set", setting]));
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Process::start(&mut command).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut find = |what: &str| {
            let found = lines.find_map(|line| Some(line.strip_prefix(what)?.to_owned()));
            found.unwrap_or_else(|| panic!("{settings:?}: the server starts"))
        };
        let (bolt, http) = (find("Bolt at "), find("HTTP at http://"));
        Self { _child: child, bolt, http }
    }

    fn shell(&self) -> Command {
        let mut command = telar();
        command.args(["shell", &self.bolt]);
        command
    }

    /// What the shell says of a statement.
    fn run(&self, statement: &str) -> String {
        said(&self.shell().args(["-c", statement]).output().unwrap())
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.http).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a request for a statement on a connection; `announced` bytes of a body are to come.
    fn send(stream: &mut TcpStream, path: &str, body: &str, announced: usize) {
        let head = format!("POST /db/telar/query/v2{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n");
        let head = format!("{head}Content-Type: application/json\r\nContent-Length: {announced}");
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
    }

    fn statement(stream: &mut TcpStream, path: &str, statement: &str) {
        let body = format!("{{\"statement\": \"{statement}\"}}");
        Self::send(stream, path, &body, body.len());
    }

    /// What comes until there is an error in it, or nothing comes any more.
    fn receive(stream: &mut TcpStream) -> String {
        let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let read = stream.read(&mut buffer).unwrap_or(0);
            answer.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&answer);
            if read == 0 || text.ends_with('}') || text.ends_with("0\r\n\r\n") {
                return text.into_owned();
            }
        }
    }

    fn ask(&self, path: &str, statement: &str) -> String {
        let mut stream = self.connect();
        Self::statement(&mut stream, path, statement);
        Self::receive(&mut stream)
    }
}

/// What a server says that does not start.
fn start(arguments: &[&str]) -> String {
    let free = ["serve", "--bolt", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    let output = telar().args(free).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    said(&output)
}

/// A statement per setting that it makes fail, sent by the shell.
fn by_statement() -> Vec<(&'static str, String)> {
    let sorted = "UNWIND range(1, 300000) AS x WITH x, toString(x) AS t ORDER BY t RETURN count(*)";
    let collected = "UNWIND range(1, 300000) AS x RETURN size(collect(x))";
    let long = format!("RETURN '{}'", "x".repeat(120_000));
    [
        ("limits.statement_timeout", &["limits.statement_timeout=50ms"][..], FOREVER),
        ("limits.statement_memory", &["limits.statement_memory=1MiB"], collected),
        ("limits.memory", &["limits.memory=4MiB"], collected),
        ("limits.temporary_folder", &["limits.statement_memory=1MiB"], sorted),
        (
            "limits.temporary_folder",
            &["limits.statement_memory=1MiB", "limits.temporary_folder=/dev/null/at"],
            sorted,
        ),
        ("import.folder", &[], "LOAD CSV FROM 'file:///x.csv' AS row RETURN row"),
        ("import.folder", &["import.folder=/tmp"], "LOAD CSV FROM '../x.csv' AS row RETURN row"),
        ("import.folder", &["import.folder=/dev/null"], "LOAD CSV FROM 'x.csv' AS row RETURN row"),
        ("export.folder", &[], "COPY (RETURN 1 AS x) TO 'x.parquet'"),
        ("export.folder", &["export.folder=/dev/null"], "COPY (RETURN 1 AS x) TO 'x.csv'"),
        ("backup.folder", &[], "CALL telar.backup('monday')"),
        ("store.retention", &["store.retention=off"], "AT TIMESTAMP 0 MATCH (n) RETURN n"),
        ("store.memory", &[], "CREATE DATABASE other; STOP DATABASE other"),
        ("bolt.message_bytes", &["bolt.message_bytes=70KiB"], &long),
    ]
    .into_iter()
    .map(|(setting, settings, statement)| {
        let server = Server::start(settings);
        server.run("CREATE (:A)");
        (setting, server.run(statement))
    })
    .collect()
}

/// What takes more than one client to happen.
fn by_clients() -> Vec<(&'static str, String)> {
    let mut found = Vec::new();

    let server = Server::start(&["bolt.connections=1"]);
    let begin = || {
        let mut shell = server.shell();
        Process::start(shell.stdin(Stdio::piped()).stdout(Stdio::null())).unwrap()
    };
    let mut first = begin();
    let begun = Instant::now();
    let refused = loop {
        let said = server.run("RETURN 1");
        if said.contains("error") || begun.elapsed() > Duration::from_secs(60) {
            break said;
        }
        // It was this one that came second.
        if first.try_wait().unwrap().is_some() {
            first = begin();
        }
    };
    found.extend([("bolt.connections", refused.clone()), ("limits.user_share", refused)]);
    drop(first);

    let server = Server::start(&[]);
    for (setting, head) in [
        ("http.allowed_hosts", "Host: elsewhere.example"),
        ("http.allowed_origins", "Host: 127.0.0.1\r\nOrigin: https://elsewhere.example"),
    ] {
        let mut page = server.connect();
        page.write_all(format!("GET / HTTP/1.1\r\n{head}\r\n\r\n").as_bytes()).unwrap();
        found.push((setting, Server::receive(&mut page)));
    }

    let server = Server::start(&["http.connections=1", "http.transaction_idle=50ms"]);
    let mut first = server.connect();
    Server::statement(&mut first, "/tx", "RETURN 1");
    let begun = Server::receive(&mut first);
    found.push(("http.connections", server.ask("", "RETURN 1")));
    std::thread::sleep(Duration::from_millis(500));
    let id = begun.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    Server::statement(&mut first, &format!("/tx/{id}"), "RETURN 1");
    found.push(("http.transaction_idle", Server::receive(&mut first)));

    let server = Server::start(&["http.transactions=1"]);
    let _open = server.ask("/tx", "RETURN 1");
    found.push(("http.transactions", server.ask("/tx", "RETURN 1")));

    for (setting, limit) in
        [("http.statements", "http.statements=1"), ("limits.transactions", "limits.transactions=1")]
    {
        let server = Server::start(&[limit]);
        let mut first = server.connect();
        Server::statement(&mut first, "", FOREVER);
        let begun = Instant::now();
        // It may take a while until the first one runs.
        let refused = loop {
            let said = server.ask("", "RETURN 1");
            if said.contains("errors") || begun.elapsed() > Duration::from_secs(60) {
                break said;
            }
            // Or it was the first one that came second.
            first.set_nonblocking(true).unwrap();
            let has_answer = first.peek(&mut [0]).is_ok();
            first.set_nonblocking(false).unwrap();
            if has_answer {
                Server::receive(&mut first);
                Server::statement(&mut first, "", FOREVER);
            }
        };
        found.push((setting, refused));
    }

    let server = Server::start(&["http.body_bytes=1KiB", "http.body_timeout=100ms"]);
    found.push(("http.body_bytes", server.ask("", &"x".repeat(2000))));
    let mut slow = server.connect();
    Server::send(&mut slow, "", "{", 100);
    found.push(("http.body_timeout", Server::receive(&mut slow)));

    let server = Server::start(&["bolt.message_timeout=100ms"]);
    let mut slow = TcpStream::connect(server.bolt.trim_start_matches("bolt://")).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // Version 5.4, and the first bytes of a message.
    let mut hello = vec![0x60, 0x60, 0xB0, 0x17, 0, 0, 4, 5];
    hello.resize(20, 0);
    hello.extend([0, 40, 0xB1]);
    slow.write_all(&hello).unwrap();
    let mut answer = Vec::new();
    slow.read_to_end(&mut answer).unwrap();
    found.push(("bolt.message_timeout", String::from_utf8_lossy(&answer).into_owned()));

    let server = Server::start(&["auth.failed_logins=1", "auth.lockout=60s"]);
    let login = || {
        let mut shell = server.shell();
        shell.args(["-u", "neo4j", "-c", "RETURN 1"]).env("TELAR_PASSWORD", "wrong one");
        said(&shell.output().unwrap())
    };
    login();
    let locked = login();
    found.extend([("auth.failed_logins", locked.clone()), ("auth.lockout", locked)]);
    found
}

/// Errors of tools of MCP.
fn by_tools() -> Vec<(&'static str, String)> {
    let call = |settings: &[&str], query: &str| {
        tool::call(&Server::start(settings).http, "read_query", json!({ "query": query }))
    };
    let of_session = ["Mcp-Session-Id: gone"];
    let ended = tool::post(&Server::start(&[]).http, "/mcp", &of_session, &json!({}));
    vec![
        ("mcp.enabled", call(&["mcp.enabled=false"], "RETURN 1")),
        ("mcp.allow_writes", call(&[], "CREATE INDEX FOR (n:A) ON (n.p)")),
        ("mcp.timeout", call(&["mcp.timeout=50ms"], FOREVER)),
        ("mcp.answer_bytes", start(&["--memory", "--set", "mcp.answer_bytes=10B"])),
        ("mcp.sessions", ended.clone()),
        ("mcp.session_idle", ended),
    ]
}

/// What keeps a server from starting.
fn at_start() -> Vec<(&'static str, String)> {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let serve = |address: &str| {
        let arguments = ["serve", "--memory", "--no-auth", "--http", "127.0.0.1:0"];
        said(&telar().args(arguments).args(["--set", address]).output().unwrap())
    };
    let tls = start(&["--memory", "--tls-cert", "/dev/null/c.pem", "--tls-key", "/dev/null/k.pem"]);
    let open = start(&["--memory", "--no-auth", "--set", "bolt.address=0.0.0.0:0"]);
    let set = |setting: &str| start(&["--memory", "--set", setting]);
    let folder = tempfile::tempdir().unwrap();
    let in_folder = format!("dir:{}", folder.path().join("store").display());
    let node = |store: &str, node: &str, name: &str| {
        let path = folder.path().join("node");
        let name = format!("cluster.name={name}");
        start(&[path.to_str().unwrap(), "--cluster", store, "--node", node, "--set", &name])
    };
    let follow = |setting: &str| {
        let path = folder.path().join("copy");
        start(&[path.to_str().unwrap(), "--follow", "https://127.0.0.1:1", "--set", setting])
    };
    let with_ca = ["--cluster", &in_folder, "--node", "a", "--set", "cluster.ca=/dev/null/ca.pem"];
    let path = folder.path().join("node");
    vec![
        ("bolt.address", serve(&format!("bolt.address={taken}"))),
        ("http.address", start(&["--memory", "--set", &format!("http.address={taken}")])),
        ("tls.certificate", tls.clone()),
        ("tls.key", tls),
        ("auth.enabled", open.clone()),
        ("auth.allow_remote_without", open),
        ("auth.initial_password", set("auth.initial_password=short")),
        ("store.default_database", set("store.default_database=no!")),
        ("log.file", set("log.file=/dev/null/at/log")),
        ("log.audit", set("log.audit=/dev/null/at/audit.log")),
        ("follow.address", start(&["--memory", "--set", "follow.address=http://127.0.0.1:1"])),
        ("follow.user", set("follow.password=secret")),
        ("follow.password", set("follow.user=ann")),
        ("follow.ca", follow("follow.ca=/dev/null/ca.pem")),
        ("cluster.store", node("dir:/dev/null/store", "a", "graph")),
        ("cluster.coordination", set("cluster.coordination=dir:/srv/store")),
        ("cluster.node", node(&in_folder, "a/b", "graph")),
        ("cluster.name", node(&in_folder, "a", "graph/s")),
        ("cluster.ca", start(&[&[path.to_str().unwrap()], &with_ca[..]].concat())),
        ("cluster.copies", set("cluster.copies=0")),
        ("cluster.log_bytes", set("cluster.log_bytes=1MiB")),
    ]
}

#[test]
fn whatever_a_setting_forbids_is_said_with_its_name() {
    let all = [by_statement(), by_clients(), by_tools(), at_start()].concat();
    for (setting, said) in &all {
        assert!(said.contains(setting), "{setting} is not named:\n{said}");
    }
    // Whoever adds a setting says here which error it causes, or that it causes none.
    let named: BTreeSet<&str> = all.iter().map(|(setting, _)| *setting).collect();
    let silent: BTreeSet<&str> = SILENT.into();
    let both: Vec<_> = named.intersection(&silent).collect();
    assert!(both.is_empty(), "named and silent: {both:?}");
    let known: BTreeSet<&str> = named.union(&silent).copied().collect();
    let settings: BTreeSet<&str> =
        telar_server::config::SETTINGS.iter().map(|setting| setting.key).collect();
    let missing: Vec<_> = settings.symmetric_difference(&known).collect();
    assert!(missing.is_empty(), "neither named nor silent, or gone: {missing:?}");
}
