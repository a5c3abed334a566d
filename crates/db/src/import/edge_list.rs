//! The result of reading a file of edges.

use std::fmt;
use std::io::Read;
use std::path::Path;

use telar_algo::control::Control;
use telar_algo::csr::Csr;
use telar_algo::ordering::Method;

use super::column::Column;
use super::error::{Fault, ImportError};
use super::options::{EdgeListOptions, Format, Progress};
use super::{delimited, layout, metis, source};

/// Byte order mark that some programs put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The edges of one file over dense vertex numbers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EdgeList {
    /// `(from, to)` in the order of the file, repeats and self-loops included. Of an undirected
    /// METIS edge, only the direction from the smaller to the larger number.
    pub edges: Vec<(u32, u32)>,
    /// Vertices are numbered `0..vertex_count`.
    pub vertex_count: u32,
    /// Id in the file of each vertex; `None` if ids and numbers are the same. (METIS files have no
    /// ids: their vertex *i*, counted from 1, is number *i* - 1.)
    pub original_ids: Option<OriginalIds>,
    /// Numeric columns beside the endpoints, one value per edge.
    pub columns: Vec<Column>,
    /// Whether the format says that each edge stands for both directions (METIS does).
    pub undirected: bool,
}

/// Id in the file of each vertex, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OriginalIds {
    /// Ascending, as compacted numbers keep their order, unless vertices were renumbered.
    Numbers(Vec<u64>),
    /// In order of first appearance, unless vertices were renumbered.
    Texts(Vec<Box<str>>),
}

/// Id of one vertex in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginalId<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Text(&'a str),
}

impl fmt::Display for OriginalId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(id) => id.fmt(f),
            Self::Text(id) => id.fmt(f),
        }
    }
}

impl EdgeList {
    /// Returns the edges of the file at `path`, decompressed and parsed on all cores.
    ///
    /// `progress` is called on this thread, once per megabyte or so of text.
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`] if the file cannot be read, [`ImportError::TooLarge`] beyond the limit
    /// in `options`, and [`ImportError::Text`] with line and column of the first place that is not
    /// what the format asks for.
    pub fn read(
        path: impl AsRef<Path>,
        options: &EdgeListOptions,
        progress: &dyn Fn(Progress),
    ) -> Result<Self, ImportError> {
        let path = path.as_ref();
        let text = source::read_file(path, options.text_bytes_max)?;
        Self::parse(&path.display().to_string(), &text, options, progress)
    }

    /// Returns the edges that `reader` yields, compressed or not. `file` names it in errors, and
    /// its extension tells the format.
    ///
    /// # Errors
    ///
    /// As [`EdgeList::read`].
    pub fn from_reader(
        file: &str,
        reader: impl Read,
        options: &EdgeListOptions,
        progress: &dyn Fn(Progress),
    ) -> Result<Self, ImportError> {
        let text = source::read(file, reader, options.text_bytes_max)?;
        Self::parse(file, &text, options, progress)
    }

    /// Returns the edges in `text`. `file` names it in errors, and its extension tells the format.
    ///
    /// # Errors
    ///
    /// [`ImportError::Text`], as [`EdgeList::read`].
    ///
    /// # Examples
    ///
    /// ```
    /// use telar_db::import::{EdgeList, EdgeListOptions};
    ///
    /// let text = b"from,to,rating\n7,9,5\n9,12,-2\n";
    /// let graph = EdgeList::parse("trust.csv", text, &EdgeListOptions::default(), &|_| {})?;
    /// assert_eq!(graph.edges, [(0, 1), (1, 2)]);
    /// assert_eq!(graph.original_id(2).map(|id| id.to_string()), Some("12".to_owned()));
    /// assert_eq!(graph.columns[0].name, "rating");
    ///
    /// let bad = EdgeList::parse("trust.csv", b"1,2\n3,abc\n", &EdgeListOptions::default(), &|_| {});
    /// let message = bad.map_err(|error| error.to_string());
    /// assert_eq!(message, Err(r#"trust.csv:2:3: expected a vertex id, found "abc""#.to_owned()));
    /// # Ok::<(), telar_db::import::ImportError>(())
    /// ```
    pub fn parse(
        file: &str,
        text: &[u8],
        options: &EdgeListOptions,
        progress: &dyn Fn(Progress),
    ) -> Result<Self, ImportError> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        parse_text(file, text, options, progress).map_err(|fault| fault.locate(file, text))
    }

    /// Returns the id in the file of vertex `number`, `None` if there is no such vertex.
    pub fn original_id(&self, number: u32) -> Option<OriginalId<'_>> {
        if number >= self.vertex_count {
            return None;
        }
        match &self.original_ids {
            None => Some(OriginalId::Number(number.into())),
            Some(OriginalIds::Numbers(ids)) => {
                ids.get(number as usize).copied().map(OriginalId::Number)
            }
            Some(OriginalIds::Texts(ids)) => {
                ids.get(number as usize).map(|id| OriginalId::Text(id))
            }
        }
    }

    /// Returns the column named `name`.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Gives the vertices new numbers: those of the order that `method` finds, which a database
    /// then keeps. Edges stay in the order of the file.
    ///
    /// # Errors
    /// Of the order.
    ///
    /// # Cost
    /// That of the order. *Memory*: 16 bytes per edge and what [`Method::bytes`] says.
    pub fn renumber(
        &mut self,
        method: Method,
        seed: u64,
    ) -> Result<(), telar_algo::control::Error> {
        let mut graph = Csr::from_edges(self.vertex_count, &self.edges);
        if !method.takes_directed() {
            graph = graph.undirected();
        }
        let places = method.order(&graph, seed, &Control::default())?;
        drop(graph);
        for (u, v) in &mut self.edges {
            (*u, *v) = (places[*u as usize], places[*v as usize]);
        }
        let mut vertices = vec![0; places.len()];
        (0..).zip(&places).for_each(|(v, place)| vertices[*place as usize] = v);
        self.original_ids = Some(match self.original_ids.take() {
            None => OriginalIds::Numbers(vertices.into_iter().map(u64::from).collect()),
            Some(OriginalIds::Numbers(ids)) => {
                OriginalIds::Numbers(vertices.into_iter().map(|v: u32| ids[v as usize]).collect())
            }
            Some(OriginalIds::Texts(mut ids)) => OriginalIds::Texts(
                vertices.into_iter().map(|v| std::mem::take(&mut ids[v as usize])).collect(),
            ),
        });
        Ok(())
    }

    /// A file without a single record.
    fn empty() -> Self {
        Self {
            edges: Vec::new(),
            vertex_count: 0,
            original_ids: None,
            columns: Vec::new(),
            undirected: false,
        }
    }
}

fn parse_text(
    file: &str,
    text: &[u8],
    options: &EdgeListOptions,
    progress: &dyn Fn(Progress),
) -> Result<EdgeList, Fault> {
    let threads = options.thread_count();
    let bytes_total = text.len() as u64;
    let mut state = Progress { bytes_done: 0, bytes_total, edges: 0 };
    let mut report = |bytes: usize, edges: usize| {
        state.bytes_done += bytes as u64;
        state.edges += edges as u64;
        progress(state);
    };
    let format = layout::format_of(file, text, options);
    if format == Format::Metis {
        return metis::parse(text, threads, report);
    }
    match layout::detect(text, format, options)? {
        None => Ok(EdgeList::empty()),
        Some(layout) => {
            report(layout.data_start, 0);
            delimited::parse(text, &layout, options.numbering, threads, report)
        }
    }
}
