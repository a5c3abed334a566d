//! What one user, or somebody who has not logged in, can hold: attacks 13, 14, 17, 20 and 22.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use telar_server::net::tls::Certificate;
use telar_server::server::Settings;

use crate::client::{Answer, BEGIN, Client, until};
use crate::data::map;
use crate::server::{Attacked, PASSWORD, basic, token};

const FULL: &str = "Neo.TransientError.Request.NoThreadsAvailable";
const UNAUTHORIZED: &str = "Neo.ClientError.Security.Unauthorized";
const TX: &str = "/db/telar/query/v2/tx";

/// A client who has logged in; the code of the failure, if it could not.
fn try_log_in(server: &Attacked, user: &str, password: &str) -> Result<Client, String> {
    let mut client = Client::with_version(&server.server, 5, 4);
    client.ask(0x01, [map([("user_agent", "tests/1".into())])]).success();
    match client.ask(0x6A, [token(user, password)]) {
        Answer::Success(_) => Ok(client),
        failure => Err(failure.code()),
    }
}

fn http(settings: &mut Settings) -> &mut telar_server::http::Settings {
    &mut settings.http.as_mut().unwrap().settings
}

#[test]
fn one_user_does_not_take_all_connections() {
    let server = Attacked::with(|settings| settings.bolt.connections_max = 8);
    server.user("mallory", None);
    server.user("ann", Some("writer"));
    let log_in = |user: &str| try_log_in(&server, user, PASSWORD);
    let held: Vec<_> = (0..6).map(|_| log_in("mallory").unwrap()).collect();
    assert_eq!(log_in("mallory").err().as_deref(), Some(FULL));
    let mut ann = [(); 2].map(|()| log_in("ann").unwrap());
    assert_eq!(ann[0].int("RETURN 1"), 1);
    assert_eq!(log_in("ann").err().as_deref(), Some(FULL), "all are taken");
    let mut admin = log_in("neo4j").unwrap();
    assert_eq!(admin.int("RETURN 1"), 1);
    // A connection on which somebody else logs in is that one's.
    let [mut first, _second] = ann;
    first.ask(0x6B, []).success();
    assert_eq!(first.ask(0x6A, [token("mallory", PASSWORD)]).code(), FULL);
    drop(held);
    until("there is a place", || log_in("mallory").is_ok());
}

#[test]
fn one_user_does_not_take_all_of_http() {
    let server = Attacked::with(|settings| {
        http(settings).transactions_max = 4;
        http(settings).statements_max = 4;
        http(settings).connections_max = 40;
    });
    server.user("mallory", Some("reader"));
    server.user("ann", Some("reader"));
    let begin = |user: &str| server.ask(user, "POST", TX, &Value::Null);
    for _ in 0..3 {
        assert_eq!(begin("mallory").status, 202);
    }
    let refused = begin("mallory");
    assert_eq!((refused.status, &*refused.code()), (429, FULL));
    assert!(refused.text().contains("limits.user_share"), "{}", refused.text());
    assert_eq!((begin("ann").status, begin("ann").status), (202, 429));
    assert_eq!(begin("neo4j").status, 202, "some are kept");

    // Streams of changes take places, too, and so does nothing that waits for a bookmark.
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = server.http();
        stream.request("GET", "/db/telar/changes", &[&*basic("mallory", PASSWORD)], "");
        assert_eq!(stream.head().unwrap().0, 200);
        held.push(stream);
    }
    assert_eq!(server.post("mallory", "telar", "RETURN 1").status, 429);
    assert_eq!(server.post("ann", "telar", "RETURN 1").status, 202);
    for path in ["/db/telar/query/v2", TX] {
        for _ in 0..10 {
            let body = json!({ "statement": "RETURN 1", "bookmarks": ["telar:telar:999999999"] });
            let mut waits = server.http();
            waits.request("POST", path, &[&*basic("ann", PASSWORD)], &body.to_string());
            held.push(waits);
        }
    }
    for _ in 0..5 {
        assert_eq!(server.post("ann", "telar", "RETURN 1").status, 202);
    }
}

#[test]
fn the_system_database_counts_and_administrators_have_places() {
    let mut dbms = Attacked::dbms_settings();
    dbms.limits.transactions = Some(4);
    let server = Attacked::of(None, dbms, |_| {});
    server.user("mallory", None);
    server.user("ann", Some("reader"));
    let begin = |user: &str, database: &str| {
        let mut client = server.bolt(user);
        let answer = client.ask(BEGIN, [map([("db", database.into())])]);
        (client, answer)
    };
    let mut held = Vec::new();
    for (user, database) in [("mallory", "system"); 3].into_iter().chain([("ann", "telar")]) {
        let (client, answer) = begin(user, database);
        answer.success();
        held.push(client);
    }
    let most = "Neo.TransientError.Transaction.MaximumTransactionLimitReached";
    for (user, database) in [("mallory", "system"), ("ann", "telar"), ("ann", "system")] {
        assert_eq!(begin(user, database).1.code(), most, "{user} on {database}");
    }
    begin("neo4j", "telar").1.success();
    server.admin("DROP USER mallory");
}

/// One who was never there since the start gets in beside many who guess names.
#[test]
fn who_guesses_names_keeps_nobody_out() {
    let mut dbms = Attacked::dbms_settings();
    // A password costs what it costs by default.
    let cost = telar_server::dbms::Security::default();
    (dbms.security.hash_memory_kib, dbms.security.hash_passes) =
        (cost.hash_memory_kib, cost.hash_passes);
    dbms.security.hashes_at_once = 1;
    let server = Attacked::of(None, dbms, |_| {});
    server.user("ann", None);
    let (enough, guesses) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for guesser in 0..200 {
            let (server, enough, guesses) = (&server, &enough, &guesses);
            scope.spawn(move || {
                while !enough.load(Ordering::Relaxed) {
                    let number = guesses.fetch_add(1, Ordering::Relaxed);
                    let code = try_log_in(server, &format!("no{guesser}x{number}"), "guess");
                    assert_eq!(code.err().as_deref(), Some(UNAUTHORIZED));
                }
            });
        }
        until("they guess", || guesses.load(Ordering::Relaxed) > 400);
        let logged_in = try_log_in(&server, "ann", PASSWORD);
        enough.store(true, Ordering::Relaxed);
        assert_eq!(logged_in.err(), None);
    });
}

#[test]
fn of_many_guesses_at_once_no_more_are_compared_than_may_be_wrong() {
    let mut dbms = Attacked::dbms_settings();
    dbms.security.lockout = std::time::Duration::from_secs(3600);
    dbms.security.hashes_at_once = 8;
    let server = Attacked::of(None, dbms, |_| {});
    server.user("ann", None);
    for name in ["ann", "nobody"] {
        let compared = AtomicUsize::new(0);
        thread::scope(|scope| {
            for guess in 0..60 {
                let (server, compared) = (&server, &compared);
                scope.spawn(move || {
                    let code = try_log_in(server, name, &format!("guess-{guess}")).err().unwrap();
                    compared.fetch_add(usize::from(code == UNAUTHORIZED), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(compared.into_inner(), 3, "{name}");
    }
    // Many who are right at once are not locked out.
    server.user("bob", None);
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| assert_eq!(try_log_in(&server, "bob", PASSWORD).err(), None));
        }
    });
}

#[test]
fn commands_that_are_refused_are_clipped_in_the_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let server = Attacked::of(Some(folder.path()), Attacked::dbms_settings(), |_| {});
    server.user("ann", Some("reader"));
    let name = "x".repeat(1 << 20);
    let answer = server.post("ann", "telar", &format!("DROP USER {name}"));
    assert_eq!(answer.status, 403);
    let log = std::fs::read_to_string(folder.path().join("dbms/audit.log")).unwrap();
    let line = log.lines().last().unwrap();
    assert!(line.contains("DROP USER") && line.len() < 20_000, "{} bytes", line.len());
}

#[test]
#[cfg(unix)]
fn a_key_that_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let (chain, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
    std::fs::write(&chain, include_str!("../http/certificate.pem")).unwrap();
    std::fs::write(&key, include_str!("../http/key.pem")).unwrap();
    let load = |mode: u32| {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        Certificate::load(&chain, &key)
    };
    for mode in [0o400, 0o600, 0o640, 0o644, 0o444] {
        assert!(load(mode).is_ok(), "{mode:o}");
    }
    let certificate = load(0o600).unwrap();
    for mode in [0o666, 0o620, 0o602, 0o777] {
        let error = load(mode).unwrap_err().to_string();
        assert!(error.contains("chmod 600") && error.contains(&format!("{mode:04o}")), "{error}");
        assert!(certificate.reload().is_err(), "{mode:o}: what was there stays");
    }
}
