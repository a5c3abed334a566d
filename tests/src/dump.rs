//! The whole content of a database at one snapshot, in a form that compares.
//!
//! Taking it also checks what must hold in every snapshot: out and in lists mirror each other, no
//! edge dangles, degrees and statistics count what is there.

use std::collections::BTreeMap;

use telar_engine::{Engine, Snapshot};
use telar_graph::{Counts, Direction, EdgeId, Value, VertexId, View};

/// Properties by name.
pub type Properties = BTreeMap<String, String>;

/// Everything a reader can see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// Labels and properties of each vertex.
    pub vertices: BTreeMap<VertexId, (Vec<String>, Properties)>,
    /// Properties of each edge, by name of its type.
    pub edges: BTreeMap<(String, u64, u64, u32), Properties>,
    /// Labels, property keys, edge types.
    pub names: [Vec<String>; 3],
}

impl Dump {
    /// The content without schema names, which outlive the transactions that made them.
    #[must_use]
    pub fn without_names(mut self) -> Self {
        self.names = Default::default();
        self
    }

    /// Reads everything there is now.
    ///
    /// # Errors
    /// Says which invariant of a snapshot does not hold.
    pub fn of(db: &Engine) -> Result<Self, String> {
        Self::at(db, &db.snapshot().map_err(|e| e.to_string())?)
    }

    /// Reads everything a snapshot shows.
    ///
    /// # Errors
    /// Says which invariant of a snapshot does not hold.
    pub fn at(db: &Engine, snapshot: &Snapshot<'_>) -> Result<Self, String> {
        let reader = snapshot.reader();
        let (labels, keys, types) = (db.labels(), db.property_keys(), db.edge_types());
        // A number may have no name: who held it never committed.
        let keys: Vec<String> = keys.into_iter().filter(|name| !name.is_empty()).collect();
        let key_ids: Vec<_> = keys.iter().filter_map(|k| db.find_property_key(k)).collect();
        let properties = |get: &dyn Fn(telar_graph::PropertyKeyId) -> Value| -> Properties {
            let set = keys.iter().zip(&key_ids).map(|(name, id)| (name.clone(), get(*id)));
            set.filter(|(_, v)| !v.is_null()).map(|(n, v)| (n, format!("{v:?}"))).collect()
        };
        let mut dump = Self::default();
        let mut vertices = Vec::new();
        let first = VertexId::from_raw(0);
        reader
            .scan(None, first, reader.vertex_bound(), &mut vertices)
            .map_err(|e| e.to_string())?;
        for v in &vertices {
            let set = reader.labels(*v).ok_or_else(|| format!("scan found missing vertex {v}"))?;
            let name = |l: &telar_graph::LabelId| labels.get(usize::from(l.get())).cloned();
            let set: Option<Vec<String>> = set.iter().map(name).collect();
            let set = set.ok_or_else(|| format!("vertex {v} has a label without a name"))?;
            let values = properties(&|key| reader.vertex_property(*v, key));
            dump.vertices.insert(*v, (set, values));
        }
        for (name, _) in types.iter().filter(|(name, _)| !name.is_empty()) {
            let ty = db.find_edge_type(name).ok_or("an edge type has no number")?;
            let mut out: Vec<EdgeId> = Vec::new();
            let mut inward: Vec<EdgeId> = Vec::new();
            for raw in 0..reader.vertex_bound().get() {
                let v = VertexId::from_raw(raw);
                for (list, d) in [(&mut out, Direction::Out), (&mut inward, Direction::In)] {
                    let before = list.len();
                    list.extend(reader.edges(v, ty, d));
                    let (found, degree) = (list.len() - before, reader.degree(v, ty, d));
                    if found != degree {
                        return Err(format!("{name} {v} {d:?}: {found} edges, degree {degree}"));
                    }
                }
            }
            out.sort_unstable();
            inward.sort_unstable();
            if out != inward {
                let only = |a: &[EdgeId], b: &[EdgeId]| -> Vec<EdgeId> {
                    a.iter().filter(|e| b.binary_search(e).is_err()).copied().collect()
                };
                return Err(format!(
                    "{name}: lists do not mirror: only out {:?}, only in {:?}",
                    only(&out, &inward),
                    only(&inward, &out)
                ));
            }
            let count = out.len() as u64;
            let statistics = reader.statistics().map_err(|e| e.to_string())?;
            if statistics.edges_by_type.get(usize::from(ty.get())) != Some(&count)
                || statistics.vertices != vertices.len() as u64
            {
                return Err(format!("{name}: {count} edges, statistics {statistics:?}"));
            }
            for e in out {
                if !dump.vertices.contains_key(&e.src) || !dump.vertices.contains_key(&e.dst) {
                    return Err(format!("{name}: edge {e:?} dangles"));
                }
                if !reader.edge_exists(e) || !reader.search_edge(ty, e.src, e.dst) {
                    return Err(format!("{name}: edge {e:?} is listed but not found"));
                }
                let values = properties(&|key| reader.edge_property(e, key));
                let id = (name.clone(), e.src.get(), e.dst.get(), e.ordinal);
                if dump.edges.insert(id, values).is_some() {
                    return Err(format!("{name}: edge {e:?} is listed twice"));
                }
            }
        }
        dump.names = [labels, keys, types.into_iter().map(|(name, _)| name).collect()];
        Ok(dump)
    }
}
