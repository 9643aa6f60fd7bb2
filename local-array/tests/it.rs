//! The cases on 1 to 7 thread ranks, and property tests over random distributions.
#![allow(
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    reason = "small numbers, compared exactly"
)]

mod cases;
#[path = "it/coverage.rs"]
mod coverage;
#[path = "it/elementwise.rs"]
mod elementwise_laws;
#[path = "it/properties.rs"]
mod properties;
#[path = "it/random.rs"]
mod random_laws;
#[path = "it/rearranging.rs"]
mod rearranging;
#[path = "it/reductions.rs"]
mod reduction_laws;

use dist_comm::ThreadComm;

#[test]
fn cases_on_thread_ranks() {
    for ranks in 1..=7 {
        for (name, case) in cases::all::<ThreadComm>() {
            let outcome = ThreadComm::run(ranks, |comm| {
                case(comm).map_err(|failure| failure.to_string())
            });
            assert!(
                outcome.is_ok(),
                "{name} on {ranks} ranks: {}",
                outcome.err().map_or(String::new(), |e| e.to_string())
            );
        }
    }
}

/// The cases of an area on 1 to 7 thread ranks.
fn area(name: &str) {
    let (_, cases) = cases::AREAS
        .iter()
        .find(|(area, _)| *area == name)
        .expect("an area");
    for ranks in 1..=7 {
        for (name, case) in *cases {
            let outcome = ThreadComm::run(ranks, |comm| {
                case(comm).map_err(|failure| failure.to_string())
            });
            assert!(
                outcome.is_ok(),
                "{name} on {ranks} ranks: {}",
                outcome.err().map_or(String::new(), |e| e.to_string())
            );
        }
    }
}

macro_rules! areas {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            area(stringify!($name));
        })*

        #[test]
        fn every_area_runs() {
            let named = [$(stringify!($name)),*];
            let listed: Vec<&str> = cases::AREAS.iter().map(|(area, _)| *area).collect();
            assert_eq!(named.as_slice(), listed);
        }
    };
}

areas!(
    construct,
    elementwise,
    foundation,
    indexing,
    rearrange,
    sorting,
    linalg,
    metadata,
    printing,
    random,
    reproducible,
    over,
    statistics
);
