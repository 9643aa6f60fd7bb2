//! What arrays say of themselves, and what sets and refreshes a whole part at once.

use dap_protocol::ElementType;
use dist_comm::{CommExt, Communicator};
use local_array::{ArrayError, LocalArray};
use ndarray::{Array, IxDyn};

use super::plain::{self, Kind, SHAPES, cells, zoo};
use super::{Outcome, ensure, same};

cases! {
    letters_sizes_and_hash,
    a_part_can_be_replaced,
    sync_fills_padding,
    copies_are_independent,
}

fn letters_sizes_and_hash(comm: &dyn Communicator) -> Outcome {
    let kinds = [Kind::Block, Kind::Cyclic(2), Kind::List(3), Kind::Whole];
    let d = plain::distribution(&[9, 8, 7, 2], &kinds, 0, comm.size());
    let a = LocalArray::<f64, IxDyn, _>::zeros(&d, comm)?;
    let letters = a.dist();
    let grid = d.grid().shape();
    for (axis, (letter, wanted)) in letters.chars().zip("bcun".chars()).enumerate() {
        // along one rank a list may be in order, and is shuffled here; the others are whole
        let wanted = if grid[axis] == 1 && axis != 2 {
            'n'
        } else {
            wanted
        };
        same(letter, wanted, "letter")?;
    }
    same(
        (a.dtype(), a.itemsize(), a.nbytes()),
        (ElementType::F64, 8, 9 * 8 * 7 * 2 * 8),
        "sizes",
    )?;
    same(
        (a.ndim(), a.global_size(), a.comm_size()),
        (4, 1008, comm.size()),
        "extents",
    )?;
    let hashes = comm.all_gather_value(a.compatibility_hash())?;
    ensure(hashes.iter().all(|hash| *hash == hashes[0]), || {
        format!("{hashes:?}")
    })?;
    let other = plain::distribution(&[9, 8, 7, 2], &[Kind::Whole; 4], 0, comm.size());
    let other = LocalArray::<u8, IxDyn, _>::zeros(&other, comm)?;
    // one rank has the same elements in the same order but for the shuffled list
    ensure(other.compatibility_hash() != hashes[0], || {
        "two distributions, one hash".into()
    })
}

fn a_part_can_be_replaced(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for d in zoo(shape, comm.size()) {
            let mut a = LocalArray::<i32, IxDyn, _>::zeros(&d, comm)?;
            let other = Array::from_elem(a.local().raw_dim(), 7);
            a.set_localarray(other.clone())?;
            same(a.local(), other.view(), "replaced")?;
            let mut wrong = a.local_shape().to_vec();
            wrong.push(1);
            let refused = a.set_localarray(Array::zeros(wrong)).err();
            ensure(
                matches!(
                    refused,
                    Some(ArrayError::InvalidDimension { .. } | ArrayError::LocalShape { .. })
                ),
                || format!("{refused:?}"),
            )?;
            same(a.local(), other.view(), "left alone")?;
        }
    }
    Ok(())
}

fn sync_fills_padding(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[13, 9], &[Kind::Block, Kind::Bounds(5)], 2, comm.size());
    let value = |index: &[i64]| plain::flat(&[13, 9], index);
    let mut a = LocalArray::<i64, IxDyn, _>::zeros(&d, comm)?;
    for (slot, (index, owned)) in a.local_mut().iter_mut().zip(cells(&d, comm.rank())) {
        *slot = if owned { value(&index) } else { -1 };
    }
    a.sync()?;
    let wanted: Vec<i64> = cells(&d, comm.rank())
        .iter()
        .map(|(index, _)| value(index))
        .collect();
    same(
        a.local().iter().copied().collect::<Vec<_>>(),
        wanted,
        "padding",
    )
}

fn copies_are_independent(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[13], &[Kind::Block], 1, comm.size());
    let mut a = LocalArray::<f32, IxDyn, _>::full(&d, comm, 2.0)?;
    let copy = a.to_owned();
    a.fill(3.0);
    same((copy.sum()?, a.sum()?), (26.0, 39.0), "sums")
}
