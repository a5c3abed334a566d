//! Validation: first committer wins, under every latch the commit needs.
//!
//! A write conflicts if its key (edge, vertex state, property) was changed by a commit newer than
//! the transaction's read timestamp. A serializable transaction also conflicts if anything it read
//! was.

use std::sync::atomic::Ordering;

use crossbeam_epoch::Guard;
use smallvec::SmallVec;
use telar_graph::name::NameKind;
use telar_graph::{Direction, EdgeId, EdgeTypeId, PropertyKeyId};

use super::plan::{PlanInput, Target, edge_columns_changed, shorter};
use super::write_set::{EdgeOp, EdgePropertyWrite, EdgeWrite, Read};
use crate::adjacency::list::List;
use crate::adjacency::tail::DELTA_MAX;
use crate::adjacency::{AdjTable, Entry, ListKind, local_of, segment_of, vertex_id};
use crate::column::{Chunk, ColTable};
use crate::error::{Error, Object};

/// The read timestamp that sees everything applied.
const NOW: u64 = u64::MAX;

fn edge_id(w: &EdgeWrite) -> EdgeId {
    EdgeId { ty: w.ty, src: vertex_id(w.src), dst: vertex_id(w.dst), ordinal: w.ordinal }
}

/// Calls `f` with the target's list (or hub chunk), every entry visible, and the read timestamp
/// relative to it.
fn with_list<R>(
    target: &Target<'_>,
    read_ts: u64,
    guard: &Guard,
    f: impl FnOnce(&List<'_>, u32) -> R,
) -> R {
    let kind = target.table.kind;
    if let Some((_, chunk)) = target.chunk {
        let v = chunk.version(guard);
        return f(&v.list(DELTA_MAX, kind), v.delta(read_ts));
    }
    let v = target.segment.version(guard).expect("INVARIANT: the plan was verified");
    let list = v.list(target.local, DELTA_MAX, kind).expect("INVARIANT: the plan was verified");
    f(&list, v.delta(read_ts))
}

/// Where the lists of a commit are, and what is appended to them. Every latch is held.
pub(super) trait Places<'g> {
    /// Both lists of edge write number `i`.
    fn ends(&self, i: usize, write: &EdgeWrite, guard: &'g Guard) -> (Target<'g>, Target<'g>);

    /// The out list of the edge of edge property write number `i`.
    fn of_property(
        &self,
        input: &PlanInput<'g>,
        i: usize,
        write: &EdgePropertyWrite,
        guard: &'g Guard,
    ) -> Target<'g>;

    /// Says what edge write number `i` appends.
    fn append(&mut self, i: usize, appends: Appends);

    /// Fails if a list that must not have changed since `read_ts` has.
    fn check_lists(
        &self,
        input: &PlanInput<'g>,
        read_ts: u64,
        guard: &'g Guard,
    ) -> Result<(), Error>;
}

/// Validates everything and says what each edge write appends. Returns whether anything will
/// change. Runs with every latch held.
pub(super) fn validate<'g>(
    places: &mut impl Places<'g>,
    input: &PlanInput<'g>,
    read_ts: u64,
    guard: &'g Guard,
) -> Result<bool, Error> {
    let mut changes = validate_columns(places, input, read_ts, guard)?;
    for (i, w) in input.writes.edges.items().iter().enumerate() {
        input.stop.step()?;
        let (out, inward) = places.ends(i, w, guard);
        let appends = match w.op {
            EdgeOp::Nothing => None,
            EdgeOp::Create => {
                check_ends(w, input, read_ts, guard)?;
                if w.ordinal == 0 && unnumbered(&out, &inward, w, read_ts, guard) {
                    return Err(Error::Conflict { object: Object::Edge(edge_id(w)) });
                }
                Some(created(w, out.table.kind))
            }
            EdgeOp::Upsert => {
                check_ends(w, input, read_ts, guard)?;
                let exists = current(&out, &inward, w, read_ts, guard)?;
                (!exists).then(|| created(w, ListKind::Simple))
            }
            EdgeOp::Delete => deleted(&out, &inward, w, input, read_ts, guard)?,
        };
        if let Some(appends) = appends {
            places.append(i, appends);
            changes = true;
        }
    }
    places.check_lists(input, read_ts, guard)?;
    validate_reads(input, read_ts, guard)?;
    Ok(changes)
}

/// True if the edge without an ordinal between two vertices exists, or changed since `read_ts`: no
/// other can be made. Looks at the shorter of the two lists.
///
/// When the edge was made in its transaction there was none. One that is there now was added since
/// the snapshot, so lists that have not changed since are not searched.
#[inline]
fn unnumbered<'g>(
    out: &Target<'g>,
    inward: &Target<'g>,
    w: &EdgeWrite,
    read_ts: u64,
    guard: &'g Guard,
) -> bool {
    debug_assert_eq!((out.nbr, w.ordinal), (w.dst, 0));
    let shorter = shorter(out, inward, guard);
    shorter.changed_at_all(read_ts, guard)
        && with_list(shorter, read_ts, guard, |list, delta| {
            list.changed_since(delta, shorter.nbr, Some(0))
        })
}

/// What an edge write appends to its out list and its in list, and whether that is a delete.
pub(super) type Appends = ((Entry, bool), (Entry, bool));

pub(super) fn created(w: &EdgeWrite, kind: ListKind) -> Appends {
    let entry = |nbr| match kind {
        ListKind::Simple => Entry::simple(nbr),
        ListKind::Multi => Entry::multi(nbr, w.ordinal),
        ListKind::Timed => Entry::timed(nbr, w.ordinal, w.sort_key),
    };
    ((entry(w.dst), false), (entry(w.src), false))
}

/// Both ends must exist now. Whoever deletes a vertex holds the latches of all its lists, one of
/// which this commit holds.
#[inline]
fn check_ends(
    w: &EdgeWrite,
    input: &PlanInput<'_>,
    read_ts: u64,
    guard: &Guard,
) -> Result<(), Error> {
    for v in [w.src, w.dst] {
        let made_here = || input.writes.states.get(v.into()).is_some_and(|s| s.state != 0);
        if input.states.get(v, NOW, guard) == 0 && !made_here() {
            let object = Object::Vertex(vertex_id(v));
            let existed = input.states.get(v, read_ts, guard) != 0;
            return Err(if existed { Error::Conflict { object } } else { Error::NotFound(object) });
        }
    }
    Ok(())
}

/// Whether the edge of a simple type exists now; an error if it changed since `read_ts`. Looks at
/// the shorter of the two lists: both hold every edge.
#[inline]
fn current<'g>(
    out: &Target<'g>,
    inward: &Target<'g>,
    w: &EdgeWrite,
    read_ts: u64,
    guard: &'g Guard,
) -> Result<bool, Error> {
    let shorter = shorter(out, inward, guard);
    let (changed, found) = with_list(shorter, read_ts, guard, |list, delta| {
        let changed = list.changed_at_all(delta) && list.changed_since(delta, shorter.nbr, None);
        (changed, !changed && list.contains(shorter.nbr))
    });
    if changed {
        return Err(Error::Conflict { object: Object::Edge(edge_id(w)) });
    }
    Ok(found)
}

fn deleted(
    out: &Target<'_>,
    inward: &Target<'_>,
    w: &EdgeWrite,
    input: &PlanInput<'_>,
    read_ts: u64,
    guard: &Guard,
) -> Result<Option<Appends>, Error> {
    let ordinal = (out.table.kind != ListKind::Simple).then_some(w.ordinal);
    let position = |target: &Target<'_>| {
        with_list(target, read_ts, guard, |list, delta| {
            if list.changed_at_all(delta) && list.changed_since(delta, target.nbr, ordinal) {
                return Err(Error::Conflict { object: Object::Edge(edge_id(w)) });
            }
            Ok(match ordinal {
                None => list.find(target.nbr),
                Some(o) => list.find_ordinal(target.nbr, o),
            })
        })
    };
    let Some(in_out) = position(out)? else {
        return Ok(None);
    };
    if ordinal.is_some() {
        let ty = input.catalog.edge_type(w.ty)?;
        let place = ty.place(w.src, w.dst, w.ordinal, guard);
        if let Some(key) = edge_columns_changed(ty, place, read_ts, guard) {
            let object = Object::EdgeProperty(edge_id(w), key);
            return Err(Error::Conflict { object });
        }
    }
    let in_in = position(inward)?.expect("INVARIANT: both lists hold every edge");
    let delete = |position: usize| (Entry::simple(position as u32), true);
    Ok(Some((delete(in_out), delete(in_in))))
}

pub(crate) fn newest<C: Chunk + 'static>(table: &ColTable<C>, index: u32, guard: &Guard) -> u64 {
    table.segment(segment_of(index)).map_or(0, |s| s.newest_ts(local_of(index), guard))
}

/// Fails if a property of a vertex that is deleted was written after `read_ts`. Whoever writes one
/// holds the stripe of the vertex's state, as this commit does.
fn validate_deleted(input: &PlanInput<'_>, read_ts: u64, guard: &Guard) -> Result<(), Error> {
    let states = input.writes.states.items().iter();
    let deleted = states.filter(|w| w.state == 0 && !w.created);
    let mut deleted: SmallVec<[u32; 1]> = deleted.map(|w| w.vertex).collect();
    deleted.sort_unstable();
    for same in deleted.chunk_by(|a, b| segment_of(*a) == segment_of(*b)) {
        for (key, column) in input.catalog.vertex_columns() {
            input.stop.step()?;
            let Some(segment) = column.segment(segment_of(same[0])) else { continue };
            // A commit says when it wrote to a segment while it holds that stripe.
            if segment.last_write.load(Ordering::Relaxed) <= read_ts {
                continue;
            }
            let changed = |v: &&u32| segment.newest_ts(local_of(**v), guard) > read_ts;
            if let Some(v) = same.iter().find(changed) {
                let object = Object::VertexProperty(vertex_id(*v), key);
                return Err(Error::Conflict { object });
            }
        }
    }
    Ok(())
}

fn validate_columns<'g>(
    places: &impl Places<'g>,
    input: &PlanInput<'g>,
    read_ts: u64,
    guard: &'g Guard,
) -> Result<bool, Error> {
    let writes = input.writes;
    let conflict = |object| Err(Error::Conflict { object });
    for w in writes.states.items().iter().filter(|w| !w.created) {
        input.stop.step()?;
        if newest(input.states, w.vertex, guard) > read_ts {
            return conflict(Object::Vertex(vertex_id(w.vertex)));
        }
    }
    validate_deleted(input, read_ts, guard)?;
    for w in writes.vertex_properties.items() {
        input.stop.step()?;
        let made_here = || writes.states.get(w.vertex.into()).is_some_and(|s| s.state != 0);
        if input.states.get(w.vertex, NOW, guard) == 0 && !made_here() {
            return conflict(Object::Vertex(vertex_id(w.vertex)));
        }
        let column = input.catalog.vertex_column_for_write(w.key);
        if newest(column, w.vertex, guard) > read_ts {
            return conflict(Object::VertexProperty(vertex_id(w.vertex), w.key));
        }
    }
    for (i, w) in writes.edge_properties.items().iter().enumerate() {
        input.stop.step()?;
        let target = &places.of_property(input, i, w, guard);
        let ordinal = w.ordinal();
        let id = EdgeId { ty: w.ty, src: vertex_id(w.src), dst: vertex_id(w.dst), ordinal };
        let made_here = || {
            let key = super::write_set::edge_key(w.ty, w.src, w.dst, ordinal);
            writes.edges.get(key).is_some_and(|e| e.op == EdgeOp::Create)
        };
        let exists = with_list(target, read_ts, guard, |list, delta| {
            // Another one without an ordinal may have come in place of this one.
            let is_same = w.numbered || !list.changed_since(delta, target.nbr, Some(0));
            is_same && list.find_ordinal(target.nbr, ordinal).is_some()
        });
        if !exists && !made_here() {
            return conflict(Object::Edge(id));
        }
        let column = input.catalog.edge_type(w.ty)?.column_for_write(w.key, input.catalog);
        if newest(column, w.place, guard) > read_ts {
            return conflict(Object::EdgeProperty(id, w.key));
        }
    }
    Ok(!writes.states.items().is_empty()
        || !writes.vertex_properties.items().is_empty()
        || !writes.edge_properties.items().is_empty())
}

fn validate_reads(input: &PlanInput<'_>, read_ts: u64, guard: &Guard) -> Result<(), Error> {
    for read in input.reads {
        input.stop.step()?;
        let changed = match *read {
            Read::State(v) => {
                (newest(input.states, v, guard) > read_ts).then(|| Object::Vertex(vertex_id(v)))
            }
            Read::VertexProperty(v, key) => {
                let column = input.catalog.vertex_column_for_write(key);
                (newest(column, v, guard) > read_ts)
                    .then(|| Object::VertexProperty(vertex_id(v), key))
            }
            Read::EdgeProperty(ty, ordinal, key) => {
                let column = input.catalog.edge_type(ty)?.column_for_write(key, input.catalog);
                (newest(column, ordinal, guard) > read_ts).then(|| edge_read(ty, ordinal, key))
            }
            Read::Unnumbered(ty, (src, dst), key) => {
                let of = input.catalog.edge_type(ty)?;
                let place = of.place(src, dst, 0, guard);
                let column = of.column(key).filter(|_| place != 0);
                let id = EdgeId { ty, src: vertex_id(src), dst: vertex_id(dst), ordinal: 0 };
                let changed = column.is_some_and(|column| newest(column, place, guard) > read_ts);
                changed.then_some(Object::EdgeProperty(id, key))
            }
            // `Places::check_lists` covers these, and `maintenance/check.rs` those.
            Read::Neighbours(_, _, _) | Read::Index(_) => None,
            Read::AllStates => column_changed(input.states, read_ts).then_some(Object::VertexScan),
            Read::Unmade(kind, made) => {
                later_names_used(kind, made, input, read_ts).then_some(Object::Unmade(kind))
            }
        };
        if let Some(object) = changed {
            return Err(Error::Conflict { object });
        }
    }
    Ok(())
}

/// True if a value of the column was written after `read_ts`.
fn column_changed<C: Chunk + 'static>(column: &ColTable<C>, read_ts: u64) -> bool {
    let mut segments = (0..column.segment_bound()).filter_map(|number| column.segment(number));
    segments.any(|s| s.last_write.load(Ordering::Relaxed) > read_ts)
}

/// True if a list of the table was written to after `read_ts`.
fn lists_changed(table: &AdjTable, read_ts: u64) -> bool {
    let mut segments = (0..table.segment_bound()).filter_map(|number| table.segment(number));
    segments.any(|s| s.last_write.load(Ordering::Relaxed) > read_ts)
}

/// True if a name that the transaction did not find has since come into use.
///
/// No latch keeps others from using it. A commit that is being applied meanwhile comes after this
/// one in the serial order, unless a chain of conflicts leads from it back to this one, and each
/// link of such a chain is ordered by a latch or, if it is itself such a read, by
/// [`Catalog::unmade`](crate::catalog::Catalog): then it was applied before this one looked.
fn later_names_used(kind: NameKind, made: usize, input: &PlanInput<'_>, read_ts: u64) -> bool {
    let catalog = input.catalog;
    let later = catalog.made_after(kind, made);
    match kind {
        // A label is in the states of vertices.
        NameKind::Label => !later.is_empty() && column_changed(input.states, read_ts),
        NameKind::EdgeType => later.into_iter().any(|number| {
            let ty = catalog.edge_type(EdgeTypeId::from_raw(number));
            ty.is_ok_and(|ty| lists_changed(ty.table(Direction::Out), read_ts))
        }),
        NameKind::PropertyKey => later.into_iter().map(PropertyKeyId::from_raw).any(|key| {
            let of_edges = catalog.edge_types().filter_map(|(_, ty)| ty.column(key));
            let mut columns = catalog.vertex_column(key).into_iter().chain(of_edges);
            columns.any(|column| column_changed(column, read_ts))
        }),
        NameKind::Index => unreachable!("INVARIANT: indexes are looked up by their numbers"),
    }
}

fn edge_read(ty: EdgeTypeId, ordinal: u32, key: PropertyKeyId) -> Object {
    let nowhere = vertex_id(0);
    Object::EdgeProperty(EdgeId { ty, src: nowhere, dst: nowhere, ordinal }, key)
}
