//! Orderings by name, as commands and procedures choose them.

use std::fmt;
use std::str::FromStr;

use super::{
    breadth, breadth_first, community, degree, fiedler, gorder, random, rcm, reverse_cuthill_mckee,
    spectral,
};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// An ordering with its usual settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// [`degree()`].
    Degree,
    /// [`breadth_first`].
    Bfs,
    /// [`reverse_cuthill_mckee`].
    Rcm,
    /// [`community()`].
    Community,
    /// [`spectral()`].
    Spectral,
    /// [`gorder()`].
    Gorder,
    /// [`random()`].
    Random,
}

impl Method {
    /// All methods; [`Random`](Self::Random) is the last.
    pub const ALL: [Self; 7] = [
        Self::Degree,
        Self::Bfs,
        Self::Rcm,
        Self::Community,
        Self::Spectral,
        Self::Gorder,
        Self::Random,
    ];

    /// Name in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Degree => "degree",
            Self::Bfs => "bfs",
            Self::Rcm => "rcm",
            Self::Community => "community",
            Self::Spectral => "spectral",
            Self::Gorder => "gorder",
            Self::Random => "random",
        }
    }

    /// True if the method takes any graph; the others take one with each edge in both lists
    /// ([`Csr::undirected`]).
    #[must_use]
    pub fn takes_directed(self) -> bool {
        matches!(self, Self::Degree | Self::Random)
    }

    /// True if the method makes random choices.
    #[must_use]
    pub fn takes_seed(self) -> bool {
        matches!(self, Self::Community | Self::Spectral | Self::Random)
    }

    /// New position of each vertex. `seed` decides random choices.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::control::Error::Stopped).
    pub fn order(self, graph: &Csr, seed: u64, control: &Control<'_>) -> Result<Vec<u32>> {
        match self {
            Self::Degree => degree(graph, control),
            Self::Bfs => breadth_first(graph, control),
            Self::Rcm => reverse_cuthill_mckee(graph, &rcm::Settings::default(), control),
            Self::Community => {
                let settings = community::Settings { seed, ..Default::default() };
                community(graph, &settings, control)
            }
            Self::Spectral => {
                spectral(graph, &fiedler::Settings { seed, ..Default::default() }, control)
            }
            Self::Gorder => gorder(graph, &gorder::Settings::default(), control),
            Self::Random => random(graph, &random::Settings { seed }, control),
        }
    }

    /// Upper estimate of memory in bytes beyond the graph, of `n` vertices and `m` entries of its
    /// lists.
    #[must_use]
    pub fn bytes(self, n: u64, m: u64) -> u64 {
        match self {
            Self::Degree => degree::bytes(n, m),
            Self::Bfs => breadth::bytes(n, m),
            Self::Rcm => rcm::bytes(n, m),
            Self::Community => community::bytes(n, m),
            Self::Spectral => fiedler::bytes(n, m),
            Self::Gorder => gorder::bytes(n, m, &gorder::Settings::default()),
            Self::Random => random::bytes(n, m),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    /// The method of this name, in any case.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let found = Self::ALL.into_iter().find(|method| method.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("an order is one of {names}, not {text:?}")
        })
    }
}

#[test]
fn methods_have_names_and_order_what_they_take() {
    let edges = crate::testing::random_edges(3, 60, 200);
    let graph = Csr::from_edges(60, &edges).undirected();
    for method in Method::ALL {
        assert_eq!(method.name().to_uppercase().parse(), Ok(method));
        let order = method.order(&graph, 7, &Control::default()).unwrap();
        super::require(&graph, &order).unwrap();
        assert!(method.bytes(60, graph.edges()) > 0);
    }
    assert!("alphabet".parse::<Method>().is_err_and(|e| e.contains("gorder")));
}
