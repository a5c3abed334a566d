//! Decodes a value; what decodes has one encoding, and `skip` finds the same end.

use telar_graph::codec;

/// Takes any bytes.
pub(crate) fn value_codec(bytes: &[u8]) {
    let (mut rest, mut skipped) = (bytes, bytes);
    let skip = codec::skip(&mut skipped);
    let Ok(value) = codec::decode(&mut rest) else {
        assert_eq!(rest.len(), bytes.len(), "an error moved the input");
        return;
    };
    assert!(skip.is_ok() && skipped.len() == rest.len(), "skip found another end");
    let mut encoded = Vec::new();
    codec::encode(&value, &mut encoded).expect("what was decoded does not nest too deep");
    assert_eq!(encoded, bytes[..bytes.len() - rest.len()], "a value with two encodings");
}
