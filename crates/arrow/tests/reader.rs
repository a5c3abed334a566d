//! Arrays of every type as columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    FixedSizeListBuilder, Float64Builder, Int64Builder, LargeListBuilder, ListBuilder, MapBuilder,
    StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::{Int8Type, IntervalMonthDayNanoType};
use arrow_array::*;
use arrow_schema::{DataType, Field, Fields};
use telar_arrow::reader::column;
use telar_db::Value;
use telar_db::column::Column;

fn field(array: &dyn Array) -> Field {
    Field::new("x", array.data_type().clone(), true)
}

/// The values of an array as texts, which tell `1` from `1.0`.
fn shown(array: &dyn Array) -> Vec<String> {
    shown_as(array, &field(array))
}

fn shown_as(array: &dyn Array, field: &Field) -> Vec<String> {
    let column = column(array, field).expect("it has values");
    assert_eq!(column.len(), array.len());
    (0..column.len()).map(|row| telar_db::query::literal(&column.get(row))).collect()
}

fn refused(array: &dyn Array) -> String {
    column(array, &field(array)).expect_err("it is refused").message
}

#[test]
fn numbers_of_all_widths_are_integers_and_floats() {
    let ends = ["-128", "NULL", "127"];
    assert_eq!(shown(&Int8Array::from(vec![Some(i8::MIN), None, Some(i8::MAX)])), ends);
    assert_eq!(shown(&Int16Array::from(vec![i16::MIN])), ["-32768"]);
    assert_eq!(shown(&Int32Array::from(vec![i32::MIN])), ["-2147483648"]);
    let wide = Int64Array::from(vec![i64::MIN + 1, i64::MAX]);
    assert_eq!(shown(&wide), ["-9223372036854775807", "9223372036854775807"]);
    assert!(matches!(column(&wide, &field(&wide)), Ok(Column::Ints(_))));
    assert_eq!(shown(&UInt8Array::from(vec![u8::MAX])), ["255"]);
    assert_eq!(shown(&UInt16Array::from(vec![u16::MAX])), ["65535"]);
    assert_eq!(shown(&UInt32Array::from(vec![u32::MAX])), ["4294967295"]);
    assert_eq!(shown(&UInt64Array::from(vec![Some(7), None])), ["7", "NULL"]);
    let error = refused(&UInt64Array::from(vec![1, u64::MAX]));
    assert!(error.starts_with("column 'x', row 2: "), "{error}");
    assert_eq!(shown(&Float32Array::from(vec![0.5])), ["0.5"]);
    let floats = Float64Array::from(vec![Some(f64::NAN), Some(-0.0), None]);
    let Ok(Column::Floats(floats)) = column(&floats, &field(&floats)) else { panic!() };
    assert!(floats.get(0).unwrap().is_nan());
    assert!(floats.get(1).unwrap().is_sign_negative());
    assert_eq!(floats.get(2), None);
    assert_eq!(shown(&BooleanArray::from(vec![Some(true), None])), ["TRUE", "NULL"]);
    assert_eq!(shown(&NullArray::new(2)), ["NULL", "NULL"]);
}

#[test]
fn decimals_lose_no_digit() {
    let decimal = |unscaled: Vec<i128>, scale| {
        Decimal128Array::from(unscaled).with_precision_and_scale(38, scale).unwrap()
    };
    assert_eq!(shown(&decimal(vec![12_345, -5], 2)), ["123.45", "-0.05"]);
    assert_eq!(shown(&decimal(vec![i128::from(i64::MAX)], 0)), ["9223372036854775807"]);
    let error = refused(&decimal(vec![1, 123_456_789_012_345_678_901], 3));
    assert!(error.contains("row 2: no float is 123456789012345678.901"), "{error}");
    let error = refused(&decimal(vec![1 << 70], 0));
    assert!(error.contains("is not a 64-bit integer"), "{error}");
}

#[test]
fn texts_and_bytes_of_all_layouts() {
    let texts = vec![Some("ä"), None, Some("")];
    let expected = ["\"ä\"", "NULL", "\"\""].map(str::to_owned);
    let layouts: [ArrayRef; 3] = [
        Arc::new(StringArray::from(texts.clone())),
        Arc::new(LargeStringArray::from(texts.clone())),
        Arc::new(StringViewArray::from(texts)),
    ];
    for array in &layouts {
        let column = column(array, &field(array)).unwrap();
        let Column::Packed(all) = &column else { panic!("{column:?}") };
        assert_eq!(all.iter().collect::<Vec<_>>(), [Some("ä"), None, Some("")]);
        assert_eq!(expected.len(), column.len());
    }
    let bytes: Vec<Option<&[u8]>> = vec![Some(&[0, 255]), None];
    let layouts: [ArrayRef; 3] = [
        Arc::new(BinaryArray::from(bytes.clone())),
        Arc::new(LargeBinaryArray::from(bytes.clone())),
        Arc::new(BinaryViewArray::from(bytes)),
    ];
    for array in &layouts {
        let column = column(array, &field(array)).unwrap();
        assert_eq!(column.get(0), Value::Bytes([0, 255].into()));
        assert!(column.get(1).is_null());
    }
    let uuid = FixedSizeBinaryArray::try_from_iter([[0x12_u8; 16]].into_iter()).unwrap();
    let named = HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())]);
    let field = field(&uuid).with_metadata(named);
    let column = column(&uuid, &field).unwrap();
    assert_eq!(column.get(0), Value::from("12121212-1212-1212-1212-121212121212"));
}

#[test]
fn json_is_what_it_says() {
    let json = |notation: &str| {
        HashMap::from([
            ("ARROW:extension:name".to_owned(), "arrow.json".to_owned()),
            ("telar:notation".to_owned(), notation.to_owned()),
        ])
    };
    let plain = StringArray::from(vec![Some(r#"{"a":[1,2.5,null]}"#), None]);
    let plain_field = field(&plain).with_metadata(json("plain"));
    let read = column(&plain, &plain_field).unwrap();
    let list = Value::List([Value::Int(1), Value::Float(2.5), Value::Null].into());
    assert_eq!(read.get(0), Value::map([("a", list)]));
    let typed = StringArray::from(vec![r#"{"$type":"Duration","_value":"P1D"}"#]);
    let typed_field = field(&typed).with_metadata(json("typed"));
    let read = column(&typed, &typed_field).unwrap();
    assert_eq!(read.get(0), Value::Duration(Arc::new("P1D".parse().unwrap())));
    let broken = StringArray::from(vec!["{"]);
    let error = column(&broken, &field(&broken).with_metadata(json("plain"))).unwrap_err();
    assert!(error.message.starts_with("column 'x', row 1: not Plain JSON: "), "{error}");
}

#[test]
fn moments_and_durations_of_all_units() {
    let one = |array: ArrayRef| column(&array, &field(&array)).unwrap().get(0);
    let shown = |array: ArrayRef| match one(array) {
        Value::Date(x) => x.to_string(),
        Value::LocalTime(x) => x.to_string(),
        Value::LocalDateTime(x) => x.to_string(),
        Value::DateTime(x) => x.to_string(),
        Value::Duration(x) => x.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(Arc::new(Date32Array::from(vec![-1]))), "1969-12-31");
    assert_eq!(shown(Arc::new(Date64Array::from(vec![-1]))), "1969-12-31");
    assert_eq!(shown(Arc::new(Time32SecondArray::from(vec![1]))), "00:00:01");
    assert_eq!(shown(Arc::new(Time32MillisecondArray::from(vec![1]))), "00:00:00.001");
    assert_eq!(shown(Arc::new(Time64MicrosecondArray::from(vec![1]))), "00:00:00.000001");
    assert_eq!(shown(Arc::new(Time64NanosecondArray::from(vec![1]))), "00:00:00.000000001");
    let before = "1969-12-31T23:59:59.999999";
    assert_eq!(shown(Arc::new(TimestampMicrosecondArray::from(vec![-1]))), before);
    assert_eq!(shown(Arc::new(TimestampSecondArray::from(vec![60]))), "1970-01-01T00:01");
    let zoned = |zone: &str| Arc::new(TimestampMillisecondArray::from(vec![0]).with_timezone(zone));
    assert_eq!(shown(zoned("UTC")), "1970-01-01T00:00Z");
    assert_eq!(shown(zoned("+02:30")), "1970-01-01T02:30+02:30");
    let berlin = "1970-01-01T01:00+01:00[Europe/Berlin]";
    assert_eq!(shown(zoned("Europe/Berlin")), berlin);
    let nowhere = zoned("Not/There");
    assert!(refused(nowhere.as_ref()).contains("is not a known time zone"));
    assert_eq!(shown(Arc::new(DurationMillisecondArray::from(vec![1_500]))), "PT1.5S");
    let interval = IntervalMonthDayNanoType::make_value(14, 3, 1_000_000_000);
    assert_eq!(shown(Arc::new(IntervalMonthDayNanoArray::from(vec![interval]))), "P1Y2M3DT1S");
    let error = refused(&Time64NanosecondArray::from(vec![i64::MAX]));
    assert!(error.contains("no time of a day"), "{error}");
    let error = refused(&TimestampSecondArray::from(vec![i64::MAX]));
    assert!(error.starts_with("column 'x', row 1: "), "{error}");
}

#[test]
fn lists_structs_maps_and_dictionaries() {
    let mut list = ListBuilder::new(Int64Builder::new());
    list.append_value([Some(1), None]);
    list.append_null();
    list.append_value([]);
    let list = list.finish();
    assert_eq!(shown(&list), ["[1, NULL]", "NULL", "[]"]);
    assert_eq!(shown(&list.slice(1, 2)), ["NULL", "[]"]);
    let mut nested = LargeListBuilder::new(ListBuilder::new(Float64Builder::new()));
    nested.values().append_value([Some(0.5)]);
    nested.append(true);
    assert_eq!(shown(&nested.finish()), ["[[0.5]]"]);
    let mut fixed = FixedSizeListBuilder::new(Float64Builder::new(), 2);
    for row in 0..3 {
        fixed.values().append_slice(&[f64::from(row), 0.5]);
        fixed.append(row != 1);
    }
    let fixed = fixed.finish();
    assert_eq!(shown(&fixed), ["[0.0, 0.5]", "NULL", "[2.0, 0.5]"]);
    assert_eq!(shown(&fixed.slice(2, 1)), ["[2.0, 0.5]"]);

    let fields = Fields::from(vec![Field::new("a", DataType::Int64, true)]);
    let parts: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(vec![Some(1), None, None]))];
    let valid = vec![true, true, false].into();
    let structs = StructArray::new(fields, parts, Some(valid));
    assert_eq!(shown(&structs), ["{a: 1}", "{a: NULL}", "NULL"]);

    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    map.keys().append_value("k");
    map.values().append_value(7);
    map.append(true).unwrap();
    map.append(false).unwrap();
    assert_eq!(shown(&map.finish()), ["{k: 7}", "NULL"]);

    let mut words = StringDictionaryBuilder::<Int8Type>::new();
    words.append_value("b");
    words.append_null();
    words.append_value("b");
    let words = words.finish();
    let read = column(&words, &field(&words)).unwrap();
    let Column::Texts(texts) = &read else { panic!("{read:?}") };
    assert!(Arc::ptr_eq(texts[0].as_ref().unwrap(), texts[2].as_ref().unwrap()));
    assert!(texts[1].is_none());
    let empty = StringDictionaryBuilder::<Int8Type>::new().finish();
    assert_eq!(column(&empty, &field(&empty)).unwrap().len(), 0);
}

#[test]
fn what_has_no_counterpart_is_refused() {
    let keys = Int32Array::from(vec![1]);
    let runs = RunArray::try_new(&keys, &Int64Array::from(vec![5])).unwrap();
    assert!(refused(&runs).contains("Telar has no values of type"), "{}", refused(&runs));
}
