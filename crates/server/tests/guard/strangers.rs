//! Users without any role: attack 9, and what it lets others do.

use serde_json::json;

use crate::client::Answer;
use crate::data::Data;
use crate::server::Attacked;

const FORBIDDEN: &str = "Neo.ClientError.Security.Forbidden";

#[test]
fn strangers_get_what_drivers_ask_and_nothing_else() {
    let server = Attacked::new();
    server.user("ann", None);
    let mut client = server.bolt("ann");
    for (text, columns) in [
        ("SHOW DATABASES", 13),
        ("SHOW CURRENT USER", 5),
        ("SHOW USER PRIVILEGES", 0),
        ("SHOW TRANSACTIONS", 0),
        ("SHOW PROCEDURES YIELD name", 1),
        (
            "CALL dbms.components() YIELD name, versions, edition UNWIND versions AS version \
          RETURN name, version, edition",
            3,
        ),
        ("CALL db.ping()", 1),
    ] {
        let over_http = server.post("ann", "system", text);
        assert_eq!(over_http.status, 202, "{text}: {}", over_http.text());
        client.ask(0x10, [text.into(), crate::data::map([]), on("system")]).success();
        let (rows, end) = client.pull(-1);
        end.success();
        assert!(columns == 0 || !rows.is_empty(), "{text}");
    }
    for text in [
        "RETURN 1",
        "UNWIND range(1, 1000000000) AS i RETURN count(i)",
        "RETURN reduce(s = [1], i IN range(1, 60) | [s, s])",
        "SHOW DATABASES YIELD name RETURN collect(name)",
        "MATCH (n) RETURN n",
        "EXPLAIN MATCH (a)-->(b)-->(c)-->(d) RETURN a",
        "CALL db.labels()",
        "CALL telar.changes(0)",
        "SHOW USERS",
        "CREATE (:N)",
        "CREATE USER eve SET PASSWORD 'battery-staple'",
    ] {
        for database in ["system", "telar"] {
            let answer = server.post("ann", database, text);
            assert_eq!((answer.status, &*answer.code()), (403, FORBIDDEN), "{text} on {database}");
            let run = client.ask(0x10, [text.into(), crate::data::map([]), on(database)]);
            // What is shown is looked up when rows are wanted.
            let refused = match run {
                Answer::Success(_) => client.pull(-1).1,
                refused => refused,
            };
            assert_eq!(refused.code(), FORBIDDEN, "{text} on {database}");
            client.reset().success();
        }
    }
    // However long the text is, and whatever it would take to plan it.
    let mut long = "WITH 1 AS x ".repeat(14_003);
    long.push_str("RETURN x");
    let run = client.ask(0x10, [long.as_str().into(), crate::data::map([]), on("system")]);
    assert_eq!(run.code(), FORBIDDEN);
    client.reset().success();
    let mut hops = "MATCH (a)".to_owned();
    hops.push_str(&"-->()".repeat(1000));
    hops.push_str(" RETURN a");
    for database in ["system", "telar"] {
        assert_eq!(server.post("ann", database, &hops).code(), FORBIDDEN);
        assert_eq!(server.post("ann", database, &format!("USE telar {hops}")).code(), FORBIDDEN);
    }
    // Who has to change the password can.
    server.admin("CREATE USER bob SET PASSWORD 'correct-horse' CHANGE REQUIRED");
    let change = "ALTER CURRENT USER SET PASSWORD FROM 'correct-horse' TO 'battery-staple'";
    assert_eq!(server.post("bob", "system", change).status, 202);
}

fn on(database: &str) -> Data {
    crate::data::map([("db", database.into())])
}

#[test]
fn plans_of_strangers_are_not_kept() {
    let server = Attacked::new();
    server.user("ann", None);
    let kept = || server.rows("CALL telar.plans() YIELD kept RETURN kept")[0][0].as_i64().unwrap();
    let before = kept();
    for number in 0..20 {
        let answer = server.post("ann", "telar", &format!("RETURN {number}"));
        assert_eq!(answer.status, 403);
    }
    assert!(kept() <= before + 1, "{} {}", before, json!(kept()));
}
