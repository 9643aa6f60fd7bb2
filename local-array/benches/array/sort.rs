//! A global sort of random numbers; the limit is each rank's sort of its own part.

use std::hint::black_box;

use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::{LocalArray, SortKind};
use ndarray::Ix1;

use crate::ranks::Bench;

/// A number in [0, 1) from the bits of a mixed index.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
fn scattered(index: &[i64]) -> f64 {
    let mut x = index[0].cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

pub fn run<C: Communicator>(bench: &mut Bench<'_, C>, n: u64) {
    let comm = bench.comm;
    let blocks = Distribution::over(comm.size()).shape([n]).block(0);
    let blocks = blocks.build().expect("a valid distribution");
    let a = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, scattered).expect("memory");
    let local = a.local();
    let elements = local.as_slice().expect("contiguous");
    // All are positive, so their bits are in the same order: the standard library's sort of integers, which was faster
    // here than its sort of floats and than the radix sorts tried.
    let words: &[u64] = bytemuck::cast_slice(elements);
    let group = format!("array/sort/{n}");
    let limit = &mut || {
        // In large pages, as the array's memory is.
        let mut copy: Vec<u64> = Vec::with_capacity(words.len());
        large_pages::prefer_large_pages(copy.spare_capacity_mut());
        copy.extend_from_slice(words);
        copy.sort_unstable();
        black_box(copy);
    };
    let limit: (&str, &mut dyn FnMut()) = ("limit: local sort", limit);
    crate::pair(bench, (&group, 8 * n), limit, &mut || {
        drop(black_box(a.sorted(0, SortKind::Quick).expect("memory")));
    });
}
