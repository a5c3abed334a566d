//! Serializable transactions over Bolt and HTTP: machine finding M4.

use serde_json::json;
use telar_server::dbms::Isolations;

use crate::client::{BEGIN, COMMIT, Client, PULL};
use crate::data::{Data, map};
use crate::server::Attacked;

const CONFLICT: &str = "Neo.TransientError.Transaction.Outdated";
/// Who is on call reads that somebody else is, and leaves.
const READ: &str = "MATCH (d:Doctor {onCall: true}) RETURN count(d) AS n";

fn leave(name: &str) -> String {
    format!("MATCH (d:Doctor {{name: '{name}'}}) SET d.onCall = false")
}

fn rows(client: &mut Client, text: &str) -> Vec<Vec<Data>> {
    client.run(text).success();
    let (rows, end) = client.pull(-1);
    end.success();
    rows
}

/// Two transactions, each of which is right alone: the code with which the second one fails.
fn write_skew(server: &Attacked, begin: [Data; 2]) -> Option<String> {
    server.rows("MATCH (d) DETACH DELETE d");
    server.rows("UNWIND ['ann', 'bob'] AS name CREATE (:Doctor {name: name, onCall: true})");
    let [mut ann, mut bob] = [(); 2].map(|()| server.bolt("neo4j"));
    for (client, extra) in [&mut ann, &mut bob].into_iter().zip(begin) {
        client.ask(BEGIN, [extra]).success();
        assert_eq!(rows(client, READ), [[Data::Int(2)]]);
    }
    rows(&mut ann, &leave("ann"));
    rows(&mut bob, &leave("bob"));
    ann.ask(COMMIT, []).success();
    let ended = bob.ask(COMMIT, []);
    let on_call = server.rows(READ)[0][0].as_i64().unwrap();
    match ended {
        crate::client::Answer::Failure(_) => {
            assert_eq!(on_call, 1);
            Some(ended.code())
        }
        _ => {
            assert_eq!(on_call, 0);
            None
        }
    }
}

fn metadata(level: &str) -> Data {
    map([("tx_metadata", map([("telar.isolation", level.into())]))])
}

fn server_with(isolation: &str) -> Attacked {
    let isolation = Isolations::parse(isolation).unwrap();
    let dbms = telar_server::dbms::DbmsSettings { isolation, ..Attacked::dbms_settings() };
    Attacked::of(None, dbms, |_| {})
}

#[test]
fn write_skew_is_refused_where_that_is_wanted() {
    let plain = || map([]);
    let conflict = Some(CONFLICT.to_owned());
    for (settings, begin, expected) in [
        ("snapshot", [plain(), plain()], None),
        ("snapshot", [metadata("snapshot"), metadata("snapshot")], None),
        ("snapshot", [metadata("serializable"), metadata("Serializable")], conflict.clone()),
        ("snapshot", [plain(), metadata("serializable")], conflict.clone()),
        ("serializable", [plain(), plain()], conflict.clone()),
        ("telar=serializable", [plain(), plain()], conflict.clone()),
        ("neo4j=serializable", [plain(), plain()], conflict.clone()),
        ("shop=serializable", [plain(), plain()], None),
        ("serializable", [metadata("snapshot"), metadata("snapshot")], None),
    ] {
        let shown = format!("{settings} {begin:?}");
        assert_eq!(write_skew(&server_with(settings), begin), expected, "{shown}");
    }
}

#[test]
fn transactions_over_http_say_how_they_are_isolated() {
    let server = Attacked::new();
    let tx = "/db/telar/query/v2/tx";
    for (field, expected) in [
        (json!({ "isolation": "SERIALIZABLE" }), 409),
        (json!({ "txMetadata": { "telar.isolation": "serializable" } }), 409),
        (json!({ "isolation": "SNAPSHOT" }), 202),
        (json!({}), 202),
    ] {
        server.rows("MATCH (d) DETACH DELETE d");
        server.rows("UNWIND ['ann', 'bob'] AS name CREATE (:Doctor {name: name, onCall: true})");
        let ids = ["ann", "bob"].map(|name| {
            let mut body = field.clone();
            body["statement"] = READ.into();
            let begun = server.ask("neo4j", "POST", tx, &body).json();
            let id = format!("{tx}/{}", begun["transaction"]["id"].as_str().unwrap());
            (id, name)
        });
        for (id, name) in &ids {
            let set = json!({ "statement": leave(name) });
            assert_eq!(server.ask("neo4j", "POST", id, &set).status, 202);
        }
        let ended = ids.map(|(id, _)| {
            let commit = format!("{id}/commit");
            server.ask("neo4j", "POST", &commit, &serde_json::Value::Null).status
        });
        assert_eq!(ended, [202, expected], "{field}");
    }
}

#[test]
fn what_is_no_level_is_refused_by_name() {
    let server = Attacked::new();
    let mut client = server.bolt("neo4j");
    for (begin, says) in [
        (metadata("strict"), "expected 'snapshot' or 'serializable', found 'strict'"),
        (
            map([("tx_metadata", map([("telar.isolatoin", "snapshot".into())]))]),
            "did you mean 'telar.isolation'?",
        ),
        (map([("tx_metadata", map([("telar.isolation", 1.into())]))]), "found INTEGER"),
    ] {
        for tag in [BEGIN, 0x10] {
            let fields = match tag {
                BEGIN => vec![begin.clone()],
                _ => vec!["RETURN 1".into(), map([]), begin.clone()],
            };
            let failure = client.ask(tag, fields).failure();
            assert!(failure.get("message").text().contains(says), "{failure:?}");
            assert_eq!(failure.get("code").text(), "Neo.ClientError.Request.Invalid");
            client.reset().success();
        }
    }
    let body = json!({ "statement": "RETURN 1", "isolation": "strict" });
    let answer = server.ask("neo4j", "POST", "/db/telar/query/v2", &body);
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("SERIALIZABLE"), "{}", answer.text());
}

/// Statements by themselves are tried again by the server, so that each is right in the end.
#[test]
fn statements_by_themselves_are_serializable_too() {
    let server = Attacked::new();
    let text = "MATCH (d:Doctor {onCall: true}) WITH count(d) AS n MATCH (me:Doctor {name: $name}) \
                WHERE n > 1 SET me.onCall = false";
    for _ in 0..20 {
        server.rows("MATCH (d) DETACH DELETE d");
        server.rows("UNWIND ['ann', 'bob'] AS name CREATE (:Doctor {name: name, onCall: true})");
        let mut clients = [(); 2].map(|()| server.bolt("neo4j"));
        for (client, name) in clients.iter_mut().zip(["ann", "bob"]) {
            let parameters = map([("name", name.into())]);
            client.send(0x10, [text.into(), parameters, metadata("serializable")]);
            client.send(PULL, [map([("n", (-1).into())])]);
        }
        for client in &mut clients {
            client.answer().success();
            client.rest().1.success();
        }
        assert_eq!(server.rows(READ), json!([[1]]));
    }
}
