//! Each version says what its drivers expect.

use std::io::{Read, Write};

use telar_server::bolt::version::Version;

use crate::client::{Answer, Client, serve, serve_with};
use crate::data::{Data, map};

/// One client of each version, logged in.
fn each(try_one: impl Fn(Version, Client)) {
    let server = serve();
    Client::new(&server).rows("CREATE (:A {x: 1})-[:T]->(:B)");
    for version in Version::spoken() {
        try_one(version, Client::logged_in(&server, version.major, version.minor));
    }
}

#[test]
fn entities_have_element_ids_since_5() {
    each(|version, mut client| {
        let rows = client.rows("MATCH p = (a:A)-[t]->(b) RETURN a, t, p");
        let modern = version.major >= 5;
        let (node, relationship) = (rows[0][0].fields(b'N'), rows[0][1].fields(b'R'));
        assert_eq!((node.len(), relationship.len()), if modern { (4, 8) } else { (3, 5) });
        let path = rows[0][2].fields(b'P');
        assert_eq!(path[1].list()[0].fields(b'r').len(), if modern { 4 } else { 3 });
        if modern {
            let ids = client.rows("MATCH (a:A)-[t]->(b) RETURN elementId(a), elementId(t)");
            assert_eq!((&ids[0][0], &ids[0][1]), (&node[3], &relationship[5]));
            assert_eq!(relationship[6], node[3]);
        }
        let ids = client.rows("MATCH (a:A)-[t]->(b) RETURN id(a), id(t)");
        assert_eq!((&ids[0][0], &ids[0][1]), (&node[0], &relationship[0]));
    });
}

#[test]
fn times_count_from_utc_since_5_or_if_agreed_on() {
    let text =
        "RETURN datetime('1970-01-01T02:00+02:00'), datetime('1970-01-01T01:00[Europe/Berlin]')";
    each(|version, mut client| {
        let rows = client.rows(text);
        let (offset, zone, second) =
            if version.major >= 5 { (b'I', b'i', 0) } else { (b'F', b'f', 7200) };
        assert_eq!(rows[0][0].fields(offset)[0].int(), second);
        assert_eq!(rows[0][1].fields(zone)[0].int(), second / 2);
    });
    let server = serve();
    let mut client = Client::with_version(&server, 4, 4);
    let token = ("scheme", "none".into());
    let answer = client.ask(0x01, [map([token, ("patch_bolt", Data::from(vec!["utc"]))])]);
    assert_eq!(answer.success().get("patch_bolt"), &Data::from(vec!["utc"]));
    assert_eq!(client.rows(text)[0][0].fields(b'I')[0].int(), 0);
}

#[test]
fn failures_have_a_status_since_5_7() {
    each(|version, mut client| {
        let failure = client.run("RETURN 1 +").failure();
        let code = "Neo.ClientError.Statement.SyntaxError".into();
        if version < Version::new(5, 7) {
            assert_eq!(failure.get("code"), &code);
            assert_eq!(failure.get("gql_status"), &Data::Null);
        } else {
            assert_eq!(failure.get("neo4j_code"), &code);
            assert_eq!(failure.get("code"), &Data::Null);
            assert_eq!(failure.get("gql_status"), &"42001".into());
            assert!(failure.get("description").text().starts_with("error: "));
            let record = failure.get("diagnostic_record");
            assert_eq!(record.get("_classification"), &"CLIENT_ERROR".into());
            assert_eq!(record.get("_detail"), &"UnexpectedSyntax".into());
        }
        assert!(failure.get("message").text().contains("expected an expression"));
    });
}

#[test]
fn remarks_have_the_form_of_their_version() {
    let text = "MATCH (n:Nope) RETURN n";
    each(|version, mut client| {
        client.run(text).success();
        let end = client.pull(-1).1.success();
        if version < Version::new(5, 5) {
            let [remark] = end.get("notifications").list() else { panic!("{end:?}") };
            assert!(remark.get("code").text().ends_with("UnknownLabelWarning"));
            assert_eq!(remark.get("position").get("column").int(), 10);
            let category = version >= Version::new(5, 2);
            assert_eq!(*remark.get("category") != Data::Null, category);
        } else {
            let statuses = end.get("statuses").list();
            let status = |status: &Data| status.get("gql_status").text().to_owned();
            assert_eq!(statuses.iter().map(status).collect::<Vec<_>>(), ["02000", "01N50"]);
            let record = statuses[1].get("diagnostic_record");
            assert_eq!(record.get("_severity"), &"WARNING".into());
            assert_eq!(record.get("_position").get("offset").int(), 9);
        }
        // What is not wanted is not said.
        for (key, value) in [
            ("notifications_minimum_severity", "OFF".into()),
            ("notifications_disabled_categories", Data::from(vec!["UNRECOGNIZED"])),
        ] {
            client.run_with(text, map([]), map([(key, value)])).success();
            let end = client.pull(-1).1.success();
            assert_eq!(end.get("notifications"), &Data::Null);
            assert!(*end.get("statuses") == Data::Null || end.get("statuses").list().len() == 1);
        }
    });
}

#[test]
fn logins_have_the_form_of_their_version() {
    let server = serve();
    for version in Version::spoken() {
        let (major, minor) = (version.major, version.minor);
        let mut client = Client::with_version(&server, major, minor);
        let hello = client.ask(0x01, [map([("scheme", "none".into())])]).success();
        assert!(hello.get("server").text().starts_with("Neo4j/5."));
        assert!(hello.get("connection_id").text().starts_with("bolt-"));
        let answer = client.run("RETURN 1");
        assert_eq!(matches!(answer, Answer::Success(_)), version < Version::new(5, 1));
        let mut client = Client::logged_in(&server, major, minor);
        let answer = client.ask(0x54, [1.into()]);
        assert_eq!(matches!(answer, Answer::Success(_)), version >= Version::new(5, 4));
    }
}

#[test]
fn routes_lead_back_here() {
    let database = |client: &mut Client, context, extra| {
        let answer = client.ask(0x66, [context, Data::List(vec![]), extra]).success();
        let table = answer.get("rt").clone();
        let roles: Vec<_> =
            table.get("servers").list().iter().map(|s| s.get("role").text().to_owned()).collect();
        assert_eq!(roles, ["WRITE", "READ", "ROUTE"]);
        assert!(table.get("ttl").int() > 0);
        assert_eq!(table.get("db"), &"telar".into());
        let addresses: Vec<_> = table
            .get("servers")
            .list()
            .iter()
            .map(|s| s.get("addresses").list()[0].clone())
            .collect();
        assert!(addresses.iter().all(|address| *address == addresses[0]));
        addresses[0].text().to_owned()
    };
    each(|version, mut client| {
        let context = || map([("address", "db.example:7687".into())]);
        // Before 4.4 the database stands by itself.
        let plain = version < Version::new(4, 4);
        let of = |name: Data| if plain { name } else { map([("db", name)]) };
        assert_eq!(database(&mut client, context(), of(Data::Null)), "db.example:7687");
        assert_eq!(database(&mut client, context(), of("telar".into())), "db.example:7687");
        let unknown = [context(), Data::List(vec![]), of("nope".into())];
        let code = client.ask(0x66, unknown).code();
        assert_eq!(code, "Neo.ClientError.Database.DatabaseNotFound");
    });
    let server = serve_with(|settings| settings.advertised = Some("proxy:1".into()));
    let mut client = Client::new(&server);
    assert_eq!(database(&mut client, map([("address", "x:2".into())]), map([])), "proxy:1");
    let server = serve();
    let mut client = Client::new(&server);
    assert_eq!(database(&mut client, map([]), map([])), server.bolt_address().to_string());
}

#[test]
fn clients_may_choose_from_the_manifest() {
    let server = serve();
    let mut client = Client::silent(server.bolt_address());
    let none = [0; 4];
    let said = [[0x60, 0x60, 0xB0, 0x17], [0, 0, 1, 0xFF], [0, 8, 8, 5], none, none];
    client.say(said.as_flattened());
    let mut offers = [0; 4 + 1 + 3 * 4 + 1];
    client.stream.read_exact(&mut offers).unwrap();
    assert_eq!(offers[..9], [0, 0, 1, 0xFF, 3, 0, 0, 0, 6]);
    client.stream.write_all(&[0, 0, 7, 5, 0]).unwrap();
    client.log_in(true);
    assert_eq!(client.int("RETURN 1"), 1);
    let failure = client.run("nonsense").failure();
    assert_ne!(failure.get("gql_status"), &Data::Null, "this is 5.7");
}

#[test]
fn the_database_is_named_at_once_since_5_8() {
    each(|version, mut client| {
        let named = if version >= Version::new(5, 8) { "telar".into() } else { Data::Null };
        assert_eq!(client.run("RETURN 1").success().get("db"), &named);
        assert_eq!(client.pull(-1).1.success().get("db"), &"telar".into());
        assert_eq!(client.begin().success().get("db"), &named);
    });
}
