//! Procedures by which tools ask Neo4j's Graph Data Science library about itself.

use std::thread::available_parallelism;

use telar_graph::Value;
use telar_query::procedure::{Field, known};
use telar_query::{CallContext, function};

use super::{Adding, Catalog, text};
use crate::algorithms::function::Called;
use crate::algorithms::list;
use crate::algorithms::output::count;

pub(super) fn add(adding: &mut Adding<'_>) {
    let columns = [("name", "STRING"), ("description", "STRING"), ("type", "STRING")];
    for name in ["gds.list", "algo.list"] {
        let filter = vec![Field::new("filter", "STRING").or("")];
        let about = "Algorithms and what belongs to them.";
        adding.add(name, (&[], filter), &columns, about, list_algorithms);
    }
    let none = || (&[][..], Vec::new());
    let columns = [
        ("listenAddress", "STRING"),
        ("enabled", "BOOLEAN"),
        ("running", "BOOLEAN"),
        ("versions", "LIST<STRING>"),
    ];
    let about = "Whether tools can use Arrow Flight: no.";
    adding.add("gds.debug.arrow", none(), &columns, about, |_, _, _| {
        let row = vec!["".into(), false.into(), false.into(), Value::list([] as [&str; 0])];
        Ok(known(vec![row]))
    });
    let columns = [("key", "STRING"), ("value", "ANY")];
    let about = "What tools ask of a server.";
    adding.add("gds.debug.sysInfo", none(), &columns, about, |_, _, _| {
        let rows: [(&str, Value); 4] = [
            ("gdsVersion", function::gds::VERSION.into()),
            ("gdsEdition", "Telar".into()),
            ("neo4jVersion", "5.26.0".into()),
            ("availableCPUs", count(available_parallelism().map_or(1, usize::from) as u64)),
        ];
        Ok(known(rows.into_iter().map(|(key, value)| vec![key.into(), value]).collect()))
    });
    let columns = [("isLicensed", "BOOLEAN"), ("details", "STRING")];
    let about = "Nothing here needs a licence.";
    adding.add("gds.license.state", none(), &columns, about, |_, _, _| {
        Ok(known(vec![vec![false.into(), "Nothing here needs a licence.".into()]]))
    });
    let columns = [("gdsVersion", "STRING")];
    // That of the interface that is followed.
    adding.add("gds.version", none(), &columns, "Version that tools ask for.", |_, _, _| {
        Ok(known(vec![vec![function::gds::VERSION.into()]]))
    });
}

/// `gds.list(filter)`.
fn list_algorithms(_: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    let filter = text(&arguments[0]);
    let of_prefix = |name: &str| name.starts_with("gds.") || name.starts_with("algo.");
    debug_assert!(!list::all().is_empty());
    let all = call.procedures().iter();
    let all = all.filter(|(name, _)| of_prefix(name) && name.contains(filter));
    let rows = all.map(|(name, procedure)| {
        vec![name.into(), procedure.description().into(), "procedure".into()]
    });
    Ok(known(rows.collect()))
}
