//! Plans as results: a tree of operators, for programs to walk and for people to read.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize};

/// An operator of a plan, with what it reads from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlanDescription {
    /// What it does: `NodeByLabelScan`, `Filter`, ...
    #[serde(deserialize_with = "operator")]
    pub operator: OperatorName,
    /// With what: a pattern, a condition, expressions.
    pub details: String,
    /// The variables of its rows, in the order they came; those without a name are left out.
    pub identifiers: Vec<Arc<str>>,
    /// How many rows it is expected to return, from a sample of the graph; in a plan that runs for
    /// each row of another, for one of those.
    pub estimated_rows: f64,
    /// What it did: after `PROFILE` only.
    pub measured: Option<Measured>,
    /// What it reads from. Plans that run for each of its rows come last.
    pub children: Vec<Self>,
}

/// What an operator did, all times it ran together, without what it reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Rows it returned.
    pub rows: u64,
    /// What it asked of the storage: vertices looked at, neighbours, values, changes.
    pub hits: u64,
    /// How long it took, by the wall clock.
    pub time: Duration,
    /// Most bytes that it held at once: rows, values and sets kept from one batch to the next.
    pub memory: u64,
    /// Most bytes that the whole query held at once; the same for all its operators.
    pub query_memory: u64,
}

/// To serde, a name that is written as a reference would be one into the message.
type OperatorName = &'static str;

/// The name of an operator, as one that lives as long as the program: there are some dozen of them,
/// each of which is kept once.
fn operator<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let name = String::deserialize(from)?;
    let mut names = NAMES.lock();
    if let Some(known) = names.get(name.as_str()) {
        return Ok(known);
    }
    let name: &'static str = name.leak();
    names.insert(name);
    Ok(name)
}

impl PlanDescription {
    /// The operator and everything below it, each with its depth.
    fn lines<'p>(&'p self, depth: usize, out: &mut Vec<(usize, &'p Self)>) {
        out.push((depth, self));
        self.children.iter().for_each(|child| child.lines(depth + 1, out));
    }
}

/// The plan as a table: a line per operator, below it, indented, what it reads from.
///
/// ```text
/// Operator           Estimated  Rows  Hits  Time/ms  Memory/KiB  Details
/// Filter                    10     3     6    0.012           0  n.age > 30
///   NodeByLabelScan         10    10    10    0.004           0  (n:Person)
/// ```
impl fmt::Display for PlanDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        self.lines(0, &mut lines);
        let measured = lines.iter().any(|(_, p)| p.measured.is_some());
        let mut table = vec![vec!["Operator".to_owned(), "Estimated".to_owned()]];
        if measured {
            table[0].extend(["Rows", "Hits", "Time/ms", "Memory/KiB"].map(str::to_owned));
        }
        table[0].push("Details".to_owned());
        for (depth, plan) in lines {
            let mut row = vec![format!("{}{}", "  ".repeat(depth), plan.operator)];
            row.push(format!("{:.0}", plan.estimated_rows.ceil()));
            if measured {
                let m = plan.measured.unwrap_or_default();
                let ms = m.time.as_secs_f64() * 1e3;
                row.extend([m.rows.to_string(), m.hits.to_string(), format!("{ms:.3}")]);
                row.push(m.memory.div_ceil(1024).to_string());
            }
            row.push(plan.details.clone());
            table.push(row);
        }
        let widths: Vec<usize> = (0..table[0].len())
            .map(|at| table.iter().map(|row| row[at].chars().count()).max().unwrap_or(0))
            .collect();
        for row in &table {
            let mut line = String::new();
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let last = at + 1 == row.len();
                line.push_str(&match at {
                    0 => format!("{cell:<width$}"),
                    _ if last => format!("  {cell}"),
                    _ => format!("  {cell:>width$}"),
                });
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
