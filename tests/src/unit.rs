//! The workload of the crash tests: transactions whose effect is a function of their number.
//!
//! ```text
//!  transaction n of thread t
//!    unit n      vertex: labels Unit, G<t>_<n/NAMES>; properties id, k<t>_<n/NAMES>
//!    edges       (hub t)-[SIMPLE]->(unit)   (unit)-[MULTI {id}]->(hub t)
//!                (hub t)-[TIMED {time}]->(unit)   (unit)-[MULTI {id}]->(shared vertex)
//!    unit n-1    property touch = n; its edge to the hub, too
//!    unit n-2    label Old, and its edge to the shared vertex is gone
//!    unit n-KEEP deleted with its edges
//!    hub t       property last = n
//! ```
//!
//! Indexes and constraints are those of `indexed.rs`; some come and go with the transactions of
//! thread 0, two at once.
//!
//! So the content after n transactions of each thread is known, and a transaction that is there by
//! half shows at once.

use std::collections::BTreeMap;

use telar_engine::{EdgeTypeOptions, Engine, Error, Transaction};
use telar_graph::{
    CommitTs, Direction, EdgeId, EdgeTypeId, LabelId, PropertyKeyId, Value, VertexId,
};

use crate::dump::{Dump, Properties};
use crate::indexed;

/// Units of a thread that are alive at most.
pub const KEEP: i64 = 40;
/// Transactions after which a thread makes new names.
pub const NAMES: i64 = 25;

/// Numbers of the schema and of the fixed vertices.
#[derive(Debug)]
pub struct Schema {
    id: PropertyKeyId,
    touch: PropertyKeyId,
    last: PropertyKeyId,
    time: PropertyKeyId,
    unit: LabelId,
    old: LabelId,
    simple: EdgeTypeId,
    multi: EdgeTypeId,
    timed: EdgeTypeId,
    shared: VertexId,
    hubs: Vec<VertexId>,
}

impl Schema {
    /// Makes or finds everything for `threads` threads.
    ///
    /// # Errors
    /// Of the engine.
    pub fn new(db: &Engine, threads: usize) -> Result<Self, Error> {
        let time = db.property_key("time")?;
        let root = db.label("Root")?;
        let last = db.property_key("last")?;
        let mut schema = Self {
            id: db.property_key("id")?,
            touch: db.property_key("touch")?,
            last,
            time,
            unit: db.label("Unit")?,
            old: db.label("Old")?,
            simple: db.edge_type("SIMPLE", EdgeTypeOptions::simple())?,
            multi: db.edge_type("MULTI", EdgeTypeOptions::general())?,
            timed: db.edge_type("TIMED", EdgeTypeOptions::newest_first(time))?,
            shared: VertexId::from_raw(0),
            hubs: Vec::new(),
        };
        indexed::make(db, schema.unit, schema.multi, schema.id)?;
        let mut txn = db.begin()?;
        let mut roots = txn.scan(Some(root))?;
        if roots.is_empty() {
            for _ in 0..=threads {
                let v = txn.create_vertex(&[root])?;
                txn.set_vertex_property(v, last, Value::Int(0))?;
                roots.push(v);
            }
            txn.commit()?;
        }
        assert_eq!(roots.len(), threads + 1, "the first transaction is whole");
        schema.shared = roots[0];
        schema.hubs = roots[1..].to_vec();
        Ok(schema)
    }

    fn unit_of(&self, txn: &Transaction<'_>, t: usize, n: i64) -> Result<Option<VertexId>, Error> {
        for e in txn.edges(self.hubs[t], self.simple, Direction::Out)? {
            if txn.vertex_property(e.dst, self.id)? == Value::Int(id(t, n)) {
                return Ok(Some(e.dst));
            }
        }
        Ok(None)
    }

    fn edge_to(
        &self,
        txn: &Transaction<'_>,
        unit: VertexId,
        to: VertexId,
    ) -> Result<Option<EdgeId>, Error> {
        Ok(txn.edges(unit, self.multi, Direction::Out)?.find(|e| e.dst == to))
    }

    /// Runs transaction `n` of thread `t`.
    ///
    /// # Errors
    /// Of the engine, conflicts among them.
    pub fn run(&self, db: &Engine, t: usize, n: i64) -> Result<(), Error> {
        let label = db.label(&group("G", t, n))?;
        let key = db.property_key(&group("k", t, n))?;
        match (t, n % 10) {
            (0, 3 | 7) => indexed::swap(db, self.unit, [self.touch, self.id], true)?,
            (0, 5 | 9) => indexed::swap(db, self.unit, [self.touch, self.id], false)?,
            _ => {}
        }
        let mut txn = db.begin()?;
        let hub = self.hubs[t];
        let unit = txn.create_vertex(&[self.unit, label])?;
        txn.set_vertex_property(unit, self.id, Value::Int(id(t, n)))?;
        txn.set_vertex_property(unit, key, Value::from(format!("{t} {n}").as_str()))?;
        txn.upsert_edge(self.simple, hub, unit)?;
        txn.create_edge(self.multi, unit, hub, &[(self.id, Value::Int(id(t, n)))])?;
        txn.create_edge(self.timed, hub, unit, &[(self.time, Value::Int(n))])?;
        txn.create_edge(self.multi, unit, self.shared, &[(self.id, Value::Int(-id(t, n)))])?;
        if let Some(before) = self.unit_of(&txn, t, n - 1)? {
            txn.set_vertex_property(before, self.touch, Value::Int(n))?;
            if let Some(e) = self.edge_to(&txn, before, hub)? {
                txn.set_edge_property(e, self.touch, Value::Int(n))?;
            }
        }
        if let Some(before) = self.unit_of(&txn, t, n - 2)? {
            txn.add_label(before, self.old)?;
            if let Some(e) = self.edge_to(&txn, before, self.shared)? {
                txn.delete_edge(e)?;
            }
        }
        if let Some(gone) = self.unit_of(&txn, t, n - KEEP)? {
            if n % 2 == 0 {
                for e in txn.edges(gone, self.multi, Direction::Out)? {
                    txn.delete_edge(e)?;
                }
                for e in txn.edges(gone, self.timed, Direction::In)? {
                    txn.delete_edge(e)?;
                }
                txn.remove_edge(self.simple, hub, gone)?;
                txn.delete_vertex(gone, false)?;
            } else {
                txn.delete_vertex(gone, true)?;
            }
        }
        txn.set_vertex_property(hub, self.last, Value::Int(n))?;
        txn.commit().map(|_| ())
    }

    /// The last transaction of each thread that is there.
    ///
    /// # Errors
    /// Of the engine.
    pub fn last(&self, db: &Engine) -> Result<Vec<i64>, Error> {
        let snapshot = db.snapshot()?;
        let reader = snapshot.reader();
        let last = |hub: &VertexId| match reader.vertex_property(*hub, self.last) {
            Value::Int(n) => n,
            _ => -1,
        };
        Ok(self.hubs.iter().map(last).collect())
    }
}

/// What identifies transaction `n` of thread `t`.
fn id(t: usize, n: i64) -> i64 {
    (t as i64 + 1) * 1_000_000_000 + n
}

fn group(prefix: &str, t: usize, n: i64) -> String {
    format!("{prefix}{t}_{}", n / NAMES)
}

fn int(n: i64) -> String {
    format!("{:?}", Value::Int(n))
}

/// A unit as it should look: labels, properties, and its edges as type and properties.
type Unit = (Vec<String>, Properties, Vec<(String, Properties)>);

fn expected_unit(t: usize, n: i64, last: i64) -> Unit {
    let of = |pairs: &[(&str, i64)]| -> Properties {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), int(*v))).collect()
    };
    let mut labels = vec!["Unit".to_owned(), group("G", t, n)];
    let mut values = of(&[("id", id(t, n))]);
    values.insert(group("k", t, n), format!("{:?}", Value::from(format!("{t} {n}").as_str())));
    let mut to_hub = of(&[("id", id(t, n))]);
    if last > n {
        values.extend(of(&[("touch", n + 1)]));
        to_hub.extend(of(&[("touch", n + 1)]));
    }
    let simple = ("SIMPLE".to_owned(), Properties::new());
    let mut edges = vec![("MULTI".to_owned(), to_hub), simple];
    edges.push(("TIMED".to_owned(), of(&[("time", n)])));
    if last > n + 1 {
        labels.push("Old".to_owned());
    } else {
        edges.push(("MULTI".to_owned(), of(&[("id", -id(t, n))])));
    }
    labels.sort();
    edges.sort();
    (labels, values, edges)
}

/// Checks that the content is what `threads` threads leave after whole transactions; returns how
/// many each.
///
/// # Errors
/// Says what is missing, too much, or there by half.
pub fn verify(db: &Engine, threads: usize) -> Result<Vec<i64>, String> {
    indexed::verify(db)?;
    verify_past(db, threads)?;
    verify_dump(&Dump::of(db)?, threads)
}

/// Every retained timestamp shows what some of the transactions left, whole, later ones no fewer of
/// them.
fn verify_past(db: &Engine, threads: usize) -> Result<(), String> {
    let Some((oldest, newest)) = db.retained() else { return Ok(()) };
    let text = |e: Error| e.to_string();
    let mut before = vec![0; threads];
    for ts in (oldest.get()..=newest.get()).map(CommitTs::from_raw) {
        let at = |e: String| format!("at {ts} of {oldest} to {newest}: {e}");
        let snapshot = db.snapshot_at(ts).map_err(text).map_err(at)?;
        let done = verify_dump(&Dump::at(db, &snapshot)?, threads).map_err(at)?;
        if done.iter().zip(&before).any(|(now, before)| now < before) {
            return Err(at(format!("{done:?} after {before:?}")));
        }
        before = done;
    }
    Ok(())
}

/// The change stream has every commit that is retained, in order. Not so in a restored backup: it
/// has the log it came with.
///
/// # Errors
/// Says what is missing.
pub fn verify_stream(db: &Engine) -> Result<(), String> {
    let Some((oldest, newest)) = db.retained() else { return Ok(()) };
    let text = |e: Error| e.to_string();
    let mut last = oldest.get();
    for commit in db.changes_since(oldest).map_err(text)? {
        let ts = commit.map_err(text)?.ts.get();
        if ts != last + 1 {
            return Err(format!("the stream has {ts} after {last}"));
        }
        last = ts;
    }
    if last == newest.get() { Ok(()) } else { Err(format!("the stream ends at {last}")) }
}

fn verify_dump(dump: &Dump, threads: usize) -> Result<Vec<i64>, String> {
    let label = |set: &[String], name: &str| set.iter().any(|l| l == name);
    let roots: Vec<_> = dump.vertices.iter().filter(|(_, (l, _))| label(l, "Root")).collect();
    if roots.is_empty() {
        let empty = dump.vertices.is_empty() && dump.edges.is_empty();
        return if empty { Ok(vec![0; threads]) } else { Err("units without roots".into()) };
    }
    if roots.len() != threads + 1 {
        return Err(format!("{} root vertices", roots.len()));
    }
    let last = |v: &Properties| (0..i64::MAX).find(|n| v.get("last") == Some(&int(*n)));
    let mut done = Vec::new();
    for (_, (_, values)) in &roots[1..] {
        if values.len() != 1 {
            return Err(format!("a hub has the properties {values:?}"));
        }
        done.push(last(values).ok_or("a hub has no count")?);
    }
    let mut edges: BTreeMap<u64, Vec<(String, Properties)>> = BTreeMap::new();
    let roots: Vec<u64> = roots.iter().map(|(v, _)| v.get()).collect();
    for ((ty, src, dst, _), values) in &dump.edges {
        let (root, unit) = if roots.contains(src) { (*src, *dst) } else { (*dst, *src) };
        let id = values.get("id").is_some_and(|i| i.contains('-'));
        if roots.contains(&unit) || (id != (root == roots[0])) {
            return Err(format!("edge {ty} {src} -> {dst} leads where none should"));
        }
        edges.entry(unit).or_default().push((ty.clone(), values.clone()));
    }
    let mut wanted: BTreeMap<String, Unit> = BTreeMap::new();
    for (t, last) in done.iter().enumerate() {
        for n in (last - KEEP + 1).max(1)..=*last {
            wanted.insert(int(id(t, n)), expected_unit(t, n, *last));
        }
    }
    for (v, (labels, values)) in &dump.vertices {
        if roots.contains(&v.get()) {
            continue;
        }
        let mut labels = labels.clone();
        labels.sort();
        let mut own = edges.remove(&v.get()).unwrap_or_default();
        own.sort();
        let found: Unit = (labels, values.clone(), own);
        let wanted = values.get("id").and_then(|id| wanted.remove(id));
        if wanted.as_ref() != Some(&found) {
            return Err(format!("after {done:?}: vertex {v} is {found:?}, not {wanted:?}"));
        }
    }
    if !wanted.is_empty() || !edges.is_empty() {
        return Err(format!("after {done:?}: missing {wanted:?}, edges of nothing {edges:?}"));
    }
    Ok(done)
}
