//! Rows: as many as were asked for, in any order, and never more in memory than that.

use crate::client::{BEGIN, COMMIT, Client, DISCARD, ENDLESS, PULL, ROLLBACK, serve, serve_with};
use crate::data::{Data, map};

fn numbers(from: i64, to: i64) -> Vec<Vec<Data>> {
    (from..=to).map(|x| vec![Data::Int(x)]).collect()
}

const TEN: &str = "UNWIND range(1, 10) AS x RETURN x";

#[test]
fn rows_come_in_the_portions_asked_for() {
    let server = serve();
    let mut client = Client::new(&server);
    let begun = client.run(TEN).success();
    assert_eq!(begun.get("fields"), &Data::from(vec!["x"]));
    let (rows, more) = client.pull(4);
    assert_eq!((rows, more.success().get("has_more")), (numbers(1, 4), &Data::Bool(true)));
    let (rows, more) = client.demand(DISCARD, 3, -1);
    assert_eq!((rows.len(), more.success().get("has_more")), (0, &Data::Bool(true)));
    // Exactly what is left: there is no more, and the server knows.
    let (rows, end) = client.pull(3);
    let end = end.success();
    assert_eq!((rows, end.get("has_more")), (numbers(8, 10), &Data::Null));
    assert_eq!((end.get("type"), end.get("db")), (&"r".into(), &"telar".into()));
    client.run("RETURN 1 AS x LIMIT 0").success();
    assert_eq!(client.pull(5).0.len(), 0);
}

#[test]
fn summaries_say_what_was_done() {
    let server = serve();
    let mut client = Client::new(&server);
    let mut summary = |text: &str| {
        client.run(text).success();
        client.demand(DISCARD, -1, -1).1.success()
    };
    let end = summary("CREATE (:A {x: 1})-[:T]->(:B)");
    assert_eq!(end.get("type"), &"w".into());
    let stats = end.get("stats");
    assert_eq!(stats.get("contains-updates"), &Data::Bool(true));
    for (key, count) in [
        ("nodes-created", 2),
        ("relationships-created", 1),
        ("properties-set", 1),
        ("labels-added", 2),
    ] {
        assert_eq!(stats.get(key), &Data::Int(count), "{key}");
    }
    assert_eq!(stats.get("nodes-deleted"), &Data::Null);
    assert_eq!(summary("MATCH (n) SET n.y = 1 RETURN n").get("type"), &"rw".into());
    assert_eq!(summary("CREATE INDEX i FOR (n:A) ON (n.x)").get("type"), &"s".into());
    assert_eq!(summary("MATCH (n) RETURN n").get("stats"), &Data::Null);
    let end = summary("EXPLAIN CREATE ()");
    assert_eq!((end.get("stats"), end.get("profile")), (&Data::Null, &Data::Null));
    assert!(!end.get("plan").get("operatorType").text().is_empty());
    // All of it is measured, although nobody wants the rows.
    let end = summary("PROFILE MATCH (n) WITH n ORDER BY n.x RETURN n");
    let profile = end.get("profile");
    let (args, below) = (profile.get("args"), &profile.get("children").list()[0]);
    assert!(args.get("GlobalMemory").int() > 0 && args.get("Memory").int() >= 0);
    assert!(args.get("Time").int() > 0 && args.get("EstimatedRows") != &Data::Null);
    assert_eq!(below.get("args").get("GlobalMemory"), &Data::Null);
    assert_eq!(profile.get("rows").int(), 2);
    assert_eq!(profile.get("args").get("Rows").int(), 2);
    assert!(!profile.get("children").list().is_empty());
}

#[test]
fn an_endless_result_costs_what_is_read_of_it() {
    let server = serve();
    let mut client = Client::new(&server);
    for in_transaction in [false, true] {
        if in_transaction {
            client.begin().success();
        }
        client.run(ENDLESS).success();
        for portion in 0..20 {
            let (rows, more) = client.pull(1000);
            assert_eq!(rows[0], [Data::Int(1), Data::Int(portion * 1000 + 1)]);
            assert_eq!((rows.len(), more.success().get("has_more")), (1000, &Data::Bool(true)));
        }
        // To leave out the rest is not to compute it.
        let (rows, end) = client.demand(DISCARD, -1, -1);
        assert_eq!((rows.len(), end.success().get("has_more")), (0, &Data::Null));
    }
    assert_eq!(client.int("RETURN 1"), 1);
    client.run(ENDLESS).success();
    client.ask(COMMIT, []).success();
    assert_eq!(client.int("RETURN 1"), 1);
}

#[test]
fn results_of_a_transaction_are_read_in_any_order() {
    let server = serve();
    let mut client = Client::new(&server);
    client.begin().success();
    let mut qids = Vec::new();
    for _ in 0..3 {
        qids.push(client.run(TEN).success().get("qid").int());
        assert_eq!(client.pull(2).0, numbers(1, 2));
    }
    assert_eq!(qids, [0, 1, 2]);
    let (rows, more) = client.demand(PULL, 3, 0);
    assert_eq!((rows, more.success().get("has_more")), (numbers(3, 5), &Data::Bool(true)));
    // The last one is the one that is meant if none is named.
    assert_eq!(client.pull(1).0, numbers(3, 3));
    let (rows, more) = client.demand(DISCARD, 7, 1);
    assert_eq!((rows.len(), more.success().get("has_more")), (0, &Data::Bool(true)));
    for (qid, left) in [(2, numbers(4, 10)), (0, numbers(6, 10)), (1, numbers(10, 10))] {
        let (rows, end) = client.demand(PULL, -1, qid);
        assert_eq!((rows, end.success().get("type")), (left, &"r".into()), "{qid}");
    }
    assert_eq!(client.int("RETURN 1"), 1);
    client.ask(COMMIT, []).success();

    client.begin().success();
    client.run(TEN).success();
    client.run(TEN).success();
    let (_, failure) = client.demand(PULL, -1, 7);
    assert_eq!(failure.code(), "Neo.ClientError.Request.Invalid");
    client.reset().success();
}

#[test]
fn what_waits_to_be_read_is_limited() {
    let server = serve_with(|settings| settings.kept_bytes_max = 300_000);
    let mut client = Client::new(&server);
    client.begin().success();
    client.run(TEN).success();
    client.run("RETURN 1").success();
    client.run(ENDLESS).success();
    // The next one needs room for the rest of an endless result.
    let code = client.run("RETURN 2").code();
    assert_eq!(code, "Neo.TransientError.General.MemoryPoolOutOfMemoryError");
    client.reset().success();
    // What was read makes room again.
    client.begin().success();
    for _ in 0..20 {
        let qid = client.run("UNWIND range(1, 10000) AS x RETURN x").success().get("qid").int();
        client.run("RETURN 1").success();
        assert_eq!(client.pull(-1).0.len(), 1);
        assert_eq!(client.demand(PULL, -1, qid).0.len(), 10_000);
    }
    client.ask(ROLLBACK, []).success();
}

#[test]
fn a_slow_reader_holds_up_nobody() {
    let server = serve();
    let (mut slow, mut writer) = (Client::new(&server), Client::new(&server));
    writer.rows("UNWIND range(1, 2000) AS x CREATE (:N {x: x})");
    slow.run("MATCH (n:N), (m:N) RETURN n.x, m.x").success();
    assert_eq!(slow.pull(10).0.len(), 10);
    // The rows of a statement that writes were made, and committed, before they are asked for.
    let mut other = Client::new(&server);
    other.run("MATCH (n:N) SET n.y = 1 RETURN n.x").success();
    for x in 0..20 {
        writer.rows(&format!("MATCH (n:N {{x: {x}}}) SET n.y = 2"));
    }
    assert_eq!(writer.int("MATCH (n:N) WHERE n.y = 1 RETURN count(n)"), 2000 - 19);
    assert_eq!(slow.pull(10).0.len(), 10);
    assert_eq!(other.pull(-1).0.len(), 2000);
}

#[test]
fn values_that_are_sent_come_back() {
    let server = serve();
    let mut client = Client::new(&server);
    let long = "x".repeat(200_000);
    let structure = |tag, fields: &[i64]| {
        Data::Structure(tag, fields.iter().map(|field| Data::Int(*field)).collect())
    };
    let values = Data::List(vec![
        Data::Null,
        Data::Bool(false),
        Data::Int(i64::MIN),
        Data::Float(-0.5),
        Data::Bytes(vec![1, 2, 255]),
        Data::from(&*long),
        Data::from("\u{e9}\u{1F980}"),
        map([("a", Data::List(vec![map([])]))]),
        structure(b'D', &[-365_243_219_162]),
        structure(b't', &[86_399_999_999_999]),
        structure(b'T', &[0, -64_800]),
        structure(b'd', &[-1, 999_999_999]),
        structure(b'I', &[1_700_000_000, 1, 3600]),
        Data::Structure(b'i', vec![1_700_000_000.into(), 1.into(), "Europe/Paris".into()]),
        structure(b'E', &[1, -2, 3, 4]),
        Data::Structure(b'X', vec![7203.into(), Data::Float(1.0), Data::Float(2.0)]),
    ]);
    let parameters = map([("x", values.clone())]);
    client.run_with("RETURN $x AS x", parameters, map([])).success();
    assert_eq!(client.pull(-1).0, [[values]]);
}

#[test]
fn paths_name_each_thing_once() {
    let server = serve();
    let mut client = Client::new(&server);
    client.rows("CREATE (a:A {x: 1})-[:T {y: 2}]->(b:B), (b)<-[:U]-(a)");
    let rows = client.rows("MATCH p = (a:A)-[:T]->(b)<-[:U]-(a)-[:T]->(b) RETURN p");
    assert!(rows.is_empty(), "a relationship stands once in a path");
    let rows = client.rows("MATCH p = (a:A)-[:T]->(b)<-[:U]-(a) RETURN p");
    let [nodes, relationships, steps] = rows[0][0].fields(b'P') else { panic!("no path") };
    let steps: Vec<i64> = steps.list().iter().map(Data::int).collect();
    assert_eq!(steps, [1, 1, -2, 0]);
    let (nodes, relationships) = (nodes.list(), relationships.list());
    assert_eq!((nodes.len(), relationships.len()), (2, 2));
    let a = nodes[0].fields(b'N');
    assert_eq!(a[1..3], [Data::from(vec!["A"]), map([("x", 1.into())])]);
    let t = relationships[0].fields(b'r');
    assert_eq!((&t[1], &t[2]), (&Data::from("T"), &map([("y", 2.into())])));
}

#[test]
fn a_transaction_says_begin_once() {
    let server = serve();
    let mut client = Client::new(&server);
    client.ask(BEGIN, [map([("mode", "r".into())])]).success();
    assert_eq!(client.run("CREATE ()").code(), "Neo.ClientError.Statement.AccessMode");
}
