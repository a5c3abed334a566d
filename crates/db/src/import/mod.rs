//! Bringing graphs in: from a file of edges, or from anything a program can enumerate.
//!
//! [`import_csv`] reads files of nodes and relationships with typed headers (docs/import.md).
//! [`import_edge_list`] reads a file of edges. [`import_tables`] takes columns: of files of any
//! format, of data frames, or of a program. All come in as one commit or not at all, by a bulk
//! load of the engine. [`EdgeList::read`] (file to memory) can be used alone, and [`load`] brings
//! any [`GraphSource`] in by large transactions on several threads, beside others.
//!
//! [`EdgeList::read`] reads one file of edges and returns them over dense 32-bit vertex numbers:
//!
//! | Format | Recognised by | Shape |
//! |---|---|---|
//! | SNAP text | any other name | `from to [number ...]`, separated by spaces or tabs |
//! | CSV, TSV | `.csv`, `.tsv`, or a first record with commas | `from,to[,weight[,time]]` |
//! | METIS | `.metis`, `.graph` | header `n m [fmt [ncon]]`, then one line per vertex |
//!
//! Each may be compressed with gzip or zstd, recognised by its first bytes, not by its name. Lines
//! that begin with `#` or `%` are comments; blank lines are skipped (in METIS they are vertices
//! without neighbours). Lines end in LF or CRLF.
//!
//! Stages, one file each: `source` (bytes, decompressed) · `layout` (which field means what) ·
//! `parallel` (chunks cut at line ends, one thread per core) · `delimited` and `metis` (lines to
//! edges) · `ids` (ids in the file to dense numbers). Parsers report a byte offset; `error` turns
//! it into line and column, so that counting lines costs nothing until something is wrong.
//!
//! Cost: one pass over the text on all threads. Memory: the decompressed text, 16 bytes per edge
//! while the parts are joined (32 where an id needs more than 32 bits), and 8 per column value.

mod column;
mod csv;
mod delimited;
mod edge_list;
mod error;
mod field;
mod file;
mod graph_source;
mod ids;
mod layout;
mod load;
mod metis;
mod number;
mod options;
mod outcome;
mod parallel;
mod source;
pub mod table;
#[cfg(test)]
mod tests;

pub use column::{Column, ColumnValues};
pub use csv::{
    BadRows, CsvError, CsvGroup, CsvImport, CsvReport, ExistingIds, Ids, UniqueKey, import_csv,
};
pub use edge_list::{EdgeList, OriginalId, OriginalIds};
pub use error::{ImportError, Problem};
pub use file::{EdgeListSource, ImportOptions, ImportReport, import_edge_list};
pub use graph_source::{GraphSource, LoadOptions, Properties};
pub use load::load;
pub use options::{Columns, EdgeListOptions, Format, Header, IdKind, Numbering, Progress};
pub use outcome::{ImportProgress, ImportStage, LoadError, Loaded};
pub use table::import_tables;
