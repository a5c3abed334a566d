//! The first rows in order are those of all rows sorted, whatever the keys are.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::show;
use proptest::prelude::*;
use proptest::sample::select;
use telar_db::{Session, Value};

/// Keys of one type, as columns are, with some of others.
fn keys() -> impl Strategy<Value = Vec<Value>> {
    let float = prop_oneof![
        8 => (-20i64..20).prop_map(|n| n as f64 / 4.0),
        1 => select(vec![f64::NAN, -f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY]),
    ];
    let floats = float.prop_map(Value::Float).boxed();
    let ints = (-20i64..20).prop_map(Value::Int).boxed();
    let other = select(vec![Value::Null, Value::from("a"), Value::Bool(true)]).boxed();
    let mixed = prop_oneof![9 => floats.clone(), 1 => ints.clone(), 1 => other].boxed();
    prop_oneof![Just(floats), Just(ints), Just(mixed)]
        .prop_flat_map(|one| proptest::collection::vec(one, 0..400))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_first_of_many_are_those_of_all_sorted(
        keys in keys(), times in select(vec![1usize, 10, 40]), first in 0usize..30,
        descending in any::<bool>(),
    ) {
        let db = telar_db::open_in_memory().unwrap();
        let session = Session::new(&db);
        // More rows than one batch has, and more than are kept before some are turned away.
        let all = Value::list(std::iter::repeat_n(keys, times).flatten());
        let order = if descending { "DESC" } else { "" };
        let rows = format!("UNWIND range(0, size($all) - 1) AS i WITH i, $all[i] AS k ORDER BY k {order}");
        let run = |text: String| -> Vec<String> {
            let found = session.run(&text, &[("all", all.clone())]).unwrap();
            found.rows.iter().map(|row| row.iter().map(show).collect::<String>()).collect()
        };
        let sorted = run(format!("{rows} RETURN k, i"));
        prop_assert_eq!(run(format!("{rows} LIMIT {first} RETURN k, i")), sorted[..first.min(sorted.len())].to_vec());
    }
}
