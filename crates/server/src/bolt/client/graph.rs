//! Nodes, relationships and paths, read from what a server sent.
//!
//! Values name them by number, and what they hold is kept beside the rows, as in the result of an
//! embedded session. The numbers of nodes are the server's; relationships, which have more parts to
//! their names here than there, are counted.

use std::collections::HashMap;
use std::sync::Arc;

use telar_db::query::{Entities, Node, Relationship};
use telar_db::value::Path;
use telar_db::{EdgeId, EdgeTypeId, Value, VertexId};

use super::super::packstream::decode::Item;
use super::super::structure::{Decoder, NODE, PATH, RELATIONSHIP, Refusal, UNBOUND_RELATIONSHIP};

/// What the rows of a result name.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(super) entities: Entities,
    /// Relationships by the server's numbers.
    edges: HashMap<i64, EdgeId>,
}

/// A relationship of a path, whose ends are where it stands.
struct Unbound {
    id: i64,
    relationship: Relationship,
}

impl Graph {
    fn edge(&mut self, found: Unbound, src: VertexId, dst: VertexId) -> EdgeId {
        let Unbound { id, relationship } = found;
        let ordinal = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
        let new = EdgeId { ty: EdgeTypeId::from_raw(0), src, dst, ordinal };
        let edge = *self.edges.entry(id).or_insert(new);
        self.entities.relationships.entry(edge).or_insert(relationship);
        edge
    }
}

impl Decoder<'_> {
    /// A node, relationship or path, whose marker has been read.
    pub(crate) fn entity(
        &mut self,
        graph: &mut Graph,
        tag: u8,
        fields: u8,
        levels: u32,
    ) -> Result<Value, Refusal> {
        Ok(match (tag, fields) {
            (NODE, 3 | 4) => Value::Vertex(self.node(graph, fields, levels)?),
            (RELATIONSHIP, 5 | 8) => {
                let id = self.int()?;
                let [src, dst] = [self.int()?, self.int()?].map(vertex);
                let relationship =
                    Relationship { ty: self.string()?.to_owned(), properties: self.map(levels)? };
                // Element ids: its own, and those of its ends.
                (5..fields).try_for_each(|_| self.value(levels).map(drop))?;
                Value::from(graph.edge(Unbound { id, relationship }, src, dst))
            }
            (PATH, 3) => Value::Path(Arc::new(self.path(graph, levels)?)),
            _ => return Err(self.reader.malformed("an entity of an unknown form").into()),
        })
    }

    fn node(&mut self, graph: &mut Graph, fields: u8, levels: u32) -> Result<VertexId, Refusal> {
        let id = vertex(self.int()?);
        let labels = (0..self.length()?).map(|_| self.string().map(str::to_owned));
        let labels = labels.collect::<Result<_, _>>()?;
        let properties = self.map(levels)?;
        (3..fields).try_for_each(|_| self.value(levels).map(drop))?;
        graph.entities.nodes.insert(id, Node { labels, properties });
        Ok(id)
    }

    fn unbound(&mut self, levels: u32) -> Result<Unbound, Refusal> {
        let fields = self.expect(UNBOUND_RELATIONSHIP)?;
        let id = self.int()?;
        let relationship =
            Relationship { ty: self.string()?.to_owned(), properties: self.map(levels)? };
        (3..fields).try_for_each(|_| self.value(levels).map(drop))?;
        Ok(Unbound { id, relationship })
    }

    /// Nodes and relationships, each once, and which follows which: see the encoder.
    fn path(&mut self, graph: &mut Graph, levels: u32) -> Result<Path, Refusal> {
        let mut nodes = Vec::new();
        for _ in 0..self.length()? {
            let fields = self.expect(NODE)?;
            nodes.push(self.node(graph, fields, levels)?);
        }
        let mut edges = Vec::new();
        for _ in 0..self.length()? {
            edges.push(Some(self.unbound(levels)?));
        }
        let steps = self.length()?;
        let wrong = |this: &Self| this.reader.malformed("a path that is none");
        let mut at = *nodes.first().ok_or_else(|| wrong(self))?;
        let mut path = Path::start(at);
        let mut known: HashMap<usize, EdgeId> = HashMap::new();
        for _ in 0..steps / 2 {
            let (step, next) = (self.int()?, self.int()?);
            let next = usize::try_from(next).ok().and_then(|at| nodes.get(at).copied());
            let next = next.ok_or_else(|| wrong(self))?;
            let place = usize::try_from(step.unsigned_abs()).unwrap_or(0).wrapping_sub(1);
            let (src, dst) = if step > 0 { (at, next) } else { (next, at) };
            let edge = match edges.get_mut(place).and_then(Option::take) {
                Some(found) => {
                    let edge = graph.edge(found, src, dst);
                    known.insert(place, edge);
                    edge
                }
                None => *known.get(&place).ok_or_else(|| wrong(self))?,
            };
            if !path.push(edge) {
                return Err(wrong(self).into());
            }
            at = next;
        }
        Ok(path)
    }

    /// The number of elements of a list.
    fn length(&mut self) -> Result<usize, Refusal> {
        match self.reader.item()? {
            Item::List(len) => Ok(len),
            _ => Err(self.reader.malformed("something else than the list expected").into()),
        }
    }

    /// The number of fields of a structure of this kind.
    fn expect(&mut self, wanted: u8) -> Result<u8, Refusal> {
        match self.reader.item()? {
            Item::Structure { tag, fields } if tag == wanted => Ok(fields),
            _ => Err(self.reader.malformed("something else than the entity expected").into()),
        }
    }
}

fn vertex(id: i64) -> VertexId {
    VertexId::from_raw(id.cast_unsigned())
}
