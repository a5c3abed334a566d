//! Structure check of an LMDB data file, made before LMDB itself maps it.
//!
//! LMDB follows page numbers and offsets without looking at them: a flipped bit or a file cut short
//! ends in a signal. So its newest snapshot is walked here first, with plain reads.
//!
//! Checked: both metas (place, magic, version, page size, consecutive txnids on their own pages);
//! page numbers within the file and `last_pg`, none used twice, nor both free and in use; header of
//! every page (own number, exact flags for its level, bounds); nodes packed without gap or overlap;
//! flags and sizes of nodes; key order within and across pages; overflow runs long enough; lists of
//! free pages (length, range, order); depth and number of entries. Pages past the end of the file
//! are fine if all are listed free: LMDB never writes a page that is taken and freed in one go.
//!
//! Not checked: values, pages in use by nothing, page counts of the metas, the older snapshot.
//! Cost: reads branch and leaf pages, free lists, 16 bytes per overflow run; one bit per page.

use std::fs::File;
use std::path::Path;

mod format;
mod lookup;
#[cfg(test)]
mod tests;

pub(crate) use lookup::{Place, Snapshot};

use format::{
    METAS, Meta, NO_PAGE, Node, P_BRANCH, P_LEAF, P_OVERFLOW, PAGE_FLAGS, PAGE_HEADER_BYTES,
    PAGE_RUN, Tree, bad, expect, nodes, number, read_at,
};

/// `CURSOR_STACK`: LMDB does not go deeper.
const DEPTH_MAX: u64 = 32;
/// `MDB_MAXKEYSIZE`.
const KEY_BYTES_MAX: usize = 511;

/// The walk over one snapshot.
struct Walk<'a> {
    file: &'a File,
    meta: &'a Meta,
    /// Whole pages in the file.
    pages: u64,
    /// A bit per page: in use or listed free.
    known: Vec<u64>,
    /// No key that follows may be below this, nor be it if `bound_taken`.
    bound: Vec<u8>,
    bound_taken: bool,
    entries: u64,
    visit: &'a mut dyn FnMut(Entry<'_>),
    /// Takes what is wrong; an error ends the walk.
    found: &'a mut dyn FnMut(String) -> Result<(), String>,
}

/// An entry of the data: its key, and where in the file its value is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) at: u64,
    pub(crate) size: u64,
}

impl Walk<'_> {
    fn claim(&mut self, by: u64, page: u64, is_free: bool) -> Result<(), String> {
        if page < METAS || page > self.meta.last_page {
            return bad(by, format_args!("there is no page {page}, which it names"));
        }
        if !is_free && page >= self.pages {
            return bad(by, format_args!("page {page}, which it names, is past the file's end"));
        }
        let bit = 1 << (page % 64);
        match self.known.get_mut((page / 64) as usize) {
            Some(word) if *word & bit == 0 => *word |= bit,
            _ => return bad(by, format_args!("page {page}, which it names, has another use")),
        }
        Ok(())
    }

    fn tree(&mut self, tree: Tree) -> Result<(), String> {
        let meta = self.meta.page;
        (self.bound_taken, self.entries) = (false, 0);
        self.bound.clear();
        match (tree.root, tree.depth) {
            (NO_PAGE, 0) => {}
            (NO_PAGE, _) | (_, 0) => return bad(meta, "a tree has a root or levels, not both"),
            (_, 1..=DEPTH_MAX) => {
                if let Err(what) = self.page(tree, meta, tree.root, tree.depth) {
                    (self.found)(what)?;
                }
            }
            (_, depth) => return bad(meta, format_args!("a tree has {depth} levels")),
        }
        expect(meta, "the number of entries", tree.entries, self.entries)
    }

    fn page(&mut self, tree: Tree, by: u64, page: u64, level: u64) -> Result<(), String> {
        self.claim(by, page, false)?;
        let mut bytes = vec![0; self.meta.page_bytes as usize];
        let start = page * self.meta.page_bytes;
        read_at(self.file, page, &mut bytes, start)?;
        let kind = if level > 1 { P_BRANCH } else { P_LEAF };
        for (index, node) in nodes(page, &bytes, kind)?.into_iter().enumerate() {
            if let Err(what) = self.node(tree, page, index, level, &node, start) {
                (self.found)(what)?;
            }
        }
        Ok(())
    }

    fn node(
        &mut self,
        tree: Tree,
        page: u64,
        index: usize,
        level: u64,
        node: &Node<'_>,
        start: u64,
    ) -> Result<(), String> {
        let is_leaf = level == 1;
        if is_leaf || index > 0 {
            self.key(tree, page, node.key, is_leaf)?;
        }
        if !is_leaf {
            return self.page(tree, page, node.target, level - 1);
        }
        self.entries += 1;
        let at = if node.big { self.run(page, node)? } else { start + node.data_at as u64 };
        if tree.is_free_list {
            return self.free_pages(page, at, node.size);
        }
        (self.visit)(Entry { key: node.key, at, size: node.size });
        Ok(())
    }

    /// Checks a key's size, and that it comes after everything before it.
    fn key(&mut self, tree: Tree, page: u64, key: &[u8], is_entry: bool) -> Result<(), String> {
        let mut key = key.to_vec();
        if tree.is_free_list {
            let txnid = number::<8>(&key, 0);
            if key.len() != 8 || !(1..=self.meta.txnid).contains(&txnid) {
                return bad(page, "a key of the free list is not a transaction's number");
            }
            key.reverse();
        } else if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return bad(page, format_args!("a key has {} bytes", key.len()));
        }
        if key < self.bound || (self.bound_taken && key == self.bound) {
            return bad(page, "its keys are out of order");
        }
        (self.bound, self.bound_taken) = (key, is_entry);
        Ok(())
    }

    /// Checks the overflow run of a node; returns where in the file its data starts.
    fn run(&mut self, by: u64, node: &Node<'_>) -> Result<u64, String> {
        let page = node.target;
        self.claim(by, page, false)?;
        let mut head = [0; PAGE_HEADER_BYTES];
        let start = page * self.meta.page_bytes;
        read_at(self.file, page, &mut head, start)?;
        expect(page, "its number", number::<8>(&head, 0), page)?;
        expect(page, "its kind", number::<2>(&head, PAGE_FLAGS), P_OVERFLOW)?;
        let run = number::<4>(&head, PAGE_RUN);
        let needed = (PAGE_HEADER_BYTES as u64 + node.size).div_ceil(self.meta.page_bytes);
        if run < needed {
            return bad(page, format_args!("{run} pages, but its value takes {needed}"));
        }
        (1..run).try_for_each(|next| self.claim(page, page + next, false))?;
        Ok(start + PAGE_HEADER_BYTES as u64)
    }

    /// Checks a list of free pages: its length, then that many numbers, highest first.
    fn free_pages(&mut self, page: u64, mut at: u64, size: u64) -> Result<(), String> {
        let (end, mut chunk) = (at + size, [0; 4096]);
        let (mut left, mut previous) = (None, NO_PAGE);
        while at < end && left != Some(0) {
            let part = &mut chunk[..(end - at).min(4096) as usize];
            read_at(self.file, page, part, at)?;
            at += part.len() as u64;
            for free in part.chunks_exact(8).map(|word| number::<8>(word, 0)) {
                left = match left {
                    None => Some(free),
                    Some(0) => break,
                    Some(_) if free >= previous => return bad(page, "free pages out of order"),
                    Some(n) => {
                        self.claim(page, free, true)?;
                        previous = free;
                        Some(n - 1)
                    }
                };
            }
        }
        if left == Some(0) && size.is_multiple_of(8) {
            return Ok(());
        }
        bad(page, "a list of free pages is longer than its value")
    }
}

/// Whether LMDB can open and walk this data file; if not, which page has what wrong with it.
pub(crate) fn check(data_file: &Path) -> Result<(), String> {
    let (file, bytes) = open(data_file)?;
    let meta = Meta::newest(&file)?;
    walk_snapshot(&file, bytes, &meta, &mut |_| (), &mut Err)
}

/// Walks the data file as far as it can be walked: gives `visit` every entry of the data, in order,
/// and `found` everything that is wrong. Of two meta pages the whole one is taken.
pub(crate) fn walk(
    data_file: &Path,
    visit: &mut dyn FnMut(Entry<'_>),
    found: &mut dyn FnMut(String),
) -> Result<(), String> {
    let (file, bytes) = open(data_file)?;
    let meta = Meta::newest(&file).or_else(|what| {
        found(what.clone());
        Meta::only(&file).ok_or(what)
    });
    let Ok(meta) = meta else { return Ok(()) };
    let mut note = |what| {
        found(what);
        Ok(())
    };
    walk_snapshot(&file, bytes, &meta, visit, &mut note).or_else(note)
}

/// Whether LMDB has made this data file and not got as far as a commit, nor perhaps the disk as far
/// as both of its first pages.
pub(crate) fn is_unwritten(file: &File) -> bool {
    Meta::newest(file).is_err() && !Meta::is_written(file)
}

fn open(data_file: &Path) -> Result<(File, u64), String> {
    let file = File::open(data_file).map_err(|e| format!("cannot be opened: {e}"))?;
    let bytes = file.metadata().map_err(|e| format!("cannot be examined: {e}"))?.len();
    Ok((file, bytes))
}

fn walk_snapshot(
    file: &File,
    bytes: u64,
    meta: &Meta,
    visit: &mut dyn FnMut(Entry<'_>),
    found: &mut dyn FnMut(String) -> Result<(), String>,
) -> Result<(), String> {
    let pages = bytes / meta.page_bytes;
    // Pages past the end are free, and it takes 8 bytes of the file to say so of each.
    if pages < METAS || meta.last_page >= pages + bytes / 8 {
        let last = meta.last_page;
        return bad(meta.page, format_args!("the last page is {last}, the file has {pages}"));
    }
    let mut known = Vec::new();
    let words = (meta.last_page / 64 + 1) as usize;
    known.try_reserve_exact(words).map_err(|e| format!("cannot be checked: {e}"))?;
    known.resize(words, 0);
    let (bound, bound_taken, entries) = (Vec::new(), false, 0);
    let mut walk = Walk { file, meta, pages, known, bound, bound_taken, entries, visit, found };
    for tree in [meta.free, meta.main] {
        if let Err(what) = walk.tree(tree) {
            (walk.found)(what)?;
        }
    }
    for page in pages..=meta.last_page {
        let word = walk.known.get((page / 64) as usize).copied().unwrap_or(0);
        if word >> (page % 64) & 1 == 0 {
            (walk.found)(format!("page {page}: past the file's end, but not free"))?;
        }
    }
    Ok(())
}
