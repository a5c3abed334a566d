//! Records with one edge each: SNAP text, CSV and TSV.
//!
//! Each piece of the text is parsed on its own into [`Rows`]; the pieces meet again in `ids`, in
//! the order of the text, so the result does not depend on the number of threads.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::column::{Column, ColumnValues};
use super::edge_list::EdgeList;
use super::error::{Fault, Problem};
use super::field::{Field, Line, Lines};
use super::ids::{self, NumberPairs, TextPairs};
use super::layout::{Layout, Role};
use super::number::parse_u64;
use super::options::Numbering;
use super::parallel::{CHUNK_BYTES, chunks, map_chunks};

/// Edges and column values of one piece of text.
struct Rows<I> {
    ids: I,
    columns: Vec<ColumnValues>,
}

/// Collects the endpoints of one piece of text.
trait Endpoints<'a>: Send {
    fn push(&mut self, from: &Field<'a>, to: &Field<'a>, id_max: u64) -> Result<(), Fault>;
    fn len(&self) -> usize;
}

impl<'a> Endpoints<'a> for NumberPairs {
    fn push(&mut self, from: &Field<'a>, to: &Field<'a>, id_max: u64) -> Result<(), Fault> {
        self.push(vertex_id(from, id_max)?, vertex_id(to, id_max)?);
        Ok(())
    }

    fn len(&self) -> usize {
        self.len()
    }
}

/// Texts of one piece, numbered in order of first appearance in it.
#[derive(Default)]
struct TextCollector<'a> {
    numbers: HashMap<Cow<'a, str>, u32>,
    pairs: TextPairs<'a>,
}

impl<'a> TextCollector<'a> {
    fn number(&mut self, field: &Field<'a>) -> Result<u32, Fault> {
        if field.text.is_empty() {
            return Err(Fault::unexpected(field.offset, "a vertex id", field.text));
        }
        let text = field.as_str()?;
        if let Some(&number) = self.numbers.get(&text) {
            return Ok(number);
        }
        let number = u32::try_from(self.pairs.texts.len()).map_err(|_| Fault {
            offset: field.offset,
            problem: Problem::TooManyVertices { max: u32::MAX },
        })?;
        self.pairs.texts.push(text.clone());
        self.numbers.insert(text, number);
        Ok(number)
    }
}

impl<'a> Endpoints<'a> for TextCollector<'a> {
    fn push(&mut self, from: &Field<'a>, to: &Field<'a>, _id_max: u64) -> Result<(), Fault> {
        let pair = (self.number(from)?, self.number(to)?);
        self.pairs.edges.push(pair);
        Ok(())
    }

    fn len(&self) -> usize {
        self.pairs.edges.len()
    }
}

/// Parses the records of `text`. `progress` receives bytes and edges as pieces end.
pub(super) fn parse(
    text: &[u8],
    layout: &Layout,
    numbering: Numbering,
    threads: usize,
    progress: impl FnMut(usize, usize),
) -> Result<EdgeList, Fault> {
    let too_many = |max| Fault { offset: text.len(), problem: Problem::TooManyVertices { max } };
    let (numbered, columns) = if layout.numeric {
        let (parts, columns) = parse_pieces::<NumberPairs>(text, layout, threads, progress)?;
        (ids::from_numbers(parts, numbering, threads), columns)
    } else {
        let (parts, columns) = parse_pieces::<TextCollector<'_>>(text, layout, threads, progress)?;
        let parts = parts.into_iter().map(|part| part.pairs).collect();
        (ids::from_texts(parts, threads), columns)
    };
    let numbered = numbered.map_err(|ids::TooManyVertices| too_many(u32::MAX))?;
    Ok(EdgeList {
        edges: numbered.edges,
        vertex_count: numbered.vertex_count,
        original_ids: numbered.original_ids,
        columns,
        undirected: false,
    })
}

fn parse_pieces<'a, I: Endpoints<'a> + Default>(
    text: &'a [u8],
    layout: &Layout,
    threads: usize,
    mut progress: impl FnMut(usize, usize),
) -> Result<(Vec<I>, Vec<Column>), Fault> {
    let parts = map_chunks(
        &chunks(text, layout.data_start, CHUNK_BYTES),
        threads,
        |_, piece| parse_piece::<I>(text, piece, layout),
        |piece, rows| progress(piece.len(), rows.ids.len()),
    )?;
    let mut columns: Vec<ColumnValues> = vec![ColumnValues::default(); layout.names.len()];
    let mut ids = Vec::with_capacity(parts.len());
    for part in parts {
        ids.push(part.ids);
        for (column, values) in columns.iter_mut().zip(part.columns) {
            column.append(values);
        }
    }
    let named = layout.names.iter().cloned().zip(columns);
    Ok((ids, named.map(|(name, values)| Column { name, values }).collect()))
}

fn parse_piece<'a, I: Endpoints<'a> + Default>(
    text: &'a [u8],
    piece: Range<usize>,
    layout: &Layout,
) -> Result<Rows<I>, Fault> {
    let mut rows =
        Rows { ids: I::default(), columns: vec![ColumnValues::default(); layout.names.len()] };
    let mut lines = Lines::new(text, piece);
    while let Some(line) = lines.next_record() {
        parse_record(line, layout, &mut rows)?;
    }
    Ok(rows)
}

fn parse_record<'a, I: Endpoints<'a>>(
    line: Line<'a>,
    layout: &Layout,
    rows: &mut Rows<I>,
) -> Result<(), Fault> {
    let nothing = Field { offset: line.offset, text: b"", escaped: false };
    let (mut from, mut to) = (nothing, nothing);
    let mut fields = line.fields(layout.delimiter);
    let mut found = 0;
    for role in &layout.roles {
        let Some(field) = fields.next_field()? else {
            break;
        };
        found += 1;
        match *role {
            Role::From => from = field,
            Role::To => to = field,
            Role::Column(index) => {
                if let Some(column) = rows.columns.get_mut(index) {
                    column.push(&field)?;
                }
            }
            Role::Skip => {}
        }
    }
    let expected = layout.roles.len();
    if found == expected && !layout.open_ended {
        found += fields.collect()?.len();
    }
    if found != expected {
        let problem = Problem::FieldCount { expected, found };
        return Err(Fault { offset: line.offset, problem });
    }
    rows.ids.push(&from, &to, layout.id_max)
}

/// The id in `field`.
fn vertex_id(field: &Field<'_>, id_max: u64) -> Result<u64, Fault> {
    match parse_u64(field.text) {
        Some(id) if id <= id_max => Ok(id),
        Some(_) => {
            let expected = format!("a vertex id up to {id_max}, as ids are kept");
            Err(Fault::unexpected(field.offset, expected, field.text))
        }
        None if !field.text.is_empty() && field.text.iter().all(u8::is_ascii_digit) => {
            Err(Fault::unexpected(field.offset, "a vertex id below 2^64", field.text))
        }
        None => Err(Fault::unexpected(field.offset, "a vertex id", field.text)),
    }
}
