//! A server that follows another one, both in one process.

use std::path::PathBuf;

use telar_db::maintenance::{BackupOptions, RestoreOptions, restore};
use tempfile::TempDir;

use super::images::Source;
use super::*;
use crate::dbms::{FollowSeen, promote};
use crate::replication::client::Asking;

const READ_ONLY: &str = "Neo.ClientError.Statement.AccessMode";

/// A server that follows.
struct Follower {
    folder: TempDir,
    settings: DbmsSettings,
    dbms: Option<Arc<Dbms>>,
}

impl Follower {
    fn of(asking: Asking) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = DbmsSettings { follow: Some(asking), ..settings() };
        let mut follower = Self { folder, settings, dbms: None };
        follower.start();
        follower
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("copy.telar")
    }

    fn start(&mut self) {
        let dbms = Arc::new(Dbms::open(Some(&self.path()), self.settings.clone()).unwrap());
        dbms.join("127.0.0.1:1".into(), None).unwrap();
        self.dbms = Some(dbms);
    }

    fn stop(&mut self) {
        close(self.dbms.take().unwrap());
    }

    fn dbms(&self) -> &Arc<Dbms> {
        self.dbms.as_ref().unwrap()
    }

    fn admin(&self) -> Client {
        admin(self.dbms())
    }

    fn seen(&self, name: &str) -> FollowSeen {
        let all = self.dbms().following();
        all.into_iter().find(|(of, _)| **of == *name).unwrap().1
    }

    /// Waits until a database has what the source's has.
    #[track_caller]
    fn catch_up(&self, source: &Source, name: &str) {
        let wanted = source.dbms().database(Some(name)).unwrap().engine().published();
        eventually("it follows", || {
            let database = self.dbms().database(Some(name)).ok()?;
            (database.engine().published() >= wanted).then_some(())
        });
    }

    /// Databases in the folder, whole or not.
    fn folders(&self) -> usize {
        std::fs::read_dir(self.path().join("dbms/databases")).unwrap().count()
    }
}

fn source() -> Source {
    Source::new()
}

fn follow(source: &Source) -> Follower {
    Follower::of(source.asking("neo4j", PASSWORD))
}

const ALL: &str = "MATCH (n) RETURN count(n), sum(n.id), count {()-->()}";

#[test]
fn databases_come_whole_and_follow_what_is_written() {
    let source = source();
    let at_source = source.admin();
    run(&at_source, "CREATE DATABASE shop");
    run(&at_source, "CREATE DATABASE blank");
    run(&at_source, "CREATE CONSTRAINT one FOR (n:Node) REQUIRE n.id IS UNIQUE");
    run(&at_source, "UNWIND range(1, 500) AS id CREATE (:Node {id: id})-[:TO]->(:End)");
    run_on(&at_source, "shop", "CREATE (:Item {id: 1})");
    let follower = follow(&source);
    for name in ["telar", "shop", "blank"] {
        follower.catch_up(&source, name);
    }
    let here = follower.admin();
    assert_eq!(run(&here, ALL), run(&at_source, ALL));
    assert_eq!(run_on(&here, "blank", "MATCH (n) RETURN count(n)"), ["0"]);

    // Beside writes: names, indexes, properties of relationships that had none, deletes.
    run(&at_source, "CREATE INDEX later FOR (n:End) ON (n.name)");
    for round in 0..20 {
        let text =
            format!("CREATE (:End {{name: 'n{round}'}})-[:NEW {{w: {round}}}]->(:Kind{round})");
        run(&at_source, &text);
    }
    run(&at_source, "MATCH (:Node {id: 7})-[r:TO]->() SET r.weight = 3");
    run(&at_source, "MATCH (n:Node) WHERE n.id > 400 DETACH DELETE n");
    run(&at_source, "DROP CONSTRAINT one");
    run_on(&at_source, "shop", "MATCH (i:Item) SET i.id = 5");
    run(&at_source, "CREATE DATABASE third");
    run_on(&at_source, "third", "CREATE (:Third)");
    run(&at_source, "DROP DATABASE blank");
    for name in ["telar", "shop"] {
        follower.catch_up(&source, name);
    }
    assert_eq!(run(&here, ALL), run(&at_source, ALL));
    assert_eq!(run(&here, "MATCH ()-[r:TO {weight: 3}]->() RETURN count(r)"), ["1"]);
    assert_eq!(run(&here, "MATCH (n:End {name: 'n3'}) RETURN n.name"), ["'n3'"]);
    assert_eq!(run(&here, "SHOW INDEXES YIELD name"), run(&at_source, "SHOW INDEXES YIELD name"));
    assert_eq!(run(&here, "SHOW CONSTRAINTS YIELD name"), [""; 0]);
    assert_eq!(run_on(&here, "shop", "MATCH (i:Item) RETURN i.id"), ["5"]);
    eventually("a new database", || {
        let rows = try_on(&here, &on("third"), "MATCH (t:Third) RETURN count(t)").ok()?;
        (rows == ["1"]).then_some(())
    });
    let gone = || follower.dbms().database(Some("blank")).is_err_and(|e| e.code == NOT_FOUND);
    eventually("a dropped database", || gone().then_some(()));
    eventually("its folder", || (follower.folders() == 3).then_some(()));
    // Nobody has to be asked for a lag that there is not.
    eventually("no lag", || {
        let seen = follower.seen("telar");
        (seen.connected && seen.behind.is_zero() && seen.images == 1).then_some(())
    });
    let shown = run(&here, "SHOW DATABASES YIELD name, statusMessage WHERE name = 'telar'");
    assert!(shown[0].contains("copy of http://localhost:"), "{shown:?}");
    assert!(shown[0].contains("nothing behind"), "{shown:?}");
}

#[test]
fn writers_checkpoints_and_restarts_are_followed_without_a_gap() {
    let source = source();
    let mut follower = follow(&source);
    let writers = |source: &Source, from: usize| {
        let dbms = Arc::clone(source.dbms());
        std::thread::spawn(move || {
            let client = admin(&dbms);
            for n in from..from + 150 {
                run(&client, &format!("CREATE (:Node {{id: {n}}})"));
                if n % 40 == 0 {
                    dbms.database(None).unwrap().engine().checkpoint().unwrap();
                }
            }
        })
    };
    let threads = [writers(&source, 0), writers(&source, 150)];
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(150));
        follower.stop();
        follower.start();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    follower.catch_up(&source, "telar");
    let sum = "MATCH (n:Node) RETURN count(n), count(DISTINCT n.id), sum(n.id)";
    assert_eq!(run(&follower.admin(), sum), ["300 300 44850"]);
}

#[test]
fn a_follower_is_followed_and_a_bulk_load_brings_whole_copies() {
    let mut source = source();
    run(&source.admin(), "CREATE (:Node {id: 1})");
    let asking = source.asking("neo4j", PASSWORD);
    let middle = Source::with(DbmsSettings { follow: Some(asking), ..settings() }, false);
    let last = follow(&middle);
    last.catch_up(&source, "telar");
    run(&source.admin(), "CREATE (:Node {id: 2})");
    last.catch_up(&source, "telar");
    assert_eq!(run(&last.admin(), "MATCH (n:Node) RETURN sum(n.id)"), ["3"]);
    // No log has what comes in past it.
    source.stop();
    let engine = telar_db::open(source.path()).unwrap();
    let mut load = engine.bulk_load(telar_db::BulkOptions::default()).unwrap();
    let label = load.label("Bulk").unwrap();
    load.add_vertices(&[label], 10, &[]).unwrap();
    load.finish(&|_, _, _| {}).unwrap();
    engine.close().unwrap();
    source.start();
    run(&source.admin(), "CREATE (:Bulk)");
    let count = "MATCH (n:Bulk) RETURN count(n)";
    let in_middle = middle.admin();
    eventually("it is in the middle", || {
        attempt(&in_middle, count).is_ok_and(|rows| rows == ["11"]).then_some(())
    });
    // A copy is known by itself: the last one keeps what it has.
    let seen = eventually("a trouble", || {
        let seen = last.seen("telar");
        (!seen.message.is_empty()).then_some(seen)
    });
    assert!(seen.message.contains("another one"), "{seen:?}");
    assert_eq!(run(&last.admin(), "MATCH (n:Node) RETURN sum(n.id)"), ["3"]);
}

#[test]
fn bookmarks_of_the_source_are_waited_for() {
    // Commits are shown here before they are on disk, and followed after that.
    let mut of_source = settings();
    of_source.engine.durability = telar_db::Durability::Async { interval_ms: 20 };
    let source = Source::with(of_source, false);
    let follower = follow(&source);
    follower.catch_up(&source, "telar");
    let (at_source, here) = (source.admin(), follower.admin());
    for n in 1..=20 {
        let mut kept = Kept::default();
        let text = "CREATE (:Step)";
        let done = at_source.run(&Options::default(), text, &ValueMap::new(), &mut kept).unwrap();
        let bookmarks = vec![done.bookmark.unwrap().to_string()];
        let after = Options { bookmarks, ..Options::default() };
        let rows = try_on(&here, &after, "MATCH (s:Step) RETURN count(s)").unwrap();
        assert_eq!(rows, [n.to_string()]);
    }
}

#[test]
fn writes_are_refused_and_users_are_its_own() {
    let source = source();
    run(&source.admin(), "CREATE DATABASE shop");
    let follower = follow(&source);
    follower.catch_up(&source, "shop");
    follower.catch_up(&source, "telar");
    let here = follower.admin();
    for text in ["CREATE (:A)", "CREATE INDEX FOR (n:A) ON (n.x)", "MATCH (n) SET n.x = 1"] {
        let failure = attempt(&here, text).unwrap_err();
        assert_eq!(failure.code, READ_ONLY, "{text}");
        assert!(failure.message.contains("http://localhost:"), "{}", failure.message);
    }
    for text in ["CREATE DATABASE own", "DROP DATABASE shop", "STOP DATABASE shop"] {
        let failure = attempt(&here, text).unwrap_err();
        assert!(failure.message.contains("give it there"), "{}", failure.message);
    }
    let ann = user(follower.dbms(), "ann", "reader");
    assert_eq!(run(&ann, "MATCH (n) RETURN count(n)"), ["0"]);
    assert!(login(source.dbms(), "ann", "password of ann").is_err());
    // A backup is a database of its own.
    let place = |name: &str| follower.folder.path().join(name);
    let copy = follower.dbms().database(None).unwrap();
    copy.engine().backup(place("monday"), &BackupOptions::default()).unwrap();
    restore(&[place("monday")], place("restored"), &RestoreOptions::default()).unwrap();
    drop((copy, telar_db::open(place("restored")).unwrap()));
    // Nobody else opens what only the source may change.
    let folder = follower.dbms().database(None).unwrap().engine().folder().unwrap().to_owned();
    assert!(folder.join("COPY").exists());
    let refused = Dbms::open(Some(&follower.path()), settings()).unwrap_err();
    assert!(refused.message.contains("telar promote"), "{}", refused.message);
    let asking = source.asking("neo4j", PASSWORD);
    let again = DbmsSettings { follow: Some(asking.clone()), ..settings() };
    let refused = Dbms::open(Some(&follower.path()), again.clone()).unwrap_err();
    assert!(refused.message.contains("a server runs there"), "{}", refused.message);
    // And nobody's own databases are made copies.
    let own = follower.folder.path().join("own.telar");
    Arc::into_inner(stored(&own)).unwrap().close().unwrap();
    let refused = Dbms::open(Some(&own), again).unwrap_err();
    assert!(refused.message.contains("store.path"), "{}", refused.message);
    assert!(promote(&own, "telar").is_err());
}

#[test]
fn it_goes_on_after_restarts_of_either_side() {
    let mut source = source();
    run(&source.admin(), "CREATE (:Node {id: 1})");
    let mut follower = follow(&source);
    follower.catch_up(&source, "telar");
    follower.stop();
    run(&source.admin(), "CREATE (:Node {id: 2})");
    // It has what it had, whether the source is there or not.
    source.stop();
    follower.start();
    assert_eq!(run(&follower.admin(), "MATCH (n:Node) RETURN count(n)"), ["1"]);
    let seen = eventually("a trouble", || {
        let seen = follower.seen("telar");
        (!seen.message.is_empty()).then_some(seen)
    });
    assert!(!seen.connected && seen.message.contains("cannot be reached"), "{seen:?}");
    assert!(!seen.behind.is_zero());
    source.start();
    follower.catch_up(&source, "telar");
    run(&source.admin(), "CREATE (:Node {id: 3})");
    follower.catch_up(&source, "telar");
    // The source closed with a checkpoint, and kept the log for it.
    assert_eq!(follower.seen("telar").images, 0);
    source.stop();
    source.start();
    run(&source.admin(), "CREATE (:Node {id: 4})");
    follower.catch_up(&source, "telar");
    assert_eq!(run(&follower.admin(), "MATCH (n:Node) RETURN sum(n.id)"), ["10"]);
    assert_eq!(follower.seen("telar").images, 0);
}

#[test]
fn a_log_that_is_not_kept_brings_a_new_copy() {
    let source = Source::with(DbmsSettings { follow_keep: 0, ..settings() }, true);
    run(&source.admin(), "CREATE (:Node {id: 1})");
    let mut follower = follow(&source);
    follower.catch_up(&source, "telar");
    follower.stop();
    run(&source.admin(), "CREATE (:Node {id: 2})");
    source.dbms().database(None).unwrap().engine().checkpoint().unwrap();
    run(&source.admin(), "CREATE (:Node {id: 3})");
    source.dbms().database(None).unwrap().engine().checkpoint().unwrap();
    follower.start();
    // The old copy is read meanwhile; a transaction of before ends.
    follower.catch_up(&source, "telar");
    eventually("an image", || (follower.seen("telar").images == 1).then_some(()));
    assert_eq!(run(&follower.admin(), "MATCH (n:Node) RETURN sum(n.id)"), ["6"]);
    eventually("one folder", || (follower.folders() == 1).then_some(()));
}

#[test]
fn a_database_that_is_stopped_at_the_source_is_kept() {
    let source = source();
    run(&source.admin(), "CREATE DATABASE shop");
    run_on(&source.admin(), "shop", "CREATE (:Item)");
    let follower = follow(&source);
    follower.catch_up(&source, "shop");
    run(&source.admin(), "STOP DATABASE shop");
    eventually("a trouble", || {
        let message = follower.seen("shop").message;
        message.contains("it was stopped").then_some(())
    });
    std::thread::sleep(Duration::from_millis(2500));
    let count = "MATCH (i:Item) RETURN count(i)";
    assert_eq!(run_on(&follower.admin(), "shop", count), ["1"]);
    run(&source.admin(), "START DATABASE shop");
    run_on(&source.admin(), "shop", "CREATE (:Item)");
    follower.catch_up(&source, "shop");
    assert_eq!(run_on(&follower.admin(), "shop", count), ["2"]);
    assert_eq!(follower.seen("shop").images, 1);
}

#[test]
fn databases_that_are_made_anew_are_copied_anew_but_not_another_server() {
    let mut source = source();
    run(&source.admin(), "CREATE DATABASE shop");
    run_on(&source.admin(), "shop", "CREATE (:Old)");
    run(&source.admin(), "CREATE (:Precious)");
    let follower = follow(&source);
    follower.catch_up(&source, "telar");
    follower.catch_up(&source, "shop");
    run(&source.admin(), "CREATE OR REPLACE DATABASE shop");
    run_on(&source.admin(), "shop", "CREATE (:New)");
    let here = follower.admin();
    eventually("the new one", || {
        let rows = try_on(&here, &on("shop"), "MATCH (n:New) RETURN count(n)").ok()?;
        (rows == ["1"]).then_some(())
    });
    assert_eq!(run_on(&here, "shop", "MATCH (n:Old) RETURN count(n)"), ["0"]);
    // A server that lost its disk and begins again is no reason to lose the copy, too.
    source.stop();
    std::fs::remove_dir_all(source.folder.path().join("graph.telar")).unwrap();
    source.start();
    let seen = eventually("a trouble", || {
        let seen = follower.seen("telar");
        seen.message.contains("another one").then_some(seen)
    });
    assert!(seen.message.contains("telar promote"), "{seen:?}");
    assert_eq!(run(&here, "MATCH (n:Precious) RETURN count(n)"), ["1"]);
    assert_eq!(run_on(&here, "shop", "MATCH (n:New) RETURN count(n)"), ["1"]);
}

#[test]
fn whoever_may_not_follow_hears_why() {
    let source = source();
    // First: the follower locks `neo4j` out there.
    drop(user(source.dbms(), "ann", "writer"));
    let follower = Follower::of(source.asking("neo4j", "a wrong password"));
    let trouble = |follower: &Follower, what: &str| {
        eventually(what, || {
            let message = follower.seen("telar").message;
            message.contains(what).then_some(())
        });
    };
    trouble(&follower, "follow.password");
    let failure = follower.dbms().database(None).unwrap_err();
    assert_eq!(failure.code, UNAVAILABLE);
    trouble(&Follower::of(source.asking("ann", "password of ann")), "no administrator");
    let named = DbmsSettings { default_database: "graph".into(), ..settings() };
    let named = Source::with(named, false);
    trouble(&Follower::of(named.asking("neo4j", PASSWORD)), "store.default_database");
    let mut other = source.asking("neo4j", PASSWORD);
    other.ca = Some("/nowhere".into());
    other.url = "https://localhost:1".parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let settings = DbmsSettings { follow: Some(other), ..settings() };
    let refused = Dbms::open(Some(folder.path()), settings).unwrap_err();
    assert!(refused.message.contains("follow.ca"), "{}", refused.message);
}

#[test]
fn a_copy_that_did_not_come_whole_is_thrown_away() {
    let source = source();
    run(&source.admin(), "CREATE (:Node {id: 1})");
    let mut follower = follow(&source);
    follower.catch_up(&source, "telar");
    follower.stop();
    // As a process leaves it that was killed while it fetched the next image, or a first one.
    let databases = follower.path().join("dbms/databases");
    for left in ["telar-7.fetching", "telar-7.unfinished", "telar-7", "shop-9.fetching"] {
        std::fs::create_dir(databases.join(left)).unwrap();
        std::fs::write(databases.join(left).join("FORMAT"), "half").unwrap();
    }
    follower.start();
    assert_eq!(follower.folders(), 1);
    follower.catch_up(&source, "telar");
    // A copy that somebody has removed is fetched again.
    follower.stop();
    std::fs::remove_dir_all(&databases).unwrap();
    follower.start();
    follower.catch_up(&source, "telar");
    assert_eq!(run(&follower.admin(), "MATCH (n:Node) RETURN sum(n.id)"), ["1"]);
}

#[test]
fn promotion_makes_it_an_ordinary_server() {
    let mut source = source();
    run(&source.admin(), "CREATE DATABASE shop");
    run(&source.admin(), "CREATE CONSTRAINT one FOR (n:Node) REQUIRE n.id IS UNIQUE");
    run(&source.admin(), "UNWIND range(1, 100) AS id CREATE (:Node {id: id})");
    run_on(&source.admin(), "shop", "CREATE (:Item)");
    let mut follower = follow(&source);
    follower.catch_up(&source, "telar");
    follower.catch_up(&source, "shop");
    drop(user(follower.dbms(), "ann", "reader"));
    run(&follower.admin(), "GRANT ROLE writer TO ann ON DATABASE shop");
    let refused = promote(&follower.path(), "telar").unwrap_err();
    assert!(refused.message.contains("a server runs there"), "{}", refused.message);
    follower.stop();
    source.stop();
    assert!(promote(&follower.path(), "other").is_err());
    let promoted = promote(&follower.path(), "telar").unwrap();
    let names: Vec<_> = promoted.iter().map(|database| &*database.name).collect();
    assert_eq!(names, ["shop", "telar"]);
    let refused = Dbms::open(Some(&follower.path()), follower.settings.clone()).unwrap_err();
    assert!(refused.message.contains("own databases"), "{}", refused.message);
    let dbms = stored(&follower.path());
    let here = admin(&dbms);
    run(&here, "CREATE (:Node {id: 101})");
    assert_eq!(run(&here, "MATCH (n:Node) RETURN count(n)"), ["101"]);
    assert!(attempt(&here, "CREATE (:Node {id: 7})").is_err(), "the constraint holds");
    let ann = login(&dbms, "ann", "password of ann").unwrap();
    run_on(&ann, "shop", "CREATE (:Item)");
    run(&here, "CREATE DATABASE more");
    assert_eq!(run_on(&here, "shop", "MATCH (n:Item) RETURN count(n)"), ["2"]);
    drop((here, ann));
    Arc::into_inner(dbms).unwrap().close().unwrap();
    let dbms = stored(&follower.path());
    assert_eq!(run(&admin(&dbms), "MATCH (n:Node) RETURN count(n)"), ["101"]);
}

#[test]
fn an_interrupted_promotion_is_finished() {
    let source = source();
    run(&source.admin(), "CREATE (:Node {id: 1})");
    let mut follower = follow(&source);
    follower.catch_up(&source, "telar");
    follower.stop();
    // As after a crash between two renames.
    let file = follower.path().join("dbms/follow.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("\"promoting\": false", "\"promoting\": true");
    std::fs::write(&file, &text).unwrap();
    let databases = follower.path().join("dbms/databases");
    let copy = std::fs::read_dir(&databases).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(copy.join("COPY")).unwrap();
    std::fs::rename(copy.join("wal"), follower.path().join("wal")).unwrap();
    for settings in [follower.settings.clone(), settings()] {
        let refused = Dbms::open(Some(&follower.path()), settings).unwrap_err();
        assert!(refused.message.contains("telar promote"), "{}", refused.message);
    }
    promote(&follower.path(), "telar").unwrap();
    let dbms = stored(&follower.path());
    run(&admin(&dbms), "CREATE (:Node {id: 2})");
    assert_eq!(run(&admin(&dbms), "MATCH (n:Node) RETURN sum(n.id)"), ["3"]);
}
