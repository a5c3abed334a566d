//! What browsers are given, and what editors ask while somebody types.

use serde_json::{Value, json};

use crate::common::TestServer;

const CHECK: &str = "/db/telar/check";
const HTML: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";

fn check(server: &TestServer, text: &str) -> Value {
    let body = json!({ "statement": text }).to_string();
    let answer = server.ask("POST", CHECK, &["Content-Type: application/json"], &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["statements"].clone()
}

/// The part of `text` between two offsets in units of UTF-16.
fn part(text: &str, from: &Value, to: &Value) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let [from, to] = [from, to].map(|n| n.as_u64().unwrap() as usize);
    String::from_utf16(&units[from..to]).unwrap()
}

#[test]
fn browsers_get_the_page_and_programs_where_things_are() {
    let server = TestServer::new();
    let page = server.ask("GET", "/", &[HTML], "");
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("vary"), Some("accept, accept-encoding"));
    for accept in ["Accept: application/json", "Accept: */*", "User-Agent: none"] {
        let found = server.ask("GET", "/", &[accept], "").json();
        assert!(found["query"].is_string(), "{accept}: {found}");
    }
}

/// What the document names is there, compressed and not, and says the same.
#[test]
fn the_files_of_the_page_are_kept_for_ever() {
    let server = TestServer::new();
    let page = server.ask("GET", "/", &[HTML], "");
    let names: Vec<&str> =
        page.text().split('"').filter(|part| part.starts_with("page/")).collect();
    // Without the page there is a word instead, which names none.
    assert!(names.len() >= 2 || page.text().contains("without its page"), "{}", page.text());
    for name in names {
        let plain = server.get(&format!("/{name}"));
        assert_eq!(plain.status, 200, "{name}");
        assert!(plain.header("cache-control").unwrap().contains("immutable"));
        assert_eq!(plain.header("content-encoding"), None);
        for refused in ["gzip;q=0", "br", "gzip;q=0.0, br"] {
            let answer = server.ask("GET", &format!("/{name}"), &[&accept(refused)], "");
            assert_eq!(answer.body, plain.body, "{refused}");
        }
        for taken in ["gzip", "br, GZIP;q=0.5", "deflate , gzip"] {
            let answer = server.ask("GET", &format!("/{name}"), &[&accept(taken)], "");
            assert_eq!(answer.header("content-encoding"), Some("gzip"), "{taken}");
            assert!(answer.body.len() < plain.body.len());
        }
    }
    for name in ["index.html", "nothing.js", "..%2f..%2fCargo.toml", "%00"] {
        assert_eq!(server.get(&format!("/page/{name}")).status, 404, "{name}");
    }
}

fn accept(coding: &str) -> String {
    format!("Accept-Encoding: {coding}")
}

#[test]
fn a_text_is_checked_and_nothing_of_it_runs() {
    let server = TestServer::new();
    assert_eq!(check(&server, " // nothing\n ; "), json!([]));
    let text = "CREATE (:A);\nMATCH (n:A) RETURN n;;CREATE INDEX FOR (n:A) ON (n.x)";
    let found = check(&server, text);
    let kinds: Vec<&Value> =
        found.as_array().unwrap().iter().map(|one| &one["queryType"]).collect();
    assert_eq!(kinds, ["w", "r", "s"]);
    assert_eq!(part(text, &found[1]["start"], &found[1]["end"]), "MATCH (n:A) RETURN n");
    assert!(found.as_array().unwrap().iter().all(|one| one["error"].is_null()));
    assert_eq!(server.rows("MATCH (n) RETURN count(n)"), json!([[0]]));
}

#[test]
fn an_error_says_where_it_is() {
    let server = TestServer::new();
    // 🧵 is two units of UTF-16, and four bytes.
    let cases = [
        ("RETURN '🧵', bar", "bar", "UndefinedVariable"),
        ("RETURN 1;\n// 🧵 é\nMATCH (n) RETRUN n", "RETRUN", "UnexpectedSyntax"),
        ("RETURN 1; RETURN nosuch(1); RETURN 2", "nosuch", "UnknownFunction"),
        ("RETURN 'never ends", "'", "UnexpectedSyntax"),
    ];
    for (text, place, title) in cases {
        let found = check(&server, text);
        let errors: Vec<&Value> = found.as_array().unwrap().iter().map(|s| &s["error"]).collect();
        let errors: Vec<&&Value> = errors.iter().filter(|error| !error.is_null()).collect();
        let [error] = errors[..] else { panic!("{text}: {found}") };
        assert_eq!(part(text, &error["start"], &error["end"]), place, "{text}: {error}");
        assert!(error["title"].as_str().unwrap().contains(title), "{error}");
        assert!(error["code"].as_str().unwrap().starts_with("Neo.ClientError."), "{error}");
    }
    assert_eq!(check(&server, "RETURN 1").as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_checked_is_refused() {
    let server = TestServer::new();
    let json = "Content-Type: application/json";
    let ask = |path: &str, body: &str| server.ask("POST", path, &[json], body).status;
    assert_eq!(ask(CHECK, "{}"), 400);
    assert_eq!(ask(CHECK, "{\"statement\": 1}"), 400);
    assert_eq!(ask("/db/none/check", "{\"statement\": \"RETURN 1\"}"), 404);
    let many = "RETURN 1;".repeat(1000);
    assert_eq!(check(&server, &many).as_array().unwrap().len(), 200);
}
