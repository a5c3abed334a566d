//! Which graph is measured: generated, or read from a file of edges.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use telar_db::import::{Columns, EdgeList, EdgeListOptions};
use telar_generate::{Edge, Rmat, edges, rmat, uniform};

use super::KernelError;

/// Fewest edges of a graph that is measured.
pub const EDGES_MIN: usize = 1000;
/// Largest scale of a generated graph: its edges are counted in 32 bits.
const SCALE_MAX: u32 = 26;
/// Most edges per vertex of a generated graph.
const EDGE_FACTOR_MAX: u32 = 63;

/// A graph by name: `rmat:SCALE:FACTOR`, `uniform:SCALE:FACTOR` or the path of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphSpec {
    /// [`rmat`].
    Rmat {
        /// Binary logarithm of the number of vertices.
        scale: u32,
        /// Edges drawn per vertex.
        edge_factor: u32,
    },
    /// [`uniform`].
    Uniform {
        /// Binary logarithm of the number of vertices.
        scale: u32,
        /// Edges drawn per vertex.
        edge_factor: u32,
    },
    /// Anything [`EdgeList`] reads. Repeated edges are dropped, self-loops kept.
    File(PathBuf),
}

/// A name of a generated graph that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected SCALE:FACTOR after {generator}, with a scale of 8 to {SCALE_MAX} and 1 to \
     {EDGE_FACTOR_MAX} edges per vertex, as in {generator}:18:16"
)]
pub struct GraphSpecError {
    generator: &'static str,
}

impl FromStr for GraphSpec {
    type Err = GraphSpecError;

    fn from_str(text: &str) -> Result<Self, GraphSpecError> {
        let numbers = |generator, rest: &str| {
            let parse = || {
                let (scale, factor) = rest.split_once(':')?;
                Some((scale.parse::<u32>().ok()?, factor.parse::<u32>().ok()?))
            };
            parse()
                .filter(|(scale, factor)| {
                    (8..=SCALE_MAX).contains(scale) && (1..=EDGE_FACTOR_MAX).contains(factor)
                })
                .ok_or(GraphSpecError { generator })
        };
        if let Some(rest) = text.strip_prefix("rmat:") {
            let (scale, edge_factor) = numbers("rmat", rest)?;
            return Ok(Self::Rmat { scale, edge_factor });
        }
        if let Some(rest) = text.strip_prefix("uniform:") {
            let (scale, edge_factor) = numbers("uniform", rest)?;
            return Ok(Self::Uniform { scale, edge_factor });
        }
        Ok(Self::File(text.into()))
    }
}

impl fmt::Display for GraphSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rmat { scale, edge_factor } => write!(f, "rmat:{scale}:{edge_factor}"),
            Self::Uniform { scale, edge_factor } => write!(f, "uniform:{scale}:{edge_factor}"),
            Self::File(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                name.display().fmt(f)
            }
        }
    }
}

/// A graph to measure.
pub(crate) struct Input {
    /// Vertices are numbered below this.
    pub(crate) n: u32,
    /// Distinct edges in random order.
    pub(crate) edges: Vec<Edge>,
}

impl GraphSpec {
    /// Makes or reads the graph. Generated ones keep one direction of each pair and no loops, so
    /// that a store holds each undirected edge twice, as flat benchmarks do.
    pub(crate) fn read(&self, seed: u64) -> Result<Input, KernelError> {
        let (n, mut all) = match self {
            Self::Rmat { scale, edge_factor } => {
                let parameters = Rmat { scale: *scale, edge_factor: *edge_factor, seed };
                let mut all = rmat(&parameters);
                edges::dedup_undirected(&mut all);
                (parameters.vertices(), all)
            }
            Self::Uniform { scale, edge_factor } => {
                let n = 1u32 << scale;
                let mut all = uniform(n, n as usize * *edge_factor as usize, seed);
                edges::dedup_undirected(&mut all);
                (n, all)
            }
            Self::File(path) => {
                let mut options = EdgeListOptions::default();
                options.columns = Columns::Ignore;
                let list = EdgeList::read(path, &options, &|_| {})?;
                let mut all = list.edges;
                all.sort_unstable();
                all.dedup();
                (list.vertex_count, all)
            }
        };
        if all.len() < EDGES_MIN {
            return Err(KernelError::TooSmall(all.len()));
        }
        edges::shuffle(&mut all, seed + 1);
        Ok(Input { n, edges: all })
    }
}
