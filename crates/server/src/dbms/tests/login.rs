//! Logging in, passwords, and what is said to whom.

use std::thread;
use std::time::Duration;

use telar_db::query::cypher::Secret;

use super::*;
use crate::dbms::FirstLogin;

const HOUR: Duration = Duration::from_secs(3600);

/// Settings with another time for which names are locked out.
fn with_lockout(lockout: Duration) -> DbmsSettings {
    let mut settings = settings();
    settings.security.lockout = lockout;
    settings
}

#[test]
fn the_first_password_must_be_changed_before_anything_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings();
    settings.security.initial_password = None;
    let dbms = Arc::new(Dbms::open(Some(folder.path()), settings.clone()).unwrap());
    let client = login(&dbms, "neo4j", "neo4j").unwrap();
    for text in
        ["RETURN 1", "SHOW USERS", "CREATE USER x SET PASSWORD 'long enough'", "EXPLAIN RETURN 1"]
    {
        assert_eq!(code(&client, text), EXPIRED, "{text}");
    }
    let begun = transaction(&client, &Options::default(), |mut work| {
        work.run("RETURN 1", &ValueMap::default(), &mut Kept::default()).map(|_| ())
    });
    assert_eq!(begun.unwrap().unwrap_err().code, EXPIRED);

    let change = |from: &str, to: &str| {
        let text = format!("ALTER CURRENT USER SET PASSWORD FROM '{from}' TO '{to}'");
        attempt(&client, &text).map_err(|e| e.message)
    };
    assert_eq!(change("neo4j", "short").unwrap_err(), "A password must be at least 8 characters.");
    assert_eq!(change("wrong", "long enough").unwrap_err(), "the old password is wrong");
    assert_eq!(
        change("neo4j", "neo4j").unwrap_err(),
        "Old password and new password cannot be the same."
    );
    assert_eq!(change("neo4j", "long enough"), Ok(Vec::new()));
    assert_eq!(run(&client, "RETURN 1"), ["1"]);
    assert_eq!(login(&dbms, "neo4j", "neo4j").unwrap_err().code, UNAUTHORIZED);
    drop((client, dbms));

    // It is there after a restart, whatever the initial password is then.
    settings.security.initial_password = Some(telar_db::query::cypher::Secret::new("another one"));
    let dbms = Arc::new(Dbms::open(Some(folder.path()), settings).unwrap());
    assert_eq!(login(&dbms, "neo4j", "another one").unwrap_err().code, UNAUTHORIZED);
    assert_eq!(run(&login(&dbms, "neo4j", "long enough").unwrap(), "RETURN 1"), ["1"]);
}

#[test]
fn nothing_is_said_to_whoever_has_not_logged_in() {
    let dbms = in_memory();
    run(&admin(&dbms), "CREATE USER ann SET PASSWORD 'long enough' SET STATUS SUSPENDED");
    let refused = Failure::unauthorized();
    // A wrong password, no such user, a suspended one, another way: all the same.
    for credentials in [
        basic("neo4j", "wrong"),
        basic("nobody", "wrong"),
        basic("", ""),
        basic("ann", "long enough"),
        basic("neo4j", &"x".repeat(1 << 20)),
        Credentials { scheme: "none".into(), ..basic("neo4j", PASSWORD) },
        Credentials { scheme: "bearer".into(), ..basic("neo4j", PASSWORD) },
    ] {
        let client = stranger(&dbms);
        assert_eq!(client.login(&credentials), Err(refused.clone()));
        for options in [Options::default(), on("nowhere"), on("system")] {
            for text in ["RETURN 1", "RETRUN 1", "SHOW DATABASES", "SHOW CURRENT USER"] {
                assert_eq!(try_on(&client, &options, text), Err(refused.clone()));
            }
            assert_eq!(transaction(&client, &options, |_| ()), Err(refused.clone()));
        }
    }
    let client = admin(&dbms);
    assert_eq!(run(&client, "RETURN 1"), ["1"]);
    client.logout();
    assert_eq!(code(&client, "RETURN 1"), UNAUTHORIZED);
    client.login(&basic("neo4j", PASSWORD)).unwrap();
    assert_eq!(client.login(&basic("neo4j", "wrong")), Err(refused));
    assert_eq!(code(&client, "RETURN 1"), UNAUTHORIZED, "a failed login ends the one before");
}

#[test]
fn wrong_passwords_in_a_row_lock_a_name_out_whether_or_not_it_is_a_user() {
    let open = |lockout| Arc::new(Dbms::open(None, with_lockout(lockout)).unwrap());
    let limited = "Neo.ClientError.Security.AuthenticationRateLimit";
    let (strict, lenient) = (open(HOUR), open(Duration::from_millis(1)));
    for name in ["neo4j", "nobody"] {
        for _ in 0..3 {
            assert_eq!(login(&strict, name, "wrong").unwrap_err().code, UNAUTHORIZED);
        }
        assert_eq!(login(&strict, name, PASSWORD).unwrap_err().code, limited);
    }
    (0..3).for_each(|_| drop(login(&lenient, "neo4j", "wrong").unwrap_err()));
    eventually("the end of the lockout", || login(&lenient, "neo4j", PASSWORD).ok());
    // The command is no way to guess a password either.
    let strict = open(HOUR);
    let client = admin(&strict);
    for _ in 0..3 {
        let text = "ALTER CURRENT USER SET PASSWORD FROM 'guess' TO 'long enough'";
        assert_eq!(code(&client, text), INVALID);
    }
    let text = format!("ALTER CURRENT USER SET PASSWORD FROM \"{PASSWORD}\" TO 'long enough'");
    assert_eq!(code(&client, &text), limited);
}

#[test]
fn many_logins_at_once_come_one_after_the_other() {
    let dbms = in_memory();
    thread::scope(|scope| {
        for n in 0..32 {
            let dbms = &dbms;
            scope.spawn(move || match n % 4 {
                0 => assert!(login(dbms, &format!("user{n}"), "wrong").is_err()),
                _ => assert_eq!(run(&admin(dbms), "RETURN 1"), ["1"]),
            });
        }
    });
}

#[test]
fn users_are_changed_and_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    let client = admin(&dbms);
    run(&client, "CREATE USER ann SET PASSWORD 'long enough' CHANGE NOT REQUIRED");
    let session = login(&dbms, "ann", "long enough").unwrap();
    for (text, message) in [
        ("CREATE USER ann SET PASSWORD 'long enough'", "there is already a user named 'ann'"),
        (
            "CREATE USER `a:b` SET PASSWORD 'long enough'",
            "'a:b' is no name for a user: it has 1 to 128 ASCII characters other than ',', ':' and \
             blanks",
        ),
        ("ALTER USER bob SET STATUS ACTIVE", "there is no user named 'bob'"),
        ("DROP USER bob", "there is no user named 'bob'"),
        (
            "GRANT ROLE boss TO ann",
            "there is no role named 'boss': there are reader, writer and admin",
        ),
        ("GRANT ROLE reader TO ann, bob", "there is no user named 'bob'"),
        ("GRANT ROLE reader TO ann ON DATABASE nowhere", "there is no database named 'nowhere'"),
        (
            "GRANT ROLE admin TO ann ON DATABASE telar",
            "the role admin holds everywhere: leave out ON DATABASE",
        ),
        ("DROP USER neo4j", "nobody can drop himself"),
        ("CREATE OR REPLACE USER neo4j SET PASSWORD 'long enough'", "nobody can drop himself"),
        ("ALTER USER neo4j SET STATUS SUSPENDED", "nobody can change his own status"),
        ("REVOKE ROLE admin FROM neo4j", "after this nobody could administer the server"),
    ] {
        assert_eq!(attempt(&client, text).unwrap_err().message, message, "{text}");
    }
    run(&client, "CREATE USER ann IF NOT EXISTS SET PASSWORD 'something else'");
    run(&client, "DROP USER bob IF EXISTS");
    run(&client, "ALTER USER bob IF EXISTS SET STATUS SUSPENDED");
    run(&client, "GRANT ROLE writer TO ann ON DATABASE neo4j");
    let parameters = [("user", "bob"), ("secret", "bob's password")];
    let text = "CREATE USER $user SET PASSWORD $secret SET HOME DATABASE system2";
    let home = try_with(&client, &Options::default(), text, &parameters);
    assert_eq!(home.unwrap_err().code, NOT_FOUND);
    let text = "CREATE USER $user SET PASSWORD $secret SET PASSWORD CHANGE REQUIRED";
    assert_eq!(try_with(&client, &on("system"), text, &parameters), Ok(Vec::new()));
    let users = [
        "'ann' ['writer'] FALSE FALSE NULL",
        "'bob' [] TRUE FALSE NULL",
        "'neo4j' ['admin'] FALSE FALSE NULL",
    ];
    assert_eq!(run(&client, "SHOW USERS"), users);
    assert_eq!(run(&session, "SHOW CURRENT USER"), users[..1]);
    assert_eq!(
        run(&client, "SHOW USERS YIELD user, grants WHERE size(grants) > 0 RETURN user, grants"),
        [
            "'ann' [{database: 'telar', role: 'writer'}]",
            "'neo4j' [{database: NULL, role: 'admin'}]"
        ]
    );
    assert_eq!(run(&client, "SHOW ROLES"), ["'admin'", "'reader'", "'writer'"]);
    assert_eq!(
        run(&client, "SHOW POPULATED ROLES WITH USERS"),
        ["'admin' 'neo4j' NULL", "'writer' 'ann' 'telar'"]
    );
    assert_eq!(run(&session, "CREATE (n) RETURN count(n)"), ["1"]);
    drop((client, session, dbms));

    let dbms = stored(folder.path());
    let client = admin(&dbms);
    assert_eq!(run(&client, "SHOW USERS"), users);
    let session = login(&dbms, "ann", "long enough").unwrap();
    assert_eq!(run(&session, "CREATE (n) RETURN count(n)"), ["1"]);
    // What is decided holds at once, for sessions that are open, too.
    run(&client, "REVOKE ROLE writer FROM ann ON DATABASE telar");
    assert_eq!(code(&session, "MATCH (n) RETURN n"), FORBIDDEN);
    run(&client, "ALTER USER ann SET STATUS SUSPENDED");
    let gone = "Neo.ClientError.Security.AuthorizationExpired";
    assert_eq!(code(&session, "SHOW CURRENT USER"), gone);
    run(&client, "ALTER USER ann SET STATUS ACTIVE SET PASSWORD 'another one'");
    assert_eq!(code(&session, "RETURN 1"), EXPIRED, "a new password is to be changed");
    assert!(login(&dbms, "ann", "long enough").is_err());
    run(&client, "CREATE OR REPLACE USER ann SET PASSWORD 'another one' CHANGE NOT REQUIRED");
    assert_eq!(code(&session, "SHOW CURRENT USER"), gone, "this is somebody else");
    run(&client, "DROP USER ann");
    assert_eq!(run(&client, "SHOW USERS").len(), 2);
}

#[test]
fn passwords_are_in_no_file_list_or_message() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    let client = admin(&dbms);
    let secrets = ["first secret", "second secret", "third secret", "fourth secret"];
    run(&client, "CREATE USER ann SET PASSWORD 'first secret' CHANGE NOT REQUIRED");
    let ann = login(&dbms, "ann", "first secret").unwrap();
    run(&ann, "ALTER CURRENT USER SET PASSWORD FROM 'first secret' TO 'second secret'");
    let mut said = Vec::new();
    for text in [
        "ALTER USER bob SET PASSWORD 'third secret'",
        "CREATE USER ann SET PASSWORD 'third secret'",
        "CREATE USER bob SET PASSWORD 'third secret' SET PASSWORD 'fourth secret'",
        "CREATE USER bob SET PASSWORD 'third secret",
        "CREATE USER bob SET PASSWORD 'third secret' CHANGE REQUIERD",
        "GRANT ROLE reader TO ann SET PASSWORD 'third secret'",
    ] {
        said.push(format!("{:?}", attempt(&client, text).unwrap_err()));
        said.push(format!("{:?}", attempt(&ann, text).unwrap_err()));
    }
    assert!(login(&dbms, "ann", "third secret").is_err());
    said.push(run(&client, "EXPLAIN CREATE USER bob SET PASSWORD 'third secret'").join(" "));
    said.push(format!("{:?}", basic("ann", "third secret")));
    for file in ["system.json", "audit.log"] {
        said.push(std::fs::read_to_string(folder.path().join("dbms").join(file)).unwrap());
    }
    said.push(format!("{:?} {:?}", dbms.settings(), client));
    let said = said.join("\n");
    for secret in secrets.iter().chain([&PASSWORD]) {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
    assert!(said.contains("CREATE USER ann SET PASSWORD '******'"), "{said}");
}

#[test]
fn the_audit_log_has_a_line_for_each_login_and_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dbms/audit.log");
    let dbms = Arc::new(Dbms::open(Some(folder.path()), with_lockout(HOUR)).unwrap());
    let client = admin(&dbms);
    run(&client, "CREATE USER ann SET PASSWORD 'first secret' CHANGE NOT REQUIRED");
    assert_eq!(code(&client, "DROP USER bob"), INVALID);
    let ann = login(&dbms, "ann", "first secret").unwrap();
    assert_eq!(code(&ann, "DROP USER neo4j"), FORBIDDEN);
    (0..4).for_each(|_| drop(login(&dbms, "evil\n{\"user\":1}", "x").unwrap_err()));
    run(&client, "RETURN 1");
    // Who logs in with each request is reported once.
    let peer = Peer { protocol: "http", ..client.peer().clone() };
    let request = || Client::new(Arc::clone(&dbms), peer.clone());
    (0..3).for_each(|_| request().login(&basic("neo4j", PASSWORD)).unwrap());
    drop((client, ann, dbms));
    // A crash has cut the last line: the next one begins anew.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{{\"time\": \"2026")).unwrap();
    run(&admin(&stored(folder.path())), "DROP USER ann");

    let text = std::fs::read_to_string(&path).unwrap();
    let mut seen = Vec::new();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<serde_json::Value>(line) else {
            seen.push("cut".to_owned());
            continue;
        };
        assert_eq!(
            (&line["address"], &line["agent"]),
            (&"127.0.0.1:4711".into(), &"test/1".into())
        );
        assert!(line["time"].as_str().unwrap().starts_with("20"));
        let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let outcome = field("outcome").rsplit('.').next().unwrap_or_default().to_owned();
        let (event, user, command) = (field("event"), field("user"), field("command"));
        seen.push(format!("{event} {outcome} {user:?} {command}"));
    }
    assert_eq!(
        seen,
        [
            "login ok \"neo4j\" ",
            "command ok \"neo4j\" CREATE USER ann SET PASSWORD '******' CHANGE NOT REQUIRED",
            "command InvalidArguments \"neo4j\" DROP USER bob",
            "login ok \"ann\" ",
            "command Forbidden \"ann\" DROP USER neo4j",
            "login Unauthorized \"evil\\n{\\\"user\\\":1}\" ",
            "login Unauthorized \"evil\\n{\\\"user\\\":1}\" ",
            "login Unauthorized \"evil\\n{\\\"user\\\":1}\" ",
            "lockout Unauthorized \"evil\\n{\\\"user\\\":1}\" ",
            "login ok \"neo4j\" ",
            "cut",
            "login ok \"neo4j\" ",
            "command ok \"neo4j\" DROP USER ann",
        ]
    );
}

#[test]
fn whoever_has_the_files_can_set_a_password() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    run(&admin(&dbms), "CREATE USER ann SET PASSWORD 'forgotten' SET STATUS SUSPENDED");
    assert_eq!(dbms.set_password("bob", "long enough").unwrap_err().code, INVALID);
    assert_eq!(dbms.set_password("ann", "short").unwrap_err().code, INVALID);
    dbms.set_password("ann", "long enough").unwrap();
    drop(dbms);
    let client = login(&stored(folder.path()), "ann", "long enough").unwrap();
    assert_eq!(run(&client, "SHOW CURRENT USER"), ["'ann' [] FALSE FALSE NULL"]);
}

#[test]
fn where_nobody_has_to_log_in_everybody_may_do_everything() {
    let mut settings = settings();
    settings.security.enabled = false;
    let dbms = Arc::new(Dbms::open(None, settings).unwrap());
    let client = stranger(&dbms);
    assert_eq!(code(&client, "RETURN 1"), UNAUTHORIZED, "not even said hello");
    client.login(&Credentials { scheme: "none".into(), ..basic("", "") }).unwrap();
    run(&client, "CREATE ()");
    run(&client, "CREATE DATABASE shop");
    run(&client, "CREATE USER ann SET PASSWORD 'long enough'");
    assert_eq!(run(&client, "SHOW CURRENT USER"), Vec::<String>::new());
    assert_eq!(run(&client, "SHOW USERS").len(), 2);
    let text = "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'long enough'";
    assert_eq!(code(&client, text), INVALID);
}

#[test]
fn what_is_stored_is_refused_if_it_cannot_be_trusted() {
    let folder = tempfile::tempdir().unwrap();
    drop(stored(folder.path()));
    let path = folder.path().join("dbms/system.json");
    let good = std::fs::read_to_string(&path).unwrap();
    for (bad, why) in [
        (good[..good.len() / 2].to_owned(), "is damaged"),
        (String::new(), "is damaged"),
        (good.replace("\"format\": 1", "\"format\": 2"), "of format 2, of a newer program"),
        (good.replace("\"users\"", "\"uzers\""), "is damaged"),
    ] {
        std::fs::write(&path, &bad).unwrap();
        let error = Dbms::open(Some(folder.path()), settings()).unwrap_err();
        assert!(error.message.contains(why), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), bad, "it stays for people to look at");
    }
    std::fs::write(&path, good).unwrap();
    let dbms = stored(folder.path());
    let error = Dbms::open(Some(folder.path()), settings()).unwrap_err();
    assert_eq!(error.code, UNAVAILABLE, "one server at a time: {error}");
    drop(dbms);
    #[cfg(unix)]
    for file in ["", "system.json", "audit.log"] {
        use std::os::unix::fs::PermissionsExt;
        let metadata = std::fs::metadata(folder.path().join("dbms").join(file)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o077, 0, "{file}");
    }
    // It is a database as any other.
    let db = telar_db::open(folder.path()).unwrap();
    db.close().unwrap();
}

/// Said at every start until somebody has set a password.
#[test]
fn the_first_user_is_told_how_to_get_in() {
    let folder = tempfile::tempdir().unwrap();
    let open = |password: Option<&str>, enabled| {
        let mut settings = settings();
        settings.security.initial_password = password.map(Secret::new);
        settings.security.enabled = enabled;
        Arc::new(Dbms::open(Some(folder.path()), settings).unwrap())
    };
    assert_eq!(open(None, false).first_login(), None);
    std::fs::remove_dir_all(folder.path().join("dbms")).unwrap();
    assert_eq!(open(None, true).first_login(), Some(FirstLogin::Default));
    let dbms = open(None, true);
    assert_eq!(dbms.first_login(), Some(FirstLogin::Expired));
    let client = login(&dbms, "neo4j", "neo4j").unwrap();
    run_on(&client, "system", "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO 'long enough'");
    assert_eq!(dbms.first_login(), None);
    drop(client);
    drop(dbms);
    assert_eq!(open(Some("initial one"), true).first_login(), None);
    std::fs::remove_dir_all(folder.path().join("dbms")).unwrap();
    assert_eq!(open(Some("initial one"), true).first_login(), Some(FirstLogin::Made));
}
