//! Statements by themselves: what they answer, and how they fail.

use serde_json::json;

use crate::common::{QUERY, TestServer};

const JSON: &str = "Content-Type: application/json";

#[test]
fn a_statement_answers_with_fields_values_and_a_bookmark() {
    let server = TestServer::new();
    let answer = server.run(&json!({
        "statement": "CREATE (n:Person {name: $name, age: $age}) RETURN n AS alice, n.age + 1 AS next",
        "parameters": { "name": "Alice", "age": 42 },
        "includeCounters": true,
    }));
    assert_eq!(answer.status, 202);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let json = answer.json();
    assert_eq!(json["data"]["fields"], json!(["alice", "next"]));
    let node = json!({
        "elementId": "n:0",
        "labels": ["Person"],
        "properties": { "age": 42, "name": "Alice" },
    });
    assert_eq!(json["data"]["values"], json!([[node, 43]]));
    assert_eq!(json["counters"]["nodesCreated"], 1);
    assert_eq!(json["counters"]["containsUpdates"], true);
    let bookmark = json["bookmarks"][0].as_str().unwrap();
    assert!(bookmark.starts_with("telar:telar:"), "{bookmark}");
    let again = server.run(&json!({
        "statement": "MATCH (n:Person) RETURN count(*) AS n", "bookmarks": [bookmark],
    }));
    assert_eq!(again.json()["data"]["values"], json!([[1]]));
    assert!(again.json()["counters"].is_null());
}

#[test]
fn a_statement_without_rows_has_empty_fields_and_values() {
    let server = TestServer::new();
    let json = server.run(&json!({ "statement": "CREATE (:A)" })).json();
    assert_eq!(json["data"], json!({ "fields": [], "values": [] }));
    let json = server.run(&json!({ "statement": "MATCH (n:B) RETURN n" })).json();
    assert_eq!(json["data"], json!({ "fields": ["n"], "values": [] }));
    let code = "Neo.ClientNotification.Statement.UnknownLabelWarning";
    assert_eq!(json["notifications"][0]["code"], code);
    assert_eq!(json["notifications"][0]["position"]["offset"], 9);
}

#[test]
fn plans_are_part_of_the_answer_when_asked_for() {
    let server = TestServer::new();
    let json = server.run(&json!({ "statement": "EXPLAIN MATCH (n) RETURN n" })).json();
    assert!(json["queryPlan"]["operatorType"].is_string(), "{json}");
    assert!(json["queryPlan"]["arguments"]["string-representation"].is_string());
    assert!(json["profiledQueryPlan"].is_null());
    let json =
        server.run(&json!({ "statement": "PROFILE UNWIND [1, 2] AS x RETURN DISTINCT x" })).json();
    assert_eq!(json["data"]["values"], json!([[1], [2]]));
    assert_eq!(json["profiledQueryPlan"]["records"], 2);
    let arguments = &json["profiledQueryPlan"]["arguments"];
    assert!(arguments["Memory"].is_u64() && arguments["GlobalMemory"].as_u64() > Some(0));
}

#[test]
fn errors_have_a_status_and_a_code() {
    let server = TestServer::new();
    server.rows("CREATE CONSTRAINT one FOR (n:K) REQUIRE n.k IS UNIQUE");
    server.rows("CREATE (:K {k: 1})");
    let cases = [
        (json!({ "statement": "RETURN" }), 400, "Neo.ClientError.Statement.SyntaxError"),
        (json!({ "statement": "RETURN $x" }), 400, "Neo.ClientError.Statement.ParameterMissing"),
        (json!({ "statement": "RETURN 1 / 0" }), 400, "Neo.ClientError.Statement.ArithmeticError"),
        (
            json!({ "statement": "RETURN 1; RETURN 2" }),
            400,
            "Neo.ClientError.Statement.SyntaxError",
        ),
        (
            json!({ "statement": "CREATE ()", "accessMode": "READ" }),
            400,
            "Neo.ClientError.Statement.AccessMode",
        ),
        (
            json!({ "statement": "CREATE (:K {k: 1})" }),
            400,
            "Neo.ClientError.Schema.ConstraintValidationFailed",
        ),
        (json!({ "statement": "" }), 400, "Neo.ClientError.Request.Invalid"),
        (json!({}), 400, "Neo.ClientError.Request.Invalid"),
        (json!({ "statements": [] }), 400, "Neo.ClientError.Request.Invalid"),
        (json!([1]), 400, "Neo.ClientError.Request.Invalid"),
    ];
    for (body, status, code) in cases {
        let answer = server.run(&body);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{body}");
        assert!(answer.json()["data"].is_null());
    }
    let body = json!({ "statement": "RETURN 1" }).to_string();
    let answer = server.ask("POST", "/db/none/query/v2", &[JSON], &body);
    assert_eq!(answer.status, 404);
    assert_eq!(answer.code(), "Neo.ClientError.Database.DatabaseNotFound");
    let answer = server.ask("POST", QUERY, &["Content-Type: text/plain"], &body);
    assert_eq!(answer.status, 415);
    let answer = server.ask("POST", QUERY, &["Accept: text/html"], &body);
    assert_eq!(answer.status, 406);
    let answer = server.ask("POST", QUERY, &["Authorization: Bearer abc"], &body);
    assert_eq!(answer.status, 401);
    assert!(answer.header("www-authenticate").unwrap().starts_with("Basic "));
    for malformed in
        ["{", "\u{0}", "{\"statement\":\"RETURN 1\"} x", "\"", "{\"statement\":\"\\ud800\"}"]
    {
        let answer = server.ask("POST", QUERY, &[JSON], malformed);
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "Neo.ClientError.Request.Invalid")
        );
    }
}

#[test]
fn an_error_after_rows_were_sent_ends_the_document() {
    let server = TestServer::new();
    let statement = "UNWIND range(1, 200000) AS x RETURN x, 10 / (150000 - x)";
    let answer = server.run(&json!({ "statement": statement }));
    assert_eq!(answer.status, 202);
    assert!(answer.complete);
    let json = answer.json();
    assert_eq!(json["errors"][0]["code"], "Neo.ClientError.Statement.ArithmeticError");
    let rows = json["data"]["values"].as_array().unwrap().len();
    assert!((1000..150_000).contains(&rows), "{rows}");
}

#[test]
fn a_statement_is_given_up_when_its_time_is_over() {
    let server = TestServer::new();
    let answer = server.run(&json!({
        "statement": "UNWIND range(1, 100000000000) AS x RETURN count(x)", "maxExecutionTime": 0.2,
    }));
    assert_eq!(answer.code(), "Neo.ClientError.Transaction.TransactionTimedOut");
    server.wait_until_idle();
}

#[test]
fn a_large_result_comes_in_chunks_and_whole() {
    let server = TestServer::new();
    let answer =
        server.run(&json!({ "statement": "UNWIND range(1, 100000) AS x RETURN x, 'äöü' AS t" }));
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    let values = answer.json()["data"]["values"].clone();
    let values = values.as_array().unwrap();
    assert_eq!(values.len(), 100_000);
    assert!(values.iter().enumerate().all(|(at, row)| row == &json!([at + 1, "äöü"])));
    let small = server.run(&json!({ "statement": "RETURN 1" }));
    assert!(small.header("content-length").is_some());
}

#[test]
fn one_connection_serves_many_requests() {
    let server = TestServer::new();
    let mut connection = server.connect();
    for at in 0..20 {
        let body = json!({ "statement": "RETURN $x", "parameters": { "x": at } }).to_string();
        connection.request("POST", QUERY, &[JSON], &body);
        assert_eq!(connection.answer().json()["data"]["values"], json!([[at]]));
        connection.request("POST", QUERY, &[JSON], "{");
        assert_eq!(connection.answer().status, 400);
    }
}
