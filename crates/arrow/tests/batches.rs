//! Record batches against the values of the same result, row by row.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float64Type, Int64Type, Time64NanosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use telar_arrow::{collect, stream};
use telar_db::{Session, Value, ValueMap};

/// The value in a row of an array, as JSON or the Rust type prints it; `None` for null.
fn shown(array: &ArrayRef, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    let ty = array.data_type().to_string();
    Some(match ty.as_str() {
        "Boolean" => array.as_boolean().value(row).to_string(),
        "Int64" => array.as_primitive::<Int64Type>().value(row).to_string(),
        "Float64" => format!("{:?}", array.as_primitive::<Float64Type>().value(row)),
        "LargeUtf8" => array.as_string::<i64>().value(row).to_owned(),
        "LargeBinary" => format!("{:?}", array.as_binary::<i64>().value(row)),
        "Date32" => array.as_primitive::<Date32Type>().value(row).to_string(),
        "Time64(ns)" => array.as_primitive::<Time64NanosecondType>().value(row).to_string(),
        _ => array.as_primitive::<TimestampNanosecondType>().value(row).to_string(),
    })
}

/// The same of a value, in a column of floats if so.
fn expected(value: &Value, float: bool) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(is) => is.to_string(),
        Value::Int(int) if float => format!("{:?}", *int as f64),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => format!("{float:?}"),
        Value::String(text) => text.to_string(),
        Value::Bytes(bytes) => format!("{:?}", &**bytes),
        Value::Date(date) => date.epoch_days().to_string(),
        Value::LocalTime(time) => time.nanos_of_day().to_string(),
        Value::LocalDateTime(at) => {
            (at.epoch_second() * 1_000_000_000 + i64::from(at.time().nanosecond())).to_string()
        }
        Value::DateTime(at) => at.epoch_nanos().to_string(),
        other => panic!("{other:?} is shown as JSON"),
    })
}

/// Checks batches of several sizes against the rows of the same statement.
fn check(session: &Session, text: &str, types: &[&str]) {
    let rows = session.run(text, &[]).unwrap().rows;
    for size in [1, 3, 1024, 1025, 1 << 16] {
        let mut batches: Vec<RecordBatch> = Vec::new();
        let (schema, _) = stream(session, text, &ValueMap::new(), size, |batch| {
            batches.push(batch);
            Ok(())
        })
        .unwrap();
        let found: Vec<String> =
            schema.fields().iter().map(|field| field.data_type().to_string()).collect();
        assert_eq!(found, types);
        let mut next = rows.iter();
        for batch in &batches {
            assert_eq!(batch.schema(), schema);
            assert!(batch.num_rows() >= size.min(rows.len()) || next.len() <= size);
            for (row, values) in (0..batch.num_rows()).zip(next.by_ref()) {
                for (column, value) in batch.columns().iter().zip(values) {
                    let float = column.data_type().to_string() == "Float64";
                    assert_eq!(shown(column, row), expected(value, float), "{text}, row {row}");
                }
            }
        }
        assert_eq!(next.len(), 0, "{text}: rows are missing");
    }
}

#[test]
fn properties_of_each_type_come_in_columns_of_their_own() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    session
        .run(
            "UNWIND range(0, 4999) AS n CREATE (:P {n: n, \
             i: CASE WHEN n % 7 = 3 THEN null ELSE n * 3 - 5000 END, \
             f: CASE WHEN n % 5 = 1 THEN null ELSE n / 8.0 END, \
             b: CASE WHEN n % 11 = 0 THEN null ELSE n % 2 = 0 END, \
             t: CASE WHEN n % 3 = 0 THEN null ELSE 'text ' + (n % 50) END, \
             d: date({year: 1970 + n % 100}), lt: localtime({hour: n % 24}), \
             ld: localdatetime({year: 1970 + n % 100}), m: datetime({epochMillis: n * 1000})})",
            &[],
        )
        .unwrap();
    let names = ["n", "i", "f", "b", "t", "d", "lt", "ld", "m", "absent"];
    let types = [
        "Int64",
        "Int64",
        "Float64",
        "Boolean",
        "LargeUtf8",
        "Date32",
        "Time64(ns)",
        "Timestamp(ns)",
        "Timestamp(ns, \"UTC\")",
        "LargeUtf8",
    ];
    let columns: Vec<String> = names.iter().map(|name| format!("p.{name} AS {name}")).collect();
    for columns in
        [columns.join(", "), columns.iter().rev().cloned().collect::<Vec<_>>().join(", ")]
    {
        let reversed = columns.starts_with("p.absent");
        let types: Vec<&str> =
            if reversed { types.iter().rev().copied().collect() } else { types.to_vec() };
        check(&session, &format!("MATCH (p:P) RETURN {columns} ORDER BY n"), &types);
        check(&session, &format!("MATCH (p:P {{n: 2}}) RETURN {columns}"), &types);
        // Nulls alone have no type.
        let few: Vec<&str> =
            types.iter().map(|ty| if *ty == "Boolean" { "LargeUtf8" } else { *ty }).collect();
        check(&session, &format!("MATCH (p:P {{n: 22}}) RETURN {columns}"), &few);
        // The rows of a statement that writes are held until it is committed.
        check(&session, &format!("MATCH (p:P) SET p.x = 1 RETURN {columns} ORDER BY n"), &types);
    }
}

#[test]
fn texts_go_through_every_operator_that_keeps_rows() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    session
        .run(
            "UNWIND range(0, 9999) AS n CREATE (:P {n: n, \
             t: CASE WHEN n % 3 = 0 THEN null ELSE 'text ' + (n % 70) END, u: 'ä' + n})",
            &[],
        )
        .unwrap();
    let texts = &["LargeUtf8"][..];
    check(&session, "MATCH (p:P) RETURN DISTINCT p.t AS t ORDER BY t", texts);
    check(&session, "MATCH (p:P) WITH p.u AS u ORDER BY u DESC RETURN u SKIP 5 LIMIT 4000", texts);
    check(&session, "MATCH (p:P) RETURN p.u AS u ORDER BY p.n LIMIT 1500", texts);
    check(
        &session,
        "MATCH (p:P) RETURN p.t AS t, count(*) AS c ORDER BY t",
        &["LargeUtf8", "Int64"],
    );
    check(
        &session,
        "MATCH (p:P) RETURN toUpper(p.u) AS u, p.u AS v ORDER BY p.n",
        &["LargeUtf8"; 2],
    );
    check(&session, "MATCH (p:P) WHERE p.u CONTAINS '77' RETURN p.t AS t ORDER BY p.n", texts);
    check(&session, "MATCH (p:P {n: 4}) RETURN p.u AS u UNION ALL RETURN 'x' AS u", texts);
    let text = "MATCH (p:P) WHERE p.n < 30 OPTIONAL MATCH (p)-[:NONE]->(q) \
                RETURN p.u AS u, q.u AS v ORDER BY p.n";
    check(&session, text, &["LargeUtf8"; 2]);
    // Columns of the result are packed whichever thread reads them.
    let all = "MATCH (p:P) RETURN p.u AS u, p.n AS n";
    let workers = std::sync::Arc::new(telar_db::Workers::new(3));
    let (_, batches) = collect(&session.with_workers(workers), all, &[]).unwrap();
    for batch in &batches {
        let ids = batch.column(1).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let text = format!("ä{}", ids.value(row));
            assert_eq!(shown(batch.column(0), row), Some(text));
        }
    }
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 10_000);
}

#[test]
fn integers_and_floats_are_floats_and_what_comes_later_must_fit() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let text = "UNWIND [1, 2.5, null, 3] AS x RETURN x";
    check(&session, text, &["Float64"]);
    let late = "UNWIND range(1, 9000) AS x RETURN CASE WHEN x < 8000 THEN x ELSE 'x' END AS late";
    let error = collect(&session, late, &[]).unwrap_err();
    assert_eq!(&*error.detail, "MixedColumn");
    assert!(error.message.contains("'late' began as Int"), "{}", error.message);
}

#[test]
fn what_has_no_type_is_json_and_no_rows_are_a_schema() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    session.run("CREATE (:A {x: 1})-[:R {w: 0.5}]->(:B)", &[]).unwrap();
    let text = "MATCH p = (a:A)-[r]->() RETURN a, r, p, [1, a.x] AS l, {k: null} AS m, null AS n";
    let (schema, batches) = collect(&session, text, &[]).unwrap();
    let column = |at: usize| shown(batches[0].column(at), 0);
    assert_eq!(column(0).unwrap(), r#"{"elementId":"n:0","labels":["A"],"properties":{"x":1}}"#);
    assert!(column(1).unwrap().contains(r#""type":"R","properties":{"w":0.5}"#));
    assert!(column(2).unwrap().starts_with("[{"));
    assert_eq!([column(3), column(4)], ["[1,1]", r#"{"k":null}"#].map(|s| Some(s.to_owned())));
    assert_eq!(column(5), None);
    assert_eq!(schema.field(0).metadata()["ARROW:extension:name"], "arrow.json");
    let (schema, batches) = collect(&session, "MATCH (c:C) RETURN c.x AS x", &[]).unwrap();
    assert_eq!((schema.fields().len(), batches.len()), (1, 0));
    let (schema, batches) = collect(&session, "CREATE (:C)", &[]).unwrap();
    assert_eq!((schema.fields().len(), batches.len()), (0, 0));
    assert!(collect(&session, "RETURN $p AS p", &[("p", Value::from("x"))]).is_ok());
    assert!(collect(&session, "RETURN", &[]).is_err());
}

#[test]
fn an_error_of_who_takes_batches_ends_the_query() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let mut taken = 0;
    let error = stream(
        &session,
        "UNWIND range(1, 1000000000) AS x RETURN x",
        &ValueMap::new(),
        1 << 12,
        |batch| {
            taken += batch.num_rows();
            match taken > 1 << 14 {
                true => Err(telar_db::query::QueryError::runtime(
                    telar_db::query::ErrorKind::Terminated,
                    "Enough",
                    "enough",
                )),
                false => Ok(()),
            }
        },
    );
    assert_eq!(&*error.unwrap_err().detail, "Enough");
}
