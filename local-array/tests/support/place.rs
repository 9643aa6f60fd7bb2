//! Where an operation of a test runs: on all ranks, or on one rank's part of an array.

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::LocalArray;
use ndarray::{ArrayD, Axis, Slice, concatenate};

use super::numpy::{Whole, shape_of, spread};
use super::plain::axes;
use super::schedule::one_of;
use super::{Failure, ensure, same};

/// All ranks together, or this rank alone.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// All ranks: an array lies as its turn says.
    Ranks(&'a dyn Communicator),
    /// This rank alone: an array is its part of one over the ranks `of`.
    Part {
        of: &'a dyn Communicator,
        alone: &'a dyn Communicator,
    },
}

impl<'a> Place<'a> {
    /// Who makes the calls.
    pub fn comm(self) -> &'a dyn Communicator {
        match self {
            Self::Ranks(comm) | Self::Part { alone: comm, .. } => comm,
        }
    }

    /// Array number `number` of a call in its turn. Collective where the call is.
    pub fn array<T: Element>(
        self,
        array: &ArrayD<T>,
        turn: usize,
        number: usize,
    ) -> Result<Whole<'a, T>, Failure> {
        match self {
            Self::Ranks(comm) => {
                let distribution = one_of(&shape_of(array), comm.size(), turn, number);
                spread(array, &distribution, comm)
            }
            Self::Part { of, alone } => part(array, turn + number, of, alone),
        }
    }
}

/// Copies of an array, one for each rank, side by side along one of its axes: the part of each rank is one of them.
fn side_by_side(shape: &[u64], ranks: usize, turn: usize) -> Distribution {
    let builder = Distribution::over(ranks);
    if shape.is_empty() {
        return builder
            .shape(Vec::<u64>::new())
            .build()
            .expect("no dimensions");
    }
    let axis = turn % shape.len();
    let (mut all, mut grid) = (shape.to_vec(), vec![1; shape.len()]);
    all[axis] *= ranks as u64;
    grid[axis] = ranks;
    let builder = builder.shape(all).grid(grid);
    let n = shape[axis];
    let first = |rank: usize| rank as u64 * n;
    let builder = match turn / shape.len() % 3 {
        0 => builder
            .block_bounds(axis, (0..=ranks).map(first).collect::<Vec<u64>>())
            .padding_of(axis, 1, 1),
        1 if n > 0 => builder.block_cyclic(axis, n),
        _ => builder.unstructured(
            axis,
            (0..ranks).map(|r| (first(r) as i64..first(r + 1) as i64).collect::<Vec<i64>>()),
        ),
    };
    builder.build().expect("a valid distribution")
}

/// `array` as the part of this rank, in the memory of an array over all `of`: with padding around it, where there is any.
fn part<'a, T: Element>(
    array: &ArrayD<T>,
    turn: usize,
    of: &dyn Communicator,
    alone: &'a dyn Communicator,
) -> Result<Whole<'a, T>, Failure> {
    let distribution = side_by_side(&shape_of(array), of.size(), turn);
    let copies = if array.ndim() == 0 {
        array.clone()
    } else {
        concatenate(Axis(turn % array.ndim()), &vec![array.view(); of.size()])?
    };
    let whole = spread(&copies, &distribution, of)?;
    let part = whole.part()?;
    same(part.global_shape(), &*shape_of(array), "the part's shape")?;
    let (own, strides) = (part.distribution().clone(), part.local().strides().to_vec());
    let first = part.local().as_ptr();
    // The memory of the part itself, not a copy.
    let mut data = whole.into_local();
    if distribution.coords(of.rank()).is_some() {
        for (number, axis) in axes(&distribution, of.rank()).iter().enumerate() {
            let start = axis.iter().position(|cell| cell.1).unwrap_or(0);
            let count = axis.iter().filter(|cell| cell.1).count();
            data.slice_axis_inplace(Axis(number), Slice::from(start..start + count));
        }
    }
    // The stride of a single element is anything.
    let mut steps = data.shape().iter().zip(data.strides()).zip(&strides);
    let lies = steps.all(|((&n, found), wanted)| n == 1 || found == wanted);
    let is_it = data.is_empty() || (data.as_ptr() == first && lies);
    ensure(is_it, || format!("not the part: {data:?}"))?;
    Ok(LocalArray::from_array(data, &own, alone)?)
}
