//! Sums over the numbers of two vectors, from which similarities and distances are computed.
//!
//! *The same on every machine*: numbers are widened to 64 bits, added up in [`LANES`] sums, lane by
//! lane, and these in one order, without fused operations. So a similarity has the same bits
//! whether its vector is packed or a list, and whatever instructions the processor has; the widest
//! ones are chosen when the program runs.
//!
//! Cost: about 0.2 ns for each number of 32 bits where there is AVX2, which is less than it takes
//! to read it from memory.

#![expect(unsafe_code, reason = "functions for a processor's instructions, which are asked for")]

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
#[inline(always)]
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

#[inline(always)]
fn products_of<T: Copy + Into<f64>>(a: &[T], b: &[f64]) -> Products {
    let (mut product, mut square) = ([0.0; LANES], [0.0; LANES]);
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..LANES {
            let x: f64 = a[i].into();
            product[i] += x * b[i];
            square[i] += x * x;
        }
    }
    for (i, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        let x: f64 = (*a).into();
        product[i] += x * b;
        square[i] += x * x;
    }
    Products { product: total(product), square: total(square) }
}

#[inline(always)]
fn distance_squared_of<T: Copy + Into<f64>>(a: &[T], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..LANES {
            let difference = a[i].into() - b[i];
            sums[i] += difference * difference;
        }
    }
    for (i, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        let difference = (*a).into() - b;
        sums[i] += difference * difference;
    }
    total(sums)
}

/// A function that is compiled for several processors, of which the widest that is there runs.
macro_rules! for_processors {
    ($(#[$doc:meta])* $name:ident = $body:ident -> $result:ty) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(a: Floats<'_>, b: &[f64]) -> $result {
            #[inline(always)]
            fn either(a: Floats<'_>, b: &[f64]) -> $result {
                match a {
                    Floats::F32(a) => $body(a, b),
                    Floats::F64(a) => $body(a, b),
                }
            }
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn avx512(a: Floats<'_>, b: &[f64]) -> $result {
                    either(a, b)
                }
                #[target_feature(enable = "avx2")]
                fn avx2(a: Floats<'_>, b: &[f64]) -> $result {
                    either(a, b)
                }
                if is_x86_feature_detected!("avx512f") {
                    // SAFETY: the processor has the instructions.
                    return unsafe { avx512(a, b) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has the instructions.
                    return unsafe { avx2(a, b) };
                }
            }
            either(a, b)
        }
    };
}

for_processors! {
    /// The products of two vectors of one length; of the longer one, what is behind the other's
    /// end counts nothing.
    products = products_of -> Products
}

for_processors! {
    /// The square of the distance of two vectors of one length.
    distance_squared = distance_squared_of -> f64
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
            prop_assert_eq!(found, products_of(&narrow, &b));
            let distance = distance_squared(Floats::F32(&narrow), &b);
            prop_assert_eq!(distance, distance_squared(Floats::F64(&wide), &b));
            prop_assert_eq!(distance, distance_squared_of(&wide, &b));
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
