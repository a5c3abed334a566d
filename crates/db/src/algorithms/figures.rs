//! Columns of figures and of estimates, which `algo` and `gds` name differently.

use telar_graph::{Value, ValueMap};

use super::algorithm::Algorithm;
use super::output::{Data, count};
use super::procedure::Dialect;

/// Name of a column and its type.
pub(super) type Figure = (&'static str, &'static str);

/// Columns of figures that every algorithm has.
pub(super) fn columns(algorithm: &Algorithm, dialect: Dialect) -> Vec<Figure> {
    let distribution = match (dialect, algorithm.value_column()) {
        (Dialect::Gds, Some(at)) => match algorithm.columns[at].0 {
            "communityId" => "communityDistribution",
            "componentId" => "componentDistribution",
            "similarity" => "similarityDistribution",
            "score" => "centralityDistribution",
            _ => "distribution",
        },
        _ => "distribution",
    };
    let common = [
        ("nodeCount", "INTEGER"),
        ("relationshipCount", "INTEGER"),
        ("preProcessingMillis", "INTEGER"),
        ("computeMillis", "INTEGER"),
        (distribution, "MAP"),
    ];
    let more: &[Figure] = match dialect {
        Dialect::Algo => &[],
        Dialect::Gds => &[("postProcessingMillis", "INTEGER"), ("configuration", "MAP")],
    };
    [&common, more, algorithm.figures].concat()
}

/// Columns of an estimate.
pub(super) fn estimate_columns(dialect: Dialect) -> Vec<Figure> {
    let common = [
        ("requiredMemory", "STRING"),
        ("nodeCount", "INTEGER"),
        ("relationshipCount", "INTEGER"),
        ("bytesMin", "INTEGER"),
        ("bytesMax", "INTEGER"),
    ];
    let more: &[Figure] = match dialect {
        Dialect::Algo => &[("bytesLimit", "INTEGER")],
        Dialect::Gds => &[
            ("treeView", "STRING"),
            ("mapView", "MAP"),
            ("heapPercentageMin", "FLOAT"),
            ("heapPercentageMax", "FLOAT"),
        ],
    };
    [&common, more].concat()
}

/// Bytes as people write them.
pub(super) fn readable(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} Bytes"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes.div_ceil(1 << 20)),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

/// The row of an estimate: `bytes` of the `room` that a statement may take, if that is bounded.
pub(super) fn estimate(
    (nodes, relationships): (u64, u64),
    bytes: u64,
    room: Option<u64>,
    dialect: Dialect,
) -> Vec<Value> {
    let readable = readable(bytes);
    let mut row: Vec<Value> = vec![
        readable.as_str().into(),
        count(nodes),
        count(relationships),
        count(bytes),
        count(bytes),
    ];
    if dialect == Dialect::Algo {
        row.push(room.map(count).unwrap_or_default());
    } else {
        let map: ValueMap =
            [("name".into(), "algorithm".into()), ("memoryUsage".into(), readable.as_str().into())]
                .into();
        let share =
            room.map_or(0.0, |room| (bytes as f64 / room.max(1) as f64 * 1e3).round() / 10.0);
        row.push(format!("Memory Estimation: {readable}").into());
        row.push(Value::Map(map.into()));
        row.extend([Value::Float(share), Value::Float(share)]);
    }
    row
}

/// How the values of an algorithm are spread: of communities and components, their sizes.
pub(super) fn distribution(algorithm: &Algorithm, columns: &[Data]) -> ValueMap {
    let Some(at) = algorithm.value_column() else { return ValueMap::new() };
    let numbers = columns[at].numbers();
    let groups = matches!(algorithm.columns[at].0, "communityId" | "componentId");
    spread(if groups { sizes(numbers) } else { numbers })
}

/// How often each number occurs.
fn sizes(mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.chunk_by(|a, b| a == b).map(|group| group.len() as f64).collect()
}

/// Least, greatest, mean and percentiles of numbers.
pub(super) fn spread(mut numbers: Vec<f64>) -> ValueMap {
    numbers.sort_unstable_by(f64::total_cmp);
    let (Some(least), Some(greatest)) = (numbers.first(), numbers.last()) else {
        return ValueMap::new();
    };
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let at = |share: f64| numbers[((numbers.len() - 1) as f64 * share).round() as usize];
    let mut map: ValueMap = [("min", *least), ("max", *greatest), ("mean", mean)]
        .map(|(name, number)| (name.into(), Value::Float(number)))
        .into();
    for percent in [50, 75, 90, 95, 99] {
        map.insert(format!("p{percent}").into(), Value::Float(at(f64::from(percent) / 100.0)));
    }
    map
}
