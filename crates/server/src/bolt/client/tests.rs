//! The client against the server of this crate, compared with an embedded session.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use telar_db::query::cypher::Secret;
use telar_db::query::literal;
use telar_db::{Value, ValueMap};

use super::*;
use crate::bolt::{Server, Settings};
use crate::dbms::{Dbms, DbmsSettings, Security};

/// Longer than anything takes that is not stuck.
const PATIENCE: Duration = Duration::from_secs(60);

struct Served {
    dbms: Arc<Dbms>,
    server: Server,
    flag: Arc<AtomicBool>,
}

impl Served {
    fn new(change: impl FnOnce(&mut Security, &mut Settings)) -> Self {
        let mut security =
            Security { enabled: false, hash_memory_kib: 64, hash_passes: 1, ..Security::default() };
        let mut bolt = Settings { address: ([127, 0, 0, 1], 0).into(), ..Settings::default() };
        change(&mut security, &mut bolt);
        let settings = DbmsSettings { security, ..DbmsSettings::default() };
        let dbms = Arc::new(Dbms::open(None, settings).unwrap());
        let server = Server::start(Arc::clone(&dbms), bolt).unwrap();
        Self { dbms, server, flag: Arc::default() }
    }

    fn address(&self) -> Address {
        format!("bolt://{}", self.server.address()).parse().unwrap()
    }

    fn try_connect(&self, user: &str, password: &str) -> Result<Client, Error> {
        let login = Login { user: user.into(), password: password.into() };
        Client::connect(self.address(), login, None, Arc::clone(&self.flag))
    }

    fn connect(&self) -> Client {
        self.try_connect("", "").unwrap()
    }

    fn embedded(&self, text: &str, parameters: &ValueMap) -> Answer {
        let database = self.dbms.database(None).unwrap();
        database.session().run_with(text, parameters).unwrap().into()
    }
}

fn run(client: &mut Client, text: &str) -> Answer {
    client.run(text, &ValueMap::new()).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// Rows as text, in which nodes and relationships are what they hold.
fn rows(answer: &Answer) -> Vec<String> {
    fn shown(value: &Value, answer: &Answer) -> String {
        let entities = &answer.entities;
        match value {
            Value::Vertex(vertex) => format!("{vertex} {:?}", entities.nodes[vertex]),
            Value::Edge(edge) => {
                format!("{} {} {:?}", edge.src, edge.dst, entities.relationships[edge])
            }
            Value::Path(path) => {
                let nodes = path.vertices().iter().map(|v| shown(&Value::Vertex(*v), answer));
                let edges = path.edges().iter().map(|e| shown(&Value::from(*e), answer));
                format!("{:?} {:?}", nodes.collect::<Vec<_>>(), edges.collect::<Vec<_>>())
            }
            Value::List(list) => {
                format!("{:?}", list.iter().map(|v| shown(v, answer)).collect::<Vec<_>>())
            }
            Value::Map(map) => {
                let entry = |(key, value): (&Arc<str>, &Value)| (key.clone(), shown(value, answer));
                format!("{:?}", map.iter().map(entry).collect::<Vec<_>>())
            }
            other => literal(other),
        }
    }
    let row = |row: &Vec<Value>| row.iter().map(|v| shown(v, answer)).collect::<Vec<_>>().join(" ");
    answer.rows.iter().map(row).collect()
}

#[test]
fn answers_are_those_of_an_embedded_session() {
    let served = Served::new(|_, _| {});
    let mut client = served.connect();
    let made = run(
        &mut client,
        "CREATE (a:P:Q {name: 'Ada', at: date('2026-01-02'), l: [1, 2]})-[:KNOWS {since: 1}]->
         (b:P {name: 'Bob'}), (b)-[:KNOWS {since: 2}]->(a), (b)-[:LIKES]->(b), (:Alone)",
    );
    let c = &made.counters;
    assert_eq!((c.nodes_created, c.relationships_created, c.labels_added), (3, 3, 4));
    assert!(made.columns.is_empty() && made.rows.is_empty());
    let parameters = [
        ("text", Value::from("grün")),
        ("list", Value::List([Value::Int(1), Value::Null, Value::from("x")].into())),
        ("long", Value::from("x".repeat(200_000).as_str())),
    ];
    let parameters: ValueMap = parameters.into_iter().map(|(k, v)| (k.into(), v)).collect();
    for text in [
        "RETURN null AS n, true AS t, -1 AS i, 9223372036854775807 AS m, 1.5 AS f, 'ä' AS s",
        "RETURN [1, [2, {a: {b: null}}]] AS nested, {} AS empty, [] AS none",
        "RETURN date('2026-02-03'), time('10:11:12+02:00'), localtime('10:11:12.5')",
        "RETURN datetime('2026-02-03T10:11:12[Europe/Oslo]'), datetime('2026-02-03T10:11Z')",
        "RETURN localdatetime('1900-02-03T10:11:12.123456789'), duration('P1M2DT3.5S')",
        "RETURN point({x: 1, y: 2}), point({longitude: 8.5, latitude: 50, height: 100})",
        "RETURN $text, $list, size($long) AS size, $long",
        "MATCH (n) RETURN n ORDER BY id(n)",
        "MATCH (a)-[r]->(b) RETURN a, r, b ORDER BY id(a), id(b)",
        "MATCH p = (a)-[*1..3]-(b) RETURN p ORDER BY length(p), toString(id(a))",
        "MATCH (a:Alone) RETURN a, [a, {of: a}] AS in, COLLECT { MATCH (x:P) RETURN x } AS all",
        "UNWIND range(1, 4321) AS x RETURN x, toString(x) AS t",
        "MATCH (n:Nobody) RETURN n",
        "MATCH (n:P) SET n.seen = true",
        "MATCH (n:P) SET n:Seen RETURN n.name AS name ORDER BY name",
        "EXPLAIN MATCH (n:P)-[:KNOWS]->(m) WHERE n.name = 'Ada' RETURN m, count(*)",
    ] {
        // The first run tells no change from the second.
        served.embedded(text, &parameters);
        let (found, wanted) = (client.run(text, &parameters), served.embedded(text, &parameters));
        let found = found.unwrap_or_else(|e| panic!("{text}\n{e}"));
        assert_eq!(found.columns, wanted.columns, "{text}");
        assert_eq!(rows(&found), rows(&wanted), "{text}");
        assert_eq!(found.counters, wanted.counters, "{text}");
        assert_eq!(found.plan, wanted.plan, "{text}");
        assert_eq!(found.remarks, wanted.remarks, "{text}");
    }
    let profiled = run(&mut client, "PROFILE MATCH (n:P) RETURN n.name").plan.unwrap();
    assert!(profiled.contains("Hits") && profiled.contains("Time/ms"), "{profiled}");
}

#[test]
fn what_is_wrong_is_said_with_code_and_place_and_the_next_statement_runs() {
    let served = Served::new(|_, _| {});
    let mut client = served.connect();
    for (text, code, says) in [
        ("RETURN 1,\n  foo", "Neo.ClientError.Statement.SyntaxError", "(line 2, column 3)\n  foo"),
        ("RETURN 1 / 0", "Neo.ClientError.Statement.ArithmeticError", "zero"),
        ("RETRN 1", "Neo.ClientError.Statement.SyntaxError", "RETURN"),
        // Rows have come before.
        ("UNWIND range(5000, 0, -1) AS x RETURN 1 / x", "Neo.ClientError.Statement.Arith", "zero"),
    ] {
        let error = client.run(text, &ValueMap::new()).unwrap_err();
        assert!(error.code().starts_with(code) && error.to_string().contains(says), "{error:?}");
        assert_eq!(rows(&run(&mut client, "RETURN 7")), ["7"]);
    }
    client.set_database(Some("nowhere".into()));
    let error = client.run("RETURN 1", &ValueMap::new()).unwrap_err();
    assert_eq!(error.code(), "Neo.ClientError.Database.DatabaseNotFound");
    client.set_database(None);
    assert_eq!(rows(&run(&mut client, "RETURN 7")), ["7"]);
}

#[test]
fn the_level_of_isolation_is_told_to_the_server() {
    for level in [None, Some(Isolation::Snapshot), Some(Isolation::Serializable)] {
        let served = Served::new(|_, _| {});
        let mut clients = [served.connect(), served.connect()];
        run(&mut clients[0], "CREATE (:Doctor {on: true}), (:Doctor {on: true})");
        // Each takes one of two off duty because the other is on: write skew.
        for (n, client) in clients.iter_mut().enumerate() {
            client.set_isolation(level);
            client.begin().unwrap();
            let on = "MATCH (d:Doctor) WHERE d.on RETURN count(d)";
            assert_eq!(rows(&run(client, on)), ["2"]);
            run(client, &format!("MATCH (d:Doctor) WITH d SKIP {n} LIMIT 1 SET d.on = false"));
        }
        let [first, second] = &mut clients;
        first.commit().unwrap();
        let done = second.commit();
        match level {
            Some(Isolation::Serializable) => {
                let code = done.unwrap_err().code().to_owned();
                assert!(code.starts_with("Neo.TransientError."), "{code}");
            }
            _ => done.unwrap(),
        }
    }
}

#[test]
fn transactions_are_all_or_nothing() {
    let served = Served::new(|_, _| {});
    let mut client = served.connect();
    let count = |client: &mut Client| rows(&run(client, "MATCH (n) RETURN count(n)"))[0].clone();
    client.begin().unwrap();
    run(&mut client, "CREATE (:A)");
    assert!(client.in_transaction());
    client.rollback().unwrap();
    assert_eq!((client.in_transaction(), &*count(&mut client)), (false, "0"));
    client.begin().unwrap();
    run(&mut client, "CREATE (:A)");
    run(&mut client, "CREATE (:A)");
    client.commit().unwrap();
    assert_eq!((client.in_transaction(), &*count(&mut client)), (false, "2"));

    // After a failure the transaction is undone, which whoever uses it has to notice.
    client.begin().unwrap();
    run(&mut client, "CREATE (:A)");
    assert!(client.run("RETURN 1 / 0", &ValueMap::new()).is_err());
    let error = client.run("CREATE (:A)", &ValueMap::new()).unwrap_err();
    assert!(client.in_transaction() && error.to_string().contains(":rollback"), "{error}");
    assert!(client.commit().unwrap_err().to_string().contains("nothing was committed"));
    assert_eq!((client.in_transaction(), &*count(&mut client)), (false, "2"));
    client.begin().unwrap();
    assert!(client.run("RETURN 1 / 0", &ValueMap::new()).is_err());
    client.rollback().unwrap();
    assert_eq!(count(&mut client), "2");
}

#[test]
fn what_runs_is_ended_from_another_thread() {
    let served = Served::new(|_, _| {});
    let mut client = served.connect();
    let database = served.dbms.database(None).unwrap();
    let running = database.runtime().running();
    let forever = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b WITH a, b \
                   WHERE a + b < 0 RETURN count(*) AS n";
    let endless = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN a, b";
    for (text, in_transaction) in [(forever, false), (endless, false), (forever, true)] {
        if in_transaction {
            client.begin().unwrap();
            run(&mut client, "CREATE (:A)");
        }
        let done = AtomicBool::new(false);
        let ended = thread::scope(|scope| {
            scope.spawn(|| {
                let begun = Instant::now();
                while running.count() == 0 && begun.elapsed() < PATIENCE {
                    thread::sleep(Duration::from_millis(5));
                }
                // The client clears the flag when it begins, which may be later.
                while !done.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
                    thread::sleep(Duration::from_millis(20));
                    served.flag.store(true, Ordering::Relaxed);
                }
            });
            let ended = client.run(text, &ValueMap::new());
            done.store(true, Ordering::Relaxed);
            ended
        });
        assert_eq!(ended.unwrap_err(), Error::Interrupted);
        if in_transaction {
            client.rollback().unwrap();
        }
        assert_eq!(rows(&run(&mut client, "MATCH (a:A) RETURN count(a)")), ["0"]);
        assert_eq!(running.count(), 0);
    }
}

#[test]
fn a_connection_that_was_lost_is_made_again() {
    let served = Served::new(|_, _| {});
    let mut client = served.connect();
    let own = rows(&run(&mut client, "CALL dbms.listConnections() YIELD connectionId"));
    client.begin().unwrap();
    let kill = format!("CALL dbms.killConnection({}) YIELD message", own[0]);
    assert_eq!(rows(&run(&mut served.connect(), &kill)), ["'Connection found'"]);
    let begun = Instant::now();
    while served.server.connections() > 0 {
        assert!(begun.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(5));
    }
    let error = client.run("RETURN 1", &ValueMap::new()).unwrap_err();
    assert!(matches!(&error, Error::Lost(why) if why.contains("undone")), "{error:?}");
    client.rollback().unwrap();
    assert_eq!(rows(&run(&mut client, "RETURN 7")), ["7"]);
}

/// A server that ends the connection because of a request says why before.
#[test]
fn a_request_that_ends_the_connection_is_told_why() {
    let served = Served::new(|_, bolt| bolt.message_bytes_max = 70_000);
    let mut client = served.connect();
    let text = format!("RETURN '{}'", "x".repeat(100_000));
    let error = client.run(&text, &ValueMap::new()).unwrap_err();
    assert!(error.to_string().contains("bolt.message_bytes"), "{error}");
    assert_eq!(rows(&run(&mut client, "RETURN 7")), ["7"]);
}

#[test]
fn who_may_not_come_in_hears_why_and_passwords_can_be_changed() {
    let served = Served::new(|security, _| {
        security.enabled = true;
        security.initial_password = None;
    });
    let refused = |user: &str, password: &str| served.try_connect(user, password).unwrap_err();
    assert_eq!(refused("neo4j", "wrong").code(), "Neo.ClientError.Security.Unauthorized");
    assert_eq!(refused("", "").code(), "Neo.ClientError.Security.Unauthorized");
    let mut client = served.try_connect("neo4j", "neo4j").unwrap();
    let error = client.run("RETURN 1", &ValueMap::new()).unwrap_err();
    assert_eq!(error.code(), "Neo.ClientError.Security.CredentialsExpired");
    assert!(client.change_password("short".into()).is_err());
    client.change_password("long enough".into()).unwrap();
    assert_eq!(rows(&run(&mut client, "RETURN 7")), ["7"]);
    drop(client);
    let mut client = served.try_connect("neo4j", "long enough").unwrap();
    assert_eq!(rows(&run(&mut client, "SHOW CURRENT USER YIELD user RETURN user")), ["'neo4j'"]);
    assert!(!format!("{client:?}").contains("long enough"));

    let own = Served::new(|security, _| {
        security.enabled = true;
        security.initial_password = Some(Secret::new("a good one"));
    });
    assert!(own.try_connect("neo4j", "a good one").is_ok());
}

#[test]
fn what_is_no_server_of_bolt_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address: Address = format!("bolt://{}", listener.local_addr().unwrap()).parse().unwrap();
    let connect = || {
        let connected = Client::connect(address.clone(), Login::default(), None, Arc::default());
        connected.unwrap_err().to_string()
    };
    for (answer, says) in
        [(&b"HTTP"[..], "its port for HTTP"), (&[0, 0, 0, 0], "4.4 to 5.8"), (&[], "encryption")]
    {
        let error = thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                std::io::Read::read_exact(&mut stream, &mut [0; 20]).unwrap();
                std::io::Write::write_all(&mut stream, answer).unwrap();
            });
            connect()
        });
        assert!(error.contains(says) && error.contains(&address.to_string()), "{error}");
    }
    drop(listener);
    assert!(connect().contains("nothing listens there"));
}
