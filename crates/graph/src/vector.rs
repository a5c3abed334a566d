//! Sums over the numbers of two vectors, from which similarities and distances are computed.
//!
//! *The same on every machine*: numbers are widened to 64 bits, added up in 16 sums, lane by
//! lane, and these in one order, without fused operations. So a similarity has the same bits
//! whether its vector is packed or a list, and whatever instructions the processor has; the widest
//! ones are chosen when the program runs.
//!
//! Cost: where there is AVX2, less than it takes to read the numbers from memory.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "functions for a processor's instructions, which are asked for")
)]

use crate::column::Floats;

/// Sums that are added up beside each other.
const LANES: usize = 16;

/// The product of two vectors, and of the first one with itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Products {
    /// Sum of `a[i] * b[i]`.
    pub product: f64,
    /// Sum of `a[i] * a[i]`.
    pub square: f64,
}

/// The sum of all lanes, in halves.
fn total(mut lanes: [f64; LANES]) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Sums lane by lane, wherever there are no better instructions.
fn products_of<T: Number>(a: &[T], b: &[f64]) -> [[f64; LANES]; 2] {
    let (mut product, mut square) = ([0.0; LANES], [0.0; LANES]);
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for i in 0..LANES {
            let x: f64 = a[i].into();
            product[i] += x * b[i];
            square[i] += x * x;
        }
    }
    [product, square]
}

fn distances_of<T: Number>(a: &[T], b: &[f64]) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for i in 0..LANES {
            let difference = a[i].into() - b[i];
            sums[i] += difference * difference;
        }
    }
    sums
}

/// The same with AVX2.
///
/// PERF: `bench/compare/vectors.py`: written out, as the compiler makes twice as much work of the
/// loops above. AVX-512 is no faster: memory is waited for.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256d, _mm_loadu_ps, _mm256_add_pd, _mm256_cvtps_pd, _mm256_loadu_pd, _mm256_mul_pd,
        _mm256_setzero_pd, _mm256_storeu_pd, _mm256_sub_pd,
    };

    use super::{LANES, Number};

    /// Numbers of a register.
    const WIDTH: usize = 4;
    const REGISTERS: usize = LANES / WIDTH;

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn of_f32(four: &[f32; WIDTH]) -> __m256d {
        // SAFETY: the four numbers are there, and need not be aligned.
        _mm256_cvtps_pd(unsafe { _mm_loadu_ps(four.as_ptr()) })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn of_f64(four: &[f64; WIDTH]) -> __m256d {
        // SAFETY: the four numbers are there, and need not be aligned.
        unsafe { _mm256_loadu_pd(four.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn lanes(registers: [__m256d; REGISTERS]) -> [f64; LANES] {
        let mut lanes = [0.0; LANES];
        for (four, register) in lanes.as_chunks_mut::<WIDTH>().0.iter_mut().zip(registers) {
            // SAFETY: there is room for four numbers, which need not be aligned.
            unsafe { _mm256_storeu_pd(four.as_mut_ptr(), register) }
        }
        lanes
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn products_of<T: Number>(a: &[T], b: &[f64]) -> [[f64; LANES]; 2] {
        let mut product = [_mm256_setzero_pd(); REGISTERS];
        let mut square = product;
        for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
            let (a, b) = (a.as_chunks::<WIDTH>().0, b.as_chunks::<WIDTH>().0);
            for i in 0..REGISTERS {
                // SAFETY: this function runs where there is AVX2.
                let (x, y) = (unsafe { T::widened(&a[i]) }, of_f64(&b[i]));
                product[i] = _mm256_add_pd(product[i], _mm256_mul_pd(x, y));
                square[i] = _mm256_add_pd(square[i], _mm256_mul_pd(x, x));
            }
        }
        [lanes(product), lanes(square)]
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn distances_of<T: Number>(a: &[T], b: &[f64]) -> [f64; LANES] {
        let mut sums = [_mm256_setzero_pd(); REGISTERS];
        for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
            let (a, b) = (a.as_chunks::<WIDTH>().0, b.as_chunks::<WIDTH>().0);
            for i in 0..REGISTERS {
                // SAFETY: this function runs where there is AVX2.
                let difference = _mm256_sub_pd(unsafe { T::widened(&a[i]) }, of_f64(&b[i]));
                sums[i] = _mm256_add_pd(sums[i], _mm256_mul_pd(difference, difference));
            }
        }
        lanes(sums)
    }
}

/// Numbers of packed vectors.
trait Number: Copy + Into<f64> {
    /// Four of them as numbers of 64 bits.
    ///
    /// # Safety
    /// The processor must have AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn widened(four: &[Self; 4]) -> std::arch::x86_64::__m256d;
}

impl Number for f32 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn widened(four: &[Self; 4]) -> std::arch::x86_64::__m256d {
        // SAFETY: the caller says that there is AVX2.
        unsafe { avx2::of_f32(four) }
    }
}

impl Number for f64 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn widened(four: &[Self; 4]) -> std::arch::x86_64::__m256d {
        // SAFETY: the caller says that there is AVX2.
        unsafe { avx2::of_f64(four) }
    }
}

/// Calls the function of this name with the widest instructions that are there.
macro_rules! widest {
    ($name:ident($a:expr, $b:expr)) => {{
        #[cfg(target_arch = "x86_64")]
        let sums = match is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            true => unsafe { avx2::$name($a, $b) },
            false => $name($a, $b),
        };
        #[cfg(not(target_arch = "x86_64"))]
        let sums = $name($a, $b);
        sums
    }};
}

fn products_in<T: Number>(a: &[T], b: &[f64]) -> Products {
    let [mut product, mut square] = widest!(products_of(a, b));
    let rest = a.as_chunks::<LANES>().1.iter().zip(b.as_chunks::<LANES>().1);
    for (i, (a, b)) in rest.enumerate() {
        let x: f64 = (*a).into();
        product[i] += x * b;
        square[i] += x * x;
    }
    Products { product: total(product), square: total(square) }
}

fn distance_in<T: Number>(a: &[T], b: &[f64]) -> f64 {
    let mut sums = widest!(distances_of(a, b));
    let rest = a.as_chunks::<LANES>().1.iter().zip(b.as_chunks::<LANES>().1);
    for (i, (a, b)) in rest.enumerate() {
        let difference = (*a).into() - b;
        sums[i] += difference * difference;
    }
    total(sums)
}

/// The products of two vectors of one length.
#[must_use]
pub fn products(a: Floats<'_>, b: &[f64]) -> Products {
    match a {
        Floats::F32(a) => products_in(a, b),
        Floats::F64(a) => products_in(a, b),
    }
}

/// The square of the distance of two vectors of one length.
#[must_use]
pub fn distance_squared(a: Floats<'_>, b: &[f64]) -> f64 {
    match a {
        Floats::F32(a) => distance_in(a, b),
        Floats::F64(a) => distance_in(a, b),
    }
}

/// Bytes from which on a processor reads ahead by itself.
#[cfg(target_arch = "x86_64")]
const PREFETCHED_MAX: usize = 512;

/// Asks the processor to bring numbers closer that will be read soon.
#[inline]
pub fn prefetch(a: Floats<'_>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let (start, bytes) = match a {
            Floats::F32(a) => (a.as_ptr().cast::<i8>(), size_of_val(a)),
            Floats::F64(a) => (a.as_ptr().cast::<i8>(), size_of_val(a)),
        };
        for at in (0..bytes.min(PREFETCHED_MAX)).step_by(64) {
            // SAFETY: a prefetch is a hint; it never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = a;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_way_has_the_same_bits(
            pairs in proptest::collection::vec((-1e3f32..1e3, -1e3f64..1e3), 0..200)
        ) {
            let narrow: Vec<f32> = pairs.iter().map(|(a, _)| *a).collect();
            let wide: Vec<f64> = pairs.iter().map(|(a, _)| f64::from(*a)).collect();
            let b: Vec<f64> = pairs.iter().map(|(_, b)| *b).collect();
            let found = products(Floats::F32(&narrow), &b);
            prop_assert_eq!(found, products(Floats::F64(&wide), &b));
            let whole = pairs.len() / LANES * LANES;
            let plain = products_of(&narrow, &b).map(total);
            let wide_plain = products_of(&wide, &b).map(total);
            let cut = products(Floats::F32(&narrow[..whole]), &b[..whole]);
            prop_assert_eq!(plain, [cut.product, cut.square]);
            prop_assert_eq!(plain, wide_plain);
            let distance = distance_squared(Floats::F32(&narrow), &b);
            prop_assert_eq!(distance, distance_squared(Floats::F64(&wide), &b));
            let cut = distance_squared(Floats::F32(&narrow[..whole]), &b[..whole]);
            prop_assert_eq!(total(distances_of(&wide, &b)), cut);
            // And they are the sums that they should be.
            let near = |found: f64, terms: Vec<f64>| {
                let scale: f64 = terms.iter().map(|term| term.abs()).sum();
                (found - terms.iter().sum::<f64>()).abs() <= 1e-12 * scale
            };
            let zipped = || wide.iter().zip(&b);
            prop_assert!(near(found.product, zipped().map(|(a, b)| a * b).collect()));
            prop_assert!(near(found.square, zipped().map(|(a, _)| a * a).collect()));
            prop_assert!(near(distance, zipped().map(|(a, b)| (a - b) * (a - b)).collect()));
        }
    }
}
