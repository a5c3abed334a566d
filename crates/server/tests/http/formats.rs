//! The same values in every format, there and back.

use serde_json::{Value, json};

use crate::common::{QUERY, TestServer};

const TYPED: &str = "application/vnd.neo4j.query";

/// A value of each type: Cypher, plain JSON, typed JSON.
fn values() -> Vec<(&'static str, Value, Value)> {
    let typed = |name: &str, value: Value| json!({ "$type": name, "_value": value });
    let text = |name: &str, value: &str| typed(name, json!(value));
    let scalar = |cypher, name: &str, value: &str| (cypher, json!(value), text(name, value));
    vec![
        ("null", Value::Null, typed("Null", Value::Null)),
        ("true", json!(true), typed("Boolean", json!(true))),
        ("9223372036854775807", json!(i64::MAX), text("Integer", "9223372036854775807")),
        ("-4.5", json!(-4.5), text("Float", "-4.5")),
        ("1e300", json!(1e300), text("Float", "1.0E300")),
        ("0.0 / 0.0", json!("NaN"), text("Float", "NaN")),
        ("-1.0 / 0.0", json!("-Infinity"), text("Float", "-Infinity")),
        ("'a\\n\"\u{1F600}'", json!("a\n\"\u{1F600}"), text("String", "a\n\"\u{1F600}")),
        ("[1, 'a']", json!([1, "a"]), {
            typed("List", json!([text("Integer", "1"), text("String", "a")]))
        }),
        ("{b: {a: null}}", json!({"b": {"a": null}}), {
            let inner = typed("Map", json!({ "a": typed("Null", Value::Null) }));
            typed("Map", json!({ "b": inner }))
        }),
        scalar("date('2015-03-26')", "Date", "2015-03-26"),
        scalar("time('12:50:35.556+01:00')", "Time", "12:50:35.556+01:00"),
        scalar("localtime('12:50:35.556')", "LocalTime", "12:50:35.556"),
        scalar("localdatetime('2015-07-04T19:32:24')", "LocalDateTime", "2015-07-04T19:32:24"),
        scalar(
            "datetime('2015-11-21T21:40:32.142Z')",
            "OffsetDateTime",
            "2015-11-21T21:40:32.142Z",
        ),
        scalar(
            "datetime('2015-11-21T21:40:32.142[Europe/Oslo]')",
            "ZonedDateTime",
            "2015-11-21T21:40:32.142+01:00[Europe/Oslo]",
        ),
        scalar("duration('P14DT16H12M')", "Duration", "P14DT16H12M"),
        scalar("point({x: 1.2, y: 3.4})", "Point", "SRID=7203;POINT (1.2 3.4)"),
        scalar(
            "point({longitude: 10.0, latitude: 59.5, height: 3.0})",
            "Point",
            "SRID=4979;POINT Z (10.0 59.5 3.0)",
        ),
    ]
}

/// The first row of a statement in a format, and what the answer says it is.
fn row(server: &TestServer, accept: &str, statement: &str) -> Value {
    let accept_header = format!("Accept: {accept}");
    let body = json!({ "statement": statement }).to_string();
    let answer = server.ask("POST", QUERY, &[&accept_header], &body);
    assert_eq!(answer.header("content-type"), Some(accept), "{}", answer.text());
    answer.json()["data"]["values"][0].clone()
}

#[test]
fn every_type_is_written_in_both_notations() {
    let server = TestServer::new();
    for (cypher, plain, typed) in values() {
        let statement = format!("RETURN {cypher} AS x");
        assert_eq!(row(&server, "application/json", &statement), json!([plain]), "{cypher}");
        assert_eq!(row(&server, TYPED, &statement), json!([typed]), "{cypher}");
    }
}

#[test]
fn every_typed_value_comes_back_as_it_was_sent() {
    let server = TestServer::new();
    let (content, accept) =
        (format!("Content-Type: {TYPED}.v1.1"), format!("Accept: {TYPED}.v1.0"));
    let bytes = json!({ "$type": "Base64", "_value": "A2+/" });
    for typed in values().into_iter().map(|(_, _, typed)| typed).chain([bytes]) {
        let body = json!({ "statement": "RETURN $x AS x", "parameters": { "x": typed } });
        let answer = server.ask("POST", QUERY, &[&content, &accept], &body.to_string());
        assert_eq!(answer.status, 202, "{typed}: {}", answer.text());
        assert_eq!(answer.json()["data"]["values"], json!([[typed]]));
    }
}

#[test]
fn nodes_relationships_and_paths_have_the_names_of_the_api() {
    let server = TestServer::new();
    server.rows("CREATE (:A {x: 1})-[:KNOWS {since: 2}]->(:B)");
    let plain_a = json!({ "elementId": "n:0", "labels": ["A"], "properties": { "x": 1 } });
    let plain_b = json!({ "elementId": "n:1", "labels": ["B"], "properties": {} });
    let plain_r = json!({
        "elementId": "r:0:0:1:1", "startNodeElementId": "n:0", "endNodeElementId": "n:1",
        "type": "KNOWS", "properties": { "since": 2 },
    });
    let statement = "MATCH p = (b:B)<-[r]-(a) RETURN a, r, p";
    let path = json!([plain_b, plain_r, plain_a]);
    let row_of = row(&server, "application/json", statement);
    assert_eq!(row_of, json!([plain_a, plain_r, path]));

    let of = |name: &str, value: Value| json!({ "$type": name, "_value": value });
    let integer = |x: &str| of("Integer", json!(x));
    let typed_a = of(
        "Node",
        json!({
            "_element_id": "n:0", "_labels": ["A"], "_properties": { "x": integer("1") },
        }),
    );
    let typed_b = of("Node", json!({ "_element_id": "n:1", "_labels": ["B"], "_properties": {} }));
    let typed_r = of(
        "Relationship",
        json!({
            "_element_id": "r:0:0:1:1", "_start_node_element_id": "n:0", "_end_node_element_id": "n:1",
            "_type": "KNOWS", "_properties": { "since": integer("2") },
        }),
    );
    let path = of("Path", json!([typed_b, typed_r, typed_a]));
    assert_eq!(row(&server, TYPED, statement), json!([typed_a, typed_r, path]));
}

#[test]
fn lines_are_a_header_records_and_a_summary() {
    let server = TestServer::new();
    let body = json!({ "statement": "UNWIND [1, 2] AS x RETURN x", "includeCounters": true });
    for (accept, one) in [
        ("application/jsonl", json!(1)),
        ("application/vnd.neo4j.query.v1.1+jsonl", json!({ "$type": "Integer", "_value": "1" })),
    ] {
        let header = format!("Accept: {accept}");
        let answer = server.ask("POST", QUERY, &[&header], &body.to_string());
        assert_eq!((answer.status, answer.header("content-type")), (202, Some(accept)));
        let lines = answer.lines();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0], json!({ "$event": "Header", "_body": { "fields": ["x"] } }));
        assert_eq!(lines[1], json!({ "$event": "Record", "_body": [one] }));
        assert_eq!(lines[3]["$event"], "Summary");
        assert_eq!(lines[3]["_body"]["counters"]["nodesCreated"], 0);
        assert!(lines[3]["_body"]["bookmarks"][0].is_string());
    }
}

#[test]
fn an_error_is_the_last_line() {
    let server = TestServer::new();
    let lines = "Accept: application/jsonl";
    let statement = "UNWIND range(1, 200000) AS x RETURN x, 10 / (150000 - x)";
    let body = json!({ "statement": statement }).to_string();
    let answer = server.ask("POST", QUERY, &[lines], &body);
    assert_eq!(answer.status, 202);
    let last = answer.lines().pop().unwrap();
    assert_eq!(last["$event"], "Error");
    assert_eq!(last["_body"][0]["code"], "Neo.ClientError.Statement.ArithmeticError");
    let answer = server.ask("POST", QUERY, &[lines], r#"{"statement": "RETURN"}"#);
    assert_eq!((answer.status, answer.lines().len()), (400, 1));
    assert_eq!(answer.lines()[0]["$event"], "Error");
}

#[cfg(feature = "arrow")]
mod arrow {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};
    use arrow_array::{Array, RecordBatch};
    use arrow_ipc::reader::StreamReader;
    use serde_json::json;

    use crate::common::{Answer, QUERY, TestServer};

    fn ask(server: &TestServer, statement: &str) -> Answer {
        let accept = "Accept: application/vnd.apache.arrow.stream";
        let body = json!({ "statement": statement }).to_string();
        server.ask("POST", QUERY, &[accept], &body)
    }

    fn batches(answer: &Answer) -> Vec<RecordBatch> {
        let stream = StreamReader::try_new(answer.body.as_slice(), None).unwrap();
        stream.map(Result::unwrap).collect()
    }

    #[test]
    fn a_result_is_a_stream_of_typed_columns() {
        let server = TestServer::new();
        let statement = "UNWIND range(1, 10000) AS x \
                         RETURN x, x / 2.0 AS half, CASE WHEN x % 2 = 0 THEN 'even' END AS t, \
                         [x] AS l, \
                         date('2026-01-01') AS d, datetime('2026-01-01T00:00Z') AS m, x = 1 AS b";
        let answer = ask(&server, statement);
        assert_eq!(answer.status, 202);
        assert_eq!(answer.header("content-type"), Some("application/vnd.apache.arrow.stream"));
        let batches = batches(&answer);
        let schema = batches[0].schema();
        let types: Vec<String> =
            schema.fields().iter().map(|f| f.data_type().to_string()).collect();
        let expected = ["Int64", "Float64", "LargeUtf8", "LargeUtf8", "Date32"];
        assert_eq!(types[..5], expected);
        assert!(types[5].starts_with("Timestamp(") && types[5].contains("UTC"), "{}", types[5]);
        assert_eq!(schema.field(3).metadata()["ARROW:extension:name"], "arrow.json");
        let mut next = 1;
        for batch in &batches {
            let xs = batch.column(0).as_primitive::<Int64Type>();
            let halves = batch.column(1).as_primitive::<Float64Type>();
            let (texts, lists) =
                (batch.column(2).as_string::<i64>(), batch.column(3).as_string::<i64>());
            for row in 0..batch.num_rows() {
                assert_eq!((xs.value(row), halves.value(row)), (next, next as f64 / 2.0));
                assert_eq!(texts.is_null(row), next % 2 == 1);
                assert_eq!(lists.value(row), format!("[{next}]"));
                next += 1;
            }
        }
        assert_eq!(next, 10_001);
    }

    #[test]
    fn what_has_no_arrow_type_is_json_and_no_rows_are_a_schema() {
        let server = TestServer::new();
        server.rows("CREATE (:A {x: 1})");
        let answer = ask(&server, "MATCH (a) UNWIND [1, 'one', 2.5] AS mixed RETURN a, mixed");
        let batches = batches(&answer);
        let column =
            |at: usize, row| batches[0].column(at).as_string::<i64>().value(row).to_owned();
        assert_eq!(column(0, 0), r#"{"elementId":"n:0","labels":["A"],"properties":{"x":1}}"#);
        assert_eq!([column(1, 0), column(1, 1), column(1, 2)], ["1", "\"one\"", "2.5"]);
        let answer = ask(&server, "MATCH (b:B) RETURN b.x AS x");
        let stream = StreamReader::try_new(answer.body.as_slice(), None).unwrap();
        assert_eq!(stream.schema().field(0).name(), "x");
        assert_eq!(stream.count(), 0);
    }

    #[test]
    fn errors_are_json_or_break_the_stream_off() {
        let server = TestServer::new();
        let answer = ask(&server, "RETURN");
        assert_eq!((answer.status, answer.header("content-type")), (400, Some("application/json")));
        assert_eq!(answer.code(), "Neo.ClientError.Statement.SyntaxError");
        let late =
            "UNWIND range(1, 200000) AS x RETURN CASE WHEN x < 190000 THEN x ELSE 'x' END AS x";
        let answer = ask(&server, late);
        assert_eq!((answer.status, answer.complete), (202, false));
    }
}
