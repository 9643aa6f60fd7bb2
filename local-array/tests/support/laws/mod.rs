//! Laws over random shapes and distributions. Each takes its input and the ranks, so that it holds wherever there are any.

pub mod elementwise;
pub mod moving;
pub mod products;
pub mod random;
pub mod rearranging;
pub mod reductions;

use std::fmt::Debug;

use dist_comm::Communicator;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::Outcome;
use super::plain::Kind;

pub fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Block),
        Just(Kind::Balanced),
        any::<u64>().prop_map(Kind::Bounds),
        (1..6_u64).prop_map(Kind::Cyclic),
        any::<u64>().prop_map(Kind::List),
        Just(Kind::Whole),
    ]
}

/// Calls `$with!` with every law: its file, its name, its inputs.
macro_rules! every_law {
    ($with:ident) => {
        $with! {
            moving redistribution_and_back change;
            moving sums_do_not_depend_on_the_layout change;
            moving padding_is_filled change;
            moving arrays_combine_exactly_when_their_elements_lie_together change;
            elementwise equalised_arrays_broadcast_as_plain_ones pair;
            elementwise what_is_replicated_needs_no_communication pair;
            elementwise arithmetic_keeps_its_laws numbers;
            products matrices_multiply_as_by_hand factors;
            random layouts_do_not_matter seeded;
            rearranging sorting_orders_and_keeps_all array;
            rearranging shapes_there_and_back any_array;
            rearranging slices_and_what_is_put_there sliced;
            rearranging pieces_joined_are_the_whole array;
            rearranging what_is_not_zero_is_found array;
            reductions axes_reduce_as_plain_loops reduced;
            reductions moments_keep_their_laws shifted;
            reductions running_sums_end_in_the_sum reduced;
            reductions correlations_are_symmetric_and_bounded variables;
        }
    };
}
pub(crate) use every_law;

/// Checks a law for `count` inputs, drawn from one seed and so the same on every rank; for another number of ranks they are
/// others.
pub fn for_some<I: Debug>(
    count: usize,
    inputs: impl Strategy<Value = I>,
    law: impl Fn(&I, &dyn Communicator) -> Outcome,
    comm: &dyn Communicator,
) -> Outcome {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let seed = [comm.size() as u8; 32];
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    for _ in 0..count {
        let drawn = inputs.new_tree(&mut runner);
        let input = drawn.map_err(|reason| reason.to_string())?.current();
        law(&input, comm).map_err(|failure| format!("{input:?}: {failure}"))?;
    }
    Ok(())
}
