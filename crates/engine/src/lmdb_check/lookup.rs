//! Looking up one key in a snapshot of an LMDB data file, with every page on the way checked.
//!
//! What LMDB would follow blindly is verified first: own number, kind and bounds of each page,
//! place and order of its nodes, the header of the value's overflow run. Pages are read with plain
//! reads, so that nothing damaged can end in a signal.
//!
//! Whoever looks up keeps the snapshot alive with a read transaction: then none of its pages is
//! written to (LMDB never reuses a page that a live transaction can see).
//!
//! Cost: one read of a page per level, and of 16 bytes for a value with pages of its own.

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
    pub(crate) at: u64,
    pub(crate) size: u64,
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
            return self.value(file, page, node).map(Some);
        }
        Ok(None)
    }

    fn value(&self, file: &File, page: u64, node: &Node<'_>) -> Result<Place, String> {
        let size = node.size;
        if !node.big {
            return Ok(Place { at: page * self.page_bytes + node.data_at as u64, size });
        }
        let run = node.target;
        self.expect_page(run)?;
        let mut head = [0; PAGE_HEADER_BYTES];
        let start = run * self.page_bytes;
        read_at(file, run, &mut head, start)?;
        expect(run, "its number", number::<8>(&head, 0), run)?;
        expect(run, "its kind", number::<2>(&head, PAGE_FLAGS), P_OVERFLOW)?;
        let pages = number::<4>(&head, PAGE_RUN);
        let needed = (PAGE_HEADER_BYTES as u64 + size).div_ceil(self.page_bytes);
        if pages < needed {
            return bad(run, format_args!("{pages} pages, but its value takes {needed}"));
        }
        self.expect_page(run + needed - 1)?;
        Ok(Place { at: start + PAGE_HEADER_BYTES as u64, size })
    }

    fn expect_page(&self, page: u64) -> Result<(), String> {
        if (METAS..=self.last_page).contains(&page) {
            return Ok(());
        }
        bad(page, "there is no such page, which another one names")
    }
}
