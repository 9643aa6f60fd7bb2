//! The cases, for any communicator: thread ranks run them in `it.rs`, MPI ranks in `mpi.rs`, in the same order.

pub mod construct;
pub mod element;
pub mod elementwise;
pub mod foundation;
pub mod indexing;
pub mod layouts;
pub mod linalg;
pub mod metadata;
pub mod movement;
pub mod numpy;
pub mod over;
pub mod plain;
pub mod printing;
pub mod random;
pub mod rearrange;
pub mod reductions;
pub mod reproducible;
pub mod sorting;
pub mod statistics;
pub mod stencils;

use dist_comm::Communicator;
use local_array::ArrayError;

/// What a failed case says.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
/// The outcome of a case on one rank.
pub type Outcome = Result<(), Failure>;
/// A case: all ranks call it.
pub type Case<C> = (&'static str, fn(&C) -> Outcome);

/// A case that is compiled once for all communicators.
pub type Dynamic = (&'static str, fn(&dyn Communicator) -> Outcome);

/// Lists the cases of an area as its `CASES`.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        /// The cases of this area.
        pub const CASES: &[super::Dynamic] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use cases;

/// The areas and their cases: names are unique over all of them.
pub const AREAS: &[(&str, &[Dynamic])] = &[
    ("construct", construct::CASES),
    ("elementwise", elementwise::CASES),
    ("foundation", foundation::CASES),
    ("indexing", indexing::CASES),
    ("rearrange", rearrange::CASES),
    ("sorting", sorting::CASES),
    ("linalg", linalg::CASES),
    ("metadata", metadata::CASES),
    ("printing", printing::CASES),
    ("random", random::CASES),
    ("reproducible", reproducible::CASES),
    ("over", over::CASES),
    ("statistics", statistics::CASES),
];

/// All cases that are compiled once for each communicator.
pub fn all<C: Communicator>() -> Vec<Case<C>> {
    vec![
        (
            "construct_places_elements_by_index",
            element::construct_places_elements_by_index,
        ),
        (
            "global_and_local_indices_agree",
            element::global_and_local_indices_agree,
        ),
        (
            "operators_equal_plain_ones",
            element::operators_equal_plain_ones,
        ),
        (
            "padding_may_differ_between_operands",
            element::padding_may_differ_between_operands,
        ),
        (
            "incompatible_arrays_are_the_same_error_everywhere",
            element::incompatible_arrays_are_the_same_error_everywhere,
        ),
        (
            "wrong_arguments_are_typed_errors",
            element::wrong_arguments_are_typed_errors,
        ),
        (
            "export_and_import_copy_nothing",
            element::export_and_import_copy_nothing,
        ),
        (
            "parts_that_do_not_fit_are_refused_everywhere",
            element::parts_that_do_not_fit_are_refused_everywhere,
        ),
        (
            "reductions_equal_plain_ones",
            reductions::reductions_equal_plain_ones,
        ),
        (
            "sums_have_the_documented_order",
            reductions::sums_have_the_documented_order,
        ),
        ("nan_propagates", reductions::nan_propagates),
        ("types_have_their_sums", reductions::types_have_their_sums),
        (
            "empty_arrays_have_no_extremes",
            reductions::empty_arrays_have_no_extremes,
        ),
        (
            "repeated_indices_count_once",
            reductions::repeated_indices_count_once,
        ),
        (
            "redistribution_moves_every_element",
            movement::redistribution_moves_every_element,
        ),
        (
            "gathering_gives_the_whole",
            movement::gathering_gives_the_whole,
        ),
        ("permuted_and_reshaped", movement::permuted_and_reshaped),
        (
            "shared_arrays_redistribute",
            movement::shared_arrays_redistribute,
        ),
        ("every_type_moves", movement::every_type_moves),
        (
            "different_targets_are_refused_everywhere",
            movement::different_targets_are_refused_everywhere,
        ),
        (
            "different_sources_are_refused_everywhere",
            movement::different_sources_are_refused_everywhere,
        ),
        (
            "nothing_is_listed_of_an_array_without_elements",
            movement::nothing_is_listed_of_an_array_without_elements,
        ),
        ("any_memory_order_moves", layouts::any_memory_order_moves),
        (
            "any_memory_order_reduces_to_the_same_bits",
            layouts::any_memory_order_reduces_to_the_same_bits,
        ),
        (
            "halo_is_filled_from_the_owners",
            stencils::halo_is_filled_from_the_owners,
        ),
        ("periodic_halo_wraps", stencils::periodic_halo_wraps),
        (
            "windows_equal_plain_ones",
            stencils::windows_equal_plain_ones,
        ),
        (
            "windows_without_padding_are_refused",
            stencils::windows_without_padding_are_refused,
        ),
        (
            "windows_beyond_all_memory_are_refused",
            stencils::windows_beyond_all_memory_are_refused,
        ),
        (
            "windows_wider_than_the_array_repeat_its_edge",
            stencils::windows_wider_than_the_array_repeat_its_edge,
        ),
    ]
}

/// Fails with a text unless `condition`.
pub fn ensure(condition: bool, text: impl FnOnce() -> String) -> Outcome {
    if condition {
        Ok(())
    } else {
        Err(text().into())
    }
}

/// Fails unless the two are equal.
pub fn same<A: PartialEq<B> + std::fmt::Debug, B: std::fmt::Debug>(
    found: A,
    wanted: B,
    what: &str,
) -> Outcome {
    ensure(found == wanted, || {
        format!("{what}: found {found:?}, wanted {wanted:?}")
    })
}

/// Fails unless every rank has one and the same error; the ranks are in step after it. Collective.
pub fn refused_everywhere<T>(
    comm: &dyn Communicator,
    outcome: Result<T, ArrayError>,
    what: &str,
) -> Outcome {
    let mine = outcome.map_or_else(|error| error.to_string(), |_| "no error".into());
    let all = comm.all_gather_v(mine.as_bytes())?;
    let all: Vec<_> = all
        .iter()
        .map(|text| String::from_utf8_lossy(text))
        .collect();
    ensure(
        all.iter().all(|text| *text == all[0] && text != "no error"),
        || format!("{what}: {all:?}"),
    )
}
