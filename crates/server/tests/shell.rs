//! `telar shell` over a server that runs: the same as over a database that it opens.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::PathBuf;
use std::process::{Output, Stdio};

#[path = "../../../tests/src/process.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod process;
#[path = "common/serving.rs"]
mod serving;

use process::Process;
use serving::{PASSWORD, serve, telar};

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The same script on both, in every format; an error that ends it says where in the file it is.
#[test]
fn scripts_do_on_a_server_what_they_do_on_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.cypher");
    fs::write(
        &script,
        "// made by hand\n:param n => [1, {a: date('2026-01-02')}]\n\
         CREATE (a:P {name: 'Ada', of: $n[0]})-[:KNOWS {since: 1}]->(b:P {name: 'O\\'Brien'});\n\
         :begin\nCREATE (:Gone);\n:rollback\n:begin\nCREATE (:Kept);\n:commit\n\
         MATCH p = (a:P)-[r]->(b) RETURN a, r, b, p, $n AS n; \
         MATCH (k:Kept) RETURN count(k) AS kept;\n\
         MATCH (g:Gone) RETURN g;\n\
         RETURN 1 AS one; RETURN\n  'two' AS two,\n  three;\nRETURN 'never';\n",
    )
    .unwrap();
    let name = script.display().to_string();
    for format in ["csv", "json", "graph", "table"] {
        let (_server, address) = serve(&[]);
        let shell = |arguments: &[&str]| {
            let mut command = telar();
            command.arg("shell").args(arguments).args(["-f", &name, "--format", format]);
            command.env("TELAR_PASSWORD", PASSWORD).output().unwrap()
        };
        let embedded = shell(&["--memory"]);
        let served = shell(&[&format!("bolt://{address}"), "-u", "neo4j"]);
        assert_eq!(stdout(&served), stdout(&embedded), "{}", stderr(&served));
        for output in [embedded, served] {
            assert_eq!(output.status.code(), Some(1));
            let said = stderr(&output);
            let error = format!("error: {name}:14:3: UndefinedVariable");
            assert!(said.contains(&error) && said.contains("  three\n  ^^^^^"), "{said}");
            assert!(!stdout(&output).contains("never") && !said.contains(PASSWORD), "{said}");
        }
    }
}

#[test]
fn who_cannot_get_in_hears_what_is_missing() {
    let (server, address) = serve(&[]);
    let address = format!("bolt://{address}");
    let shell = |arguments: &[&str], password: Option<&str>| {
        let mut command = telar();
        command.args(["shell", &address, "-c", "RETURN 1 AS x"]).args(arguments);
        command.envs(password.map(|password| ("TELAR_PASSWORD", password)));
        command.output().unwrap()
    };
    assert_eq!(stdout(&shell(&["-u", "neo4j"], Some(PASSWORD))), "x\n1\n");
    assert_eq!(stdout(&shell(&["-u", "neo4j", "-d", "telar"], Some(PASSWORD))), "x\n1\n");
    for (arguments, password, says) in [
        (&[][..], None, "-u names the user"),
        (&["-u", "neo4j"], None, "set TELAR_PASSWORD"),
        (&["-u", "neo4j"], Some("another one"), "unauthorized"),
        (&["-u", "neo4j", "-d", "nowhere"], Some(PASSWORD), "no database named 'nowhere'"),
        (&["-u", "neo4j", "--threads", "2"], Some(PASSWORD), "--threads"),
    ] {
        let output = shell(arguments, password);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(said.contains(says) && !said.contains("another one"), "{arguments:?}: {said}");
    }
    drop(server);
    let gone = shell(&["-u", "neo4j"], Some(PASSWORD));
    assert!(stderr(&gone).contains("nothing listens there"), "{}", stderr(&gone));
    let local = telar().args(["shell", "x.telar", "-d", "telar"]).output().unwrap();
    assert!(stderr(&local).contains("telar shell bolt://"), "{}", stderr(&local));
}

#[test]
fn encrypted_connections_ask_for_a_certificate_unless_told_otherwise() {
    let file = |name: &str| {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        path.display().to_string()
    };
    let (certificate, key) = (file("tls-cert.pem"), file("tls-key.pem"));
    let (_server, address) =
        serve(&["--tls-cert", &certificate, "--tls-key", &key, "--tls-required"]);
    let port = address.rsplit(':').next().unwrap();
    let shell = |scheme: &str, authorities: Option<&str>| {
        let mut command = telar();
        let address = format!("{scheme}://localhost:{port}");
        command.args(["shell", &address, "-u", "neo4j", "-c", "RETURN 1 AS x"]);
        command.env("TELAR_PASSWORD", PASSWORD);
        command.envs(authorities.map(|file| ("SSL_CERT_FILE", file)));
        command.output().unwrap()
    };
    let authority = file("tls-ca.pem");
    for (scheme, authorities) in [("bolt+s", Some(&*authority)), ("neo4j+ssc", None)] {
        let output = shell(scheme, authorities);
        assert_eq!(stdout(&output), "x\n1\n", "{scheme}: {}", stderr(&output));
    }
    for (scheme, authorities, says) in [
        ("bolt", None, "bolt+s://"),
        ("bolt+s", Some(&*certificate), "certificate"),
        ("bolt+s", Some("/dev/null/x.pem"), "SSL_CERT_FILE"),
    ] {
        let output = shell(scheme, authorities);
        assert_eq!(output.status.code(), Some(1), "{scheme}");
        assert!(stderr(&output).contains(says), "{scheme}: {}", stderr(&output));
    }
}

/// Two shells on one folder: the second asks the first, and goes on when it has ended.
#[test]
fn a_second_shell_asks_the_first() {
    use std::io::Write;

    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("g");
    let mut command = telar();
    command.arg("shell").arg(&db).args(["--format", "csv"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let ask = |text: &str| {
        let output = telar().arg("shell").arg(&db).args(["-c", text, "--format", "csv"]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    ask("CREATE (:A {n: 1})");
    // A database that is open: a script is read whole before it runs, so it is held by a library.
    let opening = telar_share::Opening::new(&db, telar_db::Settings::default());
    let holder = telar_share::Shared::open(opening).unwrap();
    let mut interactive = Process::start(&mut command).unwrap();
    assert!(holder.is_owner());
    assert_eq!(ask("MATCH (a:A) SET a.n = a.n + 1 RETURN a.n AS n"), "n\n2\n");
    assert_eq!(ask("MATCH p = (a:A) RETURN a, p LIMIT 1").lines().count(), 2);
    let mut input = interactive.stdin.take().unwrap();
    input.write_all(b"MATCH (a:A) SET a.n = 10;\n").unwrap();
    drop(input);
    assert!(interactive.wait().unwrap().success());
    assert_eq!(ask("MATCH (a:A) RETURN a.n AS n"), "n\n10\n");
    holder.close().unwrap();
    drop(holder);
    assert_eq!(ask("MATCH (a:A) RETURN a.n AS n"), "n\n10\n");
}
