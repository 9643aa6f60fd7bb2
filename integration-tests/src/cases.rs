//! Every exporter with every importer, over every kind of distribution.

use std::path::Path;

use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{Distribution, MapError};

use crate::exporters::{Exporter, exporters};
use crate::importers::{Importer, Received, importers};
use crate::{Error, oracle};

/// One pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Who shows the array.
    pub exporter: Exporter,
    /// Who takes it.
    pub importer: Importer,
}

/// All pairs.
#[must_use]
pub fn cases() -> Vec<Case> {
    let pairs = exporters().into_iter().flat_map(|exporter| {
        importers()
            .into_iter()
            .map(move |importer| Case { exporter, importer })
    });
    pairs.collect()
}

impl Case {
    /// Runs the pair over all [`distributions`]. Collective.
    ///
    /// # Errors
    /// The first distribution that failed and how; the same on all ranks.
    pub fn run<C: Communicator>(self, comm: &C, folder: &Path) -> Result<(), Error> {
        for (name, distribution) in distributions(comm.size())? {
            let outcome = self
                .exporter
                .show(&distribution, comm, folder, self.importer)
                .and_then(|received| self.check(&distribution, comm.rank(), &received));
            agree(comm, outcome.map_err(|e| format!("{name}: {e}")))?;
        }
        Ok(())
    }

    fn check(
        self,
        distribution: &Distribution,
        rank: usize,
        received: &Received,
    ) -> Result<(), Error> {
        let dim_data = distribution.dim_data(rank)?;
        if received.dim_data != dim_data {
            return Err(format!(
                "dim_data arrived as {:?}, given {dim_data:?}",
                received.dim_data
            )
            .into());
        }
        let wanted = oracle::part(&dim_data);
        if received.elements.len() != wanted.len() {
            return Err(format!(
                "{} element(s) arrived of {}",
                received.elements.len(),
                wanted.len()
            )
            .into());
        }
        // A writer of owned elements fills the padding when it is read again, from what their owners wrote.
        let all = self.exporter.fills_padding() || !received.with_padding;
        for (position, (&given, (value, owned))) in received.elements.iter().zip(wanted).enumerate()
        {
            if (all || owned) && given.to_bits() != value.to_bits() {
                return Err(format!("position {position}: {given} arrived, given {value}").into());
            }
        }
        Ok(())
    }
}

/// Distributions of every kind over so many ranks, each with its name.
///
/// # Errors
/// When one cannot be made, which is a fault in `dist-maps`.
pub fn distributions(ranks: usize) -> Result<Vec<(&'static str, Distribution)>, MapError> {
    let over = || Distribution::over(ranks);
    // the odd indices backwards, then the even ones
    let mut shuffled: Vec<i64> = (0..11).filter(|g| g % 2 == 1).rev().collect();
    shuffled.extend((0..11).filter(|g| g % 2 == 0));
    let lists: Vec<Vec<i64>> = (0..ranks)
        .map(|rank| shuffled.iter().copied().skip(rank).step_by(ranks).collect())
        .collect();
    Ok(vec![
        ("blocks", over().shape([11]).block(0).build()?),
        (
            "blocks in two dimensions",
            over().shape([7, 5]).block(0).block(1).build()?,
        ),
        (
            "padded blocks",
            over()
                .shape([29, 26])
                .block_balanced(0)
                .block_balanced(1)
                .padding(2)
                .build()?,
        ),
        ("cyclic", over().shape([11, 3]).cyclic(0).build()?),
        (
            "block-cyclic, the last block partial",
            over()
                .shape([7, 11])
                .block_cyclic(0, 2)
                .block_cyclic(1, 3)
                .build()?,
        ),
        (
            "unstructured",
            over().shape([11]).unstructured(0, lists).build()?,
        ),
        (
            "fewer elements than ranks",
            over().shape([2]).block(0).build()?,
        ),
        ("no elements", over().shape([0, 4]).block(0).build()?),
        (
            "three dimensions",
            over().shape([3, 4, 5]).cyclic(1).build()?,
        ),
    ])
}
