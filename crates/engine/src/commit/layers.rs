//! What a large commit writes to columns, segment by segment.
//!
//! Segments of which it writes much get a layer (`column/layer.rs`), made of all their writes
//! before the commit takes its timestamp; the rest of the writes go to tails, one by one, after it.
//!
//! Cost: two passes over the writes; 4 bytes per write until the commit has applied.

use crossbeam_epoch::Guard;
use telar_graph::Value;

use super::plan::PlanInput;
use super::protocol::{apply_edge_property, apply_state, apply_vertex_property, note_places};
use super::whole::{RECENT, Want, key};
use crate::adjacency::segment_of;
use crate::column::{Chunk, ColTable, Laid, PropertyChunk, StateChunk};
use crate::error::Error;
use crate::stop::Stop;

/// The writes of a commit to columns, ready to be applied.
pub(super) struct Layers<'g> {
    states: Column<'g, StateChunk>,
    vertex_properties: Column<'g, PropertyChunk>,
    edge_properties: Column<'g, PropertyChunk>,
}

/// Those of one kind.
struct Column<'g, C: Chunk> {
    laid: Vec<(&'g ColTable<C>, Laid<C>)>,
    /// Numbers of the writes that are in no layer.
    rest: Vec<u32>,
}

/// Finds what is wanted of a segment.
struct Finder<'w> {
    wants: &'w [Want],
    recent: [usize; RECENT],
    next: usize,
}

impl<'w> Finder<'w> {
    fn new(wants: &'w [Want]) -> Self {
        Self { wants, recent: [0; RECENT], next: 0 }
    }

    fn find(&mut self, key: u64) -> usize {
        let is_it = |at: &&usize| self.wants.get(**at).is_some_and(|want| want.key == key);
        if let Some(at) = self.recent.iter().find(is_it) {
            return *at;
        }
        let at = self.wants.binary_search_by_key(&key, |want| want.key);
        let at = at.expect("INVARIANT: every segment that is written to is wanted");
        self.recent[self.next] = at;
        self.next = (self.next + 1) % RECENT;
        at
    }
}

impl<'g> Layers<'g> {
    /// Makes the layers of a commit that wants these segments, ascending by key. It holds all of
    /// them.
    pub(super) fn make(
        wants: &[Want],
        input: &PlanInput<'g>,
        guard: &'g Guard,
    ) -> Result<Self, Error> {
        let (writes, catalog, stop) = (input.writes, input.catalog, input.stop);
        let state = |at: usize| {
            let w = &writes.states.items()[at];
            Ok((input.states, w.vertex, w.state))
        };
        let vertex_property = |at: usize| {
            let w = &writes.vertex_properties.items()[at];
            Ok((catalog.vertex_column_for_write(w.key), w.vertex, &w.value))
        };
        let edge_property = |at: usize| {
            let w = &writes.edge_properties.items()[at];
            let column = catalog.edge_type(w.ty)?.column_for_write(w.key, catalog);
            Ok((column, w.place, &w.value))
        };
        let all = |items: usize| (wants, items, stop, guard);
        Ok(Self {
            states: Column::make(all(writes.states.items().len()), state, |state| state)?,
            vertex_properties: Column::make(
                all(writes.vertex_properties.items().len()),
                vertex_property,
                Value::clone,
            )?,
            edge_properties: Column::make(
                all(writes.edge_properties.items().len()),
                edge_property,
                Value::clone,
            )?,
        })
    }

    /// Writes everything at `ts`.
    pub(super) fn apply(self, input: &PlanInput<'g>, ts: u64, guard: &'g Guard) {
        let writes = input.writes;
        for at in self.states.apply(ts, guard) {
            apply_state(input, &writes.states.items()[at as usize], ts, guard);
        }
        for at in self.vertex_properties.apply(ts, guard) {
            apply_vertex_property(input, &writes.vertex_properties.items()[at as usize], ts, guard);
        }
        for at in self.edge_properties.apply(ts, guard) {
            apply_edge_property(input, &writes.edge_properties.items()[at as usize], ts, guard);
        }
        note_places(input, ts);
    }
}

impl<'g, C: Chunk + 'static> Column<'g, C> {
    /// Of `items` writes, of which `write` says the column, the place, and what its `value` is made
    /// from.
    fn make<V>(
        (wants, items, stop, guard): (&[Want], usize, &Stop<'_>, &'g Guard),
        write: impl Fn(usize) -> Result<(&'g ColTable<C>, u32, V), Error>,
        value: impl Fn(V) -> C::Value,
    ) -> Result<Self, Error> {
        let (mut laid, mut rest) = (Vec::new(), Vec::new());
        if items == 0 || !wants.iter().any(|want| want.layer) {
            rest.extend(0..items as u32);
            return Ok(Self { laid, rest });
        }
        // The writes of one segment stand together: first how many each has, then where.
        let mut ends = vec![0_u32; wants.len()];
        let mut finder = Finder::new(wants);
        let mut each = |f: &mut dyn FnMut(usize, usize)| {
            (0..items).try_for_each(|at| {
                stop.step()?;
                let (column, place, _) = write(at)?;
                f(at, finder.find(key(column.id, segment_of(place))));
                Ok::<_, Error>(())
            })
        };
        each(&mut |_, want| ends[want] += u32::from(wants[want].layer))?;
        let mut sum = 0;
        for end in &mut ends {
            // Where its first stands: each that is put there moves it on, to the end of all.
            sum += std::mem::replace(end, sum);
        }
        let mut order = vec![0_u32; sum as usize];
        each(&mut |at, want| {
            if wants[want].layer {
                order[ends[want] as usize] = at as u32;
                ends[want] += 1;
            } else {
                rest.push(at as u32);
            }
        })?;
        let mut begin = 0;
        for end in ends {
            let of_segment = &order[begin as usize..end as usize];
            begin = end;
            let Some(first) = of_segment.first() else { continue };
            stop.check()?;
            let (column, place, _) = write(*first as usize)?;
            let written = of_segment.iter().map(|at| {
                let found = write(*at as usize);
                let (_, place, from) = found.expect("INVARIANT: it was found before");
                (place, value(from))
            });
            laid.push((column, column.layer(segment_of(place), written, guard)));
        }
        Ok(Self { laid, rest })
    }

    /// Lays the layers; returns the writes that are left.
    fn apply(self, ts: u64, guard: &'g Guard) -> Vec<u32> {
        self.laid.into_iter().for_each(|(column, laid)| column.lay(laid, ts, guard));
        self.rest
    }
}
