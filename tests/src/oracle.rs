//! The other checker: the engine says at which timestamp each transaction read and committed, so a
//! plain model run in that order must give every read, for predicates and repeated writes as well.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::graph::Level;
use crate::history::{Anomaly, Kind, Op, Set, Txn};

#[derive(Debug, Default)]
struct State {
    lists: HashMap<u64, Vec<i64>>,
    sets: HashMap<Set, BTreeSet<u64>>,
    items: HashMap<u64, Vec<Set>>,
    simple: HashSet<(u64, u64)>,
    /// Timestamp of the last commit that wrote an object.
    written: HashMap<Object, u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Object {
    List(u64),
    Item(u64),
    Simple((u64, u64)),
}

fn objects(txn: &Txn) -> impl Iterator<Item = Object> {
    txn.ops.iter().filter_map(|op| match op {
        Op::Append { key, .. } => Some(Object::List(*key)),
        Op::Insert { item, .. } | Op::Remove { item } => Some(Object::Item(*item)),
        Op::PutSimple { edge, .. } => Some(Object::Simple(*edge)),
        _ => None,
    })
}

impl State {
    /// Whether every read of `txn` gives what it did, if it read now.
    fn explains(&self, txn: &Txn) -> Result<(), String> {
        let mut lists: HashMap<u64, Vec<i64>> = HashMap::new();
        let mut made: HashMap<u64, &[Set]> = HashMap::new();
        let mut gone: HashSet<u64> = HashSet::new();
        let mut simple: HashMap<(u64, u64), bool> = HashMap::new();
        for op in &txn.ops {
            match op {
                Op::Append { key, id } => lists.entry(*key).or_default().push(*id),
                Op::Insert { item, sets } => drop(made.insert(*item, sets)),
                Op::Remove { item } => _ = gone.insert(*item),
                Op::PutSimple { edge, there } => _ = simple.insert(*edge, *there),
                Op::ReadList { key, ids } => {
                    let mut wanted = self.lists.get(key).cloned().unwrap_or_default();
                    wanted.extend(lists.get(key).into_iter().flatten());
                    if wanted != *ids {
                        return Err(format!("list {key} was {wanted:?}, read {ids:?}"));
                    }
                }
                Op::ReadSet { set, members } => {
                    let mut wanted = self.sets.get(set).cloned().unwrap_or_default();
                    wanted.extend(made.iter().filter(|(_, s)| s.contains(set)).map(|(i, _)| *i));
                    wanted.retain(|i| !gone.contains(i));
                    if !wanted.iter().eq(members) {
                        return Err(format!("{set:?} was {wanted:?}, read {members:?}"));
                    }
                }
                Op::ReadSimple { edge, there } => {
                    let own = simple.get(edge).copied();
                    if own.unwrap_or_else(|| self.simple.contains(edge)) != *there {
                        return Err(format!("simple edge {edge:?} was not {there}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Applies a commit; returns how many edges it adds and removes.
    fn apply(&mut self, txn: &Txn, ts: u64) -> (u64, u64) {
        let mut simple: BTreeMap<(u64, u64), bool> = BTreeMap::new();
        let (mut added, mut removed) = (0, 0);
        let is_edge = |sets: &[Set]| u64::from(sets.first().is_some_and(|s| *s != Set::Label));
        let mut own: HashSet<u64> = HashSet::new();
        for op in &txn.ops {
            match op {
                Op::Append { key, id } => self.lists.entry(*key).or_default().push(*id),
                Op::Insert { item, sets } => {
                    for set in sets {
                        self.sets.entry(*set).or_default().insert(*item);
                    }
                    added += is_edge(sets);
                    own.insert(*item);
                    self.items.insert(*item, sets.clone());
                }
                Op::Remove { item } => {
                    let sets = self.items.remove(item).unwrap_or_default();
                    for set in &sets {
                        self.sets.entry(*set).or_default().remove(item);
                    }
                    match own.contains(item) {
                        true => added -= is_edge(&sets),
                        false => removed += is_edge(&sets),
                    }
                }
                Op::PutSimple { edge, there } => _ = simple.insert(*edge, *there),
                Op::ReadList { .. } | Op::ReadSet { .. } | Op::ReadSimple { .. } => {}
            }
        }
        for (edge, there) in simple {
            // A write that changes nothing makes no version.
            let changed = match there {
                true => self.simple.insert(edge),
                false => self.simple.remove(&edge),
            };
            if changed {
                self.written.insert(Object::Simple(edge), ts);
            }
            added += u64::from(changed && there);
            removed += u64::from(changed && !there);
        }
        let others = objects(txn).filter(|o| !matches!(o, Object::Simple(_)));
        self.written.extend(others.map(|o| (o, ts)));
        (added, removed)
    }
}

/// Checks every transaction, aborted ones too, against the model run in timestamp order.
///
/// # Errors
/// The first transaction that does not fit.
pub fn check(history: &[Txn], level: Level) -> Result<(), Anomaly> {
    // At each timestamp: its commit first, then those who read there.
    let mut order: Vec<(u64, u8, &Txn)> = Vec::new();
    for txn in history {
        order.push((txn.read_ts, 1, txn));
        if let Some(ts) = txn.commit_ts.filter(|ts| *ts != txn.read_ts) {
            order.push((ts, 0, txn));
        }
    }
    order.sort_by_key(|(ts, step, _)| (*ts, *step));
    let mut state = State::default();
    let mut last = 0;
    for (ts, step, txn) in order {
        let wrong =
            |text: String| Anomaly::new(Kind::Timestamps, format!("{text} at {ts}: {txn:?}"));
        if step == 1 {
            if let Err(e) = state.explains(txn) {
                return wrong(format!("snapshot: {e}"));
            }
            continue;
        }
        if ts <= last || ts <= txn.read_ts {
            return wrong("timestamps are not unique and ascending".into());
        }
        last = ts;
        if let Some(o) =
            objects(txn).find(|o| state.written.get(o).is_some_and(|w| *w > txn.read_ts))
        {
            return wrong(format!("{o:?} had a newer version, but was written"));
        }
        if level == Level::Serializable
            && let Err(e) = state.explains(txn)
        {
            return wrong(format!("not serializable: {e}"));
        }
        let counts = state.apply(txn, ts);
        if counts != txn.counts {
            return wrong(format!("counts should be {counts:?}"));
        }
    }
    Ok(())
}
