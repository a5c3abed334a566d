//! Commands for a server.

use super::accepted;
use crate::parser::parse;

/// Each text and how it is printed: one spelling, and never a password.
#[test]
fn administration_commands_have_the_forms_of_neo4j() {
    for (text, printed) in [
        (
            "create user ann set plaintext password 'long enough' change not required",
            "CREATE USER ann SET PASSWORD '******' CHANGE NOT REQUIRED",
        ),
        (
            "CREATE OR REPLACE USER $n SET PASSWORD $p SET PASSWORD CHANGE REQUIRED \
             SET STATUS suspended SET HOME DATABASE shop.eu",
            "CREATE OR REPLACE USER $n SET PASSWORD $p CHANGE REQUIRED SET STATUS SUSPENDED \
             SET HOME DATABASE `shop.eu`",
        ),
        (
            "CREATE USER ann IF NOT EXISTS SET PASSWORD \"pass word\"",
            "CREATE USER ann IF NOT EXISTS SET PASSWORD '******'",
        ),
        (
            "ALTER USER ann IF EXISTS REMOVE HOME DATABASE SET STATUS ACTIVE",
            "ALTER USER ann IF EXISTS SET STATUS ACTIVE REMOVE HOME DATABASE",
        ),
        (
            "ALTER USER ann SET PASSWORD CHANGE NOT REQUIRED",
            "ALTER USER ann SET PASSWORD CHANGE NOT REQUIRED",
        ),
        (
            "ALTER CURRENT USER SET PASSWORD FROM 'old' TO $new",
            "ALTER CURRENT USER SET PASSWORD FROM '******' TO $new",
        ),
        ("DROP USER `ann b` IF EXISTS", "DROP USER `ann b` IF EXISTS"),
        (
            "GRANT ROLES reader, writer TO ann, $bob ON DATABASE shop",
            "GRANT ROLE reader, writer TO ann, $bob ON DATABASE shop",
        ),
        ("REVOKE ROLE admin FROM ann", "REVOKE ROLE admin FROM ann"),
        ("CREATE DATABASE shop IF NOT EXISTS WAIT 5 SECONDS", "CREATE DATABASE shop IF NOT EXISTS"),
        ("CREATE OR REPLACE DATABASE `a-b` NOWAIT", "CREATE OR REPLACE DATABASE `a-b`"),
        ("DROP DATABASE shop IF EXISTS DESTROY DATA WAIT", "DROP DATABASE shop IF EXISTS"),
        ("EXPLAIN STOP DATABASE shop", "EXPLAIN STOP DATABASE shop"),
        ("USE system drop user ann", "USE system DROP USER ann"),
        ("start database $name", "START DATABASE $name"),
        ("SHOW USER YIELD user", "SHOW USERS YIELD user"),
        ("SHOW CURRENT USER", "SHOW CURRENT USER"),
        ("show server YIELD name", "SHOW SERVERS YIELD name"),
        ("SHOW ALL ROLES WHERE role = 'x'", "SHOW ROLES WHERE role = 'x'"),
        ("SHOW POPULATED ROLES WITH USERS", "SHOW POPULATED ROLES WITH USERS"),
    ] {
        let tree = accepted(text);
        assert_eq!(tree.to_string(), printed);
        assert!(!format!("{tree:?}").contains("long enough"), "{tree:?}");
        assert_eq!(accepted(printed), tree);
    }
}

#[test]
fn what_is_wrong_with_administration_commands_is_said() {
    for (text, message) in [
        ("CREATE USER ann", "SET PASSWORD is missing: a user needs one"),
        ("CREATE USER ann SET PASSWORD 'x' SET PASSWORD 'y'", "this is set twice"),
        (
            "CREATE OR REPLACE DATABASE a IF NOT EXISTS",
            "OR REPLACE and IF NOT EXISTS exclude each other",
        ),
        ("CREATE ROLE boss", "there are the roles reader, writer and admin, and no others"),
        ("GRANT TRAVERSE ON GRAPH * TO boss", "only roles are granted: reader, writer and admin"),
        ("ALTER USER ann", "expected IF, SET or REMOVE, found end of text"),
        ("CREATE USER ann SET PASSWORD secret", "a password is a string or a parameter"),
    ] {
        let errors = parse(text).expect_err(text);
        assert_eq!(errors.first().message, message, "{text}");
    }
}

/// The words mean something else elsewhere.
#[test]
fn queries_may_use_the_words_of_administration_commands() {
    for text in [
        "CREATE user = (a)-[:R]->(b)",
        "CREATE (user:DATABASE {role: 1})",
        "MATCH (grant) WHERE grant.role = 'admin' RETURN grant.start AS stop",
        "SHOW USER DEFINED FUNCTIONS",
    ] {
        accepted(text);
    }
}
