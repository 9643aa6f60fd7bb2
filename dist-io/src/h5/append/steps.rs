//! [`Steps`]: how the rows of one append reach the ranks that write them.

use dap_protocol::{DimData, DistBuffer, ElementType, HostBuffer};
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, Distribution, RedistPlan, Redistribution};

use super::growing::Told;
use crate::execute::{exchange, room};
use crate::h5::metadata;
use crate::h5::save::bytes_of;
use crate::{Direction, FileLayout, IoError, IoPlan};

/// How the rows of one append reach the ranks that write them: whole chunks each.
#[derive(Debug)]
pub(super) struct Steps {
    pub(super) dim_data: DimData,
    pub(super) rows: u64,
    /// None where there is nothing to exchange: a scalar.
    redist: Option<RedistPlan>,
    /// What this rank writes, per dimension from the second on, from where to where.
    pub(super) own: Vec<(u64, u64)>,
    elements: usize,
}

impl Steps {
    /// How the rows of parts that are distributed like this one reach the ranks that write them. Collective.
    pub(super) fn new(
        told: &Told,
        dim_data: &DimData,
        item: usize,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<Self, IoError> {
        let (rank, ranks) = (comm.rank(), comm.size());
        let parts = metadata::gather(comm, dim_data)?;
        let distribution = metadata::whole(&parts)?;
        let shape = distribution.global_shape().to_vec();
        let steps = &told.found.shape[1..];
        let (lead, rows) = match shape.split_first() {
            _ if shape == steps => (1, 1),
            Some((&rows, rest)) if rest == steps => (0, rows),
            _ => {
                return Err(IoError::Shape {
                    given: told.found.shape.clone(),
                    allowed: shape,
                });
            }
        };
        // every index is on some rank
        let _ = IoPlan::new(
            &distribution,
            item,
            FileLayout::Contiguous,
            Direction::Write,
        )?;
        let units = |axis: usize| steps[axis].div_ceil(told.chunk[axis + 1]);
        let cut = (0..steps.len()).max_by_key(|&axis| units(axis));
        let mut axes = Vec::with_capacity(shape.len());
        let mut own = Vec::with_capacity(steps.len());
        let mut parts = 1;
        if lead == 0 {
            axes.push(AxisDist::block_bounds([0, rows])?);
        }
        for (axis, &size) in steps.iter().enumerate() {
            let mut bounds = vec![0, size];
            if Some(axis) == cut {
                let units = units(axis).max(1);
                parts = usize::try_from(units).map_or(ranks, |units| units.min(ranks));
                let bound = |at: usize| {
                    let unit = u128::from(units) * at as u128 / parts as u128;
                    let bound = (unit * u128::from(told.chunk[axis + 1])).min(u128::from(size));
                    u64::try_from(bound).unwrap_or(size)
                };
                bounds = (0..=parts).map(bound).collect();
                own.push(match bounds.get(rank..rank + 2) {
                    Some(own) => (own[0], own[1]),
                    None => (0, 0),
                });
            } else {
                own.push((0, size));
            }
            axes.push(AxisDist::block_bounds(bounds)?);
        }
        let redist = if axes.is_empty() {
            None
        } else {
            let target = Distribution::from_axes(axes, ranks, (0..parts).collect::<Vec<_>>())?;
            let between = Redistribution::between(&distribution, &target);
            Some(agree(comm, between.plan(rank))?)
        };
        let extents = own.iter().map(|(from, to)| to - from);
        let elements = extents.fold(rows, u64::saturating_mul);
        let elements = if rank < parts { elements } else { 0 };
        let elements = usize::try_from(elements).map_err(|_| IoError::Overflow {
            what: "number of elements of a part",
        });
        Ok(Self {
            dim_data: dim_data.clone(),
            rows,
            redist,
            own,
            elements: agree(comm, elements)?,
        })
    }

    /// The elements that this rank writes. Collective.
    pub(super) fn bring<B: HostBuffer>(
        &self,
        part: &DistBuffer<B>,
        element: ElementType,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<Vec<u8>, IoError> {
        let item = element.size();
        let bytes = agree(comm, bytes_of(part.buffer(), element))?;
        let mut slab = agree(comm, room(self.elements, item))?;
        match &self.redist {
            Some(redist) => {
                exchange::exchange(comm, redist, item, &bytes, &mut slab)?;
            }
            None if comm.rank() == 0 => slab.copy_from_slice(&bytes[..item]),
            None => {}
        }
        Ok(slab)
    }
}
