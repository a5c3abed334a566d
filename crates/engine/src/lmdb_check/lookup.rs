//! Looking up one key in a snapshot of an LMDB data file, with every page on the way checked.
//!
//! What LMDB would follow blindly is verified first: own number, kind and bounds of each page,
//! place and order of its nodes, the header of the value's overflow run. Pages are read with plain
//! reads, so that nothing damaged can end in a signal.
//!
//! Whoever looks up keeps the snapshot alive with a read transaction: then none of its pages is
//! written to (LMDB never reuses a page that a live transaction can see).
//!
//! Cost: one read of a page per level.

use std::fs::File;

use super::format::{
    METAS, Meta, NO_PAGE, Node, P_BRANCH, P_LEAF, P_OVERFLOW, PAGE_FLAGS, PAGE_HEADER_BYTES,
    PAGE_RUN, bad, expect, nodes, number, read_at,
};
use super::{DEPTH_MAX, KEY_BYTES_MAX};

/// One snapshot of a data file.
#[derive(Debug)]
pub(crate) struct Snapshot {
    page_bytes: u64,
    last_page: u64,
    root: u64,
    depth: u64,
}

/// Where in the file a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where it begins, with the header of its pages if it has some of its own.
    pub(crate) at: u64,
    /// Bytes of the header.
    pub(crate) head: usize,
    /// Bytes of the value.
    pub(crate) size: u64,
    page: u64,
}

impl Snapshot {
    /// The newest snapshot of the file. Nobody may be writing to it meanwhile.
    pub(crate) fn newest(file: &File) -> Result<Self, String> {
        let meta = Meta::newest(file)?;
        let Meta { page_bytes, last_page, main, page, .. } = meta;
        match (main.root, main.depth) {
            (NO_PAGE, 0) | (0..NO_PAGE, 1..=DEPTH_MAX) => {}
            (_, depth) => return bad(page, format_args!("a tree of {depth} levels and its root")),
        }
        Ok(Self { page_bytes, last_page, root: main.root, depth: main.depth })
    }

    /// Where the value of `key` is; `None` if there is none.
    pub(crate) fn find(&self, file: &File, key: &[u8]) -> Result<Option<Place>, String> {
        let mut page = self.root;
        let mut bytes = vec![0; self.page_bytes as usize];
        for level in (1..=self.depth).rev() {
            self.expect_page(page)?;
            let start = page * self.page_bytes;
            read_at(file, page, &mut bytes, start)?;
            let is_leaf = level == 1;
            let nodes = nodes(page, &bytes, if is_leaf { P_LEAF } else { P_BRANCH })?;
            // The first key of a branch means nothing: it stands for everything below the second.
            let keys = &nodes[usize::from(!is_leaf)..];
            if keys.iter().any(|n| n.key.is_empty() || n.key.len() > KEY_BYTES_MAX)
                || keys.windows(2).any(|two| two[0].key >= two[1].key)
            {
                return bad(page, "its keys are out of order");
            }
            let below = keys.partition_point(|n| n.key <= key);
            if !is_leaf {
                page = nodes[below].target;
                continue;
            }
            let Some(node) = below.checked_sub(1).map(|i| &keys[i]).filter(|n| n.key == key) else {
                return Ok(None);
            };
            return self.place(page, node).map(Some);
        }
        Ok(None)
    }

    fn place(&self, page: u64, node: &Node<'_>) -> Result<Place, String> {
        let size = node.size;
        if !node.big {
            let at = page * self.page_bytes + node.data_at as u64;
            return Ok(Place { at, head: 0, size, page });
        }
        let run = node.target;
        self.expect_page(run)?;
        self.expect_page(run + self.pages_for(size) - 1)?;
        Ok(Place { at: run * self.page_bytes, head: PAGE_HEADER_BYTES, size, page: run })
    }

    fn pages_for(&self, size: u64) -> u64 {
        (PAGE_HEADER_BYTES as u64 + size).div_ceil(self.page_bytes)
    }

    /// Checks the header of a value's pages, if it has some of its own; returns the value. `bytes`
    /// are those at the place.
    ///
    /// Not a read of its own: that would be one more, and the system would no longer see that
    /// values are read in order.
    pub(crate) fn value_of<'b>(&self, place: &Place, bytes: &'b [u8]) -> Result<&'b [u8], String> {
        let (head, value) = bytes.split_at_checked(place.head).unwrap_or_default();
        if place.head > 0 {
            let page = place.page;
            expect(page, "its number", number::<8>(head, 0), page)?;
            expect(page, "its kind", number::<2>(head, PAGE_FLAGS), P_OVERFLOW)?;
            let (pages, needed) = (number::<4>(head, PAGE_RUN), self.pages_for(place.size));
            if pages < needed {
                return bad(page, format_args!("{pages} pages, but its value takes {needed}"));
            }
        }
        Ok(value)
    }

    fn expect_page(&self, page: u64) -> Result<(), String> {
        if (METAS..=self.last_page).contains(&page) {
            return Ok(());
        }
        bad(page, "there is no such page, which another one names")
    }
}
