//! Rights that are taken away while something goes on: attacks 8, 10 and 11.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{BEGIN, COMMIT, Client, until};
use crate::common::{Answer, Connection};
use crate::data::{Data, map};
use crate::server::{Attacked, PASSWORD, basic};

/// What is done to a user, with the role that the user has.
const CHANGES: [(&str, &str); 5] = [
    ("dropped", "DROP USER {user}"),
    ("suspended", "ALTER USER {user} SET STATUS SUSPENDED"),
    ("revoked", "REVOKE ROLE {role} FROM {user}"),
    (
        "made again",
        "CREATE OR REPLACE USER {user} SET PASSWORD 'correct-horse' CHANGE NOT REQUIRED",
    ),
    ("to change the password", "ALTER USER {user} SET PASSWORD CHANGE REQUIRED"),
];

const REFUSED: [&str; 4] = [
    "Neo.ClientError.Security.AuthorizationExpired",
    "Neo.ClientError.Security.CredentialsExpired",
    "Neo.ClientError.Security.Forbidden",
    "Neo.ClientError.Security.Unauthorized",
];

/// Runs `attack` for each change with users of its own: one who is changed, what is changed, and a
/// writer whom an administrator may act for.
fn for_each_change(role: &str, attack: impl Fn(&Attacked, &str, &dyn Fn())) {
    let server = Attacked::new();
    server.user("other", Some("writer"));
    for (number, (name, change)) in CHANGES.iter().enumerate() {
        let user = format!("user{number}");
        server.user(&user, Some(role));
        let change = change.replace("{user}", &user).replace("{role}", role);
        attack(&server, &user, &|| server.admin(&change));
        let late = server.rows("MATCH (n:Late) RETURN count(n)");
        assert_eq!(late, json!([[0]]), "what was {name} has written");
    }
}

#[track_caller]
fn assert_refused(code: &str) {
    assert!(REFUSED.contains(&code), "{code}");
}

fn write(client: &mut Client, text: &str) {
    client.run(text).success();
    client.pull(-1).1.success();
}

#[test]
fn a_stream_over_bolt_ends_with_the_rights() {
    for_each_change("writer", |server, user, change| {
        let mut client = server.bolt(user);
        client.run("UNWIND range(1, 1000000) AS x RETURN x").success();
        let (rows, more) = client.pull(10);
        assert_eq!(rows.len(), 10);
        more.success();
        change();
        let (rows, end) = client.pull(10);
        assert_eq!(rows, Vec::<Vec<Data>>::new());
        assert_refused(&end.code());
        client.reset().success();
        assert_refused(&client.run("CREATE (:Late)").code());
    });
}

#[test]
fn results_of_a_transaction_end_with_the_rights() {
    for_each_change("reader", |server, user, change| {
        let mut client = server.bolt(user);
        client.begin().success();
        client.run("UNWIND range(1, 100) AS x RETURN x").success();
        client.pull(10).1.success();
        // The rest is kept.
        client.run("RETURN 1").success();
        client.pull(-1).1.success();
        change();
        let (rows, end) = client.demand(0x3F, 10, 0);
        assert_eq!(rows, Vec::<Vec<Data>>::new());
        assert_refused(&end.code());
    });
}

#[test]
fn a_transaction_over_bolt_is_not_committed_without_the_rights() {
    for_each_change("writer", |server, user, change| {
        let [mut commits, mut goes_on] = [(); 2].map(|()| server.bolt(user));
        for client in [&mut commits, &mut goes_on] {
            client.begin().success();
            write(client, "CREATE (:Late)");
        }
        change();
        assert_refused(&commits.ask(COMMIT, []).code());
        assert_refused(&goes_on.run("CREATE (:Late)").code());
        goes_on.reset().success();
    });
}

fn begin_for(client: &mut Client, user: &str) {
    client.ask(BEGIN, [map([("imp_user", user.into())])]).success();
}

#[test]
fn nobody_acts_for_others_without_the_rights() {
    for_each_change("admin", |server, boss, change| {
        let [mut commits, mut goes_on, mut reads] = [(); 3].map(|()| server.bolt(boss));
        for client in [&mut commits, &mut goes_on] {
            begin_for(client, "other");
            write(client, "CREATE (:Late)");
        }
        let extra = map([("imp_user", "other".into())]);
        let text = "UNWIND range(1, 1000000) AS x RETURN x";
        reads.run_with(text, map([]), extra).success();
        reads.pull(10).1.success();
        change();
        assert_refused(&commits.ask(COMMIT, []).code());
        assert_refused(&goes_on.run("CREATE (:Late)").code());
        assert_refused(&reads.pull(10).1.code());
        let mut again = commits;
        again.reset().success();
        let extra = map([("imp_user", "other".into())]);
        assert_refused(&again.run_with("CREATE (:Late)", map([]), extra).code());
    });
}

#[test]
fn nobody_is_acted_for_without_the_rights() {
    for_each_change("writer", |server, user, change| {
        let mut boss = server.bolt("neo4j");
        begin_for(&mut boss, user);
        write(&mut boss, "CREATE (:Late)");
        change();
        assert_refused(&boss.ask(COMMIT, []).code());
    });
}

fn refused(answer: &Answer) {
    assert!([401, 403].contains(&answer.status), "{}: {}", answer.status, answer.text());
    assert_refused(&answer.code());
}

#[test]
fn a_statement_over_http_is_refused_without_the_rights() {
    for_each_change("writer", |server, user, change| {
        assert_eq!(server.post(user, "telar", "RETURN 1").status, 202);
        let mut stream = server.http();
        let endless = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN a, b";
        let body = json!({ "statement": endless }).to_string();
        let headers = [&*basic(user, PASSWORD), "Accept: application/jsonl"];
        stream.request("POST", "/db/telar/query/v2", &headers, &body);
        assert_eq!(stream.head().unwrap().0, 202);
        stream.chunk().unwrap();
        change();
        refused(&server.post(user, "telar", "CREATE (:Late)"));
        let last = lines(&mut stream).pop().unwrap();
        assert_eq!(last["$event"], "Error");
        assert_refused(last["_body"][0]["code"].as_str().unwrap());
    });
}

/// All lines that are still to come, without those of which only a part was read before.
fn lines(stream: &mut Connection) -> Vec<Value> {
    let mut text = Vec::new();
    while let Some(chunk) = stream.chunk().filter(|chunk| !chunk.is_empty()) {
        // Only the end is of interest.
        text.drain(..text.len().saturating_sub(1 << 20));
        text.extend(chunk);
    }
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn a_transaction_over_http_belongs_to_one_user_as_long_as_there_are_rights() {
    for_each_change("writer", |server, user, change| {
        let tx = "/db/telar/query/v2/tx";
        let begin = || {
            let late = json!({ "statement": "CREATE (:Late)" });
            let begun = server.ask(user, "POST", tx, &late).json();
            format!("{tx}/{}", begun["transaction"]["id"].as_str().unwrap())
        };
        let [commits, goes_on, rolls_back] = [(); 3].map(|()| begin());
        change();
        let commit = server.ask(user, "POST", &format!("{commits}/commit"), &Value::Null);
        let more = json!({ "statement": "CREATE (:Late)" });
        let go_on = server.ask(user, "POST", &goes_on, &more);
        let roll_back = server.ask(user, "DELETE", &rolls_back, &Value::Null);
        for answer in [&commit, &go_on] {
            // It is not there for somebody else of the same name.
            assert!([401, 403, 404].contains(&answer.status), "{}", answer.text());
        }
        // Whoever is still the same may undo it.
        assert!([200, 401, 404].contains(&roll_back.status), "{}", roll_back.text());
    });
    // Of the same name and with the same password, and of the same rights: still another one.
    let server = Attacked::new();
    server.user("ann", Some("writer"));
    let begun = server.ask("ann", "POST", "/db/telar/query/v2/tx", &Value::Null).json();
    let id = begun["transaction"]["id"].as_str().unwrap();
    server.admin("DROP USER ann");
    server.user("ann", Some("writer"));
    for (method, end) in [("POST", ""), ("POST", "/commit"), ("DELETE", "")] {
        let path = format!("/db/telar/query/v2/tx/{id}{end}");
        assert_eq!(server.ask("ann", method, &path, &Value::Null).status, 404, "{method} {end}");
    }
}

#[test]
fn a_stream_of_changes_ends_with_the_rights() {
    for_each_change("reader", |server, user, change| {
        let mut stream = server.http();
        stream.request("GET", "/db/telar/changes", &[&*basic(user, PASSWORD)], "");
        assert_eq!(stream.head().unwrap().0, 200);
        let seen = |lines: &[Value]| lines.iter().any(|line| line["changes"].is_array());
        stream.chunk().unwrap();
        change();
        server.rows("CREATE (:Secret)");
        let rest = lines(&mut stream);
        assert!(!seen(&rest), "{rest:?}");
        assert_refused(rest.last().unwrap()["errors"][0]["code"].as_str().unwrap());
    });
    // One of its name is another database.
    let server = Attacked::new();
    let folder = tempfile::tempdir().unwrap();
    drop(server);
    let server = Attacked::of(Some(folder.path()), Attacked::dbms_settings(), |_| {});
    server.admin("CREATE DATABASE shop");
    let mut stream = server.http();
    stream.request("GET", "/db/shop/changes", &[&*basic("neo4j", PASSWORD)], "");
    assert_eq!(stream.head().unwrap().0, 200);
    stream.chunk().unwrap();
    server.admin("CREATE OR REPLACE DATABASE shop");
    let last = lines(&mut stream).pop().unwrap();
    assert_eq!(last["errors"][0]["code"], "Neo.ClientError.Database.DatabaseNotFound");
}

#[test]
fn a_long_statement_does_not_commit_without_the_rights() {
    let begin = |server: &Attacked, text: &str| {
        let mut client = server.bolt("ann");
        client.stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        client.send(0x10, [text.into(), map([]), map([])]);
        client.send(0x3F, [map([("n", (-1).into())])]);
        client
    };
    let late =
        |server: &Attacked| server.rows("MATCH (n:Late) RETURN count(n)")[0][0].as_i64().unwrap();

    // One that waits for another transaction.
    let mut dbms = Attacked::dbms_settings();
    dbms.limits.write_wait = Some(Duration::from_secs(600));
    let server = Attacked::of(None, dbms, |_| {});
    server.user("ann", Some("writer"));
    server.rows("CREATE (:Held)");
    let mut holder = server.bolt("neo4j");
    holder.begin().success();
    write(&mut holder, "MATCH (h:Held) SET h.by = 'neo4j'");
    let mut client = begin(&server, "MATCH (h:Held) SET h.by = 'ann' CREATE (:Late)");
    let database = server.server.dbms().database(None).unwrap();
    until("it waits", || database.engine().write_waits() == 1);
    server.admin("REVOKE ROLE writer FROM ann");
    holder.reset().success();
    assert_refused(&client.answer().code());
    assert_eq!(late(&server), 0);

    // One that commits in parts, and would for days.
    let server = Attacked::new();
    server.user("ann", Some("writer"));
    let text = "UNWIND range(1, 100000000000) AS i CALL (i) { CREATE (:Late) } \
                IN TRANSACTIONS OF 100 ROWS";
    let mut client = begin(&server, text);
    until("it runs", || late(&server) > 0);
    server.admin("REVOKE ROLE writer FROM ann");
    assert_refused(&client.answer().code());
    let made = late(&server);
    assert_eq!(late(&server), made, "it goes on");
}
