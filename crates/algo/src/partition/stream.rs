//! One pass over the vertices that places each by the neighbours placed before it.
//!
//! Method: a part is judged by the neighbours in it and its size. All rules prefer, among parts
//! without neighbours, the smallest; so only the parts of neighbours and the smallest part are
//! looked at. Further passes take each vertex out of its part and place it anew, now knowing all
//! its neighbours (Nishimura and Ugander, "Restreaming graph partitioning", KDD 2013).
//!
//! Cost: O(m + n log parts) per pass. *Memory*: 4 bytes per vertex and about 60 per part.

use std::collections::BTreeSet;

use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Part of a vertex that has none yet.
const NONE: u32 = u32::MAX;

/// Upper estimate of memory in bytes beyond the graph.
pub(super) fn bytes(n: u64, parts: u32) -> u64 {
    4 * n + 64 * u64::from(parts)
}

/// Places every vertex in the part with the highest `score(neighbours in it, its size)` that holds
/// less than `capacity`; of equal ones in the smallest, then in the one of the smallest number.
pub(super) fn place(
    graph: &Csr,
    (parts, capacity, passes): (u32, u32, u32),
    score: impl Fn(u32, u32) -> f64,
    control: &Control<'_>,
) -> Result<Vec<u32>> {
    super::require_parts(parts)?;
    if passes == 0 {
        return Err(Error::invalid("max_iterations is 0; it takes at least 1 pass"));
    }
    let n = graph.vertices();
    let mut of = vec![NONE; n as usize];
    let mut sizes = vec![0u32; parts as usize];
    let mut by_size: BTreeSet<(u32, u32)> = (0..parts).map(|part| (0, part)).collect();
    let mut near = vec![0u32; parts as usize];
    let mut touched = Vec::new();
    let mut resize = |sizes: &mut [u32], part: u32, size: u32| {
        by_size.remove(&(sizes[part as usize], part));
        by_size.insert((size, part));
        sizes[part as usize] = size;
        by_size.first().map_or(0, |smallest| smallest.1)
    };
    let (mut smallest, mut work) = (0, 0);
    for pass in 0..passes {
        for v in 0..n {
            if of[v as usize] != NONE {
                let part = std::mem::replace(&mut of[v as usize], NONE);
                let size = sizes[part as usize] - 1;
                smallest = resize(&mut sizes, part, size);
            }
            for piece in graph.of(v).chunks(1 << 16) {
                work += piece.len() + 1;
                if work >= 1 << 16 {
                    control.check()?;
                    work = 0;
                }
                for &u in piece {
                    let part = of[u as usize];
                    if part != NONE {
                        if near[part as usize] == 0 {
                            touched.push(part);
                        }
                        near[part as usize] += 1;
                    }
                }
            }
            let size = |part: u32| sizes[part as usize];
            let mut best = (score(near[smallest as usize], size(smallest)), smallest);
            for &part in touched.iter().filter(|part| size(**part) < capacity) {
                let points = score(near[part as usize], size(part));
                let first = (size(part), part) < (size(best.1), best.1);
                if points > best.0 || points == best.0 && first {
                    best = (points, part);
                }
            }
            of[v as usize] = best.1;
            let size = sizes[best.1 as usize] + 1;
            smallest = resize(&mut sizes, best.1, size);
            touched.drain(..).for_each(|part| near[part as usize] = 0);
        }
        control.check()?;
        control.report(u64::from(pass) + 1, u64::from(passes));
    }
    Ok(of)
}
