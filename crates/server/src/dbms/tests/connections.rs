//! `dbms.listConnections`, `dbms.killConnection` and `dbms.routing.getRoutingTable`; metadata of
//! transactions.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

#[test]
fn connections_are_listed_for_those_who_have_them_and_for_administrators() {
    let dbms = in_memory();
    let (admin, ann, bob) =
        (admin(&dbms), user(&dbms, "ann", "reader"), user(&dbms, "bob", "reader"));
    let strange = stranger(&dbms);
    let list =
        "CALL dbms.listConnections() YIELD connectionId, username RETURN connectionId, username";
    let line = |client: &Client| {
        let (connection, user) = (client.connection(), client.user().unwrap());
        format!("'{connection}' '{user}'")
    };
    let mut all = [&admin, &ann, &bob].map(line).to_vec();
    all.sort();
    let sorted = |client: &Client| {
        let mut rows = run(client, list);
        rows.sort();
        rows
    };
    // Who has not logged in is not listed.
    assert_eq!(sorted(&admin), all);
    assert_eq!(sorted(&ann), [line(&ann)]);
    drop((bob, strange));
    assert_eq!(sorted(&admin).len(), 2);
    let rest = "CALL dbms.listConnections() YIELD connector, userAgent, clientAddress, connectTime \
                RETURN connector, userAgent, clientAddress, datetime(connectTime) <= datetime()";
    assert_eq!(run(&ann, rest), ["'bolt' 'test/1' '127.0.0.1:4711' TRUE"]);
}

#[test]
fn a_connection_is_ended_by_its_user_or_an_administrator() {
    let dbms = in_memory();
    let (admin, ann, bob) =
        (admin(&dbms), user(&dbms, "ann", "reader"), user(&dbms, "bob", "reader"));
    let ended = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&ended);
    bob.reached("127.0.0.1:7687".into(), move || _ = counter.fetch_add(1, Ordering::SeqCst));
    let (id, own) = (bob.connection(), ann.connection());
    let kill = format!("CALL dbms.killConnection('{id}') YIELD username, message");
    let none = "'n/a' 'No connection found with this id'";
    let found = "'bob' 'Connection found'";
    assert_eq!(run(&ann, &kill), [none]);
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    assert_eq!(run(&bob, &kill), [found]);
    assert_eq!(run(&admin, &kill), [found]);
    assert_eq!(ended.load(Ordering::SeqCst), 2);
    // One that cannot be ended is as if it were not there.
    let several = format!("CALL dbms.killConnections(['{own}', '{id}', 'x']) YIELD message");
    let none = "'No connection found with this id'";
    assert_eq!(run(&admin, &several), [none, "'Connection found'", none]);
}

#[test]
fn routing_tables_name_the_server_for_databases_that_the_caller_sees() {
    let dbms = in_memory();
    let (admin, ann) = (admin(&dbms), user(&dbms, "ann", ""));
    let table = "CALL dbms.routing.getRoutingTable({}, 'neo4j') YIELD ttl, servers \
                 UNWIND servers AS s RETURN ttl, s.role, s.addresses";
    assert_eq!(run(&admin, table), Vec::<String>::new(), "nobody listens");
    dbms.reached_at(None, "127.0.0.1:7687".parse().unwrap());
    let roles = ["WRITE", "READ", "ROUTE"];
    let expected = |address: &str| roles.map(|role| format!("300 '{role}' ['{address}']"));
    assert_eq!(run(&admin, table), expected("127.0.0.1:7687"));
    let asked = table.replace("{}", "{address: 'db.example:7687'}");
    assert_eq!(run(&admin, &asked), expected("db.example:7687"));
    let unknown = "CALL dbms.routing.getRoutingTable({}, 'nope')";
    assert_eq!(code(&admin, unknown), NOT_FOUND);
    assert_eq!(code(&ann, table), FORBIDDEN);
}

#[test]
fn metadata_that_a_statement_sets_are_listed_with_its_transaction() {
    let dbms = in_memory();
    let client = admin(&dbms);
    let options = Options::default();
    let outcome = transaction(&client, &options, |mut work| {
        let mut step = |text: &str| {
            let mut kept = Kept::default();
            work.run(text, &ValueMap::default(), &mut kept).map(|_| kept.0)
        };
        step("CALL tx.setMetaData({app: 'shop'})").unwrap();
        let own = step("CALL tx.getMetaData() YIELD metadata RETURN metadata").unwrap();
        assert_eq!(own, ["{app: 'shop'}"]);
        let listed = "SHOW TRANSACTIONS YIELD metaData WHERE metaData.app = 'shop'";
        assert_eq!(run(&client, listed), ["{app: 'shop'}"]);
        let long = format!("CALL tx.setMetaData({{app: '{}'}})", "x".repeat(3000));
        step(&long).unwrap_err().code
    });
    assert_eq!(outcome.unwrap(), INVALID);
}
