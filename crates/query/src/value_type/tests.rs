//! Types: their text, their values.

use proptest::prelude::*;
use telar_graph::Value;

use super::*;
use crate::function::tests::arbitrary;

fn parse(text: &str) -> ValueType {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn types_are_printed_in_normal_form() {
    let cases = [
        ("int", "INTEGER"),
        ("INTEGER NOT NULL", "INTEGER NOT NULL"),
        ("SIGNED INTEGER!", "INTEGER NOT NULL"),
        ("TIMESTAMP  WITH TIME ZONE", "ZONED DATETIME"),
        ("time without timezone", "LOCAL TIME"),
        ("LIST<STRING>", "LIST<STRING>"),
        ("STRING NOT NULL LIST NOT NULL", "LIST<STRING NOT NULL> NOT NULL"),
        ("array<int list>", "LIST<LIST<INTEGER>>"),
        ("FLOAT | INTEGER", "INTEGER | FLOAT"),
        ("INTEGER NOT NULL | INTEGER", "INTEGER"),
        ("ANY<BOOLEAN | VARCHAR>", "BOOLEAN | STRING"),
        ("ANY VALUE<BOOLEAN | STRING> NOT NULL", "BOOLEAN NOT NULL | STRING NOT NULL"),
        ("ANY NODE | EDGE", "NODE | RELATIONSHIP"),
        ("ANY", "ANY"),
        ("ANY VALUE NOT NULL", "ANY NOT NULL"),
        ("ANY | INTEGER", "ANY"),
        ("LIST<INTEGER> | LIST<INTEGER | FLOAT>", "LIST<INTEGER | FLOAT>"),
        ("PROPERTY VALUE | STRING", "PROPERTY VALUE"),
        ("NULL | STRING", "STRING"),
        ("NULL NOT NULL", "NOTHING"),
        ("NOTHING", "NOTHING"),
    ];
    for (text, normal) in cases {
        assert_eq!(parse(text).to_string(), normal, "{text}");
    }
    let deep = format!("{}INT{}", "LIST<".repeat(60), ">".repeat(60));
    assert_eq!(parse(&deep).depth(), 60);
}

#[test]
fn what_is_not_a_type_is_refused() {
    let deep = format!("{}INT{}", "LIST<".repeat(65), ">".repeat(65));
    let wide = format!("INT{}", " LIST".repeat(65));
    for text in ["", "NUMBER", "LIST", "LIST<", "LIST<INT", "INT |", "NOT NULL", "INT>", "é", &deep]
    {
        assert!(text.parse::<ValueType>().is_err(), "{text}");
    }
    assert!(wide.parse::<ValueType>().is_err());
}

#[test]
fn values_belong_to_their_types() {
    let null = Value::Null;
    let cases = [
        ("INTEGER", Value::from(1), true),
        ("INTEGER", null.clone(), true),
        ("INTEGER NOT NULL", null.clone(), false),
        ("FLOAT", Value::from(1), false),
        ("INTEGER | FLOAT", Value::from(1.5), true),
        ("NOTHING", null.clone(), false),
        ("NULL", null.clone(), true),
        ("NULL", Value::from(1), false),
        ("ANY NOT NULL", Value::from("a"), true),
        ("LIST<INTEGER NOT NULL>", Value::list([1, 2]), true),
        ("LIST<INTEGER NOT NULL>", Value::list([Value::from(1), null.clone()]), false),
        ("LIST<INTEGER>", Value::list([Value::from(1), null.clone()]), true),
        ("LIST<NOTHING>", Value::list(Vec::<Value>::new()), true),
        ("PROPERTY VALUE", Value::list([1, 2]), true),
        ("PROPERTY VALUE", Value::list([Value::from(1), "a".into()]), false),
        ("PROPERTY VALUE", Value::map([("a", 1)]), false),
    ];
    for (text, value, expected) in cases {
        assert_eq!(parse(text).contains(&value), expected, "{value:?} IS :: {text}");
    }
}

/// Examples of the manual, "valueType()".
#[test]
fn value_type_is_the_narrowest() {
    let mixed = Value::list([Value::from("abc"), 1.into(), true.into()]);
    let nested = Value::list([Value::list([1]), Value::list([Value::Null, "a".into()])]);
    let cases = [
        (Value::Null, "NULL"),
        ("abc".into(), "STRING NOT NULL"),
        (mixed, "LIST<BOOLEAN NOT NULL | STRING NOT NULL | INTEGER NOT NULL> NOT NULL"),
        (Value::list([Value::from(1), Value::Null]), "LIST<INTEGER> NOT NULL"),
        (Value::list([Value::Null]), "LIST<NULL> NOT NULL"),
        (Value::list(Vec::<Value>::new()), "LIST<NOTHING> NOT NULL"),
        (nested, "LIST<LIST<STRING> NOT NULL | LIST<INTEGER NOT NULL> NOT NULL> NOT NULL"),
    ];
    for (value, expected) in cases {
        assert_eq!(ValueType::of(&value).to_string(), expected);
    }
}

proptest! {
    #[test]
    fn a_value_is_of_its_own_type(value in arbitrary::value()) {
        let own = ValueType::of(&value);
        prop_assert!(own.contains(&value), "{own}");
        prop_assert_eq!(parse(&own.to_string()), own.clone());
        prop_assert!(parse("ANY").includes(&own));
    }

    /// A type that includes the type of a value contains the value.
    #[test]
    fn inclusion_agrees_with_containment(a in arbitrary::value(), b in arbitrary::value()) {
        let (a_type, b_type) = (ValueType::of(&a), ValueType::of(&b));
        if a_type.includes(&b_type) {
            prop_assert!(a_type.contains(&b), "{a_type} includes {b_type}");
        }
    }

    #[test]
    fn parsing_never_panics(text in "[a-zA-Z<>|! é]{0,40}") {
        let _ = text.parse::<ValueType>();
    }
}
