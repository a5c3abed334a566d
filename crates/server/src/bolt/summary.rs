//! What the last SUCCESS of a statement says of it.

use std::time::Instant;

use telar_db::query::{Counters, PlanDescription, StatementKind};

use super::message::SUCCESS;
use super::packstream::encode::{self as put, SmallMap};
use super::status::{self, Filter, Outcome};
use super::version::Version;
use crate::dbms::Done;

/// Writes the SUCCESS that follows the last row.
pub(crate) fn write(
    out: &mut Vec<u8>,
    done: &Done,
    began: Instant,
    outcome: Outcome,
    filter: &Filter,
    version: Version,
) {
    put::structure(out, SUCCESS, 1);
    let mut map = SmallMap::new(out);
    map.string(
        "type",
        match done.summary.kind {
            StatementKind::Read => "r",
            StatementKind::Write => "w",
            StatementKind::ReadWrite => "rw",
            StatementKind::Schema => "s",
        },
    );
    map.int("t_last", began.elapsed().as_millis() as i64);
    map.string("db", &done.database);
    if let Some(bookmark) = &done.bookmark {
        map.string("bookmark", &bookmark.to_string());
    }
    counters(&mut map, &done.summary.counters);
    if let Some(description) = &done.summary.plan {
        let measured = description.measured.is_some();
        plan(map.entry(if measured { "profile" } else { "plan" }), description, true);
    }
    status::notifications(&mut map, &done.summary.notifications, filter, outcome, version);
}

fn counters(summary: &mut SmallMap<'_>, counters: &Counters) {
    if !counters.any() {
        return;
    }
    let mut map = SmallMap::new(summary.entry("stats"));
    if counters.changes_graph() {
        map.bool("contains-updates", true);
    }
    if counters.system_updates > 0 {
        map.bool("contains-system-updates", true);
    }
    for (key, count) in [
        ("nodes-created", counters.nodes_created),
        ("nodes-deleted", counters.nodes_deleted),
        ("relationships-created", counters.relationships_created),
        ("relationships-deleted", counters.relationships_deleted),
        ("properties-set", counters.properties_set),
        ("labels-added", counters.labels_added),
        ("labels-removed", counters.labels_removed),
        ("indexes-added", counters.indexes_added),
        ("indexes-removed", counters.indexes_removed),
        ("constraints-added", counters.constraints_added),
        ("constraints-removed", counters.constraints_removed),
        ("system-updates", counters.system_updates),
    ] {
        if count > 0 {
            map.int(key, count as i64);
        }
    }
}

/// A plan as drivers know it; the first operator's arguments say what made it.
fn plan(out: &mut Vec<u8>, description: &PlanDescription, first: bool) {
    let mut map = SmallMap::new(out);
    map.string("operatorType", description.operator);
    let measured = description.measured;
    let mut args = SmallMap::new(map.entry("args"));
    if first {
        args.string("planner", "TELAR");
        args.string("runtime", "TELAR");
        args.string("version", env!("CARGO_PKG_VERSION"));
    }
    put::float(args.entry("EstimatedRows"), description.estimated_rows);
    args.string("Details", &description.details);
    let nanos = |m: &telar_db::query::Measured| i64::try_from(m.time.as_nanos());
    if let Some(measured) = &measured {
        args.int("Rows", measured.rows as i64);
        args.int("DbHits", measured.hits as i64);
        args.int("Time", nanos(measured).unwrap_or(i64::MAX));
        args.int("Memory", measured.memory as i64);
        if first {
            args.int("GlobalMemory", measured.query_memory as i64);
        }
    }
    let identifiers = map.entry("identifiers");
    put::list(identifiers, description.identifiers.len());
    description.identifiers.iter().for_each(|name| put::string(identifiers, name));
    if let Some(measured) = &measured {
        map.int("rows", measured.rows as i64);
        map.int("dbHits", measured.hits as i64);
        map.int("time", nanos(measured).unwrap_or(i64::MAX));
    }
    let children = map.entry("children");
    put::list(children, description.children.len());
    description.children.iter().for_each(|child| plan(children, child, false));
}
