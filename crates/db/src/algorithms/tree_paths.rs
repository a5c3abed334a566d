//! Paths of a tree of shortest paths, one to each vertex that is reached.
//!
//! All paths of a graph that is one long chain take memory in the square of its length. So only the
//! tree is kept, and a path is made when its row is read.

use telar_algo::paths::path::{NONE, Tree};

/// A tree, and the vertices that have a path in it.
#[derive(Debug)]
pub(super) struct TreePaths {
    tree: Tree,
    /// Vertices with a path, ascending: one for each row.
    targets: Vec<u32>,
    /// First vertex of the path to each vertex, and its number of vertices; 0 if there is none.
    paths: Vec<(u32, u32)>,
}

impl TreePaths {
    pub(super) fn new(tree: Tree) -> Self {
        let n = tree.distances.len() as u32;
        let targets: Vec<u32> =
            (0..n).filter(|v| tree.distances[*v as usize].is_finite()).collect();
        let mut paths = vec![(NONE, 0); n as usize];
        let mut open = Vec::new();
        for &target in &targets {
            // Up to a vertex whose path is known, and back.
            let (mut v, mut known) = (target, (NONE, 0));
            while v != NONE {
                known = paths[v as usize];
                if known.1 > 0 {
                    break;
                }
                open.push(v);
                v = tree.predecessors[v as usize];
            }
            while let Some(v) = open.pop() {
                let root = if known.1 == 0 { v } else { known.0 };
                known = (root, known.1 + 1);
                paths[v as usize] = known;
            }
        }
        Self { tree, targets, paths }
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Last vertex of each path.
    pub(super) fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// First vertex of the path to `target`.
    pub(super) fn root(&self, target: u32) -> u32 {
        self.paths[target as usize].0
    }

    /// Number of vertices of the path of a row.
    pub(super) fn length(&self, row: usize) -> usize {
        self.paths[self.targets[row] as usize].1 as usize
    }

    /// Vertices of the path of a row.
    pub(super) fn path(&self, row: usize) -> Vec<u32> {
        let mut vertices = vec![NONE; self.length(row)];
        let mut v = self.targets[row];
        for place in vertices.iter_mut().rev() {
            *place = v;
            v = self.tree.predecessors[v as usize];
        }
        vertices
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.targets)
            + size_of_val(&*self.paths)
            + size_of_val(&*self.tree.distances)
            + size_of_val(&*self.tree.predecessors)
    }
}

#[test]
fn paths_of_a_tree_with_two_roots() {
    let tree = Tree {
        distances: vec![0.0, 1.0, f64::INFINITY, 3.0, 0.0],
        predecessors: vec![NONE, 0, NONE, 1, NONE],
    };
    let paths = TreePaths::new(tree);
    assert_eq!(paths.targets(), [0, 1, 3, 4]);
    let found: Vec<Vec<u32>> = (0..4).map(|row| paths.path(row)).collect();
    assert_eq!(found, [vec![0], vec![0, 1], vec![0, 1, 3], vec![4]]);
    assert_eq!([0, 1, 3, 4].map(|v| paths.root(v)), [0, 0, 0, 4]);
}
