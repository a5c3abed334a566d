//! `LOAD CSV`: what a row is, which files may be read, and what is said of broken ones.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use std::fs;
use std::path::Path;

use common::{check, rows};
use telar_db::query::Limits;
use telar_db::{Database, Session};

const FILES: &[(&str, &str)] = &[
    ("people.csv", "name,age\nAnn,30\n\"Bob, the 2nd\",40\n\"Cy \"\"C\"\"\",\n"),
    ("semicolons.csv", "name;age\nAnn;30\n'B';1,5\n"),
    ("tabs.tsv", "a\tb\n1\t2\n"),
    ("lines.csv", "text\n\"two\nlines\"\nlast"),
    ("crlf.csv", "a,b\r\n1,2\r\n"),
    ("bom.csv", "\u{feff}a,b\n1,2\n"),
    ("short.csv", "a,b,c\n1\n1,2,3,4\n"),
    ("blank.csv", "a\n1\n\n2\n"),
    ("nothing.csv", ""),
    ("header.csv", "a,b\n"),
    ("unicode.csv", "näme\nZoë ☃\n"),
    ("open.csv", "a,b\n1,2\n3,\"never closed\n5,6\n"),
    ("sub/inner.csv", "a\n7\n"),
    ("with space.csv", "a\n8\n"),
];

fn with_files(test: impl Fn(&Database, &Session, &Path)) {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("import");
    fs::create_dir_all(folder.join("sub")).unwrap();
    for (name, text) in FILES {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("latin.csv"), b"a\n1\n\xe9t\xe9\n").unwrap();
    fs::write(around.path().join("secret.csv"), "a\nsecret\n").unwrap();
    let db = telar_db::open_in_memory().unwrap();
    let limits = Limits { import_folder: Some(folder.clone()), ..Limits::default() };
    let session = Session::new(&db).with_limits(limits);
    test(&db, &session, &folder);
}

#[test]
fn rows_of_files() {
    with_files(|_, session, _| {
        for example in [
            (
                "LOAD CSV WITH HEADERS FROM 'file:///people.csv' AS r RETURN r.name, r.age",
                &["'Ann' | '30'", "'Bob, the 2nd' | '40'", "'Cy \"C\"' | null"][..],
            ),
            (
                "LOAD CSV FROM 'file:///people.csv' AS r RETURN r",
                &[
                    "['Ann', '30']",
                    "['Bob, the 2nd', '40']",
                    "['Cy \"C\"', null]",
                    "['name', 'age']",
                ],
            ),
            (
                "LOAD CSV WITH HEADERS FROM 'semicolons.csv' AS r FIELDTERMINATOR ';'
                 RETURN r.name, r.age",
                &["''B'' | '1,5'", "'Ann' | '30'"],
            ),
            (
                r"LOAD CSV WITH HEADERS FROM '/tabs.tsv' AS r FIELDTERMINATOR '\t' RETURN r.a, r.b",
                &["'1' | '2'"],
            ),
            (
                "LOAD CSV WITH HEADERS FROM 'file:///lines.csv' AS r RETURN r.text",
                &["'last'", "'two\nlines'"],
            ),
            ("LOAD CSV WITH HEADERS FROM 'crlf.csv' AS r RETURN r.a, r.b", &["'1' | '2'"]),
            ("LOAD CSV WITH HEADERS FROM 'bom.csv' AS r RETURN r.a, r.b", &["'1' | '2'"]),
            // Fields without a name are left out, and those without a value are null.
            (
                "LOAD CSV WITH HEADERS FROM 'short.csv' AS r RETURN r",
                &["{a: '1', b: '2', c: '3'}", "{a: '1', b: null, c: null}"],
            ),
            ("LOAD CSV FROM 'short.csv' AS r RETURN size(r)", &["1", "3", "4"]),
            ("LOAD CSV WITH HEADERS FROM 'blank.csv' AS r RETURN r.a", &["'1'", "'2'"]),
            ("LOAD CSV WITH HEADERS FROM 'nothing.csv' AS r RETURN r", &[]),
            ("LOAD CSV FROM 'nothing.csv' AS r RETURN r", &[]),
            ("LOAD CSV WITH HEADERS FROM 'header.csv' AS r RETURN r", &[]),
            ("LOAD CSV WITH HEADERS FROM 'unicode.csv' AS r RETURN r.`näme`", &["'Zoë ☃'"]),
            ("LOAD CSV WITH HEADERS FROM 'file:///sub/inner.csv' AS r RETURN r.a", &["'7'"]),
            ("LOAD CSV WITH HEADERS FROM 'file:///with%20space.csv' AS r RETURN r.a", &["'8'"]),
            // A file for each row, and numbers of lines.
            (
                "UNWIND ['sub/inner.csv', 'blank.csv'] AS f LOAD CSV WITH HEADERS FROM f AS r
                 RETURN f, r.a",
                &["'blank.csv' | '1'", "'blank.csv' | '2'", "'sub/inner.csv' | '7'"],
            ),
            (
                "LOAD CSV WITH HEADERS FROM 'people.csv' AS r
                 MERGE (p:P {name: r.name}) SET p.age = toInteger(r.age) RETURN p.name, p.age",
                &["'Ann' | 30", "'Bob, the 2nd' | 40", "'Cy \"C\"' | null"],
            ),
        ] {
            check(session, example);
        }
    });
}

#[test]
fn rows_know_their_line_and_file() {
    with_files(|_, session, folder| {
        let path = folder.canonicalize().unwrap();
        let (lines, blank) = (path.join("lines.csv"), path.join("blank.csv"));
        let (lines, blank) = (lines.display(), blank.display());
        for (query, expected) in [
            (
                "LOAD CSV WITH HEADERS FROM 'lines.csv' AS r RETURN linenumber(), file()",
                vec![format!("2 | '{lines}'"), format!("4 | '{lines}'")],
            ),
            ("LOAD CSV FROM 'people.csv' AS r RETURN max(linenumber()) AS l", vec!["4".into()]),
            ("LOAD CSV FROM 'crlf.csv' AS r RETURN linenumber()", vec!["1".into(), "2".into()]),
            (
                "LOAD CSV FROM 'open.csv' AS r RETURN linenumber()",
                vec!["ExternalResourceFailed: ...".into()],
            ),
            // They stay with the row until rows are put together.
            (
                "LOAD CSV FROM 'blank.csv' AS r WITH r[0] AS a, 1 AS b WHERE a <> '1' WITH * ORDER BY
                 linenumber() DESC LIMIT 1 MERGE (:Line {n: linenumber()}) WITH a
                 RETURN a, linenumber() + 10, file()",
                vec![format!("'2' | 14 | '{blank}'")],
            ),
            ("MATCH (l:Line) RETURN l.n, linenumber(), file()", vec!["4 | null | null".into()]),
            (
                "LOAD CSV FROM 'blank.csv' AS r WITH count(*) AS c RETURN c, linenumber()",
                vec!["3 | null".into()],
            ),
            (
                "LOAD CSV FROM 'blank.csv' AS r WITH DISTINCT 1 AS c RETURN c, linenumber()",
                vec!["1 | null".into()],
            ),
            (
                "LOAD CSV FROM 'blank.csv' AS r WITH r CALL (r) { RETURN linenumber() AS l }
                 RETURN l, linenumber()",
                vec!["null | 1".into(), "null | 2".into(), "null | 4".into()],
            ),
            (
                "LOAD CSV FROM 'blank.csv' AS r LOAD CSV FROM 'sub/inner.csv' AS s
                 RETURN DISTINCT linenumber() AS l",
                vec!["1".into(), "2".into()],
            ),
            (
                "CALL () { LOAD CSV FROM 'blank.csv' AS r RETURN r[0] AS a UNION RETURN linenumber()
                 AS a } RETURN a, linenumber()",
                vec!["'1' | null".into(), "'2' | null".into(), "'a' | null".into(),
                     "null | null".into()],
            ),
            (
                "LOAD CSV FROM 'blank.csv' AS r WITH r WHERE EXISTS { RETURN 1 AS x UNWIND
                 [linenumber()] AS l } RETURN 1",
                vec!["...".into()],
            ),
            (
                "LOAD CSV FROM 'blank.csv' AS r RETURN [x IN [1] | linenumber()] AS l,
                 COLLECT { WITH r WHERE linenumber() > 1 RETURN linenumber() AS l } AS c",
                vec!["[1] | []".into(), "[2] | [2]".into(), "[4] | [4]".into()],
            ),
            (
                "LOAD CSV FROM 'blank.csv' AS r RETURN r[0] AS a, count(*) + linenumber() AS l",
                vec!["AmbiguousAggregationExpression: ...".into()],
            ),
        ] {
            let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            check(session, (query, &expected));
        }
    });
}

#[test]
fn files_outside_the_folder_are_refused() {
    with_files(|db, session, folder| {
        let secret = folder.parent().unwrap().join("secret.csv");
        let absolute = format!("file://{}", secret.display());
        let escapes = [
            "../secret.csv",
            "file:///../secret.csv",
            "file:///sub/../../secret.csv",
            "file:///%2e%2e/secret.csv",
            "sub/..%2f..%2fsecret.csv",
            "https://example.com/secret.csv",
            "ftp://example.com/secret.csv",
            absolute.as_str(),
        ];
        for address in escapes {
            let found = rows(session, &format!("LOAD CSV FROM '{address}' AS r RETURN r"));
            assert!(found[0].starts_with("ExternalResourceFailed"), "{address}: {found:?}");
            assert!(found[0].contains(address), "{address}: {found:?}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&secret, folder.join("link.csv")).unwrap();
            let found = rows(session, "LOAD CSV FROM 'link.csv' AS r RETURN r");
            assert!(found[0].contains("leaves the import folder"), "{found:?}");
        }
        let closed = Session::new(db);
        let found = rows(&closed, "LOAD CSV FROM 'people.csv' AS r RETURN r");
        assert!(found[0].contains("no import folder is set"), "{found:?}");
    });
}

#[test]
fn broken_files_are_named_with_their_line() {
    with_files(|_, session, _| {
        for (query, words) in [
            ("LOAD CSV FROM 'missing.csv' AS r RETURN r", &["missing.csv"][..]),
            ("LOAD CSV FROM 'latin.csv' AS r CREATE (:X)", &["latin.csv:3", "UTF-8"]),
            ("LOAD CSV FROM 'open.csv' AS r CREATE (:X)", &["open.csv:3", "quote"]),
            ("LOAD CSV FROM 'sub' AS r RETURN r", &["sub"]),
            ("LOAD CSV FROM 5 AS r RETURN r", &["a string"]),
            ("LOAD CSV FROM 'people.csv' AS r FIELDTERMINATOR '€' RETURN r", &["terminator"]),
            ("LOAD CSV FROM 'people.csv' AS r FIELDTERMINATOR ';;' RETURN r", &["terminator"]),
        ] {
            let found = rows(session, query);
            for word in words {
                assert!(found.len() == 1 && found[0].contains(word), "{query}: {found:?}");
            }
        }
        assert_eq!(rows(session, "MATCH (n) RETURN count(n)"), ["0"]);
    });
}

#[test]
fn only_regular_files_are_read_and_records_have_an_end() {
    use std::io::Write;
    use telar_db::query::{ErrorKind, Limits};

    let folder = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe.csv")).status();
    assert!(made.unwrap().success());
    std::fs::create_dir(folder.path().join("folder.csv")).unwrap();
    // A quote that is never closed, in a file of 40 MiB.
    let mut open = std::fs::File::create(folder.path().join("open.csv")).unwrap();
    open.write_all(b"a,b\n\"").unwrap();
    (0..40).for_each(|_| open.write_all(&vec![b'x'; 1 << 20]).unwrap());
    drop(open);

    let (send, receive) = std::sync::mpsc::channel();
    let import_folder = Some(folder.path().to_owned());
    std::thread::spawn(move || {
        let db = telar_db::open_in_memory().unwrap();
        let limits = Limits { import_folder, ..Limits::default() };
        let session = telar_db::Session::new(&db).with_limits(limits);
        for file in ["pipe.csv", "folder.csv", "open.csv"] {
            let text = format!("LOAD CSV FROM '{file}' AS r RETURN count(r)");
            _ = send.send(session.run(&text, &[]).unwrap_err());
        }
    });
    let patience = std::time::Duration::from_secs(300);
    for (kind, message) in [
        (ErrorKind::ExternalResource, "not a regular file"),
        (ErrorKind::ExternalResource, "not a regular file"),
        (ErrorKind::OutOfMemory, "a quote in it is not closed"),
    ] {
        let error = receive.recv_timeout(patience).expect("an answer");
        assert!(error.kind == kind && error.message.contains(message), "{error:?}");
    }
}
