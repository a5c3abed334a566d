//! Similarity of nodes, and nodes as vectors.

use telar_algo::embedding::fast_rp;
use telar_algo::similarity::Metric;
use telar_algo::similarity::knn::{self, VectorMetric};
use telar_algo::similarity::node_similarity::{self, Pair};
use telar_graph::Value;
use telar_query::QueryError;

use super::{PLAIN, failed};
use crate::algorithms::algorithm::{Algorithm, ColumnOf, Follows, Input, Kind};
use crate::algorithms::config::{Config, wrong};
use crate::algorithms::output::{Data, Output, count};

/// Vectors that are read between two looks at whether the statement is to end.
const BATCH: usize = 4096;

const PAIRS: &[ColumnOf] = &[
    ColumnOf("node1", Kind::Node),
    ColumnOf("node2", Kind::Node),
    ColumnOf("similarity", Kind::Float),
];
const METRICS: [(&str, Metric); 7] = [
    ("JACCARD", Metric::Jaccard),
    ("OVERLAP", Metric::Overlap),
    ("COSINE", Metric::Cosine),
    ("ADAMIC_ADAR", Metric::AdamicAdar),
    ("RESOURCE_ALLOCATION", Metric::ResourceAllocation),
    ("COMMON_NEIGHBORS", Metric::CommonNeighbors),
    ("PREFERENTIAL_ATTACHMENT", Metric::PreferentialAttachment),
];

pub(super) const LIST: &[Algorithm] = &[
    Algorithm {
        name: "nodeSimilarity",
        about: "Pairs of nodes that have neighbours in common, the most similar of each node.",
        columns: PAIRS,
        figures: &[("nodesCompared", "INTEGER"), ("similarityPairs", "INTEGER")],
        settings: &[
            "similarityMetric",
            "topK",
            "topN",
            "similarityCutoff",
            "degreeCutoff",
            "upperDegreeCutoff",
        ],
        reverses: true,
        bytes: |n, m, config| {
            Ok(node_similarity::bytes(n, m, &similar(config)?, config.threads()? as u64))
        },
        run: |input| {
            let settings = similar(input.config)?;
            let incoming = input.incoming();
            let run = node_similarity::node_similarity;
            let found = run(input.lists(), &incoming, &settings, input.control).map_err(failed)?;
            let figures = vec![count(found.nodes_compared), count(found.pairs.len() as u64)];
            Ok(pairs(&found.pairs, figures))
        },
        ..PLAIN
    },
    Algorithm {
        name: "knn",
        about: "The nodes whose vectors, a property, are nearest to that of each node.",
        columns: PAIRS,
        figures: &[
            ("ranIterations", "INTEGER"),
            ("didConverge", "BOOLEAN"),
            ("nodePairsConsidered", "INTEGER"),
            ("nodesCompared", "INTEGER"),
            ("similarityPairs", "INTEGER"),
        ],
        settings: &[
            "nodeProperties",
            "topK",
            "similarityMetric",
            "similarityCutoff",
            "sampleRate",
            "deltaThreshold",
            "maxIterations",
            "randomJoins",
            "randomSeed",
        ],
        bytes: |n, _, config| Ok(knn::bytes(n, &nearest(config, false)?)),
        vectors: Some("nodeProperties"),
        run: neighbours,
        ..PLAIN
    },
    Algorithm {
        name: "fastRP",
        about: "A vector for each node, similar for nodes with similar surroundings.",
        columns: &[ColumnOf("nodeId", Kind::Node), ColumnOf("embedding", Kind::Floats)],
        settings: &[
            "embeddingDimension",
            "iterationWeights",
            "normalizationStrength",
            "nodeSelfInfluence",
            "randomSeed",
        ],
        bytes: |n, m, config| {
            let settings = embedding(config)?;
            // Rows are values.
            let rows = n.saturating_mul(u64::from(settings.embedding_dimension) * 24);
            Ok(fast_rp::bytes(n, m, &settings).saturating_add(rows))
        },
        run: |input| {
            let settings = embedding(input.config)?;
            let found = fast_rp::fast_rp(input.lists(), &settings, input.control);
            let found = found.map_err(failed)?;
            let row = |row: &[f32]| Value::list(row.iter().map(|x| Value::Float((*x).into())));
            let rows = found.values.chunks(found.dimension.max(1) as usize).map(row);
            Ok(Output::of_vertices(Data::Values(rows.collect())))
        },
        follows: Follows::Chosen,
        ..PLAIN
    },
];

fn pairs(found: &[Pair], figures: Vec<Value>) -> Output {
    let columns = vec![
        Data::Vertices(found.iter().map(|pair| pair.source).collect()),
        Data::Vertices(found.iter().map(|pair| pair.target).collect()),
        Data::Floats(found.iter().map(|pair| pair.similarity).collect()),
    ];
    Output { columns, figures }
}

fn similar(config: &Config<'_>) -> Result<node_similarity::Settings, QueryError> {
    let defaults = node_similarity::Settings::default();
    Ok(node_similarity::Settings {
        similarity_metric: config.choice("similarityMetric", &METRICS, Metric::Jaccard)?,
        top_k: config.count("topK", defaults.top_k)?,
        top_n: config.count("topN", defaults.top_n)?,
        similarity_cutoff: config.float("similarityCutoff", defaults.similarity_cutoff)?,
        degree_cutoff: config.count("degreeCutoff", defaults.degree_cutoff)?,
        upper_degree_cutoff: config.count("upperDegreeCutoff", defaults.upper_degree_cutoff)?,
    })
}

/// Settings of vectors, or of single numbers, of which the distance is what counts.
fn nearest(config: &Config<'_>, single: bool) -> Result<knn::Settings, QueryError> {
    let metric = if single { VectorMetric::Euclidean } else { VectorMetric::Cosine };
    let defaults = knn::Settings::default();
    let metrics = [("COSINE", VectorMetric::Cosine), ("EUCLIDEAN", VectorMetric::Euclidean)];
    Ok(knn::Settings {
        top_k: config.count("topK", defaults.top_k)?,
        similarity_metric: config.choice("similarityMetric", &metrics, metric)?,
        similarity_cutoff: config.float("similarityCutoff", defaults.similarity_cutoff)?,
        sample_rate: config.float("sampleRate", defaults.sample_rate)?,
        delta_threshold: config.float("deltaThreshold", defaults.delta_threshold)?,
        max_iterations: config.count("maxIterations", defaults.max_iterations)?,
        random_joins: config.count("randomJoins", defaults.random_joins)?,
        seed: config.count("randomSeed", defaults.seed)?,
        ..defaults
    })
}

fn neighbours(input: &Input<'_>) -> Result<Output, QueryError> {
    let properties = input.config.texts("nodeProperties")?;
    let Some([property]) = properties.as_deref() else {
        return Err(wrong(format!(
            "{} needs nodeProperties: the property that holds a list of numbers",
            input.config.of
        )));
    };
    let column = input.graph.values(input.view, property)?;
    let of_numbers = |value: &Value| matches!(value, Value::Int(_) | Value::Float(_));
    let single = !column.is_empty() && of_numbers(&column.get(0));
    let settings = nearest(input.config, single)?;
    // Without vectors there is no dimension; 1 stands for it, so that settings are checked.
    let (mut values, mut dimension) = (Vec::new(), 1);
    for at in 0..column.len() {
        if at % BATCH == 0 {
            input.control.check().map_err(failed)?;
        }
        let vector = match column.get(at) {
            Value::List(vector) if !single => vector,
            number if single && of_numbers(&number) => [number].into(),
            _ if single => return Err(wrong(format!("{property} of a node is no number"))),
            _ => return Err(wrong(format!("{property} of a node is no list of numbers"))),
        };
        if at == 0 {
            dimension = vector.len();
            values.reserve_exact(dimension.saturating_mul(column.len()));
        }
        if vector.len() != dimension {
            return Err(wrong(format!(
                "{property} has {dimension} numbers at one node and {} at another",
                vector.len()
            )));
        }
        for number in vector.iter() {
            values.push(match number {
                Value::Float(number) => *number as f32,
                Value::Int(number) => *number as f32,
                _ => return Err(wrong(format!("{property} of a node is no list of numbers"))),
            });
        }
    }
    let compared = column.len() as u64;
    // The kernel has numbers of its own.
    drop(column);
    let found = knn::knn(&values, dimension as u32, &settings, input.control).map_err(failed)?;
    let figures = vec![
        count(found.ran_iterations.into()),
        found.did_converge.into(),
        count(found.node_pairs_considered),
        count(compared),
        count(found.pairs.len() as u64),
    ];
    Ok(pairs(&found.pairs, figures))
}

fn embedding(config: &Config<'_>) -> Result<fast_rp::Settings, QueryError> {
    let defaults = fast_rp::Settings::default();
    let iteration_weights = match config.get("iterationWeights") {
        None => defaults.iteration_weights,
        Some(Value::List(weights)) => {
            let number = |weight: &Value| match weight {
                Value::Float(number) => Ok(*number),
                Value::Int(number) => Ok(*number as f64),
                _ => Err(wrong("iterationWeights of fastRP is a list of numbers")),
            };
            weights.iter().map(number).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(wrong("iterationWeights of fastRP is a list of numbers")),
    };
    Ok(fast_rp::Settings {
        embedding_dimension: config.count("embeddingDimension", defaults.embedding_dimension)?,
        iteration_weights,
        normalization_strength: config
            .float("normalizationStrength", defaults.normalization_strength)?,
        node_self_influence: config.float("nodeSelfInfluence", defaults.node_self_influence)?,
        seed: config.count("randomSeed", defaults.seed)?,
    })
}
