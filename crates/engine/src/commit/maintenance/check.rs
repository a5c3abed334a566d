//! Validation under the latches of a commit: constraints, and reads of serializable transactions.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crossbeam_epoch::Guard;
use foldhash::fast::RandomState;
use smallvec::SmallVec;
use telar_graph::Value;

use super::{Maintenance, edges_concerned, vertices_concerned};
use crate::adjacency::vertex_id;
use crate::commit::write_set::{EdgeOp, Read, edge_property_key, vertex_property_key};
use crate::error::{Error, Object, Violation};
use crate::index::change::Change;
use crate::index::key::{Item, SortKey};
use crate::index::read::IndexRead;
use crate::index::source::{NOW, Objects, Source};
use crate::index::{Definition, Entries, Index, IndexTarget, Tree, violation};
use crate::shared::Shared;

/// Checks every constraint a commit concerns. Conflicts that come from commits this transaction
/// could not see are retryable; what it could see is a violation.
pub(super) fn constraints(
    maintenance: &Maintenance<'_>,
    read_ts: u64,
    guard: &Guard,
) -> Result<(), Error> {
    for (at, index) in maintenance.list.iter().enumerate() {
        // One that is not loaded is not concerned.
        let Some(kind) = index.definition.kind.constraint().filter(|_| index.is_loaded()) else {
            continue;
        };
        if kind.checks_values() {
            values(maintenance, index, read_ts, guard)?;
        }
        match index.entries() {
            Entries::None => {}
            Entries::Vertices(tree) => {
                unique(maintenance, at, tree, |item| [item[0]], read_ts, guard)?;
            }
            Entries::Edges(tree) => {
                unique(maintenance, at, tree, |item| item, read_ts, guard)?;
            }
        }
    }
    Ok(())
}

fn unique<const N: usize>(
    maintenance: &Maintenance<'_>,
    at: usize,
    tree: &Tree<N>,
    item_of: impl Fn(Item<3>) -> Item<N>,
    read_ts: u64,
    guard: &Guard,
) -> Result<(), Error> {
    let index = &maintenance.list[at];
    let objects = index.objects(maintenance.shared, guard);
    let (_, changes) = maintenance.changes_of(at);
    // Made when somebody else is found to have a key that is given out.
    let mut old_keys: Option<HashMap<Item<N>, Option<&SortKey>, RandomState>> = None;
    for change in changes {
        let Some(key) = change.after() else { continue };
        let own = item_of(change.item);
        // Seldom more than the one that is to be replaced.
        let mut others: SmallVec<[Item<N>; 4]> = SmallVec::new();
        let note = |item: Item<N>| {
            if item != own {
                others.push(item);
            }
        };
        index.for_key(tree, key, guard, note);
        for other in others {
            if !objects.has_key(key, &other, NOW) {
                continue;
            }
            let old_keys = old_keys.get_or_insert_with(|| {
                changes.iter().map(|c| (item_of(c.item), c.before())).collect()
            });
            if old_keys.get(&other) == Some(&Some(key)) {
                continue;
            }
            if !objects.has_key(key, &other, read_ts) {
                return Err(Error::Conflict { object: Object::UniqueKey(index.id) });
            }
            return Err(duplicate(maintenance, &objects, change, objects.object(&other)));
        }
    }
    if let Some((first, second)) = maintenance.twice
        && maintenance.changes[second].place() == at
    {
        let existing = objects.object(&item_of(maintenance.changes[first].item));
        return Err(duplicate(maintenance, &objects, &maintenance.changes[second], existing));
    }
    Ok(())
}

impl Index {
    /// Whether another object has this key now that had not at `read_ts`.
    pub(crate) fn is_taken_since(
        &self,
        shared: &Shared,
        key: &SortKey,
        own: Item<3>,
        read_ts: u64,
        guard: &Guard,
    ) -> bool {
        let objects = self.objects(shared, guard);
        let mut taken = false;
        match self.entries() {
            Entries::None => {}
            Entries::Vertices(tree) => self.for_key(tree, key, guard, |item| {
                taken |= item != [own[0]]
                    && objects.has_key(key, &item, NOW)
                    && !objects.has_key(key, &item, read_ts);
            }),
            Entries::Edges(tree) => self.for_key(tree, key, guard, |item| {
                taken |= item != own
                    && objects.has_key(key, &item, NOW)
                    && !objects.has_key(key, &item, read_ts);
            }),
        }
        taken
    }
}

fn duplicate(
    maintenance: &Maintenance<'_>,
    objects: &Objects<'_>,
    change: &Change,
    existing: Object,
) -> Error {
    let definition = objects.definition;
    let after = After { maintenance, source: objects.source, definition };
    let key = definition.properties.iter().map(|k| after.value(change.item, *k)).collect();
    let object = objects.object(&match definition.target {
        IndexTarget::Vertices(_) => [change.item[0], 0, 0],
        IndexTarget::Edges(_) => change.item,
    });
    Violation::Duplicate { key, object, existing }.of(&definition.name)
}

/// Values as they are after the commit.
struct After<'a> {
    maintenance: &'a Maintenance<'a>,
    source: Source<'a>,
    definition: &'a Definition,
}

impl After<'_> {
    fn value(&self, item: Item<3>, key: telar_graph::PropertyKeyId) -> Value {
        let writes = self.maintenance.writes;
        match self.definition.target {
            IndexTarget::Vertices(_) => writes
                .vertex_properties
                .get(vertex_property_key(item[0], key))
                .map_or_else(|| self.source.vertex_value(item[0], key, NOW), |w| w.value.clone()),
            IndexTarget::Edges(ty) => writes
                .edge_properties
                .get(edge_property_key(ty, item[0], key))
                .map_or_else(|| self.source.edge_value(ty, item[0], key, NOW), |w| w.value.clone()),
        }
    }
}

/// Existence and type constraints.
fn values(
    maintenance: &Maintenance<'_>,
    index: &Index,
    read_ts: u64,
    guard: &Guard,
) -> Result<(), Error> {
    let source = Source::new(maintenance.shared, guard);
    let definition = &index.definition;
    let writes = maintenance.writes;
    let after = After { maintenance, source, definition };
    let found = match definition.target {
        IndexTarget::Vertices(label) => vertices_concerned(index, writes).find_map(|v| {
            let written = writes.states.get(v.into());
            let state = written.map_or_else(|| source.states.get(v, NOW, guard), |w| w.state);
            if !source.has_label(&index.holders, label, state) {
                return None;
            }
            let item = [v, 0, 0];
            let found =
                violation(definition, || Object::Vertex(vertex_id(v)), |k| after.value(item, k))?;
            // Whether the half that is not this transaction's own was there when it began.
            let fresh = source.states.get(v, NOW, guard) != source.states.get(v, read_ts, guard)
                || definition.properties.iter().any(|k| {
                    source.vertex_value(v, *k, NOW) != source.vertex_value(v, *k, read_ts)
                });
            Some((found, fresh))
        }),
        IndexTarget::Edges(ty) => {
            edges_concerned(index, ty, writes, source).find_map(|(item, op)| {
                if op == Some(EdgeOp::Delete) {
                    return None;
                }
                let object = || Object::Edge(source.edge_id(ty, item));
                let found = violation(definition, object, |k| after.value(item, k))?;
                let fresh = definition.properties.iter().any(|k| {
                    source.edge_value(ty, item[0], *k, NOW)
                        != source.edge_value(ty, item[0], *k, read_ts)
                });
                Some((found, fresh))
            })
        }
    };
    match found {
        None => Ok(()),
        Some((found, true)) => Err(Error::Conflict { object: found.object() }),
        Some((violation, false)) => Err(violation.of(&definition.name)),
    }
}

/// Checks that what a serializable transaction read from indexes is still so.
pub(super) fn reads(
    list: &[Arc<Index>],
    shared: &Shared,
    reads: &[Read],
    read_ts: u64,
    guard: &Guard,
) -> Result<(), Error> {
    for read in reads {
        let Read::Index(read) = read else { continue };
        // Dropped meanwhile: nobody latches for it any more.
        let index = list.iter().find(|i| i.id == read.index);
        let unchanged = index.is_some_and(|index| match index.entries() {
            Entries::None => true,
            Entries::Vertices(tree) => is_unchanged(index, tree, read, shared, read_ts, guard),
            Entries::Edges(tree) => is_unchanged(index, tree, read, shared, read_ts, guard),
        });
        if !unchanged {
            return Err(Error::Conflict { object: Object::IndexRange(read.index) });
        }
    }
    Ok(())
}

/// Whether the same objects are in the range as when it was read. Everything that was or is there
/// has an entry: what was there at `read_ts` is kept for this transaction's own snapshot.
fn is_unchanged<const N: usize>(
    index: &Index,
    tree: &Tree<N>,
    read: &IndexRead,
    shared: &Shared,
    read_ts: u64,
    guard: &Guard,
) -> bool {
    let objects = index.objects(shared, guard);
    let same = |key: &SortKey, item: Item<N>| {
        objects.has_key(key, &item, read_ts) == objects.has_key(key, &item, NOW)
    };
    let mut unchanged = true;
    tree.for_range(&read.range.from, read.range.to.as_ref(), false, guard, |key, item| {
        unchanged = !read.range.passes(key) || same(key, item);
        if unchanged { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    unchanged
}
