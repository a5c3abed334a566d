//! METIS adjacency (METIS manual, section 4.1.1).
//!
//! ```text
//!  % comment                      n vertices, m undirected edges, fmt = sizes|vertex|edge weights
//!  n m [fmt [ncon]]               three digits, each 0 or 1; ncon vertex weights per vertex
//!  [size] [weight x ncon] (neighbour [edge weight])*        line of vertex 1
//!  ...                                                      line of vertex n
//! ```
//!
//! Vertices count from 1. Each edge stands in the lists of both ends; only the direction from the
//! smaller to the larger number is kept. A blank line is a vertex without neighbours; lines missing
//! at the end are too, since the edge count in the header tells a cut file from a complete one.

use std::ops::Range;

use super::column::{Column, ColumnValues};
use super::edge_list::EdgeList;
use super::error::{Fault, Problem};
use super::field::{Delimiter, Field, Fields, Line, Lines};
use super::number::parse_u64;
use super::parallel::{CHUNK_BYTES, chunks, map_chunks};

/// Most weights per vertex. METIS itself balances a handful; a larger number is a damaged header.
const VERTEX_WEIGHTS_MAX: u64 = 64;

struct Header {
    vertices: u32,
    edges: u64,
    /// Where `edges` stands.
    edges_offset: usize,
    /// Fields before the neighbours.
    skipped: u64,
    edge_weights: bool,
    /// Offset of the line of vertex 1.
    body: usize,
}

#[derive(Default)]
struct Lists {
    edges: Vec<(u32, u32)>,
    weights: ColumnValues,
    backward: u64,
}

/// Parses a METIS file. `progress` receives bytes and edges as pieces end.
pub(super) fn parse(
    text: &[u8],
    threads: usize,
    mut progress: impl FnMut(usize, usize),
) -> Result<EdgeList, Fault> {
    let header = parse_header(text)?;
    progress(header.body, 0);
    let pieces = chunks(text, header.body, CHUNK_BYTES);
    // A list belongs to the vertex of its line, so each piece must know the line it begins with.
    let counts = map_chunks(&pieces, threads, |_, p| Ok(count_lists(text, p)), |_, _| {})?;
    let firsts: Vec<u64> = counts
        .iter()
        .scan(0, |next, count| {
            let first = *next;
            *next += count;
            Some(first)
        })
        .collect();
    let parts = map_chunks(
        &pieces,
        threads,
        |index, piece| parse_lists(text, piece, firsts[index], &header),
        |piece, lists: &Lists| progress(piece.len(), lists.edges.len()),
    )?;
    let mut all = Lists::default();
    for mut part in parts {
        all.edges.append(&mut part.edges);
        all.weights.append(part.weights);
        all.backward += part.backward;
    }
    let forward = all.edges.len() as u64;
    if (forward, all.backward) != (header.edges, header.edges) {
        let (expected, backward) = (header.edges, all.backward);
        let problem = Problem::EdgeCount { expected, forward, backward };
        return Err(Fault { offset: header.edges_offset, problem });
    }
    let weights = Column { name: "weight".to_owned(), values: all.weights };
    Ok(EdgeList {
        edges: all.edges,
        vertex_count: header.vertices,
        original_ids: None,
        columns: if header.edge_weights { vec![weights] } else { Vec::new() },
        undirected: true,
    })
}

fn parse_header(text: &[u8]) -> Result<Header, Fault> {
    let mut lines = Lines::new(text, 0..text.len());
    let line = lines.next_record().unwrap_or(Line { offset: 0, text: b"" });
    let mut fields = line.fields(Delimiter::Blanks);
    let line_end = Field { offset: line.offset + line.text.len(), text: b"", escaped: false };
    let vertices = fields.next_field()?.unwrap_or(line_end);
    let edges = fields.next_field()?.unwrap_or(line_end);
    let vertex_count =
        parse_u64(vertices.text).and_then(|count| u32::try_from(count).ok()).ok_or_else(|| {
            let expected = "a METIS header with a number of vertices below 2^32";
            Fault::unexpected(vertices.offset, expected, vertices.text)
        })?;
    let edge_count = parse_u64(edges.text)
        .ok_or_else(|| Fault::unexpected(edges.offset, "the number of edges", edges.text))?;
    let (sizes, vertex_weights, edge_weights) = match fields.next_field()? {
        None => (false, false, false),
        Some(flags) => parse_flags(&flags)?,
    };
    let mut weights = u64::from(vertex_weights);
    if let Some(field) = fields.next_field()? {
        let count = parse_u64(field.text).filter(|&count| count <= VERTEX_WEIGHTS_MAX);
        let count = count.ok_or_else(|| {
            let expected = format!("a number of vertex weights up to {VERTEX_WEIGHTS_MAX}");
            Fault::unexpected(field.offset, expected, field.text)
        })?;
        weights = if vertex_weights { count } else { 0 };
    }
    if let Some(extra) = fields.next_field()? {
        return Err(Fault::unexpected(extra.offset, "the end of the header", extra.text));
    }
    let rest = Lines::new(text, line.offset..text.len()).nth(1);
    Ok(Header {
        vertices: vertex_count,
        edges: edge_count,
        edges_offset: edges.offset,
        skipped: u64::from(sizes) + weights,
        edge_weights,
        body: rest.map_or(text.len(), |line| line.offset),
    })
}

/// Whether vertices have sizes, vertices have weights, edges have weights.
fn parse_flags(field: &Field<'_>) -> Result<(bool, bool, bool), Fault> {
    let is_flag = |byte: &u8| matches!(byte, b'0' | b'1');
    if field.text.len() > 3 || !field.text.iter().all(is_flag) {
        let expected = "a METIS format of up to three digits 0 or 1";
        return Err(Fault::unexpected(field.offset, expected, field.text));
    }
    let flag = |place: usize| field.text.iter().rev().nth(place) == Some(&b'1');
    Ok((flag(2), flag(1), flag(0)))
}

fn count_lists(text: &[u8], piece: Range<usize>) -> u64 {
    Lines::new(text, piece).filter(|line| !line.is_comment()).count() as u64
}

fn parse_lists(
    text: &[u8],
    piece: Range<usize>,
    first: u64,
    header: &Header,
) -> Result<Lists, Fault> {
    let mut lists = Lists::default();
    let lines = Lines::new(text, piece).filter(|line| !line.is_comment());
    for (line, vertex) in lines.zip(first..) {
        match u32::try_from(vertex) {
            Ok(vertex) if vertex < header.vertices => {
                parse_list(line, vertex, header, &mut lists)?;
            }
            _ if line.is_blank() => {}
            _ => {
                let expected = format!("the end of the file after {} vertices", header.vertices);
                return Err(Fault::unexpected(line.offset, expected, line.text));
            }
        }
    }
    Ok(lists)
}

fn parse_list(
    line: Line<'_>,
    vertex: u32,
    header: &Header,
    lists: &mut Lists,
) -> Result<(), Fault> {
    let mut fields = line.fields(Delimiter::Blanks);
    for _ in 0..header.skipped {
        let Some(field) = fields.next_field()? else {
            return Ok(());
        };
        // The value is not used, but a word here means that the format was read wrongly.
        ColumnValues::default().push(&field)?;
    }
    while let Some(field) = fields.next_field()? {
        let neighbour = neighbour_number(&field, vertex, header)?;
        let forward = neighbour > vertex;
        if header.edge_weights {
            let weight = edge_weight(&mut fields, &field)?;
            if forward {
                lists.weights.push(&weight)?;
            }
        }
        if forward {
            lists.edges.push((vertex, neighbour));
        } else {
            lists.backward += 1;
        }
    }
    Ok(())
}

fn edge_weight<'a>(fields: &mut Fields<'a>, neighbour: &Field<'a>) -> Result<Field<'a>, Fault> {
    let after = neighbour.offset + neighbour.text.len();
    fields.next_field()?.ok_or_else(|| Fault::unexpected(after, "the weight of the edge", b""))
}

/// The neighbour in `field`, counted from 0.
fn neighbour_number(field: &Field<'_>, vertex: u32, header: &Header) -> Result<u32, Fault> {
    let number = parse_u64(field.text).and_then(|number| number.checked_sub(1));
    let number = number.and_then(|number| u32::try_from(number).ok());
    match number.filter(|&number| number < header.vertices) {
        Some(number) if number == vertex => {
            Err(Fault::unexpected(field.offset, "a neighbour other than itself", field.text))
        }
        Some(number) => Ok(number),
        None => {
            let expected = format!("a vertex number from 1 to {}", header.vertices);
            Err(Fault::unexpected(field.offset, expected, field.text))
        }
    }
}
