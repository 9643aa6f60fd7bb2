//! The laws for some inputs, the same on every rank: with `--mpi` on the ranks of `mpirun` too.

use super::support::laws::{self, every_law};

/// Inputs of each law at each number of ranks.
const INPUTS: usize = 20;

macro_rules! cases_of_laws {
    ($($area:ident $law:ident $inputs:ident;)*) => {
        /// The cases of this area, one for each law.
        pub const CASES: &[crate::Case] = &[$((
            stringify!($law),
            |comm| laws::for_some(INPUTS, laws::$area::$inputs(), laws::$area::$law, comm),
        )),*];
    };
}

every_law!(cases_of_laws);
