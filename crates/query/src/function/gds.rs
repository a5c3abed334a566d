//! Functions that Neo4j's Graph Data Science library adds to Cypher, under its names.
//!
//! Source of the formulas: the manual of the library, "Similarity functions" and "Auxiliary
//! functions".

use telar_graph::Value;

use super::vector::measures;
use super::{Eval, Function, args};
use crate::error::EvalError;

/// Version of the library whose names and columns are followed.
pub const VERSION: &str = "2.13.0";

const fn f(
    name: &'static str,
    arity: usize,
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "Graph Data Science", (arity, arity), signature, description, eval)
}

macro_rules! of_vectors {
    ($name:literal, $about:literal, $eval:expr) => {
        f(
            concat!("gds.similarity.", $name),
            2,
            concat!(
                "gds.similarity.",
                $name,
                "(a :: LIST<INTEGER | FLOAT>, b :: LIST<INTEGER | FLOAT>) :: FLOAT"
            ),
            $about,
            |args, _| {
                let eval: fn(&str, &[Value]) -> Result<f64, EvalError> = $eval;
                eval(concat!("gds.similarity.", $name, "()"), args).map(Value::Float)
            },
        )
    };
}

pub(super) static FUNCTIONS: &[Function] = &[
    measures!(
        "Graph Data Science",
        "gds.similarity.cosine",
        "The cosine of the angle between two vectors; 0 if one has no length.",
        |a, b| Ok(b.cosine(a).unwrap_or(0.0))
    ),
    measures!(
        "Graph Data Science",
        "gds.similarity.euclidean",
        "1 / (1 + the distance of two vectors).",
        |a, b| Ok((1.0 + b.distance_squared(a).sqrt()).recip())
    ),
    measures!(
        "Graph Data Science",
        "gds.similarity.euclideanDistance",
        "The distance of two vectors.",
        |a, b| Ok(b.distance_squared(a).sqrt())
    ),
    of_vectors!("jaccard", "What two sets share, of all that is in them.", |function, args| {
        let [a, b, shared] = sets(function, args)?;
        Ok(ratio(shared, a + b - shared))
    }),
    of_vectors!("overlap", "What two sets share, of the smaller.", |function, args| {
        let [a, b, shared] = sets(function, args)?;
        Ok(ratio(shared, a.min(b)))
    }),
    measures!(
        "Graph Data Science",
        "gds.similarity.pearson",
        "The correlation of two vectors; 0 if one has no variance.",
        |a, b| Ok(b.correlation(a).unwrap_or(0.0))
    ),
    f("gds.util.NaN", 0, "gds.util.NaN() :: FLOAT", "NaN.", |_, _| Ok(Value::Float(f64::NAN))),
    f("gds.util.infinity", 0, "gds.util.infinity() :: FLOAT", "Infinity.", |_, _| {
        Ok(Value::Float(f64::INFINITY))
    }),
    f(
        "gds.util.isFinite",
        1,
        "gds.util.isFinite(value :: INTEGER | FLOAT) :: BOOLEAN",
        "Whether the number is neither NaN nor infinite.",
        |args, _| Ok(Value::Bool(args::number("gds.util.isFinite()", &args[0])?.is_finite())),
    ),
    f(
        "gds.util.isInfinite",
        1,
        "gds.util.isInfinite(value :: INTEGER | FLOAT) :: BOOLEAN",
        "Whether the number is NaN or infinite.",
        |args, _| Ok(Value::Bool(!args::number("gds.util.isInfinite()", &args[0])?.is_finite())),
    ),
    f(
        "gds.version",
        0,
        "gds.version() :: STRING",
        "The version of the library whose names are followed.",
        |_, _| Ok(VERSION.into()),
    ),
];

fn ratio(part: f64, all: f64) -> f64 {
    if all == 0.0 { 0.0 } else { part / all }
}

/// Sizes of two sets of numbers, and of what is in both.
fn sets(function: &str, args: &[Value]) -> Result<[f64; 3], EvalError> {
    let set = |value| {
        let mut numbers = Vec::new();
        for number in args::list(function, value)? {
            numbers.push(args::number(function, number)?);
        }
        numbers.sort_unstable_by(f64::total_cmp);
        numbers.dedup();
        Ok::<_, EvalError>(numbers)
    };
    let (a, b): (Vec<f64>, Vec<f64>) = (set(&args[0])?, set(&args[1])?);
    let shared = a.iter().filter(|x| b.binary_search_by(|y| y.total_cmp(x)).is_ok()).count();
    Ok([a.len() as f64, b.len() as f64, shared as f64])
}
