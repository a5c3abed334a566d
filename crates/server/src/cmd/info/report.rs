//! The figures of `telar info`, collected at one snapshot, as text and as JSON.

use std::path::Path;

use serde_json::{Value, json};
use telar_db::{
    Counts, Database, Direction, EdgeOrder, EdgeTypeId, EdgeTypeOptions, MemoryUse, VertexId, View,
};

use super::degrees::Degrees;
use crate::cmd::folder_bytes;
use crate::ui::{Screen, number};

/// Everything `telar info` shows.
#[derive(Debug)]
pub(super) struct Report {
    path: String,
    identity: String,
    last_commit: u64,
    checkpoint: u64,
    vertices: u64,
    edges: u64,
    labels: Vec<(String, u64)>,
    property_keys: Vec<String>,
    types: Vec<TypeReport>,
    memory: MemoryUse,
    settled: u64,
    unsettled: u64,
    log_bytes: u64,
    checkpoint_bytes: u64,
    history: Option<History>,
}

/// What of the past can be read.
#[derive(Debug)]
struct History {
    /// From this commit on.
    oldest: u64,
    /// Of memory; on disk it is part of the checkpoint.
    bytes: u64,
}

#[derive(Debug)]
struct TypeReport {
    name: String,
    kind: String,
    edges: u64,
    settled: u64,
    unsettled: u64,
    hubs: u64,
    out: Degrees,
    inward: Degrees,
}

/// `part` of `whole`, 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn kind(db: &Database, options: EdgeTypeOptions) -> String {
    match options.order {
        EdgeOrder::NewestFirst(key) => {
            let keys = db.property_keys();
            let key = keys.get(usize::from(key.get())).map_or("?", String::as_str);
            format!("newest first by {key}")
        }
        _ if options.simple => "simple".to_owned(),
        _ => "general".to_owned(),
    }
}

impl Report {
    pub(super) fn collect(db: &Database, path: &Path) -> Result<Self, telar_db::Error> {
        let reader = db.reader()?;
        let statistics = reader.statistics()?;
        let mut vertices: Vec<VertexId> = Vec::new();
        reader.scan(None, VertexId::from_raw(0), reader.vertex_bound(), &mut vertices)?;
        let mut types = Vec::new();
        let types_by_number = (0..).zip(db.edge_types());
        for (number, (name, options)) in types_by_number.filter(|(_, (name, _))| !name.is_empty()) {
            let ty = EdgeTypeId::from_raw(number);
            let (out, inward) =
                (reader.adjacency(ty, Direction::Out)?, reader.adjacency(ty, Direction::In)?);
            let (out, inward) = (Degrees::of(&out, &vertices), Degrees::of(&inward, &vertices));
            // Once everything was read, and so is in memory.
            let state = db.settle_state(ty)?;
            types.push(TypeReport {
                name,
                kind: kind(db, options),
                edges: statistics.edges_by_type.get(usize::from(number)).copied().unwrap_or(0),
                settled: state.settled,
                unsettled: state.unsettled,
                hubs: state.hubs,
                out,
                inward,
            });
        }
        let health = db.health();
        let memory = health.memory;
        if let Some(error) = db.error() {
            return Err(error);
        }
        let counts = statistics.vertices_by_label.iter().copied().chain(std::iter::repeat(0));
        Ok(Self {
            path: path.display().to_string(),
            identity: db.identity().map_or_else(String::new, |id| id.to_string()),
            checkpoint: health.checkpoint.map_or(0, |c| c.last.get()),
            last_commit: reader.read_ts().get(),
            vertices: statistics.vertices,
            edges: statistics.edges(),
            labels: db.labels().into_iter().zip(counts).filter(|(n, _)| !n.is_empty()).collect(),
            property_keys: db.property_keys().into_iter().filter(|n| !n.is_empty()).collect(),
            settled: types.iter().map(|t| t.settled).sum(),
            unsettled: types.iter().map(|t| t.unsettled).sum(),
            types,
            memory,
            log_bytes: folder_bytes(&path.join("wal")),
            checkpoint_bytes: folder_bytes(&path.join("store")),
            history: health
                .history
                .oldest
                .map(|oldest| History { oldest: oldest.get(), bytes: health.history.bytes as u64 }),
        })
    }

    /// An edge has two entries, one at each end.
    fn bytes_per_entry(&self) -> f64 {
        let bytes = (self.memory.topology + self.memory.mapped) as u64;
        share(bytes, self.settled + self.unsettled)
    }

    pub(super) fn json(&self) -> Value {
        let label =
            |(name, vertices): &(String, u64)| json!({ "name": name, "vertices": vertices });
        let labels: Vec<Value> = self.labels.iter().map(label).collect();
        let types: Vec<Value> = self.types.iter().map(TypeReport::json).collect();
        json!({
            "path": self.path,
            "identity": self.identity,
            "last_commit": self.last_commit,
            "checkpoint": self.checkpoint,
            "vertices": self.vertices,
            "edges": self.edges,
            "labels": labels,
            "edge_types": types,
            "property_keys": self.property_keys,
            "bytes_per_entry": self.bytes_per_entry(),
            "unsettled_share": share(self.unsettled, self.settled + self.unsettled),
            "memory_bytes": {
                "topology": self.memory.topology,
                "states": self.memory.states,
                "properties": self.memory.properties,
                "in_place": self.memory.mapped,
            },
            "log_bytes": self.log_bytes,
            "checkpoint_bytes": self.checkpoint_bytes,
            "history": self.history.as_ref().map(|h| json!({ "oldest": h.oldest, "bytes": h.bytes })),
        })
    }

    pub(super) fn print(&self, screen: Screen) -> std::io::Result<()> {
        screen.line(screen.bold(&self.path))?;
        let row = |name: &str, text: String| screen.line(format!("  {name:<14}{text}"));
        row("vertices", number::count(self.vertices))?;
        for (label, vertices) in &self.labels {
            row("", format!("{}  :{label}", number::count(*vertices)))?;
        }
        row("edges", number::count(self.edges))?;
        for ty in &self.types {
            row("", format!("{}  :{}  ({})", number::count(ty.edges), ty.name, ty.kind))?;
        }
        row("property keys", self.property_keys.join(", "))?;
        let behind = number::counted(self.last_commit - self.checkpoint, "commit", "commits");
        let last = number::count(self.last_commit);
        row("last commit", format!("{last}, {behind} after the last checkpoint"))?;
        let size = |bytes: usize| number::bytes(bytes as u64);
        let MemoryUse { topology, states, properties, mapped, .. } = self.memory;
        let (topology, states, properties) = (size(topology), size(states), size(properties));
        row("memory", format!("edges {topology}, vertices {states}, properties {properties}"))?;
        row("in place", format!("{} of the store's file", size(mapped)))?;
        let unsettled = 100.0 * share(self.unsettled, self.settled + self.unsettled);
        let per_entry = self.bytes_per_entry();
        row("per entry", format!("{per_entry:.2} bytes, {unsettled:.1} % unsettled"))?;
        let (log, store) = (self.log_bytes, self.checkpoint_bytes);
        row("on disk", format!("log {}, checkpoint {}", number::bytes(log), number::bytes(store)))?;
        if let Some(History { oldest, bytes }) = &self.history {
            let (oldest, bytes) = (number::count(*oldest), number::bytes(*bytes));
            row("history", format!("from commit {oldest} on, {bytes} of memory"))?;
        }
        row("identity", self.identity.clone())?;
        self.types.iter().try_for_each(|ty| ty.print(screen))
    }
}

impl TypeReport {
    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "kind": self.kind,
            "edges": self.edges,
            "unsettled_share": share(self.unsettled, self.settled + self.unsettled),
            "hubs": self.hubs,
            "degrees": { "out": self.out.json(), "in": self.inward.json() },
        })
    }

    fn print(&self, screen: Screen) -> std::io::Result<()> {
        screen.gap()?;
        let unsettled = 100.0 * share(self.unsettled, self.settled + self.unsettled);
        let hubs = number::counted(self.hubs, "hub list", "hub lists");
        let about = screen.dim(format!("{}, {unsettled:.1} % unsettled, {hubs}", self.kind));
        screen.line(format!("{}  {about}", screen.bold(format!(":{}", self.name))))?;
        self.out.print(screen, "out")?;
        self.inward.print(screen, "in")
    }
}
