//! `telar serve` and `telar config` as operators meet them: flags, files, signals, logs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[path = "../../../tests/src/process.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod process;

use process::Process;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

/// A server in a process of its own.
struct Server {
    child: Process,
    bolt: String,
    http: String,
}

fn telar() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar"));
    command.env_remove("TELAR_CONFIG");
    command
}

fn telar_with_files(limit: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("{limit} && exec \"$@\"");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_telar")]).env_remove("TELAR_CONFIG");
    command
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        Self::start_as(telar(), arguments)
    }

    /// With no more files than `ulimit -n` or so allows.
    fn with_files(limit: &str, arguments: &[&str]) -> Self {
        Self::start_as(telar_with_files(limit), arguments)
    }

    fn start_as(mut command: Command, arguments: &[&str]) -> Self {
        let free = ["serve", "--bolt", "127.0.0.1:0", "--http", "127.0.0.1:0"];
        command.args(free).args(arguments).stdout(Stdio::piped());
        let mut child = Process::start(&mut command).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut find = |what: &str| {
            let found = lines.find_map(|line| Some(line.strip_prefix(what)?.to_owned()));
            found.expect("the server starts")
        };
        let (bolt, http) = (find("Bolt at bolt://"), find("HTTP at http://"));
        Self { child, bolt, http }
    }

    fn run(&self, statement: &str) -> String {
        self.ask("POST /db/telar/query/v2", &format!("{{\"statement\": \"{statement}\"}}"))
    }

    fn ask(&self, what: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.http).unwrap();
        let length = body.len();
        write!(
            stream,
            "{what} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Its exit code, once it has ended by itself.
    fn end(mut self) -> Option<i32> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the server goes on");
    }
}

/// Waits until a file says something.
fn wait_for(path: &Path, text: &str) -> String {
    let begun = Instant::now();
    loop {
        let found = fs::read_to_string(path).unwrap_or_default();
        if found.contains(text) {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{text} is not in {found}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn output(arguments: &[&str]) -> Output {
    telar().args(arguments).output().unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_server_that_is_told_to_stop_leaves_everything_in_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("graph.telar");
    let store = store.to_str().unwrap();
    let server = Server::start(&[store, "--no-auth"]);
    assert!(server.run("CREATE (:A {x: 1})").starts_with("HTTP/1.1 202"));
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
    let server = Server::start(&[store, "--no-auth"]);
    assert!(server.run("MATCH (a:A) RETURN a.x AS x").contains("[[1]]"));
    server.signal("INT");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn connections_of_both_protocols_are_counted() {
    let server = Server::start(&["--memory", "--no-auth", "--set", "bolt.newcomers=1"]);
    let mut open = TcpStream::connect(&server.bolt).unwrap();
    let begun = Instant::now();
    let wait_for = |line: &str| {
        while !server.ask("GET /metrics", "").contains(line) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{line}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for("telar_connections{protocol=\"Bolt\"} 1\n");
    // Of those that have not logged in, the oldest goes.
    let newer = TcpStream::connect(&server.bolt).unwrap();
    assert!(matches!(open.read(&mut [0]), Ok(0) | Err(_)));
    wait_for("telar_connections_refused_total{protocol=\"Bolt\"} 1\n");
    wait_for("telar_connections{protocol=\"Bolt\"} 1\n");
    drop(newer);
    wait_for("telar_connections{protocol=\"Bolt\"} 0\n");
}

/// The status of a statement, if there is an answer.
fn ask_on(stream: &mut TcpStream) -> Option<u16> {
    let body = r#"{"statement": "RETURN 1"}"#;
    let head = "POST /db/telar/query/v2 HTTP/1.1\r\nHost: x\r\nContent-Length:";
    write!(stream, "{head} {}\r\n\r\n{body}", body.len()).ok()?;
    let mut answer = [0; 4096];
    let read = stream.read(&mut answer).ok()?;
    std::str::from_utf8(&answer[..read]).unwrap().split(' ').nth(1)?.parse().ok()
}

#[test]
fn the_server_allows_itself_all_files_it_may_have() {
    let server = Server::with_files("ulimit -S -n 80", &["--memory", "--no-auth"]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.child.id())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let [soft, hard] = [3, 4].map(|at| files.split_whitespace().nth(at).unwrap().to_owned());
    assert!(soft == hard && soft != "80", "{files}");
    let few = telar_with_files("ulimit -n 40").args(["serve", "--memory"]).output().unwrap();
    assert_eq!(few.status.code(), Some(1));
    let text = said(&few.stderr);
    assert!(text.contains("no more than 40 files may be open"), "{text}");
}

#[test]
fn connections_are_as_many_as_there_are_files_for() {
    let folder = tempfile::tempdir().unwrap();
    let (store, log) = (folder.path().join("graph.telar"), folder.path().join("log"));
    let file = format!("log.file={}", log.display());
    let arguments = [store.to_str().unwrap(), "--no-auth", "--set", &file];
    let server = Server::with_files("ulimit -n 128", &arguments);
    // 128 but for 64, shared out as 1,000, 500, 1,000 and 500.
    let text = wait_for(&log, "fewer connections than are set");
    assert!(text.contains("bolt.connections=21") && text.contains("http.newcomers=10"), "{text}");
    let silent: Vec<_> = (0..200)
        .map(|number| TcpStream::connect([&server.bolt, &server.http][number % 2]).unwrap())
        .collect();
    // 21 clients, of whom 10 may be about to log in at a time.
    let mut clients = Vec::new();
    for _ in 0..2 {
        let mut all: Vec<_> = (0..30).map(|_| TcpStream::connect(&server.http).unwrap()).collect();
        let mut newest = all.split_off(20);
        assert!(all.iter_mut().all(|old| matches!(old.read(&mut [0]), Ok(0) | Err(_))));
        let statuses: Vec<_> = newest.iter_mut().map(ask_on).collect();
        assert_eq!(statuses, [Some(202); 10]);
        clients.append(&mut newest);
    }
    let mut late = [(); 2].map(|()| TcpStream::connect(&server.http).unwrap());
    assert_eq!(late.each_mut().map(ask_on), [Some(202), Some(429)]);
    assert_eq!(ask_on(&mut clients[0]), Some(202));
    drop(silent);
    let text = fs::read_to_string(&log).unwrap();
    assert!(!text.contains("connections are refused"), "{text}");
}

#[test]
fn who_comes_when_there_are_no_files_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let file = format!("log.file={}", log.display());
    let server = Server::start(&["--memory", "--no-auth", "--set", &file]);
    let mut client = TcpStream::connect(&server.http).unwrap();
    assert_eq!(ask_on(&mut client), Some(202));
    let id = Pid::from_raw(server.child.id().cast_signed());
    let before = getrlimit(Resource::Nofile);
    let limit = |current| {
        let limit = Rlimit { current, maximum: before.maximum };
        prlimit(id, Resource::Nofile, limit).unwrap();
    };
    let open = fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap();
    let number = |file: fs::DirEntry| file.file_name().to_str().unwrap().parse::<u64>().unwrap();
    let open: Vec<_> = open.map(|file| number(file.unwrap())).collect();
    limit((0..).find(|number| !open.contains(number)));
    for address in [&server.http, &server.bolt] {
        // There may be some left below the limit; whoever is refused hears it and does not wait.
        let mut taken = Vec::new();
        loop {
            assert!(taken.len() < 64, "there are files for {} connections", taken.len());
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            match stream.read(&mut [0]) {
                Ok(0) => break,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                Err(_) => taken.push(stream),
                Ok(_) => panic!("nothing was asked"),
            }
        }
        wait_for(&log, "connections are refused");
        assert_eq!(ask_on(&mut client), Some(202));
    }
    limit(before.current);
    let metrics = server.ask("GET /metrics", "");
    assert!(!metrics.contains("telar_connections_refused_total{protocol=\"Bolt\"} 0"), "{metrics}");
    assert!(server.run("RETURN 1").starts_with("HTTP/1.1 202"));
}

#[test]
fn statements_are_logged_without_passwords_and_the_file_can_be_moved() {
    let folder = tempfile::tempdir().unwrap();
    let (log, moved) = (folder.path().join("log"), folder.path().join("log.1"));
    let file = format!("log.file={}", log.display());
    let settings =
        ["--memory", "--no-auth", "--set", "log.format=json", "--set", "log.queries=all"];
    let server = Server::start(&[&settings[..], &["--set", &file]].concat());
    server.run("RETURN 1 AS one");
    server.run("CREATE USER ann SET PASSWORD 'correct-horse'");
    let text = wait_for(&log, "CREATE USER");
    assert!(!text.contains("correct-horse"), "{text}");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let one = lines.iter().find(|line| line["text"] == "RETURN 1 AS one").expect("a line");
    assert_eq!((&one["rows"], &one["database"]), (&1.into(), &"telar".into()));
    assert_eq!((&one["target"], &one["protocol"]), (&"telar::query".into(), &"http".into()));
    assert!(one["took_ms"].as_f64().unwrap() > 0.0 && one["error"].is_null());
    assert!(lines.iter().any(|line| line["message"] == "telar serves"));

    fs::rename(&log, &moved).unwrap();
    server.signal("HUP");
    wait_for(&log, "opened");
    server.run("RETURN 2 AS two");
    wait_for(&log, "RETURN 2");
    assert!(!fs::read_to_string(&moved).unwrap().contains("RETURN 2"));
}

#[test]
fn settings_are_checked_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("telar.toml");
    fs::write(&file, "[store]\nmemory = true\n[log]\nslow = \"250ms\"\n").unwrap();
    let config = file.to_str().unwrap();
    let check = output(&["config", "check", "--config", config, "--set", "log.level=debug"]);
    assert!(check.status.success(), "{}", said(&check.stderr));
    let text = said(&check.stdout);
    let line = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line("log.slow"), ["log.slow", "250ms", &format!("{config}:4")]);
    assert_eq!(line("log.level"), ["log.level", "debug", "--set", "log.level"]);
    assert_eq!(line("bolt.address"), ["bolt.address", "127.0.0.1:7687", "default"]);

    fs::write(&file, "[store]\nmemory = true\n[log]\n  slwo = 1\n").unwrap();
    for command in [&["config", "check"][..], &["serve"]] {
        let wrong = output(&[command, &["--config", config]].concat());
        assert_eq!(wrong.status.code(), Some(1));
        let text = said(&wrong.stderr);
        assert!(text.contains("telar.toml:4:3: there is no setting 'log.slwo'"), "{text}");
        assert!(text.contains("did you mean 'log.slow'?"), "{text}");
    }
    let open = ["serve", "--memory", "--no-auth", "--bolt", "0.0.0.0:0"];
    let text = said(&output(&open).stderr);
    assert!(text.contains("--allow-remote-without-auth"), "{text}");
    let missing = output(&["serve", "--config", "nowhere.toml"]);
    assert!(said(&missing.stderr).contains("nowhere.toml"));
    let template = said(&output(&["config", "template"]).stdout);
    assert!(template.contains("[bolt]") && template.contains("# address = \"127.0.0.1:7687\""));
}

/// The addresses that docs/serve.md names are the defaults, and every section is in its table.
#[test]
fn the_manual_names_the_settings_there_are() {
    let manual = include_str!("../../../docs/serve.md");
    for setting in telar_server::config::SETTINGS {
        let section = setting.key.split('.').next().unwrap();
        assert!(manual.contains(&format!("`{section}`")), "{section}");
    }
    assert!(manual.contains("bolt://127.0.0.1:7687") && manual.contains("http://127.0.0.1:7474"));
}
