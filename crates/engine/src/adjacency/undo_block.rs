//! Blocks of undo entries: packed, in the order of lists.
//!
//! ```text
//!  block, as in memory so in checkpoints (integers are varints, runs as in packed.rs)
//!   0 · entries n, 1 to 65,536 · first ts · last ts - first ts
//!   bits of a neighbour b · lowest neighbour
//!   per 128 entries: run of keys, each less the one before
//!                    key = place within the segment << b | neighbour - lowest
//!   run n   (ts - first ts) * 2 + (1 for a delete)
//!   with ordinals, and with times, of inserts and then of deletes, if there are any:
//!           slope (signed) · run of what the line does not tell
//!
//!  ordinal  = slope * (ts - first ts) / 65,536 + what the line does not tell
//!  time     = slope * ordinal / 65,536 + what the line does not tell        (wrapping)
//! ```
//!
//! Entries stand by list, neighbour, ordinal, and then in the order of commits. So gaps are small,
//! and a rebuild need not sort what one block says of a type that is not time-ordered. Ordinals of
//! inserts ascend with commits, and times mostly with ordinals: of both, little is left to store.
//!
//! A block of before (format version 3, first builds) begins with its number of entries, which
//! stand in the order of commits within a list: runs of places, neighbours, timestamps and columns.
//! It is packed anew when it is read.
//!
//! Cost: bench history, bytes per superseded entry.

use telar_graph::codec::{get_varint, get_varint_signed, put_varint, put_varint_signed};

use super::undo::Undo;
use crate::adjacency::{COL_ORDINAL, COLUMNS_MAX, Entry, SEGMENT_BITS, SEGMENT_VERTICES};
use crate::packed::{Run, get_run, put_run};

/// Most entries of a block.
const BLOCK_ENTRIES_MAX: usize = 1 << 16;
/// Gaps packed with one width.
const FRAME: usize = 128;
/// Most lines: a table has one of ordinals if it has a column, and one of times if it has more.
const LINES: usize = 2;
/// Bits of a slope behind the point.
const SLOPE_BITS: u32 = 16;

const CHECKED: &str = "INVARIANT: packed here, or checked when loaded";
const ENDS: &str = "a block of undo entries ends early";

/// A packed run of undo entries.
#[derive(Debug)]
pub(crate) struct UndoBlock {
    entries: usize,
    pub(crate) first_ts: u64,
    pub(crate) last_ts: u64,
    bytes: Box<[u8]>,
}

/// What entries of a block are sorted by.
fn order(e: &Undo) -> (u64, u32, u64) {
    (u64::from(e.local) << 32 | u64::from(e.entry.nbr), e.entry.columns[COL_ORDINAL], e.ts)
}

impl UndoBlock {
    /// Packs entries; of one edge they are in commit order.
    pub(crate) fn pack_all(mut entries: Vec<Undo>, columns: usize) -> Vec<Self> {
        // Stable: what one commit did to an edge stays in its order.
        entries.sort_by_key(order);
        entries.chunks(BLOCK_ENTRIES_MAX).map(|part| Self::pack(part, columns)).collect()
    }

    fn pack(entries: &[Undo], columns: usize) -> Self {
        let first_ts = entries.iter().map(|e| e.ts).min().unwrap_or(0);
        let last_ts = entries.iter().map(|e| e.ts).max().unwrap_or(0);
        let (low, high) = entries
            .iter()
            .fold((u32::MAX, 0), |(low, high), e| (low.min(e.entry.nbr), high.max(e.entry.nbr)));
        let bits = u32::BITS - high.saturating_sub(low).leading_zeros();
        let mut bytes = Vec::new();
        [0, entries.len() as u64, first_ts, last_ts - first_ts, bits.into(), low.into()]
            .into_iter()
            .for_each(|n| put_varint(n, &mut bytes));
        let mut run: Vec<i64> = Vec::with_capacity(entries.len());
        let mut before = 0;
        for frame in entries.chunks(FRAME) {
            run.clear();
            run.extend(frame.iter().map(|e| {
                let key = u64::from(e.local) << bits | u64::from(e.entry.nbr - low);
                (key - std::mem::replace(&mut before, key)).cast_signed()
            }));
            put_run(&run, &mut bytes);
        }
        run.clear();
        run.extend(entries.iter().map(|e| {
            let word = (e.ts - first_ts) << 1 | u64::from(e.delete);
            word.cast_signed()
        }));
        put_run(&run, &mut bytes);
        let mut xs: Vec<i64> = Vec::new();
        for line in 0..columns.min(LINES) {
            for delete in [false, true] {
                xs.clear();
                run.clear();
                for e in entries.iter().filter(|e| e.delete == delete) {
                    let (x, y) = point(line, e, first_ts);
                    xs.push(x);
                    run.push(y);
                }
                if !xs.is_empty() {
                    put_line(&xs, &mut run, &mut bytes);
                }
            }
        }
        Self { entries: entries.len(), first_ts, last_ts, bytes: bytes.into_boxed_slice() }
    }

    /// Takes a block off `bytes`, checking all of it.
    pub(crate) fn take(bytes: &mut &[u8], columns: usize) -> Result<Vec<Self>, &'static str> {
        let all = *bytes;
        if all.first() != Some(&0) {
            return Ok(Self::pack_all(unpack_by_commit(bytes, columns)?, columns));
        }
        let mut found = Unpacked::default();
        let head = unpack(bytes, columns, &mut found)?;
        let mut entries: Vec<Undo> = Vec::new();
        for i in 0..head.entries {
            let word = found.words[i];
            if word >> 1 > head.range {
                return Err("an undo entry is newer than its block");
            }
            if found.keys[i] >> head.bits >= SEGMENT_VERTICES as u64 {
                return Err("an undo entry lies outside its segment");
            }
            let ts = head.first_ts.checked_add(word >> 1);
            let ts = ts.ok_or("an undo entry has an impossible timestamp")?;
            let [place, nbr] = head.place_and_neighbour(found.keys[i]);
            let nbr = u32::try_from(nbr).map_err(|_| "an undo entry leads to no vertex")?;
            let entry = Entry { nbr, ..Entry::simple(0) };
            entries.push(Undo { ts, local: place as u32, delete: word & 1 == 1, entry });
        }
        found.check_ordinals(columns)?;
        for (e, entry) in entries.iter_mut().zip(found.columns_of(columns)) {
            e.entry.columns = entry;
        }
        if !entries.is_sorted_by_key(order) {
            return Err("undo entries are not in order");
        }
        let last_ts = entries.iter().map(|e| e.ts).max().unwrap_or(0);
        let bytes = all[..all.len() - bytes.len()].into();
        Ok(vec![Self { entries: head.entries, first_ts: head.first_ts, last_ts, bytes }])
    }

    /// The entries, as they were packed.
    pub(crate) fn entries(&self, columns: usize) -> Vec<Undo> {
        let mut out = Vec::with_capacity(self.entries);
        self.for_each(columns, &mut Unpacked::default(), |ts, local, entry, delete| {
            out.push(Undo { ts, local, delete, entry });
        });
        out
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// The packed bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Calls `f` with timestamp, place, entry, and whether it is a delete, of each entry.
    ///
    /// PERF: bench history: nothing is checked again, and each run is unpacked in one go.
    #[inline(always)]
    pub(crate) fn for_each(
        &self,
        columns: usize,
        room: &mut Unpacked,
        mut f: impl FnMut(u64, u32, Entry, bool),
    ) {
        let head = unpack(&mut &*self.bytes, columns, room).expect(CHECKED);
        let mut columns = room.columns_of(columns);
        for (key, word) in room.keys.iter().zip(&room.words) {
            let [place, nbr] = head.place_and_neighbour(*key);
            let columns = columns.next().unwrap_or_default();
            let entry = Entry { nbr: nbr as u32, columns };
            f(head.first_ts + (word >> 1), place as u32, entry, word & 1 == 1);
        }
    }
}

/// A point of the line of ordinals (0), or of times.
#[inline(always)]
fn point(line: usize, e: &Undo, first_ts: u64) -> (i64, i64) {
    let ordinal = i64::from(e.entry.columns[COL_ORDINAL]);
    match line {
        0 => ((e.ts - first_ts).cast_signed(), ordinal),
        _ => (ordinal, e.entry.key()),
    }
}

#[inline(always)]
fn on_line(slope: i64, x: i64) -> i64 {
    slope.wrapping_mul(x) >> SLOPE_BITS
}

/// Puts `ys`, which become what the line does not tell of them.
fn put_line(xs: &[i64], ys: &mut [i64], out: &mut Vec<u8>) {
    let ends = |better: fn(i64, i64) -> bool| {
        (1..xs.len()).fold(0, |best, i| if better(xs[i], xs[best]) { i } else { best })
    };
    let (first, last) = (ends(|x, best| x < best), ends(|x, best| x > best));
    let wide = |y: i64| i128::from(y) << SLOPE_BITS;
    let (dx, dy) = (i128::from(xs[last] - xs[first]), wide(ys[last]) - wide(ys[first]));
    let slope = if dx == 0 { 0 } else { i64::try_from(dy / dx).unwrap_or(0) };
    let range = |slope: i64| {
        let rest = xs.iter().zip(ys.iter()).map(|(x, y)| y.wrapping_sub(on_line(slope, *x)));
        let (low, high) =
            rest.fold((i64::MAX, i64::MIN), |(low, high), r| (low.min(r), high.max(r)));
        i128::from(high) - i128::from(low)
    };
    let slope = if range(slope) < range(0) { slope } else { 0 };
    put_varint_signed(slope, out);
    ys.iter_mut().zip(xs).for_each(|(y, x)| *y = y.wrapping_sub(on_line(slope, *x)));
    put_run(ys, out);
}

/// Takes a line off `bytes`, which tells as much as there is in `xs`.
fn take_line(
    bytes: &mut &[u8],
    xs: impl ExactSizeIterator<Item = i64>,
    ys: &mut Vec<u64>,
) -> Result<(), &'static str> {
    if xs.len() == 0 {
        ys.clear();
        return Ok(());
    }
    let slope = get_varint_signed(bytes).map_err(|_| ENDS)?;
    Run::take(bytes, xs.len())?.unpack(xs.len(), ys);
    if slope != 0 {
        for (y, x) in ys.iter_mut().zip(xs) {
            *y = y.wrapping_add_signed(on_line(slope, x));
        }
    }
    Ok(())
}

/// What stands at the beginning of a block.
#[derive(Debug, Clone, Copy)]
struct Head {
    entries: usize,
    first_ts: u64,
    range: u64,
    bits: u32,
    low: u64,
}

impl Head {
    #[inline(always)]
    fn place_and_neighbour(&self, key: u64) -> [u64; 2] {
        [key >> self.bits, self.low + (key & ((1 << self.bits) - 1))]
    }
}

/// Room for the runs of a block, used again for the next.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    keys: Vec<u64>,
    words: Vec<u64>,
    /// Of inserts and of deletes: the timestamps, ordinals, and times.
    ages: [Vec<u64>; 2],
    ordinals: [Vec<u64>; 2],
    times: [Vec<u64>; 2],
    frame: Vec<u64>,
}

impl Unpacked {
    /// The columns of each entry.
    #[inline(always)]
    fn columns_of(&self, columns: usize) -> impl Iterator<Item = [u32; COLUMNS_MAX]> + '_ {
        let mut next = [0; 2];
        let words = if columns == 0 { &[][..] } else { &self.words };
        words.iter().map(move |word| {
            let kind = (word & 1) as usize;
            let at = next[kind];
            next[kind] += 1;
            let time = if columns > 1 { self.times[kind][at].cast_signed() } else { 0 };
            Entry::timed(0, self.ordinals[kind][at] as u32, time).columns
        })
    }

    fn check_ordinals(&self, columns: usize) -> Result<(), &'static str> {
        let beyond = |ordinals: &Vec<u64>| ordinals.iter().any(|o| u32::try_from(*o).is_err());
        if columns > 0 && self.ordinals.iter().any(beyond) {
            return Err("an undo entry has an ordinal of more than 32 bits");
        }
        Ok(())
    }
}

/// Takes a block off `bytes`. Checks what its length rests on; not what its values mean.
#[inline]
fn unpack(bytes: &mut &[u8], columns: usize, out: &mut Unpacked) -> Result<Head, &'static str> {
    let mut varint = || get_varint(bytes).map_err(|_| ENDS);
    let [_, n, first_ts, range, bits, low] =
        [varint()?, varint()?, varint()?, varint()?, varint()?, varint()?];
    let entries = usize::try_from(n).ok().filter(|n| (1..=BLOCK_ENTRIES_MAX).contains(n));
    let entries = entries.ok_or("a block of undo entries has an impossible length")?;
    if bits > u32::BITS.into() || low > u32::MAX.into() {
        return Err("undo entries lead to impossible vertices");
    }
    let (mut key, mut left) = (0u64, entries);
    out.keys.clear();
    while left > 0 {
        let count = left.min(FRAME);
        Run::take(bytes, count)?.unpack(count, &mut out.frame);
        out.keys.extend(out.frame.iter().map(|gap| {
            key = key.wrapping_add(*gap);
            key
        }));
        left -= count;
    }
    Run::take(bytes, entries)?.unpack(entries, &mut out.words);
    if columns > 0 {
        for kind in [0, 1] {
            let ages = out.words.iter().filter(|word| **word & 1 == kind).map(|word| word >> 1);
            out.ages[kind as usize].clear();
            out.ages[kind as usize].extend(ages);
        }
        for (ages, ordinals) in out.ages.iter().zip(&mut out.ordinals) {
            take_line(bytes, ages.iter().map(|age| age.cast_signed()), ordinals)?;
        }
    }
    if columns > 1 {
        for (ordinals, times) in out.ordinals.iter().zip(&mut out.times) {
            take_line(bytes, ordinals.iter().map(|o| o.cast_signed()), times)?;
        }
    }
    Ok(Head { entries, first_ts, range, bits: bits as u32, low })
}

/// Takes a block of before off `bytes`: entries by list, in commit order within a list.
fn unpack_by_commit(bytes: &mut &[u8], columns: usize) -> Result<Vec<Undo>, &'static str> {
    let mut varint = || get_varint(bytes).map_err(|_| ENDS);
    let (n, first_ts, range) = (varint()?, varint()?, varint()?);
    let n = usize::try_from(n).ok().filter(|n| (1..=BLOCK_ENTRIES_MAX).contains(n));
    let n = n.ok_or("a block of undo entries has an impossible length")?;
    let mut run = || -> Result<Vec<u64>, &'static str> {
        let mut found = Vec::new();
        get_run(bytes, n, |value| found.push(value.cast_unsigned()))?;
        Ok(found)
    };
    let (places, nbrs, words) = (run()?, run()?, run()?);
    let columns = (0..columns.min(COLUMNS_MAX)).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    let (mut local, mut out) = (0u64, Vec::new());
    for i in 0..n {
        local = local.saturating_add(places[i]);
        if local >> SEGMENT_BITS != 0 {
            return Err("an undo entry lies outside its segment");
        }
        if words[i] >> 1 > range {
            return Err("an undo entry is newer than its block");
        }
        let narrow = |word: u64| u32::try_from(word).map_err(|_| "an undo entry is malformed");
        let mut entry = Entry::simple(narrow(nbrs[i])?);
        for (to, column) in entry.columns.iter_mut().zip(&columns) {
            *to = narrow(column[i])?;
        }
        let ts = first_ts.saturating_add(words[i] >> 1);
        out.push(Undo { ts, local: local as u32, delete: words[i] & 1 == 1, entry });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64, n: u64) -> u64 {
        *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (*state >> 20) % n
    }

    /// Entries of a table with `columns`, by list, in commit order within a list.
    fn some(count: usize, columns: usize, ids: u64, state: &mut u64) -> Vec<Undo> {
        let mut entries: Vec<Undo> = (0..count)
            .map(|i| {
                let nbr = random(state, ids) as u32;
                let time = [i64::MIN, i64::MAX, -7, random(state, 1 << 40) as i64];
                let time = time[random(state, 4) as usize];
                let few = random(state, 2) == 1;
                let ordinal = random(state, if few { 16 } else { 1 << 32 }) as u32;
                let entry = match columns {
                    0 => Entry::simple(nbr),
                    1 => Entry::multi(nbr, ordinal),
                    _ => Entry::timed(nbr, ordinal, time),
                };
                let ts = 1000 + (i as u64) / 3;
                Undo { ts, local: random(state, 1024) as u32, delete: random(state, 2) == 1, entry }
            })
            .collect();
        entries.sort_by_key(|e| e.local);
        entries
    }

    fn sorted(mut entries: Vec<Undo>) -> Vec<Undo> {
        entries.sort_by_key(order);
        entries
    }

    #[test]
    fn packing_gives_back_what_went_in() {
        let mut state = 3;
        for columns in [0, 1, 3] {
            for (count, ids) in [(1, 1), (2, 1 << 32), (127, 9), (129, 70_000), (3000, 1 << 32)] {
                let entries = some(count, columns, ids, &mut state);
                let blocks = UndoBlock::pack_all(entries.clone(), columns);
                let [block] = &blocks[..] else { panic!("one block") };
                assert_eq!(block.entries(columns), sorted(entries));
                let mut bytes = block.bytes();
                let again = UndoBlock::take(&mut bytes, columns).unwrap();
                assert!(bytes.is_empty());
                assert_eq!((again[0].first_ts, again[0].last_ts), (block.first_ts, block.last_ts));
                assert_eq!(again[0].entries(columns), block.entries(columns));
                let len = block.bytes().len();
                for end in (0..len).step_by(1 + len / 500) {
                    assert!(UndoBlock::take(&mut &block.bytes()[..end], columns).is_err());
                }
            }
        }
    }

    #[test]
    fn any_changed_byte_gives_a_block_or_an_error() {
        let mut state = 9;
        for columns in [0, 1, 3] {
            let entries = some(150, columns, 1 << 20, &mut state);
            let blocks = UndoBlock::pack_all(entries, columns);
            for at in 0..blocks[0].bytes().len() {
                for bit in 0..8 {
                    let mut bytes = blocks[0].bytes().to_vec();
                    bytes[at] ^= 1 << bit;
                    if let Ok(found) = UndoBlock::take(&mut &bytes[..], columns) {
                        assert!(found.iter().all(|b| b.entries(columns).len() == b.len()));
                    }
                }
            }
        }
    }

    #[test]
    fn what_lies_on_lines_takes_little() {
        // A commit makes 64 edges, at times that ascend with their ordinals.
        let entries = |delete| -> Vec<Undo> {
            let edge = |i: u32| {
                let entry =
                    Entry::timed(i * 7919 % 65_536, i, 1_760_000_000_000 + 250 * i64::from(i));
                Undo { ts: 5 + u64::from(i / 64), local: i * 31 % 1024, delete, entry }
            };
            (0..4096).map(edge).collect()
        };
        for delete in [false, true] {
            let bytes = |columns| UndoBlock::pack_all(entries(delete), columns)[0].bytes().len();
            assert!(bytes(1) < bytes(0) + 4096, "less than a byte for an ordinal");
            assert!(bytes(3) < bytes(1) + 64, "nothing for a time");
        }
    }

    /// Golden bytes: format version 3. A change here is a change of the format.
    #[test]
    fn blocks_have_these_bytes() {
        let undo = |local, ts, nbr, ordinal, delete| Undo {
            ts,
            local,
            delete,
            entry: Entry::multi(nbr, ordinal),
        };
        let entries =
            vec![undo(1, 9, 20, 6, false), undo(1, 8, 17, 3, true), undo(4, 8, 16, 5, false)];
        let blocks = UndoBlock::pack_all(entries.clone(), 1);
        let golden = [0, 3, 8, 1, 3, 16, 5, 6, 0x06, 0x44, 2, 0, 9, 128, 128, 8, 0, 10, 0, 0, 6];
        assert_eq!(blocks[0].bytes(), golden);
        assert_eq!(blocks[0].entries(1), sorted(entries));
    }

    #[test]
    fn blocks_of_before_are_packed_anew() {
        let mut state = 5;
        for columns in [0, 1, 3] {
            let entries = some(700, columns, 70_000, &mut state);
            let first_ts = entries.iter().map(|e| e.ts).min().unwrap();
            let last_ts = entries.iter().map(|e| e.ts).max().unwrap();
            let mut bytes = Vec::new();
            for n in [entries.len() as u64, first_ts, last_ts - first_ts] {
                put_varint(n, &mut bytes);
            }
            let mut put = |value: &mut dyn FnMut(&Undo) -> i64| {
                put_run(&entries.iter().map(value).collect::<Vec<_>>(), &mut bytes);
            };
            let mut before = 0;
            put(&mut |e| i64::from(e.local - std::mem::replace(&mut before, e.local)));
            put(&mut |e| i64::from(e.entry.nbr));
            put(&mut |e| ((e.ts - first_ts) << 1 | u64::from(e.delete)).cast_signed());
            for c in 0..columns {
                put(&mut |e| i64::from(e.entry.columns[c]));
            }
            let mut rest = &bytes[..];
            let blocks = UndoBlock::take(&mut rest, columns).unwrap();
            assert!(rest.is_empty());
            assert_eq!(blocks[0].entries(columns), sorted(entries));
            for end in (0..bytes.len()).step_by(1 + bytes.len() / 500) {
                assert!(UndoBlock::take(&mut &bytes[..end], columns).is_err(), "cut at {end}");
            }
        }
    }
}
