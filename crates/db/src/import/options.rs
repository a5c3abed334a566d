//! What the caller may choose, and what the reader tells while it works.

/// How to read an edge list. The default recognises everything by itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EdgeListOptions {
    /// Format of the text. Default: by file name and first record.
    pub format: Format,
    /// Whether the first record names the columns. Default: by its content.
    pub header: Header,
    /// What an id is. Default: decided by the first record.
    pub ids: IdKind,
    /// How numeric ids become vertex numbers.
    pub numbering: Numbering,
    /// What to do with fields that are not endpoints.
    pub columns: Columns,
    /// Parsing threads; 0 means one per core.
    pub threads: usize,
    /// Refuse text longer than this after decompression, in bytes. Default: 64 GiB.
    pub text_bytes_max: u64,
}

/// Default of [`EdgeListOptions::text_bytes_max`]. Text of an edge takes some 12 bytes, so this is
/// above the 2^32 edges of the largest public graphs, and a small compressed file cannot ask for
/// more memory than a large machine has.
const TEXT_BYTES_MAX: u64 = 64 << 30;

impl Default for EdgeListOptions {
    fn default() -> Self {
        Self {
            format: Format::Auto,
            header: Header::Auto,
            ids: IdKind::Auto,
            numbering: Numbering::Compact,
            columns: Columns::Numbers,
            threads: 0,
            text_bytes_max: TEXT_BYTES_MAX,
        }
    }
}

impl EdgeListOptions {
    /// Number of threads to start.
    pub(super) fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

/// Format of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// By the extension; without a known one, CSV if the first record has a comma, else SNAP.
    Auto,
    /// Fields separated by any number of spaces and tabs.
    Snap,
    /// Fields separated by commas, optionally quoted; a quoted field ends on its own line.
    Csv,
    /// Fields separated by single tabs, optionally quoted.
    Tsv,
    /// METIS adjacency: every undirected edge stands in the lists of both of its ends.
    Metis,
}

/// Whether the first record names the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// It does if two of its fields are known endpoint names (`from`, `source`, `src`, `to`,
    /// `target`, `dst`, ...), or if its first two fields are no numbers while those of the second
    /// record are.
    Auto,
    /// It does. Endpoints are found by name, else they are the first two fields.
    Present,
    /// It is data; the first two fields are the endpoints.
    Absent,
}

/// What an id in the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdKind {
    /// Numbers if both ids of the first record are, else texts. A later id that is no number is
    /// then an error, not a silent change of meaning.
    Auto,
    /// Whole numbers from 0 to 2^64 - 1.
    Numbers,
    /// Any text; `7` and `07` are two vertices.
    Texts,
}

/// How numeric ids become vertex numbers. (Texts are numbered in order of first appearance.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// Only ids that occur become vertices, and they keep their order: ids without gaps from 0
    /// stay as they are, others close ranks (10, 40, 20 become 0, 2, 1).
    Compact,
    /// Ids stay as they are; an id that does not occur becomes a vertex without edges.
    Keep,
}

/// What to do with fields that are not endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Read them as numbers; one that is no finite number is an error, and every record must have
    /// the same number of fields.
    Numbers,
    /// Skip them.
    Ignore,
}

/// How far a read has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of decompressed text parsed so far.
    pub bytes_done: u64,
    /// Bytes of decompressed text.
    pub bytes_total: u64,
    /// Edges found so far.
    pub edges: u64,
}
