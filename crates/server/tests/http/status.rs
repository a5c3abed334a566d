//! What operators look at, and where clients begin.

use serde_json::json;
use telar_server::http::Settings;

use crate::common::{QUERY, TX, TestServer};

#[test]
fn a_server_is_alive_and_ready_until_it_ends() {
    let server = TestServer::new();
    assert_eq!(server.get("/health").json(), json!({ "status": "alive" }));
    assert_eq!(server.get("/ready").json(), json!({ "status": "ready" }));
}

#[test]
fn the_root_says_where_things_are() {
    let bolt = Some("127.0.0.1:7687".parse().unwrap());
    let server = TestServer::with(Settings { bolt, ..Settings::default() });
    let root = server.get("/").json();
    assert_eq!(root["bolt_direct"], "bolt://localhost:7687");
    assert_eq!(root["bolt_routing"], "neo4j://localhost:7687");
    assert_eq!(root["query"], "http://localhost/db/{databaseName}/query/v2");
    assert!(root["neo4j_version"].is_string() && root["neo4j_edition"].is_string());
    let mut connection = server.connect();
    connection.send("GET / HTTP/1.1\r\nHost: evil\"><script>\r\n\r\n");
    let answer = connection.try_answer();
    assert!(answer.is_none_or(|answer| !answer.text().contains("script")));
}

#[test]
fn figures_count_what_happens() {
    let server = TestServer::new();
    server.rows("CREATE (:A)");
    let answer = server.get("/metrics");
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = answer.text();
    // The connection of the statement may be there still.
    for line in ["telar_connections{protocol=\"Http\"} ", "telar_readers{database=\"telar\"} 0"] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line} is not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn unknown_addresses_and_methods_are_errors_in_json() {
    let server = TestServer::new();
    let answer = server.get("/nothing");
    assert_eq!((answer.status, answer.code().as_str()), (404, "Neo.ClientError.Request.Invalid"));
    let answer = server.ask("DELETE", QUERY, &[], "");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    assert_eq!(answer.code(), "Neo.ClientError.Request.Invalid");
    assert_eq!(server.ask("PUT", &format!("{TX}/x"), &[], "").status, 405);
}

/// The document names every address with its methods, and no other.
#[test]
fn the_openapi_document_is_what_the_server_does() {
    let server = TestServer::new();
    let document = server.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let methods = ["get", "post", "put", "delete", "patch"];
    for (path, item) in document["paths"].as_object().unwrap() {
        let address = path.replace("{name}", "telar").replace("{id}", "none");
        // A stream that is followed does not end.
        let address = address.replace("/changes", "/changes?follow=false");
        for method in methods {
            let status = server.ask(&method.to_uppercase(), &address, &[], "").status;
            let known = status != 405 && status != 404 || path.contains("{id}") && status == 404;
            assert_eq!(known, item[method].is_object(), "{method} {path}: {status}");
            let documented = &item[method]["responses"][status.to_string()];
            assert_eq!(known, documented.is_object(), "{method} {path}: {status}");
        }
    }
    assert_eq!(document["paths"].as_object().unwrap().len(), 16);
}
