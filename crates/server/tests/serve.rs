//! `telar serve` and `telar config` as operators meet them: flags, files, signals, logs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::VecDeque;
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
            "{what} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
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
fn a_server_that_stops_undoes_what_is_open_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("graph.telar");
    let store = store.to_str().unwrap();
    let server = Server::start(&[store, "--no-auth"]);
    let begin = |statement: &str| {
        let body = format!("{{\"statement\": \"{statement}\"}}");
        server.ask("POST /db/telar/query/v2/tx", &body)
    };
    assert!(begin("CREATE (:Idle)").starts_with("HTTP/1.1 202"));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            begin("CREATE (:R) WITH 1 AS a UNWIND range(1, 1000000000000) AS x RETURN count(x)")
        });
        while !server.run("SHOW TRANSACTIONS YIELD currentQuery").contains("UNWIND") {
            std::thread::sleep(Duration::from_millis(20));
        }
        server.signal("TERM");
        let answer = running.join().unwrap();
        assert!(!answer.contains("202 "), "{answer}");
    });
    assert_eq!(server.end(), Some(0));
    let server = Server::start(&[store, "--no-auth"]);
    assert!(server.run("MATCH (n) RETURN count(n) AS n").contains("[[0]]"));
}

#[cfg(target_os = "linux")]
#[test]
fn transactions_that_wait_for_requests_over_http_have_no_threads() {
    const OPEN: usize = 100;
    let server = Server::start(&["--memory", "--no-auth"]);
    let threads = || fs::read_dir(format!("/proc/{}/task", server.child.id())).unwrap().count();
    server.run("CREATE (:A)");
    let before = threads();
    for i in 0..OPEN {
        let body = format!("{{\"statement\": \"CREATE (:B {{x: {i}}})\"}}");
        assert!(server.ask("POST /db/telar/query/v2/tx", &body).starts_with("HTTP/1.1 202"));
    }
    assert!(server.ask("GET /metrics", "").contains(&format!("telar_http_transactions {OPEN}\n")));
    // Those that run statements are kept for a while and used again.
    let more = threads().saturating_sub(before);
    assert!(more < OPEN / 4, "{more} more threads");
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
    let head = "POST /db/telar/query/v2 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length:";
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
    // 21 clients, of whom 10 may be about to log in at a time: the next one evicts the oldest.
    let connect = |newest: &mut VecDeque<TcpStream>| {
        newest.push_back(TcpStream::connect(&server.http).unwrap());
        if newest.len() > 10 {
            assert!(has_ended(&mut newest.pop_front().unwrap()));
        }
    };
    let (mut silent, mut newest) = (Vec::new(), VecDeque::new());
    for _ in 0..100 {
        silent.push(TcpStream::connect(&server.bolt).unwrap());
        connect(&mut newest);
    }
    let mut clients = Vec::new();
    for _ in 0..2 {
        (0..30).for_each(|_| connect(&mut newest));
        let statuses: Vec<_> = newest.iter_mut().map(ask_on).collect();
        assert_eq!(statuses, [Some(202); 10]);
        clients.extend(newest.drain(..));
    }
    let mut late = [(); 2].map(|()| TcpStream::connect(&server.http).unwrap());
    assert_eq!(late.each_mut().map(ask_on), [Some(202), Some(429)]);
    assert_eq!(ask_on(&mut clients[0]), Some(202));
    drop(silent);
    let text = fs::read_to_string(&log).unwrap();
    assert!(!text.contains("connections are refused"), "{text}");
}

/// Waits until the server has closed a connection; false if it sends something, or nothing at all.
fn has_ended(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    match stream.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
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
    let begun = Instant::now();
    loop {
        let metrics = server.ask("GET /metrics", "");
        if !metrics.contains("telar_connections_refused_total{protocol=\"Bolt\"} 0") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{metrics}");
        std::thread::sleep(Duration::from_millis(20));
    }
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

fn log_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// By default, whatever went wrong can be found afterwards: who, where, what, why.
#[test]
fn failed_statements_are_logged_with_their_reasons_unless_that_is_switched_off() {
    let cases = [
        ("telar", "RETURN foo", "Statement.SyntaxError", "`foo` is not defined"),
        ("telar", "RETURN 1 / 0", "Statement.ArithmeticError", "by zero"),
        ("telar", "CREATE (:A {x: 1})", "Schema.ConstraintValidationFailed", "x"),
        ("telar", "CREATE USER a SET PASWORD 'hunter22'", "Statement.SyntaxError", "expected"),
        ("system", "CREATE USER a SET PASSWORD hunter22", "Statement.SyntaxError", "a password is"),
        ("system", "DROP USER nobody", "General.InvalidArguments", "nobody"),
        ("nowhere", "RETURN 1", "Database.DatabaseNotFound", "nowhere"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (setting, logged) in [(None, true), (Some("log.queries=slow"), false)] {
        let log = folder.path().join(format!("log-{logged}"));
        let file = format!("log.file={}", log.display());
        let mut arguments = vec!["--memory", "--no-auth", "--set", "log.format=json", "--set"];
        arguments
            .extend([&*file].into_iter().chain(setting.into_iter().flat_map(|s| ["--set", s])));
        let server = Server::start(&arguments);
        let run = |database: &str, statement: &str| {
            let body = format!("{{\"statement\": \"{statement}\"}}");
            server.ask(&format!("POST /db/{database}/query/v2"), &body)
        };
        run("telar", "CREATE CONSTRAINT FOR (a:A) REQUIRE a.x IS UNIQUE");
        run("telar", "CREATE (:A {x: 1})");
        for (database, statement, code, _) in cases {
            let answer = run(database, statement);
            assert!(answer.contains(&format!("Neo.ClientError.{code}")), "{statement}: {answer}");
        }
        run("telar", "RETURN 'the end' AS x, foo");
        server.signal("TERM");
        assert_eq!(server.end(), Some(0));
        let text = fs::read_to_string(&log).unwrap();
        assert!(!text.contains("hunter22"), "{text}");
        let lines = log_lines(&text);
        let first = &lines[0];
        assert_eq!(first["message"], "telar serves", "the first line is the one to read: {first}");
        assert_eq!(first["version"], env!("CARGO_PKG_VERSION"));
        let failed: Vec<_> = lines.iter().filter(|l| l["message"] == "statement failed").collect();
        if !logged {
            assert!(failed.is_empty(), "{failed:?}");
            continue;
        }
        assert_eq!(failed.len(), cases.len() + 1);
        for (line, (database, statement, code, reason)) in failed.iter().zip(cases) {
            assert_eq!((&line["level"], &line["database"]), (&"WARN".into(), &database.into()));
            assert_eq!(line["error"], format!("Neo.ClientError.{code}"), "{line}");
            assert!(line["reason"].as_str().unwrap().contains(reason), "{line}");
            assert!(line["took_ms"].is_number() && line["user"].is_string(), "{line}");
            let start = statement.get(..10).unwrap_or(statement);
            assert!(line["text"].as_str().unwrap().starts_with(start), "{line}");
            let number = |key: &str, before: &str| {
                let id =
                    line[key].as_str().and_then(|id| id.strip_prefix(before)).map(str::to_owned);
                id.and_then(|number| number.parse::<u64>().ok())
            };
            let transaction = number("transaction", &format!("{database}-transaction-"));
            assert_eq!(number("query_id", "query-"), transaction);
            assert_eq!(transaction.is_some(), database != "nowhere", "{line}");
        }
    }
}

/// What a client cannot be told in time, or does not show, is found in the log, too.
#[test]
fn transactions_that_cannot_begin_or_commit_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let file = format!("log.file={}", log.display());
    let server = Server::start(&["--memory", "--no-auth", "--set", &file]);
    let transaction = |path: &str, statement: &str| {
        let body = format!("{{\"statement\": \"{statement}\"}}");
        let answer = server.ask(&format!("POST /db/telar/query/v2/tx{path}"), &body);
        let id = answer.split("\"transaction\":{\"id\":\"").nth(1).unwrap_or_default();
        id.split('"').next().unwrap_or_default().to_owned()
    };
    server.run("CREATE (:A {x: 1})");
    let [first, second] = [(); 2].map(|()| transaction("", "MATCH (a:A) SET a.x = a.x + 1"));
    assert!(!first.is_empty() && first != second);
    for id in [first, second] {
        server.ask(&format!("POST /db/telar/query/v2/tx/{id}/commit"), "");
    }
    let text = wait_for(&log, "COMMIT");
    let line = text.lines().find(|line| line.contains("COMMIT")).unwrap();
    assert!(line.contains("WARN") && line.contains("Transaction.Outdated"), "{line}");
    assert!(line.contains("telar-transaction-"), "{line}");
}

/// The user and the way to a password are said at the first start, and until there is one.
#[test]
fn the_first_start_says_how_to_log_in() {
    let start = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = telar();
        command.args(["serve", "--bolt", "127.0.0.1:0", "--http", "127.0.0.1:0"]).args(arguments);
        command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Process::start(&mut command).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let bolt = lines.next().unwrap();
        (lines.nth(1), bolt.strip_prefix("Bolt at ").unwrap().to_owned(), child)
    };
    let (said, bolt, child) = start(&["--memory"], &[]);
    let said = said.unwrap();
    assert!(said.starts_with("The user is neo4j, the password neo4j"), "{said}");
    assert!(said.contains(&format!("`telar shell {bolt} -u neo4j`")), "{said}");
    drop(child);
    let set = [("TELAR_AUTH_INITIAL_PASSWORD", "nobody sees it")];
    let (said, _, child) = start(&["--memory"], &set);
    let said = said.unwrap();
    assert!(said.contains("auth.initial_password") && !said.contains("nobody sees it"), "{said}");
    drop(child);
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

/// Everything below a folder that others than its owner may touch.
fn touchable(folder: &Path, found: &mut Vec<String>) {
    use std::os::unix::fs::MetadataExt;
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, about) = (entry.path(), entry.metadata().unwrap());
        if about.mode() & 0o077 != 0 {
            found.push(format!("{:o} {}", about.mode() & 0o7777, path.display()));
        }
        if about.is_dir() {
            touchable(&path, found);
        }
    }
}

#[test]
fn files_of_a_server_are_its_owners_alone_and_checked_as_ours() {
    for umask in ["umask 0", "umask 022"] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
        let (store, log) = (at("graph.telar"), at("telar.log"));
        let server = Server::start_as(
            telar_with_files(umask),
            &[&store, "--no-auth", "--set", &format!("log.file={log}")],
        );
        server.run("CREATE (:A {i: 1})");
        let made =
            server.ask("POST /db/system/query/v2", "{\"statement\": \"CREATE DATABASE shop\"}");
        assert!(made.starts_with("HTTP/1.1 202"), "{made}");
        let made = server.ask("POST /db/shop/query/v2", "{\"statement\": \"CREATE (:B {i: 1})\"}");
        assert!(made.starts_with("HTTP/1.1 202"), "{made}");
        server.signal("TERM");
        assert_eq!(server.end(), Some(0));
        let mut found = Vec::new();
        touchable(folder.path(), &mut found);
        assert_eq!(found, [""; 0], "{umask}");
        let checked = output(&["check", &store]);
        let text = said(&checked.stdout);
        assert_eq!(checked.status.code(), Some(0), "{text}");
        assert!(text.contains("dbms/databases/shop-") && !text.contains("not ours"), "{text}");
    }
}

#[test]
fn a_server_whose_folder_is_gone_is_not_ready_and_takes_no_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("graph.telar");
    let server = Server::start(&[store.to_str().unwrap(), "--no-auth"]);
    server.run("CREATE (:A)");
    assert!(server.ask("GET /ready", "").contains("200 OK"));
    fs::remove_dir_all(&store).unwrap();
    let begun = Instant::now();
    let refused = loop {
        let answer = server.ask("GET /ready", "");
        if answer.contains("503") {
            break answer;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(refused.contains("takes no commits"), "{refused}");
    let answer = server.run("CREATE (:A)");
    assert!(answer.contains("was removed while the database was open"), "{answer}");
}
