//! The `telar` program as its users meet it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn telar(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_telar")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Standard output of a command that must succeed.
fn run(arguments: &[&str]) -> String {
    let output = telar(arguments);
    assert!(output.status.success(), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// Standard error of a command that must fail with exit code 1.
fn fail(arguments: &[&str]) -> String {
    let output = telar(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stdout(&output));
    stderr(&output)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn import_then_info_reports_what_came_in() {
    let folder = tempfile::tempdir().unwrap();
    let (db, file) = (folder.path().join("db"), folder.path().join("trust.csv"));
    fs::write(&file, "from,to,rating\n7,9,5\n9,12,-2\n7,12,4\n7,9,1\n").unwrap();
    let (db, file) = (text(&db), text(&file));
    let said = run(&["import", db, file, "--label", "User", "--type", "TRUSTS"]);
    assert!(said.contains("3 vertices :User, 4 edges :TRUSTS"), "{said}");
    assert!(said.contains("rating"), "{said}");
    let said = run(&["import", db, file, "--simple", "--type", "KNOWS", "--async"]);
    assert!(said.contains("duplicates 1 "), "{said}");

    let info: Value = serde_json::from_str(&run(&["info", db, "--json"])).unwrap();
    assert_eq!(info["vertices"], 6);
    assert_eq!(info["edges"], 7);
    assert_eq!(info["labels"][0]["name"], "User");
    assert_eq!(info["labels"][1]["vertices"], 3);
    let trusts = &info["edge_types"][0];
    assert_eq!((&trusts["name"], &trusts["kind"]), (&"TRUSTS".into(), &"general".into()));
    assert_eq!(trusts["degrees"]["out"]["max"], 3);
    assert_eq!(trusts["degrees"]["in"]["histogram"][2]["vertices"], 2);
    assert_eq!(info["edge_types"][1]["kind"], "simple");
    assert!(info["last_commit"].as_u64().unwrap() > 0);
    assert!(info["bytes_per_entry"].as_f64().unwrap() > 0.0);
    assert!(info["checkpoint_bytes"].as_u64().unwrap() > 0);

    assert!(info["history"].is_null(), "nothing was retained");

    let said = run(&["info", db]);
    assert!(!said.contains("history"), "{said}");
    for part in [":TRUSTS", "out degree: min 0", "###", "last commit", "% unsettled"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains('\x1b'), "colours are for terminals");
}

#[test]
fn info_tells_what_history_is_retained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.telar");
    let mut settings = telar_db::Settings::default();
    settings.retain = telar_db::Retention::commits(1);
    let db = telar_db::open_with(&path, settings).unwrap();
    let item = db.label("Item").unwrap();
    for _ in 0..3 {
        db.write(Default::default(), |txn| txn.create_vertex(&[item])).unwrap();
    }
    let (oldest, _) = db.retained().unwrap();
    db.close().unwrap();
    let info: Value = serde_json::from_str(&run(&["info", text(&path), "--json"])).unwrap();
    assert_eq!(info["history"]["oldest"], oldest.get());
    assert!(info["history"]["bytes"].as_u64().is_some());
    let said = run(&["info", text(&path)]);
    assert!(said.contains(&format!("from commit {} on", oldest.get())), "{said}");
}

#[test]
fn import_of_a_bad_file_names_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let (db, file) = (folder.path().join("db"), folder.path().join("bad.csv"));
    fs::write(&file, "1,2\n3,abc\n").unwrap();
    let said = fail(&["import", text(&db), text(&file)]);
    let message = format!("error: {}:2:3: expected a vertex id, found \"abc\"\n", file.display());
    assert!(said.ends_with(&message), "{said}");

    let said = fail(&["import", text(&db), text(&folder.path().join("missing.txt"))]);
    assert!(said.contains("missing.txt: No such file"), "{said}");
    let said = fail(&["demo", text(&file)]);
    assert!(said.contains("bad.csv:2:3:"), "{said}");
}

/// Tables as people have them: what they are taken for is said, with what to do.
#[test]
fn files_that_are_something_else_are_named_for_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, db) = (folder.path(), folder.path().join("db"));
    let utf_16: Vec<u8> = "id:ID,name\n1,Ada\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [&b"\xFF\xFE"[..], &utf_16].concat();
    for (name, bytes, says) in [
        ("people.csv", &b"id,birth date,name\n1,2000-01-01,Ada\n"[..], "--nodes LABEL="),
        ("p.parquet", b"PAR1\x15\x04\x15\x10\x15\x14\x4c\x15", "p.parquet"),
        ("p.xlsx", b"PK\x03\x04\x14\x00\x06\x00", "this is an archive"),
        ("wide.csv", &utf_16, "iconv -f UTF-16"),
        ("marked.csv", &marked, "marked.csv"),
    ] {
        let file = folder.join(name);
        fs::write(&file, bytes).unwrap();
        let mut ways = vec![vec!["import", text(&db), text(&file)]];
        let nodes = format!("P={}", text(&file));
        if name != "people.csv" {
            ways.push(vec!["import", text(&db), "--nodes", &nodes]);
        }
        for arguments in ways {
            let said = fail(&arguments);
            assert!(said.contains(says) && said.contains(name), "{arguments:?}: {said}");
            assert!(!db.exists());
        }
    }
}

/// What pandas and European spreadsheets write.
#[test]
fn tables_come_in_as_programs_write_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let db = folder.path().join("db");
    let header = file("h.csv", "id:ID;n:int;at:localdatetime;w:double;l:string[]\n");
    let data = file(
        "d.csv",
        "id;n;at;w;l\n1;1.0;2024-01-01 10:00:00;0.5;a,b\n2;NA;NaN;NA;\n3;3.0;;;\"NA\"\n",
    );
    let nodes = format!("P={header},{data}");
    let mut arguments = vec!["import", text(&db), "--nodes", &nodes, "--delimiter", ";"];
    let said = fail(&arguments);
    assert!(said.contains("d.csv:1: column \"n\"") && said.contains("--skip-lines 1"), "{said}");
    arguments.extend(["--skip-lines", "1", "--null", "NA,NaN"]);
    run(&arguments);
    let query = "MATCH (p:P) RETURN p.id, p.n, p.at, p.w, p.l ORDER BY p.id";
    let rows = run(&["shell", text(&db), "-c", query]);
    let expected = "p.id,p.n,p.at,p.w,p.l\n1,1,2024-01-01T10:00,0.5,\"['a', 'b']\"\n\
                    2,,,,\n3,3,,,['NA']\n";
    // Times are written with or without their seconds, as Neo4j does or openCypher.
    assert_eq!(rows.replace("10:00:00", "10:00"), expected);
    let same = fail(&["import", text(&db), "--nodes", &nodes, "--delimiter", ";", "--quote", ";"]);
    assert!(same.contains("--quote must be three different characters"), "{same}");
}

#[test]
fn an_edge_type_with_other_options_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (db, file) = (folder.path().join("db"), folder.path().join("edges.txt"));
    fs::write(&file, "0 1\n1 2\n").unwrap();
    run(&["import", text(&db), text(&file)]);
    let said = fail(&["import", text(&db), text(&file), "--simple"]);
    assert!(said.contains("edge type LINK exists already with other options"), "{said}");
}

#[test]
fn a_database_open_elsewhere_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = telar_db::open(&path).unwrap();
    let said = fail(&["info", text(&path)]);
    let holder = format!("process {}", std::process::id());
    assert!(said.contains("is open in another process") && said.contains(&holder), "{said}");
    drop(db);
    run(&["info", text(&path)]);
}

#[test]
fn info_without_a_database_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nothing");
    let said = fail(&["info", text(&path)]);
    assert!(said.contains("there is no Telar database"), "{said}");
    assert!(!path.exists());
}

#[test]
fn an_export_becomes_the_same_database_again() {
    let folder = tempfile::tempdir().unwrap();
    let (db, file) = (folder.path().join("db"), folder.path().join("trust.csv"));
    fs::write(&file, "from,to,rating\n7,9,5\n9,12,-2\n7,12,4\n7,9,1\n").unwrap();
    run(&["import", text(&db), text(&file), "--label", "User", "--type", "TRUSTS"]);
    for format in ["parquet", "arrow", "jsonl"] {
        let (out, copy) = (folder.path().join(format), folder.path().join(format!("{format}.db")));
        let said = run(&["export", text(&db), text(&out), "--format", format]);
        assert!(
            said.contains("3 vertices, 4 edges, 0 constraints and indexes in 2 files"),
            "{said}"
        );
        let said = run(&["import", text(&copy), text(&out)]);
        assert!(said.contains("3 vertices, 4 edges"), "{said}");
        assert!(run(&["info", text(&copy)]).contains("TRUSTS"));
        assert!(fail(&["export", text(&db), text(&out)]).contains("File exists"));
    }
    let none = folder.path().join("none");
    let said = fail(&["import", text(&folder.path().join("x")), text(folder.path())]);
    assert!(said.contains("none that telar export has made"), "{said}");
    assert!(!folder.path().join("x").exists());
    assert!(fail(&["export", text(&none), text(&folder.path().join("y"))]).contains("none"));
    assert!(!none.exists());
}

#[test]
fn wrong_usage_exits_with_2_and_help_names_every_command() {
    assert_eq!(telar(&["import", "only-one"]).status.code(), Some(2));
    assert_eq!(telar(&["demo", "--writers", "0"]).status.code(), Some(2));
    assert_eq!(telar(&["no-such-command"]).status.code(), Some(2));
    let help = run(&["--help"]);
    let commands = ["backup", "check", "compact", "demo", "export", "import", "info"];
    for command in commands.into_iter().chain(["repair", "restore", "upgrade"]) {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
    assert!(!help.contains("demo-worker"), "{help}");
}

/// Flags of other servers, and settings that have no flag, lead to what there is.
#[test]
fn unknown_flags_name_what_was_meant() {
    for (arguments, hint) in [
        (&["serve", "--port", "7687"][..], "--bolt ADDRESS:PORT"),
        (&["serve", "x.telar", "--port=7687"], "--bolt ADDRESS:PORT"),
        (&["serve", "--http-port", "1"], "--http ADDRESS:PORT"),
        (&["serve", "--data", "x"], "telar serve graph.telar"),
        (&["serve", "--password", "x"], "TELAR_AUTH_INITIAL_PASSWORD"),
        (&["serve", "--statement-timeout", "1m"], "--set limits.statement_timeout=VALUE"),
        (&["serve", "--backup-folder", "x"], "--set backup.folder=VALUE"),
        (&["serve", "--connections", "9"], "--set bolt.connections=VALUE or --set http.connect"),
        (&["serve", "--log-levle", "debug"], "--set log.level=VALUE"),
        (&["serve", "--blot", "x"], "'--bolt'"),
        (&["shell", "--password", "x"], "TELAR_PASSWORD"),
        (&["shell", "--uri", "bolt://x"], "telar shell bolt://127.0.0.1:7687"),
    ] {
        let output = telar(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains(hint), "{said}");
        assert!(!said.contains("as a value"), "{said}");
    }
}

#[test]
fn demo_survives_its_kill_and_keeps_what_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let arguments = ["--vertices", "3000", "--writers", "4", "--seconds", "1.5", "--seed", "9"];
    let said = run(&[&["demo", "--keep", text(&kept)], &arguments[..]].concat());
    assert!(said.contains("SIGKILL"), "{said}");
    assert!(said.contains("all 11 checks passed"), "{said}");
    assert!(!said.contains("FAILED") && !said.contains('\x1b'), "{said}");
    let info: Value = serde_json::from_str(&run(&["info", text(&kept), "--json"])).unwrap();
    assert_eq!(info["vertices"], 3004);

    let said = fail(&["demo", "--keep", text(&kept)]);
    assert!(said.contains("the folder is not empty"), "{said}");
}

#[test]
fn demo_works_for_files_of_either_kind() {
    let folder = tempfile::tempdir().unwrap();
    // A directed graph with parallel edges, loops and weights; an undirected one of METIS.
    let weighted = folder.path().join("weighted.tsv");
    let line = |i: u32| format!("{}\t{}\t{}\n", i % 97, i * i % 89, i % 5);
    fs::write(&weighted, (0..2000).map(line).collect::<String>()).unwrap();
    let metis = folder.path().join("ring.metis");
    let list = |v: u32| format!("{} {}\n", (v + 98) % 100 + 1, v % 100 + 1);
    fs::write(&metis, format!("100 100\n{}", (1..=100).map(list).collect::<String>())).unwrap();
    for (file, checks) in [(weighted, 11), (metis, 10)] {
        let said = run(&["demo", text(&file), "--seconds", "0.5", "--writers", "3"]);
        assert!(said.contains(&format!("all {checks} checks passed")), "{said}");
    }

    let empty = folder.path().join("empty.txt");
    fs::write(&empty, "# nothing\n").unwrap();
    assert!(fail(&["demo", text(&empty)]).contains("there are no edges in it"));
}

#[test]
fn a_failed_import_leaves_no_database_and_changes_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    };
    let (nodes, edges) =
        (file("n.csv", "id:ID\n1\n2\n"), file("e.csv", ":START_ID,:END_ID\n1,3\n"));
    let bad = file("bad.csv", "1,2\n3,abc\n");
    let db = folder.path().join("db");
    let (nodes, edges) = (format!("N={}", nodes.display()), format!("E={}", edges.display()));
    let csv = ["import", text(&db), "--nodes", &nodes, "--relationships", &edges];
    assert!(fail(&csv).contains("e.csv:2"));
    assert!(!db.exists());
    assert!(fail(&["import", text(&db), text(&bad)]).contains("bad.csv:2:3"));
    assert!(!db.exists());

    run(&["import", text(&db), "--nodes", &nodes]);
    let before = run(&["info", text(&db), "--json"]);
    let value = |said: &str| serde_json::from_str::<Value>(said).unwrap()["vertices"].clone();
    assert_eq!(value(&before), 2);
    assert!(fail(&csv).contains("e.csv:2"));
    assert_eq!(value(&run(&["info", text(&db), "--json"])), 2);

    let rejects = folder.path().join("rejects.csv");
    let mut skipping = csv.to_vec();
    skipping.extend(["--rejects", text(&rejects), "--threads", "1"]);
    let said = run(&skipping);
    assert!(said.contains("2 vertices, 0 edges") && said.contains("1 row, see"), "{said}");
    assert!(said.contains("CPU time") && said.contains("on disk"), "{said}");
    assert!(fs::read_to_string(&rejects).unwrap().contains("1,3"));
}

#[test]
fn backups_restore_to_what_they_say_and_check_finds_damage() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (db, full, second) = (at("db"), at("full"), at("second"));
    fs::write(at("ring.csv"), "1,2\n2,3\n3,1\n").unwrap();
    run(&["import", text(&db), text(&at("ring.csv"))]);
    let said = run(&["backup", text(&db), text(&full)]);
    assert!(said.contains("restores to commit"), "{said}");
    run(&["import", text(&db), text(&at("ring.csv")), "--type", "MORE"]);
    let said = run(&["backup", text(&db), text(&second), "--since", text(&full)]);
    assert!(said.contains("needed to restore it"), "{said}");
    assert!(fail(&["backup", text(&db), text(&full)]).contains("not empty"));

    let edges = |path: &Path| {
        let info: Value = serde_json::from_str(&run(&["info", text(path), "--json"])).unwrap();
        info["edges"].as_u64().unwrap()
    };
    run(&["restore", text(&full), text(&second), text(&at("both"))]);
    assert_eq!(edges(&at("both")), 6);
    let said = run(&["restore", text(&full), text(&at("first"))]);
    assert!(said.contains("restored") && said.contains("checkpoint"), "{said}");
    assert_eq!(edges(&at("first")), 3);
    let said = fail(&["restore", text(&second), text(&at("never"))]);
    assert!(said.contains("no full backup was named"), "{said}");
    assert_eq!(telar(&["restore", text(&full)]).status.code(), Some(2));
    let bad = telar(&["restore", text(&full), text(&at("never")), "--to", "noon"]);
    assert_eq!(bad.status.code(), Some(2));

    for sound in [&db, &full, &second, &at("both")] {
        assert!(run(&["check", text(sound)]).ends_with("sound\n"));
    }
    let store = db.join("store/data.mdb");
    let mut bytes = fs::read(&store).unwrap();
    let run_page = (2..bytes.len() / 4096).find(|p| bytes[p * 4096 + 10] == 4).unwrap();
    bytes[run_page * 4096 + 2000] ^= 1;
    fs::write(&store, bytes).unwrap();
    let damaged = telar(&["check", text(&db), "--json"]);
    assert_eq!(damaged.status.code(), Some(1));
    let report: Value = serde_json::from_str(&stdout(&damaged)).unwrap();
    assert_eq!(report["sound"], false);
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().any(|f| f["file"] == "store/data.mdb"), "{report}");
    let said = run(&["repair", text(&db), text(&at("repaired"))]);
    assert!(said.contains("rebuilt from the lists of the other direction"), "{said}");
    assert_eq!(edges(&at("repaired")), 6);

    let said = run(&["compact", text(&at("both"))]);
    assert!(said.contains("store ") && said.contains(" -> "), "{said}");
    let said = run(&["upgrade", text(&at("both"))]);
    assert!(said.contains("format version 3 already"), "{said}");
    for command in ["backup", "check", "compact", "upgrade"] {
        let nothing = at("nothing");
        let arguments = [command, text(&nothing), "x"];
        fail(&arguments[..if command == "backup" { 3 } else { 2 }]);
        assert!(!nothing.exists(), "{command} made something");
    }
}

#[test]
fn shell_runs_statements_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("db");
    let shell = |arguments: &[&str]| {
        let mut all = vec!["shell", text(&db)];
        all.extend(arguments);
        run(&all)
    };
    let made =
        "CREATE (:Person {name: 'Ada'})-[:KNOWS {since: 1840}]->(:Person {name: 'O''Brien'});";
    assert!(fail(&["shell", text(&db), "-c", made]).contains("^"), "two strings in a row");
    shell(&["-c", &made.replace("''", "\\'")]);
    let query = "MATCH p = (a)-[r]->(b) RETURN a.name AS a, r, b, length(p) AS hops";
    let csv = shell(&["-c", query]);
    let expected = "a,r,b,hops\nAda,[:KNOWS {since: 1840}],(:Person {name: 'O\\'Brien'}),1\n";
    assert_eq!(csv, expected);
    let table = shell(&["-c", query, "--format", "table"]);
    assert!(table.contains("│ 'Ada'"), "{table}");
    let json: Value = serde_json::from_str(&shell(&["-c", query, "--format", "json"])).unwrap();
    assert_eq!(json["b"]["properties"]["name"], "O'Brien");
    assert_eq!(json["r"]["type"], "KNOWS");
    let graph = shell(&["-c", "MATCH p = ()-->() RETURN p", "--format", "graph"]);
    let graph: Value = serde_json::from_str(&graph).unwrap();
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(graph["relationships"][0]["start"], 0);

    let script = folder.path().join("script.cypher");
    let statements = ":param n => 40 + 2\n:begin\nCREATE (:X {n: $n});\n:rollback\n\
                      MATCH (x:X) WITH count(x) AS xs RETURN xs, $n AS n;";
    fs::write(&script, statements).unwrap();
    assert_eq!(shell(&["-f", text(&script)]), "xs,n\n0,42\n");
    let with = shell(&["-c", "RETURN $who + '!' AS hi", "-P", "who => 'Ada'"]);
    assert_eq!(with, "hi\nAda!\n");

    let said = fail(&["shell", text(&db), "-c", "MATCH (n) RETURN m.name"]);
    assert!(said.contains("UndefinedVariable") && said.contains("column 18"), "{said}");
    assert!(said.contains("Neo.ClientError.Statement.SyntaxError"), "{said}");
}

#[test]
fn admin_sets_passwords_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let (db, file) = (folder.path().join("db"), folder.path().join("password.txt"));
    let set = |password: &str| {
        fs::write(&file, password).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_telar"));
        command.args(["admin", "set-password", text(&db), "neo4j"]);
        command.stdin(fs::File::open(&file).unwrap()).output().unwrap()
    };
    assert!(stderr(&set("long enough\n")).contains("there is no Telar database"));
    telar_db::open(&db).unwrap().close().unwrap();
    let refused = set("short\n");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("at least 8 characters"), "{}", stderr(&refused));
    let done = set("long enough\nmore\n");
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(!(stdout(&done) + &stderr(&done)).contains("long enough"));
    let saved = fs::read_to_string(db.join("dbms/system.json")).unwrap();
    assert!(saved.contains("$argon2id$v=19$m=19456,t=2,p=1$") && !saved.contains("long enough"));
    run(&["check", text(&db)]);
}

/// Exit code and standard output of a command.
fn ended(arguments: &[&str]) -> (Option<i32>, String) {
    let output = telar(arguments);
    (output.status.code(), stdout(&output))
}

#[test]
fn reading_leaves_a_database_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
    let db = path("db");
    run(&["shell", &db, "-c", "CREATE (:A {i: 1})"]);
    let lock = || fs::read_to_string(format!("{db}/LOCK")).unwrap();
    let closed = lock();
    assert!(closed.starts_with("closed at"), "{closed}");
    run(&["info", &db]);
    run(&["backup", &db, &path("full")]);
    assert_eq!(lock(), closed);
    let (code, said) = ended(&["check", &db]);
    assert_eq!((code, said.contains("not closed")), (Some(0), false), "{said}");
}

#[test]
fn a_newer_format_is_told_apart_from_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
    let (db, backup) = (path("db"), path("backup"));
    run(&["shell", &db, "-c", "CREATE (:A)"]);
    run(&["backup", &db, &backup]);
    fs::write(format!("{db}/FORMAT"), "telar 99\n").unwrap();
    let manifest = fs::read_to_string(format!("{backup}/MANIFEST")).unwrap();
    let newer = manifest.replace("telar backup 1", "telar backup 2");
    fs::write(format!("{backup}/MANIFEST"), newer).unwrap();
    for (path, version) in [(&db, "99"), (&backup, "2")] {
        let (code, said) = ended(&["check", path]);
        assert_eq!(code, Some(4), "{said}");
        assert!(said.contains(&format!("format version {version}")), "{said}");
        assert!(!said.contains("damaged") && !said.contains("0 values"), "{said}");
        let json: Value = serde_json::from_str(&ended(&["check", path, "--json"]).1).unwrap();
        assert_eq!((&json["sound"], &json["newer"]), (&false.into(), &true.into()));
    }
    assert!(fail(&["info", &db]).contains("upgrade the program"));
    assert!(fail(&["restore", &backup, &path("restored")]).contains("upgrade the program"));
}

#[test]
fn a_repair_that_loses_commits_says_so_and_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
    let db = path("db");
    run(&["shell", &db, "-c", "CREATE (:A {i: 1})"]);
    fs::remove_dir_all(format!("{db}/wal")).unwrap();
    // As a process that was killed leaves it.
    fs::write(format!("{db}/LOCK"), "process 1").unwrap();
    let said = fail(&["shell", &db, "-c", "RETURN 1"]);
    assert!(said.contains("there is no log file, and the database was not closed"), "{said}");
    let said = fail(&["repair", &db, &path("no")]);
    assert!(said.contains("would be lost") && said.contains("--lose-commits"), "{said}");
    let (code, said) = ended(&["repair", &db, &path("new"), "--lose-commits"]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("lost: the commits from"), "{said}");
    let (code, said) = ended(&["check", &path("new")]);
    assert_eq!((code, said.contains("lost the commits from")), (Some(0), true), "{said}");
    assert_eq!(ended(&["check", &db]).0, Some(1), "the damaged one is as it was");
}

#[test]
fn imports_in_an_order_bring_in_the_same_graph() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let edges: Vec<_> = (0..400).map(|i| format!("{} {}", i * 37 % 100, i * i % 100)).collect();
    fs::write(at("edges.txt"), edges.join("\n")).unwrap();
    let rows: Vec<_> = (0..100).map(|i| format!("{i},n{i}")).collect();
    fs::write(at("nodes.csv"), format!("id:ID,name\n{}\n", rows.join("\n"))).unwrap();
    let rows = edges.join("\n").replace(' ', ",");
    fs::write(at("links.csv"), format!(":START_ID,:END_ID\n{rows}\n")).unwrap();
    let asked = "MATCH (a)-[r]->(b) RETURN toInteger(a.id) AS a, toInteger(b.id) AS b, a.name AS n
                 ORDER BY a, b;";
    let answer = |db: &str| run(&["shell", db, "-c", asked, "--format", "csv"]);
    let [list, nodes, links] = [at("edges.txt"), at("nodes.csv"), at("links.csv")];
    let nodes = format!("P={}", text(&nodes));
    let links = format!("LINK={}", text(&links));
    let csv = ["--nodes", &nodes, "--relationships", &links, "--unique", "P.id"];
    let plain = [at("list"), at("csv")];
    run(&["import", text(&plain[0]), text(&list)]);
    run(&[&["import", text(&plain[1])], &csv[..]].concat());
    for order in ["degree", "bfs", "rcm", "community", "spectral", "gorder", "random"] {
        let ordered = [at(&format!("list-{order}")), at(&format!("csv-{order}"))];
        run(&["import", text(&ordered[0]), text(&list), "--order", order]);
        let said = run(&[&["import", text(&ordered[1]), "--order", order], &csv[..]].concat());
        assert!(said.contains(&format!("by {order}")), "{said}");
        for (plain, ordered) in plain.iter().zip(&ordered) {
            assert_eq!(answer(text(plain)), answer(text(ordered)), "{order}");
        }
        assert!(!at(&format!("csv-{order}.unordered")).exists());
    }
    let said = fail(&[&["import", text(&plain[1]), "--order", "rcm"], &csv[..]].concat());
    assert!(said.contains("telar reorder"), "{said}");
    let failed = at("failed");
    let bad = ["--nodes", &nodes, "--nodes", &nodes];
    fail(&[&["import", text(&failed), "--order", "rcm"], &bad[..]].concat());
    assert!(!failed.exists() && !at("failed.unordered").exists());
}

#[test]
fn reorder_writes_a_database_anew_and_says_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("edges.txt"), "1 2\n2 3\n3 1\n3 3\n1 2\n").unwrap();
    let (db, target) = (at("db"), at("ordered"));
    run(&["import", text(&db), text(&at("edges.txt"))]);
    let said = run(&["reorder", text(&db), text(&target), "--order", "degree"]);
    assert!(said.contains("3 vertices, 5 edges, by degree"), "{said}");
    let info: Value = serde_json::from_str(&run(&["info", text(&target), "--json"])).unwrap();
    assert_eq!((&info["vertices"], &info["edges"]), (&3.into(), &5.into()));
    let said = fail(&["reorder", text(&db), text(&target)]);
    assert!(said.contains("exists and is not empty"), "{said}");
    let said = fail(&["reorder", text(&at("none")), text(&at("new"))]);
    assert!(said.contains("there is no Telar database"), "{said}");
    let output = telar(&["reorder", text(&db), text(&at("new")), "--order", "alphabet"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("an order is one of degree"), "{}", stderr(&output));
}

/// A machine may have less than a store may take, which is 1 TiB: here 64 GiB.
#[test]
fn a_store_opens_where_there_is_little_address_space() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("db");
    let limited = |arguments: &[&str]| {
        let script = "ulimit -v 67108864; exec \"$0\" \"$@\"";
        let sh = ["-c", script, env!("CARGO_BIN_EXE_telar")];
        let output = Command::new("sh").args(sh).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    };
    let db = text(&db);
    limited(&["shell", db, "-c", "UNWIND range(1, 1000) AS n CREATE (:N {n: n})"]);
    let said = limited(&["shell", db, "-c", "MATCH (n:N) RETURN sum(n.n)", "--format", "csv"]);
    assert!(said.contains("500500"), "{said}");
    limited(&["check", db]);
}
