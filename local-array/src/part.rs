//! [`Part`]: the distribution of an array together with what it means on this rank.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use dap_protocol::DimData;
use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution, GlobalIndex, IndexMap, LocalIndex, MdMap, Padding};
use ndarray::{Array, ArrayBase, ArrayView, ArrayViewMut, Axis, Dimension, RawData, Slice};

use crate::ArrayError;
use crate::agreement::Laid;

/// What a distribution gives this rank; computed once and shared by all arrays made from one another.
#[derive(Debug)]
pub(crate) struct Part {
    distribution: Arc<Distribution>,
    rank: usize,
    coords: Option<Vec<usize>>,
    shape: Vec<usize>,
    owned: Vec<Range<usize>>,
    /// Made when first asked: an unstructured axis costs a table.
    map: OnceLock<Option<MdMap>>,
    /// Per axis the owned positions that a reduction counts, so that an index on several ranks is counted once. Made when
    /// first asked, and only where an index may lie on several ranks.
    firsts: OnceLock<Vec<Vec<usize>>>,
    /// Made when first asked.
    digest: OnceLock<u64>,
}

impl Part {
    pub(crate) fn new<C: Communicator>(
        distribution: Arc<Distribution>,
        comm: &C,
    ) -> Result<Self, ArrayError> {
        if comm.size() != distribution.ranks() {
            return Err(ArrayError::InvalidBaseComm {
                given: comm.size(),
                allowed: distribution.ranks(),
            });
        }
        let rank = comm.rank();
        let coords = distribution.coords(rank);
        let shape = distribution.local_shape(rank);
        let axes = distribution.axes();
        let owned = match &coords {
            Some(coords) => axes
                .iter()
                .zip(coords)
                .map(|(axis, &coord)| axis.owned_local(coord))
                .collect(),
            None => vec![0..0; axes.len()],
        };
        Ok(Self {
            distribution,
            rank,
            coords,
            shape,
            owned,
            map: OnceLock::new(),
            firsts: OnceLock::new(),
            digest: OnceLock::new(),
        })
    }

    pub(crate) fn distribution(&self) -> &Arc<Distribution> {
        &self.distribution
    }

    /// The same number for equal distributions on all ranks of a program.
    pub(crate) fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| digest(&self.distribution))
    }

    /// The distribution, to be compared on all ranks.
    pub(crate) fn laid(&self) -> Laid<'_> {
        Laid::known(&self.distribution, self.digest())
    }

    pub(crate) fn coords(&self) -> Option<&[usize]> {
        self.coords.as_deref()
    }

    /// Stored shape.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Where the owned elements lie among the stored ones, per axis.
    pub(crate) fn owned(&self) -> &[Range<usize>] {
        &self.owned
    }

    pub(crate) fn is_active(&self) -> bool {
        self.coords.is_some()
    }

    /// Whether all that any rank stores is its own: the same answer on every rank.
    pub(crate) fn is_unpadded_everywhere(&self) -> bool {
        let bare =
            |axis: &AxisDist| (0..axis.ranks()).all(|c| axis.padding(c) == Padding::default());
        self.distribution.axes().iter().all(bare)
    }

    /// Whether all that is stored is owned.
    pub(crate) fn is_unpadded(&self) -> bool {
        self.owned
            .iter()
            .zip(&self.shape)
            .all(|(owned, &n)| owned.len() == n)
    }

    pub(crate) fn dim_data(&self) -> Result<DimData, ArrayError> {
        Ok(self.distribution.dim_data(self.rank)?)
    }

    /// The index maps of this rank; `None` where it has no place in the grid.
    pub(crate) fn map(&self) -> Option<&MdMap> {
        let make = || MdMap::from_dim_data(&self.dim_data().ok()?).ok();
        self.map
            .get_or_init(|| self.is_active().then(make).flatten())
            .as_ref()
    }

    pub(crate) fn local_from_global(&self, global: &[i64]) -> Option<Vec<usize>> {
        let global: Vec<GlobalIndex> = global.iter().copied().map(GlobalIndex::new).collect();
        let local = self.map()?.local_from_global(&global)?;
        Some(local.into_iter().map(LocalIndex::get).collect())
    }

    pub(crate) fn global_from_local(&self, local: &[usize]) -> Option<Vec<i64>> {
        let local: Vec<LocalIndex> = local.iter().copied().map(LocalIndex::new).collect();
        let global = self.map()?.global_from_local(&local)?;
        Some(global.into_iter().map(GlobalIndex::get).collect())
    }

    /// The global index of position `local` of an axis.
    pub(crate) fn global_of(&self, axis: usize, local: usize) -> Option<i64> {
        self.map()?
            .dims()
            .get(axis)?
            .global_from_local(LocalIndex::new(local))
            .map(GlobalIndex::get)
    }

    /// Checks that `data` is what this rank stores.
    pub(crate) fn check_data<S: RawData, D: Dimension>(
        &self,
        data: &ArrayBase<S, D>,
    ) -> Result<(), ArrayError> {
        same_ndim(&self.distribution, data.ndim())?;
        if data.shape() != self.shape() {
            return Err(ArrayError::LocalShape {
                rank: self.rank,
                given: data.shape().to_vec(),
                allowed: self.shape.clone(),
            });
        }
        Ok(())
    }

    /// The stored shape as `ndarray`'s dimension, and the number of elements.
    pub(crate) fn dimension<D: Dimension>(&self) -> Result<(D, usize), ArrayError> {
        check_ndim::<D>(&self.distribution)?;
        let mut dim = D::zeros(self.shape.len());
        for (axis, &n) in self.shape.iter().enumerate() {
            dim[axis] = n;
        }
        // ndarray's limit: the product of the extents that are not 0 fits isize.
        let product = self
            .shape
            .iter()
            .filter(|&&n| n != 0)
            .try_fold(1_usize, |product, &n| product.checked_mul(n));
        match product.filter(|&n| isize::try_from(n).is_ok()) {
            Some(n) => Ok((dim, if self.shape.contains(&0) { 0 } else { n })),
            None => Err(ArrayError::Allocation {
                rank: self.rank,
                shape: self.shape.clone(),
                bytes: None,
            }),
        }
    }

    /// Zeros of the stored shape, in C order.
    pub(crate) fn zeros<T: bytemuck::Zeroable, D: Dimension>(
        &self,
    ) -> Result<Array<T, D>, ArrayError> {
        let (dim, len) = self.dimension::<D>()?;
        let failed = || ArrayError::Allocation {
            rank: self.rank,
            shape: self.shape.clone(),
            bytes: len.checked_mul(size_of::<T>()),
        };
        let mut elements = bytemuck::allocation::try_zeroed_vec(len).map_err(|()| failed())?;
        large_pages::prefer_large_pages(&mut elements);
        Array::from_shape_vec(dim, elements).map_err(|_| failed())
    }

    /// The owned part of a stored array.
    pub(crate) fn owned_of<'a, T, D: Dimension>(
        &self,
        stored: ArrayView<'a, T, D>,
    ) -> ArrayView<'a, T, D> {
        if self.is_unpadded() {
            stored
        } else {
            self.cut(stored)
        }
    }

    /// The owned part of a stored array, for writing.
    pub(crate) fn owned_of_mut<'a, T, D: Dimension>(
        &self,
        stored: ArrayViewMut<'a, T, D>,
    ) -> ArrayViewMut<'a, T, D> {
        if self.is_unpadded() {
            stored
        } else {
            self.cut(stored)
        }
    }

    fn cut<S: RawData, D: Dimension>(&self, mut stored: ArrayBase<S, D>) -> ArrayBase<S, D> {
        for (axis, owned) in self.owned.iter().enumerate() {
            stored.slice_axis_inplace(Axis(axis), Slice::from(owned.clone()));
        }
        stored
    }

    /// Per axis the owned positions that a reduction over the axes `reduced` counts, so that an index on several coordinates
    /// is counted once; `None` where it counts all, and on a rank without a place in the grid.
    pub(crate) fn chosen(&self, reduced: &[bool]) -> Option<&[Vec<usize>]> {
        let all = self.distribution.axes().iter().zip(reduced);
        let mut reduced = all.filter(|(_, reduced)| **reduced);
        if reduced.all(|(axis, _)| axis.is_one_to_one()) {
            return None;
        }
        self.firsts(self.coords.as_ref()?)
    }

    /// Whether this rank owns no element; a scalar's place has one.
    pub(crate) fn owns_nothing(&self) -> bool {
        self.owned.iter().any(Range::is_empty)
    }

    /// The global indices of the owned positions of an axis, or of those of them that are chosen. None where the rank owns
    /// no element, however many positions it has along this axis.
    pub(crate) fn owned_globals(&self, axis: usize, chosen: Option<&[usize]>) -> Vec<i64> {
        if self.owns_nothing() {
            return Vec::new();
        }
        let owned = self.owned[axis].clone();
        let global = |at: usize| self.global_of(axis, owned.start + at);
        match chosen {
            None => (0..owned.len()).map_while(global).collect(),
            Some(positions) => positions.iter().map_while(|&at| global(at)).collect(),
        }
    }

    /// Per axis the owned positions whose index lies on no lower coordinate; `None` where no index lies on two ranks.
    fn firsts(&self, coords: &[usize]) -> Option<&[Vec<usize>]> {
        let axes = self.distribution.axes();
        if axes.iter().all(AxisDist::is_one_to_one) {
            return None;
        }
        let make = || {
            if self.owns_nothing() {
                return vec![Vec::new(); axes.len()];
            }
            axes.iter().zip(coords).map(first_positions).collect()
        };
        Some(self.firsts.get_or_init(make))
    }

    /// Whether arrays of the two parts can be combined element by element: the same elements on the same ranks, in the same
    /// local order. From metadata alone, so every rank comes to the same answer.
    pub(crate) fn check_compatible(&self, other: &Self) -> Result<(), ArrayError> {
        let (mine, others) = (&self.distribution, &other.distribution);
        if Arc::ptr_eq(mine, others) {
            return Ok(());
        }
        let differ = |what, given: String, allowed: String| {
            Err(ArrayError::IncompatibleArray {
                what,
                given,
                allowed,
            })
        };
        if mine.global_shape() != others.global_shape() {
            return differ(
                "global shape",
                format!("{:?}", others.global_shape()),
                format!("{:?}", mine.global_shape()),
            );
        }
        if mine.ranks() != others.ranks() {
            return differ(
                "number of ranks",
                others.ranks().to_string(),
                mine.ranks().to_string(),
            );
        }
        if !mine.is_compatible(others) {
            return differ(
                "distribution",
                summary(others),
                format!("{}; `asdist_like` brings them together", summary(mine)),
            );
        }
        Ok(())
    }

    /// Whether the two also store the same padding.
    pub(crate) fn same_storage(&self, other: &Self) -> bool {
        self.shape == other.shape && self.owned == other.owned
    }
}

/// The same number for equal distributions on all ranks of a program: all that decides what a rank does next, padding included.
pub(crate) fn digest(distribution: &Distribution) -> u64 {
    let mut hasher = DefaultHasher::new();
    distribution.axes().hash(&mut hasher);
    distribution.grid().hash(&mut hasher);
    distribution.targets().hash(&mut hasher);
    distribution.ranks().hash(&mut hasher);
    hasher.finish()
}

/// A distribution in a few characters, for an error.
pub(crate) fn summary(distribution: &Distribution) -> String {
    let kinds: Vec<String> = distribution.axes().iter().map(axis_summary).collect();
    let (grid, targets) = (distribution.grid().shape(), distribution.targets());
    let ranks = if targets.iter().copied().eq(0..targets.len()) {
        String::new()
    } else if targets.len() <= FEW {
        format!(" on ranks {targets:?}")
    } else {
        " on ranks in another order".to_owned()
    };
    format!("[{}] over a grid of {grid:?}{ranks}", kinds.join(", "))
}

/// Ranks that are listed one by one.
const FEW: usize = 8;

fn axis_summary(axis: &AxisDist) -> String {
    let kind = match axis {
        AxisDist::Block { .. } if axis.ranks() == 1 => "whole".to_owned(),
        AxisDist::Block { bounds, .. } if axis.ranks() <= FEW => format!("block {bounds:?}"),
        AxisDist::Block { .. } => "block".to_owned(),
        AxisDist::Cyclic { block_size, .. } => format!("cyclic({block_size})"),
        AxisDist::Unstructured { .. } => "unstructured".to_owned(),
    };
    let widest = |side: fn(dist_maps::Padding) -> u64| {
        let widths = (0..axis.ranks()).map(|coord| side(axis.padding(coord)));
        widths.max().unwrap_or(0)
    };
    let padding = match (widest(|p| p.lower), widest(|p| p.upper)) {
        (0, 0) => String::new(),
        (lower, upper) => format!(" padded ({lower}, {upper})"),
    };
    let periodic = if axis.is_periodic() { " periodic" } else { "" };
    format!("{kind}{padding}{periodic}")
}

/// Checks that arrays of `D` can have this distribution. From the distribution alone.
pub(crate) fn check_ndim<D: Dimension>(distribution: &Distribution) -> Result<(), ArrayError> {
    same_ndim(distribution, D::NDIM.unwrap_or(distribution.ndim()))
}

fn same_ndim(distribution: &Distribution, ndim: usize) -> Result<(), ArrayError> {
    let given = distribution.ndim();
    if ndim == given {
        return Ok(());
    }
    Err(ArrayError::InvalidDimension {
        what: "number of dimensions",
        given: given.cast_signed(),
        ndim,
    })
}

/// The owned positions of a coordinate whose index lies on no lower one, ascending.
fn first_positions((axis, &coord): (&AxisDist, &usize)) -> Vec<usize> {
    let AxisDist::Unstructured {
        indices,
        one_to_one: false,
        ..
    } = axis
    else {
        return (0..axis.owned_len(coord)).collect();
    };
    let below: HashSet<i64> = indices[..coord]
        .iter()
        .flat_map(|list| list.iter().copied())
        .collect();
    (0..indices[coord].len())
        .filter(|&i| !below.contains(&indices[coord][i]))
        .collect()
}
