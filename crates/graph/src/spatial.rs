//! Codes of points: integers along a space-filling curve (Morton order), for POINT indexes.
//!
//! ```text
//!  code, 128 bits = system, 8 bits (1 WGS-84 · 2 WGS-84-3D · 3 Cartesian · 4 Cartesian-3D)
//!                 │ 120 bits: the cells of the axes, bit by bit in turn, the first axis first
//!
//!  cell of a coordinate, 58 bits with two axes, the upper 40 of these with three:
//!    2^57 ± (bits(|x| * scale + 2^20) - bits(2^20))
//! ```
//!
//! The cell is a monotone function of the coordinate: linear in steps of 2^-32 up to 2^20, and
//! coarser by half with each doubling beyond, up to 2^51, where the last cell begins. Angles are
//! scaled by 2^11 first, so that the globe lies in the linear part. A box of coordinates is
//! therefore a box of cells, and its points have codes between those of its lowest and its highest
//! corner, though not only they do. [`CodeBox::next`] leads over what lies between.
//!
//! Invariants: points with equal coordinates have equal codes; the converse does not hold, so
//! whoever finds a point by its code compares the point itself. Codes are on disk: no version may
//! change them.
//!
//! Source: G. M. Morton, "A computer oriented geodetic data base", 1966; H. Tropf, H. Herzog,
//! "Multidimensional range search in dynamically balanced trees", 1981 (`BIGMIN`).

use crate::value::{Point, Srid};

/// Bits of a cell before it is cut for three axes.
const CELL_BITS: u32 = 58;
/// Bits of a cell with three axes.
const CELL_BITS_3D: u32 = 40;
/// Where a system's number begins in a code.
const SYSTEM_SHIFT: u32 = 120;
const _: () = assert!(2 * CELL_BITS <= SYSTEM_SHIFT && 3 * CELL_BITS_3D <= SYSTEM_SHIFT);

/// Coordinates up to this one have cells of the same width.
const LINEAR: f64 = (1_u64 << 20) as f64;
/// Beyond this everything has the last cell.
const FAR: f64 = (1_u64 << 51) as f64;
/// The cell of zero.
const ZERO: u64 = 1 << (CELL_BITS - 1);
/// What angles are multiplied by: exact, as a power of two.
const ANGLE_SCALE: f64 = (1_u64 << 11) as f64;

/// A box in one coordinate reference system, its border included.
///
/// A box whose lower side is above its upper side on some axis is empty. Sides may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PointBox {
    /// The system; a box holds points of this one only.
    pub srid: Srid,
    /// The least coordinates. The third counts only with three axes.
    pub low: [f64; 3],
    /// The greatest coordinates.
    pub high: [f64; 3],
}

impl PointBox {
    /// Whether a point lies in it.
    #[must_use]
    pub fn contains(&self, point: &Point) -> bool {
        let mut axes = point.coordinates().iter().zip(self.low.iter().zip(&self.high));
        point.srid() == self.srid && axes.all(|(x, (low, high))| low <= x && x <= high)
    }

    /// The cells that its points lie in; `None` if it is empty.
    #[must_use]
    pub fn codes(&self) -> Option<CodeBox> {
        let mut axes = 0..self.srid.dimensions();
        // A side that is not a number has no point on its right side.
        let holds = axes.all(|axis| self.low[axis] <= self.high[axis]);
        holds.then(|| CodeBox {
            low: code_at(self.srid, &self.low),
            high: code_at(self.srid, &self.high),
        })
    }
}

/// The code of a point.
#[must_use]
pub fn code(point: &Point) -> u128 {
    let [x, y] = [point.x(), point.y()];
    code_at(point.srid(), &[x, y, point.z().unwrap_or(0.0)])
}

fn code_at(srid: Srid, coordinates: &[f64; 3]) -> u128 {
    let angle = if srid.is_geographic() { ANGLE_SCALE } else { 1.0 };
    let [x, y] = [cell(coordinates[0], angle), cell(coordinates[1], angle)];
    let cells = if srid.dimensions() == 2 {
        spread::<2>(x) << 1 | spread::<2>(y)
    } else {
        let cut = CELL_BITS - CELL_BITS_3D;
        let z = cell(coordinates[2], 1.0);
        spread::<3>(x >> cut) << 2 | spread::<3>(y >> cut) << 1 | spread::<3>(z >> cut)
    };
    u128::from(system(srid)) << SYSTEM_SHIFT | cells
}

const fn system(srid: Srid) -> u8 {
    match srid {
        Srid::Wgs84 => 1,
        Srid::Wgs84_3d => 2,
        Srid::Cartesian => 3,
        Srid::Cartesian3d => 4,
    }
}

/// The cell of a coordinate: greater coordinates have greater cells, or the same.
fn cell(x: f64, scale: f64) -> u64 {
    let far = (x.abs() * scale).min(FAR) + LINEAR;
    // The bits of positive floats are in their order, and linear between powers of two.
    let steps = far.to_bits() - LINEAR.to_bits();
    if x < 0.0 { ZERO - steps } else { ZERO + steps }
}

/// The bits of a number, `AXES` places apart.
fn spread<const AXES: u32>(x: u64) -> u128 {
    // Halves of halves are moved apart, until each bit has its place.
    const { halvings::<AXES>() }
        .into_iter()
        .fold(x.into(), |spread, (shift, mask)| (spread | spread << shift) & mask)
}

/// How far each halving moves the upper halves, and where both are afterwards.
const fn halvings<const AXES: u32>() -> [(u32, u128); 6] {
    let mut steps = [(0, 0); 6];
    let (mut at, mut width) = (0, 32);
    while at < steps.len() {
        steps[at] = (width * (AXES - 1), spread_mask::<AXES>(width));
        (at, width) = (at + 1, width / 2);
    }
    steps
}

/// Groups of `width` ones, of which each begins `AXES * width` above the one before.
const fn spread_mask<const AXES: u32>(width: u32) -> u128 {
    let group = (1_u128 << width) - 1;
    let (mut mask, mut at) = (0, 0);
    while at < u128::BITS {
        mask |= group << at;
        at += AXES * width;
    }
    mask
}

/// The bits of each axis of codes with so many axes, the first axis last.
const MASKS_2D: [u128; 2] = [spread_mask::<2>(1), spread_mask::<2>(1) << 1];
const MASKS_3D: [u128; 3] =
    [spread_mask::<3>(1), spread_mask::<3>(1) << 1, spread_mask::<3>(1) << 2];
/// The bits of the system.
const SYSTEM_MASK: u128 = u128::MAX << SYSTEM_SHIFT;

/// A box of cells in one system, its border included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodeBox {
    low: u128,
    high: u128,
}

impl CodeBox {
    /// The least code in it.
    #[must_use]
    pub fn first(&self) -> u128 {
        self.low
    }

    /// The greatest code in it.
    #[must_use]
    pub fn last(&self) -> u128 {
        self.high
    }

    fn masks(&self) -> &'static [u128] {
        let flat = [Srid::Wgs84, Srid::Cartesian].map(|srid| u128::from(system(srid)));
        if flat.contains(&(self.low >> SYSTEM_SHIFT)) { &MASKS_2D } else { &MASKS_3D }
    }

    /// Whether a code is that of one of its cells.
    #[inline]
    #[must_use]
    pub fn contains(&self, code: u128) -> bool {
        // The bits of one axis compare as its cells do.
        let inside = |mask: &u128| {
            let mask = mask & !SYSTEM_MASK;
            (self.low & mask) <= (code & mask) && (code & mask) <= (self.high & mask)
        };
        (code ^ self.low) & SYSTEM_MASK == 0 && self.masks().iter().all(inside)
    }

    /// The least code in it that is above `code`, which is not in it; `None` if there is none.
    #[must_use]
    pub fn next(&self, code: u128) -> Option<u128> {
        if (code ^ self.low) & SYSTEM_MASK != 0 {
            return (code < self.low).then_some(self.low);
        }
        let masks = self.masks();
        // The part of the box that is left, and the least code in parts that lie above `code`.
        let (mut low, mut high, mut above) = (self.low, self.high, None);
        for bit in (0..SYSTEM_SHIFT).rev() {
            let one = 1_u128 << bit;
            let axis = masks[bit as usize % masks.len()];
            let below = axis & (one - 1);
            match (code & one != 0, low & one != 0, high & one != 0) {
                (false, false, true) => {
                    // The upper half lies above it; look for more in the lower half.
                    above = Some(low & !below | one);
                    high = high & !one | below;
                }
                (false, true, _) => return Some(low),
                (true, _, false) => return above,
                (true, false, true) => low = low & !below | one,
                (false, false, false) | (true, true, true) => {}
            }
        }
        above
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SYSTEMS: [Srid; 4] = [Srid::Wgs84, Srid::Wgs84_3d, Srid::Cartesian, Srid::Cartesian3d];

    fn coordinate() -> impl Strategy<Value = f64> {
        prop_oneof![
            -200.0..200.0_f64,
            (-20_i8..20).prop_map(f64::from),
            -1e7..1e7_f64,
            any::<f64>().prop_filter("finite", |x| x.is_finite()),
            prop::sample::select(vec![0.0, -0.0, 180.0, -180.0, 90.0, -90.0, f64::MAX, f64::MIN]),
        ]
    }

    fn point() -> impl Strategy<Value = Point> {
        (prop::sample::select(&SYSTEMS[..]), [coordinate(), coordinate(), coordinate()]).prop_map(
            |(srid, mut at)| {
                if srid.is_geographic() {
                    at[1] %= 90.0;
                }
                Point::new(srid, &at[..srid.dimensions()]).unwrap()
            },
        )
    }

    fn of(point: &Point) -> [f64; 3] {
        [point.x(), point.y(), point.z().unwrap_or(0.0)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn greater_coordinates_have_no_smaller_cells(a in coordinate(), b in coordinate()) {
            let (a, b) = if a <= b { (a, b) } else { (b, a) };
            prop_assert!(cell(a, 1.0) <= cell(b, 1.0));
            prop_assert!(cell(b, ANGLE_SCALE) < 1 << CELL_BITS);
        }

        #[test]
        fn what_a_box_holds_has_codes_in_it(a in point(), b in point(), c in point()) {
            let (low, high) = (of(&a), of(&b));
            let area = PointBox { srid: a.srid(), low, high };
            match area.codes() {
                Some(codes) => {
                    prop_assert!(codes.contains(code(&a)) && codes.contains(codes.last()));
                    prop_assert!(!area.contains(&c) || codes.contains(code(&c)));
                }
                None => prop_assert!(!area.contains(&c)),
            }
        }

        #[test]
        fn next_is_the_least_code_above(
            x in 0_u64..64, y in 0_u64..64, w in 0_u64..32, h in 0_u64..32, d in 0_u64..4,
            from in 0_u128..4096, deep in any::<bool>(),
        ) {
            let at = |x: u64, y: u64, z: u64| match deep {
                false => 1 << SYSTEM_SHIFT | spread::<2>(x) << 1 | spread::<2>(y),
                true => {
                    2 << SYSTEM_SHIFT | spread::<3>(x) << 2 | spread::<3>(y) << 1 | spread::<3>(z)
                }
            };
            let [x, y, w, h] = if deep { [x, y, w, h].map(|n| n % 8) } else { [x, y, w, h] };
            let codes = CodeBox { low: at(x, y, 1), high: at(x + w, y + h, 1 + d) };
            let from = from << 2 | (codes.low & SYSTEM_MASK);
            let least = (from..=codes.high).find(|code| codes.contains(*code));
            if !codes.contains(from) {
                prop_assert_eq!(codes.next(from), least);
            }
            prop_assert_eq!(codes.next(0), Some(codes.low));
            prop_assert_eq!(codes.next(u128::MAX), None);
        }

        #[test]
        fn spread_bits_are_the_bits(x in 0_u64..1 << CELL_BITS) {
            for bit in 0..CELL_BITS {
                let is_set = x >> bit & 1 == 1;
                prop_assert_eq!(spread::<2>(x) >> (2 * bit) & 1 == 1, is_set);
                if bit < CELL_BITS_3D {
                    let deep = spread::<3>(x & ((1 << CELL_BITS_3D) - 1));
                    prop_assert_eq!(deep >> (3 * bit) & 1 == 1, is_set);
                }
            }
            prop_assert_eq!(spread::<2>(x).count_ones(), x.count_ones());
        }
    }

    /// Golden codes: a change here is a change of the format.
    #[test]
    fn points_have_these_codes() {
        let code = |srid, at: &[f64]| code(&Point::new(srid, at).unwrap());
        assert_eq!(code(Srid::Wgs84, &[0.0, 0.0]), 0x010c << 112);
        assert_eq!(code(Srid::Cartesian3d, &[0.0, 0.0, 0.0]), 0x04e0 << 112);
        // 2^57 - 2^32, and 2^57 + 2^33.
        let near = code(Srid::Cartesian, &[-1.0, 2.0]);
        let x = spread::<2>((1 << 57) - (1 << 32)) << 1;
        assert_eq!(near, 3 << 120 | x | spread::<2>((1 << 57) + (1 << 33)));
        assert_eq!(cell(f64::MAX, 1.0), cell(1e300, ANGLE_SCALE));
        assert_eq!(cell(2_f64.powi(20), 1.0), ZERO + (1 << 52));
    }
}
