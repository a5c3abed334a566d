//! A process that is killed in the middle of a command: all of it is found, or nothing.

use std::env;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// The folder that the child works in, and the step at which it ends.
const FOLDER: &str = "TELAR_DBMS_CRASH_FOLDER";
const STEP: &str = "TELAR_DBMS_CRASH_STEP";

/// Ends the child at the step that it was given.
pub(in crate::dbms) fn crash_point(_: &str) {
    static LAST: OnceLock<usize> = OnceLock::new();
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    let last = *LAST.get_or_init(|| {
        let step = env::var(STEP).ok().and_then(|step| step.parse().ok());
        step.unwrap_or(usize::MAX)
    });
    // ORDERING: relaxed, as the child has one thread that gets here.
    if STEPS.fetch_add(1, Ordering::Relaxed) == last {
        std::process::abort();
    }
}

const COMMANDS: [&str; 8] = [
    "CREATE DATABASE shop",
    "CREATE USER ann SET PASSWORD 'long enough' CHANGE NOT REQUIRED",
    "GRANT ROLE writer TO ann ON DATABASE shop",
    "ALTER USER ann SET HOME DATABASE shop",
    "STOP DATABASE shop",
    "START DATABASE shop",
    "CREATE OR REPLACE DATABASE shop",
    "DROP DATABASE shop",
];

/// What there is after so many of the commands.
fn expected(commands: usize) -> String {
    let databases = match commands {
        0 | 8 => "system online telar online",
        5 => "shop offline system online telar online",
        _ => "shop online system online telar online",
    };
    let users = match commands {
        0 | 1 => "neo4j []",
        2 | 7 | 8 => "ann [] neo4j []",
        _ => "ann [shop] neo4j []",
    };
    format!("{databases} / {users}")
}

/// What there is.
fn found(client: &Client) -> String {
    let databases = "SHOW DATABASES YIELD name, currentStatus \
                     RETURN name + ' ' + currentStatus AS s";
    let users = "SHOW USERS YIELD user, grants \
                 RETURN user, [g IN grants WHERE g.role = 'writer' | g.database] AS at";
    let text = |text| run_on(client, "system", text).join(" ").replace('\'', "");
    format!("{} / {}", text(databases), text(users))
}

/// Not a test by itself: runs in a process that the test below starts.
#[test]
fn child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let dbms = stored(Path::new(&folder));
    let client = admin(&dbms);
    for (at, text) in COMMANDS.iter().enumerate() {
        run(&client, text);
        eprintln!("done {}", at + 1);
    }
    eprintln!("end");
}

#[test]
fn a_command_is_done_as_a_whole_or_not_at_all_wherever_the_process_dies() {
    let mut step = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        drop(stored(folder.path()));
        let child = Command::new(env::current_exe().unwrap())
            .args(["dbms::tests::crash::child", "--exact", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(STEP, step.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr).into_owned();
        let done = said.lines().filter(|line| line.starts_with("done ")).count();
        let ended = said.lines().any(|line| line == "end");
        assert!(ended || !child.status.success(), "{said}");

        let dbms = stored(folder.path());
        let client = admin(&dbms);
        let found = found(&client);
        let possible = [expected(done), expected((done + 1).min(COMMANDS.len()))];
        assert!(possible.contains(&found), "step {step}: {found}, not one of {possible:?}\n{said}");
        // Nothing is left of what is not there.
        let listed = usize::from(found.contains("shop o"));
        let folders = std::fs::read_dir(folder.path().join("dbms/databases")).unwrap().count();
        assert_eq!(folders, listed, "step {step}");
        if found.contains("shop online") {
            run_on(&client, "shop", "CREATE ()");
        }
        if ended {
            break;
        }
        step += 1;
    }
    assert!(step > 20, "only {step} steps: the child does not reach them");
}
