//! Power failures of a server: databases and users that were made are there, those that were
//! dropped are not, and databases hold what was acknowledged.
//!
//! The server runs in this program, started again as a child and recorded; see
//! tests/src/power/mod.rs.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails; the child says what was acknowledged"
)]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use telar_server::dbms::{Dbms, DbmsSettings, Security};
use telar_server::http::{Server, Settings};
use telar_server::metrics::Metrics;

#[path = "../../../tests/src/power/mod.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "it is whole and public where the files live"
)]
mod power;
#[path = "../../../tests/src/rng.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is whole and public where the file lives")]
mod rng;

use power::{Disk, Fate, Recording, Said};
use rng::Rng;

const FOLDER: &str = "TELAR_POWER_FOLDER";
const STATES: u64 = 40;

/// What the child does, each with what it says then: the database, the statement.
const STEPS: [(&str, &str, &str); 9] = [
    ("default 1", "telar", "CREATE (:Node)"),
    ("made shop", "system", "CREATE DATABASE shop"),
    ("shop 1", "shop", "CREATE (:Node)"),
    ("user ada", "system", "CREATE USER ada SET PASSWORD 'a long secret'"),
    ("shop 2", "shop", "CREATE (:Node)"),
    ("made other", "system", "CREATE DATABASE other"),
    ("other 1", "other", "CREATE (:Node)"),
    ("dropped other", "system", "DROP DATABASE other"),
    ("default 2", "telar", "CREATE (:Node)"),
];

fn start(folder: &Path) -> Server {
    let security = Security { enabled: false, ..Security::default() };
    let settings = DbmsSettings { security, ..DbmsSettings::default() };
    let dbms = Arc::new(Dbms::open(Some(folder), settings).unwrap());
    let address = "127.0.0.1:0".parse().unwrap();
    Server::start(address, None, dbms, Settings::default(), Arc::new(Metrics::new())).unwrap()
}

/// The rows of a statement, or what was said instead.
fn rows(server: &Server, database: &str, statement: &str) -> Result<Vec<Value>, String> {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let body = json!({ "statement": statement }).to_string();
    let length = body.len();
    write!(
        stream,
        "POST /db/{database}/query/v2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    if !head.starts_with("HTTP/1.1 202") {
        return Err(answer);
    }
    let json: Value = serde_json::from_str(body).map_err(|e| format!("{e}: {answer}"))?;
    match json["errors"].is_null() {
        true => Ok(json["data"]["values"].as_array().cloned().unwrap_or_default()),
        false => Err(answer),
    }
}

#[test]
#[ignore = "the program that the other test records"]
fn child() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let server = start(&folder);
    // The harness may have begun a line.
    println!("\nready");
    for (done, database, statement) in STEPS {
        rows(&server, database, statement).unwrap();
        println!("{done}");
    }
}

/// What must hold of the folder of a server.
fn verify(folder: &Path, said: &BTreeSet<&str>) -> Result<(), String> {
    if !said.contains("ready") {
        drop(start(folder));
        return Ok(());
    }
    if !folder.join("FORMAT").exists() {
        return Err("the server's database is gone".into());
    }
    let server = start(folder);
    let names = |statement: &str| -> Result<BTreeSet<String>, String> {
        let rows = rows(&server, "system", statement)?;
        Ok(rows.iter().filter_map(|row| row[0].as_str()).map(str::to_owned).collect())
    };
    let databases = names(
        "SHOW DATABASES YIELD name, currentStatus WHERE currentStatus = 'online' \
                           RETURN name",
    )?;
    let users = names("SHOW USERS YIELD user RETURN user")?;
    if said.contains("user ada") && !users.contains("ada") {
        return Err(format!("the user is gone: {users:?}"));
    }
    for name in ["shop", "other"] {
        let (made, dropped) = (format!("made {name}"), format!("dropped {name}"));
        let (made, dropped) = (said.contains(&*made), said.contains(&*dropped));
        let there = databases.contains(name);
        // While a command runs, both are right.
        if (dropped && there) || (made && !there && name == "shop") {
            return Err(format!("{name}: made {made}, dropped {dropped}, there {there}"));
        }
    }
    for (name, database) in [("default", "telar"), ("shop", "shop")] {
        if !databases.contains(database) {
            continue;
        }
        let acknowledged =
            (1..=2).filter(|n| said.contains(&*format!("{name} {n}"))).count() as u64;
        let found = rows(&server, database, "MATCH (n:Node) RETURN count(n)")?;
        let found = found[0][0].as_u64().unwrap_or(99);
        if !(acknowledged..=acknowledged + 1).contains(&found) {
            return Err(format!("{name}: {found} nodes, {acknowledged} were acknowledged"));
        }
    }
    Ok(())
}

#[test]
fn what_a_server_acknowledged_survives_a_power_failure() {
    power::expect_strace();
    let dir = power::scratch();
    let mut recording = Recording::default();
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["child", "--exact", "--ignored", "--nocapture"]);
    program.env(FOLDER, dir.path().join("graph.telar"));
    power::record(&mut recording, dir.path(), &program);
    let mut rng = Rng::new(11);
    let mut moments: Vec<usize> =
        (0..STATES).map(|_| rng.below(recording.len() as u64 + 1) as usize).collect();
    moments.sort_unstable();
    let (mut disk, mut said, mut at) = (Disk::default(), Vec::new(), 0);
    let mut wrong = Vec::new();
    for moment in moments {
        disk.advance(&recording, at..moment, &mut said);
        at = moment;
        let any = |rng: &mut Rng| Fate::ALL[rng.below(3) as usize];
        let fates = (any(&mut rng), any(&mut rng));
        let state = power::scratch();
        disk.crash(fates, &mut rng, state.path()).unwrap();
        let lines = said.iter().filter_map(|said| match said {
            Said::Line(line) => Some(line.as_str()),
            Said::Ended => None,
        });
        if let Err(what) = verify(&state.path().join("graph.telar"), &lines.collect()) {
            wrong.push(format!("step {moment} of {}, {fates:?}: {what}", recording.len()));
        }
    }
    println!("{} steps, {STATES} disks", recording.len());
    assert!(wrong.is_empty(), "{} of {STATES}: {wrong:#?}", wrong.len());
}
