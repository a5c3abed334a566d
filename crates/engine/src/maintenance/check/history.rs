//! What must hold within and between the values of history.
//!
//! An edge's insert and delete are written down for both of its lists, so above the floor the undo
//! entries of out and in lists mirror each other. As for edges (`graph.rs`), sums of 64-bit hashes
//! are compared.

use telar_graph::Direction;

use super::graph::hash;
use crate::adjacency::SEGMENT_BITS;
use crate::format::subject::Subject;
use crate::history::stored::{About, decode_lists, decode_states, decode_values};
use crate::shared::Shared;

/// The history of a store, as far as it was seen.
#[derive(Debug, Default)]
pub(super) struct HistoryCheck {
    about: Option<About>,
    /// Per edge type and direction: number of undo entries and sum of their hashes.
    sides: Vec<[(u64, u64); 2]>,
}

impl HistoryCheck {
    /// Takes the body of a value; says what is wrong with it by itself. What it is about comes
    /// first, since its key is the smallest.
    pub(super) fn value(
        &mut self,
        subject: Subject,
        number: u32,
        body: &[u8],
        shared: &Shared,
    ) -> Result<(), String> {
        let catalog = &shared.catalog;
        let edge_type = |id| catalog.edge_type(id).map_err(|e| e.to_string());
        let property = |key| catalog.check_property_key(key).map_err(|e| e.to_string());
        if subject == Subject::About {
            self.about = Some(About::decode(body)?);
            return Ok(());
        }
        let Some(about) = self.about else {
            return Err("there is history, but nothing says how far back it reaches".into());
        };
        match subject {
            Subject::About => {}
            Subject::Lists(id, direction) => {
                let columns = edge_type(id)?.kind().columns();
                let of_type = usize::from(id.get());
                if self.sides.len() <= of_type {
                    self.sides.resize(of_type + 1, [(0, 0); 2]);
                }
                let (count, sum) = &mut self.sides[of_type][direction as usize];
                let blocks = decode_lists(body, columns)?;
                let entries = blocks.iter().flat_map(|b| b.entries(columns));
                for e in entries.filter(|e| e.ts > about.floor) {
                    let v = number << SEGMENT_BITS | e.local;
                    let (src, dst) = match direction {
                        Direction::Out => (v, e.entry.nbr),
                        Direction::In => (e.entry.nbr, v),
                    };
                    if v.max(e.entry.nbr) >= shared.vertex_bound() {
                        return Err(format!("an edge of vertex {v} led to no vertex"));
                    }
                    let when = (e.ts << 1 | u64::from(e.delete)).wrapping_mul(0x9E37_79B9);
                    *count += 1;
                    *sum = sum.wrapping_add(hash(src, dst, e.entry.columns) ^ when);
                }
            }
            Subject::States => drop(decode_states(body, catalog.label_sets.len())?),
            Subject::VertexProperty(key) => {
                property(key)?;
                decode_values(body)?;
            }
            Subject::EdgeProperty(id, key) => {
                edge_type(id)?;
                property(key)?;
                decode_values(body)?;
            }
        }
        Ok(())
    }

    /// What does not hold between the values: the edge types, and what.
    pub(super) fn contradictions(&self) -> impl Iterator<Item = (u16, String)> + '_ {
        let types = self.sides.iter().enumerate();
        types.filter(|(_, [out, inward])| out != inward).map(|(ty, [out, inward])| {
            let what = format!(
                "the history of out and in lists do not mirror each other: {} changes in the one, \
                 {} in the other",
                out.0, inward.0
            );
            (ty as u16, what)
        })
    }
}
