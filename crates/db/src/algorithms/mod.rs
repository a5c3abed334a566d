//! Graph algorithms as procedures: `CALL algo.pageRank(...)`, `CALL gds.pageRank.stream(...)`.
//!
//! ```text
//!  arguments ─► selection ─► projection ─► kernel (telar_algo) ─► output ─► rows, or properties
//!               labels,      lists at the   on threads of          columns
//!               types,       statement's    its own, under
//!               weight       snapshot       its limits
//! ```
//!
//! An algorithm is one entry of a list (`list/`): its name, columns, settings, memory and the call
//! of its kernel. Everything else is the same for all: modes (stream, stats, write, estimate), the
//! choice of the graph, limits, progress, cancellation.
//!
//! Graphs that were given a name (`gds.graph.project`) are *live*: the name stands for a selection,
//! and every call reads it at the snapshot of its own statement.

mod algorithm;
mod catalog;
mod config;
mod cycle_lists;
mod figures;
mod function;
mod held;
mod in_place;
mod library;
mod list;
mod live;
mod merging;
mod output;
mod procedure;
mod projection;
mod results;
mod routes;
mod selection;
mod tree_paths;

use std::sync::{Arc, LazyLock};

use parking_lot::RwLock;
use telar_engine::WeakEngine;
use telar_query::Procedures;

use catalog::Catalogs;
use procedure::{AlgorithmProcedure, Dialect, Outcome, Signature};

/// All algorithms in all modes, made once: a session without others beside it has procedures of its
/// own, and their columns are some thousands.
static SIGNATURES: LazyLock<Vec<Signature>> = LazyLock::new(|| {
    let mut signatures = Vec::new();
    for algorithm in list::all() {
        for (dialect, prefix) in [(Dialect::Algo, "algo"), (Dialect::Gds, "gds")] {
            if algorithm.only.is_some_and(|only| only != dialect) {
                continue;
            }
            let mut add = |ending: String, outcome| {
                let name = format!("{prefix}.{}{ending}", algorithm.name);
                signatures.push(Signature::new(&name, algorithm, outcome, dialect));
            };
            for outcome in Outcome::ALL {
                // Only graphs with names keep something, and only `gds` asks for the name.
                if (dialect, outcome) == (Dialect::Algo, Outcome::Mutate) {
                    continue;
                }
                add(format!(".{}", outcome.name()), outcome);
                match dialect {
                    Dialect::Algo if outcome == Outcome::Stream => add(String::new(), outcome),
                    Dialect::Gds if outcome != Outcome::Estimate => {
                        add(format!(".{}.estimate", outcome.name()), Outcome::Estimate);
                    }
                    _ => {}
                }
            }
        }
    }
    signatures
});

/// Adds the algorithms and the catalogue of named graphs.
pub(crate) fn add(procedures: &mut Procedures, database: &Arc<RwLock<WeakEngine>>) {
    let catalogs = Catalogs::of(database);
    catalog::add(procedures, &catalogs);
    live::add(procedures, database);
    for of in SIGNATURES.iter() {
        let procedure = AlgorithmProcedure { of, catalogs: catalogs.clone() };
        procedures.add(Arc::clone(&of.name), Arc::new(procedure));
    }
}
