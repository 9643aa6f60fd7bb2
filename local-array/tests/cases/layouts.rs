//! Local arrays in any memory order: Fortran, reversed, with gaps.

use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::{ArrayError, LocalArray, LocalArrayBase, Redistributor};
use ndarray::{Array, ArrayBase, ArrayView2, Axis, Ix2, OwnedRepr, ShapeBuilder, s};

use super::plain::{self, Kind};
use super::support::arrays::numbered;
use super::{Outcome, same};

cases! {
    any_memory_order_moves,
    any_memory_order_reduces_to_the_same_bits,
}

/// The same elements, each time laid out otherwise.
fn laid_out(elements: ArrayView2<'_, i64>) -> Vec<(&'static str, Array<i64, Ix2>)> {
    let (rows, columns) = elements.dim();
    let mut fortran = Array::zeros((rows, columns).f());
    fortran.assign(&elements);
    let mut reversed = elements.slice(s![..;-1, ..;-1]).to_owned();
    reversed.invert_axis(Axis(0));
    reversed.invert_axis(Axis(1));
    let mut gaps = Array::zeros((2 * rows, 3 * columns));
    gaps.slice_mut(s![..;2, ..;3]).assign(&elements);
    let gaps = gaps.slice_move(s![..;2, ..;3]);
    vec![
        ("C", elements.to_owned()),
        ("Fortran", fortran),
        ("reversed", reversed),
        ("gaps", gaps),
    ]
}

type Part<'a> = LocalArrayBase<OwnedRepr<i64>, Ix2, &'a dyn Communicator>;

fn part<'a>(
    data: ArrayBase<OwnedRepr<i64>, Ix2>,
    distribution: &Distribution,
    comm: &'a dyn Communicator,
) -> Result<Part<'a>, ArrayError> {
    LocalArray::from_array(data, distribution, comm)
}

fn elements(
    distribution: &Distribution,
    comm: &dyn Communicator,
) -> Result<Array<i64, Ix2>, super::Failure> {
    Ok(numbered(distribution, comm)?
        .into_local()
        .into_dimensionality()?)
}

fn any_memory_order_moves(comm: &dyn Communicator) -> Outcome {
    let build =
        |kinds: [Kind; 2], padding| plain::distribution(&[13, 11], &kinds, padding, comm.size());
    let from = build([Kind::Block, Kind::Balanced], 1);
    let to = build([Kind::Cyclic(2), Kind::List(5)], 0);
    let (sources, wanted) = (elements(&from, comm)?, elements(&to, comm)?);
    let mut change = Redistributor::new(&from, &to, comm)?;
    for (from_order, source) in laid_out(sources.view()) {
        let mut source = part(source, &from, comm)?;
        for (to_order, target) in laid_out(Array::zeros(wanted.raw_dim()).view()) {
            let mut target = part(target, &to, comm)?;
            // ranks need not have the same order in memory
            change.execute(&source, &mut target)?;
            same(
                target.local(),
                wanted.view(),
                &format!("{from_order} to {to_order}"),
            )?;
        }
        let mut same_again = Redistributor::new(&from, &from, comm)?;
        for (to_order, target) in laid_out(Array::zeros(sources.raw_dim()).view()) {
            let mut target = part(target, &from, comm)?;
            same_again.execute(&source, &mut target)?;
            let what = format!("{from_order} to {to_order}, the same distribution");
            same(target.local(), sources.view(), &what)?;
        }
        let whole = source.to_owned();
        source.fill(-1);
        source.owned_mut().assign(&whole.owned());
        source.exchange_halo()?;
        same(
            source.local(),
            sources.view(),
            &format!("halo, {from_order}"),
        )?;
        same(
            source.map_windows(1, |w| w.sum())?.sum()?,
            whole.map_windows(1, |w| w.sum())?.sum()?,
            "windows",
        )?;
    }
    // each rank another order
    let (name, source) = laid_out(sources.view()).swap_remove(comm.rank() % 4);
    let mut target = part(Array::zeros(wanted.raw_dim()), &to, comm)?;
    change.execute(&part(source, &from, comm)?, &mut target)?;
    same(target.local(), wanted.view(), name)
}

fn any_memory_order_reduces_to_the_same_bits(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[40, 37], &[Kind::Block, Kind::Cyclic(4)], 2, comm.size());
    let elements = elements(&d, comm)?;
    let mut found = Vec::new();
    for (_, data) in laid_out(elements.view()) {
        let a = part(data, &d, comm)?.map(|&x| 1.0 / (x as f64 + 1.5));
        found.push((
            a.sum()?.to_bits(),
            a.mean()?.to_bits(),
            a.min()?.to_bits(),
            a.max()?.to_bits(),
        ));
    }
    same(&found[1..], &vec![found[0]; 3][..], "bits")
}
