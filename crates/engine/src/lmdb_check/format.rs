//! Layouts of an LMDB data file: those of `mdb.c`, data version 1, on a 64-bit little-endian
//! machine. Numbers are byte offsets:
//!
//! ```text
//!  MDB_page    0 pgno     8 pad    10 flags  12 lower  14 upper  16 ptrs[]: u16 offsets of nodes,
//!              (12 pages: u32 on the first page of an overflow run)    packed at the page's end
//!  MDB_meta   16 magic   20 version  24 address  32 mapsize  40 dbs[2]  136 last_pg  144 txnid
//!              pages 0 and 1; transaction N writes page N % 2
//!  MDB_db      0 pad      4 flags   6 depth   8 branch  16 leaf  24 overflow  32 entries  40 root
//!              dbs[0] maps txnid -> pages it freed; its pad is the page size. dbs[1] is the data
//!  MDB_node    0 size     4 flags   6 ksize   8 key, then value or (flag 1) pgno of overflow run
//!              on branch pages 0..6 is the child's pgno; the first key there means nothing
//! ```
//!
//! Reading never panics: what lies outside of the bytes at hand is refused or reads as zero.

use std::fs::File;
use std::os::unix::fs::FileExt;

pub(super) const PAGE_FLAGS: usize = 10;
pub(super) const PAGE_LOWER: usize = 12;
pub(super) const PAGE_UPPER: usize = 14;
pub(super) const PAGE_RUN: usize = 12;
pub(super) const PAGE_HEADER_BYTES: usize = 16;

pub(super) const META_MAGIC: usize = PAGE_HEADER_BYTES;
pub(super) const META_VERSION: usize = 20;
pub(super) const META_FREE: usize = 40;
pub(super) const META_MAIN: usize = 88;
pub(super) const META_LAST_PAGE: usize = 136;
pub(super) const META_TXNID: usize = 144;
pub(super) const META_BYTES: usize = 152;

pub(super) const TREE_FLAGS: usize = 4;
pub(super) const TREE_DEPTH: usize = 6;
pub(super) const TREE_ENTRIES: usize = 32;
pub(super) const TREE_ROOT: usize = 40;
pub(super) const TREE_BYTES: usize = 48;

pub(super) const NODE_FLAGS: usize = 4;
pub(super) const NODE_KEY_SIZE: usize = 6;
pub(super) const NODE_HEADER_BYTES: usize = 8;

const _: () = assert!(PAGE_LOWER == PAGE_FLAGS + 2 && PAGE_UPPER == PAGE_LOWER + 2);
const _: () = assert!(PAGE_RUN == PAGE_LOWER && PAGE_RUN + 4 == PAGE_HEADER_BYTES);
const _: () = assert!(META_VERSION == META_MAGIC + 4 && META_FREE == META_VERSION + 4 + 2 * 8);
const _: () = assert!(META_MAIN == META_FREE + TREE_BYTES);
const _: () = assert!(META_LAST_PAGE == META_MAIN + TREE_BYTES);
const _: () = assert!(META_TXNID == META_LAST_PAGE + 8 && META_BYTES == META_TXNID + 8);
const _: () = assert!(TREE_FLAGS == 4 && TREE_DEPTH == TREE_FLAGS + 2);
const _: () = assert!(TREE_ENTRIES == TREE_DEPTH + 2 + 3 * 8 && TREE_ROOT == TREE_ENTRIES + 8);
const _: () = assert!(TREE_BYTES == TREE_ROOT + 8);
const _: () = assert!(NODE_KEY_SIZE == NODE_FLAGS + 2 && NODE_HEADER_BYTES == NODE_KEY_SIZE + 2);

pub(super) const MAGIC: u64 = 0xBEEF_C0DE;
pub(super) const VERSION: u64 = 1;
pub(super) const PAGE_BYTES_MIN: u64 = 4096;
pub(super) const PAGE_BYTES_MAX: u64 = 0x8000;
pub(super) const METAS: u64 = 2;
pub(super) const NO_PAGE: u64 = u64::MAX;

pub(super) const P_BRANCH: u64 = 1;
pub(super) const P_LEAF: u64 = 2;
pub(super) const P_OVERFLOW: u64 = 4;
pub(super) const P_META: u64 = 8;
pub(super) const F_BIGDATA: u64 = 1;
pub(super) const MDB_INTEGERKEY: u64 = 8;

/// Reads `N` bytes (at most 8) as a number; outside of `bytes` there are only zeros.
pub(super) fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let found = bytes.get(at..).and_then(|b| b.first_chunk::<N>());
    found.map_or(0, |b| b.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte)))
}

pub(super) fn size_at(bytes: &[u8], at: usize) -> usize {
    usize::from(number::<2>(bytes, at) as u16)
}

pub(super) fn bad<T>(page: u64, what: impl std::fmt::Display) -> Result<T, String> {
    Err(format!("page {page}: {what}"))
}

pub(super) fn expect(page: u64, what: &str, found: u64, wanted: u64) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    bad(page, format_args!("{what} is {found:#x}, not {wanted:#x}"))
}

/// One of the two trees, as its meta page describes it.
#[derive(Clone, Copy)]
pub(super) struct Tree {
    pub(super) is_free_list: bool,
    pub(super) depth: u64,
    pub(super) entries: u64,
    pub(super) root: u64,
}

/// What both meta pages have and LMDB relies on.
pub(super) struct Meta {
    pub(super) page: u64,
    pub(super) page_bytes: u64,
    pub(super) txnid: u64,
    pub(super) last_page: u64,
    pub(super) free: Tree,
    pub(super) main: Tree,
}

impl Meta {
    fn read(file: &File, page: u64, page_bytes: u64) -> Result<Self, String> {
        let mut bytes = [0; META_BYTES];
        read_at(file, page, &mut bytes, page * page_bytes)?;
        expect(page, "its number", number::<8>(&bytes, 0), page)?;
        expect(page, "its kind", number::<2>(&bytes, PAGE_FLAGS), P_META)?;
        expect(page, "the magic number", number::<4>(&bytes, META_MAGIC), MAGIC)?;
        expect(page, "the format version", number::<4>(&bytes, META_VERSION), VERSION)?;
        let tree = |at: usize, flags: u64| {
            expect(page, "the flags of a tree", number::<2>(&bytes, at + TREE_FLAGS), flags)?;
            Ok::<_, String>(Tree {
                is_free_list: at == META_FREE,
                depth: number::<2>(&bytes, at + TREE_DEPTH),
                entries: number::<8>(&bytes, at + TREE_ENTRIES),
                root: number::<8>(&bytes, at + TREE_ROOT),
            })
        };
        let meta = Self {
            page,
            page_bytes: number::<4>(&bytes, META_FREE),
            txnid: number::<8>(&bytes, META_TXNID),
            last_page: number::<8>(&bytes, META_LAST_PAGE),
            free: tree(META_FREE, MDB_INTEGERKEY)?,
            main: tree(META_MAIN, 0)?,
        };
        expect(page, "the padding of a tree", number::<4>(&bytes, META_MAIN), 0)?;
        if !meta.page_bytes.is_power_of_two()
            || !(PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&meta.page_bytes)
        {
            return bad(page, format_args!("no pages have {} bytes", meta.page_bytes));
        }
        if meta.last_page < METAS - 1 {
            return bad(page, "the last page comes before the second");
        }
        Ok(meta)
    }

    /// The meta page that LMDB would use: the one written later.
    pub(super) fn newest(file: &File) -> Result<Self, String> {
        let first = Self::read(file, 0, 0)?;
        let second = Self::read(file, 1, first.page_bytes)?;
        expect(1, "the page size", second.page_bytes, first.page_bytes)?;
        let fresh = first.txnid == 0 && second.txnid == 0;
        let placed = first.txnid.is_multiple_of(2) && first.txnid.abs_diff(second.txnid) == 1;
        if !fresh && !placed {
            let (a, b) = (first.txnid, second.txnid);
            return bad(0, format_args!("transactions {a} here and {b} on page 1 do not follow"));
        }
        Ok(if first.txnid < second.txnid { second } else { first })
    }

    /// The meta pages that are whole. Page sizes are tried in turn, since only the first page says
    /// where the second is.
    fn whole(file: &File) -> [Option<Self>; 2] {
        let mut sizes = (12..=15).map(|bits| 1 << bits);
        let of = |size| Self::read(file, 1, size).ok().filter(|meta| meta.page_bytes == size);
        [Self::read(file, 0, 0).ok(), sizes.find_map(of)]
    }

    /// Whether a meta page says that something was committed.
    pub(super) fn is_written(file: &File) -> bool {
        Self::whole(file).into_iter().flatten().any(|meta| meta.txnid > 0)
    }

    /// The meta page that is whole, where the other one is not.
    pub(super) fn only(file: &File) -> Option<Self> {
        let [first, second] = Self::whole(file);
        // Two whole pages that contradict each other: neither can be trusted.
        match (first, second) {
            (Some(meta), None) | (None, Some(meta)) => Some(meta),
            _ => None,
        }
    }
}

pub(super) fn read_at(file: &File, page: u64, bytes: &mut [u8], at: u64) -> Result<(), String> {
    file.read_exact_at(bytes, at).or_else(|e| bad(page, format_args!("cannot be read: {e}")))
}

/// A node whose header, key and data are known to lie within its page.
pub(super) struct Node<'a> {
    pub(super) big: bool,
    pub(super) size: u64,
    /// Page number of the child, or of the overflow run.
    pub(super) target: u64,
    pub(super) key: &'a [u8],
    /// Where its data starts on the page.
    pub(super) data_at: usize,
}

/// Checks the header of a branch or leaf page and the place of every node on it.
pub(super) fn nodes(page: u64, bytes: &[u8], kind: u64) -> Result<Vec<Node<'_>>, String> {
    expect(page, "its number", number::<8>(bytes, 0), page)?;
    expect(page, "its kind", number::<2>(bytes, PAGE_FLAGS), kind)?;
    let (lower, upper) = (size_at(bytes, PAGE_LOWER), size_at(bytes, PAGE_UPPER));
    let nodes_min = if kind == P_BRANCH { 2 } else { 1 };
    let shape = lower % 2 == 0 && lower >= PAGE_HEADER_BYTES + 2 * nodes_min;
    if !shape || lower > upper || upper > bytes.len() || upper % 2 != 0 {
        return bad(page, format_args!("free space from {lower} to {upper} is impossible"));
    }
    let count = (lower - PAGE_HEADER_BYTES) / 2;
    let mut nodes = Vec::with_capacity(count);
    let mut spans = Vec::with_capacity(count);
    for index in 0..count {
        let at = size_at(bytes, PAGE_HEADER_BYTES + 2 * index);
        let data_at = at + NODE_HEADER_BYTES + size_at(bytes, at + NODE_KEY_SIZE);
        let Some(key) = bytes.get(at + NODE_HEADER_BYTES..data_at) else {
            return bad(page, format_args!("node {index} at {at} leaves the page"));
        };
        let (size, flags) = (number::<4>(bytes, at), number::<2>(bytes, at + NODE_FLAGS));
        let (data_bytes, target) = match (kind, flags) {
            (P_BRANCH, _) => (0, number::<6>(bytes, at)),
            (_, F_BIGDATA) => (8, number::<8>(bytes, data_at)),
            (_, 0) => (size, 0),
            _ => return bad(page, format_args!("node {index} has flags {flags:#x}")),
        };
        let end = (data_at as u64 + data_bytes).next_multiple_of(2);
        spans.push((at as u64, end));
        nodes.push(Node { big: flags == F_BIGDATA, size, target, key, data_at });
    }
    spans.sort_unstable();
    let packed = spans.iter().try_fold(upper as u64, |at, span| (span.0 == at).then_some(span.1));
    if packed != Some(bytes.len() as u64) {
        return bad(page, "its nodes overlap, leave gaps, or leave the page");
    }
    Ok(nodes)
}
