//! The entry point of the fuzz target `value_codec`, on random and on nearly valid bytes.

#[path = "../../../fuzz/entry/value_codec.rs"]
mod entry;
#[path = "../../../fuzz/entry/random.rs"]
mod random;

use telar_graph::{Value, codec};

#[test]
fn value_codec_takes_any_bytes() {
    let values = [
        Value::Null,
        Value::list(["warp", "weft"]),
        Value::Int(-5),
        Value::list([Value::Float(1.5), Value::list([Value::Bool(true), Value::Null])]),
    ];
    let encode = |v: &Value| {
        let mut bytes = Vec::new();
        codec::encode(v, &mut bytes).expect("these nest little");
        bytes
    };
    let valid: Vec<Vec<u8>> = values.iter().map(encode).collect();
    random::run(1, 40_000, 40, &valid, entry::value_codec);
}
