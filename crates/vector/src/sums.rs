//! Products of numbers of 16 bits with numbers of 8.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "functions for a processor's instructions, which are asked for")
)]

/// Numbers that are multiplied at once; a record is as many, or a multiple.
pub(crate) const LANES: usize = 32;

/// The sum of `a[i] * b[i]`, with bytes as signed numbers. Both are as long.
#[inline(always)]
fn product_of(a: &[i16], b: &[u8]) -> i32 {
    let mut sum = 0;
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        let mut lanes = 0i32;
        for i in 0..LANES {
            lanes += i32::from(a[i]) * i32::from(b[i].cast_signed());
        }
        sum += lanes;
    }
    sum
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_loadu_si256, _mm512_add_epi32, _mm512_cvtepi8_epi16, _mm512_loadu_si512,
        _mm512_madd_epi16, _mm512_reduce_add_epi32, _mm512_setzero_si512,
    };

    use super::LANES;

    #[target_feature(enable = "avx2")]
    pub(super) fn with_avx2(a: &[i16], b: &[u8]) -> i32 {
        super::product_of(a, b)
    }

    /// PERF: crates/vector/examples/rate.rs: one sum of lanes at the end, where the compiler has
    /// one for each step.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) fn with_avx512(a: &[i16], b: &[u8]) -> i32 {
        let mut sums = _mm512_setzero_si512();
        for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
            // SAFETY: 32 numbers of 16 bits are 64 bytes, 32 of 8 are 32; no alignment is asked
            // for.
            let (a, b) = unsafe {
                let b = _mm256_loadu_si256(b.as_ptr().cast::<__m256i>());
                (_mm512_loadu_si512(a.as_ptr().cast()), _mm512_cvtepi8_epi16(b))
            };
            sums = _mm512_add_epi32(sums, _mm512_madd_epi16(a, b));
        }
        _mm512_reduce_add_epi32(sums)
    }
}

/// As [`product_of`], with the widest instructions that are there.
#[inline]
pub(crate) fn product(a: &[i16], b: &[u8]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has the instructions; AVX-512 F comes with the others.
            return unsafe { x86::with_avx512(a, b) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { x86::with_avx2(a, b) };
        }
    }
    product_of(a, b)
}

/// Most bytes that are asked for at once: processors go on by themselves.
#[cfg(target_arch = "x86_64")]
const PREFETCHED_MAX: usize = 512;

/// Brings memory that will be read closer.
#[inline]
pub(crate) fn prefetch(start: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..bytes.min(PREFETCHED_MAX)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: any address may be prefetched.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, bytes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_way_gives_the_sum(
            numbers in proptest::collection::vec((-2047i16..=2047, any::<u8>()), 0..200)
        ) {
            let whole = numbers.len() / LANES * LANES;
            let a: Vec<i16> = numbers[..whole].iter().map(|(a, _)| *a).collect();
            let b: Vec<u8> = numbers[..whole].iter().map(|(_, b)| *b).collect();
            let expected: i32 =
                a.iter().zip(&b).map(|(a, b)| i32::from(*a) * i32::from(b.cast_signed())).sum();
            prop_assert_eq!(product(&a, &b), expected);
            prop_assert_eq!(product_of(&a, &b), expected);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has the instructions.
                prop_assert_eq!(unsafe { x86::with_avx2(&a, &b) }, expected);
            }
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
                // SAFETY: the processor has the instructions.
                prop_assert_eq!(unsafe { x86::with_avx512(&a, &b) }, expected);
            }
        }
    }
}
