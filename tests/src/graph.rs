//! Anomalies as cycles of dependencies (Adya), found from what transactions read and wrote.
//!
//! ```text
//!  ww  overwrote        wr  read what the other wrote        rw  read what the other overwrote
//!  rt  ended before the other began
//!
//!  G0       cycle of ww, rt              G1c  of ww, wr, rt
//!  GSingle  no two rw next to each other: forbidden under snapshot isolation
//!  G2       any cycle: forbidden under serializability
//! ```
//!
//! Version orders come from the lists read, not from the engine's timestamps; only whether a
//! removed member was not yet or no longer there is told by them.

use std::collections::{HashMap, HashSet};

use crate::history::{Anomaly, Kind, Op, Set, Txn};

/// Kind of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dep {
    Ww,
    Wr,
    Rw,
    Rt,
}

/// Strongest anomalies to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Everything but `G2`.
    Snapshot,
    /// Everything.
    Serializable,
}

/// Counts of dependencies found, so that a test can see that it tested something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// Overwrites.
    pub ww: usize,
    /// Reads of writes.
    pub wr: usize,
    /// Anti-dependencies.
    pub rw: usize,
}

struct Builder<'h> {
    history: &'h [Txn],
    edges: Vec<(usize, usize, Dep)>,
}

impl Builder<'_> {
    /// Only committed transactions take part.
    fn add(&mut self, from: usize, to: usize, dep: Dep) {
        let committed = |i: usize| self.history[i].commit_ts.is_some();
        if from != to && committed(from) && committed(to) {
            self.edges.push((from, to, dep));
        }
    }

    fn lists(&mut self) -> Result<(), Anomaly> {
        // Of each id: transaction, list, and whether it is its last there.
        let mut writers: HashMap<i64, (usize, u64, bool)> = HashMap::new();
        let mut longest: HashMap<u64, Vec<i64>> = HashMap::new();
        // Reads without the reader's own appends.
        let mut reads: Vec<(usize, u64, Vec<i64>)> = Vec::new();
        for (i, txn) in self.history.iter().enumerate() {
            let mut own: HashMap<u64, Vec<i64>> = HashMap::new();
            for op in &txn.ops {
                match op {
                    Op::Append { key, id } => {
                        let mine = own.entry(*key).or_default();
                        if let Some(before) = mine.last().and_then(|l| writers.get_mut(l)) {
                            before.2 = false;
                        }
                        mine.push(*id);
                        writers.insert(*id, (i, *key, true));
                    }
                    Op::ReadList { key, ids } => {
                        let mine = own.get(key).map_or(&[][..], |m| m);
                        let Some(others) = ids.strip_suffix(mine) else {
                            let text = format!("{mine:?} not at the end of {ids:?}: {txn:?}");
                            return Anomaly::new(Kind::OwnWrites, text);
                        };
                        reads.push((i, *key, others.to_vec()));
                        let known = longest.entry(*key).or_default();
                        if txn.commit_ts.is_some() && ids.len() > known.len() {
                            *known = ids.clone();
                        }
                    }
                    _ => {}
                }
            }
        }
        for (i, key, ids) in &reads {
            let reader = || format!("list {key} {ids:?} read by {:?}", self.history[*i]);
            if !longest[key].starts_with(ids) {
                let text = format!("no prefix of {:?}: {}", longest[key], reader());
                return Anomaly::new(Kind::LostUpdate, text);
            }
            for id in ids {
                match writers.get(id) {
                    Some((w, k, _)) if k == key && self.history[*w].commit_ts.is_some() => {}
                    _ => return Anomaly::new(Kind::G1a, format!("{id} in {}", reader())),
                }
            }
            if ids.last().is_some_and(|last| !writers[last].2) {
                return Anomaly::new(Kind::G1b, reader());
            }
        }
        for (id, (w, key, _)) in &writers {
            let there = longest.get(key).is_some_and(|l| l.contains(id));
            if self.history[*w].commit_ts.is_some() && !there {
                let text = format!("append {id} to list {key} by {:?}", self.history[*w]);
                return Anomaly::new(Kind::LostUpdate, text);
            }
        }
        for ids in longest.values() {
            for pair in ids.windows(2) {
                self.add(writers[&pair[0]].0, writers[&pair[1]].0, Dep::Ww);
            }
        }
        for (i, key, ids) in reads {
            if let Some(last) = ids.last() {
                self.add(writers[last].0, i, Dep::Wr);
            }
            if let Some(next) = longest[&key].get(ids.len()) {
                self.add(i, writers[next].0, Dep::Rw);
            }
        }
        Ok(())
    }

    fn sets(&mut self) -> Result<(), Anomaly> {
        let mut inserts: HashMap<u64, usize> = HashMap::new();
        let mut removes: HashMap<u64, usize> = HashMap::new();
        let mut of_set: HashMap<Set, Vec<u64>> = HashMap::new();
        let committed: Vec<bool> = self.history.iter().map(|t| t.commit_ts.is_some()).collect();
        for (i, txn) in self.history.iter().enumerate().filter(|(i, _)| committed[*i]) {
            for op in &txn.ops {
                match op {
                    Op::Insert { item, sets } => {
                        inserts.insert(*item, i);
                        sets.iter().for_each(|s| of_set.entry(*s).or_default().push(*item));
                    }
                    Op::Remove { item } => {
                        let other = removes.insert(*item, i);
                        if let Some(other) = other.filter(|o| *o != i) {
                            let both = (&self.history[other], txn);
                            let text = format!("{item} was removed twice: {both:?}");
                            return Anomaly::new(Kind::LostUpdate, text);
                        }
                    }
                    _ => {}
                }
            }
        }
        for (item, d) in &removes {
            match inserts.get(item) {
                Some(c) => self.add(*c, *d, Dep::Ww),
                None => return Anomaly::new(Kind::G1a, format!("{item} removed, never made")),
            }
        }
        for (i, txn) in self.history.iter().enumerate() {
            let (mut made, mut gone) = (HashMap::new(), HashSet::new());
            for op in &txn.ops {
                match op {
                    Op::Insert { item, sets } => drop(made.insert(*item, sets.clone())),
                    Op::Remove { item } => _ = gone.insert(*item),
                    Op::ReadSet { set, members } => {
                        let members: HashSet<u64> = members.iter().copied().collect();
                        let missing = made.iter().find(|(item, sets)| {
                            sets.contains(set) && !gone.contains(*item) && !members.contains(item)
                        });
                        if missing.is_some() || gone.iter().any(|g| members.contains(g)) {
                            return Anomaly::new(Kind::OwnWrites, format!("{set:?} in {txn:?}"));
                        }
                        let others = members.iter().filter(|m| !made.contains_key(*m));
                        if let Some(m) = others.clone().find(|m| !inserts.contains_key(m)) {
                            return Anomaly::new(Kind::G1a, format!("{m} in {set:?} of {txn:?}"));
                        }
                        for item in of_set.get(set).into_iter().flatten() {
                            if gone.contains(item) || made.contains_key(item) {
                                continue;
                            }
                            let (c, d) = (inserts[item], removes.get(item).copied());
                            match (members.contains(item), d) {
                                (true, Some(d)) if c == d => {
                                    let text = format!("{item} in {set:?} of {txn:?}");
                                    return Anomaly::new(Kind::G1b, text);
                                }
                                // Nobody else can tell that it ever was.
                                (false, Some(d)) if c == d => {}
                                (true, _) => {
                                    self.add(c, i, Dep::Wr);
                                    d.into_iter().for_each(|d| self.add(i, d, Dep::Rw));
                                }
                                (false, Some(d))
                                    if self.history[d].commit_ts <= Some(txn.read_ts) =>
                                {
                                    self.add(d, i, Dep::Wr);
                                }
                                (false, _) => self.add(i, c, Dep::Rw),
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Real time: one node for each end, in order, from which later beginnings are reached.
    fn real_time(&mut self) -> usize {
        let n = self.history.len();
        let committed = |t: &&(usize, &Txn)| t.1.commit_ts.is_some();
        let txns: Vec<(usize, &Txn)> = self.history.iter().enumerate().collect();
        let mut ends: Vec<(u64, usize)> =
            txns.iter().filter(committed).map(|(i, t)| (t.end, *i)).collect();
        ends.sort_unstable();
        for (k, (_, i)) in ends.iter().enumerate() {
            self.edges.push((*i, n + k, Dep::Rt));
            if k > 0 {
                self.edges.push((n + k - 1, n + k, Dep::Rt));
            }
        }
        for (i, txn) in txns.iter().filter(committed) {
            let earlier = ends.partition_point(|(end, _)| *end < txn.begin);
            if earlier > 0 {
                self.edges.push((n + earlier - 1, *i, Dep::Rt));
            }
        }
        n + ends.len()
    }
}

/// Finds a cycle.
fn cycle(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Option<Vec<usize>> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    edges.for_each(|(a, b)| next[a].push(b));
    // 0 new, 1 on the path, 2 done.
    let mut state = vec![0u8; nodes];
    for start in 0..nodes {
        let mut path: Vec<(usize, usize)> = Vec::new();
        if state[start] == 0 {
            state[start] = 1;
            path.push((start, 0));
        }
        while let Some((node, at)) = path.last_mut() {
            let Some(to) = next[*node].get(*at).copied() else {
                state[*node] = 2;
                path.pop();
                continue;
            };
            *at += 1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    path.push((to, 0));
                }
                1 => {
                    let from = path.iter().position(|(n, _)| *n == to)?;
                    return Some(path[from..].iter().map(|(n, _)| *n).collect());
                }
                _ => {}
            }
        }
    }
    None
}

/// Looks for every anomaly that `level` forbids. The last transactions of the history must have
/// read every list, so that lost appends show.
///
/// # Errors
/// The first anomaly found, the worst kind first.
pub fn check(history: &[Txn], level: Level) -> Result<Found, Anomaly> {
    let mut builder = Builder { history, edges: Vec::new() };
    builder.lists()?;
    builder.sets()?;
    let nodes = builder.real_time();
    let edges = builder.edges;
    let describe = |kind, nodes: Vec<usize>| {
        let txns = nodes.iter().filter_map(|n| history.get(*n));
        let lines: Vec<String> = txns.map(|t| format!("{t:?}")).collect();
        Anomaly::new(kind, format!("cycle of\n  {}", lines.join("\n  ")))
    };
    let of = |deps: &[Dep]| {
        let kept: Vec<_> = edges.iter().filter(|e| deps.contains(&e.2)).collect();
        cycle(nodes, kept.into_iter().map(|e| (e.0, e.1)))
    };
    if let Some(found) = of(&[Dep::Ww, Dep::Rt]) {
        return describe(Kind::G0, found);
    }
    if let Some(found) = of(&[Dep::Ww, Dep::Wr, Dep::Rt]) {
        return describe(Kind::G1c, found);
    }
    // Two layers: a node is reached by an anti-dependency in layer 1, which only other dependencies
    // leave, so that two anti-dependencies never meet.
    let layered = edges.iter().flat_map(|(a, b, dep)| match dep {
        Dep::Rw => vec![(2 * a, 2 * b + 1)],
        _ => vec![(2 * a, 2 * b), (2 * a + 1, 2 * b)],
    });
    if let Some(found) = cycle(2 * nodes, layered) {
        return describe(Kind::GSingle, found.into_iter().map(|n| n / 2).collect());
    }
    if level == Level::Serializable
        && let Some(found) = of(&[Dep::Ww, Dep::Wr, Dep::Rw, Dep::Rt])
    {
        return describe(Kind::G2, found);
    }
    let count = |dep| edges.iter().filter(|e| e.2 == dep).count();
    Ok(Found { ww: count(Dep::Ww), wr: count(Dep::Wr), rw: count(Dep::Rw) })
}
