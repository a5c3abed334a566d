//! What a transaction claims that makes edges because it found none like them.

use telar_graph::{Direction, EdgeId, EdgeTypeId, PropertyKeyId, Value};

use super::Transaction;
use crate::commit::claim::{Claim, Like, OtherEnd};
use crate::error::{Error, Object};
use crate::index::key::SortKey;
use crate::snapshot::number;

/// Writes that are looked at for properties of what was made last. Beyond them a claim is for
/// whatever leads there: it may conflict more often, and never less.
const LOOK_BACK: usize = 256;

/// The properties that the last writes gave to one thing.
fn last<'w, W: 'w>(
    writes: &'w [W],
    is: impl Fn(&W) -> bool,
    property: impl Fn(&'w W) -> (PropertyKeyId, &'w Value),
) -> Like {
    let others = writes.iter().rev().take(LOOK_BACK).skip_while(|w| !is(w));
    let own = others.take_while(|w| is(w)).map(property);
    let key_of = |value: &'w Value| SortKey::of(std::slice::from_ref(value));
    let keyed = own.filter_map(|(key, value)| Some((key, key_of(value)?)));
    let mut like: Like = keyed.collect();
    like.sort_unstable();
    like
}

impl Transaction<'_> {
    /// Says that an edge was made just now because none like it was found: if another transaction
    /// commits one before this one does, this one conflicts. `bound` says that both ends were
    /// given, and not looked for together with the edge; `either_way`, that it might have led the
    /// other way.
    ///
    /// Edges at vertices that the transaction made itself need no claim.
    ///
    /// # Errors
    /// [`Error::NotFound`] if an end cannot be one; [`Error::Conflict`], [`Error::Deadlock`] and
    /// those of a wait ([`wait_for_writers`](Self::wait_for_writers)).
    pub fn claim_edge(&mut self, edge: EdgeId, bound: bool, either_way: bool) -> Result<(), Error> {
        let missing = || Error::NotFound(Object::Edge(edge));
        let src = number(edge.src).ok_or_else(missing)?;
        let dst = number(edge.dst).ok_or_else(missing)?;
        let made = |v: u32| self.writes.states.get(v.into()).is_some_and(|w| w.created);
        if bound && (made(src) || made(dst)) {
            return Ok(());
        }
        let (ty, place) = (edge.ty, self.place(edge.ty, src, dst, edge.ordinal));
        let properties = last(
            self.writes.edge_properties.items(),
            |w| place != 0 && (w.ty, w.place) == (ty, place),
            |w| (w.key, &w.value),
        );
        let mut claims: Vec<Claim> = Vec::new();
        if bound {
            let other = OtherEnd::Vertex(dst);
            claims.push(self.claim(ty, src, other, &properties));
        } else {
            for (vertex, other, direction) in
                [(src, dst, Direction::Out), (dst, src, Direction::In)]
            {
                if !made(vertex) {
                    let other = self.like(other);
                    claims.push(Claim { direction, ..self.claim(ty, vertex, other, &properties) });
                }
            }
        }
        if either_way {
            let reverse = |claim: &Claim| {
                let direction = claim.direction.reverse();
                Claim { direction, ..claim.clone() }
            };
            let reversed: Vec<Claim> = claims.iter().map(reverse).collect();
            claims.extend(reversed);
        }
        self.intend_claims(bound, &claims)?;
        self.writes.claims.append(&mut claims);
        Ok(())
    }

    fn claim(&self, ty: EdgeTypeId, vertex: u32, other: OtherEnd, properties: &Like) -> Claim {
        let (direction, properties) = (Direction::Out, properties.clone());
        Claim { ty, direction, vertex, other, properties }
    }

    /// A vertex that was given labels and properties just now; one that was there before is only
    /// like itself.
    fn like(&self, v: u32) -> OtherEnd {
        let Some(made) = self.writes.states.get(v.into()).filter(|w| w.created) else {
            return OtherEnd::Vertex(v);
        };
        let mut labels = self.shared().catalog.label_sets.labels(made.state).to_vec();
        labels.sort_unstable();
        let writes = self.writes.vertex_properties.items();
        let properties = last(writes, |w| w.vertex == v, |w| (w.key, &w.value));
        OtherEnd::Like { labels, properties }
    }
}
