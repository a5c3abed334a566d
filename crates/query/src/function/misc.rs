//! Functions of no family: identifiers, the time stamp, `nullIf`, `valueType`.

use telar_graph::Value;

use super::{Eval, Function};
use crate::ops;
use crate::value_type::ValueType;

const fn f(
    name: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "Scalar", arity, signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    f(
        "nullIf",
        (2, 2),
        "nullIf(v1 :: ANY, v2 :: ANY) :: ANY",
        "Null if the two values are equal, or else the first.",
        |args, _| {
            let equal = ops::equal(&args[0], &args[1])? == Some(true);
            Ok(if equal { Value::Null } else { args[0].clone() })
        },
    )
    .takes_null(),
    f(
        "randomUUID",
        (0, 0),
        "randomUUID() :: STRING",
        "A random universally unique identifier (RFC 9562, version 4).",
        |_, context| Ok(uuid(context.random.next_u128()).into()),
    )
    .volatile(),
    f(
        "timestamp",
        (0, 0),
        "timestamp() :: INTEGER",
        "When the statement began, in milliseconds since 1970-01-01T00:00Z.",
        |_, context| Ok(Value::Int(context.statement.millis())),
    )
    .reads_context(),
    f(
        "valueType",
        (1, 1),
        "valueType(input :: ANY) :: STRING",
        "The most precise type of the value, such as `LIST<INTEGER NOT NULL> NOT NULL`.",
        |args, _| Ok(ValueType::of(&args[0]).to_string().into()),
    )
    .takes_null(),
];

/// An identifier of version 4 and variant 10 with these random bits.
fn uuid(random: u128) -> String {
    let bits = random & !(0xf << 76) & !(0b11 << 62) | 0x4 << 76 | 0b10 << 62;
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
