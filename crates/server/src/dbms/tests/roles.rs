//! Who may do what.

use super::*;

/// A statement of each kind, and the least role that may run it: 0 anybody, 1 reader, 2 writer,
/// 3 admin.
const STATEMENTS: [(&str, u8); 47] = [
    ("RETURN 1", 1),
    ("MATCH (n) RETURN n", 1),
    ("EXPLAIN MATCH (n) DELETE n", 1),
    ("PROFILE MATCH (n) RETURN n", 1),
    ("CALL db.labels()", 1),
    ("CALL telar.changes(0)", 1),
    ("SHOW INDEXES", 1),
    ("SHOW PROCEDURES", 1),
    ("SHOW TRANSACTIONS", 1),
    ("TERMINATE TRANSACTIONS 'telar-transaction-99999'", 1),
    ("SHOW DATABASES YIELD name RETURN name, COUNT { MATCH (n) RETURN n }", 1),
    ("SHOW DATABASES", 0),
    ("SHOW HOME DATABASE", 0),
    ("SHOW CURRENT USER", 0),
    ("SHOW USER PRIVILEGES", 0),
    ("CREATE (n:A {x: 1})", 2),
    ("MERGE (n:A {x: 1})", 2),
    ("PROFILE CREATE (n:A {x: 1})", 2),
    ("MATCH (n:A) SET n.x = 2", 2),
    ("MATCH (n:A) REMOVE n.x", 2),
    ("MATCH (n:Nobody) DETACH DELETE n", 2),
    ("UNWIND [1, 2] AS x CALL (x) { CREATE (:B) } IN TRANSACTIONS", 2),
    ("FOREACH (x IN [1] | CREATE (:B))", 2),
    ("CREATE INDEX ix IF NOT EXISTS FOR (n:A) ON (n.x)", 2),
    ("DROP INDEX iy IF EXISTS", 2),
    ("CREATE CONSTRAINT c IF NOT EXISTS FOR (n:C) REQUIRE n.x IS UNIQUE", 2),
    ("SHOW USERS", 3),
    ("SHOW USERS WITH AUTH YIELD user, provider, auth", 3),
    ("SHOW SETTINGS", 3),
    ("SHOW SETTINGS 'bolt.address' YIELD name, value", 3),
    ("CALL dbms.listConfig('bolt')", 3),
    ("SHOW ROLES", 3),
    ("SHOW ROLES WITH USERS", 3),
    ("SHOW PRIVILEGES", 3),
    ("SHOW ROLE reader PRIVILEGES", 3),
    ("SHOW USER neo4j PRIVILEGES", 3),
    ("RENAME USER x IF EXISTS TO y", 3),
    ("CREATE USER x IF NOT EXISTS SET PASSWORD 'long enough'", 3),
    ("EXPLAIN DROP USER x", 3),
    ("ALTER USER x SET STATUS SUSPENDED", 3),
    ("GRANT ROLE reader TO x", 3),
    ("REVOKE ROLE reader FROM x", 3),
    ("DROP USER x IF EXISTS", 3),
    ("CREATE DATABASE xyz IF NOT EXISTS", 3),
    ("STOP DATABASE xyz", 3),
    ("START DATABASE xyz", 3),
    ("DROP DATABASE xyz IF EXISTS", 3),
];

#[test]
fn privileges_are_what_roles_allow() {
    let dbms = in_memory();
    let admin = admin(&dbms);
    run(&admin, "CREATE DATABASE other");
    let ada = user(&dbms, "ada", "reader");
    run(&admin, "GRANT ROLE writer TO ada ON DATABASE other");
    let show = |client, what: &str| run(client, &format!("SHOW {what}"));
    let actions = |role| {
        let text = format!(
            "SHOW ROLE {role} PRIVILEGES YIELD action, segment WHERE NOT segment CONTAINS 'REL'"
        );
        run(&admin, &text).iter().map(|row| row.replace('\'', "")).collect::<Vec<_>>()
    };
    let reader = [
        "access database",
        "match NODE(*)",
        "execute PROCEDURE(*)",
        "show_index database",
        "show_constraint database",
    ];
    assert_eq!(actions("reader"), reader);
    assert!(actions("writer").iter().any(|row| row == "write NODE(*)"));
    assert!(!actions("writer").iter().any(|row| row.starts_with("dbms_actions")));
    assert!(actions("admin").iter().any(|row| row.starts_with("dbms_actions")));
    assert_eq!(actions("nobody"), Vec::<String>::new());
    let all: usize = ["reader", "writer", "admin"]
        .map(|role| show(&admin, &format!("ROLE {role} PRIVILEGES")).len())
        .iter()
        .sum();
    assert_eq!(show(&admin, "PRIVILEGES").len(), all);
    assert_eq!(show(&admin, "ALL PRIVILEGES").len(), all);
    // A user's are those of his grants, each with where it holds.
    let own = show(&ada, "USER PRIVILEGES");
    assert_eq!(own, show(&admin, "USER ada PRIVILEGES"));
    assert_eq!(own, show(&ada, "USER ada PRIVILEGES"));
    assert!(
        own.contains(&"'GRANTED' 'write' 'graph' 'other' 'NODE(*)' 'writer' TRUE 'ada'".into()),
        "{own:?}"
    );
    assert!(
        own.contains(
            &"'GRANTED' 'match' 'all_properties' '*' 'NODE(*)' 'reader' TRUE 'ada'".into()
        ),
        "{own:?}"
    );
    assert!(show(&admin, "USERS ada, neo4j PRIVILEGES").len() > own.len());
    assert_eq!(code(&ada, "SHOW USER neo4j PRIVILEGES"), FORBIDDEN);
    assert_eq!(
        code(&admin, "SHOW PRIVILEGES AS COMMANDS"),
        "Neo.ClientError.Statement.SyntaxError"
    );
    assert_eq!(
        code(&admin, "DENY READ {*} ON GRAPH * TO ada"),
        "Neo.ClientError.Statement.SyntaxError"
    );
}

/// A query text that a procedure runs inside of a statement is no way around the roles.
#[test]
fn texts_inside_of_a_statement_may_do_what_their_caller_may() {
    let dbms = in_memory();
    let admin = admin(&dbms);
    run(&admin, "CREATE (:A)-[:R]->(:A)");
    let (ada, bob) = (user(&dbms, "ada", "reader"), user(&dbms, "bob", ""));
    let project = |nodes: &str| {
        format!(
            "CALL gds.graph.project.cypher('g', \"{nodes}\", 'MATCH (a)-->(b) \
             RETURN id(a) AS source, id(b) AS target') YIELD nodeCount RETURN nodeCount"
        )
    };
    let all = project("MATCH (n) RETURN id(n) AS id");
    assert_eq!(code(&bob, &all), FORBIDDEN);
    assert_eq!(run(&ada, &all), ["2"]);
    let part = "CALL gds.graph.filter('part', 'g', '*', '*') YIELD nodeCount RETURN nodeCount";
    assert_eq!(run(&ada, part), ["2"]);
    let read_only = "Neo.ClientError.Statement.AccessMode";
    for (nodes, expected) in [
        ("CREATE (n) RETURN id(n) AS id", read_only),
        ("CREATE USER x SET PASSWORD 'long enough'", read_only),
        ("CREATE INDEX FOR (n:A) ON (n.x)", read_only),
        ("USE system SHOW USERS YIELD user AS id", read_only),
        ("SHOW USERS YIELD user AS id", FORBIDDEN),
        ("SHOW ROLES YIELD role AS id", FORBIDDEN),
    ] {
        assert_eq!(code(&ada, &project(nodes).replace("'g'", "'h'")), expected, "{nodes}");
    }
    assert_eq!(run(&admin, "MATCH (n) RETURN count(*)"), ["2"]);
}

#[test]
fn a_user_keeps_everything_but_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    let admin = admin(&dbms);
    let ada = user(&dbms, "ada", "writer");
    user(&dbms, "bob", "");
    let again = run(&admin, "SHOW USERS WHERE user = 'ada'")[0].replace("'ada'", "'eve'");
    for (text, wrong) in [
        ("RENAME USER nobody TO somebody", INVALID),
        ("RENAME USER ada TO bob", INVALID),
        ("RENAME USER ada TO ada", INVALID),
        ("RENAME USER ada TO `a b`", INVALID),
        ("RENAME ROLE reader TO reads", "Neo.ClientError.Statement.SyntaxError"),
    ] {
        assert_eq!(code(&admin, text), wrong, "{text}");
    }
    run(&admin, "RENAME USER nobody IF EXISTS TO somebody");
    run(&ada, "CREATE (:A)");
    run(&admin, "RENAME USER ada TO eve");
    assert_eq!(code(&ada, "CREATE (:A)"), "Neo.ClientError.Security.AuthorizationExpired");
    assert_eq!(login(&dbms, "ada", "password of ada").unwrap_err().code, UNAUTHORIZED);
    drop((admin, ada, dbms));
    let dbms = stored(folder.path());
    run(&login(&dbms, "eve", "password of ada").unwrap(), "CREATE (:A)");
    assert_eq!(run(&super::admin(&dbms), "SHOW USERS WHERE user = 'eve'"), [again]);
}

#[test]
fn every_role_may_run_what_it_is_for_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    run(&admin(&dbms), "CREATE DATABASE other");
    // Rights in another database are none in this one.
    let elsewhere = user(&dbms, "elsewhere", "");
    run(&admin(&dbms), "GRANT ROLE writer TO elsewhere ON DATABASE other");
    let here = user(&dbms, "here", "");
    run(&admin(&dbms), "GRANT ROLE reader TO here");
    run(&admin(&dbms), "GRANT ROLE writer TO here ON DATABASE telar");
    let clients = [
        (0, user(&dbms, "nobody", "")),
        (0, elsewhere),
        (1, user(&dbms, "reads", "reader")),
        (2, user(&dbms, "writes", "writer")),
        (2, here),
        (3, user(&dbms, "rules", "admin")),
    ];
    for (rank, client) in &clients {
        for (text, needed) in STATEMENTS {
            match attempt(client, text) {
                Ok(_) => assert!(*rank >= needed, "{text}: {:?}", client.user()),
                Err(e) => {
                    assert_eq!(e.code, FORBIDDEN, "{text}: {e}");
                    assert!(*rank < needed, "{text}: {:?}: {e}", client.user());
                }
            }
            // The same statements in a transaction, without an end.
            let done = transaction(client, &Options::default(), |mut work| {
                work.run(text, &ValueMap::default(), &mut Kept::default()).map(|_| ())
            });
            let refused = done.unwrap().is_err_and(|e| e.code == FORBIDDEN);
            assert_eq!(refused, *rank < needed, "{text}: {:?}", client.user());
        }
    }
    let error = attempt(&clients[4].1, "DROP USER x").unwrap_err().message;
    let roles = "[reader, writer on telar]";
    let said =
        format!("administering the server is not allowed for user 'here' with roles {roles}");
    assert_eq!(error, said);
    run_on(&clients[1].1, "other", "CREATE ()");
    assert_eq!(try_on(&clients[4].1, &on("other"), "CREATE ()").unwrap_err().code, FORBIDDEN);
}

#[test]
fn a_session_that_only_reads_gives_no_commands() {
    let dbms = in_memory();
    let client = admin(&dbms);
    let options = Options { access: super::super::AccessMode::Read, ..Options::default() };
    for text in ["CREATE ()", "CREATE DATABASE shop", "CREATE INDEX FOR (n:A) ON (n.x)"] {
        let error = try_on(&client, &options, text).unwrap_err();
        assert_eq!(error.code, "Neo.ClientError.Statement.AccessMode", "{text}");
    }
    try_on(&client, &options, "SHOW USERS").unwrap();
}

#[test]
fn the_system_database_holds_no_graph() {
    let dbms = in_memory();
    let client = admin(&dbms);
    let error = try_on(&client, &on("system"), "CREATE ()").unwrap_err();
    assert_eq!(error.code, "Neo.ClientError.Statement.NotSystemDatabaseError");
    let error = try_on(&client, &on("SYSTEM"), "CREATE INDEX FOR (n:A) ON (n.x)").unwrap_err();
    assert_eq!(error.code, "Neo.ClientError.Statement.NotSystemDatabaseError");
    run_on(&client, "system", "CREATE DATABASE shop");
    assert_eq!(run_on(&client, "system", "SHOW DATABASES").len(), 3);
    assert_eq!(run_on(&client, "system", "MATCH (n) RETURN n"), Vec::<String>::new());
}

#[test]
fn administrators_act_for_others_with_the_rights_of_those() {
    let dbms = in_memory();
    let (client, reader) = (admin(&dbms), user(&dbms, "reads", "reader"));
    let acting = |name: &str| Options { impersonated: Some(name.into()), ..Options::default() };
    let as_reader = acting("reads");
    assert_eq!(try_on(&client, &as_reader, "RETURN 1").unwrap(), ["1"]);
    assert_eq!(
        try_on(&client, &as_reader, "SHOW CURRENT USER").unwrap(),
        ["'reads' ['reader'] FALSE FALSE NULL"]
    );
    for text in ["CREATE ()", "SHOW USERS", "DROP USER reads"] {
        assert_eq!(try_on(&client, &as_reader, text).unwrap_err().code, FORBIDDEN, "{text}");
    }
    // Whoever may not act for others is not told who there is.
    let said = |name: &str| try_on(&reader, &acting(name), "RETURN 1").unwrap_err();
    assert_eq!(said("neo4j").message, "cannot impersonate user 'neo4j'");
    assert_eq!(said("nobody").message, "cannot impersonate user 'nobody'");
    assert_eq!(said("nobody").code, FORBIDDEN);
    assert_eq!(try_on(&client, &acting("nobody"), "RETURN 1").unwrap_err().code, FORBIDDEN);
}

#[test]
fn history_is_switched_on_by_administrators() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = Arc::new(Dbms::open(Some(&folder.path().join("server")), settings()).unwrap());
    let (client, writer) = (admin(&dbms), user(&dbms, "writes", "writer"));
    run(&writer, "CREATE (:Tea {price: 3})");
    let keep = "CALL telar.keepHistory(duration('P1D')) YIELD oldest RETURN oldest > 0";
    assert_eq!(code(&writer, keep), FORBIDDEN);
    assert_eq!(run(&writer, "CALL telar.history()"), Vec::<String>::new());
    assert_eq!(run(&client, keep), ["TRUE"]);
    run(&writer, "MATCH (t:Tea) SET t.price = 4");
    let past = "CALL telar.history() YIELD oldest, newest RETURN newest - oldest";
    assert_eq!(run(&writer, past), ["1"]);
}

#[test]
fn backups_are_for_administrators_and_changes_for_readers() {
    let folder = tempfile::tempdir().unwrap();
    let (path, below) = (folder.path().join("server"), folder.path().join("backups"));
    std::fs::create_dir(&below).unwrap();
    let settings = DbmsSettings { backup_folder: Some(below.clone()), ..settings() };
    let dbms = Arc::new(Dbms::open(Some(&path), settings).unwrap());
    let (client, writer) = (admin(&dbms), user(&dbms, "writes", "writer"));
    run(&writer, "CREATE (:Tea {price: 3})-[:NEAR]->(:Cup)");
    assert_eq!(code(&writer, "CALL telar.backup('monday')"), FORBIDDEN);
    for bad in ["../monday", "/tmp/monday", "a/b", "", ".", ".."] {
        assert_eq!(code(&client, &format!("CALL telar.backup('{bad}')")), INVALID, "{bad}");
    }
    assert_eq!(run(&client, "CALL telar.backup('monday') YIELD bytes RETURN bytes > 0"), ["TRUE"]);
    run(&writer, "MATCH (t:Tea) SET t.price = 4");
    run(&client, "CALL telar.backup('tuesday', 'monday')");
    let failed = "Neo.ClientError.Procedure.ProcedureCallFailed";
    assert_eq!(code(&client, "CALL telar.backup('monday')"), failed, "there is one already");
    let chain = [below.join("monday"), below.join("tuesday")];
    let restored = folder.path().join("restored");
    let options = telar_db::maintenance::RestoreOptions::default();
    telar_db::maintenance::restore(&chain, &restored, &options).unwrap();
    let restored = telar_db::open(&restored).unwrap();
    let session = telar_db::Session::new(&restored);
    let rows = session.run("MATCH (t:Tea) RETURN t.price", &[]).unwrap().rows;
    assert_eq!(rows, [[Value::from(4)]]);

    let events = "CALL telar.changes(0) YIELD commit, changes UNWIND changes AS c \
                  WITH commit, c WHERE c.event STARTS WITH 'node' \
                  RETURN c.event, c.key, c.value ORDER BY commit, c.event, c.value";
    assert_eq!(
        run(&writer, events),
        [
            "'nodeCreated' NULL NULL",
            "'nodeCreated' NULL NULL",
            "'nodePropertySet' 'price' 3",
            "'nodePropertySet' 'price' 4"
        ]
    );
    // One at a time, each goes on where the one before ended.
    let (mut after, mut seen) = (String::from("0"), 0);
    loop {
        let one = format!("CALL telar.changes({after}, 1) YIELD commit RETURN commit");
        let Some(next) = run(&writer, &one).pop() else { break };
        assert!(next.parse::<u64>().unwrap() > after.parse().unwrap());
        (after, seen) = (next, seen + 1);
    }
    assert_eq!(run(&writer, "CALL telar.changes(0)").len(), seen);
    let related = "CALL telar.changes(0) YIELD changes UNWIND changes AS c WITH c \
                   WHERE c.event = 'relationshipCreated' \
                   MATCH (a)-[r]->(b) WHERE elementId(a) = c.from AND elementId(b) = c.to \
                   RETURN c.type, c.relationship = elementId(r)";
    assert_eq!(run(&writer, related), ["'NEAR' TRUE"]);
    assert_eq!(code(&writer, "CALL telar.changes(-1)"), INVALID);
    assert_eq!(code(&writer, "CALL telar.changes(1000000)"), failed);
}
