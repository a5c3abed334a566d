//! Several databases in one server.

use std::sync::atomic::AtomicU64;
use std::thread;

use super::*;

fn names(client: &Client) -> String {
    let text = "SHOW DATABASES YIELD name, currentStatus RETURN name + ' ' + currentStatus AS s";
    run_on(client, "system", text).join(" ").replace('\'', "")
}

#[test]
fn databases_are_made_listed_and_dropped_and_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    let client = admin(&dbms);
    run(&client, "CREATE (:Default)");
    run(&client, "CREATE DATABASE Shop");
    run_on(&client, "shop", "CREATE (:InShop)");
    run_on(&client, "SHOP", "CREATE INDEX ix FOR (n:InShop) ON (n.x)");
    assert_eq!(run_on(&client, "shop", "MATCH (n) RETURN labels(n)"), ["['InShop']"]);
    assert_eq!(run_on(&client, "neo4j", "MATCH (n) RETURN labels(n)"), ["['Default']"]);
    for (text, expected) in [
        ("CREATE DATABASE shop", "Neo.ClientError.Database.ExistingDatabaseFound"),
        ("CREATE DATABASE neo4j", "Neo.ClientError.Database.ExistingDatabaseFound"),
        ("CREATE DATABASE telar", "Neo.ClientError.Database.ExistingDatabaseFound"),
        ("CREATE DATABASE system", INVALID),
        ("CREATE DATABASE `../../x`", INVALID),
        ("CREATE OR REPLACE DATABASE telar", INVALID),
        ("DROP DATABASE telar", INVALID),
        ("DROP DATABASE neo4j", INVALID),
        ("STOP DATABASE telar", INVALID),
        ("DROP DATABASE system", NOT_FOUND),
        ("DROP DATABASE nowhere", NOT_FOUND),
        ("START DATABASE nowhere", NOT_FOUND),
    ] {
        assert_eq!(code(&client, text), expected, "{text}");
    }
    run(&client, "CREATE DATABASE shop IF NOT EXISTS");
    run(&client, "DROP DATABASE nowhere IF EXISTS");
    assert_eq!(try_on(&client, &on("nowhere"), "RETURN 1").unwrap_err().code, NOT_FOUND);
    run(&client, "CREATE DATABASE `second-one`");
    run(&client, "STOP DATABASE `second-one`");
    assert_eq!(try_on(&client, &on("second-one"), "RETURN 1").unwrap_err().code, UNAVAILABLE);
    let all = "second-one offline shop online system online telar online";
    assert_eq!(names(&client), all);
    drop((client, dbms));

    let dbms = stored(folder.path());
    let client = admin(&dbms);
    assert_eq!(names(&client), all);
    assert_eq!(run_on(&client, "shop", "MATCH (n) RETURN labels(n)"), ["['InShop']"]);
    run(&client, "START DATABASE `second-one`");
    assert_eq!(run_on(&client, "second-one", "MATCH (n) RETURN n"), Vec::<String>::new());
    run(&client, "CREATE OR REPLACE DATABASE shop");
    assert_eq!(run_on(&client, "shop", "MATCH (n) RETURN n"), Vec::<String>::new());
    assert_eq!(run_on(&client, "shop", "SHOW RANGE INDEXES"), Vec::<String>::new());
    run(&client, "DROP DATABASE `second-one` DESTROY DATA");
    assert_eq!(names(&client), "shop online system online telar online");
    let left = std::fs::read_dir(folder.path().join("dbms/databases")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 1, "{left:?}");

    let row = "SHOW DATABASE Neo4j YIELD name, aliases, default, home, lastCommittedTxn \
               RETURN name, aliases, default, home, lastCommittedTxn > 0 AS written";
    assert_eq!(run(&client, row), ["'telar' ['neo4j'] TRUE TRUE TRUE"]);
    assert_eq!(run(&client, "SHOW DEFAULT DATABASE YIELD name"), ["'telar'"]);
}

#[test]
fn a_server_that_is_closed_has_nothing_to_replay() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    let client = admin(&dbms);
    run(&client, "CREATE DATABASE shop");
    run_on(&client, "shop", "CREATE (:InShop)");
    run(&client, "CREATE (:Default)");
    drop(client);
    Arc::into_inner(dbms).unwrap().close().unwrap();
    let shop = std::fs::read_dir(folder.path().join("dbms/databases")).unwrap().next();
    for path in [folder.path().to_owned(), shop.unwrap().unwrap().path()] {
        let report = telar_db::maintenance::check(&path).unwrap();
        assert_eq!(report.worst(), None, "{report:?}");
        let db = telar_db::open(&path).unwrap();
        let behind = db.health().checkpoint.map(|checkpoint| checkpoint.commits_behind);
        assert_eq!(behind, Some(0), "{path:?}");
    }
}

#[test]
fn a_statement_says_with_use_where_it_runs() {
    let dbms = in_memory();
    let client = admin(&dbms);
    run(&client, "CREATE DATABASE shop");
    run(&client, "USE Shop CREATE (:InShop)");
    for text in ["USE shop MATCH (n) RETURN labels(n)", "/* */ use SHOP match (n) return labels(n)"]
    {
        assert_eq!(run(&client, text), ["['InShop']"], "{text}");
        assert_eq!(run_on(&client, "shop", text), ["['InShop']"], "{text}");
    }
    assert_eq!(run(&client, "USE neo4j MATCH (n) RETURN n"), Vec::<String>::new());
    assert_eq!(run_on(&client, "shop", "USE telar MATCH (n) RETURN n"), Vec::<String>::new());
    assert_eq!(code(&client, "USE nowhere RETURN 1"), NOT_FOUND);
    assert_eq!(run(&client, "RETURN 'use nowhere' AS use"), ["'use nowhere'"]);
    run(&client, "USE system CREATE USER ann SET PASSWORD 'long enough' CHANGE NOT REQUIRED");
    run(&client, "GRANT ROLE reader TO ann ON DATABASE shop");
    let ann = login(&dbms, "ann", "long enough").unwrap();
    assert_eq!(run(&ann, "USE shop MATCH (n) RETURN labels(n)"), ["['InShop']"]);
    assert_eq!(code(&ann, "USE shop CREATE ()"), FORBIDDEN);
    assert_eq!(try_on(&ann, &on("shop"), "USE telar RETURN 1").unwrap_err().code, FORBIDDEN);
    let nothing = ValueMap::default();
    let outcome = transaction(&client, &on("shop"), |mut work| {
        work.run("USE shop RETURN 1", &nothing, &mut Kept::default()).unwrap();
        work.run("USE telar RETURN 1", &nothing, &mut Kept::default()).unwrap_err().code
    });
    let forbidden = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
    assert_eq!(outcome.unwrap(), forbidden);
}

#[test]
fn users_have_homes_and_see_what_they_may_use() {
    let dbms = in_memory();
    let client = admin(&dbms);
    run(&client, "CREATE DATABASE shop");
    run(&client, "CREATE DATABASE hidden");
    let ann = user(&dbms, "ann", "");
    run(&client, "GRANT ROLE writer TO ann ON DATABASE shop");
    assert_eq!(code(&ann, "RETURN 1"), FORBIDDEN);
    run(&client, "ALTER USER ann SET HOME DATABASE shop");
    run(&ann, "CREATE (:InShop)");
    assert_eq!(run_on(&ann, "shop", "MATCH (n) RETURN labels(n)"), ["['InShop']"]);
    assert_eq!(run(&ann, "SHOW HOME DATABASE YIELD name"), ["'shop'"]);
    assert_eq!(run(&ann, "SHOW DATABASES YIELD name"), ["'shop'", "'system'"]);
    assert_eq!(run(&client, "SHOW DATABASES").len(), 4);
    // Who has rights in a database has none in the next one of that name.
    run(&client, "DROP DATABASE shop");
    run(&client, "CREATE DATABASE shop");
    assert_eq!(code(&ann, "RETURN 1"), FORBIDDEN);
    run(&client, "ALTER USER ann REMOVE HOME DATABASE");
    assert_eq!(run(&ann, "SHOW DATABASES").len(), 1);
    assert_eq!(code(&client, "STOP DATABASE shop"), INVALID, "it is in memory");
}

#[test]
fn a_database_that_cannot_be_opened_is_offline_and_leaves_the_others_alone() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    let client = admin(&dbms);
    run(&client, "CREATE DATABASE broken");
    run(&client, "CREATE DATABASE gone");
    run(&client, "CREATE DATABASE fine");
    drop((client, dbms));
    for entry in std::fs::read_dir(folder.path().join("dbms/databases")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("broken") {
            std::fs::write(path.join("FORMAT"), "nonsense").unwrap();
        } else if name.starts_with("gone") {
            std::fs::remove_dir_all(path).unwrap();
        }
    }
    let dbms = stored(folder.path());
    let client = admin(&dbms);
    let online = "broken offline fine online gone offline system online telar online";
    assert_eq!(names(&client), online);
    let why = run(&client, "SHOW DATABASE gone YIELD statusMessage");
    assert!(why[0].contains("its folder is missing"), "{why:?}");
    let error = try_on(&client, &on("broken"), "RETURN 1").unwrap_err();
    assert!(error.code == UNAVAILABLE && error.message.contains("FORMAT"), "{error}");
    run(&client, "DROP DATABASE broken");
    run(&client, "CREATE OR REPLACE DATABASE gone");
    run_on(&client, "gone", "CREATE ()");
    drop((client, dbms));
    let dbms = stored(folder.path());
    assert_eq!(names(&admin(&dbms)), "fine online gone online system online telar online");
    assert_eq!(std::fs::read_dir(folder.path().join("dbms/databases")).unwrap().count(), 2);
}

#[test]
fn a_dropped_database_tells_its_users_and_goes_with_the_last_one() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    let client = admin(&dbms);
    let folders = || std::fs::read_dir(folder.path().join("dbms/databases")).unwrap().count();
    for (text, expected) in [
        ("DROP DATABASE shop", NOT_FOUND),
        ("CREATE OR REPLACE DATABASE shop", NOT_FOUND),
        ("STOP DATABASE shop", UNAVAILABLE),
    ] {
        run(&client, "CREATE OR REPLACE DATABASE shop");
        let before = folders();
        let user = admin(&dbms);
        let nothing = ValueMap::default();
        let outcome = transaction(&user, &on("shop"), |mut work| {
            work.run("CREATE (:Lost)", &nothing, &mut Kept::default()).unwrap();
            run(&client, text);
            assert!(folders() >= before, "somebody uses it: {text}");
            let next = work.run("CREATE (:Lost)", &nothing, &mut Kept::default()).unwrap_err();
            assert_eq!(next.code, expected, "{text}: {next}");
            work.commit().unwrap_err()
        });
        assert_eq!(outcome.unwrap().code, expected, "{text}");
        if text.starts_with("DROP") {
            assert_eq!(folders(), before - 1);
        }
    }
    run(&client, "START DATABASE shop");
    assert_eq!(run_on(&client, "shop", "MATCH (n) RETURN n"), Vec::<String>::new());
    run(&client, "STOP DATABASE shop");
    run(&client, "DROP DATABASE shop");
    assert_eq!(folders(), 0);
}

#[test]
fn databases_come_and_go_while_they_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    let client = admin(&dbms);
    let (done, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let worker = |write: bool| {
        let client = admin(&dbms);
        while !ended.load(Ordering::SeqCst) {
            let text = if write { "CREATE (n) RETURN 1" } else { "MATCH (n) RETURN count(n) >= 0" };
            match try_on(&client, &on("shop"), text) {
                Ok(_) => _ = done.fetch_add(1, Ordering::SeqCst),
                Err(e) => assert!([NOT_FOUND, UNAVAILABLE].contains(&e.code), "{e}"),
            }
        }
    };
    thread::scope(|scope| {
        let _end = SetOnDrop(&ended);
        (0..4).for_each(|n| _ = scope.spawn(move || worker(n % 2 == 0)));
        let (mut cycles, begun) = (0, Instant::now());
        while cycles < 20 || done.load(Ordering::SeqCst) == 0 {
            assert!(cycles < 20 || begun.elapsed() < PATIENCE, "nothing was done");
            for text in
                ["CREATE OR REPLACE DATABASE shop", "STOP DATABASE shop", "START DATABASE shop"]
            {
                run(&client, text);
                thread::sleep(Duration::from_millis(20));
            }
            cycles += 1;
        }
    });
    run(&client, "DROP DATABASE shop IF EXISTS");
    assert_eq!(std::fs::read_dir(folder.path().join("dbms/databases")).unwrap().count(), 0);
}
