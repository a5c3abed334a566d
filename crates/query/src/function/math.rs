//! Mathematical functions.
//!
//! Those that yield floats follow IEEE 754: the root of -1 is NaN, the logarithm of 0 is -Infinity.

use telar_graph::Value;

use super::number::{Decimal, Rounding};
use super::{Context, Eval, Function, args};
use crate::error::{Detail, EvalError};

const NUMERIC: &str = "Numeric";
const LOGARITHMIC: &str = "Logarithmic";
const TRIGONOMETRIC: &str = "Trigonometric";

const fn f(
    name: &'static str,
    category: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, category, arity, signature, description, eval)
}

/// A function of one number that yields a float.
macro_rules! float {
    ($name:literal, $category:expr, $description:literal, $compute:expr) => {
        f(
            $name,
            $category,
            (1, 1),
            concat!($name, "(input :: FLOAT) :: FLOAT"),
            $description,
            |args, _| {
                let compute: fn(f64) -> f64 = $compute;
                args::number(concat!($name, "()"), &args[0]).map(|x| Value::Float(compute(x)))
            },
        )
    };
}

/// A constant.
macro_rules! constant {
    ($name:literal, $category:expr, $description:literal, $value:expr) => {
        f($name, $category, (0, 0), concat!($name, "() :: FLOAT"), $description, |_, _| {
            Ok(Value::Float($value))
        })
    };
}

pub(super) static FUNCTIONS: &[Function] = &[
    f(
        "abs",
        NUMERIC,
        (1, 1),
        "abs(input :: INTEGER | FLOAT) :: INTEGER | FLOAT",
        "The number without its sign.",
        abs,
    ),
    float!("ceil", NUMERIC, "The smallest whole number not below the input.", f64::ceil),
    float!("ceiling", NUMERIC, "The smallest whole number not below the input.", f64::ceil),
    float!("floor", NUMERIC, "The largest whole number not above the input.", f64::floor),
    f(
        "isNaN",
        NUMERIC,
        (1, 1),
        "isNaN(input :: INTEGER | FLOAT) :: BOOLEAN",
        "Whether the number is NaN.",
        |args, _| args::number("isNaN()", &args[0]).map(|x| Value::Bool(x.is_nan())),
    ),
    f(
        "rand",
        NUMERIC,
        (0, 0),
        "rand() :: FLOAT",
        "A random float from 0, included, to 1, excluded.",
        |_, context| Ok(Value::Float(context.random.next_unit())),
    )
    .volatile(),
    f(
        "round",
        NUMERIC,
        (1, 3),
        "round(value :: FLOAT, precision :: INTEGER | FLOAT, mode :: STRING) :: FLOAT",
        "The number rounded to so many decimals: by default ties go up, to a precision away from 0.",
        round,
    ),
    f(
        "sign",
        NUMERIC,
        (1, 1),
        "sign(input :: INTEGER | FLOAT) :: INTEGER",
        "-1, 0 or 1, as the number is negative, zero or NaN, or positive.",
        |args, _| {
            let x = args::number("sign()", &args[0])?;
            Ok(Value::Int(i64::from(x > 0.0) - i64::from(x < 0.0)))
        },
    ),
    constant!("e", LOGARITHMIC, "The base of the natural logarithm.", std::f64::consts::E),
    float!("exp", LOGARITHMIC, "e to the power of the input.", f64::exp),
    float!("ln", LOGARITHMIC, "The natural logarithm.", f64::ln),
    float!("log", LOGARITHMIC, "The natural logarithm.", f64::ln),
    float!("log10", LOGARITHMIC, "The logarithm to base 10.", f64::log10),
    float!("sqrt", LOGARITHMIC, "The square root.", f64::sqrt),
    float!("acos", TRIGONOMETRIC, "The arc cosine, in radians.", f64::acos),
    float!("asin", TRIGONOMETRIC, "The arc sine, in radians.", f64::asin),
    float!("atan", TRIGONOMETRIC, "The arc tangent, in radians.", f64::atan),
    f(
        "atan2",
        TRIGONOMETRIC,
        (2, 2),
        "atan2(y :: FLOAT, x :: FLOAT) :: FLOAT",
        "The angle of the point (x, y), in radians.",
        |args, _| {
            let y = args::number("atan2()", &args[0])?;
            Ok(Value::Float(y.atan2(args::number("atan2()", &args[1])?)))
        },
    ),
    float!("cos", TRIGONOMETRIC, "The cosine of an angle in radians.", f64::cos),
    float!("cosh", TRIGONOMETRIC, "The hyperbolic cosine.", f64::cosh),
    float!("cot", TRIGONOMETRIC, "The cotangent of an angle in radians.", |x| x.tan().recip()),
    float!("coth", TRIGONOMETRIC, "The hyperbolic cotangent, NaN at 0.", |x| {
        if x == 0.0 { f64::NAN } else { x.tanh().recip() }
    }),
    float!("degrees", TRIGONOMETRIC, "Degrees of an angle in radians.", f64::to_degrees),
    float!("haversin", TRIGONOMETRIC, "Half the versine of an angle in radians.", |x| {
        (1.0 - x.cos()) / 2.0
    }),
    constant!("pi", TRIGONOMETRIC, "The circumference of a circle of diameter 1.", {
        std::f64::consts::PI
    }),
    float!("radians", TRIGONOMETRIC, "Radians of an angle in degrees.", f64::to_radians),
    float!("sin", TRIGONOMETRIC, "The sine of an angle in radians.", f64::sin),
    float!("sinh", TRIGONOMETRIC, "The hyperbolic sine.", f64::sinh),
    float!("tan", TRIGONOMETRIC, "The tangent of an angle in radians.", f64::tan),
    float!("tanh", TRIGONOMETRIC, "The hyperbolic tangent.", f64::tanh),
];

fn abs(args: &[Value], _: &Context) -> Result<Value, EvalError> {
    match &args[0] {
        Value::Int(x) => {
            x.checked_abs().map(Value::Int).ok_or_else(|| EvalError::overflow("abs()"))
        }
        Value::Float(x) => Ok(Value::Float(x.abs())),
        other => Err(EvalError::argument_type("abs()", "a number", other)),
    }
}

/// Without precision and mode, a tie goes up: -1.5 becomes -1. With either, the decimal digits of
/// the number are rounded, by default with ties away from zero.
fn round(args: &[Value], _: &Context) -> Result<Value, EvalError> {
    let x = args::number("round()", &args[0])?;
    let precision = args.get(1).map_or(Ok(0), |precision| args::int("round()", precision))?;
    let mode = match args.get(2) {
        None => None,
        Some(mode) => {
            let name = args::text("round()", mode)?;
            let mode = Rounding::parse(name).ok_or_else(|| {
                EvalError::argument_value(
                    "the mode of round() must be CEILING, FLOOR, UP, DOWN, HALF_EVEN, HALF_UP or \
                     HALF_DOWN",
                )
            })?;
            Some(mode)
        }
    };
    if precision < 0 {
        return Err(EvalError::new(
            Detail::NegativeIntegerArgument,
            format!("the precision of round() must not be negative, got {precision}"),
        ));
    }
    if !x.is_finite() {
        return Ok(Value::Float(x));
    }
    if precision == 0 && mode.is_none() {
        // Adding 0.5 would carry 0.49999999999999994 and odd numbers from 2^52 on to the next.
        let floor = x.floor();
        return Ok(Value::Float(if x - floor >= 0.5 { floor + 1.0 } else { floor }));
    }
    let decimal = Decimal::of(x).ok_or_else(|| EvalError::overflow("round()"))?;
    Ok(Value::Float(decimal.round(precision, mode.unwrap_or(Rounding::HalfUp))))
}
