//! Links of a new vector.

use crate::blocks::Neighbours;
use crate::record::Sought;
use crate::search::{self, Met, Scratch};

/// A vector is not linked to if one that is linked to is nearer to it by this factor, of squares:
/// the greater, the longer the links that stay (DiskANN, section 2.3).
const ALPHA: f32 = 1.2;

/// Links a slot that is there.
pub(crate) fn add(neighbours: &Neighbours, slot: u32, scratch: &mut Scratch) {
    let Some(place) = neighbours.slot(slot) else { return };
    scratch.sought.set_record(place.record);
    search::run(neighbours, neighbours.shape.effort as usize, scratch, Some(slot), false);
    let is_same = |met: &Met| neighbours.slot(met.slot()).is_some_and(|s| s.key() == place.key());
    if scratch.near.iter().any(is_same) {
        return;
    }
    let mut candidates = std::mem::take(&mut scratch.expanded);
    candidates.extend_from_slice(&scratch.near);
    let links = choose(neighbours, &mut candidates, scratch);
    scratch.expanded = candidates;
    {
        let _held = neighbours.lock(slot);
        // Others may have linked back meanwhile: those links stay.
        let there: Vec<u32> = place.links().filter(|link| !links.contains(link)).collect();
        let mut all = links.clone();
        all.extend(there);
        place.set_links(&all);
    }
    for link in &links {
        link_back(neighbours, *link, slot, scratch);
    }
}

/// Sets the links of a slot that an image has.
pub(crate) fn restore(neighbours: &Neighbours, slot: u32, links: &[u32]) {
    let _held = neighbours.lock(slot);
    if let Some(place) = neighbours.slot(slot) {
        place.set_links(links);
    }
}

/// Chooses links among candidates (RobustPrune, DiskANN algorithm 2).
fn choose(neighbours: &Neighbours, candidates: &mut Vec<Met>, scratch: &mut Scratch) -> Vec<u32> {
    candidates
        .sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.slot().cmp(&b.slot())));
    candidates.dedup_by_key(|met| met.slot());
    let degree = neighbours.shape.degree as usize;
    let mut links = Vec::with_capacity(degree);
    for met in candidates.iter() {
        if links.len() == degree {
            break;
        }
        let Some(place) = neighbours.slot(met.slot()) else { continue };
        let record = place.record;
        let is_covered = |chosen: &Sought| ALPHA * chosen.distance(record) < met.distance;
        if scratch.chosen[..links.len()].iter().any(is_covered) {
            continue;
        }
        if scratch.chosen.len() == links.len() {
            scratch.chosen.push(Sought::default());
        }
        scratch.chosen[links.len()].set_record(record);
        links.push(met.slot());
    }
    links
}

/// Links `from` to `to`, and chooses among its links if they are too many.
fn link_back(neighbours: &Neighbours, from: u32, to: u32, scratch: &mut Scratch) {
    let Some(place) = neighbours.slot(from) else { return };
    let _held = neighbours.lock(from);
    if place.links().any(|link| link == to) || place.push_link(to) {
        return;
    }
    scratch.sought.set_record(place.record);
    let distance = |slot: u32| {
        let to = neighbours.slot(slot)?;
        Some(Met::new(slot, scratch.sought.distance(to.record)))
    };
    let mut candidates: Vec<Met> = place.links().chain([to]).filter_map(distance).collect();
    let links = choose(neighbours, &mut candidates, scratch);
    place.set_links(&links);
}
